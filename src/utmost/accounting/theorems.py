"""The composition theorems before and beside the exact one, for comparison, and what one level says about another.

Each returns an epsilon for k releases at a level and a chosen extra delta; the total delta stands in its docstring.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from utmost.errors import InvalidInput
from utmost.exact import ExpSum, Number, as_rational
from utmost.privacy import ApproxDP, Level, as_level


def basic(levels: Iterable[Level | Number]) -> ApproxDP:
    """Basic composition: epsilons add up, and deltas (LIM Theorem 2.4.1).

    Examples
    --------
    >>> basic([ApproxDP(0.1, 0.001)] * 30)
    ApproxDP(3, 0.03)
    """
    listed = [_approx(level) for level in levels]
    if any(level.ratio != 1 for level in listed):
        ratio = math.prod(level.ratio for level in listed)
        exponent = sum(level.exponent for level in listed)
        if exponent:
            raise InvalidInput("levels given by ratio and by epsilon do not add up to one of either; give one kind.")
        return ApproxDP.from_ratio(ratio, min(1, sum(level.delta for level in listed)))
    return ApproxDP(sum(level.exponent for level in listed), min(1, sum(level.delta for level in listed)))


def advanced(level: Level | Number, times: int, slack: Number) -> float:
    """The advanced theorem, LIM (2.10): this epsilon at the total delta `times`·delta + slack.

    Examples
    --------
    >>> round(advanced(0.1, 30, 0.02), 6)
    1.847575
    """
    epsilon, room = _approx(level).log_growth, _slack(slack)
    return times * epsilon * math.expm1(epsilon) + epsilon * math.sqrt(2 * times * math.log(1 / room))


def closed_form(level: Level | Number, times: int, slack: Number) -> float:
    """LIM (2.12): this epsilon at the total delta 1 - (1 - delta)^times (1 - slack).

    Examples
    --------
    >>> round(closed_form(0.1, 30, 0.02), 6)
    1.579142
    """
    return closed_form_of([level] * int(times), slack)


def closed_form_small(level: Level | Number, times: int, slack: Number) -> float:
    """The simpler form of LIM (2.12) for epsilon <= 0.9, a little larger."""
    epsilon, room = _approx(level).log_growth, _slack(slack)
    if epsilon > 0.9:
        raise InvalidInput(f"this form needs epsilon <= 0.9, not {epsilon:g}; use closed_form.")
    drift, spread = times * epsilon**2, math.sqrt(2 * times) * epsilon
    wide = math.sqrt(math.log(math.e + math.sqrt(times) * epsilon / room))
    return min(times * epsilon, drift + spread * wide, drift + spread * math.sqrt(math.log(1 / room)))


def closed_form_of(levels: Iterable[Level | Number], slack: Number) -> float:
    """LIM (2.13), different levels: this epsilon at the total delta 1 - (1 - slack) prod(1 - delta_l)."""
    epsilons, room = np.array([_approx(level).log_growth for level in levels]), _slack(slack)
    drift = float((np.tanh(epsilons / 2) * epsilons).sum())
    square = float((epsilons**2).sum())
    wide = math.sqrt(2 * square * math.log(math.e + math.sqrt(square) / room))
    return min(float(epsilons.sum()), drift + wide, drift + math.sqrt(2 * square * math.log(1 / room)))


def implies(level: Level | Number, other: Level | Number) -> bool:
    """Whether every mechanism with one (epsilon, delta) level has the other (LIM Remark 2a), decided exactly.

    It does iff it has no larger epsilon and delta, or delta is no larger and (1-delta)/(1+E) is no smaller.

    Examples
    --------
    >>> implies(1, ApproxDP(0.5, 0.3)), implies(1, ApproxDP(0.5, 0.28))
    (True, False)
    """
    one, two = _approx(level), _approx(other)
    if one.delta > two.delta:
        return False
    if two.delta == 1 or two.exponent == math.inf:
        return True
    if one.exponent == math.inf:
        return False
    left = _power(two).plus(1).times(1 - one.delta, as_rational(0))
    right = _power(one).plus(1).times(1 - two.delta, as_rational(0))
    return left.compare(right) >= 0


def total_variation(level: Level | Number) -> float:
    """The largest total variation between neighbours: 1 - 2 (1 - delta)/(1 + E) (LIM Remark 2b)."""
    one = _approx(level)
    return 1 - 2 * (1 - float(one.delta)) / (1 + one.growth)


def delta_at(level: Level | Number, epsilon: Number) -> float:
    """The least delta at a smaller epsilon that a level implies: 1 - (1 - delta)(1 + e^epsilon)/(1 + E).

    Examples
    --------
    >>> round(delta_at(1, 0.5), 6)
    0.287649
    """
    one, exponent = _approx(level), float(as_rational(epsilon, "epsilon"))
    if exponent < 0:
        raise InvalidInput(f"epsilon is {epsilon!r}; it must be 0 or more.")
    if exponent >= one.log_growth:
        return float(one.delta)
    if math.isinf(one.log_growth):
        return 1.0
    return 1 - (1 - float(one.delta)) * (1 + math.exp(exponent)) / (1 + one.growth)


def _power(level: ApproxDP) -> ExpSum:
    return ExpSum.rational(level.ratio).times(as_rational(1), as_rational(level.exponent))


def _approx(level: Level | Number) -> ApproxDP:
    known = as_level(level)
    if not isinstance(known, ApproxDP):
        raise InvalidInput(f"this theorem is about (epsilon, delta) levels, not {known}; use compose.")
    return known


def _slack(slack: Number) -> float:
    room = float(as_rational(slack, "slack"))
    if not 0 < room <= 1:
        raise InvalidInput(f"slack is {slack!r}; give a delta above 0, at most 1.")
    return room
