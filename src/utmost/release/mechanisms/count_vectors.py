"""Three ways to release several counts: each alone, all with one vector of noise, or by a mechanism on their grid."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from utmost.errors import TooLarge
from utmost.mechanism import loss_table
from utmost.mechanism.decaying import DecayingMechanism
from utmost.privacy import ApproxDP
from utmost.release.alternatives import expected_cut_off, worst_cut_off
from utmost.release.costs import cost
from utmost.release.mechanisms.balls import BallNoise
from utmost.release.mechanisms.beliefs import Belief, belief, cube_beliefs, exchange_beliefs
from utmost.release.mechanisms.choice import Design
from utmost.solution import Solution
from utmost.space.integers import Line

Floats: TypeAlias = NDArray[np.float64]
MOST_WORK = 10**9
"""Up to how many counts times squared radii the other answers are taken into account, for exchange noise."""


@dataclass(frozen=True, eq=False)
class Alone:
    """Every count by itself, with its share of the level.

    Attributes
    ----------
    at_once : how many counts "zero-one" loss asks to be right at once
    """

    design: Design
    at_once: int = 1
    given_all: ClassVar[bool] = True  # each count is drawn by itself: other answers say nothing about it

    def draw(self, point: tuple[int, ...]) -> tuple[int, ...]:
        """A private answer for every count."""
        return tuple(self.design.release(x) for x in point)

    def posterior(self, released: tuple[int, ...]) -> list[Belief]:
        """What to believe about every count."""
        return [self._posterior(value) for value in released]

    def worst(self, loss: str) -> float:
        """The expected loss where every count is at its worst point."""
        return any_wrong(self.design.worst, self.at_once) if loss == "zero-one" else self.design.worst

    def verify(self) -> bool:
        """Prove privacy again."""
        return self.design.verify()

    def _posterior(self, value: int) -> Belief:
        points, chances = self.design.mechanism.posterior(value)  # type: ignore[union-attr]
        return points + self.design.line.first, chances


@dataclass(frozen=True, eq=False)
class Together:
    """Noise on all counts at once, cut off at the ends."""

    noise: BallNoise
    line: Line

    def draw(self, point: tuple[int, ...]) -> tuple[int, ...]:
        """A private answer for every count."""
        return tuple(self.line.clamp(x + z) for x, z in zip(point, self.noise.sample(), strict=True))

    def posterior(self, released: tuple[int, ...]) -> list[Belief]:
        """What to believe about every count, given all answers, or where that takes too long each its own."""
        first, last = self.line.first, self.line.last - self.line.first
        answers = [value - first for value in released]
        if self.noise.shape == "cube":
            found = cube_beliefs(self.noise.decay, last, answers)
        elif self._far is not None:
            found = exchange_beliefs(self.noise.decay, last, answers, self._far)
        else:
            found = [belief(answer, last, self.noise.marginal[::-1], self.noise.marginal[1:]) for answer in answers]
        return [(points + first, chances) for points, chances in found]

    @property
    def given_all(self) -> bool:
        """Whether what is believed about a count takes the other answers into account."""
        return self.noise.shape == "cube" or self._far is not None

    @cached_property
    def _far(self) -> int | None:
        """A radius of exchange noise beyond which nothing matters whatever is answered; None if it is too large.

        A count whose answer is at an end has a way for every point beyond it, as if there were two coordinates: the
        radius given the answers is at most that of twice as many counts, in likelihood ratio.
        """
        try:
            far = replace(self.noise, dimension=2 * self.noise.dimension).reach
        except TooLarge:
            return None
        return far if self.noise.dimension * far**2 <= MOST_WORK else None

    def worst(self, loss: str) -> float:
        """The expected loss of one count at its worst point; all right at once for "zero-one" in a cube."""
        if loss == "zero-one" and self.noise.shape == "cube":
            return self._wrong(0 if self.line.points > 2 else self.noise.dimension)
        return worst_cut_off(self.line, *self._tail, loss)

    def expected(self, loss: str) -> float:
        """The expected loss of one count under the uniform prior; all right at once for "zero-one" in a cube."""
        if loss == "zero-one" and self.noise.shape == "cube":
            d, share = self.noise.dimension, min(2, self.line.points) / self.line.points
            return sum(
                math.comb(d, at_end) * share**at_end * (1 - share) ** (d - at_end) * self._wrong(at_end)
                for at_end in range(d + 1)
            )
        return expected_cut_off(self.line, *self._tail, loss)

    @cached_property
    def _tail(self) -> tuple[Callable[[Floats], Floats], int]:
        """The probability of noise at or above t in one count, and how far it matters."""
        law = self.noise.marginal
        tail = np.append(np.cumsum(law[::-1])[::-1], 0.0)
        return lambda t: tail[np.minimum(t.astype(int), len(law))], len(law)

    def _wrong(self, at_end: int) -> float:
        """The probability that not all are right where so many lie at an end: noise beyond it does no harm."""
        law, radii = self.noise.radius_law, np.arange(self.noise.reach + 1.0)
        right = at_end * np.log(radii + 1) - self.noise.dimension * np.log(2 * radii + 1)
        return float(law @ -np.expm1(right))

    def verify(self) -> bool:
        """Prove privacy again: the decay of the law against the level, exactly."""
        return self.noise.keeps()


@dataclass(frozen=True, eq=False)
class Board:
    """A mechanism on the grid of all results."""

    solution: Solution
    given_all: ClassVar[bool] = True

    def draw(self, point: tuple[int, ...]) -> tuple[int, ...]:
        """A private answer for every count, drawn from the certified row."""
        return tuple(self.solution.certified.sample(point))

    def posterior(self, released: tuple[int, ...]) -> list[Belief]:
        """What to believe about every count, given all that was released."""
        space, mechanism = self.solution.problem.space, self.solution.mechanism
        if self.solution.problem.question == "finite.tight_constraints":
            level = self.solution.problem.privacy.single
            assert isinstance(level, ApproxDP)
            column = np.exp(-level.log_growth * space.distances_from(released))
        else:
            column = mechanism.matrix[:, space.index(released)]
        sides = space.points.shape
        law = (column / column.sum()).reshape(sides)
        places = range(len(sides))
        return [(np.arange(sides[i]), law.sum(axis=tuple(j for j in places if j != i))) for i in places]

    def expected(self, loss: str) -> float:
        """The expected loss under the uniform prior."""
        points = self.solution.mechanism.points
        return float(self.solution.mechanism.expected_loss(loss=tuple_losses(loss, points), remap="none"))

    def worst(self, loss: str) -> float:
        """The expected loss at the worst point."""
        mechanism = self.solution.mechanism
        if isinstance(mechanism, DecayingMechanism):  # tight constraints, chosen for zero-one loss only
            return float(1 - mechanism.diagonal.min())
        return float((mechanism.matrix * tuple_losses(loss, mechanism.points)).sum(axis=1).max())

    def verify(self) -> bool:
        """Prove privacy and optimality again."""
        return bool(self.solution.verify())


def any_wrong(wrong: float, counts: int) -> float:
    """The probability that any of so many independent counts is wrong: 1 - (1 - wrong)^counts, also of tiny ones."""
    return -math.expm1(counts * math.log1p(-wrong)) if wrong < 1 else 1.0


def tuple_losses(loss: str, points: Any) -> Floats:
    """The loss of answering one tuple for another: averaged over the counts; of "zero-one", 1 unless all are right."""
    listed = np.array(list(points))
    if loss == "zero-one":
        return loss_table("zero-one", range(len(listed)), range(len(listed)))
    return np.asarray(cost(loss, listed[:, None, :] - listed[None, :, :]).mean(axis=2))
