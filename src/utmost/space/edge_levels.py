"""Heterogeneous privacy: a level for every edge of a space (HET).

`EdgeLevels` holds one level for every edge as arrays aligned with `space.edges`, so that two million edges fit easily.
Every design takes one level or an `EdgeLevels` as its `privacy`, and converts it to an `EdgeLevels`. A mechanism with
levels per edge spends the weakest of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from utmost.errors import InvalidInput, TooLarge, UnsupportedLevel
from utmost.exact import Number, without_underflow
from utmost.exact.arrays import Floats
from utmost.privacy import ApproxDP, Level, PureDP, approx_lower, approx_move, approx_upper, as_level, level_from_json
from utmost.space.family import Hamming
from utmost.space.graph import MOST_ENTRIES, Space, edge_positions
from utmost.space.sparse import dijkstra

Privacy: TypeAlias = "Level | Number | EdgeLevels"


class EdgeLevels:
    """One level per edge of a space; made by `per_edge`, `personalized` or `on_edges`.

    Attributes
    ----------
    space : Space
        The space whose edges have the levels.
    growth, delta : array of float
        e^epsilon and delta per edge, NaN where the level is of another kind. One level for all edges is expanded to
        arrays only when needed.
    """

    def __init__(
        self,
        space: Space,
        *,
        named: Sequence[Level] = (),
        which: NDArray[np.int32] | None = None,
        epsilon: Floats | None = None,
        delta: Floats | None = None,
    ) -> None:
        self.space, self._delta, self._epsilon = space, delta, epsilon
        if which is not None and len(named) > 1:  # only levels that some edge has
            occurring, inverse = np.unique(which, return_inverse=True)
            named, which = [named[int(i)] for i in occurring], inverse.astype(np.int32)
        self._named, self._stated_which = tuple(named), which

    @cached_property
    def _which(self) -> NDArray[np.int32] | None:
        """The position of each edge's level among the named ones; None where levels are arrays."""
        if self._stated_which is None and self._named:
            return np.broadcast_to(np.int32(0), (self.space.edge_count,))
        return self._stated_which

    @cached_property
    def growth(self) -> Floats:
        """e^epsilon of each edge."""
        if self._epsilon is not None:
            with np.errstate(over="ignore"):
                return np.asarray(np.exp(self._epsilon))
        return self._spread([v.growth if isinstance(v, ApproxDP) else math.nan for v in self._named])

    @cached_property
    def delta(self) -> Floats:
        """Delta of each edge."""
        if self._delta is not None:
            return self._delta
        return self._spread([float(v.delta) if isinstance(v, ApproxDP) else math.nan for v in self._named])

    def _spread(self, values: Sequence[float]) -> Floats:
        """Expand a value per named level to a value per edge."""
        assert self._which is not None
        if len(values) == 1:  # broadcast, so that the edges of a large complete space take no memory
            return np.broadcast_to(np.array(values, dtype=float), self._which.shape)
        return np.array(values, dtype=float)[self._which] if values else np.zeros(0)

    def __len__(self) -> int:
        return len(self.growth)

    def __getitem__(self, edge: int) -> Level:
        """The level of the edge at this position of `space.edges`."""
        if self._which is not None:
            return self._named[int(self._which[edge])]
        assert self._epsilon is not None
        epsilon, delta = float(self._epsilon[edge]), float(self.delta[edge])
        return ApproxDP(epsilon, delta) if delta else PureDP(epsilon)

    @property
    def single(self) -> Level | None:
        """The level of all edges, if they share one."""
        return self._named[0] if len(self._named) == 1 else None

    def numbers(self) -> NDArray[np.int64]:
        """A number per edge, equal for edges of the same level."""
        if self._which is not None:
            return self._which.astype(np.int64)
        return np.unique(np.column_stack([self.growth, self.delta]), axis=0, return_inverse=True)[1].ravel()

    def log_growth(self) -> Floats:
        """Epsilon per edge, as floats; NaN where the level is of another kind."""
        if self._epsilon is not None:
            return self._epsilon
        return self._spread([v.log_growth if isinstance(v, ApproxDP) else math.nan for v in self._named])

    def lengths(self) -> Floats:
        """The least sum of epsilons over paths between each two points, as a matrix; pure levels."""
        if isinstance(self.single, ApproxDP):
            return self.space.distances() * self.single.log_growth
        n = len(self.space.points)
        if n * n > MOST_ENTRIES:
            raise TooLarge(f"{n} x {n} distances do not fit; use a smaller space.")
        return np.asarray(dijkstra(self.space.graph(self.log_growth()))) if n else np.zeros((0, 0))

    def kinds(self) -> tuple[Level, ...]:
        """The distinct levels; where levels are arrays, one example each of a pure and of an approximate one."""
        if self._epsilon is None:
            return self._named
        return tuple(self[int(np.argmax(mask))] for mask in (self.delta == 0, self.delta > 0) if mask.any())

    def require(self, accept: type[Level] | tuple[type[Level], ...], what: str) -> None:
        """Refuse levels that a theory does not cover; `what` states what it covers and the alternative."""
        for level in self.kinds():
            if not isinstance(level, accept):
                raise UnsupportedLevel(f"{level} is not covered here: {what}")

    def upper(self, edges: NDArray[Any], alpha: Floats) -> Floats:
        """`Level.upper` of each edge's own level, at each edge's own alpha."""
        return self._bound(edges, alpha, upward=True)

    def lower(self, edges: NDArray[Any], alpha: Floats) -> Floats:
        """`Level.lower` of each edge's own level, at each edge's own alpha."""
        return self._bound(edges, alpha, upward=False)

    def _bound(self, edges: NDArray[Any], alpha: Floats, upward: bool) -> Floats:
        """`upper` or `lower`, edge by edge."""
        formula = approx_upper if upward else approx_lower
        bounds = formula(self.growth[edges], self.delta[edges], alpha)
        for number, level in enumerate(self._named):
            if not isinstance(level, ApproxDP):
                assert self._which is not None
                is_at_level = self._which[edges] == number
                bounds[is_at_level] = level._upper(alpha[is_at_level]) if upward else level._lower(alpha[is_at_level])
        return bounds

    def move(self, edges: NDArray[Any], p: Floats, q: Floats) -> tuple[Floats, Floats]:
        """`upper` of p and `lower` of q = 1 - p, of each edge's own level; neither is 0 by underflow."""
        higher, lower = approx_move(self.growth[edges], self.delta[edges], p, q)
        keeps_positive = (self.delta[edges] == 0) & np.isfinite(self.growth[edges])
        for number, level in enumerate(self._named):
            if not isinstance(level, ApproxDP):
                assert self._which is not None
                is_at_level = self._which[edges] == number
                higher[is_at_level], lower[is_at_level] = level.move(p[is_at_level], q[is_at_level])
                keeps_positive[is_at_level] = level.keeps_positive
        return higher, without_underflow(lower, keeps_positive & (q > 0))

    def intercepts(self, edges: NDArray[Any], slopes: Floats) -> Floats:
        """The least intercepts with which lines of these slopes lie above each edge's `upper`."""
        if self.single is not None:
            return self.single.intercept(slopes)
        numbers, intercepts = self.numbers()[edges], np.empty(len(slopes))
        for number in np.unique(numbers).tolist():
            is_at_level = numbers == number
            intercepts[is_at_level] = self[int(edges[is_at_level][0])].intercept(slopes[is_at_level])
        return intercepts

    def tangents(self, edges: NDArray[np.int64], slopes: Floats) -> EdgeLevels:
        """(epsilon, delta) levels that these imply: one for each listed edge and slope e^epsilon; edges may repeat.

        A line of slope s above a level's concave `upper` is an (ln s, delta) level, with its intercept as delta. So
        every mechanism at curved levels satisfies such levels, as many as a linear program can hold.
        """
        space = Space(self.space.points, self.space.edge_indices[edges])
        delta = np.clip(self.intercepts(edges, slopes) * (1 + 1e-12) + 1e-16, 0.0, 1.0)
        return EdgeLevels(space, epsilon=np.log(slopes), delta=delta)

    def even_shares(self, edges: NDArray[Any]) -> tuple[Floats, Floats]:
        """`Level.even_share` of each of these edges: two arrays."""
        growth, delta = self.growth[edges], self.delta[edges]
        with np.errstate(invalid="ignore"):
            p, q = np.where(np.isinf(growth), 1.0, (growth + delta) / (growth + 1)), (1 - delta) / (growth + 1)
        for number, level in enumerate(self._named):
            if not isinstance(level, ApproxDP):
                assert self._which is not None
                is_at_level = self._which[edges] == number
                p[is_at_level], q[is_at_level] = level.even_share()
        return p, q

    def take(self, edges: NDArray[Any], space: Space) -> EdgeLevels:
        """The levels of these edges, for a space with exactly these edges."""
        if self._which is not None:
            return EdgeLevels(space, named=self._named, which=self._which[edges])
        assert self._epsilon is not None
        return EdgeLevels(space, epsilon=self._epsilon[edges], delta=self.delta[edges])

    def to_json(self) -> Any:
        """The levels as plain JSON data: one level, or a list of levels and the position of each edge's level."""
        if self.single is not None:
            return self.single.to_json()
        if self._which is not None:
            return {"levels": [v.to_json() for v in self._named], "which": self._which.tolist()}
        assert self._epsilon is not None
        return {"epsilon": [_number(e) for e in self._epsilon], "delta": self.delta.tolist()}

    def __str__(self) -> str:
        if self.single is not None:
            return str(self.single)
        if self._epsilon is None and len(self._named) <= 4:
            return "per edge: " + ", ".join(map(str, self._named))
        return f"a level for each of {len(self)} edges"

    def __repr__(self) -> str:
        return f"EdgeLevels({self})"


def per_edge(
    space: Space,
    levels: Mapping[Any, Level | Number] | Callable[[Any, Any], Level | Number] | None = None,
    *,
    epsilon: ArrayLike | None = None,
    delta: ArrayLike | None = None,
    default: Level | Number | None = None,
) -> EdgeLevels:
    """A level for each edge: from a mapping of pairs of neighbours, a function of them, or arrays like `space.edges`.

    Parameters
    ----------
    space : Space
        The space whose edges get the levels.
    levels : mapping or callable, optional
        {(a, b): level}; every edge must be listed, in either direction, unless there is a `default`. Or a function of
        two neighbours that returns their level or epsilon, the same in either direction; it is called once for each
        direction of each edge.
    epsilon, delta : array of float, optional
        One entry per edge; `delta` is 0 by default.
    default : level or number, optional
        For the edges that `levels` does not list.

    Examples
    --------
    >>> from utmost.space.families import path
    >>> per_edge(path(3), {(0, 1): 0.5, (2, 1): 1})
    EdgeLevels(per edge: 0.5-DP, 1-DP)
    >>> per_edge(path(4), lambda a, b: 0.5 if 0 in (a, b) else 1)
    EdgeLevels(per edge: 0.5-DP, 1-DP)
    """
    if (levels is None) == (epsilon is None):
        raise InvalidInput(
            "per_edge takes either a mapping {(a, b): level}, a function of two neighbours, or an array epsilon."
        )
    if (levels is not None and delta is not None) or (
        default is not None and (epsilon is not None or callable(levels))
    ):
        raise InvalidInput("delta= goes with epsilon=, and default= with a mapping; drop the other one.")
    if callable(levels):
        return _from_function(space, levels)
    if levels is not None and not isinstance(levels, Mapping):
        raise InvalidInput(
            f"the levels are a {type(levels).__name__}; give a mapping {{(a, b): level}}, a function of two "
            "neighbours, or epsilon= with one number per edge of space.edges."
        )
    if levels is not None:
        return _from_mapping(space, levels, default)
    m = len(space.edge_indices)
    arrays = [
        _aligned(values, m, name) for values, name in ((epsilon, "epsilon"), (0 if delta is None else delta, "delta"))
    ]
    for values, name, most in zip(arrays, ("epsilon", "delta"), (np.inf, 1.0), strict=True):
        wrong = ~((values >= 0) & (values <= most))
        if wrong.any():
            e = int(np.argmax(wrong))
            rule = "0 or more" if name == "epsilon" else "between 0 and 1"
            raise InvalidInput(f"{name} is {float(values[e])!r} on the edge {space.edges[e]}; it must be {rule}.")
    return EdgeLevels(space, epsilon=arrays[0], delta=arrays[1])


def personalized(space: Space, levels_by_person: Sequence[Level | Number]) -> EdgeLevels:
    """Personalised privacy on a Hamming space: the level of an edge is that of the person whose value changes.

    Examples
    --------
    >>> from utmost.space.families import hamming
    >>> personalized(hamming(3, 2), [0.5, 1, 1])
    EdgeLevels(per edge: 0.5-DP, 1-DP)
    """
    if not isinstance(space.family, Hamming):
        raise InvalidInput(f"personalised levels need a space made by hamming(people, values), not {space!r}.")
    people, databases = space.family.people, space.family.points
    if len(levels_by_person) != people:
        raise InvalidInput(f"{len(levels_by_person)} levels for {people} people; give one per person.")
    a, b = space.edge_indices.T
    person = np.argmax(databases.digits(a) != databases.digits(b), axis=0) if len(a) else np.zeros(0, dtype=int)
    named = [as_level(level) for level in levels_by_person]
    distinct = list(dict.fromkeys(named))
    number = np.array([distinct.index(level) for level in named], dtype=np.int32)
    return EdgeLevels(space, named=distinct, which=number[person] if people else np.zeros(0, dtype=np.int32))


def on_edges(space: Space, privacy: Privacy) -> EdgeLevels:
    """An argument `privacy` as levels of the edges of a space: one for all of them, or the levels per edge."""
    if isinstance(privacy, EdgeLevels):
        if privacy.space is not space and privacy.space != space:
            raise InvalidInput(f"the levels belong to {privacy.space!r}, not to {space!r}; make them with per_edge.")
        return privacy
    return EdgeLevels(space, named=[as_level(privacy)])


def levels_from_json(space: Space, data: Any) -> EdgeLevels:
    """The levels written by `EdgeLevels.to_json`."""
    match data:
        case {"kind": _}:
            return on_edges(space, level_from_json(data))
        case {"levels": levels, "which": which}:
            named = [level_from_json(level) for level in levels]
            numbers = np.array(which, dtype=np.int32)
            if len(numbers) != len(space.edge_indices) or (
                len(numbers) and not 0 <= numbers.min() <= numbers.max() < len(named)
            ):
                raise InvalidInput("the levels do not match the edges of the space; one number per edge is needed.")
            return EdgeLevels(space, named=named, which=numbers)
        case {"epsilon": epsilon, "delta": delta}:
            return per_edge(space, epsilon=[float(e) for e in epsilon], delta=delta)
    raise InvalidInput(f"{data!r} does not describe privacy levels.")


def _from_function(space: Space, level_of: Callable[[Any, Any], Level | Number]) -> EdgeLevels:
    """The levels that a function of two neighbours returns; it must not depend on their order."""
    cache: dict[Any, Level] = {}

    def level_between(a: Any, b: Any) -> Level:
        privacy = level_of(a, b)
        try:
            if not isinstance(privacy, Hashable):
                return as_level(privacy)
            key = (type(privacy), privacy)  # otherwise True would be 1
            if key not in cache:
                cache[key] = as_level(privacy)
            return cache[key]
        except InvalidInput as reason:
            raise InvalidInput(f"for the neighbours {a!r} and {b!r} the function of levels fails: {reason}") from None

    numbers: dict[Level, int] = {}
    which = np.zeros(len(space.edge_indices), dtype=np.int32)
    for edge, (a, b) in enumerate(space.edges):
        level, back = level_between(a, b), level_between(b, a)
        if level != back:
            raise InvalidInput(
                f"the function of levels gives {level} from {a!r} to {b!r} and {back} from {b!r} to {a!r}; a promise "
                "holds in both directions, so give the smaller one."
            )
        which[edge] = numbers.setdefault(level, len(numbers))
    return EdgeLevels(space, named=list(numbers), which=which)


def _from_mapping(space: Space, levels: Mapping[Any, Level | Number], default: Level | Number | None) -> EdgeLevels:
    """The levels of a mapping {(a, b): level}."""
    level_list = [as_level(level) for level in levels.values()]
    positions = edge_positions(space, levels.keys())
    base = [] if default is None else [as_level(default)]
    distinct = list(dict.fromkeys([*base, *level_list]))
    number = {level: i for i, level in enumerate(distinct)}
    which = np.full(len(space.edge_indices), 0 if base else -1, dtype=np.int32)
    level_of: dict[int, Level] = {}
    for edge, level in zip(positions.tolist(), level_list, strict=True):
        if level_of.setdefault(edge, level) != level:
            a, b = space.edges[edge]
            raise InvalidInput(
                f"the edge between {a!r} and {b!r} has two levels, {level_of[edge]} and {level}; give it one."
            )
        which[edge] = number[level]
    if len(which) and which.min() < 0:
        a, b = space.edges[int(np.argmin(which))]
        raise InvalidInput(f"the edge between {a!r} and {b!r} has no level; name it, or pass default=.")
    return EdgeLevels(space, named=distinct, which=which)


def _aligned(values: Any, m: int, name: str) -> Floats:
    """Numbers as an array with one entry per edge, checked."""
    try:
        array = np.array(values, dtype=float)  # a copy: levels do not change with the caller's array
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} is {values!r}; give numbers, one per edge of space.edges.") from None
    if array.ndim == 0:
        array = np.full(m, float(array))
    if array.shape != (m,):
        raise InvalidInput(f"{name} has shape {array.shape} for {m} edges; give one entry per edge of space.edges.")
    return array


def _number(value: float) -> float | str:
    return "inf" if math.isinf(value) else value
