"""Whether integer weights satisfy a level: decided by floats where their error bounds suffice, else exactly.

Integers over one total 2^bits are compared with rational lower bounds of e^epsilon from ball arithmetic, always rounded
towards the stricter level. `promise_excess` is the violation of a level by floats.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utmost.errors import CannotCertify
from utmost.exact import MOST_BITS, ExpSum, endpoints
from utmost.exact.arrays import Floats
from utmost.mechanism.rounding import (
    Weights,
)
from utmost.mechanism.sampling import WORD
from utmost.privacy import ApproxDP, Level, require_pure
from utmost.space import Space
from utmost.space.edge_levels import EdgeLevels, on_edges

ONE_EDGE = Space((0, 1), [(0, 1)])


def find_violation(weights: Weights, bits: int, levels: EdgeLevels) -> str | None:
    """The first violation of a level by integer weights, in words; None proves that they satisfy all levels.

    Rows add up to 2^bits. Pure levels: a <= e^eps b. (eps, delta): sum of max(0, a - e^eps b) <= delta 2^bits. Other
    concave levels: every Neyman-Pearson event (a prefix in the order of a/b) against `upper`; two outputs: both events.
    A float comparison decides only where its error bound suffices.
    """
    total, space = 1 << bits, levels.space
    if (weights < 0).any():
        i = int(np.argmax((weights < 0).any(axis=1)))
        return f"a weight at {space.points[i]!r} is negative."
    is_wrong_row = _has_wrong_sum(weights, bits)
    if is_wrong_row.any():
        return f"the weights at {space.points[int(np.argmax(is_wrong_row))]!r} do not add up to 2^{bits}."
    if is_complete(levels):
        growth = growth_floor(require_pure(single_level(levels)))
        assert growth is not None
        n, d = growth.numerator, growth.denominator
        for most, least in zip(*extremes(weights, levels)[0], strict=True):
            if int(most) * d > n * int(least):
                return f"{levels} is broken between two of the points."
        return None
    a, b = space.edge_indices.T
    for tails, heads in ((a, b), (b, a)):
        doubtful = _doubtful(weights, bits, levels, tails, heads)
        for edge in doubtful[_distinct_pairs(weights, levels, tails, heads, doubtful)].tolist():
            here, there = (tuple(map(int, weights[end])) for end in (tails[edge], heads[edge]))
            if not satisfies_level(levels[edge], here, there, total):
                one, other = space.points[int(tails[edge])], space.points[int(heads[edge])]
                return f"{levels[edge]} is broken between {one!r} and {other!r}."
    return None


def is_complete(levels: EdgeLevels) -> bool:
    """Whether every two points are neighbours at one pure level, so that outputs can be checked one by one."""
    level, space = levels.single, levels.space
    pure = isinstance(level, ApproxDP) and level.delta == 0 and level.exponent != math.inf
    return pure and space.is_complete and len(space.points) > 2


def extremes(rows: NDArray[Any], levels: EdgeLevels) -> tuple[NDArray[Any], EdgeLevels]:
    """The rows and levels to check: on a complete space, the largest and the least entry of each output, and one edge.

    A pure level bounds every output by itself, and some pair of points has its largest and its least entry: that one
    edge represents all n(n-1)/2 of them.
    """
    if not is_complete(levels):
        return rows, levels
    return np.array([rows.max(axis=0), rows.min(axis=0)]), on_edges(ONE_EDGE, single_level(levels))


def _has_wrong_sum(weights: Weights, bits: int) -> NDArray[np.bool_]:
    """Mask of the rows that do not add up to 2^bits; in two halves where 64-bit sums could overflow."""
    if bits > WORD or not len(weights):
        return np.array([sum(map(int, row)) != 1 << bits for row in weights], dtype=bool)
    low = (weights & (2**31 - 1)).sum(axis=1)
    high = (weights >> 31).sum(axis=1) + (low >> 31)
    return np.asarray((high != (1 << bits) >> 31) | ((low & (2**31 - 1)) != (1 << bits) & (2**31 - 1)))


def most_weight(level: Level, weight: int, total: int) -> int:
    """The largest weight at a neighbour for an event of this weight: total·upper(weight / total), rounded down."""
    if isinstance(level, ApproxDP):
        growth = growth_floor(level)
        if growth is None:
            return total
        share = int(level.delta * total)
        grown = int(growth * weight) + share
        complement = total - weight - share
        return min(grown, total - math.ceil(complement / growth) if complement > 0 else total, total)
    bound = level.upper_exact(ExpSum.rational(Fraction(weight, total)))
    if isinstance(bound, ExpSum) and (exact := bound.as_rational()) is not None:
        return int(exact * total)
    return int(endpoints(bound.enclose(total.bit_length() + 64))[0] * total)


@lru_cache(maxsize=2**16)
def growth_floor(level: ApproxDP) -> Fraction | None:
    """A rational at or just below e^epsilon, from ball arithmetic; None for infinity."""
    if level.exponent == math.inf:
        return None
    if level.exponent > MOST_BITS:  # beyond any ratio of weights
        return Fraction(2**MOST_BITS)
    power = power_of(level)
    exact = power.as_rational()
    return max(Fraction(1), endpoints(power.enclose(192))[0]) if exact is None else exact


def power_of(level: ApproxDP) -> ExpSum:
    """e^epsilon, exactly; epsilon is finite."""
    return ExpSum.rational(level.ratio).times(Fraction(1), Fraction(level.exponent))


def single_level(levels: EdgeLevels) -> Level:
    """The one level of all edges; `CannotCertify` if they differ."""
    if levels.single is None:
        raise CannotCertify(
            "a recipe is certified at one level for all edges; certify the full table for levels per edge."
        )
    return levels.single


def _doubtful(
    weights: Weights, bits: int, levels: EdgeLevels, tails: NDArray[Any], heads: NDArray[Any]
) -> NDArray[np.int64]:
    """The edges that floating point, with its error bounds, does not prove private."""
    if bits > WORD or not len(tails):
        return np.arange(len(tails))
    proved = np.zeros(len(tails), dtype=bool)
    # Conversions and the product are each within 2^-52, relative; so are the terms of a sum; e^epsilon is within
    # epsilon times that, since a float stands for its shortest decimal; a tiny delta counts as 0. Without a delta
    # every term must be 0, and so their sum loses nothing.
    shares = np.where(levels.delta > 1e-290, levels.delta, 0.0)
    terms = np.where(shares > 0, weights.shape[1], 0)
    margins = 2.0**-49 + (terms + np.abs(levels.log_growth())) * 2.0**-51
    for start in range(0, len(tails), 2**14):
        part = slice(start, start + 2**14)
        here, there = weights[tails[part]].astype(float), weights[heads[part]].astype(float)
        margin = margins[part]
        with np.errstate(invalid="ignore", over="ignore"):
            carried = np.where(there > 0, levels.growth[part, None] * there, 0.0)
            over = here * (1 + margin[:, None]) - carried * (1 - margin[:, None])
            spent = np.maximum(over, 0.0).sum(axis=1)
            finite = np.isfinite(levels.growth[part])  # otherwise the margin is infinite and nothing is proved
            proved[part] = finite & (spent * (1 + margin) <= shares[part] * (1 - margin) * 2.0**bits)
    return np.flatnonzero(~proved)


def _distinct_pairs(
    weights: Weights, levels: EdgeLevels, tails: NDArray[Any], heads: NDArray[Any], edges: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Positions of one edge for each distinct pair of rows and level: far from a boundary many edges are equal."""
    if not len(edges):
        return edges
    ends = np.unique(np.concatenate([tails[edges], heads[edges]]))
    row = np.zeros(len(weights), dtype=np.int64)
    if weights.shape[1] == 2:  # rows add up to one total
        row[ends] = np.unique(weights[ends, 0], return_inverse=True)[1]
    else:
        number_of_row: dict[tuple[int, ...], int] = {}
        row[ends] = [number_of_row.setdefault(tuple(weights[i].tolist()), len(number_of_row)) for i in ends]
    numbers = levels.numbers()[edges]
    pair = row[tails[edges]] * (row.max() + 1) + row[heads[edges]]  # below 10^16, for at most 10^8 rows
    pair = np.unique(pair, return_inverse=True)[1]
    return np.sort(np.unique(pair * (numbers.max() + 1) + numbers, return_index=True)[1])


def satisfies_level(level: Level, here: tuple[int, ...], there: tuple[int, ...], total: int) -> bool:
    """Whether one row satisfies a level against another, in integers."""
    if isinstance(level, ApproxDP):
        growth = growth_floor(level)
        if growth is None:
            return True
        n, d = growth.numerator, growth.denominator
        spent = sum(max(0, a * d - n * b) for a, b in zip(here, there, strict=True))
        return spent <= level.delta * total * d
    if len(here) == 2:
        events = [[0], [1]]
    else:
        order = sorted(range(len(here)), key=lambda o: Fraction(here[o], there[o]) if there[o] else math.inf)[::-1]
        events = [order[:k] for k in range(1, len(here))]
    return all(
        sum(here[o] for o in event) <= most_weight(level, sum(there[o] for o in event), total) for event in events
    )


def promise_excess(here: Floats, there: Floats, levels: EdgeLevels) -> Floats:
    """The relative violation of each edge's level, in floating point; negative where there is slack."""
    every = np.arange(len(levels))
    if not len(here):
        return np.zeros(0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if here.shape[1] == 2:
            allowed = np.column_stack([levels.upper(every, there[:, output]) for output in (0, 1)])
            excess = (np.where(here > 0, here / allowed, 0.0) - 1).max(axis=1)
        else:
            carried = np.where(there > 0, levels.growth[:, None] * there, 0.0)
            over = here - carried
            spent = np.maximum(over, 0.0).sum(axis=1) - levels.delta
            relative = (np.where(here > 0, here / carried, 0.0) - 1).max(axis=1)
            excess = np.where(levels.delta > 0, spent, relative)
            other_kinds = np.flatnonzero(np.isnan(levels.growth))
            for start in range(0, len(other_kinds), 2**14):
                part = other_kinds[start : start + 2**14]
                excess[part] = _prefix_excess(here[part], there[part], levels, part)
    return np.asarray(np.where(np.isinf(levels.growth), -1.0, excess))  # epsilon = infinity allows everything


def _prefix_excess(here: Floats, there: Floats, levels: EdgeLevels, edges: NDArray[np.int64]) -> Floats:
    """The largest absolute violation of `upper` by a Neyman-Pearson event, on these edges."""
    order = np.argsort(-here / np.maximum(there, 1e-300), axis=1)
    top, bottom = (np.cumsum(np.take_along_axis(x, order, axis=1), axis=1) for x in (here, there))
    spread = np.repeat(edges, top.shape[1])
    return np.asarray((top - levels.upper(spread, np.minimum(bottom, 1.0).ravel()).reshape(top.shape)).max(axis=1))
