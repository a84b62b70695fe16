"""Privacy as hypothesis testing: regions of error probabilities, their inclusion, and simulation by post-processing.

A test that decides from the output which of two neighbours was used makes two kinds of error; the possible pairs
(missed detection, false alarm) form the privacy region (LIM 2.2). A mechanism is (epsilon, delta)-private iff its
regions lie inside that of the level (LIM Corollary 2.2.2).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from utmost.accounting.concentrated import moment_delta
from utmost.accounting.privacy_losses import loss_of
from utmost.errors import InvalidInput, SolverFailed
from utmost.exact import Number, to_float
from utmost.exact.arrays import Floats
from utmost.exact.citations import cites
from utmost.mechanism import Rows
from utmost.privacy import ZCDP, GaussianDP, Level, as_level

ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Region:
    """The achievable pairs (missed detection, false alarm), given by the corners of the lower boundary.

    `corners` go from missed detection 0 to 1 along a convex decreasing line; the region lies above it (and below its
    reflection, which is not stored).

    Examples
    --------
    >>> weak, strong = region(2), region(1)
    >>> strong in weak, weak in strong
    (True, False)
    """

    corners: Floats

    @classmethod
    def from_levels(
        cls, pairs: Sequence[tuple[float, float]], mirrored: Sequence[tuple[float, float]] | None = None
    ) -> Region:
        """The intersection of the regions of (epsilon, delta) pairs: P_FA + e^eps P_MD >= 1 - delta, and mirrored.

        For two given datasets the lines of the second kind, e^eps P_FA + P_MD >= 1 - delta, may have other pairs:
        `mirrored`.
        """
        lines = [(0.0, 0.0)]  # (slope, intercept) of P_FA >= intercept + slope P_MD
        for epsilon, delta in pairs:
            lines.append((-math.exp(min(epsilon, 700.0)), 1 - delta))
        for epsilon, delta in pairs if mirrored is None else mirrored:
            growth = math.exp(min(epsilon, 700.0))
            lines.append((-1 / growth, (1 - delta) / growth))
        return cls(_envelope(lines))

    @classmethod
    def of_losses(cls, values: Floats, masses: Floats, infinite: float = 0.0) -> Region:
        """The region of two distributions P and Q, from the finite losses ln(P/Q) and their probabilities under P."""
        return cls(_corners(values, masses, infinite))

    def false_alarm(self, missed: Any) -> Any:
        """The least false alarm for a probability of missed detection."""
        return np.interp(missed, self.corners[:, 0], self.corners[:, 1])

    def delta(self, epsilon: float) -> float:
        """The least delta for which the region lies inside that of (epsilon, delta)."""
        growth = math.exp(min(epsilon, 700.0))
        missed, alarm = self.corners.T
        return max(0.0, float((1 - alarm - growth * missed).max()), float((1 - missed - growth * alarm).max()))

    @property
    def total_variation(self) -> float:
        """The largest difference of probabilities of an event: 1 minus the least sum of errors."""
        return max(0.0, float((1 - self.corners.sum(axis=1)).max()))

    def __contains__(self, other: Region) -> bool:
        """Whether another region lies inside this one, up to rounding."""
        return bool((other.corners[:, 1] >= self.false_alarm(other.corners[:, 0]) - ROUNDING).all())

    def __repr__(self) -> str:
        return f"Region of {len(self.corners)} corners, total variation {self.total_variation:.6g}"


@cites("LIM-corollary-2.2.2", "LIM-theorem-3.6.2", "LIM-lemma-4.3.1")
def region(privacy: Level | Number, points: int = 400) -> Region:
    """The privacy region of a level; a curved one (Gaussian, zCDP) as a polygon of `points` lines around it.

    Examples
    --------
    >>> region(0).total_variation
    0.0
    """
    level = as_level(privacy)
    if isinstance(level, GaussianDP):
        if level.mu == 0 or level.mu == math.inf:
            return region(0 if level.mu == 0 else math.inf)
        epsilons = np.linspace(0, float(level.mu) * (float(level.mu) / 2 + 8), points)
        return Region.from_levels([(float(e), float(level.intercept(np.exp([e]))[0])) for e in epsilons])
    if isinstance(level, ZCDP):
        rho = to_float(level.rho)
        if rho == 0 or rho == math.inf:
            return region(0 if rho == 0 else math.inf)
        epsilons = np.linspace(0, rho + 12 * math.sqrt(rho), points)
        return Region.from_levels([(e, moment_delta(Fraction(level.rho), [], Fraction(e))) for e in epsilons.tolist()])
    loss = loss_of(level)
    return Region.of_losses(loss.values, loss.masses, float(loss.infinite))


@cites("LIM-theorem-2.2.1", "LIM-theorem-3.2.1")
def region_between(mechanism: Rows, point: Hashable, other: Hashable) -> Region:
    """The privacy region of a mechanism between two of its points: the hull of its tests (LIM (2.3)).

    Examples
    --------
    >>> import utmost as um
    >>> coin = um.FiniteMechanism([[0.75, 0.25], [0.25, 0.75]], "ab", [0, 1])
    >>> region_between(coin, "a", "b").corners.tolist()
    [[0.0, 1.0], [0.25, 0.25], [1.0, 0.0]]
    """
    first, second = mechanism.row(point), mechanism.row(other)  # false alarms under the first, misses under the second
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(np.where(first > 0, second / first, np.where(second > 0, np.inf, 1.0)), kind="stable")
    missed = np.append(0.0, np.cumsum(second[order]))
    alarm = np.append(1.0, 1 - np.cumsum(first[order]))
    alarm[-1], missed[-1] = 0.0, 1.0
    return Region(lower_hull(np.clip(np.column_stack([missed, alarm]), 0.0, 1.0)))


@cites("LIM-theorem-2.2.3", "LIM-theorem-2.2.4", "LIM-theorem-3.6.3", "LIM-lemma-4.3.2")
def simulating_channel(source: Rows, target: Rows, points: Sequence[Hashable] | None = None) -> Floats | None:
    """A post-processing channel that turns one mechanism into another at all the points at once, or None.

    For two points it exists iff the target's region lies inside the source's (Blackwell; LIM Theorem 2.2.4). For three
    or more the regions do not decide it, so it is computed by a linear program: rows of the channel are distributions
    over the target's outputs, and source x channel = target within 1e-9.

    Examples
    --------
    >>> import utmost as um
    >>> coin = lambda p: um.FiniteMechanism([[p, 1 - p], [1 - p, p]], "ab", [0, 1])
    >>> simulating_channel(coin(0.9), coin(0.75)).round(4)
    array([[0.8125, 0.1875],
           [0.1875, 0.8125]])
    >>> simulating_channel(coin(0.75), coin(0.9)) is None
    True
    """
    from scipy.optimize import linprog
    from scipy.sparse import block_array, eye_array, kron

    inputs = list(source.points if points is None else points)
    if len(inputs) < 2:
        raise InvalidInput("a simulation is about two points or more; name them.")
    a, b = (np.array([mechanism.row(point) for point in inputs]) for mechanism in (source, target))
    n, k, m = len(inputs), a.shape[1], b.shape[1]
    match = kron(a, eye_array(m))  # sparse: with 300 outputs each it has 2·10^10 entries, nearly all of them 0
    rows = kron(eye_array(k), np.ones((1, m)))
    errors = eye_array(n * m)
    equal = block_array([[match, errors, -errors], [rows, None, None]], format="csc")
    cost = np.append(np.zeros(k * m), np.ones(2 * n * m))
    solution = linprog(cost, A_eq=equal, b_eq=np.append(b.ravel(), np.ones(k)), bounds=(0, None), method="highs")
    if solution.x is None:
        raise SolverFailed(f"the linear program over channels failed: {solution.message}")
    channel = solution.x[: k * m].reshape(k, m)
    channel = channel / channel.sum(axis=1, keepdims=True)
    return channel if np.abs(a @ channel - b).max() <= 1e-9 else None


def _corners(values: Floats, masses: Floats, infinite: float) -> Floats:
    """The lower boundary of the region of a dominating pair: slopes from the steepest to the flattest."""
    finite = 1 - infinite
    masses, values = masses[::-1] * finite, values[::-1]
    alarm = np.concatenate([[1.0, finite], finite - np.cumsum(masses)])
    missed = np.concatenate([[0.0, 0.0], np.cumsum(masses * np.exp(-values))])
    alarm[-1] = 0.0
    missed[missed > 1 - ROUNDING] = 1.0  # sums of all of Q, rounded: one corner and not two
    return lower_hull(np.vstack([np.clip(np.column_stack([missed, alarm]), 0.0, 1.0), [[1.0, 0.0]]]))


def lower_hull(points: Floats) -> Floats:
    """The corners of the lower boundary of the convex hull of points, from left to right."""
    ordered = sorted(map(tuple, points.tolist()))
    hull: list[tuple[float, ...]] = []
    for x, y in ordered:
        while len(hull) > 1 and (hull[-1][1] - hull[-2][1]) * (x - hull[-2][0]) >= (y - hull[-2][1]) * (
            hull[-1][0] - hull[-2][0]
        ):
            hull.pop()
        if hull and hull[-1][0] == x:  # only the first and the lowest of those with one abscissa
            continue
        hull.append((x, y))
    return np.array(hull)


def _envelope(lines: Sequence[tuple[float, float]]) -> Floats:
    """The corners, between 0 and 1, of the upper envelope of lines with slopes of at most 0."""
    hull: list[tuple[float, float]] = []
    for slope, intercept in sorted(set(lines)):
        while hull:
            if hull[-1][0] == slope:
                hull.pop()
                continue
            if len(hull) > 1 and _meeting(hull[-2], (slope, intercept)) <= _meeting(hull[-2], hull[-1]):
                hull.pop()
                continue
            break
        hull.append((slope, intercept))
    at = [0.0, *(_meeting(a, b) for a, b in pairwise(hull)), 1.0]
    xs = np.unique(np.clip(at, 0.0, 1.0))
    ys = np.max([intercept + slope * xs for slope, intercept in hull], axis=0)
    return np.column_stack([xs, np.clip(ys, 0.0, 1.0)])


def _meeting(a: tuple[float, float], b: tuple[float, float]) -> float:
    return (a[1] - b[1]) / (b[0] - a[0])
