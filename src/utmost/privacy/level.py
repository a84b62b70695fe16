"""The idea of a privacy level: a pair of functions that bound how far a probability may move across one edge."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from utmost.errors import InvalidInput, UnsupportedLevel, shown
from utmost.exact import ExpSum, Number, Real, as_rational
from utmost.exact.arrays import Floats

ZERO, ONE = ExpSum.rational(0), ExpSum.rational(1)


class Level(ABC):
    """A privacy level: immutable, hashable, comparable by value."""

    kind: ClassVar[str]
    concave: bool = True
    """Whether the level makes sense for more than two outputs."""
    certifiable: bool = True
    """Whether its bounds can be computed in exact arithmetic."""
    keeps_positive: bool = False
    """Whether a positive probability is positive at every neighbour: upper(0) = 0, and upper does not jump there."""

    def upper(self, alpha: ArrayLike) -> Any:
        """The most a neighbour may give an event that has probability `alpha` here."""
        return _like(self._upper(as_probabilities(alpha)), alpha)

    def lower(self, alpha: ArrayLike) -> Any:
        """The least a neighbour may give an event that has probability `alpha` here: 1 - upper(1 - alpha)."""
        return _like(self._lower(as_probabilities(alpha)), alpha)

    def upper_after(self, steps: ArrayLike, alpha: ArrayLike) -> Any:
        """The most a point that many edges away may give; in closed form where there is one."""
        count, values = self._steps(steps, alpha)
        return _like(self._upper_after(count, values), values)

    def lower_after(self, steps: ArrayLike, alpha: ArrayLike) -> Any:
        """The least a point that many edges away may give: 1 - upper_after(steps, 1 - alpha)."""
        count, values = self._steps(steps, alpha)
        return _like(self._lower_after(count, values), values)

    def _steps(self, steps: ArrayLike, alpha: ArrayLike) -> tuple[NDArray[np.int64], Floats]:
        count = np.asarray(steps)
        if count.size and (not np.issubdtype(count.dtype, np.integer) or count.min() < 0 or count.max() > 2**62):
            raise InvalidInput(f"steps is {shown(steps)}; give whole numbers of edges, 0 or more.")
        wide_steps, wide_alpha = np.broadcast_arrays(count, as_probabilities(alpha))
        return wide_steps.astype(np.int64), wide_alpha.astype(float)

    @abstractmethod
    def _upper(self, alpha: Floats) -> Floats: ...

    @abstractmethod
    def _lower(self, alpha: Floats) -> Floats: ...

    def move(self, p: Floats, q: Floats) -> tuple[Floats, Floats]:
        """Upper(p) and lower(q) where q = 1 - p, each accurate where it is small.

        The smaller of p and q has all its digits, so both bounds are made from that one: errors of 1 - p would grow
        with every step, by as much as a small probability may.
        """
        higher, lower = self._upper(p), self._lower(q)
        return np.where(p <= q, higher, 1 - lower), np.where(p <= q, 1 - higher, lower)

    def _upper_after(self, steps: NDArray[np.int64], alpha: Floats) -> Floats:
        return _iterate(self._upper, steps, alpha)

    def _lower_after(self, steps: NDArray[np.int64], alpha: Floats) -> Floats:
        return _iterate(self._lower, steps, alpha)

    def move_after(self, steps: NDArray[np.int64], p: Floats, q: Floats) -> tuple[Floats, Floats]:
        """`upper_after` of p and `lower_after` of q = 1 - p, each accurate where it is small, as by `move`.

        `lower_after` of q alone stays at 1 for ever where p is so small that q is rounded to 1.
        """
        for step in range(int(steps.max(initial=0))):
            higher, lower = self.move(p, q)
            moved = np.where(steps > step, higher, p), np.where(steps > step, lower, q)
            if np.array_equal(moved[0], p) and np.array_equal(moved[1], q):  # further steps change nothing
                break
            p, q = moved
        return p, q

    def bounds_after(self, steps: NDArray[np.int64], p: Floats, q: Floats) -> tuple[Floats, Floats, Floats]:
        """`move_after` of p and q = 1 - p, and `slope_after` at p, which share most of their work."""
        return *self.move_after(*np.broadcast_arrays(steps, p, q)), self.slope_after(steps, p)

    def even_share(self) -> tuple[float, float]:
        """The largest alpha with alpha <= upper(1 - alpha), and 1 - alpha: what both sides of an edge can have."""
        low, high = 0.5, 1.0
        while low < (middle := (low + high) / 2) < high:
            low, high = (middle, high) if middle <= self.upper(1 - middle) else (low, middle)
        return low, 1 - low

    def slope_after(self, steps: ArrayLike, alpha: ArrayLike) -> Floats:
        """The slope of `upper_after` where it is straight around alpha; NaN where it is curved."""
        return np.full(np.broadcast(np.asarray(steps), np.asarray(alpha)).shape, np.nan)

    def lines(self) -> tuple[tuple[float, float], ...] | None:
        """The straight lines (slope, intercept) whose minimum, capped at 1, is `upper`; None if it is curved."""
        return None

    def tangent(self, alpha: Floats) -> Floats:
        """The slope of a line that touches a concave `upper` at alpha and lies above it everywhere."""
        raise UnsupportedLevel(f"{self} has no tangents; give its graph as SuitablePair(knots).")

    def intercept(self, slope: Floats) -> Floats:
        """The least t with upper(alpha) <= slope·alpha + t for every alpha."""
        lines = self.lines()
        if lines is None:
            raise UnsupportedLevel(f"{self} has no supporting lines in closed form; give knots instead.")
        bends = np.array([0.0, 1.0, *self._bends()])
        return np.asarray((self._upper(bends) - slope[:, None] * bends).max(axis=1))

    def _bends(self) -> tuple[float, ...]:
        return ()

    @abstractmethod
    def upper_exact(self, alpha: Real) -> Real:
        """`upper` without rounding, for deciding what floating point cannot."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The level as plain data; `from_json` reads it back."""

    @abstractmethod
    def _key(self) -> tuple[Any, ...]: ...

    def __copy__(self) -> Level:
        return self

    def __deepcopy__(self, memo: object) -> Level:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        from utmost.privacy import level_from_json

        return level_from_json, (self.to_json(),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Level) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def as_probabilities(alpha: ArrayLike) -> Floats:
    """An array of floats between 0 and 1, or an error that names the first that is not."""
    try:
        values = np.asarray(alpha, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInput(f"{shown(alpha)} is not a probability; give numbers between 0 and 1.") from None
    wrong = ~((values >= 0) & (values <= 1))
    if wrong.any():
        raise InvalidInput(f"{float(values[wrong].flat[0])!r} is not a probability; give numbers between 0 and 1.")
    return values


def nonnegative(value: Number, name: str) -> Fraction | float:
    """A parameter that is 0 or more, infinity included."""
    if (isinstance(value, float) and value == math.inf) or (isinstance(value, str) and value == "inf"):
        return math.inf
    exact = as_rational(value, name)
    if exact < 0:
        raise InvalidInput(f"{name} is {shown(value)}; it must be 0 or more.")
    return exact


def _like(result: Floats, argument: ArrayLike) -> Any:
    return float(result) if np.ndim(argument) == 0 else result


def _iterate(move: Callable[[Floats], Floats], steps: NDArray[np.int64], alpha: Floats) -> Floats:
    result = alpha
    for step in range(int(steps.max(initial=0))):
        moved = np.where(steps > step, move(result), result)
        if np.array_equal(moved, result):  # a fixed point: further steps change nothing
            break
        result = moved
    return result
