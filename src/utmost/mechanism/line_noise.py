"""Integer noise on a line of results, its tails folded, and the best guess put in place of what comes out.

A point x is answered by g(x + K): K is exact integer noise that is private for shifts up to the reach, and g a public
function, so privacy is that of the noise. Three kinds of g:

* "best": the guess with the least expected loss under the prior, given what came out (its median for absolute loss, its
  mean for squared loss, its likeliest window for the others). Noise of layers falls by a factor b every `period`
  steps, so what lies beyond an end tells no more than the same place one period nearer: outputs are folded into
  -period..m+period without loss. Other noise is cut off where it is too unlikely to matter.
* "cut": what lies beyond an end becomes that end.
* "none": whole numbers with an error of mean 0, which may lie beyond the ends.

With reach 1, geometric noise and the best guess are what no private mechanism beats, for any prior and any loss that
grows with the distance (Ghosh, Roughgarden and Sundararajan 2012).

For the uniform prior all sums over the posterior are differences of cumulative sums of the noise's law, so a line of a
million points costs no more than the noise is wide; without guessing, sums over staircases are sums of polynomials.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np

from utmost.errors import InvalidInput, TooLarge
from utmost.exact.arrays import Floats, Integers
from utmost.mechanism.canonical import CanonicalLaw
from utmost.mechanism.certification import Check
from utmost.mechanism.gaussian_noise import GaussianNoise
from utmost.mechanism.layers import LayerNoise
from utmost.mechanism.line import (
    LineMechanism,
    cost,
    plain_prior,
    read_line,
    require_line_loss,
    spread_out,
    tolerance,
    weigh,
)
from utmost.privacy import Level
from utmost.space.integers import Line, unlisted_to_json

Noise: TypeAlias = LayerNoise | CanonicalLaw | GaussianNoise
NOISES: dict[str, Any] = {law.kind: law for law in (LayerNoise, CanonicalLaw, GaussianNoise)}
MOST_GUESSED = 2_000_000
"""How wide noise may be whose best guesses are tabled; wider noise is cut off at the ends instead."""
MOST_TABLE, CHUNK = 2 * 10**8, 2**20
TRIED = 40
"""At how many points the worst of very wide noise that is cut off is sought, where no theorem says where it is."""


@dataclass(frozen=True, eq=False)
class NoisyLine(LineMechanism):
    """Exact noise on a line, and what is made of it: the best guess, the nearest point, or nothing."""

    kind: ClassVar[str] = "line.noise"
    line: Line
    law_of_noise: Noise
    loss: str
    prior: Floats | None = None
    remap: Literal["best", "cut", "none"] = "best"

    @property
    def noise(self) -> Noise:
        return self.law_of_noise

    @property
    def name(self) -> str:
        after = {"best": " with the best remap", "cut": " cut off at the ends", "none": ", unbiased"}
        return f"{self.noise.name} noise{after[self.remap]}"

    @property
    def guesses(self) -> bool:
        """Whether answers are best guesses: not where the noise is too wide for a table of them."""
        return self.remap == "best" and self._wide <= MOST_GUESSED

    def sample(self, point: Any) -> int:
        """A private answer: exact noise, then the public function of what comes out."""
        drawn = self.line.clamp(int(point)) - self.line.first + int(self.noise.sample())
        if self.remap == "none":
            return self.line.first + drawn
        if not self.guesses:
            return self.line.clamp(self.line.first + drawn)
        return self.line.first + int(self._guess(np.array([self._fold(drawn)]))[0])

    def prove(self, space: Any, level: Level) -> Check:
        if space != self.line:
            return Check("privacy", False, f"the noise is made for {self.line}, not for {space}")
        return self.noise.prove(self.line.reach, level)

    def expected(self, loss: str) -> float:
        if self.remap == "none":
            return self.noise.mean(loss)
        if not self.guesses:
            return expected_cut_off(self.line.points - 1, self.noise, loss, self.prior)
        return self._table.expected(loss, self._shifts)

    def law(self, point: int) -> tuple[Integers, Floats]:
        position, first, wide = point - self.line.first, self.line.first, self._wide
        if self.guesses:
            below, above = min(position + self._period, wide), min(self._last + self._period - position, wide)
            outputs = np.arange(position - below, position + above + 1)
            chances = self.noise.probability(outputs - position) * self._multiplicity(outputs)
            return first + self._guess(outputs), chances
        if self.remap == "none":
            outputs = np.arange(position - self.noise.wide, position + self.noise.wide + 1)
            return first + outputs, self.noise.probability(outputs - position)
        outputs = np.arange(max(0, position - wide), min(self._last, position + wide) + 1)
        chances = self.noise.probability(outputs - position)
        if outputs[0] == 0:
            chances[0] = float(self.noise.tail(position))
        if outputs[-1] == self._last:
            chances[-1] = float(self.noise.tail(self._last - position)) if self._last else 1.0
        return first + outputs, chances

    def posterior(self, value: int) -> tuple[Integers, Floats]:
        place, wide = value - self.line.first, self._wide
        outputs = self._preimage(place) if self.guesses else np.array([place])
        low, high = max(0, int(outputs.min()) - wide), min(self._last, int(outputs.max()) + wide)
        if low > high:  # an unbiased answer far beyond an end
            low = high = 0 if place < 0 else self._last
        positions = np.arange(low, high + 1)
        likelihood = np.zeros(len(positions))
        if not self.guesses:
            at_end = self.remap == "cut" and place in (0, self._last)
            sign = 1 if place == 0 else -1  # noise at or beyond the end led here
            found = self.noise.tail(sign * (positions - place)) if at_end else self.noise.probability(positions - place)
            return weigh(self.line, positions + self.line.first, found, self.prior)
        for output, times in zip(outputs.tolist(), self._multiplicity(outputs).tolist(), strict=True):
            likelihood += times * self.noise.probability(positions - output)
        return weigh(self.line, positions + self.line.first, likelihood, self.prior)

    def interval(self, value: int, confidence: float) -> tuple[int, int]:
        """As far around the noisy numbers that lead to an answer as the noise goes with this probability.

        A noisy number beyond an end stands for all that are folded onto it, which lie farther out still.
        """
        half, place = _half_width(self, confidence), value - self.line.first
        if self.remap == "none":
            return value - half, value + half
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
            return _worst_cut_off(self._last, self.noise, loss)
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

    # ---- inside: positions 0.. on the line ----

    @property
    def _last(self) -> int:
        return self.line.points - 1

    @cached_property
    def _period(self) -> int:
        return self.noise.period if isinstance(self.noise, LayerNoise) else self.noise.wide

    @cached_property
    def _wide(self) -> int:
        """How far the noise reaches, for expectations."""
        return min(self.noise.wide, self._last + self._period)

    @property
    def _settled(self) -> int:
        return 2 * self._wide

    @cached_property
    def _beyond(self) -> float:
        """How much of the noise's law an output beyond an end stands for: all the periods from there on."""
        return 1 / float(1 - self.noise.law.decay) if isinstance(self.noise, LayerNoise) else 1.0

    @cached_property
    def _table(self) -> _Uniform | _Listed:
        law = self.noise.probability(np.arange(self._wide + 1))
        if self.prior is None:
            return _Uniform(self._last, self._period, law, self._beyond)
        return _Listed(self._last, self._period, law, self._beyond, self.prior)

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
        return np.where(outside, self._beyond, 1.0)

    def _preimage(self, position: int) -> Integers:
        """The folded outputs at which a guess is made."""
        farthest = int(np.abs(self._shifts).max(initial=0)) + self._period
        outputs = np.arange(
            max(-self._period, position - farthest), min(self._last + self._period, position + farthest) + 1
        )
        found = outputs[self._guess(outputs) == position]
        return np.asarray(found if len(found) else np.array([min(max(position, 0), self._last)]))


@lru_cache(maxsize=64)
def _half_width(mechanism: NoisyLine, confidence: float) -> int:
    """Kept for as many mechanisms as designs are: it is the same at every answer."""
    return mechanism.noise.half_width(confidence)


def expected_cut_off(last: int, noise: Noise, loss: str, prior: Floats | None = None) -> float:
    """The expected loss of symmetric noise that is cut off at the ends 0 and `last` of a line.

    With c(t) the loss of t steps off and T(t) = Pr[K >= t], the loss at x is H(x) + H(last - x), where H(x) is the sum
    of (c(t) - c(t-1)) T(t) for t = 1..x. Over all x, t counts last + 1 - t times on each side.
    """
    if prior is not None:
        both = _one_side(last, noise, loss)
        here = both[np.minimum(np.arange(last + 1), len(both) - 1)]
        return float(prior @ (here + here[::-1]))
    return 2 * _step_sums(min(last, noise.wide), noise, loss, last + 1, 1) / (last + 1)


def _worst_cut_off(last: int, noise: Noise, loss: str) -> tuple[float, str]:
    """The same at the worst point, and among which it was sought.

    That is where both ends are far, as H no longer grows there; for the absolute loss always the middle, since the
    steps of H are tails, which fall; else the largest H(x) + H(last - x), by symmetry in the lower half.
    """

    def at(x: int) -> float:
        return sum(_step_sums(min(side, noise.wide), noise, loss, 1, 0) for side in (x, last - x))

    if last >= 2 * noise.wide or loss == "absolute":
        return at(last // 2), ""
    if last > CHUNK:
        positions, among = spread_out(last // 2, TRIED)
        return max(at(position) for position in positions), among
    both = _one_side(last, noise, loss)
    here = both[np.minimum(np.arange(last + 1), len(both) - 1)]
    return float((here + here[::-1]).max()), ""


def _one_side(last: int, noise: Noise, loss: str) -> Floats:
    """H(x) for x = 0, 1, ..., as far as it grows."""
    if min(last, noise.wide) > MOST_TABLE // 20:
        raise TooLarge("a listed prior over so wide a noise does not fit; leave it out (uniform), or coarsen.")
    t = np.arange(min(last, noise.wide) + 1)
    return np.concatenate([[0.0], np.cumsum(np.diff(cost(loss, t)) * noise.tail(t[1:]))])


def _step_sums(far: int, noise: Noise, loss: str, times: float, less: float) -> float:
    """The sum over t = 1..far of (times - less·t) (c(t) - c(t-1)) Pr[K >= t].

    On each piece of a staircase the tail is a straight line, so every term is a product of three straight lines, which
    sums over a piece in closed form: around its middle odd powers cancel, and squares add up to size (size^2 - 1) / 12.
    """
    if far < 1:
        return 0.0
    if loss not in ("absolute", "squared"):
        t = tolerance(loss) + 1
        return float((times - less * t) * noise.tail(t)) if t <= far else 0.0

    slope = 0.0 if loss == "absolute" else 2.0  # c(t) - c(t-1) = 1, or 2t - 1
    offset = 1.0 if loss == "absolute" else -1.0
    if not isinstance(noise, LayerNoise) or noise.period < 16:
        if far > MOST_TABLE:
            raise TooLarge(f"noise over {far} steps takes too long to sum; use a coarser grid or a larger level.")
        parts = (np.arange(start, min(start + CHUNK, far + 1)) for start in range(1, far + 1, CHUNK))
        return float(sum(((times - less * t) * (slope * t + offset)) @ noise.tail(t) for t in parts))
    blocks = np.arange(far // noise.period + 1, dtype=np.int64) * noise.period
    first = np.unique(np.clip(np.concatenate([[1], blocks, blocks + noise.law.upper]), 1, far))
    last = np.append(first[1:] - 1, far)
    size, middle = (last - first + 1).astype(float), (first + last) / 2
    ends = noise.tail(first), noise.tail(last)
    tilt = (ends[1] - ends[0]) / np.maximum(size - 1, 1)
    p, q, level = times - less * middle, slope * middle + offset, (ends[0] + ends[1]) / 2
    squares = size * (size**2 - 1) / 12
    return float((size * p * q * level + squares * ((p * slope - less * q) * tilt - less * slope * level)).sum())


@dataclass(frozen=True)
class _Uniform:
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
        both = np.concatenate([self.law[:0:-1], self.law])
        first = both * u
        sums = [np.concatenate([[0.0], np.cumsum(terms)]) for terms in (both, first, first * u)]
        return sums[0], sums[1], sums[2]

    def between(self, k: int, low: Any, high: Any) -> Any:
        """The sum of law(u)·u^k for u from low to high."""
        sums = self.moments[k]
        return sums[high + self.wide + 1] - sums[low + self.wide]

    def best_shifts(self, loss: str) -> Integers:
        low, high = self.bounds
        if loss == "absolute":
            half = self.moments[0][low + self.wide] + self.between(0, low, high) / 2
            found = np.searchsorted(self.moments[0], half, side="left") - 1 - self.wide
        elif loss == "squared":
            mass = self.between(0, low, high)  # at a huge epsilon it may be too small for a float
            found = np.rint(self.between(1, low, high) / np.where(mass > 0, mass, 1.0)).astype(np.int64)
        else:
            reach = tolerance(loss)
            narrow = high - low < 2 * reach
            found = np.where(narrow, (low + high) // 2, np.clip(0, low + reach, np.maximum(high - reach, low + reach)))
        return np.asarray(np.clip(found, low, high))

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


@dataclass(frozen=True)
class _Listed:
    """Posterior sums under a listed prior: all outputs, a block of them at a time."""

    last: int
    period: int
    law: Floats
    fold: float
    prior: Floats

    @cached_property
    def outputs(self) -> Integers:
        return np.arange(-self.period, self.last + self.period + 1)

    def blocks(self) -> Any:
        """For blocks of outputs: their slice, the offsets u, and the weight of every point o + u."""
        wide = len(self.law) - 1
        if len(self.outputs) * (2 * wide + 1) > MOST_TABLE:
            raise TooLarge(
                "a listed prior over so many points takes too long here; leave it out (uniform), or coarsen."
            )
        u = np.arange(-wide, wide + 1)
        both = np.concatenate([self.law[:0:-1], self.law])
        padded = np.concatenate([np.zeros(wide + self.period), self.prior, np.zeros(wide + self.period)])
        size = max(1, 2_000_000 // len(u))
        for start in range(0, len(self.outputs), size):
            part = slice(start, start + size)
            places = self.outputs[part, None] + u + wide + self.period
            yield part, u, padded[places] * both

    def best_shifts(self, loss: str) -> Integers:
        shifts = np.zeros(len(self.outputs), dtype=np.int64)
        for part, u, weights in self.blocks():
            mass = weights.sum(axis=1)
            if loss == "absolute":
                best = u[(np.cumsum(weights, axis=1) >= mass[:, None] / 2).argmax(axis=1)]
            elif loss == "squared":
                best = np.rint(weights @ u / np.where(mass > 0, mass, 1.0)).astype(np.int64)
            else:
                reach = min(tolerance(loss), len(u))
                sums = np.cumsum(np.pad(weights, ((0, 0), (reach + 1, reach))), axis=1)
                near = sums[:, 2 * reach + 1 :] - sums[:, : -2 * reach - 1]
                tied = near >= near.max(axis=1, keepdims=True) * (1 - 1e-12)
                best = u[np.where(tied, -np.abs(u), -len(u)).argmax(axis=1)]  # of equals, the one nearest to the output
            shifts[part] = np.where(mass > 0, best, 0)
        return np.asarray(np.clip(shifts, -self.outputs, self.last - self.outputs))

    def expected(self, loss: str, shifts: Integers) -> float:
        times = np.where((self.outputs < 0) | (self.outputs > self.last), self.fold, 1.0)
        total = 0.0
        for part, u, weights in self.blocks():
            total += float(times[part] @ (weights * cost(loss, u - shifts[part, None])).sum(axis=1))
        return total
