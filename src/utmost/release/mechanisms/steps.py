"""Yes or no about an integer: how often the right side of a border is named.

Points are told apart by how many neighbours they are from the border: block b holds the points t with
b = floor((t - first yes) / reach). Neighbours lie in the same or adjacent blocks, so a mechanism on the path of blocks
is private on the line (a pull-back along a morphism), and a path has closed forms (BIN Theorem 2).

**The best average.** For a uniform prior pair the j-th block of yes with the j-th block of no: points of a pair are
n = 2j + 1 neighbours apart, so no private mechanism can tell both truths more often, on average, than the balanced one
does: if no gets yes with probability q, yes gets it with at most U(q), U being the level's upper function n times; U is
concave, and its own mirror image (swap no and yes), so U(q) - q is largest where the two errors are equal. Only points
without a partner (where one side of the border is longer) can do better, and they are far from the border: what they
could gain is the stated gap. Where that is not small, and for every other prior, a linear program chooses, on blocks as
narrow as its size allows (of which several in a row are then neighbours). Where blocks are points, what no private
mechanism errs less often than on the points that are told apart is a bound: those beyond them can only err more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from utmost.design.binary import balanced, best_boundary
from utmost.errors import SolverFailed, TooLarge
from utmost.privacy import ApproxDP, GaussianDP, Level
from utmost.solution import Solution
from utmost.space.families import path
from utmost.space.integers import Line

Floats = NDArray[np.float64]
UNRESOLVED = 2.0**-64
"""A chance of error below this is none: blocks farther from the border are one block."""
CLOSED = 1e-12
"""A gap up to this is rounding: nothing better is looked for, and nothing is better by less."""
ROUNDING = 1e-15
"""What is taken off a bound from floating point."""
NOTHING = 1e-6
"""Where the chance of yes differs by no more between any two points, the answer is the same whatever the table says."""
MOST_BLOCKS, MOST_PROGRAM = 200_000, 2_000
MOST_PAIRS, MOST_PAIRS_GAUSSIAN, MOST_BLOCKS_GAUSSIAN = 20_000, 500, 150
"""How many pairs of neighbouring blocks a linear program may have; Gaussian levels need many rounds."""


@dataclass(frozen=True, eq=False)
class Steps:
    """A certified mechanism on the blocks of a line, each of `width` points, `no` of them before the border."""

    line: Line
    first_yes: int
    width: int
    no: int
    solution: Solution
    weights: Floats
    """The prior mass of each block."""

    def release(self, point: int) -> bool:
        """A private answer: drawn exactly from the certified row of the point's block."""
        block = (point - self.first_yes) // self.width + self.no
        return bool(self.solution.certified.sample(min(max(block, 0), len(self.weights) - 1)))

    @cached_property
    def told(self) -> Floats:
        """The probability of the truth in each block."""
        truth = (np.arange(len(self.weights)) >= self.no).astype(int)
        return np.asarray(self.solution.mechanism.matrix[np.arange(len(truth)), truth])

    def expected(self, loss: str) -> float:
        """The probability of a wrong answer under the prior: the only loss of yes or no, whichever is named."""
        return float(self.weights @ (1 - self.told))

    @property
    def worst(self) -> float:
        """The probability of a wrong answer at the worst point."""
        return float((1 - self.told).max())

    @property
    def constant(self) -> bool:
        """Whether the answer is the same, but for next to nothing, whatever the point."""
        yes = self.solution.mechanism.matrix[:, 1]
        return bool(yes.max() - yes.min() <= NOTHING)

    def chance_right(self, answer: bool) -> float:
        """After an answer: the probability that it is right, given the prior."""
        said = self.weights * self.solution.mechanism.matrix[:, int(answer)]
        right = said[self.no :] if answer else said[: self.no]
        return float(right.sum() / said.sum()) if said.sum() > 0 else 0.5


def best_steps(line: Line, first_yes: int, level: Level, prior: Floats | None) -> tuple[Steps, float | None]:
    """The best mechanism found, and what no private mechanism errs less than (None where that is not known)."""
    no, yes = _block_weights(line, first_yes, level, prior, line.reach)
    weights = np.concatenate([no[::-1], yes])
    solution = balanced(path(len(weights)), lambda b: b >= len(no), level)
    even = Steps(line, first_yes, line.reach, len(no), solution, weights)
    value, bound = even.expected("zero-one"), None
    if prior is None:
        bound = max(0.0, value - _unpaired_errors(no, yes, even.told, line))
        if value - bound <= CLOSED:
            return even, bound
    width = _narrowest(len(weights), line.reach, level)
    if width is None:
        return even, bound
    no, yes = _block_weights(line, first_yes, level, prior, width)
    weights = np.concatenate([no[::-1], yes])
    blocks = Line(0, len(weights) - 1, -(-line.reach // width)).space()
    try:
        found = best_boundary(blocks, lambda b: b >= len(no), level, prior=weights / weights.sum())
    except (SolverFailed, TooLarge):
        return even, bound
    tilted = Steps(line, first_yes, width, len(no), found, weights)
    if width == 1:  # blocks are points
        program = _least_errors(tilted, level, prior)
        bound = program if bound is None else max(bound, program)
    return tilted if tilted.expected("zero-one") < value - CLOSED else even, bound


def _narrowest(blocks: int, reach: int, level: Level) -> int | None:
    """The least width of a block for which the linear program is small enough; None if the widest is too many."""
    most = MOST_PAIRS_GAUSSIAN if isinstance(level, GaussianDP) else MOST_PAIRS
    for width in range(1, reach):
        together = -(-reach // width)
        if together * width == reach and blocks * together**2 <= most:
            return width
    return reach if blocks <= (MOST_BLOCKS_GAUSSIAN if isinstance(level, GaussianDP) else MOST_PROGRAM) else None


def _least_errors(found: Steps, level: Level, prior: Floats | None) -> float:
    """What no private mechanism errs less often than on the points told apart, by duality.

    The last blocks hold more than a point where points beyond are not told apart: a private mechanism need not treat
    those alike, so their mass is left out.
    """
    line, no, size = found.line, found.no, len(found.weights)
    solution, near = found.solution, np.full(size, 1 / line.points)
    if prior is not None:
        start = found.first_yes - line.first - no
        near = prior[start : start + size]
    mass = float(near.sum())
    if mass == 0:
        return 0.0
    if size < line.points:
        try:
            solution = best_boundary(solution.problem.space, lambda b: b >= no, level, prior=near / mass)
        except (SolverFailed, TooLarge):
            return 0.0
    return 0.0 if solution.certificate.bound is None else max(0.0, mass * (1 - solution.certificate.bound) - ROUNDING)


def _unpaired_errors(no: Floats, yes: Floats, told: Floats, line: Line) -> float:
    """The chance that a point without a partner at its depth, or beyond the last depth, is answered wrongly."""
    depth = max(len(no), len(yes))
    errors = 1 - np.maximum(
        np.pad(told[len(no) :], (0, depth - len(yes))), np.pad(told[: len(no)][::-1], (0, depth - len(no)))
    )
    here, there = (np.pad(side, (0, depth - len(side))) for side in (no, yes))
    full = (line.reach + 0.5) / line.points
    beyond = sum(side[-1] * errors[len(side) - 1] for side in (no, yes) if side[-1] > full)
    return float(np.abs(here - there) @ errors + beyond)


def _block_weights(line: Line, first_yes: int, level: Level, prior: Floats | None, width: int) -> tuple[Floats, Floats]:
    """The prior mass of the blocks on each side, nearest first; the last holds all beyond what can be told apart."""
    sizes = []
    blocks = -(-(first_yes - line.first) // line.reach) - (-(line.last - first_yes + 1) // line.reach)
    few = isinstance(level, ApproxDP) and level.delta > 0 and blocks <= MOST_PROGRAM
    longest = blocks if few else _longest(level, prior is None)
    for points, start, direction in (
        (first_yes - line.first, first_yes - 1 - line.first, -1),
        (line.last - first_yes + 1, first_yes - line.first, 1),
    ):
        count = min(-(-points // width), longest * line.reach // width)
        if prior is None:
            masses = np.full(count, float(width))
            masses[-1] = points - (count - 1) * width
            sizes.append(masses / line.points)
        else:
            ordered = prior[start::direction] if direction > 0 else prior[start::-1]
            block = np.minimum(np.arange(len(ordered)) // width, count - 1)
            sizes.append(np.bincount(block, weights=ordered, minlength=count).astype(float))
    return sizes[0], sizes[1]


def _longest(level: Level, uniform: bool) -> int:
    """How many blocks on a side answers can tell apart.

    Under a uniform prior and a pure level, answers at the border are as often right on both sides, and errors start
    from one half there. A tilted boundary may start from next to 1: from there down to one half it is as far as from
    one half down to next to nothing.
    """
    length = 1
    while length < MOST_BLOCKS and level.lower_after(length, 0.5) > UNRESOLVED:
        length *= 2
    low, length = length // 2, min(length, MOST_BLOCKS)
    while length - low > 1:
        middle = (low + length) // 2
        low, length = (middle, length) if level.lower_after(middle, 0.5) > UNRESOLVED else (low, middle)
    pure = isinstance(level, ApproxDP) and level.delta == 0
    return length if uniform and pure else min(2 * length - 1, MOST_BLOCKS)
