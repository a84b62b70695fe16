"""Ranges that are read off a query hold every value that DuckDB computes of it, and clamps are seen through."""

import math
import random

import ibis
import pyarrow
import pytest

import utmost as um
from utmost.release import engines
from utmost.release.contributions import as_grid, ones, people_with_more, values, votes
from utmost.release.engines.spark_bounds import EVERY, NONE, Bounds

WHOLE = (0, 1, -1, 7, -300, 2**31, -(2**31), 2**40, None)
FLOATS = (0.0, -0.5, 2.5, 1e9, -1e9, 0.1, 1e300, -1e300, math.inf, -math.inf, math.nan, None)


def drawn(table, draw, depth):
    """A random value: whole, or a float, of up to so many operations."""
    if not depth or draw.random() < 0.1:
        return draw.choice(
            [
                table.small.cast("int64"),
                ibis.literal(draw.randrange(-50, 50), "int64"),
                ibis.literal(draw.uniform(-9, 9), "float64"),
                ibis.least(table.real, ibis.literal(draw.uniform(-9, 99), "float64")),
                ibis.greatest(ibis.least(table.whole, ibis.literal(99, "int64")), ibis.literal(-50, "int64")),
                ibis.null("int64"),
            ]
        )
    one, other = drawn(table, draw, depth - 1), drawn(table, draw, depth - 1)
    if draw.random() < 0.3 and one.type().is_floating():
        cut = ibis.greatest(ibis.least(one, ibis.literal(1e6, "float64")), ibis.literal(-1e6, "float64"))
        return draw.choice([cut.floor().cast("int64"), cut / 7.0, cut / -7.0])
    if one.type() != other.type():
        one, other = one.cast("float64"), other.cast("float64")
    return draw.choice(
        [
            lambda: one + other,
            lambda: one - other,
            lambda: one * other,
            lambda: ibis.least(one, other),
            lambda: ibis.greatest(one, other),
            lambda: ibis.ifelse(one > other, other, one),
            lambda: ibis.ifelse(one > ibis.literal(7, one.type()), ibis.literal(7, one.type()), one),
            lambda: ibis.ifelse(table.small > 3, one, other),
        ]
    )()


@pytest.mark.parametrize("seed", range(3))
def test_no_value_lies_outside(seed):
    """Random expressions of random rows, computed by DuckDB; NaN and null are no numbers."""
    draw = random.Random(seed)
    rows = 200
    table = ibis.memtable(
        pyarrow.table(
            {
                "small": pyarrow.array([draw.choice([None, *range(-128, 128)]) for _ in range(rows)], pyarrow.int8()),
                "whole": pyarrow.array([draw.choice(WHOLE) for _ in range(rows)], pyarrow.int64()),
                "real": pyarrow.array([draw.choice(FLOATS) for _ in range(rows)], pyarrow.float64()),
            }
        )
    )
    made = {f"v{i}": drawn(table, draw, 3) for i in range(100)}
    found = ibis.duckdb.connect().to_pyarrow(table.select(**made))
    narrow = 0
    for name, value in made.items():
        low, high = Bounds().of(value.op())
        known = [x for x in found[name].to_pylist() if x is not None and not math.isnan(x)]
        assert all(low <= x <= high for x in known), (name, value)
        narrow += math.isfinite(low) and math.isfinite(high)
    assert narrow > 30


def test_ranges_of_contributions():
    """What a question adds lies in the range that it is clamped to, also through other columns and joins."""
    source = engines.open_table(pyarrow.table({"id": ["a", "b"], "n": [1, 2**62], "x": [0.5, math.nan]}))
    for part in (
        ones(source, "n > 3"),
        votes(source, "n > 3"),
        values(source, "n", as_grid(-18, 90, 1), None),
        values(source, "n", as_grid(-18, 90, 3), "x > 0"),
        values(source, "x", as_grid(-4, 8, "0.5"), None),
        values(source, "x", as_grid("-0.3", "0.7", "0.1"), None),
        values(source, "x", as_grid(0, 2**40, 1), None),
    ):
        low, high = Bounds().of(part.column.op())
        assert part.least - 1 <= low <= part.least
        assert part.most <= high <= part.most + 1
        table = source.table.select(who=source.table.id, c=part.column)
        table = table.filter(table.c.notnull())
        other = source.table.select(other=source.table.id)
        joined = table.join(other, [table.who == other.other], how="left").select("c", "other")
        assert Bounds().of(joined.union(joined).c.op()) == (low, high)


def test_what_is_not_seen_is_everything():
    source = engines.open_table(pyarrow.table({"id": ["a"], "n": [1], "s": pyarrow.array([1], pyarrow.int16())}))
    table = source.table
    assert Bounds().of(table.n.op()) == (-(2**63), 2**63 - 1)
    assert Bounds().of(table.s.op()) == (-(2**15), 2**15 - 1)
    assert Bounds().of((table.n * 2).op()) == (-(2**63), 2**63 - 1)
    assert Bounds().of(table.n.cast("float64").log().op()) == EVERY
    assert Bounds().of(ibis.null("int64").op()) == NONE
    people = table.group_by("id").aggregate(rows=table.count())
    assert Bounds().of(ibis.ifelse(people.rows > 3, 3, people.rows).op()) == (0, 3)
    assert Bounds().of(ibis.ifelse(people.rows < 3, 3, people.rows).op())[1] == 2**63 - 1
    assert people_with_more(source, um.people("id", rows_each=1, at_most=9), None, "more", 2).columns == ("more",)
