"""Convex costs of one number each, known only by their values: what none of them is below."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from utmost.exact.arrays import Floats

NEARBY = 1e-7
"""How far from a start others are tried: wide enough to see a slope through rounding, narrow enough to lose little."""
ROUNDING = 1e-14
"""How far off a computed cost may be, relative to it and to its unit."""


def least_costs(costs: Callable[[Floats], Floats], starts: Floats, unit: float) -> Floats:
    """For each convex cost on [0, 1] a number it is nowhere below, from five starts around the one given.

    With p0 < p1 < p2 < p3 a step h apart, a convex cost G is above the line through p1 and p2 beyond p2, and between p1
    and p2 above the line through p2 and p3. Within two steps of an end it is above the line from the other side. All
    differences are taken with their rounding against us.
    """
    h = NEARBY
    here = costs(starts)
    off = ROUNDING * (np.abs(here) + unit)
    least = here - off
    near = {side: costs(np.clip(starts + side * h, 0.0, 1.0)) for side in (-1, 1)}
    for side in (-1, 1):
        far = costs(np.clip(starts + 2 * side * h, 0.0, 1.0))
        inside = (starts + 2 * side * h >= 0) & (starts + 2 * side * h <= 1)
        beyond = near[side] - off + np.minimum((near[side] - here - 2 * off) / h, 0.0)  # at most 1 to the end
        between = near[side] - off - np.maximum(far - near[side] + 2 * off, 0.0)
        short = here - off - 2 * np.maximum(near[-side] - here + 2 * off, 0.0)
        least = np.minimum(least, np.where(inside, np.minimum(beyond, between), short))
    return np.asarray(least)
