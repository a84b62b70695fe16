"""Parse conditions: SQL text, a function of the table's columns, or an Ibis expression.

Functions and Ibis expressions are converted to SQL text first (`python`, `ibis_values`). The text is parsed and
*rebuilt* from the typed expressions of `expressions`, which read one row and fail on none, so no text of a user ever
reaches an engine. Unknown operations are refused before anything is read. `Where` is the condition of a query.

Conditions have DuckDB's meaning, with these exceptions: decimal numbers are compared as floating-point numbers, so that
a FLOAT of 0.1 is not a DECIMAL of 0.10 (but a literal 0.1 compared with a FLOAT column is the nearest FLOAT); NaN is
null, and so are dates and times outside of the years 1 to 9999; and where DuckDB and the parser bind operators
differently, parentheses are required.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NoReturn

from utmost.backends.source import Source
from utmost.errors import InvalidInput, NotRowWise, UtmostError, shown
from utmost.queries.expressions import values as expr
from utmost.queries.expressions.values import PARTS, Expression
from utmost.queries.predicate.ibis_values import is_ibis, text_of_ibis
from utmost.queries.predicate.parser import parse_sql
from utmost.queries.predicate.python import Term, text_of_function

ALLOWED = (
    "columns, numbers, texts and dates; =, <>, <, <=, >, >=, BETWEEN, IN (list), LIKE, ILIKE, IS NULL, "
    "IS [NOT] DISTINCT FROM, AND, OR, NOT, TRY_CAST, parts of dates such as EXTRACT(year FROM born), days between "
    "dates, + - *, / by a number, abs, least, greatest, CASE, COALESCE, lower, upper, substr, starts_with, ends_with "
    "and contains"
)
TOO_DEEP = "the condition is nested too deeply; write it more plainly, such as a list of values with IN or .isin(...)."
MOST_REMEMBERED = 100
"""How many parsed conditions a table caches."""
MOST_TEXT = 10_000
SPACES_MATTER = ("--", "/*", "\\", "$", "#")
QUOTED = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*")""")
COMPARED = re.compile(r"(?<![<>=!@~&|*^:-])(<=|>=|<>|!=|==|=|<|>)(?![<>=!@~&|*^:])")
COMPARISONS = {"EQ": "=", "NEQ": "<>", "GT": ">", "GTE": ">=", "LT": "<", "LTE": "<="}
BINDING = frozenset((*COMPARISONS, "Between", "In", "Like", "ILike", "Is", "NullSafeEQ", "NullSafeNEQ"))
"""Operators whose precedence differs between engines: one may be an operand of another in parentheses only."""
READ = {
    "Between": ("low", "high"),
    "Literal": ("is_string",),
    "In": ("expressions",),
    **{"Cast": ("to",), "TryCast": ("to", "safe")},
    **{"Coalesce": ("expressions",), "Least": ("expressions", "ignore_nulls")},
    **{"Greatest": ("expressions", "ignore_nulls"), "Case": ("ifs", "default"), "If": ("true",)},
    **{"Substring": ("start", "length"), "DateDiff": ("unit",), "Div": ("typed", "safe")},
}
"""The arguments of a parsed node that are read, besides `this` and `expression`; a node with others is refused."""


def refuse(name: str) -> NoReturn:
    """Raise `NotRowWise` for an unknown operation."""
    raise NotRowWise(
        f"{name} is not allowed in a condition: it may look at other rows, change from run to run, or fail on some "
        f"row. A condition is made of {ALLOWED}."
    )


@dataclass(frozen=True)
class Where:
    """The condition of a query; without a text, every row.

    Attributes
    ----------
    text : str, optional
        SQL with normalised spaces: what is parsed, what is shown and what the ledger compares.
    """

    text: str | None = None

    def __bool__(self) -> bool:
        return self.text is not None

    def __str__(self) -> str:
        return self.text or "every row"


EVERY_ROW = Where()


def as_where(where: Any, source: Source) -> Where:
    """Check a condition and return it with its text; None is every row."""
    if where is None:
        return EVERY_ROW
    text = as_text(where, source)
    as_condition(text, source)
    return Where(spaced(text))


def spaced(text: str) -> str:
    """Normalise the spaces of SQL, so that a query is the same however it was typed.

    Text in quotes stays as it is, and so does a text with comments or escapes, of which spaces might be a part.

    Examples
    --------
    >>> spaced("age>=65 AND  town IN ( 'a  b','c' )")
    "age >= 65 AND town IN ('a  b', 'c')"
    """
    if any(sign in text for sign in SPACES_MATTER):
        return text.strip()
    parts = QUOTED.split(text)  # every second part is in quotes
    for i in range(0, len(parts), 2):
        part = COMPARED.sub(r" \1 ", re.sub(r"[ \t\r\n]+", " ", parts[i]))
        part = re.sub(r" ?, ?", ", ", re.sub(r" +", " ", part))
        parts[i] = re.sub(r"\( ", "(", re.sub(r" \)", ")", part))
    return "".join(parts).strip()


def where_from_text(text: Any) -> Where:
    """The condition of a saved query."""
    if text is not None and not isinstance(text, str):
        raise InvalidInput(f"the condition is {shown(text)}; a saved question holds it as text.")
    return Where(text)


def as_text(where: Any, source: Source) -> str:
    """The SQL text of a condition that is SQL, a function of the table's columns, or an Ibis expression."""
    if isinstance(where, str):
        return str.__str__(where)  # the plain text of a string Enum
    if isinstance(where, Term):
        return repr(where)
    try:
        if is_ibis(where):
            return text_of_ibis(where, source)
        if callable(where):
            return text_of_function(where, source)
    except RecursionError:
        raise InvalidInput(TOO_DEEP) from None
    raise InvalidInput(
        f"the condition is {shown(where)}; give SQL text such as 'age >= 65', or a function of the table such as "
        "lambda t: t.age >= 65."
    )


def as_condition(where: Any, source: Source) -> Expression:
    """Build a condition that reads one row and fails on none; raises `NotRowWise` if that is impossible.

    A query needs its condition several times; parsed conditions are cached.
    """
    text = as_text(where, source)
    if text in source.conditions:
        return source.conditions[text]
    condition = _guarded(lambda: _condition(text, source))
    if len(source.conditions) >= MOST_REMEMBERED:
        source.conditions.clear()
    source.conditions[text] = condition
    return condition


def _condition(text: str, source: Source) -> Expression:
    condition = _parsed(text, source, "condition")
    if condition.type.undeclared:
        raise InvalidInput("a column of text alone is no condition; compare it, as in \"answer = 'yes'\".")
    if condition.type.kind != "boolean":
        raise InvalidInput("the condition does not say yes or no of a row; compare something, as in 'age >= 65'.")
    return expr.user_condition(source.require_supported(condition))


def as_number(text: str, source: Source) -> Expression:
    """Build a numeric expression from SQL such as "hours * 60", by the rules for conditions."""

    def number() -> Expression:
        value = _parsed(text, source, "expression")
        if value.type.undeclared:
            value = expr.try_cast(value, "float64")
        if not value.type.is_number:
            raise InvalidInput(f"{shown(text)} is {value.type}, not a number; give such as 'hours * 60'.")
        return source.require_supported(value)

    return _guarded(number)


def as_value(text: str, source: Source) -> Expression:
    """Build an expression of any kind from SQL, by the rules for conditions."""
    return _guarded(lambda: source.require_supported(_parsed(text, source, "expression")))


def _guarded(build: Callable[[], Expression]) -> Expression:
    try:
        return build()
    except RecursionError:
        raise InvalidInput(TOO_DEEP) from None
    except UtmostError:
        raise
    except Exception:  # such as an error of the parser
        pass
    raise InvalidInput("the condition cannot be built on this table; compare columns with values of their own type.")


# ---- SQL, rebuilt ----


def _parsed(text: str, source: Source, what: str) -> Expression:
    """Parse one condition or expression and rebuild it."""
    import sqlglot

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
        problem = "is empty" if statements in ([], [None]) else f"holds {len(statements)} statements"
        raise NotRowWise(f"the condition {problem}; give one condition, such as 'age >= 65'.")
    if any(token.text == "!" and token.token_type.name == "NOT" for token in sqlglot.tokenize(text, read="duckdb")):
        raise NotRowWise("engines bind ! differently; write NOT, with parentheses: NOT (a = b).")
    return Builder(source).build(statements[0])


class Builder:
    """Rebuilds parsed SQL as typed expressions, node by node; unknown nodes are refused.

    Parameters
    ----------
    source : Source
        The table whose columns the SQL may name.
    """

    def __init__(self, source: Source) -> None:
        self.source = source

    def build(self, node: Any) -> Expression:
        """The typed expression for a node of parsed SQL."""
        name = type(node).__name__
        maker = getattr(self, f"_{name.lower()}", None)
        read_parts = ("this", "expression", *READ.get(name, ()))
        if any(content for part, content in node.args.items() if part not in read_parts) and name != "Column":
            refuse(node.sql(dialect="duckdb")[:80])
        if name in BINDING:
            self._require_parentheses(node)
        if name in COMPARISONS:
            return expr.compare(COMPARISONS[name], self.build(node.this), self.build(node.expression))
        if name.lower() in PARTS:
            return expr.date_part(self.build(node.this), name.lower())
        if maker is None:
            refuse(node.sql(dialect="duckdb")[:80])
        expression: Expression = maker(node)
        return expression

    def _require_parentheses(self, node: Any) -> None:
        for part in ("this", "expression", "low", "high"):
            if type(node.args.get(part)).__name__ in (*BINDING, "Not"):
                raise NotRowWise(
                    f"{node.sql(dialect='duckdb')[:80]!r} can be read in two ways; put parentheses around what belongs "
                    "together, as in (a = b) IS NULL."
                )

    # values

    def _column(self, node: Any) -> Expression:
        import sqlglot.expressions as sql

        if node.args.get("table") is not None or not isinstance(node.this, sql.Identifier):
            raise NotRowWise(f"{shown(node.sql())} names a table; name a column of the session's table alone.")
        columns = self.source.columns
        name = node.this.name
        matches = [c for c in columns if c.lower() == name.lower()]
        if name not in columns and len(matches) == 1:
            name = matches[0]
        return self.source.column(name)

    def _literal(self, node: Any) -> Expression:
        return expr.literal(node.this) if node.is_string else expr.number_from_text(node.this)

    def _neg(self, node: Any) -> Expression:
        inner = node.this
        if type(inner).__name__ != "Literal" or inner.is_string:
            return expr.negate(self._computable(inner))
        return expr.number_from_text("-" + inner.this)

    def _boolean(self, node: Any) -> Expression:
        return expr.literal(bool(node.this))

    def _null(self, node: Any) -> Expression:
        raise InvalidInput("a comparison with NULL is never true in SQL; write IS NULL or IS NOT NULL.")

    def _paren(self, node: Any) -> Expression:
        return self.build(node.this)

    def _trycast(self, node: Any) -> Expression:
        return expr.try_cast(self.build(node.this), type_of_cast(node.args["to"]))

    def _cast(self, node: Any) -> Expression:
        inner, target = self.build(node.this), type_of_cast(node.args["to"])
        if inner.is_literal and inner.type.kind == "text":  # DATE '2026-01-31', a public literal
            return expr.date_literal(inner, expr.type_from_name(target).kind)
        widening = inner.type.is_number and target == "float64"
        if inner.is_literal or widening or (inner.type.kind in ("integer", "text", "boolean") and target == "string"):
            return expr.try_cast(inner, target)
        raise NotRowWise("CAST fails on values that do not fit; use TRY_CAST(... AS ...), which makes them null.")

    def _extract(self, node: Any) -> Expression:
        return expr.date_part(self.build(node.expression), node.this.name.lower())

    # computed values

    def _computable(self, node: Any) -> Expression:
        """An operand of arithmetic, which must be a number."""
        value = self.build(node)
        value = expr.try_cast(value, "float64") if value.type.undeclared else value
        if not value.type.is_number:
            raise NotRowWise(
                f"{shown(node.sql(dialect='duckdb')[:80])} is {value.type}, and arithmetic is done with numbers; use "
                "TRY_CAST(... AS DOUBLE), or date_diff('day', a, b) for dates."
            )
        return value

    def _add(self, node: Any) -> Expression:
        return expr.arithmetic("add", self._computable(node.this), self._computable(node.expression))

    def _mul(self, node: Any) -> Expression:
        return expr.arithmetic("multiply", self._computable(node.this), self._computable(node.expression))

    def _sub(self, node: Any) -> Expression:
        left, right = self.build(node.this), self.build(node.expression)
        if "date" in (left.type.kind, right.type.kind):
            return expr.days_between(left, right)
        return expr.arithmetic("subtract", self._computable(node.this), self._computable(node.expression))

    def _div(self, node: Any) -> Expression:
        by = node.expression.this if type(node.expression).__name__ == "Neg" else node.expression
        if type(by).__name__ != "Literal" or by.is_string:
            raise NotRowWise("a division is by a fixed number, as in hours / 24: a column may hold 0.")
        number = float(Decimal(by.this)) * (1 if by is node.expression else -1)
        if not 1e-18 <= abs(number) <= 1e18:
            raise NotRowWise("a division is by a number from 1e-18 to 1e18, and not by 0.")
        return expr.divide(self._computable(node.this), number)

    def _abs(self, node: Any) -> Expression:
        return expr.absolute(self._computable(node.this))

    def _datediff(self, node: Any) -> Expression:
        unit = str(node.args.get("unit") or "day").strip("'").lower()
        if unit != "day":
            raise NotRowWise(f"a difference of dates is in days, not in {unit}: date_diff('day', born, seen).")
        return expr.days_between(self.build(node.this), self.build(node.expression))

    def _least(self, node: Any) -> Expression:
        return expr.least(*map(self.build, (node.this, *node.expressions)))

    def _greatest(self, node: Any) -> Expression:
        return expr.greatest(*map(self.build, (node.this, *node.expressions)))

    def _coalesce(self, node: Any) -> Expression:
        return expr.coalesce(*map(self.build, (node.this, *node.expressions)))

    def _case(self, node: Any) -> Expression:
        if node.this is not None:
            raise NotRowWise("write CASE with conditions: CASE WHEN town = 'Ash' THEN 1 ELSE 0 END.")
        default = node.args.get("default")
        branches = [
            (expr.user_condition(self._condition(branch.this)), self.build(branch.args["true"]))
            for branch in node.args["ifs"]
        ]
        return expr.case(branches, self.build(default) if default else None)

    def _lower(self, node: Any) -> Expression:
        return expr.letters(self._text(node.this), lower=True)

    def _upper(self, node: Any) -> Expression:
        return expr.letters(self._text(node.this), lower=False)

    def _substring(self, node: Any) -> Expression:
        start, length = node.args.get("start"), node.args.get("length")
        places = [str(part.this) if type(part).__name__ == "Literal" else "" for part in (start, length)]
        if not all(place.isascii() and place.isdecimal() and len(place) < 10 for place in places) or int(places[0]) < 1:
            raise NotRowWise("substr takes a fixed start, from 1 on, and a fixed length: substr(town, 1, 3).")
        return expr.substring(self._text(node.this), int(places[0]), int(places[1]))

    def _text(self, node: Any) -> Expression:
        value = self.build(node)
        if value.type.kind != "text":
            raise NotRowWise(f"{shown(node.sql(dialect='duckdb')[:80])} is no text; lower, upper and substr take text.")
        return value

    # conditions

    def _and(self, node: Any) -> Expression:
        return expr.all_of(*(self._condition(part) for part in node.flatten(unnest=False)))

    def _or(self, node: Any) -> Expression:
        return expr.any_of(*(self._condition(part) for part in node.flatten(unnest=False)))

    def _not(self, node: Any) -> Expression:
        return ~self._condition(node.this)

    def _between(self, node: Any) -> Expression:
        this, low, high = (self.build(part) for part in (node.this, node.args["low"], node.args["high"]))
        return expr.compare(">=", this, low) & expr.compare("<=", this, high)

    def _in(self, node: Any) -> Expression:
        options = node.args.get("expressions") or []
        if not options:
            raise NotRowWise("IN () lists nothing; list values, as in town IN ('Briar', 'Ash').")
        return expr.is_in(self.build(node.this), [self.build(option) for option in options])

    def _like(self, node: Any) -> Expression:
        return expr.like(self.build(node.this), self.build(node.expression))

    def _ilike(self, node: Any) -> Expression:
        return expr.like(self.build(node.this), self.build(node.expression), any_case=True)

    def _startswith(self, node: Any) -> Expression:
        return expr.text_test("starts_with", self.build(node.this), self.build(node.expression))

    def _endswith(self, node: Any) -> Expression:
        return expr.text_test("ends_with", self.build(node.this), self.build(node.expression))

    def _contains(self, node: Any) -> Expression:
        return expr.text_test("contains", self.build(node.this), self.build(node.expression))

    def _is(self, node: Any) -> Expression:
        if type(node.expression).__name__ != "Null":
            refuse("IS with anything but NULL")
        return expr.is_null(self.build(node.this))

    def _nullsafeeq(self, node: Any) -> Expression:
        return expr.compare("same", self.build(node.this), self.build(node.expression))

    def _nullsafeneq(self, node: Any) -> Expression:
        return ~expr.compare("same", self.build(node.this), self.build(node.expression))

    def _condition(self, node: Any) -> Expression:
        value = self.build(node)
        if value.type.kind != "boolean":
            raise InvalidInput(f"{shown(node.sql())} is not a condition; AND, OR and NOT join conditions.")
        return value


def type_of_cast(node: Any) -> str:
    """The name of the type in a TRY_CAST."""
    name = node.this.name.lower() if hasattr(node.this, "name") else str(node.this).lower()
    arguments = [str(part.this) for part in node.expressions]
    if name == "decimal":
        return f"decimal({', '.join([*arguments, '0'][:2] if arguments else ('18', '3'))})"  # as DuckDB reads it
    types = {
        **{"tinyint": "int8", "smallint": "int16", "int": "int32", "bigint": "int64", "double": "float64"},
        **dict.fromkeys(("text", "varchar", "char"), "string"),
        **{"date": "date", "boolean": "boolean"},
        **dict.fromkeys(("timestamp", "timestampntz", "datetime"), "timestamp"),
    }
    if name not in types or (arguments and types[name] != "string"):
        raise NotRowWise(
            f"TRY_CAST to {node.sql(dialect='duckdb')} is not known here; use BIGINT, DOUBLE, DECIMAL(p, s), TEXT, "
            "BOOLEAN, DATE or TIMESTAMP."
        )
    return types[name]
