"""Sessions: a table with its budget, of which questions are asked (`release` shows how they are answered)."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from utmost.accounting import Account, Ledger, Schedule
from utmost.accounting.account import Left, Spent
from utmost.backends.embedded import Engine
from utmost.backends.opening import open_table
from utmost.errors import InvalidInput, shown
from utmost.exact import Number
from utmost.privacy import Level, as_level
from utmost.queries.answers import Answer, Plan
from utmost.queries.arguments import Privacy
from utmost.queries.budget import Budget
from utmost.queries.budgeted_queries import BudgetedQueries, require_fresh
from utmost.queries.contributions import require_id
from utmost.queries.methods import QueryMethods
from utmost.queries.predicate import as_where
from utmost.queries.predicate.python import Row
from utmost.queries.public_tables import with_public
from utmost.queries.questions import Question, Terms
from utmost.queries.questions.question import require_releasable
from utmost.queries.release import release, release_in_slot, release_together
from utmost.queries.table_fingerprint import mark_of
from utmost.queries.units import Unit, require_neighbours
from utmost.solution.card import card


class Session(BudgetedQueries):
    """A table with its budget, of which questions are asked.

    Parameters
    ----------
    table : path, str, frame or Ibis table
        The path of a CSV or Parquet file, "file.duckdb#table", "postgresql://user@host/database#table",
        "sc://host:15002#database.table", a pandas, polars or pyarrow frame, a DataFrame of Spark, or an Ibis table.
    dataset : str
        The name of its account in the ledger. The budgets of two names for the same people add up.
    unit : Unit
        The privacy unit: um.rows(at_most=...) or um.people(id, rows_each=..., at_most=...); or
        um.rows(at_most=..., tiers=...) where some rows are promised more than others.
    neighbours : {"replace", "add-remove"}
        The adjacency; there is no default, because the promise differs.
    budget : level or number
        What all answers together may spend: PureDP, ApproxDP, ZCDP, GaussianDP or ApproxGaussianDP, or a number, which
        is an epsilon.
    ledger : path, str or Ledger, optional
        A file name, "postgresql://...", or a Ledger. Without it the account is in memory, and every report says so.
    types : mapping of str to type, optional
        How to cast columns of text, such as {"age": int}; text that cannot be cast is null.
    engine : Engine, optional
        Settings of DuckDB for files and frames: um.engine(memory="4GB", threads=4, spill="folder").

    Examples
    --------
    >>> import pyarrow, utmost as um
    >>> table = pyarrow.table({"age": [70, 25, 80, 41] * 25})
    >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=1, ledger=None)
    >>> print(s.plan.count("age >= 65", privacy=0.5))
    plan: How many rows have age >= 65, as the best guess under a uniform prior?
      privacy: 0.5-DP, add-remove, rows, at most 120
      mechanism: geometric noise with the best remap
      optimal: theorem: Ghosh, Roughgarden, Sundararajan 2012: best for every prior and every loss that grows (gap 0)
      expected error: 1.87 on average, 1.92 at worst
      absolute loss: Utmost 1.87, Laplace 1.94, geometric 1.88, Gaussian, delta = 1e-06 6.13
      note: the answer errs least, and is not unbiased; unbiased=True gives the noisy number, whose error has mean 0
      ledger: epsilon 1 of 1 left
      nothing was read, nothing is spent
    >>> answer = s.count("age >= 65", privacy=0.5)
    >>> 0 <= answer.value <= 120, str(s.left)
    (True, 'epsilon 0.5 of 1')
    """

    def __init__(
        self,
        table: Any,
        dataset: str,
        unit: Unit,
        neighbours: Any = None,
        budget: Any = None,
        ledger: Any = None,
        types: Mapping[str, Any] | None = None,
        engine: Engine | None = None,
    ) -> None:
        if not isinstance(unit, Unit):
            raise InvalidInput(
                f"unit is {shown(unit)}; say whose data are protected: um.rows(at_most=...) or um.people(id, "
                "rows_each=..., at_most=...)."
            )
        if budget is None:
            raise InvalidInput("say what all answers together may spend, such as budget=1: there is no default.")
        kind = require_neighbours(neighbours)
        if types is not None and not isinstance(types, Mapping):
            raise InvalidInput(f"types is {shown(types)}; say how to read columns of text, such as {{'age': int}}.")
        self.source = open_table(table, types, engine)
        require_id(self.source, unit.id)
        unit = unit.within(as_level(budget)) if unit.tiers else unit
        for tier in unit.tiers:
            as_where(tier.where, self.source)
        self.terms = Terms(unit, kind, self.source.fixed_rows)
        self.ledger = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
        mark = mark_of(table, self.source)
        self.account: Account = self.ledger.open(dataset, budget, self.terms.unit_in_words, kind, table=mark)

    @property
    def dataset(self) -> str:
        """The name of the account."""
        return self.account.dataset

    @property
    def table(self) -> Row:
        """The columns, for writing conditions: `s.count(s.table.age >= 65, ...)`; nothing is read."""
        return Row(self.source.columns)

    @property
    def left(self) -> Left:
        """What is left of the budget."""
        return self.account.left

    @property
    def spent(self) -> Spent:
        """What has been spent."""
        return self.account.spent

    @property
    def budget(self) -> Budget:
        """What is left and what was spent on what: as text, as HTML in a notebook, and `.picture()` as SVG."""
        return Budget(self.dataset, self.left, self.spent, self.account.entries(), self.terms.unit.tiers)

    @cached_property
    def plan(self) -> Planner:
        """The same questions, planned: expected accuracy, mechanism and spend, with nothing read and nothing spent."""
        return Planner(self)

    def with_public(self, frame: Any, on: str) -> Session:
        """The session with the columns of a public table added: a left join on a unique key.

        Conditions, keys, sums and everything else may use them. Every row of the table stays exactly one row, whether
        its key is listed or not, so sensitivities do not change. The account is the same.

        Parameters
        ----------
        frame : pandas, polars or pyarrow frame
            A public table; columns of text, numbers, truth values or dates.
        on : str
            The column that both tables have. Its values in the public table are unique and not null; rows whose value
            is not listed have null in the new columns.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"town": ["Ash", "Briar", "Cole"] * 40})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=1)
        >>> towns = pyarrow.table({"town": ["Ash", "Briar"], "region": ["north", "south"]})
        >>> s.with_public(towns, on="town").plan.count("region = 'north'", privacy=1).question.words
        "How many rows have region = 'north', as the best guess under a uniform prior?"
        """
        session = copy.copy(self)
        session.__dict__.pop("plan", None)  # which belongs to the table without these columns
        session.source = with_public(self.source, frame, on)
        return session

    def _batch(self, plans: Sequence[Plan], delta: Number | None, fresh: bool) -> list[Answer]:
        return release_together(self, [plan.question for plan in plans], delta, fresh)

    def schedule(self, privacy: Any, slots: int, delta: Number | None = None) -> Scheduled:
        """Charge a number of questions at one level now, and ask them later, depending on earlier answers.

        The levels are fixed in advance, so exact composition holds although the questions are not fixed. The result is
        asked like a session; every question takes one slot, and its level is the schedule's.

        Parameters
        ----------
        privacy : level or number
            The level of every question.
        slots : int
            The number of questions; those that are not asked stay charged.
        delta : number, optional
            What the whole schedule takes of the budget's delta; None charges the sum.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=um.ApproxDP(3, 1e-5))
        >>> exploring = s.schedule(0.05, slots=100, delta=1e-6)
        >>> _ = exploring.count("age >= 65")
        >>> exploring.left, str(s.left)
        (99, 'epsilon 0.792467 of 3, delta 9e-06 of 1e-05')
        """
        level = require_releasable(as_level(privacy))
        return Scheduled(self, level, self.account.reserve_schedule(level, slots, {"question": "schedule"}, delta))

    def ask(self, question: Question, fresh: bool) -> Answer:
        """Answer a question: see `release`."""
        return release(self, question, require_fresh(fresh))

    def identity(self, question: Question) -> dict[str, Any]:
        """Everything that defines a query of this table, as plain data, by which the ledger recognises it."""
        unit = self.terms.unit_in_words
        bounds = {} if unit == self.account.unit else {"unit": unit}  # other contribution bounds ask something else
        return {**question.identity, **bounds, "table": self.source.fingerprint}

    def _repr_html_(self) -> str:
        """The session in a notebook: privacy unit, adjacency and budget; no row is read."""
        return card(f"Session: {self.terms.unit}; {self.terms.neighbours}", self.budget._repr_html_())

    def __repr__(self) -> str:
        return f"Session on {self.dataset!r} ({self.terms.unit}, {self.terms.neighbours}): {self.left} left"


class Planner(QueryMethods[Plan]):
    """`session.plan`: questions that are planned and not answered."""

    def __init__(self, session: Session) -> None:
        self.session, self.source, self.terms = session, session.source, session.terms

    def ask(self, question: Question, fresh: bool) -> Plan:
        """Plan a question: nothing is read, and the same questions are refused as when asking."""
        require_fresh(fresh)
        question.statement(self.source, self.session.account.secret)
        account = self.session.account
        return Plan(question, self.session.dataset, str(account.left), self.source, other_table=account.other_table)


class Scheduled(QueryMethods[Answer]):
    """`session.schedule(...)`: questions that take one slot each; leave `privacy` out."""

    def __init__(self, session: Session, level: Level, slots: Schedule) -> None:
        self.session, self.source, self.terms = session, session.source, session.terms
        self.privacy, self._slots = level, slots

    @property
    def left(self) -> int:
        """How many slots are left."""
        return self._slots.left

    def _level(self, privacy: Privacy) -> Privacy:
        """The level of the schedule, which a question may repeat."""
        if privacy is not None and as_level(privacy) != self.privacy:
            raise InvalidInput(f"the schedule's level is {self.privacy}; leave privacy out, or ask the session itself.")
        return self.privacy

    def ask(self, question: Question, fresh: bool) -> Answer:
        """Answer a question in the next slot."""
        require_fresh(fresh)
        return release_in_slot(self.session, question, self._slots)
