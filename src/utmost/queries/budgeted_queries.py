"""The methods of whatever answers queries from a budget: a session, and a server's client.

All of them are computed from plans, from what is left of the budget, and from answers, never from the table.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from utmost.accounting import Price
from utmost.accounting.account import Left
from utmost.errors import InvalidInput, shown
from utmost.exact import Number, as_rational
from utmost.privacy import Level
from utmost.queries.allotment import Allotment, allot, price
from utmost.queries.answers import Answer, Plan
from utmost.queries.arguments import Condition, Privacy
from utmost.queries.cut_offs import CutOffs, suggest_bounds
from utmost.queries.least_level import TRIED, least_that_suffices, with_epsilon
from utmost.queries.methods import QueryMethods
from utmost.queries.questions.question import require_reachable
from utmost.queries.questions.rows_per_person import DEFAULT_LARGEST
from utmost.queries.rows_suggestion import RowsEach, suggest_rows

A_BATCH = "give a list of plans, such as [s.plan.count('age >= 65', privacy=0.1), ...]."


class BudgetedQueries(QueryMethods[Answer]):
    """Queries that are answered from a budget: batches, prices, and levels for a target error."""

    @property
    @abstractmethod
    def plan(self) -> QueryMethods[Plan]:
        """The same methods, which plan: nothing is read and nothing spent."""

    @property
    @abstractmethod
    def left(self) -> Left:
        """What is left of the budget."""

    def batch(self, plans: Sequence[Plan], delta: Number | None = None, *, fresh: bool = False) -> list[Answer]:
        """Answers to several questions that are declared together, before any of them is answered.

        With an (epsilon, delta) budget and a `delta` for the whole batch they cost what exact composition says at that
        delta (LIM Theorem 2.4.3), often much less than the sum; otherwise the sum.

        Parameters
        ----------
        plans : sequence of Plan
            Made by `session.plan`, such as [s.plan.count("age >= 65", privacy=0.1), s.plan.majority(...)].
        delta : number, optional
            What the whole batch takes of the budget's delta; None charges the sum.
        fresh : bool
            True draws again (and spends again) although the identical batch was answered before.

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
        if any(plan.source is not self.source for plan in plans):
            raise InvalidInput("a plan of the batch was made by another session; plan it with this one.")
        return self._batch(plans, delta, require_fresh(fresh))

    @abstractmethod
    def _batch(self, plans: Sequence[Plan], delta: Number | None, fresh: bool) -> list[Answer]:
        """The answers to plans of this table."""

    def smallest_privacy(self, question: Plan, accuracy: Number) -> Level:
        """The smallest epsilon, to three digits, whose expected loss under the prior is at most `accuracy`.

        A plan with a delta keeps it; of a Gaussian level it is the smallest mu, of a ZCDP level the smallest rho.
        Nothing below 0.0001 is tried: where that suffices, it is the answer.

        Parameters
        ----------
        question : Plan
            A plan at any level, such as s.plan.count("age >= 65", privacy=1).
        accuracy : number
            The expected loss you can accept, in the unit of the answer; for yes or no, a probability of error.

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
        target = as_rational(accuracy, "accuracy")
        if target <= 0:
            raise InvalidInput(
                f"accuracy is {shown(accuracy)}; give an expected loss above 0: only epsilon = infinity has none."
            )

        require_reachable(question.question, target, "accuracy")

        def loss(epsilon: float) -> float:
            return float(question.question.at(with_epsilon(question.privacy, epsilon)).average)

        high = least_that_suffices(loss, target)
        if high == len(TRIED):
            raise InvalidInput(
                f"no epsilon (or mu) up to {TRIED[-1]:g} has an expected loss of {float(target):g}; ask for less "
                "accuracy."
            )
        return with_epsilon(question.privacy, TRIED[high])

    def price(self, plans: Sequence[Plan], delta: Number | None = None) -> Price:
        """The cost of several plans if they are asked together, under the cheapest valid accounting.

        Levels that are fixed before any answer may be composed by their sum, exactly, as zCDP or as Gaussian DP: each
        is a true bound, so the least may be charged. `batch(plans, price.delta)` charges it.

        Parameters
        ----------
        plans : list of Plan
            Made by `session.plan`, each with its level.
        delta : number, optional
            How much of an (epsilon, delta) budget's delta they may use; all that is left without it.

        Returns
        -------
        Price
            `cost` by resource, `accounting`, `compared` (the price under the other ways of counting), and `fits`:
            whether what is left of the budget pays for it.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=um.ApproxDP(3, 1e-6))
        >>> print(s.price([s.plan.count(f"age >= {age}", privacy=0.1) for age in range(30)]))
        epsilon 2.34589, delta 1e-06 (exact; sum 3)
        """
        return price(self, plans, delta)

    def allot(
        self,
        targets: Mapping[Plan, Number | tuple[Number, Number | None]],
        level: Number | None = 0.95,
        budget: Privacy = None,
        delta: Number | None = None,
    ) -> Allotment:
        """Allocate levels of least total cost to questions with target errors; or equal relative errors to a budget.

        For every question the least level that meets its target is searched, for each kind of noise the budget can pay
        for (geometric, Gaussian, discrete Gaussian); then the kinds are chosen for which the whole batch costs least.
        Nothing is read or spent until `.ask()`.

        Parameters
        ----------
        targets : mapping {plan: error}
            The error you can live with, in the unit of the answer, for each plan; at which level a plan was made does
            not matter. A pair (error, probability) has a probability of its own; (loss, None) is an expected loss,
            which is what choices and means take: for yes or no, the probability of a wrong answer.
        level : number or None
            With which probability an answer is off by at most its error, under the prior of the question; of several
            numbers, each of them on average. None: errors are expected losses.
        budget : level or number, optional
            The other way round: what all questions together may spend, such as a part of the account's budget. Then the
            targets say what errors are relative to, such as the numbers you expect, and all errors are the same
            fraction of them, the least that this budget pays for; `.targets` says how large they are.
        delta : number, optional
            How much of an (epsilon, delta) budget's delta they may use; all that is left without it.

        Returns
        -------
        Allotment
            `.plans` at their levels, `.price`, and `.ask()`, which answers them as one batch.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=20_000), "add-remove", budget=1)
        >>> old, young = (s.plan.count(w, privacy=1, unbiased=True) for w in ("age >= 65", "age < 20"))
        >>> print(s.allot({old: 10, young: 50}))
        allotment of 2: epsilon 0.34372 (sum)
          0.2844-DP  How many rows have age >= 65, as an unbiased number?  within 10 with 0.95
          0.05932-DP  How many rows have age < 20, as an unbiased number?  within 50 with 0.95
        >>> most = s.plan.majority("age >= 65", privacy=1)
        >>> print(s.allot({old: (4, None), most: (0.01, None)}))             # expected losses: rows, and Pr[wrong]
        allotment of 2: epsilon 0.25 (sum)
          0.2475-DP  How many rows have age >= 65, as an unbiased number?  expected loss 4
          0.0025-DP  Do more rows have age >= 65 than not?  expected loss 0.01
        >>> even = s.allot({old: 10, young: 50}, budget=0.5)
        >>> print(even.price, "|", even.targets[0], "|", even.targets[1])
        epsilon 0.48127 (sum) | within 7.00342 with 0.95 | within 35.0171 with 0.95
        >>> len(even.ask()), str(s.left)
        (2, 'epsilon 0.51873 of 1')
        """
        return allot(self, targets, level, budget, delta)

    def suggest_bounds(
        self,
        column: str,
        privacy: Privacy = None,
        *,
        share: Number = "0.01",
        smallest: Number = 1,
        largest: Number = 10**6,
        where: Condition = None,
        fresh: bool = False,
    ) -> CutOffs:
        """Clamping bounds for a column, estimated privately: for `lower` and `upper` of a sum, a mean, a variance.

        Asked, and charged together, are two quantiles among the points of a public grid (0, 1, 2, 5, 10, 20, 50, ... on
        both sides), and where the unit is a person, the share of people who lose rows by truncation. Each is an answer
        with its own proof. The bounds are one step of the grid outside of the quantiles.

        Parameters
        ----------
        column : str
            The column whose values are to be clamped.
        privacy : level or number
            What the answers together may spend: halves for the two quantiles; for people 2/5, 2/5 and 1/5.
        share : number
            The part of rows that may lie beyond each end: 0.01 asks for the 1 % and the 99 % quantile.
        smallest, largest : numbers
            Where the grid begins beside 0, and ends; public. For incomes, 100 and 10 million.
        where : condition, optional
            Only rows with this condition are used.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        CutOffs
            `.lower` and `.upper`, `.share_above` and `.answers`.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"hours": [30, 38, 40, 41, 60] * 20_000})
        >>> s = um.Session(table, "work", um.rows(at_most=150_000), "add-remove", budget=2)
        >>> found = s.suggest_bounds("hours", privacy=1)
        >>> found.lower, found.upper, all(answer.verify() for answer in found.answers)
        (10, 100, True)
        """
        return suggest_bounds(self, column, privacy, share, smallest, largest, where, fresh)

    def suggest_rows_each(
        self,
        privacy: Privacy = None,
        *,
        where: Condition = None,
        largest: int = DEFAULT_LARGEST,
        asked_at: Privacy = None,
        fresh: bool = False,
    ) -> RowsEach:
        """A contribution bound, estimated privately: for `rows_each` of `um.people`.

        Asked, and charged, is one question: how many people have how many rows (`rows_per_person`), all rows counted,
        whatever this session's own `rows_each` is. A small bound drops many rows, a large one needs much noise; for
        every candidate both are compared, and the one with the smallest sum is suggested. Open another session with it,
        on the same account.

        Parameters
        ----------
        privacy : level or number
            What the answer may spend.
        where : condition, optional
            Only rows with this condition are counted.
        largest : int
            The largest candidate, a public number: candidates are 1, 2, ..., 6, 8, 10, 12, 15, 20, ... up to it.
        asked_at : level or number, optional
            The level that answers will be asked at, which says how large their noise is; without it, `privacy`.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        RowsEach
            `.rows_each`, `.table` with dropped rows and noise of every candidate, and the `.answer` with its proof.

        Examples
        --------
        >>> import numpy, pyarrow, utmost as um
        >>> table = pyarrow.table({"who": numpy.repeat(numpy.arange(3000), [1, 2, 3, 4, 20] * 600)})
        >>> s = um.Session(table, "visits", um.people("who", rows_each=1), "add-remove", budget=2)
        >>> found = s.suggest_rows_each(privacy=1)
        >>> found.rows_each, bool(found.answer.verify()), found.table.column_names
        (20, True, ['rows_each', 'dropped_rows', 'dropped_up_to', 'noise', 'together'])
        """
        return suggest_rows(self, privacy, where, largest, asked_at, fresh)


def require_fresh(fresh: Any) -> bool:
    """Check `fresh`, whether to draw and charge again, which must be True or False."""
    if not isinstance(fresh, bool):
        raise InvalidInput(f"fresh is {shown(fresh)}; say True to draw and spend again, or leave it out.")
    return fresh
