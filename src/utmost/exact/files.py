"""Open files as the operating systems have them: locks, reads and writes at an offset, and writes that reach the disk.

POSIX has `flock`, a lock that belongs to the file and that readers may share. Windows locks the first byte of the file,
through the package filelock; there a lock is never shared, others can neither read that byte nor remove or rename a
file that is open.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from types import ModuleType

from utmost.errors import UtmostError

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

BINARY = getattr(os, "O_BINARY", 0)
"""The flag of `os.open` without which Windows would translate newlines."""
MOVABLE = fcntl is not None
"""Whether a file can be removed or renamed while it is open."""


def try_lock(handle: int, shared: bool = False) -> bool:
    """Lock an open file; False if somebody else has locked it. The system releases the lock of a process that ends.

    `OSError` where the file system has no locks.
    """
    if fcntl is None:
        return bool(_filelock().lock_descriptor(handle, blocking=False))
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def unlock(handle: int) -> None:
    """Release the lock on an open file."""
    if fcntl is None:
        _filelock().unlock_descriptor(handle)
    else:
        fcntl.flock(handle, fcntl.LOCK_UN)


def _filelock() -> ModuleType:
    try:
        return import_module("filelock")
    except ImportError:
        raise UtmostError(
            "this system locks files through the package filelock, and without a lock two could write at once; "
            "install it with: pip install 'filelock>=3.30'"
        ) from None


def read_at(handle: int, place: int, size: int) -> bytes:
    """Read `size` bytes at an offset, fewer only at the end of the file."""
    pieces = []
    while size and (piece := _read_piece(handle, place, size)):
        pieces.append(piece)
        place, size = place + len(piece), size - len(piece)
    return b"".join(pieces)


def _read_piece(handle: int, place: int, size: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(handle, size, place)
    os.lseek(handle, place, os.SEEK_SET)
    return os.read(handle, size)


def write_at(handle: int, text: bytes, place: int) -> None:
    """Write all bytes at an offset."""
    while text:
        if hasattr(os, "pwrite"):
            count = os.pwrite(handle, text, place)
        else:
            os.lseek(handle, place, os.SEEK_SET)
            count = os.write(handle, text)
        text, place = text[count:], place + count


def cut(handle: int, size: int) -> None:
    """Shorten a file to a number of bytes."""
    os.ftruncate(handle, size)


def sync(handle: int) -> None:
    """Wait until everything written is on disk."""
    if hasattr(fcntl, "F_FULLFSYNC"):  # macOS, where fsync stops at the disk's own cache
        assert fcntl is not None
        try:
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
        except OSError:  # a network share, which has only this
            os.fsync(handle)
    elif hasattr(os, "fdatasync"):
        os.fdatasync(handle)
    else:
        os.fsync(handle)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on disk; Windows cannot open folders, and its NTFS logs names itself."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
