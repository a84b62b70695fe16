"""The question: how far values lie from their mean: the variance of a column, and its standard deviation.

Three integers are released with one vector of noise: the sums of (W - u)^2, of 2 u (W - u) and of u^2, where u is how
far a value lies above the lower end of its range, in steps, and W the width of the range. Each is 0 or more and they
add up to W^2 wherever the value lies. So a row that comes or goes makes W^2 moves of "any" kind, one that is replaced
W^2 exchanges: the noise is made for that. A count, a sum and a sum of squares would pay for the row three times.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from utmost.errors import InvalidInput, shown
from utmost.exact import Number, show_rational
from utmost.exact.arrays import Floats
from utmost.release.accuracy import BY_LAW, CONFIDENCE, After, Before
from utmost.release.arguments import Condition, Privacy
from utmost.release.contributions import Contribution, Grid, distances_to_ends
from utmost.release.keys import Keys
from utmost.release.options import BY, COLUMN, GRID, LOWER, UPPER, WHERE
from utmost.release.questions.by import OfValues
from utmost.release.questions.numbers import Adds, Parts
from utmost.release.questions.of_column import Columns, OfColumn
from utmost.release.questions.question import Asks, Made, asking, in_units, scaled, shown_with
from utmost.release.source import Source
from utmost.space.integers import Moves

MOST_WIDTH = 2**24
"""How many steps a range may have, so that squares of steps stay far below 2^63."""
HOLDS = (
    "average: of the variance, if every unit has a value and values are spread evenly over the range, to first order; "
    "worst: the largest variance there can be, if nobody has a value"
)
GIVEN = f"{BY_LAW}, of squares divided by how many there are"


@dataclass(frozen=True, eq=False, kw_only=True)
class AddsSquares(OfColumn, Adds):
    """Squares of the distances of values to the ends of their range, and their products: variances are made of them."""

    parts: ClassVar[tuple[str, ...]] = ("lower_squares", "products", "upper_squares")
    """The sums of (W - u)^2, 2 u (W - u) and u^2."""
    best_for: ClassVar[tuple[str, ...]] = ("absolute", "squared")

    def __post_init__(self) -> None:
        super().__post_init__()
        require_width(self.steps)

    @property
    def step(self) -> Fraction:
        return self.steps.step**2

    @property
    def reach(self) -> int:
        """What a row adds to the three integers together."""
        return self.width**2

    @property
    def reach_of_row(self) -> tuple[Moves, int]:
        return self.terms.moves, self.reach

    @property
    def range_of_row(self) -> tuple[int, int]:
        return 0, self.reach

    def contributions(self, source: Source) -> tuple[Contribution, ...]:
        return squares(source, self.column, self.steps, self.where.given)

    @property
    def half(self) -> Fraction:
        """Half of the range: its square is the largest variance there can be."""
        return (self.steps.upper - self.steps.lower) / 2

    @property
    def average(self) -> float:
        return self.losses["Utmost"][self.loss]

    @property
    def worst(self) -> float:
        """The loss if the largest variance there can be comes out for the least."""
        return scaled(self.loss, 1.0, float(self.half**2))

    def losses_among(self, rows: float) -> dict[str, dict[str, float]]:
        """The expected losses of a variance of so many rows, ours first."""
        from utmost.design.noise.variance import variance_alternatives, variance_losses

        losses = {"Utmost": variance_losses(self.solution.mechanism.noise, self.reach, rows)}
        losses |= variance_alternatives(self.privacy, self.rows_each, rows)
        wanted = [loss for loss in shown_with(self.loss) if loss in self.best_for]
        return in_units(losses, wanted, self.half**2)


@dataclass(frozen=True, eq=False, kw_only=True)
class Variance(AddsSquares, Parts):
    """The variance and the standard deviation of a column clamped to a range."""

    name = "variance"
    summary = "the variance and standard deviation of a column"
    options: ClassVar = (COLUMN, LOWER, UPPER, GRID, WHERE, BY)
    one_kind: ClassVar = False

    @property
    def words(self) -> str:
        return asking(f"What is the variance of {self.column}, {self.cut}", self.where, self.kept)

    @property
    def public(self) -> dict[str, Any]:
        return {"question": self.name, **self.asked_of, **self.judged_by}

    def value(self, released: Mapping[str, Any]) -> dict[str, float]:
        a, b, c = (_whole(released[name]) for name in self.parts)
        rows = a + b + c
        relative = Fraction(4 * a * c - b * b, rows * rows) if rows > 0 else Fraction(1, 3)
        variance = float(min(max(relative, Fraction(0)), Fraction(1)) * self.half**2)
        return {"variance": variance, "standard deviation": math.sqrt(variance)}

    def before(self) -> Before:
        return Before(self.loss, self.average, self.worst, holds=HOLDS)

    def after(self, released: Mapping[str, Any]) -> After:
        from utmost.design.noise.variance import variance_interval

        a, b, c = (_whole(released[name]) for name in self.parts)
        low, high = variance_interval(self.solution.mechanism, (a, b, c), CONFIDENCE)
        ends = float(self.half**2) * low, float(self.half**2) * high
        return After(
            {"variance": ends, "standard deviation": (math.sqrt(ends[0]), math.sqrt(ends[1]))},
            given=GIVEN + self.not_in_it,
        )

    def compared(self) -> dict[str, dict[str, float]]:
        return self.losses_among(self.most_rows)

    @property
    def proved_of(self) -> str:
        return "the three sums it is made of"


@dataclass(frozen=True, eq=False, kw_only=True)
class VarianceBy(AddsSquares, OfValues):
    """The variance of a column in each group, from three integers each."""

    name = "variance"
    summary = "the variance of a column in each group"
    independent: ClassVar = True  # the law of a weighted sum of noises is known then

    @property
    def words(self) -> str:
        return self._asking(f"What is the variance of {self.column}", f", {self.cut}")

    def columns(self, released: Mapping[str, Any]) -> Columns:
        from utmost.design.noise.variance import variance_intervals

        a, b, c = (self.integers(released, part).astype(object) for part in self.parts)
        rows = a + b + c
        known = np.asarray(rows > 0, dtype=bool)
        relative = np.asarray((4 * a * c - b * b) / np.where(known, rows, 1) ** 2, dtype=np.float64)
        relative = np.where(known, np.clip(relative, 0.0, 1.0), 1 / 3)  # as if spread evenly, where nobody seems to be
        low, high = variance_intervals(self.solution.mechanism, a, b, c, CONFIDENCE)
        return self._placed(relative), self._placed(low), self._placed(high)

    def before(self) -> Before:
        holds = HOLDS.replace("values are", "groups are alike, values are")
        return Before(self.loss, self.average, self.worst, holds=holds)

    def after(self, released: Mapping[str, Any]) -> After:
        return After(self.intervals(released), given=GIVEN + self.not_in_it)

    def compared(self) -> dict[str, dict[str, float]]:
        return self.losses_among(self.most_rows / self.by.size)

    @property
    def proved_of(self) -> str:
        return "the sums they are made of"

    def _placed(self, relative: Floats) -> Floats:
        return relative * float(self.half**2)


class AsksVariance(Asks[Made]):
    """`variance`, of a session or a plan."""

    def variance(
        self,
        column: str,
        lower: Number,
        upper: Number,
        privacy: Privacy = None,
        *,
        grid: Number = 1,
        where: Condition = None,
        loss: str = "absolute",
        by: Keys | None = None,
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
        grid : number
            The step that values are rounded to, half up; a range of at most 2^24 steps.
        where : condition, optional
            Only rows with this condition take part.
        loss : "absolute" or "squared"
            What the noise is best for.
        by : um.keys, optional
            Answer once for every public key, as for `count`; all groups together cost `privacy`. Then the values are
            variances.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is a dict with "variance" and "standard deviation"; `answer.intervals` holds, for each, an
            interval with that of the clamped values with 95 %, whatever the table holds.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=1)
        >>> found = s.variance("age", 0, 100, privacy=1)
        >>> 0 <= found.value["standard deviation"] <= 50
        True
        """
        asked = {"column": column, "lower": lower, "upper": upper, "grid": grid, "loss": loss}
        if by is None:
            return self.pose(Variance, privacy, where, fresh, **asked)
        return self.pose(VarianceBy, privacy, where, fresh, by=by, **asked)


def squares(source: Source, column: str, grid: Grid, where: Any) -> tuple[Contribution, ...]:
    """(W - u)^2, 2 u (W - u) and u^2 of a value u steps above the lower end of a range of W steps."""
    above, below = distances_to_ends(source, column, grid, where)
    most = above.most**2
    return (
        Contribution(above.taking_part, below.value * below.value, 0, most),
        Contribution(above.taking_part, 2 * above.value * below.value, 0, most // 2),
        Contribution(above.taking_part, above.value * above.value, 0, most),
    )


def require_width(grid: Grid) -> None:
    """Refuse a range of one value, whose variance is 0, and one of too many steps to square."""
    width = grid.most - grid.least
    if not width:
        raise InvalidInput(
            f"lower and upper are both {show_rational(grid.lower)}, so the variance is 0; give a wider range."
        )
    if width > MOST_WIDTH:
        raise InvalidInput(
            f"the range has {width} steps of {show_rational(grid.step)}, and steps are squared: at most 2^24; choose "
            f"a coarser grid, such as {show_rational(grid.step * 10 ** len(str(width // MOST_WIDTH)))}."
        )


def _whole(value: Any) -> int:
    if type(value) is not int:  # it may come from a report
        raise InvalidInput(f"what was released is {shown(value)}; it is a whole number.")
    return value
