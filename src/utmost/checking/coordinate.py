"""What no private mechanism goes below for one integer of a vector: with the others fixed, it is an integer on a line.

Two bounds, of which the larger counts; proofs in docs/theory.md, "Vectors".

*Pairs*, at every level. A loss c(|o - i|) that grows with the error is the sum over s >= 1 of c(s) - c(s - 1) times
[|o - i| >= s]. For a threshold t, "o >= t" at i = t - s and "o < t" at i' = t - 1 + s are such errors; i and i' are
2s - 1 apart, m = ceil((2s - 1)/reach) neighbours, so their probabilities add up to at least 2e, where m moves of the
level take e to 1 - e. Of L points, L + 1 - 2s thresholds have both ends.

*Flow*, at pure levels, where the reach is more than 1: the dual of the staircase (Geng and Viswanath 2016). With
S(k) = sum over j of b^j (c(k + j·reach) - l), l the staircase's loss and r its step, b·S(k + reach) flows from k >= r
to k + reach, and l - c(k) from k < r to the places [r, r + reach), which need b·S. Every mechanism on the whole line
loses l; on L points, at least l - (2·reach/L)(B l + A) if no outflow exceeds A + B·c(k), B >= b/(1 - b).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from utmost.exact import to_float
from utmost.exact.arrays import Floats
from utmost.privacy import ZCDP, ApproxDP, Level
from utmost.space.integers import Lattice
from utmost.space.line import cost, tolerance

ROUNDING = 1e-11
"""By how much bounds are lowered, relatively: far more than floating point can err here."""
NEGLIGIBLE = 1e-25
MOST_TERMS, MOST_POINTS = 4 * 10**6, 2**50


def coordinate_bound(space: Lattice, level: Level, loss: str) -> float:
    """The least expected loss of one integer, whatever private mechanism releases it.

    It is an average over a line of equally likely values, so it bounds the loss at the worst point as well.
    """
    points, reach = min(line_points(space), MOST_POINTS), min(space.reach, MOST_POINTS)  # fewer of both bound less
    if points < 2 or reach == 0 or (space.moves == "sum-zero" and space.dimension == 1):
        return 0.0
    found = _by_pairs(points, reach, level, loss)
    if reach > 1 and isinstance(level, ApproxDP) and level.delta == 0 and 0 < level.log_growth < math.inf:
        found = max(found, _by_flow(points, reach, level.log_growth, loss))
    return max(0.0, found * (1 - ROUNDING))


def line_points(space: Lattice) -> int:
    """How many values one integer takes while the others stay: all, but of vectors of one sum another must give way.

    There, all but one integer range over a (d-1)-th of the range each, and the last makes up the sum: whichever integer
    is asked for, given all but one of the others it takes so many values, equally likely.
    """
    wide = space.upper - space.lower
    return wide // (space.dimension - 1) + 1 if space.moves == "sum-zero" and space.dimension > 2 else wide + 1


def _by_pairs(points: int, reach: int, level: Level, loss: str) -> float:
    far = min((points + 1) // 2, MOST_TERMS)
    if loss not in ("absolute", "squared"):
        off = tolerance(loss) + 1
        if points + 1 - 2 * off <= 0:
            return 0.0
        moves = np.array([-(-(2 * off - 1) // reach)])
        return float(2 * even_errors(level, moves)[0] * (points + 1 - 2 * off) / points)
    total, start, length = 0.0, 1, 4096
    while start <= far:
        s = np.arange(start, min(start + length, far + 1))
        errors = even_errors(level, -(-(2 * s - 1) // reach))
        steps = cost(loss, s) - cost(loss, s - 1)
        total += float((steps * 2 * errors) @ (np.maximum(points + 1 - 2 * s, 0) / points))
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


def _by_flow(points: int, reach: int, epsilon: float, loss: str) -> float:
    if reach > MOST_TERMS or reach >= points:
        return 0.0
    b, rest = math.exp(-epsilon), -math.expm1(-epsilon)
    if rest**3 == 0:  # so small an epsilon that floats hold none of the sums below
        return 0.0
    growth, k = b / rest, np.arange(reach)
    summed = _summed(k, reach, b, rest, loss)
    before, beyond = np.cumsum(summed), np.cumsum(summed[::-1])[::-1]
    upper = k + 1
    beyond = np.append(beyond[1:], 0.0)
    values = (2 * (before + b * beyond)) / (2 * (upper + b * (reach - upper)) / rest - 1)
    r = int(np.argmin(values)) + 1
    least = float(values[r - 1])
    costs = cost(loss, np.arange(r))
    supply = least - costs
    supply[0] /= 2
    places = np.arange(r, r + reach)
    need = b * (_summed(places, reach, b, rest, loss) - least / rest)
    slack = 1e-9 * max(least, 1e-300)
    if min(supply.min(), need.min()) < -slack:
        return 0.0
    from_top = np.cumsum(supply[::-1])  # of the last 1, 2, ... r places before the step
    needed = np.cumsum(need[::-1])[:r]  # of the last 1, 2, ... places after it
    if (needed[: len(from_top)] > from_top[: len(needed)] + slack * r).any():
        return 0.0
    if loss == "absolute":
        times, most = growth, growth * (reach / rest - least)
    elif loss == "squared":
        times = 2 * growth
        top = max(float(r), reach / rest)
        most = growth * (
            (top + reach) ** 2 + 2 * (top + reach) * reach * growth + reach**2 * (b + b * b) / rest**2
            - least - 2 * top**2
        )  # fmt: skip
    else:
        times, most = growth, growth * (1 - least)
    most = max(most, least / 2, least - (1 + times) * float(cost(loss, np.array([1]))[0]))
    return least - 2 * reach / points * (times * least + most)


def _summed(k: NDArray[np.int64], reach: int, b: float, rest: float, loss: str) -> Floats:
    """The sum over j >= 0 of b^j c(k + j·reach)."""
    at = k.astype(float)
    if loss == "absolute":
        return np.asarray(at / rest + reach * b / rest**2)
    if loss == "squared":
        return np.asarray(at**2 / rest + 2 * at * reach * b / rest**2 + reach**2 * b * (1 + b) / rest**3)
    first = np.maximum(0, (tolerance(loss) - k) // reach + 1)
    return np.asarray(b**first / rest)
