"""A ledger's file under attack: flipped bits, lost ends, failing power, full disks, two names, older versions."""

import errno
import fcntl
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest
from oracles.spenders import spend_at_once

import utmost as um
from utmost.accounting import ledger_file
from utmost.accounting.holder_account import HolderAccount
from utmost.errors import BadFile, InvalidInput, LedgerFailed

UNIT, NEIGHBOURS = "rows, at most 500", "add-remove"
BEGIN, BLOCK = ledger_file.BEGIN, ledger_file.BLOCK


def opened(path, budget=1, dataset="survey"):
    return um.Ledger(path).open(dataset, budget, UNIT, NEIGHBOURS)


def spent(account):
    return account.spent.amounts()["epsilon"].rational


def small_ledger(path):
    """Two accounts, a schedule, an unfinished reservation from both: everything that may be spent, in a few lines."""
    ledger = um.Ledger(path)
    account, other = (ledger.open(name, 1, UNIT, NEIGHBOURS) for name in ("survey", "Zürich"))
    account.reserve(0.25, {"ask": 1}).complete({"answer": 7})
    other.reserve(0.5, {"ask": "other"}).complete(None)
    schedule = account.reserve_schedule("1/8", 2, "slots")
    schedule.slot({"ask": 2}).complete([1, 2])
    HolderAccount(account, other).reserve("1/16", {"ask": 3})
    return {"survey": Fraction(9, 16), "Zürich": Fraction(9, 16)}, schedule.number


def what_may_be_spent(path, schedule):
    """What an attentive user finds: None if the ledger is refused, else what was charged and which slots are used."""
    try:
        with um.Ledger(path) as ledger:
            accounts = [ledger.account(name) for name in ("survey", "Zürich")]
            if not all(account.check() for account in accounts):
                return None
            found = {account.dataset: spent(account) for account in accounts}
            answers = [[(e.question, e.answer, e.used) for e in account.entries()] for account in accounts]
            return found, accounts[0].schedule(schedule).left, answers
    except BadFile:
        return None


def damaged(whole, bits):
    """The file with single bits flipped."""
    for bit in bits:
        text = bytearray(whole)
        text[bit // 8] ^= 1 << bit % 8
        yield bit, bytes(text)


def left_by_a_crash(path):
    """The file as it is, and as a crash may leave it: with half a line behind its mark, or a whole one."""
    whole = path.read_bytes()
    account = opened(path)
    account.reserve("1/32", {"ask": 4})
    longer = path.read_bytes()
    path.write_bytes(whole)
    line = longer[len(whole) :]
    assert line.startswith(b'{"event"')
    return {"at rest": whole, "half a line": whole + line[: len(line) // 2], "no mark": whole + line}


def attack(tmp_path, state, step):
    """Flip every `step`-th bit of a state: refused, or nothing is changed of what may be spent."""
    path, victim = tmp_path / "budget.db", tmp_path / "victim.db"
    charged, schedule = small_ledger(path)
    states = left_by_a_crash(path)
    whole, promised, refused, flips = states[state], 8 * len(states["at rest"]), 0, 0
    victim.write_bytes(whole)
    truth = what_may_be_spent(victim, schedule)
    assert truth[0] == charged | ({"survey": Fraction(19, 32)} if state == "no mark" else {})
    for bit, text in damaged(whole, range(random.Random(state).randrange(step), 8 * len(whole), step)):
        victim.write_bytes(text)
        found = what_may_be_spent(victim, schedule)
        flips += 1
        refused += found is None
        assert found is None or found == truth or (bit >= promised and found[0] == charged), (state, bit)
    victim.write_bytes(whole)
    assert what_may_be_spent(victim, schedule) == truth
    assert flips == len(range(random.Random(state).randrange(step), 8 * len(whole), step))
    assert refused > flips / 3


STATES = ("at rest", "half a line", "no mark")


@pytest.mark.parametrize("state", STATES)
def test_a_flipped_bit_gives_nothing_back(tmp_path, state):
    """A sample of all bits, at rest and after a crash; the charge of a line without a mark was never promised."""
    attack(tmp_path, state, 211)


@pytest.mark.long
@pytest.mark.parametrize("state", STATES)
def test_every_flipped_bit_gives_nothing_back(tmp_path, state):
    """All of them."""
    attack(tmp_path, state, 1)


@pytest.mark.parametrize("size", [1, 7, BLOCK])
def test_a_lost_end_gives_nothing_back(tmp_path, size):
    """Cut at every 512 bytes, and at a sample of the others: refused, down to what no mark speaks of."""
    path, victim = tmp_path / "budget.db", tmp_path / "victim.db"
    _, schedule = small_ledger(path)
    states = left_by_a_crash(path)
    written = len(states["at rest"])
    for state, whole in states.items():
        ends = (
            range(0, len(whole), size) if size == BLOCK else sorted(random.Random(state).sample(range(len(whole)), 60))
        )
        for end in [*ends, len(whole) - size]:
            victim.write_bytes(whole[:end])
            found = what_may_be_spent(victim, schedule)
            if end < written:
                assert found is None, (state, end)
            else:
                assert found[0]["survey"] in (Fraction(9, 16), Fraction(19, 32))


def test_zeros_and_swapped_blocks_are_found(tmp_path):
    """Blocks that a disk lost, or wrote elsewhere."""
    path, victim = tmp_path / "budget.db", tmp_path / "victim.db"
    _, schedule = small_ledger(path)
    whole = path.read_bytes()
    truth = what_may_be_spent(path, schedule)
    blocks = [whole[at : at + BLOCK] for at in range(0, len(whole), BLOCK)]
    for i in range(len(blocks)):
        for j, content in enumerate([bytes(BLOCK), *blocks]):
            changed = [*blocks]
            changed[i] = content[: len(blocks[i])]
            victim.write_bytes(b"".join(changed))
            found = what_may_be_spent(victim, schedule)
            assert found is None or (found == truth and (i in (1, 2) or i == j - 1)), (i, j)


def test_a_damaged_mark_is_mended_by_the_next_event(tmp_path):
    """One of two marks may be lost: the other one, and the line behind it, say the same."""
    path = tmp_path / "budget.db"
    charged, _ = small_ledger(path)
    for place in ledger_file.MARKS * 3:
        whole = path.read_bytes()
        path.write_bytes(whole[:place] + os.urandom(BLOCK) + whole[place + BLOCK :])
        account = opened(path)
        assert spent(account) == charged["survey"]
        account.reserve("1/64", {"ask": "mends"})
        charged["survey"] += Fraction(1, 64)
        assert None not in ledger_file._marks(path.read_bytes()[BLOCK : 3 * BLOCK])
        assert opened(path).check()
    whole = path.read_bytes()
    path.write_bytes(whole[:BLOCK] + os.urandom(2 * BLOCK) + whole[BEGIN:])
    with pytest.raises(BadFile, match="neither of its marks"):
        um.Ledger(path)


class FailingPower:
    """Records what a ledger does to its file, to replay it as a disk may that loses power."""

    def __init__(self, monkeypatch):
        self.steps = []
        for name in ("_write_at", "_cut", "_sync"):
            monkeypatch.setattr(ledger_file, name, self.recording(name, getattr(ledger_file, name)))

    def recording(self, name, work):
        def recorded(handle, *how):
            work(handle, *how)
            self.steps.append((name, how))

        return recorded

    def outcomes(self, start, last, dice):
        """What may be on the disk if power fails after so many steps: what was not synced, in part, in any order."""
        synced = max((i + 1 for i, (name, _) in enumerate(self.steps[:last]) if name == "_sync"), default=0)
        firm, loose = self.steps[:synced], self.steps[synced:last]
        pieces = []
        for name, how in loose:
            if name == "_cut":
                pieces.append((name, how))
                continue
            text, place = how
            first = BLOCK - place % BLOCK
            cuts = [0, *range(first, len(text), BLOCK), len(text)]
            pieces += [("_write_at", (text[a:b], place + a)) for a, b in itertools.pairwise(cuts)]
        choices = (
            itertools.product((False, True), repeat=len(pieces))
            if len(pieces) < 5
            else ([dice.random() < 0.5 for _ in pieces] for _ in range(16))
        )
        for chosen in choices:
            disk = bytearray(start)
            for name, how in [*firm, *(piece for piece, kept in zip(pieces, chosen, strict=True) if kept)]:
                if name == "_cut":
                    del disk[how[0] :]
                elif name == "_write_at":
                    text, place = how
                    disk.extend(bytes(max(0, place + len(text) - len(disk))))
                    disk[place : place + len(text)] = text
            yield bytes(disk)


def test_power_fails_at_every_step(tmp_path, monkeypatch):
    """Whatever of the blocks not yet synced reached the disk: all that was promised is charged, at most one more."""
    path, victim, dice = tmp_path / "budget.db", tmp_path / "victim.db", random.Random(7)
    account = opened(path)
    start = path.read_bytes()
    path.write_bytes(start + b'{"event": half a line that an earlier crash left' * 20)
    start = path.read_bytes()
    power, promised = FailingPower(monkeypatch), [(0, 0)]
    for i in range(5):
        reservation = account.reserve("1/8", {"ask": i, "padding": "x" * 150 * i})
        promised.append((len(power.steps), i + 1))
        reservation.complete({"answer": "y" * 300 * i})
    steps, states = list(power.steps), 0
    monkeypatch.undo()
    power.steps = steps
    assert [name for name, _ in steps[:5]] == ["_cut", "_write_at", "_sync", "_write_at", "_sync"]
    for last in range(len(steps) + 1):
        reported = max(count for step, count in promised if step <= last)
        for disk in power.outcomes(start, last, dice):
            victim.write_bytes(disk)
            again = opened(victim)
            assert Fraction(reported, 8) <= spent(again) <= Fraction(reported + 1, 8)
            assert again.check()
            states += 1
            if states % 5 == 0:  # and it goes on from there
                before = spent(again)
                again.reserve("1/64", "after the crash").complete(1)
                assert spent(opened(victim)) == before + Fraction(1, 64)
                assert opened(victim).check()
    assert states > 100


def test_power_fails_while_two_accounts_are_charged(tmp_path, monkeypatch):
    """Whatever of the blocks not yet synced reached the disk: both accounts are charged and answered, or neither is."""
    path, victim, dice, states = tmp_path / "budget.db", tmp_path / "victim.db", random.Random(8), 0
    ledger = um.Ledger(path)
    held = HolderAccount(*(ledger.open(name, 1, UNIT, NEIGHBOURS) for name in ("survey", "ada at survey")))
    start, power, promised = path.read_bytes(), FailingPower(monkeypatch), [(0, 0)]
    for i in range(3):
        reservation = held.reserve("1/8", {"ask": i, "padding": "x" * 300 * i})
        promised.append((len(power.steps), i + 1))
        reservation.complete({"answer": "y" * 300 * i})
    power.steps, last = list(power.steps), len(power.steps)
    monkeypatch.undo()
    for stop in range(last + 1):
        reported = max(count for step, count in promised if step <= stop)
        for disk in power.outcomes(start, stop, dice):
            victim.write_bytes(disk)
            main, own = opened(victim), opened(victim, dataset="ada at survey")
            assert Fraction(reported, 8) <= spent(main) <= Fraction(reported + 1, 8)
            assert [(e.question, e.cost, e.state) for e in main.entries()] == [
                (e.question, e.cost, e.state) for e in own.entries()
            ]
            assert main.check()
            assert own.check()
            states += 1
    assert states > 60


@pytest.mark.parametrize("failing", ["_write_at", "_sync", "_cut"])
@pytest.mark.parametrize("step", [1, 2])
def test_a_full_disk_says_what_was_recorded(tmp_path, monkeypatch, failing, step):
    """A reservation that was not recorded is not charged; a charge stands whatever becomes of its answer."""
    path = tmp_path / "budget.db"
    account = opened(path)
    reservation = account.reserve("1/4", {"ask": 1})
    path.write_bytes(path.read_bytes() + b"half a line")  # so that there is something to cut
    work, count = getattr(ledger_file, failing), itertools.count(1)

    def full(handle, *how):
        if next(count) >= step:
            if failing == "_write_at":
                work(handle, how[0][:100], how[1])
            raise OSError(errno.ENOSPC, "No space left on device")
        work(handle, *how)

    for use, stands in ((lambda: account.reserve("1/8", "q"), False), (lambda: reservation.complete(5), True)):
        if failing == "_cut" and (step == 2 or stands):
            continue  # nothing else is cut
        count = itertools.count(1)
        monkeypatch.setattr(ledger_file, failing, full)
        with pytest.raises(LedgerFailed, match="No space left on device") as wrong:
            use()
        monkeypatch.undo()
        assert ("Nothing was recorded" in str(wrong.value)) == (step == 1 and failing != "_cut")
        assert ("charge of entry 1 stands" in str(wrong.value)) == stands
        assert "othing was charged" not in str(wrong.value)
        for known in (account, opened(path)):
            assert spent(known) in ((Fraction(1, 4),) if step == 1 else (Fraction(1, 4), Fraction(3, 8)))
            assert known.check()
    if account.entries()[0].state == "reserved":
        reservation.complete(5)
    assert account.entries()[0].answer == 5
    assert opened(path).check()


def test_a_full_disk_in_earnest(tmp_path):
    """A limit on the size of files, set by the operating system."""
    path = tmp_path / "budget.db"
    opened(path)
    script = f"""
import resource, signal, utmost as um
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
account = um.Ledger({str(path)!r}).account("survey")
one = account.reserve("1/4", "q")
size = __import__("os").stat({str(path)!r}).st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50, size + 50))
for use in (lambda: one.complete("x" * 100), lambda: account.reserve("1/8", "r")):
    try: use()
    except um.errors.LedgerFailed as wrong: print(wrong)
print(account.spent, account.check())
"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert said.count("Nothing was recorded.") == 2
    assert "The charge of entry 1 stands, and it can be completed again (account.reservation(1))." in said
    assert "epsilon 0.25 of 1" in said
    assert "intact" in said
    opened(path).reservation(1).complete("x")


def test_one_file_under_two_names_has_one_budget(tmp_path):
    """A hard link, in another folder; a symbolic link; two processes by each of them at once."""
    path, linked, symbolic = tmp_path / "budget.db", tmp_path / "elsewhere" / "other.db", tmp_path / "pointing.db"
    account = opened(path)
    linked.parent.mkdir()
    os.link(path, linked)
    symbolic.symlink_to(path)
    names = [um.Ledger(name).account("survey") for name in (path, linked, symbolic)]
    for i in range(10):
        names[i % 3].reserve("0.01", {"ask": i}).complete(i)
    assert {spent(name) for name in names} == {Fraction(1, 10)}
    assert names[1].ask("0.01", {"ask": 0}, lambda: "drawn again").answer == 0
    found = spend_at_once([path, linked, symbolic], "0.01")
    assert sum(found) == 90
    assert spent(account) == 1
    assert account.check()
    assert opened(linked).head == account.head


def test_a_file_mounted_elsewhere_has_one_budget(tmp_path):
    """A bind mount of the file alone, as containers have it: the number of links stays 1."""
    path, mounted = tmp_path / "budget.db", tmp_path / "elsewhere" / "budget.db"
    account = opened(path)
    mounted.parent.mkdir()
    mounted.touch()
    if not shutil.which("mount") or subprocess.run(["mount", "--bind", path, mounted], capture_output=True).returncode:
        pytest.skip("this machine allows no bind mounts")
    try:
        assert os.stat(mounted).st_nlink == 1
        found = spend_at_once([path, mounted], "0.05")
        assert sum(found) == 20
        assert spent(account) == 1
        assert account.check()
    finally:
        subprocess.run(["umount", mounted], check=True)


def test_killed_under_one_name_and_opened_under_another(tmp_path):
    """What one process was told of is there for all names, though it was killed in the middle of the next."""
    path, linked = tmp_path / "budget.db", tmp_path / "linked.db"
    opened(path)
    os.link(path, linked)
    known = Fraction(0)
    for seed in range(6):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:  # pragma: no cover
            account = um.Ledger((path, linked)[seed % 2]).account("survey")
            while True:
                account.reserve("1e-6", {"by": seed})
                os.write(writer, b".")
        os.close(writer)
        time.sleep(0.05 + random.random() / 20)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with open(reader, "rb") as said:
            told = len(said.read())
        before = known
        accounts = [um.Ledger(name).account("survey") for name in (linked, path)]
        known = spent(accounts[0])
        assert spent(accounts[1]) == known
        assert before + told * Fraction(1, 10**6) <= known <= before + (told + 1) * Fraction(1, 10**6)
        assert accounts[0].check()


def test_a_lock_outlives_no_one(tmp_path, monkeypatch):
    """One who holds the lock makes others wait, then say so; a child that inherited the file does not hold it on."""
    path = tmp_path / "budget.db"
    account = opened(path)
    other = opened(path)
    monkeypatch.setattr(ledger_file, "PATIENCE", 0.05)
    with account._storage.write("survey"), pytest.raises(LedgerFailed, match="stayed busy"):
        other.reserve(0.1, "q")
    with account._storage.read():
        assert spent(other) == 0  # readers do not wait for each other
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover
        os.close(writer)
        os.read(reader, 1)
        os._exit(0)
    account.reserve(0.1, "q")
    other.reserve(0.1, "q")
    os.close(writer)
    os.waitpid(child, 0)
    assert spent(account) == Fraction(1, 5)


def test_a_ledger_that_may_only_be_read(tmp_path, monkeypatch):
    """Shows what was spent, and says why nothing can be."""
    path = tmp_path / "budget.db"
    opened(path).reserve(0.25, "q")
    real = os.open

    def guarded(name, flags, *how):
        if flags & os.O_RDWR and Path(name) == path:
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(name, flags, *how)

    monkeypatch.setattr(ledger_file.os, "open", guarded)
    account = um.Ledger(path).account("survey")
    assert spent(account) == Fraction(1, 4)
    with pytest.raises(LedgerFailed, match="could not be written"):
        account.reserve(0.1, "q")
    monkeypatch.undo()
    assert spent(opened(path)) == Fraction(1, 4)


def test_the_file_is_plain_text(tmp_path):
    """Anyone can read it: a line says what it is, two marks, and an event a line, whose heads `check` compares."""
    path = tmp_path / "budget.db"
    account = opened(path)
    account.reserve(0.5, {"ask": "é\n"}).complete([1])
    first, _, mark, *events = path.read_text(encoding="utf-8").splitlines()
    assert json.loads(first) == {"file": "ledger of Utmost", "version": 2}
    assert json.loads(mark)["lines"] in (2, 3)
    assert [json.loads(event)["event"][2] for event in events] == ["open", "reserve", "complete"]
    assert json.loads(events[-1])["head"] == account.head


def test_locks_are_needed(tmp_path, monkeypatch):
    """A file system without locks would let two spend at once."""
    path = tmp_path / "budget.db"
    opened(path)

    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(LedgerFailed, match="file system that has locks"):
        um.Ledger(path)
    monkeypatch.undo()
    with pytest.raises(InvalidInput, match="no entry 1"):
        opened(path).reservation(1)
