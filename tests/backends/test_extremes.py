"""Every column type of embedded DuckDB, at its ends, under every question: no failure, no word, no move too far.

`make test` asks of every type a part of all questions and conditions, another part of each type; `make test-long` asks
all, of the extreme table and of a harmless one.
"""

import duckdb
import pandas
import polars
import pyarrow
import pytest
from oracles.extremes import DUCKDB_TYPES, TEXTS, Column, arrow_columns, duckdb_columns, pandas_columns, polars_columns
from oracles.fuzzing import HARMLESS, Channels, Trial, context, rows_of
from pyarrow import parquet

import utmost as um
from utmost.errors import UtmostError

ARROW, PANDAS, POLARS, DUCKDB = arrow_columns(), pandas_columns(), polars_columns(), duckdb_columns()
NARROW, WIDE, EVERY = [(-100, 100)], [(0, 100_000)], [(-100, 100), (0, 100_000), (0, 3), (-(10**9), 10**9)]


def ranges_of(name, column):
    """Public bounds that the type's own arithmetic would overflow with."""
    if column.kind != "number":
        return [(0, 10)]
    return NARROW if name.lower().endswith(("int8", "tinyint")) else WIDE


def arrow_table(column, rows=None):
    """The first so many rows of the column's table, or all."""
    listed = {name: values[:rows] for name, values in rows_of(column).items()}
    return pyarrow.table({name: column.make(v) if name == "c" else v for name, v in listed.items()})


def frame(package):
    """Makes frames of a package."""

    def make(column, rows=None):
        listed = {name: values[:rows] for name, values in rows_of(column).items()}
        return package.DataFrame({name: column.make(v) if name == "c" else v for name, v in listed.items()})

    return make


def in_duckdb(name, column, path, rows=None):
    """A table in a file of DuckDB's own; its values are SQL."""
    listed = rows_of(column)["c"][:rows]
    beside = context(len(listed))
    with duckdb.connect(path) as connection:
        kind = DUCKDB_TYPES.get(name, name)
        connection.execute(f"CREATE TABLE t (c {kind}, id BIGINT, ill BOOLEAN, town VARCHAR, who BIGINT)")
        for i, value in enumerate(listed):
            plain = [beside[each][i] for each in ("id", "ill", "town", "who")]
            connection.execute(f"INSERT INTO t VALUES ({'NULL' if value is None else value}, ?, ?, ?, ?)", plain)
    return f"{path}#t"


def examine(name, column, extreme, harmless, step, first, types=None):
    """Fails with a line for every question that tells about the extreme rows."""
    with Channels() as channels:
        trial = Trial(extreme, harmless, HARMLESS + 1 + len(column.extremes), channels, types)
        ranges = ranges_of(name, column) if step > 1 or column.kind != "number" else EVERY
        found = trial.problems("c", column, ranges, step, first)
    assert not found, f"{len(found)} questions about {name}:\n" + "\n".join(found)


def numbered(columns):
    return [pytest.param(name, i, id=name) for i, name in enumerate(columns)]


@pytest.mark.parametrize(("name", "i"), numbered(ARROW))
def test_arrow(name, i):
    examine(name, ARROW[name], arrow_table(ARROW[name]), arrow_table(ARROW[name], HARMLESS), 8, i)


@pytest.mark.parametrize(("name", "i"), numbered(PANDAS))
def test_pandas(name, i):
    make = frame(pandas)
    examine(name, PANDAS[name], make(PANDAS[name]), make(PANDAS[name], HARMLESS), 32, i)


@pytest.mark.parametrize(("name", "i"), numbered(POLARS))
def test_polars(name, i):
    make = frame(polars)
    examine(name, POLARS[name], make(POLARS[name]), make(POLARS[name], HARMLESS), 32, i)


def stored(column, path):
    """The column's tables in Parquet files; what the format cannot hold is no column of it."""
    for name, rows in (("extreme", None), ("harmless", HARMLESS)):
        try:
            parquet.write_table(arrow_table(column, rows), path / f"{name}.parquet")
        except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError, ValueError) as reason:
            pytest.skip(f"no such column in Parquet: {reason}")
    return path / "extreme.parquet", path / "harmless.parquet"


@pytest.mark.parametrize(("name", "i"), numbered(ARROW))
def test_parquet(name, i, tmp_path):
    examine(name, ARROW[name], *stored(ARROW[name], tmp_path), 32, i)


@pytest.mark.parametrize(("name", "i"), numbered(DUCKDB))
def test_files_of_duckdb(name, i, tmp_path):
    tables = [in_duckdb(name, DUCKDB[name], tmp_path / f"{rows}.duckdb", rows) for rows in (None, HARMLESS)]
    examine(name, DUCKDB[name], *tables, 8, i)


ENTRIES = [text for text in TEXTS if len(text) < 1000] + ["1e400", "-1e400", "127", "128", "32768", "2147483648"]
ENTRIES += ["9223372036854775808", "9" * 39, "0.1e-400", "+1", "1e18", "0001-01-01", "10000-01-01", "-0001-01-01"]
ENTRIES += ["290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54.775807", "24:00:00", "2020-02-30", "epoch", "t", "yes"]
READ_AS = {"text": None, "number": int, "float": float, "day": "date", "moment": "timestamp", "truth": bool}
READ_AS |= {"int8": "int8", "int16": "int16", "int32": "int32", "uint64": "uint64", "float32": "float32"}
READ_AS |= {"decimal": "decimal(38, 4)", "zoned": "timestamp('UTC')"}
KINDS = {"float": "number", "decimal": "number", "float32": "number", "uint64": "number"}
KINDS |= {"int8": "number", "int16": "number", "int32": "number"}


def in_csv(path, entries, rows=None):
    """A file as pandas writes it with every entry in quotes."""
    column = Column("text", "1", entries)
    listed = {name: values[:rows] for name, values in rows_of(column).items()}
    pandas.DataFrame(listed).to_csv(path, index=False, quoting=1)
    return path


@pytest.mark.parametrize(("name", "i"), numbered(READ_AS))
def test_csv(name, i, tmp_path):
    """Entries that are read as every type."""
    tables = [in_csv(tmp_path / f"{rows}.csv", ENTRIES, rows) for rows in (None, HARMLESS)]
    types = {"id": int, "who": int, "ill": bool} | ({"c": READ_AS[name]} if READ_AS[name] else {})
    examine(name, Column(KINDS.get(name, name), "1", ENTRIES), *tables, 8, i, types)


@pytest.mark.long
@pytest.mark.parametrize(("name", "i"), numbered(ARROW))
def test_every_question_of_arrow(name, i):
    examine(name, ARROW[name], arrow_table(ARROW[name]), arrow_table(ARROW[name], HARMLESS), 1, i)


@pytest.mark.long
@pytest.mark.parametrize("package", [pandas, polars], ids=["pandas", "polars"])
def test_every_question_of_frames(package):
    make, columns = frame(package), PANDAS if package is pandas else POLARS
    for name, column in columns.items():
        examine(name, column, make(column), make(column, HARMLESS), 1, 0)


@pytest.mark.long
@pytest.mark.parametrize(("name", "i"), numbered(ARROW))
def test_every_question_of_parquet(name, i, tmp_path):
    examine(name, ARROW[name], *stored(ARROW[name], tmp_path), 1, i)


@pytest.mark.long
@pytest.mark.parametrize(("name", "i"), numbered(DUCKDB))
def test_every_question_of_files_of_duckdb(name, i, tmp_path):
    tables = [in_duckdb(name, DUCKDB[name], tmp_path / f"{rows}.duckdb", rows) for rows in (None, HARMLESS)]
    examine(name, DUCKDB[name], *tables, 1, i)


def opened(table):
    """In which words a table is refused, or that it is opened: never a matter of its rows."""
    try:
        um.Session(table, "d", um.rows(at_most=99), "replace", budget=1)
    except UtmostError as reason:
        return str(reason)
    return "opened"


@pytest.mark.long
@pytest.mark.parametrize("columns", [ARROW, PANDAS, POLARS], ids=["arrow", "pandas", "polars"])
def test_opening_depends_on_types_alone(columns):
    make = {id(ARROW): arrow_table, id(PANDAS): frame(pandas), id(POLARS): frame(polars)}[id(columns)]
    with Channels() as channels:
        found = {
            name: [(opened(make(column, rows)), channels.said()) for rows in (None, HARMLESS, 0)]
            for name, column in columns.items()
        }
    assert {name: words for name, words in found.items() if len(set(words)) > 1} == {}
