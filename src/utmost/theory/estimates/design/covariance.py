"""Covariance, correlation and slope of two columns from six released sums.

With a and b the places of two values in their ranges, from 0 to 1, a row adds (1-a)(1-b), (1-a)b, a(1-b), ab, a(1-a)
and b(1-b) to six sums. The first four add up to 1 and give the count and the sums of a, b and ab; the last two, at most
1/4 each, turn sums into sums of squares. So a row adds at most 3/2 in all, and nothing below 0.

**Intervals.** Let a0, b0 be the true means. Each of these is 0 of the true sums, and linear in them:

    covariance c    sum of (a - a0)(b - b0) - c n
    slope s         sum of (a - a0)(b - b0) - s (a - a0)^2
    correlation r   sum of (a - a0)(b - b0) - r (t (a - a0)^2 + (b - b0)^2 / t)/2, t the true ratio of deviations

so of the released sums it is a weighted sum of their noises, whose law is known. A number is in the interval if, for
some means and some ratio that fit the released sums, this is not unusually large (Fieller 1954). How far means and
ratio are off enters by products and squares only, so that their own large confidence costs little.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from utmost.exact.arrays import Floats
from utmost.privacy import ApproxDP, Level
from utmost.theory.estimates.design.combined_noise import expected, laplace_losses, limits

COUNT, A, B, AB, AA, BB = np.array(
    [
        [1.0, 1, 1, 1, 0, 0],
        [0, 0, 1, 1, 0, 0],
        [0, 1, 0, 1, 0, 0],
        [0, 0, 0, 1, 0, 0],
        [0, 0, 1, 1, -1, 0],
        [0, 1, 0, 1, 0, -1],
    ]
)
"""What makes the count and the sums of a, b, ab, a^2 and b^2 of the six sums."""
LEAST, LARGEST = (0.5, 0.5, 0.0), [(a, a, a * (1 - a)) for a in np.linspace(0, 0.5, 9).tolist()]
"""The moments (a0, b0, c) at which the error of the covariance is least, and among which it is largest."""
OF_OTHERS = 0.1
"""Which part of the probability of error goes to means and ratio."""
HALVINGS = 10
Interval = tuple[float, float]


def covariance_estimates(sums: Sequence[int], unit: int) -> dict[str, float]:
    """Covariance, correlation and slope of b on a, on the unit square, of six integers; 0 where nothing varies.

    Parameters
    ----------
    sums : the six sums as integers
    unit : what stands for 1 in them

    Examples
    --------
    >>> a, b = np.array([0, 2, 4]), np.array([1, 2, 3])                  # quarters
    >>> rows = [(4 - a) * (4 - b), (4 - a) * b, a * (4 - b), a * b, a * (4 - a), b * (4 - b)]
    >>> found = covariance_estimates([int(part.sum()) for part in rows], 16)
    >>> round(found["correlation"], 6), found["slope"]
    (1.0, 0.5)
    """
    low_low, low_high, high_low, high_high, inside_a, inside_b = (Fraction(part, unit) for part in sums)
    n = low_low + low_high + high_low + high_high
    if n <= 0:
        return {"covariance": 0.0, "correlation": 0.0, "slope": 0.0}
    a, b = (high_low + high_high) / n, (low_high + high_high) / n
    covariance = min(max(high_high / n - a * b, Fraction(-1, 4)), Fraction(1, 4))
    of_a, of_b = a - inside_a / n - a**2, b - inside_b / n - b**2
    both = math.sqrt(of_a * of_b) if of_a > 0 and of_b > 0 else 0.0
    correlation = min(max(float(covariance) / both, -1.0), 1.0) if both else 0.0
    slope = float(covariance / of_a) if of_a > 0 else 0.0
    return {"covariance": float(covariance), "correlation": correlation, "slope": slope}


def covariance_intervals(
    noise: Any,
    released: Sequence[int],
    unit: int,
    steepest: float,
    confidence: float,
    off: tuple[float, float] = (0.0, 0.0),
) -> dict[str, Interval]:
    """Between which numbers covariance, correlation and slope lie, each with this confidence, on the unit square.

    Parameters
    ----------
    noise : the law of the six integers' noise, independent
    released : the six integers
    unit : what stands for 1 in the integers
    steepest : no slope of rounded values is larger: the range of b over one step of a
    confidence : a probability
    off : how far rounding moved the values a and b at most; the intervals are of the values before it, and that of
        the slope is infinite where these may all be alike
    """
    miss, sums = 1 - confidence, np.array([float(Fraction(part, unit)) for part in released])
    seen = _Seen(noise, sums, unit, 1 - (1 - OF_OTHERS) * miss)
    others = _Seen(noise, sums, unit, 1 - OF_OTHERS * miss / 4)
    whole = {"covariance": (-0.25, 0.25), "correlation": (-1.0, 1.0), "slope": (-steepest, steepest)}
    exact = off == (0.0, 0.0)
    unknown = whole if exact else {**whole, "slope": (-math.inf, math.inf)}  # values before rounding may be as near
    if not others.above_zero(COUNT[None]):
        return unknown
    guess, n = covariance_estimates(released, unit), seen.of(COUNT)
    of_a, of_b = (
        others.range_of(seen.of(part) / n, (0.0, 1.0), lambda m, part=part: (part - m * COUNT)[None])  # type: ignore[misc]
        for part in (A, B)
    )
    means = list(product(of_a, of_b))
    found = {"covariance": seen.range_of(guess["covariance"], whole["covariance"], partial(_of_covariance, means))}
    squares = [others.spread(AA, A, of_a), others.spread(BB, B, of_b)]
    if not exact:
        found["covariance"] = _covariance_before(found["covariance"], squares, off)
    if squares[0][0] <= 0:  # all values of a may be alike
        return {**unknown, **found}
    found["slope"] = seen.range_of(guess["slope"], whole["slope"], partial(_of_slope, means))
    if not exact:
        found["slope"] = _slope_before(found["slope"], squares, off)
    if squares[1][0] <= 0:
        return {**unknown, **found}
    ratios = math.sqrt(squares[1][0] / squares[0][1]), math.sqrt(squares[1][1] / squares[0][0])
    found["correlation"] = seen.range_of(
        guess["correlation"], whole["correlation"], partial(_of_correlation, means, ratios)
    )
    if not exact:
        found["correlation"] = _correlation_before(found["correlation"], squares, off)
    return {name: found[name] for name in whole}


# ---- before rounding: a = a' + d, |d| <= p, and b = b' + e, |e| <= q, with a', b' rounded ----


def _covariance_before(ends: Interval, squares: list[Interval], off: tuple[float, float]) -> Interval:
    """cov(a, b) - cov(a', b') is at most p s(b') + q s(a') + p q, with s the standard deviations."""
    of_a, of_b = (math.sqrt(max(square[1], 0.0)) for square in squares)
    more = off[0] * of_b + off[1] * of_a + off[0] * off[1]
    return max(ends[0] - more, -0.25), min(ends[1] + more, 0.25)


def _slope_before(ends: Interval, squares: list[Interval], off: tuple[float, float]) -> Interval:
    """s(a) is at least s(a') - p and at most s(a') + p."""
    of_a, of_b = math.sqrt(squares[0][0]), math.sqrt(squares[1][1])
    p, q = off[0] / of_a, off[1] / of_a
    if p >= 1:
        return -math.inf, math.inf
    more = p * of_b / of_a + q * (1 + p)
    return _quotients(
        ends[0] - more, ends[1] + more, (1 - p) ** 2, (1 + p) ** 2, math.inf
    )  # unrounded values may be steeper


def _correlation_before(ends: Interval, squares: list[Interval], off: tuple[float, float]) -> Interval:
    p, q = (part / math.sqrt(square[0]) for part, square in zip(off, squares, strict=True))
    if max(p, q) >= 1:
        return -1.0, 1.0
    more = p + q + p * q
    return _quotients(ends[0] - more, ends[1] + more, (1 - p) * (1 - q), (1 + p) * (1 + q), 1.0)


def _quotients(low: float, high: float, least: float, most: float, largest: float) -> Interval:
    """Between which numbers x/y lies for x and y between numbers, y above 0."""
    found = [x / y for x in (low, high) for y in (least, most)]
    return max(min(found), -largest), min(max(found), largest)


# ---- expected errors ----


def covariance_losses(noise: Any, unit: float, a: float, b: float, c: float) -> dict[str, float]:
    """The expected losses of the covariance on the unit square at given moments, to first order, times the rows.

    With noise N it is off by c·N/n, c the weights of `_of_covariance`: with e = ab - c, on the first four sums

        e,   e - a,   e - b,   1 - a - b + e,

    which are linear in (a, b, e). Feasible are 0 <= a, b <= 1 and max(0, a + b - 1) <= c + ab <= min(a, b).

    **The least**: E|c·N| is convex, and unchanged by a -> 1 - a, e -> b - e and by b -> 1 - b, e -> a - e, which
    permute the weights and turn all their signs. The average over these is a = b = 1/2, e = 1/4: there it is least.

    **The largest**: a convex function is largest at an extreme point of the feasible (a, b, e). The surface
    e = 2ab - max(0, a + b - 1) bends upwards along (1, 1), e = 2ab - min(a, b) downwards along (1, -1), so extreme are
    only their edges: a = b with c = a(1 - a), and a + b = 1 with c = -a(1 - a), values that are perfectly correlated
    and lie at the ends of their ranges. By the symmetries a = b <= 1/2 suffices, where it is looked for on a grid; it
    is largest at a = b = 0, all values in one corner.

    Parameters
    ----------
    noise : the law of the six integers' noise, independent
    unit : what stands for 1 in the integers
    a, b, c : the means and the covariance
    """
    found = expected(noise, np.append(_of_covariance([(a, b)], c)[0][:4], [0.0, 0.0]))
    return {"absolute": found["absolute"] / unit, "squared": found["squared"] / unit**2}


def largest_covariance_losses(noise: Any, unit: float) -> dict[str, float]:
    """The largest of these over all moments."""
    found = [covariance_losses(noise, unit, *moments) for moments in LARGEST]
    return {loss: max(by[loss] for by in found) for loss in found[0]}


def moments(sums: Sequence[int]) -> tuple[float, float, float]:
    """(a0, b0, c) of released sums, clamped to what can be; where nobody seems to be, those of the largest error."""
    n = sum(sums[:4])
    if n <= 0:
        return LARGEST[0]
    a, b = (min(max(part / n, 0.0), 1.0) for part in (sums[2] + sums[3], sums[1] + sums[3]))
    both = min(max(sums[3] / n, a + b - 1, 0.0), a, b)
    return a, b, both - a * b


def covariance_alternatives(level: Level, moved: int) -> dict[str, dict[str, float]]:
    """The usual way, its largest losses: six sums around the middles, each with a sixth of the level, Laplace noise.

    The sum of products (a - 1/2)(b - 1/2) is at most 1/4 a row; one neighbour moves it by 1/4 for each of its rows, or
    by 1/2 where a row is replaced: `moved` quarters in all. Where all values lie in one corner, the sums of a - 1/2 and
    b - 1/2 have half of their noise in the covariance and the count a quarter: as much as the products, each.
    """
    if not isinstance(level, ApproxDP) or not 0 < level.log_growth < math.inf:
        return {}
    return {"Laplace": laplace_losses([6 * moved / 4 / level.log_growth] * 4)}


@dataclass(frozen=True)
class _Seen:
    """What was released, and how unusual a sum of noises may be."""

    noise: Any
    sums: Floats
    unit: float
    chance: float

    def of(self, weights: Floats) -> float:
        return float(weights @ self.sums)

    def fits(self, weights: Floats) -> bool:
        """Whether some of these weighted sums may be noise alone; between rows of weights everything is tried."""
        values = weights @ self.sums
        nearest = 0.0 if values.min() <= 0 <= values.max() else float(np.abs(values).min())
        return bool(nearest <= float(limits(self.noise, weights, self.chance).max()) / self.unit)

    def above_zero(self, weights: Floats) -> bool:
        return bool(float((weights @ self.sums).min()) > 0 and not self.fits(weights))

    def range_of(self, guess: float, ends: Interval, weights: Callable[[float], Floats]) -> Interval:
        """The numbers around a guess whose weighted sums may be noise alone: ends by bisection, rounded outwards."""
        found = []
        for end in ends:
            near, far = min(max(guess, ends[0]), ends[1]), end
            if not self.fits(weights(far)):
                step = 1 / 64 / max(1.0, abs(end - near))
                while step < 1 and self.fits(weights(near + step * (end - near))):  # the end is far, the border is not
                    step *= 4
                far = near + min(step, 1.0) * (end - near)
                for _ in range(HALVINGS):
                    middle = (near + far) / 2
                    near, far = (middle, far) if self.fits(weights(middle)) else (near, middle)
            found.append(far)
        return found[0], found[1]

    def spread(self, square: Floats, part: Floats, means: Interval) -> Interval:
        """Between which numbers a variance lies."""
        n = self.of(COUNT)
        weights = np.array([square - 2 * m * part + m**2 * COUNT for m in means])
        middle = self.of(square) / n - (self.of(part) / n) ** 2
        half = float(limits(self.noise, np.vstack([weights - v * COUNT for v in (0.0, 0.25)]), self.chance).max())
        away = max((m - self.of(part) / n) ** 2 for m in means)
        return middle - half / self.unit / n, min(0.25, middle + away + half / self.unit / n)


def _products(a: float, b: float) -> Floats:
    """The sum of (a - a0)(b - b0)."""
    return np.asarray(AB - a * B - b * A + a * b * COUNT)


def _of_covariance(means: list[Interval], c: float) -> Floats:
    return np.array([_products(a, b) - c * COUNT for a, b in means])


def _of_slope(means: list[Interval], slope: float) -> Floats:
    return np.array([_products(a, b) - slope * (AA - 2 * a * A + a**2 * COUNT) for a, b in means])


def _of_correlation(means: list[Interval], ratios: Interval, r: float) -> Floats:
    return np.array(
        [
            _products(a, b) - r * (t * (AA - 2 * a * A + a**2 * COUNT) + (BB - 2 * b * B + b**2 * COUNT) / t) / 2
            for (a, b), t in product(means, ratios)
        ]
    )
