"""The covariance, correlation and slope of two columns.

Six integers are released with one vector of noise. Let u and w be the distances of two values from the lower ends of
their ranges, in steps, U and W the widths of the ranges, and M a common multiple of both. A row adds M^2/(U W) times
(U-u)(W-w), (U-u)w, u(W-w) and u w, which add up to M^2, and M^2/U^2 times u(U-u) and M^2/W^2 times w(W-w), each at most
M^2/4. All are non-negative, so a row that is added or removed makes at most 3/2 M^2 moves of "any" kind, and one that
is replaced as many exchanges. M is U W if that is at most 2^24, else the least common multiple.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from utmost.backends.source import Source, as_column
from utmost.errors import InvalidInput, shown
from utmost.exact import as_literal, as_rational, show_rational
from utmost.exact.arrays import Floats
from utmost.privacy import Level
from utmost.queries.accuracy import CONFIDENCE
from utmost.queries.aggregates.aggregate import Estimates, Integers, Ratio, Setting
from utmost.queries.contributions import Contribution, Grid, as_grid, cut_to, distances_to_ends, is_exact
from utmost.queries.losses import loss_in_unit, losses_in_unit
from utmost.queries.options import COLUMN, EXPECTED_ROWS, GRID, WHERE, Option, read_range
from utmost.queries.predicate import Where
from utmost.queries.report.words import question_in_words
from utmost.queries.rounding_steps import common_divisor
from utmost.space.integers import Lattice, Moves

if TYPE_CHECKING:
    from utmost.mechanism.noise.lattice import NoisyVector
    from utmost.queries.units import Unit

MOST_AREA, MOST_MULTIPLE = 2**24, 2**24
"""The largest product of both widths, in steps, that is used as the common multiple M, and the largest M at all: its
square and the noise are far below 2^63."""
ERROR_BASIS = (
    "of the covariance, to first order; the upper end is for values that nearly all lie at one end of each range, the "
    "lower one for uncorrelated values in the middle of both; where it is more than a tenth of the worst it is too "
    "large, for answers lie within that; worst: the largest covariance there can be"
)

RANGE = Option(
    "x_range",
    "The public range of --x, its ends separated by a comma.",
    "--x-range, the public range of --x, such as --x-range 0,100",
    "Public range of the first column, its ends separated by a comma",
    required=True,
    read=read_range,
)


@dataclass(frozen=True, kw_only=True)
class Covariance(Ratio):
    """Covariance, correlation and slope of two columns, clamped to ranges and rounded to grids.

    Attributes
    ----------
    x, y : str
        The two columns.
    x_range, y_range : pair of numbers
        Their public ranges.
    x_grid, y_grid : number or None
        The steps that values are rounded to; None chooses them by ranges and column types.
    whole : pair of bool, or None
        Whether the columns have an integer type; None for columns from a report.
    rounded_values : list of two bool, or None
        Whether rounding may change the values of each column; None for reports of Utmost 0.2.
    """

    name = "covariance"
    summary = "how two columns vary together: covariance, correlation, slope"
    options: ClassVar = (
        replace(COLUMN, name="x", help="The first of two columns.", prompt="First column"),
        replace(COLUMN, name="y", help="The second of two columns.", prompt="Second column"),
        RANGE,
        replace(
            RANGE,
            name="y_range",
            help="The public range of --y, its ends separated by a comma.",
            missing="--y-range, the public range of --y, such as --y-range 0,100",
            prompt="Public range of the second column, its ends separated by a comma",
        ),
        replace(GRID, name="x_grid", help="The step that values of --x are rounded to; see --grid."),
        replace(GRID, name="y_grid", help="The step that values of --y are rounded to; see --grid."),
        WHERE,
        EXPECTED_ROWS,
    )
    parts: ClassVar = ("low_low", "low_high", "high_low", "high_high", "inside_x", "inside_y")
    groupings: ClassVar = ("whole",)
    counting: ClassVar = 4
    estimated_from: ClassVar[str] = ", divided by how many there are"

    x: str
    y: str
    x_range: Any
    y_range: Any
    x_grid: Any = None
    y_grid: Any = None
    whole: tuple[bool, bool] | None = None
    rounded_values: Any = None

    @property
    def shares_unit(self) -> bool:
        return False

    def words_without(self, names: Sequence[str]) -> str:
        return f"; of the slope none: {self.x} may hardly vary" if "slope" in names else ""

    @property
    def independent(self) -> bool:  # makes the law of a weighted sum of the noise known
        return True

    @classmethod
    def from_public(cls, public: Mapping[str, Any], unit: Unit, says_rounding: bool) -> Self:
        names = ("x", "y", "x_range", "y_range", "x_grid", "y_grid")
        parameters = {name: public[name] for name in names}
        return cls(**parameters, rounded_values=public.get("rounded_values", False if says_rounding else None))

    def in_setting(self, setting: Setting) -> Covariance:
        aggregate = replace(self, setting=setting, x=as_column(self.x), y=as_column(self.y))
        rounded = self.rounded_values
        if self.whole is not None:
            rounded = [not is_exact(*pair) for pair in zip(self.whole, aggregate.grids, strict=True)]
        if rounded is not None and not (isinstance(rounded, list) and [type(flag) for flag in rounded] == [bool, bool]):
            raise InvalidInput(f"rounded_values is {shown(rounded)}; it says of both columns whether they are rounded.")
        if aggregate.multiple > MOST_MULTIPLE:
            raise InvalidInput(
                f"the ranges have {aggregate.widths[0]} and {aggregate.widths[1]} steps, whose least common multiple "
                f"{aggregate.multiple:.3g} is squared: at most 2^24; choose coarser x_grid and y_grid, with equally "
                "many steps if you can."
            )
        return replace(aggregate, rounded_values=rounded)

    @cached_property
    def grids(self) -> tuple[Grid, Grid]:
        """The public ranges of both columns, with the grids that values are rounded to."""
        steps = [self.x_grid, self.y_grid]
        if None in steps:
            steps = self._default_steps(steps)
        return _as_range("x_range", self.x_range, steps[0]), _as_range("y_range", self.y_range, steps[1])

    def _default_steps(self, grids: list[Any]) -> list[Any]:
        """The finest default steps that fit: exact ones for integer columns if possible, else divisors over 10^e."""
        ranges = [_as_ends(name, ends) for name, ends in (("x_range", self.x_range), ("y_range", self.y_range))]
        divisors = [common_divisor(*ends) for ends in ranges]
        is_integer = self.whole or (False, False)
        exact = [
            common_divisor(*ends, Fraction(1)) if is_whole else None
            for ends, is_whole in zip(ranges, is_integer, strict=True)
        ]

        def fit(steps: list[Any]) -> bool:
            widths = [int((high - low) / as_rational(step)) for (low, high), step in zip(ranges, steps, strict=True)]
            return widths[0] * widths[1] <= MOST_AREA or math.lcm(*widths) <= MOST_MULTIPLE

        for defaults in (exact, [None, None]):
            steps = [grid or step for grid, step in zip(grids, defaults, strict=True)]
            for parts in (10**e for e in reversed(range(10))):
                candidate = [step or divisor / parts for step, divisor in zip(steps, divisors, strict=True)]
                if fit(candidate):
                    return candidate
        raise InvalidInput(
            f"the ranges {shown(self.x_range)} and {shown(self.y_range)} have no common steps of which there are at "
            "most 2^24; give rounder bounds, or x_grid and y_grid."
        )

    @property
    def widths(self) -> tuple[int, int]:
        """The widths of both ranges, in steps."""
        return self.grids[0].most - self.grids[0].least, self.grids[1].most - self.grids[1].least

    @property
    def area(self) -> int:
        """The product of both widths."""
        return self.widths[0] * self.widths[1]

    @cached_property
    def multiple(self) -> int:
        """The common multiple M of both widths: M^2 stands for 1 in the released integers."""
        return self.area if self.area <= MOST_AREA else math.lcm(*self.widths)

    @property
    def weight(self) -> int:
        """M^2, which stands for 1 in the released integers."""
        return self.multiple**2

    @property
    def grid_is_named(self) -> bool:
        return self.x_grid is not None or self.y_grid is not None

    @property
    def step(self) -> Fraction:
        return self._sides[0] * self._sides[1] / self.weight

    def sensitivity(self) -> tuple[Moves, int]:
        return self.setting.moves, 3 * self.weight // 2

    @property
    def range(self) -> tuple[int, int]:
        return 0, self.weight

    def contributions(self, source: Source, where: Any) -> tuple[Contribution, ...]:
        """The six products, for rows with both values."""
        (u, less_u), (w, less_w) = (
            distances_to_ends(source, column, grid, condition)
            for column, grid, condition in zip((self.x, self.y), self.grids, (where, None), strict=True)
        )
        assert u.taking_part is not None, "only some rows have a value"
        assert w.taking_part is not None, "only some rows have a value"
        has_both = u.taking_part & w.taking_part
        (x_width, y_width), unit = self.widths, self.weight
        scale = unit // self.area
        pairs = ((less_u, less_w, scale), (less_u, w, scale), (u, less_w, scale), (u, w, scale))
        squares = ((u, less_u, unit // x_width**2), (w, less_w, unit // y_width**2))
        return tuple(
            Contribution(has_both, first.value * second.value * scale, 0, unit)
            for first, second, scale in pairs + squares
        )

    def estimates(self, sums: Sequence[Integers], mechanism: NoisyVector, confidence: float = CONFIDENCE) -> Estimates:
        from utmost.theory.estimates.design.covariance import covariance_estimates, covariance_intervals

        groups = list(zip(*(part.tolist() for part in sums), strict=True))
        steepest = float(self.widths[0])  # on the unit square: different values of x are at least a step apart
        estimates = [covariance_estimates(group, self.weight) for group in groups]
        for estimate in estimates:
            estimate["slope"] = min(max(estimate["slope"], -steepest), steepest)

        def intervals() -> Mapping[str, tuple[Floats, Floats]]:
            """The ends by name; infinite where the released integers do not bound a number."""
            ends = [
                covariance_intervals(mechanism.noise, group, self.weight, steepest, confidence, self._rounding_errors)
                for group in groups
            ]
            return {
                name: (np.array([end[name][0] * unit for end in ends]), np.array([end[name][1] * unit for end in ends]))
                for name, unit in self._units.items()
            }

        values = {name: np.array([by[name] * unit for by in estimates]) for name, unit in self._units.items()}
        return Estimates(values, intervals)

    @property
    def _rounding_errors(self) -> tuple[float, float]:
        """The largest changes of both values by rounding, as shares of their ranges."""
        pairs = zip(self.grids, self._sides, self.rounded_values or (True, True), strict=True)
        x, y = (float(grid.rounding_error / side) if rounded else 0.0 for grid, side, rounded in pairs)
        return x, y

    @property
    def _sides(self) -> tuple[Fraction, Fraction]:
        return self.grids[0].upper - self.grids[0].lower, self.grids[1].upper - self.grids[1].lower

    @property
    def _units(self) -> dict[str, float]:
        """The size of 1 on the unit square in the units of covariance, correlation and slope."""
        width, height = (float(side) for side in self._sides)
        return {"covariance": width * height, "correlation": 1.0, "slope": height / width}

    # ---- errors ----

    @property
    def span(self) -> float:
        return self._units["covariance"] / 2

    def worst(self, loss: str) -> float:
        return loss_in_unit(loss, 0.25 if loss == "absolute" else 0.0625, self._units["covariance"])

    def largest_losses(self, mechanism: NoisyVector) -> dict[str, float]:
        from utmost.theory.estimates.design.covariance import largest_covariance_losses

        return self._in_unit(largest_covariance_losses(mechanism.noise, float(self.weight)))

    def least_losses(self, mechanism: NoisyVector) -> dict[str, float]:
        from utmost.theory.estimates.design.covariance import LEAST

        return self.losses_at(mechanism, LEAST)

    def losses_at(self, mechanism: NoisyVector, moments: tuple[float, ...]) -> dict[str, float]:
        from utmost.theory.estimates.design.covariance import covariance_losses

        return self._in_unit(covariance_losses(mechanism.noise, float(self.weight), *moments))

    def moments(self, sums: Sequence[int]) -> tuple[float, ...]:
        from utmost.theory.estimates.design.covariance import moments

        return moments(sums)

    def alternatives(self, space: Lattice, level: Level) -> dict[str, dict[str, float]]:
        from utmost.theory.estimates.design.covariance import covariance_alternatives

        rows_moved = self.setting.rows_each * (1 if self.setting.neighbours == "add-remove" else 2)
        return {name: self._in_unit(losses) for name, losses in covariance_alternatives(level, rows_moved).items()}

    def _in_unit(self, losses: dict[str, float]) -> dict[str, float]:
        return losses_in_unit(losses, self._units["covariance"])

    @property
    def off_by_rounding(self) -> float:
        """With a = a' + d and b = b' + e, cov(a, b) - cov(a', b') is cov(d, b) + cov(a', e).

        A standard deviation of values in a range of width 1 is at most 1/2, and that of d at most max |d|.
        """
        return sum(self._rounding_errors) / 2 * self._units["covariance"]

    @property
    def error_basis(self) -> str:
        return ERROR_BASIS

    # ---- description ----

    @property
    def phrase(self) -> str:
        first, second = self._ranges_in_words
        return f"How do {self.x}, values {first}, and {self.y}, values {second}, vary together"

    @property
    def _ranges_in_words(self) -> tuple[str, str]:
        """The clamping and rounding of both columns, in words."""
        x, y = (cut_to(*pair) for pair in zip(self.grids, self.rounded_values or (True, True), strict=True))
        return x, y

    @property
    def public(self) -> dict[str, Any]:
        ranges = [[str(as_literal(grid.lower)), str(as_literal(grid.upper))] for grid in self.grids]
        steps = [str(as_literal(grid.step)) for grid in self.grids]
        parameters: dict[str, Any] = {"x": self.x, "y": self.y, "x_range": ranges[0], "y_range": ranges[1]}
        parameters |= {"x_grid": steps[0], "y_grid": steps[1]}
        return parameters if self.rounded_values is None else {**parameters, "rounded_values": self.rounded_values}

    def words(self, where: Where, rows_clause: str, ending: str) -> str:
        return question_in_words(self.phrase, where, rows_clause, ending)  # the phrase has both ranges

    @property
    def clamping_in_words(self) -> str:
        return " and ".join(
            f"{column} {words}" for column, words in zip((self.x, self.y), self._ranges_in_words, strict=True)
        )

    @property
    def interval_includes(self) -> str:
        return ", what rounding can change included" if any(self._rounding_errors) else ""

    @property
    def rounds_to(self) -> str:
        return f"rounding to {' and '.join(show_rational(grid.step) for grid in self.grids)}"


def _as_ends(name: str, ends: Any) -> tuple[Fraction, Fraction]:
    """The ends of a public range of more than one value."""
    if isinstance(ends, str | bytes) or not isinstance(ends, Sequence) or len(ends) != 2:
        raise InvalidInput(f"{name} is {shown(ends)}; give the public range of values as a pair, such as (0, 100).")
    grid = _as_range(name, ends, common_divisor(*(as_rational(end, name) for end in ends)) or 1)
    return grid.lower, grid.upper


def _as_range(name: str, ends: Any, grid: Any) -> Grid:
    """A public range of more than one value."""
    if isinstance(ends, str | bytes) or not isinstance(ends, Sequence) or len(ends) != 2:
        raise InvalidInput(f"{name} is {shown(ends)}; give the public range of values as a pair, such as (0, 100).")
    grid_range = as_grid(ends[0], ends[1], grid)
    if grid_range.least == grid_range.most:
        raise InvalidInput(
            f"{name} holds {show_rational(grid_range.lower)} alone, so nothing varies; give a wider range."
        )
    return grid_range
