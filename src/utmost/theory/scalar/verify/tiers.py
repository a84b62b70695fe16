"""Counts and yes or no over public groups of people with their own levels: the stated losses, and what none is below.

**All other groups known.** Fix the integers of all groups but one. What is left is a question about one integer on its
line at that group's own level, whose best expected loss is known: for a count geometric noise with its best remap
(Ghosh, Roughgarden, Sundararajan 2012), or pairs of points where a person has several rows; for yes or no pairs of
points across the border. A mechanism for all groups is one for each of these questions, so it loses at least the
average of their optima; of the groups, the one that bounds most. For yes or no, dual prices of the linear program on a
window of the grid bound more.
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
    grid_levels,
    grid_sums,
    sum_prior,
    window_of,
    wrongly,
)
from utmost.theory.scalar.verify.number import pairs_bound
from utmost.theory.scalar.yes_or_no_blocks import Blocks
from utmost.theory.verify_chains import Evidence, Outcome, read, read_positions, stated

MARGIN, NEGLIGIBLE = 1e-9, 1e-30
"""How far a bound in floats is taken down; errors below this add nothing."""
LEAST_GROWTH = 1e-12
"""Of levels below this epsilon nothing is claimed: their noise is wider than floats count."""
MOST_POINTS = 10**8
"""How many integers a group may have whose sums are listed."""


def check_tiered_count(problem: Any, solved: Any) -> Outcome:
    """With all other groups known, one is left: Ghosh, Roughgarden, Sundararajan 2012 bounds what is lost on it."""
    mechanism, loss = solved.mechanism, require_line_loss(problem.data.get("loss"))
    laws = mechanism.laws if isinstance(mechanism, TieredSums) else ()
    if not laws or not all(isinstance(law, LineMechanism) for law in laws) or mechanism.tiers != problem.space:
        raise InvalidInput("a count of several tiers is released as sums with noise.")
    unbiased = all(isinstance(law, NoisyLine) and law.remap == "none" for law in laws) and not mechanism.left_out
    if problem.data.get("unbiased") is not unbiased:
        raise InvalidInput("the mechanism is unbiased and was not asked to be, or the other way round.")
    for part, law in zip(mechanism.parts, laws, strict=True):
        prior = None if len(part) == 1 else sum_prior([problem.space.lines[tier] for tier in part])
        same = law.prior is None if prior is None else law.prior is not None and np.allclose(law.prior, prior)
        if law.line != problem.space.together(part) or not (same or unbiased):
            raise InvalidInput("a sum is released by a mechanism for other integers, or another prior.")
    return _bounded(problem, solved, mechanism.expected(loss))


def check_tiered_choice(problem: Any, solved: Any) -> Outcome:
    """With all other groups known, pairs across the border; or dual prices on a window of the grid."""
    grid, mechanism, border = problem.space, solved.mechanism, _border(problem)
    _require_listed(grid)
    if isinstance(mechanism, TieredTable):
        if window_of(grid, [(line.first, line.last) for line in mechanism.window.lines]) != mechanism.window:
            raise InvalidInput("the table is not on a window of this grid.")
    elif not isinstance(mechanism, TieredSums) or mechanism.tiers != grid:
        raise InvalidInput("yes or no about several tiers is answered by a table, or by one of their sums.")
    elif len(mechanism.laws) != 1 or not isinstance(mechanism.laws[0], Blocks):
        raise InvalidInput("yes or no about a sum of tiers is answered by blocks of one sum.")
    return _bounded(problem, solved, wrongly(mechanism, grid, border))


def tiered_count_bound(problem: Any, evidence: Evidence) -> float:
    """The largest of the least expected losses of one group's count, all others known."""
    loss = require_line_loss(problem.data.get("loss"))
    found = [0.0]
    for line, level in zip(problem.space.lines, problem.space.levels(problem.privacy), strict=True):
        if line.reach == 1 and LEAST_GROWTH < level.log_growth < math.inf:
            geometric = LayerNoise(LayerLaw(decay_above(level), 1, 1))
            alone = NoisyLine(line, geometric, loss, None, "best")
            found.append(alone.expected(loss) * (1 - MARGIN) if alone.guesses else 0.0)
        elif line.reach > 1 and LEAST_GROWTH < level.log_growth < math.inf:
            found.append(_by_paths(line, level, loss))
    return max(found)


def _by_paths(line: Line, level: ApproxDP, loss: str) -> float:
    """Where a person moves the integer by more than one: the integers of one remainder form a path, taken in pairs.

    The average of squares is at least the square of the average; nothing is said of errors within a tolerance.
    """
    if loss in ("absolute", "zero-one"):
        return pairs_bound(line, level, loss)
    return pairs_bound(line, level, "absolute") ** 2 if loss == "squared" else 0.0


def tiered_choice_bound(problem: Any, evidence: Evidence) -> float:
    """What no private mechanism is wrong less often than: pairs along one group's line, or dual prices on a window."""
    grid, border = problem.space, _border(problem)
    found = [0.0]
    if "duals" in evidence:
        found.append(_by_prices(problem, evidence))
    levels = grid.levels(problem.privacy)
    _require_listed(grid)
    for tier, line in enumerate(grid.lines):
        others = [other for place, other in enumerate(grid.lines) if place != tier]
        if line.reach:
            found.append(_by_pairs(line, levels[tier], border - sum(one.first for one in others), sum_prior(others)))
    return max(found)


def _border(problem: Any) -> int:
    border = problem.data.get("border")
    if not isinstance(problem.space, Tiers) or type(border) is not int:
        raise InvalidInput("yes or no is asked about integers of tiers, and has a border.")
    whole = problem.space.together(range(len(problem.space.lines)))
    if not whole.first < border <= whole.last:
        raise InvalidInput("the border leaves one side empty.")
    return border


def _require_listed(grid: Tiers) -> None:
    if sum(line.points for line in grid.lines) > MOST_POINTS:
        raise InvalidInput(f"sums of more than {MOST_POINTS} integers are not listed.")


def _bounded(problem: Any, solved: Any, value: float) -> Outcome:
    from utmost.theory.verifiers import bound_of

    certificate = solved.certificate
    bound = bound_of(problem.question)(problem, certificate.evidence)
    sound = certificate.bound is not None and abs(certificate.bound - bound) <= MARGIN * max(1.0, bound)
    sound = bool(sound and bound <= value * (1 + MARGIN))
    detail = f"no private mechanism loses less than {bound:.12g}; this one loses {value:.12g}"
    return (stated(solved.value, value), Check("bound", sound, detail)), max(0.0, value - bound)


def _by_pairs(line: Line, level: ApproxDP, border: int, others: Floats) -> float:
    """Points equally far behind the border on both sides err together at least 2 e_j, as on one line.

    The border on this line is what the others leave of it: `others` says how likely each of their sums is.
    """
    most = -(-line.points // 2)
    steps: list[float] = []
    error = float(level.even_share()[1])
    while error >= NEGLIGIBLE and len(steps) * line.reach < most:
        steps.append(error)
        error = float(level.lower(error))
    running = np.concatenate([[0.0], np.cumsum(2 * np.repeat(steps, min(line.reach, most)))])
    here = border - np.arange(len(others))
    pairs = np.minimum(here - line.first, line.last - here + 1)
    return float(others @ running[np.clip(pairs, 0, len(running) - 1)]) / line.points * (1 - MARGIN)


def _by_prices(problem: Any, evidence: Evidence) -> float:
    """Lagrange on a window of the grid: any weights on valid constraints bound every mechanism there."""
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
    read(evidence, "forward", "b", (m,))
    for name in ("slopes", "duals"):
        if read(evidence, name, "f", (m,)).min(initial=0.0) < 0:
            raise InvalidInput(f"{name} must not be negative.")
    truth = (grid_sums(window) >= _border(problem)).astype(np.int64)
    even = np.full(window.points, 1 / window.points)
    part = window.points / grid.points * (1 - 1e-12)
    return float(max(0.0, (1 - dual_bound(levels, truth, even, evidence)) * part))
