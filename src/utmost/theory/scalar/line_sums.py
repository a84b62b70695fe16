"""Sums over noise on a line for two cases: noise that is clamped to the ends, and listed priors.

Without guessing, outputs beyond an end are clamped to it, and sums over staircases are sums of polynomials. Under a
listed prior every point of the line has its own weight, so posterior sums are computed one output at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from utmost.errors import TooLarge
from utmost.exact.arrays import Floats, Integers
from utmost.mechanism.noise.law import NoiseLaw
from utmost.space.line import cost, spread_out, tolerance

MOST_TABLE, CHUNK = 2 * 10**8, 2**20
TRIED = 40
"""Number of points at which the worst case of wide clamped noise is sought, where no theorem locates it."""


def expected_clamped_loss(last: int, noise: NoiseLaw, loss: str, prior: Floats | None = None) -> float:
    """The expected loss of symmetric noise that is clamped to the ends 0 and `last` of a line.

    With c(t) the loss of t steps off and T(t) = Pr[K >= t], the loss at x is H(x) + H(last - x), where H(x) is the sum
    of (c(t) - c(t-1)) T(t) for t = 1..x. Over all x, t counts last + 1 - t times on each side.
    """
    if prior is not None:
        side_losses = _one_side(last, noise, loss)
        losses = side_losses[np.minimum(np.arange(last + 1), len(side_losses) - 1)]
        return float(prior @ (losses + losses[::-1]))
    return 2 * _step_sums(min(last, noise.wide), noise, loss, last + 1, 1) / (last + 1)


def worst_clamped_loss(last: int, noise: NoiseLaw, loss: str) -> tuple[float, str]:
    """The expected loss of clamped noise at the worst point, and among which points it was sought.

    The worst is where both ends are far, as H no longer grows there; for the absolute loss always the middle, since the
    steps of H are tails, which fall; else the largest H(x) + H(last - x), by symmetry in the lower half.
    """

    def at(x: int) -> float:
        return sum(_step_sums(min(side, noise.wide), noise, loss, 1, 0) for side in (x, last - x))

    if last >= 2 * noise.wide or loss == "absolute":
        return at(last // 2), ""
    if last > CHUNK:
        positions, among = spread_out(last // 2, TRIED)
        return max(at(position) for position in positions), among
    side_losses = _one_side(last, noise, loss)
    losses = side_losses[np.minimum(np.arange(last + 1), len(side_losses) - 1)]
    return float((losses + losses[::-1]).max()), ""


def _one_side(last: int, noise: NoiseLaw, loss: str) -> Floats:
    """H(x) for x = 0, 1, ..., up to where it is constant."""
    if min(last, noise.wide) > MOST_TABLE // 20:
        raise TooLarge("a listed prior over so wide a noise does not fit; leave it out (uniform), or coarsen.")
    t = np.arange(min(last, noise.wide) + 1)
    return np.concatenate([[0.0], np.cumsum(np.diff(cost(loss, t)) * noise.tail(t[1:]))])


def _step_sums(end: int, noise: NoiseLaw, loss: str, times: float, less: float) -> float:
    """The sum over t = 1..end of (times - less·t) (c(t) - c(t-1)) Pr[K >= t].

    On each piece of a staircase the tail is a straight line, so every term is a product of three straight lines, which
    sums over a piece in closed form: around its middle odd powers cancel, and squares add up to size (size^2 - 1) / 12.
    """
    if end < 1:
        return 0.0
    if loss not in ("absolute", "squared"):
        t = tolerance(loss) + 1
        return float((times - less * t) * noise.tail(t)) if t <= end else 0.0

    slope = 0.0 if loss == "absolute" else 2.0  # c(t) - c(t-1) = 1, or 2t - 1
    offset = 1.0 if loss == "absolute" else -1.0
    layers = noise.layers
    if layers is None or layers.period < 16:
        if end > MOST_TABLE:
            raise TooLarge(f"noise over {end} steps takes too long to sum; use a coarser grid or a larger level.")
        parts = (np.arange(start, min(start + CHUNK, end + 1)) for start in range(1, end + 1, CHUNK))
        return float(sum(((times - less * t) * (slope * t + offset)) @ noise.tail(t) for t in parts))
    blocks = np.arange(end // layers.period + 1, dtype=np.int64) * layers.period
    first = np.unique(np.clip(np.concatenate([[1], blocks, blocks + layers.upper]), 1, end))
    last = np.append(first[1:] - 1, end)
    size, middle = (last - first + 1).astype(float), (first + last) / 2
    ends = noise.tail(first), noise.tail(last)
    tilt = (ends[1] - ends[0]) / np.maximum(size - 1, 1)
    p, q, level = times - less * middle, slope * middle + offset, (ends[0] + ends[1]) / 2
    squares = size * (size**2 - 1) / 12
    return float((size * p * q * level + squares * ((p * slope - less * q) * tilt - less * slope * level)).sum())


@dataclass(frozen=True)
class ListedPrior:
    """Posterior sums under a listed prior: all outputs, a block of them at a time."""

    last: int
    period: int
    law: Floats
    fold: float
    prior: Floats

    @cached_property
    def outputs(self) -> Integers:
        return np.arange(-self.period, self.last + self.period + 1)

    def blocks(self) -> Any:
        """Blocks of outputs: their slice, the offsets u, and the weight of every point o + u."""
        wide = len(self.law) - 1
        if len(self.outputs) * (2 * wide + 1) > MOST_TABLE:
            raise TooLarge(
                "a listed prior over so many points takes too long here; leave it out (uniform), or coarsen."
            )
        u = np.arange(-wide, wide + 1)
        symmetric_law = np.concatenate([self.law[:0:-1], self.law])
        padded = np.concatenate([np.zeros(wide + self.period), self.prior, np.zeros(wide + self.period)])
        size = max(1, 2_000_000 // len(u))
        for start in range(0, len(self.outputs), size):
            part = slice(start, start + size)
            places = self.outputs[part, None] + u + wide + self.period
            yield part, u, padded[places] * symmetric_law

    def best_shifts(self, loss: str) -> Integers:
        shifts = np.zeros(len(self.outputs), dtype=np.int64)
        for part, u, weights in self.blocks():
            mass = weights.sum(axis=1)
            if loss == "absolute":
                best = u[(np.cumsum(weights, axis=1) >= mass[:, None] / 2).argmax(axis=1)]
            elif loss == "squared":
                best = np.rint(weights @ u / np.where(mass > 0, mass, 1.0)).astype(np.int64)
            else:
                reach = min(tolerance(loss), len(u))
                sums = np.cumsum(np.pad(weights, ((0, 0), (reach + 1, reach))), axis=1)
                window_sums = sums[:, 2 * reach + 1 :] - sums[:, : -2 * reach - 1]
                tied = window_sums >= window_sums.max(axis=1, keepdims=True) * (1 - 1e-12)
                best = u[np.where(tied, -np.abs(u), -len(u)).argmax(axis=1)]  # ties go to the one nearest to the output
            shifts[part] = np.where(mass > 0, best, 0)
        return np.asarray(np.clip(shifts, -self.outputs, self.last - self.outputs))

    def expected(self, loss: str, shifts: Integers) -> float:
        times = np.where((self.outputs < 0) | (self.outputs > self.last), self.fold, 1.0)
        total = 0.0
        for part, u, weights in self.blocks():
            total += float(times[part] @ (weights * cost(loss, u - shifts[part, None])).sum(axis=1))
        return total
