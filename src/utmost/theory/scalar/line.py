"""Mechanisms for one number on a line, and the one that adds noise and takes the best guess.

`LineMechanism` is the interface: the law, the expected and the worst-case loss, and the posterior after an answer.
`NoisyLine` is integer noise with folded tails, followed by the best guess.

A point x is answered by g(x + K): K is exact integer noise that is private at the sensitivity, and g a public function,
so privacy is that of the noise. Three kinds of g:

* "best": the guess with the lowest expected loss under the prior, given the output (its median for absolute loss, its
  mean for squared loss, its likeliest window for the others). Noise of layers falls by a factor b every `period`
  steps, so an output beyond an end carries the same information as the one a period nearer: outputs are folded into
  -period..m+period without loss. Other noise is truncated where it is too unlikely to matter.
* "cut": outputs beyond an end are clamped to it.
* "none": integers with an error of mean 0, which may lie beyond the ends.

At sensitivity 1, geometric noise with the best guess is optimal among all private mechanisms, for any prior and any
monotone loss (Ghosh, Roughgarden and Sundararajan 2012).

For the uniform prior all sums over the posterior are differences of cumulative sums of the noise's law, so a line of a
million points costs no more than the noise is wide; without guessing, sums over staircases are sums of polynomials.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np

from utmost.errors import InvalidInput, TooLarge
from utmost.exact.arrays import Floats, Integers
from utmost.mechanism.certification import Check
from utmost.mechanism.exact_law import ExactMechanism
from utmost.mechanism.noise.canonical import CanonicalLaw
from utmost.mechanism.noise.gaussian_on_line import GaussianNoise
from utmost.mechanism.noise.layers import LayerNoise
from utmost.privacy import Level
from utmost.space.integers import unlisted_from_json, unlisted_to_json
from utmost.space.line import MOST_LISTED, Line, cost, require_line_loss, spread_out, tolerance
from utmost.theory.scalar.line_sums import ListedPrior, expected_clamped_loss, worst_clamped_loss

Noise: TypeAlias = LayerNoise | CanonicalLaw | GaussianNoise
NOISES: dict[str, Any] = {law.kind: law for law in (LayerNoise, CanonicalLaw, GaussianNoise)}
MOST_WIDE = 5 * 10**7
"""How far from 0 noise is listed at most: epsilons from 10^-6 on, in a gigabyte or two."""
MOST_GUESSED = 2_000_000
"""Widest noise whose best guesses are tabulated; wider noise is clamped to the ends instead."""
MOST_WORK, MOST_ERRORS = 10**6, 2 * 10**8
ROUNDING = 1e-9
"""Relative error allowed for a tail in floats."""


class LineMechanism(ExactMechanism):
    """A mechanism whose private point is an integer of a line, and whose answer is an integer.

    Attributes
    ----------
    line : Line
        The range of the private integer, and the sensitivity.
    loss : str
        The loss it was designed for: "absolute", "squared", "zero-one" or "within k".
    prior : array of float or None
        The probability of each point, in order; None is uniform.
    name : str
        The name in sentences.
    """

    line: Line
    loss: str
    prior: Floats | None

    @property
    @abstractmethod
    def name(self) -> str: ...

    @property
    def noise(self) -> Any:
        """The law of the added noise; None if the mechanism is not noise."""
        return None

    @abstractmethod
    def law(self, point: int) -> tuple[Integers, Floats]:
        """The values released at a point (some may occur twice) and their probabilities, in floats."""

    @abstractmethod
    def expected(self, loss: str) -> float:
        """The expected loss under the prior, by any loss."""

    @abstractmethod
    def posterior(self, value: int) -> tuple[Integers, Floats]:
        """The posterior after an answer: points and their probabilities."""

    @abstractmethod
    def interval(self, value: int, confidence: float) -> tuple[int, int]:
        """A confidence interval for the point: it covers with at least this probability, whatever the point is.

        It contains the points at which an answer as low, and one as high, is not too unlikely (Neyman 1937). Unlike
        `posterior` it depends on no prior, and it always contains the released value.
        """

    def risk(self, point: int, loss: str) -> float:
        """The expected loss at one point."""
        released, chances = self.law(point)
        return float(chances @ cost(loss, released - point))

    def worst(self, loss: str) -> float:
        """The expected loss at the worst point, or at the worst of those that `worst_among` describes."""
        return _worst(self, loss)[0]

    def worst_among(self, loss: str) -> str:
        """The points among which the worst was sought: empty for all; on long lines of wide laws, some hundred."""
        return _worst(self, loss)[1]

    def hardest(self, loss: str) -> tuple[float, str]:
        """The worst expected loss, and among which points it was sought; not cached."""
        last = self.line.points - 1
        farthest = last if self.prior is not None else min(last, self._boundary_reach)
        outputs = len(self.law(self.line.first + farthest)[0])
        positions, among = spread_out(farthest, max(20, MOST_WORK // outputs))
        return max(self.risk(self.line.first + position, loss) for position in positions), among

    def errors(self) -> tuple[int, Floats]:
        """The law of the error under the prior: the least error, and the probabilities from there on.

        Under a uniform prior, all points far from both ends have the same law, and the two ends mirror each other. On
        an unbounded line all points have the same law.
        """
        if not self.line.is_bounded:
            errors, chances = self.law(0)
            return int(errors[0]), chances
        points, settled = self.line.points, self._boundary_reach
        symmetric = self.prior is None and points > 2 * settled + 1
        places = range(settled + 1 if symmetric else points)
        outputs = max(len(self.law(self.line.first + place)[0]) for place in (places[0], places[-1]))
        if len(places) * outputs > MOST_ERRORS:
            raise TooLarge(f"errors at {len(places)} points, of {outputs} answers each, take too long to add up.")
        reach = max(int(np.abs(self._errors_at(place)[0]).max()) for place in places)
        chances_of_error = np.zeros(2 * reach + 1)
        for place in places:
            off, chances = self._errors_at(place)
            point_chances = np.bincount(off + reach, chances, 2 * reach + 1)
            if symmetric:  # the last of these places represents all between the ends
                chances_of_error += (
                    (point_chances + point_chances[::-1])
                    * (0.5 * (points - 2 * settled) if place == settled else 1.0)
                    / points
                )
            else:
                chances_of_error += point_chances * (1 / points if self.prior is None else self.prior[place])
        return -reach, chances_of_error

    def _errors_at(self, place: int) -> tuple[Integers, Floats]:
        released, chances = self.law(self.line.first + place)
        return released - self.line.first - place, chances

    @property
    def _boundary_reach(self) -> int:
        """Distance beyond which boundary effects vanish, and both ends mirror each other (uniform prior)."""
        return self.line.points - 1


@lru_cache(maxsize=256)
def _worst(mechanism: LineMechanism, loss: str) -> tuple[float, str]:
    """Cached worst-case loss: it is needed for every answer and takes half a second."""
    return mechanism.hardest(loss)


def weigh(line: Line, points: Integers, likelihood: Floats, prior: Floats | None) -> tuple[Integers, Floats]:
    """The posterior from likelihoods at some points; uniform if all of them underflow."""
    weighted = likelihood if prior is None else likelihood * prior[points - line.first]
    total = weighted.sum()
    return points, weighted / total if total > 0 else np.full(len(points), 1 / len(points))


def neyman_interval(
    points: Integers, as_low: Floats, as_high: Floats, value: int, confidence: float
) -> tuple[int, int]:
    """Ends of the confidence interval: points at which answers as low, and as high, as `value` are not too unlikely.

    At any point, the interval fails only for answers in two tails of probability (1 - confidence)/2 each. Rounding of
    sums in floats widens it.
    """
    tail = (1 - confidence) / 2 * (1 - ROUNDING)
    accepted = points[(as_low > tail) & (as_high > tail)]
    return int(accepted.min(initial=value)), int(accepted.max(initial=value))


def plain_prior(prior: Floats | None) -> list[float] | None:
    """A prior as plain data."""
    return None if prior is None else prior.tolist()


def read_line(data: Mapping[str, Any]) -> tuple[Line, Floats | None]:
    """Parse and validate the line and the prior of an untrusted file."""
    line = unlisted_from_json(data["line"])
    if not isinstance(line, Line):
        raise InvalidInput("a number lies on a line.")
    if data["prior"] is None:
        return line, None
    if not line.is_bounded or line.points > MOST_LISTED:
        raise InvalidInput(f"{line} are too many for a list.")
    prior = np.array(data["prior"], dtype=float)
    if prior.shape != (line.points,) or not (prior >= 0).all() or not abs(float(prior.sum()) - 1) <= 1e-9:
        raise InvalidInput("the prior is not a distribution over the points of the line.")
    return line, prior


@dataclass(frozen=True, eq=False)
class NoisyLine(LineMechanism):
    """Exact noise on a line, followed by the best guess, by clamping, or by nothing."""

    kind: ClassVar[str] = "line.noise"
    line: Line
    law_of_noise: Noise
    loss: str
    prior: Floats | None = None
    remap: Literal["best", "cut", "none"] = "best"

    def __post_init__(self) -> None:
        if not self.line.is_bounded and (self.remap != "none" or self.prior is not None):
            raise InvalidInput("on an unbounded line noise is released as it is: no prior, no best guess, no ends.")

    @property
    def noise(self) -> Noise:
        return self.law_of_noise

    @property
    def name(self) -> str:
        suffixes = {"best": " with the best remap", "cut": " cut off at the ends", "none": ", unbiased"}
        return f"{self.noise.name} noise{suffixes[self.remap]}"

    @property
    def guesses(self) -> bool:
        """Whether answers are best guesses: not if the noise is too wide for a table of them."""
        return self.remap == "best" and self._noise_width <= MOST_GUESSED

    def sample(self, point: Any) -> int:
        """Draw a private answer: exact noise, then the public function."""
        if self.remap == "none":
            return self.line.clamp(int(point)) + int(self.noise.sample())
        output = self.line.clamp(int(point)) - self.line.first + int(self.noise.sample())
        if not self.guesses:
            return self.line.clamp(self.line.first + output)
        return int(self.line.first + int(self._guess(np.array([self._fold(output)]))[0]))

    def prove(self, space: Any, level: Level) -> Check:
        if space != self.line:
            return Check("privacy", False, f"the noise is made for {self.line}, not for {space}")
        return self.noise.prove(self.line.reach, level)

    def expected(self, loss: str) -> float:
        if self.remap == "none":
            return self.noise.mean(loss)
        if not self.guesses:
            return expected_clamped_loss(self.line.points - 1, self.noise, loss, self.prior)
        return self._table.expected(loss, self._shifts)

    def law(self, point: int) -> tuple[Integers, Floats]:
        if self.remap == "none":
            if self.noise.wide > MOST_WIDE:
                raise TooLarge(f"noise as wide as {self.noise.wide} is too wide to be listed; use a larger level.")
            steps = np.arange(-self.noise.wide, self.noise.wide + 1)
            return point + steps, self.noise.probability(steps)
        position, first, wide = point - self.line.first, self.line.first, self._noise_width
        if self.guesses:
            below, above = min(position + self._period, wide), min(self._last + self._period - position, wide)
            outputs = np.arange(position - below, position + above + 1)
            chances = self.noise.probability(outputs - position) * self._multiplicity(outputs)
            return first + self._guess(outputs), chances
        if min(wide, self._last) > MOST_WIDE:
            raise TooLarge(f"noise as wide as {self.noise.wide} is too wide to be listed; use a larger level.")
        outputs = np.arange(max(0, position - wide), min(self._last, position + wide) + 1)
        chances = self.noise.probability(outputs - position)
        if outputs[0] == 0:
            chances[0] = float(self.noise.tail(position))
        if outputs[-1] == self._last:
            chances[-1] = float(self.noise.tail(self._last - position)) if self._last else 1.0
        return first + outputs, chances

    def posterior(self, value: int) -> tuple[Integers, Floats]:
        place, wide = value - self.line.first, self._noise_width
        outputs = self._preimage(place) if self.guesses else np.array([place])
        low, high = max(0, int(outputs.min()) - wide), min(self._last, int(outputs.max()) + wide)
        if low > high:  # an unbiased answer far beyond an end
            low = high = 0 if place < 0 else self._last
        positions = np.arange(low, high + 1)
        likelihood = np.zeros(len(positions))
        if not self.guesses:
            at_end = self.remap == "cut" and place in (0, self._last)
            sign = 1 if place == 0 else -1  # noise at or beyond the end led here
            chances = (
                self.noise.tail(sign * (positions - place)) if at_end else self.noise.probability(positions - place)
            )
            return weigh(self.line, positions + self.line.first, chances, self.prior)
        for output, times in zip(outputs.tolist(), self._multiplicity(outputs).tolist(), strict=True):
            likelihood += times * self.noise.probability(positions - output)
        return weigh(self.line, positions + self.line.first, likelihood, self.prior)

    def interval(self, value: int, confidence: float) -> tuple[int, int]:
        """The noisy numbers that lead to an answer, widened by the half-width of the noise.

        A noisy number beyond an end stands for all that are folded onto it, which lie farther out still.
        """
        half = _half_width(self, confidence)
        if self.remap == "none":
            return value - half, value + half
        place = value - self.line.first
        outputs = self._preimage(place) if self.guesses else np.array([place])
        ends = int(outputs.min()) - half, int(outputs.max()) + half
        low, high = (self.line.clamp(self.line.first + end) for end in ends)
        return min(low, value), max(high, value)

    def risk(self, point: int, loss: str) -> float:
        if self.remap == "none":
            return self.noise.mean(loss)
        return super().risk(point, loss)

    def hardest(self, loss: str) -> tuple[float, str]:
        if self.remap == "none":
            return self.noise.mean(loss), ""
        if not self.guesses:
            return worst_clamped_loss(self._last, self.noise, loss)
        return super().hardest(loss)

    def to_json(self) -> dict[str, Any]:
        return {
            "line": unlisted_to_json(self.line),
            "loss": self.loss,
            "prior": plain_prior(self.prior),
            "remap": self.remap,
            **self.noise.to_json(),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        line, prior = read_line(data)
        if data["noise"] not in NOISES or data["remap"] not in ("best", "cut", "none"):
            raise InvalidInput("the file holds noise, or something made of it, that this version does not know.")
        noise = NOISES[data["noise"]].from_json(data)
        return cls(line, noise, require_line_loss(data["loss"]), prior, data["remap"])

    # ---- internals: positions 0.. on the line ----

    @property
    def _last(self) -> int:
        return self.line.points - 1

    @cached_property
    def _period(self) -> int:
        return self.noise.period if isinstance(self.noise, LayerNoise) else self.noise.wide

    @cached_property
    def _noise_width(self) -> int:
        """Half the width of the noise's list, for expectations."""
        return min(self.noise.wide, self._last + self._period)

    @property
    def _boundary_reach(self) -> int:
        return 2 * self._noise_width

    @cached_property
    def _end_multiplicity(self) -> float:
        """The multiplicity of an output beyond an end: the mass of all the periods from there on."""
        return 1 / float(1 - self.noise.law.decay) if isinstance(self.noise, LayerNoise) else 1.0

    @cached_property
    def _table(self) -> _UniformPrior | ListedPrior:
        law = self.noise.probability(np.arange(self._noise_width + 1))
        if self.prior is None:
            return _UniformPrior(self._last, self._period, law, self._end_multiplicity)
        return ListedPrior(self._last, self._period, law, self._end_multiplicity, self.prior)

    @cached_property
    def _shifts(self) -> Integers:
        return self._table.best_shifts(self.loss)

    def _guess(self, outputs: Integers) -> Integers:
        """The guess at each folded output, as a position on the line."""
        shifts = self._shifts
        if len(shifts) == self._last + 2 * self._period + 1:
            return np.asarray(outputs + shifts[outputs + self._period])
        ends = len(shifts) - 1  # the two ends mirror each other, and nothing shifts between them
        low = shifts[np.clip(outputs + self._period, 0, ends)] * (outputs + self._period <= ends)
        mirrored = self._last - outputs + self._period
        high = shifts[np.clip(mirrored, 0, ends)] * (mirrored <= ends)
        return np.asarray(outputs + low - high)

    def _fold(self, output: int) -> int:
        if not isinstance(self.noise, LayerNoise):
            return min(max(output, -self._period), self._last + self._period)
        if output < 0:
            return -((-output - 1) % self._period + 1)
        beyond = output - self._last
        return self._last + (beyond - 1) % self._period + 1 if beyond > 0 else output

    def _multiplicity(self, outputs: Integers) -> Floats:
        outside = (outputs < 0) | (outputs > self._last)
        return np.where(outside, self._end_multiplicity, 1.0)

    def _preimage(self, position: int) -> Integers:
        """The folded outputs at which a guess is made."""
        farthest = int(np.abs(self._shifts).max(initial=0)) + self._period
        outputs = np.arange(
            max(-self._period, position - farthest), min(self._last + self._period, position + farthest) + 1
        )
        preimage = outputs[self._guess(outputs) == position]
        return np.asarray(preimage if len(preimage) else np.array([min(max(position, 0), self._last)]))


@lru_cache(maxsize=64)
def _half_width(mechanism: NoisyLine, confidence: float) -> int:
    """Cached half-width, which is the same at every answer."""
    return mechanism.noise.half_width(confidence)


@dataclass(frozen=True)
class _UniformPrior:
    """Posterior sums under the uniform prior, as differences of cumulative sums.

    `outputs` are those of one end (-period..wide), which the other end mirrors, or all of them where the ends meet. At
    output o the point is o + u with a probability proportional to law[|u|], for u from max(-o, -wide) to
    min(last - o, wide).
    """

    last: int
    period: int
    law: Floats
    fold: float

    @property
    def wide(self) -> int:
        return len(self.law) - 1

    @property
    def mirrored(self) -> bool:
        return 2 * self.wide + 1 < self.last

    @cached_property
    def outputs(self) -> Integers:
        return np.arange(-self.period, (self.wide if self.mirrored else self.last + self.period) + 1)

    @cached_property
    def bounds(self) -> tuple[Integers, Integers]:
        low = np.maximum(-self.outputs, -self.wide)
        return low, np.minimum(self.last - self.outputs, self.wide)

    @cached_property
    def moments(self) -> tuple[Floats, Floats, Floats]:
        """Cumulative sums of the law, and of the law times u and u^2, from -wide on; a 0 in front."""
        u = np.arange(-self.wide, self.wide + 1, dtype=float)
        symmetric_law = np.concatenate([self.law[:0:-1], self.law])
        first = symmetric_law * u
        sums = [np.concatenate([[0.0], np.cumsum(terms)]) for terms in (symmetric_law, first, first * u)]
        return sums[0], sums[1], sums[2]

    def between(self, k: int, low: Any, high: Any) -> Any:
        """The sum of law(u)·u^k for u from low to high."""
        sums = self.moments[k]
        return sums[high + self.wide + 1] - sums[low + self.wide]

    def best_shifts(self, loss: str) -> Integers:
        low, high = self.bounds
        if loss == "absolute":
            half = self.moments[0][low + self.wide] + self.between(0, low, high) / 2
            shifts = np.searchsorted(self.moments[0], half, side="left") - 1 - self.wide
        elif loss == "squared":
            mass = self.between(0, low, high)  # at a huge epsilon it may be too small for a float
            shifts = np.rint(self.between(1, low, high) / np.where(mass > 0, mass, 1.0)).astype(np.int64)
        else:
            reach = tolerance(loss)
            narrow = high - low < 2 * reach
            shifts = np.where(narrow, (low + high) // 2, np.clip(0, low + reach, np.maximum(high - reach, low + reach)))
        return np.asarray(np.clip(shifts, low, high))

    def expected(self, loss: str, shifts: Integers) -> float:
        low, high = self.bounds
        times = np.where((self.outputs < 0) | (self.outputs > self.last), self.fold, 1.0)
        total = float((times * self.costs(loss, low, high, shifts)).sum())
        if self.mirrored:
            ends = np.array([self.wide])
            inside = float(self.costs(loss, -ends, ends, np.zeros(1, dtype=np.int64))[0])
            total = 2 * total + (self.last + 1 - 2 * (self.wide + 1)) * inside
        return total / (self.last + 1)

    def costs(self, loss: str, low: Integers, high: Integers, shifts: Integers) -> Floats:
        """The sum over u from low to high of law(u) times the loss of guessing `shifts` instead of u."""
        s = shifts.astype(float)
        if loss == "absolute":
            below = s * self.between(0, low, shifts) - self.between(1, low, shifts)
            above = self.between(1, shifts, high) - s * self.between(0, shifts, high)
            return np.asarray(below + above)
        mass = self.between(0, low, high)
        if loss == "squared":
            return np.asarray(self.between(2, low, high) - 2 * s * self.between(1, low, high) + s**2 * mass)
        reach = tolerance(loss)
        left, right = np.maximum(shifts - reach, low), np.minimum(shifts + reach, high)
        return np.asarray(mass - self.between(0, left, right))
