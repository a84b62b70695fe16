"""The truncated geometric mechanism on a line of results (Ghosh, Roughgarden, Sundararajan 2012)."""

from __future__ import annotations

import numpy as np

from utmost.errors import InvalidInput
from utmost.mechanism import FiniteMechanism
from utmost.privacy import Level, as_level, require_pure


def geometric(n: int, privacy: Level | float) -> FiniteMechanism:
    """Two-sided geometric noise on 0..n-1, cut off at the ends: after the right remap, best for every count and user.

    Examples
    --------
    >>> geometric(3, 1.0).matrix.round(6)
    array([[0.731059, 0.170003, 0.098938],
           [0.268941, 0.462117, 0.268941],
           [0.098938, 0.170003, 0.731059]])
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise InvalidInput(f"n is {n!r}; give how many results there are, 1 or more.")
    if n == 1:
        return FiniteMechanism([[1.0]], range(1), range(1))
    epsilon = require_pure(as_level(privacy)).log_growth
    steps = np.abs(np.arange(n)[:, None] - np.arange(n))
    with np.errstate(invalid="ignore"):
        matrix = np.where(steps == 0, 1.0, np.exp(-epsilon * np.maximum(steps, 1))) * np.tanh(epsilon / 2)
    ends = np.where(steps[:, [0, -1]] == 0, 1.0, np.exp(-epsilon * np.maximum(steps[:, [0, -1]], 1)))
    matrix[:, [0, -1]] = ends / (1 + np.exp(-epsilon))
    return FiniteMechanism(matrix, range(n), range(n))
