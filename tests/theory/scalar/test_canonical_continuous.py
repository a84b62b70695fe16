"""Canonical noise on the real line: against the staircase, whole numbers, raw events on cells, and other integrals."""

import numpy as np
import pytest
from scipy.integrate import quad

import utmost as um
from utmost.errors import InvalidInput, UnsupportedLevel

RNG = np.random.default_rng(27)


def random_level(rng):
    kind = rng.integers(3)
    if kind == 0:
        return um.PureDP(round(float(rng.uniform(0.2, 3)), 3))
    if kind == 1:
        return um.ApproxDP(round(float(rng.uniform(0, 2)), 3), round(float(rng.uniform(0.01, 0.3)), 3))
    return um.GaussianDP(round(float(rng.uniform(0.2, 2)), 3))


def test_no_event_of_cells_breaks_the_promise_at_any_shift():
    """20 random levels: greedy events over cells, every subset of likeliest cells, against `upper`."""
    for _ in range(20):
        level, size = random_level(RNG), float(RNG.choice([0.5, 1.0, 3.0]))
        noise = um.noise.canonical_continuous(level, size)
        assert noise.verify()
        edges = np.linspace(-12, 12, 1201) * size
        for shift in (*RNG.uniform(0, 1, 2), 1.0):
            p, q = np.diff(noise.cdf(edges)), np.diff(noise.cdf(edges - shift * size))
            with np.errstate(divide="ignore", invalid="ignore"):
                order = np.argsort(-np.where(q > 0, p / q, np.inf))
            here, there = np.cumsum(p[order]), np.cumsum(q[order])
            assert (here <= level.upper(np.clip(there, 0, 1)) + 1e-9).all()


def test_means_are_those_of_a_plain_integral_and_of_draws():
    for level in (um.PureDP(1), um.ApproxDP(1, "0.05"), um.GaussianDP("0.7")):
        noise = um.noise.canonical_continuous(level, 2)
        tail, _ = quad(lambda x, noise=noise: 2 * noise.cdf(-x), 0, 120, limit=2000, points=[1, 3, 5, 7, 9, 11])
        assert noise.mean("l1") == pytest.approx(tail, rel=1e-4)  # E|X| is the integral of Pr[|X| > x]
        assert noise.mean(lambda x: x > 3) == pytest.approx(2 * noise.cdf(-3.0), rel=1e-3)
        drawn = noise.simulate(100_000, rng=5)
        assert np.abs(drawn).mean() == pytest.approx(noise.mean("l1"), rel=0.02)


def test_at_pure_levels_it_is_the_staircase_with_half_a_step():
    for epsilon in (0.3, 1.0, 2.5):
        half = um.noise.staircase(epsilon, gamma=0.5)
        assert um.noise.canonical_continuous(epsilon).mean("l1") == pytest.approx(half.expected_cost, rel=1e-6)


def test_rounded_to_whole_numbers_it_is_the_canonical_noise_of_counts():
    for level in (um.PureDP(1), um.ApproxDP(1, "0.05"), um.GaussianDP(1)):
        noise, whole = um.noise.canonical_continuous(level), um.noise.canonical(level)
        k = np.arange(-6, 7)
        assert noise.cdf(k + 0.5) - noise.cdf(k - 0.5) == pytest.approx(whole.probability(k), abs=1e-12)


def test_what_has_no_canonical_noise_is_refused():
    with pytest.raises(UnsupportedLevel):
        um.noise.canonical_continuous(um.ZCDP(1))
    with pytest.raises(InvalidInput, match="above 0"):
        um.noise.canonical_continuous(1.0, 0)
    with pytest.raises(InvalidInput, match="does not fall"):
        um.noise.canonical_continuous(1.0).mean("l7")
