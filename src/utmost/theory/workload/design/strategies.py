"""Running counts and ranges from noise on weighted sums of cells.

With noise on m cells, the last of m running counts has the noise of all; noise on the counts themselves must hide a row
that is in all of them. In between, at pure levels: cells and a few overlapping blocks of them with integer weights
(noise on w times a sum is w times as small; `overlapping_blocks`). For Gaussian noise, the best factorisation: of all
strategies B it has the least total variance, since a row moves B x by a column of B and Gaussian noise hides columns by
their Euclidean norm. Counts are least squares estimates, unbiased whatever the cells hold.

The factorisation (Li, Miklau, Hay, McGregor, Rastogi 2010; Edmonds, Nikolov, Ullman 2020): minimise
tr(S X^-1) over X with diagonal at most 1, S = W'W. With T = (L^(1/2) S L^(1/2))^(1/2), L diagonal, the optimum has
X = L^(-1/2) T L^(-1/2), and L is the fixed point of L <- diag T. B is k times the Cholesky factor of X, rounded. L is
also the dual: from it the verifier computes a lower bound for all private mechanisms (`theory.workload.verify.checks`).
From 256 cells on its shape hardly changes, so there it is stretched: at 1000 cells that costs 0.2 % of the bound, 0.1 %
of variance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from utmost.exact.arrays import Floats
from utmost.mechanism.noise.independent import IndependentLaw
from utmost.mechanism.noise.law import NoiseLaw
from utmost.mechanism.noise.staircase import geometric_law
from utmost.mechanism.noise.vector import NoisyVector
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
from utmost.theory.vector.design.weighted_sums import (
    half_widths,
    mean_sizes,
    mean_sizes_and_half_widths,
    tail_probabilities,
)
from utmost.theory.workload.design.nested_counts import cells_or_counts, sum_half_widths, sum_losses, sum_mean_sizes
from utmost.theory.workload.design.overlapping_blocks import Rows, tent_strategies
from utmost.theory.workload.design.prefix_noise import best_carried, carried_losses, nested_solution
from utmost.theory.workload.least_squares import Sums, prefix_weights, spreads, sum_products, sum_weights
from utmost.theory.workload.prefix_noise import mean_variance_of_counts

FEWEST, MOST, MOST_ITERATED = 8, 1000, 256
"""Strategies are used from this many cells on, up to this many; up to this many their dual is iterated."""
SCALE = 250
"""The largest weight of a factorisation, about: rounding to integers costs less than 1 % of the variance."""
ROUNDS = 30
MEASURED = 64
"""Number of ranges whose mean absolute error is computed; that of the others is interpolated."""
NORMAL = float(ndtri(0.975))


NoisySums: TypeAlias = tuple[Strategy | Lattice, NoisyVector]
"""The released sums of cells, and their noise."""


@lru_cache(maxsize=32)
def best_strategy(cells: Lattice, level: Level, loss: str = "absolute", sums: Sums = "running") -> Solution | None:
    """The strategy whose running counts, or ranges, have the least mean variance; None if none applies.

    Parameters
    ----------
    cells : Lattice
        Disjoint cells in a row, and what one neighbour does to them.
    level : Level
        PureDP, ApproxDP, GaussianDP or ZCDP.
    loss : str
        The question's loss, stored in the problem. The value is the mean variance of a number.
    sums : "running" or "ranges"
        Counts of the first 1, 2, ... cells, or of all cells from any one to any other.

    Examples
    --------
    >>> from utmost.privacy import GaussianDP
    >>> solution = best_strategy(Lattice(100, "any", 1, 0, 20_000), GaussianDP(1))
    >>> solution.certificate.method, round(solution.value, 2), bool(solution.verify())  # sums of noisy cells: 54.71
    ('rounded Gaussian noise on 100 weighted sums of cells, a factorisation', 5.01, True)
    """
    pair = _strategy(cells, level, sums)
    return None if pair is None else strategy_solution(*pair, level, loss, sums)


def _strategy(cells: Lattice, level: Level, sums: Sums) -> NoisySums | None:
    require_level(level)
    if not FEWEST <= cells.dimension <= MOST or cells.moves not in ("any", "exchange") or cells.reach == 0:
        return None
    candidates = list(_candidates(cells, level, sums))
    if not candidates:
        return None
    _, strategy, law = min(candidates, key=lambda candidate: candidate[0])
    return strategy, NoisyVector(law)


def strategy_solution(
    space: Strategy | Lattice,
    mechanism: NoisyVector,
    level: Level,
    loss: str,
    sums: Sums = "running",
    proved: bool = True,
) -> Solution:
    """A solution for given noise on weighted sums of cells, or on cells, with its dual bound if `proved`."""
    problem = Problem("number.strategy", space, level, {"loss": loss, "wanted": sums})
    value = mean_variance_of_counts(mechanism, space, sums)
    if not proved:
        return sketched(problem, mechanism, value)
    many = (space.cells if isinstance(space, Strategy) else space).dimension
    evidence = {"weights": _dual(many, sums)} if many <= MOST else {}
    bound = min(proved_bound(problem, evidence), value)
    certificate = certificate_of(problem, mechanism, "bound", bound, value - bound, evidence)
    return Solution(problem, mechanism, value, certificate)


def _candidates(cells: Lattice, level: Level, sums: Sums) -> Iterator[tuple[float, Strategy, IndependentLaw]]:
    """Candidate strategies with their mean variance and their noise."""
    pure = pure_within(level)
    if pure is not None:
        sensitivity = cells.reach if cells.moves == "any" else 2 * cells.reach

        def mean_variance(blocks: tuple[float, int, Rows]) -> float:
            return blocks[0] * geometric_law(decay_above(pure, blocks[1] * sensitivity)).mean("squared")

        strategy = Strategy(cells, min(tent_strategies(cells.dimension, sums), key=mean_variance)[2])
        yield _with_mean_variance(strategy, geometric_law(decay_above(pure, strategy.l1_sensitivity)), sums)
    if gaussian_law(level, 1) is not None:
        strategy = Strategy(cells, _factorisation_rows(cells.dimension, sums))
        gaussian = gaussian_law(level, strategy.squared_l2_sensitivity)
        if gaussian is not None:
            yield _with_mean_variance(strategy, gaussian, sums)


def _with_mean_variance(strategy: Strategy, single: NoiseLaw, sums: Sums) -> tuple[float, Strategy, IndependentLaw]:
    law = IndependentLaw(strategy.dimension, single)
    return law.mean("squared") * float(spreads(strategy, sums).mean()), strategy, law


@lru_cache(maxsize=8)
def _factorisation_rows(m: int, sums: Sums) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """The rows of the best factorisation of sums of m cells, rounded to integers.

    A cell's weight in its own sum is what the other rows leave of its column's norm, so rounding lengthens no column.
    """
    scale = np.asarray(_dual(m, sums), dtype=float)
    best = _root(sum_products(m, sums) * np.sqrt(np.outer(scale, scale))) / np.sqrt(np.outer(scale, scale))
    best /= np.sqrt(np.outer(np.diag(best), np.diag(best)))
    factor = np.linalg.cholesky(best).T  # upper: row i has cells i, i + 1, ...
    weights = np.rint(factor * SCALE).astype(int)
    squares = np.square(weights).sum(axis=0) - np.square(np.diag(weights))
    np.fill_diagonal(weights, [max(1, math.isqrt(max(1, SCALE**2 - square))) for square in squares.tolist()])
    return tuple((i, tuple(row[i:].tolist())) for i, row in enumerate(weights))


@lru_cache(maxsize=16)
def _dual(m: int, sums: Sums) -> Floats:
    """Dual weights on m cells of the best factorisation of their sums; for many cells interpolated, nearly optimal."""
    if m > MOST_ITERATED:
        fewer = _dual(MOST_ITERATED, sums)
        return np.interp((np.arange(m) + 0.5) / m, (np.arange(len(fewer)) + 0.5) / len(fewer), fewer)
    products = sum_products(m, sums)
    scale = np.ones(m)
    for _ in range(ROUNDS):
        root = _root(products * np.sqrt(np.outer(scale, scale)))
        previous, scale = scale, np.diag(root) / np.diag(root).sum() * m
        if np.abs(scale / previous - 1).max() < 1e-5:
            break
    return np.asarray(scale)


def _root(matrix: Floats) -> Floats:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)


def best_counts(cells: Lattice, counts: Lattice, level: Level, loss: str = "absolute", proved: bool = True) -> Solution:
    """The best for running counts of noise on cells, which may carry, noise on the counts, and a strategy.

    With fewer than eight counts the mean absolute error is bounded by a flow (`nested_solution`) at pure levels under
    add/remove; otherwise the variance is bounded. Strategies are tried for the losses "absolute" and "squared".
    `proved=False` omits the proof, for searches.

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> solution = best_counts(Lattice(60, "any", 1, 0, 999), Lattice(60, "one-way", 1, 0, 999), PureDP(1), "squared")
    >>> solution.certificate.method, round(solution.value, 2)       # noise of its own on each: 56.16, on blocks: 27.43
    ('geometric noise on cells, which carries', 19.94)
    """
    space, noise = cells_or_counts(cells, counts, level, loss)

    def loss_of_noise(by: str) -> float:
        return sum_losses(noise, (by,))[by] if space == cells else float(noise.mean(by))

    best_loss, pair = (
        loss_of_noise(loss),
        _strategy(cells, level, "running") if loss in ("absolute", "squared") else None,
    )
    better = None if pair is None else strategy_solution(*pair, level, loss, proved=False)
    summed = math.inf if better is None else count_losses(better)[loss]
    carried = best_carried(cells, level, loss, min(best_loss, summed))
    if carried is not None and any(carried.widths) and carried_losses(carried, loss) < best_loss:
        space, noise, best_loss = cells, carried, carried_losses(carried, loss)
    if pair and better and summed < best_loss and better.value <= loss_of_noise("squared"):
        return strategy_solution(*pair, level, loss) if proved else better
    if space == counts:
        return (best_vector if proved else sketch_vector)(counts, level, loss)
    few = proved and loss == "absolute" and cells.dimension < FEWEST
    nested = nested_solution(cells, NoisyVector(noise), level) if few else None
    return nested or strategy_solution(cells, NoisyVector(noise), level, loss, proved=proved)


def best_ranges(cells: Lattice, level: Level, proved: bool = True) -> Solution:
    """The better of noise on cells and a strategy, by the mean variance over all ranges of cells.

    `proved=False` omits the proof, in a search over levels.

    Examples
    --------
    >>> from utmost.privacy import GaussianDP
    >>> solution = best_ranges(Lattice(50, "any", 1, 0, 20_000), GaussianDP(1))
    >>> round(solution.value, 2), round(solution.certificate.bound, 2), bool(solution.verify())       # the cells: 18.78
    (4.85, 3.27, True)
    """
    law = best_vector_noise(cells, level, "squared", True)
    pairs = [(cells, NoisyVector(law)), *filter(None, [_strategy(cells, level, "ranges")])]
    solutions = [strategy_solution(*pair, level, "squared", "ranges", proved=False) for pair in pairs]
    best = min(range(len(pairs)), key=lambda i: solutions[i].value)
    return strategy_solution(*pairs[best], level, "squared", "ranges") if proved else solutions[best]


@lru_cache(maxsize=32)
def _errors(solution: Solution, weights: Errors) -> tuple[Floats, Floats]:
    """Mean absolute errors of weighted sums, and half-widths of their 95 % intervals."""
    law, rows = solution.mechanism.noise, weights.rows
    gaussian = law.single.gaussian
    if gaussian is not None:  # rounding moves a noise by half at most
        deviations = np.sqrt(float(gaussian.variance) * np.square(rows).sum(axis=1))
        return math.sqrt(2 / math.pi) * deviations, NORMAL * deviations + np.abs(rows).sum(axis=1) / 2
    ones = np.ones_like(rows, dtype=int)
    return mean_sizes_and_half_widths(law, rows, ones, 0.95)


@lru_cache(maxsize=8)
def range_half_widths(solution: Solution) -> Floats:
    """Half-widths of the 95 % intervals of all ranges; with noise on cells they depend on the length alone."""
    space, law = solution.problem.space, solution.mechanism.noise
    if isinstance(space, Lattice):
        start, end = np.triu_indices(space.dimension + 1, 1)
        return np.asarray(np.array(sum_half_widths(law, Fraction(95, 100)), dtype=float)[end - start - 1])
    if law.single.gaussian is not None:
        return _errors(solution, Errors(space, sums="ranges"))[1]
    rows = sum_weights(space, "ranges")
    return half_widths(law, rows, np.ones_like(rows, dtype=int), 0.95)


@lru_cache(maxsize=8)
def range_mean_sizes(solution: Solution) -> Floats:
    """Mean absolute errors of all ranges; with many ranges and geometric noise, each within 6 % and all within 0.1 %.

    The mean absolute value of a sum of noises is 0.7 to 0.8 of its standard deviation. That factor is computed for some
    ranges, evenly spaced in the order of standard deviations, and interpolated.
    """
    space, law = solution.problem.space, solution.mechanism.noise
    if isinstance(space, Lattice):
        start, end = np.triu_indices(space.dimension + 1, 1)
        return np.asarray(np.array(sum_mean_sizes(law))[end - start - 1])
    if law.single.gaussian is not None:
        return _errors(solution, Errors(space, sums="ranges"))[0]
    rows = sum_weights(space, "ranges")
    deviations = np.sqrt(law.mean("squared") * np.square(rows).sum(axis=1))
    order = np.argsort(deviations)
    some = order[np.unique(np.linspace(0, len(order) - 1, MEASURED).astype(int))]
    factors = mean_sizes(law, rows[some], np.ones_like(rows[some], dtype=int)) / deviations[some]
    return np.asarray(deviations * np.interp(deviations, deviations[some], factors))


@dataclass(frozen=True)
class Errors:
    """The linear map from noise to the errors of running counts less a share of the last (0: counts), or of ranges."""

    strategy: Strategy
    share: Fraction = Fraction(0)
    sums: Sums = "running"

    @property
    def rows(self) -> Floats:
        """For each count, or range, the weights of the noisy sums."""
        if self.sums == "ranges":
            return sum_weights(self.strategy, "ranges")
        weights = prefix_weights(self.strategy)
        return np.asarray(weights - float(self.share) * weights[-1])


def count_losses(solution: Solution, last: bool = False) -> dict[str, float]:
    """Expected "absolute" and "squared" losses of running counts: averaged over all, or the largest."""
    rows = Errors(solution.problem.space).rows
    sizes, _ = _errors(solution, Errors(solution.problem.space))
    squares = solution.mechanism.expected("squared") * np.square(rows).sum(axis=1)
    measure = np.max if last else np.mean
    return {"absolute": float(measure(sizes)), "squared": float(measure(squares))}


def count_errors(solution: Solution, share: Fraction = Fraction(0)) -> tuple[Floats, Floats]:
    """Mean absolute errors and 95 % half-widths of all running counts, less a share of the last one."""
    return _errors(solution, Errors(solution.problem.space, share))


def off_by_more(solution: Solution, error: float) -> float:
    """The probability that the error of a running count exceeds `error`, averaged over the counts."""
    law, rows = solution.mechanism.noise, Errors(solution.problem.space).rows
    if law.single.gaussian is not None:
        deviations = np.sqrt(law.mean("squared") * np.square(rows).sum(axis=1))
        return float(2 * ndtr(-error / deviations).mean())
    return float(np.mean(tail_probabilities(law, rows, np.ones_like(rows, dtype=int), error)))
