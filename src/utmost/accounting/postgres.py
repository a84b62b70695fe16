"""A ledger in PostgreSQL, for several machines: needs the extra `utmost[postgres]`."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from utmost.accounting.storage import TABLES, VERSION, Run, Storage
from utmost.errors import BadFile, UtmostError

LOCK = 0x55746D73
"""Whose turn it is to make the tables."""


class PostgreSQL(Storage):
    """The ledger's tables in a PostgreSQL database; a writer locks the row of its data set."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self.where = f"postgresql://{address.hostname or ''}{address.path}"  # no user, no password
        self._url, self._lock, self._owner = url, threading.RLock(), os.getpid()
        self._connection = self._connect()
        with self.read() as run:
            run("SELECT pg_advisory_xact_lock(?)", LOCK)
            if not run("SELECT 1 FROM pg_tables WHERE tablename = 'utmost_version' AND schemaname = current_schema()"):
                for table in TABLES:
                    run(table.format(bytes="BYTEA"))
                run("INSERT INTO utmost_version VALUES (?)", VERSION)
            found = run("SELECT version FROM utmost_version")
        if found != [(VERSION,)]:
            versions = ", ".join(str(row[0]) for row in found) or "none"
            raise BadFile(f"{self.where} holds a ledger of version {versions}; this Utmost keeps version {VERSION}.")

    def _connect(self) -> Any:
        try:
            import psycopg
        except ImportError:
            raise UtmostError("PostgreSQL needs psycopg; install it with: pip install 'utmost[postgres]'") from None
        try:
            connection = psycopg.connect(self._url, autocommit=True)
            # A writer waits for its lock first and must then see what the one before it wrote: with the snapshots of
            # "repeatable read", which a server may have as its default, it would see the state before it waited.
            connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
            connection.execute("SET synchronous_commit = on")
        except psycopg.Error as problem:
            reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
            raise UtmostError(f"the ledger at {self.where} cannot be reached: {reason}") from None
        return connection

    @contextmanager
    def write(self, dataset: str) -> Iterator[Run]:
        with self.read() as run:
            run("SELECT pg_advisory_xact_lock(?, hashtext(?))", LOCK, dataset)
            yield run

    @contextmanager
    def read(self) -> Iterator[Run]:
        import psycopg

        if self._owner != os.getpid():  # a connection must not be carried across a fork
            _LEFT_TO_PARENTS.append(self._connection)
            self._lock, self._owner, self._connection = threading.RLock(), os.getpid(), self._connect()
        with self._lock:
            if self._connection.closed:
                self._connection = self._connect()
            try:
                with self._connection.transaction():
                    yield self._run
            except psycopg.Error as problem:
                reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
                raise UtmostError(f"the ledger at {self.where} could not be used: {reason}") from None

    def _run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        cursor = self._connection.execute(statement.replace("?", "%s"), values)
        return (
            [tuple(bytes(v) if isinstance(v, memoryview) else v for v in row) for row in cursor]
            if (cursor.description)
            else []
        )

    def close(self) -> None:
        if self._owner == os.getpid():
            self._connection.close()


_LEFT_TO_PARENTS: list[Any] = []
"""Connections inherited by a fork: closing them here would end the parent's."""
