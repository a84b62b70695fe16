"""Tallies of three leading candidates with the votes of all others fixed: triangles of any side.

A *cell* holds the tallies with the same three leaders, the same votes of all others and, where rows are replaced, the
same number of rows; under add/remove, one of two numbers that differ by one. Count each leader's votes from the fewest
with which it still leads the others, and a cell is the triangle of all y >= 0 that add up to its side (or to one less).
The winner is determined by y and a public order among the three, so cells of one side are isomorphic.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np

from utmost.exact.arrays import Floats, Integers
from utmost.privacy import ApproxDP, PureDP
from utmost.space.edge_levels import EdgeLevels, on_edges
from utmost.space.families import Neighbours
from utmost.space.graph import Space


def triangle(side: int, neighbours: Neighbours) -> Space:
    """The tallies of a cell, with an edge between neighbours.

    Examples
    --------
    >>> len(triangle(4, "replace").points), len(triangle(4, "add-remove").points)
    (15, 25)
    """
    sums = (side,) if neighbours == "replace" else (side - 1, side)
    points = [(a, b, s - a - b) for s in sums for a in range(s + 1) for b in range(s - a + 1)]
    place = {point: i for i, point in enumerate(points)}
    more = ((1, -1, 0), (1, 0, -1), (0, 1, -1)) if neighbours == "replace" else ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    edges = [
        (start, end)
        for start, (a, b, c) in enumerate(points)
        for x, y, z in more
        if (end := place.get((a + x, b + y, c + z))) is not None
    ]
    return Space(points, np.array(edges, dtype=np.int64).reshape(-1, 2))


def triangle_levels(side: int, neighbours: Neighbours, level: ApproxDP, step: int) -> EdgeLevels:
    """The triangle at `step` times a pure level, for neighbours that differ by `step` rows.

    Examples
    --------
    >>> triangle_levels(2, "replace", PureDP(1), 3).single
    PureDP(3)
    """
    farther = PureDP(level.exponent * step) if level.ratio == 1 else PureDP.from_ratio(level.ratio**step)
    return on_edges(triangle(side, neighbours), farther)


def triangle_losses(space: Space, loss: str) -> Floats:
    """The loss of each of the three at every tally: 1 unless it is the first with the most votes; or its shortfall.

    Examples
    --------
    >>> triangle_losses(triangle(1, "replace"), "zero-one").tolist()
    [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    """
    tallies = np.array(space.points, dtype=np.int64)
    if loss == "shortfall":
        return np.asarray(tallies.max(axis=1, keepdims=True) - tallies, dtype=float)
    return np.asarray(tallies.argmax(axis=1)[:, None] != np.arange(3), dtype=float)


def spread_evenly(space: Space, prices: Floats) -> Floats:
    """Dual prices of arcs and outputs (direction, edge, output), averaged over all orders of the three candidates."""
    tallies, ends = np.array(space.points, dtype=np.int64), space.edge_indices
    n, width = len(tallies), int(tallies.max(initial=0)) + 1
    arcs = np.concatenate([ends[:, 0] * n + ends[:, 1], ends[:, 1] * n + ends[:, 0]])
    order = np.argsort(arcs)
    place = np.full(width**3, -1)
    place[_code(tallies, width)] = np.arange(n)
    flat, averages = prices.reshape(len(arcs), 3), np.zeros((len(arcs), 3))
    for exchange in permutations(range(3)):
        image = place[_code(tallies[:, exchange], width)]  # candidate exchange[c] becomes candidate c
        arc_images = order[np.searchsorted(arcs[order], image[arcs // n] * n + image[arcs % n])]
        averages[arc_images] += flat[:, exchange] / 6
    return averages.reshape(prices.shape)


def _code(tallies: Any, width: int) -> Integers:
    """A tally as one integer."""
    return np.asarray((tallies[:, 0] * width + tallies[:, 1]) * width + tallies[:, 2])
