"""Where the simple mechanisms are optimal: up to which epsilon the binary one, from which on randomised response.

LIM Theorems 3.4.1, 3.4.4, 3.5.1 and 3.5.3 say that such epsilons exist; here they are found from the exact optimum, by
a scan over a grid and bisection at the last change. Between grid points nothing is proved.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from utmost.checking.partitions import best_cuts, blocks_of, by_ratio, value_of
from utmost.design.local.alphabet import distributions, prior_of
from utmost.design.local.information import for_information, information
from utmost.design.local.simple import binary, binary_for_information, randomized_response
from utmost.design.local.testing import divergence_of
from utmost.privacy import PureDP
from utmost.privacy.divergences import Chosen, as_divergence

GRID = np.geomspace(0.01, 20, 60)
SAME = 1e-11
"""Two values that agree to this, relative, count as one: above rounding, below what e^-20 makes of a difference."""


@dataclass(frozen=True)
class Thresholds:
    """Where the simple mechanisms are optimal, by a scan of epsilon from 0.01 to 20 and bisection.

    Attributes
    ----------
    binary_until : the binary mechanism is optimal up to here; 0 if not even at 0.01, infinity if everywhere
    response_from : randomised response is optimal from here on; infinity if not even at 20
    """

    binary_until: float
    response_from: float


def thresholds_for_testing(p0: ArrayLike, p1: ArrayLike, divergence: Chosen = "kl") -> Thresholds:
    """Where the simple mechanisms are optimal for telling two hypotheses apart (LIM Theorems 3.4.1, 3.4.4).

    Two letters with the same P0/P1 are better reported as one, so then randomised response never is optimal. Letters
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

    both = ((first, second), (second, first))  # letters with P0 = P1 on the one side, or on the other

    def best(epsilon: float) -> float:
        q = 1 / math.expm1(epsilon)
        cuts = best_cuts(first[order], second[order], f, q)
        return value_of(first, second, f, q, blocks_of(cuts, order))

    return _scan(
        best,
        lambda e: max(divergence_of(binary(*sides, PureDP(e)), first, second, f) for sides in both),
        lambda e: divergence_of(randomized_response(len(first), PureDP(e)), first, second, f),
    )


def thresholds_for_information(prior: ArrayLike) -> Thresholds:
    """Where the simple mechanisms are optimal for keeping information (LIM Theorems 3.5.1, 3.5.3).

    Examples
    --------
    >>> import utmost as um
    >>> found = um.local.thresholds_for_information([0.5, 0.3, 0.2])
    >>> round(found.binary_until, 4), round(found.response_from, 4)
    (0.8656, 0.8656)
    """
    weights = prior_of(prior)
    return _scan(
        lambda e: for_information(weights, PureDP(e)).value,
        lambda e: information(binary_for_information(weights, PureDP(e)), weights),
        lambda e: information(randomized_response(len(weights), PureDP(e)), weights),
    )


def _scan(
    best: Callable[[float], float], two: Callable[[float], float], response: Callable[[float], float]
) -> Thresholds:
    optimum = [best(e) for e in GRID.tolist()]

    def reached(simple: Callable[[float], float], epsilon: float, value: float | None = None) -> bool:
        return simple(epsilon) >= (best(epsilon) if value is None else value) * (1 - SAME)

    up = [reached(two, e, v) for e, v in zip(GRID.tolist(), optimum, strict=True)]
    until = math.inf if all(up) else 0.0
    if not all(up) and up[0]:
        i = up.index(False)
        until = _bisect(lambda e: reached(two, e), float(GRID[i - 1]), float(GRID[i]))
    on = [reached(response, e, v) for e, v in zip(GRID.tolist(), optimum, strict=True)]
    since = 0.0 if all(on) else math.inf
    if not all(on) and on[-1]:
        i = len(on) - 1 - on[::-1].index(False)
        since = _bisect(lambda e: not reached(response, e), float(GRID[i]), float(GRID[i + 1]))
    return Thresholds(until, since)


def _bisect(holds: Callable[[float], bool], low: float, high: float) -> float:
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
