"""The graph of a query's results, on which oblivious mechanisms are designed.

A mechanism is oblivious if it depends on a dataset only through the result of the query. Two results are neighbours if
some two neighbouring datasets have them (REG Definition 3), and a mechanism that is private between neighbouring
results is private on the datasets (REG Lemma 1). So a design on the few results applies to the many datasets.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cmp_to_key
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput, UnsupportedLevel
from utmost.exact import ExpSum, compare
from utmost.exact.arrays import Integers
from utmost.exact.citations import cites
from utmost.privacy import ApproxDP, GaussianDP, Level, PureDP
from utmost.space.edge_levels import EdgeLevels, Privacy, on_edges, per_edge
from utmost.space.families import complete, cycle, path, sums
from utmost.space.graph import Space
from utmost.space.morphisms import Morphism


@cites("REG-lemma-1")
def query(space: Space, function: Any, privacy: Privacy | None = None) -> tuple[Space, Morphism]:
    """The graph of results of a query, and the morphism that maps every dataset to its result (REG Definition 3).

    Design on the results, then pull the mechanism back: `onto.pull_back(mechanism)` satisfies the same level on the
    datasets.

    Parameters
    ----------
    space : Space
        The datasets and their adjacency, such as `um.hamming(people, values)`.
    function : callable, mapping or sequence
        The result at every dataset, a sequence aligned with the points: any hashable value (a number, text, a tuple).
        A callable is called once for each dataset.
    privacy : level, number or EdgeLevels, optional
        The levels between datasets. Then `onto.privacy` holds the levels that a mechanism on the results must satisfy:
        between two results, the strictest level of all neighbours that have them.

    Returns
    -------
    results : Space
        One point per result that occurs, in increasing order where results are comparable, else in order of
        appearance. Whole numbers from 0 that form a path, a cycle, a line of sums or a complete graph are made as that
        family, so that its theorems apply.
    onto : Morphism
        From the datasets to the results.

    Examples
    --------
    Five people with a value 0, 1 or 2 each. One person can change the largest value arbitrarily, and the sum by two:

    >>> import statistics
    >>> import utmost as um
    >>> people = um.hamming(5, 3)
    >>> um.query(people, sum)[0]
    sums(people=5, largest=2, neighbours='replace')
    >>> um.query(people, max)[0]
    complete(n=3)
    >>> um.query(people, statistics.multimode)[0]
    Traceback (most recent call last):
        ...
    utmost.errors.InvalidInput: the result at (0, 0, 0, 0, 0) is a list, which no point can be; make it a tuple.
    >>> modes = um.query(people, lambda values: tuple(sorted(statistics.multimode(values))))[0]
    >>> modes.points
    [(0,), (0, 1), (0, 2), (1,), (1, 2), (2,)]
    >>> modes.distance((0,), (1,))
    1.0
    >>> results, onto = um.query(people, statistics.median)
    >>> best = um.finite.optimal(results, 1.0)
    >>> round(onto.pull_back(best.mechanism).epsilon(people), 9)
    1.0

    The first of three people has a stricter level than the others:

    >>> database = um.hamming(3, 2)
    >>> results, onto = um.query(database, lambda d: (d[0], d[1] + d[2]), um.personalized(database, [0.1, 1, 1]))
    >>> onto.privacy
    EdgeLevels(per edge: 1-DP, 0.1-DP)
    """
    result_at = [
        _named(point, result) for point, result in zip(space.points, space.align(function, "the query"), strict=True)
    ]
    names = list(dict.fromkeys(result_at))
    with suppress(TypeError):  # results that are not comparable stay in order of appearance
        names = sorted(names)
    position = {name: i for i, name in enumerate(names)}
    where = np.array([position[result] for result in result_at], dtype=np.int64)
    ends = np.sort(where[space.edge_indices], axis=1)
    crossing = np.flatnonzero(ends[:, 0] != ends[:, 1])
    keys, which = np.unique(ends[crossing] @ np.array([max(len(names), 1), 1]), return_inverse=True)
    pairs = np.column_stack(np.divmod(keys, max(len(names), 1)))
    results = _recognised(names, pairs)
    onto = Morphism(space, results, result_at)
    if privacy is not None:
        onto.privacy = _pushed(on_edges(space, privacy), crossing, which.ravel(), pairs, results)
    return results, onto


def _named(point: Any, result: Any) -> Any:
    """A result as the label of a point, checked."""
    if isinstance(result, np.generic):
        result = result.item()
    try:
        hash(result)
    except TypeError:
        kind = type(result).__name__
        raise InvalidInput(f"the result at {point!r} is a {kind}, which no point can be; make it a tuple.") from None
    if result != result:
        raise InvalidInput(f"the result at {point!r} is {result!r}, which does not equal itself; give it a name.")
    return result


def _recognised(names: list[Any], pairs: Integers) -> Space:
    """The space with these points and edges, as a family where it is one."""
    n = len(names)
    if names != list(range(n)) or not all(type(name) is int for name in names):
        return Space(names, pairs)
    reach = int(np.diff(pairs, axis=1).max(initial=1))
    likely = [path(n), complete(n), cycle(n)]
    if n > 1 and (n - 1) % reach == 0:
        likely.append(sums((n - 1) // reach, reach))
    for family in likely:
        if family.edge_count == len(pairs):
            edges = np.sort(family.edge_indices, axis=1)
            if np.array_equal(edges[np.lexsort(edges.T[::-1])], pairs):
                return family
    return Space(range(n), pairs)


def _pushed(
    levels: EdgeLevels, moves: NDArray[Any], which: NDArray[Any], pairs: Integers, results: Space
) -> EdgeLevels:
    """The levels between results: edge `moves[i]` of the datasets maps to the pair `pairs[which[i]]` of results."""
    if levels.single is not None:
        return on_edges(results, levels.single)
    number = levels.numbers()
    kinds = {int(k): levels[int(e)] for k, e in zip(*np.unique(number, return_index=True), strict=True)}
    over: list[set[int]] = [set() for _ in pairs]
    for key in np.unique(which * len(kinds) + number[moves]).tolist():
        over[key // len(kinds)].add(key % len(kinds))
    strongest: dict[frozenset[int], Level] = {}
    mapping: dict[Any, Any] = {}
    for (a, b), some in zip(pairs.tolist(), over, strict=True):
        group = frozenset(some)
        if group not in strongest:
            strongest[group] = _strongest([kinds[k] for k in sorted(group)])
        mapping[results.points[a], results.points[b]] = strongest[group]
    return per_edge(results, mapping)


def _strongest(levels: list[Level]) -> Level:
    """A level that implies all of these: the strictest if there is one, else the least epsilon with the least delta."""
    if len(levels) == 1:
        return levels[0]
    gaussian = [level for level in levels if isinstance(level, GaussianDP)]
    if len(gaussian) == len(levels):
        return min(gaussian, key=lambda level: level.mu)
    approx = [level for level in levels if isinstance(level, ApproxDP)]
    if len(approx) < len(levels):
        raise UnsupportedLevel(
            f"neighbours with the same two results are promised {' and '.join(map(str, levels))}, levels of different "
            "kinds; promise the same kind to all, such as (epsilon, delta)."
        )
    least = min(approx, key=cmp_to_key(_by_epsilon))
    delta = min(level.delta for level in approx)
    if least.delta == delta:
        return least
    if least.ratio != 1:
        return ApproxDP.from_ratio(least.ratio, delta) if delta else PureDP.from_ratio(least.ratio)
    return ApproxDP(least.exponent, delta) if delta else PureDP(least.exponent)


def _by_epsilon(a: ApproxDP, b: ApproxDP) -> int:
    """-1, 0 or 1 as a has a smaller, the same or a larger epsilon than b, exactly; ties by delta."""
    infinite = [level.exponent == float("inf") for level in (a, b)]
    if any(infinite):
        order = infinite[0] - infinite[1]
    else:
        order = compare(*(ExpSum.rational(1).times(level.ratio, level.exponent) for level in (a, b)))  # type: ignore[arg-type]
    return order or (a.delta > b.delta) - (a.delta < b.delta)
