"""Mechanisms for two hypotheses against LIM's program over all 2^k patterns, and against each other."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracles.programs import pattern_lp

import utmost as um
from utmost.errors import InvalidInput, UnsupportedLevel
from utmost.privacy.divergences import NAMED, as_divergence
from utmost.theory.local.verify.patterns import testing_bound as bound_from_prices

DIVERGENCES = [*NAMED, "hockey-stick 1.2", "hockey-stick 3", "power", "absolute"]
OWN = {"power": lambda u: (u**1.5 - 1.5 * u + 0.5) / 0.75, "absolute": lambda u: abs(u - 1) + (u - 1) ** 2}
PLAIN = {
    "kl": lambda z, t: z * np.log(z / t) - z + t,
    "reverse-kl": lambda z, t: t * np.log(t / z) - t + z,
    "tv": lambda z, t: np.abs(z - t) / 2,
    "chi2": lambda z, t: (z - t) ** 2 / t,
    "hellinger": lambda z, t: (np.sqrt(z) - np.sqrt(t)) ** 2 / 2,
    "js": lambda z, t: (z * np.log(2 * z / (z + t)) + t * np.log(2 * t / (z + t))) / 2,
    "hockey-stick 1.2": lambda z, t: np.maximum(z - 1.2 * t, 0),
    "hockey-stick 3": lambda z, t: np.maximum(z - 3 * t, 0),
    "power": lambda z, t: t * OWN["power"](z / t),
    "absolute": lambda z, t: t * OWN["absolute"](z / t),
}
"""phi(z, t) once more, from the definitions."""


def random_hypotheses(rng, k):
    """Two distributions: smooth, spiky, with ties, with zeros."""
    kind = rng.integers(4)
    p0, p1 = rng.dirichlet(np.full(k, rng.choice([0.3, 1.0, 5.0])), 2)
    if kind == 1 and k > 2:  # letters with one ratio
        p1[1], p0[1] = p1[0], p0[0]
        p1[2], p0[2] = p1[0] / 2, p0[0] / 2
    if kind == 2 and k > 1:
        p0[rng.integers(k)], p1[rng.integers(k)] = 0, 0
    if kind == 3:
        p0, p1 = np.round(p0 * 8) + (p0 == p0.max()), np.round(p1 * 8) + (p1 == p1.max())
    return p0 / p0.sum(), p1 / p1.sum()


def check_against_the_program(seed, most=8):
    rng = np.random.default_rng(seed)
    k, name = int(rng.integers(2, most + 1)), DIVERGENCES[seed % len(DIVERGENCES)]
    epsilon = float(rng.choice([0.01, 0.1, 0.3, 0.7, 1.5, 3.0, 6.0, 10.0]))
    p0, p1 = random_hypotheses(rng, k)
    solution = um.local.for_testing(p0, p1, epsilon, OWN.get(name, name))
    q = 1 / math.expm1(epsilon)
    bits = ((np.arange(1, 2**k)[:, None] >> np.arange(k)) & 1).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        utilities = PLAIN[name](q + bits @ p0, q + bits @ p1)
    low, high = pattern_lp(utilities, k, q)
    size = max(abs(high), 1e-300)
    # The definitions lose digits where P0 is next to P1, so what they can tell is part of the tolerance.
    doubt = 1e-9 * size + 1e-15 * (1 + q) / (q + 1 / k)
    assert low - doubt <= solution.value <= high + doubt, (seed, name, epsilon, k, low, solution.value, high)
    assert high - low <= 1e-7 * size + doubt
    assert solution.certificate.bound >= low - doubt
    return solution


@pytest.mark.parametrize("part", range(8))
def test_for_testing_is_the_optimum_over_all_patterns(part):
    """Ten divergences, epsilon from 0.01 to 10, ties and zeros: the value lies between a primal and a dual value."""
    for seed in range(40 * part, 40 * part + 40):
        check_against_the_program(seed, most=10 if part == 0 else 8)


@pytest.mark.long
def test_for_testing_is_the_optimum_over_all_patterns_thousands():
    """The same on thousands of instances of up to ten letters."""
    for seed in range(1000, 5000):
        check_against_the_program(seed, most=10)


@given(st.integers(0, 10_000))
@example(7)  # without privacy nearly, squared Hellinger, and a letter that one hypothesis hardly has
@settings(max_examples=40)
def test_solutions_verify_save_and_load(seed):
    """What is designed verifies, is certified, and comes back from a file; prices never bound below the value."""
    rng = np.random.default_rng(seed)
    k, name = int(rng.integers(1, 25)), str(rng.choice([*NAMED, "hockey-stick 3/2"]))
    p0, p1 = random_hypotheses(rng, k)
    epsilon = float(rng.choice([0, 0.05, 0.8, 3, 40]))
    solution = um.local.for_testing(p0, p1, epsilon, name)
    assert solution.verify(), solution.verify()
    assert solution.certified.moved < 1e-9
    assert solution.certificate.bound >= solution.value
    assert solution.value == pytest.approx(um.local.divergence_of(solution, p0, p1, name), rel=1e-9, abs=1e-17)
    prices = rng.normal(size=k) * solution.value
    if epsilon:
        assert bound_from_prices(p0, p1, as_divergence(name), um.PureDP(epsilon), prices) >= solution.value * (1 - 1e-9)


def test_files_keep_the_proof(tmp_path):
    """Saved and loaded, the same value, prices and verdict; a bound that prices do not give is found out."""
    solution = um.local.for_testing([0.5, 0.3, 0.2], [0.1, 0.3, 0.6], 1.0)
    loaded = um.Solution.load(solution.save(tmp_path / "s.json"))
    assert loaded.verify()
    assert loaded.value == solution.value
    object.__setattr__(loaded.certificate, "bound", solution.value / 2)
    assert not loaded.verify()
    own = um.local.for_testing([0.5, 0.5], [0.1, 0.9], 1.0, lambda u: abs(u - 1))
    assert own.verify()
    with pytest.raises(InvalidInput, match="which no file can hold"):
        own.save(tmp_path / "own.json")


def test_a_worse_partition_is_found_out():
    """A mechanism of fewer blocks than the optimum, with its own value: the sweep finds the better partition."""
    p0, p1 = [0.6, 0.3, 0.1], [0.1, 0.3, 0.6]
    best = um.local.for_testing(p0, p1, 4.0)
    worse = um.local.for_testing(p0, p1, 4.0, outputs=2)
    assert len(best.mechanism.outputs) == 3
    fake = um.Solution(best.problem, worse.mechanism, worse.value, best.certificate)
    found = fake.verify()
    assert not found
    assert any(check.name == "partition" and not check.passed for check in found.checks)


@pytest.mark.parametrize("seed", range(12))
def test_a_limit_on_outputs(seed):
    """The best partition into at most so many blocks, against all of them; beyond the optimum, no limit."""
    rng = np.random.default_rng(seed)
    p0, p1 = rng.dirichlet(np.ones(7), 2)
    epsilon, f = float(rng.choice([2.0, 4.0])), as_divergence("kl")
    free = um.local.for_testing(p0, p1, epsilon)
    order, q = np.argsort(p0 / p1), 1 / math.expm1(epsilon)
    for most in range(1, 8):
        best = 0.0
        for count in range(1, most + 1):
            for cuts in combinations(range(1, 7), count - 1):
                blocks = np.split(order, cuts)
                z, t = (np.array([p[b].sum() for b in blocks]) + q for p in (p0, p1))
                best = max(best, PLAIN["kl"](z, t).sum() / (1 + count * q))
        found = um.local.for_testing(p0, p1, epsilon, outputs=most)
        assert found.value == pytest.approx(best, rel=1e-9, abs=1e-15)
        assert len(found.mechanism.outputs) <= most
        assert found.verify(), found.verify()
        assert found.certificate.bound >= free.value * (1 - 1e-9)
    assert found.certificate.claim == "theorem"
    assert f.between(p0, p1) >= free.value


def test_prices_close_the_gap():
    """On instances of 5 to 40 letters the bound of the prices is next to the value in nearly all cases."""
    rng, closed = np.random.default_rng(0), 0
    for i in range(60):
        p0, p1 = rng.dirichlet(np.ones(int(rng.integers(5, 41))), 2)
        solution = um.local.for_testing(p0, p1, float(rng.choice([0.1, 1, 3])), list(NAMED)[i % len(NAMED)])
        closed += solution.certificate.gap <= 1e-6 * solution.value
    assert closed >= 57


def test_edges_of_the_scale():
    """No privacy keeps the divergence, full privacy nothing; equal hypotheses, one letter, huge epsilons."""
    p0, p1 = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    whole = as_divergence("kl").between(np.array(p0), np.array(p1))
    for epsilon in (math.inf, 800, 60):
        free = um.local.for_testing(p0, p1, epsilon)
        assert free.value == pytest.approx(whole, rel=1e-12)
        assert free.verify(), free.verify()
    assert um.local.for_testing(p0, p1, 0).value == 0
    assert um.local.for_testing(p0, p0, 1).value == 0
    assert um.local.for_testing([1.0], [1.0], 1).verify()
    assert um.local.for_testing([1.0, 0.0], [0.0, 1.0], 150).verify()
    exact = um.local.for_testing([1.0, 0.0], [0.0, 1.0], um.PureDP.from_ratio(3), "tv")
    assert exact.value == pytest.approx(0.5, rel=1e-15)
    with pytest.raises(InvalidInput, match="infinite"):
        um.local.for_testing([1.0, 0.0], [0.0, 1.0], math.inf)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0.5, 0.5], [1.0], 1), "same letters"),
        (([0.5, 0.6], [0.5, 0.5], 1), "adds up to"),
        (([0.5, math.nan], [0.5, 0.5], 1), "probabilities are 0 or more"),
        (([], [], 1), "same letters"),
        (([0.5, 0.5], [0.5, 0.5], -1), "privacy is -1"),
        (([0.5, 0.5], [0.5, 0.5], 1, "kullback"), "kullback"),
        (([0.5, 0.5], [0.5, 0.5], 1, "hockey-stick 0.5"), "from 1 on"),
        (([0.5, 0.5], [0.5, 0.5], 1, lambda u: -((u - 1) ** 2)), "not convex"),
        (([0.5, 0.5], [0.5, 0.5], 1, lambda u: u), "f\\(1\\)"),
        (([0.5, 0.5], [0.5, 0.5], 1, "kl", 0), "outputs is 0"),
    ],
)
def test_wrong_input_is_named(arguments, words):
    """Each mistake, with the rule."""
    with pytest.raises(InvalidInput, match=words):
        um.local.for_testing(*arguments)


def test_other_levels_are_refused():
    """A delta and levels per edge are not covered; the error names what is."""
    with pytest.raises(UnsupportedLevel, match="quaternary"):
        um.local.for_testing([0.5, 0.5], [0.2, 0.8], um.ApproxDP(1, 0.1))
    with pytest.raises(UnsupportedLevel, match="one level"):
        um.local.for_testing([0.5, 0.5], [0.2, 0.8], um.per_edge(um.complete(2), {(0, 1): 1}))


def test_many_letters_stay_small():
    """Three thousand letters: no table of pairs is made, privacy is proved on all of them, the gap closes."""
    p0, p1 = np.random.default_rng(1).dirichlet(np.ones(3000), 2)
    solution = um.local.for_testing(p0, p1, 1.0)
    assert solution.verify(), solution.verify()
    assert solution.certificate.gap < 1e-9 * solution.value
    assert "edge_indices" not in solution.problem.space.__dict__


@pytest.mark.parametrize("epsilon", [3.0, 15.0, 21.17, 22.9, 40.0])
@pytest.mark.parametrize("name", ["kl", "reverse-kl"])
def test_two_sure_letters_at_large_epsilons(name, epsilon):
    """Both divergences are eps tanh(eps/2) there, to the last digits, and verify."""
    solution = um.local.for_testing([0, 1], [1, 0], epsilon, name)
    assert solution.value == pytest.approx(epsilon * math.tanh(epsilon / 2), rel=1e-14)
    assert solution.verify(), solution.verify()


TINY = [1e-6, 1e-8, 1e-9, 1e-10, 1e-12, 1e-14, 1e-16, 1e-20, 1e-160]


@pytest.mark.parametrize("epsilon", TINY)
@pytest.mark.parametrize("name", [*NAMED, "hockey-stick 1"])
def test_tiny_epsilons_verify(name, epsilon):
    """Down to where a matrix of floats says nothing: the value of the leading term, and a proof."""
    p0, p1 = [0.5, 0.3, 0.2], [0.2, 0.3, 0.5]
    solution = um.local.for_testing(p0, p1, epsilon, name)
    assert solution.verify(), solution.verify()
    curve = {"kl": 1, "reverse-kl": 1, "chi2": 2, "hellinger": 0.25, "js": 0.25}.get(name)
    lead = 0.3 * math.tanh(epsilon / 2) if curve is None else curve * 0.3**2 * epsilon * math.tanh(epsilon / 2)
    assert solution.value == pytest.approx(lead, rel=3 * epsilon + 1e-12, abs=1e-320)
    many = um.local.for_testing(*np.random.default_rng(0).dirichlet(np.ones(300), 2), epsilon, name)
    assert many.verify(), many.verify()


def test_a_limit_is_checked(tmp_path):
    """A mechanism with more outputs than were allowed does not verify, whatever its value."""
    p0, p1 = [0.6, 0.3, 0.1], [0.1, 0.3, 0.6]
    limited, free = um.local.for_testing(p0, p1, 4.0, outputs=2), um.local.for_testing(p0, p1, 4.0)
    assert limited.problem.data["outputs"] == 2
    assert limited.verify()
    assert um.Solution.load(limited.save(tmp_path / "s.json")).verify()
    fake = um.Solution(limited.problem, free.mechanism, free.value, limited.certificate)
    assert "outputs" in [check.name for check in fake.verify().checks if not check.passed]


def test_a_false_value_at_a_small_epsilon_is_found_out():
    """A value that is off by a part in a million is no rounding at epsilon = 1e-5."""
    best = um.local.for_testing([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], 1e-5)
    assert not um.Solution(best.problem, best.mechanism, best.value * (1 + 1e-6), best.certificate).verify()
