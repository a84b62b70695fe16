"""A table, a budget, and questions: the way from private rows to a private answer.

What happens to a question: it is checked and designed from public parameters (schema, unit, ranges, loss, prior,
level); its spend is reserved in the ledger, durably; the engine computes an integer; a certified mechanism draws; the
answer is recorded. Everything that can fail for a public reason fails before the spend. After it, one fixed sentence.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar

from utmost.accounting import Account, Entry, Ledger, Schedule
from utmost.accounting.entries import Left, Spent
from utmost.errors import InvalidInput, shown
from utmost.exact import Number, as_rational
from utmost.privacy import ApproxDP, GaussianDP, Level, PureDP, as_level
from utmost.release.accuracy import average
from utmost.release.answer import Answer, Plan, describe, make_answer, make_plan
from utmost.release.budget import Budget
from utmost.release.engines import open_table
from utmost.release.histograms import histogram
from utmost.release.quantiles import quantile
from utmost.release.questions import Question, Setting, as_releasable, count, majority, mean, threshold, total
from utmost.release.several_counts import counts
from utmost.release.statistics import require_id
from utmost.release.units import Of, Unit, require_neighbours
from utmost.release.winners import plurality

Made = TypeVar("Made", bound="Plan | Answer")
TRIED = tuple(float(f"{d}e{e}") for e in range(-6, 0) for d in range(100, 1000) if (e, d) <= (-1, 500))
"""The levels `smallest_privacy` tries: numbers of three digits from 0.0001 to 50."""
A_BATCH = "give a list of plans, such as [s.plan.count('age >= 65', privacy=0.1), ...]."


class Questions(Generic[Made]):
    """The questions one can ask, each with the same arguments in `session` and in `session.plan`.

    Parameters
    ----------
    where : SQL such as "age >= 65", an Ibis condition, or a function of the Ibis table; None takes every row
    privacy : what the answer may spend; a number is an epsilon; yes or no, winners and quantiles also take an
        ApproxDP with a delta or a GaussianDP
    of : "rows", or "people" where the unit is um.people(...)
    loss : what the mechanism is best for: "absolute", "squared", "zero-one" or "within k", unless a question says
        otherwise
    prior : a probability for each possible result, in increasing order; None is uniform
    fresh : True draws again (and spends again) although the identical question was answered before; otherwise the
        recorded answer comes back, with `recorded` True
    """

    setting: Setting

    def _take(self, question: Question, fresh: bool) -> Made:
        raise NotImplementedError

    def _level(self, privacy: Any) -> Any:
        return privacy

    def count(
        self,
        where: Any = None,
        privacy: Any = None,
        *,
        of: Of = "rows",
        loss: str = "absolute",
        prior: Any = None,
        fresh: bool = False,
    ) -> Made:
        """How many rows (or people with such a row) there are of which a condition is true."""
        return self._take(count(self.setting, where, self._level(privacy), of, loss, prior), fresh)

    def sum(
        self,
        column: str,
        lower: Number,
        upper: Number,
        privacy: Any = None,
        *,
        grid: Number = 1,
        where: Any = None,
        loss: str = "absolute",
        prior: Any = None,
        fresh: bool = False,
    ) -> Made:
        """The sum of a column, its values clamped to lower..upper and rounded to the grid; nulls take no part.

        The range is public and must not be read off the table: it says how far one row can move the sum.

        Parameters
        ----------
        column : a column of numbers, or of text that is read as numbers
        lower, upper : multiples of the grid
        grid : the step that values are rounded to
        loss : "within k" means within k *steps of the grid*
        """
        return self._take(
            total(self.setting, column, lower, upper, grid, where, self._level(privacy), loss, prior), fresh
        )

    def mean(
        self,
        column: str,
        lower: Number,
        upper: Number,
        privacy: Any = None,
        *,
        grid: Number = 1,
        where: Any = None,
        loss: str = "absolute",
        fresh: bool = False,
    ) -> Made:
        """The mean of a column, its values clamped to lower..upper: from a sum and a count that share the epsilon.

        Parameters
        ----------
        column, lower, upper, grid : as for a sum; lower and upper must differ
        loss : "absolute" or "squared"
        """
        return self._take(mean(self.setting, column, lower, upper, grid, where, self._level(privacy), loss), fresh)

    def majority(
        self, where: Any, privacy: Any = None, *, loss: str = "zero-one", prior: Any = None, fresh: bool = False
    ) -> Made:
        """Whether a condition is true of more rows than it is false of; where it is unknown, a row does not vote.

        Parameters
        ----------
        where : a condition; required
        loss : "zero-one"
        prior : a probability for each possible difference, yes less no
        """
        return self._take(majority(self.setting, where, self._level(privacy), loss, prior), fresh)

    def threshold(
        self,
        where: Any,
        at_least: int,
        privacy: Any = None,
        *,
        of: Of = "rows",
        loss: str = "zero-one",
        prior: Any = None,
        fresh: bool = False,
    ) -> Made:
        """Whether a condition is true of at least so many rows (or people).

        Parameters
        ----------
        at_least : a whole number from 1 to the most there can be
        loss : "zero-one"
        prior : a probability for each possible count
        """
        return self._take(threshold(self.setting, where, at_least, self._level(privacy), of, loss, prior), fresh)

    def counts(
        self,
        conditions: Any,
        privacy: Any = None,
        *,
        of: Of = "rows",
        loss: str = "absolute",
        fresh: bool = False,
    ) -> Made:
        """How many rows (or people) have each of several conditions, which may overlap; the answer is a dict.

        All counts together spend `privacy`, and are more accurate than if each was asked with its share.

        Parameters
        ----------
        conditions : a list of conditions, or a mapping {name: condition}
        loss : of one count, averaged over them; "zero-one" asks for all of them to be right at once
        """
        return self._take(counts(self.setting, conditions, self._level(privacy), of, loss), fresh)

    def histogram(
        self,
        column: Any,
        categories: Any,
        privacy: Any = None,
        *,
        other: str | None = None,
        where: Any = None,
        of: Of = "rows",
        loss: str = "absolute",
        fresh: bool = False,
    ) -> Made:
        """How many rows (or people) each category of one or two columns has; the answer is a dict.

        Parameters
        ----------
        column : a column, or a list of two
        categories : a public list of its values, or a list of two such lists; never read off the table
        other : a name under which all other values are counted, null included; None drops them
        loss : of one cell, averaged over them
        """
        return self._take(
            histogram(self.setting, column, categories, self._level(privacy), other, where, of, loss), fresh
        )

    def plurality(
        self,
        column: str,
        candidates: Any,
        privacy: Any = None,
        *,
        where: Any = None,
        of: Of = "rows",
        loss: str = "zero-one",
        prior: Any = None,
        fresh: bool = False,
    ) -> Made:
        """Which of the candidates most rows name; their order is public and breaks ties; other values do not vote.

        Parameters
        ----------
        column : whose value is a row's vote
        candidates : 2 to 100 public values of the column
        loss : "zero-one", or "shortfall": by how many votes the named one is behind the winner
        prior : {tally: probability}, a tally being a tuple of votes; None is uniform over all tallies
        """
        return self._take(
            plurality(self.setting, column, candidates, self._level(privacy), where, of, loss, prior), fresh
        )

    def quantile(
        self,
        column: str,
        q: Number,
        candidates: Any,
        privacy: Any = None,
        *,
        where: Any = None,
        of: Of = "rows",
        loss: str = "absolute",
        prior: Any = None,
        fresh: bool = False,
    ) -> Made:
        """Which candidate is the q-quantile of a column (q = 0.5: the median), values rounded to the nearest candidate.

        Parameters
        ----------
        column : a column of numbers, or of text that is read as numbers
        q : a share between 0 and 1
        candidates : public numbers in increasing order, such as range(0, 101, 5)
        loss : "absolute": how far the named value is from the quantile; "zero-one"; "rank": how many rows it is off
        prior : {tally: probability}, a tally being the rows at each candidate; None is uniform over all tallies
        """
        return self._take(
            quantile(self.setting, column, q, candidates, self._level(privacy), where, of, loss, prior), fresh
        )


class Session(Questions[Answer]):
    """A table with its budget.

    Parameters
    ----------
    table : path of a CSV or Parquet file, "file.duckdb#table", "postgresql://user@host/database#table", a pandas,
        polars or pyarrow frame, or an Ibis table
    dataset : the name of its account in the ledger; the same people under two names are protected twice as little
    unit : um.rows(at_most=...) or um.people(id, rows_each=..., at_most=...): whose data are protected, and how many
    neighbours : "replace" or "add-remove"; no default, because the promise differs
    budget : what all answers together may spend: PureDP, ApproxDP, GaussianDP, or a number (an epsilon)
    ledger : a file name, "postgresql://...", a Ledger, or None: in memory, and every report says so
    types : how to read columns of text, such as {"age": int}; what cannot be read is null

    Examples
    --------
    >>> import pyarrow, utmost as um
    >>> table = pyarrow.table({"age": [70, 25, 80, 41] * 25})
    >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=1, ledger=None)
    >>> print(s.plan.count("age >= 65", privacy=0.5))
    plan: How many rows have age >= 65?
      privacy: 0.5-DP, add-remove, rows, at most 120
      mechanism: geometric noise with the best remap
      optimal: theorem (gap 0): Ghosh, Roughgarden, Sundararajan 2012: best for every prior and every loss that grows
      accuracy before: expected absolute error 1.873 on average, 1.919 at worst
      absolute loss: Utmost 1.873, Laplace 1.938, geometric 1.879, Gaussian, delta = 1e-06 6.13
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
        source = open_table(table, types)
        require_id(source, unit.id)
        self.setting = Setting(source, unit, kind)
        self.ledger = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
        self.account: Account = self.ledger.open(dataset, budget, str(unit), kind)

    @property
    def dataset(self) -> str:
        """The name of the account."""
        return self.account.dataset

    @property
    def table(self) -> Any:
        """The Ibis table, to build conditions from: `s.count(s.table.age >= 65, ...)`."""
        return self.setting.source.table

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
        return Budget(self.dataset, self.left, self.spent, self.account.entries())

    @cached_property
    def plan(self) -> Planner:
        """The same questions, planned: expected accuracy, mechanism and spend, with nothing read and nothing spent."""
        return Planner(self)

    def smallest_privacy(self, question: Plan, accuracy: Number) -> Level:
        """The smallest epsilon, to three digits, whose expected loss under the prior is at most `accuracy`.

        A plan with a delta keeps it; for a plan at a Gaussian level it is the smallest mu. Nothing below 0.0001 is
        tried: where that suffices, it is the answer.

        Parameters
        ----------
        question : a plan, at any level, such as s.plan.count("age >= 65", privacy=1)
        accuracy : the expected loss you can live with, in the unit of the answer; for yes or no, a probability of error

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> s = um.Session(pyarrow.table({"age": [70]}), "survey", um.rows(at_most=500), "replace", budget=1)
        >>> s.smallest_privacy(s.plan.count("age >= 65", privacy=1), accuracy=5)
        PureDP(0.196)
        """
        if not isinstance(question, Plan):
            raise InvalidInput(
                f"the question is {shown(question)}; give a plan, such as "
                "s.smallest_privacy(s.plan.count('age >= 65', privacy=1), accuracy=5)."
            )
        wanted = as_rational(accuracy, "accuracy")
        if wanted <= 0:
            raise InvalidInput(
                f"accuracy is {shown(accuracy)}; give an expected loss above 0: only epsilon = infinity has none."
            )

        def suffices(epsilon: float) -> bool:
            return average(question.question.again(_with_epsilon(question.privacy, epsilon))) <= wanted

        low, high = -1, len(TRIED)  # the least that suffices lies above low, and at or below high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if suffices(TRIED[middle]) else (middle, high)
        if high == len(TRIED):
            raise InvalidInput(
                f"no epsilon (or mu) up to {TRIED[-1]:g} has an expected loss of {float(wanted):g}; ask for less "
                "accuracy."
            )
        return _with_epsilon(question.privacy, TRIED[high])

    def batch(self, plans: Sequence[Plan], delta: Number | None = None, *, fresh: bool = False) -> list[Answer]:
        """Answers to several questions that are declared together, before any of them is answered.

        With an (epsilon, delta) budget and a `delta` for the whole batch they cost what exact composition says at that
        delta (LIM Theorem 2.4.3), often much less than the sum; otherwise the sum.

        Parameters
        ----------
        plans : made by `session.plan`, such as [s.plan.count("age >= 65", privacy=0.1), s.plan.majority(...)]
        delta : what the whole batch takes of the budget's delta; None charges the sum
        fresh : True draws again (and spends again) although the identical batch was answered before

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=um.ApproxDP(3, 1e-5))
        >>> plans = [s.plan.count(f"age >= {age}", privacy=0.05) for age in range(1, 101)]
        >>> answers = s.batch(plans, delta=1e-6)
        >>> len(answers), str(s.left)                          # the sum would have been 5
        (100, 'epsilon 0.792467 of 3, delta 9e-06 of 1e-05')
        """
        if not isinstance(plans, Sequence) or isinstance(plans, str) or not plans:
            raise InvalidInput(f"the batch is {shown(plans)}; {A_BATCH}")
        odd = [plan for plan in plans if not isinstance(plan, Plan)]
        if odd:
            raise InvalidInput(f"the batch holds {shown(odd[0])}, not a plan; {A_BATCH}")
        asked = [plan.question for plan in plans]
        if any(question.setting is not self.setting for question in asked):
            raise InvalidInput("a plan of the batch was made by another session; plan it with this one.")
        statements = [question.statement(self.account.secret) for question in asked]
        described = [describe(question, self.dataset) for question in asked]
        public = {
            "batch": [{"privacy": str(q.level), **q.identity} for q in asked],
            "delta": None if delta is None else str(delta),
        }
        known = None if _require_fresh(fresh) else self.account.find(public)
        if known is not None:
            entry = known
        else:
            with self.account.reserve_batch([question.level for question in asked], public, delta) as reserved:
                released = [question.release(s) for question, s in zip(asked, statements, strict=True)]
                entry = reserved.complete(released)
        state = self._state(entry)
        return [
            make_answer(question, public_part, released, state, recorded=known is not None)
            for question, public_part, released in zip(asked, described, entry.answer, strict=True)
        ]

    def schedule(self, privacy: Any, slots: int, delta: Number | None = None) -> Scheduled:
        """So many questions of one level, charged now and asked later, whatever earlier answers suggest.

        The level is fixed in advance, so exact composition holds although the questions are not. What comes back asks
        like a session; every question takes one slot, and its level is the schedule's.

        Parameters
        ----------
        privacy : the level of every question
        slots : how many questions; those that are not asked stay charged
        delta : what the whole schedule takes of the budget's delta; None charges the sum

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
        level = as_releasable(privacy)
        return Scheduled(self, level, self.account.reserve_schedule(level, slots, {"question": "schedule"}, delta))

    def _take(self, question: Question, fresh: bool) -> Answer:
        again = _require_fresh(fresh)
        drawn: list[dict[str, Any]] = []
        statement = question.statement(self.account.secret)  # before the spend: what fails here is public
        described = describe(question, self.dataset)

        def draw() -> dict[str, Any]:
            drawn.append(question.release(statement))
            return drawn[0]

        entry = self.account.ask(question.level, question.identity, draw, fresh=again)
        return make_answer(question, described, entry.answer, self._state(entry), recorded=not drawn)

    def _state(self, entry: Entry) -> dict[str, Any]:
        return {
            "entry": entry.number,
            "time": entry.time,
            "spent": str(self.account.spent),
            "left": str(self.account.left),
            "head": entry.head,
            "kept": self.ledger.kept,
        }

    def _repr_html_(self) -> str:
        """The session in a notebook: whose data, who neighbours whom, and the budget; no row is looked at."""
        terms = html.escape(f"{self.setting.unit}; {self.setting.neighbours}")
        return f"<div><p>Session: {terms}</p>{self.budget._repr_html_()}</div>"

    def __repr__(self) -> str:
        return f"Session on {self.dataset!r} ({self.setting.unit}, {self.setting.neighbours}): {self.left} left"


def _require_fresh(fresh: Any) -> bool:
    """Whether to draw, and charge, again: nothing but True and False say so."""
    if not isinstance(fresh, bool):
        raise InvalidInput(f"fresh is {shown(fresh)}; say True to draw and spend again, or leave it out.")
    return fresh


def _with_epsilon(level: Level, epsilon: float) -> Level:
    """A level of the same kind with another epsilon, or mu."""
    if isinstance(level, GaussianDP):
        return GaussianDP(epsilon)
    if isinstance(level, ApproxDP) and level.delta > 0:
        return ApproxDP(epsilon, level.delta)
    return PureDP(epsilon)


class Planner(Questions[Plan]):
    """`session.plan`: what answers would be like."""

    def __init__(self, session: Session) -> None:
        self.session, self.setting = session, session.setting

    def _take(self, question: Question, fresh: bool) -> Plan:
        _require_fresh(fresh)
        return make_plan(question, self.session.dataset, str(self.session.left))


class Scheduled(Questions[Answer]):
    """`session.schedule(...)`: questions that take one slot each; leave `privacy` out."""

    def __init__(self, session: Session, level: Level, slots: Schedule) -> None:
        self.session, self.setting, self.privacy, self._slots = session, session.setting, level, slots

    @property
    def left(self) -> int:
        """How many slots are left."""
        return self._slots.left

    def _level(self, privacy: Any) -> Any:
        if privacy is not None and as_level(privacy) != self.privacy:
            raise InvalidInput(f"the schedule's level is {self.privacy}; leave privacy out, or ask the session itself.")
        return self.privacy

    def _take(self, question: Question, fresh: bool) -> Answer:
        session = self.session
        _require_fresh(fresh)
        statement = question.statement(session.account.secret)
        described = describe(question, session.dataset)
        with self._slots.slot(question.identity) as slot:
            released = question.release(statement)
            entry = slot.complete(released)
        return make_answer(question, described, released, session._state(entry))
