"""How much a question errs at every level: what a search over levels has found out, kept and interpolated.

An error falls nearly like a power of the level, so between a few levels it is nearly a line in logarithms. A search
follows these lines; one that is repeated for larger and smaller targets, as for a budget, mostly reads them; questions
that are alike but for their condition or column have one line together. What a level is accepted for is the error of
the question itself, at that very level. Levels have a few digits, and the last one is found, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

SMALLEST, LARGEST = 1e-5, 100.0
"""Between which sizes levels are searched."""
DIGITS = 4
"""To how many digits a level is rounded, upwards."""
WIDE, CLOSE = 0.5, 0.02
"""How far apart, in logarithms, levels may be for a line between them to be about right, and right to all digits."""
STEEPEST, FLATTEST, FARTHEST = -5.0, -0.02, 3.0
"""How fast errors fall in a line that is followed, and how far it is if nothing says how fast they do."""


@dataclass
class Curve:
    """Logarithms of an error at logarithms of sizes of levels, as far as they are known.

    Attributes
    ----------
    apart : how far two levels must be apart to say how fast errors fall; 0 where errors are exact
    points : what is known

    Examples
    --------
    >>> found = Curve()
    >>> found.add(0.0, 3.0)
    >>> found.where(1.0)                                        # one point: a slope of -1
    2.0
    >>> found.add(2.0, -1.0)
    >>> found.where(1.0), found.is_near(1.0, 0.5), found.is_near(1.8, 0.5)
    (1.0, False, True)
    """

    apart: float = 0.0
    points: dict[float, float] = field(default_factory=dict)

    def add(self, x: float, y: float) -> None:
        """One more level with its error."""
        self.points[x] = y

    def where(self, y: float) -> float:
        """Where the error is about y, by the line through the two levels with the nearest errors."""
        (x, at), *others = sorted(self.points.items(), key=lambda point: abs(point[1] - y))
        far = next((other for other in others if abs(other[0] - x) > self.apart), None)
        slope = -1.0 if far is None else (at - far[1]) / (x - far[0])
        return x + (y - at) / min(max(slope, STEEPEST), FLATTEST)

    def is_near(self, x: float, far: float) -> bool:
        """Whether a level so far away, or nearer, is known."""
        return any(abs(known - x) <= far for known in self.points)


def least_size(
    curve: Curve, error: Callable[[float], float], wanted: float, first: float, spare: float = 0.0
) -> float | None:
    """The least size, of a few digits, at which an error that falls is as wanted; None where it is at none.

    Two sizes close in on it: one that is too small, and one that suffices. It ends where these are next to each other;
    or where one suffices and the line through it and a level close by says that the next smaller one does not.

    Parameters
    ----------
    curve : Curve
        What is known of the error; it grows.
    error : function
        The logarithm of the error at a size.
    wanted : float
        The logarithm of the error that is wanted.
    first : float
        Where to begin if nothing is known.
    spare : float
        How near to the error at a size it is to end, roughly: by the line from there.

    Examples
    --------
    >>> asked = []
    >>> def error(size):
    ...     asked.append(size)
    ...     return -math.log(size) - math.log(size) ** 2 / 10
    >>> least_size(Curve(), error, -1.0, 1.0), asked
    (2.5, [1.0, 2.719, 2.483, 2.5])
    """
    low, high, apart = 0.0, math.inf, [math.inf, math.inf]
    size = rounded_up(first if not curve.points else math.exp(curve.where(wanted)))
    while True:
        x = math.log(size)
        if x not in curve.points:
            curve.add(x, error(size))
        if abs(curve.points[x] - wanted) < spare:
            return rounded_up(math.exp(curve.where(wanted)))
        if curve.points[x] > wanted:
            low = max(low, size)
        else:
            high = min(high, size)
        if low >= LARGEST or high <= SMALLEST or below(high) <= low or _is_least(curve, high, wanted):
            return high if math.isfinite(high) else None
        farthest = FARTHEST if len(curve.points) == 1 else -math.log(SMALLEST)
        root = min(max(curve.where(wanted), x - farthest), x + farthest)
        if low and math.isfinite(high):
            apart.append(math.log(high / low))
            if apart[-1] > apart[-3] / 2:  # lines do not lead on
                root = (math.log(low) + math.log(high)) / 2
        size = max(min(rounded_up(math.exp(root)), below(high)), rounded_up(low * (1 + 10.0**-DIGITS / 2)))


def _is_least(curve: Curve, high: float, wanted: float) -> bool:
    """Whether the line through a size that suffices and a level close by says that the next smaller one does not."""
    if math.isinf(high):
        return False
    x = math.log(high)
    near = min((known for known in curve.points if known != x), key=lambda known: abs(known - x), default=math.inf)
    if abs(near - x) > CLOSE:
        return False
    slope = (curve.points[near] - curve.points[x]) / (near - x)
    return curve.points[x] + slope * (math.log(below(high)) - x) > wanted


def rounded_up(size: float) -> float:
    """A size between the smallest and the largest, of a few digits, and not below this one but for rounding."""
    kept = min(max(size, SMALLEST), LARGEST)
    digits = DIGITS - 1 - math.floor(math.log10(kept))
    return float(f"{math.ceil(kept * 10.0**digits - 1e-6) / 10.0**digits:.{DIGITS}g}")


def below(size: float) -> float:
    """The next smaller size of so many digits."""
    if math.isinf(size):
        return LARGEST
    digits = DIGITS - 1 - math.floor(math.log10(size * (1 - 10.0 ** -(DIGITS + 2))))
    return float(f"{(round(size * 10.0**digits) - 1) / 10.0**digits:.{DIGITS}g}")
