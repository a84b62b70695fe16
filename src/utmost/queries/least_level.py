"""The least level whose expected loss is small enough: a search over levels of two digits and a half."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction

from utmost.privacy import ZCDP, ApproxDP, ApproxGaussianDP, GaussianDP, Level, PureDP

TRIED = tuple(float(f"{d}e{e}") for e in range(-6, 0) for d in range(100, 1000) if (e, d) <= (-1, 500))
FIRST, SOON = 0.1, 5
"""Where a search over these levels begins, and after how many of them it halves what is left."""


def least_that_suffices(loss: Callable[[float], float], wanted: Fraction) -> int:
    """The place in TRIED of the least level whose loss is at most as wanted; losses fall. Past the end for none.

    A loss is nearly a power of the level, and each one is a design: the next level tried is where the power through the
    nearest two would meet what is wanted. If that does not end it soon, what is left is halved.
    """
    low, high = -1, len(TRIED)  # the least that suffices lies above low, and at or below high
    found: dict[float, float] = {}
    middle = bisect_left(TRIED, FIRST)
    while high - low > 1:
        middle = min(max(middle, low + 1), high - 1)
        reached = loss(TRIED[middle])
        low, high = (low, middle) if reached <= wanted else (middle, high)
        aim = math.log(wanted.numerator) - math.log(wanted.denominator)  # it may be larger than any float
        found[math.log(TRIED[middle])] = math.log(max(reached, 1e-300)) - aim
        if len(found) >= SOON:
            middle = (low + high) // 2
            continue
        (x, y), *others = sorted(found.items(), key=lambda each: abs(each[1]))[:2]
        slope = min((y - others[0][1]) / (x - others[0][0]), -0.2) if others else -1.0
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
