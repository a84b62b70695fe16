"""What questions about a column of numbers share: its values are cut to a public range and rounded to a grid.

A sum adds up values, a mean distances to the ends of the range; for the whole table, for public keys and for keys that
are found privately these are the same, and so is **how far one row moves them**:

* values c in steps, a <= c <= b: max(|a|, |b|) moves. Where rows are replaced, -c in one place and c' in another, or
  c' - c in one: if c and c' have one sign these are max(|c|, |c'|) exchanges; if they may have two, both integers may
  move one way, by |c| + |c'| in all: at most 2·max(|a|, |b|) moves of any kind.
* distances: a value u steps above the lower end of a range of W steps adds (u, W - u): W moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from utmost.backends.source import Source, as_column
from utmost.errors import InvalidInput, shown
from utmost.exact import show_rational
from utmost.exact.arrays import Floats
from utmost.privacy import Level
from utmost.queries.accuracy import CONFIDENCE
from utmost.queries.contributions import (
    Contribution,
    Grid,
    as_grid,
    cut_to,
    distances_to_ends,
    is_exact,
    range_of,
    values,
)
from utmost.queries.predicate import EVERY_ROW, Where
from utmost.queries.questions.expected import Losses, OfRows
from utmost.queries.questions.numbers import Adds
from utmost.queries.questions.question import Question, in_units, scaled, shown_with
from utmost.queries.report.words import figures
from utmost.queries.rounding_steps import DESIGN_UNITS, MOST_STEPS, default_step
from utmost.space.integers import Lattice, Moves

ROUNDED_SUM = "answer, interval and expected error are {}; leave grid out for a finer step"
Columns = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""Answers in the order of their keys, and the lower and upper ends of their intervals."""


@dataclass(frozen=True, eq=False, kw_only=True)
class OfColumn(Question):
    """A question about a column.

    Attributes
    ----------
    column : its name
    lower, upper : values beyond count as these
    grid : the step that values are rounded to; None takes one from bounds, column type, unit and level: see `steps.py`
    where : which rows take part
    whole : whether the column is of an integer type; None where only a report is at hand, which says the grid
    rounded_values : whether rounding to the grid may change values; None in reports of Utmost 0.2, which do not say
    """

    column: str
    lower: Any
    upper: Any
    grid: Any = None
    where: Where = EVERY_ROW
    whole: bool | None = None
    rounded_values: bool | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settle(column=as_column(self.column))
        if self.whole is not None:
            self.settle(rounded_values=not is_exact(self.whole, self.steps))
        _ = self.steps  # refused here, if it is none

    @cached_property
    def steps(self) -> Grid:
        """The public range of a value, and the steps it is rounded to."""
        if self.grid is not None:
            return as_grid(self.lower, self.upper, self.grid)
        step = default_step(self.lower, self.upper, self.whole, self.terms.unit.at_most, self.privacy, self.most_steps)
        return as_grid(self.lower, self.upper, step)

    @property
    def most_steps(self) -> int:
        """How many steps a bound may be from 0 where nobody names the grid."""
        return max(1, MOST_STEPS // self.rows_each)

    @property
    def off(self) -> Fraction:
        """How far rounding moves a value at most, in the unit of the column."""
        return Fraction(0) if self.rounded_values is False else self.steps.off

    @cached_property
    def is_coarse(self) -> bool:
        """Whether values are rounded to a coarser step than the one that is taken where nobody names one."""
        if not self.off:
            return False
        try:
            unit, most = self.terms.unit, self.most_default_steps
            return self.steps.step > default_step(self.lower, self.upper, False, unit.at_most, self.privacy, most)
        except InvalidInput:  # then a step must be named
            return True

    @property
    def most_default_steps(self) -> int:
        """As `most_steps`, for what is compared with the default."""
        return self.most_steps

    @property
    def rounds_to(self) -> str:
        return f"rounding to {show_rational(self.steps.step)}"

    @property
    def step(self) -> Fraction:
        """What one step of a released integer is worth, in the unit of the answer."""
        return self.steps.step

    @property
    def width(self) -> int:
        """The width of the range, in steps."""
        return self.steps.most - self.steps.least

    @property
    def cut(self) -> str:
        """What is done to values, in words."""
        return cut_to(self.steps, self.rounded_values is not False)

    @property
    def not_in_it(self) -> str:
        return super().not_in_it + self.rounding_in_it

    @property
    def rounding_in_it(self) -> str:
        """That intervals contain what rounding can change, where it can."""
        return f", what {self.rounds} can change included" if self.rounded_values is not False else ""

    @property
    def rounds(self) -> str:
        """What is rounded of what, in words."""
        return "rounding"

    @property
    def asked_of(self) -> dict[str, Any]:
        """The column, its range and the condition, as plain data."""
        return {"column": self.column, **self.range_asked, "where": self.where.text}

    @property
    def range_asked(self) -> dict[str, Any]:
        """The range and the step, and that values are rounded if they are, as plain data."""
        rounded = {"rounded_values": True} if self.rounded_values else {}
        return {**range_of(self.steps), **rounded, **getattr(self, "expectation", {})}


@dataclass(frozen=True, eq=False, kw_only=True)
class AddsValues(OfColumn, Adds):
    """What a column adds up to."""

    parts: ClassVar[tuple[str, ...]] = ("sum",)

    @property
    def reach_of_row(self) -> tuple[Moves, int]:
        largest = self.steps.moves("add-remove")
        if self.terms.neighbours == "add-remove":
            return "any", largest
        return ("any", 2 * largest) if self.steps.least < 0 < self.steps.most else ("exchange", largest)

    @property
    def range_of_row(self) -> tuple[int, int]:
        return min(self.steps.least, 0), max(self.steps.most, 0)

    @property
    def rows_rounded(self) -> int:
        """Of how many rows an interval contains what rounding can change: of all that there may be."""
        return DESIGN_UNITS * self.rows_each if self.most_rows is None else self.most_rows

    @property
    def of_rounded(self) -> bool:
        """Whether the answer is said to be about the rounded values: coarse steps, of rows that nobody counted."""
        return self.is_coarse and self.most_rows is None

    @property
    def rounding(self) -> Fraction:
        """How far rounding so many rows moves a sum; nothing, where the answer is about the rounded values."""
        return Fraction(0) if self.of_rounded else self.off * self.rows_rounded

    @property
    def off_by_rounding(self) -> float:
        return float(self.rounding) if self.is_coarse else 0.0  # a default step is so fine that it hardly matters

    @property
    def rounds(self) -> str:
        return f"rounding at most {self.rows_rounded:,} rows"

    @property
    def rounds_to(self) -> str:
        return f"{self.rounds} to {show_rational(self.steps.step)}"

    @property
    def about_rounded(self) -> str:
        """That the answer is about the rounded values, and how far these may be from the others, in words."""
        return (
            f"of the values rounded to {show_rational(self.steps.step)}; rounding itself moves the sum by at most "
            f"{figures(float(self.off))} for each row"
        )

    @property
    def rounding_in_it(self) -> str:
        return f"; it is {self.about_rounded}" if self.of_rounded else super().rounding_in_it

    @property
    def holds_of(self) -> str:
        """What the expected error is about, where that is the rounded values: also the probability of errors."""
        counts_steps = self.is_coarse and self.loss not in ("absolute", "squared")
        return self.about_rounded if self.of_rounded or counts_steps else ""

    @property
    def notes(self) -> tuple[str, ...]:
        return (*super().notes, ROUNDED_SUM.format(self.about_rounded)) if self.of_rounded else super().notes

    def contributions(self, source: Source) -> tuple[Contribution, ...]:
        return (values(source, self.column, self.steps, self.where.given),)


@dataclass(frozen=True, eq=False, kw_only=True)
class AddsDistances(OfRows, OfColumn, Adds):
    """How far values lie above the lower end of their range, and below the upper one: a mean is made of both sums."""

    parts: ClassVar[tuple[str, ...]] = ("above_lower", "below_upper")
    best_for: ClassVar[tuple[str, ...]] = ("absolute", "squared")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.width:
            raise InvalidInput(
                f"lower and upper are both {shown(self.lower)}, so the mean is public already; give a wider range."
            )

    @property
    def reach_of_row(self) -> tuple[Moves, int]:
        return self.terms.moves, self.width

    @property
    def range_of_row(self) -> tuple[int, int]:
        return 0, self.width

    def contributions(self, source: Source) -> tuple[Contribution, ...]:
        return distances_to_ends(source, self.column, self.steps, self.where.given)

    @property
    def worth(self) -> int:
        return self.width

    @property
    def span(self) -> float:
        """The width of the range."""
        return float(self.steps.upper - self.steps.lower)

    @property
    def noisy_sums(self) -> tuple[Any, Lattice, Level]:
        """The mechanism of the two sums, where they lie, and its level."""
        return self.solution.mechanism, self.lattice(), self.privacy

    @property
    def worst(self) -> float:
        """The loss if the mean comes out at the other end of its range."""
        return scaled(self.loss, float(self.width) ** (2 if self.loss == "squared" else 1), float(self.step))

    @property
    def holds(self) -> str:
        """What the expected error rests on; at an end of the range, one of the two noises is all of the error."""
        return (
            "to first order; the upper end is for a mean at an end of the range, the lower one for a mean in its "
            "middle; where it is more than a tenth of the range, or more than the mean is away from an end, it is too "
            "large, for answers lie within the range; worst: the range"
        )

    def losses_over_rows(self) -> Losses:
        return self.losses_at(0)

    def alternatives_over_rows(self) -> dict[str, Losses]:
        from utmost.theory.estimates.design.mean import mean_alternatives

        _, lattice, level = self.noisy_sums
        return in_units(mean_alternatives(lattice, level, self.width), shown_with(self.loss), self.step)

    def losses_at(self, *moments: float) -> Losses:
        from utmost.theory.estimates.design.mean import mean_losses

        found = mean_losses(self.noisy_sums[0], *moments)
        return in_units({"": found}, shown_with(self.loss), self.step)[""]

    def least_over_rows(self) -> Losses:
        return self.losses_at(0.5)

    @property
    def off_by_rounding(self) -> float:
        return float(self.off)

    def means(self, above: NDArray[Any], below: NDArray[Any]) -> Columns:
        """The means of many groups from their two sums each, with their intervals."""
        from utmost.theory.estimates.design.mean import mean_intervals

        together = above.astype(object) + below
        known = np.asarray(together > 0, dtype=bool)
        shares = np.asarray(above / np.where(known, together, 1), dtype=np.float64)
        shares = np.where(known, np.clip(shares, 0.0, 1.0), 0.5)  # the middle, where nobody seems to be
        low, high = mean_intervals(self.noisy_sums[0], above, below, CONFIDENCE)
        off = float(self.off)
        return self._in_range(shares), self._in_range(low, -off), self._in_range(high, off)

    def _in_range(self, shares: Floats, more: float = 0.0) -> Floats:
        lower, upper = float(self.steps.lower), float(self.steps.upper)
        return np.clip(lower + (upper - lower) * shares + more, lower, upper)
