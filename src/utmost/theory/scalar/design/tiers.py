"""Public groups of people with levels of their own: the best count, and the best yes or no, over all of them (HET).

A point has one integer for each group; one neighbour moves one of them, at the level of its group. So the space is a
grid with a level in each direction. Priors are uniform over that grid.

**A count** is the best of three: one sum of all groups at the level of the most protected one; a count of each group at
its own level, each with its best remap, added up; the same with small groups left out, whose middles stand for them.
Only a small group that is protected much more than the others makes a difference: 20 of 2000 people at 0.1 and the
others at 1 are counted with an error of 4.526 instead of 9.911, and with all others known it would be 4.403. The best
guess from several counts at once would gain little over the sum of best guesses: one part in ten thousand for 20 of 220
people, four in a thousand for 5 of 15. For 5 at 0.1 and 10 at 1 the optimum, by a linear program over all mechanisms,
is 1.607 where this loses 1.672 and the bound is 1.431.

**Yes or no** is the linear program over all boundary values on a window of the grid (`binary.best_boundary`), outside
of which nothing is told apart, or yes or no about one sum where the window would be too large. The balanced mechanism
is not tried: with levels this different it is far from the best.
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
from utmost.solution.sentences import EACH, LEFT_OUT, WEAKEST, tiers_method
from utmost.space.integers import Tiers
from utmost.space.line import require_line_loss
from utmost.theory.binary.design.boundary import best_boundary
from utmost.theory.scalar.design.line import best_on_line
from utmost.theory.scalar.design.yes_or_no import best_yes_or_no
from utmost.theory.scalar.tiers import TieredSums, TieredTable, grid_levels, grid_sums, sum_prior, window_of, wrongly

MOST_WINDOW = 8_000
"""How many points the linear program may have: ten seconds."""
UNTOLD = math.log(1e7)
"""Points this much of epsilon from the border are answered alike."""
MOST_LISTED = 10**7


def best_tiered_count(grid: Tiers, level: Level, loss: str = "absolute", unbiased: bool = False) -> Solution:
    """The best count known over groups with levels of their own.

    Parameters
    ----------
    grid : where the count of each group lies, and which share of the level it is promised
    level : what the least protected are promised; pure
    loss : "absolute", "squared", "zero-one" or "within k"
    unbiased : the noisy numbers themselves, which are added up; nothing is left out then

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> from utmost.space.line import Line
    >>> grid = Tiers((Line(0, 20, 1), Line(0, 1980, 1)), ("1/10", "1"))
    >>> best = best_tiered_count(grid, PureDP(1))
    >>> print(f"{best.value:.3f} >= {best.certificate.bound:.3f}", best.certificate.method)
    4.526 >= 4.403 a count for each tier
    """
    asked = require_line_loss(loss)
    found = tiered_counts(grid, level, asked, unbiased)
    if not found:
        raise TooLarge("these tiers are too large for a table of best guesses; ask at a larger level.")
    _, best = min(found, key=lambda each: each[1].expected(asked))
    problem = Problem("number.tiers", grid, level, {"loss": asked, "unbiased": unbiased})
    value, bound = best.expected(asked), proved_bound(problem, {})
    certificate = certificate_of(problem, best, "bound", bound, abs(value - bound))
    return Solution(problem, best, value, certificate)


@lru_cache(maxsize=16)
def tiered_counts(grid: Tiers, level: Level, loss: str, unbiased: bool) -> list[tuple[str, TieredSums]]:
    """Every way to count that is worth a look, with its name; ways that do not fit are left out."""
    tiers, levels = range(len(grid.lines)), grid.levels(level)
    found: list[tuple[str, TieredSums]] = []
    for name, parts in _partitions(grid, unbiased):
        left_out = [tier for tier in tiers if not any(tier in part for part in parts)]
        least = min((each.expected(loss) for _, each in found), default=math.inf)
        if any(_unseen(grid, tier, loss) >= least for tier in left_out):
            continue
        try:
            laws = []
            for part in parts:
                strictest = min((levels[tier] for tier in part), key=lambda one: one.log_growth)
                prior = None if len(part) == 1 or unbiased else _sum_prior(grid, part)
                laws.append(best_on_line(grid.together(part), strictest, loss, prior, unbiased).mechanism)
            made = TieredSums(grid, parts, tuple(laws))
            made.expected(loss)
        except TooLarge:
            continue
        found.append((name, made))
    return found


def _partitions(grid: Tiers, unbiased: bool) -> Iterator[tuple[str, tuple[tuple[int, ...], ...]]]:
    tiers = tuple(range(len(grid.lines)))
    yield WEAKEST, (tiers,)
    if len(tiers) > 1:
        yield EACH, tuple((tier,) for tier in tiers)
    for left in range(1, 1 if unbiased else len(tiers)):
        for out in combinations(tiers, left):
            yield LEFT_OUT, tuple((tier,) for tier in tiers if tier not in out)


def _unseen(grid: Tiers, tier: int, loss: str) -> float:
    """What a group costs at least whose count nobody looks at."""
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
    """The best mechanism known for "is the sum of all groups' integers at least `border`?".

    Parameters
    ----------
    grid : where the integer of each group lies, and which share of the level it is promised
    border : the least sum of which the truth is yes
    level : what the least protected are promised; pure

    Examples
    --------
    A majority of 4 people at 0.1 and 36 at 1: the balanced mechanism errs with 0.0657.

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
    found: list[tuple[str, Any, float]] = []
    for name, parts in _partitions(grid, False):
        if len(parts) == 1:
            found += _by_one_sum(grid, border, level, name, parts[0])
    table, evidence = _by_program(problem, border)
    if table is not None:
        value = wrongly(table, grid, border)
        found.append((tiers_method(grid, table), table, value))
    if not found:
        raise TooLarge("these tiers are too large for a yes or no; ask at a larger level, or with fewer rows.")
    _, best, value = min(found, key=lambda each: each[2])
    bound = proved_bound(problem, evidence)
    certificate = certificate_of(problem, best, "bound", bound, abs(value - bound), evidence)
    return Solution(problem, best, value, certificate)


def choice_errors(grid: Tiers, border: int, level: Level) -> dict[str, float]:
    """What yes or no about one sum errs with, by name: for comparison."""
    found: dict[str, float] = {}
    for name, parts in _partitions(grid, False):
        if len(parts) == 1:
            for _, _, value in _by_one_sum(grid, border, level, name, parts[0]):
                found[name] = min(value, found.get(name, 1.0))
    return found


def _by_one_sum(
    grid: Tiers, border: int, level: Level, name: str, part: tuple[int, ...]
) -> list[tuple[str, TieredSums, float]]:
    """Yes or no about the sum of some groups, the middles of the others taken for granted."""
    line, levels = grid.together(part), grid.levels(level)
    rest = [grid.lines[tier] for tier in range(len(grid.lines)) if tier not in part]
    needed = border - sum((one.first + one.last) // 2 for one in rest)
    if not line.first < needed <= line.last or line.points > MOST_LISTED or not line.reach:
        return []
    strictest = min((levels[tier] for tier in part), key=lambda one: one.log_growth)
    prior = None if len(part) == 1 else _sum_prior(grid, part)
    try:
        law = best_yes_or_no(line, needed, strictest, prior).mechanism
    except UtmostError:
        return []
    made = TieredSums(grid, (part,), (law,))
    return [(name, made, wrongly(made, grid, border))]


def _by_program(problem: Problem, border: int) -> tuple[TieredTable | None, dict[str, Any]]:
    """The best boundary on a window, and dual prices that bound every mechanism there; None where it is too large."""
    grid, level = problem.space, problem.privacy
    window = _window(grid, border, grid.levels(level))
    if window is None or window.points > MOST_WINDOW:
        return None, {}
    levels, truth = grid_levels(window, level), grid_sums(window) >= border
    empty = TieredTable(window, np.zeros((window.points, 2), dtype=np.int64), 1)
    try:
        found = best_boundary(levels.space, truth.tolist(), levels, prior=empty.masses(grid))
        certified: Any = found.certified
        even = found if window == grid else best_boundary(levels.space, truth.tolist(), levels)
    except (SolverFailed, TooLarge, UtmostError):
        return None, {}
    prices = even.certificate.evidence
    used = prices["duals"] > 0
    evidence = {name: prices[name][used] for name in ("edges", "forward", "slopes", "duals")}
    starts, sizes = ([getattr(line, name) for line in window.lines] for name in ("first", "points"))
    table = replace(empty, weights=certified.weights, bits=certified.bits)
    return table, {**evidence, "starts": starts, "sizes": sizes}


def _window(grid: Tiers, border: int, levels: tuple[ApproxDP, ...]) -> Tiers | None:
    """The part of the grid beyond which, in each direction, the answer is known whatever the others are."""
    ends = []
    for tier, line in enumerate(grid.lines):
        others = [one for place, one in enumerate(grid.lines) if place != tier]
        far = line.reach * (math.ceil(UNTOLD / levels[tier].log_growth) + 1)
        low = border - sum(one.last for one in others) - far
        high = border - sum(one.first for one in others) + far
        ends.append((line.clamp(low), line.clamp(high)))
    return window_of(grid, ends)
