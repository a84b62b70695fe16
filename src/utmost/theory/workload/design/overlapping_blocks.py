"""Cells and a few overlapping blocks of them: which blocks, with which weights, make sums of cells vary least.

At pure levels noise hides a column of a strategy by its l1 length, so every cell has one unit of weight to give: some
to itself, the rest to blocks that it lies in. Let Theta be the blocks' weights relative to the cells' own: column i of
the strategy is (e_i, Theta e_i)/n_i with n_i = 1 + sum_r Theta_ri, and the total variance of the sums W x is
tr(N S N M^-1) times that of one noise, S = W'W, N = diag n, M = I + Theta'Theta (the "p-identity" strategies of
McKenna, Miklau, Hay and Machanavajjhala 2018). With p blocks M is inverted by a p x p matrix, and S is applied to a
vector by running sums, so a value and its gradient take O(p^2 m) steps, and a thousand cells a second or two.

For running counts and ranges the best blocks found are *tents*: they rise and fall, and the next one rises where one
falls. The search begins with tents and ends in a local optimum: valid, since the strategy is measured by its own
columns, and not proved best. Weights are then rounded, such that every cell gives the same whole number in all.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from utmost.exact.arrays import Floats
from utmost.theory.workload.least_squares import Sums, wanted_numbers

Rows: TypeAlias = tuple[tuple[int, tuple[int, ...]], ...]
"""Sums of cells as `space.integers.Strategy` has them: the first cell of each, and the weights from there on."""
ROUNDS, REMEMBERED = 200, 20
FEW = 7
"""Up to how many tents one layer alone is tried, too: beyond, two have always been better."""
FINE, COARSE = 0.9, 0.6
"""How high tents are in the beginning: those of the first layer, and of a second one with fewer and wider tents."""
TOTALS = (2, 3, 4, 6, 9, 13, 20, 40, 100, 250)
"""What a cell gives in all, in whole numbers: noise on few is finer than that of a real law, many round off less."""
SIZES = (0.35, 0.5, 0.65)
"""Of which powers of the number of cells even blocks have their sizes: the best where epsilon is large."""


def tent_strategies(cells: int, wanted: Sums) -> Iterator[tuple[float, int, Rows]]:
    """Strategies of cells and blocks: tents, one for each of `TOTALS`, and blocks of equal size beside each other.

    Each with its mean variance where the noise of every sum has variance 1, the weight of a cell in all, and its rows.

    Examples
    --------
    >>> spread, total, rows = list(tent_strategies(30, "running"))[-1]
    >>> round(2 * spread * total**2, 1), len(rows)        # Laplace noise at epsilon 1; cells added up: 31
    (19.0, 32)
    """
    blocks = best_blocks(cells, wanted)
    shares = blocks / (1 + blocks.sum(axis=0))
    tents = ((total, _rounded(shares, total)) for total in TOTALS)
    even = ((2, _even(cells, max(2, round(cells**power)))) for power in SIZES)
    for total, whole in (*even, *tents):
        own = total - whole.sum(axis=0)
        yield mean_spread(own, whole, wanted), total, (*_as_rows(np.diag(own)), *_as_rows(whole))


def _even(cells: int, size: int) -> NDArray[np.int64]:
    """Every cell in one block, with a weight of 1."""
    first = np.arange(0, cells, size)[:, None]
    return np.asarray((first <= np.arange(cells)) & (np.arange(cells) < first + size), dtype=np.int64)


def _rounded(shares: Floats, total: int) -> NDArray[np.int64]:
    """What cells give to blocks, in whole numbers; where none would be left for a cell, its least block gets less."""
    whole = np.rint(shares * total).astype(np.int64)
    while (short := np.flatnonzero(whole.sum(axis=0) >= total)).size:
        least = np.where(whole[:, short] > 0, shares[:, short], np.inf).argmin(axis=0)
        whole[least, short] -= 1
    return np.asarray(whole[whole.any(axis=1)])


def _as_rows(weights: NDArray[np.int64]) -> Rows:
    """Rows of weights without the zeros around them."""
    places = [np.flatnonzero(row)[[0, -1]] for row in weights]
    return tuple((int(i), tuple(row[i : j + 1].tolist())) for row, (i, j) in zip(weights, places, strict=True))


def mean_spread(own: NDArray[np.int64], blocks: NDArray[np.int64], wanted: Sums) -> float:
    """The mean variance of wanted sums by least squares, from cells times `own` and blocks, all with variance 1.

    Examples
    --------
    >>> round(mean_spread(np.array([1, 1, 1]), np.array([[1, 1, 1]]), "running"), 6)       # cells alone: 2
    0.833333
    """
    relative = blocks / own
    scaled = relative / own  # rows of Theta N, N = 1/own
    kernel = np.eye(len(blocks)) + relative @ relative.T
    lost = (np.linalg.solve(kernel, applied(scaled, wanted)) * scaled).sum()
    return float(diagonal(len(own), wanted) @ (1.0 / own**2) - lost) / wanted_numbers(len(own), wanted)


@lru_cache(maxsize=16)
def best_blocks(cells: int, wanted: Sums) -> Floats:
    """The best blocks found, a row of weights for each, relative to the weight of a cell alone."""
    fine = max(1, round(cells ** (2 / 3) / 4))
    layers = (fine + 1, max(2, fine // 3))
    layouts = [layers] if fine > FEW else [(fine,), layers] if fine > 3 else [(fine,), (max(1, fine - 1),)]
    found = [_searched(cells, layout, wanted) for layout in dict.fromkeys(layouts)]
    return min(found, key=lambda each: each[0])[1]


def _searched(cells: int, layout: tuple[int, ...], wanted: Sums) -> tuple[float, Floats]:
    """From layers of tents, so many in each, to a local optimum: its total variance and its blocks."""
    heights = (FINE, COARSE)
    start = np.vstack([_tents(cells, many, height) for many, height in zip(layout, heights, strict=False)])
    found = minimize(
        total_variance,
        start.ravel(),
        args=(len(start), wanted),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * start.size,
        options={"maxiter": ROUNDS, "maxcor": REMEMBERED},
    )
    return float(found.fun), np.asarray(found.x.reshape(start.shape))


def _tents(cells: int, many: int, height: float) -> Floats:
    """Tents at equal distances, each as wide as two of these; a little everywhere, so that every weight can grow."""
    middles = (np.arange(many) + 0.5) * (cells / many)
    away = np.abs(np.arange(cells) + 0.5 - middles[:, None]) * (many / cells)
    return height * np.maximum(0.0, 1 - away) + 1e-3


def total_variance(flat: Floats, many: int, wanted: Sums) -> tuple[float, Floats]:
    """The total variance of wanted sums if every noise has variance 1, of blocks with relative weights; its gradient.

    With Q = (I + Theta Theta')^-1 Theta, M^-1 = I - Theta'Q and Theta M^-1 = Q. The value changes with Theta by
    -2 Q N S N M^-1, and with n by 2 diag(S N M^-1); every weight of a cell is part of its n.
    """
    blocks = flat.reshape(many, -1)
    n = 1 + blocks.sum(axis=0)
    own = diagonal(len(n), wanted) * n
    kernel = np.eye(many) + blocks @ blocks.T
    solved = np.linalg.solve(kernel, blocks)  # Q
    summed = applied(blocks * n, wanted)  # Theta N S
    moved = np.linalg.solve(kernel, summed) * n  # Q N S N
    value = float(own @ n - (summed * n * solved).sum())
    slope = -2 * (moved - (moved @ blocks.T) @ solved) + 2 * (own - (summed * solved).sum(axis=0))
    return value, np.asarray(slope.ravel())


def diagonal(cells: int, wanted: Sums) -> Floats:
    """How many of the wanted sums hold each cell: the diagonal of S."""
    at = np.arange(cells, dtype=float)
    return cells - at if wanted == "running" else (cells - at) * (at + 1)


def applied(rows: Floats, wanted: Sums) -> Floats:
    """Rows times S = W'W, by running sums: S_ij is how many sums hold both i and j (`strategies.wanted_products`)."""
    if wanted == "running":
        return np.asarray(np.cumsum(np.cumsum(rows, axis=1)[:, ::-1], axis=1)[:, ::-1])
    after, before = np.arange(rows.shape[1], 0, -1.0), np.arange(1.0, rows.shape[1] + 1)
    low = np.cumsum(rows * before, axis=1) * after
    high = (np.cumsum((rows * after)[:, ::-1], axis=1)[:, ::-1] - rows * after) * before
    return np.asarray(low + high)
