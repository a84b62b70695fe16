"""Tangents to the information of patterns: they bound it everywhere, and touch it."""

import numpy as np
import pytest

from utmost.theory.local.verify.patterns import _tangents, information_of


@pytest.mark.parametrize("q", [0.01, 0.3, 1.0, 20.0])
@pytest.mark.parametrize("many", [2, 5, 40])
def test_tangents_lie_above_the_information(q, many):
    """Of every mass from 0 to 1, for every tangent: never below, and nowhere by more than their number explains."""
    slopes, heights = _tangents(q, many)
    mass = np.linspace(0, 1, 401)
    above = heights[:, None] + slopes[:, None] * mass - information_of(mass, q)
    assert above.min() >= -1e-13
    assert (np.diff(slopes) < 0).all()
    if many == 40:
        assert above.min(axis=0).max() <= 0.01 * information_of(mass, q).max()
