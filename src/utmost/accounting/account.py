"""The account of one data set: its budget, its filter, and a hash chain of every spend and answer.

A spend is *reserved* before the draw and *completed* with the answer after it; a reservation whose process died counts
as spent. An account holds a privacy `Filter`, fixed when it is opened, which says what a spend costs and whether it
still fits; `filters.py` says why that is right. Its history is a chain of events, each hashed together with the one
before, so a changed event is detected; the chain's head, printed in every report, also distinguishes a ledger from an
older copy of it. The events are kept by a `Storage`: a file, a database, or memory.

Events also record which table was queried last: the name and a fingerprint of its place and columns. An account is a
name that somebody chooses, so another table under the same name is no error; but the answers say so.

Whether an engine fails after a charge may depend on private rows. So a failure *suspends* the account, for everybody,
by an event of the chain: until the owner *resumes* it, by another event, nothing is charged and no answer recorded.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from utmost.accounting.composition import compose
from utmost.accounting.costs import COSTS, NAMES, PAYS, WORDS, composed_cost, even_share, rational_below
from utmost.accounting.declared import Schedule, count_levels, refusal
from utmost.accounting.entries import SHARED, Entry, LedgerState, TableMark
from utmost.accounting.storage import Book, Storage, hash_mismatch
from utmost.accounting.suspension import Mark, is_marked, orphaned_marks, remove_mark, set_mark, write_failure
from utmost.errors import (
    AccountSuspended,
    BudgetSpent,
    InvalidInput,
    LedgerFailed,
    UnknownDataset,
    UnsupportedLevel,
    shown,
)
from utmost.exact import Amount, Number, as_rational
from utmost.exact.saved import canonical_text
from utmost.messages import Argument, Words
from utmost.privacy import ApproxDP, Level, as_level, level_from_json
from utmost.privacy.level import epsilon_of

if TYPE_CHECKING:
    from utmost.accounting.checks import LedgerCheck

LONG = 2**64
"""Integers of this size or more may exceed the limit of digits of JSON's writer, which then raises an error."""
ZERO = Amount(Fraction(0))
"""A cost of 0, of any resource."""
SUSPEND, RESUME = "suspend", "resume"
"""The kinds of event between which an account is suspended."""
ENDED = "the process that was answering this question ended before it had an answer"


# ---- the rule ----


@dataclass(frozen=True)
class Filter:
    """A rule for spending a budget: every sum of costs stays within its limit.

    Examples
    --------
    >>> from utmost.accounting.filters import choose
    >>> ten = choose(1)
    >>> ten.allows([ten.cost(as_level(0.1))] * 10), ten.allows([ten.cost(as_level(0.1))] * 11)
    (True, False)
    """

    name: str
    budget: Level
    limits: tuple[Amount, ...]

    @property
    def resources(self) -> tuple[str, ...]:
        """The resources that the filter adds up, such as epsilon and delta."""
        return NAMES[self.name]

    def cost(self, level: Level | Number) -> tuple[Amount, ...]:
        """The cost of one release at a level; `UnsupportedLevel` if this budget cannot pay for its kind."""
        return self.batch_cost([(as_level(level), 1)])

    def batch_cost(self, levels: Sequence[tuple[Level, int]], delta: Number | None = None) -> tuple[Amount, ...]:
        """The cost of releases declared together before any answer, as pairs (level, number of releases).

        With a basic filter and a `delta` for the whole batch the cost is the epsilon of exact composition at that
        delta. Otherwise it is the sum of the single costs, which for rho, mu^2 and pure epsilons is what composition
        gives; in a basic filter the Gaussian and zCDP ones are composed before they are converted to an (epsilon,
        delta).
        """
        if delta is None:
            for level, _ in levels:
                if not isinstance(level, PAYS[self.name]) or (level.delta > 0 and "delta" not in self.resources):
                    raise UnsupportedLevel(
                        f"a {self.name} budget ({self.budget}) cannot pay for {level}; {WORDS[self.name]}."
                    )
            return self._sum_of(levels)
        if self.name != "basic":
            raise InvalidInput(f"a {self.name} budget adds up without a delta of its own; leave delta out.")
        return composed_cost(levels, delta)

    def _sum_of(self, levels: Sequence[tuple[Level, int]]) -> tuple[Amount, ...]:
        if self.name in COSTS:
            price = COSTS[self.name]
            return self.total([tuple(a.times(count) for a in price(level)) for level, count in levels])
        curved = tuple((level, count) for level, count in levels if not isinstance(level, ApproxDP))
        plain = [
            (epsilon_of(level).times(count), Amount(level.delta * count))[: len(self.limits)]
            for level, count in levels
            if isinstance(level, ApproxDP)
        ]
        assert isinstance(self.budget, ApproxDP)
        return self.total([*plain, *([even_share(curved, self.budget)] if curved else [])])

    def pays(self, level: Level, charged: tuple[Amount, ...]) -> bool:
        """Whether a charge covers one release at a level.

        A Gaussian level may be charged as any (epsilon, delta) that it implies.
        """
        if self.name == "basic" and not isinstance(level, ApproxDP):
            epsilon, delta = charged
            return (
                epsilon.rational == math.inf
                or as_rational(compose(level).delta(rational_below(epsilon))) <= delta.rational
            )
        return all(minimum <= amount for minimum, amount in zip(self.cost(level), charged, strict=True))

    def allows(self, costs: Sequence[tuple[Amount, ...]]) -> bool:
        """Whether the sum of these costs is within the limits."""
        return all(total <= limit for total, limit in zip(self.total(costs), self.limits, strict=True))

    def total(self, costs: Sequence[tuple[Amount, ...]]) -> tuple[Amount, ...]:
        """The sum of costs, one amount per resource."""
        nothing = (ZERO,) * len(self.limits)
        return tuple(sum(column, ZERO) for column in zip(nothing, *costs, strict=True))

    def to_json(self) -> dict[str, Any]:
        """The filter as plain data; `from_json` reads it back."""
        limits = [limit.to_json() for limit in self.limits]
        return {"name": self.name, "budget": self.budget.to_json(), "limits": limits}

    @classmethod
    def from_json(cls, data: Any) -> Filter:
        """The filter written by `to_json`."""
        limits = tuple(Amount.from_json(limit) for limit in data["limits"])
        if len(limits) != len(NAMES[data["name"]]):
            raise InvalidInput(f"a {data['name']} filter has {len(NAMES[data['name']])} limits, not {len(limits)}.")
        return cls(data["name"], level_from_json(data["budget"]), limits)


@dataclass(frozen=True)
class Left:
    """The remaining budget; `allows(level)` says whether a spend would fit now."""

    filter: Filter
    spent: tuple[Amount, ...]

    def allows(self, level: Level | Number) -> bool:
        """Whether the budget would pay for a release at this level."""
        return self.filter.allows([self.spent, self.filter.cost(level)])

    def amounts(self) -> dict[str, float]:
        """The remaining amount of each resource, as floats."""
        remainders = (limit.minus(spent) for limit, spent in zip(self.filter.limits, self.spent, strict=True))
        return dict(zip(self.filter.resources, remainders, strict=True))

    def __str__(self) -> str:
        return ", ".join(
            f"{name} {remainder:.6g} of {limit}"
            for (name, remainder), limit in zip(self.amounts().items(), self.filter.limits, strict=True)
        )


@dataclass(frozen=True)
class Spent:
    """The charges to an account so far, unfinished reservations included."""

    filter: Filter
    sums: tuple[Amount, ...]

    def amounts(self) -> dict[str, Amount]:
        """The exact sum of each resource."""
        return dict(zip(self.filter.resources, self.sums, strict=True))

    def __str__(self) -> str:
        limits = zip(self.filter.resources, self.sums, self.filter.limits, strict=True)
        return ", ".join(f"{name} {spent} of {limit}" for name, spent, limit in limits)


# ---- the chain ----


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

    def head_after(self, previous: str) -> str:
        """The head of the chain with this event after `previous`."""
        return hashlib.sha256(canonical([previous, *self[:-1]])).hexdigest()


def next_event(last: Event, kind: str, entry: int, slot: int, body: Any) -> Event:
    """The next link of the chain, still to be stored."""
    time = datetime.now(UTC).isoformat(timespec="milliseconds")
    event = Event(last.dataset, last.number + 1, kind, entry, slot, time, body, "")
    return event._replace(head=event.head_after(last.head))


def may_follow(previous: str, kind: str) -> bool:
    """Whether an event of a kind may follow one: a resumption comes after a suspension, and nothing else does."""
    return (previous == SUSPEND) == (kind == RESUME)


def question_key(question: Any) -> str:
    """A key shared by identical questions: the hash of their canonical text."""
    return hashlib.sha256(canonical(plain(question, "the question"))).hexdigest()


def plain(content: Any, name: str) -> Any:
    """The content as plain JSON data; the error does not quote it, since it may hold an answer.

    Fractions and decimals become strings such as "1/100", numpy scalars Python numbers. Keys must be strings: JSON
    would write the key 1 like the key "1".
    """
    try:
        return _round_trip(content)
    except (TypeError, ValueError, RecursionError):
        raise InvalidInput(
            f"{name} is not plain JSON data; give dicts with texts as keys, lists, texts, finite numbers."
        ) from None


def _round_trip(content: Any) -> Any:
    """Round-trip a value through canonical JSON; lists of small integers, maybe a million, are only copied."""
    if isinstance(content, dict) and content:
        return {
            json.loads(canonical(key)): _round_trip(content[key]) for key in sorted(map(_require_text_key, content))
        }
    if isinstance(content, list) and set(map(type, content)) == {int} and max(map(abs, content)) < LONG:
        return list(content)
    return json.loads(canonical(_json_types(content)))


def _require_text_key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError
    return key


def _json_types(content: Any) -> Any:
    if isinstance(content, dict):
        return {_require_text_key(key): _json_types(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_json_types(value) for value in content]
    if isinstance(content, Fraction) or (isinstance(content, Decimal) and content.is_finite()):
        return str(content)
    return content.item() if isinstance(content, np.generic) else content


def canonical(content: Any) -> bytes:
    """The canonical JSON text of a value: the same for any order of keys."""
    return canonical_text(content).encode()


# ---- the account ----


CostOf: TypeAlias = Callable[[Filter], tuple[Amount, ...]]
"""The cost of a spend under a filter, by resource."""


class Account:
    """The account of one data set: its filter and its entries; every spend goes through it."""

    called = "the budget"
    """The name of this budget in refusals."""

    def __init__(self, storage: Storage, dataset: str, table: TableMark | None = None) -> None:
        self._storage, self.dataset, self.table = storage, dataset, table
        with storage.read() as book:
            secret = book.secret(dataset)
            if secret is None:
                names = ", ".join(map(repr, book.datasets()))
                raise UnknownDataset(
                    f"the ledger {storage.where} has no account {dataset!r}; it has {names or 'none'}."
                )
            opening = book.first(dataset)
        if opening is None:
            raise hash_mismatch(dataset, 0)
        self._secret = secret
        try:
            self.filter = Filter.from_json(opening.body["filter"])
            self.unit, self.neighbours = str(opening.body["unit"]), str(opening.body["neighbours"])
            intact = opening.body["secret"] == hashlib.sha256(self._secret).hexdigest()
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            intact = False
        if not intact:
            raise hash_mismatch(dataset, 0)

    @property
    def kept(self) -> bool:
        """Whether the account outlives this process."""
        return self._storage.kept

    @property
    def budget(self) -> Level:
        """The budget with which the account was opened."""
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
        """The charges so far."""
        return Spent(self.filter, self._last().spent())

    @property
    def left(self) -> Left:
        """The remaining budget now; another process may spend it before you do."""
        return Left(self.filter, self._last().spent())

    @property
    def suspended(self) -> str | None:
        """When (UTC) the account was suspended because a charged question could not be finished; else None."""
        last = self._last()
        return last.time if last.kind == SUSPEND else None

    @property
    def failures(self) -> Path | None:
        """The log of failures, readable only by the owner; None if there is none."""
        return next((path for path in self._logs() if path.exists()), None)

    def state_after(self, entry: Entry) -> LedgerState:
        """The state of the ledger for a report: the entry, and the budget spent and remaining at one moment."""
        spent = self.spent
        limits = dict(zip(self.filter.resources, self.filter.limits, strict=True))
        amounts = {
            name: {"spent": float(amount), "limit": float(limits[name])} for name, amount in spent.amounts().items()
        }
        remainder = Left(self.filter, spent.sums)
        notice = self._other_table(entry)
        return LedgerState(entry.number, entry.time, str(spent), str(remainder), amounts, entry.head, self.kept, notice)

    @property
    def other_table(self) -> str:
        """A notice that the latest spend was on another table than the open one; empty if it was not."""
        previous_table = _table_of(self._last())
        if previous_table is None or self.table is None or previous_table == self.table:
            return ""
        return f"{self._earlier_table_words(previous_table, self.table)}; {SHARED}"

    def _earlier_table_words(self, previous: TableMark, current: TableMark) -> str:
        difference = _table_difference(previous, current)
        return f"the account {self.dataset!r} was used before with another table, {previous.name!r}{difference}"

    def _other_table(self, entry: Entry) -> str:
        """The notice of an answer about another table: the one it was drawn from, or the one before."""
        if entry.table is None or self.table is None:
            return ""
        if entry.table != self.table:
            difference = _table_difference(entry.table, self.table)
            return Words(
                f"this recorded answer was drawn from another table, {entry.table.name!r}{difference}; ",
                Argument("fresh", True),
                " asks the open one, and spends",
            )
        previous_table = entry.table_before
        return "" if previous_table is None else f"{self._earlier_table_words(previous_table, self.table)}; {SHARED}"

    def find(self, question: Any, level: Level | Number | None = None) -> Entry | None:
        """The latest completed entry with this identical question (and level, if given), or None."""
        with self._storage.read() as book:
            return self._find(book, question_key(question), None if level is None else as_level(level))

    def ask(self, level: Level | Number, question: Any, draw: Callable[[], Any], fresh: bool = False) -> Entry:
        """Reserve, draw, complete; the identical question at the same level returns its recorded answer at no cost.

        A caller who asks while another is still drawing is charged too, and gets a separate answer.

        Examples
        --------
        >>> import utmost as um
        >>> account = um.Ledger(None).open("survey", 1, "rows, at most 500", "replace")
        >>> [account.ask(0.4, {"count": "all"}, lambda: n).answer for n in (7, 8)], str(account.left)
        ([7, 7], 'epsilon 0.6 of 1')
        >>> account.ask(0.4, {"count": "all"}, lambda: 9, fresh=True).answer, str(account.left)
        (9, 'epsilon 0.2 of 1')
        """
        outcome = self.take(level, question, fresh)
        return outcome if isinstance(outcome, Entry) else outcome.complete(draw())

    def take(self, level: Level | Number, question: Any, fresh: bool = False) -> Entry | Reservation:
        """The first step of `ask`: the recorded answer to the identical question, or a charge for a new one."""
        level = as_level(level)
        self.require_active()
        if not fresh and (entry := self.find(question, level)):
            return entry
        return self._reserve((level,), lambda filter: filter.cost(level), question, 0, fresh)

    def ask_batch(
        self,
        levels: Sequence[Level | Number],
        question: Any,
        draw: Callable[[], Any],
        delta: Number | None = None,
        fresh: bool = False,
    ) -> Entry:
        """`ask` for several releases that are declared together, at the cost of `reserve_batch`."""
        outcome = self.take_batch(levels, question, delta, fresh)
        return outcome if isinstance(outcome, Entry) else outcome.complete(draw())

    def take_batch(
        self, levels: Sequence[Level | Number], question: Any, delta: Number | None = None, fresh: bool = False
    ) -> Entry | Reservation:
        """The first step of `ask_batch`: the recorded answers to the identical batch, or a charge for new ones."""
        batch, price = _batch_price(levels, delta)
        self.require_active()
        if not fresh and (entry := self.find(question)):
            return entry
        return self._reserve(batch, price, question, 0, fresh)

    def reserve(self, level: Level | Number, question: Any) -> Reservation:
        """Charge one release, durably, before its answer is drawn; `BudgetSpent` if the budget is insufficient.

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

        With a basic filter and a `delta` for the whole batch they cost the epsilon of exact composition at that delta,
        often much less than their sum.

        Examples
        --------
        >>> import utmost as um
        >>> account = um.Ledger(None).open("survey", um.ApproxDP(3, 1e-5), "rows, at most 500", "replace")
        >>> with account.reserve_batch([0.05] * 100, {"histogram": "age"}, delta=1e-6) as entry:
        ...     _ = entry.complete({"answers": "..."})
        >>> print(account.left)                                     # the sum would have been 5
        epsilon 0.792467 of 3, delta 9e-06 of 1e-05
        """
        batch, price = _batch_price(levels, delta)
        return self._reserved(batch, price, question, 0)

    def reserve_schedule(
        self, level: Level | Number, slots: int, question: Any, delta: Number | None = None
    ) -> Schedule:
        """Charge a number of slots of one level now, and use them later for adaptively chosen questions.

        The levels are fixed in advance, so exact composition holds although the questions are not (LIM Theorem 2.4.3).
        Unused slots stay charged.

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
        """The schedule of an entry, for instance after a restart."""
        return Schedule(self, number)

    def require_active(self) -> None:
        """Refuse with `AccountSuspended` while the account is suspended.

        It is also suspended, now, if a process ended in the middle of a question (`Reservation.running`): an engine
        that takes the process with it has failed as well.
        """
        with self._storage.read() as book:
            suspended = self._last(book).kind == SUSPEND
        if not suspended and (folder := self._folder) and is_marked(folder, self._key):
            with self._storage.write(self.dataset) as book:
                suspended = self._suspend_for_ended(book)
        if suspended:
            raise AccountSuspended

    def suspend(self, entry: int, reasons: Sequence[str] = (), slot: int = 0) -> None:
        """Suspend the account for everybody until `resume`; durable when it returns.

        Parameters
        ----------
        entry, slot : int
            The question that could not be finished.
        reasons : list of str
            The engine's error messages: written only to the log of failures.

        Examples
        --------
        >>> import utmost as um
        >>> account = um.Ledger(None).open("survey", 1, "rows, at most 500", "replace")
        >>> account.suspend(account.reserve(0.1, "q").number, ["out of memory"])
        >>> account.reserve(0.1, "another")
        Traceback (most recent call last):
        utmost.errors.AccountSuspended: this account is suspended: a question could not be finished ...
        >>> account.resume() is None, account.suspended
        (False, None)
        """
        with self._storage.write(self.dataset) as book:
            last = self._last(book)
            if last.kind != SUSPEND:
                self._add_suspension(book, last, entry)
        secret = self._secret.hex()  # which statements hold, and engines repeat
        texts = [reason.replace(secret, "(the secret of the account)") for reason in reasons]
        write_failure(self._logs(), self.dataset, entry, slot, texts)

    def resume(self) -> str | None:
        """Lift a suspension and return when it began, or None if the account was not suspended.

        For the owner, after a look at the log of failures (`failures`).
        """
        with self._storage.write(self.dataset) as book:
            self._suspend_for_ended(book)
        with self._storage.write(self.dataset) as book:
            last = self._last(book)
            if last.kind != SUSPEND:
                return None
            book.add(next_event(last, RESUME, 0, 0, _carried_sums(last)), None)
            for mark in self._orphaned_marks():
                mark.path.unlink(missing_ok=True)
        return last.time

    def entries(self) -> list[Entry]:
        """All entries, oldest first; `BadFile` if one of them was changed."""
        with self._storage.read() as book:
            return fold(book.events(self.dataset)[1:], self.filter)

    def check(self, head: str | None = None) -> LedgerCheck:
        """Read the whole ledger again and recompute its chain, every sum and cost, and the keys of its questions.

        Damage that leaves nothing to compare is a `BadFile`. The chain alone cannot distinguish a ledger from an older
        copy of it; a head printed earlier can.

        Parameters
        ----------
        head : str, optional
            The head of an earlier report, which the chain must contain.
        """
        from utmost.accounting.checks import check_account

        with self._storage.read() as book:
            events, keys = book.stored(self.dataset)
        return check_account(self.dataset, self.filter, events, keys, head)

    def _find(self, book: Book, key: str, level: Level | None) -> Entry | None:
        for event in book.answers(self.dataset, key):
            entry = self._read_entry(book, event.entry)
            if level is None or entry.level == level:
                question = entry.used[event.slot - 1][0] if event.slot else entry.question
                if question_key(question) != key:
                    raise hash_mismatch(self.dataset, event.number)
                return replace(entry, question=question, answer=event.body["answer"], state="done", head=event.head)
        return None

    def _reserved(self, levels: tuple[Level, ...], price: CostOf, question: Any, slots: int) -> Reservation:
        self.require_active()
        reservation = self._reserve(levels, price, question, slots)
        assert isinstance(reservation, Reservation)
        return reservation

    def _reserve(
        self, levels: tuple[Level, ...], price: CostOf, question: Any, slots: int, fresh: bool = True
    ) -> Reservation | Entry:
        """Charge a spend, or, unless `fresh`, return the entry that another process has completed meanwhile."""
        plain_question, key = plain(question, "the question"), question_key(question)
        charge = self._charging(levels, price, plain_question, slots)
        with self._write() as book:
            self._require_active(book)
            if not fresh and (entry := self._find(book, key, levels[0] if len(levels) == 1 else None)):
                return entry
            event = charge(book)
        return Reservation(self, event.entry, 0, plain_question, event.head)

    def _write(self) -> AbstractContextManager[Book]:
        """An exclusive transaction on this account."""
        return self._storage.write(self.dataset)

    def _charging(self, levels: tuple[Level, ...], price: CostOf, question: Any, slots: int) -> Callable[[Book], Event]:
        """A function that charges a spend in a transaction or refuses it; the cost is computed here, before."""
        cost, key = price(self.filter), question_key(question)

        def charge(book: Book) -> Event:
            last = self._last(book)
            remainder = Left(self.filter, last.spent())
            if not self.filter.allows([remainder.spent, cost]):
                raise refusal(levels, cost, remainder, slots, self.called)
            body = self._carried_state(last) | {
                "levels": [level.to_json() for level in levels],
                "slots": slots,
                "cost": [amount.to_json() for amount in cost],
                "question": question,
                "spent": [amount.to_json() for amount in self.filter.total([remainder.spent, cost])],
                "entries": last.body["entries"] + 1,
            }
            event = next_event(last, "reserve", last.body["entries"] + 1, 0, body)
            book.add(event, key)
            return event

        return charge

    def _carried_state(self, last: Event) -> dict[str, Any]:
        """The state that a spend copies from the event before: its sums, the table, and an earlier table if different.

        An account that is opened without a table keeps the latest.
        """
        previous_table = _table_of(last)
        table = self.table or previous_table
        carried = {**_carried_sums(last), **({} if table is None else {"table": table.to_json()})}
        return (
            carried
            if previous_table in (None, table)
            else {**carried, "table_before": previous_table and previous_table.to_json()}
        )

    def _entry(self, number: int) -> Entry:
        if not isinstance(number, int | np.integer) or isinstance(number, bool) or number < 1:
            raise InvalidInput(f"the entry is {shown(number)}; entries are numbered from 1.")
        with self._storage.read() as book:
            return self._read_entry(book, int(number))

    def _read_entry(self, book: Book, number: int) -> Entry:
        events = book.of_entry(self.dataset, number)
        if not events:
            raise InvalidInput(f"the account has no entry {number}.")
        return fold(events, self.filter)[0]

    def _use_slot(self, number: int, question: Any) -> Reservation:
        key, plain_question = question_key(question), plain(question, "the question")
        self.require_active()
        with self._storage.write(self.dataset) as book:
            self._require_active(book)
            entry = self._read_entry(book, number)
            if len(entry.used) >= entry.slots:
                raise BudgetSpent(
                    f"all {entry.slots} slots of entry {number} are used; reserve another schedule.",
                    asked=entry.level,
                    left=Left(self.filter, self._last(book).spent()),
                )
            last = self._last(book)
            body = {"question": plain_question, **self._carried_state(last)}
            event = next_event(last, "slot", number, len(entry.used) + 1, body)
            book.add(event, key)
        return Reservation(self, number, event.slot, plain_question, event.head)

    def _complete(self, reservation: Reservation, answer: Any) -> Entry:
        number, slot = reservation.number, reservation.slot
        remedy = "" if slot else f" (account.reservation({number}))"
        try:
            recorded = plain(answer, "the answer")
        except InvalidInput as problem:
            raise InvalidInput(
                f"{problem} The charge stands, and entry {number} can still be completed with such data{remedy}."
            ) from None
        self.require_active()
        try:
            with self._write() as book:
                events = self._completed(book, reservation, recorded)
        except LedgerFailed as problem:
            raise LedgerFailed(
                f"{problem} The charge of entry {number} stands, and it can be completed again{remedy}."
            ) from None
        return fold(events, self.filter)[0]

    def _completed(self, book: Book, reservation: Reservation, answer: Any) -> list[Event]:
        """Add the answer of an entry to the book and return all events of the entry."""
        number, slot = reservation.number, reservation.slot
        self._require_active(book)
        events = book.of_entry(self.dataset, number)
        if any(event.kind == "complete" and event.slot == slot for event in events):
            raise InvalidInput(f"entry {number} is complete already; reserve again for a new answer.")
        last = self._last(book)
        event = next_event(last, "complete", number, slot, {"answer": answer, **_carried_sums(last)})
        book.add(event, question_key(reservation.question))
        return [*events, event]

    # ---- suspended ----

    def _require_active(self, book: Book) -> None:
        if self._last(book).kind == SUSPEND:
            raise AccountSuspended

    def _add_suspension(self, book: Book, last: Event, entry: int) -> None:
        book.add(next_event(last, SUSPEND, 0, 0, {"entry": entry, **_carried_sums(last)}), None)

    def _suspend_for_ended(self, book: Book) -> bool:
        """Suspend the account if a process ended in the middle of a question; return whether it is suspended."""
        last = self._last(book)
        if last.kind == SUSPEND:
            return True
        unanswered = []
        for mark in self._orphaned_marks():
            if self._has_answer(book, mark):
                mark.path.unlink(missing_ok=True)  # it ended right after its answer was recorded
            else:
                unanswered.append(mark)
                write_failure(self._logs(), self.dataset, mark.entry, mark.slot, [ENDED])
        if unanswered:
            self._add_suspension(book, last, unanswered[0].entry)
        return bool(unanswered)

    def _orphaned_marks(self) -> list[Mark]:
        """The marks of questions whose process ended before it removed them."""
        folder = self._folder
        return [] if folder is None else orphaned_marks(folder, self._key)

    def _has_answer(self, book: Book, mark: Mark) -> bool:
        events = book.of_entry(self.dataset, mark.entry)
        return any(event.kind == "complete" and event.slot == mark.slot for event in events)

    @property
    def _folder(self) -> Path | None:
        """The folder of marks of running questions; None for an account in memory, which ends with its process."""
        return self._storage.beside(".running") if self.kept else None

    @property
    def _key(self) -> str:
        """The prefix of the names of this account's marks."""
        return hashlib.sha256(self._secret + self.dataset.encode()).hexdigest()[:16]

    def _logs(self) -> list[Path]:
        places = (self._storage.beside(".failures.log"), self._storage.in_state(".failures.log"))
        return [path for path in dict.fromkeys(places) if path is not None]

    def _last(self, book: Book | None = None) -> Event:
        """The latest event, which carries the sums."""
        if book is None:
            with self._storage.read() as book:
                return self._last(book)
        latest = book.last(self.dataset)
        if latest is None:
            raise hash_mismatch(self.dataset, 0)
        return latest

    def __repr__(self) -> str:
        return f"Account {self.dataset!r} of {self.budget} in {self._storage.where}: {self.left} left"


class Reservation:
    """A charge whose answer is still to be recorded; a `with` block only marks where the drawing is done."""

    def __init__(self, account: Account, number: int, slot: int, question: Any, head: str) -> None:
        self._account, self.number, self.slot, self.question, self.head = account, number, slot, question, head
        self._suspension_failed = False
        """Whether the question failed and the suspension could not be written to the ledger."""

    def complete(self, answer: Any) -> Entry:
        """Record the answer, durably, and return the entry; `head` becomes the new head of the chain."""
        entry = self._account._complete(self, answer)
        self.head = entry.head
        return entry

    @contextmanager
    def running(self) -> Iterator[None]:
        """Mark the question as being answered: if the process ends before the block does, the account is suspended.

        If the block ends in any other way, by an error or Ctrl-C, the mark is removed.
        """
        account, folder = self._account, self._account._folder
        mark = folder and set_mark(folder, account._key, self.number, self.slot, account._storage.mode)
        try:
            yield
        finally:
            if mark:
                remove_mark(mark, stays=self._suspension_failed)

    def suspend(self, reasons: Sequence[str]) -> None:
        """Suspend the account because this question cannot be finished, and log why.

        If the ledger cannot be written, the mark of `running` stays and suspends the account at the next question.
        """
        self._suspension_failed = True
        self._account.suspend(self.number, reasons, self.slot)
        self._suspension_failed = False

    def __enter__(self) -> Reservation:
        return self

    def __exit__(self, *wrong: object) -> None:
        """Nothing is undone: the answer may have been seen."""


def fold(events: Sequence[Event], filter: Filter) -> list[Entry]:
    """The entries that a list of events describes."""
    entries: dict[int, Entry] = {}
    for event in events:
        body = event.body
        if event.kind == "reserve":
            levels = tuple(level_from_json(level) for level in body["levels"])
            cost = dict(zip(filter.resources, (Amount.from_json(a) for a in body["cost"]), strict=True))
            single = levels[0] if len(levels) == 1 else levels
            entries[event.entry] = Entry(
                event.entry,
                event.time,
                single,
                cost,
                body["question"],
                None,
                "reserved",
                event.head,
                body["slots"],
                table=_table_of(event),
                table_before=TableMark.from_json(body.get("table_before")),
            )
            continue
        if event.kind in (SUSPEND, RESUME):
            continue
        entry = entries[event.entry]
        if event.kind == "slot":
            previous_table = TableMark.from_json(body.get("table_before"))
            slots = (*entry.used, (body["question"], None))
            entry = replace(entry, used=slots, table=_table_of(event), table_before=previous_table)
        elif event.slot:
            pairs = list(entry.used)
            pairs[event.slot - 1] = (pairs[event.slot - 1][0], body["answer"])
            entry = replace(entry, used=tuple(pairs))
        else:
            entry = replace(entry, answer=body["answer"], state="done")
        entries[event.entry] = replace(entry, head=event.head)
    return list(entries.values())


def _carried_sums(last: Event) -> dict[str, Any]:
    """The state that every event copies from the one before if nothing is charged."""
    return {name: last.body[name] for name in ("spent", "entries", "table") if name in last.body}


def _table_of(event: Event) -> TableMark | None:
    """The table queried last, up to an event."""
    return TableMark.from_json(event.body.get("table"))


def _table_difference(first: TableMark, second: TableMark) -> str:
    """How one table differs from another: by its name, or else by its place or columns."""
    return f", not {second.name!r}" if first.name != second.name else " in another place or with other columns"


def _batch_price(levels: Any, delta: Number | None) -> tuple[tuple[Level, ...], CostOf]:
    """The levels of a batch, and a function for their cost together."""
    batch, counts = count_levels(levels)
    return batch, lambda filter: filter.batch_cost(counts, delta)
