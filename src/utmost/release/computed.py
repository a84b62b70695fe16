"""Values that a row's values are computed to: arithmetic, the least and the greatest, days between dates, letters.

Arithmetic is in 64-bit floating point, the same on every engine, and never overflows: what is computed with lies
between public bounds, which `_sizes` follows through sums and products. Whole numbers overflow, and PostgreSQL stops
where a product is too large or too small for a float.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from typing import Any

from utmost.errors import NotRowWise
from utmost.release.allowed import ARITHMETIC, CHOSEN, LARGEST, MOST_DIGITS, SMALLEST
from utmost.release.source import in_one_type, kind_of, require_comparable

DATES = ((1, 1, 1), (9999, 12, 31))
"""The first and the last date that days are counted between."""


def require_computable(node: Any, name: str) -> None:
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
            require_comparable(node.arg[0], part)
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


def computed(node: Any, parts: Mapping[str, Any]) -> Any:
    """Arithmetic, dates and letters so that no value makes an engine fail, and all engines agree.

    Numbers are floats, cut to what `_sizes` follows. Of letters, A to Z alone change: what others become differs from
    engine to engine. Dates beyond the years 1 to 9999, such as PostgreSQL's infinity, are null.
    """
    import ibis

    operations, name = ibis.expr.operations, type(node).__name__
    if name in ARITHMETIC:
        return type(node)(*(_bounded(node.args[i], parts[part]) for i, part in enumerate(node.argnames)))
    if name in CHOSEN:
        return type(node)(in_one_type(*parts["arg"]))
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
