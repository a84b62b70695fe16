"""The optimal chain at every threshold: counts at any concave level and prior, for losses with their mode at the truth.

A monotone loss is a sum over thresholds: an answer o costs, at a point i, what every threshold between them adds. So
the expected loss is a sum of binary problems "is the answer at least t?", each of which is solved by a chain (BIN
Theorem 2 on a path): one number x, carried up by `upper` and down by `lower`. Its cost is convex in x: points below the
threshold pay for L(x), L(L(x)), ..., which are convex, points above for 1 - U(x), ..., too. If the loss is convex in
the answer, the optimal chains of all thresholds, the least of several each time, fit together to one private mechanism,
which therefore is optimal. Proof in docs/theory.md.
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
"""A slope this small beside its terms counts as 0: of several minimisers the least is taken, at every threshold."""
ROWS = 2**19
FARTHEST = 38.0


def line_chains(level: Level, line: Line, loss: str, prior: Floats | None) -> Floats:
    """Optimal starts for a named loss on a line; under the uniform prior thresholds far from both ends are equal."""
    n = line.points
    even = level.even_share()[1]
    wide = chain_reach(level, np.array([even]), n)
    wide = min(n, 2 * wide if prior is not None else wide)
    increments = np.diff(cost(loss, np.arange(wide + 1)))
    j = np.arange(1, wide + 1)
    if prior is None:
        low_thresholds = np.arange(1, min(n - 1, wide) + 1)
        high_thresholds = np.arange(max(n - wide, low_thresholds[-1] + 1 if len(low_thresholds) else 1), n)
        starts, t = np.full(n - 1, even), np.concatenate([low_thresholds, high_thresholds])
        starts[t - 1] = _in_chunks(
            level, t, lambda t: (increments * (j <= t[:, None]), increments * (j <= (n - t)[:, None])), wide
        )
    else:
        padded = np.concatenate([np.zeros(wide), prior, np.zeros(wide)])
        starts = _in_chunks(
            level,
            np.arange(1, n),
            lambda t: (increments * padded[t[:, None] - j + wide], increments * padded[t[:, None] - 1 + j + wide]),
            wide,
        )
    return enforce_order(level, starts)


def table_chains(level: Level, prior: Floats, table: Floats) -> Floats:
    """Optimal starts for a table of losses whose rows are convex with their mode at the truth."""
    n = len(prior)
    weights = prior[:, None] * np.diff(table, axis=1)  # at point i, threshold t = column + 1
    below, above = np.zeros((n - 1, n)), np.zeros((n - 1, n))
    for t in range(1, n):
        below[t - 1, :t] = np.maximum(weights[:t, t - 1][::-1], 0.0)
        above[t - 1, : n - t] = np.maximum(-weights[t:, t - 1], 0.0)
    return enforce_order(level, least_starts(level, below, above))


def has_chains(table: Floats) -> bool:
    """Whether every row of a table of losses is convex in the answer, and least at the truth."""
    steps = np.diff(table, axis=1)
    i, t = np.indices(steps.shape)
    scale = FLAT * max(1.0, float(np.abs(table).max(initial=0.0)))
    right = np.where(t >= i, steps, -steps).min(initial=0.0) >= 0
    return bool(right and np.diff(steps, axis=1).min(initial=0.0) >= -scale)


def _in_chunks(level: Level, t: Any, weights: Callable[[Any], tuple[Floats, Floats]], wide: int) -> Floats:
    rows = max(1, ROWS // wide)
    parts = [least_starts(level, *weights(t[k : k + rows])) for k in range(0, len(t), rows)]
    return np.concatenate(parts) if parts else np.zeros(0)


def least_starts(level: Level, below: Floats, above: Floats) -> Floats:
    """For each threshold the smallest minimiser x of below·(L^(j-1)(x)) + above·(1 - U^j(x)).

    Row by row, `below[:, j-1]` is the weight of an answer at or above the threshold at the j-th point below it, `above`
    that of an answer below it at the j-th point above.
    """
    largest = 1 - float(level.upper(0.0))
    starts = _by_quantiles(level, below, above) if isinstance(level, GaussianDP) else _by_kinks(level, below, above)
    starts = np.where(below.any(axis=1), starts, largest)
    return np.where(above.any(axis=1), starts, 0.0)


def _by_quantiles(level: GaussianDP, below: Floats, above: Floats) -> Floats:
    """Minimisers at Gaussian levels: chains are straight in z = Phi^-1(x), the slope a difference of bell curves.

    The logarithm of their ratio rises with z: Newton's step, or bisection where that would leave the bracket.
    """
    from scipy.special import ndtr

    j = np.arange(1, below.shape[1] + 1)
    down, up = (j - 1) * float(level.mu), j * float(level.mu)
    low, high, z = np.full(len(below), -FARTHEST), np.full(len(below), FARTHEST), np.zeros(len(below))
    active = np.flatnonzero(below.any(axis=1) & above.any(axis=1))
    with np.errstate(divide="ignore"):
        below, above = np.log(below) - down**2 / 2, np.log(above) - up**2 / 2
    while len(active):
        at = z[active]
        first, rise = _log_sum(below[active] + at[:, None] * down, down)
        second, fall = _log_sum(above[active] - at[:, None] * up, up)
        rising = first >= second
        low[active], high[active] = np.where(rising, low[active], at), np.where(rising, at, high[active])
        step = (second - first) / (rise + fall)
        in_bracket = (low[active] < at + step) & (at + step < high[active])
        z[active] = np.where(in_bracket, at + step, (low[active] + high[active]) / 2)
        active = active[np.abs(z[active] - at) > 1e-11]
    return np.asarray(ndtr(z))


def _log_sum(terms: Floats, slopes: Floats) -> tuple[Floats, Floats]:
    """For each row the logarithm of the sum of e^term, and its derivative where every term rises with its slope."""
    peak = terms.max(axis=1)
    shares = np.exp(terms - peak[:, None])
    total = shares.sum(axis=1)
    return peak + np.log(total), shares @ slopes / total


def _by_kinks(level: Level, below: Floats, above: Floats) -> Floats:
    """Minimisers at piecewise linear levels: chains bend at the orbits of the knots; bisect on the slopes between."""
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
    """The kinks of chains of so many steps: the orbits of the knots of upper and lower, both ways."""
    bends = np.array([0.0, 1.0, *level._bends(), *(1 - b for b in level._bends())])
    orbits, up, down = [bends], bends, bends
    for _ in range(wide):
        up, down = level.upper(up), level.lower(down)
        if np.array_equal(up, orbits[-1][: len(up)]) and len(orbits) > 1:
            break
        orbits += [np.concatenate([up, down])]
    kinks = np.unique(np.concatenate(orbits))
    kinks = kinks[kinks <= 1 - float(level.upper(0.0)) + 1e-15]
    gap = np.diff(kinks) > 1e-12 * np.minimum(kinks[1:], np.maximum(1 - kinks[:-1], 1e-4))
    return np.asarray(kinks[np.concatenate([[True], gap])])


def _slopes(level: Level, at: Floats, wide: int) -> tuple[Floats, Floats]:
    """The slopes of L^(j-1) and U^j for j = 1..wide, at points that are no kinks."""
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


def enforce_order(level: Level, starts: Floats) -> Floats:
    """Lower starts to at most `upper` of the one before; apart from ties and rounding they already are."""
    fixed, at = starts.copy(), np.arange(len(starts) - 1)
    while len(at):
        previous, following = fixed[at], fixed[at + 1]
        beyond = at[(following > level.upper(previous) * (1 - 1e-14)) & (following > previous)]
        first = beyond[~np.isin(beyond - 1, beyond)]  # the rest of a run waits for its predecessor
        fixed[first + 1] = np.maximum(fixed[first], level.upper(fixed[first]) * (1 - 2e-14))
        at = np.union1d(beyond[np.isin(beyond - 1, beyond)], first[first + 2 < len(fixed)] + 1)
    return fixed
