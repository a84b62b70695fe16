"""Prices of letters that prove a partition optimal: the dual of the program over all 2^k patterns.

At the optimum V, the patterns in use (the blocks) cost exactly their utility: prices(block) + q V = phi(block). That
leaves an affine set of candidates. From a point in it, the constraint of every pattern that still exceeds its price is
projected on in turn (Kaczmarz), until none is violated or time is up; the rigorous bound then measures the result.
"""

from __future__ import annotations

import math

import numpy as np

from utmost.exact.arrays import Floats, Integers
from utmost.privacy.divergences import Divergence

ROUNDS, IDLE, PATIENCE = 300, 40, 2 * 10**6
"""The largest number of sweeps, in all and in a row without progress, and of letters that they may visit."""
OVERSHOOT, HALVINGS = 1.4, 20
"""The over-relaxation of a projection, and the bisection steps to find where a letter enters."""


def find_prices(p0: Floats, p1: Floats, divergence: Divergence, q: float, block: Integers, value: float) -> Floats:
    """Prices with the smallest violation found over all patterns."""
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
        prices_before = prices
        for event in _local_peaks(excess, tolerance):
            inside = np.zeros(k)
            np.add.at(inside, letters[: event + 1], signs[: event + 1])
            step = mass * (inside - np.bincount(block, share * inside)[block])  # leaves what the blocks cost
            length = float(step @ inside)
            missing = float(excess[event]) - float((prices - prices_before) @ inside)
            if length > 0 and missing > 0:
                prices = prices + OVERSHOOT * missing / length * step
    return best


def _sweep(
    p0: Floats, p1: Floats, divergence: Divergence, q: float, prices: Floats
) -> tuple[Integers, Integers, Floats]:
    """The sets of letters worth more than their price on some tangent, by events: a letter enters (+1) or leaves (-1).

    On the tangent at ratio e^x a letter is worth alpha(x) P0 + beta(x) P1, which rises up to the letter's own ratio and
    falls from there: so it enters once and leaves once, at points found by bisection. Also by how much each set exceeds
    its price after the event.
    """
    end = math.log1p(1 / q)  # ratios of a private mechanism lie between e^-eps and e^eps

    def surplus(x: Floats, letters: Integers) -> Floats:
        alpha, beta = divergence.tangent(np.expm1(x))
        return np.asarray(alpha * p0[letters] + beta * p1[letters] - prices[letters])

    with np.errstate(divide="ignore", invalid="ignore"):
        own_log_ratio = np.clip(np.where(p0 + p1 > 0, np.log(p0) - np.log(p1), 0.0), -end, end)
    entering = np.flatnonzero(surplus(own_log_ratio, np.arange(len(p0))) > 0)
    letters, signs = np.tile(entering, 2), np.repeat([1, -1], len(entering))
    outside, inside = -end * signs.astype(float), own_log_ratio[letters]
    for _ in range(HALVINGS):
        middle = (outside + inside) / 2
        in_set = surplus(middle, letters) > 0
        outside, inside = np.where(in_set, outside, middle), np.where(in_set, middle, inside)
    order = np.lexsort((-signs, outside))
    letters, signs = letters[order], signs[order]
    first, second, paid = (np.cumsum(signs * values[letters]) for values in (p0, p1, prices))
    first, second = np.maximum(first, 0.0), np.maximum(second, 0.0)
    worth = divergence.perspective(q + first, q + second, first - second)
    return letters, signs, worth - paid - q * math.fsum(prices)


def _start(p0: Floats, p1: Floats, q: float, block: Integers, value: float, alpha: Floats, beta: Floats) -> Floats:
    """Prices at which every block costs exactly its utility, divided by the slack that its letters have."""
    best_elsewhere = np.full(len(p0), -np.inf)
    own_worth = alpha[block] * p0 + beta[block] * p1
    for j, (a, b) in enumerate(zip(alpha.tolist(), beta.tolist(), strict=True)):
        best_elsewhere = np.where(block == j, best_elsewhere, np.maximum(best_elsewhere, a * p0 + b * p1))
    room = np.maximum(own_worth - best_elsewhere, 0.0) if len(alpha) > 1 else np.ones_like(p0)
    room = np.where(np.bincount(block, room)[block] > 0, room, p0 + p1 + 1e-300)
    deficit = np.maximum(q * (value - (alpha + beta)), 0.0)
    return np.asarray(own_worth - deficit[block] * room / np.bincount(block, room)[block])


def _local_peaks(excess: Floats, tolerance: float, most: int = 12) -> list[int]:
    """The events after which a pattern exceeds its price by more than its neighbours in the sweep, worst first."""
    previous, following = np.append(-np.inf, excess[:-1]), np.append(excess[1:], -np.inf)
    peaks = np.flatnonzero((excess > tolerance) & (excess >= previous) & (excess > following))
    return [int(i) for i in peaks[np.argsort(-excess[peaks])][:most]]


def _one_round(p0: Floats, p1: Floats, q: float, block: Integers, value: float, pieces: Floats) -> Floats:
    """Prices for a piecewise linear divergence: every block lies on the line that is active at it."""
    a0, a1 = (np.bincount(block, values) for values in (p0, p1))
    active = (np.outer(q + a0, pieces[:, 0]) + np.outer(q + a1, pieces[:, 1])).argmax(axis=1)
    alpha, beta = pieces[active].T
    return _start(p0, p1, q, block, value, alpha, beta)
