"""Integer noise on a line of results, its tails folded, and the best guess put in place of what comes out.

A point x of 0..m is answered by g(x + K): K is exact integer noise that is private for shifts up to the reach, and g
a public function, so privacy is that of the noise. Noise here falls by a factor b every `period` steps, so what lies
beyond an end tells no more than the same place one period nearer: outputs are folded into -period..m+period without
loss. For each of these, g is the guess with the least expected loss under the prior (its median for absolute loss,
its mean for squared loss, its likeliest window for the others).

With reach 1 this is the geometric mechanism with its best remap, which no private mechanism beats, for any prior and
any loss that grows with the distance (Ghosh, Roughgarden and Sundararajan 2012). With a larger reach the staircase is
the best *noise* (Geng and Viswanath 2016).

For the uniform prior all sums over the posterior are differences of cumulative sums of the noise's law, so a line of a
million points costs no more than the noise is wide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utmost.design.noise.discrete import IntegerNoise
from utmost.errors import TooLarge
from utmost.release.costs import cost, tolerance
from utmost.space.integers import Line

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
NEGLIGIBLE = 80 * math.log(2)
"""Noise beyond the place where its law has fallen by e to this is left out of expectations, never out of draws."""
MOST_WIDE, MOST_TABLE, MOST_WORK = 4_000_000, 2 * 10**8, 10**7


@dataclass(frozen=True, eq=False)
class NoisyLine:
    """Exact noise on a line with the best guess for a loss and a prior (None: uniform); without guessing, cut off."""

    line: Line
    noise: IntegerNoise
    loss: str
    prior: Floats | None = None
    guessing: bool = True

    @property
    def noise_name(self) -> str:
        """Which noise it is, in words."""
        law = self.noise.law
        return "geometric" if law.period == 1 else f"staircase (first {law.upper} of every {law.period} steps high)"

    def release(self, point: int) -> int:
        """A private answer: exact noise, then the public guess."""
        drawn = self._fold(point - self.line.first + int(self.noise.sample()))
        return self.line.first + int(self.guess(np.array([drawn]))[0])

    def expected(self, loss: str) -> float:
        """The expected loss under the prior of what is released, by any loss."""
        return self._table.expected(loss, self._shifts)

    def law(self, position: int) -> tuple[Integers, Floats]:
        """What is released at a point, as positions on the line (some twice), and with which probabilities."""
        below = min(position + self._period, self._wide)
        above = min(self._last + self._period - position, self._wide)
        outputs = np.arange(position - below, position + above + 1)
        law = self._table.law
        chances = np.concatenate([law[below:0:-1], law[: above + 1]]) * self._multiplicity(outputs)
        return self.guess(outputs), chances

    def risk(self, position: int, loss: str) -> float:
        """The expected loss at one point, by its position on the line."""
        released, chances = self.law(position)
        return float(chances @ cost(loss, released - position))

    @cached_property
    def worst(self) -> float:
        """The expected loss at the worst point; on long lines of wide noise, the worst of some hundred points.

        Under the uniform prior the inside is all alike, and the two ends mirror each other.
        """
        farthest = self._last if self.prior is not None else min(self._last, 2 * self._wide)
        positions: Any = range(farthest + 1)
        if len(positions) * self._wide > MOST_WORK:
            few = max(20, MOST_WORK // (4 * self._wide))
            spread = [np.linspace(0, farthest, few // 2), np.geomspace(1, farthest, few // 2)]
            positions = np.unique(np.concatenate(spread).astype(int)).tolist()
        return max(self.risk(position, self.loss) for position in positions)

    def posterior(self, value: int) -> tuple[Integers, Floats]:
        """What to believe after an answer: points (positions on the line) and their probabilities."""
        outputs = self._preimage(value - self.line.first)
        low = max(0, int(outputs.min()) - self._wide)
        high = min(self._last, int(outputs.max()) + self._wide)
        positions = np.arange(low, high + 1)
        likelihood = np.zeros(len(positions))
        for output, times in zip(outputs.tolist(), self._multiplicity(outputs).tolist(), strict=True):
            likelihood += times * self.noise.probability(positions - output)
        weighted = likelihood if self.prior is None else likelihood * self.prior[positions]
        total = weighted.sum()
        return positions, weighted / total if total > 0 else np.full(len(positions), 1 / len(positions))

    def guess(self, outputs: Integers) -> Integers:
        """The guess at each folded output, as a position on the line."""
        shifts = self._shifts
        if len(shifts) == self._last + 2 * self._period + 1:
            return np.asarray(outputs + shifts[outputs + self._period])
        ends = len(shifts) - 1  # the two ends mirror each other, and nothing shifts between them
        low = shifts[np.clip(outputs + self._period, 0, ends)] * (outputs + self._period <= ends)
        mirrored = self._last - outputs + self._period
        high = shifts[np.clip(mirrored, 0, ends)] * (mirrored <= ends)
        return np.asarray(outputs + low - high)

    # ---- inside ----

    @property
    def _last(self) -> int:
        return self.line.points - 1

    @property
    def _period(self) -> int:
        return self.noise.law.period

    @cached_property
    def _wide(self) -> int:
        """How far the noise reaches, for expectations."""
        decay = -math.log(max(float(self.noise.law.decay), 1e-300))
        reach = self._period * (1 + math.ceil(NEGLIGIBLE / decay)) if decay > 0 else math.inf
        wide = min(reach, self._last + self._period)
        if wide > MOST_WIDE:
            raise TooLarge(
                f"the noise is spread over more than {MOST_WIDE} steps; choose a coarser grid, a narrower range, or "
                "a larger epsilon."
            )
        return int(wide)

    @cached_property
    def _table(self) -> _Uniform | _Listed:
        law = self.noise.probability(np.arange(self._wide + 1))
        fold = 1 / float(1 - self.noise.law.decay)
        if self.prior is None:
            return _Uniform(self._last, self._period, law, fold)
        return _Listed(self._last, self._period, law, fold, self.prior)

    @cached_property
    def _shifts(self) -> Integers:
        if not self.guessing:
            outputs = self._table.outputs
            return np.asarray(np.clip(outputs, 0, self._last) - outputs)
        return self._table.best_shifts(self.loss)

    def _fold(self, output: int) -> int:
        if output < 0:
            return -((-output - 1) % self._period + 1)
        beyond = output - self._last
        return self._last + (beyond - 1) % self._period + 1 if beyond > 0 else output

    def _multiplicity(self, outputs: Integers) -> Floats:
        """How much of the noise's law a folded output stands for: all the periods beyond an end."""
        outside = (outputs < 0) | (outputs > self._last)
        return np.where(outside, 1 / float(1 - self.noise.law.decay), 1.0)

    def _preimage(self, position: int) -> Integers:
        """The folded outputs at which a guess is made."""
        farthest = int(np.abs(self._shifts).max(initial=0)) + self._period
        outputs = np.arange(
            max(-self._period, position - farthest), min(self._last + self._period, position + farthest) + 1
        )
        return np.asarray(outputs[self.guess(outputs) == position])


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
