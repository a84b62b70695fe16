"""Makes the `os` of a new process like that of Windows, as far as files are concerned, by `take_posix_away`.

Modules and functions of POSIX alone are gone for Utmost (the standard library and filelock have loaded theirs). A file
that is open can be neither removed, renamed nor replaced, a folder cannot be opened, and the first byte of a file is
not read by others while it is locked, as `LockFileEx` has it. The encoding of files and consoles is set by the
environment of the process: PYTHONUTF8=0 and PYTHONIOENCODING=cp1252.
"""

import asyncio
import ctypes  # noqa: F401
import logging.handlers  # noqa: F401
import os
import shutil  # noqa: F401
import subprocess  # noqa: F401
import sys
import tempfile  # noqa: F401

import filelock

asyncio.new_event_loop().close()  # loads what it needs of the system

POSIX = ("fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty")
GONE = ("fchmod", "fdatasync", "fork", "geteuid", "getuid", "killpg", "pread", "pwrite", "O_DIRECTORY", "O_NOFOLLOW")
opened: set[int] = set()
"""The handles that were opened with `os.open`; others may have closed them since."""
locked: dict[int, tuple[int, int]] = {}
"""The handles with a lock, and the files they belong to."""
real = {name: getattr(os, name) for name in ("open", "read", "unlink", "remove", "rename", "replace", "lseek")}


def identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def open_file(path, flags, *how, **options):
    if os.path.isdir(path):
        raise PermissionError(13, "Permission denied", str(path))
    handle = real["open"](path, flags, *how, **options)
    opened.add(handle)
    return handle


def read(handle, size):
    if real["lseek"](handle, 0, os.SEEK_CUR) == 0 and identity(os.fstat(handle)) in (
        file for other, file in locked.items() if other != handle
    ):
        raise PermissionError(13, "Permission denied")
    return real["read"](handle, size)


def is_open(path) -> bool:
    for handle in tuple(opened):
        try:
            if identity(os.fstat(handle)) == identity(os.stat(path)):
                return True
        except FileNotFoundError:
            return False
        except OSError:  # closed since
            opened.discard(handle)
    return False


def guarded(name):
    def work(path, *others, **options):
        if any(is_open(file) for file in (path, *others)):
            raise PermissionError(32, "The process cannot access the file because it is being used", str(path))
        if name == "rename" and os.path.exists(others[0]):
            raise FileExistsError(183, "Cannot create a file when that file already exists", str(path))
        return real[name](path, *others, **options)

    return work


lock, unlock = filelock.lock_descriptor, filelock.unlock_descriptor


def lock_descriptor(handle, **options):
    taken = lock(handle, **options)
    if taken:
        locked[handle] = identity(os.fstat(handle))
    return taken


def unlock_descriptor(handle):
    locked.pop(handle, None)
    unlock(handle)


def close(handle, real_close=os.close):
    locked.pop(handle, None)
    opened.discard(handle)
    real_close(handle)


def take_posix_away():
    """Change this process; there is no way back."""
    filelock.lock_descriptor, filelock.unlock_descriptor = lock_descriptor, unlock_descriptor
    os.open, os.read, os.close = open_file, read, close
    for name in ("unlink", "remove", "rename", "replace"):
        setattr(os, name, guarded(name))
    for name in POSIX:
        sys.modules[name] = None
    for name in GONE:
        if hasattr(os, name):
            delattr(os, name)
