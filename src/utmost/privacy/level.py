"""Privacy levels: `Level`, and the levels `ApproxDP` and `PureDP`.

A `Level` is a pair of functions that bound a probability at a neighbour. `ApproxDP` is (epsilon, delta), and `PureDP`
its case delta = 0, which is what a bare number means (`as_level`). Noise with a rational decay satisfies a pure level
if the decay is at least e^-epsilon: `decay_above` is such a factor, and `Level.kept_by` decides exactly.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike, NDArray

from utmost.errors import InvalidInput, UnsupportedLevel, shown
from utmost.exact import (
    MOST_BITS,
    Amount,
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
from utmost.exact.citations import cites
from utmost.privacy.approx import approx_lower, approx_move, approx_upper

ZERO, ONE = ExpSum.rational(0), ExpSum.rational(1)


class Level(ABC):
    """A privacy level: immutable, hashable, comparable by value."""

    kinds: ClassVar[dict[str, type[Level]]] = {}
    """All kinds of levels by name; a subclass with a `kind` of its own is registered."""
    kind: ClassVar[str]
    concave: bool = True
    """Whether `upper` is concave, so that the level applies to more than two outputs."""
    certifiable: bool = True
    """Whether its bounds can be computed in exact arithmetic."""
    keeps_positive: bool = False
    """Whether a positive probability is positive at every neighbour: upper(0) = 0, and upper does not jump there."""

    def __init_subclass__(cls) -> None:
        if "kind" in vars(cls):
            Level.kinds[cls.kind] = cls

    def upper(self, alpha: ArrayLike) -> Any:
        """The largest probability at a neighbour of an event that has probability `alpha` here."""
        return _like(self._upper(as_probabilities(alpha)), alpha)

    def lower(self, alpha: ArrayLike) -> Any:
        """The least probability at a neighbour of an event that has probability `alpha` here: 1 - upper(1 - alpha)."""
        return _like(self._lower(as_probabilities(alpha)), alpha)

    def upper_after(self, steps: ArrayLike, alpha: ArrayLike) -> Any:
        """The largest probability at a point `steps` edges away; in closed form where there is one."""
        count, values = self._steps(steps, alpha)
        return _like(self._upper_after(count, values), values)

    def lower_after(self, steps: ArrayLike, alpha: ArrayLike) -> Any:
        """The least probability at a point `steps` edges away: 1 - upper_after(steps, 1 - alpha)."""
        count, values = self._steps(steps, alpha)
        return _like(self._lower_after(count, values), values)

    def _steps(self, steps: ArrayLike, alpha: ArrayLike) -> tuple[NDArray[np.int64], Floats]:
        count = np.asarray(steps)
        if count.size and (not np.issubdtype(count.dtype, np.integer) or count.min() < 0 or count.max() > 2**62):
            raise InvalidInput(f"steps is {shown(steps)}; give whole numbers of edges, 0 or more.")
        wide_steps, wide_alpha = np.broadcast_arrays(count, as_probabilities(alpha))
        return wide_steps.astype(np.int64), wide_alpha.astype(float)

    @abstractmethod
    def _upper(self, alpha: Floats) -> Floats: ...

    @abstractmethod
    def _lower(self, alpha: Floats) -> Floats: ...

    def move(self, p: Floats, q: Floats) -> tuple[Floats, Floats]:
        """Upper(p) and lower(q) where q = 1 - p, each accurate where it is small.

        Both bounds are computed from the smaller of p and q, which is accurate: rounding errors of 1 - p would grow
        with every step, by as much as a small probability may.
        """
        higher, lower = self._upper(p), self._lower(q)
        return np.where(p <= q, higher, 1 - lower), np.where(p <= q, 1 - higher, lower)

    def _upper_after(self, steps: NDArray[np.int64], alpha: Floats) -> Floats:
        return _iterate(self._upper, steps, alpha)

    def _lower_after(self, steps: NDArray[np.int64], alpha: Floats) -> Floats:
        return _iterate(self._lower, steps, alpha)

    def move_after(self, steps: NDArray[np.int64], p: Floats, q: Floats) -> tuple[Floats, Floats]:
        """`upper_after` of p and `lower_after` of q = 1 - p, each accurate where it is small, as by `move`.

        `lower_after` of q alone would stay at 1 where p is so small that q is rounded to 1.
        """
        for step in range(int(steps.max(initial=0))):
            higher, lower = self.move(p, q)
            bounds = np.where(steps > step, higher, p), np.where(steps > step, lower, q)
            if np.array_equal(bounds[0], p) and np.array_equal(bounds[1], q):  # further steps change nothing
                break
            p, q = bounds
        return p, q

    def bounds_after(self, steps: NDArray[np.int64], p: Floats, q: Floats) -> tuple[Floats, Floats, Floats]:
        """`move_after` of p and q = 1 - p, and `slope_after` at p, which share most of their computation."""
        return *self.move_after(*np.broadcast_arrays(steps, p, q)), self.slope_after(steps, p)

    def even_share(self) -> tuple[float, float]:
        """The largest alpha with alpha <= upper(1 - alpha), which both ends of an edge can have, and 1 - alpha."""
        low, high = 0.5, 1.0
        while low < (middle := (low + high) / 2) < high:
            low, high = (middle, high) if middle <= self.upper(1 - middle) else (low, middle)
        return low, 1 - low

    def slope_after(self, steps: ArrayLike, alpha: ArrayLike) -> Floats:
        """The slope of `upper_after` where it is linear around alpha; NaN where it is curved."""
        return np.full(np.broadcast(np.asarray(steps), np.asarray(alpha)).shape, np.nan)

    def lines(self) -> tuple[tuple[float, float], ...] | None:
        """The straight lines (slope, intercept) whose minimum, capped at 1, is `upper`; None if it is curved."""
        return None

    def tangent(self, alpha: Floats) -> Floats:
        """The slope of a line that touches a concave `upper` at alpha and lies above it everywhere."""
        raise UnsupportedLevel(f"{self} has no tangents; give its graph as SuitablePair(knots).")

    def intercept(self, slope: Floats) -> Floats:
        """The least t with upper(alpha) <= slope·alpha + t for every alpha."""
        lines = self.lines()
        if lines is None:
            raise UnsupportedLevel(f"{self} has no supporting lines in closed form; give knots instead.")
        bends = np.array([0.0, 1.0, *self._bends()])
        return np.asarray((self._upper(bends) - slope[:, None] * bends).max(axis=1))

    def _bends(self) -> tuple[float, ...]:
        return ()

    @abstractmethod
    def upper_exact(self, alpha: Real) -> Real:
        """`upper` without rounding, for exact decisions."""

    def kept_by(self, decay: Fraction, steps: int) -> bool:
        """Whether noise that falls by at most decay^steps between neighbours satisfies this level: decided exactly.

        It satisfies the pure level of ratio 1/decay^steps; that implies another if the other allows the corner
        alpha = d/(1 + d) -> 1/(1 + d), d = decay^steps, of its upper function.
        """
        return self.kept_by_falls([(decay, steps)])

    def kept_by_falls(self, falls: Sequence[tuple[Fraction, int]]) -> bool:
        """`kept_by` for a product of several decay^steps, for any numbers of steps."""
        falls = [(decay, steps) for decay, steps in falls if steps and decay < 1]
        if not falls:
            return True
        if any(decay <= 0 for decay, _ in falls):
            return False

        def corner(bits: int, upper: bool) -> arb:
            with ctx.workprec(bits + 64):
                fall = log_falls(falls, bits).exp()
                return 1 / (1 + fall) if upper else fall / (1 + fall)

        allowed = self.upper_exact(Enclosed(lambda bits: corner(bits, False)))
        return compare(allowed, Enclosed(lambda bits: corner(bits, True))) >= 0

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The level as plain JSON data; the inverse of `level_from_json`."""

    @classmethod
    def _from_json(cls, data: Mapping[str, Any]) -> Level:
        """The level of this kind that `to_json` wrote; `KeyError` if data are missing or the kind is never saved."""
        raise KeyError

    @abstractmethod
    def _key(self) -> tuple[Any, ...]: ...

    def __copy__(self) -> Level:
        return self

    def __deepcopy__(self, memo: object) -> Level:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return level_from_json, (self.to_json(),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Level) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def as_level(privacy: Level | Number) -> Level:
    """An argument `privacy` as a level: a bare number is that epsilon of pure differential privacy.

    A text is read as on the command line: "0.5", "0.5,1e-6" (with a delta), "rho=0.1" (zCDP) or "mu=0.5" (Gaussian).

    Examples
    --------
    >>> as_level(0.5), as_level("1,1e-6"), as_level("rho=0.1")
    (PureDP(0.5), ApproxDP(1, 1e-06), ZCDP(0.1))
    """
    if isinstance(privacy, Level):
        return privacy
    if isinstance(privacy, str) and ("=" in privacy or "," in privacy):
        from utmost.privacy.level_text import read_level

        return read_level(privacy, "privacy")
    try:
        return PureDP(privacy)
    except InvalidInput:
        raise InvalidInput(
            f"privacy is {shown(privacy)}; give a number 0 or more (an epsilon), or a level such as PureDP(1), "
            "ApproxDP(1, 1e-6), ZCDP(0.1) or GaussianDP(1)."
        ) from None


def level_from_json(data: Any) -> Level:
    """The level written by `to_json`."""
    kind = data.get("kind") if isinstance(data, Mapping) else None
    try:
        if isinstance(kind, str):
            return Level.kinds[kind]._from_json(data)
    except KeyError:
        pass
    raise InvalidInput(
        f"{data!r} is not a privacy level; expected a kind of pure, approx, gaussian, approx-gaussian, zcdp, "
        "suitable-pair."
    )


@cites("BIN-proposition-2")
class ApproxDP(Level):
    """(epsilon, delta)-differential privacy: Pr[S] here <= e^epsilon Pr[S] at a neighbour + delta, for every event S.

    Parameters
    ----------
    epsilon : number
        0 or more; `math.inf` imposes nothing but delta. A float means its shortest decimal.
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
        the computed tau is correct even if rounding shifts tau by one.
        """
        epsilon, delta = self.log_growth, float(self.delta)
        if epsilon == 0:
            return np.minimum(1.0, alpha + steps * delta), np.maximum(0.0, rest - steps * delta)
        if math.isinf(epsilon):
            bound = np.where((alpha > 0) | ((steps > 1) & (delta > 0)), 1.0, delta)
            return np.where(steps == 0, alpha, bound), np.where(steps == 0, rest, 1 - bound)
        turning = self._turning(alpha)
        with np.errstate(divide="ignore"):
            log_alpha = np.log(alpha)
        best, least = np.ones_like(alpha), np.zeros_like(alpha)
        for shift in (-1, 0, 1):
            tau = np.minimum(np.clip(turning + shift, 0.0, 2.0**62), steps)
            saturating = steps - tau
            with np.errstate(over="ignore"):
                grown = np.exp(np.where(alpha > 0, tau * epsilon + log_alpha, -np.inf))
                added = np.exp((tau - 1) * epsilon) * np.expm1(-tau * epsilon) / math.expm1(-epsilon)
            at_turn = np.where(tau > 0, np.minimum(1.0, grown + (delta * added if delta else 0.0)), alpha)
            complement = np.where(tau > 0, 1 - at_turn, rest)
            spent = delta * math.exp(-epsilon) * np.expm1(-saturating * epsilon) / math.expm1(-epsilon)
            complement = np.maximum(0.0, complement * np.exp(-saturating * epsilon) - spent)
            best = np.minimum(best, np.where(saturating > 0, 1 - complement, at_turn))
            least = np.maximum(least, complement)
        return np.maximum(best, alpha), np.minimum(least, rest)

    def even_share(self) -> tuple[float, float]:
        growth, delta = self.growth, float(self.delta)
        return (1.0 if math.isinf(growth) else (growth + delta) / (growth + 1)), (1 - delta) / (growth + 1)

    def _turning(self, alpha: Floats) -> Floats:
        """The number of steps of growth before saturation: BIN (6) before max(0, .), 0 < epsilon < infinity."""
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
        """The slope of the bound, given how far it is below 1."""
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

    def kept_by(self, decay: Fraction, steps: int) -> bool:
        if steps == 0 or decay >= 1 or decay_satisfies(self, decay, steps):
            return True
        return bool(self.delta) and super().kept_by(decay, steps)

    def kept_by_falls(self, falls: Sequence[tuple[Fraction, int]]) -> bool:
        if self.exponent == math.inf:
            return True
        if all(decay > 0 for decay, steps in falls if steps):

            def slack(bits: int) -> arb:
                with ctx.workprec(bits + 64):
                    return log_falls(falls, bits) + enclose_epsilon(self)

            if compare(Enclosed(slack), ZERO) >= 0:
                return True
        return bool(self.delta) and super().kept_by_falls(falls)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, **self._epsilon_json(), "delta": str(self.delta)}

    @classmethod
    def _from_json(cls, data: Mapping[str, Any]) -> ApproxDP:
        if "ratio" in data:
            return ApproxDP.from_ratio(data["ratio"], data["delta"])
        return ApproxDP(data["epsilon"], data["delta"])

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
    """epsilon-differential privacy: no event is more than e^epsilon times likelier at a neighbour.

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

    @classmethod
    def _from_json(cls, data: Mapping[str, Any]) -> PureDP:
        return PureDP.from_ratio(data["ratio"]) if "ratio" in data else PureDP(data["epsilon"])

    def __str__(self) -> str:
        return f"{self._epsilon_text()}-DP"

    def __repr__(self) -> str:
        if self.ratio != 1:
            return f"PureDP.from_ratio({as_literal(self.ratio)})"
        return f"PureDP({as_literal(self.exponent)})"


# ---- epsilon as an exact amount, and a rational just above e^-epsilon ----


def epsilon_of(level: ApproxDP) -> Amount:
    """The epsilon of a level, exactly."""
    return Amount(level.exponent, level.ratio)


def enclose_epsilon(level: ApproxDP) -> arb:
    """A ball around a finite epsilon, at the working precision."""
    return epsilon_of(level).enclose()


def enclose_decay(level: ApproxDP, bits: int, steps: int = 1) -> arb:
    """A ball around e^(-epsilon/steps), epsilon finite."""
    with ctx.workprec(bits + 64):
        return (enclose_epsilon(level) / -steps).exp()


@lru_cache(maxsize=1024)
def decay_above(level: ApproxDP, steps: int = 1) -> Fraction:
    """A rational at or just above e^(-epsilon/steps), accurate to 64 bits, as is its difference from 1.

    Examples
    --------
    >>> decay_above(PureDP.from_ratio(3)), decay_satisfies(PureDP(1), decay_above(PureDP(1)), steps=1)
    (Fraction(1, 3), True)
    """
    if level.exponent == math.inf:
        return Fraction(0)
    if level.exponent == 0 and steps == 1:
        return 1 / level.ratio
    exponent = max(level.log_growth / steps, 1e-300)
    if exponent > MOST_BITS * math.log(2):  # a file may hold any epsilon; its decay would fill the memory
        return Fraction(1, 1 << MOST_BITS)
    bits = min(MOST_BITS, 66 + math.ceil(max(exponent / math.log(2), -math.log2(exponent))))
    high = endpoints(enclose_decay(level, 2 * bits, steps))[1]
    decay = Fraction(math.ceil(high * 2**bits), 2**bits)
    if decay >= 1:
        raise InvalidInput(f"privacy is {level} over {steps} steps: noise would have no end; allow a larger epsilon.")
    return decay


def decay_satisfies(level: ApproxDP, decay: Fraction, steps: int) -> bool:
    """Whether decay^steps is at least e^-epsilon: decided in exact arithmetic."""
    if level.exponent == math.inf:
        return True
    if decay <= 0:
        return False
    if steps == 1:
        return ExpSum.rational(decay * level.ratio).times(Fraction(1), Fraction(level.exponent)).compare(ONE) >= 0

    def slack(bits: int) -> arb:
        with ctx.workprec(bits + 64 + 2 * decay.denominator.bit_length()):
            return arb(as_fmpq(decay)).log() * steps + enclose_epsilon(level)

    return compare(Enclosed(slack), ZERO) >= 0


def log_fall(decay: Fraction, steps: int, bits: int) -> arb:
    """The logarithm of decay^steps, to about `bits` bits."""
    with ctx.workprec(bits + 64 + 2 * decay.denominator.bit_length() + steps.bit_length()):
        return arb(as_fmpq(decay)).log() * steps


def log_falls(falls: Sequence[tuple[Fraction, int]], bits: int) -> arb:
    """The logarithm of the product of several decay^steps, to about `bits` bits."""
    with ctx.workprec(bits + 64):
        return sum((log_fall(decay, steps, bits) for decay, steps in falls if steps), start=arb(0))


# ---- parameters and arrays of levels ----


def as_probabilities(alpha: ArrayLike) -> Floats:
    """An array of floats between 0 and 1, checked."""
    try:
        values = np.asarray(alpha, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInput(f"{shown(alpha)} is not a probability; give numbers between 0 and 1.") from None
    wrong = ~((values >= 0) & (values <= 1))
    if wrong.any():
        raise InvalidInput(f"{float(values[wrong].flat[0])!r} is not a probability; give numbers between 0 and 1.")
    return values


def nonnegative(value: Number, name: str) -> Fraction | float:
    """A parameter that is 0 or more, or infinity, checked."""
    if (isinstance(value, float) and value == math.inf) or (isinstance(value, str) and value == "inf"):
        return math.inf
    exact = as_rational(value, name)
    if exact < 0:
        raise InvalidInput(f"{name} is {shown(value)}; it must be 0 or more.")
    return exact


def _like(result: Floats, argument: ArrayLike) -> Any:
    """A float if the argument was a scalar, else the array."""
    return float(result) if np.ndim(argument) == 0 else result


def _iterate(move: Callable[[Floats], Floats], steps: NDArray[np.int64], alpha: Floats) -> Floats:
    """A function applied `steps` times to alpha."""
    bounds = alpha
    for step in range(int(steps.max(initial=0))):
        next_bounds = np.where(steps > step, move(bounds), bounds)
        if np.array_equal(next_bounds, bounds):  # a fixed point: further steps change nothing
            break
        bounds = next_bounds
    return bounds


def _least(a: Real, b: Real) -> Real:
    """The smaller of two exact numbers."""
    return a if compare(a, b) <= 0 else b
