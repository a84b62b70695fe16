"""Evidence that no noise on vectors is much better: the dual of a linear program over all noise in a window.

Noise on the vectors up to a norm, private where both ends of a move lie inside: less is asked of it than of any true
noise, so its least loss is a lower bound, and its dual is a flow that the verifier checks. Vectors that differ in order
or sign only are one variable.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utmost.mechanism.integer_balls import free, norm
from utmost.mechanism.line import cost
from utmost.privacy import ApproxDP, Level
from utmost.space.integers import Lattice, Moves

RADII = {
    ("one-way", 2): 40,
    ("cube", 2): 30,
    ("exchange", 2): 40,
    ("one-way", 3): 11,
    ("cube", 3): 9,
    ("exchange", 3): 12,
}
"""The largest radius of a window by shape and free integers: programs of about half a second."""
ENOUGH = {2: 14.0, 3: 11.0}
"""The radius times epsilon that is enough."""
LEAST = {2: 0.15, 3: 0.4}
"""The least epsilon at which such a window says anything."""


def window_evidence(space: Lattice, level: Level, loss: str) -> dict[str, Any]:
    """A flow for the verifier; nothing where the window would be too large or another bound is tight."""
    shape, d = free(space.moves, space.dimension)
    if (shape, d) not in RADII or space.reach != 1 or not isinstance(level, ApproxDP) or level.delta > 0:
        return {}
    if not LEAST[d] <= level.log_growth < 20:
        return {}
    radius = min(RADII[shape, d], max(4, math.ceil(ENOUGH[d] / level.log_growth)))
    if space.upper - space.lower < 8 * radius:
        return {}
    return _flow(space, shape, d, level.log_growth, loss, radius)


def _flow(space: Lattice, shape: Moves, d: int, epsilon: float, loss: str, radius: int) -> dict[str, Any]:
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    every = np.stack(np.meshgrid(*[np.arange(-radius, radius + 1)] * d, indexing="ij"), axis=-1).reshape(-1, d)
    norms = _norms(shape, every)
    points, sizes = np.unique(_ordered(every[norms <= radius]), axis=0, return_counts=True)
    index = {tuple(point): i for i, point in enumerate(points.tolist())}
    away = _norms(shape, points)
    steps = [move for move in product((-1, 0, 1), repeat=d) if norm(shape, move) == 1]
    edges: dict[tuple[int, int], NDArray[np.int64]] = {}
    for step in steps:
        ends = points + np.array(step)
        for i, there in enumerate(_ordered(ends).tolist()):
            j = index.get(tuple(there), i)
            if i != j:
                edges.setdefault((i, j), ends[i])
    tails, heads = np.array(list(edges)).T
    falls = np.exp(epsilon * (away[heads] - away[tails] - 1.0))  # p falls by e^-epsilon a norm, but for a factor
    rows = np.arange(len(tails))
    entries = (np.concatenate([falls, -np.ones(len(rows))]), (np.tile(rows, 2), np.concatenate([tails, heads])))
    weights = sizes * np.exp(-epsilon * away)
    whole = np.column_stack([points, -points.sum(axis=1)]) if space.moves == "sum-zero" else points
    costs = cost(loss, whole).mean(axis=1)
    share = weights / weights.sum()
    found = linprog(
        share * costs, csr_array(entries, shape=(len(rows), len(points))), np.zeros(len(rows)), share[None, :], [1.0],
        method="highs-ds",
    )  # fmt: skip
    if not found.success:
        return {}
    prices = np.maximum(-found.ineqlin.marginals, 0) * weights.sum() * np.exp(epsilon * (away[heads] - 1.0))
    kept = np.flatnonzero(prices > 1e-12)
    ends = np.array(list(edges.values()), dtype=np.int64)
    return {"tails": points[tails[kept]], "heads": ends[kept], "flow": prices[kept]}


def _ordered(points: NDArray[np.int64]) -> NDArray[np.int64]:
    """One of the vectors that differ in order and sign only: falling, and of both signs the later in the dictionary."""
    one, other = -np.sort(-points, axis=1), -np.sort(points, axis=1)
    differ = one - other
    first = np.take_along_axis(differ, np.argmax(differ != 0, axis=1)[:, None], axis=1)
    return np.asarray(np.where(first < 0, other, one))


def _norms(shape: Moves, points: NDArray[np.int64]) -> NDArray[np.int64]:
    rises, falls = np.maximum(points, 0), np.maximum(-points, 0)
    if shape == "one-way":
        return np.asarray(rises.max(axis=1) + falls.max(axis=1))
    if shape == "cube":
        return np.asarray(np.abs(points).max(axis=1))
    return np.asarray(np.maximum(rises.sum(axis=1), falls.sum(axis=1)))
