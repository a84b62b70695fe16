"""Tests of what went into a mechanism, beyond two datasets: all neighbours at once, and sets against sets.

LIM 2.2 sees privacy as the errors of a test between two neighbouring datasets. Here are the region of a mechanism over
all pairs of neighbours, which is what a level must hold; the least errors of a test between two sets of datasets, which
must keep them whatever dataset of its set it is; and the list of promises that make up a composition (LIM (2.11)).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable

import numpy as np

from utmost.accounting.regions import Region, lower_hull, region_between
from utmost.errors import InvalidInput, SolverFailed
from utmost.exact import as_whole
from utmost.exact.arrays import Floats
from utmost.exact.citations import cites
from utmost.mechanism import Rows
from utmost.privacy import ApproxDP, Level, as_level
from utmost.space import Space

MOST_CORNERS = 200
CLOSE = 1e-9


@cites("LIM-corollary-2.2.2")
def region_of(mechanism: Rows, space: Space) -> Region:
    """The least convex region that holds the tests between all neighbours, in both directions.

    The mechanism keeps a level iff this lies inside the level's region (LIM Corollary 2.2.2).

    Parameters
    ----------
    mechanism : mechanism whose points are those of the space
    space : Space
        Who neighbours whom.

    Examples
    --------
    >>> import utmost as um
    >>> all_of_them = um.accounting.region_of(um.finite.geometric(4, 1.0), um.path(4))
    >>> all_of_them in um.accounting.region(1.0), all_of_them in um.accounting.region(0.9)
    (True, False)
    """
    corners = [np.array([[0.0, 1.0], [1.0, 0.0]])]
    for one, other in space.edges:
        corners += [region_between(mechanism, a, b).corners for a, b in ((one, other), (other, one))]
    return Region(lower_hull(np.concatenate(corners)))


def region_between_sets(mechanism: Rows, points: Iterable[Hashable], others: Iterable[Hashable]) -> Region:
    """The errors of tests between two sets of datasets: false alarms at the worst of `points`, misses of `others`.

    A test says from the output whether the dataset was one of `others`. Its false alarm is the largest over `points`,
    its missed detection the largest over `others`; the best such tests are those of least favourable mixtures of each
    set. Corners are found by linear programs, one for every direction in which the boundary turns.

    Parameters
    ----------
    mechanism : mechanism with finitely many outputs
    points, others : datasets of both hypotheses, not empty

    Examples
    --------
    >>> import utmost as um
    >>> noisy = um.finite.geometric(5, 1.0)
    >>> single = um.accounting.region_between_sets(noisy, [0], [4])
    >>> bool(abs(single.total_variation - um.accounting.region_between(noisy, 0, 4).total_variation) < 1e-9)
    True
    >>> print(um.accounting.region_between_sets(noisy, [0, 1], [2, 3, 4]))
    Region of 3 corners, total variation 0.462117
    """
    first, second = (np.array([mechanism.row(point) for point in some]) for some in (points, others))
    if not first.size or not second.size:
        raise InvalidInput("both hypotheses need a dataset; name at least one of each.")
    left, right = (0.0, 1.0), (1.0, 0.0)
    found = {left, right, *_corners_between(first, second, left, right)}
    return Region(lower_hull(np.array(sorted(found))))


def _corners_between(
    first: Floats, second: Floats, left: tuple[float, float], right: tuple[float, float]
) -> set[tuple[float, float]]:
    """Corners below the line from left to right: where the test best for its direction lies below it, look on."""
    todo, found = [(left, right)], set[tuple[float, float]]()
    while todo and len(found) < MOST_CORNERS:
        a, b = todo.pop()
        weights = (a[1] - b[1], b[0] - a[0])  # the direction at a right angle to the line, downwards
        best = _best_test(first, second, *weights)
        if weights[0] * best[0] + weights[1] * best[1] < weights[0] * a[0] + weights[1] * a[1] - CLOSE:
            found.add(best)
            todo += [(a, best), (best, b)]
    return found


def _best_test(first: Floats, second: Floats, missed: float, alarm: float) -> tuple[float, float]:
    """The (missed detection, false alarm) of a test with the least weighted sum of both, each at its worst dataset."""
    from scipy.optimize import linprog

    k = first.shape[1]  # variables: the probability of "others" at each output, then both errors
    upper = np.block(
        [
            [first, np.zeros((len(first), 1)), -np.ones((len(first), 1))],
            [-second, -np.ones((len(second), 1)), np.zeros((len(second), 1))],
        ]
    )
    limits = np.concatenate([np.zeros(len(first)), -np.ones(len(second))])
    cost = np.concatenate([np.zeros(k), [missed, alarm]])
    result = linprog(cost, upper, limits, bounds=(0, 1), method="highs")
    if result.x is None:
        raise SolverFailed(f"the linear program over tests failed: {result.message}")
    return float(result.x[k]), float(result.x[k + 1])


@cites("LIM-theorem-2.4.3")
def composed_levels(privacy: Level | float, times: int) -> list[tuple[float, float]]:
    """LIM (2.11): the ((k − 2i)ε, 1 − (1 − δ)^k (1 − δ_i)) that k releases at (ε, δ) keep, for i = 0 to ⌊k/2⌋.

    Together they are the exact region of the composition: `um.compose(level, times).region()`.

    Parameters
    ----------
    privacy : (epsilon, delta) level or number
        Of every release; finite.
    times : int
        How many releases there are.

    Examples
    --------
    >>> import utmost as um
    >>> for epsilon, delta in um.accounting.composed_levels(um.ApproxDP("0.1", "0.001"), 3):
    ...     print(f"{epsilon:.1f} {delta:.6f}")
    0.3 0.002997
    0.1 0.029146
    """
    level, k = as_level(privacy), as_whole(times, "times", 1)
    if not isinstance(level, ApproxDP) or math.isinf(level.log_growth):
        raise InvalidInput(f"the list is about finite (epsilon, delta) levels, not {level}; use um.compose.")
    epsilon, delta = level.log_growth, float(level.delta)
    kept = k * math.log1p(-delta) if delta < 1 else -math.inf
    whole = k * np.logaddexp(0.0, epsilon)
    found = []
    for i in range(k // 2 + 1):
        lower = np.arange(i)
        binomials = np.array([math.lgamma(k + 1) - math.lgamma(j + 1) - math.lgamma(k - j + 1) for j in lower])
        gained = np.exp(binomials + (k - lower) * epsilon - whole) - np.exp(
            binomials + (k - 2 * i + lower) * epsilon - whole
        )
        share = float(gained.sum())
        found.append(((k - 2 * i) * epsilon, -math.expm1(kept + math.log1p(-share)) if share < 1 else 1.0))
    return found
