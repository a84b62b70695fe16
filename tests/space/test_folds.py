"""Folded tallies: all declared ones are among them, and neighbours stay neighbours, whatever a table holds."""

from itertools import product

import numpy as np
import pytest

from utmost.space.folds import can_fold, fold, folded, folded_places, folded_space
from utmost.space.integers import Tallies


@pytest.mark.parametrize(("cells", "rows"), [(2, 5), (3, 0), (3, 1), (3, 4), (3, 5), (4, 3), (4, 4), (5, 2)])
def test_neighbours_stay_neighbours_far_beyond_what_is_declared(cells, rows):
    tallies = Tallies(cells, rows, "add-remove")
    every = np.array(list(product(range(2 * rows + 3), repeat=cells)))
    found = fold(every, rows)
    assert (found >= 0).all()
    assert all(sum(sorted(tally)[-2:]) <= rows for tally in found.tolist())
    fits = np.sort(every, axis=1)[:, -2:].sum(axis=1) <= rows
    assert (found[fits] == every[fits]).all()
    for cell in range(cells):
        assert (np.abs(fold(every + np.eye(cells, dtype=int)[cell], rows) - found).sum(axis=1) <= 1).all()
    listed = folded(tallies)
    assert sorted(map(tuple, every[fits].tolist())) == list(map(tuple, listed.tolist()))
    assert (folded_places(tallies, listed) == np.arange(len(listed))).all()
    assert can_fold(tallies, len(listed))
    assert not can_fold(tallies, len(listed) - 1)


@pytest.mark.parametrize(("cells", "rows"), [(2, 4), (3, 5), (4, 3)])
def test_the_space_has_an_edge_for_every_row_more(cells, rows):
    space = folded_space(Tallies(cells, rows, "add-remove"))
    points = set(space.points)
    more = {
        (p, q) for p in points for i in range(cells) if (q := tuple(v + (j == i) for j, v in enumerate(p))) in points
    }
    assert {tuple(sorted(edge)) for edge in space.edges} == {tuple(sorted(edge)) for edge in more}


def test_only_single_rows_that_come_or_go_are_folded():
    assert not can_fold(Tallies(3, 5, "replace"), 10**6)
    assert not can_fold(Tallies(3, 5, "add-remove", 2), 10**6)
    apart = fold(np.array([[5, 0, 0], [5, 1, 1]]), 5)  # two rows come, and two go
    assert np.abs(apart[0] - apart[1]).sum() <= 2
