"""Find the least level at which a query's expected error meets a target, by interpolating computed errors.

An error decreases nearly like a power of the level, so between a few levels it is nearly linear in logarithms. A search
follows these lines; a search that is repeated for larger and smaller targets, as for a budget, mostly interpolates;
queries that differ only in their condition or column share a curve. A level is accepted only if the error of the query
itself, computed at that level, meets the target. Levels are rounded to a few digits, and the last digit is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

SMALLEST, LARGEST = 1e-5, 100.0
"""The range of levels that are searched."""
DIGITS = 4
"""Significant digits to which a level is rounded upwards."""
WIDE, CLOSE = 0.5, 0.02
"""Distances of levels, in logarithms, within which a line is roughly right, and right to all digits."""
STEEPEST, FLATTEST, FARTHEST = -5.0, -0.02, 3.0
"""Bounds on the slope of a line, and on the length of a step while the slope is unknown."""


@dataclass
class Curve:
    """Logarithms of an error by the logarithms of the sizes of levels at which it has been computed.

    Attributes
    ----------
    apart : float
        The least distance of two levels from which a slope is computed; 0 where errors are exact.
    points : dict of float to float
        The computed points.

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
        """Add a level with its error."""
        self.points[x] = y

    def where(self, y: float) -> float:
        """The level whose error is about y, by the line through the two levels with the nearest errors."""
        (x, at), *farther = sorted(self.points.items(), key=lambda point: abs(point[1] - y))
        far = next((other for other in farther if abs(other[0] - x) > self.apart), None)
        slope = -1.0 if far is None else (at - far[1]) / (x - far[0])
        return x + (y - at) / min(max(slope, STEEPEST), FLATTEST)

    def is_near(self, x: float, far: float) -> bool:
        """Whether the error of a level at most so far away has been computed."""
        return any(abs(point - x) <= far for point in self.points)


def least_size(
    curve: Curve, error: Callable[[float], float], target: float, first: float, spare: float = 0.0
) -> float | None:
    """The least size, rounded to a few digits, at which a decreasing error meets its target; None if none does.

    The search keeps a size that is too small and one that suffices. It ends where these are neighbours, or where one
    suffices and the line through it and a level close by predicts that the next smaller one does not.

    Parameters
    ----------
    curve : Curve
        The points computed so far; new ones are added.
    error : callable
        The logarithm of the error at a size.
    target : float
        The logarithm of the target.
    first : float
        Where to begin if no point has been computed.
    spare : float
        End once the error at a size is this close to the target; the result then follows from the line.

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
    size = rounded_up(first if not curve.points else math.exp(curve.where(target)))
    while True:
        x = math.log(size)
        if x not in curve.points:
            curve.add(x, error(size))
        if abs(curve.points[x] - target) < spare:
            return rounded_up(math.exp(curve.where(target)))
        if curve.points[x] > target:
            low = max(low, size)
        else:
            high = min(high, size)
        if low >= LARGEST or high <= SMALLEST or below(high) <= low or _is_least(curve, high, target):
            return high if math.isfinite(high) else None
        farthest = FARTHEST if len(curve.points) == 1 else -math.log(SMALLEST)
        root = min(max(curve.where(target), x - farthest), x + farthest)
        if low and math.isfinite(high):
            apart.append(math.log(high / low))
            if apart[-1] > apart[-3] / 2:  # lines do not lead on
                root = (math.log(low) + math.log(high)) / 2
        size = max(min(rounded_up(math.exp(root)), below(high)), rounded_up(low * (1 + 10.0**-DIGITS / 2)))


def _is_least(curve: Curve, high: float, target: float) -> bool:
    """Whether the line through a size that suffices and a close one predicts that the next smaller one does not."""
    if math.isinf(high):
        return False
    x = math.log(high)
    near = min((other for other in curve.points if other != x), key=lambda other: abs(other - x), default=math.inf)
    if abs(near - x) > CLOSE:
        return False
    slope = (curve.points[near] - curve.points[x]) / (near - x)
    return curve.points[x] + slope * (math.log(below(high)) - x) > target


def rounded_up(size: float) -> float:
    """A size rounded upwards to `DIGITS` digits, within the range of levels that are searched."""
    clamped = min(max(size, SMALLEST), LARGEST)
    digits = DIGITS - 1 - math.floor(math.log10(clamped))
    return float(f"{math.ceil(clamped * 10.0**digits - 1e-6) / 10.0**digits:.{DIGITS}g}")


def below(size: float) -> float:
    """The next smaller size with `DIGITS` digits."""
    if math.isinf(size):
        return LARGEST
    digits = DIGITS - 1 - math.floor(math.log10(size * (1 - 10.0 ** -(DIGITS + 2))))
    return float(f"{(round(size * 10.0**digits) - 1) / 10.0**digits:.{DIGITS}g}")
