"""The accuracy of the XOR of all bits in closed form (LIM Corollary 4.5.1), without and with mutual trust."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from utmost.errors import InvalidInput, UnsupportedLevel
from utmost.exact import Number
from utmost.exact.citations import cites
from utmost.privacy import ApproxDP, Level, as_level


class XorAccuracy(NamedTuple):
    """The accuracy of the XOR: with a randomised response each, and if the parties computed it together first."""

    apart: float
    together: float


@cites("LIM-corollary-4.5.1")
def xor_accuracy(levels: Sequence[Level | Number]) -> XorAccuracy:
    """The best accuracy of the XOR, on average and in the worst case alike, for any (epsilon, delta) levels.

    A response reveals the bit with probability delta, and else is right by a margin of tanh(epsilon / 2). Margins
    multiply, so apart = 1/2 + 1/2 Π (delta_i + (1 - delta_i) tanh(epsilon_i / 2)), which for equal pure levels is
    LIM Corollary 4.5.1. Parties who trust each other with their bits send one response of the XOR, at the strictest
    level among them, since each bit decides it: together = min (e^eps_i + delta_i) / (1 + e^eps_i).

    Examples
    --------
    >>> xor_accuracy([1.0, 1.0, 1.0])
    XorAccuracy(apart=0.549343..., together=0.731058...)
    """
    promised = [as_level(level) for level in levels]
    if not promised:
        raise InvalidInput("there are no parties; give a list with one level per party.")
    margins, shares = [], []
    for party, level in enumerate(promised):
        if not isinstance(level, ApproxDP):
            raise UnsupportedLevel(
                f"party {party} has {level}; parties need (epsilon, delta) levels, such as PureDP(1)."
            )
        delta = float(level.delta)
        margins.append(delta + (1 - delta) * math.tanh(level.log_growth / 2))
        shares.append(level.even_share()[0])
    return XorAccuracy(0.5 + 0.5 * math.prod(margins), min(shares))
