"""What looks at one row and fails on none: the list of operations, and the rules for comparisons and casts.

Why so strict: `t.age > t.age.mean()` compiles without a word, and then one person's row decides about all the others';
`CAST(name AS INT)` or `name > 5` stops at the first name that is no number, which tells that there is one.

Arithmetic is in 64-bit floating point, the same on every engine, and never overflows: what is computed with lies
between public bounds, which `_sizes` follows through sums and products. Whole numbers overflow, and PostgreSQL stops
where a product is too large or too small for a float.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

from utmost.errors import InvalidInput, NotRowWise

ALLOWED = (
    "columns, numbers, texts and dates; =, <>, <, <=, >, >=, BETWEEN, IN (list), LIKE, ILIKE, IS NULL, AND, OR, "
    "NOT, TRY_CAST, parts of dates such as EXTRACT(year FROM born), days between dates, + - *, / by a number, abs, "
    "least, greatest, CASE, COALESCE, lower, upper and substr"
)
COMPARED = ("Equals", "NotEquals", "Greater", "GreaterEqual", "Less", "LessEqual", "IdenticalTo")
WIDEST = "decimal(38, 0)"
"""How Ibis types whole numbers of DuckDB that 64 bits do not hold, and decimal numbers alike."""
OF_INSTANTS = (
    "a part of a time with a time zone is another in every zone; compare with a moment: "
    "seen >= '2026-01-31 12:00:00+01:00'."
)
PARTS = ("year", "quarter", "month", "day", "hour", "minute", "second")
ARITHMETIC = ("Add", "Subtract", "Multiply", "Divide", "Negate", "Abs")
LARGEST, SMALLEST = 1e18, 1e-18
"""In arithmetic, floating-point numbers beyond these count as the largest, and those nearer to 0 as 0."""
MOST_DIGITS = 300
CHOSEN = ("Least", "Greatest", "Coalesce")
OPERATIONS = frozenset(
    (
        *(*ARITHMETIC, *CHOSEN, "Lowercase", "Uppercase", "Substring", "DateDelta"),
        *("Field", "Literal", "And", "Or", "Xor", "Not", "IsNull", "NotNull", "TryCast", "Cast"),
        *(*COMPARED, "Between", "InValues"),
        *("StringSQLLike", "StringSQLILike", "StartsWith", "EndsWith", "StringContains", "IfElse", "IsNan", "IsInf"),
        *(f"Extract{part.title()}" for part in PARTS),
    )
)
"""Operations of Ibis that look at one row and fail on none; comparisons and casts are looked at more closely below."""


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


def _parts(node: Any) -> list[Any]:
    parts: list[Any] = []
    for argument in node.args:
        parts += list(argument) if isinstance(argument, tuple) else [argument]
    return parts


def refuse(name: str) -> NoReturn:
    """Refuse an operation that is not on the list."""
    raise NotRowWise(
        f"{name} is not allowed in a condition: it may look at other rows, change from run to run, or fail on some "
        f"row. A condition is made of {ALLOWED}."
    )
