"""Marginal tables of one product of columns: how much noise each released table should have.

Released are integer marginal tables below the wanted ones, each with independent noise of its own size, so that all of
them together keep the level; wanted tables are made of them by least squares (`mechanism.margins`). The sizes are what
is designed here. At Gaussian levels the mean variance is convex in the precisions, and its least value is found; the
best of all Gaussian strategies, integers or not, is known in closed form (ResidualPlanner, Xiao et al. 2023,
arXiv 2305.08175), and whole tables come within a few percent of it. At pure levels the split of epsilon is a local
optimum, from several starts: valid, not proved best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from utmost.design.noise.vectors import gaussian_law, require_level
from utmost.errors import TooLarge, UnsupportedLevel
from utmost.exact.arrays import Floats
from utmost.mechanism.decay import decay_above
from utmost.mechanism.gaussian import RoundedGaussian
from utmost.mechanism.lattice import GeometricLaw, IndependentLaw, square_of_moves, sum_of_moves
from utmost.mechanism.margins import Columns, Shape, cells, closure, without, write_workload
from utmost.mechanism.tables import NoisyTables
from utmost.mechanism.workloads import mean_variance
from utmost.privacy import ApproxDP, Level, PureDP
from utmost.privacy.pure_part import pure_within
from utmost.solution import Certificate, Problem, Solution, proved_bound
from utmost.space.integers import Moves, Tables

QUANTITY = "variance of one number, averaged over all"
REASON = (
    "no private mechanism has a smaller mean variance: the dual of the best factorisation, by averaging over shifts "
    "and the inequality of Chapman and Robbins"
)
PARTS = 10**4
"""Of how many equal parts of the whole level the share of a table is a multiple."""
LEAST_SHARE = 0.004
"""Shares below this are tried without: a table nearly without weight is noise to read and to keep."""
MOST_SETS, LARGE, MOST_EPSILON = 2000, 700, 80.0
FINE = 10
"""Where noise is a rounded Gaussian, a row counts as so many: rounding adds 1/1200 to a variance, not 1/12."""


@lru_cache(maxsize=64)
def best_marginals(
    shape: Shape, published: tuple[Columns, ...], moves: Moves, reach: int, upper: int, level: Level
) -> Solution:
    """The noise of least mean variance found for wanted marginal tables of one product of columns.

    Parameters
    ----------
    shape : tuple of int
        How many values each column has.
    published : tuple of tuples
        The wanted tables, each by the places of its columns; () is the total.
    moves : "any" or "exchange"
        Whether a row comes or goes, or is replaced.
    reach : int
        How many rows one neighbour has.
    upper : int
        How many rows there are at most.
    level : Level
        PureDP, ApproxDP, GaussianDP or ZCDP.

    Returns
    -------
    Solution
        `solution.value` is the mean variance; `mechanism.workloads.margins_of` makes the wanted tables of a draw.

    Examples
    --------
    >>> from utmost.privacy import GaussianDP
    >>> pairs = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
    >>> found = best_marginals((5, 10, 20, 50), pairs, "any", 1, 1000, GaussianDP(1))
    >>> round(found.value, 3), bool(found.verify())                 # the best of all Gaussian strategies: 4.322
    (4.413, True)
    """
    require_level(level)
    sets = closure(published)
    if len(sets) > MOST_SETS:
        raise TooLarge(
            f"there are {len(sets)} sets of columns within the wanted ones; at most {MOST_SETS} are designed."
        )
    found = [
        _solution(shape, published, strategy, laws, Tables(sizes, moves, reach * grain, upper * grain), level, grain)
        for strategy, laws, grain in _candidates(shape, published, moves, reach, upper, level)
        for sizes in [tuple(cells(shape, table) for table in strategy)]
    ]
    if not found:
        raise UnsupportedLevel(f"no noise on tables is known at {level}; give a larger level.")
    return min(found, key=lambda each: each.value)


def even_split(shape: Shape, published: Sequence[Columns], moves: Moves, reach: int, level: Level) -> float:
    """The mean variance of one number where every wanted table has noise of its own, at an equal share of the level."""
    return even_noise(tuple(cells(shape, each) for each in published), moves, reach, level)


def even_noise(sizes: tuple[int, ...], moves: Moves, reach: int, level: Level) -> float:
    """The same for tables of these sizes."""
    tables = Tables(sizes, moves, reach, 0).lattices()
    found = [math.inf]
    pure, one = pure_within(level), gaussian_law(level, Fraction(1))
    if pure is not None:
        each = [pure.log_growth / (len(sizes) * max(1, sum_of_moves(table))) for table in tables]
        noise = [1 / (2 * math.sinh(e / 2) ** 2) if e < LARGE else 0.0 for e in each]
        found.append(math.fsum(n * v for n, v in zip(sizes, noise, strict=True)) / sum(sizes))
    if one is not None:
        noise = [float(one.variance * len(sizes) * square_of_moves(table)) for table in tables]
        found.append(math.fsum(n * v for n, v in zip(sizes, noise, strict=True)) / sum(sizes))
    return min(found)


def _solution(
    shape: Shape,
    published: Sequence[Columns],
    strategy: Sequence[Columns],
    laws: Any,
    space: Tables,
    level: Level,
    grain: int,
) -> Solution:
    words = {"workload": write_workload(shape, published), "strategy": write_workload(shape, strategy)}
    data: dict[str, Any] = {**words, "grain": grain, "loss": "squared"}
    mechanism = NoisyTables(tuple(laws))
    problem = Problem("workload.marginals", space, level, data)
    value = mean_variance(data, mechanism)
    bound = min(proved_bound(problem, {}), value)
    certificate = Certificate("bound", REASON, QUANTITY, mechanism.name, bound, value - bound)
    return Solution(problem, mechanism, value, certificate)


def _candidates(
    shape: Shape, published: tuple[Columns, ...], moves: Moves, reach: int, upper: int, level: Level
) -> Iterator[tuple[list[Columns], list[IndependentLaw], int]]:
    """Strategies, their noise, and what a row counts as: geometric by the best split, Gaussian by best precisions."""
    sets = closure(published)
    tables = dict(zip(sets, Tables(tuple(cells(shape, s) for s in sets), moves, reach, upper).lattices(), strict=True))
    pure = pure_within(level)
    if pure is not None and pure.log_growth < math.inf:
        whole = Fraction(int(pure.log_growth * (1 - 2**-40) * 10**12), 10**12)
        far = np.array([sum_of_moves(tables[each]) for each in sets], dtype=float)

        def geometric(share: Floats) -> tuple[Floats, Floats]:
            each = np.minimum(float(whole) * share / far, MOST_EPSILON)  # beyond, nothing is left to be gained
            return 2 * np.sinh(each / 2) ** 2, np.sinh(each) * float(whole) / far

        for shares in _best_shares(shape, published, sets, geometric):
            laws = [
                IndependentLaw(
                    cells(shape, each),
                    GeometricLaw(decay_above(pure_share(level, whole, part), sum_of_moves(tables[each]))),
                )
                for each, part in shares.items()
            ]
            yield list(shares), laws, 1
    one = gaussian_law(level, Fraction(1))
    if one is not None:
        square = {each: square_of_moves(tables[each]) for each in sets}

        def normal(share: Floats) -> tuple[Floats, Floats]:
            squares = np.array([square[each] for each in sets], dtype=float)
            return share / (float(one.variance) * squares), 1 / (float(one.variance) * squares)

        grain = FINE if isinstance(one, RoundedGaussian) else 1
        for shares in _best_shares(shape, published, sets, normal):
            gaussians = [
                IndependentLaw(cells(shape, each), type(one)(one.variance * square[each] * grain**2 * PARTS / part))
                for each, part in shares.items()
            ]
            yield list(shares), gaussians, grain


def pure_share(level: Level, whole: Fraction, part: int) -> ApproxDP:
    """The share of a pure level; all of it as it is."""
    if part == PARTS and isinstance(level, ApproxDP) and level.delta == 0:
        return level
    return PureDP(whole * part / PARTS)


Precisions = Callable[[Floats], tuple[Floats, Floats]]
"""From the shares of the level to the precisions of the tables, and their derivatives."""


def _best_shares(
    shape: Shape, published: Sequence[Columns], sets: Sequence[Columns], precision: Precisions
) -> Iterator[dict[Columns, int]]:
    """Splits of the level between tables, in whole parts of `PARTS`: local optima, from two starts each, then fewer."""
    problem = _Shares(shape, published, sets, precision)
    maximal = np.array([not any(set(a) < set(b) for b in sets) for a in sets])
    starts = [np.where(maximal, 1.0, 0.3), np.where(maximal, 1.0, 1e-3), np.ones(len(sets))]
    best = min((problem.descend(np.log(start / start.sum())) for start in starts), key=lambda found: found[0])
    shares = best[1]
    small = [i for i in np.argsort(shares).tolist() if shares[i] < LEAST_SHARE * 10]
    for i in small:
        fewer = shares.copy()
        fewer[i] = 0.0
        with np.errstate(divide="ignore"):
            tried = problem.descend(np.log(fewer / fewer.sum()))
        if tried[0] <= best[0] * (1 + (1e-3 if shares[i] < LEAST_SHARE else -1e-9)):
            best = tried
            shares = best[1]
    parts = np.floor(shares * PARTS).astype(int)
    parts[np.argmax(parts)] += PARTS - parts.sum()
    yield {each: int(part) for each, part in zip(sets, parts, strict=True) if part}


class _Shares:
    """The mean variance as a function of shares, and its descent in their logarithms."""

    def __init__(
        self, shape: Shape, published: Sequence[Columns], sets: Sequence[Columns], precision: Precisions
    ) -> None:
        self.precision = precision
        n = np.array([cells(shape, each) for each in sets], dtype=float)
        above = np.array([[set(part) <= set(table) for table in sets] for part in sets], dtype=float)
        self.down = above * n[:, None] / n[None, :]  # a table's precision, as one of a part within it
        dims = np.array([math.prod(shape[i] - 1 for i in part) for part in sets], dtype=float)
        wanted = [sum(1 / cells(shape, without(t, p)) for t in published if set(p) <= set(t)) for p in sets]
        self.cost = dims * np.array(wanted)

    def __call__(self, logs: Floats) -> tuple[float, Floats]:
        weights = np.exp(logs - logs.max())
        shares = weights / weights.sum()
        found, slopes = self.precision(shares)
        parts = self.down @ found
        if not (parts > 0).all():
            return math.inf, np.zeros_like(logs)
        value = float(np.sum(self.cost / parts))
        by_share = -(self.down.T @ (self.cost / parts**2)) * slopes
        gradient = shares * (by_share - float(shares @ by_share))
        return math.log(value), gradient / value

    def descend(self, logs: Floats) -> tuple[float, Floats]:
        """The least value from a start, and its shares; a share of 0 stays 0."""
        from scipy.optimize import minimize

        free = np.isfinite(logs)

        def at(x: Floats) -> tuple[float, Floats]:
            full = np.full(len(logs), -np.inf)
            full[free] = x
            value, gradient = self(full)
            return min(value, 1e6), gradient[free]

        found = minimize(
            at, logs[free], jac=True, method="L-BFGS-B", options={"maxiter": 2000, "ftol": 1e-13, "gtol": 1e-9}
        )
        full = np.full(len(logs), -np.inf)
        full[free] = found.x
        weights = np.exp(full - full.max())
        return math.exp(min(float(found.fun), 700.0)), weights / weights.sum()
