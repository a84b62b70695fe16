"""Spark: a DataFrame, classic or of Spark Connect, asked like any other table.

Questions reach Spark as the same expressions that DuckDB and PostgreSQL are asked with, made into calls of PySpark by
`spark_columns` and `spark_frames`: no SQL text, no Python functions in the cluster, no rows collected. What leaves the
cluster is the result of one aggregation: a few integers.
"""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib import import_module
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import numpy.typing as npt

from utmost.errors import Disconnected, EngineFailed, InvalidInput, UtmostError
from utmost.release.engines.spark_columns import MOST_DIGITS, Spark, quoted, require_same_meaning
from utmost.release.engines.spark_frames import Frames
from utmost.release.engines.spark_jobs import rows_of, unlogged
from utmost.release.engines.spark_plans import row_wise_plan
from utmost.release.source import CHANGED, FAILED, GONE, Source, Statement

SCHEME, PORT = "sc://", 15002
KINDS = {
    **{"byte": "int8", "short": "int16", "integer": "int32", "long": "int64", "float": "float32", "double": "float64"},
    **{"string": "string", "boolean": "boolean", "date": "date"},
    **{"timestamp": "timestamp('UTC', 6)", "timestamp_ntz": "timestamp(6)"},
}
"""Types of Spark that every question can use, as Ibis names them; a TIMESTAMP is an instant."""

REBASED = (
    "holds dates or times, and this session of Spark stops at those before 1582 in old files, which would tell that "
    "there is one; set spark.sql.parquet.datetimeRebaseModeInRead and spark.sql.parquet.int96RebaseModeInRead to "
    "CORRECTED"
)


@dataclass(frozen=True)
class SparkStatement(Statement):
    """An aggregation in Spark that nobody has run yet."""

    made: Any = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class SparkSource(Source):
    """A DataFrame of Spark."""

    rows: Any = field(default=None, repr=False, compare=False)
    said: tuple[str, ...] = ()
    """The conditions and computed columns of the DataFrame."""

    @cached_property
    def fingerprint(self) -> str:
        """A hash of what is asked about, as for every table, and of what the DataFrame itself says about its rows."""
        known = super().fingerprint
        return hashlib.sha256(json.dumps([known, *self.said]).encode()).hexdigest()[:32] if self.said else known

    def statement(self, query: Any, keys: Any = None, size: int = 1, labels: tuple[str, ...] = ()) -> Statement:
        """An aggregation as a frame that Spark has analysed: what fails here fails whatever the rows."""
        self.require_unchanged()
        try:
            with unlogged():
                made = Frames(self.connection, self.rows, keys, self.public).frame(query.op())
                sound = list(made.columns) == list(query.columns)  # Connect analyses now
            if sound:
                return SparkStatement("", tuple(query.columns), keys, size, labels, made)
        except UtmostError:
            raise
        except Exception:  # Spark's words would show the query, and with it the secret
            pass
        raise InvalidInput(self._unaskable)

    @property
    def _unaskable(self) -> str:
        try:
            self.connection.session.range(1).schema  # noqa: B018
        except Exception:
            return GONE
        return (
            "Spark cannot be asked this question, whatever the rows; compare columns with values of their own type and "
            "range, or ask it of a table with plainer types."
        )

    def adapted(self, condition: Any) -> Any:
        """A condition that means the same here as in DuckDB, or `NotRowWise`."""
        for node in condition.op().find(import_ibis().expr.operations.Value):
            require_same_meaning(node)
        return condition

    def integers(self, statement: Statement) -> dict[str, int]:
        """The one row of an aggregation, as integers; nothing is 0."""
        try:
            (found,) = rows_of(self.connection, statement.made)  # type: ignore[attr-defined]
            return {name: int(value or 0) for name, value in zip(statement.columns, found, strict=True)}
        except Exception as problem:
            failed = EngineFailed(FAILED, problem)
        raise failed

    def all_rows(self, statement: Statement) -> list[npt.NDArray[np.int64]]:
        """The columns of a statement by keys, as whole numbers."""
        names = [self.connection.functions.col(quoted(name)).cast("bigint") for name in statement.columns]
        made = statement.made.select(*names)  # type: ignore[attr-defined]
        found = np.array([tuple(row) for row in rows_of(self.connection, made)], dtype=np.int64)  # a Row is slow
        return list(found.reshape(-1, len(statement.columns)).T)

    def all_columns(self, statement: Statement) -> list[Any]:
        """The columns of a statement whose rows have labels, as lists of one list."""
        column, labels = self.connection.functions.col, len(statement.labels)
        named = [column(quoted(name)) for name in statement.columns]
        made = statement.made.select(*named[:labels], *(one.cast("bigint") for one in named[labels:]))  # type: ignore[attr-defined]
        rows = rows_of(self.connection, made)
        return [[[row[i] for row in rows]] for i in range(len(named))]


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
    ibis = import_ibis()
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
    kinds, odd = _kinds(frame.schema)
    if _rebased(spark.session):
        dated = {name for name, kind in kinds.items() if kind.startswith(("date", "timestamp"))}
        odd = {**odd, **dict.fromkeys(dated, REBASED)}
    table = ibis.expr.operations.DatabaseTable(name=ROWS, schema=ibis.schema(kinds), source=spark)
    return SparkSource(
        table.to_expr(),
        frozenset(),
        spark,
        require_unchanged=partial(_require_unchanged, frame, said) if connect else lambda: None,
        refused=odd,
        rows=frame,
        said=tuple(said),
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


def _kinds(schema: Any) -> tuple[dict[str, Any], Mapping[str, str]]:
    """The columns with their types as Ibis names them, and those that no question may use, with the reason."""
    names = [one.name for one in schema.fields]
    if not names or len({name.lower() for name in names}) < len(names) or not all(names):
        raise InvalidInput(
            "two columns of the DataFrame differ in upper and lower case only, or have no name; rename one."
        )
    kinds, odd = {}, {}
    for one in schema.fields:
        name = one.dataType.typeName()
        kinds[one.name] = KINDS.get(name, "binary")
        if name == "decimal":
            kinds[one.name] = f"decimal({one.dataType.precision}, {one.dataType.scale})"
        reason = _odd(one, name)
        if reason:
            odd[one.name] = reason
    return kinds, odd


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
