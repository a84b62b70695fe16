"""A ledger of privacy budgets that survives crashes, concurrency and analysts who choose as they go.

A spend is *reserved* before the draw and *completed* with the answer after it; a reservation whose process died counts
as spent. Each account holds a privacy filter, fixed when it is opened. Its history is a chain of events, each hashed
together with the one before, so a changed event is found; the chain's head, printed in every report, also tells a
ledger from an older copy of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from utmost.accounting.amounts import Amount
from utmost.accounting.filters import Filter, choose
from utmost.accounting.sqlite import Memory, SQLite
from utmost.accounting.storage import Run, Storage
from utmost.certification import Check
from utmost.errors import BadFile, BudgetMismatch, BudgetSpent, InvalidInput, UnknownDataset
from utmost.exact import Number
from utmost.privacy import Level, as_level, level_from_json

NEIGHBOURS = ("replace", "add-remove")
START = "0" * 64
"""What stands before the first event of a chain."""


class Ledger:
    """The accounts of some data sets, in a file, a PostgreSQL database, or in memory.

    Parameters
    ----------
    url : path, URL or None
        A file name (SQLite), "postgresql://..." (needs `utmost[postgres]`), or None: in memory, lost with the process;
        then `kept` is False, and reports say so.

    Examples
    --------
    >>> import utmost as um
    >>> account = um.Ledger(None).open("survey", budget=1, unit="rows, at most 500", neighbours="add-remove")
    >>> with account.reserve(0.5, {"count": "age >= 65"}) as entry:
    ...     _ = entry.complete({"answer": 17})
    >>> print(account.left)
    epsilon 0.5 of 1
    """

    def __init__(self, url: Any = None) -> None:
        self._storage = _storage_of(url)

    @property
    def kept(self) -> bool:
        """Whether the accounts outlive this process."""
        return self._storage.kept

    @property
    def where(self) -> str:
        """Where the accounts are kept, in words without a password."""
        return self._storage.where

    def open(
        self, dataset: str, budget: Level | Number, unit: str, neighbours: str, filter: str | None = None
    ) -> Account:
        """The account of a data set, made the first time; afterwards everything must be as it was then.

        Parameters
        ----------
        dataset : the name you give the data; the ledger cannot know whether two names mean the same people
        budget : PureDP, ApproxDP or GaussianDP; a number means that epsilon
        unit : whose data are protected, in words, such as "rows, at most 20000"
        neighbours : "replace" or "add-remove"
        filter : None for the one of the budget's kind; "basic" or "zcdp" for an (epsilon, delta) budget
        """
        for name, value in (("dataset", dataset), ("unit", unit)):
            if not isinstance(value, str) or not value.strip():
                raise InvalidInput(f"{name} is {value!r}; give a text that says which.")
        if neighbours not in NEIGHBOURS:
            raise InvalidInput(f"neighbours is {neighbours!r}; say 'replace' or 'add-remove'.")
        chosen = choose(budget, filter)
        with self._storage.write(dataset) as run:
            if not run("SELECT 1 FROM utmost_accounts WHERE dataset = ?", dataset):
                _make_account(run, dataset, chosen, unit, neighbours)
        account = Account(self._storage, dataset)
        account._require(chosen.budget, unit, neighbours, filter)
        return account

    def account(self, dataset: str) -> Account:
        """An account that exists already, else `UnknownDataset`."""
        return Account(self._storage, dataset)

    def datasets(self) -> list[str]:
        """The names of all accounts."""
        with self._storage.read() as run:
            return [row[0] for row in run("SELECT dataset FROM utmost_accounts ORDER BY dataset")]

    def close(self) -> None:
        """Let go of the file or connection."""
        self._storage.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *wrong: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger in {self.where}" + ("" if self.kept else " (lost with this process)")


@dataclass(frozen=True)
class Entry:
    """One spend: what was asked at which level, and the answer's record once there is one.

    Attributes
    ----------
    number : its place among the account's entries, from 1
    time : when it was reserved (UTC)
    level : the level, or the levels of a batch, or the level of a schedule's slots
    cost : what was charged, by resource
    question, answer : as given; the answer is None while `state` is "reserved"
    state : "reserved" (charged, no answer recorded) or "done"
    head : the chain's head right after the entry's last event
    slots : for a schedule, how many slots it has; else 0
    used : for a schedule, its used slots as (question, answer or None)
    """

    number: int
    time: str
    level: Level | tuple[Level, ...]
    cost: dict[str, Amount]
    question: Any
    answer: Any
    state: str
    head: str
    slots: int = 0
    used: tuple[tuple[Any, Any], ...] = ()


@dataclass(frozen=True)
class Left:
    """What is left of a budget; `allows(level)` says whether a spend would fit now."""

    filter: Filter
    spent: tuple[Amount, ...]

    def allows(self, level: Level | Number) -> bool:
        """Whether the budget would pay for a release at this level."""
        return self.filter.allows([self.spent, self.filter.cost(level)])

    def amounts(self) -> dict[str, float]:
        """What is left of each resource, as floats."""
        rest = (limit.minus(spent) for limit, spent in zip(self.filter.limits, self.spent, strict=True))
        return dict(zip(self.filter.resources, rest, strict=True))

    def __str__(self) -> str:
        return ", ".join(
            f"{name} {_short(left)} of {limit}"
            for (name, left), limit in zip(self.amounts().items(), self.filter.limits, strict=True)
        )


@dataclass(frozen=True)
class Spent:
    """What has been charged to an account, unfinished reservations included."""

    filter: Filter
    sums: tuple[Amount, ...]

    def amounts(self) -> dict[str, Amount]:
        """The exact sum of each resource."""
        return dict(zip(self.filter.resources, self.sums, strict=True))

    def __str__(self) -> str:
        limits = zip(self.filter.resources, self.sums, self.filter.limits, strict=True)
        return ", ".join(f"{name} {spent} of {limit}" for name, spent, limit in limits)


@dataclass(frozen=True)
class LedgerCheck:
    """What a check of an account found; true if every part holds."""

    dataset: str
    head: str
    checks: tuple[Check, ...]

    def __bool__(self) -> bool:
        return all(check.passed for check in self.checks)

    def __str__(self) -> str:
        verdict = "intact" if self else "NOT intact"
        return "\n".join([f"{self.dataset}: {verdict}, head {self.head}", *(f"  {check}" for check in self.checks)])


class Account:
    """The account of one data set: its filter, its entries, and the only way to spend."""

    def __init__(self, storage: Storage, dataset: str) -> None:
        self._storage, self.dataset = storage, dataset
        with storage.read() as run:
            found = run("SELECT secret FROM utmost_accounts WHERE dataset = ?", dataset)
            if not found:
                names = ", ".join(repr(row[0]) for row in run("SELECT dataset FROM utmost_accounts ORDER BY dataset"))
                raise UnknownDataset(
                    f"the ledger {storage.where} has no account {dataset!r}; it has {names or 'none'}."
                )
            opening = _verified(_events(run, dataset, "number = 0")[0], START)
        self._secret = bytes(found[0][0])
        try:
            self.filter = Filter.from_json(opening.body["filter"])
            self.unit, self.neighbours = str(opening.body["unit"]), str(opening.body["neighbours"])
            same = opening.body["secret"] == hashlib.sha256(self._secret).hexdigest()
        except (KeyError, TypeError, ValueError):
            same = False
        if not same:
            raise _changed(dataset, 0)

    @property
    def kept(self) -> bool:
        """Whether the account outlives this process."""
        return self._storage.kept

    @property
    def budget(self) -> Level:
        """The budget as it was given when the account was opened."""
        return self.filter.budget

    @property
    def secret(self) -> bytes:
        """32 random bytes made with the account: a key for hashing identifiers, never printed."""
        return self._secret

    @property
    def head(self) -> str:
        """The head of the chain: SHA-256 over all events, in hexadecimal."""
        return self._last().head

    @property
    def spent(self) -> Spent:
        """What has been charged so far."""
        return Spent(self.filter, self._last().spent())

    @property
    def left(self) -> Left:
        """What is left now; another process may spend it before you do."""
        return Left(self.filter, self._last().spent())

    def find(self, question: Any, level: Level | Number | None = None) -> Entry | None:
        """The latest completed entry with this identical question (and level, if given), or None."""
        key = _key(question)
        with self._storage.read() as run:
            done = _events(run, self.dataset, "question = ? AND kind = 'complete' ORDER BY number DESC", key)
            for event in done:
                entry = _fold(_events(run, self.dataset, "entry = ? ORDER BY number", event.entry), self.filter)[0]
                if level is None or entry.level == as_level(level):
                    asked = question if event.slot else entry.question
                    return replace(entry, question=asked, answer=event.body["answer"], state="done", head=event.head)
        return None

    def ask(self, level: Level | Number, question: Any, draw: Callable[[], Any], fresh: bool = False) -> Entry:
        """Reserve, draw, complete; the identical question at the same level returns its recorded answer at no cost.

        Examples
        --------
        >>> account = Ledger(None).open("survey", 1, "rows, at most 500", "replace")
        >>> [account.ask(0.4, {"count": "all"}, lambda: n).answer for n in (7, 8)], str(account.left)
        ([7, 7], 'epsilon 0.6 of 1')
        >>> account.ask(0.4, {"count": "all"}, lambda: 9, fresh=True).answer, str(account.left)
        (9, 'epsilon 0.2 of 1')
        """
        if not fresh and (known := self.find(question, level)):
            return known
        with self.reserve(level, question) as reservation:
            return reservation.complete(draw())

    @contextmanager
    def reserve(self, level: Level | Number, question: Any) -> Iterator[Reservation]:
        """Charge one release, durably, before its answer is drawn; `BudgetSpent` if the budget does not allow it.

        Leaving the block without `complete` leaves the charge: the answer may have been seen.
        """
        level = as_level(level)
        yield self._reserve((level,), self.filter.cost(level), question, 0)

    @contextmanager
    def reserve_batch(
        self, levels: Sequence[Level | Number], question: Any, delta: Number | None = None
    ) -> Iterator[Reservation]:
        """Charge several releases that are declared together, before any of their answers, as one entry.

        With a basic filter and a `delta` for the whole batch they cost what exact composition says at that delta, often
        much less than their sum.

        Examples
        --------
        >>> from utmost.privacy import ApproxDP
        >>> account = Ledger(None).open("survey", ApproxDP(3, 1e-5), "rows, at most 500", "replace")
        >>> with account.reserve_batch([0.05] * 100, {"histogram": "age"}, delta=1e-6) as entry:
        ...     _ = entry.complete({"answers": "..."})
        >>> print(account.left)                                     # the sum would have been 5
        epsilon 0.79247 of 3, delta 9e-06 of 1e-05
        """
        listed = tuple(as_level(level) for level in levels)
        if not listed:
            raise InvalidInput("a batch needs at least one level.")
        counted = [(level, listed.count(level)) for level in dict.fromkeys(listed)]
        yield self._reserve(listed, self.filter.batch_cost(counted, delta), question, 0)

    def reserve_schedule(
        self, level: Level | Number, slots: int, question: Any, delta: Number | None = None
    ) -> Schedule:
        """Charge so many slots of one level now, and ask in them later, whatever earlier answers suggest.

        The levels are fixed in advance, so exact composition holds although the questions are not (LIM Theorem 2.4.3).
        Stop early at will; slots that are not used stay charged.

        Examples
        --------
        >>> from utmost.privacy import ApproxDP
        >>> account = Ledger(None).open("survey", ApproxDP(3, 1e-5), "rows, at most 500", "replace")
        >>> schedule = account.reserve_schedule(0.05, 100, "exploring", delta=1e-6)
        >>> with schedule.slot({"count": "age >= 65"}) as entry:
        ...     _ = entry.complete({"answer": 17})
        >>> schedule.left
        99
        """
        level = as_level(level)
        if not isinstance(slots, int) or isinstance(slots, bool) or slots < 1:
            raise InvalidInput(f"slots is {slots!r}; give a whole number, 1 or more.")
        cost = self.filter.batch_cost([(level, slots)], delta)
        return Schedule(self, self._reserve((level,), cost, question, slots).number)

    def schedule(self, number: int) -> Schedule:
        """The schedule that is this entry, after a restart say."""
        return Schedule(self, number)

    def entries(self) -> list[Entry]:
        """All entries, oldest first."""
        with self._storage.read() as run:
            return _fold(_events(run, self.dataset, "entry > 0 ORDER BY number"), self.filter)

    def check(self, head: str | None = None) -> LedgerCheck:
        """Recompute the whole chain and every sum; with the head of an earlier report, see that the chain holds it.

        A chain alone cannot tell a ledger from an older copy of it: a head printed earlier can.
        """
        with self._storage.read() as run:
            events = _events(run, self.dataset, "number >= 0 ORDER BY number")
        checks = [_check_chain(events), _check_sums(events, self.filter)]
        if head is not None:
            wanted = head.strip().lower()
            place = next((i for i, event in enumerate(events) if event.head == wanted), None)
            later = "" if place is None else f"event {place} of {len(events) - 1} has it"
            missing = "no event has it: an older copy of the ledger was put back, or the head is of another account"
            checks.append(Check("head", place is not None, later or missing))
        return LedgerCheck(self.dataset, events[-1].head, tuple(checks))

    def _reserve(self, levels: tuple[Level, ...], cost: tuple[Amount, ...], question: Any, slots: int) -> Reservation:
        key = _key(question)
        with self._storage.write(self.dataset) as run:
            last = self._last(run)
            left = Left(self.filter, last.spent())
            if not self.filter.allows([left.spent, cost]):
                raise _refusal(levels, cost, left, slots)
            body = {
                "levels": [level.to_json() for level in levels],
                "slots": slots,
                "cost": [amount.to_json() for amount in cost],
                "question": _plain(question, "the question"),
                "spent": [amount.to_json() for amount in self.filter.total([left.spent, cost])],
                "entries": last.body["entries"] + 1,
            }
            event = _append(run, last, "reserve", last.body["entries"] + 1, 0, body, key)
        return Reservation(self, event.entry, 0, question, event.head)

    def _entry(self, number: int) -> Entry | None:
        with self._storage.read() as run:
            found = _fold(_events(run, self.dataset, "entry = ? ORDER BY number", number), self.filter)
        return found[0] if found and number > 0 else None

    def _use_slot(self, number: int, question: Any) -> Reservation:
        key, plain = _key(question), _plain(question, "the question")
        with self._storage.write(self.dataset) as run:
            entry = _fold(_events(run, self.dataset, "entry = ? ORDER BY number", number), self.filter)[0]
            if len(entry.used) >= entry.slots:
                raise BudgetSpent(
                    f"all {entry.slots} slots of entry {number} are used; reserve another schedule.",
                    asked=entry.level,
                    left=Left(self.filter, self._last(run).spent()),
                )
            last = self._last(run)
            body = {"question": plain, "spent": last.body["spent"], "entries": last.body["entries"]}
            event = _append(run, last, "slot", number, len(entry.used) + 1, body, key)
        return Reservation(self, number, event.slot, question, event.head)

    def _complete(self, reservation: Reservation, answer: Any) -> Entry:
        plain = _plain(answer, "the answer")
        with self._storage.write(self.dataset) as run:
            done = "entry = ? AND slot = ? AND kind = 'complete'"
            if _events(run, self.dataset, done, reservation.number, reservation.slot):
                raise InvalidInput(f"entry {reservation.number} is complete already; reserve again for a new answer.")
            last = self._last(run)
            body = {"answer": plain, "spent": last.body["spent"], "entries": last.body["entries"]}
            question = _key(reservation.question)
            event = _append(run, last, "complete", reservation.number, reservation.slot, body, question)
            events = _events(run, self.dataset, "entry = ? ORDER BY number", event.entry)
        return _fold(events, self.filter)[0]

    def _last(self, run: Run | None = None) -> Event:
        """The latest event, which carries the sums; its own hash is checked."""
        if run is None:
            with self._storage.read() as run:
                return self._last(run)
        latest = _events(run, self.dataset, "number >= 0 ORDER BY number DESC LIMIT 2")
        return _verified(latest[0], latest[1].head if len(latest) > 1 else START)

    def _require(self, budget: Level, unit: str, neighbours: str, filter: str | None) -> None:
        """Refuse to open the account as something else than it is; no filter asked for means the account's own."""
        pairs = [
            ("budget", self.budget, budget),
            ("unit", self.unit, unit),
            ("neighbours", self.neighbours, neighbours),
        ]
        pairs += [("filter", self.filter.name, filter)] if filter else []
        for name, kept, asked in pairs:
            if kept != asked:
                raise BudgetMismatch(
                    f"the account {self.dataset!r} was opened with {name} {_said(kept)}, not {_said(asked)}; open it "
                    "as it is, or give another data set another name."
                )

    def __repr__(self) -> str:
        return f"Account {self.dataset!r} of {self.budget} in {self._storage.where}: {self.left} left"


class Reservation:
    """A charge whose answer is still to be recorded."""

    def __init__(self, account: Account, number: int, slot: int, question: Any, head: str) -> None:
        self._account, self.number, self.slot, self.question, self.head = account, number, slot, question, head

    def complete(self, answer: Any) -> Entry:
        """Record the answer, durably, and return the entry; `head` is then the chain's head."""
        entry = self._account._complete(self, answer)
        self.head = entry.head
        return entry


class Schedule:
    """Slots of one level, charged together; made by `Account.reserve_schedule`."""

    def __init__(self, account: Account, number: int) -> None:
        self._account, self.number = account, number
        if not self.entry.slots:
            raise InvalidInput(f"entry {number} is not a schedule; `entries()` lists those with slots.")

    @property
    def entry(self) -> Entry:
        """The entry as it stands now, with the questions and answers of its slots."""
        found = self._account._entry(self.number)
        if found is None:
            raise InvalidInput(f"the account has no entry {self.number}.")
        return found

    @property
    def left(self) -> int:
        """How many slots are left."""
        entry = self.entry
        return entry.slots - len(entry.used)

    @contextmanager
    def slot(self, question: Any) -> Iterator[Reservation]:
        """Use one slot, durably, before its answer is drawn; `BudgetSpent` if none is left."""
        yield self._account._use_slot(self.number, question)


class Event(NamedTuple):
    """One link of the chain, as stored."""

    dataset: str
    number: int
    kind: str
    entry: int
    slot: int
    time: str
    body: Any
    head: str

    def spent(self) -> tuple[Amount, ...]:
        """The sums after this event."""
        return tuple(Amount.from_json(amount) for amount in self.body["spent"])

    def hashed(self, previous: str) -> str:
        """The head of the chain with this event after `previous`."""
        return hashlib.sha256(_canonical([previous, *self[:-1]])).hexdigest()


def _storage_of(url: Any) -> Storage:
    """The storage a URL or path names."""
    if url is None:
        return Memory()
    if isinstance(url, str) and url.startswith(("postgresql://", "postgres://")):
        from utmost.accounting.postgres import PostgreSQL

        return PostgreSQL(url)
    if not isinstance(url, str | os.PathLike) or not str(url).strip() or "://" in str(url):
        raise InvalidInput("the ledger is neither a file name, nor a URL postgresql://..., nor None for memory.")
    return SQLite(Path(url))


def _make_account(run: Run, dataset: str, filter: Filter, unit: str, neighbours: str) -> None:
    secret = secrets.token_bytes(32)
    run("INSERT INTO utmost_accounts VALUES (?, ?)", dataset, secret)
    body = {
        "filter": filter.to_json(),
        "unit": unit,
        "neighbours": neighbours,
        "secret": hashlib.sha256(secret).hexdigest(),
        "spent": [amount.to_json() for amount in filter.total([])],
        "entries": 0,
    }
    before = Event(dataset, -1, "", 0, 0, "", None, START)
    _append(run, before, "open", 0, 0, body, None)


def _append(run: Run, last: Event, kind: str, entry: int, slot: int, body: Any, question: str | None) -> Event:
    """The next link of the chain, stored."""
    time = datetime.now(UTC).isoformat(timespec="milliseconds")
    event = Event(last.dataset, last.number + 1, kind, entry, slot, time, body, "")
    event = event._replace(head=event.hashed(last.head))
    text = _canonical(event.body).decode()
    values = (*event[:6], text, question, event.head)
    run("INSERT INTO utmost_events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", *values)
    return event


def _events(run: Run, dataset: str, condition: str, *values: Any) -> list[Event]:
    columns = "dataset, number, kind, entry, slot, time, body, head"
    rows = run(f"SELECT {columns} FROM utmost_events WHERE dataset = ? AND {condition}", dataset, *values)
    try:
        return [Event._make((*row[:6], json.loads(row[6]), row[7])) for row in rows]
    except ValueError:
        raise _changed(dataset) from None


def _verified(event: Event, previous: str) -> Event:
    if event.hashed(previous) != event.head:
        raise _changed(event.dataset, event.number)
    return event


def _changed(dataset: str, number: int | None = None) -> BadFile:
    where = "an event" if number is None else f"event {number}"
    return BadFile(
        f"{where} of the account {dataset!r} was changed after it was written; nothing can be spent from it. "
        "Restore the ledger from a backup and compare its head with the latest report."
    )


def _fold(events: Sequence[Event], filter: Filter) -> list[Entry]:
    """The entries that events tell of."""
    entries: dict[int, Entry] = {}
    for event in events:
        body = event.body
        if event.kind == "reserve":
            levels = tuple(level_from_json(level) for level in body["levels"])
            cost = dict(zip(filter.resources, (Amount.from_json(a) for a in body["cost"]), strict=True))
            single = levels[0] if len(levels) == 1 else levels
            entries[event.entry] = Entry(
                event.entry, event.time, single, cost, body["question"], None, "reserved", event.head, body["slots"]
            )
            continue
        entry = entries[event.entry]
        if event.kind == "slot":
            entry = replace(entry, used=(*entry.used, (body["question"], None)))
        elif event.slot:
            used = list(entry.used)
            used[event.slot - 1] = (used[event.slot - 1][0], body["answer"])
            entry = replace(entry, used=tuple(used))
        else:
            entry = replace(entry, answer=body["answer"], state="done")
        entries[event.entry] = replace(entry, head=event.head)
    return list(entries.values())


def _check_chain(events: Sequence[Event]) -> Check:
    previous = START
    for expected, event in enumerate(events):
        if event.number != expected or event.hashed(previous) != event.head:
            return Check("chain", False, f"event {expected} was changed, removed or added after it was written")
        previous = event.head
    return Check("chain", True, f"{len(events)} events, each hashed with the one before")


def _check_sums(events: Sequence[Event], filter: Filter) -> Check:
    """That every event carries the sum of the costs up to it, within the limits."""
    spent = filter.total([])
    try:
        for event in events:
            if event.kind == "reserve":
                spent = filter.total([spent, tuple(Amount.from_json(a) for a in event.body["cost"])])
            if event.spent() != spent or not filter.allows([spent]):
                return Check("sums", False, f"event {event.number} carries a wrong sum, or more than the budget")
    except (KeyError, TypeError, ValueError):
        return Check("sums", False, "an event lacks its sums")
    return Check("sums", True, f"{Spent(filter, spent)}")


def _refusal(levels: tuple[Level, ...], cost: tuple[Amount, ...], left: Left, slots: int) -> BudgetSpent:
    asked = (
        f"{slots} slots of {levels[0]}" if slots else str(levels[0]) if len(levels) == 1 else f"{len(levels)} levels"
    )
    price = ", ".join(f"{name} {amount}" for name, amount in zip(left.filter.resources, cost, strict=True))
    return BudgetSpent(
        f"the budget does not pay for {asked} ({price}): left is {left}. Nothing was charged; ask at a smaller level, "
        "or stop here.",
        asked=levels[0] if len(levels) == 1 else levels,
        left=left,
    )


def _key(question: Any) -> str:
    """What identical questions have in common: the hash of their canonical text."""
    return hashlib.sha256(_canonical(_plain(question, "the question"))).hexdigest()


def _plain(content: Any, name: str) -> Any:
    """The content as JSON knows it; the error says nothing of it, since an answer may be among it."""
    try:
        return json.loads(_canonical(content))
    except (TypeError, ValueError, RecursionError):
        raise InvalidInput(f"{name} is not plain JSON data; give dicts, lists, texts, finite numbers.") from None


def _canonical(content: Any) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def _short(value: float) -> str:
    return f"{value:.6g}"


def _said(value: Any) -> str:
    return repr(value) if isinstance(value, str) else str(value)
