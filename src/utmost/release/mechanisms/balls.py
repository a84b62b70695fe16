"""Noise on vectors of integers that falls by one factor with every step away, in the norm that neighbours have.

If one neighbour moves a vector of d counts to a vector within the unit ball of a norm, then noise z with probability
proportional to b^norm(z) is private: by the triangle inequality a move changes every probability by at most 1/b (the
K-norm mechanism of Hardt and Talwar 2010, on a lattice). Two norms are here:

* "cube", max |z_i|: overlapping conditions, where one row may change every count by one. Independent noise must give
  each count a d-th of epsilon and errs by about d/epsilon; this errs by about (d + 1)/(2 epsilon).
* "exchange", max(sum of positive z_i, sum of negative |z_i|): disjoint cells where one row moves from one to another.
  Independent noise gives each cell half of epsilon; this errs less, a third less for two cells.

**Exact.** b^norm is a mixture: a radius s with probability proportional to b^s times the number of lattice points in
the ball of radius s, then a uniform point of that ball. That number is a polynomial in s whose differences at 0 are
whole numbers c_j >= 0, and the sum over s of C(s, j) b^s is b^j/(1 - b)^(j+1): choose j with weight
c_j b^j (1 - b)^(d-j), then s is j plus j + 1 geometric numbers. All of it integers, for a rational b.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from utmost.errors import TooLarge
from utmost.mechanism.decay import decay_above, keeps_level
from utmost.mechanism.draws import below, uniform_subset
from utmost.privacy import ApproxDP

Floats: TypeAlias = NDArray[np.float64]
Shape: TypeAlias = Literal["cube", "exchange"]
NEGLIGIBLE = 60.0
MOST_WORK, MOST_RADIUS = 10**7, {"cube": 10**6, "exchange": 3_000}
"""How large a radius expectations are computed for."""


@dataclass(frozen=True, eq=False)
class BallNoise:
    """Noise on `dimension` integers with probability proportional to decay^norm, drawn exactly.

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> noise = ball_noise("cube", 2, PureDP(1))
    >>> round(noise.probability((0, 0)), 6), noise.norm((3, -2)), len(noise.sample())
    (0.11954, 3, 2)
    """

    shape: Shape
    dimension: int
    level: ApproxDP
    steps: int
    decay: Fraction

    def norm(self, z: Any) -> int:
        """How many steps away a vector is."""
        if self.shape == "cube":
            return int(max(map(abs, z)))
        return int(max(sum(x for x in z if x > 0), -sum(x for x in z if x < 0)))

    def probability(self, z: Any) -> float:
        """The probability of one vector."""
        return float(self.exact_probability(z))

    def exact_probability(self, z: Any) -> Fraction:
        """The probability of one vector, as a fraction."""
        return self.decay ** self.norm(z) * self._top

    def keeps(self) -> bool:
        """Whether one neighbour, up to `steps` norm steps away, is within the level: decided exactly."""
        return 0 < self.decay < 1 and keeps_level(self.level, self.decay, self.steps)

    def sample(self) -> tuple[int, ...]:
        """One vector, drawn exactly."""
        p, q, d = self.decay.numerator, self.decay.denominator, self.dimension
        j = _choose(self._weights)
        radius = j
        for _ in range(j + 1):
            while below(q) < p:  # a geometric number
                radius += 1
        if self.shape == "cube":
            return tuple(below(2 * radius + 1) - radius for _ in range(d))
        positive = _choose(
            [math.comb(d, a) * math.comb(radius, a) * math.comb(radius + d - a, d - a) for a in range(d + 1)]
        )
        up = uniform_subset(d, positive)
        rises = [
            after - before for before, after in pairwise([0, *sorted(1 + x for x in uniform_subset(radius, positive))])
        ]
        rest = d - positive
        falls = [
            after - before - 1
            for before, after in pairwise([0, *sorted(1 + x for x in uniform_subset(radius + rest, rest))])
        ]
        return tuple(rises.pop() if i in up else -falls.pop() for i in range(d))

    @cached_property
    def marginal(self) -> Floats:
        """The probability of 0, 1, 2, ... in one coordinate (and of -1, -2, ...), in floating point."""
        d, log_b = self.dimension, math.log(self.decay)
        far = self.reach
        radii = np.arange(far + 1)
        if self.shape == "cube":
            terms = (d - 1) * np.log(2.0 * radii + 1) + radii * log_b
            masses = np.exp(terms - terms.max())
            found = np.cumsum(masses[::-1])[::-1]
        else:
            found = _exchange_marginal(d, log_b, radii)
        return np.asarray(found / (found[0] + 2 * found[1:].sum()))

    @cached_property
    def radius_law(self) -> Floats:
        """The probability of the radius being 0, 1, 2, ..., in floating point."""
        radii = np.arange(self.reach + 1)
        terms = _log_points(self.shape, self.dimension, radii) + radii * math.log(self.decay)
        masses = np.exp(terms - terms.max())
        return np.asarray(masses / masses.sum())

    @cached_property
    def reach(self) -> int:
        """The radius beyond which nothing matters for expectations; draws know no end."""
        rate = -math.log(self.decay)
        far = (NEGLIGIBLE + 3 * self.dimension * math.log(2 + self.dimension / rate)) / rate
        found = math.inf
        if far * (1 if self.shape == "cube" else self.dimension) < MOST_WORK:
            radii = np.arange(math.ceil(far) + 1)
            terms = _log_points(self.shape, self.dimension, radii) - rate * radii
            found = float(np.flatnonzero(terms > terms.max() - NEGLIGIBLE)[-1])
        if found > MOST_RADIUS[self.shape]:
            raise TooLarge(f"noise of {self.dimension} counts at {self.level} reaches too far to be compared.")
        return max(int(found), self.dimension)  # so that every shape of a ball has a radius

    @cached_property
    def _top(self) -> Fraction:
        """The probability of no noise at all."""
        b = self.decay
        whole = sum(c * b**j / (1 - b) ** j for j, c in enumerate(_differences(self.shape, self.dimension)))
        return 1 / Fraction(whole)

    @cached_property
    def _weights(self) -> list[int]:
        p, q, d = self.decay.numerator, self.decay.denominator, self.dimension
        return [c * p**j * (q - p) ** (d - j) for j, c in enumerate(_differences(self.shape, d))]


def ball_noise(shape: Shape, dimension: int, level: ApproxDP, steps: int = 1) -> BallNoise:
    """The noise for vectors that one neighbour moves by at most `steps` in the norm of the shape."""
    return BallNoise(shape, dimension, level, steps, decay_above(level, steps))


def _points(shape: Shape, d: int, s: int) -> int:
    """How many lattice points the ball of radius s has."""
    if shape == "cube":
        return int((2 * s + 1) ** d)
    return sum(math.comb(d, a) * math.comb(s, a) * math.comb(s + d - a, d - a) for a in range(d + 1))


def _differences(shape: Shape, d: int) -> list[int]:
    """The polynomial of the number of points in the basis C(s, j): its differences at 0."""
    values = [_points(shape, d, s) for s in range(d + 1)]
    found = []
    while values:
        found.append(values[0])
        values = [after - before for before, after in pairwise(values)]
    return found


def _log_points(shape: Shape, d: int, radii: NDArray[Any]) -> Floats:
    if shape == "cube":
        return np.asarray(d * np.log(2.0 * radii + 1))
    from scipy.special import logsumexp

    terms = [_log_comb(d, a) + _log_comb(radii, a) + _log_comb(radii + d - a, d - a) for a in range(d + 1)]
    return np.asarray(logsumexp(np.array(terms), axis=0))


def _exchange_marginal(d: int, log_b: float, radii: NDArray[Any]) -> Floats:
    """One coordinate of the exchange noise: sums over radii s of b^s times the points whose first coordinate is t.

    With a of the other d - 1 coordinates positive, that is C(s - t, a) C(s + e, e) points with e = d - 1 - a: a product
    of matrices over a, summed along its diagonals.
    """
    sizes = np.arange(d)
    with np.errstate(divide="ignore"):
        rises = np.array([_log_comb(d - 1, int(a)) + _log_comb(radii, int(a)) for a in sizes])
    falls = np.array([_log_comb(radii + d - 1 - int(a), d - 1 - int(a)) for a in sizes])
    rises, falls = rises + radii * log_b / 2, falls + radii * log_b / 2
    tops = rises.max(axis=1) + falls.max(axis=1)
    left = np.exp(rises - rises.max(axis=1, keepdims=True) + (tops - tops.max())[:, None])
    right = np.exp(falls - falls.max(axis=1, keepdims=True))
    counts = left.T @ right  # [u, s], with b^((u + s)/2) in it; u = s - t
    return np.array([np.trace(counts, offset=int(t)) * math.exp(log_b * t / 2) for t in radii])


def _log_comb(n: Any, k: int) -> Any:
    from scipy.special import gammaln

    n = np.asarray(n, dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return np.where(n >= k, found, -np.inf)


def _choose(weights: list[int]) -> int:
    """A position, with probability proportional to its whole-number weight."""
    sums = list(accumulate(weights))
    number = below(sums[-1])
    return sum(s <= number for s in sums)
