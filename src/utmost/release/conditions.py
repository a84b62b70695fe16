"""Conditions: which rows a question is about, decided for every row by itself and for every row without fail.

A condition is SQL text, an Ibis expression, or a function of the Ibis table. SQL is parsed and *rebuilt* as Ibis, so no
text of a user ever reaches an engine; then both take one road: every operation in the tree must be on the list of those
that look at one row and cannot fail on any. What is not listed is refused before anything is read.

Conditions mean what they mean in DuckDB, but for three things. Decimal numbers of different types, and all of 38 digits
before the point, are compared as floating-point numbers, so that a FLOAT of 0.1 is not a DECIMAL of 0.10; NaN is null;
and where DuckDB and the parser bind operators differently, parentheses are asked for.

Why so strict: `t.age > t.age.mean()` compiles without a word, and then one person's row decides about all the others';
`CAST(name AS INT)` or `name > 5` stops at the first name that is no number, which tells that there is one.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NoReturn

from utmost.errors import InvalidInput, NotRowWise, shown
from utmost.release.engines import Source

MOST_TEXT = 10_000
TOO_DEEP = "the condition is nested too deeply; write it more plainly, such as a list of values with IN or .isin(...)."
ALLOWED = (
    "columns, numbers, texts and dates; =, <>, <, <=, >, >=, BETWEEN, IN (list), LIKE, ILIKE, IS NULL, AND, OR, "
    "NOT, TRY_CAST and parts of dates such as EXTRACT(year FROM born)"
)
COMPARISONS = {"EQ": "__eq__", "NEQ": "__ne__", "GT": "__gt__", "GTE": "__ge__", "LT": "__lt__", "LTE": "__le__"}
COMPARED = ("Equals", "NotEquals", "Greater", "GreaterEqual", "Less", "LessEqual", "IdenticalTo")
BINDING = frozenset((*COMPARISONS, "Between", "In", "Like", "ILike", "Is"))
"""Operators that engines bind in different orders: one is an operand of another in parentheses only."""
WIDEST = "decimal(38, 0)"
PARTS = ("year", "quarter", "month", "day", "hour", "minute", "second")
OPERATIONS = frozenset(
    (
        *("Field", "Literal", "And", "Or", "Xor", "Not", "IsNull", "NotNull", "TryCast", "Cast"),
        *(*COMPARED, "Between", "InValues"),
        *("StringSQLLike", "StringSQLILike", "StartsWith", "EndsWith", "StringContains", "IfElse", "IsNan", "IsInf"),
        *(f"Extract{part.title()}" for part in PARTS),
    )
)
"""Operations of Ibis that look at one row and fail on none; comparisons and casts are looked at more closely below."""
READ = {
    "Between": ("low", "high"),
    "Literal": ("is_string",),
    "In": ("expressions",),
    **{"Cast": ("to",), "TryCast": ("to", "safe")},
}
"""What is read of a node of parsed SQL, besides `this` and `expression`; a node that says more is refused."""
ROW_WISE_TABLES = frozenset(("DatabaseTable", "InMemoryTable", "UnboundTable", "Project", "Filter", "DropColumns"))
REMEDIES = {
    "JoinChain": "join beforehand, into a table with one row per unit",
    "Aggregate": "group beforehand, into a table with one row per unit",
    "Distinct": "remove repeated rows beforehand; for people, um.people(...) counts everyone once",
    "Limit": "give the whole table: which rows a limit keeps depends on the other rows",
    "Sample": "give the whole table, or a sample drawn beforehand",
    "Sort": "leave out order_by: answers do not depend on the order of rows",
    "SQLQueryResult": "give the base table, and the condition as where=",
    "SQLStringView": "give the base table, and the condition as where=",
    "Union": "put the rows into one table beforehand",
}


def as_condition(where: Any, source: Source) -> Any:
    """The condition as a boolean Ibis column of the table, proved row-wise and total; `NotRowWise` otherwise."""
    try:
        return _checked(where, source)
    except RecursionError:
        raise InvalidInput(TOO_DEEP) from None


def _checked(where: Any, source: Source) -> Any:
    import ibis

    table = source.table
    if isinstance(where, str):
        value = _from_sql(where, source)
    elif isinstance(where, ibis.expr.types.Value):
        value = where
    elif isinstance(where, ibis.common.deferred.Deferred):
        value = _guarded(lambda: where.resolve(table))
    elif callable(where):
        value = _guarded(lambda: where(table))
    else:
        raise InvalidInput(
            f"the condition is {shown(where)}; give SQL text such as 'age >= 65', or a function of the table such as "
            "lambda t: t.age >= 65."
        )
    if not isinstance(value, ibis.expr.types.Value) or not value.type().is_boolean():
        raise InvalidInput("the condition does not say yes or no of a row; compare something, as in 'age >= 65'.")
    require_row_wise(value, table)
    if not value.op().find(ibis.expr.operations.Field):
        raise InvalidInput("the condition looks at no column, so it is public already; leave it out to take every row.")
    return source.adapted(_made_total(value))


def require_row_wise(value: Any, table: Any) -> None:
    """Refuse a value that looks beyond its row, at another table, or could fail on some row."""
    waiting = [value.op()]
    while waiting:
        node = waiting.pop()
        name = type(node).__name__
        if name not in OPERATIONS:
            _refuse(name)
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


def _made_total(value: Any) -> Any:
    """The same condition, with conversions that an engine would make by itself, and fail in, made so that they cannot.

    NaN is null in every column of floating-point numbers. Not a matter of taste: engines skip blocks of rows by their
    least and greatest value, in which NaN may not be counted. Then whether `x >= 65` is true of a NaN depends on the
    *other* rows of its block. Times are compared in microseconds, decimals of different types as floating-point
    numbers.
    """
    return value.op().replace(_made_total_here, filter=_operations().Value).to_expr()


def _made_total_here(node: Any, parts: Any) -> Any:
    import ibis

    operations, micro = _operations(), ibis.dtype("timestamp(6)")
    name = type(node).__name__
    if name in ("IsNull", "NotNull", "Between", "InValues", *COMPARED):
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
    if name in ("Cast", "TryCast"):
        return operations.TryCast(node.arg, to=micro) if odd_time else node
    if name == "InValues":
        alike = _in_one_type(node.value, *node.options)
        return operations.InValues(alike[0], alike[1:])
    if name == "IfElse":
        return operations.IfElse(node.bool_expr, *_in_one_type(node.true_expr, node.false_null_expr))
    if name == "Between":
        return operations.Between(*_in_one_type(node.arg, node.lower_bound, node.upper_bound))
    return type(node)(*_in_one_type(node.left, node.right)) if name in COMPARED else node


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
    return _operations().IfElse(ibis.literal(True), value, ibis.null("boolean"))


def _in_one_type(*nodes: Any) -> tuple[Any, ...]:
    """Numbers of which one is a decimal number, as floating-point numbers, unless all are of one type.

    What Ibis calls decimal(38, 0) may be DuckDB's HUGEINT, which holds more, and fails to become one.
    """
    if not any(node.dtype.is_decimal() for node in nodes):
        return nodes
    kinds = {str(node.dtype(nullable=True)) for node in nodes}
    if len(kinds) == 1 and kinds != {WIDEST}:
        return nodes
    return tuple(
        node if node.dtype.is_float64() or node.dtype.is_null() else node.to_expr().cast("float64").op()
        for node in nodes
    )


def _unless_nan(value: Any) -> Any:
    import ibis

    return ibis.ifelse(value.isnan(), ibis.null(value.type()), value)


def require_base_table(table: Any) -> None:
    """Refuse a table that is not a base table, or a row-wise projection or filter of one."""
    node = table.op()
    while True:
        name = type(node).__name__
        if name not in ROW_WISE_TABLES:
            remedy = REMEDIES.get(name, "give a base table, or a row-wise projection or filter of one")
            raise NotRowWise(f"the table is made by {name}, so one row of it may stem from many; {remedy}.")
        if not hasattr(node, "parent"):
            return
        below = node.parent
        values = node.predicates if name == "Filter" else node.values.values() if name == "Project" else ()
        for value in values:
            require_row_wise(value.to_expr(), below.to_expr())
            if type(value).__name__ != "Field" and _floating(value):
                raise NotRowWise(
                    "the table filters by, or computes with, a column of floating-point numbers, where engines "
                    "differ about NaN; give the table without that, and the condition as where=."
                )
            if type(value).__name__ != "Field" and _made_total(value.to_expr()).op() != value:
                raise NotRowWise(
                    "the table filters by, or computes with, times, decimal numbers or conditions of conditions, in a "
                    "way that engines fail in on some rows, or read differently; give the table without that, and the "
                    "condition as where=."
                )
        node = below


def _require_total(node: Any, name: str) -> None:
    """Refuse operations that an engine may fail in on some value of the operands' types."""
    if name in ("Cast", "TryCast"):
        source, target = kind_of(node.arg.dtype), kind_of(node.to)
        widening = target == "text" or (source in ("number", "truth") and node.to.is_float64())
        known = "other" not in (source, target)
        if source == "timestamp" and target == "text":  # DuckDB's TRY_CAST stops at its first times as well
            raise NotRowWise("a time as text fails on some times; compare with a time: seen >= '2026-01-31 12:00:00'.")
        if not known or (name == "Cast" and not widening):
            raise NotRowWise(
                f"a cast from {node.arg.dtype} to {node.to} fails on values that do not fit; use TRY_CAST(... AS "
                "...) in SQL or .try_cast(...) in Ibis, which makes them null."
            )
    elif name in COMPARED:
        _require_comparable(node.left, node.right)
    elif name == "IfElse":
        _require_comparable(node.true_expr, node.false_null_expr)
    elif name == "Between":
        _require_comparable(node.arg, node.lower_bound)
        _require_comparable(node.arg, node.upper_bound)
    elif name == "InValues":
        for option in node.options:
            _require_comparable(node.value, option)
    elif name in ("StringSQLLike", "StringSQLILike"):
        pattern = getattr(node.pattern, "value", None)
        if not isinstance(pattern, str) or "\\" in pattern or getattr(node, "escape", None):
            raise NotRowWise("LIKE takes a fixed pattern of text, without backslashes or ESCAPE.")
    elif name.startswith("Extract") and kind_of(node.arg.dtype) not in ("date", "timestamp"):
        raise NotRowWise(f"a part of a date needs a date, not {node.arg.dtype}; use TRY_CAST(... AS DATE) first.")


def _require_comparable(left: Any, right: Any) -> None:
    one, other = kind_of(left.dtype), kind_of(right.dtype)
    decimals = left.dtype.is_decimal() != right.dtype.is_decimal()
    literal = type(left).__name__ == "Literal" or type(right).__name__ == "Literal"
    if one != other or one == "other" or (decimals and not literal):
        raise NotRowWise(
            f"comparing {left.dtype} with {right.dtype} makes an engine convert rows, which may fail on some; use "
            "TRY_CAST so that both are of one kind."
        )


def kind_of(dtype: Any) -> str:
    """What values of a type can be compared with: numbers with numbers, dates with dates."""
    if dtype.is_boolean():
        return "truth"
    if dtype.is_numeric():
        return "number"
    if dtype.is_string() or dtype.is_uuid():
        return "text" if dtype.is_string() else "other"
    if dtype.is_date():
        return "date"
    return "timestamp" if dtype.is_timestamp() and dtype.timezone is None else "other"


def _floating(node: Any) -> list[Any]:
    """The columns of floating-point numbers that a value looks at."""
    operations = _operations()
    return [f for f in node.find(operations.Field, filter=operations.Value) if f.dtype.is_floating()]


def _operations() -> Any:
    import ibis

    return ibis.expr.operations


def _parts(node: Any) -> list[Any]:
    parts: list[Any] = []
    for argument in node.args:
        parts += list(argument) if isinstance(argument, tuple) else [argument]
    return parts


def _refuse(name: str) -> NoReturn:
    raise NotRowWise(
        f"{name} is not allowed in a condition: it may look at other rows, change from run to run, or fail on some "
        f"row. A condition is made of {ALLOWED}."
    )


def _guarded(build: Callable[[], Any]) -> Any:
    try:
        return build()
    except Exception as reason:  # built from the schema alone, so the reason is public
        raise InvalidInput(f"the condition cannot be built on this table: {str(reason)[:300]}") from None


# ---- SQL, rebuilt ----


@dataclass(frozen=True)
class _Operand:
    """A value under construction; `untyped` if it is a column of text that a comparison may read as something else."""

    value: Any
    kind: str
    untyped: bool = False
    literal: Any = None


def _from_sql(text: str, source: Source) -> Any:
    import sqlglot

    if len(text) > MOST_TEXT:
        raise InvalidInput(f"the condition has {len(text)} characters; at most {MOST_TEXT} are read.")
    try:
        statements = sqlglot.parse(text, read="duckdb")
    except (sqlglot.errors.SqlglotError, RecursionError):
        raise NotRowWise(
            f"the condition is not SQL that can be read: {text[:200]!r}. Write one such as 'age >= 65'."
        ) from None
    if len(statements) != 1 or statements[0] is None:
        found = "is empty" if statements in ([], [None]) else f"holds {len(statements)} statements"
        raise NotRowWise(f"the condition {found}; give one condition, such as 'age >= 65'.")
    if any(token.text == "!" and token.token_type.name == "NOT" for token in sqlglot.tokenize(text, read="duckdb")):
        raise NotRowWise("engines bind ! differently; write NOT, with parentheses: NOT (a = b).")
    built = _Builder(source).build(statements[0])
    if built.untyped:
        raise InvalidInput("a column of text alone is no condition; compare it, as in \"answer = 'yes'\".")
    return built.value


class _Builder:
    """Rebuilds a parsed condition as Ibis, node by node, from the allowed nodes only."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def build(self, node: Any) -> _Operand:
        name = type(node).__name__
        maker = getattr(self, f"_{name.lower()}", None)
        known = ("this", "expression", *READ.get(name, ()))
        if any(said for part, said in node.args.items() if part not in known) and name != "Column":
            _refuse(node.sql(dialect="duckdb")[:80])
        if name in BINDING:
            self._require_parentheses(node)
        if name in COMPARISONS:
            left, right = self._alike(self.build(node.this), self.build(node.expression))
            return _truth(getattr(left.value, COMPARISONS[name])(right.value))
        if name.lower() in PARTS:
            return self._part(name.lower(), node.this)
        if maker is None:
            _refuse(node.sql(dialect="duckdb")[:80])
        built: _Operand = maker(node)
        return built

    def _require_parentheses(self, node: Any) -> None:
        for part in ("this", "expression", "low", "high"):
            if type(node.args.get(part)).__name__ in (*BINDING, "Not"):
                raise NotRowWise(
                    f"{node.sql(dialect='duckdb')[:80]!r} can be read in two ways; put parentheses around what belongs "
                    "together, as in (a = b) IS NULL."
                )

    # values

    def _column(self, node: Any) -> _Operand:
        import sqlglot.expressions as sql

        if node.args.get("table") is not None or not isinstance(node.this, sql.Identifier):
            raise NotRowWise(f"{node.sql()!r} names a table; name a column of the session's table alone.")
        columns = self.source.columns
        name = node.this.name
        if name not in columns:
            alike = [c for c in columns if c.lower() == name.lower()]
            if len(alike) != 1:
                raise InvalidInput(f"there is no column {name!r}; {self.source.naming}.")
            name = alike[0]
        value = self.source.table[name]
        if kind_of(value.type()) == "timestamp" and value.type().scale == 9:  # ends in 2262, before some literals
            value = value.try_cast("timestamp(6)")
        return _Operand(value, kind_of(value.type()), name in self.source.untyped)

    def _literal(self, node: Any) -> _Operand:
        import ibis

        if node.is_string:
            return _Operand(ibis.literal(node.this, "string"), "text", literal=node.this)
        return _number(node.this)

    def _neg(self, node: Any) -> _Operand:
        inner = node.this
        if type(inner).__name__ != "Literal" or inner.is_string:
            _refuse("arithmetic")
        return _number("-" + inner.this)

    def _boolean(self, node: Any) -> _Operand:
        import ibis

        return _Operand(ibis.literal(bool(node.this)), "truth")

    def _null(self, node: Any) -> _Operand:
        raise InvalidInput("a comparison with NULL is never true in SQL; write IS NULL or IS NOT NULL.")

    def _paren(self, node: Any) -> _Operand:
        return self.build(node.this)

    def _trycast(self, node: Any) -> _Operand:
        return _as_kind(self.build(node.this), _target(node.args["to"]))

    def _cast(self, node: Any) -> _Operand:
        inner = self.build(node.this)
        if inner.literal is None or inner.kind != "text":
            raise NotRowWise("CAST fails on values that do not fit; use TRY_CAST(... AS ...), which makes them null.")
        return _dated(inner, kind_of(_dtype(_target(node.args["to"]))))  # DATE '2026-01-31', a public literal

    def _extract(self, node: Any) -> _Operand:
        return self._part(node.this.name.lower(), node.expression)

    def _part(self, part: str, node: Any) -> _Operand:
        operand = self.build(node)
        if part not in PARTS or operand.kind not in ("date", "timestamp"):
            raise NotRowWise(
                f"the part {part!r} needs a date: EXTRACT(year FROM TRY_CAST(born AS DATE)); parts are "
                f"{', '.join(PARTS)}."
            )
        if operand.kind == "date" and part in ("hour", "minute", "second"):
            raise NotRowWise(f"a date has no {part}; use TRY_CAST(... AS TIMESTAMP).")
        return _Operand(getattr(operand.value, part)(), "number")

    def _tsordstodate(self, node: Any) -> _Operand:  # sqlglot's name for a bare cast inside YEAR(born)
        return self.build(node.this)

    # conditions

    def _and(self, node: Any) -> _Operand:
        return _truth(_joined([self._condition(part) for part in node.flatten(unnest=False)], operator.and_))

    def _or(self, node: Any) -> _Operand:
        return _truth(_joined([self._condition(part) for part in node.flatten(unnest=False)], operator.or_))

    def _not(self, node: Any) -> _Operand:
        return _truth(~self._condition(node.this))

    def _between(self, node: Any) -> _Operand:
        this, low = self._alike(self.build(node.this), self.build(node.args["low"]))
        also, high = self._alike(self.build(node.this), self.build(node.args["high"]))
        return _truth((this.value >= low.value) & (also.value <= high.value))

    def _in(self, node: Any) -> _Operand:
        options = node.args.get("expressions") or []
        if not options or node.args.get("query") is not None or node.args.get("unnest") or node.args.get("field"):
            _refuse("IN with a subquery")
        this = self.build(node.this)
        pairs = [self._alike(this, self.build(option)) for option in options]
        return _truth(_joined([left.value == right.value for left, right in pairs], operator.or_))

    def _like(self, node: Any) -> _Operand:
        return self._pattern(node, "like")

    def _ilike(self, node: Any) -> _Operand:
        return self._pattern(node, "ilike")

    def _pattern(self, node: Any, method: str) -> _Operand:
        this, pattern = self.build(node.this), self.build(node.expression)
        if this.kind != "text" or pattern.kind != "text" or pattern.literal is None:
            raise NotRowWise("LIKE compares a column of text with a fixed pattern, as in \"town LIKE 'New%'\".")
        return _truth(getattr(this.value, method)(pattern.literal))

    def _is(self, node: Any) -> _Operand:
        if type(node.expression).__name__ != "Null":
            _refuse("IS with anything but NULL")
        return _truth(self.build(node.this).value.isnull())

    def _condition(self, node: Any) -> Any:
        operand = self.build(node)
        if operand.kind != "truth":
            raise InvalidInput(f"{node.sql()!r} is not a condition; AND, OR and NOT join conditions.")
        return operand.value

    def _alike(self, left: _Operand, right: _Operand) -> tuple[_Operand, _Operand]:
        """Both operands as one kind: undeclared text is read as what it is compared with; literals adapt to columns."""
        if left.untyped and right.kind != "text":
            left = _as_kind(left, {"number": "float64", "truth": "boolean"}.get(right.kind, right.kind))
        if right.untyped and left.kind != "text":
            right = _as_kind(right, {"number": "float64", "truth": "boolean"}.get(left.kind, left.kind))
        if right.kind == "text" and right.literal is not None and left.kind in ("date", "timestamp"):
            right = _dated(right, left.kind)
        if left.kind == "text" and left.literal is not None and right.kind in ("date", "timestamp"):
            left = _dated(left, right.kind)
        if left.kind == "timestamp" and right.kind == "date" and right.literal is not None:
            right = _dated(right, "timestamp")
        if left.kind != right.kind or left.kind == "other":
            raise NotRowWise(
                f"comparing {left.value.type()} with {right.value.type()} makes an engine convert rows, which may "
                "fail on some; compare what is of one kind, or use TRY_CAST(... AS ...)."
            )
        left, right = _whole(left, right), _whole(right, left)
        kinds = [x.value.type()(nullable=True) for x in (left, right)]
        if left.kind == "number" and kinds[0] != kinds[1] and any(kind.is_decimal() for kind in kinds):
            left, right = (_Operand(x.value.cast("float64"), "number") for x in (left, right))
        return left, right


def _truth(value: Any) -> _Operand:
    return _Operand(value, "truth")


def _number(text: str) -> _Operand:
    import ibis

    try:
        exact = Decimal(text)
    except ArithmeticError:
        raise InvalidInput(f"{text!r} is not a number that can be compared.") from None
    if not abs(exact) < Decimal("1e300"):
        raise InvalidInput(f"{text!r} is too large a number to compare with.")
    if exact != exact.to_integral_value() or "." in text or "e" in text.lower():
        return _Operand(ibis.literal(float(exact), "float64"), "number")
    if -(2**63) <= exact < 2**63:
        return _Operand(ibis.literal(int(exact), "int64"), "number")
    return _Operand(ibis.literal(float(exact), "float64"), "number", literal=int(exact))


def _whole(operand: _Operand, other: _Operand) -> _Operand:
    """A whole number that 64 bits do not hold: compared with floating-point numbers, but not with whole ones."""
    import ibis

    kind = other.value.type()
    if operand.kind != "number" or operand.literal is None or not kind.is_integer():
        return operand
    if kind.is_unsigned_integer() and 0 <= operand.literal < 2**64:
        return _Operand(ibis.literal(operand.literal, "uint64"), "number")
    raise InvalidInput(f"{operand.literal} is more or less than {kind} can hold; compare with a number it can hold.")


def _joined(values: list[Any], join: Callable[[Any, Any], Any]) -> Any:
    """Conditions joined in a balanced tree, so that a long list is not a deep one."""
    while len(values) > 1:
        values = [join(*values[i : i + 2]) if i + 1 < len(values) else values[i] for i in range(0, len(values), 2)]
    return values[0]


def _as_kind(operand: _Operand, target: str) -> _Operand:
    """TRY_CAST: what cannot be read is null; so are NaN and infinities read from text."""
    import ibis

    dtype = _dtype(target)
    if operand.kind == "other":
        raise NotRowWise(f"TRY_CAST cannot read {operand.value.type()}; leave that column out.")
    if str(dtype) == str(operand.value.type()(nullable=True)) == WIDEST:  # Ibis drops it, though a HUGEINT may not fit
        raise InvalidInput("TRY_CAST to DECIMAL(38, 0) changes no number of 38 digits; leave it out.")
    value = operand.value.try_cast(dtype)
    if dtype.is_floating() and operand.kind == "text":
        value = ibis.ifelse(value.isnan() | value.isinf(), ibis.null("float64"), value)
    return _Operand(value, kind_of(dtype))


def _dated(operand: _Operand, kind: str) -> _Operand:
    """A literal of text or a date as a date or time: public, so a wrong one is an error."""
    import ibis

    text = str(operand.literal)
    try:
        if kind == "date":
            return _Operand(ibis.literal(datetime.date.fromisoformat(text)), "date", literal=text)
        if kind == "timestamp":
            moment = datetime.datetime.fromisoformat(text)
            if moment.tzinfo is None:
                return _Operand(ibis.literal(moment), "timestamp", literal=text)
    except ValueError:
        pass
    raise InvalidInput(f"{text!r} is not a date or time; write '2026-01-31' or '2026-01-31 12:00:00'.")


def _target(node: Any) -> str:
    """The type a TRY_CAST names."""
    name = node.this.name.lower() if hasattr(node.this, "name") else str(node.this).lower()
    said = [str(part.this) for part in node.expressions]
    if name == "decimal":
        return f"decimal({', '.join([*said, '0'][:2] if said else ('18', '3'))})"  # as DuckDB reads it
    known = {
        **{"tinyint": "int8", "smallint": "int16", "int": "int32", "bigint": "int64", "double": "float64"},
        **dict.fromkeys(("text", "varchar", "char"), "string"),
        **{"date": "date", "boolean": "boolean"},
        **dict.fromkeys(("timestamp", "timestampntz", "datetime"), "timestamp"),
    }
    if name not in known or (said and known[name] != "string"):
        raise NotRowWise(
            f"TRY_CAST to {node.sql(dialect='duckdb')} is not known here; use BIGINT, DOUBLE, DECIMAL(p, s), TEXT, "
            "BOOLEAN, DATE or TIMESTAMP."
        )
    return known[name]


def _dtype(name: str) -> Any:
    import ibis

    try:
        return ibis.dtype(name)
    except Exception:
        raise InvalidInput(f"there is no type {name}; a DECIMAL has 1 to 38 digits.") from None
