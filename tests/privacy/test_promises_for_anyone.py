"""How often a guess between two neighbours is right, against laws worked out one by one."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from utmost.privacy import ZCDP, ApproxDP, GaussianDP, PureDP
from utmost.privacy.promises import surest_guess


def best_guess(p, q):
    """The probability of the best guess between two laws, equally likely before: by enumeration."""
    return float(np.maximum(p, q).sum() / 2)


def coin(epsilon, delta=0.0):
    """The laws of the mechanism that makes (epsilon, delta) tight: an answer, or the truth with probability delta."""
    truth = (1 - delta) / (1 + math.exp(-epsilon))
    return np.array([delta, truth, 1 - delta - truth, 0]), np.array([0, 1 - delta - truth, truth, delta])


@pytest.mark.parametrize("epsilon", [0, 0.5, 1, 4])
@pytest.mark.parametrize("delta", [0, 0.1])
def test_one_release_is_met_by_the_coin(epsilon, delta):
    level = ApproxDP(epsilon, delta) if delta else PureDP(epsilon)
    right, wrong = surest_guess([level])
    assert right == pytest.approx(best_guess(*coin(epsilon, delta)), abs=1e-12)
    assert right + wrong == pytest.approx(1)


@pytest.mark.parametrize("levels", [[(0.3, 0.0), (0.7, 0.0)], [(0.5, 0.05)] * 3, [(1.0, 0.01), (0.2, 0.0)]])
def test_several_releases_never_tell_more(levels):
    laws = [coin(*level) for level in levels]
    p, q = (product([each[side] for each in laws]) for side in (0, 1))
    assert best_guess(p, q) <= surest_guess([ApproxDP(*level) for level in levels])[0] + 1e-12


def product(laws):
    found = np.ones(1)
    for law in laws:
        found = np.multiply.outer(found, law).ravel()
    return found


def test_gaussian_levels_are_met_by_gaussian_noise():
    """Two releases at 0.6 and 0.8 are one at 1: the guess is right where the noise is below a half."""
    assert surest_guess([GaussianDP(0.6), GaussianDP(0.8)])[0] == pytest.approx(norm.cdf(0.5), abs=1e-12)


@pytest.mark.parametrize("rho", [1e-6, 0.01, 0.5, 3, 40])
def test_zcdp_bounds_whatever_keeps_it(rho):
    """Gaussian noise, which keeps rho with equality, and every coin that does; and no more than its KL allows."""
    right, wrong = surest_guess([ZCDP(rho)])
    assert right >= norm.cdf(math.sqrt(2 * rho) / 2)
    assert (right - wrong) * math.log(right / wrong) == pytest.approx(rho, rel=1e-6)
    truths = np.linspace(0.5, 1, 4001)[:-1]
    orders = 1 + np.geomspace(1e-6, 1e3, 200)[:, None]
    log_p, log_q = np.log(truths), np.log1p(-truths)
    moments = np.logaddexp(orders * log_p + (1 - orders) * log_q, orders * log_q + (1 - orders) * log_p)
    keeps = (moments / (orders - 1) <= rho * orders).all(axis=0)
    assert truths[keeps].max() <= right


def test_kinds_that_do_not_mix_add_their_advantages():
    """A coin and Gaussian noise together, on a fine grid of the noise: never beyond the bound, nor is the bound 1."""
    edges = np.linspace(-9, 10, 20001)
    noise = [np.diff(norm.cdf(edges, loc=mean)) for mean in (0, 0.5)]
    p, q = (product([law, coin_law]) for law, coin_law in zip(noise, coin(0.5), strict=True))
    right, _ = surest_guess([GaussianDP(0.5), PureDP(0.5)])
    assert best_guess(p, q) <= right < 0.75
