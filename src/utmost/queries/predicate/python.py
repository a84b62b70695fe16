"""Convert conditions that are Python functions to SQL: `lambda t: t.age >= 65` becomes `age >= 65`.

The function does not get the table, but an object with its columns, whose operators and methods write SQL; no row is
read. Methods have the names that they have in Ibis, pandas or polars where these agree.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from utmost.errors import InvalidInput, shown
from utmost.queries.predicate.parser import parse_sql

if TYPE_CHECKING:
    from utmost.backends.source import Source

PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
COLUMNS = "__utmost_columns"


class Row:
    """The columns of a table, for writing conditions: `t.age`, or `t["age"]` for any name.

    Examples
    --------
    >>> t = Row(("age", "town"))
    >>> (t.age >= 65) & t.town.isin(["Ash", "Briar"])
    (age >= 65) AND (town IN ('Ash', 'Briar'))
    """

    def __init__(self, columns: tuple[str, ...]) -> None:
        self.__dict__[COLUMNS] = columns

    def __getattr__(self, name: str) -> Term:
        if name not in self.__dict__[COLUMNS]:
            raise AttributeError(name=name, obj=self)
        return self[name]

    def __getitem__(self, name: str) -> Term:
        import sqlglot
        from sqlglot import expressions as sql

        if not isinstance(name, str) or name not in self.__dict__[COLUMNS]:
            raise AttributeError(name=name if isinstance(name, str) else "?", obj=self)
        plain = PLAIN.fullmatch(name) is not None
        if plain:  # a keyword of SQL needs quotes
            try:
                plain = isinstance(parse_sql(name)[0], sql.Column)
            except sqlglot.errors.SqlglotError:
                plain = False
        return Term(sql.column(sql.to_identifier(name, quoted=not plain)))

    def __repr__(self) -> str:
        return f"columns {', '.join(self.__dict__[COLUMNS])}"


class Term:
    """A value of a row that writes itself as SQL.

    Comparisons, `&`, `|`, `~`, `^`, `+`, `-`, `*`, `/` by a number, and the methods give new terms.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, node: Any) -> None:
        self._node = node

    def __repr__(self) -> str:
        return str(self._node.sql(dialect="duckdb"))

    def __bool__(self) -> bool:
        raise TypeError("use & for and, | for or, ~ for not")

    def _operation(self, kind: str, *operands: Any, **arguments: Any) -> Term:
        from sqlglot import expressions as sql

        nodes = [_enclosed(self._node), *(_enclosed(_node(other)) for other in operands)]
        return Term(getattr(sql, kind)(**dict(zip(("this", "expression"), nodes, strict=False)), **arguments))

    def _function_call(self, name: str, *operands: Any) -> Term:
        from sqlglot import expressions as sql

        return Term(sql.func(name, self._node, *map(_node, operands), dialect="duckdb"))

    def __eq__(self, other: Any) -> Term:  # type: ignore[override]
        return self._operation("EQ", other)

    def __ne__(self, other: Any) -> Term:  # type: ignore[override]
        return self._operation("NEQ", other)

    def __lt__(self, other: Any) -> Term:
        return self._operation("LT", other)

    def __le__(self, other: Any) -> Term:
        return self._operation("LTE", other)

    def __gt__(self, other: Any) -> Term:
        return self._operation("GT", other)

    def __ge__(self, other: Any) -> Term:
        return self._operation("GTE", other)

    def __and__(self, other: Any) -> Term:
        return self._operation("And", other)

    def __or__(self, other: Any) -> Term:
        return self._operation("Or", other)

    def __xor__(self, other: Any) -> Term:
        return self._operation("NEQ", other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> Term:
        return self._operation("Not")

    def __add__(self, other: Any) -> Term:
        return self._operation("Add", other)

    def __sub__(self, other: Any) -> Term:
        return self._operation("Sub", other)

    def __mul__(self, other: Any) -> Term:
        return self._operation("Mul", other)

    def __truediv__(self, other: Any) -> Term:
        return self._operation("Div", other)

    def __radd__(self, other: Any) -> Term:
        return Term(_node(other))._operation("Add", self)

    def __rsub__(self, other: Any) -> Term:
        return Term(_node(other))._operation("Sub", self)

    def __rmul__(self, other: Any) -> Term:
        return Term(_node(other))._operation("Mul", self)

    def __neg__(self) -> Term:
        return self._operation("Neg")

    def __abs__(self) -> Term:
        return self.abs()

    def abs(self) -> Term:
        """The absolute value of a number."""
        return self._function_call("abs")

    def isnull(self) -> Term:
        """Whether the value is null."""
        from sqlglot import expressions as sql

        return self._operation("Is", Term(sql.Null()))

    def notnull(self) -> Term:
        """Whether the value is not null."""
        from sqlglot import expressions as sql

        return Term(sql.Not(this=self.isnull()._node))

    def isin(self, values: Any) -> Term:
        """Whether the value is in a list."""
        from sqlglot import expressions as sql

        if isinstance(values, Row | Term | str):
            raise TypeError("isin takes a list of values")
        return Term(sql.In(this=_enclosed(self._node), expressions=[_enclosed(_node(value)) for value in values]))

    def notin(self, values: Any) -> Term:
        """Whether the value is not in a list."""
        return ~self.isin(values)

    def between(self, low: Any, high: Any) -> Term:
        """Whether the value lies between two others, ends included."""
        return self._operation("GTE", low)._operation("And", self._operation("LTE", high))

    def like(self, pattern: str) -> Term:
        """Whether a text matches a pattern, in which % stands for any characters and _ for one."""
        return self._operation("Like", pattern)

    def ilike(self, pattern: str) -> Term:
        """Whether a text matches a pattern, ignoring case."""
        return self._operation("ILike", pattern)

    def startswith(self, text: Any) -> Term:
        """Whether a text begins with another."""
        return self._function_call("starts_with", text)

    def endswith(self, text: Any) -> Term:
        """Whether a text ends with another."""
        return self._function_call("ends_with", text)

    def contains(self, text: Any) -> Term:
        """Whether a text contains another."""
        return self._function_call("contains", text)

    def identical_to(self, other: Any) -> Term:
        """Whether the value equals another, or both are null."""
        return self._operation("NullSafeEQ", other)

    def try_cast(self, target: str) -> Term:
        """Cast to another type; null where the value does not fit."""
        from sqlglot import expressions as sql

        return Term(sql.TryCast(this=self._node, to=sql.DataType.build(_type(target), dialect="duckdb")))

    def cast(self, target: str) -> Term:
        """Cast to another type; refused if some value might not fit."""
        from sqlglot import expressions as sql

        return Term(sql.Cast(this=self._node, to=sql.DataType.build(_type(target), dialect="duckdb")))

    def lower(self) -> Term:
        """A text in lower case."""
        return self._function_call("lower")

    def upper(self) -> Term:
        """A text in upper case."""
        return self._function_call("upper")

    def substr(self, start: int, length: int) -> Term:
        """A substring of a given length, from a start that is counted from 0."""
        return self._function_call("substr", int(start) + 1, int(length))

    def coalesce(self, *others: Any) -> Term:
        """The first value that is not null."""
        return self._function_call("coalesce", *others)

    fill_null = coalesce

    def ifelse(self, true: Any, false: Any) -> Term:
        """A value where this condition is true, else another."""
        from sqlglot import expressions as sql

        branch = sql.If(this=self._node, true=_node(true))
        return Term(sql.Case(ifs=[branch], default=_node(false)))

    def _part(self, part: str) -> Term:
        from sqlglot import expressions as sql

        return Term(sql.Extract(this=sql.var(part), expression=self._node))

    def year(self) -> Term:
        """The year of a date."""
        return self._part("year")

    def quarter(self) -> Term:
        """The quarter of a date."""
        return self._part("quarter")

    def month(self) -> Term:
        """The month of a date."""
        return self._part("month")

    def day(self) -> Term:
        """The day of a date in its month."""
        return self._part("day")

    def hour(self) -> Term:
        """The hour of a time."""
        return self._part("hour")

    def minute(self) -> Term:
        """The minute of a time."""
        return self._part("minute")

    def second(self) -> Term:
        """The second of a time."""
        return self._part("second")


def _type(name: str) -> str:
    sizes = {**{f"int{8 * size}": kind for size, kind in ((1, "TINYINT"), (2, "SMALLINT"), (4, "INT"), (8, "BIGINT"))}}
    return {**sizes, "float64": "DOUBLE", "string": "TEXT"}.get(name, name)


def _node(value: Any) -> Any:
    """A value as a node of sqlglot."""
    from sqlglot import expressions as sql

    if isinstance(value, Term):
        return value._node
    if isinstance(value, bool):
        return sql.Boolean(this=value)
    if isinstance(value, datetime.datetime):
        return sql.Literal.string(value.isoformat(sep=" "))
    if isinstance(value, datetime.date):
        return sql.Literal.string(value.isoformat())
    if isinstance(value, str):
        return sql.Literal.string(value)
    if hasattr(value, "item") and not isinstance(value, int | float):  # a NumPy scalar
        value = value.item()
    if not isinstance(value, int | float) or value != value or value in (float("inf"), float("-inf")):
        raise TypeError(f"{type(value).__name__} is no value to compare with")
    return sql.Neg(this=sql.Literal.number(repr(-value))) if value < 0 else sql.Literal.number(repr(value))


def _enclosed(node: Any) -> Any:
    """A node as an operand: in parentheses, unless it is atomic."""
    from sqlglot import expressions as sql

    alone = (sql.Column, sql.Literal, sql.Boolean, sql.Null, sql.Func, sql.Paren, sql.Case, sql.Neg)
    joined = isinstance(node, sql.And | sql.Or)
    return node if isinstance(node, alone) and not joined else sql.Paren(this=node)


def text_of_function(function: Callable[[Any], Any], source: Source) -> str:
    """The SQL that a function of the table's columns writes; the message of its error, if any, is not repeated."""
    try:
        term = function(Row(source.columns))
    except RecursionError:
        raise
    except Exception as reason:
        kind, name = type(reason).__name__, getattr(reason, "name", None)
        of_table = isinstance(getattr(reason, "obj", None), Row)
    else:
        if isinstance(term, Term):
            return str(term._node.sql(dialect="duckdb"))
        raise InvalidInput("the condition does not say yes or no of a row; compare something, as in 'age >= 65'.")
    if kind == "AttributeError" and isinstance(name, str) and name.isidentifier():
        what = "column" if of_table else "column or method"
        raise InvalidInput(f"the condition asks for {shown(name)}, and there is no such {what}; {source.naming}.")
    raise InvalidInput(
        f"the condition cannot be built on this table: {kind}. Compare columns that it has with values of their own "
        f"type, as in lambda t: t.age >= 65; {source.naming}."
    )
