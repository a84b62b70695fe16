"""The largest pure level within another: against the formulas of each kind, to the digits that are promised."""

import math
from fractions import Fraction

import pytest
from scipy.stats import norm

import utmost as um
from utmost.privacy.pure_part import implies, pure_within


@pytest.mark.parametrize(
    ("level", "ratio"),
    [
        (um.ApproxDP(1, "0.1"), (math.e + 0.1) / 0.9),
        (um.ApproxDP(0, "0.2"), 1.2 / 0.8),
        (um.GaussianDP(1), norm.cdf(0.5) / norm.cdf(-0.5)),
        (um.GaussianDP(3), norm.cdf(1.5) / norm.cdf(-1.5)),
    ],
    ids=str,
)
def test_twelve_digits_of_the_ratio_and_never_more(level, ratio):
    """e^epsilon - 1 is rounded down to 12 digits: private, and one more in the last digit is not."""
    found = pure_within(level)
    last = Fraction(10) ** (math.floor(math.log10(ratio - 1)) - 11)
    assert found.exponent == found.delta == 0
    assert (found.ratio - 1) % last == 0
    assert -1e-14 <= ratio - float(found.ratio) <= 1.01 * float(last)
    assert implies(found, level)
    assert not implies(um.PureDP.from_ratio(found.ratio + 2 * last), level)


@pytest.mark.parametrize("level", [um.ApproxDP(0, "6e-16"), um.GaussianDP("1.4e-15"), um.GaussianDP("1e-16")], ids=str)
def test_levels_that_allow_next_to_nothing(level):
    """Of an excess of 2e-16, of which floats carry no digit: a pure level within, or none."""
    found = pure_within(level)
    assert found is None or implies(found, level)


def test_concentrated_levels_follow_from_pure_ones_alone():
    """Epsilon implies epsilon^2/2, exactly; a delta however small implies no rho."""
    assert implies(um.PureDP(1), um.ZCDP("1/2"))
    assert not implies(um.PureDP(1), um.ZCDP(Fraction(1, 2) - Fraction(1, 10**30)))
    assert not implies(um.ApproxDP(1, "1e-30"), um.ZCDP("1/2"))
    assert not implies(um.PureDP(math.inf), um.ZCDP(5))
    assert implies(um.PureDP(math.inf), um.ZCDP(math.inf))
    for weakest in (um.PureDP(math.inf), um.ApproxDP(math.inf, 0.1)):
        assert all(implies(pure, weakest) for pure in (um.PureDP(1), um.PureDP.from_ratio(2), um.PureDP(math.inf)))
    found = pure_within(um.ZCDP("0.3"))
    assert float(found.exponent) == pytest.approx(math.sqrt(0.6), rel=2e-11)
    assert Fraction(found.exponent) ** 2 <= Fraction(6, 10)
