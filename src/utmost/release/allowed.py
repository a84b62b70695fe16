"""The list of operations that look at one row and fail on none, and why it is so strict.

Why so strict: `t.age > t.age.mean()` compiles without a word, and then one person's row decides about all the others';
`CAST(name AS INT)` or `name > 5` stops at the first name that is no number, which tells that there is one.
"""

from __future__ import annotations

from typing import NoReturn

from utmost.errors import NotRowWise

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


def refuse(name: str) -> NoReturn:
    """Refuse an operation that is not on the list."""
    raise NotRowWise(
        f"{name} is not allowed in a condition: it may look at other rows, change from run to run, or fail on some "
        f"row. A condition is made of {ALLOWED}."
    )
