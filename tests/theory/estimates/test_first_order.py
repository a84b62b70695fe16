"""Errors of variances and covariances to first order: the ends of their ranges, against moments drawn at random."""

import numpy as np
import pytest

import utmost as um
from utmost.space.integers import Lattice
from utmost.theory.estimates.design import covariance, variance
from utmost.theory.estimates.design.combined_noise import laplace_losses
from utmost.theory.vector.design.vectors import best_vector

RNG = np.random.default_rng(11)


def noise(dimension, moves="any", level=1, independent=True):
    return best_vector(Lattice(dimension, moves, 1000, 0, 10**7), level, independent=independent).mechanism.noise


@pytest.mark.parametrize(("moves", "independent"), [("any", True), ("any", False), ("exchange", False)])
def test_no_variance_errs_less_or_more_than_the_ends_say(moves, independent):
    law = noise(3, moves, um.PureDP(1), independent)
    least, most = variance.least_variance_losses(law, 1), variance.variance_losses(law, 1, *variance.LARGEST)
    drawn = law.draw(20_000).astype(float)
    for places in (
        [0.0, 1.0],
        RNG.random(5),
        RNG.random(5) ** 9,
        RNG.integers(0, 2, 9),
        np.zeros(3),
        np.linspace(0, 1, 99),
    ):
        y = 2 * np.asarray(places, dtype=float) - 1
        m, q = variance.moments(*((part.sum()) for part in ((1 - y) ** 2 / 4, (1 - y**2) / 2, (1 + y) ** 2 / 4)))
        assert (m, q) == pytest.approx((y.mean(), y.var() - y.mean() ** 2))
        found = variance.variance_losses(law, 1, m, q)
        errors = drawn @ np.array([1 + 2 * m - q, -1 - q, 1 - 2 * m - q])
        assert found["absolute"] == pytest.approx(np.abs(errors).mean(), rel=0.03)
        for loss in found:
            assert least[loss] * 0.99 <= found[loss] <= most[loss] * 1.01


@pytest.mark.parametrize("level", [um.PureDP(1), um.GaussianDP(1)], ids=str)
def test_no_covariance_errs_less_or_more_than_the_ends_say(level):
    law = noise(6, level=level)
    least, most = covariance.covariance_losses(law, 1, *covariance.LEAST), covariance.largest_covariance_losses(law, 1)
    assert most["absolute"] == pytest.approx(covariance.covariance_losses(law, 1, 0, 0, 0)["absolute"])
    for kind in range(60):
        cells = RNG.dirichlet([0.3] * 4) if kind % 2 else RNG.dirichlet([1, 1, 1, 1]) * RNG.integers(0, 2, 4) + 1e-9
        a, b, c = covariance.moments([*(cells / cells.sum() * 1000).tolist(), 0, 0])
        found = covariance.covariance_losses(law, 1, a, b, c)
        for loss in found:
            assert least[loss] * 0.99 <= found[loss] <= most[loss] * 1.01


def test_sums_of_laplace_noises_by_drawing():
    drawn = RNG.laplace(size=(400_000, 4)) @ np.array([1.0, 2.0, 1.0, 0.25])
    found = laplace_losses([1, 2, 1, 0.25])
    assert found["absolute"] == pytest.approx(np.abs(drawn).mean(), rel=0.01)
    assert found["squared"] == pytest.approx((drawn**2).mean(), rel=0.02)
