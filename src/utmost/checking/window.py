"""What no private mechanism on vectors goes below, by a flow between errors: the dual of all noise in a window.

An error z = o - x of one table is z + m at a neighbour's, m a move. Give every pair (z, z + m) a weight f >= 0 for the
inequality p(z) <= e^eps p(z + m). If c(z) - l + (f out of z) - e^eps (f into z) >= 0 for every z, then every private
mechanism on all vectors loses l or more: multiply, and add up over tables. On a box of L^d tables the flow into a table
whose nearest side is m steps away is multiplied by 1 - q^(m+1), q = B/(1+B); if no outflow exceeds A + B·c(z), the
average loss is at least l - (2d/L)(B l + A). Proof in docs/theory.md, "Vectors".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utmost.checking.chains import read
from utmost.checking.coordinate import line_points
from utmost.errors import InvalidInput
from utmost.mechanism.integer_balls import free, norm
from utmost.mechanism.line import cost
from utmost.privacy import ApproxDP, Level
from utmost.space.integers import Lattice

Floats = NDArray[np.float64]
MOST_PLACES, MOST_FLOW = 2 * 10**6, 1e12
TIMES = (1.0, 1.25, 1.5, 2.0, 3.0, 5.0)


def window_bound(space: Lattice, level: Level, loss: str, evidence: Mapping[str, Any]) -> float:
    """The least expected loss of one integer that a flow proves; only at pure levels and for single rows."""
    shape, d = free(space.moves, space.dimension)
    if not (isinstance(level, ApproxDP) and level.delta == 0 and 0 < level.log_growth < 50) or space.reach != 1:
        raise InvalidInput("a flow bounds noise at pure levels, for neighbours of one row.")
    if not 1 <= d <= 4:
        raise InvalidInput(f"a flow is checked for 1 to 4 integers, not for {d}.")
    flow = read(evidence, "flow", "f", (None,))
    tails = read(evidence, "tails", "i", (len(flow), d))
    heads = read(evidence, "heads", "i", (len(flow), d))
    ends = np.concatenate([tails, heads])
    far = max(int(ends.max(initial=0)), -int(ends.min(initial=0)))
    if flow.min(initial=0.0) < 0 or flow.max(initial=0.0) > MOST_FLOW or (2 * far + 1) ** d > MOST_PLACES:
        raise InvalidInput("the flow is negative or endless, or its window too large to be checked.")
    if any(norm(shape, move) > 1 for move in np.unique(heads - tails, axis=0).tolist()):
        raise InvalidInput("the flow moves by what no neighbour does.")
    places = np.stack(np.meshgrid(*[np.arange(-far, far + 1)] * d, indexing="ij"), axis=-1).reshape(-1, d)
    costs = vector_costs(space, loss, places)
    out, into = (_spread(ends, flow, far) for ends in (tails, heads))
    into = math.exp(level.log_growth) * (1 + 1e-14) * into
    rounding = 1e-13 * float((costs + out + into).max())
    beyond = float(cost(loss, np.array(far + 1))) / space.dimension
    least = min(float((costs + out - into).min()) - rounding, beyond)
    points, rate = line_points(space), 1 / math.expm1(level.log_growth)
    found = [0.0]
    for times in TIMES:
        most = max(0.0, float((out - times * rate * costs).max()) + rounding)
        found.append(least - 2 * d / points * (times * rate * least + most))
    return max(found)


def vector_costs(space: Lattice, loss: str, places: NDArray[np.int64]) -> Floats:
    """The loss of errors, averaged over all integers; of sum-zero vectors the last is what the others leave."""
    whole = np.column_stack([places, -places.sum(axis=1)]) if space.moves == "sum-zero" else places
    return np.asarray(cost(loss, whole).mean(axis=1))


def _spread(ends: NDArray[np.int64], flow: Floats, far: int) -> Floats:
    """The flow at each place of the window, averaged over all orders of the integers and both signs."""
    d, side = ends.shape[1], 2 * far + 1
    found = np.zeros(side**d)
    orders = list(permutations(range(d)))
    for order in orders:
        for sign in (1, -1):
            index = np.ravel_multi_index(tuple(sign * ends[:, i] + far for i in order), (side,) * d)
            found += np.bincount(index, weights=flow, minlength=side**d)
    return np.asarray(found / (2 * len(orders)))
