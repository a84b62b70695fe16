"""A statement that fails on some value of its columns' types is refused before anything is spent, whatever the rows."""

from dataclasses import replace

import pyarrow
import pytest
from oracles.pace import within

import utmost as um
from utmost.backends import duckdb
from utmost.backends.opening import open_table
from utmost.backends.rehearsal import EXTREMES, extreme_keys
from utmost.errors import InvalidInput
from utmost.queries.expressions import values as expr
from utmost.queries.expressions.types import integer
from utmost.queries.expressions.values import Expression, literal

ROWS = pyarrow.table({"id": [1, 2, 3], "x": pyarrow.array([1, 2, 3], pyarrow.int32()), "ill": [True, False, False]})


def failing(source, value):
    """An operation that overflows on some whole numbers, as one that somebody adds by mistake would."""
    return Expression("multiply", integer(0, 1), (value, value))


def test_what_fails_at_an_extreme_is_refused():
    """The operation says that it is small, and is not; the rows themselves would let it pass."""
    source = open_table(pyarrow.table({"x": [1, 2, 3]}))
    rows = source.table.select(y=failing(source, source.table["x"]))
    with pytest.raises(InvalidInput, match="cannot be asked this question, whatever the rows"):
        source.statement(rows.aggregate(y=expr.total(rows["y"])))


def test_what_a_condition_guards_is_rehearsed_too():
    """No made-up row has the condition, so only a rehearsal that takes it as true comes upon the failure."""
    source = open_table(pyarrow.table({"x": [1, 2, 3], "id": [1, 2, 3]}))
    guard = expr.user_condition(expr.compare("=", source.table["id"], literal(123_456_789)))
    assert "123456789" not in EXTREMES
    rows = source.table.select(y=expr.where(guard, failing(source, source.table["x"])))
    with pytest.raises(InvalidInput, match="cannot be asked this question"):
        source.statement(rows.aggregate(y=expr.total(rows["y"])))


def test_every_branch_that_a_condition_guards_is_rehearsed():
    """Also the second branch of a CASE, which is taken where the first condition is false."""
    source = open_table(pyarrow.table({"x": [1, 2, 3], "id": [1, 2, 3]}))
    never = expr.user_condition(expr.compare("=", source.table["id"], literal(123_456_789)))
    chosen = expr.case([(never, literal(0)), (never, failing(source, source.table["x"]))], literal(1))
    rows = source.table.select(y=chosen)
    with pytest.raises(InvalidInput, match="cannot be asked this question"):
        source.statement(rows.aggregate(y=expr.total(rows["y"])))


@pytest.mark.parametrize("where", ["id = 17 AND ill", None])
def test_nothing_is_spent_on_what_is_refused(monkeypatch, where):
    """Products in 32 bits, as in 0.2: the variance is refused for everybody, also where no row has the condition."""
    narrow = {"multiply": lambda value, left, right: f"(CAST({left} AS INTEGER) * CAST({right} AS INTEGER))"}
    monkeypatch.setattr(
        duckdb.DuckSource, "dialect", replace(duckdb.DUCKDB, functions={**duckdb.DUCKDB.functions, **narrow})
    )
    s = um.Session(ROWS, "d", um.rows(at_most=9), "replace", budget=1)
    with pytest.raises(InvalidInput, match="whatever the rows"):
        s.variance("x", 0, 100_000, 0.1, where=where)
    assert str(s.spent) == "epsilon 0 of 1"


def test_keys_of_a_rehearsal_hold_the_extremes_of_their_types():
    """And the places of the real keys, which are numbers of cells."""
    keys = pyarrow.table(
        {"key": pyarrow.array([5, 7], pyarrow.uint64()), "dimension": [0, 0], "place": [0, 1], "name": ["a", "b"]}
    )
    found = extreme_keys(keys)
    assert {2**64 - 1, 2**63, 0, 5, 7} <= set(found["key"].to_pylist())
    assert set(found["place"].to_pylist()) == {0, 1}
    assert "" in found["name"].to_pylist()


def test_a_rehearsal_takes_little_time_and_is_done_once():
    """Under 20 ms of processor time a question, in DuckDB; for the same statement, none."""
    source = open_table(ROWS)
    s = um.Session(ROWS, "d", um.rows(at_most=9), "replace", budget=1000)
    s.plan.mean("x", 0, 10, privacy=1)
    many = 20
    with within(0.02 * many):
        for i in range(many):
            rows = source.table.filter(expr.compare(">", source.table["x"], literal(i)))
            source.statement(rows.aggregate(n=expr.count()))
    assert len(source.rehearsed) == many
    runs = []
    rehearse = duckdb.DuckSource.rehearse
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duckdb.DuckSource, "rehearse", lambda *given: runs.append(1) or rehearse(*given))
        for _ in range(3):
            source.statement(rows.aggregate(n=expr.count()))
    assert not runs
