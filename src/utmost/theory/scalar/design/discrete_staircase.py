"""Noise on the integers: the discrete staircase, and discrete Laplace noise for comparison.

Geng and Viswanath, *The Optimal Mechanism in Differential Privacy* (2016), in the discrete setting: among all noise on
the integers that is epsilon-private at a given sensitivity, a staircase has the lowest expected cost, for any symmetric
cost that does not fall with |k|. The decay of a period is a rational at or just above e^-epsilon, so that every
probability is a fraction and privacy is a comparison of fractions.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from utmost.errors import CannotCertify, InvalidInput, TooLarge
from utmost.exact import Enclosed, ExpSum, Number, as_whole, compare
from utmost.exact.bisection import first_integer
from utmost.mechanism.certification import Check
from utmost.mechanism.noise.layers import (
    IntegerDraws,
    LayerLaw,
    count_points,
    draw_point,
    log_power,
    log_rational,
    point_on_layer,
)
from utmost.mechanism.noise.staircase import StaircaseLaw
from utmost.privacy import ApproxDP, Level
from utmost.privacy.level import decay_above, decay_satisfies
from utmost.solution import Certificate, Verification
from utmost.theory.scalar.design.best_step import best_step_for, neighbours
from utmost.theory.scalar.design.line import best_step, exact_cost
from utmost.theory.scalar.design.noise_arguments import (
    as_confidence,
    as_dimension,
    as_integers,
    as_noise_level,
    as_private_vector,
    as_size,
    exact_integer,
)

Cost: TypeAlias = str | Callable[[int], float]
MOST_LAYERS = 10**6


@dataclass(frozen=True, eq=False)
class IntegerNoise:
    """Noise on the integers, or on vectors of them, with an exact law; `CannotCertify` if it is not private.

    Attributes
    ----------
    level : ApproxDP
        The pure privacy level that it satisfies at this sensitivity.
    sensitivity : int
        The l1 sensitivity.
    cost : str or callable
        "l1" is |k|, "l2" is k^2 (of vectors the l1 norm, and the squared Euclidean norm), or a function of k.
    law : LayerLaw
        The exact law over the l1 layers.
    expected_cost : float
        The mean cost of one draw.
    certificate : Certificate
        Why no other noise is better, or that this is not known.
    """

    level: ApproxDP
    sensitivity: int
    cost: Cost
    law: LayerLaw
    expected_cost: float
    certificate: Certificate

    def __post_init__(self) -> None:
        proof = self._check_privacy()
        if not proof.passed:
            raise CannotCertify(f"this law is not private at {proof.detail}; use discrete_staircase to design one.")

    @property
    def dimension(self) -> int:
        """The length of an answer."""
        return self.law.dimension

    def probability(self, k: ArrayLike, exact: bool = False) -> Any:
        """The probability of noise k: a float, or an array of them; with `exact=True` a Fraction, of one k.

        Of vectors, the last axis of k holds the coordinates.
        """
        norms = self._norms(k)
        if exact:
            return self.law.point_mass(_single_integer(norms))
        return _float_or_array(np.exp(log_rational(self.law.top) + log_power(self.law.decay, self.law.step(norms))))

    def tail(self, k: ArrayLike, exact: bool = False) -> Any:
        """The probability that the noise is at least k: a float, or an array of them; with `exact=True` a Fraction."""
        if self.dimension != 1:
            raise InvalidInput("vectors have no order; `law.tail(n)` is the probability that the l1 norm is n or more.")
        at = as_integers(k)
        if exact:
            n = np.asarray(np.maximum(at, 1 - at))  # Pr[K >= k] = Pr[K <= -k] = 1 - Pr[K >= 1 - k]
            half = self.law.tail(_single_integer(n)) / 2
            return half if at > 0 else 1 - half
        return _float_or_array(StaircaseLaw(self.law).tail(at))

    def half_width(self, confidence: Number) -> int:
        """The least n such that the noise (its l1 norm, of a vector) is within ±n with at least this probability.

        Decided on the exact law.

        Examples
        --------
        >>> discrete_staircase(1.0).half_width(0.95)
        3
        """
        rest = ExpSum.rational(1 - as_confidence(confidence))

        def suffices(n: int) -> bool:
            return compare(Enclosed(lambda bits: self.law.enclose_tail(n + 1, bits)), rest) <= 0

        return first_integer(suffices)

    def sample(self, size: int | None = None) -> Any:
        """Draw noise exactly with the operating system's randomness: one draw, or an array of `size` of them.

        Arrays hold 64-bit integers if every draw fits, else Python integers.
        """
        count = 1 if size is None else as_size(size)
        if self.dimension == 1 and self._draws.fits:
            draws = self._draws.draw(count)
            return int(draws[0]) if size is None else draws
        points = [draw_point(self.law) for _ in range(count)]
        if size is None:
            return points[0][0] if self.dimension == 1 else points[0]
        table = np.array(points, dtype=object).reshape(count, self.dimension)
        return table[:, 0] if self.dimension == 1 else table

    def release(self, value: Any) -> Any:
        """Add exact noise to an integer, or a sequence of `dimension` of them: private for the sensitivity.

        Examples
        --------
        >>> isinstance(discrete_staircase(1.0).release(10**30), int)
        True
        """
        integers = as_private_vector(value, self.dimension, exact_integer, "whole number")
        noise = self.sample()
        return (
            integers[0] + noise if self.dimension == 1 else tuple(v + e for v, e in zip(integers, noise, strict=True))
        )

    def simulate(self, size: int, rng: Any = None) -> NDArray[np.int64]:
        """Noise from a seeded generator in floating point: for study, never for release."""
        count, generator = as_size(size), np.random.default_rng(rng)
        reach = self.half_width(1 - Fraction(1, 10**12)) + 1
        if reach > MOST_LAYERS:
            raise TooLarge(f"a table of {reach} layers does not fit; use the continuous law's simulate, or sample.")
        counts = np.diff([float(count_points(self.dimension, n)) for n in range(reach + 1)])
        masses = counts * np.exp(log_power(self.law.decay, self.law.step(np.arange(reach))))
        layers = generator.choice(reach, size=count, p=masses / masses.sum())
        if self.dimension == 1:
            return np.asarray(layers * generator.choice([-1, 1], size=count))
        below = random.Random(int(generator.integers(2**62))).randrange
        points = [point_on_layer(self.dimension, n, below) for n in layers.tolist()]
        return np.array(points, dtype=np.int64).reshape(count, self.dimension)

    def verify(self) -> Verification:
        """Prove privacy again from the law alone, in exact arithmetic, and optimality if it is claimed."""
        private = (self._check_privacy(), self._check_total())
        optimum = self._check_optimum()
        checks = (*private, *optimum)
        proved: Any = self.certificate.claim if all(check.passed for check in checks) else "unproved"
        premise = "points within the sensitivity lie on layers within the sensitivity; " + self.certificate.reason
        gap = 0.0 if proved == "theorem" else math.inf
        return Verification(all(check.passed for check in private), proved, gap, checks, premise)

    def _check_privacy(self) -> Check:
        law, reach = self.law, self.sensitivity
        if not (0 <= law.decay < 1 and 1 <= law.upper <= law.period):
            return Check(
                "privacy", False, f"{self.level}: the law has no such shape (0 <= decay < 1 <= upper <= period)"
            )
        steps = law.steps_within(reach)
        detail = f"layers at most {reach} apart differ by at most {steps} step(s) of {float(law.decay):.6g}"
        return Check("privacy", decay_satisfies(self.level, law.decay, steps), f"{self.level}: {detail}, exactly")

    def _check_total(self) -> Check:
        """Check that the probabilities sum to 1: layers up to a bound one by one, the rest in closed form."""
        bound = min(2 * self.law.period, 1000)
        counts = [count_points(self.dimension, n) for n in range(bound + 1)]
        head = sum((counts[n + 1] - counts[n]) * self.law.point_mass(n) for n in range(bound))
        return Check("law", head + self.law.tail(bound) == 1, "all probabilities add up to 1, in rationals")

    def _check_optimum(self) -> tuple[Check, ...]:
        if self.certificate.claim != "theorem":
            return ()
        exact = exact_cost(self.cost)
        if exact is not None:
            best, road = all(exact(self.law) <= exact(neighbour) for neighbour in neighbours(self.law)), "in rationals"
            value = float(exact(self.law))
        else:
            optimum, value = best_step_for(self.law, self.cost)  # type: ignore[arg-type]
            best, road = optimum.upper == self.law.upper, "in floating point"
        optimal = best and self.law.period == self.sensitivity
        cost_agrees = math.isclose(self.expected_cost, value, rel_tol=1e-12)
        detail = f"r = {self.law.upper} of {self.law.period} costs no more than its neighbours, {road}"
        return Check("optimality", optimal, detail), Check("cost", cost_agrees, f"{value:.10g}")

    @cached_property
    def _draws(self) -> IntegerDraws:
        return IntegerDraws(self.law)

    def _norms(self, k: ArrayLike) -> NDArray[Any]:
        at = np.asarray(np.abs(as_integers(k)))
        if self.dimension == 1:
            return at
        if at.ndim == 0 or at.shape[-1] != self.dimension:
            raise InvalidInput(f"k has shape {at.shape}; its last axis must hold {self.dimension} coordinates.")
        return np.asarray(at.sum(axis=-1))

    def __repr__(self) -> str:
        laplace = self.law.period < self.sensitivity
        kind = "discrete Laplace" if laplace else f"staircase r = {self.law.upper} of {self.law.period}"
        where = "integers" if self.dimension == 1 else f"vectors of {self.dimension} integers"
        return f"IntegerNoise ({kind}) on {where} at {self.level}, expected cost {self.expected_cost:.6g}"


def discrete_staircase(
    privacy: Level | Number, sensitivity: int = 1, cost: Cost = "l1", dimension: int = 1
) -> IntegerNoise:
    """Optimal noise for an integer answer with a given sensitivity.

    In one dimension a theorem (Geng and Viswanath 2016): no private noise costs less. For vectors it is the discrete
    form of a theorem about densities (Melbourne, Diaz and Asoodeh 2026); on a lattice nothing is proved, and the
    certificate says so.

    Parameters
    ----------
    privacy : level or number
        A pure level, or an epsilon above 0.
    sensitivity : int
        At least 1; for vectors, in l1 norm.
    cost : str or callable
        "l1", "l2", "within n" (the probability of noise beyond ±n, in l1 norm), or a function of an integer k,
        symmetric and not falling as |k| grows.
    dimension : int
        Length of the answer; above 1, the cost must be named.

    Examples
    --------
    >>> noise = discrete_staircase(1.0, sensitivity=5)
    >>> noise.law.upper, round(noise.expected_cost, 6), bool(noise.verify())
    (2, 4.786284, True)
    >>> noise.probability([0, 2, 5]).round(6)
    array([0.113382, 0.041711, 0.041711])
    """
    level, reach, size = as_noise_level(privacy), as_whole(sensitivity, "sensitivity", 1), as_dimension(dimension)
    law = LayerLaw(decay_above(level), reach, 1, size)
    exact = exact_cost(cost)
    if exact is not None:
        best = best_step(law, exact)
        value, method = float(exact(best)), "neighbouring staircases compared in rationals"
    elif size == 1:
        best, value = best_step_for(law, cost)  # type: ignore[arg-type]
        method = "all staircases compared by values of the cost, in floating point"
    else:
        raise InvalidInput("a callable cost is for single numbers; for vectors say 'l1', 'l2' or 'within 3'.")
    return IntegerNoise(level, reach, cost, best, value, _certificate(size, method))


def discrete_laplace(
    privacy: Level | Number, sensitivity: int = 1, cost: str = "l1", dimension: int = 1
) -> IntegerNoise:
    """Discrete Laplace (two-sided geometric) noise, the standard choice, for comparison.

    Examples
    --------
    >>> round(discrete_laplace(1.0, sensitivity=5).expected_cost, 6)
    4.966822
    """
    level, reach, size = as_noise_level(privacy), as_whole(sensitivity, "sensitivity", 1), as_dimension(dimension)
    exact = exact_cost(cost)
    if exact is None:
        raise InvalidInput("discrete Laplace takes a named cost; say 'l1', 'l2' or 'within 3'.")
    law = LayerLaw(decay_above(level, reach), 1, 1, size)
    certificate = Certificate("unproved", "the usual noise, for comparison", "expected cost", "closed form")
    return IntegerNoise(level, reach, cost, law, float(exact(law)), certificate)


def _certificate(dimension: int, method: str) -> Certificate:
    notes = ("a step falls by a rational at or just above e^-epsilon (within 2^-64 of it), and the cost is that law's",)
    if dimension == 1:
        reason = "Geng and Viswanath 2016, discrete staircase: no private noise on the integers costs less"
        return Certificate("theorem", reason, "expected cost", method, notes=notes)
    reason = "open on a lattice (a theorem for densities, arXiv 2601.14597): no private noise is known to cost less"
    return Certificate("unproved", reason, "expected cost", method, notes=notes)


def _single_integer(n: NDArray[Any]) -> int:
    if n.ndim:
        raise InvalidInput("exact probabilities come one at a time; give one point.")
    return int(n)


def _float_or_array(values: Any) -> Any:
    return float(values) if np.ndim(values) == 0 else values
