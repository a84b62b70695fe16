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

from utmost.errors import InvalidInput, shown
from utmost.exact.arrays import Floats
from utmost.privacy import Level
from utmost.release.accuracy import CONFIDENCE
from utmost.release.conditions import EVERY_ROW, Where
from utmost.release.contributions import Contribution, Grid, as_grid, cut_to, distances_to_ends, range_of, values
from utmost.release.questions.numbers import Adds
from utmost.release.questions.question import Question, in_units, scaled, shown_with
from utmost.release.source import Source, as_column
from utmost.space.integers import Lattice, Moves

Columns = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""Answers in the order of their keys, and the lower and upper ends of their intervals."""


@dataclass(frozen=True, eq=False, kw_only=True)
class OfColumn(Question):
    """A question about a column.

    Attributes
    ----------
    column : its name
    lower, upper : values beyond count as these
    grid : the step that values are rounded to
    where : which rows take part
    """

    column: str
    lower: Any
    upper: Any
    grid: Any = 1
    where: Where = EVERY_ROW

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settle(column=as_column(self.column))
        _ = self.steps  # refused here, if it is none

    @cached_property
    def steps(self) -> Grid:
        """The public range of a value, and the steps it is rounded to."""
        return as_grid(self.lower, self.upper, self.grid)

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
        return cut_to(self.steps)

    @property
    def asked_of(self) -> dict[str, Any]:
        """The column, its range and the condition, as plain data."""
        return {"column": self.column, **range_of(self.steps), "where": self.where.text}


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

    def contributions(self, source: Source) -> tuple[Contribution, ...]:
        return (values(source, self.column, self.steps, self.where.given),)


@dataclass(frozen=True, eq=False, kw_only=True)
class AddsDistances(OfColumn, Adds):
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
    def noisy_sums(self) -> tuple[Any, Lattice, Level]:
        """The mechanism of the two sums, where they lie, and its level."""
        return self.solution.mechanism, self.lattice(), self.privacy

    @property
    def rows_of_mean(self) -> float:
        """Of how many rows the stated accuracy is."""
        return self.most_rows

    @property
    def average(self) -> float:
        return self.average_of(self.rows_of_mean)

    def average_of(self, rows: float) -> float:
        """The expected loss of the mean of so many rows, to first order."""
        from utmost.design.noise.mean import mean_losses

        losses = mean_losses(self.noisy_sums[0], rows, self.width)
        return scaled(self.loss, losses[self.loss], float(self.step))

    @property
    def worst(self) -> float:
        """The loss if the mean comes out at the other end of its range."""
        return scaled(self.loss, float(self.width) ** (2 if self.loss == "squared" else 1), float(self.step))

    def compared(self) -> dict[str, dict[str, float]]:
        from utmost.design.noise.mean import mean_alternatives, mean_losses

        (mechanism, lattice, level), rows = self.noisy_sums, self.rows_of_mean
        losses = {"Utmost": mean_losses(mechanism, rows, self.width)}
        losses |= mean_alternatives(lattice, level, rows, self.width)
        return in_units(losses, shown_with(self.loss), self.step)

    def means(self, above: NDArray[Any], below: NDArray[Any]) -> Columns:
        """The means of many groups from their two sums each, with their intervals."""
        from utmost.design.noise.mean import mean_intervals

        together = above.astype(object) + below
        known = np.asarray(together > 0, dtype=bool)
        shares = np.asarray(above / np.where(known, together, 1), dtype=np.float64)
        shares = np.where(known, np.clip(shares, 0.0, 1.0), 0.5)  # the middle, where nobody seems to be
        low, high = mean_intervals(self.noisy_sums[0], above, below, CONFIDENCE)
        return self._in_range(shares), self._in_range(low), self._in_range(high)

    def _in_range(self, shares: Floats) -> Floats:
        lower, upper = float(self.steps.lower), float(self.steps.upper)
        return np.clip(lower + (upper - lower) * shares, lower, upper)
