"""Filters: exact sums, safe conversions, and why exact composition is no stop rule."""

import itertools
import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from scipy.stats import norm

import utmost as um
from utmost.accounting import filters
from utmost.errors import BudgetSpent, InvalidInput, UnsupportedLevel
from utmost.exact import GRAIN, Amount
from utmost.exact.arithmetic import MOST_DIGITS

ROW = ("rows, at most 500", "replace")


def strategy_delta(target):
    """The true delta of the adaptive strategy, by enumeration: 0.2, then 1.9 after the likely outcome, else 0.4 x 8."""
    pairs = []
    for first in (1, -1):
        follow = [1.9] if first == 1 else [0.4] * 8
        for signs in itertools.product((1, -1), repeat=len(follow)):
            losses = [first * 0.2, *(s * e for s, e in zip(signs, follow, strict=True))]
            pairs.append(
                (math.prod(1 / (1 + math.exp(-x)) for x in losses), math.prod(1 / (1 + math.exp(x)) for x in losses))
            )
    assert sum(p for p, _ in pairs) == pytest.approx(1)
    return sum(max(0.0, p - math.exp(target) * q) for p, q in pairs)


def test_exact_composition_is_no_stop_rule():
    """Target (2, 0.05): each branch passes exact composition, the strategy that chooses between them does not."""
    likely, unlikely = um.compose([0.2, 1.9]).delta(2), um.compose([0.2] + [0.4] * 8).delta(2)
    assert (likely, unlikely) == pytest.approx((0.0455, 0.0407), abs=1e-4)
    assert max(likely, unlikely) <= 0.05 < strategy_delta(2)
    assert strategy_delta(2) == pytest.approx(0.0574, abs=1e-4)


@pytest.mark.parametrize("name", ["basic", "zcdp"])
def test_a_ledger_refuses_that_strategy(name):
    """Both filters stop one of the branches, whatever the outcome suggests."""
    stopped = 0
    for follow in ([1.9], [0.4] * 8):
        account = um.Ledger(None).open("d", um.ApproxDP(2, 0.05), *ROW, filter=name)
        try:
            for level in (0.2, *follow):
                with account.reserve(level, {"level": level}) as entry:
                    entry.complete(0)
        except BudgetSpent:
            stopped += 1
    assert stopped == 2 if name == "zcdp" else stopped >= 1


def test_tiny_levels_cost_the_grain():
    """Rounded up to a multiple of 2^-80, whatever their digits."""
    for epsilon in ("1e-19", "1e-100", "1e-4000"):
        assert filters.gaussian_cost(um.PureDP(epsilon)) == Fraction(1, GRAIN)
    assert filters.gaussian_cost(um.PureDP.from_ratio(1 + Fraction(1, 10**100))) == Fraction(1, GRAIN)
    assert float(filters.gaussian_cost(um.PureDP("1e-9"))) == pytest.approx(math.pi / 2 * 1e-18, rel=1e-5)


def test_infinite_and_long_amounts():
    """Infinitely much fits into nothing finite; logarithms are exact up to their limit, and rounded up beyond."""
    endless, ten = Amount(math.inf), Amount(Fraction(10))
    assert [endless.fits(1, ten), ten.fits(1, endless), endless.fits(1, endless)] == [False, True, True]
    assert endless.fits(0, ten)
    once, count = Amount(Fraction(0), Fraction(3)), MOST_DIGITS // 2
    assert once.times(count) == Amount(Fraction(0), Fraction(3**count))
    beyond = once.times(count + 1)
    assert beyond.ratio == 1
    assert 0 <= beyond.rational - (count + 1) * Fraction(Decimal(3).ln(Context(prec=60))) < Fraction(2, GRAIN)


@given(st.integers(1, 5000).map(lambda n: Fraction(n, 250)))
def test_the_gaussian_cost_covers_the_region(epsilon):
    """mu from the corner: the Gaussian curve lies below that of epsilon-DP everywhere, and touches it at the corner."""
    square = filters.gaussian_cost(um.PureDP(epsilon))
    mu = math.sqrt(square)
    assert mu == pytest.approx(-2 * norm.ppf(1 / (1 + math.exp(float(epsilon)))), rel=1e-6)
    alphas = np.linspace(0, 1, 301)
    assert (um.GaussianDP(mu * (1 + 1e-9)).upper(alphas) >= um.PureDP(epsilon).upper(alphas) - 1e-12).all()
    assert (square * GRAIN).denominator == 1


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (0.1, 1e-9), (10, 1e-5), (3, 0.1)])
def test_rho_is_within_and_near_the_best(epsilon, delta):
    """The bound at the best lambda, maximised by another road; and the true Gaussian delta at that rho is below."""
    rho = float(filters.rho_within(Fraction(str(epsilon)), Fraction(str(delta))))

    def log_delta(log_x):
        x = math.exp(log_x)
        return x * ((x + 1) * rho - epsilon) + x * log_x - (x + 1) * math.log1p(x)

    best = minimize_scalar(log_delta, bounds=(-10, 30), method="bounded").fun
    assert best == pytest.approx(math.log(delta), abs=1e-5)
    mu = math.sqrt(2 * rho)
    assert um.compose(um.GaussianDP(mu)).delta(epsilon) < delta
    assert rho > epsilon + 2 * math.log(1 / delta) - 2 * math.sqrt(
        math.log(1 / delta) * (epsilon + math.log(1 / delta))
    )


@given(st.integers(1, 3000).map(lambda n: Fraction(n, 1000)), st.floats(1.0001, 60))
def test_pure_levels_cost_the_least_rho(epsilon, order):
    """Randomised response, the worst of them, has Renyi divergence at most order times rho; order 1 attains it."""
    e = float(epsilon)
    p = 1 / (1 + math.exp(-e))
    logs = [order * math.log(a) + (1 - order) * math.log(b) for a, b in ((p, 1 - p), (1 - p, p))]
    divergence = np.logaddexp(*logs) / (order - 1)
    (rho,) = filters.choose(um.ZCDP(1)).cost(um.PureDP(epsilon))
    assert divergence <= order * float(rho.rational) + 1e-12
    assert float(rho) == pytest.approx((2 * p - 1) * math.log(p / (1 - p)), rel=1e-12)
    assert rho.rational <= epsilon**2 / 2


def test_costs_and_limits_by_kind():
    """What each filter charges, exactly."""
    pure = filters.choose(2)
    assert pure.limits == (Amount(Fraction(2)),)
    basic = filters.choose(um.ApproxDP(2, 1e-5))
    assert basic.cost(um.ApproxDP("0.5", "1e-6")) == (Amount(Fraction(1, 2)), Amount(Fraction(1, 10**6)))
    zcdp = filters.choose(um.ApproxDP(2, 1e-5), "zcdp")
    assert zcdp.limits[1] == Amount(Fraction(5, 10**6))
    assert zcdp.cost(um.GaussianDP("0.1"))[0] == Amount(Fraction(1, 200))
    rho, delta = zcdp.cost(um.ApproxDP("0.1", "1e-7"))
    assert (float(rho), delta) == (pytest.approx(0.1 * math.tanh(0.05), rel=1e-15), Amount(Fraction(1, 10**7)))
    assert zcdp.cost(um.ZCDP("0.01")) == (Amount(Fraction(1, 100)), Amount(Fraction(0)))
    concentrated = filters.choose(um.ZCDP("0.5"))
    assert concentrated.limits == (Amount(Fraction(1, 2)),)
    assert concentrated.cost(um.GaussianDP("0.1")) == (Amount(Fraction(1, 200)),)
    assert concentrated.batch_cost([(um.ZCDP("0.1"), 3), (um.GaussianDP(1), 2)]) == (Amount(Fraction(13, 10)),)
    gaussian = filters.choose(um.GaussianDP("0.5"))
    assert gaussian.limits == (Amount(Fraction(1, 4)),)
    assert gaussian.cost(0) == (Amount(Fraction(0)),)
    with pytest.raises(UnsupportedLevel, match="no mu covers"):
        gaussian.cost(um.ApproxDP(0.1, 0.1))
    with pytest.raises(InvalidInput, match="'basic' or 'zcdp'"):
        filters.choose(um.ApproxDP(1, 0.1), "gaussian")
    assert not gaussian.allows([gaussian.cost(math.inf)])
    for one in (
        pure,
        basic,
        zcdp,
        concentrated,
        gaussian,
        filters.choose(um.PureDP.from_ratio(2)),
        filters.choose(math.inf),
    ):
        assert filters.Filter.from_json(one.to_json()) == one
    assert filters.choose(math.inf).allows([filters.choose(math.inf).cost(math.inf)])
    ratio = filters.choose(um.ApproxDP.from_ratio(2, "1e-5"), "zcdp")
    assert float(ratio.cost(um.PureDP.from_ratio(2))[0]) == pytest.approx(math.log(2) / 3)
    assert float(gaussian.cost(600)[0]) == pytest.approx(4800)
    assert float(gaussian.cost(600)[0]) > float(gaussian.cost(499)[0])


@pytest.mark.parametrize(
    ("budget", "level", "words"),
    [
        (1, um.ApproxDP(0.1, 1e-9), "pure levels only"),
        (1, um.GaussianDP(0.1), "pure levels only"),
        (1, um.ZCDP(0.1), "pure levels only"),
        (um.ZCDP(1), um.ApproxDP(0.1, 1e-9), "no rho covers a delta above 0"),
        (um.GaussianDP(1), um.ApproxDP(0.1, 1e-9), "no mu covers a delta above 0"),
        (um.GaussianDP(1), um.ZCDP(0.1), "in a budget of ZCDP or ApproxDP only"),
        (um.ApproxDP(1, 1e-6), um.SuitablePair([(0, 0.1), (0.9, 1), (1, 1)]), "cannot pay for"),
    ],
)
def test_what_a_budget_cannot_pay_is_said_in_words(budget, level, words):
    account = um.Ledger(None).open("d", budget, *ROW)
    with pytest.raises(UnsupportedLevel, match=words):
        account.reserve(level, "q")
    assert account.entries() == []


def gaussian_delta(mu, epsilon):
    """Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), in floating point."""
    return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon + norm.logcdf(-mu / 2 - epsilon / mu))


def concentrated_delta(rho, epsilon):
    """The bound of Canonne, Kamath and Steinke on a grid of orders."""
    a = 1 + np.geomspace(1e-3, 1e5, 200_001)
    return math.exp(((a - 1) * (a * rho - epsilon) + a * np.log1p(-1 / a) - np.log(a - 1)).min())


@pytest.mark.parametrize(
    "budget", [um.ApproxDP(1, 1e-6), um.ApproxDP(8, 1e-9), um.ApproxDP.from_ratio(2, 1e-3)], ids=str
)
@pytest.mark.parametrize(
    ("level", "curve"),
    [
        (um.GaussianDP(0.05), lambda e: gaussian_delta(0.05, e)),
        (um.ZCDP(0.002), lambda e: concentrated_delta(0.002, e)),
        (um.GaussianDP(9), lambda e: gaussian_delta(9, e)),
    ],
    ids=["gaussian", "zcdp", "too much"],
)
def test_curved_levels_take_the_same_share_of_epsilon_and_delta(budget, level, curve):
    """The level implies the charge, which takes one share of both limits; a share 0.001 % smaller is not implied."""
    basic = filters.choose(budget)
    epsilon, delta = map(float, basic.cost(level))
    share = epsilon / float(basic.limits[0])
    assert delta == pytest.approx(min(1, share * float(basic.limits[1])), rel=1e-9)
    assert curve(epsilon) <= delta * (1 + 1e-9)
    assert delta == 1 or curve(epsilon * (1 - 1e-5)) > delta * (1 - 1e-5)
    assert basic.allows([basic.cost(level)]) == (share <= 1)


def test_curved_levels_of_a_batch_are_composed_before_they_are_counted():
    """A hundred Gaussian levels of mu are one of 10 mu, which costs far less than a hundred times one of them."""
    basic = filters.choose(um.ApproxDP(1, 1e-6))
    together = basic.batch_cost([(um.GaussianDP("0.01"), 100), (um.PureDP("0.1"), 2)])
    alone = basic.cost(um.GaussianDP("0.1"))
    assert float(together[0]) == pytest.approx(float(alone[0]) + 0.2, rel=1e-9)
    assert float(basic.cost(um.GaussianDP("0.01"))[0]) * 100 > 5 * float(alone[0])
    epsilon, delta = basic.batch_cost([(um.ZCDP("0.001"), 2), (um.GaussianDP("0.1"), 1)], "1e-7")
    assert concentrated_delta(0.007, float(epsilon)) == pytest.approx(1e-7, rel=1e-6)
    assert delta == Amount(Fraction(1, 10**7))


def test_a_charge_that_the_level_does_not_imply_is_found():
    """Whatever share of epsilon and delta it is: the check asks whether the level implies it."""
    basic, level = filters.choose(um.ApproxDP(1, 1e-6)), um.GaussianDP("0.1")
    epsilon, delta = basic.cost(level)
    assert basic.pays(level, (epsilon, delta))
    assert basic.pays(level, (Amount(epsilon.rational * 2), Amount(delta.rational / 10**4)))
    assert not basic.pays(level, (Amount(epsilon.rational * Fraction(99999, 100000)), delta))
    assert not basic.pays(level, (epsilon, Amount(Fraction(0))))
    assert basic.pays(level, (Amount(math.inf), Amount(Fraction(0))))
    account = um.Ledger(None).open("d", um.ApproxDP(1, 1e-6), *ROW)
    for one in (level, um.ZCDP(0.001), 0.1, um.ApproxDP(0.1, 1e-7)):
        account.ask(one, {"at": str(one)}, lambda: 1)
    assert account.check()


SOME = [*(um.PureDP(Fraction(n, 10)) for n in (1, 3, 5, 8)), *(um.GaussianDP(Fraction(n, 10)) for n in (1, 4, 7))]
BUDGETS = {
    "pure": (um.PureDP(1), SOME[:4]),
    "basic": (um.ApproxDP(2, 1e-5), [*SOME, um.ZCDP("0.02"), um.ApproxDP("0.2", "1e-6")]),
    "zcdp": (um.ApproxDP(2, 1e-5), [*SOME, um.ZCDP("0.02"), um.ApproxDP("0.2", "1e-6")]),
    "concentrated": (um.ZCDP("0.5"), [*SOME, um.ZCDP("0.02"), um.ZCDP("1/3")]),
    "gaussian": (um.GaussianDP(1), SOME),
}


@pytest.mark.parametrize("name", BUDGETS)
@given(order=st.lists(st.integers(0, 8), min_size=1, max_size=30))
def test_random_spends_never_exceed_the_budget(name, order):
    """What the ledger let through is, all together, within the budget by `compose` or by sums made here."""
    budget, levels = BUDGETS[name]
    account = um.Ledger(None).open("d", budget, *ROW, filter=name)
    spent = []
    for number, at in enumerate(order):
        level = levels[at % len(levels)]
        allowed = account.left.allows(level)
        try:
            account.reserve(level, {"number": number})
        except BudgetSpent:
            assert not allowed
        else:
            assert allowed
            spent.append(level)
    if name == "pure":
        assert sum(level.epsilon for level in spent) <= 1
    elif name == "concentrated":
        assert sum(map(rho_of, spent)) <= 0.5 + 1e-12
    elif name == "gaussian":
        assert sum(map(squared_mu_of, spent)) <= 1 + 1e-12
    else:
        assert um.compose(spent).delta(2) <= 1e-5
    assert account.check()


def rho_of(level):
    """The rho of a level, in floating point."""
    if isinstance(level, um.PureDP):
        return float(level.epsilon) * math.tanh(float(level.epsilon) / 2)
    return float(level.rho) if isinstance(level, um.ZCDP) else float(level.mu) ** 2 / 2


def squared_mu_of(level):
    if isinstance(level, um.GaussianDP):
        return float(level.mu) ** 2
    return (2 * norm.ppf(1 / (1 + math.exp(-float(level.epsilon))))) ** 2


@pytest.mark.parametrize("name", ["pure", "basic", "zcdp", "concentrated", "gaussian"])
@settings(max_examples=20)
@given(seed=st.integers(0, 10**9))
def test_filters_hold_for_levels_chosen_on_the_way(name, seed):
    """Random trees of randomised responses, each level chosen after the answers so far as the filter allows it.

    The two distributions over the leaves, by enumeration, keep the budget: Renyi divergences of a zCDP budget, deltas
    of the others, in both directions.
    """
    budget = BUDGETS[name][0]
    chosen, rng = filters.choose(budget, name), np.random.default_rng(seed)
    leaves = []

    def grow(here, there, spent, depth):
        fitting = [e for e in LEVELS if chosen.allows([spent, chosen.cost(e)])] if depth < 6 else []
        if not fitting:
            leaves.append((here, there))
            return
        level = fitting[rng.integers(len(fitting))]
        true = 1 / (1 + math.exp(-float(level.epsilon)))
        after = chosen.total([spent, chosen.cost(level)])
        grow(here * true, there * (1 - true), after, depth + 1)
        grow(here * (1 - true), there * true, after, depth + 1)

    grow(1.0, 1.0, chosen.total([]), 0)
    for p, q in (np.array(leaves).T, np.array(leaves).T[::-1]):
        assert p.sum() == pytest.approx(1)
        if name == "concentrated":
            for order in (1.01, 1.5, 2, 5, 20, 100):
                divergence = logsumexp(order * np.log(p) + (1 - order) * np.log(q)) / (order - 1)
                assert divergence <= order * float(budget.rho) + 1e-10
            continue
        for epsilon in (0, 0.1, 0.5, 1, 1.5, 2, 3):
            delta = np.maximum(0, p - math.exp(epsilon) * q).sum()
            if name == "gaussian":
                assert delta <= gaussian_delta(1, epsilon) + 1e-12
            elif epsilon >= budget.epsilon:
                assert delta <= float(budget.delta) + 1e-12


LEVELS = [um.PureDP(Fraction(n, 20)) for n in (1, 3, 6, 10, 16, 20)]


def test_a_batch_costs_its_exact_composition():
    """One entry, the epsilon of the whole at its delta; it fits where the sum would not."""
    account = um.Ledger(None).open("d", um.ApproxDP(3, 1e-5), *ROW)
    levels = [0.05] * 60 + [um.ApproxDP(0.04, 1e-9)] * 40
    with account.reserve_batch(levels, {"batch": 1}, delta=1e-6) as entry:
        entry.complete({"answers": [1, 2]})
    (entry,) = account.entries()
    charged = float(entry.cost["epsilon"])
    total = um.compose([0.05], 60) + um.compose(um.ApproxDP(0.04, 1e-9), 40)
    assert total.delta(charged) <= 1e-6
    assert charged == pytest.approx(total.epsilon(1e-6))
    assert charged < 2.5 < sum(float(um.privacy.as_level(level).epsilon) for level in levels)
    assert (entry.state, len(entry.level), entry.cost["delta"]) == ("done", 100, Amount(Fraction(1, 10**6)))
    with pytest.raises(BudgetSpent, match="100 levels"), account.reserve_batch(levels, {"batch": 2}, delta=1e-6):
        raise AssertionError
    with pytest.raises(InvalidInput, match="at least one"), account.reserve_batch([], "q"):
        raise AssertionError


def test_batches_of_other_budgets_add_up():
    """Pure, Gaussian and zCDP budgets charge sums, and take no delta."""
    pure = um.Ledger(None).open("d", 1, *ROW)
    with pure.reserve_batch([0.1] * 10, "q") as entry:
        entry.complete(1)
    assert not pure.left.allows("1e-9")
    gaussian = um.Ledger(None).open("d", um.GaussianDP(1), *ROW)
    with gaussian.reserve_batch([um.GaussianDP("0.1")] * 100, "q") as entry:
        entry.complete(1)
    assert gaussian.spent.amounts()["mu²"].rational == 1
    with pytest.raises(InvalidInput, match="leave delta out"), gaussian.reserve_batch([0.1], "q", delta=1e-6):
        raise AssertionError


def test_a_schedule_has_so_many_slots_and_survives_a_restart(tmp_path):
    """Charged once; each slot is used before its answer; none is used twice; it can be taken up again later."""
    path = tmp_path / "budget.db"
    account = um.Ledger(path).open("d", um.ApproxDP(3, 1e-5), *ROW)
    schedule = account.reserve_schedule(0.2, 3, {"plan": "explore"}, delta=1e-6)
    spent = account.spent.sums
    with schedule.slot({"ask": 1}) as entry:
        entry.complete({"answer": 1})
    with pytest.raises(RuntimeError), schedule.slot({"ask": 2}):
        raise RuntimeError  # used although no answer was recorded
    again = um.Ledger(path).account("d").schedule(schedule.number)
    assert again.left == 1
    with again.slot({"ask": 3}) as entry:
        entry.complete({"answer": 3})
    with pytest.raises(BudgetSpent, match="all 3 slots"), schedule.slot({"ask": 4}):
        raise AssertionError
    assert account.spent.sums == spent
    assert again.entry.used == (({"ask": 1}, {"answer": 1}), ({"ask": 2}, None), ({"ask": 3}, {"answer": 3}))
    found = account.find({"ask": 3})
    assert (found.answer, found.question) == ({"answer": 3}, {"ask": 3})
    assert account.find({"ask": 2}) is None
    assert account.check()
    with account.reserve(0.01, "q") as entry:
        entry.complete(0)
    with pytest.raises(InvalidInput, match="not a schedule"):
        account.schedule(2)
    with pytest.raises(InvalidInput, match="no entry 9"):
        account.schedule(9)
    with pytest.raises(InvalidInput, match="slots is 0"):
        account.reserve_schedule(0.1, 0, "q")


def test_amounts_compare_exactly():
    """Logarithms of rationals and rationals in one order, decided."""
    ln2 = Amount(Fraction(0), Fraction(2))
    near = Fraction(6931471805599453094172321214581765680755, 10**40)
    assert Amount(near) <= ln2
    assert not ln2 <= Amount(near)
    assert ln2 <= Amount(near + Fraction(1, 10**40))
    assert Amount(math.inf) <= Amount(math.inf)
    assert not Amount(math.inf) <= Amount(Fraction(1))
    assert Amount.from_json(ln2.to_json()) == ln2
    assert ln2.times(3) == Amount(Fraction(0), Fraction(8))
    assert str(Amount(Fraction(1, 3))) in ("1/3", "0.333333")
