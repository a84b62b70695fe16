"""Counts, histograms, winners and quantiles: the right statistics, never worse than others, and what people see."""

import enum
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from oracles.questions import Setting, count, counts, histogram, majority, mean, plurality, quantile, threshold, total
from oracles.tables import as_table, session, tables

import utmost as um
from utmost.accounting.entries import LedgerState
from utmost.backends import opening
from utmost.errors import InvalidInput, NotRowWise, UnsupportedLevel
from utmost.queries.answers import Answer

SECRET = b"s" * 32


def asked(listed, unit, neighbours, epsilon=1):
    """One of each question about several counts or candidates."""
    setting = Setting(opening.open_table(as_table(listed)), unit, neighbours)
    return {
        "counts": counts(setting, ["n >= 0", "x > 1", "ok"], epsilon, "rows", "absolute"),
        "one column": histogram(setting, "id", ["a", "b", "c"], epsilon, "elsewhere", None, "rows", "absolute"),
        "two columns": histogram(
            setting, ["ok", "n"], [[True, False], [1, 2]], epsilon, None, "x > 0", "rows", "squared"
        ),
        "winner": plurality(setting, "n", [1, -1, 0], epsilon, "ok OR ok IS NULL", "rows", "zero-one", None),
        "median": quantile(setting, "x", "1/2", [-2, 0, 1, 4], epsilon, None, "rows", "absolute", None),
        "third": quantile(setting, "x", "1/3", [-2, 0.5, 2.5], epsilon, "n < 5", "rows", "zero-one", None),
    }


def found(question):
    return question.point(question.statement(SECRET))


def nearest(x, candidates):
    return min(range(len(candidates)), key=lambda i: (abs(Fraction(x) - Fraction(candidates[i])), i))


@settings(max_examples=20)
@given(tables)
def test_statistics_against_python(listed):
    """Counts and cells as a loop over the rows finds them."""
    point = {name: found(q) for name, q in asked(listed, um.rows(at_most=1000), "replace").items()}
    known = [x for _, x, _, _ in listed if x is not None and not math.isnan(x)]
    assert list(point["counts"].values()) == [
        sum(n is not None and n >= 0 for _, _, n, _ in listed),
        sum(x > 1 for x in known),
        sum(ok is True for *_, ok in listed),
    ]
    cells = Counter(i if i in ("a", "b", "c") else "elsewhere" for i, *_ in listed)
    assert point["one column"] == {c: cells[c] for c in ("a", "b", "c", "elsewhere")}
    pairs = Counter((ok, n) for _, x, n, ok in listed if x is not None and x > 0)
    assert point["two columns"] == {f"{ok}, {n}": pairs[ok, n] for ok in (True, False) for n in (1, 2)}
    votes = Counter(n for _, _, n, ok in listed if ok is not False)
    assert point["winner"] == {"tally": [votes[1], votes[-1], votes[0]]}
    ranks = Counter(0 if x == -math.inf else 3 if x == math.inf else nearest(x, [-2, 0, 1, 4]) for x in known)
    assert point["median"] == {"tally": [ranks[i] for i in range(4)]}


def test_rows_of_a_person_are_bounded_jointly():
    """A person with many rows in many cells counts with as many as are kept, over all conditions together."""
    listed = [("a", float(i), i % 3, True) for i in range(9)]
    for name, question in asked(listed, um.people("id", rows_each=2, at_most=4), "replace").items():
        point = found(question)
        cells = point.get("tally") or point.values()
        total = max(cells) if name == "counts" else sum(cells)
        assert total <= 2, name
    setting = Setting(opening.open_table(as_table(listed)), um.people("id", rows_each=2, at_most=4), "replace")
    once = histogram(setting, "n", [0, 1, 2], 1, None, None, "people", "absolute")
    assert sum(found(once).values()) == 1


# ---- which mechanism, and never worse ----


@pytest.mark.parametrize("epsilon", [pytest.param(0.1, marks=pytest.mark.long), 1])
def test_never_worse_than_the_alternatives(epsilon):
    """In the declared loss under the declared prior, at two levels, rows and people, both neighbours."""
    for neighbours in ("replace", "add-remove"):
        for unit in (um.rows(at_most=300), um.people("id", rows_each=3, at_most=100)):
            for name, one in asked([], unit, neighbours, epsilon).items():
                question = one.question
                by = question.expected_losses()
                assert next(iter(by)) == "Utmost"
                assert len(by) > 1
                for other, losses in by.items():
                    assert by["Utmost"][question.loss] <= losses[question.loss] * (1 + 1e-9), (name, other)
                assert by["Utmost"][question.loss] == pytest.approx(question.before().average)


# ---- what people see ----


def test_reports_do_not_depend_on_the_table(tmp_path):
    """Two tables, the same released values: the same JSON and the same page, byte for byte."""
    state = LedgerState(1, "t", "1", "0", {}, "0" * 64, True)
    one = asked([("a", 1.0, 1, True)] * 9, um.rows(at_most=20), "replace")
    two = asked([], um.rows(at_most=20), "replace")
    for name, question in one.items():
        released = question.release(question.statement(SECRET))
        pages = []
        for i, other in enumerate((question, two[name])):
            answer = Answer(other.question, "survey", released, state, source=other.source)
            page = answer.report(tmp_path / f"{i}.html")
            pages.append((answer.to_json(), str(answer), page.read_bytes(), page.with_suffix(".json").read_bytes()))
        assert pages[0] == pages[1]


def test_answers_from_a_session():
    """Values in the order asked, recorded in the ledger, found again at no cost; plans read nothing."""
    s = session(
        [*[("a", 1.0, 1, True), ("b", 4.0, 2, False)] * 8, ("b", 4.0, 2, None)], um.rows(at_most=20), "add-remove"
    )
    answer = s.histogram("id", ["b", "a"], privacy=50, other="else")
    assert answer.value == {"b": 9, "a": 8, "else": 0}
    assert list(answer.value) == ["b", "a", "else"]
    assert s.histogram("id", ["b", "a"], privacy=50, other="else").head == answer.head
    assert s.counts({"old": "n > 1", "young": "n < 5"}, privacy=50).value == {"old": 9, "young": 17}
    assert s.plurality("id", ["b", "a"], privacy=50).value == "b"
    assert s.quantile("x", 0.75, [0, 1, 2, 4], privacy=50).value == 4
    assert str(s.spent) == "epsilon 200 of 1000"
    assert s.plan.plurality("id", ["b", "a"], privacy=1).accuracy["before"]["average"] < 0.2
    assert "permute and flip" in str(s.plan.plurality("id", ["b", "a", "c"], privacy=1))


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (lambda s: s.counts("n > 1", 1), "list them"),
        (lambda s: s.counts([], 1), "1 to 100"),
        (lambda s: s.counts([f"n > {i}" for i in range(101)], 1), "101 conditions; give 1 to 100"),
        (lambda s: s.counts(["n > 1", "n > 2", "n > 1 "], 1), "'n > 1' is listed twice"),
        (lambda s: s.counts(["n > 1", None], 1), "a condition is None"),
        (lambda s: s.counts([None, "n > 1"], 1), "a condition is None"),
        (lambda s: s.counts({"many": None}, 1), "a condition is None"),
        (lambda s: s.counts(["n > 1", "n > avg(n)"], 1), "not allowed"),
        (lambda s: s.histogram("nothing", ["a"], 1), "no column"),
        (lambda s: s.histogram("id", "ab", 1), "list them"),
        (lambda s: s.histogram("id", ["a", "a"], 1), "twice"),
        (lambda s: s.histogram("id", ["a", 1], 1), "all texts"),
        (lambda s: s.histogram("id", [1, 2], 1), "another kind"),
        (lambda s: s.histogram("x", [math.nan], 1), "finite"),
        (lambda s: s.histogram("n", [1.5], 1), "whole numbers"),
        (lambda s: s.histogram("id", ["a"], 1, other="a"), "not a category"),
        (lambda s: s.histogram("n", [1, 2], 1, other="1"), "the same name"),
        (lambda s: s.histogram(["id", "id"], [["a"], ["b"]], 1), "two columns"),
        (lambda s: s.histogram(["id", "n", "ok"], [["a"], [1], [True]], 1), "two columns"),
        (lambda s: s.histogram("n", list(range(2000)), 1), "at most 1000 are counted at once; list fewer"),
        (lambda s: s.histogram("id", ["a"], um.ApproxDP(1, 0.1)), "pure levels"),
        (lambda s: s.plurality("id", ["a"], 1), "2 to 100"),
        (lambda s: s.plurality("id", ["a", "b"], 1, prior={(1,): 1}), "2 whole numbers"),
        (lambda s: s.plurality("id", ["a", "b"], 1, loss="absolute"), "loss is"),
        (lambda s: s.plurality("id", ["a", "b"]), "no default"),
        (lambda s: s.quantile("x", 1, [0, 1], 1), "between 0 and 1"),
        (lambda s: s.quantile("x", 0.5, [1, 0], 1), "increasing"),
        (lambda s: s.quantile("id", 0.5, [0, 1], 1), "not numbers"),
        (lambda s: s.counts(["n > 1"], 1, of="people"), "people"),
    ],
)
def test_wrong_use_says_what_to_do(question, words):
    """Nothing is spent."""
    s = session([("a", 1.0, 1, True)], um.rows(at_most=20))
    with pytest.raises((InvalidInput, NotRowWise, UnsupportedLevel), match=words):
        question(s)
    assert str(s.spent) == "epsilon 0 of 1000"


def test_candidates_keep_their_kind():
    """1, 1.0 and True are equal in Python; what is named is what was listed."""
    s = session([("a", 1.0, 1, True)] * 15, um.rows(at_most=20))
    for column, candidates in (("n", [1, 0]), ("ok", [True, False]), ("x", [1.0, 0.0])):
        value = s.plurality(column, candidates, privacy=50).value
        assert value == 1
        assert type(value) is type(candidates[0])


def test_a_listed_prior_is_exact():
    """The expected loss is that of the listed tallies' rows, and naming one whatever the table holds costs no more."""
    s = session([], um.rows(at_most=20))
    plan = s.plan.plurality("id", ["a", "b"], 1, prior={(3, 3): 0.5, (2, 3): 0.5})
    law = plan.solution.mechanism.probabilities(np.array([[3, 3], [2, 3]]))
    assert plan.before.average == pytest.approx((law[0, 1] + law[1, 0]) / 2)
    assert plan.before.average == pytest.approx(1 / (1 + math.e), rel=1e-5)  # neighbours: randomised response
    assert plan.before.holds == "average: exact, under the listed prior; worst: over all tallies"


def test_audits_of_counts_and_candidates():
    """Neighbouring tables asked many times: the promise is not contradicted."""
    one, other = [("a", 1.0, 1, True)] * 3, [("a", 1.0, 1, True)] * 2 + [("b", 4.0, 2, True)]

    def ask(question):
        return lambda listed: question(session(listed, um.rows(at_most=9), "replace"))

    for question in (
        lambda s: s.plurality("id", ["a", "b", "c"], privacy=1),
        lambda s: s.counts(["n > 1", "ok"], privacy=1),
        lambda s: s.histogram("id", ["a", "b"], privacy=1),
        lambda s: s.quantile("x", 0.5, [1, 4], privacy=1),
    ):
        found = um.audit(ask(question), one, other, runs=1000)
        assert not found.broken, str(found)


class Town(str, enum.Enum):  # noqa: UP042  (a StrEnum writes itself alike)
    """Texts that str() writes as 'Town.ASH', and JSON as 'ash'."""

    ASH = "ash"
    BRIAR = "briar"


class Few(enum.IntEnum):
    ONE = 1
    TWO = 2


class Loud(str):
    """A text that shows another."""

    def __str__(self):
        return "loud"

    __repr__ = __str__

    def __format__(self, form):
        return "loud"


def test_values_of_enums_ask_what_plain_ones_ask():
    """SQL, the names of cells, the words and the ledger's identity are made of one value."""
    table = pyarrow.table(
        {"town": ["ash"] * 7 + ["briar"] * 3, "n": [1] * 6 + [2] * 4, "id": [str(i) for i in range(10)]}
    )
    unit = um.people(Loud("id"), rows_each=np.int64(1), at_most=Few.TWO * 10)
    assert str(unit) == "people by 'id', 1 row each, chosen before any condition, at most 20"

    def every(setting, text, number):
        t, n = text, number
        yield histogram(setting, t("town"), [t("ash"), t("briar")], 1, t("other"), t("n < 3"), t("rows"), t("squared"))
        yield histogram(
            setting, [t("town"), t("n")], [[t("ash")], [n(1), n(2)]], 1, None, None, t("people"), "absolute"
        )
        yield plurality(setting, t("town"), (t("briar"), t("ash")), 1, t("n < 3"), t("rows"), t("zero-one"), None)
        yield plurality(setting, t("n"), [n(2), n(1)], 1, None, "rows", "shortfall", {(n(1), n(2)): 1})
        yield quantile(setting, t("n"), "1/2", [n(1), n(2)], 1, t("n < 3"), t("rows"), t("rank"), None)
        yield counts(setting, {t("one"): t("n = 1"), t("two"): t("town = 'ash'")}, 1, t("people"), t("absolute"))
        yield counts(setting, [t("n = 1")], 1, t("rows"), t("within 2"))
        yield count(setting, t("town = 'ash'"), 1, t("people"), t("absolute"), None)
        yield threshold(setting, t("town = 'ash'"), n(2), 1, t("rows"), t("zero-one"), None)
        yield majority(setting, t("town = 'ash'"), 1, t("zero-one"), None)
        yield total(setting, t("n"), n(1), n(2), 1, t("n < 3"), 1, t("absolute"), None)
        yield mean(setting, t("n"), n(1), n(2), 1, t("n < 3"), 1, t("absolute"))

    def enumerated(text):
        return Town(text) if text in ("ash", "briar") else Loud(text)

    setting = Setting(opening.open_table(table), unit, "replace")
    known = list(every(setting, str, int))
    for text, number in ((enumerated, Few), (Loud, np.int64), (np.str_, np.int8)):
        for question, wanted in zip(every(setting, text, number), known, strict=True):
            assert repr(question.question.public) == repr(wanted.question.public)
            assert question.question.words == wanted.question.words
            assert question.point(question.statement(SECRET)) == wanted.point(wanted.statement(SECRET))
    s = um.Session(table, "d", um.rows(at_most=20), "replace", budget=1000)
    assert s.histogram("town", list(Town), privacy=50).value == {"ash": 7, "briar": 3}
    again = s.histogram("town", ["ash", "briar"], privacy=50)
    assert (again.value, again.recorded) == ({"ash": 7, "briar": 3}, True)
    assert type(s.plurality("town", list(Town), privacy=50).value) is str
