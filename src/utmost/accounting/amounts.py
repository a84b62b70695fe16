"""Amounts of privacy that add up exactly: a rational number plus the logarithm of one.

Epsilons, deltas, mu squared and rho are rational; only `from_ratio` levels bring logarithms, and those add up by
multiplying their ratios. Two amounts are compared exactly (`exact.ExpSum`), so a budget of ln 2 pays for ln 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb, ctx

from utmost.exact import ExpSum, as_fmpq, endpoints, show_rational
from utmost.privacy import ApproxDP

GRAIN = 2**80
"""What cannot be rational is rounded, against the spender, to a multiple of 1/GRAIN, so that sums stay short."""
BITS = 256


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
        """So many of this amount."""
        return Amount(self.rational * count, self.ratio**count) if count else Amount(Fraction(0))

    def __le__(self, other: Amount) -> bool:
        if math.isinf(other.rational) or math.isinf(self.rational):
            return math.isinf(other.rational)
        if self.ratio == other.ratio:
            return self.rational <= other.rational
        return _power(self).compare(_power(other)) <= 0

    def __float__(self) -> float:
        return float(self.rational) + math.log(self.ratio.numerator) - math.log(self.ratio.denominator)

    def __str__(self) -> str:
        if math.isinf(self.rational):
            return "inf"
        rational = Fraction(self.rational)
        text = show_rational(rational)
        if self.ratio != 1:
            return f"{float(self):.6g}"
        return text if len(text) <= 12 else f"{float(rational):.6g}"

    def to_json(self) -> list[str]:
        """The amount as plain data; `from_json` reads it back."""
        return [str(self.rational), str(self.ratio)]

    @classmethod
    def from_json(cls, data: Any) -> Amount:
        """The amount written by `to_json`."""
        rational, ratio = data
        return cls(math.inf if rational == "inf" else Fraction(rational), Fraction(ratio))

    def minus(self, other: Amount) -> float:
        """What is left after taking another amount away, rounded to a float."""
        if math.isinf(self.rational):
            return math.inf
        return float(Amount(self.rational - Fraction(other.rational), self.ratio / other.ratio))


def epsilon_of(level: ApproxDP) -> Amount:
    """The epsilon of a level, exactly."""
    return Amount(level.exponent, level.ratio)


def enclose_epsilon(level: ApproxDP) -> arb:
    """A ball around the finite epsilon of a level."""
    with ctx.workprec(BITS):
        return arb(as_fmpq(Fraction(level.exponent))) + arb(as_fmpq(level.ratio)).log()


def rounded_up(ball: arb) -> Fraction:
    """The least multiple of the grain that is surely not below a number."""
    return Fraction(math.ceil(endpoints(ball)[1] * GRAIN), GRAIN)


def rounded_down(ball: arb) -> Fraction:
    """The largest multiple of the grain that is surely not above a number."""
    return Fraction(math.floor(endpoints(ball)[0] * GRAIN), GRAIN)


def _power(amount: Amount) -> ExpSum:
    return ExpSum.rational(amount.ratio).times(Fraction(1), Fraction(amount.rational))
