"""The message of a party: the randomised response of one bit at a privacy level (LIM 4.8).

At a pure level the message is the bit, unchanged with probability e^eps / (1 + e^eps). With delta > 0 there are four
messages: 0 and 3 reveal the bit, with probability delta; 1 and 2 are a randomised response. Every message of an
(epsilon, delta)-private party can be computed from it, without the bit (Blackwell).
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
    """Whether the level is vacuous, so that a party may as well send its bit."""
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
    truthful, flipped = (1 - delta) / (1 + shrink), (1 - delta) * shrink / (1 + shrink)
    if promises_nothing(level):
        table = np.eye(2)
    elif level.delta == 0:
        table = np.array([[truthful, flipped], [flipped, truthful]])
    else:
        table = np.array([[delta, truthful, flipped, 0.0], [0.0, flipped, truthful, delta]])
    table.flags.writeable = False
    return table


@lru_cache(maxsize=4096)
def response(level: ApproxDP) -> CertifiedMechanism:
    """The randomised response with integer weights, certified in exact arithmetic.

    Its weights are set here, not rounded by `certify`, so that a probability of 0 stays 0. The constructor proves the
    level whatever they are.

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
        flipped, truthful = split(total - revealed, level)
        rows = [[revealed, truthful, flipped, 0], [0, flipped, truthful, revealed]]
        if level.delta == 0:
            rows = [row[1:3] for row in rows]
    weights = np.array(rows, dtype=np.int64)
    outputs = tuple(range(weights.shape[1]))
    return CertifiedMechanism(weights, WORD, outputs, on_edges(path(2), level), moved_by(weights, WORD, ideal))


def split(total: int, level: ApproxDP) -> tuple[int, int]:
    """An even number as flipped + truthful, with truthful as large as possible but at most e^epsilon times flipped."""
    growth = growth_floor(level)
    flipped = 0 if growth is None else math.ceil(total / (1 + growth))
    return flipped, total - flipped
