"""Bisection: where a monotone condition begins to hold.

Conditions here are monotone: once true, they stay true to the right.
"""

from __future__ import annotations

from collections.abc import Callable


def first_integer(holds: Callable[[int], bool], start: int = 0) -> int:
    """The least integer from `start` on for which a condition holds: doubling, then bisection.

    Examples
    --------
    >>> first_integer(lambda n: n * n >= 2000), first_integer(lambda n: True, 7)
    (45, 7)
    """
    if holds(start):
        return start
    step = 1
    while not holds(start + step):
        step *= 2
    return first_between(holds, start + step // 2, start + step)


def first_between(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The least integer above `low` for which a condition holds that holds at `high` and not at `low`.

    Examples
    --------
    >>> first_between(lambda n: n * n >= 2000, 0, 100)
    45
    """
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def narrow(
    holds: Callable[[float], bool], low: float, high: float, relative: float = 0.0, absolute: float = 0.0
) -> tuple[float, float]:
    """Two close numbers such that a condition holds at the second and not at the first.

    Parameters
    ----------
    holds : callable
        The condition; assumed to hold at `high` and not at `low`, where it is not evaluated.
    low, high : float
        The initial bracket.
    relative, absolute : float
        The tolerance, relative to the second number and absolute; 0 and 0 for float precision.

    Examples
    --------
    >>> low, high = narrow(lambda x: x * x >= 2, 0.0, 2.0, absolute=1e-9)
    >>> low * low < 2 <= high * high, high - low <= 1e-9
    (True, True)
    """
    while high - low > max(relative * abs(high), absolute) and low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high
