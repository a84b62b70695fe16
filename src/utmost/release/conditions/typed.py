"""Values of one type read as another: what a TRY_CAST names, undeclared text, dates and moments as they are written."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

from utmost.errors import InvalidInput, NotRowWise, shown
from utmost.release.allowed import WIDEST
from utmost.release.source import kind_of


@dataclass(frozen=True)
class Operand:
    """A value under construction; `untyped` if it is a column of text that a comparison may read as something else."""

    value: Any
    kind: str
    untyped: bool = False
    literal: Any = None


def as_kind(operand: Operand, target: str) -> Operand:
    """TRY_CAST: what cannot be read is null; so are NaN and infinities read from text."""
    import ibis

    dtype = type_named(target)
    if operand.kind == "other":
        raise NotRowWise(f"TRY_CAST cannot read {operand.value.type()}; leave that column out.")
    if str(dtype) == str(operand.value.type()(nullable=True)) == WIDEST:  # Ibis drops it, though a HUGEINT may not fit
        raise InvalidInput("TRY_CAST to DECIMAL(38, 0) changes no number of 38 digits; leave it out.")
    value = operand.value.try_cast(dtype)
    if dtype.is_floating() and operand.kind == "text":
        value = ibis.ifelse(value.isnan() | value.isinf(), ibis.null("float64"), value)
    return Operand(value, kind_of(dtype))


def dated(operand: Operand, kind: str) -> Operand:
    """A literal of text or a date as a date or time: public, so a wrong one is an error."""
    import ibis

    text = str(operand.literal)
    try:
        if kind == "date":
            return Operand(ibis.literal(datetime.date.fromisoformat(text)), "date", literal=text)
        if kind == "timestamp":
            moment = datetime.datetime.fromisoformat(text)
            if moment.tzinfo is None:
                return Operand(ibis.literal(moment), "timestamp", literal=text)
    except ValueError:
        pass
    raise InvalidInput(f"{shown(text)} is not a date or time; write '2026-01-31' or '2026-01-31 12:00:00'.")


def moment_of(operand: Operand) -> Operand:
    """A literal as a moment, which needs to say in which zone its clock is."""
    import ibis

    text = str(operand.literal)
    try:
        moment = datetime.datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            utc = moment.astimezone(datetime.UTC)
            return Operand(ibis.literal(utc, "timestamp('UTC', 6)"), "instant", literal=text)
    except (ValueError, OverflowError):
        pass
    raise InvalidInput(
        f"{shown(text)} is not a moment, and the column holds times with a time zone; say the zone's offset, as in "
        "'2026-01-31 12:00:00+01:00', or '2026-01-31 00:00:00Z' for universal time."
    )


def named_type(node: Any) -> str:
    """The type a TRY_CAST names."""
    name = node.this.name.lower() if hasattr(node.this, "name") else str(node.this).lower()
    said = [str(part.this) for part in node.expressions]
    if name == "decimal":
        return f"decimal({', '.join([*said, '0'][:2] if said else ('18', '3'))})"  # as DuckDB reads it
    known = {
        **{"tinyint": "int8", "smallint": "int16", "int": "int32", "bigint": "int64", "double": "float64"},
        **dict.fromkeys(("text", "varchar", "char"), "string"),
        **{"date": "date", "boolean": "boolean"},
        **dict.fromkeys(("timestamp", "timestampntz", "datetime"), "timestamp"),
    }
    if name not in known or (said and known[name] != "string"):
        raise NotRowWise(
            f"TRY_CAST to {node.sql(dialect='duckdb')} is not known here; use BIGINT, DOUBLE, DECIMAL(p, s), TEXT, "
            "BOOLEAN, DATE or TIMESTAMP."
        )
    return known[name]


def type_named(name: str) -> Any:
    """A type of Ibis by its name; there are decimals that do not exist."""
    import ibis

    try:
        return ibis.dtype(name)
    except Exception:
        raise InvalidInput(f"there is no type {name}; a DECIMAL has 1 to 38 digits.") from None
