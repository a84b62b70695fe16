"""Laws on integers or vectors of them that are constant on each l1 layer and fall in steps: probabilities and draws.

Layer n is the set of integer points with l1 norm n. Every point of it has mass a·b^s(n), where s(n) goes up by one once
a period, after its first `upper` layers:

    s(n) = n // period + (1 if n % period >= upper else 0).

period = sensitivity is the discrete staircase (Geng and Viswanath 2016; LIM (2.8) is its continuous form); period = 1
is the discrete Laplace or geometric law. The decay b is a rational number, so every probability is one too. Sums over
layers are sums of polynomials times powers of b, which Newton's forward differences sum in closed form; the same
formulas serve fractions, for proofs, and balls of any precision, for draws, which are not truncated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise
from math import comb
from typing import Any, TypeAlias

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from utmost.exact import as_fmpq
from utmost.exact.arrays import Floats, Integers
from utmost.mechanism.sampling import ROWS_AT_ONCE, Cuts, Uniform, below, uniform_below, uniform_subset

RADIX = 256
NEGLIGIBLE = 64 * math.log(2)
"""Expectations omit noise beyond the distance at which its law has fallen by e^-this; draws omit nothing."""
Sum: TypeAlias = Callable[[int, int], int]
"""A sum over all integer points of a dimension with l1 norm below n: a polynomial in n from n = 1 on."""


def count_points(dimension: int, n: int) -> int:
    """The number of integer points with l1 norm below n.

    Examples
    --------
    >>> [count_points(2, n) for n in range(4)]
    [0, 1, 5, 13]
    """
    return sum(comb(dimension, j) * comb(n - 1, j) << j for j in range(dimension + 1)) if n else 0


def sum_norms(dimension: int, n: int) -> int:
    """The sum of the l1 norms of all integer points with l1 norm below n: summation by parts of `count_points`."""
    if not n:
        return 0
    counts = sum(comb(dimension, j) * comb(n - 1, j + 1) << j for j in range(dimension + 1))
    return (n - 1) * count_points(dimension, n) - counts


def sum_squares(dimension: int, n: int) -> int:
    """The sum of the squared Euclidean norms of all integer points with l1 norm below n.

    By symmetry `dimension` times the sum of t^2 over the first coordinate t, whose others have norm below n - |t|.
    """
    rest = dimension - 1
    return 2 * dimension * sum(comb(rest, j) * (2 * comb(n, j + 3) + comb(n, j + 2)) << j for j in range(dimension))


@dataclass(frozen=True)
class LayerLaw:
    """A law over integer points that is constant on l1 layers and falls in steps.

    Attributes
    ----------
    decay : Fraction
        The factor b of one step, between 0 and 1.
    period : int
        The number of layers per step.
    upper : int
        How many layers of a period come before its step, 1..period.
    dimension : int
        The dimension of the integer points.
    """

    decay: Fraction
    period: int
    upper: int
    dimension: int = 1

    def step(self, n: Any) -> Any:
        """The number of steps between layer 0 and layer n; n may be an array."""
        return n // self.period + (n % self.period >= self.upper)

    def steps_within(self, reach: int) -> int:
        """The most steps between two layers at most `reach` apart: from the layer right before a step."""
        return int(self.step(self.upper - 1 + reach))

    @cached_property
    def top(self) -> Fraction:
        """The probability of the origin, and of every point before the first step."""
        return 1 / Fraction(self.total(count_points))

    def point_mass(self, n: int) -> Fraction:
        """The probability of one point with l1 norm n."""
        return self.top * self.decay ** int(self.step(n))

    def total(self, summed: Sum, b: Any = None) -> Any:
        """The sum over all points of the summand of `summed` times b^s; unnormalised."""
        factor = self.decay if b is None else b
        return self._rest_of_block(summed, 0, factor) + factor * self._blocks_from(summed, 1, factor)

    def mean(self, summed: Sum) -> Fraction:
        """The expectation of the summand of `summed`."""
        return Fraction(self.total(summed)) * self.top

    def tail(self, n: int) -> Fraction:
        """The probability that the l1 norm is n or more, exactly."""
        return Fraction(self._mass_from(n, self.decay)) * self.top

    def enclose_tail(self, n: int, bits: int) -> Any:
        """A ball around `tail(n)`, without writing out powers of b with millions of digits."""
        with ctx.workprec(bits + 64 + 4 * self.decay.denominator.bit_length()):
            b = arb(as_fmpq(self.decay))
            return self._mass_from(n, b) / self.total(count_points, b)

    def _mass_from(self, n: int, b: Any) -> Any:
        """The unnormalised mass of the layers from n on."""
        block = n // self.period
        return b**block * (self._rest_of_block(count_points, n, b) + b * self._blocks_from(count_points, block + 1, b))

    def _rest_of_block(self, summed: Sum, n: int, b: Any) -> Any:
        """From layer n to the end of its period, in units of the period's first layers."""
        d, start = self.dimension, n - n % self.period
        middle, end = summed(d, max(n, start + self.upper)), summed(d, start + self.period)
        return (middle - summed(d, n)) + b * (end - middle)

    def _blocks_from(self, summed: Sum, first: int, b: Any) -> Any:
        """All periods from number `first` >= 1 on, in units of its first layers.

        The sum of b^k Q(k) over k >= 0 is the sum over j of b^j / (1-b)^(j+1) times the j-th forward difference of Q at
        0; Q has degree at most dimension + 2, the highest that is summed here.
        """
        d, u = self.dimension, self.upper
        edges = [summed(d, (first + k) * self.period) for k in range(d + 4)]
        middles = [summed(d, (first + k) * self.period + u) for k in range(d + 3)]
        high = _differences([m - e for m, e in zip(middles, edges, strict=False)])
        low = _differences([e - m for m, e in zip(middles, edges[1:], strict=True)])
        ratio = b / (1 - b)
        return sum(((h + b * w) * ratio**j for j, (h, w) in enumerate(zip(high, low, strict=True))), 0 * b) / (1 - b)


def _differences(values: list[int]) -> list[int]:
    """The forward differences of a sequence at its start."""
    differences = []
    while values:
        differences.append(values[0])
        values = [after - before for before, after in pairwise(values)]
    return differences


class IntegerDraws:
    """Draws from a law in one dimension, many at once.

    A position n >= 0 is a block (period) and a place in it, which are independent: the block is geometric, and its
    digits to any base are independent again, since b^(m + M·k) = b^m (b^M)^k. The highest digit is unbounded: beyond
    the last entry of its table the same law starts again. A sign makes n an integer; -0 is rejected and redrawn, which
    gives every other integer its mass a·b^s(n). The number of rejections is independent of the result.
    """

    def __init__(self, law: LayerLaw) -> None:
        self.law = law
        self._digits: list[Cuts] = []
        with ctx.workprec(64 + 2 * law.decay.denominator.bit_length()):
            base = arb(as_fmpq(law.decay))
            while base ** (RADIX ** len(self._digits)) > 2.0**-30:  # how rarely the last digit starts again
                self._digits.append(Cuts(partial(self._digit, RADIX ** len(self._digits), True)))
        self._digits[-1:] = [Cuts(partial(self._digit, RADIX ** max(0, len(self._digits) - 1), False))]
        self._first_part = Cuts(self._share_of_first_part)

    @property
    def fits(self) -> bool:
        """Whether 64-bit integers hold every draw, except with probability below 2^-2000."""
        return bool(self.law.period * RADIX ** len(self._digits) < 2**54)

    def draw(self, size: int) -> Integers:
        """`size` independent integers, by blocks that fit in cache."""
        integers = np.empty(size, dtype=np.int64)
        for start in range(0, size, ROWS_AT_ONCE):
            part = integers[start : start + ROWS_AT_ONCE]
            part[:], signs = self._places(len(part))
            while len(rejected := np.flatnonzero((part == 0) & signs)):
                part[rejected], signs[rejected] = self._places(len(rejected))
            part *= 1 - 2 * signs.astype(np.int64)
        return integers

    def positions(self, size: int) -> Integers:
        """`size` positions n >= 0, each with probability proportional to b^s(n); geometric for period 1."""
        return np.concatenate([self._places(min(ROWS_AT_ONCE, size - i))[0] for i in range(0, size, ROWS_AT_ONCE)])

    def _places(self, size: int) -> tuple[Integers, NDArray[np.bool_]]:
        """Positions n >= 0 and random signs."""
        block, spare = self._digits[0].draw(size)
        scale = 1
        for cuts in self._digits[1:]:
            scale *= RADIX
            block = block + scale * cuts.draw(size)[0]
        top = scale * RADIX  # the highest digit is RADIX: its law starts again
        onward = np.flatnonzero(block >= top)
        while len(onward):
            more = self._digits[-1].draw(len(onward))[0]
            block[onward] += scale * more
            onward = onward[more == RADIX]
        return block * self.law.period + self._offsets(size), (spare & np.uint64(1)).astype(bool)

    def _offsets(self, size: int) -> Integers:
        """Places within a period: its first layers have relative mass 1 each, the others b."""
        period, upper = self.law.period, self.law.upper
        if period == 1:
            return np.zeros(size, dtype=np.int64)
        if upper == period:
            return uniform_below(period, size)
        second = self._first_part.draw(size)[0] == 1
        offsets = np.empty(size, dtype=np.int64)
        later = int(second.sum())
        offsets[~second] = uniform_below(upper, size - later)
        offsets[second] = upper + uniform_below(period - upper, later)
        return offsets

    def _digit(self, power: int, ends: bool, bits: int) -> list[arb]:
        """The cuts between the values of one digit of the block, whose law falls by b^power per value."""
        with ctx.workprec(bits + 64 + 2 * self.law.decay.denominator.bit_length()):
            base = arb(as_fmpq(self.law.decay)) ** power
            whole = 1 - base**RADIX if ends else arb(1)
            return [(1 - base**m) / whole for m in range(1, RADIX + (not ends))]

    def _share_of_first_part(self, bits: int) -> list[arb]:
        """The probability of the first layers of a period."""
        law = self.law
        with ctx.workprec(bits + 64):
            later = arb(as_fmpq(law.decay)) * (law.period - law.upper)
            return [law.upper / (law.upper + later)]


def draw_point(law: LayerLaw) -> tuple[int, ...]:
    """One integer point of any dimension: its layer by inversion of the exact tail, then uniform on the layer."""
    number, high = Uniform(), 1
    while number.is_below(partial(law.enclose_tail, high)):
        high *= 2
    low = high // 2  # tail(low) is above the uniform number, tail(high) is not
    while high - low > 1:
        middle = (low + high) // 2
        if number.is_below(partial(law.enclose_tail, middle)):
            low = middle
        else:
            high = middle
    return point_on_layer(law.dimension, low)


def point_on_layer(dimension: int, n: int, below: Callable[[int], int] = below) -> tuple[int, ...]:
    """A uniform point among the integer points with l1 norm n, from uniform integers `below` a bound.

    j coordinates are nonzero in C(d,j)·2^j·C(n-1,j-1) points: which ones, their signs, and a composition of n into j
    positive parts.
    """
    point = [0] * dimension
    if n == 0:
        return tuple(point)
    number = below(sum(_with_nonzero(dimension, n, j) for j in range(1, dimension + 1)))
    nonzero = 1
    while number >= (here := _with_nonzero(dimension, n, nonzero)):
        number, nonzero = number - here, nonzero + 1
    cuts = [0, *sorted(1 + c for c in uniform_subset(n - 1, nonzero - 1, below)), n]
    for i, start, end in zip(sorted(uniform_subset(dimension, nonzero, below)), cuts[:-1], cuts[1:], strict=True):
        point[i] = (end - start) * (1 if below(2) else -1)
    return tuple(point)


def _with_nonzero(dimension: int, n: int, j: int) -> int:
    """The number of points of layer n with j nonzero coordinates."""
    return comb(dimension, j) * comb(n - 1, j - 1) << j


def log_rational(value: Fraction) -> float:
    """The natural logarithm of a rational from 0 on, accurate near 1 and without underflow."""
    if value == 0:
        return -math.inf
    if value > Fraction(1, 2):
        return math.log1p(float(value - 1))
    return math.log(value.numerator) - math.log(value.denominator)


def log_power(base: Fraction, exponents: Any) -> Floats:
    """The logarithm of base^exponent for an array of exponents from 0 on; 0^0 is 1."""
    count = np.asarray(exponents).astype(float)
    return np.where(count == 0, 0.0, np.maximum(count, 1) * log_rational(base))
