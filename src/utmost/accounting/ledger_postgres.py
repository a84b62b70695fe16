"""A ledger in PostgreSQL, for several machines: needs the extra `utmost[postgres]`."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from utmost.accounting.account import Event, canonical
from utmost.accounting.storage import START, Book, Storage, hash_mismatch
from utmost.errors import BadFile, LedgerFailed
from utmost.exact.json_text import parse_json
from utmost.extras import missing

Run: TypeAlias = Callable[..., list[tuple[Any, ...]]]
"""Runs one statement with values and returns its rows."""

VERSION = 1
TABLES = (
    "CREATE TABLE utmost_version (version INTEGER NOT NULL)",
    "CREATE TABLE utmost_accounts (dataset TEXT PRIMARY KEY, secret BYTEA NOT NULL)",
    """CREATE TABLE utmost_events (
        dataset TEXT NOT NULL REFERENCES utmost_accounts (dataset), number INTEGER NOT NULL, kind TEXT NOT NULL,
        entry INTEGER NOT NULL, slot INTEGER NOT NULL, time TEXT NOT NULL, body TEXT NOT NULL, question TEXT,
        head TEXT NOT NULL, PRIMARY KEY (dataset, number))""",
    "CREATE INDEX utmost_entries ON utmost_events (dataset, entry)",
    "CREATE INDEX utmost_questions ON utmost_events (dataset, question)",
)
COLUMNS = "dataset, number, kind, entry, slot, time, body, head"
LOCK = 0x55746D73
"""Key of the advisory lock for creating the tables."""


class Tables(Book):
    """The ledger's tables as seen by one transaction; every event that is read is verified by its hash."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def datasets(self) -> list[str]:
        return sorted(row[0] for row in self._run("SELECT dataset FROM utmost_accounts"))

    def secret(self, dataset: str) -> bytes | None:
        rows = self._run("SELECT secret FROM utmost_accounts WHERE dataset = %s", dataset)
        return bytes(rows[0][0]) if rows else None

    def first(self, dataset: str) -> Event | None:
        return next(iter(self._read(dataset, "number = 0")), None)

    def last(self, dataset: str) -> Event | None:
        return next(iter(self._read(dataset, "number >= 0 ORDER BY number DESC LIMIT 1")), None)

    def events(self, dataset: str) -> list[Event]:
        return self._read(dataset, "number >= 0 ORDER BY number")

    def of_entry(self, dataset: str, entry: int) -> list[Event]:
        return self._read(dataset, "entry = %s ORDER BY number", entry)

    def answers(self, dataset: str, key: str) -> list[Event]:
        return self._read(dataset, "question = %s AND kind = 'complete' ORDER BY number DESC", key)

    def stored(self, dataset: str) -> tuple[list[Event], list[str | None]]:
        rows = self._rows(f"{COLUMNS}, question", dataset, "number >= 0 ORDER BY number")
        return [_event(row[:-1]) for row in rows], [row[-1] for row in rows]

    def add(self, event: Event, key: str | None, secret: bytes | None = None) -> None:
        if secret is not None:
            self._run("INSERT INTO utmost_accounts VALUES (%s, %s)", event.dataset, secret)
        values = (*event[:6], canonical(event.body).decode(), key, event.head)
        self._run("INSERT INTO utmost_events VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)", *values)

    def _read(self, dataset: str, condition: str, *values: Any) -> list[Event]:
        """The events that satisfy a condition; `BadFile` if the hash of one is wrong."""
        previous_head = "SELECT head FROM utmost_events AS b WHERE b.dataset = e.dataset AND b.number = e.number - 1"
        events = []
        for *row, previous in self._rows(f"{COLUMNS}, ({previous_head})", dataset, condition, *values):
            event = _event(row)
            if event.head_after(START if event.number == 0 else str(previous)) != event.head:
                raise hash_mismatch(dataset, event.number)
            events.append(event)
        return events

    def _rows(self, columns: str, dataset: str, condition: str, *values: Any) -> list[tuple[Any, ...]]:
        statement = f"SELECT {columns} FROM utmost_events AS e WHERE dataset = %s AND {condition}"
        return self._run(statement, dataset, *values)


def _event(row: Sequence[Any]) -> Event:
    try:
        return Event._make((*row[:6], parse_json(row[6]), row[7]))
    except (TypeError, ValueError, RecursionError):
        raise hash_mismatch(row[0], row[1]) from None


class PostgreSQL(Storage):
    """The ledger's tables in a PostgreSQL database; a writer locks its data set."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self.where = f"postgresql://{address.hostname or ''}{address.path}"  # no user, no password
        self._url, self._lock, self._owner = url, threading.RLock(), os.getpid()
        self._connection = self._connect()
        with self._transaction():
            self._run("SELECT pg_advisory_xact_lock(%s)", LOCK)
            lookup = "SELECT 1 FROM pg_tables WHERE tablename = 'utmost_version' AND schemaname = current_schema()"
            if not self._run(lookup):
                for table in TABLES:
                    self._run(table)
                self._run("INSERT INTO utmost_version VALUES (%s)", VERSION)
            version_rows = self._run("SELECT version FROM utmost_version")
        if version_rows != [(VERSION,)]:
            versions = ", ".join(str(row[0]) for row in version_rows) or "none"
            raise BadFile(f"{self.where} holds a ledger of version {versions}; this Utmost keeps version {VERSION}.")

    def _connect(self) -> Any:
        try:
            import psycopg
        except ImportError:
            raise missing("postgres", "PostgreSQL needs psycopg") from None
        try:
            connection = psycopg.connect(self._url, autocommit=True)
            # A writer waits for its lock first and must then see what the one before it wrote: with the snapshots of
            # "repeatable read", which a server may have as its default, it would see the state before it waited.
            connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
            connection.execute("SET synchronous_commit = on")
        except psycopg.Error as problem:
            raise LedgerFailed(f"the ledger at {self.where} cannot be reached: {_first_words(problem)}") from None
        return connection

    @contextmanager
    def write(self, *datasets: str) -> Iterator[Book]:
        with self._transaction():
            for dataset in sorted(datasets):  # in one order, or two writers would wait for each other
                self._run("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", LOCK, dataset)
            yield Tables(self._run)

    @contextmanager
    def read(self) -> Iterator[Book]:
        with self._transaction():
            yield Tables(self._run)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        import psycopg

        if self._owner != os.getpid():  # a connection must not be carried across a fork
            _LEFT_TO_PARENTS.append(self._connection)
            self._lock, self._owner, self._connection = threading.RLock(), os.getpid(), self._connect()
        with self._lock:
            if self._connection.closed:
                self._connection = self._connect()
            try:
                with self._connection.transaction():
                    yield
            except psycopg.Error as problem:
                raise LedgerFailed(
                    f"the ledger at {self.where} could not be used: {_first_words(problem)}. If the connection was "
                    "lost, it may have been recorded all the same: look at `entries()`."
                ) from None

    def _run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        cursor = self._connection.execute(statement, values)
        return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        if self._owner == os.getpid():
            self._connection.close()


_LEFT_TO_PARENTS: list[Any] = []
"""Connections inherited by a fork: closing them here would end the parent's."""


def _first_words(problem: Exception) -> str:
    return str(problem).splitlines()[0].rstrip(".") if str(problem) else type(problem).__name__
