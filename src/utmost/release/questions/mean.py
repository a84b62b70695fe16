"""The question: what is the mean of a column.

Two integers are released with one vector of noise: R, the sum of (value - lower), and Q, the sum of (upper - value). A
row moves them by (u, W - u), with W the width of the range: by W in all, wherever its value lies. The mean is
lower + W R / (R + Q). A sum and a count instead would pay for the row twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from utmost.exact import Number
from utmost.release.accuracy import CONFIDENCE, After, Before
from utmost.release.arguments import Condition, Privacy
from utmost.release.discover import Discover
from utmost.release.keys import Keys
from utmost.release.options import BY, COLUMN, GRID, LOWER, UPPER, WHERE
from utmost.release.questions.by import MeanBy
from utmost.release.questions.discovered import MeanDiscovered
from utmost.release.questions.numbers import Parts
from utmost.release.questions.of_column import AddsDistances
from utmost.release.questions.question import Asks, Made, asking

HOLDS = (
    "average: if every unit has a value and every mean is as likely, to first order; worst: the whole range, if nobody "
    "has a value"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Mean(AddsDistances, Parts):
    """The mean of a column clamped to a range."""

    name = "mean"
    summary = "the mean of a column"
    options: ClassVar = (COLUMN, LOWER, UPPER, GRID, WHERE, BY)

    @property
    def words(self) -> str:
        return asking(f"What is the mean of {self.column}, {self.cut}", self.where, self.kept)

    @property
    def public(self) -> dict[str, Any]:
        return {"question": self.name, **self.asked_of, **self.judged_by}

    def value(self, released: Mapping[str, Any]) -> float:
        return self._placed(_share(released[self.names[0]], released[self.names[1]]))

    def before(self) -> Before:
        return Before(self.loss, self.average, self.worst, holds=HOLDS)

    def after(self, released: Mapping[str, Any]) -> After:
        from utmost.design.noise.mean import mean_interval

        ends = mean_interval(self.solution.mechanism, released[self.names[0]], released[self.names[1]], CONFIDENCE)
        low, high = (self._placed(Fraction(end)) for end in ends)
        rows = self._rows_of(released)
        expected = min(self.average_of(rows), self.worst)  # of few rows the first order is more than can be lost
        return After({self.name: (low, high)}, given=self.by_law, expected=expected, rows=rows)

    def _rows_of(self, released: Mapping[str, Any]) -> int:
        """How many rows have a value, as far as the two sums say: each adds W to both together."""
        together = released[self.names[0]] + released[self.names[1]]
        return int(min(max(round(Fraction(together, self.width)), 1), self.most_rows))

    @property
    def proved_of(self) -> str:
        return "the two sums it is made of"

    def _placed(self, share: Fraction) -> float:
        return float(self.steps.lower + (self.steps.upper - self.steps.lower) * share)


class AsksMean(Asks[Made]):
    """`mean`, of a session or a plan."""

    def mean(
        self,
        column: str,
        lower: Number,
        upper: Number,
        privacy: Privacy = None,
        *,
        grid: Number = 1,
        where: Condition = None,
        loss: str = "absolute",
        by: Keys | Discover | None = None,
        fresh: bool = False,
    ) -> Made:
        """The mean of a column, its values clamped to lower..upper and rounded to the grid; nulls take no part.

        Parameters
        ----------
        column : str
            A column of numbers, or of text that is read as numbers.
        lower, upper : numbers
            The public range of a value, multiples of the grid, lower below upper; what lies outside counts as the
            nearer end. It must not be read off the table.
        privacy : level or number
            What this answer may spend, as for `count`.
        grid : number
            The step that values are rounded to, half up.
        where : condition, optional
            Only rows with this condition take part.
        loss : "absolute" or "squared"
            What the noise is best for.
        by : um.keys or um.discover, optional
            Answer once for every public key, as for `count`; all groups together cost `privacy`.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is the mean, the middle of the range where nobody seems to have a value; `answer.interval`
            holds the mean of the clamped values with 95 %, whatever the table holds. `answer.after.expected` is the
            expected loss with `answer.after.rows` rows, as many as the answer says there are; the plan's is for as many
            as there may be.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=1)
        >>> 0 <= s.mean("age", 0, 100, privacy=1).value <= 100
        True
        """
        asked = {"column": column, "lower": lower, "upper": upper, "grid": grid, "loss": loss}
        if by is None:
            return self.pose(Mean, privacy, where, fresh, **asked)
        return self.pose(MeanDiscovered if isinstance(by, Discover) else MeanBy, privacy, where, fresh, by=by, **asked)


def _share(above: int, below: int) -> Fraction:
    """Where in its range the mean lies: the middle where nobody seems to have a value."""
    if above + below <= 0:
        return Fraction(1, 2)
    return min(max(Fraction(above, above + below), Fraction(0)), Fraction(1))
