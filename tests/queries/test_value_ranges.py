"""Every value that DuckDB computes lies in the range that its type says, and sums of contributions see their clamps."""

import math
import random

import pyarrow
import pytest
from oracles.expressions import edges, random_value

import utmost as um
from utmost.backends import opening
from utmost.errors import NotRowWise
from utmost.queries.contributions import as_grid, keep_counted_rows, ones, values, votes, with_ids
from utmost.queries.expressions import values as expr
from utmost.queries.expressions.types import INT64, MOST_ROWS, WIDEST


def computed(source, columns):
    """What DuckDB finds for every row, without a rehearsal."""
    with source.cursor() as cursor:
        found = cursor.execute(source.sql(source.table.select(**columns), source.origin)).fetchall()
    return dict(zip(columns, zip(*found, strict=True), strict=True))


@pytest.mark.parametrize("seed", range(3))
def test_no_value_lies_outside_the_range_of_its_type(seed):
    """Random expressions of values at the edges; none is NaN, and a narrow type is computed without overflow."""
    draw, source = random.Random(seed), opening.open_table(edges())
    columns = {f"v{i}": random_value(source, draw) for i in range(120)}
    seen = bounded = 0
    for name, numbers in computed(source, columns).items():
        kind = columns[name].type
        known = [x for x in numbers if x is not None]
        assert not any(math.isnan(x) for x in known), columns[name]
        assert all(kind.low <= x <= kind.high for x in known), columns[name]
        assert all(isinstance(x, int) == (kind.kind == "integer") for x in known)
        seen += bool(known)
        bounded += math.isfinite(kind.low) and math.isfinite(kind.high) and kind.high - kind.low < 2**63
    assert seen > 100
    assert bounded > 40


@pytest.mark.parametrize("seed", range(3))
def test_floats_are_multiples_of_what_their_type_says(seed):
    """So products do not underflow: nothing but 0 is nearer to 0 than that."""
    draw, source = random.Random(100 + seed), opening.open_table(edges())
    columns = {f"v{i}": random_value(source, draw) for i in range(80)}
    looked = 0
    for name, numbers in computed(source, columns).items():
        kind = columns[name].type
        if kind.kind == "float" and kind.fine > -300:
            sizes = [abs(x) for x in numbers if x]
            assert all(size >= 10.0**kind.fine * (1 - 1e-9) for size in sizes), columns[name]
            looked += len(sizes)
    assert looked > 1000


def test_ranges_of_contributions():
    """What a question adds lies in the range that it is clamped to, also through other columns, joins and unions."""
    source = opening.open_table(pyarrow.table({"id": ["a", "b"], "n": [1, 2**62], "x": [0.5, math.nan]}))
    for part in (
        ones(source, "n > 3"),
        votes(source, "n > 3"),
        values(source, "n", as_grid(-18, 90, 1), None),
        values(source, "n", as_grid(-18, 90, 3), "x > 0"),
        values(source, "x", as_grid(-4, 8, "0.5"), None),
        values(source, "x", as_grid("-0.3", "0.7", "0.1"), None),
        values(source, "x", as_grid(0, 2**40, 1), None),
    ):
        assert (part.column.type.low, part.column.type.high) == (part.least, part.most)
        rows = source.table.select(who=source.column("id"), c=part.column)
        other = source.table.select(other=source.column("id"))
        same = [expr.compare("=", rows["who"], other["other"])]
        joined = rows.filter(expr.is_not_null(rows["c"])).join(other, same, "left").select("c", "other")
        kind = joined.union(joined).columns["c"]
        assert (kind.low, kind.high) == (part.least, part.most)
        whole = expr.total(joined["c"]).type
        assert (whole.low, whole.high) == (min(part.least, 0) * MOST_ROWS, max(part.most, 0) * MOST_ROWS)


def test_sums_of_sums_are_bounded_as_the_sum_of_all_rows():
    source = opening.open_table(pyarrow.table({"id": ["a", "b"], "n": [1, 2]}))
    groups = source.table.aggregate(["id"], rows=expr.count(), s=expr.total(source.table["n"]))
    assert expr.total(groups["s"]).type.high == expr.total(source.table["n"]).type.high
    here = expr.compare("=", groups["id"], expr.literal("a"))
    assert expr.total(expr.where(here, groups["rows"], expr.literal(0))).type.high == MOST_ROWS
    assert expr.total(expr.where(here, groups["rows"])).type.high == MOST_ROWS
    assert expr.total(expr.where(here, groups["rows"], expr.literal(1))).type.high == MOST_ROWS**2  # one for each group
    unit = um.people("id", rows_each=2, at_most=9)
    rows = with_ids(source, unit, {"c": values(source, "n", as_grid(0, 5, 1), None).column})
    times = keep_counted_rows(rows, ("c",), 2, b"s" * 32).columns["times"]
    assert (times.low, times.high) == (0, 2)


def test_whole_numbers_widen_and_then_are_refused():
    source = opening.open_table(pyarrow.table({"n": [2**63 - 1, -(2**63)]}))
    square = source.column("n") * source.column("n")
    assert square.type.is_wide
    assert computed(source, {"v": square})["v"] == ((2**63 - 1) ** 2, 2**126)
    assert square.type.high == WIDEST
    with pytest.raises(NotRowWise, match="128 bits"):
        square + 1
    assert not (expr.clamp(square, *INT64)).type.is_wide
