"""Weighted sums of noises, and intervals of variances: against enumeration and against exact draws at fixed truths."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

import utmost as um
from utmost.errors import InvalidInput
from utmost.mechanism.noise.balls import BallLaw
from utmost.mechanism.noise.gaussian import GaussianLaw, RoundedGaussian
from utmost.mechanism.noise.independent import IndependentLaw
from utmost.mechanism.noise.staircase import geometric_law
from utmost.space.integers import Lattice
from utmost.theory.estimates.design import variance
from utmost.theory.estimates.design.combined_noise import expected, limits
from utmost.theory.estimates.design.variance import variance_interval, variance_intervals
from utmost.theory.vector.design.vectors import best_vector

WEIGHTS = [(2 / 3, -4 / 3, 2 / 3), (2.0, -1.0, 0.0), (-1.5, -0.5, 0.5), (0.0, 0.0, 3.0)]


@pytest.mark.parametrize(
    "law", [IndependentLaw(3, geometric_law(Fraction(1, 3))), BallLaw("exchange", 3, Fraction(1, 4), 2, 1)]
)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_sums_of_noises_by_listing_all(law, weights):
    """On few integers every vector is listed with its exact probability: limits hold, and are no larger than needed."""
    far = 14
    points = np.array(list(product(range(-far, far + 1), repeat=3)))
    if isinstance(law, BallLaw):
        norms = np.maximum(np.maximum(points, 0).sum(axis=1), np.maximum(-points, 0).sum(axis=1))
        chances = float(law.decay) ** (norms // 2 + (norms % 2 >= 1)) * float(law.point_mass((0, 0, 0)))
    else:
        chances = np.prod((1 / 3) ** np.abs(points) / 2, axis=1)
    sizes = np.abs(points @ np.array(weights))
    found = float(limits(law, np.array(weights), 0.95)[0])
    assert chances[sizes > found + 1e-9].sum() <= 0.05 + 1e-6
    assert chances[sizes >= found - 0.2].sum() > 0.05 or found < 0.2
    means = expected(law, np.array(weights))
    assert means["absolute"] == pytest.approx(float(sizes @ chances), rel=0.02)
    assert means["squared"] == pytest.approx(float(sizes**2 @ chances), rel=0.02)


@pytest.mark.parametrize(
    ("moves", "level"), [("any", 1.0), pytest.param("exchange", 0.2, marks=pytest.mark.long), ("exchange", 8.0)]
)
def test_sums_of_wide_noises_by_drawing(moves, level):
    """Noise made for moves of a hundred: limits are exceeded in 5 of 100 draws at most, and in 3 at least."""
    noise = best_vector(Lattice(3, moves, 100, 0, 10**6), um.PureDP(level)).mechanism.noise
    drawn = noise.draw(20_000).astype(float)
    for weights, limit in zip(WEIGHTS, limits(noise, np.array(WEIGHTS), 0.95), strict=True):
        beyond = float((np.abs(drawn @ np.array(weights)) > limit).mean())
        assert 0.03 < beyond < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 20_000)


def sums_of(u, width):
    """The three sums of whole numbers u from 0 to the width."""
    return np.array([((width - u) ** 2).sum(), (2 * u * (width - u)).sum(), (u**2).sum()])


TRUTHS = {
    "spread": np.arange(200) % 11,
    "at one end": np.array([0] * 190 + [10] * 10),
    "both ends": np.array([0, 10] * 100),
    "all alike": np.full(200, 3),
    "few": np.array([2, 3, 9]),
}


def covered(noise, u, draws):
    """How often intervals hold the variance of u."""
    drawn = noise.sample_many(np.tile(sums_of(u, 10), (draws, 1))).astype(object)
    low, high = variance_intervals(noise, *drawn.T, 0.95)
    truth = u.var() / 25
    assert (low <= high).all()
    return float(((low <= truth + 1e-12) & (truth - 1e-12 <= high)).mean()), float((high - low).mean())


@pytest.mark.parametrize("level", [um.PureDP(1), um.GaussianDP(1), um.ZCDP("0.5"), um.ApproxDP(1, "0.001")])
def test_intervals_cover_at_every_truth(level):
    """Whatever the values are, in 95 of 100 draws or more; and where there are many values the interval is short."""
    noise = best_vector(Lattice(3, "any", 100, 0, 10**5), level, independent=True).mechanism
    for name, u in TRUTHS.items():
        inside, long = covered(noise, u, 2000)
        assert inside > 0.95 - 4 * np.sqrt(0.05 * 0.95 / 2000), name
        assert long < 0.25 or name == "few"


@pytest.mark.long
@pytest.mark.parametrize("moves", ["any", "exchange"])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_intervals_of_balls_cover_at_every_truth(moves, epsilon, monkeypatch):
    """The noise of one variance, which is not independent."""
    monkeypatch.setattr(variance, "GRID", 9)
    noise = best_vector(Lattice(3, moves, 100, 0, 10**5), um.PureDP(epsilon)).mechanism
    for u in TRUTHS.values():
        assert 4000 * covered(noise, u, 4000)[0] >= binom.ppf(1e-8, 4000, 0.95)


@pytest.mark.parametrize("moves", ["any", "exchange"])
def test_one_interval_and_many(moves):
    """One interval is not wider than the same among many, whose limits are rounded up to a grid."""
    noise = best_vector(Lattice(3, moves, 100, 0, 10**5), um.GaussianDP(1), independent=True).mechanism
    a, b, c = (sums_of(TRUTHS["spread"], 10) * 5).tolist()
    many = variance_intervals(noise, *(np.array([x] * 9, dtype=object) for x in (a, b, c)), 0.95)
    low, high = variance_interval(noise, (a, b, c), 0.95)
    estimate = (4 * a * c - b * b) / (a + b + c) ** 2
    assert many[0][0] <= low < estimate < high <= many[1][0]
    assert many[1][0] - many[0][0] < 1.2 * (high - low)


def test_nobody_there_means_nothing_is_known():
    """Sums that no values have: the whole range."""
    noise = best_vector(Lattice(3, "any", 100, 0, 10**5), um.PureDP(1)).mechanism
    assert variance_interval(noise, (-50, 20, 10), 0.95) == (0.0, 1.0)
    assert variance_interval(noise, (30, 5, 3), 0.95) == (0.0, 1.0)


def test_other_noises_are_refused():
    """Balls of another shape or size have no known sums here."""
    with pytest.raises(InvalidInput, match="balls of three integers"):
        limits(BallLaw("cube", 3, Fraction(1, 2)), np.ones(3), 0.95)


@pytest.mark.parametrize("deviation", [1000, 2500])
@pytest.mark.parametrize("loss", ["absolute", "squared"])
def test_means_of_wide_rounded_noise(deviation, loss):
    """Closed forms of wide Gaussian noise are what adding up all tails gives."""
    law = RoundedGaussian(Fraction(deviation) ** 2)
    assert law.mean(loss) == pytest.approx(GaussianLaw.mean(law, loss), rel=1e-13)


def test_wide_noise_at_gaussian_levels_is_gaussian():
    """A range of a thousand steps, squared: not the noise of the pure level that the Gaussian one implies."""
    found = best_vector(Lattice(3, "any", 4 * 10**6, 0, 10**12), um.GaussianDP(1))
    assert found.certificate.method.startswith("rounded Gaussian")
    assert found.verify()


def test_a_weight_next_to_nothing_changes_nothing():
    """Next to a weight of 1, one of 1e-40 moves no sum; a file may hold numbers that lead to such weights."""
    law = IndependentLaw(2, geometric_law(Fraction(1, 3)))
    beside, alone = limits(law, np.array([[1.0, 1e-40], [1.0, 0.0]]), 0.95)
    assert beside == pytest.approx(alone, rel=0.01)
