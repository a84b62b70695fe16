"""Noise for real answers: the staircase, which LIM chapter 2 proves optimal, and Laplace for comparison.

The density falls by e^-epsilon once per `sensitivity` of the l1 norm, in steps instead of smoothly (LIM (2.8)). The
continuous law is for design and study. A release is on a grid: the answer is rounded to a multiple of a public step,
in exact arithmetic, and integer noise with a rational law is added, private for the sensitivity after rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from utmost.errors import InvalidInput, SolverFailed
from utmost.exact import Number, as_rational, show_rational, to_float
from utmost.exact.citations import cites
from utmost.mechanism.certification import Check
from utmost.mechanism.sampling import ROWS_AT_ONCE
from utmost.privacy import ApproxDP, Level
from utmost.solution import Certificate, Verification
from utmost.theory.scalar.design.best_gamma import TOLERANCE, best_gamma, better_gamma
from utmost.theory.scalar.design.discrete_staircase import IntegerNoise, discrete_laplace, discrete_staircase
from utmost.theory.scalar.design.line import exact_cost
from utmost.theory.scalar.design.noise_arguments import (
    as_confidence,
    as_dimension,
    as_noise_level,
    as_positive,
    as_private_vector,
    as_size,
    exact_number,
)
from utmost.theory.scalar.design.staircase_radius import LaplaceRadius, RadiusLaw, StaircaseRadius, float_above

POWERS = {"l1": 1, "l2": 2}
GIVEN = "gamma as given"
PERIODS, PLACES = 8, 512
"""How many sensitivities of norms `verify` compares, and how many places in each."""


@dataclass(frozen=True, eq=False)
class NoiseMechanism:
    """Noise for an answer of one or more real numbers; made by `staircase` and `laplace`.

    Attributes
    ----------
    level : ApproxDP
        The pure privacy level that it satisfies at this sensitivity.
    sensitivity : Fraction
        The l1 sensitivity.
    dimension : int
        Length of an answer.
    cost : str
        "l1", the l1 norm of the noise, or "l2", its squared Euclidean norm.
    radius : RadiusLaw
        The law of the l1 norm, in units of the sensitivity.
    expected_cost : float
        The mean cost.
    certificate : Certificate
        Why no other noise is better, or that this is open or not claimed.
    """

    level: ApproxDP
    sensitivity: Fraction
    dimension: int
    cost: str
    radius: RadiusLaw
    expected_cost: float
    certificate: Certificate

    @property
    def gamma(self) -> float | None:
        """The share of each period on its upper step; None for Laplace."""
        return float(self.radius.gamma) if isinstance(self.radius, StaircaseRadius) else None

    def density(self, x: ArrayLike) -> Any:
        """The density of the noise at x; in more dimensions the last axis of x holds the coordinates."""
        with np.errstate(over="ignore"):  # infinity beyond the range of floats
            density = np.exp(self.log_density(x))
        return float(density) if np.ndim(density) == 0 else density

    def log_density(self, x: ArrayLike) -> Any:
        """The logarithm of the density, which neither overflows nor underflows."""
        at = np.asarray(x, dtype=float)
        if not np.isfinite(at).all():
            raise InvalidInput("x holds NaN or an infinity; give real numbers.")
        if self.dimension > 1 and (at.ndim == 0 or at.shape[-1] != self.dimension):
            raise InvalidInput(f"x has shape {at.shape}; its last axis must hold {self.dimension} coordinates.")
        norms = np.abs(at) if self.dimension == 1 else np.abs(at).sum(axis=-1)
        unit = to_float(self.sensitivity)
        log_density = self.radius.log_density(norms / unit) - self.dimension * math.log(unit)
        return float(log_density) if np.ndim(log_density) == 0 else log_density

    def simulate(self, size: int, rng: Any = None) -> NDArray[np.float64]:
        """Draw noise from a seeded generator in floating point, for study: NOT private if added to an answer.

        An array of `size` numbers, or of `size` rows of `dimension`.
        """
        count, generator = as_size(size), np.random.default_rng(rng)
        noise = np.empty((count, self.dimension))
        for start in range(0, count, ROWS_AT_ONCE):  # a block at a time stays in cache
            part = noise[start : start + ROWS_AT_ONCE]
            part[:] = self._simulate(len(part), generator)
        return noise[:, 0] if self.dimension == 1 else noise

    def _simulate(self, size: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Radii times uniform directions: signed exponential numbers, divided by their sum."""
        radii = self.radius.simulate(size, rng)[:, None]
        radii *= to_float(self.sensitivity)
        if self.dimension > 1:
            parts = rng.standard_exponential((size, self.dimension))
            radii = parts * (radii / parts.sum(axis=1, keepdims=True))
        bits = np.unpackbits(np.frombuffer(rng.bytes(radii.size // 8 + 1), dtype=np.uint8), count=radii.size)
        radii *= (1.0 - 2.0 * bits).reshape(radii.shape)
        return radii

    def on_grid(self, grid: Number) -> IntegerNoise:
        """The integer noise, in steps of the grid, that `release` adds.

        Rounding to the nearest multiple of the grid, halves up, is floor(x/grid + 1/2). For one number,
        floor(x) - floor(y) < x - y + 1, so answers at most s apart land at most ceil(s/grid) steps apart: nothing is
        lost if the grid divides s. For d numbers the sum over the coordinates that differ is below s/grid + d, so at
        most ceil(s/grid) + d - 1. Both are attained. (Halves to even would break this: 1/2 goes to 0 and 3/2 to 2.)
        """
        reach = math.ceil(self.sensitivity / as_positive(grid, "the grid")) + self.dimension - 1
        if not isinstance(self.radius, StaircaseRadius):
            return _laplace_steps(self.level, reach, self.cost, self.dimension)
        noise = _staircase_steps(self.level, reach, self.cost, self.dimension)
        if self.certificate.method != GIVEN:
            return noise
        upper = max(1, round((self.radius.gamma or 1) * reach))  # gamma = 0 is the staircase of gamma = 1
        return _with_step(noise, upper)

    def release(self, value: Any, grid: Number) -> Any:
        """Release a private answer: the value rounded to a multiple of the grid, plus exact noise in steps of the grid.

        `value` is a number, or a sequence of `dimension` of them; a float is taken as its exact binary value. The
        sensitivity must hold for the numbers passed in: sums of floats can be farther apart than the exact sums. `grid`
        is public: it must not be chosen by looking at the value.

        Returns an exact number (int or Fraction), or a float if the grid is a float; a tuple for vectors.

        Examples
        --------
        >>> noisy = staircase(1.0, sensitivity=5).release(123.456, grid="1/100")
        >>> (noisy * 100).denominator
        1
        """
        step = as_positive(grid, "the grid")
        exact = as_private_vector(value, self.dimension, exact_number, "finite number")
        steps = [math.floor(v / step + Fraction(1, 2)) for v in exact]
        noisy = self.on_grid(grid).release(steps[0] if self.dimension == 1 else steps)
        as_float = isinstance(grid, float | np.floating)
        if self.dimension == 1:
            return _in_steps(noisy, step, as_float)
        return tuple(_in_steps(n, step, as_float) for n in noisy)

    def half_width(self, confidence: Number, grid: Number | None = None) -> float:
        """The half-width (in l1 norm) within which the noise lies with at least this probability.

        For the continuous law, rounded up; with a `grid`, for what `release` returns on it: the exact law of the
        integer noise, plus half a step of rounding for each coordinate.

        Examples
        --------
        >>> round(staircase(2.0).half_width(0.95), 6), round(laplace(2.0).half_width(0.95), 6)
        (1.268272, 1.497866)
        """
        chance = as_confidence(confidence)
        if grid is None:
            within = self.radius.within(chance)
            return float_above(Fraction(within) * self.sensitivity) if math.isfinite(within) else math.inf
        step = as_positive(grid, "the grid")
        return float_above((self.on_grid(grid).half_width(chance) + Fraction(self.dimension, 2)) * step)

    def verify(self) -> Verification:
        """Prove privacy again from the law of the norm, and that the expected cost is as low as the certificate claims.

        Examples
        --------
        >>> bool(staircase(2.0, dimension=2).verify()), laplace(2.0).verify().optimal
        (True, 'unproved')
        """
        private, claim = self._check_privacy(), self.certificate.claim
        value = _expected_cost(self.radius, self.sensitivity, self.dimension, self.cost)
        cost = Check("cost", math.isclose(value, self.expected_cost, rel_tol=1e-12), f"{value:.10g}")
        checks = (private, cost) if claim != "theorem" else (private, cost, self._check_optimum())
        passed = all(check.passed for check in checks)
        gap = float(TOLERANCE) * value if claim == "theorem" and passed else math.inf
        return Verification(private.passed, claim if passed else "unproved", gap, checks, self.certificate.reason)

    def _check_privacy(self) -> Check:
        """Neighbours' norms differ by one sensitivity at most: by the shape of the law, and on a grid of norms."""
        radius, name = self.radius, f"{self.level}, sensitivity {show_rational(self.sensitivity)}"
        gamma = radius.gamma if isinstance(radius, StaircaseRadius) else 0
        if radius.level != self.level or radius.dimension != self.dimension or not 0 <= gamma <= 1:
            return Check("privacy", False, f"{name}: the density is that of another level or dimension")
        logs = radius.log_density(np.arange(PERIODS * PLACES) / PLACES)
        fall = max(float(np.abs(logs[apart:] - logs[:-apart]).max()) for apart in (1, PLACES // 2, PLACES))
        shape = "one step" if isinstance(radius, StaircaseRadius) else "a slope"
        detail = f"the logarithm of the density falls by {shape} of epsilon in one sensitivity, on a grid by {fall:.6g}"
        rounding = 1e-14 * max(1.0, float(np.abs(logs).max()))
        return Check("privacy", fall <= self.level.log_growth + rounding, f"{name}: {detail}")

    def _check_optimum(self) -> Check:
        if not isinstance(self.radius, StaircaseRadius):
            return Check("optimality", False, "the theorem is about staircases")
        try:
            better = better_gamma(self.level, self.dimension, POWERS[self.cost], self.radius.gamma)
        except SolverFailed as failure:
            return Check("optimality", False, str(failure))
        detail = f"no gamma costs a part in 10^12 less than {float(self.radius.gamma):.6g}, by Bernstein coefficients"
        return Check("optimality", better is None, detail)

    def __repr__(self) -> str:
        kind = "Laplace" if self.gamma is None else f"staircase gamma = {self.gamma:.6g}"
        return (
            f"NoiseMechanism ({kind}) in {self.dimension} dimension(s) at {self.level}, sensitivity "
            f"{show_rational(self.sensitivity)}, expected {self.cost} cost {self.expected_cost:.6g}"
        )


@cites("LIM-theorem-2.3.1")
def staircase(
    privacy: Level | Number,
    sensitivity: Number = 1,
    dimension: int = 1,
    cost: str = "l1",
    gamma: Number | None = None,
) -> NoiseMechanism:
    """The staircase noise with the lowest expected cost for an answer with a given l1 sensitivity.

    No private noise costs less in one dimension (Geng and Viswanath 2016) and, for the l1 cost, in any (LIM Theorem
    2.3.1 for two; Melbourne, Diaz and Asoodeh 2026 for all). With the l2 cost of several numbers that is open, and the
    certificate says so; that no gamma is better is always proved.

    Parameters
    ----------
    privacy : level or number
        A pure level, or an epsilon above 0.
    sensitivity : number
        The most an answer changes between neighbours, in l1 norm.
    dimension : int
        Length of an answer.
    cost : "l1" or "l2"
        The l1 norm of the noise, or its squared Euclidean norm.
    gamma : number, optional
        The share of each period on its upper step; None optimises it.

    Examples
    --------
    >>> best = staircase(8.0, dimension=2)
    >>> round(best.gamma, 6), round(best.expected_cost, 6), laplace(8.0, dimension=2).expected_cost
    (0.087079, 0.091255, 0.25)
    >>> [staircase(8.0, dimension=3, cost=cost).certificate.claim for cost in ("l1", "l2")]
    ['theorem', 'unproved']
    """
    level, unit, size = _require_arguments(privacy, sensitivity, dimension, cost)
    if gamma is None:
        share = best_gamma(level, size, POWERS[cost])
    else:
        share = as_rational(gamma, "gamma")
        if not 0 <= share <= 1:
            raise InvalidInput(f"gamma is {gamma!r}; it is a share of a period, so give a number between 0 and 1.")
    return _noise_mechanism(
        level, unit, cost, StaircaseRadius(level, size, share), size, _certificate(size, cost, gamma is None)
    )


def laplace(privacy: Level | Number, sensitivity: Number = 1, dimension: int = 1, cost: str = "l1") -> NoiseMechanism:
    """Independent Laplace noise on every coordinate, the standard choice, for comparison; with the same safe release.

    Examples
    --------
    >>> laplace(0.5, sensitivity=2).expected_cost
    4.0
    """
    level, unit, size = _require_arguments(privacy, sensitivity, dimension, cost)
    certificate = Certificate("unproved", "the usual noise, for comparison", _quantity(cost), "closed form")
    return _noise_mechanism(level, unit, cost, LaplaceRadius(level, size), size, certificate)


def _noise_mechanism(
    level: ApproxDP, unit: Fraction, cost: str, radius: RadiusLaw, dimension: int, certificate: Certificate
) -> NoiseMechanism:
    value = _expected_cost(radius, unit, dimension, cost)
    return NoiseMechanism(level, unit, dimension, cost, radius, value, certificate)


def _expected_cost(radius: RadiusLaw, unit: Fraction, dimension: int, cost: str) -> float:
    """The mean cost of noise with this law of the l1 norm in units of the sensitivity."""
    power = POWERS[cost]
    shape = 1.0 if power == 1 else 2 / (dimension + 1)  # the mean of |u|_2^2 for u uniform on the l1 sphere
    return radius.moment(power) * shape * to_float(unit) ** power


def _certificate(dimension: int, cost: str, best: bool) -> Certificate:
    if not best:
        return Certificate("unproved", "a staircase with a gamma of the user's choice", _quantity(cost), GIVEN)
    if dimension == 1:
        reason = "Geng and Viswanath 2016: no private noise on the real line costs less"
        return Certificate("theorem", reason, _quantity(cost), "gamma in closed form")
    method = "minimisation over gamma, proved to a relative 1e-12 by Bernstein coefficients in ball arithmetic"
    if cost == "l1":
        reason = "LIM Theorem 2.3.1: no private noise in the plane costs less"
        if dimension > 2:
            reason = "Melbourne, Diaz and Asoodeh 2026 (arXiv 2601.14597): no private noise in any dimension costs less"
        return Certificate("theorem", reason, _quantity(cost), method)
    reason = "open for the squared Euclidean cost of an l1 sensitivity: only staircases have been compared"
    return Certificate("unproved", reason, _quantity(cost), method)


def _quantity(cost: str) -> str:
    return "expected l1 norm of the noise" if cost == "l1" else "expected squared Euclidean norm of the noise"


def _require_arguments(
    privacy: Level | Number, sensitivity: Number, dimension: int, cost: str
) -> tuple[ApproxDP, Fraction, int]:
    level, unit, size = as_noise_level(privacy), as_positive(sensitivity, "sensitivity"), as_dimension(dimension)
    if math.isinf(level.log_growth):
        raise InvalidInput(
            "epsilon is infinity, which promises nothing: the best noise is none; give a finite epsilon."
        )
    if level.log_growth == 0:
        raise InvalidInput(f"privacy is {level}: noise beyond all floats would be needed; allow a larger epsilon.")
    if not isinstance(cost, str) or cost not in POWERS:
        raise InvalidInput(f"cost is {cost!r}; say 'l1' or 'l2'.")
    return level, unit, size


@lru_cache(maxsize=256)
def _staircase_steps(level: ApproxDP, reach: int, cost: str, dimension: int) -> IntegerNoise:
    return discrete_staircase(level, reach, cost, dimension)


@lru_cache(maxsize=256)
def _laplace_steps(level: ApproxDP, reach: int, cost: str, dimension: int) -> IntegerNoise:
    return discrete_laplace(level, reach, cost, dimension)


@lru_cache(maxsize=256)
def _with_step(noise: IntegerNoise, upper: int) -> IntegerNoise:
    """The same noise with the user's step: as private, and not claimed to be optimal."""
    law, exact = replace(noise.law, upper=upper), exact_cost(noise.cost)
    assert exact is not None  # noise on a grid has a named cost
    certificate = Certificate("unproved", "a step of the user's choice", noise.certificate.quantity, GIVEN)
    return replace(noise, law=law, expected_cost=float(exact(law)), certificate=certificate)


def _in_steps(count: int, step: Fraction, as_float: bool) -> Any:
    exact = count * step
    if as_float:
        return to_float(exact) if exact >= 0 else -to_float(-exact)  # beyond the range of floats, an infinity
    return exact.numerator if exact.denominator == 1 else exact
