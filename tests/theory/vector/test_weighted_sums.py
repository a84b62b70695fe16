"""Weighted sums of noises: against convolutions of listed laws, and draws."""

from fractions import Fraction

import numpy as np
import pytest

from utmost.mechanism.noise.canonical import CanonicalLaw
from utmost.mechanism.noise.gaussian import RoundedGaussian
from utmost.mechanism.noise.independent import IndependentLaw
from utmost.mechanism.noise.staircase import geometric_law
from utmost.privacy import GaussianDP
from utmost.theory.vector.design.weighted_sums import half_widths, mean_sizes

LAWS = [
    geometric_law(Fraction(1, 3)),
    geometric_law(Fraction(9, 10)),
    RoundedGaussian(Fraction(7)),
    CanonicalLaw(GaussianDP(1)),
]


def convolved(law, weights, times):
    """The law of a sum with whole weights, by plain convolution: places and probabilities."""
    far = law.half_width(1 - 1e-11)
    tails = np.asarray(law.tail(np.arange(far + 2)))
    one = tails[:-1] - tails[1:]
    one[0] = 1 - 2 * tails[1]
    both = np.concatenate([one[:0:-1], one])
    found = np.ones(1)
    for weight, many in zip(weights, times, strict=True):
        spread = np.zeros((len(both) - 1) * weight + 1)
        spread[::weight] = both
        for _ in range(many):
            found = np.convolve(found, spread)
    places = np.arange(len(found)) - len(found) // 2
    return np.abs(places), found


@pytest.mark.parametrize("single", LAWS, ids=lambda law: law.kind)
@pytest.mark.parametrize(("weights", "times"), [((1,), (1,)), ((1, 3), (2, 4)), ((1, 9), (5, 1))])
def test_sums_are_those_of_convolutions(single, weights, times):
    """Means to a thousandth; half widths that hold as much as they say, and little more."""
    law = IndependentLaw(1, single)
    places, chances = convolved(law, weights, times)
    mean = float(places @ chances)
    rows = np.array([weights], dtype=float), np.array([times])
    assert mean_sizes(law, *rows)[0] == pytest.approx(mean, rel=5e-3)
    for confidence in (0.5, 0.95, 0.99):
        half = half_widths(law, *rows, confidence)[0]
        assert chances[places <= half].sum() >= confidence
        sizes = np.unique(places)
        sums = np.cumsum([chances[places == size].sum() for size in sizes])
        assert half <= sizes[np.searchsorted(sums, confidence)] * 1.05 + 3


def test_wide_noise_is_listed_in_bins():
    """Scaled up by 10,000 it is the same, up to half a bin of each noise."""
    narrow, wide = (IndependentLaw(9, geometric_law(1 - Fraction(1, n))) for n in (100, 10**6))
    rows = np.array([[0.3, 0.7]]), np.array([[20, 30]])
    for measure in (mean_sizes, lambda *given: half_widths(*given, 0.95)):
        assert measure(wide, *rows)[0] / 10**4 == pytest.approx(measure(narrow, *rows)[0], rel=0.03)


def test_nothing_is_0():
    """Without noise, or without weights."""
    none = IndependentLaw(1, geometric_law(Fraction(0)))
    assert half_widths(none, np.array([[1.0]]), np.array([[3]]), 0.95).tolist() == [0.0]
    assert mean_sizes(none, np.array([[1.0]]), np.array([[3]])).tolist() == [0.0]
