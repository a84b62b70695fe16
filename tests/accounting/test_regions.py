"""Regions, who simulates whom, and the theorems that stand beside the exact one."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import utmost as um
from utmost.accounting import Region, region, region_between, simulating_channel, theorems
from utmost.errors import InvalidInput, UnknownPoint

pairs = st.tuples(st.integers(0, 300).map(lambda n: n / 100), st.sampled_from([0, 0.01, 0.2, 0.6]))


def random_mechanism(rng, points=2, outputs=4):
    return um.FiniteMechanism(rng.dirichlet(np.full(outputs, 0.7), size=points), range(points), range(outputs))


@given(pairs, pairs)
def test_inclusion_is_the_conversion(one, two):
    """Regions in floating point and LIM Remark 2a in exact arithmetic say the same."""
    first, second = um.ApproxDP(*one), um.ApproxDP(*two)
    assert (region(first) in region(second)) == theorems.implies(first, second)


def test_basic_composition_adds_up():
    """Epsilons and deltas of different levels, ratios multiplied; no delta is above 1."""
    assert theorems.basic([um.ApproxDP("0.1", "0.02"), um.ApproxDP("0.5", "0.3")]) == um.ApproxDP("0.6", "0.32")
    assert theorems.basic([um.ApproxDP(1, "0.7")] * 2) == um.ApproxDP(2, 1)
    ratios = [um.ApproxDP.from_ratio(2, "0.1"), um.ApproxDP.from_ratio(3, "0.2")]
    assert theorems.basic(ratios) == um.ApproxDP.from_ratio(6, "0.3")


@pytest.mark.parametrize("kind", [um.PureDP, um.GaussianDP, um.ZCDP])
def test_nothing_and_everything_learned_at_every_kind_of_level(kind):
    """At 0 the two datasets give the same answers; at infinity they may be told apart for sure."""
    assert [region(kind(size)).total_variation for size in (0, math.inf)] == [0, 1]


@given(pairs)
def test_a_region_knows_its_level(pair):
    """Delta at its own epsilon, the total variation of Remark 2b, and the delta at a smaller epsilon."""
    level = um.ApproxDP(*pair)
    own = region(level)
    assert own.delta(float(level.epsilon)) == pytest.approx(float(level.delta), abs=1e-12)
    assert own.total_variation == pytest.approx(theorems.total_variation(level), abs=1e-12)
    for share in (0, 0.5):
        at = share * float(level.epsilon)
        assert own.delta(at) == pytest.approx(theorems.delta_at(level, at), abs=1e-12)


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_regions_of_mechanisms_are_hulls_of_tests(seed):
    """No test, of all 2^n, lies below the region, and delta is the hockey-stick divergence."""
    mechanism = random_mechanism(np.random.default_rng(seed))
    found = region_between(mechanism, 0, 1)
    here, there = mechanism.matrix
    for mask in range(16):
        reject = np.array([mask >> i & 1 for i in range(4)], dtype=bool)
        missed, alarm = there[~reject].sum(), here[reject].sum()
        assert alarm >= found.false_alarm(missed) - 1e-12
    for epsilon in (0.0, 0.4, 1.5):
        assert found.delta(epsilon) == pytest.approx(mechanism.delta(um.path(2), epsilon), abs=1e-12)


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_two_points_simulate_iff_regions_include(seed):
    """LIM Theorem 2.2.4 for random mechanisms, and for ones made by a channel; the witness does what it says."""
    rng = np.random.default_rng(seed)
    source, target = random_mechanism(rng), random_mechanism(rng, outputs=3)
    made = um.FiniteMechanism(source.matrix @ rng.dirichlet(np.ones(3), size=4), range(2), range(3))
    for other in (target, made):
        channel = simulating_channel(source, other)
        inside = region_between(other, 0, 1) in region_between(source, 0, 1)
        assert (channel is not None) == inside
        if channel is not None:
            assert np.abs(source.matrix @ channel - other.matrix).max() < 1e-9
            assert (channel >= 0).all()
            assert np.allclose(channel.sum(axis=1), 1)
    assert simulating_channel(source, made) is not None


def test_three_points_are_another_matter():
    """Pairwise inclusion does not suffice: 3-ary randomised response against 'anything but the truth'."""
    growth = 2.0
    response = um.FiniteMechanism((np.ones((3, 3)) + np.eye(3) * (growth - 1)) / (2 + growth), range(3), range(3))
    share = 1 / (1 + 2 * growth)
    avoiding = (1 - share) * (np.ones((3, 3)) - np.eye(3)) / 2 + share * np.eye(3)
    other = um.FiniteMechanism(avoiding, range(3), range(3))
    every = all(
        region_between(other, a, b) in region_between(response, a, b) for a in range(3) for b in range(3) if a != b
    )
    pairwise = all(
        simulating_channel(response, other, [a, b]) is not None for a in range(3) for b in range(3) if a != b
    )
    assert every
    assert pairwise
    assert simulating_channel(other, other) is not None
    assert simulating_channel(response, other) is None
    with pytest.raises(InvalidInput, match="two points"):
        simulating_channel(response, other, [0])
    with pytest.raises(UnknownPoint):
        region_between(response, 0, 7)


def test_the_region_of_a_composition_is_theorem_2_4_3():
    """An intersection of floor(k/2) + 1 regions, between which nothing is lost: its delta is the composition's."""
    total = um.compose(um.ApproxDP(0.4, 0.1), 5)
    whole = total.region()
    for epsilon in (0.0, 0.4, 1.2, 1.5, 2.0, 3.0):
        assert whole.delta(epsilon) == pytest.approx(total.delta(epsilon), abs=1e-12)
    assert um.compose(um.ApproxDP(0.4, 0.1), 4).region() in whole
    assert whole not in um.compose(um.ApproxDP(0.4, 0.1), 4).region()
    assert region(um.ApproxDP(2, 0.5)) in region(theorems.basic([um.ApproxDP(0.4, 0.1)] * 5))
    mixed = um.compose([0.3, um.GaussianDP(0.5)])
    assert mixed.region().delta(0.7) >= mixed.bounds(0.7)[0]
    assert mixed.region().delta(0.7) == pytest.approx(mixed.delta(0.7), rel=1e-3)
    assert um.compose([]).region().total_variation == 0
    many = um.compose(0.001, 10**6)
    assert many.region().delta(1.0) == pytest.approx(many.delta(1.0), rel=1e-2)
    assert many.region().delta(1.0) >= many.bounds(1.0)[0]


@pytest.mark.parametrize("mu", [0, 0.3, 2.5])
def test_gaussian_regions(mu):
    """The region of a Gaussian level has its total variation and lies where its trade-off curve does."""
    found, level = region(um.GaussianDP(mu)), um.GaussianDP(mu)
    xs = np.linspace(0, 1, 101)
    assert np.abs(found.false_alarm(xs) - (1 - level.upper(xs))).max() < 2e-4
    assert (found.false_alarm(xs) <= 1 - level.upper(xs) + 1e-12).all()


@settings(max_examples=30)
@given(st.lists(st.integers(1, 90).map(lambda n: n / 100), min_size=1, max_size=40), st.sampled_from([1e-6, 1e-2, 0.3]))
def test_the_theorems_are_outer_bounds(epsilons, slack):
    """(2.10), (2.12) with its simple form, (2.13): never below the exact epsilon at the same total delta."""
    exact = um.compose([um.ApproxDP(e, 0.001) for e in epsilons])
    total = 1 - (1 - slack) * 0.999 ** len(epsilons)
    assert theorems.closed_form_of(epsilons, slack) >= exact.epsilon(total) - 1e-9
    level, k = um.ApproxDP(epsilons[0], 0.001), len(epsilons)
    equal = um.compose(level, k)
    assert theorems.closed_form(level, k, slack) >= equal.epsilon(total) - 1e-9
    assert theorems.closed_form_small(level, k, slack) >= theorems.closed_form(level, k, slack) - 1e-12
    assert theorems.advanced(level, k, slack) >= equal.epsilon(min(1, k * 0.001 + slack)) - 1e-9
    assert theorems.basic([level] * k).epsilon == k * level.epsilon


def test_theorems_refuse_what_they_do_not_cover():
    """Gaussian levels, a slack of 0, epsilon above 0.9, mixed ratios."""
    with pytest.raises(InvalidInput, match="use compose"):
        theorems.advanced(um.GaussianDP(1), 3, 0.1)
    with pytest.raises(InvalidInput, match="slack is 0"):
        theorems.closed_form(0.1, 3, 0)
    with pytest.raises(InvalidInput, match=r"0\.9"):
        theorems.closed_form_small(1, 3, 0.1)
    with pytest.raises(InvalidInput, match="one kind"):
        theorems.basic([um.PureDP.from_ratio(2), 0.1])
    assert theorems.basic([um.PureDP.from_ratio(2)] * 3) == um.PureDP.from_ratio(8)
    assert theorems.implies(math.inf, um.ApproxDP(0, 1))
    assert not theorems.implies(math.inf, um.ApproxDP(5, 0.5))
    assert theorems.delta_at(math.inf, 3) == 1
    assert isinstance(region(1), Region)


def test_theorems_take_whole_numbers_of_releases():
    """A count that is none is refused, by every theorem; epsilons and slacks of any size are computed with."""
    for theorem in (theorems.advanced, theorems.closed_form, theorems.closed_form_small):
        for times in (2.7, -3, 0, True, "3"):
            with pytest.raises(InvalidInput, match="times is"):
                theorem(0.1, times, 0.1)
        assert theorem(0.1, np.int64(3), 0.1) == theorem(0.1, 3, 0.1)
        assert theorem(0.1, 10**5, "1e-400") > theorem(0.1, 10**5, 1e-300)
    assert theorems.advanced(1000, 2, 0.1) == math.inf
    assert theorems.closed_form(0, 3, 0.1) == 0


def test_small_levels_do_not_cancel():
    """Against the first terms of the series."""
    assert theorems.total_variation("1e-20") == pytest.approx(5e-21, rel=1e-12)
    assert theorems.delta_at("1e-20", "1e-21") == pytest.approx(4.5e-21, rel=1e-12)
    assert theorems.delta_at(um.ApproxDP("1e-20", "1e-30"), 0) == pytest.approx(5e-21 + 1e-30, rel=1e-12)
    assert theorems.total_variation(math.inf) == 1
    assert theorems.delta_at(1, "inf") == theorems.delta_at(1, 10**400) == 0


def test_the_closed_form_at_a_total_delta():
    """The slack is what the deltas leave of it."""
    levels = [um.ApproxDP(0.1, 0.001)] * 30
    slack = 1 - (1 - 0.05) / (1 - 0.001) ** 30
    assert theorems.closed_form_within(levels, 0.05) == pytest.approx(theorems.closed_form_of(levels, slack), rel=1e-12)
    assert theorems.closed_form_within(levels, 0.01) == math.inf
    assert theorems.closed_form_within([um.ApproxDP(0.1, 1)], 0.5) == math.inf
    assert theorems.closed_form_within([0.1], 1) == theorems.closed_form_of([0.1], 1)


def test_a_simulation_of_many_outputs_takes_little_memory():
    """120 outputs each: the program is written sparsely; all its entries would take several times as much."""
    rng = np.random.default_rng(0)
    source = um.FiniteMechanism(rng.dirichlet(np.ones(120), size=2), range(2), range(120))
    target = um.FiniteMechanism(source.matrix @ rng.dirichlet(np.ones(120), size=120), range(2), range(120))
    tracemalloc.start()
    channel = simulating_channel(source, target)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.abs(source.matrix @ channel - target.matrix).max() < 1e-8
    assert peak < 3e7, peak
