"""Morphisms: maps between spaces that preserve adjacency, and the pullback of mechanisms through them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput
from utmost.exact.arrays import Integers
from utmost.exact.citations import cites
from utmost.space.graph import Point, Space


@cites("RAIN-theorem-1")
class Morphism:
    """A map between spaces that maps neighbours to neighbours or to one point.

    The pullback of a mechanism on the target (`pull_back`) satisfies the same level on the source.

    Examples
    --------
    >>> from utmost.space.families import counts, hamming
    >>> total = Morphism(hamming(3, 2), counts(3), sum)
    >>> total(total.source.points[-1])
    3
    """

    privacy: Any = None
    """Levels on the edges of the target that imply those of the source, from `query`."""

    def __init__(self, source: Space, target: Space, mapping: Any) -> None:
        self.source, self.target = source, target
        self.indices = np.array(
            [target.index(p) for p in source.align(mapping, "the mapping")], dtype=np.int64
        ).reshape(-1)
        a, b = self.indices[source.edge_indices].T
        torn = (a != b) & ~_adjacent(target, a, b)
        if torn.any():
            e = int(np.argmax(torn))
            (u, v), (x, y) = source.edges[e], (target.points[int(a[e])], target.points[int(b[e])])
            raise InvalidInput(
                f"the neighbours {u!r} and {v!r} are mapped to {x!r} and {y!r}, which are not neighbours; "
                "a morphism keeps neighbours together."
            )

    def __call__(self, point: Point) -> Any:
        """The image of a point of the source."""
        return self.target.points[int(self.indices[self.source.index(point)])]

    def pull_back(self, mechanism: Any) -> Any:
        """The mechanism on the source with the law of `mechanism` at the image of each point."""
        if list(mechanism.points) != list(self.target.points):
            raise InvalidInput("the mechanism's points are not those of the morphism's target.")
        return mechanism.select(self.indices, self.source.points)

    def __repr__(self) -> str:
        return f"Morphism({self.source!r} -> {self.target!r})"


def _adjacent(space: Space, a: Integers, b: Integers) -> NDArray[np.bool_]:
    """Whether points at these positions are neighbours."""
    if space.family:
        return np.asarray(space.family.distances(a, b) == 1)
    n = len(space.points)
    keys = np.sort(space.edge_indices, axis=1) @ np.array([n, 1])
    return np.asarray(np.isin(np.minimum(a, b) * n + np.maximum(a, b), keys))
