"""The usual alternatives, for comparison: their expected losses from their laws, with nothing drawn.

Laplace noise, Gaussian noise at (epsilon, 1e-6) and geometric noise, each calibrated to the reach of the line,
rounded to the next integer and cut off at its ends. The noise K is symmetric, so the loss of x + K cut off at 0 and m
is the sum of what each side costs: with c(t) the loss of t steps off and T(t) = Pr[K >= t],

    H(x) = sum over t = 1..x of (c(t) - c(t-1)) T(t),     expected loss at x = H(x) + H(m - x).

For a question with two answers, noise errs at a point j steps behind the border with probability T(j + 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from utmost.exact.arrays import Floats
from utmost.exact.bisection import first_integer
from utmost.privacy import ApproxDP, ApproxGaussianDP, GaussianDP, Level
from utmost.space.integers import Lattice
from utmost.space.line import Line, cost

Tail = Callable[[Floats], Floats]
DELTA = 1e-6
FAR = 45.0
NEGLIGIBLE = 1e-17
"""What a key's chance to stay hidden adds no more below this."""
MOST_WIDE = 4_000_000


def number_alternatives(
    line: Line, level: Level, losses: Sequence[str], prior: Floats | None
) -> dict[str, dict[str, float]]:
    """The expected losses of the alternatives for a number, by name and loss."""
    return {
        name: {loss: expected_cut_off(line, tail, wide, loss, prior) for loss in losses}
        for name, (tail, wide) in tails(line.reach, line.reach, level).items()
    }


def noise_alternatives(space: Lattice, level: Level, losses: Sequence[str]) -> dict[str, dict[str, float]]:
    """The expected losses of independent noise on every integer of a vector, nothing cut off, by name and loss."""
    line = Line(0, 2 * MOST_WIDE, 1)  # so long that its ends do not matter
    return {
        name: {loss: 2 * float(_one_side(line, tail, wide, loss)[-1]) for loss in losses}
        for name, (tail, wide) in tails(*_sizes(space), level).items()
    }


def _sizes(space: Lattice) -> tuple[int, float]:
    """How far one neighbour moves all integers together: the sum of what it does, and the length (l1 and l2)."""
    d, k = space.dimension, space.reach
    if space.moves in ("one-way", "cube"):
        return d * k, math.sqrt(d) * k
    return (k, float(k)) if space.moves == "any" or d == 1 else (2 * k, math.sqrt(2) * k)


def choice_alternatives(line: Line, first_yes: int, level: Level, prior: Floats | None) -> dict[str, dict[str, float]]:
    """The expected zero-one losses of adding noise and comparing with the border, by name."""
    yes, no = line.last - first_yes + 1, first_yes - line.first
    found = {}
    for name, (tail, wide) in tails(line.reach, line.reach, level).items():
        errors = tail(np.arange(1.0, min(max(yes, no), wide) + 1))
        if prior is None:
            value = (errors[:yes].sum() + errors[:no].sum()) / line.points
        else:
            behind = np.concatenate([np.arange(no)[::-1], np.arange(yes)])
            value = prior @ np.where(behind < len(errors), errors[np.minimum(behind, len(errors) - 1)], 0.0)
        found[name] = {"zero-one": float(value)}
    return found


def expected_cut_off(line: Line, tail: Tail, wide: int, loss: str, prior: Floats | None = None) -> float:
    """The expected loss of symmetric noise that is cut off at the ends of a line; `tail(t)` is Pr[K >= t]."""
    last, one_side = line.points - 1, _one_side(line, tail, wide, loss)
    if prior is None:
        return float(2 * (one_side.sum() + (last + 1 - len(one_side)) * one_side[-1]) / (last + 1))
    return float(prior @ _both_sides(one_side, last))


def worst_cut_off(line: Line, tail: Tail, wide: int, loss: str) -> float:
    """The same at the worst point of the line: the largest H(x) + H(m - x)."""
    last, one_side = line.points - 1, _one_side(line, tail, wide, loss)
    if last >= 2 * (len(one_side) - 1):  # some point is far from both ends, and H never falls
        return float(2 * one_side[-1])
    return float(_both_sides(one_side, last).max())


def _one_side(line: Line, tail: Tail, wide: int, loss: str) -> Floats:
    """H(x) for x = 0, 1, ..., as far as it grows."""
    steps = np.arange(0.0, min(line.points - 1, wide) + 1)
    return np.concatenate([[0.0], np.cumsum(np.diff(cost(loss, steps)) * tail(steps[1:]))])


def _both_sides(one_side: Floats, last: int) -> Floats:
    """H(x) + H(m - x) at every point."""
    here = one_side[np.minimum(np.arange(last + 1), len(one_side) - 1)]
    return np.asarray(here + here[::-1])


def thresholds(changes: int, level: Level) -> dict[str, Callable[[Any], Floats]]:
    """How likely a key stays hidden that n units hold, by noise on its count and the lowest threshold that is safe.

    One neighbour changes so many keys by one unit. Keys that it alone holds are shown with delta at most, all of them
    together; Gaussian noise has half of delta, and the threshold the other half.
    """
    from scipy.special import ndtr, ndtri

    if isinstance(level, ApproxGaussianDP) and 0 < level.mu < math.inf:
        told, wide = -math.expm1(math.log1p(-float(level.delta)) / changes), math.sqrt(changes) / float(level.mu)
        least = 1 - wide * float(ndtri(told))
        return {"Gaussian threshold": lambda n: np.asarray(ndtr((least - n) / wide))}
    if not isinstance(level, ApproxDP) or not 0 < level.log_growth < math.inf or not 0 < level.delta < 1:
        return {}
    scale, alone = changes / level.log_growth, -math.expm1(math.log1p(-float(level.delta)) / changes)
    half = ApproxDP(level.epsilon, level.delta / 2) if level.ratio == 1 else level
    spread = _gaussian_spread(half) * math.sqrt(changes)
    high, higher = 1 - scale * math.log(2 * alone), 1 - spread * float(ndtri(alone / 2))
    found: dict[str, Callable[[Any], Floats]] = {"Laplace threshold": lambda n: _laplace_below((n - high) / scale)}
    if math.isfinite(spread):
        found["Gaussian threshold"] = lambda n: np.asarray(ndtr((higher - n) / spread))
    return found


def threshold_users(changes: int, level: Level) -> dict[str, float]:
    """How many units a key needs to be shown on average, by the usual thresholds."""
    return {name: _users_on_average(hidden) for name, hidden in thresholds(changes, level).items()}


def _users_on_average(hidden: Any) -> float:
    """The sum over n of the probability that a key of n units is hidden, until it is negligible."""
    last = first_integer(lambda n: bool(hidden(n) < NEGLIGIBLE), 1)
    return 1 + float(np.sum(hidden(np.arange(1.0, min(last, MOST_WIDE) + 1))))


def _laplace_below(x: Floats) -> Floats:
    """The probability that Laplace noise of scale 1 lies below -x."""
    far = np.exp(-np.abs(x)) / 2
    return np.asarray(np.where(x < 0, 1 - far, far))


def tails(reach: int, straight: float, level: Level) -> dict[str, tuple[Tail, int]]:
    """Pr[K >= t] for t >= 1 of each noise, rounded to integers, and how far it matters.

    One neighbour moves what is answered by at most `reach` in all (l1); `straight` (l2) is the same for one number.
    """
    found: dict[str, tuple[Tail, int]] = {}
    if isinstance(level, ApproxDP) and 0 < level.log_growth < math.inf:
        rate = level.log_growth / reach
        wide = min(MOST_WIDE, math.ceil(FAR / rate) + 1)
        found["Laplace"] = (lambda t: 0.5 * np.exp(-(t - 0.5) * rate), wide)
        found["geometric"] = (lambda t: np.exp(-t * rate) / (1 + math.exp(-rate)), wide)
    spread = _gaussian_spread(level) * straight
    if math.isfinite(spread):
        from scipy.special import ndtr

        name = f"Gaussian, delta = {DELTA:g}" if isinstance(level, ApproxDP) and level.delta == 0 else "Gaussian"
        found[name] = (lambda t: ndtr(-(t - 0.5) / spread), min(MOST_WIDE, math.ceil(9 * spread) + 2))
    return found


def _gaussian_spread(level: Level) -> float:
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
