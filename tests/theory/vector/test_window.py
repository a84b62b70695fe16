"""Flows between errors: below linear programs over all mechanisms on a small box, and refused where they are none."""

import math
from itertools import product

import numpy as np
import pytest
from oracles.lattices import moves_of
from scipy.optimize import linprog
from scipy.sparse import block_array, csr_array, eye_array

import utmost as um
from utmost.errors import InvalidInput
from utmost.space.integers import Lattice
from utmost.theory.vector.design.vectors import best_vector
from utmost.theory.vector.verify.window import make_window, window_bound

LARGE = 20_000


def best_by_lp(space, level):
    """The least average absolute loss of all mechanisms on a box, by the raw inequalities; at delta, of all sets."""
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
    if level.delta:  # what one probability exceeds by is a variable, of every output, and adds up to delta
        pairs = count // n
        over = csr_array((np.ones(count), (np.repeat(np.arange(pairs), n), np.arange(count))))
        private = block_array([[private, -eye_array(count)], [None, over]]).tocsr()
        limits = np.concatenate([np.zeros(count), np.full(pairs, float(level.delta))])
        total = csr_array((total.data, total.indices, total.indptr), shape=(n, n * n + count))
        return linprog(np.concatenate([costs, np.zeros(count)]), private, limits, total, np.ones(n)).fun
    return linprog(costs, private, np.zeros(count), total, np.ones(n)).fun


@pytest.mark.parametrize("moves", ["one-way", "cube", "exchange"])
def test_bound_is_below_the_best_mechanism_on_a_small_box(moves):
    level = um.PureDP(3)
    evidence = best_vector(Lattice(2, moves, 1, 0, LARGE), level).certificate.evidence
    small = Lattice(2, moves, 1, 0, 4)
    bound = window_bound(small, level, "absolute", evidence)
    assert 0.015 < bound <= best_by_lp(small, level) + 1e-9


@pytest.mark.parametrize("moves", ["one-way", "cube", "exchange"])
def test_a_delta_lowers_the_bound_below_the_best_mechanism(moves):
    level = um.ApproxDP(3, "0.001")
    evidence = best_vector(Lattice(2, moves, 1, 0, LARGE), level).certificate.evidence
    small = Lattice(2, moves, 1, 0, 3)
    assert best_by_lp(small, level) < best_by_lp(small, um.PureDP(3))
    assert window_bound(small, level, "absolute", evidence) <= best_by_lp(small, level) + 1e-9
    large = [window_bound(Lattice(2, moves, 1, 0, LARGE), each, "absolute", evidence) for each in (level, um.PureDP(3))]
    assert 0.8 * large[1] < large[0] < large[1]


@pytest.mark.parametrize(
    ("d", "moves", "epsilon", "gap"),
    [
        (2, "one-way", "0.1", 0.01),
        (2, "one-way", "0.2", 0.01),
        (2, "one-way", "1", 0.001),
        (3, "one-way", "0.2", 0.01),
        (3, "one-way", "0.5", 0.01),
        (3, "one-way", "1", 0.01),
        (4, "one-way", "1", 0.01),
        (3, "one-way", "3", 0.001),
        (2, "cube", "0.5", 0.01),
        (3, "cube", "2", 0.01),
        (2, "exchange", "0.1", 0.01),
        (2, "exchange", "0.3", 0.01),
        (3, "exchange", "1", 0.01),
        (3, "exchange", "0.5", 0.01),
        (4, "exchange", "1", 0.01),
    ],
)
def test_gaps_of_vectors(d, moves, epsilon, gap):
    found = best_vector(Lattice(d, moves, 1, 0, LARGE), um.PureDP(epsilon), alone=True)
    assert found.certificate.gap <= gap * found.value
    assert found.verify()


@pytest.mark.long
@pytest.mark.parametrize("epsilon", ["0.1", "0.2", "0.3", "0.7", "1.5", "3"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_up_to_three_conditions_or_cells_are_within_a_hundredth_of_the_best(d, epsilon):
    for moves in ("one-way", "cube", "exchange", "sum-zero", "any"):
        found = best_vector(Lattice(d, moves, 1, 0, LARGE), um.PureDP(epsilon), alone=True)
        assert found.verify()
        assert found.certificate.gap <= 0.01 * found.value


def test_people_with_several_rows_and_many_integers_have_bounds():
    alone = best_vector(Lattice(1, "any", 1, 0, LARGE), um.PureDP(1)).value
    several = best_vector(Lattice(3, "one-way", 4, 0, LARGE), um.PureDP(1))
    assert several.verify()
    assert 4 * 1.5 < several.certificate.bound < several.value
    many = best_vector(Lattice(12, "one-way", 1, 0, LARGE), um.PureDP(1))
    assert many.verify()
    assert 2 * alone < many.certificate.bound < many.value


def test_forged_windows_are_refused_or_prove_less():
    space, level = Lattice(2, "one-way", 1, 0, LARGE), um.PureDP(2)
    found = best_vector(space, level)
    evidence = dict(found.certificate.evidence)
    for name, wrong in (
        ("radius", -1), ("radius", 10**5), ("radius", 2.0), ("slack", True), ("steps", 0), ("steps", 100),
        ("least", math.nan), ("least", 0.0), ("least", 1), ("room", math.inf), ("room", None),
    ):  # fmt: skip
        with pytest.raises(InvalidInput):
            window_bound(space, level, "absolute", {**evidence, name: wrong})
    for name, others in {
        "least": [share * found.value for share in (0.5, 0.9, 1.0, 1.001, 1.5, 100.0)],
        "room": [1e-6, 0.1, 100.0],
        "radius": [1, 2, 9],
        "slack": [1, 2, 100],
        "steps": [2, 3],
    }.items():
        for other in others:
            assert window_bound(space, level, "absolute", {**evidence, name: other}) <= found.value
    with pytest.raises(InvalidInput):
        window_bound(space, level, "squared", {**evidence, "steps": 2})


@pytest.mark.parametrize("moves", ["one-way", "cube", "exchange", "sum-zero"])
def test_a_window_has_every_error_once_and_all_moves_between_ranks(moves):
    """Against a plain list of all errors: how many there are of each kind, and which moves raise the rank."""
    shape, d, radius, slack = ("exchange" if moves == "sum-zero" else moves), 3, 3, 0 if moves == "cube" else 1
    window = make_window(shape, d, radius, slack, "absolute", moves == "sum-zero")
    every = [z for z in product(range(-9, 10), repeat=d) if rank(shape, z, slack) <= radius]
    assert window.sizes.sum() == len(every)
    more = moves == "sum-zero"
    costs = [(sum(map(abs, z)) + (abs(sum(z)) if more else 0)) / (d + more) for z in every]
    assert float((window.sizes * window.costs).sum()) == pytest.approx(sum(costs))
    classes = {}
    for z in every:
        classes.setdefault(min(tuple(sorted(z)), tuple(sorted(-x for x in z))), z)
    names = list(classes)
    between = set()
    for z in every:
        for step in moves_of(Lattice(d, shape, 1, 0, 9)):
            there = tuple(a + b for a, b in zip(z, step, strict=True))
            if rank(shape, there, slack) == rank(shape, z, slack) + 1 <= radius:
                ends = [min(tuple(sorted(e)), tuple(sorted(-x for x in e))) for e in (z, there)]
                between.add(tuple(names.index(e) for e in ends))
    assert len(window.tails) == len(between)
    assert len(window.costs) == len(names)


def rank(shape, z, slack):
    up, down = [max(x, 0) for x in z], [max(-x, 0) for x in z]
    if shape == "one-way":
        return max(max(up), max(down), max(up) + max(down) - slack)
    if shape == "cube":
        return max(up + down)
    return max(sum(up), sum(down)) - min(slack, max(min(up), min(down)))
