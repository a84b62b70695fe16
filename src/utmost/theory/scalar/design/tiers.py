"""Tiers, public groups with levels of their own (HET): the best count, and the best yes or no, over all of them.

A point has one integer for each group; one neighbour changes one of them, at the level of its group. So the space is a
grid with a level in each direction. Priors are uniform over that grid.

**A count** is the best of three: one sum of all groups at the level of the most protected one; a count of each group at
its own level, each with its optimal remap, added up; the same with small groups omitted, replaced by the middle of
their range. Only a small group that is protected much more than the others makes a difference: with 20 of 2000 people
at 0.1 and the others at 1 the expected error is 4.526 instead of 9.911, and with all others known it would be 4.403.
The best guess from several counts at once would gain little over the sum of best guesses: one part in ten thousand for
20 of 220 people, four in a thousand for 5 of 15. For 5 at 0.1 and 10 at 1 the optimum, by a linear program over all
mechanisms, is 1.607 where this has 1.672 and the bound is 1.431.

**Yes or no** is the linear program over all boundary values on a window of the grid (`binary.best_boundary`), outside
of which the answer is constant in each direction, or yes or no about one sum where the window would be too large. The
balanced mechanism is not tried: with levels this different it is far from optimal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from utmost.errors import SolverFailed, TooLarge, UtmostError
from utmost.exact.arrays import Floats
from utmost.privacy import ApproxDP, Level
from utmost.solution import Problem, Solution, certificate_of, proved_bound
from utmost.space.integers import Tiers
from utmost.space.line import require_line_loss
from utmost.theory.binary.design.boundary import best_boundary
from utmost.theory.scalar.design.line import best_on_line
from utmost.theory.scalar.design.yes_or_no import best_yes_or_no
from utmost.theory.scalar.tiers import (
    PER_TIER,
    SOME_TIERS,
    STRICTEST,
    TieredSums,
    TieredTable,
    error_probability,
    grid_levels,
    grid_sums,
    sum_prior,
    window_of,
)

MOST_WINDOW = 8_000
"""Most points of the linear program: ten seconds."""
NEGLIGIBLE_EPSILON = math.log(1e7)
"""Points farther than this from the border, in epsilon, have the same answer."""
MOST_LISTED = 10**7


def best_tiered_count(grid: Tiers, level: Level, loss: str = "absolute", unbiased: bool = False) -> Solution:
    """The best known count over groups with levels of their own.

    Parameters
    ----------
    grid : Tiers
        The range of the count of each group, and the share of the level that it is promised.
    level : Level
        The pure level of the least protected group.
    loss : "absolute", "squared", "zero-one" or "within k"
        The loss of the total.
    unbiased : bool
        Add up the noisy numbers themselves, and omit no group.

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> from utmost.space.line import Line
    >>> grid = Tiers((Line(0, 20, 1), Line(0, 1980, 1)), ("1/10", "1"))
    >>> best = best_tiered_count(grid, PureDP(1))
    >>> print(f"{best.value:.3f} >= {best.certificate.bound:.3f}", best.certificate.method)
    4.526 >= 4.403 a count for each tier
    """
    loss_name = require_line_loss(loss)
    counts = tiered_counts(grid, level, loss_name, unbiased)
    if not counts:
        raise TooLarge("these tiers are too large for a table of best guesses; ask at a larger level.")
    _, best = min(counts, key=lambda count: count[1].expected(loss_name))
    problem = Problem("number.tiers", grid, level, {"loss": loss_name, "unbiased": unbiased})
    value, bound = best.expected(loss_name), proved_bound(problem, {})
    certificate = certificate_of(problem, best, "bound", bound, abs(value - bound))
    return Solution(problem, best, value, certificate)


@lru_cache(maxsize=16)
def tiered_counts(grid: Tiers, level: Level, loss: str, unbiased: bool) -> list[tuple[str, TieredSums]]:
    """Candidate counts, by name; those that do not fit are skipped."""
    tiers, levels = range(len(grid.lines)), grid.levels(level)
    counts: list[tuple[str, TieredSums]] = []
    for name, parts in _partitions(grid, unbiased):
        left_out = [tier for tier in tiers if not any(tier in part for part in parts)]
        best_loss = min((mechanism.expected(loss) for _, mechanism in counts), default=math.inf)
        if any(_omission_loss(grid, tier, loss) >= best_loss for tier in left_out):
            continue
        try:
            laws = []
            for part in parts:
                strictest = min((levels[tier] for tier in part), key=lambda tier_level: tier_level.log_growth)
                prior = None if len(part) == 1 or unbiased else _sum_prior(grid, part)
                laws.append(best_on_line(grid.together(part), strictest, loss, prior, unbiased).mechanism)
            sums = TieredSums(grid, parts, tuple(laws))
            sums.expected(loss)
        except TooLarge:
            continue
        counts.append((name, sums))
    return counts


def _partitions(grid: Tiers, unbiased: bool) -> Iterator[tuple[str, tuple[tuple[int, ...], ...]]]:
    tiers = tuple(range(len(grid.lines)))
    yield STRICTEST, (tiers,)
    if len(tiers) > 1:
        yield PER_TIER, tuple((tier,) for tier in tiers)
    for omitted in range(1, 1 if unbiased else len(tiers)):
        for out in combinations(tiers, omitted):
            yield SOME_TIERS, tuple((tier,) for tier in tiers if tier not in out)


def _omission_loss(grid: Tiers, tier: int, loss: str) -> float:
    """Lower bound on the loss from omitting a group's count."""
    points = grid.lines[tier].points
    away = np.abs(np.arange(min(points, MOST_LISTED)) - (points - 1) // 2).astype(float)
    if loss in ("absolute", "squared"):
        return float((away if loss == "absolute" else away**2).mean())
    return 0.0


def _sum_prior(grid: Tiers, part: tuple[int, ...]) -> Floats:
    if grid.together(part).points > MOST_LISTED:
        raise TooLarge("the sums of these tiers are too many to list.")
    return sum_prior([grid.lines[tier] for tier in part])


def best_tiered_choice(grid: Tiers, border: int, level: Level) -> Solution:
    """The best known mechanism for "is the sum of all groups' integers at least `border`?".

    Parameters
    ----------
    grid : Tiers
        The range of the integer of each group, and the share of the level that it is promised.
    border : int
        The least sum for which the truth is yes.
    level : Level
        The pure level of the least protected group.

    Examples
    --------
    A majority of 4 people at 0.1 and 36 at 1: the balanced mechanism has error probability 0.0657.

    >>> from utmost.privacy import PureDP
    >>> from utmost.space.line import Line
    >>> grid = Tiers((Line(0, 4, 1), Line(0, 36, 1)), ("1/10", "1"))
    >>> best = best_tiered_choice(grid, 21, PureDP(1))
    >>> print(f"{best.value:.6f}", best.certificate.method, bool(best.verify()))
    0.040032 linear program on a window of 185 points True
    """
    return _best_choice(grid, border, level)


@lru_cache(maxsize=16)
def _best_choice(grid: Tiers, border: int, level: Level) -> Solution:
    problem = Problem("choice.tiers", grid, level, {"border": border, "loss": "zero-one"})
    candidates: list[tuple[str, Any, float]] = []
    for name, parts in _partitions(grid, False):
        if len(parts) == 1:
            candidates += _by_one_sum(grid, border, level, name, parts[0])
    table, evidence = _by_program(problem, border)
    if table is not None:
        value = error_probability(table, grid, border)
        candidates.append((table.name, table, value))
    if not candidates:
        raise TooLarge("these tiers are too large for a yes or no; ask at a larger level, or with fewer rows.")
    _, best, value = min(candidates, key=lambda candidate: candidate[2])
    bound = proved_bound(problem, evidence)
    certificate = certificate_of(problem, best, "bound", bound, abs(value - bound), evidence)
    return Solution(problem, best, value, certificate)


def choice_errors(grid: Tiers, border: int, level: Level) -> dict[str, float]:
    """Error probabilities of yes or no about one sum, by name: for comparison."""
    errors: dict[str, float] = {}
    for name, parts in _partitions(grid, False):
        if len(parts) == 1:
            for _, _, value in _by_one_sum(grid, border, level, name, parts[0]):
                errors[name] = min(value, errors.get(name, 1.0))
    return errors


def _by_one_sum(
    grid: Tiers, border: int, level: Level, name: str, part: tuple[int, ...]
) -> list[tuple[str, TieredSums, float]]:
    """Yes or no about the sum of some groups, assuming the middle of the range for the others."""
    line, levels = grid.together(part), grid.levels(level)
    rest = [grid.lines[tier] for tier in range(len(grid.lines)) if tier not in part]
    border_of_sum = border - sum((line_of_rest.first + line_of_rest.last) // 2 for line_of_rest in rest)
    if not line.first < border_of_sum <= line.last or line.points > MOST_LISTED or not line.reach:
        return []
    strictest = min((levels[tier] for tier in part), key=lambda tier_level: tier_level.log_growth)
    prior = None if len(part) == 1 else _sum_prior(grid, part)
    try:
        law = best_yes_or_no(line, border_of_sum, strictest, prior).mechanism
    except UtmostError:
        return []
    sums = TieredSums(grid, (part,), (law,))
    return [(name, sums, error_probability(sums, grid, border))]


def _by_program(problem: Problem, border: int) -> tuple[TieredTable | None, dict[str, Any]]:
    """The optimal boundary on a window, and dual prices for the bound there; None where the window is too large."""
    grid, level = problem.space, problem.privacy
    window = _window(grid, border, grid.levels(level))
    if window is None or window.points > MOST_WINDOW:
        return None, {}
    levels, truth = grid_levels(window, level), grid_sums(window) >= border
    empty = TieredTable(window, np.zeros((window.points, 2), dtype=np.int64), 1)
    try:
        solution = best_boundary(levels.space, truth.tolist(), levels, prior=empty.masses(grid))
        certified: Any = solution.certified
        even = solution if window == grid else best_boundary(levels.space, truth.tolist(), levels)
    except (SolverFailed, TooLarge, UtmostError):
        return None, {}
    prices = even.certificate.evidence
    positive = prices["duals"] > 0
    evidence = {name: prices[name][positive] for name in ("edges", "forward", "slopes", "duals")}
    starts, sizes = [line.first for line in window.lines], [line.points for line in window.lines]
    table = replace(empty, weights=certified.weights, bits=certified.bits)
    return table, {**evidence, "starts": starts, "sizes": sizes}


def _window(grid: Tiers, border: int, levels: tuple[ApproxDP, ...]) -> Tiers | None:
    """The part of the grid beyond which, in each direction, the answer is known whatever the other integers are."""
    ends = []
    for tier, line in enumerate(grid.lines):
        other_lines = [other_line for place, other_line in enumerate(grid.lines) if place != tier]
        margin = line.reach * (math.ceil(NEGLIGIBLE_EPSILON / levels[tier].log_growth) + 1)
        low = border - sum(other_line.last for other_line in other_lines) - margin
        high = border - sum(other_line.first for other_line in other_lines) + margin
        ends.append((line.clamp(low), line.clamp(high)))
    return window_of(grid, ends)
