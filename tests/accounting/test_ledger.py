"""The ledger: never overspends, loses nothing, survives kill -9 anywhere, and refuses what is not its own."""

import json
import os
import shutil
import sqlite3
import threading
import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from oracles.killing import in_a_child, killed_at, killing_before
from oracles.spenders import spend_at_once

import utmost as um
from utmost.accounting import ledger_file, ledger_postgres
from utmost.accounting.account import next_event, question_key
from utmost.accounting.holder_account import HolderAccount
from utmost.accounting.ledger_file import Index, next_digest
from utmost.errors import (
    BadFile,
    BudgetMismatch,
    BudgetSpent,
    InvalidInput,
    UnknownDataset,
    UnsupportedLevel,
    UtmostError,
)

UNIT, NEIGHBOURS = "rows, at most 500", "add-remove"


def opened(path=None, budget=1, filter=None, dataset="survey"):
    return um.Ledger(path).open(dataset, budget, UNIT, NEIGHBOURS, filter)


def spend(account, level, question="q", answer=1):
    with account.reserve(level, {"ask": question}) as entry:
        return entry.complete({"answer": answer})


def epsilon_spent(account):
    return account.spent.amounts()["epsilon"].rational


@pytest.fixture(params=["memory", "file"])
def place(request, tmp_path):
    return None if request.param == "memory" else tmp_path / "budget.db"


def test_ten_tenths_make_one(place):
    """Sums are exact: ten spends of 0.1 fit a budget of 1, an eleventh of any size does not, and it costs nothing."""
    account = opened(place)
    for i in range(10):
        spend(account, 0.1, i)
    assert epsilon_spent(account) == 1
    assert not account.left.allows("1e-30")
    with pytest.raises(BudgetSpent, match="remaining epsilon 0 of 1") as refusal, account.reserve("1e-30", {"ask": 11}):
        raise AssertionError("an answer would have been drawn")
    assert refusal.value.left.amounts() == {"epsilon": 0.0}
    assert epsilon_spent(account) == 1
    assert len(account.entries()) == 10
    assert account.check()


def test_an_unfinished_reservation_stays_charged(place):
    """Whoever reserves and fails may have seen the answer."""
    account = opened(place)
    with pytest.raises(ZeroDivisionError), account.reserve(0.3, {"ask": 1}):
        1 / 0  # noqa: B018
    (entry,) = account.entries()
    assert (entry.state, entry.answer, entry.level) == ("reserved", None, um.PureDP(0.3))
    assert epsilon_spent(account) == Fraction(3, 10)
    assert account.find({"ask": 1}) is None


def test_logarithms_add_up_exactly(place):
    """A budget of ln 6 pays for ln 2 and ln 3 and nothing else."""
    account = opened(place, um.PureDP.from_ratio(6))
    spend(account, um.PureDP.from_ratio(2))
    spend(account, um.PureDP.from_ratio(3))
    assert not account.left.allows("1e-40")


def test_the_identical_question_costs_nothing(place):
    """Same question and level: the recorded answer, in any order of keys; another level or fresh=True: a new one."""
    account = opened(place)
    draws = iter(range(100))
    ask = lambda level, question, **how: account.ask(level, question, lambda: next(draws), **how)  # noqa: E731
    assert ask(0.1, {"a": 1, "b": 2}).answer == 0
    assert ask(0.1, {"b": 2, "a": 1}).answer == 0
    assert epsilon_spent(account) == Fraction(1, 10)
    assert ask(0.2, {"a": 1, "b": 2}).answer == 1
    assert ask(0.1, {"a": 1, "b": 2}, fresh=True).answer == 2
    assert ask(0.1, {"a": 1, "b": 2}).answer == 2  # the latest
    assert epsilon_spent(account) == Fraction(4, 10)
    assert ask(0.1, {"a": 1, "b": "2"}).answer == 3
    found = account.find({"a": 1, "b": 2}, 0.2)
    assert (found.answer, found.state, found.question) == (1, "done", {"a": 1, "b": 2})


def test_completing_twice_is_refused(place):
    """One answer per reservation; a second would be a second draw."""
    account = opened(place)
    with account.reserve(0.1, {"ask": 1}) as entry:
        entry.complete({"answer": 1})
        assert entry.head == account.head
        with pytest.raises(InvalidInput, match="complete already"):
            entry.complete({"answer": 2})
    assert [e.answer for e in account.entries()] == [{"answer": 1}]


def test_an_account_is_reopened_as_it_was(tmp_path):
    """Another budget, unit, neighbours or filter under the same name is refused, and says which."""
    path = tmp_path / "budget.db"
    ledger = um.Ledger(path)
    account = ledger.open("survey", um.ApproxDP(1, 1e-6), UNIT, NEIGHBOURS, "zcdp")
    again = ledger.open("survey", um.ApproxDP(1, 1e-6), UNIT, NEIGHBOURS)  # no filter asked: the account's own
    assert (again.filter.name, again.secret) == ("zcdp", account.secret)
    for name, how in {
        "budget": (um.ApproxDP(2, 1e-6), UNIT, NEIGHBOURS),
        "unit": (um.ApproxDP(1, 1e-6), "people by 'id', 3 rows each", NEIGHBOURS),
        "neighbours": (um.ApproxDP(1, 1e-6), UNIT, "replace"),
        "filter": (um.ApproxDP(1, 1e-6), UNIT, NEIGHBOURS, "basic"),
    }.items():
        with pytest.raises(BudgetMismatch, match=f"opened with {name} "):
            ledger.open("survey", *how)
    with pytest.raises(UnknownDataset, match="it has 'survey'"):
        ledger.account("suvrey")
    assert ledger.datasets() == ["survey"]
    assert len(account.secret) == 32
    assert account.secret.hex() not in repr(account) + str(vars(account.filter))


def test_bad_arguments_are_named():
    """Wrong names, neighbours, levels and contents, each with its remedy; an answer is never repeated."""
    ledger = um.Ledger(None)
    with pytest.raises(InvalidInput, match="dataset is ''"):
        ledger.open("", 1, UNIT, NEIGHBOURS)
    with pytest.raises(InvalidInput, match="unit is"):
        ledger.open("a", 1, " ", NEIGHBOURS)
    with pytest.raises(InvalidInput, match="add-remove"):
        ledger.open("a", 1, UNIT, "swap")
    with pytest.raises(InvalidInput, match="takes 'pure'"):
        ledger.open("a", 1, UNIT, NEIGHBOURS, "zcdp")
    with pytest.raises(UnsupportedLevel, match="no filter"):
        ledger.open("a", um.SuitablePair([(0, 0.1), (0.9, 1), (1, 1)]), UNIT, NEIGHBOURS)
    account = ledger.open("a", 1, UNIT, NEIGHBOURS)
    with pytest.raises(UnsupportedLevel, match="pure levels only"), account.reserve(um.GaussianDP(0.1), "q"):
        pass
    with pytest.raises(InvalidInput, match="the question is not plain JSON"), account.reserve(0.1, {1, 2}):
        pass
    with account.reserve(0.1, "q") as entry, pytest.raises(InvalidInput) as wrong:
        entry.complete({"answer": float("nan"), "secret": "Mallory"})
    assert "Mallory" not in str(wrong.value)
    for name in ("mysql://somewhere", " ", 7):
        with pytest.raises(InvalidInput, match="neither a file name"):
            um.Ledger(name)
    assert not ledger.kept
    assert "lost with this process" in repr(ledger)


def test_files_that_are_no_ledger_are_refused_and_untouched(tmp_path):
    """Text, nothing, someone else's database, another version, a cut or damaged file: bytes unchanged."""
    good = tmp_path / "good.db"
    account = opened(good)
    for i in range(30):
        spend(account, 0.01, i, "x" * 200)
    whole = good.read_bytes()

    def altered(name, change):
        path = tmp_path / name
        path.write_bytes(change(whole))
        return path

    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    cases = {
        altered("text.db", lambda _: b"epsilon: 1\n"): "is not a ledger",
        altered("json.db", lambda _: b'{"version": 2}'): "is not a ledger",
        altered("empty.db", lambda _: b""): "is not a ledger",
        altered("cut.db", lambda b: b[: len(b) // 2]): "damaged",
        altered("short.db", lambda b: b[:-1]): "damaged",
        other: "is not a ledger",
        altered("newer.db", lambda b: b.replace(b'"version":2', b'"version":7', 1)): "version 7",
        altered("marks.db", lambda b: b[:512] + os.urandom(1024) + b[1536:]): "damaged",
        altered("lines.db", lambda b: b[:4096] + os.urandom(4096) + b[8192:]): "damaged",
    }
    for path, message in cases.items():
        before = path.read_bytes()
        with pytest.raises(BadFile, match=message):
            um.Ledger(path)
        assert path.read_bytes() == before, path
    with pytest.raises(BadFile, match="not a folder"):
        um.Ledger(tmp_path / "nowhere" / "budget.db")
    with pytest.raises(BadFile, match="cannot be read"):
        um.Ledger(tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {p.name for p in cases} | {"good.db"}  # nothing left lying about


def tamper(path, change, number=None):
    """Change the text of an event, or of all lines, as someone would who also puts the marks right."""
    whole = path.read_bytes()
    lines = whole[ledger_file.BEGIN :].splitlines(keepends=True)
    if number is not None:
        old = lines[number]
        lines[number] = change(old)
        assert lines[number] != old
    else:
        lines = change(lines)
    digest = Index().digest
    for line in lines:
        digest = next_digest(digest, line)
    text = b"".join(lines)
    mark = ledger_file._write_mark(ledger_file.Mark(len(lines), ledger_file.BEGIN + len(text), digest))
    with path.open("r+b") as file:  # the same file, as others may have it open
        file.truncate(0)
        file.write(whole[: ledger_file.BLOCK] + mark + mark + text)


def replacing(old, new):
    return lambda line: line.replace(old, new)


@pytest.mark.parametrize(
    ("number", "change"),
    [
        (3, replacing(b'"1/10"', b'"1/100"')),
        (2, replacing(b'"20', b'"19')),
        (3, replacing(b'"reserve",2,', b'"reserve",1,')),
        (None, lambda lines: lines[:3] + lines[4:]),
        (None, lambda lines: [*lines[:3], lines[4], lines[3], *lines[5:]]),
        (None, lambda lines: [*lines, lines[-1]]),
        (None, lambda lines: lines[1:]),
        (4, lambda line: line.replace(line[-20:-4], b"0" * 16)),
        (0, replacing(b'"secret":"', b'"secret":"00')),
        (0, lambda line: line.replace(line[-10:-4], b"000000" if line[-10:-4] != b"000000" else b"111111")),
        (5, replacing(b":", b": ")),
        (5, lambda line: b"[" * 100_000 + line),
        (5, lambda line: b"\xff" + line),
        (5, lambda line: b"{}\n"),
        (5, lambda line: b'{"event":[[],{},1,2,3,4,5],"head":7}\n'),
    ],
)
def test_a_changed_event_is_found(tmp_path, number, change):
    """Whatever is changed in the past breaks the chain: who opens it is refused, and who has it open."""
    path = tmp_path / "budget.db"
    account = opened(path)
    for i in range(3):
        spend(account, 0.1, i)
    assert account.check()
    tamper(path, change, number)
    with pytest.raises(BadFile, match="nothing can be spent"):
        um.Ledger(path)
    with pytest.raises(BadFile, match="nothing can be spent"):
        account.reserve(0.1, "q")
    with pytest.raises(BadFile, match="nothing can be spent"):
        account.check()


def test_a_changed_last_event_or_opening_stops_spending(tmp_path):
    """The last event, which carries the sums, and the first, which carries the budget and the secret."""
    path = tmp_path / "budget.db"
    account = opened(path)
    spend(account, 0.9)
    whole = path.read_bytes()
    for number, old, new in ((2, b'"9/10"', b'"1/10"'), (0, b'"1"', b'"9"'), (0, b'"secret":"', b'"secret":"f')):
        tamper(path, replacing(old, new), number)
        with pytest.raises(BadFile, match=f"event {number}|not one that Utmost wrote"):
            opened(path)
        with pytest.raises(BadFile, match="damaged"):
            account.reserve(0.1, "q")
        path.write_bytes(whole)
        assert opened(path).check()
    assert epsilon_spent(account) == Fraction(9, 10)


def test_a_printed_head_finds_a_backup_that_was_put_back(tmp_path):
    """The chain of an old copy is intact; only a head printed later tells."""
    path, backup = tmp_path / "budget.db", tmp_path / "backup.db"
    account = opened(path)
    early = spend(account, 0.1, 1).head
    shutil.copy(path, backup)
    late = spend(account, 0.1, 2).head
    assert account.check(early)
    assert account.check(late.upper())
    shutil.copy(backup, path)
    with pytest.raises(BadFile, match="were read before"):
        account.reserve(0.1, 3)  # whoever has it open knows better
    restored = opened(path)
    assert restored.check()
    assert restored.check(early)
    assert not restored.check(late)
    assert "older copy" in str(restored.check(late))


@pytest.mark.parametrize("change", ["deleted", "replaced"])
def test_a_file_that_lost_its_name_is_not_spent_from(tmp_path, change):
    """Two processes would each have a budget: who holds the old file is refused, before and while it spends."""
    path, away = tmp_path / "budget.db", tmp_path / "away"
    account = opened(path)
    reservation = account.reserve(0.1, {"ask": 1})
    away.mkdir()
    for file in tmp_path.glob("budget.db*"):
        file.rename(away / file.name)
    if change == "replaced":
        other = opened(path)
        spend(other, 0.9)
    for use in (lambda: account.reserve(0.1, "q"), lambda: reservation.complete(1), lambda: account.left):
        with pytest.raises(BadFile, match="deleted or replaced"):
            use()
    if change == "replaced":
        assert epsilon_spent(other) == Fraction(9, 10)
        other._storage.close()
    for file in away.iterdir():
        file.rename(path.with_name(file.name))
    assert reservation.complete(1).answer == 1
    with pytest.raises(BadFile, match="deleted or replaced"), account._storage.write("survey"):
        path.unlink()


def test_tampered_answers_are_not_returned(tmp_path):
    """A recorded answer, question or level that was changed is found by whoever asks for it, not only by a check."""
    path = tmp_path / "budget.db"
    account = opened(path)
    spend(account, 0.1, "x", 41)
    spend(account, 0.1, "y", 7)
    assert account.ask(0.1, {"ask": "x"}, lambda: 0).answer == {"answer": 41}
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'{"answer":41}', b'{"answer":99}'))  # of the same length, so the marks stay
    for use in (
        lambda: account.find({"ask": "x"}),
        lambda: account.ask(0.1, {"ask": "x"}, lambda: 0),
        account.entries,
    ):
        with pytest.raises(BadFile, match="event 2"):
            use()
    with pytest.raises(BadFile, match="damaged"):
        account.check()
    assert account.find({"ask": "y"}).answer == {"answer": 7}
    path.write_bytes(whole.replace(b'"1/10"', b'"1/20"', 1))
    with pytest.raises(BadFile, match="event 1"):
        account.find({"ask": "x"})
    path.write_bytes(whole)
    assert account.check()


def test_an_answer_filed_under_another_question_is_not_returned():
    """Even where chain and hashes are whole: what is found under a key must have been asked so."""
    account = opened(None)
    asked, other = {"ask": "x"}, {"ask": "y"}
    spend(account, 0.1, "x", 41)
    schedule = account.reserve_schedule(0.1, 2, "slots")
    schedule.slot({"ask": "z"}).complete({"answer": 5})
    filed = account._storage._index.tracks["survey"].answers
    for wrong in (asked, {"ask": "z"}):
        filed[question_key(other)] = filed[question_key(wrong)]
        for use in (lambda: account.find(other), lambda: account.ask(0.1, other, lambda: 0)):
            with pytest.raises(BadFile, match="was changed"):
                use()
    assert account.find(asked).answer == {"answer": 41}
    assert account.find({"ask": "z"}).answer == {"answer": 5}


def test_a_check_recomputes_costs():
    """A chain may be whole and still lie: too small a cost."""
    levels, cost = [um.PureDP(0.5).to_json()], [["1/10", "1"]]
    body = {"levels": levels, "slots": 0, "cost": cost, "question": 1, "spent": cost, "entries": 1}
    forged = opened(None)
    with forged._storage.write("survey") as book:
        book.add(next_event(book.last("survey"), "reserve", 1, 0, body), question_key(1))
    assert "less than its level costs" in str(forged.check())


def test_answers_of_releases_are_recorded(place):
    """Fractions and numpy's numbers come back as plain data; of what is not, charge and remedy are named."""
    account = opened(place)
    noise = um.noise.staircase(1.0)
    released = account.ask(0.1, "grid", lambda: noise.release(0.5, grid="1/100")).answer
    assert (Fraction(released) * 100).denominator == 1
    mixed = {"n": np.int64(3), "x": np.float64(0.5), "list": (Fraction(1, 100), Decimal("0.10")), "yes": np.bool_(True)}
    recorded = {"n": 3, "x": 0.5, "list": ["1/100", "0.10"], "yes": True}
    assert account.ask(0.1, "mixed", lambda: mixed).answer == recorded
    with pytest.raises(InvalidInput, match=r"The charge stands, and entry 3 .*reservation\(3\)"):
        account.ask(0.1, "set", lambda: {1, 2})
    assert epsilon_spent(account) == Fraction(3, 10)
    assert account.reservation(3).complete([1, 2]).answer == [1, 2]
    assert account.ask(0.1, "set", lambda: 0).answer == [1, 2]
    with pytest.raises(InvalidInput, match="complete already"):
        account.reservation(3)
    with pytest.raises(InvalidInput, match="keys"):
        account.reserve(0.1, {1: "x"})


def test_names_that_look_the_same_are_the_same(place):
    """Composed letters or not; spaces around a name, control characters and what nobody sees are refused."""
    ledger = um.Ledger(place)
    account = ledger.open("Zu\u0308rich", 1, UNIT, NEIGHBOURS)
    assert account.dataset == "Z\u00fcrich" == ledger.account("Zu\u0308rich").dataset
    unseen = ("\u200b", "\u200d", "\u00ad", "\ufeff", "\u2060", "\u202e", "\u034f", "\ufe0f", "\u3164", "\U000e0041")
    spaces = ("\u00a0", "\u2009", "\u3000")
    odd = [f"sur{letter}vey" for letter in unseen + spaces]
    for name in (" survey", "survey\n", "sur\x00vey", "sur\u2028vey", "\ud800", "survey\u200b", *odd):
        with pytest.raises(InvalidInput, match="dataset is"):
            ledger.open(name, 1, UNIT, NEIGHBOURS)
        with pytest.raises(InvalidInput, match="dataset is"):
            ledger.account(name)
    with pytest.raises(InvalidInput, match="unit is"):
        ledger.open("a", 1, "\ud800", NEIGHBOURS)


def test_reserving_charges_with_or_without_a_block(place):
    """A call is a charge; the recorded question is the one that was asked, whatever becomes of the object."""
    account = opened(place)
    question = {"ask": 1}
    reservation = account.reserve(0.1, question)
    assert epsilon_spent(account) == Fraction(1, 10)
    question["ask"] = 2
    reservation.complete(5)
    assert account.find({"ask": 1}).answer == 5
    assert account.find({"ask": 2}) is None
    assert account.check()


def test_wrong_uses_are_named(tmp_path):
    """Entries that are not there, one level as a batch, a closed ledger: in words."""
    path = tmp_path / "budget.db"
    account = opened(path, um.ApproxDP(1, 1e-5))
    for number in (0, -1, "1", None):
        with pytest.raises(InvalidInput, match="numbered from 1"):
            account.schedule(number)
    with pytest.raises(InvalidInput, match="no entry 9"):
        account.schedule(9)
    for levels in (0.1, "0.1", um.PureDP(1)):
        with pytest.raises(InvalidInput, match="list of levels"):
            account.reserve_batch(levels, "q")
    with pytest.raises(InvalidInput, match="delta is -1;"):
        account.reserve_batch([0.1], "q", delta=-1)
    assert account.reserve_schedule(0.1, np.int64(2), "q").left == 2
    account._storage.close()
    with pytest.raises(UtmostError, match="is closed") as wrong:
        account.entries()
    assert not isinstance(wrong.value, BadFile)


def test_a_schedule_has_as_many_slots_as_were_charged(place):
    """One release more would be free: after the last slot nothing is drawn, and the refusal is no entry."""
    account = opened(place)
    for slots in (1, 3):
        schedule = account.reserve_schedule("0.1", slots, f"{slots} of them")
        for used in range(slots):
            assert schedule.left == slots - used
            schedule.slot({"ask": used}).complete(used)
        for _ in range(2):
            with pytest.raises(BudgetSpent, match=f"all {slots} slots"):
                schedule.slot({"ask": "one more"})
        assert (schedule.left, len(schedule.entry.used)) == (0, slots)
    assert epsilon_spent(account) == Fraction(4, 10)
    assert account.check()


def test_numbers_of_thousands_of_digits(place):
    """Refused in words where a parameter has too many; what adds up to more than Python writes is still written."""
    account = opened(place)
    beyond = ("9e4999", "1e-4999", f"0.{'3' * 4500}", 10**4500, Fraction(1, 10**4500), Decimal("1e4500"))
    for level in beyond:
        for use in (account.reserve, lambda level, _: account.left.allows(level)):
            with pytest.raises(InvalidInput, match=r"give a number|mean nothing here"):
                use(level, "q")
        with pytest.raises(InvalidInput):
            account.reserve_batch([level], "q")
        with pytest.raises(InvalidInput):
            opened(None, level)
    with pytest.raises(BudgetSpent, match=r"about 9\.00000e\+3999-DP"):
        account.reserve("9e3999", "q")
    assert epsilon_spent(account) == 0
    for k in (2100, 2101):  # coprime denominators of 4200 digits: their sum has 8400
        assert account.reserve(Fraction(1, 3 ** (4 * k)), k)
        assert account.reserve(Fraction(1, 10 ** (2 * k)), k)
    wanted = sum(Fraction(1, 3 ** (4 * k)) + Fraction(1, 10 ** (2 * k)) for k in (2100, 2101))
    assert epsilon_spent(account) == wanted
    assert "epsilon about 1" in str(account.spent)  # e-4008, which a float calls 0
    assert account.check()
    wide = opened(None, um.GaussianDP(1))
    wide.reserve(um.GaussianDP("1e-4000"), "q")
    assert wide.spent.amounts()["mu²"].rational == Fraction(1, 10**8000)


def test_a_huge_budget_is_shown(place):
    """Beyond the floats there is still something left."""
    account = opened(place, "1e400")
    spend(account, 1)
    assert "1.00000e+400" in str(account.left)
    assert not account.left.allows("1e401")


def test_a_question_answered_meanwhile_is_not_charged(tmp_path):
    """Between looking for a recorded answer and reserving, another process may have recorded one."""
    path = tmp_path / "budget.db"
    first, second = opened(path), opened(path)
    find = first.find
    first.find = lambda *question: (find(*question), second.ask(0.1, "q", lambda: 7))[0]
    assert first.ask(0.1, "q", lambda: 8).answer == 7
    assert epsilon_spent(first) == Fraction(1, 10)


def test_memory_is_not_shared_with_a_fork():
    """Parent and child would each have the whole budget."""
    account = opened(None)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover
        try:
            spend(account, 0.1)
        except InvalidInput as refused:
            os.write(writer, str(refused).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert b"belongs to the process" in os.read(reader, 1000)


def test_a_file_is_shared_with_a_fork(tmp_path):
    """The child opens its own connection, and parent and child see each other's spends."""
    account = opened(tmp_path / "budget.db")
    spend(account, 0.1, "parent")
    child = os.fork()
    if child == 0:  # pragma: no cover
        spend(account, 0.2, "child")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    spend(account, 0.3, "parent again")
    assert epsilon_spent(account) == Fraction(6, 10)
    assert account.check()


def many_spend(url, seconds, processes=8):
    """Processes spend at once; the budget is made large enough to last about so many seconds."""
    account = um.Ledger(url).account("survey")
    start = time.monotonic()
    for i in range(20):
        spend(account, "1e-9", i)
    pace = 20 / (time.monotonic() - start)
    level = Fraction(1, max(100, round(seconds * pace / 4)))  # at once they get about a quarter of it in all
    answered = spend_at_once([url] * processes, str(level))
    before = 20 * Fraction(1, 10**9)
    fit = (1 - before) // level
    entries = account.entries()
    assert sum(answered) == fit == len(entries) - 20  # nothing more, nothing lost
    assert epsilon_spent(account) == before + fit * level <= 1
    unfinished = sum(entry.state == "reserved" for entry in entries)
    assert unfinished == sum(count // 7 for count in answered)
    assert account.check()


def test_eight_processes_spend_at_once(tmp_path):
    """About ten seconds of eight processes: exactly as many spends as fit, each of them on record."""
    path = tmp_path / "budget.db"
    opened(path)
    many_spend(str(path), 10)


@pytest.mark.long
def test_eight_processes_spend_at_once_for_a_minute(tmp_path):
    """The same for a minute."""
    path = tmp_path / "budget.db"
    opened(path)
    many_spend(str(path), 60)


def spend_twice(path, last):
    def work(report):
        account = opened(path)
        step = killed_at(last)
        for level, question in (("0.25", "first"), ("0.5", "second")):
            with account.reserve(level, {"ask": question}) as entry:
                report("reserved")
                step()
                entry.complete({"answer": 7})
            report("completed")

    return work


def test_killed_at_every_step(tmp_path):
    """kill -9 at each step: what was reported as reserved is charged, what was completed is on record.

    Whatever the step, the ledger opens again, is intact, and pays for what is left.
    """
    step, finished = 1, False
    while not finished:
        path = tmp_path / f"{step}.db"
        finished, said = in_a_child(spend_twice(path, step))
        account = um.Ledger(path).account("survey")
        entries = account.entries()
        reserved, completed = said.count("reserved"), said.count("completed")
        assert account.check()
        assert reserved <= len(entries) <= reserved + 1
        assert sum(e.state == "done" for e in entries) in (completed, completed + 1)
        charged = sum(Fraction(str(e.cost["epsilon"].rational)) for e in entries)
        assert epsilon_spent(account) == charged
        spend(account, str(1 - charged), "the rest")
        assert not account.left.allows("1e-20")
        step += 1
    assert step > 4 * 6  # two reservations and two completions: a line and a mark, in halves, and synced


def test_killed_while_the_file_is_made(tmp_path):
    """A ledger appears whole or not at all: a child killed during creation leaves nothing under the name."""

    def make(path, last):
        def work(report):
            killed_at(last)
            um.Ledger(path)

        return work

    for step in range(1, 4):
        path = tmp_path / str(step) / "budget.db"
        path.parent.mkdir()
        finished, _ = in_a_child(make(path, step))
        assert not finished
        assert not path.exists()
        assert opened(path).check()


def test_postgres_keeps_a_ledger(postgres):
    """The same promises on a real server: exact sums, refusals, recorded answers, a chain, eight processes at once."""
    url, psycopg = postgres
    account = opened(url)
    assert account.ask(0, {"ask": "x"}, lambda: 3).answer == 3
    assert account.ask(0, {"ask": "x"}, lambda: 4).answer == 3
    assert len(account.secret) == 32
    with pytest.raises(BudgetMismatch):
        opened(url, budget=2)
    other = opened(url, budget=1, dataset="other")
    spend(other, 0.6)
    with pytest.raises(BudgetSpent), other.reserve(0.6, "q"):
        pass
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE utmost_events SET body = replace(body, '3/5', '2/5') WHERE dataset = 'other'")
    assert not other.check()
    assert "sums" not in str(other.check())  # of a broken chain they mean nothing
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE utmost_events SET body = '{}' WHERE dataset = 'other'")
    assert not other.check()
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE utmost_events SET body = '{' WHERE dataset = 'other'")
    with pytest.raises(BadFile, match="event 0"):
        other.check()
    fresh = um.Ledger(url)
    assert fresh.datasets() == ["other", "survey"]
    assert "utmost@" not in fresh.where


def test_postgres_with_eight_processes(postgres):
    """Some seconds of eight processes on a server."""
    url, psycopg = postgres
    with psycopg.connect(url) as connection:
        connection.execute("DROP TABLE IF EXISTS utmost_events, utmost_accounts, utmost_version")
    opened(url)
    many_spend(url, 2)


def test_postgres_charges_two_accounts_in_one_transaction(postgres):
    """A holder's account and the data set's: what one of them refuses takes the other's charge back."""
    url, _ = postgres
    ledger = um.Ledger(url)
    main = ledger.open("held", 1, "rows, at most 500", "replace")
    own = [
        ledger.open(f"{name} at held", budget, "rows, at most 500", "replace")
        for name, budget in (("a", 0.3), ("b", 0.6))
    ]
    ada, bob = (HolderAccount(main, account) for account in own)
    with pytest.raises(BudgetSpent):
        ada.ask(0.5, "all", lambda: 7)
    assert bob.ask(0.5, "all", lambda: 8).answer == 8
    assert [len(account.entries()) for account in (main, *own)] == [1, 0, 1]
    ledger.close()


def test_postgres_charges_both_or_neither_when_killed_at_any_statement(postgres):
    """kill -9 of a process before each statement of its transactions: two accounts never differ."""
    url, _ = postgres

    def work(report):
        ledger = um.Ledger(url)
        held = HolderAccount(ledger.account("killed"), ledger.account("c at killed"))
        step = killing_before(last)
        run = ledger_postgres.PostgreSQL._run
        ledger_postgres.PostgreSQL._run = lambda *given: (step(), run(*given))[1]
        held.ask("0.01", {"step": last}, lambda: 7)

    ledger, last, finished, counts = um.Ledger(url), 0, False, set()
    main, own = (ledger.open(name, 1, UNIT, NEIGHBOURS) for name in ("killed", "c at killed"))
    while not finished:
        last += 1
        finished, _ = in_a_child(work)
        found, mine = main.entries(), own.entries()
        assert [(e.cost, e.state) for e in found] == [(e.cost, e.state) for e in mine]
        counts.add((len(found) - last, sum(e.state == "done" for e in found)))
        assert main.check()
        assert own.check()
    assert last > 10
    assert len(counts) > 2  # killed before the charge, between charge and answer, and not at all
    ledger.close()


def test_postgres_answers_filed_under_another_question(postgres):
    """The key of a question stands beside the chain, not in it: an answer found under a wrong one is not returned."""
    url, psycopg = postgres
    account = opened(url, dataset="filed")
    spend(account, 0.1, "x", 41)
    wrong = question_key({"ask": "y"})
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE utmost_events SET question = %s WHERE dataset = 'filed' AND number = 2", [wrong])
    assert account.find({"ask": "x"}) is None
    for use in (lambda: account.find({"ask": "y"}), lambda: account.ask(0.1, {"ask": "y"}, lambda: 0)):
        with pytest.raises(BadFile, match="event 2"):
            use()
    assert "filed under another question" in str(account.check())
    assert epsilon_spent(account) == Fraction(1, 10)


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
def test_postgres_whatever_the_default_isolation(postgres, isolation):
    """A server whose default is stricter: whoever waited for its turn sees what was spent meanwhile, without errors."""
    url, psycopg = postgres
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS utmost_events, utmost_accounts, utmost_version")
        connection.execute(f"ALTER ROLE utmost SET default_transaction_isolation = '{isolation}'")
    try:
        opened(url)
        schedule = opened(url, dataset="slots").reserve_schedule("1e-3", 60, "shared")
        other = um.Ledger(url).account("slots").schedule(schedule.number)
        taken, wrong = [], []

        def use(mine, name):
            try:
                while True:
                    taken.append(mine.slot({"by": name, "n": len(taken)}).slot)
            except BudgetSpent:
                pass
            except UtmostError as problem:
                wrong.append(str(problem))

        threads = [threading.Thread(target=use, args=(mine, name)) for name, mine in enumerate((schedule, other))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
        assert sorted(taken) == list(range(1, 61))
        many_spend(url, 1, processes=4)
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("ALTER ROLE utmost RESET default_transaction_isolation")


def test_postgres_of_another_version_or_out_of_reach(postgres):
    """Said in words, without the password."""
    url, psycopg = postgres
    with psycopg.connect(url) as connection:
        connection.execute("CREATE SCHEMA IF NOT EXISTS newer")
        connection.execute("CREATE TABLE newer.utmost_version (version INTEGER)")
        connection.execute("INSERT INTO newer.utmost_version VALUES (9)")
    with pytest.raises(BadFile, match="version 9"):
        um.Ledger(f"{url}?options=-csearch_path%3Dnewer")
    with pytest.raises(UtmostError, match="cannot be reached") as wrong:
        um.Ledger("postgresql://me:hunter2@127.0.0.1:1/nothing")
    assert "hunter2" not in str(wrong.value)


def test_json_of_entries_is_plain(place):
    """What is stored is readable by anyone: levels, costs and questions as JSON."""
    account = opened(place, um.GaussianDP(1))
    spend(account, um.GaussianDP(0.5))
    (entry,) = account.entries()
    assert json.loads(json.dumps(entry.level.to_json())) == {"kind": "gaussian", "mu": "1/2"}
    assert entry.cost["mu²"].rational == Fraction(1, 4)
