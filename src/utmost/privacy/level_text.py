"""Parse privacy levels from text: command-line options, settings files, form fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from utmost.errors import InvalidInput, shown
from utmost.exact import as_rational
from utmost.privacy.approx_gaussian import ApproxGaussianDP
from utmost.privacy.gaussian import GaussianDP
from utmost.privacy.level import ApproxDP, Level, PureDP
from utmost.privacy.zcdp import ZCDP


def read_level(text: str, what: str, delta: str = "0") -> Level:
    """Parse a level, as in --privacy, --budget and the levels of `utmost compose`.

    Parameters
    ----------
    text : str
        "0.5" (an epsilon), "0.5,1e-6" (with a delta), "rho=0.1" (zCDP), "mu=0.5" (Gaussian) or "mu=0.5,1e-6" (Gaussian
        with a delta).
    what : str
        The name of the option, for errors.
    delta : str
        The delta of a separate option, for a text without one.

    Examples
    --------
    >>> read_level("0.5", "--privacy"), read_level("0.5,1e-6", "--privacy"), read_level("rho=0.1", "--budget")
    (PureDP(0.5), ApproxDP(0.5, 1e-06), ZCDP(0.1))
    """
    name, equals, value = (part.strip() for part in text.partition("="))
    if equals:
        if name not in NAMED_LEVELS:
            raise InvalidInput(f"{what} is {shown(text)}; {HOW}.")
        if as_rational(delta, "delta"):
            raise InvalidInput(f"{what} is {shown(text)}, a level without a delta; drop --delta, or give an epsilon.")
        mu, comma, share = (part.strip() for part in value.partition(","))
        return ApproxGaussianDP(mu, share) if name == "mu" and comma else NAMED_LEVELS[name](value)
    epsilon, comma, own = (part.strip() for part in text.partition(","))
    if comma and not own:
        raise InvalidInput(
            f"{what} is {shown(text)}, with no delta after its comma; write one, or leave the comma out."
        )
    if comma and as_rational(delta, "delta"):
        raise InvalidInput(f"{what} is {shown(text)}, which has a delta of its own; drop --delta.")
    if epsilon not in ("inf", "infinity"):
        try:
            as_rational(epsilon)
        except InvalidInput:
            raise InvalidInput(f"{what} is {shown(text)}; {HOW}.") from None
    share = own or delta
    return ApproxDP(epsilon, share) if as_rational(share, "delta") else PureDP(epsilon)


HOW = "write an epsilon such as 0.5, or 0.5,1e-6 with a delta, or rho=0.1 (zCDP), or mu=0.5 (Gaussian)"
"""The syntax of levels, for errors."""
NAMED_LEVELS: dict[str, Callable[[Any], Level]] = {"rho": ZCDP, "mu": GaussianDP}
"""The levels that are written with the name of their parameter."""
