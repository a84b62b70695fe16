"""Conditions: which rows a question is about, decided for every row by itself and for every row without fail.

A condition is SQL text, an Ibis expression, or a function of the Ibis table. SQL is parsed and *rebuilt* as Ibis, so no
text of a user ever reaches an engine; then both take one road: every operation in the tree must be on the list of those
that look at one row and cannot fail on any. What is not listed is refused before anything is read.

`allowed` holds the list and its reasons, `sql` rebuilds SQL. Here is the proof (`require_row_wise`), which trusts
neither, and what an engine would convert by itself, and fail in, is written so that it cannot (`made_total`). `Where`
is a condition as questions carry it: its text, which is public, and what the engine's expression is built from.
"""

from __future__ import annotations

import datetime
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from utmost.errors import InvalidInput, NotRowWise, UtmostError, shown
from utmost.release.conditions.allowed import (
    ARITHMETIC,
    CHOSEN,
    COMPARED,
    LARGEST,
    MOST_DIGITS,
    OF_INSTANTS,
    OPERATIONS,
    SMALLEST,
    WIDEST,
    refuse,
)
from utmost.release.conditions.sql import from_sql, number_from_sql
from utmost.release.source import Source, kind_of

TOO_DEEP = "the condition is nested too deeply; write it more plainly, such as a list of values with IN or .isin(...)."
DATES = ((1, 1, 1), (9999, 12, 31))
"""The first and the last date that days are counted between."""
MOST_REMEMBERED = 100
"""How many parsed conditions a table keeps."""


@dataclass(frozen=True)
class Where:
    """Which rows a question is about; without a text, every row.

    Attributes
    ----------
    text : SQL as it was given, or the engine's SQL of an Ibis condition: what is shown and what the ledger compares
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
        return Where(str.__str__(where).strip(), where)
    try:
        compiled = source.sql(source.table.select(condition=condition))
    except RecursionError:
        raise InvalidInput(TOO_DEEP) from None
    return Where(compiled.removeprefix("SELECT ").rpartition(' AS "condition" FROM ')[0], where)


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
        return _proved(value, source)
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
    return _proved(value, source)


def _proved(value: Any, source: Source) -> Any:
    """A value of the table that looks at one row and fails on none, as the engine is asked for it."""
    import ibis

    require_row_wise(value, source.table)
    operations = ibis.expr.operations
    source.require_readable({field.name for field in value.op().find(operations.Field, filter=operations.Value)})
    if not value.op().find(ibis.expr.operations.Field):
        raise InvalidInput("it looks at no column, so it is public already: leave such a condition out.")
    return source.adapted(made_total(value))


# ---- the proof ----


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
    elif name in (*ARITHMETIC, *CHOSEN, "Lowercase", "Uppercase", "Substring", "DateDelta"):
        _require_computable(node, name)
    elif name.startswith("Extract") and kind_of(node.arg.dtype) == "instant":
        raise NotRowWise(OF_INSTANTS)
    elif name.startswith("Extract") and kind_of(node.arg.dtype) not in ("date", "timestamp"):
        raise NotRowWise(f"a part of a date needs a date, not {node.arg.dtype}; use TRY_CAST(... AS DATE) first.")


def _require_computable(node: Any, name: str) -> None:
    """Refuse what cannot be computed of every value: numbers with numbers, dates with dates, fixed places of text."""
    if name in ARITHMETIC:
        if any(kind_of(part.dtype) != "number" for part in node.args):
            raise NotRowWise("arithmetic is done with numbers; use TRY_CAST(... AS DOUBLE) first.")
        if name == "Divide" and (type(node.right).__name__ != "Literal" or not node.right.value):
            raise NotRowWise("a division is by a fixed number other than 0, as in hours / 24: a column may hold 0.")
        large, fine = _sizes(node)
        if large > MOST_DIGITS or fine < -MOST_DIGITS:
            raise NotRowWise(
                "this many factors may be too large or too small for a floating-point number; multiply fewer of them."
            )
    elif name in CHOSEN:
        for part in node.arg[1:]:
            _require_comparable(node.arg[0], part)
        if name != "Coalesce" and kind_of(node.arg[0].dtype) not in ("number", "date"):
            raise NotRowWise(f"engines order texts differently; {name.lower()} takes numbers or dates.")
    elif name == "DateDelta":
        day = getattr(node.part, "value", None) == "day"
        if not day or any(kind_of(part.dtype) != "date" for part in (node.left, node.right)):
            raise NotRowWise("a difference of dates is in days, of two dates: date_diff('day', born, seen).")
    else:
        places = [getattr(node, part, None) for part in ("start", "length")] if name == "Substring" else []
        fixed = [type(place).__name__ == "Literal" and 0 <= place.value < 2**31 for place in places]  # type: ignore[union-attr]
        if kind_of(node.arg.dtype) != "text" or not all(fixed):
            raise NotRowWise("lower, upper and substr take text, and substr fixed places: substr(town, 1, 3).")


def _sizes(node: Any) -> tuple[float, float]:
    """How many digits a number in arithmetic has at most before the point, and after it: logarithms of its bounds.

    A number is 0 or a multiple of ten to the second: of floats cut to 1e-18..1e18, which have 16 digits, 1e-34.
    """
    name, kind = type(node).__name__, node.dtype
    if name == "Literal":
        size = math.log10(abs(node.value)) if node.value else 0.0
        return size, min(0.0, size - 17)
    if name not in ARITHMETIC:
        return (19.0, 0.0) if kind.is_integer() else (39.0, -55.0) if kind.is_decimal() else (18.0, -35.0)
    parts = [_sizes(part) for part in node.args]
    if name == "Multiply":
        return parts[0][0] + parts[1][0], parts[0][1] + parts[1][1]
    if name == "Divide":
        size = math.log10(abs(node.right.value))
        return parts[0][0] - size, parts[0][1] - size - 17
    return max(large for large, _ in parts) + 0.31, min(fine for _, fine in parts)


def _require_comparable(left: Any, right: Any) -> None:
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


# ---- made total ----


def made_total(value: Any) -> Any:
    """The same condition, with conversions that an engine would make by itself, and fail in, made so that they cannot.

    NaN is null in every column of floating-point numbers. Not a matter of taste: engines skip blocks of rows by their
    least and greatest value, in which NaN may not be counted. Then whether `x >= 65` is true of a NaN depends on the
    *other* rows of its block. Times are compared in microseconds; decimals of different types, and floating-point
    numbers of 32 bits, as those of 64.
    """
    return value.op().replace(_made_total_here, filter=_operations().Value).to_expr()


def _made_total_here(node: Any, parts: Any) -> Any:
    import ibis

    operations, micro = _operations(), ibis.dtype("timestamp(6)")
    name = type(node).__name__
    if name in (*ARITHMETIC, *CHOSEN, "DateDelta", "Lowercase", "Uppercase"):
        return _computed(node, parts or dict(zip(node.argnames, node.args, strict=True)))
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
        return operations.IfElse(node.bool_expr, *_in_one_type(node.true_expr, node.false_null_expr))
    if name == "Between":
        return operations.Between(*_in_one_type(node.arg, node.lower_bound, node.upper_bound))
    return type(node)(*_in_one_type(node.left, node.right)) if name in COMPARED else node


def _computed(node: Any, parts: Mapping[str, Any]) -> Any:
    """Arithmetic, dates and letters so that no value makes an engine fail, and all engines agree.

    Numbers are floats, cut to what `_sizes` follows. Of letters, A to Z alone change: what others become differs from
    engine to engine. Dates beyond the years 1 to 9999, such as PostgreSQL's infinity, are null.
    """
    import ibis

    operations, name = _operations(), type(node).__name__
    if name in ARITHMETIC:
        return type(node)(*(_bounded(node.args[i], parts[part]) for i, part in enumerate(node.argnames)))
    if name in CHOSEN:
        return type(node)(_in_one_type(*parts["arg"]))
    if name in ("Lowercase", "Uppercase"):
        letters = ("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
        return parts["arg"].to_expr().translate(*(letters if name == "Lowercase" else letters[::-1])).op()

    def dated(day: Any) -> Any:
        ends = (ibis.literal(datetime.date(year, month, month_end)) for year, month, month_end in DATES)
        value = day.to_expr()
        return ibis.ifelse(value.between(*ends), value, ibis.null("date")).op()

    return operations.DateDelta(parts["part"], dated(parts["left"]), dated(parts["right"]))


def _bounded(given: Any, made: Any) -> Any:
    """An operand of arithmetic, as it was given and as it is asked for: a float, cut unless its size is known."""
    import ibis

    value = made.to_expr() if made.dtype.is_float64() else made.to_expr().cast("float64")
    if _size_known(given):
        return value.op()
    tiny = (value > -SMALLEST) & (value < SMALLEST)
    cut = ibis.ifelse(value > LARGEST, LARGEST, ibis.ifelse(value < -LARGEST, -LARGEST, value))
    return ibis.ifelse(tiny, ibis.literal(0.0, "float64"), cut).op()


def _size_known(node: Any) -> bool:
    name = type(node).__name__
    if name in CHOSEN:
        return all(_size_known(part) for part in node.arg)
    if name == "IfElse":
        return _size_known(node.true_expr) and _size_known(node.false_null_expr)
    return name in ("Literal", *ARITHMETIC) or not node.dtype.is_floating()


def _in_list(node: Any) -> Any:
    """A list of values whose options are all of the type the value is compared in.

    Of whole numbers beside floating-point numbers an engine would make floating-point numbers, and round the column's.
    A list of moments is kept from DuckDB's scan of an Arrow table, which would need another package to make them.
    """
    import ibis

    operations = _operations()
    if kind_of(node.value.dtype) == "instant":
        value = node.value.to_expr()
        hidden = ibis.ifelse(value.isnull(), ibis.null(value.type()), value)
        return operations.InValues(hidden.op(), node.options)
    lists: dict[str, tuple[Any, list[Any]]] = {}
    for option in node.options:
        value, alike = _in_one_type(node.value, option)
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
    return _operations().IfElse(ibis.literal(True), value, ibis.null("boolean"))


def _in_one_type(*nodes: Any) -> tuple[Any, ...]:
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


def _operations() -> Any:
    import ibis

    return ibis.expr.operations


def _tables() -> Any:
    import ibis

    return ibis.expr.types.Table


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
        of_table = isinstance(getattr(reason, "obj", None), _tables())
    if kind == "AttributeError" and isinstance(asked, str) and asked.isidentifier():
        what = "column" if of_table else "column or method"
        raise InvalidInput(f"the condition asks for {shown(asked)}, and there is no such {what}; {source.naming}.")
    raise InvalidInput(
        f"the condition cannot be built on this table: {kind}. Compare columns that it has with values of their own "
        f"type, as in lambda t: t.age >= 65; {source.naming}."
    )
