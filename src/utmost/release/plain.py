"""Public values as plain ones, once, where they come in.

A value of `class Town(str, Enum)` is a text to JSON, and so to the ledger, but str() writes it differently: in SQL and
in the names of cells it would be another. What asks, what labels and what the ledger compares are made of one value.
"""

from __future__ import annotations

from typing import Any

import numpy as np

LIBRARIES = ("numpy", "pandas", "polars", "pyarrow")
"""Whose columns may list public values."""


def plain(value: Any) -> Any:
    """A text, number or truth value as Python's own; anything else as it is.

    Examples
    --------
    >>> import enum, numpy
    >>> class Town(str, enum.Enum):
    ...     ASH = "ash"
    >>> plain(Town.ASH), plain(numpy.int64(3)), plain(numpy.float64(0.5)), plain(numpy.True_), plain(None)
    ('ash', 3, 0.5, True, None)
    """
    if isinstance(value, np.number | np.bool_) and not isinstance(value, np.timedelta64):
        value = value.item()
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    return float.__float__(value) if isinstance(value, float) else value


def listed(values: Any) -> Any:
    """Public values in a column of a library as a list; what is a list already, or nothing of the kind, as it is.

    Examples
    --------
    >>> import numpy
    >>> listed(numpy.array(["ash", "briar"])), listed(("ash", "briar"))
    (['ash', 'briar'], ('ash', 'briar'))
    """
    if type(values).__module__.partition(".")[0] not in LIBRARIES:  # a column of a database would be read from there
        return values
    if hasattr(values, "categories") and not hasattr(values, "__len__"):  # a categorical type of pandas
        values = values.categories
    for way in ("to_pylist", "to_list", "tolist"):  # pyarrow; pandas and polars; NumPy
        if hasattr(values, way):
            return getattr(values, way)()
    return values
