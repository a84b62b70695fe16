"""Which priors are regular where a matrix is singular or does not fit: against rationals, products and dense solves."""

import math
from fractions import Fraction
from itertools import product

import networkx as nx
import numpy as np
import pytest
from flint import fmpq, fmpq_mat

import utmost as um
from utmost.errors import TooLarge
from utmost.mechanism.decaying_columns import DecayingMechanism, row_sums, sum_error
from utmost.space.edge_levels import on_edges
from utmost.theory.priors.design import structured
from utmost.theory.priors.design.phi import solve_phi
from utmost.theory.priors.design.structured import solve_for_prior


def with_antipodes(people):
    """The cube with opposite corners joined; Phi is singular at e^epsilon = 3 (three people) and 2 (four, five)."""
    cube = um.hamming(people, 2)
    opposite = [(p, tuple(1 - x for x in p)) for p in cube.points if p[0] == 0]
    return um.Space.from_edges([*cube.edges, *opposite], points=cube.points)


def rational_phi(space, ratio):
    return fmpq_mat([[fmpq(1) / fmpq(ratio) ** int(d) for d in row] for row in space.distances()])


@pytest.mark.parametrize(("people", "ratio"), [(3, 3), (4, 2), (5, 2)])
def test_a_singular_phi_is_decided_exactly(people, ratio):
    """Priors made of coefficients are regular; a step of 1e-9 or 1e-13 out of the range of Phi is not."""
    space, level = with_antipodes(people), um.PureDP.from_ratio(ratio)
    exact = rational_phi(space, ratio)
    n = len(space.points)
    assert exact.rank() < n
    phi = float(ratio) ** -space.distances()
    rng = np.random.default_rng(people)
    out = rng.normal(size=n)
    out -= phi @ np.linalg.pinv(phi, rcond=1e-9) @ out  # what no coefficients make
    for _ in range(3):
        y = rng.dirichlet(np.ones(n))
        prior = y @ phi / (y @ phi).sum()
        found = um.finite.regularity(prior, space, level)
        assert (found >= 0).all()
        assert found @ phi == pytest.approx(prior, abs=1e-15)
        for step in (1e-9, 1e-13):
            moved = prior + step * out / np.abs(out).max()
            assert um.finite.regularity(moved / moved.sum(), space, level) is None
    corners = um.finite.corner_priors(space, level)
    assert um.finite.regularity(corners[0], space, level) is not None
    beyond = corners[0] + 1e-9 * (corners[0] - corners[1])
    weights = np.linalg.lstsq(phi, beyond, rcond=None)[0]
    assert weights.min() < 0  # one solution is negative; that there is no other is what rationals decide
    assert um.finite.regularity(beyond / beyond.sum(), space, level) is None


def test_one_eighth_and_a_little():
    """The 3-cube with antipodes: the uniform prior is regular, and 1e-9 more at every second corner is not."""
    space, level = with_antipodes(3), um.PureDP.from_ratio(3)
    parity = np.array([(-1) ** sum(point) for point in space.points])
    exact = rational_phi(space, 3)
    null = fmpq_mat([[fmpq(int(x)) for x in parity]]) * exact
    assert all(null[0, j] == 0 for j in range(8))  # parity is a left null vector: every prior y Phi has none of it
    assert um.finite.regularity(None, space, level) is not None
    assert um.finite.regularity(1 / 8 + 1e-9 * parity, space, level) is None
    assert um.finite.tight_constraints(space, level).certificate.notes == ()


def test_points_at_distance_zero_are_one():
    """Where epsilon is 0, rows of Phi are alike: a prior is regular if it is even there and regular on the rest."""
    space = um.path(4)
    levels = um.per_edge(space, epsilon=[0.0, 1.0, 0.0])
    y = um.finite.regularity([0.3, 0.3, 0.2, 0.2], space, levels)
    assert y @ np.exp(-levels.lengths()) == pytest.approx([0.3, 0.3, 0.2, 0.2], abs=1e-15)
    assert um.finite.regularity([0.3, 0.3 + 1e-9, 0.2, 0.2 - 1e-9], space, levels) is None
    assert um.finite.regularity([0.45, 0.45, 0.05, 0.05], space, levels) is None
    assert um.finite.regularity([0.25 + 1e-9, 0.25, 0.25, 0.25 - 1e-9], space, 0) is None
    assert um.finite.regularity(None, space, 0) is not None


PRODUCTS = [
    um.path(2), um.counts(6), um.grid((3, 4), "manhattan"), um.grid((2, 1, 3), "manhattan"), um.grid((1, 5)),
    um.hamming(3, 2), um.hamming(2, "abc"), um.complete(5), um.differences(3, "add-remove"),
]  # fmt: skip


@pytest.mark.parametrize("space", PRODUCTS, ids=repr)
@pytest.mark.parametrize("epsilon", [0.01, 0.7, 3.0, 40.0])
def test_the_inverse_of_a_product_is_that_of_the_matrix(space, epsilon):
    """Coefficients and signs from sides agree with the dense solver, and rationals lie within the stated error."""
    rng, n = np.random.default_rng(len(space.points)), len(space.points)
    level = um.PureDP(epsilon)
    prior = rng.dirichlet(np.ones(n))
    found, moved = solve_for_prior(space, level, prior, 2000)
    dense = solve_phi(on_edges(space, level), prior)
    for mine, other in zip(found.signs, dense.signs, strict=True):
        assert mine == other or mine is None
    assert (moved >= 0).all()
    ratio = Fraction(math.exp(epsilon)).limit_denominator(10**6)
    exact = fmpq_mat(
        [[fmpq(int(ratio.denominator), int(ratio.numerator)) ** int(d) for d in row] for row in space.distances()]
    )
    right = fmpq_mat([[fmpq(*Fraction(float(p)).as_integer_ratio())] for p in prior])
    truth = np.array([float(Fraction(int(v.p), int(v.q))) for v in exact.solve(right).entries()])
    found, moved = solve_for_prior(space, um.PureDP.from_ratio(ratio), prior, 2000)
    assert (np.abs(found.y - truth) <= moved).all()


def test_row_sums_of_databases_with_different_peaks():
    """Sums over sides equal the matrix product, within their stated error."""
    for space in (um.hamming(3, 3), um.complete(7), um.hamming(1, 4)):
        z = np.random.default_rng(1).random(len(space.points))
        exact = [math.fsum(row * z) for row in np.exp(-0.8 * space.distances())]
        level = um.PureDP(0.8)
        assert np.abs(row_sums(space, level, z) - exact).max() <= sum_error(space, level, z) + 1e-15


def test_large_counts_and_databases():
    """12,001 counts, 25,001 sums, 16,384 databases: decided without a matrix; coefficients come back as put in."""
    rng = np.random.default_rng(2)
    for space, epsilon in ((um.counts(12_000), 1.0), (um.sums(5000, 5), 1.5)):
        n = len(space.points)
        y = rng.dirichlet(np.ones(n))
        prior = row_sums(space, um.PureDP(epsilon), y)
        found = um.finite.regularity(prior / prior.sum(), space, epsilon)
        assert found == pytest.approx(y / prior.sum(), abs=1e-12)
        tilted = np.arange(1.0, n + 1) ** 2
        tilted[n // 2] *= 30
        assert um.finite.regularity(tilted / tilted.sum(), space, epsilon) is None
    shares, prior = np.array([0.3, 0.27, 0.23, 0.2]), np.ones(1)
    for _ in range(7):
        prior = np.kron(prior, shares)
    for epsilon, regular in ((0.48, False), (0.6931, False), (0.6932, True), (1.0, True)):
        assert (um.finite.regularity(prior, um.hamming(7, 4), epsilon) is not None) == regular
    one = um.finite.utility_bound(shares, um.complete(4), 1.0)  # people are independent, so coefficients multiply
    assert um.finite.utility_bound(prior, um.hamming(7, 4), 1.0) == pytest.approx(one**7, rel=1e-12)
    rising = np.arange(12_001.0)
    assert um.finite.regularity(rising / rising.sum(), um.cycle(12_001), 1.0) is None  # from the last, 12,000, to 0


@pytest.mark.parametrize("space", [um.counts(4000), um.hamming(6, 4)], ids=repr)
def test_a_regular_prior_on_many_results_is_solved_by_theorem(space, tmp_path):
    """The optimum for a prior that is not uniform, its proof by coefficients, also from a file; forged ones fail."""
    y = np.random.default_rng(3).dirichlet(np.ones(len(space.points)))
    prior = row_sums(space, um.PureDP(1), y)
    prior /= prior.sum()
    best = um.finite.optimal(space, 1.0, prior)
    assert isinstance(best.mechanism, DecayingMechanism)
    assert best.certificate.reason.startswith("REG Theorem 3")
    assert 1 - best.value == pytest.approx(um.finite.utility_bound(prior, space, 1.0), abs=1e-12)
    loaded = um.Solution.load(best.save(tmp_path / "best.json"))
    assert loaded.verify(), loaded.verify()
    best.certificate.evidence["coefficients"][0] /= 2
    assert not best.verify()


# ---- from which epsilon on a prior is regular ----


def exact_coefficients(space, prior, epsilon):
    """The y with y Phi = prior at a rational e^-epsilon next to the one asked for, in rationals."""
    growth = Fraction(math.exp(epsilon)).limit_denominator(10**12)
    phi = fmpq_mat(
        [
            [fmpq(growth.denominator, growth.numerator) ** int(d) if d < math.inf else fmpq(0) for d in row]
            for row in space.distances()
        ]
    )
    right = fmpq_mat([[fmpq(*float(p).as_integer_ratio())] for p in prior])
    return [row[0] for row in phi.solve(right).tolist()]


def test_signs_that_hang_on_rounding_are_not_decided():
    """Inverses of e^-0.01 along twelve people multiply by 10^27: the last bit of a float proves nothing of a prior."""
    space = um.hamming(12, 2)
    tilted = 1 + 0.1 * np.cos(np.linspace(0, 3, 2**12))
    tilted /= tilted.sum()
    for ask in (um.finite.regularity, um.finite.utility_bound):
        with pytest.raises(TooLarge, match="cannot be decided"):
            ask(tilted, space, 0.01)
    with pytest.raises(TooLarge):
        um.finite.optimal(space, 0.01, tilted, seconds=1)
    assert um.finite.regularity(None, space, 0.01) is not None


@pytest.mark.parametrize("seed", range(20))
def test_the_smallest_epsilon_of_a_prior_is_where_a_sign_changes(seed):
    """On random graphs, sums and grids: just below a coefficient is negative, from there on none is, in rationals."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    edges = [(int(rng.integers(0, i)), i) for i in range(1, n)] + [(0, n - 1)]
    spaces = [um.Space.from_edges([e for e in edges if e[0] != e[1]], points=range(n)), um.sums(3, 2), um.grid((3, 2))]
    spaces += [um.path(n), um.hamming(2, 3), um.Space.from_edges([(0, 1), (2, 3)])]
    space = spaces[seed % len(spaces)]
    prior = rng.dirichlet(np.full(len(space), 3.0))
    least = um.finite.smallest_epsilon(space, prior)
    assert min(exact_coefficients(space, prior, least - 1e-7)) < 0
    for above in (1e-7, 1e-3, 0.1, 0.5, 1, 2, 5):
        assert min(exact_coefficients(space, prior, least + above)) >= 0
    assert "proved at both ends" in least.note
    assert um.finite.regularity(prior, space, least + 1e-6) is not None
    assert um.finite.regularity(prior, space, least - 1e-6) is None


def test_the_smallest_epsilon_of_special_priors():
    """Uniform as before, zeros never, a zero beyond any path no matter; the neighbours' ratio where that decides."""
    sums = um.sums(20, 2)
    assert um.finite.smallest_epsilon(sums, [1 / 41] * 41) == um.finite.smallest_epsilon(sums)
    assert um.finite.smallest_epsilon(um.path(3), [0.5, 0.5, 0]) == math.inf
    apart = um.Space.from_edges([(0, 1), (2, 3)])
    assert um.finite.smallest_epsilon(apart, [0.8, 0.2, 0, 0]) == pytest.approx(math.log(4), abs=1e-9)
    large = np.linspace(1, 3, 2501)
    assert 0 < um.finite.smallest_epsilon(um.path(2501), large / math.fsum(large)) < 0.1
    with pytest.raises(TooLarge, match="use fewer"):
        um.finite.smallest_epsilon(um.cycle(2501), large / math.fsum(large))


@pytest.mark.parametrize("seed", range(20))
def test_phi_corners_and_min_entropy_are_their_definitions(seed):
    """Phi by paths in networkx, shares that make the prior of its corners, entropy by enumeration of guesses."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    edges = sorted({(int(rng.integers(0, i)), i) for i in range(1, n)} | {(0, n - 1)})
    space = um.Space.from_edges(edges, points=range(n))
    epsilon = rng.uniform(0.1, 2, len(edges))
    graph = nx.Graph()
    graph.add_weighted_edges_from((a, b, e) for (a, b), e in zip(edges, epsilon, strict=True))
    lengths = dict(nx.all_pairs_dijkstra_path_length(graph))
    expected = [[math.exp(-lengths[a][b]) for b in range(n)] for a in range(n)]
    levels = um.per_edge(space, epsilon=epsilon)
    assert um.finite.privacy_constraints(space, levels) == pytest.approx(np.array(expected), rel=1e-12)
    shares = rng.dirichlet(np.ones(n))
    corners = np.array(expected) / np.sum(expected, axis=1, keepdims=True)
    assert um.finite.corner_shares(shares @ corners, space, levels) == pytest.approx(shares, abs=1e-9)
    spike = np.full(n, 1e-9)
    spike[0] = 1 - 1e-9 * (n - 1)
    assert um.finite.corner_shares(spike, space, levels) is None
    prior, matrix = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(3), n)
    mechanism = um.FiniteMechanism(matrix, range(n), "xyz")
    right = max(
        sum(prior[guess] * matrix[guess, o] for o, guess in enumerate(guesses))
        for guesses in product(range(n), repeat=3)
    )
    assert mechanism.conditional_min_entropy(prior) == pytest.approx(-math.log2(right), abs=1e-12)
    lost = -math.log2(max(prior)) - mechanism.conditional_min_entropy(prior)
    assert mechanism.leakage(prior) == pytest.approx(lost, abs=1e-12)


@pytest.mark.parametrize(
    "space", [um.counts(10**5), um.sums(400, 5), um.grid((316, 317), metric="manhattan"), um.hamming(13, 2)], ids=repr
)
def test_shares_of_corners_need_no_matrix(space):
    """They add up to 1, and as many corners mixed by them are the prior, looked at where a row can be listed."""
    rng, level = np.random.default_rng(27), um.PureDP(2)
    weights = 1 + rng.uniform(-0.01, 0.01, len(space.points))
    prior = weights / weights.sum()
    shares = um.finite.corner_shares(prior, space, level)
    assert shares.min() > 0
    assert shares.sum() == pytest.approx(1, abs=1e-9)
    y = um.finite.regularity(prior, space, level)
    for i in rng.integers(0, len(space.points), 2).tolist():
        decay = np.exp(-2.0 * space.distances_from(space.points[i]))
        assert y @ decay == pytest.approx(prior[i], rel=1e-9)  # Phi is symmetric
        assert shares[i] == pytest.approx(y[i] * decay.sum(), rel=1e-9)


# ---- in time ----


def scattered(n, seed=0):
    """A random connected graph without structure."""
    rng = np.random.default_rng(seed)
    edges = {(int(rng.integers(0, i)), i) for i in range(1, n)}
    edges |= {tuple(sorted(map(int, rng.choice(n, 2, replace=False)))) for _ in range(n)}
    return um.Space.from_edges(sorted(edges), points=range(n))


def test_results_without_structure_are_refused_before_they_take_long():
    space = scattered(6000)
    prior = np.random.default_rng(0).dirichlet(np.full(6000, 1000.0))
    with pytest.raises(TooLarge, match=r"takes about \d+ seconds; allow that \(seconds="):
        um.finite.tight_constraints(space, 3.0)
    with pytest.raises(TooLarge, match=r"takes about \d+ seconds"):
        um.finite.regularity(prior, space, 3.0)
    few = scattered(60)
    assert um.finite.tight_constraints(few, 5.0).verify()
    with pytest.raises(TooLarge, match="takes about"):
        um.finite.tight_constraints(few, 5.0, seconds=1e-5)


def test_the_search_for_the_least_epsilon_states_a_bound_in_time():
    """What it states holds: the mechanism exists there; and with time it is not larger."""
    space, lines = scattered(60), []
    early = um.finite.smallest_epsilon(space, seconds=0.0)
    full = um.finite.smallest_epsilon(space, say=lines.append)
    assert "not tried" in early.note
    assert full <= early
    assert um.finite.tight_constraints(space, float(early)).verify()
    assert len(lines) > 1


@pytest.mark.parametrize("n", [3, 4, 5, 8, 21, 40])
@pytest.mark.parametrize("epsilon", [3.0, 8.0])
def test_the_inverse_on_a_cycle_is_the_dense_one(n, epsilon):
    right = np.random.default_rng(n).dirichlet(np.ones(n))
    distance = np.abs(np.arange(n)[:, None] - np.arange(n))
    phi = np.exp(-epsilon * np.minimum(distance, n - distance))
    answer = structured._solve_cycle(epsilon, right)
    if answer is None:
        assert n <= 5
        return
    solved, uncertainty = answer
    assert np.abs(solved.y - np.linalg.solve(phi, right)).max() <= 1e-14 * max(1, np.abs(solved.y).max())
    assert all(s == np.sign(v) for s, v in zip(solved.signs, solved.y, strict=True))
    assert uncertainty.max() < 1e-12


@pytest.mark.parametrize("n", [2001, 2500, 100_000, 100_001])
def test_priors_on_large_cycles(n):
    """The coefficients add up to the prior again, by a sum over distances; a steep prior is not regular."""
    prior = 1 + 0.2 * np.random.default_rng(n).random(n)
    prior /= prior.sum()
    y = um.finite.regularity(prior, um.cycle(n), 1.0)
    again = y.copy()
    for distance in range(1, 50):
        again += math.exp(-distance) * (np.roll(y, distance) + np.roll(y, -distance))
    assert again == pytest.approx(prior, rel=1e-12)
    steep = prior.copy()
    steep[7] *= 3
    assert um.finite.regularity(steep / steep.sum(), um.cycle(n), 1.0) is None
