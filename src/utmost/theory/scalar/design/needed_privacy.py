"""The inverse question: the privacy level needed for a given accuracy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from utmost.errors import InvalidInput
from utmost.exact import Number, as_rational
from utmost.exact.bisection import narrow
from utmost.theory.scalar.design.discrete_staircase import IntegerNoise
from utmost.theory.scalar.design.noise_arguments import as_confidence
from utmost.theory.scalar.design.staircase import staircase

LEAST, MOST = 2.0**-60, 2.0**11


def smallest_epsilon(
    half_width: Number,
    confidence: Number,
    make: Callable[..., Any] = staircase,
    grid: Number | None = None,
    **options: Any,
) -> float:
    """The smallest epsilon at which noise stays within ±half_width with a given confidence.

    Parameters
    ----------
    half_width : number
        The largest acceptable error (in l1 norm, of vectors).
    confidence : number
        The probability that the error is within it.
    make : callable
        The noise: `staircase`, `laplace`, `discrete_staircase` or `discrete_laplace`.
    grid : number, optional
        The grid of the release, whose rounding then counts too; only for noise on real numbers.
    options : keyword arguments
        Arguments of `make` besides privacy, such as sensitivity.

    Notes
    -----
    The answer is rounded up by at most a relative 1e-9, and the half-width at it is checked. Every larger epsilon
    suffices, too, for `laplace`, and for the staircase in one dimension with the l1 cost: with s = e^(-epsilon/2), the
    probability of noise beyond k + t sensitivities is s^2k times max(1 - t(1 - s^2)/s, s^2 + (1 - t)(1 - s^2)s), which
    grows with s. For other noise the search finds an epsilon just below which the half-width is exceeded.

    Examples
    --------
    >>> from utmost.design.noise import laplace
    >>> epsilon = smallest_epsilon(7, 0.95, sensitivity=5)
    >>> round(epsilon, 6), staircase(epsilon, sensitivity=5).half_width(0.95) <= 7
    (1.922922, True)
    >>> round(smallest_epsilon(7, 0.95, laplace, sensitivity=5), 6)
    2.139809
    """
    width, chance = as_rational(half_width, "half_width"), as_confidence(confidence)
    if width < 0:
        raise InvalidInput(f"half_width is {half_width!r}; it must be 0 or more.")

    def suffices(epsilon: float) -> bool:
        noise = make(epsilon, **options)
        return bool((noise.half_width(chance) if grid is None else noise.half_width(chance, grid)) <= width)

    if grid is not None and isinstance(make(1, **options), IntegerNoise):
        raise InvalidInput("whole numbers have no grid; leave grid out, or take staircase or laplace.")

    high = 1.0
    while not suffices(high):
        high *= 2
        if high > MOST:
            raise InvalidInput(f"half_width is {half_width!r}; no epsilon up to {MOST:g} is that accurate.")
    low = high / 2
    while suffices(low):
        low, high = low / 2, low
        if low < LEAST:
            raise InvalidInput(f"half_width is {half_width!r}; even epsilon = {LEAST:g} is that accurate.")
    return narrow(suffices, low, high, relative=1e-9)[1]
