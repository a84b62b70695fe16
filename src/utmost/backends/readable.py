"""Convert Arrow columns to types and values that DuckDB reads without errors.

The conversion depends on the type of the column alone. A value that does not fit becomes null, never an error.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

KNOWN_EXTENSIONS = ("arrow.uuid",)
BATCH = 2**16
"""Rows per batch when a file is copied."""


def readable(column: Any) -> Any:
    """Convert an Arrow column to a type that DuckDB reads without errors; the type depends on the column's type alone.

    Dictionary and run-end encodings are decoded, since which values they list is private. Times and durations become
    microseconds, null where they overflow; text that is not UTF-8 becomes null. Lists, structures and other nested
    values, which may hold any of these, become an empty value: a query can only ask whether they are null.
    """
    import pyarrow
    import pyarrow.compute

    types = pyarrow.types
    if getattr(column.type, "extension_name", "") == "arrow.bool8":  # Arrow itself cannot compare it with true
        return pyarrow.compute.not_equal(column.cast(pyarrow.int8()), 0)
    if isinstance(column.type, pyarrow.BaseExtensionType) and column.type.extension_name not in KNOWN_EXTENSIONS:
        column = column.cast(column.type.storage_type)
    if types.is_run_end_encoded(column.type):
        column = pyarrow.compute.run_end_decode(column)
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_nested(column.type):
        empty, none = (pyarrow.scalar(x, pyarrow.binary()) for x in (b"", None))
        return pyarrow.compute.if_else(column.is_valid(), empty, none)
    if types.is_timestamp(column.type) and column.type.unit in ("s", "ms"):
        return _microsecond_range(column).cast(pyarrow.timestamp("us", column.type.tz))
    if types.is_duration(column.type) and column.type.unit in ("s", "ms"):
        return _microsecond_range(column).cast(pyarrow.duration("us"))
    if types.is_string(column.type) or types.is_large_string(column.type) or types.is_string_view(column.type):
        return pyarrow.chunked_array([_valid_text(chunk) for chunk in column.chunks], type=column.type)
    if types.is_decimal(column.type):
        return pyarrow.chunked_array([_valid_decimals(chunk) for chunk in column.chunks], type=column.type)
    return column


def _microsecond_range(column: Any) -> Any:
    """Times or durations in seconds or milliseconds, null where microseconds would overflow 64 bits."""
    import pyarrow
    import pyarrow.compute

    most = (2**63 - 2) // {"s": 10**6, "ms": 10**3}[column.type.unit]
    number = column.cast(pyarrow.int64())
    fits = pyarrow.compute.less_equal(pyarrow.compute.abs(number), most)  # of -2^63 it is negative
    fits = pyarrow.compute.and_(fits, pyarrow.compute.greater_equal(number, -most))
    return pyarrow.compute.if_else(fits, number, pyarrow.scalar(None, pyarrow.int64())).cast(column.type)


def _valid_text(chunk: Any) -> Any:
    import pyarrow

    try:
        chunk.validate(full=True)
        return chunk
    except pyarrow.ArrowInvalid:
        pass
    binary = pyarrow.large_binary() if pyarrow.types.is_large_string(chunk.type) else pyarrow.binary()
    raw = chunk.cast(pyarrow.binary_view() if pyarrow.types.is_string_view(chunk.type) else binary).to_pylist()
    return pyarrow.array([None if x is None else _decoded(x) for x in raw], type=chunk.type)


def _valid_decimals(chunk: Any) -> Any:
    """Decimal numbers, null where one has more digits than its type: DuckDB would return another row's instead."""
    import pyarrow

    try:
        chunk.validate(full=True)
        return chunk
    except pyarrow.ArrowInvalid:
        pass
    width, most = chunk.type.bit_width // 8, 10**chunk.type.precision
    _, stored = chunk.buffers()
    units = (stored[i * width : (i + 1) * width] for i in range(chunk.offset, chunk.offset + len(chunk)))
    fits = [abs(int.from_bytes(bytes(unit), "little", signed=True)) < most for unit in units]
    validity = [fit and valid for fit, valid in zip(fits, chunk.is_valid().to_pylist(), strict=True)]
    _, bits = pyarrow.array(validity, pyarrow.bool_()).buffers()
    return pyarrow.Array.from_buffers(chunk.type, len(chunk), [bits, stored.slice(chunk.offset * width)])


def _decoded(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def repaired_copy(file: Path, folder: str) -> Path:
    """Copy a Parquet file to a private folder, with null in place of values that DuckDB cannot read."""
    import pyarrow
    import pyarrow.parquet

    handle, name = tempfile.mkstemp(suffix=".parquet", prefix="repaired-", dir=folder)  # which only this user can read
    os.close(handle)
    writer = None
    try:
        with pyarrow.parquet.ParquetFile(file) as stored:
            for batch in stored.iter_batches(BATCH):
                table = pyarrow.Table.from_batches([batch])
                columns = [readable(table.column(i)) for i in range(table.num_columns)]
                table = pyarrow.table(columns, names=table.column_names)
                writer = writer or pyarrow.parquet.ParquetWriter(name, table.schema, write_statistics=False)
                writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()
    return Path(name)
