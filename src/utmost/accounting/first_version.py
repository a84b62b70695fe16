"""Convert ledgers of version 1, which were SQLite files with a write-ahead log, to the present format.

The new file has the same events with the same heads, so reports and recorded answers stay true. A process of an earlier
Utmost that has the old file open finds that it was replaced, and refuses to spend.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from utmost.accounting.account import Event
from utmost.accounting.ledger_file import Index, write_line
from utmost.errors import BadFile
from utmost.exact.json_text import parse_json

SQLITE = b"SQLite format 3\0"
APPLICATION = 0x55746D73
"""The application id in the header of an SQLite ledger ("Utms")."""
PATIENCE = 60.0
"""Seconds to wait for other processes that have the file open."""
NAMES = {"utmost_accounts", "utmost_entries", "utmost_events", "utmost_questions", "utmost_version"}


def is_version_1(path: Path) -> bool:
    """Whether a file is a ledger of version 1, by its header; `BadFile` for any other SQLite file."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except OSError as problem:
        raise BadFile(f"{path} cannot be read: {problem.strerror}.") from None
    if not header.startswith(SQLITE):
        return False
    application, version = (int.from_bytes(header[at : at + 4], "big") for at in (68, 60))
    if len(header) < 100 or application != APPLICATION:
        raise BadFile(f"{path} is not a ledger of Utmost; it was left as it is. Name another file, or restore it.")
    if version != 1:
        raise BadFile(f"{path} is a SQLite ledger of version {version}, which this Utmost does not know.")
    return True


def convert(path: Path, write: Callable[[Path, list[bytes], bool], None]) -> None:
    """Replace a ledger of version 1 by one of this version, made by `write`; a damaged one is refused and kept."""
    original = os.stat(path)
    if original.st_nlink > 1:
        raise BadFile(
            f"{path} is a ledger of version 1 with {original.st_nlink} names (hard links), and each name may have a "
            "log of its own; remove all names but the one it was used by, and open it again."
        )
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=PATIENCE)) as connection:
            connection.isolation_level = None
            connection.execute(
                "BEGIN IMMEDIATE"
            )  # a process that still spends from it finishes before, and is refused afterwards
            current = os.stat(path)
            if (current.st_dev, current.st_ino) == (
                original.st_dev,
                original.st_ino,
            ):  # else another process has converted it
                write(path, _lines(connection), True)
        for suffix in ("-wal", "-shm"):  # of the old file, if others still have it open
            path.with_name(path.name + suffix).unlink(missing_ok=True)
    except BadFile as problem:
        raise BadFile(f"the ledger {path}, of version 1, is damaged and was left as it is: {problem}") from None
    except (sqlite3.Error, OSError, ValueError, TypeError, OverflowError, RecursionError) as problem:
        raise BadFile(
            f"the ledger {path}, of version 1, is damaged or busy ({type(problem).__name__}) and was left as it is; "
            "close it elsewhere, or restore it from a backup."
        ) from None


def _lines(connection: sqlite3.Connection) -> list[bytes]:
    """All events as lines, in the order they were written, each verified by its hash."""
    problems = [row[0] for row in connection.execute("PRAGMA integrity_check(1)") if row[0] != "ok"]
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE name LIKE 'utmost%'")}
    versions = connection.execute("SELECT version FROM utmost_version").fetchall() if not problems else []
    if problems or names != NAMES or versions != [(1,)]:
        raise BadFile("its tables are not whole; restore it from a backup.")
    secrets = dict(connection.execute("SELECT dataset, secret FROM utmost_accounts NOT INDEXED"))
    rows = connection.execute(
        "SELECT dataset, number, kind, entry, slot, time, body, head FROM utmost_events NOT INDEXED ORDER BY rowid"
    )
    index, lines = Index(), []
    for *start, body, head in rows:
        event = Event._make((*start, parse_json(body), head))
        line = write_line([event], bytes(secrets[event.dataset]) if event.number == 0 else None)
        index.take(line)
        lines.append(line)
    if set(index.tracks) != set(secrets):
        raise BadFile("an account has no events; restore it from a backup.")
    return lines
