"""How far one neighbour moves a vector of integers: in the norm of a shape, in all, and in Euclidean length."""

from __future__ import annotations

import math
from dataclasses import replace

from utmost.space.integers import Lattice, Moves, Strategy


def norm_of_moves(shape: Moves, space: Lattice) -> int | None:
    """The largest norm of a shape that one neighbour's move has; None if the noise cannot hide it at any price.

    Norms are sums at most, so `reach` rows move by `reach` times what one row does. Where no integer moves by more than
    `each`, all together move by no more than that times their number.
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


def sum_of_moves(space: Lattice | Strategy) -> int:
    """How far one neighbour moves all integers together (l1)."""
    if isinstance(space, Strategy):
        return space.farthest
    found = norm_of_moves("any", space)
    assert found is not None
    return found


def square_of_moves(space: Lattice | Strategy) -> int:
    """The largest squared Euclidean length of what one neighbour does.

    With at most `each` moves in one integer, the squares of integers that add up to a number are largest where as many
    as possible have the most: the sum of squares is convex. A replaced neighbour takes such a vector away and adds
    another: at most twice the square, and at most that of twice as many moves in the integers there are.
    """
    if isinstance(space, Strategy):
        return space.square
    d, moves = space.dimension, space.moves
    if moves == "sum-zero" and d == 1:
        return 0
    if space.each is not None:
        alone = _largest_square(space.reach, space.each, d)
        return alone if moves == "any" else min(2 * alone, _largest_square(2 * space.reach, space.each, d))
    rows = 1 if d == 1 or moves == "any" else d if moves in ("one-way", "cube") else 2
    return rows * space.reach**2


def straightness(space: Lattice) -> float:
    """How much shorter the longest move is (Euclidean) because no integer moves by more than `each`: 1 without that."""
    return math.sqrt(square_of_moves(space) / max(1, square_of_moves(replace(space, each=None))))


def _largest_square(total: int, each: int, integers: int) -> int:
    """The largest sum of squares of so many integers from 0 to `each` whose sum is at most a total."""
    full = min(total // each, integers)
    rest = min(total - full * each, each) if full < integers else 0
    return int(full * each**2 + rest**2)
