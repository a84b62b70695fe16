"""Types of values: a kind, and for numbers a range in which every value provably lies.

There are few kinds, all of them wide: integers are computed in 64 bits where their range fits and in 128 bits (or
decimal numbers of that many digits) otherwise; all other numbers are 64-bit floats that are never NaN.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["integer", "float", "text", "boolean", "date", "timestamp", "instant", "opaque"]
"""An instant is a time with a time zone: a moment, independent of the clock that showed it. For an opaque value a query
can only ask whether it is null."""
INT64 = (-(2**63), 2**63 - 1)
UINT64 = (0, 2**64 - 1)
WIDEST = 2**126
"""Bound on the size of integers in every computation."""
MOST_ROWS = 2**48
"""Bound on the number of rows of a table."""
MOST_DIGITS = 300
"""In arithmetic, floats are below 10 to this power, and multiples of 10 to minus this power: far from overflow and
underflow, at which PostgreSQL stops."""


@dataclass(frozen=True)
class Type:
    """The type of a value.

    Attributes
    ----------
    kind : Kind
        Values of one kind can be compared.
    name : str
        The name of the type, of a stored or computed value, for messages.
    low, high : number
        For numbers: bounds on every value that is not null. Floats may be infinite, but are never NaN.
    fine : float
        For floats: every value is a multiple of 10 to this power, or infinite; -inf where nothing is known.
    single : bool
        Whether it is a column of 32-bit floats: a literal that is compared with it is rounded to the nearest of these.
    rounded : bool
        Whether the engine's numbers have more digits than a float: decimals and integers of 128 bits.
    undeclared : bool
        Whether it is text without a declared type: a comparison may cast it.
    total : bool
        Whether it is a sum over rows already, so that a sum of such sums has the same bound.
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
        """Whether it is an integer that may not fit into 64 bits."""
        return self.kind == "integer" and not (INT64[0] <= self.low and self.high <= INT64[1])

    @property
    def digits(self) -> tuple[float, float]:
        """Logarithms to base 10 of the largest absolute value, and of the number that every value is a multiple of."""
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
    """The type of integers between two bounds."""
    return Type("integer", name, low, high, 0.0, total=total)


def real(low: float, high: float, fine: float = -math.inf) -> Type:
    """The type of floats between two bounds that are multiples of 10 to the power `fine`."""
    return Type("float", "float64", float(low), float(high), fine)


def hull(*types: Type) -> Type:
    """The smallest type that contains several types, all of numbers or all of one kind."""
    first = types[0]
    if not first.is_number:
        return first
    low, high = min(t.low for t in types), max(t.high for t in types)
    if all(t.kind == "integer" for t in types):
        return integer(int(low), int(high))
    return real(low, high, min(t.digits[1] for t in types))


def computed_type(kind: Type) -> Type:
    """The type of a value computed from one of this type: no longer of 32 bits, and no longer undeclared."""
    return replace(kind, single=False, undeclared=False) if kind.single or kind.undeclared else kind
