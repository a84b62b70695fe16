"""Dual prices on triangles of three leading candidates, for better bounds on winners than chains of two give."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from utmost.errors import SolverFailed
from utmost.privacy import ApproxDP
from utmost.space.families import Neighbours
from utmost.space.integers import Tallies
from utmost.space.triangles import triangle_levels, triangle_losses
from utmost.theory.linear_program import best_mechanism
from utmost.theory.symmetry import find_symmetry

COARSE = 0.33
"""Target epsilon of a step: where epsilon is small, steps of several rows are taken."""
WIDE = {
    ("zero-one", "replace"): 15,
    ("zero-one", "add-remove"): 9,
    ("shortfall", "replace"): 16,
    ("shortfall", "add-remove"): 8,
}
"""Side of a triangle times epsilon: larger ones gain little more."""
LARGEST = {"zero-one": 75, "shortfall": 165}
NOTHING = 1e-7


def triple_prices(tallies: Tallies, level: ApproxDP, loss: str) -> dict[str, Any] | None:
    """Evidence for `verify.triples`: the step, the least side, and prices at three sides; None if there is none.

    Prices depend on level, loss and neighbours alone.

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> evidence = triple_prices(Tallies(5, 1000, "replace"), PureDP(1), "shortfall")
    >>> evidence["sides"].tolist()
    [1, 16]
    """
    epsilon = level.log_growth
    step = max(1, round(COARSE / epsilon)) if loss == "zero-one" else 1
    side = round(WIDE[loss, tallies.neighbours] / (step * epsilon))
    side = max(side, 3)
    if tallies.cells < 3 or side > LARGEST[loss] or step * (side + 3) > tallies.rows:
        return None
    return _prices(level, loss, tallies.neighbours, step, side)


@lru_cache(maxsize=32)
def _prices(level: ApproxDP, loss: str, neighbours: Neighbours, step: int, side: int) -> dict[str, Any] | None:
    evidence: dict[str, Any] = {"sides": np.array([step, side])}
    for k in range(3):
        levels = triangle_levels(side + k, neighbours, level, step)
        table = triangle_losses(levels.space, loss)
        scale = float(table.max())
        even = np.full(len(table), 1 / len(table))
        symmetry = find_symmetry(levels, even, table) if loss == "shortfall" else None
        try:
            best = best_mechanism(levels, -table / scale, interior=True, symmetry=symmetry)
        except SolverFailed:
            return None
        prices = best.duals.ravel() * scale
        if symmetry is not None:  # list one price of each orbit, with the sum over the orbit
            _, first, size = np.unique(symmetry.rows, return_index=True, return_counts=True)
            orbit_sums = np.zeros_like(prices)
            orbit_sums[first] = prices[first] * size
            prices = orbit_sums
        places = np.flatnonzero(prices > NOTHING * scale)
        evidence |= {f"places_{k}": places, f"values_{k}": prices[places]}
    return evidence
