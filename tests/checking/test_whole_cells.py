"""Cells that hold every row: the weights from layer to layer by listing, and the bound below linear programs."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

import utmost as um
from utmost.checking.whole_cells import growth, whole_cells_bound
from utmost.design.noise.vectors import best_vector
from utmost.space.integers import Lattice

LARGE = 20_000


def layer(d, n):
    """All errors that n moves lead to, and no fewer."""
    return [(*z, -sum(z)) for z in product(range(-n, n + 1), repeat=d - 1) if sum(map(abs, z)) + abs(sum(z)) == 2 * n]


@pytest.mark.parametrize(("d", "n"), [(3, 1), (3, 2), (3, 5), (4, 1), (4, 3), (5, 2), (5, 3), (6, 2)])
def test_every_error_gets_the_same_and_gives_within_the_stated_limits(d, n):
    """The weights of the module's text, move by move: none is below 0, and what they add up to."""
    top, flat = min(d, 2 * n), (n + d - 1) / (2 * n + d - 1)
    pairs = top**2 // 4 - 1
    alike = ((n + d - 1) * (top - 2) - pairs) / ((2 * n + d - 1) * (top - 2) - 2 * pairs) if top > 2 else flat
    t, gets, gives = alike / n, dict.fromkeys(layer(d, n + 1), 0.0), []
    for z in layer(d, n):
        given, up, down = 0.0, sum(x > 0 for x in z), sum(x < 0 for x in z)
        for i, j in product(range(d), repeat=2):
            if i == j or z[i] < 0 or z[j] > 0:
                continue
            there = tuple(x + (k == i) - (k == j) for k, x in enumerate(z))
            risen, fallen = sum(x > 0 for x in there), sum(x < 0 for x in there)
            rise, fall = z[i], -z[j]
            parts = (1 + t * (up + down), 1 - t * (n + 1 - fallen), 1 - t * (n + 1 - risen), 1.0)
            assert min(parts) >= -1e-12
            weight = parts[0] * rise * fall + parts[1] * rise + parts[2] * fall + parts[3]
            gets[there] += weight
            given += weight
        gives.append(given)
    assert list(gets.values()) == pytest.approx([(n + 1) ** 2] * len(gets))
    least, most = (each[n] * (n + 1) ** 2 for each in growth(d, n + 2))
    assert min(gives) == pytest.approx(least)
    assert max(gives) <= most + 1e-9


def best_by_lp(d, rows, epsilon):
    """The least average error of all private mechanisms on the cuts of some rows into cells, by raw inequalities."""
    points = [(*x, rows - sum(x)) for x in product(range(rows + 1), repeat=d - 1) if sum(x) <= rows]
    n, listed = len(points), np.array(points)
    near = np.abs(listed[:, None] - listed[None]).sum(axis=2) == 2
    one, other = np.nonzero(near)
    at, o = np.repeat(np.arange(len(one)), n), np.tile(np.arange(n), len(one))
    count = len(at)
    private = csr_array(
        (
            np.concatenate([np.ones(count), np.full(count, -math.exp(epsilon))]),
            (np.tile(np.arange(count), 2), np.concatenate([one[at] * n + o, other[at] * n + o])),
        ),
        shape=(count, n * n),
    )
    total = csr_array((np.ones(n * n), (np.repeat(np.arange(n), n), np.arange(n * n))))
    costs = np.abs(listed[:, None] - listed[None]).mean(axis=2).ravel() / n
    return linprog(costs, private, np.zeros(count), total, np.ones(n)).fun


@pytest.mark.parametrize(("d", "rows", "epsilon"), [(3, 8, 3), pytest.param(3, 10, 2, marks=pytest.mark.long)])
def test_bound_is_below_the_best_mechanism_on_few_rows(d, rows, epsilon):
    bound = whole_cells_bound(Lattice(d, "sum-zero", 1, 0, rows), um.PureDP(epsilon), "absolute")
    assert 0 < bound <= best_by_lp(d, rows, epsilon) + 1e-9


@pytest.mark.parametrize(("d", "gap"), [(3, 0.004), (4, 0.008), (5, 0.011), (10, 0.05)])
def test_gaps_of_cells_that_hold_every_row(d, gap):
    for epsilon in ("0.1", "0.2", "0.5", "1", "2", "3"):
        found = best_vector(Lattice(d, "sum-zero", 1, 0, LARGE), um.PureDP(epsilon))
        assert found.verify()
        assert found.certificate.gap <= (gap if epsilon == "0.1" else min(gap, 0.026)) * found.value
        assert "add up to the number of rows" in found.certificate.reason
    many = best_vector(Lattice(d, "sum-zero", 1, 0, 10**9), um.PureDP(1))
    assert many.certificate.gap <= 0.01 * many.value  # what is left is the ends of the range, and the weights


def test_people_with_several_rows_scale_the_bound():
    level, space = um.PureDP(1), Lattice(5, "sum-zero", 4, 0, 4 * LARGE)
    one = whole_cells_bound(Lattice(5, "sum-zero", 1, 0, LARGE), level, "absolute")
    assert whole_cells_bound(space, level, "absolute") == pytest.approx(4 * one)
    assert best_vector(space, level).value > 4 * one


def test_elsewhere_nothing_is_claimed():
    space = Lattice(4, "sum-zero", 1, 0, LARGE)
    for level in (um.ApproxDP(1, 1e-6), um.PureDP(60), um.PureDP(0), um.GaussianDP(1), um.ZCDP(0.5), um.PureDP("1e-9")):
        assert whole_cells_bound(space, level, "absolute") == 0
    assert whole_cells_bound(space, um.PureDP(1), "squared") == 0
    for other in (Lattice(4, "exchange", 1, 0, 9), Lattice(2, "sum-zero", 1, 0, 9), Lattice(4, "sum-zero", 0, 0, 9)):
        assert whole_cells_bound(other, um.PureDP(1), "absolute") == 0
    assert whole_cells_bound(Lattice(40, "sum-zero", 1, 0, 3), um.PureDP("0.1"), "absolute") == 0
