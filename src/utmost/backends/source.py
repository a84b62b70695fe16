"""An opened table: which queries it supports, and `Source.execute`, the only method that reads private rows.

Before a spend is reserved, only the *schema* is read: names and types of columns are public. If `Source.execute` fails,
its error is one fixed sentence, whatever the reason.

Every engine has its own subclass in `backends`. All of them take the typed expressions of `queries.expressions`, in
which no row can cause an error, and rehearse a statement on public rows of extreme values before anything is spent.
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
from utmost.messages import Argument, Call, Words
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
CONDITION = Words("the condition as ", Argument("where"))
BASE_TABLE = Words("give the base table, and ", CONDITION)
DISTINCT = Words("remove repeated rows beforehand; for people, ", Call("um.people", ...), " counts everyone once")
"""Remedies for tables that are not row-wise."""
KEYS = "public_keys"
"""Name of the table of public keys in a statement."""
PUBLIC = "public_table_"
"""Prefix of the names of joined public tables in a statement."""


@dataclass(frozen=True)
class Statement:
    """A query in the engine's own form, which returns integers in these columns.

    It may contain the data set's secret, and is never shown. It returns one row; or one row for each of several public
    keys, whose position is in the column `cell`; or one row for each key in the table, with the key in the first
    columns.

    Attributes
    ----------
    query : str or DataFrame
        SQL text, or a DataFrame of Spark.
    columns : tuple of str
        The names of the columns that it returns.
    keys : pyarrow.Table, optional
        The public keys that it joins.
    size : int
        How many groups there may be.
    labels : tuple of str
        The types of the key columns, where keys are read from the table.
    trial : bool
        Whether it is a rehearsal, which reads public rows only.
    """

    query: Any = field(repr=False)
    columns: tuple[str, ...]
    keys: Any = field(default=None, repr=False, compare=False)
    size: int = 1
    labels: tuple[str, ...] = ()
    trial: bool = False


@dataclass(frozen=True)
class Source(ABC):
    """An opened table.

    Attributes
    ----------
    table : Relation
        The rows with their columns, whose names and types are public.
    untyped : frozenset of str
        Columns of text without a declared type: a query may cast them.
    require_unchanged : callable
        Raises `InvalidInput` if the table is gone, or its schema has changed since it was opened.
    refused : mapping of str to str
        Columns that no query may use, and why. Queries about the other columns are allowed.
    derivation : tuple of str
        The conditions and computed columns by which the table was derived from a base table, as text.
    ibis_table : any
        The Ibis table that was opened, if it was one: conditions may be built from it.
    conditions : dict
        Parsed conditions, by their text.
    public : mapping of str to pyarrow.Table
        Public tables that the table is joined with, by their names in statements.
    public_columns : frozenset of str
        The columns that come from public tables. They are functions of the other columns, so they are left out where
        rows are told apart by their values.
    """

    table: Relation
    untyped: frozenset[str] = frozenset()
    require_unchanged: Callable[[], None] = field(default=lambda: None, repr=False, compare=False)
    refused: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    derivation: tuple[str, ...] = ()
    ibis_table: Any = field(default=None, repr=False, compare=False)
    conditions: dict[str, Expression] = field(default_factory=dict, repr=False, compare=False)
    public: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    public_columns: frozenset[str] = frozenset()

    fixed_rows = True
    """Whether the number of rows is independent of the values in them, so that a total may be without noise."""
    engine = "an engine"
    """The name of the engine in messages."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.table.columns)

    @property
    def naming(self) -> str:
        """List the columns for an error message, unless they may be a person's entries in a file without a header."""
        if self.untyped and not all(name.replace(" ", "_").isidentifier() for name in self.untyped):
            return "the first line of the file must name the columns"
        return f"the columns are {', '.join(self.columns)}"

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the schema and of the derivation: columns, their types, filters and computed columns.

        Two tables that filter or project one base table differently have different fingerprints, and so has a file read
        with other types. Which file or frame it is follows from the data set's name.
        """
        content = {
            "columns": [[name, str(kind)] for name, kind in self.table.columns.items()],
            "untyped": sorted(self.untyped),
            "rows": "; ".join(self.derivation) or None,
        }
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]

    def column(self, name: Any) -> Expression:
        """A column of the table; raises `InvalidInput`, with the list of columns, if there is none of this name."""
        if not isinstance(name, str) or name not in self.columns:
            raise InvalidInput(f"there is no column {shown(name)}; {self.naming}.")
        self.require_readable({name})
        return self.table[name]

    def type(self, name: Any) -> Type | None:
        """The type of a column; None if there is none of this name."""
        return self.table.columns.get(name) if isinstance(name, str) else None

    def require_readable(self, names: Iterable[str]) -> None:
        """Refuse columns that no query may use, such as those of a type that engines treat differently."""
        for name in names:
            if name in self.refused:
                raise InvalidInput(f"column {name!r} {self.refused[name]}.")

    def require_supported(self, value: Expression) -> Expression:
        """Return a user's expression if it reads a column and means the same on this engine as on the others."""
        names = columns_of(value)
        self.require_readable(names)
        if not names:
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
        """Translate a query for this engine and rehearse it: what fails here fails whatever the rows, so it is public.

        Parameters
        ----------
        query : Relation
        keys : pyarrow.Table, optional
            The public keys that the query joins under the name `KEYS`.
        size : int
            How many groups there may be.
        labels : tuple of str
            The types of the first columns, where these are keys read from the table.
        """
        self.require_unchanged()
        try:
            return self.prepared(query, keys, size, labels)
        except UtmostError:
            raise
        except Exception:  # the engine's message would show the statement, and with it the secret
            pass
        raise InvalidInput(self._not_supported)

    @abstractmethod
    def prepared(self, query: Relation, keys: Any, size: int, labels: tuple[str, ...]) -> Statement:
        """Translate a query for this engine, and run its rehearsal unless it has passed before."""

    @abstractmethod
    def is_reachable(self) -> bool:
        """Whether the engine responds to a trivial query."""

    @property
    def _not_supported(self) -> str:
        if not self.is_reachable():
            return GONE
        return (
            f"{self.engine} cannot be asked this question, whatever the rows; compare columns with values of their own "
            "type and range, or ask it of a table with plainer types."
        )

    # ---- reading private rows ----

    def execute(self, statement: Statement) -> Mapping[str, Any]:
        """Run a statement on the private rows: integers by name, or columns of them where it groups by keys."""
        try:
            if statement.labels:
                return self._labelled(statement)
            return self._integers(statement) if statement.keys is None else self._by_keys(statement)
        except Exception as problem:
            failed = EngineFailed(FAILED, problem)
        raise failed  # outside the except: no chain of causes that would repeat the engine's message

    def reconnect(self) -> None:
        """Prepare to run a statement again after a failure: reconnect, where that is possible."""
        return

    @abstractmethod
    def one_row(self, statement: Statement) -> tuple[Any, ...]:
        """The one row of an aggregation."""

    @abstractmethod
    def all_rows(self, statement: Statement) -> list[Integers]:
        """The columns of an aggregation by public keys, as integers."""

    @abstractmethod
    def all_columns(self, statement: Statement) -> list[Any]:
        """The columns of an aggregation by keys read from the table: Arrow columns, or each as a list of one list."""

    def _integers(self, statement: Statement) -> dict[str, int]:
        row = self.one_row(statement)
        return {name: int(value or 0) for name, value in zip(statement.columns, row, strict=True)}

    def _by_keys(self, statement: Statement) -> dict[str, Integers]:
        """The columns of an aggregation by public keys, in the order of the keys; 0 for keys without rows."""
        cell, *numbers = self.all_rows(statement)
        sums = {}
        for name, column in zip(statement.columns[1:], numbers, strict=True):
            sums[name] = np.zeros(statement.size, dtype=np.int64)
            sums[name][cell] = column
        return sums

    def _labelled(self, statement: Statement) -> dict[str, Any]:
        """The columns of an aggregation by keys read from the table, as Arrow columns; the keys are private, too."""
        import pyarrow

        kinds = [*statement.labels, *("int64" for _ in statement.columns[len(statement.labels) :])]
        columns = self.all_columns(statement)
        return {
            name: pyarrow.chunked_array(column, kind) if isinstance(column, list) else column.cast(kind)
            for name, kind, column in zip(statement.columns, arrow_types(kinds), columns, strict=True)
        }


def arrow_types(kinds: Iterable[str]) -> list[Any]:
    """Arrow types of keys and numbers, by their names."""
    import pyarrow

    types = {"string": pyarrow.string(), "int64": pyarrow.int64(), "uint64": pyarrow.uint64(), "bool": pyarrow.bool_()}
    types |= {"double": pyarrow.float64(), "date32[day]": pyarrow.date32()}
    return [types[kind] for kind in kinds]


def as_column(name: Any) -> str:
    """Return the name of a column as plain text; raises `InvalidInput` if it is not text."""
    if not isinstance(name, str):
        raise InvalidInput(f"the column is {shown(name)}; give its name.")
    return str(plain(name))
