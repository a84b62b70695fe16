"""Sensitivities of integer vectors, from their sensitivity sets: in the norm of a shape, in l1, and in l2."""

from __future__ import annotations

import math
from dataclasses import replace

from utmost.space.integers import Lattice, Moves, Strategy
from utmost.space.line import Line


def norm_sensitivity(shape: Moves, space: Lattice) -> int | None:
    """The sensitivity in the norm of a shape; None if noise of this shape cannot hide the sensitivity set at all.

    By the triangle inequality, `reach` rows have `reach` times the sensitivity of one row. Where no integer changes by
    more than `each`, the sum of all changes is at most that times their number.
    """
    d, moves = space.dimension, space.moves
    if moves == "sum-zero" and d == 1:
        return 0  # one cell that holds every row never changes
    if shape == "sum-zero":
        return space.reach if moves == "sum-zero" else None
    if space.each is not None:
        twice = d > 1 and moves == "exchange" and shape in ("any", "one-way")
        return space.each if shape == "cube" else min(space.reach * (2 if twice else 1), d * space.each)
    if d == 1 or moves == "any" or shape == "cube":
        return space.reach
    if shape == "one-way":
        return space.reach * (1 if moves == "one-way" else 2)
    if moves in ("exchange", "sum-zero"):
        return space.reach * (1 if shape == "exchange" else 2)
    return space.reach * d


def l1_sensitivity(space: Line | Lattice | Strategy) -> int:
    """The l1 sensitivity."""
    if isinstance(space, Line):
        return space.reach
    if isinstance(space, Strategy):
        return space.l1_sensitivity
    sensitivity = norm_sensitivity("any", space)
    assert sensitivity is not None
    return sensitivity


def squared_l2_sensitivity(space: Line | Lattice | Strategy) -> int:
    """The squared l2 sensitivity.

    If one integer changes by at most `each`, the sum of squares at a given sum is largest where as many integers as
    possible change by `each`: the sum of squares is convex. A replaced neighbour subtracts such a vector and adds
    another: at most twice the square, and at most the square of twice the total change over the integers there are.
    """
    if isinstance(space, Line):
        return space.reach**2
    if isinstance(space, Strategy):
        return space.squared_l2_sensitivity
    d, moves = space.dimension, space.moves
    if moves == "sum-zero" and d == 1:
        return 0
    if space.each is not None:
        alone = _largest_square(space.reach, space.each, d)
        return alone if moves == "any" else min(2 * alone, _largest_square(2 * space.reach, space.each, d))
    rows = 1 if d == 1 or moves == "any" else d if moves in ("one-way", "cube") else 2
    return rows * space.reach**2


def straightness(space: Lattice) -> float:
    """The ratio of the l2 sensitivity to that without the bound `each` on single integers: 1 without that bound."""
    return math.sqrt(squared_l2_sensitivity(space) / max(1, squared_l2_sensitivity(replace(space, each=None))))


def _largest_square(total: int, bound: int, integers: int) -> int:
    """The largest sum of squares of `integers` integers from 0 to `bound` whose sum is at most `total`."""
    full = min(total // bound, integers)
    rest = min(total - full * bound, bound) if full < integers else 0
    return int(full * bound**2 + rest**2)
