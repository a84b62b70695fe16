"""What is believed about an integer beforehand: a prior over the points of a line."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput, TooLarge, shown
from utmost.space.integers import Line

MOST_LISTED = 10**7


def line_prior(line: Line, prior: Any) -> NDArray[np.float64] | None:
    """A distribution over the points, in order; None is uniform."""
    if prior is None:
        return None
    if line.points > MOST_LISTED:
        raise TooLarge(f"a prior over {line.points} points is too long a list; leave it out (uniform).")
    try:
        if type(prior).__module__.startswith("ibis."):  # it would be read from the table
            raise TypeError
        weights = np.asarray(prior, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"the prior is {shown(prior)}; give one probability for each point, in order.") from None
    if weights.shape != (line.points,):
        raise InvalidInput(
            f"the prior has shape {weights.shape}; give one probability for each of {line.points} points."
        )
    if not (weights >= 0).all() or not abs(math.fsum(weights) - 1) <= 1e-9:  # no value is shown: is it public?
        raise InvalidInput("the prior's probabilities must be 0 or more and add up to 1; divide them by their sum.")
    return weights
