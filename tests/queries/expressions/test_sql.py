"""SQL of typed expressions: every literal and operand has a type that holds the result, so nothing overflows."""

import pyarrow
import pytest

from utmost.backends.duckdb import DUCKDB, stored_column
from utmost.backends.opening import open_table
from utmost.backends.postgres import POSTGRES
from utmost.backends.postgres import stored_column as postgres_column
from utmost.errors import NotRowWise
from utmost.queries.expressions import values as expr
from utmost.queries.expressions.sql import Values
from utmost.queries.expressions.types import integer
from utmost.queries.expressions.values import Expression, literal


def column(low, high):
    return Expression("column", integer(low, high), value="x")


@pytest.mark.parametrize(("dialect", "whole", "wide"), [(DUCKDB, "BIGINT", "HUGEINT"), (POSTGRES, "bigint", "numeric")])
def test_whole_numbers_have_a_type_that_holds_them(dialect, whole, wide):
    """Narrow where the range fits 64 bits, wide where it does not; a result that fits again is cast back."""
    write = Values(dialect).sql
    assert write(literal(5)) == f"CAST(5 AS {whole})"
    assert write(literal(2**64)) == f"CAST({2**64} AS {wide})"
    small, large = column(0, 100), column(-(2**40), 2**40)
    assert write(small * small) == '("x" * "x")'
    assert write(large * large) == f'(CAST("x" AS {wide}) * CAST("x" AS {wide}))'
    assert write(large * 2**30) == f'(CAST("x" AS {wide}) * CAST({2**30} AS {wide}))'
    above = expr.clamp(large * large, 0, 9)
    assert write(above).startswith("CAST(CASE")
    assert write(above).endswith(f"AS {whole})")
    assert write(expr.compare("=", small, literal(2**63 - 1))) == f'("x" = CAST({2**63 - 1} AS {whole}))'


def test_products_of_large_numbers_are_exact():
    """On DuckDB, at both ends of the range."""
    source = open_table(pyarrow.table({"x": [2**38, -(2**38), 3]}))
    x = expr.as_integer_within(source.table["x"], -(2**38), 2**38)
    rows = source.table.select(y=x * x)
    assert source.execute(source.statement(rows.aggregate(y=expr.total(rows["y"])))) == {"y": 2**77 + 9}
    with pytest.raises(NotRowWise, match="product may not fit 128 bits"):
        x * x * x * x
    with pytest.raises(NotRowWise, match="sum may not fit 128 bits"):
        expr.total(x * x * 2**20)


def test_every_type_enters_by_a_cast_that_holds_it():
    """Ranges are those of the stored type; narrow ones are widened."""
    for kind, bits, signed in (("TINYINT", 8, True), ("USMALLINT", 16, False), ("INTEGER", 32, True)):
        entry = stored_column("x", kind)
        assert entry.entry == 'CAST("x" AS BIGINT)'
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        assert (entry.type.low, entry.type.high) == (low, high)
    assert stored_column("x", "UBIGINT").entry == 'CAST("x" AS HUGEINT)'
    assert stored_column("x", "HUGEINT").entry == 'CAST("x" AS DOUBLE)'
    assert stored_column("x", "FLOAT").entry == 'CASE WHEN isnan("x") THEN NULL ELSE CAST("x" AS DOUBLE) END'
    assert postgres_column("x", "integer").entry == 'CAST("x" AS bigint)'
    assert postgres_column("x", "double precision").entry.startswith("CASE WHEN \"x\" <> CAST('NaN'")
    for kind in ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"):
        assert "9999-12-31" in stored_column("x", kind).entry
        assert "9999-12-31" in postgres_column("x", kind.lower()).entry


def test_floats_stay_within_what_every_engine_computes():
    """Sizes follow CASE, COALESCE, LEAST and GREATEST, through which 0.2 lost them."""
    small, huge, tiny = literal(1.0), literal(1e200), literal(1e-200)
    yes = literal(True)
    for chosen in (expr.where(yes, huge, small), expr.coalesce(huge, small), expr.greatest(huge, small)):
        with pytest.raises(NotRowWise, match="multiply fewer"):
            expr.arithmetic("multiply", chosen, chosen)
    for chosen in (expr.where(yes, tiny, small), expr.coalesce(tiny, small), expr.least(tiny, small)):
        with pytest.raises(NotRowWise, match="multiply fewer"):
            expr.arithmetic("multiply", chosen, chosen)
    unknown = Expression("column", expr.FLOAT, value="x")
    product = expr.arithmetic("multiply", unknown, unknown)
    assert (product.type.low, product.type.high) == (-1e36, 1e36)
    text = Values(POSTGRES).sql(product)
    assert text.count("CAST('1e+18' AS double precision)") >= 4  # cut, and cut to 0
    assert "CAST('1e-18' AS double precision)" in text
