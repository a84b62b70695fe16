"""Nested counts (of conditions that imply each other) from noise on the disjoint cells between them.

The rows of a condition are those of the innermost one, plus those between it and the next, and so on. A row is in at
most one of these cells but may be in all of the counts, so cells need little noise, and the error of a count made of m
cells is a sum of m independent noises. Its law is a convolution, computed by Fourier transforms of the law of one noise
on a circle so wide that wrapping around is below floating-point precision.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from utmost.errors import UnsupportedLevel
from utmost.exact import Number, as_rational
from utmost.exact.arrays import Floats
from utmost.mechanism.noise.carried import SPARE, CarriedLaw
from utmost.mechanism.noise.law import NoiseLaw
from utmost.privacy import Level
from utmost.space.integers import Lattice
from utmost.space.line import tolerance
from utmost.theory.vector.design.vectors import best_vector_noise
from utmost.theory.workload.design.prefix_noise import carried_losses

MOST_LISTED, MOST_CONVOLVED, MOST_TOGETHER = 2**20, 2**19, 2**24
"""Longest list of the values of a sum for its mean, for its interval (above, in wider bins), and of all sums."""
MOST_DIRECT = 100
"""Up to this many counts noise on the counts themselves is tried; with more, noise on cells is always better."""


def cells_or_counts(cells: Lattice, counts: Lattice, level: Level, loss: str = "absolute") -> tuple[Lattice, Any]:
    """The better of noise on cells, which are then summed, and noise on the counts themselves.

    Parameters
    ----------
    cells : Lattice
        The cells between nested conditions, the innermost first, and what one neighbour does to them.
    counts : Lattice
        The running sums of the cells, and what one neighbour does to these.
    level : Level
        PureDP, ApproxDP, GaussianDP, ZCDP, or knots.
    loss : "absolute", "squared", "zero-one" or "within k"
        The loss of one count; its average over all counts is minimised.

    Returns
    -------
    (Lattice, law)
        The space that is better, `cells` or `counts`, and the law of its noise.

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> cells, counts = Lattice(10, "any", 1, 0, 20_000), Lattice(10, "one-way", 1, 0, 20_000)
    >>> space, noise = cells_or_counts(cells, counts, PureDP(1))
    >>> space == cells, round(sum_losses(noise, ["absolute"])["absolute"], 4)
    (True, 2.3215)
    """
    noise_on_cells = None
    with suppress(UnsupportedLevel):
        noise_on_cells = best_vector_noise(cells, level, loss, True)
    if cells.dimension <= MOST_DIRECT or noise_on_cells is None:
        limit = math.inf if noise_on_cells is None else sum_losses(noise_on_cells, (loss,))[loss]
        noise_on_counts = best_vector_noise(counts, level, loss, limit=limit)
        if noise_on_cells is None or limit > noise_on_counts.mean(loss):
            return counts, noise_on_counts
    return cells, noise_on_cells


def sum_losses(law: NoiseLaw, losses: Sequence[str], last: bool = False) -> dict[str, float]:
    """Expected losses of running sums of independent noises: averaged over all of them, or of the last one.

    Parameters
    ----------
    law : NoiseLaw
        The noise on the cells.
    losses : list of "absolute", "squared", "zero-one" or "within k"
    last : bool
        Whether only the sum of all noises counts, which has the largest error.

    Examples
    --------
    >>> from utmost.mechanism.noise.independent import IndependentLaw
    >>> from utmost.mechanism.noise.staircase import geometric_law
    >>> law = IndependentLaw(2, geometric_law(Fraction(1, 3)))
    >>> sum_losses(law, ["squared"]), round(sum_losses(law, ["absolute"])["absolute"], 6)
    ({'squared': 2.25}, 0.984375)
    """
    if isinstance(law, CarriedLaw):
        return {loss: carried_losses(law, loss, last) for loss in losses}
    d = law.dimension
    means = {}
    for loss in losses:
        if loss == "squared":
            means[loss] = law.mean(loss) * (d if last else (d + 1) / 2)
        else:
            places, chances, width = _law_of_sum(law, last)
            means[loss] = float(chances @ _loss_in_bins(loss, places, width))
    return means


@lru_cache(maxsize=64)
def sum_half_widths(law: NoiseLaw, confidence: Number) -> tuple[int, ...]:
    """For the sum of 1, 2, ... of the noises, the half-width n of its interval: |sum| <= n with this probability.

    The least such n, computed in floats with a little to spare. Where noise is wide and there are many noises, only
    some sums are computed, and one in between gets the n of the next longer one: adding symmetric unimodal noise never
    makes |sum| <= n likelier. Noise so wide that its law is listed in bins adds half a bin each.

    Examples
    --------
    >>> from utmost.mechanism.noise.independent import IndependentLaw
    >>> from utmost.mechanism.noise.staircase import geometric_law
    >>> sum_half_widths(IndependentLaw(3, geometric_law(Fraction(1, 3))), 0.95)
    (3, 4, 4)
    """
    if isinstance(law, CarriedLaw):
        return law.half_widths(confidence)
    share = float(as_rational(confidence, "the confidence")) + SPARE
    chances, width = _law_on_circle(law, MOST_CONVOLVED, 7.0, 10**10)
    growth = np.fft.rfft(chances).real
    looked_at = max(64, MOST_TOGETHER // len(chances))
    every = np.arange(1, law.dimension + 1)
    some = every if len(every) <= looked_at else np.unique(np.ceil(np.geomspace(1, len(every), looked_at)).astype(int))
    widths, power, last = [], growth, 1
    for m in some.tolist():
        power = power * growth if m == last + 1 else growth**m
        last = m
        law_of_sum = np.fft.irfft(power, len(chances))[: len(chances) // 2]
        within = 2 * np.cumsum(law_of_sum) - law_of_sum[0]
        n = int(np.searchsorted(np.maximum.accumulate(within), share))
        widths.append(n * width + m * (width // 2))
    widths[0] = law.half_width(confidence)
    return tuple(widths[place] for place in np.searchsorted(some, every).tolist())


@lru_cache(maxsize=8)
def sum_mean_sizes(law: NoiseLaw) -> tuple[float, ...]:
    """The mean absolute value of the sum of 1, 2, ... of the noises.

    Examples
    --------
    >>> from utmost.mechanism.noise.independent import IndependentLaw
    >>> from utmost.mechanism.noise.staircase import geometric_law
    >>> [round(size, 6) for size in sum_mean_sizes(IndependentLaw(2, geometric_law(Fraction(1, 3))))]
    [0.75, 1.21875]
    """
    chances, width = _law_on_circle(law, MOST_CONVOLVED, 10.0, 10**15)
    growth, n = np.fft.rfft(chances).real, len(chances)
    places = (np.arange(n) + n // 2) % n - n // 2
    weights = np.fft.rfft(_loss_in_bins("absolute", places.astype(float), width)).real / n
    weights[1:-1] *= 2  # the other frequencies mirror these
    sizes, power = [], np.ones_like(growth)
    for _ in range(law.dimension):
        power = power * growth
        sizes.append(float(weights @ power))
    return tuple(sizes)


@lru_cache(maxsize=8)
def _law_of_sum(law: NoiseLaw, last: bool) -> tuple[Floats, Floats, int]:
    """(places in bins, probabilities, bin width) of the sum of all noises, or averaged over all running sums."""
    d = law.dimension
    chances, width = _law_on_circle(law, MOST_LISTED, 10.0, 10**15)
    growth = np.fft.rfft(chances).real
    if last:
        power = growth**d
    else:  # the mean of g, g^2, ..., g^d
        apart = 1 - growth
        degenerate = apart < 1e-12
        power = np.where(degenerate, 1.0, growth * (1 - growth**d) / (d * np.where(degenerate, 1.0, apart)))
    n = len(chances)
    places = (np.arange(n) + n // 2) % n - n // 2
    return places.astype(float), np.fft.irfft(power, n), width


def _law_on_circle(law: NoiseLaw, most_bins: int, deviations: float, rare: int) -> tuple[Floats, int]:
    """The law of one noise on a circle, in bins of odd width, and that width.

    Half the circle covers so many standard deviations of the sum of all, and what one noise exceeds once in `rare`
    times.
    """
    deviation = math.sqrt(law.mean("squared"))
    radius = deviations * deviation * math.sqrt(law.dimension) + law.half_width(1 - Fraction(1, rare)) + 2
    width = math.ceil(2 * radius / most_bins)
    width += width % 2 == 0
    n = 1 << max(4, math.ceil(math.log2(2 * radius / width)))
    half = n // 2
    tails = np.asarray(law.tail(np.arange(half + 1) * width + (width + 1) // 2))  # beyond the bins 0, 1, 2, ...
    right = tails[:-1] - tails[1:]
    chances = np.zeros(n)
    chances[0] = 1 - 2 * tails[0]
    chances[1 : half + 1] = right
    chances[half + 1 :] = right[: half - 1][::-1]
    return chances, width


def _loss_in_bins(loss: str, places: Floats, width: int) -> Any:
    """The mean loss in each bin."""
    half, middles = width // 2, places * width
    if loss == "absolute":
        return np.where(places == 0, half * (half + 1) / width, np.abs(middles))
    k = tolerance(loss)
    free = np.minimum(middles + half, k) - np.maximum(middles - half, -k) + 1
    return 1 - np.maximum(free, 0) / width
