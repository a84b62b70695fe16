"""The default step to which values are rounded, from public data: bounds, column type, unit and level.

Integers between integer bounds are not rounded. Other values are rounded to a step so fine that rounding every row
changes the answer by at most 1 % of its expected error, in the largest possible table and at every epsilon up to 10:

* a sum of n rows moves by at most n·step/2, a mean by at most step/2, a standard deviation by at most step/2;
* with N people, k rows of each and a range of width W, a sum has an expected error of about k·W·f and a mean of n = k·N
  rows one of W·f/N, where f = 1/(2 sinh(epsilon/2)) is the expected size of the best noise at sensitivity 1.

So W/step must be about 100·N/f. The step is 1, 2 or 5 times a power of ten where that divides both bounds, else a round
part of their greatest common divisor. Noise, proof and SQL cost the same for any number of steps. Beyond epsilon 10, or
where 64-bit integers allow no finer step, rounding may be more than 1 %; intervals contain it in any case.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from utmost.errors import InvalidInput, shown
from utmost.exact import Number, as_rational, show_rational
from utmost.privacy import ApproxDP, Level

DESIGN_UNITS = 10**9
"""The number of rows or people for which steps are chosen, if no upper bound is stated."""
SHARE = 100
"""The reciprocal of the share of the expected error that rounding may take."""
DESIGN_EPSILON, LARGEST_EPSILON = 10.0, 40.0
MOST_STEPS = 2**40
"""Most steps, so that noise at every level is a 64-bit integer."""
MOST_SUM = 2**61
"""Bound on sums by groups that leave the engine as one 64-bit integer; with default steps no sum is larger."""


def default_step(
    lower: Number, upper: Number, whole: bool | None, units: int | None, level: Level, most: int = MOST_STEPS
) -> Fraction:
    """The step for a column between two bounds.

    Parameters
    ----------
    lower, upper : number
        The public bounds; both are multiples of the step.
    whole : bool or None
        Whether the column is of an integer type.
    units : int or None
        An upper bound on the number of rows or people; None if none is stated.
    level : Level
        The privacy of the answer.
    most : int
        Neither bound is more steps from 0 than this.

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> default_step(0, 100, True, 20_000, PureDP(1)), float(default_step(0, 1, False, 20_000, PureDP(1)))
    (Fraction(1, 1), 2e-09)
    """
    low, high = as_rational(lower, "lower"), as_rational(upper, "upper")
    if low >= high:
        return common_divisor(low, high) or Fraction(1)
    size = max(abs(low), abs(high))
    if whole:
        exact = common_divisor(low, high, Fraction(1))
        if size / exact <= most:
            return exact
    target = (high - low) / min(steps_wanted(units, level), most)
    step = next((step for step in _round_steps(low, high, target) if size / step <= most), None)
    step = step or _coarser(low, high, size / most)
    if step is None:
        raise InvalidInput(
            f"lower {show_rational(low)} and upper {show_rational(high)} have no common step of which there are at "
            f"most {most:.2g} between 0 and either of them; give rounder bounds, such as {float(low):.3g} and "
            f"{float(high):.3g}, or a grid that divides both."
        )
    return step


def steps_wanted(units: int | None, level: Level) -> int:
    """The number of steps in a range with which rounding is negligible."""
    epsilon = float(level.log_growth) if isinstance(level, ApproxDP) else 0.0
    epsilon = min(max(epsilon, DESIGN_EPSILON), LARGEST_EPSILON)
    return math.ceil(SHARE * (units or DESIGN_UNITS) * 2 * math.sinh(epsilon / 2))


def common_divisor(*numbers: Fraction) -> Fraction:
    """The greatest common divisor of rational numbers; 0 if all are 0."""
    below = math.lcm(*(number.denominator for number in numbers))
    return Fraction(math.gcd(*(int(number * below) for number in numbers)), below)


def _round_steps(low: Fraction, high: Fraction, target: Fraction) -> Iterator[Fraction]:
    """Steps no larger than a target that divide both bounds, the roundest first."""
    divisor = common_divisor(low, high)
    places = math.ceil(-math.log10(target))
    for exponent in range(-places, -places - 20, -1):
        for digit in (5, 2, 1):
            step = digit * Fraction(10) ** exponent
            if step <= target and (divisor / step).denominator == 1:
                yield step
                break
        else:
            continue
        break
    yield divisor / round_number(divisor / target)


def _coarser(low: Fraction, high: Fraction, least: Fraction) -> Fraction | None:
    """The finest step that is at least the given one and divides both bounds."""
    divisor = common_divisor(low, high)
    if divisor < least:
        return None
    times = int(divisor / least)
    most = max(digit * 10**e for e in range(len(str(times))) for digit in (1, 2, 5) if digit * 10**e <= times)
    return divisor / int(most)


def round_number(least: Fraction) -> int:
    """The least of 1, 2, 5, 10, 20, 50, ... that is not below a number."""
    power = 1
    while True:
        for digit in (1, 2, 5):
            if digit * power >= least:
                return digit * power
        power *= 10


def require_rows(rows: Any, name: str) -> Fraction:
    """Check a public number of rows, which must be above 0."""
    number = as_rational(rows, name)
    if number <= 0:
        raise InvalidInput(f"{name} is {shown(rows)}; give how many rows a group has, roughly: a number above 0.")
    return number
