"""Translate expressions and relations into SQL for DuckDB and PostgreSQL, with every cast written out.

The text is written here, and not by a library, which might leave out a cast that it takes for redundant. Literals have
explicit types; operands of integer arithmetic are cast to the type that holds the result.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from utmost.queries.expressions import relations as rel
from utmost.queries.expressions.types import Type
from utmost.queries.expressions.values import FIRST_DAY, LAST_DAY, Expression

SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "and": "AND", "or": "OR"}


@dataclass(frozen=True)
class Dialect:
    """An engine's names of types and functions.

    Attributes
    ----------
    types : mapping of str to str
        The engine's type for each kind of value; "wide" for integers beyond 64 bits.
    functions : mapping of str to callable
        Operations that the engine writes differently: a function of the expression and the SQL of its parts.
    """

    types: Mapping[str, str]
    functions: Mapping[str, Callable[..., str]] = field(default_factory=dict)

    def type(self, kind: Type) -> str:
        """The engine's type that contains all values of a type."""
        return self.types["wide" if kind.is_wide else kind.kind]


def quoted_name(name: str) -> str:
    """Quote an identifier."""
    return '"' + name.replace('"', '""') + '"'


def quoted(text: str) -> str:
    """Quote a string literal."""
    return "'" + text.replace("'", "''") + "'"


def within_dates(value: str, kind: str, dialect: Dialect) -> str:
    """SQL for a date or time that is null outside of the years 1 to 9999, where engines fail or have infinities."""
    last = {"date": LAST_DAY.isoformat(), "timestamp": "9999-12-31 23:59:59.999999"}
    last["instant"] = last["timestamp"] + "+00"
    first = {"date": FIRST_DAY.isoformat(), "timestamp": "0001-01-01 00:00:00", "instant": "0001-01-01 00:00:00+00"}
    name = dialect.types[kind]
    low, high = (f"CAST({quoted(end[kind])} AS {name})" for end in (first, last))
    return f"CASE WHEN {value} >= {low} AND {value} <= {high} THEN {value} END"


# ---- values ----


class Values:
    """Translates expressions into SQL.

    Parameters
    ----------
    dialect : Dialect
    assumed : bool
        Whether conditions of the user's are taken as true, and all branches of what they guard are computed, which is
        how a statement is rehearsed.
    """

    def __init__(self, dialect: Dialect, assumed: bool = False) -> None:
        self.dialect, self.assumed = dialect, assumed

    def sql(self, value: Expression) -> str:
        """The SQL of an expression; its type in the engine is `dialect.type` of its type."""
        special = self.dialect.functions.get(value.op)
        if special is not None:
            return special(value, *map(self.sql, value.parts))
        text: str = getattr(self, f"_{value.op}")(value)
        return text

    def cast(self, value: Expression, name: str) -> str:
        """The SQL of an expression, cast to a type of the engine that holds its values."""
        if value.is_literal and value.type.kind == "integer":
            return f"CAST({value.value} AS {name})"
        text = self.sql(value)
        return text if self.dialect.type(value.type) == name else f"CAST({text} AS {name})"

    def _common(self, *values: Expression) -> list[str]:
        """The SQL of expressions: integers in the widest of their types, other values as they are."""
        if not any(value.type.is_wide for value in values):
            return [self.sql(value) for value in values]
        return [self.cast(value, self.dialect.types["wide"]) for value in values]

    def _column(self, value: Expression) -> str:
        return quoted_name(value.value)

    def _literal(self, value: Expression) -> str:
        content, name = value.value, self.dialect.type(value.type)
        if content is None:
            return f"CAST(NULL AS {name})"
        if isinstance(content, bool):
            return "TRUE" if content else "FALSE"
        if isinstance(content, int):
            return f"CAST({content} AS {name})"
        if isinstance(content, float):
            return f"CAST('{content!r}' AS {name})"  # in quotes, or it would be a decimal number
        if isinstance(content, datetime.datetime):
            text = content.isoformat(sep=" ", timespec="microseconds")
            return f"CAST({quoted(text)} AS {name})"
        if isinstance(content, datetime.date):
            return f"CAST({quoted(content.isoformat())} AS {name})"
        return quoted(content)

    # conditions

    def _condition(self, value: Expression) -> str:
        return "TRUE" if self.assumed else self.sql(value.parts[0])

    def _and(self, value: Expression) -> str:
        return f"({f' {SIGNS[value.op]} '.join(map(self.sql, value.parts))})"

    _or = _and

    def _not(self, value: Expression) -> str:
        return f"(NOT {self.sql(value.parts[0])})"

    def _is_null(self, value: Expression) -> str:
        return f"({self.sql(value.parts[0])} IS NULL)"

    def _not_null(self, value: Expression) -> str:
        return f"({self.sql(value.parts[0])} IS NOT NULL)"

    def _compare(self, value: Expression) -> str:
        left, right = self._common(*value.parts)
        return f"({left} {'IS NOT DISTINCT FROM' if value.value == 'same' else value.value} {right})"

    def _in(self, value: Expression) -> str:
        this, *options = self._common(*value.parts)
        return f"({this} IN ({', '.join(options)}))"

    def _like(self, value: Expression) -> str:
        return f"({self.sql(value.parts[0])} {value.op.upper()} {quoted(value.value)})"

    _ilike = _like

    def _function(self, value: Expression) -> str:
        return f"{value.op}({', '.join(map(self.sql, value.parts))})"

    _starts_with = _ends_with = _contains = _md5 = _floor = _function

    def _case(self, value: Expression) -> str:
        *pairs, default = value.parts
        name = self.dialect.type(value.type)
        branches = [(pairs[i], self.cast(pairs[i + 1], name)) for i in range(0, len(pairs), 2)]
        last = self.cast(default, name)
        if self.assumed and branches[0][0].op == "condition":
            results = [result for _, result in branches] + [last]
            return f"LEAST({', '.join(results)})" if value.type.is_number else results[0]
        tests = " ".join(f"WHEN {self.sql(condition)} THEN {result}" for condition, result in branches)
        return f"CASE {tests} ELSE {last} END"

    def _first_value(self, value: Expression) -> str:
        name = self.dialect.type(value.type)
        return f"{value.op.upper()}({', '.join(self.cast(part, name) for part in value.parts)})"

    _coalesce = _first_value

    def _least(self, value: Expression) -> str:
        """Compute in the widest type, then cast to that of the result, whose range a literal may bound."""
        parts = self._common(*value.parts)
        text = f"{value.op.upper()}({', '.join(parts)})"
        wide = any(part.type.is_wide for part in value.parts)
        return f"CAST({text} AS {self.dialect.type(value.type)})" if wide and not value.type.is_wide else text

    _greatest = _least

    def _clamp(self, value: Expression) -> str:
        this, low, high = self._common(*value.parts)
        text = f"CASE WHEN {this} < {low} THEN {low} WHEN {this} > {high} THEN {high} ELSE {this} END"
        wide = value.parts[0].type.is_wide
        return f"CAST({text} AS {self.dialect.type(value.type)})" if wide and not value.type.is_wide else text

    # numbers

    def _arithmetic(self, value: Expression) -> str:
        name = self.dialect.type(value.type)
        if value.type.kind == "integer" and any(part.type.is_wide for part in value.parts):
            wide = self.dialect.types["wide"]
            left, right = (self.cast(part, wide) for part in value.parts)
            text = f"({left} {SIGNS[value.op]} {right})"
            return text if name == wide else f"CAST({text} AS {name})"
        left, right = (self.cast(part, name) for part in value.parts)
        return f"({left} {SIGNS[value.op]} {right})"

    _add = _subtract = _multiply = _divide = _arithmetic

    def _negate(self, value: Expression) -> str:
        return f"(- {self.sql(value.parts[0])})"

    def _absolute(self, value: Expression) -> str:
        return f"abs({self.sql(value.parts[0])})"

    def _round_even(self, value: Expression) -> str:
        return f"round_even({self.sql(value.parts[0])}, 0)"

    def _converted(self, value: Expression) -> str:
        return f"CAST({self.sql(value.parts[0])} AS {self.dialect.type(value.type)})"

    _to_float = _to_integer = _to_text = _to_date = _to_timestamp = _widen = _converted

    def _infinite(self, value: Expression) -> str:
        this, name = self.sql(value.parts[0]), self.dialect.types["float"]
        return f"({this} IN (CAST('Infinity' AS {name}), CAST('-Infinity' AS {name})))"

    # dates and texts

    def _part(self, value: Expression) -> str:
        text = f"EXTRACT({value.value} FROM {self.sql(value.parts[0])})"
        return f"CAST(floor({text}) AS {self.dialect.types['integer']})"

    def _days(self, value: Expression) -> str:
        left, right = map(self.sql, value.parts)
        return f"CAST(({left} - {right}) AS {self.dialect.types['integer']})"

    def _letters(self, value: Expression) -> str:
        before, after = map(quoted, value.value)
        return f"translate({self.sql(value.parts[0])}, {before}, {after})"

    def _substring(self, value: Expression) -> str:
        start, length = value.value
        return f"substr({self.sql(value.parts[0])}, {start}, {length})"

    def _concat(self, value: Expression) -> str:
        return f"({' || '.join(map(self.sql, value.parts))})"

    def _place_in(self, value: Expression) -> str:
        text = f"strpos({quoted(value.value)}, {self.sql(value.parts[0])})"
        return f"CAST({text} AS {self.dialect.types['integer']})"

    # over many rows

    def _sum(self, value: Expression) -> str:
        return f"CAST(SUM({self.sql(value.parts[0])}) AS {self.dialect.type(value.type)})"

    def _count(self, value: Expression) -> str:
        return f"COUNT({self.sql(value.parts[0]) if value.parts else '*'})"

    def _over(self, value: Expression, function: str, operands: int) -> str:
        several, ordered = value.value
        rest = [self.sql(part) for part in value.parts[operands:]]
        by, order = rest[:several], rest[several:]
        frame = f" ORDER BY {', '.join(order)} ROWS UNBOUNDED PRECEDING" if ordered else ""
        text = f"{function} OVER (PARTITION BY {', '.join(by)}{frame})"
        return f"CAST({text} AS {self.dialect.type(value.type)})"

    def _over_sum(self, value: Expression) -> str:
        return self._over(value, f"SUM({self.sql(value.parts[0])})", 1)

    def _over_min(self, value: Expression) -> str:
        return self._over(value, f"MIN({self.sql(value.parts[0])})", 1)

    def _over_number(self, value: Expression) -> str:
        return self._over(value, "ROW_NUMBER()", 0).replace(" ROWS UNBOUNDED PRECEDING", "")


# ---- relations ----


def statement(query: rel.Relation, rows: Callable[[set[str]], str], dialect: Dialect, assumed: bool = False) -> str:
    """A query as one SELECT statement.

    Parameters
    ----------
    query : Relation
    rows : callable
        A function from names of columns to the SELECT of the private rows with these columns, cast to our types.
    dialect : Dialect
    assumed : bool
        Whether conditions of the user's are taken as true: see `Values`.
    """
    return _Writer(query, rows, dialect, assumed).whole(query)


class _Writer:
    """Translates relations into SQL; a relation that is used twice becomes a common table expression."""

    def __init__(
        self, query: rel.Relation, rows: Callable[[set[str]], str], dialect: Dialect, assumed: bool = False
    ) -> None:
        self.values, self.rows, self.needed = Values(dialect, assumed), rows, rel.columns_used(query)
        self.uses: dict[int, int] = {}
        for relation in rel.walk(query):
            for parent in rel.parents(relation):
                self.uses[id(parent)] = self.uses.get(id(parent), 0) + 1
        self.common: dict[int, str] = {}
        self.texts: list[str] = []
        self.numbers = 0

    def whole(self, query: rel.Relation) -> str:
        last = self._select(query)
        return f"WITH {', '.join(self.texts)} {last}" if self.texts else last

    def _source(self, relation: rel.Relation) -> str:
        """The SQL of a relation after FROM."""
        if isinstance(relation, rel.Public):
            return quoted_name(relation.name)
        if id(relation) in self.common:
            return self.common[id(relation)]
        if self.uses.get(id(relation), 0) > 1:
            text = self._select(relation)
            name = self.common[id(relation)] = f"step{len(self.common)}"
            self.texts.append(f"{name} AS ({text})")
            return name
        self.numbers += 1
        return f"({self._select(relation)}) AS t{self.numbers}"

    def _select(self, relation: rel.Relation) -> str:
        names = [name for name in relation.columns if name in self.needed[id(relation)]]
        if isinstance(relation, rel.Rows):
            return self.rows(set(names))
        if isinstance(relation, rel.Filter):
            return self._from({name: relation[name] for name in names}, relation.parent, relation.conditions)
        if isinstance(relation, rel.Select):
            return self._from({name: relation.values[name] for name in names}, relation.parent)
        if isinstance(relation, rel.Aggregate):
            columns = [name for name in relation.columns if name in names or name in relation.by]
            values = {name: relation.numbers.get(name, relation[name]) for name in columns}
            group = f" GROUP BY {', '.join(map(quoted_name, relation.by))}" if relation.by else ""
            return self._from(values, relation.parent) + group
        if isinstance(relation, rel.Union):
            sides = (self._from(self._widened(relation, side, names), side) for side in (relation.left, relation.right))
            return " UNION ALL ".join(sides)
        if isinstance(relation, rel.Join):
            return self._join(relation, names)
        return self._from({name: relation[name] for name in names}, relation)

    def _widened(self, relation: rel.Union, side: rel.Relation, names: list[str]) -> dict[str, Expression]:
        """The columns of one side of a union, cast to types that hold the values of both sides."""
        wide = {name for name in names if relation.columns[name].is_wide and not side.columns[name].is_wide}
        return {
            name: Expression("widen", relation.columns[name], (side[name],)) if name in wide else side[name]
            for name in names
        }

    def _from(
        self, values: Mapping[str, Expression], parent: rel.Relation, conditions: tuple[Expression, ...] = ()
    ) -> str:
        """A SELECT of values of a relation; filters directly below it become its WHERE clause."""
        tests = [self.values.sql(condition) for condition in conditions]
        while isinstance(parent, rel.Filter) and self.uses.get(id(parent), 0) <= 1:
            tests = [*(self.values.sql(condition) for condition in parent.conditions), *tests]
            parent = parent.parent
        named = ", ".join(self._named(name, value) for name, value in values.items()) or "1 AS one"
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        return f"SELECT {named} FROM {self._source(parent)}{where}"

    def _named(self, name: str, value: Expression) -> str:
        text = self.values.sql(value)
        return text if value.op == "column" and value.value == name else f"{text} AS {quoted_name(name)}"

    def _join(self, relation: rel.Join, names: list[str]) -> str:
        left, right = self._source(relation.left), self._source(relation.right)
        on = " AND ".join(map(self.values.sql, relation.on))
        named = ", ".join(map(quoted_name, names)) or "1 AS one"
        if relation.how in ("semi", "anti"):
            sign = "" if relation.how == "semi" else "NOT "
            return f"SELECT {named} FROM {left} WHERE {sign}EXISTS (SELECT 1 FROM {right} WHERE {on})"
        return f"SELECT {named} FROM {left} {relation.how.upper()} JOIN {right} ON {on}"


def with_table(name: str, rows: str, sql: str) -> str:
    """Put a common table expression in front of a statement."""
    first = f"WITH {quoted_name(name)} AS ({rows})"
    return f"{first}, {sql.removeprefix('WITH ')}" if sql.startswith("WITH ") else f"{first} {sql}"
