"""What no private mechanism goes below for one integer of a vector: with the others fixed, it is an integer on a line.

Two bounds, of which the larger counts; proofs in docs/theory.md, "Vectors".

*Pairs*, at every level. A loss c(|o - i|) that grows with the error is the sum over s >= 1 of c(s) - c(s - 1) times
[|o - i| >= s]. For a threshold t, "o >= t" at i = t - s and "o < t" at i' = t - 1 + s are such errors; i and i' are
2s - 1 apart, m = ceil((2s - 1)/reach) neighbours, so their probabilities add up to at least 2e, where m moves of the
level take e to 1 - e. Of L points, L + 1 - 2s thresholds have both ends. Absolute errors may also be looked at on the
points of one remainder modulo the reach alone, on which neighbours are next to each other.

*Flow*, at levels with an epsilon, where the reach is more than 1: the dual of the best staircase (Geng and Viswanath
2016), in rationals (`theory/scalar/verify/staircase_flow.py`).

Neither takes longer for a reach of 2^40 than for one of 2: how fine the steps are is no matter of cost.
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
"""By how much bounds are lowered, relatively: far more than floating point can err here."""
NEGLIGIBLE = 1e-25
MOST_TERMS = 4 * 10**6


def coordinate_bound(space: Lattice, level: Level, loss: str) -> float:
    """The least expected loss of one integer, whatever private mechanism releases it.

    It is an average over a line of equally likely values, so it bounds the loss at the worst point as well.
    """
    points, reach = line_points(space), space.reach
    if points < 2 or reach == 0 or (space.moves == "sum-zero" and space.dimension == 1):
        return 0.0
    found = 0.0
    if reach > 1 and isinstance(level, ApproxDP):
        found = best_flow_bound(points if space.bounded else None, reach, level, loss)
    least = bool(found) and not space.bounded and getattr(level, "delta", 0) == 0  # what the best mechanism loses
    if not least:
        found = max(found, _by_pairs(points, reach, level, loss))
    return max(0.0, found * (1 - ROUNDING))


def line_points(space: Lattice) -> int:
    """How many values one integer takes while the others stay: all, but of vectors of one sum another must give way.

    There, all but one integer range over a (d-1)-th of the range each, and the last makes up the sum: whichever integer
    is asked for, given all but one of the others it takes so many values, equally likely.
    """
    wide = space.width
    return wide // (space.dimension - 1) + 1 if space.moves == "sum-zero" and space.dimension > 2 else wide + 1


def _by_pairs(points: int, reach: int, level: Level, loss: str) -> float:
    if loss not in ("absolute", "squared"):
        off = tolerance(loss) + 1
        if points + 1 - 2 * off <= 0:
            return 0.0
        moves = np.array([min(-(-(2 * off - 1) // reach), MOST_TERMS)])
        return float(2 * even_errors(level, moves)[0] * ((points + 1 - 2 * off) / points))
    whole = _added_pairs(points, reach, level, loss)
    if loss == "absolute" and reach > 1:  # of one remainder modulo the reach, where errors are multiples of it
        return max(whole, reach * _added_pairs(points // reach, 1, level, loss))
    return whole


def _added_pairs(points: int, reach: int, level: Level, loss: str) -> float:
    """The sum over s, by how many neighbours m the two points are apart: s up to (m·reach + 1)/2.

    So there is a term for every m, however many steps the reach has; c(s) - c(s - 1) is 1 or 2s - 1, and the sums of
    it times (points + 1 - 2s) from one s to another are polynomials.
    """
    total, start, length, far = 0.0, 1, 64, (points + 1) // 2
    while start <= MOST_TERMS and (start - 1) * reach + 1 <= 2 * far:
        m = np.arange(start, min(start + length, MOST_TERMS + 1))
        errors = even_errors(level, m)
        ends = np.minimum(np.floor((np.append(m[0] - 1.0, m) * reach + 1) / 2), far)
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


def even_errors(level: Level, moves: NDArray[np.int64]) -> Floats:
    """The e which so many moves take to 1 - e: half of the moves take it to 1/2, or to where one move does the rest."""
    distinct, where = np.unique(moves, return_inverse=True)
    if isinstance(level, ZCDP):
        return _even_errors_of_divergence(to_float(level.rho) * distinct.astype(float) ** 2)[where]
    start = np.where(distinct % 2, level.even_share()[1], 0.5)
    return np.asarray(level.lower_after(distinct // 2, start))[where]


def _even_errors_of_divergence(most: Floats) -> Floats:
    """The least e with divergence (1 - 2e) log((1 - e)/e) of (1 - e, e) from (e, 1 - e) at most a number.

    m neighbours under rho-zCDP have a divergence of at most rho m^2 (Bun and Steinke 2016, Proposition 1.9); it is
    convex, so equal errors are least.
    """
    low, high = np.zeros(len(most)), np.full(len(most), 0.5)
    for _ in range(1100):
        middle = (low + high) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            over = ~((1 - 2 * middle) * (np.log1p(-middle) - np.log(middle)) <= most)
        low, high = np.where(over, middle, low), np.where(over, high, middle)
        if np.all(high - low <= 1e-15 * high):
            break
    return low
