"""Make expressions of the values of a row that no engine can fail to compute.

Every function here makes an `Expression` whose type says in which range it provably lies. An operation that cannot be
made total is refused with `NotRowWise`; the refusal is public, for it follows from types and literals alone.
"""

from __future__ import annotations

import datetime
import itertools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from utmost.errors import InvalidInput, NotRowWise, shown
from utmost.queries.expressions.types import (
    BOOLEAN,
    DATE,
    FINITE,
    FLOAT,
    INSTANT,
    INT64,
    MOST_DIGITS,
    MOST_ROWS,
    TEXT,
    TIMESTAMP,
    WIDEST,
    Type,
    computed_type,
    hull,
    integer,
    real,
)

LARGEST, SMALLEST = 1e18, 1e-18
"""In a user's arithmetic, floats are clamped to ±1e18, and flushed to 0 below 1e-18 where they are factors."""
FLOAT_DIGITS = 17
PARTS = ("year", "quarter", "month", "day", "hour", "minute", "second")
PART_RANGES = {
    **{"year": (1, 9999), "quarter": (1, 4), "month": (1, 12), "day": (1, 31)},
    **{"hour": (0, 23), "minute": (0, 59), "second": (0, 60)},
}
FIRST_DAY, LAST_DAY = datetime.date(1, 1, 1), datetime.date(9999, 12, 31)
"""Dates and times outside of these days, infinite ones included, are null."""
OF_INSTANTS = (
    "a part of a time with a time zone is another in every zone; compare with a moment: "
    "seen >= '2026-01-31 12:00:00+01:00'."
)
LETTERS = ("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


@dataclass(frozen=True, eq=False)
class Expression:
    """A value computed from one row, or aggregated from many.

    Attributes
    ----------
    op : str
        The operation; `expressions.sql` has a method for each.
    type : Type
    parts : tuple of Expression
        The operands.
    value : any
        A literal's value, a column's name, or another argument of the operation, such as the part of a date.
    """

    op: str
    type: Type
    parts: tuple[Expression, ...] = ()
    value: Any = field(default=None, repr=False)

    def __and__(self, other: Expression) -> Expression:
        return all_of(self, other)

    def __or__(self, other: Expression) -> Expression:
        return any_of(self, other)

    def __invert__(self) -> Expression:
        return Expression("not", BOOLEAN, (self,))

    def __add__(self, other: Expression | int) -> Expression:
        return _whole_numbers("add", self, other)

    def __sub__(self, other: Expression | int) -> Expression:
        return _whole_numbers("subtract", self, other)

    def __rsub__(self, other: int) -> Expression:
        return _whole_numbers("subtract", literal(other), self)

    def __mul__(self, other: Expression | int) -> Expression:
        return _whole_numbers("multiply", self, other)

    __radd__, __rmul__ = __add__, __mul__

    @property
    def is_literal(self) -> bool:
        """Whether it is a literal, and not null."""
        return self.op == "literal" and self.value is not None

    def walk(self) -> Iterator[Expression]:
        """The expression and all of its subexpressions, each once."""
        waiting, seen = [self], {id(self)}
        while waiting:
            current = waiting.pop()
            yield current
            fresh = [part for part in current.parts if id(part) not in seen]
            seen.update(map(id, fresh))
            waiting += fresh


# ---- literals ----


def literal(value: Any) -> Expression:
    """A literal: an int, a float, a str, a bool, a date, or a time with or without a zone."""
    if isinstance(value, bool):
        return Expression("literal", BOOLEAN, value=value)
    if isinstance(value, int):
        if not abs(value) <= WIDEST:
            raise InvalidInput(f"{shown(value)} is too large a whole number to compare with; give one below 2^126.")
        return Expression("literal", integer(value, value), value=value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput(f"{shown(value)} is no number to compare with; give a finite one.")
        value += 0.0  # turns -0.0 into 0.0
        size = math.log10(abs(value)) if value else 0.0
        return Expression("literal", real(value, value, min(0.0, size - FLOAT_DIGITS)), value=value)
    if isinstance(value, str):
        if "\0" in value:
            raise InvalidInput("the condition holds the character NUL, which not every engine knows; leave it out.")
        return Expression("literal", TEXT, value=value)
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            return Expression("literal", TIMESTAMP, value=value)
        return Expression("literal", INSTANT, value=value.astimezone(datetime.UTC))
    if isinstance(value, datetime.date):
        return Expression("literal", DATE, value=value)
    raise InvalidInput(f"{shown(value)} is no value to compare with; give a number, a text, a truth value or a date.")


def null(kind: Type) -> Expression:
    """The null value of a type."""
    return Expression("literal", computed_type(kind))


def number_from_text(text: str) -> Expression:
    """A numeric literal of SQL: an integer if it is written without point and exponent, else a float."""
    try:
        exact = Decimal(text)
    except ArithmeticError:
        raise InvalidInput(
            f"{shown(text)} is not a number that can be compared; write digits, such as 65 or 6.5e1."
        ) from None
    if not abs(exact) < Decimal("1e300"):
        raise InvalidInput(f"{shown(text)} is too large a number to compare with; give one below 1e300.")
    whole = exact == exact.to_integral_value() and "." not in text and "e" not in text.lower()
    return literal(int(exact) if whole and abs(exact) < WIDEST else float(exact))


def nearest_single(value: float) -> float:
    """The 32-bit float nearest to a number, or the number itself where it is too large.

    Literals that are compared with a column of 32-bit floats are rounded by it, so that `speed = 0.1` is true for the
    0.1 in such a column, as in DuckDB.
    """
    with np.errstate(over="ignore", under="ignore"):
        single = float(np.float32(value))
    return single if math.isfinite(single) else float(value)


# ---- conditions ----


def all_of(*conditions: Expression) -> Expression:
    """The conjunction of conditions, as a balanced tree, so that a long list does not nest deeply."""
    return _joined("and", conditions)


def any_of(*conditions: Expression) -> Expression:
    """The disjunction of conditions, as a balanced tree."""
    return _joined("or", conditions)


def _joined(op: str, conditions: Sequence[Expression]) -> Expression:
    values = list(conditions)
    while len(values) > 1:
        pairs = [values[i : i + 2] for i in range(0, len(values), 2)]
        values = [Expression(op, BOOLEAN, tuple(pair)) if len(pair) == 2 else pair[0] for pair in pairs]
    return values[0]


def is_null(value: Expression) -> Expression:
    """Whether a value is null."""
    return Expression("is_null", BOOLEAN, (value,))


def is_not_null(value: Expression) -> Expression:
    """Whether a value is not null."""
    return Expression("not_null", BOOLEAN, (value,))


def is_infinite(value: Expression) -> Expression:
    """Whether a float is infinite."""
    return Expression("infinite", BOOLEAN, (value,))


def user_condition(condition: Expression) -> Expression:
    """Mark a condition of the user's: a rehearsal takes it as true, so that what it guards is rehearsed, too."""
    return Expression("condition", BOOLEAN, (condition,))


def compare(sign: str, left: Expression, right: Expression) -> Expression:
    """A comparison of two values of one kind by =, <>, <, <=, >, >=, or "same" (equal, or both null)."""
    left, right = cast_to_common(left, right)
    return Expression("compare", BOOLEAN, (left, right), value=sign)


def is_in(value: Expression, options: Sequence[Expression]) -> Expression:
    """Whether a value equals one of several, each compared in a type that holds both."""
    pairs = [cast_to_common(value, option) for option in options]
    lists: dict[tuple[str, bool], tuple[Expression, list[Expression]]] = {}
    for left, right in pairs:
        lists.setdefault((left.type.name, right.type.is_wide), (left, []))[1].append(right)
    return any_of(*(Expression("in", BOOLEAN, (left, *rights)) for left, rights in lists.values()))


def like(value: Expression, pattern: Expression, any_case: bool = False) -> Expression:
    """Whether a text matches a fixed pattern, in which % stands for any characters and _ for one."""
    if value.type.kind != "text" or not pattern.is_literal or not isinstance(pattern.value, str):
        raise NotRowWise("LIKE compares a column of text with a fixed pattern, as in \"town LIKE 'New%'\".")
    if "\\" in pattern.value:
        raise NotRowWise("LIKE takes a fixed pattern of text, without backslashes or ESCAPE.")
    return Expression("ilike" if any_case else "like", BOOLEAN, (value,), value=pattern.value)


def text_test(name: str, value: Expression, part: Expression) -> Expression:
    """Whether a text begins with, ends with or contains another: starts_with, ends_with, contains."""
    if value.type.kind != "text" or part.type.kind != "text":
        raise NotRowWise(f"{name} compares texts, as in {name}(town, 'New').")
    return Expression(name, BOOLEAN, (value, part))


def case(branches: Sequence[tuple[Expression, Expression]], default: Expression | None = None) -> Expression:
    """The value that belongs to the first true condition; else the default, or null."""
    results = cast_all_to_common([value for _, value in branches] + ([] if default is None else [default]))
    default = null(results[0].type) if default is None else results[-1]
    non_null = [value for value in (*results, default) if value.op != "literal" or value.value is not None]
    kind = computed_type(hull(*(value.type for value in non_null)) if non_null else default.type)
    if non_null and kind.kind == "integer":  # a choice among sums over rows and 0 has the bound of these sums
        kind = replace(kind, total=all(one.type.total or (one.is_literal and one.value == 0) for one in non_null))
    parts = [part for (condition, _), value in zip(branches, results, strict=False) for part in (condition, value)]
    return Expression("case", kind, (*parts, default))


def where(condition: Expression, value: Expression, otherwise: Expression | None = None) -> Expression:
    """A value where a condition is true; else another, or null."""
    return case([(condition, value)], otherwise)


def coalesce(*values: Expression) -> Expression:
    """The first value that is not null."""
    operands = cast_all_to_common(values)
    return Expression("coalesce", computed_type(hull(*(one.type for one in operands))), tuple(operands))


def least(*values: Expression) -> Expression:
    """The least of several numbers or dates, nulls left out."""
    return _extreme("least", values, min)


def greatest(*values: Expression) -> Expression:
    """The greatest of several numbers or dates, nulls left out."""
    return _extreme("greatest", values, max)


def _extreme(op: str, values: Sequence[Expression], extreme: Callable[..., Any]) -> Expression:
    operands = cast_all_to_common(values)
    if operands[0].type.kind not in ("integer", "float", "date"):
        raise NotRowWise(f"engines order texts differently; {op} takes numbers or dates.")
    kind = computed_type(hull(*(one.type for one in operands)))
    literals = [one.value for one in operands if one.is_literal]  # never null, so they bound the result
    if kind.is_number and literals:
        low, high = (kind.low, extreme(literals)) if op == "least" else (extreme(literals), kind.high)
        low, high = min(low, high), max(low, high)
        kind = integer(int(low), int(high)) if kind.kind == "integer" else real(low, high, kind.fine)
    return Expression(op, kind, tuple(operands))


def clamp(value: Expression, low: float, high: float) -> Expression:
    """A number clamped to a range; null stays null."""
    if value.type.kind == "integer":
        low, high = int(low), int(high)
        kind = integer(min(max(int(value.type.low), low), high), max(min(int(value.type.high), high), low))
    else:
        low, high = float(low), float(high)
        kind = real(low, high, value.type.fine if value.type.fine > -math.inf else -math.inf)
    return Expression("clamp", kind, (value, literal(low), literal(high)))


# ---- values of one kind ----


def cast_to_common(left: Expression, right: Expression) -> tuple[Expression, Expression]:
    """Cast two values to a common kind, in types in which they can be compared.

    Undeclared text is cast to the kind of the other value, a literal to the kind of the column. Two integers stay
    integers; if one of two numbers is a float, both become floats.
    """
    left, right = _declared_as(left, right), _declared_as(right, left)
    left, right = _written_as(left, right), _written_as(right, left)
    if (left.type.is_number, left.type.is_number or left.type.kind) != (
        right.type.is_number,
        right.type.is_number or right.type.kind,
    ) or left.type.kind == "opaque":
        raise NotRowWise(
            f"comparing {left.type} with {right.type} makes an engine convert rows, which may fail on some; compare "
            "what is of one kind, or use TRY_CAST(... AS ...)."
        )
    if not left.type.is_number:
        return left, right
    if left.type.kind == right.type.kind == "integer":
        _require_holdable(left, right)
        _require_holdable(right, left)
        return left, right
    single = left.type.single or right.type.single
    return _as_double(left, single), _as_double(right, single)


def _declared_as(value: Expression, other: Expression) -> Expression:
    """Cast undeclared text to the kind of the value that it is compared with."""
    if not value.type.undeclared or other.type.kind in ("text", "instant", "opaque"):
        return value
    return try_cast(value, "float64" if other.type.is_number else other.type.kind)


def _written_as(value: Expression, other: Expression) -> Expression:
    """Cast a literal text or date to a date, time or instant, if it is compared with one."""
    is_convertible = value.is_literal and value.type.kind in ("text", "date", "timestamp")
    if not is_convertible or value.type.kind == other.type.kind:
        return value
    if other.type.kind == "instant":
        return _moment(value)
    if other.type.kind == "timestamp" or (other.type.kind == "date" and value.type.kind == "text"):
        return date_literal(value, other.type.kind)
    return value


def _require_holdable(value: Expression, other: Expression) -> None:
    """Refuse an integer literal outside the range of the column that it is compared with."""
    if value.is_literal and value.type.is_wide and not other.is_literal:
        if other.type.low >= 0 and other.type.is_wide and 0 <= value.value <= other.type.high:
            return
        raise InvalidInput(
            f"{value.value} is more or less than {other.type} can hold; compare with a number it can hold."
        )


def _as_double(value: Expression, single: bool) -> Expression:
    if single and value.is_literal:
        return literal(nearest_single(float(value.value)))
    return to_float(value)


def cast_all_to_common(values: Sequence[Expression]) -> list[Expression]:
    """Cast values to a common kind, such as the branches of a CASE."""
    operands = list(values)
    first = operands[0]
    for place, other in enumerate(operands[1:], 1):
        first, operands[place] = cast_to_common(first, other)
    return [cast_to_common(one, first)[0] for one in operands]


def date_literal(value: Expression, kind: str) -> Expression:
    """Cast a literal text or date to a date or time; it is public, so a malformed one raises `InvalidInput`."""
    text = value.value.isoformat() if isinstance(value.value, datetime.date) else str(value.value)
    try:
        if kind == "date":
            return literal(datetime.date.fromisoformat(text))
        if kind == "timestamp":
            moment = datetime.datetime.fromisoformat(text)
            if moment.tzinfo is None:
                return literal(moment)
    except ValueError:
        pass
    raise InvalidInput(f"{shown(text)} is not a date or time; write '2026-01-31' or '2026-01-31 12:00:00'.")


def _moment(value: Expression) -> Expression:
    """Cast a literal to an instant; it must contain a zone offset."""
    text = value.value.isoformat() if isinstance(value.value, datetime.date) else str(value.value)
    try:
        moment = datetime.datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            return literal(moment)
    except (ValueError, OverflowError):
        pass
    raise InvalidInput(
        f"{shown(text)} is not a moment, and the column holds times with a time zone; say the zone's offset, as in "
        "'2026-01-31 12:00:00+01:00', or '2026-01-31 00:00:00Z' for universal time."
    )


# ---- conversions ----


def to_float(value: Expression) -> Expression:
    """A number as a 64-bit float."""
    kind = value.type
    if kind.kind == "float":
        return value
    if value.op == "literal":
        return null(FLOAT) if value.value is None else literal(float(value.value))
    return Expression("to_float", real(float(kind.low), float(kind.high), 0.0), (value,))


def to_integer(value: Expression) -> Expression:
    """A float without a fraction as an integer; its range must fit into 64 bits."""
    low, high = value.type.low, value.type.high
    if not (INT64[0] <= low and high < 2**63):
        raise NotRowWise(f"a number up to {high:g} in size may not fit a whole number of 64 bits.")
    return Expression("to_integer", integer(math.floor(low), math.ceil(high)), (value,))


def try_cast(value: Expression, target: str) -> Expression:
    """Cast a value to another type; null where it does not fit, also for text that says NaN or infinity.

    Parameters
    ----------
    value : Expression
    target : str
        int8 to int64, float64, decimal(p, s), string, boolean, date or timestamp.
    """
    source, kind = value.type, type_from_name(target)
    if source.kind == "opaque":
        raise NotRowWise(f"TRY_CAST cannot read {source}; leave that column out.")
    if "instant" in (source.kind, kind.kind):
        raise NotRowWise(
            "a time with a time zone becomes another date, time or text in every zone; compare it with a moment: "
            "seen >= '2026-01-31 12:00:00+01:00'."
        )
    if source.kind == "timestamp" and kind.kind == "text":
        raise NotRowWise("a time as text fails on some times; compare with a time: seen >= '2026-01-31 12:00:00'.")
    if source.rounded and kind.kind == "text":
        raise NotRowWise(f"a {source} as text is written differently by engines; compare the number itself.")
    if source.kind == "text":
        return value if kind.kind == "text" else Expression("read", kind, (value,), value=target)
    if source.kind == kind.kind and source.kind in ("boolean", "date", "timestamp"):
        return value
    if kind.kind == "text":  # -0.0 becomes 0.0, because engines write it differently
        return Expression("to_text", TEXT, (with_one_zero(value) if source.kind == "float" else value,))
    if source.is_number or source.kind == "boolean":
        return _number_as(value, target, kind)
    if {source.kind, kind.kind} == {"date", "timestamp"}:
        return Expression("to_date" if kind.kind == "date" else "to_timestamp", kind, (value,))
    raise NotRowWise(f"a cast from {source} to {kind} is not known here; compare the value itself.")


def with_one_zero(value: Expression) -> Expression:
    """A float with 0.0 in place of -0.0: engines group, sort and write the two in different ways."""
    return where(compare("=", value, literal(0.0)), literal(0.0), value)


def _number_as(value: Expression, target: str, kind: Type) -> Expression:
    source = value.type
    if source.kind == "boolean":
        whole = where(value, literal(1), where(~value, literal(0)))
        return value if kind.kind == "boolean" else to_float(whole) if kind.kind == "float" else whole
    if kind.kind == "boolean":
        return compare("<>", value, literal(0))
    if kind.kind == "integer":
        if source.kind == "float":  # rounded half to even, as in DuckDB
            value = Expression("round_even", source, (value,))
        return as_integer_within(value, int(kind.low), int(kind.high))
    if kind.kind == "float":
        return to_float(value) if target == "float64" else Expression("decimal", kind, (to_float(value),), value=target)
    raise NotRowWise(f"a cast from {source} to {kind} is not known here; compare the value itself.")


def as_integer_within(value: Expression, low: int, high: int) -> Expression:
    """A number as an integer within a range; null where it lies outside."""
    if value.type.kind == "float":
        inside = compare(">=", value, literal(float(low))) & compare("<", value, literal(float(high + 1)))
        selection = where(inside, value)
        bounded = Expression(selection.op, real(float(low), math.nextafter(float(high + 1), 0), 0.0), selection.parts)
        return Expression("to_integer", integer(low, high), (bounded,))
    if low <= value.type.low and value.type.high <= high:
        return value
    inside = _ordered(value, ">=", low) & _ordered(value, "<=", high)
    selection = where(inside, value)
    return Expression(selection.op, integer(low, high), selection.parts)


def _ordered(value: Expression, sign: str, bound: int) -> Expression:
    return Expression("compare", BOOLEAN, (value, literal(bound)), value=sign)


def type_from_name(name: str) -> Type:
    """The type with a name, such as "int64" or "decimal(18, 2)"; raises `InvalidInput` if there is none."""
    sizes = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
    if name in sizes:
        half = 2 ** (sizes[name] - 1)
        return integer(-half, half - 1, name)
    if name.startswith("decimal("):
        digits, scale = (int(part) for part in name[8:-1].split(","))
        if not (1 <= digits <= 38 and 0 <= scale <= digits):
            raise InvalidInput(f"there is no type {name}; a DECIMAL has 1 to 38 digits.")
        return decimal(digits, scale)
    types = {"float64": FINITE, "float": FINITE, "string": TEXT, "text": TEXT, "boolean": BOOLEAN, "date": DATE}
    types |= {"timestamp": TIMESTAMP, "timestamp(6)": TIMESTAMP}
    if name not in types:
        raise InvalidInput(f"there is no type {name} to read as; use BIGINT, DOUBLE, DECIMAL(p, s), TEXT or DATE.")
    return types[name]


def decimal(digits: int, scale: int) -> Type:
    """The type of a decimal column, whose numbers are cast to floats."""
    most = 10.0 ** (digits - scale)
    return Type("float", f"decimal({digits}, {scale})", -most, most, -scale - FLOAT_DIGITS, rounded=True)


# ---- arithmetic of integers, for the statements of queries ----


def _whole_numbers(op: str, left: Expression, right: Expression | int) -> Expression:
    """A sum, difference or product of integers, in a type that holds it for all values of the operands."""
    right = literal(right) if isinstance(right, int) else right
    assert left.type.kind == right.type.kind == "integer", "arithmetic of whole numbers has whole numbers"
    corners = _corners(op, left.type, right.type)
    low, high = int(min(corners)), int(max(corners))
    if max(-low, high) > WIDEST:
        raise NotRowWise("this product may not fit 128 bits; choose a coarser grid or a narrower range.")
    return Expression(op, integer(low, high), (left, right))


ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
}


def _corners(op: str, left: Type, right: Type) -> list[Any]:
    """The operation at the ends of both ranges, which bound it: it is monotone in each operand, also when rounded."""
    return [ARITHMETIC[op](a, b) for a, b in itertools.product((left.low, left.high), (right.low, right.high))]


# ---- arithmetic of floats ----


def arithmetic(op: str, left: Expression, right: Expression) -> Expression:
    """A sum, difference or product of floats that cannot overflow or underflow; raises `NotRowWise` if it could.

    Operands of unknown size are clamped to ±1e18 first. Factors below 1e-18 are also flushed to 0, because only a
    product can underflow.
    """
    if op == "multiply" and left.is_literal and not right.is_literal:
        left, right = right, left
    grows = op != "multiply" or (right.is_literal and abs(right.value) >= 1)
    left, right = _computable(left, grows), _computable(right, grows)
    (large, fine), (other_large, other_fine) = left.type.digits, right.type.digits
    if op == "multiply":
        digits, multiple = large + other_large, fine if grows else fine + other_fine
    else:
        digits, multiple = max(large, other_large) + 0.31, min(fine, other_fine)
    corners = _corners(op, left.type, right.type)
    return _sized(op, (left, right), digits, multiple, min(corners), max(corners))


def divide(value: Expression, by: Expression | float) -> Expression:
    """A float divided by a literal, or by a number that is at least 1."""
    by = to_float(by if isinstance(by, Expression) else literal(float(by)))
    grows = by.is_literal and abs(by.value) <= 1
    value = _computable(value, grows)
    if by.is_literal and not 1e-18 <= abs(by.value) <= 1e300:
        raise NotRowWise("a division is by a number from 1e-18 to 1e18, and not by 0.")
    if not by.is_literal and not by.type.low >= 1:
        raise NotRowWise("a division is by a fixed number, as in hours / 24: a column may hold 0.")
    smallest, most = (by.value, by.value) if by.is_literal else (by.type.low, by.type.high)
    large, fine = value.type.digits
    quotients = [a / b for a, b in itertools.product((value.type.low, value.type.high), (smallest, most))]
    return _sized(
        "divide",
        (value, by),
        large - math.log10(abs(smallest)),
        fine if grows else fine - math.log10(abs(most)) - FLOAT_DIGITS,
        min(quotients),
        max(quotients),
    )


def _sized(op: str, parts: tuple[Expression, ...], digits: float, fine: float, low: float, high: float) -> Expression:
    if digits > MOST_DIGITS or -math.inf < fine < -MOST_DIGITS:
        raise NotRowWise(
            "this many factors may be too large or too small for a floating-point number; multiply fewer of them."
        )
    return Expression(op, real(low, high, fine), parts)


def negate(value: Expression) -> Expression:
    """The negative of a float."""
    value = _computable(value, grows=True)
    return Expression("negate", real(-value.type.high, -value.type.low, value.type.fine), (value,))


def absolute(value: Expression) -> Expression:
    """The absolute value of a float."""
    value = _computable(value, grows=True)
    high = max(abs(value.type.low), abs(value.type.high))
    return Expression("absolute", real(0.0, high, value.type.fine), (value,))


def floor(value: Expression) -> Expression:
    """The largest integer at or below a float, as a float."""
    low, high = value.type.low, value.type.high
    low, high = (end if math.isinf(end) else float(math.floor(end)) for end in (low, high))
    return Expression("floor", real(low, high, 0.0), (value,))


def scale(value: Expression, by: Fraction) -> Expression:
    """A float times a rational number: multiplied by the numerator, divided by the denominator."""
    if by.numerator != 1:
        value = arithmetic("multiply", value, literal(float(by.numerator)))
    return value if by.denominator == 1 else divide(value, float(by.denominator))


def flush_to_zero(value: Expression, least_size: float) -> Expression:
    """A float, flushed to 0 where its absolute value is below a bound, so that products with it do not underflow."""
    if value.type.fine > -math.inf:
        return value
    tiny = compare(">", value, literal(-least_size)) & compare("<", value, literal(least_size))
    kind = real(value.type.low, value.type.high, math.log10(least_size) - FLOAT_DIGITS)
    selection = where(tiny, literal(0.0), value)
    return Expression(selection.op, kind, selection.parts)


def _computable(value: Expression, grows: bool) -> Expression:
    """An operand as a float, clamped unless its range is known, and flushed to 0 near 0 unless the result grows."""
    if not value.type.is_number:
        raise NotRowWise("arithmetic is done with numbers; use TRY_CAST(... AS DOUBLE) first.")
    value = to_float(value)
    if not (math.isfinite(value.type.low) and math.isfinite(value.type.high)) or value.type.high > 1e300:
        value = clamp(value, -LARGEST, LARGEST)
    return value if grows or value.is_literal else flush_to_zero(value, SMALLEST)


# ---- dates and texts ----


def date_part(value: Expression, part: str) -> Expression:
    """A part of a date or time, such as its year."""
    if value.type.kind == "instant":
        raise NotRowWise(OF_INSTANTS)
    if part not in PARTS or value.type.kind not in ("date", "timestamp"):
        raise NotRowWise(
            f"the part {part!r} needs a date: EXTRACT(year FROM TRY_CAST(born AS DATE)); parts are {', '.join(PARTS)}."
        )
    if value.type.kind == "date" and part in ("hour", "minute", "second"):
        raise NotRowWise(f"a date has no {part}; use TRY_CAST(... AS TIMESTAMP).")
    return Expression("part", integer(*PART_RANGES[part]), (value,), value=part)


def days_between(left: Expression, right: Expression) -> Expression:
    """The number of days from the right date to the left one."""
    dates = []
    for one in (left, right):
        if one.type.undeclared:
            one = try_cast(one, "date")
        elif one.type.kind == "text" and one.is_literal:
            one = date_literal(one, "date")
        if one.type.kind != "date":
            raise NotRowWise("a difference of dates needs two dates; use TRY_CAST(... AS DATE) first.")
        dates.append(one)
    most = (LAST_DAY - FIRST_DAY).days
    return Expression("days", integer(-most, most), tuple(dates))


def letters(value: Expression, lower: bool) -> Expression:
    """A text in lower or upper case; only A to Z change, because engines differ on other letters."""
    return Expression("letters", TEXT, (_text(value),), value=LETTERS if lower else LETTERS[::-1])


def substring(value: Expression, start: int, length: int) -> Expression:
    """A substring of a given length, from a start that is counted from 1."""
    if not (1 <= start < 2**31 and 0 <= length < 2**31):
        raise NotRowWise("substr takes a fixed start, from 1 on, and a fixed length: substr(town, 1, 3).")
    return Expression("substring", TEXT, (_text(value),), value=(start, length))


def _text(value: Expression) -> Expression:
    if value.type.kind != "text":
        raise NotRowWise(f"{value.type} is no text; lower, upper and substr take text.")
    return value


def concatenate(*texts: Expression) -> Expression:
    """The concatenation of texts; null if one of them is."""
    return Expression("concat", TEXT, texts)


def as_text(value: Expression) -> Expression:
    """An integer, a boolean or a date as text."""
    return value if value.type.kind == "text" else Expression("to_text", TEXT, (value,))


def md5(value: Expression) -> Expression:
    """The MD5 of a text in hexadecimal, as every engine computes it."""
    return Expression("md5", TEXT, (value,))


def position_in(characters: str, value: Expression) -> Expression:
    """The position of a character in a fixed text, counted from 1; 0 if it does not occur."""
    return Expression("place_in", integer(0, len(characters)), (value,), value=characters)


# ---- over many rows ----


def total(value: Expression) -> Expression:
    """The sum over rows; null if there are no rows."""
    low, high = int(value.type.low), int(value.type.high)
    if not value.type.total:
        low, high = min(low, 0) * MOST_ROWS, max(high, 0) * MOST_ROWS
    if max(-low, high) > WIDEST:
        raise NotRowWise("this sum may not fit 128 bits; choose a coarser grid or a narrower range.")
    return Expression("sum", integer(min(low, 0), max(high, 0), total=True), (value,))


def count(value: Expression | None = None) -> Expression:
    """The number of rows, or of rows where a value is not null."""
    parts = () if value is None else (value,)
    return Expression("count", integer(0, MOST_ROWS, total=True), parts)


def least_over(value: Expression, by: Sequence[Expression]) -> Expression:
    """Window function: the least number among the rows with the same values of `by`."""
    return Expression("over_min", value.type, (value, *by), value=(len(by), 0))


def sum_over(value: Expression, by: Sequence[Expression], order: Sequence[Expression] = ()) -> Expression:
    """Window function: the sum of counts over the rows with the same values of `by`, or over those up to this row."""
    low = int(value.type.low)
    kind = integer(low if low > 0 else min(low, 0) * MOST_ROWS, MOST_ROWS if low >= 0 else 2**62, total=True)
    return Expression("over_sum", kind, (value, *by, *order), value=(len(by), len(order)))


def row_number(by: Sequence[Expression], order: Sequence[Expression] = ()) -> Expression:
    """Window function: the position of a row among those with the same values of `by`, counted from 1."""
    return Expression("over_number", integer(1, MOST_ROWS), (*by, *order), value=(len(by), len(order)))
