"""Flows between errors: below linear programs over all mechanisms on a small box, and refused where they are none."""

import math
from itertools import product

import numpy as np
import pytest
from oracles.lattices import moves_of
from scipy.optimize import linprog
from scipy.sparse import csr_array

import utmost as um
from utmost.checking.window import window_bound
from utmost.design.noise.vectors import best_vector
from utmost.errors import InvalidInput
from utmost.space.integers import Lattice

LARGE = 20_000


def best_by_lp(space, level):
    """The least average absolute loss of all mechanisms on a box, by the raw inequalities."""
    side = space.upper + 1
    points = list(product(range(side), repeat=space.dimension))
    index, n = {x: i for i, x in enumerate(points)}, len(points)
    growth, rows, columns, values, count = math.exp(level.log_growth), [], [], [], 0
    for x in points:
        for step in moves_of(space):
            there = tuple(a + b for a, b in zip(x, step, strict=True))
            if there != x and there in index:
                for o in range(n):
                    rows += [count, count]
                    columns += [index[x] * n + o, index[there] * n + o]
                    values += [1.0, -growth]
                    count += 1
    listed = np.array(points)
    costs = np.abs(listed[:, None] - listed[None]).mean(axis=2).ravel() / n
    total = csr_array((np.ones(n * n), (np.repeat(np.arange(n), n), np.arange(n * n))))
    private = csr_array((values, (rows, columns)), shape=(count, n * n))
    return linprog(costs, private, np.zeros(count), total, np.ones(n)).fun


@pytest.mark.parametrize("moves", ["one-way", "cube", "exchange"])
def test_bound_is_below_the_best_mechanism_on_a_small_box(moves):
    level = um.PureDP(3)
    evidence = best_vector(Lattice(2, moves, 1, 0, LARGE), level).certificate.evidence
    small = Lattice(2, moves, 1, 0, 4)
    bound = window_bound(small, level, "absolute", evidence)
    assert 0.02 < bound <= best_by_lp(small, level) + 1e-9


@pytest.mark.parametrize(
    ("d", "moves", "epsilon", "gap"),
    [
        (2, "one-way", "0.5", 0.01),
        (2, "one-way", "1", 0.001),
        (3, "one-way", "1", 0.01),
        (3, "one-way", "3", 0.001),
        (2, "cube", "0.5", 0.01),
        (3, "cube", "2", 0.01),
        (3, "exchange", "1", 0.01),
        (4, "sum-zero", "1", 0.01),
    ],
)
def test_gaps_of_vectors(d, moves, epsilon, gap):
    found = best_vector(Lattice(d, moves, 1, 0, LARGE), um.PureDP(epsilon))
    assert found.certificate.gap <= gap * found.value
    assert found.verify()


def test_what_is_no_flow_is_refused_or_proves_less():
    space, level = Lattice(2, "one-way", 1, 0, LARGE), um.PureDP(2)
    evidence = dict(best_vector(space, level).certificate.evidence)
    true = window_bound(space, level, "absolute", evidence)
    for name, wrong in (
        ("flow", -evidence["flow"]),
        ("flow", evidence["flow"] * 1e300),
        ("heads", evidence["heads"] + 1),
        ("heads", evidence["heads"] * np.iinfo(np.int64).min),
        ("tails", evidence["tails"][:-1]),
    ):
        with pytest.raises(InvalidInput):
            window_bound(space, level, "absolute", {**evidence, name: wrong})
    rng = np.random.default_rng(3)
    for _ in range(50):
        other = {**evidence, "flow": evidence["flow"] * rng.uniform(0, 2, len(evidence["flow"]))}
        assert window_bound(space, level, "absolute", other) <= true + 1e-6
    with pytest.raises(InvalidInput):
        window_bound(Lattice(2, "one-way", 2, 0, LARGE), level, "absolute", evidence)
    with pytest.raises(InvalidInput):
        window_bound(Lattice(2, "exchange", 1, 0, LARGE), level, "absolute", evidence)
