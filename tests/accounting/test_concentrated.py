"""zCDP in compositions: bounds against other accountants, integration, and mechanisms of known rho, enumerated."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import norm

import utmost as um
from utmost.accounting import events, how_many, region, region_between
from utmost.accounting.concentrated import moment_delta, rho_of_pure
from utmost.accounting.filters import choose

ORDERS = 1 + np.geomspace(1e-3, 1e5, 100_001)


def gaussian_delta(mu, epsilon):
    return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon + norm.logcdf(-mu / 2 - epsilon / mu))


def renyi_of_response(epsilon, orders):
    """The Renyi divergence of randomised response, from its definition."""
    p = 1 / (1 + math.exp(-epsilon))
    logs = [orders * math.log(a) + (1 - orders) * math.log(b) for a, b in ((p, 1 - p), (1 - p, p))]
    return np.logaddexp(*logs) / (orders - 1)


def by_orders(divergences, epsilon):
    """Canonne, Kamath and Steinke's delta from Renyi divergences at the orders of a grid."""
    a = ORDERS
    return math.exp(min(0.0, ((a - 1) * (divergences - epsilon) + a * np.log1p(-1 / a) - np.log(a - 1)).min()))


def discrete_gaussian(sigma):
    """The discrete Gaussian on a window that leaves out less than 1e-40: its rho is 1/(2 sigma^2), moves of one."""
    at = np.arange(-math.ceil(14 * sigma) - 2, math.ceil(14 * sigma) + 3)
    law = np.exp(-(at.astype(float) ** 2) / (2 * sigma**2))
    return law / law.sum()


def test_known_conversions():
    """rho = 1/2 by moments, and mu = 1, which has that rho, by the exact curve: the two ends of what is possible."""
    low, high = um.compose(um.ZCDP(0.5)).epsilon_bounds(1e-6)
    assert (low, high) == pytest.approx((4.8865541175, 5.2215344445), abs=1e-10)
    assert um.compose(um.GaussianDP(1)).epsilon(1e-6) == pytest.approx(4.8865541175, abs=1e-10)
    assert um.ZCDP(0.5).epsilon(1e-6) == pytest.approx(high, rel=1e-12)


@given(
    rho=st.floats(1e-3, 3),
    pure=st.lists(st.sampled_from([0.1, 0.3, 1, 2]), max_size=4),
    mu=st.sampled_from([0, 0.3, 1]),
    epsilon=st.floats(0.5, 12),
)
@example(rho=0.5, pure=[], mu=0, epsilon=5.2215344445)
def test_mixed_totals_are_those_of_a_grid_of_orders(rho, pure, mu, epsilon):
    """Renyi divergences added up on a grid of orders and converted; the lower bound is a mixture of Gaussian curves."""
    total = um.compose([um.ZCDP(rho), *pure, um.GaussianDP(mu)])
    low, high = total.bounds(epsilon)
    divergences = ORDERS * (rho + mu**2 / 2) + sum((renyi_of_response(e, ORDERS) for e in pure), np.zeros(1))
    grid = by_orders(divergences, epsilon)
    assert high <= grid * (1 + 1e-9) + 1e-300  # the best order is as good as any of the grid, and near one of them
    assert math.log(high) == pytest.approx(math.log(grid), rel=1e-6, abs=1e-6) if high > 1e-300 else grid < 1e-299
    noise, losses = math.sqrt(2 * rho + mu**2), [(0.0, 1.0)]
    for e in pure:
        p = 1 / (1 + math.exp(-e))
        losses = [(x + s, w * q) for x, w in losses for s, q in ((e, p), (-e, 1 - p))]
    truth = sum(w * gaussian_delta(noise, epsilon - x) for x, w in losses)
    assert low == pytest.approx(truth, rel=1e-6, abs=1e-14)
    assert truth <= high * (1 + 1e-9) + 1e-14


@pytest.mark.parametrize("epsilon", [0.2, 1, 2.5, 4])
def test_a_mechanism_with_that_rho_is_never_worse_than_the_bound(epsilon):
    """Two discrete Gaussians, which are not Gaussian levels, then randomised response with a delta: by enumeration."""
    law, delta, e = discrete_gaussian(1.5), 1e-4, 0.7
    p, q = np.convolve(law, [1, 0]), np.convolve(law, [0, 1])
    assert logsumexp(2 * np.log(p[1:-1]) - np.log(q[1:-1])) <= 2 / (2 * 1.5**2) + 1e-12
    yes = 1 / (1 + math.exp(-e))
    here = np.einsum("i,j,k->ijk", p, p, [yes, 1 - yes])
    there = np.einsum("i,j,k->ijk", q, q, [1 - yes, yes])
    truth = 1 - (1 - delta) * (1 - np.maximum(0, here - math.exp(epsilon) * there).sum())
    total = um.compose([um.ZCDP("2/9")] * 2 + [um.ApproxDP(e, delta)])
    assert truth <= total.delta(epsilon) < 8 * truth
    assert total.count == 3


@pytest.mark.parametrize("rho", [1e-4, 0.02, 0.5, 4])
def test_dp_accounting_agrees(rho):
    """Google's Renyi accountant, on a fine grid of orders, converts by the same theorem and can only be worse."""
    rdp = pytest.importorskip("dp_accounting.rdp")
    accountant = rdp.RdpAccountant((1 + np.geomspace(1e-2, 1e4, 3000)).tolist())
    total = um.compose(um.ZCDP(rho), 7)
    accountant.compose(events.to_event(total))
    found = total.epsilon(1e-6)
    assert found * (1 - 1e-9) <= accountant.get_epsilon(1e-6) <= found * (1 + 1e-3)
    assert events.from_event(events.to_event(total)).epsilon(1e-6) == pytest.approx(found, rel=1e-12)


def test_the_same_number_at_every_scale():
    """Ten million releases, tiny and huge rhos, deltas beyond the floats: bounds in order, and no nonsense."""
    assert um.compose(um.ZCDP("5e-8"), 10**7).epsilon(1e-6) == pytest.approx(5.2215344445, abs=1e-9)
    for rho in ("1e-30", "1e-6", "50", "1e6", "1e200"):
        low, high = um.compose(um.ZCDP(rho)).epsilon_bounds("1e-9")
        assert 0 <= low <= high
        assert high <= float(rho) + 2 * math.sqrt(float(rho) * math.log(1e9)) + 1e-12 * float(rho)
    assert 0 < um.compose(um.ZCDP(0.5)).delta(1e5) < 1e-300
    assert um.compose(um.ZCDP(0)).epsilon(0) == 0
    assert um.compose(um.ZCDP(math.inf)).bounds(3) == (1, 1)
    assert um.compose(um.ZCDP(0.5)).epsilon(0) == math.inf


@settings(max_examples=30)
@given(st.fractions(0, 30, max_denominator=1000), st.floats(1e-3, 1e3))
def test_the_moments_of_pure_levels_are_below_those_of_their_rho(epsilon, order):
    """lambda (lambda + 1) epsilon tanh(epsilon/2) bounds log cosh((lambda + 1/2) epsilon) - log cosh(epsilon/2)."""
    rho, e = float(rho_of_pure(um.PureDP(epsilon))), float(epsilon)
    log_cosh = lambda x: np.logaddexp(x, -x) - math.log(2)  # noqa: E731
    moment = log_cosh((order + 0.5) * e) - log_cosh(e / 2)
    assert moment <= order * (order + 1) * rho * (1 + 1e-12) + 1e-12


def test_how_many_fit():
    """The count is the last whose bound stays within the total."""
    found = how_many(um.ZCDP("0.001"), um.ApproxDP(1, "1e-6"))
    assert by_orders(ORDERS * 0.001 * found, 1) <= 1e-6 < by_orders(ORDERS * 0.001 * (found + 1), 1)


def test_a_zcdp_budget_and_the_total_agree():
    """A filter's limit is the largest rho whose conversion stays within epsilon and half of delta."""
    rho = choose(um.ApproxDP(1, "2e-6"), "zcdp").limits[0].rational
    assert moment_delta(rho, [], Fraction(1)) <= 1e-6 < moment_delta(rho * 1001 / 1000, [], Fraction(1))


@pytest.mark.parametrize("rho", ["0.02", "0.5", "4.5"])
def test_the_region_holds_gaussian_and_discrete_gaussian_noise(rho):
    """Both have this rho; the region of a level with 0.6 of it does not hold the Gaussian one."""
    mu = math.sqrt(2 * float(rho))
    gaussian, whole = region(um.GaussianDP(mu * (1 - 1e-9))), region(um.ZCDP(rho))
    assert gaussian in whole
    assert gaussian not in region(um.ZCDP(0.6 * float(rho)))
    law = discrete_gaussian(1 / mu)
    rows = np.vstack([np.append(law, 0), np.append(0, law)])
    shifted = um.FiniteMechanism(rows[:, 1:-1] / rows[:, 1:-1].sum(axis=1, keepdims=True), [0, 1], range(len(law) - 1))
    assert region_between(shifted, 0, 1) in whole
    assert region(um.ZCDP(0)).total_variation == 0
