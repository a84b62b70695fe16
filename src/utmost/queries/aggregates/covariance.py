"""How two columns vary together: covariance, correlation and slope.

Six integers are released with one vector of noise. With u and w how far two values lie above the lower ends of their
ranges, in steps, U and W the widths of the ranges, and M a common multiple of both, a row adds M^2/(U W) times
(U-u)(W-w), (U-u)w, u(W-w) and u w, which add up to M^2, and M^2/U^2 times u(U-u) and M^2/W^2 times w(W-w), each at most
a quarter of that. All are 0 or more, so a row that is added or removed makes at most 3/2 M^2 moves of "any" kind, and
one that is replaced so many exchanges. M is U W where that is at most 2^24, else the least common multiple.
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
from utmost.queries.aggregates.aggregate import Estimates, Integers, Ratio, Setting, all_in_unit, asking, in_unit
from utmost.queries.contributions import Contribution, Grid, as_grid, cut_to, distances_to_ends, is_exact
from utmost.queries.options import COLUMN, EXPECTED_ROWS, GRID, WHERE, Option, read_range
from utmost.queries.predicate import Where
from utmost.queries.rounding_steps import common_divisor
from utmost.space.integers import Lattice, Moves

if TYPE_CHECKING:
    from utmost.mechanism.noise.lattice import NoisyVector
    from utmost.queries.units import Unit

MOST_AREA, MOST_MULTIPLE = 2**24, 2**24
"""Up to which product of both widths in steps it stands for 1, and the largest multiple that may: its square and the
noise are far below 2^63."""
HOLDS = (
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
        The steps that values are rounded to; None takes one from ranges and column types.
    whole : pair of bool, or None
        Whether the columns are of an integer type; None where only a report is at hand.
    rounded_values : list of two bool, or None
        Whether rounding may change the values of each; None in reports of Utmost 0.2.
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
    def one_kind(self) -> bool:
        return False

    def words_without(self, names: Sequence[str]) -> str:
        return f"; of the slope none: {self.x} may hardly vary" if "slope" in names else ""

    @property
    def independent(self) -> bool:  # the law of a weighted sum of noises is known then
        return True

    @classmethod
    def from_public(cls, public: Mapping[str, Any], unit: Unit, says_rounding: bool) -> Self:
        names = ("x", "y", "x_range", "y_range", "x_grid", "y_grid")
        parameters = {name: public[name] for name in names}
        return cls(**parameters, rounded_values=public.get("rounded_values", False if says_rounding else None))

    def settled(self, setting: Setting) -> Covariance:
        settled = replace(self, setting=setting, x=as_column(self.x), y=as_column(self.y))
        rounded = self.rounded_values
        if self.whole is not None:
            rounded = [not is_exact(*pair) for pair in zip(self.whole, settled.grids, strict=True)]
        if rounded is not None and not (isinstance(rounded, list) and [type(one) for one in rounded] == [bool, bool]):
            raise InvalidInput(f"rounded_values is {shown(rounded)}; it says of both columns whether they are rounded.")
        if settled.multiple > MOST_MULTIPLE:
            raise InvalidInput(
                f"the ranges have {settled.widths[0]} and {settled.widths[1]} steps, whose least common multiple "
                f"{settled.multiple:.3g} is squared: at most 2^24; choose coarser x_grid and y_grid, with equally many "
                "steps if you can."
            )
        return replace(settled, rounded_values=rounded)

    @cached_property
    def grids(self) -> tuple[Grid, Grid]:
        """The public ranges of both values, and the steps they are rounded to."""
        steps = [self.x_grid, self.y_grid]
        if None in steps:
            steps = self._default_steps(steps)
        return _as_range("x_range", self.x_range, steps[0]), _as_range("y_range", self.y_range, steps[1])

    def _default_steps(self, grids: list[Any]) -> list[Any]:
        """The steps that nobody named: whole numbers as they are, others in equally many parts of a divisor."""
        ranges = [_as_ends(name, ends) for name, ends in (("x_range", self.x_range), ("y_range", self.y_range))]
        divisors = [common_divisor(*ends) for ends in ranges]
        whole = self.whole or (False, False)
        exact = [
            common_divisor(*ends, Fraction(1)) if is_whole else None
            for ends, is_whole in zip(ranges, whole, strict=True)
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
        """A common multiple of both widths: its square stands for 1 in the released integers."""
        return self.area if self.area <= MOST_AREA else math.lcm(*self.widths)

    @property
    def weight(self) -> int:
        """What stands for 1 in the released integers."""
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
        """The six products of a row that has both values."""
        (u, less_u), (w, less_w) = (
            distances_to_ends(source, column, grid, condition)
            for column, grid, condition in zip((self.x, self.y), self.grids, (where, None), strict=True)
        )
        assert u.taking_part is not None, "only some rows have a value"
        assert w.taking_part is not None, "only some rows have a value"
        both = u.taking_part & w.taking_part
        (wide, high), unit = self.widths, self.weight
        scale = unit // self.area
        pairs = ((less_u, less_w, scale), (less_u, w, scale), (u, less_w, scale), (u, w, scale))
        squares = ((u, less_u, unit // wide**2), (w, less_w, unit // high**2))
        return tuple(
            Contribution(both, one.value * other.value * scale, 0, unit) for one, other, scale in pairs + squares
        )

    def estimates(self, sums: Sequence[Integers], mechanism: NoisyVector, confidence: float = CONFIDENCE) -> Estimates:
        from utmost.theory.estimates.design.covariance import covariance_estimates, covariance_intervals

        groups = list(zip(*(part.tolist() for part in sums), strict=True))
        steepest = float(self.widths[0])  # on the unit square: two different values of x are a step apart at least
        estimates = [covariance_estimates(group, self.weight) for group in groups]
        for estimate in estimates:
            estimate["slope"] = min(max(estimate["slope"], -steepest), steepest)

        def intervals() -> Mapping[str, tuple[Floats, Floats]]:
            """Infinite where nothing is known."""
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
        """How far rounding moves both values, as shares of their ranges."""
        pairs = zip(self.grids, self._sides, self.rounded_values or (True, True), strict=True)
        x, y = (float(grid.rounding_error / side) if rounded else 0.0 for grid, side, rounded in pairs)
        return x, y

    @property
    def _sides(self) -> tuple[Fraction, Fraction]:
        return self.grids[0].upper - self.grids[0].lower, self.grids[1].upper - self.grids[1].lower

    @property
    def _units(self) -> dict[str, float]:
        """What 1 on the unit square is worth."""
        wide, high = (float(side) for side in self._sides)
        return {"covariance": wide * high, "correlation": 1.0, "slope": high / wide}

    # ---- errors ----

    @property
    def span(self) -> float:
        return self._units["covariance"] / 2

    def worst(self, loss: str) -> float:
        return in_unit(loss, 0.25 if loss == "absolute" else 0.0625, self._units["covariance"])

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

        moved = self.setting.rows_each * (1 if self.setting.neighbours == "add-remove" else 2)
        return {name: self._in_unit(losses) for name, losses in covariance_alternatives(level, moved).items()}

    def _in_unit(self, losses: dict[str, float]) -> dict[str, float]:
        return all_in_unit(losses, self._units["covariance"])

    @property
    def off_by_rounding(self) -> float:
        """With a = a' + d and b = b' + e, cov(a, b) - cov(a', b') is cov(d, b) + cov(a', e).

        No deviation of values in a range of 1 is above 1/2, and that of d or e is at most its largest size.
        """
        return sum(self._rounding_errors) / 2 * self._units["covariance"]

    @property
    def holds(self) -> str:
        return HOLDS

    # ---- description ----

    @property
    def phrase(self) -> str:
        first, second = self._ranges_in_words
        return f"How do {self.x}, values {first}, and {self.y}, values {second}, vary together"

    @property
    def _ranges_in_words(self) -> tuple[str, str]:
        """What is done to the values of both columns."""
        x, y = (cut_to(*pair) for pair in zip(self.grids, self.rounded_values or (True, True), strict=True))
        return x, y

    @property
    def public(self) -> dict[str, Any]:
        ranges = [[str(as_literal(grid.lower)), str(as_literal(grid.upper))] for grid in self.grids]
        steps = [str(as_literal(grid.step)) for grid in self.grids]
        parameters: dict[str, Any] = {"x": self.x, "y": self.y, "x_range": ranges[0], "y_range": ranges[1]}
        parameters |= {"x_grid": steps[0], "y_grid": steps[1]}
        return parameters if self.rounded_values is None else {**parameters, "rounded_values": self.rounded_values}

    def words(self, where: Where, used: str, ending: str) -> str:
        return asking(self.phrase, where, used, ending)  # which has both ranges

    @property
    def clamped(self) -> str:
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
    found = _as_range(name, ends, common_divisor(*(as_rational(end, name) for end in ends)) or 1)
    return found.lower, found.upper


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
