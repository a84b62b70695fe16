"""Exact draws of a survey's responses: sets of categories that favour those with the true one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from utmost.mechanism.sampling import WORD, uniform_below, uniform_words

ENTRIES_AT_ONCE = 2**22


def draw_sets(true: NDArray[np.int64], k: int, size: int, inside: Fraction) -> NDArray[np.int64]:
    """Sets of `size` of k categories, each a sorted row, that hold the true one with probability `inside`.

    No branch and no order depends on the truth. Uniform sets among the other categories (Floyd's algorithm); where the
    coin falls inside, one of their members, chosen uniformly, gives way to the true one.
    """
    if size == 1:
        return _draw_rows(true, k, size, inside)
    rows = max(1, ENTRIES_AT_ONCE // size)
    parts = [_draw_rows(true[start : start + rows], k, size, inside) for start in range(0, len(true), rows)]
    return np.concatenate([np.zeros((0, size), dtype=np.int64), *parts])


def _draw_rows(true: NDArray[np.int64], k: int, size: int, inside: Fraction) -> NDArray[np.int64]:
    n = len(true)
    if inside * k == size:  # responses say nothing, so they must not even look
        return np.sort(_subsets(n, size, k), axis=1)
    chosen = _subsets(n, size, k - 1)
    chosen += chosen >= true[:, None]
    rest = 2**WORD - int(inside * 2**WORD)
    hit = uniform_words(WORD, n) >= np.uint64(rest)
    if size == 1:
        return np.where(hit, true, chosen[:, 0])[:, None]
    rows, place = np.arange(n), uniform_below(size, n)
    chosen[rows, place] = np.where(hit, true, chosen[rows, place])
    return np.sort(chosen, axis=1)


def _subsets(n: int, size: int, among: int) -> NDArray[np.int64]:
    """Uniform sets of `size` numbers below `among`, a row each, exactly (Floyd): ties take the newest number."""
    chosen = np.empty((n, size), dtype=np.int64)
    for i in range(size):
        newest = among - size + i
        drawn = uniform_below(newest + 1, n)
        taken = (chosen[:, :i] == drawn[:, None]).any(axis=1)
        chosen[:, i] = np.where(taken, newest, drawn)
    return chosen
