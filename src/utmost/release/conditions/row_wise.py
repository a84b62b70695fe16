"""What looks at one row and fails on none: the list of operations, and the rules for comparisons and casts.

Why so strict: `t.age > t.age.mean()` compiles without a word, and then one person's row decides about all the others';
`CAST(name AS INT)` or `name > 5` stops at the first name that is no number, which tells that there is one.
"""

from __future__ import annotations

from typing import Any, NoReturn

from utmost.errors import InvalidInput, NotRowWise

ALLOWED = (
    "columns, numbers, texts and dates; =, <>, <, <=, >, >=, BETWEEN, IN (list), LIKE, ILIKE, IS NULL, AND, OR, "
    "NOT, TRY_CAST and parts of dates such as EXTRACT(year FROM born)"
)
COMPARED = ("Equals", "NotEquals", "Greater", "GreaterEqual", "Less", "LessEqual", "IdenticalTo")
WIDEST = "decimal(38, 0)"
"""How Ibis types whole numbers of DuckDB that 64 bits do not hold, and decimal numbers alike."""
OF_INSTANTS = (
    "a part of a time with a time zone is another in every zone; compare with a moment: "
    "seen >= '2026-01-31 12:00:00+01:00'."
)
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
    elif name.startswith("Extract") and kind_of(node.arg.dtype) == "instant":
        raise NotRowWise(OF_INSTANTS)
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
