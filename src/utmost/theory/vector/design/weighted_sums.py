"""Weighted sums of many independent noises: mean absolute values and half-widths of confidence intervals.

A quantile is computed from sums of noisy cells, each cell with one of two weights; a count answered by a strategy is a
sum of all its noisy numbers. The characteristic function of such a sum X is the product of those of the noises. It is
inverted by a Fourier transform after adding (in thought) Gaussian noise with a small standard deviation s, which makes
X a density; half-widths are widened accordingly: |X| <= |X + sZ| + s|Z|.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from utmost.exact.arrays import Floats
from utmost.mechanism.noise.independent import IndependentLaw

POINTS, PER_DEVIATION = 8192, 200
"""Number of points of a density, and how many of them make one standard deviation."""
SMOOTH = 2
"""The standard deviation of the added Gaussian, in points."""
SPARED, BEYOND = 3.5, 4.8e-4
"""By how many of these deviations a half-width is widened, and the probability that the Gaussian exceeds that."""
FEW, CHUNK, NEGLIGIBLE = 8, 48, 1e-9
"""With more than `FEW` weights the transform is negligible beyond some frequency, and computed only up to it."""
MOST_VALUES, TABLE = 2**12, 2**18
"""Number of listed values of one noise (above, in wider bins), and of points of its transform."""


def half_widths(law: IndependentLaw, weights: Floats, times: Floats, confidence: float) -> Floats:
    """Half-widths h such that each weighted sum of noises lies within ±h with at least this probability.

    Parameters
    ----------
    law : IndependentLaw
        The noises, independent and identically distributed.
    weights, times : arrays of one shape
        Every row is a sum: the weights, and how many noises have each of them.
    confidence : float
        A probability below 1.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from utmost.mechanism.noise.staircase import geometric_law
    >>> law = IndependentLaw(9, geometric_law(Fraction(9, 10)))
    >>> half_widths(law, np.array([[1.0]]), np.array([[9]]), 0.95).round(1)      # deviation 13.4 · 3: Gaussian 78.9
    array([81.6])
    """
    return mean_sizes_and_half_widths(law, weights, times, confidence)[1]


def mean_sizes(law: IndependentLaw, weights: Floats, times: Floats) -> Floats:
    """The mean absolute values of weighted sums of noises, as for `half_widths`; to about four digits."""
    return mean_sizes_and_half_widths(law, weights, times, 0.95)[0]


def mean_sizes_and_half_widths(
    law: IndependentLaw, weights: Floats, times: Floats, confidence: float
) -> tuple[Floats, Floats]:
    """`mean_sizes` and `half_widths` together, from one transform of each sum."""
    places = np.minimum(np.arange(POINTS), POINTS - np.arange(POINTS))
    means, halves = [], []
    for row, many in zip(np.atleast_2d(weights), np.atleast_2d(times), strict=True):
        density, deviation = _density(law, row, many)
        step = deviation / PER_DEVIATION
        excess = step * SMOOTH**2 * density[0]  # what the added Gaussian adds to the mean, to first order
        means.append(float(places @ density) * step - excess)
        inside = 2 * np.cumsum(density[: POINTS // 2]) - density[0]
        radius = int(np.searchsorted(np.maximum.accumulate(inside), confidence + BEYOND))
        rounding = float(np.abs(row) @ many) * ((_width(law) - 1) / 2)
        rounding += float(np.abs(row).max()) * (len(row) > FEW)  # the lattice structure beyond the last frequency
        halves.append((radius + 0.5 + SPARED * SMOOTH) * step + rounding if deviation else 0.0)
    return np.array(means), np.array(halves)


def tail_probabilities(law: IndependentLaw, weights: Floats, times: Floats, size: float) -> Floats:
    """The probabilities that the absolute values of sums of noises exceed `size`, to about three digits."""
    tails = []
    for row, many in zip(np.atleast_2d(weights), np.atleast_2d(times), strict=True):
        density, deviation = _density(law, row, many)
        places = np.minimum(np.arange(POINTS), POINTS - np.arange(POINTS)) * (deviation / PER_DEVIATION)
        tails.append(float(density[places > size].sum()))
    return np.array(tails)


def _density(law: IndependentLaw, weights: Floats, times: Floats) -> tuple[Floats, float]:
    """The probabilities of X + sZ around the points 0, 1, ..., -2, -1 (a circle), and the standard deviation of X."""
    deviation = math.sqrt(law.mean("squared") * float(np.square(weights) @ times))
    if deviation == 0:
        return np.eye(1, POINTS)[0], 0.0
    frequencies = np.arange(POINTS // 2 + 1) * (2 * math.pi * PER_DEVIATION / (POINTS * deviation))
    transform = np.exp(-np.square(frequencies * (SMOOTH * deviation / PER_DEVIATION)) / 2)
    present = (weights != 0) & (times != 0)
    sizes, many = np.abs(weights[present]), times[present]
    if len(sizes) <= FEW:
        for weight, count in zip(sizes.tolist(), many.tolist(), strict=True):
            transform = transform * _transform(law, weight * frequencies) ** count
        return np.fft.irfft(transform, POINTS), deviation
    for start in range(0, len(transform), CHUNK):
        block = slice(start, start + CHUNK)
        transforms = _transform(law, np.outer(sizes, frequencies[block]))
        product = np.prod(transforms if (many == 1).all() else transforms ** many[:, None], axis=0)
        transform[block] *= product
        if np.abs(product).max() < NEGLIGIBLE:
            transform[start + CHUNK :] = 0.0
            break
    return np.fft.irfft(transform, POINTS), deviation


def _transform(law: IndependentLaw, t: Floats) -> Floats:
    """The characteristic function of one noise, periodic and even: tabulated, but a formula for geometric noise."""
    layers = law.single.layers
    if layers is not None and layers.period == 1:
        b = layers.decay
        return np.asarray(1 / (1 + float(4 * b / (1 - b) ** 2) * np.square(np.sin(t / 2))))
    table, width = _table(law)
    around = np.abs((t * width / (2 * math.pi) + 0.5) % 1 - 0.5) * TABLE
    return np.asarray(np.interp(around, np.arange(len(table)), table))


def _width(law: IndependentLaw) -> int:
    """The width of a bin of values of one noise."""
    layers = law.single.layers
    return 1 if layers is not None and layers.period == 1 else _bins(law)[1]


@lru_cache(maxsize=16)
def _table(law: IndependentLaw) -> tuple[Floats, int]:
    chances, width = _bins(law)
    circle = np.zeros(TABLE)
    circle[: len(chances)] = chances
    circle[1 - len(chances) :] += chances[:0:-1]
    return np.asarray(np.fft.rfft(circle).real), width


@lru_cache(maxsize=16)
def _bins(law: IndependentLaw) -> tuple[Floats, int]:
    """The probabilities of the noises 0, 1, 2, ... (the law is symmetric), in bins of odd width, and that width."""
    radius = law.half_width(1 - 1e-12) + 2
    width = -(-radius // MOST_VALUES)
    width += width % 2 == 0
    edges: Any = np.arange(-(-radius // width) + 1) * width + (width + 1) // 2
    tails = np.asarray(law.tail(edges))
    return np.concatenate([[1 - 2 * tails[0]], tails[:-1] - tails[1:]]), width
