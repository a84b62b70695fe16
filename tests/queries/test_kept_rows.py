"""Which rows of a person take part: as many as may, by that person's rows alone, and in proportion."""

import hashlib
import math
from collections import Counter

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import utmost as um

PEOPLE = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=60)


def opened(rows, rows_each):
    table = pyarrow.table({"who": [who for who, _ in rows], "x": [x for _, x in rows]})
    unit = um.people("who", rows_each=rows_each, at_most=50, truncate="question")
    return um.Session(table, "d", unit, "add-remove", budget=100)


def point(s, plan, secret):
    return plan.question.point(s.source.execute(plan.question.statement(s.source, secret)))


def kept_by_hand(rows, rows_each, secret):
    """Every T/k-th row of a person in order, from a place that the hash of the id chooses: row by row."""
    kept = Counter()
    for who in {who for who, _ in rows}:
        mine = sorted(x for one, x in rows if one == who)
        if len(mine) <= rows_each:
            kept.update(mine)
            continue
        start = int(hashlib.md5(f"{secret.hex()}|{who}".encode()).hexdigest()[:4], 16) / 16**4
        places = [math.floor(i * rows_each / len(mine) + start) for i in range(len(mine) + 1)]
        kept.update(x for i, x in enumerate(mine) if places[i + 1] > places[i])
    return kept


@given(PEOPLE, st.integers(1, 12), st.binary(min_size=4, max_size=4))
@settings(max_examples=6, deadline=None)
def test_kept_rows_against_python(rows, rows_each, secret):
    """Cells and sums take the same rows; in all, as many of each person as there are or may be."""
    s, wanted = opened(rows, rows_each), kept_by_hand(rows, rows_each, secret)
    cells = point(s, s.plan.histogram("x", list(range(5)), 1), secret)
    assert list(cells) == [wanted[x] for x in range(5)]
    assert sum(cells) == sum(min(n, rows_each) for n in Counter(who for who, _ in rows).values())
    assert point(s, s.plan.sum("x", 0, 4, 1), secret) == sum(x * n for x, n in wanted.items())
    above, below = point(s, s.plan.mean("x", 0, 4, 1), secret)
    assert (above, above + below) == (sum(x * n for x, n in wanted.items()), 4 * wanted.total())


def test_rows_are_kept_in_proportion():
    """Of 30 rows of one kind and 10 of another, 4 are kept: 3 and 1 on average over secrets; the order says nothing."""
    rows = [(1, 0)] * 30 + [(1, 3)] * 10 + [(2, 1)] * 3
    s = opened(rows, 4)
    plan, mixed = s.plan.histogram("x", [0, 1, 3], 1), opened(rows[::-1], 4)
    found = [point(s, plan, bytes([i, j])) for i in range(12) for j in range(2)]
    assert np.mean(found, axis=0) == pytest.approx([3, 3, 1], abs=0.5)
    assert all(sum(cells) == 7 for cells in found)
    again = mixed.plan.histogram("x", [0, 1, 3], 1)
    assert [point(mixed, again, bytes([i, 0])) for i in range(3)] == [point(s, plan, bytes([i, 0])) for i in range(3)]


def test_values_that_times_their_rows_would_not_fit_are_added_row_by_row():
    """2^47 steps and 2^20 rows of a person: no row of the table causes an error."""
    most = 2**47
    table = pyarrow.table({"who": [1] * 5 + [2] * 2, "x": [float(most)] * 7})
    unit = um.people("who", rows_each=2**20, at_most=3, truncate="question")
    s = um.Session(table, "d", unit, "add-remove", budget=100)
    assert point(s, s.plan.sum("x", 0, most, 1, grid=1), b"s") == 7 * most


def reordered(rows, kinds):
    """Two sessions on the same rows, in two orders."""
    for listed in (rows, rows[::-1]):
        columns = zip(kinds.items(), zip(*listed, strict=True), strict=True)
        table = pyarrow.table({name: pyarrow.array(list(values), kind) for (name, kind), values in columns})
        yield um.Session(table, "d", um.people("who", rows_each=1), "add-remove", budget=100)


@pytest.mark.parametrize(
    ("pair", "kinds", "where"),
    [
        ([("p\x1f+q", "r"), ("p", "q\x1f+r")], {"a": pyarrow.string(), "b": pyarrow.string()}, "b = 'r'"),
        ([(None,), (b"x",)], {"b": pyarrow.binary()}, "b IS NULL"),
        ([(None,), ([1],)], {"b": pyarrow.list_(pyarrow.int64())}, "b IS NULL"),
        ([(None,), (5,)], {"b": pyarrow.time64("us")}, "b IS NULL"),
        ([(0.0,), (-0.0,)], {"x": pyarrow.float64()}, "TRY_CAST(x AS VARCHAR) LIKE '-%'"),
    ],
    ids=["separator in texts", "binary", "list", "time", "two zeros"],
)
def test_rows_that_a_question_tells_apart_are_chosen_in_any_order(pair, kinds, where):
    """Were it the order of rows, somebody else who comes would change which rows of a person are used."""
    rows = [(who, *values) for who in range(200) for values in pair]
    one, other = (point(s, s.plan.count(where, 1), b"s") for s in reordered(rows, {"who": pyarrow.int64(), **kinds}))
    assert one == other


def test_one_zero_of_two():
    """Engines sort 0.0 and -0.0 as one, so nothing may tell them apart: else the order of rows would show."""
    table = pyarrow.table({"who": [1, 1, 2, 3], "x": [-0.0, -0.0, -0.0, 0.0]})
    s = um.Session(table, "d", um.people("who", rows_each=1), "add-remove", budget=100)
    found = [point(s, s.plan.count(f"TRY_CAST(x AS TEXT) = '{zero}'", 1), b"1234") for zero in ("-0.0", "0.0")]
    assert found == [0, 3]
