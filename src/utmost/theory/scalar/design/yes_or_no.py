"""Yes or no about an integer: the probability that the right side of a border is named.

Points are grouped by how many neighbours they are from the border: block b holds the points t with
b = floor((t - first yes) / reach). Neighbours lie in the same or adjacent blocks, so a mechanism on the path of blocks
is private on the line (a pull-back along a morphism), and a path has closed forms (BIN Theorem 2).

**Average error.** For a uniform prior pair the j-th block of yes with the j-th block of no: points of a pair are
n = 2j + 1 neighbours apart, so no private mechanism has a higher average accuracy on them than the balanced one: if no
gets yes with probability q, yes gets it with at most U(q), U being the level's upper function n times; U is concave,
and its own mirror image (swap no and yes), so U(q) - q is largest where the two errors are equal. Only points without a
partner (where one side of the border is longer) can do better, and they are far from the border: what they could gain
is the stated gap. Where that is not small, and for every other prior, a linear program chooses, on blocks as narrow as
its size allows (several blocks in a row are then neighbours). Where blocks are points, the least error on the points of
the window is a lower bound: points beyond can only add errors.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from utmost.errors import SolverFailed, TooLarge
from utmost.privacy import ApproxDP, GaussianDP, Level
from utmost.solution import Problem, Solution, certificate_of, sketched
from utmost.solution.sentences import BALANCED, BEST_BORDER
from utmost.space.families import path
from utmost.space.line import Line
from utmost.theory.binary.design.boundary import best_boundary
from utmost.theory.binary.design.extension import balanced
from utmost.theory.scalar.yes_or_no_blocks import Blocks

Floats = NDArray[np.float64]
NEGLIGIBLE = 2.0**-64
"""Smaller error probabilities are ignored: blocks farther from the border are merged."""
CLOSED = 1e-12
"""A gap up to this is rounding: no improvement is sought, and smaller improvements do not count."""
MOST_BLOCKS, MOST_PROGRAM = 200_000, 2_000
MOST_PAIRS, MOST_PAIRS_GAUSSIAN, MOST_BLOCKS_GAUSSIAN = 20_000, 500, 150
"""The most pairs of neighbouring blocks of a linear program; Gaussian levels need many rounds."""
CERTIFIED = 1 + 1e-7
"""Bounds the relative error added by certified integers."""
ROUNDING = 1e-15
"""Subtracted from a bound in floating point."""


def best_yes_or_no(line: Line, first_yes: int, level: Level, prior: Floats | None = None) -> Solution:
    """The best known mechanism for "is the integer at least `first_yes`?".

    Parameters
    ----------
    line : Line
        The range of the integer, and the sensitivity.
    first_yes : int
        The least integer for which the truth is yes; above the first and at most the last of the line.
    level : Level
        The privacy level.
    prior : array of float, optional
        A probability for each integer of the line, in order; None is uniform.

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> solution = best_yes_or_no(Line(-100, 100, 1), 1, PureDP(1))
    >>> round(solution.value, 6), bool(solution.verify())
    (0.004233, True)
    """
    no, yes = _block_weights(line, first_yes, level, prior, line.reach)
    solution = balanced(path(len(no) + len(yes)), lambda b: b >= len(no), level)
    even = _as_blocks(solution, first_yes, line.reach, len(no))
    value, bound, evidence = _errors(even, line, prior), None, {}
    method = BALANCED
    if prior is None:
        bound = max(0.0, value - _unpaired_errors(no, yes, 1 - even.wrong, line))
    width = (
        None
        if bound is not None and value - bound <= CLOSED
        else _narrowest_width(len(no) + len(yes), line.reach, level)
    )
    if width is not None:
        tilted, proved, duals = _by_program(line, first_yes, level, prior, width)
        if tilted is not None and (less := _errors(tilted, line, prior)) < value - CLOSED:
            even, value, method = tilted, less, BEST_BORDER
        if proved is not None and (bound is None or proved > bound):
            bound, evidence = proved, duals
    data: dict[str, Any] = {"border": first_yes, "loss": "zero-one", "prior": prior}
    problem = Problem("choice.line", line, level, data)
    claim: Literal["bound", "unproved"] = "unproved" if bound is None else "bound"
    gap = None if bound is None else max(0.0, value - bound)
    certificate = certificate_of(problem, even, claim, bound, gap, evidence, (method(),))
    return Solution(problem, even, value, certificate)


def sketch_yes_or_no(line: Line, first_yes: int, level: Level) -> Solution | None:
    """The error of `best_yes_or_no` under a uniform prior where the balanced mechanism is optimal, without a proof.

    For a search over many levels; None where another mechanism may be better.

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> solution = sketch_yes_or_no(Line(-100, 100, 1), 1, PureDP(1))
    >>> round(solution.value, 6)
    0.004233
    """
    no, yes = _block_weights(line, first_yes, level, None, line.reach)
    depths = np.arange(max(len(no), len(yes)))
    wrong = np.asarray(level.lower_after(depths, level.even_share()[1]))
    right = 1 - np.concatenate([wrong[: len(no)][::-1], wrong[: len(yes)]])
    if _unpaired_errors(no, yes, right, line) > CLOSED and _narrowest_width(len(right), line.reach, level) is not None:
        return None
    value = float(no @ wrong[: len(no)] + yes @ wrong[: len(yes)]) * CERTIFIED
    data: dict[str, Any] = {"border": first_yes, "loss": "zero-one", "prior": None}
    return sketched(Problem("choice.line", line, level, data), None, value)


def _as_blocks(solution: Solution, first_yes: int, width: int, no: int) -> Blocks:
    """The certified solution on the path of blocks as a mechanism on the line."""
    certified: Any = solution.certified
    return Blocks(first_yes, width, no, certified.weights, certified.bits)


def _errors(blocks: Blocks, line: Line, prior: Floats | None) -> float:
    """The probability of a wrong answer under the prior."""
    return float(blocks.masses(line, prior) @ blocks.wrong)


def _by_program(
    line: Line, first_yes: int, level: Level, prior: Floats | None, width: int
) -> tuple[Blocks | None, float | None, dict[str, Any]]:
    """The linear program's boundary on blocks of a width; where blocks are points, also a bound and its dual prices."""
    no, yes = _block_weights(line, first_yes, level, prior, width)
    weights = np.concatenate([no[::-1], yes])
    blocks = Line(0, len(weights) - 1, -(-line.reach // width)).space()
    try:
        solution = best_boundary(blocks, lambda b: b >= len(no), level, prior=weights / weights.sum())
    except (SolverFailed, TooLarge):
        return None, None, {}
    tilted = _as_blocks(solution, first_yes, width, len(no))
    if width > 1:
        return tilted, None, {}
    return tilted, *_least_errors(solution, line, first_yes, len(no), level, prior)


def _least_errors(
    solution: Solution, line: Line, first_yes: int, no: int, level: Level, prior: Floats | None
) -> tuple[float | None, dict[str, Any]]:
    """Lower bound on the error probability on the points of the window, by duality, and the prices.

    The last blocks hold several points if the line is longer than the window. A private mechanism need not treat those
    alike, so their mass is left out.
    """
    size, start = len(solution.problem.space.points), first_yes - line.first - no
    window_prior = np.full(size, 1 / line.points) if prior is None else prior[start : start + size]
    mass = float(window_prior.sum())
    if mass == 0:
        return 0.0, {}
    if size < line.points:
        try:
            solution = best_boundary(solution.problem.space, lambda b: b >= no, level, prior=window_prior / mass)
        except (SolverFailed, TooLarge):
            return None, {}
    prices = solution.certificate.evidence
    evidence = {name: prices[name] for name in ("edges", "forward", "slopes", "duals")} | {"start": start, "size": size}
    bound = solution.certificate.bound
    return None if bound is None else max(0.0, mass * (1 - bound) - ROUNDING), evidence


def _narrowest_width(blocks: int, reach: int, level: Level) -> int | None:
    """The least width of a block for which the linear program is small enough; None if it never is."""
    most_pairs = MOST_PAIRS_GAUSSIAN if isinstance(level, GaussianDP) else MOST_PAIRS
    for width in range(1, reach):
        together = -(-reach // width)
        if together * width == reach and blocks * together**2 <= most_pairs:
            return width
    return reach if blocks <= (MOST_BLOCKS_GAUSSIAN if isinstance(level, GaussianDP) else MOST_PROGRAM) else None


def _unpaired_errors(no: Floats, yes: Floats, right: Floats, line: Line) -> float:
    """The error probability on points without a partner at their depth, or beyond the last depth."""
    depth = max(len(no), len(yes))
    errors = 1 - np.maximum(
        np.pad(right[len(no) :], (0, depth - len(yes))), np.pad(right[: len(no)][::-1], (0, depth - len(no)))
    )
    no_masses, yes_masses = (np.pad(side, (0, depth - len(side))) for side in (no, yes))
    full = (line.reach + 0.5) / line.points
    beyond = sum(side[-1] * errors[len(side) - 1] for side in (no, yes) if side[-1] > full)
    return float(np.abs(no_masses - yes_masses) @ errors + beyond)


def _block_weights(line: Line, first_yes: int, level: Level, prior: Floats | None, width: int) -> tuple[Floats, Floats]:
    """The prior mass of the blocks on each side, nearest first; the last one holds all beyond the window."""
    sizes = []
    blocks = -(-(first_yes - line.first) // line.reach) - (-(line.last - first_yes + 1) // line.reach)
    few = isinstance(level, ApproxDP) and level.delta > 0 and blocks <= MOST_PROGRAM
    longest = blocks if few else _longest_side(level, prior is None)
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


def _longest_side(level: Level, uniform: bool) -> int:
    """The number of blocks on a side within which error probabilities are not negligible.

    Under a uniform prior and a pure level the two errors at the border are equal, and errors start from at most one
    half there. A tilted boundary may start close to 1: from there down to one half is as far as from one half down to
    negligible.
    """
    length = 1
    while length < MOST_BLOCKS and level.lower_after(length, 0.5) > NEGLIGIBLE:
        length *= 2
    low, length = length // 2, min(length, MOST_BLOCKS)
    while length - low > 1:
        middle = (low + length) // 2
        low, length = (middle, length) if level.lower_after(middle, 0.5) > NEGLIGIBLE else (low, middle)
    pure = isinstance(level, ApproxDP) and level.delta == 0
    return length if uniform and pure else min(2 * length - 1, MOST_BLOCKS)
