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

from utmost.backends.source import Source
from utmost.errors import InvalidInput, shown
from utmost.exact import Number, as_rational, show_rational
from utmost.exact.arrays import Floats
from utmost.queries.accuracy import BY_LAW, CONFIDENCE, After
from utmost.queries.arguments import Condition, Privacy
from utmost.queries.contributions import Contribution, Grid, distances_to_ends
from utmost.queries.keys import Keys
from utmost.queries.options import BY, COLUMN, EXPECTED_ROWS, GRID, LOWER, MIN_ROWS, UPPER, WHERE
from utmost.queries.questions.by import OfValues
from utmost.queries.questions.expected import Losses, OfRows
from utmost.queries.questions.group_rows import GroupRows, require_groups
from utmost.queries.questions.numbers import Adds, Parts
from utmost.queries.questions.of_column import Columns, OfColumn
from utmost.queries.questions.question import Asks, Made, asking, in_units, scaled, shown_with
from utmost.queries.rounding_steps import DESIGN_UNITS, MOST_STEPS, MOST_SUM
from utmost.space.integers import Moves

MOST_WIDTH = 2**24
"""How many steps a range may have, so that squares of steps and their noise stay far below 2^63."""
HOLDS = (
    "of the variance, to first order; the upper end is for values that nearly all lie at one end of the range, the "
    "lower one for values spread about evenly over it; where it is more than a tenth of the worst, or more than the "
    "variance itself, it is too large, for answers lie between 0 and that; worst: the largest variance there can be"
)
GIVEN = f"{BY_LAW}, of squares divided by how many there are"


@dataclass(frozen=True, eq=False, kw_only=True)
class AddsSquares(OfRows, OfColumn, Adds):
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
    def most_steps(self) -> int:
        return most_squared(self.lower, self.upper)

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
    def worth(self) -> int:
        return self.reach

    @property
    def span(self) -> float:
        """The largest variance there can be."""
        return float(self.half**2)

    @property
    def half(self) -> Fraction:
        """Half of the range: its square is the largest variance there can be."""
        return (self.steps.upper - self.steps.lower) / 2

    @property
    def worst(self) -> float:
        """The loss if the largest variance there can be comes out for the least."""
        return scaled(self.loss, 1.0, float(self.half**2))

    def _deviation(self, relative: Floats, sign: int) -> Floats:
        """The standard deviation of a relative variance, or an end of its interval: rounding moves it by half a step.

        Rounding adds a number d to each value, and the deviation of a sum is at most the sum of the deviations; that of
        d is at most its largest size.
        """
        half = float(self.half)
        return np.asarray(np.clip(half * np.sqrt(relative) + sign * float(self.off), 0.0, half))

    @property
    def holds(self) -> str:
        return HOLDS

    def losses_over_rows(self) -> Losses:
        from utmost.theory.estimates.design.variance import LARGEST

        return self.losses_at(*LARGEST)

    def alternatives_over_rows(self) -> dict[str, Losses]:
        from utmost.space.sensitivity import straightness
        from utmost.theory.estimates.design.variance import variance_alternatives

        others = variance_alternatives(self.privacy, self.rows_each, straightness(self.solution.problem.space))
        wanted = [loss for loss in shown_with(self.loss) if loss in self.best_for]
        return in_units(others, wanted, self.half**2)

    def least_over_rows(self) -> Losses:
        from utmost.theory.estimates.design.variance import least_variance_losses

        return self._in_units(least_variance_losses(self.solution.mechanism.noise, self.reach))

    def losses_at(self, *moments: float) -> Losses:
        from utmost.theory.estimates.design.variance import variance_losses

        return self._in_units(variance_losses(self.solution.mechanism.noise, self.reach, *moments))

    def _in_units(self, losses: Losses) -> Losses:
        wanted = [loss for loss in shown_with(self.loss) if loss in self.best_for]
        return in_units({"": losses}, wanted, self.half**2)[""]

    @property
    def off_by_rounding(self) -> float:
        """Rounding moves the deviation by `off` at most, and the variance by so much times the sum of both deviations.

        Neither is larger than half of the range.
        """
        return float(2 * self.half * self.off)

    def loss_from_rounding_at(self, *moments: float) -> float:
        """The same where the deviation of the rounded values is known: the other one is larger by `off` at most."""
        m, q = moments
        deviation = float(self.half) * math.sqrt(max(q + m * m, 0.0))
        off = min(float(self.off) * (2 * deviation + float(self.off)), self.off_by_rounding)
        return off**2 if self.loss == "squared" else off


@dataclass(frozen=True, eq=False, kw_only=True)
class Variance(AddsSquares, Parts):
    """The variance and the standard deviation of a column clamped to a range."""

    name = "variance"
    summary = "the variance and standard deviation of a column"
    options: ClassVar = (COLUMN, LOWER, UPPER, GRID, WHERE, BY, EXPECTED_ROWS, MIN_ROWS)
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

    def after(self, released: Mapping[str, Any]) -> After:
        from utmost.theory.estimates.design.variance import moments, variance_interval

        a, b, c = (_whole(released[name]) for name in self.parts)
        low, high = variance_interval(self.solution.mechanism, (a, b, c), CONFIDENCE)
        deviation = float(self._deviation(np.array(low), -1)), float(self._deviation(np.array(high), 1))
        ends = {"variance": (deviation[0] ** 2, deviation[1] ** 2), "standard deviation": deviation}
        return After(ends, given=GIVEN + self.not_in_it, **self.rows_found(a + b + c, *moments(a, b, c)))

    @property
    def proved_of(self) -> str:
        return "the three sums it is made of"


@dataclass(frozen=True, eq=False, kw_only=True)
class VarianceBy(GroupRows, AddsSquares, OfValues):
    """The variance of a column in each group, from three integers each."""

    name = "variance"
    summary = "the variance of a column in each group"
    independent: ClassVar = True  # the law of a weighted sum of noises is known then

    @property
    def most_steps(self) -> int:
        rows = self.most_rows or DESIGN_UNITS * self.rows_each
        return most_squared(self.lower, self.upper, min(MOST_WIDTH, math.isqrt(MOST_SUM // rows)))

    @property
    def words(self) -> str:
        return self._asking(f"What is the variance of {self.column}", f", {self.cut}")

    def columns(self, released: Mapping[str, Any]) -> Columns:
        from utmost.theory.estimates.design.variance import variance_intervals

        a, b, c = (self.integers(released, part).astype(object) for part in self.parts)
        rows = a + b + c
        known = np.asarray(rows > 0, dtype=bool)
        relative = np.asarray((4 * a * c - b * b) / np.where(known, rows, 1) ** 2, dtype=np.float64)
        relative = np.where(known, np.clip(relative, 0.0, 1.0), 1 / 3)  # as if spread evenly, where nobody seems to be
        low, high = variance_intervals(self.solution.mechanism, a, b, c, CONFIDENCE)
        return self._placed(relative), self._deviation(low, -1) ** 2, self._deviation(high, 1) ** 2

    @property
    def by_law(self) -> str:
        return GIVEN + self.not_in_it

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
        asked: dict[str, Any] = {"column": column, "lower": lower, "upper": upper, "grid": grid, "loss": loss}
        asked["expected_rows"] = expected_rows
        asked["whole"] = self.is_whole(column)
        if by is None:
            require_groups(min_rows)
            return self.pose(Variance, privacy, where, fresh, **asked)
        return self.pose(VarianceBy, privacy, where, fresh, by=by, min_rows=min_rows, **asked)


def squares(source: Source, column: str, grid: Grid, where: Any) -> tuple[Contribution, ...]:
    """(W - u)^2, 2 u (W - u) and u^2 of a value u steps above the lower end of a range of W steps."""
    above, below = distances_to_ends(source, column, grid, where)
    most = above.most**2
    return (
        Contribution(above.taking_part, below.value * below.value, 0, most),
        Contribution(above.taking_part, 2 * above.value * below.value, 0, most // 2),
        Contribution(above.taking_part, above.value * above.value, 0, most),
    )


def most_squared(lower: Any, upper: Any, most: int = MOST_WIDTH) -> int:
    """How many steps the larger bound may be from 0, if the range has no more steps than can be squared."""
    low, high = as_rational(lower, "lower"), as_rational(upper, "upper")
    if low >= high:
        return most
    return max(1, min(2 * MOST_STEPS, int(most * max(abs(low), abs(high)) / (high - low))))


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
