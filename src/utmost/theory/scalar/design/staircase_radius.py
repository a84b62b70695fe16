"""The law of the l1 norm of noise, for sensitivity 1: of the staircase and of Laplace.

Both densities depend on the l1 norm only, so noise is a radius times a direction that is uniform on the l1 sphere.
Everything is computed in ball arithmetic: nothing overflows, and cancellation (at small epsilon the best staircase is
within epsilon^3 of Laplace) is compensated by working precision.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, Protocol

import numpy as np
from flint import arb, ctx

from utmost.exact import Enclosed, ExpSum, as_fmpq, compare, endpoints, to_float
from utmost.exact.arrays import Floats
from utmost.exact.bisection import first_integer
from utmost.privacy import ApproxDP
from utmost.privacy.level import enclose_decay, enclose_epsilon


class RadiusLaw(Protocol):
    """A law of the radius, for sensitivity 1."""

    @property
    def level(self) -> ApproxDP:
        """The level that it satisfies."""

    @property
    def dimension(self) -> int:
        """The number of coordinates."""

    def log_density(self, radius: Floats) -> Floats:
        """The logarithm of the density at points with this l1 norm."""

    def moment(self, power: int) -> float:
        """The mean of the radius to a power."""

    def within(self, confidence: Fraction) -> float:
        """The quantile of the radius at this probability, rounded up to a float."""

    def simulate(self, size: int, rng: np.random.Generator) -> Floats:
        """Radii in floating point, for study."""


@dataclass(frozen=True)
class StaircaseRadius:
    """The radius of the staircase (LIM (2.8)): density a·b^k on [k, k + gamma), a·b^(k+1) on [k + gamma, k + 1)."""

    level: ApproxDP
    dimension: int
    gamma: Fraction

    def log_density(self, radius: Floats) -> Floats:
        block = np.floor(radius)
        steps = block + (radius - block >= float(self.gamma))
        return np.asarray(self._log_top - self.level.log_growth * steps)

    def moment(self, power: int) -> float:
        return float(Enclosed(lambda bits: self.enclose_moment(power, bits)))

    def enclose_moment(self, power: int, bits: int) -> arb:
        """A ball around the mean of the radius to a power: d/(d+p) S_(d+p)/S_d, S_n as in `shell_sums`."""
        d = self.dimension
        with ctx.workprec(self._precision(bits)):
            gamma = arb(as_fmpq(self.gamma))
            high, low = (evaluate(shell_sums(self.level, n, bits), gamma) for n in (d + power, d))
            return high / low * d / (d + power)

    def within(self, confidence: Fraction) -> float:
        rest = ExpSum.rational(1 - confidence)

        def suffices(block: int) -> bool:
            return compare(Enclosed(lambda bits: self.enclose_tail(block, bits)), rest) <= 0

        return self._within_block(first_integer(suffices, 1) - 1, confidence)

    def _within_block(self, block: int, confidence: Fraction) -> float:
        """The radius in a block at which the probability is reached: the root of a volume."""
        d, bits = self.dimension, 256 + 16 * block.bit_length()
        with ctx.workprec(self._precision(bits)):
            b, gamma = enclose_decay(self.level, bits), arb(as_fmpq(self.gamma))
            total = evaluate(shell_sums(self.level, d, bits), gamma)
            excess = (self.enclose_tail(block, bits) - as_fmpq(1 - confidence)) * total / b**block
            volume = excess + arb(block) ** d  # the volume within the radius, were all of it on the upper step
            step = (block + gamma) ** d
            if not volume <= step:
                volume = step + (volume - step) / b
            radius = endpoints(volume.root(d))[1] if volume > 0 else Fraction(0)
        return float_above(radius)

    def enclose_tail(self, block: int, bits: int) -> arb:
        """A ball around the probability that the radius is at least `block`, an integer."""
        d = self.dimension
        with ctx.workprec(self._precision(bits)):
            b, gamma, start = enclose_decay(self.level, bits), arb(as_fmpq(self.gamma)), arb(block)
            sums = power_sums(b, d)
            polynomial = arb(0)
            for j in range(1, d + 1):
                later = sum((math.comb(d - j, q) * start ** (d - j - q) * sums[q] for q in range(d - j + 1)), arb(0))
                polynomial += math.comb(d, j) * later * (b + (1 - b) * gamma**j)
            return b**block * polynomial / evaluate(shell_sums(self.level, d, bits), gamma)

    def simulate(self, size: int, rng: np.random.Generator) -> Floats:
        """Draw from a mixture: a term of the volume's expansion, a block with a negative binomial law, then a place."""
        if self.dimension == 1:
            return self._simulate_line(size, rng)
        weights, shapes = self._mixture
        which = np.searchsorted(np.cumsum(weights)[:-1], rng.random(size), side="right")
        order, power, width = (shapes[which, i] for i in range(3))
        block = order.copy()
        for i in range(self.dimension):  # a negative binomial number as a sum of geometric ones
            geometric = np.floor(rng.standard_exponential(size) / self.level.log_growth)
            block += np.where(i <= order, geometric, 0.0) if i else geometric
        return np.asarray(block + width * rng.random(size) ** (1 / power))

    def _simulate_line(self, size: int, rng: np.random.Generator) -> Floats:
        """One exponential number gives both: its integer part is the block, the rest a uniform number for the place."""
        epsilon, gamma = self.level.log_growth, float(self.gamma)
        b = math.exp(-epsilon)
        mass = gamma + b * (1 - gamma)
        block, rest = np.empty(size), rng.standard_exponential(size)
        rest /= epsilon
        np.floor(rest, out=block)
        rest -= block
        rest *= -epsilon
        uniform = np.expm1(rest, out=rest)
        uniform /= math.expm1(-epsilon)
        steep = min(mass / b, 1e300) if b else 1e300
        block += np.maximum(uniform * mass, 1 - (1 - uniform) * steep)  # the upper step, then the lower
        return block

    @cached_property
    def _mixture(self) -> tuple[Floats, Floats]:
        """Weights, and for each the order q of the block's law, the power j of the place, and its largest value.

        Shell k weighs b^k times the sum over j >= 1 of C(d,j) k^(d-j) [(1-b) gamma^j + b]; k^p is the sum of
        S(p,q) q! C(k,q), and C(k,q) b^k is the law of q plus a negative binomial number.
        """
        d, bits = self.dimension, 128
        weights, shapes = [], []
        with ctx.workprec(self._precision(bits)):
            b, gamma = enclose_decay(self.level, bits), arb(as_fmpq(self.gamma))
            total = evaluate(shell_sums(self.level, d, bits), gamma)
            for j, upper in product(range(1, d + 1), (True, False)):
                share = (1 - b) * gamma**j if upper else b
                for q, sum_q in _terms(b, d - j):
                    weights.append(max(0.0, float(math.comb(d, j) * share * sum_q / total)))
                    shapes.append((q, j, float(self.gamma) if upper else 1.0))
        return np.array(weights), np.array(shapes)

    @cached_property
    def _log_top(self) -> float:
        """The logarithm of the density at the origin: d! / (2^d S_d)."""
        d = self.dimension
        with ctx.workprec(self._precision(128)):
            total = evaluate(shell_sums(self.level, d, 128), arb(as_fmpq(self.gamma)))
            return float((math.factorial(d) / (2**d * total)).log())

    def _precision(self, bits: int) -> int:
        return working_bits(self.level, bits)


@dataclass(frozen=True)
class LaplaceRadius:
    """The radius of independent Laplace noise on every coordinate: a Gamma law of shape d and rate epsilon."""

    level: ApproxDP
    dimension: int

    def log_density(self, radius: Floats) -> Floats:
        rate = self.level.log_growth
        return np.asarray(self.dimension * math.log(rate / 2) - rate * radius)

    def moment(self, power: int) -> float:
        return math.prod(range(self.dimension, self.dimension + power)) / self.level.log_growth**power

    def within(self, confidence: Fraction) -> float:
        """The least float that provably suffices: the tail is e^-x (1 + x + ... + x^(d-1)/(d-1)!), x = epsilon r."""
        rest = as_fmpq(1 - confidence)

        def suffices(radius: float) -> bool:
            with ctx.workprec(working_bits(self.level, 128)):
                x, term, terms = enclose_epsilon(self.level) * arb(radius), arb(1), arb(1)
                for k in range(1, self.dimension):
                    term *= x / k
                    terms += term
                return bool((-x).exp() * terms <= rest)

        if confidence == 0:
            return 0.0
        high = 1.0
        while high < math.inf and not suffices(high):
            high *= 2
        low = high / 2
        while low > 0 and suffices(low):
            low, high = low / 2, low
        while low < (middle := low + (high - low) / 2) < high:
            low, high = (low, middle) if suffices(middle) else (middle, high)
        return high

    def simulate(self, size: int, rng: np.random.Generator) -> Floats:
        return rng.gamma(self.dimension, 1 / self.level.log_growth, size)


def shell_sums(level: ApproxDP, n: int, bits: int) -> list[arb]:
    """Coefficients, by powers of gamma, of S_n = sum over j=1..n of C(n,j) c_(n-j) (b + (1-b) gamma^j).

    c_k is the sum over i of i^k b^i. d!/(2^d S_d) is the density at the origin (LIM 2.3.2, for sensitivity 1).
    """
    with ctx.workprec(working_bits(level, bits)):
        b = enclose_decay(level, bits)
        sums = power_sums(b, n)
        terms = [math.comb(n, j) * sums[n - j] for j in range(1, n + 1)]
        return [b * sum(terms, arb(0)), *((1 - b) * term for term in terms)]


def power_sums(b: arb, most: int) -> list[arb]:
    """c_k, the sum over i >= 0 of i^k b^i, for k = 0..most."""
    return [sum((term for _, term in _terms(b, k)), arb(0)) for k in range(most + 1)]


def evaluate(coefficients: list[arb], x: Any) -> arb:
    """Evaluate a polynomial at x."""
    value = arb(0)
    for c in reversed(coefficients):
        value = value * x + c
    return value


def float_above(value: Fraction) -> float:
    """The least float at or above a rational."""
    nearest = to_float(value)
    return nearest if nearest >= value else math.nextafter(nearest, math.inf)


def working_bits(level: ApproxDP, bits: int) -> int:
    """Working precision for so many bits of a result: 1 - b and its powers cancel at small epsilon."""
    return bits + 64 + 8 * max(0, math.ceil(-math.log2(max(level.log_growth, 1e-300))))


def _terms(b: arb, k: int) -> Iterator[tuple[int, arb]]:
    """c_k as the sum over q of S(k,q) q! b^q / (1-b)^(q+1), S the Stirling numbers of the second kind."""
    row = [1]
    for _ in range(k):
        row = [0, *(row[q - 1] + q * (row[q] if q < len(row) else 0) for q in range(1, len(row) + 1))]
    for q, stirling in enumerate(row):
        if stirling:
            yield q, stirling * math.factorial(q) * (b / (1 - b)) ** q / (1 - b)
