"""Many clients, and a server that is killed on the way: no overspend by a unit, and nothing recorded is lost."""

from fractions import Fraction

import pytest
from oracles.load import under_load
from oracles.served import write_settings

from utmost.accounting import Ledger


def never_overspends(folder, clients, seconds, kills, privacy, budget, until_refused=False):
    """Ask until the budget is out; then read the ledger that is left, which knows nothing of the server."""
    file = write_settings(folder, budget=budget, own=budget)
    load = under_load(file, clients, seconds, kills, privacy, until_refused)
    ledger = Ledger(folder / "budget.db")
    accounts = {name: ledger.account(name) for name in ledger.datasets()}
    assert all(account.check() for account in accounts.values())
    entries = accounts["survey"].entries()
    assert sum(Fraction(str(e.cost["epsilon"])) for e in entries) <= Fraction(str(budget))
    own = [accounts[f"{name} at survey"].entries() for name in ("ada", "bob")]
    assert len(entries) == sum(map(len, own))  # whenever the server was killed, both were charged or neither
    states = [[e.state for e in each].count("done") for each in (entries, *own)]
    assert states[0] == sum(states[1:])
    recorded = {entry.number: entry.answer for entry in entries if entry.state == "done"}
    assert len({number for number, _ in load.told}) == len(load.told)
    for number, released in load.told:
        assert recorded[number] == released
    assert load.refused.keys() <= {409}
    unfinished = len(entries) - len(recorded)
    assert unfinished <= kills * clients
    ledger.close()
    return load, entries


def test_clients_and_a_kill(tmp_path):
    """Four clients for a second, and one kill."""
    load, entries = never_overspends(tmp_path, 4, 1, 1, "0.01", 3)
    assert load.told
    assert load.broken
    assert len(entries) <= 300


@pytest.mark.long
def test_fifty_clients_for_a_minute(tmp_path):
    """Fifty clients for a minute, three kills, and a budget that runs out."""
    load, entries = never_overspends(tmp_path, 50, 60, 3, "0.01", 3, until_refused=True)
    assert len(entries) == 300
    assert load.refused.keys() == {409}
