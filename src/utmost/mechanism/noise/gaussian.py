"""Gaussian noise on the integers: the rounded Gaussian, for Gaussian DP, and the discrete Gaussian, for zCDP.

*Rounded*: a Gaussian of variance v, rounded to the nearest integer. x + round(G) = round(x + G) for an integer x, so on
vectors it is the Gaussian mechanism followed by rounding: at l2 sensitivity m it satisfies mu-Gaussian DP with
mu = m/sqrt(v) (Dong, Roth and Su 2022), and what that implies.
*Discrete*: Pr[X = k] proportional to e^(-k^2/2v). It satisfies rho-zCDP with rho = m^2/(2v) (Canonne, Kamath and
Steinke 2020, Theorem 14, vectors included), at a variance just below v; it does not satisfy mu = m/sqrt(v).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike, NDArray

from utmost.errors import InvalidInput, TooLarge
from utmost.exact import Enclosed, ExpSum, as_fmpq, as_rational, compare
from utmost.exact.arrays import Floats
from utmost.mechanism.certification import Check
from utmost.mechanism.noise.law import MOST_TERMS, Moved, NoiseLaw
from utmost.mechanism.tail_sampling import SymmetricDraws
from utmost.privacy import ZCDP, ApproxDP, GaussianDP, Level
from utmost.space.line import Line
from utmost.space.sensitivity import squared_l2_sensitivity

FAR = 9.5
"""Standard deviations beyond which expectations omit the noise (probability below 2^-68); draws omit nothing."""
LEAST = Fraction(1, 10**60)
WIDE = 30.0
"""The standard deviation from which means of rounded noise are closed forms, accurate to 1e-12."""
NEARLY_GAUSSIAN = 50
"""The standard deviation from which the fourth moment is that of the Gaussian."""
MOST_LISTED = 2**15
"""The largest number of terms in the tail of a discrete Gaussian; wider ones are not drawn."""


@dataclass(frozen=True)
class GaussianLaw(NoiseLaw):
    """Base of both laws; use `RoundedGaussian` or `DiscreteGaussian`.

    Attributes
    ----------
    variance : Fraction
        v, above 0.
    """

    dimension = 1
    kind: ClassVar[str]
    rounded: ClassVar[bool]
    """Whether it is a continuous Gaussian that is rounded."""
    variance: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.variance, Fraction) or not LEAST <= self.variance <= 1 / LEAST:
            raise InvalidInput("a Gaussian has a variance from 1e-60 to 1e60, a rational number.")

    @property
    def name(self) -> str:
        return f"{self.kind} (standard deviation {self.deviation:.6g})"

    @property
    def deviation(self) -> float:
        """The standard deviation sqrt(v), as a float."""
        return math.sqrt(self.variance)

    @property
    def wide(self) -> int:
        distance = math.ceil(FAR * self.deviation) + 2
        if distance > MOST_TERMS:
            raise TooLarge(f"noise of standard deviation {self.deviation:.3g} is too wide; allow a larger level.")
        return distance

    def tail(self, k: ArrayLike) -> Floats:
        at = np.asarray(k, dtype=np.int64)
        above = self._above(np.maximum(at, 1 - at))
        return np.asarray(np.where(at > 0, above, 1 - above))

    @abstractmethod
    def _above(self, t: NDArray[Any]) -> Floats:
        """Pr[X >= t] in floats, t >= 1."""

    @property
    def gaussian(self) -> GaussianLaw:
        return self

    @property
    def nominal_variance(self) -> Fraction:
        return self.variance

    @property
    def fourth_moment(self) -> float:
        """The mean of X^4; that of a Gaussian where rounding is negligible."""
        return 3 * float(self.variance) ** 2 if self.deviation > NEARLY_GAUSSIAN else super().fourth_moment

    def characteristic(self, t: Floats) -> Floats:
        """The characteristic function by Poisson summation.

        The sum over the integers is a sum over the shifts by 2 pi of the density's transform; terms beyond the second
        shift are below e^-30 for every variance above 1/3.
        """
        wrapped = (t + math.pi) % (2 * math.pi) - math.pi
        variance, total, normaliser = float(self.variance), np.zeros_like(wrapped), 0.0
        for j in range(-3, 4):
            shifted = wrapped + 2 * math.pi * j
            total += np.exp(-variance * shifted**2 / 2) * (np.sinc(shifted / (2 * math.pi)) if self.rounded else 1.0)
            normaliser += math.exp(-variance * (2 * math.pi * j) ** 2 / 2)
        return np.asarray(total if self.rounded else total / normaliser)

    def draw(self, size: int) -> NDArray[np.int64]:
        return self._draws.draw(size)

    @cached_property
    def _draws(self) -> SymmetricDraws:
        return SymmetricDraws(self.enclose_tail)

    @classmethod
    def satisfies(cls, ratio: Fraction, level: Level) -> bool:
        """Whether the noise satisfies a level if the squared l2 sensitivity over its variance is `ratio` = mu^2."""
        return ratio == 0 or (isinstance(level, ZCDP) and bool(ratio <= 2 * level.rho))

    def prove(self, space: Moved, level: Level) -> Check:
        """Whether the law satisfies a level by its l2 sensitivity: in rationals, or in balls for (epsilon, delta)."""
        length = Fraction(squared_l2_sensitivity(space))
        if isinstance(space, Line):
            detail = f"moves of {space.reach} at {self.name}, compared exactly"
        else:
            root = f"one neighbour moves the vector by at most the square root of {length}"
            detail = f"{root}, variance {float(self.variance):.6g}, exactly"
        return Check("privacy", self.satisfies(length / self.variance, level), f"{level}: {detail}")

    def to_json(self) -> dict[str, Any]:
        return {"noise": "gaussian", "law": self.kind.partition(" ")[0], "variance": str(self.variance)}

    def part_to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "variance": str(self.variance)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The law written by `to_json`, which names the subclass, or that of a subclass by `part_to_json`."""
        laws: dict[Any, Any] = {"rounded": RoundedGaussian, "discrete": DiscreteGaussian}
        name = data["law"] if cls is GaussianLaw else cls.kind.partition(" ")[0]
        if name not in laws:
            raise InvalidInput("a Gaussian on the integers is rounded or discrete.")
        law: Self = laws[name](as_rational(data["variance"], "the variance"))
        return law


@dataclass(frozen=True)
class RoundedGaussian(GaussianLaw):
    """A Gaussian rounded to the nearest integer.

    Examples
    --------
    >>> RoundedGaussian(Fraction(1)).tail([1, 2]).round(6)
    array([0.308538, 0.066807])
    """

    kind: ClassVar[str] = "rounded Gaussian"
    rounded: ClassVar[bool] = True

    def mean(self, loss: str) -> float:
        """The expected loss of the noise as an error; for wide noise, the Gaussian's with a rounding correction."""
        if self.deviation < WIDE or loss not in ("absolute", "squared"):
            return super().mean(loss)
        return wide_mean(self.deviation, loss)

    def enclose_tail(self, t: int, bits: int) -> arb:
        with ctx.workprec(bits + 64 + 2 * t.bit_length()):
            return (arb(as_fmpq((Fraction(2 * t - 1) ** 2) / (8 * self.variance))).sqrt()).erfc() / 2

    def _above(self, t: NDArray[Any]) -> Floats:
        from scipy.special import ndtr

        return np.asarray(ndtr(-(np.asarray(t, dtype=float) - 0.5) / self.deviation))

    @classmethod
    def satisfies(cls, ratio: Fraction, level: Level) -> bool:
        """Whether the noise satisfies a level if the squared l2 sensitivity over its variance is `ratio` = mu^2.

        mu-Gaussian DP, mu^2/2-zCDP, and (epsilon, delta) for delta >= Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 -
        epsilon/mu) (Balle and Wang 2018).
        """
        if super().satisfies(ratio, level):
            return True
        if isinstance(level, GaussianDP):
            return bool(ratio <= level.mu**2)
        if not isinstance(level, ApproxDP):
            return False
        if level.exponent == float("inf"):
            return True
        if level.delta == 0:
            return False
        return compare(Enclosed(lambda bits: gaussian_delta(ratio, level, bits)), ExpSum.rational(level.delta)) <= 0


@dataclass(frozen=True)
class DiscreteGaussian(GaussianLaw):
    """The discrete Gaussian: Pr[X = k] proportional to e^(-k^2/2v).

    Examples
    --------
    >>> DiscreteGaussian(Fraction(1)).tail([1, 2]).round(6)
    array([0.300529, 0.058558])
    """

    kind: ClassVar[str] = "discrete Gaussian"
    rounded: ClassVar[bool] = False

    def enclose_tail(self, t: int, bits: int) -> arb:
        """A ball around Pr[X >= t]: terms are added from t on until the remainder is below 2^-bits of the first.

        From n on, term n + j is at most that of n times q^j with q = e^(-n/v), so the rest is at most term(n)/(1 - q).
        """
        precision = bits + 32
        first, sums = self._sums(precision)
        with ctx.workprec(precision + 64):
            return (sums[t] if t < len(sums) else self._beyond(t, precision)) / first

    def _sums(self, bits: int) -> tuple[arb, list[arb]]:
        """The total mass and the mass from each t on, cached by the number of bits."""
        if bits not in self._sums_by_bits:
            with ctx.workprec(bits + 64):
                last = math.ceil(math.sqrt(2 * (bits + 8) * math.log(2)) * self.deviation) + 2
                if last > MOST_LISTED:
                    raise TooLarge(f"noise of standard deviation {self.deviation:.3g} is too wide to be drawn.")
                sums = [arb(0)] * (last + 1)
                sums[last] = self._beyond(last, bits)
                for k in range(last - 1, -1, -1):
                    sums[k] = sums[k + 1] + self._term(k)
                self._sums_by_bits[bits] = (2 * sums[1] + 1, sums)
        return self._sums_by_bits[bits]

    @cached_property
    def _sums_by_bits(self) -> dict[int, tuple[arb, list[arb]]]:
        return {}

    def _beyond(self, t: int, bits: int) -> arb:
        """The mass from t on, term by term."""
        with ctx.workprec(bits + 64):
            mass, k = arb(0), t
            start = self._term(t)
            while True:
                term = self._term(k)
                remainder = term / (1 - (arb(as_fmpq(Fraction(-k) / self.variance))).exp())
                if remainder < start * arb(2) ** -(bits + 8):
                    return mass + remainder.union(arb(0))
                mass, k = mass + term, k + 1

    def _term(self, k: int) -> arb:
        """The mass of k, unnormalised."""
        return arb(as_fmpq(Fraction(-k * k) / (2 * self.variance))).exp()

    def _above(self, t: NDArray[Any]) -> Floats:
        far = self.wide + 1
        with np.errstate(under="ignore"):
            masses = np.exp(-(np.arange(far + 1.0) ** 2) / (2 * float(self.variance)))
        sums = np.append(np.cumsum(masses[::-1])[::-1], 0.0)
        return np.asarray(sums[np.minimum(t, far + 1)] / (2 * sums[1] + 1))


def wide_mean(sigma: float, loss: str) -> float:
    """The mean of |X| or X^2 of a rounded Gaussian of standard deviation `WIDE` or more.

    Rounding adds 1/12 to its variance, up to float precision. The mean of |X| is the sum over t of 2 Pr[G > t - 1/2]:
    the integral of the tails, 1/24 of their slope at 0, and -7/5760 of their third derivative there (Euler-Maclaurin;
    the remainder is below sigma^-5 / 10^4).

    Examples
    --------
    >>> [round(wide_mean(sigma, "absolute"), 9) for sigma in (30.0, 1000.0)]
    [23.935428615, 797.884527558]
    """
    if loss == "squared":
        return sigma**2 + 1 / 12
    return math.sqrt(2 / math.pi) * (sigma - 1 / (24 * sigma) - 7 / (5760 * sigma**3))


def gaussian_delta(ratio: Fraction, level: ApproxDP, bits: int) -> arb:
    """The delta of the Gaussian mechanism with mu^2 = ratio at a level's epsilon."""
    with ctx.workprec(bits + 128):
        mu = arb(as_fmpq(ratio)).sqrt()
        growth = arb(as_fmpq(level.ratio)) * arb(as_fmpq(Fraction(level.exponent))).exp()
        shift, root = growth.log() / mu, arb(2).sqrt()
        return ((shift - mu / 2) / root).erfc() / 2 - growth * ((shift + mu / 2) / root).erfc() / 2
