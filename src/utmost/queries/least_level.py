"""Search for the least level whose expected loss meets a target, over levels rounded to three digits."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction

from utmost.privacy import ZCDP, ApproxDP, ApproxGaussianDP, GaussianDP, Level, PureDP

TRIED = tuple(float(f"{d}e{e}") for e in range(-6, 0) for d in range(100, 1000) if (e, d) <= (-1, 500))
FIRST, SOON = 0.1, 5
"""Where the search begins, and after how many levels it switches to bisection."""


def least_that_suffices(loss: Callable[[float], float], target: Fraction) -> int:
    """The index in TRIED of the least level whose loss is at most the target; `len(TRIED)` if there is none.

    Losses decrease with the level, nearly like a power of it, and computing one takes a design. So the next level is
    where the power through the two nearest points would meet the target; after a few levels, the search bisects.
    """
    low, high = -1, len(TRIED)  # the least level that suffices is above low, and at or below high
    points: dict[float, float] = {}
    middle = bisect_left(TRIED, FIRST)
    while high - low > 1:
        middle = min(max(middle, low + 1), high - 1)
        reached = loss(TRIED[middle])
        low, high = (low, middle) if reached <= target else (middle, high)
        aim = math.log(target.numerator) - math.log(target.denominator)  # the target may be larger than any float
        points[math.log(TRIED[middle])] = math.log(max(reached, 1e-300)) - aim
        if len(points) >= SOON:
            middle = (low + high) // 2
            continue
        (x, y), *second = sorted(points.items(), key=lambda point: abs(point[1]))[:2]
        slope = min((y - second[0][1]) / (x - second[0][0]), -0.2) if second else -1.0
        middle = bisect_left(TRIED, math.exp(min(max(x - y / slope, -30.0), 30.0)))
    return high


def with_epsilon(level: Level, epsilon: float) -> Level:
    """A level of the same kind with another epsilon, mu or rho."""
    if isinstance(level, GaussianDP):
        return GaussianDP(epsilon)
    if isinstance(level, ApproxGaussianDP):
        return ApproxGaussianDP(epsilon, level.delta)
    if isinstance(level, ZCDP):
        return ZCDP(epsilon)
    if isinstance(level, ApproxDP) and level.delta > 0:
        return ApproxDP(epsilon, level.delta)
    return PureDP(epsilon)
