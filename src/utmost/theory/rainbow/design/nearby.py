"""The optimal distribution at one dataset of a space too large to list, from its distance to the boundary."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from utmost.errors import InvalidInput, TooLarge
from utmost.exact import Number
from utmost.exact.citations import cites
from utmost.privacy import Level
from utmost.space import Space
from utmost.space.edge_levels import on_edges
from utmost.theory.rainbow.design.rankings import (
    Rainbow,
    find_regions,
    line,
    one_concave_level,
    read_boundary,
    require_private,
)


@dataclass(frozen=True)
class LocalRow:
    """The optimal distribution at one dataset, computed from part of a space.

    Attributes
    ----------
    outputs : tuple
        The outputs as the dataset ranks them, best first.
    probabilities : tuple of float
        The probability of each of them.
    distance : float
        The number of steps to the boundary of the ranking; infinity if there is none.
    explored : int
        How many datasets were explored.
    """

    outputs: Rainbow
    probabilities: tuple[float, ...]
    distance: float
    explored: int

    def probability(self, output: Any) -> float:
        """The probability of an output at this dataset."""
        if output not in self.outputs:
            raise InvalidInput(f"{output!r} is not an output; the dataset ranks {self.outputs!r}.")
        return self.probabilities[self.outputs.index(output)]

    @property
    def note(self) -> str:
        """In words: how much of the space was explored, and what was checked there."""
        return (
            f"{self.explored} datasets were looked at; that the boundary is private was checked between the rankings "
            "that meet nearest to this dataset only."
        )


@cites("RAIN-theorem-2", "RAIN-theorem-3")
def at(
    dataset: Hashable,
    neighbours: Callable[[Any], Iterable[Any]],
    preferences: Callable[[Any], Rainbow],
    boundary: Mapping[Rainbow, Any],
    privacy: Level | Number,
    limit: int = 10**6,
) -> LocalRow:
    """The row of `extend` at one dataset, exploring only as far as the boundary of its ranking.

    The optimal mechanism depends on a dataset through its ranking and its distance to the boundary alone (RAIN
    Theorem 3), so a breadth-first search to the nearest dataset of another ranking suffices.

    Parameters
    ----------
    dataset : hashable
        The point to answer for.
    neighbours : callable
        neighbours(dataset) gives the neighbours of a dataset.
    preferences : callable
        preferences(dataset) gives its ranking: a tuple of all outputs, best first.
    boundary : mapping
        For each ranking that has a boundary, the distribution there, as in `extend`.
    privacy : level or number
        One level with a concave `upper`.
    limit : int
        How many datasets may be explored before `TooLarge`.

    Returns
    -------
    LocalRow
        `NoExtension` if the boundary is not private where the search meets it. A dataset from which no other ranking
        can be reached gives its first output.

    Examples
    --------
    A million voters and three candidates, 5 * 10^11 tallies. One voter changes from one candidate to another; after six
    such changes "a" and "b" could be even.

    >>> import itertools
    >>> import utmost as um
    >>> def changes(tally):
    ...     for i, j in itertools.permutations(range(3), 2):
    ...         if tally[i]:
    ...             yield tuple(n - (k == i) + (k == j) for k, n in enumerate(tally))
    >>> ranking = lambda tally: tuple(sorted("abc", key=lambda c: (-tally["abc".index(c)], c)))
    >>> boundary = {r: [0.5, 0.3, 0.2] for r in itertools.permutations("abc")}
    >>> row = um.rainbow.at((400_006, 399_994, 200_000), changes, ranking, boundary, 1.0)
    >>> row.distance, row.explored < 200, round(row.probability("a"), 6)
    (6.0, True, 0.998761)
    """
    level = one_concave_level(privacy)
    ranking = tuple(preferences(dataset))
    visited, layer, distance = {dataset}, [dataset], 0
    while layer:
        crossing: list[tuple[Any, Any]] = []
        ring: list[Any] = []
        rankings = {}
        for v in layer:
            for u in neighbours(v):
                if u in visited:
                    continue
                other = tuple(preferences(u))
                if other != ranking:
                    crossing.append((v, u))
                    rankings[u] = other
                    continue
                visited.add(u)
                ring.append(u)
            if len(visited) > limit:
                raise TooLarge(
                    f"more than {limit} datasets of this ranking lie within {distance + 1} steps, and none of them is "
                    "at its boundary; raise limit, or use rainbow.line with the distance if you know it."
                )
        if crossing:
            regions = find_regions(Space.from_edges(crossing), lambda v, rankings=rankings: rankings.get(v, ranking))
            rows = read_boundary(regions, {r: boundary[r] for r in regions.rainbows if r in boundary})
            require_private(regions, rows, on_edges(regions.space, level))
            boundary_row = rows[regions.rainbows.index(ranking)]
            assert boundary_row is not None
            ordered: Any = [boundary_row[regions.outputs.index(output)] for output in ranking]
            row = line(ordered, level, np.array([distance]))[0]
            return LocalRow(ranking, tuple(row.tolist()), float(distance), len(visited) + len(rankings))
        layer, distance = ring, distance + 1
    alone = (1.0,) + (0.0,) * (len(ranking) - 1)
    return LocalRow(ranking, alone, float("inf"), len(visited))
