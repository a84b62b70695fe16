"""Confidence sets for the true winner or quantile, valid for every table: from the law alone, without a prior.

**In rows.** With 95 % the named candidate is fewer than so many rows from being right.

**Candidates** (Neyman's construction). For each candidate k, drop the candidates farthest from it while the probability
that one of those is named stays below 5 % at *every* tally where k is right. The others are k's acceptance region; the
confidence set of a named j contains the k whose acceptance region contains j. At every tally the right one is excluded
with probability below 5 %, so the set covers it with 95 % at least.

Its size depends on the largest probability of a wrong answer. Where k is right, and one neighbour could make any other
candidate right, *nearest* names each of these with probability 1/(1 + e^epsilon) (noisy max with a little less, as they
compete). From epsilon = ln 19 = 2.94 on that is at most 5 %; below, nothing is ever excluded, and the interval is all
candidates: half of the rows may lie at either end, and then naming one end is no evidence against the other.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from utmost.exact.arrays import Floats
from utmost.theory.selection.choice_tables import LeadLines
from utmost.theory.selection.choices import ChoiceLaw, DecayingChoice
from utmost.theory.selection.problem import Ranks
from utmost.theory.selection.tally_averages import MOST_TALLIES, chances_of, list_all

ROUNDING = 1e-9
"""Relative error allowed for probabilities in floating point."""


def rows_within(law: ChoiceLaw, confidence: float) -> float | None:
    """A bound, valid for every table, on how many rows the named candidate is from being right, at this confidence.

    Every law of powers names a candidate g units of score behind with probability at most b^g, so m - 1 others that are
    at least g behind with at most (m - 1) b^g. Tables do not depend on how far others are behind: with few tallies all
    are enumerated, with more there is no bound (None).
    """
    if not isinstance(law, DecayingChoice):
        return _rows_within_of_all(law, confidence)
    steps = math.log((law.contest.size - 1) / (1 - confidence)) / -math.log(law.decay)
    return max(math.ceil(steps), 1) * law.step_in_rows


@lru_cache(maxsize=64)
def _rows_within_of_all(law: ChoiceLaw, confidence: float) -> int | None:
    """The bound from the law at every tally; None where there are too many."""
    contest = law.contest
    if contest.tallies.points > MOST_TALLIES:
        return None
    every = list_all(contest.tallies)
    chances, scores = chances_of(law, every), contest.scores(every)
    off = (scores.max(axis=1, keepdims=True) - scores) // contest.units  # whole rows behind, at least
    farthest = 0
    while ((chances * (off > farthest)).sum(axis=1) > 1 - confidence).any():
        farthest += 1
    return farthest + 1


@lru_cache(maxsize=64)
def confidence_intervals(law: ChoiceLaw, confidence: float) -> tuple[tuple[int, int], ...]:
    """For every candidate of a quantile, the confidence interval if it is named: the first and the last place.

    It covers the right place with at least this probability, whatever the table.
    """
    m = law.contest.size
    regions = [_acceptance_region(law, right, 1 - confidence) for right in range(m)]
    intervals = []
    for name in range(m):
        places = [right for right, (low, high) in enumerate(regions) if low <= name <= high]
        intervals.append((min(places), max(places)))
    return tuple(intervals)


def _acceptance_region(law: ChoiceLaw, right: int, spare: float) -> tuple[int, int]:
    """The first and last place of the acceptance region of one candidate: all but the farthest, by value."""
    assert isinstance(law.contest, Ranks)
    values = law.contest.values
    low, high = 0, law.contest.size - 1
    while low < high:
        below = values[right] - values[low] > values[high] - values[right]
        shorter = (low + 1, high) if below else (low, high - 1)
        if _chance_beyond(law, right, *shorter) > spare * (1 - ROUNDING):
            break
        low, high = shorter
    return low, high


def _chance_beyond(law: ChoiceLaw, right: int, low: int, high: int) -> float:
    """Upper bound on the probability that a name before `low` or after `high` is given where `right` is right."""
    if isinstance(law, DecayingChoice | LeadLines):
        return _largest_error(law, low + law.contest.size - 1 - high)
    chances = _chances_where(law, right)
    if chances is None:
        return 1.0
    return float((chances[:, :low].sum(axis=1) + chances[:, high + 1 :].sum(axis=1)).max(initial=0.0))


@lru_cache(maxsize=2048)
def _largest_error(law: DecayingChoice | LeadLines, number: int) -> float:
    """Upper bound on the probability that one of `number` wrong candidates is named, whichever and at every tally."""
    if isinstance(law, DecayingChoice):
        return law.wrong_at_most(number)
    wrong = np.sort(law.matrix[:, 1:], axis=1)
    return float(wrong[:, wrong.shape[1] - number :].sum(axis=1).max())


@lru_cache(maxsize=256)
def _chances_where(law: ChoiceLaw, right: int) -> Floats | None:
    """The probabilities of all names at every tally where one candidate is right; None if there are too many."""
    if law.contest.tallies.points > MOST_TALLIES:
        return None
    every = list_all(law.contest.tallies)
    return chances_of(law, every[law.contest.winners(every) == right])
