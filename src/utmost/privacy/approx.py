"""(epsilon, delta)-differential privacy, and its pure case delta = 0: the levels most people use."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Self

import numpy as np
from flint import ctx
from numpy.typing import ArrayLike, NDArray

from utmost.errors import InvalidInput, shown
from utmost.exact import (
    Enclosed,
    ExpSum,
    Number,
    Real,
    as_fmpq,
    as_literal,
    as_rational,
    compare,
    show_rational,
    to_float,
)
from utmost.exact.arrays import Floats
from utmost.exact.citations import cites
from utmost.privacy.level import ONE, ZERO, Level, nonnegative


@cites("BIN-proposition-2")
class ApproxDP(Level):
    """(epsilon, delta)-differential privacy: Pr[S] here <= e^epsilon Pr[S] at a neighbour + delta, for every event S.

    Parameters
    ----------
    epsilon : number
        0 or more; `math.inf` promises nothing but delta. A float means its shortest decimal.
    delta : number
        Between 0 and 1.

    Examples
    --------
    >>> ApproxDP(0, 0.25).upper([0.1, 0.9])
    array([0.35, 1.  ])
    >>> ApproxDP.from_ratio(2, 0.1).upper(0.3)
    0.7
    """

    kind = "approx"
    __slots__ = ("delta", "exponent", "ratio")
    ratio: Fraction
    exponent: Fraction | float
    delta: Fraction

    def __init__(self, epsilon: Number, delta: Number) -> None:
        self._set(Fraction(1), nonnegative(epsilon, "epsilon"), delta)

    @classmethod
    def from_ratio(cls, ratio: Number, delta: Number = 0) -> Self:
        """The level with e^epsilon equal to a rational number exactly."""
        value = as_rational(ratio, "the ratio e^epsilon")
        if value < 1:
            raise InvalidInput(f"the ratio e^epsilon is {shown(ratio)}; it must be 1 or more (1 is epsilon = 0).")
        level = cls.__new__(cls)
        level._set(value, Fraction(0), delta)
        return level

    def _set(self, ratio: Fraction, exponent: Fraction | float, delta: Number) -> None:
        share = as_rational(delta, "delta")
        if not 0 <= share <= 1:
            raise InvalidInput(f"delta is {shown(delta)}; it is a probability, so give a number between 0 and 1.")
        for name, value in (("ratio", ratio), ("exponent", exponent), ("delta", share)):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; make a new level instead of setting {name}.")

    @property
    def keeps_positive(self) -> bool:  # type: ignore[override]
        """Whether a positive probability is positive at every neighbour: delta = 0 and epsilon is finite."""
        return not self.delta and not math.isinf(self.log_growth)

    @property
    def epsilon(self) -> Fraction | float:
        """The exponent as given: a Fraction, or a float where it is a logarithm or infinite."""
        return self.exponent if self.ratio == 1 else self.log_growth

    @property
    def log_growth(self) -> float:
        """Epsilon as a float; infinity beyond their range."""
        if self.ratio == 1:
            return to_float(self.exponent)
        if self.ratio < 2:
            return math.log1p(self.ratio - 1)
        rounded = to_float(self.ratio)
        if math.isfinite(rounded):
            return math.log(rounded)
        return math.log(self.ratio.numerator) - math.log(self.ratio.denominator)

    @property
    def growth(self) -> float:
        """e^epsilon as a float; infinity where that overflows."""
        if self.ratio != 1:
            return to_float(self.ratio)
        return math.exp(self.exponent) if self.exponent < 709 else math.inf

    def _upper(self, alpha: Floats) -> Floats:
        return approx_upper(self.growth, float(self.delta), alpha)

    def _lower(self, alpha: Floats) -> Floats:
        return approx_lower(self.growth, float(self.delta), alpha)

    def move(self, p: Floats, q: Floats) -> tuple[Floats, Floats]:
        return approx_move(self.growth, float(self.delta), p, q)

    def move_after(self, steps: NDArray[np.int64], p: Floats, q: Floats) -> tuple[Floats, Floats]:
        return self._after(steps, p, q)

    def _upper_after(self, steps: NDArray[np.int64], alpha: Floats) -> Floats:
        return self._after(steps, alpha, 1 - alpha)[0]

    def _lower_after(self, steps: NDArray[np.int64], alpha: Floats) -> Floats:
        return self._after(steps, 1 - alpha, alpha)[1]

    def _after(self, steps: NDArray[np.int64], alpha: Floats, rest: Floats) -> tuple[Floats, Floats]:
        """The upper bound from alpha and its complement from rest = 1 - alpha, each accurate where it is small.

        BIN Def. 9 with max(0, .) in (6), in a form that neither overflows nor cancels. Bounds first grow (tau steps),
        then saturate; each split is an upper bound and the best one is attained, so the least of the splits next to
        the computed tau is right even where tau is off by one.
        """
        epsilon, delta = self.log_growth, float(self.delta)
        if epsilon == 0:
            return np.minimum(1.0, alpha + steps * delta), np.maximum(0.0, rest - steps * delta)
        if math.isinf(epsilon):
            moved = np.where((alpha > 0) | ((steps > 1) & (delta > 0)), 1.0, delta)
            return np.where(steps == 0, alpha, moved), np.where(steps == 0, rest, 1 - moved)
        turning = self._turning(alpha)
        with np.errstate(divide="ignore"):
            log_alpha = np.log(alpha)
        best, least = np.ones_like(alpha), np.zeros_like(alpha)
        for shift in (-1, 0, 1):
            tau = np.minimum(np.clip(turning + shift, 0.0, 2.0**62), steps)
            left = steps - tau
            with np.errstate(over="ignore"):
                grown = np.exp(np.where(alpha > 0, tau * epsilon + log_alpha, -np.inf))
                added = np.exp((tau - 1) * epsilon) * np.expm1(-tau * epsilon) / math.expm1(-epsilon)
            turned = np.where(tau > 0, np.minimum(1.0, grown + (delta * added if delta else 0.0)), alpha)
            missing = np.where(tau > 0, 1 - turned, rest)
            spent = delta * math.exp(-epsilon) * np.expm1(-left * epsilon) / math.expm1(-epsilon)
            missing = np.maximum(0.0, missing * np.exp(-left * epsilon) - spent)
            best = np.minimum(best, np.where(left > 0, 1 - missing, turned))
            least = np.maximum(least, missing)
        return np.maximum(best, alpha), np.minimum(least, rest)

    def even_share(self) -> tuple[float, float]:
        growth, delta = self.growth, float(self.delta)
        return (1.0 if math.isinf(growth) else (growth + delta) / (growth + 1)), (1 - delta) / (growth + 1)

    def _turning(self, alpha: Floats) -> Floats:
        """After how many steps growth turns to saturation: BIN (6) before max(0, .), 0 < epsilon < infinity."""
        epsilon, delta = self.log_growth, float(self.delta)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            if epsilon > 30:
                log_delta = math.log(delta) if delta > 0 else -math.inf
                turning = -np.logaddexp(epsilon + np.log(alpha), log_delta)
            else:
                room = 1 - delta - (math.exp(epsilon) + 1) * alpha
                turning = np.log1p(math.tanh(epsilon / 2) * room / (math.expm1(epsilon) * alpha + delta))
            return np.where(np.isnan(turning), 0.0, np.ceil(turning / epsilon))

    def bounds_after(self, steps: NDArray[np.int64], p: Floats, q: Floats) -> tuple[Floats, Floats, Floats]:
        count, values = self._steps(steps, p)
        higher, lower = self._after(count, values, np.broadcast_to(q, values.shape))
        return higher, lower, self._slope_after(count, values, lower)

    def slope_after(self, steps: ArrayLike, alpha: ArrayLike) -> Floats:
        count, values = self._steps(steps, alpha)
        return self._slope_after(count, values, self._after(count, values, 1 - values)[1])

    def _slope_after(self, count: NDArray[np.int64], values: Floats, below_one: Floats) -> Floats:
        """The slope, given how far the bound is below 1."""
        epsilon = self.log_growth
        if epsilon == 0:
            slope = np.ones_like(values)
        elif math.isinf(epsilon):
            slope = np.zeros_like(values)
        else:
            tau = np.minimum(np.clip(self._turning(values), 0.0, 2.0**62), count)
            with np.errstate(over="ignore"):
                slope = np.exp((2 * tau - count) * epsilon)
        return np.where(count == 0, 1.0, np.where(below_one > 0, slope, 0.0))

    def lines(self) -> tuple[tuple[float, float], ...]:
        growth, delta = self.growth, float(self.delta)
        if math.isinf(growth):
            return ()
        return ((growth, delta), (1 / growth, 1 - (1 - delta) / growth))

    def tangent(self, alpha: Floats) -> Floats:
        growth, (bend, end) = self.growth, self._bends()
        return np.where(alpha < bend, growth, np.where(alpha < end, 1 / growth, 0.0))

    def intercept(self, slope: Floats) -> Floats:
        if math.isinf(self.growth):  # upper jumps to 1 at 0
            return np.maximum(1.0, 1 - slope)
        return super().intercept(slope)

    def _bends(self) -> tuple[float, ...]:
        return (1 - float(self.delta)) / (self.growth + 1), 1 - float(self.delta)

    def upper_exact(self, alpha: Real) -> Real:
        if self.exponent == math.inf:
            return ONE if compare(alpha, ZERO) > 0 else ExpSum.rational(self.delta)
        ratio, exponent, delta = self.ratio, Fraction(self.exponent), self.delta
        if isinstance(alpha, Enclosed):
            factor = ExpSum.rational(ratio).times(Fraction(1), exponent)

            def enclose(bits: int) -> Any:
                with ctx.workprec(bits):
                    a, e, d = alpha.enclose(bits), factor.enclose(bits), as_fmpq(delta)
                    return (e * a + d).min(1 - (1 - d - a) / e).min(ONE.enclose(bits))

            return Enclosed(enclose)
        grown = alpha.times(ratio, exponent).plus(delta)
        saturated = alpha.plus(delta - 1).times(1 / ratio, -exponent).plus(1)
        return _least(_least(grown, saturated), ONE)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, **self._epsilon_json(), "delta": str(self.delta)}

    def _epsilon_json(self) -> dict[str, str]:
        if self.ratio != 1:
            return {"ratio": str(self.ratio)}
        return {"epsilon": "inf" if self.exponent == math.inf else str(self.exponent)}

    def _key(self) -> tuple[Any, ...]:
        return ("approx", self.ratio, self.exponent, self.delta)

    def _epsilon_text(self) -> str:
        if self.ratio != 1:
            return f"ln {show_rational(self.ratio)}"
        return "inf" if self.exponent == math.inf else show_rational(Fraction(self.exponent))

    def __str__(self) -> str:
        return f"({self._epsilon_text()}, {show_rational(self.delta)})-DP"

    def __repr__(self) -> str:
        delta = as_literal(self.delta)
        if self.ratio != 1:
            return f"ApproxDP.from_ratio({as_literal(self.ratio)}, {delta})"
        return f"ApproxDP({as_literal(self.exponent)}, {delta})"


class PureDP(ApproxDP):
    """epsilon-differential privacy: no event gets more than e^epsilon times likelier at a neighbour.

    Examples
    --------
    >>> PureDP(0.1).epsilon
    Fraction(1, 10)
    >>> PureDP.from_ratio(2).upper_after([1, 3], 0.1)
    array([0.2, 0.7])
    """

    kind = "pure"
    __slots__ = ()

    def __init__(self, epsilon: Number) -> None:
        super().__init__(epsilon, 0)

    @classmethod
    def from_ratio(cls, ratio: Number, delta: Number = 0) -> Self:
        """The level with e^epsilon equal to a rational number exactly.

        Examples
        --------
        >>> print(PureDP.from_ratio("3/2"))
        ln 1.5-DP
        """
        if delta:
            raise InvalidInput(f"delta is {shown(delta)} in a pure level; use ApproxDP.from_ratio for a delta above 0.")
        return super().from_ratio(ratio)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, **self._epsilon_json()}

    def __str__(self) -> str:
        return f"{self._epsilon_text()}-DP"

    def __repr__(self) -> str:
        if self.ratio != 1:
            return f"PureDP.from_ratio({as_literal(self.ratio)})"
        return f"PureDP({as_literal(self.exponent)})"


@cites("BIN-lemma-3")
def approx_upper(growth: Floats | float, delta: Floats | float, alpha: Floats) -> Floats:
    """min(E alpha + delta, 1 - (1 - delta - alpha)/E, 1), never below alpha; everything may be an array."""
    factor = np.asarray(growth, dtype=float)
    with np.errstate(invalid="ignore", over="ignore"):
        grown = np.where(alpha > 0, factor * alpha, 0.0) + delta  # infinity times 0 is 0 here
        saturated = np.where(np.isinf(factor), 1.0, (factor - 1 + delta + alpha) / factor)  # 1 - (1 - delta - alpha)/E
    return np.asarray(np.maximum(np.minimum(np.minimum(grown, saturated), 1.0), alpha))


@cites("BIN-lemma-4")
def approx_lower(growth: Floats | float, delta: Floats | float, alpha: Floats) -> Floats:
    """1 - approx_upper(1 - alpha), accurate where alpha is small."""
    factor = np.asarray(growth, dtype=float)
    with np.errstate(invalid="ignore", over="ignore"):
        shrunk = (alpha - delta) / factor
        fallen = np.where(alpha < 1, alpha - (factor - 1) * (1 - alpha), 1.0) - delta
    return np.asarray(np.minimum(np.maximum(np.maximum(shrunk, fallen), 0.0), alpha))


def approx_move(growth: Floats | float, delta: Floats | float, p: Floats, q: Floats) -> tuple[Floats, Floats]:
    """Upper(p) and lower(q) where q = 1 - p, each accurate where it is small: no difference from 1 is taken twice."""
    factor = np.asarray(growth, dtype=float)
    with np.errstate(invalid="ignore", over="ignore"):
        grown = np.minimum(np.where(p > 0, factor * p, 0.0) + delta, 1.0)
        shrunk = np.maximum(q - delta, 0.0) / factor
    higher, lower = np.minimum(grown, 1 - shrunk), np.maximum(shrunk, 1 - grown)
    return np.asarray(np.maximum(higher, p)), np.asarray(np.minimum(lower, q))


def _least(a: Real, b: Real) -> Real:
    return a if compare(a, b) <= 0 else b
