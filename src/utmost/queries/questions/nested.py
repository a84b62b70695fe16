"""Nested counts: rows at or below several edges, or that meet conditions each of which implies the next.

The rows between one count and the next are disjoint cells, so noise on the cells is smaller than noise on the counts.
Released are the cells, which are added up (`AddedCells`); or weighted sums of them, from which the counts are least
squares estimates (`WeightedSums`); or, if there are few, the counts themselves (`NoisyCounts`). Privacy does not depend
on the analysis of conditions: the engine puts each row into at most one cell, that of the first condition of the chain
that it meets, and counts are sums of cells.
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
from utmost.queries.accuracy import CONFIDENCE, Before
from utmost.queries.losses import reported_losses
from utmost.queries.questions.alternatives import noise_alternatives
from utmost.queries.questions.cell_counts import CellStrategy, NoisyCounts
from utmost.space.integers import Lattice, Strategy

if TYPE_CHECKING:
    from utmost.design.workload import Workload
    from utmost.solution import Solution

ROUNDED = 1e-6
"""Tolerance for the floating-point error of estimates."""
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
        The cells between one count and the next, the innermost first, with their sensitivity set.
    loss : str
        The loss of one count, whose average over counts the mechanism is designed for.
    """
    from utmost.design.workload import Workload

    return Workload("running", cells.dimension, cells.moves, cells.reach, cells.upper, loss)


def nested_strategy(
    solution: Solution, names: tuple[str, ...], chain: tuple[str, ...], cells: Lattice
) -> NestedStrategy:
    """The strategy of a solution for nested counts: noise on counts, on cells, or on weighted sums of cells.

    Parameters
    ----------
    solution : Solution
        From a report it may be any solution: then it is taken for one of cells, and refused later by its space.
    names : tuple of str
        The names of the counts, in the order of the question.
    chain : tuple of str
        The same names, the innermost count first.
    cells : Lattice
        The cells between one count and the next, with their sensitivity set.
    """
    space, counts = solution.problem.space, counts_of_cells(cells)
    if isinstance(space, Strategy) and space.cells == cells:
        return WeightedSums(solution=solution, names=names, chain=chain, cells=cells, sums=space)
    if space == counts:
        return NoisyCounts(solution=solution, names=names, counts=counts, chain=chain)
    return AddedCells(solution=solution, names=names, chain=chain, cells=cells)


def counts_of_cells(cells: Lattice) -> Lattice:
    """The space of the running sums of disjoint cells, with its sensitivity set.

    A row that is added or removed changes some of the sums, all in one direction. So does a row that is replaced: the
    conditions that only one of the two rows meets all lie between the two rows' innermost ones.
    """
    return replace(cells, moves="one-way")


@dataclass(frozen=True, eq=False, kw_only=True)
class AddedCells(CellStrategy):
    """Noise on the disjoint cells between nested counts, which are added up.

    Attributes
    ----------
    names : tuple of str
        The names of the counts, in the order of the question.
    chain : tuple of str
        The same names, the innermost count first.
    cells : Lattice
        The cells, with their sensitivity set.
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
        from utmost.theory.workload.design.nested_counts import sum_half_widths

        counts = self.estimates(released)
        halves = by_name(self.names, self.chain, sum_half_widths(self.solution.mechanism.noise, CONFIDENCE))
        return {name: (count - halves[name], count + halves[name]) for name, count in counts.items()}

    def average(self, loss: str) -> float:
        return self._losses((loss,))[loss]

    def before(self, loss: str) -> Before:
        outermost = self._losses((loss,), last=True)[loss]
        return Before(loss, self.average(loss), outermost, holds="the worst is the outermost count")

    def probability_off_by_more(self, error: Fraction) -> float:
        loss = f"within {error // 1}"
        return self._losses((loss,))[loss]

    def expected_losses(self, level: Level, loss: str) -> dict[str, dict[str, float]]:
        losses = reported_losses(loss)
        alternatives = noise_alternatives(counts_of_cells(self.cells), level, losses)
        return {"Utmost": self._losses(losses), **alternatives}

    def _losses(self, losses: Sequence[str], last: bool = False) -> dict[str, float]:
        from utmost.theory.workload.design.nested_counts import sum_losses

        return sum_losses(self.solution.mechanism.noise, losses, last)

    @property
    def note(self) -> str:
        return ADDED

    @property
    def certificate_subject(self) -> str:
        of_nested = self.solution.problem.question == "number.nested"
        return "the mean absolute error of one count" if of_nested else "the variance of one count"


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightedSums(CellStrategy):
    """Noise on weighted sums of the cells between nested counts, which are least squares estimates, rounded.

    Attributes
    ----------
    names : tuple of str
        The names of the counts, in the order of the question.
    chain : tuple of str
        The same names, the innermost count first.
    cells : Lattice
        The cells, with their sensitivity set.
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
        from utmost.theory.workload.least_squares import running_counts

        return running_counts(self.sums, [released[label] for label in self.labels])

    def intervals(self, released: Mapping[str, Any]) -> dict[Any, tuple[Any, Any]]:
        """The integers within the half width of the exact estimate, and its rounded value."""
        from utmost.theory.workload.design.strategies import count_errors

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

    def probability_off_by_more(self, error: Fraction) -> float:
        from utmost.theory.workload.design.strategies import off_by_more

        return off_by_more(self.solution, float(error))

    def expected_losses(self, level: Level, loss: str) -> dict[str, dict[str, float]]:
        losses = tuple(name for name in reported_losses(loss) if name in ("absolute", "squared"))
        ours, alternatives = self._losses(), noise_alternatives(counts_of_cells(self.cells), level, losses)
        return {"Utmost": {name: ours[name] for name in losses}, **alternatives}

    def _losses(self, last: bool = False) -> dict[str, float]:
        from utmost.theory.workload.design.strategies import count_losses

        return count_losses(self.solution, last)

    @property
    def note(self) -> str:
        return SUMMED

    @property
    def certificate_subject(self) -> str:
        return "the variance of one count"


NestedStrategy: TypeAlias = NoisyCounts | AddedCells | WeightedSums
"""The strategies for nested counts."""


def by_name(names: Iterable[str], chain: Iterable[str], counts: Iterable[Any]) -> dict[Any, Any]:
    """Label nested counts (the innermost first) by their names, in the order of the question."""
    nested = dict(zip(chain, counts, strict=True))
    return {name: nested[name] for name in names}


def increasing(counts: Sequence[int]) -> list[int]:
    """Isotonic regression: the nearest non-decreasing integers; where counts fall, neighbours take their mean.

    If the true counts are non-decreasing, this never increases the sum of squared errors (before rounding).

    Examples
    --------
    >>> increasing([3, 1, 2, 7, 6])
    [2, 2, 2, 7, 7]
    """
    blocks: list[tuple[int, int]] = []  # sums and sizes, their means increasing
    for count in counts:
        total, size = int(count), 1
        while blocks and blocks[-1][0] * size >= total * blocks[-1][1]:
            block = blocks.pop()
            total, size = total + block[0], size + block[1]
        blocks.append((total, size))
    return [(2 * total + size) // (2 * size) for total, size in blocks for _ in range(size)]
