"""Ranges of epsilon in which the binary mechanism, or randomised response, is optimal.

LIM Theorems 3.4.1, 3.4.4, 3.5.1 and 3.5.3 say that such ranges exist. At a given epsilon the sign of exact conditions
decides whether a simple mechanism is optimal (`sign_conditions`); the end of a range is where such a sign changes,
bracketed on a grid and narrowed by bisection. That the sign does not change twice between grid points is not proved.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from utmost.exact import as_rational
from utmost.exact.arrays import Floats
from utmost.exact.bisection import narrow
from utmost.exact.citations import cites
from utmost.privacy import PureDP
from utmost.privacy.divergences import Chosen, Divergence, as_divergence
from utmost.solution import proved_bound
from utmost.theory.local.design.alphabet import distributions, prior_of
from utmost.theory.local.design.information import as_problem, for_information, information, response_prices
from utmost.theory.local.design.partitions import best_cuts, blocks_of, by_ratio, value_of
from utmost.theory.local.design.sign_conditions import (
    binary_is_best,
    enclosed_perspective,
    response_is_best,
    response_is_most_informative,
)
from utmost.theory.local.design.simple import binary_for_information, randomized_response
from utmost.theory.local.patterns import information_of, offset, subset_sums

LEAST, MIDDLE, LARGEST = 1e-6, 20.0, 2000.0
"""The grid: from `LEAST` to `MIDDLE`, and on to `LARGEST` where a range ends beyond; no pair of floats needs more."""
STEP = 1.15
"""The ratio of neighbouring epsilons on the grid."""
SAME, CLEAR = 1e-11, 1e-9
"""Relative differences in floating point: values that differ by less are equal, and those that do by more are not."""
NEAR = 1e-10
"""The relative accuracy of a threshold."""
MOST_LETTERS, MOST_ENUMERATED = 300, 20
"""Up to how many letters signs are decided in ball arithmetic: contiguous blocks, all sets of letters."""


@dataclass(frozen=True)
class Thresholds:
    """The ranges of epsilon in which the simple mechanisms are optimal.

    Attributes
    ----------
    binary_until : float
        The binary mechanism is optimal up to this epsilon; 0 if not even at 1e-6 (0.01 for information), infinity if
        everywhere.
    response_from : float
        Randomised response is optimal from this epsilon on; infinity if nowhere.
    """

    binary_until: float
    response_from: float


@cites("LIM-theorem-3.4.1", "LIM-theorem-3.4.4")
def thresholds_for_testing(p0: ArrayLike, p1: ArrayLike, divergence: Chosen = "kl") -> Thresholds:
    """The ranges of epsilon in which simple mechanisms are optimal for testing (LIM Theorems 3.4.1, 3.4.4).

    Two letters with the same P0/P1 are better reported as one, so then randomised response is never optimal. Letters
    with P0 = P1 may lie on either side of the binary mechanism; the better side counts (LIM fixes one: see the errata).

    Parameters
    ----------
    p0, p1 : array of float
        The distributions of a person's letter under the two hypotheses; floats mean their shortest decimals. Up to 300
        letters optimality is decided in ball arithmetic, beyond in floating point.
    divergence : str or callable
        As in `for_testing`; with a function of your own optimality is decided in floating point.

    Returns
    -------
    Thresholds
        `binary_until` is never below `universal_epsilon`.

    Examples
    --------
    >>> import utmost as um
    >>> um.local.thresholds_for_testing([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], "tv").binary_until
    inf
    >>> nearly = um.local.thresholds_for_testing([0.3, 0.30001, 0.39999], [0.1, 0.1, 0.8])
    >>> round(nearly.response_from, 5)
    23.45766
    """
    first, second = distributions(p0, p1)
    f, k = as_divergence(divergence), len(first)
    if np.array_equal(first, second):
        return Thresholds(math.inf, 0.0)  # no mechanism separates the hypotheses
    shares = [p / (p + r) if p + r else Fraction(-1) for p, r in zip(*map(_rationals, (first, second)), strict=True)]
    order = sorted(range(k), key=lambda i: shares[i])
    a, b = first[order], second[order]
    phi = enclosed_perspective(f.name) if k <= MOST_LETTERS else None
    sides = {int(np.count_nonzero(a < b)), int(np.count_nonzero(a <= b))}  # with P0 = P1 on the one side or the other

    def value(ends: ArrayLike, q: float) -> float:
        return value_of(a, b, f, q, blocks_of(np.asarray(ends), np.arange(k)))

    def binary_is_optimal(epsilon: float) -> bool:
        q = offset(PureDP(epsilon))
        own = max(value(np.unique([cut, k])[-2 if cut else -1 :], q) for cut in sides)
        best = value(best_cuts(a, b, f, q), q)
        if own < best * (1 - CLEAR) or phi is None:
            return own >= best * (1 - SAME)
        return binary_is_best(a, b, phi, epsilon, sides)

    def response_is_optimal(epsilon: float) -> bool:
        q = offset(PureDP(epsilon))
        own, best = value(np.arange(1, k + 1), q), value(best_cuts(a, b, f, q), q)
        if own < best * (1 - CLEAR) or phi is None:
            return own >= best * (1 - SAME)
        return response_is_best(a, b, phi, epsilon, _rounded_margins(a, b, f, q))

    tied = len(set(shares)) < k or Fraction(-1) in shares  # a letter that never occurs takes a share of every answer
    safe = universal_epsilon(first, second)
    until = math.inf if math.isinf(safe) else _until(binary_is_optimal, max(safe, LEAST))
    return Thresholds(until if until >= LEAST else 0.0, math.inf if tied else _since(response_is_optimal))


@cites("LIM-theorem-3.4.1")
def universal_epsilon(p0: ArrayLike, p1: ArrayLike) -> float:
    """The largest epsilon at which the binary mechanism is best for every f-divergence at once (LIM Theorem 3.4.1).

    Every f-divergence is largest for one mechanism if and only if its tests dominate all others' (Blackwell): the
    points (M1(A), M0(A)) of randomised response on any set A must lie below the two straight lines through that of
    T = {P0 > P1}. For sets A of larger P0/P1 than T's that is, with w = e^eps - 1 and D(A) = P0(A) - P1(A),

        w · (P0(A) P1(T) - P1(A) P0(T)) <= D(T) - D(A),

    and the same for the complements of the sets that contain T. Each is linear in w, so what holds at one epsilon holds
    at every smaller one, and the least of the k limits is the largest epsilon of LIM's Lemma B.4.1: exact, no scan.

    Parameters
    ----------
    p0, p1 : array of float
        The distributions of a person's letter under the two hypotheses.

    Returns
    -------
    float
        The epsilon; infinity where the binary mechanism is always best. With a letter at which P0 = P1 > 0 it is 0: on
        either side of T it serves another divergence, so LIM's theorem needs that there is none (see the errata).

    Examples
    --------
    >>> import utmost as um
    >>> round(um.local.universal_epsilon([0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]), 9)
    1.098612289
    >>> um.local.thresholds_for_testing([0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]).binary_until > 1.0986
    True
    """
    first, second = distributions(p0, p1)
    if np.array_equal(first, second):
        return math.inf  # no test separates the hypotheses
    likely = first + second > 0
    limit = math.inf
    for a, b in ((first[likely], second[likely]), (second[likely], first[likely])):
        order = by_ratio(a, b)[::-1]  # by falling a/b
        inside, outside = np.cumsum(a[order]), np.cumsum(b[order])
        lead = inside - outside
        last = int(np.count_nonzero(a > b)) - 1  # T is the letters with a > b: sets within it, by the same order
        for i in range(last):
            bend = inside[i] * outside[last] - outside[i] * inside[last]
            if bend > 0:
                limit = min(limit, max(float(lead[last] - lead[i]), 0.0) / float(bend))
    tied = bool(((first == second) & (first > 0)).any())
    return 0.0 if tied else math.log1p(limit)


@cites("LIM-theorem-3.5.1", "LIM-theorem-3.5.3")
def thresholds_for_information(prior: ArrayLike) -> Thresholds:
    """The ranges of epsilon in which simple mechanisms maximise mutual information (LIM Theorems 3.5.1, 3.5.3).

    Randomised response is optimal if and only if the only prices that can prove it (LIM (B.54)) do. Up to 20 letters
    that is decided over all patterns; beyond, `response_from` is where a relaxation proves it, and `binary_until`
    compares with the best mechanism found.

    Parameters
    ----------
    prior : sequence of numbers
        The probability of every letter, at most 400 of them unless they are all equal.

    Examples
    --------
    >>> import utmost as um
    >>> ranges = um.local.thresholds_for_information([0.5, 0.3, 0.2])
    >>> round(ranges.binary_until, 4), round(ranges.response_from, 4)
    (0.8656, 0.8656)
    """
    weights = prior_of(prior)
    k = len(weights)

    def response_is_optimal(epsilon: float) -> bool:
        q = offset(PureDP(epsilon))
        if k > MOST_ENUMERATED:
            prices = response_prices(weights, q)
            value = information(randomized_response(k, PureDP(epsilon)), weights)
            return proved_bound(as_problem(weights, PureDP(epsilon)), {"prices": prices}) <= value * (1 + CLEAR)
        single = information_of(weights, q)
        value = math.fsum(single) / (1 + k * q)
        sizes = subset_sums(np.ones(k)) - 1
        margins = subset_sums(single) - information_of(np.minimum(subset_sums(weights), 1.0), q) - sizes * q * value
        if (margins < -CLEAR * value).any():
            return False
        return response_is_most_informative(weights, epsilon, margins / value)

    def binary_is_optimal(epsilon: float) -> bool:
        value = information(binary_for_information(weights, PureDP(epsilon)), weights)
        return value >= for_information(weights, PureDP(epsilon)).value * (1 - SAME)

    if (weights == 1).any():
        return Thresholds(math.inf, 0.0)  # nothing to tell
    # a letter that never occurs takes a share of every answer
    since = math.inf if (weights == 0).any() else _since(response_is_optimal)
    return Thresholds(_until(binary_is_optimal, 0.01), since)


def _rationals(probabilities: Floats) -> list[Fraction]:
    return [as_rational(p) for p in probabilities.tolist()]


def _rounded_margins(p0: Floats, p1: Floats, divergence: Divergence, q: float) -> Floats:
    """The margins of the condition that `response_is_best` decides, divided by the value, in floating point."""
    k = len(p0)
    sums = [np.append(0.0, np.cumsum(values)) for values in (p0, p1, p0 - p1)]
    first, second, gap = (s[None, 1:] - s[:-1, None] for s in sums)
    with np.errstate(all="ignore"):
        together = divergence.perspective(np.maximum(q + first, 0), np.maximum(q + second, 0), gap)
        single = np.append(0.0, np.cumsum(divergence.perspective(q + p0, q + p1, p0 - p1)))
        value = single[-1] / (1 + k * q)
        sizes = np.arange(k)[None, :] - np.arange(k)[:, None]
        return np.asarray((single[None, 1:] - single[:-1, None] - together - sizes * q * value) / value)


def _until(is_optimal: Callable[[float], bool], start: float) -> float:
    """Up to where a mechanism is optimal that is so at small epsilons; below `start` if not even there."""
    if not is_optimal(start):
        return 0.0
    grid = [start, *_grid(start, MIDDLE)]
    first = next((i for i, e in enumerate(grid) if not is_optimal(e)), len(grid))
    if first == len(grid):
        if is_optimal(LARGEST):
            return math.inf
        grid += _grid(MIDDLE, LARGEST)
        first = next(i for i in range(first, len(grid)) if not is_optimal(grid[i]))
    return narrow(lambda e: not is_optimal(e), grid[first - 1], grid[first], relative=NEAR)[0]


def _since(is_optimal: Callable[[float], bool]) -> float:
    """From where on a mechanism is optimal that is so at large epsilons; infinity if it is not even at `LARGEST`."""
    if is_optimal(MIDDLE):
        grid = [LEAST, *_grid(LEAST, MIDDLE)]
        last = next((i for i in range(len(grid) - 1, -1, -1) if not is_optimal(grid[i])), -1)
        if last < 0:
            return 0.0
    else:
        if not is_optimal(LARGEST):
            return math.inf
        grid = [MIDDLE, *_grid(MIDDLE, LARGEST)]
        last = next(i for i in range(len(grid)) if is_optimal(grid[i])) - 1
    return narrow(is_optimal, grid[last], grid[last + 1], relative=NEAR)[1]


def _grid(low: float, high: float) -> list[float]:
    """Epsilons above `low` and up to `high`, each `STEP` times the one before or less."""
    count = max(1, math.ceil(math.log(high / low) / math.log(STEP)))
    return [low * (high / low) ** (i / count) for i in range(1, count)] + [high] if low < high else []
