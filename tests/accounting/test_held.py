"""Two accounts charged in one transaction: both or neither, whatever happens in between."""

import threading

import pytest

from utmost.accounting import Ledger
from utmost.accounting.held import HeldAccount
from utmost.errors import BudgetSpent

UNIT = "rows, at most 500"


def accounts(ledger, whole=1, own=(0.6, 0.6)):
    main = ledger.open("survey", whole, UNIT, "replace")
    return main, [HeldAccount(main, ledger.open(f"{i} at survey", b, UNIT, "replace")) for i, b in enumerate(own)]


def test_a_spend_fits_both_or_neither_is_charged():
    """Whichever budget is too small, the other is not charged either."""
    for whole, own in ((1, (0.3, 1)), (0.3, (1, 1))):
        main, (ada, _) = accounts(Ledger(None), whole, own)
        with pytest.raises(BudgetSpent):
            ada.ask(0.5, {"count": "all"}, lambda: 7)
        assert (main.entries(), ada.own.entries()) == ([], [])
        assert main.check()
        assert ada.own.check()


def test_another_holder_pays_for_hearing_a_recorded_answer_and_the_data_set_does_not():
    """Nobody is told more than their own budget allows, and nothing is drawn twice."""
    main, (ada, bob) = accounts(Ledger(None), 1, (0.6, 0.3))
    assert ada.ask(0.4, {"count": "all"}, lambda: 7).answer == 7
    with pytest.raises(BudgetSpent):
        bob.ask(0.4, {"count": "all"}, lambda: 8)
    assert ada.ask(0.4, {"count": "all"}, lambda: 9).answer == 7
    assert len(main.entries()) == len(ada.own.entries()) == 1
    assert bob.own.entries() == []


def test_a_fresh_answer_of_somebody_else_does_not_replace_the_one_that_was_given():
    """Who asks again hears what they heard, although the data set has a later answer by now."""
    _, (ada, bob) = accounts(Ledger(None), 3, (2, 2))
    assert ada.ask(0.4, "all", lambda: 7).answer == 7
    assert bob.ask(0.4, "all", lambda: 8, fresh=True).answer == 8
    assert ada.ask(0.4, "all", lambda: 9).answer == 7
    assert [entry.number for entry, _ in ada.given()] == [1]
    assert [entry.number for entry, _ in bob.given()] == [2]


def test_batches_are_shared_too():
    """Questions declared together cost the second who asks them their own budget alone."""
    main, (ada, bob) = accounts(Ledger(None), 1, (0.6, 0.6))
    assert ada.ask_batch([0.2, 0.2], {"batch": 1}, lambda: [1, 2]).answer == [1, 2]
    assert bob.ask_batch([0.2, 0.2], {"batch": 1}, lambda: [3, 4]).answer == [1, 2]
    assert str(main.left) == "epsilon 0.6 of 1"
    assert str(bob.own.left) == "epsilon 0.2 of 0.6"


@pytest.mark.parametrize("kept", [False, True])
def test_many_at_once_never_overspend(tmp_path, kept):
    """Threads of two holders, each asking for what is nearly all: the sums stay within every budget, and agree."""
    ledger = Ledger(tmp_path / "budget.db" if kept else None)
    main, holders = accounts(ledger, 1, (0.6, 0.7))

    def spend(holder, name):
        for n in range(10):
            try:
                holder.ask("0.1", {"count": f"{name} {n}"}, lambda: 0)
            except BudgetSpent:
                return

    threads = [threading.Thread(target=spend, args=(holders[i % 2], i)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = [len(holder.own.entries()) for holder in holders]
    assert len(main.entries()) == sum(spent) == 10
    assert spent[0] <= 6
    assert spent[1] <= 7
    assert all(account.check() for account in (main, *(holder.own for holder in holders)))
