"""On-disk cache of optimised strategies, re-verified when loaded.

A strategy takes up to seconds to optimise and milliseconds to verify. Nothing in a file is trusted: the solution is
restated from its mechanism and verified; a file that is damaged, of another version or for another question counts as
missing. The cache never fails: where nothing can be written, strategies are optimised again.
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
"""Version of the designs: raising it invalidates the strategies that older ones cached."""
MOST_FILES = 500
"""How many strategies are cached; the oldest are deleted first."""


def cached_strategy(
    parameters: dict[str, Any], make: Callable[[], Solution], state: Callable[[Solution], Solution]
) -> Solution:
    """The cached strategy for public parameters if it verifies, else a new one, which is cached.

    Parameters
    ----------
    parameters : dict
        Everything that the strategy depends on, as plain data.
    make : callable
        Optimises a strategy.
    state : callable
        Makes a new solution for these parameters from the mechanism of a loaded one, recomputing value, bound and
        words; raises an `UtmostError` if it is for others.
    """
    name = hashlib.sha256(canonical({**parameters, "version": VERSION})).hexdigest()[:40]
    folder = cache_folder()
    file = folder / f"{name}.json" if folder is not None else None
    if file is not None and file.is_file():
        with suppress(UtmostError):
            cached = state(Solution.load(file))
            if cached.verify():
                return cached
    solution = make()
    if file is not None:
        with suppress(UtmostError, OSError):
            solution.save(file)
            _drop_oldest(file.parent)
    return solution


def cache_folder() -> Path | None:
    """The cache folder of this user: in UTMOST_STATE, or among the user's cached files.

    None if there can be none.
    """
    try:
        cached = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(os.environ.get("UTMOST_STATE") or Path(cached) / "utmost") / "strategies"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return folder


def _drop_oldest(folder: Path) -> None:
    files = list(folder.glob("*.json"))
    if len(files) > MOST_FILES:
        for file in sorted(files, key=lambda path: path.stat().st_mtime)[: len(files) - MOST_FILES]:
            file.unlink(missing_ok=True)
