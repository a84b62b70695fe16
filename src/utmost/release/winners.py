"""Who won: the candidate that most rows name."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from utmost.errors import InvalidInput, shown
from utmost.release.mechanisms.contests import MOST_KINDS, Floats, Integers, TallyLine
from utmost.release.mechanisms.hardest import rungs
from utmost.release.mechanisms.losses import as_loss
from utmost.release.plain import plain
from utmost.release.questions import Question, Setting, as_releasable, rows_that_count
from utmost.release.selections import selecting
from utmost.release.tallies import as_categories, category_cells
from utmost.release.units import Neighbours, Of

LOSSES = ("zero-one", "shortfall")
MOST_CANDIDATES = 100


@dataclass(frozen=True)
class Votes:
    """A vote: candidates in the public order that breaks ties, and how many rows of a unit count.

    One unit added or removed adds up to k votes, or takes them: scores move by up to k in one direction, a lead by up
    to k. One unit replaced takes up to k votes and gives up to k: scores move by up to k either way, a lead by 2k.
    """

    names: tuple[Any, ...]
    most: int
    rows_each: int
    neighbours: Neighbours
    losses: tuple[str, ...] = LOSSES

    @property
    def score_reach(self) -> int:
        """Per unit of score, e^(-epsilon/score_reach) keeps epsilon; a vote has as many units as candidates."""
        return self.lead_reach * len(self.names)

    @property
    def lead_reach(self) -> int:
        """How far one neighbour moves the lead."""
        return self.rows_each if self.neighbours == "add-remove" else 2 * self.rows_each

    @property
    def most_lead(self) -> int:
        """No lead is larger."""
        return self.most + 1

    @property
    def row_reach(self) -> float:
        """In rows: a vote is a vote."""
        return self.lead_reach

    def scores(self, tallies: Integers) -> Integers:
        """The votes, and a share of one vote by the public order: ties are broken as the winner's are.

        A constant added to scores is public. Ties that two candidates share half of the time cost more than leads of
        half a vote on either side.
        """
        m = tallies.shape[1]
        return np.asarray(m * tallies + np.arange(m)[::-1])

    def winners(self, tallies: Integers) -> Integers:
        """The first of those with the most votes."""
        return np.asarray(tallies.argmax(axis=1))

    def leads(self, tallies: Integers) -> Integers:
        """The least lead over another, plus one where the winner wins ties."""
        winners, order = self.winners(tallies), np.arange(tallies.shape[1])
        best = np.take_along_axis(tallies, winners[:, None], axis=1)
        leads = best - tallies + (winners[:, None] < order)
        leads[np.arange(len(tallies)), winners] = self.most_lead
        return np.asarray(leads.min(axis=1))

    def loss(self, name: str, tallies: Integers) -> Floats:
        """1 unless the winner is named; or by how many votes the named one is behind."""
        if name == "shortfall":
            return np.asarray(tallies.max(axis=1, keepdims=True) - tallies, dtype=float)
        return np.asarray(self.winners(tallies)[:, None] != np.arange(tallies.shape[1]), dtype=float)

    def lines(self, parts: Integers, turn: int) -> Iterator[TallyLine]:
        """The candidate whose turn it is wins by more and more, the others staying as they are.

        A tally is its winner, the votes of the others, and the winner's: at most what the others leave, and enough to
        win. So what is left is a largest part. Each way to have it as one is found in m ways: once at every place.
        """
        others_of = np.delete(np.arange(len(parts)), turn)
        for place in np.flatnonzero(parts == parts.max()).tolist():
            base = np.zeros(len(parts), dtype=np.int64)
            base[others_of] = np.delete(parts, place)
            low, high = int((base + (np.arange(len(parts)) < turn))[others_of].max()), int(parts[place])
            if low <= high:
                yield TallyLine(low, high, low, partial(_with_votes, base, turn))

    def kinds(self, near: int) -> tuple[Integers, Floats, Floats] | None:
        """Of two candidates nothing but the difference counts; (N - d)//2 + 1 tallies have the same."""
        if len(self.names) != 2 or min(near, self.most) > MOST_KINDS:
            return None
        apart = np.arange(self.most + 1) if self.most <= MOST_KINDS else np.arange(near + 1)
        alike = ((self.most - apart) // 2 + 1).astype(float)
        nobody = np.zeros_like(apart)
        tallies = np.concatenate([np.stack([apart, nobody], axis=1), np.stack([nobody, apart], axis=1)[1:]])
        counts = np.concatenate([alike, alike[1:]])
        left_out = math.comb(self.most + 2, 2) - counts.sum()  # as many of either
        return np.asarray(tallies), counts, np.full(2, left_out / 2)

    def hard_tallies(self, far: int) -> Integers:
        """One candidate ahead of all others, who have nothing, or of all but one, who is close behind.

        With the last candidate ahead, one of the first is hardest for the exponential mechanism: at its largest average
        gap R, everybody behind by g contributes (g - R)·b^g, which is largest at the same g for all. The second are for
        the rainbow: at a given lead others lose most with nothing. Permute and flip is like the first.
        """
        m, n = len(self.names), self.most
        found = []
        for ahead in rungs(far):
            for winner, second in ((0, m - 1), (m - 1, m - 2)):
                for votes, seconds in ((ahead, 0), ((n + ahead) // 2, (n + ahead) // 2 - ahead)):
                    tally = np.zeros(m, dtype=np.int64)
                    tally[second], tally[winner] = seconds, votes
                    found.append(tally)
        return np.array(found)

    def words(self) -> str:
        """Where the statistic lies."""
        return f"votes for {len(self.names)} candidates, at most {self.most} in all"


def plurality(
    setting: Setting, column: str, candidates: Any, privacy: Any, where: Any, of: Of, loss: str, prior: Any
) -> Question:
    """Which candidate most rows name; other values do not vote."""
    level, loss = as_releasable(privacy), as_loss(loss, LOSSES)
    column, of = plain(column), plain(of)
    rows_each = rows_that_count(setting, of)
    if not isinstance(column, str):
        raise InvalidInput(f"the column is {shown(column)}; give its name.")
    candidates = as_categories(column, candidates)
    cells = category_cells(setting.source, {column: candidates}, other=False)
    if not 2 <= cells.size <= MOST_CANDIDATES:
        raise InvalidInput(
            f"there are {cells.size} candidates; give 2 to {MOST_CANDIDATES}, such as those that may well win."
        )
    votes = Votes(tuple(candidates), setting.unit.at_most * rows_each, rows_each, setting.neighbours)
    return selecting(
        votes,
        cells,
        setting,
        {"question": "plurality", "column": column, "candidates": list(candidates)},
        f"Which {column} is most frequent",
        level,
        where,
        of,
        loss,
        prior,
        lambda other: plurality(setting, column, candidates, other, where, of, loss, prior),
    )


def _with_votes(base: Integers, candidate: int, votes: Integers) -> Integers:
    """The tally with other votes for one candidate, in each row."""
    tallies = np.repeat(base[None, :], len(votes), axis=0)
    tallies[:, candidate] = votes
    return tallies
