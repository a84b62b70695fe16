"""A frame or column given where a public value belongs is named by its type: no private row stands in an error."""

import ibis
import pandas as pd
import polars as pl
import pyarrow
import pytest

import utmost as um
from utmost.errors import UtmostError, shown

SECRET = "Zaphod"
FRAME = pd.DataFrame({"age": [424242, 515151], "town": [SECRET, SECRET + "2"], "id": ["Zaphod3", "Zaphod4"]})


def opened(**options):
    given = {"table": FRAME, "dataset": "d", "unit": um.rows(at_most=50), "neighbours": "replace", "budget": 10}
    return um.Session(**(given | options))


def columns():
    yield "pandas", FRAME.age, FRAME.town
    yield "numpy", FRAME.age.to_numpy(), FRAME.town.to_numpy(dtype=object)
    yield "frame", FRAME[["age"]], FRAME[["town"]]
    yield "polars", pl.Series([424242, 515151]), pl.Series([SECRET, SECRET])
    yield "arrow", pyarrow.array([424242, 515151]), pyarrow.array([SECRET, SECRET])


MISTAKES = {
    "where": lambda s, age, town: s.count(age, 1),
    "condition": lambda s, age, town: s.count(town == SECRET, 1),
    "of": lambda s, age, town: s.count("age > 1", 1, of=town),
    "of of a threshold": lambda s, age, town: s.threshold("age > 1", 2, 1, of=town),
    "loss": lambda s, age, town: s.count("age > 1", 1, loss=town),
    "prior": lambda s, age, town: s.count("age > 1", 1, prior=town),
    "prior of numbers": lambda s, age, town: s.count("age > 1", 1, prior=age),
    "privacy": lambda s, age, town: s.count("age > 1", age),
    "at_least": lambda s, age, town: s.threshold("age > 1", age, 1),
    "column": lambda s, age, town: s.sum(age, 0, 100, 1),
    "lower": lambda s, age, town: s.sum("age", age, 100, 1),
    "upper": lambda s, age, town: s.mean("age", 0, age, 1),
    "grid": lambda s, age, town: s.sum("age", 0, 100, 1, grid=age),
    "conditions": lambda s, age, town: s.counts(age, 1),
    "a condition": lambda s, age, town: s.counts([town, age], 1),
    "histogram's column": lambda s, age, town: s.histogram(town, ["a"], 1),
    "two columns": lambda s, age, town: s.histogram([town, age], [["a"], ["b"]], 1),
    "categories": lambda s, age, town: s.histogram("age", town, 1),
    "other": lambda s, age, town: s.histogram("town", ["a"], 1, other=town),
    "plurality's column": lambda s, age, town: s.plurality(town, ["a", "b"], 1),
    "candidates": lambda s, age, town: s.plurality("age", town, 1),
    "tally": lambda s, age, town: s.plurality("town", ["a", "b"], 1, prior=town),
    "quantile's candidates": lambda s, age, town: s.quantile("age", 0.5, town, 1),
    "quantile's column": lambda s, age, town: s.quantile(age, 0.5, [1, 2], 1),
    "q": lambda s, age, town: s.quantile("age", age, [1, 2], 1),
    "accuracy": lambda s, age, town: s.smallest_privacy(s.plan.count(None, 1), age),
    "slots": lambda s, age, town: s.schedule(0.1, age),
    "delta": lambda s, age, town: s.batch([s.plan.count(None, 1)], delta=age),
    "batch": lambda s, age, town: s.batch(town),
    "dataset": lambda s, age, town: opened(dataset=town),
    "unit": lambda s, age, town: opened(unit=town),
    "neighbours": lambda s, age, town: opened(neighbours=town),
    "budget": lambda s, age, town: opened(budget=age),
    "ledger": lambda s, age, town: opened(ledger=town),
    "types": lambda s, age, town: opened(types=town),
    "id": lambda s, age, town: um.people(town, 1, 5),
    "rows_each": lambda s, age, town: um.people("id", age, 5),
    "at_most": lambda s, age, town: um.rows(age),
    "runs": lambda s, age, town: um.audit(lambda t: None, FRAME, FRAME, age),
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("kind", [kind for kind, _, _ in columns()])
def test_no_row_stands_in_an_error(mistake, kind):
    age, town = next((age, town) for name, age, town in columns() if name == kind)
    with pytest.raises(UtmostError) as raised:
        MISTAKES[mistake](opened(), age, town)
    _says_nothing(str(raised.value))


@pytest.mark.parametrize("mistake", [each for each in MISTAKES if each != "condition"])  # that one is right
def test_no_row_stands_in_an_error_where_ibis_prints_what_it_reads(mistake, monkeypatch):
    monkeypatch.setattr(ibis.options, "interactive", True)
    s = opened()
    with pytest.raises(UtmostError) as raised:
        MISTAKES[mistake](s, s.table.age, s.table.town)
    _says_nothing(str(raised.value))


@pytest.mark.parametrize("interactive", [True, False])
def test_a_column_of_the_table_lists_no_public_values(monkeypatch, interactive):
    """Its values would be read, and published as the names of cells, with nothing spent on them."""
    monkeypatch.setattr(ibis.options, "interactive", interactive)
    s = opened()
    for ask in (
        lambda: s.histogram("town", s.table.town, 1),
        lambda: s.histogram(["town", "id"], [s.table.town, s.table.id], 1),
        lambda: s.plurality("town", s.table.town, 1),
        lambda: s.quantile("age", 0.5, s.table.age, 1),
    ):
        with pytest.raises(UtmostError) as raised:
            ask()
        _says_nothing(str(raised.value))
    assert not s.account.entries()


def test_a_category_that_stands_twice_is_not_named():
    with pytest.raises(UtmostError, match="name one twice") as raised:
        opened().histogram("town", FRAME.town.repeat(2), 1)
    _says_nothing(str(raised.value))


def test_what_a_session_prints_holds_no_row_where_ibis_prints_what_it_reads(monkeypatch):
    monkeypatch.setattr(ibis.options, "interactive", True)
    s = opened()
    asked = [s.sum("age", 0, 5, 1), s.mean("age", 0, 5, 1), s.majority("age > 1", 1), s.histogram("town", ["a"], 1)]
    for each in (s, s.terms, s.plan, s.source, *asked, *(answer.question for answer in asked)):
        _says_nothing(repr(each))


def test_public_values_are_shown():
    assert shown("yes") == "'yes'"
    assert shown((1,)) == "(1,)"
    assert shown([1, "a", None]) == "[1, 'a', None]"
    assert shown(FRAME.age) == "a Series"
    assert shown([FRAME.age]) == "a list"
    assert shown(list(range(1000))) == "a list"
    assert len(shown("x" * 10_000)) < 300


@pytest.mark.parametrize("prior", [["a"] * 51, [None, "b"] * 25, object(), [-1.0] + [0.04] * 50, [float("nan")] * 51])
def test_a_prior_that_is_none_is_refused(prior):
    with pytest.raises(um.errors.InvalidInput, match="prior"):
        opened().count("age > 1", 1, prior=prior)


@pytest.mark.parametrize(
    ("upper", "grid"), [("1e400", "1e390"), ("1e-315", "1e-320"), ("1e-300", "1e-310"), (1, f"1/{10**300}")]
)
def test_ranges_beyond_floating_point_are_refused(upper, grid):
    for ask in (opened().sum, opened().mean):
        with pytest.raises(um.errors.InvalidInput):
            ask("age", 0, upper, 1, grid=grid)


def test_a_large_and_a_small_range_are_answered():
    for upper, grid in (("1e120", "1e116"), ("1e-116", "1e-120")):
        assert opened().sum("age", 0, upper, 1, grid=grid).value >= 0


def _says_nothing(text):
    for private in (SECRET, "424242", "515151"):
        assert private not in text
