"""Geometric noise on several counts at once, and remaps of other mechanisms to the tight-constraints one.

REG treats one query; on a grid of counts whose distance is the sum of the steps (l1), Φ is the product of the Φ of each
count, so the tight-constraints mechanism of the grid is the product of geometric mechanisms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from utmost.errors import InvalidInput, TooLarge, shown
from utmost.exact.arrays import Floats
from utmost.exact.citations import cites
from utmost.mechanism import FiniteMechanism, RecipeMechanism
from utmost.mechanism.certification import MOST_TABLE
from utmost.privacy import Level, as_level, require_pure
from utmost.space import Space
from utmost.space.families import grid
from utmost.theory.priors.design.geometric import geometric
from utmost.theory.priors.design.tight import tight_constraints

MOST_UNKNOWN = 40_000
"""The largest number of entries of a stochastic remap that a linear program solves for."""


def product_geometric(
    shape: Sequence[int], privacy: Level | float | Sequence[Level | float]
) -> FiniteMechanism | RecipeMechanism:
    """The truncated geometric mechanism in every direction of a grid, independently.

    On `um.grid(shape, metric="manhattan")` with one level it is the tight-constraints mechanism, best for every
    regular prior (REG Theorem 3): Φ of the grid is the Kronecker product of the Φ of its sides. Each direction may
    have a level of its own, for groups of people with different levels (HET).

    Parameters
    ----------
    shape : sequence of int
        The number of results in each direction.
    privacy : level, number or sequence of them
        One level, or one for each direction, for neighbours who change one of the results by one.

    Examples
    --------
    >>> import utmost as um
    >>> both = um.finite.product_geometric((2, 2), 1.0)
    >>> both.points[1], both.matrix[0].round(4).tolist()
    ((0, 1), [0.5344, 0.1966, 0.1966, 0.0723])
    >>> tight = um.finite.tight_constraints(um.grid((2, 2), metric="manhattan"), 1.0)
    >>> bool(abs(both.matrix - tight.mechanism.matrix).max() < 1e-12)
    True
    """
    points = grid(shape, metric="manhattan").points
    level_list: Any = privacy if isinstance(privacy, list | tuple) else [privacy] * len(shape)
    levels = [as_level(one) for one in level_list]
    if len(levels) != len(shape):
        raise InvalidInput(f"{len(levels)} levels for {len(shape)} directions; give one, or one for each direction.")
    sides = [geometric(int(size), require_pure(level)) for size, level in zip(shape, levels, strict=True)]
    total = math.prod(int(size) for size in shape)

    def product(one: Floats, other: Floats) -> Floats:
        return np.asarray(np.kron(one, other))

    def row(place: int) -> Floats:
        where = np.unravel_index(place, tuple(shape))
        return reduce(product, (side.row(int(at)) for side, at in zip(sides, where, strict=True)))

    if total * total > MOST_TABLE:
        return RecipeMechanism(points, points, row)
    return FiniteMechanism(reduce(product, [side.matrix for side in sides]), points, points)


@cites("REG-theorem-3")
def remap_to_tight(mechanism: Any, space: Space, privacy: Level | float) -> Floats | None:
    """A stochastic remap that turns a mechanism into the tight-constraints one, or None if there is none.

    A private mechanism is best for every regular prior if, and for priors inside the region only if, some remap R makes
    X R satisfy all constraints with equality (REG Theorem 3). R has a row for each output and a column for each point;
    rows add up to 1. It is computed by a linear program, and checked.

    Parameters
    ----------
    mechanism : FiniteMechanism
        X: its points are those of the space, its outputs any labels.
    space : Space
        The results and their adjacency.
    privacy : PureDP or number
        The level of the tight-constraints mechanism; `NoSuchMechanism` if it does not exist.

    Examples
    --------
    >>> import numpy as np
    >>> import utmost as um
    >>> space, coin = um.path(3), np.array([[0.5, 0.5, 0], [0, 1, 0], [0, 0.5, 0.5]])
    >>> noisy = um.finite.geometric(3, 1.0)
    >>> um.finite.remap_to_tight(noisy, space, 1.0).round(6) + 0
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    >>> um.finite.remap_to_tight(um.FiniteMechanism(noisy.matrix @ coin, range(3), range(3)), space, 1.0) is None
    True
    """
    from scipy.optimize import linprog

    target = tight_constraints(space, privacy).mechanism.matrix
    matrix = np.asarray(mechanism.matrix, dtype=float)
    n, k = matrix.shape
    if n != len(space.points):
        raise InvalidInput(f"the mechanism has {n} points and the space {len(space.points)}; give one for the space.")
    if n * k > MOST_UNKNOWN:
        raise TooLarge(
            f"a remap of {k} outputs onto {n} points has {n * k} unknowns; up to {MOST_UNKNOWN} are solved for."
        )
    from scipy.sparse import block_diag, csr_array, hstack, identity, kron, vstack

    # X R = T column by column, up to a slack that is minimised; rows of R add up to 1.
    columns = block_diag([csr_array(matrix)] * n)
    sums = kron(np.ones((1, n)), identity(k))
    slack = csr_array(np.ones((n * n, 1)))
    upper = vstack([hstack([columns, -slack]), hstack([-columns, -slack])]).tocsr()
    limits = np.concatenate([target.T.ravel(), -target.T.ravel()])
    cost = np.append(np.zeros(n * k), 1.0)
    rows = hstack([sums, csr_array((k, 1))]).tocsr()
    solution = linprog(cost, upper, limits, rows, np.ones(k), bounds=(0, 1), method="highs")
    if solution.x is None or solution.fun > TOLERATED:
        return None
    remap = np.clip(solution.x[:-1].reshape(n, k).T, 0.0, 1.0)
    remap /= remap.sum(axis=1, keepdims=True)
    return remap if float(np.abs(matrix @ remap - target).max()) <= TOLERATED else None


TOLERATED = 1e-9
"""The largest difference between a remapped mechanism and the tight one that counts as rounding."""


def stochastic_remap(mechanism: Any, remap: Any, outputs: Sequence[Any]) -> FiniteMechanism:
    """The mechanism X R that draws a guess at random from a row of R for each output (REG Section 2.2).

    Parameters
    ----------
    mechanism : FiniteMechanism
        X.
    remap : array
        A row for each output of the mechanism, of the probabilities of the guesses.
    outputs : sequence
        The guesses.

    Examples
    --------
    >>> import utmost as um
    >>> um.finite.stochastic_remap(um.finite.geometric(2, 0.0), [[1, 0], [0.5, 0.5]], (0, 1)).matrix
    array([[0.75, 0.25],
           [0.75, 0.25]])
    """
    table = np.asarray(remap, dtype=float)
    right = table.shape == (len(mechanism.outputs), len(outputs)) and bool((table >= 0).all())
    if not right or np.abs(table.sum(axis=1) - 1).max(initial=0.0) > 1e-9:
        raise InvalidInput(
            f"the remap is {shown(remap)}; give a row of {len(outputs)} probabilities, which add up to 1, for each of "
            f"{len(mechanism.outputs)} outputs."
        )
    return FiniteMechanism(np.minimum(mechanism.matrix @ table, 1.0), mechanism.points, outputs)
