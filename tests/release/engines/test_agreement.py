"""DuckDB and PostgreSQL agree on random conditions about every type both have, with values at the edges of each."""

import datetime
import itertools
import math
import operator
import random
from decimal import Decimal

import numpy as np
import pyarrow
import pytest
from oracles.questions import Setting, histogram

import utmost as um
from utmost.release import engines
from utmost.release.conditions import as_condition

UTC = datetime.UTC
SECRET = b"s" * 32
TYPES = {
    "f": ("real", pyarrow.float32()),
    "x": ("double precision", pyarrow.float64()),
    "n": ("bigint", pyarrow.int64()),
    "k": ("integer", pyarrow.int32()),
    "d": ("numeric(12, 3)", pyarrow.decimal128(12, 3)),
    "w": ("numeric(38, 0)", pyarrow.decimal128(38, 0)),
    "t": ("timestamp", pyarrow.timestamp("us")),
    "z": ("timestamptz", pyarrow.timestamp("us", "UTC")),
    "day": ("date", pyarrow.date32()),
    "ok": ("boolean", pyarrow.bool_()),
    "s": ("text", pyarrow.string()),
}
NUMBERS = ("f", "x", "n", "k", "d", "w")
SINGLE = [float(np.float32(x)) for x in (0.1, 0.3, 1e-45, 3.4e38, 16777217, 2.5)] + [math.inf, -math.inf, math.nan, 0.0]
DOUBLE = [0.1, 0.3, 0.30000000000000004, 0.1 + 2**-56, 5e-324, 1e300, 2.0**53, -0.0, 2.5, math.nan, math.inf, -math.inf]
WHOLE = [0, 1, -1, 2, 2**24, 2**24 + 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)]
SMALL = [0, 1, -1, 2, 2**24, 2**24 + 1, 2**31 - 1, -(2**31)]
DECIMAL = [Decimal(text) for text in ("0.1", "0.3", "0.125", "-0.001", "999999999.999", "2.5", "0")]
WIDE = [Decimal(0), Decimal(1), Decimal(2**53), Decimal(2**53 + 1), Decimal("9" * 38), Decimal("-" + "9" * 38)]
MOMENTS = [datetime.datetime(2020, 1, 1, 11), datetime.datetime(1999, 12, 31, 23, 59, 59, 999999)]
VALUES = {
    "f": SINGLE,
    "x": DOUBLE,
    "n": WHOLE,
    "k": SMALL,
    "d": DECIMAL,
    "w": WIDE,
    "t": [*MOMENTS, datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)],
    "z": [moment.replace(tzinfo=UTC) for moment in MOMENTS],
    "day": [datetime.date(2020, 1, 1), datetime.date(1, 1, 1), datetime.date(9999, 12, 31)],
    "ok": [True, False],
    "s": ["", "a", "a|b", "A", "é", "%"],
}
WRITTEN = (
    *("0", "1", "-1", "2", "2.5", "0.1", "0.3", "0.30000000000000004", "1e-45", "16777217", "16777216.5", "3.5e38"),
    *("9007199254740992", "9007199254740993", "9007199254740993.0", "9223372036854775807", "-0.001", "0.125", "5e-324"),
)
TIMES = ("'2020-01-01 11:00:00'", "'1999-12-31 23:59:59.999999'", "'2020-01-01'")
ZONED = ("'2020-01-01 12:00:00+01:00'", "'2020-01-01 11:00:00Z'", "'1999-12-31 18:29:59.999999-05:30'")
OTHERS = {
    "t": TIMES,
    "z": ZONED,
    "day": ("'2020-01-01'", "'0001-01-01'"),
    "ok": ("true", "false"),
    "s": ("'a'", "''", "'é'"),
}
ORDER = {
    **{"=": operator.eq, "<>": operator.ne, "<": operator.lt},
    **{"<=": operator.le, ">": operator.gt, ">=": operator.ge},
}


def random_condition(draw, depth=2):
    """A condition in SQL of comparisons, lists, ranges and nulls, joined by AND, OR and NOT."""
    if depth and draw.random() < 0.5:
        parts = [f"({random_condition(draw, depth - 1)})" for _ in range(draw.choice((1, 2, 2, 3)))]
        return f"NOT {parts[0]}" if len(parts) == 1 else draw.choice((" AND ", " OR ")).join(parts)
    column = draw.choice(tuple(TYPES))
    known = WRITTEN if column in NUMBERS else OTHERS[column]
    kind = draw.choice(("compare", "compare", "in", "between", "null", "column"))
    if kind == "null":
        return f"{column} IS {draw.choice(('', 'NOT '))}NULL"
    if kind == "in":
        return f"{column} IN ({', '.join(draw.choices(known, k=draw.randint(1, 5)))})"
    if kind == "between" and column not in ("s", "ok"):
        return f"{column} BETWEEN {draw.choice(known)} AND {draw.choice(known)}"
    sign = draw.choice(("=", "<>") if column in ("s", "ok") else tuple(ORDER))
    alike = [other for other in NUMBERS if other != column] if column in NUMBERS else [column]
    right = draw.choice(alike) if kind == "column" else draw.choice(known)
    return f"{column} {sign} {right}"


@pytest.fixture(scope="module")
def both(postgres):
    """The same rows in both engines: all edges of every column, in many combinations, and nulls."""
    url, psycopg = postgres
    draw = random.Random(5)
    rows = [tuple(draw.choice([*VALUES[name], None]) for name in TYPES) for _ in range(200)]
    rows += [tuple(values) for values in itertools.zip_longest(*(VALUES[name] for name in TYPES))]
    arrays = [
        pyarrow.array(list(column), type=kind, from_pandas=False)
        for column, (_, kind) in zip(zip(*rows, strict=True), TYPES.values(), strict=True)
    ]
    with psycopg.connect(url, autocommit=True) as connection:
        made = ", ".join(f"{name} {kind}" for name, (kind, _) in TYPES.items())
        connection.execute(f"CREATE TABLE agree (number int, {made})")
        with connection.cursor() as cursor:
            holes = ", ".join(["%s"] * (len(TYPES) + 1))
            listed = [(i, *row) for i, row in enumerate(rows)]
            cursor.executemany(f"INSERT INTO agree VALUES ({holes})", listed)
        frame = pyarrow.table([pyarrow.array(range(len(rows)), pyarrow.int32()), *arrays], names=["number", *TYPES])
        yield engines.open_table(frame), engines.open_table(f"{url}#agree"), rows


def counted(source, conditions):
    """How many rows have each of some conditions, and how many have neither it nor its contrary, as questions ask."""
    import ibis

    made = [as_condition(where, source) for where in conditions]
    columns = {}
    for i, condition in enumerate(made):
        columns[f"a{i}"] = ibis.ifelse(condition, source.table.number.cast("int64") * 1009 + 1, 0).cast("int64")
        columns[f"b{i}"] = ibis.ifelse(~condition, source.table.number.cast("int64") * 1009 + 1, 0).cast("int64")
    table = source.table.select(**columns)
    return source.integers(source.statement(table.aggregate(**{name: table[name].sum() for name in columns})))


def differing(both, seed, many, at_once=20):
    draw = random.Random(seed)
    wrong = []
    for _ in range(many // at_once):
        conditions = [random_condition(draw) for _ in range(at_once)]
        here, there = (counted(source, conditions) for source in both[:2])
        if here != there:
            wrong += [where for where in conditions if counted(both[0], [where]) != counted(both[1], [where])]
    return wrong


def test_random_conditions_are_true_and_false_of_the_same_rows(both):
    """Sums of a number for each row tell which rows they are."""
    assert differing(both, 1, 300) == []


@pytest.mark.long
def test_thousands_of_random_conditions(both):
    assert differing(both, 2, 4_000, 40) == []


def how_many(source, conditions):
    """How many rows have each condition, in one statement."""
    import ibis

    columns = {f"c{i}": ibis.ifelse(as_condition(where, source), 1, 0) for i, where in enumerate(conditions)}
    table = source.table.select(**columns)
    found = source.integers(source.statement(table.aggregate(**{name: table[name].sum() for name in columns})))
    return dict(zip(conditions, found.values(), strict=True))


def as_compared(name, value, written):
    """The number that a value of a column is compared as: itself, or the nearest float beside one."""
    exact = isinstance(value, float) or (name in ("n", "k") and not set(".e") & set(written))
    return Decimal(value) if exact else Decimal(float(value))


@pytest.mark.parametrize("name", NUMBERS)
def test_comparisons_of_numbers_are_those_of_exact_arithmetic(both, name):
    """A float of 32 bits is compared as the number it is, with what is written beside it rounded to 32 bits."""
    wanted = {}
    values = [row[list(TYPES).index(name)] for row in both[2]]
    for written in WRITTEN:
        right = as_compared(name, Decimal(written), written)
        if name == "f" and right < Decimal("3.4e38"):
            right = Decimal(float(np.float32(float(right))))
        lefts = [as_compared(name, value, written) for value in values if value is not None and value == value]
        for sign, compare in ORDER.items():
            wanted[f"{name} {sign} {written}"] = sum(compare(left, right) for left in lefts)
    for source in both[:2]:
        assert how_many(source, list(wanted)) == wanted


def test_categories_of_every_kind(both):
    """Histograms count the same rows in both."""
    for column, categories in (
        ("f", [0.1, 0.3, 2.5, 16777216]),
        ("x", [0.1, 0.3, 0.30000000000000004, 5e-324]),
        ("n", [0, 2**53, 2**53 + 1, 2**63 - 1]),
        ("d", [0.1, 0.125, -0.001]),
        ("s", ["", "a", "é"]),
        ("ok", [True, False]),
    ):
        points = []
        for source in both[:2]:
            asked = histogram(
                Setting(source, um.rows(at_most=999), "replace"),
                column,
                categories,
                1,
                "rest",
                None,
                "rows",
                "absolute",
            )
            points.append(asked.point(asked.statement(SECRET)))
        assert points[0] == points[1]
        position = list(TYPES).index(column)
        for name, category in zip(points[0], categories, strict=False):
            stored = float(np.float32(category)) if column == "f" else category
            stored = Decimal(str(category)) if column == "d" else stored
            assert points[0][name] == sum(row[position] == stored for row in both[2] if row[position] is not None)
            assert points[0][name] > 0


def test_written_numbers_are_read_to_the_last_bit():
    """DuckDB's decimal numbers err in the last place when they become floats: one in twenty."""
    draw = random.Random(3)
    numbers = [draw.uniform(-1, 1) * 10 ** draw.randint(-3, 6) for _ in range(300)]
    source = engines.open_table(pyarrow.table({"x": numbers}))
    assert set(how_many(source, [f"x = {x!r}" for x in numbers]).values()) == {1}


def test_lists_are_compared_like_single_values(both):
    """Of a whole number and a number with a point in one list, the whole one is compared exactly."""
    for source in both[:2]:
        for column, items in (("n", ("9007199254740993", "0.5")), ("f", ("0.5", "0.1")), ("d", ("0.1", "2"))):
            listed, by_hand = f"{column} IN ({', '.join(items)})", " OR ".join(f"{column} = {item}" for item in items)
            found = list(how_many(source, [listed, by_hand, f"NOT ({listed})", f"NOT ({by_hand})"]).values())
            assert found[:1] == found[1:2]
            assert found[2:3] == found[3:]
            assert 0 < found[0] < len(both[2])
        assert counted(source, ["n IN (9007199254740993, 0.5)"]) != counted(source, ["n IN (9007199254740992, 0.5)"])
