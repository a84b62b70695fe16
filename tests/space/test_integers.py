"""Spaces of integers that are never listed: what is cut off at an end keeps neighbours neighbours."""

from itertools import permutations, product

import pytest

from utmost.space.integers import Lattice

STEPS = {
    "one-way": [step for step in product((0, 1), repeat=3) if any(step)],
    "cube": [step for step in product((-1, 0, 1), repeat=3) if any(step)],
    "any": list(permutations((1, 0, 0))),
    "exchange": [*permutations((1, -1, 0)), *permutations((1, 0, 0)), *permutations((-1, 0, 0))],
    "sum-zero": list(permutations((1, -1, 0))),
}


@pytest.mark.parametrize("moves", STEPS)
def test_neighbours_stay_neighbours_whatever_the_table_holds(moves):
    """Also where there are more rows than was said: what one move makes is one move away, or the same."""
    lattice = Lattice(3, moves, 1, 0, 4)
    allowed = {tuple(sign * x for x in step) for step in STEPS[moves] for sign in (1, -1)} | {(0, 0, 0)}
    for point in product(range(-1, 7), repeat=3):
        for step in STEPS[moves]:
            here = lattice.clamp(point)
            there = lattice.clamp([x + s for x, s in zip(point, step, strict=True)])
            assert tuple(b - a for a, b in zip(here, there, strict=True)) in allowed, (point, step)
