"""Lower bound on the expected shortfall, in votes, of a private winner."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from flint import arb, ctx

from utmost.errors import InvalidInput
from utmost.exact import as_fmpq, endpoints
from utmost.privacy import ApproxDP, Level
from utmost.privacy.level import enclose_epsilon
from utmost.space.integers import Tallies
from utmost.theory.selection.runner_up import votes_behind

BITS, NEGLIGIBLE = 192, 90.0
"""Bits of precision, and the exponent after which terms are bounded all at once: e^-90."""
MOST_COUNTED, LEAST_EPSILON = 1_000_000, 0.01
"""The most rows times candidates, and the least epsilon, for which there is a bound."""


def bounds_shortfall(tallies: Tallies, level: Level) -> bool:
    """Whether `shortfall_bound` applies and takes a second or two: at a pure level, with not too many rows.

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> [bounds_shortfall(Tallies(10, rows, "replace"), PureDP(1)) for rows in (20_000, 10**9)]
    [True, False]
    """
    if not isinstance(level, ApproxDP) or level.delta or not LEAST_EPSILON <= level.log_growth < math.inf:
        return False
    return tallies.rows * tallies.cells <= MOST_COUNTED


def shortfall_bound(tallies: Tallies, level: Level) -> float:
    """Lower bound on the expected shortfall of a private winner, for uniform tallies of at most N rows.

    Along a chain on which two leaders change places, naming a third costs at least the difference v of the two on
    either side, and naming the first costs v on the other side. So a chain costs at least min((A + B)/(1 + E), A, B),
    where A and B are the sums of v·E^-(depth - 1) on its sides (proof in docs/theory.md). The first of the three adds
    up over all tallies; the amount by which the least may be smaller is subtracted for every chain whose sides are so
    long that it can be.

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> round(shortfall_bound(Tallies(3, 20, "add-remove"), PureDP(1)), 6)
    0.044535
    """
    if not isinstance(level, ApproxDP) or not bounds_shortfall(tallies, level):
        raise InvalidInput(f"chains of winners bound the shortfall at pure levels and not too many rows, not {level}.")
    n, m, r = tallies.rows, tallies.cells, 1 if tallies.neighbours == "add-remove" else 2
    number = math.comb(n + m, m)
    farthest_lead = min(n + 1, math.ceil(r * NEGLIGIBLE / float(level.log_growth)) + r)
    with ctx.workprec(BITS):
        b = (-enclose_epsilon(level)).exp()
        total = arb(0)
        for k, behind in enumerate(votes_behind(tallies, farthest_lead), 1):
            total += arb(as_fmpq(Fraction(behind, number))) * b ** (-(-k // r) - 1)  # the omitted terms would only add
        for chains, excess in _excesses(tallies, farthest_lead, b):
            total -= excess.max(arb(0)) * arb(as_fmpq(Fraction(chains, number)))
        if farthest_lead <= n:
            total -= 4 * (n + 1) * b ** (farthest_lead - 1)  # all longer chains together
        return max(0.0, float(np.nextafter(float(endpoints(total * b / (1 + b))[0]), -math.inf)))


def _excesses(tallies: Tallies, farthest_lead: int, b: arb) -> Iterator[tuple[int, arb]]:
    """The number of chains with 0, 1, 2, ... tallies on their shorter side, and 1 + E times what each may cost less.

    With A and B as above, (A + B)/(1 + E) less A is (B - E·A)/(1 + E). Under add/remove the sides have differences
    0, 1, 2, ... and 1, 2, 3, ..., one side a tally longer: nothing is lost where the first is. Under replacement they
    have 0, 2, 4, ... and 2, 4, 6, ..., or 1, 3, 5, ... both: in the first case nothing is lost where the first side is
    longer, in the other where they are as long.
    """
    n, m = tallies.rows, tallies.cells
    side = arb(0)  # 1 + 3 b + 5 b^2 + ...
    for s in range(farthest_lead):
        uneven = uneven_chains(tallies, s)
        if tallies.neighbours == "add-remove":
            yield uneven, s * b ** (s - 1) + (s + 1) * b**s
            continue
        longer = side + (2 * s + 1) * b**s
        yield uneven, longer - side / b
        even = math.comb(max(n - 2 * s + m, 0), m - 1) - math.comb(max(n - 2 * s - 1 + m, 0), m - 1) if s else 0
        yield even, 2 * s * b ** (s - 1)
        side = longer


def uneven_chains(tallies: Tallies, short: int) -> int:
    """The number of chains with `short` tallies on one side and one more on the other.

    Under add/remove every chain is of this kind, for some number: as many have at least s on their long side as at
    least s - 1 on their short side, and both together are the C(N - s + m, m - 1) tallies at depth s. Under
    replacement, the C(N - 2s + 1 + m, m - 1) tallies of lead 2s - 1 are on the long sides, those of lead 2s on the
    others.
    """
    n, m = tallies.rows, tallies.cells
    if tallies.neighbours == "replace":
        odd, even = (n - 2 * short - i + m for i in (1, 2))
        return math.comb(max(odd, 0), m - 1) - math.comb(max(even, 0), m - 1)
    return _alternating(n - short - 1 + m, m - 1) - _alternating(n - short - 2 + m, m - 1)


def _alternating(n: int, k: int) -> int:
    """C(n, k) - C(n-1, k) + C(n-2, k) - ..., by Pascal's rule: twice that is C(n, k) plus the same of n-1 and k-1."""
    if n < k:
        return 0
    total = 1 - (n - k) % 2
    for j in range(1, k + 1):
        total = (math.comb(n - k + j, j) + total) // 2
    return total
