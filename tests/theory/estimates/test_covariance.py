"""Intervals of covariance, correlation and slope at fixed truths."""

import numpy as np
import pytest
from scipy.stats import binom

import utmost as um
from utmost.space.integers import Lattice
from utmost.theory.estimates.design import combined_noise, covariance
from utmost.theory.estimates.design.covariance import covariance_estimates, covariance_intervals
from utmost.theory.vector.design.vectors import best_vector

UNIT = 10_000
RNG = np.random.default_rng(3)
PLACES = np.linspace(0, 1, 11)
TRUTHS = {
    "a line": (PLACES.repeat(80), PLACES.repeat(80) ** 2),
    "nothing": tuple(np.meshgrid(PLACES, PLACES)),
    "falling": (PLACES.repeat(60), 1 - 0.4 * PLACES.repeat(60)),
    "few": (PLACES, PLACES),
}


def sums_of(a, b):
    parts = [(1 - a) * (1 - b), (1 - a) * b, a * (1 - b), a * b, a * (1 - a), b * (1 - b)]
    return np.array([part.sum() for part in parts])


def integers(a, b):
    return np.round(sums_of(a, b) * UNIT).astype(int).tolist()


def truth_of(a, b):
    c = ((a - a.mean()) * (b - b.mean())).mean()
    return {"covariance": c, "correlation": c / (a.std() * b.std()), "slope": c / a.var()}


@pytest.mark.parametrize("name", TRUTHS)
def test_estimates_are_those_of_numpy(name):
    """Of sums without noise."""
    assert covariance_estimates(integers(*TRUTHS[name]), UNIT) == pytest.approx(truth_of(*TRUTHS[name]), abs=1e-9)


def covered(level, moves, name, draws):
    """How often each interval holds the truth; never is one inside out."""
    a, b = TRUTHS[name]
    mechanism = best_vector(Lattice(6, moves, 3 * UNIT // 2, 0, 10**9), level, independent=True).mechanism
    drawn = mechanism.sample_many(np.tile(integers(a, b), (draws, 1))).tolist()
    inside = dict.fromkeys(truth_of(a, b), 0)
    for sums in drawn:
        for key, (low, high) in covariance_intervals(mechanism.noise, sums, UNIT, 10.0, 0.95).items():
            assert low <= high
            inside[key] += low - 1e-9 <= truth_of(a, b)[key] <= high + 1e-9
    return inside


@pytest.mark.long
@pytest.mark.parametrize("name", TRUTHS)
def test_intervals_hold_the_truth(name, monkeypatch):
    """Coarsely computed, in nearly all of a few draws: fewer than 3 of 5 have a probability of one in a thousand."""
    monkeypatch.setattr(combined_noise, "CELLS", 256)
    monkeypatch.setattr(covariance, "HALVINGS", 5)
    assert min(covered(um.GaussianDP(1), "exchange", name, 5).values()) >= 3


@pytest.mark.long
@pytest.mark.parametrize("name", TRUTHS)
@pytest.mark.parametrize("level", [um.PureDP(1), um.GaussianDP(1)])
def test_intervals_hold_the_truth_in_95_of_100(level, name, monkeypatch):
    """In a hundred and fifty draws, each with three intervals that take a third of a second."""
    monkeypatch.setattr(combined_noise, "CELLS", 256)
    monkeypatch.setattr(covariance, "HALVINGS", 5)
    assert min(covered(level, "any", name, 150).values()) >= binom.ppf(1e-8, 150, 0.95)


def test_where_x_may_not_vary_no_slope_is_known():
    """All values of a alike: the slope and the correlation may be anything, the covariance is small."""
    noise = best_vector(Lattice(6, "any", 3 * UNIT // 2, 0, 10**9), um.PureDP(1), independent=True).mechanism.noise
    found = covariance_intervals(noise, integers(np.full(900, 0.5), RNG.random(900)), UNIT, 10.0, 0.95)
    assert found["slope"] == (-10.0, 10.0)
    assert found["correlation"] == (-1.0, 1.0)
    assert max(map(abs, found["covariance"])) < 0.02
    assert covariance_intervals(noise, [-UNIT] * 6, UNIT, 10.0, 0.95)["covariance"] == (-0.25, 0.25)
