"""Lower bound on the expected loss of one integer of a vector: with the others fixed, it is an integer on a line.

Two bounds, of which the larger counts; proofs in docs/theory.md, "Vectors".

*Pairs*, at every level. A loss c(|o - i|) that grows with the error is the sum over s >= 1 of c(s) - c(s - 1) times
[|o - i| >= s]. For a threshold t, "o >= t" at i = t - s and "o < t" at i' = t - 1 + s are such errors; i and i' are
2s - 1 apart, m = ceil((2s - 1)/reach) neighbours, so their probabilities add up to at least 2e, where m moves of the
level take e to 1 - e. Of L points, L + 1 - 2s thresholds have both ends. Absolute errors may also be bounded on the
points of one remainder modulo the reach alone, on which neighbours are next to each other.

*Flow*, at levels with an epsilon, where the reach is more than 1: the dual of the best staircase (Geng and Viswanath
2016), in rationals (`theory/scalar/verify/staircase_flow.py`).

Neither takes longer for a reach of 2^40 than for one of 2, so fine rounding steps cost nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from utmost.exact import to_float
from utmost.exact.arrays import Floats
from utmost.privacy import ZCDP, ApproxDP, Level
from utmost.space.integers import Lattice
from utmost.space.line import tolerance
from utmost.theory.scalar.verify.staircase_flow import best_flow_bound

ROUNDING = 1e-11
"""Bounds are lowered by this relative amount: far more than floating-point error here."""
NEGLIGIBLE = 1e-25
MOST_TERMS = 4 * 10**6


def coordinate_bound(space: Lattice, level: Level, loss: str) -> float:
    """Lower bound on the expected loss of one integer, for every private mechanism.

    It is an average over a line of equally likely values, so it bounds the loss at the worst point as well.
    """
    points, reach = line_points(space), space.reach
    if points < 2 or reach == 0 or (space.moves == "sum-zero" and space.dimension == 1):
        return 0.0
    bound = 0.0
    if reach > 1 and isinstance(level, ApproxDP):
        bound = best_flow_bound(points if space.is_bounded else None, reach, level, loss)
    attained = bool(bound) and not space.is_bounded and getattr(level, "delta", 0) == 0  # the flow bound is attained
    if not attained:
        bound = max(bound, _pair_bound(points, reach, level, loss))
    return max(0.0, bound * (1 - ROUNDING))


def line_points(space: Lattice) -> int:
    """How many values one integer takes while the others are fixed; with a fixed total another one must give way.

    There, all but one integer range over a (d-1)-th of the range each, and the last makes up the sum: given all but one
    of the others, any integer takes so many values, equally likely.
    """
    wide = space.width
    return wide // (space.dimension - 1) + 1 if space.moves == "sum-zero" and space.dimension > 2 else wide + 1


def _pair_bound(points: int, reach: int, level: Level, loss: str) -> float:
    if loss not in ("absolute", "squared"):
        off = tolerance(loss) + 1
        if points + 1 - 2 * off <= 0:
            return 0.0
        moves = np.array([min(-(-(2 * off - 1) // reach), MOST_TERMS)])
        return float(2 * equal_error_rates(level, moves)[0] * ((points + 1 - 2 * off) / points))
    bound = _sum_over_pairs(points, reach, level, loss)
    if loss == "absolute" and reach > 1:  # on one residue class modulo the reach, errors are multiples of it
        return max(bound, reach * _sum_over_pairs(points // reach, 1, level, loss))
    return bound


def _sum_over_pairs(points: int, reach: int, level: Level, loss: str) -> float:
    """The sum over s, grouped by how many neighbours m the two points are apart: s up to (m·reach + 1)/2.

    So there is a term for every m, however many steps the reach has; c(s) - c(s - 1) is 1 or 2s - 1, and the sums of
    it times (points + 1 - 2s) from one s to another are polynomials.
    """
    total, start, length, depth = 0.0, 1, 64, (points + 1) // 2
    while start <= MOST_TERMS and (start - 1) * reach + 1 <= 2 * depth:
        m = np.arange(start, min(start + length, MOST_TERMS + 1))
        errors = equal_error_rates(level, m)
        ends = np.minimum(np.floor((np.append(m[0] - 1.0, m) * reach + 1) / 2), depth)
        low, high = ends[:-1], ends[1:]
        if loss == "absolute":
            shares = (high - low) * ((points - low - high) / points)
        else:
            thirds = (4 * (low * low + low * high + high * high) - 1) / 3
            shares = (high - low) * (low + high - thirds / points)
        total += float(2 * errors @ np.maximum(shares, 0))
        if errors[-1] < NEGLIGIBLE:
            break
        start, length = start + length, 2 * length
    return total


def equal_error_rates(level: Level, moves: NDArray[np.int64]) -> Floats:
    """The e that so many moves take to 1 - e: half of the moves take it to 1/2, or to where one move does the rest."""
    distinct, where = np.unique(moves, return_inverse=True)
    if isinstance(level, ZCDP):
        return _equal_error_rates_of_divergence(to_float(level.rho) * distinct.astype(float) ** 2)[where]
    start = np.where(distinct % 2, level.even_share()[1], 0.5)
    return np.asarray(level.lower_after(distinct // 2, start))[where]


def _equal_error_rates_of_divergence(divergence: Floats) -> Floats:
    """The least e with divergence (1 - 2e) log((1 - e)/e) of (1 - e, e) from (e, 1 - e) at most `divergence`.

    m neighbours under rho-zCDP have a divergence of at most rho m^2 (Bun and Steinke 2016, Proposition 1.9); it is
    convex, so equal errors are least.
    """
    low, high = np.zeros(len(divergence)), np.full(len(divergence), 0.5)
    for _ in range(1100):
        middle = (low + high) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            over = ~((1 - 2 * middle) * (np.log1p(-middle) - np.log(middle)) <= divergence)
        low, high = np.where(over, middle, low), np.where(over, high, middle)
        if np.all(high - low <= 1e-15 * high):
            break
    return low
