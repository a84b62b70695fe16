"""Three ways to release several counts: each alone, all with one vector of noise, or by a mechanism on their grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from utmost.decaying import DecayingMechanism
from utmost.mechanism import loss_table
from utmost.privacy import ApproxDP
from utmost.release.mechanisms.alternatives import expected_cut_off
from utmost.release.mechanisms.balls import BallNoise
from utmost.release.mechanisms.choice import Design
from utmost.release.mechanisms.line import Line
from utmost.release.mechanisms.losses import cost
from utmost.solution import Solution

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Alone:
    """Every count by itself, with its share of the level."""

    design: Design

    def draw(self, point: tuple[int, ...]) -> tuple[int, ...]:
        """A private answer for every count."""
        return tuple(self.design.release(x) for x in point)

    def posterior(self, released: tuple[int, ...], place: int) -> tuple[NDArray[Any], Floats]:
        """What to believe about one count."""
        points, chances = self.design.mechanism.posterior(released[place])  # type: ignore[union-attr]
        return points + self.design.line.first, chances

    def worst(self, loss: str) -> float:
        """The expected loss of a count at its worst point."""
        return self.design.worst

    def verify(self) -> bool:
        """Prove privacy again."""
        return self.design.verify()


@dataclass(frozen=True, eq=False)
class Together:
    """Noise on all counts at once, cut off at the ends."""

    noise: BallNoise
    line: Line

    def draw(self, point: tuple[int, ...]) -> tuple[int, ...]:
        """A private answer for every count."""
        return tuple(self.line.clamp(x + z) for x, z in zip(point, self.noise.sample(), strict=True))

    def posterior(self, released: tuple[int, ...], place: int) -> tuple[NDArray[Any], Floats]:
        """What to believe about one count, given what was released for it alone."""
        law, value = self.noise.marginal, released[place]
        tail = np.append(np.cumsum(law[::-1])[::-1], 0.0)  # of noise at or above 0, 1, 2, ...
        far = len(law) - 1
        points = np.arange(max(self.line.first, value - far), min(self.line.last, value + far) + 1)
        away = np.abs(points - value)
        at_end = value in (self.line.first, self.line.last)
        chances = np.where(at_end, tail[away], law[away])
        return points, chances / chances.sum()

    def worst(self, loss: str) -> float:
        """The expected loss of a count far from both ends, where noise is not cut off."""
        law = self.noise.marginal
        if loss == "zero-one" and self.noise.shape == "cube":
            return 1 - self.noise.probability((0,) * self.noise.dimension)
        return float(2 * (law[1:] @ cost(loss, np.arange(1, len(law)))))

    def expected(self, loss: str) -> float:
        """The expected loss of one count under the uniform prior; all right at once for "zero-one" in a cube."""
        if loss == "zero-one" and self.noise.shape == "cube":
            return 1 - self._all_right()
        law = self.noise.marginal
        tail = np.append(np.cumsum(law[::-1])[::-1], 0.0)
        return expected_cut_off(self.line, lambda t: tail[np.minimum(t.astype(int), len(law))], len(law), loss)

    def _all_right(self) -> float:
        """At an end noise beyond it does no harm: sums over how many of the counts lie at an end."""
        law, d, ends = self.noise.radius_law, self.noise.dimension, min(2, self.line.points)
        radii = np.arange(len(law))
        share, total = ends / self.line.points, 0.0
        for at_end in range(d + 1):
            inside = (radii + 1.0) ** at_end / (2.0 * radii + 1) ** d
            total += math.comb(d, at_end) * share**at_end * (1 - share) ** (d - at_end) * float(law @ inside)
        return total

    def verify(self) -> bool:
        """Prove privacy again: the decay of the law against the level, exactly."""
        return self.noise.keeps()


@dataclass(frozen=True, eq=False)
class Board:
    """A mechanism on the grid of all results."""

    solution: Solution

    def draw(self, point: tuple[int, ...]) -> tuple[int, ...]:
        """A private answer for every count, drawn from the certified row."""
        return tuple(self.solution.certified.sample(point))

    def posterior(self, released: tuple[int, ...], place: int) -> tuple[NDArray[Any], Floats]:
        """What to believe about one count, given all that was released."""
        space, mechanism = self.solution.problem.space, self.solution.mechanism
        if self.solution.problem.question == "finite.tight_constraints":
            level = self.solution.problem.privacy.single
            assert isinstance(level, ApproxDP)
            column = np.exp(-level.log_growth * space.distances_from(released))
        else:
            column = mechanism.matrix[:, space.index(released)]
        sides = space.family[1]["shape"] if space.family else ()
        rest = tuple(i for i in range(len(sides)) if i != place)
        chances = column.reshape(sides).sum(axis=rest)
        return np.arange(len(chances)), chances / chances.sum()

    def expected(self, loss: str) -> float:
        """The expected loss under the uniform prior."""
        points = self.solution.mechanism.points
        return self.solution.mechanism.expected_loss(loss=tuple_losses(loss, points), remap="none")

    def worst(self, loss: str) -> float:
        """The expected loss at the worst point."""
        mechanism = self.solution.mechanism
        if isinstance(mechanism, DecayingMechanism):  # tight constraints, chosen for zero-one loss only
            return float(1 - mechanism.diagonal.min())
        return float((mechanism.matrix * tuple_losses(loss, mechanism.points)).sum(axis=1).max())

    def verify(self) -> bool:
        """Prove privacy and optimality again."""
        return bool(self.solution.verify())


def tuple_losses(loss: str, points: Any) -> Floats:
    """The loss of answering one tuple for another: averaged over the counts; of "zero-one", 1 unless all are right."""
    listed = np.array(list(points))
    if loss == "zero-one":
        return loss_table("zero-one", range(len(listed)), range(len(listed)))
    return np.asarray(cost(loss, listed[:, None, :] - listed[None, :, :]).mean(axis=2))
