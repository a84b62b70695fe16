"""Columns of pandas, polars, pyarrow, NumPy or plain lists as positions of categories, and responses as such columns.

Libraries are recognised by the methods of their columns, so none is imported that the caller does not use;
dictionary-encoded columns are read by their codes, without touching the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput


def positions_of(column: Any, find: Callable[[Any], int]) -> NDArray[np.int64]:
    """The category position of each value of a column, by `find` on every distinct value; find(None) is for nulls."""
    codes, values = _encode(column)
    table = np.array([*(find(_plain(value)) for value in values), find(None)], dtype=np.int64)
    return table[codes]  # code -1, a null, is the last entry


def _encode(column: Any) -> tuple[NDArray[np.int64], Sequence[Any]]:
    """Codes and distinct values of a column; null is code -1."""
    if hasattr(column, "to_arrow"):  # polars, which shares its memory with pyarrow where that is installed
        try:
            column = column.to_arrow()
        except ImportError:
            column = column.to_list()
    if hasattr(column, "combine_chunks") and hasattr(column, "num_chunks"):  # a chunked array of pyarrow
        column = column.combine_chunks()
    if hasattr(column, "num_chunks"):  # combine_chunks of several dictionaries may leave chunks
        column = column.unify_dictionaries().combine_chunks()
    if hasattr(column, "dictionary_encode"):  # pyarrow
        encoded = column if hasattr(column, "dictionary") else column.dictionary_encode()
        return _codes(
            encoded.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
        ), encoded.dictionary.to_pylist()
    if hasattr(column, "cat"):  # a categorical series of pandas
        return _codes(column.cat.codes.to_numpy()), column.cat.categories.tolist()
    if hasattr(column, "factorize"):  # pandas
        try:
            codes, values = column.factorize()
        except TypeError:  # something unhashable among the values, which no error may reveal
            return _encode_plain(column)
        return _codes(codes), list(values)
    if isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype.kind in "biuUS":
        values, codes = np.unique(column, return_inverse=True)
        return _codes(codes), values.tolist()
    if isinstance(column, str | bytes) or not isinstance(column, Iterable):
        raise InvalidInput("give a column: a list, an array, or a series of pandas, polars or pyarrow.")
    return _encode_plain(column)


def _encode_plain(column: Iterable[Any]) -> tuple[NDArray[np.int64], list[Any]]:
    """Codes and distinct values of any iterable."""
    code_of: dict[Any, int] = {}
    codes = [code_of.setdefault(value, len(code_of)) for value in map(_hashable, column)]
    return np.array(codes, dtype=np.int64), list(code_of)


def _hashable(value: Any) -> Any:
    """The value, or None (a null) if it is not hashable."""
    try:
        hash(value)
    except TypeError:
        return None
    return value


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _codes(codes: Any) -> NDArray[np.int64]:
    return np.asarray(codes, dtype=np.int64)


def like(column: Any, responses: list[Any]) -> Any:
    """Responses as a column of the same kind: a series of pandas or polars, an array of pyarrow, or a list."""
    if hasattr(column, "to_arrow"):
        return type(column)(column.name, [list(r) if isinstance(r, tuple) else r for r in responses])
    if hasattr(column, "dictionary_encode") or hasattr(column, "combine_chunks"):
        import pyarrow

        return pyarrow.array([list(r) if isinstance(r, tuple) else r for r in responses])
    if hasattr(column, "factorize"):
        return type(column)(responses, index=column.index, name=column.name)
    return responses


def as_list(column: Any) -> list[Any]:
    """A column of responses as a list."""
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            return list(getattr(column, method)())
    if isinstance(column, str | bytes) or not isinstance(column, Iterable):
        raise InvalidInput("responses must be a list or a column, one entry per person.")
    return list(column)
