"""An opened table: what it may be asked, and the one way to the integers of an answer.

Only the *schema* is looked at before a spend is reserved: names and types of columns are public. What stands in the
rows is touched by `Source.found` alone, whose failure says one fixed sentence whatever the reason.

Every engine has a source of its own in `engines`; all of them are asked with the typed expressions of `expressions`, in
which nothing can fail, and rehearse a statement on public rows of extreme values before anything is spent.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from utmost.errors import EngineFailed, InvalidInput, UtmostError, shown
from utmost.exact.arrays import Integers
from utmost.queries.arguments import plain
from utmost.queries.expressions.relations import Relation, columns_of
from utmost.queries.expressions.types import Type
from utmost.queries.expressions.values import Expression

FAILED = (
    "the engine could not compute this answer. What was reserved stays spent, because when an engine fails may "
    "depend on private rows. Try the question on made-up rows of the same columns."
)
CHANGED = "{!r} is gone, or not the table that was opened, with the same columns; open it, and the session, again."
GONE = "the table cannot be read any more; is its file, or the table itself, still there, and the connection open?"
KEYS = "public_keys"
"""What the public keys of a group-by are called in a statement."""
PUBLIC = "public_table_"
"""How the names of public tables begin that columns are taken from."""


@dataclass(frozen=True)
class Statement:
    """What an engine is asked; it yields integers under these names.

    It may hold the data set's secret, and is never shown.

    It yields one row; or one for each of some public keys, at the place that its column `cell` says; or one for each
    key that there is, whose first columns are the key: `labels` names their types.
    """

    asked: Any = field(repr=False)
    columns: tuple[str, ...]
    keys: Any = field(default=None, repr=False, compare=False)
    size: int = 1
    labels: tuple[str, ...] = ()
    trial: bool = False
    """Whether it is a rehearsal, which reads public rows only."""


@dataclass(frozen=True)
class Source(ABC):
    """An opened table.

    Attributes
    ----------
    table : Relation
        The rows with their columns, whose names and types are public.
    untyped : frozenset of str
        Columns of text whose type nobody declared: a question may say how to read them.
    require_unchanged : callable
        Raises `InvalidInput` unless the table is where, what and as it was when it was opened.
    refused : mapping of str to str
        Columns that no question may use, and why: the rest of the table can be asked about.
    said : tuple of str
        The conditions and computed columns of the table that was given, if it was not a plain one.
    given : any
        The Ibis table that was given, if it was one: conditions may be built from it.
    conditions : dict
        Parsed conditions, by their text.
    public : mapping of str to pyarrow.Table
        Public tables that the table is joined with, by the names they have in statements.
    added : frozenset of str
        The columns that come from public tables: they follow from the others, and do not tell rows apart.
    """

    table: Relation
    untyped: frozenset[str] = frozenset()
    require_unchanged: Callable[[], None] = field(default=lambda: None, repr=False, compare=False)
    refused: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    said: tuple[str, ...] = ()
    given: Any = field(default=None, repr=False, compare=False)
    conditions: dict[str, Expression] = field(default_factory=dict, repr=False, compare=False)
    public: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    added: frozenset[str] = frozenset()

    fixed_rows = True
    """Whether the number of rows cannot depend on what a row says, so that a total may be without noise."""
    engine = "an engine"
    """What the engine is called."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.table.columns)

    @property
    def naming(self) -> str:
        """Which columns there are, for an error; unless a file may lack its header, and a person's entries be shown."""
        if self.untyped and not all(name.replace(" ", "_").isidentifier() for name in self.untyped):
            return "the first line of the file must name the columns"
        return f"the columns are {', '.join(self.columns)}"

    @cached_property
    def fingerprint(self) -> str:
        """A hash of what is asked about, beside the data set's name: columns, types, and the rows taken.

        Two tables that filter or project one base table differently are different, and so is a file read with other
        types; which file or frame it is, the data set's name says.
        """
        known = {
            "columns": [[name, str(kind)] for name, kind in self.table.columns.items()],
            "untyped": sorted(self.untyped),
            "rows": "; ".join(self.said) or None,
        }
        return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:32]

    def column(self, name: Any) -> Expression:
        """A column of the table; an error that names all of them if there is none of this name."""
        if not isinstance(name, str) or name not in self.columns:
            raise InvalidInput(f"there is no column {shown(name)}; {self.naming}.")
        self.require_readable({name})
        return self.table[name]

    def type(self, name: Any) -> Type | None:
        """The type of a column; None if there is none of this name."""
        return self.table.columns.get(name) if isinstance(name, str) else None

    def require_readable(self, names: Iterable[str]) -> None:
        """Refuse columns whose type has rules of its own, where a question uses them."""
        for name in names:
            if name in self.refused:
                raise InvalidInput(f"column {name!r} {self.refused[name]}.")

    def proved(self, value: Expression) -> Expression:
        """A value that somebody wrote, if it looks at the row and this engine can be asked for it."""
        used = columns_of(value)
        self.require_readable(used)
        if not used:
            raise InvalidInput(
                "it looks at no column, so it is the same for every row: leave such a condition out (an empty one "
                "takes all rows)."
            )
        for node in value.walk():
            self.require_same_meaning(node)
        return value

    def require_same_meaning(self, node: Expression) -> None:
        """Refuse an operation that this engine computes in another way than the others."""
        return

    def statement(self, query: Relation, keys: Any = None, size: int = 1, labels: tuple[str, ...] = ()) -> Statement:
        """A query as this engine is asked it, rehearsed: what fails here fails whatever the rows, so it is public.

        Parameters
        ----------
        query : Relation
        keys : pyarrow.Table, optional
            The public keys that the query joins under the name `KEYS`.
        size : int
            How many groups there may be.
        labels : tuple of str
            The types of the first columns, where these are keys found in the table.
        """
        self.require_unchanged()
        try:
            return self.prepared(query, keys, size, labels)
        except UtmostError:
            raise
        except Exception:  # the engine's words would show the statement, and with it the secret
            pass
        raise InvalidInput(self._unaskable)

    @abstractmethod
    def prepared(self, query: Relation, keys: Any, size: int, labels: tuple[str, ...]) -> Statement:
        """A query as this engine is asked it, once it has passed its rehearsal."""

    @abstractmethod
    def is_there(self) -> bool:
        """Whether the engine answers at all."""

    @property
    def _unaskable(self) -> str:
        if not self.is_there():
            return GONE
        return (
            f"{self.engine} cannot be asked this question, whatever the rows; compare columns with values of their own "
            "type and range, or ask it of a table with plainer types."
        )

    # ---- what touches the rows ----

    def found(self, statement: Statement) -> Mapping[str, Any]:
        """What a statement finds: integers, or columns of them where it is by keys, public ones or found ones."""
        try:
            if statement.labels:
                return self._labelled(statement)
            return self._integers(statement) if statement.keys is None else self._by_keys(statement)
        except Exception as problem:
            failed = EngineFailed(FAILED, problem)
        raise failed  # outside the except: no chain of causes that would repeat the engine's words

    def reconnect(self) -> None:
        """Make ready to run a statement once more: a connection that was lost is made again, where that is possible."""
        return

    @abstractmethod
    def one_row(self, statement: Statement) -> tuple[Any, ...]:
        """The one row of an aggregation."""

    @abstractmethod
    def all_rows(self, statement: Statement) -> list[Integers]:
        """The columns of an aggregation by keys, as whole numbers."""

    @abstractmethod
    def all_columns(self, statement: Statement) -> list[Any]:
        """The columns of a statement whose rows have labels: Arrow's, or lists of one list."""

    def _integers(self, statement: Statement) -> dict[str, int]:
        row = self.one_row(statement)
        return {name: int(value or 0) for name, value in zip(statement.columns, row, strict=True)}

    def _by_keys(self, statement: Statement) -> dict[str, Integers]:
        """The rows of an aggregation by public keys, in the order of the keys; where there is none, 0."""
        cell, *numbers = self.all_rows(statement)
        sums = {}
        for name, column in zip(statement.columns[1:], numbers, strict=True):
            sums[name] = np.zeros(statement.size, dtype=np.int64)
            sums[name][cell] = column
        return sums

    def _labelled(self, statement: Statement) -> dict[str, Any]:
        """The rows of an aggregation by keys found in the table, as Arrow columns: private, keys and all."""
        import pyarrow

        kinds = [*statement.labels, *("int64" for _ in statement.columns[len(statement.labels) :])]
        columns = self.all_columns(statement)
        return {
            name: pyarrow.chunked_array(column, kind) if isinstance(column, list) else column.cast(kind)
            for name, kind, column in zip(statement.columns, arrow_types(kinds), columns, strict=True)
        }


def arrow_types(kinds: Iterable[str]) -> list[Any]:
    """Arrow's types of keys and numbers, by their names."""
    import pyarrow

    known = {"string": pyarrow.string(), "int64": pyarrow.int64(), "uint64": pyarrow.uint64(), "bool": pyarrow.bool_()}
    known |= {"double": pyarrow.float64(), "date32[day]": pyarrow.date32()}
    return [known[kind] for kind in kinds]


def as_column(name: Any) -> str:
    """The name of a column as plain text."""
    if not isinstance(name, str):
        raise InvalidInput(f"the column is {shown(name)}; give its name.")
    return str(plain(name))
