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


def test_what_opendp_cannot_say_is_refused():
    with pytest.raises(UnsupportedLevel, match="no measure"):
        um.to_opendp(um.binary.balanced(um.counts(5), lambda yes: yes > 2, um.GaussianDP(1)))
    votes = um.hamming(2, 2)
    per_edge = um.per_edge(votes, {((0, 0), (0, 1)): 0.5}, default=1)
    with pytest.raises(UnsupportedLevel, match="one per edge"):
        um.to_opendp(um.binary.best_boundary(votes, lambda v: sum(v) > 0, per_edge))
    with pytest.raises(InvalidInput, match="give a solution"):
        um.to_opendp(3)
