"""Numbers whose order is decided, not estimated.

A privacy level turns a rational probability into sums of rational multiples of e^q with rational q. Such sums are
closed under what (epsilon, delta) levels do, and by the theorem of Lindemann and Weierstrass one is zero only if all
its coefficients are: so its sign is decidable, by ball arithmetic of growing precision (python-flint). Where a
mechanism exists or not hangs on such signs; no tolerance is involved.

What is spent adds up: an `Amount` is a rational number plus the logarithm of one. Epsilons, deltas, mu squared and rho
are rational; only `from_ratio` levels bring logarithms, and those add up by multiplying their ratios. Two amounts are
compared as exponential sums, so a budget of ln 2 pays for ln 2.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from flint import arb, ctx, fmpq, fmpz
from numpy.typing import ArrayLike, NDArray

from utmost.errors import InvalidInput, shown

Number: TypeAlias = int | float | str | Decimal | Fraction

LEAST = 2.0**-1022
"""The least float with all its digits. A positive probability below it is held as this, so that ratios survive."""
MOST_EXPONENT = 4000
MOST_LENGTH = 14_000
"""Parameters whose numerator or denominator has more bits (4214 digits) are refused: Python writes no longer number."""
MOST_BITS = 4096
"""Two numbers that are not exponential sums and agree to this many bits are taken as equal."""

GRAIN = 2**80
"""What cannot be rational is rounded, against the spender, to a multiple of 1/GRAIN, so that sums stay short."""
BITS = 256
"""How precisely balls around amounts are computed."""
MOST_DIGITS = 10**5
"""Ratios with more bits than that are not multiplied out."""


def as_rational(value: Number, name: str = "the value") -> Fraction:
    """The rational number a parameter stands for: a float means its shortest decimal.

    Examples
    --------
    >>> as_rational(0.1), as_rational("1e-9"), as_rational(3)
    (Fraction(1, 10), Fraction(1, 1000000000), Fraction(3, 1))
    """
    if isinstance(value, bool | np.bool_):
        raise InvalidInput(f"{name} is {shown(value)}, a truth value; give a number.")
    if isinstance(value, str) and not value.isascii():  # Python reads the digits of every script
        raise InvalidInput(f"{name} is {shown(value)}; write numbers with the digits 0 to 9, such as '1/3' or '1e-6'.")
    if _is_beyond_reason(value):
        raise InvalidInput(f"{name} has an exponent beyond {MOST_EXPONENT}; numbers of that size mean nothing here.")
    try:
        if isinstance(value, float | np.floating):
            return Fraction(str(value))
        exact = Fraction(int(value)) if isinstance(value, np.integer) else Fraction(value)
    except (ValueError, TypeError, OverflowError, ZeroDivisionError):
        raise InvalidInput(
            f"{name} is {shown(value)}; give a finite number (int, float, Fraction, Decimal or a string such as '1/3')."
        ) from None
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > MOST_LENGTH:
        raise InvalidInput(f"{name} has thousands of digits; give a number with at most 4200 of them.")
    return exact


def _is_beyond_reason(value: Any) -> bool:
    """Whether a text or Decimal names a number with so many digits that computing with it would not end."""
    if isinstance(value, Decimal):
        return value.is_finite() and abs(value.adjusted()) > MOST_EXPONENT
    match = re.search(r"[eE]([+-]?\d+)\s*$", value) if isinstance(value, str) else None
    return match is not None and abs(int(match[1][:12])) > MOST_EXPONENT


def to_float(value: Fraction | float) -> float:
    """A number of any size as a float; beyond their range, infinity."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def held(values: NDArray[np.float64], positive: ArrayLike = True) -> NDArray[np.float64]:
    """Probabilities none of which is 0 by underflow: where the true value is positive, at least `LEAST`.

    Raising small values to one floor keeps what privacy compares: x <= E y implies max(x, f) <= E max(y, f), and the
    same for any suitable pair, since upper(f) >= f.

    Examples
    --------
    >>> [float(x) for x in held(np.exp([-1000.0, -0.5]), [True, True])] == [LEAST, math.exp(-0.5)]
    True
    >>> held(np.zeros(1), [False])                      # what is 0 in truth stays 0
    array([0.])
    """
    return np.asarray(np.where(positive, np.maximum(values, LEAST), values))


def as_plain(value: Fraction) -> int | float:
    """A number as JSON and people write it: whole as an int, any other as the nearest float."""
    return int(value) if value.denominator == 1 else float(value)


def as_literal(value: Fraction | float) -> str:
    """A number as Python would read it back, with quotes where a float would not hold it."""
    text = "inf" if value == math.inf else show_rational(Fraction(value))
    return repr(write_rational(Fraction(value))) if "/" in text or "about" in text else text


def show_rational(value: Fraction) -> str:
    """A rational as people write it: a short decimal if it has one, else a quotient.

    Examples
    --------
    >>> show_rational(Fraction(1, 10)), show_rational(Fraction(1, 3)), show_rational(Fraction(1, 10**9))
    ('0.1', '1/3', '1e-09')
    """
    if abs(value) < 10**300 and Fraction(text := str(float(value))) == value:
        return text.removesuffix(".0")
    exact = write_rational(value)
    return exact if len(exact) <= 40 else f"about {Decimal(value.numerator) / Decimal(value.denominator):.6g}"


def write_rational(value: Fraction) -> str:
    """A rational of any length as its digits; Python's own `str` stops at 4300 of them."""
    return str(as_fmpq(value))


def read_rational(text: str) -> Fraction:
    """The rational that `write_rational` wrote.

    Examples
    --------
    >>> read_rational(write_rational(Fraction(10**5000, 3))) == Fraction(10**5000, 3)
    True
    """
    numerator, _, denominator = text.partition("/")
    return Fraction(int(fmpz(numerator)), int(fmpz(denominator or "1")))


class ExpSum:
    """A finite sum of c·e^q with rational c and q, held exactly.

    Examples
    --------
    >>> third = ExpSum.rational(Fraction(1, 3))
    >>> third.times(Fraction(3), Fraction(1)).compare(ExpSum.rational(Fraction(2)))      # e against 2
    1
    """

    __slots__ = ("terms",)

    def __init__(self, terms: Mapping[fmpq, fmpq]) -> None:
        self.terms = {q: c for q, c in terms.items() if c != 0}

    @classmethod
    def rational(cls, value: Fraction | int) -> ExpSum:
        """The sum that is one rational number."""
        return cls({fmpq(0): fmpq(value.numerator, value.denominator)})

    def times(self, factor: Fraction, exponent: Fraction) -> ExpSum:
        """This number times factor·e^exponent."""
        c, q = as_fmpq(factor), as_fmpq(exponent)
        return ExpSum({old_q + q: old_c * c for old_q, old_c in self.terms.items()})

    def plus(self, other: ExpSum | Fraction | int) -> ExpSum:
        """This number plus another."""
        terms = dict(self.terms)
        for q, c in (other if isinstance(other, ExpSum) else ExpSum.rational(other)).terms.items():
            terms[q] = terms.get(q, fmpq(0)) + c
        return ExpSum(terms)

    def sign(self) -> int:
        """-1, 0 or 1, decided exactly."""
        if not self.terms:
            return 0
        if len(self.terms) == 1:
            return 1 if next(iter(self.terms.values())) > 0 else -1
        bits = 64
        while True:  # ends: a sum with a term left is not zero
            ball = self.enclose(bits)
            if ball > 0 or ball < 0:
                return 1 if ball > 0 else -1
            bits *= 2

    def compare(self, other: ExpSum) -> int:
        """-1, 0 or 1 as this number is below, equal to or above the other."""
        return self.plus(other.times(Fraction(-1), Fraction(0))).sign()

    def as_rational(self) -> Fraction | None:
        """This number as a rational, or None if it is not one."""
        if any(q != 0 for q in self.terms):
            return None
        value = self.terms.get(fmpq(0), fmpq(0))
        return Fraction(int(value.p), int(value.q))

    def enclose(self, bits: int) -> arb:
        """A ball that holds this number, computed with so many bits."""
        with ctx.workprec(bits):
            return sum((arb(c) * exponential(q, bits) for q, c in self.terms.items()), arb(0))

    def __float__(self) -> float:
        return 0.0 if not self.terms else _as_float(self.enclose)


class Enclosed:
    """A number known through balls of any precision: what Gaussian levels yield."""

    __slots__ = ("enclose",)

    def __init__(self, enclose: Callable[[int], arb]) -> None:
        self.enclose = enclose

    def __float__(self) -> float:
        return _as_float(self.enclose)


def _as_float(enclose: Callable[[int], arb]) -> float:
    """The float next to a number, with as many bits as its digits need."""
    bits = 128
    while (ball := enclose(bits)).rel_accuracy_bits() < 60 and bits < MOST_BITS:
        bits *= 2
    return float(ball)


Real: TypeAlias = ExpSum | Enclosed


def compare(a: Real, b: Real) -> int:
    """-1, 0 or 1 as a is below, equal to or above b: exact for exponential sums, else to `MOST_BITS` bits."""
    if isinstance(a, ExpSum) and isinstance(b, ExpSum):
        return a.compare(b)
    bits = 64
    while bits <= MOST_BITS:
        left, right = a.enclose(bits), b.enclose(bits)
        if left < right or left > right:
            return -1 if left < right else 1
        bits *= 2
    return 0


def as_fmpq(value: Fraction) -> fmpq:
    """The same rational for python-flint."""
    return fmpq(value.numerator, value.denominator)


@lru_cache(maxsize=4096)
def exponential(q: fmpq, bits: int) -> arb:
    """A ball around e^q."""
    with ctx.workprec(bits):
        return arb(q).exp()


def endpoints(ball: arb) -> tuple[Fraction, Fraction]:
    """The rational ends of a ball."""

    def as_fraction(x: arb) -> Fraction:
        mantissa, exponent = map(int, x.man_exp())
        return Fraction(mantissa << exponent) if exponent >= 0 else Fraction(mantissa, 1 << -exponent)

    with ctx.workprec(4 * MOST_BITS):  # the ends are rounded outwards to the working precision
        return as_fraction(ball.lower()), as_fraction(ball.upper())


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


def is_number(value: Any) -> bool:
    """Whether a value is one of the numbers `as_rational` takes, truth values and strings aside."""
    return isinstance(value, int | float | Fraction | Decimal | np.integer | np.floating) and not isinstance(
        value, bool
    )


def is_digits(text: str) -> bool:
    """Whether a text is a whole number in the digits 0 to 9; Python's `isdecimal` and `int` take those of any script.

    Examples
    --------
    >>> is_digits("12"), is_digits("\u0661\u0662"), is_digits("-1"), is_digits("")
    (True, False, False, False)
    """
    return text.isascii() and text.isdecimal()


def as_whole(value: Any, name: str, least: int = 0, most: float = math.inf) -> int:
    """A whole number from `least` to `most`, Python's own; truth values are none.

    Examples
    --------
    >>> as_whole(np.int64(3), "people")
    3
    >>> as_whole(0, "dimension", least=1, most=100)
    Traceback (most recent call last):
    utmost.errors.InvalidInput: dimension is 0; give a whole number, 1 to 100.
    """
    try:
        number = least - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = least - 1
    if not least <= number <= most:
        limit = f"{least} to {most:g}" if most < math.inf else f"{least} or more"
        raise InvalidInput(f"{name} is {shown(value)}; give a whole number, {limit}.")
    return number
