"""The mean of a column.

Two integers are released with one vector of noise: R, the sum of (value - lower), and Q, the sum of (upper - value). A
row adds (u, W - u) to them, with W the width of the range: W in all, whatever its value is. The mean is
lower + W R / (R + Q). A sum and a count instead would share the level among two numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from utmost.backends.source import Source
from utmost.errors import InvalidInput, shown
from utmost.exact.arrays import Floats
from utmost.privacy import Level
from utmost.queries.accuracy import CONFIDENCE
from utmost.queries.aggregates.aggregate import Estimates, Integers, Ratio, Setting
from utmost.queries.aggregates.clamping import ClampedColumn, most_steps_of_sums
from utmost.queries.contributions import Contribution, distances_to_ends
from utmost.queries.losses import loss_in_unit, losses_in_unit
from utmost.queries.options import BY, COLUMN, EXPECTED_ROWS, GRID, LOWER, MIN_ROWS, UPPER, WHERE
from utmost.space.integers import Lattice, Moves

if TYPE_CHECKING:
    from utmost.mechanism.noise.lattice import NoisyVector
    from utmost.queries.units import Unit

ERROR_BASIS = (
    "to first order; the upper end is for a mean at an end of the range, the lower one for a mean in its "
    "middle; where it is more than a tenth of the range, or more than the mean is away from an end, it is too "
    "large, for answers lie within the range; worst: the range"
)


@dataclass(frozen=True, kw_only=True)
class Mean(Ratio):
    """The mean of a column, clamped to public bounds and rounded to a grid.

    Attributes
    ----------
    values : ClampedColumn
        The column, with its bounds and grid.
    """

    name = "mean"
    summary = "the mean of a column"
    options: ClassVar = (COLUMN, LOWER, UPPER, GRID, WHERE, BY, EXPECTED_ROWS, MIN_ROWS)
    parts: ClassVar = ("above_lower", "below_upper")

    values: ClampedColumn

    @classmethod
    def from_public(cls, public: Mapping[str, Any], unit: Unit, says_rounding: bool) -> Self:
        return cls(values=ClampedColumn.from_public(public, says_rounding))

    def in_setting(self, setting: Setting) -> Self:
        mean = replace(self, setting=setting, values=self.values.with_grid(setting, most_steps_of_sums(setting)))
        if not mean.values.width:
            raise InvalidInput(
                f"lower and upper are both {shown(self.values.lower)}, so the mean is public already; give a wider "
                "range."
            )
        return mean

    def contributions(self, source: Source, where: Any) -> tuple[Contribution, ...]:
        return distances_to_ends(source, self.values.column, self.values.steps, where)

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
        return self.values.steps.step

    def estimates(self, sums: Sequence[Integers], mechanism: NoisyVector, confidence: float = CONFIDENCE) -> Estimates:
        from utmost.theory.estimates.design.mean import mean_intervals

        above, below = (np.asarray(part).astype(object) for part in sums)
        total = above + below
        has_rows = np.asarray(total > 0, dtype=bool)
        shares = np.asarray(above / np.where(has_rows, total, 1), dtype=np.float64)
        shares = np.where(has_rows, np.clip(shares, 0.0, 1.0), 0.5)  # the middle for groups that look empty

        def intervals() -> Mapping[str, tuple[Floats, Floats]]:
            low, high = mean_intervals(mechanism, above, below, confidence)
            error = self.off_by_rounding
            return {self.name: (self._in_range(low, -error), self._in_range(high, error))}

        return Estimates({self.name: self._in_range(shares)}, intervals)

    def _in_range(self, shares: Floats, shift: float = 0.0) -> Floats:
        """Convert shares of the range to values, shifted and clamped to the range."""
        lower, upper = float(self.values.steps.lower), float(self.values.steps.upper)
        return np.clip(lower + (upper - lower) * shares + shift, lower, upper)

    # ---- errors ----

    @property
    def weight(self) -> int:
        return self.values.width

    @property
    def span(self) -> float:
        return float(self.weight * self.step)

    def worst(self, loss: str) -> float:
        return loss_in_unit(loss, float(self.weight) ** (2 if loss == "squared" else 1), self.step)

    def largest_losses(self, mechanism: NoisyVector) -> dict[str, float]:
        return self.losses_at(mechanism, (0.0,))

    def least_losses(self, mechanism: NoisyVector) -> dict[str, float]:
        return self.losses_at(mechanism, (0.5,))

    def losses_at(self, mechanism: NoisyVector, moments: tuple[float, ...]) -> dict[str, float]:
        from utmost.theory.estimates.design.mean import mean_losses

        return losses_in_unit(mean_losses(mechanism, *moments), self.step)

    def moments(self, sums: Sequence[int]) -> tuple[float, ...]:
        above, below = sums
        if above + below <= 0:
            return (0.0,)
        return (float(min(max(Fraction(above, above + below), Fraction(0)), Fraction(1))),)

    def alternatives(self, space: Lattice, level: Level) -> dict[str, dict[str, float]]:
        from utmost.theory.estimates.design.mean import mean_alternatives

        losses_by_name = mean_alternatives(space, level, self.weight)
        return {name: losses_in_unit(losses, self.step) for name, losses in losses_by_name.items()}

    @property
    def off_by_rounding(self) -> float:
        return float(self.values.rounding_error)

    @property
    def error_basis(self) -> str:
        return ERROR_BASIS

    # ---- description ----

    @property
    def phrase(self) -> str:
        return f"What is the mean of {self.values.column}"

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
