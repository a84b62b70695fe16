"""One number on a line: losses by name, and what every mechanism for it can say, its law and what to believe after."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput, TooLarge, shown
from utmost.exact.arrays import Floats, Integers
from utmost.mechanism.exact_law import ExactMechanism
from utmost.space.integers import Line, unlisted_from_json

MOST_WORK, MOST_ERRORS = 10**6, 2 * 10**8
MOST_LISTED = 10**7
ROUNDING = 1e-9
"""By which share a tail in floats may be too small."""


class LineMechanism(ExactMechanism):
    """A mechanism whose private point is an integer of a line, and whose answer is an integer.

    Attributes
    ----------
    line : where the private point lies, and how far a neighbour moves it
    loss : what it was designed for: "absolute", "squared", "zero-one" or "within k"
    prior : how likely each point is, in order; None is uniform
    name : what it is, in words
    """

    line: Line
    loss: str
    prior: Floats | None

    @property
    @abstractmethod
    def name(self) -> str: ...

    @property
    def noise(self) -> Any:
        """The law of the noise that is added, or None where the mechanism is not noise."""
        return None

    @abstractmethod
    def law(self, point: int) -> tuple[Integers, Floats]:
        """What is released at a point (some values may stand twice), and with which probabilities, in floats."""

    @abstractmethod
    def expected(self, loss: str) -> float:
        """The expected loss under the prior of what is released, by any loss."""

    @abstractmethod
    def posterior(self, value: int) -> tuple[Integers, Floats]:
        """What to believe after an answer: points and their probabilities, from the prior."""

    @abstractmethod
    def interval(self, value: int, confidence: float) -> tuple[int, int]:
        """Ends between which the point lies: whatever it is, with at least this probability over what is released.

        These are the points at which an answer as low, and one as high, is not too unlikely (Neyman 1937). The ends
        rest on no prior, unlike `posterior`, and always hold the released value.
        """

    def risk(self, point: int, loss: str) -> float:
        """The expected loss at one point."""
        released, chances = self.law(point)
        return float(chances @ cost(loss, released - point))

    def worst(self, loss: str) -> float:
        """The expected loss at the worst point, or at the worst of those that `worst_among` names."""
        return _worst(self, loss)[0]

    def worst_among(self, loss: str) -> str:
        """Among which points the worst was sought: empty for all of them; on long lines of wide laws, some hundred."""
        return _worst(self, loss)[1]

    def hardest(self, loss: str) -> tuple[float, str]:
        """Both, worked out anew."""
        last = self.line.points - 1
        farthest = last if self.prior is not None else min(last, self._settled)
        each = len(self.law(self.line.first + farthest)[0])
        positions, among = spread_out(farthest, max(20, MOST_WORK // each))
        return max(self.risk(self.line.first + position, loss) for position in positions), among

    def errors(self) -> tuple[int, Floats]:
        """The law of the error under the prior: the least error, and the probability of it and of each one above it.

        Under a uniform prior, points far from both ends err alike, and the two ends mirror each other.
        """
        points, settled = self.line.points, self._settled
        alike = self.prior is None and points > 2 * settled + 1
        places = range(settled + 1 if alike else points)
        each = max(len(self.law(self.line.first + place)[0]) for place in (places[0], places[-1]))
        if len(places) * each > MOST_ERRORS:
            raise TooLarge(f"errors at {len(places)} points, of {each} answers each, take too long to add up.")
        reach = max(int(np.abs(self._off(place)[0]).max()) for place in places)
        found = np.zeros(2 * reach + 1)
        for place in places:
            off, chances = self._off(place)
            here = np.bincount(off + reach, chances, 2 * reach + 1)
            if alike:  # the last of these places stands for all between the ends
                found += (here + here[::-1]) * (0.5 * (points - 2 * settled) if place == settled else 1.0) / points
            else:
                found += here * (1 / points if self.prior is None else self.prior[place])
        return -reach, found

    def _off(self, place: int) -> tuple[Integers, Floats]:
        released, chances = self.law(self.line.first + place)
        return released - self.line.first - place, chances

    @property
    def _settled(self) -> int:
        """From which distance to the ends on all points are alike, and both ends mirror each other (uniform prior)."""
        return self.line.points - 1


@lru_cache(maxsize=256)
def _worst(mechanism: LineMechanism, loss: str) -> tuple[float, str]:
    """Kept for a few losses of as many mechanisms as designs are: asked at every answer, it takes half a second."""
    return mechanism.hardest(loss)


def spread_out(farthest: int, most: int) -> tuple[list[int], str]:
    """All positions from 0 on, or so many of them, denser at the near end; and in words that these are not all."""
    if farthest < most:
        return list(range(farthest + 1)), ""
    spread = [np.linspace(0, farthest, most // 2), np.geomspace(1, farthest, most // 2)]
    positions = np.unique(np.concatenate(spread).astype(np.int64)).tolist()
    return positions, f"the worst of {len(positions)} points tried"


def weigh(line: Line, points: Integers, likelihood: Floats, prior: Floats | None) -> tuple[Integers, Floats]:
    """Likelihoods at some points turned into what to believe; even, where floats hold none of them."""
    weighted = likelihood if prior is None else likelihood * prior[points - line.first]
    total = weighted.sum()
    return points, weighted / total if total > 0 else np.full(len(points), 1 / len(points))


def not_too_unlikely(
    points: Integers, as_low: Floats, as_high: Floats, value: int, confidence: float
) -> tuple[int, int]:
    """The first and the last point at which answers as low, and as high, as `value` are not too unlikely.

    At any point, answers in a tail of probability (1 - confidence)/2 leave it out on either side, so it is held with
    at least this confidence. Sums in floats get the benefit of their rounding.
    """
    least = (1 - confidence) / 2 * (1 - ROUNDING)
    held = points[(as_low > least) & (as_high > least)]
    return int(held.min(initial=value)), int(held.max(initial=value))


def plain_prior(prior: Floats | None) -> list[float] | None:
    """A prior as plain data."""
    return None if prior is None else prior.tolist()


def read_line(data: Mapping[str, Any]) -> tuple[Line, Floats | None]:
    """The line and the prior that a file names; nothing in it is believed."""
    line = unlisted_from_json(data["line"])
    if not isinstance(line, Line):
        raise InvalidInput("a number lies on a line.")
    if data["prior"] is None:
        return line, None
    if line.points > MOST_LISTED:
        raise InvalidInput(f"{line.points} points are too many for a list.")
    prior = np.array(data["prior"], dtype=float)
    if prior.shape != (line.points,) or not (prior >= 0).all() or not abs(float(prior.sum()) - 1) <= 1e-9:
        raise InvalidInput("the prior is not a distribution over the points of the line.")
    return line, prior


def cost(loss: str, distance: NDArray[Any]) -> NDArray[np.float64]:
    """The loss of being so many steps off: "absolute", "squared", "zero-one", or "within k" (none up to k, else 1)."""
    away = np.abs(np.asarray(distance, dtype=float))
    if loss == "absolute":
        return np.asarray(away)
    return np.asarray(away**2 if loss == "squared" else away > tolerance(loss), dtype=float)


def tolerance(loss: str) -> int:
    """How many steps off cost nothing, for zero-one losses."""
    return within(loss) or 0


def within(loss: str) -> int | None:
    """The k of "within k"; None for other losses."""
    word, _, number = loss.partition(" ")
    return int(number) if word == "within" and number.isdecimal() and len(number) < 16 else None


def require_line_loss(loss: Any) -> str:
    """A loss by its name; `InvalidInput` for anything else, which may come from a file."""
    if isinstance(loss, str) and (loss in ("absolute", "squared", "zero-one") or within(loss) is not None):
        return str(loss)
    raise InvalidInput(f"loss is {shown(loss)}; say 'absolute', 'squared', 'zero-one' or such as 'within 5'.")


def line_prior(line: Line, prior: Any) -> Floats | None:
    """A distribution over the points of a line, in order, as it was given; None is uniform."""
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
