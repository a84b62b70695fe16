"""Lower bound on the mean absolute error of nested counts, by flows between errors.

Errors z of the cells between two or three counts are ranked as by noise that carries
(`theory/workload/prefix_noise.py`): one row more or less changes the rank by exactly one. As in
`theory/vector/verify/window.py`, weights on the pairs (z, z + m) from each rank to the next are an ordinary flow, from
errors that cost less than l to those that cost more, the cost being the mean of |z_1 + ... + z_k|, and such a flow
proves that every private mechanism has an expected error of at least l. Here it has two parts.

*Near*, up to a radius, SciPy finds a maximum flow, and its bound is recomputed from it in integer arithmetic.
*Far*, every error costs more than l, and what it may take comes from those of one rank less, in proportion to how far
each cell is beyond its width: error y of rank r takes |T_i|/r of it from y less one step of T_i. Added up from the
outside inwards, that is the capacity of the errors beyond one at the radius. If less flows out there, all errors beyond
it take less, in the same proportion, and none more than it may: so the far flow need not be computed.

*Ends of the range*, *wider steps* and *fewer counts* are as in `theory/vector/verify/window.py`: answers are rounded at
random, count by count, to multiples of w, which adds nothing to an absolute error where all counts are such multiples;
and of more than three counts every three have the error of three alone, the cells between others being fixed. Proof in
docs/theory.md, "Nested counts".
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput
from utmost.exact.arrays import Floats, Integers
from utmost.privacy import ApproxDP
from utmost.space.integers import Lattice
from utmost.theory.vector.verify.coordinate import coordinate_bound
from utmost.theory.vector.verify.window import UNITS, damped_bound
from utmost.theory.verify_evidence import Evidence, Outcome, check_lower_bound, check_value
from utmost.theory.workload.prefix_noise import as_carried_law, ranks

MOST_TOGETHER = 3
MOST_PLACES = {2: 5 * 10**5, 3: 6 * 10**6}
"""The largest box around all errors, by the number of cells."""
MOST_NEAR = 2 * 10**5
ROUNDING, SPARE, ENOUGH = 1e-12, 1e-9, 1e-5
SLOPES = {2: 1.25, 3: 1.7}
"""How fast the flow along one move may grow with the cost of an error."""
ROUNDS = 5
"""How often ranks are lowered where the flow is stuck."""


class Errors(NamedTuple):
    """Errors up to sign, in the order of ranks: the first `near` of them up to a radius, with the moves between them.

    Beyond it, every error has a parent in each cell that is beyond its width (itself in others), and a share of each.
    """

    costs: Floats
    ranks: Integers
    sizes: Floats
    near: int
    tails: Integers
    heads: Integers
    cells: Integers
    parents: Integers
    shares: Floats


def nested_bound(problem: Any, evidence: Evidence) -> float:
    """Lower bound on the mean absolute error of a nested count: by one count alone, or by a flow."""
    space, level = _cells(problem), problem.privacy
    alone = coordinate_bound(Lattice(1, "any", space.reach, space.lower, space.upper), level, "absolute")
    return max(alone, flow_bound(space, level, evidence)) if evidence else alone


def flow_bound(space: Lattice, level: ApproxDP, evidence: Evidence) -> float:
    """The lower bound that a flow proves.

    Parameters
    ----------
    evidence : mapping
        `widths` of the ranks, `radius` (of the near part), `far`, `steps` (how many rows wide), `least` (the l) and
        `room`: no more than (slope·cost + room·l)/(e^epsilon - 1) goes along any move near by.
    """
    widths, (radius, outer_radius, steps), (claim, room) = _read_evidence(evidence)
    d, wide, epsilon = len(widths) + 1, steps * space.reach, steps * level.log_growth
    points = (space.width + 1) // wide if wide else 0
    if d > space.dimension or not 1e-3 <= epsilon <= 20:
        raise InvalidInput("a flow is for two or three of the counts, and epsilons that floats can add up.")
    if points < 1:
        return 0.0
    best = _flow_result(widths, radius, outer_radius, epsilon, claim, room)
    if best is None:
        return 0.0
    proved, leaves, costs = best
    return wide * damped_bound(proved, leaves, costs, 2 * d / points, epsilon) * (1 - SPARE)


@lru_cache(maxsize=64)
def _flow_result(
    widths: tuple[int, ...], radius: int, outer_radius: int, epsilon: float, claim: float, room: float
) -> tuple[float, Floats, Floats] | None:
    """(bound of the maximum flow, the most that leaves each error by one move, costs of errors).

    None if errors far out cost less than the bound to be proved.
    """
    errors = make_errors(widths, radius, outer_radius)
    n, d = errors.near, len(widths) + 1
    beyond = (outer_radius + 1) / (2 * d)  # |z_1| + ... + |z_d| is at least the rank, and at most 2d times the cost
    if min(beyond, float(errors.costs[n:].min(initial=math.inf))) < claim:
        return None
    lowered, best = np.zeros(n, dtype=np.int64), None
    for _ in range(ROUNDS):
        everywhere, shares = _lowering_beyond(errors, lowered)
        weights = errors.sizes * np.exp(-epsilon * (errors.ranks - everywhere))
        capacity = _far_capacity(errors, shares, weights * (errors.costs - claim))
        near_part = _rank_steps(errors, lowered)
        flow, net, unit, stuck = _largest_flow(near_part, weights, capacity.sum(axis=1), epsilon, claim, room)
        surplus = unit / weights[:n] * net
        proved = min(
            float((errors.costs[:n] - surplus - ROUNDING * np.abs(surplus)).min()), beyond, claim * (1 - SPARE)
        )
        if best is None or proved > best[0]:
            leaves = capacity / weights[:, None]
            flows = (
                flow * unit / weights[near_part.tails] / np.where(near_part.tails == 0, 2, 1)
            )  # from 0, in both directions
            np.maximum.at(leaves, (near_part.tails, near_part.cells), flows)
            best = proved, leaves.max(axis=1) * (1 + SPARE), errors.costs
        if proved >= claim * (1 - ENOUGH):
            break
        lowered = lowered + stuck
    return best


def _rank_steps(errors: Errors, lowered: Integers) -> Errors:
    """The moves from each rank to the next after ranks are lowered."""
    n, steps = errors.near, lowered[errors.heads] - lowered[errors.tails]
    on, back = steps == 0, steps == 2  # a step up by one becomes one down if the upper rank is lowered by two more
    tails = np.concatenate([errors.tails[on], errors.heads[back]])
    heads = np.concatenate([errors.heads[on], errors.tails[back]])
    order = np.argsort(tails * n + heads)
    cells = np.concatenate([errors.cells[on], errors.cells[back]])
    return errors._replace(tails=tails[order], heads=heads[order], cells=cells[order])


def _lowering_beyond(errors: Errors, lowered: Integers) -> tuple[Integers, Floats]:
    """How far the ranks of far errors are lowered, like most of their parents; shares of parents lowered equally."""
    n = errors.near
    lowering = np.concatenate([lowered, np.zeros(len(errors.costs) - n, dtype=np.int64)])
    if not lowered.any():
        return lowering, errors.shares
    shares = np.zeros_like(errors.shares)
    main = np.take_along_axis(errors.parents, errors.shares.argmax(axis=1)[:, None], axis=1)[:, 0]
    ends = np.searchsorted(errors.ranks, np.arange(int(errors.ranks[n - 1]) + 1, int(errors.ranks[-1]) + 2))
    for start, end in pairwise(ends.tolist()):
        window = slice(start - n, end - n)
        lowering[start:end] = lowering[main[window]]
        equal = lowering[errors.parents[window]] == lowering[start:end, None]
        shares[window] = errors.shares[window] * equal
    return lowering, shares / shares.sum(axis=1, keepdims=True)


def _far_capacity(errors: Errors, shares: Floats, takes: Floats) -> Floats:
    """The total capacity of the errors beyond each one, by the cell in which they are: from the outside inwards."""
    n, d = errors.near, errors.parents.shape[1]
    capacity, last = np.zeros((len(takes), d)), int(errors.ranks[-1])
    ends = np.searchsorted(errors.ranks, np.arange(last + 2))
    for rank in range(last, int(errors.ranks[n - 1]), -1):
        start, end = int(ends[rank]), int(ends[rank + 1])
        total = takes[start:end] + capacity[start:end].sum(axis=1)
        for i in range(d):
            np.add.at(capacity[:, i], errors.parents[start - n : end - n, i], total * shares[start - n : end - n, i])
    return capacity


def _largest_flow(
    errors: Errors, weights: Floats, capacity: Floats, epsilon: float, claim: float, room: float
) -> tuple[Integers, Integers, float, NDArray[np.bool_]]:
    """The maximum flow of the near part, from errors that cost less than `claim` to others and beyond, in integers.

    Returns the flow along each move, the net inflow of each error (negative if it gives), the weight of a unit, and the
    errors from which more would flow if it could: one side of the minimum cut.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    n, tails, heads = errors.near, errors.tails, errors.heads
    costs, weights = errors.costs[:n], weights[:n]
    needs = weights * (costs - claim)
    unit = float(-needs[needs < 0].sum()) / UNITS
    beyond = np.minimum(capacity[:n] / unit, UNITS).astype(np.int64)
    takes = beyond + np.minimum(np.maximum(needs, 0) / unit, UNITS).astype(np.int64)
    givers, takers = np.flatnonzero(needs < 0), np.flatnonzero(takes)
    starts = np.concatenate([tails, np.full(len(givers), n), takers])  # the last two nodes give and take
    ends = np.concatenate([heads, givers, np.full(len(takers), n + 1)])
    move_limits = weights * (SLOPES[errors.parents.shape[1]] * costs + room * claim) / (unit * math.expm1(epsilon))
    move_limits[0] *= 2  # from 0, both directions are one move here
    limits = np.concatenate([move_limits[tails], np.ceil(-needs[givers] / unit), takes[takers]])
    capacities = csr_array((np.minimum(limits, UNITS).astype(np.int32), (starts, ends)), shape=(n + 2, n + 2))
    flow_matrix = maximum_flow(capacities, n, n + 1).flow
    flow = np.maximum(_entries(flow_matrix, tails, heads), 0)
    net = np.bincount(heads, flow, n) - np.bincount(tails, flow, n)  # whole numbers below 2^53
    rest = capacities - flow_matrix
    rest.data = np.maximum(rest.data, 0)
    rest.eliminate_zeros()
    stuck = np.zeros(n + 2, dtype=bool)
    stuck[breadth_first_order(rest, n, return_predecessors=False)] = True
    return flow, np.asarray(net - np.minimum(np.maximum(net, 0), beyond)).astype(np.int64), unit, stuck[:n]


def _entries(matrix: Any, rows: Integers, columns: Integers) -> Integers:
    """Entries of a sparse matrix at places that are sorted by row, then column; 0 where it has none."""
    entries = matrix.tocoo()
    side = matrix.shape[1]
    places = entries.row.astype(np.int64) * side + entries.col
    order = np.argsort(places)
    targets = rows.astype(np.int64) * side + columns
    at = np.minimum(np.searchsorted(places, targets, sorter=order), len(places) - 1)
    present = places[order[at]] == targets
    return np.where(present, entries.data[order[at]], 0).astype(np.int64)


@lru_cache(maxsize=4)
def make_errors(widths: tuple[int, ...], radius: int, outer_radius: int) -> Errors:
    """Errors up to sign of a rank up to `outer_radius`, in the order of ranks, with moves up to `radius`."""
    d, wide = len(widths) + 1, np.array([*widths, 0])
    ends = outer_radius + wide + 1
    if math.prod((2 * ends + 1).tolist()) > MOST_PLACES[d]:
        raise InvalidInput("so many errors are not checked.")
    strides = np.cumprod([1, *(2 * ends + 1)[:0:-1]])[::-1]
    grids = np.meshgrid(np.arange(ends[0] + 1), *[np.arange(-end, end + 1) for end in ends[1:]], indexing="ij")
    singles = np.stack([grid.reshape(-1) for grid in grids], axis=1)[int(ends[1:] @ strides[1:]) :]
    rank = np.maximum(np.abs(singles) - wide, 0).sum(axis=1)
    order = np.argsort(rank, kind="stable")[: int((rank <= outer_radius).sum())]
    keys, singles, rank = order, singles[order], rank[order]  # a key is a place in the grid from the middle on
    near_count = int(np.searchsorted(rank, radius, side="right"))
    if near_count > MOST_NEAR:
        raise InvalidInput("so many errors near by are not checked.")
    place = np.full(int(keys.max()) + 1, -1)
    place[keys] = np.arange(len(keys))

    def index_of(vectors: Integers) -> Integers:
        return np.asarray(place[np.abs(vectors @ strides)])

    errors = singles.copy()
    errors[:, 1:] -= np.clip(singles[:, :-1], -wide[:-1], wide[:-1])
    costs = np.abs(np.cumsum(errors, axis=1)).mean(axis=1)
    tails, heads, cells = _neighbour_pairs(errors[:near_count], rank[:near_count], radius, widths, index_of)
    beyond = singles[near_count:] - np.clip(singles[near_count:], -wide, wide)
    steps = np.eye(d, dtype=np.int64)[None] * np.sign(beyond)[:, :, None]
    parents = np.stack([index_of(singles[near_count:] - steps[:, i]) for i in range(d)], axis=1)
    shares = np.abs(beyond) / np.maximum(rank[near_count:], 1)[:, None]
    sizes = np.where(keys == 0, 1.0, 2.0)
    return Errors(costs, rank, sizes, near_count, tails, heads, cells, parents, shares)


def _neighbour_pairs(
    errors: Integers, rank: Integers, radius: int, widths: tuple[int, ...], index_of: Any
) -> tuple[Integers, Integers, Integers]:
    """Pairs of errors that differ by one row, from each rank to the next, and the row's cell."""
    wide, pairs, cells = np.array([*widths, 0]), [], []
    rows = np.flatnonzero(rank < radius)
    for i, sign in product(range(errors.shape[1]), (1, -1)):
        errors_after = errors[rows]
        errors_after[:, i] += sign
        higher = ranks(errors_after, widths) == rank[rows] + 1
        singles = errors_after[higher]
        for j in range(1, singles.shape[1]):  # from errors of cells to X_i, before the carry
            singles[:, j] += np.clip(singles[:, j - 1], -wide[j - 1], wide[j - 1])
        pairs.append(rows[higher] * len(errors) + index_of(singles))
        cells.append(np.full(len(pairs[-1]), i))
    distinct, first = np.unique(np.concatenate(pairs), return_index=True)  # from 0, both signs are one
    return distinct // len(errors), distinct % len(errors), np.concatenate(cells)[first]


def check_nested(problem: Any, solved: Any) -> Outcome:
    """The mean absolute error of running sums of noisy cells, in balls; a flow between errors of all cells as bound."""
    space, certificate = _cells(problem), solved.certificate
    law = as_carried_law(solved.mechanism)
    if law is None or law.dimension != space.dimension or problem.data.get("loss") != "absolute":
        raise InvalidInput("nested counts are made of cells with geometric noise, which may carry.")
    if certificate.claim != "bound" or certificate.bound is None:
        raise InvalidInput("noise on nested counts is proved by a bound.")
    value = math.fsum(law.absolute_errors) / law.dimension
    bound = min(nested_bound(problem, certificate.evidence), value)
    check, gap = check_lower_bound(solved, value, bound, "has a mean absolute error of a count below", "has")
    return (check_value(solved.value, value), check), gap


def _cells(problem: Any) -> Lattice:
    space, level = problem.space, problem.privacy
    if not isinstance(space, Lattice) or space.moves != "any" or space.dimension < 2 or space.reach < 1:
        raise InvalidInput("nested counts are running sums of two cells or more, one of which a row is in.")
    if not isinstance(level, ApproxDP) or level.delta or not 0 < level.log_growth < math.inf:
        raise InvalidInput("absolute errors of nested counts are bounded at pure levels.")
    return space


def _read_evidence(evidence: Evidence) -> tuple[tuple[int, ...], tuple[int, int, int], tuple[float, float]]:
    widths = evidence.get("widths")
    numbers: tuple[Any, ...] = tuple(evidence.get(name) for name in ("radius", "far", "steps"))
    claims: tuple[Any, ...] = tuple(evidence.get(name) for name in ("least", "room"))
    if not isinstance(widths, list | tuple) or not 1 <= len(widths) < MOST_TOGETHER:
        raise InvalidInput("a flow between errors of nested counts has one or two widths.")
    if any(type(number) is not int or not 0 <= number <= 10**4 for number in (*widths, *numbers)):
        raise InvalidInput("a flow between errors of nested counts has whole numbers for its sizes.")
    if any(not isinstance(number, float) or not 0 < number < 1e6 for number in claims):
        raise InvalidInput("a flow between errors of nested counts has numbers above 0 for its claims.")
    radius, outer_radius, steps = numbers
    if not 1 <= radius <= outer_radius or steps < 1:
        raise InvalidInput("the far part of a flow begins where the near one ends.")
    return tuple(widths), (radius, outer_radius, steps), (claims[0], claims[1])
