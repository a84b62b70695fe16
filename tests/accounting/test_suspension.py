"""A suspended account: nothing is charged or recorded for anybody until it is resumed, whatever is killed or forged."""

import json
import os
import signal
import stat
import threading
from contextlib import suppress

import pytest
from oracles.killing import in_a_child, killed_at

import utmost as um
from utmost.accounting import ledger_file
from utmost.accounting.account import ENDED, Account, next_event, question_key
from utmost.accounting.holder_account import HolderAccount
from utmost.accounting.ledger_file import Index, next_digest, write_line
from utmost.accounting.suspension import orphaned_marks, remove_mark, set_mark
from utmost.errors import SUSPENDED, AccountSuspended, BadFile, BudgetSpent, LedgerFailed

UNIT, NEIGHBOURS = "rows, at most 500", "add-remove"
BODIES = {
    "open": {"filter", "unit", "neighbours", "secret", "spent", "entries"},
    "reserve": {"levels", "slots", "cost", "question", "spent", "entries"},
    "slot": {"question", "spent", "entries"},
    "complete": {"answer", "spent", "entries"},
}
"""What the events of a ledger hold that was never suspended: as in version 0.2."""


def opened(url, dataset="survey", budget=1000):
    return um.Ledger(url).open(dataset, budget, UNIT, NEIGHBOURS)


def written(path):
    """The events of a file, as they are written."""
    return [event for line in path.read_bytes()[ledger_file.BEGIN :].splitlines(keepends=True) for event in of(line)]


def of(line):
    return ledger_file.read_line(line)[0]


def forged(path, *events):
    """Add events to a file, as someone would who also puts the marks right."""
    whole = path.read_bytes()
    lines = [*whole[ledger_file.BEGIN :].splitlines(keepends=True), *(write_line([event]) for event in events)]
    digest = Index().digest
    for line in lines:
        digest = next_digest(digest, line)
    text = b"".join(lines)
    mark = ledger_file._write_mark(ledger_file.Mark(len(lines), ledger_file.BEGIN + len(text), digest))
    path.write_bytes(whole[: ledger_file.BLOCK] + mark + mark + text)


def sums(event):
    return {"spent": event.body["spent"], "entries": event.body["entries"]}


def state(account):
    return account.head, str(account.spent), account.entries()


@pytest.fixture(params=["memory", "file", "database"])
def place(request, tmp_path):
    if request.param == "database":
        url, psycopg = request.getfixturevalue("postgres")
        with psycopg.connect(url, autocommit=True) as connection:
            for table in ("utmost_events", "utmost_accounts", "utmost_version"):
                connection.execute(f"DROP TABLE IF EXISTS {table}")
        return url
    return None if request.param == "memory" else tmp_path / "budget.db"


@pytest.mark.parametrize("meanwhile", [False, True])
def test_nothing_is_charged_or_recorded_until_it_is_resumed(place, meanwhile, monkeypatch):
    """Every way to spend, recorded answers of identical questions, and an answer that comes too late.

    Also where the account is suspended right after it was found active: what counts is the transaction that charges.
    """
    account = opened(place)
    if not meanwhile:
        account.ask(1, "known", lambda: 7)
        account.ask_batch([1, 1], "known batch", lambda: 7)
    else:
        monkeypatch.setattr(Account, "require_active", lambda account: None)
    schedule, late = account.reserve_schedule(1, 3, "schedule"), account.reserve(1, "late")
    slot = schedule.slot("first")
    account.suspend(late.number, ["why"])
    before = state(account)
    for ask in (
        lambda: account.ask(1, "known", lambda: 8),
        lambda: account.ask(1, "new", lambda: 8),
        lambda: account.ask(1, "new", lambda: 8, fresh=True),
        lambda: account.ask_batch([1, 1], "batch", lambda: 8),
        lambda: account.ask_batch([1, 1], "known batch", lambda: 8),
        lambda: account.reserve(1, "new"),
        lambda: account.reserve_batch([1], "new"),
        lambda: account.reserve_schedule(1, 2, "new"),
        lambda: account.ask(10**6, "more than the budget", lambda: 8),
        lambda: schedule.slot("second"),
        lambda: slot.complete(5),
        lambda: late.complete(5),
    ):
        with pytest.raises(AccountSuspended) as refused:
            ask()
        assert str(refused.value) == SUSPENDED
    assert state(account) == before
    assert account.suspended is not None
    assert account.check()
    account.suspend(late.number, ["again"])  # once is enough
    assert state(account) == before
    since = account.suspended
    assert account.resume() == since
    assert account.suspended is None
    assert account.resume() is None
    assert late.complete(5).answer == 5
    assert account.ask(1, "known", lambda: 8).answer == (8 if meanwhile else 7)
    checked = account.check()
    assert checked
    assert [check.name for check in checked.checks] == ["chain", "sums", "questions", "suspensions"]
    with pytest.raises(BudgetSpent):
        account.ask(10**6, "more than the budget", lambda: 8)


def test_others_see_it_and_end_it(tmp_path):
    """A suspension is the ledger's: another opening of the file and another process are refused, and may resume."""
    path = tmp_path / "budget.db"
    account, other, bystander = opened(path), opened(path), opened(path, "other data")
    account.suspend(account.reserve(1, "q").number)
    with pytest.raises(AccountSuspended):
        other.ask(1, "q2", lambda: 1)

    def ask(report):
        with suppress(AccountSuspended):
            opened(path).ask(1, "q3", lambda: 1)
            report("answered")
        report("refused" if opened(path).suspended == other.suspended else "differs")

    assert in_a_child(ask) == (True, ["refused"])
    assert bystander.ask(1, "q", lambda: 1).answer == 1
    assert other.resume() is not None
    assert account.ask(1, "q2", lambda: 1).answer == 1


def test_a_ledger_that_was_never_suspended_is_written_as_before(tmp_path):
    """No new part in any event, no event of a new kind, and nothing beside the file."""
    path = tmp_path / "budget.db"
    account = opened(path)
    account.ask(1, "q", lambda: 1)
    schedule = account.reserve_schedule(1, 2, "schedule")
    with account.reserve(1, "marked") as entry, entry.running():
        entry.complete(3)
    slot = schedule.slot("first")
    with slot.running():
        slot.complete(2)
    assert {event.kind for event in written(path)} == set(BODIES)
    assert all(set(event.body) == BODIES[event.kind] for event in written(path))
    assert [file.name for file in tmp_path.iterdir()] == ["budget.db"]


@pytest.mark.parametrize("meanwhile", [False, True])
def test_a_holder_is_not_charged_either(tmp_path, meanwhile, monkeypatch):
    """Asked new, asked by another before, or given before: neither of the two accounts changes."""
    ledger = um.Ledger(tmp_path / "budget.db")
    whole = ledger.open("survey", 100, UNIT, NEIGHBOURS)
    ada, bob = (HolderAccount(whole, ledger.open(name, 10, UNIT, NEIGHBOURS)) for name in ("ada", "bob"))
    ada.ask(1, "known", lambda: 7)
    late = bob.take(1, "late")
    ada.suspend(2)
    if meanwhile:  # suspended right after it was found active
        monkeypatch.setattr(Account, "require_active", lambda account: None)
    before = state(whole), state(ada.own), state(bob.own)
    for ask in (
        lambda: bob.ask(1, "known", lambda: 8),
        lambda: bob.ask(1, "new", lambda: 8),
        lambda: late.complete(1),
        *(() if meanwhile else (lambda: ada.ask(1, "known", lambda: 8),)),
    ):
        with pytest.raises(AccountSuspended):
            ask()
    assert (state(whole), state(ada.own), state(bob.own)) == before
    assert whole.suspended
    assert ada.own.suspended is None


@pytest.mark.parametrize(
    "forge",
    [
        lambda last: next_event(last, "resume", 0, 0, sums(last)),
        lambda last: next_event(last, "suspend", 1, 0, {**sums(last), "entry": 1}),
        lambda last: next_event(last, "suspend", 0, 0, {**sums(last), "entry": 1})._replace(head="0" * 64),
        lambda last: next_event(last, "pause", 0, 0, sums(last)),
    ],
)
def test_forged_suspensions_are_refused(tmp_path, forge):
    """A resumption of nothing, one that claims to be of an entry, a wrong hash, an unknown kind."""
    path = tmp_path / "budget.db"
    opened(path).ask(1, "q", lambda: 1)
    forged(path, forge(written(path)[-1]))
    with pytest.raises(BadFile):
        um.Ledger(path)


def test_a_charge_forged_behind_a_suspension_is_refused(tmp_path):
    """A right hash is not enough: while an account is suspended nothing but its resumption can come."""
    for kind in ("reserve", "complete", "suspend"):
        path = tmp_path / f"{kind}.db"
        account = opened(path)
        entry = account.reserve(1, "q")
        account.suspend(entry.number)
        events = written(path)
        body = {"reserve": {**events[1].body, "entries": 2}, "complete": {**sums(events[1]), "answer": 1}}
        number = {"reserve": 2, "complete": 1}.get(kind, 0)
        forged(path, next_event(events[-1], kind, number, 0, body.get(kind, events[-1].body)))
        with pytest.raises(BadFile, match="damaged"):
            um.Ledger(path)
        with pytest.raises(BadFile):
            account.resume()


def test_a_changed_suspension_is_found(tmp_path):
    """Its time, its entry; and taken away, a head of a report that names it is missing."""
    path = tmp_path / "budget.db"
    account = opened(path)
    account.suspend(account.reserve(1, "q").number)
    whole, head = path.read_bytes(), account.head
    for old, new in (
        (b'"suspend"', b'"reserve"'),
        (b'"entry":1', b'"entry":2'),
        (b'"suspend",0,0,"2', b'"suspend",0,0,"1'),
    ):
        assert whole.count(old) == 1
        path.write_bytes(whole.replace(old, new))
        with pytest.raises(BadFile):
            um.Ledger(path)
    events = whole[ledger_file.BEGIN :].splitlines(keepends=True)
    path.write_bytes(whole[: ledger_file.BEGIN] + b"".join(events[:-1]))
    with pytest.raises(BadFile):  # the marks still tell
        um.Ledger(path)
    forged(path)
    assert opened(path).suspended is None
    assert not opened(path).check(head)


def test_a_forged_suspension_in_a_database_is_found(postgres):
    url, psycopg = postgres
    account = opened(url, "forged")
    entry = account.reserve(1, "q")
    account.suspend(entry.number)
    with account._storage.write("forged") as book:
        body = {**sums(book.last("forged")), "answer": 1}
        book.add(next_event(book.last("forged"), "complete", 1, 0, body), question_key("q"))
    assert [check.name for check in account.check().checks if not check.passed] == ["suspensions"]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE utmost_events SET kind = 'resume' WHERE dataset = 'forged' AND kind = 'suspend'")
    with pytest.raises(BadFile):
        account.entries()
    assert not account.check()


# ---- a process that ends in the middle ----


def test_killed_at_every_step_of_failing(tmp_path):
    """Killed anywhere between the failure and the end of its suspension: the next question is refused all the same."""
    for last in range(1, 100):
        path = tmp_path / f"{last}.db"
        account = opened(path)

        def fail(report, path=path, last=last):
            entry = opened(path).reserve(1, "q")
            with entry.running():
                report("running")
                killed_at(last)
                entry.suspend(["out of memory"])

        ended, words = in_a_child(fail)
        assert words == ["running"]
        with pytest.raises(AccountSuspended):
            account.ask(1, "another", lambda: 1)
        assert account.check()
        assert [entry.state for entry in account.entries()] == ["reserved"]
        assert account.resume() is not None
        assert account.ask(1, "another", lambda: 1).answer == 1
        assert not (tmp_path / f"{last}.db.running").is_dir() or not os.listdir(tmp_path / f"{last}.db.running")
        if ended:
            break
    assert 5 < last < 99


def in_the_middle(path, ready, wait):
    """Reserve, say so, and stay in the middle of the question."""
    entry = opened(path).reserve(1, "q")
    with entry.running():
        os.write(ready, b"r")
        os.read(wait, 1)
        entry.complete(5)


@pytest.fixture
def other(tmp_path):
    """A process in the middle of a question: its path, its number, and what lets it go on."""
    path = tmp_path / "budget.db"
    opened(path)
    ready, wait = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with suppress(KeyboardInterrupt):
            in_the_middle(path, ready[1], wait[0])
        os._exit(0)
    assert os.read(ready[0], 1) == b"r"
    try:
        yield path, child, lambda: os.write(wait[1], b"w")
    finally:
        for handle in (*ready, *wait):
            os.close(handle)


def test_a_process_that_runs_suspends_nothing(other):
    """Questions at the same time are normal, in other processes and in threads of one."""
    path, child, go_on = other
    account = opened(path)
    with account.reserve(1, "mine") as mine, mine.running(), account.reserve(1, "mine too") as too, too.running():
        assert account.ask(1, "another", lambda: 1).answer == 1
        assert opened(path).ask(1, "a third", lambda: 1).answer == 1
        mine.complete(1)
        too.complete(2)
    go_on()
    os.waitpid(child, 0)
    assert account.ask(1, "q", lambda: 8).answer == 5
    assert not (path.parent / "budget.db.running").exists()


def test_a_process_that_was_killed_suspends(other):
    """One bit, once: whoever asks next is refused, and the owner finds which question it was."""
    path, child, _ = other
    account = opened(path)
    assert account.ask(1, "another", lambda: 1).answer == 1
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    spent = account.spent
    with pytest.raises(AccountSuspended):
        account.ask(1, "another", lambda: 1)  # recorded before, and refused now
    assert account.spent == spent
    (line,) = account.failures.read_text().splitlines()
    assert {name: json.loads(line)[name] for name in ("dataset", "entry", "slot", "reasons")} == {
        "dataset": "survey",
        "entry": 1,
        "slot": 0,
        "reasons": [ENDED],
    }
    assert account.resume() is not None
    assert account.ask(1, "another", lambda: 1).answer == 1
    assert account.check()


def test_an_owner_may_resume_before_anybody_asks(other):
    path, child, _ = other
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    account = opened(path)
    assert account.resume() is not None
    assert account.ask(1, "another", lambda: 1).answer == 1
    assert [event.kind for event in written(path)] == ["open", "reserve", "suspend", "resume", "reserve", "complete"]


def test_a_question_in_flight_ends_with_the_one_that_was_killed(other):
    """Else questions at the same time would tell one bit each."""
    path, child, _ = other
    account = opened(path)
    mine = account.reserve(1, "mine")
    with mine.running():
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with pytest.raises(AccountSuspended):
            mine.complete(1)
    assert [entry.state for entry in account.entries()] == ["reserved", "reserved"]


def test_whoever_stops_a_question_suspends_nothing(other):
    """Ctrl-C: the user chose the moment, no row did. The charge stands."""
    path, child, _ = other
    os.kill(child, signal.SIGINT)
    os.waitpid(child, 0)
    account = opened(path)
    assert account.ask(1, "another", lambda: 1).answer == 1
    assert [entry.state for entry in account.entries()] == ["reserved", "done"]


def test_killed_right_after_the_answer(tmp_path):
    """The answer is recorded, only the mark is left: nothing failed."""
    path = tmp_path / "budget.db"
    account = opened(path)
    entry = account.reserve(1, "q")
    mark = set_mark(account._folder, account._key, entry.number, 0, 0o600)
    entry.complete(5)
    os.close(mark.handle)  # as when its process ends
    assert len(orphaned_marks(account._folder, account._key)) == 1
    assert account.ask(1, "another", lambda: 1).answer == 1
    assert orphaned_marks(account._folder, account._key) == []


def test_unfinished_entries_of_before_suspend_nothing(tmp_path):
    """Version 0.2 left entries without an answer, and so does whoever uses the ledger by itself."""
    path = tmp_path / "budget.db"

    def leave(report):
        opened(path).reserve(1, "q")

    assert in_a_child(leave)[0]
    account = opened(path)
    assert account.ask(1, "another", lambda: 1).answer == 1
    assert account.reservation(1).complete(3).answer == 3


def test_a_mark_belongs_to_one_account(tmp_path):
    """Of another data set in the ledger, and of another ledger that had the name before, it says nothing."""
    path = tmp_path / "budget.db"
    opened(path)

    def die(report):
        entry = opened(path).reserve(1, "q")
        with entry.running():
            os.kill(os.getpid(), signal.SIGKILL)

    in_a_child(die)
    assert opened(path, "other data").ask(1, "q", lambda: 1).answer == 1
    path.unlink()
    assert opened(path).ask(1, "q", lambda: 1).answer == 1


def test_a_ledger_that_cannot_be_written_is_suspended_later(tmp_path, monkeypatch):
    """A full disk: the mark stays without its lock, and the next question writes the suspension."""
    path = tmp_path / "budget.db"
    account = opened(path)
    entry = account.reserve(1, "q")

    def full(*_):
        raise OSError(28, "No space left on device")

    with entry.running(), monkeypatch.context() as disk:
        disk.setattr(ledger_file, "_write_at", full)
        with pytest.raises(LedgerFailed):
            entry.suspend(["why"])
    assert account.suspended is None
    with pytest.raises(AccountSuspended):
        opened(path).ask(1, "another", lambda: 1)
    assert account.suspended is not None


def test_a_mark_that_goes_while_somebody_looks_is_no_dead_one(tmp_path, monkeypatch):
    """Found by its name, removed, and then without a lock: its question ended as it should."""
    mark, look = set_mark(tmp_path / "marks", "key", 1, 0, 0o600), os.open

    def open_as_it_ends(path, flags):
        handle = look(path, flags)
        remove_mark(mark)
        return handle

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", open_as_it_ends)
        assert orphaned_marks(tmp_path / "marks", "key") == []


def test_many_set_and_remove_marks_at_once(tmp_path):
    """The folder comes and goes with the marks in it; none is lost."""
    folder, lost = tmp_path / "marks", []

    def work(worker):
        for i in range(200):
            mark = set_mark(folder, "key", worker, i, 0o600)
            lost.extend([mark] if mark is None or not mark.path.exists() else [])
            remove_mark(mark)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert lost == []
    assert not folder.exists()


# ---- the log of failures ----


def test_the_log_is_for_the_owner_alone(place, tmp_path):
    """The engine's words without the account's secret, readable for the owner only, whatever was there before."""
    account = opened(place, "logged")
    secret = account.secret.hex()
    for _ in range(2):
        account.suspend(account.reserve(1, "q").number, [f"Error near {secret}: value 'Mallory'"])
        os.chmod(account.failures, 0o644)
        account.resume()
    account.suspend(account.reserve(1, "q").number, ["the last"], 3)
    log = account.failures
    if isinstance(place, type(tmp_path)):
        assert log == tmp_path / "budget.db.failures.log"
    else:
        assert str(log).startswith(os.environ["UTMOST_STATE"])
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    lines = [line for line in map(json.loads, log.read_text().splitlines()) if line["dataset"] == "logged"][-3:]
    assert [line["entry"] for line in lines] == [1, 2, 3]
    assert "Mallory" in lines[0]["reasons"][0]
    assert (lines[2]["slot"], lines[2]["reasons"]) == (3, ["the last"])
    assert secret not in log.read_text()
    if isinstance(place, type(tmp_path)):
        assert b"Mallory" not in place.read_bytes()


def test_a_log_is_no_link_and_need_not_be(tmp_path):
    """A link in its place is not followed; the suspension stands, and the log is among the user's own files."""
    account, elsewhere = opened(tmp_path / "budget.db"), tmp_path / "elsewhere"
    (tmp_path / "budget.db.failures.log").symlink_to(elsewhere)
    account.suspend(account.reserve(1, "q").number, ["why"])
    assert not elsewhere.exists()
    assert account.suspended


# ---- many at once ----


def test_none_that_starts_after_it_is_charged(tmp_path):
    """Processes that ask without end while one suspends: all of them are refused, and nothing comes after it."""
    path = tmp_path / "budget.db"
    account = opened(path, budget=10**6)
    go, children = os.pipe(), []
    for worker in range(3):
        child = os.fork()
        if child == 0:  # pragma: no cover
            try:
                mine = opened(path, budget=10**6)
                for n in range(10**6):
                    entry = mine.take(1, [worker, n])
                    with entry.running():
                        entry.complete(n)
                    os.write(go[1], b"a")
            except AccountSuspended:
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    for _ in range(30):
        os.read(go[0], 1)
    entry = account.reserve(1, "the one that fails")
    with entry.running():
        entry.suspend(["why"])
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0, 0]
    assert written(path)[-1].kind == "suspend"
    assert account.check()
    for handle in go:
        os.close(handle)
