"""Running counts from noisy weighted sums of cells, by least squares: what designs, checkers and answers share."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from utmost.errors import InvalidInput
from utmost.exact.arrays import Floats
from utmost.space.integers import Strategy


@lru_cache(maxsize=16)
def prefix_weights(strategy: Strategy) -> Floats:
    """What each running count of the cells is made of: a row of weights for every count, a column for every sum.

    The sums are B x, x the cells; the best unbiased estimate of the counts W x, W lower triangular ones, is W B+ y, of
    the noisy sums y: all have noise of one variance (Gauss, Markov). `InvalidInput` where sums do not tell cells apart.

    Examples
    --------
    >>> from utmost.space.integers import Lattice
    >>> prefix_weights(Strategy(Lattice(2, "any", 1, 0, 9), ((0, (1, 1)), (0, (1,)), (1, (1,))))).round(3)
    array([[ 0.333,  0.667, -0.333],
           [ 0.667,  0.333,  0.333]])
    """
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
