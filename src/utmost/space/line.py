"""One integer on a line: its range and sensitivity, losses of errors, and priors.

A loss is named: "absolute", "squared", "zero-one", or "within k", which is 0 for errors up to k and 1 beyond. A prior
is a list of probabilities, one for each point in order; None is uniform.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput, TooLarge, shown
from utmost.exact import is_digits
from utmost.exact.arrays import Floats
from utmost.space.families import path, sums
from utmost.space.graph import Space

End: TypeAlias = Any
"""The end of a range: a whole number, or None if it is unbounded; see `bounded`."""
MOST_LISTED = 10**7
"""The largest length of a prior."""


@dataclass(frozen=True)
class Line:
    """The integers first..last, of which those at most `reach` apart are neighbours; all integers without these ends.

    Examples
    --------
    >>> Line(0, 100, 5).points, Line(0, 100, 5).clamp(142)
    (101, 100)
    >>> print(Line(None, None, 5), Line(None, None, 5).clamp(142))
    all integers, neighbours at most 5 apart 142
    """

    kind: ClassVar[str] = "line"
    first: End
    last: End
    reach: int

    def __post_init__(self) -> None:
        require_whole(self)
        ends = require_ends(self.first, self.last)
        if self.reach is None or self.reach < 0 or (ends is not None and ends[1] < ends[0]):
            raise InvalidInput(f"{self!r} holds no point or a negative reach; give first <= last and reach >= 0.")

    @property
    def is_bounded(self) -> bool:
        """Whether the line has ends."""
        return self.first is not None

    @property
    def ends(self) -> tuple[int, int]:
        """The first and the last point; `InvalidInput` where the line has none."""
        if self.first is None or self.last is None:
            raise InvalidInput("the line is unbounded, so its points cannot be listed; state at_most for a range.")
        return self.first, self.last

    @property
    def points(self) -> int:
        """The number of points; `InvalidInput` if the line is unbounded."""
        first, last = self.ends
        return last - first + 1

    def clamp(self, value: int) -> int:
        """The nearest point of the line; never increases a difference. An unbounded line contains every integer."""
        return value if self.first is None or self.last is None else min(max(value, self.first), self.last)

    def space(self) -> Space:
        """The line as a `Space`, with points 0, 1, ... for `first`, `first` + 1, ..."""
        if self.reach == 1:
            return path(self.points)
        if self.reach == 0:
            return Space(range(self.points), np.zeros((0, 2), dtype=np.int64))
        people, rest = divmod(self.points - 1, self.reach)
        if rest:
            here = np.arange(self.points)
            edges = [np.column_stack([here[:-k], here[k:]]) for k in range(1, min(self.reach, self.points - 1) + 1)]
            return Space(range(self.points), np.concatenate(edges))
        return sums(people, self.reach)

    def __str__(self) -> str:
        apart = f"at most {self.reach} apart" if self.reach > 1 else "next to each other"
        if not self.is_bounded:
            return f"all integers, neighbours {apart}"
        return f"{self.points} integers {self.first} to {self.last}, neighbours {apart}"


def require_ends(first: End, last: End) -> tuple[int, int] | None:
    """Both ends of a range of integers, or None if it is unbounded; one end alone is refused."""
    if first is None and last is None:
        return None
    if first is None or last is None:
        raise InvalidInput("a range of integers has both ends, or neither.")
    return first, last


def require_whole(space: Any, *besides: type) -> None:
    """Convert every field of a space to a Python integer, or refuse it, since it may come from a file.

    Texts, and values of the types `besides`, are left as they are.
    """
    for name, value in vars(space).items():
        if not isinstance(value, (str, type(None), *besides)) and (
            isinstance(value, bool) or not isinstance(value, int)
        ):
            try:
                object.__setattr__(space, name, operator.index(value))
            except TypeError:
                raise InvalidInput(f"{name} is {value!r}; give a whole number.") from None


def spread_out(farthest: int, most: int) -> tuple[list[int], str]:
    """All positions from 0 to `farthest`, or about `most` of them, denser near 0; then also a sentence on that."""
    if farthest < most:
        return list(range(farthest + 1)), ""
    spread = [np.linspace(0, farthest, most // 2), np.geomspace(1, farthest, most // 2)]
    positions = np.unique(np.concatenate(spread).astype(np.int64)).tolist()
    return positions, f"the worst of {len(positions)} points tried"


def cost(loss: str, distance: NDArray[Any]) -> NDArray[np.float64]:
    """The loss of an error of this many steps: "absolute", "squared", "zero-one", or "within k" (0 up to k, else 1)."""
    away = np.abs(np.asarray(distance, dtype=float))
    if loss == "absolute":
        return np.asarray(away)
    return np.asarray(away**2 if loss == "squared" else away > tolerance(loss), dtype=float)


def tolerance(loss: str) -> int:
    """The largest error without a loss, for zero-one losses."""
    return within(loss) or 0


def within(loss: str) -> int | None:
    """The k of "within k"; None for other losses."""
    word, _, number = loss.partition(" ")
    return int(number) if word == "within" and is_digits(number) and len(number) < 16 else None


def require_line_loss(loss: Any) -> str:
    """The name of a loss, checked; it may come from a file."""
    if isinstance(loss, str) and (loss in ("absolute", "squared", "zero-one") or within(loss) is not None):
        return str(loss)
    raise InvalidInput(f"loss is {shown(loss)}; say 'absolute', 'squared', 'zero-one' or such as 'within 5'.")


def line_prior(line: Line, prior: Any) -> Floats | None:
    """A distribution over the points of a line, in order, checked; None is uniform."""
    if prior is None:
        return None
    if not line.is_bounded:
        raise InvalidInput(
            "a prior gives one probability to each possible number, and without at_most there is no largest one; "
            "state at_most in um.rows(at_most=...) or um.people(..., at_most=...), or leave the prior out."
        )
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
