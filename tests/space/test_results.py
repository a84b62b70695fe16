"""Results of queries: their graph against Definition 3 of REG by enumeration, and the promises between them."""

import statistics

import numpy as np
import pytest
from oracles.graphs import random_parameters, random_question
from oracles.pace import within

import utmost as um


def by_definition(space, function):
    """REG Definition 3, word for word: the results that occur, and the pairs that two neighbours have."""
    edges = {frozenset((function(a), function(b))) for a, b in space.edges}
    return {function(p) for p in space.points}, {pair for pair in edges if len(pair) == 2}


@pytest.mark.parametrize("seed", range(20))
def test_the_graph_of_results_is_that_of_definition_3(seed):
    """On random graphs with random results, and on databases with max, median, mode and a random function."""
    rng = np.random.default_rng(seed)
    n, edges, _, _ = random_question(rng)
    graph = um.Space.from_edges(edges, points=range(n))
    table = rng.choice(["a", "b", "c", "d"], n).tolist()
    people = um.hamming(int(rng.integers(1, 5)), int(rng.integers(1, 4)))
    random = dict(zip(people.points, rng.integers(0, 5, len(people)).tolist(), strict=True))
    functions = [max, sum, statistics.median, lambda d: tuple(sorted(statistics.multimode(d))), random.get]
    for space, function in [(graph, table.__getitem__), *((people, f) for f in functions)]:
        results, onto = um.query(space, function)
        points, pairs = by_definition(space, function)
        assert list(results.points) == sorted(points)
        assert len(results.edges) == len(pairs)
        assert {frozenset(edge) for edge in results.edges} == pairs
        assert all(onto(p) == function(p) for p in space.points)


@pytest.mark.parametrize("seed", range(20))
def test_promises_between_results_are_kept_between_datasets(seed):
    """`onto.privacy` allows no more than the level of any edge above, and no less than the least epsilon and delta."""
    rng = np.random.default_rng(seed)
    n, edges, _, _ = random_question(rng)
    space = um.Space.from_edges(edges, points=range(n))
    epsilon, delta = random_parameters(rng, len(edges))
    table = rng.integers(0, 4, n).tolist()
    results, onto = um.query(space, table, um.per_edge(space, epsilon=epsilon, delta=delta))
    assert len(onto.privacy) == len(results.edges)
    for (x, y), level in zip(results.edges, (onto.privacy[e] for e in range(len(results.edges))), strict=True):
        above = [e for e, (a, b) in enumerate(edges) if {table[a], table[b]} == {x, y}]
        assert level.log_growth == pytest.approx(min(epsilon[above]), rel=1e-15)
        assert float(level.delta) == min(delta[above])


def test_the_strongest_promise_is_decided_exactly():
    """e^epsilon = 2 and the float next to log 2 differ in the 17th digit; Gaussian levels are ordered by mu."""
    square = um.cycle(4)
    below, above = um.PureDP("0.6931471805599453"), um.PureDP("0.6931471805599454")
    for other, strongest in ((below, below), (above, um.PureDP.from_ratio(2))):
        levels = um.per_edge(square, {(0, 1): um.PureDP.from_ratio(2), (2, 3): other}, default=5)
        _, onto = um.query(square, [0, 1, 1, 0], levels)
        assert onto.privacy.single == strongest
    levels = um.per_edge(square, {(0, 1): um.GaussianDP(2), (2, 3): um.GaussianDP(1)}, default=um.GaussianDP(3))
    assert um.query(square, [0, 1, 1, 0], levels)[1].privacy.single == um.GaussianDP(1)
    levels = um.per_edge(square, {(0, 1): um.ApproxDP(1, 0.1), (2, 3): um.ApproxDP(2, 0.01)}, default=3)
    assert um.query(square, [0, 1, 1, 0], levels)[1].privacy.single == um.ApproxDP(1, 0.01)
    assert um.query(square, [0, 1, 1, 0], 0.5)[1].privacy.single == um.PureDP(0.5)
    levels = um.per_edge(square, {(0, 1): um.GaussianDP(2), (2, 3): 1}, default=3)
    with pytest.raises(um.errors.UnsupportedLevel, match="different kinds"):
        um.query(square, [0, 1, 1, 0], levels)


def test_families_are_recognised_and_truth_values_stay():
    """A count is a path, a ring a ring; yes/no results are no numbers."""
    people = um.hamming(4, 3)
    assert um.query(um.hamming(4, 2), sum)[0].family == um.path(5).family
    assert um.query(people, sum)[0].family == um.sums(4, 2).family
    assert um.query(people, lambda d: d[0])[0].family == um.complete(3).family
    assert um.query(um.cycle(12), lambda i: i // 2)[0].family == um.cycle(6).family
    results, _ = um.query(people, lambda d: sum(d) > 4)
    assert results.points == [False, True]
    assert results.family is None
    assert all(type(p) is bool for p in results.points)
    assert um.query(people, lambda d: "same")[0].edge_count == 0
    assert um.query(um.path(0), lambda d: d)[0].edge_count == 0
    assert um.query(um.path(5), [3, 1, "a", 2, (2,)])[0].points == [3, 1, "a", 2, (2,)]


@pytest.mark.parametrize(
    ("function", "words"),
    [(lambda d: [d], "no point can be"), (lambda d: float("nan"), "equal itself"), ([1, 2], "2 values for 3 points")],
)
def test_results_that_name_no_point_are_refused(function, words):
    """Lists, NaN and too few results, each with what to do."""
    with pytest.raises(um.errors.InvalidInput, match=words):
        um.query(um.path(3), function)


def test_a_hundred_thousand_databases():
    """2^17 databases and 5 people of ten values: the graph in seconds, against what is known in closed form."""
    with within(30):
        database = um.hamming(17, 2)
        results, onto = um.query(database, sum, um.personalized(database, [0.5] + [1] * 16))
        assert results.family == um.path(18).family
        assert onto.privacy.single == um.PureDP(0.5)  # the first person can make any of the steps
        ten = um.hamming(5, 10)
        medians, _ = um.query(ten, lambda d: sorted(d)[2])
        assert medians == um.complete(10)  # two low, two high values: the fifth decides
        spread, onto = um.query(ten, lambda d: max(d) - min(d))
        assert len(spread) == 10
        assert onto((3, 9, 4, 4, 5)) == 6
