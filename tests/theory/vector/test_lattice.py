"""Noise on vectors as users ask for it."""

from fractions import Fraction

import numpy as np
import pytest

import utmost as um
from utmost.errors import InvalidInput, UnsupportedLevel


def test_moves_and_levels():
    for moves in ("any", "one-way", "cube", "exchange", "sum-zero"):
        for level in (um.PureDP(1), um.ApproxDP(1, "0.01"), um.GaussianDP(1), um.ZCDP("0.5")):
            noise = um.noise.lattice(3, level, moves, reach=2)
            assert noise.verify()
            assert noise.sample(5).shape == (5, 3)
            assert len(noise.release((1, 2, 3))) == 3
    assert um.noise.lattice(1, 1.0).expected() == pytest.approx(um.noise.canonical(1.0).expected_cost)


def test_probabilities_add_up():
    noise = um.noise.lattice(2, 3.0, "exchange")
    near = np.stack(np.meshgrid(np.arange(-9, 10), np.arange(-9, 10)), axis=-1).reshape(-1, 2)
    assert sum(noise.probability(z) for z in near) == pytest.approx(1, abs=1e-8)
    assert noise.tail(1) == pytest.approx(sum(noise.probability(z) for z in near if z[0] >= 1), abs=1e-8)


def test_gaussian_is_calibrated_to_the_length_of_a_move():
    noise = um.noise.gaussian(um.GaussianDP("0.5"), sensitivity=2, dimension=3)
    assert noise.law.single.variance == 16
    assert noise.verify()
    assert um.noise.gaussian(um.ZCDP(2), squared_sensitivity=3).law.single.variance == Fraction(3, 4)
    approx = um.noise.gaussian(um.ApproxDP(1, "1e-6"))
    assert approx.law.single.deviation == pytest.approx(1 / 0.23670438, rel=1e-7)
    assert approx.verify()
    assert isinstance(approx.release(10), int)
    assert np.abs(approx.simulate(20_000, 1)).mean() == pytest.approx(approx.expected(), rel=0.05)


def test_what_is_refused_says_why():
    with pytest.raises(UnsupportedLevel, match="delta"):
        um.noise.gaussian(1.0)
    with pytest.raises(InvalidInput, match="moves"):
        um.noise.lattice(2, 1.0, "sideways")
    with pytest.raises(InvalidInput, match="dimension"):
        um.noise.lattice(10**6, 1.0)
    with pytest.raises(InvalidInput, match="above 0"):
        um.noise.lattice(2, 0)
    with pytest.raises(InvalidInput, match="whole number"):
        um.noise.lattice(2, 1.0).release((1.5, 2))


def test_exchanges_may_have_slack():
    """For two cells it is the noise of two one-way integers; for three it is the LP's optimum among all noise."""
    loose, one_way = (um.noise.lattice(2, 0.1, moves, slack=None) for moves in ("exchange", "one-way"))
    assert loose.expected() == pytest.approx(one_way.expected(), rel=1e-12)
    assert loose.expected() < um.noise.lattice(2, 0.1, "exchange").expected()
    assert loose.verify()
    three = um.noise.lattice(3, 0.5, "exchange", slack=None)
    assert three.law.slack == 1
    assert three.verify()
    assert three.expected() == pytest.approx(2.93869, abs=1e-5)
    assert um.noise.lattice(3, 0.5, "exchange").expected() == pytest.approx(2.95020, abs=1e-5)
    with pytest.raises(um.errors.InvalidInput, match="give 0 to 0"):
        um.noise.lattice(3, 0.1, "cube", slack=1)
