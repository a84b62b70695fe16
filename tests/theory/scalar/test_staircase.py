"""Staircase noise for real answers: the law against integration, the optimum against other roads, safe releases."""

import math
from dataclasses import replace
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import gamma as gamma_law
from scipy.stats import kstest, laplace

import utmost as um
from utmost.errors import InvalidInput, UnsupportedLevel
from utmost.mechanism.sampling import insecure_source_for_tests_only
from utmost.theory.scalar.design.best_gamma import _find_negative, best_gamma

approx = pytest.approx


@pytest.mark.parametrize(
    ("dimension", "epsilon", "gamma", "cost"),
    [
        (2, 0.5, 0.730122, 3.996247),
        (2, 2, 0.537048, 0.954558),
        (2, 8, 0.087079, 0.091255),
        (3, 0.5, 0.953314, 5.999496),
        (3, 2, 0.768643, 1.477379),
        (3, 8, 0.186299, 0.199749),
    ],
)
def test_known_optima(dimension, epsilon, gamma, cost):
    """Published and recomputed optima, to six digits."""
    best = um.noise.staircase(epsilon, dimension=dimension)
    assert best.gamma == approx(gamma, abs=5e-7)
    assert best.expected_cost == approx(cost, abs=5e-7)
    assert um.noise.laplace(epsilon, dimension=dimension).expected_cost == approx(dimension / epsilon)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 0.5, 1, 2, 8, 50])
def test_one_dimension_in_closed_form(epsilon):
    """gamma* and cost of Geng and Viswanath, computed here with sixty digits from the formulas as printed."""
    getcontext().prec = 60
    b = (-Decimal(str(epsilon))).exp()
    third = Decimal(1) / 3
    gamma_l1 = 1 / (1 + (1 / b).sqrt())
    gamma_l2 = -b / (1 - b) + (b - 2 * b**2 + 2 * b**4 - b**5) ** third / (2**third * (1 - b) ** 2)
    cost_l1 = (1 / b).sqrt() / (1 / b - 1)
    cost_l2 = (2 ** (-2 * third) * b ** (2 * third) * (1 + b) ** (2 * third) + b) / (1 - b) ** 2
    for cost, gamma, value in (("l1", gamma_l1, cost_l1), ("l2", gamma_l2, cost_l2)):
        best = um.noise.staircase(epsilon, cost=cost)
        assert best.gamma == approx(float(gamma), rel=1e-12)
        assert best.expected_cost == approx(float(value), rel=1e-12)
        assert best.certificate.claim == "theorem"


def orthant(mechanism, periods):
    """Nodes of nested Gauss-Legendre rules over the positive orthant, exact for a function constant between edges.

    Nothing about l1 balls is used: every coordinate is cut wherever the norm of it and those before meets a step.
    """
    steps = np.arange(periods)
    edges = np.unique(np.concatenate([steps, steps + mechanism.gamma, [periods]])) * float(mechanism.sensitivity)
    nodes, weights = np.polynomial.legendre.leggauss(4)
    points, mass = np.zeros((1, 0)), np.ones(1)
    for _ in range(mechanism.dimension):
        used = points.sum(axis=1)
        cuts = np.maximum(edges[None, :] - used[:, None], 0)
        low, high = cuts[:, :-1], cuts[:, 1:]
        x = (low + high)[..., None] / 2 + (high - low)[..., None] / 2 * nodes
        w = mass[:, None, None] * (high - low)[..., None] / 2 * weights
        points = np.concatenate(
            [np.broadcast_to(points[:, None, None, :], (*x.shape, points.shape[1])), x[..., None]], -1
        )
        points, mass = points.reshape(-1, points.shape[-1]), w.ravel()
        points, mass = points[mass > 0], mass[mass > 0]
    return points, mass * 2**mechanism.dimension


@pytest.mark.parametrize("cost", ["l1", "l2"])
@pytest.mark.parametrize(("dimension", "epsilon", "gamma"), [(1, 1, None), (1, 2, 0.9), (2, 2, None), (3, 4, None)])
def test_density_integrates_to_one_and_cost(dimension, epsilon, gamma, cost):
    """Total mass and expected cost by numerical integration in Cartesian coordinates."""
    noise = um.noise.staircase(epsilon, sensitivity="3/2", dimension=dimension, cost=cost, gamma=gamma)
    points, mass = orthant(noise, 24 // epsilon)
    density = noise.density(points[:, 0] if dimension == 1 else points)
    loss = points.sum(axis=1) if cost == "l1" else (points**2).sum(axis=1)
    assert mass @ density == approx(1, abs=1e-7)
    assert mass @ (density * loss) == approx(noise.expected_cost, rel=1e-6)


@given(st.integers(1, 3), st.floats(0.05, 6), st.floats(0, 1), st.integers(0, 2**32))
def test_density_is_private(dimension, epsilon, gamma, seed):
    """The density changes by at most e^epsilon over random shifts of l1 norm up to the sensitivity."""
    rng = np.random.default_rng(seed)
    for noise in (
        um.noise.staircase(epsilon, "7/3", dimension, gamma=gamma),
        um.noise.staircase(epsilon, "7/3", dimension),
        um.noise.laplace(epsilon, "7/3", dimension),
    ):
        x = rng.normal(size=(200, dimension)) * rng.choice([0.3, 3, 20])
        shift = rng.dirichlet(np.ones(dimension), 200) * rng.choice([-1, 1], (200, dimension)) * 7 / 3
        shift *= rng.choice([1 - 1e-9, 0.999, 0.5, 0.01], 200)[:, None]
        here, there = (noise.density(p[:, 0] if dimension == 1 else p) for p in (x, x + shift))
        assert (np.abs(np.log(here) - np.log(there)) <= float(epsilon) * (1 + 1e-9)).all()


def test_asymptotes():
    """Corollary 2.3.2 of LIM: the second terms too, at both ends."""
    for epsilon in (0.05, 0.02):
        cost = um.noise.staircase(epsilon, dimension=2).expected_cost
        assert (cost - 2 / epsilon) / epsilon**2 == approx(-1 / (36 * math.sqrt(3)), rel=3 * epsilon)
    for epsilon in (30, 45):
        cost = um.noise.staircase(epsilon, dimension=2).expected_cost
        second = (cost - 2 ** (1 / 3) * math.exp(-epsilon / 3)) / math.exp(-2 * epsilon / 3)
        assert second == approx(2 ** (-1 / 3), rel=2 * math.exp(-epsilon / 3) + 1e-5)


@given(st.sampled_from([(2, "l1"), (2, "l2"), (3, "l1"), (3, "l2"), (6, "l1"), (10, "l1")]), st.floats(0.2, 12))
@settings(max_examples=25)
def test_no_gamma_is_better(case, epsilon):
    """The optimum against staircases on a grid of gamma."""
    dimension, cost = case
    best = um.noise.staircase(epsilon, dimension=dimension, cost=cost)
    others = [um.noise.staircase(epsilon, 1, dimension, cost, gamma=g).expected_cost for g in np.linspace(0, 1, 101)]
    assert best.expected_cost <= min(others) * (1 + 1e-12)


def test_the_proof_of_the_minimum_can_fail():
    """A polynomial that dips below zero, or touches it, is not passed as positive."""
    from flint import arb

    assert _find_negative([arb(1), arb(-4), arb(5)], 64) is None
    found = _find_negative([arb(1), arb(-4), arb("3.9")], 64)
    assert 1 - 4 * found + Fraction("3.9") * found**2 < 0


@pytest.mark.parametrize("epsilon", ["1e-30", "1e-6", 50, 700, 3000])
@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_extreme_levels(epsilon, dimension):
    """Tiny and huge epsilon: finite, ordered, and close to what the limits say."""
    level = um.PureDP(epsilon)
    best, usual = um.noise.staircase(level, dimension=dimension), um.noise.laplace(level, dimension=dimension)
    assert 0 <= best.expected_cost <= usual.expected_cost * (1 + 1e-15)
    assert usual.expected_cost == approx(dimension / float(level.epsilon))
    if level.epsilon < 1:
        assert best.expected_cost == approx(usual.expected_cost, rel=1e-6)
    elif level.epsilon < 1000:
        assert math.log(best.expected_cost) == approx(-float(level.epsilon) / (dimension + 1), abs=3)
    assert 0 <= best.half_width(0.9) < math.inf
    drawn = np.abs(best.simulate(50, 1).reshape(50, dimension)).sum(axis=1)
    assert (drawn <= best.half_width(1 - Fraction(1, 10**9))).all()


@pytest.mark.parametrize("cost", ["l1", "l2"])
@pytest.mark.parametrize(("epsilon", "dimension"), [(1e-3, 1), (1, 1), (30, 1), (0.5, 2), (8, 3), (2, 4)])
def test_designs_verify_and_forged_ones_do_not(epsilon, dimension, cost):
    """Every design proves itself; another level, cost, or gamma than the best one fails."""
    best = um.noise.staircase(epsilon, 3, dimension, cost)
    proved = best.verify()
    assert proved
    assert proved.optimal == best.certificate.claim
    assert um.noise.laplace(epsilon, 3, dimension, cost).verify().private
    assert um.noise.staircase(epsilon, 3, dimension, cost, gamma="0.4").verify().optimal == "unproved"
    stricter = replace(best, level=um.PureDP(best.level.epsilon * Fraction(99, 100)))
    assert not stricter.verify().private
    assert not replace(best, dimension=dimension + 1).verify()
    assert not replace(best, expected_cost=best.expected_cost * 0.999).verify()
    if proved.optimal == "theorem":
        worse = um.noise.staircase(epsilon, 3, dimension, cost, gamma=best.radius.gamma * Fraction(99, 100))
        forged = replace(worse, certificate=best.certificate).verify()
        assert forged.private
        assert not forged
        assert forged.optimal == "unproved"


def test_labels_are_honest():
    """A theorem where there is one, an open question where there is none, nothing for a gamma of one's own."""
    claims = {
        (d, cost): um.noise.staircase(1, dimension=d, cost=cost).certificate.claim
        for d in (1, 2, 3)
        for cost in ("l1", "l2")
    }
    assert [key for key, claim in claims.items() if claim == "theorem"] == [(1, "l1"), (1, "l2"), (2, "l1"), (3, "l1")]
    assert "2601.14597" in um.noise.staircase(1, dimension=3).certificate.reason
    assert um.noise.staircase(1, dimension=7).certificate.claim == "theorem"
    assert um.noise.staircase(1, dimension=2, cost="l2").certificate.claim == "unproved"
    assert um.noise.staircase(1, gamma=0.5).certificate.claim == "unproved"
    assert um.noise.laplace(1).certificate.claim == "unproved"


def test_from_ratio_and_scaling():
    """e^epsilon given exactly; costs scale with the sensitivity, once or twice."""
    two = um.noise.staircase(um.PureDP.from_ratio(2))
    assert two.gamma == approx(1 / (1 + math.sqrt(2)))
    assert um.noise.staircase(1, "5/2").expected_cost == approx(2.5 * um.noise.staircase(1).expected_cost)
    squared = um.noise.staircase(1, 10**6, 2, "l2").expected_cost
    assert squared == approx(10**12 * um.noise.staircase(1, 1, 2, "l2").expected_cost)


# ---- simulation ----


def chance_within(noise, radii):
    """The probability of an l1 norm up to each radius, shell by shell from the density and the volume of l1 balls."""
    d, steps = noise.dimension, np.arange(math.ceil(np.max(radii) / float(noise.sensitivity)) + 1)
    edges = np.unique(np.concatenate([steps, steps + noise.gamma])) * float(noise.sensitivity)
    middles = (edges[1:] + edges[:-1]) / 2
    at = noise.density(middles if d == 1 else np.column_stack([middles, *[0 * middles] * (d - 1)]))
    volumes = 2**d / math.factorial(d) * edges**d
    sums = np.concatenate([[0.0], np.cumsum(at * np.diff(volumes))])
    shell = np.searchsorted(edges, radii, side="right") - 1
    return sums[shell] + at[shell] * (2**d / math.factorial(d) * radii**d - volumes[shell])


@pytest.mark.parametrize(("dimension", "epsilon"), [(1, 0.05), (1, 3), (2, 1), (3, 0.4), (3, 5)])
def test_simulated_radius_and_direction(dimension, epsilon):
    """Kolmogorov-Smirnov on the radius, and uniformity on the l1 sphere."""
    noise = um.noise.staircase(epsilon, 2, dimension)
    drawn = noise.simulate(20_000, rng=5).reshape(-1, dimension)
    radius = np.abs(drawn).sum(axis=1)
    assert kstest(radius, lambda r: chance_within(noise, r)).pvalue > 1e-3
    assert np.abs((drawn > 0).mean(axis=0) - 0.5).max() < 5 * 0.5 / math.sqrt(20_000)
    if dimension > 1:  # a coordinate of a uniform point of the simplex: 1 - (1-t)^(d-1)
        share = np.abs(drawn[:, 0]) / radius
        assert kstest(share, lambda t: 1 - (1 - t) ** (dimension - 1)).pvalue > 1e-3
        assert abs(np.corrcoef(share, radius)[0, 1]) < 0.04
    assert np.array_equal(noise.simulate(10, rng=1), noise.simulate(10, rng=1))


@pytest.mark.parametrize("gamma", [0, 1e-9, 0.3, 1 - 1e-9, 1])
def test_simulated_line_with_any_gamma(gamma):
    """The ends of gamma too, where one of the two steps has no width."""
    noise = um.noise.staircase(1, gamma=gamma)
    drawn = np.abs(noise.simulate(20_000, rng=4))
    assert kstest(drawn, lambda r: chance_within(noise, r)).pvalue > 1e-3
    assert drawn.mean() == approx(noise.expected_cost, rel=0.05)


def test_radius_within_matches_integration():
    """The mass inside the half-width, integrated shell by shell from the density."""
    for noise in (um.noise.staircase(2, 1, 1), um.noise.staircase(1, "5/2", 2), um.noise.staircase(3, 1, 3)):
        for confidence in (0, 0.1, 0.5, 0.9, 0.999):
            assert chance_within(noise, noise.half_width(confidence)) == approx(confidence, abs=1e-12)


def test_laplace_simulation():
    """Laplace against SciPy's law."""
    drawn = um.noise.laplace(0.7, 3).simulate(20_000, rng=2)
    assert kstest(drawn, laplace(scale=3 / 0.7).cdf).pvalue > 1e-3
    assert um.noise.laplace(0.7, 3).half_width(0.9) == approx(laplace(scale=3 / 0.7).ppf(0.95))


# ---- releases ----


@given(
    st.lists(st.tuples(st.fractions(-5, 5), st.fractions(-3, 3)), min_size=1, max_size=4),
    st.sampled_from([Fraction(1, 100), Fraction(1, 3), Fraction(1), Fraction(7, 2)]),
)
def test_rounding_never_exceeds_the_sensitivity_of_the_grid(pairs, grid):
    """Any two vectors at their declared distance: rounded, they are within the integer sensitivity."""
    x, shift = [p[0] for p in pairs], [p[1] for p in pairs]
    distance = sum(map(abs, shift))
    if distance == 0:
        return
    noise = um.noise.staircase(1, distance, len(pairs)).on_grid(grid)
    with_noise_off = [math.floor(v / grid + Fraction(1, 2)) for v in x]
    moved = [math.floor((v + s) / grid + Fraction(1, 2)) for v, s in zip(x, shift, strict=True)]
    assert sum(abs(a - b) for a, b in zip(with_noise_off, moved, strict=True)) <= noise.sensitivity


def test_rounding_bounds_are_attained():
    """The integer sensitivity is no larger than it must be, and a grid that divides the sensitivity costs nothing."""
    assert um.noise.staircase(1, 5).on_grid("1/10").sensitivity == 50
    assert um.noise.staircase(1, 5).on_grid(3).sensitivity == 2  # 1.4 and 6.4 go to 0 and 2 steps
    assert [math.floor(Fraction(v) / 3 + Fraction(1, 2)) for v in ("1.4", "6.4")] == [0, 2]
    assert um.noise.staircase(1, 1, dimension=3).on_grid(1).sensitivity == 3
    half, tiny = Fraction(1, 2), Fraction(1, 10**6)
    here, there = [half - tiny] * 3, [half, half, half - tiny + 1 - 2 * tiny]
    assert sum(abs(a - b) for a, b in zip(here, there, strict=True)) <= 1
    assert sum(math.floor(b + half) - math.floor(a + half) for a, b in zip(here, there, strict=True)) == 3


def no_noise(mechanism, value, grid):
    """A release whose noise the test chooses to be zero: all random bits are 0, which is place 0 with a plus."""
    with insecure_source_for_tests_only(lambda size: bytes(size)):
        return mechanism.release(value, grid)


def test_values_are_taken_exactly():
    """Halves go up; floats mean their binary value; large numbers keep every digit; types follow the grid."""
    one = um.noise.staircase(1)
    assert no_noise(one, 0.5, 1) == 1
    assert no_noise(one, -0.5, 1) == 0
    assert no_noise(one, 2.5, 1) == 3
    assert no_noise(one, 0.1, "1/5") == Fraction(1, 5)  # the float 0.1 is above 1/10
    assert no_noise(one, Fraction(1, 10) - Fraction(1, 10**40), "1/5") == 0
    assert no_noise(one, 10**40 + 1, 1) == 10**40 + 1
    assert no_noise(one, Decimal("1e50"), 1) == 10**50
    assert no_noise(one, np.float32(0.75), 0.25) == 0.75
    assert no_noise(one, np.int8(-3), 1) == -3
    assert isinstance(no_noise(one, 3.2, 0.01), float)
    assert isinstance(no_noise(one, 3.2, 1), int)
    assert no_noise(one, 10**400, 1.0) == math.inf
    assert no_noise(one, -(10**400), 1.0) == -math.inf


@pytest.mark.parametrize("value", [math.nan, math.inf, "12345", None, [12345], True, 12345j])
def test_bad_values_are_not_repeated(value):
    """What cannot be released is refused without saying what it was."""
    with pytest.raises(InvalidInput) as refusal:
        um.noise.staircase(1).release(value, 1)
    assert "12345" not in str(refusal.value)
    assert refusal.value.__suppress_context__
    for vector in ([12345], 12345, [1, math.nan], "ab"):
        with pytest.raises(InvalidInput) as refusal:
            um.noise.staircase(1, dimension=2).release(vector, 1)
        assert "12345" not in str(refusal.value)


def test_vectors_are_released_on_the_grid():
    """Every coordinate is a multiple of the grid, near the truth."""
    noise = um.noise.staircase(5, 1, dimension=3)
    for _ in range(20):
        noisy = noise.release([1.5, -2.25, 1e6], "1/8")
        assert all((8 * x) % 1 == 0 for x in noisy)
        assert sum(abs(x - t) for x, t in zip(noisy, (1.5, -2.25, 1e6), strict=True)) < 50


@pytest.mark.parametrize(
    "confidence", [Fraction(1, 10**20), Fraction(1, 2), Fraction(19, 20), 1 - Fraction(1, 10**400)]
)
@pytest.mark.parametrize("epsilon", ["0.3", "1/1000", "40"])
def test_half_width_of_laplace_is_rounded_up(epsilon, confidence):
    """The chance of more is at most what it should be, by ball arithmetic; with the float below it is not."""
    width = um.noise.laplace(epsilon).half_width(confidence)
    with ctx.workprec(2000):
        for w, kept in ((width, True), (math.nextafter(width, 0), False)):
            exponent = -Fraction(epsilon) * Fraction(w)
            beyond = arb(fmpq(exponent.numerator, exponent.denominator)).exp()
            assert (beyond <= fmpq((1 - confidence).numerator, (1 - confidence).denominator)) is kept
    assert um.noise.laplace(epsilon).half_width(0) == 0


def test_the_two_ends_of_gamma_are_one_staircase():
    """gamma = 0 and gamma = 1 have one density, and one law on a grid."""
    low, high = (um.noise.staircase(1, gamma=gamma) for gamma in (0, 1))
    assert low.expected_cost == high.expected_cost
    assert low.on_grid("1/4").law == high.on_grid("1/4").law


def test_smallest_epsilon_on_a_grid():
    """Rounding counts too; whole numbers have no grid."""
    epsilon = um.noise.smallest_epsilon(1, 0.95, grid=0.1)
    assert um.noise.staircase(epsilon).half_width(0.95, grid=0.1) <= 1
    assert epsilon > um.noise.smallest_epsilon(1, 0.95)
    with pytest.raises(InvalidInput, match="no grid"):
        um.noise.smallest_epsilon(3, 0.95, um.noise.discrete_staircase, grid=0.1)


@pytest.mark.parametrize("value", [{1: 2, 3: 4}, {1, 2}, iter([1, 2]), {1: 2, 3: 4}.values()])
def test_what_has_no_order_is_no_vector(value):
    """A dict would be released by its keys, a set in an order of its own."""
    with pytest.raises(InvalidInput, match="sequence of 2 numbers"):
        um.noise.staircase(1, dimension=2).release(value, grid=1)
    with pytest.raises(InvalidInput, match="sequence of 2 numbers"):
        um.noise.discrete_staircase(1, dimension=2).release(value)


def test_integers_at_the_end_of_their_range():
    """The least 64-bit integer has an absolute value, and norms of large vectors do not wrap around."""
    noise = um.noise.discrete_staircase("1e-19")
    assert noise.probability(-(2**63)) == noise.probability(2**63) < noise.probability(2**62)
    assert noise.tail(-(2**63)) == approx(1 - noise.tail(2**63 + 1))
    plane = um.noise.discrete_staircase("1e-19", dimension=2)
    assert plane.probability([2**62, 2**62]) == plane.probability([2**63, 0])


def test_half_width_of_laplace_in_space():
    """Against the Gamma law of SciPy, and at a confidence that no float holds."""
    for dimension in (2, 3, 10):
        noise = um.noise.laplace(0.7, 3, dimension)
        assert noise.half_width(0.9) == approx(gamma_law(dimension, scale=3 / 0.7).ppf(0.9), rel=1e-12)
    assert um.noise.laplace(1, dimension=2).half_width("0." + "9" * 400) == approx(400 * math.log(10) + 6.83, abs=0.01)


def test_half_width_of_a_release():
    """With a grid: the exact integer law plus half a step; a fine grid comes close to the continuous law."""
    noise = um.noise.staircase(1, 1)
    assert noise.half_width(0.95, grid=1) == noise.on_grid(1).half_width(0.95) + 0.5
    assert noise.half_width(0.95, grid="1/1000") == approx(noise.half_width(0.95), abs=0.003)
    plane = um.noise.staircase(1, 1, dimension=2)
    assert plane.half_width(0.95, grid="1/100") == approx(plane.half_width(0.95), abs=0.1)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_fine_grids_approach_the_continuous_optimum(dimension):
    """Cost in units of the grid, times the grid: the discrete optimum tends to the continuous one."""
    noise = um.noise.staircase(2, 1, dimension)
    grid = Fraction(1, 2000)
    assert noise.on_grid(grid).expected_cost * float(grid) == approx(noise.expected_cost, rel=3e-3)
    assert noise.on_grid(grid).law.upper / noise.on_grid(grid).law.period == approx(noise.gamma, abs=5e-3)


def test_a_gamma_of_ones_own_is_kept_on_the_grid():
    """The step of the integer law follows the chosen gamma, and nothing is claimed."""
    own = um.noise.staircase(1, 10, gamma=0.7).on_grid(1)
    assert own.law.upper == 7
    assert own.certificate.claim == "unproved"
    assert own.verify().private
    assert um.noise.staircase(1, 10, gamma=0).on_grid(1).law.upper == 10  # the staircase of gamma = 1


def naive_laplace(value, scale, rng, size):
    """The textbook way that Mironov attacked: floating-point noise added to a floating-point answer."""
    return value + scale * rng.choice([-1.0, 1.0], size) * np.log(rng.random(size))


def unreachable_from_one(output):
    """Mironov's observation: 1 plus noise near -1 is a multiple of 2^-54, the spacing of floats below 1/2 or less."""
    return np.mod(np.asarray(output, dtype=float), 2.0**-54) != 0


def test_mironovs_attack():
    """Naive noise at epsilon = 1 gives an answer away by its last bits; a release is not open to it."""
    rng = np.random.default_rng(0)
    outputs = {value: naive_laplace(value, 1.0, rng, 40_000) for value in (0.0, 1.0)}
    near = {value: x[np.abs(x) < 2.0**-6] for value, x in outputs.items()}
    assert min(map(len, near.values())) > 100
    assert unreachable_from_one(near[0.0]).mean() > 0.5  # a likely event if the answer is 0,
    assert not unreachable_from_one(near[1.0]).any()  # and impossible if it is 1: no epsilon allows that

    grid = 2.0**-10
    for noise in (um.noise.laplace(1.0), um.noise.staircase(1.0)):
        for value in (0.0, 1.0):
            released = np.array([noise.release(value, grid) for _ in range(200)])
            assert not unreachable_from_one(released).any()
            assert (np.mod(released, grid) == 0).all()
        law = noise.on_grid(grid)
        for k in (0, 1, law.sensitivity - 1, law.sensitivity, 5 * law.sensitivity):  # an output of 0 is one of 1
            ratio = law.probability(k, exact=True) / law.probability(k - law.sensitivity, exact=True)
            assert math.exp(-1) * (1 - 1e-12) <= float(ratio) <= math.exp(1) * (1 + 1e-12)


# ---- accuracy ----


def test_smallest_epsilon():
    """Against the closed form of Laplace and of the staircase at a whole number of sensitivities."""
    for make in (um.noise.staircase, um.noise.laplace):  # Pr[|X| > k] is e^(-k epsilon) for both
        assert um.noise.smallest_epsilon(10, 0.95, make, sensitivity=5) == approx(math.log(20) / 2, rel=2e-9)
    for options in ({"sensitivity": 5}, {"sensitivity": 2, "cost": "l2"}, {"dimension": 2}):
        epsilon = um.noise.smallest_epsilon(7, 0.9, **options)
        assert um.noise.staircase(epsilon, **options).half_width(0.9) <= 7
        assert um.noise.staircase(epsilon * (1 - 1e-7), **options).half_width(0.9) > 7
    whole = um.noise.smallest_epsilon(3, 0.95, um.noise.discrete_staircase)
    assert 2 * math.exp(-4 * whole) / (1 + math.exp(-whole)) == approx(0.05, rel=1e-7)


@given(st.floats(0.05, 5), st.floats(1.01, 3), st.floats(0.05, 0.99))
def test_more_privacy_is_less_accurate(epsilon, factor, confidence):
    """One dimension, l1 cost: the half-width falls with epsilon."""
    narrow, wide = um.noise.staircase(epsilon * factor), um.noise.staircase(epsilon)
    assert narrow.half_width(confidence) <= wide.half_width(confidence) * (1 + 1e-12)


@given(st.floats(0.05, 12), st.integers(0, 5), st.floats(0, 1))
def test_chance_beyond_a_bound(epsilon, k, t):
    """The formula by which accuracy grows with epsilon, against the half-width at that confidence."""
    s = math.exp(-epsilon / 2)
    beyond = s ** (2 * k) * max(1 - t * (1 - s**2) / s, s**2 + (1 - t) * (1 - s**2) * s)
    assert um.noise.staircase(epsilon).half_width(1 - Fraction(beyond)) == approx(k + t, abs=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: um.noise.staircase(0), InvalidInput, "epsilon is 0"),
        (lambda: um.noise.staircase(math.inf), InvalidInput, "infinity"),
        (lambda: um.noise.staircase(-1), InvalidInput, "-1"),
        (lambda: um.noise.staircase(um.ApproxDP(1, 0.1)), UnsupportedLevel, "pure"),
        (lambda: um.noise.staircase(um.GaussianDP(1)), UnsupportedLevel, "pure"),
        (lambda: um.noise.staircase(1, 0), InvalidInput, "sensitivity is 0"),
        (lambda: um.noise.staircase(1, math.nan), InvalidInput, "sensitivity"),
        (lambda: um.noise.staircase(1, 1, 0), InvalidInput, "dimension is 0"),
        (lambda: um.noise.staircase(1, 1, 2.0), InvalidInput, "dimension is 2.0"),
        (lambda: um.noise.staircase(1, cost="l3"), InvalidInput, "'l3'"),
        (lambda: um.noise.staircase(1, gamma=1.5), InvalidInput, "gamma is 1.5"),
        (lambda: um.noise.staircase(1, gamma=math.nan), InvalidInput, "gamma"),
        (lambda: um.noise.staircase(1).density(math.nan), InvalidInput, "NaN"),
        (lambda: um.noise.staircase(1).density([1, math.inf]), InvalidInput, "infinity"),
        (lambda: um.noise.staircase(1, dimension=2).density([1.0, 2, 3]), InvalidInput, "2 coordinates"),
        (lambda: um.noise.staircase(1).half_width(1), InvalidInput, "confidence is 1"),
        (lambda: um.noise.staircase(1).half_width(-0.1), InvalidInput, "confidence is -0.1"),
        (lambda: um.noise.staircase(1).release(1, 0), InvalidInput, "grid is 0"),
        (lambda: um.noise.staircase(1).release(1, math.inf), InvalidInput, "grid"),
        (lambda: um.noise.staircase(1).simulate(-1), InvalidInput, "size is -1"),
        (lambda: um.noise.laplace(1, cost="l3"), InvalidInput, "'l3'"),
        (lambda: um.noise.staircase(1).simulate(None), InvalidInput, "size is None"),
        (lambda: um.noise.discrete_staircase(1).simulate(None), InvalidInput, "size is None"),
        (lambda: um.noise.laplace("1e-4000"), InvalidInput, "larger epsilon"),
        (lambda: um.noise.laplace("1e4000"), InvalidInput, "finite epsilon"),
        (lambda: um.noise.smallest_epsilon(-1, 0.9), InvalidInput, "half_width is -1"),
        (lambda: um.noise.smallest_epsilon(0, 0.9), InvalidInput, "no epsilon"),
        (lambda: um.noise.smallest_epsilon(1, 1), InvalidInput, "confidence is 1"),
    ],
)
def test_bad_input(call, error, says):
    """Each wrong argument is named with its value and the rule."""
    with pytest.raises(error, match=says.replace("(", r"\(")):
        call()


def test_best_gamma_is_cached_and_exact_at_huge_epsilon():
    """gamma is kept as a rational: where a float would be 0 the staircase would be another one."""
    gamma = best_gamma(um.PureDP(3000), 1, 1)
    assert 0 < gamma < Fraction(1, 2**2000)
