"""The privacy loss of one release: a dominating pair of distributions, as a few atoms.

A pair (P, Q) *dominates* a mechanism if P - e^epsilon Q has at least as much positive mass, for every real epsilon, as
the mechanism has between any two neighbours. Dominating pairs compose: the product of the pairs dominates the sequence
of mechanisms, adaptively chosen inputs included (LIM Theorem 2.2.4 with A.3.1; Zhu, Dong and Wang 2022, Theorem 10).

- (epsilon, delta): randomised response at epsilon, with infinite loss of probability delta (LIM (A.23)).
- a mechanism on a space: the convex hull of the regions of all its ordered edges, read as one pair. So the bound holds
  even if different mechanisms have their worst edges in different places. It is attained where the region of one edge
  contains all others, as in geometric and other symmetric mechanisms. Elsewhere the hull is worse than every pair of
  neighbours, and `attained` lists some pairs that the mechanism actually has.
- a mechanism between two given points: the pair of their rows itself (`loss_between`), and its reverse.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput, UnsupportedLevel
from utmost.exact import to_float
from utmost.exact.arrays import Floats
from utmost.mechanism import Rows, require_points
from utmost.mechanism.certification import CertifiedMechanism, CertifiedRecipe
from utmost.privacy import ApproxDP, Level, SuitablePair, as_level
from utmost.solution import Solution
from utmost.space import Space

Points: TypeAlias = list[tuple[Fraction, Fraction]]
"""Tests between two distributions, as points (Q, P)."""
ENDS: Points = [(Fraction(0), Fraction(0)), (Fraction(1), Fraction(1))]
ULP = 2.0**-52
TINY = 1e-290
"""Probabilities below this are near underflow and may have lost digits."""
SAME = 1e-13
"""Relative tolerance within which two ratios of probabilities count as equal."""


@dataclass(frozen=True, eq=False)
class Loss:
    """The privacy loss ln(P/Q) under P: finite atoms with masses that add up to 1, and the share that is infinite.

    Attributes
    ----------
    values, masses : array of float
        The finite losses, increasing, and their probabilities given that the loss is finite.
    infinite : Fraction
        The probability of an infinite loss.
    blur : float
        Bound on the error of a value.
    level : Level or None
        The level whose worst loss this is, if it is that of a level.
    label : Level or None
        The level for which a mechanism with these losses was certified.
    attained : tuple of Loss
        Losses between actual neighbours, where this loss only dominates them all; else empty.
    reverse : Loss or None
        The loss ln(Q/P) under Q of the same two rows, if this is the loss between two given points or of a sample.
    """

    values: Floats
    masses: Floats
    infinite: Fraction
    blur: float = 0.0
    level: Level | None = None
    label: Level | None = None
    attained: tuple[Loss, ...] = ()
    reverse: Loss | None = None

    def __repr__(self) -> str:
        return f"Loss of {len(self.values)} values up to {self.values.max(initial=0.0):.6g}, of {self.level}"


def loss_of(release: Any) -> Loss:
    """The dominating privacy loss of a level, a certified mechanism, a solution, or a pair (mechanism, space).

    Examples
    --------
    >>> import utmost as um
    >>> loss_of((um.FiniteMechanism([[0.75, 0.25], [0.25, 0.75]], [0, 1], [0, 1]), um.path(2))).masses
    array([0.25, 0.75])
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
        return of_hull(level.knots, 0.0, level)
    raise UnsupportedLevel(f"{level} has no worst pair that composes; give PureDP, ApproxDP, GaussianDP or knots.")


def loss_between(mechanism: Rows, point: Hashable, other: Hashable) -> Loss:
    """The exact privacy loss of a mechanism between two of its points, for `compose`.

    `compose` of levels, or of mechanisms on spaces, is about the worst neighbours in every release. If it is known
    which two datasets an attacker distinguishes, and so at which two points each mechanism is used, the composition of
    these losses is exact. It is the same attacker in all releases: the first points of all losses belong to one
    dataset, the second ones to the other.

    Parameters
    ----------
    mechanism : FiniteMechanism or certified mechanism
        The released mechanism.
    point, other : point
        Its points for the first and for the second of the two datasets.

    Examples
    --------
    >>> import utmost as um
    >>> leaning = um.FiniteMechanism([[0.5, 0.5], [0.1, 0.9]], [0, 1], [0, 1])
    >>> lower, upper = um.compose(loss_between(leaning, 0, 1), times=3).bounds(0.5)
    >>> round(lower, 9), round(upper, 9)
    (0.522909841, 0.522909841)
    """
    if not isinstance(mechanism, Rows):
        raise InvalidInput("a loss between two points needs a mechanism with rows, such as a FiniteMechanism.")
    i, j = (mechanism._space.index(x) for x in (point, other))
    exact, roots = _integers(mechanism), np.sqrt(mechanism.matrix)
    loss, back = (_of_points(_tests(exact, roots, a, b)) for a, b in ((i, j), (j, i)))
    return replace(loss, reverse=back)


def _of_approx(level: ApproxDP) -> Loss:
    epsilon = level.log_growth
    if math.isinf(epsilon):
        return Loss(np.zeros(1), np.ones(1), Fraction(1), level=level)
    if epsilon == 0:
        return Loss(np.zeros(1), np.ones(1), level.delta, level=level)
    unlikely = math.exp(-epsilon)
    masses = np.array([unlikely, 1.0]) / (1 + unlikely)
    return Loss(np.array([-epsilon, epsilon]), masses, level.delta, level=level)


def _of_mechanism(mechanism: Rows, space: Space) -> Loss:
    """The hull of all ordered edges: likelihood-ratio tests of every edge as points (Q, P), in exact arithmetic.

    Outputs whose ratios agree to 1e-13 are merged; `blur` bounds the resulting error. Quotients of roots of
    probabilities neither overflow nor underflow.
    """
    require_points(mechanism, space)
    exact, roots = _integers(mechanism), np.sqrt(mechanism.matrix)
    tests = [_tests(exact, roots, *edge) for a, b in space.edge_indices.tolist() for edge in ((a, b), (b, a))]
    tests = [points for points in tests if points is not ENDS]
    corners = _upper_hull(list({point for points in tests for point in points} or ENDS))
    hull = of_hull(corners, SAME * 2 if tests else 0.0)
    is_attained = not tests or any(set(corners) <= set(points) for points in tests)
    return hull if is_attained else replace(hull, attained=_most_revealing(tests))


def _tests(exact: NDArray[Any], roots: Floats, i: int, j: int) -> Points:
    """The likelihood-ratio tests between two rows, as points (Q, P); `ENDS` if the rows are equal."""
    total_i, total_j = int(exact[i].sum()), int(exact[j].sum())
    if not (exact[i] * total_j != exact[j] * total_i).any():
        return ENDS
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(roots[j] > 0, roots[i] / roots[j], np.where(roots[i] > 0, np.inf, 0.0))
    order = np.argsort(-ratios)
    top, bottom = np.cumsum(exact[i][order]), np.cumsum(exact[j][order])
    turns = _turns(ratios[order].tolist())
    return [*ENDS, *((Fraction(bottom[at], total_j), Fraction(top[at], total_i)) for at in turns)]


def _of_points(points: Points) -> Loss:
    return of_hull(points, 0.0 if points is ENDS else SAME * 2)


def _most_revealing(tests: list[Points]) -> tuple[Loss, ...]:
    """The losses of the most distinguishable pairs of neighbours by three measures: each is composed separately.

    The tests come in pairs, one for each order of the neighbours; both orders are returned.
    """
    measures = [
        (_variation(np.array(points, dtype=float)), _negative_affinity(np.array(points, dtype=float)))
        for points in tests
    ]
    places = [max(range(len(tests)), key=lambda i, m=m: measures[i][m]) for m in (0, 1)]  # type: ignore[misc]
    surest = max(range(len(tests)), key=lambda i: max(p for q, p in tests[i] if q == 0))  # the most infinite loss
    return tuple(_of_points(tests[i]) for i in dict.fromkeys([*(i for c in places for i in (c, c ^ 1)), surest]))


def _variation(at: Floats) -> float:
    return float((at[:, 1] - at[:, 0]).max())


def _negative_affinity(at: Floats) -> float:
    """Minus the affinity (the sum of roots of P Q), which decides for many releases."""
    steps = np.diff(at[np.lexsort((at[:, 1], at[:, 0]))], axis=0)
    return -float(np.sqrt(np.maximum(steps[:, 0] * steps[:, 1], 0.0)).sum())


def _turns(falling: list[float]) -> list[int]:
    """The last index of each group of nearly equal roots of ratios, without the last group."""
    turns, first = [], falling[0]
    for at, ratio in enumerate(falling[1:]):
        if ratio < first * (1 - SAME / 2):
            turns.append(at)
            first = ratio
    return turns


def _integers(mechanism: Rows) -> NDArray[Any]:
    """The probabilities as whole numbers, exactly: certified weights, or floats times a power of two."""
    if isinstance(mechanism, CertifiedMechanism):
        return np.array(mechanism.weights, dtype=object)
    scaled = [[int(Fraction(p) * 2**1074) for p in row] for row in mechanism.matrix.tolist()]
    return np.array(scaled, dtype=object).reshape(mechanism.matrix.shape)


def _upper_hull(points: Sequence[tuple[Fraction, Fraction]]) -> Points:
    hull: Points = []
    for x, y in sorted(points):
        while hull and (hull[-1][0] == x or (len(hull) > 1 and not _turns_right(hull[-2], hull[-1], (x, y)))):
            hull.pop()
        hull.append((x, y))
    return hull


def of_hull(points: Sequence[tuple[Fraction, Fraction]], blur: float, level: Level | None = None) -> Loss:
    """The pair whose tests are the upper hull of points (Q, P): an atom per side, its loss the log of the slope."""
    hull = _upper_hull(points)
    infinite = hull[0][1]
    sides = [(q[0] - p[0], q[1] - p[1]) for p, q in pairwise(hull) if q[1] > p[1]]
    if infinite == 1 or not sides:
        return Loss(np.zeros(1), np.ones(1), infinite, level=level)
    values = np.array([_log(rise / run) for run, rise in reversed(sides)])
    masses = np.array([float(rise / (1 - infinite)) for _, rise in reversed(sides)])
    return Loss(values, masses, infinite, blur, level)


def _log(ratio: Fraction) -> float:
    rounded = to_float(ratio)
    if TINY < rounded < 1 / TINY:
        return math.log(rounded)
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def _turns_right(a: tuple[Fraction, Fraction], b: tuple[Fraction, Fraction], c: tuple[Fraction, Fraction]) -> bool:
    return (b[1] - a[1]) * (c[0] - b[0]) > (c[1] - b[1]) * (b[0] - a[0])
