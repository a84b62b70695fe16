"""The families of spaces people ask about: counts, sums, grids of counts, databases, histograms.

Each knows its size and its distances in closed form and makes its edges when first needed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from utmost.errors import InvalidInput
from utmost.space.graph import Integers, Space, label_from_json
from utmost.space.points import Histograms, Tuples

Neighbours: TypeAlias = Literal["replace", "add-remove"]


def path(n: int) -> Space:
    """N points 0..n-1 in a row."""
    n = _whole(n, "n")
    return _line(n, 1, ("path", {"n": n}))


def counts(people: int) -> Space:
    """How many of so many people have a property: 0..people, one apart.

    Examples
    --------
    >>> len(counts(101).points)
    102
    """
    people = _whole(people, "people")
    return _line(people + 1, 1, ("counts", {"people": people}))


def sums(people: int, largest: int, neighbours: Neighbours = "replace") -> Space:
    """A sum of values 0..largest over so many people: results up to `largest` apart are neighbours.

    One person moves the sum by at most `largest`, whether replaced, added or removed, so both kinds of neighbours are
    given the same edges (a few at the top end join sums that no coming or going joins: safe, and it keeps the space
    Toeplitz); the kind is kept for reports.
    """
    people, largest = _whole(people, "people"), _whole(largest, "largest")
    _kind(neighbours)
    family = ("sums", {"people": people, "largest": largest, "neighbours": neighbours})
    return _line(people * largest + 1, largest, family)


def differences(people: int, neighbours: Neighbours) -> Space:
    """How many more say yes than no among at most so many people: -people..people.

    Replacing a person moves it by at most 2 (a yes for a no), adding or removing one by at most 1.
    """
    people, reach = _whole(people, "people"), 2 if _kind(neighbours) == "replace" else 1
    family = ("differences", {"people": people, "neighbours": neighbours})
    return _line(2 * people + 1, reach, family, first=-people)


def cycle(n: int) -> Space:
    """N points 0..n-1 in a ring."""
    n = _whole(n, "n")

    def edges() -> Integers:
        here = np.arange(n if n > 2 else max(n - 1, 0))
        return np.column_stack([here, (here + 1) % max(n, 1)])

    def metric(i: Integers, j: Integers) -> Integers:
        apart = np.abs(i - j)
        return np.asarray(np.minimum(apart, n - apart))

    return Space(range(n), edges, ("cycle", {"n": n}), metric)


def complete(n: int) -> Space:
    """N points 0..n-1, each a neighbour of every other."""
    n = _whole(n, "n")
    return Space(
        range(n),
        lambda: np.column_stack(np.triu_indices(n, 1)),
        ("complete", {"n": n}),
        lambda i, j: (i != j).astype(np.int64),
        n * (n - 1) // 2,
    )


def grid(shape: Sequence[int], metric: Literal["chebyshev", "manhattan"] = "chebyshev") -> Space:
    """Tuples of counts: one person moves all of them by at most one each ("chebyshev", king's moves) or one in all.

    Examples
    --------
    >>> grid((3, 3)).distance((0, 0), (2, 2)), grid((3, 3), "manhattan").distance((0, 0), (2, 2))
    (2.0, 4.0)
    """
    if not isinstance(shape, Iterable):
        raise InvalidInput(f"shape is {shape!r}; give a size for each side, such as (30, 30).")
    sizes = tuple(_whole(size, "a side of the shape") for size in shape)
    if metric not in ("chebyshev", "manhattan"):
        raise InvalidInput(f"metric is {metric!r}; give 'chebyshev' (king's moves) or 'manhattan' (one step in all).")
    points = Tuples([range(size) for size in sizes])
    combine = np.max if metric == "chebyshev" else np.sum

    def edges() -> Integers:
        long = [size for size in sizes if size != 1]  # sides of one point join nothing
        index = np.arange(len(points)).reshape(long)
        joined = [np.zeros((0, 2), dtype=np.int64)]
        for step in _steps(len(long), metric):
            here = index[tuple(slice(max(0, -s), size - max(0, s)) for s, size in zip(step, long, strict=True))]
            there = index[tuple(slice(max(0, s), size - max(0, -s)) for s, size in zip(step, long, strict=True))]
            joined.append(np.column_stack([here.ravel(), there.ravel()]))
        return np.concatenate(joined)

    def between(i: Integers, j: Integers) -> Integers:
        apart = np.abs(points.digits(i) - points.digits(j))
        return np.asarray(combine(apart, axis=0)) if sizes else np.zeros(len(i), dtype=np.int64)

    return Space(points, edges, ("grid", {"shape": sizes, "metric": metric}), between)


def hamming(people: int, values: int | Sequence[Any]) -> Space:
    """All databases of so many people with one value each; neighbours differ in one person's value.

    `values` is how many there are (0, 1, ...) or the values themselves.

    Examples
    --------
    >>> hamming(2, ("no", "yes")).points[1]
    ('no', 'yes')
    """
    people = _whole(people, "people")
    axis: Sequence[Any]
    if isinstance(values, int | np.integer):
        axis = range(_whole(values, "values"))
    else:
        axis = tuple(x.item() if isinstance(x, np.generic) else x for x in values)
        if len(set(axis)) < len(axis):
            raise InvalidInput(f"values is {axis!r}, which holds one value twice; give each once.")
    points = Tuples([axis] * people)
    v = len(axis)

    def edges() -> Integers:
        joined = [np.zeros((0, 2), dtype=np.int64)]
        for person in range(people if v > 1 else 0):
            by_value = np.arange(len(points)).reshape(v**person, v, -1).swapaxes(0, 1).reshape(v, -1)
            joined += [np.column_stack([by_value[a], by_value[b]]) for a in range(v) for b in range(a + 1, v)]
        return np.concatenate(joined)

    def metric(i: Integers, j: Integers) -> Integers:
        return np.asarray((points.digits(i) != points.digits(j)).sum(axis=0))

    return Space(
        points, edges, ("hamming", {"people": people, "values": v if isinstance(axis, range) else axis}), metric
    )


def histograms(people: int, bins: int, neighbours: Neighbours = "replace") -> Space:
    """How people spread over bins: exactly so many and one moves (replace), or at most so many and one comes or goes.

    Examples
    --------
    >>> list(histograms(2, 2).points)
    [(0, 2), (1, 1), (2, 0)]
    """
    people, bins = _whole(people, "people"), _whole(bins, "bins")
    slack = _kind(neighbours) == "add-remove"
    points = Histograms(people, bins, slack)

    def edges() -> Integers:
        table = points.table
        joined = [np.zeros((0, 2), dtype=np.int64)]
        columns = range(bins + slack)
        for a, b in ((a, b) for a in columns for b in columns if a < b and (not slack or b == bins)):
            here = np.flatnonzero(table[:, b] > 0)
            moved = table[here].copy()
            moved[:, a] += 1
            moved[:, b] -= 1
            joined.append(np.column_stack([here, points.positions(moved)]))
        return np.concatenate(joined)

    def metric(i: Integers, j: Integers) -> Integers:
        apart = np.abs(points.table[i] - points.table[j])[:, :bins].sum(axis=1)
        return np.asarray(apart if slack else apart // 2)

    return Space(points, edges, ("histograms", {"people": people, "bins": bins, "neighbours": neighbours}), metric)


FAMILIES: dict[str, Callable[..., Space]] = {
    f.__name__: f for f in (path, counts, sums, differences, cycle, complete, grid, hamming, histograms)
}
"""The named families, as problem files and saved solutions call them."""


def space_from_json(data: Mapping[str, Any]) -> Space:
    """The space written by `Space.to_json`, or described in a problem file."""
    arguments = dict(data)
    name = arguments.pop("family", None)
    if name is None:
        if not {"points", "edges"} <= set(data):
            raise InvalidInput("a space needs a family, or points and edges; add them.")
        return Space.from_json(data)
    if name not in FAMILIES:
        raise InvalidInput(f"{name!r} is not a family of spaces; choose from {', '.join(sorted(FAMILIES))}.")
    try:
        return FAMILIES[name](**{k: label_from_json(v) if isinstance(v, list) else v for k, v in arguments.items()})
    except TypeError as problem:
        raise InvalidInput(f"the space {name} does not take these arguments: {problem}.") from None


# ---- how they are built ----


def _line(n: int, reach: int, family: tuple[str, dict[str, Any]], first: int = 0) -> Space:
    """Integers first..first+n-1; those at most `reach` apart are neighbours."""

    def edges() -> Integers:
        here = np.arange(n, dtype=np.int64)
        joined = [np.column_stack([here[: n - step], here[step:]]) for step in range(1, min(reach, n - 1) + 1)]
        return np.concatenate([np.zeros((0, 2), dtype=np.int64), *joined])

    def metric(i: Integers, j: Integers) -> Integers:
        return np.asarray(-(-np.abs(i - j) // max(reach, 1)))

    return Space(range(first, first + n), edges, family, metric)


def _steps(dimensions: int, metric: str) -> list[tuple[int, ...]]:
    """One of each pair of opposite steps to a neighbour."""
    steps = [s for s in Tuples([(-1, 0, 1)] * dimensions) if s > (0,) * dimensions]
    return [s for s in steps if metric == "chebyshev" or sum(map(abs, s)) == 1]


def _whole(value: Any, name: str) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if number < 0 or isinstance(value, bool):
        raise InvalidInput(f"{name} is {value!r}; give a whole number, 0 or more.")
    return number


def _kind(neighbours: str) -> str:
    if neighbours not in ("replace", "add-remove"):
        raise InvalidInput(f"neighbours is {neighbours!r}; say 'replace' or 'add-remove'.")
    return neighbours
