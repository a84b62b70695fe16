"""Open frames of pandas, polars and pyarrow as Arrow columns that DuckDB reads without errors.

The conversion depends on the type of the column alone. A value that does not fit becomes null, never an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from utmost.backends.duckdb import DuckSource, connect, view_source
from utmost.backends.readable import readable
from utmost.backends.sql_source import ROWS
from utmost.errors import InvalidInput, NotRowWise


def package_of(value: Any) -> str:
    """The package that defines a value's class."""
    return type(value).__module__.partition(".")[0]


def open_frame(frame: Any) -> DuckSource:
    """Open a frame of one of the packages in `FRAMES`."""
    return FRAMES[package_of(frame)](frame)


def _open_pandas(frame: Any) -> DuckSource:
    """Open a pandas frame through pyarrow, column by column; columns of objects become text."""
    import pyarrow

    names = list(frame.columns) if hasattr(frame, "columns") else None
    if names is None:
        raise InvalidInput("a pandas Series is one column; give a DataFrame, such as series.to_frame().")
    _require_names(names)
    columns, text = {}, set()
    for name in names:
        column = frame[name]
        if column.dtype == object or column.dtype.name == "category":  # the types of their values are private
            columns[name] = pyarrow.array([_as_text(x) for x in column], type=pyarrow.string())
            text.add(name)
            continue
        if column.dtype.name in ("string", "str") and getattr(column.dtype, "storage", "") != "pyarrow":
            columns[name] = pyarrow.array([_as_text(x) for x in column], type=pyarrow.string())
            continue
        try:
            columns[name] = pyarrow.array(column, from_pandas=True)
        except Exception:
            columns[name] = None
        if columns[name] is None:
            raise InvalidInput(f"column {name!r} of type {column.dtype} cannot be read; convert it, or leave it out.")
    return _open_arrow(pyarrow.table(columns), frozenset(text))


def _open_polars(frame: Any) -> DuckSource:
    if type(frame).__name__ == "LazyFrame":
        raise NotRowWise("a LazyFrame may join or group before it is read; give a DataFrame: frame.collect().")
    if not hasattr(frame, "to_arrow") or not hasattr(frame, "columns"):
        raise InvalidInput(f"a polars {type(frame).__name__} is not a table; give a DataFrame.")
    for name, kind in frame.schema.items():
        if str(kind) == "Object":
            raise InvalidInput(f"column {name!r} holds Python objects; give it a polars type, or leave it out.")
    try:
        table = frame.to_arrow()
    except Exception:
        table = None
    if table is None:
        raise InvalidInput("the polars frame has a column of a type that Arrow does not know; cast it beforehand.")
    return _open_arrow(table)


def _open_arrow(table: Any, untyped: frozenset[str] = frozenset()) -> DuckSource:
    import pyarrow

    if isinstance(table, pyarrow.RecordBatch):
        table = pyarrow.Table.from_batches([table])
    if not isinstance(table, pyarrow.Table):
        raise InvalidInput(f"a pyarrow {type(table).__name__} is not a table; give a pyarrow.Table.")
    _require_names(table.column_names)
    for i, name in enumerate(table.column_names):
        try:
            plain = readable(table.column(i))
        except Exception:
            plain = None
        if plain is None:
            raise InvalidInput(f"column {name!r} of type {table.column(i).type} cannot be read; convert it beforehand.")
        table = table.set_column(i, name, plain)
    connection = connect()
    try:
        connection.register(ROWS, table)
        return view_source(connection, table, untyped)
    except Exception:
        pass
    raise InvalidInput("a column is of a type that DuckDB does not know, such as float16 or decimal256; cast it first.")


def _as_text(value: Any) -> str | None:
    try:
        return None if value is None or value != value else str(value).encode().decode()  # no lone surrogates
    except Exception:  # whether a private value can be converted must not show
        return None


def _require_names(names: Any) -> None:
    listed = list(names)
    if not listed or any(not isinstance(name, str) or not name for name in listed):
        raise InvalidInput("the columns of a table need names that are text; rename them.")
    if len({name.lower() for name in listed}) < len(listed):
        raise InvalidInput(
            "two columns of the table have one name, or differ in upper and lower case only; rename one."
        )


FRAMES: dict[str, Callable[[Any], DuckSource]] = {
    "pandas": _open_pandas,
    "polars": _open_polars,
    "pyarrow": _open_arrow,
}
"""The function that opens a frame, by the package of its class."""
