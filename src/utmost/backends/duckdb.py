"""DuckDB, embedded: conversion of its types, its connections, the files it reads, and the tables in its own files.

A CSV file has no types, and guessing them would be an answer about private rows: columns are text until `types=` or a
query casts one, and an entry that cannot be cast counts as null.

Every statement runs on a cursor of its own. A DuckDB connection holds one result at a time, so of two threads that
share it one might fetch the other's result, and release it through the wrong mechanism. A cursor has settings of its
own, too, and sees no temporary tables or views.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from utmost.backends.csv_rows import CsvFile, stamp_of
from utmost.backends.embedded import Engine, require_room_for
from utmost.backends.readable import repaired_copy
from utmost.backends.rehearsal import EXTREMES, LONG
from utmost.backends.source import BASE_TABLE, CHANGED, GONE, KEYS, Statement
from utmost.backends.sql_source import ROWS, Column, SqlSource
from utmost.errors import BadFile, InvalidInput, NotRowWise, UtmostError
from utmost.exact.arrays import Integers
from utmost.extras import missing
from utmost.queries.expressions.relations import Rows
from utmost.queries.expressions.sql import Dialect, quoted, quoted_name, within_dates
from utmost.queries.expressions.types import BOOLEAN, DATE, FLOAT, INSTANT, TEXT, TIMESTAMP, Type, integer
from utmost.queries.expressions.values import Expression, decimal

FEW = 1000
"""Rows of a public table that a rehearsal uses."""
OPTIMISERS = "join_filter_pushdown"
"""Disabled, because DuckDB would push private values of a join into the scan of an Arrow table, where pyarrow fails on
some of them."""


# ---- types ----


def _read(value: Expression, text: str) -> str:
    """Cast text to another type; null where that fails."""
    target = value.value
    if target == "float64":
        number = f"TRY_CAST({text} AS DOUBLE)"
        return f"CASE WHEN isfinite({number}) THEN {number} END"
    if value.type.kind in ("date", "timestamp"):
        return within_dates(f"TRY_CAST({text} AS {DUCKDB.types[value.type.kind]})", value.type.kind, DUCKDB)
    if value.type.kind == "integer":
        sizes = {"int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT"}
        return f"CAST(TRY_CAST({text} AS {sizes[target]}) AS BIGINT)"
    return f"TRY_CAST({text} AS BOOLEAN)" if value.type.kind == "boolean" else _as_decimal(value, text)


def _as_decimal(value: Expression, text: str) -> str:
    """Round to a decimal number, as a float."""
    return f"CAST(TRY_CAST({text} AS {value.value.upper()}) AS DOUBLE)"


DUCKDB = Dialect(
    {
        **{"integer": "BIGINT", "wide": "HUGEINT", "float": "DOUBLE", "text": "VARCHAR", "boolean": "BOOLEAN"},
        **{"date": "DATE", "timestamp": "TIMESTAMP", "instant": "TIMESTAMP WITH TIME ZONE", "opaque": "BOOLEAN"},
    },
    {"read": _read, "decimal": _as_decimal, "infinite": lambda value, number: f"isinf({number})"},
)
SIZES = {
    **{"TINYINT": "int8", "SMALLINT": "int16", "INTEGER": "int32", "BIGINT": "int64"},
    **{"UTINYINT": "uint8", "USMALLINT": "uint16", "UINTEGER": "uint32", "UBIGINT": "uint64"},
}
NAMES = {"BLOB": "binary", "TIME": "time", "INTERVAL": "interval", "JSON": "json", "UUID": "uuid"}


def stored_column(name: str, kind: str) -> Column:
    """The typed column for a column of DuckDB: a cast to one of our types that fails on no value."""
    this, kind = quoted_name(name), kind.strip()
    if kind in SIZES:
        size = SIZES[kind]
        bits, signed = int(size.lstrip("uint")), not size.startswith("u")
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        target = integer(low, high, size)
        return Column(kind, target, this if kind == "BIGINT" else f"CAST({this} AS {DUCKDB.type(target)})")
    if kind in ("FLOAT", "DOUBLE"):
        single = kind == "FLOAT"
        value = f"CAST({this} AS DOUBLE)" if single else this
        target = replace(FLOAT, name="float32", single=True) if single else FLOAT
        return Column(kind, target, f"CASE WHEN isnan({this}) THEN NULL ELSE {value} END")
    if match := re.fullmatch(r"DECIMAL\((\d+),\s*(\d+)\)", kind):
        return Column(kind, decimal(int(match[1]), int(match[2])), f"CAST({this} AS DOUBLE)")
    if kind in ("HUGEINT", "UHUGEINT"):
        return Column(kind, replace(decimal(38, 0), low=-(2.0**127), high=2.0**128), f"CAST({this} AS DOUBLE)")
    if kind in ("VARCHAR", "BOOLEAN"):
        return Column(kind, TEXT if kind == "VARCHAR" else BOOLEAN, this)
    if kind.startswith("ENUM(") or kind == "UUID":
        return Column(kind, replace(TEXT, name="uuid") if kind == "UUID" else TEXT, f"CAST({this} AS VARCHAR)")
    if kind == "DATE":
        return Column(kind, DATE, within_dates(this, "date", DUCKDB))
    if kind.startswith("TIMESTAMP"):
        zoned = "TIME ZONE" in kind
        target = INSTANT if zoned else TIMESTAMP
        if kind in ("TIMESTAMP_S", "TIMESTAMP_MS"):  # their range exceeds TIMESTAMP's, and casts fail
            return Column(kind, Type("opaque", kind), f"CASE WHEN {this} IS NOT NULL THEN TRUE END")
        whole = f"TRY_CAST({this} AS TIMESTAMP)" if kind == "TIMESTAMP_NS" else this
        return Column(kind, target, within_dates(whole, target.kind, DUCKDB))
    return Column(kind, Type("opaque", NAMES.get(kind, kind.lower())), f"CASE WHEN {this} IS NOT NULL THEN TRUE END")


def duckdb_rows(stored: Mapping[str, Column], untyped: frozenset[str] = frozenset()) -> Rows:
    """The private rows as a relation, with the types of their columns."""
    return Rows(
        {
            name: replace(column.type, undeclared=True) if name in untyped else column.type
            for name, column in stored.items()
        }
    )


@dataclass(frozen=True)
class DuckSource(SqlSource):
    """A table that DuckDB reads: a file, a frame, or a table of its own.

    Attributes
    ----------
    connection : DuckDBPyConnection
    frame : pyarrow.Table, optional
        The rows, if a frame was opened.
    parquet : Path, optional
        The Parquet file, if one was opened.
    repairs : dict
        Copies that are read instead of the Parquet file, once DuckDB has failed to read it, by the stamp of the file.
    csv : CsvFile, optional
        The CSV file, if one was opened: converted when a statement first reads its rows.
    own : bool
        Whether it is a table of the user's, in the user's connection or file, and not a view that we made.
    extreme_frame : dict
        The rows of a rehearsal in the Arrow types of the frame, once they have been made.
    """

    connection: Any = field(default=None, repr=False, compare=False)
    frame: Any = field(default=None, repr=False, compare=False)
    parquet: Path | None = field(default=None, repr=False, compare=False)
    repairs: dict[tuple[int, ...], Path] = field(default_factory=dict, repr=False, compare=False)
    csv: CsvFile | None = field(default=None, repr=False, compare=False)
    own: bool = False
    extreme_frame: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    dialect = DUCKDB
    engine = "DuckDB"

    @property
    def fixed_rows(self) -> bool:  # type: ignore[override]
        """Whether the number of rows is independent of the values in them, so that a total may be without noise.

        In a CSV file it is not: if the writer did not quote properly, one entry can make one record of many.
        """
        return self.csv is None

    def reconnect(self) -> None:
        """After a failure, make a repaired copy of a Parquet file: DuckDB stops at invalid values.

        These are texts that are not UTF-8, and times in milliseconds that overflow 64 bits in microseconds.
        """
        if self.parquet is not None:
            stamp = stamp_of(self.parquet)
            if stamp not in self.repairs:
                self.repairs[stamp] = repaired_copy(self.parquet, _spill_of(self.connection))

    def is_reachable(self) -> bool:
        """Whether the engine answers at all."""
        try:
            with self.cursor(rows=False) as cursor:
                return bool(cursor.execute("SELECT 1").fetchone())
        except Exception:
            return False

    def stored_as_opened(self) -> bool:
        """Whether the table exists with its columns; `require_unchanged` checks those of a table of the user's."""
        if self.frame is not None or self.own or self.csv is not None:  # a frame does not change
            return self.is_reachable()
        try:
            with self.cursor(rows=False) as cursor:
                return described(cursor, ROWS) == {name: one.kind for name, one in self.stored.items()}
        except Exception:
            return False

    def made_up_rows(self, names: list[str]) -> str:
        """SQL for public rows of extreme values in some of the columns, each row twice."""
        columns = [_made_up(name, self.stored[name]) for name in names] or ["1 AS one"]
        values = ", ".join(f"({quoted(text)})" for text in EXTREMES)
        return (
            f"SELECT {', '.join(columns)} FROM (VALUES (NULL), (chr(0)), (repeat('x', {LONG})), {values}) "
            "AS made_up_rows(made_up), (VALUES (1), (2)) AS twice(time)"
        )

    def rehearse(self, trial: Statement, rows: str) -> None:
        """Run a statement on made-up rows; for a frame in Arrow, as there DuckDB pushes conditions into pyarrow."""
        if self.frame is None:
            super().rehearse(trial, rows)
        else:
            replace(self, frame=self._arrow_extremes()).run(trial)

    def _arrow_extremes(self) -> Any:
        """Rows of extreme values in the Arrow types of the frame."""
        if "frame" not in self.extreme_frame:
            with self.cursor(self.frame.slice(0, 0)) as cursor:
                extremes = cursor.execute(self.made_up_rows(list(self.stored))).to_arrow_table()
            self.extreme_frame["frame"] = _in_types_of(extremes, self.frame)
        return self.extreme_frame["frame"]

    def one_row(self, statement: Statement) -> tuple[Any, ...]:
        """The one row of an aggregation."""
        with self.cursor(keys=statement.keys, rows=not statement.trial) as cursor:
            row: tuple[Any, ...] = cursor.execute(statement.query).fetchone()
        return row

    def all_rows(self, statement: Statement) -> list[Integers]:
        """The columns of an aggregation by public keys, as integers."""
        with self.cursor(keys=statement.keys, rows=not statement.trial) as cursor:
            columns = cursor.execute(statement.query).fetchnumpy()
        return [np.asarray(columns[name], dtype=np.int64) for name in statement.columns]

    def all_columns(self, statement: Statement) -> list[Any]:
        """The columns of an aggregation by keys read from the table, as Arrow columns."""
        with self.cursor(keys=statement.keys, rows=not statement.trial) as cursor:
            return list(cursor.execute(statement.query).to_arrow_table().columns)

    @contextmanager
    def cursor(self, frame: Any = None, keys: Any = None, rows: bool = True) -> Iterator[Any]:
        """A cursor for one statement, with DuckDB's default settings whatever the connection's are.

        Public keys and tables are copied into temporary tables of DuckDB: into the scan of an Arrow table it would push
        private values of a join, some of which make pyarrow fail.

        For a table of the user's, which has its full name in the statement, no schema of the user's is searched: a
        macro called isnan there would replace DuckDB's own.

        Parameters
        ----------
        frame : pyarrow.Table, optional
            Read instead of the source's frame.
        keys : pyarrow.Table, optional
            The public keys of the statement.
        rows : bool
            Whether the statement reads private rows; if so, a CSV file is converted now.
        """
        with ExitStack() as stack:
            cursor = stack.enter_context(self.connection.cursor())
            cursor.execute("SET enable_progress_bar = false; SET default_collation = ''")
            if self.own:
                cursor.execute("SET search_path = 'temp.main'")  # a schema that is empty for every cursor
            if self.frame is not None:
                cursor.register(ROWS, self.frame if frame is None else frame)
            if self.csv is not None and rows:
                file = stack.enter_context(self.csv.parquet(_spill_of(self.connection)))
                cursor.execute(f"CREATE TEMP VIEW {ROWS} AS {self.csv.select(file)}")
            if self.repairs and rows and self.parquet is not None:
                file = self.repairs.get(stamp_of(self.parquet), self.parquet)
                cursor.execute(f"CREATE TEMP VIEW {ROWS} AS {_parquet_rows(file)}")
            for name, listed in self.public.items():
                _create_public_table(cursor, name, listed if rows else listed.slice(0, FEW))
            if keys is not None:
                _create_public_table(cursor, KEYS, keys)
            yield cursor


def _create_public_table(cursor: Any, name: str, listed: Any) -> None:
    """Copy a public table into DuckDB for one cursor, with unsigned integers in 128 bits."""
    columns = ", ".join(
        f"CAST({quoted_name(column)} AS HUGEINT) AS {quoted_name(column)}"
        if str(kind) == "uint64"
        else quoted_name(column)
        for column, kind in zip(listed.column_names, listed.schema.types, strict=True)
    )
    cursor.register("given_public_table", listed)
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE {quoted_name(name)} AS SELECT {columns} FROM given_public_table")
    cursor.unregister("given_public_table")


MOMENTS = (
    "CASE WHEN made_up = 'infinity' THEN CAST('infinity' AS TIMESTAMP WITH TIME ZONE) "
    "WHEN made_up = '-infinity' THEN CAST('-infinity' AS TIMESTAMP WITH TIME ZONE) "
    "WHEN TRY_CAST(made_up AS BIGINT) NOT IN (9223372036854775807, -9223372036854775807) "
    "THEN make_timestamptz(TRY_CAST(made_up AS BIGINT)) END"
)
"""Extreme moments, in microseconds."""


def _made_up(name: str, column: Column) -> str:
    if column.type.kind == "opaque" and column.kind not in NAMES:  # for nested types, null is the only extreme value
        return f"CAST(NULL AS {column.kind}) AS {quoted_name(name)}"
    if column.type.kind == "instant":  # on some texts even TRY_CAST fails
        return f"{MOMENTS} AS {quoted_name(name)}"
    return f"TRY_CAST(made_up AS {column.kind}) AS {quoted_name(name)}"


def _in_types_of(table: Any, frame: Any) -> Any:
    """Cast the columns of a table to the Arrow types of a frame; null where a value does not fit."""
    import pyarrow

    columns = []
    for name in frame.column_names:
        kind, column = frame.schema.field(name).type, table.column(name).combine_chunks()
        try:
            columns.append(column.cast(kind, safe=False))
        except Exception:  # such as extension types
            columns.append(pyarrow.nulls(len(column), kind))
    return pyarrow.table(columns, names=frame.column_names)


def described(cursor: Any, name: str) -> dict[str, str]:
    """The columns of a table or view with their DuckDB types."""
    return {column: kind for column, kind, *_ in cursor.execute(f"DESCRIBE {quoted_name(name)}").fetchall()}


# ---- connections and files ----


def connect(file: Path | None = None) -> Any:
    """Open a connection that downloads nothing: DuckDB's extensions are neither installed nor loaded automatically."""
    duckdb = import_duckdb()
    try:
        connection = duckdb.connect(str(file), read_only=True) if file else duckdb.connect()
    except Exception:
        raise BadFile(
            f"{str(file)!r} cannot be opened as a DuckDB file; is it one, and not in use elsewhere?"
        ) from None
    for setting in ("autoinstall_known_extensions", "autoload_known_extensions", "enable_progress_bar"):
        connection.execute(f"SET {setting} = false")
    connection.execute(f"SET temp_directory = {quoted(_spill(os.getpid()))}")
    connection.execute(f"SET disabled_optimizers = {quoted(OPTIMISERS)}")
    return connection


def import_duckdb() -> Any:
    """Import DuckDB, an optional dependency that only tables need."""
    try:
        import duckdb
    except ImportError:
        raise missing("tables", "tables need DuckDB") from None
    return duckdb


def configure(source: DuckSource, engine: Engine) -> None:
    """Set memory limit, threads and spill folder of a connection that we opened."""
    connection = source.connection
    if engine.spill is not None:
        connection.execute(f"SET temp_directory = {quoted(_spill(os.getpid(), engine.spill))}")
    if engine.memory is not None:
        connection.execute(f"SET memory_limit = '{engine.memory}B'")
        connection.execute("SET preserve_insertion_order = false")  # no answer depends on the order
    if engine.threads is not None:
        connection.execute(f"SET threads = {engine.threads}")


@lru_cache(maxsize=16)
def _spill(process: int, within: str | None = None) -> str:
    """Make a folder for rows that do not fit into memory: readable by this user only, deleted at exit."""
    folder = tempfile.mkdtemp(prefix="utmost-duckdb-", dir=within)

    def removed() -> None:
        if os.getpid() == process:  # a forked process must not delete its parent's folder
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(removed)
    return folder


def open_csv(file: Path) -> DuckSource:
    """Open a CSV file with columns of text; only the header is read. `csv_rows` defines what a row is."""
    rows = CsvFile(file)
    source = _view(connect(), rows.select_none(), str(file), frozenset(rows.dialect.names))

    def require_unchanged() -> None:
        if not file.exists():
            raise InvalidInput(GONE)
        if not rows.is_unchanged():
            raise InvalidInput(CHANGED.format(str(file)))
        require_room_for(rows.room, _spill_of(source.connection))

    return replace(source, csv=rows, require_unchanged=require_unchanged)


def _spill_of(connection: Any) -> str:
    """The folder in which a connection puts rows that do not fit into memory, and converted CSV files."""
    with connection.cursor() as cursor:
        (folder,) = cursor.execute("SELECT current_setting('temp_directory')").fetchone()
    return str(folder)


def open_parquet(file: Path) -> DuckSource:
    """Open a Parquet file without reading rows; JSON columns are refused, because DuckDB stops at a malformed entry."""
    source = _view(connect(), _parquet_rows(file), str(file))
    marked = [name for name, column in source.stored.items() if column.kind == "JSON"]
    why = "is marked as JSON, where an entry that is not JSON stops DuckDB; write the file with a column of plain text"
    return replace(source, refused=dict.fromkeys(marked, why), parquet=file)


def _parquet_rows(file: Path) -> str:
    return f"SELECT * FROM read_parquet({quoted(str(file))}, hive_partitioning = false)"


def _view(connection: Any, query: str, name: str, untyped: frozenset[str] = frozenset()) -> DuckSource:
    """Open the rows of a file as a view, without reading them."""
    try:
        connection.execute(f"CREATE VIEW {ROWS} AS {query}")
        return view_source(connection, untyped=untyped)
    except UtmostError:
        raise
    except Exception:
        raise BadFile(
            f"{name!r} cannot be opened: it is not the kind of file its name says, or is damaged; write it again, or "
            "give another file."
        ) from None


def view_source(connection: Any, frame: Any = None, untyped: frozenset[str] = frozenset()) -> DuckSource:
    """The source for the table or view named `ROWS` in a connection that we opened."""
    stored = {name: stored_column(name, kind) for name, kind in described(connection, ROWS).items()}
    return DuckSource(
        duckdb_rows(stored, untyped),
        untyped,
        stored=stored,
        origin=quoted_name(ROWS),
        connection=connection,
        frame=frame,
    )


# ---- tables in files of DuckDB's own ----


def open_duckdb_table(connection: Any, name: str, database: tuple[str | None, str | None] = (None, None)) -> DuckSource:
    """Open a base table of DuckDB by its full name, so that no view created later replaces it.

    A view may join, group or limit: only in base tables does a row belong to one unit. Columns that are computed when
    they are read may look elsewhere, change from run to run, or fail on some row.

    Parameters
    ----------
    connection : DuckDBPyConnection
    name : str
    database : tuple of str
        Its catalog and schema; None where they are unknown.
    """
    try:
        with connection.cursor() as cursor:
            matches = _tables_named(cursor, name, *database)
        visible_matches = _tables_named(connection, name, *database)  # temporary ones, too
    except Exception:
        raise InvalidInput(f"the connection of {name!r} cannot be asked; is it open?") from None
    if any(is_view for is_view, *_ in matches + visible_matches):
        raise NotRowWise(f"{name!r} is a view, which may join, group or limit; ", BASE_TABLE, ".")
    if not visible_matches:
        raise InvalidInput(f"there is no table {name!r}; give the name of a base table.")
    if len(matches) != 1 or visible_matches != matches:
        raise InvalidInput(
            f"{name!r} is temporary, not committed, or one of several tables of that name; make it a table "
            "without TEMP, commit it, and say where it is: connection.table(name, database=(catalog, schema))."
        )
    ((_, catalog, schema, real, sql, engine),) = matches
    if engine != "duckdb":
        raise InvalidInput(f"{name!r} is in an attached database of type {engine}; copy it into DuckDB.")
    if "collate" in sql.lower():
        raise InvalidInput(
            f"{name!r} has a collation, which calls different texts, and so different people, equal; make a table "
            "without COLLATE."
        )
    place = (catalog, schema, real)
    with connection.cursor() as cursor:
        columns = cursor.execute(COLUMNS, list(place)).fetchall()
    stored = {column: stored_column(column, kind) for column, kind, _ in columns}
    why = (
        "is computed when it is read (GENERATED, or a DEFAULT beside such a column), which may change or fail; store "
        "its values"
    )
    computed = {column for column, _, default in columns if default is not None}
    return DuckSource(
        duckdb_rows(stored),
        stored=stored,
        origin=".".join(map(quoted_name, place)),
        connection=connection,
        own=True,
        refused=dict.fromkeys(computed, why) if "generated always" in sql.lower() else {},
        require_unchanged=partial(_require_unchanged, connection, place, definition(connection, place)),
    )


COLUMNS = (
    "SELECT column_name, data_type, column_default FROM duckdb_columns() WHERE database_name = $1 AND schema_name = $2 "
    "AND table_name = $3 ORDER BY column_index"
)


def definition(connection: Any, place: tuple[str, str, str]) -> Any:
    """The SQL that creates a table, with types, collations and defaults; None where there is no table."""
    query = (
        "SELECT t.sql, d.type FROM duckdb_tables() AS t, duckdb_databases() AS d WHERE d.database_name = $1 "
        "AND t.database_name = $1 AND t.schema_name = $2 AND t.table_name = $3"
    )
    with connection.cursor() as cursor:
        return cursor.execute(query, list(place)).fetchone()


def _require_unchanged(connection: Any, place: tuple[str, str, str], original: Any) -> None:
    """Raise `InvalidInput` if a table is gone, or has been replaced by a view or by a table with other columns."""
    try:
        current = definition(connection, place)
    except Exception:
        current = ()
    if current == ():
        raise InvalidInput("the connection of the table cannot be asked; is it open?")
    if current != original:
        raise InvalidInput(CHANGED.format(place[-1]))


def _tables_named(cursor: Any, name: str, catalog: str | None, schema: str | None) -> list[tuple[Any, ...]]:
    """Tables and views that a name may mean: whether it is a view, catalog, schema, name, SQL, type of database.

    Names are matched as DuckDB does: in any letter case; without a schema or catalog, in all of them.
    """
    query = " UNION ALL ".join(
        f"SELECT {kind == 'view'}, f.database_name, f.schema_name, f.{kind}_name, coalesce(f.sql, ''), d.type "
        f"FROM duckdb_{kind}s() AS f JOIN duckdb_databases() AS d USING (database_oid) "
        f"WHERE lower(f.{kind}_name) = lower($1) AND lower(f.schema_name) = lower(coalesce($2, f.schema_name)) "
        "AND lower(f.database_name) = lower(coalesce($3, f.database_name))"
        for kind in ("table", "view")
    )
    matches: list[tuple[Any, ...]] = cursor.execute(query, [name, schema, catalog]).fetchall()
    return matches
