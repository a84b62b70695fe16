"""Gaussian privacy but for a delta: the best tests, the composition it is, and what a budget of it pays for."""

import math
from fractions import Fraction

import numpy as np
import pyarrow
import pytest
from flint import arb
from scipy.optimize import linprog
from scipy.stats import norm

import utmost as um
from utmost.accounting import filters
from utmost.errors import BudgetSpent, InvalidInput, UnsupportedLevel
from utmost.exact import ExpSum, endpoints
from utmost.privacy import ApproxGaussianDP
from utmost.privacy.level_text import read_level

LEVEL = ApproxGaussianDP("0.7", "0.02")


@pytest.mark.parametrize("alpha", [0.0, 0.001, 0.05, 0.4, 0.9, 0.979, 0.99])
def test_upper_is_the_power_of_the_best_test(alpha):
    """Told with delta which of two laws it is, else N(0, 1) or N(0.7, 1) in small cells: a linear program."""
    edges = np.concatenate([[-np.inf], np.linspace(-6, 7, 4000), [np.inf]])
    null, other = 0.98 * np.diff(norm.cdf(edges)), 0.98 * np.diff(norm.cdf(edges - 0.7))
    null, other = np.append(null, [0.02, 0]), np.append(other, [0, 0.02])
    best = linprog(-other, A_ub=null[None], b_ub=[alpha], bounds=(0, 1))
    assert LEVEL.upper(alpha) == pytest.approx(-best.fun, abs=3e-6)
    assert LEVEL.lower(1 - alpha) == pytest.approx(1 + best.fun, abs=3e-6)


@pytest.mark.parametrize("epsilon", [0, 0.3, 1, 3])
def test_its_deltas_are_those_of_the_composition(epsilon):
    """1 - (1 - delta)(1 - delta of the Gaussian), which its supporting lines have, too."""
    gaussian = norm.cdf(0.35 - epsilon / 0.7) - math.exp(epsilon) * norm.cdf(-0.35 - epsilon / 0.7)
    wanted = 1 - 0.98 * (1 - gaussian)
    assert um.compose(LEVEL).delta(epsilon) == pytest.approx(wanted, rel=1e-12)
    assert float(LEVEL.intercept(np.exp([epsilon]))[0]) == pytest.approx(wanted, rel=1e-12)
    twice = 1 - 0.98**2 * (1 - um.compose(um.GaussianDP("0.7"), times=2).delta(epsilon))
    assert um.compose(LEVEL, times=2).delta(epsilon) == pytest.approx(twice, rel=1e-12)


@pytest.mark.parametrize("alpha", ["1/1000", "1/2", "97/100"])
def test_floats_lie_in_the_balls_of_exact_arithmetic(alpha):
    low, high = endpoints(LEVEL.upper_exact(ExpSum.rational(Fraction(alpha))).enclose(200) + arb(0, 1e-14))
    assert low <= Fraction(LEVEL.upper(float(Fraction(alpha)))) <= high


def test_what_is_written_is_read():
    assert eval(repr(LEVEL), {"ApproxGaussianDP": ApproxGaussianDP}) == LEVEL == read_level("mu=0.7,0.02", "--privacy")
    assert str(LEVEL) == "0.7-Gaussian DP but for delta 0.02"
    for delta in (0, 1, -1, 2):
        with pytest.raises(InvalidInput, match=r"GaussianDP\(mu\)"):
            ApproxGaussianDP(1, delta)


# ---- a budget ----


def test_a_budget_adds_up_squares_and_deltas():
    """Gaussian, pure and (epsilon, delta) levels; no zCDP; and nothing beyond either limit."""
    account = um.Ledger(None).open("d", ApproxGaussianDP(1, "3e-6"), "rows, at most 9", "replace")
    assert account.filter.resources == ("mu²", "delta")
    account.reserve(ApproxGaussianDP("0.6", "1e-6"), "keys")
    account.reserve(um.GaussianDP("0.6"), "counts")
    account.reserve(um.ApproxDP("0.1", "2e-6"), "more keys")
    spent = 2 * Fraction(36, 100) + filters.gaussian_cost(um.PureDP("0.1"))
    assert [amount.rational for amount in account.spent.sums] == [spent, Fraction(3, 10**6)]
    for level in (ApproxGaussianDP("0.01", "1e-9"), um.GaussianDP("0.6")):
        with pytest.raises(BudgetSpent):
            account.reserve(level, "too much")
    with pytest.raises(UnsupportedLevel, match="zCDP"):
        account.reserve(um.ZCDP("0.01"), "concentrated")
    assert account.check()


@pytest.mark.parametrize("epsilon", [0, 0.5, 1, 2, 4])
def test_what_fits_the_budget_keeps_it(epsilon):
    """Exact composition of what its filter lets pass, at every epsilon: never more than the budget's own delta."""
    budget = ApproxGaussianDP(1, "0.03")
    levels = [ApproxGaussianDP("0.6", "0.01"), um.ApproxDP("0.3", "0.02"), um.GaussianDP("0.5")]
    filter = filters.choose(budget)
    assert filter.allows([filter.cost(level) for level in levels])
    assert um.compose(levels).delta(epsilon) <= um.compose(budget).delta(epsilon)


def test_other_budgets_pay_for_it_where_they_have_a_delta():
    """By its own (epsilon, delta), as approximate zCDP, or not at all."""
    level = ApproxGaussianDP(1, "1e-6")
    basic, concentrated = filters.choose(um.ApproxDP(8, "1e-5")), filters.choose(um.ApproxDP(8, "1e-5"), "zcdp")
    epsilon, delta = basic.cost(level)
    assert um.compose(level).delta(epsilon.rational) <= delta.rational
    assert float(delta) / float(epsilon) == pytest.approx(1e-5 / 8, rel=1e-3)
    assert [amount.rational for amount in concentrated.cost(level)] == [Fraction(1, 2), Fraction(1, 10**6)]
    for budget in (um.GaussianDP(2), um.ZCDP(2), um.PureDP(9)):
        with pytest.raises(UnsupportedLevel):
            filters.choose(budget).cost(level)


@pytest.mark.parametrize("name", ["count", "by keys", "sum", "plurality", "majority"])
def test_other_questions_refuse_it_or_keep_it(name):
    """Numbers have no noise for it and say so; choices are made by its upper function, and proved at it."""
    s = um.Session(pyarrow.table({"x": [1, 2]}), "d", um.rows(at_most=9), "replace", ApproxGaussianDP(9, "0.1"))
    level = ApproxGaussianDP(1, "0.01")
    ask = {
        "count": lambda: s.plan.count(None, level),
        "by keys": lambda: s.plan.count(None, level, by=um.keys(x=[1, 2])),
        "sum": lambda: s.plan.sum("x", 0, 2, level),
        "plurality": lambda: s.plan.plurality("x", [1, 2], level),
        "majority": lambda: s.plan.majority("x > 1", level),
    }[name]
    if name in ("plurality", "majority"):
        assert ask().question.solution.verify()
        return
    with pytest.raises(UnsupportedLevel):
        str(ask())
