"""What no local mechanism exceeds, from prices of letters: a search over all 2^k patterns, its rounding bounded.

A column of an optimal mechanism is proportional to q + 1_A for a set A of letters, q = 1/(e^eps - 1) (LIM Theorem
3.3.2). If prices satisfy utility(q + 1_A) <= q sum(prices) + prices(A) for every A, then sum(prices) bounds every
private mechanism; if the worst A misses it by v, sum(prices) + v/(q + 1/k) does, because the shares of the columns add
up to at most 1/(q + 1/k) when no A is empty.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from utmost.exact.arrays import Floats, Integers
from utmost.privacy import ApproxDP
from utmost.privacy.divergences import Divergence
from utmost.theory.local.patterns import information_of, offset, subset_sums

ULP = 2.0**-52
LEAST_OFFSET = 1e-10
"""Below this q (epsilon about 23) floats do not tell the least ratios apart, and simple bounds take over."""
MOST_ENUMERATED, LEFT_OVER, FRACTIONS, TANGENTS = 20, 12, 64, 1024
"""Up to how many letters all sets are looked at, and how many of the next likeliest; into how many parts one letter
of a knapsack is cut; how many tangents bound the information of patterns from above, or eight times as many."""
COARSE, FINE = 20, 60
"""How often an interval is halved to find where a letter enters or leaves: while hunting, and for a proof."""


class Search(NamedTuple):
    """The patterns met by sweeping a tangent over all slopes, by events: a letter enters (+1) or leaves (-1)."""

    letters: Integers
    signs: Integers
    excess: Floats
    """Utility minus price of the pattern after each event; the last is that of the empty pattern."""
    sums: tuple[Floats, Floats, Floats]
    """P0, P1 and price of these patterns."""
    slack: float
    """By how much any of the 2^k patterns may exceed the largest of these because roots are rounded."""


def search(p0: Floats, p1: Floats, divergence: Divergence, q: float, prices: Floats, halvings: int = COARSE) -> Search:
    """The patterns that exceed their price most, for a smooth divergence.

    For the tangent at ratio r, a letter belongs to the best pattern if alpha(r) P0 + beta(r) P1 > price: a function of
    r that rises up to the letter's own ratio and falls from there, so every letter enters and leaves once. Roots are
    found by bisection; what they are off by is part of the slack.
    """
    reach = math.log1p(1 / q) + 1e-4  # ratios lie between e^-eps and e^eps; the rest covers what rounding moves

    def lines(x: Floats) -> tuple[Floats, Floats]:
        return divergence.tangent(np.expm1(x))

    def rounding(x: Floats, letters: Integers) -> Floats:
        alpha, beta = lines(x)
        size = np.abs(alpha) * p0[letters] + np.abs(beta) * p1[letters] + np.abs(prices[letters])
        return (16 + 2 * reach) * ULP * size

    with np.errstate(divide="ignore", invalid="ignore"):
        peak = np.clip(np.where(p0 + p1 > 0, np.log(p0) - np.log(p1), 0.0), -reach, reach)
    alpha, beta = lines(peak)
    rises = alpha * p0 + beta * p1 > prices
    active, never = np.flatnonzero(rises), np.flatnonzero(~rises)
    letters, signs = np.concatenate([active, active]), np.repeat([1, -1], len(active))
    w0, w1, cost = p0[letters], p1[letters], prices[letters]
    outside, inside = -reach * signs.astype(float), peak[letters]
    for _ in range(halvings):
        middle = (outside + inside) / 2
        alpha, beta = lines(middle)
        above = alpha * w0 + beta * w1 > cost
        inside, outside = np.where(above, middle, inside), np.where(above, outside, middle)
    alpha, beta = lines(outside)
    left = alpha * w0 + beta * w1 - cost
    risen = np.where(np.abs(outside) < reach, np.maximum(left, 0.0), 0.0)
    slack = float((np.maximum(-left, 0.0) + risen + rounding(outside, letters)).sum())
    slack += float(rounding(peak[never], never).sum())
    order = np.lexsort((-signs, outside))
    letters, signs = letters[order], signs[order]
    a0, a1, price = (np.cumsum(signs * values[letters]) for values in (p0, p1, prices))
    a0, a1 = np.maximum(a0, 0.0), np.maximum(a1, 0.0)
    excess = divergence.perspective(q + a0, q + a1, a0 - a1) - price - q * math.fsum(prices)
    return Search(letters, signs, excess, (a0, a1, price), slack)


def testing_bound(p0: Floats, p1: Floats, divergence: Divergence, level: ApproxDP, prices: Floats) -> float:
    """What D_f(M0 || M1) no mechanism at this level exceeds, rounding counted against us."""
    q = offset(level)
    if math.isinf(q) or not len(p0):
        return 0.0
    ends = np.array([1 + q, q])
    apart = divergence.perspective(ends, ends[::-1], np.array([1.0, -1.0])).sum() / (1 + 2 * q)
    # No data bring two distributions further apart than they are, nor further than two letters that tell all.
    simple = [b * (1 + 1e-12) for b in (divergence.between(p0, p1), float(apart)) if math.isfinite(b)]
    if q < LEAST_OFFSET:
        return min(simple, default=math.inf)
    q *= 1 - 2.0**-50 * (1 + level.log_growth)  # a level just above the promised one
    pieces = divergence.pieces(q / (1 + q), (1 + q) / q)
    found = (p0, p1, q, prices)
    worst = _worst_tangent(*found, divergence) if pieces is None else _worst_piece(*found, pieces)
    total = math.fsum(prices)
    return min(lifted(total, worst, q, len(p0)), *simple)


testing_bound.__test__ = False  # type: ignore[attr-defined]  # pytest takes any function named test... for a test


def lifted(total: float, worst: float, q: float, k: int) -> float:
    """The bound of prices that add up to `total`, when some pattern exceeds its price by `worst` at most."""
    return total + max(worst, 0.0) / (q + 1 / k) + 4 * ULP * abs(total)


def pattern_bound(utilities: Floats, level: ApproxDP, prices: Floats) -> float:
    """What sum of utilities no mechanism at this level exceeds, for the utility of every pattern q + 1_A."""
    q, k = offset(level), len(prices)
    size = float(np.abs(utilities).max(initial=0.0)) * 1e-12 + (k + 8) * ULP * (1 + q) * float(np.abs(prices).sum())
    worst = float((utilities - subset_sums(prices)).max()) - q * math.fsum(prices) + size
    return lifted(math.fsum(prices), worst, q, k)


def information_bound(prior: Floats, level: ApproxDP, prices: Floats) -> float:
    """What mutual information no mechanism at this level exceeds, from prices of letters; four ways to search.

    All sizes where every letter is alike; all patterns where there are few; else the least of three relaxations: the
    knapsack with fractions, tangents for every number of letters, and tangents for every set of the 20 likeliest
    letters. Never more than the entropy of the letter.
    """
    q, k = offset(level), len(prior)
    if math.isinf(q) or k < 2:
        return 0.0
    total, entropy_of_letter = math.fsum(prices), math.fsum(-prior * np.log(prior)) * (1 + 1e-12)
    if np.ptp(prior) <= 1e-15 and np.ptp(prices) == 0:
        size = np.arange(1, k + 1)
        worst = float((information_of(size / k, q) * (1 + 1e-12) - size * prices[0]).max()) - q * total
        bound = lifted(total, worst + 16 * ULP * (1 + q) * abs(total), q, k)
    elif k <= MOST_ENUMERATED:
        bound = pattern_bound(information_of(np.minimum(subset_sums(prior), 1.0), q), level, prices)
    else:
        worst = _worst_fraction(prior, q, prices) - q * total
        bound = lifted(total, worst, q, k)
        if q > 0:
            bound = min(bound, total + _lift(prior, q, prices) + 4 * ULP * abs(total))
    return min(bound, entropy_of_letter)


def _lift(prior: Floats, q: float, prices: Floats) -> float:
    """What the sum of prices must be raised by to bound every mechanism.

    The shares of patterns satisfy sum of shares · (q k + letters) = k. So a pattern of s letters that exceeds its price
    by v lets a mechanism exceed the sum of prices by v / (q + s/k) at most. One and two letters are tried; of more,
    tangents of the concave information bound v, in two ways, of which the better one counts.
    """
    k, paid = len(prior), q * math.fsum(prices)
    off = (k + 64) * ULP * (1 + q) * (1 + float(np.abs(prices).sum())) + _doubt(q)
    first, second = np.triu_indices(k, 1)
    alone = float((information_of(prior, q) - prices).max())
    both = float((information_of(prior[first] + prior[second], q) - prices[first] - prices[second]).max())

    def raised(excess: Floats | float, letters: Integers | int) -> float:
        return float((np.maximum(excess - paid + off, 0.0) / (q + np.asarray(letters) / k)).max())

    by_size = raised(_excess_by_size(prior, q, prices), np.arange(3, k + 1))
    floor = by_likeliest = max(raised(alone, 1), raised(both, 2))
    left, order = MOST_ENUMERATED, np.argsort(-prior, kind="stable")
    while len(order) > 2:
        _, excess, letters = _excess_by_likeliest(prior[order], q, prices[order], left)
        by_likeliest = max(by_likeliest, raised(excess[1:], letters[1:]))
        if max(by_likeliest, raised(excess[0], 3)) == by_likeliest or by_likeliest > by_size:
            break
        order, left = order[left:], LEFT_OVER  # what holds none of the likeliest decides: the same among the others
    return max(floor, min(by_size, by_likeliest))


def _excess_by_size(prior: Floats, q: float, prices: Floats) -> Floats:
    """Information minus price of patterns of 3, 4, ... letters at most: on a tangent, the best s letters are known."""
    slope, height = _tangents(q, TANGENTS)
    best = np.full(len(prior), np.inf)
    for rows in np.array_split(np.arange(TANGENTS), 1 + TANGENTS * len(prior) // 2**18):
        gains = np.sort(np.outer(slope[rows], prior) - prices, axis=1)[:, ::-1].cumsum(axis=1)
        best = np.minimum(best, (height[rows, None] + gains).min(axis=0))
    return best[2:]


def _excess_by_likeliest(prior: Floats, q: float, prices: Floats, most: int) -> tuple[Floats, Floats, Integers]:
    """For every set B of the likeliest letters, with others to three letters or more: a slope, the excess, how many.

    A tangent bounds the information of B and some of the rest by a sum over letters, so that it is known which of the
    rest make it largest. As a function of P(B) the bound is a least of straight lines, one for each tangent: concave,
    and its pieces are met in the order of their slopes.
    """
    order = np.argsort(-prior, kind="stable")
    big, small = order[:most], order[most:]
    slopes, heights = _tangents(q, 8 * TANGENTS)
    best = np.full((len(slopes), 3), -np.inf)  # the three best of the rest, best last
    for part in np.array_split(small, 1 + len(small) // 32):
        gains = np.outer(slopes, prior[part]) - prices[part]
        heights = heights + np.maximum(gains, 0.0).sum(axis=1)
        best = np.sort(np.hstack([best, gains]), axis=1)[:, -3:]
    mass, paid, sizes = (np.append(0.0, subset_sums(values)) for values in (prior[big], prices[big], np.ones(len(big))))
    count = np.maximum(sizes.astype(np.int64), 3)
    slope, excess = np.zeros(len(mass)), np.full(len(mass), -np.inf)
    for missing in range(4):
        if missing:
            heights = heights + np.minimum(best[:, -missing], 0.0)  # one more of the rest is taken, worth it or not
        which = np.flatnonzero(sizes == 3 - missing if missing else sizes >= 3)
        if missing > len(small) or not len(which):
            continue
        lines, starts = _least_lines(slopes, heights)
        at = np.searchsorted(np.diff(starts) / -np.diff(lines), mass[which])
        slope[which] = lines[at]
        excess[which] = starts[at] + lines[at] * mass[which] - paid[which]
    return slope, excess, count


def _least_lines(slope: Floats, height: Floats) -> tuple[Floats, Floats]:
    """Of lines with falling slopes, those that are the least one somewhere, in that order."""
    kept: list[int] = []
    s, h = slope.tolist(), height.tolist()
    for i in range(len(s)):
        while kept and h[i] <= h[kept[-1]]:
            kept.pop()
        if kept and s[i] == s[kept[-1]]:
            continue
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            if (h[i] - h[b]) * (s[a] - s[b]) > (h[b] - h[a]) * (s[b] - s[i]):
                break
            kept.pop()
        kept.append(i)
    return slope[kept], height[kept]


def _tangents(q: float, many: int) -> tuple[Floats, Floats]:
    """Slopes, falling, and heights at 0 of tangents to the information of patterns, as a function of their mass."""
    mass = np.minimum(q * np.expm1(np.linspace(0.0, math.log1p(1 / q), many)), 1.0)
    slope = np.log1p((1 - mass) / (q + mass)) - (1 - q * math.log1p(1 / q))
    return slope, information_of(mass, q) - slope * mass


def _doubt(q: float) -> float:
    """What the rounding of a tangent, or of the information itself, may be."""
    return 64 * ULP * (2 + math.log1p(1 / q)) + 1e-12 * float(information_of(np.array([0.5]), q)[0])


def _worst_fraction(prior: Floats, q: float, prices: Floats) -> float:
    """The most that information minus price can be when letters may be taken in parts, dearest last.

    That is a concave function of the probability taken. Between two points it lies below the chords of the neighbouring
    intervals, extended: so points on a grid bound it everywhere.
    """
    order = np.argsort(prices / prior)
    ends, paid = np.append(0.0, np.cumsum(prior[order])), np.append(0.0, np.cumsum(prices[order]))
    parts = np.linspace(0, len(prior), FRACTIONS * len(prior) + 1)
    mass = np.minimum(np.interp(parts, np.arange(len(ends)), ends), 1.0)
    height = information_of(mass, q) * (1 + 1e-12) - np.interp(parts, np.arange(len(paid)), paid)
    keep = np.append(True, np.diff(mass) > 1e-7 / len(prior))  # shorter intervals have no reliable chord
    keep[-1] = True
    mass, height = mass[keep], height[keep]
    off = (len(prior) + 16) * ULP * (1 + q) * float(np.abs(prices).sum() + np.abs(height).max())
    width = np.maximum(np.diff(mass), 1e-300)
    rise = np.diff(height) / width
    doubt = 2 * off / width
    before = np.append(np.inf, height[1:-1] + np.maximum(rise[:-1] + doubt[:-1], 0.0) * width[1:])
    after = np.append(height[1:-1] + np.maximum(doubt[1:] - rise[1:], 0.0) * width[:-1], np.inf)
    return float(max(height.max(), np.minimum(before, after).max())) + 4 * off


def _worst_tangent(p0: Floats, p1: Floats, q: float, prices: Floats, divergence: Divergence) -> float:
    """The most by which a pattern exceeds its price, for a smooth divergence, with every rounding counted against us.

    phi is convex, so over the box of what two rounded sums may be it is largest at a corner.
    """
    found = search(p0, p1, divergence, q, prices, FINE)
    a0, a1, price = found.sums
    off = (len(p0) + 4) * ULP
    worst = 0.0
    for z in (np.maximum(a0 - off, 0.0), a0 + off):
        for t in (np.maximum(a1 - off, 0.0), a1 + off):
            phi = divergence.perspective(q + z, q + t, z - t) * (1 + 1e-12)
            worst = max(worst, float((phi - price).max(initial=0.0) - q * math.fsum(prices)))
    paid = float(np.abs(prices).sum()) * (1 + q)
    return worst + off * paid + found.slack


def _worst_piece(p0: Floats, p1: Floats, q: float, prices: Floats, pieces: Floats) -> float:
    """The most by which a pattern exceeds its price, for a maximum of straight lines."""
    # Every line has its best pattern: the letters worth more than their price on it.
    worst, paid, size = 0.0, q * math.fsum(prices), float(np.abs(prices).sum())
    step = max(1, 2**20 // len(p0))
    for start in range(0, len(pieces), step):
        alpha, beta = pieces[start : start + step].T
        gain = np.maximum(np.outer(alpha, p0) + np.outer(beta, p1) - prices, 0.0).sum(axis=1) + q * (alpha + beta)
        rounding = (len(p0) + 16) * ULP * (1 + q) * (np.abs(alpha) + np.abs(beta) + size)
        worst = max(worst, float((gain - paid + rounding).max()))
    return worst
