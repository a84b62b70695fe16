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
from typing import Any, NamedTuple

import numpy as np

from utmost.errors import UtmostError
from utmost.mechanism import loss_table
from utmost.privacy import Level
from utmost.solution import Solution
from utmost.space import Space


class Wanted(NamedTuple):
    """The problem a cached solution must be for."""

    space: Space
    level: Level
    prior: Any
    loss: str


def cached(key: Mapping[str, Any], problem: Wanted, make: Callable[[], Solution]) -> Solution:
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


def _is_for(found: Solution, wanted: Wanted) -> bool:
    """Whether a solution from a file answers this problem: same space, level, prior and loss."""
    asked, data = found.problem, found.problem.data
    same = asked.space == wanted.space and asked.privacy.single == wanted.level
    same = same and np.array_equal(np.asarray(data.get("prior")), wanted.prior)
    if asked.question == "finite.regular":
        return bool(same and wanted.loss == "zero-one")
    table = loss_table(wanted.loss, wanted.space.points, wanted.space.points)
    average = asked.question == "finite.optimal" and data.get("criterion") == "average"
    return bool(same and average and np.array_equal(np.asarray(data.get("loss")), table))
