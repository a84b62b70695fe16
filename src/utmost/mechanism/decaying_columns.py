"""Mechanisms whose columns decay as fast as privacy allows, for spaces of up to a million points.

Column k is z_k e^(-epsilon d(i, k)): tight constraints (REG) and the geometric mechanism (Ghosh et al.) have this form.
On lines, grids and vertex-transitive spaces a row costs O(n), and so do the sums of all rows, by recursions in which
every term is positive; no n x n matrix is made. Such a recipe is epsilon-private by the triangle inequality.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from utmost.errors import InvalidInput
from utmost.exact import without_underflow
from utmost.exact.arrays import Floats
from utmost.mechanism.finite import Law, RecipeMechanism
from utmost.mechanism.loss_tables import Loss
from utmost.privacy import ApproxDP
from utmost.space import Space
from utmost.space.family import Cycle, Grid, Row

UNIT = 2.0**-52
REASON = "e^(-epsilon d(i, k)) changes by at most a factor e^epsilon along an edge, by the triangle inequality"


class DecayingMechanism(RecipeMechanism):
    """The mechanism with probabilities z_k e^(-epsilon d(i, k)), its peaks z chosen so that rows add up to 1.

    Examples
    --------
    >>> from utmost.space.families import path
    >>> from utmost.privacy import PureDP
    >>> DecayingMechanism(path(2), PureDP.from_ratio(3), [0.75, 0.75]).row(0)
    array([0.75, 0.25])
    """

    def __init__(self, space: Space, level: ApproxDP, peaks: Any) -> None:
        z = np.array(peaks, dtype=float)
        n = len(space.points)
        if z.shape != (n,) or not ((z >= 0) & (z <= 1)).all():
            raise InvalidInput(f"the peaks of {n} columns must be {n} probabilities.")
        sums = row_sums(space, level, z)
        error_of_sums = float(np.abs(sums - 1).max(initial=0.0))
        if not error_of_sums <= 1e-9:
            raise InvalidInput(
                f"rows of these peaks add up to 1 only within {error_of_sums:.2g}; solve for them again."
            )
        z.flags.writeable = False
        self.space, self.peaks, self.sums = space, z, sums
        epsilon, error = level.log_growth, sum_error(space, level, z)
        law = Law(
            level, space, REASON, error_of_sums + error + 8 * UNIT, min(float(z.max(initial=0.0)) * (1 + 1e-9), 1.0)
        )

        def recipe(i: int) -> Floats:
            with np.errstate(under="ignore"):
                return without_underflow(np.exp(-epsilon * space.distances_from(space.points[i])) * z, z > 0)

        super().__init__(space.points, space.points, recipe, law)

    @property
    def diagonal(self) -> Floats:
        """The probability of the truth at each point."""
        return np.asarray(self.peaks / self.sums)

    def expected_loss(self, prior: Any = None, loss: Loss = "zero-one", remap: str | Sequence[Any] = "best") -> float:
        """`Rows.expected_loss`; zero-one loss under the uniform prior, or without a remap, needs no matrix.

        Under the uniform prior a column is likeliest at its own point, so the best guess is the output.
        """
        if isinstance(loss, str) and loss == "zero-one" and isinstance(remap, str) and remap in ("best", "none"):
            weights = self._space.as_prior(prior)
            if remap == "none" or not len(weights) or bool((weights == weights[0]).all()):
                return 1 - math.fsum(weights * self.diagonal) if len(weights) else 0.0
        return super().expected_loss(prior, loss, remap)

    def leakage(self, prior: Any = None) -> float:
        """`Rows.leakage`; under the uniform prior it is log2 of the sum of the diagonal."""
        weights = self._space.as_prior(prior)
        if len(weights) and bool((weights == weights[0]).all()):
            return math.log2(math.fsum(self.diagonal))
        return super().leakage(prior)

    def __repr__(self) -> str:
        return f"DecayingMechanism of {len(self.points)} points"


def has_structure(space: Space) -> bool:
    """Whether row sums take O(n): lines, l1 grids, two-dimensional Chebyshev grids, vertex-transitive spaces."""
    return is_transitive(space) or _adder(space) is not None


def is_path(space: Space) -> bool:
    """Whether the space is a path: consecutive integers, each a neighbour of the next."""
    return isinstance(space.family, Row) and space.family.is_path


def path_peaks(n: int, b: float) -> Floats:
    """The peaks of a path at b = e^-epsilon: those of the truncated geometric mechanism."""
    if n < 2:
        return np.ones(n)
    z = np.full(n, (1 - b) / (1 + b))
    z[[0, -1]] = 1 / (1 + b)
    return z


def is_transitive(space: Space) -> bool:
    """Whether the space is vertex-transitive, by its family."""
    return space.family is not None and space.family.transitive


def row_sums(space: Space, level: ApproxDP, peaks: Floats) -> Floats:
    """The sum over k of z_k e^(-epsilon d(i, k)), for every i; see `sum_error`."""
    n = len(peaks)
    if is_transitive(space):
        if not n:
            return peaks
        if (peaks != peaks[0]).any():
            return _across_complete_sides(space, level, peaks)
        decay = np.exp(-level.log_growth * space.distances_from(space.points[0]))
        return np.full(n, math.fsum(decay) * peaks[0])
    add = _adder(space)
    if add is None:
        raise InvalidInput(f"{space!r} is not a line, a grid or a transitive space.")
    return add(peaks, math.exp(-level.log_growth))


def sum_error(space: Space, level: ApproxDP, peaks: Floats) -> float:
    """An upper bound on the rounding error of `row_sums`.

    A term z_k b^d goes through a window of at most `reach` additions and, for each side, through d steps of three
    additions and a multiplication by b, itself wrong by epsilon + 1 units; so its relative error is at most
    reach + (4 + epsilon) d + 8 units. The sum of d |z_k| b^d is bounded by another sum, since
    d b^d <= b (c^d - b^d) / (c - b) for c > b.
    """
    if not len(peaks):
        return 0.0
    if is_transitive(space) and (peaks == peaks[0]).all():
        return 4 * UNIT * (1 + 745)
    if is_transitive(space):
        steps = sum(size + 8 + level.log_growth for size in getattr(space.points, "shape", (len(peaks),)))
        return UNIT * 1.01 * steps * float(_across_complete_sides(space, level, np.abs(peaks)).max())
    add, size, b = _adder(space), np.abs(peaks), math.exp(-level.log_growth)
    assert add is not None
    sums = add(size, b)
    if b == 1:
        return UNIT * len(peaks) * (reach_of(space) + 8) * float(sums.max())
    c = math.exp(-level.log_growth / 2)
    weighted = b * (add(size, c) - sums) / (c - b) if c > b else len(peaks) * sums
    steps = (4 + level.log_growth) * _sides(space) * weighted
    return UNIT * 1.01 * float(((reach_of(space) + 8) * sums + steps).max())


def reach_of(space: Space) -> int:
    """The largest difference between two neighbours on a line; 1 elsewhere."""
    return space.family.reach if isinstance(space.family, Row) else 1


def _sides(space: Space) -> int:
    """The number of sides of a grid that are longer than one point; 1 elsewhere."""
    return max(1, sum(size > 1 for size in space.family.shape)) if isinstance(space.family, Grid) else 1


def _adder(space: Space) -> Callable[[Floats, float], Floats] | None:
    """The sums of rows as a function of the peaks and e^-epsilon; None without structure."""
    match space.family:
        case Row(reach=reach):
            return lambda z, b: z + _beyond(z, b, reach) + _beyond(z[::-1], b, reach)[::-1]
        case Grid(metric=metric, long_sides=shape) if metric == "manhattan" or len(shape) < 2:
            return lambda z, b: _along_each_axis(z.reshape(shape), b).ravel()
        case Grid(long_sides=shape) if len(shape) == 2:
            return lambda z, b: _chebyshev_sums(z.reshape(shape), b).ravel()
    return None


def _beyond(z: Floats, b: float, reach: int) -> Floats:
    """R_i = sum over k > i of b^ceil((k - i) / reach) z_k, along the first axis: R_i = b (W_i + R_(i+reach)).

    W_i is the sum of the next `reach` entries: the end of one block of that length and the start of the next.
    """
    from scipy.signal import lfilter

    n = len(z)
    blocks = -(-n // reach) + 1
    padded = np.zeros((blocks * reach, *z.shape[1:]))
    padded[:n] = z
    grouped = padded.reshape(blocks, reach, *z.shape[1:])
    to_here = np.cumsum(grouped, axis=1)
    from_here = np.cumsum(grouped[:, ::-1], axis=1)[:, ::-1]
    windows = np.zeros_like(grouped)
    windows[:, :-1] = from_here[:, 1:]
    windows[:-1] += to_here[1:]
    return np.asarray(lfilter([b], [1.0, -b], windows[::-1], axis=0)[::-1].reshape(padded.shape)[:n])


def _across_complete_sides(space: Space, level: ApproxDP, z: Floats) -> Floats:
    """Row sums of databases, a product of complete graphs: (1 - b) z + b (sum over the side), side after side."""
    if isinstance(space.family, Cycle):
        raise InvalidInput("on a ring all columns have the same peak, since every point looks like every other.")
    b, gap = math.exp(-level.log_growth), -math.expm1(-level.log_growth)
    total = z.reshape(getattr(space.points, "shape", z.shape))
    for axis in range(total.ndim):
        total = gap * total + b * total.sum(axis=axis, keepdims=True)
    return np.asarray(total.ravel())


def _along_each_axis(z: Floats, b: float) -> Floats:
    """Row sums of a product under the l1 distance: one side after the other."""
    for axis in range(z.ndim):
        leading = np.moveaxis(z, axis, 0)
        z = np.moveaxis(leading + _beyond(leading, b, 1) + _beyond(leading[::-1], b, 1)[::-1], 0, axis)
    return z


def _chebyshev_sums(z: Floats, b: float) -> Floats:
    """Row sums on a grid under the Chebyshev metric: four cones around each square.

    The east cone, |columns| <= rows ahead, is the cone of the next square with that square, one step farther, and the
    two diagonals: E(i, j) = b (E(i+1, j) + z(i+1, j)) + D(i, j) + D'(i, j). The north cone excludes the diagonals.
    """
    total = z.copy()
    for flip in (slice(None), slice(None, None, -1)):
        total[flip] += _cone(z[flip], b, with_diagonals=True)
        total.T[flip] += _cone(z.T[flip], b, with_diagonals=False)
    return total


def _cone(z: Floats, b: float, with_diagonals: bool) -> Floats:
    """The sums over one cone, from the last row to the first."""
    cone, left_diagonal, right_diagonal = (np.zeros_like(z) for _ in range(3))
    for i in range(len(z) - 2, -1, -1):
        right_diagonal[i, :-1] = b * (z[i + 1, 1:] + right_diagonal[i + 1, 1:])
        left_diagonal[i, 1:] = b * (z[i + 1, :-1] + left_diagonal[i + 1, :-1])
        ahead = z[i + 1] + cone[i + 1]
        cone[i] = (
            b * ahead + left_diagonal[i] + right_diagonal[i]
            if with_diagonals
            else b * (ahead + left_diagonal[i + 1] + right_diagonal[i + 1])
        )
    return cone
