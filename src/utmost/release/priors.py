"""What is believed about a statistic beforehand: a prior over the points of a line, or over tallies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput, TooLarge, shown
from utmost.exact import as_rational
from utmost.release.plain import plain
from utmost.space.integers import Line, Tallies

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


def tally_prior(prior: Any, space: Tallies) -> dict[tuple[int, ...], float] | None:
    """A listed prior: {tally: probability}; None is uniform."""
    if prior is None:
        return None
    if not isinstance(prior, Mapping) or not prior:
        raise InvalidInput("the prior of tallies is a mapping {(votes, ...): probability}, or None for uniform.")
    found: dict[tuple[int, ...], Fraction] = {}
    for tally, weight in prior.items():
        listed = tuple(map(plain, tally)) if isinstance(tally, Sequence) else ()
        whole = all(isinstance(x, int) and not isinstance(x, bool) and x >= 0 for x in listed)
        if len(listed) != space.cells or not whole or sum(listed) > space.rows:
            raise InvalidInput(
                f"the prior lists {shown(tally)}; give {space.cells} whole numbers that add up to at most {space.rows}."
            )
        found[listed] = as_rational(weight, "a probability of the prior")
    off = abs(sum(found.values(), Fraction(-1)))
    if min(found.values()) < 0 or off > Fraction(1, 10**9):
        raise InvalidInput("the prior's probabilities must be 0 or more and add up to 1; divide them by their sum.")
    return {tally: float(weight) for tally, weight in found.items()}


def tally_prior_text(prior: Mapping[Any, float] | None) -> str:
    """The prior, as plain data."""
    return "uniform" if prior is None else f"listed, {sorted(prior.items())!r}"
