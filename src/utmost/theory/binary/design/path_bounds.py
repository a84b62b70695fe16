"""Bounds carried along paths: the largest private function below given start values.

A bound alpha at a point becomes upper(alpha) at a neighbour; the bound at a point is the least over all paths. Since
upper(alpha) >= alpha and upper increases, Dijkstra's argument holds with the bound itself as length.

Every bound is stored twice, as p and as q = 1 - p, so that both are accurate where they are small: a privacy constraint
compares small probabilities. A step computes both from the small one, and no positive one underflows to 0
(`exact.without_underflow`).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from utmost.exact import LEAST, to_float, without_underflow
from utmost.exact.arrays import Floats
from utmost.exact.citations import cites
from utmost.privacy import ApproxDP, GaussianDP, as_quantile
from utmost.solution.sentences import ONE_PASS, RELAXATION, TWO_PASSES
from utmost.space.edge_levels import EdgeLevels
from utmost.space.sparse import connected_components, csr_array, dijkstra

Mask: TypeAlias = NDArray[np.bool_]
Bounds: TypeAlias = tuple[Floats, Floats]
Shortest: TypeAlias = Callable[[Floats], tuple[Floats, Mask]]

WIDE = 64
"""Fronts of at least this many points are relaxed together; narrower ones through a heap."""


@cites("BIN-definition-9", "HET-theorem-4", "HET-algorithm-1", "HET-lemma-2")
def carry(levels: EdgeLevels, start: Bounds, through: Mask) -> tuple[Bounds, str]:
    """The bounds that `start` implies at every point, along paths within `through`; and the method in words.

    O((V + E) log V) for any levels: an ordinary shortest path for Gaussian levels, two for pure ones and for one
    (epsilon, delta) on all edges, and otherwise `_relax`.
    """
    if not through.any():
        return start, TWO_PASSES
    if all(isinstance(level, GaussianDP) and level.keeps_positive for level in levels.kinds()):
        shifts = np.array([to_float(level.mu) for level in levels.kinds() if isinstance(level, GaussianDP)])
        return _one_pass(levels, shifts[levels.numbers()], start, through), ONE_PASS
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


def _one_pass(levels: EdgeLevels, shifts: Floats, start: Bounds, through: Mask) -> Bounds:
    """Bounds under Gaussian levels, which add mu to the quantile of any bound: one shortest path."""
    from scipy.special import ndtr

    p, q = start
    shortest, zero = _paths(levels, shifts, through, through & (p == 0))
    quantile, unimproved = shortest(np.where(through & (q > 0) & ~zero, as_quantile(p, q), np.inf))
    reached = np.isfinite(quantile)
    p1, q1 = (np.where(unimproved, x, without_underflow(ndtr(z), reached)) for x, z in ((p, quantile), (q, -quantile)))
    return np.where(zero, 0.0, p1), np.where(zero, 1.0, q1)


@cites("HET-theorem-2", "HET-theorem-3", "HET-corollary-1", "HET-lemma-3")
def _two_passes(levels: EdgeLevels, c: float, start: Bounds, through: Mask) -> Bounds:
    """Growth, then saturation: along a path the two branches of `upper` never alternate (HET Theorem 3).

    Growth multiplies p + c by e^epsilon, saturation divides q + c by it, so in logarithms each is an ordinary shortest
    path. A start that no path improves is returned unchanged, without the round trip through log and exp.
    """
    p, q = start
    shortest, zero = _paths(levels, levels.log_growth(), through, through & (p == 0) & (c == 0))
    with np.errstate(divide="ignore"):
        grown, unimproved = shortest(np.where(through & (p < 1) & ~zero, np.log(p + c), np.inf))
        p1 = np.where(unimproved, p, np.minimum(1.0, np.exp(np.minimum(grown, 1.0)) - c))
        q1 = np.where(unimproved, q, 1 - p1)
        saturated, unimproved = shortest(np.where(through & (q1 > 0) & ~zero, -np.log(q1 + c), np.inf))
        saturation = (
            without_underflow(np.exp(-saturated), np.isfinite(saturated))
            if c == 0
            else np.maximum(0.0, np.exp(-saturated) - c)
        )
        q2 = np.where(unimproved, q1, saturation)
        p2 = np.where(unimproved, p1, 1 - q2)
    return np.where(zero, 0.0, p2), np.where(zero, 1.0, q2)


def _paths(levels: EdgeLevels, lengths: Floats, through: Mask, zero: Mask) -> tuple[Shortest, Mask]:
    """A shortest-path function on the points in `through`, and the points connected to `zero`, where 0 is forced.

    The function returns the least first + length over all paths, and where the point's own start is the least.
    """
    n = len(through)
    arcs = levels.space.arcs
    usable = np.flatnonzero(through[arcs.tails] & through[arcs.heads])
    heads, along = arcs.heads[usable], lengths[arcs.edges[usable]]
    starts = np.searchsorted(usable, arcs.starts).astype(np.int32)
    if zero.any():
        graph = csr_array((np.ones(len(heads)), heads, starts), shape=(n, n))
        component = connected_components(graph, directed=False)[1]
        zero = through & np.isin(component, component[zero])

    def shortest(first: Floats) -> tuple[Floats, Mask]:
        seeds = np.flatnonzero(np.isfinite(first))
        if not len(seeds):
            return np.full(n, np.inf), np.ones(n, dtype=bool)
        least = first[seeds].min()
        graph = csr_array(
            (
                np.concatenate([along, first[seeds] - least]),
                np.concatenate([heads, seeds]).astype(np.int32),
                np.append(starts, len(heads) + len(seeds)).astype(np.int32),
            ),
            shape=(n + 1, n + 1),
        )
        lengths_from_source = dijkstra(graph, indices=n)[:n]
        return lengths_from_source + least, lengths_from_source >= first - least

    return shortest, zero


def _relax(levels: EdgeLevels, start: Bounds, through: Mask) -> Bounds:
    """Bounds under any suitable pair per edge: points whose bound fell propagate it, until none falls.

    Many at a time while the front is wide, for at most eight times the number of arcs; then one at a time, the least
    bound first, as in Dijkstra's algorithm: O((V + E) log V) in all.
    """
    p, q = start[0].copy(), start[1].copy()
    arcs = levels.space.arcs
    active = np.flatnonzero(through & ((p < 1) | (q > 0)))
    arcs_remaining = 8 * len(arcs.heads)
    while len(active) >= WIDE and arcs_remaining > 0:
        counts = arcs.starts[active + 1] - arcs.starts[active]
        offsets = np.repeat(arcs.starts[active] - (np.cumsum(counts) - counts), counts)
        out = offsets + np.arange(len(offsets))
        arcs_remaining -= len(out)
        tails, heads, edges = np.repeat(active, counts), arcs.heads[out], arcs.edges[out]
        higher, lower = levels.move(edges, p[tails], q[tails])
        better = through[heads] & ((higher < p[heads]) | (lower > q[heads]))
        heads, higher, lower = heads[better], higher[better], lower[better]
        np.minimum.at(p, heads, higher)
        np.maximum.at(q, heads, lower)
        active = np.unique(heads)
    return _one_by_one(levels, p, q, active, through) if len(active) else (p, q)


def _one_by_one(levels: EdgeLevels, p: Floats, q: Floats, active: NDArray[np.int64], through: Mask) -> Bounds:
    """The rest of `_relax` in increasing order of the bounds, in plain floats, since arrays of one number are slow."""
    arcs = levels.space.arcs
    starts, heads, edges = arcs.starts.tolist(), arcs.heads.tolist(), arcs.edges.tolist()
    growth, delta, usable = levels.growth.tolist(), levels.delta.tolist(), through.tolist()
    p_list, q_list = p.tolist(), q.tolist()
    heap = [(p_list[v], -q_list[v], v) for v in active.tolist()]
    heapq.heapify(heap)
    while heap:
        a, b, u = heapq.heappop(heap)
        if a > p_list[u] or -b < q_list[u]:
            continue
        for arc in range(starts[u], starts[u + 1]):
            v = heads[arc]
            if not usable[v] or (p_list[v] <= a and q_list[v] >= -b):
                continue
            higher, lower = _step(levels, edges[arc], growth[edges[arc]], delta[edges[arc]], a, -b)
            if higher < p_list[v] or lower > q_list[v]:
                p_list[v], q_list[v] = min(p_list[v], higher), max(q_list[v], lower)
                heapq.heappush(heap, (p_list[v], -q_list[v], v))
    return np.array(p_list), np.array(q_list)


def _step(levels: EdgeLevels, edge: int, growth: float, delta: float, p: float, q: float) -> tuple[float, float]:
    """`EdgeLevels.move` for one edge: (epsilon, delta) levels as in `approx_move`, others by their own functions."""
    if not math.isfinite(growth):
        bounds = levels.move(np.array([edge]), np.array([p]), np.array([q]))
        return float(bounds[0][0]), float(bounds[1][0])
    grown, shrunk = min(growth * p + delta, 1.0), max(q - delta, 0.0) / growth
    lower = min(max(shrunk, 1 - grown), q)
    return max(min(grown, 1 - shrunk), p), max(lower, LEAST) if delta == 0 < q else lower
