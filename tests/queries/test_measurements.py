"""Our mechanisms inside OpenDP: the same draws, the same level, and chains with OpenDP's own."""

import math

import pyarrow
import pytest

import utmost as um
from utmost.errors import InvalidInput, UnsupportedLevel

dp = pytest.importorskip("opendp.prelude", reason="OpenDP is not installed (extra dev)")


def session(budget=10):
    table = pyarrow.table({"age": [70, 71] * 4, "town": ["a", "b"] * 4})
    return um.Session(table, "opendp", um.rows(at_most=100), "add-remove", budget=budget)


def test_a_count_of_opendp_may_come_before_it():
    majority = um.to_opendp(um.binary.balanced(um.counts(101), lambda yes: yes > 50, 1.0))
    count = dp.t.make_count(dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance())
    chain = count >> majority
    assert [chain.map(d) for d in (0, 1, 3)] == [0.0, 1.0, 3.0]
    assert {chain([1] * 100) for _ in range(20)} == {True}


def test_levels_are_rounded_up():
    """Never below the level that is proved: thirds, ratios, and delta over several steps."""
    third = um.to_opendp(session().plan.count("age > 70", "1/3"))
    assert third.map(1) >= 1 / 3
    assert third.map(1) == pytest.approx(1 / 3, rel=1e-15)
    ratio = um.to_opendp(um.binary.balanced(um.counts(5), lambda yes: yes > 2, um.PureDP.from_ratio(3)))
    assert math.log(3) <= ratio.map(1) < 1.09862
    epsilon, delta = um.to_opendp(um.finite.optimal(um.counts(5), um.ApproxDP(1, "1e-6"))).map(2)
    assert epsilon == 2
    assert (1 + math.e) * 1e-6 <= delta < (1 + math.e) * 1.000001e-6
    assert um.to_opendp(um.finite.optimal(um.counts(5), um.ApproxDP(1, "1e-6"))).map(0) == (0.0, 0.0)


def test_answers_of_every_kind_of_space():
    s = session()
    answer = s.histogram("town", ["a", "b"], 1)
    drawn = um.to_opendp(answer)((4, 4))
    assert len(drawn) == 2
    assert isinstance(um.to_opendp(s.count("age > 70", 1))(3), int)
    gaussian = um.to_opendp(session(um.ZCDP(1)).plan.count("age > 70", um.ZCDP(0.1)))
    assert gaussian.map(2) == pytest.approx(0.4)
    votes = um.hamming(3, 2)
    assert um.to_opendp(um.binary.balanced(votes, lambda v: sum(v) > 1, 20))((1, 1, 0)) is True


def test_gaussian_levels_are_concentrated():
    """mu^2/2 at one step and its square at more: never less than the exact loss, at any delta."""
    solution = um.binary.balanced(um.counts(5), lambda yes: yes > 2, um.GaussianDP("1/2"))
    measurement = um.to_opendp(solution)
    assert [measurement.map(steps) for steps in (0, 1, 2)] == [0.0, 0.125, 0.5]
    assert measurement(5) in (True, False)
    approximate = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(measurement), 1e-4)
    assert approximate.map(1)[0] >= um.compose(um.GaussianDP("1/2")).epsilon(1e-4)


def test_other_levels_imply_an_epsilon_and_a_delta():
    """The first side of the region: its height at 0 is the delta, its slope e^epsilon."""
    knots = um.SuitablePair([(0, "1/10"), ("3/10", "7/10"), ("9/10", 1), (1, 1)])
    measurement = um.to_opendp(um.binary.balanced(um.counts(5), lambda yes: yes > 2, knots))
    epsilon, delta = measurement.map(1)
    assert delta == 0.1
    assert math.log(2) <= epsilon < math.log(2) + 1e-6
    noisy = session(um.GaussianDP(2)).plan.count(privacy=um.GaussianDP(1))
    assert um.to_opendp(noisy).map(1) == 0.5


def test_answers_of_several_releases_are_drawn_together():
    """Means and selected keys by groups: the statistic goes in, the release comes out, for the whole level."""
    s = session(um.ApproxDP(10, 1e-5))
    for plan in (
        s.plan.quantile("age", 0.5, candidates=[69, 70, 71], privacy=2, by=um.keys(town=["a", "b"])),
        s.plan.mean("age", 60, 80, privacy=2),
        s.plan.variance("age", 60, 80, privacy=2),
        s.plan.count(privacy=um.ApproxDP(1, 1e-6), by=um.discover("town")),
    ):
        question = plan.question
        measurement = um.to_opendp(plan)
        point = question.point(s.source.execute(question.statement(s.source, b"s" * 32)))
        drawn = measurement(point)
        assert measurement.map(1) in (2.0, (1.0, pytest.approx(1e-6)))
        if isinstance(drawn, dict):
            question.require_released(drawn)


def test_what_opendp_cannot_say_is_refused():
    votes = um.hamming(2, 2)
    per_edge = um.per_edge(votes, {((0, 0), (0, 1)): 0.5}, default=1)
    with pytest.raises(UnsupportedLevel, match="one per edge"):
        um.to_opendp(um.binary.best_boundary(votes, lambda v: sum(v) > 0, per_edge))
    with pytest.raises(InvalidInput, match="give a solution"):
        um.to_opendp(3)
