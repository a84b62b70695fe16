"""Canonical noise on the integers: the tight noise for sensitivity 1 at any concave level.

Awan and Vadhan (2023), Awan and Ramasethu (arXiv 2308.08343): T(t) = Pr[X >= t] starts from T(1) = c, where
upper(c) = 1 - c, continues by T(t + 1) = lower(T(t)), and X is symmetric. Then Pr[X + 1 >= t] = upper(Pr[X >= t]) for
every t, so that the likelihood ratio of a shift by one is monotone, every most powerful test is a tail, and tails
satisfy the level with equality. Proofs are in docs/theory.md.

| level | T(t), t >= 1 |
|---|---|
| (epsilon, delta) | max(0, (c + k) e^(-epsilon (t-1)) - k), c = (1-delta)/(1+e^epsilon), k = delta/(e^epsilon - 1) |
| mu-Gaussian | Phi(-mu (t - 1/2)): a Gaussian rounded to whole numbers |
| knots | iterated in rationals, geometric from where `lower` is straight down to 0 |

For a sensitivity of up to `step` the noise is step·X + J, with J uniform over one step (its two ends half each where
the step is even): the remainder of the released integer is independent of the point, and given it a neighbour shifts X
by 0 or 1. A sensitivity of several steps satisfies the level composed that often (group privacy).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike, NDArray

from utmost.errors import InvalidInput, TooLarge, UnsupportedLevel
from utmost.exact import Enclosed, ExpSum, as_fmpq, compare
from utmost.exact.arrays import Floats
from utmost.exact.bisection import first_integer
from utmost.mechanism.certification import Check
from utmost.mechanism.noise.gaussian import WIDE, wide_mean
from utmost.mechanism.noise.law import MOST_TERMS, NEGLIGIBLE, Moved, NoiseLaw
from utmost.mechanism.sampling import uniform_below
from utmost.mechanism.tail_sampling import SymmetricDraws
from utmost.privacy import ApproxDP, GaussianDP, Level, SuitablePair, level_from_json
from utmost.space.line import Line, cost, tolerance
from utmost.space.sensitivity import l1_sensitivity

MOST_STEPS = 2000
"""The largest number of rational iterations of a pair of knots."""


@dataclass(frozen=True)
class CanonicalLaw(NoiseLaw):
    """Canonical noise at a level for a sensitivity of up to `step`.

    Examples
    --------
    >>> from utmost.privacy import GaussianDP
    >>> law = CanonicalLaw(GaussianDP(1))
    >>> law.tail([1, 2]).round(6)
    array([0.308538, 0.066807])
    """

    kind: ClassVar[str] = "canonical"
    dimension = 1
    level: Level
    step: int = 1

    def __post_init__(self) -> None:
        require_canonical(self.level)
        if self.step < 1:
            raise InvalidInput(f"a step of {self.step} is none; give a whole number, 1 or more.")

    @property
    def name(self) -> str:
        if isinstance(self.level, GaussianDP) and self.step == 1:
            return f"rounded Gaussian (standard deviation {1 / float(self.level.mu):.6g})"
        wide = "" if self.step == 1 else f" on steps of {self.step}"
        return f"canonical {self.level}{wide}"

    @property
    def short_name(self) -> str:
        return self.name

    # ---- the law of X, for sensitivity 1 ----

    def _enclose_one_tail(self, t: int, bits: int) -> arb:
        """A ball around Pr[X >= t], t >= 1."""
        level = self.level
        with ctx.workprec(bits + 64 + 2 * t.bit_length()):
            if isinstance(level, GaussianDP):
                return (arb(as_fmpq(Fraction(level.mu))) * (2 * t - 1) / (8 * arb(1)).sqrt()).erfc() / 2
            if isinstance(level, ApproxDP):
                grown, delta = _growth(level), arb(as_fmpq(level.delta))
                share = (1 - delta) / (1 + grown)
                if level.log_growth == 0:
                    return (share - (t - 1) * delta).max(arb(0))
                offset = delta / (grown - 1)
                return ((share + offset) * grown ** (1 - t) - offset).max(arb(0))
            start, factor = self._orbit
            if t <= len(start):
                return arb(as_fmpq(start[t - 1]))
            return arb(as_fmpq(start[-1])) * arb(as_fmpq(factor)) ** (t - len(start))

    def _one_tail(self, t: NDArray[Any]) -> Floats:
        """Pr[X >= t] in floats, t >= 1."""
        level, places = self.level, np.asarray(t, dtype=float)
        if isinstance(level, GaussianDP):
            from scipy.special import ndtr

            return np.asarray(ndtr(-float(level.mu) * (places - 0.5)))
        if isinstance(level, ApproxDP):
            return np.asarray(level.lower_after(np.asarray(t, dtype=np.int64) - 1, level.even_share()[1]))
        start, factor = self._orbit
        start_floats = np.array([float(x) for x in start])
        at = np.minimum(np.asarray(t), len(start))
        with np.errstate(under="ignore"):
            return np.asarray(start_floats[at - 1] * float(factor) ** (np.asarray(t) - at))

    @cached_property
    def _orbit(self) -> tuple[list[Fraction], Fraction]:
        """The tails of a pair of knots until `lower` is linear down to 0, and its factor there."""
        assert isinstance(self.level, SuitablePair)
        lower = [(1 - a, 1 - u) for a, u in reversed(self.level.knots)]
        (_, _), (bend, value) = lower[:2]
        factor = value / bend
        if factor == 1:
            raise InvalidInput(f"{self.level} promises upper(alpha) = alpha near 1: such noise would have no end.")
        tails = [_even_point(self.level)]
        while tails[-1] > bend:
            if len(tails) == MOST_STEPS:
                raise TooLarge(f"noise at {self.level} takes more than {MOST_STEPS} different steps; use fewer knots.")
            tails.append(1 - self.level.at(1 - tails[-1]))
        return tails, factor

    # ---- the law of the noise ----

    def enclose_tail(self, t: int, bits: int) -> arb:
        if self.step == 1:
            return self._enclose_one_tail(t, bits)
        q, j = divmod(t + (self.step - 1) // 2, self.step)
        j -= (self.step - 1) // 2
        with ctx.workprec(bits + 64 + 2 * t.bit_length()):
            inner = self._enclose_one_tail(q + 1, bits)
            mass = self._enclose_one_tail(q, bits) - inner if q else 1 - 2 * inner
            return inner + mass * (self.step + 1 - 2 * j) / (2 * self.step)

    def tail(self, k: ArrayLike) -> Floats:
        at = np.asarray(k, dtype=np.int64)
        n = np.maximum(at, 1 - at)  # k or more is as likely as -k or less, and all but 1 - k or more
        q, rest = self._split(n)
        inner = self._one_tail(q + 1)
        above = inner + np.where(q > 0, self._one_tail(np.maximum(q, 1)) - inner, 1 - 2 * inner) * rest
        return np.asarray(np.where(at > 0, above, 1 - above))

    def _split(self, n: NDArray[Any]) -> tuple[NDArray[Any], Floats]:
        """For n >= 1: the q such that noise >= n means X > q, or X = q and J large enough; and the chance of that J."""
        r = self.step
        q = (n + (r - 1) // 2) // r
        j = n - r * q
        least = (r + 1) / 2 if r % 2 else r / 2 + 0.5
        return q, np.asarray((least - j) / r, dtype=float)

    def probability(self, k: ArrayLike) -> Floats:
        """Pr[noise = k] in floats: within a step the mass is uniform, so it follows from the masses of X."""
        n, r = np.abs(np.asarray(k, dtype=np.int64)), self.step
        q = (n + (r - 1) // 2) // r
        mass = self._mass(q)
        if r % 2 == 0:
            mass = np.where(n - r * q == r // 2, (mass + self._mass(q + 1)) / 2, mass)
        return np.asarray(mass / r)

    def _mass(self, q: NDArray[Any]) -> Floats:
        """Pr[X = q] in floats, q >= 0."""
        inner = self._one_tail(q + 1)
        return np.asarray(np.where(q > 0, self._one_tail(np.maximum(q, 1)) - inner, 1 - 2 * inner))

    @cached_property
    def wide(self) -> int:
        return self.step * first_integer(lambda far: bool(self._one_tail(np.array(far)) < NEGLIGIBLE), 1)

    def mean(self, loss: str) -> float:
        """The expected loss of the noise as an error: of X, and of J."""
        if loss not in ("absolute", "squared"):
            return 2 * float(self.tail(tolerance(loss) + 1))
        if isinstance(self.level, GaussianDP) and self.step == 1 and float(self.level.mu) * WIDE <= 1:
            return wide_mean(1 / float(self.level.mu), loss)
        steps, r = self.wide // self.step, self.step
        if steps > MOST_TERMS:
            raise TooLarge(f"noise at {self.level} is spread over {steps} steps; allow a larger level.")
        t = np.arange(steps + 1)
        mean_of_x = float(2 * (np.diff(cost(loss, t)) @ self._one_tail(t[1:])))
        if loss == "absolute":  # where X is not 0, J is symmetric around it
            return r * mean_of_x + float(self._mass(np.array(0))) * (r / 4 if r % 2 == 0 else (r * r - 1) / (4 * r))
        return r * r * mean_of_x + (r * r - 1 if r % 2 else r * r + 2) / 12 * (r > 1)

    def draw(self, size: int) -> NDArray[Any]:
        noise = self.step * self._draws.draw(size)
        return noise if self.step == 1 else noise + self._offsets(size)

    def _offsets(self, size: int) -> NDArray[np.int64]:
        """Draws of J."""
        r = self.step
        if r % 2:
            return uniform_below(r, size) - r // 2
        places = uniform_below(2 * r, size)  # the two ends have one of the 2r places each, all others two
        return np.asarray((places + 1) // 2 - r // 2)

    @cached_property
    def _draws(self) -> SymmetricDraws:
        return SymmetricDraws(self._enclose_one_tail)

    # ---- proof and file ----

    def follows(self, level: Level) -> bool:
        return self.step == 1 and self.level == level

    def prove(self, space: Moved, level: Level) -> Check:
        """Whether the law satisfies a level: by a theorem, and an exact comparison of levels."""
        if self.step != 1 and not isinstance(space, Line):
            return Check("privacy", False, f"{level}: canonical noise on vectors is for moves of one")
        sensitivity = l1_sensitivity(space)
        steps = -(-sensitivity // self.step)
        satisfies = group_satisfies(self.level, steps, level)
        group_privacy = f"moves of {sensitivity} are {steps} step(s) of noise that is {self.level} for each"
        return Check(
            "privacy", satisfies, f"{level}: {group_privacy}, by Awan and Vadhan's theorem; levels compared exactly"
        )

    def to_json(self) -> dict[str, Any]:
        return {"noise": self.kind, "level": self.level.to_json(), "step": self.step}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CanonicalLaw:
        if isinstance(data["step"], bool) or not isinstance(data["step"], int):
            raise InvalidInput("a step is a whole number.")
        return cls(level_from_json(data["level"]), data["step"])


def require_canonical(level: Level) -> None:
    """Refuse levels at which there is no canonical noise."""
    if not isinstance(level, ApproxDP | GaussianDP | SuitablePair) or not level.concave:
        raise UnsupportedLevel(
            f"canonical noise needs a concave level whose bounds are known exactly, not {level}; give PureDP, "
            "ApproxDP, GaussianDP or SuitablePair(knots)."
        )
    if level.strength == math.inf:
        raise InvalidInput(f"privacy is {level}: nothing is promised, so no noise is needed; give a finite level.")
    if level.strength == 0 and not level.delta:
        raise InvalidInput(f"privacy is {level}: no noise over all numbers hides everything; give a level above 0.")
    if isinstance(level, ApproxDP) and level.delta == 1:
        raise InvalidInput(f"privacy is {level}: nothing is promised, so no noise is needed; give a smaller delta.")


def group_satisfies(level: Level, steps: int, promised: Level) -> bool:
    """Whether group privacy over `steps` steps of a level implies a promised level: decided exactly.

    Gaussian levels add up; an (epsilon, delta) level over g steps is (g epsilon, delta (1 + e^epsilon + ... )), the
    slope and intercept of its iterated upper function.
    """
    if steps <= 1 and level == promised:
        return True
    if isinstance(level, GaussianDP) and isinstance(promised, GaussianDP):
        return bool(promised.mu == math.inf or steps * level.mu <= promised.mu)
    if not isinstance(level, ApproxDP) or not isinstance(promised, ApproxDP):
        return False
    if promised.exponent == math.inf or steps == 0:
        return True

    def over(bits: int) -> arb:
        with ctx.workprec(bits + 64 + 2 * steps.bit_length()):
            return _growth(level) ** steps - _growth(promised)

    def spent(bits: int) -> arb:
        with ctx.workprec(bits + 64 + 2 * steps.bit_length()):
            grown, delta = _growth(level), arb(as_fmpq(level.delta))
            times = steps if level.log_growth == 0 else (grown**steps - 1) / (grown - 1)
            return delta * times - arb(as_fmpq(promised.delta))

    zero = ExpSum.rational(0)
    same_growth = level.ratio**steps == promised.ratio if steps < 64 else level.ratio == promised.ratio == 1
    if (
        not (same_growth and steps * Fraction(level.exponent) == promised.exponent)
        and compare(Enclosed(over), zero) >= 0
    ):
        return False
    if steps == 1 or level.delta == 0:
        return bool(level.delta <= promised.delta)
    return compare(Enclosed(spent), zero) < 0


def _growth(level: ApproxDP) -> arb:
    """A ball around e^epsilon, at the working precision."""
    return arb(as_fmpq(level.ratio)) * arb(as_fmpq(Fraction(level.exponent))).exp()


def _even_point(level: SuitablePair) -> Fraction:
    """The c with upper(c) = 1 - c: the graph crosses the anti-diagonal once."""
    for (a, u), (b, v) in zip(level.knots[:-1], level.knots[1:], strict=True):
        if b + v >= 1:
            rest = 1 - a - u
            return a + (b - a) * rest / (b + v - a - u) if rest > 0 else a
    raise InvalidInput(f"{level} never reaches the diagonal; knots must end at (1, 1).")
