"""What a party sends: the randomised response of one bit at a privacy level (LIM 4.8).

At a pure level the message is the bit, kept with probability e^eps / (1 + e^eps). With delta > 0 there are four
messages: 0 and 3 give the bit away, with probability delta; 1 and 2 are a randomised response. Anything an
(epsilon, delta)-private party may send can be computed from it, without the bit (Blackwell).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from utmost.exact.arrays import Floats
from utmost.mechanism.certification import CertifiedMechanism, moved_by
from utmost.mechanism.sampling import WORD
from utmost.mechanism.violations import growth_floor
from utmost.privacy import ApproxDP
from utmost.space.edge_levels import on_edges
from utmost.space.families import path


def promises_nothing(level: ApproxDP) -> bool:
    """Whether a party at this level may as well send its bit."""
    return level.delta == 1 or level.exponent == math.inf


@lru_cache(maxsize=4096)
def chances(level: ApproxDP) -> Floats:
    """The probability of each message (column) for each bit (row), in floating point.

    Examples
    --------
    >>> chances(ApproxDP.from_ratio(3, "1/5")).round(6)
    array([[0.2, 0.6, 0.2, 0. ],
           [0. , 0.2, 0.6, 0.2]])
    """
    shrink, delta = math.exp(-level.log_growth), float(level.delta)
    kept, flipped = (1 - delta) / (1 + shrink), (1 - delta) * shrink / (1 + shrink)
    if promises_nothing(level):
        table = np.eye(2)
    elif level.delta == 0:
        table = np.array([[kept, flipped], [flipped, kept]])
    else:
        table = np.array([[delta, kept, flipped, 0.0], [0.0, flipped, kept, delta]])
    table.flags.writeable = False
    return table


@lru_cache(maxsize=4096)
def response(level: ApproxDP) -> CertifiedMechanism:
    """The randomised response in integers, proved private in exact arithmetic.

    Its weights are set here, not rounded by `certify`, so that a message of probability 0 keeps it. The constructor
    proves the promise whatever they are.

    Examples
    --------
    >>> coin = response(ApproxDP.from_ratio(3))
    >>> coin.matrix.tolist(), coin.moved
    ([[0.75, 0.25], [0.25, 0.75]], 0.0)
    """
    ideal, total = chances(level), 1 << WORD
    if promises_nothing(level):
        rows = [[total, 0], [0, total]]
    else:
        revealed = int(level.delta * total) & ~1  # even, so that the rest can be halved at epsilon = 0
        flipped, kept = split(total - revealed, level)
        rows = [[revealed, kept, flipped, 0], [0, flipped, kept, revealed]]
        if level.delta == 0:
            rows = [row[1:3] for row in rows]
    weights = np.array(rows, dtype=np.int64)
    outputs = tuple(range(weights.shape[1]))
    return CertifiedMechanism(weights, WORD, outputs, on_edges(path(2), level), moved_by(weights, WORD, ideal))


def split(total: int, level: ApproxDP) -> tuple[int, int]:
    """An even number as flipped + kept, with kept at most e^epsilon times flipped and as large as that allows."""
    growth = growth_floor(level)
    flipped = 0 if growth is None else math.ceil(total / (1 + growth))
    return flipped, total - flipped
