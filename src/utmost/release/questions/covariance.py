"""The question: how two columns vary together: covariance, correlation and slope.

Six integers are released with one vector of noise. With u and w how far two values lie above the lower ends of their
ranges, in steps, U and W the widths of the ranges, and M a common multiple of both, a row adds M^2/(U W) times
(U-u)(W-w), (U-u)w, u(W-w) and u w, which add up to M^2, and M^2/U^2 times u(U-u) and M^2/W^2 times w(W-w), each at most
a quarter of that. All are 0 or more, so a row that is added or removed makes at most 3/2 M^2 moves of "any" kind, and
one that is replaced so many exchanges. M is U W where that is at most 2^24, else the least common multiple.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from utmost.exact import Number
from utmost.release.aggregates import covariance as aggregates
from utmost.release.arguments import Condition, Privacy
from utmost.release.questions.aggregates import SeveralSums
from utmost.release.questions.question import Asks, Made

MOST_AREA, MOST_MULTIPLE = 2**24, 2**24
"""Up to which product of both widths in steps it stands for 1, and the largest multiple that may: its square and the
noise are far below 2^63."""


class AsksCovariance(Asks[Made]):
    """`covariance`, of a session or a plan."""

    def covariance(
        self,
        x: str,
        y: str,
        x_range: Sequence[Number],
        y_range: Sequence[Number],
        privacy: Privacy = None,
        *,
        x_grid: Number | None = None,
        y_grid: Number | None = None,
        where: Condition = None,
        loss: str = "absolute",
        expected_rows: Any = None,
        fresh: bool = False,
    ) -> Made:
        """Covariance and correlation of two columns, and the slope of the line that predicts y from x.

        Of rows that have both values. Divided by how many there are; the slope is covariance over variance of x.

        Parameters
        ----------
        x, y : str
            Columns of numbers, or of text that is read as numbers.
        x_range, y_range : pairs of numbers
            The public ranges (lower, upper) of both, multiples of their grids; what lies outside counts as the nearer
            end. They must not be read off the table.
        privacy : level or number
            What this answer may spend, as for `count`; all three numbers together.
        x_grid, y_grid : numbers, optional
            The steps that values are rounded to, half up; the ranges have at most 2^24 pairs of steps, or widths whose
            least common multiple is at most 2^24 steps. Without them whole numbers are not rounded where that is
            possible, and other ranges are divided as finely as these numbers allow, into at most 10^7 steps. Intervals
            contain what rounding can do, and so do planned errors.
        where : condition, optional
            Only rows with this condition take part.
        loss : "absolute" or "squared"
            What the noise is best for.
        expected_rows : number, optional
            How many rows have both values, roughly: a public number, no larger than `at_most` allows. The plan's error
            and the comparisons are stated for it; without it the plan states them as a function of the rows. The error
            depends on where values lie as well: the plan has its least and its largest over all tables, and one number,
            such as `allot` needs, is the largest. The answer itself does not depend on it, and asking again with
            another one costs nothing.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is a dict with "covariance", "correlation" and "slope"; each of `answer.intervals` contains
            that number of the clamped column, before rounding, with at least 95 %.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41] * 250, "hours": [30, 10, 40, 20] * 250})
        >>> s = um.Session(table, "survey", um.rows(at_most=1200), "add-remove", budget=1)
        >>> s.covariance("age", "hours", (0, 100), (0, 50), privacy=1).value["correlation"] > 0.5
        True
        """
        whole = self.is_whole(x), self.is_whole(y)
        aggregate = aggregates.Covariance(
            x=x, y=y, x_range=x_range, y_range=y_range, x_grid=x_grid, y_grid=y_grid, whole=whole
        )
        return self.pose(
            SeveralSums, privacy, where, fresh, aggregate=aggregate, loss=loss, expected_rows=expected_rows
        )
