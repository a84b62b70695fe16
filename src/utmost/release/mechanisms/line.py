"""Integers in a row: the space of a statistic that is one integer, and what is believed about the point beforehand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput, TooLarge, shown
from utmost.space import Space
from utmost.space.families import path, sums

MOST_LISTED = 10**7


@dataclass(frozen=True)
class Line:
    """The integers first..last, of which those at most `reach` apart are neighbours.

    Examples
    --------
    >>> Line(0, 100, 5).points, Line(0, 100, 5).clamp(142)
    (101, 100)
    """

    first: int
    last: int
    reach: int

    @property
    def points(self) -> int:
        """How many there are."""
        return self.last - self.first + 1

    def clamp(self, value: int) -> int:
        """The nearest point of the line; moves two integers no farther apart."""
        return min(max(value, self.first), self.last)

    def space(self) -> Space:
        """The same as a space of the library, with points 0, 1, ... from `first` on."""
        if self.reach == 1:
            return path(self.points)
        people, rest = divmod(self.points - 1, self.reach)
        if rest:
            here = np.arange(self.points)
            edges = [np.column_stack([here[:-k], here[k:]]) for k in range(1, min(self.reach, self.points - 1) + 1)]
            return Space(range(self.points), np.concatenate(edges))
        return sums(people, self.reach)

    def prior(self, prior: Any) -> NDArray[np.float64] | None:
        """A distribution over the points, in order; None is uniform."""
        if prior is None:
            return None
        if self.points > MOST_LISTED:
            raise TooLarge(f"a prior over {self.points} points is too long a list; leave it out (uniform).")
        try:
            if type(prior).__module__.startswith("ibis."):  # it would be read from the table
                raise TypeError
            weights = np.asarray(prior, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise InvalidInput(f"the prior is {shown(prior)}; give one probability for each point, in order.") from None
        if weights.shape != (self.points,):
            raise InvalidInput(
                f"the prior has shape {weights.shape}; give one probability for each of {self.points} points."
            )
        if not (weights >= 0).all() or not abs(math.fsum(weights) - 1) <= 1e-9:  # no value is shown: is it public?
            raise InvalidInput("the prior's probabilities must be 0 or more and add up to 1; divide them by their sum.")
        return weights

    def __str__(self) -> str:
        apart = f"at most {self.reach} apart" if self.reach > 1 else "next to each other"
        return f"{self.points} integers {self.first} to {self.last}, neighbours {apart}"
