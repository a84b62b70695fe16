"""The first kind of question: the answer is a number, or several, made of integers that were released with noise.

One integer is released by the best mechanism on its line, with the best guess put in place of what comes out unless
`unbiased` asks for the noisy number itself. Several integers get one vector of noise made for the moves that one
neighbour can really make, and nothing is cut off or guessed: their errors have mean 0.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from utmost.errors import InvalidInput, shown
from utmost.exact import as_plain
from utmost.release.accuracy import BY_LAW, CONFIDENCE, After, Before, shortest_interval
from utmost.release.alternatives import noise_alternatives, number_alternatives
from utmost.release.costs import cost, scaled, shown_with
from utmost.release.questions.question import Question
from utmost.space.integers import Lattice, Line

REMAPPED = (
    "the number shown is the best guess from the noisy count under a {prior} prior; ask unbiased=True for the noisy one"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Numbers(Question):
    """A question whose answer is made of integers with noise.

    Attributes
    ----------
    loss : what the mechanism is best for
    """

    loss: str = "absolute"

    @property
    def step(self) -> Fraction:
        """What one step of a released integer is worth, in the unit of the answer."""
        return Fraction(1)

    @property
    def names(self) -> tuple[str, ...]:
        """What the released integers are called."""
        return (self.name,)

    @property
    def average(self) -> float:
        return self._scaled(self.solution.value)

    def before(self) -> Before:
        return Before(self.loss, self.average, self._scaled(self.solution.mechanism.worst(self.loss)))

    def compared(self) -> dict[str, dict[str, float]]:
        losses = shown_with(self.loss)
        ours = {each: self.solution.mechanism.expected(each) for each in losses}
        laws = {"Utmost": ours, **self.alternatives(losses)}
        return {
            name: {loss: scaled(loss, value, float(self.step)) for loss, value in by.items()}
            for name, by in laws.items()
        }

    def alternatives(self, losses: tuple[str, ...]) -> dict[str, dict[str, float]]:
        """The expected losses of the usual noises, in steps, by name and loss."""
        raise NotImplementedError

    def _scaled(self, value: float) -> float:
        return scaled(self.loss, value, float(self.step))

    def _within(self, released: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
        """An interval for every released integer from the noise's own law: whatever the table holds."""
        half = self.solution.mechanism.noise.half_width(CONFIDENCE)
        ends = {name: (released[name] - half, released[name] + half) for name in self.names}
        return {name: (as_plain(low * self.step), as_plain(high * self.step)) for name, (low, high) in ends.items()}


@dataclass(frozen=True, eq=False, kw_only=True)
class Number(Numbers):
    """One integer on a line.

    Attributes
    ----------
    prior : a probability for each possible integer, in increasing order; None is uniform
    unbiased : whether the noisy integer itself is the answer
    """

    prior: Any = None
    unbiased: bool = False

    @property
    def space(self) -> Line:
        raise NotImplementedError

    def point(self, found: Mapping[str, int]) -> int:
        return self.space.clamp(found[self.names[0]])

    def released(self, drawn: Any) -> dict[str, Any]:
        return {self.names[0]: int(drawn)}

    def value(self, released: Mapping[str, Any]) -> Any:
        return as_plain(released[self.names[0]] * self.step)

    def after(self, released: Mapping[str, Any]) -> After:
        name = self.names[0]
        if self.unbiased:
            return After(self._within(released), given=BY_LAW)
        points, chances = self.solution.mechanism.posterior(released[name])
        low, high = shortest_interval(points, chances)
        expected = float(chances @ cost(self.loss, points - released[name]))
        return After(
            {name: (as_plain(low * self.step), as_plain(high * self.step))},
            given=f"a {prior_name(self.prior)} prior and this answer",
            expected=self._scaled(expected),
        )

    def alternatives(self, losses: tuple[str, ...]) -> dict[str, dict[str, float]]:
        if self.unbiased:  # compared with noise that is not cut off either
            line = self.space
            return noise_alternatives(Lattice(1, "any", line.reach, line.first, line.last), self.privacy, losses)
        return number_alternatives(self.space, self.privacy, losses, self.prior)

    def belief(self, released: Mapping[str, Any]) -> tuple[Any, Any] | None:
        """How likely each true value is, given the prior and the answer: for a picture; None where it was not asked."""
        if self.unbiased:
            return None
        points, chances = self.solution.mechanism.posterior(released[self.names[0]])
        return points * float(self.step), chances


@dataclass(frozen=True, eq=False, kw_only=True)
class Vector(Numbers):
    """Several integers with one vector of noise; the answer is a dict."""

    @property
    def space(self) -> Lattice:
        raise NotImplementedError

    def point(self, found: Mapping[str, int]) -> tuple[int, ...]:
        return self.space.clamp([found[f"c{i}"] for i in range(self.space.dimension)])

    def released(self, drawn: Any) -> dict[str, Any]:
        return {name: int(x) for name, x in zip(self.names, drawn, strict=True)}

    def value(self, released: Mapping[str, Any]) -> Any:
        return {name: released[name] for name in self.names}  # in the order asked

    def after(self, released: Mapping[str, Any]) -> After:
        return After(self._within(released), given=BY_LAW)

    def alternatives(self, losses: tuple[str, ...]) -> dict[str, dict[str, float]]:
        return noise_alternatives(self.space, self.privacy, losses)


def require_unbiased(unbiased: Any) -> bool:
    """Whether the noisy number itself is asked for."""
    if not isinstance(unbiased, bool):
        raise InvalidInput(f"unbiased is {shown(unbiased)}; say True for the noisy number itself, or leave it out.")
    return unbiased


def prior_name(prior: Any) -> str:
    """Whether a prior is listed."""
    return "uniform" if prior is None else "listed"


def prior_text(prior: Any) -> str:
    """A prior as plain data; a listed one by its fingerprint."""
    if prior is None:
        return "uniform"
    return "listed, " + hashlib.sha256(np.ascontiguousarray(prior).tobytes()).hexdigest()[:16]
