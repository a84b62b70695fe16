"""The largest pure level that implies a given level.

A level is a concave function `upper` with upper(0) >= 0 and upper(1) = 1 (a trade-off function, upside down); pure
epsilon is the two lines from (0, 0) and (1, 1) that meet at alpha = 1/(1 + e^epsilon), upper = 1 - alpha. So one point
decides: epsilon-differential privacy implies the level if and only if the level allows that corner. For
(epsilon, delta) the largest ratio is (e^epsilon + delta)/(1 - delta), for mu-Gaussian Phi(mu/2)/Phi(-mu/2).
Epsilon implies (epsilon^2/2)-zCDP (Bun and Steinke 2016, Proposition 3.3).
"""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from utmost.exact import ExpSum, compare
from utmost.privacy.level import ApproxDP, Level, PureDP
from utmost.privacy.zcdp import ZCDP

LARGEST = 1e300
"""The largest ratio e^epsilon that is considered."""


@lru_cache(maxsize=1024)
def pure_within(level: Level) -> ApproxDP | None:
    """The largest pure level that implies this one, e^epsilon - 1 rounded down to 12 digits; None if there is none.

    Examples
    --------
    >>> from utmost.privacy import GaussianDP
    >>> print(pure_within(PureDP(1)), pure_within(ApproxDP(1, "0.1")), pure_within(GaussianDP(1)))
    1-DP ln 3.13142425384-DP ln 2.24109670456-DP
    """
    if isinstance(level, ApproxDP) and level.delta == 0:
        return level
    if isinstance(level, ZCDP):
        return _within_zcdp(level)
    share, rest = level.even_share()
    ratio_less_one = LARGEST if rest * LARGEST < 1 else (share - rest) / rest
    excess = Decimal(ratio_less_one * (1 - 1e-13) - 1e-15)
    if excess <= 0:
        return None
    digits = max(1, min(12, 16 + excess.adjusted()))  # no more than floats carry
    rounded = 1 + Fraction(Context(prec=digits, rounding=ROUND_FLOOR).create_decimal(excess))
    if isinstance(level, ApproxDP) and not (math.isfinite(level.growth) and rounded > level.growth * (1 + 1e-14)):
        pure = PureDP(level.exponent) if level.ratio == 1 else PureDP.from_ratio(level.ratio)
        return pure if pure.log_growth > 0 else None
    pure_level = PureDP.from_ratio(rounded)
    return pure_level if implies(pure_level, level) else None


def implies(pure: ApproxDP, level: Level) -> bool:
    """Whether a pure level implies another, decided exactly where e^epsilon is rational, or equal in both."""
    if isinstance(level, ZCDP):
        whole = pure.exponent != math.inf and pure.ratio == 1 and pure.delta == 0
        return level.rho == math.inf or (whole and Fraction(pure.exponent) ** 2 <= 2 * level.rho)
    if isinstance(level, ApproxDP) and level.exponent == math.inf:
        return True  # it promises nothing
    if isinstance(level, ApproxDP) and (pure.ratio, pure.exponent) == (level.ratio, level.exponent):
        return pure.delta <= level.delta
    if pure.delta > 0 or pure.exponent != 0 or not level.concave:
        return False
    corner = 1 / (1 + pure.ratio)
    return compare(level.upper_exact(ExpSum.rational(corner)), ExpSum.rational(1 - corner)) >= 0


def _within_zcdp(level: ZCDP) -> ApproxDP | None:
    """The largest pure level that implies rho-zCDP: epsilon^2/2 <= rho."""
    if level.rho == math.inf:
        return PureDP(math.inf)
    epsilon = Fraction(f"{math.sqrt(2 * float(level.rho)) * (1 - 1e-13):.12g}")
    epsilon *= 1 if epsilon**2 <= 2 * level.rho else 1 - Fraction(1, 10**11)
    return PureDP(epsilon) if epsilon > 0 else None
