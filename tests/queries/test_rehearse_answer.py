"""What Python does with an engine's results is rehearsed before the charge, on results of extreme values."""

import numpy as np
import pyarrow
import pytest
from oracles.pace import within

import utmost as um
from utmost.errors import InvalidInput
from utmost.queries.questions.aggregates import ByKeys, OneNumber
from utmost.queries.questions.shown_keys import ShownKeys
from utmost.queries.rehearse_answer import rehearse_answer

TABLE = pyarrow.table({"town": ["Ash", "Briar", "Cole"] * 40, "age": [70, 25, 41] * 40})
TOWNS = um.keys(town=["Ash", "Briar"])
FOUND = um.ApproxDP(1, 1e-6)


def session(**more):
    return um.Session(TABLE, "survey", um.rows(**more), "add-remove", budget=um.ApproxDP(10**6, 0.1))


def narrow_point(query, found):
    """The sum in 64 bits, as somebody might write it by mistake."""
    return int(np.array([found["sum"]], dtype=np.int64)[0])


def warning_point(query, found):
    """Single precision, of which NumPy warns for large results only."""
    return np.square(np.square(found["count"].astype(np.float32))).astype(np.int64)


def sorted_draw(query, point):
    """A draw that wants to look at the first key, which there may not be."""
    return {"keys": point.keys.slice(0, 1).to_pylist()[0]}


FAILURES = {
    "a point that does not fit 64 bits": (OneNumber, "point", narrow_point, lambda s: s.sum("age", 0, 90, 1)),
    "a warning about large counts": (ByKeys, "point", warning_point, lambda s: s.count(privacy=1, by=TOWNS)),
    "a draw from no key at all": (ShownKeys, "draw", sorted_draw, lambda s: s.keys("town", FOUND)),
}


@pytest.mark.parametrize("name", FAILURES)
def test_what_fails_on_extreme_results_is_refused_before_the_charge(name, monkeypatch):
    """Of this table all three would be answered, and of others the account would be suspended after the charge."""
    query, step, made, ask = FAILURES[name]
    s = session()
    monkeypatch.setattr(query, step, made)
    with pytest.raises(InvalidInput, match="cannot be answered for all results"):
        ask(s)
    assert str(s.spent).startswith("epsilon 0 of")
    assert s.account.suspended is None


def test_questions_of_a_batch_are_rehearsed(monkeypatch):
    """And nothing of the batch is spent if one fails."""
    s = session()
    plans = [s.plan.count(privacy=1), s.plan.sum("age", 0, 90, 1)]
    monkeypatch.setattr(OneNumber, "point", lambda query, found: narrow_point(query, {"sum": 0, **found}))
    with pytest.raises(InvalidInput, match="a sum cannot be answered"):
        s.batch(plans)
    assert str(s.spent).startswith("epsilon 0 of")


def test_rehearsing_an_answer_takes_little_time():
    """A few ms of processor time; of many keys nothing is drawn."""
    s = session(at_most=1000)
    many = um.keys(town=[str(i) for i in range(100_000)])
    plans = [s.plan.count(privacy=1), s.plan.mean("age", 0, 90, 1, by=TOWNS), s.plan.count(privacy=1, by=many)]
    for question in (plan.question for plan in plans):
        statement = question.statement(s.source, b"secret")
        rehearse_answer(question, statement)
        with within(0.02):
            rehearse_answer(question, statement)
