"""Verifier of counts and yes or no over tiers: the stated losses, and lower bounds.

**All other groups known.** Fix the integers of all groups but one. What is left is a question about one integer on its
line at that group's own level, whose optimal expected loss is known: for a count geometric noise with its optimal remap
(Ghosh, Roughgarden, Sundararajan 2012), or pairs of points where a person has several rows; for yes or no pairs of
points across the border. A mechanism for all groups is one for each of these questions, so its loss is at least the
average of their optima; the largest of these bounds is used. For yes or no, dual prices of the linear program on a
window of the grid give a larger one.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from utmost.errors import InvalidInput
from utmost.exact.arrays import Floats
from utmost.mechanism.certification import Check
from utmost.mechanism.noise.layers import LayerLaw, LayerNoise
from utmost.privacy import ApproxDP
from utmost.privacy.level import decay_above
from utmost.space.integers import Tiers
from utmost.space.line import Line, require_line_loss
from utmost.theory.binary.verify import dual_bound
from utmost.theory.scalar.line import LineMechanism, NoisyLine
from utmost.theory.scalar.tiers import (
    MOST_WINDOW,
    TieredSums,
    TieredTable,
    error_probability,
    grid_levels,
    grid_sums,
    sum_prior,
    window_of,
)
from utmost.theory.scalar.verify.number import pairs_bound
from utmost.theory.scalar.yes_or_no_blocks import Blocks
from utmost.theory.verify_evidence import Evidence, Outcome, check_value, read_array, read_positions

MARGIN, NEGLIGIBLE = 1e-9, 1e-30
"""Relative amount by which a bound in floats is lowered; smaller errors are ignored."""
LEAST_GROWTH = 1e-12
"""Below this epsilon no bound is claimed: noise is wider than floats count."""
MOST_POINTS = 10**8
"""Largest range of a group whose sums are listed."""


def check_tiered_count(problem: Any, solved: Any) -> Outcome:
    """A bound by one group with all others known (Ghosh, Roughgarden, Sundararajan 2012)."""
    mechanism, loss = solved.mechanism, require_line_loss(problem.data.get("loss"))
    laws = mechanism.laws if isinstance(mechanism, TieredSums) else ()
    if not laws or not all(isinstance(law, LineMechanism) for law in laws) or mechanism.tiers != problem.space:
        raise InvalidInput("a count of several tiers is released as sums with noise.")
    unbiased = all(isinstance(law, NoisyLine) and law.remap == "none" for law in laws) and not mechanism.left_out
    if problem.data.get("unbiased") is not unbiased:
        raise InvalidInput("the mechanism is unbiased and was not asked to be, or the other way round.")
    for part, law in zip(mechanism.parts, laws, strict=True):
        prior = None if len(part) == 1 else sum_prior([problem.space.lines[tier] for tier in part])
        same_prior = law.prior is None if prior is None else law.prior is not None and np.allclose(law.prior, prior)
        if law.line != problem.space.together(part) or not (same_prior or unbiased):
            raise InvalidInput("a sum is released by a mechanism for other integers, or another prior.")
    return _outcome(problem, solved, mechanism.expected(loss))


def check_tiered_choice(problem: Any, solved: Any) -> Outcome:
    """A bound by pairs across the border with all other groups known, or by dual prices on a window of the grid."""
    grid, mechanism, border = problem.space, solved.mechanism, _border(problem)
    _require_listed(grid)
    if isinstance(mechanism, TieredTable):
        if window_of(grid, [(line.first, line.last) for line in mechanism.window.lines]) != mechanism.window:
            raise InvalidInput("the table is not on a window of this grid.")
    elif not isinstance(mechanism, TieredSums) or mechanism.tiers != grid:
        raise InvalidInput("yes or no about several tiers is answered by a table, or by one of their sums.")
    elif len(mechanism.laws) != 1 or not isinstance(mechanism.laws[0], Blocks):
        raise InvalidInput("yes or no about a sum of tiers is answered by blocks of one sum.")
    return _outcome(problem, solved, error_probability(mechanism, grid, border))


def tiered_count_bound(problem: Any, evidence: Evidence) -> float:
    """Lower bound on the loss of a count: the largest optimum of one group's count with all others known."""
    loss = require_line_loss(problem.data.get("loss"))
    bounds = [0.0]
    for line, level in zip(problem.space.lines, problem.space.levels(problem.privacy), strict=True):
        if line.reach == 1 and LEAST_GROWTH < level.log_growth < math.inf:
            geometric = LayerNoise(LayerLaw(decay_above(level), 1, 1))
            alone = NoisyLine(line, geometric, loss, None, "best")
            bounds.append(alone.expected(loss) * (1 - MARGIN) if alone.guesses else 0.0)
        elif line.reach > 1 and LEAST_GROWTH < level.log_growth < math.inf:
            bounds.append(_path_bound(line, level, loss))
    return max(bounds)


def _path_bound(line: Line, level: ApproxDP, loss: str) -> float:
    """The bound for one group at larger sensitivity: the integers of one residue class form a path, taken in pairs.

    The average of squares is at least the square of the average; there is no bound for errors within a tolerance.
    """
    if loss in ("absolute", "zero-one"):
        return pairs_bound(line, level, loss)
    return pairs_bound(line, level, "absolute") ** 2 if loss == "squared" else 0.0


def tiered_choice_bound(problem: Any, evidence: Evidence) -> float:
    """Lower bound on the error probability: pairs along one group's line, or dual prices on a window."""
    grid, border = problem.space, _border(problem)
    bounds = [0.0]
    if "duals" in evidence:
        bounds.append(_price_bound(problem, evidence))
    levels = grid.levels(problem.privacy)
    _require_listed(grid)
    for tier, line in enumerate(grid.lines):
        other_lines = [other_line for place, other_line in enumerate(grid.lines) if place != tier]
        if line.reach:
            bounds.append(
                _pair_bound(
                    line,
                    levels[tier],
                    border - sum(other_line.first for other_line in other_lines),
                    sum_prior(other_lines),
                )
            )
    return max(bounds)


def _border(problem: Any) -> int:
    border = problem.data.get("border")
    if not isinstance(problem.space, Tiers) or type(border) is not int:
        raise InvalidInput("yes or no is asked about integers of tiers, and has a border.")
    total_line = problem.space.together(range(len(problem.space.lines)))
    if not total_line.first < border <= total_line.last:
        raise InvalidInput("the border leaves one side empty.")
    return border


def _require_listed(grid: Tiers) -> None:
    if sum(line.points for line in grid.lines) > MOST_POINTS:
        raise InvalidInput(f"sums of more than {MOST_POINTS} integers are not listed.")


def _outcome(problem: Any, solved: Any, value: float) -> Outcome:
    from utmost.theory.verifiers import bound_of

    certificate = solved.certificate
    bound = bound_of(problem.question)(problem, certificate.evidence)
    sound = certificate.bound is not None and abs(certificate.bound - bound) <= MARGIN * max(1.0, bound)
    sound = bool(sound and bound <= value * (1 + MARGIN))
    detail = f"no private mechanism loses less than {bound:.12g}; this one loses {value:.12g}"
    return (check_value(solved.value, value), Check("bound", sound, detail)), max(0.0, value - bound)


def _pair_bound(line: Line, level: ApproxDP, border: int, rest_prior: Floats) -> float:
    """Lower bound by pairs of points equally far behind the border, whose error probabilities sum to at least 2 e_j.

    The border on this line depends on the sum of the other integers; `rest_prior` is the law of that sum.
    """
    depth = -(-line.points // 2)
    steps: list[float] = []
    error = float(level.even_share()[1])
    while error >= NEGLIGIBLE and len(steps) * line.reach < depth:
        steps.append(error)
        error = float(level.lower(error))
    running = np.concatenate([[0.0], np.cumsum(2 * np.repeat(steps, min(line.reach, depth)))])
    borders = border - np.arange(len(rest_prior))
    pairs = np.minimum(borders - line.first, line.last - borders + 1)
    return float(rest_prior @ running[np.clip(pairs, 0, len(running) - 1)]) / line.points * (1 - MARGIN)


def _price_bound(problem: Any, evidence: Evidence) -> float:
    """Lower bound by Lagrange duality on a window of the grid: any weights on valid constraints give one."""
    grid, starts, sizes = problem.space, evidence.get("starts"), evidence.get("sizes")
    if not isinstance(starts, list) or not isinstance(sizes, list) or len(starts) != len(sizes):
        raise InvalidInput("the window of the evidence has no place.")
    if not all(type(x) is int for x in (*starts, *sizes)):
        raise InvalidInput("the window of the evidence has no place.")
    window = window_of(grid, [(start, start + size - 1) for start, size in zip(starts, sizes, strict=True)])
    if window is None or window.points > MOST_WINDOW:
        raise InvalidInput("the window of the evidence does not lie on the grid, or is too large.")
    levels = grid_levels(window, problem.privacy)
    m = len(read_positions(evidence, "edges", (None,), len(levels)))
    read_array(evidence, "forward", "b", (m,))
    for name in ("slopes", "duals"):
        if read_array(evidence, name, "f", (m,)).min(initial=0.0) < 0:
            raise InvalidInput(f"{name} must not be negative.")
    truth = (grid_sums(window) >= _border(problem)).astype(np.int64)
    even = np.full(window.points, 1 / window.points)
    part = window.points / grid.points * (1 - 1e-12)
    return float(max(0.0, (1 - dual_bound(levels, truth, even, evidence)) * part))
