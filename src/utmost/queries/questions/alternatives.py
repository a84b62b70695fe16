"""Expected losses of the standard noises that every answer is compared with, computed from their laws.

Laplace noise, Gaussian noise at (epsilon, 1e-6) and geometric noise, each calibrated to the sensitivity of the number,
rounded to the nearest integer and, for one number, clamped to its range. The noise K is symmetric, so the expected loss
of x + K clamped to 0..m is a sum over both sides: with c(t) the loss of an error of t steps and T(t) = Pr[K >= t],

    H(x) = sum over t = 1..x of (c(t) - c(t-1)) T(t),     expected loss at x = H(x) + H(m - x).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from utmost.exact.arrays import Floats
from utmost.privacy import ApproxDP, GaussianDP, Level
from utmost.queries.losses import loss_in_unit
from utmost.space.integers import Lattice
from utmost.space.line import Line, cost, tolerance, within

Tail: TypeAlias = Callable[[Floats], Floats]
DELTA = 1e-6
FAR = 45.0
COARSE = 1000
"""Beyond this sensitivity, losses are computed in coarser steps, of which a neighbour makes this many: within 0.1 %."""
MOST_WIDE = 4_000_000
"""The most steps of noise that comparisons take into account."""


def number_alternatives(
    line: Line, level: Level, losses: Sequence[str], prior: Floats | None
) -> dict[str, dict[str, float]]:
    """Expected losses of the standard noises, clamped to the range of the number, by name and loss."""
    if prior is None and line.reach > COARSE:
        factor = line.reach / COARSE
        coarse_line = Line(0, max(round((line.points - 1) / factor), COARSE), COARSE)
        return _finer(
            number_alternatives(coarse_line, level, [_coarser(loss, factor) for loss in losses], None), losses, factor
        )
    return {
        name: {loss: expected_clamped_loss(line, tail, width, loss, prior) for loss in losses}
        for name, (tail, width) in tails(line.reach, line.reach, level).items()
    }


def noise_alternatives(space: Lattice, level: Level, losses: Sequence[str]) -> dict[str, dict[str, float]]:
    """Expected losses of independent noise on every integer of a vector, without clamping, by name and loss."""
    factor = max(1.0, space.reach / COARSE)
    coarse_names, (l1, l2) = [_coarser(loss, factor) for loss in losses], _sensitivities(space)
    line = Line(0, 2 * MOST_WIDE, 1)  # so long that its ends do not matter
    coarse_losses = {
        name: {loss: 2 * float(_one_side(line, tail, width, loss)[-1]) for loss in coarse_names}
        for name, (tail, width) in tails(l1 / factor, l2 / factor, level).items()
    }
    return _finer(coarse_losses, losses, factor)


def _coarser(loss: str, factor: float) -> str:
    """The same loss, in steps that are larger by a factor."""
    return f"within {round(tolerance(loss) / factor)}" if within(loss) is not None else loss


def _finer(
    coarse_losses: dict[str, dict[str, float]], losses: Sequence[str], factor: float
) -> dict[str, dict[str, float]]:
    """Convert losses in large steps to losses in steps that are smaller by a factor."""
    return {
        name: {loss: loss_in_unit(loss, by[_coarser(loss, factor)], factor) for loss in losses}
        for name, by in coarse_losses.items()
    }


def _sensitivities(space: Lattice) -> tuple[int, float]:
    """The l1 and l2 sensitivity of the vector of integers."""
    from utmost.space.sensitivity import l1_sensitivity, squared_l2_sensitivity

    return l1_sensitivity(space) or space.reach, math.sqrt(squared_l2_sensitivity(space)) or float(space.reach)


def expected_clamped_loss(line: Line, tail: Tail, width: int, loss: str, prior: Floats | None = None) -> float:
    """Expected loss of a number with symmetric noise, clamped to its range; `tail(t)` is Pr[K >= t]."""
    last, one_side = line.points - 1, _one_side(line, tail, width, loss)
    if prior is None:
        return float(2 * (one_side.sum() + (last + 1 - len(one_side)) * one_side[-1]) / (last + 1))
    return float(prior @ _both_sides(one_side, last))


def _one_side(line: Line, tail: Tail, width: int, loss: str) -> Floats:
    """H(x) for x = 0, 1, ..., up to where it is constant."""
    steps = np.arange(0.0, min(line.points - 1, width) + 1)
    return np.concatenate([[0.0], np.cumsum(np.diff(cost(loss, steps)) * tail(steps[1:]))])


def _both_sides(one_side: Floats, last: int) -> Floats:
    """H(x) + H(m - x) at every point."""
    at_point = one_side[np.minimum(np.arange(last + 1), len(one_side) - 1)]
    return np.asarray(at_point + at_point[::-1])


def tails(l1: float, l2: float, level: Level) -> dict[str, tuple[Tail, int]]:
    """Pr[K >= t] for t >= 1 of each standard noise, rounded to integers, and the largest t that matters.

    `l1` and `l2` are the sensitivities of what gets the noise; for one number they are the same.
    """
    laws: dict[str, tuple[Tail, int]] = {}
    if isinstance(level, ApproxDP) and 0 < level.log_growth < math.inf:
        rate = level.log_growth / l1
        width = min(MOST_WIDE, math.ceil(FAR / rate) + 1)
        laws["Laplace"] = (lambda t: 0.5 * np.exp(-(t - 0.5) * rate), width)
        laws["geometric"] = (lambda t: np.exp(-t * rate) / (1 + math.exp(-rate)), width)
    spread = gaussian_spread(level) * l2
    if math.isfinite(spread):
        from scipy.special import ndtr

        name = f"Gaussian, delta = {DELTA:g}" if isinstance(level, ApproxDP) and level.delta == 0 else "Gaussian"
        laws[name] = (lambda t: ndtr(-(t - 0.5) / spread), min(MOST_WIDE, math.ceil(9 * spread) + 2))
    return laws


def gaussian_spread(level: Level) -> float:
    """Standard deviation of Gaussian noise at sensitivity 1; pure levels get delta = 1e-6 (Balle and Wang 2018)."""
    from scipy.special import log_ndtr, ndtr

    if isinstance(level, GaussianDP):
        return 1 / float(level.mu) if level.mu > 0 else math.inf
    if not isinstance(level, ApproxDP) or not level.log_growth < 500:
        return math.inf
    epsilon, delta = level.log_growth, float(level.delta) or DELTA

    def delta_at(sigma: float) -> float:
        first, second = 0.5 / sigma - epsilon * sigma, -0.5 / sigma - epsilon * sigma
        return float(ndtr(first) - math.exp(epsilon + float(log_ndtr(second))))

    low, high = 1e-3, 1e9
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if delta_at(middle) <= delta else (middle, high)
    return high
