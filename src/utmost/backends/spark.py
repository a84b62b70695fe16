"""Spark: a DataFrame, classic or of Spark Connect, queried like any other table.

`spark_columns` and `spark_frames` translate the typed expressions that also serve DuckDB and PostgreSQL into calls of
PySpark. No Python function runs in the cluster, no rows are collected, and there is no SQL text, because settings of
the user's session (ANSI mode, escapes, the meaning of double quotes) change how Spark parses it. What leaves the
cluster is the result of one aggregation: a few integers.
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
from utmost.extras import missing
from utmost.queries.expressions.relations import Relation, Rows, columns_used, walk
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
        The session of the DataFrame.
    rows : DataFrame
    stored : mapping of str to Column
        The stored columns.
    rehearsed : set of str
        Hashes of the queries that have passed their rehearsal.
    """

    spark: Any = field(default=None, repr=False, compare=False)
    rows: Any = field(default=None, repr=False, compare=False)
    stored: Mapping[str, Column] = field(default_factory=dict, repr=False)
    rehearsed: set[str] = field(default_factory=set, repr=False, compare=False)

    engine = "Spark"

    def prepared(self, query: Relation, keys: Any, size: int, labels: tuple[str, ...]) -> Statement:
        """A query as an analysed DataFrame, rehearsed on public rows of extreme values.

        One job rehearses the query twice: as it is, and with all conditions true.
        """
        columns, tables = Columns(self.spark), {**self.public, **({} if keys is None else {KEYS: keys})}
        with unlogged():
            public = {name: self.spark.frame(table) for name, table in tables.items()}
            frame = self._frame(Frames(query, columns, self.rows, self.stored, public), query)
            if list(frame.columns) != list(query.columns):  # Connect analyses now
                raise InvalidInput(self._not_supported)
            query_hash = digest(query, self.spark.session.conf.get(ANSI))
        statement = Statement(frame, tuple(query.columns), keys, size, labels)
        if query_hash not in self.rehearsed:
            self._rehearse(statement, query, columns, {name: extreme_keys(table) for name, table in tables.items()})
            if len(self.rehearsed) >= MOST_REHEARSED:
                self.rehearsed.clear()
            self.rehearsed.add(query_hash)
        return statement

    def _frame(self, frames: Frames, query: Relation) -> Any:
        named = [self.spark.functions.col(quoted(name)) for name in query.columns]
        return frames.frame(query).select(*named)

    def _rehearse(self, statement: Statement, query: Relation, columns: Columns, tables: Mapping[str, Any]) -> None:
        """Run a query on rows and keys of extreme values, in the way it will be run on the private ones."""
        columns_by_relation = columns_used(query)
        private = [relation for relation in walk(query) if isinstance(relation, Rows)]
        names = {name for relation in private for name in columns_by_relation[id(relation)]}
        with unlogged():
            stored = {name: column for name, column in self.stored.items() if name in names}
            rows = extreme_rows(self.spark.session, self.spark.functions, stored)
            public = {name: self.spark.frame(table) for name, table in tables.items()}
            frames = Frames(query, columns, rows, stored, public, trial=True)
            trial = self._frame(frames, query)
            if assumes(query):
                assuming_frames = Frames(query, Columns(self.spark, columns), rows, stored, public, trial=True)
                trial = frames.joined(trial, self._frame(assuming_frames, query))
        trial_statement = replace(statement, query=trial)
        if statement.labels:
            self._labelled(trial_statement)
        elif statement.keys is not None:
            self.all_rows(trial_statement)
        else:
            for row in rows_of(self.spark, trial):
                _ = [int(value or 0) for value in row]

    def is_reachable(self) -> bool:
        """Whether the session responds."""
        try:
            return bool(self.spark.session.range(1).schema)
        except Exception:
            return False

    def require_same_meaning(self, node: Expression) -> None:
        """Refuse operations that Spark computes differently from DuckDB."""
        require_same_meaning(node)

    def one_row(self, statement: Statement) -> tuple[Any, ...]:
        """The one row of an aggregation."""
        (row,) = rows_of(self.spark, statement.query)
        return tuple(row)

    def all_rows(self, statement: Statement) -> list[Integers]:
        """The columns of an aggregation by public keys, as integers."""
        names = [self.spark.functions.col(quoted(name)).cast("bigint") for name in statement.columns]
        rows = rows_of(self.spark, statement.query.select(*names))
        numbers = np.array([tuple(row) for row in rows], dtype=np.int64)  # a Row is slow
        return list(numbers.reshape(-1, len(statement.columns)).T)

    def all_columns(self, statement: Statement) -> list[Any]:
        """The columns of an aggregation by keys read from the table, each as a list of one list."""
        column, labels = self.spark.functions.col, statement.labels
        named = [column(quoted(name)) for name in statement.columns]
        numbers = [one.cast("bigint") for one in named[len(labels) :]]
        rows = rows_of(self.spark, statement.query.select(*named[: len(labels)], *numbers))
        lists = [[row[i] for row in rows] for i in range(len(named))]
        for i, kind in enumerate(labels):
            if kind == "uint64":  # stored as decimal numbers in Spark
                lists[i] = [None if value is None else int(value) for value in lists[i]]
        return [[values] for values in lists]


def open_address(url: str, types: Mapping[str, Any] | None = None) -> Source:
    """Open the table "sc://host:15002#database.table" on a server of Spark Connect."""
    address, _, name = url.partition("#")
    host = urlsplit(address).netloc.rpartition("@")[2]  # tokens follow later, after a semicolon
    where = f"{SCHEME}{host}"
    if not name:
        raise InvalidInput(f"{where} holds many tables; say which, as in '{where}#database.table'.")
    try:
        from pyspark.sql.connect.session import SparkSession
    except Exception:  # an error of PySpark's own if one of its dependencies is missing
        raise missing("spark", "Spark Connect needs PySpark") from None
    try:
        _require_answering(host)
        with unlogged():
            session = SparkSession(connection=address)
            is_reachable = bool(session.version)
    except Exception:  # the error may contain a token
        is_reachable = False
    if not is_reachable:
        raise InvalidInput(f"{where} cannot be reached; is the address right, and the server running?")
    table = ".".join(quoted(part) for part in unquote(name).split("."))
    return open_spark(session.table(table), types)


def _require_answering(host: str) -> None:
    """Raise at once if no server listens: a client of Spark Connect would retry for minutes."""
    if not host:  # a custom channel builder need not have an address
        return
    name, _, port = host.partition(":")
    socket.create_connection((name, int(port or PORT)), timeout=10).close()


def open_spark(frame: Any, types: Mapping[str, Any] | None = None) -> Source:
    """Open a DataFrame of PySpark, if each of its rows comes from one row of a table."""
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
        derivation = row_wise_plan(frame, connect)
    _require_names([one.name for one in frame.schema.fields])
    refused = {
        one.name: reason for one in frame.schema.fields if (reason := _reason_to_refuse(one, one.dataType.typeName()))
    }
    stored = {one.name: stored_column(one.dataType, one.name in refused) for one in frame.schema.fields}
    if _rebased(spark.session):
        dated = {name for name, one in stored.items() if one.type.kind in ("date", "timestamp", "instant")}
        refused |= dict.fromkeys(dated, REBASED)
    return SparkSource(
        Rows({name: one.type for name, one in stored.items()}),
        require_unchanged=partial(_require_unchanged, frame, derivation) if connect else lambda: None,
        refused=refused,
        derivation=tuple(derivation),
        spark=spark,
        rows=frame,
        stored=stored,
    )


def _require_unchanged(frame: Any, derivation: list[str]) -> None:
    """Raise if a table of Spark Connect has been replaced: its plan holds names, which every query resolves again.

    The plan of a classic DataFrame is resolved when the DataFrame is made.
    """
    session, refused = frame.sparkSession, None
    client = session.client
    try:
        _require_answering(getattr(client._builder, "endpoint", ""))
        with unlogged():
            is_same = (
                row_wise_plan(frame, True) == derivation and client.schema(frame._plan.to_proto(client)) == frame.schema
            )
    except UtmostError as problem:
        is_same, refused = False, problem
    except Exception:
        is_same = False
    if not is_same and not _is_connected(session):
        raise Disconnected(GONE)
    if refused is not None:
        raise refused
    if not is_same:
        raise InvalidInput(CHANGED.format("the table of the DataFrame"))


def _is_connected(session: Any) -> bool:
    """Whether the server of a session responds, and still has the session after a restart or a long pause."""
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
    """Whether Spark raises on dates before 1582 in files that were written with another calendar."""
    settings = ("datetimeRebaseModeInRead", "int96RebaseModeInRead")
    return any(session.conf.get(f"spark.sql.parquet.{name}").upper() == "EXCEPTION" for name in settings)


def _require_names(names: list[str]) -> None:
    """Refuse columns without a name, or whose names differ in letter case only."""
    if not names or len({name.lower() for name in names}) < len(names) or not all(names):
        raise InvalidInput(
            "two columns of the DataFrame differ in upper and lower case only, or have no name; rename one."
        )


def _reason_to_refuse(column: Any, name: str) -> str | None:
    """Why no query may use a column, if engines treat its type differently; else None."""
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
