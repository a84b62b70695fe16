"""The staircase with the lowest expected cost, for a cost given as a function: in floats, in one dimension."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from utmost.errors import InvalidInput, TooLarge
from utmost.exact.arrays import Floats
from utmost.mechanism.noise.layers import LayerLaw

MOST_VALUES = 10**6


def neighbours(law: LayerLaw) -> list[LayerLaw]:
    """The staircases with one layer more or fewer on the upper step."""
    return [replace(law, upper=u) for u in (law.upper - 1, law.upper + 1) if 1 <= u <= law.period]


def best_step_for(law: LayerLaw, cost: Callable[[int], float]) -> tuple[LayerLaw, float]:
    """The staircase with the lowest expected cost in one dimension, and that cost, in floats."""
    b, period = float(law.decay), law.period
    blocks = 1 if b == 0 else math.ceil(45 / -math.log(b)) + 1  # the mass beyond is below rounding
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
    origin = values[0, 0]  # the origin counts once, every other place twice
    costs = (2 * (spent + b * (spent[-1] - spent)) - origin) / (2 * (mass + b * (mass[-1] - mass)) - 1)
    best = int(np.argmin(costs))
    return replace(law, upper=best + 1), float(costs[best])


def _values(cost: Callable[[int], float], count: int) -> Floats:
    values = np.array([float(cost(n)) for n in range(count)])
    if not np.isfinite(values).all() or values.min() < 0 or (np.diff(values) < 0).any():
        raise InvalidInput("the cost must be finite, 0 or more, and must not fall as |k| grows; give such a callable.")
    if any(cost(-n) != values[n] for n in range(1, count, max(1, count // 100))):
        raise InvalidInput("the cost of -k differs from that of k; give a symmetric one.")
    return values
