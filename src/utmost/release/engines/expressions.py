"""Ibis tables: a base table, or a row-wise projection or filter of one, in DuckDB or PostgreSQL."""

from __future__ import annotations

from functools import partial
from typing import Any

from utmost.errors import InvalidInput
from utmost.release.conditions.base_tables import as_read, require_base_table
from utmost.release.engines.duckdb import definitions, placed, require_unchanged
from utmost.release.engines.frames import FRAMES, open_frame, package_of
from utmost.release.engines.postgres import open_postgres_table
from utmost.release.source import Source, import_ibis


def open_ibis(table: Any) -> Source:
    """An Ibis table, if one row of it stems from one row of a base table."""
    ibis = import_ibis()
    if not isinstance(table, ibis.expr.types.Table):
        raise InvalidInput(f"an Ibis {type(table).__name__} is not a table; give the table itself.")
    require_base_table(table)
    operations = ibis.expr.operations
    if isinstance(table.op(), operations.InMemoryTable):
        return _open_in_memory(table.op().data)
    if table.op().find(operations.InMemoryTable):
        raise InvalidInput("the Ibis table is made of one in memory; give the frame that one was made of.")
    try:
        connection = table.get_backend()
    except Exception:
        raise InvalidInput(
            "the Ibis table belongs to no engine; make it with a connection, such as ibis.duckdb."
        ) from None
    if connection.name == "postgres":
        return open_postgres_table(table, connection)
    used = set(table.columns) | {column.name for column in table.op().find(operations.Field)}
    bases = {base: placed(connection, base, used) for base in table.op().find(operations.DatabaseTable)}
    unchanged = partial(require_unchanged, connection, definitions(connection, bases.values()))
    return Source(table, frozenset(), connection, places=as_read(table, bases), require_unchanged=unchanged)


def _open_in_memory(data: Any) -> Source:
    """The frame that a table of `ibis.memtable` was made of: Ibis would convert it, and fail on some values."""
    frame = getattr(data, "obj", None)
    if package_of(frame) not in FRAMES:
        raise InvalidInput("the Ibis table is one in memory; give the frame it was made of.")
    return open_frame(frame)
