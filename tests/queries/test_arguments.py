"""Arguments of sessions, audits and the demonstration: out of range or of the wrong kind, they are refused at once."""

from unittest import mock

import numpy as np
import pandas as pd
import pyarrow
import pytest
from oracles.command import utmost

import utmost as um
from utmost.errors import InvalidInput
from utmost.queries import release as release_module

TABLE = pyarrow.table({"age": [70, 25, 80, 41] * 5, "town": ["Ash", "Briar", "Ash", None] * 5})
QUESTIONS = {
    "count": lambda s, e, **o: s.count("age >= 65", e, **o),
    "sum": lambda s, e, **o: s.sum("age", 0, 100, e, **o),
    "mean": lambda s, e, **o: s.mean("age", 0, 100, e, **o),
    "majority": lambda s, e, **o: s.majority("age >= 65", e, **o),
    "threshold": lambda s, e, **o: s.threshold("age >= 65", 10, e, **o),
    "counts": lambda s, e, **o: s.counts(["age >= 65", "age >= 40"], e, **o),
    "histogram": lambda s, e, **o: s.histogram("town", ["Ash", "Briar"], e, **o),
    "plurality": lambda s, e, **o: s.plurality("town", ["Ash", "Briar"], e, **o),
    "quantile": lambda s, e, **o: s.quantile("age", 0.5, [20, 50, 80], e, **o),
    "batch": lambda s, e, **o: s.batch([s.plan.count("age >= 65", e)], **o)[0],
}


def opened(**options):
    return um.Session(TABLE, "survey", um.rows(at_most=30), "add-remove", budget=100, **options)


@pytest.mark.parametrize("kind", QUESTIONS)
@pytest.mark.parametrize(
    ("privacy", "words"),
    [
        (1e9, "up to 500"),
        (501, "up to 500"),
        ("1e-7", "below epsilon = 1e-06"),
        (1e-300, "below epsilon = 1e-06"),
        (0, "above 0"),
        (float("inf"), "finite"),
    ],
)
def test_no_answer_beyond_the_levels_that_mean_something(kind, privacy, words):
    """At once, in words, with nothing spent: not after minutes of arithmetic."""
    s = opened()
    with pytest.raises(InvalidInput, match=words):
        QUESTIONS[kind](s, privacy)
    assert not s.account.entries()


@pytest.mark.parametrize("kind", QUESTIONS)
@pytest.mark.parametrize("privacy", [500, "2e-6"])
def test_answers_at_the_ends_of_the_levels(kind, privacy):
    s = um.Session(TABLE, "survey", um.rows(at_most=30), "add-remove", budget=500)
    assert QUESTIONS[kind](s, privacy).value is not None


def test_levels_with_a_delta_or_a_mu():
    """A delta makes a small epsilon meaningful; no mu, or all of it, is refused like no epsilon."""
    delta = um.Session(TABLE, "survey", um.rows(at_most=30), "add-remove", budget=um.ApproxDP(9, 0.1))
    assert delta.majority("age >= 65", um.ApproxDP(0, 0.01)).value in (True, False)
    with pytest.raises(InvalidInput, match="up to 500"):
        delta.majority("age >= 65", um.ApproxDP(1000, 0.01))
    gaussian = um.Session(TABLE, "survey", um.rows(at_most=30), "add-remove", budget=um.GaussianDP(9))
    for mu in (0, float("inf")):
        with pytest.raises(InvalidInput, match="give a"):
            gaussian.majority("age >= 65", um.GaussianDP(mu))


@pytest.mark.parametrize("how", ["session", "batch", "schedule"])
def test_everything_public_is_computed_before_the_spend(how):
    """What fails, or takes its time, while a mechanism is designed and proved, does so before anything is charged."""
    s = opened()
    exploring = s.schedule(1, slots=3)
    plan = s.plan.count("age >= 65", 1)
    before = str(s.spent)
    interrupted = mock.patch.object(release_module, "proved_private", side_effect=KeyboardInterrupt)
    with interrupted, pytest.raises(KeyboardInterrupt):
        {"session": lambda: s.count("age >= 65", 1), "batch": lambda: s.batch([plan])}.get(
            how, lambda: exploring.count("age >= 65")
        )()
    assert str(s.spent) == before
    assert exploring.left == 3


@pytest.mark.parametrize("fresh", ["False", 0, None, pd.Series([True, False]), np.array([True, False])])
@pytest.mark.parametrize("kind", QUESTIONS)
def test_fresh_is_true_or_false(kind, fresh):
    """Anything else would draw, and charge, again by mistake."""
    s = opened()
    for target in (s, s.plan):
        if target is s.plan and kind == "batch":
            continue
        with pytest.raises(InvalidInput, match="fresh is"):
            QUESTIONS[kind](target, 1, fresh=fresh)
    assert not s.account.entries()


@pytest.mark.parametrize("kind", QUESTIONS)
def test_an_answer_says_that_it_was_recorded(kind, tmp_path):
    """Nothing was spent now, and it says so; its data and pages are the same bytes."""
    s, ask = opened(), QUESTIONS[kind]
    first, again = ask(s, 1), ask(s, 1)
    drawn = ask(s, 1, fresh=True)
    assert (first.recorded, again.recorded, drawn.recorded) == (False, True, False)
    assert "nothing was spent now" in str(again)
    assert "nothing was spent now" not in str(first) + str(drawn)
    again = ask(opened(ledger=s.ledger), 1)
    assert again.recorded
    assert again.to_json() == drawn.to_json()


def asked(table):
    return um.Session(table, "audit", um.rows(at_most=30), "add-remove", budget=1).count("age >= 65", 1)


@pytest.mark.parametrize(
    ("question", "runs", "words"),
    [("x", 200, "a function"), (None, 200, "a function"), (asked, 10**400, "100 to"), (asked, 10**7 + 1, "100 to")],
)
def test_an_audit_checks_what_it_is_given(question, runs, words):
    with pytest.raises(InvalidInput, match=words):
        um.audit(question, TABLE, TABLE, runs)


@pytest.mark.parametrize("place", ["file", "file/below", "/proc/nothing"])
def test_the_demonstration_says_where_it_cannot_write(tmp_path, place):
    (tmp_path / "file").write_text("mine")
    result = utmost("demo", "--out", tmp_path / place)
    assert result.returncode == 2
    assert "name a new one" in result.stderr
    assert (tmp_path / "file").read_text() == "mine"


def test_a_session_in_a_notebook_shows_its_terms_and_no_row():
    shown = opened()._repr_html_()
    assert "rows, at most 30; add-remove" in shown
    assert "epsilon 100 of 100 left" in shown
    assert "Briar" not in shown


HUGE = 10**400
WRONG = {
    "a category": lambda s: s.histogram("age", [HUGE, 1], 1),
    "a category of a float column": lambda s: s.histogram("weight", [HUGE, 1], 1),
    "a candidate": lambda s: s.plurality("weight", [1, HUGE], 1),
    "a prior": lambda s: s.count("age >= 65", 1, prior=[HUGE] * 31),
    "a name": lambda s: s.counts({float("nan"): "age >= 65", (): "age >= 40"}, 1),
    "a number as a name": lambda s: s.counts({1: "age >= 65"}, 1),
    "an empty name": lambda s: s.counts({" ": "age >= 65"}, 1),
    "a nameless cell": lambda s: s.histogram("town", ["Ash"], 1, other=""),
    "too many rows": lambda s: um.rows(at_most=10**13),
    "a long id column": lambda s: um.Session(TABLE, "d", um.people("x" * 5000, 1, 9), "replace", budget=1),
}


@pytest.mark.parametrize("what", WRONG)
def test_odd_values_are_refused_in_words(what):
    s = um.Session(TABLE.append_column("weight", [[1.5] * 20]), "d", um.rows(at_most=30), "add-remove", budget=100)
    with pytest.raises(InvalidInput) as caught:
        WRONG[what](s)
    assert len(str(caught.value)) < 600
    assert not s.account.entries()
    if what == "too many rows":
        assert "10^12" in str(caught.value)


# ---- numbers and names beyond all bounds ----


def test_what_no_float_or_file_system_holds_is_refused_in_words():
    s = um.Session(pyarrow.table({"x": [1], "town": ["a"]}), "d", um.rows(at_most=9), "replace", budget=1)
    with pytest.raises(InvalidInput, match="add up to 1"):
        s.plan.plurality("town", ["a", "b"], 1, prior={(1, 1): 10**400})
    with pytest.raises(InvalidInput, match="increasing order"):
        s.plan.quantile("x", 0.5, {1, 2, 3}, 1)
    with pytest.raises(InvalidInput, match="there is no file") as refused:
        um.Session("a" * 5000 + ".csv", "d", um.rows(at_most=9), "replace", budget=1)
    assert len(str(refused.value)) < 400
    with pytest.raises(InvalidInput, match="there is no column") as refused:
        s.plan.count("a" * 5000 + " > 1", 1)
    assert len(str(refused.value)) < 400
    assert s.smallest_privacy(s.plan.count(None, 1), 10**400) == um.PureDP(0.0001)


@pytest.mark.parametrize("ask", ["histogram", "plurality", "quantile"])
def test_a_wrong_condition_is_refused_by_the_plan(ask):
    s = um.Session(TABLE, "d", um.rows(at_most=30), "replace", budget=1)
    asked = {
        "histogram": ("town", ["Ash"]),
        "plurality": ("town", ["Ash", "Briar"]),
        "quantile": ("age", 0.5, [20, 50]),
    }
    with pytest.raises(InvalidInput, match="there is no column 'agee'"):
        getattr(s.plan, ask)(*asked[ask], 1, where="agee > 3")


def test_rows_in_all_are_counted_in_64_bits():
    """Beyond them a plurality ended in NumPy's words."""
    with pytest.raises(InvalidInput, match=r"10\^18"):
        um.people("id", rows_each=10**12, at_most=10**12)
    table = pyarrow.table({"id": ["a"], "c": ["x"]})
    s = um.Session(table, "d", um.people("id", rows_each=10**6, at_most=10**12), "replace", budget=1)
    assert s.plan.plurality("c", ["x", "y", "z"], privacy=1).solution.certificate.method


@pytest.mark.parametrize(
    "categories",
    [
        np.array(["Ash", "Briar"]),
        pd.Series(["Ash", "Briar"]),
        pd.Index(["Ash", "Briar"]),
        pd.Categorical(["Ash", "Briar"]),
        pd.CategoricalDtype(["Ash", "Briar"]),
        pyarrow.array(["Ash", "Briar"]),
        ("Ash", "Briar"),
    ],
    ids=lambda c: type(c).__name__,
)
def test_categories_may_come_in_columns_of_libraries(categories):
    """The plan is that of the same names in a list, and so are the keys of its ledger entry."""
    plain = opened().plan.histogram("town", ["Ash", "Briar"], 1)
    assert str(opened().plan.histogram("town", categories, 1)) == str(plain)
    vote = opened().plan.plurality("town", ["Ash", "Briar"], 1)
    assert str(opened().plan.plurality("town", categories, 1)) == str(vote)


def test_too_many_candidates_are_counted_and_the_limit_named():
    """A million and one candidates of a quantile, or 211 of a vote: how many there are, and how many there may be."""
    with pytest.raises(InvalidInput, match="there are 1,000,001 candidates; give at most 1,000,000"):
        opened().plan.quantile("age", 0.5, range(10**6 + 1), 1)
    with pytest.raises(InvalidInput, match="there are 211 candidates; give 2 to 100"):
        opened().plan.plurality("town", [str(i) for i in range(211)], 1)
    few = opened().plan.quantile("age", 0.5, [20, 50, 80], 1)
    for candidates in (np.array([20, 50, 80]), pd.Series([20, 50, 80])):
        assert str(opened().plan.quantile("age", 0.5, candidates, 1)) == str(few)
