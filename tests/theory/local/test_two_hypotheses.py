"""Neyman and Pearson's test against enumeration, people needed against binomials; universal epsilon; robust testing."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import binom

import utmost as um
from utmost.errors import InvalidInput

P0, P1 = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]


@pytest.mark.parametrize("rate", [0.01, 0.05, 0.4])
def test_least_misses_by_linear_program(rate):
    """No test, randomised or not, on sequences of answers misses less: a fractional knapsack over all of them."""
    mechanism = um.local.randomized_response(3, 1.2)
    m0, m1 = (np.array(p) @ mechanism.matrix for p in (P0, P1))
    sequences = list(itertools.product(range(3), repeat=5))
    chance = [np.array([math.prod(m[o] for o in s) for s in sequences]) for m in (m0, m1)]
    best = linprog(-chance[1], A_ub=chance[0][None], b_ub=[rate], bounds=(0, 1))
    test = um.local.neyman_pearson(mechanism, P0, P1, 5, rate)
    assert test.exact
    assert test.missed == pytest.approx(1 + best.fun, abs=1e-9)


def test_two_answers_against_the_binomial():
    """Many people and two outputs: the rate is met exactly by a coin at one count."""
    best = um.local.for_testing(P0, P1, 1.0)
    m0, m1 = (float((np.array(p) @ best.mechanism.matrix)[0]) for p in (P0, P1))  # output 0 speaks for P1
    test = um.local.neyman_pearson(best, P0, P1, 5000, 0.001)
    t = int(binom.isf(0.001, 5000, m0)) + 1
    coin = (0.001 - binom.sf(t - 1, 5000, m0)) / binom.pmf(t - 1, 5000, m0)
    assert test.missed == pytest.approx(1 - binom.sf(t - 1, 5000, m1) - coin * binom.pmf(t - 1, 5000, m1), abs=1e-12)
    assert test.decide([0] * 2700 + [1] * 2300) == 1
    assert test.decide([0] * 2500 + [1] * 2500) == 0


@pytest.mark.parametrize("missed", [0.3, 0.05, 0.001])
def test_people_needed_is_the_least(missed):
    best = um.local.for_testing(P0, P1, 0.5)
    n = um.local.people_needed(best, P0, P1, 0.05, missed)
    assert um.local.neyman_pearson(best, P0, P1, n, 0.05).missed <= missed
    assert um.local.neyman_pearson(best, P0, P1, n - 1, 0.05).missed > missed


def test_bounds_where_counts_are_too_many():
    """Chernoff's bounds hold: by simulation of the test they describe."""
    mechanism = um.local.randomized_response(4, 0.3)
    p0, p1 = [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]
    n = um.local.people_needed(mechanism, p0, p1, 0.1, 0.1)
    test = um.local.neyman_pearson(mechanism, p0, p1, n, 0.1)
    assert not test.exact
    rng, laws = np.random.default_rng(7), [np.array(p) @ mechanism.matrix for p in (p0, p1)]
    slopes = np.log(laws[1]) - np.log(laws[0])
    wrong = [
        np.mean((rng.multinomial(n, law, 4000) @ slopes > test.threshold) != says)
        for law, says in zip(laws, (False, True), strict=True)
    ]
    assert max(wrong) <= 0.1


def test_refusals():
    best = um.local.for_testing(P0, P1, 1.0)
    with pytest.raises(InvalidInput, match="there are 1 answers"):
        um.local.neyman_pearson(best, P0, P1, 2).decide([0])
    with pytest.raises(InvalidInput, match="false_alarm is 0"):
        um.local.neyman_pearson(best, P0, P1, 2, 0)
    with pytest.raises(InvalidInput, match="same law"):
        um.local.people_needed(best, P0, P0)


# ---- the epsilon up to which the binary mechanism is best for every f-divergence ----


def hockey_sticks(p0, p1, epsilon):
    """The largest shortfall of the binary mechanism over all hockey-stick divergences, by all subsets of letters.

    Their optimum is reached with two outputs, whose extreme points answer a set of letters by a coin.
    """
    p0, p1, growth = np.array(p0), np.array(p1), math.exp(epsilon)
    sets = np.array(list(itertools.product((0, 1), repeat=len(p0))), dtype=float)
    m0, m1 = ((1 + (growth - 1) * (sets @ p)) / (1 + growth) for p in (p0, p1))
    own = (sets == (p0 > p1)).all(axis=1) | (sets == (p0 < p1)).all(axis=1)
    gammas = np.geomspace(math.exp(-epsilon), growth, 20001)
    trivial = np.maximum(0, 1 - gammas)
    best = np.maximum(trivial, (m0[:, None] - np.outer(m1, gammas)).max(axis=0))
    mine = np.maximum(trivial, (m0[own][:, None] - np.outer(m1[own], gammas)).max(axis=0))
    return float((best - mine).max())


@settings(max_examples=40, deadline=None)
@given(
    p=st.lists(st.integers(1, 60), min_size=3, max_size=5),
    q=st.lists(st.integers(1, 60), min_size=5, max_size=5),
)
def test_universal_epsilon_is_where_some_divergence_begins_to_prefer_another(p, q):
    p0, p1 = np.array(p) / sum(p), np.array(q[: len(p)]) / sum(q[: len(p)])
    found = um.local.universal_epsilon(p0, p1)
    if (p0 == p1).any():
        return
    assert found > 0
    assert hockey_sticks(p0, p1, min(found, 8.0)) <= 1e-12
    if found < 6:
        assert hockey_sticks(p0, p1, found * 1.05 + 0.01) > 0


def test_universal_epsilon_beside_the_thresholds_of_each_divergence():
    """It is a lower bound of every one of them; a letter with P0 = P1 makes it 0."""
    p0, p1 = [0.5, 0.25, 0.2, 0.05], [0.1, 0.2, 0.25, 0.45]
    each = [um.local.thresholds_for_testing(p0, p1, d).binary_until for d in ("kl", "chi2", "hellinger")]
    assert 0 < um.local.universal_epsilon(p0, p1) <= min(each)
    assert um.local.universal_epsilon([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]) == 0
    assert um.local.universal_epsilon([0.6, 0.4], [0.2, 0.8]) == math.inf


# ---- the worst of several ----


def test_worst_of_several_by_a_program_over_the_raw_inequalities():
    """Guessing right under two priors, the worse of them: an output says a guess for each, so an LP finds it too."""
    k, growth = 3, math.e
    priors = np.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]])
    outputs = list(itertools.product(range(k), repeat=2))
    size = k * len(outputs)
    gains = np.zeros((2, size + 1))
    for i, prior in enumerate(priors):
        for o, guesses in enumerate(outputs):
            gains[i, guesses[i] * len(outputs) + o] = prior[guesses[i]]
    rows = []
    for o in range(len(outputs)):
        for a, b in itertools.permutations(range(k), 2):
            row = np.zeros(size + 1)
            row[a * len(outputs) + o], row[b * len(outputs) + o] = 1, -growth
            rows.append(row)
    for gain in gains:
        row = -gain
        row[-1] = 1
        rows.append(row)
    sums = np.hstack([np.kron(np.eye(k), np.ones(len(outputs))), np.zeros((k, 1))])
    cost = np.append(np.zeros(size), -1.0)
    raw = linprog(cost, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), A_eq=sums, b_eq=np.ones(k))
    found = um.local.linear_program([lambda c, p=prior: (c * p).max(axis=-1) for prior in priors], k, 1.0)
    assert found.value == pytest.approx(-raw.fun, abs=1e-9)
    assert found.verify()


def test_worst_testing_is_between_the_pairs(tmp_path):
    """One pair is `for_testing`; several are no better than the hardest, and no worse than any one mechanism."""
    pairs = [([0.7, 0.2, 0.1], [0.3, 0.3, 0.4]), ([0.7, 0.2, 0.1], [0.5, 0.4, 0.1])]
    alone = [um.local.for_testing(*pair, 1.0) for pair in pairs]
    for pair, best in zip(pairs, alone, strict=True):
        assert um.local.for_worst_testing([pair], 1.0).value == pytest.approx(best.value, rel=1e-8)
    both = um.local.for_worst_testing(pairs, 1.0)
    assert both.value <= min(best.value for best in alone) + 1e-12
    for mechanism in (*alone, um.local.randomized_response(3, 1.0)):
        assert both.value >= min(um.local.divergence_of(mechanism, *pair) for pair in pairs) - 1e-12
    assert both.value == pytest.approx(min(um.local.divergence_of(both, *pair) for pair in pairs), rel=1e-9)
    assert um.Solution.load(both.save(tmp_path / "worst.json")).verify()
    with pytest.raises(InvalidInput, match="letters"):
        um.local.for_worst_testing([], 1.0)
