"""The best chain at every threshold: counts at any concave level, any prior, losses with their mode at the truth.

A loss that grows away from the truth is a sum over thresholds: an answer o costs, at a point i, what every threshold
between them adds. So the expected loss is a sum of binary problems "is the answer at least t?", each of which is best
at a chain (BIN Theorem 2 on a path): one number x, carried up by `upper` and down by `lower`. Its cost is convex in x:
points below the threshold pay for L(x), L(L(x)), ..., which are convex, points above for 1 - U(x), ..., too. If the
loss is convex in the answer, the best chains of all thresholds, the least of several each time, fit together to one
private mechanism, which therefore is optimal. Proof in docs/theory.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from utmost.exact.arrays import Floats
from utmost.privacy import ApproxDP, GaussianDP, Level, SuitablePair
from utmost.space.line import Line, cost
from utmost.theory.scalar.line_chains import chain_reach

FLAT = 1e-12
"""A slope this small beside its terms is none: of several minimisers the least is taken, at every threshold alike."""
ROWS = 2**19
FARTHEST = 38.0


def line_chains(level: Level, line: Line, loss: str, prior: Floats | None) -> Floats:
    """The best starts for a named loss on a line; under the uniform prior thresholds far from the ends are alike."""
    n = line.points
    even = level.even_share()[1]
    wide = chain_reach(level, np.array([even]), n)
    wide = min(n, 2 * wide if prior is not None else wide)
    added = np.diff(cost(loss, np.arange(wide + 1)))
    j = np.arange(1, wide + 1)
    if prior is None:
        near = np.arange(1, min(n - 1, wide) + 1)
        last = np.arange(max(n - wide, near[-1] + 1 if len(near) else 1), n)
        starts, t = np.full(n - 1, even), np.concatenate([near, last])
        starts[t - 1] = _in_parts(
            level, t, lambda t: (added * (j <= t[:, None]), added * (j <= (n - t)[:, None])), wide
        )
    else:
        padded = np.concatenate([np.zeros(wide), prior, np.zeros(wide)])
        starts = _in_parts(
            level,
            np.arange(1, n),
            lambda t: (added * padded[t[:, None] - j + wide], added * padded[t[:, None] - 1 + j + wide]),
            wide,
        )
    return keep_order(level, starts)


def table_chains(level: Level, prior: Floats, table: Floats) -> Floats:
    """The best starts for a table of losses whose rows are convex with their mode at the truth."""
    n = len(prior)
    weights = prior[:, None] * np.diff(table, axis=1)  # at point i, threshold t = column + 1
    below, above = np.zeros((n - 1, n)), np.zeros((n - 1, n))
    for t in range(1, n):
        below[t - 1, :t] = np.maximum(weights[:t, t - 1][::-1], 0.0)
        above[t - 1, : n - t] = np.maximum(-weights[t:, t - 1], 0.0)
    return keep_order(level, least_starts(level, below, above))


def has_chains(table: Floats) -> bool:
    """Whether every row of a table of losses is convex in the answer, and least at the truth."""
    steps = np.diff(table, axis=1)
    i, t = np.indices(steps.shape)
    scale = FLAT * max(1.0, float(np.abs(table).max(initial=0.0)))
    right = np.where(t >= i, steps, -steps).min(initial=0.0) >= 0
    return bool(right and np.diff(steps, axis=1).min(initial=0.0) >= -scale)


def _in_parts(level: Level, t: Any, weights: Callable[[Any], tuple[Floats, Floats]], wide: int) -> Floats:
    rows = max(1, ROWS // wide)
    parts = [least_starts(level, *weights(t[k : k + rows])) for k in range(0, len(t), rows)]
    return np.concatenate(parts) if parts else np.zeros(0)


def least_starts(level: Level, below: Floats, above: Floats) -> Floats:
    """For each threshold the least x at which below·(L^(j-1)(x)) + above·(1 - U^j(x)) is least.

    Row by row, `below[:, j-1]` is what the j-th point below pays for an answer at or above the threshold, `above` what
    the j-th point above pays for one below it.
    """
    most = 1 - float(level.upper(0.0))
    found = _by_quantiles(level, below, above) if isinstance(level, GaussianDP) else _by_kinks(level, below, above)
    found = np.where(below.any(axis=1), found, most)
    return np.where(above.any(axis=1), found, 0.0)


def _by_quantiles(level: GaussianDP, below: Floats, above: Floats) -> Floats:
    """Gaussian chains are straight in z = Phi^-1(x), and the slope of the cost a difference of sums of bell curves.

    The logarithm of their ratio rises with z: Newton's step, or a bisection where that would leave the bracket.
    """
    from scipy.special import ndtr

    j = np.arange(1, below.shape[1] + 1)
    down, up = (j - 1) * float(level.mu), j * float(level.mu)
    low, high, z = np.full(len(below), -FARTHEST), np.full(len(below), FARTHEST), np.zeros(len(below))
    left = np.flatnonzero(below.any(axis=1) & above.any(axis=1))
    with np.errstate(divide="ignore"):
        below, above = np.log(below) - down**2 / 2, np.log(above) - up**2 / 2
    while len(left):
        at = z[left]
        first, rise = _log_sum(below[left] + at[:, None] * down, down)
        second, fall = _log_sum(above[left] - at[:, None] * up, up)
        rising = first >= second
        low[left], high[left] = np.where(rising, low[left], at), np.where(rising, at, high[left])
        step = (second - first) / (rise + fall)
        inside = (low[left] < at + step) & (at + step < high[left])
        z[left] = np.where(inside, at + step, (low[left] + high[left]) / 2)
        left = left[np.abs(z[left] - at) > 1e-11]
    return np.asarray(ndtr(z))


def _log_sum(terms: Floats, slopes: Floats) -> tuple[Floats, Floats]:
    """For each row the logarithm of the sum of e^term, and its derivative where every term rises with its slope."""
    peak = terms.max(axis=1)
    shares = np.exp(terms - peak[:, None])
    whole = shares.sum(axis=1)
    return peak + np.log(whole), shares @ slopes / whole


def _by_kinks(level: Level, below: Floats, above: Floats) -> Floats:
    """Chains at levels made of straight lines bend at the orbits of the bends; slopes between them decide."""
    wide = below.shape[1]
    kinks = _kinks(level, wide)
    middles = (kinks[:-1] + kinks[1:]) / 2
    low, high = (
        np.full(len(below), -1),
        np.full(len(below), len(kinks) - 1),
    )  # the slope right of `high` is not negative
    while (high - low).max(initial=0) > 1:
        at = np.minimum((low + high) // 2, len(middles) - 1)
        at = np.maximum(at, 0)
        values, which = np.unique(at, return_inverse=True)
        down, up = _slopes(level, middles[values], wide)
        first, second = (below * down[which]).sum(axis=1), (above * up[which]).sum(axis=1)
        rising = first - second >= -FLAT * (first + second)
        open_ = high - low > 1
        low, high = np.where(open_ & ~rising, at, low), np.where(open_ & rising, at, high)
    return np.asarray(kinks[high])


def _kinks(level: Level, wide: int) -> Floats:
    """Where some chain of so many steps bends: the bends of upper and lower, carried both ways."""
    bends = np.array([0.0, 1.0, *level._bends(), *(1 - b for b in level._bends())])
    found, up, down = [bends], bends, bends
    for _ in range(wide):
        up, down = level.upper(up), level.lower(down)
        if np.array_equal(up, found[-1][: len(up)]) and len(found) > 1:
            break
        found += [np.concatenate([up, down])]
    kinks = np.unique(np.concatenate(found))
    kinks = kinks[kinks <= 1 - float(level.upper(0.0)) + 1e-15]
    gap = np.diff(kinks) > 1e-12 * np.minimum(kinks[1:], np.maximum(1 - kinks[:-1], 1e-4))
    return np.asarray(kinks[np.concatenate([[True], gap])])


def _slopes(level: Level, at: Floats, wide: int) -> tuple[Floats, Floats]:
    """The slopes of L^(j-1) and U^j for j = 1..wide, where all are straight."""
    j = np.arange(1, wide + 1)[None, :]
    if isinstance(level, ApproxDP):
        return level.slope_after(j - 1, (1 - at)[:, None]), level.slope_after(j, at[:, None])
    assert isinstance(level, SuitablePair)
    down, up = np.empty((len(at), wide)), np.empty((len(at), wide))
    low, high, falling, rising = 1 - at, at, np.ones(len(at)), np.ones(len(at))
    for k in range(wide):
        down[:, k] = falling
        falling, low = falling * level.tangent(low), level.upper(low)
        rising, high = rising * level.tangent(high), level.upper(high)
        up[:, k] = rising
    return down, up


def keep_order(level: Level, starts: Floats) -> Floats:
    """Starts that fit together: none beyond `upper` of the one before; ties and rounding aside they do already."""
    found, at = starts.copy(), np.arange(len(starts) - 1)
    while len(at):
        before, after = found[at], found[at + 1]
        beyond = at[(after > level.upper(before) * (1 - 1e-14)) & (after > before)]
        first = beyond[~np.isin(beyond - 1, beyond)]  # the others of a row wait for the one before
        found[first + 1] = np.maximum(found[first], level.upper(found[first]) * (1 - 2e-14))
        at = np.union1d(beyond[np.isin(beyond - 1, beyond)], first[first + 2 < len(found)] + 1)
    return found
