"""A mechanism on a short line as a table of certified integers: the optimum of a linear program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from utmost.errors import CannotCertify, InvalidInput, TooLarge
from utmost.exact import MOST_BITS
from utmost.exact.arrays import Floats, Integers
from utmost.mechanism.certification import CertifiedMechanism, Check
from utmost.mechanism.rounding import Weights
from utmost.mechanism.sampling import WORD, draw
from utmost.privacy import Level
from utmost.space.edge_levels import on_edges
from utmost.space.integers import unlisted_to_json
from utmost.space.line import Line, cost, require_line_loss
from utmost.theory.scalar.line import LineMechanism, neyman_interval, plain_prior, read_line, weigh

MOST_POINTS = 1500


@dataclass(frozen=True, eq=False)
class TableLine(LineMechanism):
    """For each point of a line, a row of integers over 2^bits: the probabilities of every answer, which is a point."""

    kind: ClassVar[str] = "line.table"
    line: Line
    weights: Weights
    bits: int
    loss: str
    prior: Floats | None = None

    def __post_init__(self) -> None:
        if self.line.points > MOST_POINTS:
            raise TooLarge(f"a table of {self.line.points} points does not fit.")
        if self.weights.shape != (self.line.points, self.line.points) or not 0 < self.bits <= MOST_BITS:
            raise InvalidInput("the table does not fit the line.")

    @property
    def name(self) -> str:
        return "the linear program's optimum"

    @cached_property
    def matrix(self) -> Floats:
        """The probabilities, rounded to floats."""
        return np.asarray((self.weights.astype(object) / (1 << self.bits)).astype(float))

    def sample(self, point: Any) -> int:
        row = self.weights[self.line.clamp(int(point)) - self.line.first]
        return int(self.line.first + int(draw(row, self.bits, 1)[0]))

    def prove(self, space: Any, level: Level) -> Check:
        if space != self.line:
            return Check("privacy", False, f"the table is made for {self.line}, not for {space}")
        try:
            CertifiedMechanism(self.weights, self.bits, range(self.line.points), on_edges(self.line.space(), level))
        except CannotCertify as broken:
            return Check("privacy", False, str(broken))
        return Check("privacy", True, f"{level} proved in exact arithmetic on every pair of neighbours")

    def law(self, point: int) -> tuple[Integers, Floats]:
        return self.line.first + np.arange(self.line.points), self.matrix[point - self.line.first]

    def expected(self, loss: str) -> float:
        positions = np.arange(self.line.points)
        losses = (self.matrix * cost(loss, positions[:, None] - positions)).sum(axis=1)
        return float(losses.mean() if self.prior is None else self.prior @ losses)

    def posterior(self, value: int) -> tuple[Integers, Floats]:
        points = self.line.first + np.arange(self.line.points)
        return weigh(self.line, points, self.matrix[:, value - self.line.first], self.prior)

    def interval(self, value: int, confidence: float) -> tuple[int, int]:
        place, points = value - self.line.first, self.line.first + np.arange(self.line.points)
        as_low, as_high = self.matrix[:, : place + 1].sum(axis=1), self.matrix[:, place:].sum(axis=1)
        return neyman_interval(points, as_low, as_high, value, confidence)

    def to_json(self) -> dict[str, Any]:
        return {
            "line": unlisted_to_json(self.line),
            "loss": self.loss,
            "prior": plain_prior(self.prior),
            "bits": self.bits,
            "weights": [[str(w) for w in row] for row in self.weights.tolist()],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        line, prior = read_line(data)
        bits, rows = int(data["bits"]), [[int(w) for w in row] for row in data["weights"]]
        if not 0 < bits <= MOST_BITS:
            raise InvalidInput(f"weights are over a power of two up to 2^{MOST_BITS}.")
        if any(len(row) != line.points or any(not 0 <= w <= 1 << bits for w in row) for row in rows):
            raise InvalidInput(f"every row needs {line.points} weights between 0 and 2^{bits}.")
        weights = np.array(rows, dtype=np.int64 if bits <= WORD else object).reshape(len(rows), line.points)
        return cls(line, weights, bits, require_line_loss(data["loss"]), prior)
