"""Selection by tables of certified integers: on lines of leads, or with one row for every tally."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from utmost.errors import InvalidInput
from utmost.exact.arrays import Floats, Integers
from utmost.mechanism.certification import Check
from utmost.mechanism.sampling import WORD, draw
from utmost.mechanism.violations import find_violation
from utmost.privacy import Level
from utmost.space import Space
from utmost.space.edge_levels import on_edges
from utmost.space.folds import can_fold, folded, folded_places, folded_space
from utmost.theory.selection.choices import ChoiceLaw
from utmost.theory.selection.problem import Contest, contest_from_json

MOST_LISTED, MOST_FOLDED, MOST_EDGES = 2000, 2500, 60_000
"""The largest tables: tallies, folded tallies, and edges between them."""


@dataclass(frozen=True, eq=False)
class ChoiceTable(ChoiceLaw):
    """Integer weights over 2^62, one row for every state of the contest."""

    contest: Contest
    weights: Integers

    def to_json(self) -> dict[str, Any]:
        """The parameters as plain data; integers as text, because many JSON readers use floats."""
        return {"on": self.contest.to_json(), "weights": [[str(w) for w in row] for row in self.weights.tolist()]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The mechanism of a file."""
        contest = contest_from_json(data["on"])
        rows = [[int(w) for w in row] for row in data["weights"]]
        if not rows or any(len(row) != contest.size or not all(0 <= w <= 1 << WORD for w in row) for row in rows):
            raise InvalidInput(f"a table has rows of {contest.size} weights from 0 to 2^{WORD}.")
        return cls(contest, np.array(rows, dtype=np.int64))

    @cached_property
    def matrix(self) -> Floats:
        """The probabilities, in floating point."""
        return np.asarray(self.weights / 2.0**WORD)


class LeadLines(ChoiceTable):
    """Rainbow mechanism for the winner (RAIN) on lines of (winner, neighbours until another wins, less one).

    Row d has the weights at distance d, the winner's first, then the others' in public order; beyond the last row the
    last one applies. Neighbours stand on one line, at most one place apart, or both at the start of two lines.
    """

    kind = "lead-lines"
    name = "rainbow by winner"

    def probabilities(self, tallies: Integers) -> Floats:
        """The row of the lead, with the winner's entry moved to its place."""
        winners, order = self.contest.winners(tallies)[:, None], np.arange(self.contest.size)
        rank = np.where(order == winners, 0, order + (order < winners))
        return np.asarray(self.matrix[self._depths(tallies)[:, None], rank])

    def _depths(self, tallies: Any) -> Any:
        steps = -(-self.contest.leads(tallies) // self.contest.lead_reach) - 1
        return np.minimum(steps, len(self.weights) - 1).astype(np.int64)

    def _draw(self, tally: Any) -> int:
        winner, depth = int(self.contest.winners(tally)[0]), int(self._depths(tally)[0])
        rank = int(draw(self.weights[depth], WORD, 1)[0])
        return winner if rank == 0 else rank - (rank <= winner)

    def prove(self, space: Any, level: Level) -> Check:
        """Check every step along a line, and between the starts of two lines, where all but the winner are equal."""
        if self.contest.tallies != space:
            return Check("privacy", False, f"the mechanism is made for {self.contest.tallies}, not for {space}")
        if not level.concave or not level.certifiable:
            return Check("privacy", False, f"{level} promises nothing that integers could prove")
        start = self.weights[0]
        if len(set(start[1:].tolist())) > 1:
            return Check("privacy", False, "candidates that do not win are not alike at the start of a line")
        swapped = np.concatenate([start[[1, 0]], start[2:]])  # all other pairs of winners are permutations of this one
        rows = np.concatenate([self.weights, swapped[None, :]])
        edges = [(d, d + 1) for d in range(len(self.weights) - 1)] + [(0, len(self.weights))]
        broken = find_violation(rows, WORD, on_edges(Space(range(len(rows)), edges), level))
        detail = f"{level} proved in exact arithmetic on lines of (winner, lead); neighbours lie on adjacent points"
        return Check("privacy", broken is None, broken or detail)


class TallyTable(ChoiceTable):
    """A row of weights for every tally, in the order of `Tallies.listed`, under replacement.

    A table with more rows than declared is truncated, which keeps neighbours neighbours under replacement. Under
    add/remove no map does (three tables that each lack one of three rows have no common neighbour but the whole): see
    `FoldedTable`.
    """

    kind = "tally-table"
    name = "linear program"

    def probabilities(self, tallies: Integers) -> Floats:
        """The rows of the tallies, truncated to the declared number of rows."""
        every = self.contest.tallies
        truncated_tallies = np.diff(
            np.minimum(np.cumsum(np.maximum(tallies, 0), axis=1), every.rows), axis=1, prepend=0
        )
        return np.asarray(self.matrix[every.places(truncated_tallies)])

    def _draw(self, tally: Any) -> int:
        place = self.contest.tallies.places(np.array([self.contest.tallies.clamp(tally[0])], dtype=np.int64))[0]
        return int(draw(self.weights[place], WORD, 1)[0])

    def prove(self, space: Any, level: Level) -> Check:
        """Check every edge between tallies."""
        tallies = self.contest.tallies
        if tallies != space or len(self.weights) != tallies.points or tallies.points > MOST_LISTED:
            return Check("privacy", False, f"the table of {len(self.weights)} rows is not one of {space}")
        if tallies.neighbours != "replace":
            return Check("privacy", False, "a table of more rows than declared would not be protected")
        return _check_edges(self.weights, tallies.space(), level)


class FoldedTable(ChoiceTable):
    """A row of weights for every folded tally, in the order of `space.folds.folded`, under add/remove of single rows.

    In a folded tally no two cells together hold more rows than declared: all declared tallies are among these, and
    `fold` maps every larger one onto them such that neighbours stay neighbours or become equal. So the optimal table on
    folded tallies is the optimal mechanism among all that also protect tables with more rows than declared.
    """

    kind = "folded-table"
    name = "linear program"

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The mechanism of a file; tallies are listed only if they are few."""
        table = super().from_json(data)
        if not table._is_complete:
            raise InvalidInput(f"the table of {len(table.weights)} rows is not one of {table.contest.tallies}, folded.")
        return table

    @property
    def _is_complete(self) -> bool:
        tallies = self.contest.tallies
        return can_fold(tallies, MOST_FOLDED) and len(self.weights) == len(folded(tallies))

    def probabilities(self, tallies: Integers) -> Floats:
        """The rows of the folded tallies."""
        return np.asarray(self.matrix[folded_places(self.contest.tallies, tallies)])

    def _draw(self, tally: Any) -> int:
        return int(draw(self.weights[folded_places(self.contest.tallies, tally)[0]], WORD, 1)[0])

    def prove(self, space: Any, level: Level) -> Check:
        """Check every edge between folded tallies."""
        tallies = self.contest.tallies
        if tallies != space or not self._is_complete:
            return Check("privacy", False, f"the table of {len(self.weights)} rows is not one of {space}, folded")
        return _check_edges(self.weights, folded_space(tallies), level)


def _check_edges(weights: Integers, space: Space, level: Level) -> Check:
    """Check in exact arithmetic that a table of weights is private on every edge of a space."""
    if not level.concave or not level.certifiable:
        return Check("privacy", False, f"{level} promises nothing that integers could prove")
    levels = on_edges(space, level)
    broken = find_violation(weights, WORD, levels)
    detail = f"{level} proved in exact arithmetic on all {len(levels)} edges between {len(space.points)} tallies"
    return Check("privacy", broken is None, broken or detail)
