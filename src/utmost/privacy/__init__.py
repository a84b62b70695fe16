"""What is promised across one edge: how far a probability may move when one person's data change.

For an event of probability alpha at a point, a level bounds its probability at a neighbour by `lower(alpha)` and
`upper(alpha)`: a suitable pair (BIN Def. 12), with lower(alpha) = 1 - upper(1 - alpha). `upper_after(steps, alpha)`
is the bound that many edges away. A pair whose upper function is concave is a symmetric trade-off function (f-DP) and
makes sense for any number of outputs; one that is not concave holds for two outputs only.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from utmost.errors import InvalidInput, UnsupportedLevel, shown
from utmost.exact import Number
from utmost.exact.arrays import Floats
from utmost.privacy.approx import ApproxDP, PureDP, approx_lower, approx_move, approx_upper
from utmost.privacy.approx_gaussian import ApproxGaussianDP
from utmost.privacy.gaussian import GaussianDP, as_quantile
from utmost.privacy.level import Level, as_probabilities
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


def as_level(privacy: Level | Number) -> Level:
    """The level meant by an argument `privacy`: a bare number is that epsilon of pure differential privacy.

    A text is read as the command reads it: "0.5", "0.5,1e-6" (with a delta), "rho=0.1" (zCDP) or "mu=0.5" (Gaussian).

    Examples
    --------
    >>> as_level(0.5), as_level("1,1e-6"), as_level("rho=0.1")
    (PureDP(0.5), ApproxDP(1, 1e-06), ZCDP(0.1))
    """
    if isinstance(privacy, Level):
        return privacy
    if isinstance(privacy, str) and ("=" in privacy or "," in privacy):
        from utmost.privacy.written import read_level

        return read_level(privacy, "privacy")
    try:
        return PureDP(privacy)
    except InvalidInput:
        raise InvalidInput(
            f"privacy is {shown(privacy)}; give a number 0 or more (an epsilon), or a level such as PureDP(1), "
            "ApproxDP(1, 1e-6), ZCDP(0.1) or GaussianDP(1)."
        ) from None


def require_pure(level: Level) -> ApproxDP:
    """The level if it is pure (delta = 0), else an error that names the alternative."""
    if isinstance(level, ApproxDP) and level.delta == 0:
        return level
    raise UnsupportedLevel(f"this needs a pure level, not {level}; give an epsilon, such as PureDP(1).")


def share_of(level: ApproxDP, share: Fraction) -> ApproxDP:
    """A share of a pure level; where e^epsilon is a rational, of a decimal just below its logarithm.

    Shares that add up to 1 are levels that add up to at most this one.

    Examples
    --------
    >>> share_of(PureDP(1), Fraction(1, 4))
    PureDP(0.25)
    """
    if level.log_growth == math.inf:  # no promise at all, whatever the share
        return level
    if level.ratio == 1 and isinstance(level.exponent, Fraction):
        return PureDP(level.exponent * share)
    return PureDP(Fraction(int(level.log_growth * (1 - 2**-40) * 10**12), 10**12) * share)


def level_from_json(data: dict[str, Any]) -> Level:
    """The level written by `to_json`."""
    match data:
        case {"kind": "pure", "ratio": ratio}:
            return PureDP.from_ratio(ratio)
        case {"kind": "pure", "epsilon": epsilon}:
            return PureDP(_finite_or_inf(epsilon))
        case {"kind": "approx", "ratio": ratio, "delta": delta}:
            return ApproxDP.from_ratio(ratio, delta)
        case {"kind": "approx", "epsilon": epsilon, "delta": delta}:
            return ApproxDP(_finite_or_inf(epsilon), delta)
        case {"kind": "gaussian", "mu": mu}:
            return GaussianDP(_finite_or_inf(mu))
        case {"kind": "approx-gaussian", "mu": mu, "delta": delta}:
            return ApproxGaussianDP(_finite_or_inf(mu), delta)
        case {"kind": "zcdp", "rho": rho}:
            return ZCDP(_finite_or_inf(rho))
        case {"kind": "suitable-pair", "knots": knots, "binary_only": binary_only}:
            return SuitablePair([(a, u) for a, u in knots], binary_only)
    raise InvalidInput(
        f"{data!r} is not a privacy level; expected a kind of pure, approx, gaussian, approx-gaussian, zcdp, "
        "suitable-pair."
    )


def _finite_or_inf(text: str) -> Number:
    return math.inf if text == "inf" else text
