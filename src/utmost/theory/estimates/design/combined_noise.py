"""Quantiles and moments of weighted sums of one vector's noise, for estimates that are ratios of released integers.

To first order, the error of a variance, a covariance or a slope is c·N, with N the noise of the released integers and
weights c that depend on the truth. For any fixed c the law of c·N is known from the noise alone: `limits` bounds the
quantiles of |c·N|, `expected` gives its mean and mean square.

Independent noises are scaled, rounded to one grid and convolved. K-norm noise in three dimensions is cut into blocks.
Either way, what the discretisation can change is added to the limit, so a limit is at least the quantile.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import fftconvolve

from utmost.errors import InvalidInput
from utmost.exact.arrays import Floats
from utmost.mechanism.noise.balls import BallLaw
from utmost.mechanism.noise.independent import IndependentLaw

CELLS, BINS, FINE = 1024, 50, 4096
"""Cells of the grid for scaled noises; blocks of one coordinate of K-norm noise, to each side; bins of their sums."""
NODES = 64
"""Nodes of the quadrature rule."""
LEFT_OUT = 1e-9
"""The probability of noise beyond the grid, which counts as exceeding every limit."""


def limits(law: Any, weights: Floats, confidence: float) -> Floats:
    """For each row of weights c, a number that |c·N| exceeds with a probability of at most 1 - confidence.

    Parameters
    ----------
    law : IndependentLaw or BallLaw
        The noise N; a `BallLaw` must be one of three integers.
    weights : array of float
        One row for each sum, as many columns as the noise has integers.
    confidence : float
        A probability below 1.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from utmost.mechanism.noise.staircase import geometric_law
    >>> law = IndependentLaw(2, geometric_law(Fraction(9, 10)))
    >>> quantiles = limits(law, np.array([[1.0, 0.0], [1.0, 1.0]]), 0.95)
    >>> law.half_width(0.95), quantiles.round(1).tolist()
    (28, [28.1, 39.3])
    """
    return np.array([_limit(*_sizes(law, row), confidence) for row in np.atleast_2d(weights)])


def expected(law: Any, weights: Floats) -> dict[str, float]:
    """The mean of |c·N| and of its square, as losses "absolute" and "squared"; exact if only one weight is not 0."""
    nonzero = [float(weight) for weight in weights if weight]
    if len(nonzero) == 1:
        return {loss: abs(nonzero[0]) ** power * law.mean(loss) for loss, power in (("absolute", 1), ("squared", 2))}
    sizes, chances, _ = _sizes(law, np.asarray(weights, dtype=float))
    total = float(chances.sum())
    return {"absolute": float(sizes @ chances) / total, "squared": float(sizes**2 @ chances) / total}


def laplace_losses(scales: Sequence[float]) -> dict[str, float]:
    """The mean of |S| and of S^2 for a sum S of independent Laplace noises of these scales.

    E|S| is 2/pi times the integral of (1 - f(t))/t^2 over t > 0, f the product of 1/(1 + (scale t)^2); with
    t = v/(1 - v) times one over the largest scale, that of (1 - f)/v^2 over v from 0 to 1, by Gauss's rule.

    Examples
    --------
    >>> [round(laplace_losses(scales)["absolute"], 9) for scales in ([2], [1, 1], [1, 1, 1, 1])]
    [2.0, 1.5, 2.1875]
    """
    largest, squares = max(scales), [2 * scale**2 for scale in scales]
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    v = (1 + nodes) / 2
    product = np.prod([1 / (1 + (scale / largest * v / (1 - v)) ** 2) for scale in scales], axis=0)
    absolute = largest / np.pi * float(weights @ ((1 - product) / v**2))
    return {"absolute": absolute, "squared": sum(squares)}


def _limit(sizes: Floats, chances: Floats, spare: float, confidence: float) -> float:
    """The quantile of a discretised law, plus what the discretisation can add to it."""
    order = np.argsort(sizes)
    reached = int(np.searchsorted(np.cumsum(chances[order]), confidence + LEFT_OUT))
    return float(sizes[order[min(reached, len(order) - 1)]]) + spare


def _sizes(law: Any, weights: Floats) -> tuple[Floats, Floats, float]:
    """Values of |c·N| on a grid, their probabilities, and how far they may be from those of the noise itself."""
    if law.independent is not None:
        return _convolved(law, weights)
    if isinstance(law, BallLaw) and law.dimension == 3 and law.shape in ("any", "exchange"):
        return _in_blocks(law, weights)
    raise InvalidInput("sums of noises are known for independent noise, and for balls of three integers.")


def _convolved(law: IndependentLaw, weights: Floats) -> tuple[Floats, Floats, float]:
    """The law of |c·N| for independent noise: each c_i N_i is rounded to a grid, by at most half a step; convolved."""
    sizes = np.abs(weights[weights != 0])
    farthest = _far(law)
    if not sizes.size or farthest == 1:  # no noise: nothing is beyond 0
        return np.zeros(1), np.ones(1), 0.0
    step = float(sizes.max()) * farthest / CELLS
    masses = np.ones(1)
    for weight in sizes.tolist():
        cells = int(np.ceil(weight * farthest / step)) + 1
        ends = (np.arange(cells + 1) + 0.5) * (step / weight)
        edges = np.ceil(np.minimum(ends, 2.0**62)).astype(np.int64)  # N from here on is beyond
        above = law.tail(np.maximum(edges, 1))
        side_masses = -np.diff(above)
        masses = fftconvolve(masses, np.concatenate([side_masses[::-1], [1 - 2 * float(above[0])], side_masses]))
    places = (np.arange(len(masses)) - len(masses) // 2) * step
    return np.abs(places), np.maximum(masses, 0.0), step * len(sizes) / 2


@lru_cache(maxsize=16)
def _far(law: IndependentLaw) -> int:
    """The size beyond which one coordinate's noise is left out of the grid."""
    return law.half_width(1 - LEFT_OUT / 100) + 1


def _in_blocks(law: BallLaw, weights: Floats) -> tuple[Floats, Floats, float]:
    """The law of |c·N| for K-norm noise: blocks of noise, each at its middle; sums are put into bins."""
    middles, halves, masses = _blocks(law)
    terms = [weight * middles for weight in weights.tolist()]
    sizes = np.abs(terms[0][:, None, None] + terms[1][None, :, None] + terms[2][None, None, :]).ravel()
    largest = float(sizes.max())
    if largest == 0.0:
        return np.zeros(1), np.ones(1), 0.0
    bins = np.ceil(sizes * (FINE / largest)).astype(np.int64)
    spare = float(np.abs(weights).sum()) * float(halves.max())
    chances = np.asarray(np.bincount(bins, masses.ravel(), FINE + 1), dtype=np.float64)
    return np.linspace(0, largest, FINE + 1), chances, spare


@lru_cache(maxsize=4)
def _blocks(law: BallLaw) -> tuple[Floats, Floats, NDArray[Any]]:
    """The middles and half widths of the blocks of one coordinate, and the probabilities of all triples of blocks."""
    beyond = 1e-4
    farthest = law.half_width(1 - beyond)
    edges = np.unique(np.round(np.linspace(1, float(farthest + 1), BINS + 1)))  # whole numbers, beyond 64 bits as well
    half_line = (edges[:-1] + edges[1:] - 1) / 2
    middles = np.concatenate([-half_line[::-1], [0.0], half_line])
    counts = np.diff(edges)
    counts = np.concatenate([counts[::-1], [1.0], counts])
    up, down = np.maximum(middles, 0), np.maximum(-middles, 0)
    positive, negative = (side[:, None, None] + side[None, :, None] + side[None, None, :] for side in (up, down))
    norms = positive + negative if law.shape == "any" else np.maximum(positive, negative)
    steps = norms if law.period == 1 else np.floor(norms / law.period) + (norms % law.period >= law.upper)
    rate = np.log(float(law.decay)) if law.decay < 0.5 else np.log1p(-float(1 - law.decay))
    with np.errstate(under="ignore"):
        masses = np.exp(steps * rate) * counts[:, None, None] * counts[None, :, None] * counts[None, None, :]
    return middles, (counts - 1) / 2, masses * ((1 - 3 * beyond) / masses.sum())
