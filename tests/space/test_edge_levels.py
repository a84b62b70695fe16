"""Levels per edge against the level of each edge alone."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from utmost.errors import InvalidInput, UnsupportedLevel
from utmost.privacy import ApproxDP, GaussianDP, PureDP, SuitablePair, as_level
from utmost.space import Space
from utmost.space.edge_levels import levels_from_json, on_edges, per_edge, personalized
from utmost.space.families import cycle, hamming, path, sums

LEVELS = [
    *(0, 0.5, "1/3", PureDP(2), PureDP(math.inf), PureDP.from_ratio("3/2"), ApproxDP(1, 0.1), ApproxDP(0, 0.25)),
    *(GaussianDP(1), GaussianDP("1/2"), SuitablePair([(0, "1/10"), ("9/10", 1), (1, 1)])),
]
FIVE = Space.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "a")])
FIVE_LEVELS = st.lists(st.sampled_from(LEVELS), min_size=5, max_size=5)


def listed(levels):
    return [levels[e] for e in range(len(levels))]


@given(FIVE_LEVELS, st.lists(st.booleans(), min_size=5, max_size=5), st.permutations(range(5)))
@settings(max_examples=60, deadline=None)
def test_mapping_names_edges_in_either_direction_and_any_order(levels, flips, order):
    """Each edge has the level given for it, however its ends and the edges are ordered; default fills the rest."""
    mapping = {(FIVE.edges[e][::-1] if flips[e] else FIVE.edges[e]): levels[e] for e in order}
    expected = [as_level(level) for level in levels]
    assert listed(per_edge(FIVE, mapping)) == expected
    left_out = mapping.popitem()[0]
    partial = listed(per_edge(FIVE, mapping, default=7))
    assert partial == [PureDP(7) if set(edge) == set(left_out) else expected[e] for e, edge in enumerate(FIVE.edges)]
    with pytest.raises(InvalidInput, match=r"has no level") as refused:
        per_edge(FIVE, mapping)
    assert all(repr(end) in str(refused.value) for end in left_out)


@given(FIVE_LEVELS, st.lists(st.tuples(st.integers(0, 4), st.floats(0, 1)), min_size=1, max_size=12))
@settings(max_examples=100, deadline=None)
def test_bounds_are_those_of_each_level(levels, asked):
    """`upper` and `lower` on levels of mixed kinds equal each level's own, at any selection of edges."""
    edges, alpha = np.array([e for e, _ in asked]), np.array([a for _, a in asked])
    mixed = per_edge(FIVE, dict(zip(FIVE.edges, levels, strict=True)))
    own = [as_level(level) for level in levels]
    assert mixed.upper(edges, alpha).tolist() == [own[e].upper(a) for e, a in asked]
    assert mixed.lower(edges, alpha).tolist() == [own[e].lower(a) for e, a in asked]
    taken = mixed.take(edges, path(len(edges) + 1))
    assert listed(taken) == [own[e] for e in edges]
    assert taken.upper(np.arange(len(edges)), alpha).tolist() == mixed.upper(edges, alpha).tolist()
    for e, level in enumerate(own):
        pure = isinstance(level, ApproxDP)
        expected = (level.growth, level.delta, level.epsilon) if pure else (math.nan,) * 3
        got = (mixed.growth[e], mixed.delta[e], mixed.log_growth()[e])
        assert got == pytest.approx([float(x) for x in expected], rel=1e-15, nan_ok=True)


@given(st.lists(st.tuples(st.floats(0, 700), st.one_of(st.just(0.0), st.floats(0, 1))), min_size=5, max_size=5))
@settings(max_examples=60, deadline=None)
def test_arrays_mean_the_same_levels(pairs):
    """Arrays of epsilon and delta give each edge that level, with its bounds; one number stands for all edges."""
    epsilon, delta = np.array(pairs).T
    levels = per_edge(FIVE, epsilon=epsilon, delta=delta)
    assert listed(levels) == [ApproxDP(e, d) for e, d in pairs]
    alpha = np.array([0.0, 0.01, 0.4, 0.99, 1.0])
    for bound in ("upper", "lower"):
        own = [getattr(level, bound)(a) for level, a in zip(listed(levels), alpha, strict=True)]
        assert getattr(levels, bound)(np.arange(5), alpha) == pytest.approx(own, rel=1e-12)
    assert listed(levels.take(np.array([3, 1]), path(3))) == [ApproxDP(*pairs[3]), ApproxDP(*pairs[1])]
    assert listed(per_edge(FIVE, epsilon=epsilon[0])) == [PureDP(epsilon[0])] * 5


@given(FIVE_LEVELS)
@settings(max_examples=40, deadline=None)
def test_json_round_trip(levels):
    """Levels given by mapping, array or one for all survive JSON text."""
    mapping = per_edge(FIVE, dict(zip(FIVE.edges, levels, strict=True)))
    arrays = per_edge(FIVE, epsilon=[0.1, 0, math.inf, 1e-300, 2], delta=[0, 0.3, 1, 1e-9, 0])
    for made in (mapping, arrays, on_edges(FIVE, levels[0])):
        back = levels_from_json(FIVE, json.loads(json.dumps(made.to_json())))
        assert listed(back) == listed(made)


@pytest.mark.parametrize(("people", "values"), [(0, 2), (1, 3), (3, 2), (4, 2), (3, ("no", "yes", "unknown"))])
def test_personalized_level_is_that_of_the_person_who_changes(people, values):
    """On a Hamming space each edge has the level of the one person whose value differs."""
    by_person = [0.5, ApproxDP(1, 0.1), 0.5, GaussianDP(1)][:people]
    space = hamming(people, values)
    levels = personalized(space, by_person)
    assert len(levels) == len(space.edges)
    for e, (a, b) in enumerate(space.edges):
        (person,) = [i for i in range(people) if a[i] != b[i]]
        assert levels[e] == as_level(by_person[person])


def test_one_level_for_all_edges():
    """A level or number stands on every edge; levels per edge pass unchanged on an equal space, and on no other."""
    for privacy in LEVELS:
        assert listed(on_edges(FIVE, privacy)) == [as_level(privacy)] * 5
        assert on_edges(FIVE, privacy).single == as_level(privacy)
    levels = per_edge(cycle(5), epsilon=range(5))
    assert levels.single is None
    assert on_edges(Space.from_edges(list(cycle(5).edges), points=range(5)), levels) is levels
    with pytest.raises(InvalidInput, match="cycle"):
        on_edges(path(5), levels)


def test_an_edge_given_twice_must_agree_with_itself():
    """The same level in both directions is one level; different ones are refused, naming edge and levels."""
    assert listed(per_edge(path(2), {(0, 1): 0.5, (1, 0): PureDP("1/2")})) == [PureDP(0.5)]
    with pytest.raises(InvalidInput, match=r"0 and 1 has two levels, 0.5-DP and 1-DP"):
        per_edge(path(2), {(0, 1): 0.5, (1, 0): 1})


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: per_edge(path(3)), "either"),
        (lambda: per_edge(path(3), {(0, 1): 1}, epsilon=[1, 1]), "either"),
        (lambda: per_edge(path(3), {(0, 1): 1, (0, 2): 1, (1, 2): 1}), "0 and 2 are not neighbours"),
        (lambda: per_edge(path(3), {(0, 0): 1}, default=1), "0 and 0 are not neighbours"),
        (lambda: per_edge(path(1), {(0, 0): 1}), "0 and 0 are not neighbours"),
        (lambda: per_edge(path(3), {(0, 7): 1}, default=1), "7 is not a point"),
        (lambda: per_edge(path(3), {(0, 1): -1, (1, 2): 1}), "-1"),
        (lambda: per_edge(path(3), {(0, 1): math.nan}, default=1), "nan"),
        (lambda: per_edge(path(3), {(0, 1): 1}, default="much"), "'much'"),
        (lambda: per_edge(path(3), epsilon=[1, 1, 1]), r"epsilon has shape \(3,\) for 2 edges"),
        (lambda: per_edge(path(3), epsilon=[[1, 1]]), r"\(1, 2\)"),
        (lambda: per_edge(path(3), epsilon=1, delta=[0.1]), r"delta has shape \(1,\)"),
        (lambda: per_edge(path(3), epsilon=[1, -0.5]), r"-0.5.* on the edge \(1, 2\)"),
        (lambda: per_edge(path(3), epsilon=[math.nan, 1]), r"nan.* on the edge \(0, 1\)"),
        (lambda: per_edge(path(3), epsilon=1, delta=[0, 1.5]), r"1.5.* on the edge \(1, 2\)"),
        (lambda: per_edge(path(3), epsilon=1, delta=[-0.1, 0]), r"-0.1.* on the edge \(0, 1\)"),
        (lambda: per_edge(path(3), epsilon=1, delta=math.nan), "nan"),
        (lambda: personalized(path(3), [1, 1]), "path"),
        (lambda: personalized(Space.from_edges(list(hamming(2, 2).edges)), [1, 1]), "hamming"),
        (lambda: personalized(hamming(3, 2), [1, 1]), "2 levels for 3 people"),
        (lambda: levels_from_json(path(3), {"levels": [], "which": [0, 0]}), "match"),
        (lambda: levels_from_json(path(3), {"levels": [PureDP(1).to_json()], "which": [0]}), "match"),
        (lambda: levels_from_json(path(3), {"epsilon": [1], "delta": [0]}), r"\(1,\)"),
        (lambda: levels_from_json(path(3), {"level": 1}), "does not describe"),
    ],
)
def test_refusals_name_the_culprit(make, named):
    """Levels that do not fit the edges or are no levels are refused, and the message says which."""
    with pytest.raises(InvalidInput, match=named):
        make()


def test_require_looks_at_every_edge():
    """A theory that covers some kinds of levels refuses the others, whichever edge they stand on."""
    mixed = per_edge(path(4), {(0, 1): 1, (1, 2): GaussianDP(1), (2, 3): 1})
    mixed.require((ApproxDP, GaussianDP), "all kinds")
    with pytest.raises(UnsupportedLevel, match="1-Gaussian DP is not covered here: only pure"):
        mixed.require(ApproxDP, "only pure")
    arrays = per_edge(path(4), epsilon=1, delta=[0, 0, 0.1])
    arrays.require(ApproxDP, "anything")
    with pytest.raises(UnsupportedLevel, match=r"\(1, 0.1\)-DP"):
        arrays.require(PureDP, "only pure")


def test_two_million_edges():
    """Two million edges take their levels from arrays or one level, give bounds and JSON data, and stay quick."""
    space = sums(500_001, 2)
    edges = np.arange(len(space.edge_indices))
    assert len(edges) > 2 * 10**6
    epsilon, alpha = np.linspace(0, 3, len(edges)), np.linspace(0, 1, len(edges))
    expected = np.minimum(np.exp(epsilon) * alpha + 0.01, 1 - (0.99 - alpha) / np.exp(epsilon))
    assert np.allclose(per_edge(space, epsilon=epsilon, delta=0.01).upper(edges, alpha), np.minimum(expected, 1))
    assert on_edges(space, 1).to_json() == PureDP(1).to_json()


def test_levels_do_not_change_with_the_callers_array():
    """Levels are fixed when made: writing to the array afterwards changes nothing."""
    epsilon = np.array([1.0, 2.0])
    levels = per_edge(path(3), epsilon=epsilon)
    epsilon[0] = -5
    assert levels.log_growth().tolist() == [1, 2]


@pytest.mark.parametrize(
    "make",
    [
        lambda: per_edge(path(2), {(0, 1): 1}, delta=0.1),
        lambda: per_edge(path(2), epsilon=[1], default=1),
        lambda: per_edge(path(2), {0: 1}),
        lambda: per_edge(path(2), {(0, 1, 2): 1}),
        lambda: per_edge(path(2), epsilon="much"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(make):
    """An argument that has no effect, or is no edge or number, is refused."""
    with pytest.raises(InvalidInput):
        make()


def test_levels_that_no_edge_has_do_not_count():
    """A default that no edge needs, or a level left behind by `take`, is not required of a theory."""
    mixed = per_edge(path(3), {(0, 1): 1, (1, 2): GaussianDP(1)})
    mixed.take(np.array([0]), path(2)).require(ApproxDP, "only (epsilon, delta)")


def test_levels_from_a_function_of_two_neighbours():
    """HET writes epsilon(u, v): a function gives what the mapping of all its values gives, for numbers and levels."""
    space = sums(4, 2)

    def level(a, b):
        return ApproxDP(1, 0.1) if abs(a - b) == 2 else Fraction(min(a, b) + 1, 10)

    asked = per_edge(space, level)
    listed = per_edge(space, {(a, b): level(a, b) for a, b in space.edges})
    assert [asked[e] for e in range(len(space.edges))] == [listed[e] for e in range(len(space.edges))]
    assert asked.to_json() == listed.to_json()
    assert per_edge(path(3), lambda a, b: np.float64(0.5)).single == PureDP(0.5)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        (lambda a, b: a + 1, r"1-DP from 0 to 1 and 2-DP from 1 to 0.*smaller"),
        (lambda a, b: None, r"neighbours 0 and 1.*privacy is None"),
        (lambda a, b: -1, r"neighbours 0 and 1.*0 or more"),
        (lambda a, b: a < 5, r"neighbours 0 and 1"),
        ([1, 2], "a function of two neighbours"),
    ],
)
def test_functions_of_levels_that_are_none(levels, message):
    """An order that matters, no level, a negative epsilon, a truth value, a list."""
    with pytest.raises(InvalidInput, match=message):
        per_edge(path(3), levels)
    with pytest.raises(InvalidInput, match="default="):
        per_edge(path(3), lambda a, b: 1, default=1)
