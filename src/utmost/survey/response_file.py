"""The file of a collector: whole lines or nothing, whatever happens to the disk or the process meanwhile.

A line that cannot be written whole is taken back. What a killed process or a lost disk still leaves at the end, the
beginning of a line, is set aside in a file beside it, FILE.torn, and said in the log; every whole line stays.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

from utmost.errors import NotKept
from utmost.exact.json_text import parse_json
from utmost.exact.saved import NONSENSE

log = logging.getLogger("utmost.survey")
HEAD, DAY = b'{"day":"', len("2026-01-01")
"""How a line begins, and how long the day is that follows."""


@contextmanager
def locked(file: Path) -> Iterator[FileIO]:
    """The file, to be read and appended to by nobody else meanwhile; what the disk refuses is `NotKept`."""
    try:
        with file.open("ab+", buffering=0) as opened:
            _lock(opened)
            yield opened
    except OSError as problem:
        raise NotKept(
            f"the response was not taken: {file} cannot be written ({problem.strerror or problem}); send it again "
            "when the disk has room and the file may be written."
        ) from None


def append(opened: FileIO, line: bytes) -> None:
    """Append a line that is on the disk when this returns; with an error, nothing of it stays."""
    end, rest = opened.seek(0, os.SEEK_END), line
    try:
        while rest:  # a disk that is nearly full takes a part
            rest = rest[opened.write(rest) or 0 :]
        os.fsync(opened.fileno())
    except OSError:
        with suppress(OSError):  # else the next one finds what is left, and sets it aside
            opened.truncate(end)
        raise


def read_lines(opened: FileIO, file: Path, start: int, form: str) -> list[bytes]:
    """The lines from a place on, all whole: a last one that lacks only its end gets it, one cut short is set aside.

    Parameters
    ----------
    opened : the file, locked
    file : its name
    start : where a line begins
    form : the identity of the form as lines have it, by which a line that was cut short is known as one of ours
    """
    opened.seek(start)
    text = opened.readall() or b""
    whole, tail = split_torn(text, form)
    if tail:
        _set_aside(opened, file, start + len(whole), tail)
    elif whole.strip() and not whole.endswith(b"\n"):
        append(opened, b"\n")
        whole += b"\n"
    return whole.splitlines(keepends=True)


def split_torn(text: bytes, form: str) -> tuple[bytes, bytes]:
    r"""A text without its last line if that is the beginning of a collector's line, and that beginning.

    Examples
    --------
    >>> split_torn(b'{"day":"2026-01-01","form":"0a","receipt":"1"}\n{"day":"2026-0', "0a")
    (b'{"day":"2026-01-01","form":"0a","receipt":"1"}\n', b'{"day":"2026-0')
    >>> split_torn(b"somebody's notes", "0a")
    (b"somebody's notes", b'')
    """
    place = text.rfind(b"\n") + 1
    tail = text[place:]
    written = tail.rstrip(b"\0")  # what a file system leaves that had made room and not yet written
    usual = HEAD + written[len(HEAD) : len(HEAD) + DAY] + f'","form":"{form}"'.encode()
    is_ours = usual.startswith(written) or written.startswith(usual)
    if not tail.strip() or not is_ours or _is_json(tail):
        return text, b""
    return text[:place], tail


def _is_json(text: bytes) -> bool:
    try:
        parse_json(text)
    except NONSENSE:
        return False
    return True


def _set_aside(opened: FileIO, file: Path, place: int, tail: bytes) -> None:
    """Move the end of a file to FILE.torn: copied first, so that nothing is ever lost."""
    beside = file.with_name(f"{file.name}.torn")
    beside.touch(mode=0o600)
    with beside.open("ab", buffering=0) as aside:
        append(aside, tail + b"\n")
    opened.truncate(place)
    os.fsync(opened.fileno())
    log.warning(
        "the last line of %s was cut short; its %d bytes are set aside in %s, and every whole response is kept",
        *(file, len(tail), beside),
    )


def _lock(opened: FileIO) -> None:
    """Wait until no other process appends; where the system has no such locks, one process must do."""
    try:
        import fcntl
    except ImportError:
        return
    fcntl.flock(opened.fileno(), fcntl.LOCK_EX)
