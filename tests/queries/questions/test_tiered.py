"""Rows of which some are promised more than others: what is asked of the table, spent, shown and proved again."""

import json
from fractions import Fraction

import pyarrow
import pytest
from oracles.command import utmost
from oracles.served import KEYS, serving, signed_in, write_table

import utmost as um
from utmost.cli.ask import publish
from utmost.errors import BudgetSpent, InvalidInput, UnsupportedLevel
from utmost.queries.report.proof import load_answers
from utmost.queries.units import as_unit
from utmost.serve.settings import read_settings

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
    return s.source.execute(plan.question.statement(s.source, s.account.secret))


def test_every_row_is_counted_in_its_tier_alone():
    """A row belongs to the first condition that is true of it; where none is, or it is unknown, to the rest."""
    s = session(tiers={BASIC: ("0.1", 20), "vote = 'yes'": ("0.5", 40)})
    rows = s.source.frame.to_pylist()
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
        ({BASIC: (0.1, 200)}, 1, "more members together"),
        ({BASIC: (0, 20)}, 1, "above 0"),
        ({BASIC: 0.1}, 1, "its epsilon and how many there are"),
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


# ---- people with several rows ----


def people(rows_each=2, neighbours="add-remove", most=30, tiers=None):
    """Twelve people with one to four rows; the consent of some is noted on one of their rows only."""
    rows = [
        {
            "id": who,
            "consent": "basic" if who % 4 == 0 and visit == who % 3 else "full",
            "vote": VOTES[(who + visit) % 3],
        }
        for who in range(12)
        for visit in range(who % 4 + 1 if who % 4 else 3)
    ]
    rows.append({"id": None, "consent": "basic", "vote": "yes"})
    unit = um.people("id", rows_each=rows_each, at_most=most, tiers=tiers or {BASIC: ("0.1", 5)})
    return um.Session(pyarrow.Table.from_pylist(rows), "survey", unit, neighbours, budget=1), rows


VOTES = ("yes", "no", None)


@pytest.mark.parametrize("rows_each", [1, 2])
def test_people_belong_to_the_first_tier_that_any_of_their_rows_names(rows_each):
    """Against plain Python: the tier of a person, and at most so many of their rows that take part."""
    s, rows = people(rows_each)
    basic = {r["id"] for r in rows if r["consent"] == "basic" and r["id"] is not None}
    assert basic == {0, 4, 8}
    for where, is_in in ((None, lambda r: True), ("vote = 'yes'", lambda r: r["vote"] == "yes")):
        held = {who: sum(r["id"] == who and is_in(r) for r in rows) for who in range(12)}
        kept = {who: min(count, rows_each) for who, count in held.items()}
        tally = {"t0": sum(kept[w] for w in basic), "t1": sum(kept[w] for w in kept if w not in basic)}
        assert found(s, s.plan.count(where, privacy=1)) == tally
        anyone = {"t0": sum(held[w] > 0 for w in basic), "t1": sum(held[w] > 0 for w in held if w not in basic)}
        assert found(s, s.plan.count(where, privacy=1, of="people")) == anyone


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_a_person_moves_one_tier_by_their_rows_at_most(neighbours):
    """A person leaves the table: one integer moves, by what the space says a neighbour does at most."""
    s, rows = people(2, neighbours)
    for ask in (lambda p: p.count(privacy=1), lambda p: p.majority("vote = 'yes'", privacy=1)):
        plan = ask(s.plan)
        whole, lines = found(s, plan), plan.question.space.lines
        assert [line.last for line in lines] == [10, 50]
        assert {line.reach for line in lines} == {4 if neighbours == "replace" and lines[0].first else 2}
        for who in (0, 3, 4):
            rest = pyarrow.Table.from_pylist([r for r in rows if r["id"] != who])
            other = um.Session(rest, "survey", s.terms.unit, neighbours, budget=1)
            left = other.source.execute(plan.question.statement(other.source, s.account.secret))
            moved = [abs(whole[name] - left[name]) for name in whole]
            assert moved[0 if who % 4 else 1] == 0
            assert max(moved) <= 2


def test_answers_about_people_prove_themselves(tmp_path):
    s, _ = people(2, most=12)
    answers = [
        s.count("vote = 'yes'", privacy="0.5"),
        s.count(privacy="0.3", of="people"),
        s.threshold("vote = 'yes'", 6, privacy="0.2", of="people"),
    ]
    for number, answer in enumerate(answers):
        assert answer.verify(), answer.verify()
        ((_, again),) = load_answers(answer.report(tmp_path / f"{number}.html").with_suffix(".json"))
        assert again
        assert "of people with consent = 'basic' it spends" in str(answer)
    assert s.budget.by_tier == {BASIC: (Fraction(1, 10), Fraction(1, 10))}
    assert "epsilon 0 of 0.1</td>" in s.budget._repr_html_()
    assert as_unit(str(s.terms.unit)) == s.terms.unit


def test_the_command_takes_tiers_and_accounts_for_them(tmp_path):
    """`utmost release --tier`, `utmost budget show`, and a file of questions with the unit in words."""
    (tmp_path / "t.csv").write_text("consent,vote\n" + "basic,yes\nfull,no\nfull,yes\n" * 20)
    ledger = tmp_path / "b.db"
    fixed = ("--rows-at-most", 80, "--neighbours", "replace", "--dataset", "survey", "--ledger", ledger)
    asked = ("release", tmp_path / "t.csv", "--count", "vote = 'yes'", "--privacy", "0.5", "--budget", "1", *fixed)
    ran = utmost(*asked, "--tier", f"0.1, 20: {BASIC}")
    assert ran.returncode == 0, ran.stderr
    assert "of rows with consent = 'basic' it spends 0.05-DP" in ran.stdout
    shown = utmost("budget", "show", ledger, "--json")
    assert json.loads(shown.stdout)["accounts"][0]["tiers"] == {BASIC: {"spent": 0.05, "promised": 0.1}}
    assert "left of consent = 'basic': epsilon 0.05 of 0.1" in utmost("budget", "show", ledger).stdout
    for wrong in ("0.1: x = 1", "0.1, many: x = 1", "0.1, 20"):
        refused = utmost(*asked, "--tier", wrong)
        assert (refused.returncode, "--tier is" in refused.stderr) == (2, True)
    (tmp_path / "q.toml").write_text(
        'table = "t.csv"\ndataset = "asked"\nneighbours = "replace"\nbudget = 1\n'
        "unit = '''rows, at most 80; at most 20 with \"consent = 'basic'\" are promised 0.1'''\n"
        '[ask.ill]\nquestion = "count"\nwhere = "vote = \'yes\'"\nprivacy = 1\n'
    )
    answers, opened = publish(tmp_path / "q.toml", tmp_path / "out")
    assert answers["ill"].verify()
    assert opened.budget.by_tier == {BASIC: (Fraction(1, 10), Fraction(1, 10))}


def test_a_server_keeps_tiers(tmp_path):
    """The unit of a data set in words; plans, answers and the page of the budget are those of a session."""
    write_table(tmp_path)
    (tmp_path / "utmost.toml").write_text(
        'ledger = "b.db"\ntick = 0.02\n[dataset.survey]\ntable = "people.csv"\nneighbours = "add-remove"\nbudget = 1\n'
        "unit = '''rows, at most 500; at most 20 with \"town = 'Cove'\" are promised 0.1'''\n"
        f'[analyst.ada]\nkey = "{KEYS["ada"][1]}"\nbudget = 1\ndatasets = ["survey"]\n'
        f'[custodian.carol]\nkey = "{KEYS["carol"][1]}"\n'
    )
    with serving(read_settings(tmp_path / "utmost.toml")) as url, um.Client(url, KEYS["ada"][0]) as client:
        plan = client.plan.count(privacy=1)
        assert [line.last for line in plan.question.space.lines] == [20, 480]
        assert client.count(privacy="0.5").verify()
        with signed_in(url, "carol") as carol:
            page = carol.get("/datasets/survey/budget").text
            assert "town = &#39;Cove&#39;: epsilon 0.05 of 0.1 left" in page
