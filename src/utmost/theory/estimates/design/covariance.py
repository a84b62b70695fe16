"""Covariance, correlation and slope of two columns from six released sums.

With a and b the two values rescaled to [0, 1], a row adds (1-a)(1-b), (1-a)b, a(1-b), ab, a(1-a)
and b(1-b) to six sums. The first four add up to 1 and give the count and the sums of a, b and ab; the last two, at most
1/4 each, turn sums into sums of squares. So a row adds at most 3/2 in all, and nothing below 0.

**Intervals.** Let a0, b0 be the true means. Each of these is 0 for the true sums, and linear in them:

    covariance c    sum of (a - a0)(b - b0) - c n
    slope s         sum of (a - a0)(b - b0) - s (a - a0)^2
    correlation r   sum of (a - a0)(b - b0) - r (t (a - a0)^2 + (b - b0)^2 / t)/2, t the true ratio of deviations

so for the released sums it is a weighted sum of their noises, whose law is known. A number is in the interval if, for
some means and some ratio that are compatible with the released sums, this is not unusually large (Fieller 1954). The
errors of means and ratio enter by products and squares only, so their own high confidence costs little.
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
"""The weights that turn the six sums into the count and the sums of a, b, ab, a^2 and b^2."""
LEAST, LARGEST = (0.5, 0.5, 0.0), [(a, a, a * (1 - a)) for a in np.linspace(0, 0.5, 9).tolist()]
"""The moments (a0, b0, c) at which the error of the covariance is least, and among which it is largest."""
OF_OTHERS = 0.1
"""The share of the error probability that is spent on means and ratio."""
HALVINGS = 10
Interval = tuple[float, float]


def covariance_estimates(sums: Sequence[int], unit: int) -> dict[str, float]:
    """Covariance, correlation and slope of b on a, on the unit square, of six integers; 0 where nothing varies.

    Parameters
    ----------
    sums : sequence of int
        The six sums as integers.
    unit : int
        The integer that stands for 1 in them.

    Examples
    --------
    >>> a, b = np.array([0, 2, 4]), np.array([1, 2, 3])                  # quarters
    >>> rows = [(4 - a) * (4 - b), (4 - a) * b, a * (4 - b), a * b, a * (4 - a), b * (4 - b)]
    >>> estimates = covariance_estimates([int(part.sum()) for part in rows], 16)
    >>> round(estimates["correlation"], 6), estimates["slope"]
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
    rounding_errors: tuple[float, float] = (0.0, 0.0),
) -> dict[str, Interval]:
    """Confidence intervals for covariance, correlation and slope, each at this confidence, on the unit square.

    Parameters
    ----------
    noise : IndependentLaw
        The law of the six integers' noise.
    released : sequence of int
        The six released integers.
    unit : int
        The integer that stands for 1 in them.
    steepest : float
        The largest possible slope of rounded values: the range of b over one step of a.
    confidence : float
        A probability.
    rounding_errors : pair of float
        By how much rounding changed the values a and b at most. The intervals are for the values before rounding; that
        of the slope is infinite where all of these may be equal.
    """
    miss, sums = 1 - confidence, np.array([float(Fraction(part, unit)) for part in released])
    main = _NoisySums(noise, sums, unit, 1 - (1 - OF_OTHERS) * miss)
    nuisance = _NoisySums(noise, sums, unit, 1 - OF_OTHERS * miss / 4)
    ranges = {"covariance": (-0.25, 0.25), "correlation": (-1.0, 1.0), "slope": (-steepest, steepest)}
    exact = rounding_errors == (0.0, 0.0)
    unknown = (
        ranges if exact else {**ranges, "slope": (-math.inf, math.inf)}
    )  # unrounded values may be arbitrarily close
    if not nuisance.above_zero(COUNT[None]):
        return unknown
    guess, n = covariance_estimates(released, unit), main.of(COUNT)
    of_a, of_b = (
        nuisance.range_of(main.of(part) / n, (0.0, 1.0), lambda m, part=part: (part - m * COUNT)[None])  # type: ignore[misc]
        for part in (A, B)
    )
    means = list(product(of_a, of_b))
    intervals = {"covariance": main.range_of(guess["covariance"], ranges["covariance"], partial(_of_covariance, means))}
    squares = [nuisance.spread(AA, A, of_a), nuisance.spread(BB, B, of_b)]
    if not exact:
        intervals["covariance"] = _covariance_before(intervals["covariance"], squares, rounding_errors)
    if squares[0][0] <= 0:  # all values of a may be equal
        return {**unknown, **intervals}
    intervals["slope"] = main.range_of(guess["slope"], ranges["slope"], partial(_of_slope, means))
    if not exact:
        intervals["slope"] = _slope_before(intervals["slope"], squares, rounding_errors)
    if squares[1][0] <= 0:
        return {**unknown, **intervals}
    ratios = math.sqrt(squares[1][0] / squares[0][1]), math.sqrt(squares[1][1] / squares[0][0])
    intervals["correlation"] = main.range_of(
        guess["correlation"], ranges["correlation"], partial(_of_correlation, means, ratios)
    )
    if not exact:
        intervals["correlation"] = _correlation_before(intervals["correlation"], squares, rounding_errors)
    return {name: intervals[name] for name in ranges}


# ---- before rounding: a = a' + d, |d| <= p, and b = b' + e, |e| <= q, with a', b' rounded ----


def _covariance_before(ends: Interval, squares: list[Interval], off: tuple[float, float]) -> Interval:
    """The interval before rounding: |cov(a, b) - cov(a', b')| <= p s(b') + q s(a') + p q, s the standard deviations."""
    of_a, of_b = (math.sqrt(max(square[1], 0.0)) for square in squares)
    more = off[0] * of_b + off[1] * of_a + off[0] * off[1]
    return max(ends[0] - more, -0.25), min(ends[1] + more, 0.25)


def _slope_before(ends: Interval, squares: list[Interval], off: tuple[float, float]) -> Interval:
    """The interval of the slope before rounding, from s(a') - p <= s(a) <= s(a') + p."""
    of_a, of_b = math.sqrt(squares[0][0]), math.sqrt(squares[1][1])
    p, q = off[0] / of_a, off[1] / of_a
    if p >= 1:
        return -math.inf, math.inf
    more = p * of_b / of_a + q * (1 + p)
    return _quotients(
        ends[0] - more, ends[1] + more, (1 - p) ** 2, (1 + p) ** 2, math.inf
    )  # unrounded values may be steeper


def _correlation_before(ends: Interval, squares: list[Interval], off: tuple[float, float]) -> Interval:
    """The interval of the correlation before rounding."""
    p, q = (part / math.sqrt(square[0]) for part, square in zip(off, squares, strict=True))
    if max(p, q) >= 1:
        return -1.0, 1.0
    more = p + q + p * q
    return _quotients(ends[0] - more, ends[1] + more, (1 - p) * (1 - q), (1 + p) * (1 + q), 1.0)


def _quotients(low: float, high: float, least: float, most: float, largest: float) -> Interval:
    """The range of x/y for low <= x <= high and 0 < least <= y <= most, clamped to +-largest."""
    quotients = [x / y for x in (low, high) for y in (least, most)]
    return max(min(quotients), -largest), min(max(quotients), largest)


# ---- expected errors ----


def covariance_losses(noise: Any, unit: float, a: float, b: float, c: float) -> dict[str, float]:
    """The expected losses of the covariance on the unit square at given moments, to first order, times the rows.

    With noise N its error is c·N/n, c the weights of `_of_covariance`: with e = ab - c, on the first four sums

        e,   e - a,   e - b,   1 - a - b + e,

    which are linear in (a, b, e). Feasible are 0 <= a, b <= 1 and max(0, a + b - 1) <= c + ab <= min(a, b).

    **The least**: E|c·N| is convex, and unchanged by a -> 1 - a, e -> b - e and by b -> 1 - b, e -> a - e, which
    permute the weights and turn all their signs. The average over these is a = b = 1/2, e = 1/4: there it is least.

    **The largest**: a convex function is largest at an extreme point of the feasible (a, b, e). The surface
    e = 2ab - max(0, a + b - 1) bends upwards along (1, 1), e = 2ab - min(a, b) downwards along (1, -1), so extreme are
    only their edges: a = b with c = a(1 - a), and a + b = 1 with c = -a(1 - a), values that are perfectly correlated
    and lie at the ends of their ranges. By the symmetries a = b <= 1/2 suffices, which is searched on a grid; it
    is largest at a = b = 0, all values in one corner.

    Parameters
    ----------
    noise : IndependentLaw
        The law of the six integers' noise.
    unit : float
        The number that stands for 1 in the integers.
    a, b, c : float
        The means and the covariance.
    """
    losses = expected(noise, np.append(_of_covariance([(a, b)], c)[0][:4], [0.0, 0.0]))
    return {"absolute": losses["absolute"] / unit, "squared": losses["squared"] / unit**2}


def largest_covariance_losses(noise: Any, unit: float) -> dict[str, float]:
    """The largest expected losses of the covariance over all moments (see `covariance_losses`)."""
    losses_at = [covariance_losses(noise, unit, *moments) for moments in LARGEST]
    return {loss: max(losses[loss] for losses in losses_at) for loss in losses_at[0]}


def moments(sums: Sequence[int]) -> tuple[float, float, float]:
    """(a0, b0, c) of released sums, clamped to feasible values; those of the largest error if the count is <= 0."""
    n = sum(sums[:4])
    if n <= 0:
        return LARGEST[0]
    a, b = (min(max(part / n, 0.0), 1.0) for part in (sums[2] + sums[3], sums[1] + sums[3]))
    both = min(max(sums[3] / n, a + b - 1, 0.0), a, b)
    return a, b, both - a * b


def covariance_alternatives(level: Level, quarters: int) -> dict[str, dict[str, float]]:
    """The largest losses of the usual approach: six centred sums, each with a sixth of the level and Laplace noise.

    The product (a - 1/2)(b - 1/2) of a row is at most 1/4, so the sensitivity of their sum is 1/4 for each row of a
    neighbour, or 1/2 where a row is replaced: `quarters` in all. Where all values lie in one corner, the sums of
    a - 1/2 and b - 1/2 enter the covariance with half of their noise and the count with a quarter: as much as the
    products, each.
    """
    if not isinstance(level, ApproxDP) or not 0 < level.log_growth < math.inf:
        return {}
    return {"Laplace": laplace_losses([6 * quarters / 4 / level.log_growth] * 4)}


@dataclass(frozen=True)
class _NoisySums:
    """Released sums, their noise, and the confidence at which weighted sums of noise are bounded."""

    noise: Any
    sums: Floats
    unit: float
    chance: float

    def of(self, weights: Floats) -> float:
        return float(weights @ self.sums)

    def fits(self, weights: Floats) -> bool:
        """Whether some weighted sum is within the noise limit of 0, or two of them have different signs."""
        values = weights @ self.sums
        nearest = 0.0 if values.min() <= 0 <= values.max() else float(np.abs(values).min())
        return bool(nearest <= float(limits(self.noise, weights, self.chance).max()) / self.unit)

    def above_zero(self, weights: Floats) -> bool:
        return bool(float((weights @ self.sums).min()) > 0 and not self.fits(weights))

    def range_of(self, guess: float, ends: Interval, weights: Callable[[float], Floats]) -> Interval:
        """The numbers around a guess whose weighted sums fit noise alone; ends by bisection, rounded outwards."""
        limits_reached = []
        for end in ends:
            inside, outside = min(max(guess, ends[0]), ends[1]), end
            if not self.fits(weights(outside)):
                step = 1 / 64 / max(1.0, abs(end - inside))
                while step < 1 and self.fits(
                    weights(inside + step * (end - inside))
                ):  # the end is far, the border is not
                    step *= 4
                outside = inside + min(step, 1.0) * (end - inside)
                for _ in range(HALVINGS):
                    middle = (inside + outside) / 2
                    inside, outside = (middle, outside) if self.fits(weights(middle)) else (inside, middle)
            limits_reached.append(outside)
        return limits_reached[0], limits_reached[1]

    def spread(self, square: Floats, part: Floats, means: Interval) -> Interval:
        """A confidence interval for a variance, given one for its mean."""
        n = self.of(COUNT)
        weights = np.array([square - 2 * m * part + m**2 * COUNT for m in means])
        estimate = self.of(square) / n - (self.of(part) / n) ** 2
        half = float(limits(self.noise, np.vstack([weights - v * COUNT for v in (0.0, 0.25)]), self.chance).max())
        bias = max((m - self.of(part) / n) ** 2 for m in means)
        return estimate - half / self.unit / n, min(0.25, estimate + bias + half / self.unit / n)


def _products(a: float, b: float) -> Floats:
    """The weights of the sum of (x - a)(y - b), for values x, y and means a, b."""
    return np.asarray(AB - a * B - b * A + a * b * COUNT)


def _of_covariance(means: list[Interval], c: float) -> Floats:
    """A row of weights for each pair of means, whose sum is 0 at the true covariance."""
    return np.array([_products(a, b) - c * COUNT for a, b in means])


def _of_slope(means: list[Interval], slope: float) -> Floats:
    """A row of weights for each pair of means, whose sum is 0 at the true slope."""
    return np.array([_products(a, b) - slope * (AA - 2 * a * A + a**2 * COUNT) for a, b in means])


def _of_correlation(means: list[Interval], ratios: Interval, r: float) -> Floats:
    """A row of weights for each pair of means and ratio of deviations, whose sum is 0 at the true correlation."""
    return np.array(
        [
            _products(a, b) - r * (t * (AA - 2 * a * A + a**2 * COUNT) + (BB - 2 * b * B + b**2 * COUNT) / t) / 2
            for (a, b), t in product(means, ratios)
        ]
    )
