"""How far one neighbour moves a vector of integers: in the norm of a shape, in all, and in Euclidean length."""

from __future__ import annotations

from utmost.space.integers import Lattice, Moves, Strategy


def norm_of_moves(shape: Moves, space: Lattice) -> int | None:
    """The largest norm of a shape that one neighbour's move has; None if the noise cannot hide it at any price.

    Norms are sums at most, so `reach` rows move by `reach` times what one row does.
    """
    d, moves = space.dimension, space.moves
    if moves == "sum-zero" and d == 1:
        return 0  # one cell that holds every row never changes
    if shape == "sum-zero":
        return space.reach if moves == "sum-zero" else None
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
    """The largest squared Euclidean length of what one neighbour does."""
    if isinstance(space, Strategy):
        return space.square
    d, moves = space.dimension, space.moves
    if moves == "sum-zero" and d == 1:
        return 0
    rows = 1 if d == 1 or moves == "any" else d if moves in ("one-way", "cube") else 2
    return rows * space.reach**2
