"""Tables in PostgreSQL: the same questions, the same points, and what differs between engines refused.

DuckDB and PostgreSQL agree on comparisons of numbers, dates and truth values, on equality and LIKE of text, and on
NULL. Where they differ, or where PostgreSQL may fail on some row, a condition is refused before anything is read:

* TRY_CAST: PostgreSQL has none, and its CAST stops at the first value that does not fit;
* the order of texts: it depends on the server's collation; ILIKE: on its locale;
* numbers that are not whole, dates and truth values as text: engines write them differently.

Columns whose type has rules of its own are refused where a question uses them: character(n) pads with blanks, numeric
without a precision holds numbers that no float does, some collations call different texts equal, and domains, enums and
extensions may do anything. Views, foreign tables and tables with row security are not base tables, nor are tables with
a part that is.
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
from utmost.backends.source import CHANGED, KEYS, Source, Statement
from utmost.backends.sql_source import Column, SqlSource
from utmost.errors import Disconnected, InvalidInput, NotRowWise, UtmostError
from utmost.exact.arrays import Integers
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
"""How keys of an Arrow type are sent."""
KINDS = {"v": "a view", "m": "a materialized view", "f": "a foreign table"}
FAMILY = """WITH RECURSIVE family(id, depth) AS (
    SELECT to_regclass(%s)::oid, 0
    UNION SELECT inhrelid, depth + 1 FROM pg_inherits JOIN family ON inhparent = id
) SELECT nspname, relname, relkind::text, relrowsecurity FROM family JOIN pg_class AS c ON c.oid = id
JOIN pg_namespace AS n ON n.oid = relnamespace ORDER BY depth"""
"""A table, named as the query will name it, and then all that inherit from it or are its partitions."""
Place: TypeAlias = tuple[str | None, str]
"""The schema and the name of a table."""


# ---- types ----


def _ends_with(value: Expression, text: str, end: str) -> str:
    return f"(right({text}, length({end})) = {end})"


def _letters(value: Expression, text: str) -> str:
    """Letters of a text changed, or of its beginning: of 2^28 bytes PostgreSQL fails, as each may become four."""
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
"""How many places the made-up rows have: at least as many as any type has extremes."""


def stored_column(name: str, kind: str, odd: bool = False) -> Column:
    """A column of PostgreSQL, by its name and type, as it enters: a total cast to one of few types."""
    this = quoted_name(name)
    if odd:
        return Column(kind, Type("opaque", kind), f"CASE WHEN {this} IS NOT NULL THEN TRUE END")
    if kind in SIZES:
        half = 2 ** (SIZES[kind] - 1)
        target = integer(-half, half - 1, f"int{SIZES[kind]}")
        return Column(kind, target, this if kind == "bigint" else f"CAST({this} AS bigint)")
    if kind in ("real", "double precision"):
        target = FLOAT if kind != "real" else replace(FLOAT, name="float32", single=True)
        value = f"CAST({this} AS double precision)"
        return Column(kind, target, f"CASE WHEN {this} <> CAST('NaN' AS {kind}) THEN {value} END")
    if found := re.fullmatch(r"numeric\((\d+),(-?\d+)\)", kind):
        target = decimal(int(found[1]), int(found[2]))
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
    """SQL literals of the values at the edges of a type."""
    if kind in SIZES:
        half = 2 ** (SIZES[kind] - 1)
        return [f"'{number}'" for number in (-half, half - 1, 0, 1, -1)]
    if kind in ("real", "double precision"):
        most, least = ("3.4028234e38", "1e-45") if kind == "real" else ("1.7976931348623157e308", "5e-324")
        numbers = ("NaN", "Infinity", "-Infinity", "-0.0", "0", "0.5", most, f"-{most}", least, f"-{least}")
        return [f"'{number}'" for number in numbers]
    if found := re.fullmatch(r"numeric\((\d+),(-?\d+)\)", kind):
        most = f"{'9' * int(found[1])}e{-int(found[2])}"
        return ["'NaN'", "'0'", f"'{most}'", f"'-{most}'", f"'1e{-int(found[2])}'"]
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
        """Make a lost connection again, unless it is the user's own."""
        self.link.reconnect()

    def is_there(self) -> bool:
        """Whether the server answers at all."""
        try:
            with self.link.cursor() as cursor:
                return bool(cursor.execute("SELECT 1").fetchone())
        except Exception:
            return False

    def stored_as_opened(self) -> bool:
        """Whether the table is the same, `require_unchanged` has said."""
        return True

    def made_up_rows(self, names: list[str]) -> str:
        """SQL for public rows of extreme values in some of the columns, each row twice."""
        columns = [f"{self._extreme(name)} AS {quoted_name(name)}" for name in names] or ["1 AS one"]
        return f"SELECT {', '.join(columns)} FROM generate_series(0, {2 * SEVERAL - 1}) AS made_up(place)"

    def _extreme(self, name: str) -> str:
        """The extreme value of a column at a place, null at the first."""
        kind = self.stored[name].kind
        values = ["NULL", *(f"CAST({value} AS {kind})" for value in extremes(kind))]
        branches = " ".join(f"WHEN {i} THEN {value}" for i, value in enumerate(values))
        return f"CASE place % {len(values)} {branches} END"

    def one_row(self, statement: Statement) -> tuple[Any, ...]:
        """The one row of an aggregation."""
        with self.link.cursor() as cursor:
            row: tuple[Any, ...] = _executed(cursor, statement.asked, statement.keys, self.public).fetchone()
        return row

    def all_rows(self, statement: Statement) -> list[Integers]:
        """The columns of an aggregation by keys, as whole numbers."""
        with self.link.cursor() as cursor:
            rows = _executed(cursor, statement.asked, statement.keys, self.public).fetchall()
        return list(np.array(rows, dtype=np.int64).reshape(-1, len(statement.columns)).T)

    def all_columns(self, statement: Statement) -> list[Any]:
        """The columns of a statement whose rows have labels, as lists of one list."""
        with self.link.cursor() as cursor:
            rows = _executed(cursor, statement.asked, statement.keys, self.public).fetchall()
        return [[[row[i] for row in rows]] for i in range(len(statement.columns))]

    def require_same_meaning(self, node: Expression) -> None:
        """Refuse what PostgreSQL does not have, or does in another way than DuckDB."""
        if node.op in ("read", "decimal"):
            _refuse("TRY_CAST", "PostgreSQL has none; make a column of that type beforehand")
        if node.op == "ilike":
            _refuse("ILIKE", "letter case depends on the server's locale; use LIKE")
        if node.op == "to_text" and node.parts[0].type.kind != "integer":
            _refuse("a cast to text", "engines write numbers and dates differently; compare the value itself")
        if node.op == "compare" and node.value in ("<", "<=", ">", ">=") and node.parts[0].type.kind == "text":
            _refuse("an order of texts", "it depends on the server's collation; use =, IN or LIKE")


class Link:
    """A connection to PostgreSQL that belongs to one process: of two that read one socket, each gets the other's rows.

    Parameters
    ----------
    connection : psycopg.Connection
    address : str, optional
        Where to connect again: in another process, or once the connection is lost; None for a connection of the user's.
    """

    def __init__(self, connection: Any, address: str | None = None) -> None:
        self._address = address
        self._by_process = {os.getpid(): connection}  # those of parents stay here, so that nobody closes them
        if address is not None:
            weakref.finalize(self, _close, self._by_process)

    def cursor(self) -> Any:
        """A cursor that yields tuples, whatever the connection's own do."""
        from psycopg.rows import tuple_row

        link = self._by_process.get(os.getpid()) or self._again()
        if link.info.parameter_status("standard_conforming_strings") != "on":
            raise InvalidInput(
                "the connection to PostgreSQL reads backslashes in texts as escapes; SET standard_conforming_strings = "
                "on."
            )
        return link.cursor(row_factory=tuple_row)

    def reconnect(self) -> None:
        """Connect anew where the connection was lost, if the address is known."""
        lost = self._by_process.get(os.getpid())
        if self._address is not None and lost is not None and lost.closed:
            if self._by_process.get(os.getpid()) is lost:  # no other thread has done it
                del self._by_process[os.getpid()]
            self._again()

    def _again(self) -> Any:
        if self._address is None:
            raise InvalidInput("the connection to PostgreSQL was opened in another process; open the session again.")
        made = _linked(self._address)
        link = self._by_process.setdefault(os.getpid(), made)
        if link is not made:  # another thread was faster
            made.close()
        return link


def _close(by_process: dict[int, Any]) -> None:
    link = by_process.get(os.getpid())
    if link is not None:
        link.close()


def open_postgres(url: str) -> Source:
    """The table that "postgresql://user@host/database#table" names (#schema.table for another schema)."""
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
    """A base table in PostgreSQL, by a connection of psycopg."""
    if not connection.autocommit:  # one statement that fails would make all others fail, and be charged for
        raise InvalidInput("the connection to PostgreSQL holds a transaction open; connect with autocommit=True.")
    return _opened(Link(connection), name, schema)


def _opened(link: Link, name: str, schema: str | None) -> Source:
    place = (_require_base(link, (schema, name)), name)
    columns = _columns(link, place)
    odd = _odd_columns(columns)
    stored = {column: stored_column(column, kind, column in odd) for column, kind, *_ in columns}
    return PostgresSource(
        Rows({column: one.type for column, one in stored.items()}),
        require_unchanged=partial(_require_unchanged, link, place, columns),
        refused=odd,
        stored=stored,
        origin=_quoted(place),
        link=link,
    )


def _require_unchanged(link: Link, place: Place, known: list[tuple[Any, ...]]) -> None:
    """Refuse a table that is gone or not a base table any more, or has other columns than when it was opened."""
    try:
        _require_base(link, place)
        if _columns(link, place) != known:
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
        raise UtmostError("PostgreSQL needs psycopg; install it with: pip install 'utmost[postgres]'") from None
    try:
        return Link(_linked(address), address)
    except Exception:  # the reason may repeat the password
        raise InvalidInput(f"{where} cannot be reached; is the address right, and the server running?") from None


def _linked(address: str) -> Any:
    import psycopg

    link = psycopg.connect(address, autocommit=True)
    link.execute("SET default_transaction_read_only = on")
    link.execute("SET standard_conforming_strings = on")
    return link


def _require_base(link: Link, place: Place) -> str:
    """The schema of a base table; only those keep one row to one unit, and so must its partitions and heirs."""
    rows = _rows(link, FAMILY, place)
    if not rows:
        raise InvalidInput(CHANGED.format(place[1]))
    for _, name, kind, secured in rows:
        of = "" if name == place[1] else f", a part of {place[1]!r},"
        if kind not in ("r", "p"):
            raise NotRowWise(
                f"{name!r}{of} is {KINDS.get(kind, 'not a table')}, which may join, group or limit; give the base "
                "table, and the condition as where=."
            )
        if secured:
            raise NotRowWise(
                f"{name!r}{of} has row security, whose policies may look at other rows; ask as its owner does, on a "
                "copy."
            )
    return str(rows[0][0])


def _columns(link: Link, place: Place) -> list[tuple[Any, ...]]:
    """What the catalog says of the columns of a table."""
    return _rows(
        link,
        "SELECT a.attname, format_type(a.atttypid, a.atttypmod), t.typname, "
        "t.typnamespace = 'pg_catalog'::regnamespace, "
        "coalesce(c.collisdeterministic, true), a.attgenerated::text = 'v' "
        "FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_collation c ON c.oid = a.attcollation "
        "WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
        place,
    )


def _odd_columns(rows: list[tuple[Any, ...]]) -> dict[str, str]:
    """The columns whose type has rules of its own, which no question may use, and why."""
    odd = {}
    for name, shown, kind, own, deterministic, computed in rows:
        sizes = re.fullmatch(r"numeric\((\d+),(-?\d+)\)", shown)
        if computed:
            odd[name] = "is computed when it is read, which may fail on some row; make it STORED"
        elif kind == "bpchar" and own:
            odd[name] = "is of type character(n), which pads with blanks; make it text"
        elif kind == "numeric" and own and (sizes is None or not _fits(*map(int, sizes.groups()))):
            odd[name] = f"is numeric without a precision of at most {MOST_DIGITS} digits; make it numeric(18, 2), say"
        elif not deterministic:
            odd[name] = "has a collation that calls different texts equal; give it the default one"
        elif kind not in TYPES or not own:
            odd[name] = f"is of type {kind}, which Utmost does not know; make it one it knows, such as text"
    return odd


def _fits(digits: int, scale: int) -> bool:
    """Whether every decimal number of a type is a float of ordinary size."""
    return digits <= MOST_DIGITS and 0 <= scale <= MOST_DIGITS


def _executed(cursor: Any, sql: str, keys: Any, public: Mapping[str, Any]) -> Any:
    """A statement, sent; public tables go with it as an array for each column, as who only reads makes no table.

    These are the keys of a group-by, and the tables that columns are taken from.
    """
    tables = {**public, **({} if keys is None else {KEYS: keys})}
    if not tables:
        return cursor.execute(sql)
    asked, values = sql.replace("%", "%%"), list[Any]()
    for name, listed in tables.items():  # each goes in front of those before it
        arrays = ", ".join(f"%s::{ARRAYS[str(kind)]}[]" for kind in listed.schema.types)
        rows = f"SELECT * FROM unnest({arrays}) AS k({', '.join(map(quoted_name, listed.column_names))})"
        asked = with_table(name, rows, asked)
        values = [*(column.to_pylist() for column in listed.columns), *values]
    return cursor.execute(asked, values)


def _rows(link: Link, query: str, place: Place) -> list[tuple[Any, ...]]:
    """What the catalog says of a table."""
    with link.cursor() as cursor:
        found: list[tuple[Any, ...]] = cursor.execute(query, [_quoted(place)]).fetchall()
    return found


def _quoted(place: Place) -> str:
    return ".".join(quoted_name(part) for part in place if part)


def _where(address: str) -> str:
    """The address without user and password."""
    try:
        found = urlsplit(address)
        return f"postgresql://{found.hostname or ''}{found.path}"
    except ValueError:
        raise InvalidInput("the address is not a URL such as postgresql://user@host/database#table.") from None


def _refuse(what: str, why: str) -> NoReturn:
    raise NotRowWise(f"{what} is not allowed in a condition on PostgreSQL: {why}.")
