"""Privacy levels: how much a probability may change when one person's data change.

For an event of probability alpha at a point, a level bounds its probability at a neighbour by `lower(alpha)` and
`upper(alpha)`: a suitable pair (BIN Def. 12), with lower(alpha) = 1 - upper(1 - alpha). `upper_after(steps, alpha)`
is the bound that many edges away. A pair whose upper function is concave is a symmetric trade-off function (f-DP) and
makes sense for any number of outputs; one that is not concave holds for two outputs only.
"""

from __future__ import annotations

import math
from fractions import Fraction

from utmost.errors import UnsupportedLevel
from utmost.exact.arrays import Floats
from utmost.privacy.approx import approx_lower, approx_move, approx_upper
from utmost.privacy.approx_gaussian import ApproxGaussianDP
from utmost.privacy.gaussian import GaussianDP, as_quantile
from utmost.privacy.level import ApproxDP, Level, PureDP, as_level, as_probabilities, level_from_json
from utmost.privacy.promises import promise_in_words, require_accepted
from utmost.privacy.suitable import FunctionPair, SuitablePair
from utmost.privacy.zcdp import ZCDP

__all__ = [
    "ZCDP",
    "ApproxDP",
    "ApproxGaussianDP",
    "Floats",
    "FunctionPair",
    "GaussianDP",
    "Level",
    "PureDP",
    "SuitablePair",
    "approx_lower",
    "approx_move",
    "approx_upper",
    "as_level",
    "as_probabilities",
    "as_quantile",
    "level_from_json",
    "promise_in_words",
    "require_accepted",
    "require_pure",
    "share_of",
]


def require_pure(level: Level) -> ApproxDP:
    """The level, checked to be pure (delta = 0)."""
    if isinstance(level, ApproxDP) and level.delta == 0:
        return level
    raise UnsupportedLevel(f"this needs a pure level, not {level}; give an epsilon, such as PureDP(1).")


def share_of(level: ApproxDP, share: Fraction) -> ApproxDP:
    """A share of a pure level; where e^epsilon is rational, a share of a decimal just below its logarithm.

    If shares add up to 1, their levels compose to at most this one.

    Examples
    --------
    >>> share_of(PureDP(1), Fraction(1, 4))
    PureDP(0.25)
    """
    if level.log_growth == math.inf:  # vacuous, whatever the share
        return level
    if level.ratio == 1 and isinstance(level.exponent, Fraction):
        return PureDP(level.exponent * share)
    return PureDP(Fraction(int(level.log_growth * (1 - 2**-40) * 10**12), 10**12) * share)
