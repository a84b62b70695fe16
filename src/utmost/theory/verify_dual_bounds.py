"""A rigorous bound on every private mechanism, from weights on the constraints of privacy (weak duality)."""

from __future__ import annotations

import math

import numpy as np

from utmost.exact.arrays import Floats
from utmost.space.edge_levels import EdgeLevels


def mechanism_bound(levels: EdgeLevels, gains: Floats, duals: Floats, fixed: dict[int, Floats] | None = None) -> float:
    """Upper bound on sum(gains · X) over private X, from weights >= 0 on X_io - E X_ho, rounding included.

    For weights w on an ordered edge, sum_o w_o (X_io - E X_ho) <= delta · max w, so the sum is at most
    sum over points of the largest reduced gain, plus sum over edges of delta · max w. Points whose rows are fixed
    have the average of their reduced gains.
    """
    if not len(gains):
        return 0.0
    if not duals.any() and not fixed:  # a sum rounded once: the trivial bound of losses that may be 0 is 0
        trivial = math.fsum(gains.max(axis=1))
        return trivial + abs(trivial) * 2.0**-52
    reduced_gains = gains.copy()
    a, b = levels.space.edge_indices.T
    finite = np.isfinite(levels.growth)
    growth = np.where(finite, levels.growth * (1 + 2.0**-50 + levels.log_growth() * 2.0**-51), 0.0)  # above e^epsilon
    weights = np.where(finite[:, None], np.maximum(duals, 0.0), 0.0)
    for tails, heads, w in ((a, b, weights[0]), (b, a, weights[1])):
        np.subtract.at(reduced_gains, tails, w)
        np.add.at(reduced_gains, heads, growth[:, None] * w)
    spent = float((weights.max(axis=2, initial=0.0) * levels.delta).sum())
    scale = float(np.abs(gains).sum() + (weights.sum(axis=(0, 2)) * (1 + growth)).sum() + spent)
    busiest = int(np.bincount(np.concatenate([a, b]), minlength=1).max(initial=0))
    most = reduced_gains.max(axis=1)
    for point, row in (fixed or {}).items():
        most[point] = reduced_gains[point] @ row
    return float(most.sum() + spent + scale * (2 * busiest + 64) * 2.0**-52)
