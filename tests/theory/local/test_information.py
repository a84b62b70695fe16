"""Local mechanisms for information and any utility, the simple ones, and LIM's claims about them."""

import importlib
import math

import numpy as np
import pytest
from oracles.programs import pattern_lp
from scipy.optimize import linprog

import utmost as um
from utmost.errors import InvalidInput, TooLarge, UnsupportedLevel
from utmost.theory.local.design import simple_ranges
from utmost.theory.local.design.information import response_prices
from utmost.theory.local.design.simple import halves
from utmost.theory.local.patterns import information_of, subset_sums
from utmost.theory.local.verify import patterns
from utmost.theory.local.verify.patterns import _worst_fraction, information_bound

information_module = importlib.import_module("utmost.theory.local.design.information")
SKEWED = (0.5, 0.2, 0.15, 0.1, 0.05)


def pattern_information(prior, q):
    """The information of every pattern q + 1_A, letter by letter."""
    k = len(prior)
    columns = q + ((np.arange(1, 2**k)[:, None] >> np.arange(k)) & 1)
    return (prior * columns * np.log(columns / (columns @ prior)[:, None])).sum(axis=1)


# ---- information ----


@pytest.mark.parametrize(
    ("prior", "epsilon", "value"),
    [
        ([1 / 8] * 8, 1, 0.122563290),
        ([1 / 6] * 6, 0.5, 0.030299862),
        (SKEWED, 1, 0.117659042),
        (SKEWED, 0.2, 0.004975111),
        (SKEWED, 5, 1.193448148),
    ],
)
def test_information_of_known_cases(prior, epsilon, value):
    """Nine digits, with a closed gap."""
    solution = um.local.for_information(prior, epsilon)
    assert solution.value == pytest.approx(value, abs=6e-10)
    assert solution.certificate.gap < 1e-11
    assert solution.verify(), solution.verify()


@pytest.mark.parametrize("seed", range(40))
def test_information_is_the_optimum_over_all_patterns(seed):
    """Random priors, zeros and ties included, epsilon from 0.05 to 8: between a primal and a dual value."""
    rng = np.random.default_rng(seed)
    k, epsilon = int(rng.integers(2, 9)), float(rng.choice([0.05, 0.3, 1, 2.5, 8]))
    prior = rng.dirichlet(np.full(k, rng.choice([0.5, 1, 4])))
    if seed % 4 == 1:
        prior = np.round(prior * 10) + 1
        prior[rng.integers(k)] = 0
        prior /= prior.sum()
    solution = um.local.for_information(prior, epsilon)
    q = 1 / math.expm1(epsilon)
    likely = prior[prior > 0]
    low, high = pattern_lp(pattern_information(likely, q), len(likely), q)
    assert low * (1 - 1e-9) - 1e-14 <= solution.value <= high * (1 + 1e-9) + 1e-14
    assert solution.certificate.gap <= 1e-9 * solution.value
    assert solution.verify(), solution.verify()
    assert solution.value == pytest.approx(um.local.information(solution, prior), rel=1e-12)


@pytest.mark.parametrize("q", [1e-6, 0.01, 0.58, 10.0, 1000.0])
def test_the_information_of_a_pattern_is_concave(q):
    """In the probability of its set, which the bound for many letters relies on; and it is what the letters say."""
    mass = np.linspace(0, 1, 2001)
    height = information_of(mass, q)
    assert (np.diff(height, 2) <= 1e-13 * height.max()).all()
    prior = np.array([0.3, 0.7])
    assert information_of(np.array([0.3]), q)[0] == pytest.approx(pattern_information(prior, q)[0], rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("seed", range(10))
def test_the_bound_with_fractions_holds_for_any_prices(seed):
    """Against the search over all patterns, for the same prices: never below, above by less than the dearest letter."""
    rng = np.random.default_rng(seed)
    prior, q = rng.dirichlet(np.full(12, rng.choice([0.3, 2.0]))), float(rng.choice([0.05, 0.58, 10]))
    best = um.local.for_information(prior, float(np.log1p(1 / q))).certificate.evidence["prices"]
    for prices in (best, best * 0.9, prior * best.sum(), best + rng.normal(size=12) * best.mean() * 0.1):
        excess = pattern_information(prior, q) - subset_sums(prices)
        assert excess.max() <= _worst_fraction(prior, q, prices) <= excess.max() + best.max()


def test_no_function_of_ours_is_taken_for_a_test():
    """Pytest collects what is named test...; the bound for testing hypotheses is none, wherever it is imported."""
    assert patterns.testing_bound.__test__ is False


def test_information_of_many_letters(tmp_path):
    """Beyond 18 letters the knapsack with fractions bounds it; uniform priors are exact at any size; files keep it."""
    prior = np.random.default_rng(3).dirichlet(np.ones(24))
    solution = um.local.for_information(prior, 1.0)
    assert 0 < solution.certificate.gap < 1e-4 * solution.value
    assert solution.verify(), solution.verify()
    assert um.Solution.load(solution.save(tmp_path / "s.json")).verify()
    uniform = um.local.for_information(np.full(500, 1 / 500), 1.0)
    assert uniform.certificate.gap < 1e-9 * uniform.value
    assert uniform.verify()
    with pytest.raises(TooLarge):
        um.local.for_information(np.append(np.full(998, 1 / 1000), [2 / 1000]), 1.0)


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_beyond_enumeration_holds_for_any_prices(seed, monkeypatch):
    """Eleven letters, five of them looked at in all sets: no prices prove less than the optimum over all patterns."""
    rng = np.random.default_rng(seed)
    k, epsilon = 11, float(rng.choice([0.1, 1, 3, 6, 12]))
    prior, q = rng.dirichlet(np.full(k, rng.choice([0.3, 1, 20]))), 1 / math.expm1(epsilon)
    low, high = pattern_lp(pattern_information(prior, q), k, q)
    exact = um.local.for_information(prior, epsilon).certificate.evidence["prices"]
    monkeypatch.setattr(patterns, "MOST_ENUMERATED", 5)
    monkeypatch.setattr(patterns, "LEFT_OVER", 3)
    for prices in (exact, response_prices(prior, q), exact * rng.uniform(0.9, 1.1, k), rng.dirichlet(np.ones(k)) * low):
        assert information_bound(prior, um.PureDP(epsilon), prices) >= low * (1 - 1e-9)
    entropy = -math.fsum(prior * np.log(prior))
    assert information_bound(prior, um.PureDP(epsilon), exact) <= min(entropy, 1.2 * high) * (1 + 1e-9)


@pytest.mark.parametrize(("epsilon", "gap"), [(0.5, 1e-4), (3, 1e-2), (6, 1e-2), (10, 1e-9)])
def test_information_beyond_enumeration_is_near_the_optimum(epsilon, gap, monkeypatch):
    """Thirteen letters by columns, six of them looked at in all sets, against all patterns; and the stated gap."""
    prior = np.random.default_rng(3).dirichlet(np.ones(13))
    exact = um.local.for_information(prior, epsilon)
    for module in (patterns, information_module):
        monkeypatch.setattr(module, "MOST_ENUMERATED", 6)
    found = um.local.for_information(prior, epsilon)
    assert found.value <= exact.value * (1 + 1e-9) <= found.certificate.bound * (1 + 2e-9)
    assert found.certificate.gap <= gap * found.value
    assert found.verify(), found.verify()


@pytest.mark.long
@pytest.mark.parametrize(("k", "gap"), [(19, 1e-9), (24, 2e-3), (50, 2e-2)])
def test_information_of_many_letters_at_large_epsilons(k, gap):
    """The bound stays below the entropy of the prior, and near the value, where fractions of letters said much more."""
    prior = np.random.default_rng(k).dirichlet(np.ones(k))
    for epsilon in (6, 12):
        solution = um.local.for_information(prior, epsilon)
        assert solution.certificate.bound <= -math.fsum(prior * np.log(prior)) * (1 + 1e-11)
        assert solution.certificate.gap <= gap * solution.value


def test_subset_mechanisms_tell_what_cyclic_sets_tell():
    """For a uniform prior all sets of the best size and k cyclic ones keep the same information."""
    for k, epsilon in ((5, 0.5), (8, 1.0), (7, 3.0)):
        everything = um.local.information(um.local.subset(k, epsilon), np.full(k, 1 / k))
        assert um.local.for_information(np.full(k, 1 / k), epsilon).value == pytest.approx(everything, rel=1e-12)


def test_edges_of_information():
    """Nothing at epsilon = 0, the entropy without privacy, nothing to tell about a sure letter."""
    entropy = -sum(p * math.log(p) for p in SKEWED)
    for epsilon, value in ((0, 0.0), (math.inf, entropy), (50, entropy)):
        solution = um.local.for_information(SKEWED, epsilon)
        assert solution.value == pytest.approx(value, rel=1e-12)
        assert solution.verify(), solution.verify()
    assert um.local.for_information([1.0, 0.0], 1).value == 0
    with pytest.raises(InvalidInput):
        um.local.for_information([], 1)


# ---- any utility ----


@pytest.mark.parametrize("seed", range(6))
def test_linear_program_agrees_with_the_other_ways(seed):
    """KL by partitions, information by prices, guessing by randomised response: one program gives all."""
    rng = np.random.default_rng(seed)
    k, epsilon = int(rng.integers(2, 12)), float(rng.choice([0.2, 1, 3]))
    p0, p1 = rng.dirichlet(np.ones(k), 2)

    def divergence(columns):
        return (columns @ p0) * np.log((columns @ p0) / (columns @ p1))

    program = um.local.linear_program(divergence, k, epsilon)
    assert program.value == pytest.approx(um.local.for_testing(p0, p1, epsilon).value, rel=1e-9)
    assert program.certificate.gap <= 1e-9 * program.value + 1e-13
    assert program.verify(), program.verify()
    one_by_one = um.local.linear_program(lambda column: float(np.max(column * p0)), k, epsilon)
    assert one_by_one.verify()
    assert one_by_one.value >= max(p0)


def test_linear_program_refuses_what_is_not_sublinear():
    """Too many letters, a utility that is not homogeneous, or not convex, or not finite; no level to solve at."""
    for utility, words in (
        (lambda c: (c**2).sum(axis=-1), "homogeneous"),
        (lambda c: c.min(axis=-1), "convex"),
        (lambda c: c.sum(axis=-1) * math.nan, "finite"),
    ):
        with pytest.raises(InvalidInput, match=words):
            um.local.linear_program(utility, 4, 1.0)
    with pytest.raises(TooLarge):
        um.local.linear_program(lambda c: c.max(axis=-1), 21, 1.0)
    with pytest.raises(UnsupportedLevel):
        um.local.linear_program(lambda c: c.max(axis=-1), 3, 0)


# ---- the simple mechanisms ----


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_simple_mechanisms_are_private(epsilon):
    """All of them spend exactly epsilon and are certified at it."""
    prior = np.array(SKEWED)
    for mechanism in (
        um.local.binary(prior, prior[::-1], epsilon),
        um.local.binary_for_information(prior, epsilon),
        um.local.randomized_response(5, epsilon),
        um.local.subset(5, epsilon, 2),
        um.local.geometric(5, epsilon),
    ):
        assert mechanism.epsilon(um.complete(5)) == pytest.approx(epsilon, rel=1e-9)
        assert um.certify(mechanism, um.complete(5), epsilon).moved < 1e-9


def stochastic_map(simulated, source):
    """A stochastic matrix W with source W = simulated, by linear programming; None if there is none."""
    (k, m), n = source.shape, simulated.shape[1]
    equal = [np.kron(source[x], np.eye(n)[y]) for x in range(k) for y in range(n)]
    sums = [np.kron(np.eye(m)[i], np.ones(n)) for i in range(m)]
    result = linprog(
        np.zeros(m * n), A_eq=np.array(equal + sums), b_eq=np.append(simulated.ravel(), np.ones(m)), bounds=(0, 1)
    )
    return result.x.reshape(m, n) if result.status == 0 else None


@pytest.mark.parametrize("seed", range(25))
def test_the_quaternary_mechanism_dominates(seed):
    """Any (eps, delta) mechanism on one bit is simulated from it, by a map that is found; not so at a smaller delta."""
    rng = np.random.default_rng(seed)
    outputs = int(rng.integers(2, 7))
    matrix = rng.dirichlet(np.full(outputs, rng.choice([0.3, 1])), 2)
    epsilon = float(rng.choice([0, 0.2, 1, 2]))
    mechanism = um.FiniteMechanism(matrix, range(2), range(outputs))
    delta = mechanism.delta(um.complete(2), epsilon)
    level = um.ApproxDP(epsilon, min(1.0, delta * (1 + 1e-9) + 1e-12))
    best = um.local.quaternary(level)
    assert best.delta(um.complete(2), epsilon) <= float(level.delta) + 1e-12
    witness = stochastic_map(matrix, best.matrix)
    assert witness is not None
    assert best.matrix @ witness == pytest.approx(matrix, abs=1e-7)
    if delta > 1e-3:
        assert stochastic_map(matrix, um.local.quaternary(um.ApproxDP(epsilon, delta * 0.9)).matrix) is None


def test_the_quaternary_mechanism_is_certified():
    """In exact arithmetic, zeros kept, for several levels."""
    for level in (um.ApproxDP(1, 0.1), um.ApproxDP.from_ratio(3, "1/7"), um.ApproxDP(0, 0.25)):
        assert um.certify(um.local.quaternary(level), um.path(2), level).moved < 1e-9
    with pytest.raises(UnsupportedLevel):
        um.local.quaternary(um.GaussianDP(1))


EPSILONS = (0.1, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 7, 10)


def least_shares(k, instances, every):
    """The least shares of divergence and information that the better of binary and randomised response reaches."""
    rng = np.random.default_rng(k)
    least = [1.0, 1.0]
    for i in range(instances):
        p0, p1 = rng.dirichlet(np.ones(k), 2)
        for epsilon in EPSILONS if every else EPSILONS[i % len(EPSILONS) :][:1]:
            response = um.local.randomized_response(k, epsilon)
            simple = max(um.local.divergence_of(m, p0, p1) for m in (um.local.binary(p0, p1, epsilon), response))
            least[0] = min(least[0], simple / um.local.for_testing(p0, p1, epsilon).value)
            binary = um.local.binary_for_information(p0, epsilon)
            kept = max(um.local.information(m, p0) for m in (binary, response))
            least[1] = min(least[1], kept / um.local.for_information(p0, epsilon).value)
    return least


@pytest.mark.long
@pytest.mark.parametrize("k", [3, 4, 5, 6])
def test_the_better_of_two_simple_ones_is_as_good_as_lim_says(k):
    """LIM Figures 3.4 and 3.7: 100 random instances each; at least 60 % of the divergence, 75 % of the information."""
    divergence, information = least_shares(k, 100, every=False)
    assert 0.60 <= divergence < 1
    assert 0.75 <= information < 1


@pytest.mark.long
@pytest.mark.parametrize("k", [3, 4, 5, 6])
def test_the_better_of_two_simple_ones_at_every_epsilon(k):
    """The same at every epsilon for each instance, as in the figures."""
    divergence, information = least_shares(k, 100, every=True)
    assert 0.60 <= divergence < 1
    assert 0.75 <= information < 1


@pytest.mark.parametrize("seed", range(4))
def test_simple_mechanisms_are_optimal_where_the_thresholds_say(seed):
    """At the thresholds' sides, against the program over all patterns; total variation everywhere."""
    rng = np.random.default_rng(seed)
    p0, p1 = rng.dirichlet(np.full(4, 2.0), 2)
    found = um.local.thresholds_for_testing(p0, p1, "chi2")
    assert 0 < found.binary_until <= found.response_from < math.inf

    def best(epsilon):
        return um.local.linear_program(lambda c: (c @ (p0 - p1)) ** 2 / (c @ p1), 4, epsilon).value

    for epsilon, simple in (
        (found.binary_until * 0.98, um.local.binary(p0, p1, found.binary_until * 0.98)),
        (found.response_from * 1.02, um.local.randomized_response(4, found.response_from * 1.02)),
    ):
        assert um.local.divergence_of(simple, p0, p1, "chi2") == pytest.approx(best(epsilon), rel=1e-8)
    for epsilon, simple in (
        (found.binary_until * 1.1, um.local.binary(p0, p1, found.binary_until * 1.1)),
        (found.response_from * 0.9, um.local.randomized_response(4, found.response_from * 0.9)),
    ):
        assert um.local.divergence_of(simple, p0, p1, "chi2") < best(epsilon) * (1 - 1e-7)
    always = um.local.thresholds_for_testing(p0, p1, "tv")
    assert (always.binary_until, always.response_from) == (math.inf, math.inf)
    told = um.local.thresholds_for_information(p0)
    assert 0 < told.binary_until <= told.response_from < 12


def test_ties_have_no_universal_binary_mechanism():
    """Where P0 = P1 at a letter, KL wants it on one side and the reverse on the other, at every epsilon."""
    p0, p1 = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    for epsilon in (0.01, 0.1, 0.5):
        one, other = um.local.binary(p0, p1, epsilon), um.local.binary(p1, p0, epsilon)
        for f, better, worse in (("kl", other, one), ("reverse-kl", one, other)):
            best = um.local.for_testing(p0, p1, epsilon, f).value
            assert um.local.divergence_of(better, p0, p1, f) == pytest.approx(best, rel=1e-9)
            assert um.local.divergence_of(worse, p0, p1, f) < best * (1 - 1e-6)


@pytest.mark.parametrize("k", [3, 5, 7])
def test_odd_uniform_priors_have_no_optimal_binary_mechanism(k):
    """With several sets equally near to one half, but not at it, cyclic sets keep more information at every epsilon."""
    prior = np.full(k, 1 / k)
    for epsilon in (1e-3, 0.01, 0.1, 1):
        best = um.local.for_information(prior, epsilon).value
        assert um.local.information(um.local.binary_for_information(prior, epsilon), prior) < best * (1 - epsilon / 100)
    assert um.local.thresholds_for_information(prior).binary_until == 0


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
def test_randomised_response_is_optimal_from_where_its_only_prices_prove_it(seed, monkeypatch):
    """Ten letters: the threshold by prices is where the program over all patterns says so, enumerated or not."""
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.ones(10))
    found = um.local.thresholds_for_information(prior)
    for factor, optimal in ((0.98, False), (1.02, True)):
        epsilon = found.response_from * factor
        kept = um.local.information(um.local.randomized_response(10, epsilon), prior)
        q = 1 / math.expm1(epsilon)
        low, high = pattern_lp(pattern_information(prior, q), 10, q)
        assert (kept >= high * (1 - 1e-9)) == optimal, (kept, low, high)
    monkeypatch.setattr(patterns, "MOST_ENUMERATED", 5)
    monkeypatch.setattr(patterns, "LEFT_OVER", 3)
    monkeypatch.setattr(simple_ranges, "MOST_ENUMERATED", 5)
    again = um.local.thresholds_for_information(prior)
    assert again.response_from == pytest.approx(found.response_from, rel=1e-6)


@pytest.mark.long
def test_thresholds_of_fifty_letters():
    """More letters than can be enumerated: from the threshold on, pairs of letters are no better than single ones."""
    prior = np.random.default_rng(0).dirichlet(np.ones(50))
    found = um.local.thresholds_for_information(prior)
    assert found.binary_until == 0
    assert 4 < found.response_from < 20


def test_a_letter_that_never_occurs_keeps_randomised_response_from_being_optimal():
    """It takes a part of every answer; leaving it out is better at every epsilon."""
    assert um.local.thresholds_for_information([0.5, 0.3, 0.2, 0.0]).response_from == math.inf


# ---- one half of the letters ----


@pytest.mark.parametrize("k", [1, 2, 20, 21, 23])
@pytest.mark.parametrize("spread", [0.1, 1, 50])
def test_the_nearest_set_to_one_half_is_the_nearest_of_all(k, spread):
    """All 2^k sets."""
    prior = np.random.default_rng(k).dirichlet(np.full(k, spread)) if k > 1 else np.ones(1)
    mask = halves(prior)
    assert mask[0]
    assert abs(prior[mask].sum() - 0.5) == pytest.approx(np.abs(subset_sums(prior) - 0.5).min(), abs=1e-15)


@pytest.mark.parametrize("k", [41, 60, 400, 1000])
def test_many_letters_are_halved_within_the_proved_error(k):
    """Sums in whole units, where the nearest is known: odd multiples cannot do better than half a unit."""
    rng = np.random.default_rng(k)
    whole = rng.integers(1, 1000, k)
    prior = whole / whole.sum()
    assert abs(prior[halves(prior)].sum() - 0.5) <= (whole.sum() % 2) / (2 * whole.sum()) + 1e-12
    few = np.append(0.3, np.append(0.3, np.full(k, 0.4 / k)))  # the nearest: 0.3 and half of the others, or so
    assert abs(few[halves(few)].sum() - 0.5) <= 0.4 / k / 2 + 1e-12
    heavy = np.append(0.9, np.full(k, 0.1 / k))
    assert abs(heavy[halves(heavy)].sum() - 0.5) == pytest.approx(0.4, abs=1e-12)


# ---- what privacy costs ----


@pytest.mark.parametrize("seed", range(5))
def test_converse_bounds(seed):
    """Total variation at every epsilon; the leading terms at either end, with errors of the order they say."""
    rng = np.random.default_rng(seed)
    p0, p1 = rng.dirichlet(np.full(4, 3.0), 2)
    for epsilon in (0.01, 1, 5):
        best = um.local.for_testing(p0, p1, epsilon, "tv").value
        assert um.local.total_variation_limit(p0, p1, epsilon) == pytest.approx(best, rel=1e-12)
    ratios = [
        um.local.for_testing(p0, p1, e).value / um.local.divergence_at_high_privacy(p0, p1, e) for e in (2e-3, 1e-3)
    ]
    assert abs(ratios[1] - 1) < 0.6 * abs(ratios[0] - 1) + 1e-9
    off = [um.local.for_testing(p0, p1, e).value - um.local.divergence_at_low_privacy(p0, p1, e) for e in (12, 13)]
    assert abs(off[1]) < 0.2 * abs(off[0]) + 1e-14  # e^-2 = 0.135
    told = um.local.for_information(p0, 1e-3).value / um.local.information_at_high_privacy(p0, 1e-3)
    assert told == pytest.approx(1, abs=2e-3)
    off = [um.local.for_information(p0, e).value - um.local.information_at_low_privacy(p0, e) for e in (10, 11)]
    assert abs(off[1]) < 0.25 * abs(off[0]) + 1e-13


def test_what_a_level_costs_in_people():
    """Nothing without privacy, ever more with it, everything at epsilon = 0."""
    p0, p1 = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    factors = [um.local.price_in_people(p0, p1, e).factor for e in (100, 3, 1, 0.3, 0.1)]
    assert factors == sorted(factors)
    assert factors[0] == pytest.approx(1)
    assert um.local.price_in_people(p0, p1, 0).effective == 0
    for wrong in (0, 2.5, True):
        with pytest.raises(InvalidInput):
            um.local.price_in_people(p0, p1, 1, people=wrong)
    for converse in (um.local.divergence_at_low_privacy, um.local.total_variation_limit):
        with pytest.raises(InvalidInput):
            converse([1.0, 0.0], [0.5], 1)
    with pytest.raises(InvalidInput, match="probability 0"):
        um.local.divergence_at_low_privacy([1.0, 0.0], [0.5, 0.5], 1)
    with pytest.raises(InvalidInput, match="probability 0"):
        um.local.information_at_low_privacy([1.0, 0.0], 1)


@pytest.mark.long
@pytest.mark.parametrize("epsilon", [1e-6, 1e-9, 1e-10, 1e-12, 1e-14, 1e-16, 1e-20, 1e-150, 1e-170, 1e-308, "1e-400"])
@pytest.mark.parametrize(
    "prior", [[0.5, 0.3, 0.2], SKEWED, [0.25] * 4, [0.5, 0.0, 0.5], [0.7, 0.3], np.arange(1, 25) / 300]
)
def test_information_at_tiny_epsilons(prior, epsilon):
    """Next to the leading term, with its proof; no error at any epsilon."""
    solution = um.local.for_information(prior, epsilon)
    assert solution.verify(), solution.verify()
    lead, epsilon = um.local.information_at_high_privacy(prior, epsilon), float(epsilon)
    assert solution.value == pytest.approx(lead, rel=1e-3 if len(prior) > 20 else 2 * epsilon + 1e-9, abs=1e-320)
    assert solution.certificate.bound >= lead * (1 - epsilon - 1e-9)


def test_priors_without_letters_are_refused():
    """By every function that takes a prior."""
    mechanism = um.local.randomized_response(2, 1)
    for call in (
        lambda: um.local.for_information([], 1),
        lambda: um.local.binary_for_information([], 1),
        lambda: um.local.information_at_high_privacy([], 1),
        lambda: um.local.information_at_low_privacy([], 1),
        lambda: um.local.thresholds_for_information([]),
        lambda: um.local.information(mechanism, []),
    ):
        with pytest.raises(InvalidInput, match="empty"):
            call()


def test_leading_terms_at_the_ends_of_the_scale():
    """No overflow and no nan: infinite where the term is, the entropy without privacy."""
    p0, p1 = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    for epsilon in (800, math.inf):
        assert um.local.divergence_at_high_privacy(p0, p1, epsilon) == math.inf
        assert um.local.divergence_at_high_privacy(p0, p0, epsilon) == 0
    entropy = -sum(p * math.log(p) for p in SKEWED)
    assert um.local.information_at_low_privacy(SKEWED, math.inf) == pytest.approx(entropy, rel=1e-14)
    assert um.local.information_at_high_privacy([1.0, 0.0], math.inf) == 0
    assert um.local.information_at_high_privacy(SKEWED, math.inf) == math.inf
