"""The families against their definitions: all pairs of points, neighbouring databases, shortest paths."""

import json
from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest

import utmost as um
from utmost.errors import InvalidInput, UnknownPoint
from utmost.space import Space
from utmost.space.edge_levels import on_edges
from utmost.space.families import (
    complete,
    counts,
    cycle,
    differences,
    grid,
    hamming,
    histograms,
    path,
    space_from_json,
    sums,
)


def apart(a, b):
    return [abs(x - y) for x, y in zip(a, b, strict=True)]


def within(reach):
    return lambda a, b: abs(a - b) <= reach


def spreads(people, bins, fewer):
    return [h for h in product(range(people + 1), repeat=bins) if sum(h) == people or (fewer and sum(h) < people)]


SHAPES = [(), (0,), (1,), (4,), (1, 3), (3, 4), (2, 0, 2), (2, 3, 2)]
PEOPLE_AND_BINS = [(0, 0), (2, 0), (0, 2), (1, 1), (1, 3), (4, 2), (3, 3), (2, 4)]
CASES = [
    *((path(n), range(n), within(1)) for n in (0, 1, 2, 6)),
    *((counts(n), range(n + 1), within(1)) for n in (0, 1, 5)),
    *((cycle(n), range(n), lambda a, b, n=n: (a - b) % n == 1 or (b - a) % n == 1) for n in (0, 1, 2, 3, 4, 7)),
    *((complete(n), range(n), lambda a, b: True) for n in (0, 1, 2, 6)),
    *((sums(p, k), range(p * k + 1), within(k)) for p, k in [(0, 3), (3, 0), (1, 1), (1, 4), (4, 1), (4, 3), (3, 5)]),
    *((differences(n, "replace"), range(-n, n + 1), within(2)) for n in (0, 1, 4)),
    *((differences(n, "add-remove"), range(-n, n + 1), within(1)) for n in (0, 1, 4)),
    *((grid(s), list(product(*map(range, s))), lambda a, b: max(apart(a, b)) == 1) for s in SHAPES),
    *((grid(s, "manhattan"), list(product(*map(range, s))), lambda a, b: sum(apart(a, b)) == 1) for s in SHAPES),
    *(
        (hamming(p, v), list(product(range(v) if isinstance(v, int) else v, repeat=p)), differ)
        for differ in [lambda a, b: sum(x != y for x, y in zip(a, b, strict=True)) == 1]
        for p, v in [(0, 2), (0, 0), (3, 1), (1, 4), (4, 2), (3, 3), (3, "ab"), (2, ("no", "yes", "unknown"))]
    ),
    *((histograms(p, b), spreads(p, b, False), lambda x, y: sum(apart(x, y)) == 2) for p, b in PEOPLE_AND_BINS),
    *(
        (histograms(p, b, "add-remove"), spreads(p, b, True), lambda x, y: sum(apart(x, y)) == 1)
        for p, b in PEOPLE_AND_BINS
    ),
]
each_case = pytest.mark.parametrize(
    ("space", "points", "adjacent"), CASES, ids=lambda v: repr(v) if isinstance(v, Space) else ""
)


@each_case
def test_points_and_edges_follow_the_definition(space, points, adjacent):
    """The points are those defined, in order, and the edges are all pairs of neighbours, once each."""
    assert list(space.points) == list(points)
    expected = {frozenset(pair) for pair in combinations(points, 2) if adjacent(*pair)}
    assert len(space.edges) == len(expected)
    assert {frozenset(edge) for edge in space.edges} == expected


@each_case
def test_distances_are_shortest_paths(space, points, adjacent):
    """Closed-form distances, alone, as a matrix and to sets of points, agree with a search of the graph."""
    graph = nx.Graph(pair for pair in combinations(points, 2) if adjacent(*pair))
    graph.add_nodes_from(points)
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    n = len(points)
    expected = np.array([[lengths[a][b] for b in points] for a in points], dtype=float).reshape(n, n)
    assert np.array_equal(space.distances(), expected)
    assert all(space.distance(a, b) == lengths[a][b] for a in points for b in points)
    assert np.array_equal(Space.from_edges(list(space.edges), points=points).distances(), expected)
    assert np.isinf(space.distances_from([])).all()
    for i, point in enumerate(points):
        assert np.array_equal(space.distances_from(point), expected[i])
    for size in range(1, min(n, 7) + 1):
        assert np.array_equal(space.distances_from(list(points)[-size:]), expected[-size:].min(axis=0))


@each_case
def test_index_finds_points_and_nothing_else(space, points, adjacent):
    """Every point is found at its position; anything else is refused by name."""
    assert [space.index(p) for p in points] == list(range(len(points)))
    for other in (-100, 10**9, "x", None, 0.5, [0], (0,) * 9, (-1, 0), (7, 7), ("a", "z", "a"), (0, "a")):
        with pytest.raises(UnknownPoint):
            space.index(other)


DATABASES = [
    (lambda: counts(4), sum, 4, (0, 1), False),
    (lambda: sums(3, 2), sum, 3, (0, 1, 2), False),
    (lambda: differences(3, "replace"), sum, 3, (None, -1, 1), False),
    (lambda: differences(3, "add-remove"), sum, 3, (None, -1, 1), True),
    (lambda: histograms(3, 3), lambda d: tuple(map(d.count, (0, 1, 2))), 3, (0, 1, 2), False),
    (lambda: histograms(3, 2, "add-remove"), lambda d: tuple(map(d.count, (0, 1))), 3, (None, 0, 1), True),
    (
        lambda: grid((4, 4)),
        lambda d: (sum(a for a, _ in d), sum(b for _, b in d)),
        3,
        [*product((0, 1), (0, 1))],
        False,
    ),
]


@pytest.mark.parametrize(("make", "query", "people", "values", "come_or_go"), DATABASES)
def test_neighbours_are_results_of_neighbouring_databases(make, query, people, values, come_or_go):
    """Two results are neighbours exactly if databases that differ in one person give them; None is an absent person."""
    joined = set()
    for database in product(values, repeat=people):
        for person, value in product(range(people), values):
            other = (*database[:person], value, *database[person + 1 :])
            if not come_or_go or None in (database[person], value):
                joined.add(frozenset(query([x for x in d if x is not None]) for d in (database, other)))
    assert {frozenset(edge) for edge in make().edges} == {pair for pair in joined if len(pair) == 2}


@pytest.mark.parametrize(
    ("space", "a", "b", "apart"),
    [
        (path(10**6), 3, 999_999, 999_996),
        (cycle(10**6), 1, 999_999, 2),
        (complete(10**6), 0, 999_999, 1),
        (sums(200_000, 5), 1, 1_000_000, 200_000),
        (differences(500_000, "replace"), -500_000, 500_000, 500_000),
        (grid((1000, 1000)), (999, 0), (0, 500), 999),
        (grid((100, 100, 100), "manhattan"), (99, 0, 1), (0, 50, 1), 149),
        (hamming(20, 2), (0, 1) * 10, (1, 1) * 10, 10),
        (histograms(200, 3), (200, 0, 0), (10, 150, 40), 190),
        (histograms(1400, 2, "add-remove"), (1400, 0), (0, 1000), 2400),
    ],
    ids=lambda v: repr(v) if isinstance(v, Space) else "",
)
def test_large_spaces_answer_without_listing_edges(space, a, b, apart):
    """Large spaces find points and distances without making their edges."""
    assert [space.points[space.index(p)] for p in (a, b)] == [a, b]
    assert space.distance(a, b) == apart
    assert space.distances_from(a)[space.index(b)] == apart
    assert not {"edge_indices", "arcs"} & space.__dict__.keys()


def test_edges_of_a_million_points_are_one_array():
    """The four million edges of a million-point grid are all its pairs of neighbours, once each, in one array."""
    a, b = (edges := grid((1000, 1000)).edge_indices).T
    assert edges.shape == (2 * 1000 * 999 + 2 * 999**2, 2)
    assert np.array_equal(np.maximum(abs(a // 1000 - b // 1000), abs(a % 1000 - b % 1000)), np.ones(len(edges)))
    assert np.diff(np.sort(np.minimum(a, b) * 10**6 + np.maximum(a, b))).all()


@each_case
def test_json_round_trip(space, points, adjacent):
    """A family written as JSON text reads back as the same family with the same points."""
    back = space_from_json(json.loads(json.dumps(space.to_json())))
    assert back == space
    assert (back.family, list(back.points), repr(back)) == (space.family, list(points), repr(space))


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: path(-1), "-1"),
        (lambda: counts(2.5), "2.5"),
        (lambda: cycle("3"), "'3'"),
        (lambda: complete(True), "True"),
        (lambda: sums(3, -2), "largest is -2"),
        (lambda: sums(3, 2, "swap"), "'swap'"),
        (lambda: differences(3, None), "None"),
        (lambda: grid((3, -1)), "-1"),
        (lambda: grid((3, 3), "euclidean"), "'euclidean'"),
        (lambda: hamming(-1, 2), "-1"),
        (lambda: histograms(2, 2, "both"), "'both'"),
        (lambda: space_from_json({"family": "torus", "n": 3}), "'torus'"),
        (lambda: space_from_json({"family": "path", "length": 3}), "length"),
        (lambda: space_from_json({"family": "sums", "people": 3}), "largest"),
    ],
)
def test_refusals_name_the_value(make, named):
    """An argument outside its range is refused, and the message names it."""
    with pytest.raises(InvalidInput, match=named):
        make()


def test_numpy_integers_are_sizes_and_points():
    """Sizes and points may be numpy integers."""
    three = np.int64(3)
    assert path(three) == path(3)
    assert grid(np.array([3, 4])) == grid((3, 4))
    assert [s.index(p) for s, p in [(path(4), three), (grid((4, 4)), (three, three))]] == [3, 15]


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: len(hamming(2, np.int64(2))), 4),
        (lambda: histograms(2, 2).index((np.int64(1), np.int64(1))), 1),
    ],
)
def test_numpy_integers_everywhere(make, expected):
    """Numpy integers are whole numbers for every family."""
    assert make() == expected


@pytest.mark.parametrize("values", [((0, 1), (1, 0)), np.array([0, 1])], ids=["tuples", "numpy"])
def test_hamming_values_round_trip(values):
    """Values that are tuples or numpy numbers survive JSON text."""
    space = hamming(2, values)
    assert space_from_json(json.loads(json.dumps(space.to_json()))) == space


def test_hamming_refuses_equal_values():
    """A value given twice would make two points of the same name."""
    with pytest.raises(InvalidInput):
        hamming(2, ("yes", "yes"))


def test_hamming_without_values():
    """Two people with no value to choose from have no database, so there are no points and no edges."""
    assert (len(hamming(2, 0).points), len(hamming(2, 0).edges)) == (0, 0)


@pytest.mark.parametrize("make", [lambda: hamming(70, 1), lambda: grid((1,) * 69 + (2,), "manhattan")])
def test_more_than_64_axes(make):
    """Spaces of few points but many axes work like any other."""
    space = make()
    assert space.distances().max() == len(space.points) - 1 == len(space.edges)


def test_a_complete_space_knows_its_size_without_its_edges():
    """The number of edges, one level on all of them, and one component, before any edge is made."""
    space = um.complete(100_000)
    assert space.edge_count == 100_000 * 99_999 // 2
    levels = on_edges(space, 1)
    assert len(levels) == space.edge_count
    assert levels.growth[123] == pytest.approx(np.e)
    assert not space.components.any()
    assert "edge_indices" not in space.__dict__
    small = um.complete(6)
    assert small.edge_count == len(small.edges) == len(small.edge_indices) == 15
    assert um.path(4).edge_count == 3
