"""The number of rows behind released sums, as post-processing: every row adds the same total to the sums of a group.

The two sums of a mean grow together by the width of the range with every row, the three of a variance by its square. So
their total, divided by that, is a noisy count of rows at no further cost.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from utmost.exact import as_rational
from utmost.mechanism.noise.independent import IndependentLaw
from utmost.mechanism.noise.law import NoiseLaw
from utmost.theory.estimates.design.combined_noise import limits
from utmost.theory.estimates.design.mean import blocks_of_pair


@lru_cache(maxsize=64)
def total_limit(law: NoiseLaw, parts: int, confidence: float) -> float:
    """A number that the absolute sum of the noises of one group exceeds with probability at most 1 - confidence.

    Parameters
    ----------
    law : NoiseLaw
        The noise of all released integers.
    parts : int
        How many of them, those of one group, are added up.
    confidence : float
        A probability below 1.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from utmost.mechanism.noise.balls import BallLaw
    >>> from utmost.mechanism.noise.staircase import geometric_law
    >>> geometric = Fraction(9, 10)
    >>> round(total_limit(IndependentLaw(2, geometric_law(geometric)), 2, 0.95), 1)
    39.3
    >>> 39 <= total_limit(BallLaw("any", 2, geometric), 2, 0.95) < 44                     # the same law, in blocks
    True
    """
    if law.independent is not None:
        return float(limits(IndependentLaw(parts, law.independent), np.ones(parts), confidence)[0])
    if law.dimension != parts:  # one noise on the integers of several groups: each of these is within its limit
        miss = (1 - as_rational(str(confidence))) / parts
        return float(parts * law.half_width(1 - miss))
    if parts != 2:
        return float(limits(law, np.ones(parts), confidence)[0])
    places, sides, masses = blocks_of_pair(law, confidence)
    sizes = (np.abs(np.add.outer(places, places)) + np.add.outer(sides, sides)).ravel()
    order = np.argsort(sizes)
    reached = int(np.searchsorted(np.cumsum(masses.ravel()[order]), confidence + 1e-9))
    return float(sizes[order[min(reached, len(order) - 1)]])
