"""Counts that lie inside each other, and ranges, from noise on weighted sums of the cells between them.

Noise on m cells makes the last of m running counts err by the noise of all; noise on the counts themselves must hide a
row that is in all of them. In between, at pure levels: cells and a few overlapping blocks of them with whole weights
(noise on w times a sum is w times as small; `tents`). Where noise is Gaussian, the best factorisation: of all
strategies B it has the least total variance, since a row moves B x by a column of B and Gaussian noise hides columns by
their Euclidean length.
Counts are least squares estimates, unbiased whatever the cells hold.

The factorisation (Li, Miklau, Hay, McGregor, Rastogi 2010; Edmonds, Nikolov, Ullman 2020): minimise
tr(S X^-1) over X with diagonal at most 1, S = W'W. With T = (L^(1/2) S L^(1/2))^(1/2), L diagonal, the optimum has
X = L^(-1/2) T L^(-1/2), and L is the fixed point of L <- diag T. B is k times the Cholesky factor of X, rounded. L is
also the dual: with it the verifier proves what no private mechanism goes below (`theory.workload.verify.checks`). From
256 cells to more its shape hardly changes, so there it is stretched: at 1000 cells that costs 0.2 % of the bound, 0.1 %
of variance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from utmost.exact.arrays import Floats
from utmost.mechanism.noise.gaussian import GaussianLaw
from utmost.mechanism.noise.lattice import GeometricLaw, IndependentLaw, NoisyVector
from utmost.privacy import Level
from utmost.privacy.level import decay_above
from utmost.privacy.pure_part import pure_within
from utmost.solution import Problem, Solution, certificate_of, proved_bound, sketched
from utmost.space.integers import Lattice, Strategy
from utmost.theory.vector.design.vectors import (
    best_vector,
    best_vector_noise,
    gaussian_law,
    require_level,
    sketch_vector,
)
from utmost.theory.vector.design.weighted_sums import beyond, half_widths, mean_sizes, sizes_and_half_widths
from utmost.theory.workload.design.nested_counts import cells_or_counts, sum_half_widths, sum_losses, sum_mean_sizes
from utmost.theory.workload.design.overlapping_blocks import Rows, tent_strategies
from utmost.theory.workload.design.prefix_noise import best_carried, carried_losses, stated_nested
from utmost.theory.workload.least_squares import Sums, prefix_weights, spreads, wanted_products, wanted_weights
from utmost.theory.workload.prefix_noise import mean_variance_of_counts

FEWEST, MOST, MOST_ITERATED = 8, 1000, 256
"""From how many cells on strategies are tried, up to how many, and up to how many their dual is iterated."""
SCALE = 250
"""The largest weight of a factorisation, about: rounding to whole weights costs less than 1 % of the variance."""
ROUNDS = 30
MEASURED = 64
"""Of how many ranges the mean size of the error is computed; of the others it is interpolated."""
NORMAL = float(ndtri(0.975))


Made: TypeAlias = tuple[Strategy | Lattice, NoisyVector]
"""Which sums of cells are released, and their noise."""


@lru_cache(maxsize=32)
def best_strategy(cells: Lattice, level: Level, loss: str = "absolute", wanted: Sums = "running") -> Solution | None:
    """The strategy whose running counts, or ranges, have the least mean variance among those known; None without one.

    Parameters
    ----------
    cells : Lattice
        Disjoint cells in a row, and what one neighbour does to them.
    level : Level
        PureDP, ApproxDP, GaussianDP or ZCDP.
    loss : str
        What the question is best for; kept with the problem. The value is the mean variance of a number.
    wanted : "running" or "ranges"
        Counts of the first 1, 2, ... cells, or of all cells from any one to any other.

    Examples
    --------
    >>> from utmost.privacy import GaussianDP
    >>> found = best_strategy(Lattice(100, "any", 1, 0, 20_000), GaussianDP(1))
    >>> found.certificate.method, round(found.value, 2), bool(found.verify())       # the cells added up: 54.71
    ('rounded Gaussian noise on 100 weighted sums of cells, a factorisation', 5.01, True)
    """
    found = _strategy(cells, level, wanted)
    return None if found is None else stated_strategy(*found, level, loss, wanted)


def _strategy(cells: Lattice, level: Level, wanted: Sums) -> Made | None:
    require_level(level)
    if not FEWEST <= cells.dimension <= MOST or cells.moves not in ("any", "exchange") or cells.reach == 0:
        return None
    found = list(_tried(cells, level, wanted))
    if not found:
        return None
    _, strategy, law = min(found, key=lambda each: each[0])
    return strategy, NoisyVector(law)


def stated_strategy(
    space: Strategy | Lattice,
    mechanism: NoisyVector,
    level: Level,
    loss: str,
    wanted: Sums = "running",
    proved: bool = True,
) -> Solution:
    """Noise on weighted sums of cells, or on the cells themselves, as a solution with its dual, unless left out."""
    problem = Problem("number.strategy", space, level, {"loss": loss, "wanted": wanted})
    value = mean_variance_of_counts(mechanism, space, wanted)
    if not proved:
        return sketched(problem, mechanism, value)
    many = (space.cells if isinstance(space, Strategy) else space).dimension
    evidence = {"weights": _dual(many, wanted)} if many <= MOST else {}
    bound = min(proved_bound(problem, evidence), value)
    certificate = certificate_of(problem, mechanism, "bound", bound, value - bound, evidence)
    return Solution(problem, mechanism, value, certificate)


def _tried(cells: Lattice, level: Level, wanted: Sums) -> Iterator[tuple[float, Strategy, IndependentLaw]]:
    """Strategies with their mean variance and their noise."""
    pure = pure_within(level)
    if pure is not None:
        far = cells.reach if cells.moves == "any" else 2 * cells.reach

        def varies(found: tuple[float, int, Rows]) -> float:
            return found[0] * GeometricLaw(decay_above(pure, found[1] * far)).mean("squared")

        strategy = Strategy(cells, min(tent_strategies(cells.dimension, wanted), key=varies)[2])
        yield _measured(strategy, GeometricLaw(decay_above(pure, strategy.l1_sensitivity)), wanted)
    if gaussian_law(level, 1) is not None:
        strategy = Strategy(cells, _factored(cells.dimension, wanted))
        yield _measured(strategy, gaussian_law(level, strategy.squared_l2_sensitivity), wanted)


def _measured(strategy: Strategy, single: Any, wanted: Sums) -> tuple[float, Strategy, IndependentLaw]:
    law = IndependentLaw(strategy.dimension, single)
    return law.mean("squared") * float(spreads(strategy, wanted).mean()), strategy, law


@lru_cache(maxsize=8)
def _factored(m: int, wanted: Sums) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """The rows of the best factorisation of sums of m cells, rounded to whole weights.

    A cell's weight in its own sum is what the others leave of its length, so that no column is longer by rounding.
    """
    scale = np.asarray(_dual(m, wanted), dtype=float)
    best = _root(wanted_products(m, wanted) * np.sqrt(np.outer(scale, scale))) / np.sqrt(np.outer(scale, scale))
    best /= np.sqrt(np.outer(np.diag(best), np.diag(best)))
    factor = np.linalg.cholesky(best).T  # upper: row i has cells i, i + 1, ...
    whole = np.rint(factor * SCALE).astype(int)
    others = np.square(whole).sum(axis=0) - np.square(np.diag(whole))
    np.fill_diagonal(whole, [max(1, math.isqrt(max(1, SCALE**2 - other))) for other in others.tolist()])
    return tuple((i, tuple(row[i:].tolist())) for i, row in enumerate(whole))


@lru_cache(maxsize=16)
def _dual(m: int, wanted: Sums) -> Floats:
    """The weights on m cells that prove the best factorisation of their sums; of many cells, nearly the best."""
    if m > MOST_ITERATED:
        fewer = _dual(MOST_ITERATED, wanted)
        return np.interp((np.arange(m) + 0.5) / m, (np.arange(len(fewer)) + 0.5) / len(fewer), fewer)
    products = wanted_products(m, wanted)
    scale = np.ones(m)
    for _ in range(ROUNDS):
        root = _root(products * np.sqrt(np.outer(scale, scale)))
        before, scale = scale, np.diag(root) / np.diag(root).sum() * m
        if np.abs(scale / before - 1).max() < 1e-5:
            break
    return np.asarray(scale)


def _root(matrix: Floats) -> Floats:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)


def best_counts(cells: Lattice, counts: Lattice, level: Level, loss: str = "absolute", proved: bool = True) -> Solution:
    """Of noise on cells, which may carry, on the counts themselves and on a strategy, what errs least.

    Fewer than eight counts have their mean absolute error bounded by a flow (`carried.stated_nested`) at pure levels
    where rows come or go; others have their variance bounded.
    Strategies are tried for the losses "absolute" and "squared". The proof may be left out, in a search over levels.

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> found = best_counts(Lattice(60, "any", 1, 0, 999), Lattice(60, "one-way", 1, 0, 999), PureDP(1), "squared")
    >>> found.certificate.method, round(found.value, 2)       # noise of its own on each: 56.16, on blocks: 27.43
    ('geometric noise on cells, which carries', 19.94)
    """
    space, noise = cells_or_counts(cells, counts, level, loss)

    def loses(by: str) -> float:
        return sum_losses(noise, (by,))[by] if space == cells else float(noise.mean(by))

    least, found = loses(loss), _strategy(cells, level, "running") if loss in ("absolute", "squared") else None
    better = None if found is None else stated_strategy(*found, level, loss, proved=False)
    summed = math.inf if better is None else count_losses(better)[loss]
    carried = best_carried(cells, level, loss, min(least, summed))
    if carried is not None and any(carried.widths) and carried_losses(carried, loss) < least:
        space, noise, least = cells, carried, carried_losses(carried, loss)
    if found and better and summed < least and better.value <= loses("squared"):
        return stated_strategy(*found, level, loss) if proved else better
    if space == counts:
        return (best_vector if proved else sketch_vector)(counts, level, loss)
    few = proved and loss == "absolute" and cells.dimension < FEWEST
    nested = stated_nested(cells, NoisyVector(noise), level) if few else None
    return nested or stated_strategy(cells, NoisyVector(noise), level, loss, proved=proved)


def best_ranges(cells: Lattice, level: Level, proved: bool = True) -> Solution:
    """Of noise on cells and on a strategy, what has the least mean variance over all ranges of cells.

    The proof may be left out, in a search over levels.

    Examples
    --------
    >>> from utmost.privacy import GaussianDP
    >>> found = best_ranges(Lattice(50, "any", 1, 0, 20_000), GaussianDP(1))
    >>> round(found.value, 2), round(found.certificate.bound, 2), bool(found.verify())       # the cells: 18.78
    (4.85, 3.27, True)
    """
    law = best_vector_noise(cells, level, "squared", True)
    made = [(cells, NoisyVector(law)), *filter(None, [_strategy(cells, level, "ranges")])]
    found = [stated_strategy(*each, level, "squared", "ranges", proved=False) for each in made]
    best = min(range(len(made)), key=lambda i: found[i].value)
    return stated_strategy(*made[best], level, "squared", "ranges") if proved else found[best]


@lru_cache(maxsize=32)
def _errors(solution: Solution, weights: Errors) -> tuple[Floats, Floats]:
    """The mean size of the errors of weighted sums, and within which ±h they lie with 95 %."""
    law, rows = solution.mechanism.noise, weights.rows
    if isinstance(law.single, GaussianLaw):  # rounding moves a noise by half at most
        deviations = np.sqrt(float(law.single.variance) * np.square(rows).sum(axis=1))
        return math.sqrt(2 / math.pi) * deviations, NORMAL * deviations + np.abs(rows).sum(axis=1) / 2
    ones = np.ones_like(rows, dtype=int)
    return sizes_and_half_widths(law, rows, ones, 0.95)


@lru_cache(maxsize=8)
def range_half_widths(solution: Solution) -> Floats:
    """For every range, within which ±h it lies with 95 %; of cells added up, by how many they are."""
    space, law = solution.problem.space, solution.mechanism.noise
    if isinstance(space, Lattice):
        start, end = np.triu_indices(space.dimension + 1, 1)
        return np.asarray(np.array(sum_half_widths(law, Fraction(95, 100)), dtype=float)[end - start - 1])
    if isinstance(law.single, GaussianLaw):
        return _errors(solution, Errors(space, wanted="ranges"))[1]
    rows = wanted_weights(space, "ranges")
    return half_widths(law, rows, np.ones_like(rows, dtype=int), 0.95)


@lru_cache(maxsize=8)
def range_mean_sizes(solution: Solution) -> Floats:
    """For every range, how far off it is on average; of many on geometric noise, each within 6 % and all within 0.1 %.

    The mean size of a sum of noises is 0.7 to 0.8 of its deviation. That factor is computed for some ranges, which are
    spread evenly in the order of deviations, and interpolated between them.
    """
    space, law = solution.problem.space, solution.mechanism.noise
    if isinstance(space, Lattice):
        start, end = np.triu_indices(space.dimension + 1, 1)
        return np.asarray(np.array(sum_mean_sizes(law))[end - start - 1])
    if isinstance(law.single, GaussianLaw):
        return _errors(solution, Errors(space, wanted="ranges"))[0]
    rows = wanted_weights(space, "ranges")
    deviations = np.sqrt(law.mean("squared") * np.square(rows).sum(axis=1))
    order = np.argsort(deviations)
    some = order[np.unique(np.linspace(0, len(order) - 1, MEASURED).astype(int))]
    factors = mean_sizes(law, rows[some], np.ones_like(rows[some], dtype=int)) / deviations[some]
    return np.asarray(deviations * np.interp(deviations, deviations[some], factors))


@dataclass(frozen=True)
class Errors:
    """Of running counts less a share of the last of them, what the errors are made of; a share of 0 leaves counts."""

    strategy: Strategy
    share: Fraction = Fraction(0)
    wanted: Sums = "running"

    @property
    def rows(self) -> Floats:
        """A row of weights of the noisy sums for each count, or range."""
        if self.wanted == "ranges":
            return wanted_weights(self.strategy, "ranges")
        weights = prefix_weights(self.strategy)
        return np.asarray(weights - float(self.share) * weights[-1])


def count_losses(solution: Solution, last: bool = False) -> dict[str, float]:
    """The expected losses of running counts, "absolute" and "squared": averaged over all, or the largest."""
    rows = Errors(solution.problem.space).rows
    sizes, _ = _errors(solution, Errors(solution.problem.space))
    squares = solution.mechanism.expected("squared") * np.square(rows).sum(axis=1)
    measure = np.max if last else np.mean
    return {"absolute": float(measure(sizes)), "squared": float(measure(squares))}


def count_errors(solution: Solution, share: Fraction = Fraction(0)) -> tuple[Floats, Floats]:
    """For every count less a share of all: the mean size of its error, and within which ±h it lies with 95 %."""
    return _errors(solution, Errors(solution.problem.space, share))


def off_by_more(solution: Solution, error: float) -> float:
    """How likely a running count errs by more than so much, on average over them."""
    law, rows = solution.mechanism.noise, Errors(solution.problem.space).rows
    if isinstance(law.single, GaussianLaw):
        deviations = np.sqrt(law.mean("squared") * np.square(rows).sum(axis=1))
        return float(2 * ndtr(-error / deviations).mean())
    return float(np.mean(beyond(law, rows, np.ones_like(rows, dtype=int), error)))
