"""Finite queries against independent linear programs, exact rationals and the corrected numbers of REG."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.graphs import random_question
from oracles.programs import least_loss_lp
from scipy.optimize import linprog

import utmost as um
from utmost.errors import InvalidInput, NoSuchMechanism, TooLarge, UnsupportedLevel
from utmost.mechanism.certification import CertifiedRecipe
from utmost.mechanism.decaying_columns import DecayingMechanism, is_transitive, reach_of, row_sums, sum_error
from utmost.mechanism.violations import find_violation
from utmost.space.edge_levels import on_edges
from utmost.theory.priors.design.phi import solve_phi
from utmost.theory.priors.design.structured import _least_symbol, solve_structured

COMES_AND_GOES = [(0, 2), (0, 3), (0, 5), (1, 2), (1, 3), (1, 5), (2, 3), (2, 4), (3, 4), (4, 5)]


def utility(mechanism, prior=None):
    return 1 - mechanism.expected_loss(prior)


# ---- tight constraints ----


@given(st.integers(1, 30), st.floats(0.01, 5))
@settings(max_examples=40)
def test_on_a_path_tight_constraints_are_the_geometric_mechanism(n, epsilon):
    """For every epsilon, entry by entry."""
    tight = um.finite.tight_constraints(um.path(n), epsilon)
    assert tight.mechanism.matrix == pytest.approx(um.finite.geometric(n, epsilon).matrix, abs=1e-12)
    assert tight.verify(), tight.verify()


@pytest.mark.parametrize(
    ("space", "threshold"),
    [
        (um.sums(20, 2), 0.281200),
        (um.sums(20, 3), 0.553122),
        (um.sums(20, 4), 0.779189),
        (um.sums(150, 5), 0.968133),
        (um.grid((3, 3)), 1.443635),
    ],
)
def test_thresholds_of_existence(space, threshold):
    """The corrected thresholds, to six digits, with the signs at both ends of the bracket proved."""
    found = um.finite.smallest_epsilon(space)
    assert found == pytest.approx(threshold, abs=6e-7)
    assert found.bracket[1] - found.bracket[0] <= 1e-9
    if len(space.points) < 400:
        assert "proved at both ends" in found.note


@pytest.mark.long
def test_threshold_of_two_counts():
    """Two counts of 30 people: 1.136080, where REG says 0.90."""
    assert um.finite.smallest_epsilon(um.grid((31, 31))) == pytest.approx(1.136080, abs=6e-7)


def test_the_published_mechanism_is_refused():
    """REG's case study at epsilon = 0.80 has a negative diagonal entry; the error says so, and from where it exists."""
    with pytest.raises(NoSuchMechanism, match=r"would be -0\.070.*from epsilon = 0\.96813") as refused:
        um.finite.tight_constraints(um.sums(150, 5), 0.80)
    assert refused.value.entry == pytest.approx(-0.070, abs=5e-4)


def test_utilities_of_the_case_study():
    """Sums of 150 people with values 0..5, and two counts of 30 people."""
    for epsilon, expected in ((1.0, 0.1483), (1.2, 0.1900)):
        assert 1 - um.finite.tight_constraints(um.sums(150, 5), epsilon).value == pytest.approx(expected, abs=5e-5)
    assert utility(um.finite.geometric(751, 0.2)) == pytest.approx(0.1009, abs=5e-4)
    assert 1 - um.finite.tight_constraints(um.grid((31, 31)), 1.2).value == pytest.approx(0.1900, abs=5e-5)


@pytest.mark.parametrize(
    ("x", "exists"), [(0.45, True), (0.50, True), (0.53, False), (0.69, False), (0.73, True), (0.9, True)]
)
def test_existence_comes_goes_and_comes_back(x, exists):
    """On a graph of six points, at e^-epsilon = x, decided in exact rationals."""
    space = um.Space.from_edges(COMES_AND_GOES, points=range(6))
    level = um.PureDP.from_ratio(1 / Fraction(str(x)))
    if exists:
        assert um.finite.tight_constraints(space, level).verify()
    else:
        with pytest.raises(NoSuchMechanism):
            um.finite.tight_constraints(space, level)
    assert math.exp(-um.finite.smallest_epsilon(space)) == pytest.approx(0.5, abs=1e-6)


def test_singular_phi():
    """The 3-cube with antipodes joined at e^-epsilon = 1/3 has a singular Phi, and a mechanism all the same."""
    cube = um.hamming(3, 2)
    antipodes = [(p, tuple(1 - x for x in p)) for p in cube.points if p[0] == 0]
    space = um.Space.from_edges([*cube.edges, *antipodes], points=cube.points)
    phi = 3.0 ** -space.distances()
    assert abs(np.linalg.det(phi)) < 1e-9
    tight = um.finite.tight_constraints(space, um.PureDP.from_ratio(3))
    assert tight.mechanism.matrix == pytest.approx(phi / phi.sum(axis=1, keepdims=True), abs=1e-12)
    assert um.finite.regularity(None, space, um.PureDP.from_ratio(3)) is not None


def test_per_edge_levels():
    """With an epsilon per edge, columns fall off as the weighted distance allows, and the LP finds nothing better."""
    space = um.path(5)
    levels = um.per_edge(space, epsilon=[0.5, 1.0, 0.7, 1.3])
    tight = um.finite.tight_constraints(space, levels)
    assert tight.verify()
    assert tight.value == pytest.approx(um.finite.optimal(space, levels, method="linear-program").value, abs=1e-7)


# ---- regular priors ----


@given(st.integers(0, 10_000))
@settings(max_examples=40)
def test_regular_priors_are_mixtures_of_corner_priors(seed):
    """Any mixture of corner priors is regular with the coefficients it was made of; beyond a corner it is not."""
    rng = np.random.default_rng(seed)
    n, edges, _, _ = random_question(rng)
    space = um.Space.from_edges(edges, points=range(n))
    level = um.PureDP(round(float(rng.uniform(0.5, 3)), 3))
    corners = um.finite.corner_priors(space, level)
    if np.linalg.cond(corners) > 1e6:
        return
    share = rng.dirichlet(np.ones(n))
    y = um.finite.regularity(share @ corners, space, level)
    phi = np.exp(-float(level.epsilon) * space.distances())
    assert y == pytest.approx(share / phi.sum(axis=1), abs=1e-8)
    inside = share @ corners
    assert um.finite.utility_bound(inside, space, level) == pytest.approx(y.sum())
    k = int(rng.integers(n))
    beyond = corners[k] + 0.05 * (corners[k] - corners[(k + 1) % n])
    if beyond.min() >= 0:
        assert um.finite.regularity(beyond / beyond.sum(), space, level) is None
    apart = np.exp(float(level.epsilon) * space.distances())
    assert (inside[:, None] <= inside[None, :] * apart * (1 + 1e-9)).all()  # REG Prop. 2
    assert (inside <= 1 / phi.sum(axis=1) + 1e-12).all()  # REG Prop. 3
    assert (inside >= 1 / apart.sum(axis=1) - 1e-12).all()


def test_the_prior_of_reg_example_3():
    """Values with probabilities .3, .27, .23, .2 for each person: regular from epsilon = log 2 on, not from 0.48."""
    shares = np.array([0.3, 0.27, 0.23, 0.2])
    for people in (1, 2, 3):
        space, prior = um.hamming(people, 4), np.ones(1)
        for _ in range(people):
            prior = np.kron(prior, shares)
        for epsilon, regular in ((0.48, False), (0.6931, False), (0.6932, True), (1.0, True)):
            assert (um.finite.regularity(prior, space, epsilon) is not None) == regular


def test_what_five_people_leak_at_one_half():
    """REG's "at most 1.2 bits at epsilon = 0.5" is false: a 0.5-private mechanism leaks 1.345 bits of five people."""
    shares, growth = np.array([0.3, 0.27, 0.23, 0.2]), math.exp(0.5)
    rows = np.vstack([(np.ones((3, 3)) + (growth - 1) * np.eye(3)) / (growth + 2), np.full((1, 3), 1 / 3)])
    mechanism = um.FiniteMechanism(rows, range(4), range(3))
    assert mechanism.epsilon(um.complete(4)) <= 0.5 + 1e-12
    assert 5 * mechanism.leakage(shares) == pytest.approx(1.345, abs=1e-3)


@pytest.mark.parametrize(("people", "values"), [(1, 2), (2, 2), (3, 2), (2, 3), (2, 4)])
def test_leakage_of_databases_meets_theorem_2(people, values):
    """On all databases the tight constraints leak exactly people · log2(V e^eps / (V - 1 + e^eps))."""
    space, growth = um.hamming(people, values), math.exp(0.8)
    tight = um.finite.tight_constraints(space, 0.8)
    bound = people * math.log2(values * growth / (values - 1 + growth))
    assert tight.mechanism.leakage() == pytest.approx(bound, abs=1e-9)
    assert um.finite.leakage_bound(None, space, 0.8) == pytest.approx(bound, abs=1e-9)
    assert tight.verify()


def test_the_bound_for_all_priors():
    """REG Cor. 1 and Theorem 2: no prior leaks more; closed form on databases, the uniform prior elsewhere."""
    for space in (um.path(5), um.sums(4, 2), um.cycle(6), um.complete(4), um.hamming(3, 3), um.hamming(2, "abc")):
        bound = um.finite.leakage_bound_for_all(space, 1.0)
        tight = um.finite.tight_constraints(space, 1.0).mechanism
        assert tight.leakage() == pytest.approx(bound, abs=1e-9)
        rng = np.random.default_rng(len(space.points))
        for _ in range(20):
            prior = rng.dirichlet(np.full(len(space.points), rng.choice([0.2, 1.0, 5.0])))
            assert tight.leakage(prior) <= bound + 1e-9
    assert um.finite.leakage_bound_for_all(um.hamming(0, 3), 1.0) == 0
    large = um.finite.leakage_bound_for_all(um.hamming(1000, 4), 0.5)  # 4^1000 databases
    assert large == pytest.approx(1000 * math.log2(4 * math.exp(0.5) / (3 + math.exp(0.5))))
    with pytest.raises(NoSuchMechanism):
        um.finite.leakage_bound_for_all(um.sums(6, 5), 0.5)


@pytest.mark.parametrize("seed", range(30))
def test_necessary_conditions_of_regular_priors(seed):
    """REG Props 2 and 3 hold for every regular prior, corners included, and fail where brute force finds a breach."""
    rng = np.random.default_rng(seed)
    n, edges, _, _ = random_question(rng)
    space, level = um.Space.from_edges(edges, points=range(n)), um.PureDP(round(float(rng.uniform(0.1, 3)), 3))
    corners = um.finite.corner_priors(space, level)
    for prior in (*corners, rng.dirichlet(np.ones(n)) @ corners):
        assert all(check.passed for check in um.finite.necessary_conditions(prior, space, level))
    prior = rng.dirichlet(np.full(n, 0.5))
    apart = float(level.epsilon) * space.distances()
    ratios = bool((np.log(prior[:, None] / prior[None, :]) <= apart).all())
    within = bool(((1 / np.exp(apart).sum(axis=1) <= prior) & (prior <= 1 / np.exp(-apart).sum(axis=1))).all())
    assert [check.passed for check in um.finite.necessary_conditions(prior, space, level)] == [ratios, within]


# ---- structure ----

STRUCTURED = [
    um.path(9), um.counts(1), um.path(1), um.sums(7, 3), um.sums(4, 1), um.sums(2, 9), um.sums(0, 3), um.sums(3, 0),
    um.differences(5, "replace"), um.differences(4, "add-remove"), um.cycle(7), um.complete(6), um.hamming(3, 3),
    um.grid((4, 6)), um.grid((5, 1, 4)), um.grid((1, 8)), um.grid((3, 2, 4), "manhattan"), um.grid((1, 1)),
]  # fmt: skip


@pytest.mark.parametrize("space", STRUCTURED, ids=repr)
@pytest.mark.parametrize("epsilon", [0, 0.05, 0.5, 1.0, 1.5, 4.0, 30.0])
def test_structure_finds_what_the_matrix_finds(space, epsilon):
    """Row sums within their stated error, and the weights and signs of the dense solver, on every structured family."""
    level, n = um.PureDP(epsilon), len(space.points)
    phi = np.exp(-epsilon * space.distances())
    rng = np.random.default_rng(n)
    peaks = np.full(n, 0.3) if is_transitive(space) else rng.random(n)
    exact = [math.fsum(row * peaks) for row in phi]
    assert np.abs(row_sums(space, level, peaks) - exact).max() <= sum_error(space, level, peaks) + 4e-15
    found = solve_structured(space, level)
    if found is None:
        return
    assert phi @ found.y == pytest.approx(np.ones(n), abs=1e-12)
    if epsilon:
        dense = solve_phi(on_edges(space, level), np.ones(n))
        assert found.y == pytest.approx(dense.y, abs=1e-9)
        assert None in (found.nonnegative, dense.nonnegative) or found.nonnegative == dense.nonnegative


@pytest.mark.parametrize("space", [um.sums(9, 4), um.differences(20, "replace"), um.grid((6, 7))], ids=repr)
def test_the_symbol_bounds_the_eigenvalues(space):
    """The bound on the symbol lies below every eigenvalue of Phi, and not far below."""
    for epsilon in (0.9, 1.3, 2.0):
        sides = 2 if space.family.name == "grid" else 1
        bound = _least_symbol(epsilon, reach_of(space), sides)
        least = np.linalg.eigvalsh(np.exp(-epsilon * space.distances())).min()
        assert bound <= least < bound + 0.1


@pytest.mark.long
@pytest.mark.parametrize(
    ("space", "epsilon"),
    [(um.sums(500, 5), 1.0), (um.grid((51, 51)), 1.2), (um.counts(2500), 0.3), (um.grid((14, 14, 14), "manhattan"), 1)],
    ids=repr,
)
def test_large_spaces_are_solved_without_a_matrix(space, epsilon, tmp_path):
    """Rows on demand agree with the matrix; the solution verifies, is saved and read back, and is drawn from."""
    solution = um.finite.tight_constraints(space, epsilon)
    mechanism, n = solution.mechanism, len(space.points)
    assert isinstance(mechanism, DecayingMechanism)
    dense = np.linalg.solve(np.exp(-epsilon * space.distances()), np.ones(n))
    assert mechanism.peaks == pytest.approx(dense, abs=1e-10)
    middle = space.points[n // 2]
    assert mechanism.row(middle) == pytest.approx(np.exp(-epsilon * space.distances_from(middle)) * dense, abs=1e-10)
    assert solution.value == pytest.approx(1 - dense.mean(), abs=1e-12)
    assert solution.verify(), solution.verify()
    certified = um.certify(solution)
    assert certified.moved < 1e-7
    assert certified.sample(middle) in space.points
    loaded = um.Solution.load(solution.save(tmp_path / "large.json"))
    assert loaded.verify()
    assert (loaded.mechanism.peaks == mechanism.peaks).all()


def test_certified_rows_of_decaying_columns_are_private():
    """Lemma 2 at work: integer rows made on demand, put in one table, pass the exact check of every edge."""
    for space, epsilon in ((um.sums(12, 5), 1), (um.grid((6, 7)), "3/2"), (um.hamming(4, 2), "1/10"), (um.path(40), 3)):
        level = um.PureDP(epsilon)
        peaks = solve_structured(space, level).y
        certified = CertifiedRecipe(DecayingMechanism(space, level, peaks), on_edges(space, level))
        table = np.array([certified.weights_at(point) for point in space.points])
        assert find_violation(table, certified.bits, on_edges(space, level)) is None


@pytest.mark.long
@pytest.mark.parametrize(
    ("space", "epsilon", "right"),
    [(um.sums(200_000, 5), 1, 0.146634), (um.grid((1001, 1001)), 1.2, 0.169172), (um.counts(10**6), 0.1, 0.049959)],
    ids=repr,
)
def test_a_million_results(space, epsilon, right):
    """A sum over 200,000 people, two counts of 1000, a count of a million: solved, verified and drawn from."""
    solution = um.finite.tight_constraints(space, epsilon)
    assert 1 - solution.value == pytest.approx(right, abs=1e-6)
    assert solution.verify(), solution.verify()
    middle = space.points[len(space.points) // 2]
    assert um.certify(solution).sample(middle) in space.points


def test_what_large_spaces_refuse(tmp_path):
    """No mechanism, not decided, peaks that are none, and forged peaks in a file."""
    with pytest.raises(NoSuchMechanism, match="diagonal entry"):
        um.finite.tight_constraints(um.sums(1000, 5), 0.9)
    with pytest.raises(TooLarge, match="larger epsilon"):
        um.finite.tight_constraints(um.sums(1000, 5), 0.4)
    for peaks in ([0.7, 0.7, 0.1], [0.5, 0.5], [np.nan] * 3, [1.5, -0.5, 0]):
        with pytest.raises(InvalidInput):
            DecayingMechanism(um.path(3), um.PureDP(1), peaks)
    solution = um.finite.tight_constraints(um.counts(3000), 1.0)
    forged = dataclasses.replace(solution, mechanism=um.finite.tight_constraints(um.counts(3000), 2.0).mechanism)
    assert not forged.verify()
    assert not dataclasses.replace(solution, value=solution.value - 1e-6).verify()


@pytest.mark.parametrize(
    ("space", "epsilon"),
    [
        (um.path(3000), 0.02),
        (um.path(3000), 0.001),
        (um.grid((60, 60), "manhattan"), 0.01),
        (um.grid((20, 20, 20), "manhattan"), 0.5),
    ],
    ids=repr,
)
def test_large_spaces_at_small_epsilon_verify(space, epsilon):
    """The bound on rounding is near enough to the truth that a good solution passes its own check."""
    solution = um.finite.tight_constraints(space, epsilon)
    assert solution.verify(), solution.verify()


def test_large_mechanisms_know_their_loss_and_leakage():
    """Zero-one loss and leakage under the uniform prior without a matrix, as with one."""
    solution = um.finite.tight_constraints(um.sums(450, 5), 1.0)
    matrix = um.FiniteMechanism(solution.mechanism.matrix, range(2251), range(2251))
    assert solution.mechanism.expected_loss() == pytest.approx(matrix.expected_loss(), abs=1e-12)
    assert solution.mechanism.leakage() == pytest.approx(matrix.leakage(), abs=1e-12)
    prior = np.random.default_rng(0).dirichlet(np.ones(2251))
    assert solution.mechanism.expected_loss(prior, remap="none") == pytest.approx(
        matrix.expected_loss(prior, remap="none"), abs=1e-12
    )
    assert um.finite.utility_bound(None, um.path(20_000), 1.0) == pytest.approx(math.tanh(0.5), abs=1e-4)


def test_the_threshold_of_a_large_sum():
    """By structure: 3001 results have the threshold that 751 have, to nine digits; the error says it."""
    with pytest.raises(NoSuchMechanism, match=r"exists from epsilon = 0\.968133"):
        um.finite.tight_constraints(um.sums(600, 5), 0.9)
    assert um.finite.smallest_epsilon(um.path(10**6)) == 0
    assert um.finite.smallest_epsilon(um.hamming(20, 2)) == 0


def test_a_mirror_changes_nothing():
    """Symmetric problems get symmetric mechanisms, as good as before; columns price one half and mirror the other."""
    space = um.sums(5, 3)
    steps = np.abs(np.arange(16)[:, None] - np.arange(16))
    for method in ("linear-program", "columns"):
        best = um.finite.optimal(space, 0.7, loss="squared", method=method)
        assert (best.mechanism.matrix == best.mechanism.matrix[::-1, ::-1]).all()
        assert best.verify(), best.verify()
    least = least_loss_lp(16, space.edges, np.full(len(space.edges), 0.7), np.zeros(len(space.edges)),
                          np.full(16, 1 / 16), steps**2.0, False)  # fmt: skip
    assert best.value == pytest.approx(least, abs=1e-6)


# ---- the optimum ----


def random_problem(seed, most=7):
    rng = np.random.default_rng(seed)
    n, edges, _, _ = random_question(rng)
    n = min(n, most)
    edges = [(a, b) for a, b in edges if b < n]
    space = um.Space.from_edges(edges, points=range(n))
    epsilon = rng.uniform(0.1, 2, len(edges))
    delta = rng.choice([0, 0.02, 0.1], len(edges)) if seed % 2 else np.zeros(len(edges))
    return rng, n, edges, space, epsilon, delta


@pytest.mark.parametrize("criterion", ["average", "worst"])
@pytest.mark.parametrize("seed", range(20))
def test_optimal_is_the_dense_lp(seed, criterion):
    """Random spaces, priors, losses and levels: the value of an independent LP, with a bound that proves it."""
    rng, n, edges, space, epsilon, delta = random_problem(seed)
    prior, loss = rng.dirichlet(np.ones(n)), rng.random((n, n))
    levels = um.per_edge(space, epsilon=epsilon, delta=delta)
    solution = um.finite.optimal(space, levels, prior, loss, criterion)
    best = least_loss_lp(n, edges, epsilon, delta, prior, loss, criterion == "worst")
    assert solution.value == pytest.approx(best, abs=1e-7)
    assert solution.certificate.gap < 1e-6
    assert solution.verify(), solution.verify()
    assert solution.certified.moved < 1e-5


@pytest.mark.parametrize("seed", range(10))
def test_for_regular_priors_tight_constraints_are_optimal(seed):
    """Where a prior is regular, "auto" takes tight constraints, and the LP agrees."""
    rng = np.random.default_rng(seed)
    space, level = um.sums(5, 2), um.PureDP(0.6)
    prior = rng.dirichlet(np.ones(11)) @ um.finite.corner_priors(space, level)
    solution = um.finite.optimal(space, level, prior)
    assert "tight" in solution.certificate.method
    assert solution.verify(), solution.verify()
    program = um.finite.optimal(space, level, prior, method="linear-program")
    assert solution.value == pytest.approx(program.value, abs=1e-7)
    assert solution.value <= um.finite.geometric(11, 0.3).expected_loss(prior) + 1e-9


@pytest.mark.parametrize("loss", ["zero-one", "absolute", "squared"])
@pytest.mark.parametrize("seed", range(6))
def test_on_a_path_geometric_with_its_best_remap_is_optimal(seed, loss):
    """Ghosh, Roughgarden and Sundararajan: for every prior and every monotone loss."""
    rng = np.random.default_rng(seed)
    n, epsilon = int(rng.integers(3, 9)), float(rng.uniform(0.2, 2))
    prior = rng.dirichlet(0.7 * np.ones(n))
    solution = um.finite.optimal(um.path(n), epsilon, prior, loss, method="linear-program")
    assert solution.value == pytest.approx(um.finite.geometric(n, epsilon).expected_loss(prior, loss), abs=1e-7)
    chosen = um.finite.optimal(um.path(n), epsilon, prior, loss)
    assert chosen.certificate.claim == "theorem"
    assert chosen.value == pytest.approx(solution.value, abs=1e-7)
    assert chosen.verify(), chosen.verify()


def test_geometric_noise_is_not_taken_for_losses_that_do_not_grow():
    """A loss that forgives one far guess breaks the theorem's condition: the LP is better than any remap."""
    n = 6
    loss = 1 - np.eye(n)
    loss[:, 0] = 0.5  # a guess that is half right everywhere
    best = um.finite.optimal(um.path(n), 1.0, loss=loss)
    assert best.certificate.claim == "bound"
    assert best.value <= um.finite.geometric(n, 1.0).expected_loss(loss=loss) + 1e-9
    with pytest.raises(InvalidInput, match="counts"):
        um.finite.optimal(um.path(n), 1.0, loss=loss, method="geometric")


def test_the_theorem_on_counts_is_checked():
    """A worse mechanism, or a loss that does not grow, passed off under the theorem, does not verify."""
    good = um.finite.optimal(um.path(4), 1.0, [0.4, 0.3, 0.2, 0.1], "absolute")
    flat = um.FiniteMechanism(np.full((4, 4), 0.25), range(4), range(4))
    value = flat.expected_loss([0.4, 0.3, 0.2, 0.1], "absolute", remap="none")
    assert not dataclasses.replace(good, mechanism=flat, value=value).verify()
    odd = dict(good.problem.data, loss=1 - good.problem.data["loss"])
    assert not dataclasses.replace(good, problem=dataclasses.replace(good.problem, data=odd)).verify()


def test_below_the_threshold_the_optimum_is_found_by_the_lp():
    """Where no tight-constraints mechanism exists, "auto" solves the LP, which beats geometric noise."""
    solution = um.finite.optimal(um.sums(6, 5), 0.8)
    assert solution.certificate.claim == "bound"
    assert 1 - solution.value >= utility(um.finite.geometric(31, 0.16)) - 1e-9
    assert solution.verify()


def test_the_optimum_of_a_sum_below_its_threshold():
    """sums(20, 5) at epsilon = 0.8, uniform prior: 0.12110877 right guesses, by columns in a second."""
    solution = um.finite.optimal(um.sums(20, 5), 0.8)
    assert 1 - solution.value == pytest.approx(0.12110877, abs=1e-7)
    assert "column generation" in solution.certificate.method
    assert solution.certificate.gap < 1e-6
    assert solution.verify(), solution.verify()


@pytest.mark.parametrize("loss", ["zero-one", "absolute", "squared", "within 1", "random"])
@pytest.mark.parametrize("seed", range(4))
def test_columns_find_what_the_linear_program_finds(seed, loss):
    """Random pure levels per edge, graphs, priors and losses: the same value, and a bound that proves it."""
    rng, n, _, space, epsilon, _ = random_problem(2 * seed, most=10)
    prior, table = rng.dirichlet(np.ones(n)), rng.random((n, n)) if loss == "random" else loss
    levels = um.per_edge(space, epsilon=epsilon)
    program = um.finite.optimal(space, levels, prior, table, method="linear-program")
    columns = um.finite.optimal(space, levels, prior, table, method="columns")
    assert columns.value == pytest.approx(program.value, abs=1e-7)
    assert columns.certificate.gap < 1e-6
    assert columns.verify(), columns.verify()


@pytest.mark.parametrize("space", [um.sums(8, 3), um.grid((5, 5)), um.hamming(4, 2), um.histograms(4, 3)])
def test_columns_on_the_families(space):
    """Lines, grids, databases and histograms: the gap closes, and the result is certified."""
    loss = "squared" if isinstance(space.points, range) else "zero-one"
    solution = um.finite.optimal(space, 0.7, loss=loss, method="columns")
    assert solution.certificate.gap < 1e-6
    assert solution.verify(), solution.verify()
    assert solution.certified.moved < 1e-5


@pytest.mark.long
def test_a_large_sum_below_its_threshold():
    """sums(150, 5) at epsilon = 0.8, uniform prior: 0.11078 right guesses, gap below 1e-5; nobody has published it."""
    solution = um.finite.optimal(um.sums(150, 5), 0.8, seconds=300)
    assert 1 - solution.value == pytest.approx(0.110779, abs=1e-5)
    assert solution.certificate.gap < 1e-6
    assert solution.verify()


@pytest.mark.parametrize("loss", ["within 1", np.zeros((3, 3))], ids=["within", "zero"])
def test_a_worst_case_of_nothing_verifies(loss):
    """Where nothing is lost at all, any prior proves it."""
    for space, level in ((um.path(3), 1.0), (um.path(3), math.inf), (um.path(3), um.ApproxDP(1, 1))):
        best = um.finite.optimal(space, level, loss=loss, criterion="worst")
        assert best.value == pytest.approx(0, abs=1e-9)
        assert best.verify(), best.verify()


@pytest.mark.parametrize("scale", [1e-9, 1.0, 25e6])
def test_the_unit_of_a_loss_changes_nothing(scale):
    """The same problem in other units has the same mechanism value, scaled."""
    one = um.finite.optimal(um.sums(5, 3), 1.0, loss="squared")
    table = scale * np.subtract.outer(np.arange(16), np.arange(16)) ** 2.0
    other = um.finite.optimal(um.sums(5, 3), 1.0, loss=table)
    assert other.value / scale == pytest.approx(one.value, rel=1e-7)
    assert other.verify(), other.verify()


def test_empty_spaces_are_normal():
    """Nothing to ask about: nothing is lost and nothing leaks."""
    empty = um.path(0)
    assert um.finite.optimal(empty, 1.0, loss="absolute").value == 0
    assert um.finite.smallest_epsilon(empty) == 0
    assert um.finite.leakage_bound(None, empty, 1) == um.finite.leakage_bound_for_all(empty, 1) == 0


@pytest.mark.parametrize("space", [um.path(4), um.complete(5), um.sums(4, 3)], ids=repr)
def test_corner_priors_are_regular(space):
    """REG Prop. 4: the corners belong to the region, though floats round them; a step outwards does not."""
    corners = um.finite.corner_priors(space, 1.3)
    for i, corner in enumerate(corners):
        y = um.finite.regularity(corner, space, 1.3)
        assert y is not None
        assert np.flatnonzero(y > 1e-12).tolist() == [i]
        beyond = corner + 1e-9 * (corner - corners[i - 1])
        assert um.finite.regularity(beyond / beyond.sum(), space, 1.3) is None


def test_stated_gaps_are_checked():
    """A worse mechanism beside the old bound and gap, and a loss blown up where nobody is, do not verify."""
    best = um.finite.optimal(um.sums(3, 2), 1.0, loss="absolute")
    noise = um.FiniteMechanism(np.full((7, 7), 1 / 7), range(7), range(7))
    worse = noise.expected_loss(loss="absolute", remap="none")
    assert not dataclasses.replace(best, mechanism=noise, value=worse).verify()
    table = np.abs(np.subtract.outer(np.arange(4), np.arange(4))).astype(float)
    table[3] *= 1e12
    prior = [0.5, 0.5, 0, 0]
    count = um.finite.optimal(um.path(4), 1.0, prior, table)
    assert count.verify(), count.verify()
    always = um.FiniteMechanism(np.eye(4)[[2, 2, 2, 2]], range(4), range(4))
    assert not dataclasses.replace(count, mechanism=always, value=1.5).verify()


def test_refusals():
    """Levels, criteria, methods and sizes that the theory or the solver does not cover."""
    with pytest.raises(UnsupportedLevel, match="pure"):
        um.finite.tight_constraints(um.path(3), um.ApproxDP(1, 0.1))
    with pytest.raises(UnsupportedLevel, match="epsilon, delta"):
        um.finite.optimal(um.path(3), um.GaussianDP(1))
    with pytest.raises(InvalidInput, match="criterion"):
        um.finite.optimal(um.path(3), 1.0, criterion="median")
    with pytest.raises(InvalidInput, match="method"):
        um.finite.optimal(um.path(3), 1.0, method="magic")
    with pytest.raises(InvalidInput, match="not regular"):
        um.finite.optimal(um.path(3), 1.0, prior=[0.98, 0.01, 0.01], method="tight-constraints")
    with pytest.raises(InvalidInput, match="not regular"):
        um.finite.utility_bound([0.98, 0.01, 0.01], um.path(3), 1.0)
    with pytest.raises(TooLarge, match="1500"):
        um.finite.optimal(um.path(300), um.ApproxDP(1, 0.1), loss="within 1")
    with pytest.raises(UnsupportedLevel, match="linear-program"):
        um.finite.optimal(um.path(3), um.ApproxDP(1, 0.1), method="columns")
    with pytest.raises(InvalidInput, match="1 or more"):
        um.finite.geometric(0, 1.0)


def test_more_prices_than_fit_are_refused():
    """A million pairs of letters, and a price for each and every output: 20 GB once."""
    prior = np.linspace(1, 3, 1000)
    with pytest.raises(TooLarge, match="dual prices"):
        um.finite.optimal(um.complete(1000), 0.01, prior / prior.sum(), loss="absolute")


# ---- epsilon below what solvers resolve ----


@pytest.mark.parametrize("epsilon", [1e-7, 1e-9, 1e-10, 1e-12, 1e-15])
@pytest.mark.parametrize("loss", ["zero-one", "absolute", "squared"])
@pytest.mark.parametrize("criterion", ["average", "worst"])
@pytest.mark.parametrize("prior", [None, [0.1, 0.2, 0.3, 0.1, 0.2, 0.1]])
def test_a_tiny_epsilon_has_nearly_the_best_constant(epsilon, loss, criterion, prior):
    """Rows differ by at most e^(3 epsilon), so the optimum is within that of the best mechanism of equal rows."""
    space = um.cycle(6)
    best = um.finite.optimal(space, epsilon, prior, loss, criterion=criterion)
    guess = np.arange(6)
    table = {"zero-one": guess[:, None] != guess, "absolute": abs(guess[:, None] - guess)}.get(
        loss, (guess[:, None] - guess) ** 2
    )
    weights = np.full(6, 1 / 6) if prior is None else np.array(prior)
    if criterion == "average":
        constant = (weights @ table).min()
    else:  # the least worst loss of one row
        rows = np.hstack([table, -np.ones((6, 1))])
        program = linprog(
            np.eye(7)[6], A_ub=rows, b_ub=np.zeros(6), A_eq=[[1] * 6 + [0]], b_eq=[1], bounds=[(0, None)] * 7
        )
        constant = program.fun
    assert constant * math.exp(-3 * epsilon) - 1e-12 <= best.value <= constant + 1e-6
    assert best.verify()
    assert um.certify(best)
    assert best.certificate.gap <= 1e-5
