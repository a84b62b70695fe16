"""DuckDB and PostgreSQL agree on random conditions about every type both have, with values at the edges of each."""

import random
from decimal import Decimal

import numpy as np
import pyarrow
import pytest
from oracles.agreement import (
    NUMBERS,
    ORDER,
    TYPES,
    WRITTEN,
    as_frame,
    counted,
    differing,
    how_many,
    random_computed,
    random_rows,
)
from oracles.questions import Setting, histogram
from pyarrow import parquet

import utmost as um
from utmost.backends import opening

SECRET = b"s" * 32


@pytest.fixture(scope="module")
def both(postgres):
    """The same rows in both engines: all edges of every column, in many combinations, and nulls."""
    url, psycopg = postgres
    rows = random_rows()
    with psycopg.connect(url, autocommit=True) as connection:
        made = ", ".join(f"{name} {kind}" for name, (kind, _) in TYPES.items())
        connection.execute(f"CREATE TABLE agree (number int, {made})")
        with connection.cursor() as cursor:
            holes = ", ".join(["%s"] * (len(TYPES) + 1))
            listed = [(i, *row) for i, row in enumerate(rows)]
            cursor.executemany(f"INSERT INTO agree VALUES ({holes})", listed)
        yield opening.open_table(as_frame(rows)), opening.open_table(f"{url}#agree"), rows


def test_random_conditions_are_true_and_false_of_the_same_rows(both):
    """Sums of a number for each row tell which rows they are."""
    assert differing(both[:2], 1, 300) == []


def test_random_expressions_are_the_same_numbers(both, tmp_path):
    """Arithmetic, CASE, days and letters: in PostgreSQL, a frame and a Parquet file, with nobody's row a failure."""
    assert differing(both[:2], 3, 50, make=random_computed) == []
    parquet.write_table(as_frame(both[2]), tmp_path / "rows.parquet")
    assert differing((both[0], opening.open_table(tmp_path / "rows.parquet")), 4, 30, make=random_computed) == []


@pytest.mark.long
def test_thousands_of_random_expressions(both):
    assert differing(both[:2], 5, 2_000, 40, make=random_computed) == []


@pytest.mark.long
def test_thousands_of_random_conditions(both):
    assert differing(both[:2], 2, 2_000, 40) == []


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
    source = opening.open_table(pyarrow.table({"x": numbers}))
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
