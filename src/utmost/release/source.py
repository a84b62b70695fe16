"""An opened table: what it may be asked, and the one place that asks an engine for integers.

A table guards its rows: whatever people write, every operation in it must be on the list of those that look at one row
and cannot fail on any (`allowed`). `Source.proved` trusts nobody about that, and writes what an engine would convert by
itself, and fail in, so that it cannot.

Only the *schema* is looked at before a spend is reserved: names and types of columns are public. What stands in the
rows is touched by `Source.integers` alone, whose failure says one fixed sentence whatever the reason.

Every statement runs on a cursor of its own. A DuckDB connection holds one result at a time, so of two threads that
share it one would fetch what the other asked for, and release it through the wrong mechanism. A cursor has settings of
its own, too, and sees no temporary tables or views.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any

import numpy as np

from utmost.errors import EngineFailed, InvalidInput, NotRowWise, UtmostError, shown
from utmost.exact.arrays import Integers
from utmost.release.allowed import ARITHMETIC, CHOSEN, COMPARED, OF_INSTANTS, OPERATIONS, WIDEST, refuse
from utmost.release.arguments import plain

FAILED = (
    "the engine could not compute this answer. What was reserved stays spent, because when an engine fails may "
    "depend on private rows. Try the question on made-up rows of the same columns."
)
CHANGED = "{!r} is gone, or not the table that was opened, with the same columns; open it, and the session, again."
GONE = "the table cannot be read any more; is its file, or the table itself, still there, and the connection open?"
COLUMNS = (
    "SELECT column_name, data_type FROM duckdb_columns() WHERE database_name = $1 AND schema_name = $2 "
    "AND table_name = $3"
)
ROWS = "private_rows"
"""What files and frames are called in DuckDB."""
KEYS = "public_keys"
"""What the public keys of a group-by are called in a statement."""
PUBLIC = "public_table_"
"""How the names of public tables begin that columns are taken from."""


@dataclass(frozen=True)
class Statement:
    """SQL that yields integers under these names; it may hold the data set's secret, and is never shown.

    It yields one row; or one for each of some public keys, at the place that its column `cell` says; or one for each
    key that there is, whose first columns are the key: `labels` names their types.
    """

    sql: str = field(repr=False)
    columns: tuple[str, ...]
    keys: Any = field(default=None, repr=False, compare=False)
    size: int = 1
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """An opened table.

    Attributes
    ----------
    table : the Ibis table, whose schema is public
    untyped : columns of text whose type nobody declared: a question may say how to read them
    connection : the Ibis backend that holds it
    frame : the Arrow table that holds the rows, if a frame was given
    places : an Ibis table as it was given, and as it is read: see `conditions.as_read`
    require_unchanged : raises `InvalidInput` unless the base tables are where, what and as they were when opened
    refused : columns that no question may use, and why: the rest of the table can be asked about
    conditions : parsed conditions, by their text
    made_up : the made-up rows a statement is tried on, as SQL
    public : public Arrow tables that the table is joined with, by the names they have in statements
    csv : the CSV file that holds the rows, if one was given: converted when a statement first reads them
    """

    table: Any = field(repr=False)  # an interactive Ibis would print its rows
    untyped: frozenset[str]
    connection: Any = field(repr=False)
    frame: Any = field(default=None, repr=False, compare=False)
    places: Mapping[Any, Any] = field(default_factory=dict, repr=False, compare=False)
    require_unchanged: Callable[[], None] = field(default=lambda: None, repr=False, compare=False)
    refused: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    conditions: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    made_up: dict[Any, str] = field(default_factory=dict, repr=False, compare=False)
    public: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    csv: Any = field(default=None, repr=False, compare=False)

    @property
    def fixed_rows(self) -> bool:
        """Whether the number of rows cannot depend on what a row says, so that a total may be without noise.

        In a CSV file it can: where the writer did not quote as it should, one entry makes one record of many.
        """
        return self.csv is None

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

    @cached_property
    def fingerprint(self) -> str:
        """A hash of what is asked about, beside the data set's name: columns, types, and the rows taken.

        Two Ibis tables that filter or project one base table differently are different, and so is a file read with
        other types; which file or frame it is, the data set's name says.
        """
        ibis = import_ibis()
        table = self.table
        plain = isinstance(table.op(), ibis.expr.operations.DatabaseTable)
        known = {
            "columns": [[name, str(kind)] for name, kind in table.schema().items()],
            "untyped": sorted(self.untyped),
            "rows": None if plain else str(self.connection.compile(table)),
        }
        return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:32]

    def column(self, name: Any) -> Any:
        """A column of the table; an error that names all of them if there is none of this name."""
        if not isinstance(name, str) or name not in self.columns:
            raise InvalidInput(f"there is no column {shown(name)}; {self.naming}.")
        self.require_readable({name})
        return self.table[name]

    def require_readable(self, names: Iterable[str]) -> None:
        """Refuse columns whose type has rules of its own, where a question uses them."""
        for name in names:
            if name in self.refused:
                raise InvalidInput(f"column {name!r} {self.refused[name]}.")

    def statement(self, query: Any, keys: Any = None, size: int = 1, labels: tuple[str, ...] = ()) -> Statement:
        """An aggregation over the table as the engine's SQL: compiled from the schema, so what fails here is public.

        `keys` is an Arrow table that the query joins under the name `KEYS`, and `size` how many groups there may be;
        `labels` are the types of the first columns where these are keys that nobody listed.
        """
        self.require_unchanged()
        try:
            read = self._read(query).op().replace(_exactly).to_expr()
            made = Statement(self.connection.compile(read), tuple(query.columns), keys, size, labels)
            self.rehearse(read, made)
            return made
        except UtmostError:
            raise
        except Exception:  # the engine's words would show the statement, and with it the secret
            pass
        raise InvalidInput(self._unaskable)

    def rows_with(self, condition: Any, name: str) -> Any:
        """How many rows a condition is true of (None: all rows), as a query; where a row is a unit, no more is needed.

        Statistics of people, and sums, are made in `contributions`.
        """
        rows = self.table if condition is None else self.table.filter(condition)
        return rows.aggregate(**{name: rows.count()})

    @property
    def _unaskable(self) -> str:
        try:
            self.run("SELECT 1", rows=False)
        except Exception:
            return GONE
        return (
            f"{self.connection.name} cannot be asked this question, whatever the rows; compare columns with values of "
            "their own type and range, or ask it of a table with plainer types."
        )

    def sql(self, query: Any) -> str:
        """A query of the table in the engine's words."""
        try:
            return str(self.connection.compile(self._read(query)))
        except RecursionError:
            raise
        except Exception:  # an interactive Ibis shows rows in its errors
            pass
        raise InvalidInput(self._unaskable)

    def _read(self, query: Any) -> Any:
        return query.op().replace(self.places).to_expr() if self.places else query

    def rehearse(self, query: Any, statement: Statement) -> None:
        """Run it on made-up rows of the same columns, so that what always fails does so before anything is spent.

        These stand in as a common table expression of the table's name, which a full name passes over: then the query
        is compiled once more.
        """
        operations = import_ibis().expr.operations
        public = (KEYS, *self.public)
        (base,) = (base for base in query.op().find(operations.DatabaseTable) if base.name not in public)
        rows, sql = self.made_up_rows(base), statement.sql
        few = None if statement.keys is None else statement.keys.slice(0, 3)
        if rows is None:
            raise InvalidInput(GONE)
        if base.namespace.database is not None:
            stand_in = base.copy(name=ROWS, namespace=operations.Namespace())
            sql = self.connection.compile(query.op().replace({base: stand_in}).to_expr())
        self.run(with_table(ROWS, rows, sql), few, rows=False)
        if self.frame is not None:  # Arrow computes with some types in other ways than DuckDB
            with self.cursor(self.frame.slice(0, 0), few) as cursor:
                cursor.execute(sql).fetchone()

    def made_up_rows(self, base: Any) -> str | None:
        """SQL for a few rows of the columns and types of a table, none of them of the table; None if it is gone."""
        if self.frame is not None and base in self.made_up:  # a frame does not change
            return self.made_up[base]
        try:
            with self.cursor(rows=False) as cursor:
                if base.namespace.catalog:  # DESCRIBE would look into columns that are computed
                    found = cursor.execute(COLUMNS, [*base.namespace.args, base.name]).fetchall()
                else:
                    found = cursor.execute(f"DESCRIBE {quoted_name(base.name)}").fetchall()
        except Exception:
            return None
        if not found:
            return None
        columns = ", ".join(f"TRY_CAST(made_up AS {kind}) AS {quoted_name(name)}" for name, kind, *_ in found)
        self.made_up[base] = (
            f"SELECT {columns} FROM (VALUES (NULL), ('0'), ('2000-01-01'), ('a')) AS made_up_rows(made_up)"
        )
        return self.made_up[base]

    def proved(self, value: Any) -> Any:
        """A value of the table that looks at one row and fails on none, as the engine is asked for it; or an error."""
        operations = import_ibis().expr.operations
        require_row_wise(value, self.table)
        self.require_readable({field.name for field in value.op().find(operations.Field, filter=operations.Value)})
        if not value.op().find(operations.Field):
            raise InvalidInput(
                "it looks at no column, so it is the same for every row: leave such a condition out (an empty one "
                "takes all rows)."
            )
        return self.adapted(made_total(value))

    def adapted(self, condition: Any) -> Any:
        """A row-wise condition as this engine needs it written."""
        return condition

    def found(self, statement: Statement) -> Mapping[str, Any]:
        """What a statement finds: integers, or columns of them where it is by keys, public ones or those there are."""
        if statement.labels:
            return self.labelled(statement)
        return self.integers(statement) if statement.keys is None else self.integer_columns(statement)

    def integers(self, statement: Statement) -> dict[str, int]:
        """The one row of an aggregation, as integers; nothing is 0."""
        try:
            found = self.run(statement.sql)
            return {name: int(value or 0) for name, value in zip(statement.columns, found, strict=True)}
        except Exception:
            pass
        raise EngineFailed(FAILED)  # outside the except: no chain of causes that would repeat the engine's words

    def integer_columns(self, statement: Statement) -> dict[str, Integers]:
        """The rows of an aggregation by public keys, in the order of the keys; where there is none, 0."""
        try:
            cell, *found = self.all_rows(statement)
            sums = {}
            for name, column in zip(statement.columns[1:], found, strict=True):
                sums[name] = np.zeros(statement.size, dtype=np.int64)
                sums[name][cell] = column
            return sums
        except Exception:
            pass
        raise EngineFailed(FAILED)

    def labelled(self, statement: Statement) -> dict[str, Any]:
        """The rows of an aggregation by keys that nobody listed, as Arrow columns: private, keys and all."""
        import pyarrow

        kinds = [*statement.labels, *("int64" for _ in statement.columns[len(statement.labels) :])]
        try:
            found = self.all_columns(statement)
            types = arrow_types(kinds)
            return {
                name: pyarrow.chunked_array(column, kind) if isinstance(column, list) else column.cast(kind)
                for name, kind, column in zip(statement.columns, types, found, strict=True)
            }
        except Exception:
            pass
        raise EngineFailed(FAILED)

    def all_columns(self, statement: Statement) -> list[Any]:
        """The columns of a statement whose rows have labels: Arrow's, or lists of one list."""
        with self.cursor() as cursor:
            return list(cursor.execute(statement.sql).to_arrow_table().columns)

    def run(self, sql: str, keys: Any = None, rows: bool = True) -> Any:
        """The first row of a statement, which nobody else can fetch; `rows` says if it reads those of the table."""
        with self.cursor(keys=keys, rows=rows) as cursor:
            return cursor.execute(sql).fetchone()

    def all_rows(self, statement: Statement) -> list[Integers]:
        """The columns of a statement by keys, as whole numbers; DuckDB's sums are of 128 bits, decimals to Arrow."""
        import pyarrow

        with self.cursor(keys=statement.keys) as cursor:
            found = cursor.execute(statement.sql).to_arrow_table()
        return [np.asarray(column.cast(pyarrow.int64()).to_numpy(), dtype=np.int64) for column in found.columns]

    @contextmanager
    def cursor(self, frame: Any = None, keys: Any = None, rows: bool = True) -> Iterator[Any]:
        """A cursor for one statement, with DuckDB's own settings whatever the connection's are.

        Of a frame it sees the rows, or those of another frame that is given in its place; of a CSV file its rows, which
        are converted now, or none if the statement does not read them; and public keys, if there are any.

        Where tables have their full names, nothing else is looked up in the user's schemas: a macro there that is
        called isnan, say, would take the place of DuckDB's own.
        """
        with ExitStack() as stack:
            cursor = stack.enter_context(self.connection.con.cursor())
            cursor.execute("SET enable_progress_bar = false; SET default_collation = ''")
            if self.places:
                cursor.execute("SET search_path = 'temp.main'")  # which is empty for every cursor
            if self.frame is not None:
                cursor.register(ROWS, self.frame if frame is None else frame)
            if self.csv is not None and rows:
                (folder,) = cursor.execute("SELECT current_setting('temp_directory')").fetchone()
                file = stack.enter_context(self.csv.parquet(folder))
                cursor.execute(f"CREATE TEMP VIEW {ROWS} AS {self.csv.select(file)}")
            if keys is not None:
                cursor.register(KEYS, keys)
            for name, listed in self.public.items():
                cursor.register(name, listed)
            yield cursor


def kind_of(dtype: Any) -> str:
    """What values of a type can be compared with: numbers with numbers, dates with dates.

    An instant is a time with a time zone: a moment, whatever clock showed it. It is never converted into a date, a time
    without a zone or text, for what comes out depends on the time zone an engine happens to be set to.
    """
    if dtype.is_boolean():
        return "truth"
    if dtype.is_numeric():
        return "number"
    if dtype.is_string() or dtype.is_uuid():
        return "text" if dtype.is_string() else "other"
    if dtype.is_date():
        return "date"
    if dtype.is_timestamp():
        return "timestamp" if dtype.timezone is None else "instant"
    return "other"


# ---- which values look at one row and fail on none ----


def require_row_wise(value: Any, table: Any) -> None:
    """Refuse a value that looks beyond its row, at another table, or could fail on some row."""
    waiting = [value.op()]
    while waiting:
        node = waiting.pop()
        name = type(node).__name__
        if name not in OPERATIONS:
            refuse(name)
        if name == "Field":
            if node.rel != table.op():
                raise NotRowWise(
                    "the condition looks at another table than the session's; build it from session.table, or give "
                    "a function: lambda t: t.age >= 65."
                )
            continue
        if name == "Literal" and isinstance(node.value, str) and "\0" in node.value:
            raise InvalidInput("the condition holds the character NUL, which not every engine knows; leave it out.")
        waiting += [part for part in _parts(node) if hasattr(part, "dtype")]
        _require_total(node, name)


def _require_total(node: Any, name: str) -> None:
    """Refuse operations that an engine may fail in on some value of the operands' types."""
    if name in ("Cast", "TryCast"):
        source, target = kind_of(node.arg.dtype), kind_of(node.to)
        widening = target == "text" or (source in ("number", "truth") and node.to.is_float64())
        known = "other" not in (source, target)
        if "instant" in (source, target) and source != target:
            raise NotRowWise(
                "a time with a time zone becomes another date, time or text in every zone; compare it with a moment: "
                "seen >= '2026-01-31 12:00:00+01:00'."
            )
        if source == "timestamp" and target == "text":  # DuckDB's TRY_CAST stops at its first times as well
            raise NotRowWise("a time as text fails on some times; compare with a time: seen >= '2026-01-31 12:00:00'.")
        if not known or (name == "Cast" and not widening):
            raise NotRowWise(
                f"a cast from {node.arg.dtype} to {node.to} fails on values that do not fit; use TRY_CAST(... AS "
                "...) in SQL or .try_cast(...) in Ibis, which makes them null."
            )
    elif name in COMPARED:
        require_comparable(node.left, node.right)
    elif name == "IfElse":
        require_comparable(node.true_expr, node.false_null_expr)
    elif name == "Between":
        require_comparable(node.arg, node.lower_bound)
        require_comparable(node.arg, node.upper_bound)
    elif name == "InValues":
        for option in node.options:
            require_comparable(node.value, option)
    elif name in ("StringSQLLike", "StringSQLILike"):
        pattern = getattr(node.pattern, "value", None)
        if not isinstance(pattern, str) or "\\" in pattern or getattr(node, "escape", None):
            raise NotRowWise("LIKE takes a fixed pattern of text, without backslashes or ESCAPE.")
    elif name in (*ARITHMETIC, *CHOSEN, "Lowercase", "Uppercase", "Substring", "DateDelta"):
        from utmost.release.computed import require_computable

        require_computable(node, name)
    elif name.startswith("Extract") and kind_of(node.arg.dtype) == "instant":
        raise NotRowWise(OF_INSTANTS)
    elif name.startswith("Extract") and kind_of(node.arg.dtype) not in ("date", "timestamp"):
        raise NotRowWise(f"a part of a date needs a date, not {node.arg.dtype}; use TRY_CAST(... AS DATE) first.")


def require_comparable(left: Any, right: Any) -> None:
    """Refuse a comparison in which an engine would convert one side."""
    one, other = kind_of(left.dtype), kind_of(right.dtype)
    decimals = left.dtype.is_decimal() != right.dtype.is_decimal()
    literal = type(left).__name__ == "Literal" or type(right).__name__ == "Literal"
    if one != other or one == "other" or (decimals and not literal):
        raise NotRowWise(
            f"comparing {left.dtype} with {right.dtype} makes an engine convert rows, which may fail on some; use "
            "TRY_CAST so that both are of one kind."
        )


def _parts(node: Any) -> list[Any]:
    parts: list[Any] = []
    for argument in node.args:
        parts += list(argument) if isinstance(argument, tuple) else [argument]
    return parts


# ---- such values, written so that no engine fails on them ----


def made_total(value: Any) -> Any:
    """The same condition, with conversions that an engine would make by itself, and fail in, made so that they cannot.

    NaN is null in every column of floating-point numbers. Not a matter of taste: engines skip blocks of rows by their
    least and greatest value, in which NaN may not be counted. Then whether `x >= 65` is true of a NaN depends on the
    *other* rows of its block. Times are compared in microseconds; decimals of different types, and floating-point
    numbers of 32 bits, as those of 64.
    """
    import ibis

    return value.op().replace(_made_total_here, filter=ibis.expr.operations.Value).to_expr()


def _made_total_here(node: Any, parts: Any) -> Any:
    import ibis

    operations, micro = ibis.expr.operations, ibis.dtype("timestamp(6)")
    name = type(node).__name__
    if name in (*ARITHMETIC, *CHOSEN, "DateDelta", "Lowercase", "Uppercase"):
        from utmost.release.computed import computed

        return computed(node, parts or dict(zip(node.argnames, node.args, strict=True)))
    if name in ("IsNull", "NotNull", "Between", "InValues", "Xor", *COMPARED):
        parts = {part: enclosed(x) for part, x in (parts or dict(zip(node.argnames, node.args, strict=True))).items()}
    node = node.__recreate__(parts) if parts else node
    odd_time = kind_of(node.dtype) == "timestamp" and node.dtype.scale not in (None, 6)
    if name == "Field" and node.dtype.is_floating():
        return _unless_nan(node.to_expr()).op()
    if name == "Field" and odd_time and node.dtype.scale != 9:
        raise NotRowWise(
            f"column {node.name!r} holds {node.dtype}, of which engines fail to read some; make it a TIMESTAMP."
        )
    if name == "Field" and odd_time:
        return operations.TryCast(node, to=micro)
    if name == "Literal" and odd_time:
        return operations.Literal(node.value, dtype=micro)
    if name == "Xor":  # DuckDB has none, and of nested ones Ibis writes no parentheses; it is the same, null included
        return operations.NotEquals(node.left, node.right)
    if name in ("Cast", "TryCast") and node.arg.dtype.is_decimal() and (node.to.is_string() or node.to.is_decimal()):
        return type(node)(_above_least(node.arg), to=node.to)
    if name in ("Cast", "TryCast"):
        return operations.TryCast(node.arg, to=micro) if odd_time else node
    if name == "InValues":
        return _in_list(node)
    if name == "IfElse":
        return operations.IfElse(node.bool_expr, *in_one_type(node.true_expr, node.false_null_expr))
    if name == "Between":
        return operations.Between(*in_one_type(node.arg, node.lower_bound, node.upper_bound))
    return type(node)(*in_one_type(node.left, node.right)) if name in COMPARED else node


def _in_list(node: Any) -> Any:
    """A list of values whose options are all of the type the value is compared in.

    Of whole numbers beside floating-point numbers an engine would make floating-point numbers, and round the column's.
    A list of moments is kept from DuckDB's scan of an Arrow table, which would need another package to make them.
    """
    import ibis

    operations = ibis.expr.operations
    if kind_of(node.value.dtype) == "instant":
        value = node.value.to_expr()
        hidden = ibis.ifelse(value.isnull(), ibis.null(value.type()), value)
        return operations.InValues(hidden.op(), node.options)
    lists: dict[str, tuple[Any, list[Any]]] = {}
    for option in node.options:
        value, alike = in_one_type(node.value, option)
        lists.setdefault(str(alike.dtype(nullable=True)), (value, []))[1].append(alike)
    found = [operations.InValues(value, tuple(options)).to_expr() for value, options in lists.values()]
    return reduce(operator.or_, found).op()


def nearest_single(value: float) -> float:
    """The nearest 32-bit float to a number, which is what a column of them holds for it; itself where it is too large.

    `speed = 0.1` is then true of the 0.1 of a column of 32 bits, as in DuckDB.
    """
    with np.errstate(over="ignore", under="ignore"):
        single = float(np.float32(value))
    return single if math.isfinite(single) else float(value)


def is_known(condition: Any) -> Any:
    """Where a condition is true or false, not null."""
    return enclosed(condition.op()).to_expr().notnull()


def enclosed(value: Any) -> Any:
    """A condition as an operand: without this, Ibis writes NOT (a) IS NULL, of which engines read NOT (a IS NULL)."""
    import ibis

    if isinstance(value, tuple):
        return tuple(enclosed(one) for one in value)
    plain = ("Field", "Literal", "IfElse", "Cast", "TryCast")
    if not hasattr(value, "dtype") or not value.dtype.is_boolean() or type(value).__name__ in plain:
        return value
    return ibis.expr.operations.IfElse(ibis.literal(True), value, ibis.null("boolean"))


def in_one_type(*nodes: Any) -> tuple[Any, ...]:
    """Numbers as 64-bit floats if one is a decimal number or a 32-bit float, unless all are decimals of one type.

    What Ibis calls decimal(38, 0) may be DuckDB's HUGEINT, which holds more, and fails to become one. Of 32-bit floats
    beside other numbers, DuckDB compares in 32 bits and PostgreSQL in 64: here 64, and a number that is written beside
    such a column is the nearest 32-bit float.
    """
    single = any(node.dtype.is_float32() for node in nodes)
    if not single and not any(node.dtype.is_decimal() for node in nodes):
        return nodes
    kinds = {str(node.dtype(nullable=True)) for node in nodes}
    if not single and len(kinds) == 1 and kinds != {WIDEST}:
        return nodes
    return tuple(_as_double(node, single) for node in nodes)


def _as_double(node: Any, single: bool) -> Any:
    import ibis

    written = node.value if single and type(node).__name__ == "Literal" else None
    if isinstance(written, int | float) and not isinstance(written, bool):
        return ibis.literal(nearest_single(written), "float64").op()
    return node if node.dtype.is_float64() or node.dtype.is_null() else node.to_expr().cast("float64").op()


def _above_least(decimal: Any) -> Any:
    """A decimal number, null at -2^127 units: a damaged one, or the least HUGEINT, at which DuckDB's casts stop."""
    import ibis

    value, least = decimal.to_expr(), -(2.0**127) / 10.0 ** (decimal.dtype.scale or 0)
    return ibis.ifelse(value.cast("float64") <= least * (1 - 1e-12), ibis.null(value.type()), value).op()


def _unless_nan(value: Any) -> Any:
    import ibis

    return ibis.ifelse(value.isnan(), ibis.null(value.type()), value)


# ---- words of engines ----


def with_table(name: str, rows: str, sql: str) -> str:
    """A statement in which a table of this name is these rows."""
    first = f"WITH {quoted_name(name)} AS ({rows})"
    return f"{first}, {sql.removeprefix('WITH ')}" if sql.startswith("WITH ") else f"{first} {sql}"


def _exactly(node: Any, parts: Any) -> Any:
    """Numbers and moments that a query is written with, as every engine reads them to the last bit.

    A floating-point number without quotes would be a decimal number, which PostgreSQL compares as such, and which
    DuckDB converts by a division that errs in the last place for one number in twenty. A moment is said in universal
    time, whatever zone an engine is set to.
    """
    ibis = import_ibis()
    operations = ibis.expr.operations
    if not isinstance(node, operations.Literal) or node.value is None:
        return node.__recreate__(parts) if parts else node
    if node.dtype.is_floating():
        return operations.Cast(ibis.literal(repr(float(node.value))).op(), to=ibis.dtype("float64"))
    if node.dtype.is_timestamp() and node.dtype.timezone is not None:
        text = node.value.astimezone(datetime.UTC).isoformat(sep=" ", timespec="microseconds")
        return operations.Cast(ibis.literal(text).op(), to=ibis.dtype("timestamp('UTC', 6)"))
    return node


def arrow_types(kinds: Iterable[str]) -> list[Any]:
    """Arrow's types of keys and numbers, by their names."""
    import pyarrow

    known = {"string": pyarrow.string(), "int64": pyarrow.int64(), "uint64": pyarrow.uint64(), "bool": pyarrow.bool_()}
    known |= {"double": pyarrow.float64(), "date32[day]": pyarrow.date32()}
    return [known[kind] for kind in kinds]


def as_column(name: Any) -> str:
    """The name of a column as plain text."""
    if not isinstance(name, str):
        raise InvalidInput(f"the column is {shown(name)}; give its name.")
    return str(plain(name))


def quoted_name(column: str) -> str:
    """A name as engines quote it."""
    return '"' + column.replace('"', '""') + '"'


def import_ibis() -> Any:
    """Ibis, which tables need and the rest of the library does not."""
    try:
        import ibis
    except ImportError:
        raise UtmostError("tables need Ibis and DuckDB; install them with: pip install 'utmost[tables]'") from None
    return ibis
