"""Types of values: a kind, and of numbers the range in which every value provably lies.

There are few kinds, all of them wide: whole numbers are computed in 64 bits where their range fits and in 128 bits (or
decimal numbers of that many digits) otherwise; all other numbers are 64-bit floats that are never NaN.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["integer", "float", "text", "boolean", "date", "timestamp", "instant", "opaque"]
"""An instant is a time with a time zone: a moment, whatever clock showed it. Of an opaque value one can only ask
whether it is null."""
INT64 = (-(2**63), 2**63 - 1)
UINT64 = (0, 2**64 - 1)
WIDEST = 2**126
"""Whole numbers beyond this are computed by no engine here."""
MOST_ROWS = 2**48
"""No table has more rows than this."""
MOST_DIGITS = 300
"""Floats in arithmetic lie below 10 to this, and are multiples of 10 to minus this: far from overflow and underflow,
at which PostgreSQL stops."""


@dataclass(frozen=True)
class Type:
    """What a value is.

    Attributes
    ----------
    kind : Kind
        What it can be compared with.
    name : str
        The type in the table, or of what is computed, as people read it.
    low, high : number
        Of numbers: between which ones every value lies that is not null. Floats may be infinite, but are never NaN.
    fine : float
        Of floats: every value is a multiple of 10 to this, or infinite; -inf where nothing is known.
    single : bool
        Whether it is a column of 32-bit floats: a number that is written beside it is the nearest of these.
    rounded : bool
        Whether the engine's numbers hold more digits than a float: decimals and whole numbers of 128 bits.
    undeclared : bool
        Whether it is text whose type nobody declared: a comparison may read it as something else.
    total : bool
        Whether it is a sum over rows already, so that a sum of such sums is bounded alike.
    """

    kind: Kind
    name: str
    low: float = -math.inf
    high: float = math.inf
    fine: float = -math.inf
    single: bool = False
    rounded: bool = False
    undeclared: bool = False
    total: bool = False

    def __str__(self) -> str:
        return self.name

    @property
    def is_number(self) -> bool:
        """Whether it can be compared with numbers."""
        return self.kind in ("integer", "float")

    @property
    def is_wide(self) -> bool:
        """Whether it is a whole number that 64 bits may not hold."""
        return self.kind == "integer" and not (INT64[0] <= self.low and self.high <= INT64[1])

    @property
    def digits(self) -> tuple[float, float]:
        """Logarithms to base 10: of the largest size, and of what every value is a multiple of."""
        largest = max(abs(self.low), abs(self.high))
        if self.kind == "integer":
            return math.log10(largest) if largest > 1 else 0.0, 0.0
        return (math.inf if math.isinf(largest) else math.log10(largest) if largest else -math.inf), self.fine


BOOLEAN = Type("boolean", "boolean")
TEXT = Type("text", "string")
DATE = Type("date", "date")
TIMESTAMP = Type("timestamp", "timestamp(6)")
INSTANT = Type("instant", "timestamp('UTC', 6)")
FLOAT = Type("float", "float64")
FINITE = Type("float", "float64", -1.7976931348623157e308, 1.7976931348623157e308)


def integer(low: int, high: int, name: str = "int64", total: bool = False) -> Type:
    """Whole numbers from one to another."""
    return Type("integer", name, low, high, 0.0, total=total)


def real(low: float, high: float, fine: float = -math.inf) -> Type:
    """Floats from one to another, multiples of 10 to `fine`."""
    return Type("float", "float64", float(low), float(high), fine)


def hull(*types: Type) -> Type:
    """A type that holds the values of all of some: numbers of one kind, or values of one kind."""
    first = types[0]
    if not first.is_number:
        return first
    low, high = min(t.low for t in types), max(t.high for t in types)
    if all(t.kind == "integer" for t in types):
        return integer(int(low), int(high))
    return real(low, high, min(t.digits[1] for t in types))


def declared(kind: Type) -> Type:
    """The type of a value that is computed of a column: not 32 bits any more, and not undeclared."""
    return replace(kind, single=False, undeclared=False) if kind.single or kind.undeclared else kind
