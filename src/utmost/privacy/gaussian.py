"""Gaussian differential privacy: neighbours at least as hard to distinguish as N(0, 1) and N(mu, 1)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike, NDArray

from utmost.exact import Enclosed, ExpSum, Number, Real, as_literal, compare, show_rational, to_float
from utmost.exact.arrays import Floats
from utmost.privacy.level import ONE, ZERO, Level, nonnegative


class GaussianDP(Level):
    """mu-Gaussian differential privacy: neighbours are at least as hard to distinguish as N(0, 1) and N(mu, 1).

    Examples
    --------
    >>> round(GaussianDP(1).upper(0.5), 6)
    0.841345
    """

    kind = "gaussian"
    __slots__ = ("mu",)
    mu: Fraction | float

    def __init__(self, mu: Number) -> None:
        object.__setattr__(self, "mu", nonnegative(mu, "mu"))

    @property
    def parameters(self) -> dict[str, Fraction | float]:
        return {"mu": self.mu}

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"GaussianDP is immutable; make a new level instead of setting {name}.")

    @property
    def keeps_positive(self) -> bool:  # type: ignore[override]
        """Whether a positive probability is positive at every neighbour: mu is finite."""
        return not math.isinf(to_float(self.mu))

    def _upper(self, alpha: Floats) -> Floats:
        return gaussian_move(alpha, to_float(self.mu))

    def _lower(self, alpha: Floats) -> Floats:
        return gaussian_move(alpha, -to_float(self.mu))

    def move(self, p: Floats, q: Floats) -> tuple[Floats, Floats]:
        return self.move_after(np.array(1), p, q)

    def move_after(self, steps: NDArray[np.int64], p: Floats, q: Floats) -> tuple[Floats, Floats]:
        from scipy.special import ndtr

        if math.isinf(to_float(self.mu)):
            return self._upper_after(steps, p), self._lower_after(steps, q)
        quantile = as_quantile(p, q) + self._shift(steps)
        return (
            np.where(steps == 0, p, np.maximum(ndtr(quantile), p)),
            np.where(steps == 0, q, np.minimum(ndtr(-quantile), q)),
        )

    def _upper_after(self, steps: NDArray[np.int64], alpha: Floats) -> Floats:
        return gaussian_move(alpha, self._shift(steps))

    def _lower_after(self, steps: NDArray[np.int64], alpha: Floats) -> Floats:
        return gaussian_move(alpha, -self._shift(steps))

    def _shift(self, steps: NDArray[np.int64]) -> Floats:
        with np.errstate(invalid="ignore"):
            return np.where(steps == 0, 0.0, steps * to_float(self.mu))

    def even_share(self) -> tuple[float, float]:
        half, middle = to_float(self.mu) / 2, np.array(0.5)
        return float(gaussian_move(middle, half)), float(gaussian_move(middle, -half))

    def lines(self) -> tuple[tuple[float, float], ...] | None:
        return ((1.0, 0.0),) if self.mu == 0 else () if self.mu == math.inf else None

    def tangent(self, alpha: Floats) -> Floats:
        from scipy.special import ndtri

        mu, inside = to_float(self.mu), np.clip(alpha, 1e-300, 1 - 1e-16)
        return np.asarray(np.exp(-mu * ndtri(inside) - mu * mu / 2))

    def intercept(self, slope: Floats) -> Floats:
        from scipy.special import ndtr

        mu = to_float(self.mu)
        if self.lines() is not None:
            return np.maximum(0.0 if mu == 0 else 1.0, 1 - slope)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            touching = -np.log(slope) / mu - mu / 2
            return np.asarray(np.where(slope > 0, ndtr(touching + mu) - slope * ndtr(touching), 1.0 - slope))

    def upper_exact(self, alpha: Real) -> Real:
        if self.mu == math.inf:
            return ONE
        if self.mu == 0 or compare(alpha, ZERO) == 0 or compare(alpha, ONE) == 0:
            return alpha
        shift = ExpSum.rational(Fraction(self.mu))

        def enclose(bits: int) -> Any:
            with ctx.workprec(bits):
                root = arb(2).sqrt()
                quantile = (2 * alpha.enclose(bits)).erfcinv() * -root
                return (-(quantile + shift.enclose(bits)) / root).erfc() / 2

        return Enclosed(enclose)

    def kept_by(self, decay: Fraction, steps: int) -> bool:
        return self.mu == math.inf or super().kept_by(decay, steps)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "mu": "inf" if self.mu == math.inf else str(self.mu)}

    @classmethod
    def _from_json(cls, data: Mapping[str, Any]) -> GaussianDP:
        return GaussianDP(data["mu"])

    def _key(self) -> tuple[Any, ...]:
        return ("gaussian", self.mu)

    def __str__(self) -> str:
        return f"{self._text()}-Gaussian DP"

    def __repr__(self) -> str:
        return f"GaussianDP({as_literal(self.mu)})"

    def _text(self) -> str:
        return "inf" if self.mu == math.inf else show_rational(Fraction(self.mu))


def as_quantile(p: Floats, q: Floats) -> Floats:
    """Phi^-1(p), from the smaller of p and q = 1 - p, so that it is accurate in both tails."""
    from scipy.special import ndtri

    return np.asarray(np.where(p <= q, ndtri(p), -ndtri(q)))


def gaussian_move(alpha: Floats, shift: ArrayLike) -> Floats:
    """Phi(Phi^-1(alpha) + shift), accurate in both tails; an infinite shift leads to 1 or 0 from every alpha."""
    from scipy.special import ndtr, ndtri

    shift = np.asarray(shift, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        bound = ndtr(ndtri(alpha) + shift)
    fixed = ((alpha <= 0) | (alpha >= 1) | (shift == 0)) & np.isfinite(shift)
    bound = np.where(shift > 0, np.clip(bound, alpha, 1.0), np.clip(bound, 0.0, alpha))
    return np.asarray(np.where(fixed, alpha, np.where(np.isinf(shift), shift > 0, bound)))
