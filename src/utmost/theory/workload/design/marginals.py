"""Marginal tables of one product of columns: how much noise each released table should have.

Released are integer tables below the wanted ones, each with independent noise of its own size, so that all of them
together keep the level; wanted tables are made of them by least squares (`mechanism.margins`). Which tables, and the
sizes of their noise, are what is designed here. At Gaussian levels the mean variance is convex in the precisions, and
its least value is found; the best of all Gaussian strategies, integers or not, is known in closed form
(ResidualPlanner, Xiao et al. 2023, arXiv 2305.08175). Plain tables come within a few percent of it where columns have
ten values and more, and lose half where they have two: a table of A tells more of the sets below A than is wanted.
Tables that are centred along their smallest columns, by whole weights, do not, and come within about one percent. At
pure levels the split of epsilon between plain tables is a local optimum, from several starts: valid, not proved best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from utmost.errors import TooLarge, UnsupportedLevel
from utmost.exact.arrays import Floats
from utmost.mechanism.noise.gaussian import GaussianLaw, RoundedGaussian
from utmost.mechanism.noise.lattice import GeometricLaw, IndependentLaw
from utmost.mechanism.noise.tables import NoisyTables
from utmost.privacy import ApproxDP, Level, PureDP
from utmost.privacy.level import decay_above
from utmost.privacy.pure_part import pure_within
from utmost.solution import Problem, Solution, certificate_of, proved_bound, sketched
from utmost.space.integers import CentredTables, Moves, Tables
from utmost.space.sensitivity import l1_sensitivity, squared_l2_sensitivity
from utmost.theory.vector.design.vectors import WIDEST_DISCRETE, gaussian_law, require_level
from utmost.theory.workload.marginal_algebra import (
    Columns,
    Released,
    Shape,
    cells,
    closure,
    parts_within,
    without,
    write_strategy,
    write_workload,
)
from utmost.theory.workload.problem import margins_of, mean_variance

PARTS = 10**6
"""Of how many equal parts of the whole level the share of a table is a multiple."""
NOTHING = 1e-6
LEAST_SHARE = 0.004
"""Shares below this are tried without: a table nearly without weight is noise to read and to keep."""
MOST_SETS, LARGE, MOST_EPSILON = 2000, 700, 80.0
FINE = 10
"""Where noise is a rounded Gaussian, a row counts as so many: rounding adds 1/1200 to a variance, not 1/12."""
MOST_CENTRED = 200
"""How many values the columns along which a table is centred have together, at most: wider noise takes long to draw."""
LEAST_PRECISION = 1e-140
"""With less than this a part is as good as unknown; its square is still a float."""
MOST_DENSE = 200
"""Up to how many shares are found with all second derivatives: that takes the fewest steps."""
PLAIN = 1.01
"""Centred tables are taken where plain ones have more than so many times their variance: plain ones are easier read."""
ONE_BY_ONE = 40
"""Up to how many tables it is tried of each with a small share whether all is better without it."""


@lru_cache(maxsize=64)
def best_marginals(
    shape: Shape,
    published: tuple[Columns, ...],
    moves: Moves,
    reach: int,
    upper: int | None,
    level: Level,
    proved: bool = True,
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
    proved : bool
        False leaves the proof out, in a search over levels.

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
    (4.322, True)
    """
    require_level(level)
    sets = closure(published)
    if len(sets) > MOST_SETS:
        raise TooLarge(
            f"there are {len(sets)} sets of columns within the wanted ones; at most {MOST_SETS} are designed."
        )
    found = []
    for strategy, laws, grain in _candidates(shape, published, moves, reach, upper, level):
        words = {"workload": write_workload(shape, published), "strategy": write_strategy(shape, strategy)}
        data = {**words, "grain": grain}
        found.append(stated_marginals(data, NoisyTables(tuple(laws)), (moves, reach, upper), level, proved=False))
    if not found:
        raise UnsupportedLevel(f"no noise on tables is known at {level}; give a larger level.")
    best = min(found, key=lambda each: each.value * (PLAIN if isinstance(each.problem.space, CentredTables) else 1))
    return stated_marginals(best.problem.data, best.mechanism, (moves, reach, upper), level) if proved else best


def even_split(shape: Shape, published: Sequence[Columns], moves: Moves, reach: int, level: Level) -> dict[str, float]:
    """The mean error of one number, absolute and squared, where every wanted table has noise of its own.

    Each table gets an equal share of the level.
    """
    return even_noise(tuple(cells(shape, each) for each in published), moves, reach, level)


def even_noise(sizes: tuple[int, ...], moves: Moves, reach: int, level: Level) -> dict[str, float]:
    """The same for tables of these sizes."""
    tables = Tables(sizes, moves, reach, 0).lattices()
    found: list[tuple[float, float]] = []

    def mean(errors: Sequence[float]) -> float:
        return math.fsum(n * error for n, error in zip(sizes, errors, strict=True)) / sum(sizes)

    pure, one = pure_within(level), gaussian_law(level, Fraction(1))
    if pure is not None:
        each = [pure.log_growth / (len(sizes) * max(1, l1_sensitivity(table))) for table in tables]
        noise = [1 / (2 * math.sinh(e / 2) ** 2) if e < LARGE else 0.0 for e in each]
        found.append((mean(noise), mean([1 / math.sinh(e) if e < LARGE else 0.0 for e in each])))
    if one is not None:
        noise = [float(one.variance * len(sizes) * squared_l2_sensitivity(table)) for table in tables]
        found.append((mean(noise), math.sqrt(2 / math.pi) * mean([math.sqrt(variance) for variance in noise])))
    squared, absolute = min(found, default=(math.inf, math.inf))
    return {"absolute": absolute, "squared": squared}


def stated_marginals(
    data: Mapping[str, Any],
    mechanism: NoisyTables,
    neighbours: tuple[Moves, int, int | None],
    level: Level,
    proved: bool = True,
) -> Solution:
    """Noise on tables as a solution with its dual, unless that is left out.

    Parameters
    ----------
    data : mapping
        The words of the problem: "workload", "strategy" and "grain".
    mechanism : NoisyTables
    neighbours : (moves, reach, upper)
    level : Level
    """
    words = {**data, "loss": "squared"}
    problem = Problem("workload.marginals", margins_of(words, mechanism).space(*neighbours), level, words)
    return with_dual(problem, mechanism, mean_variance(words, mechanism), proved)


def with_dual(problem: Problem, mechanism: NoisyTables, value: float, proved: bool) -> Solution:
    """A solution whose bound is the dual of the best factorisation, or one without a proof."""
    if not proved:
        return sketched(problem, mechanism, value)
    bound = min(proved_bound(problem, {}), value)
    certificate = certificate_of(problem, mechanism, "bound", bound, value - bound)
    return Solution(problem, mechanism, value, certificate)


def _candidates(
    shape: Shape, published: tuple[Columns, ...], moves: Moves, reach: int, upper: int | None, level: Level
) -> Iterator[tuple[list[Released], list[IndependentLaw], int]]:
    """Strategies, their noise, and what a row counts as: geometric by the best split, Gaussian by best precisions."""
    plain = [Released(each) for each in closure(published)]
    pure = pure_within(level)
    if pure is not None and pure.log_growth < math.inf:
        tables = Tables(tuple(cells(shape, each.columns) for each in plain), moves, reach, upper).lattices()
        whole = Fraction(int(pure.log_growth * (1 - 2**-40) * 10**12), 10**12)
        far = {each: l1_sensitivity(table) for each, table in zip(plain, tables, strict=True)}

        def geometric(share: Floats) -> tuple[Floats, Floats]:
            apart = np.array([*far.values()], dtype=float)
            each = np.minimum(float(whole) * share / apart, MOST_EPSILON)  # beyond, nothing is left to be gained
            return 2 * np.sinh(each / 2) ** 2, np.sinh(each) * float(whole) / apart

        shares = _best_shares(shape, published, plain, geometric)
        decays = {each: decay_above(pure_share(level, whole, part), far[each]) for each, part in shares.items()}
        yield (
            list(shares),
            [IndependentLaw(cells(shape, each.columns), GeometricLaw(decay)) for each, decay in decays.items()],
            1,
        )
    one = gaussian_law(level, Fraction(1))
    if one is not None:
        yield _gaussian(shape, published, plain, (moves, reach, upper), one)
        centred = [Released(table.columns, along) for table in plain if (along := _smallest(shape, table.columns))]
        if centred:
            yield _gaussian(shape, published, plain + centred, (moves, reach, upper), one)


def _smallest(shape: Shape, columns: Columns) -> Columns:
    """The smallest columns of a table, as many as have together at most `MOST_CENTRED` values, none of one value."""
    found: list[int] = []
    for i in sorted((i for i in columns if shape[i] > 1), key=lambda i: shape[i]):
        if cells(shape, [*found, i]) > MOST_CENTRED:
            break
        found.append(i)
    return tuple(sorted(found))


def _gaussian(
    shape: Shape,
    published: tuple[Columns, ...],
    tables: Sequence[Released],
    neighbours: tuple[Moves, int, int | None],
    one: GaussianLaw,
) -> tuple[list[Released], list[IndependentLaw], int]:
    """The best precisions of some tables, `one` being the noise of a move of one alone."""
    moves, reach, _ = neighbours
    twice = {each: moves == "exchange" and cells(shape, each.columns) > 1 for each in tables}
    square = {
        each: reach**2 * (1 + twice[each]) * math.prod(1 - Fraction(1, shape[i]) for i in each.centred)
        for each in tables
    }  # of what a neighbour moves, where a row counts as 1

    shares = _best_gaussian_shares(shape, published, tuple(tables), tuple(float(square[each]) for each in tables))
    found = {
        each: one.variance * square[each] * cells(shape, each.centred) ** 2 * PARTS / part
        for each, part in shares.items()
    }  # where a row counts as often as centring makes it
    kind: type[GaussianLaw] = type(one) if max(found.values()) < WIDEST_DISCRETE**2 else RoundedGaussian
    finer = math.ceil(FINE / math.sqrt(min(found.values()))) if kind is RoundedGaussian else 1
    grain = min(finer, FINE)
    for each in found:
        found[each] *= (-(-grain // cells(shape, each.centred))) ** 2
    if moves == "exchange" and any(each.centred for each in shares):
        listed = tuple((each.columns, each.centred) for each in shares)
        space = CentredTables(shape, listed, moves, reach, 0, grain)
        spent = space.largest_square([1 / variance for variance in found.values()]) * one.variance
        found = {each: Fraction(math.ceil(variance * spent * 10**6), 10**6) for each, variance in found.items()}
    laws = [IndependentLaw(cells(shape, each.columns), kind(variance)) for each, variance in found.items()]
    return list(shares), laws, grain


@lru_cache(maxsize=64)
def _best_gaussian_shares(
    shape: Shape, published: tuple[Columns, ...], tables: tuple[Released, ...], square: tuple[float, ...]
) -> dict[Released, int]:
    """The best split at Gaussian levels, which is the same at all of them: precisions are in proportion to shares."""
    slopes = 1 / np.array(square)
    return _best_shares(shape, published, tables, lambda share: (share * slopes, slopes))


def pure_share(level: Level, whole: Fraction, part: int) -> ApproxDP:
    """The share of a pure level; all of it as it is."""
    if part == PARTS and isinstance(level, ApproxDP) and level.delta == 0:
        return level
    return PureDP(whole * part / PARTS)


Precisions = Callable[[Floats], tuple[Floats, Floats]]
"""From the shares of the level to the precisions of the tables, and their derivatives."""


def _best_shares(
    shape: Shape, published: Sequence[Columns], tables: Sequence[Released], precision: Precisions
) -> dict[Released, int]:
    """A split of the level between tables, in whole parts of `PARTS`: a local optimum, from some starts, then fewer."""
    problem = _Shares(shape, published, tables, precision)
    best = min((problem.descend(np.log(start / start.sum())) for start in problem.starts()), key=lambda found: found[0])
    shares = best[1]
    small = [i for i in np.argsort(shares).tolist() if shares[i] < LEAST_SHARE * 10]
    for group in [[i] for i in small] if len(tables) <= ONE_BY_ONE else [[i for i in small if shares[i] < NOTHING]]:
        fewer = shares.copy()
        fewer[group] = 0.0
        with np.errstate(divide="ignore"):
            tried = problem.descend(np.log(fewer / fewer.sum()))
        spared = sum(shares[i] for i in group) < LEAST_SHARE
        if tried[0] <= best[0] * (1 + (1e-3 if spared else -1e-9)):
            best = tried
            shares = best[1]
    parts = np.where(shares > 0, np.maximum(np.floor(shares * PARTS), 1), 0).astype(int)
    parts[np.argmax(parts)] += PARTS - parts.sum()
    return {each: int(part) for each, part in zip(tables, parts, strict=True) if part}


class _Shares:
    """The mean variance as a function of shares, and its descent in their logarithms."""

    def __init__(
        self, shape: Shape, published: Sequence[Columns], tables: Sequence[Released], precision: Precisions
    ) -> None:
        self.precision, self.tables = precision, tables
        sets = list(dict.fromkeys(part for each in published for part in parts_within(shape, each)))
        below = np.array([cells(shape, part) for part in sets], dtype=float)
        above = np.array([cells(shape, table.columns) for table in tables], dtype=float)
        has = np.array([[table.has(part) for table in tables] for part in sets], dtype=float)
        self.down = has * below[:, None] / above[None, :]  # a table's precision, as one of a part within it
        dims = np.array([math.prod(shape[i] - 1 for i in part) for part in sets], dtype=float)
        wanted = [sum(1 / cells(shape, without(t, p)) for t in published if set(p) <= set(t)) for p in sets]
        self.cost = dims * np.array(wanted)

    def starts(self) -> list[Floats]:
        """Where descents begin: by the size of tables; where all parts are centred tables, at what is best of these."""
        tables = self.tables
        maximal = np.array([not any(set(a.columns) < set(b.columns) for b in tables) for a in tables])
        if not any(table.centred for table in tables):
            return [np.where(maximal, 1.0, 0.3), np.where(maximal, 1.0, 1e-3), np.ones(len(tables))]
        alone = self.down / np.maximum(self.down.sum(axis=0), 1e-300)
        return [np.where([bool(table.centred) or not table.columns for table in tables], 1.0, 1e-3)
                * np.sqrt(alone.T @ self.cost)]  # fmt: skip

    def __call__(self, logs: Floats) -> tuple[float, Floats]:
        weights = np.exp(logs - logs.max())
        shares = weights / weights.sum()
        found, slopes = self.precision(shares)
        parts = self.down @ found
        if not (parts > LEAST_PRECISION).all():
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

        options: Any = {"maxiter": 2000, "gtol": 1e-9}
        few = free.sum() <= MOST_DENSE
        method = "BFGS" if few else "L-BFGS-B"
        found = minimize(
            at, logs[free], jac=True, method=method, options=options if few else {**options, "ftol": 1e-13}
        )
        full = np.full(len(logs), -np.inf)
        full[free] = found.x
        weights = np.exp(full - full.max())
        return math.exp(min(float(found.fun), 700.0)), weights / weights.sum()
