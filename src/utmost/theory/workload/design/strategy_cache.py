"""Strategies that were found before, kept on disk by their public parameters, and proved again when they are read.

A strategy takes up to seconds to find and milliseconds to prove. Nothing in a file is believed: what was found is
stated anew from its mechanism, and verified; a file that is damaged, of another version or for another question is as
good as none. Nothing here ever fails: where nothing can be kept, strategies are found again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from utmost.errors import UtmostError
from utmost.exact.saved import canonical
from utmost.solution import Solution

VERSION = 3
"""Of what is looked for: with another one, what older designs found is found anew."""
MOST_KEPT = 500
"""How many strategies are kept; the oldest go first."""


def kept(parameters: dict[str, Any], make: Callable[[], Solution], state: Callable[[Solution], Solution]) -> Solution:
    """A strategy for public parameters: the one that is kept, if it proves itself, or a new one, which is kept.

    Parameters
    ----------
    parameters : dict
        Everything that the strategy depends on, as plain data.
    make : function
        Finds a strategy.
    state : function
        From a solution that was read, a solution for these parameters of the same mechanism, its value, bound and words
        stated anew; an error of ours if it is for others.
    """
    name = hashlib.sha256(canonical({**parameters, "version": VERSION})).hexdigest()[:40]
    folder = kept_in()
    file = folder / f"{name}.json" if folder is not None else None
    if file is not None and file.is_file():
        with suppress(UtmostError):
            found = state(Solution.load(file))
            if found.verify():
                return found
    made = make()
    if file is not None:
        with suppress(UtmostError, OSError):
            made.save(file)
            _keep_few(file.parent)
    return made


def kept_in() -> Path | None:
    """The folder of kept strategies, for this user alone: in UTMOST_STATE, or among the user's cached files.

    None where there can be none.
    """
    try:
        cached = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(os.environ.get("UTMOST_STATE") or Path(cached) / "utmost") / "strategies"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return folder


def _keep_few(folder: Path) -> None:
    files = list(folder.glob("*.json"))
    if len(files) > MOST_KEPT:
        for file in sorted(files, key=lambda each: each.stat().st_mtime)[: len(files) - MOST_KEPT]:
            file.unlink(missing_ok=True)
