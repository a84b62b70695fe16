"""Leaks that version 0.2 had because an engine failed on some rows: each fails there, and tells one person's value.

A question is asked about a table in which one person is ill and one in which nobody is: what comes of it must be alike.
"""

import csv
import datetime
import io

import duckdb
import pandas
import pyarrow
import pytest
from oracles.fuzzing import BUDGET, FOUND, LEVEL, require_alike
from pyarrow import parquet

import utmost as um

SMALL = 1  # or a millionth, at which mechanisms take longer to design
ONE = "id = 17 AND ill"


def session(table, neighbours="add-remove"):
    return um.Session(table, "d", um.rows(at_most=100), neighbours, budget=BUDGET)


def people(kind, value, ill):
    """A hundred people; number 17 is ill or not, and everybody has the same value."""
    numbers = list(range(100))
    return pyarrow.table(
        {
            "id": numbers,
            "ill": [ill and i == 17 for i in numbers],
            "x": pyarrow.array([value] * 100, kind),
            "town": ["Ash"] * 100,
        }
    )


# ---- narrow integers overflow ----

NARROW = [("int8", 100, -100, 100), ("int16", 30_000, 0, 30_000), ("int32", 100_000, 0, 100_000)]
NARROW += [("uint8", 200, 0, 250), ("uint16", 60_000, 0, 60_000), ("uint32", 100_000, 0, 100_000)]


def of_numbers(low, high):
    """Every question that adds or multiplies a column's numbers, about one person."""
    both, towns = ((low, high), (low, high)), um.keys(town=["Ash", "Elm"])
    return {
        "mean": lambda s: s.mean("x", low, high, SMALL, where=ONE),
        "variance": lambda s: s.variance("x", low, high, SMALL, where=ONE),
        "covariance": lambda s: s.covariance("x", "x", *both, SMALL, where=ONE),
        "mean by keys": lambda s: s.mean("x", low, high, SMALL, where=ONE, by=towns),
        "variance by keys": lambda s: s.variance("x", low, high, SMALL, where=ONE, by=towns),
        "mean by found keys": lambda s: s.mean("x", low, high, FOUND, where=ONE, by=um.discover("town")),
        "sum": lambda s: s.sum("x", low, high, SMALL, where=ONE),
    }


def as_arrow(table, folder):
    return table


def as_parquet(table, folder):
    parquet.write_table(table, folder / f"{len(list(folder.iterdir()))}.parquet")
    return folder / f"{len(list(folder.iterdir())) - 1}.parquet"


def as_pandas(table, folder):
    return table.to_pandas()


def as_duckdb(table, folder):
    path = folder / f"{len(list(folder.iterdir()))}.duckdb"
    with duckdb.connect(path) as connection:
        connection.register("made", table)
        connection.execute("CREATE TABLE t AS FROM made")
    return f"{path}#t"


@pytest.mark.parametrize(("kind", "value", "low", "high"), NARROW, ids=[kind for kind, *_ in NARROW])
@pytest.mark.parametrize("stored", [as_arrow, as_parquet, as_pandas, as_duckdb], ids=lambda made: made.__name__[3:])
def test_narrow_integers_do_not_overflow(stored, kind, value, low, high, tmp_path):
    """A variance of an int32 column failed exactly if person 17 was ill, at an epsilon of a millionth."""
    tables = [stored(people(getattr(pyarrow, kind)(), value, ill), tmp_path) for ill in (False, True)]
    asked = of_numbers(low, high)
    require_alike(tables, asked if stored is as_arrow else {"variance": asked["variance"]})


def test_a_mean_of_int8_does_not_tell_who_has_28_or_more():
    """Without any condition: the value less the lower end of the range did not fit into the column's type."""
    tables = [pyarrow.table({"x": pyarrow.array([1, most], pyarrow.int8())}) for most in (27, 28)]
    require_alike(tables, {"mean": lambda s: s.mean("x", -100, 100, SMALL)})
    assert session(tables[1]).mean("x", -100, 100, LEVEL).released == {"above_lower": 229, "below_upper": 171}


# ---- keys: values that Python or Arrow cannot hold ----

FAR = {
    "uint64": (pyarrow.array([2**63 + 5], pyarrow.uint64()), pyarrow.array([5], pyarrow.uint64()), [5, 6]),
    "largest uint64": (pyarrow.array([2**64 - 1], pyarrow.uint64()), pyarrow.array([5], pyarrow.uint64()), [5, 6]),
    "year 10000": (
        pyarrow.array([2_932_897], pyarrow.int32()).view(pyarrow.date32()),
        pyarrow.array([5], pyarrow.int32()).view(pyarrow.date32()),
        [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)],
    ),
    "year -5877641": (
        pyarrow.array([-(2**31) + 2], pyarrow.int32()).view(pyarrow.date32()),
        pyarrow.array([5], pyarrow.int32()).view(pyarrow.date32()),
        [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)],
    ),
}


def public(keys):
    return pyarrow.table({"x": keys, "region": ["north", "south"]})


def by_keys(keys):
    """Every question that compares a column with public values, about one person and those with lower numbers."""
    some, two = f"{ONE} OR id < 17", um.keys(x=keys, town=["Ash", "Elm"])
    return {
        "count by keys": lambda s: s.count(some, SMALL, by=um.keys(x=keys)),
        "count by two keys": lambda s: s.count(some, SMALL, by=two),
        "sum by keys": lambda s: s.sum("id", 0, 99, SMALL, where=some, by=um.keys(x=keys)),
        "marginals": lambda s: s.marginals(two, 2, SMALL, where=some),
        "hierarchy": lambda s: s.hierarchy(["x", "town"], two, SMALL, where=some),
        "public": lambda s: s.with_public(public(keys), on="x").count(f"({some}) AND region IS NULL", SMALL),
        "public by keys": lambda s: s.with_public(public(keys), on="x").count(
            some, SMALL, by=um.keys(region=["north", "south"])
        ),
        "top": lambda s: s.top("x", 1, keys, SMALL, where=some),
        "top found": lambda s: s.top("x", 1, privacy=FOUND, where=some),
        "keys": lambda s: s.keys("x", FOUND, where=some),
        "count by found keys": lambda s: s.count(some, FOUND, by=um.discover("x")),
        "histogram": lambda s: s.histogram("x", keys, SMALL, other="rest", where=some),
        "plurality": lambda s: s.plurality("x", keys, SMALL, where=some),
    }


@pytest.mark.parametrize("which", FAR)
@pytest.mark.parametrize("stored", [as_arrow, as_parquet, as_duckdb], ids=lambda made: made.__name__[3:])
def test_values_that_are_no_public_key_do_not_fail(stored, which, tmp_path):
    """DuckDB looks up private values in the public table: beyond 2^63, and after the year 9999, that raised."""
    far, near, keys = FAR[which]
    tables = []
    for ill in (False, True):
        rows = {"id": [1, 17, 1, 1], "ill": [False, ill, False, False], "town": ["Ash"] * 4}
        tables.append(stored(pyarrow.table({**rows, "x": pyarrow.concat_arrays([near, far, near, near])}), tmp_path))
    asked = by_keys(keys)
    if stored is not as_arrow:
        asked = {name: asked[name] for name in ("count by keys", "marginals", "public by keys")}
    require_alike(tables, asked)


# ---- numbers of 128 bits ----

OF_HUGE = {
    "as text": lambda s: s.count("TRY_CAST(x AS TEXT) = 'a'", SMALL),
    "as a decimal number": lambda s: s.count("TRY_CAST(x AS DECIMAL(38, 0)) > 1", SMALL),
    "as a short decimal number": lambda s: s.count("TRY_CAST(x AS DECIMAL(18, 4)) > 1", SMALL),
    "as a whole number": lambda s: s.count("TRY_CAST(x AS BIGINT) > 1", SMALL),
    "compared": lambda s: s.count("x > 1", SMALL),
    "sum": lambda s: s.sum("x", 0, 100, SMALL),
    "variance": lambda s: s.variance("x", 0, 100, SMALL),
    "histogram": lambda s: s.histogram("x", [1, 2], SMALL),
    "keys": lambda s: s.count(None, SMALL, by=um.keys(x=[1, 2])),
    "found keys": lambda s: s.keys("x", FOUND),
}


@pytest.mark.parametrize("far", [2**127 - 1, -(2**127), 10**38, -(10**38), 2**128 - 1])
def test_numbers_beyond_38_digits(far, tmp_path):
    """TRY_CAST of HUGEINT beyond 10^38 to TEXT or DECIMAL stopped DuckDB."""
    kind = "HUGEINT" if far < 2**127 else "UHUGEINT"
    tables = []
    for name, value in (("near", 1), ("far", far)):
        with duckdb.connect(tmp_path / f"{name}.duckdb") as connection:
            connection.execute(f"CREATE TABLE t (x {kind}); INSERT INTO t VALUES (1), (2), ('{value}'::{kind})")
        tables.append(f"{tmp_path / name}.duckdb#t")
    require_alike(tables, OF_HUGE)
    require_alike(tables, {"people": lambda s: s.count(None, SMALL)}, unit=um.people("x", 1, 9))


# ---- rows of a CSV file that vanish ----


def as_pandas_writes(values):
    """A file as pandas writes it: a carriage return in an entry is not quoted where lines end in a line feed."""
    return pandas.DataFrame({"id": range(len(values)), "x": values, "y": "end"}).to_csv(index=False)


def as_csv_writes(values):
    """A file as Python's own writer writes it."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([["id", "x", "y"], *([i, v, "end"] for i, v in enumerate(values))])
    return out.getvalue()


HIDING = {"carriage return": "a\rb", "only a carriage return": "\r", "two megabytes": "x" * 2_100_000}
HIDING |= {
    "line feed": "a\nb",
    "both": "a\r\nb",
    "quotes": 'a"b""c',
    "quote alone": '"',
    "comma": "a,b,c,d",
    "nul": "\0",
}


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("write", [as_pandas_writes, as_csv_writes], ids=["pandas", "csv"])
@pytest.mark.parametrize("entry", HIDING)
def test_no_row_of_a_csv_file_vanishes(entry, write, neighbours, tmp_path):
    """Under replace the noise of a histogram with `other` may add up to 0: its total told that a row was gone."""
    tables = []
    for name, value in (("harmless", "a"), ("odd", HIDING[entry])):
        (tmp_path / f"{name}.csv").write_bytes(write(["a", "b", value, "c"]).encode())
        tables.append(tmp_path / f"{name}.csv")
    asked = {
        "count": lambda s: s.count(None, LEVEL),
        "histogram": lambda s: s.histogram("x", ["a", "b", "c"], LEVEL, other="rest"),
        "last column": lambda s: s.count("y = 'end'", LEVEL),
    }
    require_alike(tables, asked, neighbours=neighbours)
    odd = session(tables[1], neighbours)
    assert {name: sum(ask(odd).released.values()) for name, ask in asked.items()} == dict.fromkeys(asked, 4)


@pytest.mark.parametrize("entry", ["a\rb", "x" * 2_100_000], ids=["carriage return", "two megabytes"])
def test_totals_of_csv_files_are_not_exact(entry, tmp_path):
    """Whatever a reader does with an odd row, the number of rows in a CSV file is released with noise only."""
    (tmp_path / "t.csv").write_text(as_pandas_writes(["a", "b", entry, "c"] * 3), newline="")
    s = session(tmp_path / "t.csv", "replace")
    totals = {sum(s.histogram("x", ["a"], "0.5", other="rest", fresh=True).value.values()) for _ in range(20)}
    assert len(totals) > 1
    shown = s.plan.histogram("x", ["a", "b"], 1, other="rest").details
    assert "sum-zero" not in shown["mechanism"]
    assert not any("is published" in note for note in shown["notes"])


# ---- Parquet files that hold what their type does not allow ----

OF_TEXT = {
    "count": lambda s: s.count("x = 'a'", SMALL),
    "null": lambda s: s.count("x IS NULL", SMALL),
    "guarded": lambda s: s.count(f"{ONE} AND x = 'a'", SMALL),
    "histogram": lambda s: s.histogram("x", ["a", "b"], SMALL, other="rest"),
    "keys": lambda s: s.keys("x", FOUND),
    "other column": lambda s: s.count("id > 3", SMALL),
}


@pytest.mark.parametrize("kind", ["string", "large_string", "dictionary"])
def test_text_in_parquet_that_is_not_utf8(kind, tmp_path):
    """DuckDB stops at it, so that any question about the column told whether there is such an entry."""
    tables = []
    for name, odd in (("plain", b"a"), ("broken", b"\xff\xfe")):
        raw = pyarrow.array([b"a", b"b", odd] * 2, pyarrow.large_binary() if kind == "large_string" else None)
        text = raw.view(pyarrow.large_string() if kind == "large_string" else pyarrow.string())
        column = text.dictionary_encode() if kind == "dictionary" else text
        rows = pyarrow.table({"id": [17] * 6, "ill": [False] * 6, "x": column})
        parquet.write_table(rows, tmp_path / f"{name}.parquet")
        tables.append(tmp_path / f"{name}.parquet")
    require_alike(tables, OF_TEXT)


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_milliseconds_in_parquet_that_are_too_many_for_microseconds(zone, tmp_path):
    """DuckDB stops where a time in milliseconds does not fit into 64 bits of microseconds."""
    tables = []
    for name, odd in (("plain", 5), ("far", 2**62)):
        times = pyarrow.array([1, 2, odd], pyarrow.int64()).view(pyarrow.timestamp("ms", zone))
        parquet.write_table(pyarrow.table({"id": [1, 2, 17], "x": times}), tmp_path / f"{name}.parquet")
        tables.append(tmp_path / f"{name}.parquet")
    listed = ("x IS NULL", "x IS NOT NULL AND id > 3", "id > 3")
    require_alike(tables, {where: lambda s, where=where: s.count(where, SMALL) for where in listed})


# ---- decimal numbers with more digits than their type has ----


def decimals(kind, units):
    """Decimal numbers from their stored integers, without a look at how many digits they have."""
    stored = b"".join(unit.to_bytes(kind.bit_width // 8, "little", signed=True) for unit in units)
    return pyarrow.Array.from_buffers(kind, len(units), [None, pyarrow.py_buffer(stored)])


@pytest.mark.parametrize(
    "kind", [pyarrow.decimal128(12, 3), pyarrow.decimal128(4, 1), pyarrow.decimal128(9, 0)], ids=str
)
@pytest.mark.parametrize("stored", [as_arrow, as_parquet], ids=["arrow", "parquet"])
def test_a_decimal_number_with_too_many_digits_is_not_another_rows(kind, stored, tmp_path):
    """DuckDB left in its place what stood there before: a row of the block before, which so counted many times."""
    moved = {}
    for value in (0, 1):
        units = [0] * 8 * 2048
        units[5] = value
        units[2048 + 5 :: 2048] = [2**120] * 7
        table = pyarrow.table({"x": decimals(kind, units), "id": list(range(len(units)))})
        s = um.Session(stored(table, tmp_path), "d", um.rows(at_most=20_000), "replace", budget=BUDGET)
        moved[value] = (s.count("x > 0", LEVEL).value, s.count("x = 0", LEVEL).value)
    assert abs(moved[1][0] - moved[0][0]) <= 1
    assert abs(moved[1][1] - moved[0][1]) <= 1
