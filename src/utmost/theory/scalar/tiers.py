"""Integers of several tiers, public groups with their own levels: sums with noise, or a table on a window.

The private point has one integer for each group, and one neighbour changes one of them alone. Two kinds of law:

* **Sums**: groups are added up into one or several integers, each of which is released by its own mechanism on a line.
  A neighbour changes one of these integers, so each must satisfy the strictest level among its groups. Omitted groups
  cost nothing.
* **A table** of yes and no on a window of the grid, with a level in each direction (HET). A point outside is answered
  like the nearest one of the window: clamping an integer moves neighbours no farther apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from utmost.errors import CannotCertify, InvalidInput
from utmost.exact import MOST_BITS
from utmost.exact.arrays import Floats, Integers
from utmost.mechanism.certification import CertifiedMechanism, Check
from utmost.mechanism.exact_law import ExactMechanism, law_from_json, law_to_json
from utmost.mechanism.rounding import Weights
from utmost.mechanism.sampling import WORD, draw
from utmost.privacy import Level
from utmost.space.edge_levels import EdgeLevels
from utmost.space.integers import Tiers, unlisted_from_json, unlisted_to_json
from utmost.space.line import Line, cost, spread_out
from utmost.theory.scalar.line import LineMechanism
from utmost.theory.scalar.yes_or_no_blocks import Blocks

MOST_WINDOW = 10**5
"""Most points of the table of a file."""
STRICTEST, PER_TIER, SOME_TIERS = "the strictest level for all", "a count for each tier", "tiers left out"
"""The names of sums of tiers: of all, of each, and of those that are not left out."""
TRIED = 9
"""Number of places of each part at which the worst case is sought."""


@dataclass(frozen=True, eq=False)
class TieredSums(ExactMechanism):
    """Sums of some groups' integers, each released by its own mechanism on a line.

    Attributes
    ----------
    tiers : Tiers
        The grid.
    parts : tuple of tuples
        For every sum, the groups that it adds up; no group is in two of them.
    laws : tuple of mechanisms
        For every sum, the `LineMechanism` that releases it, or `Blocks` for yes or no.
    """

    kind: ClassVar[str] = "tiers.sums"
    tiers: Tiers
    parts: tuple[tuple[int, ...], ...]
    laws: tuple[Any, ...]

    @property
    def name(self) -> str:
        """The name in sentences."""
        if len(self.parts) == 1 and len(self.parts[0]) == len(self.tiers.lines):
            return STRICTEST
        return SOME_TIERS if self.left_out else PER_TIER

    @property
    def left_out(self) -> tuple[int, ...]:
        """The groups that are in no sum."""
        return tuple(t for t in range(len(self.tiers.lines)) if not any(t in part for part in self.parts))

    @property
    def guess(self) -> int:
        """The total assumed for omitted groups: the middle of each range, optimal under a uniform prior."""
        return sum((line.first + line.last) // 2 for line in map(self.tiers.lines.__getitem__, self.left_out))

    def sample(self, point: Sequence[int]) -> tuple[int, ...]:
        """Draw what is released: one exact draw for every sum."""
        inside = self.tiers.clamp(point)
        sums = (sum(inside[tier] for tier in part) for part in self.parts)
        return tuple(int(law.sample(at)) for law, at in zip(self.laws, sums, strict=True))

    def prove(self, space: Any, level: Level) -> Check:
        """Check that every sum satisfies the strictest level among its groups, and that no group is in two sums."""
        summed = [tier for part in self.parts for tier in part]
        if (
            space != self.tiers
            or len(set(summed)) < len(summed)
            or not set(summed) <= set(range(len(self.tiers.lines)))
        ):
            return Check("privacy", False, "the sums are not of these groups, each in one sum at most")
        promised = self.tiers.levels(level)
        for part, law in zip(self.parts, self.laws, strict=True):
            strictest = min((promised[tier] for tier in part), key=lambda tier_level: tier_level.log_growth)
            check: Check = law.prove(self.tiers.together(part), strictest)
            if not check.passed:
                return check
        promises = ", ".join(f"tier {tier + 1} {promise}" for tier, promise in enumerate(promised))
        return Check(
            "privacy", True, f"{promises}: one neighbour moves one sum, which keeps what its tiers are promised"
        )

    def errors(self) -> tuple[int, Floats]:
        """The law of the error of the released total, under a uniform prior over the grid."""
        return law_of_sum([law.errors() for law in self.laws] + [self._omission_error(tier) for tier in self.left_out])

    def expected(self, loss: str) -> float:
        """The expected loss of the released total, including the middles of omitted groups."""
        if not self.left_out and len(self.laws) == 1:
            return float(self.laws[0].expected(loss))
        return _average(self.errors(), loss)

    def worst(self, loss: str) -> float:
        """The worst expected loss among some points: `TRIED` places of each sum, both ends among them."""
        parts = []
        for law in self.laws:
            places = spread_out(law.line.points - 1, TRIED)[0]
            middle, last = (law.line.points - 1) // 2, law.line.points - 1
            parts.append([_law_at(law, place) for place in {*places, middle, last}])
        parts += [[(end, np.ones(1)) for end in self._ends(tier)] for tier in self.left_out]
        return max(_average(law_of_sum(laws), loss) for laws in product(*parts))

    def joint(self, grid: Tiers, border: int) -> Floats:
        """For yes or no: the joint probabilities of truth (rows) and answer, under a uniform prior."""
        sum_law, is_no, yes, no = self._by_sum(border)
        masses = [
            [sum_law @ (no * is_no), sum_law @ (yes * is_no)],
            [sum_law @ (no * (1 - is_no)), sum_law @ (yes * (1 - is_no))],
        ]
        return np.array(masses)

    def worst_wrong(self, border: int) -> float:
        """For yes or no: the error probability at the worst point."""
        _, is_no, yes, no = self._by_sum(border)
        return float(np.maximum(np.where(is_no > 0, yes, 0.0), np.where(is_no < 1, no, 0.0)).max())

    def _by_sum(self, border: int) -> tuple[Floats, Floats, Floats, Floats]:
        """For every value of the sum: its probability, and those that the truth is no, of yes, and of no."""
        ((part, law),) = zip(self.parts, self.laws, strict=True)
        line, rest = self.tiers.together(part), [self.tiers.lines[tier] for tier in self.left_out]
        sum_law, rest_law = sum_prior([self.tiers.lines[tier] for tier in part]), sum_prior(rest)
        below = np.concatenate([[0.0], np.cumsum(rest_law)])  # the distribution function of the rest
        below[-1] = 1.0
        sums = np.arange(line.first, line.last + 1)
        is_no = below[np.clip(border - sums - sum(rest_line.first for rest_line in rest), 0, len(rest_law))]
        blocks = np.clip((sums - law.first_yes) // law.width + law.no, 0, len(law.weights) - 1)
        yes, no = ((law.weights[:, answer] / (1 << law.bits)).astype(float) for answer in (1, 0))
        return sum_law, is_no, yes[blocks], no[blocks]

    def to_json(self) -> dict[str, Any]:
        return {
            "tiers": unlisted_to_json(self.tiers),
            "parts": [list(part) for part in self.parts],
            "laws": [law_to_json(law) for law in self.laws],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        tiers = unlisted_from_json(data["tiers"])
        parts = tuple(tuple(part) for part in data["parts"])
        laws = tuple(law_from_json(law) for law in data["laws"])
        if not isinstance(tiers, Tiers) or len(parts) != len(laws) or not all(parts):
            raise InvalidInput("sums are of tiers, each with its law.")
        if not all(type(tier) is int and 0 <= tier < len(tiers.lines) for part in parts for tier in part):
            raise InvalidInput("a sum is of tiers that there are.")
        if not all(isinstance(law, LineMechanism | Blocks) for law in laws):
            raise InvalidInput("a sum is released by a mechanism on a line.")
        return cls(tiers, parts, laws)

    def _ends(self, tier: int) -> tuple[int, int]:
        """The error of the middle of a group's range at both ends."""
        line = self.tiers.lines[tier]
        middle = (line.first + line.last) // 2
        return middle - line.first, middle - line.last

    def _omission_error(self, tier: int) -> tuple[int, Floats]:
        points = self.tiers.lines[tier].points
        return self._ends(tier)[1], np.full(points, 1 / points)


@dataclass(frozen=True, eq=False)
class TieredTable(ExactMechanism):
    """Yes or no about the sum of all groups' integers, from a table of weights on a window of the grid.

    Attributes
    ----------
    window : Tiers
        The part of the grid that the table covers.
    weights : array of int
        For every point of the window, in row-major order, the weights of False and True, over 2^bits.
    """

    kind: ClassVar[str] = "tiers.table"
    window: Tiers
    weights: Weights
    bits: int

    @property
    def name(self) -> str:
        """The name in sentences."""
        return f"linear program on a window of {self.window.points} points"

    def sample(self, point: Sequence[int]) -> bool:
        """Draw a private answer exactly, from the weights of the nearest point of the window."""
        inside = self.window.clamp(point)
        offsets = [at - line.first for at, line in zip(inside, self.window.lines, strict=True)]
        place = int(np.ravel_multi_index(offsets, [line.points for line in self.window.lines]))
        return bool(draw(self.weights[place], self.bits, 1)[0])

    def prove(self, space: Any, level: Level) -> Check:
        """Check the privacy of the weights on every edge of the window, in integers."""
        if not isinstance(space, Tiers) or window_of(space, [(w.first, w.last) for w in self.window.lines]) != (
            self.window
        ):
            return Check("privacy", False, "the table is not on a window of this grid")
        try:
            CertifiedMechanism(self.weights, self.bits, (False, True), grid_levels(self.window, level))
        except (CannotCertify, InvalidInput) as reason:
            return Check("privacy", False, str(reason))
        promises = ", ".join(f"tier {tier + 1} {promise}" for tier, promise in enumerate(self.window.levels(level)))
        return Check(
            "privacy", True, f"{promises}: proved in exact arithmetic on a window of {self.window.points} points"
        )

    @cached_property
    def yes(self) -> Floats:
        """The probability of yes at each point of the window."""
        return (self.weights[:, 1] / (1 << self.bits)).astype(float)

    def joint(self, grid: Tiers, border: int) -> Floats:
        """The joint probabilities of truth (rows) and answer, under a uniform prior over the grid."""
        truth, mass = grid_sums(self.window) >= border, self.masses(grid)
        no = (self.weights[:, 0] / (1 << self.bits)).astype(float)
        return np.array([[mass[side] @ no[side], mass[side] @ self.yes[side]] for side in (~truth, truth)])

    def worst_wrong(self, border: int) -> float:
        """The error probability at the worst point."""
        no = (self.weights[:, 0] / (1 << self.bits)).astype(float)
        return float(np.where(grid_sums(self.window) >= border, no, self.yes).max())

    def masses(self, space: Tiers) -> Floats:
        """The mass of a uniform prior over the grid that is clamped to each point of the window."""
        masses = np.ones(1)
        for line, part in zip(space.lines, self.window.lines, strict=True):
            along = np.full(part.points, 1.0)
            along[0] += part.first - line.first
            along[-1] += line.last - part.last
            masses = np.outer(masses, along / line.points).ravel()
        return masses

    def to_json(self) -> dict[str, Any]:
        rows = [[str(w) for w in row] for row in self.weights.tolist()]
        return {"window": unlisted_to_json(self.window), "bits": self.bits, "weights": rows}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        window, bits = unlisted_from_json(data["window"]), data["bits"]
        rows = [[int(w) for w in row] for row in data["weights"]]
        if not isinstance(window, Tiers) or window.points > MOST_WINDOW or len(rows) != window.points:
            raise InvalidInput(f"a table has two weights for each point of a grid of up to {MOST_WINDOW} points.")
        if type(bits) is not int or not 0 < bits <= MOST_BITS or not all(len(row) == 2 for row in rows):
            raise InvalidInput("a table has two weights for each point, over a power of two.")
        if any(not 0 <= w <= 1 << bits for row in rows for w in row):
            raise InvalidInput("a weight is not between 0 and the total.")
        kind: Any = np.int64 if bits <= WORD else object
        return cls(window, np.array(rows, dtype=kind), bits)


def error_probability(mechanism: TieredSums | TieredTable, grid: Tiers, border: int) -> float:
    """The error probability under a uniform prior over the grid."""
    joint = mechanism.joint(grid, border)
    return float(joint[0, 1] + joint[1, 0])


def window_of(space: Tiers, ends: Sequence[tuple[int, int]]) -> Tiers | None:
    """The part of a grid between these ends; None if it exceeds the grid."""
    if len(ends) != len(space.lines):
        return None
    lines = []
    for (first, last), line in zip(ends, space.lines, strict=True):
        if not line.first <= first <= last <= line.last:
            return None
        lines.append(Line(first, last, min(line.reach, last - first)))
    return Tiers(tuple(lines), space.shares)


def grid_levels(space: Tiers, level: Level) -> EdgeLevels:
    """The level of each edge of a grid: that of the group whose integer changes."""
    graph, directions = space.space()
    return EdgeLevels(graph, named=space.levels(level), which=directions)


def grid_sums(space: Tiers) -> Integers:
    """The sum of the integers at each point of a grid, in row-major order."""
    sums: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
    for line in space.lines:
        sums = np.add.outer(sums, np.arange(line.first, line.last + 1)).ravel()
    return sums


def sum_prior(lines: Sequence[Line]) -> Floats:
    """The law of a sum of independent integers, uniform on these lines, from the least sum on.

    Examples
    --------
    >>> sum_prior([Line(0, 1, 1), Line(0, 2, 1)]) * 6
    array([1., 2., 2., 1.])
    """
    ways = np.ones(1)  # whole numbers, exact as floats up to 2^53
    for line in lines:
        running = np.concatenate([[0.0], np.cumsum(np.pad(ways, (0, line.points - 1)))])
        ways = running[1:] - running[np.maximum(np.arange(1, len(running)) - line.points, 0)]
    return np.asarray(ways / ways.sum())


def law_of_sum(laws: Sequence[tuple[int, Floats]]) -> tuple[int, Floats]:
    """The law of a sum of independent integers: its least value, and the probabilities from there on."""
    minimum, chances = 0, np.ones(1)
    for first, law in laws:
        minimum, chances = minimum + first, np.convolve(chances, law)
    return minimum, chances


def _law_at(law: LineMechanism, place: int) -> tuple[int, Floats]:
    released, chances = law.law(law.line.first + place)
    off = released - law.line.first - place
    return int(off.min()), np.bincount(off - off.min(), chances).astype(float)


def _average(errors: tuple[int, Floats], loss: str) -> float:
    first, chances = errors
    return float(chances @ cost(loss, first + np.arange(len(chances))))
