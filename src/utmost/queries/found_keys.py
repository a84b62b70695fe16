"""Keys found privately: the columns of `um.discover`, and the released keys of an answer.

A key is a private value until it is released. Released keys are sorted, so that their order reveals nothing; no error,
log or cache contains a key that is not released.
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
from utmost.queries.keys import Keys, english_list

EXAMPLE = 'um.discover("dest"), or um.discover("origin", "dest")'
MOST_COLUMNS, MOST_EACH = 16, 5000
HALF = Fraction(1, 2)
TYPES: dict[str, type] = {"string": str, "int64": int, "uint64": int, "double": float, "bool": bool, "date32[day]": str}
"""The Arrow types of keys, and the Python types of their values in JSON."""


@dataclass(frozen=True)
class Discover:
    """Columns whose keys are found privately; made by `um.discover`.

    Attributes
    ----------
    columns : tuple of str
        The names of the columns.
    keys_each : int
        Contribution bound: at most so many keys of one person take part.
    share : Fraction
        The part of epsilon, or of mu squared, that partition selection takes where numbers beside the keys need the
        rest.
    """

    columns: tuple[str, ...]
    keys_each: int = 1
    share: Fraction = HALF

    @property
    def public(self) -> dict[str, Any]:
        """Everything as plain data, which `discover_from_public` reads."""
        share = {} if self.share == HALF else {"share": str(self.share)}
        return {"discover": list(self.columns), "keys_each": self.keys_each, **share}

    def __str__(self) -> str:
        return f"keys of {english_list(self.columns)}, found privately"


def discover(*columns: str, keys_each: int = 1, share: Number = HALF) -> Discover:
    """Keys found privately, for `by=` (partition selection): a question is answered for every key that is released.

    A key is released with a probability that depends on how many rows, or people, have it, and that is the largest the
    level allows; a key that only one of them has is released with probability delta. The plan shows these
    probabilities.

    Parameters
    ----------
    *columns : str
        The columns whose combined values are the keys; rows with a null (or NaN, or an infinity) among them take no
        part.
    keys_each : int
        Contribution bound: of one person, at most so many keys take part, chosen by a keyed hash. With a larger bound
        more data are used, and less of the level is left for each key. A row has one key only.
    share : number
        Where sums, means, or a person's several rows are asked for beside the keys, they need a part of the level: the
        keys take this share of epsilon (of a Gaussian level, of mu squared) and all of delta, the numbers the rest. The
        default is half; a larger share releases more keys, with noisier numbers. The plan says what each gets. The
        number of units with a key comes at no extra cost, so a count of them needs no share.

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
    """Parse columns whose keys are found privately, such as discover(origin, dest, keys_each=2); None for other texts.

    Examples
    --------
    >>> read_discover("discover(origin, dest, keys_each=2)")
    Discover(columns=('origin', 'dest'), keys_each=2, share=Fraction(1, 2))
    """
    match = re.fullmatch(r"\s*(?:um\.)?discover\s*\((.*)\)\s*", text)
    if match is None:
        return None
    parts = [part.strip() for part in match[1].split(",") if part.strip()]
    named = {name.strip(): value.strip() for name, equals, value in (part.partition("=") for part in parts) if equals}
    if named.keys() - {"keys_each", "share"} or not is_digits(named.get("keys_each", "1")):
        raise InvalidInput(f"by is {shown(text)}; write such as 'discover(dest)', or 'discover(dest, keys_each=2)'.")
    columns = [part.strip("'\"") for part in parts if "=" not in part]
    return discover(*columns, keys_each=int(named.get("keys_each", 1)), share=named.get("share", HALF))


def discover_from_public(public: Mapping[str, Any]) -> Discover:
    """Read what `Discover.public` wrote, with all checks."""
    return discover(*public["discover"], keys_each=public["keys_each"], share=public.get("share", HALF))


def as_discover(column: Any, keys_each: Any) -> Discover:
    """Columns whose keys are found privately, from one name or a list of names."""
    several = isinstance(column, Sequence) and not isinstance(column, str | bytes)
    return discover(*(column if several else (column,)), keys_each=keys_each)


def shown_keys(names: Sequence[str], listed: Any, ordered: bool = True) -> Keys:
    """The released keys of an answer, from lists of [name, type, values], which may come from a report.

    Keys must be distinct, and, if `ordered`, sorted, so that their order reveals nothing.
    """
    import pyarrow

    if not isinstance(listed, list) or [column[0] for column in listed] != list(names):
        raise InvalidInput("the released keys are not of the columns that were asked for.")
    columns = []
    for name, kind, values in listed:
        if kind not in TYPES or not isinstance(values, list) or any(not _is_key(value, kind) for value in values):
            raise InvalidInput("the released keys are not of one kind of values each.")
        array = [datetime.date.fromisoformat(day) for day in values] if kind == "date32[day]" else values
        columns.append((name, pyarrow.array(array, *arrow_types([kind]))))
    keys = list(zip(*(column.to_pylist() for _, column in columns), strict=True))
    if len(set(keys)) < len(keys) or (ordered and keys != sorted(keys)):
        raise InvalidInput("the released keys are not in order, or not different.")
    return Keys(tuple(columns), product=False)


def _is_key(value: Any, kind: str) -> bool:
    if not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind != "bool"):
        return False
    return not isinstance(value, float) or math.isfinite(value)
