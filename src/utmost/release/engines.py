"""Tables, wherever they are: the one place that opens them and asks an engine for integers.

A table is a CSV or Parquet file, a pandas, polars or pyarrow frame, a table in a DuckDB file or in PostgreSQL, or an
Ibis table that is a base table or a row-wise projection or filter of one. DuckDB runs embedded, in memory, and needs
no set-up.

Only the *schema* is looked at before a spend is reserved: names and types of columns are public. What stands in the
rows is touched by `Source.integers` alone, whose failure says one fixed sentence whatever the reason.

Every statement runs on a cursor of its own. A DuckDB connection holds one result at a time, so of two threads that
share it one would fetch what the other asked for, and release it through the wrong mechanism. A cursor has settings of
its own, too, and sees no temporary tables or views.

A CSV file has no types, and guessing them would be an answer about private rows: columns are text until `types=` or a
question says how to read one, and an entry that cannot be read that way counts as null.
"""

from __future__ import annotations

import atexit
import csv
import gzip
import os
import shutil
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from utmost.errors import BadFile, EngineFailed, InvalidInput, NotRowWise, UtmostError, shown

FAILED = (
    "the engine could not compute this answer. What was reserved stays spent, because when an engine fails may "
    "depend on private rows. Try the question on made-up rows of the same columns."
)
TYPES = {
    int: "int64",
    float: "float64",
    str: "string",
    bool: "boolean",
    "int": "int64",
    "float": "float64",
    "text": "string",
    "number": "float64",
}
DELIMITERS = ",;\t|"
MOST_HEADER = 2**20
KNOWN_EXTENSIONS = ("arrow.uuid", "arrow.bool8")
ROWS = "private_rows"
"""What files and frames are called in DuckDB."""


@dataclass(frozen=True)
class Statement:
    """SQL that yields one row of integers under these names; it may hold the data set's secret, and is never shown."""

    sql: str = field(repr=False)
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """An opened table.

    Attributes
    ----------
    table : the Ibis table, whose schema is public
    untyped : columns of text whose type nobody declared: a question may say how to read them
    connection : the Ibis backend that holds it
    frame : the Arrow table that holds the rows, if a frame was given
    places : an Ibis table as it was given, and as it is read: see `as_read`
    """

    table: Any = field(repr=False)  # an interactive Ibis would print its rows
    untyped: frozenset[str]
    connection: Any = field(repr=False)
    frame: Any = field(default=None, repr=False, compare=False)
    places: Mapping[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.table.columns)

    @property
    def naming(self) -> str:
        """Which columns there are, for an error; unless a file may lack its header, and a person's entries be shown."""
        if self.untyped and not all(name.replace(" ", "_").isidentifier() for name in self.untyped):
            return "the first line of the file must name the columns"
        return f"the columns are {', '.join(self.columns)}"

    def statement(self, query: Any) -> Statement:
        """An aggregation over the table as the engine's SQL: compiled from the schema, so what fails here is public."""
        try:
            read = self._read(query)
            made = Statement(self.connection.compile(read), tuple(query.columns))
            self.rehearse(read)
            return made
        except Exception:  # the engine's words would show the statement, and with it the secret
            pass
        raise InvalidInput(
            f"{self.connection.name} cannot be asked this question, whatever the rows; compare columns with values of "
            "their own type and range, or ask it of a table with plainer types."
        )

    def sql(self, query: Any) -> str:
        """A query of the table in the engine's words."""
        return str(self.connection.compile(self._read(query)))

    def _read(self, query: Any) -> Any:
        return query.op().replace(self.places).to_expr() if self.places else query

    def rehearse(self, query: Any) -> None:
        """Run it on made-up rows of the same columns, so that what always fails does so before anything is spent."""
        operations = _ibis().expr.operations
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            stand_ins = {}
            for base in query.op().find(operations.DatabaseTable):
                rows = self.made_up_rows(base)
                if rows is None:  # the table is gone: what the engine then says is not for now
                    return
                stand_ins[base] = operations.SQLQueryResult(rows, base.schema, self.connection)
            self.run(self.connection.compile(query.op().replace(stand_ins).to_expr()))

    def made_up_rows(self, base: Any) -> str | None:
        """SQL for a few rows of the columns and types of a table, none of them of the table; None if it is gone."""
        try:
            with self.cursor() as cursor:
                found = cursor.execute("DESCRIBE " + self.connection.compile(base.to_expr())).fetchall()
        except Exception:
            return None
        columns = ", ".join(f"TRY_CAST(made_up AS {kind}) AS {named(name)}" for name, kind, *_ in found)
        return f"SELECT {columns} FROM (VALUES (NULL), ('0'), ('2000-01-01'), ('a')) AS made_up_rows(made_up)"

    def adapted(self, condition: Any) -> Any:
        """A row-wise condition as this engine needs it written."""
        return condition

    def integers(self, statement: Statement) -> dict[str, int]:
        """The one row of an aggregation, as integers; nothing is 0."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = self.run(statement.sql)
                return {name: int(value or 0) for name, value in zip(statement.columns, found, strict=True)}
        except Exception:
            pass
        raise EngineFailed(FAILED)  # outside the except: no chain of causes that would repeat the engine's words

    def run(self, sql: str) -> Any:
        """The first row of a statement, which nobody else can fetch."""
        with self.cursor() as cursor:
            return cursor.execute(sql).fetchone()

    @contextmanager
    def cursor(self) -> Iterator[Any]:
        """A cursor for one statement, with DuckDB's own settings whatever the connection's are."""
        with self.connection.con.cursor() as cursor:
            cursor.execute("SET enable_progress_bar = false; SET default_collation = ''")
            if self.frame is not None:
                cursor.register(ROWS, self.frame)
            yield cursor


def open_table(table: Any, types: Mapping[str, Any] | None = None) -> Source:
    """Open a table without reading its rows; `types` says how to read columns of text, such as {"age": int}."""
    if isinstance(table, Source):
        return table
    if isinstance(table, str | Path):
        source = _open_path(str(table))
    else:
        module = type(table).__module__.partition(".")[0]
        opener = OPENERS.get(module)
        if opener is None:
            raise InvalidInput(
                f"{type(table).__module__}.{type(table).__name__} is not a table Utmost can open; give the path of "
                "a CSV or Parquet file, 'file.duckdb#table', a pandas, polars or pyarrow frame, or an Ibis table."
            )
        with warnings.catch_warnings():  # what a package has to say about private values is not for others
            warnings.simplefilter("ignore")
            source = opener(table)
    return _with_types(source, types or {})


# ---- files ----


def _open_path(path: str) -> Source:
    if path.startswith(("postgresql://", "postgres://")):
        from utmost.release.postgres import open_postgres

        _ibis()
        return open_postgres(path)
    name, _, inside = path.partition("#")
    file = Path(name)
    if not file.is_file():
        raise InvalidInput(
            f"there is no file {name!r}; give the path of a CSV or Parquet file, or 'file.duckdb#table'."
        )
    if set("*?[") & set(name):
        raise InvalidInput(f"the path {name!r} holds a wildcard; give one file by a plain name.")
    kind = file.name.lower().removesuffix(".gz").rpartition(".")[2]
    if kind in ("csv", "tsv", "txt"):
        return _open_csv(file)
    if kind == "parquet":
        connection = _duckdb()
        return _view(connection, f"SELECT * FROM read_parquet({_quoted(str(file))})", name)
    if kind in ("duckdb", "ddb", "db"):
        if not inside:
            raise InvalidInput(f"{name!r} holds many tables; say which, as in '{name}#survey'.")
        return _open_ibis(_table_in(_duckdb(file), inside, name))
    raise InvalidInput(f"{name!r} is not a kind of file Utmost reads; give .csv, .csv.gz, .parquet or .duckdb.")


def _open_csv(file: Path) -> Source:
    """A CSV file as text, its dialect and columns read off the header alone; rows that do not parse are dropped.

    Read by one thread: several would have to guess where a row starts in the middle of the file, and then one row's
    length decides how others are read.
    """
    opener = gzip.open if file.name.lower().endswith(".gz") else open
    try:
        with opener(file, "rb") as lines:  # in bytes, so that no other line is decoded
            first = lines.readline(MOST_HEADER).decode("utf-8-sig")
        if first.count('"') % 2:
            raise csv.Error("a name goes over the end of the line")
        delimiter = max(DELIMITERS, key=lambda mark: (first.count(mark), mark == ","))
        header = next(csv.reader([first], delimiter=delimiter), [])
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error):
        raise BadFile(f"the first line of {str(file)!r} cannot be read as a CSV header in UTF-8.") from None
    names = [name.strip() for name in header]
    if not names or any(not name for name in names) or len({name.lower() for name in names}) < len(names):
        raise BadFile(
            f"the first line of {str(file)!r} is not a header: it must name every column once, and names must "
            "differ in more than upper and lower case."
        )
    columns = ", ".join(f"{_quoted(name)}: 'VARCHAR'" for name in names)
    query = (
        f"SELECT * FROM read_csv({_quoted(str(file))}, columns = {{{columns}}}, header = true, auto_detect = false, "
        f"delim = {_quoted(delimiter)}, quote = '\"', escape = '\"', nullstr = '', ignore_errors = true, "
        "strict_mode = false, parallel = false)"
    )
    source = _view(_duckdb(), query, str(file))
    return replace(source, untyped=frozenset(names))


# ---- frames ----


def _open_pandas(frame: Any) -> Source:
    """A pandas frame through pyarrow, column by column; columns of objects are read as text."""
    import pyarrow

    names = list(frame.columns) if hasattr(frame, "columns") else None
    if names is None:
        raise InvalidInput("a pandas Series is one column; give a DataFrame, such as series.to_frame().")
    _require_names(names)
    columns, text = {}, set()
    for name in names:
        column = frame[name]
        if column.dtype == object or column.dtype.name == "category":  # what they hold is private: each becomes text
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


def _open_polars(frame: Any) -> Source:
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


def _open_arrow(table: Any, untyped: frozenset[str] = frozenset()) -> Source:
    import pyarrow

    if isinstance(table, pyarrow.RecordBatch):
        table = pyarrow.Table.from_batches([table])
    if not isinstance(table, pyarrow.Table):
        raise InvalidInput(f"a pyarrow {type(table).__name__} is not a table; give a pyarrow.Table.")
    _require_names(table.column_names)
    for i, name in enumerate(table.column_names):
        try:
            plain = _plain(table.column(i))
        except Exception:
            plain = None
        if plain is None:
            raise InvalidInput(f"column {name!r} of type {table.column(i).type} cannot be read; convert it beforehand.")
        table = table.set_column(i, name, plain)
    connection = _duckdb()
    try:
        connection.con.register(ROWS, table)
        return Source(connection.table(ROWS), untyped, connection, table)
    except Exception:
        pass
    raise InvalidInput("a column is of a type that DuckDB does not know, such as float16 or decimal256; cast it first.")


def _plain(column: Any) -> Any:
    """An Arrow column in a type DuckDB reads without fail; which type depends on the column's type alone.

    A dictionary and runs become their values (which there are is private); times and durations are counted in
    microseconds, and what does not fit is null; so is text that is not UTF-8. Of lists, structures and the like, which
    may hold any of these, only whether there is one can be asked: each becomes an empty value.
    """
    import pyarrow
    import pyarrow.compute

    known = pyarrow.types
    if isinstance(column.type, pyarrow.BaseExtensionType) and column.type.extension_name not in KNOWN_EXTENSIONS:
        column = column.cast(column.type.storage_type)
    if known.is_run_end_encoded(column.type):
        column = pyarrow.compute.run_end_decode(column)
    if known.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if known.is_nested(column.type):
        empty, none = (pyarrow.scalar(x, pyarrow.binary()) for x in (b"", None))
        return pyarrow.compute.if_else(column.is_valid(), empty, none)
    if known.is_timestamp(column.type) and column.type.unit in ("s", "ms"):
        return _fitting(column).cast(pyarrow.timestamp("us", column.type.tz))
    if known.is_duration(column.type) and column.type.unit in ("s", "ms"):
        return _fitting(column).cast(pyarrow.duration("us"))
    if known.is_string(column.type) or known.is_large_string(column.type) or known.is_string_view(column.type):
        return pyarrow.chunked_array([_valid_text(chunk) for chunk in column.chunks], type=column.type)
    return column


def _fitting(column: Any) -> Any:
    """Times or durations in seconds or milliseconds, null where microseconds do not fit into 64 bits."""
    import pyarrow
    import pyarrow.compute

    most = (2**63 - 2) // {"s": 10**6, "ms": 10**3}[column.type.unit]
    number = column.cast(pyarrow.int64())
    fits = pyarrow.compute.less_equal(pyarrow.compute.abs(number), most)  # of -2^63 it is negative
    fits = pyarrow.compute.and_(fits, pyarrow.compute.greater_equal(number, -most))
    return pyarrow.compute.if_else(fits, number, pyarrow.scalar(None, pyarrow.int64())).cast(column.type)


def _valid_text(chunk: Any) -> Any:
    import pyarrow

    try:
        chunk.validate(full=True)
        return chunk
    except pyarrow.ArrowInvalid:
        pass
    binary = pyarrow.large_binary() if pyarrow.types.is_large_string(chunk.type) else pyarrow.binary()
    raw = chunk.cast(pyarrow.binary_view() if pyarrow.types.is_string_view(chunk.type) else binary).to_pylist()
    return pyarrow.array([None if x is None else _decoded(x) for x in raw], type=chunk.type)


def _decoded(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _as_text(value: Any) -> str | None:
    try:
        return None if value is None or value != value else str(value).encode().decode()  # no lone surrogates
    except Exception:  # a private value has no say in what happens
        return None


def _require_names(names: Any) -> None:
    listed = list(names)
    if not listed or any(not isinstance(name, str) or not name for name in listed):
        raise InvalidInput("the columns of a table need names that are text; rename them.")
    if len({name.lower() for name in listed}) < len(listed):
        raise InvalidInput(
            "two columns of the table have one name, or differ in upper and lower case only; rename one."
        )


# ---- Ibis ----


def _open_ibis(table: Any) -> Source:
    from utmost.release.conditions import require_base_table

    ibis = _ibis()
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
        from utmost.release.postgres import open_postgres_table

        return open_postgres_table(table, connection)
    used = set(table.columns) | {column.name for column in table.op().find(operations.Field)}
    bases = {base: _placed(connection, base, used) for base in table.op().find(operations.DatabaseTable)}
    return Source(table, frozenset(), connection, places=as_read(table, bases))


def as_read(table: Any, bases: Mapping[Any, Any]) -> dict[Any, Any]:
    """What stands in for an Ibis table in statements: base tables under their full names, conditions enclosed.

    Ibis writes a column's expression wherever the column is used, some without the parentheses they need there.
    """
    from utmost.release.conditions import enclosed

    def read(node: Any, parts: Any) -> Any:
        if node in bases:
            return bases[node]
        node = node.__recreate__(parts) if parts else node
        if type(node).__name__ != "Project":
            return node
        return node.copy(values={name: enclosed(value) for name, value in node.values.items()})

    return {table.op(): table.op().replace(read)}


def _open_in_memory(data: Any) -> Source:
    """The frame that a table of `ibis.memtable` was made of: Ibis would convert it, and fail on some values."""
    frame = getattr(data, "obj", None)
    opener = OPENERS.get(type(frame).__module__.partition(".")[0])
    if opener is None or opener is _open_ibis:
        raise InvalidInput("the Ibis table is one in memory; give the frame it was made of.")
    return opener(frame)


def _placed(connection: Any, base: Any, used: set[str]) -> Any:
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
    return base.copy(name=name, namespace=_ibis().expr.operations.Namespace(catalog=catalog, database=schema))


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


def _table_in(connection: Any, name: str, file: str) -> Any:
    try:
        return connection.table(name)
    except Exception:
        raise InvalidInput(f"{file!r} has no table {name!r}; give the name of a base table in it.") from None


OPENERS: dict[str, Callable[[Any], Source]] = {
    "pandas": _open_pandas,
    "polars": _open_polars,
    "pyarrow": _open_arrow,
    "ibis": _open_ibis,
}
"""Who opens a table, by the package its class comes from."""


# ---- DuckDB and types ----


def _duckdb(file: Path | None = None) -> Any:
    """A connection that never fetches anything: DuckDB's extensions are neither installed nor loaded by themselves."""
    ibis = _ibis()
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


@lru_cache(maxsize=1)
def _spill(process: int) -> str:
    """Where DuckDB puts rows that do not fit into memory: a directory only this user can read, gone at exit."""
    folder = tempfile.mkdtemp(prefix="utmost-duckdb-")

    def removed() -> None:
        if os.getpid() == process:  # not at the end of a fork
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(removed)
    return folder


def _view(connection: Any, query: str, name: str) -> Source:
    """The rows of a file, under a name, without reading them."""
    try:
        connection.con.execute(f"CREATE VIEW {ROWS} AS {query}")
        return Source(connection.table(ROWS), frozenset(), connection)
    except Exception:
        raise BadFile(f"{name!r} cannot be opened: it is not the kind of file its name says, or is damaged.") from None


def _with_types(source: Source, types: Mapping[str, Any]) -> Source:
    """The same table with columns of text read as their declared types; what cannot be read is null."""
    if not types:
        return source
    ibis = _ibis()
    changed = {}
    for name, kind in types.items():
        if name not in source.columns:
            raise InvalidInput(f"types names {name!r}, which is not a column; {source.naming}.")
        if not source.table[name].type().is_string():
            raise InvalidInput(
                f"column {name!r} has the type {source.table[name].type()} already; leave it out of types."
            )
        try:
            target = ibis.dtype(TYPES.get(kind, kind))
        except Exception:
            raise InvalidInput(
                f"the type of {name!r} is {shown(kind)}; say int, float, str, bool, 'date' or 'timestamp'."
            ) from None
        if target.is_timestamp() and target.timezone is None:
            target = ibis.dtype("timestamp(6)")  # of the others, DuckDB fails to convert the last and first
        if target.is_nested() or target.is_binary() or (target.is_timestamp() and target.timezone is not None):
            raise InvalidInput(f"columns are not read as {target}; say int, float, str, bool, 'date' or 'timestamp'.")
        changed[name] = source.table[name] if target.is_string() else source.table[name].try_cast(target)
    return replace(source, table=source.table.mutate(**changed), untyped=source.untyped - set(types))


def named(column: str) -> str:
    """A name as engines quote it."""
    return '"' + column.replace('"', '""') + '"'


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _ibis() -> Any:
    try:
        import ibis
    except ImportError:
        raise UtmostError("tables need Ibis and DuckDB; install them with: pip install 'utmost[tables]'") from None
    return ibis
