"""Composition theorems other than the exact one, for comparison, and implications between levels.

Each theorem returns an epsilon for k releases at a level and an extra delta; its docstring states the total delta.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from utmost.accounting.composition import compose
from utmost.errors import InvalidInput
from utmost.exact import Number, as_rational, as_whole, to_float
from utmost.exact.citations import cites
from utmost.privacy import ApproxDP, Level, as_level
from utmost.privacy.level import epsilon_of, nonnegative


@cites("LIM-theorem-2.4.1")
def basic(levels: Iterable[Level | Number]) -> ApproxDP:
    """Basic composition: epsilons add up, and deltas (LIM Theorem 2.4.1).

    Examples
    --------
    >>> basic([ApproxDP(0.1, 0.001)] * 30)
    ApproxDP(3, 0.03)
    """
    converted = [_approx(level) for level in levels]
    if any(level.ratio != 1 for level in converted):
        ratio = math.prod(level.ratio for level in converted)
        exponent = sum(level.exponent for level in converted)
        if exponent:
            raise InvalidInput("levels given by ratio and by epsilon do not add up to one of either; give one kind.")
        return ApproxDP.from_ratio(ratio, min(1, sum(level.delta for level in converted)))
    return ApproxDP(sum(level.exponent for level in converted), min(1, sum(level.delta for level in converted)))


@cites("LIM-theorem-2.4.2")
def advanced(level: Level | Number, times: int, slack: Number) -> float:
    """Advanced composition, LIM (2.10): the epsilon at a total delta of `times`·delta + slack.

    Examples
    --------
    >>> round(advanced(0.1, 30, 0.02), 6)
    1.847575
    """
    epsilon, count, room = _approx(level).log_growth, as_whole(times, "times", 1), _log_inverse(slack)
    growth = math.expm1(epsilon) if epsilon < 700 else math.inf
    return count * epsilon * growth + epsilon * math.sqrt(2 * count * room)


@cites("LIM-theorem-2.4.4")
def closed_form(level: Level | Number, times: int, slack: Number) -> float:
    """LIM (2.12): the epsilon at a total delta of 1 - (1 - delta)^times (1 - slack).

    Examples
    --------
    >>> round(closed_form(0.1, 30, 0.02), 6)
    1.579142
    """
    return closed_form_of([level] * as_whole(times, "times", 1), slack)


@cites("LIM-theorem-2.4.4")
def closed_form_small(level: Level | Number, times: int, slack: Number) -> float:
    """The simpler form of LIM (2.12) for epsilon <= 0.9, slightly larger."""
    epsilon, count, room = _approx(level).log_growth, as_whole(times, "times", 1), _log_inverse(slack)
    if epsilon > 0.9:
        raise InvalidInput(f"this form needs epsilon <= 0.9, not {epsilon:g}; use closed_form.")
    drift, spread = count * epsilon**2, math.sqrt(2 * count) * epsilon
    wide = math.sqrt(_log_of_e_plus(math.sqrt(count) * epsilon, room))
    return min(count * epsilon, drift + spread * wide, drift + spread * math.sqrt(room))


@cites("LIM-theorem-2.4.5")
def closed_form_of(levels: Iterable[Level | Number], slack: Number) -> float:
    """LIM (2.13), for different levels: the epsilon at a total delta of 1 - (1 - slack) prod(1 - delta_l)."""
    epsilons, room = np.array([_approx(level).log_growth for level in levels]), _log_inverse(slack)
    drift = float((np.tanh(epsilons / 2) * epsilons).sum())
    square = float((epsilons**2).sum())
    wide = math.sqrt(2 * square * _log_of_e_plus(math.sqrt(square), room))
    return min(float(epsilons.sum()), drift + wide, drift + math.sqrt(2 * square * room))


def closed_form_within(levels: Iterable[Level | Number], delta: Number) -> float:
    """LIM (2.13) at a total delta: the slack is what the levels' deltas leave of it; infinite if they leave nothing.

    Examples
    --------
    >>> round(closed_form_within([ApproxDP(0.1, 0.001)] * 30, 0.05), 6)
    1.569329
    """
    converted = [_approx(level) for level in levels]
    delta_sum = Fraction(compose(converted).bounds(math.inf)[1])
    rest = as_rational(delta, "delta") - delta_sum
    return closed_form_of(converted, rest / (1 - delta_sum)) if rest > 0 else math.inf


def implies(level: Level | Number, other: Level | Number) -> bool:
    """Whether one (epsilon, delta) level implies another (LIM Remark 2a), decided exactly.

    It does iff neither its epsilon nor its delta is larger, or its delta is not larger and (1-delta)/(1+E) not smaller.

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
    left = epsilon_of(two).power().plus(1).times(1 - one.delta, as_rational(0))
    right = epsilon_of(one).power().plus(1).times(1 - two.delta, as_rational(0))
    return left.compare(right) >= 0


def total_variation(level: Level | Number) -> float:
    """The largest total variation between neighbours: 1 - 2 (1 - delta)/(1 + E) (LIM Remark 2b)."""
    one = _approx(level)
    finite = math.tanh(one.log_growth / 2)  # written so that nothing cancels
    return finite + float(one.delta) * (1 - finite)


def delta_at(level: Level | Number, epsilon: Number) -> float:
    """The least delta that a level implies at a smaller epsilon: 1 - (1 - delta)(1 + e^epsilon)/(1 + E).

    Examples
    --------
    >>> round(delta_at(1, 0.5), 6)
    0.287649
    """
    one, exponent = _approx(level), to_float(nonnegative(epsilon, "epsilon"))
    if exponent >= one.log_growth:
        return float(one.delta)
    if math.isinf(one.log_growth):
        return 1.0
    missing, decay = exponent - one.log_growth, math.exp(-one.log_growth)  # written so that nothing cancels
    return (float(one.delta) * (decay + math.exp(missing)) - math.expm1(missing)) / (1 + decay)


def _approx(level: Level | Number) -> ApproxDP:
    guarantee = as_level(level)
    if not isinstance(guarantee, ApproxDP):
        raise InvalidInput(f"this theorem is about (epsilon, delta) levels, not {guarantee}; use compose.")
    return guarantee


def _log_inverse(slack: Number) -> float:
    """ln(1/slack), also for slacks below the smallest float."""
    room = as_rational(slack, "slack")
    if not 0 < room <= 1:
        raise InvalidInput(f"slack is {slack!r}; give a delta above 0, at most 1.")
    return max(0.0, math.log(room.denominator) - math.log(room.numerator))


def _log_of_e_plus(size: float, log_inverse: float) -> float:
    """ln(e + size/slack)."""
    return float(np.logaddexp(1.0, math.log(size) + log_inverse)) if size > 0 else 1.0
