"""Types of Spark: how a stored column enters a query, and the values at the edges of each type.

A column enters by a cast that fails on no value, with ANSI rules and without: whole numbers as BIGINT, other numbers as
DOUBLE without NaN, dates and times null outside of the years 1 to 9999, texts in valid UTF-8 (Spark's functions read
beyond the end of a text that breaks off in the middle of a character, into other rows).
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
"""Types of Spark that every question can use: as PySpark calls them, and as SQL does. A TIMESTAMP is an instant."""
TYPES = {
    **{"integer": "bigint", "float": "double", "text": "string", "boolean": "boolean", "date": "date"},
    **{"timestamp": "timestamp_ntz", "instant": "timestamp", "opaque": "boolean"},
}
WIDE = "decimal(38,0)"
"""What holds whole numbers beyond 64 bits: all those below 2^126."""
EXACT_DIGITS = 15
"""Decimal numbers of this many digits become floats by one rounding, in every engine."""
MOST_DIGITS = 18
"""DuckDB keeps decimal numbers of this many digits in 64 bits; of more it converts in ways of its own."""
EXACT = 2**53
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MICROSECOND = datetime.timedelta(microseconds=1)
FIRST, LAST = datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)


@dataclass(frozen=True)
class Column:
    """A column as Spark has it.

    Attributes
    ----------
    kind : str
        Spark's own type; any one that holds null where nothing can be asked.
    type : Type
        As what it enters.
    digits, scale : int
        Of a decimal number.
    """

    kind: str
    type: Type
    digits: int = 0
    scale: int = 0


def stored_column(kind: Any, odd: bool) -> Column:
    """A column by the type that PySpark says it has; of an odd one nothing can be asked."""
    name = KINDS.get(kind.typeName())
    if odd or name is None:
        return Column("boolean", Type("opaque", kind.simpleString()))
    if name in SIZES:
        half = 2 ** (SIZES[name] - 1)
        return Column(name, integer(-half, half - 1, f"int{SIZES[name]}"))
    if name == "decimal":
        return Column(kind.simpleString(), decimal(kind.precision, kind.scale), kind.precision, kind.scale)
    single = replace(FLOAT, name="float32", single=True)
    known = {"float": single, "double": FLOAT, "string": TEXT, "boolean": BOOLEAN, "date": DATE}
    return Column(name, {**known, "timestamp": INSTANT, "timestamp_ntz": TIMESTAMP}[name])


def type_name(kind: Type) -> str:
    """Spark's type that holds all values of a type."""
    return WIDE if kind.is_wide else TYPES[kind.kind]


def quoted(name: str) -> str:
    """A name as PySpark takes it, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


# ---- literals ----


def literal(functions: Any, value: Any, kind: Type) -> Any:
    """A value that stands in a query; a time never goes through the session's zone."""
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


# ---- how columns enter ----


def entering(functions: Any, name: str, column: Column) -> Any:
    """A stored column as it enters."""
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
    """A text in which bytes that are no UTF-8 are replaced: they may come from files."""
    if hasattr(functions, "make_valid_utf8"):
        return functions.make_valid_utf8(text)
    return functions.translate(text, "a", "a")  # PySpark 3.5 has none; to translate, Spark makes a text of Java's


def _within_dates(functions: Any, this: Any, kind: Type) -> Any:
    """A date or time, null outside of the years 1 to 9999."""
    ends: tuple[Any, Any] = (FIRST_DAY, LAST_DAY) if kind.kind == "date" else (FIRST, LAST)
    if kind.kind == "instant":
        ends = FIRST.replace(tzinfo=datetime.UTC), LAST.replace(tzinfo=datetime.UTC)
    low, high = (literal(functions, end, kind) for end in ends)
    return functions.when((this >= low) & (this <= high), this)


def _decimal_as_double(functions: Any, value: Any, column: Column) -> Any:
    """A decimal number as DuckDB converts it: its units divided, or in two parts where they are too many."""
    if column.digits <= EXACT_DIGITS or not column.scale:
        return value.cast("double")
    ten = functions.lit(10**column.scale).cast("bigint")
    whole = value.cast("bigint")  # cut off
    units = (value * ten.cast(f"decimal({column.scale + 1},0)")).cast("bigint")
    parts = whole.cast("double") + (units - whole * ten).cast("double") / ten.cast("double")
    exact = (units >= -EXACT) & (units <= EXACT)
    return functions.when(exact, units.cast("double") / ten.cast("double")).otherwise(parts)


# ---- values at the edges ----


SEVERAL = 40
"""How many places the rows of a rehearsal have: at least as many as any type has extremes."""
DOUBLES = (math.nan, math.inf, -math.inf, -0.0, 0.0, 0.5, 1e18, -1e18, 1.7976931348623157e308, -1.7976931348623157e308)
DAYS = (-(2**31), 2**31 - 1, -719163, -719162, 2932896, 2932897, -141428, 0)
"""Days since 1970 at both ends of what Spark holds, around the years 1 and 9999, and before the calendar of 1582."""
INSTANTS = (-(2**63), 2**63 - 1, -62135596800_000_001, -62135596800_000_000, 253402300799_999_999, 253402300800_000_000)
TIMES = (
    *("-290308-12-22 00:00:00", "+294247-01-10 00:00:00", "0000-12-31 23:59:59.999999", "0001-01-01 00:00:00"),
    *("9999-12-31 23:59:59.999999", "+10000-01-01 00:00:00", "1582-10-10 12:00:00", "1970-01-01 00:00:00"),
)


def extremes(functions: Any, column: Column) -> list[Any]:
    """The values at the edges of a type, as columns; null is the first."""
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
    found = [lit(None).cast(kind), *map(make, values)]
    if column.type.kind == "text":
        found += [functions.repeat(lit("x"), LONG), functions.unhex(lit("61E282")).cast("string")]
    return found


def extreme_rows(session: Any, functions: Any, columns: dict[str, Column]) -> Any:
    """Public rows of extreme values, in one part: each is there twice, so that extremes meet in groups."""
    place = functions.col("id")
    made = []
    for name, column in columns.items():
        values = extremes(functions, column)
        assert len(values) <= SEVERAL
        chosen = functions.element_at(functions.array(*values), (place % len(values) + 1).cast("int"))
        made.append(chosen.alias(name))
    return session.range(0, 2 * SEVERAL, 1, 1).select(*(made or [place]))
