"""Least squares estimates of sums of neighbouring cells from noisy weighted sums; shared by designs and verifiers.

The workload is all *running* counts (of the first 1, 2, ... cells), or all *ranges* (of neighbouring cells, from any
one to any other). A range is the difference of two running counts, so the latter determine all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Literal, TypeAlias, get_args

import numpy as np

from utmost.errors import InvalidInput
from utmost.exact.arrays import Floats
from utmost.space.integers import Lattice, Strategy

Sums: TypeAlias = Literal["running", "ranges"]
"""Which sums of neighbouring cells the workload consists of."""
FRACTION = 2**20
"""Estimates are integer multiples of one over this."""


@lru_cache(maxsize=16)
def prefix_weights(strategy: Strategy | Lattice) -> Floats:
    """The least squares weights of running counts: a row for every count, a column for every released sum.

    The sums are B x, x the cells; the best unbiased estimate of the counts W x, W lower triangular ones, from the noisy
    sums y is W B+ y, since all have noise of one variance (Gauss, Markov). `InvalidInput` where B has not full column
    rank. For a lattice the sums are the cells themselves.

    Examples
    --------
    >>> prefix_weights(Strategy(Lattice(2, "any", 1, 0, 9), ((0, (1, 1)), (0, (1,)), (1, (1,))))).round(3)
    array([[ 0.333,  0.667, -0.333],
           [ 0.667,  0.333,  0.333]])
    """
    if isinstance(strategy, Lattice):
        return np.tril(np.ones((strategy.dimension, strategy.dimension)))
    matrix = strategy.matrix.astype(float)
    products = matrix.T @ matrix
    try:
        factor = np.linalg.cholesky(products)
    except np.linalg.LinAlgError:
        raise InvalidInput("the sums of a strategy do not tell all cells apart; add sums.") from None
    if np.diag(factor).min() < 1e-6 * np.diag(factor).max():
        raise InvalidInput("the sums of a strategy hardly tell all cells apart; add sums.")
    cells = np.linalg.solve(products, matrix.T)
    return np.asarray(np.cumsum(cells, axis=0))


def require_sums(sums: object) -> Sums:
    """Check which sums a problem of an untrusted file is about."""
    if sums not in get_args(Sums):
        raise InvalidInput("wanted are the running counts of cells, or all ranges of them.")
    return "ranges" if sums == "ranges" else "running"


def sum_weights(strategy: Strategy | Lattice, sums: Sums) -> Floats:
    """The least squares weights of running counts, or of all ranges: those from the first cell on come first."""
    running = prefix_weights(strategy)
    if sums == "running":
        return running
    padded = np.vstack([np.zeros(running.shape[1]), running])
    start, end = np.triu_indices(len(padded), 1)
    return np.asarray(padded[end] - padded[start])


def spreads(strategy: Strategy | Lattice, sums: Sums) -> Floats:
    """The variance of every running count, or range, where the noise of every released sum has variance 1.

    Examples
    --------
    >>> spreads(Lattice(3, "any", 1, 0, 9), "ranges").tolist()             # [0, 1), [0, 2), [0, 3), [1, 2), ...
    [1.0, 2.0, 3.0, 1.0, 2.0, 1.0]
    """
    running = prefix_weights(strategy)
    if sums == "running":
        return np.asarray(np.square(running).sum(axis=1))
    padded = np.vstack([np.zeros(running.shape[1]), running])
    products = padded @ padded.T
    start, end = np.triu_indices(len(padded), 1)
    own = np.diag(products)
    return np.asarray(own[start] + own[end] - 2 * products[start, end])


def sum_products(cells: int, sums: Sums) -> Floats:
    """The Gram matrix W'W of the sums W x of cells x: how many of them contain both of two cells.

    Examples
    --------
    >>> sum_products(3, "running").tolist(), sum_products(3, "ranges").tolist()
    ([[3.0, 2.0, 1.0], [2.0, 2.0, 1.0], [1.0, 1.0, 1.0]], [[3.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 3.0]])
    """
    at = np.arange(cells)
    pairs = cells - np.maximum.outer(at, at).astype(float)
    return pairs if sums == "running" else pairs * (np.minimum.outer(at, at) + 1)


def number_of_sums(cells: int, sums: Sums) -> int:
    """The number of running counts, or of ranges."""
    return cells if sums == "running" else cells * (cells + 1) // 2


def running_counts(strategy: Strategy | Lattice, sums: Sequence[int]) -> list[Fraction]:
    """Least squares estimates of running counts from released sums, rounded to multiples of 1/2^20.

    Integers near the estimates of the cells are subtracted first, exactly, and only the remainder is computed in
    floats, so large counts lose no digits.
    """
    if isinstance(strategy, Lattice):
        return [Fraction(x) for x in np.cumsum(np.array(sums, dtype=object)).tolist()]
    weights = prefix_weights(strategy)
    first = np.diff(weights @ np.array(sums, dtype=float), prepend=0.0)
    nearest = np.array([round(x) for x in first.tolist()], dtype=object)
    remainder = np.array(sums, dtype=object) - strategy.matrix.astype(object) @ nearest
    rest = weights @ remainder.astype(float)
    return [
        count + Fraction(math.floor(part * FRACTION + 0.5), FRACTION)
        for count, part in zip(np.cumsum(nearest).tolist(), rest.tolist(), strict=True)
    ]
