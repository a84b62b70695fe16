"""Counts that lie inside each other: rows at or below several edges, or with conditions each of which implies the next.

The rows between one count and the next are disjoint cells, so noise on the cells is smaller than noise on the counts.
Released are the cells, which are added up (`AddedCells`); or weighted sums of them, of which the counts are least
squares estimates (`WeightedSums`); or the counts themselves (`NoisyCounts`), where these are few. Privacy does not rest
on how conditions were read: the engine puts each row into one cell at most, the first of the chain that is true of it,
and a count is made of cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from utmost.privacy import Level
from utmost.release.accuracy import CONFIDENCE, After, Before
from utmost.release.questions.cell_counts import CellStrategy, NoisyCounts
from utmost.release.questions.numbers import Vector, noise_alternatives
from utmost.release.questions.question import shown_with
from utmost.space.integers import Lattice, Strategy

if TYPE_CHECKING:
    from utmost.design.workload import Workload
    from utmost.solution import Solution

ROUNDED = 1e-6
"""What estimates may be off by in floats."""
SUMMED = (
    "the counts lie inside each other: released are weighted sums of the rows between them, and a count is the least "
    "squares estimate made of all of them, rounded"
)
ADDED = (
    "the counts lie inside each other: released are the rows of each that the one inside it leaves out, and a count is "
    "their sum"
)
MAY_FALL = "; it may come out below one inside it"


def running_counts(cells: Lattice, loss: str) -> Workload:
    """The workload of nested counts: the running sums of the cells between them.

    Parameters
    ----------
    cells : Lattice
        The cells between one count and the next, the innermost first, and what one neighbour adds to them.
    loss : str
        What the mechanism is best for: the loss of one count, averaged over them.
    """
    from utmost.design.workload import Workload

    return Workload("running", cells.dimension, cells.moves, cells.reach, cells.upper, loss)


def nested_strategy(
    solution: Solution, names: tuple[str, ...], chain: tuple[str, ...], cells: Lattice
) -> NestedStrategy:
    """What a solution for nested counts releases: the counts, the cells between them, or weighted sums of these.

    Parameters
    ----------
    solution : Solution
        From a report it may be a solution of anything: then it is taken for one about cells, whose space it will not
        have.
    names : tuple of str
        What the counts are called, in the order in which they are asked for.
    chain : tuple of str
        The same names, the innermost count first.
    cells : Lattice
        The cells between one count and the next, and what one neighbour adds to them.
    """
    space, counts = solution.problem.space, counts_of_cells(cells)
    if isinstance(space, Strategy) and space.cells == cells:
        return WeightedSums(solution=solution, names=names, chain=chain, cells=cells, sums=space)
    if space == counts:
        return NoisyCounts(solution=solution, names=names, counts=counts, chain=chain)
    return AddedCells(solution=solution, names=names, chain=chain, cells=cells)


def counts_of_cells(cells: Lattice) -> Lattice:
    """Where the running sums of disjoint cells lie, and what one neighbour adds to them.

    A row that comes or goes moves some of them, all in one direction; so does a row that is replaced, for the
    conditions that one of both rows has and the other lacks all lie between the two rows' innermost ones.
    """
    return replace(cells, moves="one-way")


@dataclass(frozen=True, eq=False, kw_only=True)
class AddedCells(CellStrategy):
    """Noise on the disjoint cells between nested counts, which are added up.

    Attributes
    ----------
    names : tuple of str
        What the counts are called, in the order in which they are asked for.
    chain : tuple of str
        The same names, the innermost count first.
    cells : Lattice
        The cells, and what one neighbour adds to them.
    """

    names: tuple[str, ...]
    chain: tuple[str, ...]
    cells: Lattice

    @property
    def space(self) -> Lattice:
        return self.cells

    @property
    def labels(self) -> list[str]:
        return [f"cell {i + 1}" for i in range(len(self.chain))]

    def point(self, cells: Mapping[str, Any]) -> tuple[int, ...]:
        return self.cells.clamp([cells[f"c{i}"] for i in range(len(self.chain))])

    def estimates(self, released: Mapping[str, Any]) -> dict[Any, int]:
        sums = accumulate(released[label] for label in self.labels)
        return by_name(self.names, self.chain, sums)

    def intervals(self, released: Mapping[str, Any]) -> dict[Any, tuple[Any, Any]]:
        from utmost.design.noise.sums import sum_half_widths

        counts = self.estimates(released)
        halves = by_name(self.names, self.chain, sum_half_widths(self.solution.mechanism.noise, CONFIDENCE))
        return {name: (count - halves[name], count + halves[name]) for name, count in counts.items()}

    def average(self, loss: str) -> float:
        return self._losses((loss,))[loss]

    def before(self, loss: str) -> Before:
        outermost = self._losses((loss,), last=True)[loss]
        return Before(loss, self.average(loss), outermost, holds="the worst is the outermost count")

    def off_by_more(self, error: Fraction) -> float:
        loss = f"within {error // 1}"
        return self._losses((loss,))[loss]

    def compared(self, level: Level, loss: str) -> dict[str, dict[str, float]]:
        losses = shown_with(loss)
        others = noise_alternatives(counts_of_cells(self.cells), level, losses)
        return {"Utmost": self._losses(losses), **others}

    def _losses(self, losses: Sequence[str], last: bool = False) -> dict[str, float]:
        from utmost.design.noise.sums import sum_losses

        return sum_losses(self.solution.mechanism.noise, losses, last)

    @property
    def note(self) -> str:
        return ADDED

    @property
    def proved_of(self) -> str:
        of_nested = self.solution.problem.question == "number.nested"
        return "the mean absolute error of one count" if of_nested else "the variance of one count"


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightedSums(CellStrategy):
    """Noise on weighted sums of the cells between nested counts, which are least squares estimates, rounded.

    Attributes
    ----------
    names : tuple of str
        What the counts are called, in the order in which they are asked for.
    chain : tuple of str
        The same names, the innermost count first.
    cells : Lattice
        The cells, and what one neighbour adds to them.
    sums : Strategy
        The sums that are released.
    """

    names: tuple[str, ...]
    chain: tuple[str, ...]
    cells: Lattice
    sums: Strategy

    @property
    def space(self) -> Strategy:
        return self.sums

    @property
    def labels(self) -> list[str]:
        return [f"sum {i + 1}" for i in range(self.sums.dimension)]

    def point(self, cells: Mapping[str, Any]) -> tuple[int, ...]:
        clamped = self.cells.clamp([cells[f"c{i}"] for i in range(len(self.chain))])
        return tuple((self.sums.matrix @ np.array(clamped)).tolist())

    def estimates(self, released: Mapping[str, Any]) -> dict[Any, int]:
        rounded = (math.floor(count + Fraction(1, 2)) for count in self._least_squares(released))
        return by_name(self.names, self.chain, rounded)

    def _least_squares(self, released: Mapping[str, Any]) -> list[Fraction]:
        """The counts before they are rounded, the innermost first."""
        from utmost.mechanism.strategies import running_counts

        return running_counts(self.sums, [released[label] for label in self.labels])

    def intervals(self, released: Mapping[str, Any]) -> dict[Any, tuple[Any, Any]]:
        """The whole numbers within the half width of an estimate, and what it is rounded to."""
        from utmost.design.workload.strategies import count_errors

        rounded, halves = self.estimates(released), count_errors(self.solution)[1].tolist()
        ends = {}
        for name, exact, half in zip(self.chain, self._least_squares(released), halves, strict=True):
            low, high = math.ceil(float(exact) - half - ROUNDED), math.floor(float(exact) + half + ROUNDED)
            ends[name] = (min(low, rounded[name]), max(high, rounded[name]))
        return {name: ends[name] for name in self.names}

    def average(self, loss: str) -> float:
        return self._losses()[loss]

    def before(self, loss: str) -> Before:
        outermost = self._losses(last=True)[loss]
        return Before(loss, self.average(loss), outermost, holds="the worst is the outermost count")

    def off_by_more(self, error: Fraction) -> float:
        from utmost.design.workload.strategies import off_by_more

        return off_by_more(self.solution, float(error))

    def compared(self, level: Level, loss: str) -> dict[str, dict[str, float]]:
        losses = tuple(each for each in shown_with(loss) if each in ("absolute", "squared"))
        ours, others = self._losses(), noise_alternatives(counts_of_cells(self.cells), level, losses)
        return {"Utmost": {each: ours[each] for each in losses}, **others}

    def _losses(self, last: bool = False) -> dict[str, float]:
        from utmost.design.workload.strategies import count_losses

        return count_losses(self.solution, last)

    @property
    def note(self) -> str:
        return SUMMED

    @property
    def proved_of(self) -> str:
        return "the variance of one count"


NestedStrategy: TypeAlias = NoisyCounts | AddedCells | WeightedSums
"""What may be released for counts that lie inside each other."""


def by_name(names: Iterable[str], chain: Iterable[str], counts: Iterable[Any]) -> dict[Any, Any]:
    """Nested counts, the innermost first, by their names in the order in which they are asked for."""
    nested = dict(zip(chain, counts, strict=True))
    return {name: nested[name] for name in names}


def increasing(counts: Sequence[int]) -> list[int]:
    """The nearest whole numbers that do not fall: where counts do, neighbours take their mean (isotonic regression).

    Whatever the true counts, if these do not fall, the sum of squared errors is no larger before rounding.

    Examples
    --------
    >>> increasing([3, 1, 2, 7, 6])
    [2, 2, 2, 7, 7]
    """
    blocks: list[tuple[int, int]] = []  # sums and sizes, their means increasing
    for count in counts:
        total, size = int(count), 1
        while blocks and blocks[-1][0] * size >= total * blocks[-1][1]:
            before = blocks.pop()
            total, size = total + before[0], size + before[1]
        blocks.append((total, size))
    return [(2 * total + size) // (2 * size) for total, size in blocks for _ in range(size)]


# ---- of several quantiles, until these hold a strategy, too ----


@dataclass(frozen=True, eq=False, kw_only=True)
class Chained(Vector):
    """Several counts that may be nested: then the cells between them are released, and added up.

    Privacy does not rest on how conditions were read: the engine puts each row into one cell at most, the first of the
    chain that is true of it, and a count is made of cells.
    """

    @property
    def chain(self) -> tuple[str, ...]:
        """The names of nested counts, the innermost first; empty where they are not nested."""
        raise NotImplementedError

    @property
    def flat(self) -> Lattice:
        """Where the counts lie if they are not nested."""
        raise NotImplementedError

    @property
    def between(self) -> Lattice:
        """The cells between nested counts: disjoint."""
        return self.counts_of(len(self.names), self.terms.moves)

    @property
    def nested(self) -> Lattice:
        """The nested counts themselves.

        A row that comes or goes moves some of them, all in one direction; so does a row that is replaced, for the
        conditions that one of both rows has and the other lacks all lie between the two rows' innermost ones.
        """
        return replace(self.between, moves="one-way")

    @property
    def space(self) -> Any:
        if not self.chain:
            return self.flat
        found = self.solution.problem.space  # from a report, it may be anything
        if isinstance(found, Strategy) and found.cells == self.between:
            return found
        return self.nested if found == self.nested else self.between

    @property
    def added(self) -> bool:
        """Whether cells are released, which are added up."""
        return bool(self.chain) and self.space == self.between

    @property
    def summed(self) -> bool:
        """Whether weighted sums of cells are released, of which counts are least squares estimates."""
        return bool(self.chain) and isinstance(self.space, Strategy)

    def point(self, found: Mapping[str, int]) -> tuple[int, ...]:
        if not self.chain:
            return super().point(found)
        cells = [found[f"c{i}"] for i in range(len(self.chain))]
        if self.added:
            return self.between.clamp(cells)
        if self.summed:
            return tuple((self.space.matrix @ np.array(self.between.clamp(cells))).tolist())
        sums = dict(zip(self.chain, accumulate(cells), strict=True))
        return self.nested.clamp([sums[name] for name in self.names])

    def released(self, drawn: Any) -> dict[str, Any]:
        if not self.added and not self.summed:
            return super().released(drawn)
        each = "cell" if self.added else "sum"
        return {f"{each} {i + 1}": int(x) for i, x in enumerate(drawn)}

    def value(self, released: Mapping[str, Any]) -> Any:
        return self.noisy(released)

    def noisy(self, released: Mapping[str, Any]) -> dict[str, int]:
        """The counts as they follow from what was released, with errors of mean 0 (up to rounding)."""
        if not self.added and not self.summed:
            return {name: released[name] for name in self.names}
        if self.summed:
            found = [math.floor(count + Fraction(1, 2)) for count in self._estimates(released)]
        else:
            found = list(accumulate(released[f"cell {i + 1}"] for i in range(len(self.chain))))
        sums = dict(zip(self.chain, found, strict=True))
        return {name: sums[name] for name in self.names}

    def _estimates(self, released: Mapping[str, Any]) -> list[Fraction]:
        """Running counts by least squares."""
        from utmost.mechanism.strategies import running_counts

        return running_counts(self.space, [released[f"sum {i + 1}"] for i in range(self.space.dimension)])

    @property
    def average(self) -> float:
        return self._sums((self.loss,))[self.loss] if self.added or self.summed else super().average

    @property
    def is_released(self) -> bool:
        return not self.added and not self.summed

    def off_by_more(self, error: Fraction) -> float:
        if self.summed:
            from utmost.design.workload.strategies import off_by_more

            return off_by_more(self.solution, float(error / self.step))
        if not self.added:
            return super().off_by_more(error)
        loss = f"within {error // self.step}"
        return self._sums((loss,))[loss]

    def before(self) -> Before:
        if not self.added and not self.summed:
            return super().before()
        last = self._sums((self.loss,), last=True)[self.loss]
        return Before(self.loss, self.average, last, holds="the worst is the outermost count")

    def after(self, released: Mapping[str, Any]) -> After:
        if not self.added and not self.summed:
            return super().after(released)
        if self.summed:
            return After(self._around_estimates(released), given=self.by_law)
        from utmost.design.noise.sums import sum_half_widths

        widths = sum_half_widths(self.solution.mechanism.noise, CONFIDENCE)
        half, sums = dict(zip(self.chain, widths, strict=True)), self.noisy(released)
        return After(
            {name: (sums[name] - half[name], sums[name] + half[name]) for name in self.names}, given=self.by_law
        )

    def _around_estimates(self, released: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
        """The whole numbers within the half width of an estimate, and what it is rounded to."""
        from utmost.design.workload.strategies import count_errors

        halves, shown = count_errors(self.solution)[1], self.noisy(released)
        found = {}
        estimates = map(float, self._estimates(released))
        for name, estimate, half in zip(self.chain, estimates, halves.tolist(), strict=True):
            low, high = math.ceil(estimate - half - ROUNDED), math.floor(estimate + half + ROUNDED)
            found[name] = (min(low, shown[name]), max(high, shown[name]))
        return {name: found[name] for name in self.names}

    def compared(self) -> dict[str, dict[str, float]]:
        if not self.added and not self.summed:
            return super().compared()
        losses = shown_with(self.loss)
        if self.summed:
            losses = tuple(loss for loss in losses if loss in ("absolute", "squared"))
        return {"Utmost": self._sums(losses), **noise_alternatives(self.nested, self.privacy, losses)}

    @property
    def proved_of(self) -> str:
        if not self.chain:
            return ""
        if self.added and self.solution.problem.question == "number.nested":
            return "the mean absolute error of one count"
        return "the variance of one count" if self.summed or self.added else "counts that may overlap"

    @property
    def notes(self) -> tuple[str, ...]:
        how = ADDED if self.added else SUMMED if self.summed else ""
        may_fall = "" if getattr(self, "monotone", False) else "; it may come out below one inside it"
        return (how + may_fall,) if how else ()

    def _sums(self, losses: tuple[str, ...], last: bool = False) -> dict[str, float]:
        from utmost.design.noise.sums import sum_losses
        from utmost.design.workload.strategies import count_losses

        if self.summed:
            found = count_losses(self.solution, last)
            return {loss: found[loss] for loss in losses}
        return sum_losses(self.solution.mechanism.noise, losses, last)


@dataclass(frozen=True, eq=False, kw_only=True)
class Nested(Chained):
    """Counts each of which is part of the next, in the order of their names."""

    @property
    def chain(self) -> tuple[str, ...]:
        return self.names

    @property
    def flat(self) -> Lattice:
        return self.nested
