"""Designs that took time are kept on disk, found again by their public parameters, and proved again when loaded.

The folder is `UTMOST_CACHE`, or `utmost/designs` in the user's cache; `UTMOST_CACHE=off` keeps nothing. Nothing about a
table is ever in it: a design knows only the space, the level, the prior and the loss.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from utmost.errors import UtmostError
from utmost.solution import Solution


def cached(key: Mapping[str, Any], problem: Mapping[str, Any], make: Callable[[], Solution]) -> Solution:
    """The solution kept under a key of plain public data, if it is for this problem and proves itself, or a new one."""
    folder = cache_folder()
    if folder is None:
        return make()
    name = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
    file = folder / f"{name}.json"
    try:
        found = Solution.load(file)
        if _is_for(found, problem) and found.verify():
            return found
    except UtmostError:
        pass
    solution = make()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        solution.save(file)
    except OSError:  # a cache that cannot be written is no reason to fail
        pass
    return solution


def cache_folder() -> Path | None:
    """Where designs are kept; None for nowhere."""
    chosen = os.environ.get("UTMOST_CACHE")
    if chosen == "off":
        return None
    return (
        Path(chosen)
        if chosen
        else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "utmost" / "designs"
    )


def _is_for(found: Solution, problem: Mapping[str, Any]) -> bool:
    """Whether a solution from a file answers this problem: same space, same level, same numbers."""
    same_space = found.problem.space == problem["space"]
    same_level = found.problem.privacy.single == problem["level"]
    return bool(
        same_space
        and same_level
        and all(
            np.array_equal(np.asarray(found.problem.data.get(name)), value) for name, value in problem["data"].items()
        )
    )
