"""Lines, lattices and tallies: what one neighbour does, by closed form and by listing every move."""

from itertools import combinations, product

import pytest
from oracles.lattices import moves_of, one_neighbour_apart

from utmost.space.integers import Lattice, Tallies
from utmost.space.line import Line


@pytest.mark.parametrize("moves", ["one-way", "cube", "exchange", "sum-zero", "any"])
@pytest.mark.parametrize(("d", "reach"), [(1, 1), (1, 2), (2, 1), (2, 3), (3, 1), (3, 2)])
def test_moves_of_vectors_have_closed_forms(moves, d, reach):
    space = Lattice(d, moves, reach, 0, 9)
    near = {z for z in product(range(-reach - 1, reach + 2), repeat=d) if one_neighbour_apart(space, (0,) * d, z)}
    assert near == moves_of(space)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize(("cells", "rows", "each"), [(1, 4, 1), (2, 4, 1), (3, 4, 1), (3, 4, 2), (2, 5, 3)])
def test_edges_of_tallies_have_closed_forms(neighbours, cells, rows, each):
    tallies = Tallies(cells, rows, neighbours, each)
    space = tallies.space()
    near = {pair for pair in combinations(range(tallies.points), 2)
            if one_neighbour_apart(tallies, *(space.points[i] for i in pair))}  # fmt: skip
    assert near == {tuple(sorted(edge)) for edge in space.edge_indices.tolist()}


@pytest.mark.parametrize(("last", "reach"), [(6, 1), (6, 2), (6, 4), (5, 9)])
def test_edges_of_lines_have_closed_forms(last, reach):
    line = Line(-2, last - 2, reach)
    near = {(a, b) for a, b in combinations(range(last + 1), 2) if one_neighbour_apart(line, a, b)}
    assert near == {tuple(sorted(edge)) for edge in line.space().edge_indices.tolist()}


@pytest.mark.parametrize("moves", ["one-way", "cube", "exchange", "sum-zero", "any"])
def test_cutting_vectors_keeps_moves(moves):
    """Neighbours beyond the ends are still neighbours when they are cut to the space."""
    space = Lattice(2, moves, 1, 0, 2)
    for one in product(range(-2, 5), repeat=2):
        for z in moves_of(space):
            other = tuple(a + b for a, b in zip(one, z, strict=True))
            assert one_neighbour_apart(space, space.clamp(one), space.clamp(other))
