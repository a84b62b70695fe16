"""Conditions as people give them: SQL text, an Ibis expression, or a function of the Ibis table.

SQL is parsed and *rebuilt* as Ibis from the allowed operations only, so no text of a user ever reaches an engine; then
all of them take one road, on which the table proves that they look at one row and fail on none (`Source.proved`). What
is not listed is refused before anything is read. `Where` is a condition as questions carry it: its text, which is
public, and what the engine's expression is built from.

In SQL they mean what they mean in DuckDB, but for three things. Decimal numbers of different types, and all of 38
digits before the point, are compared as floating-point numbers, so that a FLOAT of 0.1 is not a DECIMAL of 0.10 (but a
0.1 that is written beside a column of FLOAT is the nearest FLOAT); NaN is null; and where DuckDB and the parser bind
operators differently, parentheses are asked for.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from utmost.errors import InvalidInput, NotRowWise, UtmostError, shown
from utmost.release.allowed import OF_INSTANTS, PARTS, refuse
from utmost.release.conditions.parser import parse_sql
from utmost.release.conditions.typed import Operand, as_kind, dated, moment_of, named_type, type_named
from utmost.release.source import Source, import_ibis, kind_of

TOO_DEEP = "the condition is nested too deeply; write it more plainly, such as a list of values with IN or .isin(...)."
MOST_REMEMBERED = 100
"""How many parsed conditions a table keeps."""
MOST_TEXT = 10_000
SPACES_MATTER = ("--", "/*", "\\", "$", "#")
QUOTED = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*")""")
COMPARED = re.compile(r"(?<![<>=!@~&|*^:-])(<=|>=|<>|!=|==|=|<|>)(?![<>=!@~&|*^:])")
COMPARISONS = {"EQ": "__eq__", "NEQ": "__ne__", "GT": "__gt__", "GTE": "__ge__", "LT": "__lt__", "LTE": "__le__"}
BINDING = frozenset((*COMPARISONS, "Between", "In", "Like", "ILike", "Is"))
"""Operators that engines bind in different orders: one is an operand of another in parentheses only."""
READ = {
    "Between": ("low", "high"),
    "Literal": ("is_string",),
    "In": ("expressions",),
    **{"Cast": ("to",), "TryCast": ("to", "safe")},
    **{"Coalesce": ("expressions",), "Least": ("expressions", "ignore_nulls")},
    **{"Greatest": ("expressions", "ignore_nulls"), "Case": ("ifs", "default"), "If": ("true",)},
    **{"Substring": ("start", "length"), "DateDiff": ("unit",), "Div": ("typed", "safe")},
}
"""What is read of a node of parsed SQL, besides `this` and `expression`; a node that says more is refused."""


@dataclass(frozen=True)
class Where:
    """Which rows a question is about; without a text, every row.

    Attributes
    ----------
    text : SQL as it was given, evenly spaced, or the engine's SQL of an Ibis condition: what is shown and what the
        ledger compares
    given : SQL text, or an Ibis condition: what the engine is asked with
    """

    text: str | None = None
    given: Any = field(default=None, repr=False, compare=False)  # an interactive Ibis would print rows

    def __bool__(self) -> bool:
        return self.text is not None

    def __str__(self) -> str:
        return self.text or "every row"


EVERY_ROW = Where()


def as_where(where: Any, source: Source) -> Where:
    """A condition with its text, once it is known to be one; None is every row."""
    if where is None:
        return EVERY_ROW
    condition = as_condition(where, source)
    if isinstance(where, str):
        return Where(spaced(str.__str__(where)), where)
    try:
        compiled = source.sql(source.table.select(condition=condition))
    except RecursionError:
        raise InvalidInput(TOO_DEEP) from None
    return Where(compiled.removeprefix("SELECT ").rpartition(' AS "condition" FROM ')[0], where)


def spaced(text: str) -> str:
    """SQL with one space where there is any, and around comparisons: the same question, however it was typed.

    What stands in quotes stays as it is, and so does a text whose comments or escapes spaces might be part of.

    Examples
    --------
    >>> spaced("age>=65 AND  town IN ( 'a  b','c' )")
    "age >= 65 AND town IN ('a  b', 'c')"
    """
    if any(sign in text for sign in SPACES_MATTER):
        return text.strip()
    parts = QUOTED.split(text)  # every second one is in quotes
    for i in range(0, len(parts), 2):
        part = COMPARED.sub(r" \1 ", re.sub(r"[ \t\r\n]+", " ", parts[i]))
        part = re.sub(r" ?, ?", ", ", re.sub(r" +", " ", part))
        parts[i] = re.sub(r"\( ", "(", re.sub(r" \)", ")", part))
    return "".join(parts).strip()


def where_from_text(text: Any) -> Where:
    """The condition of a saved question: its text serves as what is asked, too."""
    if text is not None and not isinstance(text, str):
        raise InvalidInput(f"the condition is {shown(text)}; a saved question holds it as text.")
    return Where(text, text)


def as_condition(where: Any, source: Source) -> Any:
    """The condition as a boolean Ibis column of the table, proved row-wise and total; `NotRowWise` otherwise.

    A question needs it several times; text is parsed once.
    """
    if isinstance(where, str) and where in source.conditions:
        return source.conditions[where]
    try:
        built = _checked(where, source)
        if isinstance(where, str):
            if len(source.conditions) >= MOST_REMEMBERED:
                source.conditions.clear()
            source.conditions[where] = built
        return built
    except RecursionError:
        raise InvalidInput(TOO_DEEP) from None
    except UtmostError:
        raise
    except Exception:  # Ibis' words would show rows, if it is interactive
        pass
    raise InvalidInput("the condition cannot be built on this table; compare columns with values of their own type.")


def as_number(text: str, source: Source) -> Any:
    """An expression of the table's columns in SQL, such as "hours * 60", as a column of numbers; proved row-wise."""
    try:
        value = number_from_sql(text, source)
        return source.proved(value)
    except RecursionError:
        raise InvalidInput(TOO_DEEP) from None


def _checked(where: Any, source: Source) -> Any:
    import ibis

    table = source.table
    if isinstance(where, str):
        value = from_sql(where, source)
    elif isinstance(where, ibis.expr.types.Value):
        value = where
    elif isinstance(where, ibis.common.deferred.Deferred):
        value = _guarded(lambda: where.resolve(table), source)
    elif callable(where):
        value = _guarded(lambda: where(table), source)
    else:
        raise InvalidInput(
            f"the condition is {shown(where)}; give SQL text such as 'age >= 65', or a function of the table such as "
            "lambda t: t.age >= 65."
        )
    if not isinstance(value, ibis.expr.types.Value) or not value.type().is_boolean():
        raise InvalidInput("the condition does not say yes or no of a row; compare something, as in 'age >= 65'.")
    return source.proved(value)


def _guarded(build: Callable[[], Any], source: Source) -> Any:
    """What a user's function makes of the table; the words of its error are not repeated.

    Ibis' errors show what they are about, and an interactive Ibis shows rows of it.
    """
    try:
        return build()
    except RecursionError:
        raise
    except Exception as reason:
        kind, asked = type(reason).__name__, getattr(reason, "name", None)
        of_table = isinstance(getattr(reason, "obj", None), import_ibis().expr.types.Table)
    if kind == "AttributeError" and isinstance(asked, str) and asked.isidentifier():
        what = "column" if of_table else "column or method"
        raise InvalidInput(f"the condition asks for {shown(asked)}, and there is no such {what}; {source.naming}.")
    raise InvalidInput(
        f"the condition cannot be built on this table: {kind}. Compare columns that it has with values of their own "
        f"type, as in lambda t: t.age >= 65; {source.naming}."
    )


# ---- SQL, rebuilt ----


def from_sql(text: str, source: Source) -> Any:
    """A condition in SQL as an Ibis value of the table."""
    built = _parsed(text, source, "condition")
    if built.untyped:
        raise InvalidInput("a column of text alone is no condition; compare it, as in \"answer = 'yes'\".")
    return built.value


def number_from_sql(text: str, source: Source) -> Any:
    """An expression in SQL as an Ibis number of the table."""
    built = _parsed(text, source, "expression")
    if built.untyped:
        built = as_kind(built, "float64")
    if built.kind != "number":
        raise InvalidInput(f"{shown(text)} is {built.value.type()}, not a number; give such as 'hours * 60'.")
    return built.value


def _parsed(text: str, source: Source, what: str) -> Operand:
    """One condition or expression, rebuilt."""
    import sqlglot

    text = str.__str__(text)  # of a text that is also an Enum, what it says
    if len(text) > MOST_TEXT:
        raise InvalidInput(
            f"the {what} has {len(text)} characters, and at most {MOST_TEXT} are read; write a shorter one, or make "
            "a column of it beforehand."
        )
    try:
        statements = parse_sql(text)
    except (sqlglot.errors.SqlglotError, RecursionError):
        raise NotRowWise(
            f"the condition is not SQL that can be read: {shown(text)}. Write one such as 'age >= 65'."
        ) from None
    if len(statements) != 1 or statements[0] is None:
        found = "is empty" if statements in ([], [None]) else f"holds {len(statements)} statements"
        raise NotRowWise(f"the condition {found}; give one condition, such as 'age >= 65'.")
    if any(token.text == "!" and token.token_type.name == "NOT" for token in sqlglot.tokenize(text, read="duckdb")):
        raise NotRowWise("engines bind ! differently; write NOT, with parentheses: NOT (a = b).")
    return _Builder(source).build(statements[0])


class _Builder:
    """Rebuilds a parsed condition as Ibis, node by node, from the allowed nodes only."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def build(self, node: Any) -> Operand:
        name = type(node).__name__
        maker = getattr(self, f"_{name.lower()}", None)
        known = ("this", "expression", *READ.get(name, ()))
        if any(said for part, said in node.args.items() if part not in known) and name != "Column":
            refuse(node.sql(dialect="duckdb")[:80])
        if name in BINDING:
            self._require_parentheses(node)
        if name in COMPARISONS:
            left, right = self._alike(self.build(node.this), self.build(node.expression))
            return _truth(getattr(left.value, COMPARISONS[name])(right.value))
        if name.lower() in PARTS:
            return self._part(name.lower(), node.this)
        if maker is None:
            refuse(node.sql(dialect="duckdb")[:80])
        built: Operand = maker(node)
        return built

    def _require_parentheses(self, node: Any) -> None:
        for part in ("this", "expression", "low", "high"):
            if type(node.args.get(part)).__name__ in (*BINDING, "Not"):
                raise NotRowWise(
                    f"{node.sql(dialect='duckdb')[:80]!r} can be read in two ways; put parentheses around what belongs "
                    "together, as in (a = b) IS NULL."
                )

    # values

    def _column(self, node: Any) -> Operand:
        import sqlglot.expressions as sql

        if node.args.get("table") is not None or not isinstance(node.this, sql.Identifier):
            raise NotRowWise(f"{shown(node.sql())} names a table; name a column of the session's table alone.")
        columns = self.source.columns
        name = node.this.name
        alike = [c for c in columns if c.lower() == name.lower()]
        if name not in columns and len(alike) == 1:
            name = alike[0]
        value = self.source.column(name)
        if kind_of(value.type()) == "timestamp" and value.type().scale == 9:  # ends in 2262, before some literals
            value = value.try_cast("timestamp(6)")
        return Operand(value, kind_of(value.type()), name in self.source.untyped)

    def _literal(self, node: Any) -> Operand:
        import ibis

        if node.is_string:
            return Operand(ibis.literal(node.this, "string"), "text", literal=node.this)
        return _number(node.this)

    def _neg(self, node: Any) -> Operand:
        inner = node.this
        if type(inner).__name__ != "Literal" or inner.is_string:
            return Operand(-self._computable(inner), "number")
        return _number("-" + inner.this)

    def _boolean(self, node: Any) -> Operand:
        import ibis

        return Operand(ibis.literal(bool(node.this)), "truth")

    def _null(self, node: Any) -> Operand:
        raise InvalidInput("a comparison with NULL is never true in SQL; write IS NULL or IS NOT NULL.")

    def _paren(self, node: Any) -> Operand:
        return self.build(node.this)

    def _trycast(self, node: Any) -> Operand:
        return as_kind(self.build(node.this), named_type(node.args["to"]))

    def _cast(self, node: Any) -> Operand:
        inner = self.build(node.this)
        if inner.literal is None or inner.kind != "text":
            raise NotRowWise("CAST fails on values that do not fit; use TRY_CAST(... AS ...), which makes them null.")
        return dated(inner, kind_of(type_named(named_type(node.args["to"]))))  # DATE '2026-01-31', a public literal

    def _extract(self, node: Any) -> Operand:
        return self._part(node.this.name.lower(), node.expression)

    def _part(self, part: str, node: Any) -> Operand:
        operand = self.build(node)
        if operand.kind == "instant":
            raise NotRowWise(OF_INSTANTS)
        if part not in PARTS or operand.kind not in ("date", "timestamp"):
            raise NotRowWise(
                f"the part {part!r} needs a date: EXTRACT(year FROM TRY_CAST(born AS DATE)); parts are "
                f"{', '.join(PARTS)}."
            )
        if operand.kind == "date" and part in ("hour", "minute", "second"):
            raise NotRowWise(f"a date has no {part}; use TRY_CAST(... AS TIMESTAMP).")
        return Operand(getattr(operand.value, part)(), "number")

    # computed values

    def _computable(self, node: Any) -> Any:
        """A number to compute with."""
        operand = self.build(node)
        operand = as_kind(operand, "float64") if operand.untyped else operand
        if operand.kind != "number":
            raise NotRowWise(
                f"{shown(node.sql(dialect='duckdb')[:80])} is {operand.value.type()}, and arithmetic is done with "
                "numbers; use TRY_CAST(... AS DOUBLE), or date_diff('day', a, b) for dates."
            )
        value = operand.value
        return value.cast("float64") if value.type().is_decimal() else value

    def _add(self, node: Any) -> Operand:
        return Operand(self._computable(node.this) + self._computable(node.expression), "number")

    def _mul(self, node: Any) -> Operand:
        return Operand(self._computable(node.this) * self._computable(node.expression), "number")

    def _sub(self, node: Any) -> Operand:
        left, right = self.build(node.this), self.build(node.expression)
        if "date" in (left.kind, right.kind):
            return self._days(left, right)
        return Operand(self._computable(node.this) - self._computable(node.expression), "number")

    def _div(self, node: Any) -> Operand:
        import ibis

        by = node.expression.this if type(node.expression).__name__ == "Neg" else node.expression
        if type(by).__name__ != "Literal" or by.is_string:
            raise NotRowWise("a division is by a fixed number, as in hours / 24: a column may hold 0.")
        number = float(Decimal(by.this)) * (1 if by is node.expression else -1)
        if not 1e-18 <= abs(number) <= 1e18:
            raise NotRowWise("a division is by a number from 1e-18 to 1e18, and not by 0.")
        return Operand(self._computable(node.this).cast("float64") / ibis.literal(number, "float64"), "number")

    def _abs(self, node: Any) -> Operand:
        return Operand(self._computable(node.this).abs(), "number")

    def _datediff(self, node: Any) -> Operand:
        unit = str(node.args.get("unit") or "day").strip("'").lower()
        if unit != "day":
            raise NotRowWise(f"a difference of dates is in days, not in {unit}: date_diff('day', born, seen).")
        return self._days(self.build(node.this), self.build(node.expression))

    def _days(self, left: Operand, right: Operand) -> Operand:
        """Days from the right date to the left one."""
        dates = []
        for one in (left, right):
            if one.untyped:
                one = as_kind(one, "date")
            elif one.kind == "text" and one.literal is not None:
                one = dated(one, "date")
            if one.kind != "date":
                raise NotRowWise("a difference of dates needs two dates; use TRY_CAST(... AS DATE) first.")
            dates.append(one.value)
        return Operand(dates[0].delta(dates[1], unit="day"), "number")

    def _alternatives(self, nodes: list[Any]) -> list[Operand]:
        """Values of one kind, of which one is taken."""
        made = [self.build(node) for node in nodes]
        first = made[0]
        for place, other in enumerate(made[1:], 1):
            first, made[place] = self._alike(first, other)
        return [self._alike(one, first)[0] for one in made]

    def _least(self, node: Any) -> Operand:
        return self._chosen(node, "least")

    def _greatest(self, node: Any) -> Operand:
        return self._chosen(node, "greatest")

    def _coalesce(self, node: Any) -> Operand:
        return self._chosen(node, "coalesce")

    def _chosen(self, node: Any, name: str) -> Operand:
        import ibis

        made = self._alternatives([node.this, *node.expressions])
        return Operand(getattr(ibis, name)(*(one.value for one in made)), made[0].kind)

    def _case(self, node: Any) -> Operand:
        import ibis

        if node.this is not None:
            raise NotRowWise("write CASE with conditions: CASE WHEN town = 'Ash' THEN 1 ELSE 0 END.")
        default = node.args.get("default")
        made = self._alternatives([*(each.args["true"] for each in node.args["ifs"]), *([default] if default else [])])
        found = made.pop().value if default else ibis.null(made[0].value.type())
        for each, one in reversed(list(zip(node.args["ifs"], made, strict=True))):
            found = ibis.ifelse(self._condition(each.this), one.value, found)
        return Operand(found, made[0].kind)

    def _lower(self, node: Any) -> Operand:
        return Operand(self._text(node.this).lower(), "text")

    def _upper(self, node: Any) -> Operand:
        return Operand(self._text(node.this).upper(), "text")

    def _substring(self, node: Any) -> Operand:
        start, length = node.args.get("start"), node.args.get("length")
        places = [str(part.this) if type(part).__name__ == "Literal" else "" for part in (start, length)]
        if not all(place.isdecimal() and len(place) < 10 for place in places) or int(places[0]) < 1:
            raise NotRowWise("substr takes a fixed start, from 1 on, and a fixed length: substr(town, 1, 3).")
        return Operand(self._text(node.this).substr(int(places[0]) - 1, int(places[1])), "text")

    def _text(self, node: Any) -> Any:
        operand = self.build(node)
        if operand.kind != "text":
            raise NotRowWise(f"{shown(node.sql(dialect='duckdb')[:80])} is no text; lower, upper and substr take text.")
        return operand.value

    # conditions

    def _and(self, node: Any) -> Operand:
        return _truth(_joined([self._condition(part) for part in node.flatten(unnest=False)], operator.and_))

    def _or(self, node: Any) -> Operand:
        return _truth(_joined([self._condition(part) for part in node.flatten(unnest=False)], operator.or_))

    def _not(self, node: Any) -> Operand:
        return _truth(~self._condition(node.this))

    def _between(self, node: Any) -> Operand:
        this, low = self._alike(self.build(node.this), self.build(node.args["low"]))
        also, high = self._alike(self.build(node.this), self.build(node.args["high"]))
        return _truth((this.value >= low.value) & (also.value <= high.value))

    def _in(self, node: Any) -> Operand:
        import ibis

        options = node.args.get("expressions") or []
        if not options:
            raise NotRowWise("IN () lists nothing; list values, as in town IN ('Briar', 'Ash').")
        this = self.build(node.this)
        pairs = [self._alike(this, self.build(option)) for option in options]
        if not any(right.value.op().find(ibis.expr.operations.Field) for _, right in pairs):
            return _truth(_joined([left.value.isin(found) for left, found in _by_value(pairs)], operator.or_))
        return _truth(_joined([left.value == right.value for left, right in pairs], operator.or_))

    def _like(self, node: Any) -> Operand:
        return self._pattern(node, "like")

    def _ilike(self, node: Any) -> Operand:
        return self._pattern(node, "ilike")

    def _pattern(self, node: Any, method: str) -> Operand:
        this, pattern = self.build(node.this), self.build(node.expression)
        if this.kind != "text" or pattern.kind != "text" or pattern.literal is None:
            raise NotRowWise("LIKE compares a column of text with a fixed pattern, as in \"town LIKE 'New%'\".")
        return _truth(getattr(this.value, method)(pattern.literal))

    def _is(self, node: Any) -> Operand:
        if type(node.expression).__name__ != "Null":
            refuse("IS with anything but NULL")
        return _truth(self.build(node.this).value.isnull())

    def _condition(self, node: Any) -> Any:
        operand = self.build(node)
        if operand.kind != "truth":
            raise InvalidInput(f"{shown(node.sql())} is not a condition; AND, OR and NOT join conditions.")
        return operand.value

    def _alike(self, left: Operand, right: Operand) -> tuple[Operand, Operand]:
        """Both operands as one kind: undeclared text is read as what it is compared with; literals adapt to columns."""
        if left.untyped and right.kind not in ("text", "instant"):
            left = as_kind(left, {"number": "float64", "truth": "boolean"}.get(right.kind, right.kind))
        if right.untyped and left.kind not in ("text", "instant"):
            right = as_kind(right, {"number": "float64", "truth": "boolean"}.get(left.kind, left.kind))
        if right.kind == "text" and right.literal is not None and left.kind in ("date", "timestamp"):
            right = dated(right, left.kind)
        if left.kind == "text" and left.literal is not None and right.kind in ("date", "timestamp"):
            left = dated(left, right.kind)
        for one, other in ((left, right), (right, left)):
            if one.kind == "instant" and other.literal is not None and other.kind in ("text", "date", "timestamp"):
                moment = moment_of(other)
                left, right = (one, moment) if one is left else (moment, one)
        if left.kind == "timestamp" and right.kind == "date" and right.literal is not None:
            right = dated(right, "timestamp")
        if left.kind != right.kind or left.kind == "other":
            raise NotRowWise(
                f"comparing {left.value.type()} with {right.value.type()} makes an engine convert rows, which may "
                "fail on some; compare what is of one kind, or use TRY_CAST(... AS ...)."
            )
        left, right = _whole(left, right), _whole(right, left)
        kinds = [x.value.type()(nullable=True) for x in (left, right)]
        if left.kind == "number" and kinds[0] != kinds[1] and any(kind.is_decimal() for kind in kinds):
            left, right = (Operand(x.value.cast("float64"), "number") for x in (left, right))
        return left, right


def _by_value(pairs: list[tuple[Operand, Operand]]) -> list[tuple[Operand, list[Any]]]:
    """What each of the values is compared with: one value, unless options are of several kinds."""
    found: dict[Any, tuple[Operand, list[Any]]] = {}
    for left, right in pairs:
        found.setdefault(left.value.op(), (left, []))[1].append(right.value)
    return list(found.values())


def _truth(value: Any) -> Operand:
    return Operand(value, "truth")


def _number(text: str) -> Operand:
    import ibis

    try:
        exact = Decimal(text)
    except ArithmeticError:
        raise InvalidInput(
            f"{shown(text)} is not a number that can be compared; write digits, such as 65 or 6.5e1."
        ) from None
    if not abs(exact) < Decimal("1e300"):
        raise InvalidInput(f"{shown(text)} is too large a number to compare with; give one below 1e300.")
    if exact != exact.to_integral_value() or "." in text or "e" in text.lower():
        return Operand(ibis.literal(float(exact), "float64"), "number")
    if -(2**63) <= exact < 2**63:
        return Operand(ibis.literal(int(exact), "int64"), "number")
    return Operand(ibis.literal(float(exact), "float64"), "number", literal=int(exact))


def _whole(operand: Operand, other: Operand) -> Operand:
    """A whole number that 64 bits do not hold: compared with floating-point numbers, but not with whole ones."""
    import ibis

    kind = other.value.type()
    if operand.kind != "number" or operand.literal is None or not kind.is_integer():
        return operand
    if kind.is_unsigned_integer() and 0 <= operand.literal < 2**64:
        return Operand(ibis.literal(operand.literal, "uint64"), "number")
    raise InvalidInput(f"{operand.literal} is more or less than {kind} can hold; compare with a number it can hold.")


def _joined(values: list[Any], join: Callable[[Any, Any], Any]) -> Any:
    """Conditions joined in a balanced tree, so that a long list is not a deep one."""
    while len(values) > 1:
        values = [join(*values[i : i + 2]) if i + 1 < len(values) else values[i] for i in range(0, len(values), 2)]
    return values[0]
