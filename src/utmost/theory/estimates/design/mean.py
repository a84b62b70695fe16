"""A mean from two released sums: R, of distances from the lower end of the range, and Q, from the upper end.

A value at distance u from the lower end of a range of width W adds (u, W - u) to (R, Q): W in all, wherever it lies.
The share m = R/(R + Q) locates the mean in its range. With noise (X, Y) its error is ((1 - m) X - m Y)/(R + Q) to first
order, and (1 - m)(R + X) - m (Q + Y) = (1 - m) X - m Y exactly: so the shares m for which this is not unusually large
are a confidence set (Fieller 1954), for every table whose sums are not clamped.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput
from utmost.exact import Number, as_rational
from utmost.exact.arrays import Floats
from utmost.mechanism.noise.balls import BallLaw
from utmost.mechanism.noise.independent import IndependentLaw
from utmost.mechanism.noise.vector import NoisyVector
from utmost.privacy import ZCDP, ApproxDP, GaussianDP, Level
from utmost.space.integers import Lattice, Moves
from utmost.space.sensitivity import straightness
from utmost.theory.estimates.design.combined_noise import expected, laplace_losses
from utmost.theory.vector.design.vectors import gaussian_law

BINS, SHARES, LISTED = 100, 32, 1500
"""Bins of one noise's size, and of the shares, for intervals; bins of one law, for expectations."""
NEARLY_ALL = 0.9999
"""The probability covered by the blocks over which expectations are taken."""
FEW_LISTED = 200
"""Bins of a law whose tails are slow to evaluate: accurate to half a percent."""
DELTA = 1e-6


def mean_losses(mechanism: NoisyVector, m: float) -> dict[str, float]:
    """The expected losses of a mean at the share m of its range, in steps, times the rows (or their square).

    To first order E|(1-m)X - mY| and E((1-m)X - mY)^2, whatever the width is: the error of the share is W times smaller
    than that of R, and the mean's W times larger. Both are convex in m and the same at 1 - m: least at m = 1/2, and
    largest at an end, where one noise is all of the error. Squares are (1-m)^2 EX^2 + m^2 EY^2 - 2m(1-m) EXY. Where one
    noise vector covers the sums of several means, the two of one mean are taken as independent, which they nearly are.

    Parameters
    ----------
    mechanism : NoisyVector
        The noise of R and Q.
    m : float
        A share of the range, from 0 to 1.

    Examples
    --------
    >>> from utmost.theory.vector.design.vectors import best_vector
    >>> from utmost.privacy import PureDP
    >>> mechanism = best_vector(Lattice(2, "any", 10, 0, 10_000), PureDP(1)).mechanism
    >>> [round(mean_losses(mechanism, m)["absolute"], 2) for m in (0, 0.25, 0.5)]
    [9.92, 8.07, 7.44]
    """
    law = of_pairs(mechanism.noise)
    if m in (0, 1):
        return {loss: mechanism.noise.mean(loss) for loss in ("absolute", "squared")}
    if law is not None and law.independent is not None:
        return expected(law, np.array([1 - m, -m]))
    if law is None:
        (sizes, chances), product = _listed(mechanism.noise), 0.0
        x, y = np.meshgrid((1 - m) * sizes, m * sizes, indexing="ij")
        absolute = float(chances @ np.maximum(x, y) @ chances)  # of both signs, on average
    else:
        places, _, masses = blocks_of_pair(law, NEARLY_ALL)
        x, y = np.meshgrid((1 - m) * places, m * places, indexing="ij")
        absolute = float(np.sum(masses * np.abs(x - y)) / masses.sum())
        product = float(law.total(_products) / law.total(_points))
    of_squares = (m * m + (1 - m) ** 2) * mechanism.noise.mean("squared")
    return {"absolute": absolute, "squared": of_squares - 2 * m * (1 - m) * product}


def mean_interval(mechanism: NoisyVector, above: int, below: int, confidence: Number = 0.95) -> tuple[float, float]:
    """A confidence interval for the share m of the range, from the two released sums.

    Parameters
    ----------
    mechanism : NoisyVector
        The noise of R and Q.
    above, below : int
        R and Q as released.
    confidence : number
        The probability with which the interval contains the true share, at least.

    Examples
    --------
    >>> from utmost.theory.vector.design.vectors import best_vector
    >>> from utmost.privacy import PureDP
    >>> solution = best_vector(Lattice(2, "any", 10, 0, 10_000), PureDP(1))
    >>> low, high = mean_interval(solution.mechanism, 3000, 7000)
    >>> round(low, 3), round(high, 3)
    (0.298, 0.302)
    """
    low, high = mean_intervals(mechanism, np.array([above], dtype=object), np.array([below], dtype=object), confidence)
    return float(low[0]), float(high[0])


def mean_intervals(
    mechanism: NoisyVector, above: NDArray[Any], below: NDArray[Any], confidence: Number = 0.95
) -> tuple[Floats, Floats]:
    """`mean_interval` for many pairs (R, Q); the mechanism's noise is on two integers, or on two for each pair.

    Where one noise vector covers more than two integers, both of a pair are within a half width at once with this
    probability (union bound), and |(1 - m) X - m Y| is no larger than the larger of |X| and |Y|.
    """
    chance, law = float(as_rational(confidence, "the confidence")), of_pairs(mechanism.noise)
    within = mechanism.noise.half_width(1 - (1 - as_rational(confidence)) / 2) if law is None else 0
    limits = [float(within)] * SHARES if law is None else _limits(law, chance)
    shares = np.linspace(0, 1, SHARES + 1)
    r, slope = np.asarray(above, dtype=float), -np.asarray(above.astype(object) + below, dtype=float)
    level = slope == 0  # then any share fits, or none
    first, last = np.full(r.shape, np.inf), np.full(r.shape, -np.inf)
    for start, stop, limit in zip(shares[:-1].tolist(), shares[1:].tolist(), limits, strict=True):
        first_end, second_end = ((end - r) / np.where(level, 1.0, slope) for end in (-limit, limit))
        low = np.maximum(start, np.where(level, 0.0, np.minimum(first_end, second_end)))
        high = np.minimum(stop, np.where(level, 1.0, np.maximum(first_end, second_end)))
        fits = (low <= high) & (~level | (np.abs(r) <= limit))
        first = np.where(fits, np.minimum(first, low), first)
        last = np.where(fits, np.maximum(last, high), last)
    q = np.asarray(below, dtype=float)
    nearest = np.where(np.abs(r) * limits[-1] <= np.abs(q) * limits[0], 0.0, 1.0)  # released sums that no share fits
    incompatible = first > last
    return np.where(incompatible, nearest, first), np.where(incompatible, nearest, last)


def mean_alternatives(space: Lattice, level: Level, width: int) -> dict[str, dict[str, float]]:
    """The largest expected losses of the usual approach, in steps, times the rows: a centred sum and a count.

    Each has half of the level. The error of a mean at distance c from the middle is (X - cY)/rows, largest at an end.
    Gaussian noise is rounded to whole numbers, which adds 1/12 to its variance.

    Parameters
    ----------
    space : Lattice
        The vectors (R, Q); its sensitivity set says whether rows are added and removed, or replaced.
    level : Level
        The level of both together.
    width : int
        The width of the range, in steps.
    """
    rows, half = space.reach / width, width / 2
    reach = rows * width * (0.5 if space.moves == "any" else 1.0)
    losses: dict[str, dict[str, float]] = {}
    if isinstance(level, ApproxDP) and 0 < level.log_growth < math.inf:
        rate = level.log_growth / 2
        losses["Laplace"] = laplace_losses([reach / rate, half * rows / rate])
        losses["geometric"] = _geometric(rate / reach, rate / rows, half)
    spread = _gaussian_spread(level) * straightness(space)
    if math.isfinite(spread):
        name = f"Gaussian, delta = {DELTA:g}" if isinstance(level, ApproxDP) and level.delta == 0 else "Gaussian"
        variance = _rounded(spread * reach) ** 2 + (half * _rounded(spread * rows)) ** 2
        losses[name] = {"absolute": math.sqrt(2 / math.pi * variance), "squared": variance}
    return losses


def of_pairs(law: Any) -> Any:
    """The law of the two integers of one mean; None where one noise vector covers those of several means."""
    if law.dimension % 2 or (isinstance(law, BallLaw) and law.shape not in ("any", "exchange")):
        raise InvalidInput("a mean is made of two sums whose noise was made for moves of any kind, or exchanges.")
    if law.independent is not None:
        return IndependentLaw(2, law.independent)
    return law if law.dimension == 2 else None


def _points(shape: Moves, d: int, s: int, slack: int = 0) -> int:
    """The number of points of a ball in two dimensions."""
    return 2 * s * (s + 1) + 1 if shape == "any" else 3 * s * (s + 1) + 1


def _products(shape: Moves, d: int, s: int, slack: int = 0) -> int:
    """The sum of x·y over a ball; that of exchanges contains the full squares where signs differ."""
    return 0 if shape == "any" else 2 * comb(s + 2, 4) - 2 * (s * (s + 1) // 2) ** 2


def _listed(law: Any) -> tuple[Floats, Floats]:
    """The absolute noise of one coordinate in bins, each at its middle, and their probabilities."""
    return _in_bins(lambda t: 2 * law.tail(t), law.half_width(1 - 10**-12) + 2, FEW_LISTED)


def _in_bins(beyond: Any, far: int, bins: int = LISTED) -> tuple[Floats, Floats]:
    """Sizes 0, 1, 2, ... in bins by Pr[size >= t], t >= 1."""
    edges = _edges(far, bins)
    chances = -np.diff(beyond(edges))
    middles = _middles(edges)
    return np.append(0.0, middles), np.append(1 - float(beyond(np.array([1]))[0]), chances)


def _edges(far: int, bins: int) -> NDArray[Any]:
    """Evenly spaced integers from 1 to far + 1; Python's own integers where 64 bits do not suffice."""
    if far < 2**52:
        return np.unique(np.round(np.linspace(1, far + 1, bins + 1))).astype(np.int64)
    edges = [1 + far * i // bins for i in range(bins + 1)]
    return np.array(edges, dtype=np.int64 if far < 2**62 else object)


def _middles(edges: NDArray[Any]) -> Floats:
    return np.asarray((edges[:-1].astype(float) + edges[1:].astype(float) - 1) / 2)


# ---- limits of (1 - m) X - m Y ----


@lru_cache(maxsize=64)
def _limits(law: Any, confidence: float) -> list[float]:
    """For each piece of the shares 0..1, a number that |(1 - m) X - m Y| exceeds with at most 1 - confidence.

    On a piece from a to b it is at most the larger of its values at a and at b; on a block of noise, at most its value
    at the middle plus half a side, since both weights add up to 1. What lies beyond all blocks counts as exceeding.
    """
    places, sides, masses = blocks_of_pair(law, confidence)
    masses = masses.ravel()
    spare = np.maximum.outer(sides, sides).ravel()
    x, y = (part.ravel() for part in np.meshgrid(places, places, indexing="ij"))
    sizes = [np.abs((1 - m) * x - m * y) for m in np.linspace(0, 1, SHARES + 1)]
    limits = []
    for first, second in pairwise(sizes):
        largest = np.maximum(first, second) + spare
        order = np.argsort(largest)
        reached = np.searchsorted(np.cumsum(masses[order]), confidence + 1e-9)
        limits.append(float(largest[order[min(int(reached), len(order) - 1)]]))
    return limits


def blocks_of_pair(law: Any, confidence: float) -> tuple[Floats, Floats, Floats]:
    """The middles and half widths of the blocks of one coordinate, and the probabilities of all pairs of blocks."""
    far = law.half_width(1 - (1 - confidence) / 100)
    edges = _edges(far, BINS)
    halves = np.asarray((edges[1:] - edges[:-1] - 1) / 2, dtype=float)
    middles = _middles(edges)
    places = np.concatenate([-middles[::-1], [0.0], middles])
    return places, np.concatenate([halves[::-1], [0.0], halves]), _blocks(law, edges)


def _blocks(law: Any, edges: NDArray[np.int64]) -> Floats:
    """The probabilities of blocks of (x, y); absolute values are 0 or cut at the edges."""
    if law.independent is not None:
        tails = law.tail(edges)
        side_masses = np.concatenate([-np.diff(tails)[::-1], [1 - 2 * float(tails[0])], -np.diff(tails)])
        return np.asarray(np.multiply.outer(side_masses, side_masses))
    far = edges.astype(float)
    once, twice = _falling_sums(law)

    def differences(summed: Floats) -> Floats:
        return np.asarray(np.diff(np.diff(summed, axis=0), axis=1))

    same_signs = differences(twice(np.add.outer(far, far)))
    if law.shape == "any":
        opposite_signs = same_signs
    else:
        least, most = np.minimum.outer(far, far), np.maximum.outer(far, far)
        below = 2 * (least * once(least) - twice(least + 1)) + once(least)  # the sum of (2n + 1) w(n)
        opposite_signs = differences(below + least * (once(most) - once(least)))
    axis = np.diff(once(far))
    n = len(axis)
    masses = np.zeros((2 * n + 1, 2 * n + 1))
    masses[n + 1 :, n + 1 :], masses[:n, :n] = same_signs, same_signs[::-1, ::-1]
    masses[:n, n + 1 :], masses[n + 1 :, :n] = opposite_signs[::-1], opposite_signs[:, ::-1]
    masses[n, n + 1 :], masses[n, :n], masses[n + 1 :, n], masses[:n, n] = axis, axis[::-1], axis, axis[::-1]
    masses[n, n] = 1.0
    return np.maximum(masses, 0.0) * float(law.point_mass((0, 0)))


def _falling_sums(law: BallLaw) -> tuple[Any, Any]:
    """The sum of w(i) over i < n, and the sum of these over n, in closed form; w falls by b once a period."""
    b, rest, p, u = float(law.decay), float(1 - law.decay), law.period, law.upper
    block = u + b * (p - u)
    rate = 0.0 if not b else math.log1p(-rest) if rest < 0.5 else math.log(b)  # 1 - b is 1 where b is tiny

    def split(n: Floats) -> tuple[Floats, Floats, Floats]:
        q = np.floor(n / p)
        with np.errstate(under="ignore"):
            return q, n - q * p, np.exp(q * rate) if b else (q == 0).astype(float)

    def once(n: Floats) -> Floats:
        _, r, fallen = split(n)
        return np.asarray(block * (1 - fallen) / rest + fallen * (np.minimum(r, u) + b * np.maximum(r - u, 0)))

    def within(r: Any) -> Any:
        above = np.maximum(r - u, 0)
        below = np.minimum(r, u)
        return below * (below - 1) / 2 + above * u + b * above * (above - 1) / 2

    def twice(n: Floats) -> Floats:
        q, r, fallen = split(n)
        blocks = p * block / rest * (q - (1 - fallen) / rest) + within(float(p)) * (1 - fallen) / rest
        return np.asarray(blocks + r * block * (1 - fallen) / rest + fallen * within(r))

    return once, twice


# ---- the usual approach ----


def _geometric(sum_rate: float, count_rate: float, half: float) -> dict[str, float]:
    """The losses of X - half·Y for geometric X, Y: by symmetry |x - y| and |x + y| average to max(|x|, |y|)."""
    (x, p), (y, q) = (
        _in_bins(
            lambda t, rate=rate: 2 * np.exp(-rate * t.astype(float)) / (1 + math.exp(-rate)), math.ceil(40 / rate) + 2
        )
        for rate in (sum_rate, count_rate)
    )
    absolute = float(p @ np.maximum(x[:, None], half * y) @ q)
    variances = [2 * math.exp(-rate) / math.expm1(-rate) ** 2 for rate in (sum_rate, count_rate)]
    return {"absolute": absolute, "squared": variances[0] + half**2 * variances[1]}


def _rounded(spread: float) -> float:
    """The standard deviation after rounding to whole numbers."""
    return math.hypot(spread, math.sqrt(1 / 12))


def _gaussian_spread(level: Level) -> float:
    """The standard deviation of Gaussian noise for half of a level at sensitivity 1; pure levels get delta = 1e-6."""
    if isinstance(level, GaussianDP):
        return math.sqrt(2) / float(level.mu) if 0 < level.mu < math.inf else math.inf
    if isinstance(level, ZCDP):
        return 1 / math.sqrt(float(level.rho)) if 0 < level.rho < math.inf else math.inf
    if not isinstance(level, ApproxDP) or not 0 < level.log_growth < 500:
        return math.inf
    law = gaussian_law(ApproxDP(level.log_growth / 2, (float(level.delta) or DELTA) / 2), 1)
    return math.inf if law is None else law.deviation
