"""Spaces: points (datasets, or results of a query) with edges between neighbours.

A `Space` is an undirected graph without loops. Its edges are one array of positions, made when first needed, and its
distances are in closed form where its family (families.py) has them, so a million points take little memory.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from utmost.errors import InvalidInput, TooLarge, UnknownPoint
from utmost.exact.arrays import Floats, Integers
from utmost.space.family import Complete, Family
from utmost.space.points import Histograms, Tuples
from utmost.space.sparse import connected_components, coo_array, csr_array, dijkstra

Point: TypeAlias = Hashable

MOST_ENTRIES = 10**8
"""Tables with more entries than this are refused with `TooLarge`."""


class Arcs(NamedTuple):
    """Both directions of every edge, by starting point: `heads[starts[v]:starts[v + 1]]` are v's neighbours."""

    starts: NDArray[np.int32]
    heads: NDArray[np.int32]
    edges: NDArray[np.int32]
    """The edge of each arc."""

    @property
    def tails(self) -> NDArray[np.int32]:
        """The point at which each arc starts."""
        return np.repeat(np.arange(len(self.starts) - 1, dtype=np.int32), np.diff(self.starts))


class Space:
    """Points and their adjacency.

    Made by `Space.from_edges`, `from_networkx`, `from_adjacency`, or one of the families: `path`, `counts`, `cycle`,
    `complete`, `grid`, `sums`, `hamming`, `histograms`, `differences`.

    Examples
    --------
    >>> votes = Space.from_edges([("a", "b"), ("b", "c")])
    >>> votes.distance("a", "c")
    2.0
    >>> votes
    Space of 3 points and 2 edges
    """

    def __init__(
        self,
        points: Sequence[Any],
        edges: Callable[[], ArrayLike] | ArrayLike,
        family: Family | None = None,
    ) -> None:
        self.points = points
        self.family = family
        """The family of a space made by name, with its closed forms; None for others."""
        self._make_edges = edges

    # ---- ways to make one ----

    @classmethod
    def of(cls, family: Family) -> Space:
        """The space of a family; the functions `path`, `counts`, `grid`, ... check its arguments."""
        return cls(family.points, family.edges, family)

    @classmethod
    def from_edges(
        cls, edges: Iterable[tuple[Point, Point]] | NDArray[Any], points: Iterable[Point] | None = None
    ) -> Space:
        """The space with these edges; `points` adds isolated ones and fixes the order.

        An edge that occurs twice, or in both directions, is one edge. Without `points` they are in order of appearance,
        those of an integer array in numerical order.

        Examples
        --------
        >>> Space.from_edges([(1, 2), (2, 1), (2, 3)]).edges
        [(1, 2), (2, 3)]
        """
        if isinstance(edges, np.ndarray):
            pairs = _pairs(edges)
            labels = list(points) if points is not None else np.unique(pairs).tolist()
            if labels == list(range(len(labels))) and (not pairs.size or 0 <= pairs.min() <= pairs.max() < len(labels)):
                return cls(range(len(labels)), _simple(pairs, range(len(labels))))
            edges = [tuple(pair) for pair in pairs.tolist()]
        edge_list = [_edge(edge) for edge in edges]
        names = list(dict.fromkeys(v for e in edge_list for v in e) if points is None else points)
        position = _positions(names)
        for v in (v for edge in edge_list for v in edge):
            if v not in position:
                raise UnknownPoint(f"an edge ends at {v!r}, which is not among the points; add it to points.")
        pairs = np.array([(position[a], position[b]) for a, b in edge_list], dtype=np.int64).reshape(-1, 2)
        return cls(names, _simple(pairs, names))

    @classmethod
    def from_networkx(cls, graph: Any) -> Space:
        """The space of an undirected networkx graph: its nodes and edges."""
        if graph.is_directed():
            raise InvalidInput("the graph is directed, but neighbours are mutual; pass graph.to_undirected().")
        return cls.from_edges([edge[:2] for edge in graph.edges], points=graph.nodes)

    @classmethod
    def from_adjacency(cls, adjacency: Any, points: Iterable[Point] | None = None) -> Space:
        """The space of a symmetric sparse (or dense) matrix: an entry other than 0 is an edge."""
        matrix = coo_array(adjacency)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        n = matrix.shape[0]
        if matrix.shape != (n, n):
            raise InvalidInput(f"the adjacency matrix has shape {matrix.shape}; it must be square.")
        names: Sequence[Any] = range(n) if points is None else list(points)
        if len(names) != n:
            raise InvalidInput(f"{len(names)} points for an adjacency matrix of {n} rows; give one per row.")
        if points is not None:
            _positions(names)
        tails, heads = matrix.row.astype(np.int64), matrix.col.astype(np.int64)
        forward, backward = np.unique(tails * n + heads), np.unique(heads * n + tails)
        if not np.array_equal(forward, backward):
            i, j = divmod(int(np.setxor1d(forward, backward)[0]), n)
            raise InvalidInput(
                f"the matrix joins {names[i]!r} to {names[j]!r} in one direction only, but neighbours are mutual; "
                "pass matrix + matrix.T."
            )
        keep = forward[forward // n <= forward % n]
        return cls(names, _simple(np.column_stack([keep // n, keep % n]), names))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Space:
        """The space written by `to_json`, where it is not one of the families."""
        points = [label_from_json(p) for p in data["points"]]
        _positions(points)
        edges = data["edges"]
        if not all(isinstance(e, list) and len(e) == 2 and all(isinstance(v, int) for v in e) for e in edges):
            raise InvalidInput("edges must be pairs of positions, such as [[0, 1], [1, 2]].")
        pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
        if pairs.size and not 0 <= pairs.min() <= pairs.max() < len(points):
            raise InvalidInput("an edge names a point that is not there; positions count from 0 to the last point.")
        return cls(points, _simple(pairs, points))

    # ---- structure ----

    @cached_property
    def edge_indices(self) -> Integers:
        """The edges as positions of points, one row each."""
        pairs = self._make_edges() if callable(self._make_edges) else self._make_edges
        return np.asarray(pairs, dtype=np.int64).reshape(-1, 2)

    @property
    def edge_count(self) -> int:
        """The number of edges; in closed form where the family has one."""
        count = self.family.edge_count if self.family else None
        return len(self.edge_indices) if count is None else count

    @property
    def is_complete(self) -> bool:
        """Whether it was made as `complete(n)`: every two points are neighbours."""
        return isinstance(self.family, Complete)

    @property
    def edges(self) -> Edges:
        """The edges as pairs of points: a sequence aligned with `edge_indices` and with levels per edge."""
        return Edges(self)

    def index(self, point: Point) -> int:
        """The position of a point in `points`."""
        try:
            if isinstance(self.points, range):
                return self.points.index(operator.index(point))  # type: ignore[arg-type]
            if isinstance(self.points, Tuples | Histograms):
                return self.points.index(point)
            return self._position[point]
        except (ValueError, KeyError, TypeError):
            raise UnknownPoint(f"{point!r} is not a point of this space ({self._some_points()}).") from None

    @cached_property
    def _position(self) -> dict[Point, int]:
        return _positions(self.points)

    def _some_points(self) -> str:
        names = [repr(p) for p in self.points[:3]]
        return ", ".join(names) + (f", ... {self.points[-1]!r}" if len(self.points) > 3 else "")

    @cached_property
    def arcs(self) -> Arcs:
        """Both directions of every edge, sorted by starting point."""
        a, b = self.edge_indices.astype(np.int32).T
        n, m = len(self.points), len(a)
        ids = np.arange(m, dtype=np.int32)
        tails, heads = np.concatenate([a, b]), np.concatenate([b, a])
        matrix = coo_array((np.concatenate([ids, ids]), (tails, heads)), shape=(n, n)).tocsr()
        return Arcs(matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data)

    def graph(self, weights: ArrayLike = 1.0) -> Any:
        """The space as a sparse matrix with one weight, or one per edge."""
        arcs, n = self.arcs, len(self.points)
        values = np.broadcast_to(np.asarray(weights, dtype=float), len(self.edge_indices))[arcs.edges]
        return csr_array((values, arcs.heads, arcs.starts), shape=(n, n))

    @cached_property
    def components(self) -> NDArray[np.int32]:
        """The number of the connected component each point lies in."""
        if not len(self.points) or self.is_complete:
            return np.zeros(len(self.points), dtype=np.int32)
        return np.asarray(connected_components(self.graph(), directed=False)[1])

    def distance(self, a: Point, b: Point) -> float:
        """The graph distance between two points; infinity if they are not connected."""
        i, j = self.index(a), self.index(b)
        if self.family:
            return float(self.family.distances(np.array([i]), np.array([j]))[0])
        return float(dijkstra(self.graph(), indices=i, unweighted=True)[j])

    def distances(self) -> Floats:
        """The matrix of graph distances between all points; infinity between components."""
        n = len(self.points)
        if n * n > MOST_ENTRIES:
            raise TooLarge(f"{n} x {n} distances do not fit; ask distances_from(points) or distance(a, b) instead.")
        return self._small_distances.copy() if n <= 2000 else self._all_distances()

    @cached_property
    def _small_distances(self) -> Floats:
        return self._all_distances()

    def _all_distances(self) -> Floats:
        n = len(self.points)
        if self.family:
            here, table = np.arange(n), np.empty((n, n))
            rows = max(1, 2**20 // max(n, 1))  # how many at a time
            for start in range(0, n, rows):
                block = here[start : start + rows]
                apart = self.family.distances(np.repeat(block, n), np.tile(here, len(block)))
                table[start : start + rows] = apart.reshape(len(block), n)
            return table
        if not n:
            return np.zeros((0, 0))
        return np.asarray(dijkstra(self.graph(), unweighted=True))

    def distances_from(self, points: Iterable[Point] | Point) -> Floats:
        """The graph distance of each point to the nearest of these; one point may be passed alone."""
        sources = self._sources(points)
        n = len(self.points)
        if not len(sources):
            return np.full(n, np.inf)
        if self.family and len(sources) <= 4:
            here = np.arange(n)
            return np.asarray(
                np.min([self.family.distances(np.full(n, s), here) for s in sources], axis=0), dtype=float
            )
        return np.asarray(dijkstra(self.graph(), indices=sources, unweighted=True, min_only=True))

    def neighbourhood(self, points: Any) -> tuple[Any, ...]:
        """The points outside a set, or a single point, that have a neighbour in it: N(S) of BIN Def. 3.

        Examples
        --------
        >>> Space.from_edges([("a", "b"), ("b", "c"), ("c", "d")]).neighbourhood(["b", "c"])
        ('a', 'd')
        """
        inside = np.zeros(len(self.points), dtype=bool)
        inside[self._sources(points)] = True
        a, b = self.edge_indices.T
        reached = np.concatenate([b[inside[a]], a[inside[b]]])
        return tuple(self.points[int(i)] for i in np.unique(reached[~inside[reached]]))

    def _sources(self, points: Any) -> Integers:
        try:
            return np.array([self.index(points)])
        except UnknownPoint:
            if isinstance(points, str | bytes) or not isinstance(points, Iterable):
                raise
        return np.array([self.index(p) for p in points], dtype=np.int64)

    # ---- values at points ----

    def align(self, values: Any, name: str) -> list[Any] | NDArray[Any]:
        """Values at every point, in order, from a mapping, an array aligned with `points`, or a callable."""
        if isinstance(values, Mapping):
            for point in values:
                self.index(point)
            missing = [p for p in self.points if p not in values]
            if missing:
                raise InvalidInput(f"{name} says nothing about {missing[0]!r}; give a value for every point.")
            return [values[p] for p in self.points]
        if callable(values):
            return [values(p) for p in self.points]
        if not isinstance(values, Iterable):
            raise InvalidInput(
                f"{name} is {values!r}; give a mapping, a sequence aligned with the points, or a callable."
            )
        aligned = values if isinstance(values, np.ndarray) else list(values)
        if len(aligned) != len(self.points):
            raise InvalidInput(f"{name} has {len(aligned)} values for {len(self.points)} points; give one per point.")
        return aligned

    def as_prior(self, prior: Any = None) -> Floats:
        """A probability distribution over the points; None is uniform."""
        n = len(self.points)
        if prior is None:
            return np.full(n, 1 / n) if n else np.zeros(0)
        return as_distribution(self.align(prior, "the prior"), "the prior")

    # ---- as plain data, and as text ----

    def to_json(self) -> dict[str, Any]:
        """The space as plain JSON data; the inverse of `families.space_from_json`."""
        if self.family:
            arguments = self.family.arguments.items()
            plain = {k: [label_to_json(x) for x in v] if isinstance(v, tuple) else v for k, v in arguments}
            return {"family": self.family.name, **plain}
        return {"points": [label_to_json(p) for p in self.points], "edges": self.edge_indices.tolist()}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Space):
            return NotImplemented
        if self is other or (self.family and self.family == other.family):
            return True
        return list(self.points) == list(other.points) and _edge_set(self) == _edge_set(other)

    def __hash__(self) -> int:
        return hash(len(self.points))

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        if self.family:
            return str(self.family)
        return f"Space of {len(self.points)} points and {len(self.edge_indices)} edges"


class Edges(Sequence[tuple[Any, Any]]):
    """The edges of a space as pairs of points, made on demand."""

    def __init__(self, space: Space) -> None:
        self._space = space

    def __len__(self) -> int:
        return self._space.edge_count

    @overload
    def __getitem__(self, position: int) -> tuple[Any, Any]: ...
    @overload
    def __getitem__(self, position: slice) -> list[tuple[Any, Any]]: ...
    def __getitem__(self, position: int | slice) -> Any:
        points = self._space.points
        if isinstance(position, slice):
            return [(points[int(a)], points[int(b)]) for a, b in self._space.edge_indices[position]]
        a, b = self._space.edge_indices[position]
        return points[int(a)], points[int(b)]

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        points = self._space.points
        return ((points[a], points[b]) for a, b in self._space.edge_indices.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(len(self))

    def __repr__(self) -> str:
        if len(self) <= 8:
            return repr(list(self))
        return f"[{', '.join(map(repr, self[:3]))}, ... {len(self)} edges]"


# ---- helpers of this module and of others ----


def as_distribution(values: Any, name: str) -> Floats:
    """Numbers that are 0 or more and add up to 1 within rounding, checked."""
    try:
        weights = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} must hold numbers, one per point.") from None
    if weights.ndim != 1:
        raise InvalidInput(f"{name} has shape {weights.shape}; give one number per point.")
    wrong = ~(weights >= 0) | np.isinf(weights)
    if wrong.any():
        raise InvalidInput(f"{name} holds {float(weights[wrong].flat[0])!r}; probabilities are 0 or more.")
    total = math.fsum(weights)
    if len(weights) and abs(total - 1) > 1e-9:
        raise InvalidInput(f"{name} adds up to {total!r}; divide it by its sum so that it adds up to 1.")
    return weights


def label_to_json(label: Any) -> Any:
    """A label of a point or output as plain JSON data: text, numbers, truth values, and tuples of them."""
    if isinstance(label, tuple):
        return {"tuple": [label_to_json(part) for part in label]}
    if isinstance(label, np.generic):
        label = label.item()
    if label is None or isinstance(label, str | bool | int | float):
        return label
    raise InvalidInput(f"{label!r} cannot be saved as a name; use text, numbers, truth values or tuples of them.")


def label_from_json(data: Any) -> Any:
    """The label written by `label_to_json`; a plain list is read as a tuple, too."""
    if isinstance(data, dict):
        data = data["tuple"]
    return tuple(label_from_json(part) for part in data) if isinstance(data, list) else data


def edge_positions(space: Space, pairs: Iterable[tuple[Point, Point]]) -> Integers:
    """The positions of these edges in `space.edges`, in either direction; `UnknownPoint` names a missing one."""
    n = len(space.points)
    keys = np.sort(space.edge_indices, axis=1) @ np.array([n, 1])
    order = np.argsort(keys)
    pair_list = [_edge(pair) for pair in pairs]
    ends = np.array([(space.index(a), space.index(b)) for a, b in pair_list], dtype=np.int64).reshape(-1, 2)
    pair_keys = np.sort(ends, axis=1) @ np.array([n, 1])
    ranks = np.searchsorted(keys, pair_keys, sorter=order)
    positions = order[np.minimum(ranks, max(len(keys) - 1, 0))] if len(keys) else np.zeros_like(ranks)
    missing = keys[positions] != pair_keys if len(keys) else np.ones(len(pair_keys), dtype=bool)
    if missing.any():
        a, b = pair_list[int(np.argmax(missing))]
        raise UnknownPoint(f"{a!r} and {b!r} are not neighbours in this space, so they have no level; drop the pair.")
    return np.asarray(positions)


def _pairs(edges: NDArray[Any]) -> Integers:
    """An integer array of edges, checked."""
    if edges.ndim != 2 or edges.shape[1] != 2 or not np.issubdtype(edges.dtype, np.integer):
        raise InvalidInput(f"edges has shape {edges.shape} and type {edges.dtype}; give integers in two columns.")
    return edges.astype(np.int64)


def _edge(edge: Any) -> tuple[Point, Point]:
    """A pair of hashable points, checked."""
    if isinstance(edge, str | bytes) or not isinstance(edge, Sequence) or len(edge) != 2:
        raise InvalidInput(f"{edge!r} is not an edge; give pairs of points.")
    if not all(isinstance(end, Hashable) for end in edge):
        raise InvalidInput(f"the edge {edge!r} ends at something unhashable; turn lists into tuples.")
    return edge[0], edge[1]


def _simple(pairs: Integers, names: Sequence[Any]) -> Integers:
    """The edges without repetitions, in order of first appearance; self-loops are refused."""
    loops = pairs[:, 0] == pairs[:, 1]
    if loops.any():
        v = names[int(pairs[np.argmax(loops), 0])]
        raise InvalidInput(f"{v!r} is joined to itself; neighbours are different points, so drop the self-loop.")
    keys = np.sort(pairs, axis=1) @ np.array([max(len(names), 1), 1])
    first = np.sort(np.unique(keys, return_index=True)[1])
    return pairs[first]


def _positions(names: Sequence[Any]) -> dict[Point, int]:
    """The position of every point; duplicates are refused."""
    try:
        position = {name: i for i, name in enumerate(names)}
    except TypeError:
        raise InvalidInput("points must be hashable (text, numbers, tuples); turn lists into tuples.") from None
    if len(position) != len(names):
        duplicate = next(name for i, name in enumerate(names) if position[name] != i)
        raise InvalidInput(f"{duplicate!r} stands twice among the points; give every point once.")
    return position


def _edge_set(space: Space) -> set[tuple[int, int]]:
    return {(a, b) for a, b in np.sort(space.edge_indices, axis=1).tolist()}
