"""Public values as plain ones, once, where they come in.

A value of `class Town(str, Enum)` is a text to JSON, and so to the ledger, but str() writes it differently: in SQL and
in the names of cells it would be another. What asks, what labels and what the ledger compares are made of one value.
"""

from __future__ import annotations

from typing import Any

import numpy as np


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
