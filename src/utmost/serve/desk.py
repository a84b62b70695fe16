"""All that a visitor may do, without HTTP: look at data sets, plan, ask, see answers and budgets.

Every data set is opened twice: once to plan, once to read, each used by one thread at a time, so that who plans never
waits for a table that is being read. What is asked goes through the account of the data set and the visitor's own, in
one transaction.
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
from utmost.accounting.held import HeldAccount
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
from utmost.serve.wire import Asked, arguments_of, read_asked

MOST_PLANS = 128
"""How many plans are kept, so that asking does not design again what was planned."""
Kept = TypeVar("Kept")
MOST_BATCH = 100
"""How many questions a batch may have."""


@dataclass(frozen=True)
class Given:
    """An answer that somebody was given: the data set's entry, who asked, and how, where the server knows it."""

    entry: Entry
    asked: tuple[Asked, ...]
    whose: tuple[str, ...]


class _Open:
    """A data set with its two sessions, and the plans made of it lately."""

    def __init__(self, dataset: Dataset, ledger: Ledger) -> None:
        untyped = open_table(dataset.table).untyped  # of other tables, the engine knows the types
        types = {name: column.type for name, column in dataset.columns.items() if column.type and name in untyped}
        self.dataset = dataset
        made = dataset.table, dataset.name, dataset.unit, dataset.neighbours, dataset.budget, ledger, types or None
        self._make = partial(Session, *made)
        self.planning, self.reading = self._make(), self._make()
        self.plan_lock, self.read_lock = Lock(), Lock()
        self.plans: OrderedDict[str, Plan] = OrderedDict()
        self.curves: OrderedDict[str, list[tuple[Level, float]]] = OrderedDict()

    def plan(self, name: str, arguments: Mapping[str, Any]) -> Plan:
        """A plan; the table's engine, which rehearses the question, serves one at a time."""
        with self.plan_lock:
            made: Plan = getattr(self.planning.plan, name)(**arguments)
        return made

    def connected(self, work: Callable[[], Kept]) -> Kept:
        """What some work finds; if the connection to the table has ended, with a new one, once.

        Nothing was charged then: a table is looked at before the ledger is.
        """
        planning = self.planning
        try:
            return work()
        except Disconnected as problem:
            with self.plan_lock, self.read_lock:
                if self.planning is planning:  # nobody else has connected again meanwhile
                    self.planning, self.reading = self._again(problem)
        return work()

    def _again(self, problem: Disconnected) -> tuple[Session, Session]:
        try:
            return self._make(), self._make()
        except UtmostError:  # which may say where the table is
            raise problem from None


class Desk:
    """The data sets of some settings, open, with the accounts of everybody who may ask about them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.ledger = settings.ledger if isinstance(settings.ledger, Ledger) else Ledger(settings.ledger)
        self._open = {name: _Open(dataset, self.ledger) for name, dataset in settings.datasets.items()}
        for visitor in settings.visitors.values():
            for name, budget in visitor.budgets.items():
                dataset = settings.datasets[name]
                self.ledger.open(_own_name(visitor.name, name), budget, str(dataset.unit), dataset.neighbours)

    def close(self) -> None:
        """Let go of the ledger."""
        self.ledger.close()

    def datasets(self, visitor: Visitor) -> list[Dataset]:
        """Those the visitor may look at."""
        return [each.dataset for name, each in self._open.items() if visitor.sees(name)]

    def dataset(self, visitor: Visitor, name: str) -> Dataset:
        """One of them; whether another exists is not said."""
        return self._of(visitor, name).dataset

    def column_types(self, visitor: Visitor, name: str) -> dict[str, Any]:
        """The columns of the table and their types: the schema is public."""
        source = self._of(visitor, name).planning.source
        kinds = source.table.columns.items()
        return {column: kind for column, kind in kinds if column not in source.refused}

    def columns(self, visitor: Visitor, name: str) -> dict[str, str]:
        """The columns and their types in words."""
        return {column: str(kind) for column, kind in self.column_types(visitor, name).items()}

    def plan(self, visitor: Visitor, name: str, asked: Asked) -> Plan:
        """What an answer would be like, with what is left of both budgets."""
        opened = self._of(visitor, name)
        plan = self._planned(opened, asked)
        return Plan(plan.question, plan.dataset, self.left(visitor, name), plan.source)

    def errors_near(self, visitor: Visitor, name: str, asked: Asked) -> list[tuple[Level, float]]:
        """The expected error at levels around the one that is asked for: as many as half a second allows."""
        opened = self._of(visitor, name)
        question, found = self._planned(opened, asked).question, opened.curves.get(asked.text)
        return found or _kept(opened.curves, asked.text, _errors_near(question))

    def left(self, visitor: Visitor, name: str) -> str:
        """What is left of the data set's budget, and of the visitor's own, in words."""
        whole = str(self._of(visitor, name).planning.left)
        if name not in visitor.budgets or visitor.key is None:
            return whole
        return f"{self._own(visitor, name).left} for you, {whole} for all"

    def ask(self, visitor: Visitor, name: str, asked: Asked) -> Answer:
        """The answer, charged to both budgets; what was answered before is not drawn again."""
        opened = self._asked_of(visitor, name)
        plan = self._planned(opened, asked)

        def answer() -> Answer:
            with opened.read_lock:
                return self._session(visitor, opened, asked).ask(plan.question, asked.fresh)

        return opened.connected(answer)

    def batch(self, visitor: Visitor, name: str, asked: Sequence[Asked], delta: Any, fresh: bool) -> list[Answer]:
        """Answers to questions that are declared together."""
        if not 1 <= len(asked) <= MOST_BATCH:
            raise InvalidInput(f"the batch has {len(asked)} questions; give from 1 to {MOST_BATCH}.")
        opened = self._asked_of(visitor, name)
        plans = [self._planned(opened, each) for each in asked]

        def answers() -> list[Answer]:
            with opened.read_lock:
                session = self._session(visitor, opened, *asked)
                mine = [Plan(plan.question, name, "", session.source) for plan in plans]
                return session.batch(mine, delta, fresh=fresh)

        return opened.connected(answers)

    def given(self, visitor: Visitor, name: str, number: int | None = None) -> list[Given]:
        """The visitor's own answers, oldest first; of a custodian, everybody's; or the one of an entry."""
        opened = self._of(visitor, name)
        found: dict[int, Given] = {}
        if visitor.custodian:
            listed = opened.planning.account.entries()
            found = {e.number: Given(e, (), ()) for e in listed if number in (None, e.number)}
        whose = self.settings.visitors.values() if visitor.custodian else [visitor]
        for each in whose:
            for entry, note in self._held(each, name).given(number) if name in each.budgets else ():
                before = found.get(entry.number, Given(entry, (), ()))
                asked = tuple(read_asked(one) for one in note["asked"])
                found[entry.number] = Given(entry, asked, (*before.whose, each.name))
        return [found[number] for number in sorted(found)]

    def answers(self, visitor: Visitor, name: str, number: int) -> list[Answer]:
        """The answer of an entry, or the answers of a batch, made again from what is recorded."""
        opened = self._of(visitor, name)
        found = next(iter(self.given(visitor, name, number)), None)
        if found is None:
            raise Refused(403, NOT_YOURS)
        if found.entry.state != "done" or not found.asked:
            raise InvalidInput(
                f"entry {number} has no answer that this server recorded; it was asked elsewhere, or its engine failed."
            )
        plans = [self._planned(opened, asked) for asked in found.asked]
        state = opened.planning.account.state_after(found.entry)
        released = [found.entry.answer] if len(plans) == 1 and not _is_batch(found.entry) else found.entry.answer
        return [
            Answer(plan.question, name, one, state, True, plan.source)
            for plan, one in zip(plans, released, strict=True)
        ]

    def budget(self, visitor: Visitor, name: str) -> tuple[Budget, dict[str, Budget]]:
        """The data set's budget with the entries that the visitor may see, and by name the budgets of those who ask."""
        opened = self._of(visitor, name)
        session = opened.planning
        seen = [given.entry for given in self.given(visitor, name)]
        whose = self.settings.visitors.values() if visitor.custodian else [visitor]
        return Budget(name, session.left, session.spent, seen, session.terms.unit.tiers), {
            each.name: self._budget_of(each, name) for each in whose if name in each.budgets and each.key is not None
        }

    def _budget_of(self, visitor: Visitor, name: str) -> Budget:
        own = self._own(visitor, name)
        return Budget(name, own.left, own.spent, own.entries())

    def check(self, visitor: Visitor, name: str) -> Any:
        """Whether the ledger's account of a data set is sound: chain, sums, and where questions are filed."""
        return self._of(visitor, name).planning.account.check()

    def _of(self, visitor: Visitor, name: str) -> _Open:
        if not visitor.sees(name) or name not in self._open:
            raise Refused(403, NOT_YOURS)
        return self._open[name]

    def _own(self, visitor: Visitor, name: str) -> Any:
        own = self.ledger.account(_own_name(visitor.name, name))
        own.called = "your own budget"
        return own

    def _held(self, visitor: Visitor, name: str, *asked: Asked) -> HeldAccount:
        note = {"asked": [each.plain for each in asked]}
        return HeldAccount(self._open[name].planning.account, self._own(visitor, name), note)

    def _asked_of(self, visitor: Visitor, name: str) -> _Open:
        """A data set that the visitor may ask about."""
        opened = self._of(visitor, name)
        if name not in visitor.budgets:
            raise Refused(403, "a custodian looks on and does not ask; ask with an analyst's key, or beside the table.")
        return opened

    def _session(self, visitor: Visitor, opened: _Open, *asked: Asked) -> Session:
        """The data set's session as this visitor spends from it."""
        session = copy.copy(opened.reading)
        session.account = self._held(visitor, opened.dataset.name, *asked)
        return session

    def _planned(self, opened: _Open, asked: Asked) -> Plan:
        """A plan, designed and proved; what cannot be asked is refused here, before anything is charged."""
        if known := opened.plans.get(asked.text):
            return known
        try:
            arguments = arguments_of(asked, self.settings.most_keys)
            plan: Plan = opened.connected(lambda: opened.plan(asked.name, arguments))
            describe(plan.question, plan.dataset)  # designed and proved, which may take long
        except UtmostError:
            raise
        except NONSENSE as problem:
            raise InvalidInput(
                f"{asked.name} cannot be asked with {shown(asked.text)} ({type(problem).__name__}); look at its "
                "arguments once more."
            ) from None
        return _kept(opened.plans, asked.text, plan)


def _kept(memory: OrderedDict[str, Kept], text: str, found: Kept) -> Kept:
    """Keep what was found, and forget what has been there longest."""
    memory[text] = found
    while len(memory) > MOST_PLANS:
        memory.popitem(last=False)
    return found


def _errors_near(question: Question) -> list[tuple[Level, float]]:
    if question.accuracy.average is None:  # it depends on rows that nobody expects
        return []
    found, until = [(question.privacy, question.average)], time.monotonic() + 0.5
    for factor in ("2", "1/2", "4", "1/4", "8", "1/8"):
        if time.monotonic() > until:
            break
        level = _stronger(question.privacy, Fraction(factor))
        if level is not None:
            with suppress(UtmostError):  # a level that no mechanism is made for
                found.append((level, question.at(level).average))
    return sorted(found, key=lambda each: strength(each[0]))


def strength(level: Level) -> float:
    """The number that a level is known by: its epsilon, mu or rho."""
    name = "mu" if isinstance(level, GaussianDP | ApproxGaussianDP) else "rho" if isinstance(level, ZCDP) else "epsilon"
    return float(getattr(level, name))


def _stronger(level: Level, factor: Fraction) -> Level | None:
    """A level of the same kind with so many times its epsilon, mu or rho."""
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
    """The account of a visitor at a data set; names have no spaces, so no data set is called so."""
    return f"{visitor} at {dataset}"


def _is_batch(entry: Entry) -> bool:
    return isinstance(entry.question, dict) and "batch" in entry.question
