"""Quantiles: which of some public values has a given share of the rows at or below it.

Every value is first rounded to the nearest candidate, so the quantile is a candidate: the lowest c with at least q of
the n rows at or below it. Write F_j for the rows at or below candidate j, and G_j = F_j - q n: it is negative below the
quantile and not from there on. In ranks, candidate j is max(0, G_{j-1}, -G_j) rows from being a quantile.

**How far one neighbour moves G_j.** k rows added or removed move it by at most k·max(q, 1-q); k rows replaced by k
others by at most k. With q = a/b everything is multiplied by b, so that all of it is whole.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from utmost.errors import InvalidInput, shown
from utmost.exact import Number, as_rational
from utmost.release.mechanisms.contests import Floats, Integers, TallyLine
from utmost.release.mechanisms.hardest import rungs
from utmost.release.mechanisms.losses import as_loss
from utmost.release.plain import listed, plain
from utmost.release.questions import Question, Setting, as_releasable, rows_that_count
from utmost.release.selections import selecting
from utmost.release.tallies import range_cells
from utmost.release.units import Neighbours, Of

LOSSES = ("absolute", "zero-one", "rank")
MOST_CANDIDATES, MOST_DENOMINATOR = 200, 1000


@dataclass(frozen=True)
class Ranks:
    """Where a quantile lies among candidates in increasing order; ranks are in units of a row over q's denominator."""

    names: tuple[Any, ...]
    share: Fraction
    most: int
    rows_each: int
    neighbours: Neighbours
    losses: tuple[str, ...] = LOSSES

    @property
    def lead_reach(self) -> int:
        """How far one neighbour moves a rank."""
        a, b = self.share.numerator, self.share.denominator
        return self.rows_each * (max(a, b - a) if self.neighbours == "add-remove" else b)

    @property
    def score_reach(self) -> int:
        """Scores go up and down, so a unit of score is worth half a step."""
        return 2 * self.lead_reach

    @property
    def most_lead(self) -> int:
        """No lead is larger."""
        return self.most * self.share.denominator + 1

    @property
    def row_reach(self) -> float:
        """In rows: a row is as many units as q has in its denominator."""
        return self.score_reach / self.share.denominator

    def scores(self, tallies: Integers) -> Integers:
        """Minus the ranks from being a quantile."""
        ranks = self._ranks(tallies)
        before = np.concatenate([np.full((len(ranks), 1), -self.most_lead), ranks[:, :-1]], axis=1)
        return np.asarray(-np.maximum(np.maximum(before, -ranks), 0))

    def winners(self, tallies: Integers) -> Integers:
        """The lowest candidate with enough rows at or below it."""
        return np.asarray((self._ranks(tallies) >= 0).argmax(axis=1))

    def leads(self, tallies: Integers) -> Integers:
        """How far the nearer end of the winner's ranks is."""
        ranks, winners, rows = self._ranks(tallies), self.winners(tallies), np.arange(len(tallies))
        down = np.where(winners > 0, -ranks[rows, np.maximum(winners - 1, 0)], self.most_lead)
        up = np.where(winners < tallies.shape[1] - 1, ranks[rows, winners] + 1, self.most_lead)
        return np.asarray(np.minimum(down, up))

    def loss(self, name: str, tallies: Integers) -> Floats:
        """How far the named value is from the quantile; 1 unless it is it; or how many rows it is off."""
        if name == "rank":
            return np.asarray(-self.scores(tallies) / self.share.denominator)
        winners = self.winners(tallies)
        if name == "zero-one":
            return np.asarray(winners[:, None] != np.arange(tallies.shape[1]), dtype=float)
        values = np.array([float(x) for x in self.names])
        return np.asarray(np.abs(values[winners][:, None] - values[None, :]))

    def lines(self, parts: Integers, turn: int) -> Iterator[TallyLine]:
        """The nearest end moves, the other ends of cells staying where they are.

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

    def kinds(self, near: int) -> tuple[Integers, Floats, Floats] | None:
        """None that are easily counted."""
        return None

    def hard_tallies(self, far: int) -> Integers:
        """All rows in one cell, few or many; or in two, the quantile at the border or some rows from it.

        Two cells far apart leave all candidates in between alike.
        """
        m, n = len(self.names), self.most
        offsets = [0, *rungs(far)]
        spread = np.unique(np.linspace(0, m - 1, min(m, 12)).astype(int)).tolist()
        pairs = {(0, m - 1), *((i, j) for i in spread for j in spread if i < j), *pairwise(range(m))}
        found: dict[tuple[int, ...], tuple[int, ...]] = {}
        for rows in (n, *offsets[1:]):
            found |= {(i, rows): _placed(m, {i: rows}) for i in range(m)}
        for rows, offs in ((n, offsets), (n - n % self.share.denominator, offsets[:3])):  # of the second, q is whole
            level = math.ceil(self.share * rows)
            for below in {level + x for off in offs for x in (-1 - off, off) if 0 <= level + x <= rows}:
                found |= {(i, j, rows, below): _placed(m, {i: below, j: rows - below}) for i, j in pairs}
        return np.array(list(found.values()), dtype=np.int64)

    def words(self) -> str:
        """Where the statistic lies."""
        return f"at most {self.most} rows among {len(self.names)} candidates, in ranks"

    def _ranks(self, tallies: Integers) -> Integers:
        a, b = self.share.numerator, self.share.denominator
        return np.asarray(b * np.cumsum(tallies, axis=1) - a * tallies.sum(axis=1, keepdims=True))


def _with_end(ends: Integers, rows: int, places: Integers) -> Integers:
    """The tallies whose cells end at the given rows and at one more, in each row another."""
    every = np.empty((len(places), len(ends) + 2), dtype=np.int64)
    every[:, :-2], every[:, -2], every[:, -1] = ends, places, rows
    return np.asarray(np.diff(np.sort(every, axis=1), axis=1, prepend=0), dtype=np.int64)


def _placed(size: int, rows: Mapping[int, int]) -> tuple[int, ...]:
    return tuple(rows.get(i, 0) for i in range(size))


def quantile(
    setting: Setting, column: str, q: Number, candidates: Any, privacy: Any, where: Any, of: Of, loss: str, prior: Any
) -> Question:
    """Which candidate is the q-quantile of a column, its values rounded to the nearest candidate."""
    level, loss, share, values = as_releasable(privacy), as_loss(loss, LOSSES), _share(q), _values(candidates)
    column, of = plain(column), plain(of)
    rows_each = rows_that_count(setting, of)
    cells = range_cells(setting.source, column, [float(x) for x in values])
    ranks = Ranks(values, share, setting.unit.at_most * rows_each, rows_each, setting.neighbours)
    return selecting(
        ranks,
        cells,
        setting,
        {"question": "quantile", "column": column, "q": str(share), "candidates": list(values)},
        f"What is the {share} quantile of {column}",
        level,
        where,
        of,
        loss,
        prior,
        lambda other: quantile(setting, column, q, candidates, other, where, of, loss, prior),
    )


def _share(q: Number) -> Fraction:
    share = as_rational(q, "q")
    if not 0 < share < 1 or share.denominator > MOST_DENOMINATOR:
        raise InvalidInput(
            f"q is {shown(q)}; give a share between 0 and 1 with a denominator of at most {MOST_DENOMINATOR}, such as "
            "0.5."
        )
    return share


def _values(candidates: Any) -> tuple[Any, ...]:
    given = listed(candidates)
    values = [plain(x) for x in given] if isinstance(given, Sequence) else []  # a set has no order to break ties by
    if len(values) > MOST_CANDIDATES:
        raise InvalidInput(
            f"there are {len(values)} candidates; give at most {MOST_CANDIDATES}, such as "
            f"candidates[::{-(-len(values) // MOST_CANDIDATES)}]."
        )
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) and abs(x) < 2**53 for x in values)
    if not numbers or len(values) < 2 or any(a >= b for a, b in pairwise(values)):
        raise InvalidInput(
            f"candidates is {shown(candidates)}; give 2 to {MOST_CANDIDATES} public numbers in increasing order, such "
            "as range(0, 101, 5)."
        )
    return tuple(values)
