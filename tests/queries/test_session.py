"""Sessions: what is asked, spent, recorded, shown and refused; and that nothing else about a table gets out."""

import json
import math
import random
from functools import partial
from unittest import mock

import numpy as np
import pyarrow
import pytest
from oracles.command import release_command, utmost
from oracles.tables import as_table, session

import utmost as um
from utmost.accounting import account as account_module
from utmost.accounting import ledger as ledger_module
from utmost.backends import opening
from utmost.backends.duckdb import DuckSource
from utmost.errors import (
    AccountSuspended,
    BudgetMismatch,
    BudgetSpent,
    InvalidInput,
    NotRowWise,
    UnsupportedLevel,
)
from utmost.mechanism.sampling import insecure_source_for_tests_only
from utmost.queries import Audit
from utmost.queries import release as release_module
from utmost.queries.questions import Question
from utmost.queries.questions.choices import Choice
from utmost.queries.report.proof import answer_from_json, confirmed, load_answers

SMALL = [("a", 1.0, 3, True), ("b", 4.5, -2, False), ("a", None, 5, True), (None, 2.0, 1, None)]


def asked(s, **options):
    """One answer to every question."""
    return [
        s.count("n > 0", 0.5, **options),
        s.sum("x", 0, 5, 1, grid="0.5", **options),
        s.mean("x", 0, 5, 1, grid="0.5", where="n < 5", expected_rows=5, **options),
        s.majority("ok", 0.5, **options),
        s.threshold("n > 0", 2, 0.5, **options),
    ]


def test_every_question_is_answered_and_defended(tmp_path):
    """Values in range, all the parts of a report, JSON that reads back, pages with nothing from elsewhere."""
    s = session(SMALL, um.rows(at_most=10), "add-remove", ledger=tmp_path / "budget.db")
    for answer in asked(s):
        details = json.loads(answer.to_json())
        assert {"value", "privacy", "accuracy", "mechanism", "proof", "ledger", "compared"} <= set(details)
        assert details["ledger"]["head"] == answer.head
        assert details["ledger"]["kept"]
        assert answer.accuracy["before"]["average"] >= 0
        if isinstance(answer.value, bool):
            assert 0 <= answer.accuracy["after"]["probability_right"] <= 1
        else:
            low, high = answer.interval
            assert low <= high
        page = answer.report(tmp_path / "answer.html").read_text()
        assert "<svg" in page
        assert "<script" not in page
        assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
        assert json.loads((tmp_path / "answer.json").read_text()) == details
        assert answer.question.words.split()[0] in str(answer)
    assert s.account.check(answer.head)
    assert str(s.spent) == "epsilon 3.5 of 1000"


def test_bounds_are_in_the_unit_of_the_answer():
    """A grid of tenths: average, bound and gap are all in units, not in steps."""
    plan = session(SMALL, um.rows(at_most=900), "add-remove").plan.sum("x", 0, 5, 1, grid="0.1")
    proof, average = plan.details["proof"], plan.accuracy["before"]["average"]
    assert proof["bound"] + proof["gap"] == pytest.approx(average - plan.before.from_rounding)
    assert plan.before.from_rounding == pytest.approx(900 * 0.1 / 2)
    assert 4 < average - plan.before.from_rounding < 5


def test_a_plan_says_when_an_answer_would_say_nothing():
    """At least 3 of 20,000 at a small epsilon: always yes is right most often, and the plan says so."""
    s = session(SMALL, um.rows(at_most=20_000))
    assert "whatever the table says" in str(s.plan.threshold("n > 0", 3, 0.1))
    assert "whatever the table says" not in str(s.plan.threshold("n > 0", 10_000, 0.1))


def test_in_memory_accounts_are_said_so(tmp_path):
    """`ledger=None` keeps the account in memory, and the report says it."""
    answer = session(SMALL, um.rows(at_most=10)).count("n > 0", 1)
    assert "lost with" in str(answer)
    assert "memory only" in answer.report(tmp_path / "a.html").read_text()


def test_the_same_question_costs_nothing_again():
    """The recorded answer is returned, unless a fresh one is asked for; another level or loss is another question."""
    s = session(SMALL, um.rows(at_most=10))
    first = s.count("n > 0", 0.5)
    assert [s.count("n > 0", 0.5).value for _ in range(20)] == [first.value] * 20
    assert str(s.spent) == "epsilon 0.5 of 1000"
    s.count("n > 0", 0.5, fresh=True)
    s.count("n > 0", 0.25)
    s.count("n > 0", 0.5, loss="squared")
    s.count("n >= 1", 0.5)  # the same rows, in other words
    s.count("n >  0", 0.5)  # the same words
    assert str(s.spent) == "epsilon 2.25 of 1000"


def test_budgets_are_kept(tmp_path):
    """Refused before anything is read or charged; another unit, budget or neighbours under one name are refused."""
    s = um.Session(as_table(SMALL), "t", um.rows(at_most=10), "replace", budget=1, ledger=tmp_path / "b.db")
    s.count("n > 0", 0.75)
    unread = mock.patch.object(opening.Source, "execute", side_effect=AssertionError("read"))
    with unread, pytest.raises(BudgetSpent, match=r"0\.25"):
        s.count("n > 1", 0.5)
    assert str(s.left) == "epsilon 0.25 of 1"
    for options in (
        {"unit": um.people("id", rows_each=1)},
        {"neighbours": "add-remove"},
        {"budget": 2},
    ):
        settings = {"unit": um.rows(at_most=10), "neighbours": "replace", "budget": 1} | options
        with pytest.raises(BudgetMismatch):
            um.Session(as_table(SMALL), "t", ledger=tmp_path / "b.db", **settings)


def test_contribution_bounds_may_differ_in_one_account(tmp_path):
    """They are of an answer, not of who is protected: one budget, and other bounds ask another question."""
    table = pyarrow.table({"who": [1, 1, 1, 2, 2, 3] * 5 + list(range(4, 40)), "n": range(66)})
    opened = partial(um.Session, table, "t", neighbours="add-remove", budget=1000, ledger=tmp_path / "b.db")
    values = {}
    for unit in (
        um.people("who", rows_each=1),
        um.people("who", rows_each=10),
        um.people("who", rows_each=10, truncate="question"),
        um.people("who", rows_each=10, at_most=100),
    ):
        s = opened(unit=unit)
        answer = s.count(privacy=100)
        values[unit] = answer.value
        assert not answer.recorded
        assert opened(unit=unit).count(privacy=100).recorded
        answer.report(tmp_path / "a.html")
        (made, verified), *_ = load_answers(tmp_path / "a.json")
        assert verified
        assert made.question.terms.unit == unit
        assert confirmed(made, s.account)
        forged = json.loads((tmp_path / "a.json").read_text())
        forged["unit"] = forged["unit"].replace("10 rows each", "12 rows each")
        assert (forged["unit"] == str(unit)) == confirmed(answer_from_json(forged), s.account).passed
    assert list(values.values()) == [39, 61, 61, 61]
    assert str(s.left) == "epsilon 600 of 1000"


def test_plans_read_and_spend_nothing():
    """All plans with an engine that refuses to answer; their accuracy is the answer's accuracy before."""
    s = session(SMALL, um.rows(at_most=10))
    with mock.patch.object(opening.Source, "execute", side_effect=AssertionError("read")):
        plans = asked(s.plan)
    assert str(s.spent) == "epsilon 0 of 1000"
    for plan, answer in zip(plans, asked(s), strict=True):
        assert plan.accuracy["before"] == answer.accuracy["before"]
        assert plan.privacy == answer.privacy
        assert "nothing was read" in str(plan)


def test_smallest_privacy():
    """The level found suffices, and a slightly smaller one does not."""
    s = session(SMALL, um.rows(at_most=500))
    for ask, accuracy in (
        (lambda e: s.plan.count("n > 0", privacy=e), 5),
        (lambda e: s.plan.majority("ok", privacy=e), 0.01),
        (lambda e: s.plan.sum("x", 0, 5, privacy=e), 20),
        (lambda e: s.plan.mean("x", 0, 5, privacy=e, expected_rows=500), 0.1),
    ):
        level = s.smallest_privacy(ask(1), accuracy)
        assert ask(level).accuracy["before"]["average"] <= accuracy
        assert ask(float(level.epsilon) * 0.98).accuracy["before"]["average"] > accuracy
    with pytest.raises(InvalidInput):
        s.smallest_privacy("count", 5)
    with pytest.raises(InvalidInput):
        s.smallest_privacy(s.plan.count("n > 0", 1), 0)


def test_intervals_hold_the_truth_as_often_as_they_say():
    """Under the uniform prior, 95 % of intervals hold the point: many points, one answer each."""
    made_up = random.Random(3)
    held = 0
    question = session([], um.rows(at_most=60)).plan.count("n > 0", 0.4).question
    with insecure_source_for_tests_only(made_up.randbytes):
        for i in range(1500):
            point = i % 61
            low, high = question.after(question.draw(point)).intervals["count"]
            held += low <= point <= high
    assert held / 1500 > 0.945


def test_means_are_close():
    """At a huge epsilon the mean is the mean; with nobody it is the middle of the range; always within the range."""
    listed = [("a", float(x % 7), x, True) for x in range(200)]
    s = session(listed, um.rows(at_most=300), "add-remove")
    wanted = np.mean([x % 7 for x in range(200)])
    answer = s.mean("x", 0, 8, 80, grid=1)
    assert answer.value == pytest.approx(wanted, abs=1e-9)
    assert answer.interval[0] <= wanted + 1e-9
    assert wanted - 1e-9 <= answer.interval[1]
    assert session([], um.rows(at_most=300)).mean("x", 0, 8, 80, grid=1).value == 4
    for seed in range(20):
        with insecure_source_for_tests_only(random.Random(seed).randbytes):
            assert 0 <= session(SMALL, um.rows(at_most=5)).mean("x", 0, 5, 0.05).value <= 5


def test_priors_change_the_mechanism():
    """A prior that knows the count makes the guess right; wrong priors are refused."""
    s = session(SMALL, um.rows(at_most=10))
    certain = [0.0] * 11
    certain[7] = 1.0
    assert s.count("n > 0", 0.1, prior=certain).value == 7
    assert s.plan.count("n > 0", 0.1, prior=certain).accuracy["before"]["average"] == 0
    for prior in ([0.5] * 11, [1.0], [-1, 2, *[0] * 9], [math.nan] * 11):
        with pytest.raises(InvalidInput):
            s.count("n > 0", 0.1, prior=prior)


# ---- nothing else gets out ----


def everything(listed, folder, releases):
    """All that is left behind by five questions: text, JSON, pages, the ledger's file; clock and keys held still.

    The table is read, and placed; what is drawn there is the next of `releases`.
    """
    clock, places = mock.Mock(), []
    clock.now.return_value.isoformat.return_value = "2026-01-01T00:00:00.000+00:00"
    folder.mkdir()

    def draw(self, point):
        places.append(point)
        return releases[len(places) - 1]

    with (
        mock.patch.object(account_module, "datetime", clock),
        mock.patch.object(ledger_module.secrets, "token_bytes", lambda n: b"k" * n),
        mock.patch.object(Question, "draw", draw),
        mock.patch.object(Choice, "draw", draw),
        mock.patch.object(release_module, "rehearse_answer"),
    ):
        s = session(listed, um.rows(at_most=8), "add-remove", ledger=folder / "b.db")
        answers = asked(s)
        pages = [answer.report(folder / f"{i}.html").read_bytes() for i, answer in enumerate(answers)]
        shown = [str(answer) for answer in answers] + [answer.to_json() for answer in answers] + [repr(s)]
        s.ledger.close()
    return places, (pages, shown, (folder / "b.db").read_bytes())


def test_reports_are_byte_identical_for_equal_releases(tmp_path):
    """Two quite different tables that release the same, several times: everything left behind is the same."""
    dirty = [("a", math.nan, 3, True), ("b", 1e300, None, None), (None, -math.inf, 7, False), ("", 2.5, 2, True)]
    for i in range(3):
        releases = [answer.released for answer in asked(session(SMALL, um.rows(at_most=8), "add-remove"))]
        here, left = everything(SMALL, tmp_path / f"{i}-small", releases)
        there, right = everything(dirty, tmp_path / f"{i}-dirty", releases)
        assert here != there
        assert left == right


def test_no_private_value_in_any_error():
    """Junk in every column: answers come, and errors after the spend hold nothing of it."""
    junk = "SECRET-VALUE-4711"
    table = pyarrow.table({"id": [junk, None], "n": [junk, junk], "x": [4711.0, math.nan]})
    s = um.Session(table, "t", um.people("id", rows_each=1, at_most=5), "replace", budget=100, types={"n": int})
    for answer in (s.count("n > 0", 1), s.sum("n", 0, 5, 1), s.majority("n = 3", 1)):
        assert junk not in answer.to_json()
    rehearsed = mock.patch.object(type(s.source), "rehearse")
    failing = mock.patch.object(type(s.source), "one_row", side_effect=RuntimeError(junk))
    with rehearsed, failing, pytest.raises(AccountSuspended) as caught:
        s.count("n > 2", 1)
    assert junk not in str(caught.value)
    chain = caught.value
    while chain is not None:
        assert junk not in str(chain)
        chain = chain.__cause__ or chain.__context__


# ---- wrong use ----


def test_wrong_use_says_what_to_do(tmp_path):
    """As a new user would; three of them SQL injections. Each ends in an error that says what to do."""
    table = as_table(SMALL)
    good = {"unit": um.rows(at_most=10), "neighbours": "replace", "budget": 1}
    s = um.Session(table, "t", **good)
    with mock.patch.object(opening.Source, "execute", side_effect=AssertionError("read")):
        for wrong, kind, words in (
            (lambda: um.rows(at_most=0), InvalidInput, "at most"),
            (lambda: um.Session(table, "t", **(good | {"neighbours": None})), InvalidInput, "'replace'"),
            (lambda: um.Session(table, "t", **(good | {"unit": 10})), InvalidInput, "um.rows"),
            (lambda: um.Session(table, "t", **(good | {"budget": None})), InvalidInput, "budget=1"),
            (lambda: um.Session("nothing.csv", "t", **good), InvalidInput, "no file"),
            (lambda: s.count("n > 0"), InvalidInput, "privacy=0.5"),
            (lambda: s.count("n > avg(n)", 1), NotRowWise, "A condition is made of"),
            (lambda: s.sum("n", 5, 0, 1), InvalidInput, "lower=0, upper=100"),
            (lambda: s.sum("id", 0, 5, 1), InvalidInput, "not numbers"),
            (lambda: s.sum("x", 0, 1, 1, grid="0.3"), InvalidInput, "multiple of the grid"),
            (lambda: s.count("n > 0", 1, of="people"), InvalidInput, "um.people"),
            (lambda: s.threshold("n > 0", 11, 1), InvalidInput, "from 1 to 10"),
            (lambda: s.majority(None, 1), InvalidInput, "condition"),
            (lambda: s.count("n > 0", 1, loss="hinge"), InvalidInput, "'absolute'"),
            (lambda: s.count("n > 0", um.GaussianDP(1)), UnsupportedLevel, "PureDP"),
            (lambda: s.count("n > 0", -1), InvalidInput, "0 or more"),
            (lambda: s.count("n > 0", 5), BudgetSpent, "remaining"),
            (lambda: um.people("id", at_most=5), InvalidInput, "rows_each"),
            (lambda: um.Session(table, "t2", um.people("nobody", 1, 5), "replace", 1), InvalidInput, "no id column"),
            (
                lambda: um.Session(table, "t2", um.people("x", 1, 5), "replace", 1),
                InvalidInput,
                "whole numbers or text",
            ),
            (lambda: s.count("n > 0; DROP TABLE private_rows", 1), NotRowWise, "statements"),
            (lambda: s.count("n > 0 OR (SELECT count(*) FROM private_rows) > 3", 1), NotRowWise, "not allowed"),
            (lambda: s.count("n > 0) UNION SELECT id FROM private_rows --", 1), NotRowWise, "SQL"),
        ):
            with pytest.raises(kind, match=words):
                wrong()
    assert str(s.spent) == "epsilon 0 of 1"


# ---- audits ----


def question(table):
    return um.Session(table, "audit", um.rows(at_most=6), "add-remove", budget=1).count("n > 0", 1)


MORE, LESS = as_table([("a", 1.0, 1, True)] * 3), as_table([("a", 1.0, 1, True)] * 2)


def broken_draw(self, point):
    """Tells the truth one time in three: not private."""
    return self.released(point if random.random() < 1 / 3 else self.solution.sample(point))


def test_an_audit_finds_a_mechanism_broken_on_purpose():
    """A third of answers are the truth itself: the bound exceeds the promise; ours never does."""
    honest = um.audit(question, MORE, LESS, runs=3000)
    assert isinstance(honest, Audit)
    assert not honest.broken
    assert 0.5 < honest.epsilon_at_least <= 1
    with mock.patch.object(Question, "draw", broken_draw):
        found = um.audit(question, MORE, LESS, runs=3000)
    assert found.broken
    assert "BROKEN" in str(found)
    for wrong in (5, True, 2.5):
        with pytest.raises(InvalidInput):
            um.audit(question, MORE, LESS, runs=wrong)
    with pytest.raises(InvalidInput, match="type int") as caught:
        um.audit(lambda table: 4711, MORE, LESS, runs=100)
    assert "4711" not in str(caught.value)


@pytest.mark.long
def test_audits_of_every_question_never_exceed_the_promise():
    """Many draws of every question about neighbouring tables: the bound stays below the declared epsilon."""
    for unit, neighbours in ((um.rows(at_most=6), "add-remove"), (um.people("id", rows_each=2, at_most=3), "replace")):
        one, other = (MORE, LESS) if unit.id is None else (MORE, as_table([("a", 4.0, -1, False)] * 2))
        for i, promised in enumerate((0.5, 1, 1, 0.5, 0.5)):

            def ask(table, i=i, unit=unit, neighbours=neighbours):
                return asked(um.Session(table, "audit", unit, neighbours, budget=10))[i]

            found = um.audit(ask, one, other, runs=20_000)
            assert found.epsilon_at_least <= promised, (i, str(found))


# ---- the command ----

CSV = "id,age,score\na,70,1.5\nb,40,oops\nc,,2\nd,90,nan\n"


def release(tmp_path, *arguments):
    (tmp_path / "t.csv").write_text(CSV)
    basic = ("--dataset", "t", "--rows-at-most", "10", "--neighbours", "replace", "--ledger", tmp_path / "b.db")
    return utmost("release", tmp_path / "t.csv", *arguments, *basic)


def test_release_prints_one_object(tmp_path):
    """--json has value, privacy, accuracy, mechanism, proof, ledger; asked again it is free; then the budget ends."""
    result = release(tmp_path, "--count", "age >= 65", "--privacy", "0.5", "--json")
    assert result.returncode == 0, result.stderr
    content = json.loads(result.stdout)
    assert {"value", "privacy", "accuracy", "mechanism", "proof", "ledger"} <= set(content)
    assert content["privacy"]["words"] == "0.5-DP"
    assert content["ledger"]["amounts"] == {"epsilon": {"spent": 0.5, "limit": 0.5}}
    assert 0 <= content["value"] <= 10
    again = release(tmp_path, "--count", "age >= 65", "--privacy", "0.5", "--json")
    assert json.loads(again.stdout)["value"] == content["value"]
    spent = release(tmp_path, "--count", "age >= 66", "--privacy", "0.5")
    assert spent.returncode == 1
    assert "BudgetSpent" in spent.stderr


def test_release_asks_every_question(tmp_path):
    """Each flag, with a report and a plan."""
    for arguments in (
        ("--sum", "age", "--lower", "0", "--upper", "100"),
        ("--mean", "score", "--lower", "0", "--upper", "5", "--grid", "0.5", "--where", "age > 50"),
        ("--majority", "age >= 65"),
        ("--threshold", "age >= 65", "--at-least", "2"),
        ("--count", "age >= 65", "--loss", "squared", "--type", "age=int"),
    ):
        result = release(tmp_path, *arguments, "--privacy", "1", "--budget", "9", "--report", tmp_path / "r.html")
        assert result.returncode == 0, result.stderr
        assert "report:" in result.stdout
        assert (tmp_path / "r.html").exists()
    planned = release(tmp_path, "--count", "age >= 1", "--privacy", "1", "--plan")
    assert "nothing was read" in planned.stdout
    people = ("--people-by", "id", "--people-at-most", "5", "--rows-each", "2", "--of", "people")
    result = utmost(
        "release",
        tmp_path / "t.csv",
        "--count",
        "age > 1",
        "--privacy",
        "1",
        "--dataset",
        "p",
        "--neighbours",
        "replace",
        *people,
    )
    assert result.returncode == 0, result.stderr
    assert "in memory" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "one question"),
        (("--count", "age > 1", "--majority", "age > 1", "--privacy", "1"), "one question"),
        (("--count", "age > 1"), "--privacy"),
        (("--sum", "age", "--privacy", "1"), "--lower, the lower end"),
        (("--threshold", "age > 1", "--privacy", "1"), "--at-least"),
        (("--count", "age > 1; SELECT 1", "--privacy", "1"), "statements"),
        (("--count", "age > 1", "--privacy", "much"), "--privacy is 'much'"),
        (("--count", "age > 1", "--privacy", "1", "--type", "age"), "age=int"),
        (("--count", "age > 1", "--privacy", "1", "--people-by", "id"), "whose data"),
        (("--count", "nothing > 1", "--privacy", "1"), "no column"),
    ],
)
def test_wrong_flags_are_exit_code_2(arguments, words, tmp_path):
    """Each mistake is named."""
    result = release(tmp_path, *arguments)
    assert result.returncode == 2, result.stdout
    assert words in result.stderr


# ---- the command leaves nothing behind that nobody asked for ----


def test_a_plan_or_a_mistake_opens_no_account(tmp_path):
    """Only a question that is really asked fixes a budget."""
    assert release_command(tmp_path, "--count", "age >= 65", "--privacy", 0.1, "--plan").returncode == 0
    assert release_command(tmp_path, "--count", "agee >= 65", "--privacy", 0.1).returncode == 2
    assert not (tmp_path / "b.db").exists()
    asked = release_command(tmp_path, "--count", "age >= 65", "--privacy", 0.5, "--budget", 3, "--json")
    assert json.loads(asked.stdout)["ledger"]["spent"] == "epsilon 0.5 of 3"
    assert "2.5 of 3 left" in release_command(tmp_path, "--count", "age >= 70", "--privacy", 1, "--plan").stdout


def test_an_engine_that_fails_is_exit_code_1(tmp_path):
    """The spend stands, and the account is suspended: the answer is no, for this question and for others."""
    asked = ("--count", "age >= 65", "--privacy", 0.5, "--budget", 1)
    with (
        mock.patch.object(DuckSource, "rehearse"),
        mock.patch.object(DuckSource, "one_row", side_effect=RuntimeError),
    ):
        failed = release_command(tmp_path, *asked)
    assert failed.returncode == 1
    assert failed.stderr.startswith("AccountSuspended: ")
    assert "0.5 of 1 left" in release_command(tmp_path, *asked, "--plan").stdout
    assert release_command(tmp_path, "--count", "age >= 70", "--privacy", 1).stderr == failed.stderr


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--count", "age >= 65", "--where", "town = 'y'"), "--where"),
        (("--majority", "age >= 65", "--of", "people"), "--of"),
        (("--count", "age >= 65", "--lower", 3), "--lower"),
        (("--sum", "age", "--lower", 0, "--upper", 9, "--at-least", 4), "--at-least"),
    ],
)
def test_options_a_question_does_not_take_are_refused(options, named, tmp_path):
    """Nothing is ignored silently."""
    result = release_command(tmp_path, *options, "--privacy", 1)
    assert result.returncode == 2
    assert f"{named} belongs to" in result.stderr


def test_reports_go_where_they_can_before_anything_is_spent(tmp_path):
    """No folder, no page, or another file in the way: refused, and nothing is charged."""
    (tmp_path / "t.json").write_text('{"mine": 1}')
    for report in (tmp_path / "no" / "x.html", tmp_path / "x.json", tmp_path / "t.html"):
        result = release_command(tmp_path, "--count", "age >= 65", "--privacy", 1, "--report", report)
        assert result.returncode == 2, result.stderr
    assert not (tmp_path / "b.db").exists()
    assert (tmp_path / "t.json").read_text() == '{"mine": 1}'
    fine = release_command(tmp_path, "--count", "age >= 65", "--privacy", 1, "--report", tmp_path / "x.html")
    assert fine.returncode == 0, fine.stderr
    assert (tmp_path / "x.html").exists()


def test_the_demonstration_replaces_nobodys_ledger(tmp_path):
    """A folder that holds anything else is refused."""
    (tmp_path / "budget.db").write_bytes(b"mine")
    result = utmost("demo", "--out", tmp_path)
    assert result.returncode == 2
    assert (tmp_path / "budget.db").read_bytes() == b"mine"
