"""Symmetries of a problem, by trial: exchanged or mirrored coordinates, and the order of all points reversed.

If a permutation of points, together with one of outputs, maps edges to edges of the same level and leaves prior and
loss unchanged, then the permuted image of an optimal mechanism is optimal, and so is the average over all of them. So
probabilities in one orbit may be one variable of a linear program, and constraints in one orbit one row: for the
shortfall of a winner among m candidates that is m! times fewer. A dual price divided evenly among the constraints of
its class is a dual price of the full program, so a verifier needs to know nothing of symmetries.
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
"""Up to how many coordinates are exchanged; the relative tolerance within which numbers count as equal."""


class Symmetry(NamedTuple):
    """The orbits of points, of probabilities, of arcs and of their constraints.

    `points`, `entries` (a point and an output each), `arcs` (edges in both directions, all first ends first) and
    `rows` (an arc and an output each) give the class of each, from 0 on.
    """

    points: Integers
    entries: Integers
    arcs: Integers
    rows: Integers

    @property
    def share(self) -> float:
        """The number of classes of constraints, divided by the number of constraints."""
        return float((self.rows.max(initial=0) + 1) / max(len(self.rows), 1))


def find_symmetry(levels: EdgeLevels, prior: Floats, table: Floats) -> Symmetry | None:
    """The orbits under all permutations tried that leave the problem unchanged; None if there is no such permutation.

    Examples
    --------
    >>> import utmost as um
    >>> space = um.histograms(4, 3)
    >>> behind = np.array([[max(tally) - votes for votes in tally] for tally in space.points], dtype=float)
    >>> symmetry = find_symmetry(um.per_edge(space, epsilon=np.ones(len(space.edges))), space.as_prior(None), behind)
    >>> len(space.points), int(symmetry.points.max() + 1), round(1 / symmetry.share, 1)
    (15, 4, 6.0)
    """
    n, k = table.shape
    if not len(levels) or not k:
        return None
    tails, heads = levels.space.edge_indices.T
    arcs = np.concatenate([tails, heads]) * n + np.concatenate([heads, tails])
    order = np.argsort(arcs)
    sorted_arcs = arcs[order]
    growth, delta = np.tile(levels.growth, 2), np.tile(levels.delta, 2)
    permutations: list[tuple[Integers, Integers, Integers]] = []
    for points in _exchanges(levels.space.points):
        outputs = _of_outputs(table, points)
        if outputs is None or not np.allclose(prior[points], prior, rtol=SAME, atol=0):
            continue
        images = points[arcs // n] * n + points[arcs % n]
        at = np.minimum(np.searchsorted(sorted_arcs, images), len(sorted_arcs) - 1)
        arc_images = order[at]
        if (
            (sorted_arcs[at] == images).all()
            and (growth[arc_images] == growth).all()
            and (delta[arc_images] == delta).all()
        ):
            permutations.append((points, outputs, arc_images))
    if not permutations:
        return None
    return Symmetry(
        _classes([points for points, _, _ in permutations]),
        _classes([(points[:, None] * k + outputs).ravel() for points, outputs, _ in permutations]),
        _classes([arc_images for _, _, arc_images in permutations]),
        _classes([(arc_images[:, None] * k + outputs).ravel() for _, outputs, arc_images in permutations]),
    )


def _exchanges(points: Sequence[Any]) -> Iterator[Integers]:
    """Candidate permutations: two coordinates exchanged, all reversed, one or all mirrored; points in reverse."""
    point_list = list(points)
    yield np.arange(len(point_list))[::-1].copy()
    if not all(isinstance(p, tuple) and p and all(isinstance(v, int | np.integer) for v in p) for p in point_list):
        return
    if len({len(p) for p in point_list}) != 1 or len(point_list[0]) > MOST_COORDINATES:
        return
    place = {p: i for i, p in enumerate(point_list)}
    cells = np.array(point_list, dtype=np.int64)
    d = cells.shape[1]
    mirrored = cells.min(axis=0) + cells.max(axis=0) - cells
    images = [cells[:, ::-1], mirrored]
    for i, j in combinations(range(d), 2):
        swapped = cells.copy()
        swapped[:, [i, j]] = cells[:, [j, i]]
        images.append(swapped)
    images += [np.where(np.arange(d) == i, mirrored, cells) for i in range(d)]
    for image in images:
        permutation = [place.get(tuple(p)) for p in image.tolist()]
        if None not in permutation:
            yield np.array(permutation, dtype=np.int64)


def _of_outputs(table: Floats, points: Integers) -> Integers | None:
    """The permutation of outputs that, with one of points, leaves all losses unchanged; None if there is none."""
    scale = float(np.abs(table).max(initial=0.0)) or 1.0
    rounded = np.round(table / scale / SAME) + 0.0
    outputs_by_column: dict[bytes, list[int]] = {}
    for o in reversed(range(table.shape[1])):
        outputs_by_column.setdefault(rounded[points, o].tobytes(), []).append(o)
    permutation = [
        here.pop() if (here := outputs_by_column.get(rounded[:, o].tobytes())) else None for o in range(table.shape[1])
    ]
    return None if None in permutation else np.array(permutation, dtype=np.int64)


def _classes(exchanges: list[Integers]) -> Integers:
    """The orbit of every position under some permutations."""
    size = len(exchanges[0])
    start, end = np.tile(np.arange(size), len(exchanges)), np.concatenate(exchanges)
    graph = coo_array((np.ones(len(end), dtype=np.int8), (start, end)), shape=(size, size))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)
