"""Spaces of integer vectors that are never listed, with their sensitivity sets: lines, lattices, tallies, tables.

A statistic of a table is a vector of integers. What matters for privacy is not the list of its values but the vectors
that one neighbour can add to it: the *sensitivity set* (the field `moves` names its shape). These classes say where a
statistic lies and what its sensitivity set is; additive noise proves its privacy from the sensitivity set alone.
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
"""The sensitivity sets of rows that are in at most one cell."""
ENDLESS = 2**49
"""The width, in multiples of the sensitivity, of a range whose ends have no effect."""


@dataclass(frozen=True)
class Lattice:
    """Vectors of `dimension` integers, each from `lower` to `upper`, and their sensitivity set.

    Without ends all integer vectors are points: then a bound for a range of `width` is one for all mechanisms.

    Attributes
    ----------
    dimension : int
        The number of integers of a vector.
    moves : str
        The sensitivity set of one row. "one-way": 0 or 1 is added to every integer, or subtracted (overlapping
        conditions, add/remove). "cube": every integer changes by at most one, up or down (the same, replace).
        "exchange": one integer up by one, another down by one, or only one of both (disjoint cells, replace).
        "sum-zero": one up and another down, never one alone (disjoint cells that hold every row, replace). "any": only
        one integer, by one (disjoint cells, add/remove).
    reach : int
        The number of such rows of one neighbour.
    lower, upper : int, optional
        The range of every integer, by definition or by clamping; both None if unbounded.
    each : int, optional
        The sensitivity of a single integer, for disjoint cells ("any", "exchange"); None where all rows of a neighbour
        may be in one cell, so that it is `reach`.

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
        """The nearest vector; the sensitivity set is preserved.

        With a constant sum ("sum-zero") nothing is clamped: a row that leaves a clamped cell would add to another cell
        without subtracting anywhere, which noise that adds up to 0 does not hide.

        Examples
        --------
        >>> Lattice(2, "exchange", 1, 0, 9).clamp([10, 0]), Lattice(2, "sum-zero", 1, 0, 9).clamp([10, 0])
        ((9, 0), (10, 0))
        """
        if self.moves == "sum-zero" or self.lower is None or self.upper is None:
            return tuple(int(value) for value in values)
        return tuple(min(max(int(value), self.lower), self.upper) for value in values)

    @property
    def is_bounded(self) -> bool:
        """Whether the integers have ends."""
        return self.lower is not None

    @property
    def width(self) -> int:
        """The distance between the ends; if unbounded, one so large that ends have no effect.

        A mechanism for all integers is one for every range of them, so a bound for a range holds for it, too.
        """
        if self.lower is None or self.upper is None:
            return ENDLESS * max(1, self.reach)
        return int(self.upper - self.lower)

    @property
    def endless(self) -> Lattice:
        """The same lattice without ends: bounds on it hold for all additive noise."""
        return replace(self, lower=None, upper=None)

    @property
    def in_one(self) -> Lattice:
        """The same lattice with the sensitivity of a single integer as `reach`: a subset of the sensitivity set.

        So a lower bound there is a lower bound here.
        """
        return self if self.each is None else replace(self, reach=self.each, each=None)

    def __str__(self) -> str:
        ends = f" {self.lower} to {self.upper}" if self.is_bounded else ", unbounded"
        integers = f"{self.dimension} integers{ends}"
        apart = f"neighbours {self.reach} {self.moves} move{'' if self.reach == 1 else 's'} apart"
        return f"{integers}, {apart}" + ("" if self.each is None else f", at most {self.each} in one integer")


@dataclass(frozen=True)
class Tallies:
    """Tallies: the number of rows in each of `cells` disjoint cells, at most `rows` in all.

    Attributes
    ----------
    cells : int
        The number of cells.
    rows : int
        The largest number of rows; under replace, rows in no cell are missing from the sum.
    neighbours : "add-remove" or "replace"
        The adjacency.
    rows_each : int
        The number of rows of one neighbour.
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
        """The number of tallies: C(rows + cells, cells)."""
        return math.comb(self.rows + self.cells, self.cells)

    def vectors(self) -> NDArray[np.int64]:
        """Every tally, one in each row, in increasing order of their running sums.

        Examples
        --------
        >>> Tallies(2, 1, "replace").vectors().tolist()
        [[0, 0], [0, 1], [1, 0]]
        """
        bars = np.array(list(combinations(range(self.rows + self.cells), self.cells)), dtype=np.int64)
        return np.asarray(np.diff(bars.reshape(-1, self.cells), axis=1, prepend=-1) - 1)

    def moves(self) -> list[NDArray[np.int64]]:
        """The sensitivity set up to sign: vectors whose first nonzero entry is positive."""
        ways = Tallies(self.cells, self.rows_each, "add-remove").vectors()
        both = ways if self.neighbours == "add-remove" else (ways[:, None] - ways[None]).reshape(-1, self.cells)
        changed = np.unique(both[both.any(axis=1)], axis=0)
        first = changed[np.arange(len(changed)), (changed != 0).argmax(axis=1)]
        return list(changed[first > 0])

    def space(self) -> Space:
        """The tallies as a `Space`, whose points are those of `listed`, as tuples.

        An edge joins two tallies that one neighbour turns into each other: up to `rows_each` rows are added or removed;
        or up to that many are replaced, each from a cell or none to another cell or none.
        """
        every = self.vectors()
        edges = []
        for move in self.moves():
            neighbours = every + move
            fits = np.flatnonzero((neighbours >= 0).all(axis=1) & (neighbours.sum(axis=1) <= self.rows))
            edges.append(np.column_stack([fits, self.places(neighbours[fits])]))
        return Space([tuple(tally) for tally in every.tolist()], np.concatenate(edges))

    def places(self, tallies: NDArray[np.int64]) -> NDArray[np.int64]:
        """The positions of these tallies among all that are `listed`."""
        place = _places_of(self)
        return np.array([place[tuple(tally)] for tally in tallies.tolist()], dtype=np.int64)

    def clamp(self, tally: Sequence[int]) -> tuple[int, ...]:
        """The tally truncated to `rows` rows in the order of its cells, each clamped at 0.

        Running sums are clamped, so a row beyond the limit displaces one of a later cell: a tally one replaced row away
        stays at most one replaced row away. An added or removed row may become a replaced one.
        """
        ends = [min(end, self.rows) for end in accumulate(max(int(count), 0) for count in tally)]
        return tuple(end - start for start, end in zip([0, *ends], ends, strict=False))

    def __str__(self) -> str:
        return f"tallies of {self.cells} cells, at most {self.rows} rows, {self.neighbours}, {self.rows_each} each"


@dataclass(frozen=True)
class Holders:
    """Partition selection: the number of units of each key that is found, and numbers of each key.

    Attributes
    ----------
    units : int, optional
        The largest number of units; None if it is not stated.
    keys_each : int
        Contribution bound: the largest number of keys of one unit.
    neighbours : "add-remove" or "replace"
        The adjacency: a unit is added or removed with its keys, or gets others instead.
    numbers : Lattice, optional
        The sensitivity set of the numbers of all keys; of dimension 1 if one neighbour changes those of one key alone.

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
        """The largest number of keys whose number of units one neighbour changes."""
        return self.keys_each * (2 if self.neighbours == "replace" else 1)

    def __str__(self) -> str:
        bound = f"{self.keys_each} key{'s' * (self.keys_each > 1)} each"
        numbers_text = (
            "" if self.numbers is None else f"; numbers {self.numbers.reach} {self.numbers.moves} moves apart"
        )
        units = "any number of" if self.units is None else f"at most {self.units}"
        return f"keys of {units} units, {bound}, {self.neighbours}{numbers_text}"


@dataclass(frozen=True)
class Tables:
    """Several tables of counts of the same rows: a row is in one cell of each of them, or in none of any.

    Attributes
    ----------
    sizes : tuple of int
        The number of cells of each table.
    moves : "any" or "exchange"
        The sensitivity set of one row in each table at once: it is added or removed ("any"), or replaced.
    reach : int
        The number of such rows of one neighbour.
    upper : int, optional
        The largest number of rows; None if it is not stated.

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
    """Tables of counts by public columns, some centred: numbers less their mean along a column, scaled to integers.

    Centring a table along a column of n values replaces each number by n times it less the sum of all n: the residual
    of the table without the column. A row then changes all n numbers, by n - 1 and by -1: n(n - 1) in squared length,
    where a plain table that counts a row n-fold changes by n^2.

    Attributes
    ----------
    shape : tuple of int
        The number of values of each column.
    tables : tuple of pairs
        For each table its columns, and those along which it is centred, by position.
    moves : "any" or "exchange"
        The sensitivity set of one row: it is added or removed ("any"), or replaced.
    reach : int
        The number of such rows of one neighbour.
    upper : int, optional
        The largest number of rows; None if it is not stated.
    grain : int
        A row counts at least this many times in every table (see `times`).

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
        numbers = (*shape, self.reach, most, self.grain, *(i for pair in tables for columns in pair for i in columns))
        fits = all(type(x) is int for x in numbers) and self.moves in OF_ONE
        if not fits or not shape or not tables or min(shape) < 1 or min(self.reach, most, self.grain - 1) < 0:
            raise InvalidInput("these are no centred tables; give sizes of 1 or more, and moves 'any' or 'exchange'.")
        for columns, centred in tables:
            ordered = all(list(positions) == sorted(set(positions)) for positions in (columns, centred))
            if not ordered or not set(centred) <= set(columns) <= set(range(len(shape))):
                raise InvalidInput("a table is centred along its own columns, each listed once and in order.")
            if any(shape[i] == 1 for i in centred):
                raise InvalidInput("a table centred along a column of one value holds nothing.")
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "tables", tables)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells of each table."""
        return tuple(math.prod(self.shape[i] for i in columns) for columns, _ in self.tables)

    @property
    def times(self) -> tuple[int, ...]:
        """The integer factor of each table, such that a row counts at least `grain` times."""
        return tuple(-(-self.grain // math.prod(self.shape[i] for i in centred)) for _, centred in self.tables)

    def largest_square(self, weights: Sequence[Fraction]) -> Fraction:
        """The largest weighted sum over all tables of squared l2 sensitivities.

        For a replaced row, the length depends on the columns in which both cells differ: all such sets are tried, up to
        `MOST_DIFFERING` columns. Beyond, and where several rows of a neighbour are replaced, each table counts with its
        own worst set.
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
            else:  # the worst cells differ in one column; or in one along which the table is not centred
                ways = [[self._moved(t, frozenset({i})) for i in wide] for t in every]
                largest = sum(whole[t] * max(self._alone(t), *ways[t]) for t in every)
        return Fraction(largest * self.reach**2, one)

    def _alone(self, table: int) -> int:
        """The squared length, in one table, of an added row."""
        centred = self.tables[table][1]
        return self.times[table] ** 2 * math.prod(self.shape[i] * (self.shape[i] - 1) for i in centred)

    def _moved(self, table: int, differing: frozenset[int]) -> int:
        """The squared length, in one table, of a row replaced between cells that differ in some columns.

        At least that of an added row: where cells are clamped to the largest number of rows, a row may be added to one
        cell without leaving another.
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
        centred = sum(bool(columns) for _, columns in self.tables)
        apart = f"neighbours {self.reach} {self.moves} move{'' if self.reach == 1 else 's'} of each apart"
        rows = "any number of" if self.upper is None else f"at most {self.upper}"
        return f"{len(self.tables)} tables, {centred} of them centred, {rows} rows, {apart}"


MOST_DIFFERING = 10


@dataclass(frozen=True)
class Strategy:
    """A strategy: weighted sums of disjoint cells that are released in place of the cells.

    Attributes
    ----------
    cells : Lattice
        The cells, with their sensitivity set ("any" or "exchange").
    rows : tuple of pairs
        For every sum its first cell, and the integer weights of that cell and of those after it.

    Examples
    --------
    >>> strategy = Strategy(Lattice(3, "any", 1, 0, 100), ((0, (2, 2)), (2, (5,))))
    >>> strategy.matrix.tolist(), strategy.l1_sensitivity, strategy.squared_l2_sensitivity
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
        fits = fits and cells.dimension <= MOST_SUMS  # more could not be identified from the sums
        if not fits or not 0 < len(rows) <= MOST_SUMS or cells.moves not in ("any", "exchange"):
            raise InvalidInput(
                f"a strategy is 1 to {MOST_SUMS} sums of disjoint cells with whole weights up to {MOST_WEIGHT}."
            )
        object.__setattr__(self, "cells", cells)
        object.__setattr__(self, "rows", rows)

    @property
    def dimension(self) -> int:
        """The number of sums."""
        return len(self.rows)

    @cached_property
    def matrix(self) -> NDArray[np.int64]:
        """The weights, a row for each sum."""
        weights_matrix = np.zeros((len(self.rows), self.cells.dimension), dtype=np.int64)
        for i, (first, weights) in enumerate(self.rows):
            weights_matrix[i, first : first + len(weights)] = weights
        return weights_matrix

    @cached_property
    def l1_sensitivity(self) -> int:
        """The l1 sensitivity of the sums, or an upper bound."""
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
    def squared_l2_sensitivity(self) -> int:
        """The squared l2 sensitivity of the sums, or an upper bound."""
        floats = self.matrix.astype(float)
        products = (floats.T @ floats).astype(np.int64)  # exact: whole numbers below 2^53, by the two limits below
        alone = np.diag(products)
        largest = int(alone.max())
        if self.cells.moves == "exchange":
            largest = max(largest, int((alone[:, None] + alone[None] - 2 * products).max()))
        return largest * self.cells.reach**2

    def __str__(self) -> str:
        return f"{self.dimension} weighted sums of {self.cells}"


MOST_SUMS, MOST_WEIGHT = 2000, 10**6
"""Limits such that 64-bit integers hold the squared sensitivities of a strategy."""


@dataclass(frozen=True)
class Tiers:
    """One integer for each public group of people; one neighbour changes one of them: a grid.

    A group has its own share of the level, so the grid has a different level in each direction (HET).

    Attributes
    ----------
    lines : tuple of Line
        The range of each group's integer, and its sensitivity.
    shares : tuple of str
        For each group its share of the level, as text such as "1/10"; at most 1.

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
        if not all(line.is_bounded for line in lines):
            raise InvalidInput("a tier has at most so many members; state how many.")
        if not all(isinstance(share, str) and 0 < read_rational(share) <= 1 for share in shares):
            raise InvalidInput("a tier's share of the level is a number above 0 and at most 1, as text: '1/10'.")
        object.__setattr__(self, "lines", lines)
        object.__setattr__(self, "shares", shares)

    @property
    def is_bounded(self) -> bool:
        """Whether the integers have ends: these always do."""
        return True

    @property
    def points(self) -> int:
        """The number of points of the grid."""
        return math.prod(line.points for line in self.lines)

    @property
    def last(self) -> int:
        """The largest sum of all groups' integers."""
        return sum(line.ends[1] for line in self.lines)

    def levels(self, level: Level) -> tuple[ApproxDP, ...]:
        """The level of each group, for a pure level; slightly stricter where e^epsilon is a rational."""
        whole = require_pure(level)
        return tuple(whole if share == "1" else share_of(whole, read_rational(share)) for share in self.shares)

    def together(self, tiers: Sequence[int]) -> Line:
        """The line of the sum of some groups' integers: its range and its sensitivity."""
        lines = [self.lines[tier] for tier in tiers]
        first, last = sum(line.ends[0] for line in lines), sum(line.ends[1] for line in lines)
        return Line(first, last, max(line.reach for line in lines))

    def clamp(self, values: Sequence[int]) -> tuple[int, ...]:
        """The nearest point of the grid; never increases the difference of two points in any integer."""
        return tuple(line.clamp(int(value)) for line, value in zip(self.lines, values, strict=True))

    def space(self) -> tuple[Space, NDArray[np.int32]]:
        """The grid as a `Space`, points in the order of their digits, and each edge's direction."""
        places = np.arange(self.points).reshape([line.points for line in self.lines])
        edges, directions = [np.zeros((0, 2), dtype=np.int64)], [np.zeros(0, dtype=np.int32)]
        for tier, line in enumerate(self.lines):
            along = np.moveaxis(places, tier, 0)
            for step in range(1, min(line.reach, line.points - 1) + 1):
                edges.append(np.column_stack([along[:-step].ravel(), along[step:].ravel()]))
                directions.append(np.full(len(edges[-1]), tier, dtype=np.int32))
        pairs, which = np.concatenate(edges), np.concatenate(directions)
        order = np.lexsort((pairs[:, 1], pairs[:, 0]))
        return Space(range(self.points), pairs[order]), which[order]

    def __str__(self) -> str:
        tiers = zip(self.lines, self.shares, strict=True)
        descriptions = (f"{line.first} to {line.last} at {share} of the level" for line, share in tiers)
        return f"one integer for each tier: {', '.join(descriptions)}"


MOST_TIERS = 5
"""The largest number of groups with levels of their own."""
Unlisted: TypeAlias = Tiers | Line | Lattice | Tallies | Holders | Tables | CentredTables | Strategy
KINDS: dict[str, Any] = {
    kind.kind: kind for kind in (Tiers, Line, Lattice, Tallies, Holders, Tables, CentredTables, Strategy)
}


def unlisted_to_json(space: Unlisted) -> dict[str, Any]:
    """The space as plain JSON data; the inverse of `unlisted_from_json`."""
    return {"integers": space.kind, **asdict(space, dict_factory=_stated)}


def _stated(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """Fields by name, without `each` where it is None: files of version 0.2 do not have it."""
    return {name: value for name, value in fields if (name, value) != ("each", None)}


def unlisted_from_json(data: Mapping[str, Any]) -> Unlisted:
    """The space written by `unlisted_to_json`; the data are untrusted."""
    arguments = dict(data)
    kind = arguments.pop("integers")
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidInput(f"{kind!r} is no space of integers; choose from {', '.join(sorted(KINDS))}.")
    try:
        space: Unlisted = KINDS[kind](**arguments)
    except TypeError as problem:
        raise InvalidInput(f"a {kind} does not take these arguments: {problem}.") from None
    return space


@lru_cache(maxsize=4)
def _places_of(tallies: Tallies) -> dict[tuple[int, ...], int]:
    return {tuple(tally): place for place, tally in enumerate(tallies.vectors().tolist())}
