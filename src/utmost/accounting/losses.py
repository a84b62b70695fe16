"""The privacy loss of one release: a worst pair of distributions, as a few atoms.

A pair (P, Q) *dominates* a mechanism if P - e^epsilon Q has at least as much positive mass, for every real epsilon, as
the mechanism has between any two neighbours. Dominating pairs compose: the product of the pairs dominates the sequence
of mechanisms, adaptively chosen inputs included (LIM Theorem 2.2.4 with A.3.1; Zhu, Dong and Wang 2022, Theorem 10).

- (epsilon, delta): randomised response at epsilon, and delta of infinite loss (LIM (A.23)); nothing private is worse.
- a mechanism on a space: the convex hull of the regions of all its ordered edges, read as one pair. Hence different
  mechanisms may have their worst edges in different places and the bound still holds. It is attained where one edge
  contains all others, as it does in geometric and other symmetric mechanisms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from utmost.certification import CertifiedMechanism, CertifiedRecipe
from utmost.errors import InvalidInput, UnsupportedLevel
from utmost.mechanism import Rows
from utmost.privacy import ApproxDP, Level, SuitablePair, as_level
from utmost.solution import Solution
from utmost.space import Space

Floats: TypeAlias = NDArray[np.float64]
ULP = 2.0**-52


@dataclass(frozen=True, eq=False)
class Loss:
    """The privacy loss ln(P/Q) under P: finite atoms with masses that add up to 1, and the share that is infinite.

    Attributes
    ----------
    values, masses : the finite losses, increasing, and their probabilities given that the loss is finite
    infinite : the probability of an infinite loss
    slack : how far P and Q may be, in total variation, from the exact ones, by rounding
    level : the level it stands for, if it stands for one
    label : the level that a mechanism with these losses was certified for
    """

    values: Floats
    masses: Floats
    infinite: Fraction
    slack: float = 0.0
    level: Level | None = None
    label: Level | None = None

    def __repr__(self) -> str:
        return f"Loss of {len(self.values)} values up to {self.values.max(initial=0.0):.6g}, of {self.level}"


def loss_of(release: Any) -> Loss:
    """The worst privacy loss of a level, a certified mechanism, a solution, or a pair (mechanism, space).

    Examples
    --------
    >>> import utmost as um
    >>> loss_of((um.finite.geometric(5, 1.0), um.path(5))).values.round(6)
    array([-1.,  1.])
    """
    if isinstance(release, Loss):
        return release
    if isinstance(release, Solution):
        release = release.certified
    if isinstance(release, CertifiedMechanism | CertifiedRecipe):
        loss = _of_mechanism(release, release.levels.space)
        return replace(loss, label=release.levels.single if isinstance(release.levels.single, ApproxDP) else None)
    if isinstance(release, tuple) and len(release) == 2 and isinstance(release[1], Space):
        if not isinstance(release[0], Rows):
            raise InvalidInput("a pair (mechanism, space) needs a mechanism with rows, such as a FiniteMechanism.")
        return _of_mechanism(*release)
    if isinstance(release, Rows):
        raise InvalidInput("a mechanism alone has no neighbours; give (mechanism, space), or certify it first.")
    level = as_level(release)
    if isinstance(level, ApproxDP):
        return _of_approx(level)
    if isinstance(level, SuitablePair) and level.concave:
        knots = np.array([(float(a), float(u)) for a, u in level.knots])
        return _of_hull(np.vstack([[0.0, 0.0], knots]), level.at(Fraction(0)), 4 * len(knots) * ULP, level)
    raise UnsupportedLevel(f"{level} has no worst pair that composes; give PureDP, ApproxDP, GaussianDP or knots.")


def _of_approx(level: ApproxDP) -> Loss:
    epsilon = level.log_growth
    if math.isinf(epsilon):
        return Loss(np.zeros(1), np.ones(1), Fraction(1), level=level)
    if epsilon == 0:
        return Loss(np.zeros(1), np.ones(1), level.delta, level=level)
    return Loss(np.array([-epsilon, epsilon]), expit([-epsilon, epsilon]), level.delta, level=level)


def _of_mechanism(mechanism: Rows, space: Space) -> Loss:
    """The hull of all ordered edges: likelihood-ratio tests of every edge as points (Q, P)."""
    points = [np.array([[0.0, 0.0], [1.0, 1.0]])]
    for here, there in mechanism._ordered_edges(space):
        with np.errstate(divide="ignore", invalid="ignore"):
            order = np.argsort(np.where(there > 0, -(here / there), np.where(here > 0, -np.inf, 0.0)), axis=1)
        top, bottom = (np.cumsum(np.take_along_axis(x, order, axis=1), axis=1) for x in (here, there))
        points.append(_upper_hull(np.column_stack([bottom.ravel(), top.ravel()])))
    hull = np.clip(np.vstack(points), 0.0, 1.0)
    infinite = Fraction(float(hull[hull[:, 0] == 0, 1].max()))
    return _of_hull(hull, infinite, 4 * (len(mechanism.outputs) + len(hull)) * ULP)


def _of_hull(points: Floats, infinite: Fraction, slack: float, level: Level | None = None) -> Loss:
    """The pair whose tests are the upper hull of points (Q, P): an atom per side, its loss the log of the slope."""
    if infinite == 1:
        return Loss(np.zeros(1), np.ones(1), Fraction(1), level=level)
    hull = _upper_hull(points)
    q, p = np.diff(hull[hull[:, 1] >= float(infinite)], axis=0).T
    rising = (q > 0) & (p > 0)
    values, masses = np.log(p[rising] / q[rising])[::-1], p[rising][::-1]
    return Loss(values, masses / masses.sum(), infinite, slack, level)


def _upper_hull(points: Floats) -> Floats:
    """The upper convex hull of points, left to right; corners lower than a rounding error are left out."""
    ordered = points[np.lexsort((points[:, 1], points[:, 0]))]
    last = np.append(ordered[1:, 0] != ordered[:-1, 0], True)  # the highest of those with one abscissa
    hull: list[tuple[float, float]] = []
    for x, y in ordered[last].tolist():
        while len(hull) > 1 and _height(hull[-2], hull[-1], (x, y)) <= ULP:
            hull.pop()
        hull.append((x, y))
    return np.array(hull)


def _height(left: tuple[float, float], middle: tuple[float, float], right: tuple[float, float]) -> float:
    """How far the middle of three points lies above the line through the others."""
    share = (middle[0] - left[0]) / (right[0] - left[0])
    return (middle[1] - left[1]) * (1 - share) - (right[1] - middle[1]) * share
