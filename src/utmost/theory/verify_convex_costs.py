"""Rigorous lower bounds on convex functions of one variable that are known only by their values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from utmost.exact.arrays import Floats

NEARBY = 1e-7
"""The step between evaluation points: wide enough to see a slope through rounding, narrow enough to lose little."""
ROUNDING = 1e-14
"""The largest error of a computed cost, relative to it and to its unit."""


def least_costs(costs: Callable[[Floats], Floats], starts: Floats, unit: float) -> Floats:
    """For each convex cost on [0, 1] a lower bound, from its values at five points around the given start.

    With p0 < p1 < p2 < p3 a step h apart, a convex cost G is above the line through p1 and p2 beyond p2, and between p1
    and p2 above the line through p2 and p3. Within two steps of an end it is above the line from the other side. All
    differences are rounded towards the weaker bound.
    """
    h = NEARBY
    here = costs(starts)
    error = ROUNDING * (np.abs(here) + unit)
    least = here - error
    neighbours = {side: costs(np.clip(starts + side * h, 0.0, 1.0)) for side in (-1, 1)}
    for side in (-1, 1):
        two_steps = costs(np.clip(starts + 2 * side * h, 0.0, 1.0))
        inside = (starts + 2 * side * h >= 0) & (starts + 2 * side * h <= 1)
        beyond = (
            neighbours[side] - error + np.minimum((neighbours[side] - here - 2 * error) / h, 0.0)
        )  # at most 1 to the end
        between = neighbours[side] - error - np.maximum(two_steps - neighbours[side] + 2 * error, 0.0)
        short = here - error - 2 * np.maximum(neighbours[-side] - here + 2 * error, 0.0)
        least = np.minimum(least, np.where(inside, np.minimum(beyond, between), short))
    return np.asarray(least)
