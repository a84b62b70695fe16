"""Public rows of extreme values, on which every statement is rehearsed before anything is spent on it.

Every column of the made-up table holds the extreme values of its type: the least and the greatest number, 0 and -0.0,
NaN, infinities, very long and unusual texts, the first and the last dates, null. Each row occurs twice, so that
extremes meet in one group; the public keys of a rehearsal contain extremes, too, so that they meet in joins. A value of
the list below that does not fit a column's type is null there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

WHOLE = [
    str(sign * 2**bits - less) for bits in (7, 8, 15, 16, 31, 32, 63, 64, 127, 128) for sign, less in ((1, 1), (-1, 0))
]
DECIMALS = [sign + "9" * digits for digits in (1, 4, 9, 18, 38) for sign in ("", "-")]
FRACTIONS = ["0.5", "-0.5", "0.01", "-0.01", "1e-18", "1e18", "-1e18", "123456.789"]
FLOATS = ["nan", "inf", "-inf", "-0.0", "1.7976931348623157e308", "-1.7976931348623157e308", "5e-324", "-5e-324"]
FLOATS += ["3.4028234e38", "-3.4028234e38", "1e-45", "2.2250738585072014e-308", "1e200", "-1e200", "1e-200"]
DATES = ["0001-01-01", "9999-12-31", "10000-01-01", "1582-10-04", "1970-01-01", "2000-02-29", "infinity", "-infinity"]
DATES += ["5881580-07-10", "5877642-06-25 (BC)", "294247-01-10", "4713-01-01 BC", "5874897-12-31"]
TIMES = ["0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "2262-04-11 23:47:16.854775", "2016-12-31 23:59:60"]
TIMES += ["1677-09-21 00:12:43.145225", "294247-01-10 04:00:54.775806", "290309-12-22 (BC) 00:00:00", "24:00:00"]
TEXTS = [
    "",
    " ",
    "a",
    "true",
    "f",
    "'",
    '"',
    "%_\\",
    "\n\r\t",
    "é",
    "İ",
    "ß",
    "日本語",
    "\U0001f600",
    "\u202e",
    "-",
    "{}",
    "[]",
]
TEXTS += ["1d", "0x10", "1_000", " 7 ", "+5", "٣", "1e400", "00000000-0000-0000-0000-000000000000", "\\xFF"]
EXTREMES: tuple[str, ...] = tuple(
    dict.fromkeys(["0", "1", "-1", "2", *WHOLE, *DECIMALS, *FRACTIONS, *FLOATS, *DATES, *TIMES, *TEXTS])
)
"""Extreme values as text, which an engine casts to the type of each column."""
PLACES = ("dimension", "place")
"""Columns of a table of keys: which list a key belongs to, and its position there."""
LONG = 100_000
"""Length of the longest text, in characters."""


def extreme_keys(keys: Any, few: int = 3) -> Any:
    """Some of the public keys of a statement, followed by the extreme values of their types, as an Arrow table."""
    import datetime

    import pyarrow

    extremes: dict[str, Sequence[Any]] = {
        "string": [*TEXTS, "x" * 1000],
        "int64": [-(2**63), 2**63 - 1, 0],
        "uint64": [2**64 - 1, 2**63, 0],
        "double": [1.7976931348623157e308, -1.7976931348623157e308, 5e-324, 0.0],
        "bool": [True, False],
        "date32[day]": [datetime.date.min, datetime.date.max],
    }
    first = keys.slice(0, few)
    columns = []
    for name, kind in zip(keys.column_names, keys.schema.types, strict=True):
        own = name in PLACES  # positions must be valid, so they are those of the keys themselves
        values = first[name].to_pylist() if own else extremes[str(kind)]
        columns.append(pyarrow.array([values[i % len(values)] for i in range(len(TEXTS))], kind))
    return pyarrow.concat_tables([first, pyarrow.table(columns, schema=keys.schema)])
