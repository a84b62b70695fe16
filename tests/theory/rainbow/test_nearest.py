"""The nearest mechanism: its formula, privacy on random graphs or an honest refusal, and bounds by duality or pairs."""

import math
from dataclasses import replace
from importlib import import_module
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import norm

import utmost as um
from utmost.design.rainbow import nearest
from utmost.solution import Solution


@st.composite
def labelled_graphs(draw, most=9, answers=4):
    """A connected graph, a label at every point and an epsilon for every edge."""
    n = draw(st.integers(2, most))
    edges = {(draw(st.integers(0, i - 1)), i) for i in range(1, n)}
    edges |= {
        tuple(sorted(e)) for e in draw(st.lists(st.tuples(*[st.integers(0, n - 1)] * 2), max_size=n)) if e[0] != e[1]
    }
    labels = draw(st.lists(st.integers(0, answers - 1), min_size=n, max_size=n))
    epsilons = draw(st.lists(st.sampled_from([0.1, 0.4, 0.7, 1.1, 2.0]), min_size=len(edges), max_size=len(edges)))
    return um.Space.from_edges(sorted(edges), points=range(n)), labels, dict(zip(sorted(edges), epsilons, strict=True))


def formula(space, labels, lengths, x, j):
    """P_j(x) from the definition, by all shortest paths."""
    n = len(space.points)
    far = np.full((n, n), np.inf)
    np.fill_diagonal(far, 0.0)
    for (a, b), length in lengths.items():
        far[a, b] = far[b, a] = min(far[a, b], length)
    for k in range(n):
        far = np.minimum(far, far[:, [k]] + far[[k], :])
    arcs = [(u, v, e) for (a, b), e in lengths.items() for u, v in ((a, b), (b, a))]
    border = [math.exp(-far[x, u]) / (1 + math.exp(e)) for u, v, e in arcs if labels[u] != j and labels[v] == j]
    return max(border, default=0.0)


def best_truth_by_lp(space, labels, lengths, k):
    """The largest average probability of the truth, from the raw inequalities."""
    n = len(space.points)
    rows = []
    for (a, b), e in lengths.items():
        for (u, v), o in product(((a, b), (b, a)), range(k)):
            row = np.zeros(n * k)
            row[u * k + o], row[v * k + o] = 1.0, -math.exp(e)
            rows.append(row)
    cost = np.zeros(n * k)
    cost[[i * k + label for i, label in enumerate(labels)]] = -1 / n
    sums = np.kron(np.eye(n), np.ones(k))
    return -linprog(cost, np.array(rows), np.zeros(len(rows)), sums, np.ones(n), method="highs").fun


@settings(max_examples=60, deadline=None)
@given(labelled_graphs())
def test_random_graphs_are_certified_and_bounded(made):
    """Random graphs, labels and levels per edge: private in exact arithmetic, and within its bound, always."""
    space, labels, lengths = made
    best = nearest(space, labels, um.per_edge(space, lengths))
    assert best.verify()
    least = best_truth_by_lp(space, labels, lengths, 4)
    assert best.certificate.bound == pytest.approx(least, abs=1e-7)
    assert best.value <= least + 1e-9
    used = list(best.mechanism.outputs)
    rows = [[formula(space, labels, lengths, x, j) if labels[x] != j else 0.0 for j in used] for x in space.points]
    fits = all(
        sum(row) <= min(1 / (1 + math.exp(-e)) for edge, e in lengths.items() if x in edge) - 1e-9
        for x, row in zip(space.points, rows, strict=True)
    )
    if fits:  # where its condition holds, it is nearest, whose wrong answers are the formula's
        assert best.certificate.method == "nearest"
    if best.certificate.method == "nearest":
        wrong = [x for x in space.points for j in used if labels[x] != j]
        assert all(
            best.mechanism.probability(x, j) == pytest.approx(rows[x][i], rel=1e-12)
            for x in wrong for i, j in enumerate(used) if labels[x] != j
        )  # fmt: skip
    else:
        assert "nearest is not private" in best.certificate.method


@settings(max_examples=25, deadline=None)
@given(
    labelled_graphs(most=7, answers=3),
    st.sampled_from([um.ApproxDP("0.5", "0.02"), um.ApproxDP(2, "0.001"), um.GaussianDP("0.4"), um.GaussianDP(2)]),
)
def test_random_graphs_at_other_levels_are_certified_or_refused(made, level):
    """One level that is not pure: proved private with integers, or refused by name."""
    space, labels, _ = made
    try:
        best = nearest(space, labels, level)
    except um.errors.UnsupportedLevel:
        return
    assert best.verify()
    assert um.certify(best).level == um.certify(best.mechanism, space, level).level


def test_where_it_is_not_private_it_says_so():
    """Five answers that all meet at e^epsilon = 3: the wrong ones would have more than everything."""
    space, level = um.complete(5), um.PureDP.from_ratio(3)
    best = nearest(space, range(5), level)
    assert best.certificate.method == "linear program, since nearest is not private here"
    assert best.verify()
    assert best.value == pytest.approx(3 / 7, abs=1e-6)  # randomised response
    assert nearest(um.complete(4), range(4), level).certificate.method == "nearest"


def test_many_points_without_a_program():
    """Beyond what a linear program takes: one pass an answer, a bound by pairs, and the fallback by distances."""
    space = um.grid((120, 120), metric="manhattan")
    labels = [(i // 40) * 3 + j // 40 for i, j in space.points]
    good = nearest(space, labels, um.PureDP(2))
    assert (good.certificate.method, good.certificate.claim) == ("nearest", "bound")
    assert 1 - good.value <= 1.03 * (1 - good.certificate.bound)
    assert good.verify()
    growth = math.exp(2)
    assert good.mechanism.probability((0, 0), 1) == pytest.approx(growth**-39 / (1 + growth), rel=1e-9)
    poor = nearest(um.complete(300), range(300), 0.5)
    assert poor.certificate.method.startswith("exponential on distances")
    assert poor.verify()
    assert poor.value == pytest.approx(1 / (1 + 299 * math.exp(-0.25)))


def test_two_answers_are_balanced():
    space = um.counts(30)
    for level in (um.PureDP(1), um.GaussianDP(1), um.ApproxDP(1, "0.01")):
        ours = nearest(space, lambda v: v > 12, level)
        theirs = um.binary.balanced(space, lambda v: v > 12, level)
        for point in space.points:
            assert ours.mechanism.probability(point, True) == pytest.approx(theirs.mechanism.probability(point, True))
        assert ours.verify()


def test_three_answers_at_other_levels():
    space = um.histograms(6, 3)
    for level in (um.GaussianDP(2), um.ApproxDP(2, "0.01"), um.GaussianDP("0.3")):
        best = nearest(space, lambda tally: tally.index(max(tally)), level)
        assert best.verify()
        assert best.value > 0.35


def test_no_bound_can_be_forged(tmp_path):
    best = nearest(um.histograms(5, 3), lambda tally: tally.index(max(tally)), 1.5)
    loaded = Solution.load(best.save(tmp_path / "nearest.json"))
    assert loaded.verify()
    from dataclasses import replace

    for wrong in (
        {"bound": best.certificate.bound - 1e-6, "gap": best.certificate.gap - 1e-6},
        {"bound": None, "gap": None},
        {"claim": "theorem"},
        {"claim": "theorem", "bound": None, "gap": None},
        {"evidence": {}},
    ):
        assert not replace(best, certificate=replace(best.certificate, **wrong)).verify()
    assert not replace(best, value=best.value + 1e-6).verify()


@pytest.fixture
def no_programs(monkeypatch):
    monkeypatch.setattr(import_module("utmost.theory.rainbow.design.nearest"), "MOST_ENTRIES", 0)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(labelled_graphs())
def test_a_bound_by_pairs_is_never_better_than_the_linear_program(no_programs, made):
    space, labels, lengths = made
    best = nearest(space, labels, um.per_edge(space, lengths))
    assert best.verify()
    assert list(best.certificate.evidence) == ["pairs"]
    assert best_truth_by_lp(space, labels, lengths, 4) <= best.certificate.bound + 1e-9
    forged = {"pairs": np.repeat(best.certificate.evidence["pairs"], 2)}
    twice = replace(best.certificate, evidence=forged)
    assert not len(forged["pairs"]) or not replace(best, certificate=twice).verify()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(labelled_graphs(most=7, answers=3), st.sampled_from([um.ApproxDP("0.5", "0.1"), um.ApproxDP(2, "0.01")]))
def test_pairs_bound_other_levels(no_programs, made, level):
    """At (epsilon, delta), against the program over all events."""
    space, labels, lengths = made
    try:
        best = nearest(space, labels, level)
    except um.errors.UnsupportedLevel:
        return
    assert best.verify()
    assert best.value <= best.certificate.bound
    assert best_truth_over_events(space, labels, lengths, 3, level) <= best.certificate.bound + 1e-9


def best_truth_over_events(space, labels, edges, k, level):
    """The largest average probability of the truth if Pr[event] is within (epsilon, delta) across every edge."""
    n, rows = len(space.points), []
    for (a, b), event in product(edges, product((0, 1), repeat=k)):
        for u, v in ((a, b), (b, a)):
            row = np.zeros((n, k))
            row[u], row[v] = event, -math.exp(level.epsilon) * np.array(event)
            rows.append(row.ravel())
    cost = np.zeros((n, k))
    cost[np.arange(n), labels] = -1 / n
    sums = np.kron(np.eye(n), np.ones(k))
    return -linprog(
        cost.ravel(), np.array(rows), np.full(len(rows), float(level.delta)), sums, np.ones(n), method="highs"
    ).fun


def test_gaussian_levels_have_a_bound_by_pairs():
    """Two points: the balanced mechanism, which tells the truth with probability Phi(mu/2), and nothing does better."""
    best = nearest(um.path(2), "ab", um.GaussianDP(1))
    assert best.verify()
    assert (best.value, best.certificate.bound) == pytest.approx((norm.cdf(0.5), norm.cdf(0.5)), rel=1e-8)


def test_two_answers_on_a_line_have_the_bound_of_the_optimum(no_programs):
    best = nearest(um.counts(2001), lambda yes: yes > 1000, 0.3)
    assert best.certificate.bound == pytest.approx(best.value, rel=1e-8)


@pytest.mark.long
def test_a_million_points_and_ten_answers():
    space = um.grid((1000, 1000), metric="manhattan")
    labels = np.add.outer(np.arange(1000), np.arange(1000)).ravel() // 200
    best = nearest(space, labels, um.PureDP(3))
    assert best.certificate.method == "nearest"
    assert 1 - best.value <= 1.01 * (1 - best.certificate.bound)
    assert best.verify()


def test_a_bound_beside_no_claim_is_checked():
    """Who claims nothing states no bound; a false one is not verified because nothing is claimed."""
    best = nearest(um.cycle(5), "aabbc", 1.0)
    nothing = replace(best.certificate, claim="unproved", bound=None, gap=None)
    assert replace(best, certificate=nothing).verify()
    forged = replace(nothing, bound=best.value, gap=0.0)
    assert best.certificate.bound > best.value * (1 + 1e-6)
    assert not replace(best, certificate=forged).verify()
