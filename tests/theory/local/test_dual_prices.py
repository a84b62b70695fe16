"""LIM's dual prices against the program over all patterns, built here from its definition."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

import utmost as um
from utmost.errors import InvalidInput, TooLarge


def program(k, epsilon, worth):
    """The optimum of max worth·theta over S theta = 1, with patterns listed by itertools."""
    patterns = np.array(list(itertools.product((1.0, math.exp(epsilon)), repeat=k))).T
    values = np.array([worth(column) for column in patterns.T])
    return -linprog(-values, A_eq=patterns, b_eq=np.ones(k), bounds=(0, None), method="highs").fun, patterns, values


def divergence(p0, p1, kind):
    if kind == "tv":
        return lambda s: abs((p0 - p1) @ s) / 2
    return lambda s: (p0 @ s) * math.log((p0 @ s) / (p1 @ s))


def information(p):
    return lambda s: sum(p * s * np.log(s / (p @ s)))


@pytest.mark.parametrize("seed", range(20))
def test_prices_bound_the_optimum_and_reach_it_where_they_are_feasible(seed):
    rng = np.random.default_rng(seed)
    k, epsilon = int(rng.integers(2, 6)), float(rng.choice([0.05, 0.5, 2.0, 7.0]))
    p0, p1 = rng.dirichlet(np.ones(k) * 3), rng.dirichlet(np.ones(k) * 3)
    cases = [
        (um.local.dual_for_total_variation(p0, p1, epsilon), divergence(p0, p1, "tv")),
        (um.local.dual_for_divergence(p0, p1, epsilon), divergence(p0, p1, "kl")),
        (um.local.dual_for_information(p0, epsilon, "high"), information(p0)),
        (um.local.dual_for_information(p0, epsilon, "low"), information(p0)),
    ]
    for number, (dual, worth) in enumerate(cases):
        optimum, patterns, values = program(k, epsilon, worth)
        assert dual.slack == pytest.approx((dual.prices @ patterns - values).min(), abs=1e-9 * math.exp(epsilon))
        assert dual.bound >= optimum - 1e-9
        if dual.feasible:
            assert dual.total >= optimum - 1e-9
        if number == 0:
            assert dual.feasible
            assert dual.total == pytest.approx(optimum, abs=1e-9)
    if epsilon == 7.0:  # large enough for these alphabets more often than not; where feasible, the optimum
        dual = cases[1][0]
        if dual.feasible:
            assert dual.total == pytest.approx(program(k, epsilon, cases[1][1])[0], rel=1e-6)


def test_small_epsilons_have_the_binary_mechanism_as_their_optimum():
    p = np.array([0.4, 0.35, 0.25])
    dual = um.local.dual_for_information(p, 0.05)
    assert dual.feasible
    assert dual.total == pytest.approx(um.local.for_information(p, 0.05).value, rel=1e-9)
    low = um.local.dual_for_information(p, 9.0, "low")
    assert low.feasible
    assert low.total == pytest.approx(um.local.for_information(p, 9.0).value, rel=1e-9)


def test_no_privacy_to_lose_is_no_error():
    p = [0.5, 0.5]
    for dual in (um.local.dual_for_information(p, 0.0), um.local.dual_for_divergence(p, [0.2, 0.8], 0.0)):
        assert dual.total == 0
        assert dual.bound == pytest.approx(0, abs=1e-12)


def test_what_cannot_be_listed_or_meant_is_refused():
    with pytest.raises(TooLarge):
        um.local.staircase_patterns(25, 1.0)
    with pytest.raises(InvalidInput, match="high"):
        um.local.dual_for_information([0.5, 0.5], 1.0, "middle")
