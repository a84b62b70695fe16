"""Fold tallies of more rows than declared onto a finite set, mapping neighbours to neighbours.

Under add/remove of single rows, no map onto the tallies of at most N rows maps neighbours to neighbours and fixes these
tallies. But there is one onto the tallies of which no two cells together hold more than N rows (proof in
docs/theory.md). All tallies of at most N rows are among these, and are fixed.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from utmost.exact.arrays import Integers
from utmost.space import Space
from utmost.space.integers import Tallies


def can_fold(tallies: Tallies, most: int) -> bool:
    """Whether tallies can be folded, onto at most `most` of them.

    Two rows added at once may fold to one added and one removed, so one neighbour must be one row.

    Examples
    --------
    >>> can_fold(Tallies(3, 8, "add-remove"), 2000), can_fold(Tallies(3, 8, "replace"), 2000)
    (True, False)
    """
    single = tallies.neighbours == "add-remove" and tallies.rows_each == 1
    return single and tallies.points <= most and _count(tallies) <= most


def _count(tallies: Tallies) -> int:
    """The number of folded tallies: no cell holds more than half, or one does and bounds all others."""
    n, m = tallies.rows, tallies.cells
    half: int = (n // 2 + 1) ** m
    rest: int = sum(m * (n - largest + 1) ** (m - 1) for largest in range(n // 2 + 1, n + 1))
    return half + rest


def fold(tallies: Any, rows: int) -> Integers:
    """Fold tallies until no two cells together hold more than `rows` rows; tallies of at most `rows` rows are fixed.

    Examples
    --------
    >>> fold(np.array([[3, 2, 2], [5, 0, 0], [5, 1, 0], [6, 1, 0], [4, 4, 4]]), 5).tolist()
    [[3, 2, 2], [5, 0, 0], [4, 0, 0], [4, 0, 0], [1, 2, 3]]
    """
    folded = np.minimum(np.maximum(tallies, 0), rows).astype(np.int64)
    for i, j in combinations(range(folded.shape[1]), 2):
        excess = np.maximum(folded[:, i] + folded[:, j] - rows + 1, 0) // 2
        folded[:, i] -= excess
        folded[:, j] -= excess
    return np.asarray(folded)


@lru_cache(maxsize=4)
def folded(tallies: Tallies) -> Integers:
    """All folded tallies, one in each row, in increasing order."""
    tallies_so_far = np.zeros((1, 0), dtype=np.int64)
    for _ in range(tallies.cells):
        cells = np.tile(np.arange(tallies.rows + 1), len(tallies_so_far))[:, None]
        longer = np.concatenate([np.repeat(tallies_so_far, tallies.rows + 1, axis=0), cells], axis=1)
        largest = longer[:, :-1].max(axis=1, initial=0)
        tallies_so_far = longer[largest + longer[:, -1] <= tallies.rows]
    return np.asarray(tallies_so_far)


@lru_cache(maxsize=4)
def _places_of(tallies: Tallies) -> dict[tuple[int, ...], int]:
    return {tuple(tally): place for place, tally in enumerate(folded(tallies).tolist())}


def folded_places(tallies: Tallies, which: Any) -> Integers:
    """The positions of these tallies, folded, among all folded ones."""
    place = _places_of(tallies)
    return np.array([place[tuple(tally)] for tally in fold(which, tallies.rows).tolist()], dtype=np.int64)


def folded_space(tallies: Tallies) -> Space:
    """Folded tallies as a space, with an edge where two differ by one row.

    Examples
    --------
    >>> space = folded_space(Tallies(3, 2, "add-remove"))
    >>> len(space.points), len(space.edges)  # (1, 1, 1) has three rows; every tally of two is there
    (11, 15)
    """
    every, place = folded(tallies), _places_of(tallies)
    edges = []
    for cell in range(tallies.cells):
        more = every + (np.arange(tallies.cells) == cell)
        ends = [place.get(tuple(tally)) for tally in more.tolist()]
        edges += [(start, end) for start, end in enumerate(ends) if end is not None]
    return Space([tuple(tally) for tally in every.tolist()], np.array(edges, dtype=np.int64).reshape(-1, 2))
