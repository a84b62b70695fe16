"""Batches, schedules and the budget of a session."""

import xml.etree.ElementTree as ET

import pytest
from oracles.tables import as_table, session

import utmost as um
from utmost.errors import BudgetSpent, InvalidInput

LISTED = [("a", 1.0, 1, True), ("b", 4.0, 2, False)] * 8


APPROX = um.ApproxDP(3, 1e-5)


def opened(budget=APPROX):
    return um.Session(as_table(LISTED), "survey", um.rows(at_most=20), "add-remove", budget=budget)


def test_a_batch_costs_what_exact_composition_says():
    """A hundred questions of 0.05 cost about 2.21 at delta 1e-6, not 5; asked again they cost nothing."""
    s = opened()
    plans = [s.plan.count(f"n >= {i}", privacy=0.05) for i in range(100)]
    answers = s.batch(plans, delta=1e-6)
    exact = um.compose([0.05] * 100).epsilon(1e-6)
    assert s.left.amounts()["epsilon"] == pytest.approx(3 - exact)
    assert s.left.amounts()["delta"] == pytest.approx(9e-6)
    again = s.batch(plans, delta=1e-6)
    assert [a.value for a in again] == [a.value for a in answers]
    assert len(s.account.entries()) == 1
    with pytest.raises(BudgetSpent):
        s.batch(plans, delta=1e-6, fresh=True)


def test_a_batch_of_different_questions():
    """All kinds together; without a delta their levels add up."""
    s = opened(500)
    plans = [
        s.plan.histogram("id", ["a", "b"], privacy=50),
        s.plan.plurality("n", [1, 2, 3], privacy=50),
        s.plan.majority("ok", privacy=50),
        s.plan.sum("n", 0, 5, privacy=50),
    ]
    answers = s.batch(plans)
    assert answers[0].value == {"a": 8, "b": 8}
    assert answers[3].value == 24
    assert str(s.left) == "epsilon 300 of 500"
    assert len({answer.head for answer in answers}) == 1
    assert s.account.check(answers[0].head)


def test_batches_used_wrongly():
    """Nothing is spent."""
    s, other = opened(1), opened(1)
    for plans, words in (
        ([], r"the batch is \[\]; give a list of plans"),
        (s.plan, "the batch is a Planner"),
        ("count", "the batch is 'count'"),
        ([s.plan.count("n > 0", privacy=1), 1], "holds 1, not a plan"),
        ([other.plan.count("n > 0", privacy=1)], "another session"),
    ):
        with pytest.raises(InvalidInput, match=words):
            s.batch(plans)
    with pytest.raises(BudgetSpent):
        s.batch([s.plan.count("n > 0", privacy=1)] * 2)
    assert str(s.spent) == "epsilon 0 of 1"


def test_a_schedule_is_charged_once_and_asked_later():
    """Slots are used one by one, for any question at the schedule's level."""
    s = opened()
    exploring = s.schedule(0.05, slots=3, delta=1e-6)
    before = str(s.left)
    assert 0 <= exploring.count("n > 1").value <= 20
    assert exploring.majority("ok", privacy=0.05).value in (True, False)
    assert set(exploring.histogram("id", ["a", "b"]).value) == {"a", "b"}
    assert str(s.left) == before
    assert exploring.left == 0
    with pytest.raises(BudgetSpent):
        exploring.count("n > 2")
    with pytest.raises(InvalidInput, match="leave privacy out"):
        exploring.count("n > 2", privacy=1)


def test_the_budget_as_text_html_and_picture():
    """What was spent on what, in every form; text from questions is escaped."""
    s = opened(10)
    assert str(s.budget) == "survey: epsilon 10 of 10 left"
    s.count("n < 5 AND id <> '<b>'", privacy=2)
    s.batch([s.plan.count("n > 1", privacy=1), s.plan.quantile("x", 0.5, [0, 1, 4], privacy=1)])
    s.schedule(1, slots=2)
    shown = str(s.budget)
    assert "epsilon 4 of 10 left" in shown
    assert "batch of 2" in shown
    assert "2 slots of 1-DP" in shown
    assert "     1-DP  count: n > 1\n     1-DP  median: x" in shown
    page = s.budget._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>'" not in page
    picture = ET.fromstring(s.budget.picture())
    bars = [r for r in picture.iter("{http://www.w3.org/2000/svg}rect") if r.attrib.get("class") == "ours"]
    assert [bar[0].text.partition(":")[0] for bar in bars] == ["1. count", "2. batch of 2", "3. schedule"]
    assert sum(float(b.attrib["width"]) for b in bars) == pytest.approx(580 * 0.6, abs=4)


def test_smallest_privacy_of_counts_and_candidates():
    """The least epsilon for an accuracy, for counts and winners."""
    s = session(LISTED, um.rows(at_most=50), "replace")
    for plan, wanted in ((s.plan.counts(["n > 1", "ok"], privacy=1), 3), (s.plan.plurality("id", ["a", "b"], 1), 0.05)):
        level = s.smallest_privacy(plan, accuracy=wanted)
        assert plan.question.at(level).before().average <= wanted
        assert plan.question.at(um.PureDP(float(level.epsilon) * 0.98)).before().average > wanted
