"""Marginal tables of one product of columns: which tables to release, and with how much noise each.

Integer tables below the wanted ones are released, each with independent noise of its own size, so that all of them
together keep the level; the wanted tables follow by least squares (`theory/workload/marginal_algebra.py`). At Gaussian
levels the mean variance is convex in the precisions, and its minimum is found; the best of all Gaussian strategies,
integers or not, is known in closed form (ResidualPlanner, Xiao et al. 2023, arXiv 2305.08175). Plain tables come within
a few percent of it where columns have ten values and more, and lose half where they have two: a table of A tells more
about the sets below A than is wanted. Tables that are centred along their smallest columns, by integer weights, come
within about one percent. At pure levels the split of epsilon between plain tables is a local optimum from several
starts: valid, not proved best.
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
    ReleasedTable,
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
"""Shares of tables are multiples of one over this of the whole level."""
NOTHING = 1e-6
LEAST_SHARE = 0.004
"""A table with a smaller share is dropped if that costs little: it would be nearly pure noise."""
MOST_SETS, LARGE, MOST_EPSILON = 2000, 700, 80.0
FINE = 10
"""How often a row counts under rounded Gaussian noise: rounding then adds 1/1200 to a variance, not 1/12."""
MOST_CENTRED = 200
"""Largest number of cells of the columns along which a table is centred: wider noise takes long to draw."""
LEAST_PRECISION = 1e-140
"""A part with less precision than this is as good as unknown; its square is still a float."""
MOST_DENSE = 200
"""Up to this many shares BFGS is used, which takes the fewest steps; above it, L-BFGS."""
PLAIN = 1.01
"""Centred tables are used if plain ones have more than this times their variance: plain ones are easier to read."""
ONE_BY_ONE = 40
"""Up to this many tables, each with a small share is tentatively dropped by itself; above it, all at once."""


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
    """The noise with the smallest mean variance found for wanted marginal tables of one product of columns.

    Parameters
    ----------
    shape : tuple of int
        How many values each column has.
    published : tuple of tuples
        The wanted tables, each by the places of its columns; () is the total.
    moves : "any" or "exchange"
        Whether a row comes or goes, or is replaced.
    reach : int
        How many rows one neighbour changes.
    upper : int
        How many rows there are at most.
    level : Level
        PureDP, ApproxDP, GaussianDP or ZCDP.
    proved : bool
        False omits the proof, in a search over levels.

    Returns
    -------
    Solution
        `solution.value` is the mean variance; `theory.workload.problem.margins_of` makes the wanted tables of a draw.

    Examples
    --------
    >>> from utmost.privacy import GaussianDP
    >>> pairs = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
    >>> solution = best_marginals((5, 10, 20, 50), pairs, "any", 1, 1000, GaussianDP(1))
    >>> round(solution.value, 3), bool(solution.verify())           # the best of all Gaussian strategies: 4.322
    (4.322, True)
    """
    require_level(level)
    sets = closure(published)
    if len(sets) > MOST_SETS:
        raise TooLarge(
            f"there are {len(sets)} sets of columns within the wanted ones; at most {MOST_SETS} are designed."
        )
    solutions = []
    for strategy, laws, grain in _candidates(shape, published, moves, reach, upper, level):
        words = {"workload": write_workload(shape, published), "strategy": write_strategy(shape, strategy)}
        data = {**words, "grain": grain}
        solutions.append(marginals_solution(data, NoisyTables(tuple(laws)), (moves, reach, upper), level, proved=False))
    if not solutions:
        raise UnsupportedLevel(f"no noise on tables is known at {level}; give a larger level.")
    best = min(
        solutions,
        key=lambda solution: solution.value * (PLAIN if isinstance(solution.problem.space, CentredTables) else 1),
    )
    return marginals_solution(best.problem.data, best.mechanism, (moves, reach, upper), level) if proved else best


def even_split(shape: Shape, published: Sequence[Columns], moves: Moves, reach: int, level: Level) -> dict[str, float]:
    """Mean absolute and squared error of one number where every wanted table has noise of its own, the baseline.

    Each table gets an equal share of the level.
    """
    return even_noise(tuple(cells(shape, columns) for columns in published), moves, reach, level)


def even_noise(sizes: tuple[int, ...], moves: Moves, reach: int, level: Level) -> dict[str, float]:
    """Mean absolute and squared error of one number where tables of these sizes share the level equally."""
    tables = Tables(sizes, moves, reach, 0).lattices()
    errors_by_noise: list[tuple[float, float]] = []

    def mean(errors: Sequence[float]) -> float:
        return math.fsum(n * error for n, error in zip(sizes, errors, strict=True)) / sum(sizes)

    pure, unit_gaussian = pure_within(level), gaussian_law(level, Fraction(1))
    if pure is not None:
        epsilons = [pure.log_growth / (len(sizes) * max(1, l1_sensitivity(table))) for table in tables]
        noise = [1 / (2 * math.sinh(e / 2) ** 2) if e < LARGE else 0.0 for e in epsilons]
        errors_by_noise.append((mean(noise), mean([1 / math.sinh(e) if e < LARGE else 0.0 for e in epsilons])))
    if unit_gaussian is not None:
        noise = [float(unit_gaussian.variance * len(sizes) * squared_l2_sensitivity(table)) for table in tables]
        errors_by_noise.append(
            (mean(noise), math.sqrt(2 / math.pi) * mean([math.sqrt(variance) for variance in noise]))
        )
    squared, absolute = min(errors_by_noise, default=(math.inf, math.inf))
    return {"absolute": absolute, "squared": squared}


def marginals_solution(
    data: Mapping[str, Any],
    mechanism: NoisyTables,
    neighbours: tuple[Moves, int, int | None],
    level: Level,
    proved: bool = True,
) -> Solution:
    """A solution for given noise on tables, with its dual bound unless `proved` is false.

    Parameters
    ----------
    data : mapping
        The problem's data: "workload", "strategy" and "grain".
    mechanism : NoisyTables
    neighbours : (moves, reach, upper)
        What one neighbour does: the sensitivity set's name, the rows it changes, the largest number of rows.
    level : Level
    """
    words = {**data, "loss": "squared"}
    problem = Problem("workload.marginals", margins_of(words, mechanism).space(*neighbours), level, words)
    return with_dual(problem, mechanism, mean_variance(words, mechanism), proved)


def with_dual(problem: Problem, mechanism: NoisyTables, value: float, proved: bool) -> Solution:
    """A solution bounded by the dual of the best factorisation, or a sketch without proof."""
    if not proved:
        return sketched(problem, mechanism, value)
    bound = min(proved_bound(problem, {}), value)
    certificate = certificate_of(problem, mechanism, "bound", bound, value - bound)
    return Solution(problem, mechanism, value, certificate)


def _candidates(
    shape: Shape, published: tuple[Columns, ...], moves: Moves, reach: int, upper: int | None, level: Level
) -> Iterator[tuple[list[ReleasedTable], list[IndependentLaw], int]]:
    """Candidate (tables, laws, grain): geometric noise by the best split, Gaussian noise by the best precisions."""
    plain = [ReleasedTable(released) for released in closure(published)]
    pure = pure_within(level)
    if pure is not None and pure.log_growth < math.inf:
        tables = Tables(tuple(cells(shape, released.columns) for released in plain), moves, reach, upper).lattices()
        epsilon = Fraction(int(pure.log_growth * (1 - 2**-40) * 10**12), 10**12)
        sensitivities = {released: l1_sensitivity(table) for released, table in zip(plain, tables, strict=True)}

        def geometric(share: Floats) -> tuple[Floats, Floats]:
            apart = np.array([*sensitivities.values()], dtype=float)
            epsilons = np.minimum(float(epsilon) * share / apart, MOST_EPSILON)  # beyond, nothing is left to be gained
            return 2 * np.sinh(epsilons / 2) ** 2, np.sinh(epsilons) * float(epsilon) / apart

        shares = _best_shares(shape, published, plain, geometric)
        decays = {
            released: decay_above(pure_share(level, epsilon, part), sensitivities[released])
            for released, part in shares.items()
        }
        yield (
            list(shares),
            [IndependentLaw(cells(shape, released.columns), GeometricLaw(decay)) for released, decay in decays.items()],
            1,
        )
    unit_gaussian = gaussian_law(level, Fraction(1))
    if unit_gaussian is not None:
        yield _gaussian(shape, published, plain, (moves, reach, upper), unit_gaussian)
        centred = [
            ReleasedTable(table.columns, along) for table in plain if (along := _smallest_columns(shape, table.columns))
        ]
        if centred:
            yield _gaussian(shape, published, plain + centred, (moves, reach, upper), unit_gaussian)


def _smallest_columns(shape: Shape, columns: Columns) -> Columns:
    """The smallest columns of a table with more than one value, as long as they have at most `MOST_CENTRED` cells."""
    smallest: list[int] = []
    for i in sorted((i for i in columns if shape[i] > 1), key=lambda i: shape[i]):
        if cells(shape, [*smallest, i]) > MOST_CENTRED:
            break
        smallest.append(i)
    return tuple(sorted(smallest))


def _gaussian(
    shape: Shape,
    published: tuple[Columns, ...],
    tables: Sequence[ReleasedTable],
    neighbours: tuple[Moves, int, int | None],
    unit_gaussian: GaussianLaw,
) -> tuple[list[ReleasedTable], list[IndependentLaw], int]:
    """Gaussian noise of the best precisions on given tables; `unit_gaussian` hides a change of one."""
    moves, reach, _ = neighbours
    twice = {table: moves == "exchange" and cells(shape, table.columns) > 1 for table in tables}
    square = {
        table: reach**2 * (1 + twice[table]) * math.prod(1 - Fraction(1, shape[i]) for i in table.centred)
        for table in tables
    }  # squared l2 sensitivity, where a row counts as 1

    shares = _best_gaussian_shares(shape, published, tuple(tables), tuple(float(square[table]) for table in tables))
    variances = {
        table: unit_gaussian.variance * square[table] * cells(shape, table.centred) ** 2 * PARTS / part
        for table, part in shares.items()
    }  # in the units of the released tables
    kind: type[GaussianLaw] = type(unit_gaussian) if max(variances.values()) < WIDEST_DISCRETE**2 else RoundedGaussian
    finer = math.ceil(FINE / math.sqrt(min(variances.values()))) if kind is RoundedGaussian else 1
    grain = min(finer, FINE)
    for table in variances:
        variances[table] *= (-(-grain // cells(shape, table.centred))) ** 2
    if moves == "exchange" and any(table.centred for table in shares):
        names = tuple((table.columns, table.centred) for table in shares)
        space = CentredTables(shape, names, moves, reach, 0, grain)
        spent = space.largest_square([1 / variance for variance in variances.values()]) * unit_gaussian.variance
        variances = {
            table: Fraction(math.ceil(variance * spent * 10**6), 10**6) for table, variance in variances.items()
        }
    laws = [IndependentLaw(cells(shape, table.columns), kind(variance)) for table, variance in variances.items()]
    return list(shares), laws, grain


@lru_cache(maxsize=64)
def _best_gaussian_shares(
    shape: Shape, published: tuple[Columns, ...], tables: tuple[ReleasedTable, ...], square: tuple[float, ...]
) -> dict[ReleasedTable, int]:
    """The best split at Gaussian levels, the same at all of them because precisions are in proportion to shares."""
    slopes = 1 / np.array(square)
    return _best_shares(shape, published, tables, lambda share: (share * slopes, slopes))


def pure_share(level: Level, epsilon: Fraction, part: int) -> ApproxDP:
    """A share of a pure level; the level itself if it is all of it."""
    if part == PARTS and isinstance(level, ApproxDP) and level.delta == 0:
        return level
    return PureDP(epsilon * part / PARTS)


Precisions = Callable[[Floats], tuple[Floats, Floats]]
"""Maps the shares of the level to the precisions of the tables, and their derivatives."""


def _best_shares(
    shape: Shape, published: Sequence[Columns], tables: Sequence[ReleasedTable], precision: Precisions
) -> dict[ReleasedTable, int]:
    """The best split found of the level between tables, in integer parts of `PARTS`.

    A local optimum from several starts; then tables with small shares are dropped where that costs little.
    """
    problem = _Shares(shape, published, tables, precision)
    best = min(
        (problem.descend(np.log(start / start.sum())) for start in problem.starts()), key=lambda optimum: optimum[0]
    )
    shares = best[1]
    small = [i for i in np.argsort(shares).tolist() if shares[i] < LEAST_SHARE * 10]
    for group in [[i] for i in small] if len(tables) <= ONE_BY_ONE else [[i for i in small if shares[i] < NOTHING]]:
        fewer = shares.copy()
        fewer[group] = 0.0
        with np.errstate(divide="ignore"):
            sparser = problem.descend(np.log(fewer / fewer.sum()))
        spared = sum(shares[i] for i in group) < LEAST_SHARE
        if sparser[0] <= best[0] * (1 + (1e-3 if spared else -1e-9)):
            best = sparser
            shares = best[1]
    parts = np.where(shares > 0, np.maximum(np.floor(shares * PARTS), 1), 0).astype(int)
    parts[np.argmax(parts)] += PARTS - parts.sum()
    return {table: int(part) for table, part in zip(tables, parts, strict=True) if part}


class _Shares:
    """The mean variance as a function of shares, and its descent in their logarithms."""

    def __init__(
        self, shape: Shape, published: Sequence[Columns], tables: Sequence[ReleasedTable], precision: Precisions
    ) -> None:
        self.precision, self.tables = precision, tables
        sets = list(dict.fromkeys(part for columns in published for part in parts_within(shape, columns)))
        below = np.array([cells(shape, part) for part in sets], dtype=float)
        above = np.array([cells(shape, table.columns) for table in tables], dtype=float)
        has = np.array([[table.has(part) for table in tables] for part in sets], dtype=float)
        self.down = has * below[:, None] / above[None, :]  # a table's precision, as one of a part within it
        dims = np.array([math.prod(shape[i] - 1 for i in part) for part in sets], dtype=float)
        multiplicities = [sum(1 / cells(shape, without(t, p)) for t in published if set(p) <= set(t)) for p in sets]
        self.cost = dims * np.array(multiplicities)

    def starts(self) -> list[Floats]:
        """Starting shares: by the size of tables; with centred tables, the optimum of these alone."""
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
        precisions, slopes = self.precision(shares)
        parts = self.down @ precisions
        if not (parts > LEAST_PRECISION).all():
            return math.inf, np.zeros_like(logs)
        value = float(np.sum(self.cost / parts))
        by_share = -(self.down.T @ (self.cost / parts**2)) * slopes
        gradient = shares * (by_share - float(shares @ by_share))
        return math.log(value), gradient / value

    def descend(self, logs: Floats) -> tuple[float, Floats]:
        """The minimum reached from a start, and its shares; a share of 0 stays 0."""
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
        optimum = minimize(
            at, logs[free], jac=True, method=method, options=options if few else {**options, "ftol": 1e-13}
        )
        full = np.full(len(logs), -np.inf)
        full[free] = optimum.x
        weights = np.exp(full - full.max())
        return math.exp(min(float(optimum.fun), 700.0)), weights / weights.sum()
