"""The mechanism that adds noise to a vector of integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from utmost.exact.arrays import Floats
from utmost.mechanism.certification import Check
from utmost.mechanism.exact_law import ExactMechanism
from utmost.mechanism.noise.law import NoiseLaw, read_law
from utmost.privacy import Level
from utmost.space.integers import Lattice, Strategy
from utmost.space.line import require_line_loss


@dataclass(frozen=True, eq=False)
class NoisyVector(ExactMechanism):
    """A vector of integers with noise added, without clamping or post-processing, so that it is unbiased.

    Attributes
    ----------
    noise : NoiseLaw
        The law of the noise, one of vectors.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from utmost.mechanism.noise.balls import BallLaw
    >>> mechanism = NoisyVector(BallLaw("one-way", 3, Fraction(1, 3)))
    >>> len(mechanism.sample((10, 20, 30))), round(mechanism.expected("absolute"), 6)
    (3, 1.425)
    """

    kind: ClassVar[str] = "vector.noise"
    noise: Any

    @property
    def name(self) -> str:
        """The mechanism in words."""
        return str(self.noise.name)

    def sample(self, point: Sequence[int]) -> tuple[int, ...]:
        noise = self.noise.draw(1)[0].tolist()
        return tuple(int(x) + int(z) for x, z in zip(point, noise, strict=True))

    def sample_many(self, points: ArrayLike) -> NDArray[Any]:
        """One draw at each of many points, the rows of an array."""
        rows = np.asarray(points)
        return np.asarray(rows + self.noise.draw(len(rows)))

    def expected(self, loss: str) -> float:
        """The expected loss of one integer: "absolute", "squared", "zero-one" or "within k"."""
        return float(self.noise.mean(require_line_loss(loss)))

    def worst(self, loss: str) -> float:
        """The expected loss at the worst point: equal at all points."""
        return self.expected(loss)

    def tail(self, t: ArrayLike) -> Floats:
        """The probability of an error of t or more in one integer."""
        return np.asarray(self.noise.tail(t))

    def half_width(self, confidence: Any) -> int:
        """The least n such that one integer's error is within ±n with at least this probability, for every table."""
        return int(self.noise.half_width(confidence))

    def prove(self, space: Any, level: Level) -> Check:
        noise: NoiseLaw = self.noise
        if isinstance(space, Strategy) and noise.independent is None:
            return Check("privacy", False, "weighted sums of cells need noise of their own each")
        if not isinstance(space, Lattice | Strategy):
            return Check("privacy", False, "noise on vectors needs to know the moves of a lattice")
        return noise.prove(space, level)

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = self.noise.to_json()
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(read_law(data["law"], data, on_vectors=True))
