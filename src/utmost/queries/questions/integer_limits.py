"""The range of released integers: clamping to it, and whether a released integer is near an end of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utmost.queries.groups import LARGEST
from utmost.space.integers import Lattice


def is_near_end(numbers: Sequence[Sequence[int]], half_width: int, space: Lattice) -> bool:
    """Whether a released integer of any list is within `half_width` (the half width of noise) of a clamping end."""
    if space.lower is None or space.upper is None:
        return False
    largest, smallest = max(max(part, default=0) for part in numbers), min(min(part, default=0) for part in numbers)
    return bool(largest + half_width >= space.upper or (space.lower < 0 and smallest - half_width <= space.lower))


def clip_to(integers: NDArray[Any], space: Lattice) -> NDArray[Any]:
    """Clamp integers to their space; those of 64 bits also to the range that leaves room for noise."""
    is_bounded, is_wide = space.lower is not None and space.upper is not None, integers.dtype == object
    if is_wide:
        return np.asarray(np.clip(integers, space.lower, space.upper)) if is_bounded else integers
    low, high = (max(space.lower, -LARGEST), min(space.upper, LARGEST)) if is_bounded else (-LARGEST, LARGEST)
    return np.asarray(np.clip(integers, low, high))
