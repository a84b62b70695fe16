"""The bounds of (epsilon, delta)-privacy, vectorised over levels and probabilities."""

from __future__ import annotations

import numpy as np

from utmost.exact.arrays import Floats
from utmost.exact.citations import cites

NEARLY_LEVEL = 1e-6
"""Below this e^eps - 1 both branches of `upper` nearly agree, and complements would decide between them by rounding."""


@cites("BIN-lemma-3")
def approx_upper(growth: Floats | float, delta: Floats | float, alpha: Floats) -> Floats:
    """min(E alpha + delta, 1 - (1 - delta - alpha)/E, 1), at least alpha; all arguments may be arrays."""
    factor = np.asarray(growth, dtype=float)
    with np.errstate(invalid="ignore", over="ignore"):
        grown = np.where(alpha > 0, factor * alpha, 0.0) + delta  # infinity times 0 is 0 here
        saturated = np.where(np.isinf(factor), 1.0, (factor - 1 + delta + alpha) / factor)  # 1 - (1 - delta - alpha)/E
    return np.asarray(np.maximum(np.minimum(np.minimum(grown, saturated), 1.0), alpha))


@cites("BIN-lemma-4")
def approx_lower(growth: Floats | float, delta: Floats | float, alpha: Floats) -> Floats:
    """1 - approx_upper(1 - alpha), accurate where alpha is small."""
    factor = np.asarray(growth, dtype=float)
    with np.errstate(invalid="ignore", over="ignore"):
        shrunk = (alpha - delta) / factor
        fallen = np.where(alpha < 1, alpha - (factor - 1) * (1 - alpha), 1.0) - delta
    return np.asarray(np.minimum(np.maximum(np.maximum(shrunk, fallen), 0.0), alpha))


def approx_move(growth: Floats | float, delta: Floats | float, p: Floats, q: Floats) -> tuple[Floats, Floats]:
    """Upper(p) and lower(q) where q = 1 - p, each accurate where it is small."""
    factor = np.asarray(growth, dtype=float)
    with np.errstate(invalid="ignore", over="ignore"):
        grown = np.minimum(np.where(p > 0, factor * p, 0.0) + delta, 1.0)
        shrunk = np.maximum(q - delta, 0.0) / factor
        higher, lower = np.minimum(grown, 1 - shrunk), np.maximum(shrunk, 1 - grown)
        level = factor - 1 < NEARLY_LEVEL
        if np.any(level):
            saturated, fallen = ((factor - 1) + p + delta) / factor, q - (factor - 1) * p - delta
            higher = np.where(level, np.minimum(grown, saturated), higher)
            lower = np.where(level, np.maximum(shrunk, np.maximum(fallen, 0.0)), lower)
    return np.asarray(np.maximum(higher, p)), np.asarray(np.minimum(lower, q))
