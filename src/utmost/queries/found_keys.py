"""Keys that nobody listed: which columns they are of, and those that were shown, read again from an answer.

A key is a private value until it is released. What is shown is sorted, so that its order tells nothing; no error, log
or cache holds a key that is not shown.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from utmost.backends.source import arrow_types, as_column
from utmost.errors import InvalidInput, shown
from utmost.exact import Number, as_rational, as_whole, is_digits
from utmost.queries.keys import Keys, named

EXAMPLE = 'um.discover("dest"), or um.discover("origin", "dest")'
MOST_COLUMNS, MOST_EACH = 16, 5000
HALF = Fraction(1, 2)
TYPES: dict[str, type] = {"string": str, "int64": int, "uint64": int, "double": float, "bool": bool, "date32[day]": str}
"""The Arrow types of keys, and what their values are in JSON."""


@dataclass(frozen=True)
class Discover:
    """Columns whose keys are found privately; made by `um.discover`.

    Attributes
    ----------
    columns : their names
    keys_each : how many keys of one person take part, at most
    share : how much of epsilon, or of mu squared, the keys take where numbers beside them need a part of it
    """

    columns: tuple[str, ...]
    keys_each: int = 1
    share: Fraction = HALF

    @property
    def public(self) -> dict[str, Any]:
        """Everything as plain data, which `discover_again` reads."""
        chosen = {} if self.share == HALF else {"share": str(self.share)}
        return {"discover": list(self.columns), "keys_each": self.keys_each, **chosen}

    def __str__(self) -> str:
        return f"keys of {named(self.columns)}, found privately"


def discover(*columns: str, keys_each: int = 1, share: Number = HALF) -> Discover:
    """Keys that nobody listed, for `by=`: they are found privately, and a question is answered for those shown.

    How likely a key is shown depends on how many rows, or people, have it, and is the most that the level allows; a key
    that only one of them has is shown with probability delta. The plan has the probabilities for every number.

    Parameters
    ----------
    *columns : str
        The columns whose combined values are the keys; rows with a null (or NaN, or an infinity) among them take no
        part.
    keys_each : int
        Of one person, at most so many keys take part, chosen by a keyed hash. The more, the more of everybody's data
        is used, and the less of the level there is for each key. A row has one key only.
    share : number
        Where sums, means, or a person's several rows are asked for beside the keys, they need a part of the level:
        the keys take this share of epsilon (of a Gaussian level, of mu squared) and all of delta, the numbers the rest.
        Half without it; a larger share shows more keys, with noisier numbers. The plan says what each gets. How many
        hold a key is told at no cost, so there is nothing to share then.

    Examples
    --------
    >>> import pyarrow, utmost as um
    >>> table = pyarrow.table({"dest": ["ORD"] * 60 + ["LAX"] * 50 + ["my own airfield"]})
    >>> s = um.Session(table, "flights", um.rows(at_most=1000), "add-remove", budget=um.ApproxDP(1, 1e-6))
    >>> sorted(s.count(privacy=um.ApproxDP(1, 1e-6), by=um.discover("dest")).value)
    ['LAX', 'ORD']
    """
    if not columns:
        raise InvalidInput(f"no column is named; say whose keys are to be found: {EXAMPLE}.")
    if len(columns) > MOST_COLUMNS:
        raise InvalidInput(f"{len(columns)} columns are named; give at most {MOST_COLUMNS}.")
    names = tuple(as_column(name) for name in columns)
    if len(set(names)) < len(names):
        raise InvalidInput(f"the columns are {shown(names)}; name each once.")
    part = as_rational(share, "share")
    if not 0 < part < 1:
        raise InvalidInput(f"share is {shown(share)}; give the part of the level that the keys take, between 0 and 1.")
    return Discover(names, as_whole(keys_each, "keys_each", 1, MOST_EACH), part)


def read_discover(text: str) -> Discover | None:
    """Columns whose keys are found, as one types them: discover(origin, dest, keys_each=2); None of other texts.

    Examples
    --------
    >>> read_discover("discover(origin, dest, keys_each=2)")
    Discover(columns=('origin', 'dest'), keys_each=2, share=Fraction(1, 2))
    """
    found = re.fullmatch(r"\s*(?:um\.)?discover\s*\((.*)\)\s*", text)
    if found is None:
        return None
    parts = [part.strip() for part in found[1].split(",") if part.strip()]
    named = {name.strip(): said.strip() for name, equals, said in (part.partition("=") for part in parts) if equals}
    if named.keys() - {"keys_each", "share"} or not is_digits(named.get("keys_each", "1")):
        raise InvalidInput(f"by is {shown(text)}; write such as 'discover(dest)', or 'discover(dest, keys_each=2)'.")
    columns = [part.strip("'\"") for part in parts if "=" not in part]
    return discover(*columns, keys_each=int(named.get("keys_each", 1)), share=named.get("share", HALF))


def discover_again(public: Mapping[str, Any]) -> Discover:
    """What `Discover.public` wrote; nothing in it is believed."""
    return discover(*public["discover"], keys_each=public["keys_each"], share=public.get("share", HALF))


def as_discover(column: Any, keys_each: Any) -> Discover:
    """The same from one name or a list of them."""
    several = isinstance(column, Sequence) and not isinstance(column, str | bytes)
    return discover(*(column if several else (column,)), keys_each=keys_each)


def shown_keys(names: Sequence[str], listed: Any, ordered: bool = True) -> Keys:
    """The keys of an answer, from what was released: lists of [name, type, values]; they may come from a report.

    Keys must be distinct, and sorted where their order is to tell nothing.
    """
    import pyarrow

    if not isinstance(listed, list) or [column[0] for column in listed] != list(names):
        raise InvalidInput("the released keys are not of the columns that were asked for.")
    columns = []
    for name, kind, values in listed:
        if kind not in TYPES or not isinstance(values, list) or any(not _is_key(value, kind) for value in values):
            raise InvalidInput("the released keys are not of one kind of values each.")
        read = [datetime.date.fromisoformat(day) for day in values] if kind == "date32[day]" else values
        columns.append((name, pyarrow.array(read, *arrow_types([kind]))))
    keys = list(zip(*(column.to_pylist() for _, column in columns), strict=True))
    if len(set(keys)) < len(keys) or (ordered and keys != sorted(keys)):
        raise InvalidInput("the released keys are not in order, or not different.")
    return Keys(tuple(columns), product=False)


def _is_key(value: Any, kind: str) -> bool:
    if not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind != "bool"):
        return False
    return not isinstance(value, float) or math.isfinite(value)
