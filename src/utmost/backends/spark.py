"""Spark: a DataFrame, classic or of Spark Connect, asked like any other table.

Questions reach Spark as the typed expressions that DuckDB and PostgreSQL are asked with, made into calls of PySpark by
`spark_columns` and `spark_frames`: no Python functions in the cluster, no rows collected, and no SQL text, because
settings of the user's session (ANSI mode, escapes, what double quotes mean) change how Spark reads text. What leaves
the cluster is the result of one aggregation: a few integers.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np

from utmost.backends.rehearsal import extreme_keys
from utmost.backends.source import CHANGED, GONE, KEYS, Source, Statement
from utmost.backends.spark_columns import Columns, Spark, require_same_meaning
from utmost.backends.spark_frames import Frames, assumes, digest
from utmost.backends.spark_jobs import rows_of, unlogged
from utmost.backends.spark_plans import row_wise_plan
from utmost.backends.spark_types import KINDS, MOST_DIGITS, Column, extreme_rows, quoted, stored_column
from utmost.backends.sql_source import MOST_REHEARSED
from utmost.errors import Disconnected, InvalidInput, UtmostError
from utmost.exact.arrays import Integers
from utmost.queries.expressions.relations import Relation, Rows, needed, walk
from utmost.queries.expressions.values import Expression

SCHEME, PORT = "sc://", 15002
ANSI = "spark.sql.ansi.enabled"
REBASED = (
    "holds dates or times, and this session of Spark stops at those before 1582 in old files, which would tell that "
    "there is one; set spark.sql.parquet.datetimeRebaseModeInRead and spark.sql.parquet.int96RebaseModeInRead to "
    "CORRECTED"
)


@dataclass(frozen=True)
class SparkSource(Source):
    """A DataFrame of Spark.

    Attributes
    ----------
    spark : Spark
        Where it lives.
    rows : DataFrame
    stored : mapping of str to Column
        The columns as Spark has them.
    rehearsed : set of str
        Hashes of the queries that have passed their rehearsal.
    """

    spark: Any = field(default=None, repr=False, compare=False)
    rows: Any = field(default=None, repr=False, compare=False)
    stored: Mapping[str, Column] = field(default_factory=dict, repr=False)
    rehearsed: set[str] = field(default_factory=set, repr=False, compare=False)

    engine = "Spark"

    def prepared(self, query: Relation, keys: Any, size: int, labels: tuple[str, ...]) -> Statement:
        """A query as a frame that Spark has analysed, and that has run on public rows of extreme values.

        They are asked once for a query, as it is and with conditions taken as true, in one job.
        """
        columns, tables = Columns(self.spark), {**self.public, **({} if keys is None else {KEYS: keys})}
        with unlogged():
            public = {name: self.spark.frame(table) for name, table in tables.items()}
            made = self._frame(Frames(query, columns, self.rows, self.stored, public), query)
            if list(made.columns) != list(query.columns):  # Connect analyses now
                raise InvalidInput(self._unaskable)
            known = digest(query, self.spark.session.conf.get(ANSI))
        statement = Statement(made, tuple(query.columns), keys, size, labels)
        if known not in self.rehearsed:
            self._rehearse(statement, query, columns, {name: extreme_keys(table) for name, table in tables.items()})
            if len(self.rehearsed) >= MOST_REHEARSED:
                self.rehearsed.clear()
            self.rehearsed.add(known)
        return statement

    def _frame(self, frames: Frames, query: Relation) -> Any:
        named = [self.spark.functions.col(quoted(name)) for name in query.columns]
        return frames.frame(query).select(*named)

    def _rehearse(self, statement: Statement, query: Relation, columns: Columns, tables: Mapping[str, Any]) -> None:
        """Run a query on extreme rows and keys, in the way it will be run on the others."""
        used = needed(query)
        names = {name for one in walk(query) if isinstance(one, Rows) for name in used[id(one)]}
        with unlogged():
            stored = {name: column for name, column in self.stored.items() if name in names}
            rows = extreme_rows(self.spark.session, self.spark.functions, stored)
            public = {name: self.spark.frame(table) for name, table in tables.items()}
            frames = Frames(query, columns, rows, stored, public, trial=True)
            trial = self._frame(frames, query)
            if assumes(query):
                others = Frames(query, Columns(self.spark, columns), rows, stored, public, trial=True)
                trial = frames.joined(trial, self._frame(others, query))
        asked = replace(statement, asked=trial)
        if statement.labels:
            self._labelled(asked)
        elif statement.keys is not None:
            self.all_rows(asked)
        else:
            for row in rows_of(self.spark, trial):
                _ = [int(value or 0) for value in row]

    def is_there(self) -> bool:
        """Whether the session answers at all."""
        try:
            return bool(self.spark.session.range(1).schema)
        except Exception:
            return False

    def require_same_meaning(self, node: Expression) -> None:
        """Refuse what Spark computes in another way than DuckDB."""
        require_same_meaning(node)

    def one_row(self, statement: Statement) -> tuple[Any, ...]:
        """The one row of an aggregation."""
        (row,) = rows_of(self.spark, statement.asked)
        return tuple(row)

    def all_rows(self, statement: Statement) -> list[Integers]:
        """The columns of an aggregation by keys, as whole numbers."""
        names = [self.spark.functions.col(quoted(name)).cast("bigint") for name in statement.columns]
        rows = rows_of(self.spark, statement.asked.select(*names))
        found = np.array([tuple(row) for row in rows], dtype=np.int64)  # a Row is slow
        return list(found.reshape(-1, len(statement.columns)).T)

    def all_columns(self, statement: Statement) -> list[Any]:
        """The columns of a statement whose rows have labels, as lists of one list."""
        column, labels = self.spark.functions.col, statement.labels
        named = [column(quoted(name)) for name in statement.columns]
        numbers = [one.cast("bigint") for one in named[len(labels) :]]
        rows = rows_of(self.spark, statement.asked.select(*named[: len(labels)], *numbers))
        found = [[row[i] for row in rows] for i in range(len(named))]
        for i, kind in enumerate(labels):
            if kind == "uint64":  # decimal numbers in Spark
                found[i] = [None if value is None else int(value) for value in found[i]]
        return [[values] for values in found]


def open_address(url: str, types: Mapping[str, Any] | None = None) -> Source:
    """The table that "sc://host:15002#database.table" names, on a server of Spark Connect."""
    address, _, name = url.partition("#")
    host = urlsplit(address).netloc.rpartition("@")[2]  # tokens follow later, after a semicolon
    where = f"{SCHEME}{host}"
    if not name:
        raise InvalidInput(f"{where} holds many tables; say which, as in '{where}#database.table'.")
    try:
        from pyspark.sql.connect.session import SparkSession
    except Exception:  # of PySpark's own kind, if one of its parts is missing
        raise UtmostError("Spark Connect needs PySpark; install it with: pip install 'utmost[spark]'") from None
    try:
        _require_answering(host)
        with unlogged():
            session = SparkSession(connection=address)
            known = bool(session.version)
    except Exception:  # the reason may repeat a token
        known = False
    if not known:
        raise InvalidInput(f"{where} cannot be reached; is the address right, and the server running?")
    table = ".".join(quoted(part) for part in unquote(name).split("."))
    return open_spark(session.table(table), types)


def _require_answering(host: str) -> None:
    """Raise at once where nobody listens: a client of Spark Connect would try for minutes."""
    if not host:  # a way of connecting that somebody made need not say where
        return
    name, _, port = host.partition(":")
    socket.create_connection((name, int(port or PORT)), timeout=10).close()


def open_spark(frame: Any, types: Mapping[str, Any] | None = None) -> Source:
    """A DataFrame of PySpark, if each of its rows stems from one row of a table."""
    if types:
        raise InvalidInput(
            f"types names {min(map(str, types))!r}, but columns of Spark have types, and Spark reads text in other "
            "ways than DuckDB; leave types out, and store the column with its type."
        )
    if type(frame).__name__ != "DataFrame":
        raise InvalidInput(
            f"a {type(frame).__name__} of PySpark is not a table; give a DataFrame, such as spark.table(name)."
        )
    connect = type(frame).__module__.startswith("pyspark.sql.connect")
    spark = _spark(frame, connect)
    with unlogged():
        said = row_wise_plan(frame, connect)
    _require_names([one.name for one in frame.schema.fields])
    odd = {one.name: reason for one in frame.schema.fields if (reason := _odd(one, one.dataType.typeName()))}
    stored = {one.name: stored_column(one.dataType, one.name in odd) for one in frame.schema.fields}
    if _rebased(spark.session):
        dated = {name for name, one in stored.items() if one.type.kind in ("date", "timestamp", "instant")}
        odd |= dict.fromkeys(dated, REBASED)
    return SparkSource(
        Rows({name: one.type for name, one in stored.items()}),
        require_unchanged=partial(_require_unchanged, frame, said) if connect else lambda: None,
        refused=odd,
        said=tuple(said),
        spark=spark,
        rows=frame,
        stored=stored,
    )


def _require_unchanged(frame: Any, said: list[str]) -> None:
    """Refuse a table of Connect that is another one now: there a plan goes by names, and every question resolves them.

    The plan of a classic frame was resolved when the frame was made, and stays.
    """
    session, refused = frame.sparkSession, None
    client = session.client
    try:
        _require_answering(getattr(client._builder, "endpoint", ""))
        with unlogged():
            same = row_wise_plan(frame, True) == said and client.schema(frame._plan.to_proto(client)) == frame.schema
    except UtmostError as problem:
        same, refused = False, problem
    except Exception:
        same = False
    if not same and not _is_connected(session):
        raise Disconnected(GONE)
    if refused is not None:
        raise refused
    if not same:
        raise InvalidInput(CHANGED.format("the table of the DataFrame"))


def _is_connected(session: Any) -> bool:
    """Whether the server of a session is there, and has not forgotten the session after a restart or a long pause."""
    try:
        _require_answering(getattr(session.client._builder, "endpoint", ""))
        with unlogged():
            return bool(session.sql("SELECT 1").collect())
    except Exception:
        return False


def _spark(frame: Any, connect: bool) -> Spark:
    package = "pyspark.sql.connect" if connect else "pyspark.sql"
    functions, window = import_module(f"{package}.functions"), import_module(f"{package}.window").Window
    return Spark(frame.sparkSession, functions, window, connect)


def _rebased(session: Any) -> bool:
    """Whether Spark stops at dates before 1582 in files that were written with another calendar."""
    settings = ("datetimeRebaseModeInRead", "int96RebaseModeInRead")
    return any(session.conf.get(f"spark.sql.parquet.{name}").upper() == "EXCEPTION" for name in settings)


def _require_names(names: list[str]) -> None:
    """Refuse columns that Spark cannot tell apart by their names."""
    if not names or len({name.lower() for name in names}) < len(names) or not all(names):
        raise InvalidInput(
            "two columns of the DataFrame differ in upper and lower case only, or have no name; rename one."
        )


def _odd(column: Any, name: str) -> str | None:
    """Why no question may use a column: its type has rules of its own."""
    kind = column.dataType
    if name == "decimal":
        wide = f"has more than {MOST_DIGITS} digits, of which engines make different floats; store it as DECIMAL(18, 2)"
        return wide if kind.precision > MOST_DIGITS else None
    if str(column.metadata.get("__CHAR_VARCHAR_TYPE_STRING", "")).startswith("char"):
        return "is of type CHAR(n), which pads with blanks; store it as STRING"
    if name not in KINDS:
        return f"is of type {kind.simpleString()}, which Utmost does not use; store it as one it knows, such as STRING"
    if getattr(kind, "collation", "UTF8_BINARY") not in (None, "UTF8_BINARY"):
        return "has a collation that calls different texts equal; give it the default one, UTF8_BINARY"
    return None
