"""What limits a point: against all simple paths from all known points, and BIN's formula for tau."""

import math
from itertools import pairwise

import numpy as np
import pytest
from oracles.graphs import random_level, random_parameters, random_question

import utmost as um


def paths_from(start, end, neighbours, known):
    """All simple paths between two points whose inner points are free."""
    stack = [(start,)]
    while stack:
        path = stack.pop()
        if path[-1] == end:
            yield path
        elif len(path) == 1 or path[-1] not in known:
            stack += [(*path, v) for v in neighbours[path[-1]] if v not in path]


def least_over_paths(edges, uppers, start_share, known, point):
    """The least bound that any known point imposes on a point, and all paths that attain it."""
    neighbours = {}
    for (a, b), upper in zip(edges, uppers, strict=True):
        neighbours.setdefault(a, {})[b] = upper
        neighbours.setdefault(b, {})[a] = upper
    bounds = {}
    for start in known:
        for path in paths_from(start, point, neighbours, known):
            share = start_share(start)
            for a, b in pairwise(path):
                share = float(neighbours[a][b](share))
            bounds[path] = share
    least = min(bounds.values(), default=None)
    return least, [path for path, bound in bounds.items() if bound <= least * (1 + 1e-9)] if bounds else []


def extensions(count, kind):
    """Random questions that have an extension, with their levels, from the first seeds on."""
    found, seed = 0, 0
    while found < count:
        rng = np.random.default_rng(seed)
        seed += 1
        n, edges, truth, known = random_question(rng)
        space = um.Space.from_edges(edges, points=range(n))
        if n > 10:
            continue
        if kind == "one level":
            levels = [um.ApproxDP(float(rng.uniform(0.1, 1.5)), float(rng.choice([0, 0.01, 0.1])))] * len(edges)
        elif kind == "epsilon and delta per edge":
            levels = [um.ApproxDP(*map(float, pair)) for pair in zip(*random_parameters(rng, len(edges)), strict=True)]
        else:
            levels = [random_level(rng) for _ in edges]
        privacy = levels[0] if kind == "one level" else um.per_edge(space, dict(zip(edges, levels, strict=True)))
        try:
            yield space, edges, truth, known, levels, um.binary.extend(space, truth, known, privacy)
        except um.errors.NoExtension:
            continue
        found += 1


@pytest.mark.parametrize("kind", ["one level", "epsilon and delta per edge", "any levels"])
def test_the_path_is_a_shortest_of_those_that_limit_the_point(kind):
    """20 random extensions: the limit is the least over all simple paths, and the path is one that attains it."""
    asked = 0
    for space, edges, truth, known, levels, solution in extensions(20, kind):
        for point in space.points:
            found = solution.binding(point)
            told = solution.mechanism.probability(point, bool(truth[point]))
            if point in known:
                assert (found.path, found.shares[0]) == ((point,), told)
                continue
            share = lambda v, point=point, known=known, truth=truth: known[v] if truth[point] else 1 - known[v]  # noqa: E731
            least, attaining = least_over_paths(edges, [level.upper for level in levels], share, known, point)
            if least is None:
                assert found is None
                assert told == 1
                continue
            assert found.path in attaining
            assert len(found.path) == min(map(len, attaining))
            assert found.shares[-1] == pytest.approx(least, rel=1e-9)
            assert found.shares[-1] == pytest.approx(told, rel=1e-9)
            assert (found.known, found.point, found.output) == (found.path[0], point, bool(truth[point]))
            asked += 1
    assert asked > 40


def test_tau_is_that_of_the_paper():
    """BIN (6) with max(0, .), at most the length of the path; growth up to there, saturation after it."""
    turned = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        alpha, delta = float(10 ** rng.uniform(-4, -0.2)), float(rng.choice([0, 0.001, 0.01]))
        level = um.ApproxDP(float(rng.uniform(0.1, 1.5)), delta)
        epsilon, growth = float(level.epsilon), level.growth
        solution = um.binary.extend(um.path(12), lambda i: i > 0, {0: alpha}, level)
        ratio = (growth - 1 + 2 * delta) / ((growth + 1) * (delta + (growth - 1) * alpha))
        tau = max(0, math.ceil(math.log(ratio) / epsilon))
        for steps in range(12):
            found = solution.binding(steps)
            if found.shares[-1] < 1:
                assert (found.path, found.tau) == (tuple(range(steps + 1)), min(steps, tau))
                turned += 0 < tau < steps
    assert turned > 40


@pytest.mark.parametrize("seed", range(20))
def test_what_one_point_imposes_is_the_least_over_all_paths(seed):
    """HET's A_{u,alpha}(v) by enumeration of the simple paths, with any levels per edge."""
    rng = np.random.default_rng(seed)
    n, edges, _, _ = random_question(rng)
    space = um.Space.from_edges(edges, points=range(n))
    levels = [random_level(rng) for _ in edges]
    alpha = float(rng.choice([0, 1, rng.random(), rng.random() * 1e-6]))
    bounds = um.binary.imposed(space, 0, alpha, um.per_edge(space, dict(zip(edges, levels, strict=True))))
    for v in range(1, n):
        least, _ = least_over_paths(edges, [level.upper for level in levels], lambda u: alpha, [0], v)
        assert bounds[v] == pytest.approx(least, rel=1e-9, abs=1e-300)


def test_far_points_keep_their_reason():
    """A majority of 4001 people: the limit far inside is carried from the boundary, though q is below all floats."""
    majority = um.binary.balanced(um.counts(4001), lambda yes: yes > 2000, 1.0)
    for yes, first in ((2001, 2001), (2010, 2001), (3000, 2001), (0, 2000)):
        found = majority.binding(yes)
        assert (found.known, len(found.path), found.tau) == (first, abs(yes - first) + 1, 0)
    flat = um.binary.extend(um.path(50), lambda i: i > 0, {0: 0}, 1.0)
    assert flat.binding(49).shares == (0.0,) * 50
    apart = um.binary.balanced(um.Space.from_edges([(0, 1), (2, 3)]), [False, True, True, True], 1.0)
    assert apart.binding(3) is None
    assert apart.binding(1).path == (1,)


def test_what_has_no_known_points_is_refused():
    """Chosen boundaries, other questions and unknown points."""
    chosen = um.binary.best_boundary(um.counts(5), lambda yes: yes > 2, 1.0)
    with pytest.raises(um.errors.InvalidInput, match=r"binary.extend"):
        chosen.binding(0)
    with pytest.raises(um.errors.InvalidInput, match=r"finite.tight"):
        um.finite.tight_constraints(um.path(3), 1.0).binding(0)
    with pytest.raises(um.errors.UnknownPoint):
        um.binary.balanced(um.counts(5), lambda yes: yes > 2, 1.0).binding(9)
