"""Spaces given by their edges: what is merged, what is refused, and distances against networkx."""

import json
import math
from itertools import product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from utmost.errors import InvalidInput, TooLarge, UnknownPoint
from utmost.mechanism import FiniteMechanism
from utmost.space import Morphism, Space
from utmost.space.families import counts, cycle, grid, hamming, path, space_from_json

LABELS = ["a", "b", 3, 4, ("x", 5), ("x", ("y", None)), 2.5]
PAIRS = st.lists(
    st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)).filter(lambda p: p[0] != p[1]), max_size=12
)


def first_of_each(items, key):
    """The items whose key has not come before, by a plain loop."""
    kept = []
    for item in items:
        if all(key(item) != key(other) for other in kept):
            kept.append(item)
    return kept


@given(PAIRS)
@settings(max_examples=80, deadline=None)
def test_from_edges_keeps_the_order_of_appearance(pairs):
    """Points and edges stand in order of first appearance; repeated and reversed edges merge."""
    space = Space.from_edges(pairs)
    assert list(space.points) == first_of_each([v for pair in pairs for v in pair], key=lambda v: v)
    assert list(space.edges) == first_of_each(pairs, key=frozenset)
    assert [space.index(p) for p in space.points] == list(range(len(space)))


@given(PAIRS, st.permutations(LABELS))
@settings(max_examples=80, deadline=None)
def test_graphs_agree_with_networkx(pairs, order):
    """With isolated points or without, distances and components are those of the graph, infinite where torn apart."""
    graph = nx.MultiGraph()
    graph.add_nodes_from(order)
    graph.add_edges_from(pairs)
    space = Space.from_networkx(graph)
    assert list(space.points) == list(order)
    assert space == Space.from_edges(pairs, points=order) == Space.from_networkx(nx.Graph(graph))
    assert space == Space.from_adjacency(nx.to_scipy_sparse_array(graph, format="coo"), points=order)
    assert space == Space.from_adjacency(nx.to_numpy_array(graph), points=iter(order))
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    expected = np.array([[lengths[a].get(b, math.inf) for b in order] for a in order])
    assert np.array_equal(space.distances(), expected)
    assert np.array_equal(space.distances_from(order[0]), expected[0])
    assert np.array_equal(space.distances_from(order[:3]), expected[:3].min(axis=0))
    assert space.distance(order[0], order[-1]) == expected[0, -1]
    assert np.array_equal(space.components[:, None] == space.components, np.isfinite(expected))


@given(PAIRS)
@settings(max_examples=50, deadline=None)
def test_json_round_trip(pairs):
    """A space with labels of every kind survives JSON text, its edges in the same order."""
    space = Space.from_edges(pairs, points=LABELS)
    data = json.loads(json.dumps(space.to_json()))
    for back in (space_from_json(data), Space.from_json(data)):
        assert back == space
        assert list(back.points) == LABELS
        assert list(back.edges) == list(space.edges)


def test_integer_arrays_are_edges():
    """An integer array gives the same space as the list of its rows, here with isolated and repeated points."""
    rows = [[0, 1], [1, 0], [4, 2]]
    for points in (range(6), [4, 2, 0, 9, 1]):
        assert Space.from_edges(np.array(rows, dtype=np.uint8), points) == Space.from_edges(rows, points)
    assert Space.from_edges(np.array([[7, 5], [5, 9]])).distance(7, 9) == 2


def test_points_of_an_array_come_in_numerical_order():
    """Points of a list come in order of appearance, those of an integer array in numerical order."""
    assert list(Space.from_edges([(2, 1), (1, 0)]).points) == [2, 1, 0]
    assert list(Space.from_edges(np.array([[2, 1], [1, 0]])).points) == [0, 1, 2]


def test_equality():
    """Spaces are equal if points, their order, and the undirected edges are, whether a family or not."""
    explicit = Space.from_edges([(1, 0), (2, 1)], points=range(3))
    assert explicit == path(3) == counts(2) == explicit
    assert hash(explicit) == hash(path(3))
    reordered = Space.from_edges([(0, 1), (1, 2)], points=[1, 0, 2])
    rewired = Space.from_edges([(0, 1), (0, 2)], points=range(3))
    assert not any(path(3) == other for other in (reordered, rewired, grid((3,)), cycle(3), path(4), "path(3)"))
    assert grid((3, 3)) != grid((3, 3), "manhattan")


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Space.from_edges([("a", "b"), ("c", "c")]), "'c' is joined to itself"),
        (lambda: Space.from_edges(np.array([[0, 1], [5, 5]])), "5 is joined to itself"),
        (lambda: Space.from_edges([("a", "b")], points=["b", "c", "a", "c"]), "'c' stands twice"),
        (lambda: Space.from_edges([], points=[[1], [2]]), "hashable"),
        (lambda: Space.from_edges([("a", "z")], points=["a", "b"]), "'z'"),
        (lambda: Space.from_edges(np.array([[0, 7]]), points=range(3)), "7"),
        (lambda: Space.from_edges(["ab"]), "'ab' is not an edge"),
        (lambda: Space.from_edges([("a", "b", "c")]), "is not an edge"),
        (lambda: Space.from_edges(np.array([[0.0, 1.0]])), "float64"),
        (lambda: Space.from_edges(np.array([0, 1])), r"\(2,\)"),
        (lambda: Space.from_networkx(nx.DiGraph([(0, 1), (1, 0)])), "directed"),
        (lambda: Space.from_networkx(nx.Graph([("u", "u")])), "'u' is joined to itself"),
        (lambda: Space.from_adjacency([[0, 1, 0], [1, 0, 0], [0, 1, 0]], "xyz"), "'y' to 'z'"),
        (lambda: Space.from_adjacency(csr_array([[0, 1], [0, 0]])), "0 to 1"),
        (lambda: Space.from_adjacency([[0, 1], [1, 1]], "xy"), "'y' is joined to itself"),
        (lambda: Space.from_adjacency(np.ones((2, 3))), r"\(2, 3\)"),
        (lambda: Space.from_adjacency(np.zeros((2, 2)), "xyz"), "3 points"),
        (lambda: Space.from_adjacency(np.zeros((2, 2)), "xx"), "'x' stands twice"),
        (lambda: Space.from_json({"points": ["a", "a"], "edges": []}), "'a' stands twice"),
        (lambda: Space.from_json({"points": ["a", "b"], "edges": [[0, 2]]}), "positions"),
        (lambda: Space.from_json({"points": ["a", "b"], "edges": [[1, 1]]}), "'b' is joined to itself"),
        (lambda: Space.from_edges([], points=[frozenset()]).to_json(), "frozenset"),
        (lambda: path(3).distance(0, 3), "3 is not a point"),
        (lambda: Space.from_edges([("a", "b")]).distances_from(["a", "z"]), "'z'"),
        (lambda: Space.from_edges([("a", "b")]).distances_from("ab"), "'ab'"),
    ],
)
def test_refusals_name_the_culprit(make, named):
    """A graph that is no space, or a point that is not there, is refused, and the message names the culprit."""
    with pytest.raises(InvalidInput, match=named):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Space.from_edges([([1], [2])]),
        lambda: Space.from_edges([([1], 2)], points=[1, 2]),
        lambda: Space.from_json({"points": ["a", "b"], "edges": [[0.7, 1]]}),
        lambda: Space.from_json({"points": ["a", "b", "c", "d"], "edges": [[0, 1, 2, 3]]}),
        lambda: space_from_json({}),
        lambda: path(2).align(5, "x"),
        lambda: path(2).as_prior("ab"),
        lambda: path(2).as_prior(np.array([[0.5], [0.5]])),
        lambda: grid(5),
    ],
)
def test_every_mistake_is_invalid_input(make):
    """A public argument that breaks a rule raises InvalidInput, whatever the rule."""
    with pytest.raises(InvalidInput):
        make()


def test_too_many_distances_are_refused():
    """A matrix of more than 10^8 distances is refused with the way that does without it."""
    with pytest.raises(TooLarge, match="distances_from"):
        path(10**4 + 1).distances()


def test_align_and_prior():
    """Values come as a mapping in any order, an array, a list or a callable, one per point; priors add up to 1."""
    space = Space.from_edges([("a", "b"), ("b", "c")])
    given_values = {"c": 0.5, "a": 0.125, "b": 0.375}
    for values in (given_values, [0.125, 0.375, 0.5], np.array([0.125, 0.375, 0.5]), given_values.get):
        assert list(space.align(values, "it")) == [0.125, 0.375, 0.5]
        assert space.as_prior(values).tolist() == [0.125, 0.375, 0.5]
    assert space.as_prior().tolist() == [1 / 3] * 3
    assert path(0).as_prior().tolist() == []
    for wrong, named in [({"a": 1, "b": 0}, "'c'"), ({**given_values, "z": 0}, "'z'"), ([0.5, 0.5], "2 values for 3")]:
        with pytest.raises(InvalidInput, match=named):
            space.align(wrong, "it")
    for wrong in ([0.5, 0.6, -0.1], [0.5, 0.5, math.nan], [math.inf, 0, 0], [0.5, 0.5, 0.1], [0, 0, 0]):
        with pytest.raises(InvalidInput, match=r"the prior (holds|adds up to)"):
            space.as_prior(wrong)


@given(st.lists(st.integers(0, 4), min_size=5, max_size=5), PAIRS)
@settings(max_examples=80, deadline=None)
def test_morphisms_are_the_maps_that_keep_neighbours_together(images, pairs):
    """A map is accepted exactly if no edge is torn; a refusal names a torn edge and its images."""
    source = Space.from_edges([p for p in pairs if set(p) <= set(LABELS[:5])], points=LABELS[:5])
    mapping = dict(zip(LABELS, images, strict=False))
    for target in (path(5), cycle(5), Space.from_edges([(0, 1), (3, 4)], points=range(5))):
        torn = [(u, v) for u, v in source.edges if target.distance(mapping[u], mapping[v]) > 1]
        if not torn:
            assert [Morphism(source, target, mapping)(p) for p in source.points] == images
            continue
        with pytest.raises(InvalidInput) as refused:
            Morphism(source, target, mapping)
        named = [f"{u!r} and {v!r} are mapped to {mapping[u]} and {mapping[v]}" for u, v in torn]
        assert any(name in str(refused.value) for name in named)


@given(st.integers(0, 10**6), st.floats(0, 0.5))
@settings(max_examples=30, deadline=None)
def test_pulled_back_mechanism_is_as_private(seed, delta):
    """Through the sum of a database the rows are those at the images, and epsilon and delta stay: all edges are hit."""
    total = Morphism(hamming(3, 2), counts(3), sum)
    mechanism = FiniteMechanism(np.random.default_rng(seed).dirichlet(np.ones(3), size=4), range(4), "xyz")
    pulled = total.pull_back(mechanism)
    assert all(np.array_equal(pulled.row(d), mechanism.row(sum(d))) for d in product((0, 1), repeat=3))
    assert pulled.epsilon(total.source, delta) == mechanism.epsilon(total.target, delta)
    assert pulled.delta(total.source, delta) == mechanism.delta(total.target, delta)


def test_morphisms_refuse_strangers():
    """A map to a point that is not there, and a mechanism on other points, are refused."""
    with pytest.raises(UnknownPoint, match="4"):
        Morphism(path(2), path(3), lambda p: 4 * p)
    with pytest.raises(InvalidInput, match="the morphism's target"):
        Morphism(path(2), path(3), [0, 1]).pull_back(FiniteMechanism([[1.0]] * 2, range(2), "x"))


@pytest.mark.parametrize("seed", range(20))
def test_neighbourhoods_are_those_of_networkx(seed):
    """N(S) on random graphs: all points outside S with a neighbour in it; families and single points too."""
    graph = nx.gnp_random_graph(9, 0.25, seed=seed)
    chosen = np.random.default_rng(seed).choice(9, seed % 5, replace=False).tolist()
    space = Space.from_networkx(graph)
    assert set(space.neighbourhood(chosen)) == set().union(*(graph.neighbors(v) for v in chosen)) - set(chosen)
    assert grid((3, 3)).neighbourhood((0, 0)) == ((0, 1), (1, 0), (1, 1))
    with pytest.raises(UnknownPoint):
        space.neighbourhood([11])
