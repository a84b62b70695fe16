"""Settings of the embedded engine: how much memory and how many threads, and where rows go that do not fit."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from utmost.errors import InvalidInput, shown

UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
LEAST_MEMORY = 128 * 10**6
"""With less than 80 MB, DuckDB cannot hold the two buffers that it reads a CSV file into."""
LEAST_EACH = 32 * 10**6
"""What every thread needs."""


@dataclass(frozen=True)
class Engine:
    """How DuckDB runs. Made by `um.engine`.

    Attributes
    ----------
    memory : how many bytes it may take; None for 80 % of the machine's
    threads : how many it may use; None for as many as there are
    spill : the folder in which it makes its own, for rows that do not fit into memory; None for the system's
    """

    memory: int | None = None
    threads: int | None = None
    spill: str | None = None


def engine(memory: str | int | None = None, threads: int | None = None, spill: Any = None) -> Engine:
    """How the embedded engine runs: for tables that do not fit into memory, and machines that others use, too.

    Parameters
    ----------
    memory : str or int, optional
        How much memory DuckDB may take, such as "4GB" or "1500 MiB", or a number of bytes; at least 128 MB, and 32
        MB for each thread. What does not fit is written to `spill` meanwhile. 80 % of the machine's without it.
    threads : int, optional
        How many threads it may use; as many as the machine has without it.
    spill : path, optional
        A folder that exists, on a disk with room for the table. In it the engine makes a folder of its own that nobody
        else can look into (0700), which is deleted when the process ends; a CSV file is converted to Parquet there. The
        system's temporary folder without it.

    Returns
    -------
    Engine
        For `um.Session(..., engine=...)`: of files and frames, which DuckDB reads here; other tables bring their own.

    Examples
    --------
    >>> import utmost as um
    >>> um.engine(memory="4GB", threads=4)
    Engine(memory=4000000000, threads=4, spill=None)
    """
    if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= 1024):
        raise InvalidInput(f"threads is {shown(threads)}; give how many the engine may use, from 1 to 1024.")
    least = max(LEAST_MEMORY, LEAST_EACH * (threads or 1))
    size = None if memory is None else _bytes(memory)
    if size is not None and size < least:
        raise InvalidInput(
            f"memory is {shown(memory)}; with less than {least // 10**6} MB the engine may fail at any question, after "
            "the spend; give more, or fewer threads."
        )
    return Engine(size, threads, None if spill is None else _folder(spill))


def require_room(engine: Engine, file: Path) -> None:
    """Refuse a file larger than the memory it may take where the disk has no room for the rest: it would fail later."""
    try:
        size = file.stat().st_size
        left = os.statvfs(engine.spill or tempfile.gettempdir())
    except OSError:
        return
    room = left.f_bavail * left.f_frsize
    if engine.memory is not None and size > engine.memory and room < size:
        raise InvalidInput(
            f"the file has {size // 10**6} MB, the engine may take {engine.memory // 10**6} MB of memory, and where "
            f"rows are put meanwhile {room // 10**6} MB are free: a question may fail after its spend. Name another "
            "folder as spill=, or allow more memory."
        )


def require_room_for(size: int, folder: str) -> None:
    """Refuse a question about a CSV file where its rows, converted, do not fit on the disk: it would fail later."""
    try:
        room = shutil.disk_usage(folder).free
    except OSError:
        return
    if size > room:
        raise InvalidInput(
            f"the rows of the CSV file are converted when they are first read, which may take {size // 10**6} MB where "
            f"{room // 10**6} MB are free; name a folder on another disk: engine=um.engine(spill=...)."
        )


def _bytes(memory: Any) -> int:
    if isinstance(memory, int) and not isinstance(memory, bool):
        return memory
    said = memory if isinstance(memory, str) and len(memory) <= 40 else ""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]i?B)\s*", said, re.IGNORECASE)
    if found is None:
        raise InvalidInput(f"memory is {shown(memory)}; say it as '4GB' or '1500 MiB', or as a number of bytes.")
    return int(float(found[1]) * UNITS[found[2].upper()])


def _folder(spill: Any) -> str:
    try:
        folder = Path(spill)
        fits = folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
    except (TypeError, ValueError, OSError):
        fits = False
    if not fits:
        raise InvalidInput(f"spill is {shown(spill)}; name a folder that exists and can be written to.")
    return str(folder.resolve())
