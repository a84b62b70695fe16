"""Quantiles among up to a million candidates: exponential mechanisms on ranks, or a noisy CDF.

Exponential mechanisms cost a share of the level for every quantile, a CDF costs the same for any number of them. An
error in rows means the same in units of the data whichever mechanism makes it, so the smaller expected error in rows
is taken.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from utmost.errors import UnsupportedLevel
from utmost.exact import write_rational
from utmost.exact.arrays import Floats
from utmost.mechanism.noise.independent import IndependentLaw
from utmost.mechanism.noise.law import NoiseLaw
from utmost.mechanism.noise.staircase import geometric_law
from utmost.mechanism.noise.tables import NoisyTables
from utmost.privacy import Level
from utmost.privacy.level import decay_above
from utmost.privacy.pure_part import pure_within
from utmost.solution import Problem, Solution, certificate_of
from utmost.space.integers import Moves, Tables, Tallies
from utmost.space.sensitivity import l1_sensitivity, squared_l2_sensitivity
from utmost.theory.selection.rank_errors import mean_rank_error
from utmost.theory.selection.ranks import RankChoices, Target, level_sizes, score_sensitivity, shift_for
from utmost.theory.vector.design.vectors import gaussian_law
from utmost.theory.vector.design.weighted_sums import mean_sizes_and_half_widths

CONFIDENCE = 0.95
POINT, ENDS = 2, 3
"""Eighths of a quantile's level for the value, and for each end of its interval."""
MOST_LEVELS, MOST_NODES = 8, 4 * 10**6


@lru_cache(maxsize=64)
def best_ranks(space: Tallies, shares: tuple[Fraction, ...], level: Level, trees: bool = True) -> Solution:
    """The mechanism with the smaller expected error in rows: exponential mechanisms on ranks, or a noisy CDF.

    Parameters
    ----------
    space : Tallies
        One cell for each candidate, and what one neighbour does.
    shares : tuple of Fraction
        The quantiles.
    level : Level
        The level of all quantiles together.
    trees : bool
        False excludes the CDF, whose draws take time in proportion to the candidates.

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> space = Tallies(1000, 10**6, "add-remove")
    >>> one = best_ranks(space, (Fraction(1, 2),), PureDP(1))
    >>> nine = best_ranks(space, tuple(Fraction(i, 10) for i in range(1, 10)), PureDP(1))
    >>> one.problem.question, nine.problem.question, bool(one.verify()), bool(nine.verify())
    ('ranks.choices', 'ranks.cdf', True, True)
    """
    solutions = [
        candidate
        for candidate in (_choices(space, shares, level), _cdf(space, shares, level) if trees else None)
        if candidate
    ]
    if not solutions:
        raise UnsupportedLevel(
            f"no quantile is named at {level}; give PureDP, ApproxDP, GaussianDP or ZCDP, or fewer candidates and keys."
        )
    return min(solutions, key=lambda solution: solution.value)


def _solution(problem: Problem, mechanism: RankChoices | NoisyTables) -> Solution:
    value = mean_rank_error(problem, mechanism)
    return Solution(problem, mechanism, value, certificate_of(problem, mechanism, "unproved"))


def _data(shares: tuple[Fraction, ...]) -> dict[str, object]:
    return {"shares": [write_rational(q) for q in shares], "loss": "rank"}


def _choices(space: Tallies, shares: tuple[Fraction, ...], level: Level) -> Solution | None:
    pure = pure_within(level)
    if pure is None or not 0 < pure.log_growth < math.inf:
        return None
    targets = []
    for q in shares:
        steps = 2 * score_sensitivity(q, space) * len(shares) * (POINT + 2 * ENDS)
        end = decay_above(pure, -(-steps // ENDS))
        shift = shift_for(space.cells, end, (1 - CONFIDENCE) / 2)
        targets += [Target(q, 0, decay_above(pure, -(-steps // POINT))), Target(q, shift, end), Target(q, -shift, end)]
    return _solution(Problem("ranks.choices", space, level, _data(shares)), RankChoices(space.cells, tuple(targets)))


def _cdf(space: Tallies, shares: tuple[Fraction, ...], level: Level) -> Solution | None:
    best = None
    for levels in range(1, MOST_LEVELS + 1):
        branching = max(2, math.ceil(space.cells ** (1 / levels) - 1e-9))
        sizes = level_sizes(space.cells, branching)
        if sum(sizes) > MOST_NODES or len(sizes) != levels:
            continue
        for mechanism in _noises(space, sizes, level):
            data = {**_data(shares), "branching": branching, "cells": space.cells}
            solution = _solution(Problem("ranks.cdf", tables_of(space, sizes), level, data), mechanism)
            best = solution if best is None or solution.value < best.value else best
    return best


def tables_of(space: Tallies, sizes: tuple[int, ...]) -> Tables:
    """The levels of the tree as tables of counts."""
    moves: Moves = "any" if space.neighbours == "add-remove" else "exchange"
    return Tables(sizes, moves, min(space.rows_each, max(space.rows, 1)), space.rows)


def _noises(space: Tallies, sizes: tuple[int, ...], level: Level) -> list[NoisyTables]:
    """Candidate laws of noise, the same on every node."""
    table = tables_of(space, sizes).lattices()[0]
    laws: list[NoiseLaw] = []
    pure, many = pure_within(level), len(sizes)
    if pure is not None and 0 < pure.log_growth < math.inf:
        laws.append(geometric_law(decay_above(pure, many * l1_sensitivity(table))))
    gaussian = gaussian_law(level, Fraction(many * squared_l2_sensitivity(table)))
    if gaussian is not None:
        laws.append(gaussian)
    return [NoisyTables(tuple(IndependentLaw(size, law) for size in sizes)) for law in laws]


@lru_cache(maxsize=64)
def rank_half_widths(law: IndependentLaw, share: Fraction, nodes: int) -> Floats:
    """Half-widths of the 95 % intervals of noisy G, by how many nodes lie at or below a candidate."""
    a, b = share.numerator, share.denominator
    many = np.arange(nodes + 1)
    weights = np.tile([float(b - a), float(a)], (nodes + 1, 1))
    return mean_sizes_and_half_widths(law, weights, np.column_stack([many, nodes - many]), CONFIDENCE)[1]
