"""Means are planned for the rows they are expected to be of."""

from __future__ import annotations

import numpy as np
import pyarrow
import pytest

import utmost as um
from utmost.errors import InvalidInput

BY = um.keys(g=["a", "b"])


@pytest.fixture
def session():
    rng = np.random.default_rng(1)
    table = pyarrow.table({"x": rng.random(5050), "g": ["a"] * 5000 + ["b"] * 50})
    return um.Session(table, "skewed", um.rows(at_most=20_000), "add-remove", budget=1000)


def test_planned_errors_are_those_measured(session):
    for rows in (200, 5000):
        plan = session.plan.mean("x", 0, 1, privacy=1, expected_rows=rows)
        question = plan.question
        point = (rows * question.statistic.weight // 2, rows * question.statistic.weight // 2)
        errors = [abs(question.value(question.draw(point)) - 0.5) for _ in range(1500)]
        assert np.mean(errors) == pytest.approx(plan.before.least, rel=0.1)  # the middle errs least
        assert plan.before.least < 0.8 * plan.before.average


def test_a_mapping_gives_the_average_over_groups(session):
    one = session.plan.mean("x", 0, 1, privacy=1, by=BY, expected_rows=100).before.average
    two = session.plan.mean("x", 0, 1, privacy=1, by=BY, expected_rows=50).before.average
    both = session.plan.mean("x", 0, 1, privacy=1, by=BY, expected_rows={"a": 100, "b": 50}).before.average
    assert both == pytest.approx((one + two) / 2)


def test_targets_need_expected_rows_and_meet_them(session):
    with pytest.raises(InvalidInput, match="expected_rows"):
        session.allot({session.plan.mean("x", 0, 1, privacy=1): (0.01, None)})
    plan = session.plan.mean("x", 0, 1, privacy=1, by=BY, expected_rows=50)
    found = session.allot({plan: (0.05, None)}).plans[0]
    assert 0.04 < found.before.average <= 0.05
    assert not list(session.account.entries())


@pytest.mark.parametrize("rows", [0, -5, float("nan"), {"a": 100}, {"a": 100, "b": 0}, {"a": 1, "b": 1, "B": 1}])
def test_what_is_no_number_of_rows_is_refused(session, rows):
    with pytest.raises(InvalidInput, match="expected_rows"):
        session.mean("x", 0, 1, privacy=1, by=BY, expected_rows=rows)
    assert not list(session.account.entries())


def test_the_curve_falls_like_one_over_the_rows(session):
    curve = session.plan.mean("x", 0, 1, privacy=1).question.curve
    rows, errors = (np.array(column) for column in curve.values())
    assert np.allclose(errors[2:] * rows[2:], errors[-1] * rows[-1])


def test_without_expected_rows_a_plan_states_a_formula(session):
    plan = session.plan.mean("x", 0, 1, privacy=1, by=BY)
    assert plan.before.average is None
    assert "/ rows, depending on where the values lie: " in str(plan)
    for rows, least, largest in plan.before.by_rows:
        assert largest == pytest.approx(min(plan.before.over_rows / rows, 1))
        assert least == pytest.approx(min(plan.before.least_over_rows / rows, 1))
    squared = session.plan.mean("x", 0, 1, privacy=1, loss="squared")
    assert squared.before.by_rows[1][2] == pytest.approx(squared.before.over_rows / 100**2)
    with pytest.raises(InvalidInput, match="expected_rows"):
        session.smallest_privacy(plan, 0.01)


def test_another_expectation_is_the_same_question(session):
    first = session.mean("x", 0, 1, privacy=1, by=BY, expected_rows=100)
    again = session.mean("x", 0, 1, privacy=1, by=BY, expected_rows=[50, 20], min_rows=10)
    assert again.recorded
    assert again.released == first.released


def test_groups_come_with_their_rows_and_small_ones_are_suppressed(session):
    keys = um.keys(g=["a", "b", "nobody"])
    for ask in (session.mean, session.variance):
        table = ask("x", 0, 1, privacy=5, by=keys, min_rows=20).table.to_pylist()
        assert [row["value"] is None for row in table] == [False, False, True]
        assert [row["reliable"] for row in table] == [True, True, False]
        assert [abs(row["rows"] - rows) < 20 for row, rows in zip(table, (5000, 50, 0), strict=True)] == [True] * 3
    with pytest.raises(InvalidInput, match="min_rows"):
        session.mean("x", 0, 1, privacy=1, min_rows=5)
    with pytest.raises(InvalidInput, match="min_rows"):
        session.mean("x", 0, 1, privacy=1, by=keys, min_rows=0)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("groups", [pytest.param(1, marks=pytest.mark.long), 2, 20])
def test_intervals_hold_the_rows_of_groups(groups, neighbours):
    s = um.Session(pyarrow.table({"x": [0.5], "g": ["0"]}), "r", um.rows(at_most=1000), neighbours, budget=um.ZCDP(5))
    question = s.plan.mean("x", 0, 1, privacy=um.ZCDP(1), by=um.keys(g=list(map(str, range(groups))))).question
    point = np.concatenate(
        [np.full(groups, 30 * question.statistic.weight), np.full(groups, 70 * question.statistic.weight)]
    )
    held = [
        low <= 100 <= high
        for _ in range(200 // groups + 5)
        for _, low, high, _ in question.after(question.draw(point)).groups.values()
    ]
    assert np.mean(held) > 0.9
