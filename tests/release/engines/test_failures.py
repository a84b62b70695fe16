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
from oracles.fuzzing import BUDGET, FOUND, LEVEL, Channels, outcome
from pyarrow import parquet

import utmost as um

SMALL = "0.000001"
ONE = "id = 17 AND ill"


def session(table, neighbours="add-remove", unit=None):
    return um.Session(table, "d", unit or um.rows(at_most=200), neighbours, budget=BUDGET)


def alike(healthy, ill, ask, **options):
    """Ask of both tables: the same comes of it, and nothing fails."""
    with Channels() as channels:
        found = [outcome(session(table, **options), ask, channels) for table in (healthy, ill)]
    assert found[0] == found[1]
    assert found[1].kind != "failed", found[1].words


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
OF_NUMBERS = {
    "mean": lambda s, low, high: s.mean("x", low, high, SMALL, where=ONE),
    "variance": lambda s, low, high: s.variance("x", low, high, SMALL, where=ONE),
    "covariance": lambda s, low, high: s.covariance("x", "x", (low, high), (low, high), SMALL, where=ONE),
    "mean by keys": lambda s, low, high: s.mean("x", low, high, SMALL, where=ONE, by=um.keys(town=["Ash", "Elm"])),
    "variance by keys": lambda s, low, high: s.variance("x", low, high, SMALL, where=ONE, by=um.keys(town=["Ash"])),
    "mean by found keys": lambda s, low, high: s.mean("x", low, high, FOUND, where=ONE, by=um.discover("town")),
    "sum": lambda s, low, high: s.sum("x", low, high, SMALL, where=ONE),
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


@pytest.mark.parametrize("asked", OF_NUMBERS)
@pytest.mark.parametrize(("kind", "value", "low", "high"), NARROW, ids=[kind for kind, *_ in NARROW])
@pytest.mark.parametrize("stored", [as_arrow, as_parquet, as_pandas, as_duckdb], ids=lambda made: made.__name__[3:])
def test_narrow_integers_do_not_overflow(stored, kind, value, low, high, asked, tmp_path):
    """A variance of an int32 column failed exactly if person 17 was ill, at an epsilon of a millionth."""
    tables = [stored(people(getattr(pyarrow, kind)(), value, ill), tmp_path) for ill in (False, True)]
    alike(*tables, lambda s: OF_NUMBERS[asked](s, low, high))


def test_a_mean_of_int8_does_not_tell_who_has_28_or_more():
    """Without any condition: the value less the lower end of the range did not fit into the column's type."""
    tables = [pyarrow.table({"x": pyarrow.array([1, most], pyarrow.int8())}) for most in (27, 28)]
    alike(*tables, lambda s: s.mean("x", -100, 100, SMALL))
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


BY_KEYS = {
    "count by keys": lambda s, keys: s.count(ONE, SMALL, by=um.keys(x=keys)),
    "count by two keys": lambda s, keys: s.count(ONE, SMALL, by=um.keys(x=keys, town=["Ash", "Elm"])),
    "sum by keys": lambda s, keys: s.sum("id", 0, 99, SMALL, where=ONE, by=um.keys(x=keys)),
    "marginals": lambda s, keys: s.marginals(um.keys(x=keys, town=["Ash", "Elm"]), 2, SMALL, where=ONE),
    "hierarchy": lambda s, keys: s.hierarchy(["x", "town"], um.keys(x=keys, town=["Ash", "Elm"]), SMALL, where=ONE),
    "public table": lambda s, keys: s.with_public(public(keys), on="x").count(f"{ONE} AND region = 'north'", SMALL),
    "public keys": lambda s, keys: s.with_public(public(keys), on="x").count(
        ONE, SMALL, by=um.keys(region=["north", "south"])
    ),
    "top": lambda s, keys: s.top("x", 1, keys, SMALL, where=ONE),
    "top found": lambda s, keys: s.top("x", 1, privacy=FOUND, where=ONE),
    "keys": lambda s, keys: s.keys("x", FOUND, where=ONE),
    "count by found keys": lambda s, keys: s.count(ONE, FOUND, by=um.discover("x")),
    "histogram": lambda s, keys: s.histogram("x", keys, SMALL, other="rest", where=ONE),
    "plurality": lambda s, keys: s.plurality("x", keys, SMALL, where=ONE),
}


@pytest.mark.parametrize("asked", BY_KEYS)
@pytest.mark.parametrize("which", FAR)
@pytest.mark.parametrize("stored", [as_arrow, as_parquet, as_duckdb], ids=lambda made: made.__name__[3:])
def test_values_that_are_no_public_key_do_not_fail(stored, which, asked, tmp_path):
    """DuckDB looks up private values in the public table: beyond 2^63, and after the year 9999, that raised."""
    far, near, keys = FAR[which]
    rows = pyarrow.table({"id": [16, 18] * 20, "ill": [False] * 40, "town": ["Ash"] * 40, "x": [near[0].as_py()] * 40})
    rows = rows.set_column(3, "x", pyarrow.concat_arrays([near] * 40))
    tables = []
    for ill in (False, True):
        one = pyarrow.table({"id": [17], "ill": [ill], "town": ["Ash"], "x": far})
        tables.append(stored(pyarrow.concat_tables([rows, one]), tmp_path))
    alike(*tables, lambda s: BY_KEYS[asked](s, keys))


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
    "people": lambda s: s.count(None, SMALL),
}


@pytest.mark.parametrize("asked", OF_HUGE)
@pytest.mark.parametrize("kind", ["HUGEINT", "UHUGEINT"])
def test_numbers_beyond_38_digits(kind, asked, tmp_path):
    """TRY_CAST of HUGEINT beyond 10^38 to TEXT or DECIMAL stopped DuckDB."""
    most = 2**127 - 1 if kind == "HUGEINT" else 2**128 - 1
    for far in (most, -most if kind == "HUGEINT" else 10**38):
        tables = []
        for value in (1, far):
            path = tmp_path / f"{value}-{len(list(tmp_path.iterdir()))}.duckdb"
            with duckdb.connect(path) as connection:
                connection.execute(f"CREATE TABLE t (x {kind}); INSERT INTO t VALUES (1), (2), ('{value}'::{kind})")
            tables.append(f"{path}#t")
        unit = um.people("x", rows_each=1, at_most=9) if asked == "people" else um.rows(at_most=9)
        alike(*tables, OF_HUGE[asked], unit=unit)


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
    with Channels() as channels:
        outcomes = [
            [outcome(session(table, neighbours), ask, channels) for table in tables]
            for ask in (
                lambda s: s.count(None, LEVEL),
                lambda s: s.histogram("x", ["a", "b", "c"], LEVEL, other="rest"),
                lambda s: s.count("y = 'end'", LEVEL),
            )
        ]
    for harmless, odd in outcomes:
        assert harmless == odd
        assert harmless.kind == "answered"
        assert sum(harmless.released.values()) == sum(odd.released.values()) == 4


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


@pytest.mark.parametrize("asked", OF_TEXT)
@pytest.mark.parametrize("kind", ["string", "large_string", "dictionary"])
def test_text_in_parquet_that_is_not_utf8(kind, asked, tmp_path):
    """DuckDB stops at it, so that any question about the column told whether there is such an entry."""
    tables = []
    for name, odd in (("plain", b"a"), ("broken", b"\xff\xfe")):
        raw = pyarrow.array([b"a", b"b", odd] * 2, pyarrow.large_binary() if kind == "large_string" else None)
        text = raw.view(pyarrow.large_string() if kind == "large_string" else pyarrow.string())
        column = text.dictionary_encode() if kind == "dictionary" else text
        rows = pyarrow.table({"id": [17] * 6, "ill": [False] * 6, "x": column})
        parquet.write_table(rows, tmp_path / f"{name}.parquet")
        tables.append(tmp_path / f"{name}.parquet")
    alike(*tables, OF_TEXT[asked])


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("where", ["x IS NULL", "x IS NOT NULL AND id > 3", "id > 3"])
def test_milliseconds_in_parquet_that_are_too_many_for_microseconds(zone, where, tmp_path):
    """DuckDB stops where a time in milliseconds does not fit into 64 bits of microseconds."""
    tables = []
    for name, odd in (("plain", 5), ("far", 2**62)):
        times = pyarrow.array([1, 2, odd], pyarrow.int64()).view(pyarrow.timestamp("ms", zone))
        parquet.write_table(pyarrow.table({"id": [1, 2, 17], "x": times}), tmp_path / f"{name}.parquet")
        tables.append(tmp_path / f"{name}.parquet")
    alike(*tables, lambda s: s.count(where, SMALL))
