"""Where a ledger is kept: tables behind one small interface, so that the ledger itself knows no database.

A storage opens transactions. One that writes excludes every other writer (of the data set, at least) from its first
statement on and is on the disk when it ends. Statements use ? for values. `sqlite.py` and `postgres.py` are the two.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Any, ClassVar, TypeAlias

Run: TypeAlias = Callable[..., list[tuple[Any, ...]]]
"""Runs one statement with values and returns its rows."""

VERSION = 1
TABLES = (
    "CREATE TABLE utmost_version (version INTEGER NOT NULL)",
    "CREATE TABLE utmost_accounts (dataset TEXT PRIMARY KEY, secret {bytes} NOT NULL)",
    """CREATE TABLE utmost_events (
        dataset TEXT NOT NULL REFERENCES utmost_accounts (dataset), number INTEGER NOT NULL, kind TEXT NOT NULL,
        entry INTEGER NOT NULL, slot INTEGER NOT NULL, time TEXT NOT NULL, body TEXT NOT NULL, question TEXT,
        head TEXT NOT NULL, PRIMARY KEY (dataset, number))""",
    "CREATE INDEX utmost_entries ON utmost_events (dataset, entry)",
    "CREATE INDEX utmost_questions ON utmost_events (dataset, question)",
)
"""Events are only ever added: opening an account, reserving, using a slot, completing."""


class Storage(ABC):
    """A database that holds the ledger's tables."""

    kept: ClassVar[bool] = True
    """Whether it outlives the process."""
    where: str
    """How people call it."""

    @abstractmethod
    def write(self, dataset: str) -> AbstractContextManager[Run]:
        """A transaction that alone writes this data set, and is durable when it ends without an error."""

    @abstractmethod
    def read(self) -> AbstractContextManager[Run]:
        """A transaction that sees one state of the tables."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the database."""

    def __del__(self) -> None:
        with suppress(Exception):  # an object that was never quite made has nothing to close
            self.close()
