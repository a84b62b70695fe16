"""zCDP: the level, what it implies, and what it refuses."""

import copy
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

import utmost as um
from utmost.errors import InvalidInput, UnsupportedLevel
from utmost.privacy import level_from_json
from utmost.privacy.pure_within import pure_within


def test_it_is_a_level():
    level = um.ZCDP("1/3")
    assert level.rho == Fraction(1, 3)
    assert level == level_from_json(level.to_json()) == pickle.loads(pickle.dumps(level)) == copy.deepcopy(level)
    assert level != um.GaussianDP("1/3")
    assert str(um.ZCDP(0.5)) == "0.5-zCDP"
    assert repr(um.ZCDP(0.5)) == "ZCDP(0.5)"
    with pytest.raises(AttributeError):
        level.rho = 1
    with pytest.raises(InvalidInput):
        um.ZCDP(-1)


def test_epsilon_of_a_delta_is_the_best_over_orders():
    """Against a fine grid of orders; the vector of Canonne, Kamath and Steinke's conversion."""
    assert um.ZCDP(0.5).epsilon(1e-6) == pytest.approx(5.2215344445, abs=5e-11)
    for rho, delta in ((0.5, 1e-6), (0.01, 1e-9), (3, 0.01), (1e-6, 1e-5)):
        a = 1 + np.exp(np.linspace(-12, 12, 200_001))
        found = a * rho + (math.log(1 / delta) - np.log(a)) / (a - 1) + np.log1p(-1 / a)
        best = max(float(found.min()), 0.0)
        assert best * (1 - 1e-7) - 1e-12 <= um.ZCDP(rho).epsilon(delta) <= best + 1e-12
    with pytest.raises(InvalidInput):
        um.ZCDP(1).epsilon(0)


def test_epsilon_holds_for_gaussian_noise():
    """mu = sqrt(2 rho) is exactly rho-zCDP: its true delta at the stated epsilon is no more."""
    from scipy.stats import norm

    for rho, delta in ((0.5, 1e-6), (0.02, 1e-8), (2, 1e-3)):
        mu, epsilon = math.sqrt(2 * rho), um.ZCDP(rho).epsilon(delta)
        true = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
        assert true <= delta


def test_what_needs_a_trade_off_function_names_the_alternative():
    for ask in (
        lambda: um.binary.balanced(um.counts(5), lambda yes: yes > 2, um.ZCDP(0.5)),
        lambda: um.ZCDP(0.5).upper(0.3),
    ):
        with pytest.raises(UnsupportedLevel, match="GaussianDP"):
            ask()


def test_pure_within_zcdp():
    pure = pure_within(um.ZCDP("0.3"))
    assert pure.log_growth == pytest.approx(math.sqrt(0.6), rel=1e-10)
    assert Fraction(pure.exponent) ** 2 <= Fraction(6, 10)
