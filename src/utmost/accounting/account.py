"""The account of one data set: what may be spent of its budget, and what was.

A spend is *reserved* before the draw and *completed* with the answer after it; a reservation whose process died counts
as spent. An account holds a privacy filter, fixed when it is opened. Its history is a chain of events, each hashed
together with the one before, so a changed event is found; the chain's head, printed in every report, also tells a
ledger from an older copy of it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from utmost.accounting.chain import Event, changed, following, plain, question_key
from utmost.accounting.checks import LedgerCheck, check_chain, check_questions, check_sums
from utmost.accounting.filters import Filter, Left, Spent
from utmost.accounting.storage import Book, Storage
from utmost.errors import BudgetMismatch, BudgetSpent, InvalidInput, LedgerFailed, UnknownDataset, shown
from utmost.exact import Amount, Number
from utmost.mechanism.certification import Check
from utmost.privacy import Level, as_level, level_from_json

CostOf: TypeAlias = Callable[[Filter], tuple[Amount, ...]]
"""What a spend costs, in the resources of the filter that pays."""


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
class LedgerState:
    """What the ledger says right after an answer, as plain data for a report.

    Attributes
    ----------
    entry : the number of its entry
    time : when it was recorded
    spent, left : of the whole budget, in words
    amounts : what is spent of each resource and its limit, as numbers rounded to floats
    head : the head of the ledger's chain
    kept : whether the ledger outlives the process
    """

    entry: int
    time: str
    spent: str
    left: str
    amounts: Mapping[str, Mapping[str, float]]
    head: str
    kept: bool


class Account:
    """The account of one data set: its filter, its entries, and the only way to spend."""

    called = "the budget"
    """How a refusal calls what does not suffice."""

    def __init__(self, storage: Storage, dataset: str) -> None:
        self._storage, self.dataset = storage, dataset
        with storage.read() as book:
            secret = book.secret(dataset)
            if secret is None:
                names = ", ".join(map(repr, book.datasets()))
                raise UnknownDataset(
                    f"the ledger {storage.where} has no account {dataset!r}; it has {names or 'none'}."
                )
            opening = book.first(dataset)
        if opening is None:
            raise changed(dataset, 0)
        self._secret = secret
        try:
            self.filter = Filter.from_json(opening.body["filter"])
            self.unit, self.neighbours = str(opening.body["unit"]), str(opening.body["neighbours"])
            same = opening.body["secret"] == hashlib.sha256(self._secret).hexdigest()
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            same = False
        if not same:
            raise changed(dataset, 0)

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

    def state_after(self, entry: Entry) -> LedgerState:
        """What a report says of the ledger: the entry, and what is spent and left of the budget at one moment."""
        spent = self.spent
        limits = dict(zip(self.filter.resources, self.filter.limits, strict=True))
        amounts = {
            name: {"spent": float(amount), "limit": float(limits[name])} for name, amount in spent.amounts().items()
        }
        left = Left(self.filter, spent.sums)
        return LedgerState(entry.number, entry.time, str(spent), str(left), amounts, entry.head, self.kept)

    def find(self, question: Any, level: Level | Number | None = None) -> Entry | None:
        """The latest completed entry with this identical question (and level, if given), or None."""
        with self._storage.read() as book:
            return self._find(book, question_key(question), None if level is None else as_level(level))

    def ask(self, level: Level | Number, question: Any, draw: Callable[[], Any], fresh: bool = False) -> Entry:
        """Reserve, draw, complete; the identical question at the same level returns its recorded answer at no cost.

        Whoever asks while another still draws is charged too, and gets an answer of its own.

        Examples
        --------
        >>> import utmost as um
        >>> account = um.Ledger(None).open("survey", 1, "rows, at most 500", "replace")
        >>> [account.ask(0.4, {"count": "all"}, lambda: n).answer for n in (7, 8)], str(account.left)
        ([7, 7], 'epsilon 0.6 of 1')
        >>> account.ask(0.4, {"count": "all"}, lambda: 9, fresh=True).answer, str(account.left)
        (9, 'epsilon 0.2 of 1')
        """
        level = as_level(level)
        if not fresh and (known := self.find(question, level)):
            return known
        taken = self._reserve((level,), lambda filter: filter.cost(level), question, 0, fresh)
        return taken if isinstance(taken, Entry) else taken.complete(draw())

    def ask_batch(
        self,
        levels: Sequence[Level | Number],
        question: Any,
        draw: Callable[[], Any],
        delta: Number | None = None,
        fresh: bool = False,
    ) -> Entry:
        """`ask` for several releases that are declared together: `reserve_batch` says what they cost."""
        listed, price = _batch(levels, delta)
        if not fresh and (known := self.find(question)):
            return known
        taken = self._reserve(listed, price, question, 0, fresh)
        return taken if isinstance(taken, Entry) else taken.complete(draw())

    def reserve(self, level: Level | Number, question: Any) -> Reservation:
        """Charge one release, durably, before its answer is drawn; `BudgetSpent` if the budget does not allow it.

        The charge is made by the call, and stays whether or not `complete` follows: the answer may have been seen. Use
        it in a `with` block or not.
        """
        level = as_level(level)
        return self._reserved((level,), lambda filter: filter.cost(level), question, 0)

    def reservation(self, number: int) -> Reservation:
        """The reservation of an entry without an answer, to complete it after a restart or an error."""
        entry = self._entry(number)
        if entry.slots or entry.state == "done":
            raise InvalidInput(
                f"entry {number} is a schedule, or complete already; only an unfinished one is taken up."
            )
        return Reservation(self, number, 0, entry.question, entry.head)

    def reserve_batch(
        self, levels: Sequence[Level | Number], question: Any, delta: Number | None = None
    ) -> Reservation:
        """Charge several releases that are declared together, before any of their answers, as one entry.

        With a basic filter and a `delta` for the whole batch they cost what exact composition says at that delta, often
        much less than their sum.

        Examples
        --------
        >>> import utmost as um
        >>> account = um.Ledger(None).open("survey", um.ApproxDP(3, 1e-5), "rows, at most 500", "replace")
        >>> with account.reserve_batch([0.05] * 100, {"histogram": "age"}, delta=1e-6) as entry:
        ...     _ = entry.complete({"answers": "..."})
        >>> print(account.left)                                     # the sum would have been 5
        epsilon 0.792467 of 3, delta 9e-06 of 1e-05
        """
        listed, price = _batch(levels, delta)
        return self._reserved(listed, price, question, 0)

    def reserve_schedule(
        self, level: Level | Number, slots: int, question: Any, delta: Number | None = None
    ) -> Schedule:
        """Charge so many slots of one level now, and ask in them later, whatever earlier answers suggest.

        The levels are fixed in advance, so exact composition holds although the questions are not (LIM Theorem 2.4.3).
        Stop early at will; slots that are not used stay charged.

        Examples
        --------
        >>> import utmost as um
        >>> account = um.Ledger(None).open("survey", um.ApproxDP(3, 1e-5), "rows, at most 500", "replace")
        >>> schedule = account.reserve_schedule(0.05, 100, "exploring", delta=1e-6)
        >>> with schedule.slot({"count": "age >= 65"}) as entry:
        ...     _ = entry.complete({"answer": 17})
        >>> schedule.left
        99
        """
        level = as_level(level)
        if not isinstance(slots, int | np.integer) or isinstance(slots, bool) or slots < 1:
            raise InvalidInput(f"slots is {shown(slots)}; give a whole number, 1 or more.")
        price: CostOf = lambda filter: filter.batch_cost([(level, int(slots))], delta)  # noqa: E731
        return Schedule(self, self._reserved((level,), price, question, int(slots)).number)

    def schedule(self, number: int) -> Schedule:
        """The schedule that is this entry, after a restart say."""
        return Schedule(self, number)

    def entries(self) -> list[Entry]:
        """All entries, oldest first; `BadFile` if one of them was changed."""
        with self._storage.read() as book:
            return fold(book.events(self.dataset)[1:], self.filter)

    def check(self, head: str | None = None) -> LedgerCheck:
        """Read the whole ledger anew, recompute the chain, every sum and cost, and see where questions are filed.

        Damage that leaves nothing to compare is a `BadFile`. A chain alone cannot tell a ledger from an older copy of
        it: a head printed earlier can.

        Parameters
        ----------
        head : a head of an earlier report, which the chain must hold; None if there is none at hand
        """
        with self._storage.read() as book:
            events, keys = book.stored(self.dataset)
        if not events:
            raise changed(self.dataset, 0)
        checks = [check_chain(events)]
        if checks[0].passed:  # what a broken chain says of sums and questions means nothing
            checks += [check_sums(events, self.filter), check_questions(events, keys)]
        if head is not None:
            wanted = head.strip().lower()
            place = next((i for i, event in enumerate(events) if event.head == wanted), None)
            later = "" if place is None else f"event {place} of {len(events) - 1} has it"
            missing = "no event has it: an older copy of the ledger was put back, or the head is of another account"
            checks.append(Check("head", place is not None, later or missing))
        return LedgerCheck(self.dataset, events[-1].head, tuple(checks))

    def _find(self, book: Book, key: str, level: Level | None) -> Entry | None:
        for event in book.answers(self.dataset, key):
            entry = self._folded(book, event.entry)
            if level is None or entry.level == level:
                asked = entry.used[event.slot - 1][0] if event.slot else entry.question
                if question_key(asked) != key:
                    raise changed(self.dataset, event.number)
                return replace(entry, question=asked, answer=event.body["answer"], state="done", head=event.head)
        return None

    def _reserved(self, levels: tuple[Level, ...], price: CostOf, question: Any, slots: int) -> Reservation:
        taken = self._reserve(levels, price, question, slots)
        assert isinstance(taken, Reservation)
        return taken

    def _reserve(
        self, levels: tuple[Level, ...], price: CostOf, question: Any, slots: int, fresh: bool = True
    ) -> Reservation | Entry:
        """Charge, or, unless it must be `fresh`, return the entry that another process has completed meanwhile."""
        asked, key = plain(question, "the question"), question_key(question)
        charge = self._charging(levels, price, asked, slots)
        with self._write() as book:
            if not fresh and (known := self._find(book, key, levels[0] if len(levels) == 1 else None)):
                return known
            event = charge(book)
        return Reservation(self, event.entry, 0, asked, event.head)

    def _write(self) -> AbstractContextManager[Book]:
        """A transaction in which nobody else spends from this account."""
        return self._storage.write(self.dataset)

    def _charging(self, levels: tuple[Level, ...], price: CostOf, question: Any, slots: int) -> Callable[[Book], Event]:
        """What charges a spend in a transaction, and refuses one that does not fit; it is priced beforehand."""
        cost, key = price(self.filter), question_key(question)

        def charge(book: Book) -> Event:
            last = self._last(book)
            left = Left(self.filter, last.spent())
            if not self.filter.allows([left.spent, cost]):
                raise _refusal(levels, cost, left, slots, self.called)
            body = {
                "levels": [level.to_json() for level in levels],
                "slots": slots,
                "cost": [amount.to_json() for amount in cost],
                "question": question,
                "spent": [amount.to_json() for amount in self.filter.total([left.spent, cost])],
                "entries": last.body["entries"] + 1,
            }
            event = following(last, "reserve", last.body["entries"] + 1, 0, body)
            book.add(event, key)
            return event

        return charge

    def _entry(self, number: int) -> Entry:
        if not isinstance(number, int | np.integer) or isinstance(number, bool) or number < 1:
            raise InvalidInput(f"the entry is {shown(number)}; entries are numbered from 1.")
        with self._storage.read() as book:
            return self._folded(book, int(number))

    def _folded(self, book: Book, number: int) -> Entry:
        events = book.of_entry(self.dataset, number)
        if not events:
            raise InvalidInput(f"the account has no entry {number}.")
        return fold(events, self.filter)[0]

    def _use_slot(self, number: int, question: Any) -> Reservation:
        key, asked = question_key(question), plain(question, "the question")
        with self._storage.write(self.dataset) as book:
            entry = self._folded(book, number)
            if len(entry.used) >= entry.slots:
                raise BudgetSpent(
                    f"all {entry.slots} slots of entry {number} are used; reserve another schedule.",
                    asked=entry.level,
                    left=Left(self.filter, self._last(book).spent()),
                )
            last = self._last(book)
            body = {"question": asked, "spent": last.body["spent"], "entries": last.body["entries"]}
            event = following(last, "slot", number, len(entry.used) + 1, body)
            book.add(event, key)
        return Reservation(self, number, event.slot, asked, event.head)

    def _complete(self, reservation: Reservation, answer: Any) -> Entry:
        number, slot = reservation.number, reservation.slot
        again = "" if slot else f" (account.reservation({number}))"
        try:
            recorded = plain(answer, "the answer")
        except InvalidInput as problem:
            raise InvalidInput(
                f"{problem} The charge stands, and entry {number} can still be completed with such data{again}."
            ) from None
        try:
            with self._write() as book:
                events = self._completed(book, reservation, recorded)
        except LedgerFailed as problem:
            raise LedgerFailed(
                f"{problem} The charge of entry {number} stands, and it can be completed again{again}."
            ) from None
        return fold(events, self.filter)[0]

    def _completed(self, book: Book, reservation: Reservation, answer: Any) -> list[Event]:
        """Add the answer of an entry to the book; all events of the entry."""
        number, slot = reservation.number, reservation.slot
        events = book.of_entry(self.dataset, number)
        if any(event.kind == "complete" and event.slot == slot for event in events):
            raise InvalidInput(f"entry {number} is complete already; reserve again for a new answer.")
        last = self._last(book)
        body = {"answer": answer, "spent": last.body["spent"], "entries": last.body["entries"]}
        event = following(last, "complete", number, slot, body)
        book.add(event, question_key(reservation.question))
        return [*events, event]

    def _last(self, book: Book | None = None) -> Event:
        """The latest event, which carries the sums."""
        if book is None:
            with self._storage.read() as book:
                return self._last(book)
        latest = book.last(self.dataset)
        if latest is None:
            raise changed(self.dataset, 0)
        return latest

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
    """A charge whose answer is still to be recorded; as a `with` block it only says where the drawing is done."""

    def __init__(self, account: Account, number: int, slot: int, question: Any, head: str) -> None:
        self._account, self.number, self.slot, self.question, self.head = account, number, slot, question, head

    def complete(self, answer: Any) -> Entry:
        """Record the answer, durably, and return the entry; `head` is then the chain's head."""
        entry = self._account._complete(self, answer)
        self.head = entry.head
        return entry

    def __enter__(self) -> Reservation:
        return self

    def __exit__(self, *wrong: object) -> None:
        """Nothing is undone: the answer may have been seen."""


class Schedule:
    """Slots of one level, charged together; made by `Account.reserve_schedule`."""

    def __init__(self, account: Account, number: int) -> None:
        self._account, self.number = account, number
        if not self.entry.slots:
            raise InvalidInput(f"entry {number} is not a schedule; `entries()` lists those with slots.")

    @property
    def entry(self) -> Entry:
        """The entry as it stands now, with the questions and answers of its slots."""
        return self._account._entry(self.number)

    @property
    def left(self) -> int:
        """How many slots are left."""
        entry = self.entry
        return entry.slots - len(entry.used)

    def slot(self, question: Any) -> Reservation:
        """Use one slot, durably, before its answer is drawn; `BudgetSpent` if none is left."""
        return self._account._use_slot(self.number, question)


def fold(events: Sequence[Event], filter: Filter) -> list[Entry]:
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


def _batch(levels: Any, delta: Number | None) -> tuple[tuple[Level, ...], CostOf]:
    """The levels of a batch, and what they cost together."""
    if isinstance(levels, str | Level) or not isinstance(levels, Iterable):
        raise InvalidInput(f"levels is {shown(levels)}; give a list of levels, or use reserve for one.")
    listed = tuple(as_level(level) for level in levels)
    if not listed:
        raise InvalidInput("a batch needs at least one level.")
    counted = list(Counter(listed).items())
    return listed, lambda filter: filter.batch_cost(counted, delta)


def _refusal(levels: tuple[Level, ...], cost: tuple[Amount, ...], left: Left, slots: int, called: str) -> BudgetSpent:
    asked = (
        f"{slots} slots of {levels[0]}" if slots else str(levels[0]) if len(levels) == 1 else f"{len(levels)} levels"
    )
    price = ", ".join(f"{name} {amount}" for name, amount in zip(left.filter.resources, cost, strict=True))
    return BudgetSpent(
        f"{called} does not pay for {asked} ({price}): left is {left}. Nothing was charged; ask at a smaller level, "
        "or stop here.",
        asked=levels[0] if len(levels) == 1 else levels,
        left=left,
    )


def _said(value: Any) -> str:
    return repr(value) if isinstance(value, str) else str(value)
