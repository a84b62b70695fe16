"""Bounds carried along paths: the largest private function below given start values.

A bound alpha at a point becomes upper(alpha) at a neighbour; the bound at a point is the least one that any path
brings. Since upper(alpha) >= alpha and upper increases, Dijkstra's argument holds with the bound itself as length.

Every bound is kept twice, as p and as q = 1 - p, each computed on its own, so that both are accurate where they are
small: a privacy constraint compares small probabilities.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from utmost.privacy import ApproxDP
from utmost.space.edge_levels import EdgeLevels
from utmost.space.sparse import connected_components, csr_array, dijkstra

Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
Bounds: TypeAlias = tuple[Floats, Floats]

TWO_PASSES = "two shortest-path passes"
RELAXATION = "relaxation with a level per edge"


def carry(levels: EdgeLevels, start: Bounds, through: Mask) -> tuple[Bounds, str]:
    """The bounds that `start` implies at every point, along paths of points in `through`; and how they were found."""
    if not through.any():
        return start, TWO_PASSES
    shared = _shared_constant(levels)
    if shared is None:
        return _relax(levels, start, through), RELAXATION
    return _two_passes(levels, shared, start, through), TWO_PASSES


def _shared_constant(levels: EdgeLevels) -> float | None:
    """C = delta / (e^epsilon - 1) if it is the same on all edges and small enough to keep all digits, else None."""
    if not np.isfinite(levels.growth).all() or not np.isfinite(levels.delta).all():
        return None
    if not levels.delta.any():
        return 0.0
    level = levels.single
    if not isinstance(level, ApproxDP) or level.epsilon == 0:
        return None
    c = float(level.delta) / math.expm1(float(level.epsilon))
    return c if c <= 1 else None


def _two_passes(levels: EdgeLevels, c: float, start: Bounds, through: Mask) -> Bounds:
    """Growth, then saturation: along a path the two branches of `upper` never alternate (HET Theorem 3).

    Growth multiplies p + c by e^epsilon, saturation divides q + c by it, so in logarithms each is an ordinary shortest
    path. A start that no path improves is kept as it is, without the round trip through log and exp.
    """
    p, q = start
    n = len(p)
    arcs = levels.space.arcs
    usable = np.flatnonzero(through[arcs.tails] & through[arcs.heads])
    heads, lengths = arcs.heads[usable], levels.log_growth()[arcs.edges[usable]]
    starts = np.searchsorted(usable, arcs.starts).astype(np.int32)

    def shortest(first: Floats) -> tuple[Floats, Mask]:
        """The least first + length over all paths, and where the point's own start is the least."""
        seeds = np.flatnonzero(np.isfinite(first))
        if not len(seeds):
            return np.full(n, np.inf), np.ones(n, dtype=bool)
        least = first[seeds].min()
        graph = csr_array(
            (
                np.concatenate([lengths, first[seeds] - least]),
                np.concatenate([heads, seeds]).astype(np.int32),
                np.append(starts, len(heads) + len(seeds)).astype(np.int32),
            ),
            shape=(n + 1, n + 1),
        )
        found = dijkstra(graph, indices=n)[:n]
        return found + least, found >= first - least

    zero = through & (p == 0) & (c == 0)  # log 0: such a point forces 0 on all it reaches
    with np.errstate(divide="ignore"):
        if zero.any():
            graph = csr_array((np.ones(len(heads)), heads, starts.astype(np.int32)), shape=(n, n))
            component = connected_components(graph, directed=False)[1]
            zero = through & np.isin(component, component[zero])
        grown, own = shortest(np.where(through & (p < 1) & ~zero, np.log(p + c), np.inf))
        p1 = np.where(own, p, np.minimum(1.0, np.exp(np.minimum(grown, 1.0)) - c))
        q1 = np.where(own, q, 1 - p1)
        saturated, own = shortest(np.where(through & (q1 > 0) & ~zero, -np.log(q1 + c), np.inf))
        q2 = np.where(own, q1, np.maximum(0.0, np.exp(-saturated) - c))
        p2 = np.where(own, p1, 1 - q2)
    return np.where(zero, 0.0, p2), np.where(zero, 1.0, q2)


def _relax(levels: EdgeLevels, start: Bounds, through: Mask) -> Bounds:
    """Any suitable pair per edge: points whose bound fell pass it on, until none falls.

    The least bound over all paths, exactly as a heap would find it, but for many points at a time. It ends since a
    bound carried round a cycle never falls.
    """
    p, q = start[0].copy(), start[1].copy()
    arcs = levels.space.arcs
    active = np.flatnonzero(through & ((p < 1) | (q > 0)))
    while len(active):
        counts = arcs.starts[active + 1] - arcs.starts[active]
        offsets = np.repeat(arcs.starts[active] - (np.cumsum(counts) - counts), counts)
        out = offsets + np.arange(len(offsets))
        tails, heads, edges = np.repeat(active, counts), arcs.heads[out], arcs.edges[out]
        higher, lower = levels.upper(edges, p[tails]), levels.lower(edges, q[tails])
        better = through[heads] & ((higher < p[heads]) | (lower > q[heads]))
        heads, higher, lower = heads[better], higher[better], lower[better]
        np.minimum.at(p, heads, higher)
        np.maximum.at(q, heads, lower)
        active = np.unique(heads)
    return p, q
