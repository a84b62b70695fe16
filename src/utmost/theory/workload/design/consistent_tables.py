"""Tables of whole numbers, none below 0, that agree with each other: near to estimates that may have neither property.

From the top down: the total, then tables of one column with that total, then tables of two columns with these margins.
Each step keeps what the ones before decided, so all tables agree exactly. Nothing but released numbers is looked at, so
it costs no privacy; it does bias numbers near 0 upwards, which is why the estimates themselves are the answer.
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

Whole = NDArray[np.int64]
PASSES = 200


def whole_tables(shape: Shape, tables: Mapping[Columns, NDArray[Any]]) -> dict[Columns, Whole]:
    """Whole numbers, none below 0, for wanted marginal tables: every total is the same wherever it is found.

    Tables of at most two columns agree whatever the others are; so do tables that all lie within one of them. Of other
    sets of three columns and more it is not known beforehand whether such whole numbers exist: `InvalidInput`.

    Parameters
    ----------
    shape : how many values each column has
    tables : estimates by their columns, consistent with each other

    Examples
    --------
    >>> found = whole_tables((2, 2), {(0,): np.array([3.4, -1.2]), (0, 1): np.array([[1.6, 1.8], [-1.5, 0.3]])})
    >>> found[(0,)].tolist(), found[(0, 1)].tolist()
    ([2, 0], [[1, 1], [0, 0]])
    """
    top = max(tables, key=lambda each: math.prod(shape[i] for i in each))
    if all(set(each) <= set(top) for each in tables):
        finest = np.asarray(tables[top], dtype=float)
        total = max(0, round(float(finest.sum())))
        cells = shared(total, finest.ravel()).reshape(finest.shape)
        return {each: _summed(cells, top, each) for each in tables}
    if any(len(each) > 2 for each in tables):
        raise InvalidInput(
            "whole numbers are made for tables of one or two columns, or for one table with others within it; ask for "
            "these, or use the unbiased numbers."
        )
    estimates = {each: np.asarray(table, dtype=float) for each, table in tables.items()}
    total = max(0, round(float(estimates[top].sum())))
    single: dict[int, Whole] = {}
    for each, table in estimates.items():
        for axis, i in enumerate(each):
            if i not in single:
                single[i] = shared(total, table.sum(axis=tuple(a for a in range(len(each)) if a != axis)))
    found: dict[Columns, Whole] = {}
    for each, table in estimates.items():
        if len(each) == 2:
            found[each] = fitted(table, single[each[0]], single[each[1]])
        else:
            found[each] = single[each[0]] if each else np.array(total)
    return found


def _summed(cells: Whole, top: Columns, each: Columns) -> Whole:
    return np.asarray(cells.sum(axis=tuple(a for a, i in enumerate(top) if i not in each)))


def shared(total: int, estimates: Sequence[float] | Floats) -> Whole:
    """A total shared out in whole numbers, none below 0: the nearest point with this sum, then by largest remainder.

    Examples
    --------
    >>> shared(10, [4.4, 6.7, -1.1]).tolist()
    [4, 6, 0]
    """
    found = np.asarray(estimates, dtype=float)
    ordered = np.sort(found)[::-1]
    levels = (np.cumsum(ordered) - total) / np.arange(1, len(found) + 1)
    kept = np.flatnonzero(ordered > levels)
    level = levels[kept[-1]] if len(kept) else levels[0]
    near = np.maximum(found - level, 0.0)
    whole = np.floor(near + 1e-9).astype(np.int64)
    over = int(whole.sum()) - total
    order = np.argsort(-(near - whole), kind="stable")
    while over < 0:  # as many more as are missing, the largest remainders first
        more = order[: min(-over, len(order))]
        whole[more] += 1
        over += len(more)
    while over > 0:  # one is given back where rounding took too much
        at = int(np.argmax(whole))
        take = min(over, int(whole[at]))
        whole[at] -= take
        over -= take
    return np.asarray(whole)


def fitted(estimates: Floats, rows: Whole, columns: Whole) -> Whole:
    """A table of whole numbers, none below 0, with these sums of rows and of columns (which have one total).

    Raked to the margins, then cut to whole numbers; what is missing is added where remainders are largest, one for each
    cell, and the rest from corner to corner, which always ends.

    Examples
    --------
    >>> fitted(np.array([[1.6, -0.8], [2.2, 0.3]]), np.array([2, 2]), np.array([3, 1])).tolist()
    [[2, 0], [1, 1]]
    """
    near = np.maximum(estimates, 0.0) + 1e-9
    for _ in range(PASSES):
        near *= (rows / np.maximum(near.sum(axis=1), 1e-300))[:, None]
        by = columns / np.maximum(near.sum(axis=0), 1e-300)
        near *= by
        if np.abs(by - 1).max(initial=0.0) < 1e-6:
            break
    whole = np.floor(near).astype(np.int64)
    for axis, wanted in ((1, rows), (0, columns)):  # raking ends early: nothing may exceed its margin
        for at in np.flatnonzero(whole.sum(axis=axis) > wanted):
            line = whole[at] if axis == 1 else whole[:, at]
            line[:] = shared(int(wanted[at]), line.astype(float))
    left, below = rows - whole.sum(axis=1), columns - whole.sum(axis=0)
    width = len(columns)
    for flat in np.argsort(-(near - whole), axis=None, kind="stable").tolist():
        i, j = divmod(flat, width)
        if left[i] and below[j]:
            whole[i, j] += 1
            left[i] -= 1
            below[j] -= 1
            if not left.any():
                return whole
    i = j = 0
    while i < len(rows) and j < width:
        step = min(left[i], below[j])
        whole[i, j] += step
        left[i] -= step
        below[j] -= step
        i, j = (i + 1, j) if not left[i] else (i, j + 1)
    return whole
