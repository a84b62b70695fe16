"""Column types of every engine with the values at their ends: the rows that no question may fail on.

A `Column` is a type, how an engine makes a column of it, one harmless value and the extreme ones. What a question
compares the column with (keys, categories, bounds) is public and belongs to its *kind*: number, text, day and so on.
"""

from __future__ import annotations

import datetime
import math
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow

DAY, MOMENT = datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 12)
ZONED = MOMENT.replace(tzinfo=datetime.UTC)
LONG = "x" * 100_000
TEXTS = [
    "",
    "\0",
    "a\0b",
    "\ufeffa",
    "\U0010ffff",
    "e\u0301",
    LONG,
    "1e999",
    "-1e-999",
    "0x10",
    "１２",
    "9" * 400,
    "NaN",
]
TEXTS += [
    "inf",
    "99999-12-31",
    "infinity",
    "true",
    "a%_\\'\"",
    "\r\n",
    "٣",
    "1_000",
    "1,5",
    " 7 ",
    "-0",
    "1" + "0" * 38,
]
BROKEN = [b"\xff\xfe", b"a\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc3", b"\0\xff"]
FLOATS = [0.0, -0.0, 5e-324, -5e-324, 1e-200, 1e200, -1e200, 1.7976931348623157e308, math.nan, math.inf, -math.inf]
FLOATS += [0.5, 2.0**53 + 2, 2.0**63, -(2.0**63), 2.0**127]
SINGLE = [*np.clip(FLOATS, -3.4028235e38, 3.4028235e38).astype("float32").tolist(), math.inf, -math.inf, 1e-45]
HALF = [*np.clip(FLOATS, -65504, 65504).astype("float16").tolist(), math.inf, -math.inf, 6e-8]
PUBLIC: dict[str, list[Any]] = {
    "number": [1, 2],
    "text": ["a", "é"],
    "truth": [True, False],
    "day": [DAY, datetime.date(9999, 12, 31)],
    "moment": [MOMENT, datetime.datetime(9999, 12, 31, 23, 59, 59)],
    "zoned": [ZONED, datetime.datetime(1, 1, 2, tzinfo=datetime.UTC)],
    "uuid": ["00000000-0000-0000-0000-000000000001", "ffffffff-ffff-ffff-ffff-ffffffffffff"],
}
"""Two public values of each kind, for keys and categories; for all other kinds they are texts."""


@dataclass(frozen=True)
class Column:
    """A column type and the values at its ends.

    Attributes
    ----------
    kind : str
        What the values are: "number", "text", "truth", "day", "moment", "zoned", or something else.
    harmless : Any
        An ordinary value, as `make` takes it.
    extremes : list
        The values at the ends of the type, and beyond them where an engine stores such; null is added everywhere.
    make : callable
        A column of the engine made of a list of such values and None.
    far : list, optional
        Two public values to group by of which one lies at the end of the type, where those of the kind do not.
    """

    kind: str
    harmless: Any
    extremes: list[Any]
    make: Callable[[list[Any]], Any] = field(repr=False, compare=False, default=lambda values: values)
    far: list[Any] = field(default_factory=list)

    @property
    def public(self) -> list[Any]:
        """Two public values."""
        return PUBLIC.get(self.kind, PUBLIC["text"])


# ---- Arrow, and what is made of it: Parquet, polars ----


def typed(kind: Any) -> Callable[[list[Any]], Any]:
    """Values as Arrow takes them."""
    return lambda values: pyarrow.array(values, kind)


def viewed(stored: Any, kind: Any) -> Callable[[list[Any]], Any]:
    """Numbers or bytes that are taken as another type without a look at what they are."""
    return lambda values: pyarrow.array(values, stored).view(kind)


def raw_decimal(kind: Any) -> Callable[[list[Any]], Any]:
    """Decimal numbers from their stored integers, which may have more digits than the type says."""

    def make(values: list[Any]) -> Any:
        size = kind.bit_width // 8
        stored = b"".join((0 if v is None else v).to_bytes(size, "little", signed=True) for v in values)
        known = np.packbits(np.array([v is not None for v in values], bool), bitorder="little").tobytes()
        return pyarrow.Array.from_buffers(kind, len(values), [pyarrow.py_buffer(known), pyarrow.py_buffer(stored)])

    return make


def _whole(bits: int, signed: bool) -> Column:
    name = f"{'' if signed else 'u'}int{bits}"
    least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    ends = [least, least + 1, 0, 28, most - 1, most] + ([-1, -128] if signed else [2 ** (bits - 1)])
    far = [1, most] if bits == 64 else []
    return Column("number", 1, ends, typed(getattr(pyarrow, name)()), far)


def _times(make: Callable[[str], Any], kind: str) -> dict[str, Column]:
    ends = [0, -1, 2**63 - 1, -(2**63), -(2**63) + 1, 2**53, 253402300800, -62135596801, 10**15, 4 * 10**18, 2**31]
    ends += [253402300800 * 10**6, 9223372036854775 * 1000, -9223372036854775 * 1000]
    return {unit: Column(kind, 1, ends, viewed(pyarrow.int64(), make(unit))) for unit in ("s", "ms", "us", "ns")}


def arrow_columns() -> dict[str, Column]:
    """Every type of Arrow's that holds values of its own."""
    found = {f"{'' if signed else 'u'}int{bits}": _whole(bits, signed) for bits in (8, 16, 32, 64) for signed in (1, 0)}
    found["float16"] = Column("number", np.float16(1), [np.float16(x) for x in HALF], typed(pyarrow.float16()))
    found["float32"] = Column("number", 1.0, SINGLE, typed(pyarrow.float32()))
    found["float64"] = Column("number", 1.0, FLOATS, typed(pyarrow.float64()))
    for digits, scale, make in ((9, 2, 32), (18, 4, 64), (38, 0, 128), (38, 38, 128), (12, 3, 128), (76, 0, 256)):
        kind = getattr(pyarrow, f"decimal{make}")(digits, scale)
        most = 10**digits - 1
        ends = [most, -most, 0, 1, -1, 10 ** (digits - 1)]
        name = f"decimal{make}({digits},{scale})"
        found[name] = Column("number", 10**scale if scale < digits else 1, ends, raw_decimal(kind))
        beyond = [2 ** (make - 1) - 1, -(2 ** (make - 1)), most + 1, *ends]
        found[f"{name} beyond"] = Column("number", 10**scale if scale < digits else 1, beyond, raw_decimal(kind))
    for name in ("string", "large_string", "string_view"):
        stored = {"string": "binary", "large_string": "large_binary", "string_view": "binary_view"}[name]
        texts = [*(text.encode() for text in TEXTS), *BROKEN]
        found[name] = Column("text", b"a", texts, viewed(getattr(pyarrow, stored)(), getattr(pyarrow, name)()))
    for name in ("binary", "large_binary", "binary_view"):
        found[name] = Column("bytes", b"a", [b"", b"\0", *BROKEN], typed(getattr(pyarrow, name)()))
    found["fixed_size_binary"] = Column("bytes", b"abc", [b"\0\0\0", b"\xff\xff\xff"], typed(pyarrow.binary(3)))
    found["bool"] = Column("truth", True, [False, True], typed(pyarrow.bool_()))
    found["bool8"] = Column(
        "truth", 1, [0, -128, 127], lambda v: pyarrow.ExtensionArray.from_storage(pyarrow.bool8(), _int8(v))
    )
    ends = [0, -1, 2**31 - 1, -(2**31), -(2**31) + 1, 2932896, 2932897, -719162, -719163, 10**8]
    found["date32"] = Column("day", 18262, ends, viewed(pyarrow.int32(), pyarrow.date32()))
    milliseconds = [day * 86_400_000 for day in ends if abs(day) < 10**11] + [1, 2**63 - 1, -(2**63)]
    found["date64"] = Column("day", 18262 * 86_400_000, milliseconds, viewed(pyarrow.int64(), pyarrow.date64()))
    for zone, kind in ((None, "moment"), ("UTC", "zoned"), ("America/New_York", "zoned"), ("+05:30", "zoned")):
        for unit, column in _times(lambda unit, zone=zone: pyarrow.timestamp(unit, zone), kind).items():
            if zone in (None, "UTC") or unit in ("s", "ns"):
                found[f"timestamp[{unit}{', ' + zone if zone else ''}]"] = column
    for unit, column in _times(pyarrow.duration, "span").items():
        found[f"duration[{unit}]"] = column
    clock = [0, 86_399, 86_400, 2**31 - 1, -(2**31), -1]
    for unit in ("s", "ms"):
        found[f"time32[{unit}]"] = Column("clock", 1, clock, viewed(pyarrow.int32(), pyarrow.time32(unit)))
    for unit in ("us", "ns"):
        far = [*clock, 86_400 * 10**6, 86_400 * 10**9, 2**63 - 1, -(2**63)]
        found[f"time64[{unit}]"] = Column("clock", 1, far, viewed(pyarrow.int64(), pyarrow.time64(unit)))
    spans = [(0, 0, 0), (2**31 - 1, 2**31 - 1, 2**63 - 1), (-(2**31), -(2**31), -(2**63)), (1, -1, 1)]
    found["month_day_nano"] = Column("span", (0, 1, 0), spans, typed(pyarrow.month_day_nano_interval()))
    identities = [bytes(16), b"\xff" * 16]
    found["uuid"] = Column(
        "uuid",
        bytes(15) + b"\1",
        identities,
        lambda v: pyarrow.ExtensionArray.from_storage(pyarrow.uuid(), pyarrow.array(v, pyarrow.binary(16))),
    )
    found["json"] = Column(
        "json",
        '{"a": 1}',
        ["{bad", "", "[" * 5000, "null", '"\\ud800"'],
        lambda v: pyarrow.ExtensionArray.from_storage(pyarrow.json_(pyarrow.utf8()), pyarrow.array(v, pyarrow.utf8())),
    )
    found["null"] = Column("null", None, [None], typed(pyarrow.null()))
    found |= _nested()
    for name, plain in (("dictionary", "string"), ("dictionary of int64", "int64"), ("dictionary of days", "date32")):
        held = found[plain]
        found[name] = Column(held.kind, held.harmless, held.extremes, _as_dictionary(held), held.far)
    runs = found["int16"]
    found["run_end_encoded"] = Column(
        runs.kind, runs.harmless, runs.extremes, lambda v: pyarrow.compute.run_end_encode(runs.make(v))
    )
    return found


def _int8(values: list[Any]) -> Any:
    return pyarrow.array(values, pyarrow.int8())


def _as_dictionary(held: Column) -> Callable[[list[Any]], Any]:
    return lambda values: pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([None if v is None else i for i, v in enumerate(values)], pyarrow.int32()),
        held.make([held.harmless if v is None else v for v in values]),
    )


def _nested() -> dict[str, Column]:
    whole, pair = pyarrow.int64(), pyarrow.struct([("a", pyarrow.int64()), ("b", pyarrow.string())])
    lists = [[], [None], [2**63 - 1] * 3]
    return {
        "list": Column("nested", [1], lists, typed(pyarrow.list_(whole))),
        "large_list": Column("nested", [1], lists, typed(pyarrow.large_list(whole))),
        "list of dates": Column("nested", [0], [[], [2**31 - 1]], typed(pyarrow.list_(pyarrow.date32()))),
        "fixed_size_list": Column("nested", [1, 2], [[None, 2**63 - 1]], typed(pyarrow.list_(whole, 2))),
        "struct": Column("nested", {"a": 1}, [{"a": None}, {"a": 2**63 - 1, "b": LONG}], typed(pair)),
        "map": Column("nested", [("a", 1)], [[], [("a", 2**63 - 1)]], typed(pyarrow.map_(pyarrow.string(), whole))),
    }


# ---- pandas ----


def pandas_columns() -> dict[str, Column]:
    """Types of pandas: of NumPy, of its own and of Arrow; columns of objects hold anything."""
    import pandas

    def series(kind: str) -> Callable[[list[Any]], Any]:
        return lambda values: pandas.Series(values, dtype=kind)

    def stored(kind: str, missing: Any) -> Callable[[list[Any]], Any]:
        plain = np.array if "64[" not in kind else lambda v, dtype: np.array(v, "int64").astype(dtype)
        return lambda values: pandas.Series(plain([missing if v is None else v for v in values], dtype=kind))

    found = {}
    for name, column in arrow_columns().items():
        if name.removeprefix("u").startswith("int"):
            found[name] = Column("number", 1, column.extremes, stored(name, 0), column.far)
            kind = name.replace("uint", "UInt") if name[0] == "u" else name.replace("int", "Int")
            found[kind] = Column("number", 1, column.extremes, series(kind), column.far)
        if name in ("int16", "uint64", "float16", "float32", "date32", "timestamp[s]", "decimal128(38,0)", "string"):
            made = column.make
            found[f"Arrow {name}"] = Column(
                column.kind,
                column.harmless,
                column.extremes,
                lambda v, made=made: pandas.Series(pandas.arrays.ArrowExtensionArray(pyarrow.chunked_array([made(v)]))),
                column.far,
            )
    for kind in ("float16", "float32", "float64", "Float32", "Float64"):
        made = series(kind) if kind[0] == "F" else stored(kind, math.nan)
        found[kind] = Column("number", 1.0, HALF if kind == "float16" else SINGLE, made)
    found["bool"] = Column("truth", True, [False, True], stored("bool", False))
    found["boolean"] = Column("truth", True, [False, True], series("boolean"))
    texts = [*TEXTS, "\ud800", "a\udcff"]
    found["category"] = Column("text", "a", TEXTS, series("category"))
    found["category of numbers"] = Column("number", 1, [2**63 - 1, -(2**63)], series("category"))
    found["str"] = Column("text", "a", TEXTS, series("str"))
    found["string[python]"] = Column("text", "a", texts, series("string[python]"))

    class Odd:
        def __str__(self) -> str:
            raise RuntimeError("private")

        def __ne__(self, other: object) -> bool:
            raise RuntimeError("private")

        __hash__ = None  # type: ignore[assignment]

    anything = [*texts, 2**200, math.nan, Decimal("NaN"), Decimal("1e999"), DAY, MOMENT, b"\xff", Odd(), [1], {"a": 1}]
    anything += [uuid.UUID(int=1), pandas.NaT, pandas.NA, np.float16(1), True, object, np.array([1, 2])]
    found["object"] = Column("text", "a", anything, series("object"))
    times = [0, -1, 2**62, -(2**62), 253402300800, 10**15]
    for unit in ("s", "ms", "us", "ns"):
        found[f"datetime64[{unit}]"] = Column("moment", 1, times, stored(f"datetime64[{unit}]", -(2**63)))
        found[f"timedelta64[{unit}]"] = Column("span", 1, times, stored(f"timedelta64[{unit}]", -(2**63)))
    found["datetime64[ns, UTC]"] = Column(
        "zoned", 1, times, lambda v: stored("datetime64[ns]", -(2**63))(v).dt.tz_localize("UTC")
    )
    found["datetime64[s, UTC]"] = Column(
        "zoned", 1, times, lambda v: stored("datetime64[s]", -(2**63))(v).dt.tz_localize("UTC")
    )
    found["period"] = Column("other", "2020-01", ["1700-01"], series("period[M]"))
    found["complex"] = Column("other", 1j, [complex(math.nan, 1)], stored("complex128", 0))
    found["sparse"] = Column("number", 1.0, [0.0, math.nan, math.inf], series("Sparse[float64]"))
    found["interval"] = Column(
        "other", 1, [0], lambda v: pandas.Series(pandas.arrays.IntervalArray.from_breaks(range(len(v) + 1)))
    )
    return found


# ---- polars ----


def polars_columns() -> dict[str, Column]:
    """Types of polars."""
    import polars

    def series(kind: Any) -> Callable[[list[Any]], Any]:
        return lambda values: polars.Series(values, dtype=kind, strict=False)

    def physical(kind: Any, stored: Any) -> Callable[[list[Any]], Any]:
        return lambda values: polars.Series(values, dtype=stored).cast(kind)

    found = {}
    for bits in (8, 16, 32, 64):
        for signed in (True, False):
            column = _whole(bits, signed)
            name = f"{'Int' if signed else 'UInt'}{bits}"
            found[name] = Column("number", 1, column.extremes, series(getattr(polars, name)), column.far)
    found["Int128"] = Column("number", 1, [2**127 - 1, -(2**127), 10**38], series(polars.Int128))
    found["Float32"] = Column("number", 1.0, SINGLE, series(polars.Float32))
    found["Float64"] = Column("number", 1.0, FLOATS, series(polars.Float64))
    numbers = [Decimal("9" * 38), Decimal("-" + "9" * 38), Decimal(0)]
    found["Decimal(38,0)"] = Column("number", Decimal(1), numbers, series(polars.Decimal(38, 0)))
    found["String"] = Column("text", "a", TEXTS, series(polars.String))
    found["Categorical"] = Column("text", "a", TEXTS, series(polars.Categorical))
    found["Enum"] = Column("text", "a", ["é", "\0"], series(polars.Enum(["a", "é", "\0", "z"])))
    found["Boolean"] = Column("truth", True, [False], series(polars.Boolean))
    found["Binary"] = Column("bytes", b"a", [b"", *BROKEN], series(polars.Binary))
    days = [0, 2**31 - 1, -(2**31), 2932897, -719163]
    found["Date"] = Column("day", 18262, days, physical(polars.Date, polars.Int32))
    times = [0, -1, 2**63 - 1, -(2**63), 253402300800, 253402300800 * 10**6, 9223372036854775 * 1000]
    for unit in ("ms", "us", "ns"):
        found[f"Datetime({unit})"] = Column("moment", 1, times, physical(polars.Datetime(unit), polars.Int64))
        found[f"Datetime({unit}, UTC)"] = Column(
            "zoned", 1, times, physical(polars.Datetime(unit, "UTC"), polars.Int64)
        )
        found[f"Duration({unit})"] = Column("span", 1, times, physical(polars.Duration(unit), polars.Int64))
    found["Time"] = Column("clock", 1, [0, 86_399_999_999_999], physical(polars.Time, polars.Int64))
    found["List"] = Column("nested", [1], [[], [None, 2**63 - 1]], series(polars.List(polars.Int64)))
    found["Array"] = Column("nested", [1, 1], [[None, 2**63 - 1]], series(polars.Array(polars.Int64, 2)))
    found["Struct"] = Column("nested", {"a": 1}, [{"a": None}], series(polars.Struct({"a": polars.Int64})))
    found["Null"] = Column("null", None, [None], series(polars.Null))
    found["Object"] = Column("other", object(), [object()], lambda v: polars.Series(v, dtype=polars.Object))
    return found


# ---- a file of DuckDB: values are written as SQL ----

FAR_DAYS = ["DATE 'infinity'", "DATE '-infinity'", "DATE '5877642-06-25 (BC)'", "DATE '5881580-07-10'"]
FAR_DAYS += ["DATE '10000-01-01'", "DATE '0001-01-01'", "DATE '0001-12-31 (BC)'", "DATE '9999-12-31'"]


def duckdb_columns() -> dict[str, Column]:
    """Types of DuckDB by their names; values are SQL."""
    found = {}
    for bits, name in ((8, "TINYINT"), (16, "SMALLINT"), (32, "INTEGER"), (64, "BIGINT"), (128, "HUGEINT")):
        for kind, low, high in ((name, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1), (f"U{name}", 0, 2**bits - 1)):
            ends = {low, low + 1, 0, 28, high - 1, high}
            ends |= {10**38, -(10**38), 10**38 - 1, 2**64, 2**63} if bits == 128 else set()
            written = [f"'{n}'::{kind}" for n in sorted(ends) if low <= n <= high]
            found[kind] = Column("number", f"1::{kind}", written, far=[1, min(high, 2**64 - 1)] if bits >= 64 else [])
    for kind in ("FLOAT", "DOUBLE"):
        written = [f"'{x!r}'::{kind}" for x in FLOATS if kind == "DOUBLE" or not math.isfinite(x) or abs(x) < 3e38]
        found[kind] = Column("number", f"1::{kind}", written)
    for digits, scale in ((4, 1), (9, 2), (18, 4), (38, 0), (38, 10), (38, 38)):
        kind, most = f"DECIMAL({digits},{scale})", f"{'9' * (digits - scale)}.{'9' * scale}"
        found[kind] = Column("number", f"0.1::{kind}", [f"'{most}'::{kind}", f"'-{most}'::{kind}", f"0::{kind}"])
    texts = ["''", "chr(0)", "'a' || chr(0) || 'b'", "repeat('x', 100000)", "chr(1114111)", "'1e999'", "'NaN'"]
    texts += [
        "'99999-12-31'",
        "'infinity'",
        "repeat('9', 400)",
        "'true'",
        "'0x10'",
        "chr(13)",
        "'1' || repeat('0', 38)",
    ]
    found["VARCHAR"] = Column("text", "'a'", texts)
    found["ENUM"] = Column("text", "'a'::ENUM('a', 'é', '')", ["'é'::ENUM('a', 'é', '')", "''::ENUM('a', 'é', '')"])
    found["BOOLEAN"] = Column("truth", "true", ["false"])
    found["DATE"] = Column("day", "DATE '2020-01-01'", FAR_DAYS)
    ends = {
        "TIMESTAMP": ["290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54.775806", "infinity", "-infinity"],
        "TIMESTAMP_S": ["290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54", "10000-01-01 00:00:00"],
        "TIMESTAMP_MS": ["290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54.775", "10000-01-01 00:00:00"],
        "TIMESTAMP_NS": ["1677-09-22 00:00:00", "2262-04-11 23:47:16.854775806"],
        "TIMESTAMPTZ": ["290309-12-22 (BC) 00:00:00+00", "294247-01-10 04:00:54.775806+00", "infinity", "-infinity"],
    }
    for kind, written in ends.items():
        extremes = [f"'{text}'::{kind}" for text in written] + [f"'0001-01-01 00:00:00'::{kind}"] * ("NS" not in kind)
        found[kind] = Column("zoned" if kind == "TIMESTAMPTZ" else "moment", f"'2020-01-01 12:00:00'::{kind}", extremes)
    found["TIME"] = Column("clock", "TIME '12:00'", ["TIME '00:00'", "TIME '24:00:00'", "TIME '23:59:59.999999'"])
    found["TIMETZ"] = Column(
        "clock", "'12:00:00+00'::TIMETZ", ["'00:00:00+15:59:59'::TIMETZ", "'24:00:00-15:59:59'::TIMETZ"]
    )
    spans = ["INTERVAL '178000000 years'", "INTERVAL '-178000000 years'", "to_microseconds(9223372036854775807)"]
    found["INTERVAL"] = Column("span", "INTERVAL 1 DAY", [*spans, "to_days(2147483647)"])
    found["BLOB"] = Column("bytes", "'a'::BLOB", ["''::BLOB", "'\\xFF\\x00'::BLOB"])
    found["BIT"] = Column("bytes", "'1'::BIT", [f"'{'1' * 1000}'::BIT", "'0'::BIT"])
    found["UUID"] = Column("uuid", f"'{uuid.UUID(int=1)}'::UUID", [f"'{uuid.UUID(int=2**128 - 1)}'::UUID"])
    found["JSON"] = Column("json", """'{"a": 1}'::JSON""", ["'[]'::JSON", "'null'::JSON", "'1e999'::JSON"])
    found["LIST"] = Column("nested", "[1::BIGINT]", ["[]::BIGINT[]", "[NULL]::BIGINT[]"])
    found["ARRAY"] = Column("nested", "[1, 2]::BIGINT[2]", ["[NULL, 9223372036854775807]::BIGINT[2]"])
    found["STRUCT"] = Column("nested", "{'a': 1::BIGINT}", ["{'a': NULL::BIGINT}"])
    found["MAP"] = Column("nested", "MAP {'a': 1::BIGINT}", ["MAP {}::MAP(VARCHAR, BIGINT)"])
    found["UNION"] = Column("nested", "1::BIGINT::UNION(n BIGINT, t VARCHAR)", ["'x'::UNION(n BIGINT, t VARCHAR)"])
    found["BIGNUM"] = Column("other", "1::BIGNUM", [f"'{'9' * 400}'::BIGNUM", f"'-{'9' * 400}'::BIGNUM"])
    return found


DUCKDB_TYPES = {"ENUM": "ENUM('a', 'é', '')", "LIST": "BIGINT[]", "ARRAY": "BIGINT[2]", "STRUCT": "STRUCT(a BIGINT)"}
DUCKDB_TYPES |= {"MAP": "MAP(VARCHAR, BIGINT)", "UNION": "UNION(n BIGINT, t VARCHAR)"}
"""How DuckDB writes a type, where that is not its name here."""


# ---- PostgreSQL: values are written as SQL literals ----


def postgres_columns() -> dict[str, Column]:
    """Types of PostgreSQL by their names; values are the texts that the type reads."""
    found = {}
    for bits, name in ((16, "smallint"), (32, "integer"), (64, "bigint")):
        low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        ends = [str(n) for n in (low, low + 1, 0, 28, -1, high - 1, high)]
        found[name] = Column("number", "1", ends, far=[1, high] if bits == 64 else [])
    single = ["1e-45", "3.4028235e38", "-3.4028235e38", "NaN", "Infinity", "-Infinity", "0", "-0", "1e-38"]
    double = ["5e-324", "1.7976931348623157e308", "-1.7976931348623157e308", "1e200", "1e-200", "-1e200", *single]
    found["real"], found["double precision"] = Column("number", "1", single), Column("number", "1", double)
    for digits, scale in ((4, 1), (18, 4), (38, 0), (38, 38), (1000, 0), (1000, 1000)):
        most = f"{'9' * (digits - scale) or '0'}.{'9' * scale}".rstrip(".")
        written = [most, f"-{most}", "0", "NaN"]
        found[f"numeric({digits},{scale})"] = Column("number", "0.1", written)
    wide = ["NaN", "Infinity", "-Infinity", "1e131071", "-1e131071", "1e-16383", "1e400", "1e-400", "0", "1e309"]
    found["numeric"] = Column("number", "1", wide)
    found["money"] = Column("other", "1", ["92233720368547758.07", "-92233720368547758.08"])
    texts = [text for text in TEXTS if "\0" not in text]
    found["text"], found["varchar(200000)"] = Column("text", "a", texts), Column("text", "a", texts)
    found["character(4)"] = Column("text", "a", ["", "    ", "éééé"])
    found["name"], found['"char"'] = Column("text", "a", ["", "é"]), Column("text", "a", ["", "z"])
    found["mood"] = Column("text", "a", ["é", ""])
    found["text_alike"] = Column("text", "a", ["A", "é"])
    found["boolean"] = Column("truth", "true", ["false"])
    found["date"] = Column(
        "day", "2020-01-01", ["infinity", "-infinity", "4714-11-24 BC", "5874897-12-31", "0001-01-01", "10000-01-01"]
    )
    times = ["infinity", "-infinity", "4714-11-24 00:00:00 BC", "294276-12-31 23:59:59.999999", "10000-01-01 00:00:00"]
    times += ["0001-01-01 00:00:00", "0001-12-31 23:59:59 BC"]
    found["timestamp"] = Column("moment", "2020-01-01 12:00:00", times)
    zoned = [text if "inf" in text else text.replace(" BC", "+00 BC") + "+00" * ("BC" not in text) for text in times]
    found["timestamptz"] = Column("zoned", "2020-01-01 12:00:00+00", zoned)
    found["time"] = Column("clock", "12:00", ["00:00", "24:00", "23:59:59.999999"])
    found["timetz"] = Column("clock", "12:00+00", ["00:00+15:59:59", "24:00-15:59:59"])
    found["interval"] = Column("span", "1 day", ["178000000 years", "-178000000 years", "2147483647 days"])
    found["bytea"] = Column("bytes", "a", ["", "\\xff00"])
    found["uuid"] = Column("uuid", str(uuid.UUID(int=1)), [str(uuid.UUID(int=2**128 - 1))])
    found["json"], found["jsonb"] = Column("json", "{}", ["1e400", '"\\ud800"']), Column("json", "{}", ["1e400", "[]"])
    found["bit(3)"], found["varbit"] = Column("bytes", "101", ["000"]), Column("bytes", "1", ["", "1" * 1000])
    found["integer[]"] = Column("nested", "{1}", ["{}", "{NULL,2147483647}"])
    found["int4range"] = Column("nested", "[1,2)", ["empty", "(,)"])
    found["inet"], found["macaddr"] = Column("other", "::1", ["0.0.0.0/0"]), Column("other", "0" * 12, ["f" * 12])
    found["point"], found["oid"] = Column("other", "(1,1)", ["(Infinity,NaN)"]), Column("other", "1", ["4294967295"])
    found["positive"] = Column("number", "1", ["2147483647"])
    return found


POSTGRES_SETUP = (
    "CREATE TYPE mood AS ENUM ('a', 'é', ''); CREATE DOMAIN positive AS integer CHECK (VALUE > 0); "
    "CREATE COLLATION alike (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
)
POSTGRES_TYPES = {"text_alike": "text COLLATE alike"}
"""How PostgreSQL writes a type, where that is not its name here."""


# ---- Spark: Parquet files that pyarrow writes ----

SPARK = ("int8", "int16", "int32", "int64", "uint32", "float32", "float64", "bool", "date32", "string")
SPARK += ("decimal128(12,3)", "decimal128(38,0)", "binary", "timestamp[us]", "timestamp[us, UTC]")
SPARK += ("list", "struct", "map")
"""Arrow types that Spark reads from a Parquet file, whatever they hold: it stops at a timestamp[ms] that does not fit
microseconds, before any expression could look at it (docs/security.md)."""
