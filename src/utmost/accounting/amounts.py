"""Amounts of privacy that add up exactly: a rational number plus the logarithm of one.

Epsilons, deltas, mu squared and rho are rational; only `from_ratio` levels bring logarithms, and those add up by
multiplying their ratios. Two amounts are compared exactly (`exact.ExpSum`), so a budget of ln 2 pays for ln 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx

from utmost.exact import ExpSum, as_fmpq, endpoints, read_rational, show_rational, to_float, write_rational
from utmost.privacy import ApproxDP

GRAIN = 2**80
"""What cannot be rational is rounded, against the spender, to a multiple of 1/GRAIN, so that sums stay short."""
BITS = 256
MOST_DIGITS = 10**5
"""Ratios with more bits than that are not multiplied out."""


@dataclass(frozen=True)
class Amount:
    """`rational` + ln `ratio`, exactly; `rational` may be infinite.

    Examples
    --------
    >>> Amount(Fraction(1, 10)) + Amount(Fraction(0), Fraction(2)) <= Amount(Fraction(4, 5))      # 0.1 + ln 2
    True
    """

    rational: Fraction | float
    ratio: Fraction = Fraction(1)

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.rational + other.rational, self.ratio * other.ratio)

    def times(self, count: int) -> Amount:
        """So many of this amount; a ratio that would be too long is rounded up to a rational number."""
        if not count:
            return Amount(Fraction(0))
        if count * self.ratio.numerator.bit_length() <= MOST_DIGITS or self.ratio == 1:
            return Amount(self.rational * count, self.ratio**count)
        with ctx.workprec(BITS):
            return Amount(self.rational * count + rounded_up(count * arb(as_fmpq(self.ratio)).log()))

    def fits(self, count: int, limit: Amount) -> bool:
        """Whether so many of this amount stay within a limit: by balls, and exactly where these do not decide."""
        if not count or self.rational == math.inf or limit.rational == math.inf:
            return not count or limit.rational == math.inf
        with ctx.workprec(BITS):
            left = self.enclose() * count - limit.enclose()
            if left > 0 or left < 0:
                return bool(left < 0)
        return Amount(self.rational * count, self.ratio**count) <= limit

    def enclose(self) -> arb:
        """A ball around a finite amount, at the working precision."""
        return arb(as_fmpq(Fraction(self.rational))) + arb(as_fmpq(self.ratio)).log()

    def __le__(self, other: Amount) -> bool:
        if other.rational == math.inf or self.rational == math.inf:
            return other.rational == math.inf
        if self.ratio == other.ratio:
            return self.rational <= other.rational
        return self.power().compare(other.power()) <= 0

    def power(self) -> ExpSum:
        """E to the power of a finite amount, exactly."""
        return ExpSum.rational(self.ratio).times(Fraction(1), Fraction(self.rational))

    def __float__(self) -> float:
        if self.ratio == 1 or self.rational == math.inf:
            return to_float(self.rational)
        with ctx.workprec(BITS):
            return float(self.enclose())

    def __str__(self) -> str:
        if self.rational == math.inf:
            return "inf"
        rational = Fraction(self.rational)
        text = show_rational(rational)
        if self.ratio != 1:
            return f"{float(self):.6g}"
        is_float = math.isfinite(float(self)) and (float(self) != 0 or rational == 0)
        return f"{float(rational):.6g}" if len(text) > 12 and is_float else text

    def to_json(self) -> list[str]:
        """The amount as plain data; `from_json` reads it back."""
        rational = "inf" if self.rational == math.inf else write_rational(Fraction(self.rational))
        return [rational, write_rational(self.ratio)]

    @classmethod
    def from_json(cls, data: Any) -> Amount:
        """The amount written by `to_json`."""
        rational, ratio = data
        return cls(math.inf if rational == "inf" else read_rational(rational), read_rational(ratio))

    def minus(self, other: Amount) -> float:
        """What is left after taking another amount away, rounded to a float."""
        if self.rational == math.inf:
            return math.inf
        return float(Amount(self.rational - Fraction(other.rational), self.ratio / other.ratio))


def epsilon_of(level: ApproxDP) -> Amount:
    """The epsilon of a level, exactly."""
    return Amount(level.exponent, level.ratio)


def enclose_epsilon(level: ApproxDP) -> arb:
    """A ball around the finite epsilon of a level."""
    with ctx.workprec(BITS):
        return epsilon_of(level).enclose()


def upward(value: Fraction) -> float:
    """The float for a number, or the next one above: read as a decimal it is never below."""
    rounded = to_float(value)
    return rounded if math.isinf(rounded) or Fraction(str(rounded)) >= value else float(np.nextafter(rounded, np.inf))


def downward(value: Fraction) -> float:
    """The float for a number, or the next one below: read as a decimal it is never above."""
    rounded = to_float(value)
    fits = math.isfinite(rounded) and Fraction(str(rounded)) <= value
    return rounded if fits else float(np.nextafter(rounded, -np.inf))


def rounded_up(ball: arb) -> Fraction:
    """The least multiple of the grain that is surely not below a number."""
    return Fraction(math.ceil(endpoints(ball)[1] * GRAIN), GRAIN)


def rounded_down(ball: arb) -> Fraction:
    """The largest multiple of the grain that is surely not above a number."""
    return Fraction(math.floor(endpoints(ball)[0] * GRAIN), GRAIN)
