"""Contests, questions whose answer is one of m candidates, decided by a tally: the winner of a vote, or a quantile.

A tally is the number of rows in each of m cells. A contest defines the right answer, a score of every candidate, how
far another answer is, what a wrong one costs, and the sensitivity of each of these. The mechanisms of `choices` need
nothing else. Arrays hold a tally in each row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from utmost.errors import InvalidInput
from utmost.exact import as_rational, write_rational
from utmost.exact.arrays import Floats, Integers
from utmost.space.integers import Tallies, unlisted_from_json, unlisted_to_json

MOST_KINDS, MOST_DISTANCES, REMAINDERS = 400_000, 40, 6
"""The most kinds of tallies to enumerate; and how many distances, and numbers of rows below the maximum, are tried in
the search for the worst tally."""
MOST_CANDIDATES, MOST_DENOMINATOR = 1000, 1000


@dataclass(frozen=True)
class TallyLine:
    """Tallies numbered from `low` to `high`; the race is closest at `middle` and less close on either side."""

    low: int
    high: int
    middle: int
    tallies: Callable[[Integers], Integers]


class TallyQuestion:
    """A question about tallies whose answer is one of their cells."""

    tallies: Tallies

    @property
    def size(self) -> int:
        """How many candidates there are."""
        return self.tallies.cells

    @property
    def most(self) -> int:
        """How many rows a tally has at most."""
        return self.tallies.rows


@dataclass(frozen=True)
class Votes(TallyQuestion):
    """The winner of a vote: the first, in public order, of the cells that hold most rows.

    One unit added or removed adds up to k votes, or takes them: scores move by up to k in one direction, a lead by up
    to k. One unit replaced takes up to k votes and gives up to k: scores move by up to k either way, a lead by 2k.

    Examples
    --------
    >>> votes = Votes(Tallies(3, 20, "add-remove"))
    >>> votes.winners(np.array([[5, 5, 4], [0, 0, 7]])).tolist(), votes.leads(np.array([[5, 5, 4], [0, 0, 7]])).tolist()
    ([0, 2], [1, 7])
    """

    kind: ClassVar[str] = "votes"
    losses: ClassVar[tuple[str, ...]] = ("zero-one", "shortfall")
    tallies: Tallies

    def __post_init__(self) -> None:
        require_candidates(self.tallies)

    @property
    def lead_reach(self) -> int:
        """The sensitivity of the lead."""
        return self.tallies.rows_each * (1 if self.tallies.neighbours == "add-remove" else 2)

    @property
    def score_reach(self) -> int:
        """The sensitivity of scores in units: decay e^(-epsilon/score_reach) per unit keeps epsilon."""
        return self.lead_reach * self.size

    @property
    def most_lead(self) -> int:
        """No lead is larger."""
        return self.most + 1

    @property
    def row_reach(self) -> float:
        """The number of rows by which a candidate must fall behind to become e^-epsilon times as likely."""
        return self.lead_reach

    @property
    def units(self) -> int:
        """How many units of score a row is worth."""
        return self.size

    def scores(self, tallies: Integers) -> Integers:
        """The votes, plus a fraction of a vote by the public order, so that ties are broken as for the winner.

        A constant added to scores is public. Ties that two candidates share half of the time cost more than leads of
        half a vote on either side.
        """
        return np.asarray(self.size * tallies + np.arange(self.size)[::-1])

    def steps(self, tallies: Integers) -> Integers:
        """The number of neighbours to every candidate's victory: 0 for the winner, at least 1 for the others."""
        best, order = tallies.max(axis=1, keepdims=True), np.arange(self.size)
        behind = best - tallies + (self.winners(tallies)[:, None] < order)
        behind[np.arange(len(tallies)), self.winners(tallies)] = 0
        return np.asarray(-(-behind // self.lead_reach))

    def winners(self, tallies: Integers) -> Integers:
        """The first of the candidates with the most votes."""
        return np.asarray(tallies.argmax(axis=1))

    def leads(self, tallies: Integers) -> Integers:
        """The smallest lead over another candidate, plus one where the winner wins ties."""
        winners, order = self.winners(tallies), np.arange(self.size)
        best = np.take_along_axis(tallies, winners[:, None], axis=1)
        leads = best - tallies + (winners[:, None] < order)
        leads[np.arange(len(tallies)), winners] = np.iinfo(np.int64).max
        return np.asarray(leads.min(axis=1))

    def loss(self, name: str, tallies: Integers) -> Floats:
        """The loss of every name: 1 unless it is the winner; or by how many votes it is behind."""
        if name == "shortfall":
            return np.asarray(tallies.max(axis=1, keepdims=True) - tallies, dtype=float)
        return np.asarray(self.winners(tallies)[:, None] != np.arange(self.size), dtype=float)

    def lines(self, parts: Integers, turn: int) -> Iterator[TallyLine]:
        """Lines of tallies on which one candidate wins by more and more while the others keep their votes.

        A tally is its winner, the votes of the others, and the winner's: at most what the others leave, and enough to
        win. So what is left is a largest part. Each way to have it as one arises in m ways: once at every place.
        """
        others_of = np.delete(np.arange(len(parts)), turn)
        for place in np.flatnonzero(parts == parts.max()).tolist():
            base = np.zeros(len(parts), dtype=np.int64)
            base[others_of] = np.delete(parts, place)
            low, high = int((base + (np.arange(len(parts)) < turn))[others_of].max()), int(parts[place])
            if low <= high:
                yield TallyLine(low, high, low, partial(_with_votes, base, turn))

    def kinds(self, radius: int) -> tuple[Integers, Floats, Floats] | None:
        """Classes of tallies, if there are few: one tally of each, their sizes, and the omitted mass by winner.

        With two candidates only the difference d matters; (N - d)//2 + 1 tallies share it. Tallies in which the winner
        leads by more than `radius` rows may be omitted.
        """
        if self.size != 2 or min(radius, self.most) > MOST_KINDS:
            return None
        apart = np.arange(self.most + 1) if self.most <= MOST_KINDS else np.arange(radius + 1)
        multiplicity = ((self.most - apart) // 2 + 1).astype(float)
        nobody = np.zeros_like(apart)
        tallies = np.concatenate([np.stack([apart, nobody], axis=1), np.stack([nobody, apart], axis=1)[1:]])
        counts = np.concatenate([multiplicity, multiplicity[1:]])
        left_out = math.comb(self.most + 2, 2) - counts.sum()  # as many of either
        return np.asarray(tallies), counts, np.full(2, left_out / 2)

    def hard_tallies(self, radius: int) -> Integers:
        """Candidates for the worst tally: one candidate ahead of all others, who have no votes, or of all but one.

        With the last candidate ahead, the first kind is worst for the exponential mechanism: at its largest average
        gap R, everybody behind by g contributes (g - R)·b^g, which is largest at the same g for all. The second is for
        the rainbow: at a given lead others lose most without votes. The other mechanisms behave like the first.
        """
        m, n = self.size, self.most
        tallies = []
        for ahead in spaced_distances(radius):
            for winner, second in ((0, m - 1), (m - 1, m - 2)):
                for votes, seconds in ((ahead, 0), ((n + ahead) // 2, (n + ahead) // 2 - ahead)):
                    tally = np.zeros(m, dtype=np.int64)
                    tally[second], tally[winner] = seconds, votes
                    tallies.append(tally)
        return np.array(tallies)

    def words(self) -> str:
        """Where the statistic lies."""
        return f"votes for {self.size} candidates, at most {self.most} in all"

    def to_json(self) -> dict[str, Any]:
        """Plain data that `contest_from_json` reads back."""
        return {"contest": self.kind, "tallies": unlisted_to_json(self.tallies)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The contest of a file."""
        return cls(_tallies(data))


@dataclass(frozen=True)
class Ranks(TallyQuestion):
    """A quantile among candidates in increasing order; every row is rounded to the nearest candidate.

    The q-quantile is the lowest candidate with at least q of the n rows at or below it. With q = a/b, F_j the rows at
    or below candidate j and G_j = b F_j - a n, that is the first j with G_j >= 0. One neighbour moves G_j by at most
    max(a, b - a) times its rows where rows come or go, and by b times its rows where they are replaced.

    Examples
    --------
    >>> ranks = Ranks(Tallies(3, 20, "add-remove"), Fraction(1, 2), (10.0, 20.0, 30.0))
    >>> ranks.winners(np.array([[2, 5, 2], [6, 1, 1]])).tolist(), ranks.steps(np.array([[6, 1, 1]])).tolist()
    ([1, 0], [[0, 5, 7]])
    """

    kind: ClassVar[str] = "ranks"
    losses: ClassVar[tuple[str, ...]] = ("absolute", "zero-one", "rank")
    tallies: Tallies
    share: Fraction
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        require_candidates(self.tallies)
        if not 0 < self.share < 1 or self.share.denominator > MOST_DENOMINATOR:
            raise InvalidInput(
                f"q is {self.share}; give a share between 0 and 1 with a denominator of at most {MOST_DENOMINATOR}."
            )
        if not all(math.isfinite(value) for value in self.values):
            raise InvalidInput("a candidate is no finite number; give numbers in increasing order.")
        if len(self.values) != self.tallies.cells or any(not a < b for a, b in pairwise(self.values)):
            raise InvalidInput(f"a quantile needs {self.tallies.cells} candidates, one a cell, in increasing order.")

    @property
    def lead_reach(self) -> int:
        """The sensitivity of a rank."""
        a, b = self.share.numerator, self.share.denominator
        return self.tallies.rows_each * (max(a, b - a) if self.tallies.neighbours == "add-remove" else b)

    @property
    def score_reach(self) -> int:
        """The sensitivity of scores: they move in both directions, so one unit counts twice."""
        return 2 * self.lead_reach

    @property
    def most_lead(self) -> int:
        """No lead is larger."""
        return self.most * self.share.denominator + 1

    @property
    def row_reach(self) -> float:
        """The number of rows by which a candidate must be off to become e^-epsilon times as likely."""
        return self.score_reach / self.share.denominator

    @property
    def units(self) -> int:
        """How many units of score a row is worth."""
        return self.share.denominator

    def scores(self, tallies: Integers) -> Integers:
        """Minus the distance in ranks from being the quantile: -max(0, G_{j-1}, -G_j)."""
        return np.asarray(-np.maximum(np.maximum(self._previous_ranks(tallies), -self._ranks(tallies)), 0))

    def steps(self, tallies: Integers) -> Integers:
        """The number of neighbours until every candidate is the quantile: 0 for the quantile alone.

        D_j = max(0, ceil(-G_j / reach), ceil((G_{j-1} + 1) / reach)), of sensitivity 1.
        """
        up = -(self._ranks(tallies) // self.lead_reach)
        down = -(-(self._previous_ranks(tallies) + 1) // self.lead_reach)
        return np.asarray(np.maximum(np.maximum(up, down), 0))

    def signed_steps(self, tallies: Integers) -> Integers:
        """For every candidate but the last, the number of neighbours until the quantile is at or below it.

        ceil(-G_j / reach), at most 0 iff the quantile is at or below candidate j; of sensitivity 1.
        """
        return np.asarray(-(self._ranks(tallies)[:, :-1] // self.lead_reach))

    def winners(self, tallies: Integers) -> Integers:
        """The lowest candidate with enough rows at or below it."""
        return np.asarray((self._ranks(tallies) >= 0).argmax(axis=1))

    def leads(self, tallies: Integers) -> Integers:
        """The distance to the nearer end of the winner's ranks."""
        ranks, winners, rows = self._ranks(tallies), self.winners(tallies), np.arange(len(tallies))
        infinity = np.iinfo(np.int64).max
        down = np.where(winners > 0, -ranks[rows, np.maximum(winners - 1, 0)], infinity)
        up = np.where(winners < self.size - 1, ranks[rows, winners] + 1, infinity)
        return np.asarray(np.minimum(down, up))

    def loss(self, name: str, tallies: Integers) -> Floats:
        """The loss of every name: its distance from the quantile, 1 unless it is that, or the rows it is off."""
        if name == "rank":
            return np.asarray(-self.scores(tallies) / self.share.denominator)
        winners = self.winners(tallies)
        if name == "zero-one":
            return np.asarray(winners[:, None] != np.arange(self.size), dtype=float)
        values = np.array(self.values, dtype=float)
        return np.asarray(np.abs(values[winners][:, None] - values[None, :]))

    def lines(self, parts: Integers, turn: int) -> Iterator[TallyLine]:
        """Lines of tallies on which the end of a cell nearest to q n moves, the other ends staying where they are.

        A tally is the number n of rows and how many are at or below each candidate but the last. One of these is
        nearest to q n (of two on either side the one below): m - 2 are left, and it may be anywhere not farther.
        """
        a, b = self.share.numerator, self.share.denominator
        n, ends = int(parts[:-1].sum()), np.cumsum(parts[:-2])
        away = b * ends - a * n
        reach = int(np.abs(away).min()) if len(ends) else b * self.most
        low, high = max(0, -((reach - a * n) // b)), min(n, (reach + a * n) // b)
        if b * high - a * n == reach > 0 and bool((away == -reach).any()):
            high -= 1
        if low <= high:
            yield TallyLine(low, high, min(max(a * n // b, low), high), partial(_with_end, ends, n))

    def kinds(self, radius: int) -> tuple[Integers, Floats, Floats] | None:
        """Quantiles have no simple classes of tallies."""
        return None

    def hard_tallies(self, radius: int) -> Integers:
        """Candidates for the worst tally: rows in one cell, few or many; or in two, the quantile near the border.

        Two cells far apart leave all candidates in between equal. Mechanisms that count whole neighbours cost more
        where q times the rows leaves another remainder, so slightly fewer rows are tried as well.
        """
        m, n = self.size, self.most
        offsets = [0, *spaced_distances(radius)]
        spread = np.unique(np.linspace(0, m - 1, min(m, 12)).astype(int)).tolist()
        pairs = {(0, m - 1), *((i, j) for i in spread for j in spread if i < j)}
        pairs |= set(pairwise(range(m))) if m <= MOST_DISTANCES else set()  # else hardly the worst
        tallies: dict[tuple[int, ...], tuple[int, ...]] = {}
        for rows in (n, *offsets[1:]):
            tallies |= {(i, rows): _tally_of(m, {i: rows}) for i in (range(m) if m <= MOST_DISTANCES else spread)}
        fewer = range(1, min(self.share.denominator, n, REMAINDERS) + 1)
        few = (offsets[:REMAINDERS], pairs if m <= MOST_DISTANCES else {(0, m - 1)})
        for rows, (offs, ends) in ((n, (offsets, pairs)), *((n - k, few) for k in fewer)):
            level = math.ceil(self.share * rows)
            for below in {level + x for off in offs for x in (-1 - off, off) if 0 <= level + x <= rows}:
                tallies |= {(i, j, rows, below): _tally_of(m, {i: below, j: rows - below}) for i, j in ends}
        return np.array(list(tallies.values()), dtype=np.int64)

    def words(self) -> str:
        """Where the statistic lies."""
        return f"at most {self.most} rows among {self.size} candidates, in ranks"

    def to_json(self) -> dict[str, Any]:
        """Plain data that `contest_from_json` reads back."""
        parameters = {"q": write_rational(self.share), "values": list(self.values)}
        return {"contest": self.kind, "tallies": unlisted_to_json(self.tallies), **parameters}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The contest of a file."""
        values = tuple(float(value) for value in data["values"])
        return cls(_tallies(data), as_rational(str(data["q"]), "q"), values)

    def _ranks(self, tallies: Integers) -> Integers:
        a, b = self.share.numerator, self.share.denominator
        return np.asarray(b * np.cumsum(tallies, axis=1) - a * tallies.sum(axis=1, keepdims=True))

    def _previous_ranks(self, tallies: Integers) -> Integers:
        """The rank of the candidate before each; for the first, a number too low to matter."""
        ranks = self._ranks(tallies)
        return np.concatenate([np.full((len(ranks), 1), np.iinfo(np.int64).min // 4), ranks[:, :-1]], axis=1)


Contest: TypeAlias = Votes | Ranks


def contest_from_json(data: Mapping[str, Any]) -> Contest:
    """Parse a contest written by `to_json`, from an untrusted file."""
    for kind in (Votes, Ranks):
        if data["contest"] == kind.kind:
            return kind.from_json(data)
    raise InvalidInput(f"{data['contest']!r} is no contest; a file holds 'votes' or 'ranks'.")


def contest_of(question: str, tallies: Tallies, data: Mapping[str, Any]) -> Contest:
    """The contest of a problem."""
    if question == "choice.winner":
        return Votes(tallies)
    return Ranks(tallies, as_rational(str(data["q"]), "q"), tuple(float(value) for value in data["candidates"]))


def spaced_distances(limit: int) -> list[int]:
    """Distances from 1 to `limit`: all, or some in geometric progression."""
    if limit <= MOST_DISTANCES:
        return list(range(1, limit + 1))
    return sorted({round(x) for x in np.geomspace(1, limit, MOST_DISTANCES)})


def require_candidates(tallies: Tallies) -> None:
    """Raise for tallies of one candidate, or of more than can be compared at once."""
    if not isinstance(tallies, Tallies) or not 2 <= tallies.cells <= MOST_CANDIDATES:
        raise InvalidInput(f"tallies is {tallies!r}; give Tallies of 2 to {MOST_CANDIDATES} cells, one a candidate.")


def _tallies(data: Mapping[str, Any]) -> Tallies:
    tallies = unlisted_from_json(data["tallies"])
    if not isinstance(tallies, Tallies):
        raise InvalidInput("a contest is decided by tallies.")
    return tallies


def _with_votes(base: Integers, candidate: int, votes: Integers) -> Integers:
    """Copies of a tally with other votes for one candidate."""
    tallies = np.repeat(base[None, :], len(votes), axis=0)
    tallies[:, candidate] = votes
    return tallies


def _with_end(ends: Integers, rows: int, places: Integers) -> Integers:
    """Tallies whose cells end at the given rows and, in each row of the array, at one more."""
    every = np.empty((len(places), len(ends) + 2), dtype=np.int64)
    every[:, :-2], every[:, -2], every[:, -1] = ends, places, rows
    return np.asarray(np.diff(np.sort(every, axis=1), axis=1, prepend=0), dtype=np.int64)


def _tally_of(size: int, rows: Mapping[int, int]) -> tuple[int, ...]:
    return tuple(rows.get(i, 0) for i in range(size))
