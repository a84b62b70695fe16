"""Upper bound on randomised response on blocks of sorted letters: a longest path over the letters."""

from __future__ import annotations

import numpy as np

from utmost.exact.arrays import Floats
from utmost.privacy.divergences import Divergence


def excess_of_partitions(p0: Floats, p1: Floats, divergence: Divergence, q: float, value: float) -> float:
    """The excess of the best partition of the letters, sorted by P0/P1, over a value; 0 if there is none.

    A partition into c blocks is worth sum(phi(block)) / (1 + c q), which is value + (sum(phi(block) - value q) - value)
    / (1 + c q). So the largest sum of phi(block) - value q over all partitions, a longest path from the first letter to
    the last, bounds the excess of every one of them; c is 1 or more.

    Parameters
    ----------
    p0, p1 : array of float
        Distributions of a letter under the two hypotheses.
    divergence : Divergence
        The divergence between them.
    q : float
        1/(e^eps - 1), 0 or more and finite.
    value : float
        The value that is claimed to be the best.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(np.where(p0 + p1 > 0, p0 / (p0 + p1), -1.0), kind="stable")
    first, second, gap = (np.append(0.0, np.cumsum(values[order])) for values in (p0, p1, p0 - p1))
    plain = q > 0 and divergence.mirror is None  # then phi needs no limits; most of the time is spent here
    longest = np.zeros(len(p0) + 1)
    for end in range(1, len(longest)):
        z, t, apart = (sums[end] - sums[:end] for sums in (first, second, gap))
        phi = (q + t) * divergence.of(apart / (q + t)) if plain else divergence.perspective(q + z, q + t, apart)
        longest[end] = (longest[:end] + phi).max() - value * q
    return max(float(longest[-1]) - value, 0.0) / (1 + q)
