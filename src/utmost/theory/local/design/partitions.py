"""Partitions of the sorted alphabet into blocks: the value of one, and the best one by Dinkelbach's iteration."""

from __future__ import annotations

import math

import numpy as np

from utmost.exact.arrays import Floats, Integers
from utmost.privacy.divergences import Divergence

MOST_SWEEPS = 100


def by_ratio(p0: Floats, p1: Floats) -> Integers:
    """The letters in the order of P0/P1; those with probability 0 under both come first."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(p0 + p1 > 0, p0 / (p0 + p1), -1.0)
    return np.argsort(share, kind="stable")


def value_of(p0: Floats, p1: Floats, divergence: Divergence, q: float, block: Integers) -> float:
    """D_f(M0 || M1) for randomised response on blocks: sum of phi(q + P0(B), q + P1(B)) / (1 + blocks · q).

    Differences are summed before they are rounded, so the value keeps its digits where privacy makes it tiny.
    """
    count = int(block.max(initial=0)) + 1
    if math.isinf(q):
        return 0.0
    gaps, first, second = np.zeros(count), np.zeros(count), np.zeros(count)
    order = np.argsort(block, kind="stable")
    starts = np.searchsorted(block[order], np.arange(count + 1))
    for j in range(count):
        letters = order[starts[j] : starts[j + 1]]
        gaps[j] = math.fsum([*p0[letters].tolist(), *(-p1[letters]).tolist()])
        first[j], second[j] = math.fsum(p0[letters].tolist()), math.fsum(p1[letters].tolist())
    return math.fsum(divergence.perspective(q + first, q + second, gaps)) / (1 + count * q)


def best_cuts(p0: Floats, p1: Floats, divergence: Divergence, q: float) -> Integers:
    """The best partition of sorted letters, as the ends of its blocks; 0 < q < infinity, or q = 0.

    Dinkelbach: for a price t of a block, one sweep maximises sum(phi - t q); the ratio of the maximiser is the next t.
    It starts from the best two blocks and stops when the ratio no longer grows.
    """
    k = len(p0)
    cuts = best_pair(p0, p1, divergence, q)
    ratio = _ratio(p0, p1, divergence, q, cuts)
    for _ in range(MOST_SWEEPS):
        next_cuts = sweep(p0, p1, divergence, q, ratio * q)
        next_ratio = _ratio(p0, p1, divergence, q, next_cuts)
        if not next_ratio > ratio:
            break
        cuts, ratio = next_cuts, next_ratio
    return cuts if k else np.zeros(0, dtype=np.int64)


def best_cuts_of(p0: Floats, p1: Floats, divergence: Divergence, q: float, most: int) -> Integers:
    """The best partition of sorted letters into at most `most` blocks: a sweep for each number of blocks."""
    k = len(p0)
    sums = _sums(p0, p1)
    layer = _phi(divergence, q, *(s[1:] for s in sums))
    predecessors, best, cuts = [], layer[-1] / (1 + q), np.array([k])
    for count in range(2, min(most, k) + 1):
        following, predecessor = np.full(k, -np.inf), np.zeros(k, dtype=np.int64)
        for j in range(count - 1, k):
            candidates = layer[count - 2 : j] + _column(sums, divergence, q, j)[count - 1 :]
            predecessor[j] = int(candidates.argmax()) + count - 1
            following[j] = candidates[predecessor[j] - count + 1]
        layer = following
        predecessors.append(predecessor)
        if layer[-1] / (1 + count * q) > best:
            best = layer[-1] / (1 + count * q)
            ends = [k]
            for step in reversed(predecessors):
                ends.append(int(step[ends[-1] - 1]))
            cuts = np.array(ends[::-1])
    return cuts


def best_pair(p0: Floats, p1: Floats, divergence: Divergence, q: float) -> Integers:
    """The best partition of sorted letters into one or two blocks."""
    sums = _sums(p0, p1)
    both = _phi(divergence, q, *(s[1:] for s in sums)) + _phi(divergence, q, *(s[-1] - s[1:] for s in sums))
    cut = int(both[:-1].argmax()) + 1 if len(p0) > 1 else len(p0)
    return np.unique([cut, len(p0)])


def sweep(p0: Floats, p1: Floats, divergence: Divergence, q: float, price: float) -> Integers:
    """The ends of the contiguous blocks with the largest sum of phi - price: a longest path over k points."""
    k = len(p0)
    sums = _sums(p0, p1)
    best, predecessor = np.zeros(k + 1), np.zeros(k + 1, dtype=np.int64)
    for j in range(1, k + 1):
        candidates = best[:j] + _column(sums, divergence, q, j - 1)
        predecessor[j] = candidates.argmax()
        best[j] = candidates[predecessor[j]] - price
    ends = [k]
    while ends[-1]:
        ends.append(int(predecessor[ends[-1]]))
    return np.array(ends[-2::-1])


def _sums(p0: Floats, p1: Floats) -> tuple[Floats, Floats, Floats]:
    """P0, P1 and P0 - P1 of every prefix."""
    prefix = [np.append(0.0, np.cumsum(values)) for values in (p0, p1, p0 - p1)]
    return prefix[0], prefix[1], prefix[2]


def _column(sums: tuple[Floats, Floats, Floats], divergence: Divergence, q: float, last: int) -> Floats:
    """Phi of the blocks that end with this letter, by their first letter."""
    return _phi(divergence, q, *(s[last + 1] - s[: last + 1] for s in sums))


def _phi(divergence: Divergence, q: float, first: Floats, second: Floats, gap: Floats) -> Floats:
    """Phi(q + P0, q + P1) of blocks, from their probabilities and the difference of these."""
    if q > 0 and divergence.mirror is None:  # no limits are needed; the sweeps spend their time here
        t = q + second
        return t * divergence.of(gap / t)
    return divergence.perspective(q + first, q + second, gap)


def blocks_of(cuts: Integers, order: Integers) -> Integers:
    """The block of every letter, from the ends of blocks of sorted letters."""
    block = np.empty(len(order), dtype=np.int64)
    block[order] = np.searchsorted(cuts, np.arange(len(order)), side="right")
    return block


def _ratio(p0: Floats, p1: Floats, divergence: Divergence, q: float, cuts: Integers) -> float:
    return value_of(p0, p1, divergence, q, blocks_of(cuts, np.arange(len(p0))))
