"""Two accounts charged in one transaction: both or neither, whatever happens in between."""

import threading

import pytest
from oracles.killing import in_a_child, killed_at
from oracles.spenders import hold_at_once

from utmost.accounting import Ledger, ledger_file
from utmost.accounting.holder_account import HolderAccount
from utmost.accounting.ledger_file import Index, read_line, write_line
from utmost.errors import BadFile, BudgetSpent

UNIT = "rows, at most 500"


def accounts(ledger, whole=1, own=(0.6, 0.6)):
    main = ledger.open("survey", whole, UNIT, "replace")
    return main, [HolderAccount(main, ledger.open(f"{i} at survey", b, UNIT, "replace")) for i, b in enumerate(own)]


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
    assert [entry.number for entry, _ in ada.received_entries()] == [1]
    assert [entry.number for entry, _ in bob.received_entries()] == [2]


def test_batches_are_shared_too():
    """Questions declared together cost the second who asks them their own budget alone."""
    main, (ada, bob) = accounts(Ledger(None), 1, (0.6, 0.6))
    assert ada.ask_batch([0.2, 0.2], {"batch": 1}, lambda: [1, 2]).answer == [1, 2]
    assert bob.ask_batch([0.2, 0.2], {"batch": 1}, lambda: [3, 4]).answer == [1, 2]
    assert str(main.left) == "epsilon 0.6 of 1"
    assert str(bob.own.left) == "epsilon 0.2 of 0.6"


def test_a_schedule_of_a_holder_is_charged_twice_and_answered_slot_by_slot():
    """Slots are asked of the data set; the holder's own account has the charge alone, and no answer in its place."""
    main, (ada, _) = accounts(Ledger(None), 1, (0.6, 0.6))
    schedule = ada.reserve_schedule(0.1, 3, "daily")
    for day in range(3):
        schedule.slot(f"day {day}").complete(day)
    assert schedule.left == 0
    assert [answer for _, answer in schedule.entry.used] == [0, 1, 2]
    assert (str(main.left), str(ada.own.left)) == ("epsilon 0.7 of 1", "epsilon 0.3 of 0.6")
    assert ada.received_entries() == []
    assert main.check()
    assert ada.own.check()


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


def test_killed_at_every_step_both_accounts_are_charged_or_neither(tmp_path):
    """kill -9 before every write, half a write and sync: the two accounts never differ, in charge or answer."""
    step, finished = 0, False
    while not finished:
        step += 1
        path = tmp_path / f"{step}.db"

        def work(report, path=path, step=step):
            _, (ada, bob) = accounts(Ledger(path))
            killed_at(step)
            ada.ask("0.25", "all", lambda: 7)
            report("answered")
            bob.ask("0.25", "all", lambda: 8)  # handed on: bob is charged alone

        finished, said = in_a_child(work)
        main, (ada, bob) = accounts(Ledger(path))
        found, mine, heard = main.entries(), ada.own.entries(), bob.own.entries()
        assert [(e.cost, e.state, e.question) for e in found] == [(e.cost, e.state, e.question) for e in mine]
        assert len(mine) >= len(said)
        assert all(e.state == "done" for e in heard)
        assert all(account.check() for account in (main, ada.own, bob.own))
        assert ada.ask("0.25", "all", lambda: 9).answer == (7 if found and found[0].state == "done" else 9)
    assert step > 3 * 6  # a charge, an answer, a charge with an answer: a line and a mark each, in halves, and synced


def test_a_transaction_is_one_line(tmp_path):
    """Two charges are one line and so are two answers; a half of it, at any byte, is nobody's charge."""
    path = tmp_path / "budget.db"
    _, (ada, _) = accounts(Ledger(path))
    before = path.read_bytes()
    reservation = ada.reserve("0.25", "all")
    charged = path.read_bytes()
    reservation.complete(7)
    lines = path.read_bytes()[len(before) :].splitlines(keepends=True)
    events = [[(event.kind, event.dataset) for event in read_line(line)[0]] for line in lines]
    assert events == [[(kind, name) for name in ("survey", "0 at survey")] for kind in ("reserve", "complete")]
    line = charged[len(before) :]
    for end in range(1, len(line), 17):
        path.write_bytes(before + line[:end])
        main, (ada, _) = accounts(Ledger(path))
        assert main.entries() == ada.own.entries() == []
        ada.ask("0.25", "all", lambda: 8)  # and it goes on from there
        assert main.check()
        assert ada.own.check()


def test_a_line_is_taken_whole_or_not_at_all():
    """A second event that does not continue its chain leaves no trace of the first."""
    ledger = Ledger(None)
    _, (ada, _) = accounts(ledger)
    storage = ledger._storage
    opened = bytes(storage._text)
    ada.reserve("0.25", "all")
    (first, second), _ = read_line(bytes(storage._text)[len(opened) :])
    index = Index()
    for line in opened.splitlines(keepends=True):
        index.take(line)
    before = index.end, {name: list(track.heads) for name, track in index.tracks.items()}
    wrong = second._replace(entry=9)
    for line in (
        write_line([first, wrong]),
        write_line([first, first]),
        write_line([first, second._replace(kind="complete")]),
        write_line([first, second])[:-2] + b",]\n",
        b"[]\n",
        b"[1]\n",
    ):
        with pytest.raises(BadFile):
            index.take(line)
        assert before == (index.end, {name: list(track.heads) for name, track in index.tracks.items()})
    index.take(write_line([first, second]))
    assert len(index.tracks["survey"].heads) == 2


def test_ledgers_with_a_line_for_every_event_are_read_and_continued(tmp_path):
    """As files were written before: the same events, each in a line of its own, have the same heads and meaning."""
    path, older = tmp_path / "budget.db", tmp_path / "older.db"
    _, (ada, bob) = accounts(Ledger(path))
    ada.ask("0.25", "all", lambda: 7)
    bob.ask("0.25", "all", lambda: 8)
    lines = []
    for line in path.read_bytes()[ledger_file.BEGIN :].splitlines(keepends=True):
        events, secret = read_line(line)
        lines += [write_line([event], secret) for event in events]
    assert len(lines) == 3 + 2 * 2 + 2
    index = ledger_file.Index(ledger_file.BEGIN)
    for line in lines:
        index.take(line)
    mark = ledger_file._write_mark(ledger_file.Mark(index.lines, index.end, index.digest))
    older.write_bytes(b"".join([ledger_file._first_line(), mark, mark, *lines]))
    main, (ada, bob) = accounts(Ledger(older))
    assert main.head == Ledger(path).account("survey").head
    assert [holder.ask("0.25", "all", lambda: 9).answer for holder in (ada, bob)] == [7, 7]
    assert ada.ask("0.25", "some", lambda: 5).answer == 5
    assert all(account.check() for account in (main, ada.own, bob.own))


def test_processes_of_several_holders_at_once(tmp_path):
    """Four processes, three holders, one file: no account is overspent, and every charge of one is in the other."""
    path = tmp_path / "budget.db"
    main, holders = accounts(Ledger(path), 1, ("0.5", "0.5", "0.05"))
    answered = hold_at_once(path, [i % 3 for i in range(4)], "0.01")
    entries, own = main.entries(), [holder.own.entries() for holder in holders]
    assert sum(answered) == len(entries) == sum(map(len, own)) == 100
    assert len(own[2]) <= 5
    assert max(map(len, own)) <= 50
    assert all(account.check() for account in (main, *(holder.own for holder in holders)))
