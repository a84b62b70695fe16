"""The question: how two columns vary together: covariance, correlation and slope.

Six integers are released with one vector of noise. With u and w how far two values lie above the lower ends of their
ranges, in steps, and U and W the widths of the ranges, a row adds U W times (U-u)(W-w), (U-u)w, u(W-w) and u w, which
add up to (U W)^2, and W^2 u(U-u) and U^2 w(W-w), each at most a quarter of that. All are 0 or more, so a row that comes
or goes makes at most 3/2 (U W)^2 moves of "any" kind, and one that is replaced so many exchanges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from utmost.errors import InvalidInput, shown
from utmost.exact import Number, as_literal, show_rational
from utmost.release.accuracy import BY_LAW, CONFIDENCE, After, Before
from utmost.release.arguments import Condition, Privacy
from utmost.release.conditions import EVERY_ROW, Where
from utmost.release.contributions import Contribution, Grid, as_grid, cut_to, distances_to_ends
from utmost.release.options import COLUMN, GRID, WHERE, Option
from utmost.release.questions.numbers import Parts
from utmost.release.questions.question import Asks, Made, asking, in_units, scaled, shown_with
from utmost.release.source import Source, as_column
from utmost.space.integers import Moves

MOST_AREA = 2**24
"""The largest product of both widths in steps, so that its square stays far below 2^63."""
HOLDS = (
    "average: of the covariance, if every unit has both values and they are spread evenly over their ranges, to first "
    "order; worst: the largest covariance there can be, if nobody has values"
)
GIVEN = f"{BY_LAW}, of the values as they are cut and rounded, divided by how many there are"


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
class Covariance(Parts):
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
        replace(GRID, name="x_grid", help="The step that values of --x are rounded to; 1 without it."),
        replace(GRID, name="y_grid", help="The step that values of --y are rounded to; 1 without it."),
        WHERE,
    )
    one_kind: ClassVar = False
    parts: ClassVar[tuple[str, ...]] = ("low_low", "low_high", "high_low", "high_high", "inside_x", "inside_y")
    best_for: ClassVar = ("absolute", "squared")
    independent: ClassVar = True  # the law of a weighted sum of noises is known then

    x: str
    y: str
    x_range: Any
    y_range: Any
    x_grid: Any = 1
    y_grid: Any = 1
    where: Where = EVERY_ROW

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settle(x=as_column(self.x), y=as_column(self.y))
        if self.area > MOST_AREA:
            raise InvalidInput(
                f"the ranges have {self.widths[0]} and {self.widths[1]} steps, and their product is squared: at most "
                "2^24 together; choose a coarser x_grid or y_grid."
            )

    @cached_property
    def grids(self) -> tuple[Grid, Grid]:
        """The public ranges of both values, and the steps they are rounded to."""
        return _as_range("x_range", self.x_range, self.x_grid), _as_range("y_range", self.y_range, self.y_grid)

    @property
    def widths(self) -> tuple[int, int]:
        """The widths of both ranges, in steps."""
        return self.grids[0].most - self.grids[0].least, self.grids[1].most - self.grids[1].least

    @property
    def area(self) -> int:
        """The product of both widths: its square stands for 1 in the released integers."""
        return self.widths[0] * self.widths[1]

    @property
    def step(self) -> Fraction:
        return self._sides[0] * self._sides[1] / self.area**2

    @property
    def words(self) -> str:
        first, second = (cut_to(grid).removeprefix("values ") for grid in self.grids)
        words = f"How do {self.x}, values {first}, and {self.y}, values {second}, vary together"
        return asking(words, self.where, self.kept)

    @property
    def public(self) -> dict[str, Any]:
        ranges = [[str(as_literal(grid.lower)), str(as_literal(grid.upper))] for grid in self.grids]
        steps = [str(as_literal(grid.step)) for grid in self.grids]
        asked: dict[str, Any] = {"x": self.x, "y": self.y, "x_range": ranges[0], "y_range": ranges[1]}
        asked |= {"x_grid": steps[0], "y_grid": steps[1], "where": self.where.text}
        return {"question": self.name, **asked, **self.judged_by}

    @property
    def reach_of_row(self) -> tuple[Moves, int]:
        return self.terms.moves, 3 * self.area**2 // 2

    @property
    def range_of_row(self) -> tuple[int, int]:
        return 0, self.area**2

    def contributions(self, source: Source) -> tuple[Contribution, ...]:
        """The six products of a row that has both values."""
        (u, less_u), (w, less_w) = (
            distances_to_ends(source, column, grid, where)
            for column, grid, where in zip((self.x, self.y), self.grids, (self.where.given, None), strict=True)
        )
        assert u.taking_part is not None, "only some rows have a value"
        assert w.taking_part is not None, "only some rows have a value"
        both = u.taking_part & w.taking_part
        (wide, high), area = self.widths, self.area
        pairs = ((less_u, less_w, area), (less_u, w, area), (u, less_w, area), (u, w, area))
        squares = ((u, less_u, high**2), (w, less_w, wide**2))
        return tuple(
            Contribution(both, one.value * other.value * scale, 0, area**2) for one, other, scale in pairs + squares
        )

    def value(self, released: Mapping[str, Any]) -> dict[str, float]:
        from utmost.design.noise.covariance import covariance_estimates

        found = covariance_estimates(self._sums(released), self.area**2)
        steepest = self._steepest
        found["slope"] = min(max(found["slope"], -steepest), steepest)
        return {name: value * self._units[name] for name, value in found.items()}

    @property
    def average(self) -> float:
        return self.losses["Utmost"][self.loss]

    def before(self) -> Before:
        worst = scaled(self.loss, 0.25 if self.loss == "absolute" else 0.0625, self._units["covariance"])
        return Before(self.loss, self.average, worst, holds=HOLDS)

    def after(self, released: Mapping[str, Any]) -> After:
        from utmost.design.noise.covariance import covariance_intervals

        noise, sums = self.solution.mechanism.noise, self._sums(released)
        found = covariance_intervals(noise, sums, self.area**2, self._steepest, CONFIDENCE)
        ends = {name: (low * self._units[name], high * self._units[name]) for name, (low, high) in found.items()}
        return After(ends, given=GIVEN)

    def compared(self) -> dict[str, dict[str, float]]:
        from utmost.design.noise.covariance import covariance_alternatives, covariance_losses

        moved = self.rows_each * (1 if self.terms.neighbours == "add-remove" else 2)
        losses = {"Utmost": covariance_losses(self.solution.mechanism.noise, float(self.area) ** 2, self.most_rows)}
        losses |= covariance_alternatives(self.privacy, moved, self.most_rows)
        wanted = [loss for loss in shown_with(self.loss) if loss in ("absolute", "squared")]
        unit = self._units["covariance"]
        return in_units(losses, wanted, unit)

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
        x_grid: Number = 1,
        y_grid: Number = 1,
        where: Condition = None,
        loss: str = "absolute",
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
        x_grid, y_grid : numbers
            The steps that values are rounded to, half up; the ranges have at most 2^24 pairs of steps.
        where : condition, optional
            Only rows with this condition take part.
        loss : "absolute" or "squared"
            What the noise is best for.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is a dict with "covariance", "correlation" and "slope"; `answer.intervals` holds each of the
            clamped values with 95 %, whatever the table holds.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41] * 250, "hours": [30, 10, 40, 20] * 250})
        >>> s = um.Session(table, "survey", um.rows(at_most=1200), "add-remove", budget=1)
        >>> s.covariance("age", "hours", (0, 100), (0, 50), privacy=1).value["correlation"] > 0.5
        True
        """
        ranges = {"x_range": x_range, "y_range": y_range, "x_grid": x_grid, "y_grid": y_grid}
        return self.pose(Covariance, privacy, where, fresh, x=x, y=y, loss=loss, **ranges)


def _as_range(name: str, ends: Any, grid: Any) -> Grid:
    """A public range of more than one value."""
    if isinstance(ends, str | bytes) or not isinstance(ends, Sequence) or len(ends) != 2:
        raise InvalidInput(f"{name} is {shown(ends)}; give the public range of values as a pair, such as (0, 100).")
    found = as_grid(ends[0], ends[1], grid)
    if found.least == found.most:
        raise InvalidInput(f"{name} holds {show_rational(found.lower)} alone, so nothing varies; give a wider range.")
    return found
