"""Numbers with decidable order: exponential sums, enclosures, and exact amounts of budget.

A privacy level turns a rational probability into sums of rational multiples of e^q with rational q. Such sums are
closed under the operations of (epsilon, delta) levels, and by the theorem of Lindemann and Weierstrass one is zero only
if all its coefficients are: so its sign is decidable, by ball arithmetic of growing precision (python-flint). Whether a
mechanism exists depends on such signs; no tolerance is involved.

Budgets add up exactly: an `Amount` is a rational number plus the logarithm of one. Epsilons, deltas, mu squared and rho
are rational; only `from_ratio` levels have logarithms, which add up by multiplying their ratios. Two amounts are
compared as exponential sums, so a budget of ln 2 suffices for ln 2.
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
"""The least normal float. A positive probability below it is represented by it, so that ratios are preserved."""
MOST_EXPONENT = 4000
MOST_LENGTH = 14_000
"""The largest number of bits of a parameter's numerator or denominator (4214 digits), Python's limit for text."""
MOST_BITS = 4096
"""Two numbers that are not exponential sums and agree to this many bits count as equal."""

GRAIN = 2**80
"""Irrational amounts are rounded up to a multiple of 1/GRAIN, so that sums stay short."""
BITS = 256
"""The precision of balls around amounts, in bits."""
MOST_DIGITS = 10**5
"""The largest number of bits to which powers of ratios are multiplied out."""


def as_rational(value: Number, name: str = "the value") -> Fraction:
    """A parameter as a rational number; a float means its shortest decimal.

    Examples
    --------
    >>> as_rational(0.1), as_rational("1e-9"), as_rational(3)
    (Fraction(1, 10), Fraction(1, 1000000000), Fraction(3, 1))
    """
    if isinstance(value, bool | np.bool_):
        raise InvalidInput(f"{name} is {shown(value)}, a truth value; give a number.")
    if isinstance(value, str) and (not value.isascii() or "_" in value):  # Python reads digits of every script, and 1_0
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
    """Whether a text or Decimal has an exponent so large that computing with it would not terminate."""
    if isinstance(value, Decimal):
        return value.is_finite() and abs(value.adjusted()) > MOST_EXPONENT
    match = re.search(r"[eE]([+-]?\d+)\s*$", value) if isinstance(value, str) else None
    return match is not None and abs(int(match[1][:12])) > MOST_EXPONENT


def to_float(value: Fraction | float) -> float:
    """A number of any size as a float; infinity on overflow."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def without_underflow(values: NDArray[np.float64], positive: ArrayLike = True) -> NDArray[np.float64]:
    """Probabilities raised to at least `LEAST` where the exact value is positive, so that none is 0 by underflow.

    Raising small values to one floor preserves privacy: x <= E y implies max(x, f) <= E max(y, f), and the same for any
    suitable pair, since upper(f) >= f.

    Examples
    --------
    >>> [float(x) for x in without_underflow(np.exp([-1000.0, -0.5]), [True, True])] == [LEAST, math.exp(-0.5)]
    True
    >>> without_underflow(np.zeros(1), [False])                      # exact zeros stay 0
    array([0.])
    """
    return np.asarray(np.where(positive, np.maximum(values, LEAST), values))


def as_plain(value: Fraction) -> int | float:
    """A rational for JSON and for people: an int if it is whole, else the nearest float."""
    return int(value) if value.denominator == 1 else float(value)


def as_literal(value: Fraction | float) -> str:
    """A number as a Python literal, in quotes where a float would not be exact."""
    text = "inf" if value == math.inf else show_rational(Fraction(value))
    return repr(write_rational(Fraction(value))) if "/" in text or "about" in text else text


def show_rational(value: Fraction) -> str:
    """A rational for people: a short decimal if it has one, else a quotient.

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
    """A rational of any length as text; Python's own `str` is limited to 4300 digits."""
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
    """An exact finite sum of c·e^q with rational c and q.

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
        while True:  # terminates: a sum with a nonzero term is not zero
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
        """A ball around this number, computed with `bits` bits."""
        with ctx.workprec(bits):
            return sum((arb(c) * exponential(q, bits) for q, c in self.terms.items()), arb(0))

    def __float__(self) -> float:
        return 0.0 if not self.terms else _as_float(self.enclose)


class Enclosed:
    """A number that is enclosed by balls of any precision, as Gaussian levels need."""

    __slots__ = ("enclose",)

    def __init__(self, enclose: Callable[[int], arb]) -> None:
        self.enclose = enclose

    def __float__(self) -> float:
        return _as_float(self.enclose)


def _as_float(enclose: Callable[[int], arb]) -> float:
    """The float nearest to a number, at sufficient precision."""
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
        x, y = a.enclose(bits), b.enclose(bits)
        if x < y or x > y:
            return -1 if x < y else 1
        bits *= 2
    return 0


def as_fmpq(value: Fraction) -> fmpq:
    """A rational as python-flint's `fmpq`."""
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
        """This amount times `count`; a ratio that would be too long is rounded up to a rational number."""
        if not count:
            return Amount(Fraction(0))
        if count * self.ratio.numerator.bit_length() <= MOST_DIGITS or self.ratio == 1:
            return Amount(self.rational * count, self.ratio**count)
        with ctx.workprec(BITS):
            return Amount(self.rational * count + rounded_up(count * arb(as_fmpq(self.ratio)).log()))

    def fits(self, count: int, limit: Amount) -> bool:
        """Whether `count` times this amount is within a limit: by balls, and exactly where these do not decide."""
        if not count or self.rational == math.inf or limit.rational == math.inf:
            return not count or limit.rational == math.inf
        with ctx.workprec(BITS):
            excess = self.enclose() * count - limit.enclose()
            if excess > 0 or excess < 0:
                return bool(excess < 0)
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
        """The exponential of a finite amount, exactly."""
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
        """The amount as plain JSON data; the inverse of `from_json`."""
        rational = "inf" if self.rational == math.inf else write_rational(Fraction(self.rational))
        return [rational, write_rational(self.ratio)]

    @classmethod
    def from_json(cls, data: Any) -> Amount:
        """The amount written by `to_json`."""
        rational, ratio = data
        return cls(math.inf if rational == "inf" else read_rational(rational), read_rational(ratio))

    def minus(self, other: Amount) -> float:
        """This amount less another, rounded to a float."""
        if self.rational == math.inf:
            return math.inf
        return float(Amount(self.rational - Fraction(other.rational), self.ratio / other.ratio))


def upward(value: Fraction) -> float:
    """A number rounded up to a float whose shortest decimal is not below it."""
    rounded = to_float(value)
    return rounded if math.isinf(rounded) or Fraction(str(rounded)) >= value else float(np.nextafter(rounded, np.inf))


def downward(value: Fraction) -> float:
    """A number rounded down to a float whose shortest decimal is not above it."""
    rounded = to_float(value)
    fits = math.isfinite(rounded) and Fraction(str(rounded)) <= value
    return rounded if fits else float(np.nextafter(rounded, -np.inf))


def rounded_up(ball: arb) -> Fraction:
    """An upper bound on an enclosed number: a multiple of 1/GRAIN."""
    return Fraction(math.ceil(endpoints(ball)[1] * GRAIN), GRAIN)


def rounded_down(ball: arb) -> Fraction:
    """A lower bound on an enclosed number: a multiple of 1/GRAIN."""
    return Fraction(math.floor(endpoints(ball)[0] * GRAIN), GRAIN)


def is_number(value: Any) -> bool:
    """Whether a value is a number that `as_rational` accepts, excluding truth values and strings."""
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
    """A value as a Python integer from `least` to `most`, checked; truth values are refused.

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
