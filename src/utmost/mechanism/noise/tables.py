"""Noise on several tables of counts of the same rows, each table with a law of its own.

A row is in one cell of every table, so a neighbour changes all tables at once, and its privacy loss adds up over them:
the logarithms of geometric decays, or squared l2 sensitivities over the variances of Gaussian noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput
from utmost.exact import endpoints, to_float
from utmost.exact.arrays import Floats
from utmost.mechanism.certification import Check
from utmost.mechanism.exact_law import ExactMechanism
from utmost.mechanism.noise.gaussian import DiscreteGaussian, GaussianLaw, RoundedGaussian, gaussian_satisfies
from utmost.mechanism.noise.lattice import GeometricLaw, IndependentLaw
from utmost.privacy import Level
from utmost.privacy.level import log_falls
from utmost.space.integers import CentredTables, Tables
from utmost.space.sensitivity import l1_sensitivity, squared_l2_sensitivity

MOST_TABLES = 4096
"""The largest number of tables in a file."""
MOST_BITS = 10**5
"""The largest number of bits of the product of powers of decays; beyond, balls around its logarithm decide."""


@dataclass(frozen=True, eq=False)
class NoisyTables(ExactMechanism):
    """Tables of counts with independent noise on every cell, of one law in each table.

    Examples
    --------
    >>> total, cells = IndependentLaw(1, GeometricLaw(Fraction(1, 2))), IndependentLaw(3, GeometricLaw(Fraction(1, 3)))
    >>> noise = NoisyTables((total, cells))
    >>> [len(table) for table in noise.sample([[10], [2, 3, 5]])]
    [1, 3]
    """

    kind: ClassVar[str] = "tables.noise"
    laws: tuple[IndependentLaw, ...]

    @property
    def name(self) -> str:
        """The noise in words."""
        kinds = sorted({law.single.kind for law in self.laws})
        many = f"{len(self.laws)} tables, each at a level of its own" if len(self.laws) > 1 else "one table"
        return f"{' and '.join(kinds)} noise on {many}"

    def sample(self, point: Sequence[Any]) -> list[NDArray[Any]]:
        return [np.asarray(table) + law.draw(1)[0] for table, law in zip(point, self.laws, strict=True)]

    def prove(self, space: Any, level: Level) -> Check:
        """Whether the privacy loss, added up over all tables, satisfies a level: decided exactly."""
        sizes = tuple(law.dimension for law in self.laws)
        if not isinstance(space, Tables | CentredTables) or space.sizes != sizes:
            return Check("privacy", False, f"{level}: the noise is for tables of other sizes")
        singles = [law.single for law in self.laws]
        if isinstance(space, CentredTables):
            return _prove_centred(singles, space, level)
        tables = space.lattices()
        if all(isinstance(single, GeometricLaw) for single in singles):
            falls = [(single.decay, l1_sensitivity(table)) for single, table in zip(singles, tables, strict=True)]
            if sum(decay.denominator.bit_length() * far for decay, far in falls) > MOST_BITS:
                total_decay, satisfies = _product_of_decays(falls), level.kept_by_falls(falls)
            else:
                fall = Fraction(math.prod(decay**far for decay, far in falls))
                total_decay, satisfies = float(fall), level.kept_by(fall, 1)
            detail = f"one neighbour's moves, over all {len(sizes)} tables, fall by {total_decay:.6g}"
            return Check("privacy", satisfies, f"{level}: {detail}, exactly")
        kinds = {single.kind for single in singles}
        if len(kinds) == 1 and all(isinstance(single, GaussianLaw) for single in singles):
            ratios = [squared_l2_sensitivity(table) / one.variance for one, table in zip(singles, tables, strict=True)]
            detail = f"squared moves over variances add up to {float(sum(ratios)):.6g} over all {len(sizes)} tables"
            satisfies = gaussian_satisfies(kinds.pop(), Fraction(sum(ratios)), level)
            return Check("privacy", satisfies, f"{level}: {detail}, exactly")
        return Check("privacy", False, f"{level}: the tables have noise of kinds that are not added up")

    def to_json(self) -> dict[str, Any]:
        return {"laws": [law.to_json() for law in self.laws]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        laws = data["laws"]
        if not isinstance(laws, list) or not 1 <= len(laws) <= MOST_TABLES:
            raise InvalidInput("noise on tables has a law for each table.")
        return cls(tuple(IndependentLaw.from_json(law) for law in laws))


def _product_of_decays(falls: Sequence[tuple[Fraction, int]]) -> float:
    """The product of several decay^steps as a float; 0 where it underflows."""
    if any(steps and not decay for decay, steps in falls):
        return 0.0
    return to_float(endpoints(log_falls(falls, 64).exp())[1]) if float(log_falls(falls, 64)) > -700 else 0.0


def _prove_centred(singles: Sequence[Any], space: CentredTables, level: Level) -> Check:
    """The check of Gaussian noise on centred tables, by the largest weighted sum of squared sensitivities."""
    kinds = {single.kind for single in singles}
    if len(kinds) != 1 or not all(isinstance(single, GaussianLaw) for single in singles):
        return Check("privacy", False, f"{level}: centred tables take Gaussian noise of one kind")
    ratio = space.largest_square([1 / single.variance for single in singles])
    detail = f"squared moves over variances add up to {float(ratio):.6g} over all {len(singles)} tables"
    return Check("privacy", gaussian_satisfies(kinds.pop(), ratio, level), f"{level}: {detail}, exactly")


def characteristic(law: Any, t: Floats) -> Floats:
    """The characteristic function E[e^(itX)] of one integer's noise: real, as the noise is symmetric.

    The Gaussians by Poisson summation: the sum over the integers is a sum over the shifts by 2 pi of the density's
    transform; terms beyond the second shift are below e^-30 for every variance above 1/3.
    """
    if isinstance(law, GeometricLaw):
        b = float(law.decay)
        return np.asarray((1 - b) ** 2 / ((1 - b) ** 2 + 4 * b * np.sin(t / 2) ** 2))
    wrapped = (t + math.pi) % (2 * math.pi) - math.pi
    variance, total, normaliser = float(law.variance), np.zeros_like(wrapped), 0.0
    for j in range(-3, 4):
        shifted = wrapped + 2 * math.pi * j
        term = np.exp(-variance * shifted**2 / 2)
        if isinstance(law, RoundedGaussian):
            total += term * np.sinc(shifted / (2 * math.pi))
            normaliser = 1.0
        else:
            assert isinstance(law, DiscreteGaussian)
            total += term
            normaliser += math.exp(-variance * (2 * math.pi * j) ** 2 / 2)
    return np.asarray(total / normaliser)


def _fourth(law: Any) -> float:
    """The fourth moment of one integer's noise."""
    if isinstance(law, GeometricLaw):
        b = float(law.decay)
        return 2 * b * (1 + 11 * b + 11 * b**2 + b**3) / ((1 + b) * (1 - b) ** 4)
    if law.deviation > 50:  # the effect of rounding is negligible here
        return 3 * float(law.variance) ** 2
    t = np.arange(1, law.wide + 1)
    return float(2 * np.sum((t**4.0 - (t - 1.0) ** 4) * law.tail(t)))


SMOOTHED, REACH = 0.005, 32.0
"""The smoothing of a sum and the circumference of its circle, in units of its standard deviation."""
BEYOND = 6.4e-5
"""The probability that a Gaussian exceeds 4 deviations, and a little for rounding."""


def sum_half_width(terms: Sequence[tuple[Any, float, int]], confidence: float) -> float:
    """A half width h such that a weighted sum of independent noises is within ±h with at least this probability.

    The characteristic functions are multiplied, and the law is computed by a Fourier series. The sum E may lie on any
    lattice, so a Gaussian G of a small deviation s is added first: |E| <= |E + G| + |G|, so 4s more, and the
    probability that |G| exceeds it, turn the interval of E + G into one of E. The tail beyond the circle is bounded by
    the fourth moment.

    Parameters
    ----------
    terms : sequence of tuples
        (law, factor, number of such noises).
    confidence : float
        A probability.

    Examples
    --------
    >>> half = sum_half_width([(GeometricLaw(Fraction(1, 3)), 1.0, 2)], 0.95)
    >>> 4 <= half < 5                                                  # of the sum of two: 4
    True
    """
    deviation = _deviation(terms)
    if deviation == 0:
        return 0.0
    target = confidence + BEYOND + _kurtosis(terms) / (REACH / 2) ** 4
    if target >= 1:
        return deviation / math.sqrt(1 - confidence)  # Chebyshev: noise that is nearly always 0
    smooth, period = SMOOTHED * deviation, REACH * deviation
    k, t, phi = _smoothed(terms)

    def inside(h: float) -> float:
        return 2 * h / period + float(np.sum(phi * np.sin(t * h) * 2 / (math.pi * k)))

    low, high = 0.0, period / 2
    while high - low > 1e-4 * deviation:
        middle = (low + high) / 2
        low, high = (low, middle) if inside(middle) >= target else (middle, high)
    return high + 4 * smooth


MOST_PEAKED = 40.0
"""With a larger kurtosis a sum of noises is nearly always 0, and two of them are hardly ever nonzero at once."""


def sum_mean_size(terms: Sequence[tuple[Any, float, int]]) -> float:
    """The mean absolute value of a weighted sum of independent noises, to about two digits.

    By the Fourier series of |x| on the circle, less the first-order effect of the Gaussian: half its variance times
    twice the density at 0.

    Examples
    --------
    >>> round(sum_mean_size([(GeometricLaw(Fraction(1, 3)), 1.0, 2)]), 2)    # of the sum of two: 1.21875
    1.22
    """
    deviation = _deviation(terms)
    if deviation == 0:
        return 0.0
    if _kurtosis(terms) > MOST_PEAKED:
        return math.fsum(abs(factor) * count * float(law.mean("absolute")) for law, factor, count in terms)
    smooth, period = SMOOTHED * deviation, REACH * deviation
    k, _, phi = _smoothed(terms)
    odd = k % 2 == 1
    mean = period / 4 - 2 * period / math.pi**2 * float(np.sum(phi[odd] / k[odd] ** 2))
    return mean - smooth**2 * (1 + 2 * float(phi.sum())) / period


def _deviation(terms: Sequence[tuple[Any, float, int]]) -> float:
    """The standard deviation of a sum of noises."""
    return math.sqrt(math.fsum(law.mean("squared") * factor**2 * count for law, factor, count in terms))


def _kurtosis(terms: Sequence[tuple[Any, float, int]]) -> float:
    """The fourth moment of a sum of noises over the square of its variance; infinite where that underflows."""
    squared_variance = _deviation(terms) ** 4
    if squared_variance == 0:
        return math.inf
    excess = (count * factor**4 * (_fourth(law) - 3 * law.mean("squared") ** 2) for law, factor, count in terms)
    return 3 + math.fsum(excess) / squared_variance


def _smoothed(terms: Sequence[tuple[Any, float, int]]) -> tuple[Any, Floats, Floats]:
    """The indices of a Fourier series on a circle, their frequencies, and the transform of the smoothed sum there."""
    deviation = _deviation(terms)
    smooth, period = SMOOTHED * deviation, REACH * deviation
    k = np.arange(1, math.ceil(8 / smooth * period / (2 * math.pi)) + 1)
    t: Floats = np.asarray(2 * math.pi * k / period, dtype=np.float64)
    log = -(smooth**2) * t**2 / 2
    sign = np.ones_like(t)
    for law, factor, count in terms:
        factor_transform = characteristic(law, np.asarray(t * factor))
        with np.errstate(divide="ignore"):
            log = log + count * np.log(np.abs(factor_transform))
        if count % 2:
            sign = sign * np.sign(factor_transform)
    return k, t, sign * np.exp(np.maximum(log, -700.0)) * (log > -700)
