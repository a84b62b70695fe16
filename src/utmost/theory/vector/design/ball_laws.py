"""K-norm noise on integers, whose unit ball is the sensitivity set: the best step sizes and the best slack."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from utmost.errors import TooLarge
from utmost.mechanism.noise.balls import MOST_PERIOD, BallLaw, most_slack
from utmost.privacy import ApproxDP
from utmost.privacy.level import decay_above
from utmost.space.integers import Lattice, Moves
from utmost.space.sensitivity import norm_sensitivity

MOST_STEPPED = 60
"""Up to this many integers larger steps are tried: with more they gain little (nothing at epsilon 1, 3 % at 20) and
take minutes to count."""
MOST_LIFTED_INTEGERS = 8
"""Up to this many integers slack of exchange noise is tried: it gains 1.1 % on two, 0.6 % on three, 0.2 % on four, and
about a fifth of that with every further one."""


SLACK_GAINS = 1.4
"""More than slack was seen to gain (20 %): noise whose loss is this many times that of other noise gets no slack."""


def ball_laws(
    shape: Moves, space: Lattice, pure: ApproxDP, loss: str, slack: int | None = None, limit: float = math.inf
) -> Iterator[BallLaw]:
    """K-norm laws: one that falls with every step of the norm, and one with steps as wide as the sensitivity.

    One-way and exchange noise has the given slack, or the best one; `limit` is the loss of other noise.
    """
    reach = norm_sensitivity(shape, space)
    assert reach is not None
    if shape != "any" or reach <= 1:
        yield best_slack(BallLaw(shape, space.dimension, decay_above(pure, reach)), loss, slack, limit)
    if 1 < reach <= MOST_PERIOD and space.dimension <= MOST_STEPPED:
        try:
            stepped = best_upper_step(BallLaw(shape, space.dimension, decay_above(pure), reach), loss)
            yield best_slack(stepped, loss, slack, limit)
        except TooLarge:
            return


def best_slack(law: BallLaw, loss: str, slack: int | None = None, limit: float = math.inf) -> BallLaw:
    """One-way or exchange noise with the slack of the lowest expected loss; other laws are returned unchanged.

    The slack is doubled while that helps, then found by ternary search. Any slack is private. That the loss falls and
    then rises is observed, not proved; it only affects how good the noise is.
    """
    largest_slack = most_slack(law.shape, law.dimension)
    if not largest_slack or (law.shape == "exchange" and law.dimension > MOST_LIFTED_INTEGERS):
        return law
    if slack is not None:
        return replace(law, slack=slack)
    losses: dict[int, float] = {}

    def at(slack: int) -> float:
        if slack not in losses:
            losses[slack] = replace(law, slack=slack).mean(loss)
        return losses[slack]

    if at(0) > SLACK_GAINS * limit:
        return law
    low, high = 0, law.period
    high = min(high, largest_slack)
    while high < largest_slack and at(high) < at(low):
        low, high = high, 2 * high
    low, high = low // 2, min(high, largest_slack)
    while high - low > 2:
        lower_third, upper_third = low + (high - low) // 3, high - (high - low) // 3
        low, high = (low, upper_third) if at(lower_third) <= at(upper_third) else (lower_third, high)
    return replace(law, slack=min(range(low, high + 1), key=at))


def best_upper_step(law: BallLaw, loss: str) -> BallLaw:
    """The law with the best number of norms on the upper step, by a search with ever finer strides."""
    losses: dict[int, float] = {}

    def at(upper: int) -> float:
        if upper not in losses:
            losses[upper] = replace(law, upper=upper).mean(loss)
        return losses[upper]

    best, stride = 1, law.period
    while stride > 1:
        reach, stride = stride, max(1, stride // 8)
        best = min(range(max(1, best - reach), min(law.period, best + reach) + 1, stride), key=at)
    return replace(law, upper=best)
