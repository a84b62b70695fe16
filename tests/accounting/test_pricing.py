"""The cheapest accounting of a batch, against sums, convolutions and normal curves computed here."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm

import utmost as um
from utmost.accounting import Price, cheapest
from utmost.errors import InvalidInput, UnsupportedLevel

ROW = ("rows, at most 500", "replace")


def targets(seed, count=50):
    """Wanted half widths at 95 %, and the levels that reach them: geometric, discrete and rounded Gaussian noise."""
    sizes = np.random.default_rng(seed).integers(5, 200, count)
    epsilons = [brentq(lambda e, t=t: 2 * math.exp(-e * (t + 1)) / (1 + math.exp(-e)) - 0.05, 1e-6, 5) for t in sizes]
    sigmas = (sizes + 0.5) / norm.ppf(0.975)
    return [
        (um.PureDP(Fraction(math.ceil(e * 10**4), 10**4)), um.GaussianDP(f"{1 / s:.6f}"), um.ZCDP(f"{0.5 / s**2:.8f}"))
        for e, s in zip(epsilons, sigmas, strict=True)
    ]


def exact_epsilon(epsilons, delta):
    """Exact composition of randomised responses whose epsilons are multiples of 1e-4: a convolution, then bisection."""
    whole = [round(float(e) * 10**4) for e in epsilons]
    law = np.ones(1)
    for e in whole:
        p = 1 / (1 + math.exp(-e / 10**4))
        wide = np.zeros(len(law) + 2 * e)
        wide[: len(law)] += (1 - p) * law
        wide[2 * e :] += p * law
        law = wide
    losses = (np.arange(len(law)) - sum(whole)) / 10**4
    return brentq(lambda e: (law * np.maximum(0, -np.expm1(e - losses))).sum() - delta, 0, sum(whole) / 10**4)


def gaussian_epsilon(mu, delta):
    return brentq(
        lambda e: norm.cdf(mu / 2 - e / mu) - math.exp(e + norm.logcdf(-mu / 2 - e / mu)) - delta, 0, 100, xtol=1e-14
    )


def concentrated_epsilon(rho, delta):
    a = 1 + np.geomspace(1e-2, 1e4, 200_001)
    return (a * rho + np.log1p(-1 / a) - (math.log(delta) + np.log(a)) / (a - 1)).min()


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("delta", [1e-6, 1e-9])
def test_fifty_questions_under_every_accounting(seed, delta):
    """Each accounting alone agrees with its own computation; together the least of them is taken, and is charged."""
    asked, budget = targets(seed), um.ApproxDP(8, delta)
    pure, gaussian, concentrated = zip(*asked, strict=True)
    price = cheapest(asked, budget)
    truth = {
        "sum": float(sum(level.epsilon for level in pure)),
        "exact": exact_epsilon([level.epsilon for level in pure], delta),
        "gaussian": gaussian_epsilon(math.sqrt(sum(level.mu**2 for level in gaussian)), delta),
        "zcdp": concentrated_epsilon(float(sum(level.rho for level in concentrated)), delta),
    }
    for name, levels in (("exact", pure), ("gaussian", gaussian), ("zcdp", concentrated)):
        alone = cheapest(levels, budget)
        assert alone.compared[name if name == "exact" else alone.accounting] == pytest.approx(truth[name], rel=1e-6)
    assert price.accounting == min(truth, key=truth.get)
    assert float(price.cost["epsilon"]) == pytest.approx(min(truth.values()), rel=1e-6)
    assert price.compared["sum"] == pytest.approx(truth["sum"])
    account = um.Ledger(None).open("d", budget, *ROW)
    account.reserve_batch(price.levels, "all", price.delta)
    assert account.spent.amounts() == price.cost
    assert price.fits


def test_the_budget_decides_which_noise_is_taken():
    """Pure budgets want the epsilon, zCDP budgets the rho, Gaussian budgets the mu: sums, exactly."""
    asked = [("0.1", um.GaussianDP("0.05"), um.ZCDP("0.001"))] * 10
    found = {str(budget): cheapest(asked, budget) for budget in (um.PureDP(1), um.ZCDP("0.01"), um.GaussianDP("0.2"))}
    costs = [(p.accounting, set(p.levels), [a.rational for a in p.cost.values()], p.fits) for p in found.values()]
    assert costs == [
        ("sum", {um.PureDP("0.1")}, [Fraction(1)], True),
        ("zcdp", {um.ZCDP("0.001")}, [Fraction(1, 100)], True),
        ("gaussian", {um.GaussianDP("0.05")}, [Fraction(1, 40)], True),
    ]
    assert not cheapest(asked, um.GaussianDP("0.15")).fits
    account = um.Ledger(None).open("d", um.ApproxDP(2, "1e-6"), *ROW, filter="zcdp")
    price = cheapest(asked, account.filter)
    assert (price.accounting, price.delta) == ("zcdp", None)
    account.reserve_batch(price.levels, "all", price.delta)
    assert account.spent.amounts() == price.cost


levels = st.sampled_from(
    [um.PureDP("0.05"), um.PureDP("0.3"), um.GaussianDP("0.1"), um.ZCDP("0.002"), um.ApproxDP("0.1", "1e-8")]
)


@settings(max_examples=40)
@given(st.lists(st.lists(levels, min_size=1, max_size=3), min_size=1, max_size=6), st.sampled_from(["1e-6", "1e-3"]))
def test_the_price_is_charged_and_is_no_more_than_any_simple_choice(asked, delta):
    """Levels are those that were offered, the first alternatives' composition costs no less, the ledger charges it."""
    budget = um.ApproxDP(50, delta)
    price = cheapest(asked, budget)
    assert all(level in choices for level, choices in zip(price.levels, asked, strict=True))
    assert isinstance(price, Price)
    account = um.Ledger(None).open("d", budget, *ROW)
    account.reserve_batch(price.levels, "all", price.delta)
    assert account.spent.amounts() == price.cost
    only = [choices[:1] for choices in asked]
    alone = cheapest(only, budget)
    saving = 0.99 if alone.accounting == "sum" else 1  # which leaves all of delta
    assert float(alone.cost["epsilon"]) * saving <= um.compose([c[0] for c in asked]).epsilon(delta) * (1 + 1e-9)
    assert um.compose(price.levels).delta(float(price.cost["epsilon"])) <= float(Fraction(delta)) * (1 + 1e-9)


def test_few_levels_are_cheapest_by_their_sum():
    """It needs no delta; the words name the others."""
    price = cheapest([0.2, 0.3], um.ApproxDP(1, 1e-6))
    assert (price.accounting, price.delta, float(price.cost["delta"])) == ("sum", None, 0)
    assert str(price).startswith("epsilon 0.5, delta 0 (sum")
    assert cheapest([], um.ApproxDP(1, 1e-6)).fits
    assert float(cheapest([], 1).cost["epsilon"]) == 0


def test_what_cannot_be_priced_is_said():
    with pytest.raises(UnsupportedLevel, match="no rho covers"):
        cheapest([0.1, um.ApproxDP(0.1, 0.1)], um.ZCDP(1))
    with pytest.raises(InvalidInput, match="leave delta out"):
        cheapest([0.1], 1, delta=1e-6)
    with pytest.raises(InvalidInput, match="at least one"):
        cheapest([0.1, []], 1)
    with pytest.raises(InvalidInput, match="list of alternatives"):
        cheapest([{0.1: 1}], 1)
    assert cheapest([(um.ApproxDP(0.1, 0.1), 0.3)], um.ZCDP(1)).levels == (um.PureDP(0.3),)
