"""Expressions and relations as SQL for DuckDB and PostgreSQL, with every cast written out.

The text is made here, and not by a library: what stands in the tree stands in the statement, and nothing is left out
because somebody believes a type to be another. A literal has its type; operands of whole numbers are cast to the type
that holds the result.
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
    """How an engine spells types and functions.

    Attributes
    ----------
    types : mapping of str to str
        The engine's name for each kind of value; "wide" for whole numbers beyond 64 bits.
    functions : mapping of str to callable
        The SQL of an operation, from the SQL of its parts and its expression, where it is not the common one.
    """

    types: Mapping[str, str]
    functions: Mapping[str, Callable[..., str]] = field(default_factory=dict)

    def type(self, kind: Type) -> str:
        """The engine's type that holds all values of a type."""
        return self.types["wide" if kind.is_wide else kind.kind]


def quoted_name(name: str) -> str:
    """A name as engines quote it."""
    return '"' + name.replace('"', '""') + '"'


def quoted(text: str) -> str:
    """A text as engines quote it."""
    return "'" + text.replace("'", "''") + "'"


def within_dates(value: str, kind: str, dialect: Dialect) -> str:
    """A date or time, null outside of the years 1 to 9999, where engines fail or have infinities."""
    last = {"date": LAST_DAY.isoformat(), "timestamp": "9999-12-31 23:59:59.999999"}
    last["instant"] = last["timestamp"] + "+00"
    first = {"date": FIRST_DAY.isoformat(), "timestamp": "0001-01-01 00:00:00", "instant": "0001-01-01 00:00:00+00"}
    name = dialect.types[kind]
    low, high = (f"CAST({quoted(end[kind])} AS {name})" for end in (first, last))
    return f"CASE WHEN {value} >= {low} AND {value} <= {high} THEN {value} END"


# ---- values ----


class Values:
    """Writes expressions.

    Parameters
    ----------
    dialect : Dialect
    assumed : bool
        Whether conditions that somebody wrote are taken as true, and all branches of what they guard are computed:
        how a statement is rehearsed.
    """

    def __init__(self, dialect: Dialect, assumed: bool = False) -> None:
        self.dialect, self.assumed = dialect, assumed

    def sql(self, value: Expression) -> str:
        """An expression in the engine's words; its engine type is the dialect's for its type."""
        special = self.dialect.functions.get(value.op)
        if special is not None:
            return special(value, *map(self.sql, value.parts))
        found: str = getattr(self, f"_{value.op}")(value)
        return found

    def cast(self, value: Expression, name: str) -> str:
        """An expression as a type of the engine's that holds it."""
        if value.is_literal and value.type.kind == "integer":
            return f"CAST({value.value} AS {name})"
        text = self.sql(value)
        return text if self.dialect.type(value.type) == name else f"CAST({text} AS {name})"

    def _common(self, *values: Expression) -> list[str]:
        """Whole numbers of different widths as the widest; other values as they are."""
        if not any(value.type.is_wide for value in values):
            return [self.sql(value) for value in values]
        return [self.cast(value, self.dialect.types["wide"]) for value in values]

    def _column(self, value: Expression) -> str:
        return quoted_name(value.value)

    def _literal(self, value: Expression) -> str:
        said, name = value.value, self.dialect.type(value.type)
        if said is None:
            return f"CAST(NULL AS {name})"
        if isinstance(said, bool):
            return "TRUE" if said else "FALSE"
        if isinstance(said, int):
            return f"CAST({said} AS {name})"
        if isinstance(said, float):
            return f"CAST('{said!r}' AS {name})"  # in quotes: else it would be a decimal number
        if isinstance(said, datetime.datetime):
            text = said.isoformat(sep=" ", timespec="microseconds")
            return f"CAST({quoted(text)} AS {name})"
        if isinstance(said, datetime.date):
            return f"CAST({quoted(said.isoformat())} AS {name})"
        return quoted(said)

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

    def _chosen(self, value: Expression) -> str:
        name = self.dialect.type(value.type)
        return f"{value.op.upper()}({', '.join(self.cast(part, name) for part in value.parts)})"

    _coalesce = _chosen

    def _least(self, value: Expression) -> str:
        """In the widest type, and then in that of the result, which a literal may bound."""
        parts = self._common(*value.parts)
        found = f"{value.op.upper()}({', '.join(parts)})"
        wide = any(part.type.is_wide for part in value.parts)
        return f"CAST({found} AS {self.dialect.type(value.type)})" if wide and not value.type.is_wide else found

    _greatest = _least

    def _clamp(self, value: Expression) -> str:
        this, low, high = self._common(*value.parts)
        found = f"CASE WHEN {this} < {low} THEN {low} WHEN {this} > {high} THEN {high} ELSE {this} END"
        wide = value.parts[0].type.is_wide
        return f"CAST({found} AS {self.dialect.type(value.type)})" if wide and not value.type.is_wide else found

    # numbers

    def _arithmetic(self, value: Expression) -> str:
        name = self.dialect.type(value.type)
        if value.type.kind == "integer" and any(part.type.is_wide for part in value.parts):
            wide = self.dialect.types["wide"]
            left, right = (self.cast(part, wide) for part in value.parts)
            found = f"({left} {SIGNS[value.op]} {right})"
            return found if name == wide else f"CAST({found} AS {name})"
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
        found = f"EXTRACT({value.value} FROM {self.sql(value.parts[0])})"
        return f"CAST(floor({found}) AS {self.dialect.types['integer']})"

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
        found = f"strpos({quoted(value.value)}, {self.sql(value.parts[0])})"
        return f"CAST({found} AS {self.dialect.types['integer']})"

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
        found = f"{function} OVER (PARTITION BY {', '.join(by)}{frame})"
        return f"CAST({found} AS {self.dialect.type(value.type)})"

    def _over_sum(self, value: Expression) -> str:
        return self._over(value, f"SUM({self.sql(value.parts[0])})", 1)

    def _over_min(self, value: Expression) -> str:
        return self._over(value, f"MIN({self.sql(value.parts[0])})", 1)

    def _over_number(self, value: Expression) -> str:
        return self._over(value, "ROW_NUMBER()", 0).replace(" ROWS UNBOUNDED PRECEDING", "")


# ---- relations ----


def statement(query: rel.Relation, rows: Callable[[set[str]], str], dialect: Dialect, assumed: bool = False) -> str:
    """A query as one SELECT.

    Parameters
    ----------
    query : Relation
    rows : callable
        The SELECT of the private rows with some of their columns, as they enter.
    dialect : Dialect
    assumed : bool
        Whether conditions that somebody wrote are taken as true: see `Values`.
    """
    return _Writer(query, rows, dialect, assumed).whole(query)


class _Writer:
    """Writes relations; one that is used twice is a common table expression."""

    def __init__(
        self, query: rel.Relation, rows: Callable[[set[str]], str], dialect: Dialect, assumed: bool = False
    ) -> None:
        self.values, self.rows, self.needed = Values(dialect, assumed), rows, rel.needed(query)
        self.uses: dict[int, int] = {}
        for one in rel.walk(query):
            for parent in rel.parents(one):
                self.uses[id(parent)] = self.uses.get(id(parent), 0) + 1
        self.common: dict[int, str] = {}
        self.texts: list[str] = []
        self.numbers = 0

    def whole(self, query: rel.Relation) -> str:
        last = self._select(query)
        return f"WITH {', '.join(self.texts)} {last}" if self.texts else last

    def _source(self, one: rel.Relation) -> str:
        """What stands behind FROM."""
        if isinstance(one, rel.Public):
            return quoted_name(one.name)
        if id(one) in self.common:
            return self.common[id(one)]
        if self.uses.get(id(one), 0) > 1:
            text = self._select(one)
            name = self.common[id(one)] = f"step{len(self.common)}"
            self.texts.append(f"{name} AS ({text})")
            return name
        self.numbers += 1
        return f"({self._select(one)}) AS t{self.numbers}"

    def _select(self, one: rel.Relation) -> str:
        used = [name for name in one.columns if name in self.needed[id(one)]]
        if isinstance(one, rel.Rows):
            return self.rows(set(used))
        if isinstance(one, rel.Filter):
            return self._from({name: one[name] for name in used}, one.parent, one.conditions)
        if isinstance(one, rel.Select):
            return self._from({name: one.values[name] for name in used}, one.parent)
        if isinstance(one, rel.Aggregate):
            values = {name: one.numbers.get(name, one[name]) for name in one.columns if name in used or name in one.by}
            group = f" GROUP BY {', '.join(map(quoted_name, one.by))}" if one.by else ""
            return self._from(values, one.parent) + group
        if isinstance(one, rel.Union):
            sides = (self._from(self._widened(one, side, used), side) for side in (one.left, one.right))
            return " UNION ALL ".join(sides)
        if isinstance(one, rel.Join):
            return self._join(one, used)
        return self._from({name: one[name] for name in used}, one)

    def _widened(self, one: rel.Union, side: rel.Relation, used: list[str]) -> dict[str, Expression]:
        """The columns of one side of a union in types that hold both sides'."""
        wide = {name for name in used if one.columns[name].is_wide and not side.columns[name].is_wide}
        return {
            name: Expression("widen", one.columns[name], (side[name],)) if name in wide else side[name] for name in used
        }

    def _from(
        self, values: Mapping[str, Expression], parent: rel.Relation, conditions: tuple[Expression, ...] = ()
    ) -> str:
        """A SELECT of values of a relation; filters below it become its WHERE."""
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

    def _join(self, one: rel.Join, used: list[str]) -> str:
        left, right = self._source(one.left), self._source(one.right)
        on = " AND ".join(map(self.values.sql, one.on))
        named = ", ".join(map(quoted_name, used)) or "1 AS one"
        if one.how in ("semi", "anti"):
            sign = "" if one.how == "semi" else "NOT "
            return f"SELECT {named} FROM {left} WHERE {sign}EXISTS (SELECT 1 FROM {right} WHERE {on})"
        return f"SELECT {named} FROM {left} {one.how.upper()} JOIN {right} ON {on}"


def with_table(name: str, rows: str, sql: str) -> str:
    """A statement in which a table of this name is these rows."""
    first = f"WITH {quoted_name(name)} AS ({rows})"
    return f"{first}, {sql.removeprefix('WITH ')}" if sql.startswith("WITH ") else f"{first} {sql}"
