"""Yes or no about an integer by blocks of a line: a table of certified integers for millions of points.

Block b holds the integers t with b = floor((t - first yes) / width), counted from the border outwards; the last block
of either side holds all beyond it. Integers at most `reach` apart lie in blocks at most ceil(reach / width) apart, so a
mechanism on the blocks that is private at this distance is private on the line: a pull-back along a morphism.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from utmost.errors import CannotCertify, InvalidInput
from utmost.exact import MOST_BITS
from utmost.mechanism.certification import CertifiedMechanism, Check
from utmost.mechanism.exact_law import ExactMechanism
from utmost.mechanism.rounding import Weights
from utmost.mechanism.sampling import WORD, draw
from utmost.privacy import Level
from utmost.space.edge_levels import on_edges
from utmost.space.line import Line

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Blocks(ExactMechanism):
    """The answers "no" and "yes" (False, True) about an integer, drawn from one row of weights per block.

    Attributes
    ----------
    first_yes : int
        The least integer for which the truth is yes.
    width : int
        The number of integers in a block.
    no : int
        The number of blocks before the border.
    weights : array of int
        For every block, the integer weights of False and True, over 2^bits.
    """

    kind = "yes or no by blocks"
    first_yes: int
    width: int
    no: int
    weights: Weights
    bits: int

    def sample(self, point: int) -> bool:
        """Draw a private answer exactly, from the weights of the point's block."""
        return bool(draw(self.weights[self.block(point)], self.bits, 1)[0])

    def sample_many(self, points: Any) -> NDArray[np.bool_]:
        """Draw private answers about many integers, independently."""
        blocks = np.clip((np.asarray(points) - self.first_yes) // self.width + self.no, 0, len(self.weights) - 1)
        answers = np.empty(len(blocks), dtype=bool)
        for block in np.unique(blocks).tolist():
            places = np.flatnonzero(blocks == block)
            answers[places] = draw(self.weights[block], self.bits, len(places)).astype(bool)
        return answers

    def block(self, point: int) -> int:
        """The block of an integer."""
        return min(max((point - self.first_yes) // self.width + self.no, 0), len(self.weights) - 1)

    @cached_property
    def yes(self) -> Floats:
        """The probability of yes in each block."""
        return (self.weights[:, 1] / (1 << self.bits)).astype(float)

    @cached_property
    def wrong(self) -> Floats:
        """The error probability in each block: of no after the border, of yes before it."""
        return np.where(np.arange(len(self.weights)) >= self.no, self.weights[:, 0] / (1 << self.bits), self.yes)

    def masses(self, line: Line, prior: Floats | None) -> Floats:
        """The prior probability of each block (None is uniform over the line)."""
        cuts = self.first_yes + self.width * (np.arange(1, len(self.weights)) - self.no)
        edges = np.concatenate([[line.first], np.clip(cuts, line.first, line.last + 1), [line.last + 1]])
        if prior is None:
            return np.asarray(np.diff(edges) / line.points)
        return np.diff(np.concatenate([[0.0], np.cumsum(prior)])[edges - line.first])

    def prove(self, space: Any, level: Level) -> Check:
        """Check the privacy of the weights for blocks as far apart as neighbours may lie, in integers."""
        if not isinstance(space, Line) or not 0 < self.no < len(self.weights):
            return Check("privacy", False, "blocks are about integers in a row, on both sides of a border")
        try:
            self._prove(space, level)
        except (CannotCertify, InvalidInput) as reason:
            return Check("privacy", False, str(reason))
        detail = f"{level} proved in exact arithmetic on {len(self.weights)} blocks of {self.width}"
        return Check("privacy", True, f"{detail}; neighbours lie in blocks at most {self._apart(space)} apart")

    def to_json(self) -> dict[str, Any]:
        """Plain data, with weights as decimal text because many JSON readers use floats."""
        rows = [[str(w) for w in row] for row in self.weights.tolist()]
        return {"first_yes": self.first_yes, "width": self.width, "no": self.no, "bits": self.bits, "weights": rows}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The mechanism written by `to_json`."""
        numbers = [data[name] for name in ("first_yes", "width", "no", "bits")]
        rows = [[int(w) for w in row] for row in data["weights"]]
        if not all(type(x) is int for x in numbers) or not all(len(row) == 2 for row in rows) or len(rows) < 2:
            raise InvalidInput("blocks need whole numbers, and two weights in each of two or more rows.")
        first_yes, width, no, bits = numbers
        if not 1 <= width <= 2**WORD or abs(first_yes) > 2**WORD or not 0 <= no <= len(rows):
            raise InvalidInput("blocks lie among numbers of 62 bits, on both sides of a border, and none is empty.")
        if not 0 < bits <= MOST_BITS or any(not 0 <= w <= 1 << bits for row in rows for w in row):
            raise InvalidInput("a weight is not between 0 and the total.")
        kind: Any = np.int64 if bits <= WORD else object
        return cls(first_yes, width, no, np.array(rows, dtype=kind), bits)

    def _apart(self, line: Line) -> int:
        return -(-line.reach // self.width)

    def _prove(self, line: Line, level: Level) -> CertifiedMechanism:
        blocks = Line(0, len(self.weights) - 1, min(self._apart(line), len(self.weights) - 1))
        return CertifiedMechanism(self.weights, self.bits, (False, True), on_edges(blocks.space(), level))
