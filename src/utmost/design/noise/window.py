"""Where to look for a proof that no noise on vectors is much better: a window of errors, and what it may prove.

The verifier (`checking/window.py`) finds a flow in the window and says what it proves; here the window is chosen, large
enough for the level and small enough for about a second, and the largest claim that holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from utmost.design.noise.ball_laws import ball_laws
from utmost.mechanism.integer_balls import free
from utmost.privacy import ApproxDP, Level, PureDP
from utmost.space.integers import Lattice, Moves

RADII = {1: 150, 2: 120, 3: 55, 4: 14}
"""The largest radius of a window, by how many integers it has: flows of a second."""
ENOUGH = {1: 14.0, 2: 12.0, 3: 11.0, 4: 12.0}
"""The radius times epsilon that is enough."""
SHARES = (0.9995, 0.999, 0.997, 0.995, 0.9925, 0.99, 0.985, 0.98, 0.97, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5)
"""Which shares of a loss are tried as bounds; where windows are large, from the third on."""
LARGE = 40
MOST_DELTA = 1e-3
"""Above, a flow loses too much to delta."""


def window_evidence(
    space: Lattice, level: Level, loss: str, proved: Callable[[dict[str, Any]], float]
) -> dict[str, Any]:
    """The window that proves most; nothing where none is of use.

    Parameters
    ----------
    space : Lattice
        The integers, and what one neighbour does to them.
    level : Level
        Only levels with an epsilon, and little delta, have such proofs.
    loss : str
        Of one integer.
    proved : callable
        What the verifier finds proved by evidence.
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
    if epsilon >= 20 or space.upper - space.lower < 8 * wide:
        return {}
    radius = min(RADII[d], max(4, math.ceil(ENOUGH[d] / epsilon)))
    law = next(ball_laws(few.moves, few, PureDP(epsilon), loss))
    least, room = law.mean(loss), 0.4 + 1.1 * math.expm1(epsilon)
    first = 0 if d < 3 or radius <= LARGE else 3 if shape == "cube" else 2
    best: tuple[float, dict[str, Any]] = (0.0, {})
    for slack in _slacks(few.moves, d, law.slack, epsilon):
        most = 0.0
        for share in SHARES[first:]:
            if share * least * wide <= best[0]:
                break  # more than its claim no flow proves
            evidence = {"radius": radius, "slack": slack, "steps": steps, "least": share * least, "room": room}
            found = proved(evidence)
            if found < most:
                break  # once everything flows, smaller claims prove less
            most = found
            best = max(best, (found, evidence), key=lambda each: each[0])
    return best[1]


def _slacks(moves: Moves, d: int, best: int, epsilon: float) -> tuple[int, ...]:
    """Which slacks rank the errors best: noise that has slack knows its own; for other exchanges some are tried."""
    if moves != "exchange" or d == 2:
        return (best,)
    if epsilon > 0.7:
        return (0, 1)
    return tuple(sorted({1, math.ceil(0.35 / epsilon), math.ceil(0.6 / epsilon)}, reverse=True))
