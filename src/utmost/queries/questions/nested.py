"""Counts that lie inside each other: rows at or below several edges, or with conditions each of which implies the next.

The rows between one count and the next are disjoint, so they are released with less noise than the counts need, and
added up; or weighted sums of them are, and the counts are least squares estimates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from utmost.queries.accuracy import CONFIDENCE, After, Before
from utmost.queries.questions.numbers import Vector, noise_alternatives
from utmost.queries.questions.of_workload import OfWorkload
from utmost.queries.questions.question import shown_with
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


@dataclass(frozen=True, eq=False, kw_only=True)
class Chained(OfWorkload, Vector):
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

    def design(self) -> Solution:
        from utmost.theory.vector.design.vectors import best_vector

        return super().design() if self.chain else best_vector(self.flat, self.privacy, self.loss, alone=True)

    def sketch(self) -> Solution | None:
        from utmost.theory.vector.design.vectors import sketch_vector

        return super().sketch() if self.chain else sketch_vector(self.flat, self.privacy, self.loss, alone=True)

    @property
    def workload_of(self) -> Workload:
        from utmost.design.workload import Workload

        cells = self.between
        return Workload("running", cells.dimension, cells.moves, cells.reach, cells.upper, self.loss)

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
        from utmost.theory.workload.least_squares import running_counts

        return running_counts(self.space, [released[f"sum {i + 1}"] for i in range(self.space.dimension)])

    @property
    def average(self) -> float:
        return self._sums((self.loss,))[self.loss] if self.added or self.summed else super().average

    @property
    def is_released(self) -> bool:
        return not self.added and not self.summed

    def off_by_more(self, error: Fraction) -> float:
        if self.summed:
            from utmost.theory.workload.design.strategies import off_by_more

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
        from utmost.theory.workload.design.nested_counts import sum_half_widths

        widths = sum_half_widths(self.solution.mechanism.noise, CONFIDENCE)
        half, sums = dict(zip(self.chain, widths, strict=True)), self.noisy(released)
        return After(
            {name: (sums[name] - half[name], sums[name] + half[name]) for name in self.names}, given=self.by_law
        )

    def _around_estimates(self, released: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
        """The whole numbers within the half width of an estimate, and what it is rounded to."""
        from utmost.theory.workload.design.strategies import count_errors

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
        from utmost.theory.workload.design.nested_counts import sum_losses
        from utmost.theory.workload.design.strategies import count_losses

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
