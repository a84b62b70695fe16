"""One dataset of a space nobody lists: against `extend` on the whole space, and a lexicographic LP."""

import math
from itertools import permutations

import networkx as nx
import numpy as np
import pytest
from oracles.programs import ranked_lp

import utmost as um
from utmost.errors import InvalidInput, NoExtension, TooLarge


def random_tree_with_cut(rng):
    """A random graph of two rankings of k outputs, with distributions close enough to be private at epsilon."""
    n, k = int(rng.integers(4, 10)), int(rng.integers(2, 5))
    edges = sorted({(int(rng.integers(max(0, i - 2), i)), i) for i in range(1, n)} | {(0, 2)})
    outputs = tuple("abcd"[:k])
    ranked = [tuple(rng.permutation(list(outputs)).tolist()) for _ in range(2)]
    cut = int(rng.integers(1, n))
    epsilon, delta = float(rng.uniform(0.3, 1.5)), float(rng.choice([0, 0.05]))
    base = rng.dirichlet(5 * np.ones(k))
    boundary = {r: dict(zip(outputs, base.tolist(), strict=True)) for r in ranked}
    return n, k, edges, [ranked[i >= cut] for i in range(n)], boundary, epsilon, delta


@pytest.mark.parametrize("seed", range(20))
def test_one_dataset_has_the_row_of_the_optimum(seed):
    """At every point of 20 random graphs: the LP's prefixes, the matrix of `extend`, and networkx' distance."""
    rng = np.random.default_rng(seed)
    n, k, edges, rankings, boundary, epsilon, delta = random_tree_with_cut(rng)
    graph = nx.Graph(edges)
    level, space = um.ApproxDP(epsilon, delta), um.Space.from_edges(edges, points=range(n))
    ends = {v for a, b in edges if rankings[a] != rankings[b] for v in (a, b)}
    met = {rankings[v] for v in ends}
    whole = um.rainbow.extend(space, rankings, {r: boundary[r] for r in met}, level).mechanism
    fixed = {v: np.array([boundary[rankings[v]][o] for o in whole.outputs]) for v in ends}
    order = [tuple(whole.outputs.index(o) for o in r) for r in rankings]
    best = ranked_lp(n, k, edges, order, fixed, epsilon, delta)
    for v in range(n):
        row = um.rainbow.at(v, graph.neighbors, rankings.__getitem__, boundary, level)
        far = min((nx.shortest_path_length(graph, v, e) for e in ends), default=math.inf)
        assert row.outputs == rankings[v]
        assert row.distance == far
        assert np.cumsum(row.probabilities) == pytest.approx(best[v], abs=1e-7)
        assert [row.probability(o) for o in whole.outputs] == pytest.approx(whole.row(v), rel=1e-12, abs=1e-300)


def changes(tally):
    """The tallies after one voter's change of mind."""
    for i, j in permutations(range(len(tally)), 2):
        if tally[i]:
            yield tuple(x - (k == i) + (k == j) for k, x in enumerate(tally))


def by_votes(tally):
    return tuple(sorted("abc", key=lambda c: (-tally["abc".index(c)], c)))


BOUNDARY = {r: [0.5, 0.3, 0.2] for r in permutations("abc")}


def test_a_million_voters():
    """The row depends on the distance alone: the same as on a line, however many tallies there are."""
    for lead in (0, 1, 2, 9, 40):
        tally = (400_000 + lead, 400_000 - lead, 200_000)
        row = um.rainbow.at(tally, changes, by_votes, BOUNDARY, 1.0)
        assert row.distance == lead
        assert row.probabilities == tuple(um.rainbow.line([0.5, 0.3, 0.2], 1.0, np.array([lead]))[0].tolist())
        assert row.explored < 30_000
        assert str(row.explored) in row.note


def test_what_cannot_be_found_or_is_not_private_is_refused():
    """Too far, a boundary that breaks the promise or is missing, outputs that are none; a space without a boundary."""
    far = (600_000, 300_000, 100_000)
    with pytest.raises(TooLarge, match="limit"):
        um.rainbow.at(far, changes, by_votes, BOUNDARY, 1.0, limit=1000)
    near = (400_001, 400_000, 199_999)
    with pytest.raises(NoExtension, match=r"not 0\.1-DP"):
        um.rainbow.at(near, changes, by_votes, BOUNDARY, 0.1)
    with pytest.raises(InvalidInput, match="says nothing about"):
        um.rainbow.at(near, changes, by_votes, {("a", "b", "c"): [0.5, 0.3, 0.2]}, 1.0)
    with pytest.raises(InvalidInput, match="is not an output"):
        um.rainbow.at(near, changes, by_votes, BOUNDARY, 1.0).probability("d")
    alone = um.rainbow.at(0, lambda v: [(v + 1) % 5, (v - 1) % 5], lambda v: ("a", "b"), {}, 1.0)
    assert (alone.probabilities, alone.distance, alone.explored) == ((1.0, 0.0), math.inf, 5)
