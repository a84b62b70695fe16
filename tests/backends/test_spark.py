"""Spark: the same questions have the same points as on DuckDB; what could differ or fail is refused."""

import ctypes
import gc
import io
import json
import math
import random
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal

import duckdb
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from oracles.agreement import TYPES, as_frame, counted, differing, how_many, random_rows
from oracles.command import utmost
from oracles.expressions import edges, random_value
from oracles.questions import QueryMaker, Setting, count, every_question, total
from oracles.served import KEYS, serving, write_settings
from oracles.tables import UNITS, as_table

import utmost as um
from utmost.backends import opening, spark_jobs
from utmost.backends.spark import SparkSource
from utmost.backends.spark_columns import Columns, Spark
from utmost.backends.spark_frames import Frames
from utmost.backends.spark_types import KINDS as STORED
from utmost.backends.spark_types import SEVERAL, extreme_rows, stored_column, type_name
from utmost.errors import SUSPENDED, AccountSuspended, BudgetSpent, InvalidInput, NotRowWise
from utmost.queries.contributions import as_grid, distances_to_ends, ones, statement, values
from utmost.queries.expressions import values as expr
from utmost.queries.expressions.types import integer
from utmost.queries.expressions.values import Expression
from utmost.queries.groups import grouped_statement
from utmost.serve.settings import read_settings

pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),  # PySpark leaves them to the collector
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),  # 4.3 says so
]
SECRET = b"s" * 32
SHARED = {name: kind for name, kind in TYPES.items() if name != "w"}
"""All types but decimal numbers of 38 digits, which Spark's engine refuses."""
NUMBERS = (0.0, -0.0, 0.5, 2.25, 2.5, -3.5, 1e300, -1e300, 5e-324, math.nan, math.inf, -math.inf, None, 1.3, -7.77, 4.0)


@pytest.fixture(autouse=True, scope="module")
def collected():
    """No socket of PySpark's is left for the tests of others."""
    yield
    gc.collect()


@pytest.fixture
def ansi(spark):
    """Sets Spark's rules for casts and overflows, and puts them back."""
    yield lambda on: spark.conf.set("spark.sql.ansi.enabled", str(on).lower())
    spark.conf.unset("spark.sql.ansi.enabled")


@pytest.fixture(scope="module")
def stored(spark, tmp_path_factory):
    """Writes an Arrow table to Parquet, and opens it in Spark."""
    folder = tmp_path_factory.mktemp("stored")

    def store(table):
        path = str(folder / f"{len(list(folder.iterdir()))}.parquet")
        pyarrow.parquet.write_table(table, path)
        return spark.read.parquet(path)

    return store


@pytest.fixture(scope="module")
def both(stored):
    """The same rows in DuckDB and in Spark, with the edges of every type."""
    frame = as_frame(random_rows(SHARED), SHARED)
    return opening.open_table(frame), opening.open_table(stored(frame))


def listed_rows(many, seed):
    """Rows with everything real ones have: nulls, NaN, infinities, repeated ids, the ends of 64 bits."""
    draw = random.Random(seed)
    whole = [None, 2**63 - 1, -(2**63), *range(-9, 10)]
    ids = [None, "a", "b", "c", "d", "a|b", ""]
    return [
        (draw.choice(ids), draw.choice(NUMBERS), draw.choice(whole), draw.choice([None, True, False]))
        for _ in range(many)
    ]


def points_of(source, unit, every=1):
    """The private points of questions of every kind, or of every so many of them."""
    return [asked.private_point(SECRET) for asked in list(every_question(source, unit, "replace"))[::every]]


BOTH_RULES = [True, pytest.param(False, marks=pytest.mark.long)]
"""With ANSI rules and, in `make test-long`, without them."""


@pytest.mark.parametrize("which", [pytest.param(0, marks=pytest.mark.long), 1])
def test_every_question_has_the_same_point(spark, stored, ansi, which):
    """Rows with ANSI rules, people without."""
    table, unit = as_table(listed_rows(60, which)), UNITS[which]
    ansi(which == 0)
    assert points_of(opening.open_table(stored(table)), unit, 6) == points_of(opening.open_table(table), unit, 6)


@pytest.mark.long
@pytest.mark.parametrize("which", [0, 1, 2])
def test_every_question_of_many_tables(stored, ansi, which):
    for seed in range(4):
        table = as_table(listed_rows(seed * 20, 100 + seed))
        ansi(seed % 2 == 1)
        here, there = opening.open_table(table), opening.open_table(stored(table))
        assert points_of(there, UNITS[which]) == points_of(here, UNITS[which])


@pytest.mark.parametrize("on", BOTH_RULES)
def test_random_conditions_are_true_and_false_of_the_same_rows(both, ansi, on):
    ansi(on)
    assert differing(both, 1 + on, 60, 30, SHARED) == []


@pytest.mark.long
def test_thousands_of_random_conditions(both, ansi):
    for on in (True, False):
        ansi(on)
        assert differing(both, 3 + on, 2_000, 40, SHARED) == []


# ---- what Spark would compute in another way ----


def test_infinities_nan_and_null(both):
    """Spark's isnan of null is false, and its NaN equals NaN and is above all."""
    sums = []
    for source in both:
        infinite = expr.is_infinite(source.column("x"))
        conditions = {
            "infinite": infinite,
            "finite": ~infinite,
            "nan": ~expr.compare("=", source.column("x"), source.column("x")),
            "itself": "x = x",
            "huge": "x >= 1e299",
            "unlike": "x <> 0.5",
        }
        sums.append(dict(zip(conditions, how_many(source, conditions.values()).values(), strict=True)))
    assert sums[0] == sums[1]
    found = sums[1]
    known = [row for row in random_rows(SHARED) if row[1] is not None]
    assert found["infinite"] == sum(math.isinf(row[1]) for row in known) > 0
    assert found["nan"] == 0
    assert found["itself"] == found["finite"] + found["infinite"] == sum(not math.isnan(row[1]) for row in known)


def test_a_written_number_beside_a_column_of_32_bits(both):
    assert how_many(both[1], ["f = 0.1", "f > 0.1", "f IN (0.1, 7)"]) == how_many(
        both[0], ["f = 0.1", "f > 0.1", "f IN (0.1, 7)"]
    )
    assert how_many(both[1], ["f = 0.1"])["f = 0.1"] > 0


def test_zeros_of_either_sign_are_one_also_in_long_lists(stored):
    """Of a list of more than ten options Spark makes a set, in which -0.0 is not 0.0."""
    source = opening.open_table(stored(pyarrow.table({"x": [0.0, -0.0, 1.0, None]})))
    many = ", ".join(f"{i}.5" for i in range(20))
    assert set(how_many(source, [f"x IN (0.0, {many})", "x = 0", "x = -0.0"]).values()) == {2}


@pytest.mark.parametrize("on", [True, False])
def test_sums_beyond_64_bits_are_exact(spark, ansi, on):
    """Sums of BIGINT raise with ANSI rules and wrap without."""
    ansi(on)
    source = opening.open_table(spark.range(2**50, 2**50 + 70_000))
    asked = total(Setting(source, um.rows(at_most=10**6), "replace"), "id", 0, 2**47, 1, None, 1)
    made = asked.statement(SECRET)
    assert list(source.execute(made).values()) == [70_000 * 2**47] != [0]
    assert 70_000 * 2**47 > 2**63


@pytest.mark.parametrize("on", [True, False])
def test_sums_in_one_part_in_two_and_in_three(stored, ansi, on):
    """Clamped at the ends of what one part holds, and beyond them; differences of the largest totals fit, too."""
    ansi(on)
    sizes = [2**k + i for k in (0, 20, 21, 22, 41, 42, 43, 47, 62) for i in (-1, 0, 1)]
    numbers = [sign * size for size in sizes for sign in (1, -1)]
    source = opening.open_table(stored(pyarrow.table({"n": numbers})))
    ends = [(-(2**k) - i, 2**k - 1 + i) for k in (21, 42) for i in (0, 1)] + [(1 - 2**47, 2**47 - 1), (0, 2**21)]
    parts = {f"s{i}": values(source, "n", as_grid(*pair, 1), None) for i, pair in enumerate(ends)}
    parts["above"], parts["below"] = distances_to_ends(source, "n", as_grid(-9, 2**21 - 1, 1), None)
    wanted = {f"s{i}": sum(min(max(n, low), high) for n in numbers) for i, (low, high) in enumerate(ends)}
    wanted["above"] = sum(min(max(n, -9), 2**21 - 1) + 9 for n in numbers)
    wanted["below"] = len(numbers) * (2**21 + 8) - wanted["above"]
    assert source.execute(statement(source, um.rows(at_most=99), 1, parts, SECRET)) == wanted


@pytest.mark.parametrize("on", [True, False])
def test_nan_and_infinities_add_nothing(stored, ansi, on):
    """A cast of NaN to a whole number raises with ANSI rules and is 0 without."""
    ansi(on)
    table = pyarrow.table({"x": [math.nan, math.inf, -math.inf, None, 1e300, 7.5, 2.0]})
    source = opening.open_table(stored(table))
    contribution = values(source, "x", as_grid(1, 10, "0.5"), None)
    made = statement(source, um.rows(at_most=9), 1, {"sum": contribution}, SECRET)
    assert source.execute(made) == {"sum": 20 + 15 + 4}


def test_times_do_not_depend_on_the_zone_of_the_session(spark, both):
    conditions = [
        "t < '2020-01-01 11:00:01'",
        "z >= '2020-01-01 12:00:00+01:00'",
        "EXTRACT(hour FROM t) = 11",
        "day < '1990-01-01'",
    ]
    wanted = how_many(both[0], conditions)
    try:
        for zone in ("America/New_York", "Asia/Kathmandu"):
            spark.conf.set("spark.sql.session.timeZone", zone)
            assert how_many(both[1], conditions) == wanted
    finally:
        spark.conf.unset("spark.sql.session.timeZone")
    assert all(wanted.values())


def test_parts_of_dates_and_times(both):
    parts = [
        f"EXTRACT({part} FROM t) >= {least}"
        for part, least in (("year", 2000), ("month", 12), ("hour", 5), ("second", 1))
    ]
    parts += [f"EXTRACT({part} FROM day) <= {most}" for part, most in (("year", 2020), ("quarter", 1), ("day", 30))]
    assert how_many(both[1], parts) == how_many(both[0], parts)


@pytest.mark.parametrize("on", BOTH_RULES)
def test_casts_between_numbers_round_and_fit_as_in_duckdb(both, ansi, on):
    """DuckDB rounds halves to even, and what does not fit is null; Spark cuts off, and raises or wraps."""
    kinds = {"x": ("TINYINT", "INT", "BIGINT"), "f": ("INT", "BIGINT"), "k": ("BIGINT", "DOUBLE"), "d": ("DOUBLE",)}
    kinds |= {"n": ("TINYINT", "INT")}
    casts = [
        f"TRY_CAST({name} AS {kind}) {rule}"
        for name, several in kinds.items()
        for kind in several
        for rule in ("IS NULL", "= 2", "<= 0")
    ]
    casts += ["TRY_CAST(n AS TEXT) LIKE '%7%'", "TRY_CAST(t AS DATE) >= '2020-01-01'", "TRY_CAST(ok AS INT) = 1"]
    casts += ["TRY_CAST(day AS TIMESTAMP) >= '2020-01-01 00:00:00'", "TRY_CAST(day AS TIMESTAMP) > '0001-01-01'"]
    ansi(on)
    assert counted(both[1], casts) == counted(both[0], casts)


def test_expressions_are_computed_as_in_duckdb(both, ansi):
    """Arithmetic, letters and days, which are bounded so that no engine fails in them."""
    written = [
        "x * 2 + n > 5",
        "abs(x - f) <= 0.25",
        "n / 7 - k < 100",
        "-x > 1e200",
        "coalesce(k, n, 3) = 3",
        "least(x, n) < greatest(k, 2)",
        "lower(s) = 'a'",
        "upper(s) = 'É'",
        "substring(s, 1, 1) = 'a'",
        "day - DATE '2000-01-01' > 100",
    ]
    wanted = counted(both[0], written)
    for on in (True, False):
        ansi(on)
        assert counted(both[1], written) == wanted


def test_decimals_become_the_same_floats_as_in_duckdb(stored):
    """Of 16 to 18 digits, DuckDB divides, or adds two parts."""
    draw = random.Random(8)
    units = [draw.randrange(-(10**18) + 1, 10**18) for _ in range(300)] + [2**53, 2**53 + 1, -(2**53) - 1, 0]
    exact = [Decimal(unit).scaleb(-4) for unit in units]
    table = pyarrow.table({"d": pyarrow.array(exact, pyarrow.decimal128(18, 4))})
    here, there = opening.open_table(table), opening.open_table(stored(table))
    floats = duckdb.from_arrow(table).project("d::DOUBLE").fetchnumpy()
    conditions = [f"d = {float(x)!r}" for x in next(iter(floats.values()))[:60]]
    found = how_many(there, conditions)
    assert found == how_many(here, conditions)
    assert set(found.values()) == {1}


REFUSED = (
    ("TRY_CAST(s AS BIGINT) > 5", "'1e3'"),
    ("TRY_CAST(s AS DOUBLE) > 5", "store a column"),
    ("TRY_CAST(s AS DATE) > '2020-01-01'", "store a column"),
    ("TRY_CAST(x AS TEXT) = '1'", "write numbers and dates differently"),
    ("TRY_CAST(day AS TEXT) = '2020-01-01'", "write numbers and dates differently"),
    ("TRY_CAST(x AS DECIMAL(9, 2)) > 1", "rounds in another way"),
    ("s ILIKE 'a%'", "ILIKE"),
    ("s > 5", "convert rows"),
    ("n = 'a'", "convert rows"),
    ("n > (SELECT 1)", "not allowed"),
)


def test_what_would_mean_something_else_is_refused(both):
    for where, words in REFUSED:
        with pytest.raises(NotRowWise, match=re.escape(words)):
            count(Setting(both[1], um.rows(at_most=9), "replace"), where, 1)


def test_columns_whose_type_has_rules_of_its_own(spark):
    """They cannot be asked about; the rest of the table can."""
    text = "STRING COLLATE UTF8_LCASE" if spark.version >= "4" else "BINARY"  # 3.5 knows no collations
    spark.sql(f"CREATE TABLE odd (c {text}, d DECIMAL(20, 2), e BINARY, f ARRAY<INT>, g INT) USING parquet")
    source = opening.open_table(spark.table("odd"))
    for where, words in (
        ("c IS NULL", "collation" if spark.version >= "4" else "type binary"),
        ("d > 1", "18 digits"),
        ("e IS NULL", "type binary"),
        ("f IS NULL", "array"),
    ):
        with pytest.raises(InvalidInput, match=words):
            count(Setting(source, um.rows(at_most=9), "replace"), where, 1)
    assert how_many(source, ["g > 1"]) == {"g > 1": 0}
    with pytest.raises(InvalidInput, match="types"):
        opening.open_table(spark.table("odd"), {"c": int})
    spark.sql("CREATE TABLE padded (c CHAR(3), n INT) USING parquet")
    with pytest.raises(NotRowWise):
        opening.open_table(spark.table("padded"))
    with pytest.raises(InvalidInput, match="not a table"):
        opening.open_table(spark.range(3).id)
    with pytest.raises(InvalidInput, match="upper and lower case"):
        opening.open_table(spark.range(3).toDF("n").selectExpr("n", "n AS N"))


# ---- nothing fails, whatever the rows ----


@pytest.mark.parametrize("on", BOTH_RULES)
def test_random_expressions_are_computed_as_in_duckdb(stored, ansi, on):
    """Also beyond 64 bits, and of values at the edges of every type: neither rule for overflows is ever asked."""
    ansi(on)
    frame, found = edges(), []
    for source in (opening.open_table(frame), opening.open_table(stored(frame))):
        draw, whole, small = random.Random(20 + on), source.column("whole"), source.column("small")
        several = [random_value(source, draw) for _ in range(20)]
        several += [whole * small, whole + small, small - whole, expr.least(whole * 9, small), whole * 7 - small]
        tests = [expr.compare(draw.choice("<=>"), value, random_value(source, draw, 1)) for value in several]
        tests.append(expr.is_in(whole * whole, [expr.literal(n * n) for n in (7, 300, 2**31)]))
        found.append(list(how_many(source, tests).values()))
    assert found[0] == found[1]
    columns = Columns(source.spark)
    entered = Frames(source.table, columns, source.rows, source.stored, {}).frame(source.table)
    kinds = [one.dataType.simpleString() for one in entered.select(*map(columns.column, several)).schema]
    assert kinds == [type_name(value.type) for value in several]
    assert sum(value.type.is_wide for value in several) >= 4
    assert len(set(found[0])) > 8


def extreme_table():
    """Values that a file may hold, beyond what Python, or a 64-bit number of microseconds, has dates for."""
    days = pyarrow.array([-(2**31), 2**31 - 1, -719163, -719162, 2932896, 2932897, None, 0], pyarrow.int32())
    micros = [-(2**63), 2**63 - 1, -62135596800_000_001, -62135596800_000_000, 253402300799_999_999]
    moments = pyarrow.array([*micros, 253402300800_000_000, None, 0], pyarrow.int64())
    texts = pyarrow.array([b"a\xe2\x82", b"\xff", b"a\xff", b"", b"a", "é".encode(), None, b"\xf0\x9f"]).view("string")
    return pyarrow.table(
        {
            "day": days.cast(pyarrow.date32()),
            "t": moments.cast(pyarrow.timestamp("us")),
            "z": moments.cast(pyarrow.timestamp("us", "UTC")),
            "s": texts,
            "b": pyarrow.array([-128, 127, 0, 1, -1, None, 5, 28], pyarrow.int8()),
            "h": pyarrow.array([-(2**15), 2**15 - 1, 0, 1, -1, None, 5, 28], pyarrow.int16()),
            "k": pyarrow.array([-(2**31), 2**31 - 1, 0, 1, -1, None, 5, 28], pyarrow.int32()),
            "n": pyarrow.array([-(2**63), 2**63 - 1, 0, 1, -1, None, 5, 28], pyarrow.int64()),
            "f": pyarrow.array(
                [math.nan, math.inf, -math.inf, 3.4028234663852886e38, -0.0, None, 5, 28], pyarrow.float32()
            ),
            "x": pyarrow.array([math.nan, math.inf, -math.inf, 1.7976931348623157e308, -0.0, None, 5, 28]),
            "d": pyarrow.array(
                [Decimal(10**18 - 1), Decimal(1 - 10**18), 0, 1, -1, None, 5, 28], pyarrow.decimal128(18, 0)
            ),
        }
    )


@pytest.mark.parametrize("on", BOTH_RULES)
def test_every_type_at_its_edges(stored, ansi, on):
    """Columns enter by casts that fail on nothing, and squares of narrow numbers do not overflow."""
    ansi(on)
    source = opening.open_table(stored(extreme_table()))
    wanted = {
        **{"day IS NULL": 5, "EXTRACT(year FROM day) = 9999": 1, "EXTRACT(year FROM day) = 1": 1, "day <= day": 3},
        **{"t IS NULL": 5, "EXTRACT(second FROM t) = 59": 1, "z IS NULL": 5, "z >= '0001-01-01 00:00:00Z'": 3},
        **{"s IS NULL": 1, "substr(s, 1, 1) = 'a'": 3, "substr(s, 2, 1) = ''": 5, "s = 'a'": 1, "lower(s) = 'é'": 1},
        **{"b > 100": 1, "b * b * b * b > 0": 6, "f IS NULL": 2, "x IS NULL": 2, "f = f": 6, "x >= 1e299": 2},
        **{"d * d >= 1e36": 2, "n * n > 1e35": 2, "n - k > 1e9": 1},
    }
    assert how_many(source, list(wanted)) == wanted
    for name, most in (("b", 127), ("h", 2**15 - 1), ("k", 2**31 - 1), ("n", 2**39 - 1)):
        part = values(source, name, as_grid(-most, most, 1), None)
        square = part.value * part.value
        sums = source.table.aggregate(once=expr.total(part.column), twice=expr.total(square))
        known = [min(max(n, -most), most) for n in extreme_table()[name].to_pylist() if n is not None]
        with_null = sum(n * n for n in known) + most * most  # least and greatest pass over null
        assert source.execute(source.statement(sums)) == {"once": sum(known), "twice": with_null}


@pytest.mark.parametrize("client", [False, True])
def test_broken_texts_are_keys_like_any_other(either, stored, tmp_path, client):
    """Bytes that are no UTF-8 become the sign for that; a client of Connect would stop at them."""
    pyarrow.parquet.write_table(extreme_table().select(["s"]), tmp_path / "t.parquet")
    source = opening.open_table(either(client).read.parquet(str(tmp_path / "t.parquet")))
    asked = QueryMaker(Setting(source, um.rows(at_most=99), "add-remove")).count(
        None, um.ApproxDP(1, 1e-6), by=um.discover("s")
    )
    found = source.execute(asked.statement(SECRET))
    counts = dict(zip(found["key0"].to_pylist(), found["holders"].to_pylist(), strict=True))
    assert counts == {"a\ufffd": 2, "\ufffd": 2, "": 1, "a": 1, "é": 1}


# ---- rehearsals ----


def test_rows_of_a_rehearsal_hold_the_edges_of_every_type(spark):
    """In one part, so that nothing is moved; every value is there twice, and null."""
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    kinds = {name: getattr(T, f"{kind}Type")() for name, kind in (("b", "Byte"), ("n", "Long"), ("f", "Float"))}
    kinds |= {name: getattr(T, f"{kind}Type")() for name, kind in (("x", "Double"), ("s", "String"), ("ok", "Boolean"))}
    kinds |= {"day": T.DateType(), "t": T.TimestampNTZType(), "z": T.TimestampType(), "d": T.DecimalType(12, 3)}
    assert {kind.typeName() for kind in kinds.values()} | {"short", "integer"} == STORED.keys()
    rows = extreme_rows(spark, F, {name: stored_column(kind, False) for name, kind in kinds.items()})
    assert {one.name: one.dataType for one in rows.schema} == kinds
    assert rows.rdd.getNumPartitions() == 1
    assert rows.count() == 2 * SEVERAL
    for name in kinds:
        assert rows.filter(F.col(name).isNull()).count() >= 2
        assert rows.groupBy(name).count().filter("count < 2").count() == 0
    ends = rows.agg(
        *(F.array(F.min(name), F.max(name)) for name in ("b", "n", "x", "d")),
        F.array(F.min(F.unix_date("day")), F.max(F.unix_date("day"))),
        F.array(F.min(F.unix_micros("z")), F.max(F.unix_micros("z"))),
        F.array(*(F.max(F.year("t").between(low, high)) for low, high in ((-300000, -200000), (10000, 300000)))),
        F.max(F.length("s")),
    ).first()
    most = Decimal("999999999.999")
    assert list(ends)[:2] == [[-128, 127], [-(2**63), 2**63 - 1]]
    assert ends[2][0] == -math.inf
    assert math.isnan(ends[2][1])
    assert list(ends)[3:5] == [[-most, most], [-(2**31), 2**31 - 1]]
    assert list(ends)[5:] == [[-(2**63), 2**63 - 1], [True, True], 100_000]


def failing(source):
    """A whole number that says it is small and is not: with ANSI rules its cast fails on large numbers."""
    return Expression("to_integer", integer(0, 1), (source.column("x"),))


@pytest.mark.parametrize("client", [False, True])
def test_what_fails_on_some_row_is_refused_before_anything_is_read(either, tmp_path, ansi, client):
    """In a sum, in a condition, in what a condition guards that no row of the rehearsal has, and beside keys."""
    ansi(True)
    pyarrow.parquet.write_table(pyarrow.table({"x": [1.0], "n": [5]}), tmp_path / "t.parquet")
    session = either(client)
    session.conf.set("spark.sql.ansi.enabled", "true")
    source = opening.open_table(session.read.parquet(str(tmp_path / "t.parquet")))
    bad, table = failing(source), source.table
    rare = expr.user_condition(expr.compare("=", source.column("n"), expr.literal(12345)))
    for query in (
        table.aggregate(c=expr.total(bad)),
        table.filter(expr.user_condition(expr.compare(">", bad, expr.literal(0)))).aggregate(c=expr.count()),
        table.aggregate(c=expr.total(expr.where(rare, bad, expr.literal(0)))),
        table.filter(rare).aggregate(c=expr.total(bad)),
        table.filter(rare).select(cell=bad).aggregate(["cell"], c=expr.count()),
    ):
        with pytest.raises(InvalidInput, match="Spark cannot be asked this question, whatever the rows"):
            source.statement(query, labels=("int64",) if len(query.columns) > 1 else ())
    fine = table.filter(rare).aggregate(c=expr.count())
    assert source.execute(source.statement(fine)) == {"c": 0}


def test_a_query_is_rehearsed_once_with_each_rule(stored, ansi, monkeypatch):
    seen = []
    real = SparkSource._rehearse
    monkeypatch.setattr(SparkSource, "_rehearse", lambda self, *words: seen.append(words) or real(self, *words))
    source = opening.open_table(stored(pyarrow.table({"n": [1, 2, 7]})))
    for on, where, times in ((True, "n > 1", 1), (True, "n > 1", 1), (True, "n > 2", 2), (False, "n > 2", 3)):
        ansi(on)
        assert how_many(source, [where])[where] == sum(n > int(where[-1]) for n in (1, 2, 7))
        assert len(seen) == times
    source.conditions.clear()
    how_many(source, ["n > 1"])
    assert len(seen) == 4  # without ANSI rules this one is new, built again or not
    source.conditions.clear()
    how_many(source, ["n > 1"])
    assert len(seen) == 4


# ---- frames that are not row-wise ----


def not_row_wise(frame, spark):
    """Frames of which a row may stem from many, change from run to run, or fail."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    frame.createOrReplaceTempView("survey")
    frame.groupBy("id").count().createOrReplaceTempView("grouped")
    yield frame.limit(3), "Limit"
    yield frame.offset(3), "Offset"
    yield frame.sample(0.5), "sample drawn beforehand"
    yield frame.groupBy("id").count(), "group beforehand"
    yield frame.groupBy("id").pivot("ok", [True]).count(), "GetArrayItem"
    yield frame.distinct(), "repeated rows"
    yield frame.join(frame.select("id"), "id"), "join beforehand"
    yield frame.crossJoin(spark.range(2)), "Join"
    yield frame.orderBy("id"), "order"
    yield frame.union(frame), "one table"
    yield frame.unpivot("id", ["n"], "a", "b"), "Expand"
    yield frame.select(F.explode(F.array("n", "n"))), "Generate"
    yield frame.filter(F.rand() > 0.5), "Rand"
    yield frame.withColumn("p", F.row_number().over(Window.orderBy("n"))), "Window"
    yield frame.withColumn("u", F.udf(lambda x: x)("id")), "PythonUDF"
    yield frame.mapInPandas(lambda frames: frames, frame.schema), "MapInPandas"
    yield frame.localCheckpoint(), "RDD"
    yield spark.createDataFrame([(1, 2)], ["a", "b"]), "RDD"
    yield spark.readStream.format("rate").load(), "stream"
    yield frame.filter("x > 1"), "NaN"
    yield frame.filter("id > 3"), "casts a column"
    yield frame.withColumn("i", F.col("id").cast("int")), "casts a column"
    yield frame.withColumn("q", F.col("n") / F.col("n")), "Divide"
    yield frame.filter("n < (SELECT max(n) FROM survey)"), "ScalarSubquery"
    yield spark.sql("SELECT * FROM survey WHERE EXISTS (SELECT 1 FROM grouped WHERE grouped.id = survey.id)"), "Exists"
    yield spark.table("grouped"), "group beforehand"


@pytest.mark.filterwarnings("ignore:distutils Version classes")  # PySpark 3.5
def test_frames_that_are_not_row_wise_are_refused(spark, stored, tmp_path):
    frame = stored(as_table(listed_rows(9, 1)))
    for made, words in not_row_wise(frame, spark):
        with pytest.raises(NotRowWise, match=words):
            opening.open_table(made)
    frame.write.csv(str(tmp_path / "csv"))
    with pytest.raises(NotRowWise, match="store it as Parquet"):
        opening.open_table(spark.read.csv(str(tmp_path / "csv")))


def test_chosen_renamed_and_filtered_rows(spark, stored):
    """Row-wise steps are taken; two filters of one table are two tables to the ledger."""
    from pyspark.sql import functions as F

    rows = listed_rows(80, 4)
    frame = stored(as_table(rows))
    frame.createOrReplaceTempView("chosen")
    spark.sql("CREATE OR REPLACE TEMP VIEW larger AS SELECT id AS who, n FROM chosen WHERE n > 3 AND NOT id = 'a'")
    larger, smaller = opening.open_table(spark.table("larger")), opening.open_table(frame.filter("n < 3"))
    known = [(who, n) for who, _, n, _ in rows if n is not None and who is not None]
    assert how_many(larger, ["who = 'b'"]) == {"who = 'b'": sum(n > 3 and who == "b" for who, n in known)}
    renamed = frame.drop("x").withColumnRenamed("n", "m").withColumn("m.", F.col("m") > 3).cache()
    opened = opening.open_table(renamed)
    assert (
        list(how_many(opened, ['"m."', "m > 3"]).values()) == [sum(n is not None and n > 3 for _, _, n, _ in rows)] * 2
    )
    plain = opening.open_table(frame)
    assert len({plain.fingerprint, smaller.fingerprint, opening.open_table(frame.filter("n < 4")).fingerprint}) == 3


# ---- sessions ----


def test_a_session_on_spark(spark, stored):
    """From a DataFrame to an answer; a stopped or failing engine says the fixed sentence, and the spend stands."""
    s = um.Session(
        stored(as_table([("a", 1.0, 1, True), ("b", 2.0, 2, False)] * 5)),
        "survey",
        um.rows(at_most=20),
        "replace",
        budget=300,
    )
    assert "nothing was read" in str(s.plan.count("n > 1", privacy=50))
    assert s.count("n > 1", privacy=50).value == 5
    assert s.count(lambda t: t.n > 1, privacy=50).value == 5  # the same question, which is paid for
    assert s.sum("x", 0, 4, privacy=50, grid=1).value == 15
    assert s.count("n > 0", privacy=50, by=um.keys(id=["a", "b", "c"])).value == {"a": 5, "b": 5, "c": 0}
    assert str(s.left) == "epsilon 150 of 300"


def test_failures_say_one_sentence(spark, stored, tmp_path):
    path = tmp_path / "gone.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"n": [1, 2, 3]}), path)
    s = um.Session(spark.read.parquet(str(path)), "survey", um.rows(at_most=20), "replace", budget=10)
    path.unlink()
    with pytest.raises(AccountSuspended) as failed:
        s.count("n > 1", privacy=1)
    assert str(failed.value) == SUSPENDED
    assert failed.value.__cause__ is failed.value.__context__ is None
    assert str(s.left) == "epsilon 9 of 10"


# ---- by public keys ----


@pytest.mark.parametrize(
    "unit",
    [pytest.param(um.rows(at_most=99), marks=pytest.mark.long), um.people("id", 2, at_most=9, truncate="question")],
)
def test_answers_by_keys(stored, unit):
    """The same sums for every key as DuckDB, for rows and people, with what is not listed and without."""
    table = as_table(listed_rows(70, 9))
    here, there = opening.open_table(table), opening.open_table(stored(table))
    for keys in (
        um.keys(id=["a", "z", ""], other="elsewhere"),
        um.keys(pyarrow.table({"x": [0.0, 2.5, None, 1.3], "ok": [True, None, False, True]})),
        um.keys(n=[2**63 - 1, 0, 3], ok=[True, None]),
        um.keys(x=um.bins([-4, 0, 2.5, 9]), other="beyond"),
    ):
        found = []
        for source in (here, there):
            parts = {"c": ones(source, "n > -5 OR n IS NULL"), "s": values(source, "x", as_grid(-4, 8, "0.5"), None)}
            made = grouped_statement(source, unit, unit.rows_each, keys, parts, SECRET)
            found.append({name: column.tolist() for name, column in source.execute(made).items()})
        assert found[0] == found[1]
        assert any(found[0]["c"])


@pytest.mark.parametrize(
    "unit",
    [um.rows(at_most=99), pytest.param(um.people("id", rows_each=3, at_most=9), marks=pytest.mark.long)],
)
def test_keys_that_nobody_listed(stored, unit):
    """The same keys, holders and sums as DuckDB finds, before anything is drawn."""
    table = as_table(listed_rows(70, 6))
    found = []
    for source in (opening.open_table(table), opening.open_table(stored(table))):
        asked = QueryMaker(Setting(source, unit, "add-remove")).sum(
            "x", -4, 8, um.ApproxDP(1, 1e-6), grid="0.5", by=um.discover("ok", "n")
        )
        made = asked.statement(SECRET)
        rows = zip(*(column.to_pylist() for column in source.execute(made).values()), strict=True)
        found.append(sorted(rows, key=str))
    assert found[0] == found[1]
    assert len(found[0]) > 3


def test_old_calendars(spark, stored):
    """Where Spark would stop at a date before 1582, columns of dates cannot be asked about."""
    frame = stored(pyarrow.table({"day": pyarrow.array([None], pyarrow.date32()), "n": [1]}))
    spark.conf.set("spark.sql.parquet.datetimeRebaseModeInRead", "EXCEPTION")
    try:
        source = opening.open_table(frame)
    finally:
        spark.conf.set("spark.sql.parquet.datetimeRebaseModeInRead", "CORRECTED")
    with pytest.raises(InvalidInput, match="CORRECTED"):
        how_many(source, ["day > '2020-01-01'"])
    assert how_many(source, ["n > 0"]) == {"n > 0": 1}


# ---- jobs ----


@pytest.fixture
def either(spark, request):
    """The client of Spark Connect, or classic Spark."""
    return lambda client: request.getfixturevalue("connect") if client else spark


@pytest.mark.parametrize("client", [False, True])
def test_an_interrupt_ends_the_job_and_the_spend_stands(spark, either, client):
    """A count that would take hours, classic and through Connect: the server, whose jobs are seen, ends it."""
    s = um.Session(either(client).range(10**13), "survey", um.rows(at_most=20), "replace", budget=10)
    s.plan.count("id > 5", privacy=1).question.statement(s.source, SECRET)  # rehearsed: that is another job
    active, here = spark.sparkContext.statusTracker().getActiveJobsIds, ctypes.c_ulong(threading.get_ident())

    def interrupt():  # without a signal, at which PySpark itself would cancel every job
        while not active():
            time.sleep(0.1)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(here, ctypes.py_object(KeyboardInterrupt))

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        s.count("id > 5", privacy=1)
    assert str(s.left) == "epsilon 9 of 10"
    for _ in range(100):
        if not active():
            return
        time.sleep(0.1)
    pytest.fail("the job goes on")


@pytest.mark.parametrize("client", [False, True])
def test_what_spark_says_of_an_error_is_in_no_log(either, capfd, client):
    """PySpark writes errors that reach it to standard error, with Spark's words, among which may be a row's values."""
    session = either(client)
    made = Spark(session, None, None, client)
    failing = session.sql("SELECT CAST(concat('se', 'cret') AS DATE) + INTERVAL 1 DAY, raise_error('sec' || 'ret')")
    with pytest.raises(Exception, match="secret"):
        spark_jobs.rows_of(made, failing)
    assert "secret" not in capfd.readouterr().err
    with pytest.raises(Exception, match="secret"):  # what others ask is theirs to log
        failing.collect()


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("client", [False, pytest.param(True, marks=pytest.mark.long)])
def test_a_bar_on_a_terminal_and_none_elsewhere(either, monkeypatch, client):
    """Tasks that are done, of those there are; Connect tells of them now and then, so it has more to do."""
    many = 2 * 10**8 if client else 10**6
    source = opening.open_table(either(client).range(0, many, 1, 8))
    made = ones(source, "id > 5")
    asked = statement(source, um.rows(at_most=9), 1, {"c": made}, SECRET)
    monkeypatch.setattr(spark_jobs, "PATIENCE", 0)
    monkeypatch.setattr(spark_jobs, "LOOK", 0.01)
    for stream in [Terminal(), io.StringIO()][: 1 if client else 2]:
        monkeypatch.setattr("sys.stderr", stream)
        assert source.execute(asked) == {"c": many - 6}
        assert bool(re.search(r"Spark \[[# ]*\] [0-9]+ of [1-9][0-9]* tasks", stream.getvalue())) == stream.isatty()
        assert stream.getvalue().rpartition("\r")[2] == ""  # nothing is left on the line


# ---- Spark Connect ----


@pytest.fixture(scope="module")
def connect(spark):
    """A client of the server that the Spark of these tests is, and the table `agreed` there."""
    if spark.conf.get("spark.test.connect", None) is None:
        pytest.skip("this PySpark has no server of Spark Connect: 4.0 and newer have")
    from pyspark.sql.connect.session import SparkSession

    client = SparkSession(connection=spark.conf.get("spark.test.connect"))
    yield client
    client.client.close()


@pytest.fixture(scope="module")
def agreed(spark, stored):
    """A table of the server, and its rows."""
    rows = listed_rows(60, 3)
    stored(as_table(rows)).write.saveAsTable("agreed", format="parquet")
    return as_table(rows)


def test_connect_has_the_same_points(connect, agreed):
    here, there = opening.open_table(agreed), opening.open_table(connect.table("agreed"))
    assert differing_on(here, there, um.people("id", rows_each=1, at_most=9)) == []


@pytest.mark.long
def test_random_conditions_through_connect(connect, tmp_path):
    frame = as_frame(random_rows(SHARED), SHARED)
    pyarrow.parquet.write_table(frame, tmp_path / "t.parquet")
    both = opening.open_table(frame), opening.open_table(connect.read.parquet(str(tmp_path / "t.parquet")))
    assert differing(both, 9, 400, 40, SHARED) == []


def differing_on(here, there, unit):
    """Of a few questions of every kind, those with another point."""
    pairs = list(zip(every_question(here, unit, "replace"), every_question(there, unit, "replace"), strict=True))
    return [a.question.words for a, b in pairs[::15] if a.private_point(SECRET) != b.private_point(SECRET)]


TOWNS = pyarrow.table({"id": ["a", "b", "x"], "region": ["north", None, "south"], "area": [3, 2**40, 5]})
LISTED = pyarrow.table({"n": [1, -9, 2**63 - 1], "named": ["one", "nine", "last"], "even": [False, False, None]})


@pytest.mark.parametrize("client", [pytest.param(False, marks=pytest.mark.long), True])
def test_public_columns(either, agreed, client):
    """A left join on a unique key of text or whole numbers, twice: the points of DuckDB, for people and for rows."""
    far = either(client).table("agreed")
    unit = um.rows(at_most=99) if client else um.people("id", rows_each=2, at_most=9)
    points = []
    for table in (agreed, far):
        s = um.Session(table, "survey", unit, "replace", budget=10)
        s = s.with_public(TOWNS, on="id").with_public(LISTED, on="n")
        plans = [s.plan.count("region = 'north' AND (named IS NULL OR NOT even)", privacy=1)]
        if not client:
            plans.append(s.plan.sum("area", 0, 4, privacy=1, by=um.keys(region=["north", "south", None])))
        asked = [plan.question.statement(s.source, SECRET) for plan in plans]
        points.append([{k: np.asarray(v).tolist() for k, v in s.source.execute(made).items()} for made in asked])
    assert points[0] == points[1]
    assert sum(points[0][0].values()) > 0


def test_keys_from_a_client_that_is_older_than_its_server(monkeypatch):
    """What takes no Arrow table is PySpark 3.5 here, whatever the server is."""
    monkeypatch.setattr("pyspark.__version__", "3.5.9")

    class Session:
        version = "4.1.4"
        createDataFrame = staticmethod(lambda rows, kinds: (rows, kinds))

    rows, kinds = Spark(Session, None, None, connect=True).frame(TOWNS)
    assert rows == [("a", "north", 3), ("b", None, 2**40), ("x", "south", 5)]
    assert kinds == "`id` string, `region` string, `area` bigint"


def test_frames_of_connect_that_are_not_row_wise(connect, spark, agreed):
    from pyspark.sql.connect import functions as F

    frame = connect.table("agreed")
    frame.limit(3).createOrReplaceTempView("limited")
    spark.sql("CREATE OR REPLACE VIEW grouped_view AS SELECT id, count(*) AS c FROM agreed GROUP BY id")
    for made, words in (
        (frame.limit(3), "limit keeps"),
        (frame.sample(0.5), "drawn beforehand"),
        (frame.groupBy("id").count(), "group beforehand"),
        (frame.distinct(), "Deduplicate"),
        (frame.join(frame, "id"), "join beforehand"),
        (frame.orderBy("id"), "order"),
        (frame.union(frame), "one table"),
        (frame.filter("n > 1"), "as where="),
        (frame.select((F.col("n") / 2).alias("h")), "computes columns"),
        (frame.select(F.explode(F.array("n", "n"))), "computes columns"),
        (connect.sql("SELECT * FROM agreed"), "spark.table"),
        (connect.table("limited"), "is a view"),
        (connect.table("grouped_view"), "is a view"),
        (connect.read.csv("/nowhere", schema="a INT"), "store it as Parquet"),
        (connect.readStream.format("rate").load(), "stream"),
    ):
        with pytest.raises(NotRowWise, match=words):
            opening.open_table(made)
    chosen = opening.open_table(frame.select("id", F.col("n").alias("m")).drop("id"))
    assert chosen.columns == ("m",)


def test_a_table_of_connect_that_is_another_one_now(connect, spark, stored):
    """A plan of Connect goes by names: it is looked at again for every question."""
    stored(as_table(listed_rows(9, 5))).write.saveAsTable("turned", format="parquet")
    s = um.Session(connect.table("turned"), "survey", um.rows(at_most=20), "replace", budget=10)
    s.count("n > 1", privacy=1)
    spark.sql("DROP TABLE turned")
    with pytest.raises(InvalidInput, match="no table"):
        s.count("n > 2", privacy=1)
    spark.sql("CREATE VIEW turned AS SELECT * FROM VALUES ('a', 1D, 1L, true) AS v(id, x, n, ok)")
    with pytest.raises(NotRowWise, match="is a view"):
        s.count("n > 2", privacy=1)
    assert str(s.left) == "epsilon 9 of 10"


def test_addresses(spark, connect, agreed):
    address = spark.conf.get("spark.test.connect")
    s = um.Session(f"{address}#default.agreed", "survey", um.rows(at_most=99), "replace", budget=200)
    wanted = sum(n is not None and n > 1 for n in agreed["n"].to_pylist())
    assert s.count("n > 1", privacy=50).value == wanted
    for odd, words in (
        (address, "say which"),
        (f"{address}#nowhere.at_all", "no table"),
        ("sc://127.0.0.1:1/;token=secret#t", "cannot be reached"),
    ):
        with pytest.raises(InvalidInput, match=words) as refused:
            opening.open_table(odd)
        assert "secret" not in str(refused.value)


def test_the_command(spark, connect, agreed, tmp_path):
    """`utmost release sc://...` asks like of any other table."""
    address = f"{spark.conf.get('spark.test.connect')}#default.agreed"
    terms = ("--dataset", "d", "--rows-at-most", 99, "--neighbours", "replace", "--ledger", tmp_path / "b.db")
    done = utmost("release", address, *terms, "--count", "n > 1", "--privacy", 50, "--budget", 60, "--json")
    assert done.returncode == 0, done.stderr
    wanted = sum(n is not None and n > 1 for n in agreed["n"].to_pylist())
    assert json.loads(done.stdout)["value"] == wanted


@pytest.mark.long
def test_a_server_for_analysts(spark, connect, agreed, tmp_path):
    """`table = "sc://..."` in settings, and a classic frame: analysts ask, both budgets are charged, rows stay."""
    place = f"{spark.conf.get('spark.test.connect')}#default.agreed"
    text = write_settings(tmp_path, budget=500, own=300).read_text().replace("people.csv", place, 1)
    text = text.replace("columns.age", "columns.n").replace("columns.town", "columns.id").replace('type = "int"\n', "")
    (tmp_path / "utmost.toml").write_text(text)
    found = read_settings(tmp_path / "utmost.toml")
    classic = replace(found.datasets["hidden"], table=spark.table("agreed"), budget=um.PureDP(500))
    bob = replace(found.visitors["bob"], budgets={"survey": um.PureDP(300), "hidden": um.PureDP(300)})
    settings = replace(found, datasets={**found.datasets, "hidden": classic}, visitors={**found.visitors, "bob": bob})
    rows = list(zip(*agreed.to_pydict().values(), strict=True))
    wanted = sum(n is not None and n > 1 for _, _, n, _ in rows), {k: sum(r[0] == k for r in rows) for k in "ab"}
    with serving(settings) as url:
        clients = [um.Client(url, KEYS[who][0], on) for who, on in (("ada", "survey"), ("bob", "hidden"))]
        for client in clients:
            assert {each["name"]: each["kind"] for each in client.facts["columns"]}["n"] == "int64"
            with ThreadPoolExecutor(3) as many:
                whole = many.map(lambda n, c=client: c.count(f"n > {n}", privacy=20 + n).value, (1, 1, 2))
                assert list(whole)[:2] == [wanted[0]] * 2
            plans = [client.plan.count(privacy=40, by=um.keys(id=["a", "b"])), client.plan.sum("n", 0, 9, privacy=40)]
            answers = client.batch(plans)
            assert {key: answers[0].value[key] for key in "ab"} == wanted[1]
            assert all(answer.verify() for answer in answers)
            if client.dataset == "survey":  # its server forgets the sessions, as after a restart: they are made again
                for one in [each for each in gc.get_objects() if type(each) is type(connect) and each is not connect]:
                    one.client.release_session()
            assert client.count("n > 4", privacy=30).value == sum(n is not None and n > 4 for _, _, n, _ in rows)
            with pytest.raises(BudgetSpent, match="your own budget"):
                client.count("n > 3", privacy=290)
            with pytest.raises(NotRowWise):
                client.count("TRY_CAST(id AS BIGINT) > 3", privacy=1)
            client.close()


def test_tiers_have_the_points_of_duckdb(stored):
    """Rows and people with promises of their own, a person's consent being noted on one of their rows only."""
    rows = [
        {
            "id": i % 7 if i % 11 else None,
            "consent": "basic" if i in (3, 12) else None,
            "vote": ("yes", "no", None)[i % 3],
        }
        for i in range(40)
    ]
    table, tiers = pyarrow.Table.from_pylist(rows), {"consent = 'basic'": ("0.1", 5)}
    frame = stored(table)
    for unit in (um.rows(at_most=50, tiers=tiers), um.people("id", rows_each=2, at_most=20, tiers=tiers)):
        near, far = (um.Session(source, "d", unit, "add-remove", budget=1) for source in (table, frame))
        for ask in (lambda p: p.count("vote = 'yes'", privacy=1), lambda p: p.majority("vote = 'yes'", privacy=1)):
            question = ask(near.plan).question
            here, there = (s.source.execute(question.statement(s.source, SECRET)) for s in (near, far))
            assert here == there
            assert question.name == "majority" or here["t0"] > 0
