"""Everything a visitor may do, without HTTP: see data sets, plan, ask, see answers and budgets.

Every data set is opened twice: once to plan, once to read, each used by one thread at a time, so that a plan never
waits for a table that is being read. A question is charged to the account of the data set and to the visitor's, in one
transaction.
"""

from __future__ import annotations

import copy
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from threading import Lock
from typing import Any, TypeVar

from utmost.accounting import Ledger
from utmost.accounting.entries import Entry
from utmost.accounting.holder_account import HolderAccount
from utmost.backends.opening import open_table
from utmost.errors import Disconnected, InvalidInput, UtmostError, shown
from utmost.exact.saved import NONSENSE
from utmost.privacy import ZCDP, ApproxDP, ApproxGaussianDP, GaussianDP, Level, PureDP
from utmost.queries.answers import Answer, Plan
from utmost.queries.budget import Budget
from utmost.queries.questions import Question
from utmost.queries.questions.question import describe
from utmost.queries.session import Session
from utmost.serve.problems import NOT_YOURS, Refused
from utmost.serve.settings import Dataset, Settings, Visitor
from utmost.serve.wire import Query, arguments_of, read_query

MOST_PLANS = 128
"""Size of the cache of plans, so that asking does not repeat the design of a plan."""
Result = TypeVar("Result")
MOST_BATCH = 100
"""The largest number of questions in a batch."""


@dataclass(frozen=True)
class RecordedAnswer:
    """A recorded answer: the data set's entry, its queries, and the names of those who asked, where known."""

    entry: Entry
    queries: tuple[Query, ...]
    holders: tuple[str, ...]


class _OpenDataset:
    """A data set with its two sessions and a cache of plans."""

    def __init__(self, dataset: Dataset, ledger: Ledger) -> None:
        untyped = open_table(dataset.table).untyped  # of other tables, the engine knows the types
        types = {name: column.type for name, column in dataset.columns.items() if column.type and name in untyped}
        self.dataset = dataset
        arguments = dataset.table, dataset.name, dataset.unit, dataset.neighbours, dataset.budget, ledger, types or None
        self._make = partial(Session, *arguments)
        self.planning, self.reading = self._make(), self._make()
        self.plan_lock, self.read_lock = Lock(), Lock()
        self.plans: OrderedDict[str, Plan] = OrderedDict()
        self.curves: OrderedDict[str, list[tuple[Level, float]]] = OrderedDict()

    def plan(self, name: str, arguments: Mapping[str, Any]) -> Plan:
        """Make a plan, one at a time, since the table's engine rehearses the question."""
        with self.plan_lock:
            plan: Plan = getattr(self.planning.plan, name)(**arguments)
        return plan

    def with_reconnection(self, work: Callable[[], Result]) -> Result:
        """Run some work; if the connection to the table was lost, connect again and run it once more.

        Nothing was charged then, since the table is opened before the ledger is used.
        """
        planning = self.planning
        try:
            return work()
        except Disconnected as problem:
            with self.plan_lock, self.read_lock:
                if self.planning is planning:  # no other thread has reconnected meanwhile
                    self.planning, self.reading = self._reconnect(problem)
        return work()

    def _reconnect(self, problem: Disconnected) -> tuple[Session, Session]:
        try:
            return self._make(), self._make()
        except UtmostError:  # which may say where the table is
            raise problem from None


class Desk:
    """The open data sets of some settings, with the accounts of all analysts."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.ledger = settings.ledger if isinstance(settings.ledger, Ledger) else Ledger(settings.ledger)
        self._open = {name: _OpenDataset(dataset, self.ledger) for name, dataset in settings.datasets.items()}
        for visitor in settings.visitors.values():
            for name, budget in visitor.budgets.items():
                dataset = settings.datasets[name]
                self.ledger.open(_own_name(visitor.name, name), budget, str(dataset.unit), dataset.neighbours)

    def close(self) -> None:
        """Close the ledger."""
        self.ledger.close()

    def datasets(self, visitor: Visitor) -> list[Dataset]:
        """The data sets that the visitor may see."""
        return [opened.dataset for name, opened in self._open.items() if visitor.sees(name)]

    def dataset(self, visitor: Visitor, name: str) -> Dataset:
        """A data set; the same error for a hidden one and for one that does not exist."""
        return self._require_visible(visitor, name).dataset

    def column_types(self, visitor: Visitor, name: str) -> dict[str, Any]:
        """The columns of the table and their types, which are public."""
        source = self._require_visible(visitor, name).planning.source
        kinds = source.table.columns.items()
        return {column: kind for column, kind in kinds if column not in source.refused}

    def columns(self, visitor: Visitor, name: str) -> dict[str, str]:
        """The columns and their types in words."""
        return {column: str(kind) for column, kind in self.column_types(visitor, name).items()}

    def plan(self, visitor: Visitor, name: str, query: Query) -> Plan:
        """The plan of an answer, with the remaining budgets."""
        opened = self._require_visible(visitor, name)
        plan = self._cached_plan(opened, query)
        return Plan(plan.question, plan.dataset, self.left(visitor, name), plan.source)

    def errors_near(self, visitor: Visitor, name: str, query: Query) -> list[tuple[Level, float]]:
        """The expected error at levels around that of a query: as many as half a second allows."""
        opened = self._require_visible(visitor, name)
        question, curve = self._cached_plan(opened, query).question, opened.curves.get(query.text)
        return curve or _cache(opened.curves, query.text, _errors_near(question))

    def left(self, visitor: Visitor, name: str) -> str:
        """The remaining budgets of the data set and of the visitor, in words."""
        total = str(self._require_visible(visitor, name).planning.left)
        if name not in visitor.budgets or visitor.key is None:
            return total
        return f"{self._own_account(visitor, name).left} for you, {total} for all"

    def ask(self, visitor: Visitor, name: str, query: Query) -> Answer:
        """Answer a query, charged to both budgets; a recorded answer is not drawn again."""
        opened = self._dataset_to_ask(visitor, name)
        plan = self._cached_plan(opened, query)

        def answer() -> Answer:
            with opened.read_lock:
                return self._session(visitor, opened, query).ask(plan.question, query.fresh)

        return opened.with_reconnection(answer)

    def batch(self, visitor: Visitor, name: str, queries: Sequence[Query], delta: Any, fresh: bool) -> list[Answer]:
        """Answer queries that are declared together."""
        if not 1 <= len(queries) <= MOST_BATCH:
            raise InvalidInput(f"the batch has {len(queries)} questions; give from 1 to {MOST_BATCH}.")
        opened = self._dataset_to_ask(visitor, name)
        plans = [self._cached_plan(opened, query) for query in queries]

        def answers() -> list[Answer]:
            with opened.read_lock:
                session = self._session(visitor, opened, *queries)
                mine = [Plan(plan.question, name, "", session.source) for plan in plans]
                return session.batch(mine, delta, fresh=fresh)

        return opened.with_reconnection(answers)

    def records(self, visitor: Visitor, name: str, number: int | None = None) -> list[RecordedAnswer]:
        """The visitor's recorded answers, oldest first; for a custodian, everybody's; or only that of one entry."""
        opened = self._require_visible(visitor, name)
        records: dict[int, RecordedAnswer] = {}
        if visitor.custodian:
            entries = opened.planning.account.entries()
            records = {e.number: RecordedAnswer(e, (), ()) for e in entries if number in (None, e.number)}
        visitors = self.settings.visitors.values() if visitor.custodian else [visitor]
        for holder in visitors:
            account = self._holder_account(holder, name) if name in holder.budgets else None
            for entry, note in account.received_entries(number) if account else ():
                record = records.get(entry.number, RecordedAnswer(entry, (), ()))
                queries = tuple(map(read_query, note["asked"]))
                records[entry.number] = RecordedAnswer(entry, queries, (*record.holders, holder.name))
        return [records[number] for number in sorted(records)]

    def answers(self, visitor: Visitor, name: str, number: int) -> list[Answer]:
        """The answer of an entry, or the answers of a batch, reconstructed from the record."""
        opened = self._require_visible(visitor, name)
        record = next(iter(self.records(visitor, name, number)), None)
        if record is None:
            raise Refused(403, NOT_YOURS)
        if record.entry.state != "done" or not record.queries:
            raise InvalidInput(
                f"entry {number} has no answer that this server recorded; it was asked elsewhere, or its engine failed."
            )
        plans = [self._cached_plan(opened, query) for query in record.queries]
        state = opened.planning.account.state_after(record.entry)
        released = [record.entry.answer] if len(plans) == 1 and not _is_batch(record.entry) else record.entry.answer
        return [
            Answer(plan.question, name, value, state, True, plan.source)
            for plan, value in zip(plans, released, strict=True)
        ]

    def budget(self, visitor: Visitor, name: str) -> tuple[Budget, dict[str, Budget]]:
        """The data set's budget with the entries that the visitor may see, and the budgets of analysts by name."""
        opened = self._require_visible(visitor, name)
        session = opened.planning
        entries = [record.entry for record in self.records(visitor, name)]
        visitors = self.settings.visitors.values() if visitor.custodian else [visitor]
        return Budget(name, session.left, session.spent, entries, session.terms.unit.tiers), {
            holder.name: self._budget_of(holder, name)
            for holder in visitors
            if name in holder.budgets and holder.key is not None
        }

    def _budget_of(self, visitor: Visitor, name: str) -> Budget:
        own = self._own_account(visitor, name)
        return Budget(name, own.left, own.spent, own.entries())

    def check(self, visitor: Visitor, name: str) -> Any:
        """Check the ledger's account of a data set: chain, sums, and question keys."""
        return self._require_visible(visitor, name).planning.account.check()

    def _require_visible(self, visitor: Visitor, name: str) -> _OpenDataset:
        if not visitor.sees(name) or name not in self._open:
            raise Refused(403, NOT_YOURS)
        return self._open[name]

    def _own_account(self, visitor: Visitor, name: str) -> Any:
        own = self.ledger.account(_own_name(visitor.name, name))
        own.called = "your own budget"
        return own

    def _holder_account(self, visitor: Visitor, name: str, *queries: Query) -> HolderAccount:
        note = {"asked": [query.plain for query in queries]}
        return HolderAccount(self._open[name].planning.account, self._own_account(visitor, name), note)

    def _dataset_to_ask(self, visitor: Visitor, name: str) -> _OpenDataset:
        """A data set about which the visitor may ask."""
        opened = self._require_visible(visitor, name)
        if name not in visitor.budgets:
            raise Refused(403, "a custodian looks on and does not ask; ask with an analyst's key, or beside the table.")
        return opened

    def _session(self, visitor: Visitor, opened: _OpenDataset, *queries: Query) -> Session:
        """The data set's session with the account of this visitor."""
        session = copy.copy(opened.reading)
        session.account = self._holder_account(visitor, opened.dataset.name, *queries)
        return session

    def _cached_plan(self, opened: _OpenDataset, query: Query) -> Plan:
        """The plan of a query, designed and proved, from the cache if it is there; invalid queries are refused here."""
        if cached := opened.plans.get(query.text):
            return cached
        try:
            arguments = arguments_of(query, self.settings.most_keys)
            plan: Plan = opened.with_reconnection(lambda: opened.plan(query.name, arguments))
            describe(plan.question, plan.dataset)  # designed and proved, which may take long
        except UtmostError:
            raise
        except NONSENSE as problem:
            raise InvalidInput(
                f"{query.name} cannot be asked with {shown(query.text)} ({type(problem).__name__}); look at its "
                "arguments once more."
            ) from None
        return _cache(opened.plans, query.text, plan)


def _cache(memory: OrderedDict[str, Result], text: str, value: Result) -> Result:
    """Put a value into a cache, which drops its oldest entries."""
    memory[text] = value
    while len(memory) > MOST_PLANS:
        memory.popitem(last=False)
    return value


def _errors_near(question: Question) -> list[tuple[Level, float]]:
    if question.accuracy.average is None:  # it depends on the number of rows, and no expected number was given
        return []
    curve, until = [(question.privacy, question.average)], time.monotonic() + 0.5
    for factor in ("2", "1/2", "4", "1/4", "8", "1/8"):
        if time.monotonic() > until:
            break
        level = _stronger(question.privacy, Fraction(factor))
        if level is not None:
            with suppress(UtmostError):  # a level that no mechanism is made for
                curve.append((level, question.at(level).average))
    return sorted(curve, key=lambda pair: strength(pair[0]))


def strength(level: Level) -> float:
    """The main parameter of a level: its epsilon, mu or rho."""
    name = "mu" if isinstance(level, GaussianDP | ApproxGaussianDP) else "rho" if isinstance(level, ZCDP) else "epsilon"
    return float(getattr(level, name))


def _stronger(level: Level, factor: Fraction) -> Level | None:
    """A level of the same kind with its epsilon, mu or rho multiplied by a factor."""
    number = Fraction(str(strength(level))) * factor
    if isinstance(level, GaussianDP):
        return GaussianDP(number)
    if isinstance(level, ApproxGaussianDP):
        return ApproxGaussianDP(number, level.delta)
    if isinstance(level, ZCDP):
        return ZCDP(number)
    if isinstance(level, ApproxDP):
        return ApproxDP(number, level.delta) if level.delta > 0 else PureDP(number)
    return None


def _own_name(visitor: str, dataset: str) -> str:
    """The name of a visitor's account at a data set; it has spaces, so no data set has the same name."""
    return f"{visitor} at {dataset}"


def _is_batch(entry: Entry) -> bool:
    return isinstance(entry.question, dict) and "batch" in entry.question
