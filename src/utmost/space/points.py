"""Lazy sequences of points: products of ranges and histograms of people.

A space of a million points stores no million tuples: these sequences have a length, compute the tuple at a position,
and the position of a tuple.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import cached_property
from itertools import product
from typing import Any, SupportsIndex, overload

import numpy as np

from utmost.exact.arrays import Integers


class ComputedPoints(Sequence[Any]):
    """A sequence of tuples that is defined by `_tuple(position)` and `_position(tuple)`."""

    def __len__(self) -> int:
        raise NotImplementedError

    @overload
    def __getitem__(self, position: SupportsIndex) -> Any: ...
    @overload
    def __getitem__(self, position: slice) -> list[Any]: ...
    def __getitem__(self, position: SupportsIndex | slice) -> Any:
        if isinstance(position, slice):
            return [self._tuple(i) for i in range(*position.indices(len(self)))]
        i = operator.index(position)
        if not -len(self) <= i < len(self):
            raise IndexError(f"position {i} of {len(self)} points")
        return self._tuple(i % len(self))

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """The position of a tuple; ValueError if it is not one of the points."""
        if not isinstance(value, tuple):
            raise ValueError(f"{value!r} is not one of the points")
        return self._position(value)

    def __contains__(self, value: object) -> bool:
        try:
            self.index(value)
        except ValueError:
            return False
        return True

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ComputedPoints | list) and len(self) == len(other) and all(map(operator.eq, self, other))
        )

    def __hash__(self) -> int:
        return hash(len(self))

    def _tuple(self, position: int) -> tuple[Any, ...]:
        raise NotImplementedError

    def _position(self, value: tuple[Any, ...]) -> int:
        raise NotImplementedError


class Tuples(ComputedPoints):
    """All tuples with one entry from each axis, the last axis fastest.

    Examples
    --------
    >>> Tuples([range(2), "ab"])[2], Tuples([range(2), "ab"]).index((1, "b"))
    ((1, 'a'), 3)
    """

    def __init__(self, axes: Sequence[Sequence[Any]]) -> None:
        self.axes = tuple(axis if isinstance(axis, range) else tuple(axis) for axis in axes)
        self.shape = tuple(len(axis) for axis in self.axes)

    def __len__(self) -> int:
        return math.prod(self.shape)

    def __iter__(self) -> Any:
        return product(*self.axes)

    def _tuple(self, position: int) -> tuple[Any, ...]:
        entries = []
        for axis in reversed(self.axes):
            position, digit = divmod(position, len(axis))
            entries.append(axis[digit])
        return tuple(reversed(entries))

    def _position(self, value: tuple[Any, ...]) -> int:
        if len(value) != len(self.axes):
            raise ValueError(f"{value!r} has {len(value)} entries, not {len(self.axes)}")
        position = 0
        for axis, entry in zip(self.axes, value, strict=True):
            position = position * len(axis) + axis.index(entry)
        return position

    def digits(self, positions: Integers) -> Integers:
        """The position on each axis of the tuples at these positions: one row per axis."""
        rows = np.zeros((len(self.shape), len(positions)), dtype=np.int64)
        quotients = np.asarray(positions, dtype=np.int64)
        for axis in range(len(self.shape) - 1, -1, -1):
            quotients, rows[axis] = np.divmod(quotients, max(self.shape[axis], 1))
        return rows


class Histograms(ComputedPoints):
    """All histograms of `people` people over `bins`, in lexicographic order; with `slack`, of at most that many.

    Examples
    --------
    >>> list(Histograms(2, 2)), Histograms(2, 2, slack=True).index((1, 1))
    ([(0, 2), (1, 1), (2, 0)], 4)
    """

    def __init__(self, people: int, bins: int, slack: bool = False) -> None:
        self.people, self.bins, self.slack = people, bins, slack

    def __len__(self) -> int:
        return _ways(self.people, self.bins + self.slack)

    def _tuple(self, position: int) -> tuple[int, ...]:
        entries, people_left = [], self.people
        for bins_left in range(self.bins + self.slack, int(self.slack), -1):
            entry = 0
            while (skipped := _ways(people_left - entry, bins_left - 1)) <= position:
                position -= skipped
                entry += 1
            entries.append(entry)
            people_left -= entry
        return tuple(entries)

    def _position(self, value: tuple[Any, ...]) -> int:
        is_whole = all(isinstance(x, int | np.integer) and x >= 0 for x in value)
        value, total = tuple(map(int, value)) if is_whole else value, sum(value) if is_whole else -1
        fits = total <= self.people if self.slack else total == self.people
        if len(value) != self.bins or total < 0 or not fits:
            raise ValueError(f"{value!r} is not a histogram of {self.people} people over {self.bins} bins")
        position, people_left = 0, self.people
        for bins_left, entry in zip(range(self.bins + self.slack, int(self.slack), -1), value, strict=True):
            position += _ways(people_left, bins_left) - _ways(people_left - entry, bins_left)
            people_left -= entry
        return position

    @cached_property
    def table(self) -> Integers:
        """Every histogram as a row, followed by the number of people in no bin if there is slack."""
        rows = np.zeros((1, 0), dtype=np.int64)
        people_left = np.array([self.people], dtype=np.int64)
        for _ in range(self.bins + self.slack - 1):
            counts = people_left + 1
            entry = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            rows = np.column_stack([np.repeat(rows, counts, axis=0), entry])
            people_left = np.repeat(people_left, counts) - entry
        if self.bins + self.slack == 0:
            return rows if self.people == 0 else rows[:0]
        return np.column_stack([rows, people_left])

    def positions(self, table: Integers) -> Integers:
        """The positions of rows such as those of `table`."""
        bins = self.bins + self.slack
        ways = np.array([[_ways(n, k) for n in range(self.people + 1)] for k in range(bins + 1)], dtype=np.int64)
        people_left = np.full(len(table), self.people)
        positions = np.zeros(len(table), dtype=np.int64)
        for column in range(bins):
            people_after = people_left - table[:, column]
            positions += ways[bins - column][people_left] - ways[bins - column][people_after]
            people_left = people_after
        return positions


def _ways(people: int, bins: int) -> int:
    """The number of histograms of `people` people over `bins` bins."""
    if people < 0:
        return 0
    return math.comb(people + bins - 1, bins - 1) if bins else int(people == 0)
