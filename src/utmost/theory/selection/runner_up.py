"""The expected shortfall of the runner-up of a vote under the uniform prior: sums of binomials, without estimation.

The expected loss of a mechanism is close to that of the balanced mechanism of winner and runner-up, so only the
difference has to be estimated on sampled tallies.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from utmost.space.integers import Tallies

FAR = 40.0
"""Exponent after which leads no longer matter in floating point: e^-40."""


def runner_up_shortfall(tallies: Tallies, b: float, reach: int) -> float:
    """The expected shortfall, in votes, of the balanced mechanism of winner and runner-up.

    A runner-up at lead k is named with probability b^ceil(k/reach)/(1 + b).

    Examples
    --------
    >>> round(runner_up_shortfall(Tallies(3, 20, "add-remove"), 0.5, 1), 6)
    0.104111
    """
    rate = max(-math.log(b), 1e-9) if b > 0 else math.inf
    farthest_lead = min(tallies.rows + 1, math.ceil(reach * (FAR / rate + 1)))
    return math.fsum(votes * b ** (-(-k // reach)) for k, votes in enumerate(_shares(tallies, farthest_lead), 1)) / (
        1 + b
    )


@lru_cache(maxsize=4)
def _shares(tallies: Tallies, farthest_lead: int) -> tuple[float, ...]:
    number = math.comb(tallies.rows + tallies.cells, tallies.cells)
    return tuple(float(Fraction(votes, number)) for votes in votes_behind(tallies, farthest_lead))


def votes_behind(tallies: Tallies, farthest_lead: int) -> Iterator[int]:
    """For the leads 1, 2, ..., `farthest_lead`: the sum of the runner-up's shortfalls over all tallies of that lead.

    C(N - k + m, m - 1) tallies have lead k. Their runner-up is k votes behind, or k - 1 where the winner wins ties;
    taking k - 1 votes from the winner makes of these the tallies of N - k + 1 rows whose first two have equal votes.
    """
    n, m = tallies.rows, tallies.cells
    # a strict winner has v votes, m - 1 others at most v - 1: by inclusion and exclusion over i who have more
    sums = [
        {rows: _strided_sum(rows - i - 1, i + 1, m - 1) for rows in range(n, max(n - i - 1, -1), -1)} for i in range(m)
    ]
    for k in range(1, farthest_lead + 1):
        rows = n - k + 1
        strict = 0
        for i, sums_by_rows in enumerate(sums):
            strict += (-1) ** i * math.comb(m - 1, i) * sums_by_rows[rows]
            if rows - i - 1 >= 0:
                sums_by_rows[rows - i - 1] = sums_by_rows[rows] - math.comb(rows - i - 1 + m - 1, m - 1)
            del sums_by_rows[rows]
        equal = math.comb(rows + m, m) - m * strict
        yield k * math.comb(n - k + m, m - 1) - equal


def _strided_sum(start: int, step: int, k: int) -> int:
    """C(start + k, k) + C(start - step + k, k) + ... down to C(k, k)."""
    return sum(math.comb(s + k, k) for s in range(start, -1, -step))
