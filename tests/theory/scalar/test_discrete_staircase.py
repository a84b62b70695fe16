"""Integer noise: privacy in fractions, optimality against linear programs, draws against the exact law."""

import math
import pickle
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.privacy import exponential_below
from scipy.optimize import linprog
from scipy.stats import chisquare

import utmost as um
from utmost.errors import CannotCertify, InvalidInput, TooLarge, UnsupportedLevel
from utmost.mechanism.noise.layers import (
    IntegerDraws,
    LayerLaw,
    count_points,
    draw_point,
    point_on_layer,
    sum_norms,
    sum_squares,
)
from utmost.mechanism.sampling import Cuts, Uniform, insecure_source_for_tests_only
from utmost.privacy.level import decay_above, decay_satisfies

approx = pytest.approx


# ---- the law ----


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
def test_sums_over_balls_by_enumeration(dimension):
    """Counts, norms and squares of integer points, one by one."""
    points = list(product(range(-6, 7), repeat=dimension))
    for n in range(7):
        inside = [p for p in points if sum(map(abs, p)) < n]
        assert count_points(dimension, n) == len(inside)
        assert sum_norms(dimension, n) == sum(sum(map(abs, p)) for p in inside)
        assert sum_squares(dimension, n) == sum(x * x for p in inside for x in p)


laws = st.builds(
    lambda b, period, upper, d: LayerLaw(b, period, 1 + upper % period, d),
    st.fractions("1/50", "4/5", max_denominator=50),
    st.integers(1, 6),
    st.integers(0, 5),
    st.integers(1, 4),
)


@given(laws)
@settings(max_examples=40)
def test_law_by_summation(law):
    """Mass, tails and means against layer-by-layer sums, far enough out."""
    layers = range(200 * law.period)
    counts = [count_points(law.dimension, n + 1) - count_points(law.dimension, n) for n in layers]
    masses = [float(c * law.decay ** int(law.step(n)) * law.top) for n, c in zip(layers, counts, strict=True)]
    assert sum(masses) == approx(1, abs=1e-9)
    for n in (0, 1, law.upper, law.period, 3 * law.period + 1):
        assert float(law.tail(n)) == approx(sum(masses[n:]), abs=1e-9)
        assert float(law.enclose_tail(n, 100)) == approx(float(law.tail(n)), rel=1e-15)
    assert float(law.mean(sum_norms)) == approx(sum(n * m for n, m in enumerate(masses)), rel=1e-8)


@given(laws, st.integers(1, 20))
def test_steps_within_by_enumeration(law, reach):
    """The most steps between layers within reach, over more than a period."""
    found = max(int(law.step(n + k) - law.step(n)) for n in range(2 * law.period) for k in range(reach + 1))
    assert law.steps_within(reach) == found


@pytest.mark.parametrize("epsilon", ["1e-9", "0.01", "0.5", "1", "3", "20"])
@pytest.mark.parametrize(("sensitivity", "dimension"), [(1, 1), (5, 1), (3, 2), (2, 3)])
def test_private_in_fractions(epsilon, sensitivity, dimension):
    """Every pair of points within the sensitivity near the origin, against a Taylor series of e^epsilon."""
    growth = exponential_below(Fraction(epsilon))
    for make in (um.noise.discrete_staircase, um.noise.discrete_laplace):
        noise = make(epsilon, sensitivity, dimension=dimension)
        reach = sensitivity + 1 if dimension > 1 else 3 * sensitivity
        points = list(product(range(-reach, reach + 1), repeat=dimension))
        mass = {n: noise.law.point_mass(n) for n in range(dimension * reach + 1)}
        for x in points:
            assert mass[sum(map(abs, x))] == noise.probability(x if dimension > 1 else x[0], exact=True)
        norms = [sum(map(abs, x)) for x in points]
        near = {
            (norms[i], norms[j])
            for i, x in enumerate(points)
            for j, y in enumerate(points)
            if sum(abs(a - b) for a, b in zip(x, y, strict=True)) <= sensitivity
        }
        assert len(near) > 1
        assert all(mass[m] <= growth * mass[n] for m, n in near)
        assert noise.verify().private
        assert max(mass[m] / mass[n] for m, n in near) > 1 + (growth - 1) * Fraction(999, 1000)  # nothing is given away


def test_private_in_fractions_can_fail():
    """A decay below e^-epsilon, by one unit in the last place, is not passed."""
    level = um.PureDP(1)
    decay = decay_above(level)
    assert decay_satisfies(level, decay, 1)
    assert not decay_satisfies(level, decay - Fraction(1, decay.denominator), 1)
    spread = decay_above(level, 7)
    assert decay_satisfies(level, spread, 7)
    assert not decay_satisfies(level, spread - Fraction(1, spread.denominator), 7)
    assert not decay_satisfies(level, decay, 2)
    good = um.noise.discrete_staircase(1, 4)
    for law in (
        LayerLaw(decay, 3, 1),  # too short a period
        LayerLaw(Fraction(1, 3), 4, 1),
        LayerLaw(decay, 4, 5),
        LayerLaw(decay, 0, 1),
        LayerLaw(Fraction(1), 4, 1),
    ):
        with pytest.raises(CannotCertify, match="not private at 1-DP"):
            um.noise.IntegerNoise(good.level, 4, "l1", law, 1.0, good.certificate)
    other = um.noise.IntegerNoise(good.level, 4, "l1", LayerLaw(decay, 4, 4), good.expected_cost, good.certificate)
    assert other.verify().private
    assert not other.verify()
    assert other.verify().optimal == "unproved"


@given(st.fractions("1/100000", 60, max_denominator=10**6), st.integers(1, 30))
def test_decay_is_just_above(epsilon, steps):
    """Never below e^(-epsilon/steps), and above by no more than 2^-60 of it and of what it lacks to 1."""
    decay = decay_above(um.PureDP(epsilon), steps)
    assert decay_satisfies(um.PureDP(epsilon), decay, steps)
    slack = min(decay, 1 - decay) / 2**60
    assert not decay_satisfies(um.PureDP(epsilon), decay - slack, steps)


# ---- the optimum ----


def least_cost_lp(epsilon, sensitivity, cost, dimension, reach):
    """A lower bound on the cost of any private noise: privacy is asked only between points of norm up to `reach`.

    The mass beyond is free of constraints and costs as little as the nearest points there. One variable per point, up
    to signs and order of the coordinates, under which averaging changes neither cost nor privacy; each is scaled by how
    fast masses may fall, or the solver's tolerance would let far points have none.
    """
    kinds = sorted({tuple(sorted(map(abs, p))) for p in product(range(reach + 1), repeat=dimension) if sum(p) <= reach})
    index = {kind: i for i, kind in enumerate(kinds)}
    points = [p for p in product(range(-reach, reach + 1), repeat=dimension) if sum(map(abs, p)) <= reach]
    count = np.zeros(len(kinds))
    pairs = set()
    shifts = [
        s for s in product(range(-sensitivity, sensitivity + 1), repeat=dimension) if sum(map(abs, s)) <= sensitivity
    ]
    for p in points:
        kind = tuple(sorted(map(abs, p)))
        count[index[kind]] += 1
        for s in shifts:
            other = tuple(sorted(abs(a + b) for a, b in zip(p, s, strict=True)))
            if other in index and other != kind:
                pairs.add((index[kind], index[other]))
    scale = np.array([math.exp(-epsilon * sum(kind) / sensitivity) for kind in kinds])
    rows = np.zeros((len(pairs), len(kinds) + 1))
    for row, (i, j) in zip(rows, pairs, strict=True):
        row[i], row[j] = 1, -math.exp(epsilon) * scale[j] / scale[i]
    mass = np.append(count * scale, 1)
    price = np.array([*(cost(kind) for kind in kinds), cost((0,) * (dimension - 1) + (reach + 1,))]) * mass
    result = linprog(price, rows, np.zeros(len(pairs)), mass[None, :], [1], bounds=(0, None))
    assert result.status == 0
    return result.fun


@pytest.mark.parametrize("epsilon", [0.7, 1.5, 4])
@pytest.mark.parametrize("sensitivity", [1, 2, 5])
@pytest.mark.parametrize("cost", ["l1", "l2", "within 3", "root"])
def test_no_private_noise_is_better(epsilon, sensitivity, cost):
    """One dimension: the theorem's optimum meets a linear program's lower bound."""
    price = {
        "l1": lambda k: abs(k[0]),
        "l2": lambda k: k[0] ** 2,
        "within 3": lambda k: float(abs(k[0]) > 3),
        "root": lambda k: math.sqrt(abs(k[0])),
    }[cost]
    noise = um.noise.discrete_staircase(epsilon, sensitivity, (lambda k: math.sqrt(abs(k))) if cost == "root" else cost)
    bound = least_cost_lp(epsilon, sensitivity, price, 1, math.ceil(24 * sensitivity / epsilon))
    assert noise.expected_cost == approx(bound, rel=1e-5, abs=1e-8)
    assert noise.verify()
    assert noise.verify().optimal == "theorem"


@pytest.mark.parametrize(
    ("dimension", "epsilon", "sensitivity", "reach"), [(2, 2, 1, 14), (2, 3, 2, 16), (2, 4, 3, 20), (3, 2, 1, 14)]
)
def test_vectors_against_a_linear_program(dimension, epsilon, sensitivity, reach):
    """Nothing but privacy is assumed of the program's noise, and it is no better, on these cases."""
    noise = um.noise.discrete_staircase(epsilon, sensitivity, dimension=dimension)
    bound = least_cost_lp(epsilon, sensitivity, sum, dimension, reach)
    assert noise.expected_cost == approx(bound, rel=1e-7)
    assert noise.certificate.claim == "unproved"
    assert "open on a lattice" in noise.certificate.reason


def least_cost_of_layers(epsilon, sensitivity, dimension, reach):
    """The least cost of private noise that is constant on l1 layers up to `reach`, neither falling nor periodic."""
    n = np.arange(reach + 1)
    counts = np.diff([float(count_points(dimension, k)) for k in range(reach + 2)])
    scale = np.exp(-epsilon * n / sensitivity)
    mass = counts * scale / (counts * scale).max()
    pairs = [(i, j) for i in n for j in n if 0 < abs(i - j) <= sensitivity]
    rows = np.zeros((len(pairs), reach + 1))
    for row, (i, j) in zip(rows, pairs, strict=True):
        row[i], row[j] = 1, -math.exp(epsilon) * scale[j] / scale[i]
    result = linprog(n * mass, rows, np.zeros(len(pairs)), mass[None, :], [1], bounds=(0, None))
    assert result.status == 0
    return result.fun


@pytest.mark.parametrize(("dimension", "epsilon", "sensitivity"), [(3, 1, 3), (4, 2, 5), (5, 3, 6), (8, 3, 4)])
def test_layers_in_many_dimensions(dimension, epsilon, sensitivity):
    """Among all laws that are constant on layers the staircase is best, also where its best step wraps around."""
    noise = um.noise.discrete_staircase(epsilon, sensitivity, dimension=dimension)
    reach = sensitivity * (26 + 3 * dimension) // epsilon + 3 * dimension
    bound = least_cost_of_layers(epsilon, sensitivity, dimension, reach)
    assert noise.expected_cost == approx(bound, rel=1e-7)


@given(st.floats(0.05, 8), st.integers(1, 60), st.sampled_from(["l1", "l2"]), st.integers(1, 4))
@settings(max_examples=40)
def test_best_step_against_all(epsilon, sensitivity, cost, dimension):
    """The chosen step against every other one, in fractions."""
    noise = um.noise.discrete_staircase(epsilon, sensitivity, cost, dimension)
    summed = sum_norms if cost == "l1" else sum_squares
    laws = [LayerLaw(noise.law.decay, sensitivity, upper, dimension) for upper in range(1, sensitivity + 1)]
    least = min(law.mean(summed) for law in laws)
    assert noise.law.mean(summed) == least
    assert noise.expected_cost == approx(float(least), rel=1e-15)


def test_known_optimum():
    """Sensitivity 5 at epsilon 1: r = 2 and cost 4.786284; named costs and callables agree."""
    noise = um.noise.discrete_staircase(1, 5)
    assert (noise.law.upper, round(noise.expected_cost, 6)) == (2, 4.786284)
    assert um.noise.discrete_staircase(1, 5, abs).expected_cost == approx(noise.expected_cost, rel=1e-12)
    squared = um.noise.discrete_staircase(1, 5, lambda k: k * k)
    assert squared.expected_cost == approx(um.noise.discrete_staircase(1, 5, "l2").expected_cost, rel=1e-12)
    laplace = um.noise.discrete_laplace(1, 5)
    assert laplace.expected_cost == approx(2 * math.exp(-0.2) / (1 - math.exp(-0.4)))
    assert laplace.verify().private
    assert um.noise.discrete_laplace(1).law == um.noise.discrete_staircase(1).law  # one and the same for sensitivity 1


@given(st.floats(0.3, 8), st.integers(1, 12), st.integers(0, 400), st.integers(1, 3))
@settings(max_examples=40)
def test_within_a_bound(epsilon, sensitivity, bound, dimension):
    """The chance of noise beyond a bound, however small: the best step against all, exactly."""
    noise = um.noise.discrete_staircase(epsilon, sensitivity, f"within {bound}", dimension)
    laws = [LayerLaw(noise.law.decay, sensitivity, upper, dimension) for upper in range(1, sensitivity + 1)]
    assert noise.law.tail(bound + 1) == min(law.tail(bound + 1) for law in laws)
    assert noise.expected_cost == float(noise.law.tail(bound + 1))
    assert noise.verify()


# ---- probabilities ----


@given(st.floats(0.01, 10), st.integers(1, 9))
@settings(max_examples=30)
def test_probabilities_and_tails(epsilon, sensitivity):
    """Floats next to fractions; tails next to sums; symmetric."""
    noise = um.noise.discrete_staircase(epsilon, sensitivity)
    ks = np.arange(-3 * sensitivity - 2, 3 * sensitivity + 3)
    for k, p, t in zip(ks.tolist(), noise.probability(ks), noise.tail(ks), strict=True):
        assert p == approx(float(noise.probability(k, exact=True)), rel=1e-11)
        assert t == approx(float(noise.tail(k, exact=True)), rel=1e-11)
        assert noise.tail(k, exact=True) - noise.tail(k + 1, exact=True) == noise.probability(k, exact=True)
        assert noise.tail(k, exact=True) + noise.tail(1 - k, exact=True) == 1
        assert isinstance(noise.probability(k), float)
        assert isinstance(noise.tail(k), float)
    assert noise.probability(10**30) == noise.probability(-(10**30)) == 0 == noise.tail(10**30)
    assert noise.tail(-(10**30)) == 1
    assert noise.probability([-(10**30), 0])[1] == noise.probability(0)


def test_probabilities_of_vectors():
    """The last axis holds coordinates; all points of a box and the tail add up to 1."""
    noise = um.noise.discrete_staircase(3, 2, dimension=2)
    box = np.array(list(product(range(-40, 41), repeat=2)))
    assert noise.probability(box).sum() == approx(1, abs=1e-12)
    assert noise.probability([1, -2]) == noise.probability([[3, 0]])[0]
    with pytest.raises(InvalidInput, match="2 coordinates"):
        noise.probability([1, 2, 3])
    with pytest.raises(InvalidInput, match="no order"):
        noise.tail(1)


@given(st.floats(0.05, 5), st.integers(1, 7), st.integers(1, 3), st.fractions(0, "999/1000"))
@settings(max_examples=50)
def test_half_width(epsilon, sensitivity, dimension, confidence):
    """The least n whose ball has enough mass, in fractions."""
    noise = um.noise.discrete_staircase(epsilon, sensitivity, dimension=dimension)
    n = noise.half_width(confidence)
    assert 1 - noise.law.tail(n + 1) >= confidence
    assert n == 0 or 1 - noise.law.tail(n) < confidence


def test_half_width_at_a_tie():
    """A confidence that a rational law meets exactly is met, not missed by rounding."""
    noise = um.noise.discrete_staircase(um.PureDP.from_ratio(2))
    assert noise.half_width(1 - noise.law.tail(3)) == 2
    assert noise.half_width(1 - noise.law.tail(3) + Fraction(1, 10**30)) == 3


# ---- draws ----


def p_value(drawn, noise, reach):
    """Chi-square of integers against the law, tails pooled."""
    counts = Counter(np.clip(drawn, -reach, reach).tolist())
    ks = np.arange(-reach, reach + 1)
    expected = noise.probability(ks)
    expected[0] = expected[-1] = noise.tail(reach)
    return chisquare([counts[k] for k in ks.tolist()], expected / expected.sum() * len(drawn)).pvalue


@pytest.mark.parametrize(
    ("epsilon", "sensitivity", "reach"),
    [(1, 1, 7), (0.05, 1, 100), (0.002, 1, 900), (1, 5, 20), (2, 2, 8), (6, 40, 60)],
)
def test_draws_fit_the_law(epsilon, sensitivity, reach):
    """Exact and simulated draws, one digit and several, one place in a period and many."""
    noise = um.noise.discrete_staircase(epsilon, sensitivity)
    assert p_value(noise.sample(100_000), noise, reach) > 1e-6
    assert p_value(noise.simulate(100_000, rng=3), noise, reach) > 1e-3


@pytest.mark.long
@pytest.mark.parametrize(("epsilon", "sensitivity", "reach"), [(1, 1, 12), (0.05, 1, 200), (1, 5, 40)])
def test_ten_million_draws_fit_the_law(epsilon, sensitivity, reach):
    """The same with ten million."""
    noise = um.noise.discrete_staircase(epsilon, sensitivity)
    assert p_value(noise.sample(10**7), noise, reach) > 1e-6


@pytest.mark.long
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_points_fit_the_law(dimension):
    """Layers by inversion of the tail, and points uniform on their layer."""
    noise = um.noise.discrete_staircase(3, 2, dimension=dimension)
    for drawn in (
        [draw_point(noise.law) for _ in range(4000)],
        noise.simulate(4000, 1).reshape(-1, dimension).tolist(),
    ):
        counts = Counter(map(tuple, drawn))
        points = [p for p in product(range(-3, 4), repeat=dimension) if sum(map(abs, p)) <= 3]
        expected = np.array([noise.probability(p if dimension > 1 else p[0]) for p in points]) * 4000
        seen = [counts[p] for p in points]
        rest = 4000 - sum(seen), 4000 - expected.sum()
        assert chisquare([*seen, rest[0]], [*expected, rest[1]]).pvalue > 1e-6


def test_every_point_of_a_layer_is_as_likely():
    """All random numbers in turn: each point of the layer equally often."""
    for dimension, n in ((1, 3), (2, 2), (3, 2), (2, 4)):
        found = Counter()
        waiting = [[]]
        while waiting:  # every sequence of answers to "a number below m", each with its probability
            answers = waiting.pop()
            asked, chance = [], Fraction(1)

            def below(m, answers=answers, asked=asked):
                asked.append(m)
                return answers[len(asked) - 1] if len(asked) <= len(answers) else 0

            point = point_on_layer(dimension, n, below)
            if len(asked) > len(answers):
                waiting += [[*answers, a] for a in range(asked[len(answers)])]
                continue
            for m in asked:
                chance /= m
            found[point] += chance
        assert len(found) == count_points(dimension, n + 1) - count_points(dimension, n)
        assert set(found.values()) == {Fraction(1, len(found))}


def test_cuts_are_exact():
    """Words that walk through all values: each part gets its share; a word that does not tell draws more bits."""

    def enclose(bits):
        with ctx.workprec(bits + 8):
            return [arb(fmpq(1, 3)), arb(fmpq(1, 2)), arb(fmpq(2, 3))]

    thirds = Cuts(enclose)
    words = np.arange(2**12, dtype=np.uint64) << np.uint64(52)
    with insecure_source_for_tests_only(lambda size: words.tobytes()):
        parts = thirds.draw(2**12)[0]
    assert np.bincount(parts).tolist() == [1366, 682, 683, 1365]
    top = 2**62 // 3  # the first 62 bits of 1/3 are 0101...01, the rest repeats 0101...
    below, above = 0x5555555555555554, 0x5555555555555556
    for more, part in ((below, 0), (above, 1)):
        stream = [(top << 2).to_bytes(8, "little"), more.to_bytes(8, "little")]
        with insecure_source_for_tests_only(lambda size, s=stream: s.pop(0)):
            assert thirds.draw(1)[0].tolist() == [part]
    tie = [0x5555555555555555] * 3 + [above]
    with insecure_source_for_tests_only(lambda size: tie.pop(0).to_bytes(8, "little")):
        number = Uniform(top, 62)
        assert not number.is_below(lambda bits: thirds.enclose(bits)[0])
    assert not tie
    assert number.bits == 62 + 4 * 64


def test_digits_make_the_geometric_law():
    """The cuts of all digits, multiplied, are the law of the block, to the last of three digits."""
    law = um.noise.discrete_staircase("1e-5").law
    draws = IntegerDraws(law)
    assert len(draws._digits) == 3
    shares = []
    for cuts in draws._digits:
        ends = [0.0, *(float(ball) for ball in cuts.enclose(128)), 1.0]
        shares.append(np.diff(ends))
    b = float(law.decay)
    for block in (0, 1, 255, 256, 70_000, 5_000_000):
        digits = [block % 256, block // 256 % 256, block // 65536]
        chance = math.prod(shares[i][digit] for i, digit in enumerate(digits))
        assert chance == approx((1 - b) * b**block, rel=1e-6)


def test_beyond_the_last_digit_the_law_begins_anew():
    """The largest words: the highest digit overflows, is drawn again, and adds up."""
    draws = IntegerDraws(um.noise.discrete_staircase(1).law)
    most, least = (2**64 - 1).to_bytes(8, "little"), bytes(8)
    for rounds in (1, 2, 3):  # 1 - e^-256 has 369 bits that are 1: six words
        stream = [most] * 6 * rounds + [least]
        with insecure_source_for_tests_only(lambda size, s=stream: s.pop(0)):
            assert draws.draw(1).tolist() == [-256 * rounds]
        assert not stream


def test_minus_zero_is_drawn_again():
    """A minus sign at 0 is thrown away, so that 0 is not twice as likely."""
    draws = IntegerDraws(um.noise.discrete_staircase(1).law)
    stream = [(1).to_bytes(8, "little"), (2).to_bytes(8, "little")]
    with insecure_source_for_tests_only(lambda size: stream.pop(0)):
        assert draws.draw(1).tolist() == [0]
    assert not stream


@pytest.mark.parametrize("epsilon", ["1e-40", "1e-15", "1e-6", "1", "50", "3000", "inf"])
@pytest.mark.parametrize("sensitivity", [1, 7, 10**25])
def test_extremes(epsilon, sensitivity):
    """Draws of any size, from none to more digits than a machine word has, of the right order."""
    noise = um.noise.discrete_staircase(um.PureDP(epsilon), sensitivity)
    drawn = noise.sample(9)
    assert sorted(abs(int(k)) for k in drawn)[4] <= noise.half_width(0.9999)
    assert isinstance(noise.sample(), int)
    assert noise.verify()
    assert noise.release(10**50) - 10**50 <= noise.half_width(1 - Fraction(1, 10**12))
    if epsilon == "inf":
        assert not any(drawn)
        assert noise.expected_cost == 0


def test_copies_draw_too():
    """Noise goes to other processes, also after it was used, and draws the same law there."""
    noise = um.noise.discrete_staircase(1, 3)
    noise.sample(5)
    copied = pickle.loads(pickle.dumps(noise))
    assert copied.law == noise.law
    assert len(copied.sample(5)) == 5


def test_releases():
    """Whole numbers only, nothing private in a refusal; sizes and shapes."""
    noise, vectors = um.noise.discrete_staircase(2, 3), um.noise.discrete_staircase(2, 3, dimension=2)
    assert isinstance(noise.release(np.int32(5)), int)
    assert len(vectors.release([4, 5])) == 2
    assert vectors.sample(6).shape == (6, 2)
    assert noise.sample(0).shape == (0,)
    assert vectors.simulate(3, 1).shape == (3, 2)
    for value in (12345.5, 12345.0, "12345", None, True, math.nan):
        with pytest.raises(InvalidInput, match="whole number") as refusal:
            noise.release(value)
        assert "12345" not in str(refusal.value)
    for value in (12345, [12345], [1, 2, 3], [1, 2.5]):
        with pytest.raises(InvalidInput, match="2 numbers"):
            vectors.release(value)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: um.noise.discrete_staircase(0), InvalidInput, "epsilon is 0"),
        (lambda: um.noise.discrete_staircase(um.ApproxDP(1, 0.1)), UnsupportedLevel, "pure"),
        (lambda: um.noise.discrete_staircase(1, 0), InvalidInput, "sensitivity is 0"),
        (lambda: um.noise.discrete_staircase(1, 1.5), InvalidInput, "sensitivity is 1.5"),
        (lambda: um.noise.discrete_staircase(1, 1, "l7"), InvalidInput, "'l7'"),
        (lambda: um.noise.discrete_staircase(1, 1, None), InvalidInput, "cost is None"),
        (lambda: um.noise.discrete_staircase(1, 1, "within x"), InvalidInput, "within"),
        (lambda: um.noise.discrete_staircase(1, 1, abs, 2), InvalidInput, "vectors"),
        (lambda: um.noise.discrete_staircase("1e-9", 1, "within 100000000"), TooLarge, "smaller bound"),
        (lambda: um.noise.discrete_staircase(1, 1, lambda k: -abs(k)), InvalidInput, "must not fall"),
        (lambda: um.noise.discrete_staircase(1, 1, lambda k: k), InvalidInput, "symmetric"),
        (lambda: um.noise.discrete_staircase(1, 1, lambda k: math.nan), InvalidInput, "finite"),
        (lambda: um.noise.discrete_staircase(1, 1, lambda k: math.exp(2 * abs(k))), InvalidInput, "too fast"),
        (lambda: um.noise.discrete_staircase(1e-6, 1, abs), TooLarge, "values of the cost"),
        (lambda: um.noise.discrete_staircase("1e-4000"), InvalidInput, "larger epsilon"),
        (lambda: um.noise.discrete_staircase(1).probability(0.5), InvalidInput, "whole numbers"),
        (lambda: um.noise.discrete_staircase(1).probability([1, 2], exact=True), InvalidInput, "one at a time"),
        (lambda: um.noise.discrete_staircase(1).half_width(1), InvalidInput, "confidence is 1"),
        (lambda: um.noise.discrete_staircase(1).sample(-1), InvalidInput, "size is -1"),
        (lambda: um.noise.discrete_staircase(1e-9).simulate(5), TooLarge, "layers"),
        (lambda: um.noise.discrete_laplace(1, cost="l7"), InvalidInput, "'l7'"),
        (lambda: um.noise.discrete_laplace(1, cost=abs), InvalidInput, "named cost"),
    ],
)
def test_bad_input(call, error, says):
    """Each wrong argument is named with its value and the rule."""
    with pytest.raises(error, match=says):
        call()
