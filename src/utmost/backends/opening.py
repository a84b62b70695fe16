"""Open tables of every kind: `open_table` is the only way in.

A table is a CSV or Parquet file, a pandas, polars or pyarrow frame, a table in a DuckDB file or in PostgreSQL, a
DataFrame of Spark, or an Ibis table that is a base table or a row-wise projection or filter of one. DuckDB runs
embedded, in memory, and needs no set-up.

`duckdb` opens files, `frames` frames, `ibis_tables` Ibis tables, `postgres` tables in PostgreSQL, `spark` DataFrames
and tables behind Spark Connect. Opening reads the schema and no rows, because only the schema is public.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from utmost.backends.duckdb import DuckSource, configure, connect, open_csv, open_duckdb_table, open_parquet
from utmost.backends.embedded import Engine, require_room
from utmost.backends.frames import FRAMES, open_frame, package_of
from utmost.backends.ibis_tables import open_ibis
from utmost.backends.postgres import SCHEMES, open_postgres
from utmost.backends.source import Source
from utmost.backends.spark import SCHEME, open_address, open_spark
from utmost.errors import InvalidInput, shown
from utmost.messages import Argument, Call, Name
from utmost.queries.expressions.relations import selected
from utmost.queries.expressions.values import try_cast, type_from_name

TYPES: dict[Any, str] = {
    int: "int64",
    float: "float64",
    str: "string",
    bool: "boolean",
    "int": "int64",
    "float": "float64",
    "text": "string",
    "str": "string",
    "bool": "boolean",
    "number": "float64",
}


def open_table(table: Any, types: Mapping[str, Any] | None = None, engine: Engine | None = None) -> Source:
    """Open a table without reading its rows.

    Parameters
    ----------
    table : path, str, frame or Ibis table
    types : mapping of str to type, optional
        How to read columns of text, such as {"age": int}.
    engine : Engine, optional
        Memory, threads and spill folder of DuckDB, for files and frames.
    """
    if engine is not None:
        _require_ours(table, engine)
    if isinstance(table, str) and table.startswith(SCHEME):
        return open_address(table, types)
    if isinstance(table, str | Path):
        source = _open_path(str(table))
    else:
        package = package_of(table)
        if package == "pyspark":
            return open_spark(table, types)
        if package != "ibis" and package not in FRAMES:
            raise InvalidInput(
                f"{type(table).__module__}.{type(table).__name__} is not a table Utmost can open; give the path of "
                "a CSV or Parquet file, 'file.duckdb#table', a pandas, polars or pyarrow frame, a DataFrame of "
                "Spark, or an Ibis table."
            )
        with warnings.catch_warnings():  # a package's warning may quote private values
            warnings.simplefilter("ignore")
            source = open_ibis(table) if package == "ibis" else open_frame(table)
    if engine is not None and isinstance(source, DuckSource):
        configure(source, engine)
    return _with_types(source, types or {})


def _require_ours(table: Any, engine: Engine) -> None:
    """Refuse `engine=` for a table that DuckDB does not read here, or where the disk has no room to spill."""
    if not isinstance(engine, Engine):
        example = Call("um.engine", memory="4GB", threads=4, spill="folder")
        raise InvalidInput(Name("engine"), f" is {shown(engine)}; say ", example, ".")
    if isinstance(table, str | Path) and not str(table).startswith((SCHEME, *SCHEMES)):
        require_room(engine, Path(str(table).partition("#")[0]))
    elif package_of(table) not in FRAMES:
        raise InvalidInput(
            Argument("engine"),
            " is for files and frames, which DuckDB reads here; this table has an engine of its own: set its "
            "memory and threads there.",
        )


def _open_path(path: str) -> Source:
    if path.startswith(SCHEMES):
        return open_postgres(path)
    name, _, inside = path.partition("#")
    file = Path(name)
    if not _is_file(file):
        raise InvalidInput(
            f"there is no file {shown(name)}; give the path of a CSV or Parquet file, or 'file.duckdb#table'."
        )
    if set("*?[") & set(name):
        raise InvalidInput(f"the path {name!r} holds a wildcard; give one file by a plain name.")
    kind = file.name.lower().removesuffix(".gz").rpartition(".")[2]
    if kind in ("csv", "tsv", "txt"):
        return open_csv(file)
    if kind == "parquet":
        return open_parquet(file)
    if kind in ("duckdb", "ddb", "db"):
        if not inside:
            raise InvalidInput(f"{name!r} holds many tables; say which, as in '{name}#survey'.")
        return open_duckdb_table(connect(file), inside)
    raise InvalidInput(f"{name!r} is not a kind of file Utmost reads; give .csv, .csv.gz, .parquet or .duckdb.")


def _is_file(file: Path) -> bool:
    try:
        return file.is_file()
    except (OSError, ValueError):  # too long a name, or one with a NUL
        return False


def _with_types(source: Source, types: Mapping[str, Any]) -> Source:
    """The table with text columns cast to their declared types; text that cannot be cast is null."""
    if not types:
        return source
    values = {name: source.table[name] for name in source.columns}
    for name, kind in types.items():
        if name not in source.columns:
            raise InvalidInput(f"types names {name!r}, which is not a column; {source.naming}.")
        stored_type = source.table.columns[name]
        if stored_type.kind != "text":
            raise InvalidInput(f"column {name!r} has the type {stored_type} already; leave it out of types.")
        target = TYPES.get(kind, kind)
        try:
            type_from_name(str(target))
        except InvalidInput:
            raise InvalidInput(
                f"the type of {name!r} is {shown(kind)}; say int, float, str, bool, 'date' or 'timestamp'."
            ) from None
        column = values[name]
        declared = replace(column, type=replace(column.type, undeclared=False))
        values[name] = declared if target == "string" else try_cast(declared, str(target))
    return replace(source, table=selected(source.table, values), untyped=source.untyped - set(types), conditions={})
