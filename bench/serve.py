"""A server under load against the same questions in a bare session: answers a second, and the slowest hundredth.

Fifty clients ask fresh counts of one data set of 20,000 rows, each again as soon as it was answered, by HTTP with a
key; every answer is charged to two accounts and synced to the disk twice. The session asks the same in one process,
with a ledger of its own kind. At the default tick of a second, an answer waits for the next full second;
a tick of 10 ms shows what the server can do. Aim: at a tick of 10 ms, half the throughput of the bare session.
"""

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from oracles.load import Load, start_server
from oracles.served import write_settings

import utmost as um
from utmost.queries.demo_table import write_survey

CLIENTS, SECONDS, PRIVACY, BUDGET = 50, 20, "0.0001", 100


def bare(folder):
    """Answers a second of a session, and what one takes."""
    table = write_survey(folder / "bare.csv")
    unit, ledger = um.rows(at_most=25_000), folder / "bare.db"
    session = um.Session(table, "bare", unit, "add-remove", BUDGET, ledger, {"age": int})
    for age in range(20, 25):
        session.count(f"age >= {age}", PRIVACY)
    taken, begun = [], time.monotonic()
    while time.monotonic() - begun < SECONDS / 2:
        at = time.monotonic()
        session.count(f"age >= {20 + len(taken) % 5}", PRIVACY, fresh=True)
        taken.append(time.monotonic() - at)
    return taken, time.monotonic() - begun


def served(folder, tick):
    """The same of a server with so long a tick."""
    file = write_settings(folder, tick=tick, budget=BUDGET, own=BUDGET)
    write_survey(folder / "people.csv")
    file.write_text(file.read_text().replace("rows, at most 500", "rows, at most 25000"))
    process, url = start_server(file)
    try:
        load = Load(url, CLIENTS, PRIVACY)
        time.sleep(5)  # plans are made, connections open
        load.taken.clear()
        begun = time.monotonic()
        time.sleep(SECONDS)
        taken, passed = list(load.taken), time.monotonic() - begun
    finally:
        load.end()
        process.terminate()
        process.wait()
    return taken, passed


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = {"bare session, one at a time": bare(folder)}
        for tick in (0.01, 1.0):
            place = folder / f"tick-{tick}"
            place.mkdir()
            rows[f"server, {CLIENTS} clients, tick {tick:g} s"] = served(place, tick)
    first = None
    for name, (taken, passed) in rows.items():
        rate, ordered = len(taken) / passed, sorted(taken)
        first = first or rate
        median, slowest = (ordered[int(share * (len(ordered) - 1))] for share in (0.5, 0.99))
        print(
            f"{name}: {rate:.1f} answers/s ({rate / first:.2f} of the session), median {median * 1e3:.0f} ms, "
            f"p99 {slowest * 1e3:.0f} ms"
        )


if __name__ == "__main__":
    main()
