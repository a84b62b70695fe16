"""Noise on lattices: counts of balls by listing them, laws in rationals, draws by chi-square."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from flint import arb, ctx
from oracles.lattices import moves_of
from oracles.pace import within
from scipy.stats import chi2

from utmost.errors import InvalidInput
from utmost.mechanism.noise.balls import BallLaw
from utmost.mechanism.noise.gaussian import WIDE, DiscreteGaussian, RoundedGaussian, wide_mean
from utmost.mechanism.noise.independent import IndependentLaw
from utmost.mechanism.noise.integer_balls import (
    choose_many,
    count_above,
    count_ball,
    draw_in_ball,
    draw_in_balls,
    norm,
    sum_absolute,
    sum_squared,
)
from utmost.mechanism.noise.staircase import geometric_law
from utmost.mechanism.noise.vector import NoisyVector
from utmost.mechanism.sampling import insecure_source_for_tests_only
from utmost.privacy import ZCDP, ApproxDP, GaussianDP, PureDP
from utmost.space.integers import Lattice
from utmost.space.sensitivity import l1_sensitivity, norm_sensitivity, squared_l2_sensitivity

SHAPES = ("any", "one-way", "cube", "exchange", "sum-zero")


def ball(shape, d, s):
    """The points of a ball, by looking at every vector of a cube."""
    every = product(range(-s, s + 1), repeat=d)
    return [z for z in every if norm(shape, z) <= s and (shape != "sum-zero" or sum(z) == 0)]


def fits(observed, chances, size):
    """Chi-square of counts against probabilities, small cells put together; fails once in a million runs."""
    order = np.argsort(chances)[::-1]
    counts, expected = np.asarray(observed)[order], np.asarray(chances)[order] * size
    large = expected >= 10
    counts = np.append(counts[large], size - counts[large].sum())
    expected = np.append(expected[large], max(size - expected[large].sum(), 1e-9))
    if expected[-1] < 5:
        counts, expected = counts[:-1], expected[:-1]
    return ((counts - expected) ** 2 / expected).sum() < chi2.isf(1e-6, len(counts) - 1)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_counts_of_balls_are_those_of_the_listed_points(shape, d):
    for s in range(4 if d < 4 else 3):
        points = ball(shape, d, s)
        assert count_ball(shape, d, s) == len(points)
        assert [count_above(shape, d, s, t) for t in range(1, s + 2)] == [
            sum(z[0] >= t for z in points) for t in range(1, s + 2)
        ]
        assert sum_absolute(shape, d, s) == sum(abs(z[0]) for z in points)
        assert sum_squared(shape, d, s) == sum(z[0] ** 2 for z in points)
        assert all(norm(shape, tuple(-x for x in z)) == norm(shape, z) for z in points)


@pytest.mark.parametrize("shape", SHAPES)
def test_draws_in_a_ball_are_uniform(shape):
    points = {z: i for i, z in enumerate(ball(shape, 3, 2))}
    seen = np.zeros(len(points))
    for _ in range(60 * len(points)):
        seen[points[draw_in_ball(shape, 3, 2)]] += 1
    assert fits(seen, np.full(len(points), 1 / len(points)), seen.sum())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("period", "upper"), [(1, 1), (3, 1), (3, 2)])
def test_law_is_a_mixture_that_adds_up_and_has_its_own_tails(shape, period, upper):
    """Probabilities in rationals, near points listed; what is far is below b^(number of steps)."""
    law = BallLaw(shape, 3, Fraction(1, 50), period, upper)
    reached = 5 if period == 1 else 6
    points = ball(shape, 3, reached)
    total = sum(law.point_mass(z) for z in points)
    rest = 1 - total
    assert 0 < rest < Fraction(1, 50) ** (reached // period - 1) * 10**4
    for t in (1, 2, 3):
        below = sum(law.point_mass(z) for z in points if z[0] >= t)
        assert below <= law.exact_tail(t) <= below + rest
        assert float(law.enclose_tail(t, 64)) == pytest.approx(float(law.exact_tail(t)), rel=1e-14)
    absolute = sum(law.point_mass(z) * abs(z[0]) for z in points)
    assert absolute <= law.exact_mean("absolute") <= absolute + 1000 * rest
    assert law.mean("zero-one") == pytest.approx(float(2 * law.exact_tail(1)), rel=1e-12)
    assert law.mean("within 1") == pytest.approx(float(2 * law.exact_tail(2)), rel=1e-12)


@pytest.mark.parametrize("moves", SHAPES)
@pytest.mark.parametrize("reach", [1, 2])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_how_far_moves_go_is_what_listing_them_says(moves, reach, d):
    space = Lattice(d, moves, reach, 0, 9)
    listed = moves_of(space)
    assert l1_sensitivity(space) == max(sum(map(abs, z)) for z in listed)
    assert squared_l2_sensitivity(space) == max(sum(x * x for x in z) for z in listed)
    for shape in SHAPES:
        if shape == "sum-zero" and any(sum(z) for z in listed):
            assert norm_sensitivity(shape, space) is None
        else:
            assert norm_sensitivity(shape, space) == max(norm(shape, z) for z in listed)


@pytest.mark.parametrize("moves", SHAPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("period", "upper"), [(1, 1), (2, 1), (3, 2)])
def test_privacy_is_what_the_ratios_of_all_points_say(moves, shape, period, upper):
    """On rationals: the largest ratio of two probabilities one move apart, points and moves listed."""
    for d, reach in ((2, 1), (2, 2), (3, 1)) if period == 1 else ((2, 1), (2, 2)):
        space = Lattice(d, moves, reach, 0, 9)
        law = BallLaw(shape, d, Fraction(1, 3), period, upper)
        wide = 3 if d == 2 else 2
        near = [z for z in product(range(-wide, wide + 1), repeat=d) if shape != "sum-zero" or sum(z) == 0]
        worst = Fraction(1)
        for step in moves_of(space):
            for z in near:
                there = law.point_mass(tuple(a + b for a, b in zip(z, step, strict=True)))
                worst = max(worst, law.point_mass(z) / there) if there else None
                if worst is None:
                    break
            if worst is None:
                break
        mechanism = NoisyVector(law)
        if worst is None:
            assert not mechanism.prove(space, PureDP(100)).passed
        else:
            assert mechanism.prove(space, PureDP.from_ratio(worst)).passed
            if worst > 1:
                assert not mechanism.prove(space, PureDP.from_ratio(worst * Fraction(999, 1000))).passed


def test_draws_beyond_the_machine_word():
    """Noise of size 10^30: integers of any length, a hundredth of that at least once and 1000 times that never."""
    law = geometric_law(1 - Fraction(1, 10**30))
    drawn = [abs(x) for x in law.draw(30)]
    assert len(drawn) == 30
    assert 10**28 < max(drawn) < 10**33


def test_far_tails_of_the_discrete_gaussian_are_sums_of_their_own_terms():
    law, k = DiscreteGaussian(Fraction(9, 4)), np.arange(-40, 41)
    assert float(law.enclose_tail(60, 80)) == pytest.approx(np.exp(-3600 / 4.5) / np.exp(-(k**2) / 4.5).sum(), rel=1e-9)


def test_gaussian_vectors_keep_what_theory_says():
    cube = Lattice(4, "cube", 3, 0, 9)
    assert squared_l2_sensitivity(cube) == 36
    assert RoundedGaussian.satisfies(Fraction(1), GaussianDP(1))
    assert not RoundedGaussian.satisfies(Fraction(101, 100), GaussianDP(1))
    assert DiscreteGaussian.satisfies(Fraction(1), ZCDP("1/2"))
    assert not DiscreteGaussian.satisfies(Fraction(1), GaussianDP(1))
    from scipy.stats import norm as normal

    mu = 0.23670438  # what (1, 1e-6) allows
    delta = normal.cdf(mu / 2 - 1 / mu) - np.e * normal.cdf(-mu / 2 - 1 / mu)
    assert delta == pytest.approx(1e-6, rel=1e-6)
    assert RoundedGaussian.satisfies(Fraction(mu * 0.99999) ** 2, ApproxDP(1, "1e-6"))
    assert not RoundedGaussian.satisfies(Fraction(mu * 1.00001) ** 2, ApproxDP(1, "1e-6"))


def test_files_are_doubted():
    good = BallLaw("exchange", 3, Fraction(2, 7), 5, 2).to_json()
    for wrong in ({"decay": "1"}, {"decay": "-1/2"}, {"upper": 6}, {"upper": 0}, {"dimension": 0}, {"shape": "disc"}):
        with pytest.raises(InvalidInput):
            NoisyVector.from_json({**good, **wrong})


def test_a_million_cells_at_once():
    """Independent geometric noise on 10^6 cells: one row of a table, and as many rows of one."""
    mechanism = NoisyVector(IndependentLaw(10**6, geometric_law(Fraction(1, 3))))
    drawn = mechanism.sample_many(np.zeros((1, 10**6), dtype=np.int64))
    assert abs(np.abs(drawn).mean() - mechanism.expected("absolute")) < 0.01


@pytest.mark.parametrize("shape", SHAPES)
def test_many_draws_in_balls_are_uniform(shape):
    for s in (0, 1, 2):
        points = {z: i for i, z in enumerate(ball(shape, 3, s))}
        drawn = draw_in_balls(shape, 3, np.full(60 * len(points), s))
        seen = np.bincount([points[tuple(z)] for z in drawn.tolist()], minlength=len(points))
        assert len(points) == 1 or fits(seen, np.full(len(points), 1 / len(points)), len(drawn))


def test_choices_by_huge_weights_are_exact_in_their_first_digits():
    """Weights beyond 64 bits, and words that fall on a cut: the rest of the number decides."""
    weights = [10**30, 3 * 10**30, 0, 6 * 10**30]
    seen = np.bincount(choose_many(weights, 20_000), minlength=4)
    assert seen[2] == 0
    assert fits(seen, np.array([0.1, 0.3, 0.0, 0.6]), 20_000)
    half = [2**80, 2**80]
    script = iter([(2**61 << 2).to_bytes(8, "little"), bytes(64)])  # the word of the cut itself, then zeros
    with insecure_source_for_tests_only(lambda size: next(script)[:size].ljust(size, b"\0")):
        assert choose_many(half, 1).tolist() == [1]  # at the cut or above


def test_a_million_vectors_in_about_a_second():
    law = BallLaw("one-way", 3, Fraction(3679, 10_000))
    law.draw(100)
    with within(5):
        drawn = law.draw(10**6)
    assert abs(np.abs(drawn).mean() - law.mean("absolute")) < 0.02


# ---- slack ----


@pytest.mark.parametrize("slack", [1, 2, 3])
def test_balls_with_slack_are_those_of_the_listed_points(slack):
    for d, s in product((1, 2, 3), range(5)):
        every = product(range(-s, s + 1), repeat=d)
        points = [z for z in every if norm("one-way", z, slack) <= s]
        assert count_ball("one-way", d, s, slack) == len(points)
        assert sum_absolute("one-way", d, s, slack) == sum(abs(z[0]) for z in points)
        assert sum_squared("one-way", d, s, slack) == sum(z[0] ** 2 for z in points)
        for t in range(1, s + 2):
            assert count_above("one-way", d, s, t, slack) == sum(z[0] >= t for z in points)


@pytest.mark.parametrize(("period", "upper"), [(1, 1), (2, 1), (3, 2)])
@pytest.mark.parametrize("slack", [1, 4])
def test_laws_with_slack_add_up_and_keep_their_level(period, upper, slack):
    """Probabilities of all vectors near 0, added up; and every ratio that one neighbour can make."""
    law = BallLaw("one-way", 2, Fraction(1, 20), period, upper, slack)
    near = list(product(range(-24, 25), repeat=2))
    chances = {z: law.point_mass(z) for z in near}
    assert 1 - Fraction(1, 10**6) < sum(chances.values()) < 1
    assert law.exact_mean("absolute") == pytest.approx(float(sum(p * abs(z[0]) for z, p in chances.items())), rel=1e-5)
    assert law.mean("squared") == pytest.approx(float(sum(p * z[0] ** 2 for z, p in chances.items())), rel=1e-4)
    assert law.mean("absolute") == pytest.approx(float(law.exact_mean("absolute")), rel=1e-13)
    for t in (1, 3, 6):
        assert law.exact_tail(t) == pytest.approx(float(sum(p for z, p in chances.items() if z[0] >= t)), rel=1e-3)
        assert law.tail(t) == pytest.approx(float(law.exact_tail(t)), rel=1e-12)
    space = Lattice(2, "one-way", period, 0, 100)
    for move in moves_of(space):
        for z in product(range(-9, 10), repeat=2):
            there = tuple(a + b for a, b in zip(z, move, strict=True))
            assert law.decay <= law.point_mass(there) / law.point_mass(z) <= 1 / law.decay
    assert law.prove(space, PureDP.from_ratio(20)).passed
    assert not law.prove(space, PureDP.from_ratio(19)).passed
    assert BallLaw.from_json(law.to_json()) == law


def test_draws_with_slack_have_their_law():
    law, size = BallLaw("one-way", 2, Fraction(1, 2), slack=2), 40_000
    near = list(product(range(-8, 9), repeat=2))
    index = {z: i for i, z in enumerate(near)}
    chances = [float(law.point_mass(z)) for z in near]
    for draws in (law.draw(size), np.concatenate([law.draw(1) for _ in range(4000)])):
        counts = np.zeros(len(near))
        for z in map(tuple, draws.tolist()):
            if z in index:
                counts[index[z]] += 1
        assert fits(counts, chances, len(draws))


def test_slack_is_for_one_way_and_exchange_noise():
    wrong = (("cube", 1), ("sum-zero", 1), ("exchange", 301), ("one-way", -1), ("one-way", 10**6), ("one-way", 1.0))
    for shape, slack in wrong:
        with pytest.raises(InvalidInput):
            BallLaw(shape, 3, Fraction(1, 2), slack=slack)
    with pytest.raises(InvalidInput):
        BallLaw("exchange", 1, Fraction(1, 2), slack=1)


@pytest.mark.parametrize("d", [2, 3, 4])
def test_exchange_balls_with_slack_are_those_of_the_listed_points(d):
    """Counts, tails and sums by listing, and every exchange changes the norm by at most 1."""
    every = list(product(range(-4, 5), repeat=d))
    moves = moves_of(Lattice(d, "exchange", 1, 0, 9))
    for slack in (1, 2):
        norms = {z: norm("exchange", z, slack) for z in every}
        assert norms[(2,) * d] == norms[(-2,) * d] == 2 * d - slack
        assert norms[(2,) * (d - 1) + (0,)] == 2 * d - 2
        near = [tuple(a + b for a, b in zip(z, step, strict=True)) for z in every for step in moves]
        there = [norms[z] for z in every for _ in moves]
        assert max(abs(norms[z] - n) for z, n in zip(near, there, strict=True) if z in norms) == 1
        for s in range(5):
            points = [z for z in every if norms[z] <= s]
            assert count_ball("exchange", d, s, slack) == len(points)
            assert sum_absolute("exchange", d, s, slack) == sum(abs(z[0]) for z in points)
            assert sum_squared("exchange", d, s, slack) == sum(z[0] ** 2 for z in points)
            for t in range(1, s + 2):
                assert count_above("exchange", d, s, t, slack) == sum(z[0] >= t for z in points)


@pytest.mark.parametrize(("period", "upper"), [(1, 1), (3, 2)])
def test_exchange_laws_with_slack_add_up_and_are_drawn(period, upper):
    """Tails and means in rationals against listed points; single and many draws by chi-square."""
    law = BallLaw("exchange", 3, Fraction(1, 30), period, upper, 2)
    reached = 5 if period == 1 else 6
    points = [z for z in product(range(-reached, reached + 1), repeat=3) if norm("exchange", z, 2) <= reached]
    chances = {z: law.point_mass(z) for z in points}
    rest = 1 - sum(chances.values())
    assert 0 < rest < Fraction(1, 30) ** (reached // period - 1) * 10**4
    for t in (1, 2, 4):
        listed = sum(chance for z, chance in chances.items() if z[0] >= t)
        assert listed <= law.exact_tail(t) <= listed + rest
    listed = sum(chance * abs(z[0]) for z, chance in chances.items())
    assert listed <= law.exact_mean("absolute") <= listed + 1000 * rest
    assert law.mean("absolute") == pytest.approx(float(law.exact_mean("absolute")), rel=1e-13)
    loose = BallLaw("exchange", 3, Fraction(1, 8), period, upper, 2)
    likely = sorted(points, key=lambda z: norm("exchange", z, 2))[:300]
    expected = np.array([float(loose.point_mass(z)) for z in likely])
    for drawn in (loose.draw(30_000), np.array([loose.draw(1)[0] for _ in range(1000)])):
        seen = dict.fromkeys(likely, 0)
        for z in map(tuple, drawn.tolist()):
            if z in seen:
                seen[z] += 1
        assert fits(np.array(list(seen.values())), expected, len(drawn))


@pytest.mark.parametrize("slack", [1, 3])
def test_two_that_exchange_have_slack_as_two_one_way_with_a_sign_turned(slack):
    """Counts, tails and privacy from listed points; draws follow the law."""
    every = [(a, b) for a in range(-12, 13) for b in range(-12, 13)]
    for s in range(6):
        points = [z for z in every if norm("exchange", z, slack) <= s]
        assert count_ball("exchange", 2, s, slack) == len(points)
        assert sum_absolute("exchange", 2, s, slack) == sum(abs(z[1]) for z in points)
        assert sum_squared("exchange", 2, s, slack) == sum(z[1] ** 2 for z in points)
        for t in range(1, s + 2):
            assert count_above("exchange", 2, s, t, slack) == sum(z[1] >= t for z in points)
    moves = [(1, 0), (0, 1), (1, -1), (-1, 0), (0, -1), (-1, 1)]
    assert max(abs(norm("exchange", (a + x, b + y), slack) - norm("exchange", (a, b), slack))
               for a, b in every for x, y in moves) == 1  # fmt: skip
    assert norm("exchange", (4, 4), slack) == 8 - slack
    law = BallLaw("exchange", 2, Fraction(1, 3), slack=slack)
    assert law.prove(Lattice(2, "exchange", 1, 0, 100), PureDP.from_ratio(3)).passed
    assert not law.prove(Lattice(2, "exchange", 1, 0, 100), PureDP(1)).passed
    assert sum(law.point_mass(z) for z in every) == pytest.approx(1, abs=1e-4)
    for drawn in (law.draw(20_000), np.array([law.draw(1)[0] for _ in range(2000)])):
        same = float((drawn[:, 0] * drawn[:, 1] > 0).mean())
        expected = float(sum(law.point_mass(z) for z in every if z[0] * z[1] > 0))
        assert abs(same - expected) < 5.5 * math.sqrt(expected / len(drawn))


@pytest.mark.parametrize("sigma", [30, 47, 200])
def test_means_of_wide_rounded_gaussians_are_sums_of_tails(sigma):
    """Summed term by term in balls of 200 bits: the closed forms are right to 1e-12 from where they are used."""
    with ctx.workprec(200):
        twice = [(arb(2 * t - 1) / (2 * sigma * arb(2).sqrt())).erfc() for t in range(1, 16 * sigma)]
        absolute, squared = sum(twice, arb(0)), sum(((2 * t + 1) * tail for t, tail in enumerate(twice)), arb(0))
    assert sigma >= WIDE
    assert wide_mean(float(sigma), "absolute") == pytest.approx(float(absolute), rel=1e-12)
    assert wide_mean(float(sigma), "squared") == pytest.approx(float(squared), rel=1e-12)
    assert RoundedGaussian(Fraction(sigma) ** 2).mean("absolute") == wide_mean(float(sigma), "absolute")
