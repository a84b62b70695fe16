"""Mechanisms for two hypotheses against LIM's program over all 2^k patterns, and against each other."""

import math

import numpy as np
import pytest
from oracle import pattern_lp

import utmost as um
from utmost.divergences import NAMED

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
    if kind == 2:
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


@pytest.mark.parametrize("part", range(10))
def test_for_testing_is_the_optimum_over_all_patterns(part):
    """Ten divergences, epsilon from 0.01 to 10, ties and zeros: the value lies between a primal and a dual value."""
    for seed in range(40 * part, 40 * part + 40):
        check_against_the_program(seed)


@pytest.mark.long
def test_for_testing_is_the_optimum_over_all_patterns_thousands():
    """The same on thousands of instances of up to ten letters."""
    for seed in range(1000, 5000):
        check_against_the_program(seed, most=10)
