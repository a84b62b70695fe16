"""Evidence for a lower bound by a flow: the window of errors, and the claim to be proved.

The verifier (`theory/vector/verify/window.py`) computes a flow in the window and what it proves. The window is chosen
here, large enough for the level and small enough for about a second, with the largest claim that holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from utmost.mechanism.noise.balls import BallLaw
from utmost.mechanism.noise.integer_balls import count_ball, free, sum_absolute, sum_squared
from utmost.privacy import ApproxDP, Level, PureDP
from utmost.space.integers import Lattice
from utmost.theory.vector.design.ball_laws import ball_laws

RADII = {1: 150, 2: 120, 3: 48, 4: 16}
"""The largest radius of a window, by its number of integers: flows that take seconds."""
ENOUGH = {1: 14.0, 2: 13.0, 3: 14.0, 4: 13.0}
"""Radius times epsilon beyond which a larger window gains nothing."""
SHARES = (0.9998, 0.9985, 0.997, 0.995, 0.99, 0.98, 0.97, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5)
"""Shares of the noise's loss within the window that are tried as bounds: no flow in the window proves more."""
MOST_DELTA = 1e-3
"""Above this delta a flow loses too much."""


def window_evidence(
    space: Lattice, level: Level, loss: str, proved: Callable[[dict[str, Any]], float]
) -> dict[str, Any]:
    """The window with the largest bound; empty if none is of use.

    Parameters
    ----------
    space : Lattice
        The integers, and what one neighbour does to them.
    level : Level
        Only levels with an epsilon, and little delta, have such proofs.
    loss : str
        The loss of one integer.
    proved : callable
        The bound that the verifier derives from evidence.
    """
    shape, d = free(space.moves, space.dimension)
    if not isinstance(level, ApproxDP) or shape == "any" or d < 1:
        return {}
    few = Lattice(min(d, max(RADII)), shape, 1, 0, 0) if d > max(RADII) else replace(space, reach=1)
    d = min(d, max(RADII))
    if not 0 < level.log_growth < 20 or level.delta > MOST_DELTA:
        return {}
    steps = 1 if level.delta else max(1, math.ceil(ENOUGH[d] / RADII[d] / level.log_growth))
    if loss != "absolute" and (steps > 1 or space.reach > 1):
        return {}
    epsilon, wide = steps * level.log_growth, steps * space.reach
    if epsilon >= 20 or space.width < 8 * wide:
        return {}
    radius = min(RADII[d], max(4, math.ceil(ENOUGH[d] / epsilon)))
    law = next(ball_laws(few.moves, few, PureDP(epsilon), loss))
    claim, room = _mean_within(law, radius, loss), max(0.4, 1.1 * math.expm1(epsilon))
    best: tuple[float, dict[str, Any]] = (0.0, {})
    for share in SHARES:
        if share * claim * wide <= best[0]:
            break  # no flow proves more than its claim
        evidence = {"radius": radius, "slack": law.slack, "steps": steps, "least": share * claim, "room": room}
        bound = proved(evidence)
        if bound < best[0]:
            break  # once everything flows, smaller claims prove less
        best = (bound, evidence)
    return best[1]


def _mean_within(law: BallLaw, radius: int, loss: str) -> float:
    """The noise's expected loss conditional on a norm of at most `radius`: what a flow in the window can prove."""
    count = {"absolute": sum_absolute, "squared": sum_squared}.get(loss)
    if count is None:
        return law.mean(loss)
    b, mass, summed = float(law.decay), 0.0, 0.0
    for s in range(radius + 1):  # sum by layers as differences of balls
        weight = b**s * ((1 - b) if s < radius else 1.0)
        mass += weight * count_ball(law.shape, law.dimension, s, law.slack)
        summed += weight * count(law.shape, law.dimension, s, law.slack)
    return summed / mass
