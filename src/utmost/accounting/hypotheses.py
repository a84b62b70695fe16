"""Hypothesis tests beyond two datasets: privacy regions over all neighbours, and between two sets of datasets.

LIM 2.2 describes privacy by the errors of a test between two neighbouring datasets. Here are the region of a mechanism
over all pairs of neighbours, which a level must contain; the least errors of a test between two composite hypotheses
(each error at the worst dataset of its set); and the list of levels that describes a composition (LIM (2.11)).
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
    """The privacy region of a mechanism: the convex hull of the tests between all neighbours, in both directions.

    The mechanism satisfies a level iff this lies inside the level's region (LIM Corollary 2.2.2).

    Parameters
    ----------
    mechanism : Mechanism
        With rows; its points are those of the space.
    space : Space
        The adjacency relation.

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

    A test decides from the output whether the dataset was one of `others`. Its false alarm is the largest over
    `points`, its missed detection the largest over `others`; the optimal tests are those between least favourable
    mixtures of the two sets. Corners are computed by linear programs, one for every direction of a side.

    Parameters
    ----------
    mechanism : Mechanism
        With finitely many outputs.
    points, others : iterable
        The datasets of the two hypotheses, not empty.

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
    first, second = (np.array([mechanism.row(point) for point in group]) for group in (points, others))
    if not first.size or not second.size:
        raise InvalidInput("both hypotheses need a dataset; name at least one of each.")
    left, right = (0.0, 1.0), (1.0, 0.0)
    corners = {left, right, *_corners_between(first, second, left, right)}
    return Region(lower_hull(np.array(sorted(corners))))


def _corners_between(
    first: Floats, second: Floats, left: tuple[float, float], right: tuple[float, float]
) -> set[tuple[float, float]]:
    """Corners of the boundary below the line from left to right, by recursive linear programs."""
    segments, corners = [(left, right)], set[tuple[float, float]]()
    while segments and len(corners) < MOST_CORNERS:
        a, b = segments.pop()
        weights = (a[1] - b[1], b[0] - a[0])  # the direction at a right angle to the line, downwards
        best = _best_test(first, second, *weights)
        if weights[0] * best[0] + weights[1] * best[1] < weights[0] * a[0] + weights[1] * a[1] - CLOSE:
            corners.add(best)
            segments += [(a, best), (best, b)]
    return corners


def _best_test(first: Floats, second: Floats, missed: float, alarm: float) -> tuple[float, float]:
    """The (missed detection, false alarm) with the least weighted sum, each at its worst dataset."""
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
    """LIM (2.11): the levels ((k − 2i)ε, 1 − (1 − δ)^k (1 − δ_i)), i = 0 to ⌊k/2⌋, that k releases at (ε, δ) satisfy.

    Together they are the exact region of the composition: `um.compose(level, times).region()`.

    Parameters
    ----------
    privacy : (epsilon, delta) level or number
        The level of every release; finite.
    times : int
        Number of releases.

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
    log_finite = k * math.log1p(-delta) if delta < 1 else -math.inf
    log_total = k * np.logaddexp(0.0, epsilon)
    levels = []
    for i in range(k // 2 + 1):
        lower = np.arange(i)
        binomials = np.array([math.lgamma(k + 1) - math.lgamma(j + 1) - math.lgamma(k - j + 1) for j in lower])
        excess = np.exp(binomials + (k - lower) * epsilon - log_total) - np.exp(
            binomials + (k - 2 * i + lower) * epsilon - log_total
        )
        share = float(excess.sum())
        levels.append(((k - 2 * i) * epsilon, -math.expm1(log_finite + math.log1p(-share)) if share < 1 else 1.0))
    return levels
