"""What a question that names a candidate says about tallies, and averages over tallies under a prior.

All tallies of at most N rows are alike under the uniform prior. Where they are few, all are listed; where tallies that
are alike can be listed with how many they are, so are these. Otherwise lines of tallies are drawn with a fixed public
seed. Every tally is on one line, which leads away from a close race; all lines are equally likely to be drawn, and all
of a line that costs anything is taken, exactly or in even steps. So close races, which are rare and cost nearly
everything, are not left to chance: every line has one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from utmost.privacy import ApproxDP, Level
from utmost.release.mechanisms.pure_within import pure_within

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
MOST_TALLIES, MOST_KINDS, SEED = 60_000, 400_000, 2026
"""How many tallies are enumerated, or kinds of them."""
FEWEST_LINES, MOST_LINES, LINES_CELLS, PLACES = 600, 2000, 8000, 400
"""How many lines are drawn otherwise, by their cells (the same at every level), each of at most how many tallies."""
FAR_EXACT, FAR_DRAWN = 36.0, 18.0
"""After which decay tallies are left out: e^-36 is less than rounding, e^-18 less than any standard error."""


@dataclass(frozen=True)
class TallyLine:
    """Tallies numbered from `low` to `high`; the race is closest at `middle` and less close on either side."""

    low: int
    high: int
    middle: int
    tallies: Callable[[Integers], Integers]


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

    def lines(self, parts: Integers, turn: int) -> Iterator[TallyLine]:
        """The lines of one draw: of m parts that add up to `most`, all ways equally likely, in turn 0 to m - 1.

        Over all parts and turns, each tally is met as often as there are turns.
        """

    def kinds(self, near: int) -> tuple[Integers, Floats, Floats] | None:
        """If tallies come in few kinds: one tally of each, how many are alike, and how many are left out by winner.

        What is more than `near` rows from another winner may be left out.
        """

    def hard_tallies(self, far: int) -> Integers:
        """Tallies that may be the hardest to answer, candidates being up to `far` rows behind."""

    def words(self) -> str:
        """Where the statistic lies."""


@dataclass(frozen=True, eq=False)
class Tallies:
    """Tallies with weights; those left out cost nothing. `lines` says in which of the draws each is.

    `far` has the mass of the tallies left out, by draw and by who wins there: as good as certainly named. `complete`
    says that there is no tally, but for those left out, that none of these is like.
    """

    tallies: Integers
    weights: Floats
    lines: Integers | None
    words: str
    far: Floats
    complete: bool = False


def prior_tallies(contest: Contest, level: Level, prior: Mapping[Any, float] | None = None) -> Tallies:
    """All tallies under the prior, or lines of tallies drawn from it with a public seed."""
    m = len(contest.names)
    none = np.zeros((1, m))
    if prior is not None:
        listed = np.array([list(t) for t in prior], dtype=np.int64)
        return Tallies(listed, np.array(list(prior.values()), dtype=float), None, "exact, under the listed prior", none)
    listed_all = all_tallies(contest)
    if listed_all is not None:
        weights = np.full(len(listed_all), 1 / len(listed_all))
        return Tallies(listed_all, weights, None, "exact, over all tallies", none, complete=True)
    exact, drawn = (
        math.ceil(_steps_told_apart(level, contest.most_lead, far) * contest.row_reach)
        for far in (FAR_EXACT, FAR_DRAWN)
    )
    kinds = contest.kinds(exact)
    if kinds is not None:
        tallies, alike, far = kinds
        total = alike.sum() + far.sum()
        return Tallies(tallies, alike / total, None, "exact, over all tallies", far[None, :] / total, complete=True)
    return _drawn(contest, drawn)


def all_tallies(contest: Contest) -> Integers | None:
    """Every tally, where they are few."""
    m, most = len(contest.names), contest.most
    if math.comb(most + m, m) > MOST_TALLIES:
        return None
    return _between_bars(np.array(list(combinations(range(most + m), m)), dtype=np.int64))


def _drawn(contest: Contest, near: int) -> Tallies:
    """Lines of tallies, drawn uniformly.

    There are C(N+m, m) tallies, and C(N+m-1, m-1) ways to draw parts: an average over tallies is m/(N+m) times the
    average over draws of sums along lines. That the mass of all tallies is 1 is known, so draws are weighed anew until
    theirs is (regression on the mass of a draw): where all tallies cost, long lines would count by chance otherwise.
    """
    m, most = len(contest.names), contest.most
    number = min(max(FEWEST_LINES, LINES_CELLS // m), MOST_LINES)
    share = m / (most + m) / number
    rows, weights, draws, far = [], [], [], np.zeros((number, m))
    for i, bars in enumerate(_draw_bars(number, most + m - 1, m - 1)):
        before = _between_bars(bars[None, :])[0]
        for line in contest.lines(np.append(before, most - before.sum()), i % m):
            a, b = max(line.low, line.middle - near), min(line.high, line.middle + near)
            step = max(1, (b - a + 1) // PLACES)
            places = np.arange(a + (b - a) % step // 2, b + 1, step)
            rows.append(line.tallies(places))
            weights.append(np.full(len(places), (b - a + 1) / len(places) * share))
            draws.append(np.full(len(places), i))
            ends = contest.winners(line.tallies(np.array([line.low, line.high])))
            np.add.at(far[i], ends, np.array([a - line.low, line.high - b]) * share)
    here, draw = np.concatenate(weights), np.concatenate(draws)
    mass = mass_of_draws(here, draw, far)
    spread = float(np.square(mass - mass.mean()).mean())
    anew = 1 + (1 - mass.mean()) * (mass - mass.mean()) / spread if spread > 0 else np.ones(number)
    words = f"estimated on {number} lines of tallies drawn from the prior with a public seed"
    return Tallies(np.concatenate(rows), here * anew[draw], draw, words, far * anew[:, None])


def mass_of_draws(weights: Floats, lines: Integers, far: Floats) -> Floats:
    """The mass that each draw stands for, 1 on average."""
    number = len(far)
    return np.asarray((np.bincount(lines, weights=weights, minlength=number) + far.sum(axis=1)) * number)


def _steps_told_apart(level: Level, most: int, far: float) -> float:
    """After how many steps the chance of a wrong answer is next to nothing, by every mechanism that may be taken."""
    pure = pure_within(level)
    steps = 1.0 if pure is None else far / min(pure.log_growth, far)
    if isinstance(level, ApproxDP) and level.delta == 0:
        return steps
    while steps < most and level.lower_after(math.ceil(steps), 0.5) > math.exp(-far):
        steps *= 2
    return steps


def _draw_bars(number: int, places: int, m: int) -> Integers:
    """For each line, m different places in order, all choices equally likely."""
    rng = np.random.default_rng(SEED)
    found = np.empty((number, m), dtype=np.int64)
    for i in range(number):
        while True:
            drawn = rng.integers(0, places, m) if places > 8 * m * m else rng.permutation(places)[:m]
            if len(set(drawn.tolist())) == m:
                break
        found[i] = np.sort(drawn)
    return found


def _between_bars(bars: Integers) -> Integers:
    """The tally that m bars cut off: what lies before each; what lies behind the last is nobody's."""
    return np.asarray(np.diff(bars, axis=1, prepend=-1) - 1)
