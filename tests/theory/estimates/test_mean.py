"""Means from two sums: first-order losses by listing the noise, exact coverage of intervals at fixed tables."""

from fractions import Fraction

import numpy as np
import pytest

import utmost as um
from utmost.mechanism.noise.balls import BallLaw
from utmost.mechanism.noise.independent import IndependentLaw
from utmost.mechanism.noise.staircase import geometric_law
from utmost.mechanism.noise.vector import NoisyVector
from utmost.privacy.level import decay_above
from utmost.space.integers import Lattice
from utmost.theory.estimates.design.mean import mean_alternatives, mean_interval, mean_losses
from utmost.theory.vector.design.vectors import best_vector


def listed(law, far):
    """All noises up to `far` and their probabilities."""
    x, y = (part.ravel() for part in np.meshgrid(np.arange(-far, far + 1), np.arange(-far, far + 1)))
    if isinstance(law, BallLaw):
        chances = np.array([float(law.point_mass(z)) for z in zip(x.tolist(), y.tolist(), strict=True)])
    else:
        one = law.tail(np.arange(-far, far + 1)) - law.tail(np.arange(-far + 1, far + 2))
        chances = np.multiply.outer(one, one).T.ravel()
    return x, y, chances


@pytest.mark.parametrize(("m", "value"), [(0.5, 7.493743778833), (0.3, 7.895043813295), (0.0, 9.9833527573)])
def test_first_order_error_of_the_theory(m, value):
    """Range of width 10 at epsilon = 1: both sums with geometric noise of decay e^-1/10, listed."""
    law = IndependentLaw(2, geometric_law(decay_above(um.PureDP(1), 10)))
    x, y, chances = listed(law, 420)
    assert float(chances @ np.abs((1 - m) * x - m * y)) == pytest.approx(value, abs=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("m", [0.0, 0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize(
    "law",
    [
        IndependentLaw(2, geometric_law(Fraction(1, 2))),
        BallLaw("any", 2, Fraction(1, 4), 4, 2),
        BallLaw("exchange", 2, Fraction(1, 4)),
        BallLaw("exchange", 2, Fraction(1, 8), 3, 1),
        best_vector(Lattice(2, "any", 3, 0, 900), um.GaussianDP(1)).mechanism.noise,
    ],
)
def test_losses_are_those_of_listed_noise(law, m):
    x, y, chances = listed(law, 60)
    errors, found = np.abs((1 - m) * x - m * y), mean_losses(NoisyVector(law), m)
    assert found["absolute"] == pytest.approx(chances @ errors, rel=2e-3)
    assert found["squared"] == pytest.approx(chances @ errors**2, rel=2e-3)


def test_width_over_epsilon_and_three_quarters_of_it():
    """For a wide range, E = W/(epsilon n) at an end and 3/4 of that in the middle, against a sum and a count."""
    space = Lattice(2, "any", 1000, 0, 10**9)
    for epsilon in ("0.1", "1"):
        mechanism = best_vector(space, um.PureDP(epsilon)).mechanism
        largest, least = (mean_losses(mechanism, m)["absolute"] * float(epsilon) / 1000 for m in (0, 0.5))
        assert 0.98 < largest <= 1
        assert 0.74 < least <= 0.752
        others = mean_alternatives(space, um.PureDP(epsilon), 1000)
        assert set(others) == {"Laplace", "geometric", "Gaussian, delta = 1e-06"}
        assert all(largest * 1000 / float(epsilon) < 0.72 * other["absolute"] for other in others.values())


@pytest.mark.parametrize("level", [um.PureDP(1), um.GaussianDP(1), um.ZCDP("0.5"), um.ApproxDP(1, "1e-6")], ids=str)
def test_alternatives_are_not_better(level):
    for moves in ("any", "exchange"):
        space = Lattice(2, moves, 50, 0, 50_000)
        for loss in ("absolute", "squared"):
            ours = mean_losses(best_vector(space, level, loss).mechanism, 0)[loss]
            others = mean_alternatives(space, level, 50)
            assert others
            assert all(ours <= other[loss] * (1 + 1e-3) for other in others.values()), (moves, loss, ours, others)


def test_alternatives_by_simulation():
    """Sum around the middle and count, Laplace noise at half of epsilon each, all values at one end."""
    rng, n = np.random.default_rng(5), 400_000
    errors = rng.laplace(0, 25 / 0.5, n) - 25 * rng.laplace(0, 1 / 0.5, n)
    found = mean_alternatives(Lattice(2, "any", 50, 0, 5000), um.PureDP(1), 50)["Laplace"]
    assert found["absolute"] == pytest.approx(np.abs(errors).mean(), rel=0.01)
    assert found["squared"] == pytest.approx((errors**2).mean(), rel=0.03)


def covered(space, level, above, below, size):
    """How often the interval holds the true share at one fixed table."""
    mechanism = best_vector(space, level).mechanism
    drawn = mechanism.noise.draw(size) + np.array([above, below])
    truth = above / (above + below)
    held = 0
    for r, q in drawn.tolist():
        low, high = mean_interval(mechanism, r, q, 0.95)
        held += low <= truth <= high
    return held / size


CASES = [
    (Lattice(2, "any", 50, 0, 50_000), um.PureDP(1), 20_000, 30_000),
    (Lattice(2, "exchange", 50, 0, 50_000), um.PureDP(1), 1000, 49_000),
    (Lattice(2, "any", 50, 0, 50_000), um.GaussianDP(1), 100, 300),
    (Lattice(2, "exchange", 50, 0, 50_000), um.ZCDP("0.5"), 2000, 48_000),
    (Lattice(2, "any", 50, 0, 50_000), um.ApproxDP(1, "1e-6"), 20_000, 30_000),
    (Lattice(2, "exchange", 50, 0, 50_000), um.ApproxDP("0.3", "1e-3"), 10_000, 40_000),
    (Lattice(2, "any", 10**5, 0, 10**9), um.PureDP("0.1"), 3 * 10**6, 2 * 10**6),
]


@pytest.mark.parametrize(("space", "level", "above", "below"), CASES, ids=str)
def test_intervals_hold_the_truth(space, level, above, below):
    assert 0.91 <= covered(space, level, above, below, 600) <= 0.985


@pytest.mark.long
@pytest.mark.parametrize(("space", "level", "above", "below"), CASES, ids=str)
def test_intervals_hold_the_truth_in_94_to_97_percent(space, level, above, below):
    assert 0.94 <= covered(space, level, above, below, 10_000) <= 0.97


def test_interval_of_sums_that_say_nothing_is_everything():
    mechanism = best_vector(Lattice(2, "any", 50, 0, 50_000), um.PureDP("0.1")).mechanism
    assert mean_interval(mechanism, 30, -20) == (0.0, 1.0)
    assert mean_interval(mechanism, 0, 0) == (0.0, 1.0)
    low, high = mean_interval(mechanism, -(10**6), 10**7)
    assert low == high == 0.0
