"""Columns that pure mechanisms are mixtures of: e^(ε h), h changing by 0 or 1 between neighbours.

The columns of a pure mechanism lie in a cone, x_a <= e^ε x_b for every two neighbours a and b; its extreme rays are
those at which so many of these hold with equality that the points hang together by them. Where every two letters are
neighbours they are LIM's staircase patterns; a party with several bits, or a record of several people, has others.
"""

from __future__ import annotations

import numpy as np

from utmost.errors import InvalidInput, TooLarge
from utmost.exact.arrays import Floats
from utmost.privacy import Level, as_level, require_pure
from utmost.space import Space

MOST_COLUMNS = 5000
"""How many are listed."""


def extreme_columns(space: Space, privacy: Level | float) -> Floats:
    """All columns that a pure mechanism may be a mixture of, up to a factor: e^(ε h), one in each row, largest entry 1.

    h changes by 0 or 1 between neighbours, and the edges at which it changes join all points: any other column that
    keeps the level is a sum of such ones.

    Examples
    --------
    >>> import utmost as um
    >>> len(extreme_columns(um.complete(3), 1.0)), len(extreme_columns(um.hamming(2, 2), 1.0))
    (6, 6)
    """
    level, n = require_pure(as_level(privacy)), len(space.points)
    edges = space.edge_indices
    near: list[list[int]] = [[] for _ in range(n)]
    for a, b in edges.tolist():
        near[a].append(b)
        near[b].append(a)
    found: set[tuple[int, ...]] = set()
    stack = [(0, *[None] * (n - 1))] if n else []
    seen = set(stack)
    while stack:  # give one more point, next to one that has a height, a height one above or below it
        heights = stack.pop()
        if None not in heights:
            low = min(heights)  # type: ignore[type-var]
            found.add(tuple(h - low for h in heights))  # type: ignore[operator]
            if len(found) > MOST_COLUMNS:
                raise TooLarge(f"{n} points have more than {MOST_COLUMNS} extreme columns; use a smaller space.")
            continue
        for point in range(n):
            if heights[point] is not None:
                continue
            for height in {h + step for q in near[point] if (h := heights[q]) is not None for step in (-1, 1)}:
                fits = all(heights[q] is None or abs(heights[q] - height) <= 1 for q in near[point])  # type: ignore[operator]
                new = (*heights[:point], height, *heights[point + 1 :])
                if fits and new not in seen:
                    seen.add(new)
                    stack.append(new)
    raised = np.array(sorted(found), dtype=float).reshape(len(found), n)
    if not found:
        raise InvalidInput("the points must hang together by neighbours; what has none is not protected.")
    return np.asarray(np.exp(level.log_growth * (raised - raised.max(axis=1, keepdims=True))))
