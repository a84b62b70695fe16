"""Public keys: the groups for which a question is answered, listed beforehand and never read off the table.

The list of groups is public: every key gets an answer, also one without rows, and a row with none of the keys takes no
part. So the set of answered groups reveals nothing about the table.
"""

from __future__ import annotations

import csv
import datetime
import hashlib
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from utmost.errors import InvalidInput, shown
from utmost.exact.saved import canonical_text
from utmost.queries.arguments import listed, plain
from utmost.queries.bins import Bins, bins, read_bins

if TYPE_CHECKING:
    import pyarrow

MOST_CELLS = 10**6
"""Most keys: so many cells are read, drawn and recorded for one answer."""
EXAMPLE = "um.keys(carrier=['AA', 'UA'], origin=['EWR', 'JFK'])"
KINDS = "texts, numbers, truth values or dates"


@dataclass(frozen=True, eq=False)
class Keys:
    """Combinations of public values of some columns; made by `um.keys`.

    Attributes
    ----------
    columns : tuple of (str, pyarrow.Array)
        The names of the columns, each with its values: for a product, all that it may have; else one for every key. For
        bins, their labels.
    product : bool
        Whether every combination of the values is a key.
    bins : mapping of str to Bins
        The columns of numbers that are cut into bins.
    other : str, optional
        The name for unlisted values: for a product, one more value of every column; else one more key. None where rows
        without a listed key take no part.
    """

    columns: tuple[tuple[str, pyarrow.Array], ...]
    product: bool
    bins: Mapping[str, Bins] = field(default_factory=dict)
    other: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(name for name, _ in self.columns)

    @property
    def size(self) -> int:
        """The number of keys."""
        lengths = [len(values) + (self.other is not None) for _, values in self.columns]
        return math.prod(lengths) if self.product else lengths[0]

    @cached_property
    def table(self) -> pyarrow.Table:
        """Every key, one in each row; for a product the last column changes fastest. With `other`, all are texts."""
        import pyarrow

        columns = {name: self._with_other(values) for name, values in self.columns}
        if not self.product:
            return pyarrow.table(columns)
        places = np.unravel_index(np.arange(self.size), [len(values) for values in columns.values()])
        return pyarrow.table(
            {name: values.take(at) for (name, values), at in zip(columns.items(), places, strict=True)}
        )

    @cached_property
    def labels(self) -> list[Any]:
        """Every key as a tuple; for a single column, the bare value."""
        lists = self._lists(lambda values: values.to_pylist())
        return lists[0] if len(lists) == 1 else self._combined(lists)

    @cached_property
    def plain_keys(self) -> list[list[Any]]:
        """Every key as a list of plain data, dates as text."""
        return [list(key) for key in self._combined(self._lists(_written))]

    @cached_property
    def public(self) -> dict[str, Any]:
        """Everything as plain data, which `keys_from_public` reads."""
        columns = [
            [name, "bins", list(self.bins[name].edges)]
            if name in self.bins
            else [name, str(values.type), _written(values)]
            for name, values in self.columns
        ]
        rest = {} if self.other is None else {"other": self.other}
        return {"product": self.product, "columns": columns, **rest}

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the keys in their order, which a ledger stores in place of a million keys."""
        return hashlib.sha256(canonical_text(self.public).encode()).hexdigest()

    def _with_other(self, values: pyarrow.Array) -> pyarrow.Array:
        import pyarrow

        if self.other is None:
            return values
        return pyarrow.concat_arrays([values.cast(pyarrow.string()), pyarrow.array([self.other], pyarrow.string())])

    def _lists(self, listed: Callable[[Any], list[Any]]) -> list[list[Any]]:
        rest = [] if self.other is None else [self.other]
        return [listed(values) + rest for _, values in self.columns]

    def _combined(self, lists: list[list[Any]]) -> list[tuple[Any, ...]]:
        return list(product(*lists) if self.product else zip(*lists, strict=True))

    def __str__(self) -> str:
        sizes = f" ({' × '.join(str(len(values)) for _, values in self.columns)})" if len(self.columns) > 1 else ""
        rest = "" if self.other is None else f", and {self.other}"
        return f"{self.size} keys of {english_list(self.names)}{sizes if self.product else ''}{rest}"

    def __repr__(self) -> str:
        return f"<{self}>"


def keys(frame: Any = None, /, *, other: Any = None, **columns: Any) -> Keys:
    """Public keys, for `by=`: a question is answered for each of them, at the cost of one (parallel composition).

    Parameters
    ----------
    frame : frame, path or dict, optional
        A public pandas, polars or pyarrow frame, or a CSV file, with a key in each row, under the names of the table's
        columns. In a file a column whose entries are all written like whole numbers (no leading zeros), decimals, dates
        (2026-01-31) or true and false holds these, else texts; an empty entry is null. A dict of lists is a product, as
        below, for columns whose names are no identifiers of Python.
    other : str, optional
        A name under which rows with unlisted values take part, null included, as in histograms: with lists every column
        has one more value, with a frame there is one more key. Without it such rows take no part. (For a column that is
        itself called other: ``um.keys(other=[...])`` with a list, or the dict.)
    **columns : list or um.bins
        For every column the public values that it may have: texts, numbers, truth values, dates, or None for null; or
        the bins that its numbers are put into. Every combination of them is a key.

    Returns
    -------
    Keys
        At most a million where each is answered (`by=`); for `s.marginals` only the tables count. They must not be read
        off the private table: a key that is listed because somebody has it reveals that.

    Examples
    --------
    >>> import utmost as um
    >>> um.keys(carrier=["AA", "UA"], origin=["EWR", "JFK", "LGA"])
    <6 keys of carrier and origin (2 × 3)>
    >>> um.keys(month=range(1, 13)).labels[:3]
    [1, 2, 3]
    >>> um.keys(age=um.bins([0, 18, 65]), other="elsewhere").labels
    ['[0, 18)', '[18, 65)', 'elsewhere']
    >>> import pyarrow
    >>> um.keys(pyarrow.table({"carrier": ["AA", "UA"], "origin": ["JFK", "EWR"]})).labels
    [('AA', 'JFK'), ('UA', 'EWR')]
    """
    if other is not None and not isinstance(other, str):  # a column of this name
        columns, other = {**columns, "other": other}, None
    if frame is not None and columns:
        raise InvalidInput("keys are a frame, or lists for some columns, not both; list them all in one of the two.")
    if isinstance(frame, str | os.PathLike):
        return _of_frame(_read_csv(frame), other)
    if frame is not None and not isinstance(frame, Mapping):
        return _of_frame(frame, other)
    lists_by_name = columns if frame is None else dict(frame)
    if not lists_by_name:
        raise InvalidInput(f"there are no keys; list the public values of one column or more, such as {EXAMPLE}.")
    lists = {_as_name(name): _as_values(name, values) for name, values in lists_by_name.items()}
    _require_few(max(len(values) for values in lists.values()))
    return _of_lists(
        {name: values if isinstance(values, Bins) else _as_array(name, values) for name, values in lists.items()}, other
    )


def read_keys(text: str) -> Keys:
    """Parse keys: lists for columns, separated by semicolons; or the name of a CSV file.

    Entries are read as in a file; in single quotes they are texts. A list of one entry for `other` is its name.

    Examples
    --------
    >>> read_keys("carrier=AA,UA; month=1,2").labels
    [('AA', 1), ('AA', 2), ('UA', 1), ('UA', 2)]
    >>> read_keys("age=bins([0, 18, 65]); zip='1','2'; other=elsewhere").labels[1]
    ('[0, 18)', '2')
    """
    if Path(text.strip()).is_file():
        return keys(text.strip())
    return read_lists(text, "; or name a CSV file of them; keys that nobody listed are found by 'discover(carrier)'")


def read_lists(text: str, remedy: str = "", known: Mapping[str, Sequence[Any]] | None = None) -> Keys:
    """Parse keys without opening a file, for texts that come from elsewhere.

    Parameters
    ----------
    text : str
        Lists for columns, separated by semicolons.
    remedy : str, optional
        Another remedy for the error message.
    known : mapping, optional
        Public values of columns; one of these columns may be named alone, without its list.

    Examples
    --------
    >>> read_lists("town; age=bins(0, 100, 50)", known={"town": ["Ash", "Briar"]})
    <4 keys of town and age (2 × 2)>
    """
    lists: dict[str, Any] = {}
    for part in text.split(";"):
        name, equals, text_of_list = (piece.strip() for piece in part.partition("="))
        if not equals and known and name in known and name not in lists:
            lists[name] = list(known[name])
            continue
        if not equals or not name or name in lists:
            raise InvalidInput(
                f"the keys are {shown(text)}; list the values of each column once: 'carrier=AA,UA; month=1,2', bins of "
                f"a column of numbers as 'age=bins(0, 100, 5)'{remedy}."
            )
        lists[name] = read_bins(text_of_list) or _read_list(text_of_list)
    other = lists.pop("other", None)
    if isinstance(other, list) and len(other) == 1:
        return keys(lists, other=str(other[0]))
    return keys(lists if other is None else {**lists, "other": other})


def _read_list(text: str) -> list[Any]:
    entries = [entry.strip() for entry in text.split(",") if entry.strip()]
    quoted = all(len(entry) > 1 and entry[0] == entry[-1] == "'" for entry in entries)
    return [entry[1:-1] for entry in entries] if quoted else as_written(entries)


def keys_from_public(public: Any) -> Keys:
    """Read the keys that `Keys.public` wrote, with all checks."""
    import pyarrow

    kinds = {
        "string": pyarrow.string(),
        "int64": pyarrow.int64(),
        "uint64": pyarrow.uint64(),
        "double": pyarrow.float64(),
        "bool": pyarrow.bool_(),
        "date32[day]": pyarrow.date32(),
    }
    lists: dict[str, Any] = {}
    for name, kind, values in public["columns"]:
        if kind == "bins" and public["product"]:
            lists[_as_name(name)] = bins(values)
            continue
        array = [None if x is None else datetime.date.fromisoformat(x) for x in values] if "date" in kind else values
        lists[_as_name(name)] = pyarrow.array(array, kinds[kind])
    other = public.get("other")
    if not public["product"]:
        return _of_frame(pyarrow.table(lists), other)
    _require_few(max(len(values) for values in lists.values()))
    return _of_lists(lists, other)


def require_keys(by: Any) -> Keys:
    """Refuse anything but public keys of which each can be answered."""
    if not isinstance(by, Keys):
        raise InvalidInput(
            f"by is {shown(by)}; give public keys: by={EXAMPLE}. Keys that are found privately (um.discover) go with "
            "count, sum and mean."
        )
    _require_few(by.size)
    return by


def english_list(names: Sequence[str]) -> str:
    """Names as an English list."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _of_lists(lists: Mapping[str, Any], other: Any) -> Keys:
    """Keys that are the product of arrays of values and of bins."""
    import pyarrow

    cut = {name: values for name, values in lists.items() if isinstance(values, Bins)}
    columns = {name: pyarrow.array(cut[name].labels) if name in cut else values for name, values in lists.items()}
    for name, values in columns.items():
        _require_distinct({name: values})
        _require_other(name, values, other)
    return Keys(tuple(columns.items()), True, cut, _as_other(other))


def _of_frame(frame: Any, other: Any = None) -> Keys:
    table = as_arrow(frame)
    if not table.num_columns or not table.num_rows:
        raise InvalidInput("the frame of keys is empty; give one key or more, in columns named like the table's.")
    names = [_as_name(name) for name in table.column_names]
    if len(set(names)) < len(names):
        raise InvalidInput("two columns of the keys have one name; name each once.")
    _require_few(table.num_rows + (other is not None))
    columns = {name: as_key_type(name, table.column(i).combine_chunks()) for i, name in enumerate(names)}
    _require_distinct(columns)
    for name, values in columns.items():
        _require_other(name, values, other)
    return Keys(tuple(columns.items()), product=False, other=_as_other(other))


def _read_csv(path: str | os.PathLike[str]) -> pyarrow.Table:
    """Read a public CSV file of keys; columns written like numbers, dates or booleans are converted."""
    import pyarrow

    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            head, *lines = [line for line in csv.reader(file, strict=True) if line] or [[]]
    except (OSError, csv.Error, UnicodeError) as problem:
        raise InvalidInput(
            f"the keys in {shown(os.fspath(path))} cannot be read ({type(problem).__name__}); give a CSV file, in "
            "UTF-8, whose first line names the columns."
        ) from None
    ragged = next((i for i, line in enumerate(lines) if len(line) != len(head)), None)
    if ragged is not None:
        raise InvalidInput(
            f"key {ragged + 1} of the file has {len(lines[ragged])} entries; its columns are {len(head)}."
        )
    if len(set(head)) < len(head):
        raise InvalidInput("two columns of the keys have one name; name each once.")
    columns = zip(*lines, strict=True) if lines else [()] * len(head)
    return pyarrow.table({name: as_written(entries) for name, entries in zip(head, columns, strict=True)})


WRITTEN: tuple[tuple[str, Callable[[str], Any]], ...] = (
    (r"-?(0|[1-9]\d{0,17})", int),
    (r"-?(0|[1-9]\d*)(\.\d+)?", float),
    (r"\d{4}-\d\d-\d\d", datetime.date.fromisoformat),
    (r"(?i:true|false)", lambda text: text.lower() == "true"),
)


def as_written(entries: Sequence[str]) -> list[Any]:
    """Convert the entries of a column to the first type in which all of them are written, else to texts."""
    non_empty = [entry for entry in entries if entry]
    for form, parse in WRITTEN:
        if non_empty and all(re.fullmatch(form, entry, re.ASCII) for entry in non_empty):
            with suppress(ValueError):  # 2026-02-30 is a text
                return [parse(entry) if entry else None for entry in entries]
    return [entry or None for entry in entries]


def _as_other(other: Any) -> str | None:
    if other is not None and (not isinstance(other, str) or not other.strip()):
        raise InvalidInput(f"other is {shown(other)}; give a name for what is not listed, or leave it out.")
    return None if other is None else str(plain(other))


def _require_other(name: str, values: Any, other: Any) -> None:
    import pyarrow

    if other is not None and other in values.cast(pyarrow.string()).to_pylist():
        raise InvalidInput(f"other is {shown(other)}, which is among the keys of {name!r}; give another name.")


def as_arrow(frame: Any) -> pyarrow.Table:
    """A public frame as an Arrow table."""
    import pyarrow

    package = type(frame).__module__.partition(".")[0]
    try:
        if package == "pandas" and hasattr(frame, "columns"):
            return pyarrow.Table.from_pandas(frame, preserve_index=False)
        if package == "polars" and hasattr(frame, "to_arrow") and hasattr(frame, "columns"):
            return frame.to_arrow()
    except Exception as problem:
        raise InvalidInput(
            f"the frame of keys cannot be read ({type(problem).__name__}); give columns of {KINDS}."
        ) from None
    if isinstance(frame, pyarrow.RecordBatch):
        return pyarrow.Table.from_batches([frame])
    if not isinstance(frame, pyarrow.Table):
        raise InvalidInput(
            f"the keys are {shown(frame)}; give a public pandas, polars or pyarrow frame, the path of a CSV file, or "
            f"lists: {EXAMPLE}."
        )
    return frame


def _as_name(name: Any) -> str:
    if not isinstance(name, str):
        raise InvalidInput(f"a column of the keys is called {shown(name)}; give its name in the table, a text.")
    return str(plain(name))


def _as_values(name: str, values: Any) -> list[Any] | Bins:
    if isinstance(values, Bins):
        return values
    values = listed(values)
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__iter__") or not hasattr(values, "__len__"):
        raise InvalidInput(f"the keys of {name!r} are {shown(values)}; give a list of the values it may have.")
    if not len(values):
        raise InvalidInput(f"the keys of {name!r} are an empty list; give one value or more.")
    _require_few(len(values))
    return [plain(value) for value in values]


def _as_array(name: str, values: list[Any]) -> pyarrow.Array:
    import pyarrow

    kinds = {_kind(value) for value in values if value is not None}
    if len(kinds) != 1 or None in kinds:
        odd = next((v for v in values if v is not None and _kind(v) is None), values[0])
        problem = (
            f"hold a value of type {type(odd).__name__}"
            if None in kinds
            else "are of several kinds"
            if kinds
            else "are all None"
        )
        raise InvalidInput(f"the keys of {name!r} {problem}; give {KINDS}, all of one kind, and None for null.")
    try:
        if kinds == {"number"}:
            whole = all(isinstance(value, int) for value in values if value is not None)
            if not whole:
                values = [None if value is None else float(value) for value in values]
        return as_key_type(name, pyarrow.array(values, from_pandas=False))
    except (pyarrow.ArrowException, OverflowError, UnicodeError):
        pass
    raise InvalidInput(f"a key of {name!r} does not fit 64 bits, or is text that is not UTF-8; give others.")


def _kind(value: Any) -> str | None:
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return "date"
    return "text" if isinstance(value, str) else None


def as_key_type(name: str, column: Any) -> pyarrow.Array:
    """Cast a column to one of the types of keys."""
    import pyarrow
    import pyarrow.compute

    types = pyarrow.types
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return column.cast(pyarrow.string())
    if types.is_boolean(kind) or types.is_uint64(kind):
        return column
    if types.is_integer(kind):
        return column.cast(pyarrow.int64())
    if types.is_date(kind):
        return column.cast(pyarrow.date32())
    if not types.is_floating(kind):
        raise InvalidInput(f"the keys of {name!r} are {kind}; give {KINDS}.")
    numbers = pyarrow.compute.add(column.cast(pyarrow.float64()), 0.0)  # one 0 of two
    if not pyarrow.compute.all(pyarrow.compute.is_finite(numbers), min_count=0).as_py():
        raise InvalidInput(f"a key of {name!r} is infinite or NaN; give finite numbers, and None for null.")
    return numbers


def _require_few(size: int) -> None:
    if size > MOST_CELLS:
        raise InvalidInput(
            f"there are {size:,} keys; at most {MOST_CELLS:,} are answered at once. List fewer values, take wider "
            "bins, or leave a column out."
        )


def _require_distinct(columns: Mapping[str, Any]) -> None:
    """Refuse a key that is listed twice, by its places: the list may be a private column by mistake."""
    import pyarrow

    table = pyarrow.table(dict(columns))
    names = english_list(table.column_names)
    if not table.num_rows:
        raise InvalidInput(f"the keys of {names} are empty; give one value or more.")
    if table.group_by(table.column_names).aggregate([([], "count_all")]).num_rows == table.num_rows:
        return
    seen: dict[tuple[Any, ...], int] = {}
    for place, key in enumerate(zip(*(column.to_pylist() for column in table.columns), strict=True)):
        if key in seen:
            raise InvalidInput(f"keys {seen[key] + 1} and {place + 1} of {names} are the same; list every key once.")
        seen[key] = place


def _written(column: Any) -> list[Any]:
    values: list[Any] = column.to_pylist()
    if str(column.type) != "date32[day]":
        return values
    return [None if day is None else day.isoformat() for day in values]
