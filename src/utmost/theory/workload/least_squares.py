"""Sums of neighbouring cells from noisy weighted sums of them, by least squares: what designs, checkers, answers share.

Wanted are all *running* counts (of the first 1, 2, ... cells), or all *ranges* (of neighbouring cells, from any one to
any other): a range is the difference of two running counts, so the latter tell everything.
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
"""Which sums of neighbouring cells are wanted."""
FRACTION = 2**20
"""Estimates are whole multiples of one over this."""


@lru_cache(maxsize=16)
def prefix_weights(strategy: Strategy | Lattice) -> Floats:
    """What each running count of the cells is made of: a row of weights for every count, a column for every sum.

    The sums are B x, x the cells; the best unbiased estimate of the counts W x, W lower triangular ones, is W B+ y, of
    the noisy sums y: all have noise of one variance (Gauss, Markov). `InvalidInput` where sums do not tell cells apart.
    Of a lattice the sums are the cells themselves.

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


def require_sums(wanted: object) -> Sums:
    """Which sums are wanted; a file may hold anything here."""
    if wanted not in get_args(Sums):
        raise InvalidInput("wanted are the running counts of cells, or all ranges of them.")
    return "ranges" if wanted == "ranges" else "running"


def wanted_weights(strategy: Strategy | Lattice, wanted: Sums) -> Floats:
    """The same rows of weights for all wanted numbers: running counts; or ranges, those of the first cell first."""
    running = prefix_weights(strategy)
    if wanted == "running":
        return running
    padded = np.vstack([np.zeros(running.shape[1]), running])
    start, end = np.triu_indices(len(padded), 1)
    return np.asarray(padded[end] - padded[start])


def spreads(strategy: Strategy | Lattice, wanted: Sums) -> Floats:
    """The variance of every wanted number where the noise of every sum has variance 1.

    Examples
    --------
    >>> spreads(Lattice(3, "any", 1, 0, 9), "ranges").tolist()             # [0, 1), [0, 2), [0, 3), [1, 2), ...
    [1.0, 2.0, 3.0, 1.0, 2.0, 1.0]
    """
    running = prefix_weights(strategy)
    if wanted == "running":
        return np.asarray(np.square(running).sum(axis=1))
    padded = np.vstack([np.zeros(running.shape[1]), running])
    products = padded @ padded.T
    start, end = np.triu_indices(len(padded), 1)
    own = np.diag(products)
    return np.asarray(own[start] + own[end] - 2 * products[start, end])


def wanted_products(cells: int, wanted: Sums) -> Floats:
    """W'W of the wanted sums W x of cells x: how many of them hold both of two cells.

    Examples
    --------
    >>> wanted_products(3, "running").tolist(), wanted_products(3, "ranges").tolist()
    ([[3.0, 2.0, 1.0], [2.0, 2.0, 1.0], [1.0, 1.0, 1.0]], [[3.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 3.0]])
    """
    at = np.arange(cells)
    after = cells - np.maximum.outer(at, at).astype(float)
    return after if wanted == "running" else after * (np.minimum.outer(at, at) + 1)


def wanted_numbers(cells: int, wanted: Sums) -> int:
    """How many numbers are wanted."""
    return cells if wanted == "running" else cells * (cells + 1) // 2


def running_counts(strategy: Strategy | Lattice, sums: Sequence[int]) -> list[Fraction]:
    """Running counts by least squares of released sums, rounded to multiples of 1/2^20.

    Whole cells near to the estimates are taken out first, exactly, and only what they leave is weighed in floats: so
    large counts lose no digits.
    """
    if isinstance(strategy, Lattice):
        return [Fraction(x) for x in np.cumsum(np.array(sums, dtype=object)).tolist()]
    weights = prefix_weights(strategy)
    first = np.diff(weights @ np.array(sums, dtype=float), prepend=0.0)
    near = np.array([round(x) for x in first.tolist()], dtype=object)
    left = np.array(sums, dtype=object) - strategy.matrix.astype(object) @ near
    rest = weights @ left.astype(float)
    return [
        whole + Fraction(math.floor(part * FRACTION + 0.5), FRACTION)
        for whole, part in zip(np.cumsum(near).tolist(), rest.tolist(), strict=True)
    ]
