"""Phi y = right with y >= 0 where Phi is singular: decided in rational arithmetic, never by a solver's tolerance.

Rows of Phi are equal where epsilon is 0 between points; those points are merged. If it is still singular, e^epsilon is
rational: for a rational epsilon the determinant is a polynomial in e^-epsilon, a transcendental number, and not the
zero polynomial, since it is 1 at 0. Phase one of the simplex method, in rationals, then finds y, or weights v with
v Phi >= 0 and v·right < 0, which prove that there is none (Farkas).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from utmost.errors import TooLarge
from utmost.exact import as_fmpq
from utmost.exact.arrays import Floats
from utmost.space.edge_levels import EdgeLevels
from utmost.theory.priors.design.phi import Solved, rational_powers, solve_lengths

Table: TypeAlias = list[list[fmpq]]
MOST_SINGULAR = 128
"""The largest number of distinct points for which a singular Phi is decided."""
ROUNDING = Fraction(1, 2**51)
"""The relative rounding error of the float of a probability."""


def nonnegative_solution(levels: EdgeLevels, right: Floats) -> Solved | None:
    """Some y >= 0 with Phi y = right, up to the rounding of right's own floats; None if there is provably none.

    `TooLarge` where it is not decided.
    """
    lengths = levels.lengths()
    first = np.asarray((lengths == 0).argmax(axis=1))  # the first of the points at distance 0 represents them
    representatives, group = np.unique(first, return_inverse=True)
    if (np.abs(right - right[first]) > float(ROUNDING) * right[first]).any():
        return None
    small = _solve(levels, lengths[np.ix_(representatives, representatives)], right[representatives], representatives)
    if small is None:
        return None
    return Solved(small.y[group] / np.bincount(group)[group], tuple(small.signs[g] for g in group))


def _solve(levels: EdgeLevels, lengths: Floats, right: Floats, positions: NDArray[np.int64]) -> Solved | None:
    """`nonnegative_solution` for distinct points at these positions."""
    n = len(right)
    powers = rational_powers(levels, positions)
    if powers is None or n > MOST_SINGULAR:
        solution = solve_lengths(lengths, right)
        if solution is None:
            raise TooLarge(
                f"Phi is singular, or too nearly so, for {n} points at {levels}; that is decided for {MOST_SINGULAR} "
                "points at most, and with one level for all edges. Use fewer points or another epsilon."
            )
        return None if solution.nonnegative is False else Solved(np.maximum(solution.y, 0.0), solution.signs)
    rationals = [as_fmpq(Fraction(float(r))) for r in right]
    y, prices, remainder = _phase_one(powers, rationals)
    explained = sum((abs(p) * r for p, r in zip(prices, rationals, strict=True)), fmpq(0)) * as_fmpq(ROUNDING)
    if remainder > explained:
        return None
    return Solved(np.array([int(x.p) / int(x.q) for x in y]), tuple(int(x > 0) for x in y))


def _phase_one(matrix: Table, right: list[fmpq]) -> tuple[list[fmpq], list[fmpq], fmpq]:
    """The y >= 0 with the least residual right - matrix y >= 0, prices p with p matrix <= 0, and the residual p·right.

    The simplex method with Bland's rule, from the basis of the residuals.
    """
    n, m = len(matrix), len(matrix[0])
    rows = [
        [*row, *(fmpq(int(i == k)) for k in range(n)), r] for i, (row, r) in enumerate(zip(matrix, right, strict=True))
    ]
    cost = [-sum((row[j] for row in rows), fmpq(0)) for j in range(m)] + [fmpq(0)] * n
    cost.append(-sum(right, fmpq(0)))
    basis = list(range(m, m + n))
    while (enter := next((j for j in range(m) if cost[j] < 0), None)) is not None:
        ratios = [(row[-1] / row[enter], basis[i], i) for i, row in enumerate(rows) if row[enter] > 0]
        leave = min(ratios)[2]
        pivot = [x / rows[leave][enter] for x in rows[leave]]
        rows[leave], basis[leave] = pivot, enter
        for i, row in enumerate(rows):
            if i != leave and row[enter] != 0:
                rows[i] = [x - row[enter] * p for x, p in zip(row, pivot, strict=True)]
        cost = [x - cost[enter] * p for x, p in zip(cost, pivot, strict=True)]
    y = [fmpq(0)] * m
    for i, j in enumerate(basis):
        if j < m:
            y[j] = rows[i][-1]
    return y, [1 - x for x in cost[m:-1]], -cost[-1]
