"""The law of noise on the whole numbers, or on vectors of them: constant on each l1 layer, falling in steps.

Layer n is the set of integer points with l1 norm n. Every point of it has mass a·b^s(n), where s(n) goes up by one once
a period, after its first `upper` layers:

    s(n) = n // period + (1 if n % period >= upper else 0).

period = sensitivity is the discrete staircase (Geng and Viswanath 2016; LIM (2.8) is its continuous form); period = 1
is the discrete Laplace or geometric law. The decay b is a rational number, so every probability is one too. Sums over
layers are sums of polynomials times powers of b, which Newton's forward differences sum in closed form; the same
formulas serve fractions, for proofs, and balls of any precision, for draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import comb
from typing import Any, TypeAlias

from flint import arb, ctx

from utmost.exact import as_fmpq

Sum: TypeAlias = Callable[[int, int], int]
"""A sum over all integer points of a dimension with l1 norm below n: a polynomial in n from n = 1 on."""


def count_points(dimension: int, n: int) -> int:
    """How many integer points have l1 norm below n.

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
    others = dimension - 1
    return 2 * dimension * sum(comb(others, j) * (2 * comb(n, j + 3) + comb(n, j + 2)) << j for j in range(dimension))


@dataclass(frozen=True)
class LayerLaw:
    """A law over integer points that is constant on l1 layers and falls in steps.

    Attributes
    ----------
    decay : the factor b of one step, a rational number between 0 and 1
    period : how many layers there are to a step
    upper : how many layers of a period come before its step, 1..period
    dimension : of the integer points
    """

    decay: Fraction
    period: int
    upper: int
    dimension: int = 1

    def step(self, n: Any) -> Any:
        """How many steps layer n lies below layer 0; n may be an array."""
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
        """The sum over all points of what `summed` sums, each times b^s; unnormalised."""
        factor = self.decay if b is None else b
        return self._rest_of_block(summed, 0, factor) + factor * self._blocks_from(summed, 1, factor)

    def mean(self, summed: Sum) -> Fraction:
        """The expectation of what `summed` sums."""
        return Fraction(self.total(summed)) * self.top

    def tail(self, n: int) -> Fraction:
        """The probability that the l1 norm is n or more, exactly."""
        return Fraction(self._mass_from(n, self.decay)) * self.top

    def enclose_tail(self, n: int, bits: int) -> Any:
        """A ball around `tail(n)`: powers of b with millions of digits need not be written out."""
        with ctx.workprec(bits + 64 + 4 * self.decay.denominator.bit_length()):
            b = arb(as_fmpq(self.decay))
            return self._mass_from(n, b) / self.total(count_points, b)

    def _mass_from(self, n: int, b: Any) -> Any:
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
    found = []
    while values:
        found.append(values[0])
        values = [after - before for before, after in pairwise(values)]
    return found
