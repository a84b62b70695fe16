"""Settings of the embedded engine: memory, threads, and the folder to which it spills rows that do not fit."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utmost.errors import InvalidInput, shown
from utmost.messages import Argument, Call, Name

UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
LEAST_MEMORY = 128 * 10**6
"""With less than 80 MB, DuckDB cannot hold the two buffers that it reads a CSV file into."""
LEAST_EACH = 32 * 10**6
"""Bytes of memory that every thread needs."""


@dataclass(frozen=True)
class Engine:
    """Settings of DuckDB. Made by `um.engine`.

    Attributes
    ----------
    memory : int, optional
        Memory limit in bytes; None for 80 % of the machine's memory.
    threads : int, optional
        Number of threads; None for as many as the machine has.
    spill : str, optional
        The folder in which DuckDB makes its own, for rows that do not fit into memory; None for the system's temporary
        folder.
    """

    memory: int | None = None
    threads: int | None = None
    spill: str | None = None


def engine(memory: str | int | None = None, threads: int | None = None, spill: Any = None) -> Engine:
    """Settings of the embedded engine, for tables larger than memory and for shared machines.

    Parameters
    ----------
    memory : str or int, optional
        Memory limit of DuckDB, such as "4GB" or "1500 MiB", or a number of bytes; at least 128 MB, and 32 MB for each
        thread. Rows that do not fit are written to `spill`. The default is 80 % of the machine's memory.
    threads : int, optional
        Number of threads; by default as many as the machine has.
    spill : path, optional
        An existing folder, on a disk with room for the table; by default the system's temporary folder. The engine
        makes a folder of its own there that nobody else can read (0700) and that is deleted when the process ends. A
        CSV file is converted to Parquet in it.

    Returns
    -------
    Engine
        For `um.Session(..., engine=...)`. It applies to files and frames, which DuckDB reads; tables in a database or
        in Spark have an engine of their own.

    Examples
    --------
    >>> import utmost as um
    >>> um.engine(memory="4GB", threads=4)
    Engine(memory=4000000000, threads=4, spill=None)
    """
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= 1024):
        raise InvalidInput(Name("threads"), f" is {shown(threads)}; give how many the engine may use, from 1 to 1024.")
    least = max(LEAST_MEMORY, LEAST_EACH * (threads or 1))
    size = None if memory is None else _bytes(memory)
    if size is not None and size < least:
        raise InvalidInput(
            Name("memory"),
            f" is {shown(memory)}; with less than {least // 10**6} MB the engine may fail at any question, after "
            "the spend; give more, or fewer threads.",
        )
    return Engine(size, threads, None if spill is None else _folder(spill))


def require_room(engine: Engine, file: Path) -> None:
    """Refuse a file above the memory limit if the disk has no room to spill: a query would fail after its spend."""
    try:
        size = file.stat().st_size
        disk = os.statvfs(engine.spill or tempfile.gettempdir())
    except OSError:
        return
    room = disk.f_bavail * disk.f_frsize
    if engine.memory is not None and size > engine.memory and room < size:
        raise InvalidInput(
            f"the file has {size // 10**6} MB, the engine may take {engine.memory // 10**6} MB of memory, and where "
            f"rows are put meanwhile {room // 10**6} MB are free: a question may fail after its spend. Name another "
            "folder as ",
            Argument("spill"),
            ", or allow more memory.",
        )


def require_room_for(size: int, folder: str) -> None:
    """Refuse to convert a CSV file that does not fit on the disk: the query would fail after its spend."""
    try:
        room = shutil.disk_usage(folder).free
    except OSError:
        return
    if size > room:
        raise InvalidInput(
            "the rows of the CSV file are converted when they are first read, which may take "
            f"{size // 10**6} MB where {room // 10**6} MB are free; name a folder on another disk: ",
            Argument("engine", Call("um.engine", spill=...)),
            ".",
        )


def _bytes(memory: Any) -> int:
    if isinstance(memory, int) and not isinstance(memory, bool):
        return memory
    text = memory if isinstance(memory, str) and len(memory) <= 40 else ""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]i?B)\s*", text, re.IGNORECASE)
    if match is None:
        raise InvalidInput(
            Name("memory"), f" is {shown(memory)}; say it as '4GB' or '1500 MiB', or as a number of bytes."
        )
    return int(float(match[1]) * UNITS[match[2].upper()])


def _folder(spill: Any) -> str:
    try:
        folder = Path(spill)
        fits = folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
    except (TypeError, ValueError, OSError):
        fits = False
    if not fits:
        raise InvalidInput(Name("spill"), f" is {shown(spill)}; name a folder that exists and can be written to.")
    return str(folder.resolve())
