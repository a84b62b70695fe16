"""Symmetries of a problem, found by trying: exchanged or mirrored coordinates, and the order of all points reversed.

If some exchange of points, together with one of outputs, maps edges to edges of the same level and leaves prior and
loss as they are, then a best mechanism exchanged in this way is best again, and so is the average of all of them. So
probabilities that such exchanges map to each other may be taken as one variable of a linear program, and constraints
that they map to each other as one row: for the shortfall of a winner among m candidates that is m! times fewer. A dual
price divided evenly among the constraints that it stands for is one of the whole program, so a verifier needs to know
nothing of all this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from utmost.exact.arrays import Floats, Integers
from utmost.space.edge_levels import EdgeLevels
from utmost.space.sparse import connected_components, coo_array

MOST_COORDINATES = 12
SAME = 1e-12
"""Up to how many coordinates are exchanged, and within how much of themselves numbers are taken to be equal."""


class Symmetry(NamedTuple):
    """Which of the points, of the probabilities, of the arcs and of their constraints are alike.

    `points`, `entries` (a point and an output each), `arcs` (edges in both directions, all first ends first) and
    `rows` (an arc and an output each) give the class of each, from 0 on.
    """

    points: Integers
    entries: Integers
    arcs: Integers
    rows: Integers

    @property
    def share(self) -> float:
        """How many classes of constraints there are, for each constraint."""
        return float((self.rows.max(initial=0) + 1) / max(len(self.rows), 1))


def find_symmetry(levels: EdgeLevels, prior: Floats, table: Floats) -> Symmetry | None:
    """What is alike under all exchanges that change nothing; None if none is found.

    Examples
    --------
    >>> import utmost as um
    >>> space = um.histograms(4, 3)
    >>> behind = np.array([[max(tally) - votes for votes in tally] for tally in space.points], dtype=float)
    >>> found = find_symmetry(um.per_edge(space, epsilon=np.ones(len(space.edges))), space.as_prior(None), behind)
    >>> len(space.points), int(found.points.max() + 1), round(1 / found.share, 1)
    (15, 4, 6.0)
    """
    n, k = table.shape
    if not len(levels) or not k:
        return None
    tails, heads = levels.space.edge_indices.T
    arcs = np.concatenate([tails, heads]) * n + np.concatenate([heads, tails])
    order = np.argsort(arcs)
    known = arcs[order]
    growth, delta = np.tile(levels.growth, 2), np.tile(levels.delta, 2)
    moved: list[tuple[Integers, Integers, Integers]] = []
    for points in _exchanges(levels.space.points):
        outputs = _of_outputs(table, points)
        if outputs is None or not np.allclose(prior[points], prior, rtol=SAME, atol=0):
            continue
        images = points[arcs // n] * n + points[arcs % n]
        at = np.minimum(np.searchsorted(known, images), len(known) - 1)
        to = order[at]
        if (known[at] == images).all() and (growth[to] == growth).all() and (delta[to] == delta).all():
            moved.append((points, outputs, to))
    if not moved:
        return None
    return Symmetry(
        _classes([points for points, _, _ in moved]),
        _classes([(points[:, None] * k + outputs).ravel() for points, outputs, _ in moved]),
        _classes([to for _, _, to in moved]),
        _classes([(to[:, None] * k + outputs).ravel() for _, outputs, to in moved]),
    )


def _exchanges(points: Sequence[Any]) -> Iterator[Integers]:
    """Where points may go: two coordinates exchanged, all in reverse, one or all mirrored; or the points in reverse."""
    listed = list(points)
    yield np.arange(len(listed))[::-1].copy()
    if not all(isinstance(p, tuple) and p and all(isinstance(v, int | np.integer) for v in p) for p in listed):
        return
    if len({len(p) for p in listed}) != 1 or len(listed[0]) > MOST_COORDINATES:
        return
    place = {p: i for i, p in enumerate(listed)}
    cells = np.array(listed, dtype=np.int64)
    d = cells.shape[1]
    across = cells.min(axis=0) + cells.max(axis=0) - cells
    tried = [cells[:, ::-1], across]
    for i, j in combinations(range(d), 2):
        swapped = cells.copy()
        swapped[:, [i, j]] = cells[:, [j, i]]
        tried.append(swapped)
    tried += [np.where(np.arange(d) == i, across, cells) for i in range(d)]
    for image in tried:
        found = [place.get(tuple(p)) for p in image.tolist()]
        if None not in found:
            yield np.array(found, dtype=np.int64)


def _of_outputs(table: Floats, points: Integers) -> Integers | None:
    """Where outputs go if points go there, so that all losses stay; None if some do not."""
    scale = float(np.abs(table).max(initial=0.0)) or 1.0
    rounded = np.round(table / scale / SAME) + 0.0
    left: dict[bytes, list[int]] = {}
    for o in reversed(range(table.shape[1])):
        left.setdefault(rounded[points, o].tobytes(), []).append(o)
    found = [here.pop() if (here := left.get(rounded[:, o].tobytes())) else None for o in range(table.shape[1])]
    return None if None in found else np.array(found, dtype=np.int64)


def _classes(exchanges: list[Integers]) -> Integers:
    """The class of every place: those that exchanges map to each other."""
    size = len(exchanges[0])
    start, end = np.tile(np.arange(size), len(exchanges)), np.concatenate(exchanges)
    graph = coo_array((np.ones(len(end), dtype=np.int8), (start, end)), shape=(size, size))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)
