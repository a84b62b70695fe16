"""Several hypotheses, and records of several people: against programs over raw inequalities and random mechanisms."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

import utmost as um
from utmost.errors import InvalidInput, TooLarge, UnsupportedLevel

RNG = np.random.default_rng(27)


def kl(a, b):
    return float(np.sum(a * np.log(a / b)))


@pytest.mark.parametrize("criterion", ["worst", "average"])
def test_several_hypotheses_beat_random_mechanisms_and_state_what_they_reach(criterion):
    """20 random instances each: the value is recomputed from the matrix, and random staircases are not better."""
    for _ in range(20):
        m, k, epsilon = int(RNG.integers(2, 4)), int(RNG.integers(2, 4)), round(float(RNG.uniform(0.3, 2)), 2)
        laws = RNG.dirichlet(np.ones(k) * 2, m)
        best = um.local.for_hypotheses(laws, epsilon, criterion=criterion)
        assert best.verify()
        reduced = min if criterion == "worst" else np.mean

        def reached(matrix, laws=laws, reduced=reduced):
            return reduced([kl(a @ matrix, b @ matrix) for a, b in itertools.permutations(laws, 2)])

        assert reached(best.mechanism.matrix) == pytest.approx(best.value, rel=1e-6)
        patterns = um.local.staircase_patterns(k, epsilon)
        for _ in range(3):
            mixed = linprog(RNG.uniform(size=2**k), A_eq=patterns, b_eq=np.ones(k), bounds=(0, None)).x
            used = mixed > 1e-12
            assert reached(patterns[:, used] * mixed[used]) <= best.certificate.bound + 1e-9
    with pytest.raises(InvalidInput):
        um.local.for_hypotheses([[0.5, 0.5]], 1.0)


def columns_by_vertices(space, epsilon):
    """Extreme columns by brute force: all heights up to the diameter that change by at most one, tight edges joined."""
    n, edges = len(space.points), space.edge_indices.tolist()
    found = set()
    for heights in itertools.product(range(n), repeat=n):
        if min(heights) or any(abs(heights[a] - heights[b]) > 1 for a, b in edges):
            continue
        joined = {0}
        for _ in range(n):
            joined |= {q for a, b in edges if heights[a] != heights[b] for p, q in ((a, b), (b, a)) if p in joined}
        if len(joined) == n:
            found.add(heights)
    return np.exp(epsilon * (np.array(sorted(found)) - np.array([max(h) for h in sorted(found)])[:, None]))


def test_records_reach_the_optimum_over_extreme_columns_found_otherwise():
    """20 random joint laws on cycles, squares and paths; the total variation also by a raw program over two outputs."""
    for _ in range(20):
        space = [um.hamming(2, 2), um.path(4), um.cycle(5), um.complete(3)][int(RNG.integers(4))]
        n, epsilon = len(space.points), round(float(RNG.uniform(0.2, 2)), 2)
        p0, p1 = RNG.dirichlet(np.ones(n) * 2, 2)
        best = um.local.for_records(space, p0, p1, epsilon)
        assert best.verify()
        columns = columns_by_vertices(space, epsilon)
        worth = np.array([(c @ p0) * math.log((c @ p0) / (c @ p1)) for c in columns])
        optimum = -linprog(-worth, A_eq=columns.T, b_eq=np.ones(n), bounds=(0, None)).fun
        assert best.value == pytest.approx(optimum, abs=1e-9)
        assert best.certificate.gap < 1e-8
        told = um.local.for_records(space, p0, p1, epsilon, "tv").value
        assert told == pytest.approx(two_outputs(space, p0 - p1, epsilon), abs=1e-9)


def two_outputs(space, difference, epsilon):
    """The largest |Pr[yes | P0] - Pr[yes | P1]| of a private yes or no: total variation needs no more outputs."""
    rows, limits = [], []
    for a, b in [*space.edge_indices.tolist(), *space.edge_indices[:, ::-1].tolist()]:
        for sign, limit in ((1, 0.0), (-1, np.exp(epsilon) - 1)):
            row = np.zeros(len(space.points))
            row[a], row[b] = sign, -sign * np.exp(epsilon)
            rows.append(row)
            limits.append(limit)
    return -linprog(-difference, np.array(rows), limits, bounds=(0, 1)).fun


def test_letters_that_are_all_neighbours_are_the_usual_testing():
    p0, p1 = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    for divergence in ("kl", "chi2", "hellinger"):
        usual = um.local.for_testing(p0, p1, 1.0, divergence).value
        assert um.local.for_records(um.complete(3), p0, p1, 1.0, divergence).value == pytest.approx(usual, rel=1e-9)


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(InvalidInput, match="records"):
        um.local.for_records(um.hamming(2, 2), [0.5, 0.5], [0.4, 0.6], 1.0)
    with pytest.raises(UnsupportedLevel):
        um.local.for_records(um.path(2), [0.5, 0.5], [0.4, 0.6], 0.0)


def test_four_people_are_refused_in_time():
    """Their extreme columns are too many to list; the search says how far it came, and tells of its progress."""
    lines = []
    laws = np.random.default_rng(0).dirichlet(np.ones(16), 2)
    with pytest.raises(TooLarge, match=r"extreme columns"):
        um.local.for_records(um.hamming(4, 2), *laws, 1.0, seconds=0.5, say=lines.append)
    assert lines
    assert "extreme columns found" in lines[-1]
