"""A bound on every private mechanism, on any graph: pairs of neighbours across the border between two answers.

Let u and v be neighbours with different truths, a the truth of one of them, and p, q the probabilities of a at u and v.
Privacy confines (p, q) to a region with few corners: (0, 0), (1, 1), and the two where one of them is as large and the
other as small as the level of the edge allows. The error probability of a point x whose truth is a is at least
e^-D(x, u) (1 - p), or e^-D(x, v) (1 - q); that of one with another truth at least e^-D(x, u) p, or e^-D(x, v) q; D is
the sum of epsilons along a path. So the total error of all points assigned to this pair is at least a linear function
of (p, q), which is least at a corner. Every point is assigned to the nearest pair; pairs share no point.

At levels that are not pure only the two points of each pair are counted, with equal weights: the sum of their errors is
at least twice the error of the balanced mechanism, since upper functions are concave and their own mirror images.
"""

from __future__ import annotations

import numpy as np

from utmost.errors import InvalidInput
from utmost.exact.arrays import Floats, Integers
from utmost.privacy import ApproxDP
from utmost.space.edge_levels import EdgeLevels
from utmost.space.sparse import dijkstra

ROUNDING = 1e-9
"""The relative rounding error of sums of lengths and exponentials."""


def border_bound(levels: EdgeLevels, region: Integers, prior: Floats, pairs: Integers) -> float:
    """Upper bound on the probability of the truth for private mechanisms, from disjoint pairs given by their edges."""
    ends = levels.space.edge_indices[pairs]
    if len(np.unique(ends)) < ends.size or (region[ends[:, 0]] == region[ends[:, 1]]).any():
        raise InvalidInput("a bound by pairs needs neighbours with different truths, no point in two pairs.")
    if not len(pairs):
        return 1.0
    most, least = levels.even_shares(pairs)
    if all(isinstance(level, ApproxDP) and level.delta == 0 for level in levels.kinds()):
        errors = _errors_around(levels, region, prior, ends, most, least)
    elif all(level.concave for level in levels.kinds()):
        errors = 2 * least * prior[ends].min(axis=1)
    else:
        raise InvalidInput("a bound by pairs needs concave levels.")
    return float(1 - errors.sum() * (1 - ROUNDING))


def _errors_around(
    levels: EdgeLevels, region: Integers, prior: Floats, ends: Integers, most: Floats, least: Floats
) -> Floats:
    """For each pair, a lower bound on the error probability of all points assigned to it, under the prior."""
    number, side = np.full(len(region), -1), np.zeros(len(region), dtype=np.int64)
    number[ends] = np.arange(len(ends))[:, None]
    side[ends[:, 1]] = 1
    graph = levels.space.graph(np.maximum(levels.log_growth(), 1e-300))  # 0 would be no edge at all
    length, _, nearest = dijkstra(graph, indices=ends.ravel(), min_only=True, return_predecessors=True)
    reached = np.flatnonzero(np.isfinite(length))
    group, at = number[nearest[reached]], side[nearest[reached]]
    discounted_prior = prior[reached] * np.exp(-length[reached])

    def least_error(of: int) -> Floats:
        """The least error over the corners, with a the truth of the first or of the second point of each pair."""
        has_truth = region[reached] == region[ends[group, of]]
        right, wrong = (
            np.stack(
                [
                    np.bincount(group, discounted_prior * (at == place) * (has_truth == match), len(ends))
                    for place in (0, 1)
                ]
            )
            for match in (True, False)
        )
        corners = ((0.0 * most, 0.0 * most), (0.0 * most + 1, 0.0 * most + 1), (most, least), (least, most))
        errors = np.min(
            [right[0] * (1 - p) + right[1] * (1 - q) + wrong[0] * p + wrong[1] * q for p, q in corners], axis=0
        )
        return np.asarray(errors)

    return np.maximum(least_error(0), least_error(1))
