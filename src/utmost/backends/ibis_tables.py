"""Open Ibis tables: a base table in DuckDB or PostgreSQL, or a row-wise projection or filter of one.

Ibis runs nothing: the SQL that it writes for a value is parsed and rebuilt from typed expressions. Classes of Ibis are
recognised by their names, so that Ibis need not be installed unless somebody opens an Ibis table.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from utmost.backends.duckdb import open_duckdb_table
from utmost.backends.frames import FRAMES, open_frame, package_of
from utmost.backends.postgres import open_postgres_table
from utmost.backends.source import BASE_TABLE, CHANGED, DISTINCT, Source
from utmost.errors import InvalidInput, NotRowWise
from utmost.queries.expressions.relations import selected
from utmost.queries.predicate.ibis_values import value_text
from utmost.queries.predicate.sql import as_condition, as_value

PLAIN = frozenset(("int8", "int16", "int32", "int64", "float32", "float64", "string", "boolean", "date"))
"""Types that have the same name in Ibis and here."""
ROW_WISE = frozenset(("DatabaseTable", "InMemoryTable", "UnboundTable", "Project", "Filter", "DropColumns"))
REMEDIES = {
    "JoinChain": "join beforehand, into a table with one row per unit",
    "Aggregate": "group beforehand, into a table with one row per unit",
    "Distinct": DISTINCT,
    "Limit": "give the whole table: which rows a limit keeps depends on the other rows",
    "Sample": "give the whole table, or a sample drawn beforehand",
    "Sort": "leave out order_by: answers do not depend on the order of rows",
    "SQLQueryResult": BASE_TABLE,
    "SQLStringView": BASE_TABLE,
    "Union": "put the rows into one table beforehand",
}


def open_ibis(table: Any) -> Source:
    """Open an Ibis table, if each of its rows comes from one row of a base table."""
    if not hasattr(table, "op") or not hasattr(table, "schema"):
        raise InvalidInput(f"an Ibis {type(table).__name__} is not a table; give the table itself.")
    steps = _steps(table)
    base = steps[-1]
    if type(base).__name__ == "InMemoryTable":
        if len(steps) > 1:
            raise InvalidInput("the Ibis table is made of one in memory; give the frame that one was made of.")
        return _open_in_memory(base.data)
    try:
        connection = table.get_backend()
    except Exception:
        raise InvalidInput(
            "the Ibis table belongs to no engine; make it with a connection, such as ibis.duckdb."
        ) from None
    source = _open_base(base, connection)
    for step in reversed(steps[:-1]):
        source = _with_step(source, step)
    return replace(source, ibis_table=table)


def _steps(table: Any) -> list[Any]:
    """The operations that make a table, the last first; raises `NotRowWise` if one of them is not row-wise."""
    steps, node = [], table.op()
    while True:
        name = type(node).__name__
        if name not in ROW_WISE:
            remedy = REMEDIES.get(name, "give a base table, or a row-wise projection or filter of one")
            raise NotRowWise(f"the table is made by {name}, so one row of it may stem from many; ", remedy, ".")
        steps.append(node)
        if not hasattr(node, "parent"):
            return steps
        node = node.parent


def _open_base(base: Any, connection: Any) -> Source:
    """Open a base table in the engine of its connection."""
    place = base.namespace
    if connection.name == "postgres":
        source: Source = open_postgres_table(connection.con, base.name, place.database)
    elif connection.name == "duckdb":
        source = open_duckdb_table(connection.con, base.name, (place.catalog, place.database))
    else:
        raise InvalidInput(
            f"tables in {connection.name} cannot be opened; give a DuckDB or PostgreSQL table, a file or a frame."
        )
    remembered_types = {name: str(kind(nullable=True)) for name, kind in base.schema.items()}
    current_types = {name: str(kind) for name, kind in source.table.columns.items() if name not in source.refused}
    changed = any(
        remembered_types.get(name) != kind and {kind, remembered_types.get(name)} & PLAIN
        for name, kind in current_types.items()
    )
    if changed or list(remembered_types) != list(source.columns):
        raise InvalidInput(CHANGED.format(base.name))  # Ibis keeps the schema of when its table was made
    return source


def _with_step(source: Source, step: Any) -> Source:
    """The table after one more filter or projection, rebuilt from the SQL of its values."""
    below = step.parent.to_expr()
    name = type(step).__name__
    if name == "Filter":
        texts = [value_text(predicate.to_expr(), below) for predicate in step.predicates]
        rows = source.table.filter(*(as_condition(text, source) for text in texts))
        return replace(source, table=rows, derivation=(*source.derivation, *texts), conditions={})
    if name == "DropColumns":
        columns = [column for column in source.columns if column not in step.columns_to_drop]
        return replace(source, table=source.table.select(*columns), conditions={})
    values, derivation, refused = {}, list(source.derivation), {}
    for column, value in step.values.items():
        if type(value).__name__ == "Field":
            values[column] = source.table[value.name]
            if value.name in source.refused:
                refused[column] = source.refused[value.name]
            derivation += [] if value.name == column else [f"{value.name} AS {column}"]
        else:
            text = value_text(value.to_expr(), below)
            values[column] = as_value(text, source)
            derivation.append(f"{text} AS {column}")
    return replace(
        source, table=selected(source.table, values), derivation=tuple(derivation), refused=refused, conditions={}
    )


def _open_in_memory(data: Any) -> Source:
    """Open the frame behind an `ibis.memtable`: Ibis would convert it, and fail on some values."""
    frame = getattr(data, "obj", None)
    if package_of(frame) not in FRAMES:
        raise InvalidInput("the Ibis table is one in memory; give the frame it was made of.")
    return open_frame(frame)
