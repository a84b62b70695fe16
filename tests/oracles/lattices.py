"""What neighbours do to vectors of integers, by the definition of each kind of move."""

from itertools import product


def moves_of_one_row(moves, d):
    """What one row does, by its definition."""
    if moves == "any":
        return [z for z in product((-1, 0, 1), repeat=d) if sum(map(abs, z)) <= 1]
    if moves == "one-way":
        return [z for z in product((-1, 0, 1), repeat=d) if min(z) >= 0 or max(z) <= 0]
    if moves == "cube":
        return list(product((-1, 0, 1), repeat=d))
    found = [z for z in product((-1, 0, 1), repeat=d) if z.count(1) <= 1 and z.count(-1) <= 1]
    return found if moves == "exchange" else [z for z in found if sum(z) == 0]


def moves_of(space):
    """What one neighbour does: as many moves of single rows as its reach."""
    found = {(0,) * space.dimension}
    for _ in range(space.reach):
        steps = moves_of_one_row(space.moves, space.dimension)
        found = {tuple(a + b for a, b in zip(z, step, strict=True)) for z in found for step in steps}
    return found
