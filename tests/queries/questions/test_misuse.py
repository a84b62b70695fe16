"""Questions asked with arguments that are missing or unknown: an error of ours that says which and what to do."""

import inspect
import subprocess
import sys

import pyarrow
import pytest

import utmost as um
from utmost.errors import InvalidInput
from utmost.queries.methods import QueryMethods, parameters_of
from utmost.serve.wire import METHODS, read_query


@pytest.fixture(scope="module")
def session():
    table = pyarrow.table({"age": [70, 25, 80, 41] * 5, "town": ["a", "b"] * 10})
    return um.Session(table, "misuse", um.rows(at_most=30), "add-remove", budget=1000)


MISTAKES = {
    "mean needs lower.*upper.*public": lambda s: s.mean("age", privacy=1),
    "share needs among": lambda s: s.share("age > 30", 1),
    "cdf is not asked by keys; count, sum, mean, majority, threshold, quantile, variance take `by`.": lambda s: s.cdf(
        "age", [1, 2], 1, by=um.keys(town=["a"])
    ),
    "count has no argument 'epsilon'; count takes": lambda s: s.count("age > 30", epsilon=1),
    "histogram needs column.*categories": lambda s: s.histogram(privacy=1),
    "sum is given lower twice": lambda s: s.sum("age", 0, 100, 1, lower=0),
    "count takes where, privacy by position": lambda s: s.count("age > 30", 1, "rows"),
}


@pytest.mark.parametrize("words", MISTAKES)
def test_what_is_missing_or_unknown_is_named(session, words):
    for methods in (session, session.plan):
        with pytest.raises(InvalidInput, match=words):
            MISTAKES[words](methods)


def test_a_mistake_of_ours_stays_what_it_is(session, monkeypatch):
    """Only arguments that do not fit are turned into our error."""

    def broken(*given, **named):
        raise TypeError("inside")

    monkeypatch.setattr(type(session), "_ask", broken)
    with pytest.raises(TypeError, match="inside"):
        session.count("age > 30", 1)


def test_signatures_are_kept():
    assert list(inspect.signature(QueryMethods.mean).parameters)[:4] == ["self", "column", "lower", "upper"]
    assert QueryMethods.mean.__doc__


def test_levels_may_be_written_as_text(session):
    assert session.plan.count("age > 30", privacy="0.5").privacy == um.PureDP(0.5)
    gaussian = um.Session(pyarrow.table({"age": [1]}), "text", um.rows(at_most=5), "replace", budget="rho=0.5")
    assert gaussian.plan.count("age > 0", privacy="rho=0.1").privacy == um.ZCDP("0.1")
    assert um.certify([[0.75, 0.25], [0.25, 0.75]], um.path(2), "1.1,1e-6").level == um.ApproxDP("1.1", "1e-6")
    with pytest.raises(InvalidInput, match="privacy is 'eps=1'"):
        session.plan.count("age > 30", privacy="eps=1")


def test_histograms_and_cdfs_are_tables(session):
    found = session.histogram("town", ["a", "b"], 200, other="else")
    counted = (("a", 10), ("b", 10), ("else", 0))
    assert found.table.to_pylist() == [
        {"town": name, "value": count, "lower": count, "upper": count} for name, count in counted
    ]
    below = session.cdf("age", [30, 75], 200)
    assert below.table.column("value").to_pylist() == list(below.value.values())
    assert below.to_pandas().shape == (2, 4)
    with pytest.raises(InvalidInput, match="ask with by="):
        _ = session.count("age > 30", 1).table


def test_a_registered_query_without_a_method_is_named(monkeypatch):
    """The page and the command that ask for its parameters say which method is missing; nothing fails at import."""
    monkeypatch.setitem(METHODS, "mean_of_squares", METHODS["mean"])
    with pytest.raises(NotImplementedError, match=r"mean_of_squares.*write QueryMethods\.mean_of_squares in queries/"):
        read_query({"question": "mean_of_squares", "column": "age", "privacy": 1})
    program = "import utmost.queries.questions as q; q.QUESTIONS['mean_of_squares'] = q.QUESTIONS['mean']; "
    subprocess.run([sys.executable, "-c", f"{program}import utmost.serve.client, utmost.cli.release"], check=True)


def test_every_registered_query_has_a_method():
    assert all(parameters_of(name) for name in METHODS)
