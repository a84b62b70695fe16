"""Is this mechanism really private? Every edge, every output.

A design is made in floating point, where an optimal mechanism meets its constraints with equality up to rounding.
`check_privacy` measures by how much each edge's promise is missed, and allows no more than `ROUNDING`, relative: a
probability against zero is always a violation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from utmost.edge_levels import EdgeLevels
from utmost.mechanism import FiniteMechanism, require_points
from utmost.privacy import ApproxDP

ROUNDING = 2.0**-40
"""How far a probability in floating point may exceed its bound, relative to the bound."""


@dataclass(frozen=True)
class Check:
    """One check of a verification: what was checked, whether it holds, and what was found."""

    name: str
    passed: bool
    detail: str

    def __str__(self) -> str:
        return f"{'ok  ' if self.passed else 'FAIL'} {self.name}: {self.detail}"


def check_privacy(mechanism: FiniteMechanism, levels: EdgeLevels) -> Check:
    """Whether every event is as close on both ends of every edge as the edge's level promises, up to rounding.

    Two outputs: each output's probability against `upper` of its probability at the other end. More outputs, with
    (epsilon, delta) levels: the sum of the positive parts of Pr - e^epsilon Pr' against delta.
    """
    space = levels.space
    require_points(mechanism, space)
    worst, where = -np.inf, 0
    a, b = space.edge_indices.T
    for tails, heads in ((a, b), (b, a)):
        excess = _excess(mechanism.matrix[tails], mechanism.matrix[heads], levels)
        if len(excess) and excess.max() > worst:
            worst, where = float(excess.max()), int(np.argmax(excess))
    if worst <= ROUNDING:
        return Check("privacy", True, f"{levels} holds on all {len(levels)} edges up to rounding ({max(worst, 0):.1g})")
    one, other = space.edges[where]
    needed = f"its level {levels[where]} is exceeded by {worst:.3g}, relative to what it allows"
    return Check("privacy", False, f"broken between {one!r} and {other!r}: {needed}")


def _excess(here: np.ndarray, there: np.ndarray, levels: EdgeLevels) -> np.ndarray:
    """By how much, relative to what is allowed, each edge's promise is exceeded; 0 or less if it holds."""
    every = np.arange(len(levels))
    bounded = np.isfinite(levels.growth) | np.isnan(levels.growth)  # epsilon = infinity promises nothing
    with np.errstate(divide="ignore", invalid="ignore"):
        if here.shape[1] == 2:
            allowed = np.column_stack([levels.upper(every, there[:, output]) for output in (0, 1)])
            ratio = np.where(here > 0, here / allowed, 0.0) - 1
            return np.where(bounded, ratio.max(axis=1), -1.0) if len(ratio) else np.zeros(0)
        levels.require(ApproxDP, "more than two outputs need (epsilon, delta) levels.")
        scaled = np.where(there > 0, levels.growth[:, None] * there, 0.0)
        ratio = np.maximum(here - scaled, 0).sum(axis=1) - levels.delta
        return np.where(bounded, ratio, -1.0)
