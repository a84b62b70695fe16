"""The algebra of marginal tables: parts that belong to sets of columns, and estimates made of noisy tables.

Of the table of columns A, the part of B within A is what B says beyond all smaller sets: the table summed down to B,
less its means along every column of B. Parts of different sets are orthogonal, so noise that is independent and alike
within each table has uncorrelated parts. Best is therefore: for every B average the parts that the released tables
above B have, by their precision, and add parts up to the tables that are wanted (generalised least squares;
ResidualPlanner, Xiao et al. 2023). Tables made of the same parts agree with each other: here exactly, in whole
numbers over one denominator.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput

Columns: TypeAlias = tuple[int, ...]
"""A set of columns, by their places, in order."""
Shape: TypeAlias = tuple[int, ...]
SCALE = 2**24
"""Shares of released tables in a part are whole multiples of one over this."""
MOST_COLUMNS = 40


def subsets(columns: Columns) -> list[Columns]:
    """All sets within a set, the smallest first."""
    return [found for size in range(len(columns) + 1) for found in combinations(columns, size)]


def closure(sets: Iterable[Columns]) -> tuple[Columns, ...]:
    """All sets within one of some sets, the smallest first."""
    return tuple(sorted({part for each in sets for part in subsets(each)}, key=lambda each: (len(each), each)))


def cells(shape: Shape, columns: Iterable[int]) -> int:
    """How many cells the table of some columns has."""
    return math.prod(shape[i] for i in columns)


def without(columns: Columns, others: Columns) -> Columns:
    """The columns that are not among others."""
    return tuple(i for i in columns if i not in others)


def part_shares(
    shape: Shape, variances: Mapping[Columns, Fraction], published: Sequence[Columns]
) -> dict[Columns, dict[Columns, int]]:
    """How much of the part of every set is taken from each released table: whole numbers that add up to SCALE.

    By precision: the table of A summed down to B has noise of variance v·(cells of A over those of B).
    """
    found = {}
    for part in closure(published):
        above = [table for table in variances if set(part) <= set(table)]
        if not above:
            raise InvalidInput("a wanted table is not made of those that are released.")
        precisions = [1 / (variances[table] * cells(shape, without(table, part))) for table in above]
        whole = sum(precisions)
        shares = [int(SCALE * p / whole) for p in precisions]
        shares[precisions.index(max(precisions))] += SCALE - sum(shares)
        found[part] = {table: share for table, share in zip(above, shares, strict=True) if share}
    return found


def estimates(
    shape: Shape,
    shares: Mapping[Columns, Mapping[Columns, int]],
    released: Mapping[Columns, NDArray[Any]],
    published: Sequence[Columns],
) -> dict[Columns, NDArray[Any]]:
    """The wanted tables, as whole numbers over SCALE times their number of cells: sums of parts, exactly."""
    parts = {
        part: sum(share * _part(shape, released[table], table, part) for table, share in by.items())
        for part, by in shares.items()
    }
    found = {}
    for table in published:
        total: Any = np.zeros([shape[i] for i in table], dtype=object)
        for part in subsets(table):
            at = tuple(slice(None) if i in part else None for i in table)
            total = total + np.asarray(parts[part])[at]
        found[table] = np.asarray(total, dtype=object)
    return found


def _part(shape: Shape, table: NDArray[Any], columns: Columns, part: Columns) -> NDArray[Any]:
    """The part of a set in a table, times its number of cells: whole numbers."""
    gone = tuple(axis for axis, i in enumerate(columns) if i not in part)
    found = np.asarray(table, dtype=object).reshape([shape[i] for i in columns]).sum(axis=gone)
    found = np.asarray(found, dtype=object)
    for axis, i in enumerate(part):
        found = np.asarray(found * shape[i] - found.sum(axis=axis, keepdims=True), dtype=object)
    return found


def cell_variance(
    shape: Shape, shares: Mapping[Columns, Mapping[Columns, int]], variances: Mapping[Columns, float], table: Columns
) -> float:
    """The variance of every cell of a wanted table, released tables having noise of these variances."""
    total = 0.0
    for part in subsets(table):
        of_part = math.fsum(
            (share / SCALE) ** 2 * variances[above] * cells(shape, without(above, part))
            for above, share in shares[part].items()
        )
        kept = math.prod(1 - 1 / shape[i] for i in part)
        total += of_part * kept / cells(shape, without(table, part)) ** 2
    return total


def factors(
    shape: Shape, shares: Mapping[Columns, Mapping[Columns, int]], table: Columns
) -> list[tuple[Columns, float, int]]:
    """What the error of one cell of a wanted table is made of: (released table, factor, how many of its cells).

    A cell of a released table counts by the columns that both tables have and in which the two cells agree.
    """
    released = {above for by in shares.values() for above in by}
    found = []
    for above in sorted(released, key=lambda each: (len(each), each)):
        common = tuple(i for i in table if i in above)
        for agreeing in subsets(common):
            factor = math.fsum(
                shares[part].get(above, 0)
                / SCALE
                / cells(shape, without(table, part))
                * math.prod((i in agreeing) - 1 / shape[i] for i in part)
                for part in subsets(common)
            )
            many = math.prod(shape[i] - 1 for i in without(common, agreeing)) * cells(shape, without(above, table))
            if many and factor:
                found.append((above, factor, many))
    return found


@lru_cache(maxsize=64)
def read_workload(text: Any) -> tuple[Shape, tuple[Columns, ...]]:
    """Sizes and wanted sets, written by `write_workload`; a file may hold anything here."""
    try:
        first, *rest = str(text).split("|")
        shape = tuple(int(n) for n in first.split(","))
        sets = tuple(tuple(int(i) for i in each.split(",") if i) for each in rest)
    except ValueError:
        raise InvalidInput("the workload is not written as sizes and sets of columns.") from None
    ordered = all(list(each) == sorted(set(each)) and set(each) <= set(range(len(shape))) for each in sets)
    if not sets or len(set(sets)) < len(sets) or min(shape) < 1 or len(shape) > MOST_COLUMNS or not ordered:
        raise InvalidInput("the workload names columns that are not there, twice, or out of order.")
    return shape, sets


def write_workload(shape: Sequence[int], sets: Iterable[Columns]) -> str:
    """Sizes and sets as text.

    Examples
    --------
    >>> write_workload((2, 3), [(), (0, 1)]), read_workload("2,3||0,1")
    ('2,3||0,1', ((2, 3), ((), (0, 1))))
    """
    return "|".join([",".join(map(str, shape)), *(",".join(map(str, each)) for each in sets)])
