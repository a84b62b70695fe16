"""Consistent tables of nonnegative integers, close to estimates that may be fractional or negative.

From the top down: the total, then tables of one column with that total, then tables of two columns with these margins.
Each step keeps what earlier steps decided, so all tables agree exactly. This is post-processing of released numbers and
costs no privacy; it biases numbers near 0 upwards, which is why the estimates themselves are the answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput
from utmost.exact.arrays import Floats
from utmost.theory.workload.marginal_algebra import Columns, Shape

Integers = NDArray[np.int64]
PASSES = 200


def integer_tables(shape: Shape, tables: Mapping[Columns, NDArray[Any]]) -> dict[Columns, Integers]:
    """Nonnegative integer tables for the wanted marginals, with the same total in each.

    Tables of at most two columns can always be made to agree; so can tables that all lie within one of them. For other
    sets with three or more columns it is not known in advance whether such integers exist: `InvalidInput`.

    Parameters
    ----------
    shape : tuple of int
        How many values each column has.
    tables : mapping of tuple to array
        Estimates by their columns, consistent with each other.

    Examples
    --------
    >>> whole = integer_tables((2, 2), {(0,): np.array([3.4, -1.2]), (0, 1): np.array([[1.6, 1.8], [-1.5, 0.3]])})
    >>> whole[(0,)].tolist(), whole[(0, 1)].tolist()
    ([2, 0], [[1, 1], [0, 0]])
    """
    top = max(tables, key=lambda columns: math.prod(shape[i] for i in columns))
    if all(set(columns) <= set(top) for columns in tables):
        finest = np.asarray(tables[top], dtype=float)
        total = max(0, round(float(finest.sum())))
        cells = apportion(total, finest.ravel()).reshape(finest.shape)
        return {columns: _margin(cells, top, columns) for columns in tables}
    if any(len(columns) > 2 for columns in tables):
        raise InvalidInput(
            "whole numbers are made for tables of one or two columns, or for one table with others within it; ask for "
            "these, or use the unbiased numbers."
        )
    estimates = {columns: np.asarray(table, dtype=float) for columns, table in tables.items()}
    total = max(0, round(float(estimates[top].sum())))
    single: dict[int, Integers] = {}
    for columns, table in estimates.items():
        for axis, i in enumerate(columns):
            if i not in single:
                single[i] = apportion(total, table.sum(axis=tuple(a for a in range(len(columns)) if a != axis)))
    margins: dict[Columns, Integers] = {}
    for columns, table in estimates.items():
        if len(columns) == 2:
            margins[columns] = fit_margins(table, single[columns[0]], single[columns[1]])
        else:
            margins[columns] = single[columns[0]] if columns else np.array(total)
    return margins


def _margin(cells: Integers, top: Columns, columns: Columns) -> Integers:
    return np.asarray(cells.sum(axis=tuple(a for a, i in enumerate(top) if i not in columns)))


def apportion(total: int, estimates: Sequence[float] | Floats) -> Integers:
    """Apportion a total in nonnegative integers: the nearest point with this sum, then the largest remainders.

    Examples
    --------
    >>> apportion(10, [4.4, 6.7, -1.1]).tolist()
    [4, 6, 0]
    """
    values = np.asarray(estimates, dtype=float)
    ordered = np.sort(values)[::-1]
    levels = (np.cumsum(ordered) - total) / np.arange(1, len(values) + 1)
    positive = np.flatnonzero(ordered > levels)
    level = levels[positive[-1]] if len(positive) else levels[0]
    shares = np.maximum(values - level, 0.0)
    integers = np.floor(shares + 1e-9).astype(np.int64)
    over = int(integers.sum()) - total
    order = np.argsort(-(shares - integers), kind="stable")
    while over < 0:  # add what is missing, largest remainders first
        more = order[: min(-over, len(order))]
        integers[more] += 1
        over += len(more)
    while over > 0:  # rounding took too much: take it back from the largest
        at = int(np.argmax(integers))
        take = min(over, int(integers[at]))
        integers[at] -= take
        over -= take
    return np.asarray(integers)


def fit_margins(estimates: Floats, rows: Integers, columns: Integers) -> Integers:
    """A table of nonnegative integers with these row and column sums (which have one total).

    Raked to the margins and rounded down; what is missing is added where remainders are largest, one for each cell,
    and the rest by the north-west corner rule, which always ends.

    Examples
    --------
    >>> fit_margins(np.array([[1.6, -0.8], [2.2, 0.3]]), np.array([2, 2]), np.array([3, 1])).tolist()
    [[2, 0], [1, 1]]
    """
    raked = np.maximum(estimates, 0.0) + 1e-9
    for _ in range(PASSES):
        raked *= (rows / np.maximum(raked.sum(axis=1), 1e-300))[:, None]
        by = columns / np.maximum(raked.sum(axis=0), 1e-300)
        raked *= by
        if np.abs(by - 1).max(initial=0.0) < 1e-6:
            break
    integers = np.floor(raked).astype(np.int64)
    for axis, margin in ((1, rows), (0, columns)):  # raking ends early: nothing may exceed its margin
        for at in np.flatnonzero(integers.sum(axis=axis) > margin):
            line = integers[at] if axis == 1 else integers[:, at]
            line[:] = apportion(int(margin[at]), line.astype(float))
    row_gaps, column_gaps = rows - integers.sum(axis=1), columns - integers.sum(axis=0)
    width = len(columns)
    for flat in np.argsort(-(raked - integers), axis=None, kind="stable").tolist():
        i, j = divmod(flat, width)
        if row_gaps[i] and column_gaps[j]:
            integers[i, j] += 1
            row_gaps[i] -= 1
            column_gaps[j] -= 1
            if not row_gaps.any():
                return integers
    i = j = 0
    while i < len(rows) and j < width:
        step = min(row_gaps[i], column_gaps[j])
        integers[i, j] += step
        row_gaps[i] -= step
        column_gaps[j] -= step
        i, j = (i + 1, j) if not row_gaps[i] else (i, j + 1)
    return integers
