"""The truncated geometric mechanism on a line of results (Ghosh, Roughgarden, Sundararajan 2012)."""

from __future__ import annotations

import math

import numpy as np

from utmost.errors import InvalidInput
from utmost.exact import without_underflow
from utmost.mechanism import FiniteMechanism
from utmost.mechanism.certification import MOST_TABLE
from utmost.mechanism.decaying_columns import DecayingMechanism, path_peaks
from utmost.privacy import Level, as_level, require_pure
from utmost.space.families import path


def geometric(n: int, privacy: Level | float) -> FiniteMechanism | DecayingMechanism:
    """The truncated geometric mechanism on 0..n-1: with optimal post-processing best for every count and prior.

    For thousands of results, rows are computed on demand.

    Examples
    --------
    >>> geometric(3, 1.0).matrix.round(6)
    array([[0.731059, 0.170003, 0.098938],
           [0.268941, 0.462117, 0.268941],
           [0.098938, 0.170003, 0.731059]])
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise InvalidInput(f"n is {n!r}; give how many results there are, 1 or more.")
    level = require_pure(as_level(privacy))
    if math.isinf(level.log_growth):
        return FiniteMechanism(np.eye(n), range(n), range(n))
    peaks = path_peaks(n, math.exp(-level.log_growth))
    if n * n > MOST_TABLE:
        return DecayingMechanism(path(n), level, peaks)
    probabilities = without_underflow(np.exp(-level.log_growth * path(n).distances()) * peaks)
    return FiniteMechanism(probabilities, range(n), range(n))
