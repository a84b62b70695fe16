"""Numbers that are never rounded the wrong way: rationals, balls, directed rounding, and canonical JSON."""

from utmost.exact.numbers import (
    MOST_BITS,
    Enclosed,
    ExpSum,
    Number,
    Real,
    as_fmpq,
    as_literal,
    as_plain,
    as_rational,
    compare,
    endpoints,
    is_number,
    show_rational,
    to_float,
)

__all__ = [
    "MOST_BITS",
    "Enclosed",
    "ExpSum",
    "Number",
    "Real",
    "as_fmpq",
    "as_literal",
    "as_plain",
    "as_rational",
    "compare",
    "endpoints",
    "is_number",
    "show_rational",
    "to_float",
]
