"""Families of spaces: points, edges, distances and symmetry of lines, cycles, grids, databases and histograms.

A family is a small frozen object whose fields are its constructor's arguments, `Sums(people=4, largest=2, ...)`. It has
its points, its edges, its distances in closed form, and properties that solvers use: the reach of neighbours on a line,
vertex transitivity, and the sides over which distances add up. `families.py` has the functions that check the arguments
and make spaces of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from utmost.errors import InvalidInput, shown
from utmost.exact.arrays import Integers
from utmost.messages import Name
from utmost.space import points as computed

Neighbours: TypeAlias = Literal["replace", "add-remove"]
Side: TypeAlias = tuple[int, Literal["path", "complete"]]


def as_neighbours(neighbours: Any) -> Neighbours:
    """The adjacency, checked: one person's value replaced, or one person added or removed."""
    if not isinstance(neighbours, str) or neighbours not in ("replace", "add-remove"):
        raise InvalidInput(Name("neighbours"), f" is {shown(neighbours)}; say 'replace' or 'add-remove'.")
    return "replace" if neighbours == "replace" else "add-remove"


class Family(ABC):
    """Base of named families of spaces; subclasses are frozen, and their fields are saved in JSON files.

    Attributes
    ----------
    transitive : bool
        Whether the graph is vertex-transitive.
    """

    transitive: ClassVar[bool] = False

    @property
    def edge_count(self) -> int | None:
        """The number of edges, where it is known in closed form."""
        return None

    @property
    def name(self) -> str:
        """Its name, for people and files."""
        return type(self).__name__.lower()

    @property
    def arguments(self) -> dict[str, Any]:
        """Its parameters by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    @property
    @abstractmethod
    def points(self) -> Sequence[Any]:
        """The points, possibly a lazy sequence."""

    @abstractmethod
    def edges(self) -> Integers:
        """The edges as positions of points, one row each."""

    @abstractmethod
    def distances(self, i: Integers, j: Integers) -> Integers:
        """The graph distances between points at these positions."""

    @property
    def sides(self) -> tuple[Side, ...] | None:
        """The sides of a product graph, each with its length and whether it is a path or complete; None for others."""
        return None

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in self.arguments.items())})"


class Row(Family):
    """Consecutive integers: those at most `reach` apart are neighbours."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of points."""

    @property
    def reach(self) -> int:
        """The largest difference between neighbours."""
        return 1

    @property
    def first(self) -> int:
        """The least number."""
        return 0

    @property
    def points(self) -> range:
        """The numbers."""
        return range(self.first, self.first + self.size)

    def edges(self) -> Integers:
        """All pairs up to `reach` apart."""
        n, here = self.size, np.arange(self.size, dtype=np.int64)
        joined = [np.column_stack([here[: n - step], here[step:]]) for step in range(1, min(self.reach, n - 1) + 1)]
        return np.concatenate([np.zeros((0, 2), dtype=np.int64), *joined])

    def distances(self, i: Integers, j: Integers) -> Integers:
        """The difference divided by `reach`, rounded up."""
        return np.asarray(-(-np.abs(i - j) // self.reach))

    @property
    def is_path(self) -> bool:
        """Whether only consecutive numbers are neighbours."""
        return self.reach == 1 or self.size < 3

    @property
    def sides(self) -> tuple[Side, ...] | None:
        """One side, if it is a path."""
        return ((self.size, "path"),) if self.is_path else None


@dataclass(frozen=True)
class Path(Row):
    """The path with n points."""

    n: int

    @property
    def size(self) -> int:
        """The number of points."""
        return self.n


@dataclass(frozen=True)
class Counts(Row):
    """Counts of people with a property."""

    people: int

    @property
    def size(self) -> int:
        """The number of points."""
        return self.people + 1


@dataclass(frozen=True)
class Sums(Row):
    """Sums of values 0..largest over `people` people."""

    people: int
    largest: int
    neighbours: Neighbours

    @property
    def size(self) -> int:
        """The number of points."""
        return self.people * self.largest + 1

    @property
    def reach(self) -> int:
        """The sensitivity of the sum."""
        return max(self.largest, 1)


@dataclass(frozen=True)
class Differences(Row):
    """The number of yes answers less that of no answers."""

    people: int
    neighbours: Neighbours

    @property
    def size(self) -> int:
        """The number of points."""
        return 2 * self.people + 1

    @property
    def reach(self) -> int:
        """The sensitivity: 2 if a person is replaced (a yes for a no), else 1."""
        return 2 if self.neighbours == "replace" else 1

    @property
    def first(self) -> int:
        """The least difference: all say no."""
        return -self.people


@dataclass(frozen=True)
class Cycle(Family):
    """The cycle with n points."""

    n: int
    transitive: ClassVar[bool] = True

    @property
    def points(self) -> range:
        """The numbers 0..n-1."""
        return range(self.n)

    def edges(self) -> Integers:
        """Each with the next, the last with the first."""
        here = np.arange(self.n if self.n > 2 else max(self.n - 1, 0))
        return np.column_stack([here, (here + 1) % max(self.n, 1)])

    def distances(self, i: Integers, j: Integers) -> Integers:
        """The shorter way round."""
        apart = np.abs(i - j)
        return np.asarray(np.minimum(apart, self.n - apart))


@dataclass(frozen=True)
class Complete(Family):
    """The complete graph with n points."""

    n: int
    transitive: ClassVar[bool] = True

    @property
    def edge_count(self) -> int:
        """The number of pairs."""
        return self.n * (self.n - 1) // 2

    @property
    def points(self) -> range:
        """The numbers 0..n-1."""
        return range(self.n)

    def edges(self) -> Integers:
        """Every two points."""
        return np.column_stack(np.triu_indices(self.n, 1))

    def distances(self, i: Integers, j: Integers) -> Integers:
        """1, and 0 between a point and itself."""
        return np.asarray(i != j, dtype=np.int64)

    @property
    def sides(self) -> tuple[Side, ...]:
        """One side."""
        return ((self.n, "complete"),)


@dataclass(frozen=True)
class Grid(Family):
    """Tuples of counts; one person changes each by at most one ("chebyshev"), or one of them by one ("manhattan")."""

    shape: tuple[int, ...]
    metric: Literal["chebyshev", "manhattan"]

    @cached_property
    def points(self) -> computed.Tuples:
        """The tuples, in the order of their digits."""
        return computed.Tuples([range(size) for size in self.shape])

    @property
    def long_sides(self) -> tuple[int, ...]:
        """The sides with more than one point, or none."""
        return tuple(size for size in self.shape if size != 1)

    def edges(self) -> Integers:
        """Every tuple with its neighbours, one of each two opposite directions."""
        long = self.long_sides
        index = np.arange(len(self.points)).reshape(long)
        joined = [np.zeros((0, 2), dtype=np.int64)]
        for step in self._steps(len(long)):
            here = index[tuple(slice(max(0, -s), size - max(0, s)) for s, size in zip(step, long, strict=True))]
            there = index[tuple(slice(max(0, s), size - max(0, -s)) for s, size in zip(step, long, strict=True))]
            joined.append(np.column_stack([here.ravel(), there.ravel()]))
        return np.concatenate(joined)

    def _steps(self, dimensions: int) -> list[tuple[int, ...]]:
        """One of each pair of opposite steps to a neighbour."""
        steps = [s for s in computed.Tuples([(-1, 0, 1)] * dimensions) if s > (0,) * dimensions]
        return [s for s in steps if self.metric == "chebyshev" or sum(map(abs, s)) == 1]

    def distances(self, i: Integers, j: Integers) -> Integers:
        """The largest difference, or the sum of all."""
        apart = np.abs(self.points.digits(i) - self.points.digits(j))
        if not self.shape:
            return np.zeros(len(i), dtype=np.int64)
        return np.asarray(apart.max(axis=0) if self.metric == "chebyshev" else apart.sum(axis=0))

    @property
    def sides(self) -> tuple[Side, ...] | None:
        """All sides where distances add up, or where there is one only."""
        adds = self.metric == "manhattan" or sum(size > 1 for size in self.shape) < 2
        return tuple((size, "path") for size in self.shape) if adds else None


@dataclass(frozen=True)
class Hamming(Family):
    """All databases of `people` people with one value each; neighbours differ in one person's value."""

    people: int
    values: int | tuple[Any, ...]
    transitive: ClassVar[bool] = True

    @property
    def many_values(self) -> int:
        """The number of values."""
        return self.values if isinstance(self.values, int) else len(self.values)

    @cached_property
    def points(self) -> computed.Tuples:
        """The databases, in the order of their values."""
        axis: Sequence[Any] = range(self.values) if isinstance(self.values, int) else self.values
        return computed.Tuples([axis] * self.people)

    def edges(self) -> Integers:
        """Person by person, every two values of theirs."""
        joined, v = [np.zeros((0, 2), dtype=np.int64)], self.many_values
        for person in range(self.people if v > 1 else 0):
            by_value = np.arange(len(self.points)).reshape(v**person, v, -1).swapaxes(0, 1).reshape(v, -1)
            joined += [np.column_stack([by_value[a], by_value[b]]) for a in range(v) for b in range(a + 1, v)]
        return np.concatenate(joined)

    def distances(self, i: Integers, j: Integers) -> Integers:
        """The Hamming distance: the number of people whose values differ."""
        return np.asarray((self.points.digits(i) != self.points.digits(j)).sum(axis=0))

    @property
    def sides(self) -> tuple[Side, ...]:
        """A complete side for every person."""
        return ((self.many_values, "complete"),) * self.people


@dataclass(frozen=True)
class Histograms(Family):
    """Histograms of exactly `people` people over bins ("replace"), or of at most that many ("add-remove")."""

    people: int
    bins: int
    neighbours: Neighbours

    @property
    def _slack(self) -> bool:
        return self.neighbours == "add-remove"

    @cached_property
    def points(self) -> computed.Histograms:
        """The histograms, as tuples of counts."""
        return computed.Histograms(self.people, self.bins, self._slack)

    def edges(self) -> Integers:
        """One person from a bin to another, or in and out of one."""
        table, joined = self.points.table, [np.zeros((0, 2), dtype=np.int64)]
        columns = range(self.bins + self._slack)
        for a, b in ((a, b) for a in columns for b in columns if a < b and (not self._slack or b == self.bins)):
            here = np.flatnonzero(table[:, b] > 0)
            neighbours = table[here].copy()
            neighbours[:, a] += 1
            neighbours[:, b] -= 1
            joined.append(np.column_stack([here, self.points.positions(neighbours)]))
        return np.concatenate(joined)

    def distances(self, i: Integers, j: Integers) -> Integers:
        """The number of people who must be moved, or added and removed."""
        apart = np.abs(self.points.table[i] - self.points.table[j])[:, : self.bins].sum(axis=1)
        return np.asarray(apart if self._slack else apart // 2)
