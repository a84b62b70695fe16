"""Strict parsing of external JSON, with a unique meaning for every reader.

JSON does not define the meaning of an object with a duplicate name: programs take the last, people see the first. It
has no NaN, and a number such as 1e999 is infinite only after rounding. All of these are refused, here for everything
that Utmost reads: files, ledgers, requests, replies, responses and messages.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

from utmost.errors import InvalidInput, shown


def parse_json(text: str | bytes) -> Any:
    """Parse a JSON text; `InvalidInput` or another `ValueError` if it is malformed or ambiguous.

    Nesting deeper than Python's stack is a `RecursionError`.

    Examples
    --------
    >>> parse_json('{"epsilon": 1, "epsilon": 20}')
    Traceback (most recent call last):
    utmost.errors.InvalidInput: the JSON has an object that names 'epsilon' twice: readers would take one or the other.
    """
    return json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant, parse_float=_float)


def parse_next(text: str, start: int) -> tuple[Any, int]:
    """The JSON value that starts at a position of a text, and its end: for texts of several values."""
    return _DECODER.raw_decode(text, start)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, refused if a name occurs twice."""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        duplicate = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise InvalidInput(
            f"the JSON has an object that names {shown(duplicate)} twice: readers would take one or the other."
        )
    return entries


def _refuse_constant(name: str) -> Any:
    raise InvalidInput(f"the JSON holds {name}, which is not a number in JSON.")


def _float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise InvalidInput(f"the JSON holds the number {shown(digits)}, which is larger than any float.")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant, parse_float=_float)
