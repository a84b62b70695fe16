"""A mean from two released numbers: a sum around the middle of the range, and a count.

What is best for the sum alone and for the count alone need not be best for the mean: the best guess under a uniform
prior moves counts next to N inwards, but N is where the count is if every unit has a value. So several noises are
tried for both, each with its best guess and just cut off at the ends of its line, and the pair whose *mean* has the
least expected loss is taken; plain geometric noise is among them. Nothing is proved about other mechanisms.

The expected loss is that of a table in which every unit has a value, every mean being as likely as any other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from utmost.design.noise.discrete import discrete_laplace, discrete_staircase
from utmost.privacy import ApproxDP
from utmost.release.alternatives import tails
from utmost.release.costs import cost
from utmost.release.mechanisms.choice import MOST_POINTS, Design, Proof, design_number, why_private
from utmost.release.mechanisms.noisy_line import NoisyLine
from utmost.release.mechanisms.steps import Steps
from utmost.space.integers import Line

LOSSES_OF_MEANS = ("absolute", "squared")
MEANS, SUM_BINS, COUNT_BINS, HARDLY = 12, 1000, 250, 1e-14
"""At how many means the loss is computed, and how finely."""
OPEN = (
    "of several noises for the sum and the count, best guesses or none, the pair with the least expected loss of the "
    "mean; whether another mechanism does better is open"
)
Law = Callable[[int], tuple[Any, Any]]


@lru_cache(maxsize=32)
def design_mean(
    lines: tuple[Line, Line], levels: tuple[ApproxDP, ApproxDP], loss: str, least: int, most: int
) -> tuple[Design, Design]:
    """The mechanisms for the sum and the count; a unit adds from `least` to `most` steps to the sum."""
    sums, counts = (_candidates(line, level, loss) for line, level in zip(lines, levels, strict=True))
    of_sum, of_count = min(
        ((s, c) for s in sums for c in counts), key=lambda pair: mean_losses(pair, least, most)[loss]
    )
    return of_sum, of_count


def mean_losses(pair: tuple[Design, Design], least: int, most: int, alternative: str | None = None) -> dict[str, float]:
    """The expected losses of a mean, in steps, with these designs or with a usual alternative on their lines.

    Sum and count are drawn independently, so these are double sums over their laws. Laws too wide to be listed are
    listed in bins.
    """
    of_sum, of_count = pair
    sum_law, count_law = (_law(design) if alternative is None else _cut_off(design, alternative) for design in pair)
    counts, count_chances = _in_bins(*count_law(of_count.line.points - 1), COUNT_BINS)
    found = dict.fromkeys(LOSSES_OF_MEANS, 0.0)
    for position, weight in _positions(of_sum.line.points):
        truth = (of_sum.line.first + position) / of_count.line.last
        sums, sum_chances = _in_bins(*sum_law(position), SUM_BINS)
        made = np.divide.outer(sums + of_sum.line.first, np.maximum(counts, 1))
        made = np.where(counts < 1, (least + most) / 2, np.clip(made, least, most))
        for loss in found:
            found[loss] += weight * float(sum_chances @ cost(loss, made - truth) @ count_chances)
    return found


def _positions(points: int) -> list[tuple[int, float]]:
    """Positions of the sum and their weights: all on a short line, where a program's optimum is uneven; else nodes."""
    if points <= MOST_POINTS:
        return [(position, 1 / points) for position in range(points)]
    nodes, weights = np.polynomial.legendre.leggauss(MEANS)
    return [
        (round((points - 1) * (1 + node) / 2), weight / 2)
        for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True)
    ]


def _candidates(line: Line, level: ApproxDP, loss: str) -> list[Design]:
    best = design_number(line, level, loss)
    costs = {"absolute": "l1", "squared": "l2"}
    cut = [
        NoisyLine(line, noise, loss, guessing=False)
        for noise in (discrete_staircase(level, line.reach, costs[loss]), discrete_laplace(level, line.reach))
    ]
    named = [(m, f"{m.noise_name} noise, cut off") for m in cut[: 1 if line.reach == 1 else 2]]
    found = [best, *(replace(best, name=name, mechanism=mechanism) for mechanism, name in named)]
    return [replace(d, prove=_unproved(d), expected={e: d.mechanism.expected(e) for e in best.expected}) for d in found]


def _unproved(design: Design) -> Callable[[], Proof]:
    return lambda: Proof(why_private(design.mechanism, design.level, design.line), "unproved", OPEN)


def _law(design: Design) -> Law:
    assert not isinstance(design.mechanism, Steps)
    return design.mechanism.law


def _cut_off(design: Design, name: str) -> Law:
    """The law of a usual alternative at a position: symmetric noise, cut off at the ends of the line."""
    tail, wide = tails(design.line.reach, design.level)[name]
    last = design.line.points - 1

    def law(position: int) -> tuple[Any, Any]:
        low, high = max(0, position - wide), min(last, position + wide)
        values = np.arange(low, high + 1)
        beyond = tail(np.arange(1.0, wide + 2))
        beyond = np.concatenate([[1 - beyond[0]], beyond])
        away = np.abs(values - position)
        ends = ((values == 0) & (position > 0)) | ((values == last) & (position < last))
        inside = np.where(away == 0, beyond[0] - beyond[1], beyond[away] - beyond[np.minimum(away + 1, wide + 1)])
        chances = np.where(ends, beyond[away], inside)
        if position in (0, last):
            chances[away == 0] += beyond[1]
        return values, chances

    return law


def _in_bins(values: Any, chances: Any, most: int) -> tuple[Any, Any]:
    """A law in at most so many bins of equal width, each at its mean, without what hardly ever happens."""
    near = np.flatnonzero(chances > chances.max() * HARDLY)
    values, chances = values[near[0] : near[-1] + 1], chances[near[0] : near[-1] + 1]
    order = np.argsort(values, kind="stable")  # guesses need not follow the outputs
    values, chances = values[order].astype(float), chances[order] / chances.sum()
    if len(values) > most:
        starts = np.unique(np.linspace(0, len(values), most + 1).astype(int))[:-1]
        sums = np.add.reduceat(chances * values, starts)
        chances = np.add.reduceat(chances, starts)
        values, chances = sums[chances > 0] / chances[chances > 0], chances[chances > 0]
    return values, chances
