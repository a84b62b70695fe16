"""Exact numbers against Python's decimal arithmetic and against continued fractions known in closed form."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from utmost.errors import InvalidInput
from utmost.exact import Enclosed, ExpSum, as_rational, compare, endpoints, is_number, show_rational

rationals = st.fractions(-20, 20, max_denominator=10**6)
sums = st.lists(st.tuples(rationals, rationals), max_size=5)


def exp_sum(terms):
    """The sum of c·e^q over pairs (c, q), built with the public operations."""
    total = ExpSum.rational(0)
    for c, q in terms:
        total = total.plus(ExpSum.rational(c).times(Fraction(1), q))
    return total


def in_decimal(terms, digits=120):
    """The same sum in decimal arithmetic, as a rational within 10^(20 - digits) of the truth."""
    with localcontext() as context:
        context.prec = digits
        parts = ((Decimal(q.numerator) / q.denominator).exp() * c.numerator / c.denominator for c, q in terms)
        return Fraction(sum(parts, Decimal(0)))


def convergents(n, count):
    """The convergents of e^(1/n) = [1; n-1, 1, 1, 3n-1, 1, 1, 5n-1, ...] (Euler); those of even index lie below it."""
    p, q, previous_p, previous_q = 1, 1, 1, 0
    for k in range(1, count):
        if k > 2:  # for n = 1 the second convergent is 1/0
            yield Fraction(p, q)
        digit = (2 * (k // 3) + 1) * n - 1 if k % 3 == 1 else 1
        p, previous_p, q, previous_q = digit * p + previous_p, p, digit * q + previous_q, q


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_means_its_shortest_decimal(x):
    """The rational rounds back to the float, and no correctly rounded decimal with fewer digits does."""
    value = as_rational(x)
    with localcontext() as context:
        context.prec = 400
        digits = len((Decimal(value.numerator) / value.denominator).normalize().as_tuple().digits)
    assert float(value) == x
    assert digits <= next(k for k in range(1, 18) if float(f"{x:.{k - 1}e}") == x)


@given(rationals)
def test_exact_numbers_are_taken_as_they_are(q):
    """Fractions, quotients in strings, Decimals and numpy scalars keep their value."""
    assert as_rational(q) == as_rational(str(q)) == q
    assert as_rational(Decimal(q.numerator)) == as_rational(np.int64(q.numerator)) == as_rational(q.numerator)
    assert as_rational(Decimal("0.1")) == as_rational(np.float32(0.1)) == as_rational(" 1e-1 ") == Fraction(1, 10)


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, "abc", "", "1/0", None, 1j, [1], True, np.bool_(False), Decimal("NaN")]
)
def test_what_is_no_rational_is_refused_by_name(value):
    """The message holds the parameter's name and the value."""
    with pytest.raises(InvalidInput) as refusal:
        as_rational(value, "the dose")
    assert str(refusal.value).startswith(f"the dose is {value!r}")


@given(st.fractions(-(10**30), 10**30) | st.decimals(-1000, 1000, places=12).map(Fraction))
def test_a_shown_rational_is_the_same_number(value):
    """The text reads back to the value, as a decimal where there is one, or says 'about' and is near."""
    text = show_rational(value)
    if text.startswith("about "):
        assert abs(Fraction(text[6:]) - value) <= abs(value) / 10**5
    else:
        assert Fraction(text) == value
        assert "/" not in text or Fraction(f"{float(value):.15g}") != value


def test_is_number_takes_numbers_and_nothing_else():
    """Numbers of every kind pass; truth values, strings and None do not."""
    assert all(map(is_number, (1, 1.5, Fraction(1, 2), Decimal(1), np.int8(1), np.float32(1))))
    assert not any(map(is_number, (True, np.bool_(True), "1", None, [1])))


@given(sums)
@settings(deadline=None)
def test_sign_agrees_with_decimal_arithmetic(terms):
    """The sign is that of the sum in 120 digits; zero exactly where the coefficients of every exponent cancel."""
    total = exp_sum(terms)
    cancels = all(sum(c for c, r in terms if r == q) == 0 for _, q in terms)
    value = in_decimal(terms)
    assert total.sign() == (0 if cancels else (value > 0) - (value < 0))


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_convergents_of_exponentials_fall_on_the_right_side(n):
    """Continued fractions of e^(1/n) approach from alternate sides: decided even when 80 digits agree."""
    root = ExpSum.rational(1).times(Fraction(1), Fraction(1, n))
    for k, fraction in enumerate(convergents(n, 110)):
        assert root.plus(-fraction).sign() == (1 if k % 2 == 0 else -1)
    with localcontext() as context:
        context.prec = 150
        assert abs(Fraction((1 / Decimal(n)).exp()) - fraction) < Fraction(1, 10**80)


@given(sums, sums, rationals.filter(bool), rationals)
@settings(deadline=None)
def test_sums_obey_the_laws_of_arithmetic(x, y, c, q):
    """Both operations match decimal arithmetic; x - x, and c·e^q(x + y) - (c·e^q x + c·e^q y), are exactly 0."""
    a, b = exp_sum(x), exp_sum(y)
    together = a.plus(b).times(c, q)
    apart = a.times(c, q).plus(b.times(c, q))
    assert together.compare(apart) == a.compare(a) == b.times(c, q).times(1 / c, -q).compare(b) == 0
    expected = in_decimal([(c * old_c, q + old_q) for old_c, old_q in x + y])
    with ctx.workprec(256):
        low, high = endpoints(together.enclose(256))
    slack = Fraction(1, 10**60)
    assert low - slack <= expected <= high + slack
    assert high - low < Fraction(1, 10**40)


@given(sums, sums)
@settings(deadline=None)
def test_every_road_compares_alike(x, y):
    """Comparison agrees with decimal arithmetic, turns round with its arguments, and is the same through balls."""
    a, b = exp_sum(x), exp_sum(y)
    gap = in_decimal(x + [(-c, q) for c, q in y])
    order = compare(a, b)
    assert order == -compare(b, a)
    if order or abs(gap) > Fraction(1, 10**80):
        assert order == (gap > 0) - (gap < 0)
        assert order == compare(Enclosed(a.enclose), b) == compare(a, Enclosed(b.enclose))


@given(st.integers(0, 3900), st.sampled_from([-1, 0, 1]))
@settings(deadline=None, max_examples=30)
def test_balls_are_compared_to_thousands_of_bits(bits, sign):
    """Roots known through balls are told apart when they differ in one late bit, and tie when they do not."""

    def root(precision):
        with ctx.workprec(precision):
            return arb(2).sqrt()

    def moved(precision):
        with ctx.workprec(precision):
            return root(precision) + arb(fmpq(sign, 2**bits))

    assert compare(Enclosed(moved), Enclosed(root)) == -compare(Enclosed(root), Enclosed(moved)) == sign


@given(rationals, st.integers(32, 300))
def test_endpoints_enclose(q, bits):
    """The rational ends of a ball around e^q lie on both sides of it, and those of an exact ball coincide."""
    with ctx.workprec(bits):
        low, high = endpoints(ExpSum.rational(1).times(Fraction(1), q).enclose(bits))
    value = in_decimal([(Fraction(1), q)], 200)
    assert low <= high
    assert low - Fraction(1, 10**150) <= value <= high + Fraction(1, 10**150)
    assert high - low <= value * Fraction(1024, 2**bits)
    assert endpoints(arb(3) / 4) == (Fraction(3, 4), Fraction(3, 4))


@given(sums)
@settings(deadline=None)
def test_float_is_the_nearby_float(terms):
    """Conversion to float is right to rounding where terms of moderate size do not cancel."""
    positive = [(abs(c), q) for c, q in terms]
    assert float(exp_sum(positive)) == pytest.approx(float(in_decimal(positive)), rel=1e-15, abs=0)


def test_float_survives_cancellation():
    """A tiny difference converts to a tiny float, with its sign."""
    fraction = list(convergents(1, 90))[-1]
    difference = in_decimal([(Fraction(1), Fraction(1)), (-fraction, Fraction(0))], 200)
    total = ExpSum.rational(1).times(Fraction(1), Fraction(1)).plus(-fraction)
    assert float(total) == pytest.approx(float(difference), rel=1e-15, abs=0)
