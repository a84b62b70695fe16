"""Tables in PostgreSQL: the same questions, the same points, and what differs between engines refused.

DuckDB and PostgreSQL agree on comparisons of numbers, dates and truth values, on equality and LIKE of text, and on
NULL. Where they differ, or where PostgreSQL may fail on some row, a condition is refused before anything is read:

* TRY_CAST: PostgreSQL has none, and its CAST stops at the first value that does not fit;
* the order of texts: it depends on the server's collation; ILIKE: on its locale;
* parts of dates: they fail on the date 'infinity';
* numbers that are not whole, dates and truth values as text: engines write them differently.

Columns whose type has rules of its own are refused where a question uses them: character(n) pads with blanks, numeric
without a precision holds numbers that no float does, some collations call different texts equal, and domains, enums and
extensions may do anything. Views, foreign tables and tables with row security are not base tables, nor are tables with
a part that is.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn
from urllib.parse import unquote, urlsplit

import numpy as np

from utmost.errors import Disconnected, InvalidInput, NotRowWise, UtmostError
from utmost.exact.arrays import Integers
from utmost.release.conditions.base_tables import as_read, computed_with, origins
from utmost.release.source import CHANGED, KEYS, Source, Statement, quoted_name, with_table

SCHEMES = ("postgresql://", "postgres://")
TYPES = frozenset(
    (
        *("int2", "int4", "int8", "float4", "float8", "numeric", "bool"),
        *("text", "varchar", "date", "timestamp", "timestamptz", "uuid"),
    )
)
MOST_DIGITS = 38
ARRAYS = {"string": "text", "bool": "boolean", "date32[day]": "date", "int64": "bigint", "double": "double precision"}
"""How keys of an Arrow type are sent."""
KINDS = {"v": "a view", "m": "a materialized view", "f": "a foreign table"}
FAMILY = """WITH RECURSIVE family(id, depth) AS (
    SELECT to_regclass(%s)::oid, 0
    UNION SELECT inhrelid, depth + 1 FROM pg_inherits JOIN family ON inhparent = id
) SELECT nspname, relname, relkind::text, relrowsecurity FROM family JOIN pg_class AS c ON c.oid = id
JOIN pg_namespace AS n ON n.oid = relnamespace ORDER BY depth"""
"""A table, named as the query will name it, and then all that inherit from it or are its partitions."""
ORDERS = frozenset(("Greater", "GreaterEqual", "Less", "LessEqual", "Between"))


@dataclass(frozen=True)
class PostgresSource(Source):
    """A table in PostgreSQL."""

    link: Any = field(default=None, repr=False, compare=False)

    def made_up_rows(self, base: Any) -> str | None:
        """SQL for one row of nothing in the columns and types of a table; None if it is gone."""
        try:
            found = _rows(
                self.link,
                "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
                "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped",
                base,
            )
        except Exception:
            return None
        columns = ", ".join(f"CAST(NULL AS {kind}) AS {quoted_name(name)}" for name, kind in found)
        return f"SELECT {columns}" if found else None

    @contextmanager
    def cursor(self, frame: Any = None, keys: Any = None, rows: bool = True) -> Iterator[Any]:
        """A cursor for one statement."""
        with self.link.cursor() as cursor:
            yield cursor

    def run(self, sql: str, keys: Any = None, rows: bool = True) -> Any:
        """The first row of a statement."""
        with self.cursor() as cursor:
            return _executed(cursor, sql, keys, self.public).fetchone()

    def all_rows(self, statement: Statement) -> list[Integers]:
        """The columns of a statement by keys, as whole numbers."""
        with self.cursor() as cursor:
            found = np.array(_executed(cursor, statement.sql, statement.keys, self.public).fetchall(), dtype=np.int64)
        return list(found.reshape(-1, len(statement.columns)).T)

    def all_columns(self, statement: Statement) -> list[Any]:
        """The columns of a statement whose rows have labels, as lists of one list."""
        with self.cursor() as cursor:
            rows = _executed(cursor, statement.sql, None, self.public).fetchall()
        return [[[row[i] for row in rows]] for i in range(len(statement.columns))]

    def adapted(self, condition: Any) -> Any:
        """A condition that means the same here as in DuckDB, or `NotRowWise`."""
        import ibis

        operations = ibis.expr.operations
        for node in condition.op().find(operations.Value):
            name = type(node).__name__
            if name == "TryCast":
                _refuse("TRY_CAST", "PostgreSQL has none; make a column of that type beforehand")
            if name == "StringSQLILike":
                _refuse("ILIKE", "letter case depends on the server's locale; use LIKE")
            if name.startswith("Extract"):
                _refuse("a part of a date", "it fails on infinite dates; compare with a date: born >= '1990-01-01'")
            if (
                name == "Cast"
                and node.to.is_string()
                and not (node.arg.dtype.is_integer() or node.arg.dtype.is_string())
            ):
                _refuse("a cast to text", "engines write numbers and dates differently; compare the value itself")
            if name in ORDERS and any(part.dtype.is_string() for part in node.args):
                _refuse("an order of texts", "it depends on the server's collation; use =, IN or LIKE")
        return condition


class Link:
    """A connection to PostgreSQL that belongs to one process: of two that read one socket, each gets the other's rows.

    Parameters
    ----------
    backend : the Ibis backend that holds it
    address : where to connect again in another process; None for a connection of the user's
    """

    def __init__(self, backend: Any, address: str | None = None) -> None:
        self._backend, self._address = weakref.ref(backend), address
        self._by_process = {os.getpid(): backend.con}  # those of parents stay here, so that nobody closes them
        if address is not None:
            weakref.finalize(backend, _close, self._by_process)

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

    def _again(self) -> Any:
        if self._address is None:
            raise InvalidInput("the connection to PostgreSQL was opened in another process; open the session again.")
        made = _linked(self._address)
        link = self._by_process.setdefault(os.getpid(), made)
        if link is not made:  # another thread was faster
            made.close()
        backend = self._backend()
        if backend is not None:
            backend.con = link
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
    connection, link = _connect(address, where)
    try:
        table = connection.table(name, database=schema or None)
    except Exception:
        raise InvalidInput(f"{where} has no table {unquote(inside)!r} that can be read; give a base table.") from None
    return open_postgres_table(table, connection, link)


def open_postgres_table(table: Any, connection: Any, link: Link | None = None) -> Source:
    """An Ibis table in PostgreSQL that is a base table, or a row-wise projection or filter of one."""
    import ibis

    if not connection.con.autocommit:  # one statement that fails would make all others fail, and be charged for
        raise InvalidInput("the connection to PostgreSQL holds a transaction open; connect with autocommit=True.")
    link = link or Link(connection)
    bases, columns, odd = {}, {}, {}
    for base in table.op().find(ibis.expr.operations.DatabaseTable):
        schema = _require_base(link, base)
        bases[base] = base.copy(namespace=ibis.expr.operations.Namespace(database=schema))
        columns[bases[base]] = _columns(link, base)
        odd.update(_odd_columns(columns[bases[base]]))
        for name in computed_with(table) & set(odd):
            raise InvalidInput(f"column {name!r} {odd[name]}, or give the table without what is computed with it.")
        kinds = {name: connection.compiler.type_mapper.from_string(kind) for name, kind, *_ in columns[bases[base]]}
        known = {name: kind(nullable=True) for name, kind in base.schema.items()}
        if set(kinds) != set(known) or any(kinds[name] != known[name] for name in set(kinds) - set(odd)):
            raise InvalidInput(CHANGED.format(base.name))  # Ibis remembers older ones
    return PostgresSource(
        table,
        frozenset(),
        connection,
        places=as_read(table, bases),
        require_unchanged=partial(_require_unchanged, link, columns),
        refused={name: odd[origin] for name, origin in origins(table).items() if origin in odd},
        link=link,
    )


def _require_unchanged(link: Link, known: dict[Any, list[tuple[Any, ...]]]) -> None:
    """Refuse tables that are gone or not base tables any more, or have other columns than when they were opened."""
    try:
        for base, columns in known.items():
            _require_base(link, base)
            if _columns(link, base) != columns:
                raise InvalidInput(CHANGED.format(base.name))
        return
    except UtmostError:
        raise
    except Exception:
        pass
    raise Disconnected("the connection to PostgreSQL cannot be asked; is it open, and the server running?")


def _connect(address: str, where: str) -> tuple[Any, Link]:
    try:
        import ibis
        import psycopg  # noqa: F401

        ibis.postgres  # noqa: B018  (the backend, or ImportError)
    except ImportError:
        raise UtmostError("PostgreSQL needs psycopg; install it with: pip install 'utmost[postgres]'") from None
    try:
        link = _linked(address)
    except Exception:  # the reason may repeat the password
        raise InvalidInput(f"{where} cannot be reached; is the address right, and the server running?") from None
    connection = ibis.postgres.from_connection(link)
    return connection, Link(connection, address)


def _linked(address: str) -> Any:
    import psycopg

    link = psycopg.connect(address, autocommit=True)
    link.execute("SET default_transaction_read_only = on")
    link.execute("SET standard_conforming_strings = on")
    return link


def _require_base(link: Link, base: Any) -> str:
    """The schema of a base table; only those keep one row to one unit, and so must its partitions and heirs."""
    rows = _rows(link, FAMILY, base)
    if not rows:
        raise InvalidInput(CHANGED.format(base.name))
    for _, name, kind, secured in rows:
        of = "" if name == base.name else f", a part of {base.name!r},"
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


def _columns(link: Link, base: Any) -> list[tuple[Any, ...]]:
    """What the catalog says of the columns of a table."""
    return _rows(
        link,
        "SELECT a.attname, format_type(a.atttypid, a.atttypmod), t.typname, "
        "t.typnamespace = 'pg_catalog'::regnamespace, a.atttypmod, "
        "coalesce(c.collisdeterministic, true), a.attgenerated::text = 'v' "
        "FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_collation c ON c.oid = a.attcollation "
        "WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
        base,
    )


def _odd_columns(rows: list[tuple[Any, ...]]) -> dict[str, str]:
    """The columns whose type has rules of its own, which no question may use, and why."""
    odd = {}
    for name, _, kind, own, modifier, deterministic, computed in rows:
        digits = ((modifier - 4) >> 16) & 0xFFFF if modifier >= 4 else None
        if computed:
            odd[name] = "is computed when it is read, which may fail on some row; make it STORED"
        elif kind == "bpchar" and own:
            odd[name] = "is of type character(n), which pads with blanks; make it text"
        elif kind == "numeric" and own and (digits is None or digits > MOST_DIGITS):
            odd[name] = f"is numeric without a precision of at most {MOST_DIGITS} digits; make it numeric(18, 2), say"
        elif not deterministic:
            odd[name] = "has a collation that calls different texts equal; give it the default one"
        elif kind not in TYPES or not own:
            odd[name] = f"is of type {kind}, which Utmost does not know; make it one it knows, such as text"
    return odd


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


def _rows(link: Link, query: str, base: Any) -> list[tuple[Any, ...]]:
    """What the catalog says of a table."""
    with link.cursor() as cursor:
        found: list[tuple[Any, ...]] = cursor.execute(query, [_quoted(base)]).fetchall()
    return found


def _quoted(base: Any) -> str:
    parts = [base.namespace.database, base.name] if base.namespace.database else [base.name]
    return ".".join(map(quoted_name, parts))


def _where(address: str) -> str:
    """The address without user and password."""
    try:
        found = urlsplit(address)
        return f"postgresql://{found.hostname or ''}{found.path}"
    except ValueError:
        raise InvalidInput("the address is not a URL such as postgresql://user@host/database#table.") from None


def _refuse(what: str, why: str) -> NoReturn:
    raise NotRowWise(f"{what} is not allowed in a condition on PostgreSQL: {why}.")
