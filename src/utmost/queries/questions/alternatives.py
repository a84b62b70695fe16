"""The usual noises that every answer is compared with, from their laws, with nothing drawn.

Laplace noise, Gaussian noise at (epsilon, 1e-6) and geometric noise, each calibrated to the sensitivity of the number,
rounded to the next integer and, for one number, cut off at the ends of its line. The noise K is symmetric, so the
loss of x + K cut off at 0 and m is the sum of what each side costs: with c(t) the loss of t steps off and T(t) = Pr[K
>= t],

    H(x) = sum over t = 1..x of (c(t) - c(t-1)) T(t),     expected loss at x = H(x) + H(m - x).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from utmost.exact.arrays import Floats
from utmost.privacy import ApproxDP, GaussianDP, Level
from utmost.queries.questions.question import (
    scaled,
)
from utmost.space.integers import Lattice
from utmost.space.line import Line, cost, tolerance, within

if TYPE_CHECKING:
    pass

Tail: TypeAlias = Callable[[Floats], Floats]
DELTA = 1e-6
FAR = 45.0
COARSE = 1000
"""Noise for more steps than this is compared in steps so large that a neighbour moves by this many: within 0.1 %."""
MOST_WIDE = 4_000_000
"""How wide noise matters in comparisons."""


def number_alternatives(
    line: Line, level: Level, losses: Sequence[str], prior: Floats | None
) -> dict[str, dict[str, float]]:
    """The expected losses of the alternatives for a number, by name and loss."""
    if prior is None and line.reach > COARSE:
        times = line.reach / COARSE
        coarse = Line(0, max(round((line.points - 1) / times), COARSE), COARSE)
        return _finer(
            number_alternatives(coarse, level, [_coarser(loss, times) for loss in losses], None), losses, times
        )
    return {
        name: {loss: expected_cut_off(line, tail, wide, loss, prior) for loss in losses}
        for name, (tail, wide) in tails(line.reach, line.reach, level).items()
    }


def noise_alternatives(space: Lattice, level: Level, losses: Sequence[str]) -> dict[str, dict[str, float]]:
    """The expected losses of independent noise on every integer of a vector, nothing cut off, by name and loss."""
    times = max(1.0, space.reach / COARSE)
    coarse, (far, straight) = [_coarser(loss, times) for loss in losses], _sizes(space)
    line = Line(0, 2 * MOST_WIDE, 1)  # so long that its ends do not matter
    coarse_losses = {
        name: {loss: 2 * float(_one_side(line, tail, wide, loss)[-1]) for loss in coarse}
        for name, (tail, wide) in tails(far / times, straight / times, level).items()
    }
    return _finer(coarse_losses, losses, times)


def _coarser(loss: str, times: float) -> str:
    """A loss in steps that are so many times larger."""
    return f"within {round(tolerance(loss) / times)}" if within(loss) is not None else loss


def _finer(
    coarse_losses: dict[str, dict[str, float]], losses: Sequence[str], times: float
) -> dict[str, dict[str, float]]:
    """Losses in large steps as those in steps that are so many times smaller."""
    return {
        name: {loss: scaled(loss, by[_coarser(loss, times)], times) for loss in losses}
        for name, by in coarse_losses.items()
    }


def _sizes(space: Lattice) -> tuple[int, float]:
    """How far one neighbour moves all integers together: the sum of what it does, and the length (l1 and l2)."""
    from utmost.space.sensitivity import square_of_moves, sum_of_moves

    return sum_of_moves(space) or space.reach, math.sqrt(square_of_moves(space)) or float(space.reach)


def expected_cut_off(line: Line, tail: Tail, wide: int, loss: str, prior: Floats | None = None) -> float:
    """The expected loss of symmetric noise that is cut off at the ends of a line; `tail(t)` is Pr[K >= t]."""
    last, one_side = line.points - 1, _one_side(line, tail, wide, loss)
    if prior is None:
        return float(2 * (one_side.sum() + (last + 1 - len(one_side)) * one_side[-1]) / (last + 1))
    return float(prior @ _both_sides(one_side, last))


def _one_side(line: Line, tail: Tail, wide: int, loss: str) -> Floats:
    """H(x) for x = 0, 1, ..., as far as it grows."""
    steps = np.arange(0.0, min(line.points - 1, wide) + 1)
    return np.concatenate([[0.0], np.cumsum(np.diff(cost(loss, steps)) * tail(steps[1:]))])


def _both_sides(one_side: Floats, last: int) -> Floats:
    """H(x) + H(m - x) at every point."""
    here = one_side[np.minimum(np.arange(last + 1), len(one_side) - 1)]
    return np.asarray(here + here[::-1])


def tails(reach: float, straight: float, level: Level) -> dict[str, tuple[Tail, int]]:
    """Pr[K >= t] for t >= 1 of each noise, rounded to integers, and how far it matters.

    One neighbour moves what is answered by at most `reach` in all (l1); `straight` (l2) is the same for one number.
    """
    laws: dict[str, tuple[Tail, int]] = {}
    if isinstance(level, ApproxDP) and 0 < level.log_growth < math.inf:
        rate = level.log_growth / reach
        wide = min(MOST_WIDE, math.ceil(FAR / rate) + 1)
        laws["Laplace"] = (lambda t: 0.5 * np.exp(-(t - 0.5) * rate), wide)
        laws["geometric"] = (lambda t: np.exp(-t * rate) / (1 + math.exp(-rate)), wide)
    spread = gaussian_spread(level) * straight
    if math.isfinite(spread):
        from scipy.special import ndtr

        name = f"Gaussian, delta = {DELTA:g}" if isinstance(level, ApproxDP) and level.delta == 0 else "Gaussian"
        laws[name] = (lambda t: ndtr(-(t - 0.5) / spread), min(MOST_WIDE, math.ceil(9 * spread) + 2))
    return laws


def gaussian_spread(level: Level) -> float:
    """The standard deviation that keeps a level at sensitivity 1; pure levels get delta = 1e-6 (Balle, Wang 2018)."""
    from scipy.special import log_ndtr, ndtr

    if isinstance(level, GaussianDP):
        return 1 / float(level.mu) if level.mu > 0 else math.inf
    if not isinstance(level, ApproxDP) or not level.log_growth < 500:
        return math.inf
    epsilon, delta = level.log_growth, float(level.delta) or DELTA

    def spent(sigma: float) -> float:
        first, second = 0.5 / sigma - epsilon * sigma, -0.5 / sigma - epsilon * sigma
        return float(ndtr(first) - math.exp(epsilon + float(log_ndtr(second))))

    low, high = 1e-3, 1e9
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if spent(middle) <= delta else (middle, high)
    return high
