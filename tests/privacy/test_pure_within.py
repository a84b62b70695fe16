"""The largest pure level that implies another: closed forms, and one step more is refused."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

import utmost as um
from utmost.privacy.pure_within import implies, pure_within


@pytest.mark.parametrize("epsilon", ["0", "0.01", "1", "5"])
@pytest.mark.parametrize("delta", ["1e-9", "0.001", "0.5"])
def test_the_largest_pure_level_within_approximate_privacy(epsilon, delta):
    level = um.ApproxDP(epsilon, delta)
    limit = (math.exp(float(epsilon)) + float(delta)) / (1 - float(delta))
    found = pure_within(level)
    assert found.growth - 1 == pytest.approx(limit - 1, rel=1e-6)
    assert implies(found, level)
    assert not implies(um.PureDP.from_ratio(Fraction(limit) * (1 + Fraction(1, 10**10))), level)


@pytest.mark.parametrize("mu", ["0.001", "0.5", "1", "4", "20"])
def test_the_largest_pure_level_within_gaussian_privacy(mu):
    level, limit = um.GaussianDP(mu), norm.cdf(float(mu) / 2) / norm.cdf(-float(mu) / 2)
    found = pure_within(level)
    assert found.growth == pytest.approx(limit, rel=1e-10)
    grid = np.linspace(0, 1, 2001)
    assert (found.upper(grid) <= level.upper(grid) + 1e-15).all()
    assert implies(found, level)
    assert not implies(um.PureDP.from_ratio(Fraction(limit) * (1 + Fraction(1, 10**8))), level)


def test_edges_of_pure_levels():
    assert pure_within(um.PureDP(1)) == um.PureDP(1)
    assert pure_within(um.ApproxDP(1, 1e-16)) == um.PureDP(1)
    assert pure_within(um.GaussianDP(0)) is None
    assert implies(pure_within(um.ApproxDP(1000, 0.1)), um.ApproxDP(1000, 0.1))
    assert implies(pure_within(um.GaussianDP(100)), um.GaussianDP(100))
    assert not implies(um.PureDP(2), um.ApproxDP(1, 0.9))  # not decided: e^2 is not rational
