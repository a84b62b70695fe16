"""The file of a collector, with atomic appends.

A line that cannot be written whole is removed again. A partial line that a killed process or a failed disk leaves at
the end is moved to a file beside it, FILE.torn, with a warning in the log; every whole line stays.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

from utmost.errors import NotKept
from utmost.exact.files import try_lock
from utmost.exact.json_text import parse_json
from utmost.exact.saved import NONSENSE

log = logging.getLogger("utmost.survey")
HEAD, DAY = b'{"day":"', len("2026-01-01")
"""The beginning of a line, and the length of the day after it."""


@contextmanager
def locked(file: Path) -> Iterator[FileIO]:
    """Open and lock the file for reading and appending; errors of the disk are raised as `NotKept`."""
    try:
        with file.open("ab+", buffering=0) as stream:
            _lock(stream)
            yield stream
    except OSError as problem:
        raise NotKept(
            f"the response was not taken: {file} cannot be written ({problem.strerror or problem}); send it again "
            "when the disk has room and the file may be written."
        ) from None


def append(stream: FileIO, line: bytes) -> None:
    """Append a line and sync it to disk; after an error nothing of it stays."""
    end, remaining = stream.seek(0, os.SEEK_END), line
    try:
        while remaining:  # a disk that is nearly full takes a part
            remaining = remaining[stream.write(remaining) or 0 :]
        os.fsync(stream.fileno())
    except OSError:
        with suppress(OSError):  # else the next process finds the partial line and moves it away
            stream.truncate(end)
        raise


def read_lines(stream: FileIO, file: Path, start: int, form: str) -> list[bytes]:
    """The whole lines from an offset on; a missing final newline is added, and a partial last line is moved away.

    Parameters
    ----------
    stream : FileIO
        The locked file.
    file : Path
        Its path.
    start : int
        The offset of the beginning of a line.
    form : str
        The form's identity as in lines, by which a partial line is recognised.
    """
    stream.seek(start)
    text = stream.readall() or b""
    whole, tail = split_torn(text, form)
    if tail:
        _set_aside(stream, file, start + len(whole), tail)
    elif whole.strip() and not whole.endswith(b"\n"):
        append(stream, b"\n")
        whole += b"\n"
    return whole.splitlines(keepends=True)


def split_torn(text: bytes, form: str) -> tuple[bytes, bytes]:
    r"""Split off the last line of a text if it is the beginning of a collector's line.

    Examples
    --------
    >>> split_torn(b'{"day":"2026-01-01","form":"0a","receipt":"1"}\n{"day":"2026-0', "0a")
    (b'{"day":"2026-01-01","form":"0a","receipt":"1"}\n', b'{"day":"2026-0')
    >>> split_torn(b"somebody's notes", "0a")
    (b"somebody's notes", b'')
    """
    place = text.rfind(b"\n") + 1
    tail = text[place:]
    content = tail.rstrip(b"\0")  # a file system may leave zeros in space that was allocated and not written
    expected = HEAD + content[len(HEAD) : len(HEAD) + DAY] + f'","form":"{form}"'.encode()
    is_ours = expected.startswith(content) or content.startswith(expected)
    if not tail.strip() or not is_ours or _is_json(tail):
        return text, b""
    return text[:place], tail


def _is_json(text: bytes) -> bool:
    try:
        parse_json(text)
    except NONSENSE:
        return False
    return True


def _set_aside(stream: FileIO, file: Path, place: int, tail: bytes) -> None:
    """Move the end of a file to FILE.torn, by copying it first, so that nothing is lost."""
    torn_file = file.with_name(f"{file.name}.torn")
    torn_file.touch(mode=0o600)
    with torn_file.open("ab", buffering=0) as target:
        append(target, tail + b"\n")
    stream.truncate(place)
    os.fsync(stream.fileno())
    log.warning(
        "the last line of %s was cut short; its %d bytes are set aside in %s, and every whole response is kept",
        *(file, len(tail), torn_file),
    )


def _lock(stream: FileIO) -> None:
    """Wait for the exclusive lock."""
    while not try_lock(stream.fileno()):
        time.sleep(0.005)
