"""The name and fingerprint of a session's table, by which the ledger notices a different one.

They contain public data only: where the table is, and the names and types of its columns. User name and password in an
address are left out.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from utmost.accounting.entries import TableMark
from utmost.backends.source import Source


def mark_of(table: Any, source: Source) -> TableMark:
    """The mark of an opened table.

    Parameters
    ----------
    table : path, str or frame
        The table as given to the session.
    source : Source
        The opened table.
    """
    name, place = _named(table)
    content = json.dumps([place, source.fingerprint]).encode()
    return TableMark(name, hashlib.sha256(content).hexdigest()[:32])


def _named(table: Any) -> tuple[str, str]:
    """The name of a table, and its location; a frame has none."""
    if not isinstance(table, str | Path):
        kind = f"a {type(table).__module__.partition('.')[0]} {type(table).__name__}"
        return kind, kind
    text = str(table)
    if "://" in text:
        address = urlsplit(text)
        host = address.netloc.rpartition("@")[2]
        inside = address.fragment or address.path.strip("/")
        return inside or host, f"{address.scheme}://{host}{address.path}#{address.fragment}"
    file, hash_sign, inside = text.partition("#")
    return Path(file).name + hash_sign + inside, str(Path(file).resolve()) + hash_sign + inside
