"""Pictures of noise show its numbers."""

import math

import numpy as np
import pytest

import utmost as um
from utmost.errors import InvalidInput


def test_density_on_a_line():
    """Both curves run through the densities."""
    noise = um.noise.staircase(1, 2)
    best, usual = um.plot.noise_density(noise).axes[0].get_lines()
    assert np.array_equal(best.get_ydata(), noise.density(best.get_xdata()))
    assert np.array_equal(usual.get_ydata(), um.noise.laplace(1, 2).density(usual.get_xdata()))
    assert max(best.get_xdata()) == 8
    assert len(um.plot.noise_density(um.noise.laplace(1)).axes[0].get_lines()) == 1


def test_density_in_the_plane():
    """Shades are the logarithm of the density; more dimensions are refused."""
    noise = um.noise.staircase(1, dimension=2)
    (image,) = um.plot.noise_density(noise, reach=3).axes[0].get_images()
    shades = np.asarray(image.get_array())
    assert shades[300, 300] == pytest.approx(math.log10(noise.density([0.0, 0.0])))
    assert shades[0, 0] == pytest.approx(math.log10(noise.density([-3.0, -3.0])))
    with pytest.raises(InvalidInput, match="3 dimensions"):
        um.plot.noise_density(um.noise.staircase(1, dimension=3))


def test_gamma_against_decay():
    """One curve per dimension, through the best gammas."""
    (line,) = um.plot.noise_gamma(dimensions=(1,)).axes[0].get_lines()
    assert np.allclose(line.get_ydata(), np.sqrt(line.get_xdata()) / (1 + np.sqrt(line.get_xdata())))


def test_costs_against_epsilon(tmp_path):
    """Laplace, independent staircases and the optimum, then the asymptotes, which it approaches."""
    figure = um.plot.noise_costs([0.25, 0.5, 1, 2, 4, 8])
    usual, independent, best, small, large = (line.get_ydata() for line in figure.axes[0].get_lines())
    assert np.allclose(usual, 2 / np.array([0.25, 0.5, 1, 2, 4, 8]))
    assert np.allclose(independent, 1 / np.sinh(np.array([0.25, 0.5, 1, 2, 4, 8]) / 4))
    assert (best <= np.minimum(usual, independent)).all()
    assert small[0] == pytest.approx(best[0], rel=1e-5)
    assert large[-1] == pytest.approx(best[-1], rel=1e-2)
    assert um.plot.save(figure, tmp_path / "costs.png").read_bytes().startswith(b"\x89PNG")


def test_pictures_of_extremes_and_nonsense():
    """Densities beyond the floats are drawn without a warning; what cannot be drawn is refused first."""
    (image,) = um.plot.noise_density(um.noise.staircase(2000, dimension=2)).axes[0].get_images()
    assert np.isfinite(np.asarray(image.get_array())).all()
    for reach in (-1, 0, math.nan, math.inf):
        with pytest.raises(InvalidInput, match="reach is"):
            um.plot.noise_density(um.noise.staircase(1), reach=reach)
    for epsilons in ([0, 1], [], [math.inf], [math.nan]):
        with pytest.raises(InvalidInput, match="above 0"):
            um.plot.noise_costs(epsilons)
