"""A ledger in one SQLite file (or in memory): write-ahead log, `synchronous=FULL`, `BEGIN IMMEDIATE`.

The file is made whole under another name and then linked to its own, so a crash while it is made leaves no half ledger.
What is found under the name is looked at before SQLite may touch it: anything else than a ledger of this version is
refused and left as it is.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from utmost.accounting.storage import TABLES, VERSION, Run, Storage
from utmost.errors import BadFile, InvalidInput, UtmostError

APPLICATION = 0x55746D73
"""The mark in the file's header that says whose file it is ("Utms")."""
PATIENCE = 60.0
"""For how many seconds a writer waits for the others."""
BODY = ("utmost_accounts", "utmost_entries", "utmost_events", "utmost_questions", "utmost_version")


class SQLite(Storage):
    """The ledger's tables in one file."""

    def __init__(self, path: Path) -> None:
        self.where, self._path = str(path), path.absolute()
        self._lock, self._owner = threading.RLock(), os.getpid()
        if not self._path.exists():
            _make(self._path)
        _require_ledger(self._path)
        self._identity = _identity(self._path)
        self._connection = self._connect()
        try:
            with self.read() as run:
                _require_sound(run, self.where)
        except BaseException:
            self._connection.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        return _connect(f"{self._path.as_uri()}?mode=rw")

    def _own(self) -> sqlite3.Connection:
        """The connection of this process: one must not be carried across a fork, nor closed in the child."""
        if self._owner != os.getpid():
            _LEFT_TO_PARENTS.append(self._connection)
            self._lock, self._owner, self._connection = threading.RLock(), os.getpid(), self._connect()
        return self._connection

    @contextmanager
    def write(self, dataset: str) -> Iterator[Run]:
        with self._transaction("BEGIN IMMEDIATE") as run:
            yield run

    @contextmanager
    def read(self) -> Iterator[Run]:
        with self._transaction("BEGIN") as run:
            yield run

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Run]:
        connection = self._own()
        with self._lock, _in_words(self.where):
            connection.execute(begin)
            try:
                self._require_same_file()
                yield lambda statement, *values: connection.execute(statement, values).fetchall()
                self._require_same_file()
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _require_same_file(self) -> None:
        """Refuse to go on with a file that no longer has the ledger's name: others spend from what has it now."""
        if _identity(self._path) != self._identity:
            raise BadFile(
                f"the ledger {self.where} was deleted or replaced while it was open; nothing was charged. Open it "
                "anew, and compare its head with the latest report."
            )

    def close(self) -> None:
        if self._owner == os.getpid():
            self._connection.close()


class Memory(SQLite):
    """The same tables in memory: nothing outlives the process."""

    kept = False

    def __init__(self) -> None:
        self.where = "memory"
        self._lock, self._owner = threading.RLock(), os.getpid()
        self._connection = _connect(":memory:")
        with self.write("") as run:
            _create(run)

    def _require_same_file(self) -> None:
        """There is no file."""

    def _own(self) -> sqlite3.Connection:
        if self._owner != os.getpid():
            raise InvalidInput(
                "an account in memory belongs to the process that opened it: a copy in another process could spend "
                "the budget twice. Give the ledger a file."
            )
        return self._connection


_LEFT_TO_PARENTS: list[sqlite3.Connection] = []
"""Connections inherited by a fork: closing them here would disturb the parent's locks."""


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells a file from another under the same name; None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _connect(name: str) -> sqlite3.Connection:
    connection = None
    try:
        connection = sqlite3.connect(name, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
    except sqlite3.Error as problem:
        if connection is not None:
            connection.close()
        raise BadFile(f"the ledger is damaged or out of reach ({problem}); it was left as it is.") from None
    return connection


def _create(run: Run) -> None:
    for table in TABLES:
        run(table.format(bytes="BLOB"))
    run("INSERT INTO utmost_version VALUES (?)", VERSION)


def _make(path: Path) -> None:
    """A new ledger, complete when it appears under its name; where another process was first, its ledger stays."""
    if not path.parent.is_dir():
        raise BadFile(f"{path.parent} is not a folder; make it, or keep the ledger elsewhere.")
    if path.with_name(f"{path.name}-wal").exists() and not path.exists():
        raise BadFile(f"{path} is gone, but the log of a ledger lies beside it; restore the ledger, or move the log.")
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.new-")
        os.close(handle)
    except OSError as problem:
        raise BadFile(f"no ledger can be made in {path.parent}: {problem.strerror}.") from None
    try:
        with closing(_connect(Path(name).as_uri())) as connection:
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.execute("BEGIN IMMEDIATE")
            _create(lambda statement, *values: connection.execute(statement, values).fetchall())
            connection.execute("COMMIT")
            connection.execute("PRAGMA journal_mode = WAL")
        try:
            os.link(name, path)
        except FileExistsError:
            return
        except OSError:  # a file system without links
            if not path.exists():
                os.rename(name, path)
        _sync_folder(path.parent)
    finally:
        Path(name).unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _require_ledger(path: Path) -> None:
    """Refuse a file whose header is not that of a ledger of this version, without letting SQLite touch it."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except OSError as problem:
        raise BadFile(f"{path} cannot be read: {problem.strerror}.") from None
    whose, version = (int.from_bytes(header[at : at + 4], "big") for at in (68, 60))
    if len(header) < 100 or not header.startswith(b"SQLite format 3\0") or whose != APPLICATION:
        raise BadFile(f"{path} is not a ledger of Utmost; it was left as it is. Name another file, or restore it.")
    if version != VERSION:
        raise BadFile(
            f"{path} is a ledger of version {version}; this Utmost keeps version {VERSION}. It was left as it is."
        )


def _require_sound(run: Run, where: str) -> None:
    problems = [row[0] for row in run("PRAGMA quick_check(1)") if row[0] != "ok"]
    names = {row[0] for row in run("SELECT name FROM sqlite_master WHERE name LIKE 'utmost%'")}
    if problems or names != set(BODY) or run("SELECT version FROM utmost_version") != [(VERSION,)]:
        raise BadFile(f"the ledger {where} is damaged and was left as it is; restore it from a backup.")


@contextmanager
def _in_words(where: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.ProgrammingError as problem:
        raise UtmostError(f"the ledger {where} is closed ({problem}); open it again.") from None
    except sqlite3.OperationalError as problem:
        if "locked" in str(problem) or "busy" in str(problem):
            raise UtmostError(f"the ledger {where} stayed busy for {PATIENCE:g} s; try again.") from None
        raise UtmostError(f"the ledger {where} could not be used: {problem}. Nothing was charged.") from None
    except sqlite3.DatabaseError as problem:
        raise BadFile(f"the ledger {where} is damaged ({problem}) and was left as it is; restore a backup.") from None
