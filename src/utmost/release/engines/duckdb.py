"""DuckDB, embedded: its connections, the files it reads, and the tables in its own files.

A CSV file has no types, and guessing them would be an answer about private rows: columns are text until `types=` or a
question says how to read one, and an entry that cannot be read that way counts as null.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from utmost.errors import BadFile, InvalidInput, NotRowWise
from utmost.release.engines.csv_rows import CsvFile
from utmost.release.engines.embedded import Engine, require_room_for
from utmost.release.source import CHANGED, GONE, ROWS, Source, import_ibis


def connect(file: Path | None = None) -> Any:
    """A connection that never fetches anything: DuckDB's extensions are neither installed nor loaded by themselves."""
    ibis = import_ibis()
    try:
        connection = ibis.duckdb.connect(file, read_only=True) if file else ibis.duckdb.connect()
    except Exception:
        raise BadFile(
            f"{str(file)!r} cannot be opened as a DuckDB file; is it one, and not in use elsewhere?"
        ) from None
    for setting in ("autoinstall_known_extensions", "autoload_known_extensions", "enable_progress_bar"):
        connection.con.execute(f"SET {setting} = false")
    connection.con.execute(f"SET temp_directory = {_quoted(_spill(os.getpid()))}")
    return connection


def configure(connection: Any, engine: Engine) -> None:
    """Give a connection of ours its memory, its threads, and a folder for rows that do not fit."""
    if engine.spill is not None:
        connection.con.execute(f"SET temp_directory = {_quoted(_spill(os.getpid(), engine.spill))}")
    if engine.memory is not None:
        connection.con.execute(f"SET memory_limit = '{engine.memory}B'")
        connection.con.execute("SET preserve_insertion_order = false")  # which no answer depends on
    if engine.threads is not None:
        connection.con.execute(f"SET threads = {engine.threads}")


@lru_cache(maxsize=16)
def _spill(process: int, within: str | None = None) -> str:
    """Where DuckDB puts rows that do not fit into memory: a directory only this user can read, gone at exit."""
    folder = tempfile.mkdtemp(prefix="utmost-duckdb-", dir=within)

    def removed() -> None:
        if os.getpid() == process:  # not at the end of a fork
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(removed)
    return folder


def open_csv(file: Path) -> Source:
    """A CSV file as text, its dialect and columns read off the header alone; `csv_rows` says what a row of it is."""
    rows = CsvFile(file)
    source = _view(connect(), rows.select_none(), str(file))

    def require_unchanged() -> None:
        if not file.exists():
            raise InvalidInput(GONE)
        if not rows.is_unchanged():
            raise InvalidInput(CHANGED.format(str(file)))
        with source.connection.con.cursor() as cursor:
            (folder,) = cursor.execute("SELECT current_setting('temp_directory')").fetchone()
        require_room_for(rows.room, folder)

    return replace(source, untyped=frozenset(rows.dialect.names), csv=rows, require_unchanged=require_unchanged)


def open_parquet(file: Path) -> Source:
    """A Parquet file, unread; a column that is marked as JSON cannot be used, for DuckDB stops at a malformed entry."""
    source = _view(connect(), f"SELECT * FROM read_parquet({_quoted(str(file))})", str(file))
    marked = [name for name, kind in source.table.schema().items() if kind.is_json()]
    why = "is marked as JSON, where an entry that is not JSON stops DuckDB; write the file with a column of plain text"
    return replace(source, refused=dict.fromkeys(marked, why))


def _view(connection: Any, query: str, name: str) -> Source:
    """The rows of a file, under a name, without reading them."""
    try:
        connection.con.execute(f"CREATE VIEW {ROWS} AS {query}")
        return Source(connection.table(ROWS), frozenset(), connection)
    except Exception:
        raise BadFile(
            f"{name!r} cannot be opened: it is not the kind of file its name says, or is damaged; write it again, or "
            "give another file."
        ) from None


def table_in(connection: Any, name: str, file: str) -> Any:
    """The Ibis table of this name."""
    try:
        return connection.table(name)
    except Exception:
        raise InvalidInput(f"{file!r} has no table {name!r}; give the name of a base table in it.") from None


def placed(connection: Any, base: Any, used: set[str]) -> Any:
    """A base table of DuckDB under its full name, so that no view made later takes its place.

    A view may join, group or limit: only base tables keep one row to one unit. Columns that are computed when they are
    read may look elsewhere, change from run to run, or fail on some row.
    """
    if connection.name != "duckdb":
        raise InvalidInput(
            f"tables in {connection.name} cannot be opened; give a DuckDB or PostgreSQL table, a file or a frame."
        )
    try:
        with connection.con.cursor() as cursor:
            found = _named_alike(cursor, base)
        here = _named_alike(connection.con, base)  # temporary ones, too
    except Exception:
        raise InvalidInput(f"the connection of {base.name!r} cannot be asked; is it open?") from None
    if any(is_view for is_view, *_ in found + here):
        raise NotRowWise(
            f"{base.name!r} is a view, which may join, group or limit; give the base table, and the condition as "
            "where=."
        )
    if len(found) != 1 or here != found:
        raise InvalidInput(
            f"{base.name!r} is temporary, not committed, or one of several tables of that name; make it a table "
            "without TEMP, commit it, and say where it is: connection.table(name, database=(catalog, schema))."
        )
    ((_, catalog, schema, name, sql, engine),) = found
    if engine != "duckdb":
        raise InvalidInput(f"{base.name!r} is in an attached database of type {engine}; copy it into DuckDB.")
    if "collate" in sql.lower():
        raise InvalidInput(
            f"{base.name!r} has a collation, which calls different texts, and so different people, equal; make a table "
            "without COLLATE."
        )
    computed = _computed(connection, [catalog, schema, name]) & used if "generated always" in sql.lower() else set()
    if computed:
        raise InvalidInput(
            f"column {min(computed)!r} of {base.name!r} is computed when it is read (GENERATED, or a DEFAULT beside "
            "such a column), which may change or fail; store its values, or give the table without it: "
            f"connection.table({base.name!r}).drop({min(computed)!r})."
        )
    if connection.get_schema(name, catalog=catalog, database=schema) != base.schema:
        raise InvalidInput(CHANGED.format(base.name))
    return base.copy(name=name, namespace=import_ibis().expr.operations.Namespace(catalog=catalog, database=schema))


def definitions(connection: Any, bases: Iterable[Any]) -> dict[Any, Any]:
    """The SQL that makes placed tables, with types, collations and defaults; None where there is no table."""
    query = (
        "SELECT t.sql, d.type FROM duckdb_tables() AS t, duckdb_databases() AS d WHERE d.database_name = $1 "
        "AND t.database_name = $1 AND t.schema_name = $2 AND t.table_name = $3"
    )
    with connection.con.cursor() as cursor:
        return {base: cursor.execute(query, [*base.namespace.args, base.name]).fetchone() for base in bases}


def require_unchanged(connection: Any, known: Mapping[Any, Any]) -> None:
    """Refuse tables that are gone, or other than when they were opened: a view, or with columns of other types."""
    try:
        now = definitions(connection, known)
    except Exception:
        now = None
    if now is None:
        raise InvalidInput("the connection of the table cannot be asked; is it open?")
    for base, definition in known.items():
        if now[base] != definition:
            raise InvalidInput(CHANGED.format(base.name))


def _named_alike(cursor: Any, base: Any) -> list[tuple[Any, ...]]:
    """Tables and views that a name may mean: whether it is a view, catalog, schema, name, SQL, kind of database.

    As DuckDB reads names: in any case; one without a schema or catalog may be any of that name.
    """
    query = " UNION ALL ".join(
        f"SELECT {kind == 'view'}, f.database_name, f.schema_name, f.{kind}_name, coalesce(f.sql, ''), d.type "
        f"FROM duckdb_{kind}s() AS f JOIN duckdb_databases() AS d USING (database_oid) "
        f"WHERE lower(f.{kind}_name) = lower($1) AND lower(f.schema_name) = lower(coalesce($2, f.schema_name)) "
        "AND lower(f.database_name) = lower(coalesce($3, f.database_name))"
        for kind in ("table", "view")
    )
    found: list[tuple[Any, ...]] = cursor.execute(
        query, [base.name, base.namespace.database, base.namespace.catalog]
    ).fetchall()
    return found


def _computed(connection: Any, place: list[str]) -> set[str]:
    """Columns with an expression; DuckDB's catalog does not tell those that are computed from those with a default."""
    with connection.con.cursor() as cursor:
        found = cursor.execute(
            "SELECT column_name FROM duckdb_columns() WHERE database_name = $1 AND schema_name = $2 "
            "AND table_name = $3 AND column_default IS NOT NULL",
            place,
        ).fetchall()
    return {name for (name,) in found}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
