"""Rows of which some are promised more than others: what is asked of the table, spent, shown and proved again."""

import json
from fractions import Fraction

import pyarrow
import pytest

import utmost as um
from utmost.errors import BudgetSpent, InvalidInput, UnsupportedLevel
from utmost.release.proof import load_answers
from utmost.release.units import as_unit

BASIC = "consent = 'basic'"


def session(rows=60, budget=1, neighbours="add-remove", tiers=None, most=80):
    table = pyarrow.table(
        {
            "consent": (["basic"] * 4 + ["full"] * 10 + [None] * 1) * (rows // 15),
            "vote": (["yes", "no", "yes", None, "yes"]) * (rows // 5),
        }
    )
    unit = um.rows(at_most=most, tiers=tiers or {BASIC: ("0.1", 20)})
    return um.Session(table, "survey", unit, neighbours, budget=budget)


def found(s, plan):
    return s.source.found(plan.question.statement(s.source, s.account.secret))


def test_every_row_is_counted_in_its_tier_alone():
    """A row belongs to the first condition that is true of it; where none is, or it is unknown, to the rest."""
    s = session(tiers={BASIC: ("0.1", 20), "vote = 'yes'": ("0.5", 40)})
    rows = s.table.to_pyarrow().to_pylist()
    first = [0 if r["consent"] == "basic" else 1 if r["vote"] == "yes" else 2 for r in rows]
    assert found(s, s.plan.count(privacy=1)) == {f"t{t}": first.count(t) for t in range(3)}
    votes = found(s, s.plan.majority("vote = 'yes'", privacy=1))
    known = [(t, 1 if r["vote"] == "yes" else -1) for t, r in zip(first, rows, strict=True) if r["vote"]]
    assert votes == {f"t{t}": sum(v for tier, v in known if tier == t) for t in range(3)}


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_answers_prove_themselves_and_every_tier_pays_its_share(neighbours, tmp_path):
    s = session(15, neighbours=neighbours, tiers={BASIC: ("0.1", 5)}, most=20)
    answers = [
        s.count("vote = 'yes'", privacy="0.3"),
        s.majority("vote = 'yes'", privacy="0.2"),
        s.threshold("vote = 'yes'", 9, privacy="0.1"),
        s.count(privacy="0.1", unbiased=True),
    ]
    for number, answer in enumerate(answers):
        assert answer.verify(), answer.verify()
        path = answer.report(tmp_path / f"{number}.html")
        ((_, again),) = load_answers(path.with_suffix(".json"))
        assert again
        assert "of rows with consent = 'basic' it spends" in str(answer)
    low, high = answers[0].interval
    assert low <= answers[0].value <= high
    assert s.budget.by_tier == {BASIC: (Fraction(7, 100), Fraction(1, 10))}
    assert "consent = 'basic': epsilon 0.03 of 0.1 left" in str(s.budget)
    with pytest.raises(BudgetSpent):
        s.count("vote = 'no'", privacy="0.31")


def test_a_forged_report_is_found(tmp_path):
    s = session(15, most=30)
    path = s.count("vote = 'yes'", privacy=1).report(tmp_path / "a.html").with_suffix(".json")
    content = json.loads(path.read_text())
    content["unit"] = content["unit"].replace("0.1 of 1", "0.05 of 1")
    path.write_text(json.dumps(content))
    ((_, again),) = load_answers(path)
    assert not again


def test_small_tiers_make_counts_better_than_the_strictest_level():
    plan = session(most=2000).plan.count("vote = 'yes'", privacy=1)
    losses = plan.question.losses
    assert losses["Utmost"]["absolute"] == pytest.approx(4.526, abs=1e-3)
    assert losses["the strictest level for all"]["absolute"] > 9.9
    assert plan.solution.certificate.bound == pytest.approx(4.403, abs=1e-3)


def test_everybody_may_have_a_tier():
    s = session(tiers={BASIC: ("0.2", 20), "consent IS NULL OR consent <> 'basic'": (1, 60)})
    assert len(s.plan.count(privacy=1).question.space.lines) == 2
    assert s.count(privacy=1).verify()


def test_units_are_read_as_they_are_written():
    s = session(tiers={BASIC: ("1/3", 20)}, budget=2)
    assert as_unit(str(s.terms.unit)) == s.terms.unit
    odd = um.rows(at_most=9, tiers={"town = 'it''s; \"1\"'": ("1/3", 5), BASIC: (0.25, 2)}).within(um.PureDP(2))
    assert as_unit(str(odd)) == odd
    with pytest.raises(InvalidInput):
        as_unit(str(odd) + "; at most 1 more")


@pytest.mark.parametrize(
    ("tiers", "budget", "words"),
    [
        ({BASIC: (2, 20)}, 1, "more than the budget"),
        ({BASIC: (0.1, 200)}, 1, "more rows together"),
        ({BASIC: (0, 20)}, 1, "above 0"),
        ({BASIC: 0.1}, 1, "its epsilon and how many rows"),
        ({BASIC: (0.1, 20)}, um.ApproxDP(1, 1e-6), "budget=1"),
        ({"no_such = 1": (0.1, 20)}, 1, "no_such"),
        ({}, 1, "name 1 to"),
    ],
)
def test_wrong_tiers_say_what_to_change(tiers, budget, words):
    with pytest.raises(InvalidInput, match=words):
        um.Session(
            pyarrow.table({"consent": ["basic"]}), "survey", um.rows(at_most=80, tiers=tiers), "replace", budget=budget
        )


def test_what_tiers_cannot_answer_is_refused_before_anything_is_spent():
    s = session()
    for ask in (
        lambda: s.histogram("vote", ["yes", "no"], privacy=1),
        lambda: s.count(privacy=1, by=um.keys(vote=["yes"])),
        lambda: s.count(privacy=1, prior=[1 / 81] * 81),
    ):
        with pytest.raises(InvalidInput):
            ask()
    with pytest.raises(UnsupportedLevel):
        s.count(privacy=um.GaussianDP(1))
    assert str(s.left) == "epsilon 1 of 1"
