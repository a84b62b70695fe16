"""What the name of a candidate says about the right one, for every table: from the law alone, no prior.

**In rows.** With 95 % the named one is fewer than so many rows from being right.

**Between which candidates.** For each candidate k, leave out the candidates farthest from it while the chance that one
of those is named stays below 5 % at *every* tally where k is right. The others are the names under which k is not
ruled out; a named j says that the right one is among the k with j in their list. At every tally the right one is ruled
out with less than 5 %, so the interval holds it with 95 % at least.

How often a wrong answer is named at most decides how narrow that is. Where k is right, and one neighbour could make any
other candidate right, each of these is named with 1/(1 + e^epsilon) by *nearest* (with noisy max a little less, as they
compete). From epsilon = ln 19 = 2.94 on that is at most 5 %; below, nothing is ever ruled out, and the interval is all
candidates: half of the rows may lie at either end, and then the name of one end says nothing against the other.
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
"""Chances in floating point are off by less than this share of what is compared with."""


def rows_within(law: ChoiceLaw, confidence: float) -> float | None:
    """Whatever the table holds: with this chance the named one is fewer rows than this from being right.

    A candidate g units of score behind is named with probability at most b^g by each law of powers, so m - 1 others
    that are g or more behind with at most (m - 1) b^g. Tables do not look at how far others are behind: of few tallies
    each is tried, and of more nothing is known (None).
    """
    if not isinstance(law, DecayingChoice):
        return _rows_within_of_all(law, confidence)
    steps = math.log((law.contest.size - 1) / (1 - confidence)) / -math.log(law.decay)
    return max(math.ceil(steps), 1) * law.step_in_rows


@lru_cache(maxsize=64)
def _rows_within_of_all(law: ChoiceLaw, confidence: float) -> int | None:
    """The same from every tally's own law; None where there are too many."""
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
def sure_places(law: ChoiceLaw, confidence: float) -> tuple[tuple[int, int], ...]:
    """For every candidate of a quantile that may be named: from which place to which the right one is.

    Whatever the table holds, the right one lies there with this chance at least.
    """
    m = law.contest.size
    kept = [_kept(law, right, 1 - confidence) for right in range(m)]
    found = []
    for named in range(m):
        places = [right for right, (low, high) in enumerate(kept) if low <= named <= high]
        found.append((min(places), max(places)))
    return tuple(found)


def _kept(law: ChoiceLaw, right: int, spare: float) -> tuple[int, int]:
    """From which place to which names are expected where one candidate is right: all but the farthest, in value."""
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
    """How often a name before `low` or after `high` is given, at most, where one candidate in between is right."""
    if isinstance(law, DecayingChoice | LeadLines):
        return _wrong_at_most(law, low + law.contest.size - 1 - high)
    chances = _chances_where(law, right)
    if chances is None:
        return 1.0
    return float((chances[:, :low].sum(axis=1) + chances[:, high + 1 :].sum(axis=1)).max(initial=0.0))


@lru_cache(maxsize=2048)
def _wrong_at_most(law: DecayingChoice | LeadLines, others: int) -> float:
    """How often one of so many wrong candidates is named, at most, whichever they are and whatever the tally."""
    if isinstance(law, DecayingChoice):
        return law.wrong_at_most(others)
    wrong = np.sort(law.matrix[:, 1:], axis=1)
    return float(wrong[:, wrong.shape[1] - others :].sum(axis=1).max())


@lru_cache(maxsize=256)
def _chances_where(law: ChoiceLaw, right: int) -> Floats | None:
    """The chances of all names at every tally where one candidate is right; None where tallies are too many."""
    if law.contest.tallies.points > MOST_TALLIES:
        return None
    every = list_all(law.contest.tallies)
    return chances_of(law, every[law.contest.winners(every) == right])
