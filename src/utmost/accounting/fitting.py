"""The inverse of composition: the largest epsilon of k releases, or the largest number of releases, within a total."""

from __future__ import annotations

import math
from fractions import Fraction

from flint import ctx

from utmost.accounting.composition import MOST_COUNT, compose
from utmost.errors import InvalidInput
from utmost.exact import BITS, Number, as_rational, as_whole, downward, rounded_down
from utmost.exact.bisection import first_between, narrow
from utmost.privacy import ZCDP, ApproxDP, GaussianDP, Level, as_level
from utmost.privacy.level import enclose_epsilon, epsilon_of


def largest_epsilon(times: int, total: Level | Number, delta: Number = 0) -> float:
    """The largest epsilon of each of `times` releases that fit within a total level, rounded down; may be infinite.

    Parameters
    ----------
    times : int
        Number of releases.
    total : PureDP, ApproxDP or number
        The level that they must satisfy together.
    delta : number
        The delta of each release.

    Examples
    --------
    >>> round(largest_epsilon(100, ApproxDP(1, 1e-6)), 5)         # basic composition allows 0.01
    0.02401
    """
    target = _total(total)
    times = as_whole(times, "times", 1)
    share = as_rational(delta, "delta")

    def fits(epsilon: float) -> bool:
        return _within(ApproxDP(epsilon, share), times, target)

    if not fits(0):
        raise InvalidInput(f"{times} deltas of {delta} exceed the total delta of {target}; give a smaller delta.")
    if target.delta == 1 or target.exponent == math.inf:
        return math.inf
    if target.delta == 0:
        return downward(Fraction(_exponent(target)) / times)
    low, high = 0.0, float(epsilon_of(target)) + 1.0
    while fits(high):
        low, high = high, 2 * high
    return narrow(lambda epsilon: not fits(epsilon), low, high, relative=1e-12)[0]


def how_many(level: Level | Number, total: Level | Number) -> int:
    """The largest number of releases at a level that fit within a total level.

    Examples
    --------
    >>> how_many(0.1, 1), how_many(0.1, ApproxDP(1, 1e-6))
    (10, 10)
    >>> how_many(0.01, 1), how_many(0.01, ApproxDP(1, 1e-6))
    (100, 562)
    """
    target, single = _total(total), as_level(level)
    if single in (GaussianDP(0), ZCDP(0)):
        single = as_level(0)
    if not _within(single, 1, target):
        return 0
    low, high = 1, 2
    while _within(single, high, target):
        low, high = high, 2 * high
        if high > MOST_COUNT:
            raise InvalidInput(
                f"more than {MOST_COUNT} releases of {single} fit within {target}; count them differently."
            )
    return first_between(lambda count: not _within(single, count, target), low, high) - 1


def _total(total: Level | Number) -> ApproxDP:
    level = as_level(total)
    if not isinstance(level, ApproxDP):
        raise InvalidInput(f"the total is {level}; give PureDP or ApproxDP.")
    return level


def _within(level: Level, times: int, target: ApproxDP) -> bool:
    """Whether `times` releases at a level certainly satisfy a total level."""
    if target.delta == 0:
        pure = isinstance(level, ApproxDP) and level.delta == 0
        return pure and epsilon_of(level).fits(times, epsilon_of(target))  # type: ignore[arg-type]
    return as_rational(compose(level, times).delta(_exponent(target))) <= target.delta


def _exponent(level: ApproxDP) -> Fraction | float:
    """A rational lower bound on epsilon."""
    with ctx.workprec(BITS):
        return level.exponent if level.ratio == 1 else rounded_down(enclose_epsilon(level))
