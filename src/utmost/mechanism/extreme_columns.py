"""Extreme columns of pure mechanisms: e^(ε h), with h changing by 0 or 1 between neighbours.

The columns of a pure mechanism lie in a cone, x_a <= e^ε x_b for every two neighbours a and b; its extreme rays are
those for which the edges with equality connect all points. On a complete graph they are LIM's staircase patterns; a
party with several bits, or a record of several people, has others.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from utmost.errors import InvalidInput, TooLarge
from utmost.exact.arrays import Floats
from utmost.privacy import Level, as_level, require_pure
from utmost.space import Space

MOST_COLUMNS = 5000
"""The largest number of columns that is enumerated."""


def extreme_columns(
    space: Space, privacy: Level | float, seconds: float = math.inf, say: Callable[[str], Any] | None = None
) -> Floats:
    """All extreme columns of pure mechanisms, up to a factor: e^(ε h), one in each row, with largest entry 1.

    h changes by 0 or 1 between neighbours, and the edges at which it changes connect all points: every other column
    that satisfies the level is a sum of such ones.

    Parameters
    ----------
    space : Space
        The points and their adjacency.
    privacy : PureDP or number
        The level.
    seconds : float
        The time limit of the enumeration, which may take exponentially long; `TooLarge` states how far it came.
    say : callable, optional
        Called with a line of text now and then.

    Examples
    --------
    >>> import utmost as um
    >>> len(extreme_columns(um.complete(3), 1.0)), len(extreme_columns(um.hamming(2, 2), 1.0))
    (6, 6)
    """
    level, n = require_pure(as_level(privacy)), len(space.points)
    edges = space.edge_indices
    neighbours: list[list[int]] = [[] for _ in range(n)]
    for a, b in edges.tolist():
        neighbours[a].append(b)
        neighbours[b].append(a)
    height_functions: set[tuple[int, ...]] = set()
    stack = [(0, *[None] * (n - 1))] if n else []
    visited = set(stack)
    deadline, steps = time.monotonic() + seconds, 0
    while stack:  # assign a height to one more point, one above or below that of a neighbour
        heights = stack.pop()
        steps += 1
        if steps % 10_000 == 0:
            if say is not None:
                say(f"{len(height_functions)} extreme columns found, {len(stack)} beginnings to continue")
            if time.monotonic() > deadline:
                raise TooLarge(
                    f"the extreme columns of {n} points were not listed in {seconds:g} seconds "
                    f"({len(height_functions)} so far); use a smaller space, or allow more seconds."
                )
        if None not in heights:
            low = min(heights)  # type: ignore[type-var]
            height_functions.add(tuple(h - low for h in heights))  # type: ignore[operator]
            if len(height_functions) > MOST_COLUMNS:
                raise TooLarge(f"{n} points have more than {MOST_COLUMNS} extreme columns; use a smaller space.")
            continue
        for point in range(n):
            if heights[point] is not None:
                continue
            for height in {h + step for q in neighbours[point] if (h := heights[q]) is not None for step in (-1, 1)}:
                fits = all(heights[q] is None or abs(heights[q] - height) <= 1 for q in neighbours[point])  # type: ignore[operator]
                new = (*heights[:point], height, *heights[point + 1 :])
                if fits and new not in visited:
                    visited.add(new)
                    stack.append(new)
    raised = np.array(sorted(height_functions), dtype=float).reshape(len(height_functions), n)
    if not height_functions:
        raise InvalidInput("the points must hang together by neighbours; what has none is not protected.")
    return np.asarray(np.exp(level.log_growth * (raised - raised.max(axis=1, keepdims=True))))
