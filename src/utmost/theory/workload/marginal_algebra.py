"""Marginal tables: orthogonal parts that belong to sets of columns, and least squares estimates from noisy tables.

Of the table of columns A, the part of B within A is the interaction of the columns of B: the table summed down to B,
less its means along every column of B. Parts of different sets are orthogonal, so noise that is independent and
identically distributed within each table has uncorrelated parts. The best estimate therefore averages, for every B, the
parts that the released tables above B have, by their precision, and adds parts up to the wanted tables (generalised
least squares; ResidualPlanner, Xiao et al. 2023). Tables made of the same parts agree with each other: here exactly, in
integers over one denominator.

A released table may be *centred* along some of its columns: of n values along a column, n times each less their sum.
It then has the parts of those sets that contain all these columns, and spends nothing on the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput

Columns: TypeAlias = tuple[int, ...]
"""A set of columns as sorted indices."""
Shape: TypeAlias = tuple[int, ...]


class ReleasedTable(NamedTuple):
    """A table that is released with noise: its columns, and those along which it is centred."""

    columns: Columns
    centred: Columns = ()

    def has(self, part: Columns) -> bool:
        """Whether the part of a set of columns can be computed from this table."""
        return set(self.centred) <= set(part) <= set(self.columns)


SCALE = 2**24
"""Shares of released tables in a part are integer multiples of one over this."""
MOST_COLUMNS = 40


def subsets(columns: Columns) -> list[Columns]:
    """All subsets of a set of columns, the smallest first."""
    return [subset for size in range(len(columns) + 1) for subset in combinations(columns, size)]


def closure(sets: Iterable[Columns]) -> tuple[Columns, ...]:
    """The downward closure of some sets: all their subsets, the smallest first."""
    return tuple(
        sorted({part for columns in sets for part in subsets(columns)}, key=lambda columns: (len(columns), columns))
    )


def cells(shape: Shape, columns: Iterable[int]) -> int:
    """The number of cells of the table of some columns."""
    return math.prod(shape[i] for i in columns)


def without(columns: Columns, excluded: Columns) -> Columns:
    """The columns that are not among the excluded ones."""
    return tuple(i for i in columns if i not in excluded)


def parts_within(shape: Shape, columns: Columns) -> list[Columns]:
    """All subsets that have a part: a column of one value adds none."""
    return subsets(tuple(i for i in columns if shape[i] > 1))


def part_shares(
    shape: Shape, variances: Mapping[ReleasedTable, Fraction], published: Sequence[Columns]
) -> dict[Columns, dict[ReleasedTable, int]]:
    """The weights of released tables in the part of every set of columns: integers that add up to SCALE.

    In proportion to precision: the table of A summed down to B has noise of variance v·(cells of A over those of B).
    """
    shares_of = {}
    for part in dict.fromkeys(part for columns in published for part in parts_within(shape, columns)):
        above = [table for table in variances if table.has(part)]
        if not above:
            raise InvalidInput("a wanted table is not made of those that are released.")
        precisions = [1 / (variances[table] * cells(shape, without(table.columns, part))) for table in above]
        total = sum(precisions)
        shares = [int(SCALE * p / total) for p in precisions]
        shares[precisions.index(max(precisions))] += SCALE - sum(shares)
        shares_of[part] = {table: share for table, share in zip(above, shares, strict=True) if share}
    return shares_of


def estimates(
    shape: Shape,
    shares: Mapping[Columns, Mapping[ReleasedTable, int]],
    released: Mapping[ReleasedTable, NDArray[Any]],
    times: Mapping[ReleasedTable, int],
    published: Sequence[Columns],
) -> dict[Columns, NDArray[Any]]:
    """Estimates of the wanted tables as exact sums of parts: integers over SCALE times their number of cells.

    `times` are the integers by which each released table is multiplied first, so that a row counts alike in all.
    """
    parts = {
        part: sum(
            share * times[table] * _part(shape, released[table], table.columns, part) for table, share in by.items()
        )
        for part, by in shares.items()
    }
    tables = {}
    for table in published:
        total: Any = np.zeros([shape[i] for i in table], dtype=object)
        for part in parts_within(shape, table):
            at = tuple(slice(None) if i in part else None for i in table)
            total = total + np.asarray(parts[part])[at]
        tables[table] = np.asarray(total, dtype=object)
    return tables


def _part(shape: Shape, table: NDArray[Any], columns: Columns, part: Columns) -> NDArray[Any]:
    """The part of a set of columns in a table, times its number of cells: integers."""
    axes = tuple(axis for axis, i in enumerate(columns) if i not in part)
    summed = np.asarray(table, dtype=object).reshape([shape[i] for i in columns]).sum(axis=axes)
    return centre(np.asarray(summed, dtype=object), range(len(part)))


def centre(table: NDArray[Any], axes: Iterable[int]) -> NDArray[Any]:
    """Centre a table along some axes: of n numbers, n times each less their sum.

    Examples
    --------
    >>> centre(np.array([1, 4, 1]), [0])
    array([-3,  6, -3])
    """
    contrasts = table
    for axis in axes:
        contrasts = np.asarray(
            contrasts * contrasts.shape[axis] - contrasts.sum(axis=axis, keepdims=True), dtype=contrasts.dtype
        )
    return contrasts


def cell_variance(
    shape: Shape,
    shares: Mapping[Columns, Mapping[ReleasedTable, int]],
    variances: Mapping[ReleasedTable, float],
    table: Columns,
) -> float:
    """The variance of every cell of a wanted table, given the variances of the released tables' noise."""
    total = 0.0
    for part in parts_within(shape, table):
        of_part = math.fsum(
            (share / SCALE) ** 2 * variances[above] * cells(shape, without(above.columns, part))
            for above, share in shares[part].items()
        )
        fraction = math.prod(1 - 1 / shape[i] for i in part)
        total += of_part * fraction / cells(shape, without(table, part)) ** 2
    return total


def factors(
    shape: Shape, shares: Mapping[Columns, Mapping[ReleasedTable, int]], table: Columns
) -> list[tuple[ReleasedTable, float, int]]:
    """The error of one cell of a wanted table as a sum of noises: (released table, factor, how many of its cells).

    A released cell's factor depends on the columns that both tables have and in which the two cells agree. Factors
    apply to noise in units of a row.
    """
    released = {above for by in shares.values() for above in by}
    terms = []
    for above in sorted(released, key=lambda table: (len(table.columns), table)):
        common = tuple(i for i in table if i in above.columns)
        for agreeing in subsets(common):
            factor = math.fsum(
                shares[part].get(above, 0)
                / SCALE
                / cells(shape, without(table, part))
                * math.prod((i in agreeing) - 1 / shape[i] for i in part)
                for part in parts_within(shape, common)
            )
            many = math.prod(shape[i] - 1 for i in without(common, agreeing))
            many *= cells(shape, without(above.columns, table))
            if many and factor:
                terms.append((above, factor, many))
    return terms


CENTRED = "c"
"""Suffix of a column along which a released table is centred."""


def read_workload(text: Any) -> tuple[Shape, tuple[Columns, ...]]:
    """Parse sizes and wanted sets written by `write_workload`, from an untrusted file."""
    shape, tables = read_strategy(text)
    if any(table.centred for table in tables):
        raise InvalidInput("the wanted tables are counts, and centred along no column.")
    return shape, tuple(table.columns for table in tables)


@lru_cache(maxsize=64)
def read_strategy(text: Any) -> tuple[Shape, tuple[ReleasedTable, ...]]:
    """Parse sizes and released tables written by `write_strategy`, from an untrusted file."""
    try:
        first, *rest = str(text).split("|")
        shape = tuple(int(n) for n in first.split(","))
        column_names = [[name for name in word.split(",") if name] for word in rest]
        tables = tuple(
            ReleasedTable(
                tuple(int(name.removesuffix(CENTRED)) for name in names),
                tuple(int(name.removesuffix(CENTRED)) for name in names if name.endswith(CENTRED)),
            )
            for names in column_names
        )
    except ValueError:
        raise InvalidInput("the workload is not written as sizes and sets of columns.") from None
    ordered = all(
        list(table.columns) == sorted(set(table.columns)) and set(table.columns) <= set(range(len(shape)))
        for table in tables
    )
    if not tables or len(set(tables)) < len(tables) or min(shape) < 1 or len(shape) > MOST_COLUMNS or not ordered:
        raise InvalidInput("the workload names columns that are not there, twice, or out of order.")
    if any(shape[i] == 1 for table in tables for i in table.centred):
        raise InvalidInput("a table centred along a column of one value holds nothing.")
    return shape, tables


def write_workload(shape: Sequence[int], sets: Iterable[Columns]) -> str:
    """Write sizes and wanted sets as text.

    Examples
    --------
    >>> write_workload((2, 3), [(), (0, 1)]), read_workload("2,3||0,1")
    ('2,3||0,1', ((2, 3), ((), (0, 1))))
    """
    return write_strategy(shape, map(ReleasedTable, sets))


def write_strategy(shape: Sequence[int], tables: Iterable[ReleasedTable]) -> str:
    """Write sizes and released tables as text.

    Examples
    --------
    >>> tables = [ReleasedTable(()), ReleasedTable((0, 1), (1,))]
    >>> write_strategy((2, 3), tables), read_strategy("2,3|0,1c")[1]
    ('2,3||0,1c', (ReleasedTable(columns=(0, 1), centred=(1,)),))
    """
    words = (",".join(f"{i}{CENTRED * (i in table.centred)}" for i in table.columns) for table in tables)
    return "|".join([",".join(map(str, shape)), *words])
