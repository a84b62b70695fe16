"""Lower bound on the error of histograms whose counts sum to n: flows from layer to layer.

Errors of such cells add up to 0, and half of all |z_i| together, n, is how many moves e_i - e_j lead from 0 to z. So an
error on layer n costs 2n/d, and noise is bounded by how layers grow: if a weight on the pairs (z, z + m) from layer n
to n + 1 takes from every z at least rho_n times what every z + m gets, then the expected error of every private
mechanism is at least the mean of 2n/d under weights W_n e^(-eps n), W_n = rho_0 rho_1 ... rho_(n-1). (With rho the
ratios of the layers' sizes it is the noise's own expected error.)

Such weights are found here. Let z + m have x rising integers and y falling ones, and m raise the one that is v there
and lower the one that is -w there: the weight is A vw + B v + C w + D, with numbers that depend on x and y alone. Then
every z + m of that kind gets A (n+1)^2 + B (n+1) y + C x (n+1) + D x y, which is made 1; so is what all z of one kind
give the same, and the numbers are chosen so that all kinds give nearly the same (`_fitted_growth`, least squares). The
bound uses the least that any kind gives, recomputed from the weights. Far out, and for three cells, there is a closed
form (`_closed_form_growth`). Proofs in docs/theory.md, "Vectors".

*Cells that leave rows out*, under replacement: the rows in none of them are one more cell, whose number follows from
the others where rows are replaced. So the same bound holds on average over the cells and the rest (`rest`).

The tables are all partitions of a number of rows into d cells, or all vectors of d counts within their range where a
rest makes up the sum; near the ends the flow is damped as in `theory/vector/verify/window.py`. Answers are vectors of
the same sum, as the noise's are: the number of rows is public.

*One answer at a time* (`away`): the flow relates probabilities of one and the same answer. If its n-th layer is the
last, it needs only tables within n moves of the answer. So where every cell of an answer (and the rest) is n rows or
more from 0, that answer has at least this expected error on average over the tables it may come from, and no end costs
anything.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from utmost.exact.arrays import Floats, Integers
from utmost.privacy import ApproxDP, Level
from utmost.space.integers import Lattice
from utmost.theory.vector.verify.window import damped_bound

ROUNDING = 1e-9
"""The bound is lowered by this relative amount: far more than floating-point error in these sums."""
MOST_LAYERS = 2 * 10**5
MOST_FITTED_CELLS, MOST_FITTED_LAYERS = 100, 300
"""Up to how many cells and layers weights are fitted, half a millisecond each; above, the closed form is as good."""
MOST_FITTED_KINDS = 400
LARGEST = 1e4
"""Fitted coefficients above it would not add up to 1 in floats as closely as `ROUNDING` says."""


def fixed_total_bound(space: Lattice, level: Level, loss: str, rest: bool = False, away: int | None = None) -> float:
    """Lower bound on the expected absolute error of one cell, averaged over cells and tables; 0 if none is known.

    Parameters
    ----------
    space : Lattice
        With "sum-zero" moves, or "exchange" moves and a rest; for others there is no bound.
    level : Level
        A pure one, with 0 < epsilon < 50.
    loss : str
        Only "absolute" is constant on a layer.
    rest : bool
        Whether the rows in no cell count as one more cell, which is averaged over, too.
    away : int, optional
        For any single answer at least this far from the ends in every cell (and the rest): the bound on its error
        averaged over the cells and over the tables it may come from, with a uniform prior.

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> round(fixed_total_bound(Lattice(10, "sum-zero", 1, 0, 10**9), PureDP(1), "absolute"), 4)
    1.7141
    >>> round(fixed_total_bound(Lattice(9, "exchange", 1, 0, 10**9), PureDP(1), "absolute", rest=True), 4)
    1.7141
    >>> ten = Lattice(10, "sum-zero", 1, 0, 20_000)
    >>> round(fixed_total_bound(ten, PureDP(1), "absolute"), 4)
    1.7019
    >>> round(fixed_total_bound(ten, PureDP(1), "absolute", away=25), 4)
    1.7139
    """
    d, rows = space.dimension + rest, space.width // max(1, space.reach)
    pure = isinstance(level, ApproxDP) and level.delta == 0 and 0 < level.log_growth < 50
    moves = "exchange" if rest else "sum-zero"
    if not pure or loss != "absolute" or space.moves != moves or d < 3 or space.reach < 1 or rows < 1:
        return 0.0
    assert isinstance(level, ApproxDP)
    epsilon = level.log_growth
    layers = math.ceil((1.5 * d + 40) / epsilon) + 10
    if away is not None:  # if one neighbour is several rows, answers are rounded to multiples at random: one layer
        layers = min(layers, away // space.reach - (space.reach > 1))
    if not 1 <= layers <= MOST_LAYERS or d * (away or 0) > space.width:
        return 0.0  # too many layers to count, or no answer is so far from every end
    least, most = growth(d, layers)
    n = np.arange(layers + 1)
    costs, weights = 2 * n / d, np.append(0.0, np.cumsum(np.log(least))) - epsilon * n
    weights = np.exp(weights - weights.max())
    proved = float((weights * costs).sum() / weights.sum())
    if away is not None:
        return space.reach * proved * (1 - ROUNDING)
    surplus = weights * (proved - costs)  # what a layer gives (negative: takes)
    onward = np.where(costs[:-1] < proved, np.cumsum(surplus)[:-1], -np.cumsum(surplus[::-1])[::-1][1:])
    positive = weights[:-1] > 0
    onward, costs, weights = onward[positive], costs[:-1][positive], weights[:-1][positive]
    out = np.maximum(onward, 0) / weights * (most / least)[: len(positive)][positive] * (1 + ROUNDING)
    share = 2 * (d - 1) / (rows + 1) if rest else d * (d - 1) / (rows + d - 1)
    return space.reach * damped_bound(proved, out, costs, share, epsilon) * (1 - ROUNDING)


def growth(d: int, layers: int) -> tuple[Floats, Floats]:
    """For each layer n, the least and the most that one of its errors gives if each error of the next layer gets 1."""
    least, most = _closed_form_growth(d, layers)
    if 3 < d <= MOST_FITTED_CELLS:
        for n in range(2, min(layers, MOST_FITTED_LAYERS)):
            low, high = _fitted_growth(d, n)
            if low > least[n]:
                least[n], most[n] = low, high
    return least, most


@lru_cache(maxsize=MOST_FITTED_CELLS * MOST_FITTED_LAYERS)
def _fitted_growth(d: int, n: int) -> tuple[float, float]:
    """The least and the most that an error of layer n gives, with fitted weights."""
    gives = _outflows(d, n)
    numbers = _fit_coefficients(d, n, gives)
    if np.abs(numbers).max() > LARGEST:
        return 0.0, math.inf
    outflow = gives @ numbers
    return float(outflow.min()) * (1 - ROUNDING), float(outflow.max()) * (1 + ROUNDING)


def _fit_coefficients(d: int, n: int, gives: Floats) -> Floats:
    """The free coefficients of the weights from layer n, and 1: fitted so that all kinds give alike, none negative."""
    some = gives[:: -(-len(gives) // MOST_FITTED_KINDS)]
    fit = np.linalg.lstsq(np.column_stack([some[:, :-1], -np.ones(len(some))]), -some[:, -1], rcond=1e-11)[0]
    numbers = np.append(fit[:-1], 1.0)
    below = max(0.0, -float((_least_weights(*_kinds(d, n + 1), n + 1) @ numbers).min()))
    numbers[:-1] /= 1 + below + ROUNDING  # mixed with the weights v w until the least one is above 0
    return numbers


def _kinds(d: int, n: int) -> tuple[Integers, Integers]:
    """How many integers of an error on layer n rise and fall: all pairs up to reflection."""
    counts = np.arange(1, min(d - 1, n) + 1)
    rising, falling = (grid.ravel() for grid in np.meshgrid(counts, counts, indexing="ij"))
    valid = (rising <= falling) & (rising + falling <= d)
    return rising[valid], falling[valid]


def _coefficients(x: Integers, y: Integers, n: int) -> Floats:
    """The coefficients A, B, C and D, times n^2, of errors on layer n with x rising and y falling integers.

    They depend on ten free coefficients, and last on 1: B and D freely, C as the mirror image of B, and A as what makes
    A n^2 + B n y + C x n + D x y = n^2.
    """
    a, b, ones, zeros = x / n, y / n, np.ones(len(x)), np.zeros(len(x))
    rising = np.stack([ones, a, b, a * a, a * b, b * b, *[zeros] * 5], axis=-1)
    falling = np.stack([ones, b, a, b * b, a * b, a * a, *[zeros] * 5], axis=-1)
    constant = np.stack([*[zeros] * 6, ones, a + b, a * b, (a + b) ** 2, zeros], axis=-1)
    product = -(rising * b[:, None] + falling * a[:, None] + constant * (a * b)[:, None])
    product[:, -1] += 1
    return np.stack([product, rising, falling, constant])


def _outflows(d: int, n: int) -> Floats:
    """What an error of each kind on layer n gives to layer n + 1, linear in the free coefficients: a sum over moves.

    A move raises a rising integer or one of the zeros, and lowers a falling one or another zero; z + m then has one
    more rising or falling integer.
    """
    x, y = _kinds(d, n)
    zeros = d - x - y
    moves = (
        (0, 0, ((n + x) * (n + y), (n + x) * y, x * (n + y), x * y)),
        (1, 0, (zeros * (n + y), zeros * y, zeros * (n + y), zeros * y)),
        (0, 1, (zeros * (n + x), zeros * (n + x), zeros * x, zeros * x)),
        (1, 1, (zeros * (zeros - 1),) * 4),
    )
    outflow = np.zeros((len(x), 11))
    for risen, fallen, counts in moves:
        for count, numbers in zip(counts, _coefficients(x + risen, y + fallen, n + 1), strict=True):
            outflow += count[:, None] * numbers
    return np.asarray(outflow / (n + 1) ** 2)


def _least_weights(x: Integers, y: Integers, n: int) -> Floats:
    """The weights over v w at the four corners of (v, w): linear in 1/v and 1/w, so the least is at a corner."""
    ends = [(v, w) for v in (np.ones(len(x)), n - x + 1.0) for w in (np.ones(len(x)), n - y + 1.0)]
    product, rising, falling, constant = _coefficients(x, y, n)
    return np.concatenate(
        [product + rising / w[:, None] + falling / v[:, None] + constant / (v * w)[:, None] for v, w in ends]
    )


def _closed_form_growth(d: int, layers: int) -> tuple[Floats, Floats]:
    """Growth by weights in closed form, for all layers: exact for three cells, and good far out.

    In the integers of z itself, the weight is (1 + t(x + y)) z_i |z_j| + (1 - t(n + 1 - y')) z_i + (1 - t(n + 1 - x'))
    |z_j| + 1, x' and y' those of z + m. Then every z + m gets (n + 1)^2, and z gives (n + d)^2 - d - s(n + d - 1) + p +
    t n (s(2n + d - 1) - 2p - 2nd), where s = x + y and p = xy: with T = t n above (n + d - 1)/(2n + d - 1), s counts
    for it and p against it, so the least is at s = 2 or at the largest s, and T makes both equal.
    """
    n = np.arange(1, layers).astype(float)
    top = np.minimum(d, 2 * n)  # the largest number of nonzero integers; x y is then at most `product`
    product = np.floor(top**2 / 4)
    balance = np.where(
        top > 2,
        ((n + d - 1) * (top - 2) - (product - 1)) / np.maximum((2 * n + d - 1) * (top - 2) - 2 * (product - 1), 1),
        (n + d - 1) / (2 * n + d - 1),
    )
    base = (n + d) ** 2 - d - 2 * n * d * balance
    rise, fall = balance * (2 * n + d - 1) - (n + d - 1), 2 * balance - 1
    few, many = 2 * rise - fall, top * rise - product * fall
    least, most = base + np.minimum(few, many), base + np.maximum(few, top * rise - (top - 1) * fall)
    first = d * (d - 1.0)  # layer 1, all of it from 0
    return np.append(first, least / (n + 1) ** 2), np.append(first, most / (n + 1) ** 2)
