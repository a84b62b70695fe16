"""How much a question errs at every level: what a search over levels has found out, kept and interpolated.

An expected loss falls nearly like a power of the level, so between a few levels it is nearly a line in logarithms. A
search that is repeated for larger and smaller targets, as for a budget, mostly reads these lines; questions that are
alike but for their condition or column have one line together. What a level is accepted for is the loss of the question
itself, at that very level.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass, field

WIDE = 0.5
"""Between levels that are so far apart, in logarithms, a line will do to begin with."""
MOST_STEPS = 8


@dataclass
class Curve:
    """Logarithms of a loss at logarithms of sizes of levels, as far as they are known.

    Examples
    --------
    >>> found = Curve(-5.0, 5.0)
    >>> found.add(0.0, 3.0)
    >>> found.where(1.0)                                        # one point: a slope of -1
    2.0
    >>> found.add(2.0, -1.0)
    >>> found.where(1.0), found.is_near(1.0)
    (1.0, False)
    """

    lowest: float
    highest: float
    points: list[tuple[float, float]] = field(default_factory=list)

    def add(self, x: float, y: float) -> None:
        """One more level with its loss."""
        if all(x != known for known, _ in self.points):
            insort(self.points, (x, y))

    def where(self, y: float) -> float:
        """Where the loss is about y, by the line through the two levels with the nearest losses."""
        (x, at), *others = sorted(self.points, key=lambda point: abs(point[1] - y))[:2]
        slope = min((at - others[0][1]) / (x - others[0][0]), -0.2) if others else -1.0
        above = max((known for known, loss in self.points if loss > y), default=self.lowest)
        below = min((known for known, loss in self.points if loss <= y and known > above), default=self.highest)
        return min(max(x + (y - at) / slope, above), below)

    def is_near(self, x: float) -> bool:
        """Whether known levels on both sides are close to a size."""
        before = [known for known, _ in self.points if known <= x]
        after = [known for known, _ in self.points if known >= x]
        return bool(before and after) and after[0] - before[-1] <= WIDE


def least_on_curve(
    curve: Curve,
    loss: Callable[[float], float],
    wanted: float,
    spared: float,
    rounded: Callable[[float], float],
    roughly: bool,
) -> float | None:
    """The least size of a level at which a loss is as wanted, or a little less; None where none is, or none was found.

    Parameters
    ----------
    curve : Curve
        What is known; it grows. It must know one level at least.
    loss : function
        The logarithm of the question's own loss at the logarithm of a size.
    wanted : float
        The logarithm of the loss that is wanted.
    spared : float
        By how much the loss may be less, in logarithms.
    rounded : function
        A size rounded upwards to a few digits.
    roughly : bool
        Whether the curve may decide where levels around are known.

    Examples
    --------
    >>> curve, asked = Curve(-5.0, 5.0, [(0.0, 0.0)]), []
    >>> def loss(x):
    ...     asked.append(x)
    ...     return -x - x**2 / 10
    >>> size = least_on_curve(curve, loss, -1.0, 2e-3, lambda size: size, False)
    >>> -1.002 < loss(math.log(size)) <= -1, len(asked) <= 5
    (True, True)
    """
    aim = wanted - spared / 4
    for _ in range(MOST_STEPS):
        x = curve.where(aim)
        if roughly and curve.is_near(x):
            return rounded(math.exp(x))
        x = math.log(rounded(math.exp(x)))
        found = loss(x)
        curve.add(x, found)
        if wanted - spared < found <= wanted or (found <= wanted and x <= curve.lowest):
            return math.exp(x)
        if found > wanted and x >= curve.highest:
            return None
    return None
