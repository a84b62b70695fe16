"""Zero-concentrated differential privacy, the natural level for composing many releases with Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from utmost.errors import InvalidInput, UnsupportedLevel
from utmost.exact import (
    Enclosed,
    ExpSum,
    Number,
    Real,
    as_fmpq,
    as_literal,
    as_rational,
    compare,
    endpoints,
    show_rational,
    to_float,
)
from utmost.exact.arrays import Floats
from utmost.privacy.level import Level, log_fall, nonnegative


class ZCDP(Level):
    """rho-zero-concentrated differential privacy (Bun and Steinke 2016).

    Between neighbours the Rényi divergence of order a is at most rho·a, for every a > 1. Levels of several releases add
    up. It does not bound single probabilities: there is no `upper`, and designs that need one require another level.

    Parameters
    ----------
    rho : number
        0 or more. Gaussian noise of standard deviation s at l2 sensitivity m has rho = m^2 / (2 s^2).

    Examples
    --------
    >>> print(ZCDP(0.5), round(ZCDP(0.5).epsilon(1e-6), 10))
    0.5-zCDP 5.2215344445
    """

    kind = "zcdp"
    certifiable = False
    __slots__ = ("rho",)
    rho: Fraction | float

    def __init__(self, rho: Number) -> None:
        object.__setattr__(self, "rho", nonnegative(rho, "rho"))

    @property
    def parameters(self) -> dict[str, Fraction | float]:
        return {"rho": self.rho}

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"ZCDP is immutable; make a new level instead of setting {name}.")

    def epsilon(self, delta: Number) -> float:
        """An epsilon such that this level implies (epsilon, delta); the best of the bound below, rounded up.

        Canonne, Kamath and Steinke 2020 (Proposition 12): for every a > 1, rho-zCDP implies
        delta = e^((a-1)(a rho - epsilon)) (1 - 1/a)^a / (a - 1), so
        epsilon = a rho + (log(1/delta) + (a - 1) log(1 - 1/a) - log a) / (a - 1). The a is found in floating point, the
        epsilon for it in balls: every a gives a valid bound.

        Parameters
        ----------
        delta : number
            Above 0 and below 1.
        """
        chance = as_rational(delta, "delta")
        if not 0 < chance < 1:
            raise InvalidInput(f"delta is {delta!r}; give a probability above 0 and below 1, such as 1e-6.")
        if self.rho == 0 or self.rho == math.inf:
            return to_float(self.rho)
        rho, log_inverse = to_float(self.rho), -math.log(chance.numerator) + math.log(chance.denominator)

        def at(log_order: float) -> float:
            less = math.exp(log_order)  # a - 1
            return (1 + less) * rho + (log_inverse - math.log1p(less)) / less - math.log1p(1 / less)

        start = math.sqrt(log_inverse / rho) if log_inverse > 0 else 1.0
        low, high = math.log(start) - 10, math.log(start) + 10
        golden = (math.sqrt(5) - 1) / 2
        for _ in range(120):
            lower, upper = high - golden * (high - low), low + golden * (high - low)
            low, high = (low, upper) if at(lower) < at(upper) else (lower, high)
        less = Fraction(math.exp((low + high) / 2))
        with ctx.workprec(200):
            a, order_less_one = arb(as_fmpq(1 + less)), arb(as_fmpq(less))
            ball = (
                a * as_fmpq(Fraction(self.rho))
                + (-arb(as_fmpq(chance)).log() - a.log()) / order_less_one
                - (a / order_less_one).log()
            )
        return max(0.0, math.nextafter(float(endpoints(ball)[1]), math.inf))

    def _refuse(self) -> NoReturn:
        """Raise `UnsupportedLevel`, naming a Gaussian level that implies this one."""
        mu = math.sqrt(2 * to_float(self.rho))
        rounded = next(text for text in (f"{mu:.6g}", f"{mu * (1 - 1e-5):.6g}", "0") if self._covers(text))
        raise UnsupportedLevel(
            f"{self} bounds no single probability, which this design needs; give GaussianDP({rounded}), which implies "
            "it, or an epsilon. Counts, sums, means and histograms take zCDP."
        )

    def _covers(self, mu: str) -> bool:
        """Whether mu-Gaussian DP implies this level: it satisfies mu^2/2-zCDP."""
        return self.rho == math.inf or Fraction(mu) ** 2 <= 2 * self.rho

    def _upper(self, alpha: Floats) -> Floats:
        self._refuse()

    def _lower(self, alpha: Floats) -> Floats:
        self._refuse()

    def move(self, p: Floats, q: Floats) -> tuple[Floats, Floats]:
        self._refuse()

    def _upper_after(self, steps: NDArray[np.int64], alpha: Floats) -> Floats:
        self._refuse()

    def _lower_after(self, steps: NDArray[np.int64], alpha: Floats) -> Floats:
        self._refuse()

    def even_share(self) -> tuple[float, float]:
        self._refuse()

    def lines(self) -> tuple[tuple[float, float], ...] | None:
        self._refuse()

    def upper_exact(self, alpha: Real) -> Real:
        self._refuse()

    def kept_by(self, decay: Fraction, steps: int) -> bool:
        """Whether noise of this decay satisfies the level: half the square of its epsilon is at most rho."""
        if steps == 0 or decay >= 1 or self.rho == math.inf:
            return True
        most = ExpSum.rational(2 * Fraction(self.rho))
        return decay > 0 and compare(Enclosed(lambda bits: log_fall(decay, steps, bits) ** 2), most) <= 0

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "rho": "inf" if self.rho == math.inf else str(self.rho)}

    @classmethod
    def _from_json(cls, data: Mapping[str, Any]) -> ZCDP:
        return ZCDP(data["rho"])

    def _key(self) -> tuple[Any, ...]:
        return ("zcdp", self.rho)

    def __str__(self) -> str:
        return f"{'inf' if self.rho == math.inf else show_rational(Fraction(self.rho))}-zCDP"

    def __repr__(self) -> str:
        return f"ZCDP({as_literal(self.rho)})"
