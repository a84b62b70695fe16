"""Weighted sums of many independent noises: how large they are on average, and what holds them with a given confidence.

A quantile is read off sums of noisy cells, each cell with one of two weights; a count that a strategy answers is a sum
of all its noisy numbers. The law of such a sum X has as its characteristic function the product of those of the noises.
It is inverted by a Fourier transform after a little Gaussian noise of deviation s has been added (in thought), which
makes X a density; what that may hide is added to a half width: |X| <= |X + sZ| + s|Z|.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from utmost.exact.arrays import Floats
from utmost.mechanism.noise.lattice import GeometricLaw, IndependentLaw

POINTS, PER_DEVIATION = 8192, 200
"""How many points a density is listed at, and how many of them to one standard deviation."""
SMOOTH = 2
"""The deviation of what is added, in points."""
SPARED, BEYOND = 3.5, 4.8e-4
"""How many deviations of it a half width is widened by, and with which probability it is larger than that."""
FEW, CHUNK, NEGLIGIBLE = 8, 48, 1e-9
"""With more different weights than a few, the transform is negligible from some frequency on, and looked at so far."""
MOST_VALUES, TABLE = 2**12, 2**18
"""How many values of one noise are listed (beyond, in wider bins), and places where its transform is."""


def half_widths(law: IndependentLaw, weights: Floats, times: Floats, confidence: float) -> Floats:
    """For sums of noises, within which ±h each lies with at least this probability.

    Parameters
    ----------
    law : IndependentLaw
        The noises, all of one law.
    weights, times : arrays of one shape
        Every row is a sum: the weights of noises, and how many noises have each of them.
    confidence : float
        A probability below 1.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from utmost.mechanism.noise.lattice import GeometricLaw
    >>> law = IndependentLaw(9, GeometricLaw(Fraction(9, 10)))
    >>> half_widths(law, np.array([[1.0]]), np.array([[9]]), 0.95).round(1)      # deviation 13.4 · 3: Gaussian 78.9
    array([81.6])
    """
    return sizes_and_half_widths(law, weights, times, confidence)[1]


def mean_sizes(law: IndependentLaw, weights: Floats, times: Floats) -> Floats:
    """The mean of |X| for sums of noises, given as for `half_widths`; to about four digits."""
    return sizes_and_half_widths(law, weights, times, 0.95)[0]


def sizes_and_half_widths(
    law: IndependentLaw, weights: Floats, times: Floats, confidence: float
) -> tuple[Floats, Floats]:
    """Both of `mean_sizes` and `half_widths`, from one transform of each sum."""
    places = np.minimum(np.arange(POINTS), POINTS - np.arange(POINTS))
    means, halves = [], []
    for row, many in zip(np.atleast_2d(weights), np.atleast_2d(times), strict=True):
        density, deviation = _density(law, row, many)
        step = deviation / PER_DEVIATION
        added = step * SMOOTH**2 * density[0]  # what the noise added in thought adds, to first order
        means.append(float(places @ density) * step - added)
        inside = 2 * np.cumsum(density[: POINTS // 2]) - density[0]
        reached = int(np.searchsorted(np.maximum.accumulate(inside), confidence + BEYOND))
        binned = float(np.abs(row) @ many) * ((_width(law) - 1) / 2)
        binned += float(np.abs(row).max()) * (len(row) > FEW)  # what is left of a lattice, not looked at
        halves.append((reached + 0.5 + SPARED * SMOOTH) * step + binned if deviation else 0.0)
    return np.array(means), np.array(halves)


def beyond(law: IndependentLaw, weights: Floats, times: Floats, size: float) -> Floats:
    """The probability that sums of noises are larger than so much, to about three digits."""
    found = []
    for row, many in zip(np.atleast_2d(weights), np.atleast_2d(times), strict=True):
        density, deviation = _density(law, row, many)
        places = np.minimum(np.arange(POINTS), POINTS - np.arange(POINTS)) * (deviation / PER_DEVIATION)
        found.append(float(density[places > size].sum()))
    return np.array(found)


def _density(law: IndependentLaw, weights: Floats, times: Floats) -> tuple[Floats, float]:
    """The probabilities of X + sZ around the points 0, 1, ..., -2, -1 (a circle), and the deviation of X."""
    deviation = math.sqrt(law.mean("squared") * float(np.square(weights) @ times))
    if deviation == 0:
        return np.eye(1, POINTS)[0], 0.0
    frequencies = np.arange(POINTS // 2 + 1) * (2 * math.pi * PER_DEVIATION / (POINTS * deviation))
    found = np.exp(-np.square(frequencies * (SMOOTH * deviation / PER_DEVIATION)) / 2)
    used = (weights != 0) & (times != 0)
    sizes, many = np.abs(weights[used]), times[used]
    if len(sizes) <= FEW:
        for weight, count in zip(sizes.tolist(), many.tolist(), strict=True):
            found = found * _transform(law, weight * frequencies) ** count
        return np.fft.irfft(found, POINTS), deviation
    for start in range(0, len(found), CHUNK):
        here = slice(start, start + CHUNK)
        each = _transform(law, np.outer(sizes, frequencies[here]))
        product = np.prod(each if (many == 1).all() else each ** many[:, None], axis=0)
        found[here] *= product
        if np.abs(product).max() < NEGLIGIBLE:
            found[start + CHUNK :] = 0.0
            break
    return np.fft.irfft(found, POINTS), deviation


def _transform(law: IndependentLaw, t: Floats) -> Floats:
    """The characteristic function of one noise: periodic and even; listed, but of geometric noise a formula."""
    if isinstance(law.single, GeometricLaw):
        b = law.single.decay
        return np.asarray(1 / (1 + float(4 * b / (1 - b) ** 2) * np.square(np.sin(t / 2))))
    table, width = _table(law)
    around = np.abs((t * width / (2 * math.pi) + 0.5) % 1 - 0.5) * TABLE
    return np.asarray(np.interp(around, np.arange(len(table)), table))


def _width(law: IndependentLaw) -> int:
    """How many values of one noise are taken for one."""
    return 1 if isinstance(law.single, GeometricLaw) else _listed(law)[1]


@lru_cache(maxsize=16)
def _table(law: IndependentLaw) -> tuple[Floats, int]:
    chances, width = _listed(law)
    circle = np.zeros(TABLE)
    circle[: len(chances)] = chances
    circle[1 - len(chances) :] += chances[:0:-1]
    return np.asarray(np.fft.rfft(circle).real), width


@lru_cache(maxsize=16)
def _listed(law: IndependentLaw) -> tuple[Floats, int]:
    """The probabilities of the noises 0, 1, 2, ..., which are those of their opposites; in bins of odd width."""
    far = law.half_width(1 - 1e-12) + 2
    width = -(-far // MOST_VALUES)
    width += width % 2 == 0
    edges: Any = np.arange(-(-far // width) + 1) * width + (width + 1) // 2
    tails = np.asarray(law.tail(edges))
    return np.concatenate([[1 - 2 * tails[0]], tails[:-1] - tails[1:]]), width
