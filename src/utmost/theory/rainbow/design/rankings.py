"""Regions of one ranking, their boundaries, and the optimal mechanism inside them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from utmost.errors import InvalidInput, NoExtension, UnsupportedLevel
from utmost.exact import LEAST, as_rational, without_underflow
from utmost.exact.arrays import Floats
from utmost.exact.bisection import first_between
from utmost.exact.citations import cites
from utmost.mechanism import FiniteMechanism, average
from utmost.mechanism.violations import satisfies_level
from utmost.privacy import ApproxDP, GaussianDP, Level, as_level
from utmost.solution import Problem, Solution, certificate_of
from utmost.solution.sentences import RANKINGS
from utmost.space import Morphism, Space
from utmost.space.edge_levels import EdgeLevels, Privacy, on_edges

Rainbow: TypeAlias = tuple[Any, ...]
ROWS_AT_ONCE = 2**13


@cites("RAIN-theorem-4", "RAIN-theorem-5", "RAIN-corollary-1", "RAIN-corollary-2")
def line(boundary: ArrayLike, privacy: Privacy, length: int | ArrayLike) -> Floats:
    """The optimal distributions at distance 0, 1, ... from a boundary, best output first.

    Parameters
    ----------
    boundary : array of float
        The probabilities of the outputs at the boundary, in the order of preference.
    privacy : level or number
        One level with a concave `upper`.
    length : int or array of int
        How many distances, or an array of distances; the cost does not grow with the distance.

    Notes
    -----
    RAIN Theorems 4, 5 and Corollary 1 for three outputs and pure levels. For any number of outputs and any concave
    level: the j best outputs are an event, whose probability is at most `upper` of that at a neighbour; raising each to
    its bound is private, because they are the Neyman-Pearson events.

    Examples
    --------
    RAIN Example 1, at distances 0, 6 and 12.

    >>> import utmost as um
    >>> um.rainbow.line([0.0545, 0.1636, 0.7819], 0.1823, [0, 6, 12]).round(4)
    array([[0.0545, 0.1636, 0.7819],
           [0.1627, 0.4561, 0.3811],
           [0.4858, 0.3865, 0.1277]])
    """
    level = one_concave_level(privacy)
    first = np.array([float(x) for x in as_exact_distribution(boundary, "the boundary")])
    distances = np.arange(_whole(length)) if np.ndim(length) == 0 else np.asarray(length)
    return _inwards(level, first, distances)


def _inwards(level: Level, first: Floats, distances: NDArray[Any]) -> Floats:
    """The rows at these distances, each entry accurate where it is small, and none 0 by underflow.

    Where all but the best output have their least probability, farther rows are equal, and computed once.
    """
    k = len(first)
    if k < 2 or not len(distances):
        return np.ones((len(distances), k))
    ahead, behind = (np.minimum(x, 1.0) for x in (np.cumsum(first)[:-1], np.cumsum(first[::-1])[::-1][1:]))
    distinct_distances, which = distances, None
    if isinstance(level, ApproxDP | GaussianDP) and distances.dtype.kind in "iu":  # any distance in constant time
        last_change = _last_change(level, ahead[0], behind[0], int(distances.max()))
        if last_change < distances.max():
            distinct_distances, which = np.unique(np.minimum(distances, last_change), return_inverse=True)
    blocks = [
        _rows(level, first, ahead, behind, distinct_distances[start : start + ROWS_AT_ONCE])
        for start in range(0, len(distinct_distances), ROWS_AT_ONCE)
    ]
    rows = np.concatenate(blocks)
    return rows if which is None else np.asarray(rows[which.ravel()])


def _last_change(level: Level, best: Floats, rest: Floats, farthest: int) -> int:
    """The distance from which all but the best output have at most `LEAST` in total, by bisection; or `farthest`."""
    return first_between(
        lambda distance: bool(level.move_after(np.array(distance), best, rest)[1] <= LEAST), -1, farthest
    )


def _rows(level: Level, first: Floats, ahead: Floats, behind: Floats, distances: NDArray[Any]) -> Floats:
    """Rows from the bounds on prefixes (`ahead`) and on suffixes (`behind`).

    Where both ends of an entry lie on one linear piece of `upper_after`, it is its boundary value times the slope;
    else a difference of prefixes or of suffixes, whichever is smaller.
    """
    steps, ends = distances[:, None], np.ones((len(distances), 1))
    higher, lower, slopes = level.bounds_after(steps, ahead, behind)
    best, rest = np.hstack([0 * ends, higher, ends]), np.hstack([ends, lower, 0 * ends])
    rows = np.where(best[:, 1:] <= rest[:, :-1], np.diff(best, axis=1), -np.diff(rest, axis=1))
    middle = slice(1, -1)  # the empty and the certain event, at the ends, have constant probability
    rows[:, middle] = np.where(slopes[:, :-1] == slopes[:, 1:], slopes[:, 1:] * first[middle], rows[:, middle])
    rows = without_underflow(np.maximum(rows, 0.0), level.keeps_positive & (first > 0))
    return np.where(steps == 0, first, rows)


@cites("RAIN-theorem-3")
def boundary_space(space: Space, preferences: Any) -> tuple[Space, Morphism]:
    """The boundary rainbow graph: (ranking, distance to its boundary), and the morphism onto it (RAIN Def. 8).

    Examples
    --------
    >>> import utmost as um
    >>> lines, onto = um.rainbow.boundary_space(um.path(5), lambda i: ("a", "b") if i < 3 else ("b", "a"))
    >>> onto(0), onto(4)
    ((('a', 'b'), 2.0), (('b', 'a'), 1.0))
    """
    return lines_of(find_regions(space, preferences))


def lines_of(regions: Regions) -> tuple[Space, Morphism]:
    """The boundary rainbow graph of known regions, and the morphism onto it."""
    space = regions.space
    names: list[Any] = [
        (regions.rainbows[r], d) for r, d in zip(regions.region.tolist(), regions.distance.tolist(), strict=True)
    ]
    a, b = space.edge_indices.T
    edges = [(names[i], names[j]) for i, j in zip(a.tolist(), b.tolist(), strict=True) if names[i] != names[j]]
    points = sorted(set(names), key=lambda name: (regions.rainbows.index(name[0]), name[1]))
    lines = Space.from_edges(edges, points=points)
    return lines, Morphism(space, lines, names)


@cites("RAIN-theorem-2", "RAIN-theorem-3")
def extend(
    space: Space, preferences: Any, boundary: Mapping[Rainbow, Any], privacy: Privacy
) -> Solution[FiniteMechanism]:
    """The optimal mechanism that is the same on all boundary points of a ranking.

    Parameters
    ----------
    preferences : mapping, array or callable
        At each point a tuple of all outputs, best first.
    boundary : mapping
        For each ranking that has a boundary, the distribution there: {output: probability}, or the probabilities in
        the order of that ranking. A float means its shortest decimal.
    privacy : level or number
        One level with a concave `upper`; for levels per edge see `lexicographic`.

    Returns
    -------
    Solution
        Best in the lexicographic and in the dominance order. `NoExtension` names the edge between two regions, and the
        output, at which the boundary is not private. A part without a boundary gives its first output.

    Examples
    --------
    >>> import utmost as um
    >>> rankings = lambda votes: ("a", "b", "c") if votes < 4 else ("b", "c", "a")
    >>> boundary = {("a", "b", "c"): {"a": 0.5, "b": 0.3, "c": 0.2}, ("b", "c", "a"): {"a": 0.3, "b": 0.5, "c": 0.2}}
    >>> best = um.rainbow.extend(um.path(8), rankings, boundary, um.PureDP.from_ratio(2))
    >>> round(best.mechanism.probability(0, "a"), 6), bool(best.verify())
    (0.9375, True)
    """
    levels = on_edges(space, privacy)
    level = one_concave_level(privacy)
    regions = find_regions(space, preferences)
    rows = read_boundary(regions, boundary)
    require_private(regions, rows, levels)
    return solve_inside(levels, regions, rows, level)


@dataclass(frozen=True)
class Regions:
    """The regions of a question: every point's ranking, and its distance to the boundary of its region."""

    space: Space
    outputs: tuple[Any, ...]
    rainbows: tuple[Rainbow, ...]
    region: NDArray[np.int64]
    distance: Floats

    @property
    def order(self) -> NDArray[np.int64]:
        """For each ranking, the columns of its outputs, best first."""
        return np.array([[self.outputs.index(o) for o in r] for r in self.rainbows], dtype=np.int64).reshape(
            len(self.rainbows), len(self.outputs)
        )

    def boundary(self, rainbow: Rainbow) -> tuple[Any, ...]:
        """The points of a ranking that have a neighbour of another one (RAIN Def. 5)."""
        return self._points(rainbow, self.distance == 0)

    def interior(self, rainbow: Rainbow) -> tuple[Any, ...]:
        """The points of a ranking whose neighbours all share it."""
        return self._points(rainbow, self.distance > 0)

    def _points(self, rainbow: Rainbow, where: NDArray[np.bool_]) -> tuple[Any, ...]:
        if rainbow not in self.rainbows:
            raise InvalidInput(f"no point has the ranking {rainbow!r}; the rankings are in `.rainbows`.")
        positions = np.flatnonzero((self.region == self.rainbows.index(rainbow)) & where)
        return tuple(self.space.points[int(i)] for i in positions)

    @property
    def with_boundary(self) -> NDArray[np.int64]:
        """The positions of the rankings whose region has a boundary."""
        return np.unique(self.region[self.distance == 0])


def find_regions(space: Space, preferences: Any) -> Regions:
    """The regions of a question, with boundaries and interiors; every point must rank the same outputs.

    Examples
    --------
    >>> import utmost as um
    >>> regions = um.rainbow.find_regions(um.path(5), lambda i: ("a", "b") if i < 3 else ("b", "a"))
    >>> regions.boundary(("a", "b")), regions.interior(("a", "b"))
    ((2,), (0, 1))
    """
    rankings = [
        tuple(r) if isinstance(r, Iterable) and not isinstance(r, str) else (r,)
        for r in space.align(preferences, "preferences")
    ]
    rainbows = tuple(dict.fromkeys(rankings))
    outputs = rainbows[0] if rainbows else ()
    for ranking in rainbows:
        if len(set(ranking)) != len(ranking) or set(ranking) != set(outputs):
            point = space.points[rankings.index(ranking)]
            raise InvalidInput(
                f"{point!r} ranks {ranking!r}, which is not an order of the outputs {outputs!r}; every point must rank "
                "the same outputs, each once."
            )
    number = {ranking: i for i, ranking in enumerate(rainbows)}
    region = np.array([number[r] for r in rankings], dtype=np.int64)
    a, b = space.edge_indices.T
    crossing = region[a] != region[b]
    ends = np.unique(space.edge_indices[crossing])
    distance = space.distances_from([space.points[int(i)] for i in ends]) if len(ends) else np.full(len(region), np.inf)
    return Regions(space, outputs, rainbows, region, distance)


def read_boundary(regions: Regions, boundary: Mapping[Rainbow, Any]) -> list[list[Fraction] | None]:
    """For each ranking its boundary distribution in the order of the outputs, exactly; None without a boundary."""
    for ranking in boundary:
        if ranking not in regions.rainbows:
            raise InvalidInput(f"the boundary names the ranking {ranking!r}, which no point has; drop it.")
    rows: list[list[Fraction] | None] = [None] * len(regions.rainbows)
    for i in regions.with_boundary.tolist():
        ranking = regions.rainbows[i]
        if ranking not in boundary:
            raise InvalidInput(f"the boundary says nothing about the ranking {ranking!r}; give its distribution.")
        rows[i] = read_row(regions, ranking, boundary[ranking], f"the boundary of {ranking!r}")
    return rows


def read_row(regions: Regions, ranking: Rainbow, values: Any, name: str) -> list[Fraction]:
    """A distribution in the order of the outputs, from a mapping or from probabilities in the order of a ranking."""
    if isinstance(values, Mapping):
        if set(values) != set(regions.outputs):
            raise InvalidInput(f"{name} must give a probability to each of {regions.outputs!r}.")
        return as_exact_distribution([values[o] for o in regions.outputs], name)
    ordered = as_exact_distribution(values, name)
    if len(ordered) != len(ranking):
        raise InvalidInput(f"{name} has {len(ordered)} entries for {len(ranking)} outputs.")
    return [ordered[ranking.index(o)] for o in regions.outputs]


def require_private(regions: Regions, rows: Sequence[list[Fraction] | None], levels: EdgeLevels) -> None:
    """Refuse boundary distributions that are not private across an edge between regions, decided in rationals."""
    checked_keys: set[Any] = set()
    scaled_rows: list[tuple[int, tuple[int, ...]]] = []
    for row in rows:
        scale = math.lcm(*(x.denominator for x in row)) if row is not None else 1
        scaled_rows.append((scale, tuple(int(x * scale) for x in row or ())))
    sides = regions.region[regions.space.edge_indices]
    pairs, edges = np.unique(np.sort(sides, axis=1), axis=0, return_index=True)
    for edge in np.sort(edges[pairs[:, 0] != pairs[:, 1]]).tolist():
        a, b = regions.space.edge_indices[edge].tolist()
        for u, v in ((a, b), (b, a)):
            (one, here), (other, there) = scaled_rows[regions.region[u]], scaled_rows[regions.region[v]]
            key = one, other, frozenset(Counter(zip(here, there, strict=True)).items())
            if key in checked_keys:  # the same two distributions, up to the names of the outputs
                continue
            checked_keys.add(key)
            total = math.lcm(one, other)
            counts = [tuple(w * (total // scale) for w in row) for scale, row in ((one, here), (other, there))]
            if not satisfies_level(levels[edge], counts[0], counts[1], total):
                _refuse(regions, levels[edge], u, v, rows[regions.region[u]] or [], rows[regions.region[v]] or [])


def _refuse(regions: Regions, level: Level, u: int, v: int, here: list[Fraction], there: list[Fraction]) -> None:
    """Raise `NoExtension` for two boundary distributions, naming the output with the largest ratio."""
    ratios = [math.inf if q == 0 < p else float(p / q) if p else 0.0 for p, q in zip(here, there, strict=True)]
    worst = int(np.argmax(ratios))
    one, other, output = regions.space.points[u], regions.space.points[v], regions.outputs[worst]
    requested, forcing = float(here[worst]), float(there[worst])
    bound = float(level.upper(forcing))
    raise NoExtension(
        f"the boundary is not {level} between {one!r} and {other!r}: the output {output!r} has probability "
        f"{requested:.6g} at {one!r} and {forcing:.6g} at {other!r}. Bring the two boundary distributions closer, "
        "allow a larger epsilon, or let rainbow.best_boundary choose them.",
        point=one,
        asked=requested,
        forced_by=other,
        bound=bound,
        output=output,
    )


def solve_inside(
    levels: EdgeLevels,
    regions: Regions,
    rows: Sequence[list[Fraction] | None],
    level: Level,
    reason: str = RANKINGS,
) -> Solution[FiniteMechanism]:
    """The optimal mechanism from the boundary distribution of every region, with its proof."""
    matrix = np.zeros((len(regions.region), len(regions.outputs)))
    for i, order in enumerate(regions.order):
        members = np.flatnonzero(regions.region == i)
        has_boundary = np.isfinite(regions.distance[members])
        matrix[members[~has_boundary], order[0]] = 1.0
        row = rows[i]
        if row is not None and has_boundary.any():
            distances = regions.distance[members[has_boundary]].astype(np.int64)
            distinct, which = np.unique(distances, return_inverse=True)
            lines = _inwards(level, np.array([float(row[o]) for o in order]), distinct)
            matrix[np.ix_(members[has_boundary], order)] = lines[which]
    p_first = matrix[np.arange(len(matrix)), regions.order[regions.region, 0]] if len(matrix) else np.zeros(0)
    data = {
        "outputs": regions.outputs,
        "region": regions.region,
        "rankings": regions.order,
        "boundary": np.array(
            [[float(x) for x in row] if row is not None else [0.0] * len(regions.outputs) for row in rows]
        ),
    }
    mechanism = FiniteMechanism(matrix, regions.space.points, regions.outputs)
    problem = Problem("rainbow.extend", regions.space, levels, data)
    return Solution(problem, mechanism, average(p_first), certificate_of(problem, mechanism, "theorem", reason=reason))


def one_concave_level(privacy: Privacy) -> Level:
    """One level with a concave upper function, checked."""
    if isinstance(privacy, EdgeLevels):
        if privacy.single is None:
            raise UnsupportedLevel(
                "rainbow mechanisms need one level for all edges: with levels per edge no best mechanism need exist "
                "(docs/rainbow.md has a triangle). Use rainbow.lexicographic, which solves a linear program."
            )
        privacy = privacy.single
    level = as_level(privacy)
    if not level.concave:
        raise UnsupportedLevel(
            f"{level} is not concave, so it promises nothing about three outputs; use binary.extend."
        )
    return level


def as_exact_distribution(values: Any, name: str) -> list[Fraction]:
    """Probabilities as rationals that add up to 1 exactly, from ones that do so within rounding."""
    exact = [as_rational(x, f"a probability in {name}") for x in values]
    total = sum(exact, Fraction(0))
    if any(x < 0 for x in exact):
        raise InvalidInput(f"{name} is {[float(x) for x in exact]}; probabilities are 0 or more, and add up to 1.")
    if abs(total - 1) > Fraction(1, 10**9):
        raise InvalidInput(
            f"{name} is {[float(x) for x in exact]}, which adds up to {float(total):.10g} and not to 1; give more "
            "digits or fractions (Fraction(3, 55)), or divide by the sum if that is what you mean."
        )
    largest = exact.index(max(exact))
    exact[largest] += 1 - total  # three times 0.333...3 misses 1 by rounding; the likeliest output absorbs it
    return exact


def _whole(length: Any) -> int:
    """The number of distances, checked."""
    if isinstance(length, bool) or not isinstance(length, int | np.integer) or length < 0:
        raise InvalidInput(f"length is {length!r}; give a whole number of distances, or an array of them.")
    return int(length)
