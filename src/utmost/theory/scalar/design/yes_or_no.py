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

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from utmost.errors import SolverFailed, TooLarge
from utmost.privacy import ApproxDP, GaussianDP, Level
from utmost.solution import Problem, Solution, certificate_of, sketched
from utmost.solution.sentences import BORDER
from utmost.space.families import path
from utmost.space.line import Line
from utmost.theory.binary.design.boundary import best_boundary
from utmost.theory.binary.design.extension import balanced
from utmost.theory.scalar.yes_or_no_blocks import Blocks

Floats = NDArray[np.float64]
UNRESOLVED = 2.0**-64
"""A chance of error below this is none: blocks farther from the border are one block."""
CLOSED = 1e-12
"""A gap up to this is rounding: nothing better is looked for, and nothing is better by less."""
MOST_BLOCKS, MOST_PROGRAM = 200_000, 2_000
MOST_PAIRS, MOST_PAIRS_GAUSSIAN, MOST_BLOCKS_GAUSSIAN = 20_000, 500, 150
"""How many pairs of neighbouring blocks a linear program may have; Gaussian levels need many rounds."""
EVEN, TILTED = BORDER
CERTIFIED = 1 + 1e-7
"""More than what certified integers add to a chance of error."""
ROUNDING = 1e-15
"""What is taken off a bound from floating point."""


def best_yes_or_no(line: Line, first_yes: int, level: Level, prior: Floats | None = None) -> Solution:
    """The best mechanism known for "is the integer at least `first_yes`?".

    Parameters
    ----------
    line : where the integer lies, and how far one neighbour moves it
    first_yes : the least integer of which the truth is yes, after the first and at most the last of the line
    level : what is promised to every neighbour
    prior : a probability for each integer of the line, in order; None is uniform

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> solution = best_yes_or_no(Line(-100, 100, 1), 1, PureDP(1))
    >>> round(solution.value, 6), bool(solution.verify())
    (0.004233, True)
    """
    no, yes = _block_weights(line, first_yes, level, prior, line.reach)
    found = balanced(path(len(no) + len(yes)), lambda b: b >= len(no), level)
    even = _by_blocks(found, first_yes, line.reach, len(no))
    value, bound, evidence = _errors(even, line, prior), None, {}
    name = EVEN
    if prior is None:
        bound = max(0.0, value - _unpaired_errors(no, yes, 1 - even.wrong, line))
    width = None if bound is not None and value - bound <= CLOSED else _narrowest(len(no) + len(yes), line.reach, level)
    if width is not None:
        tilted, proved, duals = _by_program(line, first_yes, level, prior, width)
        if tilted is not None and (less := _errors(tilted, line, prior)) < value - CLOSED:
            even, value, name = tilted, less, TILTED
        if proved is not None and (bound is None or proved > bound):
            bound, evidence = proved, duals
    data: dict[str, Any] = {"border": first_yes, "loss": "zero-one", "prior": prior}
    problem = Problem("choice.line", line, level, data)
    claim: Literal["bound", "unproved"] = "unproved" if bound is None else "bound"
    gap = None if bound is None else max(0.0, value - bound)
    certificate = certificate_of(problem, even, claim, bound, gap, evidence, method=name)
    return Solution(problem, even, value, certificate)


def sketch_yes_or_no(line: Line, first_yes: int, level: Level) -> Solution | None:
    """How often `best_yes_or_no` errs under a uniform prior, where the balanced mechanism is the best, without a proof.

    For a search over many levels; None where another mechanism may be better.

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> found = sketch_yes_or_no(Line(-100, 100, 1), 1, PureDP(1))
    >>> round(found.value, 6)
    0.004233
    """
    no, yes = _block_weights(line, first_yes, level, None, line.reach)
    far = np.arange(max(len(no), len(yes)))
    wrong = np.asarray(level.lower_after(far, level.even_share()[1]))
    told = 1 - np.concatenate([wrong[: len(no)][::-1], wrong[: len(yes)]])
    if _unpaired_errors(no, yes, told, line) > CLOSED and _narrowest(len(told), line.reach, level) is not None:
        return None
    value = float(no @ wrong[: len(no)] + yes @ wrong[: len(yes)]) * CERTIFIED
    data: dict[str, Any] = {"border": first_yes, "loss": "zero-one", "prior": None}
    return sketched(Problem("choice.line", line, level, data), None, value)


def _by_blocks(found: Solution, first_yes: int, width: int, no: int) -> Blocks:
    """A mechanism on blocks as one on the line, its integers certified."""
    certified: Any = found.certified
    return Blocks(first_yes, width, no, certified.weights, certified.bits)


def _errors(blocks: Blocks, line: Line, prior: Floats | None) -> float:
    """The probability of a wrong answer under the prior."""
    return float(blocks.masses(line, prior) @ blocks.wrong)


def _by_program(
    line: Line, first_yes: int, level: Level, prior: Floats | None, width: int
) -> tuple[Blocks | None, float | None, dict[str, Any]]:
    """The linear program's boundary on blocks of a width; where blocks are points, a bound and its dual prices too."""
    no, yes = _block_weights(line, first_yes, level, prior, width)
    weights = np.concatenate([no[::-1], yes])
    blocks = Line(0, len(weights) - 1, -(-line.reach // width)).space()
    try:
        found = best_boundary(blocks, lambda b: b >= len(no), level, prior=weights / weights.sum())
    except (SolverFailed, TooLarge):
        return None, None, {}
    tilted = _by_blocks(found, first_yes, width, len(no))
    return (tilted, None, {}) if width > 1 else (tilted, *_least_errors(found, line, first_yes, len(no), level, prior))


def _least_errors(
    found: Solution, line: Line, first_yes: int, no: int, level: Level, prior: Floats | None
) -> tuple[float | None, dict[str, Any]]:
    """What no private mechanism errs less often than on the points told apart, by duality, and the prices.

    The last blocks hold more than a point where points beyond are not told apart: a private mechanism need not treat
    those alike, so their mass is left out.
    """
    size, start = len(found.problem.space.points), first_yes - line.first - no
    near = np.full(size, 1 / line.points) if prior is None else prior[start : start + size]
    mass = float(near.sum())
    if mass == 0:
        return 0.0, {}
    if size < line.points:
        try:
            found = best_boundary(found.problem.space, lambda b: b >= no, level, prior=near / mass)
        except (SolverFailed, TooLarge):
            return None, {}
    prices = found.certificate.evidence
    evidence = {name: prices[name] for name in ("edges", "forward", "slopes", "duals")} | {"start": start, "size": size}
    bound = found.certificate.bound
    return None if bound is None else max(0.0, mass * (1 - bound) - ROUNDING), evidence


def _narrowest(blocks: int, reach: int, level: Level) -> int | None:
    """The least width of a block for which the linear program is small enough; None if the widest is too many."""
    most = MOST_PAIRS_GAUSSIAN if isinstance(level, GaussianDP) else MOST_PAIRS
    for width in range(1, reach):
        together = -(-reach // width)
        if together * width == reach and blocks * together**2 <= most:
            return width
    return reach if blocks <= (MOST_BLOCKS_GAUSSIAN if isinstance(level, GaussianDP) else MOST_PROGRAM) else None


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
