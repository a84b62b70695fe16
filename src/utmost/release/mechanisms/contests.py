"""What a question that names a candidate says about tallies, and averages over tallies under a prior.

All tallies of at most N rows are alike under the uniform prior. Where they are few, all are listed. Otherwise a tally
is drawn with a fixed public seed, the two cells that decide are found, and all ways to share these two cells' rows that
leave the same two deciding are taken together, exactly or in even steps: so close races, which are rare and cost
nearly everything, are not left to chance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from utmost.privacy import ApproxDP, Level

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
MOST_TALLIES, LINES, PLACES, FAR, SEED = 60_000, 600, 400, 30.0, 2026
"""How many tallies are enumerated; how many lines are drawn otherwise, of how many tallies, up to which decay."""


class Contest(Protocol):
    """What a question says about tallies; arrays hold a tally in each row."""

    @property
    def names(self) -> tuple[Any, ...]:
        """The candidates."""

    @property
    def most(self) -> int:
        """How many rows a tally has at most."""

    @property
    def score_reach(self) -> int:
        """Per unit of score, e^(-epsilon/score_reach) keeps epsilon."""

    @property
    def lead_reach(self) -> int:
        """How far one neighbour moves the lead."""

    @property
    def most_lead(self) -> int:
        """No lead is larger."""

    @property
    def row_reach(self) -> float:
        """After how many rows more a candidate that is behind is e^-epsilon times as likely."""

    @property
    def losses(self) -> tuple[str, ...]:
        """The losses that are shown."""

    def __hash__(self) -> int: ...

    def scores(self, tallies: Integers) -> Integers:
        """The score of every candidate."""

    def winners(self, tallies: Integers) -> Integers:
        """The position of the right answer."""

    def leads(self, tallies: Integers) -> Integers:
        """At least 1: how far it is to another winner; one neighbour moves it by at most `lead_reach`."""

    def loss(self, name: str, tallies: Integers) -> Floats:
        """What it costs to name each candidate."""

    def line(self, tally: Integers) -> tuple[int, int, int, int]:
        """The two cells that decide, and from which to which number of rows in the first they do."""

    def worst_tallies(self) -> Integers:
        """Tallies at which answers are hardest."""

    def words(self) -> str:
        """Where the statistic lies."""


@dataclass(frozen=True, eq=False)
class Tallies:
    """Tallies with weights; those left out cost nothing. `lines` says on which of the drawn lines each is.

    `far` has the mass of the tallies left out, by line and by who wins there: as good as certainly named.
    """

    tallies: Integers
    weights: Floats
    lines: Integers | None
    words: str
    far: Floats | None = None


def prior_tallies(contest: Contest, level: Level, prior: Mapping[Any, float] | None = None) -> Tallies:
    """All tallies under the prior, or lines of tallies drawn from it with a public seed."""
    m, most = len(contest.names), contest.most
    if prior is not None:
        listed = np.array([list(t) for t in prior], dtype=np.int64)
        return Tallies(listed, np.array(list(prior.values()), dtype=float), None, "exact, under the listed prior")
    if math.comb(most + m, m) <= MOST_TALLIES:
        bars = np.array(list(combinations(range(most + m), m)), dtype=np.int64)
        listed = _between_bars(bars)
        return Tallies(listed, np.full(len(listed), 1 / len(listed)), None, "exact, over all tallies")
    near = math.ceil(_steps_told_apart(level, contest.most_lead) * contest.row_reach)
    rows, weights, lines, far = [], [], [], np.zeros((LINES, m))
    for i, tally in enumerate(_between_bars(_draw_bars(most + m, m))):
        first, second, low, high = contest.line(tally)
        both = int(tally[first] + tally[second])
        middle, winners = _turning_point(contest, tally, first, second, low, high)
        a, b = max(low, middle - near), min(high, middle + near)
        step = max(1, (b - a + 1) // PLACES)
        places = np.arange(a + (b - a) % step // 2, b + 1, step)
        here = np.repeat(tally[None, :], len(places), axis=0)
        here[:, first], here[:, second] = places, both - places
        rows.append(here)
        weights.append(np.full(len(places), (b - a + 1) / len(places) / (high - low + 1) / LINES))
        lines.append(np.full(len(places), i))
        for winner, left_out in zip(winners, (a - low, high - b), strict=True):
            far[i, winner] += left_out / (high - low + 1) / LINES
    words = f"estimated on {LINES} lines of tallies drawn from the prior with a public seed"
    return Tallies(np.concatenate(rows), np.concatenate(weights), np.concatenate(lines), words, far)


def _steps_told_apart(level: Level, most: int) -> float:
    """After how many steps the chance of a wrong answer is next to nothing."""
    if isinstance(level, ApproxDP) and level.delta == 0:
        return FAR / min(level.log_growth, FAR)
    steps = 1
    while steps < most and level.lower_after(steps, 0.5) > math.exp(-FAR):
        steps *= 2
    return steps


def _turning_point(
    contest: Contest, tally: Integers, first: int, second: int, low: int, high: int
) -> tuple[int, tuple[int, int]]:
    """Where on a line the winner changes (the last number of rows in the first cell with the winner there at `low`).

    Also who wins at both ends.
    """
    both = int(tally[first] + tally[second])

    def winner(rows: int) -> int:
        here = tally.copy()
        here[first], here[second] = rows, both - rows
        return int(contest.winners(here[None, :])[0])

    ends = winner(low), winner(high)
    if ends[0] == ends[1]:
        leads = []
        for rows in (low, high):
            here = tally.copy()
            here[first], here[second] = rows, both - rows
            leads.append(int(contest.leads(here[None, :])[0]))
        return (low if leads[0] <= leads[1] else high), ends
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if winner(middle) == ends[0] else (low, middle)
    return low, ends


def _draw_bars(places: int, m: int) -> Integers:
    """For each line, m different places in order, all choices equally likely."""
    rng = np.random.default_rng(SEED)
    found = np.empty((LINES, m), dtype=np.int64)
    for i in range(LINES):
        while True:
            drawn = rng.integers(0, places, m) if places > 8 * m * m else rng.permutation(places)[:m]
            if len(set(drawn.tolist())) == m:
                break
        found[i] = np.sort(drawn)
    return found


def _between_bars(bars: Integers) -> Integers:
    """The tally that m bars cut off: what lies before each; what lies behind the last is nobody's."""
    return np.asarray(np.diff(bars, axis=1, prepend=-1) - 1)
