"""Privacy levels against their definitions: rational arithmetic, ball arithmetic and the published closed form."""

from __future__ import annotations

import copy
import json
import math
import pickle
import re
from decimal import Decimal
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from utmost.errors import InvalidInput, NotSuitable, UnsupportedLevel
from utmost.exact import ExpSum, as_fmpq, compare, endpoints
from utmost.privacy import (
    ApproxDP,
    ApproxGaussianDP,
    GaussianDP,
    PureDP,
    SuitablePair,
    as_level,
    level_from_json,
    require_pure,
)

TOTAL_VARIATION = SuitablePair([(0, 0.1), (0.9, 1), (1, 1)])
GREATER = [(0, 0.1), (0.2, 0.3), (0.4, 0.6), (0.7, 0.8), (0.9, 1), (1, 1)]  # of (ln 1.5, 0) and (0, 0.1)
TWO_OUTPUTS = SuitablePair(GREATER, binary_only=True)
CONCAVE = [PureDP(0), PureDP(0.1), PureDP.from_ratio(2), ApproxDP(1, 1e-6), ApproxDP(0, 1)]
CONCAVE += [ApproxDP.from_ratio("3/2", 0.1), GaussianDP(0), GaussianDP(0.5), TOTAL_VARIATION]
CONCAVE += [ApproxGaussianDP(0.5, 0.01), ApproxGaussianDP(0, 0.1)]
INFINITE = [PureDP(math.inf), ApproxDP(math.inf, 0.2), GaussianDP(math.inf)]
LEVELS = [*CONCAVE, TWO_OUTPUTS, PureDP(800), *INFINITE]
THIRDS = [PureDP("1/3"), PureDP.from_ratio("4/3"), ApproxDP(1, "1/3"), SuitablePair([(0, "1/3"), ("2/3", 1), (1, 1)])]
every_level = pytest.mark.parametrize("level", LEVELS, ids=repr)

ratios = st.fractions(1, 100, max_denominator=50)
probabilities = st.fractions(0, 1, max_denominator=1000)
small = st.integers(3, 300).map(lambda k: Fraction(1, 10**k))
deltas = st.just(Fraction(0)) | probabilities | small
floats = st.floats(0, 1, allow_subnormal=False) | small.map(float)


def allowed(ratio, delta, alpha):
    """The largest b <= 1 with b <= E·alpha + delta and 1 - alpha <= E(1 - b) + delta: an event and its complement."""
    return min(ratio * alpha + delta, 1 - (1 - alpha - delta) / ratio, Fraction(1))


def after(ratio, delta, steps, alpha):
    """The same, iterated exactly."""
    for _ in range(steps):
        alpha = allowed(ratio, delta, alpha)
    return alpha


def definition_nine(epsilon, delta, steps, alpha):
    """BIN Def. 9 as printed, with max(0, .) in (6), in 3000 bits."""
    with ctx.workprec(3000):
        e, d, a = arb(as_fmpq(epsilon)), arb(as_fmpq(delta)), arb(as_fmpq(alpha))
        growth = e.exp()
        turning = ((growth + 2 * d - 1) / ((growth + 1) * ((growth - 1) * a + d))).log() / e
        tau = max(0, math.ceil(endpoints(turning)[0]))
        if steps <= tau:
            result = (steps * e).exp() * a + d * ((steps * e).exp() - 1) / (growth - 1)
        else:
            left = ((steps - tau) * e).exp()
            result = ((2 * tau - steps) * e).exp() * a + 1 - 1 / left
            result += d * ((tau * e).exp() + left - 2) / (left * (growth - 1))
        return min(Fraction(1), endpoints(result)[1])


def near(value, exact, absolute=0.0):
    """Whether a float is within 1e-12 of a rational, relatively; 1e-322 allows for underflow."""
    return abs(Fraction(value) - exact) <= abs(exact) / 10**12 + Fraction(absolute) + Fraction(1e-322)


def rational(number):
    """The value of an exponential sum without exponentials."""
    assert set(number.terms) <= {fmpq(0)}
    value = number.terms.get(fmpq(0), fmpq(0))
    return Fraction(int(value.p), int(value.q))


def normal(x):
    """The normal distribution function at a float, by ball arithmetic."""
    with ctx.workprec(200):
        return float((-arb(x) / arb(2).sqrt()).erfc() / 2)


def graph(choose, levels):
    """Knots of the least or greatest of several (E, delta) graphs: all crossings of all their lines."""
    lines = {(Fraction(0), Fraction(1))}.union(*({(E, d), (1 / E, 1 - (1 - d) / E)} for E, d in levels))
    crossings = {(t - s) / (a - b) for (a, s), (b, t) in combinations(lines, 2) if a != b}
    alphas = sorted({Fraction(0), Fraction(1)} | {x for x in crossings if 0 <= x <= 1})
    return [(x, choose(allowed(E, d, x) for E, d in levels)) for x in alphas]


@given(ratios, probabilities, probabilities)
def test_exact_upper_is_the_largest_probability_allowed(ratio, delta, alpha):
    """The exact bound satisfies both inequalities of the definition, and nothing above it does."""
    b = rational(ApproxDP.from_ratio(ratio, delta).upper_exact(ExpSum.rational(alpha)))
    more = b + Fraction(1, 10**30)
    assert alpha <= b <= min(1, ratio * alpha + delta)
    assert 1 - alpha <= ratio * (1 - b) + delta
    assert more > 1 or more > ratio * alpha + delta or 1 - alpha > ratio * (1 - more) + delta


@given(st.fractions("1/1000", 20, max_denominator=1000), deltas, floats)
@settings(deadline=None)
def test_exact_and_float_bounds_agree(epsilon, delta, alpha):
    """With irrational e^epsilon the exact bound is the float one to 1e-14, and never below alpha; lower mirrors it."""
    level = ApproxDP(epsilon, delta)
    exact = level.upper_exact(ExpSum.rational(Fraction(alpha)))
    mirrored = level.upper_exact(ExpSum.rational(1 - Fraction(alpha))).times(Fraction(-1), Fraction(0)).plus(1)
    assert level.upper(alpha) == pytest.approx(float(exact), rel=1e-14, abs=0)
    assert level.lower(alpha) == pytest.approx(float(mirrored), rel=1e-14, abs=1e-15 * alpha)
    assert compare(exact, ExpSum.rational(Fraction(alpha))) >= 0


@pytest.mark.parametrize("level", [*CONCAVE, TWO_OUTPUTS], ids=repr)
def test_levels_are_suitable_pairs(level):
    """L <= id <= U, L(U(a)) <= a <= U(L(a)), U increases, and L = 1 - U(1 - .), so that U(a) + L(1 - a) is 1."""
    a = np.concatenate([[0, 1e-300, 1e-20], np.arange(1, 1025) / 1024])
    upper, lower = level.upper(a), level.lower(a)
    assert ((lower <= a) & (a <= upper)).all()
    assert ((level.lower(upper) <= a + 1e-12) & (a - 1e-12 <= level.upper(lower))).all()
    assert (np.diff(upper) >= 0).all()
    np.testing.assert_allclose(upper, 1 - level.lower(1 - a), rtol=0, atol=1e-12)


@every_level
def test_arrays_and_scalars(level):
    """Arrays of any shape are taken entry by entry, scalars give floats, and steps broadcast against alphas."""
    a = np.array([[0.0, 0.25, 0.3], [0.5, 0.9, 1.0]])
    for once, often in ((level.upper, level.upper_after), (level.lower, level.lower_after)):
        assert once(a).tolist() == [[once(x) for x in row] for row in a.tolist()]
        assert {type(once(x)) for x in (0.5, 1, Fraction(1, 2), np.float32(0.5), np.array(0.5))} == {float}
        table = often([[0], [1], [2]], [0.1, 0.75])
        np.testing.assert_allclose(table, [[0.1, 0.75], once([0.1, 0.75]), once(once([0.1, 0.75]))], atol=1e-12)
        assert type(often(2, 0.1)) is float


@every_level
@pytest.mark.parametrize("wrong", [math.nan, -0.1, 1.1])
def test_what_is_no_probability_is_named(level, wrong):
    """A wrong alpha is refused alone or among others, with its value in the message; so are wrong steps."""
    for function in (level.upper, level.lower, lambda a: level.upper_after(2, a), lambda a: level.lower_after(2, a)):
        for alpha in (wrong, [0.5, wrong]):
            with pytest.raises(InvalidInput, match=re.escape(str(wrong))):
                function(alpha)
    for steps in (-1, 1.5, [1, -2]):
        with pytest.raises(InvalidInput, match=re.escape(str(steps))):
            level.upper_after(steps, 0.5)


@given(ratios, deltas, st.integers(0, 80), floats)
@settings(max_examples=300, deadline=None)
def test_closed_form_is_exact_iteration(ratio, delta, steps, alpha):
    """Both bounds after many steps are those of iterating in rationals, to 1e-12 however small."""
    level, exact = ApproxDP.from_ratio(ratio, delta), Fraction(alpha)
    cancelled = 1e-14 * alpha if delta else 0.0  # what a delta takes away is lost to rounding
    assert near(level.upper_after(steps, alpha), after(ratio, delta, steps, exact))
    assert near(level.lower_after(steps, alpha), 1 - after(ratio, delta, steps, 1 - exact), cancelled)


@pytest.mark.parametrize("epsilon", ["1e-9", "1e-3", "0.5", "29.9", "30.1", "800", "1e5"])
@pytest.mark.parametrize("delta", [0, "1e-200", "1e-9", "0.3", 1])
def test_closed_form_is_definition_nine_at_every_scale(epsilon, delta):
    """From epsilon = 1e-9 to epsilon·steps = 1e14 both bounds are BIN's formula in 3000 bits; nothing overflows."""
    level, e, d = ApproxDP(epsilon, delta), Fraction(epsilon), Fraction(delta)
    for steps in (1, 2, 1000, 10**6, 10**9):
        for alpha in (0.0, 1e-300, 1e-12, 0.25, 0.5, 0.75, 1 - 2**-50, 1.0):
            if alpha or delta:
                assert near(level.upper_after(steps, alpha), definition_nine(e, d, steps, Fraction(alpha)))
            if alpha < 1 or delta:
                exact = 1 - definition_nine(e, d, steps, 1 - Fraction(alpha))
                assert near(level.lower_after(steps, alpha), exact, 1e-15 * alpha if delta else 0.0)


def test_published_values():
    """With epsilon = ln 2 the values of the paper, and 0.95 where its formula (6) as printed gives 0.8625."""
    for level in (PureDP.from_ratio(2), PureDP(math.log(2))):
        assert level.upper_after([3, 3, 1], [0.1, 0.3, 0.9]) == pytest.approx([0.7, 0.9, 0.95], rel=1e-14, abs=0)


@given(st.integers(1, 10**9), st.floats(1e-300, 1), st.floats(0, 1e5))
def test_limits(steps, alpha, epsilon):
    """What is impossible stays so without delta; epsilon of 0 or infinity and delta of 1 have their plain values."""
    assert PureDP(epsilon).upper_after(steps, 0) == 0
    assert PureDP(epsilon).lower_after(steps, 1) == 1
    assert near(ApproxDP(0, "1/1024").upper_after(steps, alpha), min(1, Fraction(alpha) + Fraction(steps, 1024)))
    for level in INFINITE:
        assert level.upper_after([0, 1, 1 + steps], 0).tolist() == [0, 1, 1]
        assert level.upper_after([0, steps], alpha).tolist() == [alpha, 1]
        assert level.lower_after([0, 1, 1 + steps], 1).tolist() == [1, 0, 0]
        assert level.lower_after([0, steps], alpha).tolist() == [alpha, 0]
    assert ApproxDP(epsilon, 1).upper_after(steps, [0, alpha]) == pytest.approx([1, 1], rel=1e-15, abs=0)
    assert ApproxDP(epsilon, 0.5).upper_after(0, alpha) == alpha == ApproxDP(epsilon, 0.5).lower_after(0, alpha)


@given(st.floats(-37, 5), st.floats(0.001, 40), st.integers(0, 50))
@settings(deadline=None)
def test_gaussian_bounds_move_the_quantile(x, mu, steps):
    """A probability Phi(x) moves to Phi(x ± steps·mu), tails of 1e-300 included; mu of 0 or infinity is a limit."""
    level, alpha = GaussianDP(mu), normal(x)
    assert level.upper(alpha) == pytest.approx(normal(x + mu), rel=1e-11, abs=0)
    assert level.upper_after(steps, alpha) == pytest.approx(normal(x + steps * mu), rel=1e-11, abs=0)
    if x < 0:
        assert level.lower(alpha) == pytest.approx(normal(x - mu), rel=1e-11, abs=1e-305)
        assert level.lower_after(steps, alpha) == pytest.approx(normal(x - steps * mu), rel=1e-11, abs=1e-305)
    assert GaussianDP(0).upper_after(steps, alpha) == alpha == GaussianDP(math.inf).upper_after(0, alpha)
    assert GaussianDP(math.inf).upper_after(1 + steps, [0, 1e-300, 1]).tolist() == [1, 1, 1]


@given(st.fractions(0, 5, max_denominator=100), small | probabilities)
@settings(max_examples=40, deadline=None)
def test_exact_gaussian_bounds_shrink_onto_the_float_one(mu, alpha):
    """Balls nest as precision grows, hold the float bound to its rounding, and pass on to other levels."""
    level, number = GaussianDP(mu), ExpSum.rational(alpha)
    bound = level.upper_exact(number)
    with ctx.workprec(600):
        (low, high), (least, most) = endpoints(bound.enclose(100)), endpoints(bound.enclose(500))
    assert low <= least <= most <= high
    assert most - least <= Fraction(1, 2**400)
    assert level.upper(float(alpha)) == pytest.approx(float(bound), rel=1e-11, abs=0)
    for second in (ApproxDP(1, "1/8"), TWO_OUTPUTS, GaussianDP("1/2")):
        expected = second.upper(level.upper(float(alpha)))
        assert float(second.upper_exact(bound)) == pytest.approx(expected, rel=1e-11, abs=0)


@given(ratios, probabilities, probabilities, st.integers(0, 20))
@settings(deadline=None)
def test_knots_of_an_approximate_level_give_that_level(ratio, delta, alpha, steps):
    """The pair drawn through the knots of an (epsilon, delta) graph is that level, at one step and at many."""
    pair, level = SuitablePair(graph(min, [(ratio, delta)])), ApproxDP.from_ratio(ratio, delta)
    assert pair.at(alpha) == rational(pair.upper_exact(ExpSum.rational(alpha))) == allowed(ratio, delta, alpha)
    for ours, theirs in ((pair.upper_after, level.upper_after), (pair.lower_after, level.lower_after)):
        assert ours(steps, float(alpha)) == pytest.approx(theirs(steps, float(alpha)), rel=1e-11, abs=1e-14)


@given(st.lists(st.tuples(ratios, probabilities), min_size=1, max_size=3), probabilities)
@settings(deadline=None)
def test_least_and_greatest_of_levels_are_suitable(levels, alpha):
    """The least of several levels is accepted, concave; the greatest is too, for two outputs, concave or not."""
    least, greatest = SuitablePair(graph(min, levels)), SuitablePair(graph(max, levels), binary_only=True)
    assert least.concave
    assert least.at(alpha) == min(allowed(E, d, alpha) for E, d in levels)
    assert greatest.at(alpha) == max(allowed(E, d, alpha) for E, d in levels)
    if not greatest.concave:
        with pytest.raises(NotSuitable, match=r"not concave at alpha = \d"):
            SuitablePair(greatest.knots)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=5).map(sorted))
@example([0, 8, 8])  # holds at every knot and breaks between them
@settings(max_examples=300, deadline=None)
def test_axioms_are_decided_exactly(heights):
    """Accepted knots satisfy every axiom at every alpha tried; refused ones break one at the alpha that is named."""
    n, refusal = len(heights), ""
    knots = [(Fraction(i, n), Fraction(h, 12)) for i, h in enumerate([*heights, 12])]

    def upper(a):
        i = min(int(a * n), n - 1)
        return knots[i][1] + (a * n - i) * (knots[i + 1][1] - knots[i][1])

    def breaks(a):
        return not (1 - upper(1 - a) <= a <= upper(a) and 1 - upper(1 - upper(a)) <= a <= upper(1 - upper(1 - a)))

    try:
        SuitablePair(knots, binary_only=True)
    except NotSuitable as error:
        refusal = str(error)
    if refusal:
        assert breaks(Fraction(re.search(r"upper\(([\d/]+)\)", refusal)[1]))
    else:
        assert not any(breaks(Fraction(i, 720)) for i in range(721))


@pytest.mark.parametrize(
    ("knots", "words"),
    [
        ([], "start at alpha = 0"),
        ([(0, 0), (0.5, 1)], "end at alpha = 1"),
        ([(0, 0), (0.5, 0.6), (0.5, 0.7), (1, 1)], "1/2 follows 1/2"),
        ([(0, 0), (1, 1.1)], "11/10"),
        ([(0, "x"), (1, 1)], "'x'"),
        ([(0, 0.3), (0.25, 0.2), (1, 1)], "at alpha = 0 to 1/5 at 1/4"),
        ([(0, 0), (0.5, 0.4), (1, 1)], r"upper\(1/2\) = 0.4"),
        ([(0, 0), (0.1, 0.5), (1, 1)], r"upper\(1/10\)"),
        (GREATER, "not concave at alpha = 1/5"),
    ],
)
def test_wrong_knots_are_refused_with_the_reason(knots, words):
    """Whatever is wrong with knots, the message names the place."""
    with pytest.raises(InvalidInput, match=words):
        SuitablePair(knots)


@given(st.floats(0.01, 5), st.integers(0, 5), st.floats(0.001, 0.999))
@settings(max_examples=30, deadline=None)
def test_cauchy_noise_as_functions(shift, steps, alpha):
    """Functions are taken as they are: the pair of Cauchy noise moves quantiles by the shift at every step."""
    pair = SuitablePair.from_functions(lambda a: stats.cauchy.cdf(stats.cauchy.ppf(a) + shift))
    angle = math.tan(math.pi * (alpha - 0.5))
    for function, moved in ((pair.upper_after, angle + steps * shift), (pair.lower_after, angle - steps * shift)):
        assert function(steps, alpha) == pytest.approx(0.5 + math.atan(moved) / math.pi, rel=1e-9, abs=0)


@pytest.mark.parametrize(
    ("upper", "lower", "rule"),
    [
        (lambda a: 0.9 * a, None, r"alpha <= upper\(alpha\)"),
        (lambda a: np.where(a == 0.5, 1.0, np.minimum(1, a + 0.2)), None, "must not decrease"),
        (np.sqrt, None, r"alpha <= upper\(lower\(alpha\)\)"),
        (lambda a: np.nan * a, None, "numbers between 0 and 1"),
        (lambda a: np.minimum(1, a + 0.2), lambda a: np.maximum(0, a - 0.1), r"upper\(alpha\) \+ lower\(1 - alpha\)"),
        (lambda a: np.minimum(1, a + 0.2), lambda a: 0 * a, r"alpha <= upper\(lower\(alpha\)\)"),
        (lambda a: a + 0.2, None, "numbers between 0 and 1"),
    ],
)
def test_functions_that_break_an_axiom_are_refused(upper, lower, rule):
    """The message names an alpha and the rule broken there."""
    with pytest.raises(NotSuitable, match=rf"at alpha = [\d.]+ .*{rule}"):
        SuitablePair.from_functions(upper, lower)


@pytest.mark.parametrize("level", [*CONCAVE, PureDP(800), *INFINITE], ids=repr)
def test_intercepts_are_least_and_lines_make_the_level(level):
    """slope·a + intercept lies above U and touches it somewhere; the lines, capped at 1, are U itself."""
    a = np.unique(np.concatenate([stats.norm.cdf(np.linspace(-37, 37, 20001)), np.linspace(0, 1, 10001)]))
    slopes = np.array([0, 0.1, 0.5, 0.9, 1, 1.5, 2, 10, 1000])
    needed = (level.upper(a) - slopes[:, None] * a).max(axis=1)
    assert level.intercept(slopes) == pytest.approx(needed, abs=1e-4)
    assert (level.intercept(slopes) >= needed - 1e-12).all()
    if level.lines() is not None:
        tops = [np.ones_like(a), *(slope * a + t for slope, t in level.lines())]
        np.testing.assert_allclose(np.min(tops, axis=0)[1:], level.upper(a)[1:], rtol=1e-12)  # U may jump at 0


@given(st.floats(0.01, 6), st.floats(-6, 6))
def test_gaussian_tangents_touch(mu, x):
    """The tangent at alpha = Phi(x) has the slope phi(x + mu)/phi(x), and its line meets U at alpha."""
    level, alpha = GaussianDP(mu), np.array([normal(x)])
    slope = level.tangent(alpha)
    assert slope == pytest.approx(math.exp(-mu * x - mu * mu / 2), rel=1e-6, abs=0)
    assert slope * alpha + level.intercept(slope) == pytest.approx(level.upper(alpha), rel=1e-9, abs=0)


def test_numbers_of_every_kind_mean_what_they_say():
    """A tenth is a tenth as float, string, Decimal, Fraction or numpy scalar, in every parameter."""
    tenths = [0.1, "0.1", "1/10", Decimal("0.1"), Fraction(1, 10), np.float64(0.1), np.float32(0.1)]
    for read in (lambda x: PureDP(x).epsilon, lambda x: ApproxDP(1, x).delta, lambda x: GaussianDP(x).mu):
        assert {read(x) for x in tenths} == {Fraction(1, 10)}
    assert PureDP.from_ratio(np.int64(2)).ratio == PureDP.from_ratio(2.0).ratio == 2
    assert PureDP.from_ratio(2).epsilon == pytest.approx(math.log(2), rel=1e-15, abs=0)


MAKERS = [PureDP, GaussianDP, PureDP.from_ratio, lambda x: ApproxDP(1, x), as_level]
WRONG = [math.nan, -0.5, -math.inf, "one", True, None, "1/0", Decimal("NaN")]


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        *((make, wrong) for make in MAKERS for wrong in WRONG),
        (lambda x: ApproxDP(1, x), 1.5),
        (lambda x: ApproxDP(1, x), math.inf),
        (lambda x: ApproxDP.from_ratio(2, x), "3/2"),
        (lambda x: PureDP.from_ratio(2, x), 0.1),
        (PureDP.from_ratio, "99/100"),
        (level_from_json, {"kind": "renyi"}),
    ],
)
def test_wrong_parameters_are_named(make, wrong):
    """What is no number, negative or out of range is refused with the value in the message."""
    with pytest.raises(InvalidInput, match=re.escape(repr(wrong))):
        make(wrong)


@every_level
def test_levels_are_values(level):
    """Levels are immutable, hash alike when equal, differ from other levels, and survive JSON."""
    for name in ("epsilon", "delta", "ratio", "mu", "knots", "anything"):
        with pytest.raises(AttributeError):
            setattr(level, name, 1)
    again = level_from_json(json.loads(json.dumps(level.to_json())))
    assert (type(again), hash(again)) == (type(level), hash(level))
    assert LEVELS.count(again) == len({level, again}) == 1
    assert level != 1
    assert as_level(level) is level


@pytest.mark.parametrize("level", [*LEVELS, *THIRDS], ids=repr)
def test_repr_makes_the_level_again(level):
    """A repr, evaluated, is the level."""
    assert eval(repr(level), {**globals(), "inf": math.inf}) == level


def test_equal_promises_are_equal():
    """A pure level is an approximate one with delta = 0; a bare number is a pure level; other levels are not pure."""
    assert PureDP(1) == ApproxDP(1, 0) == as_level(1) == as_level("1") == require_pure(ApproxDP(1, 0))
    assert len({PureDP(1), ApproxDP(1, 0), PureDP("1"), PureDP(1.0)}) == 1
    assert PureDP(0) == PureDP.from_ratio(1)
    assert SuitablePair([(0, 0.2), (0.8, 1), (1, 1)]) != TOTAL_VARIATION
    for level in (ApproxDP(1, 0.1), GaussianDP(1), TOTAL_VARIATION):
        with pytest.raises(UnsupportedLevel, match=re.escape(str(level))):
            require_pure(level)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda level: pickle.loads(pickle.dumps(level))])
@pytest.mark.parametrize("level", [PureDP(1), GaussianDP(1), TOTAL_VARIATION], ids=repr)
def test_levels_can_be_copied_and_pickled(level, copied):
    """A copy equals the level."""
    assert copied(level) == level


@pytest.mark.parametrize("level", [PureDP("1e400"), PureDP.from_ratio("1e400"), GaussianDP("1e400")])
def test_enormous_parameters_bound_nothing(level):
    """A level beyond the range of floats allows anything that has a chance."""
    assert level.upper_after([1, 2], 0.1).tolist() == [1, 1]


def test_ratio_near_one_over_many_steps():
    """0.001·(1 + 1e-9)^(1e9) has all its digits."""
    level = PureDP.from_ratio(1 + Fraction(1, 10**9))
    assert level.upper_after(10**9, 0.001) == pytest.approx(0.001 * math.exp(1e9 * math.log1p(1e-9)), rel=1e-12, abs=0)


def test_epsilon_of_a_long_ratio():
    """The logarithm of a ratio of integers of 300 digits is right to rounding."""
    level = PureDP.from_ratio(Fraction(10**300, 3 * 10**299 + 1))
    assert level.epsilon == pytest.approx(math.log(10 / 3), rel=1e-15, abs=0)


@pytest.mark.parametrize(("delta", "alpha"), [(1e-17, 1e-17), (1e-12, 3e-13), ("1/237", 0)])
def test_small_probabilities_keep_their_digits_at_epsilon_zero(delta, alpha):
    """With epsilon = 0 the bound of a small probability is alpha + delta, as upper_after has it."""
    level = ApproxDP(0, delta)
    assert level.upper_after(1, alpha) == pytest.approx(alpha + float(level.delta), rel=1e-15, abs=0)
    assert level.upper(alpha) == pytest.approx(alpha + float(level.delta), rel=1e-14, abs=0)


def test_gaussian_bounds_never_cross_alpha():
    """L <= id <= U holds in floats, whatever the mu."""
    a = np.linspace(0, 1, 1001)
    assert (GaussianDP(1e-18).upper(a) >= a).all()


def test_approximate_bounds_of_enclosed_numbers_gain_precision():
    """Bounds of a Gaussian bound that differ in the twentieth digit are told apart."""
    alpha = GaussianDP(1).upper_exact(ExpSum.rational(Fraction(1, 100)))
    assert compare(PureDP(1).upper_exact(alpha), PureDP(1 + Fraction(1, 10**20)).upper_exact(alpha)) == -1


def test_knots_wait_for_the_precision_they_need():
    """A graph takes a number so near 1 that its first balls are undefined, and compares it in the end."""
    half = ExpSum.rational(Fraction(1, 2))
    nearly_one = GaussianDP(1).upper_exact(GaussianDP(20).upper_exact(half))
    assert compare(TOTAL_VARIATION.upper_exact(nearly_one), half) == 1


def test_approximate_levels_have_tangents():
    """The slope of U is E below its bend and 1/E above."""
    assert PureDP.from_ratio(2).tangent(np.array([0.1, 0.6])).tolist() == [2, 0.5]


def test_gaussian_tangents_touch_in_the_tail():
    """The tangent at Phi(-9) has the slope phi(-8)/phi(-9)."""
    assert GaussianDP(1).tangent(np.array([normal(-9)])) == pytest.approx(math.exp(9 - 0.5), rel=1e-6, abs=0)


def test_small_lower_bounds_keep_their_digits_at_epsilon_zero():
    """With epsilon = 0 the lower bound of a small probability is alpha - delta, as lower_after has it."""
    level = ApproxDP(0, 1e-12)
    assert level.lower_after(1, 3e-12) == pytest.approx(2e-12, rel=1e-14, abs=0)
    assert level.lower(3e-12) == pytest.approx(2e-12, rel=1e-14, abs=0)


@pytest.mark.parametrize(
    ("knots", "words"),
    [
        (lambda a: a, "SuitablePair.from_functions"),
        (np.sqrt, "pairs \\(alpha, upper\\)"),
        (3, "knots is 3; give pairs"),
        ([1, 2], "give pairs"),
        (PureDP(1), "give pairs"),
    ],
)
def test_a_pair_says_what_it_is_made_of(knots, words):
    with pytest.raises(InvalidInput, match=words):
        SuitablePair(knots)
