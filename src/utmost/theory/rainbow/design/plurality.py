"""The plurality winner among any number of voters, with one region per winner.

The winner is first in every ranking of its region, the others follow in one public order, so that only a change of
winner is a boundary. (Regions by full ranking would put every tie between two losers on a boundary.) The distance of a
vote to another winner follows from the gap between first and second, so even a million voters are cheap.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from utmost.errors import InvalidInput
from utmost.exact import LEAST, as_whole
from utmost.exact.citations import cites
from utmost.privacy import Level
from utmost.solution import Solution
from utmost.solution.sentences import EVEN_RANKINGS
from utmost.space import Space
from utmost.space.edge_levels import Privacy, on_edges
from utmost.space.families import Neighbours
from utmost.space.family import as_neighbours
from utmost.theory.rainbow.design.rankings import find_regions, one_concave_level, solve_inside

UNRESOLVED = 2.0**-60
"""Lines end where the probability of a wrong winner is below this; farther points are mapped to the end."""


@dataclass(frozen=True)
class Plurality:
    """The optimal private winner, on lines of (winner, changes until another wins, less one).

    Attributes
    ----------
    solution : Solution
        The mechanism on these lines, with its proof; answers are drawn from `solution.certified`.
    candidates : tuple
        The candidates in the public order that breaks ties and ranks the losers.
    people : int
        How many people vote.
    neighbours : "replace" or "add-remove"
        The adjacency.
    longest : int
        The last distance of every line.
    """

    solution: Solution
    candidates: tuple[Any, ...]
    people: int
    neighbours: Neighbours
    longest: int

    def point(self, votes: Mapping[Any, int] | Sequence[int]) -> tuple[Any, int]:
        """The point of a count of votes: its winner, and its distance to the boundary, capped at the line's end."""
        winner, margin = self._winner(votes)
        changes = math.ceil(margin / 2) if self.neighbours == "replace" else margin
        return self.candidates[winner], min(changes - 1, self.longest)

    def probabilities(self, votes: Mapping[Any, int] | Sequence[int]) -> dict[Any, float]:
        """The probability with which each candidate is named, for a count of votes."""
        row = self.solution.mechanism.row(self.point(votes))
        return dict(zip(self.solution.mechanism.outputs, row.tolist(), strict=True))

    def sample(self, votes: Mapping[Any, int] | Sequence[int], size: int | None = None) -> Any:
        """A private winner (or a list of them), drawn exactly from the certified mechanism."""
        return self.solution.certified.sample(self.point(votes), size)

    def _winner(self, votes: Mapping[Any, int] | Sequence[int]) -> tuple[int, int]:
        """The winner's position, and its margin: the least lead over another, plus one where it wins ties."""
        counts = [votes.get(c, 0) for c in self.candidates] if isinstance(votes, Mapping) else list(votes)
        if isinstance(votes, Mapping) and not set(votes) <= set(self.candidates):
            raise InvalidInput("there are votes for somebody who is not a candidate; count them as a named candidate.")
        if len(counts) != len(self.candidates) or any(not isinstance(v, int) or v < 0 for v in counts):
            raise InvalidInput("votes must be a whole number, 0 or more, for each candidate.")
        total = sum(counts)
        if total > self.people or (self.neighbours == "replace" and total != self.people):
            raise InvalidInput("the votes do not add up to the number of people stated.")
        winner = max(range(len(counts)), key=lambda c: (counts[c], -c))
        leads = [counts[winner] - counts[c] + (winner < c) for c in range(len(counts)) if c != winner]
        return winner, min(leads, default=1)


@cites("RAIN-theorem-3")
def plurality(
    people: int, candidates: Sequence[Any], privacy: Privacy, neighbours: Neighbours = "replace"
) -> Plurality:
    """The optimal private plurality winner: given its symmetric boundary, most often right at every vote.

    Parameters
    ----------
    people : int
        How many people vote ("replace": exactly, "add-remove": at most); public.
    candidates : sequence
        The candidates in a public order, which breaks ties.
    privacy : level or number
        One concave level.
    neighbours : "replace" or "add-remove"
        The adjacency.

    Examples
    --------
    >>> import utmost as um
    >>> vote = um.rainbow.plurality(1_000_000, ["red", "green", "blue"], 1.0)
    >>> votes = {"red": 400_010, "green": 400_000, "blue": 199_990}
    >>> vote.point(votes), round(vote.probabilities(votes)["red"], 6)
    (('red', 5), 0.997144)
    """
    names = tuple(candidates)
    if len(names) < 2 or len(set(names)) < len(names):
        raise InvalidInput(f"candidates is {candidates!r}; give two or more, each once.")
    neighbours, people = as_neighbours(neighbours), as_whole(people, "people", 1)
    farthest = math.ceil((people + 1) / 2) - 1 if neighbours == "replace" else people
    level = one_concave_level(privacy)
    longest = longest_line(level, farthest)
    edges = [((w, d), (w, d + 1)) for w in names for d in range(longest)]
    edges += [((w, 0), (v, 0)) for i, w in enumerate(names) for v in names[i + 1 :]]
    lines = Space.from_edges(edges, points=[(w, d) for w in names for d in range(longest + 1)])
    ranking = {w: (w, *(v for v in names if v != w)) for w in names}
    regions = find_regions(lines, lambda p: ranking[p[0]])
    row = even_boundary(level, len(names))
    rows = [[row[0] if o == r[0] else row[1] for o in regions.outputs] for r in regions.rainbows]
    solution = solve_inside(on_edges(lines, level), regions, rows, level, EVEN_RANKINGS)
    return Plurality(solution, names, people, neighbours, longest)


def even_boundary(level: Level, candidates: int) -> tuple[Fraction, Fraction]:
    """The probability of the winner and of each other at the boundary: the largest that treats all candidates alike.

    Two neighbouring regions allow the winner alpha = upper((1 - alpha)/(m - 1)). The root is computed for 1 - alpha, by
    bisection of its logarithm: it may be far smaller than the float resolution of alpha near 1.
    """
    low, high = math.log(LEAST) / 2, math.log((candidates - 1) / candidates)
    for _ in range(80):
        middle = (low + high) / 2
        rest = math.exp(middle)
        other = np.array([rest / (candidates - 1)])
        fits = rest >= float(level.move(other, 1 - other)[1][0])
        low, high = (low, middle) if fits else (middle, high)
    rest_of_all = Fraction(math.exp(high))
    return 1 - rest_of_all, rest_of_all / (candidates - 1)


def longest_line(level: Level, farthest: int) -> int:
    """The length of a line: at most the largest distance of a vote, and until probabilities no longer change."""
    length = 1
    while length < farthest and level.lower_after(length, 0.5) > UNRESOLVED:
        length *= 2
    return min(length, farthest)
