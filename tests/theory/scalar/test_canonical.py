"""Canonical noise: its vectors, privacy over all events, optimality against linear programs, draws against the law."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.special import ndtr
from scipy.stats import chisquare

import utmost as um
from utmost.errors import InvalidInput, UnsupportedLevel
from utmost.mechanism.noise.canonical import CanonicalLaw, group_satisfies
from utmost.space.line import Line

approx = pytest.approx


@pytest.mark.parametrize(
    ("level", "cost", "expected", "digits"),
    [
        (um.ApproxDP(1, "1e-6"), "l1", 0.8509021157575, 1e-12),
        (um.ApproxDP("0.1", "1e-6"), "l1", 9.98128551, 5e-9),
        (um.ApproxDP("0.1", "0.01"), "l1", 6.49479673956, 5e-12),
        (um.GaussianDP("0.5"), "l1", 1.57902284355, 5e-12),
        (um.GaussianDP(1), "l1", 0.763580902205, 5e-13),
        (um.ApproxDP("0.1", "0.01"), "l2", 66.2011452, 5e-8),
        (um.GaussianDP(1), "l2", 1.08333332, 5e-9),
        (um.PureDP(1), "l1", 0.85091813, 5e-9),
    ],
)
def test_expected_costs(level, cost, expected, digits):
    """Numbers computed elsewhere."""
    assert um.noise.canonical(level, cost).expected_cost == approx(expected, abs=digits)


def mirrored_pair(sizes, start=Fraction(0)):
    """A concave pair from slopes above 1 in falling order, its graph mirrored in the falling diagonal."""
    slopes = [Fraction(2 + 2 * (len(sizes) - i)) for i in range(len(sizes))]
    scale = (1 - start) / sum(s * (1 + m) for s, m in zip(sizes, slopes, strict=True))  # alpha + upper reaches 1
    knots, a, u = [(Fraction(0), start)], Fraction(0), start
    for s, m in zip(sizes, slopes, strict=True):
        a, u = a + s * scale, u + s * m * scale
        knots.append((a, u))
    knots += [(1 - u, 1 - a) for a, u in reversed(knots[:-1])]
    return um.SuitablePair(knots if start == 0 else [*knots, (1, 1)])


sizes = st.lists(st.fractions("1/20", "1/3", max_denominator=30), min_size=1, max_size=3)
starts = st.fractions("1/50", "1/4", max_denominator=50)
pairs = st.one_of(sizes.map(mirrored_pair), st.builds(mirrored_pair, sizes, starts))


levels = st.one_of(
    st.builds(um.PureDP, st.fractions("1/5", 3, max_denominator=20)),
    st.builds(um.ApproxDP, st.fractions(0, 3, max_denominator=20), st.fractions("1/1000", "1/3", max_denominator=1000)),
    st.builds(um.GaussianDP, st.fractions("1/2", 3, max_denominator=20)),
    pairs,
)


@given(levels, st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_private_over_all_events(level, step):
    """For every move up to the step: the likeliest events in order of their likelihood ratio, which no event beats."""
    law = CanonicalLaw(level, step)
    k = np.arange(-law.wide - 2 * step, law.wide + 2 * step + 1)
    here = law.probability(k)
    assert here.sum() == approx(1, abs=1e-12)
    for move in range(1, step + 1):
        there = law.probability(k - move)
        order = np.argsort(np.where(there > 0, here / np.where(there > 0, there, 1), np.inf))
        least, most = np.cumsum(here[order]), np.cumsum(there[order])
        assert (most <= level.upper(np.clip(least, 0, 1)) + 1e-12).all()


@given(levels)
@settings(max_examples=40, deadline=None)
def test_tails_by_iteration(level):
    """T(1) = c with upper(c) = 1 - c, T(t + 1) = lower(T(t)): balls, floats and plain iteration agree."""
    law = CanonicalLaw(level)
    tail = level.even_share()[1]
    for t in range(1, 12):
        assert float(law.tail(t)) == approx(tail, abs=1e-12)
        assert float(law.enclose_tail(t, 128)) == approx(float(law.tail(t)), abs=1e-12)
        tail = level.lower(tail)


def best_noise_by_lp(level, cost, wide):
    """The least cost of noise on -wide..wide that keeps upper's lines for moves of one, over the raw inequalities."""
    size = 2 * wide + 1
    lines = level.lines()
    rows, limits = [], []
    extra = size + 1  # slots of max(0, .) for one line in one direction
    count = size + 2 * len(lines) * extra
    for d in (0, 1):
        for j, (slope, intercept) in enumerate(lines):
            start = size + (d * len(lines) + j) * extra
            for o in range(size + 1):
                row = np.zeros(count)
                here, there = (o, o - 1) if d == 0 else (o - 1, o)
                if 0 <= there < size:
                    row[there] = 1
                if 0 <= here < size:
                    row[here] = -slope
                row[start + o] = -1
                rows.append(row)
                limits.append(0.0)
            row = np.zeros(count)
            row[start : start + extra] = 1
            rows.append(row)
            limits.append(intercept)
    total = np.zeros((1, count))
    total[0, :size] = 1
    costs = np.concatenate([cost(np.abs(np.arange(-wide, wide + 1))), np.zeros(count - size)])
    found = linprog(costs, np.array(rows), limits, total, [1.0], bounds=(0, None))
    assert found.status == 0, found.message
    return found.fun


@given(
    st.one_of(
        st.builds(
            um.ApproxDP, st.fractions("1/2", 2, max_denominator=10), st.fractions("1/20", "1/4", max_denominator=40)
        ),
        st.builds(mirrored_pair, sizes, starts),
    ),
    st.sampled_from(["l1", "l2", "within 1", "within 0"]),
)
@settings(max_examples=25, deadline=None)
def test_no_noise_costs_less(level, cost):
    """The linear program over all noise on a window, privacy over all events by one line of `upper` at a time."""
    noise = um.noise.canonical(level, cost)
    wide = 14
    named = {"l1": lambda k: k, "l2": lambda k: k**2, "within 1": lambda k: k > 1, "within 0": lambda k: k > 0}
    least = best_noise_by_lp(level, lambda k: named[cost](k).astype(float), wide)
    beyond = float(noise.law.tail(wide + 1)) * 1e5
    assert noise.expected_cost <= least + 1e-7
    assert noise.expected_cost >= least - 1e-7 - beyond


@pytest.mark.parametrize(
    "level",
    [um.PureDP(1), um.ApproxDP("0.5", "0.01"), um.ApproxDP(0, "0.05"), um.GaussianDP("0.7"), mirrored_pair([1, 1])],
    ids=str,
)
def test_draws_follow_the_law(level):
    """Chi-square over all places that are likely enough."""
    law = CanonicalLaw(level)
    drawn = law.draw(100_000)
    k = np.arange(-law.wide, law.wide + 1)
    chances = law.probability(k)
    often = np.array([(drawn == place).sum() for place in k[chances > 1e-3]])
    shares = chances[chances > 1e-3]
    often, shares = np.append(often, 100_000 - often.sum()), np.append(shares, max(1 - shares.sum(), 0))
    keep = shares > 1e-4
    assert chisquare(often[keep], shares[keep] / shares[keep].sum() * often[keep].sum()).pvalue > 1e-6


@pytest.mark.parametrize("step", [7, 8])
@pytest.mark.parametrize("level", [um.ApproxDP(1, "0.01"), um.GaussianDP("0.4")], ids=str)
def test_means_by_summation(level, step):
    """Expected losses against sums over the law, place by place."""
    law = CanonicalLaw(level, step)
    k = np.arange(-law.wide - step, law.wide + step + 1)
    chances = law.probability(k)
    assert law.mean("absolute") == approx(chances @ np.abs(k), rel=1e-10)
    assert law.mean("squared") == approx(chances @ k**2, rel=1e-10)
    assert law.mean("within 3") == approx(chances @ (np.abs(k) > 3), rel=1e-10)


def test_means_of_wide_gaussians():
    """Wide ones by a closed form, against the sum over all tails."""
    law, t = CanonicalLaw(um.GaussianDP("1/2000")), np.arange(1, 40 * 2000)
    tails = 2 * ndtr(-(t - 0.5) / 2000)
    assert law.mean("absolute") == approx(tails.sum(), rel=1e-12)
    assert law.mean("squared") == approx(((2 * t - 1) * tails).sum(), rel=1e-12)
    assert CanonicalLaw(um.GaussianDP("1e-7")).mean("squared") == approx(1e14, rel=1e-12)


def test_moves_over_several_steps():
    """Group privacy in exact arithmetic: at the very threshold, and one part in 10^12 beyond it."""
    assert group_satisfies(um.GaussianDP("1/100"), 100, um.GaussianDP(1))
    assert not group_satisfies(um.GaussianDP("1/100"), 101, um.GaussianDP(1))
    assert group_satisfies(um.PureDP("1/7"), 7, um.PureDP(1))
    assert not group_satisfies(um.PureDP("1/7"), 8, um.PureDP(1))
    assert group_satisfies(um.PureDP("1/1000"), 1000, um.PureDP(1))
    assert not group_satisfies(um.PureDP(Fraction(1, 1000) + Fraction(1, 10**15)), 1000, um.PureDP(1))
    with ctx.workprec(200):
        times = (arb(1).exp() - 1) / ((arb(1) / 5).exp() - 1)
        share = Fraction(int((arb(10) ** 13 / times).floor().unique_fmpz()), 10**15)  # 1/100 in five steps
    assert group_satisfies(um.ApproxDP("1/5", share), 5, um.ApproxDP(1, "1/100"))
    assert not group_satisfies(um.ApproxDP("1/5", share + Fraction(1, 10**15)), 5, um.ApproxDP(1, "1/100"))
    assert not group_satisfies(um.GaussianDP("1/10"), 1, um.PureDP(5))
    assert not group_satisfies(um.PureDP(1), 2, um.ApproxDP(1, "0.1"))


@pytest.mark.parametrize("step", [2, 5])
def test_a_part_of_a_step_counts_as_a_step(step):
    """Moves of one step and a bit are two steps of noise: at the level of one they are not private."""
    once, twice = um.GaussianDP(1), um.GaussianDP(2)
    law, lines = CanonicalLaw(once, step), [Line(None, None, reach) for reach in range(1, 2 * step + 2)]
    proved = {line.reach: [law.prove(line, level).passed for level in (once, twice)] for line in lines}
    assert proved == {reach: [reach <= step, reach <= 2 * step] for reach in proved}


def test_half_width_and_release():
    """The least width that holds the confidence, by the law's own sums; releases are whole numbers."""
    noise = um.noise.canonical(um.GaussianDP("0.2"))
    n = noise.half_width(0.95)
    assert 2 * noise.tail(n + 1) <= 0.05 < 2 * noise.tail(n)
    assert isinstance(noise.release(10**30), int)
    assert noise.verify().optimal == "theorem"
    assert noise.simulate(1000, rng=1).shape == (1000,)


@pytest.mark.parametrize("level", [um.PureDP(0), um.GaussianDP(0), um.GaussianDP("inf"), um.PureDP("inf")], ids=str)
def test_levels_without_noise(level):
    """Nothing or everything is promised."""
    with pytest.raises(InvalidInput):
        um.noise.canonical(level)


def test_levels_that_are_not_concave():
    """They promise nothing about more than two outputs."""
    with pytest.raises(UnsupportedLevel, match="concave"):
        um.noise.canonical(um.SuitablePair.from_functions(lambda a: 0.5 - np.arctan(1 / np.tan(np.pi * a) - 1) / np.pi))
    with pytest.raises(InvalidInput, match="cost"):
        um.noise.canonical(1.0, cost="cubic")
