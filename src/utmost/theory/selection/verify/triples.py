"""Lower bound on winners by triangles of three leaders, from dual prices (docs/theory.md); better than chains of two.

Chains of two leaders ignore the third, which costs where three are close. The tallies of three leaders, all other votes
fixed, form a triangle of some side, made of whole chains. If a triangle of side l costs e more than its chains, so do
those of side l + 3, l + 6, ...: what these have more are whole chains again. So prices at three consecutive sides
improve the bound of all larger triangles, and how many there are is a binomial.

Where epsilon is small, tallies that agree modulo a step w are taken together: w rows are w neighbours, so each such
class is a triangle of side about l/w at the level w·epsilon, with ties broken by remainders, then by the public order.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from utmost.errors import InvalidInput
from utmost.exact.arrays import Floats
from utmost.privacy import ApproxDP
from utmost.space.families import Neighbours
from utmost.space.integers import Tallies
from utmost.space.triangles import spread_evenly, triangle_levels, triangle_losses
from utmost.theory.verify_dual_bounds import mechanism_bound
from utmost.theory.verify_evidence import Evidence, read_array, read_positions

LARGEST_SIDE, LARGEST_STEP = 200, 50
ROUNDING = 1e-10
"""Exceeds the relative rounding error of sums of some thousand positive floats."""


def triple_gain(tallies: Tallies, level: ApproxDP, loss: str, evidence: Evidence) -> float:
    """How much prices on triangles add to the bound by chains of two leaders.

    `sides` holds the step w and the least side; `places_0` to `places_2` and `values_0` to `values_2` the prices of
    arcs and outputs at this side and the next two. For shortfall they are averaged over the orders of candidates.
    """
    step, side = (int(x) for x in read_array(evidence, "sides", "i", (2,)))
    if not 1 <= step <= LARGEST_STEP or not 1 <= side <= LARGEST_SIDE or (step > 1 and loss != "zero-one"):
        raise InvalidInput("triangles have sides of some hundred at most, and steps for the zero-one loss alone.")
    n, m, neighbours = tallies.rows, tallies.cells, tallies.neighbours
    least_side = step * side + 3 * (step - 1)
    if m < 3 or n < least_side:
        raise InvalidInput("there are no such triangles among the tallies.")
    more = min(_excess(k, side + k, step, neighbours, level, loss, evidence) for k in range(3))
    gain = min(_fine_excess(least_side + k, step, neighbours, level, loss, more) for k in range(3))
    share = Fraction(triangles_from(tallies, least_side, step), math.comb(n + m, m))
    return max(0.0, gain * float(share) * (1 - ROUNDING))


def triangles_from(tallies: Tallies, least_side: int, step: int = 1) -> int:
    """The number of triangles of at least this side; under add/remove, one stands for 2·step numbers of rows.

    Taking one vote after the other from each of three leaders until it just leads the others leaves one of C(R + m - 3,
    m - 3) tallies of at most R rows: a cell of side L is one of these and L rows more.

    Examples
    --------
    >>> triangles_from(Tallies(3, 20, "replace"), 5), triangles_from(Tallies(4, 20, "add-remove"), 5)
    (16, 72)
    """
    n, m = tallies.rows, tallies.cells
    if tallies.neighbours == "replace":
        return math.comb(n - least_side + m - 2, m - 2)
    return sum(math.comb(rows - least_side + m - 3, m - 3) for rows in range(n, least_side - 1, -2 * step))


def _excess(
    k: int, side: int, step: int, neighbours: Neighbours, level: ApproxDP, loss: str, evidence: Evidence
) -> float:
    """What a triangle costs more than its chains, at `step` times the level, by the prices."""
    levels = triangle_levels(side, neighbours, level, step)
    table = triangle_losses(levels.space, loss)
    prices = np.zeros((2, len(levels), 3))
    places = read_positions(evidence, f"places_{k}", (None,), prices.size)
    values = np.maximum(read_array(evidence, f"values_{k}", "f", places.shape), 0.0)
    np.add.at(prices.reshape(-1), places, values)
    if loss == "shortfall":
        prices = spread_evenly(levels.space, prices)
    return -mechanism_bound(levels, -table, prices) - (1 + ROUNDING) * triangle_chains(
        side, neighbours, step * level.log_growth, loss
    )


def _fine_excess(side: int, step: int, neighbours: Neighbours, level: ApproxDP, loss: str, more: float) -> float:
    """What a triangle costs more than its chains if every residue class modulo the step costs `more` than its own."""
    if step == 1:
        return more
    epsilon, coarse = level.log_growth, 0.0
    for total, ways in enumerate(_ways(step)):
        if neighbours == "add-remove" or (side - total) % step == 0:
            chains = triangle_chains((side - total) // step, neighbours, step * epsilon, loss)
            coarse += ways * ((1 - ROUNDING) * chains + more)
    levels = range(1) if neighbours == "replace" else range(step)
    chains = math.fsum(triangle_chains(side - 2 * i, neighbours, epsilon, loss) for i in levels)
    return coarse - (1 + ROUNDING) * chains


def _ways(step: int) -> list[int]:
    """The numbers of ways in which three residues from 0 to step - 1 add up to 0, 1, 2, ..."""
    ones = np.ones(step, dtype=np.int64)
    return [int(x) for x in np.convolve(np.convolve(ones, ones), ones)]


def triangle_chains(side: int, neighbours: Neighbours, epsilon: float, loss: str) -> float:
    """Lower bound on the cost of the chains of two leaders in a triangle: the sum of min((A + B)/(1 + E), A, B).

    The third has k votes, and the two in front of it s in all (or one less). The first of them in the public order wins
    with differences d = 0, 1, 2, ... or every other of these, the second with 1, 2, 3, ...

    Examples
    --------
    >>> round(triangle_chains(3, "replace", 1.0, "zero-one"), 6)
    1.910463
    """
    votes = np.arange(side // 3 + 1)
    total = 0.0
    for third in range(3):
        first, second = (votes + (third < leader) for leader in range(3) if leader != third)  # the fewest they may have
        s = side - votes
        if neighbours == "replace":
            even = 1 - s % 2
            ahead = (s - 2 * second - s % 2) // 2 + 1, (s - 2 * first - 1 - even) // 2 + 1
            starts = s % 2, 1 + even
        else:
            ahead = s - 2 * second + 1, s - 2 * first
            starts = np.zeros_like(s), np.ones_like(s)
        gap = 2 if neighbours == "replace" else 1
        a, b = (_side(np.maximum(n, 0), d, gap, epsilon, loss) for n, d in zip(ahead, starts, strict=True))
        total += float(np.minimum(np.minimum(a, b), (a + b) / (1 + math.exp(epsilon))).sum())
    return total


def _side(lengths: Any, first: Any, gap: int, epsilon: float, loss: str) -> Floats:
    """The sums of weights e^(-epsilon·t) at depths t + 1 = 1, 2, ...; for shortfall times the missing votes."""
    t = np.arange(int(lengths.max(initial=0)) + 1)
    fall = np.exp(-epsilon * t)
    counts = np.concatenate([[0.0], np.cumsum(fall)])[lengths]
    if loss == "zero-one":
        return np.asarray(counts)
    steps = np.concatenate([[0.0], np.cumsum(t * fall)])[lengths]
    return np.asarray(first * counts + gap * steps)
