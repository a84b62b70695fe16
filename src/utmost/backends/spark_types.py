"""Types of Spark: the cast of each stored column, and the extreme values of each type.

A cast fails on no value, with ANSI rules and without: integers become BIGINT, other numbers DOUBLE without NaN, dates
and times null outside of the years 1 to 9999, texts valid UTF-8 (Spark's functions read beyond the end of a text that
breaks off in the middle of a character, into other rows).
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from utmost.backends.rehearsal import LONG, TEXTS
from utmost.queries.expressions.types import BOOLEAN, DATE, FLOAT, INSTANT, TEXT, TIMESTAMP, Type, integer
from utmost.queries.expressions.values import FIRST_DAY, LAST_DAY, decimal

SIZES = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
KINDS = {
    **{"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint", "float": "float"},
    **{"double": "double", "decimal": "decimal", "string": "string", "boolean": "boolean", "date": "date"},
    **{"timestamp": "timestamp", "timestamp_ntz": "timestamp_ntz"},
}
"""Types of Spark that queries can use: their names in PySpark and in SQL. A TIMESTAMP is an instant."""
TYPES = {
    **{"integer": "bigint", "float": "double", "text": "string", "boolean": "boolean", "date": "date"},
    **{"timestamp": "timestamp_ntz", "instant": "timestamp", "opaque": "boolean"},
}
WIDE = "decimal(38,0)"
"""The type of integers beyond 64 bits; it holds all below 2^126."""
EXACT_DIGITS = 15
"""Up to this many digits, every engine converts a decimal number to a float by one rounding."""
MOST_DIGITS = 18
"""Up to this many digits, DuckDB stores decimal numbers in 64 bits; others it converts to floats in its own way."""
EXACT = 2**53
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MICROSECOND = datetime.timedelta(microseconds=1)
FIRST, LAST = datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)


@dataclass(frozen=True)
class Column:
    """A stored column with the type of its expression.

    Attributes
    ----------
    kind : str
        Spark's own type; for an unusable column any type that holds null.
    type : Type
        The type of the typed expression.
    digits, scale : int
        Precision and scale of a decimal number.
    """

    kind: str
    type: Type
    digits: int = 0
    scale: int = 0


def stored_column(kind: Any, unusable: bool) -> Column:
    """The typed column for a PySpark type; an unusable column is opaque."""
    name = KINDS.get(kind.typeName())
    if unusable or name is None:
        return Column("boolean", Type("opaque", kind.simpleString()))
    if name in SIZES:
        half = 2 ** (SIZES[name] - 1)
        return Column(name, integer(-half, half - 1, f"int{SIZES[name]}"))
    if name == "decimal":
        return Column(kind.simpleString(), decimal(kind.precision, kind.scale), kind.precision, kind.scale)
    single = replace(FLOAT, name="float32", single=True)
    types = {"float": single, "double": FLOAT, "string": TEXT, "boolean": BOOLEAN, "date": DATE}
    return Column(name, {**types, "timestamp": INSTANT, "timestamp_ntz": TIMESTAMP}[name])


def type_name(kind: Type) -> str:
    """The Spark type that holds all values of a type."""
    return WIDE if kind.is_wide else TYPES[kind.kind]


def quoted(name: str) -> str:
    """A column name quoted for PySpark."""
    return "`" + name.replace("`", "``") + "`"


# ---- literals ----


def literal(functions: Any, value: Any, kind: Type) -> Any:
    """A literal as a Spark column; times are never converted with the session's time zone."""
    lit = functions.lit
    if value is None:
        return lit(None).cast(type_name(kind))
    if kind.kind == "integer":
        return lit(str(value)).cast(WIDE) if kind.is_wide else lit(int(value)).cast("bigint")
    if kind.kind == "float":
        return lit(float(value))
    if kind.kind == "instant":
        return functions.timestamp_micros(lit((value - EPOCH) // MICROSECOND).cast("bigint"))
    if kind.kind in ("date", "timestamp"):
        return lit(str(value)).cast(type_name(kind))
    return lit(value)


# ---- casts of stored columns ----


def entering(functions: Any, name: str, column: Column) -> Any:
    """The cast of a stored column to its type, as a Spark column."""
    this, kind = functions.col(quoted(name)), column.type.kind
    if kind == "opaque":
        return functions.when(this.isNotNull(), functions.lit(True))
    if kind == "integer":
        return this if column.kind == "bigint" else this.cast("bigint")
    if column.digits:
        return _decimal_as_double(functions, this, column)
    if kind == "float":
        value = this if column.kind == "double" else this.cast("double")
        return functions.when(~functions.isnan(this), value)
    if kind in ("date", "timestamp", "instant"):
        return _within_dates(functions, this, column.type)
    return valid_text(functions, this) if kind == "text" else this


def valid_text(functions: Any, text: Any) -> Any:
    """Replace the bytes of a text that are not UTF-8, which may occur in files."""
    if hasattr(functions, "make_valid_utf8"):
        return functions.make_valid_utf8(text)
    return functions.translate(text, "a", "a")  # PySpark 3.5 lacks it; translating goes through a valid Java string


def _within_dates(functions: Any, this: Any, kind: Type) -> Any:
    """A date or time; null outside of the years 1 to 9999."""
    ends: tuple[Any, Any] = (FIRST_DAY, LAST_DAY) if kind.kind == "date" else (FIRST, LAST)
    if kind.kind == "instant":
        ends = FIRST.replace(tzinfo=datetime.UTC), LAST.replace(tzinfo=datetime.UTC)
    low, high = (literal(functions, end, kind) for end in ends)
    return functions.when((this >= low) & (this <= high), this)


def _decimal_as_double(functions: Any, value: Any, column: Column) -> Any:
    """Convert a decimal number to a float as DuckDB does: its units divided, in two parts where they exceed 2^53."""
    if column.digits <= EXACT_DIGITS or not column.scale:
        return value.cast("double")
    ten = functions.lit(10**column.scale).cast("bigint")
    whole = value.cast("bigint")  # truncated
    units = (value * ten.cast(f"decimal({column.scale + 1},0)")).cast("bigint")
    parts = whole.cast("double") + (units - whole * ten).cast("double") / ten.cast("double")
    exact = (units >= -EXACT) & (units <= EXACT)
    return functions.when(exact, units.cast("double") / ten.cast("double")).otherwise(parts)


# ---- extreme values ----


SEVERAL = 40
"""Number of different rows of a rehearsal: at least as many as any type has extreme values."""
DOUBLES = (math.nan, math.inf, -math.inf, -0.0, 0.0, 0.5, 1e18, -1e18, 1.7976931348623157e308, -1.7976931348623157e308)
DAYS = (-(2**31), 2**31 - 1, -719163, -719162, 2932896, 2932897, -141428, 0)
"""Days since 1970: the ends of Spark's range, days around the years 1 and 9999, and one before the calendar of 1582."""
INSTANTS = (-(2**63), 2**63 - 1, -62135596800_000_001, -62135596800_000_000, 253402300799_999_999, 253402300800_000_000)
TIMES = (
    *("-290308-12-22 00:00:00", "+294247-01-10 00:00:00", "0000-12-31 23:59:59.999999", "0001-01-01 00:00:00"),
    *("9999-12-31 23:59:59.999999", "+10000-01-01 00:00:00", "1582-10-10 12:00:00", "1970-01-01 00:00:00"),
)


def extremes(functions: Any, column: Column) -> list[Any]:
    """The extreme values of a type, as Spark columns; the first is null."""
    lit, kind = functions.lit, column.kind
    make: Callable[[Any], Any] = lambda value: lit(value).cast(kind)  # noqa: E731
    values: tuple[Any, ...]
    if column.type.kind == "opaque":
        values = ()
    elif kind in SIZES:
        half = 2 ** (SIZES[kind] - 1)
        values = (-half, half - 1, 0, 1, -1)
    elif kind in ("float", "double"):
        most, least = (3.4028234663852886e38, 1e-45) if kind == "float" else (1e200, 5e-324)
        values = (*DOUBLES, most, -most, least, -least)
    elif column.digits:
        units = (10**column.digits - 1, 1 - 10**column.digits, 1, 0, -1)
        values = tuple(f"{unit}e-{column.scale}" for unit in units)
    elif kind == "boolean":
        values = (True, False)
    elif kind == "date":
        values, make = DAYS, lambda value: functions.date_from_unix_date(lit(value).cast("int"))
    elif kind == "timestamp":
        values, make = (*INSTANTS, 0), lambda value: functions.timestamp_micros(lit(value).cast("bigint"))
    elif kind == "timestamp_ntz":
        values = TIMES
    else:
        values = (*TEXTS, "\0")
    columns = [lit(None).cast(kind), *map(make, values)]
    if column.type.kind == "text":
        columns += [functions.repeat(lit("x"), LONG), functions.unhex(lit("61E282")).cast("string")]
    return columns


def extreme_rows(session: Any, functions: Any, columns: dict[str, Column]) -> Any:
    """Public rows of extreme values, in one partition; each occurs twice, so that extremes meet in groups."""
    place = functions.col("id")
    extremes_by_place = []
    for name, column in columns.items():
        values = extremes(functions, column)
        assert len(values) <= SEVERAL
        extreme = functions.element_at(functions.array(*values), (place % len(values) + 1).cast("int"))
        extremes_by_place.append(extreme.alias(name))
    return session.range(0, 2 * SEVERAL, 1, 1).select(*(extremes_by_place or [place]))
