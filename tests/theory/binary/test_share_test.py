"""Tests of a share: power against linear programs over the raw inequalities, p-values and coverage by enumeration."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

import utmost as um
from utmost.errors import InvalidInput, UnsupportedLevel


def best_power(n, theta, lines, size, at):
    """The largest power at one share of any private test of this size: one LP over the inequalities of the level.

    `lines` are slopes and intercepts whose least is the level's upper function.
    """
    rows, limits = [], []
    for slope, intercept in lines:
        for a, b in [(x, x + s) for x in range(n + 1) for s in (-1, 1) if 0 <= x + s <= n]:
            yes = np.zeros(n + 1)
            yes[b], yes[a] = 1, -slope
            rows += [yes, -yes]  # phi(b) <= upper(phi(a)), and the same for 1 - phi
            limits += [intercept, intercept + slope - 1]
    rows.append(binom.pmf(np.arange(n + 1), n, theta))
    limits.append(size)
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    gain = binom.pmf(np.arange(n + 1), n, at)
    found = linprog(-gain, A_ub=np.array(rows), b_ub=limits, bounds=(0, 1), options=tight)
    return -found.fun


def lines_of(epsilon, delta=0.0):
    growth = np.exp(epsilon)
    return [(growth, delta), (1 / growth, 1 - (1 - delta) / growth)]


@pytest.mark.parametrize(
    ("n", "level", "at", "power"),
    [
        (30, um.PureDP(1), 0.7, 0.63530476),
        (30, um.ApproxDP(0.1, 0.01), 0.7, 0.16597847),
        (100, um.PureDP(1), 0.6, 0.6176),
    ],
)
def test_power_of_the_vectors(n, level, at, power):
    """To the digits that were published, and to eight against the linear program."""
    test = um.binary.uniformly_most_powerful(n, 0.5, level, 0.05)
    assert test.power(at) == pytest.approx(power, abs=10 ** -len(str(power).split(".")[1]))
    assert test.power(0.5) == pytest.approx(0.05, abs=1e-12)
    lines = lines_of(float(level.epsilon), float(level.delta))
    assert test.power(at) == pytest.approx(best_power(n, 0.5, lines, 0.05, at), abs=1e-8)


def test_geometric_count_with_a_threshold_is_weaker():
    """The usual way, a noisy count against a threshold, at n = 100, theta = .6: .5417 against .6176."""
    noise, counts = um.noise.discrete_staircase(1.0), np.arange(101)
    reject = {t: np.array([noise.tail(int(t - x)) for x in counts]) for t in range(55, 70)}
    null = {t: float(binom.pmf(counts, 100, 0.5) @ phi) for t, phi in reject.items()}
    t = min(t for t, size in null.items() if size <= 0.05)
    assert float(binom.pmf(counts, 100, 0.6) @ reject[t]) == pytest.approx(0.5417, abs=5e-5)


KNOTS = um.SuitablePair([(0, 0), ("1/5", "2/5"), ("3/5", "4/5"), (1, 1)])
KNOT_LINES = [(2.0, 0.0), (1.0, 0.2), (0.5, 0.5)]


@pytest.mark.parametrize("size", [1e-4, 0.05, 0.5, 0.97])
@pytest.mark.parametrize(
    ("level", "lines"),
    [
        (um.PureDP(0.3), lines_of(0.3)),
        (um.PureDP(4), lines_of(4)),
        (um.ApproxDP(0.5, 0.05), lines_of(0.5, 0.05)),
        (um.ApproxDP(0, 0.02), lines_of(0, 0.02)),
        (KNOTS, KNOT_LINES),
    ],
)
def test_no_private_test_is_more_powerful(level, lines, size):
    """At several shares, on both sides, for levels with and without a delta, by the linear program."""
    n, theta = 12, 0.3
    greater = um.binary.uniformly_most_powerful(n, theta, level, size)
    less = um.binary.uniformly_most_powerful(n, theta, level, size, "less")
    for at in (0.35, 0.6, 0.9):
        assert greater.power(at) == pytest.approx(best_power(n, theta, lines, size, at), abs=1e-8)
    assert less.power(0.1) == pytest.approx(best_power(n, theta, lines, size, 0.1), abs=1e-8)
    assert greater.solution.verify()
    assert less.solution.verify()


def test_levels_at_the_ends():
    """A level that allows nothing is a coin; one that promises nothing is refused, for no test attains its bound."""
    assert um.binary.uniformly_most_powerful(20, 0.5, 0, 0.05).probabilities == pytest.approx(np.full(21, 0.05))
    with pytest.raises(InvalidInput, match="nothing is promised"):
        um.binary.uniformly_most_powerful(20, 0.5, np.inf, 0.05)


def test_gaussian_level_and_many_people():
    """At mu-GDP the test is the Gaussian orbit, and a thousand people are no trouble."""
    test = um.binary.uniformly_most_powerful(1000, 0.5, um.GaussianDP(0.5), 0.01)
    assert test.power(0.5) == pytest.approx(0.01, abs=1e-12)
    assert test.solution.verify()
    assert um.certify(test.solution).sample(900) in (True, False)


def test_forged_tests_are_refused(tmp_path):
    """A test of another size, or one that gives power away, does not verify; a saved one does."""
    from dataclasses import replace

    from utmost.mechanism import FiniteMechanism

    best = um.binary.uniformly_most_powerful(20, 0.5, 1.0, 0.05).solution
    assert um.Solution.load(best.save(tmp_path / "test.json")).verify()
    weak = np.full((21, 2), (0.95, 0.05))
    assert not replace(best, mechanism=FiniteMechanism(weak, best.mechanism.points, (False, True))).verify()
    larger = um.binary.uniformly_most_powerful(20, 0.5, 1.0, 0.06).solution
    assert not replace(larger, problem=best.problem).verify()


@pytest.mark.parametrize("epsilon", [0.4, 2])
@pytest.mark.parametrize("size", [0.01, 0.3])
def test_p_values_at_pure_levels_are_the_most_powerful(epsilon, size):
    """Pr[p-value <= size] at each count, over all noise and the blur, is the test's probability of rejecting."""
    n, theta, level = 25, 0.4, um.PureDP(epsilon)
    test = um.binary.uniformly_most_powerful(n, theta, level, size)
    z = np.arange(-60, 86)
    ends = np.array([[um.binary.NoisyShare(n, level, int(k), b).p_value(theta) for b in (-0.5, 0.5)] for k in z])
    noise = um.noise.canonical(level)
    found = np.array([noise.probability(z - x) @ _below(ends, size) for x in range(n + 1)])
    assert found == pytest.approx(test.probabilities, abs=1e-9)


@pytest.mark.parametrize("level", [um.PureDP(0.5), um.ApproxDP(1, 0.01), um.GaussianDP(1)])
@pytest.mark.parametrize("theta", [0.02, 0.6])
def test_p_values_are_uniform_under_the_null(level, theta):
    """Pr[p-value <= u] = u, enumerated over counts and noise; so intervals cover exactly."""
    n, z = 20, np.arange(-50, 71)
    noise = um.noise.canonical(level)
    law = sum(binom.pmf(x, n, theta) * noise.probability(z - x) for x in range(n + 1))
    ends = [[um.binary.NoisyShare(n, level, int(k), b).p_value(theta) for b in (-0.5, 0.5)] for k in z]
    for u in (0.001, 0.05, 0.5, 0.95):
        assert law @ _below(np.array(ends), u) == pytest.approx(u, abs=1e-9)


def _below(ends, u):
    """How often the p-value is at most u over the blur, in which it falls linearly from end to end."""
    share = (ends[:, 0] <= u).astype(float)
    between = (ends[:, 1] <= u) & (u < ends[:, 0])
    share[between] = (u - ends[between, 1]) / (ends[between, 0] - ends[between, 1])
    return share


@pytest.mark.parametrize("level", [um.PureDP(0.5), um.GaussianDP(1)])
def test_intervals_are_the_shares_that_are_not_rejected(level):
    for count in (-3, 0, 7, 20, 31):
        seen = um.binary.NoisyShare(20, level, count, 0.2)
        low, high = seen.interval(0.9)
        assert low in (0, 1) or seen.p_value(low) == pytest.approx(0.05, abs=1e-9)
        assert high in (0, 1) or seen.p_value(high, "less") == pytest.approx(0.05, abs=1e-9)
        assert (low == 0) == (seen.p_value(0) >= 0.05)
        assert (high == 1) == (seen.p_value(1, "less") >= 0.05)
        assert seen.interval(0.95, "greater") == pytest.approx((low, 1.0))
        assert seen.interval(0.95, "less") == pytest.approx((0.0, high))


def test_noisy_share_draws_and_keeps_the_count_out_of_errors():
    seen = [um.binary.noisy_share(600, 1000, 2.0) for _ in range(200)]
    assert abs(np.mean([s.share for s in seen]) - 0.6) < 0.001
    with pytest.raises(InvalidInput) as refused:
        um.binary.noisy_share(1234567, 1000, 1.0)
    assert "1234567" not in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((0, 0.5, 1, 0.05), "n is 0"),
        ((10, 1.5, 1, 0.05), "theta is 1.5"),
        ((10, 0.5, 1, 0), "size is 0"),
        ((10, 0.5, 1, 0.05, "above"), "alternative"),
    ],
)
def test_bad_arguments_are_named(arguments, named):
    with pytest.raises(InvalidInput, match=named):
        um.binary.uniformly_most_powerful(*arguments)


def test_pairs_that_are_not_concave_are_refused():
    level = um.SuitablePair([(0, 0), ("1/4", "3/8"), ("3/8", "5/8"), ("5/8", "3/4"), (1, 1)], binary_only=True)
    with pytest.raises(UnsupportedLevel):
        um.binary.uniformly_most_powerful(10, 0.5, level, 0.05)
