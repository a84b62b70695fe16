"""Noise on a line and the best guess after it: losses by brute force, beliefs by Bayes' rule, privacy in rationals."""

import random
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import utmost as um
from utmost.errors import TooLarge
from utmost.mechanism.noise.layers import LayerLaw
from utmost.mechanism.noise.staircase import StaircaseLaw
from utmost.mechanism.sampling import insecure_source_for_tests_only
from utmost.mechanism.violations import growth_floor
from utmost.privacy.level import decay_above
from utmost.space.line import Line, cost
from utmost.theory.scalar.line import NoisyLine

LOSSES = ("absolute", "squared", "zero-one", "within 2")


def staircase(epsilon, reach):
    """A staircase that is private for moves up to the reach, about half of every period high."""
    return StaircaseLaw(LayerLaw(decay_above(um.PureDP(epsilon)), reach, (reach + 1) // 2))


def geometric(epsilon, reach):
    """Geometric noise that is private for moves up to the reach."""
    return StaircaseLaw(LayerLaw(decay_above(um.PureDP(epsilon), reach), 1, 1))


NOISES = (staircase, geometric)


def unfolded(line, noise, epsilon):
    """The noise at every point and on a long stretch of integers, nothing folded: rows points, columns outputs."""
    far = int(30 * line.reach / epsilon) + 50
    outputs = np.arange(-far, line.points + far)
    return noise.probability(outputs - np.arange(line.points)[:, None])


def least_loss(matrix, prior, loss):
    """The expected loss after the best guess at every output, by trying every guess."""
    n = len(prior)
    table = cost(loss, np.arange(n)[:, None] - np.arange(n))
    return (table.T @ (prior[:, None] * matrix)).min(axis=0).sum()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("points", "reach"), [(2, 1), (7, 1), (40, 1), (9, 4), (33, 5), (30, 40)])
def test_expected_losses_against_brute_force(points, reach, loss):
    """Folding loses nothing, and cumulative sums find the best guess: uniform, listed uniform and random priors."""
    line, rng = Line(0, points - 1, reach), np.random.default_rng(points)
    for epsilon in (0.15, 1.0, 4.0):
        for noise in (make(epsilon, reach) for make in NOISES):
            matrix = unfolded(line, noise, epsilon)
            uniform, other = np.full(points, 1 / points), rng.dirichlet(np.full(points, 0.4))
            for prior, given_prior in ((uniform, None), (uniform, uniform), (other, other)):
                mechanism = NoisyLine(line, noise, loss, given_prior)
                assert mechanism.expected(loss) == pytest.approx(least_loss(matrix, prior, loss), rel=1e-9, abs=1e-12)
                risks = [mechanism.risk(x, loss) for x in range(points)]
                assert prior @ risks == pytest.approx(mechanism.expected(loss), rel=1e-9, abs=1e-12)
                assert mechanism.worst(loss) == pytest.approx(max(risks))


def test_long_lines_agree_with_short_cuts():
    """Where the ends do not meet, mirrored ends and a constant inside equal the full computation."""
    line = Line(-7, 4993, 3)
    noise = staircase(1, 3)
    for loss in LOSSES:
        quick = NoisyLine(line, noise, loss)
        full = NoisyLine(line, noise, loss, np.full(line.points, 1 / line.points))
        for other in LOSSES:
            assert quick.expected(other) == pytest.approx(full.expected(other), rel=1e-10)
        outputs = np.arange(-3, line.points + 3)
        assert (np.abs(quick._guess(outputs) - full._guess(outputs)) <= 1).all()  # ties may fall either way
        wanted = max(full.risk(x, loss) for x in range(line.first, line.last + 1, 7))
        assert quick.worst(loss) == pytest.approx(wanted, rel=1e-3)


@given(st.integers(2, 30), st.integers(1, 9), st.sampled_from([0.3, 1, 2.5]), st.sampled_from(LOSSES))
@settings(max_examples=25)
def test_posterior_by_bayes(points, reach, epsilon, loss):
    """What is believed after an answer, against Bayes' rule on the whole law."""
    line = Line(5, 4 + points, min(reach, points))
    mechanism = NoisyLine(line, staircase(epsilon, line.reach), loss)
    law = transitions(mechanism)
    for v in range(points):
        if law[:, v].sum() > 0:
            values, chances = mechanism.posterior(v + 5)
            wanted = law[:, v] / law[:, v].sum()
            assert np.allclose(wanted[values - 5], chances, atol=1e-10)
            assert wanted[values - 5].sum() == pytest.approx(1)


def transitions(mechanism, exact=False):
    """The probability of every answer at every point, summing folded outputs one by one."""
    law = mechanism.noise.law
    n, period = mechanism.line.points, law.period
    found = np.zeros((n, n), dtype=object if exact else float)
    outputs = np.arange(-period, n + period)
    guesses = mechanism._guess(outputs)
    fold = 1 / (1 - law.decay)
    for x in range(n):
        for o, g in zip(outputs.tolist(), guesses.tolist(), strict=True):
            chance = law.top * law.decay ** int(law.step(abs(o - x))) * (1 if 0 <= o < n else fold)
            found[x, g] += chance if exact else float(chance)
    return found


@pytest.mark.parametrize(("points", "reach", "epsilon"), [(8, 1, 0.5), (12, 3, 1), (9, 5, 2.5), (6, 5, 0.1)])
def test_released_laws_are_private_in_rationals(points, reach, epsilon):
    """Rows add up to 1 and neighbours differ by at most e^epsilon, exactly, whatever the remap."""
    growth = growth_floor(um.PureDP(epsilon)) * (1 + Fraction(1, 2**60))
    for loss in LOSSES:
        for make in NOISES:
            law = transitions(NoisyLine(Line(0, points - 1, reach), make(epsilon, reach), loss), exact=True)
            assert all(sum(row) == 1 for row in law)
            for i in range(points):
                for j in range(max(0, i - reach), min(points, i + reach + 1)):
                    assert all(a <= growth * b for a, b in zip(law[i], law[j], strict=True))


def test_draws_follow_the_law():
    """Four thousand answers at each of three points, from a seeded source, by a chi-square test."""
    mechanism = NoisyLine(Line(10, 19, 3), staircase(0.8, 3), "absolute")
    law = transitions(mechanism)
    made_up = random.Random(1)
    with insecure_source_for_tests_only(made_up.randbytes):
        for point in (10, 14, 19):
            drawn = Counter(mechanism.sample(point) for _ in range(4_000))
            chances = law[point - 10]
            used = chances > 0
            seen = np.array([drawn[v + 10] for v in np.flatnonzero(used)])
            assert seen.sum() == 4_000
            assert stats.chisquare(seen, 4_000 * chances[used] / chances[used].sum()).pvalue > 1e-4


def test_noise_that_is_too_wide_is_refused_before_it_is_listed():
    """A file may name a level of next to nothing; its errors would fill the memory. Cut off at the ends, they fit."""
    noise = StaircaseLaw(LayerLaw(1 - Fraction(1, 10**9), 1, 1))
    with pytest.raises(TooLarge, match="too wide to be listed"):
        NoisyLine(Line(0, 10, 1), noise, "absolute", None, "none").errors()
    released, chances = NoisyLine(Line(0, 10, 1), noise, "absolute", None, "cut").law(5)
    assert len(released) == 11
    assert chances.sum() == pytest.approx(1)
