"""Levels at which answers are released: neither empty nor revealing, pure where they must be, and shares of one."""

from __future__ import annotations

import math
from fractions import Fraction

from utmost.errors import InvalidInput, UnsupportedLevel
from utmost.privacy import ApproxDP, Level, PureDP, require_pure

LEAST_EPSILON, MOST_EPSILON = 1e-6, 500
"""Between which epsilons answers are released: below, a million people are not told from none; above, e^-epsilon has
more digits than anybody can use."""


def require_releasable(level: Level) -> Level:
    """Refuse levels at which an answer says nothing, or everything."""
    size = level.log_growth if isinstance(level, ApproxDP) else getattr(level, "mu", getattr(level, "rho", 1))
    delta = getattr(level, "delta", 0)
    if size == 0 and delta == 0:
        raise InvalidInput(
            "privacy is 0: every answer would be the same whatever the table says; give an epsilon above 0."
        )
    if size == math.inf:
        raise InvalidInput("privacy is infinite: nothing would be protected; give a finite epsilon.")
    if isinstance(level, ApproxDP) and size > MOST_EPSILON:
        raise InvalidInput(
            f"privacy is {level}: above epsilon = {MOST_EPSILON} nothing is protected that matters, and exact draws "
            f"take ever longer; give an epsilon up to {MOST_EPSILON}, such as 1."
        )
    if isinstance(level, ApproxDP) and size < LEAST_EPSILON and delta == 0:
        raise InvalidInput(
            f"an answer, or one part of a mean, would be released at {level}: below epsilon = {LEAST_EPSILON:g} it "
            "would say next to nothing about any table; give a larger epsilon, such as 0.1."
        )
    return level


def require_pure_release(level: Level, what: str) -> ApproxDP:
    """The level if it is releasable and pure; an error that says what is released at such levels otherwise."""
    try:
        return require_pure(require_releasable(level))
    except UnsupportedLevel:
        raise UnsupportedLevel(
            f"{what} are released at pure levels, not {level}; give an epsilon, such as PureDP(1)."
        ) from None


def share_of(level: ApproxDP, share: Fraction) -> ApproxDP:
    """A share of a pure level; where e^epsilon is a rational, of a decimal just below its logarithm.

    Shares that add up to 1 are levels that add up to at most this one.

    Examples
    --------
    >>> share_of(PureDP(1), Fraction(1, 4))
    PureDP(0.25)
    """
    if level.ratio == 1 and isinstance(level.exponent, Fraction):
        return PureDP(level.exponent * share)
    return PureDP(Fraction(int(level.log_growth * (1 - 2**-40) * 10**12), 10**12) * share)
