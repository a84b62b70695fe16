"""Balls of integer points in the norms that neighbours have: how many points they hold, and uniform points of them.

| shape | norm of a vector z of d integers | moves of norm 1 |
|---|---|---|
| any | sum of all abs(z_i) | one integer by one |
| one-way | largest z_i (or 0) plus largest -z_i (or 0) | 0 or 1 added to every integer, or taken away |
| cube | largest abs(z_i) | every integer by at most one |
| exchange | the larger of the sum of the rises and the sum of the falls | one up and another down, or one of both |
| sum-zero | sum of the rises, where all integers add up to 0 | one up and another down |

A vector that adds up to 0 is what its first d - 1 integers say, and its norm is their exchange norm: so sum-zero balls
of d integers are exchange balls of d - 1.

Two counts describe a ball of radius s: how many points it has, and how many of them have a first integer of t or more,
1 <= t <= s + 1. The second is the sum over m of f_m(s) C(s - t + 1, m), with whole numbers f_m(s) >= 0, its *profile*;
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
from utmost.mechanism.draws import below, uniform_subset
from utmost.mechanism.layers import count_points
from utmost.mechanism.sampling import WORD, uniform_below, uniform_integer, uniform_words
from utmost.space.integers import Moves

Point: TypeAlias = tuple[int, ...]


def norm(shape: Moves, z: Any) -> int:
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
        return max(rises, default=0) + max(falls, default=0)
    if shape == "cube":
        return max([*rises, *falls], default=0)
    return max(sum(rises), sum(falls))


def free(shape: Moves, d: int) -> tuple[Moves, int]:
    """The shape whose integers are free, and how many of them: of sum-zero vectors the last says nothing new."""
    return ("exchange", d - 1) if shape == "sum-zero" else (shape, d)


def count_ball(shape: Moves, d: int, s: int) -> int:
    """How many points a ball of radius s has.

    Examples
    --------
    >>> [count_ball(shape, 2, 1) for shape in ("any", "one-way", "cube", "exchange", "sum-zero")]
    [5, 7, 9, 7, 3]
    """
    shape, d = free(shape, d)
    if shape == "cube":
        return int((2 * s + 1) ** d)
    if shape == "one-way":
        return int((s + 1) ** (d + 1) - s ** (d + 1))
    if shape == "any":
        return count_points(d, s + 1)
    return sum(_exchange_counts(d, s))


def profile(shape: Moves, d: int, s: int) -> list[tuple[int, int]]:
    """Pairs (m, f_m(s)): how many points of a ball have a first integer of t or more, as a sum of f_m C(s - t + 1, m).

    The first integer, t or more, and the others fill: in a cube their own intervals. One way, the largest of all is
    either the first, or exceeds it, by 1 to s - t: the others lie on s + 1 places, and not all on the lower s of them.
    Of exchanges, a of the others rise: cuts of s - t into a positive parts and a rest, and falls that add up to s at
    most.
    """
    shape, d = free(shape, d)
    if d == 0:
        return []
    if shape == "cube":
        return [(1, (2 * s + 1) ** (d - 1))]
    if shape == "one-way":
        whole = (s + 1) ** (d - 1)
        return [(1, whole), (2, whole - s ** (d - 1))]
    if shape == "any":
        return [(j + 1, comb(d - 1, j) << j) for j in range(d)]
    return [(a + 1, comb(d - 1, a) * comb(s + d - 1 - a, d - 1 - a)) for a in range(d)]


def count_above(shape: Moves, d: int, s: int, t: int) -> int:
    """How many points of a ball of radius s have a first integer of t or more, 1 <= t <= s + 1."""
    return sum(f * comb(s - t + 1, m) for m, f in profile(shape, d, s))


def sum_absolute(shape: Moves, d: int, s: int) -> int:
    """The sum of |z_1| over the points of a ball."""
    return 2 * sum(f * comb(s + 1, m + 1) for m, f in profile(shape, d, s))


def sum_squared(shape: Moves, d: int, s: int) -> int:
    """The sum of z_1^2 over the points of a ball."""
    return 2 * sum(f * (2 * comb(s + 2, m + 2) - comb(s + 1, m + 1)) for m, f in profile(shape, d, s))


def draw_in_ball(shape: Moves, d: int, s: int, below: Callable[[int], int] = below) -> Point:
    """A uniform point of the ball of radius s, by uniform integers `below` a bound."""
    if shape == "sum-zero":
        point = _DRAW["exchange"](d - 1, s, below)
        return (*point, -sum(point))
    return _DRAW[shape](d, s, below)


def _draw_any(d: int, s: int, below: Callable[[int], int]) -> Point:
    """J integers differ from 0 in C(d,j) 2^j C(s,j) points: which, their signs, and j cuts of 1..s."""
    j = _choose(_any_counts(d, s), below)
    places, sizes = sorted(uniform_subset(d, j, below)), _gaps(uniform_subset(s, j, below))
    point = [0] * d
    for i, size in zip(places, sizes, strict=True):
        point[i] = size if below(2) else -size
    return tuple(point)


def _draw_one_way(d: int, s: int, below: Callable[[int], int]) -> Point:
    """z_i = a_i - a_0 for d + 1 numbers on 0..s whose least is 0: first so at place i, those before it on 1..s."""
    i = _choose(_one_way_counts(d, s), below)
    a = [*(1 + below(s) for _ in range(i)), 0, *(below(s + 1) for _ in range(d - i))]
    return tuple(x - a[0] for x in a[1:])


def _draw_cube(d: int, s: int, below: Callable[[int], int]) -> Point:
    return tuple(below(2 * s + 1) - s for _ in range(d))


def _draw_exchange(d: int, s: int, below: Callable[[int], int]) -> Point:
    """A integers rise: which, a cuts of 1..s; the others fall by 0 or more, at most s in all."""
    a = _choose(_exchange_counts(d, s), below)
    up = uniform_subset(d, a, below)
    rises = _gaps(uniform_subset(s, a, below))
    falls = [gap - 1 for gap in _gaps(uniform_subset(s + d - a, d - a, below))]
    return tuple(rises.pop() if i in up else -falls.pop() for i in range(d))


_DRAW: dict[Moves, Callable[[int, int, Callable[[int], int]], Point]] = {
    "any": _draw_any,
    "one-way": _draw_one_way,
    "cube": _draw_cube,
    "exchange": _draw_exchange,
}


def _any_counts(d: int, s: int) -> list[int]:
    """How many points of an l1 ball have j integers that differ from 0, j = 0..d."""
    return [comb(d, j) * comb(s, j) << j for j in range(d + 1)]


def _exchange_counts(d: int, s: int) -> list[int]:
    """How many points of an exchange ball have a rising integers, a = 0..d."""
    return [comb(d, a) * comb(s, a) * comb(s + d - a, d - a) for a in range(d + 1)]


def _one_way_counts(d: int, s: int) -> list[int]:
    """How many of d + 1 numbers on 0..s have their first 0 at place i = 0..d."""
    return [s**i * (s + 1) ** (d - i) for i in range(d + 1)]


def _gaps(chosen: set[int]) -> list[int]:
    """The positive parts between 0 and each chosen number plus one, in order."""
    return [after - before for before, after in pairwise([0, *sorted(1 + x for x in chosen)])]


def _choose(weights: list[int], below: Callable[[int], int]) -> int:
    """A position, with probability proportional to its whole-number weight."""
    sums = list(accumulate(weights))
    number = below(sums[-1])
    return sum(s <= number for s in sums)


# ---- many points at once ----

COUNTS: dict[str, Callable[[int, int], list[int]]] = {
    "any": _any_counts,
    "one-way": _one_way_counts,
    "exchange": _exchange_counts,
}


def draw_in_balls(shape: Moves, d: int, radii: Integers) -> Integers:
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
        parts[rows] = choose_many(COUNTS[shape](d, radius), len(rows))
    if shape == "one-way":
        a = np.empty((size, d + 1), dtype=np.int64)
        for i in range(d + 1):
            before = i < parts
            a[:, i] = np.where(i == parts, 0, before + uniform_below_each(np.maximum(radii + ~before, 1)))
        return a[:, 1:] - a[:, :1]
    chosen = _many_subsets(d, parts)
    point = np.zeros((size, d), dtype=np.int64)
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
