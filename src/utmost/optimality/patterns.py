"""What no local mechanism exceeds, from prices of letters: a search over all 2^k patterns, exact up to bounded rounding.

A column of an optimal mechanism is proportional to q + 1_A for a set A of letters, q = 1/(e^eps - 1) (LIM Theorem
3.3.2). If prices satisfy utility(q + 1_A) <= q sum(prices) + prices(A) for every A, then sum(prices) bounds every
private mechanism; if the worst A misses it by v, sum(prices) + v/(q + 1/k) does, because the shares of the columns add
up to at most 1/(q + 1/k) when no A is empty.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from utmost.divergences import Divergence
from utmost.privacy import ApproxDP

Floats: TypeAlias = NDArray[np.float64]
ULP = 2.0**-52
HALVINGS = 64


def offset(level: ApproxDP) -> float:
    """q = 1/(e^eps - 1): what every letter adds to a pattern; infinite at epsilon = 0, zero at infinity."""
    if level.ratio != 1:
        return float(1 / (level.ratio - 1))
    if level.log_growth == 0:
        return math.inf
    return 1 / math.expm1(level.log_growth) if level.log_growth < 700 else math.exp(-level.log_growth)


class Search(NamedTuple):
    """The patterns met by sweeping a tangent over all slopes, by events: a letter enters (+1) or leaves (-1)."""

    letters: NDArray[np.int64]
    signs: NDArray[np.int64]
    excess: Floats
    """Utility minus price of the pattern after each event; the last is that of the empty pattern."""
    sums: tuple[Floats, Floats, Floats]
    """P0, P1 and price of these patterns."""
    slack: float
    """By how much any of the 2^k patterns may exceed the largest of these because roots are rounded."""


def search(p0: Floats, p1: Floats, divergence: Divergence, q: float, prices: Floats) -> Search:
    """The patterns that exceed their price most, for a smooth divergence.

    For the tangent at ratio r, a letter belongs to the best pattern if alpha(r) P0 + beta(r) P1 > price: a function of
    r that rises up to the letter's own ratio and falls from there, so every letter enters and leaves once. Roots are
    found by bisection; what they are off by is part of the slack.
    """
    assert divergence.slope is not None
    reach = math.log1p(1 / q) * (1 + 1e-12)

    def tangent(x: Floats, letters: NDArray[np.int64]) -> tuple[Floats, Floats]:
        d = np.expm1(x)
        alpha = divergence.slope(d)  # type: ignore[misc]
        beta = divergence.of(d) - (1 + d) * alpha
        above = alpha * p0[letters] + beta * p1[letters] - prices[letters]
        size = np.abs(alpha) * p0[letters] + np.abs(beta) * p1[letters] + np.abs(prices[letters])
        return above, 16 * ULP * size

    k = len(p0)
    every = np.arange(k)
    with np.errstate(divide="ignore", invalid="ignore"):
        peak = np.clip(np.where(p0 + p1 > 0, np.log(p0) - np.log(p1), 0.0), -reach, reach)
    height, error = tangent(peak, every)
    slack = float(error[height <= 0].sum())
    active = every[height > 0]
    ends = []
    for end in (-reach, reach):
        outside, inside = np.full(len(active), end), peak[active].copy()
        for _ in range(HALVINGS):
            middle = (outside + inside) / 2
            above = tangent(middle, active)[0] > 0
            inside, outside = np.where(above, middle, inside), np.where(above, outside, middle)
        left, error = tangent(outside, active)
        slack += float((np.maximum(-left, 0.0) + np.where(outside != end, np.maximum(left, 0.0), 0.0) + error).sum())
        ends.append(outside)
    place = np.concatenate(ends)
    letters, signs = np.concatenate([active, active]), np.repeat([1, -1], len(active))
    order = np.lexsort((-signs, place))
    letters, signs = letters[order], signs[order]
    a0, a1, price = (np.cumsum(signs * values[letters]) for values in (p0, p1, prices))
    a0, a1 = np.maximum(a0, 0.0), np.maximum(a1, 0.0)
    excess = divergence.perspective(a0 - a1, q + a1) - price - q * math.fsum(prices)
    return Search(letters, signs, excess, (a0, a1, price), slack)


def testing_bound(p0: Floats, p1: Floats, divergence: Divergence, level: ApproxDP, prices: Floats) -> float:
    """What D_f(M0 || M1) no mechanism at this level exceeds, rounding counted against us."""
    q = offset(level)
    if math.isinf(q) or not len(p0):
        return 0.0
    whole = divergence.between(p0, p1) * (1 + 1e-12)  # processing data brings no two distributions further apart
    if q < 1e-300:
        return whole
    q *= 1 - 2.0**-50 * (1 + level.log_growth)  # a level just above the promised one
    pieces = divergence.pieces(q / (1 + q), (1 + q) / q)
    if pieces is None:
        worst = _worst_tangent(p0, p1, divergence, q, prices)
    else:
        worst = _worst_piece(p0, p1, q, prices, pieces)
    total = math.fsum(prices)
    bound = total + max(worst, 0.0) / (q + 1 / len(p0)) + 4 * ULP * abs(total)
    return min(bound, whole) if math.isfinite(whole) else bound


def _worst_tangent(p0: Floats, p1: Floats, divergence: Divergence, q: float, prices: Floats) -> float:
    """The most by which a pattern exceeds its price, for a smooth divergence, with every rounding counted against us.

    phi is convex, so over the box of what two rounded sums may be it is largest at a corner.
    """
    found = search(p0, p1, divergence, q, prices)
    a0, a1, price = found.sums
    off = (len(p0) + 4) * ULP
    worst = 0.0
    for z in (np.maximum(a0 - off, 0.0), a0 + off):
        for t in (np.maximum(a1 - off, 0.0), a1 + off):
            phi = divergence.perspective(z - t, q + t) * (1 + 1e-12)
            worst = max(worst, float((phi - price).max(initial=0.0) - q * math.fsum(prices)))
    paid = float(np.abs(prices).sum()) * (1 + q)
    return worst + off * paid + found.slack


def _worst_piece(p0: Floats, p1: Floats, q: float, prices: Floats, pieces: Floats) -> float:
    """The most by which a pattern exceeds its price, for a maximum of straight lines: each line has its best pattern."""
    worst, paid, size = 0.0, q * math.fsum(prices), float(np.abs(prices).sum())
    step = max(1, 2**20 // len(p0))
    for start in range(0, len(pieces), step):
        alpha, beta = pieces[start : start + step].T
        gain = np.maximum(np.outer(alpha, p0) + np.outer(beta, p1) - prices, 0.0).sum(axis=1) + q * (alpha + beta)
        rounding = (len(p0) + 16) * ULP * (1 + q) * (np.abs(alpha) + np.abs(beta) + size)
        worst = max(worst, float((gain - paid + rounding).max()))
    return worst
