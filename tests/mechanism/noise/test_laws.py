"""The same checks for every noise law, against the weights of its definition, listed vector by vector."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
from oracles.lattices import moves_of
from scipy.special import ndtr
from scipy.stats import chi2

from utmost.errors import InvalidInput
from utmost.mechanism.noise.balls import BallLaw
from utmost.mechanism.noise.canonical import CanonicalLaw
from utmost.mechanism.noise.carried import CarriedLaw
from utmost.mechanism.noise.gaussian import DiscreteGaussian, RoundedGaussian
from utmost.mechanism.noise.independent import IndependentLaw
from utmost.mechanism.noise.integer_balls import norm
from utmost.mechanism.noise.law import REGISTRY, NoiseLaw, read_law
from utmost.mechanism.noise.layers import LayerLaw
from utmost.mechanism.noise.staircase import StaircaseLaw, geometric_law
from utmost.privacy import ZCDP, ApproxDP, GaussianDP, PureDP
from utmost.space.integers import Lattice
from utmost.space.line import Line

FAILS = 1e-7
"""How often the chi-square test of a right law fails."""
CLOSE = 1e-8
"""More than the probability of everything beyond the lists."""
TWELFTH = Fraction(1, 12)


class Example(NamedTuple):
    """A law, its definition, and a level that it satisfies with nothing to spare."""

    law: NoiseLaw
    weight: Callable[[tuple[int, ...]], float]
    """The unnormalised probability of one vector."""
    space: Line | Lattice
    level: Any
    smaller: Any
    """A level that is one percent smaller, which it does not satisfy."""
    far: int
    """Integers beyond this are left out of the lists."""


def falling(law, weight, space, steps, far):
    """An example that falls by so many factors of 1/12 between neighbours."""
    level, smaller = PureDP.from_ratio(12**steps), PureDP(0.99 * steps * math.log(12))
    return Example(law, weight, space, level, smaller, far)


def stairs(period, upper):
    return lambda z: 12.0 ** -(abs(z[0]) // period + (abs(z[0]) % period >= upper))


def ball(shape, d, period=1, upper=1, slack=0, reach=1, steps=1):
    def weight(z):
        n = norm(shape, z, slack)
        inside = shape != "sum-zero" or sum(z) == 0
        return 12.0 ** -(n // period + (n % period >= upper)) if inside else 0.0

    law = BallLaw(shape, d, TWELFTH, period, upper, slack)
    return falling(law, weight, Lattice(d, shape, reach), steps, 10 * period + slack)


def rounded(variance):
    return lambda z: sum(sign * float(ndtr((sign / 2 - abs(z[0])) / math.sqrt(variance))) for sign in (1, -1))


def discrete(variance):
    return lambda z: math.exp(-(z[0] ** 2) / (2 * variance))


def truncated(epsilon, delta):
    """Canonical noise by its definition: the first tail is c, each other one what the level leaves of that before."""
    tails, growth = [1.0, (1 - delta) / (1 + math.exp(epsilon))], math.exp(epsilon)
    while tails[-1] > 0:
        tails.append(max(0.0, 1 - delta - growth * (1 - tails[-1]), (tails[-1] - delta) / growth))
    tails += [0.0] * 100
    return lambda z: tails[abs(z[0])] - tails[abs(z[0]) + 1] if z[0] else 1 - 2 * tails[1]


def in_steps(weight, step):
    """The law of step·X + J, J uniform over one step whose two ends, where it has two, count half."""
    offsets = [(j, 0.5 if 2 * abs(j) == step else 1.0) for j in range(-(step // 2), step // 2 + 1)]
    return lambda z: sum(share * weight(((z[0] - j) // step,)) for j, share in offsets if (z[0] - j) % step == 0)


def each(weight):
    return lambda z: math.prod(weight((x,)) for x in z)


def carried(*widths):
    """The factor to the power of all parts beyond the widths, where a cell takes what the one before it carries."""

    def weight(z):
        carry, rank = 0, 0
        for error, width in zip(z, (*widths, 0), strict=True):
            single = error + carry
            carry = max(-width, min(width, single))
            rank += abs(single - carry)
        return 12.0**-rank

    return weight


def gaussian_dp(mu):
    return GaussianDP(mu), GaussianDP(Fraction(mu) * Fraction(99, 100))


APPROXIMATE, LESS = ApproxDP(1, "0.02"), ApproxDP(1, "0.0198")
LINE = {reach: Line(None, None, reach) for reach in (1, 2, 3, 4)}
LAWS = {
    "geometric": falling(geometric_law(TWELFTH), stairs(1, 1), LINE[2], 2, 10),
    "staircase": falling(StaircaseLaw(LayerLaw(TWELFTH, 4, 2)), stairs(4, 2), LINE[4], 1, 40),
    "staircase over more than a period": falling(StaircaseLaw(LayerLaw(TWELFTH, 2, 1)), stairs(2, 1), LINE[3], 2, 20),
    "rounded Gaussian": Example(RoundedGaussian(Fraction(4)), rounded(4), LINE[2], *gaussian_dp(1), 14),
    "discrete Gaussian": Example(DiscreteGaussian(Fraction(9, 4)), discrete(2.25), LINE[3], ZCDP(2), ZCDP("1.98"), 12),
    "canonical": Example(CanonicalLaw(APPROXIMATE), truncated(1, 0.02), LINE[1], APPROXIMATE, LESS, 12),
    "canonical, Gaussian": Example(CanonicalLaw(GaussianDP(1)), rounded(1), LINE[2], *gaussian_dp(2), 8),
    "canonical in steps of 2": Example(
        CanonicalLaw(APPROXIMATE, 2), in_steps(truncated(1, 0.02), 2), LINE[2], APPROXIMATE, LESS, 24
    ),
    "canonical in steps of 3": Example(
        CanonicalLaw(GaussianDP(1), 3), in_steps(rounded(1), 3), LINE[3], *gaussian_dp(1), 24
    ),
    "independent geometric": falling(
        IndependentLaw(2, geometric_law(TWELFTH)), each(stairs(1, 1)), Lattice(2, "exchange", 1), 2, 10
    ),
    "independent staircases": falling(
        IndependentLaw(2, StaircaseLaw(LayerLaw(TWELFTH, 3, 2))), each(stairs(3, 2)), Lattice(2, "any", 2), 2, 30
    ),
    "independent Gaussian": Example(
        IndependentLaw(2, RoundedGaussian(Fraction(4))), each(rounded(4)), Lattice(2, "any", 1), *gaussian_dp("1/2"), 14
    ),
    "independent canonical": Example(
        IndependentLaw(2, CanonicalLaw(APPROXIMATE)),
        each(truncated(1, 0.02)),
        Lattice(2, "any", 1),
        APPROXIMATE,
        LESS,
        12,
    ),
    "balls, any": ball("any", 2),
    "balls, any, in steps": ball("any", 2, 2, 1, reach=3, steps=2),
    "balls, one-way": ball("one-way", 3),
    "balls, one-way, with slack": ball("one-way", 2, slack=2),
    "balls, cube": ball("cube", 2, 3, 2),
    "balls, exchange": ball("exchange", 3),
    "balls, exchange, with slack": ball("exchange", 2, 2, 2, slack=1),
    "balls, sum-zero": ball("sum-zero", 3),
    "balls of one integer": ball("any", 1, 3, 1, reach=2),
    "carried": falling(CarriedLaw(TWELFTH, (2, 1)), carried(2, 1), Lattice(3, "any", 2), 2, 14),
}
EVERY = pytest.mark.parametrize("name", LAWS)


@cache
def listed(name):
    """The integers -far..far, and the probabilities of all vectors of them."""
    example = LAWS[name]
    axis = np.arange(-example.far, example.far + 1)
    weights = np.array([example.weight(z) for z in product(axis.tolist(), repeat=example.law.dimension)])
    return axis, (weights / weights.sum()).reshape((len(axis),) * example.law.dimension)


def marginal(name):
    """The probabilities of one integer, averaged over the integers of a vector."""
    axis, chances = listed(name)
    others = [tuple(j for j in range(chances.ndim) if j != i) for i in range(chances.ndim)]
    return axis, np.mean([chances.sum(axis=rest) for rest in others], axis=0)


@EVERY
def test_probabilities_and_tails_are_those_of_the_definition(name):
    law, (axis, chances) = LAWS[name].law, marginal(name)
    assert law.probability(axis) == pytest.approx(chances, abs=CLOSE)
    assert law.probability(axis).sum() == pytest.approx(1, abs=CLOSE)
    for k in (-3, -1, 0, 1, 2, 5):
        assert float(law.tail(k)) == pytest.approx(chances[axis >= k].sum(), abs=CLOSE)
        assert float(law.tail(k)) == pytest.approx(law.probability(axis[axis >= k]).sum(), abs=CLOSE)
    for t in (1, 2, 5):
        assert float(law.enclose_tail(t, 100)) == pytest.approx(float(law.tail(t)), rel=1e-9, abs=1e-15)
        assert float(law.enclose_tail(t, 100).rad()) < 1e-25
    assert 2 * float(law.tail(law.wide + 1)) < 2.0**-60


@EVERY
def test_every_vector_has_the_probability_of_its_definition(name):
    law, (axis, chances) = LAWS[name].law, listed(name)
    for place in np.argsort(chances, axis=None)[::-37][:200].tolist():
        at = np.unravel_index(place, chances.shape)
        assert float(law.point_mass(tuple(axis[list(at)].tolist()))) == pytest.approx(chances[at], rel=1e-6)


@EVERY
def test_expectations_are_sums_over_the_definition(name):
    law, (axis, chances) = LAWS[name].law, marginal(name)
    losses = {"absolute": abs(axis), "squared": axis**2, "zero-one": axis != 0, "within 2": abs(axis) > 2}
    for loss, errors in losses.items():
        assert law.mean(loss) == pytest.approx(chances @ errors, rel=1e-6, abs=CLOSE)
    assert float(law.nominal_variance) == pytest.approx(chances @ axis**2, abs=0.09)  # but for rounding
    t = np.linspace(-7, 7, 15)
    assert law.characteristic(t) == pytest.approx(np.cos(np.outer(t, axis)) @ chances, abs=CLOSE)
    assert law.fourth_moment == pytest.approx(chances @ axis.astype(float) ** 4, rel=1e-4)


@EVERY
def test_closed_forms_are_the_sums_of_the_base(name):
    law, k, t = LAWS[name].law, np.arange(-6, 7), np.linspace(-7, 7, 15)
    assert law.tail(k) == pytest.approx(NoiseLaw.tail(law, k), rel=1e-10)
    assert law.probability(k) == pytest.approx(NoiseLaw.probability(law, k), rel=1e-8, abs=1e-12)
    for loss in ("absolute", "squared", "within 3"):
        assert law.mean(loss) == pytest.approx(NoiseLaw.mean(law, loss), rel=1e-10)
    assert law.characteristic(t) == pytest.approx(NoiseLaw.characteristic(law, t), abs=1e-10)
    assert law.fourth_moment == pytest.approx(NoiseLaw.fourth_moment.fget(law), rel=1e-9)


@EVERY
def test_half_widths_cover_and_are_the_least(name):
    law, (axis, chances) = LAWS[name].law, marginal(name)
    for confidence in (0, 0.3, 0.9, 0.95, "0.999"):
        n, share = law.half_width(confidence), float(confidence)
        assert chances[abs(axis) <= n].sum() >= share - CLOSE
        assert n == 0 or chances[abs(axis) < n].sum() < share
    with pytest.raises(InvalidInput, match="confidence"):
        law.half_width(1)


@EVERY
def test_draws_follow_the_definition(name):
    law, (axis, chances), size = LAWS[name].law, listed(name), 20_000
    drawn = np.asarray(law.draw(size))
    assert drawn.shape == ((size, law.dimension) if law.on_vectors else (size,))
    places = drawn.reshape(size, law.dimension) - axis[0]
    inside = ((places >= 0) & (places < len(axis))).all(axis=1)
    assert (~inside).sum() <= 1
    seen = np.zeros(chances.shape)
    np.add.at(seen, tuple(places[inside].T), 1)
    likely = size * chances >= 10
    expected = np.append(chances[likely], 1 - chances[likely].sum()) * size
    counts = np.append(seen[likely], size - seen[likely].sum())
    counted = expected >= 5
    assert ((counts - expected)[counted] ** 2 / expected[counted]).sum() < chi2.isf(FAILS, counted.sum())
    assert np.asarray(law.draw(1)).shape == ((1, law.dimension) if law.on_vectors else (1,))


def excess(chances, move, level):
    """By how much the likeliest events after a move exceed what a level allows; of zCDP, divergences over orders."""
    there = chances
    for axis, by in enumerate(move):
        there = np.roll(there, by, axis)  # what comes round has next to no probability
    p, q = chances.ravel(), there.ravel()
    if isinstance(level, ZCDP):
        both = (p > 1e-15) & (q > 1e-15)
        divergences = [np.log((p[both] ** a * q[both] ** (1 - a)).sum()) / (a - 1) / a for a in (1.2, 1.5)]
        return max(divergences) - float(level.rho)
    order = np.argsort(np.where(q > 0, p / np.where(q > 0, q, 1), np.inf))
    least, most = np.cumsum(p[order]), np.cumsum(q[order])
    return float((most - level.upper(np.clip(least, 0, 1))).max())


@EVERY
def test_the_proof_of_privacy_is_right_and_tight(name):
    """What `prove` decides, and what all events of listed vectors show, at the level and one percent below it."""
    example, (_, chances) = LAWS[name], listed(name)
    space = example.space
    moves = moves_of(Lattice(1, "any", space.reach) if isinstance(space, Line) else space)
    assert example.law.prove(space, example.level).passed
    assert max(excess(chances, move, example.level) for move in moves) < CLOSE
    assert not example.law.prove(space, example.smaller).passed
    assert max(excess(chances, move, example.smaller) for move in moves) > 1e-5


@EVERY
def test_files_hold_the_law(name):
    law = LAWS[name].law
    data = law.to_json()
    assert read_law(data["law" if law.on_vectors else "noise"], data, law.on_vectors) == law
    with pytest.raises(InvalidInput):
        read_law(data["law" if law.on_vectors else "noise"], data, not law.on_vectors)
    if not law.on_vectors:
        part = law.part_to_json()
        assert read_law(part["kind"], part) == law
        assert IndependentLaw.from_json(IndependentLaw(3, law).to_json()) == IndependentLaw(3, law)


def test_every_registered_law_has_an_example():
    names = set()
    for example in LAWS.values():
        data = example.law.to_json()
        names |= {data.get("noise", data.get("law")), example.law.kind}
    assert names == set(REGISTRY)


@pytest.mark.parametrize("name", ["unheard-of", None, ["layers"], 1])
def test_a_law_that_nobody_knows_is_refused(name):
    with pytest.raises(InvalidInput, match="does not know"):
        read_law(name, {})
