"""Spaces of integers that are never listed: a line, vectors of counts, tallies of votes.

A statistic of a table is a vector of integers. What matters for privacy is not the list of its values but what one
neighbour can add to it: its *moves*. These spaces say where a statistic lies and what its moves are; a mechanism that
is noise proves its privacy from the moves alone, at any size.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, combinations
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput
from utmost.exact import read_rational
from utmost.privacy import ApproxDP, Level, require_pure, share_of
from utmost.space.families import Neighbours
from utmost.space.graph import Space
from utmost.space.line import End, Line, require_ends, require_whole

Moves: TypeAlias = Literal["one-way", "cube", "exchange", "sum-zero", "any"]
OF_ONE = ("any", "exchange")
"""The moves of a row that is in one cell at most."""
ENDLESS = 2**49
"""How many moves a range holds whose ends do not count."""


@dataclass(frozen=True)
class Lattice:
    """Vectors of `dimension` integers, each from `lower` to `upper`, and what one neighbour adds to them.

    Without these ends every vector of integers is one: then a bound for a range of `width` is one for all mechanisms.

    Attributes
    ----------
    dimension : how many integers a vector has
    moves : what one row does. "one-way": it adds 0 or 1 to every integer, or takes it away (conditions that overlap,
        rows that come or go). "cube": it moves every integer by at most one, up or down (the same, rows replaced).
        "exchange": one integer up by one, another down by one, or only one of both (disjoint cells, rows replaced).
        "sum-zero": one up and another down, never one alone (disjoint cells that hold every row, rows replaced).
        "any": only one integer, by one (disjoint cells, rows that come or go)
    reach : how many such rows one neighbour has
    lower, upper : where every integer lies, or is clamped to; both None where nothing is
    each : how far one neighbour moves one integer at most, of disjoint cells ("any", "exchange"); None where all its
        rows may be in one cell, so by `reach`

    Examples
    --------
    >>> str(Lattice(9, "any", 6, each=2))
    '9 integers, unbounded, neighbours 6 any moves apart, at most 2 in one integer'
    """

    kind: ClassVar[str] = "lattice"
    dimension: int
    moves: Moves
    reach: int
    lower: End = None
    upper: End = None
    each: int | None = None

    def __post_init__(self) -> None:
        require_whole(self)
        ends = require_ends(self.lower, self.upper)
        wrong = self.dimension is None or self.dimension < 1 or self.reach is None or self.reach < 0
        if self.each is not None and (self.moves not in OF_ONE or not 0 < self.each <= self.reach):
            raise InvalidInput(
                f"one neighbour moves one integer by at most {self.each}; that is from 1 to the reach of {self.reach}, "
                "and stated of disjoint cells only."
            )
        if wrong or (ends is not None and ends[1] < ends[0]) or self.moves not in get_args(Moves):
            raise InvalidInput(
                f"{self!r} is no space of vectors; give dimension >= 1, reach >= 0, lower <= upper, and moves among "
                f"{', '.join(get_args(Moves))}."
            )

    def clamp(self, values: Any) -> tuple[int, ...]:
        """The nearest vector; a neighbour's move stays a move of the same kind.

        Where sums are kept ("sum-zero") nothing is cut: a row that leaves a cell that was cut would be seen to come
        elsewhere and to leave nowhere, and noise that adds up to 0 would show it.

        Examples
        --------
        >>> Lattice(2, "exchange", 1, 0, 9).clamp([10, 0]), Lattice(2, "sum-zero", 1, 0, 9).clamp([10, 0])
        ((9, 0), (10, 0))
        """
        if self.moves == "sum-zero" or self.lower is None or self.upper is None:
            return tuple(int(value) for value in values)
        return tuple(min(max(int(value), self.lower), self.upper) for value in values)

    @property
    def bounded(self) -> bool:
        """Whether the integers have ends."""
        return self.lower is not None

    @property
    def width(self) -> int:
        """How far apart the ends are; without ends, so far that they do not count.

        A mechanism for all integers is one for every range of them, so a bound for a range is one for it, too.
        """
        if self.lower is None or self.upper is None:
            return ENDLESS * max(1, self.reach)
        return int(self.upper - self.lower)

    @property
    def endless(self) -> Lattice:
        """The same integers without ends: what holds there holds for all noise."""
        return replace(self, lower=None, upper=None)

    @property
    def in_one(self) -> Lattice:
        """The same integers with as many moves as a neighbour can make in one integer: these are some of its moves.

        So what no mechanism goes below there, none goes below here.
        """
        return self if self.each is None else replace(self, reach=self.each, each=None)

    def __str__(self) -> str:
        integers = f"{self.dimension} integers" + (f" {self.lower} to {self.upper}" if self.bounded else ", unbounded")
        apart = f"neighbours {self.reach} {self.moves} move{'' if self.reach == 1 else 's'} apart"
        return f"{integers}, {apart}" + ("" if self.each is None else f", at most {self.each} in one integer")


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
        require_whole(self)
        if self.cells < 1 or self.rows < 0 or self.rows_each < 1 or self.neighbours not in get_args(Neighbours):
            raise InvalidInput(
                f"{self!r} is no space of tallies; give cells >= 1, rows >= 0, rows_each >= 1, and 'replace' or "
                "'add-remove'."
            )

    @property
    def points(self) -> int:
        """How many tallies there are: C(rows + cells, cells)."""
        return math.comb(self.rows + self.cells, self.cells)

    def listed(self) -> NDArray[np.int64]:
        """Every tally, one in each row, in increasing order of their running sums.

        Examples
        --------
        >>> Tallies(2, 1, "replace").listed().tolist()
        [[0, 0], [0, 1], [1, 0]]
        """
        bars = np.array(list(combinations(range(self.rows + self.cells), self.cells)), dtype=np.int64)
        return np.asarray(np.diff(bars.reshape(-1, self.cells), axis=1, prepend=-1) - 1)

    def moves(self) -> list[NDArray[np.int64]]:
        """What one neighbour may add to a tally; of a move and its opposite, the one whose first change is up."""
        ways = Tallies(self.cells, self.rows_each, "add-remove").listed()
        both = ways if self.neighbours == "add-remove" else (ways[:, None] - ways[None]).reshape(-1, self.cells)
        changed = np.unique(both[both.any(axis=1)], axis=0)
        first = changed[np.arange(len(changed)), (changed != 0).argmax(axis=1)]
        return list(changed[first > 0])

    def space(self) -> Space:
        """The same as a space of the library, whose points are the tallies of `listed`, as tuples.

        An edge joins two tallies that one neighbour makes of each other. Of rows that come or go, up to `rows_each`
        are added; of rows replaced, up to so many leave a cell or nowhere for another cell or nowhere.
        """
        every = self.listed()
        found = []
        for move in self.moves():
            moved = every + move
            fits = np.flatnonzero((moved >= 0).all(axis=1) & (moved.sum(axis=1) <= self.rows))
            found.append(np.column_stack([fits, self.places(moved[fits])]))
        return Space([tuple(tally) for tally in every.tolist()], np.concatenate(found))

    def places(self, tallies: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where these tallies stand among all that are `listed`."""
        place = _places_of(self)
        return np.array([place[tuple(tally)] for tally in tallies.tolist()], dtype=np.int64)

    def clamp(self, tally: Sequence[int]) -> tuple[int, ...]:
        """The tally cut to `rows` rows in the order of its cells, none of them below 0.

        Running sums are cut, so a row that comes where there is no room drives out one of a later cell: a tally one
        replaced row away stays at most one replaced row away. Rows that come or go may become replaced ones.
        """
        ends = [min(end, self.rows) for end in accumulate(max(int(count), 0) for count in tally)]
        return tuple(end - start for start, end in zip([0, *ends], ends, strict=False))

    def __str__(self) -> str:
        return f"tallies of {self.cells} cells, at most {self.rows} rows, {self.neighbours}, {self.rows_each} each"


@dataclass(frozen=True)
class Holders:
    """How many units hold each of some keys that nobody listed, and numbers that belong to each key.

    Attributes
    ----------
    units : how many units there are at most; None where nobody said
    keys_each : how many keys one unit holds at most
    neighbours : "add-remove": a unit comes or goes with its keys; "replace": it may hold others instead
    numbers : what one neighbour does to the numbers of all keys; of dimension 1 where those of one key alone move.
        None where there are none

    Examples
    --------
    >>> Holders(20_000, 3, "add-remove").changes, Holders(20_000, 3, "replace").changes
    (3, 6)
    """

    kind: ClassVar[str] = "holders"
    units: int | None
    keys_each: int
    neighbours: Neighbours
    numbers: Lattice | None = None

    def __post_init__(self) -> None:
        if isinstance(self.numbers, Mapping):
            object.__setattr__(self, "numbers", Lattice(**self.numbers))
        require_whole(self, Lattice)
        units = 0 if self.units is None else self.units
        if units < 0 or self.keys_each < 1 or self.neighbours not in get_args(Neighbours):
            raise InvalidInput(
                f"{self!r} is no space of keys; give units >= 0, keys_each >= 1, and 'replace' or 'add-remove'."
            )

    @property
    def changes(self) -> int:
        """How many keys one neighbour gives a holder more or one less, at most."""
        return self.keys_each * (2 if self.neighbours == "replace" else 1)

    def __str__(self) -> str:
        each = f"{self.keys_each} key{'s' * (self.keys_each > 1)} each"
        beside = "" if self.numbers is None else f"; numbers {self.numbers.reach} {self.numbers.moves} moves apart"
        units = "any number of" if self.units is None else f"at most {self.units}"
        return f"keys of {units} units, {each}, {self.neighbours}{beside}"


@dataclass(frozen=True)
class Tables:
    """Several tables of counts of the same rows: a row is in one cell of each of them, or in none of any.

    Attributes
    ----------
    sizes : how many cells each table has
    moves : what one row does to each table at once. "any": it comes to a cell or leaves one; "exchange": it is replaced
    reach : how many such rows one neighbour has
    upper : how many rows there are at most; None where nobody said

    Examples
    --------
    >>> str(Tables((1, 4), "any", 1, 100))
    '2 tables of 1 and 4 cells, at most 100 rows, neighbours 1 any move of each apart'
    """

    kind: ClassVar[str] = "tables"
    sizes: tuple[int, ...]
    moves: Moves
    reach: int
    upper: int | None = None

    def __post_init__(self) -> None:
        most = 0 if self.upper is None else self.upper
        sizes = tuple(self.sizes) if isinstance(self.sizes, Sequence) and not isinstance(self.sizes, str) else ()
        whole = all(type(x) is int for x in (*sizes, self.reach, most))
        if not sizes or not whole or min(sizes) < 1 or self.reach < 0 or most < 0 or self.moves not in OF_ONE:
            raise InvalidInput("these are no tables of counts; give sizes of 1 or more, and moves 'any' or 'exchange'.")
        object.__setattr__(self, "sizes", sizes)

    def lattices(self) -> list[Lattice]:
        """Each table by itself."""
        lower = None if self.upper is None else 0
        return [Lattice(size, self.moves, self.reach, lower, self.upper) for size in self.sizes]

    def __str__(self) -> str:
        sizes = ", ".join(map(str, self.sizes[:-1])) + (" and " if len(self.sizes) > 1 else "") + str(self.sizes[-1])
        apart = f"neighbours {self.reach} {self.moves} move{'' if self.reach == 1 else 's'} of each apart"
        many = f"{len(self.sizes)} tables" if len(self.sizes) > 1 else "a table"
        rows = "any number of" if self.upper is None else f"at most {self.upper}"
        return f"{many} of {sizes} cells, {rows} rows, {apart}"


@dataclass(frozen=True)
class CentredTables:
    """Tables of counts by public columns, some of them centred: a number less the mean along a column, made whole.

    Centring a table along a column of n values takes n times a number less the sum of all n: what the column adds to
    those without it, and nothing else. A row then moves all n numbers, by n - 1 and by -1, which is n(n - 1) in squared
    length where a plain table that counts a row n-fold moves by n^2.

    Attributes
    ----------
    shape : how many values each column has
    tables : for each table its columns, and those along which it is centred, by their places
    moves : what one row does. "any": it comes to a cell or leaves one; "exchange": it is replaced
    reach : how many such rows one neighbour has
    upper : how many rows there are at most; None where nobody said
    grain : a row counts at least so many times in every table, as `times` says

    Examples
    --------
    >>> pair = CentredTables((2, 3), (((), ()), ((0, 1), (0, 1))), "any", 1, 100, 10)
    >>> pair.sizes, pair.times, pair.largest_square([Fraction(1), Fraction(1)])
    ((1, 6), (10, 2), Fraction(148, 1))
    """

    kind: ClassVar[str] = "centred tables"
    shape: tuple[int, ...]
    tables: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    moves: Moves
    reach: int
    upper: int | None
    grain: int

    def __post_init__(self) -> None:
        try:
            shape = tuple(self.shape)
            tables = tuple((tuple(columns), tuple(centred)) for columns, centred in self.tables)
        except (TypeError, ValueError):
            raise InvalidInput("centred tables have sizes, and for each table its columns and centred ones.") from None
        most = 0 if self.upper is None else self.upper
        whole = (*shape, self.reach, most, self.grain, *(i for pair in tables for each in pair for i in each))
        fits = all(type(x) is int for x in whole) and self.moves in OF_ONE
        if not fits or not shape or not tables or min(shape) < 1 or min(self.reach, most, self.grain - 1) < 0:
            raise InvalidInput("these are no centred tables; give sizes of 1 or more, and moves 'any' or 'exchange'.")
        for columns, centred in tables:
            ordered = all(list(each) == sorted(set(each)) for each in (columns, centred))
            if not ordered or not set(centred) <= set(columns) <= set(range(len(shape))):
                raise InvalidInput("a table is centred along its own columns, each listed once and in order.")
            if any(shape[i] == 1 for i in centred):
                raise InvalidInput("a table centred along a column of one value holds nothing.")
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "tables", tables)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many cells each table has."""
        return tuple(math.prod(self.shape[i] for i in columns) for columns, _ in self.tables)

    @property
    def times(self) -> tuple[int, ...]:
        """By which whole number each table is multiplied, such that a row counts `grain` times at least."""
        return tuple(-(-self.grain // math.prod(self.shape[i] for i in centred)) for _, centred in self.tables)

    def largest_square(self, weights: Sequence[Fraction]) -> Fraction:
        """The largest weighted sum over all tables of the squared length of what one neighbour does to each.

        Of a row that leaves a cell for another, the length depends on the columns in which both cells differ: all such
        sets are tried, up to `MOST_DIFFERING` columns. Beyond, and where a neighbour has several rows that are
        replaced, each table counts by its own worst set.
        """
        one = math.lcm(*(weight.denominator for weight in weights))
        whole = [int(weight * one) for weight in weights]
        every = range(len(whole))
        largest = sum(whole[t] * self._alone(t) for t in every)
        if self.moves == "exchange":
            wide = [i for i, n in enumerate(self.shape) if n > 1 and any(i in columns for columns, _ in self.tables)]
            if self.reach == 1 and len(wide) <= MOST_DIFFERING:
                for k in range(1, len(wide) + 1):
                    for differing in map(frozenset, combinations(wide, k)):
                        largest = max(largest, sum(whole[t] * self._moved(t, differing) for t in every))
            else:  # cells that differ in one column are moved most; or in one along which the table is not centred
                ways = [[self._moved(t, frozenset({i})) for i in wide] for t in every]
                largest = sum(whole[t] * max(self._alone(t), *ways[t]) for t in every)
        return Fraction(largest * self.reach**2, one)

    def _alone(self, table: int) -> int:
        """The squared length, in one table, of a row that comes to a cell."""
        centred = self.tables[table][1]
        return self.times[table] ** 2 * math.prod(self.shape[i] * (self.shape[i] - 1) for i in centred)

    def _moved(self, table: int, differing: frozenset[int]) -> int:
        """The same of a row's way between cells that differ in some columns.

        Not less than that of half the way: where cells are cut to the most rows there can be, a row may be seen to come
        and to leave nowhere.
        """
        columns, centred = self.tables[table]
        if not differing & set(columns):
            return 0
        alone = self._alone(table)
        if differing & (set(columns) - set(centred)):
            return 2 * alone
        product = self.times[table] ** 2 * math.prod(
            -self.shape[i] if i in differing else self.shape[i] * (self.shape[i] - 1) for i in centred
        )
        return max(alone, 2 * (alone - product))

    def __str__(self) -> str:
        centred = sum(bool(each) for _, each in self.tables)
        apart = f"neighbours {self.reach} {self.moves} move{'' if self.reach == 1 else 's'} of each apart"
        rows = "any number of" if self.upper is None else f"at most {self.upper}"
        return f"{len(self.tables)} tables, {centred} of them centred, {rows} rows, {apart}"


MOST_DIFFERING = 10


@dataclass(frozen=True)
class Strategy:
    """Weighted sums of disjoint cells: what is released in place of the cells, where sums of them are wanted.

    Attributes
    ----------
    cells : the cells, and what one neighbour does to them ("any" or "exchange")
    rows : for every sum the first cell that it has, and the whole weights of that cell and those after it

    Examples
    --------
    >>> found = Strategy(Lattice(3, "any", 1, 0, 100), ((0, (2, 2)), (2, (5,))))
    >>> found.matrix.tolist(), found.farthest, found.square
    ([[2, 2, 0], [0, 0, 5]], 5, 25)
    """

    kind: ClassVar[str] = "strategy"
    cells: Lattice
    rows: tuple[tuple[int, tuple[int, ...]], ...]

    def __post_init__(self) -> None:
        cells = Lattice(**self.cells) if isinstance(self.cells, Mapping) else self.cells
        rows = tuple((first, tuple(weights)) for first, weights in self.rows)
        whole = all(type(x) is int and abs(x) <= MOST_WEIGHT for first, weights in rows for x in (first, *weights))
        fits = whole and all(first >= 0 and first + len(weights) <= cells.dimension for first, weights in rows)
        fits = fits and cells.dimension <= MOST_SUMS  # more could not be told apart
        if not fits or not 0 < len(rows) <= MOST_SUMS or cells.moves not in ("any", "exchange"):
            raise InvalidInput(
                f"a strategy is 1 to {MOST_SUMS} sums of disjoint cells with whole weights up to {MOST_WEIGHT}."
            )
        object.__setattr__(self, "cells", cells)
        object.__setattr__(self, "rows", rows)

    @property
    def dimension(self) -> int:
        """How many sums there are."""
        return len(self.rows)

    @cached_property
    def matrix(self) -> NDArray[np.int64]:
        """The weights, a row for each sum."""
        found = np.zeros((len(self.rows), self.cells.dimension), dtype=np.int64)
        for i, (first, weights) in enumerate(self.rows):
            found[i, first : first + len(weights)] = weights
        return found

    @cached_property
    def farthest(self) -> int:
        """How far one neighbour moves all sums together (l1), at most."""
        alone = int(np.abs(self.matrix).sum(axis=0).max())
        if self.cells.moves == "any":
            return alone * self.cells.reach
        single = (self.matrix != 0).sum(axis=1) <= 1  # sums of one cell: two cells never share one
        own, wide = np.abs(self.matrix[single]).sum(axis=0), self.matrix[~single].T
        pairs = (
            int((np.abs(wide[i + 1 :] - column).sum(axis=1) + own[i] + own[i + 1 :]).max(initial=0))
            for i, column in enumerate(wide)
        )
        return max(alone, *pairs) * self.cells.reach

    @cached_property
    def square(self) -> int:
        """The largest squared Euclidean length of what one neighbour does to the sums, at most."""
        floats = self.matrix.astype(float)
        products = (floats.T @ floats).astype(np.int64)  # exact: whole numbers below 2^53, by the two limits below
        alone = np.diag(products)
        found = int(alone.max())
        if self.cells.moves == "exchange":
            found = max(found, int((alone[:, None] + alone[None] - 2 * products).max()))
        return found * self.cells.reach**2

    def __str__(self) -> str:
        return f"{self.dimension} weighted sums of {self.cells}"


MOST_SUMS, MOST_WEIGHT = 2000, 10**6
"""So that squares of 64 bits hold what a strategy is measured by."""


@dataclass(frozen=True)
class Tiers:
    """One integer for each public group of people, of which one neighbour moves one alone: a grid.

    A group is promised its own share of the level, so the grid has another level in each direction (HET).

    Attributes
    ----------
    lines : where the integer of each group lies, and how far one neighbour of that group moves it
    shares : for each group, the part of the level it is promised, as text such as "1/10"; at most 1

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> grid = Tiers((Line(0, 20, 1), Line(0, 1980, 1)), ("1/10", "1"))
    >>> print(grid.points, grid.levels(PureDP(1)), grid.together((0, 1)))
    41601 (PureDP(0.1), PureDP(1)) 2001 integers 0 to 2000, neighbours next to each other
    """

    kind: ClassVar[str] = "tiers"
    lines: tuple[Line, ...]
    shares: tuple[str, ...]

    def __post_init__(self) -> None:
        lines = tuple(Line(**line) if isinstance(line, Mapping) else line for line in self.lines)
        shares = tuple(self.shares)
        if not 0 < len(lines) == len(shares) <= MOST_TIERS or not all(isinstance(line, Line) for line in lines):
            raise InvalidInput(f"tiers are 1 to {MOST_TIERS} lines, each with its share of the level.")
        if not all(line.bounded for line in lines):
            raise InvalidInput("a tier has at most so many members; state how many.")
        if not all(isinstance(share, str) and 0 < read_rational(share) <= 1 for share in shares):
            raise InvalidInput("a tier's share of the level is a number above 0 and at most 1, as text: '1/10'.")
        object.__setattr__(self, "lines", lines)
        object.__setattr__(self, "shares", shares)

    @property
    def bounded(self) -> bool:
        """Whether the integers have ends: these always do."""
        return True

    @property
    def points(self) -> int:
        """How many there are."""
        return math.prod(line.points for line in self.lines)

    @property
    def last(self) -> int:
        """The largest sum of all groups' integers."""
        return sum(line.ends[1] for line in self.lines)

    def levels(self, level: Level) -> tuple[ApproxDP, ...]:
        """What each group is promised, where the level is pure; where e^epsilon is a rational, slightly more."""
        whole = require_pure(level)
        return tuple(whole if share == "1" else share_of(whole, read_rational(share)) for share in self.shares)

    def together(self, tiers: Sequence[int]) -> Line:
        """The sum of some groups' integers: where it lies, and how far one neighbour of any of them moves it."""
        some = [self.lines[tier] for tier in tiers]
        first, last = sum(line.ends[0] for line in some), sum(line.ends[1] for line in some)
        return Line(first, last, max(line.reach for line in some))

    def clamp(self, values: Sequence[int]) -> tuple[int, ...]:
        """The nearest point of the grid; moves each integer of two points no farther apart."""
        return tuple(line.clamp(int(value)) for line, value in zip(self.lines, values, strict=True))

    def space(self) -> tuple[Space, NDArray[np.int32]]:
        """The grid as a space of the library, points in the order of their digits, and each edge's direction."""
        places = np.arange(self.points).reshape([line.points for line in self.lines])
        edges, directions = [np.zeros((0, 2), dtype=np.int64)], [np.zeros(0, dtype=np.int32)]
        for tier, line in enumerate(self.lines):
            along = np.moveaxis(places, tier, 0)
            for step in range(1, min(line.reach, line.points - 1) + 1):
                edges.append(np.column_stack([along[:-step].ravel(), along[step:].ravel()]))
                directions.append(np.full(len(edges[-1]), tier, dtype=np.int32))
        listed, which = np.concatenate(edges), np.concatenate(directions)
        order = np.lexsort((listed[:, 1], listed[:, 0]))
        return Space(range(self.points), listed[order]), which[order]

    def __str__(self) -> str:
        tiers = zip(self.lines, self.shares, strict=True)
        each = (f"{line.first} to {line.last} at {share} of the level" for line, share in tiers)
        return f"one integer for each tier: {', '.join(each)}"


MOST_TIERS = 5
"""How many groups of people may have levels of their own."""
Unlisted: TypeAlias = Tiers | Line | Lattice | Tallies | Holders | Tables | CentredTables | Strategy
KINDS: dict[str, Any] = {
    kind.kind: kind for kind in (Tiers, Line, Lattice, Tallies, Holders, Tables, CentredTables, Strategy)
}


def unlisted_to_json(space: Unlisted) -> dict[str, Any]:
    """Plain data that `unlisted_from_json` reads back."""
    return {"integers": space.kind, **asdict(space, dict_factory=_stated)}


def _stated(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """Fields by name, without a bound in each integer where there is none: files of version 0.2 know nothing of it."""
    return {name: value for name, value in fields if (name, value) != ("each", None)}


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


@lru_cache(maxsize=4)
def _places_of(tallies: Tallies) -> dict[tuple[int, ...], int]:
    return {tuple(tally): place for place, tally in enumerate(tallies.listed().tolist())}
