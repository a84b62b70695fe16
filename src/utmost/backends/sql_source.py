"""A table in an engine that is asked in SQL: DuckDB or PostgreSQL."""

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
"""What files and frames are called in DuckDB, and the made-up rows of a rehearsal in every engine."""
MOST_REHEARSED = 1000
"""How many statements a table remembers as rehearsed."""


@dataclass(frozen=True)
class Column:
    """A column as the engine has it.

    Attributes
    ----------
    kind : str
        The engine's own type.
    type : Type
        As what it enters.
    entry : str
        SQL of the total cast by which it enters.
    """

    kind: str
    type: Type
    entry: str


@dataclass(frozen=True)
class SqlSource(Source):
    """A table in an engine that is asked in SQL.

    Attributes
    ----------
    stored : mapping of str to Column
        The columns as the engine has them.
    origin : str
        The table as it stands behind FROM.
    rehearsed : set of str
        Statements that have passed their rehearsal.
    """

    stored: Mapping[str, Column] = field(default_factory=dict, repr=False)
    origin: str = ""
    rehearsed: set[str] = field(default_factory=set, repr=False, compare=False)

    dialect = Dialect({})

    def prepared(self, query: rel.Relation, keys: Any, size: int, labels: tuple[str, ...]) -> Statement:
        """A query as SQL, which has run on public rows of extreme values: as it is, and with conditions as true."""
        sql = self.sql(query, self.origin)
        made = Statement(sql, tuple(query.columns), keys, size, labels)
        if not self.stored_as_opened():
            raise InvalidInput(GONE)
        if sql not in self.rehearsed:
            rows = self.made_up_rows(self.used(query))
            few = None if keys is None else extreme_keys(keys)
            for assumed in (False, True):
                trial = self.sql(query, quoted_name(ROWS), assumed)
                self.rehearse(Statement(trial, made.columns, few, size, labels, trial=True), rows)
            if len(self.rehearsed) >= MOST_REHEARSED:
                self.rehearsed.clear()
            self.rehearsed.add(sql)
        return made

    def sql(self, query: rel.Relation, origin: str, assumed: bool = False) -> str:
        """A query in the engine's words, of rows that stand somewhere."""

        def rows(names: set[str]) -> str:
            listed = ", ".join(self._entering(name) for name in self.stored if name in names) or "1 AS one"
            return f"SELECT {listed} FROM {origin}"

        return statement(query, rows, self.dialect, assumed)

    def _entering(self, name: str) -> str:
        entry = self.stored[name].entry
        return entry if entry == quoted_name(name) else f"{entry} AS {quoted_name(name)}"

    def used(self, query: rel.Relation) -> list[str]:
        """The stored columns that a query looks at."""
        needed = rel.needed(query)
        names = {name for one in rel.walk(query) if isinstance(one, rel.Rows) for name in needed[id(one)]}
        return [name for name in self.stored if name in names]

    def rehearse(self, trial: Statement, rows: str) -> None:
        """Run a statement on made-up rows, under the name `ROWS`, as it will be run on the others."""
        self.run(replace(trial, asked=with_table(ROWS, rows, trial.asked)))

    def run(self, trial: Statement) -> None:
        """Run a statement, and read what it finds as that of an answer is read."""
        if trial.labels:
            self._labelled(trial)
        elif trial.keys is not None:
            self.all_rows(trial)
        else:
            self._integers(trial)

    @abstractmethod
    def stored_as_opened(self) -> bool:
        """Whether the table is there with the columns it had."""

    @abstractmethod
    def made_up_rows(self, names: list[str]) -> str:
        """SQL for public rows of extreme values in some of the columns, each row twice."""
