"""The question: how far values lie from their mean: the variance of a column, and its standard deviation.

Three integers are released with one vector of noise: the sums of (W - u)^2, of 2 u (W - u) and of u^2, where u is how
far a value lies above the lower end of its range, in steps, and W the width of the range. Each is 0 or more and they
add up to W^2 wherever the value lies. So a row that comes or goes makes W^2 moves of "any" kind, one that is replaced
W^2 exchanges: the noise is made for that. A count, a sum and a sum of squares would pay for the row three times.
"""

from __future__ import annotations

from typing import Any

from utmost.exact import Number
from utmost.release.aggregates import variance as aggregates
from utmost.release.aggregates.clamping import ClampedColumn
from utmost.release.arguments import Condition, Privacy
from utmost.release.keys import Keys, require_keys
from utmost.release.questions.numeric import AsksRatios
from utmost.release.questions.question import Made


class AsksVariance(AsksRatios[Made]):
    """`variance`, of a session or a plan."""

    def variance(
        self,
        column: str,
        lower: Number,
        upper: Number,
        privacy: Privacy = None,
        *,
        grid: Number | None = None,
        where: Condition = None,
        loss: str = "absolute",
        by: Keys | None = None,
        expected_rows: Any = None,
        min_rows: int | None = None,
        fresh: bool = False,
    ) -> Made:
        """The variance of a column and its standard deviation, values clamped to lower..upper and rounded to the grid.

        The variance is the mean squared distance from the mean: divided by how many values there are, not by one less.
        Nulls take no part.

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
            The step that values are rounded to, half up; a range of at most 2^24 steps. Without it whole numbers (a
            column of an integer type, whole bounds) are not rounded, and other values are rounded to as fine a step
            as 2^24 steps (fewer by groups) allow; of very many rows rounding may be more than 1 % of the expected
            error. Intervals contain it, and so do planned errors.
        where : condition, optional
            Only rows with this condition take part.
        loss : "absolute" or "squared"
            What the noise is best for.
        by : um.keys, optional
            Answer once for every public key, as for `count`; all groups together cost `privacy`. Then the values are
            variances.
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
            `answer.value` is a dict with "variance" and "standard deviation"; `answer.intervals` holds, for each, an
            interval with that of the clamped values with 95 %. `answer.after.rows` is how many rows it is made of, as
            far as what was released says, `answer.after.rows_between` holds that number with 95 %, and
            `answer.after.expected` is the expected loss with so many rows and values as spread as the answer says. With
            `by`, `answer.table` has them for each group, as for `mean`.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=1)
        >>> found = s.variance("age", 0, 100, privacy=1)
        >>> 0 <= found.value["standard deviation"] <= 50
        True
        """
        whole = self.is_whole(column)
        values = ClampedColumn(column=column, lower=lower, upper=upper, grid=grid, whole=whole)
        if by is not None:
            require_keys(by)
        aggregate = aggregates.Variance(values=values)
        return self.pose_ratio(aggregate, privacy, where, loss, by, expected_rows, min_rows, fresh)
