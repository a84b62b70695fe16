"""Zero-concentrated privacy: its conversion against the exact Gaussian curve and a grid of orders; JSON; refusals."""

from __future__ import annotations

import copy
import json
import math
import pickle
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq

import utmost as um
from utmost.errors import InvalidInput, UnsupportedLevel
from utmost.privacy import level_from_json


def gaussian_epsilon(mu, delta):
    """The epsilon of N(0,1) against N(mu,1) at a delta, from the normal distribution function."""

    def excess(epsilon):
        log_second = epsilon + stats.norm.logcdf(-mu / 2 - epsilon / mu)
        return stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(log_second) - delta

    return brentq(excess, 0, 1000) if excess(0) > 0 else 0.0


def test_conversion_of_one_half():
    assert um.ZCDP(0.5).epsilon(1e-6) == pytest.approx(5.2215344445, abs=1e-10)


@given(rho=st.floats(1e-4, 20), digits=st.integers(2, 15))
def test_conversion_lies_between_the_gaussian_curve_and_every_order(rho, digits):
    """Gaussian noise has this rho, so nothing below its epsilon is true; and no order on a grid says less."""
    delta, found = 10.0**-digits, um.ZCDP(rho).epsilon(10.0**-digits)
    assert found >= gaussian_epsilon(math.sqrt(2 * rho), delta) * (1 - 1e-9)
    orders = 1 + np.geomspace(1e-4, 1e5, 20_001)
    bounds = orders * rho + np.log1p(-1 / orders) - (np.log(delta) + np.log(orders)) / (orders - 1)
    assert found <= max(0.0, bounds.min()) * (1 + 1e-12) + 1e-15


@pytest.mark.parametrize("level", [um.ZCDP(0), um.ZCDP(0.5), um.ZCDP("1/3"), um.ZCDP(math.inf)], ids=repr)
def test_it_survives_json_pickle_and_copy(level):
    again = level_from_json(json.loads(json.dumps(level.to_json())))
    assert again == level == pickle.loads(pickle.dumps(level)) == copy.deepcopy(level)
    assert hash(again) == hash(level)
    assert eval(repr(level), {"ZCDP": um.ZCDP, "math": math, "inf": math.inf}) == level


def test_levels_of_different_kinds_differ():
    assert len({um.ZCDP(1), um.GaussianDP(1), um.PureDP(1), um.ApproxDP(1, 0.5)}) == 4


@pytest.mark.parametrize("rho", [-1, math.nan, "much", None])
def test_no_such_rho(rho):
    with pytest.raises(InvalidInput, match="rho"):
        um.ZCDP(rho)


def test_designs_that_need_single_probabilities_say_what_to_give_instead():
    with pytest.raises(UnsupportedLevel, match=r"GaussianDP\(1\)"):
        um.binary.balanced(um.path(3), [False, False, True], um.ZCDP(0.5))
    with pytest.raises(UnsupportedLevel, match="bounds no single probability"):
        um.certify(um.FiniteMechanism([[0.75, 0.25], [0.25, 0.75]], [0, 1], [0, 1]), um.path(2), um.ZCDP(0.5))


@pytest.mark.parametrize("rho", ["0.1", "0.3", "1e-9", "1e-400", "7", "123456789"])
def test_the_gaussian_level_that_is_named_instead_implies_it(rho):
    with pytest.raises(UnsupportedLevel) as refused:
        um.ZCDP(rho).upper(0.5)
    mu = Fraction(re.search(r"GaussianDP\((.*?)\)", str(refused.value))[1])
    assert mu**2 / 2 <= Fraction(rho)
    assert float(mu) >= math.sqrt(2 * float(rho)) * (1 - 1e-4)
