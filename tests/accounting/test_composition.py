"""Composition against enumeration: every bound brackets the truth, and is close to it."""

import itertools
import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import utmost as um
from utmost.accounting import Composition, how_many, inversion, largest_epsilon, loss_between, loss_of
from utmost.accounting import composition as module
from utmost.errors import InvalidInput, UnsupportedLevel


def by_enumeration(levels, epsilon):
    """The total delta over all 2^k outcomes of randomised response, in 60 digits; levels are (epsilon, delta)."""
    with localcontext() as context:
        context.prec = 60
        x = Decimal(str(epsilon)).exp()
        growths = [Decimal(str(e)).exp() for e, _ in levels]
        kept = math.prod((1 - Decimal(str(d)) for _, d in levels), start=Decimal(1))
        pairs = [(Decimal(1), Decimal(1))]
        for growth in growths:
            likely, unlikely = growth / (1 + growth), 1 / (1 + growth)
            pairs = [(p * a, q * b) for p, q in pairs for a, b in ((likely, unlikely), (unlikely, likely))]
        excess = sum((max(Decimal(0), p - x * q) for p, q in pairs), Decimal(0))
        return Fraction(1 - kept * (1 - excess))


def brackets(composition, epsilon, truth, gap=1e-12):
    lower, upper = composition.bounds(epsilon)
    assert Fraction(str(lower)) <= truth <= Fraction(str(upper)), (lower, float(truth), upper)
    assert upper - lower <= gap, (lower, upper)


@pytest.mark.parametrize("k", range(1, 61))
def test_equal_levels_are_theorem_2_4_3(k):
    """LIM (2.11) for E = 3/2 and delta = 1/100, every corner, with rationals: enumeration by the number of outcomes."""
    growth, delta = Fraction(3, 2), Fraction(1, 100)
    total = um.compose(um.ApproxDP.from_ratio(growth, delta), k)
    for i in range(k // 2 + 1):
        x = growth ** (k - 2 * i)
        ways = [math.comb(k, n) * max(0, growth ** (k - n) - x * growth**n) for n in range(k + 1)]
        inner = sum(ways) / (1 + growth) ** k
        printed = (
            sum(math.comb(k, n) * (growth ** (k - n) - growth ** (k - 2 * i + n)) for n in range(i)) / (1 + growth) ** k
        )
        assert inner == printed  # the theorem's own formula
        epsilon = (k - 2 * i) * math.log(1.5)
        brackets(total, epsilon, 1 - (1 - delta) ** k * (1 - inner))


@pytest.mark.parametrize(
    ("level", "times", "delta", "epsilon"),
    [
        (um.ApproxDP(0.1, 0.001), 30, 0.05, 0.846302634),
        (um.ApproxDP(0.01, 1e-9), 1000, 1e-5, 1.206094826),
        (um.ApproxDP(0.01, 1e-10), 10000, 1e-5, 4.40078555),
    ],
)
def test_known_totals(level, times, delta, epsilon):
    """Totals computed elsewhere in high precision."""
    assert um.compose(level, times).epsilon(delta) == pytest.approx(epsilon, abs=6e-9)


levels = st.tuples(st.integers(0, 2000).map(lambda n: n / 1000), st.sampled_from([0, 1e-6, 0.01, 0.3]))


@settings(max_examples=60)
@given(st.lists(levels, min_size=1, max_size=9), st.integers(0, 4000).map(lambda n: n / 1000))
def test_unequal_levels_are_bracketed(pairs, epsilon):
    """All 2^k outcomes: the bounds hold the truth and are within 1e-12 of it."""
    brackets(um.compose([um.ApproxDP(e, d) for e, d in pairs]), epsilon, by_enumeration(pairs, epsilon))


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
def test_fourteen_unequal_levels(seed):
    """k = 14, levels that share no unit: enumeration of all 16384 outcomes, by every road."""
    rng = np.random.default_rng(seed)
    pairs = [(float(e), 0.0) for e in rng.uniform(0.02, 0.9, 14)]
    total = um.compose([e for e, _ in pairs])
    for epsilon in (0.0, 0.75, 5.5):
        truth = by_enumeration(pairs, epsilon)
        brackets(total, epsilon, truth)
    by_inversion = without_lists(um.compose([e for e, _ in pairs]))
    brackets(by_inversion, 0.75, by_enumeration(pairs, 0.75), gap=2e-3)  # few atoms: wide, but true


kinds = st.sampled_from([(-6, 1), (-2, 0), (-9, -5), (0.7, 1.6)])


few_levels = given(st.integers(0, 10**6), kinds, st.integers(1, 8), st.floats(0, 1.05))


@pytest.mark.long
@settings(max_examples=40)
@few_levels
def test_inversion_alone_brackets_enumeration(seed, kind, k, share):
    """Levels of all sizes, from 1e-9 to 40, few of them: the hardest case for the line integral stays true."""
    inversion_brackets(seed, kind, k, share)


@pytest.mark.long
@settings(max_examples=200)
@few_levels
def test_inversion_alone_brackets_enumeration_often(seed, kind, k, share):
    """The same, many times."""
    inversion_brackets(seed, kind, k, share)


def inversion_brackets(seed, kind, k, share):
    epsilons = [float(e) for e in 10 ** np.random.default_rng(seed).uniform(*kind, k)]
    epsilon = share * sum(epsilons)
    truth = by_enumeration([(e, 0) for e in epsilons], epsilon)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("utmost.accounting.inversion.MOST_NODES", 10**6)
        lower, upper = without_lists(um.compose(epsilons)).bounds(epsilon)
    rounding = Fraction(1, 10**57)  # of the enumeration itself, in 60 digits: its truth may be 1e-60 where it is 0
    assert Fraction(lower) - rounding <= truth <= Fraction(upper) + rounding, (lower, float(truth), upper)


def test_inversion_at_the_sum_of_levels():
    """The float sum of two levels is a little below their sum as decimals: delta there is tiny, and not 0."""
    epsilons = [float(e) for e in 10 ** np.random.default_rng(0).uniform(-6, 1, 2)]
    total = without_lists(um.compose(epsilons))
    truth = by_enumeration([(e, 0) for e in epsilons], sum(epsilons))
    lower, upper = total.bounds(sum(epsilons))
    assert 0 <= Fraction(lower) <= truth <= Fraction(upper) < Fraction(1, 10**13)
    assert truth > 0


def test_inversion_of_one_level_is_close():
    """One randomised response, between its atoms: the closed form to twelve digits, although its tail never decays."""
    lower, upper = without_lists(um.compose(0.3)).bounds(0.17551351234314197)
    truth = -math.expm1(0.17551351234314197 - 0.3) / (1 + math.exp(-0.3))
    assert lower <= truth <= upper < lower + 1e-12


def without_lists(composition):
    """The same composition, forced to take the road for many different levels."""
    composition.__dict__["_outcomes"] = None
    return composition


@pytest.mark.long
@settings(max_examples=20)
@given(st.lists(st.integers(1, 400).map(lambda n: n / 500), min_size=25, max_size=50), st.floats(0, 1.2))
def test_many_levels_with_a_unit_by_two_roads(epsilons, share):
    """The lattice is exact; inversion must bracket it for whatever levels, and be near it."""
    exact = um.compose(epsilons)
    at = share * sum(epsilons) / 2
    lower, upper = exact.bounds(at)
    wide = without_lists(um.compose(epsilons)).bounds(at)
    assert wide[0] <= upper
    assert lower <= wide[1]
    assert wide[1] - wide[0] < 1e-5
    assert upper - lower < 1e-11


def test_meeting_in_the_middle_is_the_lattice(monkeypatch):
    """Thirty levels with a unit: two lists whose sums are never formed agree with the lattice."""
    epsilons = [round(0.013 * (i + 3), 3) for i in range(30)]
    lattice = um.compose(epsilons).bounds(1.5)
    monkeypatch.setattr("utmost.accounting.outcomes._lattice", lambda parts: None)
    lists = um.compose(epsilons).bounds(1.5)
    assert lists[0] <= lattice[1]
    assert lattice[0] <= lists[1]
    assert lists[1] - lists[0] < 1e-10


@pytest.mark.long
@pytest.mark.parametrize(("low", "high"), [(0.01, 0.5), (0.001, 0.01), (0.1, 1.0)])
def test_five_hundred_levels_have_a_gap_below_1e_9(low, high):
    """Ordinary ranges of epsilons, at epsilons over the whole range of deltas."""
    epsilons = np.random.default_rng(7).uniform(low, high, 500)
    total = um.compose([um.ApproxDP(float(e), 1e-9) for e in epsilons])
    centre = float((epsilons * np.tanh(epsilons / 2)).sum())
    for at in (0, centre / 2, centre, 1.5 * centre, 2 * centre + 1):
        lower, upper = total.bounds(at)
        assert lower <= upper < lower + 1e-9
    bounds = total.epsilon_bounds(1e-6)
    assert bounds[0] <= bounds[1] < bounds[0] + 1e-6
    assert total.delta(bounds[1]) <= 1e-6


def test_five_hundred_levels_against_a_lattice():
    """The same five hundred levels, on a unit: exact on one road, bracketed on the other."""
    epsilons = [round(float(e), 3) for e in np.random.default_rng(8).uniform(0.02, 0.3, 500)]
    exact, wide = um.compose(epsilons), without_lists(um.compose(epsilons))
    for at in (4.0005, 8.0, 14.0):
        lower, upper = exact.bounds(at)
        low, high = wide.bounds(at)
        assert low <= upper
        assert lower <= high
        assert high - low < 1e-8


def test_small_deltas_keep_their_digits():
    """At delta near 1e-30 the relative gap is still small, on the exact road and the other."""
    total = um.compose(0.1, 1000)
    lower, upper = total.bounds(40)
    assert 0 < lower < 1e-25
    assert upper / lower - 1 < 1e-9
    mixed = um.compose([0.1 + 1e-7 * math.sqrt(i) for i in range(1000)])
    low, high = mixed.bounds(40)
    assert high / low - 1 < 1e-3
    assert low < upper * 1.01
    assert high > lower


@pytest.mark.parametrize("times", [10**6, 10**7])
def test_millions_of_releases(times):
    """Equal levels in millions: the limit of Gaussian DP with mu = epsilon sqrt(k), and a tiny relative gap."""
    epsilon = 1 / math.sqrt(times)
    total = um.compose(um.PureDP(epsilon), times)
    lower, upper = total.bounds(1)
    assert upper / lower - 1 < 1e-9
    assert upper == pytest.approx(norm.cdf(-0.5) - math.e * norm.cdf(-1.5), rel=1e-3)


def test_gaussian_levels_compose_exactly():
    """The root of the sum of squares, against the textbook formula; certified and tight."""
    total = um.compose([um.GaussianDP(0.6), um.GaussianDP(0.8)])
    assert total.gaussian == 1
    for at in (0.0, 0.5, 3.0, 8.0):
        truth = norm.cdf(0.5 - at) - math.exp(at) * norm.cdf(-0.5 - at)
        lower, upper = total.bounds(at)
        assert upper / lower - 1 < 1e-12
        assert upper == pytest.approx(truth, rel=1e-6)
    assert total.epsilon(0) == math.inf


@pytest.mark.parametrize("listed", [True, False])
def test_gaussian_and_pure_levels_mix(listed):
    """Against the mixture formula: given the discrete loss x, the rest is Gaussian at epsilon - x; by both roads."""
    epsilons, mu = [0.3, 0.5, 1.1], 0.7
    total = um.compose([*epsilons, um.GaussianDP(mu)])
    total = total if listed else without_lists(total)

    def gaussian(at):
        return norm.cdf(mu / 2 - at / mu) - math.exp(at) * norm.cdf(-mu / 2 - at / mu)

    for at in (0.0, 0.4, 1.9, 4.0):
        truth = 0.0
        for signs in itertools.product((1, -1), repeat=3):
            mass = math.prod(1 / (1 + math.exp(-s * e)) for s, e in zip(signs, epsilons, strict=True))
            truth += mass * gaussian(at - sum(s * e for s, e in zip(signs, epsilons, strict=True)))
        lower, upper = total.bounds(at)
        assert lower - 1e-13 <= truth <= upper + 1e-13
        assert upper - lower < 1e-12


@pytest.mark.parametrize("mu", [1e-4, 1e-6, 30])
def test_extreme_gaussian_parts(mu):
    """A vanishing Gaussian level changes nothing much; a huge one leaves no privacy; the bounds stay in order."""
    total, alone = um.compose([0.3, 0.3, 0.7, um.GaussianDP(mu)]), um.compose([0.3, 0.3, 0.7])
    lower, upper = total.bounds(0.5)
    assert lower <= upper
    if mu < 1:
        assert lower <= alone.bounds(0.5)[1] + mu
        assert upper >= alone.bounds(0.5)[0]
        assert upper - lower < 1e-4
    else:
        assert lower > 0.99


def test_epsilon_and_delta_are_inverse_and_safe():
    """epsilon(delta) keeps delta, and a hair less does not."""
    for total in (um.compose(0.2, 40), um.compose([0.1, 0.21, 0.34]), um.compose([um.GaussianDP(1), 0.3])):
        for delta in (1e-8, 1e-3, 0.1):
            low, high = total.epsilon_bounds(delta)
            assert total.delta(high) <= delta
            assert low <= high <= low * (1 + 1e-6) + 1e-9
            if high > 0:
                assert total.bounds(low * (1 - 1e-6))[0] > delta * (1 - 1e-6)


def test_the_ends_are_exact():
    """Delta 0 gives the sum of epsilons and nothing above; epsilon at the sum gives the deltas alone."""
    assert um.compose(0.1, 3).epsilon(0) == 0.3
    assert um.compose([0.1] * 10).bounds(1) == (0, 0)
    assert um.compose([um.PureDP.from_ratio(2)] * 3).epsilon(0) == pytest.approx(math.log(8), abs=1e-15)
    assert um.compose(um.ApproxDP(0.1, 0.25), 2).bounds(0.2) == (7 / 16, 7 / 16)
    assert um.compose(um.ApproxDP(0.1, 0.25), 2).epsilon(0.4) == math.inf
    assert um.compose([0.5, 0.7]).epsilon(1) == 0
    assert um.compose([]).bounds(0) == (0, 0)
    assert um.compose([], 5).epsilon(0) == 0
    assert um.compose(0, 10**9).epsilon(0) == 0
    assert um.compose(math.inf).epsilon(0.999) == math.inf
    assert um.compose(um.GaussianDP(math.inf)).bounds(3) == (1, 1)
    assert um.compose(1).bounds(math.inf) == (0, 0)
    assert um.compose(um.ApproxDP(1, 1)).delta(100) == 1
    assert um.compose(1000, 3).delta(2999) == pytest.approx(-math.expm1(-1), rel=1e-9)


@pytest.mark.parametrize(
    "levels", [[3] * 1000, [30] * 20, [um.ApproxDP(3, "1e-3")] * 1000, [5 + i / 10 for i in range(60)]]
)
def test_no_delta_exceeds_one(levels):
    """Where nothing is private any more: the rounding that is counted does not take a bound past 1."""
    total = um.compose(levels)
    for epsilon in (0, 0.5, 100):
        lower, upper = total.bounds(epsilon)
        assert 1 - 1e-9 < lower <= upper == total.delta(epsilon) == 1


def test_bad_arguments_are_named():
    """Each with its remedy."""
    total = um.compose(0.1, 2)
    with pytest.raises(InvalidInput, match="epsilon is -1"):
        total.bounds(-1)
    with pytest.raises(InvalidInput, match="epsilon"):
        total.delta(math.nan)
    with pytest.raises(InvalidInput, match=r"delta is 1\.5"):
        total.epsilon(1.5)
    with pytest.raises(InvalidInput, match="times is -1"):
        um.compose(1, -1)
    with pytest.raises(InvalidInput, match="times is 10000000000"):
        um.compose(1, 10**10)
    with pytest.raises(InvalidInput, match="privacy is -1"):
        um.compose([-1])
    with pytest.raises(InvalidInput, match="no neighbours"):
        um.compose(um.finite.geometric(4, 1))
    with pytest.raises(UnsupportedLevel, match="no worst pair"):
        um.compose(um.SuitablePair.from_functions(lambda a: a))


def mechanism_delta(mechanism, space, times, epsilon):
    """Over all ordered edges and all outcome tuples, the same edge every time: a lower bound that brute force finds."""
    worst = 0.0
    for a, b in space.edge_indices.tolist():
        for i, j in ((a, b), (b, a)):
            p = q = np.ones(1)
            for _ in range(times):
                p = np.multiply.outer(p, mechanism.matrix[i]).ravel()
                q = np.multiply.outer(q, mechanism.matrix[j]).ravel()
            worst = max(worst, float(np.maximum(p - math.exp(epsilon) * q, 0).sum()))
    return worst


@pytest.mark.parametrize("times", [1, 2, 4])
def test_mechanisms_compose_by_their_real_losses(times):
    """A geometric mechanism is its level; a k-ary randomised response is much better than its level, exactly so."""
    path = um.path(5)
    geometric = um.finite.geometric(5, 0.7)
    ary = um.FiniteMechanism(
        (np.ones((5, 5)) + np.eye(5) * (math.exp(0.7) - 1)) / (4 + math.exp(0.7)), range(5), range(5)
    )
    for at in (0.0, 0.35, 1.0):
        brute = mechanism_delta(geometric, path, times, at)
        assert um.compose((geometric, path), times).delta(at) == pytest.approx(brute, abs=1e-12)
        assert um.compose(0.7, times).delta(at) == pytest.approx(brute, abs=1e-12)
        complete = um.complete(5)
        better = um.compose((ary, complete), times)
        brute = mechanism_delta(ary, complete, times, at)
        assert better.delta(at) == pytest.approx(brute, abs=1e-12)
        assert better.bounds(at)[0] <= brute <= better.bounds(at)[1]
        if brute > 0:
            assert better.delta(at) < um.compose(0.7, times).delta(at) - 1e-3


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.floats(0, 2))
def test_worst_pairs_dominate_all_edges(seed, at):
    """Random mechanisms on a triangle, two of them composed: no choice of edges, one for each, exceeds the bound."""
    rng = np.random.default_rng(seed)
    space = um.complete(3)
    first, second = (um.FiniteMechanism(rng.dirichlet(np.ones(3), size=3), range(3), range(3)) for _ in range(2))
    total = um.compose([(first, space), (second, space)])
    worst = 0.0
    for (i, j), (k, m) in itertools.product(itertools.permutations(range(3), 2), repeat=2):
        p = np.multiply.outer(first.matrix[i], second.matrix[k])
        q = np.multiply.outer(first.matrix[j], second.matrix[m])
        worst = max(worst, float(np.maximum(p - math.exp(at) * q, 0).sum()))
    assert total.delta(at) >= worst - 1e-13
    alone = um.compose((first, space)).delta(at)
    assert alone == pytest.approx(first.delta(space, at), abs=1e-12)  # one release: the hull is the profile itself


def by_adaptive_choice(matrix, edges, times, epsilon):
    """The most that an attacker reaches who picks the ordered edge of every release by the answers so far."""

    def most(left, p, q):
        if left == 0:
            return max(p - q, 0.0)
        return max(
            sum(most(left - 1, p * a, q * b) for a, b in zip(matrix[i], matrix[j], strict=True)) for i, j in edges
        )

    return most(times, 1.0, math.exp(epsilon))


def test_asymmetric_mechanisms_have_a_true_lower_bound():
    """Two leaning rows, three times: no choice of directions, adaptive ones included, falls below the lower bound."""
    leaning = um.FiniteMechanism([[0.5, 0.5], [0.1, 0.9]], range(2), range(2))
    total = um.compose((leaning, um.path(2)), times=3)
    truth = by_adaptive_choice(leaning.matrix, [(0, 1), (1, 0)], 3, 0.5)
    assert truth == pytest.approx(0.543448, abs=1e-6)
    lower, upper = total.bounds(0.5)
    assert 0.5351 < lower <= truth <= upper == pytest.approx(0.614697, abs=1e-6)
    least, most = total.epsilon_bounds(truth)
    assert least <= 0.5 <= most
    assert total.delta(0.5) == upper


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 3), st.floats(0, 2))
def test_random_mechanisms_are_bracketed(seed, times, at):
    """On a triangle, with zeros among the probabilities: the best adaptive attacker lies between the bounds."""
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.ones(3), size=3)
    if seed % 3 == 0:
        matrix[seed % 2] = [1, 0, 0]
    space = um.complete(3)
    total = um.compose((um.FiniteMechanism(matrix, range(3), range(3)), space), times)
    truth = by_adaptive_choice(matrix, list(itertools.permutations(range(3), 2)), times, at)
    lower, upper = total.bounds(at)
    assert lower - 1e-13 <= truth <= upper + 1e-13
    assert times > 1 or upper - lower <= 1e-11  # one release: the hull is what the mechanism does
    most = max(by_adaptive_choice(matrix, [edge], times, at) for edge in itertools.permutations(range(3), 2))
    assert lower >= 0.7 * most


def test_a_level_beside_an_asymmetric_mechanism_is_exact():
    """The last release may depend on the other's answer, so the hull is attained; other parts stay in both bounds."""
    leaning = um.FiniteMechanism([[0.5, 0.5], [0.1, 0.9]], range(2), range(2))
    lower, upper = um.compose([(leaning, um.path(2)), 0.4]).bounds(0.5)
    assert upper - lower < 1e-11
    coin = [[math.exp(0.4) / (1 + math.exp(0.4)), 1 / (1 + math.exp(0.4))]]
    coin.append(coin[0][::-1])
    truth = sum(
        by_adaptive_choice(leaning.matrix, [(0, 1), (1, 0)], 1, math.log(q / p) + 0.5) * p
        for p, q in zip(*coin, strict=True)
    )
    assert lower - 1e-12 <= truth <= upper + 1e-12
    mixed = um.compose([(leaning, um.path(2)), (leaning, um.path(2)), um.GaussianDP(1), um.ApproxDP(0, 0.1)])
    assert mixed.bounds(0.5)[0] > um.compose([um.GaussianDP(1), um.ApproxDP(0, 0.1)]).bounds(0.5)[1]


@pytest.mark.parametrize("rows", [[[0.5, 0.5], [0.1, 0.9]], [[0.2, 0.8, 0], [0.1, 0.3, 0.6]], [[1, 0], [0.25, 0.75]]])
def test_two_given_datasets_have_their_own_region(rows):
    """All outcomes of four releases: the bounds are the larger direction's, and the region holds exactly its tests."""
    mechanism = um.FiniteMechanism(rows, "ab", range(len(rows[0])))
    releases = [loss_between(mechanism, "a", "b")] * 3 + [loss_between(mechanism, "b", "a")]
    total = um.compose(releases)
    p, q = (
        np.array([math.prod(row) for row in itertools.product(*(rows[i] for i in order))])
        for order in ((0, 0, 0, 1), (1, 1, 1, 0))
    )
    for at in (0.0, 0.3, 1.0):
        truth = max(float(np.maximum(a - math.exp(at) * b, 0).sum()) for a, b in ((p, q), (q, p)))
        lower, upper = total.bounds(at)
        assert lower - 1e-13 <= truth <= upper + 1e-13
        assert upper - lower < 1e-10
        least, most = total.epsilon_bounds(min(truth, 1.0))
        assert least <= at + 1e-9
        assert max(float(np.maximum(a - math.exp(most) * b, 0).sum()) for a, b in ((p, q), (q, p))) <= truth + 1e-12
    region = total.region()
    for slope in np.exp(np.linspace(-4, 4, 33)):  # a closed convex set is its lines of support
        reached = float(np.minimum(p, slope * q).sum())  # the least P_FA + slope P_MD
        assert (region.corners @ [slope, 1]).min() == pytest.approx(reached, abs=1e-12)


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_bounds_on_epsilon_at_given_datasets_need_no_tolerance(order):
    """At delta = 0.3 the likelihood ratio is (0.5 - 0.3)/0.1 = 2: ln 2 is strictly between, in either order."""
    mechanism = um.FiniteMechanism([[0.5, 0.5], [0.1, 0.9]], "ab", range(2))
    least, most = um.compose(loss_between(mechanism, *order)).epsilon_bounds(0.3)
    assert least < math.log(2) < most
    assert most - least < 1e-10


def test_the_region_of_many_releases_at_given_datasets_is_an_outer_one(monkeypatch):
    """With the corners switched off, lines of both directions bound the same region from outside."""
    mechanism = um.FiniteMechanism([[0.5, 0.5], [0.1, 0.9]], "ab", range(2))
    total = um.compose(loss_between(mechanism, "a", "b"), 3)
    exact = total.region()
    monkeypatch.setattr(module, "MOST_CORNERS", 0)
    outer = total.region()
    assert exact in outer
    missed = np.linspace(0, 1, 50)
    assert np.abs(outer.false_alarm(missed) - exact.false_alarm(missed)).max() < 0.02


def test_a_certified_mechanism_is_never_worse_than_its_level():
    """Solutions and certified mechanisms bring their space, and count with what they have, at most with their level."""
    solution = um.finite.optimal(um.sums(4, 3), 1.0, loss="absolute")
    real, label = um.compose(solution, 10), um.compose(1, 10)
    for delta in (1e-6, 1e-2):
        assert real.epsilon(delta) <= label.epsilon(delta) + 1e-12
    beside = um.compose([solution, um.ApproxDP(0, 0.25), um.GaussianDP(0.1)])  # what has no finite loss counts too
    assert beside.bounds(100)[0] >= 0.25 - 1e-12
    assert beside.delta(100) >= 0.25
    geometric = um.certify(um.finite.geometric(11, 1.0), um.path(11), 1.0)
    assert um.compose(geometric, 10).epsilon(1e-6) <= label.epsilon(1e-6)


@pytest.mark.parametrize("times", [1, 2, 10, 40])
def test_a_mechanism_that_uses_its_whole_level_is_not_counted_below_the_truth(times):
    """Randomised response at ln 3, labelled so: its delta is the sum over tallies, in balls, and no less is said."""
    coin = um.FiniteMechanism([[0.75, 0.25], [0.25, 0.75]], [0, 1], [0, 1])
    ln_3 = um.PureDP.from_ratio(3)
    response = replace(loss_of((coin, um.path(2))), label=ln_3)
    for at in (Fraction(1, 3), Fraction(1, 2), Fraction(9, 10)):
        with ctx.workprec(300):
            growth = (arb(at.numerator) / at.denominator).exp()
            terms = ((arb(3) ** k - growth * arb(3) ** (times - k)) * math.comb(times, k) for k in range(times + 1))
            truth = sum((term for term in terms if term > 0), arb(0)) / arb(4) ** times
            lower, upper = um.compose(response, times).bounds(at)
            assert arb(upper) >= truth
            assert arb(lower) <= truth
            assert um.compose(ln_3, times).delta(at) == pytest.approx(upper, rel=1e-11)


def test_knots_compose():
    """A suitable pair given by the graph of (0.4, 0.1)-DP composes like that level."""
    level = um.ApproxDP.from_ratio("3/2", "1/10")
    bend = Fraction(9, 10) / Fraction(5, 2)
    pair = um.SuitablePair([(0, "1/10"), (bend, 1 - bend), ("9/10", 1), (1, 1)])
    for at in (0.0, 0.3, 0.9):
        assert um.compose(pair, 3).delta(at) == pytest.approx(um.compose(level, 3).delta(at), abs=1e-12)
    assert loss_of(pair).infinite == Fraction(1, 10)


def test_inverse_questions():
    """The largest epsilon fits and a little more does not; as many releases fit as are said, and not one more."""
    total = um.ApproxDP(1, 1e-6)
    best = largest_epsilon(100, total)
    assert um.compose(best, 100).delta(1) <= 1e-6 < um.compose(best * 1.000001, 100).delta(1)
    assert best > um.accounting.largest_epsilon(100, 1) == 0.01
    with_delta = largest_epsilon(10, total, delta=1e-8)
    assert um.compose(um.ApproxDP(with_delta, 1e-8), 10).delta(1) <= 1e-6
    many = how_many(0.01, total)
    assert um.compose(0.01, many).delta(1) <= 1e-6 < um.compose(0.01, many + 1).delta(1)
    assert how_many(0.1, "0.3") == 3
    assert how_many(um.PureDP.from_ratio(2), um.PureDP.from_ratio(8)) == 3
    assert how_many(2, 1) == 0
    assert how_many(um.ApproxDP(0.1, 1e-9), 1) == 0
    with pytest.raises(InvalidInput, match="exceed the total delta"):
        largest_epsilon(10, total, delta=1e-6)
    with pytest.raises(InvalidInput, match="times is 0"):
        largest_epsilon(0, total)


def test_the_same_mechanism_on_two_spaces_is_two_releases():
    """Its neighbours differ, and so do its losses: ln 4 on the path, ln 6 on the triangle."""
    mechanism = um.FiniteMechanism([[0.6, 0.3, 0.1], [0.4, 0.4, 0.2], [0.1, 0.3, 0.6]], range(3), range(3))
    both = um.compose([(mechanism, um.path(3)), (mechanism, um.complete(3))])
    assert both.epsilon(0) == pytest.approx(math.log(4) + math.log(6), abs=1e-11)
    assert both.count == 2


def exact_delta(rows, epsilon_growth=Fraction(1)):
    p, q = ([Fraction(x) for x in row] for row in rows)
    p, q = [x / sum(p) for x in p], [x / sum(q) for x in q]
    return max(sum(max(a - epsilon_growth * b, 0) for a, b in zip(*pair, strict=True)) for pair in ((p, q), (q, p)))


@pytest.mark.parametrize("step", [0.0, 2e-14, 1e-12])
def test_ratios_near_one_are_bracketed(step):
    """A loss too small to be told from others is not no loss: the truth by fractions lies within the bounds."""
    x = 0.5 + step
    rows = [[x, 1 - x], [0.5, 0.5]]
    lower, upper = um.compose((um.FiniteMechanism(rows, [0, 1], [0, 1]), um.path(2))).bounds(0)
    assert Fraction(lower) <= exact_delta(rows) <= Fraction(upper) <= exact_delta(rows) + Fraction(1, 10**12)
    assert step or upper == 0


def test_many_ratios_close_to_their_neighbours_do_not_drift():
    """Three hundred outputs whose ratios differ by 5e-14 each: together they are 1.5e-11 apart, and counted so."""
    n = 300
    rows = [[(1 + 5e-14 * i) / n for i in range(n)], [1 / n] * n]
    total = um.compose((um.FiniteMechanism(rows, [0, 1], range(n)), um.path(2)))
    lower, upper = total.bounds(0)
    assert Fraction(lower) <= exact_delta(rows) <= Fraction(upper)


def test_probabilities_at_the_end_of_the_floats():
    """The least float as a probability: a loss of 744, no warning, no overflow."""
    rows = [[5e-324, 1.0], [0.5, 0.5]]
    total = um.compose((um.FiniteMechanism(rows, [0, 1], [0, 1]), um.path(2)))
    brackets(total, 0, exact_delta(rows), gap=2e-12)
    assert total.epsilon(0) == pytest.approx(math.log(0.5) - math.log(5e-324), rel=1e-12)


def test_a_total_with_a_large_delta_allows_large_epsilons():
    """The search does not stop at the total's epsilon; where anything fits, it says so."""
    best = largest_epsilon(1, um.ApproxDP(1, 0.9))
    assert um.compose(best).delta(1) <= 0.9 < um.compose(best * 1.000001).delta(1)
    assert largest_epsilon(10, um.ApproxDP(1, 1)) == math.inf
    assert largest_epsilon(10, um.ApproxDP(math.inf, 0.1), delta=0.01) == math.inf
    assert largest_epsilon(10, math.inf) == math.inf
    with pytest.raises(InvalidInput, match="exceed the total delta"):
        largest_epsilon(10, um.ApproxDP(math.inf, 0.1), delta=0.02)
    ratio = um.PureDP.from_ratio("1000001/1000000")
    assert um.PureDP(largest_epsilon(3, ratio)).exponent * 3 < ratio.epsilon


def test_a_delta_below_all_floats_is_not_zero():
    """Rounded up to the least float: 1e-339 does not fit within 1e-345."""
    assert how_many(um.GaussianDP(1), um.ApproxDP(40, "1e-345")) == 0
    assert um.compose(um.GaussianDP(1)).bounds(40) == (0, 5e-324)
    assert um.compose([0.1, 0.2]).epsilon("1e-330") == 0.3
    assert um.compose(um.GaussianDP(1)).epsilon("1e-330") == math.inf
    low, high = um.compose(um.GaussianDP(1)).epsilon_bounds("1e-310")
    assert 38.06 < low <= high < 38.07


def test_two_levels_with_a_tiny_unit_are_two_levels():
    """No lattice of 1e-8 is filled for two losses, which have four outcomes."""
    total = um.compose([0.5, 1.00000001])
    assert len(total._outcomes.first[0]) * len(total._outcomes.second[0]) == 4
    brackets(total, 0.7, by_enumeration([(0.5, 0), (1.00000001, 0)], 0.7))
    assert um.accounting.outcomes._lattice(um.compose([0.5, 1.00000001])._parts) is None


def test_levels_beyond_the_integral_have_bounds():
    """Huge and tiny levels, alone and with a Gaussian one: bounds in order, and no error."""
    lower, upper = um.compose([800 + i**0.5 / 7 for i in range(60)]).bounds(47000)
    assert 1 - 1e-11 < lower <= upper == 1
    tiny = [1e-170 * (1 + i**0.5) for i in range(60)]
    lower, upper = um.compose(tiny).bounds(0)
    assert 0 <= lower <= upper <= sum(tiny)
    assert um.compose(tiny).epsilon_bounds(1e-6) == (0, 0)
    low, high = um.compose([um.GaussianDP(0.01), 45, 44]).epsilon_bounds(1e-6)
    assert 89 < low <= high < low + 1e-9
    lower, upper = um.compose([um.GaussianDP(1e4), 0.1]).bounds(1)
    assert 1 - 1e-12 < lower <= upper == 1
    lower, upper = um.compose([um.GaussianDP(1e4), *(0.1 + i**0.5 for i in range(60))]).bounds(1)
    assert 0 <= lower <= upper == 1
    assert um.compose(0.1).bounds(10**400) == (0, 0)
    assert um.compose([um.GaussianDP("1e400"), 0.1]).bounds("inf") == (0, 0)
    low, high = um.compose(um.GaussianDP("1e400")).epsilon_bounds(0.5)  # mu^2/2, beyond the floats
    assert 1e307 < low < high == math.inf
    assert len(um.compose(um.GaussianDP("1e400")).region().corners) > 1
    assert um.compose(um.GaussianDP(1)).bounds(10**400) == (0, 5e-324)


def test_ratios_are_counted_without_their_powers():
    """Ten million powers of 1000001/1000000 are not multiplied out; where a power is met exactly, it counts."""
    ratio = um.PureDP.from_ratio("1000001/1000000")
    assert how_many(ratio, 1) == math.floor(1 / math.log1p(1e-6))
    assert um.compose(ratio, 10**7).bounds(10) == (0, 0)
    assert um.compose(ratio, 10**7).epsilon(0) == pytest.approx(10**7 * math.log1p(1e-6), rel=1e-15)
    assert how_many(um.PureDP.from_ratio("3/2"), um.PureDP.from_ratio(Fraction(3, 2) ** 100)) == 100
    with pytest.raises(InvalidInput, match="releases of 0-DP fit"):
        how_many(um.GaussianDP(0), 1)


def test_compositions_add():
    """Equal levels are counted together, whatever the order."""
    total = um.compose([0.1, 0.2]) + um.compose(0.1, 3)
    assert total.count == 5
    assert dict(total.releases) == {um.PureDP(0.1): 4, um.PureDP(0.2): 1}
    assert isinstance(total, Composition)
    assert module.gaussian_delta(Fraction(1), Fraction(0))[1] == pytest.approx(2 * norm.cdf(0.5) - 1)


# ---- many different levels ----


def on_a_grid(levels, epsilon, unit, up):
    """Delta at an epsilon if every level is rounded to a multiple of `unit`, up or down: a bound on either side."""
    rounded = [math.ceil(e / unit) if up else math.floor(e / unit) for e in levels]
    masses = np.ones(1)
    for steps in rounded:
        likely = 1 / (1 + math.exp(-steps * unit))
        wider = np.zeros(len(masses) + steps)
        wider[steps:] = likely * masses
        wider[: len(masses)] += (1 - likely) * masses
        masses = wider
    losses = (2 * np.arange(len(masses)) - sum(rounded)) * unit
    over = np.maximum(losses - epsilon, 0.0)
    return float(masses @ -np.expm1(-over))


@pytest.mark.parametrize(("count", "low", "high"), [(25, 0.05, 0.5), (45, 0.5, 3), (60, 0.5, 3), (100, 0.01, 0.2)])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.8])
def test_many_different_levels_lie_between_grids(count, low, high, share):
    """Bounds close to each other, and between those of levels rounded to a grid, at any part of the largest loss."""
    levels = np.random.default_rng(count).uniform(low, high, count).tolist()
    epsilon, unit = share * sum(levels), 1e-3 * low
    lower, upper = um.compose(levels).bounds(epsilon)
    assert on_a_grid(levels, epsilon, unit, up=False) <= upper * (1 + 1e-9)
    assert lower * (1 - 1e-9) <= on_a_grid(levels, epsilon, unit, up=True)
    assert 0 <= lower <= upper
    if upper > 1e-12:
        assert upper - lower <= 1e-6 * upper


def test_nearby_epsilons_share_an_integrand_and_agree_with_fresh_ones():
    """What is kept from one epsilon serves others near it: bounds overlap those of a composition that keeps nothing."""
    levels = np.random.default_rng(1).uniform(0.5, 2, 50).tolist()
    kept = um.compose(levels)
    for epsilon in (40.0, 40.01, 40.1, 41.0, 39.9):
        lower, upper = kept.bounds(epsilon)
        fresh = um.compose(levels).bounds(epsilon)
        assert max(lower, fresh[0]) <= min(upper, fresh[1])
    assert len(kept._transform.spectra) == 1


def test_a_hundred_levels_take_no_million_of_millions():
    """The factors that an epsilon needs: at most one full table for the last digits, and small ones for the search."""
    levels = np.random.default_rng(0).uniform(0.5, 3, 60).tolist()
    total, factors = um.compose(levels), []
    dense = inversion._dense_product

    def counted(transform, tilt, count, step):
        factors.append(len(tilt) * count)
        return dense(transform, tilt, count, step)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inversion, "_dense_product", counted)
        total.epsilon(1e-6)
    assert sum(factors) <= 3 * inversion.MOST_DENSE
