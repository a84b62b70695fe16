"""The variance of a column, and its standard deviation.

Three integers are released with one vector of noise: the sums of (W - u)^2, of 2 u (W - u) and of u^2, where u is the
distance of a value from the lower end of its range, in steps, and W the width of the range. For every row they are
non-negative and add up to W^2. So a row that is added or removed makes W^2 moves of "any" kind, and one that is
replaced W^2 exchanges: the noise is calibrated to that. A count, a sum and a sum of squares would share the level among
three numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from utmost.backends.source import Source
from utmost.errors import InvalidInput
from utmost.exact import as_rational, show_rational
from utmost.exact.arrays import Floats
from utmost.privacy import Level
from utmost.queries.accuracy import CONFIDENCE
from utmost.queries.aggregates.aggregate import Estimates, Integers, Ratio, Setting
from utmost.queries.aggregates.clamping import ClampedColumn
from utmost.queries.contributions import Contribution, Grid, distances_to_ends
from utmost.queries.losses import loss_in_unit, losses_in_unit
from utmost.queries.options import BY, COLUMN, EXPECTED_ROWS, GRID, LOWER, MIN_ROWS, UPPER, WHERE
from utmost.queries.rounding_steps import MOST_STEPS
from utmost.space.integers import Lattice, Moves

if TYPE_CHECKING:
    from utmost.mechanism.noise.lattice import NoisyVector
    from utmost.queries.units import Unit

MOST_WIDTH = 2**24
"""The most steps of a range, such that squares of steps and their noise stay far below 2^63."""
ERROR_BASIS = (
    "of the variance, to first order; the upper end is for values that nearly all lie at one end of the range, the "
    "lower one for values spread about evenly over it; where it is more than a tenth of the worst, or more than the "
    "variance itself, it is too large, for answers lie between 0 and that; worst: the largest variance there can be"
)


@dataclass(frozen=True, kw_only=True)
class Variance(Ratio):
    """The variance and the standard deviation of a column, clamped to public bounds and rounded to a grid.

    Attributes
    ----------
    values : ClampedColumn
        The column, with its bounds and grid.
    """

    name = "variance"
    summary = "the variance and standard deviation of a column"
    options: ClassVar = (COLUMN, LOWER, UPPER, GRID, WHERE, BY, EXPECTED_ROWS, MIN_ROWS)
    parts: ClassVar = ("lower_squares", "products", "upper_squares")
    groupings: ClassVar = ("whole", "keys")
    estimated_from: ClassVar[str] = ", of squares divided by how many there are"

    values: ClampedColumn

    @classmethod
    def from_public(cls, public: Mapping[str, Any], unit: Unit, says_rounding: bool) -> Self:
        return cls(values=ClampedColumn.from_public(public, says_rounding))

    def in_setting(self, setting: Setting) -> Self:
        values = self.values.with_grid(setting, most_squared(self.values.lower, self.values.upper))
        require_width(values.steps)
        return replace(self, setting=setting, values=values)

    @property
    def shares_unit(self) -> bool:
        return False

    @property
    def independent(self) -> bool:  # makes the law of a weighted sum of the noise known
        return self.setting.grouped

    def contributions(self, source: Source, where: Any) -> tuple[Contribution, ...]:
        above, below = distances_to_ends(source, self.values.column, self.values.steps, where)
        largest_square = above.most**2
        return (
            Contribution(above.taking_part, below.value * below.value, 0, largest_square),
            Contribution(above.taking_part, 2 * above.value * below.value, 0, largest_square // 2),
            Contribution(above.taking_part, above.value * above.value, 0, largest_square),
        )

    @property
    def weight(self) -> int:
        return self.values.width**2

    @property
    def range(self) -> tuple[int, int]:
        return 0, self.weight

    def sensitivity(self) -> tuple[Moves, int]:
        return self.setting.moves, self.weight

    @property
    def grid_is_named(self) -> bool:
        return self.values.grid is not None

    @property
    def step(self) -> Fraction:
        return self.values.steps.step**2

    def estimates(self, sums: Sequence[Integers], mechanism: NoisyVector, confidence: float = CONFIDENCE) -> Estimates:
        from utmost.theory.estimates.design.variance import variance_intervals

        a, b, c = (np.asarray(part).astype(object) for part in sums)
        rows = a + b + c
        has_rows = np.asarray(rows > 0, dtype=bool)
        relative = np.asarray((4 * a * c - b * b) / np.where(has_rows, rows, 1) ** 2, dtype=np.float64)
        relative = np.where(
            has_rows, np.clip(relative, 0.0, 1.0), 1 / 3
        )  # that of evenly spread values, for groups that look empty
        variance = relative * float(self.half_range**2)

        def intervals() -> Mapping[str, tuple[Floats, Floats]]:
            low, high = variance_intervals(mechanism, a, b, c, confidence)
            ends = self._deviation(low, -1), self._deviation(high, 1)
            return {"variance": (ends[0] ** 2, ends[1] ** 2), "standard deviation": ends}

        return Estimates({"variance": variance, "standard deviation": np.sqrt(variance)}, intervals)

    @property
    def half_range(self) -> Fraction:
        """Half of the range: its square is the largest variance there can be."""
        return (self.values.steps.upper - self.values.steps.lower) / 2

    def _deviation(self, relative: Floats, sign: int) -> Floats:
        """The standard deviation for a relative variance, or an end of its interval, widened by half a rounding step.

        Rounding adds a number d to each value. The standard deviation of a sum is at most the sum of the standard
        deviations, and that of d is at most max |d|.
        """
        half_range = float(self.half_range)
        return np.asarray(
            np.clip(half_range * np.sqrt(relative) + sign * float(self.values.rounding_error), 0.0, half_range)
        )

    # ---- errors ----

    @property
    def span(self) -> float:
        return float(self.half_range**2)

    def worst(self, loss: str) -> float:
        return loss_in_unit(loss, 1.0, self.half_range**2)

    def largest_losses(self, mechanism: NoisyVector) -> dict[str, float]:
        from utmost.theory.estimates.design.variance import LARGEST

        return self.losses_at(mechanism, LARGEST)

    def least_losses(self, mechanism: NoisyVector) -> dict[str, float]:
        from utmost.theory.estimates.design.variance import least_variance_losses

        return losses_in_unit(least_variance_losses(mechanism.noise, self.weight), self.half_range**2)

    def losses_at(self, mechanism: NoisyVector, moments: tuple[float, ...]) -> dict[str, float]:
        from utmost.theory.estimates.design.variance import variance_losses

        return losses_in_unit(variance_losses(mechanism.noise, self.weight, *moments), self.half_range**2)

    def moments(self, sums: Sequence[int]) -> tuple[float, ...]:
        from utmost.theory.estimates.design.variance import moments

        return moments(*sums)

    def alternatives(self, space: Lattice, level: Level) -> dict[str, dict[str, float]]:
        from utmost.space.sensitivity import straightness
        from utmost.theory.estimates.design.variance import variance_alternatives

        losses_by_name = variance_alternatives(level, self.setting.rows_each, straightness(space))
        return {name: losses_in_unit(losses, self.half_range**2) for name, losses in losses_by_name.items()}

    @property
    def off_by_rounding(self) -> float:
        """Rounding changes the standard deviation by at most half a step, and the variance by that times their sum.

        Neither standard deviation, of the values or of the rounded ones, exceeds half of the range.
        """
        return float(2 * self.half_range * self.values.rounding_error)

    def loss_from_rounding_at(self, loss: str, moments: tuple[float, ...]) -> float:
        """The same at known moments: the standard deviation is at most half a step above that of the rounded values."""
        m, q = moments
        deviation = float(self.half_range) * math.sqrt(max(q + m * m, 0.0))
        error = float(self.values.rounding_error)
        rounding_change = min(error * (2 * deviation + error), self.off_by_rounding)
        return rounding_change**2 if loss == "squared" else rounding_change

    @property
    def error_basis(self) -> str:
        return ERROR_BASIS

    # ---- description ----

    @property
    def phrase(self) -> str:
        return f"What is the variance of {self.values.column}"

    @property
    def public(self) -> dict[str, Any]:
        return self.values.public

    @property
    def clamping_in_words(self) -> str:
        return self.values.words

    @property
    def interval_includes(self) -> str:
        return self.values.interval_includes

    @property
    def rounds_to(self) -> str:
        return self.values.rounds_to


def most_squared(lower: Any, upper: Any, most: int = MOST_WIDTH) -> int:
    """The largest absolute value of a bound, in steps, if the range has no more steps than can be squared."""
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
