"""Balls of integer points in the norms that neighbours have: how many points they hold, and uniform points of them.

| shape | norm of a vector z of d integers | moves of norm 1 |
|---|---|---|
| any | sum of all abs(z_i) | one integer by one |
| one-way | largest z_i (or 0) plus largest -z_i (or 0) | 0 or 1 added to every integer, or taken away |
| cube | largest abs(z_i) | every integer by at most one |
| exchange | the larger of the sum of the rises and the sum of the falls | one up and another down, or one of both |
| sum-zero | sum of the rises, where all integers add up to 0 | one up and another down |

One-way balls may have *slack* a: then the norm of z, with P its largest rise and M its largest fall, is max(P, M,
P + M - a). It is no norm in the strict sense, but a one-way move still changes it by at most 1 (it changes P, M and
P + M by at most 1 each), and that is all that privacy needs. Slack 0 is the one-way norm, endless slack the cube's.
Exchange balls may have slack, too: from vectors whose integers all rise by c or more, or all fall, min(c, a) is taken
off. The exchange norm is the largest |sum of some of the integers|, which an exchange changes by at most 1; with slack
it is the larger of that less a and of the same over sums that leave one integer out. For two integers it is one-way
slack with the sign of one turned.

A vector that adds up to 0 is what its first d - 1 integers say, and its norm is their exchange norm: so sum-zero balls
of d integers are exchange balls of d - 1.

Two counts describe a ball of radius s: how many points it has, and how many of them have a first integer of t or more,
1 <= t <= s + 1. Of one-way balls both are sums over cubes. Else the second is the sum over m of f_m(s)
C(s - t + 1, m), with whole numbers f_m(s) >= 0, its *profile*;
sums over t are then closed forms: the sum over t >= 1 of C(s - t + 1, m) is C(s + 1, m + 1), and with weights 2t - 1 it
is 2 C(s + 2, m + 2) - C(s + 1, m + 1). Balls are symmetric around 0, and all integers of a vector are alike.
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
    """How many moves away from 0 a vector is; a sum-zero vector must add up to 0.

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
    """The shape whose integers are free, and how many of them: of sum-zero vectors the last says nothing new."""
    return ("exchange", d - 1) if shape == "sum-zero" else (shape, d)


def count_ball(shape: Moves, d: int, s: int, slack: int = 0) -> int:
    """How many points a ball of radius s has.

    A one-way ball is the union of the cubes from v - s - a to v, v = a..s (a the slack), of which each shares all but
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
    """Pairs (m, f_m(s)): how many points of a ball have a first integer of t or more, as a sum of f_m C(s - t + 1, m).

    The first integer, t or more, and the others fill: in a cube their own intervals. Of exchanges, a of
    the others rise: cuts of s - t into a positive parts and a rest, and falls that add up to s at most.
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
    """How many points of a ball of radius s have a first integer of t or more, 1 <= t <= s + 1."""
    if shape == "one-way":
        return _one_way_sums(d, s, slack, lambda v: comb(max(v - t + 2, 0), 2), 1)
    found = sum(f * comb(s - t + 1, m) for m, f in profile(shape, d, s))
    return found + sum(lifted_above(d, s, j, t) for j in range(1, slack + 1))


def sum_absolute(shape: Moves, d: int, s: int, slack: int = 0) -> int:
    """The sum of |z_1| over the points of a ball."""
    if shape == "one-way":
        return _one_way_sums(d, s, slack, lambda v: comb(v + 2, 3), 2)
    found = 2 * sum(f * comb(s + 1, m + 1) for m, f in profile(shape, d, s))
    return found + sum(lifted_absolute(d, s, j) for j in range(1, slack + 1))


def sum_squared(shape: Moves, d: int, s: int, slack: int = 0) -> int:
    """The sum of z_1^2 over the points of a ball."""
    if shape == "one-way":
        return _one_way_sums(d, s, slack, lambda v: v * (v + 1) ** 2 * (v + 2) // 12, 2)
    found = 2 * sum(f * (2 * comb(s + 2, m + 2) - comb(s + 1, m + 1)) for m, f in profile(shape, d, s))
    return found + sum(lifted_squared(d, s, j) for j in range(1, slack + 1))


def _one_way_sums(d: int, s: int, slack: int, total: Callable[[int], int], sides: int) -> int:
    """The sum of a quantity of z_1 over a one-way ball.

    `total(v)` is the sum, over u = 0..v, of the quantity added up over z_1 = 1..u; `sides` is 2 if negative integers
    count as positive ones do. The cubes of the union end at u = slack..s, what two of them share at u = slack..s - 1,
    and the other integers of a vector are free.
    """
    if s < slack:
        return int(sides * (2 * s + 1) ** (d - 1) * (total(s) - total(s - 1)))
    cubes, shared = total(s) - total(slack - 1), total(s - 1) - total(slack - 1)
    return int(sides * ((s + slack + 1) ** (d - 1) * cubes - (s + slack) ** (d - 1) * shared))


# ---- what slack adds to exchange balls ----
#
# Vectors whose integers are j or more and add up to s + j, j = 1..slack, and their negatives: j and a cut of
# s - (d - 1) j into d parts. Polynomials in s from (d - 1) j on; below there are none.


def lifted_count(d: int, s: int, j: int) -> int:
    """How many points slack j adds to the exchange ball of slack j - 1."""
    return 2 * comb(s - (d - 1) * j + d - 1, d - 1) if s >= (d - 1) * j else 0


def lifted_above(d: int, s: int, j: int, t: int) -> int:
    """How many of them have a first integer of t or more, t >= 1."""
    rest = s - (d - 1) * j - max(t - j, 0)
    return comb(rest + d - 1, d - 1) if rest >= 0 else 0


def lifted_absolute(d: int, s: int, j: int) -> int:
    """The sum of |z_1| over them: parts of cuts of n into d add up to C(n + d - 1, d), all first parts together."""
    rest = s - (d - 1) * j
    return 2 * (j * comb(rest + d - 1, d - 1) + comb(rest + d - 1, d)) if rest >= 0 else 0


def lifted_squared(d: int, s: int, j: int) -> int:
    """The sum of z_1^2 over them."""
    rest = s - (d - 1) * j
    if rest < 0:
        return 0
    points, parts, pairs = (comb(rest + d - 1, d - 1 + k) for k in range(3))
    return 2 * (j * j * points + (2 * j + 1) * parts + 2 * pairs)


def draw_in_ball(shape: Moves, d: int, s: int, slack: int = 0, below: Callable[[int], int] = below) -> Point:
    """A uniform point of the ball of radius s, by uniform integers `below` a bound."""
    if shape == "one-way":
        return _draw_one_way(d, s, slack, below)
    if shape == "exchange":
        return _draw_exchange(d, s, slack, below)
    if shape == "sum-zero":
        point = _draw_exchange(d - 1, s, 0, below)
        return (*point, -sum(point))
    return _draw_cube(d, s, below) if shape == "cube" else _draw_any(d, s, below)


def _draw_any(d: int, s: int, below: Callable[[int], int]) -> Point:
    """J integers differ from 0 in C(d,j) 2^j C(s,j) points: which, their signs, and j cuts of 1..s."""
    j = _choose(_any_counts(d, s), below)
    places, sizes = sorted(uniform_subset(d, j, below)), _gaps(uniform_subset(s, j, below))
    point = [0] * d
    for i, size in zip(places, sizes, strict=True):
        point[i] = size if below(2) else -size
    return tuple(point)


def _draw_one_way(d: int, s: int, slack: int, below: Callable[[int], int]) -> Point:
    """A point of the first cube of the union, or one on the top of a later one, where no earlier cube has it.

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
    return tuple(below(2 * s + 1) - s for _ in range(d))


def _draw_exchange(d: int, s: int, slack: int, below: Callable[[int], int]) -> Point:
    """A integers rise: which, a cuts of 1..s; the others fall by 0 or more, at most s in all. Or what slack adds."""
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
    """How many points of an l1 ball have j integers that differ from 0, j = 0..d."""
    return [comb(d, j) * comb(s, j) << j for j in range(d + 1)]


def _exchange_counts(d: int, s: int) -> list[int]:
    """How many points of an exchange ball have a rising integers, a = 0..d."""
    return [comb(d, a) * comb(s, a) * comb(s + d - a, d - a) for a in range(d + 1)]


def _exchange_parts(d: int, s: int, slack: int) -> list[int]:
    """The same, and then how many points each unit of slack adds."""
    return [*_exchange_counts(d, s), *(lifted_count(d, s, j) for j in range(1, slack + 1))]


def _one_way_counts(d: int, s: int, slack: int) -> list[int]:
    """How many points of a one-way ball lie on the top of a later cube, first so at place i < d; last, of the first."""
    side = s + slack
    return [*((s - slack) * side**i * (side + 1) ** (d - 1 - i) for i in range(d)), (side + 1) ** d]


def _gaps(chosen: set[int]) -> list[int]:
    """The positive parts between 0 and each chosen number plus one, in order."""
    return [after - before for before, after in pairwise([0, *sorted(1 + x for x in chosen)])]


def _choose(weights: list[int], below: Callable[[int], int]) -> int:
    """A position, with probability proportional to its whole-number weight."""
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
    """A uniform point of each of many balls, one in a row: the same steps as `draw_in_ball`, each for all rows.

    Radii are below 2^50, so that 64-bit integers hold everything.
    """
    if shape == "sum-zero":
        point = draw_in_balls("exchange", d - 1, radii)
        return np.column_stack([point, -point.sum(axis=1)])
    size = len(radii)
    if shape == "cube":
        return np.column_stack([uniform_below_each(2 * radii + 1) - radii for _ in range(d)])
    parts = np.empty(size, dtype=np.int64)
    order = np.argsort(radii, kind="stable")
    found, starts = np.unique(radii[order], return_index=True)
    for radius, rows in zip(found.tolist(), np.split(order, starts[1:]), strict=True):
        parts[rows] = choose_many(COUNTS[shape](d, radius, slack), len(rows))
    if shape == "one-way":
        least = np.minimum(radii, slack)
        side, later = radii + least, parts < d
        top = np.where(later, least + 1 + uniform_below_each(np.maximum(radii - least, 1)), least)
        point = np.empty((size, d), dtype=np.int64)
        for i in range(d):
            lower = later & (i < parts)  # smaller than the largest, which comes later
            drawn = lower + uniform_below_each(np.maximum(side + ~lower, 1))
            point[:, i] = top - np.where(i == parts, 0, drawn)
        return point
    chosen = _many_subsets(d, np.minimum(parts, d))
    point = np.zeros((size, d), dtype=np.int64)
    lifted = parts - d
    rows = np.flatnonzero(lifted > 0)
    if len(rows):
        point[rows] = _many_lifted(d, radii[rows], lifted[rows])
    for part in range(d + 1):
        rows = np.flatnonzero(parts == part)
        up, at = chosen[rows], radii[rows]
        values = np.zeros((len(rows), d), dtype=np.int64)
        values[up] = _many_gaps(at, part).ravel()
        if shape == "exchange":
            values[~up] = 1 - _many_gaps(at + d - part, d - part).ravel()
        else:
            values *= 1 - 2 * uniform_below(2, values.size).reshape(values.shape)
        point[rows] = values
    return point


def _many_lifted(d: int, radii: Integers, lifts: Integers) -> Integers:
    """A uniform vector of those that a unit of slack adds, for each radius and unit: one in a row."""
    sizes = lifts[:, None] - 1 + _many_gaps(radii - (d - 1) * lifts + d - 1, d - 1)
    found = np.column_stack([sizes, radii + lifts - sizes.sum(axis=1)])
    return np.asarray(found * (1 - 2 * uniform_below(2, len(radii)))[:, None])


def uniform_below_each(bounds: Integers) -> Integers:
    """A uniform integer below each bound, bounds from 1 to 2^52: just enough bits, drawn again where they make more."""
    bits = np.maximum(np.frexp((bounds - 1).astype(float))[1], 1).astype(np.uint64)
    drawn = (uniform_words(64, len(bounds)) >> (np.uint64(64) - bits)).astype(np.int64)
    while len(again := np.flatnonzero(drawn >= bounds)):
        words = uniform_words(64, len(again)) >> (np.uint64(64) - bits[again])
        drawn[again] = words.astype(np.int64)
    return np.asarray(drawn)


def choose_many(weights: list[int], size: int) -> Integers:
    """Positions, each with probability proportional to its whole-number weight, exactly.

    62 random bits are compared with the first 62 of each cumulative share; where they are the same, more are drawn.
    """
    sums = list(accumulate(weights))
    if sums[-1] < 2**WORD:
        return np.searchsorted(np.array(sums), uniform_below(sums[-1], size), side="right").astype(np.int64)
    firsts = np.array([(x << WORD) // sums[-1] for x in sums[:-1]], dtype=np.uint64)
    words = uniform_words(WORD, size)
    places = np.searchsorted(firsts, words, side="left").astype(np.int64)
    for row in np.flatnonzero(np.isin(words, firsts)).tolist():
        number, bits = int(words[row]), WORD
        while any(number * sums[-1] < x << bits < (number + 1) * sums[-1] for x in sums):
            number, bits = (number << 64) | uniform_integer(64), bits + 64
        places[row] = sum(number * sums[-1] >= x << bits for x in sums)
    return places


def _many_subsets(d: int, sizes: Integers) -> NDArray[np.bool_]:
    """A uniform subset of d places of each size, as rows of truth values: places are taken one after the other."""
    chosen, left = np.zeros((len(sizes), d), dtype=bool), sizes.copy()
    for i in range(d):
        chosen[:, i] = uniform_below(d - i, len(sizes)) < left
        left -= chosen[:, i]
    return chosen


def _many_gaps(ends: Integers, size: int) -> Integers:
    """The positive parts cut from 1..end by a uniform subset of so many: Floyd's algorithm for all rows at once."""
    picks = np.empty((len(ends), size), dtype=np.int64)
    for i in range(size):
        last = ends - size + i
        pick = uniform_below_each(last + 1)
        again = (picks[:, :i] == pick[:, None]).any(axis=1)
        picks[:, i] = np.where(again, last, pick)
    picks.sort(axis=1)
    return np.diff(picks + 1, axis=1, prepend=0)
