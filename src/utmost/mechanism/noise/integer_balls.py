"""Balls of integer points in the norms of sensitivity sets: numbers of points, and uniform points.

| shape | norm of a vector z of d integers | vectors of norm 1 |
|---|---|---|
| any | sum of all abs(z_i) | one integer by one |
| one-way | largest z_i (or 0) plus largest -z_i (or 0) | 0 or 1 added to every integer, or taken away |
| cube | largest abs(z_i) | every integer by at most one |
| exchange | the larger of the sum of the rises and the sum of the falls | one up and another down, or one of both |
| sum-zero | sum of the rises, where all integers add up to 0 | one up and another down |

One-way balls may have *slack* a: then the norm of z, with P its largest rise and M its largest fall, is max(P, M,
P + M - a). It is not a norm in the strict sense, but a one-way change still changes it by at most 1 (it changes P, M
and P + M by at most 1 each), which is all that privacy needs. Slack 0 is the one-way norm, infinite slack the cube's.
Exchange balls may have slack, too: from vectors whose integers all rise by c or more, or all fall, min(c, a) is
subtracted. The exchange norm is the largest |sum of some of the integers|, which an exchange changes by at most 1; with
slack it is the larger of that less a and of the largest such sum that omits an integer. For two integers it is one-way
slack with the sign of one reversed.

A vector that adds up to 0 is determined by its first d - 1 integers, and its norm is their exchange norm: so sum-zero
balls of d integers are exchange balls of d - 1.

Two counts describe a ball of radius s: how many points it has, and how many of them have a first integer of t or more,
1 <= t <= s + 1. Of one-way balls both are sums over cubes. Else the second is the sum over m of f_m(s)
C(s - t + 1, m), with whole numbers f_m(s) >= 0, its *profile*;
sums over t are then closed forms: the sum over t >= 1 of C(s - t + 1, m) is C(s + 1, m + 1), and with weights 2t - 1 it
is 2 C(s + 2, m + 2) - C(s + 1, m + 1). Balls are symmetric around 0 and under permutations of the integers.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, pairwise
from math import comb
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from utmost.exact.arrays import Integers
from utmost.mechanism.noise.layers import count_points
from utmost.mechanism.sampling import WORD, below, uniform_below, uniform_integer, uniform_subset, uniform_words
from utmost.space.integers import Moves

Point: TypeAlias = tuple[int, ...]


def norm(shape: Moves, z: Any, slack: int = 0) -> int:
    """The norm of a vector for a shape of sensitivity set; a sum-zero vector must add up to 0.

    Examples
    --------
    >>> [norm(shape, (3, -2, 1)) for shape in ("any", "one-way", "cube", "exchange")]
    [6, 5, 3, 4]
    """
    rises, falls = [max(int(x), 0) for x in z], [max(-int(x), 0) for x in z]
    if shape == "any":
        return sum(rises) + sum(falls)
    if shape == "one-way":
        up, down = max(rises, default=0), max(falls, default=0)
        return max(up, down, up + down - slack)
    if shape == "cube":
        return max([*rises, *falls], default=0)
    common = max(min(rises, default=0), min(falls, default=0))  # by how much all rise, or all fall
    return max(sum(rises), sum(falls)) - min(common, slack)


def free(shape: Moves, d: int) -> tuple[Moves, int]:
    """The equivalent shape of free integers, and their number: the last integer of a sum-zero vector is redundant."""
    return ("exchange", d - 1) if shape == "sum-zero" else (shape, d)


def count_ball(shape: Moves, d: int, s: int, slack: int = 0) -> int:
    """The number of points of a ball of radius s.

    A one-way ball is the union of the cubes from v - s - a to v, v = a..s (a the slack), each of which shares all but
    its lowest layer with the next; below a radius of a it is a cube.

    Examples
    --------
    >>> [count_ball(shape, 2, 1) for shape in ("any", "one-way", "cube", "exchange", "sum-zero")]
    [5, 7, 9, 7, 3]
    """
    shape, d = free(shape, d)
    if shape == "cube" or (shape == "one-way" and s < slack):
        return int((2 * s + 1) ** d)
    if shape == "one-way":
        return int((s - slack + 1) * (s + slack + 1) ** d - (s - slack) * (s + slack) ** d)
    if shape == "any":
        return count_points(d, s + 1)
    return sum(_exchange_counts(d, s)) + sum(lifted_count(d, s, j) for j in range(1, slack + 1))


def profile(shape: Moves, d: int, s: int) -> list[tuple[int, int]]:
    """Pairs (m, f_m(s)): the number of points of a ball with first integer >= t is the sum of f_m C(s - t + 1, m).

    In a cube the other integers are free in their intervals. In an exchange ball, a of the others rise: compositions of
    s - t into a positive parts and a remainder, and falls that add up to at most s.
    """
    shape, d = free(shape, d)
    if d == 0:
        return []
    if shape == "cube":
        return [(1, (2 * s + 1) ** (d - 1))]
    if shape == "any":
        return [(j + 1, comb(d - 1, j) << j) for j in range(d)]
    return [(a + 1, comb(d - 1, a) * comb(s + d - 1 - a, d - 1 - a)) for a in range(d)]


def count_above(shape: Moves, d: int, s: int, t: int, slack: int = 0) -> int:
    """The number of points of a ball of radius s with a first integer of t or more, 1 <= t <= s + 1."""
    if shape == "one-way":
        return _one_way_sums(d, s, slack, lambda v: comb(max(v - t + 2, 0), 2), 1)
    points = sum(f * comb(s - t + 1, m) for m, f in profile(shape, d, s))
    return points + sum(lifted_above(d, s, j, t) for j in range(1, slack + 1))


def sum_absolute(shape: Moves, d: int, s: int, slack: int = 0) -> int:
    """The sum of |z_1| over the points of a ball."""
    if shape == "one-way":
        return _one_way_sums(d, s, slack, lambda v: comb(v + 2, 3), 2)
    total = 2 * sum(f * comb(s + 1, m + 1) for m, f in profile(shape, d, s))
    return total + sum(lifted_absolute(d, s, j) for j in range(1, slack + 1))


def sum_squared(shape: Moves, d: int, s: int, slack: int = 0) -> int:
    """The sum of z_1^2 over the points of a ball."""
    if shape == "one-way":
        return _one_way_sums(d, s, slack, lambda v: v * (v + 1) ** 2 * (v + 2) // 12, 2)
    total = 2 * sum(f * (2 * comb(s + 2, m + 2) - comb(s + 1, m + 1)) for m, f in profile(shape, d, s))
    return total + sum(lifted_squared(d, s, j) for j in range(1, slack + 1))


def _one_way_sums(d: int, s: int, slack: int, total: Callable[[int], int], sides: int) -> int:
    """The sum of a quantity of z_1 over a one-way ball.

    `total(v)` is the sum, over u = 0..v, of the quantity summed over z_1 = 1..u; `sides` is 2 if negative integers
    count like positive ones. The cubes of the union end at u = slack..s, their overlaps at u = slack..s - 1, and the
    other integers of a vector are free.
    """
    if s < slack:
        return int(sides * (2 * s + 1) ** (d - 1) * (total(s) - total(s - 1)))
    cubes, shared = total(s) - total(slack - 1), total(s - 1) - total(slack - 1)
    return int(sides * ((s + slack + 1) ** (d - 1) * cubes - (s + slack) ** (d - 1) * shared))


# ---- the points that slack adds to exchange balls ----
#
# Vectors whose integers are j or more and add up to s + j, j = 1..slack, and their negatives: j and a composition of
# s - (d - 1) j into d parts. Polynomials in s from (d - 1) j on; below there are none.


def lifted_count(d: int, s: int, j: int) -> int:
    """The number of points that slack j adds to the exchange ball of slack j - 1."""
    return 2 * comb(s - (d - 1) * j + d - 1, d - 1) if s >= (d - 1) * j else 0


def lifted_above(d: int, s: int, j: int, t: int) -> int:
    """The number of these points with a first integer of t or more, t >= 1."""
    rest = s - (d - 1) * j - max(t - j, 0)
    return comb(rest + d - 1, d - 1) if rest >= 0 else 0


def lifted_absolute(d: int, s: int, j: int) -> int:
    """The sum of |z_1| over these points; the first parts of compositions of n into d sum to C(n + d - 1, d)."""
    rest = s - (d - 1) * j
    return 2 * (j * comb(rest + d - 1, d - 1) + comb(rest + d - 1, d)) if rest >= 0 else 0


def lifted_squared(d: int, s: int, j: int) -> int:
    """The sum of z_1^2 over these points."""
    rest = s - (d - 1) * j
    if rest < 0:
        return 0
    points, parts, pairs = (comb(rest + d - 1, d - 1 + k) for k in range(3))
    return 2 * (j * j * points + (2 * j + 1) * parts + 2 * pairs)


def draw_in_ball(shape: Moves, d: int, s: int, slack: int = 0, below: Callable[[int], int] = below) -> Point:
    """A uniform point of the ball of radius s, from uniform integers `below` a bound."""
    if shape == "one-way":
        return _draw_one_way(d, s, slack, below)
    if shape == "exchange":
        return _draw_exchange(d, s, slack, below)
    if shape == "sum-zero":
        point = _draw_exchange(d - 1, s, 0, below)
        return (*point, -sum(point))
    return _draw_cube(d, s, below) if shape == "cube" else _draw_any(d, s, below)


def _draw_any(d: int, s: int, below: Callable[[int], int]) -> Point:
    """A uniform point of an l1 ball; C(d,j) 2^j C(s,j) points have j nonzero integers (which, signs, cuts)."""
    j = _choose(_any_counts(d, s), below)
    places, sizes = sorted(uniform_subset(d, j, below)), _gaps(uniform_subset(s, j, below))
    point = [0] * d
    for i, size in zip(places, sizes, strict=True):
        point[i] = size if below(2) else -size
    return tuple(point)


def _draw_one_way(d: int, s: int, slack: int, below: Callable[[int], int]) -> Point:
    """A uniform point of a one-way ball: of the first cube of the union, or on the top of a later one.

    On the top, place i is the first whose integer is the cube's largest, so those before it are smaller.
    """
    slack = min(slack, s)
    i = _choose(_one_way_counts(d, s, slack), below)
    side = s + slack
    if i == d:
        return tuple(slack - below(side + 1) for _ in range(d))
    top = slack + 1 + below(s - slack)
    return tuple(top - (1 + below(side) if j < i else 0 if j == i else below(side + 1)) for j in range(d))


def _draw_cube(d: int, s: int, below: Callable[[int], int]) -> Point:
    """A uniform point of a cube."""
    return tuple(below(2 * s + 1) - s for _ in range(d))


def _draw_exchange(d: int, s: int, slack: int, below: Callable[[int], int]) -> Point:
    """A uniform point of an exchange ball: a integers rise (which, a cuts of 1..s), the others fall; with slack."""
    a = _choose(_exchange_parts(d, s, slack), below)
    if a > d:
        j = a - d
        cuts = _gaps(uniform_subset(s - (d - 1) * j + d - 1, d - 1, below))
        sign, sizes = 1 - 2 * below(2), [j - 1 + cut for cut in cuts]
        return tuple(sign * size for size in (*sizes, s + j - sum(sizes)))
    up = uniform_subset(d, a, below)
    rises = _gaps(uniform_subset(s, a, below))
    falls = [gap - 1 for gap in _gaps(uniform_subset(s + d - a, d - a, below))]
    return tuple(rises.pop() if i in up else -falls.pop() for i in range(d))


def _any_counts(d: int, s: int) -> list[int]:
    """The number of points of an l1 ball with j nonzero integers, j = 0..d."""
    return [comb(d, j) * comb(s, j) << j for j in range(d + 1)]


def _exchange_counts(d: int, s: int) -> list[int]:
    """The number of points of an exchange ball with a rising integers, a = 0..d."""
    return [comb(d, a) * comb(s, a) * comb(s + d - a, d - a) for a in range(d + 1)]


def _exchange_parts(d: int, s: int, slack: int) -> list[int]:
    """`_exchange_counts`, followed by the number of points that each unit of slack adds."""
    return [*_exchange_counts(d, s), *(lifted_count(d, s, j) for j in range(1, slack + 1))]


def _one_way_counts(d: int, s: int, slack: int) -> list[int]:
    """The numbers of points of a one-way ball on the top of a later cube, by its first place; last, the first cube."""
    side = s + slack
    return [*((s - slack) * side**i * (side + 1) ** (d - 1 - i) for i in range(d)), (side + 1) ** d]


def _gaps(cuts: set[int]) -> list[int]:
    """The positive parts between 0 and each cut plus one, in order."""
    return [after - before for before, after in pairwise([0, *sorted(1 + x for x in cuts)])]


def _choose(weights: list[int], below: Callable[[int], int]) -> int:
    """A position drawn with probability proportional to its integer weight."""
    sums = list(accumulate(weights))
    number = below(sums[-1])
    return sum(s <= number for s in sums)


# ---- many points at once ----

COUNTS: dict[str, Callable[[int, int, int], list[int]]] = {
    "any": lambda d, s, slack: _any_counts(d, s),
    "one-way": lambda d, s, slack: _one_way_counts(d, s, min(slack, s)),
    "exchange": _exchange_parts,
}


def draw_in_balls(shape: Moves, d: int, radii: Integers, slack: int = 0) -> Integers:
    """A uniform point of each of many balls, one in a row: `draw_in_ball`, vectorised.

    Radii are below 2^50, so that 64-bit integers suffice.
    """
    if shape == "sum-zero":
        point = draw_in_balls("exchange", d - 1, radii)
        return np.column_stack([point, -point.sum(axis=1)])
    size = len(radii)
    if shape == "cube":
        return np.column_stack([uniform_below_each(2 * radii + 1) - radii for _ in range(d)])
    parts = np.empty(size, dtype=np.int64)
    order = np.argsort(radii, kind="stable")
    distinct_radii, starts = np.unique(radii[order], return_index=True)
    for radius, rows in zip(distinct_radii.tolist(), np.split(order, starts[1:]), strict=True):
        parts[rows] = choose_many(COUNTS[shape](d, radius, slack), len(rows))
    if shape == "one-way":
        least = np.minimum(radii, slack)
        side, later = radii + least, parts < d
        top = np.where(later, least + 1 + uniform_below_each(np.maximum(radii - least, 1)), least)
        point = np.empty((size, d), dtype=np.int64)
        for i in range(d):
            lower = later & (i < parts)  # strictly smaller than the largest, which is at a later place
            depth = lower + uniform_below_each(np.maximum(side + ~lower, 1))
            point[:, i] = top - np.where(i == parts, 0, depth)
        return point
    subsets = _many_subsets(d, np.minimum(parts, d))
    point = np.zeros((size, d), dtype=np.int64)
    lifted = parts - d
    rows = np.flatnonzero(lifted > 0)
    if len(rows):
        point[rows] = _many_lifted(d, radii[rows], lifted[rows])
    for part in range(d + 1):
        rows = np.flatnonzero(parts == part)
        up, at = subsets[rows], radii[rows]
        values = np.zeros((len(rows), d), dtype=np.int64)
        values[up] = _many_gaps(at, part).ravel()
        if shape == "exchange":
            values[~up] = 1 - _many_gaps(at + d - part, d - part).ravel()
        else:
            values *= 1 - 2 * uniform_below(2, values.size).reshape(values.shape)
        point[rows] = values
    return point


def _many_lifted(d: int, radii: Integers, lifts: Integers) -> Integers:
    """A uniform vector among those that a unit of slack adds, for each radius and unit: one in a row."""
    sizes = lifts[:, None] - 1 + _many_gaps(radii - (d - 1) * lifts + d - 1, d - 1)
    points = np.column_stack([sizes, radii + lifts - sizes.sum(axis=1)])
    return np.asarray(points * (1 - 2 * uniform_below(2, len(radii)))[:, None])


def uniform_below_each(bounds: Integers) -> Integers:
    """A uniform integer below each bound, bounds from 1 to 2^52, by rejection: just enough bits for each."""
    bits = np.maximum(np.frexp((bounds - 1).astype(float))[1], 1).astype(np.uint64)
    integers = (uniform_words(64, len(bounds)) >> (np.uint64(64) - bits)).astype(np.int64)
    while len(rejected := np.flatnonzero(integers >= bounds)):
        words = uniform_words(64, len(rejected)) >> (np.uint64(64) - bits[rejected])
        integers[rejected] = words.astype(np.int64)
    return np.asarray(integers)


def choose_many(weights: list[int], size: int) -> Integers:
    """Positions, each drawn with probability exactly proportional to its integer weight.

    62 random bits are compared with the first 62 of each cumulative share; where they are equal, more are drawn.
    """
    sums = list(accumulate(weights))
    if sums[-1] < 2**WORD:
        return np.searchsorted(np.array(sums), uniform_below(sums[-1], size), side="right").astype(np.int64)
    firsts = np.array([(x << WORD) // sums[-1] for x in sums[:-1]], dtype=np.uint64)
    words = uniform_words(WORD, size)
    positions = np.searchsorted(firsts, words, side="left").astype(np.int64)
    for row in np.flatnonzero(np.isin(words, firsts)).tolist():
        number, bits = int(words[row]), WORD
        while any(number * sums[-1] < x << bits < (number + 1) * sums[-1] for x in sums):
            number, bits = (number << 64) | uniform_integer(64), bits + 64
        positions[row] = sum(number * sums[-1] >= x << bits for x in sums)
    return positions


def _many_subsets(d: int, sizes: Integers) -> NDArray[np.bool_]:
    """A uniform subset of d places of each size, as boolean rows, place by place."""
    is_in_subset, remaining = np.zeros((len(sizes), d), dtype=bool), sizes.copy()
    for i in range(d):
        is_in_subset[:, i] = uniform_below(d - i, len(sizes)) < remaining
        remaining -= is_in_subset[:, i]
    return is_in_subset


def _many_gaps(ends: Integers, size: int) -> Integers:
    """The positive parts between the members of a uniform subset of 1..end, for each end: Floyd's algorithm by rows."""
    picks = np.empty((len(ends), size), dtype=np.int64)
    for i in range(size):
        last = ends - size + i
        pick = uniform_below_each(last + 1)
        is_repeat = (picks[:, :i] == pick[:, None]).any(axis=1)
        picks[:, i] = np.where(is_repeat, last, pick)
    picks.sort(axis=1)
    return np.diff(picks + 1, axis=1, prepend=0)
