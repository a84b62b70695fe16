"""Counts that lie inside each other, and ranges, from noise on weighted sums of the cells between them.

Noise on m cells makes the last of m running counts err by the noise of all; noise on the counts themselves must hide a
row that is in all of them. In between: a tree, whose nodes are blocks of cells with whole weights (noise on w times a
sum is w times as small), and, where noise is Gaussian, the best factorisation: of all strategies B it has the least
total variance, since a row moves B x by a column of B and Gaussian noise hides columns by their Euclidean length.
Counts are least squares estimates, unbiased whatever the cells hold.

The factorisation (Li, Miklau, Hay, McGregor, Rastogi 2010; Edmonds, Nikolov, Ullman 2020): minimise
tr(S X^-1) over X with diagonal at most 1, S = W'W. With T = (L^(1/2) S L^(1/2))^(1/2), L diagonal, the optimum has
X = L^(-1/2) T L^(-1/2), and L is the fixed point of L <- diag T. B is k times the Cholesky factor of X, rounded. L is
also the dual: with it the verifier proves what no private mechanism goes below (`checking.workload`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from utmost.design.noise.sums import best_sums, sum_half_widths, sum_losses
from utmost.design.noise.vectors import best_vector_noise, gaussian_law, require_level
from utmost.design.noise.weighted import beyond, half_widths, mean_sizes
from utmost.errors import InvalidInput
from utmost.exact.arrays import Floats
from utmost.mechanism.decay import decay_above
from utmost.mechanism.gaussian import GaussianLaw
from utmost.mechanism.lattice import GeometricLaw, IndependentLaw, NoisyVector
from utmost.mechanism.strategies import Sums, prefix_weights, spreads, wanted_products, wanted_weights
from utmost.privacy import Level
from utmost.privacy.pure_part import pure_within
from utmost.solution import Certificate, Problem, Solution, proved_bound
from utmost.space.integers import Lattice, Strategy

FEWEST, MOST_TREE, MOST_FACTORED = 8, 128, 256
"""From how many cells on strategies are tried, and up to how many: trees, factorisations."""
SCALE = 250
"""The largest weight of a factorisation, about: rounding to whole weights costs less than 1 % of the variance."""
ROUNDS = 30
NORMAL = float(ndtri(0.975))
DUAL = (
    "no private mechanism has a smaller mean variance: the dual of the best factorisation, by averaging over shifts, "
    "and the least noise that hides one"
)


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
    ('rounded Gaussian noise on 100 weighted sums of cells, a factorisation', 5.03, True)
    """
    require_level(level)
    if cells.dimension < FEWEST or cells.moves not in ("any", "exchange") or cells.reach == 0:
        return None
    found = [each for each in _tried(cells, level, wanted) if each is not None]
    if not found:
        return None
    _, strategy, law = min(found, key=lambda each: each[0])
    return stated_strategy(strategy, NoisyVector(law), level, loss, wanted)


def stated_strategy(
    space: Strategy | Lattice, mechanism: NoisyVector, level: Level, loss: str, wanted: Sums = "running"
) -> Solution:
    """Noise on weighted sums of cells, or on the cells themselves, as a solution with its dual."""
    problem = Problem("number.strategy", space, level, {"loss": loss, "wanted": wanted})
    value = float(mechanism.expected("squared") * spreads(space, wanted).mean())
    many = (space.cells if isinstance(space, Strategy) else space).dimension
    evidence = {"weights": _dual(many, wanted)} if many <= MOST_FACTORED else {}
    bound = min(proved_bound(problem, evidence), value)
    of = f"{space.dimension} weighted sums of cells, {_form(space)}" if isinstance(space, Strategy) else "cells"
    name = f"{mechanism.noise.single.kind} noise on {of}"
    quantity = f"mean variance of a {'count' if wanted == 'running' else 'range'}"
    certificate = Certificate("bound", DUAL, quantity, name, bound, value - bound, evidence)
    return Solution(problem, mechanism, value, certificate)


def _form(strategy: Strategy) -> str:
    """What a strategy is: a tree has one weight on all cells of a block."""
    return "a tree" if all(len(set(weights)) == 1 for _, weights in strategy.rows) else "a factorisation"


def _tried(cells: Lattice, level: Level, wanted: Sums) -> Iterator[tuple[float, Strategy, IndependentLaw] | None]:
    """Strategies with their mean variance and their noise."""
    m = cells.dimension
    pure = pure_within(level)
    if pure is not None and m <= MOST_TREE:
        for rows in _trees(m):
            strategy = Strategy(cells, rows)
            yield _measured(strategy, GeometricLaw(decay_above(pure, strategy.farthest)), wanted)
    if m <= MOST_FACTORED and gaussian_law(level, 1) is not None:
        strategy = Strategy(cells, _factored(m, wanted))
        yield _measured(strategy, gaussian_law(level, strategy.square), wanted)


def _measured(strategy: Strategy, single: Any, wanted: Sums) -> tuple[float, Strategy, IndependentLaw] | None:
    law = IndependentLaw(strategy.dimension, single)
    try:
        return law.mean("squared") * float(spreads(strategy, wanted).mean()), strategy, law
    except InvalidInput:
        return None


def _trees(m: int) -> Iterator[tuple[tuple[int, tuple[int, ...]], ...]]:
    """Cells and blocks of them, with some weights; where cells are many, blocks of blocks, too."""
    for size in sorted({max(2, round(m**power)) for power in (0.35, 0.5, 0.65)}):
        for leaf, block in ((2, 1), (1, 1), (3, 4), (2, 3), (1, 2)):
            yield (*_level(m, 1, leaf), *_level(m, size, block))
    small, large = max(2, round(m ** (1 / 3))), max(4, round(m ** (2 / 3)))
    if m >= 27:
        for weights in ((2, 2, 1), (1, 1, 1), (3, 4, 4), (2, 3, 3), (2, 3, 4), (3, 4, 6)):
            sizes = zip((1, small, small * max(2, round(large / small))), weights, strict=True)
            yield tuple(row for size, weight in sizes for row in _level(m, size, weight))


def _level(m: int, size: int, weight: int) -> list[tuple[int, tuple[int, ...]]]:
    return [(first, (weight,) * (min(first + size, m) - first)) for first in range(0, m, size)]


@lru_cache(maxsize=8)
def _factored(m: int, wanted: Sums) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """The rows of the best factorisation of sums of m cells, rounded to whole weights."""
    scale = np.asarray(_dual(m, wanted), dtype=float)
    best = _root(wanted_products(m, wanted) * np.sqrt(np.outer(scale, scale))) / np.sqrt(np.outer(scale, scale))
    best /= np.sqrt(np.outer(np.diag(best), np.diag(best)))
    factor = np.linalg.cholesky(best).T  # upper: row i has cells i, i + 1, ...
    whole = np.rint(factor * SCALE).astype(int)
    return tuple((i, tuple(row[i:].tolist())) for i, row in enumerate(whole))


@lru_cache(maxsize=16)
def _dual(m: int, wanted: Sums) -> Floats:
    """The weights on m cells that prove the best factorisation of their sums."""
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


def best_counts(cells: Lattice, counts: Lattice, level: Level, loss: str = "absolute") -> Solution:
    """Of noise on cells, on the counts themselves and on a strategy, what errs least: see `sums.best_sums`.

    Strategies are tried for the losses "absolute" and "squared".

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> found = best_counts(Lattice(60, "any", 1, 0, 999), Lattice(60, "one-way", 1, 0, 999), PureDP(1), "squared")
    >>> found.certificate.method, round(found.value, 2)                             # the cells added up: 56.16
    ('geometric noise on 65 weighted sums of cells, a tree', 32.21)
    """
    usual = best_sums(cells, counts, level, loss)
    noise, added = usual.mechanism.noise, usual.problem.space == cells
    if loss in ("absolute", "squared"):
        better = best_strategy(cells, level, loss)
        squared = (sum_losses(noise, ("squared",)) if added else {"squared": noise.mean("squared")})["squared"]
        if better is not None and better.value <= squared:
            least = sum_losses(noise, (loss,))[loss] if added else usual.value
            if count_losses(better)[loss] < least:
                return better
    return stated_strategy(cells, usual.mechanism, level, loss) if added else usual


def best_ranges(cells: Lattice, level: Level) -> Solution:
    """Of noise on cells and on a strategy, what has the least mean variance over all ranges of cells.

    Examples
    --------
    >>> from utmost.privacy import GaussianDP
    >>> found = best_ranges(Lattice(50, "any", 1, 0, 20_000), GaussianDP(1))
    >>> round(found.value, 2), round(found.certificate.bound, 2), bool(found.verify())       # the cells: 18.78
    (4.86, 3.27, True)
    """
    law = best_vector_noise(cells, level, "squared", True)
    plain = stated_strategy(cells, NoisyVector(law), level, "squared", "ranges")
    better = best_strategy(cells, level, "squared", "ranges")
    return plain if better is None or plain.value <= better.value else better


@lru_cache(maxsize=32)
def _errors(solution: Solution, weights: Errors) -> tuple[Floats, Floats]:
    """The mean size of the errors of weighted sums, and within which ±h they lie with 95 %."""
    law, rows = solution.mechanism.noise, weights.rows
    if isinstance(law.single, GaussianLaw):  # rounding moves a noise by half at most
        deviations = np.sqrt(float(law.single.variance) * np.square(rows).sum(axis=1))
        return math.sqrt(2 / math.pi) * deviations, NORMAL * deviations + np.abs(rows).sum(axis=1) / 2
    ones = np.ones_like(rows, dtype=int)
    return mean_sizes(law, rows, ones), half_widths(law, rows, ones, 0.95)


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
