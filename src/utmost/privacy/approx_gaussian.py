"""Approximate Gaussian differential privacy: mu-Gaussian DP except with probability delta.

It is to Gaussian DP what (epsilon, delta) is to pure DP, and what approximate zCDP is to zCDP (Bun and Steinke 2016):
two neighbours' outputs are P = (1 - delta) P0 + delta P1 and Q = (1 - delta) Q0 + delta Q1, with P0 and Q0 at least as
hard to distinguish as N(0, 1) and N(mu, 1). So it is the composition of mu-Gaussian DP and (0, delta)-DP, and needed
where outputs may occur for one person only, as in partition selection: upper(0) = delta.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx

from utmost.errors import InvalidInput, shown
from utmost.exact import Enclosed, ExpSum, Number, Real, as_fmpq, as_literal, as_rational, compare, show_rational
from utmost.exact.arrays import Floats
from utmost.privacy.gaussian import GaussianDP, gaussian_move
from utmost.privacy.level import ONE, ZERO, Level, nonnegative


class ApproxGaussianDP(Level):
    """mu-Gaussian differential privacy except with probability delta, as partition selection needs.

    Parameters
    ----------
    mu : number
        Except with probability delta, neighbours are at least as hard to distinguish as N(0, 1) and N(mu, 1).
    delta : number
        The probability of an unbounded privacy loss: above 0 and below 1. Without one, `GaussianDP(mu)`.

    Examples
    --------
    >>> level = ApproxGaussianDP(1, 1e-6)
    >>> level.upper(0), round(level.upper(0.5), 6), level.upper(1)
    (1e-06, 0.841345, 1.0)
    """

    kind = "approx-gaussian"
    __slots__ = ("delta", "mu")
    mu: Fraction | float
    delta: Fraction

    def __init__(self, mu: Number, delta: Number) -> None:
        share = as_rational(delta, "delta")
        if not 0 < share < 1:
            raise InvalidInput(f"delta is {shown(delta)}; give a probability above 0 and below 1, or GaussianDP(mu).")
        object.__setattr__(self, "mu", nonnegative(mu, "mu"))
        object.__setattr__(self, "delta", share)

    @property
    def parameters(self) -> dict[str, Fraction | float]:
        return {"mu": self.mu, "delta": self.delta}

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"ApproxGaussianDP is immutable; make a new level instead of setting {name}.")

    @property
    def gaussian(self) -> GaussianDP:
        """The Gaussian part of the level."""
        return GaussianDP(self.mu)

    def _upper(self, alpha: Floats) -> Floats:
        delta = float(self.delta)
        rescaled = np.minimum(alpha / (1 - delta), 1.0)
        bound = delta + (1 - delta) * gaussian_move(rescaled, float(self.mu))
        return np.asarray(np.where(rescaled >= 1, 1.0, np.maximum(bound, alpha)))

    def _lower(self, alpha: Floats) -> Floats:
        delta = float(self.delta)
        rescaled = np.maximum(alpha - delta, 0.0) / (1 - delta)
        return np.asarray((1 - delta) * gaussian_move(rescaled, -float(self.mu)))

    def lines(self) -> tuple[tuple[float, float], ...] | None:
        return ((1.0, float(self.delta)),) if self.mu == 0 else () if self.mu == math.inf else None

    def tangent(self, alpha: Floats) -> Floats:
        delta = float(self.delta)
        steep = self.gaussian.tangent(np.minimum(alpha / (1 - delta), 1.0))
        return np.asarray(np.where(alpha >= 1 - delta, 0.0, steep))

    def intercept(self, slope: Floats) -> Floats:
        delta = float(self.delta)
        return np.asarray(delta + (1 - delta) * self.gaussian.intercept(slope))

    def upper_exact(self, alpha: Real) -> Real:
        rest = ExpSum.rational(1 - self.delta)
        if self.mu == math.inf or compare(alpha, rest) >= 0:
            return ONE
        if compare(alpha, ZERO) == 0:
            return ExpSum.rational(self.delta)

        def enclose(bits: int) -> Any:
            with ctx.workprec(bits):
                root, delta, mu = arb(2).sqrt(), arb(as_fmpq(self.delta)), arb(as_fmpq(Fraction(self.mu)))
                quantile = (2 * alpha.enclose(bits) / (1 - delta)).erfcinv() * -root
                return delta + (1 - delta) * (-(quantile + mu) / root).erfc() / 2

        return Enclosed(enclose)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "mu": "inf" if self.mu == math.inf else str(self.mu), "delta": str(self.delta)}

    @classmethod
    def _from_json(cls, data: Mapping[str, Any]) -> ApproxGaussianDP:
        return ApproxGaussianDP(data["mu"], data["delta"])

    def _key(self) -> tuple[Any, ...]:
        return (self.kind, self.mu, self.delta)

    def __str__(self) -> str:
        mu = "inf" if self.mu == math.inf else show_rational(Fraction(self.mu))
        return f"{mu}-Gaussian DP but for delta {show_rational(self.delta)}"

    def __repr__(self) -> str:
        return f"ApproxGaussianDP({as_literal(self.mu)}, {as_literal(self.delta)})"
