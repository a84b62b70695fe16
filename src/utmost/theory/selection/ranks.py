"""Quantiles by the ranks of public candidates: exponential mechanisms on ranks, and quantiles from a noisy CDF.

A tally says how many rows lie nearest to each of m candidates in increasing order; F_j is the number of rows at or
below candidate j, n the number of all. For a share q = a/b and a shift t let G_j = b·F_j - a·n + t, with G_(-1) minus
infinity and G_(m-1) plus infinity: the *target* is the first candidate with G_j >= 0; with t = 0 that is the
q-quantile. The score min(-G_(j-1), G_j) (not clipped at 0) is at least 0 there.

**Privacy.** One neighbour moves G by at most r (b·rows_each under replacement, max(a, b - a)·rows_each under
add/remove), hence every score by at most r; a candidate whose score is g below the best has weight decay^g, so
probabilities change by at most decay^(-2r) (McSherry, Talwar 2007). Selections one after the other compose.

**Coverage, at every table.** Let Q be the q-quantile. A candidate above Q has G_(j-1) >= t in the selection with shift
t, so its score is at most -t: it is named with probability at most decay^t, one of them with at most m·decay^t. The
same holds below Q with shift -t. So two selections with opposite shifts enclose Q (`shift_for`).

**From a CDF.** Counts of the nodes of a tree with `branching` children each, level by level, with independent noise
(`NoisyTables`). G_j is the sum of (b - a) times the nodes that make up the rows at or below j, and of -a times those
that make up the rest: as many nodes for every j.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, ClassVar, Self

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from utmost.errors import InvalidInput
from utmost.exact import as_fmpq, as_rational, write_rational
from utmost.exact.arrays import Integers
from utmost.mechanism.certification import Check
from utmost.mechanism.exact_law import ExactMechanism
from utmost.mechanism.sampling import Uniform, below, uniform_integer
from utmost.privacy import ApproxDP, Level
from utmost.privacy.pure_part import implies, pure_within
from utmost.space.integers import Tallies

MOST_CANDIDATES, MOST_TARGETS, MOST_DENOMINATOR = 10**6 + 1, 300, 1000
MOST_COUNT, MOST_ROWS = 2**38, 2**48
"""The bound to which a cell's count is clamped, and the most rows whose ranks fit 64 bits."""
FAR, MARGIN = 60.0, 1e-7
"""Beyond this exponent weights are omitted from float sums; relative error allowed for a float sum. Both are far
above what 10^6 rounded terms come to. A draw within the margin is decided by ball arithmetic."""


@dataclass(frozen=True)
class Target:
    """The parameters of one selection: the share, the shift of its ranks, and the decay per unit of score."""

    share: Fraction
    shift: int
    decay: Fraction

    def __post_init__(self) -> None:
        fits = isinstance(self.share, Fraction) and 0 < self.share < 1 and self.share.denominator <= MOST_DENOMINATOR
        if not fits or type(self.shift) is not int or not abs(self.shift) < 2**50 or not 0 < self.decay < 1:
            raise InvalidInput("a choice by ranks has a share, a whole shift and a decay between 0 and 1.")


@dataclass(frozen=True, eq=False)
class RankChoices(ExactMechanism):
    """Several candidates, each selected by an exponential mechanism on ranks.

    Attributes
    ----------
    cells : int
        The number of candidates.
    targets : tuple of Target
        The parameters of each selection.

    Examples
    --------
    >>> median = Target(Fraction(1, 2), 0, Fraction(1, 10**9))
    >>> RankChoices(4, (median,)).sample([5, 1, 1, 2])
    (0,)
    """

    kind: ClassVar[str] = "ranks.choices"
    cells: int
    targets: tuple[Target, ...]

    def __post_init__(self) -> None:
        if type(self.cells) is not int or not 2 <= self.cells <= MOST_CANDIDATES:
            raise InvalidInput(f"choices by ranks are among 2 to {MOST_CANDIDATES} candidates.")
        if not 1 <= len(self.targets) <= MOST_TARGETS:
            raise InvalidInput(f"1 to {MOST_TARGETS} choices by ranks are made at once.")

    @property
    def name(self) -> str:
        """The name of the mechanism in sentences."""
        return "exponential choices on ranks"

    def sample(self, point: Any) -> tuple[int, ...]:
        counts = clamp_counts(point)
        if len(counts) != self.cells:
            raise InvalidInput(f"there are {self.cells} candidates, and as many counts are needed.")
        return tuple(_draw(gaps(counts, target), target.decay) for target in self.targets)

    def prove(self, space: Any, level: Level) -> Check:
        """Check exactly that all selections together satisfy a level."""
        if not isinstance(space, Tallies) or space.cells != self.cells:
            return Check("privacy", False, f"{level}: the choices are among other candidates")
        falls = [(target.decay, 2 * score_sensitivity(target.share, space)) for target in self.targets]
        detail = f"{len(falls)} exponential choices, each by decay^-2r, r the sensitivity of a score; together"
        pure = level if isinstance(level, ApproxDP) else pure_within(level)
        private = pure is not None and pure.kept_by_falls(falls) and (pure is level or implies(pure, level))
        return Check("privacy", private, f"{level}: {detail}, exactly")

    def probabilities(self, counts: Sequence[int], number: int) -> NDArray[np.float64]:
        """The law of one selection, in floating point."""
        target = self.targets[number]
        weights = np.exp(-rate_of(target.decay) * gaps(clamp_counts(counts), target).astype(float))
        return np.asarray(weights / weights.sum())

    def to_json(self) -> dict[str, Any]:
        rows = [[write_rational(target.share), target.shift, write_rational(target.decay)] for target in self.targets]
        return {"cells": self.cells, "targets": rows}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        targets = data["targets"]
        if not isinstance(targets, list) or not 1 <= len(targets) <= MOST_TARGETS:
            raise InvalidInput("choices by ranks are a list.")
        return cls(data["cells"], tuple(Target(as_rational(q), t, as_rational(b)) for q, t, b in targets))


def score_sensitivity(share: Fraction, space: Tallies) -> int:
    """The sensitivity of a score."""
    a, b = share.numerator, share.denominator
    return space.rows_each * (b if space.neighbours == "replace" else max(a, b - a))


def rate_of(decay: Fraction) -> float:
    """-log(decay) to within one unit in the last place, also for decays that round to 0 or 1."""
    with ctx.workprec(64 + decay.denominator.bit_length()):
        return float(-arb(as_fmpq(decay)).log())


def shift_for(cells: int, decay: Fraction, chance: float) -> int:
    """The least shift with cells·decay^shift <= chance, or one more: see *coverage* above."""
    return math.ceil(math.log(cells / chance) / rate_of(decay) * (1 + 1e-9)) + 1


def clamp_counts(counts: Any) -> Integers:
    """Clamp counts such that ranks are exact: 64-bit integers, or Python integers for very many rows."""
    cells = np.asarray(np.clip(np.asarray(counts), 0, MOST_COUNT), dtype=np.int64)
    return cells if cells.sum(dtype=np.float64) <= MOST_ROWS else cells.astype(object)


def gaps(counts: Integers, target: Target) -> Integers:
    """The difference between the best score and every candidate's."""
    a, b = target.share.numerator, target.share.denominator
    running = np.cumsum(counts)
    over = b * running - a * running[-1] + target.shift
    scores = np.empty_like(over)
    scores[1:] = -over[:-1]
    scores[0] = over[0]  # G_(-1) is minus infinity
    scores[1:-1] = np.minimum(scores[1:-1], over[1:-1])  # G_(m-1) is plus infinity
    return np.asarray(scores.max() - scores)


def _draw(behind: Integers, decay: Fraction) -> int:
    """Draw a place with probability proportional to decay^gap, exactly: first a gap, then one of the ties."""
    rate = rate_of(decay)
    close_gaps = behind[behind * rate <= FAR]
    values, many = np.unique(close_gaps, return_counts=True)
    sums = np.cumsum(many * np.exp(-rate * values.astype(float)))
    number = uniform_integer(64)
    at = number / 2**64 * sums[-1]
    place = int(np.searchsorted(sums, at, side="right"))
    off = MARGIN * float(sums[-1])
    sure = place < len(sums) - 1 and at + off < sums[place] and (place == 0 or sums[place - 1] < at - off)
    gap = int(values[place]) if sure else _gap_by_balls(behind, decay, Uniform(number))
    ties = np.flatnonzero(behind == gap)
    return int(ties[below(len(ties))])


def _gap_by_balls(behind: Integers, decay: Fraction, uniform: Uniform) -> int:
    """Draw the gap with ball arithmetic of any precision, by bisection: there may be a million gaps."""
    values, many = np.unique(behind, return_counts=True)
    gaps_listed, counts = values.tolist(), many.tolist()

    @lru_cache(maxsize=1)
    def sums(bits: int) -> tuple[list[arb], arb]:
        """Balls around the cumulative weights of the gaps, until they are negligible, and around the total."""
        up_to: list[arb] = []
        with ctx.workprec(bits + 64):
            b, total = arb(as_fmpq(decay)), arb(0)
            farthest_gap = (bits + 96) * math.log(2) / rate_of(decay)
            for place, (gap, count) in enumerate(zip(gaps_listed, counts, strict=True)):
                if gap > farthest_gap:  # bound all remaining weights together
                    return up_to, total + b**gap * sum(counts[place:]) * arb(0.5, 0.5)
                total += count * b**gap
                up_to.append(total)
            return up_to, total

    def share(place: int, bits: int) -> arb:
        """A ball around the probability of the gaps up to a place."""
        up_to, total = sums(bits)
        with ctx.workprec(bits + 64):
            return (up_to[place] if place < len(up_to) else up_to[-1].union(total)) / total

    low, high = 0, len(gaps_listed) - 1
    while low < high:
        middle = (low + high) // 2
        if uniform.is_below(partial(share, middle)):
            high = middle
        else:
            low = middle + 1
    return int(gaps_listed[low])


# ---- quantiles from a noisy CDF ----


def level_sizes(cells: int, branching: int) -> tuple[int, ...]:
    """The sizes of the tree's levels, from below the root to the candidates (and empty cells after them)."""
    sizes = [branching]
    while sizes[-1] < cells:
        sizes.append(sizes[-1] * branching)
    return tuple(sizes)


def node_counts(counts: Any, sizes: Sequence[int]) -> list[Integers]:
    """The counts of all nodes, level by level."""
    leaves = np.zeros(sizes[-1], dtype=np.int64)
    cells = clamp_counts(counts)
    leaves[: len(cells)] = cells
    return [np.minimum(leaves.reshape(size, -1).sum(axis=1), MOST_ROWS) for size in sizes]


def ranks_of(noisy: Sequence[NDArray[Any]], cells: int, branching: int, share: Fraction) -> Integers:
    """G_j of every candidate, from noisy counts of nodes."""
    a, b = share.numerator, share.denominator
    above = np.zeros(1, dtype=np.int64)
    for number, table in enumerate(noisy):
        families = np.asarray(table).astype(np.int64).reshape(-1, branching)
        upto = np.cumsum(families, axis=1)
        totals = upto[:, -1:]
        if number < len(noisy) - 1:  # the node itself is subdivided
            increments = (b - a) * (upto - families) - a * (totals - upto)
        else:
            increments = (b - a) * upto - a * (totals - upto)
        above = (above[:, None] + increments).reshape(-1)
    return np.asarray(above[:cells])


def nodes_below(cells: int, branching: int, levels: int) -> Integers:
    """The number of nodes that make up the rows at or below each candidate."""
    nodes = np.zeros(1, dtype=np.int64)
    for _ in range(levels):
        nodes = (nodes[:, None] + np.arange(branching)).reshape(-1)
    return np.asarray(nodes[:cells] + 1)


def read_quantile(over: Integers, half: NDArray[np.float64]) -> tuple[int, int, int]:
    """A quantile's place and its confidence interval, first and last place, from noisy G_j and their half-widths.

    At the quantile G >= 0, and before it G < 0. The noise contradicts each with at most half of one minus the
    confidence, so that the places where neither is contradicted contain the quantile.
    """
    last = len(over) - 1
    place = min(int(np.count_nonzero(over < 0)), last)
    possible = over >= -half
    possible[-1] = True  # with no rows nothing is excluded
    possible[1:] &= over[:-1] <= half[:-1]
    places = np.flatnonzero(possible)
    if not len(places):
        return place, place, place
    return place, min(place, int(places[0])), max(place, int(places[-1]))
