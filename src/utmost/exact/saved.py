"""Saved files: canonical JSON with a format, a version and a checksum, written atomically.

The same content gives the same bytes. Files are not trusted when read: one that was changed, truncated or is of another
version is a `BadFile`.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from utmost.errors import BadFile, InvalidInput
from utmost.exact.json_text import parse_json

NONSENSE = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
"""The exceptions that data of the wrong kind or size raise; a file may hold anything."""


def write_checked(path: str | os.PathLike[str], content: dict[str, Any], anew: bool = False) -> Path:
    """Write an object with its checksum as one JSON file, atomically.

    With `anew`, an existing file is never replaced: `FileExistsError`, also if two processes write at once.
    """
    target = Path(path)
    sealed = {**content, "sha256": hashlib.sha256(canonical(content)).hexdigest()}
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as problem:
        raise InvalidInput(f"{target} cannot be written: {problem.strerror or problem}; name another file.") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(canonical(sealed))
        if anew:
            os.link(name, target)  # unlike a rename, it never replaces one
        else:
            os.replace(name, target)
    finally:
        Path(name).unlink(missing_ok=True)
    return target


def read_checked(path: str | os.PathLike[str], form: str, version: int, what: str) -> dict[str, Any]:
    """The object that `write_checked` wrote, of this format and version; `what` names it in errors."""
    source = Path(path)
    try:
        content = parse_json(source.read_bytes())
    except OSError as problem:
        raise BadFile(f"{source} cannot be read: {problem.strerror or problem}.") from None
    except InvalidInput as problem:
        raise BadFile(f"{source} cannot be used: {problem} Save the {what} again.") from None
    except NONSENSE:
        raise BadFile(
            f"{source} is not JSON: no saved {what}, or one that was cut short. Save the {what} again."
        ) from None
    if not isinstance(content, dict) or content.get("format") != form:
        raise BadFile(f"{source} is not a {what} saved by Utmost (no format {form!r}).")
    if content.get("version") != version:
        raise BadFile(f"{source} has version {content.get('version')!r}; this Utmost reads version {version}.")
    stated_checksum = content.pop("sha256", None)
    if not isinstance(stated_checksum, str):
        raise BadFile(f"{source} has no checksum (sha256): it was not saved by Utmost. Save the {what} again.")
    try:
        checksum = hashlib.sha256(canonical(content)).hexdigest()
    except NONSENSE:  # text that UTF-8 does not have, such as half of a surrogate pair, or a number such as 1e999
        raise BadFile(f"{source} holds text or a number that Utmost never writes. Save the {what} again.") from None
    if stated_checksum != checksum:
        raise BadFile(f"{source} does not match its checksum: it was changed after it was saved.")
    return content


def format_of(path: str | os.PathLike[str]) -> str | None:
    """The format that a file states, before any of it is trusted; None if it states none."""
    try:
        content = parse_json(Path(path).read_bytes())
    except (OSError, *NONSENSE):
        return None
    first = content[0] if isinstance(content, list) and content else content  # a report may hold several answers
    form = first.get("format") if isinstance(first, dict) else None
    return form if isinstance(form, str) else None


def canonical(content: Any) -> bytes:
    """The bytes of a file: the canonical text and a newline."""
    return canonical_text(content).encode() + b"\n"


canonical_text = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
"""Encode an object as canonical JSON: sorted names, no spaces, no NaN."""

GENERATOR = '<meta name="generator" content="Utmost">'
"""The mark near the beginning of every page that Utmost writes."""


def require_ours(file: Path, mark: str = GENERATOR) -> None:
    """Refuse to replace a file that Utmost did not write; empty files may be replaced.

    Parameters
    ----------
    file : Path
        The file to be written; it need not exist.
    mark : str, optional
        The text by which the beginning of our files is recognised.
    """
    if not file.exists():
        return
    if file.is_file():
        with file.open("rb") as there:
            start = there.read(1000)
        if not start or mark.encode() in start:
            return
    raise InvalidInput(f"{file} is there already and not of Utmost; move it away, or name another place.")


def state_folder(kind: str) -> Path:
    """The folder for the state of the current user, readable by the user alone.

    It is in UTMOST_STATE, or in `utmost` within the user's state directory (on Windows, that of local data).
    """
    try:
        home = os.environ.get("XDG_STATE_HOME") or os.environ.get("LOCALAPPDATA") or Path.home() / ".local" / "state"
        folder = Path(os.environ.get("UTMOST_STATE") or Path(home) / "utmost") / kind
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError) as problem:
        raise InvalidInput(f"there is no folder to keep it in ({problem}); set UTMOST_STATE to one.") from None
    return folder
