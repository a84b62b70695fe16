"""Tables in PostgreSQL: the same queries with the same results as in DuckDB; what engines do differently is refused.

DuckDB and PostgreSQL agree on comparisons of numbers, dates and truth values, on equality and LIKE of text, and on
NULL. Where they differ, or where PostgreSQL may fail on some row, a condition is refused before anything is read:

* TRY_CAST: PostgreSQL has none, and its CAST stops at the first value that does not fit;
* the order of texts: it depends on the server's collation; ILIKE: on its locale;
* numbers that are not whole, dates and truth values as text: engines write them differently.

Columns of some types are refused where a query uses them: character(n) pads with blanks, numeric without a precision
holds numbers that no float does, some collations treat different texts as equal, and domains, enums and extensions may
do anything. Views, foreign tables and tables with row security are not base tables, nor are tables with a partition
that is one of these.
"""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NoReturn, TypeAlias
from urllib.parse import unquote, urlsplit

import numpy as np

from utmost.backends.rehearsal import LONG
from utmost.backends.source import BASE_TABLE, CHANGED, KEYS, Source, Statement
from utmost.backends.sql_source import Column, SqlSource
from utmost.errors import Disconnected, InvalidInput, NotRowWise, UtmostError
from utmost.exact.arrays import Integers
from utmost.extras import missing
from utmost.queries.expressions.relations import Rows
from utmost.queries.expressions.sql import Dialect, quoted, quoted_name, with_table, within_dates
from utmost.queries.expressions.types import BOOLEAN, DATE, FLOAT, INSTANT, TEXT, TIMESTAMP, Type, integer
from utmost.queries.expressions.values import Expression, decimal

SCHEMES = ("postgresql://", "postgres://")
TYPES = frozenset(
    (
        *("int2", "int4", "int8", "float4", "float8", "numeric", "bool"),
        *("text", "varchar", "date", "timestamp", "timestamptz", "uuid"),
    )
)
MOST_DIGITS, MOST_LETTERS = 38, 2**25
ARRAYS = {"string": "text", "bool": "boolean", "date32[day]": "date", "int64": "bigint", "double": "double precision"}
"""PostgreSQL types in which keys of an Arrow type are sent."""
KINDS = {"v": "a view", "m": "a materialized view", "f": "a foreign table"}
FAMILY = """WITH RECURSIVE family(id, depth) AS (
    SELECT to_regclass(%s)::oid, 0
    UNION SELECT inhrelid, depth + 1 FROM pg_inherits JOIN family ON inhparent = id
) SELECT nspname, relname, relkind::text, relrowsecurity FROM family JOIN pg_class AS c ON c.oid = id
JOIN pg_namespace AS n ON n.oid = relnamespace ORDER BY depth"""
"""A table, by the name that the query uses, followed by its partitions and the tables that inherit from it."""
Place: TypeAlias = tuple[str | None, str]
"""The schema and the name of a table."""


# ---- types ----


def _ends_with(value: Expression, text: str, end: str) -> str:
    return f"(right({text}, length({end})) = {end})"


def _letters(value: Expression, text: str) -> str:
    """Translate letters in the beginning of a text: on 2^28 bytes PostgreSQL fails, as each may become four."""
    before, after = map(quoted, value.value)
    return f"translate(left({text}, {MOST_LETTERS}), {before}, {after})"


POSTGRES = Dialect(
    {
        **{"integer": "bigint", "wide": "numeric", "float": "double precision", "text": "text", "boolean": "boolean"},
        **{"date": "date", "timestamp": "timestamp", "instant": "timestamp with time zone", "opaque": "boolean"},
    },
    {
        "ends_with": _ends_with,
        "letters": _letters,
        "contains": lambda value, text, part: f"(strpos({text}, {part}) > 0)",
        "round_even": lambda value, number: f"round({number})",  # of double precision: halves to even
    },
)
SIZES = {"smallint": 16, "integer": 32, "bigint": 64}
SEVERAL = 30
"""Number of different made-up rows: at least as many as any type has extreme values."""


def stored_column(name: str, kind: str, unusable: bool = False) -> Column:
    """The typed column for a column of PostgreSQL: a cast to one of our types that fails on no value."""
    this = quoted_name(name)
    if unusable:
        return Column(kind, Type("opaque", kind), f"CASE WHEN {this} IS NOT NULL THEN TRUE END")
    if kind in SIZES:
        half = 2 ** (SIZES[kind] - 1)
        target = integer(-half, half - 1, f"int{SIZES[kind]}")
        return Column(kind, target, this if kind == "bigint" else f"CAST({this} AS bigint)")
    if kind in ("real", "double precision"):
        target = FLOAT if kind != "real" else replace(FLOAT, name="float32", single=True)
        value = f"CAST({this} AS double precision)"
        return Column(kind, target, f"CASE WHEN {this} <> CAST('NaN' AS {kind}) THEN {value} END")
    if match := re.fullmatch(r"numeric\((\d+),(-?\d+)\)", kind):
        target = decimal(int(match[1]), int(match[2]))
        value = f"CAST({this} AS double precision)"
        return Column(kind, target, f"CASE WHEN {this} <> CAST('NaN' AS numeric) THEN {value} END")
    if kind == "boolean":
        return Column(kind, BOOLEAN, this)
    if kind == "uuid":
        return Column(kind, replace(TEXT, name="uuid"), f"CAST({this} AS text)")
    if kind == "date" or kind.startswith("timestamp"):
        target = DATE if kind == "date" else INSTANT if kind.endswith("with time zone") else TIMESTAMP
        return Column(kind, target, within_dates(this, target.kind, POSTGRES))
    return Column(kind, TEXT, f"CAST({this} AS text)")


def extremes(kind: str) -> list[str]:
    """SQL literals of the extreme values of a type."""
    if kind in SIZES:
        half = 2 ** (SIZES[kind] - 1)
        return [f"'{number}'" for number in (-half, half - 1, 0, 1, -1)]
    if kind in ("real", "double precision"):
        most, least = ("3.4028234e38", "1e-45") if kind == "real" else ("1.7976931348623157e308", "5e-324")
        numbers = ("NaN", "Infinity", "-Infinity", "-0.0", "0", "0.5", most, f"-{most}", least, f"-{least}")
        return [f"'{number}'" for number in numbers]
    if match := re.fullmatch(r"numeric\((\d+),(-?\d+)\)", kind):
        most = f"{'9' * int(match[1])}e{-int(match[2])}"
        return ["'NaN'", "'0'", f"'{most}'", f"'-{most}'", f"'1e{-int(match[2])}'"]
    if kind == "boolean":
        return ["TRUE", "FALSE"]
    if kind == "uuid":
        return ["'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"]
    if kind == "date":
        days = ("infinity", "-infinity", "0001-01-01", "9999-12-31", "4713-01-01 BC", "5874897-12-31", "10000-01-01")
        return [f"'{day}'" for day in days]
    if kind.startswith("timestamp"):
        moments = ("infinity", "-infinity", "0001-01-01", "9999-12-31 23:59:59.999999", "4713-01-01 BC", "294276-12-31")
        return [f"'{moment}'" for moment in moments]
    length = re.fullmatch(r"character varying\((\d+)\)", kind)
    texts = ["''", "' '", "'a'", "'%_\\'", "E'\\n\\r\\t'", "'é'", "'日本語'", "U&'\\+01F600'", f"repeat('x', {LONG})"]
    return texts if length is None else [f"left({text}, {length[1]})" for text in texts]


@dataclass(frozen=True)
class PostgresSource(SqlSource):
    """A table in PostgreSQL."""

    link: Any = field(default=None, repr=False, compare=False)

    dialect = POSTGRES
    engine = "PostgreSQL"

    def reconnect(self) -> None:
        """Reconnect if the connection was lost and is not the user's own."""
        self.link.reconnect()

    def is_reachable(self) -> bool:
        """Whether the server answers at all."""
        try:
            with self.link.cursor() as cursor:
                return bool(cursor.execute("SELECT 1").fetchone())
        except Exception:
            return False

    def stored_as_opened(self) -> bool:
        """Always true: `require_unchanged` has compared the columns already."""
        return True

    def made_up_rows(self, names: list[str]) -> str:
        """SQL for public rows of extreme values in some of the columns, each row twice."""
        columns = [f"{self._extreme(name)} AS {quoted_name(name)}" for name in names] or ["1 AS one"]
        return f"SELECT {', '.join(columns)} FROM generate_series(0, {2 * SEVERAL - 1}) AS made_up(place)"

    def _extreme(self, name: str) -> str:
        """SQL for the extreme value of a column in each made-up row; null in the first."""
        kind = self.stored[name].kind
        values = ["NULL", *(f"CAST({value} AS {kind})" for value in extremes(kind))]
        branches = " ".join(f"WHEN {i} THEN {value}" for i, value in enumerate(values))
        return f"CASE place % {len(values)} {branches} END"

    def one_row(self, statement: Statement) -> tuple[Any, ...]:
        """The one row of an aggregation."""
        with self.link.cursor() as cursor:
            row: tuple[Any, ...] = _executed(cursor, statement.query, statement.keys, self.public).fetchone()
        return row

    def all_rows(self, statement: Statement) -> list[Integers]:
        """The columns of an aggregation by public keys, as integers."""
        with self.link.cursor() as cursor:
            rows = _executed(cursor, statement.query, statement.keys, self.public).fetchall()
        return list(np.array(rows, dtype=np.int64).reshape(-1, len(statement.columns)).T)

    def all_columns(self, statement: Statement) -> list[Any]:
        """The columns of an aggregation by keys read from the table, each as a list of one list."""
        with self.link.cursor() as cursor:
            rows = _executed(cursor, statement.query, statement.keys, self.public).fetchall()
        return [[[row[i] for row in rows]] for i in range(len(statement.columns))]

    def require_same_meaning(self, node: Expression) -> None:
        """Refuse operations that PostgreSQL lacks, or computes differently from DuckDB."""
        if node.op in ("read", "decimal"):
            _refuse("TRY_CAST", "PostgreSQL has none; make a column of that type beforehand")
        if node.op == "ilike":
            _refuse("ILIKE", "letter case depends on the server's locale; use LIKE")
        if node.op == "to_text" and node.parts[0].type.kind != "integer":
            _refuse("a cast to text", "engines write numbers and dates differently; compare the value itself")
        if node.op == "compare" and node.value in ("<", "<=", ">", ">=") and node.parts[0].type.kind == "text":
            _refuse("an order of texts", "it depends on the server's collation; use =, IN or LIKE")


class Link:
    """A connection to PostgreSQL for each process: two processes that share a socket would read each other's rows.

    Parameters
    ----------
    connection : psycopg.Connection
    address : str, optional
        The address for reconnecting, in another process or after the connection is lost; None for a connection of the
        user's.
    """

    def __init__(self, connection: Any, address: str | None = None) -> None:
        self._address = address
        self._by_process = {os.getpid(): connection}  # a parent's connection stays referenced, so that it is not closed
        if address is not None:
            weakref.finalize(self, _close, self._by_process)

    def cursor(self) -> Any:
        """A cursor that yields tuples, whatever the connection's row factory is."""
        from psycopg.rows import tuple_row

        link = self._by_process.get(os.getpid()) or self._connect_again()
        if link.info.parameter_status("standard_conforming_strings") != "on":
            raise InvalidInput(
                "the connection to PostgreSQL reads backslashes in texts as escapes; SET standard_conforming_strings = "
                "on."
            )
        return link.cursor(row_factory=tuple_row)

    def reconnect(self) -> None:
        """Reconnect if the connection was lost and the address is known."""
        lost = self._by_process.get(os.getpid())
        if self._address is not None and lost is not None and lost.closed:
            if self._by_process.get(os.getpid()) is lost:  # no other thread has reconnected
                del self._by_process[os.getpid()]
            self._connect_again()

    def _connect_again(self) -> Any:
        if self._address is None:
            raise InvalidInput("the connection to PostgreSQL was opened in another process; open the session again.")
        connection = _new_connection(self._address)
        link = self._by_process.setdefault(os.getpid(), connection)
        if link is not connection:  # another thread was faster
            connection.close()
        return link


def _close(by_process: dict[int, Any]) -> None:
    link = by_process.get(os.getpid())
    if link is not None:
        link.close()


def open_postgres(url: str) -> Source:
    """Open the table "postgresql://user@host/database#table" (#schema.table for another schema)."""
    address, _, inside = url.partition("#")
    where = _where(address)
    if not inside:
        raise InvalidInput(f"{where} holds many tables; say which, as in '{where}#survey'.")
    schema, _, name = unquote(inside).rpartition(".")
    link = _connect(address, where)
    try:
        return _opened(link, name, schema or None)
    except NotRowWise:
        raise
    except InvalidInput:
        raise InvalidInput(f"{where} has no table {unquote(inside)!r} that can be read; give a base table.") from None


def open_postgres_table(connection: Any, name: str, schema: str | None) -> Source:
    """Open a base table in PostgreSQL over a connection of psycopg."""
    if not connection.autocommit:  # after one failed statement all others would fail, and be charged for
        raise InvalidInput("the connection to PostgreSQL holds a transaction open; connect with autocommit=True.")
    return _opened(Link(connection), name, schema)


def _opened(link: Link, name: str, schema: str | None) -> Source:
    place = (_require_base(link, (schema, name)), name)
    columns = _columns(link, place)
    refused = _refused_columns(columns)
    stored = {column: stored_column(column, kind, column in refused) for column, kind, *_ in columns}
    return PostgresSource(
        Rows({name: column.type for name, column in stored.items()}),
        require_unchanged=partial(_require_unchanged, link, place, columns),
        refused=refused,
        stored=stored,
        origin=_quoted(place),
        link=link,
    )


def _require_unchanged(link: Link, place: Place, original: list[tuple[Any, ...]]) -> None:
    """Raise `InvalidInput` if a table is gone, is not a base table any more, or has other columns than when opened."""
    try:
        _require_base(link, place)
        if _columns(link, place) != original:
            raise InvalidInput(CHANGED.format(place[1]))
        return
    except UtmostError:
        raise
    except Exception:
        pass
    raise Disconnected("the connection to PostgreSQL cannot be asked; is it open, and the server running?")


def _connect(address: str, where: str) -> Link:
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise missing("postgres", "PostgreSQL needs psycopg") from None
    try:
        return Link(_new_connection(address), address)
    except Exception:  # the error may contain the password
        raise InvalidInput(f"{where} cannot be reached; is the address right, and the server running?") from None


def _new_connection(address: str) -> Any:
    import psycopg

    link = psycopg.connect(address, autocommit=True)
    link.execute("SET default_transaction_read_only = on")
    link.execute("SET standard_conforming_strings = on")
    return link


def _require_base(link: Link, place: Place) -> str:
    """The schema of a base table; raises `NotRowWise` if it, a partition, or an inheriting table is not one."""
    rows = _rows(link, FAMILY, place)
    if not rows:
        raise InvalidInput(CHANGED.format(place[1]))
    for _, name, kind, secured in rows:
        of = "" if name == place[1] else f", a part of {place[1]!r},"
        if kind not in ("r", "p"):
            raise NotRowWise(
                f"{name!r}{of} is {KINDS.get(kind, 'not a table')}, which may join, group or limit; ",
                BASE_TABLE,
                ".",
            )
        if secured:
            raise NotRowWise(
                f"{name!r}{of} has row security, whose policies may look at other rows; ask as its owner does, on a "
                "copy."
            )
    return str(rows[0][0])


def _columns(link: Link, place: Place) -> list[tuple[Any, ...]]:
    """Name, type, and other properties of each column of a table, from the catalog."""
    return _rows(
        link,
        "SELECT a.attname, format_type(a.atttypid, a.atttypmod), t.typname, "
        "t.typnamespace = 'pg_catalog'::regnamespace, "
        "coalesce(c.collisdeterministic, true), a.attgenerated::text = 'v' "
        "FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_collation c ON c.oid = a.attcollation "
        "WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
        place,
    )


def _refused_columns(rows: list[tuple[Any, ...]]) -> dict[str, str]:
    """The columns that no query may use, because engines treat their types differently, each with the reason."""
    reasons = {}
    for name, declared_type, kind, own, deterministic, computed in rows:
        sizes = re.fullmatch(r"numeric\((\d+),(-?\d+)\)", declared_type)
        if computed:
            reasons[name] = "is computed when it is read, which may fail on some row; make it STORED"
        elif kind == "bpchar" and own:
            reasons[name] = "is of type character(n), which pads with blanks; make it text"
        elif kind == "numeric" and own and (sizes is None or not _fits(*map(int, sizes.groups()))):
            reasons[name] = (
                f"is numeric without a precision of at most {MOST_DIGITS} digits; make it numeric(18, 2), say"
            )
        elif not deterministic:
            reasons[name] = "has a collation that calls different texts equal; give it the default one"
        elif kind not in TYPES or not own:
            reasons[name] = f"is of type {kind}, which Utmost does not know; make it one it knows, such as text"
    return reasons


def _fits(digits: int, scale: int) -> bool:
    """Whether every number of a decimal type is within the range of normal floats."""
    return digits <= MOST_DIGITS and 0 <= scale <= MOST_DIGITS


def _executed(cursor: Any, sql: str, keys: Any, public: Mapping[str, Any]) -> Any:
    """Execute a statement, with public keys and tables as array parameters: a read-only user cannot create tables."""
    tables = {**public, **({} if keys is None else {KEYS: keys})}
    if not tables:
        return cursor.execute(sql)
    statement, values = sql.replace("%", "%%"), list[Any]()
    for name, listed in tables.items():  # each goes in front of the earlier ones
        arrays = ", ".join(f"%s::{ARRAYS[str(kind)]}[]" for kind in listed.schema.types)
        rows = f"SELECT * FROM unnest({arrays}) AS k({', '.join(map(quoted_name, listed.column_names))})"
        statement = with_table(name, rows, statement)
        values = [*(column.to_pylist() for column in listed.columns), *values]
    return cursor.execute(statement, values)


def _rows(link: Link, query: str, place: Place) -> list[tuple[Any, ...]]:
    """Rows of a catalog query about a table."""
    with link.cursor() as cursor:
        rows: list[tuple[Any, ...]] = cursor.execute(query, [_quoted(place)]).fetchall()
    return rows


def _quoted(place: Place) -> str:
    return ".".join(quoted_name(part) for part in place if part)


def _where(address: str) -> str:
    """An address without user name and password."""
    try:
        url = urlsplit(address)
        return f"postgresql://{url.hostname or ''}{url.path}"
    except ValueError:
        raise InvalidInput("the address is not a URL such as postgresql://user@host/database#table.") from None


def _refuse(what: str, why: str) -> NoReturn:
    raise NotRowWise(f"{what} is not allowed in a condition on PostgreSQL: {why}.")
