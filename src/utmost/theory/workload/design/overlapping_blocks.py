"""Strategies of cells and a few overlapping blocks of them, with weights that minimise the variance of sums of cells.

At pure levels noise hides a column of a strategy by its l1 norm, so every cell has one unit of weight to give: some to
itself, the rest to blocks that contain it. Let Theta be the blocks' weights relative to the cells' own: column i of
the strategy is (e_i, Theta e_i)/n_i with n_i = 1 + sum_r Theta_ri, and the total variance of the sums W x is
tr(N S N M^-1) times that of one noise, S = W'W, N = diag n, M = I + Theta'Theta (the "p-identity" strategies of
McKenna, Miklau, Hay and Machanavajjhala 2018). With p blocks M is inverted by a p x p matrix, and S is applied to a
vector by running sums, so a value and its gradient take O(p^2 m) steps, and a thousand cells a second or two.

For running counts and ranges the best blocks found are *tents*: they rise and fall, and the next one rises where one
falls. The search starts from tents and ends in a local optimum: valid, since the sensitivity is computed from the
strategy's own columns, and not proved best. Weights are then rounded so that every cell gives the same integer in all.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from utmost.exact.arrays import Floats
from utmost.theory.workload.least_squares import Sums, number_of_sums

Rows: TypeAlias = tuple[tuple[int, tuple[int, ...]], ...]
"""Rows of a strategy as in `space.integers.Strategy`: the first cell of each, and the weights from there on."""
ROUNDS, REMEMBERED = 200, 20
FEW = 7
"""Up to this many tents a single layer is tried, too; above it two layers have always been better."""
FINE, COARSE = 0.9, 0.6
"""Initial heights of tents: those of the first layer, and of a second layer with fewer and wider tents."""
TOTALS = (2, 3, 4, 6, 9, 13, 20, 40, 100, 250)
"""Total weights of a cell that are tried: small ones make finer noise, large ones round the weights less."""
SIZES = (0.35, 0.5, 0.65)
"""Exponents p for blocks of equal size m^p, m the number of cells: the best strategies where epsilon is large."""


def tent_strategies(cells: int, sums: Sums) -> Iterator[tuple[float, int, Rows]]:
    """Candidate strategies: tents, one for each of `TOTALS`, and disjoint blocks of equal size.

    Yields the mean variance where the noise of every sum has variance 1, the total weight of a cell, and the rows.

    Examples
    --------
    >>> spread, total, rows = list(tent_strategies(30, "running"))[-1]
    >>> round(2 * spread * total**2, 1), len(rows)        # Laplace noise at epsilon 1; sums of noisy cells: 31
    (19.0, 32)
    """
    blocks = best_blocks(cells, sums)
    shares = blocks / (1 + blocks.sum(axis=0))
    tents = ((total, _rounded_weights(shares, total)) for total in TOTALS)
    even = ((2, _even_blocks(cells, max(2, round(cells**power)))) for power in SIZES)
    for total, weights in (*even, *tents):
        own = total - weights.sum(axis=0)
        yield mean_spread(own, weights, sums), total, (*_as_rows(np.diag(own)), *_as_rows(weights))


def _even_blocks(cells: int, size: int) -> NDArray[np.int64]:
    """Disjoint blocks of `size` cells, with weights of 1."""
    first = np.arange(0, cells, size)[:, None]
    return np.asarray((first <= np.arange(cells)) & (np.arange(cells) < first + size), dtype=np.int64)


def _rounded_weights(shares: Floats, total: int) -> NDArray[np.int64]:
    """The weights of cells in blocks as integers, lowered where a cell would have no weight of its own."""
    weights = np.rint(shares * total).astype(np.int64)
    while (short := np.flatnonzero(weights.sum(axis=0) >= total)).size:
        smallest_block = np.where(weights[:, short] > 0, shares[:, short], np.inf).argmin(axis=0)
        weights[smallest_block, short] -= 1
    return np.asarray(weights[weights.any(axis=1)])


def _as_rows(weights: NDArray[np.int64]) -> Rows:
    """Rows of weights without the zeros around them."""
    places = [np.flatnonzero(row)[[0, -1]] for row in weights]
    return tuple((int(i), tuple(row[i : j + 1].tolist())) for row, (i, j) in zip(weights, places, strict=True))


def mean_spread(own: NDArray[np.int64], blocks: NDArray[np.int64], sums: Sums) -> float:
    """The mean variance of sums by least squares, from noisy cells times `own` and noisy blocks, noise of variance 1.

    Examples
    --------
    >>> round(mean_spread(np.array([1, 1, 1]), np.array([[1, 1, 1]]), "running"), 6)       # cells alone: 2
    0.833333
    """
    relative = blocks / own
    scaled = relative / own  # rows of Theta N, N = 1/own
    kernel = np.eye(len(blocks)) + relative @ relative.T
    lost = (np.linalg.solve(kernel, times_gram(scaled, sums)) * scaled).sum()
    return float(gram_diagonal(len(own), sums) @ (1.0 / own**2) - lost) / number_of_sums(len(own), sums)


@lru_cache(maxsize=16)
def best_blocks(cells: int, sums: Sums) -> Floats:
    """The best blocks found: one row of weights for each, relative to the weight of a cell alone."""
    fine = max(1, round(cells ** (2 / 3) / 4))
    layers = (fine + 1, max(2, fine // 3))
    layouts = [layers] if fine > FEW else [(fine,), layers] if fine > 3 else [(fine,), (max(1, fine - 1),)]
    optima = [_local_optimum(cells, layout, sums) for layout in dict.fromkeys(layouts)]
    return min(optima, key=lambda optimum: optimum[0])[1]


def _local_optimum(cells: int, layout: tuple[int, ...], sums: Sums) -> tuple[float, Floats]:
    """Descend from layers of tents to a local optimum: its total variance and its blocks."""
    heights = (FINE, COARSE)
    start = np.vstack([_tents(cells, many, height) for many, height in zip(layout, heights, strict=False)])
    optimum = minimize(
        total_variance,
        start.ravel(),
        args=(len(start), sums),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * start.size,
        options={"maxiter": ROUNDS, "maxcor": REMEMBERED},
    )
    return float(optimum.fun), np.asarray(optimum.x.reshape(start.shape))


def _tents(cells: int, many: int, height: float) -> Floats:
    """Evenly spaced tents, each as wide as two spacings; a little weight everywhere, so that every weight can grow."""
    middles = (np.arange(many) + 0.5) * (cells / many)
    away = np.abs(np.arange(cells) + 0.5 - middles[:, None]) * (many / cells)
    return height * np.maximum(0.0, 1 - away) + 1e-3


def total_variance(flat: Floats, many: int, sums: Sums) -> tuple[float, Floats]:
    """The total variance of the sums by blocks with relative weights, noise of variance 1, and its gradient.

    With Q = (I + Theta Theta')^-1 Theta, M^-1 = I - Theta'Q and Theta M^-1 = Q. The value changes with Theta by
    -2 Q N S N M^-1, and with n by 2 diag(S N M^-1); every weight of a cell is part of its n.
    """
    blocks = flat.reshape(many, -1)
    n = 1 + blocks.sum(axis=0)
    own = gram_diagonal(len(n), sums) * n
    kernel = np.eye(many) + blocks @ blocks.T
    projection = np.linalg.solve(kernel, blocks)  # Q
    gram = times_gram(blocks * n, sums)  # Theta N S
    product = np.linalg.solve(kernel, gram) * n  # Q N S N
    value = float(own @ n - (gram * n * projection).sum())
    slope = -2 * (product - (product @ blocks.T) @ projection) + 2 * (own - (gram * projection).sum(axis=0))
    return value, np.asarray(slope.ravel())


def gram_diagonal(cells: int, sums: Sums) -> Floats:
    """The diagonal of S = W'W: how many of the sums contain each cell."""
    at = np.arange(cells, dtype=float)
    return cells - at if sums == "running" else (cells - at) * (at + 1)


def times_gram(rows: Floats, sums: Sums) -> Floats:
    """Multiply rows by S = W'W using running sums: S_ij is how many sums contain both i and j (`sum_products`)."""
    if sums == "running":
        return np.asarray(np.cumsum(np.cumsum(rows, axis=1)[:, ::-1], axis=1)[:, ::-1])
    later, earlier = np.arange(rows.shape[1], 0, -1.0), np.arange(1.0, rows.shape[1] + 1)
    low = np.cumsum(rows * earlier, axis=1) * later
    high = (np.cumsum((rows * later)[:, ::-1], axis=1)[:, ::-1] - rows * later) * earlier
    return np.asarray(low + high)
