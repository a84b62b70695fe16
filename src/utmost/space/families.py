"""Constructors of named families of spaces: counts, sums, grids of counts, databases, histograms.

Each has its size and its distances in closed form and makes its edges when first needed (`family.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from utmost.errors import InvalidInput
from utmost.exact import as_whole
from utmost.space import family as known
from utmost.space.family import Neighbours as Neighbours
from utmost.space.family import as_neighbours
from utmost.space.graph import Space, label_from_json


def path(n: int) -> Space:
    """The path with points 0..n-1."""
    return Space.of(known.Path(as_whole(n, "n")))


def counts(people: int) -> Space:
    """Counts of people with a property: 0..people, neighbours differ by one.

    Examples
    --------
    >>> len(counts(101).points)
    102
    """
    return Space.of(known.Counts(as_whole(people, "people")))


def sums(people: int, largest: int, neighbours: Neighbours = "replace") -> Space:
    """Sums of values 0..largest over `people` people: results up to `largest` apart are neighbours.

    One person changes the sum by at most `largest`, whether replaced, added or removed, so both adjacencies have the
    same edges (a few at the top end are not needed for add-remove: safe, and it keeps the space Toeplitz); the
    adjacency is recorded for reports.
    """
    return Space.of(known.Sums(as_whole(people, "people"), as_whole(largest, "largest"), as_neighbours(neighbours)))


def differences(people: int, neighbours: Neighbours) -> Space:
    """The number of yes answers less that of no answers among at most `people` people: -people..people.

    Replacing a person changes it by at most 2 (a yes for a no), adding or removing one by at most 1.
    """
    return Space.of(known.Differences(as_whole(people, "people"), as_neighbours(neighbours)))


def cycle(n: int) -> Space:
    """The cycle with points 0..n-1."""
    return Space.of(known.Cycle(as_whole(n, "n")))


def complete(n: int) -> Space:
    """The complete graph with points 0..n-1: every two are neighbours."""
    return Space.of(known.Complete(as_whole(n, "n")))


def grid(shape: Sequence[int], metric: Literal["chebyshev", "manhattan"] = "chebyshev") -> Space:
    """Tuples of counts: one person changes each of them by at most one ("chebyshev"), or one of them ("manhattan").

    Examples
    --------
    >>> grid((3, 3)).distance((0, 0), (2, 2)), grid((3, 3), "manhattan").distance((0, 0), (2, 2))
    (2.0, 4.0)
    """
    if not isinstance(shape, Iterable):
        raise InvalidInput(f"shape is {shape!r}; give a size for each side, such as (30, 30).")
    sizes = tuple(as_whole(size, "a side of the shape") for size in shape)
    if metric not in ("chebyshev", "manhattan"):
        raise InvalidInput(f"metric is {metric!r}; give 'chebyshev' (king's moves) or 'manhattan' (one step in all).")
    return Space.of(known.Grid(sizes, metric))


def hamming(people: int, values: int | Sequence[Any]) -> Space:
    """All databases of `people` people with one value each; neighbours differ in one person's value.

    `values` is the number of values (0, 1, ...) or the values themselves.

    Examples
    --------
    >>> hamming(2, ("no", "yes")).points[1]
    ('no', 'yes')
    """
    people = as_whole(people, "people")
    if isinstance(values, int | np.integer):
        return Space.of(known.Hamming(people, as_whole(values, "values")))
    axis = tuple(x.item() if isinstance(x, np.generic) else x for x in values)
    if len(set(axis)) < len(axis):
        raise InvalidInput(f"values is {axis!r}, which holds one value twice; give each once.")
    return Space.of(known.Hamming(people, axis))


def histograms(people: int, bins: int, neighbours: Neighbours = "replace") -> Space:
    """Histograms of exactly `people` people over bins ("replace"), or of at most that many ("add-remove").

    Examples
    --------
    >>> list(histograms(2, 2).points)
    [(0, 2), (1, 1), (2, 0)]
    """
    return Space.of(known.Histograms(as_whole(people, "people"), as_whole(bins, "bins"), as_neighbours(neighbours)))


FAMILIES: dict[str, Callable[..., Space]] = {
    f.__name__: f for f in (path, counts, sums, differences, cycle, complete, grid, hamming, histograms)
}
"""The families by their names in problem files and saved solutions."""


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
