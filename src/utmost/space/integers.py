"""Spaces of integers that are never listed: a line, vectors of counts, tallies of votes.

A statistic of a table is a vector of integers. What matters for privacy is not the list of its values but what one
neighbour can add to it: its *moves*. These spaces say where a statistic lies and what its moves are; a mechanism that
is noise proves its privacy from the moves alone, at any size.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np

from utmost.errors import InvalidInput
from utmost.space.families import Neighbours, path, sums
from utmost.space.graph import Space

Moves: TypeAlias = Literal["one-way", "cube", "exchange", "sum-zero", "any"]


@dataclass(frozen=True)
class Line:
    """The integers first..last, of which those at most `reach` apart are neighbours.

    Examples
    --------
    >>> Line(0, 100, 5).points, Line(0, 100, 5).clamp(142)
    (101, 100)
    """

    kind: ClassVar[str] = "line"
    first: int
    last: int
    reach: int

    def __post_init__(self) -> None:
        _require_whole(self)
        if self.last < self.first or self.reach < 0:
            raise InvalidInput(f"{self!r} holds no point or a negative reach; give first <= last and reach >= 0.")

    @property
    def points(self) -> int:
        """How many there are."""
        return self.last - self.first + 1

    def clamp(self, value: int) -> int:
        """The nearest point of the line; moves two integers no farther apart."""
        return min(max(value, self.first), self.last)

    def space(self) -> Space:
        """The same as a space of the library, with points 0, 1, ... from `first` on."""
        if self.reach == 1:
            return path(self.points)
        people, rest = divmod(self.points - 1, self.reach)
        if rest:
            here = np.arange(self.points)
            edges = [np.column_stack([here[:-k], here[k:]]) for k in range(1, min(self.reach, self.points - 1) + 1)]
            return Space(range(self.points), np.concatenate(edges))
        return sums(people, self.reach)

    def __str__(self) -> str:
        apart = f"at most {self.reach} apart" if self.reach > 1 else "next to each other"
        return f"{self.points} integers {self.first} to {self.last}, neighbours {apart}"


@dataclass(frozen=True)
class Lattice:
    """Vectors of `dimension` integers, each from `lower` to `upper`, and what one neighbour adds to them.

    Attributes
    ----------
    dimension : how many integers a vector has
    moves : what one row does. "one-way": it adds 0 or 1 to every integer, or takes it away (conditions that overlap,
        rows that come or go). "cube": it moves every integer by at most one, up or down (the same, rows replaced).
        "exchange": one integer up by one, another down by one, or only one of both (disjoint cells, rows replaced).
        "sum-zero": one up and another down, never one alone (disjoint cells that hold every row, rows replaced).
        "any": only one integer, by one (disjoint cells, rows that come or go)
    reach : how many such rows one neighbour has
    lower, upper : where every integer lies
    """

    kind: ClassVar[str] = "lattice"
    dimension: int
    moves: Moves
    reach: int
    lower: int
    upper: int

    def __post_init__(self) -> None:
        _require_whole(self)
        if self.dimension < 1 or self.reach < 0 or self.upper < self.lower or self.moves not in get_args(Moves):
            raise InvalidInput(
                f"{self!r} is no space of vectors; give dimension >= 1, reach >= 0, lower <= upper, and moves among "
                f"{', '.join(get_args(Moves))}."
            )

    def clamp(self, values: Any) -> tuple[int, ...]:
        """The nearest vector; moves no coordinate of two vectors farther apart."""
        return tuple(min(max(int(value), self.lower), self.upper) for value in values)

    def __str__(self) -> str:
        each = f"{self.dimension} integers {self.lower} to {self.upper}"
        return f"{each}, neighbours {self.reach} {self.moves} move{'' if self.reach == 1 else 's'} apart"


@dataclass(frozen=True)
class Tallies:
    """How many of at most `rows` rows each of `cells` cells holds.

    Attributes
    ----------
    cells : how many disjoint cells there are
    rows : how many rows there are at most; where rows are replaced, those in no cell are missing from the sum
    neighbours : "add-remove": rows come or go; "replace": a row may leave one cell for another
    rows_each : how many rows one neighbour has
    """

    kind: ClassVar[str] = "tallies"
    cells: int
    rows: int
    neighbours: Neighbours
    rows_each: int = 1

    def __post_init__(self) -> None:
        _require_whole(self)
        if self.cells < 1 or self.rows < 0 or self.rows_each < 1 or self.neighbours not in get_args(Neighbours):
            raise InvalidInput(
                f"{self!r} is no space of tallies; give cells >= 1, rows >= 0, rows_each >= 1, and 'replace' or "
                "'add-remove'."
            )

    def __str__(self) -> str:
        return f"tallies of {self.cells} cells, at most {self.rows} rows, {self.neighbours}, {self.rows_each} each"


Unlisted: TypeAlias = Line | Lattice | Tallies
KINDS: dict[str, Any] = {kind.kind: kind for kind in (Line, Lattice, Tallies)}


def unlisted_to_json(space: Unlisted) -> dict[str, Any]:
    """Plain data that `unlisted_from_json` reads back."""
    return {"integers": space.kind, **asdict(space)}


def unlisted_from_json(data: Mapping[str, Any]) -> Unlisted:
    """The space written by `unlisted_to_json`; nothing in it is believed."""
    arguments = dict(data)
    kind = arguments.pop("integers")
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidInput(f"{kind!r} is no space of integers; choose from {', '.join(sorted(KINDS))}.")
    try:
        found: Unlisted = KINDS[kind](**arguments)
    except TypeError as problem:
        raise InvalidInput(f"a {kind} does not take these arguments: {problem}.") from None
    return found


def _require_whole(space: Any) -> None:
    """Every number must be a whole one of Python's own, since it may come from a file."""
    for name, value in vars(space).items():
        if not isinstance(value, str) and (isinstance(value, bool) or not isinstance(value, int)):
            try:
                object.__setattr__(space, name, operator.index(value))
            except TypeError:
                raise InvalidInput(f"{name} is {value!r}; give a whole number.") from None
