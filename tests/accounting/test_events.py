"""Exchange with dp_accounting: no accountant that takes an event counts less than our levels; and samples of rows."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

import utmost as um
from utmost.accounting import PoissonSampled
from utmost.accounting.events import add_to, from_event, to_event
from utmost.errors import InvalidInput, UnsupportedLevel, UtmostError

accounting = pytest.importorskip("dp_accounting")
dp_event = accounting.dp_event
pld = pytest.importorskip("dp_accounting.pld.pld_privacy_accountant")
rdp = pytest.importorskip("dp_accounting.rdp")
RELATIONS = accounting.NeighboringRelation
ACCOUNTANTS = [(kind, relation) for kind in (pld.PLDAccountant, rdp.RdpAccountant) for relation in RELATIONS]
COMPOSITIONS = {
    "pure": um.compose(1.5),
    "pure ratio": um.compose(um.PureDP.from_ratio(3)),
    "ten pure": um.compose("0.1", 10),
    "Gaussian": um.compose([um.GaussianDP("1/2"), um.GaussianDP("1/4")]),
    "mixed": um.compose([0.3, 0.3, um.GaussianDP(1)]),
    "zCDP": um.compose(um.ZCDP("0.1"), 3),
    "nothing": um.compose([0, um.GaussianDP(0), um.ZCDP(0)]),
}


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("name", COMPOSITIONS)
def test_no_accountant_counts_less(name, neighbours):
    """Whatever accountant takes the event: exported for REPLACE_SPECIAL, a pure 1.5 once counted 0.9012."""
    total, takers = COMPOSITIONS[name], 0
    try:
        event = to_event(total, neighbours)
    except UnsupportedLevel:
        assert neighbours == "replace"
        assert "pure" in name or name == "mixed"
        return
    for kind, relation in ACCOUNTANTS:
        accountant = kind(neighboring_relation=relation)
        if accountant.supports(event):
            accountant.compose(event)
            takers += 1
            for delta in (1e-3, 1e-6):
                assert accountant.get_epsilon(delta) >= total.epsilon_bounds(delta)[0] - 1e-9
    assert takers


@pytest.mark.parametrize("name", ["pure", "pure ratio", "ten pure", "Gaussian", "mixed"])
def test_the_same_neighbours_count_the_same(name):
    """Rows added or removed: discrete Laplace noise of sensitivity 1 is the worst pure mechanism."""
    accountant = pld.PLDAccountant(RELATIONS.ADD_OR_REMOVE_ONE)
    accountant.compose(to_event(COMPOSITIONS[name]))
    assert accountant.get_epsilon(1e-5) == pytest.approx(COMPOSITIONS[name].epsilon(1e-5), abs=2e-3)


@pytest.mark.parametrize("name", ["pure", "pure ratio", "ten pure"])
def test_replaced_rows_are_composed_in_the_accountant(name):
    """Its relation is compared; equal pure levels are added one by one, since PLDAccountant counts them once."""
    total = COMPOSITIONS[name]
    accountant = pld.PLDAccountant(RELATIONS.REPLACE_ONE)
    add_to(accountant, total, "replace")
    assert accountant.get_epsilon(1e-5) == pytest.approx(total.epsilon(1e-5), abs=2e-3)
    for relation in (RELATIONS.ADD_OR_REMOVE_ONE, RELATIONS.REPLACE_SPECIAL):
        with pytest.raises(InvalidInput, match="neighbouring relation"):
            add_to(pld.PLDAccountant(relation), total, "replace")
    with pytest.raises(InvalidInput, match="neighbouring relation"):
        add_to(pld.PLDAccountant(RELATIONS.REPLACE_ONE), total, "add-remove")
    with pytest.raises(UnsupportedLevel, match="too many"):
        add_to(pld.PLDAccountant(RELATIONS.REPLACE_ONE), um.compose(0.1, 10**6), "replace")


def test_there_and_back():
    """A composition as events and back; what no level describes, or not for these neighbours, is refused."""
    total = um.compose([um.GaussianDP("1/2"), um.GaussianDP("1/4")]) + um.compose(0.3, 2)
    assert from_event(to_event(total)).epsilon(1e-5) == pytest.approx(total.epsilon(1e-5), abs=1e-9)
    assert from_event(accounting.LaplaceDpEvent(2.0)).epsilon(0) == 0.5
    assert from_event(accounting.GaussianDpEvent(2.0), "replace").gaussian == 1
    coin = dp_event.RandomizedResponseDpEvent(2 / (1 + math.e), 2)
    assert from_event(coin, "replace").epsilon(0) == pytest.approx(1)
    for event, neighbours in [
        (coin, "add-remove"),
        (accounting.LaplaceDpEvent(2.0), "replace"),
        (dp_event.DiscreteLaplaceDpEvent(0.5, 1), "replace"),
        (accounting.PoissonSampledDpEvent(0.1, accounting.GaussianDpEvent(1.0)), "replace"),
        (accounting.SampledWithoutReplacementDpEvent(10, 2, accounting.GaussianDpEvent(1.0)), "replace"),
    ]:
        with pytest.raises(UnsupportedLevel, match="dp_accounting"):
            from_event(event, neighbours)
    with pytest.raises(UnsupportedLevel, match="no event"):
        to_event(um.compose(um.ApproxDP(1, 0.1)))
    with pytest.raises(InvalidInput, match="neighbours"):
        to_event(total, "REPLACE_ONE")


def test_sampled_events_come_and_go():
    """Poisson samples of Gaussian noise, composed by dp_accounting: the same numbers as its accountant gives."""
    event = accounting.SelfComposedDpEvent(accounting.PoissonSampledDpEvent(0.02, accounting.GaussianDpEvent(2.0)), 50)
    total = from_event(event)
    assert to_event(total) == event
    accountant = pld.PLDAccountant(RELATIONS.ADD_OR_REMOVE_ONE)
    accountant.compose(event)
    low, high = total.epsilon_bounds(1e-5)
    assert high == pytest.approx(accountant.get_epsilon(1e-5), abs=1e-6)
    assert 0 < low <= high < low * 1.2
    low, high = total.bounds(0.1)
    assert low <= high == pytest.approx(accountant.get_delta(0.1), rel=1e-6)
    more = total + um.compose([um.ApproxDP(0.1, 1e-7), um.GaussianDP(0.1)])
    assert more.epsilon(1e-5) > high
    assert more.bounds(math.inf)[0] == pytest.approx(1e-7)
    for other in (um.ZCDP(0.1), PoissonSampled(1, 0.5)):
        with pytest.raises(UnsupportedLevel, match="does not compose"):
            um.compose([PoissonSampled(um.GaussianDP(1), 0.1), other])


def pair(epsilon, delta, rate, removing):
    """The worst (epsilon, delta) pair on a sample, outcome by outcome: (P, Q) for four outcomes."""
    likely, rare = (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon)), (1 - delta) / (1 + math.exp(epsilon))
    one, other = np.array([delta, likely, rare, 0.0]), np.array([0.0, rare, likely, delta])
    return ((1 - rate) * other + rate * one, other) if removing else (one, (1 - rate) * one + rate * other)


@pytest.mark.parametrize("releases", [[(1.0, 0.0, 0.1)], [(1.0, 0.01, 0.3)] * 3, [(0.5, 0.1, 0.5), (2.0, 0.0, 1.0)]])
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.4, 1.2])
def test_samples_of_levels_are_exact(releases, epsilon):
    """All outcomes of all releases listed, for a row removed and for a row added."""
    total = um.compose([PoissonSampled(um.ApproxDP(e, d), q) for e, d, q in releases])
    truths = []
    for removing in (True, False):
        pairs = [pair(*release, removing) for release in releases]
        truth = 0.0
        for outcome in itertools.product(range(4), repeat=len(pairs)):
            p, q = (math.prod(both[side][at] for both, at in zip(pairs, outcome, strict=True)) for side in (0, 1))
            truth += max(0.0, p - math.exp(epsilon) * q)
        truths.append(truth)
    low, high = total.bounds(epsilon)
    assert low <= max(truths) + 1e-12
    assert high >= max(truths) - 1e-15
    assert high - low < 1e-9


def test_a_sample_of_all_is_the_level_and_of_none_is_nothing():
    """And equal samples are counted together."""
    assert um.compose(PoissonSampled(um.ApproxDP(1, 0.01), 1), 3).epsilon(0.05) == pytest.approx(
        um.compose(um.ApproxDP(1, 0.01), 3).epsilon(0.05), rel=1e-9
    )
    assert um.compose(PoissonSampled(um.GaussianDP(1), 0), 100).delta(0) == pytest.approx(0, abs=1e-9)
    total = um.compose([PoissonSampled(1, "0.1"), PoissonSampled(1, 0.1)])
    assert Counter(dict(total.releases)).total() == 2
    assert len(total.releases) == 1


@pytest.mark.parametrize("level", [um.ZCDP(1), "x", (1, 2)])
def test_what_cannot_be_sampled_is_refused(level):
    with pytest.raises(UtmostError):
        PoissonSampled(level, 0.1)


@pytest.mark.parametrize("rate", [-0.1, 1.5, math.nan, "half"])
def test_a_rate_is_a_probability(rate):
    with pytest.raises(InvalidInput, match="probability"):
        PoissonSampled(1, rate)
