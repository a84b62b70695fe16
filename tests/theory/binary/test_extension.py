"""Binary mechanisms against linear programs, fixed-point iteration, enumeration and exact arithmetic."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.graphs import least_of, random_level, random_parameters, random_question
from oracles.pace import within
from oracles.programs import binary_lp, extension_by_iteration

import utmost as um
from utmost.errors import (
    CannotCertify,
    InvalidInput,
    NeedsFloor,
    NoExtension,
    NotBoundaryHitting,
    TooLarge,
    UnknownPoint,
)
from utmost.exact import ExpSum, as_rational
from utmost.mechanism.violations import find_violation
from utmost.space.edge_levels import on_edges
from utmost.theory.binary.design import path_bounds


def compare_with_lp(seed):
    """1 if an extension exists and equals the LP's, 0 if neither exists."""
    rng = np.random.default_rng(seed)
    n, edges, truth, known = random_question(rng)
    epsilon, delta = random_parameters(rng, len(edges))
    space = um.Space.from_edges(edges, points=range(n))
    same = len(set(epsilon)) == len(set(delta)) == 1
    levels = um.ApproxDP(epsilon[0], delta[0]) if same else um.per_edge(space, epsilon=epsilon, delta=delta)
    best = binary_lp(n, edges, truth, known, epsilon, delta)
    try:
        solution = um.binary.extend(space, truth, known, levels)
    except NoExtension:
        assert best is None, "the LP finds an extension"
        return 0
    assert best is not None, "the LP finds no extension"
    assert np.abs(solution.mechanism.matrix[:, 1] - best).max() < 1e-8
    assert solution.verify(), solution.verify()
    return 1


@pytest.mark.parametrize("block", range(4))
def test_extend_is_the_lp_optimum_and_exists_where_the_lp_does(block):
    """`extend` equals the LP within 1e-8 wherever that is feasible, and refuses exactly where it is not."""
    found = sum(compare_with_lp(seed) for seed in range(1000 * block, 1000 * block + 150))
    assert 30 <= found <= 145  # both outcomes are met often


@pytest.mark.long
@pytest.mark.parametrize("block", range(16))
def test_extend_is_the_lp_optimum_thousands_of_times(block):
    """The same on thousands of graphs."""
    found = sum(compare_with_lp(seed) for seed in range(10_000 + 1000 * block, 10_000 + 1000 * block + 500))
    assert 100 <= found <= 490


def compare_with_iteration(seed):
    rng = np.random.default_rng(seed)
    n, edges, truth, known = random_question(rng)
    levels = [random_level(rng) for _ in edges] if rng.random() < 0.7 else [random_level(rng)] * len(edges)
    space = um.Space.from_edges(edges, points=range(n))
    expected = extension_by_iteration(n, edges, truth, known, [level.upper for level in levels])
    try:
        solution = um.binary.extend(space, truth, known, um.per_edge(space, dict(zip(edges, levels, strict=True))))
    except NoExtension:
        assert expected is None
        return 0
    assert expected is not None
    told = solution.mechanism.matrix[np.arange(n), truth.astype(int)]
    assert np.abs(told - expected).max() < 1e-10
    assert solution.verify(), solution.verify()
    return 1


def test_extend_with_other_pairs_is_the_fixed_point():
    """Gaussian, piecewise linear and non-concave levels, mixed per edge, against sweeping until nothing falls."""
    assert 30 <= sum(compare_with_iteration(seed) for seed in range(150)) <= 145


@pytest.mark.long
@pytest.mark.parametrize("block", range(4))
def test_extend_with_other_pairs_is_the_fixed_point_thousands_of_times(block):
    """The same on many more graphs."""
    assert sum(compare_with_iteration(seed) for seed in range(1000 * block + 500, 1000 * block + 1000)) >= 100


# ---- the papers' examples ----

PATH = um.Space.from_edges([("v1", "v2"), ("v2", "v3"), ("v3", "v4")])
COLOUR = {"v1": "red", "v2": "blue", "v3": "blue", "v4": "red"}
RED_BLUE = ("red", "blue")


def test_bin_example_3():
    """The value at v2 comes from v4, the farther known point."""
    known = {"v1": 0.3, "v4": 0.1}
    solution = um.binary.extend(PATH, COLOUR, known, um.PureDP.from_ratio(2), outputs=RED_BLUE)
    assert solution.mechanism.matrix[:, 1] == pytest.approx([0.3, 0.4, 0.2, 0.1], abs=1e-15)
    assert solution.mechanism.probability("v2", "red") == pytest.approx(0.6)


def test_bin_example_2_is_refused():
    """Known points that miss a boundary edge leave the optimum undetermined: the edge is named."""
    with pytest.raises(NotBoundaryHitting, match=r"'v1' and 'v2'.*hitting_set") as refused:
        um.binary.extend(PATH, COLOUR, {"v3": 0.5}, np.log(2), outputs=RED_BLUE)
    assert refused.value.edge == ("v1", "v2")


def test_bin_example_1():
    """Two private mechanisms of which neither dominates the other; each dominates itself."""
    space, colour = um.Space.from_edges([(1, 2)]), {1: "blue", 2: "red"}
    one = um.FiniteMechanism([[0.58, 0.42], [0.24, 0.76]], (1, 2), ("blue", "red"))
    two = um.FiniteMechanism([[0.64, 0.36], [0.27, 0.73]], (1, 2), ("blue", "red"))
    for mechanism in (one, two):
        assert mechanism.delta(space, np.log(2)) <= 0.1 + 1e-15
        assert um.binary.dominates(mechanism, mechanism, colour)
    assert not um.binary.dominates(one, two, colour)
    assert not um.binary.dominates(two, one, colour)


def test_no_extension_names_both_points_and_the_bound():
    """The error of the style guide, number by number."""
    with pytest.raises(NoExtension) as refused:
        um.binary.extend(PATH, COLOUR, {"v1": 0.1, "v4": 0.9}, um.PureDP.from_ratio(2), outputs=RED_BLUE)
    error = refused.value
    assert {error.point, error.forced_by} == {"v1", "v4"}
    assert error.bound == pytest.approx(0.7)
    assert error.asked == pytest.approx(0.9)
    assert "3 steps of ln 2-DP away" in str(error)


def test_het_figure_1():
    """A vote better protected only where it decides lowers the truth there and nowhere beyond what that forces."""
    votes = um.hamming(3, (1, 2))
    truth = lambda v: v.count(2) >= 2  # noqa: E731
    special = {((1, 2, 1), (2, 2, 1)): 0.5, ((1, 1, 2), (2, 1, 2)): 0.5}
    plain, protected = (
        um.binary.balanced(votes, truth, 1),
        um.binary.balanced(votes, truth, um.per_edge(votes, special, default=1)),
    )
    assert protected.verify()
    assert um.binary.dominates(plain.mechanism, protected.mechanism, truth)
    assert protected.mechanism.probability((2, 2, 1), True) == pytest.approx(np.exp(0.5) / (1 + np.exp(0.5)))


# ---- existence is decided exactly ----


def after(level, alpha, steps):
    """The bound after so many steps as a Fraction, for a level with a rational ratio."""
    number = ExpSum.rational(alpha)
    for _ in range(steps):
        number = level.upper_exact(number)
    (value,) = number.terms.values()
    return Fraction(int(value.p), int(value.q))


@pytest.mark.parametrize("ratio", [2, 3, Fraction(11, 10)])
@pytest.mark.parametrize("n", [2, 3, 6, 15])
def test_ties_are_decided_exactly(ratio, n):
    """A value at its bound is accepted, 10^-30 more is refused, along paths of any length."""
    level, first = um.PureDP.from_ratio(ratio), Fraction(1, 100)
    bound = after(level, first, n - 1)
    for more in (Fraction(0), -Fraction(1, 10**30)):
        um.binary.extend(um.path(n), [True] * n, {0: first, n - 1: bound + more}, level)
    with pytest.raises(NoExtension, match="rounding"):
        um.binary.extend(um.path(n), [True] * n, {0: first, n - 1: bound + Fraction(1, 10**30)}, level)


def test_ties_on_a_grid_of_many_shortest_paths():
    """A tie reached along many shortest paths at once is still a tie."""
    level, first = um.ApproxDP.from_ratio(2, Fraction(1, 1000)), Fraction(1, 100)
    bound = after(level, first, 8)
    space = um.grid((5, 5), "manhattan")
    um.binary.extend(space, [True] * 25, {(0, 0): first, (4, 4): bound}, level)
    with pytest.raises(NoExtension):
        um.binary.extend(space, [True] * 25, {(0, 0): first, (4, 4): bound + Fraction(1, 10**40)}, level)


def test_floats_mean_their_shortest_decimal():
    """0.1 and 0.3 are a tie at e^epsilon = 3, though 0.1 * 3 > 0.3 in floating point; one unit more is refused."""
    level = um.PureDP.from_ratio(3)
    um.binary.extend(um.path(2), [False, True], {0: 0.1, 1: 0.3}, level)
    with pytest.raises(NoExtension):
        um.binary.extend(um.path(2), [False, True], {0: 0.1, 1: float(np.nextafter(0.3, 1))}, level)


@pytest.mark.parametrize("level", [um.PureDP(0), um.PureDP(1), um.GaussianDP(0), um.GaussianDP(1), um.ApproxDP(0, 0.5)])
def test_equal_known_values_never_contradict(level):
    """Neighbours with the same value are private under any level, 0 and 1 included."""
    for value in (0, 0.25, 1):
        um.binary.extend(um.cycle(5), [False] * 5, {0: value, 2: value}, level)


# ---- shapes of spaces ----


def test_parts_without_known_points_tell_the_truth():
    """A component with neither boundary nor known point gets the truth, and the certificate says so."""
    space = um.Space.from_edges([("a", "b"), ("c", "d")], points=["a", "b", "c", "d", "e"])
    solution = um.binary.extend(space, [False, True, True, True, False], {"a": "1/3"}, um.PureDP.from_ratio(2))
    assert solution.mechanism.matrix[:, 1] == pytest.approx([1 / 3, 2 / 3, 1, 1, 0])
    assert "2 components" in solution.certificate.notes[0]
    assert "3 points" in solution.certificate.notes[0]
    assert solution.verify()


@pytest.mark.parametrize("n", [0, 1])
def test_tiny_spaces(n):
    """Empty and single-point spaces are normal."""
    for solve in (um.binary.balanced, um.binary.best_boundary):
        solution = solve(um.path(n), [True] * n, 1)
        assert solution.value == 1
        assert solution.verify()
    assert um.binary.extend(um.path(n), [True] * n, {}, 1).verify()


def test_known_as_mapping_array_and_callable():
    """The three ways to give known values mean the same."""
    values = {0: 0.3, 3: 0.2}
    array = np.array([0.3, np.nan, np.nan, 0.2])
    matrices = [
        um.binary.extend(um.path(4), [True] * 4, known, 0.5).mechanism.matrix for known in (values, array, values.get)
    ]
    assert np.array_equal(matrices[0], matrices[1])
    assert np.array_equal(matrices[0], matrices[2])


def test_small_complements_keep_their_digits():
    """Far from the boundary the wrong answer has a tiny probability with full relative accuracy, as privacy needs."""
    solution = um.binary.extend(um.path(60), [False] + [True] * 59, {0: 0.25}, um.PureDP.from_ratio(3))
    wrong = solution.mechanism.matrix[1:, 0]
    exact = [float(1 - after(um.PureDP.from_ratio(3), Fraction(1, 4), d)) for d in range(1, 60)]
    assert wrong == pytest.approx(exact, rel=1e-13)
    assert wrong[-1] < 1e-26


def test_a_million_points():
    """Large spaces are solved and verified; the answer is the closed form in the distance to the boundary."""
    space = um.grid((1000, 1000), "manhattan")
    rows = np.repeat(np.arange(1000), 1000)
    known = np.where(rows == 499, 0.3, np.nan)
    solution = um.binary.extend(space, rows >= 500, known, 0.01)
    level = um.PureDP(0.01)
    assert solution.mechanism.matrix[-1, 1] == pytest.approx(level.upper_after(500, 0.3), abs=1e-12)
    assert solution.mechanism.matrix[0, 0] == pytest.approx(level.upper_after(499, 0.7), abs=1e-12)


# ---- the balanced mechanism ----


@given(st.floats(0.01, 5), st.sampled_from([0, 1e-6, 0.01, 0.3]), st.integers(1, 30))
@settings(max_examples=60, deadline=None)
def test_balanced_is_bin_corollary_2(epsilon, delta, people):
    """The closed form of the paper, term by term, and the LP's worst-case optimum at the boundary."""
    space, growth = um.counts(2 * people + 1), np.exp(epsilon)
    solution = um.binary.balanced(space, lambda yes: yes > people, um.ApproxDP(epsilon, delta))
    for d in range(people + 1):
        lost = growth - 1 - delta * (np.exp(epsilon * (d + 1)) + np.exp(d * epsilon) - 2)
        expected = min(1.0, 1 - lost / (np.exp(d * epsilon) * (growth + 1) * (growth - 1)))
        assert solution.mechanism.probability(people + 1 + d, True) == pytest.approx(expected, abs=1e-9)
        assert solution.mechanism.probability(people - d, False) == pytest.approx(expected, abs=1e-9)
    assert solution.verify()


def test_balanced_limits():
    """epsilon = 0, epsilon = infinity, delta = 1, and levels of every other kind."""
    truth = lambda yes: yes > 2  # noqa: E731
    at_boundary = lambda level: um.binary.balanced(um.counts(5), truth, level).mechanism.probability(3, True)  # noqa: E731
    assert at_boundary(0) == 0.5
    assert at_boundary(um.ApproxDP(0, 0.2)) == pytest.approx(0.6)
    assert at_boundary(np.inf) == 1
    assert at_boundary(um.ApproxDP(1, 1)) == 1
    assert at_boundary(um.GaussianDP(2)) == pytest.approx(0.8413447460685429)
    assert at_boundary(least_of([(Fraction(3), Fraction(0))])) == pytest.approx(0.75, abs=1e-12)


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_balanced_per_edge_is_the_best_even_handed_mechanism(seed):
    """With levels per edge: the LP that maximises the truth under the boundary's own limits finds nothing better."""
    rng = np.random.default_rng(seed)
    n, edges, truth, _ = random_question(rng)
    epsilon = rng.uniform(0.05, 2, len(edges))
    space = um.Space.from_edges(edges, points=range(n))
    solution = um.binary.balanced(space, truth, um.per_edge(space, epsilon=epsilon))
    assert solution.verify()
    values = solution.mechanism.matrix[:, 1]
    boundary = {space.index(p) for p in um.binary.boundary(space, truth).points}
    shrunk = {v: 0.5 + (values[v] - 0.5) * (1 - 1e-9) for v in boundary}  # off the ties, which floats cannot hit
    best = binary_lp(n, edges, truth, shrunk, epsilon, np.zeros(len(edges)))
    assert best == pytest.approx(values, abs=1e-7)


# ---- the best boundary ----


@pytest.mark.parametrize("seed", range(60))
def test_best_boundary_is_the_lp_optimum(seed):
    """Over all boundary values: the value of an LP written independently, and a bound that proves it."""
    rng = np.random.default_rng(seed)
    n, edges, truth, _ = random_question(rng)
    epsilon, delta = random_parameters(rng, len(edges))
    prior = rng.dirichlet(np.ones(n))
    space = um.Space.from_edges(edges, points=range(n))
    best = binary_lp(n, edges, truth, {}, epsilon, delta, weights=prior)
    solution = um.binary.best_boundary(space, truth, um.per_edge(space, epsilon=epsilon, delta=delta), prior)
    assert solution.value == pytest.approx(prior @ np.where(truth, best, 1 - best), abs=1e-8)
    assert solution.certificate.gap < 1e-8
    assert solution.verify(), solution.verify()


@pytest.mark.parametrize("skew", [0.5, 0.9, 0.99, 1 - 1e-6])
@pytest.mark.parametrize("epsilon", [0.3, 1, 8])
def test_best_boundary_of_a_long_line(skew, epsilon):
    """Far inside, probabilities fall below what an LP resolves; the value is still the best within 1e-7."""
    prior = np.repeat([skew / 51, (1 - skew) / 51], 51)
    truth = np.arange(102) > 50
    solution = um.binary.best_boundary(um.counts(101), truth, epsilon, prior)
    shifted = []
    for cut in range(51, 102):  # among shifted balanced curves, which are private, the best is nearly the best of all
        curve = um.binary.balanced(um.counts(101), np.arange(102) >= cut, epsilon).mechanism.matrix
        shifted.append(prior @ curve[np.arange(102), truth.astype(int)])
    assert solution.value >= max(shifted) - 1e-9
    assert solution.certificate.gap < 1e-7
    assert solution.verify()


def test_best_boundary_on_a_grid_with_two_boundaries():
    """Two boundaries that compete, tiny prior on one: bound and value still meet."""
    truth = lambda p: 4 <= p[0] < 20  # noqa: E731
    prior = np.array([1e-3 if p[0] < 4 else 1.0 for p in um.grid((24, 4)).points])
    solution = um.binary.best_boundary(um.grid((24, 4)), truth, 2.0, prior / prior.sum())
    assert solution.certificate.gap < 1e-7


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_the_worst_point_of_the_best_boundary(seed):
    """The balanced value at the boundary is the best worst case under one level; per edge the bound closes."""
    rng = np.random.default_rng(seed)
    n, edges, truth, _ = random_question(rng)
    space = um.Space.from_edges(edges, points=range(n))
    level = um.ApproxDP(float(rng.uniform(0.1, 2)), float(rng.choice([0, 0.01])))
    solution = um.binary.best_boundary(space, truth, level, criterion="worst")
    balanced = um.binary.balanced(space, truth, level).mechanism.matrix[np.arange(n), truth.astype(int)].min()
    assert solution.value == pytest.approx(balanced, abs=1e-8)
    assert solution.verify()
    assert solution.verify().gap < 1e-8


def test_best_boundary_with_curved_levels():
    """Tangent cuts: value and bound meet; a symmetric question has the balanced optimum."""
    truth = lambda yes: yes > 4  # noqa: E731
    solution = um.binary.best_boundary(um.counts(9), truth, um.GaussianDP(0.7))
    assert solution.certificate.gap < 1e-8
    assert solution.value == pytest.approx(um.binary.balanced(um.counts(9), truth, um.GaussianDP(0.7)).value, abs=1e-8)
    assert solution.verify()
    pair = least_of([(Fraction(3), Fraction(0)), (Fraction(2), Fraction(1, 10))])
    assert um.binary.best_boundary(um.counts(9), truth, pair).verify()


# ---- one dataset ----


def flips(people):
    return lambda votes: (votes ^ (1 << person) for person in range(people))


@pytest.mark.parametrize("yes", [20, 21, 22, 23])
def test_at_in_a_space_of_2_to_the_40_databases(yes):
    """One database of 2^40, with the boundary near: the closed form in the distance."""
    boundary = {20: Fraction(1, 3), 21: Fraction(2, 3)}
    value = um.binary.at(
        2**yes - 1,
        flips(40),
        lambda votes: votes.bit_count() > 20,
        lambda votes: boundary.get(votes.bit_count()),
        um.PureDP.from_ratio(2),
        floor="1/3",
    )
    expected = 1 / 3 if yes == 20 else um.PureDP.from_ratio(2).upper_after(yes - 21, 2 / 3)
    assert value == pytest.approx(expected, abs=1e-12)
    assert value.explored < 2_000
    assert "among those only" in value.note or value.radius == 0


@pytest.mark.parametrize("level", [um.PureDP(0.4), um.ApproxDP(0.3, 0.02), um.GaussianDP(0.5)])
def test_at_is_extend(level):
    """On a space small enough to list, every dataset gets what `extend` gives it; so it does with levels per edge."""
    space = um.hamming(5, 2)
    truth = lambda votes: sum(votes) >= 3  # noqa: E731
    known = lambda votes: {2: 0.45, 3: 0.55}.get(sum(votes))  # noqa: E731
    whole = um.binary.extend(space, truth, known, level).mechanism
    neighbours = lambda v: ((*v[:i], 1 - v[i], *v[i + 1 :]) for i in range(5))  # noqa: E731
    for dataset in space.points:
        expected = whole.probability(dataset, True)
        assert um.binary.at(dataset, neighbours, truth, known, level, floor=0.45) == pytest.approx(expected, abs=1e-12)
    per_person = [0.1, 0.2, 0.4, 0.8, 1.6]
    levels = um.personalized(space, per_person)
    whole = um.binary.extend(space, truth, lambda v: {2: 0.49, 3: 0.51}.get(sum(v)), levels).mechanism
    who = lambda a, b: per_person[[x == y for x, y in zip(a, b, strict=True)].index(False)]  # noqa: E731
    for dataset in [(1, 1, 1, 1, 1), (0, 0, 0, 0, 1), (1, 0, 1, 1, 1)]:
        value = um.binary.at(dataset, neighbours, truth, lambda v: {2: 0.49, 3: 0.51}.get(sum(v)), who, floor=0.49)
        assert value == pytest.approx(whole.probability(dataset, True), abs=1e-12)


def test_at_needs_a_floor_and_stops_at_its_limit():
    """Without a floor a far known point of value 0 would still bind; far boundaries end in TooLarge, not in a hang."""
    ask = {
        "neighbours": flips(40),
        "truth": lambda v: v.bit_count() > 20,
        "known": lambda v: {20: 0.4, 21: 0.6}.get(v.bit_count()),
    }
    with pytest.raises(NeedsFloor, match="floor="):
        um.binary.at(0, privacy=1.0, **ask)
    with pytest.raises(TooLarge, match="limit"):
        um.binary.at(0, privacy=1.0, floor=0.4, limit=10_000, **ask)
    with pytest.raises(InvalidInput, match="floor"):
        um.binary.at(2**22 - 1, privacy=1.0, floor=0.45, **ask)
    assert um.binary.at(2**22 - 1, privacy=um.ApproxDP(1, 0.1), **ask) > 0.6


@pytest.mark.parametrize("level", [um.PureDP.from_ratio(3), um.PureDP(20), um.GaussianDP(1)])
def test_at_far_from_the_boundary_is_small_and_not_0(level):
    """On the line of integers, hundreds of steps away: what `extend` says on a path, never a float 0."""
    known = {0: 0.4, 1: 0.6}
    steps = [1, 2, 3, 10, 33, 34, 35, 60, 800]
    path = um.Space.from_edges([(i, i + 1) for i in range(-900, 900)])
    whole = um.binary.extend(path, lambda v: v > 0, known, level).mechanism
    for yes in (*steps, *(1 - d for d in steps)):
        value = um.binary.at(yes, lambda v: [v - 1, v + 1], lambda v: v > 0, known, level, floor=0.4)
        assert 0 < value <= 1
        assert value == pytest.approx(whole.probability(yes, True), rel=1e-11)


@pytest.mark.parametrize(
    "level",
    [um.PureDP.from_ratio(3), um.GaussianDP(1), um.SuitablePair([(0, 0), ("1/4", "1/2"), ("1/2", "3/4"), (1, 1)])],
)
def test_at_with_a_floor_below_the_digits_of_1(level):
    """1 - 1e-30 is 1 as a float, which no step lowers: the search ends all the same, and finds what `extend` finds."""
    path = um.Space.from_edges([(i, i + 1) for i in range(-1, 400)])
    whole = um.binary.extend(path, lambda v: v > 0, {0: "1e-30", 1: "1e-30"}, level).mechanism
    for v in (2, 60, 150):
        known = lambda v: "1e-30" if v in (0, 1) else None  # noqa: E731
        value = um.binary.at(v, lambda v: [v - 1, v + 1], lambda v: v > 0, known, level, floor="1e-30", limit=2000)
        assert value == pytest.approx(whole.probability(v, True), rel=1e-9)


@pytest.mark.parametrize(
    "level", [um.PureDP.from_ratio(3), um.PureDP("0.01"), um.ApproxDP(1, 1e-6), um.GaussianDP("0.5")]
)
def test_what_at_certifies_is_private_all_together(level):
    """Integers made at one dataset at a time, on a line: the exact check of all of them finds no broken promise."""
    known = lambda v: {0: "0.499", 1: "0.501"}.get(v)  # noqa: E731
    line = range(-60, 61)
    certified = [
        um.binary.at(v, lambda v: [v - 1, v + 1], lambda v: v > 0, known, level, floor="0.4").certified for v in line
    ]
    weights = np.array([answer.weights for answer in certified])
    assert find_violation(weights, 62, on_edges(um.path(121), level)) is None
    path = um.Space.from_edges([(i, i + 1) for i in range(-3000, 3000)])
    whole = um.binary.extend(path, lambda v: v > 0, known, level).mechanism
    exact = np.array([whole.probability(v, True) for v in line])
    assert np.abs(weights[:, 1] / 2.0**62 - exact).max() <= certified[0].moved + 1e-13
    assert {answer.moved for answer in certified} == {certified[0].moved}
    assert certified[0].moved < 1e-12
    assert certified[-1].sample() in (True, False)
    assert set(certified[60].sample(200)) == {True, False}


def test_at_is_not_certified_without_one_concave_level():
    """Of edges that nobody looked at, nothing is known, so there is no slack to count on."""
    ask = (1, lambda v: [v - 1, v + 1], lambda v: v > 0, {0: 0.5, 1: 0.5}.get)
    with pytest.raises(CannotCertify, match="one concave level"):
        um.binary.at(5, *ask[1:], lambda a, b: 1.0, floor=0.5).certified  # noqa: B018
    with pytest.raises(CannotCertify, match="no slack"):
        um.binary.at(*ask, um.PureDP(0), floor=0.5).certified  # noqa: B018


def test_at_finds_contradictions_in_its_ball():
    """Known values near the dataset that contradict each other are refused."""
    with pytest.raises(NoExtension):
        um.binary.at(5, lambda v: [v - 1, v + 1], lambda v: True, {4: 0.1, 6: 0.9}.get, 0.1, floor=0.1)


# ---- boundaries and hitting sets ----


@given(st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_hitting_set_is_a_smallest_one(seed):
    """No smaller set hits every boundary edge: checked against all smaller sets."""
    n, edges, truth, _ = random_question(np.random.default_rng(seed))
    n_small = min(n, 9)
    edges = [(a, b) for a, b in edges if a < n_small and b < n_small]
    space = um.Space.from_edges(edges, points=range(n_small))
    truth = truth[:n_small]
    chosen = um.binary.hitting_set(space, truth)
    assert um.binary.is_hitting(space, truth, chosen)
    for size in range(len(chosen)):
        assert not any(um.binary.is_hitting(space, truth, smaller) for smaller in combinations(range(n_small), size))


def test_boundary():
    """Edges between different truths, and their ends."""
    found = um.binary.boundary(um.grid((2, 3), "manhattan"), lambda p: p[1] == 2)
    assert found.edges == (((0, 1), (0, 2)), ((1, 1), (1, 2)))
    assert found.points == ((0, 1), (0, 2), (1, 1), (1, 2))


# ---- bad input ----


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({0: -0.1}, r"-0\.1.*probability"),
        ({0: 1.5}, r"1\.5.*probability"),
        ({0: "half"}, "'half'.*finite number"),
        ({0: True}, "truth value"),
        (np.array([2.0, np.nan, np.nan]), r"2\.0.*probability"),
        ([0.1, 0.2], "2 values for 3 points"),
    ],
)
def test_bad_known_values(known, words):
    """The value, the rule and where it stands."""
    with pytest.raises(InvalidInput, match=words):
        um.binary.extend(um.path(3), [True] * 3, known, 1)


def test_other_bad_input():
    """Unknown points, truths that are not outputs, outputs that are not two, levels of another space, odd criteria."""
    with pytest.raises(UnknownPoint, match="7"):
        um.binary.extend(um.path(3), [True] * 3, {7: 0.5}, 1)
    with pytest.raises(InvalidInput, match=r"'maybe'.*neither"):
        um.binary.balanced(um.path(2), ["maybe", "yes"], 1, outputs=("no", "yes"))
    with pytest.raises(InvalidInput, match="two different"):
        um.binary.balanced(um.path(2), [True, True], 1, outputs=(True, True))
    with pytest.raises(InvalidInput, match="belong to"):
        um.binary.balanced(um.path(2), [True, False], um.per_edge(um.path(3), epsilon=[1, 1]))
    with pytest.raises(InvalidInput, match="privacy is 'much'"):
        um.binary.balanced(um.path(2), [True, False], "much")
    with pytest.raises(InvalidInput, match="criterion"):
        um.binary.best_boundary(um.path(2), [True, False], 1, criterion="mean")
    with pytest.raises(InvalidInput, match="adds up to"):
        um.binary.best_boundary(um.path(2), [True, False], 1, prior=[0.5, 0.6])
    two = [um.binary.balanced(um.path(n), [True] * n, 1).mechanism for n in (2, 3)]
    with pytest.raises(InvalidInput, match="different points"):
        um.binary.dominates(*two, lambda p: True)


@pytest.mark.parametrize(
    "level",
    [
        0.01,
        1,
        20,
        um.ApproxDP(1, 1e-6),
        um.GaussianDP(0.2),
        um.GaussianDP(2),
        um.SuitablePair([(0, 0), (0.2, 0.6), (0.4, 0.8), (1, 1)]),
    ],
)
def test_no_tail_underflows(level):
    """A majority among 3000: private and optimal by its own proof, and no positive probability is a float 0."""
    yes = np.arange(3000) > 1500
    for solution in (
        um.binary.balanced(um.path(3000), yes, level),
        um.binary.extend(um.path(3000), yes, {1500: 0.5, 1501: 0.5, 0: "1/4"}, level),
    ):
        assert solution.verify(), str(solution.verify())
        assert um.certify(solution).moved < 1e-10
        positive = not isinstance(level, um.ApproxDP) or not level.delta
        assert not positive or (solution.mechanism.matrix > 0).all()


def test_the_epsilon_of_a_long_tail_is_the_one_promised():
    """BIN Corollary 2 on 1602 points: its own matrix says epsilon = 1, not infinity."""
    solution = um.binary.balanced(um.counts(1601), lambda yes: yes > 800, 1.0)
    assert solution.mechanism.epsilon(um.counts(1601)) == pytest.approx(1, abs=1e-12)
    assert um.certify(solution).sample(1600) is True


def test_small_known_values_keep_their_digits_through_mixed_levels():
    """Bounds from 1e-12 through epsilon = 20 and other levels, against exact sums; they add up to 1."""
    space = um.path(3)
    levels = um.per_edge(space, {(0, 1): 20, (1, 2): um.ApproxDP(1, 1e-6)})
    solution = um.binary.extend(space, [True] * 3, {0: 1e-12}, levels)
    assert solution.verify(), str(solution.verify())
    bound = ExpSum.rational(Fraction(1, 10**12))
    for point, level in ((1, levels[0]), (2, levels[1])):
        bound = level.upper_exact(bound)
        assert solution.mechanism.probability(point, True) == pytest.approx(float(bound), rel=1e-14)


@pytest.mark.parametrize("value", [1e-30, 1e-10, 1e-6, 0.3])
@pytest.mark.parametrize("end", [0, 1])
def test_gaussian_bounds_keep_their_digits(value, end):
    """Gaussian levels on counts(30), from a small known value of either output, against balls of 600 bits."""
    known = value if end else str(1 - Fraction(value))
    truth = [bool(end)] * 31
    solution = um.binary.extend(um.counts(30), truth, {0: known}, um.GaussianDP(1))
    assert solution.verify(), str(solution.verify())
    bound = ExpSum.rational(as_rational(value) if end else 1 - Fraction(known))
    for point in range(13):
        assert solution.mechanism.matrix[point, end] == pytest.approx(float(bound), rel=1e-12)
        bound = um.GaussianDP(1).upper_exact(bound)


@pytest.mark.parametrize("n", [200, 20_000])
def test_mixed_levels_on_a_path_are_the_recursion(n):
    """Levels that differ from edge to edge, from one end: the bound is upper after upper, and long paths are fast."""
    space = um.path(n)
    epsilon, delta = np.where(np.arange(n - 1) % 2, 0.002, 0.001), np.where(np.arange(n - 1) % 3, 1e-7, 0)
    with within(10):
        solution = um.binary.extend(space, [True] * n, {0: 0.01}, um.per_edge(space, epsilon=epsilon, delta=delta))
    assert solution.certificate.method.startswith("relaxation")
    p, q = 0.01, 0.99
    for e, d, found in zip(epsilon.tolist(), delta.tolist(), solution.mechanism.matrix[1:].tolist(), strict=True):
        p, q = (
            min(math.exp(e) * p + d, 1 - (q - d) / math.exp(e), 1.0),
            max((q - d) / math.exp(e), 1 - math.exp(e) * p - d, 0.0),
        )
        assert found == pytest.approx([q, p], rel=1e-9, abs=1e-15)


def test_wide_and_narrow_fronts_agree():
    """Many points at a time, or one by one in the order of their bounds: the same least bounds."""
    rng = np.random.default_rng(7)
    space = um.grid((40, 40), metric="manhattan")
    m = len(space.edge_indices)
    levels = um.per_edge(space, epsilon=rng.uniform(0, 1, m), delta=rng.choice([0, 1e-5, 1e-3], m))
    start = np.where(rng.random(1600) < 0.2, rng.uniform(0, 0.3, 1600), 1.0)
    everywhere = np.ones(1600, dtype=bool)
    (p, q), _ = path_bounds.carry(levels, (start, 1 - start), everywhere)
    (p1, q1) = path_bounds._one_by_one(levels, start, 1 - start, np.arange(1600), everywhere)
    assert p == pytest.approx(p1, rel=1e-12)
    assert q == pytest.approx(q1, rel=1e-12)


@pytest.mark.parametrize("value", ["1e-320", 5e-324, "1e-400", str(1 - Fraction(1, 10**330))])
def test_known_values_that_floats_do_not_tell_from_0_or_1_are_refused(value):
    """A known 1e-400 is not 0, and is not quietly taken for it."""
    with pytest.raises(InvalidInput, match="floats do not tell"):
        um.binary.extend(um.path(2), [True, True], {0: value}, 1)


def test_best_boundary_on_a_grid_of_ten_thousand_points():
    """The value lies within 1e-9 of a bound recomputed from prices, though every point weighs 1e-4."""
    space = um.grid((100, 100), metric="manhattan")
    solution = um.binary.best_boundary(space, [i + j > 100 for i, j in space.points], 1.0)
    assert solution.verify()
    assert solution.certificate.gap < 1e-9
    with pytest.raises(TooLarge, match="lines"):
        um.binary.best_boundary(um.path(600_000), np.arange(600_000) > 7, 1.0)


@pytest.mark.long
@pytest.mark.parametrize("metric", ["manhattan", "chebyshev"])
def test_best_boundary_on_a_grid_of_a_hundred_thousand_points(metric):
    """Where costs of 1/n, as they are, made the solver wander for minutes; 7 and 15 s, 2 GB."""
    space = um.grid((317, 317), metric)
    solution = um.binary.best_boundary(space, [i + j > 317 for i, j in space.points], 1.0)
    assert solution.verify()
    assert solution.verify().gap < 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_the_boundary_by_colour(seed):
    """BIN Def. 8 by enumeration: the ends of boundary edges with each truth."""
    n, edges, truth, _ = random_question(np.random.default_rng(seed))
    found = um.binary.boundary(um.Space.from_edges(edges, points=range(n)), truth)
    ends = {v for a, b in edges if truth[a] != truth[b] for v in (a, b)}
    assert {j: set(points) for j, points in found.by_output.items()} == {
        j: {v for v in ends if truth[v] == j} for j in (False, True)
    }
    assert set(found.points) == ends


# ---- an edge without a promise constrains nothing ----

NO_PROMISES = [um.PureDP(math.inf), um.ApproxDP(math.inf, 0.2), um.GaussianDP(math.inf)]


@pytest.mark.parametrize("level", NO_PROMISES, ids=repr)
@pytest.mark.parametrize("known", [0, 1, 0.3])
def test_a_free_point_behind_no_promise_tells_the_truth(level, known):
    """Whatever is known at the other end, 0 included; and the optimum is certified and verified."""
    best = um.binary.extend(um.path(2), [True, True], {0: known}, level)
    assert best.mechanism.probability(1, True) == 1
    assert best.verify().optimal == "theorem"
    assert um.certify(best).level == level
    assert um.binary.imposed(um.path(3), 0, known, level).tolist() == [known, 1, 1]


@pytest.mark.parametrize("level", NO_PROMISES, ids=repr)
def test_nothing_contradicts_across_no_promise(level):
    """Opposite certain answers at neighbours, and through a free point; a table certifies that has them."""
    assert um.binary.extend(um.path(2), [True, False], {0: 0, 1: 1}, level).verify()
    assert um.binary.extend(um.path(3), [True] * 3, {0: 0, 2: 1}, level).mechanism.probability(1, True) == 1
    table = um.FiniteMechanism(np.eye(2), range(2), (False, True))
    assert um.certify(table, um.path(2), level).level == level


@pytest.mark.parametrize("seed", range(60))
def test_edges_without_a_promise_might_as_well_be_missing(seed):
    """Random graphs with certain answers at known points: the same optimum, or the same refusal, without such edges."""
    rng = np.random.default_rng(seed)
    n, edges, _, known = random_question(rng)
    truth = [True] * n
    known = {v: float(rng.choice([0, 1, 0.3])) for v in known} or {0: 0.0}
    free = rng.random(len(edges)) < 0.5
    delta = rng.choice([0, 0.1], len(edges))
    space, rest = (um.Space.from_edges(some, points=range(n)) for some in (edges, np.array(edges)[~free].tolist()))
    levels = um.per_edge(space, epsilon=np.where(free, math.inf, 1.0), delta=delta)

    def solve(space, levels):
        try:
            return um.binary.extend(space, truth, known, levels)
        except NoExtension:
            return None

    best = solve(space, levels)
    without = solve(rest, um.per_edge(rest, epsilon=np.ones((~free).sum()), delta=delta[~free]))
    assert (best is None) == (without is None)
    if best is not None:
        assert np.array_equal(best.mechanism.matrix, without.mechanism.matrix)
        assert best.verify()
        assert um.certify(best)


# ---- exact ties, and levels that allow next to nothing ----


def step_up(ratio, delta, alpha):
    """The largest probability at a neighbour, in rationals."""
    return min(ratio * alpha + delta, 1 - (1 - delta - alpha) / ratio, Fraction(1))


def close(found, exact):
    """Whether a probability and its complement have their digits, 1e-9 relative."""
    return all(abs(Fraction(x) - y) <= y / 10**9 for x, y in zip(found, (1 - exact, exact), strict=True))


@pytest.mark.parametrize("ratio", [10**6, 10**9, 10**12])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**6), Fraction(1, 10**9)])
@pytest.mark.parametrize("people", [2, 3, 4])
def test_a_tie_of_growth_and_saturation_keeps_its_digits(ratio, delta, people):
    """Values from which growth ends at 1, or within rounding of it, where the next bound depends on the complement."""
    level = um.ApproxDP.from_ratio(ratio, delta)
    starts = {Fraction(999998, 10**12), (1 - delta) / (ratio + 1), (1 - delta) / (ratio + 1) / ratio, delta}
    for start in starts:
        shares = [start]
        for _ in range(people - 1):
            shares.append(step_up(ratio, delta, shares[-1]))
        for known in ({0: start}, {0: start, people - 1: shares[-1]}):
            best = um.binary.extend(um.path(people), [True] * people, known, level)
            assert all(close(row, share) for row, share in zip(best.mechanism.matrix, shares, strict=True))
            assert best.verify().optimal == "theorem"
            assert um.certify(best)
        if shares[-1] < 1:
            with pytest.raises(NoExtension):
                um.binary.extend(
                    um.path(people), [True] * people, {0: start, people - 1: shares[-1] + Fraction(1, 10**40)}, level
                )


@pytest.mark.parametrize("delta", [f"1e-{d}" for d in (6, 9, 10, 11, 12, 13, 16, 20, 60, 300)])
@pytest.mark.parametrize("known", ["0", "1e-12", "0.3", "0.999999999999", "1"])
@pytest.mark.parametrize("people", [2, 60])
def test_epsilon_zero_with_a_tiny_delta(delta, known, people):
    """Chains of such edges keep their digits; the optimum verifies and certifies."""
    start, step = Fraction(known), Fraction(delta)
    for truth in (True, False):
        best = um.binary.extend(um.path(people), [truth] * people, {0: known}, um.ApproxDP(0, delta))
        last = (people - 1) * step * (1 if truth else -1)
        assert close(best.mechanism.matrix[-1], min(max(start + last, Fraction(0)), Fraction(1)))
        assert best.verify().optimal == "theorem"
        assert um.certify(best)


@pytest.mark.parametrize("seed", range(30))
def test_chains_of_mixed_levels_keep_their_digits(seed):
    """Epsilon 0 or tiny, delta down to 1e-15, one edge of a large epsilon: against rationals."""
    rng = np.random.default_rng(seed)
    people = 200
    ratios = [1 + Fraction(str(10.0 ** -int(rng.integers(4, 17)))) for _ in range(people - 1)]
    ratios = [Fraction(1) if rng.random() < 0.5 else ratio for ratio in ratios]
    ratios[int(rng.integers(people - 1))] = Fraction(1000)
    deltas = [Fraction(1, 10 ** int(rng.integers(9, 16))) for _ in ratios]
    space = um.path(people)
    levels = um.per_edge(
        space, {(i, i + 1): um.ApproxDP.from_ratio(*p) for i, p in enumerate(zip(ratios, deltas, strict=True))}
    )
    exact = [Fraction(str(rng.choice([0, 1e-12, 1e-7, 0.4])))]
    for ratio, delta in zip(ratios, deltas, strict=True):
        exact.append(step_up(ratio, delta, exact[-1]))
    best = um.binary.extend(space, [True] * people, {0: exact[0]}, levels)
    assert all(close(row, share) for row, share in zip(best.mechanism.matrix, exact, strict=True))
    assert best.verify().optimal == "theorem"
