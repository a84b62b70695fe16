"""One dataset in a space too large to list: how far the boundary of its ranking is, and what that allows."""

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
    """The optimal distribution at one dataset, found by looking at part of a space.

    Attributes
    ----------
    outputs : the outputs as the dataset ranks them, best first
    probabilities : of each of them
    distance : how many steps the boundary of the ranking is away; infinity if there is none
    explored : how many datasets were looked at
    """

    outputs: Rainbow
    probabilities: tuple[float, ...]
    distance: float
    explored: int

    def probability(self, output: Any) -> float:
        """How likely an output is at this dataset."""
        if output not in self.outputs:
            raise InvalidInput(f"{output!r} is not an output; the dataset ranks {self.outputs!r}.")
        return self.probabilities[self.outputs.index(output)]

    @property
    def note(self) -> str:
        """What was checked, and where."""
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
    """The row of `extend` at one dataset, looking only as far around it as the boundary of its ranking is.

    The optimal mechanism depends on a dataset through its ranking and its distance to the boundary alone (RAIN
    Theorem 3), so that a search outwards to the first dataset of another ranking is all that is needed.

    Parameters
    ----------
    dataset : the point to answer for; hashable
    neighbours : callable giving the neighbours of a dataset
    preferences : callable giving the ranking of a dataset: a tuple of all outputs, best first
    boundary : mapping
        For each ranking that has a boundary, the distribution there, as in `extend`.
    privacy : one level with a concave `upper`
    limit : how many datasets may be looked at before `TooLarge`

    Returns
    -------
    LocalRow
        `NoExtension` if the boundary is not private where it was met. A dataset from which no other ranking can be
        reached gives its first output.

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
    seen, layer, distance = {dataset}, [dataset], 0
    while layer:
        crossing: list[tuple[Any, Any]] = []
        ring: list[Any] = []
        rankings = {}
        for v in layer:
            for u in neighbours(v):
                if u in seen:
                    continue
                other = tuple(preferences(u))
                if other != ranking:
                    crossing.append((v, u))
                    rankings[u] = other
                    continue
                seen.add(u)
                ring.append(u)
            if len(seen) > limit:
                raise TooLarge(
                    f"more than {limit} datasets of this ranking lie within {distance + 1} steps, and none of them is "
                    "at its boundary; raise limit, or use rainbow.line with the distance if you know it."
                )
        if crossing:
            met = find_regions(Space.from_edges(crossing), lambda v, rankings=rankings: rankings.get(v, ranking))
            rows = read_boundary(met, {r: boundary[r] for r in met.rainbows if r in boundary})
            require_private(met, rows, on_edges(met.space, level))
            given = rows[met.rainbows.index(ranking)]
            assert given is not None
            ordered: Any = [given[met.outputs.index(output)] for output in ranking]
            told = line(ordered, level, np.array([distance]))[0]
            return LocalRow(ranking, tuple(told.tolist()), float(distance), len(seen) + len(rankings))
        layer, distance = ring, distance + 1
    alone = (1.0,) + (0.0,) * (len(ranking) - 1)
    return LocalRow(ranking, alone, float("inf"), len(seen))
