"""A table in an engine that is queried in SQL: DuckDB or PostgreSQL."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from utmost.backends.rehearsal import extreme_keys
from utmost.backends.source import GONE, Source, Statement
from utmost.errors import InvalidInput
from utmost.queries.expressions import relations as rel
from utmost.queries.expressions.sql import Dialect, quoted_name, statement, with_table
from utmost.queries.expressions.types import Type

ROWS = "private_rows"
"""Name of a file or frame in DuckDB, and of the made-up rows of a rehearsal in every engine."""
MOST_REHEARSED = 1000
"""How many rehearsed statements a table remembers."""


@dataclass(frozen=True)
class Column:
    """A stored column, with the cast by which it becomes a typed expression.

    Attributes
    ----------
    kind : str
        The engine's own type.
    type : Type
        The type of the typed expression.
    entry : str
        SQL of the cast, which is total: it fails on no value.
    """

    kind: str
    type: Type
    entry: str


@dataclass(frozen=True)
class SqlSource(Source):
    """A table in an engine that is queried in SQL.

    Attributes
    ----------
    stored : mapping of str to Column
        The stored columns.
    origin : str
        The table as it is written after FROM.
    rehearsed : set of str
        Statements that have passed their rehearsal.
    """

    stored: Mapping[str, Column] = field(default_factory=dict, repr=False)
    origin: str = ""
    rehearsed: set[str] = field(default_factory=set, repr=False, compare=False)

    dialect = Dialect({})

    def prepared(self, query: rel.Relation, keys: Any, size: int, labels: tuple[str, ...]) -> Statement:
        """A query as SQL, rehearsed on public rows of extreme values: as it is, and with all conditions true."""
        sql = self.sql(query, self.origin)
        prepared_statement = Statement(sql, tuple(query.columns), keys, size, labels)
        if not self.stored_as_opened():
            raise InvalidInput(GONE)
        if sql not in self.rehearsed:
            rows = self.made_up_rows(self.columns_read(query))
            few = None if keys is None else extreme_keys(keys)
            for assumed in (False, True):
                trial = self.sql(query, quoted_name(ROWS), assumed)
                self.rehearse(Statement(trial, prepared_statement.columns, few, size, labels, trial=True), rows)
            if len(self.rehearsed) >= MOST_REHEARSED:
                self.rehearsed.clear()
            self.rehearsed.add(sql)
        return prepared_statement

    def sql(self, query: rel.Relation, origin: str, assumed: bool = False) -> str:
        """A query as SQL of the engine, with the rows read from `origin`."""

        def rows(names: set[str]) -> str:
            listed = ", ".join(self._entering(name) for name in self.stored if name in names) or "1 AS one"
            return f"SELECT {listed} FROM {origin}"

        return statement(query, rows, self.dialect, assumed)

    def _entering(self, name: str) -> str:
        entry = self.stored[name].entry
        return entry if entry == quoted_name(name) else f"{entry} AS {quoted_name(name)}"

    def columns_read(self, query: rel.Relation) -> list[str]:
        """The stored columns that a query reads."""
        columns_by_relation = rel.columns_used(query)
        rows = [relation for relation in rel.walk(query) if isinstance(relation, rel.Rows)]
        names = {name for relation in rows for name in columns_by_relation[id(relation)]}
        return [name for name in self.stored if name in names]

    def rehearse(self, trial: Statement, rows: str) -> None:
        """Run a statement on made-up rows, under the name `ROWS`, in the way it will be run on the private ones."""
        self.run(replace(trial, query=with_table(ROWS, rows, trial.query)))

    def run(self, trial: Statement) -> None:
        """Run a statement, and convert its result as that of an answer is converted."""
        if trial.labels:
            self._labelled(trial)
        elif trial.keys is not None:
            self.all_rows(trial)
        else:
            self._integers(trial)

    @abstractmethod
    def stored_as_opened(self) -> bool:
        """Whether the table exists with the columns that it had when it was opened."""

    @abstractmethod
    def made_up_rows(self, names: list[str]) -> str:
        """SQL for public rows of extreme values in some of the columns, each row twice."""
