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
from utmost.queries.accuracy import CONFIDENCE, After
from utmost.queries.arguments import Condition, Privacy
from utmost.queries.found_keys import Discover
from utmost.queries.keys import Keys
from utmost.queries.options import BY, COLUMN, EXPECTED_ROWS, GRID, LOWER, MIN_ROWS, UPPER, WHERE
from utmost.queries.questions.by import MeanBy
from utmost.queries.questions.discovered import MeanDiscovered
from utmost.queries.questions.group_rows import require_groups
from utmost.queries.questions.numbers import Parts
from utmost.queries.questions.of_column import AddsDistances
from utmost.queries.questions.question import Asks, Made, asking


@dataclass(frozen=True, eq=False, kw_only=True)
class Mean(AddsDistances, Parts):
    """The mean of a column clamped to a range."""

    name = "mean"
    summary = "the mean of a column"
    options: ClassVar = (COLUMN, LOWER, UPPER, GRID, WHERE, BY, EXPECTED_ROWS, MIN_ROWS)

    @property
    def words(self) -> str:
        return asking(f"What is the mean of {self.column}, {self.cut}", self.where, self.kept)

    @property
    def public(self) -> dict[str, Any]:
        return {"question": self.name, **self.asked_of, **self.judged_by}

    def value(self, released: Mapping[str, Any]) -> float:
        return self._placed(_share(released[self.names[0]], released[self.names[1]]))

    def after(self, released: Mapping[str, Any]) -> After:
        from utmost.theory.estimates.design.mean import mean_interval

        ends = mean_interval(self.solution.mechanism, released[self.names[0]], released[self.names[1]], CONFIDENCE)
        low, high = self._placed(Fraction(ends[0]), -self.off), self._placed(Fraction(ends[1]), self.off)
        above, below = released[self.names[0]], released[self.names[1]]
        share = float(_share(above, below)) if above + below > 0 else 0.0
        return After({self.name: (low, high)}, given=self.by_law, **self.rows_found(above + below, share))

    @property
    def proved_of(self) -> str:
        return "the two sums it is made of"

    def _placed(self, share: Fraction, more: Fraction = Fraction(0)) -> float:
        lower, upper = self.steps.lower, self.steps.upper
        return float(min(max(lower + (upper - lower) * share + more, lower), upper))


class AsksMean(Asks[Made]):
    """`mean`, of a session or a plan."""

    def mean(
        self,
        column: str,
        lower: Number,
        upper: Number,
        privacy: Privacy = None,
        *,
        grid: Number | None = None,
        where: Condition = None,
        loss: str = "absolute",
        by: Keys | Discover | None = None,
        expected_rows: Any = None,
        min_rows: int | None = None,
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
        grid : number, optional
            The step that values are rounded to, half up. Without it whole numbers (a column of an
            integer type, whole bounds) are not rounded, and other values are rounded to a step so fine that rounding
            every row moves the answer by at most 1 % of its expected error, or as fine as 64-bit integers allow
            (groups of very many rows). Intervals contain what rounding can do, half a step, and so do planned errors: a
            coarse step that is named here makes both as much larger.
        where : condition, optional
            Only rows with this condition take part.
        loss : "absolute" or "squared"
            What the noise is best for.
        by : um.keys or um.discover, optional
            Answer once for every public key, as for `count`; all groups together cost `privacy`.
        expected_rows : number, or {key: number} or a list in the order of the keys, optional
            How many rows the answer, or each group, is made of, roughly: a public number, no larger than `at_most`
            allows. The plan's error and the comparisons are stated for it; without it the plan states them as a
            function of the rows. The error depends on where values lie as well: the plan has its least and its largest
            over all tables, and one number, such as `allot` needs, is the largest. The answer itself does not depend on
            it, and asking again with another one costs nothing.
        min_rows : int, optional
            With `by`: groups whose released number of rows is below this are suppressed: listed without a value. It is
            decided from released numbers alone, and asking again with another one costs nothing.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is the mean, the middle of the range where nobody seems to have a value; `answer.interval`
            holds the mean of the clamped values with 95 %. `answer.after.rows` is how many rows it is made of, as far
            as what was released says, `answer.after.rows_between` holds that number with 95 %, and
            `answer.after.expected` is the expected loss with so many rows and a mean where the answer says. With `by`,
            `answer.table` has all of these for each group (value, lower, upper, rows, rows_lower, rows_upper), and
            reliable: whether the interval is narrower than half of the range.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=1)
        >>> 0 <= s.mean("age", 0, 100, privacy=1).value <= 100
        True
        """
        asked: dict[str, Any] = {"column": column, "lower": lower, "upper": upper, "grid": grid, "loss": loss}
        asked["expected_rows"] = expected_rows
        asked["whole"] = self.is_whole(column)
        if by is None:
            require_groups(min_rows)
            return self.pose(Mean, privacy, where, fresh, **asked)
        return self.pose(
            MeanDiscovered if isinstance(by, Discover) else MeanBy,
            privacy,
            where,
            fresh,
            by=by,
            min_rows=min_rows,
            **asked,
        )


def _share(above: int, below: int) -> Fraction:
    """Where in its range the mean lies: the middle where nobody seems to have a value."""
    if above + below <= 0:
        return Fraction(1, 2)
    return min(max(Fraction(above, above + below), Fraction(0)), Fraction(1))
