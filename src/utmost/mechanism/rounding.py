"""From probabilities in floating point to integer weights that are still private.

Two methods, both checked afterwards in exact arithmetic (certification.py), so a mistake here can cost utility but
never privacy:

* the floor: X' = (1 - eta) X + eta u with one fixed u for a whole connected component. Because u does not depend on
  the data, every constraint gains slack that absorbs the rounding (docs/certification.md, Lemma 1);
* carrying down, for two outputs where some probabilities are 0 or 1 and stay so: lower the weights of one output, in
  integers, until each is at most what its neighbours allow.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from utmost.exact.arrays import Floats
from utmost.mechanism.sampling import WORD
from utmost.space.edge_levels import EdgeLevels

Weights: TypeAlias = NDArray[Any]
SPARE = 8
UNNOTICED = 2.0**-40
UNIT = 2.0**-49
"""More than the relative rounding error of normalising a row and adding its floor."""


def floor_of(matrix: Floats, components: NDArray[Any]) -> Floats:
    """The fixed distribution u of every component: half by the outputs' largest probabilities, half uniform on them."""
    floors = np.zeros_like(matrix)
    order = np.argsort(components, kind="stable")
    starts = np.flatnonzero(np.diff(components[order], prepend=-1))
    highest = np.maximum.reduceat(matrix[order], starts, axis=0) if len(order) else matrix
    is_possible = highest > 0
    u = 0.5 * highest / highest.sum(axis=1, keepdims=True) + 0.5 * is_possible / is_possible.sum(axis=1, keepdims=True)
    floors[order] = np.repeat(u, np.diff(np.append(starts, len(order))), axis=0)
    return floors


def needed_floor(matrix: Floats, floors: Floats, levels: EdgeLevels) -> float:
    """The least eta whose slack covers the rounding on all edges and outputs, by Lemma 1."""
    a, b = levels.space.edge_indices.T
    eta = 2.0**-52
    for tails, heads in ((a, b), (b, a)):
        for start in range(0, len(a), 2**14):
            part = slice(start, start + 2**14)
            eta = max(eta, _needed_eta(matrix[tails[part]], matrix[heads[part]], floors[tails[part]], levels, part))
    return eta


def _needed_eta(here: Floats, there: Floats, floor: Floats, levels: EdgeLevels, part: slice) -> float:
    """`needed_floor` for some edges in one direction."""
    growth, delta = levels.growth[part, None], levels.delta[part]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        carried = growth * there
        over = here - carried
        rounding = UNIT * (here + carried)
        spent = np.maximum(over + rounding, 0).sum(axis=1)
        tight = (spent > delta) & np.isfinite(levels.growth[part])
        slack = floor * (growth - 1)
        excess = np.where(delta[:, None] > 0, 0.0, np.maximum(over, 0.0)) + rounding
        per_output = np.where((over + rounding > 0) & (growth > 1) & (floor > 0), excess / slack, 0.0)
        overall = np.where(delta > 0, np.maximum(spent - delta, UNIT) / delta, 0.0)
    eta_by_edge = np.where(growth[:, 0] > 1, per_output.max(axis=1), overall)
    eta_by_edge = np.maximum(eta_by_edge, np.where(delta > 0, np.minimum(overall, UNIT * 8), 0.0))
    largest = float(np.max(np.where(tight, eta_by_edge, 0.0), initial=0.0))
    other_kinds = np.flatnonzero(np.isnan(levels.growth[part]))
    if len(other_kinds):  # concave levels of other kinds: the floor gains upper(u) - u on every event
        least = np.where(floor[other_kinds] > 0, floor[other_kinds], 1.0).min(axis=1)
        gain = np.minimum(*(levels.upper(part.start + other_kinds, u) - u for u in (least, 1 - least)))
        largest = max(largest, float((16 * UNIT / gain[gain > 0]).max(initial=0.0)))
    return largest


def bits_for(eta: float, floors: Floats, levels: EdgeLevels, outputs: int) -> int:
    """The bits of a total whose unit is far below the slack; 62 unless levels are extreme."""
    return max(WORD, math.ceil(-math.log2(eta * _room(floors, levels, outputs))) + SPARE)


def word_floor(floors: Floats, levels: EdgeLevels, outputs: int) -> float:
    """The eta for which 62 bits suffice, if its effect is negligible (machine integers are fast); else 0."""
    eta = 2.0 ** (SPARE - WORD) / _room(floors, levels, outputs)
    return eta if eta <= UNNOTICED else 0.0


def _room(floors: Floats, levels: EdgeLevels, outputs: int) -> float:
    """A lower bound on the slack of a floor of eta = 1, as a share of the total."""
    least = float(floors[floors > 0].min(initial=1.0))
    growth = levels.growth[np.isfinite(levels.growth) & (levels.growth > 1)]
    tightest = float(growth.min(initial=2.0))
    room = least * (tightest - 1) / (1 + tightest)
    shares = levels.delta[(levels.growth == 1) & (levels.delta > 0)]
    return min(room, float(shares.min()) / (4 * outputs)) if len(shares) else room


def round_rows(matrix: Floats, floors: Floats, eta: float, bits: int) -> Weights:
    """Integer weights over 2^bits next to (1 - eta) X + eta u, rows adding up exactly; zeros of both stay zero.

    Each weight is within three units and, where 64-bit integers suffice, within 2^-50 + outputs / 2^(bits - 1),
    relative, of the exact value: the remainder of rounding down is distributed proportionally.
    """
    total = 1 << bits
    if bits <= WORD:
        sums = matrix.sum(axis=1, keepdims=True)
        shares = (1 - eta) * (matrix / sums) + eta * floors
        weights: Weights = np.floor(shares * 2.0**bits).astype(np.int64)
        remainder = total - weights.sum(axis=1, keepdims=True)  # the remainder of floating point and rounding down
        weights += np.floor(remainder * shares).astype(np.int64)
        remainder = total - weights.sum(axis=1, keepdims=True)
        is_positive_weight = weights > 0
        weights += is_positive_weight & (np.cumsum(is_positive_weight, axis=1) <= remainder)
        return weights
    scaled_total = total - int(Fraction(eta) * total)
    rows = np.empty(matrix.shape, dtype=object)
    for i, (row, floor) in enumerate(zip(matrix.tolist(), floors.tolist(), strict=True)):
        exact, under = [Fraction(x) for x in row], [Fraction(x) for x in floor]
        row_sum, base = sum(exact), sum(under)
        whole_row = [
            int(scaled_total * x / row_sum + (total - scaled_total) * u / base)
            for x, u in zip(exact, under, strict=True)
        ]
        positive = [k for k, weight in enumerate(whole_row) if weight > 0]
        for k in positive[: total - sum(whole_row)]:
            whole_row[k] += 1
        rows[i] = whole_row
    return rows


def carry_down(matrix: Floats, levels: EdgeLevels, bits: int, most: Callable[[Any, int, int], int]) -> Weights:
    """Integer weights of two outputs: the largest private ones at most a few units above the probabilities.

    Zeros stay zero and ones stay one wherever the levels allow it in integers. `most(level, weight, total)` is the
    largest weight that a neighbour may have.
    """
    total = 1 << bits
    allowance = 1 + Fraction(1, 2**48)

    def start(no: float, yes: float) -> int:
        if yes == 0 or no == 0:
            return 0 if yes == 0 else total
        if yes <= no:
            return min(total - 1, math.ceil(Fraction(yes) * total * allowance))
        return total - max(1, math.floor(Fraction(no) * total / allowance))

    start_of: dict[tuple[float, float], int] = {}
    weights = []
    for row in map(tuple, matrix.tolist()):
        if row not in start_of:
            start_of[row] = start(*row)
        weights.append(start_of[row])
    arcs = levels.space.arcs
    starts, heads, edges, kinds = arcs.starts.tolist(), arcs.heads.tolist(), arcs.edges.tolist(), levels.numbers()
    allowance_of: dict[tuple[int, int], int] = {}
    heap = list(zip(weights, range(len(weights)), strict=True))
    heapq.heapify(heap)
    while heap:
        weight, u = heapq.heappop(heap)
        if weight > weights[u]:
            continue
        for arc in range(starts[u], starts[u + 1]):
            v = heads[arc]
            if weights[v] > weight:
                key = int(kinds[edges[arc]]), weight
                if key not in allowance_of:
                    allowance_of[key] = most(levels[edges[arc]], weight, total)
                if (allowed := allowance_of[key]) < weights[v]:
                    weights[v] = allowed
                    heapq.heappush(heap, (allowed, v))
    yes = np.array(weights, dtype=np.int64 if bits <= WORD else object)
    return np.column_stack([total - yes, yes])


def bits_to_hold(matrix: Floats) -> int:
    """The bits that represent the least positive probability with 60 bits of precision."""
    least = float(matrix[matrix > 0].min(initial=1.0))
    return max(WORD, 60 - math.floor(math.log2(least)))


def bits_to_differ(matrix: Floats, levels: EdgeLevels) -> int:
    """The bits of `bits_to_hold`, and enough for the least positive delta of an edge with epsilon near 0."""
    delta = levels.delta[(levels.growth - 1 < 1e-6) & (levels.delta > 0)]
    return max(bits_to_hold(matrix), 60 - math.floor(math.log2(delta.min(initial=1.0))))


def is_edgewise_zero(levels: EdgeLevels) -> NDArray[np.bool_]:
    """Mask of the edges that allow no difference: epsilon = 0 and delta = 0, or a level with upper(1/2) = 1/2."""
    allows_nothing = levels.upper(np.arange(len(levels)), np.full(len(levels), 0.5)) == 0.5
    return np.asarray(np.where(np.isnan(levels.growth), allows_nothing, (levels.growth == 1) & (levels.delta == 0)))


def allows_zero(levels: EdgeLevels) -> NDArray[np.bool_]:
    """Mask of the edges that allow a probability of 0 next to a positive one: upper(0) > 0, or infinite epsilon."""
    return np.asarray((levels.upper(np.arange(len(levels)), np.zeros(len(levels))) > 0) | np.isinf(levels.log_growth()))


def is_positive(matrix: Floats, levels: EdgeLevels) -> NDArray[np.bool_]:
    """Mask of the entries whose exact value is positive: possible outputs in a component that allows no zero."""
    parts, count = levels.space.components, int(levels.space.components.max(initial=-1)) + 1
    is_possible, allowed = np.zeros((count, matrix.shape[1]), dtype=bool), np.zeros(count, dtype=bool)
    np.logical_or.at(is_possible, parts, matrix > 0)
    if levels.single is None or not levels.single.keeps_positive:
        allowed[parts[levels.space.edge_indices[allows_zero(levels)]].ravel()] = True
    return np.asarray(is_possible[parts] & ~allowed[parts, None])
