"""The question: how two columns vary together: covariance, correlation and slope.

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
from typing import Any, ClassVar

from utmost.backends.source import Source, as_column
from utmost.errors import InvalidInput, shown
from utmost.exact import Number, as_literal, as_rational, show_rational
from utmost.queries.accuracy import BY_LAW, CONFIDENCE, After
from utmost.queries.arguments import Condition, Privacy
from utmost.queries.contributions import Contribution, Grid, as_grid, cut_to, distances_to_ends, is_exact
from utmost.queries.options import COLUMN, EXPECTED_ROWS, GRID, WHERE, Option
from utmost.queries.predicate import EVERY_ROW, Where
from utmost.queries.questions.expected import Losses, OfRows
from utmost.queries.questions.numbers import Parts
from utmost.queries.questions.question import Asks, Made, asking, in_units, scaled, shown_with
from utmost.queries.rounding_steps import common_divisor
from utmost.space.integers import Moves

MOST_AREA, MOST_MULTIPLE = 2**24, 2**24
"""Up to which product of both widths in steps it stands for 1, and the largest multiple that may: its square and the
noise are far below 2^63."""
HOLDS = (
    "of the covariance, to first order; the upper end is for values that nearly all lie at one end of each range, the "
    "lower one for uncorrelated values in the middle of both; where it is more than a tenth of the worst it is too "
    "large, for answers lie within that; worst: the largest covariance there can be"
)
GIVEN = f"{BY_LAW}, divided by how many there are"


def _read_range(text: Any, kind: Any) -> list[str]:
    return [part.strip() for part in str(text).split(",")]


RANGE = Option(
    "x_range",
    "The public range of --x, its ends separated by a comma.",
    "--x-range, the public range of --x, such as --x-range 0,100",
    "Public range of the first column, its ends separated by a comma",
    required=True,
    read=_read_range,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Covariance(OfRows, Parts):
    """Covariance, correlation and slope of two columns clamped to ranges."""

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
    one_kind: ClassVar = False
    parts: ClassVar[tuple[str, ...]] = ("low_low", "low_high", "high_low", "high_high", "inside_x", "inside_y")
    best_for: ClassVar = ("absolute", "squared")
    counting: ClassVar = 4
    independent: ClassVar = True  # the law of a weighted sum of noises is known then

    x: str
    y: str
    x_range: Any
    y_range: Any
    x_grid: Any = None
    y_grid: Any = None
    where: Where = EVERY_ROW
    whole: tuple[bool, bool] | None = None
    rounded_values: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settle(x=as_column(self.x), y=as_column(self.y))
        if self.whole is not None:
            self.settle(rounded_values=[not is_exact(*pair) for pair in zip(self.whole, self.grids, strict=True)])
        if self.rounded_values is not None and not (
            isinstance(self.rounded_values, list) and [type(one) for one in self.rounded_values] == [bool, bool]
        ):
            raise InvalidInput(
                f"rounded_values is {shown(self.rounded_values)}; it says of both columns whether they are rounded."
            )
        if self.multiple > MOST_MULTIPLE:
            raise InvalidInput(
                f"the ranges have {self.widths[0]} and {self.widths[1]} steps, whose least common multiple "
                f"{self.multiple:.3g} is squared: at most 2^24; choose coarser x_grid and y_grid, with equally many "
                "steps if you can."
            )

    @cached_property
    def grids(self) -> tuple[Grid, Grid]:
        """The public ranges of both values, and the steps they are rounded to."""
        steps = [self.x_grid, self.y_grid]
        if None in steps:
            steps = self._steps(steps)
        return _as_range("x_range", self.x_range, steps[0]), _as_range("y_range", self.y_range, steps[1])

    def _steps(self, grids: list[Any]) -> list[Any]:
        """The steps that nobody named: whole numbers as they are, others in equally many parts of a divisor."""
        ranges = [_as_ends(name, ends) for name, ends in (("x_range", self.x_range), ("y_range", self.y_range))]
        divisors = [common_divisor(*ends) for ends in ranges]
        whole = self.whole or (False, False)
        exact = [
            common_divisor(*ends, Fraction(1)) if by_itself else None
            for ends, by_itself in zip(ranges, whole, strict=True)
        ]

        def widths(steps: list[Any]) -> list[int]:
            return [int((high - low) / as_rational(step)) for (low, high), step in zip(ranges, steps, strict=True)]

        def fits(steps: list[Any]) -> bool:
            wide = widths(steps)
            return wide[0] * wide[1] <= MOST_AREA or math.lcm(*wide) <= MOST_MULTIPLE

        for kept in (exact, [None, None]):
            steps = [grid or step for grid, step in zip(grids, kept, strict=True)]
            for parts in (10**e for e in reversed(range(10))):
                tried = [step or divisor / parts for step, divisor in zip(steps, divisors, strict=True)]
                if fits(tried):
                    return tried
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
    def unit(self) -> int:
        """What stands for 1 in the released integers."""
        return self.multiple**2

    @property
    def step(self) -> Fraction:
        return self._sides[0] * self._sides[1] / self.unit

    @property
    def words(self) -> str:
        pairs = zip(self.grids, self.rounded_values or (True, True), strict=True)
        first, second = (cut_to(*pair).removeprefix("values ") for pair in pairs)
        words = f"How do {self.x}, values {first}, and {self.y}, values {second}, vary together"
        return asking(words, self.where, self.kept)

    @property
    def public(self) -> dict[str, Any]:
        ranges = [[str(as_literal(grid.lower)), str(as_literal(grid.upper))] for grid in self.grids]
        steps = [str(as_literal(grid.step)) for grid in self.grids]
        asked: dict[str, Any] = {"x": self.x, "y": self.y, "x_range": ranges[0], "y_range": ranges[1]}
        asked |= {"x_grid": steps[0], "y_grid": steps[1], "where": self.where.text}
        if self.rounded_values is not None:
            asked["rounded_values"] = self.rounded_values
        return {"question": self.name, **asked, **self.expectation, **self.judged_by}

    @property
    def reach_of_row(self) -> tuple[Moves, int]:
        return self.terms.moves, 3 * self.unit // 2

    @property
    def range_of_row(self) -> tuple[int, int]:
        return 0, self.unit

    def contributions(self, source: Source) -> tuple[Contribution, ...]:
        """The six products of a row that has both values."""
        (u, less_u), (w, less_w) = (
            distances_to_ends(source, column, grid, where)
            for column, grid, where in zip((self.x, self.y), self.grids, (self.where.given, None), strict=True)
        )
        assert u.taking_part is not None, "only some rows have a value"
        assert w.taking_part is not None, "only some rows have a value"
        both = u.taking_part & w.taking_part
        (wide, high), unit = self.widths, self.unit
        scale = unit // self.area
        pairs = ((less_u, less_w, scale), (less_u, w, scale), (u, less_w, scale), (u, w, scale))
        squares = ((u, less_u, unit // wide**2), (w, less_w, unit // high**2))
        return tuple(
            Contribution(both, one.value * other.value * scale, 0, unit) for one, other, scale in pairs + squares
        )

    def value(self, released: Mapping[str, Any]) -> dict[str, float]:
        from utmost.theory.estimates.design.covariance import covariance_estimates

        found = covariance_estimates(self._sums(released), self.unit)
        steepest = self._steepest
        found["slope"] = min(max(found["slope"], -steepest), steepest)
        return {name: value * self._units[name] for name, value in found.items()}

    @property
    def worth(self) -> int:
        return self.unit

    @property
    def worst(self) -> float:
        return scaled(self.loss, 0.25 if self.loss == "absolute" else 0.0625, self._units["covariance"])

    @property
    def holds(self) -> str:
        return HOLDS

    def after(self, released: Mapping[str, Any]) -> After:
        from utmost.theory.estimates.design.covariance import covariance_intervals, moments

        noise, sums = self.solution.mechanism.noise, self._sums(released)
        found = covariance_intervals(noise, sums, self.unit, self._steepest, CONFIDENCE, self._off)
        ends = {name: (low * self._units[name], high * self._units[name]) for name, (low, high) in found.items()}
        unknown = "" if math.isfinite(ends["slope"][0]) else f"; of the slope none: {self.x} may hardly vary"
        ends = {name: pair for name, pair in ends.items() if math.isfinite(pair[0])}
        given = f"{GIVEN}{unknown}{self.not_in_it}"
        return After(ends, given=given, **self.rows_found(sum(sums[: self.counting]), *moments(sums)))

    @property
    def not_in_it(self) -> str:
        return super().not_in_it + (", what rounding can change included" if any(self._off) else "")

    @property
    def cut(self) -> str:
        pairs = zip((self.x, self.y), self.grids, self.rounded_values or (True, True), strict=True)
        return " and ".join(f"{column} {cut_to(*pair).removeprefix('values ')}" for column, *pair in pairs)

    @property
    def _off(self) -> tuple[float, float]:
        """How far rounding moves both values, as shares of their ranges."""
        pairs = zip(self.grids, self._sides, self.rounded_values or (True, True), strict=True)
        x, y = (float(grid.off / side) if rounded else 0.0 for grid, side, rounded in pairs)
        return x, y

    def losses_over_rows(self) -> Losses:
        from utmost.theory.estimates.design.covariance import largest_covariance_losses

        return self._in_units(largest_covariance_losses(self.solution.mechanism.noise, float(self.unit)))

    def alternatives_over_rows(self) -> dict[str, Losses]:
        from utmost.theory.estimates.design.covariance import covariance_alternatives

        moved = self.rows_each * (1 if self.terms.neighbours == "add-remove" else 2)
        return {name: self._in_units(by) for name, by in covariance_alternatives(self.privacy, moved).items()}

    def least_over_rows(self) -> Losses:
        from utmost.theory.estimates.design.covariance import LEAST

        return self.losses_at(*LEAST)

    def losses_at(self, *moments: float) -> Losses:
        from utmost.theory.estimates.design.covariance import covariance_losses

        return self._in_units(covariance_losses(self.solution.mechanism.noise, float(self.unit), *moments))

    def _in_units(self, losses: Losses) -> Losses:
        wanted = [loss for loss in shown_with(self.loss) if loss in ("absolute", "squared")]
        return in_units({"": losses}, wanted, self._units["covariance"])[""]

    @property
    def off_by_rounding(self) -> float:
        """With a = a' + d and b = b' + e, cov(a, b) - cov(a', b') is cov(d, b) + cov(a', e).

        No deviation of values in a range of 1 is above 1/2, and that of d or e is at most its largest size.
        """
        return sum(self._off) / 2 * self._units["covariance"]

    @property
    def rounds_to(self) -> str:
        steps = " and ".join(show_rational(grid.step) for grid in self.grids)
        return f"rounding to {steps}"

    @property
    def proved_of(self) -> str:
        return "the six sums it is made of"

    @property
    def _sides(self) -> tuple[Fraction, Fraction]:
        return self.grids[0].upper - self.grids[0].lower, self.grids[1].upper - self.grids[1].lower

    @property
    def _steepest(self) -> float:
        """No slope on the unit square is larger: two different values of x are a step apart at least."""
        return float(self.widths[0])

    @property
    def _units(self) -> dict[str, float]:
        """What 1 on the unit square is worth."""
        wide, high = (float(side) for side in self._sides)
        return {"covariance": wide * high, "correlation": 1.0, "slope": high / wide}

    def _sums(self, released: Mapping[str, Any]) -> list[int]:
        found = [released[name] for name in self.parts]
        if not all(type(x) is int for x in found):  # they may come from a report
            raise InvalidInput("what was released is six whole numbers.")
        return found


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
        ranges: dict[str, Any] = {"x_range": x_range, "y_range": y_range, "x_grid": x_grid, "y_grid": y_grid}
        ranges["whole"] = self.is_whole(x), self.is_whole(y)
        return self.pose(Covariance, privacy, where, fresh, x=x, y=y, loss=loss, expected_rows=expected_rows, **ranges)


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
    found = as_grid(ends[0], ends[1], grid)
    if found.least == found.most:
        raise InvalidInput(f"{name} holds {show_rational(found.lower)} alone, so nothing varies; give a wider range.")
    return found
