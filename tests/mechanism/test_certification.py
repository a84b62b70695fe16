"""Certified mechanisms are private by an independent check in rationals; broken ones are never passed."""

import math
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.graphs import least_of, random_level, random_parameters, random_question
from oracles.privacy import exponential_below, is_private
from scipy.stats import norm

import utmost as um
from utmost.errors import CannotCertify, InvalidInput, NoExtension, UnknownPoint
from utmost.exact import as_fmpq
from utmost.mechanism import Law
from utmost.mechanism.certification import CertifiedMechanism, CertifiedRecipe
from utmost.mechanism.decaying_columns import row_sums, sum_error
from utmost.mechanism.rounding import carry_down, round_rows
from utmost.mechanism.violations import find_violation, growth_floor, most_weight
from utmost.space.edge_levels import on_edges
from utmost.space.line import Line
from utmost.theory.scalar.design.yes_or_no import best_yes_or_no


def random_binary_solution(seed):
    rng = np.random.default_rng(seed)
    n, edges, truth, known = random_question(rng)
    epsilon, delta = random_parameters(rng, len(edges))
    space = um.Space.from_edges(edges, points=range(n))
    try:
        return um.binary.extend(space, truth, known, um.per_edge(space, epsilon=epsilon, delta=delta))
    except NoExtension:
        return None


def random_private_mechanism(seed):
    """A private mechanism of several outputs: random scores through the exponential mechanism on a random graph."""
    rng = np.random.default_rng(seed)
    n, edges, _, _ = random_question(rng)
    space = um.Space.from_edges(edges, points=range(n))
    outputs, epsilon = int(rng.integers(2, 6)), float(rng.choice([0.01, 0.5, 1, 3]))
    apart = space.distances()
    scores = -apart[:, rng.integers(0, n, outputs)]
    weights = np.exp(0.5 * epsilon * scores)
    return um.FiniteMechanism(weights / weights.sum(axis=1, keepdims=True), range(n), range(outputs)), space, epsilon


def clamped(noise, n):
    """Integer noise added to 0..n-1 and cut off at the ends, as a table."""
    steps = np.arange(n) - np.arange(n)[:, None]
    matrix = noise.probability(steps)
    matrix[:, 0], matrix[:, -1] = noise.tail(np.arange(n)), noise.tail(np.arange(n)[::-1])
    return um.FiniteMechanism(matrix, range(n), range(n))


def certified_mechanisms():
    """What every designer makes, certified: one case per designer and kind of level."""
    for seed in range(60):
        solution = random_binary_solution(seed)
        if solution is not None:
            yield solution.certified
    for level in (0, 1e-6, 0.3, 5, 40, um.ApproxDP(0, 0.1), um.ApproxDP(1, 1e-9), um.ApproxDP.from_ratio(3, "1/7")):
        yield um.certify(um.binary.balanced(um.counts(12), lambda yes: yes > 6, level))
        yield um.certify(um.binary.best_boundary(um.counts(5), lambda yes: yes > 1, level))
    rankings = lambda votes: ("a", "b", "c") if votes < 5 else ("b", "c", "a")  # noqa: E731
    boundary = {("a", "b", "c"): ["1/2", "3/10", "1/5"], ("b", "c", "a"): ["2/5", "3/10", "3/10"]}
    for level in (0.9, um.ApproxDP(0.6, 0.05)):
        yield um.certify(um.rainbow.extend(um.counts(12), rankings, boundary, level))
        yield um.certify(um.rainbow.best_boundary(um.counts(12), rankings, level, [1, 0.5, 0]))
        yield um.certify(um.rainbow.plurality(30, "xyz", level).solution)
        yield um.certify(um.finite.optimal(um.counts(4), level, loss="absolute"))
    yield um.certify(um.finite.tight_constraints(um.sums(6, 3), 1.0))
    yield um.certify(um.finite.optimal(um.sums(5, 3), 0.4, loss="squared", method="columns"))
    yield um.certify(um.finite.geometric(9, 0.5), um.path(9), 0.5)
    for level in (um.PureDP(0.4), um.ApproxDP(1, 1e-3)):
        yield best_yes_or_no(Line(-20, 20, 3), 4, level).mechanism._prove(Line(-20, 20, 3), level)
    for level in (0.5, um.ApproxDP(1, 0.1)):
        yield um.multiparty.optimal("majority", [level] * 3).mechanism(1)
    for talk in (um.multiparty.xor_or_and(2.0, "best"), um.multiparty.and_saving_delta(um.ApproxDP(1, 0.1), 1.0)):
        yield talk.transcript(0, talk.spaces[1].points[0])
        yield talk.transcript(1, 1)
    for noise in (um.noise.discrete_staircase(1, 5), um.noise.discrete_laplace(0.3, 5)):
        yield um.certify(clamped(noise, 31), um.sums(6, 5), noise.level)
    for epsilon in (0, 0.1, 1, 6):
        yield um.certify(um.local.for_testing([0.4, 0.3, 0.2, 0.1], [0.1, 0.1, 0.2, 0.6], epsilon))
        yield um.certify(um.local.for_information([0.4, 0.3, 0.2, 0.1], epsilon))
        yield um.certify(um.local.randomized_response(5, epsilon), um.complete(5), epsilon)
        yield um.certify(um.local.subset(5, epsilon, 2), um.complete(5), epsilon)
    yield um.certify(um.local.linear_program(lambda column: column.max(axis=-1), 4, 0.7))
    yield um.certify(um.local.quaternary(um.ApproxDP(1, 0.1)), um.path(2), um.ApproxDP(1, 0.1))
    for seed in range(40):
        mechanism, space, epsilon = random_private_mechanism(seed)
        yield um.certify(mechanism, space, epsilon)


def test_every_design_is_certified_and_rationals_agree():
    """Whatever the designers make is certified, moves nothing that matters, and an independent check agrees."""
    count = 0
    for certified in certified_mechanisms():
        assert is_private(certified), certified
        assert certified.moved < 1e-9, certified
        count += 1
    assert count > 70


@pytest.mark.parametrize(
    "level", [um.GaussianDP(0.5), least_of([(Fraction(3), Fraction(0)), (Fraction(2), Fraction(1, 10))])]
)
def test_other_concave_levels_are_certified(level):
    """Gaussian and piecewise linear levels: every event on both sides within `upper`, in balls and rationals."""
    certified = um.certify(um.binary.balanced(um.counts(12), lambda yes: yes > 6, level))
    for a, b in certified.levels.space.edge_indices.tolist():
        for u, v in ((a, b), (b, a)):
            for output in (0, 1):
                here, there = (Fraction(int(certified.weights[x][output]), certified.total) for x in (u, v))
                if isinstance(level, um.GaussianDP):
                    with ctx.workprec(300):
                        moved = [(2 * arb(as_fmpq(x))).erfcinv() * -(arb(2).sqrt()) for x in (here, there)]
                        assert moved[0] <= moved[1] + as_fmpq(Fraction(level.mu))
                else:
                    assert here <= level.at(there)
    assert certified.moved < 1e-9


def test_three_outputs_at_a_gaussian_level():
    """More than two outputs: all events checked by brute force; a mechanism that breaks one event is refused."""
    level = um.GaussianDP(1)
    good = um.FiniteMechanism([[0.5, 0.3, 0.2], [0.4, 0.3, 0.3]], (0, 1), "abc")
    certified = um.certify(good, um.path(2), level)
    for event in [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)]:
        p, q = (float(sum(certified.weights[v][o] for o in event) / certified.total) for v in (0, 1))
        assert p <= level.upper(q)
        assert q <= level.upper(p)
    bad = um.FiniteMechanism([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]], (0, 1), "abc")
    with pytest.raises(CannotCertify):
        um.certify(bad, um.path(2), um.GaussianDP("1/2"))


@given(st.integers(0, 10_000), st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_one_unit_too_many_is_caught(seed, place):
    """Moving units between two outputs until the promise breaks is caught, at the first unit that breaks it."""
    mechanism, space, epsilon = random_private_mechanism(seed)
    certified = um.certify(mechanism, space, epsilon)
    weights = certified.weights.copy()
    rng = np.random.default_rng(place)
    edge = int(rng.integers(len(space.edge_indices)))
    u, v = space.edge_indices[edge].tolist()
    output = int(rng.integers(len(mechanism.outputs)))
    other = (output + 1) % len(mechanism.outputs)
    most = math.floor(exponential_below(certified.levels[edge].exponent) * int(weights[v][output]))
    shift = most - int(weights[u][output])
    if shift >= int(weights[u][other]):
        return
    weights[u][output] += shift + 1
    weights[u][other] -= shift + 1
    assert find_violation(weights, certified.bits, certified.levels) is not None
    with pytest.raises(CannotCertify, match="broken"):
        CertifiedMechanism(weights, certified.bits, mechanism.outputs, certified.levels)


@pytest.mark.parametrize("row", [0, 3])
def test_an_entry_past_the_limit_is_mended_or_refused(row):
    """2^-60 too much is mended by rounding; 1e-9 too much is refused with the edge, the output and epsilon needed."""
    exact = um.binary.balanced(um.counts(5), lambda yes: yes > 2, 1.0).mechanism
    for excess, fine in ((2.0**-60, True), (1e-9, False)):
        matrix = exact.matrix.copy()
        matrix[row, 1] += excess * (1 if row == 3 else -1) * matrix[row, 1]
        matrix[row, 0] = 1 - matrix[row, 1]
        broken = um.FiniteMechanism(matrix, exact.points, exact.outputs)
        if fine:
            assert is_private(um.certify(broken, um.counts(5), 1.0))
        else:
            with pytest.raises(CannotCertify, match="needs epsilon = 1"):
                um.certify(broken, um.counts(5), 1.0)


def test_supports_that_differ_are_refused():
    """A probability against zero is no rounding error, however small."""
    mechanism = um.FiniteMechanism([[1 - 1e-300, 1e-300], [1, 0]], (0, 1), ("no", "yes"))
    with pytest.raises(CannotCertify, match="'yes' has probability 1e-300 at 0 and 0"):
        um.certify(mechanism, um.path(2), 5.0)
    assert is_private(um.certify(mechanism, um.path(2), um.ApproxDP(0, "1e-200")))


@pytest.mark.parametrize("epsilon", [3, 20])
def test_underflow_is_rounding(epsilon):
    """A geometric mechanism in floats is 0 far away, next to 5e-324; its integers are private all the same."""
    n = 900 // epsilon
    points = np.arange(n)
    b = np.exp(-epsilon)
    peaks = np.where((points == 0) | (points == n - 1), 1 / (1 + b), (1 - b) / (1 + b))
    matrix = peaks * np.exp(-epsilon * np.abs(points[:, None] - points))
    assert (matrix == 0).any()
    mechanism = um.FiniteMechanism(matrix, range(n), range(n))
    certified = um.certify(mechanism, um.path(n), epsilon)
    growth = exponential_below(epsilon)
    here, there = certified.weights[:-1].astype(object), certified.weights[1:].astype(object)
    assert (here * growth.denominator <= there * growth.numerator).all()
    assert (there * growth.denominator <= here * growth.numerator).all()
    assert certified.moved < 1e-11


def test_what_underflow_does_not_explain_is_refused():
    """Zero next to the least normal float times e^epsilon is rounding; next to ten times that it is not."""
    for factor, fine in ((0.5, True), (10, False)):
        share = factor * 2.0**-1022 * math.e
        mechanism = um.FiniteMechanism([[1, share], [1, 0]], (0, 1), ("no", "yes"))
        if fine:
            assert is_private(um.certify(mechanism, um.path(2), 1))
        else:
            with pytest.raises(CannotCertify, match="0 at its neighbour"):
                um.certify(mechanism, um.path(2), 1)


@pytest.mark.parametrize("bits", [62, 70])
def test_edges_with_the_same_rows_and_another_level_are_looked_at(bits):
    """Rows repeat along the path; only the last edge has a level they break."""
    low, high = [3 * 2 ** (bits - 2), 2 ** (bits - 2)], [2 ** (bits - 2), 3 * 2 ** (bits - 2)]
    weights = np.array([low, high, low, high], dtype=np.int64 if bits == 62 else object)
    loose, tight = um.PureDP.from_ratio(3), um.PureDP.from_ratio("2.9")
    for level in (loose, tight):
        levels = um.per_edge(um.path(4), {(0, 1): loose, (1, 2): loose, (2, 3): level})
        found = find_violation(weights, bits, levels)
        assert found is None if level == loose else "between 2 and 3" in found


def test_fixed_zeros_and_ones_stay_where_delta_allows():
    """With delta > 0 a user's zeros and ones are kept exactly; an output nobody uses keeps its zeros too."""
    solution = um.binary.extend(
        um.path(4), [False, False, True, True], {0: 0, 1: "1/10", 2: "9/10", 3: 1}, um.ApproxDP(3, 0.2)
    )
    certified = um.certify(solution)
    assert certified.weights[0].tolist() == [certified.total, 0]
    assert certified.weights[3].tolist() == [0, certified.total]
    unused = um.FiniteMechanism([[0.5, 0.5, 0], [0.4, 0.6, 0]], (0, 1), "abc")
    assert (um.certify(unused, um.path(2), 1).weights[:, 2] == 0).all()


def test_equal_rows_where_epsilon_is_zero():
    """Points joined by epsilon = 0 get one row of integers; rows that differ by more than rounding are refused."""
    matrix = [[0.3, 0.7], [0.3 + 1e-16, 0.7], [0.31, 0.69]]
    mechanism = um.FiniteMechanism(matrix, range(3), "ab")
    levels = um.per_edge(um.path(3), epsilon=[0, 0.1])
    weights = um.certify(mechanism, um.path(3), levels).weights
    assert (weights[0] == weights[1]).all()
    with pytest.raises(CannotCertify, match="allow no difference"):
        um.certify(mechanism, um.path(3), 0)


def test_levels_that_cannot_be_certified():
    """Functions known in floating point only, and pairs that are not concave with three outputs."""
    cauchy = um.SuitablePair.from_functions(lambda a: 0.5 - np.arctan(1 / np.tan(np.pi * a) - 1) / np.pi)
    two = um.FiniteMechanism([[0.5, 0.5], [0.4, 0.6]], (0, 1), "ab")
    with pytest.raises(CannotCertify, match="SuitablePair"):
        um.certify(two, um.path(2), cauchy)
    pair = um.SuitablePair([(0, 0), ("1/4", "1/2"), ("1/2", "3/4"), (1, 1)], binary_only=True)
    assert um.certify(two, um.path(2), pair)
    three = um.FiniteMechanism([[0.5, 0.25, 0.25], [0.4, 0.3, 0.3]], (0, 1), "abc")
    bent = um.SuitablePair([(0, 0), ("1/4", "3/8"), ("3/8", "5/8"), ("5/8", "3/4"), (1, 1)], binary_only=True)
    with pytest.raises(CannotCertify, match="not concave"):
        um.certify(three, um.path(2), bent)


def test_wrong_use():
    """A mechanism without its space, a solution with one, points of another space."""
    mechanism = um.FiniteMechanism([[1.0], [1.0]], (0, 1), "a")
    with pytest.raises(InvalidInput, match="space and privacy"):
        um.certify(mechanism)
    with pytest.raises(InvalidInput, match="alone"):
        um.certify(um.binary.balanced(um.path(2), [True, False], 1), um.path(2), 1)
    with pytest.raises(InvalidInput, match="not the same"):
        um.certify(mechanism, um.path(3), 1)
    certified = um.certify(mechanism, um.path(2), 1)
    assert certified.sample(0, 2) == ["a", "a"]
    for size in (True, -1, 1.0):
        with pytest.raises(InvalidInput, match="how many answers"):
            certified.sample(0, size)


def test_a_large_table_on_a_path():
    """500 x 500 probabilities spanning 200 orders of magnitude are certified, and nothing much moves."""
    n, ratio = 500, math.exp(-1)
    steps = np.abs(np.arange(n)[:, None] - np.arange(n))
    matrix = ratio**steps * (1 - ratio) / (1 + ratio)
    matrix[:, 0], matrix[:, -1] = ratio ** steps[:, 0] / (1 + ratio), ratio ** steps[:, -1] / (1 + ratio)
    certified = um.certify(um.FiniteMechanism(matrix, range(n), range(n)), um.path(n), 1)
    assert is_private(certified)
    assert certified.moved < 1e-9
    assert certified.weights.min() > 0


def geometric_recipe(n):
    k = np.arange(n)

    def row(i):
        x = np.exp(-np.abs(k - i).astype(float)) * math.tanh(0.5)
        x[[0, -1]] = np.exp(-np.array([i, n - 1 - i], dtype=float)) / (1 + math.exp(-1))
        return x

    return um.RecipeMechanism(
        range(n), range(n), row, Law(um.PureDP(1), um.path(n), "truncated geometric", 1e-14, 0.75)
    )


def test_recipes_are_certified_by_the_lemma():
    """Every row a certified recipe makes, put in one table, passes the exact check; large ones are sampled."""
    for n in (2, 3, 17, 120):
        levels = on_edges(um.path(n), 1)
        certified = CertifiedRecipe(geometric_recipe(n), levels)
        table = np.array([certified.weights_at(i) for i in range(n)])
        assert find_violation(table, certified.bits, levels) is None
        assert np.abs(certified.matrix - um.certify(geometric_recipe(n), um.path(n), 1).matrix).max() < 1e-9
    large = um.certify(geometric_recipe(10**5), um.path(10**5), 1)
    assert isinstance(large, CertifiedRecipe)
    assert abs(large.sample(777) - 777) < 200
    with pytest.raises(CannotCertify, match="law"):
        um.certify(um.RecipeMechanism(range(10**5), range(10**5), lambda i: np.zeros(10**5)), um.path(10**5), 1)
    with pytest.raises(CannotCertify, match="does not imply"):
        um.certify(geometric_recipe(10**5), um.path(10**5), 0.5)


def test_growth_floor_is_just_below():
    """The rational bounds of e^epsilon lie below it by less than 2^-150, relative, by the Taylor series."""
    for epsilon in ("1e-9", "1/10", 1, 5, "123/10"):
        low, other = growth_floor(um.PureDP(epsilon)), exponential_below(um.PureDP(epsilon).exponent)
        assert -Fraction(1, 2**150) < low / other - 1 < Fraction(1, 2**240)  # the series is below e^epsilon by 2^-250
    assert growth_floor(um.PureDP.from_ratio("7/3")) == Fraction(7, 3)


@given(st.integers(0, 2**62), st.integers(0, 10_000))
@settings(max_examples=80, deadline=None)
def test_most_weight_is_the_largest_allowed(weight, seed):
    """The largest integer below total·upper: it fits, and one more does not (checked at (epsilon, delta) levels)."""
    rng = np.random.default_rng(seed)
    ratio, delta = Fraction(int(rng.integers(10, 50)), 10), Fraction(int(rng.integers(0, 9)), 100)
    total = 2**62
    most = most_weight(um.ApproxDP.from_ratio(ratio, delta), weight, total)

    def fits(a):
        return (
            a <= ratio * weight + delta * total and total - weight <= ratio * (total - a) + delta * total and a <= total
        )

    assert fits(most)
    assert not fits(most + 2)


def test_mixed_levels_per_edge():
    """Gaussian, piecewise linear and (epsilon, delta) edges in one space are certified together."""
    found = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, edges, truth, known = random_question(rng)
        levels = [random_level(rng) for _ in edges]
        if not all(level.certifiable for level in levels):
            continue
        space = um.Space.from_edges(edges, points=range(n))
        try:
            solution = um.binary.extend(space, truth, known, um.per_edge(space, dict(zip(edges, levels, strict=True))))
        except NoExtension:
            continue
        assert solution.certified.moved < 1e-9
        found += 1
    assert found >= 3


@pytest.mark.parametrize("level", [um.PureDP.from_ratio(3), um.ApproxDP.from_ratio(3, "1/100"), um.GaussianDP(1)])
@pytest.mark.parametrize("bits", [62, 70])
def test_both_directions_of_an_edge_are_checked(level, bits):
    """One output four times as likely at one end, the others much the same: broken in one direction only."""
    unit = 2**bits // 20
    rows = [[2 * unit, 9 * unit, 2**bits - 11 * unit], [12 * unit, 4 * unit, 2**bits - 16 * unit]]
    if isinstance(level, um.ApproxDP):
        for here, there, fine in ((rows[0], rows[1], True), (rows[1], rows[0], False)):
            over = sum(max(0, a - 3 * b) for a, b in zip(here, there, strict=True))
            assert (over <= level.delta * 2**bits) is fine
    for order in (rows, rows[::-1]):
        weights = np.array(order, dtype=np.int64 if bits <= 62 else object)
        assert "broken" in find_violation(weights, bits, on_edges(um.path(2), level))
        assert "broken" in find_violation(weights, bits, um.per_edge(um.path(2), {(0, 1): level}))


@pytest.mark.parametrize("cut", range(1, 7))
def test_every_prefix_of_a_gaussian_row_is_checked(cut):
    """Two Gaussians in bins keep the promise everywhere; more across one cut breaks one event, and is found."""
    ends = np.array([-1.5, -0.8, -0.1, 0.5, 1.1, 1.8])
    level, bits = um.GaussianDP(1), 62

    def rows(extra):
        table = np.diff(np.vstack([norm.cdf(np.r_[-np.inf, ends, np.inf], mean) for mean in (0, 0.98)]), axis=1)
        table[1, cut - 1] -= extra
        table[1, cut] += extra
        weights = np.floor(table * 2**bits).astype(np.int64)
        weights[:, 0] += 2**bits - weights.sum(axis=1)
        return weights

    def broken(weights):
        """Which events, likeliest first, exceed Phi(Phi^-1(p) + 1)."""
        p, q = weights / 2.0**bits
        order = np.argsort(-q / p)
        return (np.cumsum(q[order])[:-1] > norm.cdf(norm.ppf(np.cumsum(p[order])[:-1]) + 1) + 1e-9).tolist()

    levels = on_edges(um.path(2), level)
    extra = 0.009 if cut in (1, 6) else 0.015
    assert not any(broken(rows(0)))
    assert sum(broken(rows(extra))) == 1
    assert broken(rows(extra)).index(True) == 6 - cut
    for weights, found in ((rows(0), False), (rows(extra), True), (rows(extra)[::-1].copy(), True)):
        assert (find_violation(weights, bits, levels) is not None) is found


@pytest.mark.parametrize("bits", [33, 62, 70])
def test_rows_off_by_any_number_of_units_are_refused(bits):
    """A row that is a power of two short of its total, or above it, is no distribution."""
    levels = on_edges(um.path(2), 40)
    kind = np.int64 if bits <= 62 else object
    even = [2**bits // 4, 2**bits // 4, 2**bits - 2 * (2**bits // 4)]
    assert find_violation(np.array([even, even], dtype=kind), bits, levels) is None
    for power in range(bits - 3):
        for off in (1 << power, -(1 << power)):
            for rows in ([[even[0] + off, *even[1:]], even], [even, [*even[:2], even[2] + off]]):
                assert "do not add up" in find_violation(np.array(rows, dtype=kind), bits, levels)


def test_a_recipe_may_be_off_as_far_as_its_law_says():
    """Rows wrong by all that the law admits, against each other: the floor of the lemma still covers them."""
    n, error, highest = 6, 1e-7, 0.75
    exact = geometric_recipe(n)
    signs = (-1.0) ** np.add.outer(np.arange(n), np.arange(n))
    law = Law(um.PureDP(1), um.path(n), "truncated geometric, badly computed", error, highest)
    wrong = um.RecipeMechanism(range(n), range(n), lambda i: exact.row_at(i) + error * highest * signs[i], law)
    levels = on_edges(um.path(n), 1)
    certified = CertifiedRecipe(wrong, levels)
    table = np.array([certified.weights_at(i) for i in range(n)])
    assert find_violation(table, certified.bits, levels) is None
    design = np.array([wrong.row_at(i) for i in range(n)])
    without = np.round(design * 2.0**62).astype(np.int64)
    without[:, 0] += 2**62 - without.sum(axis=1)
    assert find_violation(without, 62, levels) is not None  # it is the floor that makes it private
    assert 0.5 * np.abs(table / 2.0**62 - design).sum(axis=1).max() <= certified.moved


def test_a_recipe_whose_floor_would_move_too_much_is_refused():
    """A law that admits errors of one in a hundred leaves nothing to certify."""
    law = Law(um.PureDP(1), um.path(6), "badly computed", 0.01, 0.75)
    recipe = um.RecipeMechanism(range(6), range(6), geometric_recipe(6).row_at, law)
    with pytest.raises(CannotCertify, match="would move more than"):
        CertifiedRecipe(recipe, on_edges(um.path(6), 1))


@pytest.mark.parametrize("weight", [0, 1, 2**10, 2**18, 2**19, 3 * 2**18, 2**20 - 1, 2**20])
def test_most_weight_of_other_levels_is_the_largest_allowed(weight):
    """Gaussian levels by the normal distribution, a piecewise linear one in rationals: never one unit more, or less."""
    total = 2**20
    for mu in (0.1, 1, 2.5):
        bound = total * norm.cdf(norm.ppf(weight / total) + mu)
        nearest = round(bound)
        allowed = {math.floor(bound)} if abs(bound - nearest) > 1e-6 else {nearest - 1, nearest}
        if weight in (0, total):
            allowed = {weight}
        assert most_weight(um.GaussianDP(mu), weight, total) in allowed
    pair = um.SuitablePair([(0, "1/16"), ("1/4", "1/2"), ("1/2", "3/4"), ("15/16", 1), (1, 1)])
    knots = [(Fraction(0), Fraction(1, 16)), (Fraction(1, 4), Fraction(1, 2)), (Fraction(1, 2), Fraction(3, 4))]
    knots += [(Fraction(15, 16), Fraction(1)), (Fraction(1), Fraction(1))]
    x = Fraction(weight, total)
    (a, low), (b, high) = next((p, q) for p, q in pairwise(knots) if p[0] <= x <= q[0])
    exact = low + (x - a) / (b - a) * (high - low)
    assert most_weight(pair, weight, total) == math.floor(exact * total)


def test_exponents_of_a_billion_end_at_once():
    """A level beyond any ratio of weights costs nothing; texts with absurd exponents are refused unread."""
    assert growth_floor(um.PureDP(10**9)) == growth_floor(um.PureDP(4097)) == 2**4096
    assert growth_floor(um.PureDP(4096)) > 2**4096
    coin = um.FiniteMechanism([[0.75, 0.25], [0.25, 0.75]], (0, 1), "ab")
    assert is_private(um.certify(coin, um.path(2), um.PureDP.from_ratio(3)))
    assert um.certify(coin, um.path(2), 10**9).moved < 1e-12
    for text in ("1e1000000000", "1e-1000000000", "7E+4001", "1e100000000000000000000", Decimal("1e4001")):
        with pytest.raises(InvalidInput, match="exponent"):
            um.PureDP(text)
    assert um.PureDP("1e4000").exponent == 10**4000


@pytest.mark.parametrize("seed", range(20))
def test_carrying_down_lowers_no_more_than_it_must(seed):
    """Integers of two outputs: every weight is what its probability or one neighbour's weight allows, to the unit."""
    rng = np.random.default_rng(seed)
    n, edges, _, _ = random_question(rng)
    space = um.Space.from_edges(edges, points=range(n))
    ratio, total = Fraction(int(rng.integers(11, 40)), 10), 2**62
    levels = on_edges(space, um.ApproxDP.from_ratio(ratio, "1/50"))
    yes = rng.choice([0.0, 1.0, 0.3, 0.62, 0.9], n)
    matrix, apart = np.column_stack([1 - yes, yes]), on_edges(um.Space.from_edges([], points=range(n)), 1)
    found, alone = ([int(w) for w in carry_down(matrix, each, 62, most_weight)[:, 1]] for each in (levels, apart))
    assert all(abs(w - p * total) <= 2**16 for w, p in zip(alone, yes.tolist(), strict=True))
    best = list(alone)
    for _ in range(n):  # all neighbours, again and again
        for a, b in space.edge_indices.tolist():
            for u, v in ((a, b), (b, a)):
                grown, left = ratio * best[u] + Fraction(total, 50), total - best[u] - Fraction(total, 50)
                best[v] = min(best[v], math.floor(grown), math.floor(total - left / ratio), total)
    assert all(0 <= other - w <= 1 for w, other in zip(found, best, strict=True))
    for w, start, v in zip(found, alone, range(n), strict=True):
        around = [found[u] for e in space.edge_indices.tolist() if v in e for u in e if u != v]
        assert w == min([start, *(most_weight(levels[0], u, total) for u in around)])


@pytest.mark.parametrize(("n", "epsilon"), [(3000, 1e-4), (3000, 1e-2), (60, 1.0)])
def test_sums_of_decaying_rows_are_as_near_as_they_say(n, epsilon):
    """Row sums of a long path against 200-bit arithmetic: thousands of additions err by more than a few units."""
    space, level, peaks = um.path(n), um.PureDP(epsilon), np.random.default_rng(n).random(n)
    found, stated = row_sums(space, level, peaks), sum_error(space, level, peaks)
    with ctx.workprec(200):
        b = (-arb(as_fmpq(level.exponent))).exp()
        sides = []
        for order in (peaks.tolist(), peaks[::-1].tolist()):
            beyond = [arb(0)]
            for peak in order[:0:-1]:
                beyond.append(b * (peak + beyond[-1]))
            sides.append(beyond[::-1])
        exact = [
            peak + ahead + behind for peak, ahead, behind in zip(peaks.tolist(), sides[0], sides[1][::-1], strict=True)
        ]
        off = max(abs(float(e - f)) for e, f in zip(exact, found.tolist(), strict=True))
    assert off <= stated <= 1e-8
    if n * epsilon < 1:
        assert off > 9 * 2.0**-52 * found.max()  # so that it takes more than a few units to cover it


def test_a_recipe_may_reach_what_its_law_says_is_highest():
    """A row whose largest entry is just the law's highest is proper; a little above it, it is not."""
    for factor, fine in ((1.0, True), (1 + 1e-7, False)):
        law = Law(um.PureDP(1), um.path(8), "even", 1e-14, 0.125 / factor)
        certified = CertifiedRecipe(
            um.RecipeMechanism(range(8), range(8), lambda i: np.full(8, 0.125), law), on_edges(um.path(8), 1)
        )
        if fine:
            assert certified.weights_at(3).sum() == 2**62
        else:
            with pytest.raises(CannotCertify, match="law"):
                certified.weights_at(3)


@pytest.mark.parametrize("bits", [40, 62, 63, 90])
def test_rounded_rows_add_up_to_the_unit(bits):
    """With a floor and without: integers that add up exactly, zeros kept, near the truth."""
    rng = np.random.default_rng(bits)
    matrix = rng.dirichlet(np.ones(7), 50)
    matrix[:, 2] = 0
    matrix /= matrix.sum(axis=1, keepdims=True)
    floors = np.tile([0.25, 0.125, 0, 0.125, 0.125, 0.125, 0.25], (50, 1))
    for eta in (0.0, 2.0**-30, 0.01):
        weights = round_rows(matrix, floors, eta, bits)
        assert {sum(map(int, row)) for row in weights} == {2**bits}
        assert not weights[:, 2].any()
        assert np.abs((weights / 2**bits).astype(float) - (1 - eta) * matrix - eta * floors).max() < 2.0**-37


def test_a_gaussian_level_with_an_output_that_nobody_uses():
    """An output of probability 0 everywhere asks for no floor."""
    ends = np.r_[-np.inf, -0.8, 0.5, np.inf]
    table = np.array([[*np.diff(norm.cdf(ends, mean)), 0.0] for mean in (0, 1)])
    certified = um.certify(um.FiniteMechanism(table, (0, 1), "abcd"), um.path(2), um.GaussianDP(1))
    assert certified.moved < 1e-12
    assert not certified.weights[:, 3].any()
    with pytest.raises(CannotCertify, match=r"needs epsilon = 1\.09861"):
        um.certify(um.FiniteMechanism([[0.75, 0.25], [0.25, 0.75]], (0, 1), "ab"), um.path(2), um.GaussianDP(1))


def test_sums_that_wrap_around_are_caught():
    """Five weights of 2^62 add up to 2^62 modulo 2^64: no distribution, and refused."""
    weights = np.full((2, 5), 2**62, dtype=np.int64)
    assert "add up" in find_violation(weights, 62, on_edges(um.path(2), 1))
    with pytest.raises(CannotCertify, match="add up"):
        CertifiedMechanism(weights, 62, "abcde", on_edges(um.path(2), 1))


@pytest.mark.parametrize("epsilon", [30.1, 41.3, 42.7])
def test_large_epsilons_are_decided_by_their_decimals(epsilon):
    """Where a float epsilon is above its decimal, e^epsilon in floats is too large by epsilon units: still exact."""
    levels = on_edges(um.path(2), epsilon)
    small = 2**62 // math.floor(exponential_below(um.PureDP(epsilon).exponent)) // 2
    most = math.floor(exponential_below(um.PureDP(epsilon).exponent) * small)
    for more, fine in ((0, True), (1 + most // 2**50, False)):
        weights = np.array([[most + more, 2**62 - most - more], [small, 2**62 - small]], dtype=np.int64)
        assert (find_violation(weights, 62, levels) is None) == fine


def test_errors_about_private_points_do_not_repeat_them():
    """`sample` is given a private point; an error about it names no value."""
    certified = um.certify(
        um.FiniteMechanism([[0.5, 0.5], [0.4, 0.6]], ("x", "y"), "ab"), um.Space.from_edges([("x", "y")]), 1
    )
    with pytest.raises(UnknownPoint) as refused:
        certified.sample("a secret diagnosis")
    assert "secret" not in str(refused.value)
    assert refused.value.__cause__ is None
    with pytest.raises(InvalidInput, match="size"):
        certified.sample("x", -1)


def test_only_proper_integers_are_certified():
    """Weights are copied, of whole numbers, of the right shape; levels that promise nothing about them are refused."""
    levels = on_edges(um.path(2), 1)
    half = np.full((2, 2), 2**61, dtype=np.int64)
    certified = CertifiedMechanism(half, 62, "ab", levels)
    half[:] = 0
    assert certified.weights.tolist() == [[2**61, 2**61]] * 2
    for wrong, outputs in (
        (np.full((2, 2), 0.5), "ab"),
        (np.full((2, 3), 1), "ab"),
        (np.array([[2**62 + 1, -1]] * 2, dtype=object), "ab"),
    ):
        with pytest.raises(CannotCertify):
            CertifiedMechanism(wrong, 62, outputs, levels)
    bent = um.SuitablePair([(0, 0), ("1/4", "3/8"), ("3/8", "5/8"), ("5/8", "3/4"), (1, 1)], binary_only=True)
    with pytest.raises(CannotCertify, match="not concave"):
        CertifiedMechanism(np.array([[1, 1, 2], [1, 1, 2]]), 2, "abc", on_edges(um.path(2), bent))


def test_recipes_are_held_to_their_law():
    """Rows that are no distributions or exceed the law, laws of another space, and impossible laws are refused."""
    n = 10**5
    law = Law(um.PureDP(1), um.path(n), "for the test", 1e-14, 0.5)
    for row in (np.full(n, np.nan), np.full(n, 2 / n), np.eye(1, n)[0], np.full(n - 1, 1 / (n - 1))):
        certified = um.certify(um.RecipeMechanism(range(n), range(n), lambda i, row=row: row, law), um.path(n), 1)
        with pytest.raises(CannotCertify, match="law"):
            certified.sample(3)
    flat = um.RecipeMechanism(range(n), range(n), lambda i: np.full(n, 1 / n), law)
    assert 0 <= um.certify(flat, um.path(n), 1).sample(3) < n
    with pytest.raises(InvalidInput, match="law holds on"):
        um.certify(flat, um.cycle(n), 1)
    with pytest.raises(InvalidInput, match="relative_error"):
        Law(um.PureDP(1), um.path(n), "for the test", math.nan)


def test_far_too_little_room_is_refused():
    """Where rounding would move what matters, the mechanism is refused, not quietly replaced by another."""
    delta = 1e-14
    tight = um.FiniteMechanism([[0.1, 0.2, 0.7], [0.1 + delta / 2, 0.2 + delta / 2, 0.7 - delta]], (0, 1), "abc")
    with pytest.raises(CannotCertify, match="would move"):
        um.certify(tight, um.path(2), um.ApproxDP(0, delta))


def test_no_promise_is_certified_without_a_warning():
    """Epsilon = infinity promises nothing: the identity is certified, and no warning is raised on the way."""
    identity = um.FiniteMechanism(np.eye(2), (0, 1), "ab")
    certified = um.certify(identity, um.path(2), um.PureDP(math.inf))
    assert certified.matrix.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("seed", range(60))
def test_complete_spaces_are_checked_output_by_output(seed):
    """The same verdict, and the same words, as on the same space given edge by edge."""
    rng = np.random.default_rng(seed)
    n, outputs, epsilon = int(rng.integers(3, 8)), int(rng.integers(2, 6)), float(rng.choice([0, 0.01, 0.5, 3]))
    matrix = np.exp(epsilon * rng.random((n, outputs)) * rng.choice([0.4, 0.5, 0.9]))
    matrix[:, 0] *= rng.choice([0.0, 1.0, 1.0])
    mechanism = um.FiniteMechanism(matrix / matrix.sum(axis=1, keepdims=True), range(n), range(outputs))
    found = []
    for space in (um.complete(n), um.Space.from_edges(list(combinations(range(n), 2)), points=range(n))):
        try:
            certified = um.certify(mechanism, space, epsilon)
            assert is_private(certified)
            found.append("private")
        except CannotCertify as reason:
            found.append(str(reason))
    assert found[0] == found[1]


def test_integers_on_a_complete_space_are_never_passed_when_broken():
    """One unit too much in one weight of one of 2000 rows is found, without making two million edges."""
    space, level, n = um.complete(2000), um.PureDP.from_ratio(2), 2000
    weights = np.full((n, 2), 2**61)
    levels = on_edges(space, level)
    assert find_violation(weights, 62, levels) is None
    third = 2**62 // 3
    weights[7] = (2**62 - third, third)
    weights[1300] = (third + 1, 2**62 - third - 1)
    assert find_violation(weights, 62, levels) is None
    weights[1300] = (third, 2**62 - third)
    weights[7] = (2**62 - third, third)
    assert find_violation(weights, 62, levels) is not None  # 2^62 - third is one unit above 2 third
    assert "edge_indices" not in space.__dict__


def test_what_lists_no_probabilities_is_told_how():
    """A measurement of another library draws; the error says what to write down instead."""

    class Measurement:
        def __call__(self, value):
            return value

    with pytest.raises(InvalidInput, match=r"a Measurement cannot be certified.*FiniteMechanism"):
        um.certify(Measurement(), um.path(3), 1.0)
    with pytest.raises(InvalidInput, match="lists its probabilities"):
        um.certify(Measurement())


def test_an_epsilon_missed_by_rounding_is_told_apart():
    """Probabilities with nine digits of e^0.7 need a little more: the digits are shown, and from_ratio is named."""
    ratio = 2.013752710
    mechanism = um.FiniteMechanism(np.array([[ratio, 1], [1, ratio]]) / (1 + ratio), [0, 1], [0, 1])
    with pytest.raises(CannotCertify, match=r"needs epsilon = 0\.70000000\d+: the same up to .*from_ratio\(2\)"):
        um.certify(mechanism, um.path(2), 0.7)
    with pytest.raises(CannotCertify, match=r"needs epsilon = 0\.7\. Allow that"):
        um.certify(mechanism, um.path(2), 0.5)
