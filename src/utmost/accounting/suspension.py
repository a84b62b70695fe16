"""Files beside a ledger, for its owner: marks of the questions being answered now, and a log of failures.

An engine that fails after a charge reveals something about private rows, so the account is suspended (`account.py`).
Two things about that do not belong into the ledger, which others may be shown:

- *why*: the engine's own words, in a log that only the owner of the process can read;
- *which questions are in flight*: an engine can also end the whole process (out of memory, a segmentation fault), and
  then nobody is left to write anything. So a question has a mark, a file, that is locked (`flock`) while the question
  is answered and removed when it is over, however it ends. A mark without a lock belongs to a process that ended in
  the middle. A lock belongs to the process itself and not to its number, so neither containers nor another machine on
  the same file system mistake a running process for one that ended.

A mark outlives its process, not the power: it is not synced to the disk.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from utmost.exact.files import BINARY, MOVABLE, cut, try_lock, write_at

NEW = ".new-"
"""Prefix of a mark's name until it is locked."""
ATTEMPTS = 100
"""Attempts to make the folder of marks, which other processes remove whenever it is empty."""

NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
"""The flag of `os.open` that refuses a symbolic link; Windows has none, and lets few users make one."""


class Mark(NamedTuple):
    """The mark of a question: which entry of the ledger, and which slot of a schedule."""

    path: Path
    handle: int
    entry: int
    slot: int


def set_mark(folder: Path, key: str, entry: int, slot: int, mode: int) -> Mark | None:
    """Mark a question as being answered; None where no file can be written, and then a crash goes unnoticed.

    Parameters
    ----------
    folder : Path
        Where the marks of a ledger lie; made if it is not there.
    key : str
        Prefix of the marks of one account.
    entry, slot : int
        The question's number in the ledger, and which slot of a schedule it is (0 for none).
    mode : int
        File mode of the mark: those who may use the ledger may see and remove it.
    """
    for _ in range(ATTEMPTS):
        try:
            return _new_mark(folder, f"{key}-{entry}-{slot}", entry, slot, mode)
        except FileNotFoundError:  # whose folder was removed just now, with the last mark in it
            continue
        except OSError:
            break
    return None


def _new_mark(folder: Path, name: str, entry: int, slot: int, mode: int) -> Mark:
    with suppress(FileExistsError):
        folder.mkdir(0o700)
        folder.chmod(mode | (mode >> 2 & 0o111))  # who may read the ledger may look into the folder
    if not MOVABLE:
        return Mark(folder / name, _locked_in_place(folder / name), entry, slot)
    handle, new = tempfile.mkstemp(dir=folder, prefix=NEW)
    try:
        os.fchmod(handle, mode)
        try_lock(handle)  # before it has the name by which others look for it
        os.rename(new, folder / name)
    except OSError:
        os.unlink(new)
        os.close(handle)
        raise
    return Mark(folder / name, handle, entry, slot)


def _locked_in_place(path: Path) -> int:
    """The handle of a mark that is locked under its own name, and gets its byte only then."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | BINARY, 0o600)
    try:
        for _ in range(ATTEMPTS):
            if try_lock(handle):
                write_at(handle, b"1", 0)
                return handle
            time.sleep(0.001)  # somebody is just looking at it
        raise PermissionError("a mark stays locked")
    except OSError:
        os.close(handle)
        raise


def remove_mark(mark: Mark, stays: bool = False) -> None:
    """Remove the mark of a question that is over; if it `stays`, only release its lock, as for a crash.

    The name goes first, so that nobody finds the mark without its lock.
    """
    with suppress(OSError):
        if not stays and MOVABLE:
            mark.path.unlink()
        elif not stays:
            cut(mark.handle, 0)
    os.close(mark.handle)
    with suppress(OSError):
        if not stays and not MOVABLE:
            mark.path.unlink()
    with suppress(OSError):
        mark.path.parent.rmdir()  # unless there are others


def orphaned_marks(folder: Path, key: str) -> list[Mark]:
    """The marks of an account without a lock: their processes ended in the middle of a question."""
    return [mark for name in _names(folder, key) if (mark := _orphaned_mark(folder / name))]


def is_marked(folder: Path, key: str) -> bool:
    """Whether any question of an account has a mark."""
    return bool(_names(folder, key))


def _names(folder: Path, key: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if name.startswith(f"{key}-")]
    except OSError:
        return []


def _orphaned_mark(path: Path) -> Mark | None:
    """The mark in a file without a lock; None if the file is locked, or was removed just now."""
    try:
        entry, slot = (int(number) for number in path.name.split("-")[1:])
        handle = os.open(path, os.O_RDWR | BINARY)
    except (OSError, ValueError):
        return None
    try:
        present = try_lock(handle) and os.path.samestat(os.stat(path), os.fstat(handle))
        present = present and (MOVABLE or os.fstat(handle).st_size > 0)
    except OSError:
        present = False
    finally:
        os.close(handle)
    return Mark(path, -1, entry, slot) if present else None


def write_failure(places: Sequence[Path], dataset: str, entry: int, slot: int, reasons: Sequence[str]) -> None:
    """Append the reasons of a failure, as a line of JSON, to the first log that can be written."""
    moment = datetime.now(UTC).isoformat(timespec="milliseconds")
    line = {"time": moment, "dataset": dataset, "entry": entry, "slot": slot, "reasons": list(reasons)}
    text = json.dumps(line).encode() + b"\n"
    for path in places:
        with suppress(OSError):
            handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | NO_FOLLOW | BINARY, 0o600)
            try:
                if hasattr(os, "fchmod"):  # elsewhere the folder says who may read it
                    os.fchmod(handle, 0o600)  # whatever it was before
                os.write(handle, text)
                return
            finally:
                os.close(handle)
