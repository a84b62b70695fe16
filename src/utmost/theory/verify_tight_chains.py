"""Chains of tight edges, which prove that a value is as high as the known points allow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from utmost.exact.arrays import Floats
from utmost.space.edge_levels import EdgeLevels
from utmost.space.sparse import csr_array, dijkstra

Carried: TypeAlias = Callable[[NDArray[Any], NDArray[Any]], Floats]
ATTAINED = 1e-9
"""The tolerance within which a value attains the bound carried to it, given rounding."""


def least_slack(levels: EdgeLevels, first: Floats, usable: NDArray[np.bool_], values: Carried) -> Floats:
    """The least sum of log(bound / value) over all chains that end at each point.

    A chain starts with `first` (infinity: none starts here) and runs along `usable` arcs, each adding the logarithm of
    how far the value at its head is below the bound that its tail carries there. `values(points, heads)` is the
    probability at some points of the event that counts at the heads. For a concave `upper` a value is at most e^slack
    times too small.
    """
    n = len(first)
    if not n:
        return np.zeros(0)
    arcs = levels.space.arcs
    tails, heads, edges = arcs.tails[usable], arcs.heads[usable], arcs.edges[usable]
    carried, value = levels.upper(edges, values(tails, heads)), values(heads, heads)
    with np.errstate(divide="ignore", invalid="ignore"):
        slack = np.where(carried > value, np.log(carried / value), 0.0)
    sources = np.flatnonzero(np.isfinite(first))
    starts = np.searchsorted(tails, np.arange(n + 1))
    graph = csr_array(
        (
            np.concatenate([slack, np.maximum(first[sources], 0.0)]),
            np.concatenate([heads, sources]).astype(np.int32),
            np.append(starts, len(heads) + len(sources)).astype(np.int32),
        ),
        shape=(n + 1, n + 1),
    )
    return np.asarray(dijkstra(graph, indices=n)[:n])


def gaps_left(right: Floats, slack: Floats, levels: EdgeLevels) -> tuple[Floats, bool]:
    """How far each value may be below the optimum, and whether all attain it; a value that no chain reaches must be 1.

    A pair that is not concave may stretch a slack along its chain, so there it must be of the size of rounding.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        gaps = np.where(np.isinf(slack), 1.0, np.minimum(1.0, right * np.exp(slack))) - right
    concave = all(level.concave for level in levels.kinds())
    straight = concave or float(slack[np.isfinite(slack)].max(initial=0.0)) <= 1e-12
    return gaps, bool(straight and gaps.max(initial=0.0) <= ATTAINED)
