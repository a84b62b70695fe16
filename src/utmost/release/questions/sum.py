"""The question: what does a column add up to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from utmost.exact import Number as AnyNumber
from utmost.release.arguments import Condition, Prior, Privacy
from utmost.release.discover import Discover
from utmost.release.keys import Keys
from utmost.release.options import BY, COLUMN, GRID, LOWER, UNBIASED, UPPER, WHERE
from utmost.release.questions.by import SumBy, require_nothing_else
from utmost.release.questions.discovered import SumDiscovered
from utmost.release.questions.numbers import Number
from utmost.release.questions.of_column import AddsValues
from utmost.release.questions.question import Asks, Made, asking
from utmost.space.line import Line


@dataclass(frozen=True, eq=False, kw_only=True)
class Sum(AddsValues, Number):
    """The sum of a column clamped to a range and rounded to a grid."""

    name = "sum"
    summary = "what a column adds up to"
    options: ClassVar = (COLUMN, LOWER, UPPER, GRID, WHERE, BY, UNBIASED)

    @property
    def words(self) -> str:
        return asking(f"What does {self.column} add up to, {self.cut}", self.where, self.kept, self.told)

    @property
    def public(self) -> dict[str, Any]:
        return {"question": self.name, **self.asked_of, **self.judged_by}

    @property
    def space(self) -> Line:
        return self.line(self.steps.moves(self.terms.neighbours))


class AsksSum(Asks[Made]):
    """`sum`, of a session or a plan."""

    def sum(
        self,
        column: str,
        lower: AnyNumber,
        upper: AnyNumber,
        privacy: Privacy = None,
        *,
        grid: AnyNumber = 1,
        where: Condition = None,
        loss: str = "absolute",
        prior: Prior = None,
        unbiased: bool = False,
        by: Keys | Discover | None = None,
        fresh: bool = False,
    ) -> Made:
        """The sum of a column, its values clamped to lower..upper and rounded to the grid; nulls take no part.

        Parameters
        ----------
        column : str
            A column of numbers, or of text that is read as numbers.
        lower, upper : numbers
            The public range of a value, multiples of the grid; what lies outside counts as the nearer end. It says how
            far one row can move the sum, and must not be read off the table.
        privacy : level or number
            What this answer may spend, as for `count`.
        grid : number
            The step that values are rounded to, half up. The sum is a multiple of it.
        where : condition, optional
            Only rows with this condition take part.
        loss : "absolute", "squared", "zero-one" or such as "within 5"
            What the mechanism is best for; "within k" means within k *steps of the grid*.
        prior : sequence of probabilities, optional
            How likely each possible sum is, in increasing order. Uniform without it.
        unbiased : bool
            True gives the noisy sum itself, whose error has mean 0, instead of the best guess.
        by : um.keys or um.discover, optional
            Answer once for every public key, or for every key that is shown, as for `count`; all groups together cost
            `privacy`.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"hours": [1, 5, 3, 0] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=1)
        >>> s.plan.sum("hours", 0, 5, privacy=0.5).question.words
        'What does hours add up to, values cut to 0..5, as the best guess under a uniform prior?'
        """
        asked = {"column": column, "lower": lower, "upper": upper, "grid": grid, "loss": loss}
        if by is None:
            return self.pose(Sum, privacy, where, fresh, prior=prior, unbiased=unbiased, **asked)
        require_nothing_else(prior, unbiased)
        kind = SumDiscovered if isinstance(by, Discover) else SumBy
        return self.pose(kind, privacy, where, fresh, by=by, **asked)
