"""Upper bounds on local mechanisms from dual prices of letters: a search over all 2^k patterns, with rounding bounded.

A column of an optimal mechanism is proportional to q + 1_A for a set A of letters, q = 1/(e^eps - 1) (LIM Theorem
3.3.2). If prices satisfy utility(q + 1_A) <= q sum(prices) + prices(A) for every A, then sum(prices) bounds every
private mechanism; if the worst A violates it by v, sum(prices) + v/(q + 1/k) does, because the shares of the columns
add up to at most 1/(q + 1/k) when no A is empty.
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
"""Below this q (epsilon about 23) floats do not resolve the smallest ratios, and simple bounds are used."""
MOST_ENUMERATED, LEFT_OVER, FRACTIONS, TANGENTS = 20, 12, 64, 1024
"""For how many letters all sets are enumerated, and for how many of the next likeliest; the fractions of a letter in a
knapsack; how many tangents (or eight times as many) bound the information of patterns from above."""
COARSE, FINE = 20, 60
"""Bisection steps to find where a letter enters or leaves: in a search, and in a proof."""


class Search(NamedTuple):
    """The patterns visited as a tangent sweeps over all slopes, by events: a letter enters (+1) or leaves (-1)."""

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
    found by bisection; their error is part of the slack.
    """
    largest_log_ratio = math.log1p(1 / q) + 1e-4  # ratios lie between e^-eps and e^eps; the rest covers rounding

    def lines(x: Floats) -> tuple[Floats, Floats]:
        return divergence.tangent(np.expm1(x))

    def rounding(x: Floats, letters: Integers) -> Floats:
        alpha, beta = lines(x)
        size = np.abs(alpha) * p0[letters] + np.abs(beta) * p1[letters] + np.abs(prices[letters])
        return (16 + 2 * largest_log_ratio) * ULP * size

    with np.errstate(divide="ignore", invalid="ignore"):
        peak = np.clip(np.where(p0 + p1 > 0, np.log(p0) - np.log(p1), 0.0), -largest_log_ratio, largest_log_ratio)
    alpha, beta = lines(peak)
    rises = alpha * p0 + beta * p1 > prices
    active, inactive = np.flatnonzero(rises), np.flatnonzero(~rises)
    letters, signs = np.concatenate([active, active]), np.repeat([1, -1], len(active))
    w0, w1, cost = p0[letters], p1[letters], prices[letters]
    outside, inside = -largest_log_ratio * signs.astype(float), peak[letters]
    for _ in range(halvings):
        middle = (outside + inside) / 2
        alpha, beta = lines(middle)
        above = alpha * w0 + beta * w1 > cost
        inside, outside = np.where(above, middle, inside), np.where(above, outside, middle)
    alpha, beta = lines(outside)
    surplus = alpha * w0 + beta * w1 - cost
    clipped_surplus = np.where(np.abs(outside) < largest_log_ratio, np.maximum(surplus, 0.0), 0.0)
    slack = float((np.maximum(-surplus, 0.0) + clipped_surplus + rounding(outside, letters)).sum())
    slack += float(rounding(peak[inactive], inactive).sum())
    order = np.lexsort((-signs, outside))
    letters, signs = letters[order], signs[order]
    a0, a1, price = (np.cumsum(signs * values[letters]) for values in (p0, p1, prices))
    a0, a1 = np.maximum(a0, 0.0), np.maximum(a1, 0.0)
    excess = divergence.perspective(q + a0, q + a1, a0 - a1) - price - q * math.fsum(prices)
    return Search(letters, signs, excess, (a0, a1, price), slack)


def testing_bound(p0: Floats, p1: Floats, divergence: Divergence, level: ApproxDP, prices: Floats) -> float:
    """Upper bound on D_f(M0 || M1) over mechanisms at this level, rounding included."""
    q = offset(level)
    if math.isinf(q) or not len(p0):
        return 0.0
    ends = np.array([1 + q, q])
    apart = divergence.perspective(ends, ends[::-1], np.array([1.0, -1.0])).sum() / (1 + 2 * q)
    # Data processing: at most the divergence of the letters, nor that of two letters that determine the hypothesis.
    simple = [b * (1 + 1e-12) for b in (divergence.between(p0, p1), float(apart)) if math.isfinite(b)]
    if q < LEAST_OFFSET:
        return min(simple, default=math.inf)
    q *= 1 - 2.0**-50 * (1 + level.log_growth)  # a slightly weaker level
    pieces = divergence.pieces(q / (1 + q), (1 + q) / q)
    terms = (p0, p1, q, prices)
    worst = _worst_tangent(*terms, divergence) if pieces is None else _worst_piece(*terms, pieces)
    total = math.fsum(prices)
    return min(lifted(total, worst, q, len(p0)), *simple)


testing_bound.__test__ = False  # type: ignore[attr-defined]  # pytest takes any function named test... for a test


def lifted(total: float, worst: float, q: float, k: int) -> float:
    """The bound from prices that add up to `total`, if patterns exceed their price by at most `worst`."""
    return total + max(worst, 0.0) / (q + 1 / k) + 4 * ULP * abs(total)


def pattern_bound(utilities: Floats, level: ApproxDP, prices: Floats) -> float:
    """Upper bound on the sum of utilities over mechanisms at this level, from the utility of every pattern q + 1_A."""
    q, k = offset(level), len(prices)
    size = float(np.abs(utilities).max(initial=0.0)) * 1e-12 + (k + 8) * ULP * (1 + q) * float(np.abs(prices).sum())
    worst = float((utilities - subset_sums(prices)).max()) - q * math.fsum(prices) + size
    return lifted(math.fsum(prices), worst, q, k)


def information_bound(prior: Floats, level: ApproxDP, prices: Floats) -> float:
    """Upper bound on the mutual information over mechanisms at this level, from prices of letters.

    All sizes for a uniform prior with equal prices; all patterns for few letters; otherwise the least of three
    relaxations: the fractional knapsack, tangents for every number of letters, and tangents for every set of the 20
    likeliest letters. Never more than the entropy of the letter.
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
    """The amount by which the sum of prices must be raised to bound every mechanism.

    The shares of patterns satisfy sum of shares · (q k + letters) = k. So a pattern of s letters that exceeds its price
    by v lets a mechanism exceed the sum of prices by at most v / (q + s/k). Patterns of one and two letters are
    enumerated; for more, tangents of the concave information bound v, in two ways, of which the better one counts.
    """
    k, paid = len(prior), q * math.fsum(prices)
    error = (k + 64) * ULP * (1 + q) * (1 + float(np.abs(prices).sum())) + _doubt(q)
    first, second = np.triu_indices(k, 1)
    singles = float((information_of(prior, q) - prices).max())
    pairs = float((information_of(prior[first] + prior[second], q) - prices[first] - prices[second]).max())

    def raised(excess: Floats | float, letters: Integers | int) -> float:
        return float((np.maximum(excess - paid + error, 0.0) / (q + np.asarray(letters) / k)).max())

    by_size = raised(_excess_by_size(prior, q, prices), np.arange(3, k + 1))
    floor = by_likeliest = max(raised(singles, 1), raised(pairs, 2))
    group_size, order = MOST_ENUMERATED, np.argsort(-prior, kind="stable")
    while len(order) > 2:
        _, excess, letters = _excess_by_likeliest(prior[order], q, prices[order], group_size)
        by_likeliest = max(by_likeliest, raised(excess[1:], letters[1:]))
        if max(by_likeliest, raised(excess[0], 3)) == by_likeliest or by_likeliest > by_size:
            break
        order, group_size = (
            order[group_size:],
            LEFT_OVER,
        )  # sets without the likeliest decide: the same among the others
    return max(floor, min(by_size, by_likeliest))


def _excess_by_size(prior: Floats, q: float, prices: Floats) -> Floats:
    """Upper bound on information minus price of patterns of 3, 4, ... letters: on a tangent, the best s are known."""
    slope, height = _tangents(q, TANGENTS)
    best = np.full(len(prior), np.inf)
    for rows in np.array_split(np.arange(TANGENTS), 1 + TANGENTS * len(prior) // 2**18):
        gains = np.sort(np.outer(slope[rows], prior) - prices, axis=1)[:, ::-1].cumsum(axis=1)
        best = np.minimum(best, (height[rows, None] + gains).min(axis=0))
    return best[2:]


def _excess_by_likeliest(prior: Floats, q: float, prices: Floats, most: int) -> tuple[Floats, Floats, Integers]:
    """For every set B of the likeliest letters, extended to three letters or more: a slope, the excess, the size.

    A tangent bounds the information of B and some of the rest by a sum over letters, so the best choice of the rest is
    known. As a function of P(B) the bound is a minimum of straight lines, one for each tangent: concave, with pieces in
    the order of their slopes.
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
            heights = heights + np.minimum(best[:, -missing], 0.0)  # one more of the rest is taken, even at a loss
        which = np.flatnonzero(sizes == 3 - missing if missing else sizes >= 3)
        if missing > len(small) or not len(which):
            continue
        lines, starts = _least_lines(slopes, heights)
        at = np.searchsorted(np.diff(starts) / -np.diff(lines), mass[which])
        slope[which] = lines[at]
        excess[which] = starts[at] + lines[at] * mass[which] - paid[which]
    return slope, excess, count


def _least_lines(slope: Floats, height: Floats) -> tuple[Floats, Floats]:
    """The lower envelope of lines with falling slopes: those that are the least one somewhere, in order."""
    envelope: list[int] = []
    s, h = slope.tolist(), height.tolist()
    for i in range(len(s)):
        while envelope and h[i] <= h[envelope[-1]]:
            envelope.pop()
        if envelope and s[i] == s[envelope[-1]]:
            continue
        while len(envelope) > 1:
            a, b = envelope[-2], envelope[-1]
            if (h[i] - h[b]) * (s[a] - s[b]) > (h[b] - h[a]) * (s[b] - s[i]):
                break
            envelope.pop()
        envelope.append(i)
    return slope[envelope], height[envelope]


def _tangents(q: float, many: int) -> tuple[Floats, Floats]:
    """Slopes, falling, and heights at 0 of tangents to the information of patterns, as a function of their mass."""
    mass = np.minimum(q * np.expm1(np.linspace(0.0, math.log1p(1 / q), many)), 1.0)
    slope = np.log1p((1 - mass) / (q + mass)) - (1 - q * math.log1p(1 / q))
    return slope, information_of(mass, q) - slope * mass


def _doubt(q: float) -> float:
    """The largest rounding error of a tangent, or of the information itself."""
    return 64 * ULP * (2 + math.log1p(1 / q)) + 1e-12 * float(information_of(np.array([0.5]), q)[0])


def _worst_fraction(prior: Floats, q: float, prices: Floats) -> float:
    """Upper bound on information minus price over fractional sets of letters, cheapest per probability first.

    It is a concave function of the set's probability. Between two points it lies below the extended chords of the
    neighbouring intervals, so points on a grid bound it everywhere.
    """
    order = np.argsort(prices / prior)
    ends, paid = np.append(0.0, np.cumsum(prior[order])), np.append(0.0, np.cumsum(prices[order]))
    parts = np.linspace(0, len(prior), FRACTIONS * len(prior) + 1)
    mass = np.minimum(np.interp(parts, np.arange(len(ends)), ends), 1.0)
    height = information_of(mass, q) * (1 + 1e-12) - np.interp(parts, np.arange(len(paid)), paid)
    is_spaced = np.append(True, np.diff(mass) > 1e-7 / len(prior))  # shorter intervals have no reliable chord
    is_spaced[-1] = True
    mass, height = mass[is_spaced], height[is_spaced]
    error = (len(prior) + 16) * ULP * (1 + q) * float(np.abs(prices).sum() + np.abs(height).max())
    width = np.maximum(np.diff(mass), 1e-300)
    rise = np.diff(height) / width
    doubt = 2 * error / width
    bound_from_left = np.append(np.inf, height[1:-1] + np.maximum(rise[:-1] + doubt[:-1], 0.0) * width[1:])
    bound_from_right = np.append(height[1:-1] + np.maximum(doubt[1:] - rise[1:], 0.0) * width[:-1], np.inf)
    return float(max(height.max(), np.minimum(bound_from_left, bound_from_right).max())) + 4 * error


def _worst_tangent(p0: Floats, p1: Floats, q: float, prices: Floats, divergence: Divergence) -> float:
    """The most by which a pattern exceeds its price, for a smooth divergence, every rounding included.

    phi is convex, so over the box of two rounded sums it is largest at a corner.
    """
    sweep = search(p0, p1, divergence, q, prices, FINE)
    a0, a1, price = sweep.sums
    error = (len(p0) + 4) * ULP
    worst = 0.0
    for z in (np.maximum(a0 - error, 0.0), a0 + error):
        for t in (np.maximum(a1 - error, 0.0), a1 + error):
            phi = divergence.perspective(q + z, q + t, z - t) * (1 + 1e-12)
            worst = max(worst, float((phi - price).max(initial=0.0) - q * math.fsum(prices)))
    paid = float(np.abs(prices).sum()) * (1 + q)
    return worst + error * paid + sweep.slack


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
