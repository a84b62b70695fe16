"""Which staircase costs least: how many layers of a period belong to its upper step.

Let L_r be the mean cost at place r of all periods. Raising place r to the upper step mixes L_r into the mean, so
cost(r + 1) lies between cost(r) and L_r. In one dimension L_r does not fall with r if the cost does not fall with |k|:
hence costs first fall and then do not, and an r that costs no more than its neighbours costs no more than any.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from utmost.errors import InvalidInput, TooLarge
from utmost.exact import as_rational
from utmost.exact.arrays import Floats
from utmost.mechanism.layers import LayerLaw, sum_norms, sum_squares

ExactCost: TypeAlias = Callable[[LayerLaw], Fraction]
MOST_VALUES = 10**6
MOST_DIGITS = 2**22


def exact_cost(cost: Any) -> ExactCost | None:
    """What a name ("l1", "l2", "within 3") stands for, as a function of the law; None for a callable."""
    if callable(cost):
        return None
    if cost in ("l1", "l2"):
        summed = sum_norms if cost == "l1" else sum_squares
        return lambda law: law.mean(summed)
    word, _, number = cost.partition(" ") if isinstance(cost, str) else ("", "", "")
    if word != "within":
        raise InvalidInput(
            f"cost is {cost!r}; say 'l1', 'l2' or 'within 3', or give a symmetric callable of an integer."
        )
    bound = math.floor(as_rational(number, "the bound of 'within'"))
    return lambda law: _tail(law, max(bound, -1) + 1)


def _tail(law: LayerLaw, n: int) -> Fraction:
    if n // law.period * law.decay.denominator.bit_length() > MOST_DIGITS:
        raise TooLarge(f"the probability of noise beyond {n - 1} has millions of digits here; give a smaller bound.")
    return law.tail(n)


def neighbours(law: LayerLaw) -> list[LayerLaw]:
    """The staircases with one layer more or less on the upper step."""
    return [replace(law, upper=u) for u in (law.upper - 1, law.upper + 1) if 1 <= u <= law.period]


def best_step(law: LayerLaw, cost: ExactCost) -> LayerLaw:
    """The staircase of least cost: coarse strides, finer ones around the best, then neighbours, all in fractions."""
    costs: dict[int, Fraction] = {}

    def at(upper: int) -> Fraction:
        if upper not in costs:
            costs[upper] = cost(replace(law, upper=upper))
        return costs[upper]

    best, stride = 1, law.period
    while stride > 1:
        reach, stride = stride, max(1, stride // 16)
        tried = range(max(1, best - reach), min(law.period, best + reach) + 1, stride)
        best = min((best, *tried), key=at)
    while (better := min((best, max(1, best - 1), min(law.period, best + 1)), key=at)) != best:
        best = better
    return replace(law, upper=best)


def best_step_for(law: LayerLaw, cost: Callable[[int], float]) -> tuple[LayerLaw, float]:
    """The staircase of least cost in one dimension, and that cost, for a cost known by its values; in floats."""
    b, period = float(law.decay), law.period
    blocks = 1 if b == 0 else math.ceil(45 / -math.log(b)) + 1  # what lies beyond weighs less than rounding
    if blocks * period > MOST_VALUES:
        raise TooLarge(
            f"{blocks * period} values of the cost would be needed at this epsilon; say 'l1' or 'l2', or allow a "
            "larger epsilon."
        )
    values = _values(cost, blocks * period).reshape(blocks, period)
    weights = b ** np.arange(blocks)
    if weights[-1] * values[-1, -1] > 1e-9 * max(float(weights @ values[:, 0]), values[0, -1]) and blocks > 1:
        raise InvalidInput("the cost grows too fast for its mean at this epsilon; allow a larger one.")
    spent, mass = np.cumsum(weights @ values), weights.sum() * np.arange(1, period + 1)
    once = values[0, 0]  # the origin counts once, every other place twice
    costs = (2 * (spent + b * (spent[-1] - spent)) - once) / (2 * (mass + b * (mass[-1] - mass)) - 1)
    best = int(np.argmin(costs))
    return replace(law, upper=best + 1), float(costs[best])


def _values(cost: Callable[[int], float], count: int) -> Floats:
    values = np.array([float(cost(n)) for n in range(count)])
    if not np.isfinite(values).all() or values.min() < 0 or (np.diff(values) < 0).any():
        raise InvalidInput("the cost must be finite, 0 or more, and must not fall as |k| grows; give such a callable.")
    if any(cost(-n) != values[n] for n in range(1, count, max(1, count // 100))):
        raise InvalidInput("the cost of -k differs from that of k; give a symmetric one.")
    return values
