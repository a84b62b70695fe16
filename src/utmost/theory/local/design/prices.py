"""Prices of letters that prove a partition optimal: the dual of the program over all 2^k patterns.

At the optimum V, the patterns used (the blocks) cost what they are worth: prices(block) + q V = phi(block). That leaves
a flat set of candidates. From a point in it, every pattern that still exceeds its price is projected away in turn
(Kaczmarz), until none is left or time is up; the rigorous bound then says how far it came.
"""

from __future__ import annotations

import math

import numpy as np

from utmost.exact.arrays import Floats, Integers
from utmost.privacy.divergences import Divergence

ROUNDS, IDLE, PATIENCE = 300, 40, 2 * 10**6
"""How many searches at most, in all and in a row that bring nothing, and how many letters they may look at."""
OVERSHOOT, HALVINGS = 1.4, 20
"""How much further than needed prices are moved, and how often an interval is halved to find where a letter enters."""


def find_prices(p0: Floats, p1: Floats, divergence: Divergence, q: float, block: Integers, value: float) -> Floats:
    """Prices that the patterns exceed as little as was found possible."""
    k = len(p0)
    a0, a1 = (np.bincount(block, values).astype(float) for values in (p0, p1))
    pieces = divergence.pieces(q / (1 + q), (1 + q) / q)
    if pieces is not None:
        return _one_round(p0, p1, q, block, value, pieces)
    prices = _start(p0, p1, q, block, value, *divergence.tangent((a0 - a1) / (q + a1)))
    mass = p0 + p1 + 1e-12 / k
    share = mass / np.bincount(block, mass)[block]
    tolerance = 1e-13 * max(value * q, float(divergence.perspective(q + a0, q + a1, a0 - a1).max()))
    best, least, idle = prices, math.inf, 0
    for _ in range(max(3, min(ROUNDS, PATIENCE // k))):
        letters, signs, excess = _sweep(p0, p1, divergence, q, prices)
        worst = float(excess.max(initial=0.0))
        idle = 0 if worst < 0.9 * least else idle + 1
        if worst < least:
            best, least = prices, worst
        if worst <= tolerance or idle > IDLE:
            break
        seen = prices
        for event in _local_peaks(excess, tolerance):
            inside = np.zeros(k)
            np.add.at(inside, letters[: event + 1], signs[: event + 1])
            step = mass * (inside - np.bincount(block, share * inside)[block])  # leaves what the blocks cost
            length = float(step @ inside)
            missing = float(excess[event]) - float((prices - seen) @ inside)
            if length > 0 and missing > 0:
                prices = prices + OVERSHOOT * missing / length * step
    return best


def _sweep(
    p0: Floats, p1: Floats, divergence: Divergence, q: float, prices: Floats
) -> tuple[Integers, Integers, Floats]:
    """The sets of letters worth more than their price on some tangent, by events: a letter comes in (+1) or goes (-1).

    On the tangent at ratio e^x a letter is worth alpha(x) P0 + beta(x) P1, which rises up to the letter's own ratio and
    falls from there: so it comes in once and goes once, at points found by bisection. Also what each set exceeds its
    price by after the event.
    """
    end = math.log1p(1 / q)  # ratios of a private mechanism lie between e^-eps and e^eps

    def surplus(x: Floats, letters: Integers) -> Floats:
        alpha, beta = divergence.tangent(np.expm1(x))
        return np.asarray(alpha * p0[letters] + beta * p1[letters] - prices[letters])

    with np.errstate(divide="ignore", invalid="ignore"):
        own = np.clip(np.where(p0 + p1 > 0, np.log(p0) - np.log(p1), 0.0), -end, end)
    taken = np.flatnonzero(surplus(own, np.arange(len(p0))) > 0)
    letters, signs = np.tile(taken, 2), np.repeat([1, -1], len(taken))
    without, within = -end * signs.astype(float), own[letters]
    for _ in range(HALVINGS):
        middle = (without + within) / 2
        more = surplus(middle, letters) > 0
        without, within = np.where(more, without, middle), np.where(more, middle, within)
    order = np.lexsort((-signs, without))
    letters, signs = letters[order], signs[order]
    first, second, paid = (np.cumsum(signs * values[letters]) for values in (p0, p1, prices))
    first, second = np.maximum(first, 0.0), np.maximum(second, 0.0)
    worth = divergence.perspective(q + first, q + second, first - second)
    return letters, signs, worth - paid - q * math.fsum(prices)


def _start(p0: Floats, p1: Floats, q: float, block: Integers, value: float, alpha: Floats, beta: Floats) -> Floats:
    """Prices at which every block costs what it is worth, shared out by the room its letters have."""
    worth = np.full(len(p0), -np.inf)
    own = alpha[block] * p0 + beta[block] * p1
    for j, (a, b) in enumerate(zip(alpha.tolist(), beta.tolist(), strict=True)):
        worth = np.where(block == j, worth, np.maximum(worth, a * p0 + b * p1))
    room = np.maximum(own - worth, 0.0) if len(alpha) > 1 else np.ones_like(p0)
    room = np.where(np.bincount(block, room)[block] > 0, room, p0 + p1 + 1e-300)
    left = np.maximum(q * (value - (alpha + beta)), 0.0)
    return np.asarray(own - left[block] * room / np.bincount(block, room)[block])


def _local_peaks(excess: Floats, tolerance: float, most: int = 12) -> list[int]:
    """The events after which a pattern exceeds its price by more than its neighbours in the sweep, worst first."""
    before, after = np.append(-np.inf, excess[:-1]), np.append(excess[1:], -np.inf)
    peaks = np.flatnonzero((excess > tolerance) & (excess >= before) & (excess > after))
    return [int(i) for i in peaks[np.argsort(-excess[peaks])][:most]]


def _one_round(p0: Floats, p1: Floats, q: float, block: Integers, value: float, pieces: Floats) -> Floats:
    """Prices for a maximum of straight lines: every block lies on the line that touches it."""
    a0, a1 = (np.bincount(block, values) for values in (p0, p1))
    touching = (np.outer(q + a0, pieces[:, 0]) + np.outer(q + a1, pieces[:, 1])).argmax(axis=1)
    alpha, beta = pieces[touching].T
    return _start(p0, p1, q, block, value, alpha, beta)
