"""Keys that nobody listed: 10^7 rows with 10^6 different keys, whole, against DuckDB's GROUP BY; and who shows more.

The bare statement is `SELECT key, count(*) ... GROUP BY key` of the same Parquet file, fetched as Arrow. Aim: keys with
their counts in at most twice as long, from opening the table to `answer.table`. Where the machine has other work,
processor seconds compare better than seconds: both are shown.

Then a table of 2000 keys whose sizes fall off as Zipf's do (`zipf`): how many keys are expected to be shown at
(1, 1e-6), beside Laplace and Gaussian noise with the lowest safe threshold. `--zipf` prints that alone.
"""

import resource
import sys
import tempfile
from pathlib import Path

import duckdb
import numpy as np
from timing import timed

import utmost as um
from utmost.queries.questions.by_found_keys import thresholds
from utmost.theory.partition_selection.design import best_law

ROWS, KEYS = 10_000_000, 1_000_000
LEVEL = um.ApproxDP(1, 1e-6)


def make(path):
    """10^7 rows, the same in every run: every key has about ten rows, a hundred of them tens of thousands."""
    duckdb.connect().execute(
        f"COPY (SELECT range % 3000000 AS person, 'key ' || CASE WHEN hash(range) % 10 < 4 THEN hash(range + 1) % 100 "
        f"ELSE hash(range + 1) % {KEYS} END AS key FROM range({ROWS})) TO '{path}'"
    )


def by_hand(path):
    """DuckDB's own GROUP BY."""
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT key, count(*) FROM '{path}' GROUP BY key").to_arrow_table()
    assert 0.9 * KEYS < found.num_rows <= KEYS


def whole(path, unit, each):
    """A session, one question by keys that are found, and its table."""
    s = um.Session(path, "bench", unit, "add-remove", budget=um.ApproxDP(10, 1e-3))
    by = um.discover("key", keys_each=each)
    assert s.count(None, LEVEL, by=by, of="rows" if each == 1 else "people", fresh=True).table.num_rows >= 100


def zipf(keys=2000):
    """How many rows each key has: the first as many as there are keys, the i-th an i-th of that."""
    return keys // np.arange(1, keys + 1)


def expected_keys(level=LEVEL, changes=1):
    """How many keys of that table are shown on average: ours, and the usual thresholds."""
    n = zipf()
    found = {"Utmost": float(best_law(changes, level).kept(n).sum())}
    for name, hidden in thresholds(changes, level).items():
        found[name] = float(np.sum(1 - hidden(n)))
    return found


def main():
    print(", ".join(f"{name} {keys:.2f}" for name, keys in expected_keys().items()), "keys shown of 2000")
    if "--zipf" in sys.argv:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        make(path)
        base = min(timed(lambda: by_hand(path)) for _ in range(3))
        print(f"the bare statement: {base[0]:.2f} s, {base[1]:.2f} s of processors")
        for name, unit, each, aim in (
            ("rows", um.rows(at_most=2 * ROWS), 1, "aim <= 2"),
            ("people, two keys each", um.people("person", 3, 4_000_000), 2, "no aim"),
        ):
            wall, used = timed(lambda unit=unit, each=each: whole(path, unit, each))
            print(f"{name}: {wall / base[0]:.2f} times as long, {used / base[1]:.2f} of processors   ({aim})")
        print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GB")


if __name__ == "__main__":
    main()
