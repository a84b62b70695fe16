"""What one row adds: the integers of a question as sums over rows, and how far one neighbour moves them.

A question about a whole table, one about public keys and one about keys that are found privately add up the same
things: ones, values, distances to the ends of a range. Each is one class here, with what a row adds, between which
numbers that lies, and how many moves it makes at most:

* ones: a row that comes or goes moves one integer by 1; one that is replaced moves one down and another up by 1.
* values c in steps, a <= c <= b: max(|a|, |b|) moves. Where rows are replaced, -c in one place and c' in another, or
  c' - c in one: if c and c' have one sign these are max(|c|, |c'|) exchanges; if they may have two, both integers may
  move one way, by |c| + |c'| in all: at most 2·max(|a|, |b|) moves of any kind.
* distances: a value u steps above the lower end of a range of W steps adds (u, W - u): W moves.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput, shown
from utmost.exact.arrays import Floats
from utmost.privacy import Level
from utmost.release.accuracy import CONFIDENCE
from utmost.release.arguments import Of, in_units, scaled, shown_with
from utmost.release.conditions import EVERY_ROW, Where
from utmost.release.contributions import Contribution, distances_to_ends, ones, statement, values
from utmost.release.questions.of_column import OfColumn
from utmost.release.questions.question import Question, as_of
from utmost.release.source import Source, Statement
from utmost.space.integers import Lattice, Line, Moves

Columns = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]
"""Answers in the order of their keys, and the lower and upper ends of their intervals."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Adds(Question):
    """A question whose integers are sums over rows.

    Attributes
    ----------
    loss : what the mechanism is best for
    """

    parts: ClassVar[tuple[str, ...]] = ()
    """What the integers are called."""

    loss: str = "absolute"

    @abstractmethod
    def contributions(self, source: Source) -> tuple[Contribution, ...]:
        """What a row adds to each integer."""

    @property
    def reach_of_row(self) -> tuple[Moves, int]:
        """What one row does to several integers, and how many such moves it makes at most."""
        raise NotImplementedError

    @property
    def range_of_row(self) -> tuple[int, int]:
        """Between which integers, 0 among them, what a row adds lies."""
        raise NotImplementedError

    def line(self, moved: int) -> Line:
        """Where one integer lies that a row, or one in its place, moves by so much."""
        first, last = (self.most_rows * end for end in self.range_of_row)
        return Line(first, last, min(moved * self.rows_each, last - first))

    def lattice(self, groups: int = 1) -> Lattice:
        """Where all integers of so many groups lie, each row being in one of them."""
        moves, reach = self.reach_of_row
        low, high = (self.most_rows * end for end in self.range_of_row)
        return Lattice(len(self.parts) * groups, moves, reach * self.rows_each, low, high)

    def statement(self, source: Source, secret: bytes) -> Statement:
        rows = dict(zip(self.parts, self.contributions(source), strict=True))
        return statement(source, self.terms.unit, self.rows_each, rows, secret)


@dataclass(frozen=True, eq=False, kw_only=True)
class AddsOnes(Adds):
    """How many rows, or people, there are.

    Attributes
    ----------
    where : which rows take part
    of : what is counted
    """

    parts: ClassVar[tuple[str, ...]] = ("count",)

    where: Where = EVERY_ROW
    of: Of = "rows"

    def __post_init__(self) -> None:
        self.settle(of=as_of(self.of, self.terms.unit))  # first: how many rows take part depends on it
        super().__post_init__()

    @property
    def reach_of_row(self) -> tuple[Moves, int]:
        return self.terms.moves, 1

    @property
    def range_of_row(self) -> tuple[int, int]:
        return 0, 1

    def contributions(self, source: Source) -> tuple[Contribution, ...]:
        return (ones(source, self.where.given),)


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
        from utmost.design.noise.mean import mean_losses

        losses = mean_losses(self.noisy_sums[0], self.rows_of_mean, self.width)
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
