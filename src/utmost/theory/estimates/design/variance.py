"""A variance from three released sums: of (W - u)^2, of 2 u (W - u), and of u^2.

A value at distance u from the lower end of a range of width W adds W^2 to the three in all, wherever it lies: they are
the Bernstein polynomials of degree 2. A sum of values, one of squares and a count would pay for each row three times.
With y = 2u/W - 1, from -1 to 1, they are A, B, C = the sums of (1 - y)^2/4, (1 - y^2)/2, (1 + y)^2/4, and

    n = A + B + C,   sum of y = C - A,   sum of y^2 = A - B + C,   variance of y = (4AC - B^2)/n^2.

**The interval.** Let m be the true mean of y, v its variance, q = v - m^2. The combinations

    G = sum of y - m n               = -(1 + m) A - m B + (1 - m) C
    F = sum of (y - m)^2 - v n       = (1 + 2m - q) A - (1 + q) B + (1 - 2m - q) C

are 0 for the true sums, so for the released ones they are the same combinations of the noise, whose law is known. Means
with |G| not unusually large are a confidence set for m (Fieller 1954), of nearly full confidence; of pairs (m, v) with
such a mean, those with |F| not unusually large give the v of the interval. The error of the mean enters by its square
only, so its high confidence costs little. The interval misses with at most 5 % in all, for every table.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from utmost.exact.arrays import Floats
from utmost.mechanism.noise.independent import IndependentLaw
from utmost.mechanism.noise.vector import NoisyVector
from utmost.privacy import ZCDP, ApproxDP, GaussianDP, Level
from utmost.theory.estimates.design.combined_noise import expected, laplace_losses, limits
from utmost.theory.vector.design.vectors import gaussian_law

OF_MEAN = 0.1
"""The share of the error probability that is spent on the mean."""
ROUNDS = 3
"""How often the intervals of mean and variance are used to tighten the limits."""
FEW, GRID = 8, 17
"""For up to `FEW` variances limits are computed for each; for more, once on a grid of `GRID` means and squares."""
LARGEST = (1.0, -1.0)
"""The moments (m, q) at which the error is largest: all values at one end of the range."""
SQUARES = np.linspace(0, 1, 7)
"""The grid of mean squares for the least error."""
DELTA = 1e-6


class Limit(Protocol):
    """A quantile of weighted noise as a function of the mean and of q."""

    def __call__(self, m: Floats, q: Floats) -> Floats: ...


def variance_losses(law: Any, reach: float, m: float, q: float) -> dict[str, float]:
    """The expected losses of the variance of y at given moments, to first order, times the rows (or their square).

    With noise N = (N_A, N_B, N_C) the error of the variance is F(N)/n to first order, F as above with the true m and q:

        ((1 + 2m - q) N_A - (1 + q) N_B + (1 - 2m - q) N_C) / n.

    **The largest**: by the triangle inequality E|F(N)| is at most the sum of the weights' sizes times E|N_A|. Feasible
    are -1 <= m <= 1 and m^2 <= v + m^2 <= 1, so -m^2 <= q <= 1 - 2m^2, and the sum of sizes is convex in (m, q): it is
    largest where q = 1 - 2m^2 or at the corners q = -1, there at most 4m + 2 - 2m^2 <= 4 for m >= 0. At m = 1, q = -1
    the weights are (4, 0, 0): so 4 E|N_A|, all values at one end of the range, is the largest (`LARGEST`).

    Parameters
    ----------
    law : IndependentLaw or BallLaw
        The noise of the three sums.
    reach : float
        W^2, what one row adds to the three sums together.
    m, q : float
        The mean of y, and its variance less the square of the mean.
    """
    losses = expected(_of_three(law), np.array([1 + 2 * m - q, -1 - q, 1 - 2 * m - q]))
    return {"absolute": losses["absolute"] / reach, "squared": losses["squared"] / reach**2}


def least_variance_losses(law: Any, reach: float) -> dict[str, float]:
    """The least expected losses of the variance over all moments, to a percent (see `variance_losses`).

    E|F(N)| is convex in (m, q) and the same at -m, so it is least at m = 0, where q is the mean square of y, from 0 to
    1; this is searched on a grid. The minimum is near evenly spread values, q = 1/3.
    """
    losses_at = [variance_losses(law, reach, 0.0, q) for q in SQUARES.tolist()]
    return {loss: min(losses[loss] for losses in losses_at) for loss in losses_at[0]}


def moments(a: Any, b: Any, c: Any) -> tuple[float, float]:
    """(m, q) of three released sums, clamped to feasible values; those of the largest error if the count is <= 0."""
    n = a + b + c
    if n <= 0:
        return LARGEST
    m = min(max(float((c - a) / n), -1.0), 1.0)
    square = min(max(float((a - b + c) / n), m * m), 1.0)
    return m, square - 2 * m * m


def variance_interval(mechanism: NoisyVector, sums: tuple[int, int, int], confidence: float) -> tuple[float, float]:
    """A confidence interval for the variance of y, from the three released sums.

    Examples
    --------
    >>> from utmost.theory.vector.design.vectors import best_vector
    >>> from utmost.privacy import PureDP
    >>> from utmost.space.integers import Lattice
    >>> solution = best_vector(Lattice(3, "any", 100, 0, 100_000), PureDP(1))
    >>> low, high = variance_interval(solution.mechanism, (33_000, 34_000, 33_000), 0.95)
    >>> round(low, 3), round(high, 3)
    (0.315, 0.325)
    """
    a, b, c = (np.array([part], dtype=object) for part in sums)
    low, high = variance_intervals(mechanism, a, b, c, confidence)
    return float(low[0]), float(high[0])


def variance_intervals(
    mechanism: NoisyVector, a: NDArray[Any], b: NDArray[Any], c: NDArray[Any], confidence: float
) -> tuple[Floats, Floats]:
    """`variance_interval` for many triples of sums at once; the mechanism's noise is on three integers for each."""
    law, miss = _of_three(mechanism.noise), 1 - confidence
    many = len(a) > FEW
    of_mean, of_variance = (
        _tabulated(law, kind, 1 - part * miss) if many else partial(_computed, law, kind, 1 - part * miss)
        for kind, part in (("mean", OF_MEAN), ("variance", 1 - OF_MEAN))
    )
    rows = np.asarray(a + b + c, dtype=float)
    has_rows = rows > 0
    n = np.where(has_rows, rows, 1.0)
    mean, square = np.asarray(c - a, dtype=float) / n, np.asarray(a - b + c, dtype=float) / n
    zero = np.zeros(n.shape)
    m_low, m_high = zero - 1, zero + 1
    for _ in range(ROUNDS):
        half = _largest(of_mean, m_low, m_high, zero, zero) / n
        m_low, m_high = (np.clip(end, -1, 1) for end in (mean - half, mean + half))
    v = square - mean**2
    nearest, farthest = (  # (m - mean)^2 for the means of the set, at least and at most
        np.where((m_low <= mean) & (mean <= m_high), 0.0, np.minimum((m_low - mean) ** 2, (m_high - mean) ** 2)),
        np.maximum((m_low - mean) ** 2, (m_high - mean) ** 2),
    )
    low, high = zero, zero + 1
    for _ in range(ROUNDS):
        squares = np.minimum(m_low**2, m_high**2) * (m_low * m_high > 0), np.maximum(m_low**2, m_high**2)
        half = _largest(of_variance, m_low, m_high, low - squares[1], high - squares[0]) / n
        low, high = np.clip(v + nearest - half, 0, 1), np.clip(v + farthest + half, 0, 1)
    return np.where(has_rows, low, 0.0), np.where(has_rows, high, 1.0)


def _largest(limit: Limit, m_low: Floats, m_high: Floats, q_low: Floats, q_high: Floats) -> Floats:
    """The largest limit at the corners of rectangles of means and q, in both of which the weights are linear."""
    at = [limit(m, q) for m in (m_low, m_high) for q in (q_low, q_high)]
    return np.asarray(np.max(at, axis=0))


def _computed(law: Any, kind: str, confidence: float, m: Floats, q: Floats) -> Floats:
    """The limit at each pair (m, q), computed one by one."""
    return np.array([_limit(law, kind, confidence, *pair) for pair in zip(m.tolist(), q.tolist(), strict=True)])


@lru_cache(maxsize=4096)
def _limit(law: Any, kind: str, confidence: float, m: float, q: float) -> float:
    """The limit of |G|, for the "mean", or of |F|, for the "variance"."""
    weights = (-1 - m, -m, 1 - m) if kind == "mean" else (1 + 2 * m - q, -1 - q, 1 - 2 * m - q)
    return float(limits(law, np.array(weights), confidence)[0])


def _tabulated(law: Any, kind: str, confidence: float) -> Limit:
    """Limits on a grid of means -1..1 and of q -1..1; anywhere else, the largest of the four around it."""
    at = np.linspace(-1, 1, GRID)
    table = np.array(
        [[_limit(law, kind, confidence, m, q) for q in (at.tolist() if kind == "variance" else [0.0])] for m in at]
    )
    if kind == "mean":
        table = np.repeat(table, GRID, axis=1)

    def largest_around(m: Floats, q: Floats) -> Floats:
        places = [np.clip((x + 1) * (GRID - 1) / 2, 0, GRID - 1) for x in (m, q)]
        rows, columns = ((np.floor(p).astype(int), np.ceil(p).astype(int)) for p in places)
        return np.asarray(np.max([table[i, j] for i in rows for j in columns], axis=0))

    return largest_around


def _of_three(law: Any) -> Any:
    """The law of the three integers of one variance, from that of several."""
    return law if law.independent is None else IndependentLaw(3, law.independent)


# ---- the usual approach: a count, a centred sum and a centred sum of squares, each with a third of the level ----


def variance_alternatives(level: Level, rows_each: int, straight: float = 1.0) -> dict[str, dict[str, float]]:
    """The largest expected losses of the usual approach to the variance of y, to first order, times the rows.

    With noise X on the sum of squares, Z on that of y and Y on the count, the error of the variance is
    (X - 2m Z - q Y)/rows: largest where all values lie at one end, (X - 2Z + Y)/rows.

    Parameters
    ----------
    level : Level
        The level of all three together.
    rows_each : int
        The sensitivity of the count, and of both sums.
    straight : float
        The ratio of the Euclidean sensitivity of a vector of groups to its bound, as `sensitivity.straightness` gives.
    """
    losses: dict[str, dict[str, float]] = {}
    if isinstance(level, ApproxDP) and 0 < level.log_growth < math.inf:
        scale = 3 * rows_each / level.log_growth
        losses["Laplace"] = laplace_losses([scale, 2 * scale, scale])
    spread = _gaussian_spread(level) * rows_each * straight
    if math.isfinite(spread):
        name = f"Gaussian, delta = {DELTA:g}" if isinstance(level, ApproxDP) and level.delta == 0 else "Gaussian"
        variance = 6 * spread**2
        losses[name] = {"absolute": math.sqrt(2 / math.pi * variance), "squared": variance}
    return losses


def _gaussian_spread(level: Level) -> float:
    """The standard deviation of Gaussian noise for a third of a level at sensitivity 1; delta = 1e-6 if it is pure."""
    if isinstance(level, GaussianDP):
        return math.sqrt(3) / float(level.mu) if 0 < level.mu < math.inf else math.inf
    if isinstance(level, ZCDP):
        return math.sqrt(1.5 / float(level.rho)) if 0 < level.rho < math.inf else math.inf
    if not isinstance(level, ApproxDP) or not 0 < level.log_growth < 500:
        return math.inf
    law = gaussian_law(ApproxDP(level.log_growth / 3, (float(level.delta) or DELTA) / 3), 1)
    return math.inf if law is None else law.deviation
