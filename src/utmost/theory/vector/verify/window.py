"""Lower bound for vectors by a flow between errors: the dual of all noise in a window.

An error z = o - x of one table is z + m at a neighbour's, m a move. Give every pair (z, z + m) a weight f >= 0 for the
inequality p(z) <= e^eps p(z + m). If c(z) - l + (f out of z) - e^eps (f into z) >= 0 for every z, then every private
mechanism on all vectors has an expected loss of at least l: multiply, and add up over tables. On a box of L^d tables
the flow into a table whose nearest side is m steps away is multiplied by 1 - q^(m+1), q = B/(1+B); if no outflow
exceeds A + B·c(z), the average loss is at least l - (2d/L)(B l + A). Proof in docs/theory.md, "Vectors".

A certificate does not carry the flow, only where to look for it: how the errors are ranked (a norm, with slack), how
far out, and for which l. If flow runs from rank to rank + 1 alone, f e^(-eps rank) is an ordinary flow on a graph
without gains: from the errors that cost less than l to those that cost more, through each at most B(c(z) + r l), r the
`room`. SciPy finds the largest; what counts is not that it is the largest, but what the flow found proves, which is
computed from it afresh, in whole numbers.

*Wider steps*: tables whose integers differ by multiples of w = k·reach are neighbours at the level k·eps, and an output
may be rounded at random, without bias, to such multiples: that adds nothing to an absolute error. So k·eps and a range
of L//w tables bound the loss by w times as much, which keeps windows small where eps is.
*A delta*: at (eps, delta) the outputs at which p(z) exceeds e^eps p(z + m) exceed it by delta in all, so a flow of at
most F out of any z takes delta·F off for each move.
*Fewer integers*: of more than four integers, the others fixed or ignored, the same holds for every four.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from utmost.errors import InvalidInput
from utmost.exact.arrays import Floats, Integers
from utmost.mechanism.noise.integer_balls import free, norm
from utmost.privacy import ApproxDP, Level
from utmost.space.integers import Lattice, Moves
from utmost.space.line import cost
from utmost.theory.vector.verify.coordinate import line_points

MOST_PLACES = {1: 10**5, 2: 10**5, 3: 3 * 10**5, 4: 3 * 10**5}
"""The most vectors of a window, one of each permutation, by its number of integers."""
MOST_FREE = 4
LEAST_EPSILON = 1e-6
"""Below it, weights differ across one step of the window by rounding alone."""
UNITS = 2**30
"""Total flow in integer units: SciPy's flows are 32-bit integers."""
ROUNDING = 1e-12
TIMES = (1.0, 1.1, 1.25, 1.4, 1.5, 1.6, 1.7, 1.8, 2.0, 3.0, 5.0)


class Window(NamedTuple):
    """Errors up to permutation and sign, within a rank, and the moves from each rank to the next."""

    costs: Floats
    ranks: Integers
    sizes: Floats
    tails: Integers
    heads: Integers


def window_bound(space: Lattice, level: Level, loss: str, evidence: Mapping[str, Any]) -> float:
    """Lower bound on the expected loss of one integer by a flow, at levels with an epsilon and little or no delta.

    Parameters
    ----------
    space : Lattice
        The integers, and what one neighbour does to them.
    level : Level
        An epsilon above 0, and a small delta; other levels are refused.
    loss : str
        The loss of one integer.
    evidence : mapping
        `radius` and `slack` of the window, `steps` (the k above), `least`, the l to be proved, and `room`.
    """
    shape, d = free(space.moves, space.dimension)
    if not (isinstance(level, ApproxDP) and 0 < level.log_growth < 50) or shape == "any" or d < 1:
        raise InvalidInput("a flow is for levels with an epsilon, and integers that one row may change together.")
    radius, slack, steps = (_whole_number(evidence, name) for name in ("radius", "slack", "steps"))
    claim, room = (_positive_number(evidence, name) for name in ("least", "room"))
    wide, epsilon = steps * space.reach, steps * level.log_growth
    wrong = steps < 1 or epsilon > 50 or (steps > 1 and level.delta) or (slack and shape == "cube")
    if wrong or (wide > 1 and loss != "absolute"):
        raise InvalidInput("wider steps are for absolute errors and epsilons below 50, and cubes have no slack.")
    if epsilon < LEAST_EPSILON:
        return 0.0  # below floating-point precision
    size = min(d, MOST_FREE)
    if wide < 1:
        raise InvalidInput("where nobody moves anything, no window bounds a loss.")
    if math.comb(2 * radius + size, size) > MOST_PLACES[size]:
        raise InvalidInput("the window is too large to be checked.")
    fixed_total = space.moves == "sum-zero" and size == d
    flow = _flow_result(shape, size, radius, slack, loss, fixed_total, epsilon, claim, room)
    points = line_points(space) // wide
    if flow is None or points < 1:
        return 0.0
    proved, out, costs = flow
    moves = sum(norm(shape, step) == 1 for step in product((-1, 0, 1), repeat=size))
    proved -= float(level.delta) * (1 + ROUNDING) * moves * float(out.max())
    return wide * damped_bound(proved, out, costs, 2 * size / points, epsilon) * (1 - ROUNDING)


def damped_bound(proved: float, out: Floats, costs: Floats, share: float, epsilon: float) -> float:
    """The bound that a flow proves on a range with ends, where the flow is damped; 0 if nothing.

    Parameters
    ----------
    proved : float
        The bound on a range without ends.
    out, costs : arrays
        The outflow of each error, and its cost.
    share : float
        At most this share of the tables is a given number of moves from the nearest end.
    epsilon : float
        The level of one move.
    """
    rate, bounds = (1 + ROUNDING) / math.expm1(epsilon), [0.0]
    for times in TIMES:  # every B from e^-eps/(1 - e^-eps) on is valid; take the best
        excess = max(0.0, float((out - times * rate * costs).max()))
        bounds.append(proved - share * (times * rate * proved + excess))
    return max(bounds)


@lru_cache(maxsize=64)
def _flow_result(
    shape: Moves,
    d: int,
    radius: int,
    slack: int,
    loss: str,
    fixed_total: bool,
    epsilon: float,
    claim: float,
    room: float,
) -> tuple[float, Floats, Floats] | None:
    """(bound, outflow and cost of every error) of the maximum flow; None if errors outside the window cost less."""
    beyond = float(cost(loss, np.array(radius + 1 if loss == "absolute" else -(-(radius + 1) // max(2, d)))))
    beyond /= d + fixed_total
    if beyond < claim:
        return None
    window = make_window(shape, d, radius, slack, loss, fixed_total)
    tails, heads, flow, unit = _largest_flow(window, epsilon, claim, room)
    n = len(window.costs)
    out, into = (np.bincount(ends, weights=flow, minlength=n) for ends in (tails, heads))  # whole numbers below 2^53
    scale = np.exp(epsilon * window.ranks) * unit / window.sizes
    net = scale * (out - into)
    proved = float((window.costs + net - ROUNDING * np.abs(net)).min())
    return min(proved, beyond), scale * out * (1 + ROUNDING), window.costs


def _largest_flow(
    window: Window, epsilon: float, claim: float, room: float
) -> tuple[Integers, Integers, Integers, float]:
    """The maximum flow from errors that cost less than `claim` to those that cost more, and the weight of a unit."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    n, (costs, ranks, sizes, tails, heads) = len(window.costs), window
    weights = sizes * np.exp(-epsilon * ranks)
    needs = weights * (costs - claim)
    unit = float(-needs[needs < 0].sum()) / UNITS
    givers, takers = np.flatnonzero(needs < 0), np.flatnonzero(needs > 0)
    through = weights * (costs + room * claim) / math.expm1(epsilon)
    limits = [np.full(len(tails), UNITS), through / unit, np.ceil(-needs[givers] / unit), needs[takers] / unit]
    # every error is split into an entry and, n places on, an exit; the last two nodes are source and sink
    starts = np.concatenate([tails + n, np.arange(n), np.full(len(givers), 2 * n), takers])
    ends = np.concatenate([heads, np.arange(n) + n, givers, np.full(len(takers), 2 * n + 1)])
    capacities = np.minimum(np.concatenate(limits), UNITS).astype(np.int32)
    flow = maximum_flow(csr_array((capacities, (starts, ends)), shape=(2 * n + 2,) * 2), 2 * n, 2 * n + 1).flow.tocoo()
    between = (flow.data > 0) & (flow.row >= n) & (flow.row < 2 * n) & (flow.col < n)
    return flow.row[between] - n, flow.col[between], flow.data[between].astype(np.int64), unit


@lru_cache(maxsize=4)
def make_window(shape: Moves, d: int, radius: int, slack: int, loss: str, fixed_total: bool) -> Window:
    """Errors of a rank up to `radius`, up to permutation and sign, and the moves that raise the rank.

    With `fixed_total`, one more integer makes up their sum, and its error costs as well.
    """
    places = _wedge(d, radius)
    places = places[_ranks(shape, places, slack) <= radius]
    keys = _keys(places, radius)
    order = np.argsort(keys)
    places, keys = places[order], keys[order]
    ranks = _ranks(shape, places, slack)
    tails, heads = [], []
    for move in (step for step in product((-1, 0, 1), repeat=d) if norm(shape, step) == 1):
        ends = places + np.array(move)
        rising = np.flatnonzero((_ranks(shape, ends, slack) == ranks + 1) & (ranks < radius))
        tails.append(rising)
        heads.append(np.searchsorted(keys, _keys(_canonical(ends[rising]), radius)))
    pairs = np.unique(np.concatenate(tails) * len(places) + np.concatenate(heads))
    summed = np.column_stack([places, -places.sum(axis=1)]) if fixed_total else places
    costs = np.asarray(cost(loss, summed).mean(axis=1))
    return Window(costs, ranks, _sizes(places), pairs // len(places), pairs % len(places))


def _wedge(d: int, radius: int) -> Integers:
    """All integer vectors from -radius to radius that are `_canonical`."""
    vectors = np.arange(-radius, radius + 1)[:, None]
    for _ in range(d - 1):
        counts = vectors[:, -1] + radius + 1
        starts = np.repeat(np.cumsum(counts) - counts, counts)
        vectors = np.column_stack([np.repeat(vectors, counts, axis=0), np.arange(counts.sum()) - starts - radius])
    return np.asarray(vectors[(_canonical(vectors) == vectors).all(axis=1)])


def _canonical(points: Integers) -> Integers:
    """The representative up to permutation and sign: in falling order, the lexicographically larger of both signs."""
    falling, mirrored = -np.sort(-points, axis=1), -np.sort(points, axis=1)
    differ = falling - mirrored
    first = np.take_along_axis(differ, np.argmax(differ != 0, axis=1)[:, None], axis=1)
    return np.asarray(np.where(first < 0, mirrored, falling))


def _keys(places: Integers, radius: int) -> Integers:
    side = 2 * radius + 3
    return np.asarray(((places + radius + 1) * side ** np.arange(places.shape[1])[::-1]).sum(axis=1))


def _sizes(places: Integers) -> Floats:
    """The number of vectors that equal each one up to permutation and sign."""
    d = places.shape[1]
    sizes, run = np.full(len(places), float(math.factorial(d))), np.ones(len(places))
    for i in range(1, d):
        equal = places[:, i] == places[:, i - 1]
        run = np.where(equal, run + 1, 1)
        sizes /= run
    return np.where((places == -places[:, ::-1]).all(axis=1), sizes, 2 * sizes)


def _ranks(shape: Moves, points: Integers, slack: int) -> Integers:
    rises, falls = np.maximum(points, 0), np.maximum(-points, 0)
    if shape == "one-way":
        up, down = rises.max(axis=1), falls.max(axis=1)
        return np.asarray(np.maximum(np.maximum(up, down), up + down - slack))
    if shape == "cube":
        return np.asarray(np.abs(points).max(axis=1))
    common = np.maximum(rises.min(axis=1), falls.min(axis=1))  # by how much all rise, or all fall
    return np.asarray(np.maximum(rises.sum(axis=1), falls.sum(axis=1)) - np.minimum(common, slack))


def _positive_number(evidence: Mapping[str, Any], name: str) -> float:
    value = evidence.get(name)
    if not isinstance(value, float) or not 0 < value < 1e9:
        raise InvalidInput(f"a window has a number above 0 for {name}.")
    return value


def _whole_number(evidence: Mapping[str, Any], name: str) -> int:
    value = evidence.get(name)
    if type(value) is not int or not 0 <= value <= 10**6:
        raise InvalidInput(f"a window has a whole number for {name}.")
    return value
