"""Weighted sums of independent noises of several laws: intervals, and mean absolute values, by Fourier series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from utmost.exact.arrays import Floats
from utmost.mechanism.noise.law import NoiseLaw

Term: TypeAlias = tuple[NoiseLaw, float, int]
"""A law, the factor of such noises, and how many of them there are."""
SMOOTHED, REACH = 0.005, 32.0
"""The smoothing of a sum and the circumference of its circle, in units of its standard deviation."""
BEYOND = 6.4e-5
"""The probability that a Gaussian exceeds 4 deviations, and a little for rounding."""


def sum_half_width(terms: Sequence[Term], confidence: float) -> float:
    """A half width h such that a weighted sum of independent noises is within ±h with at least this probability.

    The characteristic functions are multiplied, and the law is computed by a Fourier series. The sum E may lie on any
    lattice, so a Gaussian G of a small deviation s is added first: |E| <= |E + G| + |G|, so 4s more, and the
    probability that |G| exceeds it, turn the interval of E + G into one of E. The tail beyond the circle is bounded by
    the fourth moment.

    Parameters
    ----------
    terms : sequence of tuples
        (law, factor, number of such noises).
    confidence : float
        A probability.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from utmost.mechanism.noise.staircase import geometric_law
    >>> half = sum_half_width([(geometric_law(Fraction(1, 3)), 1.0, 2)], 0.95)
    >>> 4 <= half < 5                                                  # of the sum of two: 4
    True
    """
    deviation = _deviation(terms)
    if deviation == 0:
        return 0.0
    target = confidence + BEYOND + _kurtosis(terms) / (REACH / 2) ** 4
    if target >= 1:
        return deviation / math.sqrt(1 - confidence)  # Chebyshev: noise that is nearly always 0
    smooth, period = SMOOTHED * deviation, REACH * deviation
    k, t, phi = _smoothed(terms)

    def inside(h: float) -> float:
        return 2 * h / period + float(np.sum(phi * np.sin(t * h) * 2 / (math.pi * k)))

    low, high = 0.0, period / 2
    while high - low > 1e-4 * deviation:
        middle = (low + high) / 2
        low, high = (low, middle) if inside(middle) >= target else (middle, high)
    return high + 4 * smooth


MOST_PEAKED = 40.0
"""With a larger kurtosis a sum of noises is nearly always 0, and two of them are hardly ever nonzero at once."""


def sum_mean_size(terms: Sequence[Term]) -> float:
    """The mean absolute value of a weighted sum of independent noises, to about two digits.

    By the Fourier series of |x| on the circle, less the first-order effect of the Gaussian: half its variance times
    twice the density at 0.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from utmost.mechanism.noise.staircase import geometric_law
    >>> round(sum_mean_size([(geometric_law(Fraction(1, 3)), 1.0, 2)]), 2)    # of the sum of two: 1.21875
    1.22
    """
    deviation = _deviation(terms)
    if deviation == 0:
        return 0.0
    if _kurtosis(terms) > MOST_PEAKED:
        return math.fsum(abs(factor) * count * float(law.mean("absolute")) for law, factor, count in terms)
    smooth, period = SMOOTHED * deviation, REACH * deviation
    k, _, phi = _smoothed(terms)
    odd = k % 2 == 1
    mean = period / 4 - 2 * period / math.pi**2 * float(np.sum(phi[odd] / k[odd] ** 2))
    return mean - smooth**2 * (1 + 2 * float(phi.sum())) / period


def _deviation(terms: Sequence[Term]) -> float:
    """The standard deviation of a sum of noises."""
    return math.sqrt(math.fsum(law.mean("squared") * factor**2 * count for law, factor, count in terms))


def _kurtosis(terms: Sequence[Term]) -> float:
    """The fourth moment of a sum of noises over the square of its variance; infinite where that underflows."""
    squared_variance = _deviation(terms) ** 4
    if squared_variance == 0:
        return math.inf
    excess = (count * factor**4 * (law.fourth_moment - 3 * law.mean("squared") ** 2) for law, factor, count in terms)
    return 3 + math.fsum(excess) / squared_variance


def _smoothed(terms: Sequence[Term]) -> tuple[Any, Floats, Floats]:
    """The indices of a Fourier series on a circle, their frequencies, and the transform of the smoothed sum there."""
    deviation = _deviation(terms)
    smooth, period = SMOOTHED * deviation, REACH * deviation
    k = np.arange(1, math.ceil(8 / smooth * period / (2 * math.pi)) + 1)
    t: Floats = np.asarray(2 * math.pi * k / period, dtype=np.float64)
    log = -(smooth**2) * t**2 / 2
    sign = np.ones_like(t)
    for law, factor, count in terms:
        factor_transform = law.characteristic(np.asarray(t * factor))
        with np.errstate(divide="ignore"):
            log = log + count * np.log(np.abs(factor_transform))
        if count % 2:
            sign = sign * np.sign(factor_transform)
    return k, t, sign * np.exp(np.maximum(log, -700.0)) * (log > -700)
