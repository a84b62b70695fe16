"""What no private mechanism goes below for cells that hold every row: from layer to layer, in closed form.

Errors of such cells add up to 0, and half of all |z_i| together, n, is how many moves e_i - e_j lead from 0 to z. So an
error on layer n costs 2n/d, and noise is bounded by how layers grow: if a weight on the pairs (z, z + m) from layer n
to n + 1 takes from every z at least rho_n times what every z + m gets, then no private mechanism loses less than the
mean of 2n/d under weights W_n e^(-eps n), W_n = rho_0 rho_1 ... rho_(n-1). (With rho the ratios of the layers' sizes it
would be the noise's own loss.)

Such weights are products. Let z have x rising integers and y falling ones, and m raise i and lower j: the weight is
(1 + t(x + y)) z_i |z_j| + (1 - t(n + 1 - y')) z_i + (1 - t(n + 1 - x')) |z_j| + 1, x' and y' those of z + m. Then every
z + m gets (n + 1)^2, and z gives (n + d)^2 - d - s(n + d - 1) + p + t n (s(2n + d - 1) - 2p - 2nd), where s = x + y and
p = xy: with T = t n above (n + d - 1)/(2n + d - 1), s counts for it and p against it, so the least is at s = 2 or at
the largest s, and T makes both alike. Proof in docs/theory.md, "Vectors".

The tables are all cuts of a number of rows into d cells; near the ends the flow is dampened as in `checking/window.py`.
Answers are vectors of the same sum, as the noise's are: how many rows there are is public.
"""

from __future__ import annotations

import math

import numpy as np

from utmost.exact.arrays import Floats
from utmost.privacy import ApproxDP, Level
from utmost.space.integers import Lattice

ROUNDING = 1e-9
"""By how much the bound is lowered, relatively: far more than floating point can err in these sums."""
MOST_LAYERS = 2 * 10**5
TIMES = (1.0, 1.25, 1.5, 2.0, 3.0, 5.0)


def whole_cells_bound(space: Lattice, level: Level, loss: str) -> float:
    """The least expected absolute error of one cell, on average over all cells and tables; 0 where it is not known.

    Parameters
    ----------
    space : Lattice
        Of "sum-zero" moves; of others nothing is said.
    level : Level
        A pure one, with 0 < epsilon < 50.
    loss : str
        Only "absolute" is constant on a layer.

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> round(whole_cells_bound(Lattice(10, "sum-zero", 1, 0, 10**9), PureDP(1), "absolute"), 4)
    1.6981
    """
    d, rows = space.dimension, (space.upper - space.lower) // max(1, space.reach)
    pure = isinstance(level, ApproxDP) and level.delta == 0 and 0 < level.log_growth < 50
    if not pure or loss != "absolute" or space.moves != "sum-zero" or d < 3 or space.reach < 1 or rows < 1:
        return 0.0
    assert isinstance(level, ApproxDP)
    epsilon = level.log_growth
    layers = math.ceil((1.5 * d + 40) / epsilon) + 10
    if layers > MOST_LAYERS:
        return 0.0
    least, most = growth(d, layers)
    n = np.arange(layers + 1)
    costs, weights = 2 * n / d, np.append(0.0, np.cumsum(np.log(least))) - epsilon * n
    weights = np.exp(weights - weights.max())
    proved = float((weights * costs).sum() / weights.sum())
    given = weights * (proved - costs)  # what a layer gives, or below 0 takes
    onward = np.where(costs[:-1] < proved, np.cumsum(given)[:-1], -np.cumsum(given[::-1])[::-1][1:])
    held = weights[:-1] > 0
    onward, costs, weights = onward[held], costs[:-1][held], weights[:-1][held]
    out = np.maximum(onward, 0) / weights * (most / least)[: len(held)][held] * (1 + ROUNDING)
    rate, share = (1 + ROUNDING) / math.expm1(epsilon), d * (d - 1) / (rows + d - 1)
    bounds = [0.0]
    for times in TIMES:
        beyond = max(0.0, float((out - times * rate * costs).max()))
        bounds.append(proved - share * (times * rate * proved + beyond))
    return space.reach * max(bounds) * (1 - ROUNDING)


def growth(d: int, layers: int) -> tuple[Floats, Floats]:
    """For each layer n, the least and the most that one of its errors gives where each of the next gets 1."""
    n = np.arange(1, layers).astype(float)
    top = np.minimum(d, 2 * n)  # the most integers that are not 0, and what x y is then at most
    product = np.floor(top**2 / 4)
    alike = np.where(
        top > 2,
        ((n + d - 1) * (top - 2) - (product - 1)) / np.maximum((2 * n + d - 1) * (top - 2) - 2 * (product - 1), 1),
        (n + d - 1) / (2 * n + d - 1),
    )
    base = (n + d) ** 2 - d - 2 * n * d * alike
    rise, fall = alike * (2 * n + d - 1) - (n + d - 1), 2 * alike - 1
    few, many = 2 * rise - fall, top * rise - product * fall
    least, most = base + np.minimum(few, many), base + np.maximum(few, top * rise - (top - 1) * fall)
    first = d * (d - 1.0)  # layer 1, all of it from 0
    return np.append(first, least / (n + 1) ** 2), np.append(first, most / (n + 1) ** 2)
