"""Ranges of epsilon in which the binary mechanism, or randomised response, is optimal.

LIM Theorems 3.4.1, 3.4.4, 3.5.1 and 3.5.3 say that such ranges exist; here they are computed from the exact optimum, by
a scan over a grid and bisection at the last change. Between grid points nothing is proved.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from utmost.exact.bisection import narrow
from utmost.exact.citations import cites
from utmost.privacy import PureDP
from utmost.privacy.divergences import Chosen, as_divergence
from utmost.solution import proved_bound
from utmost.theory.local.design.alphabet import distributions, prior_of
from utmost.theory.local.design.information import as_problem, for_information, information, response_prices
from utmost.theory.local.design.partitions import best_cuts, blocks_of, by_ratio, value_of
from utmost.theory.local.design.simple import binary, binary_for_information, randomized_response
from utmost.theory.local.design.testing import divergence_of
from utmost.theory.local.patterns import offset

GRID = np.geomspace(0.01, 20, 60)
SAME = 1e-11
"""The relative difference below which two values count as equal: above rounding, below differences of order e^-20."""
NEAR = 1e-10
"""The relative accuracy of a threshold."""
PROVED = 1e-9
"""By how much, relatively, the bound on randomised response may exceed its value: the rounding that bounds include."""


@dataclass(frozen=True)
class Thresholds:
    """The ranges of epsilon in which the simple mechanisms are optimal, by a scan from 0.01 to 20 and bisection.

    Attributes
    ----------
    binary_until : float
        The binary mechanism is optimal up to this epsilon; 0 if not even at 0.01, infinity if everywhere.
    response_from : float
        Randomised response is optimal from this epsilon on; infinity if not even at 20.
    """

    binary_until: float
    response_from: float


@cites("LIM-theorem-3.4.1", "LIM-theorem-3.4.4")
def thresholds_for_testing(p0: ArrayLike, p1: ArrayLike, divergence: Chosen = "kl") -> Thresholds:
    """The ranges of epsilon in which simple mechanisms are optimal for testing (LIM Theorems 3.4.1, 3.4.4).

    Two letters with the same P0/P1 are better reported as one, so then randomised response is never optimal. Letters
    with P0 = P1 may lie on either side of the binary mechanism; the better side counts (LIM fixes one: see the errata).

    Examples
    --------
    >>> import utmost as um
    >>> um.local.thresholds_for_testing([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], "tv").binary_until
    inf
    """
    first, second = distributions(p0, p1)
    f = as_divergence(divergence)
    order = by_ratio(first, second)

    sidings = ((first, second), (second, first))  # letters with P0 = P1 on the one side, or on the other

    def best(epsilon: float) -> float:
        q = 1 / math.expm1(epsilon)
        cuts = best_cuts(first[order], second[order], f, q)
        return value_of(first, second, f, q, blocks_of(cuts, order))

    def binary_is_optimal(epsilon: float) -> bool:
        value = max(divergence_of(binary(*sides, PureDP(epsilon)), first, second, f) for sides in sidings)
        return value >= best(epsilon) * (1 - SAME)

    def response_is_optimal(epsilon: float) -> bool:
        value = divergence_of(randomized_response(len(first), PureDP(epsilon)), first, second, f)
        return value >= best(epsilon) * (1 - SAME)

    return _scan(binary_is_optimal, response_is_optimal)


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
    likely = weights[weights > 0]

    def response_is_optimal(epsilon: float) -> bool:
        if len(likely) in (1, len(weights)):
            prices = response_prices(likely, offset(PureDP(epsilon)))
            value = information(randomized_response(len(likely), PureDP(epsilon)), likely)
            return proved_bound(as_problem(likely, PureDP(epsilon)), {"prices": prices}) <= value * (1 + PROVED)
        return False  # a letter that never occurs takes a share of every answer

    def binary_is_optimal(epsilon: float) -> bool:
        value = information(binary_for_information(weights, PureDP(epsilon)), weights)
        return value >= for_information(weights, PureDP(epsilon)).value * (1 - SAME)

    return _scan(binary_is_optimal, response_is_optimal)


def _scan(binary_is_optimal: Callable[[float], bool], response_is_optimal: Callable[[float], bool]) -> Thresholds:
    """Scan up from the least epsilon while the binary mechanism is optimal, down from the largest for the response."""
    grid = GRID.tolist()
    first = next((i for i, e in enumerate(grid) if not binary_is_optimal(e)), len(grid))
    until = math.inf if first == len(grid) else 0.0
    if 0 < first < len(grid):
        until = narrow(lambda e: not binary_is_optimal(e), grid[first - 1], grid[first], relative=NEAR)[0]
    last = next((i for i in range(len(grid) - 1, -1, -1) if not response_is_optimal(grid[i])), -1)
    since = 0.0 if last < 0 else math.inf
    if 0 <= last < len(grid) - 1:
        since = narrow(response_is_optimal, grid[last], grid[last + 1], relative=NEAR)[0]
    return Thresholds(until, since)
