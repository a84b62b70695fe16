"""Counts by chains: one probability for every threshold, propagated along the line as far as the level allows.

On a path 0..n-1, F_t(i) = Pr[answer >= t at i] for t = 1..n-1 is given by one number x_t, its value at i = t - 1: from
there upwards it is upper(x_t), upper(upper(x_t)), ..., and downwards lower(x_t), lower(lower(x_t)), ...

If x_(t+1) <= upper(x_t) for every t, then F_t does not rise with t at any point, since upper and lower do not fall: the
differences are probabilities. Of two neighbours each tail {answer >= t} has the most the level allows, upper(F_t(i)),
or less where F_t(i) = 0; upper is concave, so likelihood ratios are monotone, the best tests are tails, and every event
keeps the level. No rounding is involved: the x_t are floats, which are rationals, and draws compare a uniform number
with balls around F_t(i). Proofs stand in docs/theory.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import groupby
from typing import Any, ClassVar, Self

import numpy as np
from flint import arb, ctx

from utmost.errors import InvalidInput, TooLarge
from utmost.exact import ExpSum, as_fmpq, compare
from utmost.exact.arrays import Floats, Integers
from utmost.mechanism.certification import Check
from utmost.mechanism.noise.canonical import require_canonical
from utmost.mechanism.sampling import Uniform
from utmost.privacy import ApproxDP, GaussianDP, Level, SuitablePair, level_from_json
from utmost.space.integers import unlisted_to_json
from utmost.space.line import MOST_LISTED, Line, cost, require_line_loss
from utmost.theory.scalar.line import LineMechanism, neyman_interval, plain_prior, read_line, weigh

MOST_ENTRIES = 3 * 10**8
ROWS = 2**20
CLEAR = 1e-9
"""Relative differences in floats above this are decisive; smaller ones are compared exactly."""


@dataclass(frozen=True, eq=False)
class ChainLine(LineMechanism):
    """A mechanism on a path given by one probability x_t for each threshold t = 1..n-1."""

    kind: ClassVar[str] = "line.chains"
    line: Line
    level: Level
    starts: Floats
    loss: str
    prior: Floats | None = None

    def __post_init__(self) -> None:
        require_canonical(self.level)
        if self.line.reach != 1 or self.starts.shape != (self.line.points - 1,):
            raise InvalidInput("chains are for lines of neighbours next to each other, one number for each threshold.")
        if not ((self.starts >= 0) & (self.starts <= 1)).all():
            raise InvalidInput("a chain starts from a probability.")

    @property
    def name(self) -> str:
        return "the best chain at every threshold"

    def sample(self, point: Any) -> int:
        """Draw a private answer: the last threshold whose probability exceeds a uniform number, compared exactly."""
        position, number, last = self.line.clamp(int(point)) - self.line.first, Uniform(), self.line.points - 1

        def reaches(t: int) -> bool:
            if t <= 0 or t > last:
                return t <= 0
            start = Fraction(float(self.starts[t - 1]))
            return number.is_below(lambda bits: enclose_chain(self.level, start, position - t + 1, bits))

        low, high, step = position, position, 1
        if reaches(position):
            while reaches(high := high + step):
                low, step = high, 2 * step
        else:
            while not reaches(low := low - step):
                high, step = low, 2 * step
        return int(self.line.first + _last_true(reaches, max(low, 0), min(high, last + 1)))

    def prove(self, space: Any, level: Level) -> Check:
        if space != self.line or level != self.level:
            return Check("privacy", False, f"the chains are made for {self.line} at {self.level}, not for {space}")
        preceding, following = self.starts[:-1], self.starts[1:]
        rising = following > preceding  # upper(x) >= x
        pairs = np.unique(np.column_stack([preceding[rising], following[rising]]), axis=0)
        room = self.level.upper(pairs[:, 0])
        close = room < pairs[:, 1] * (1 + CLEAR)
        for x, y in pairs[close].tolist():
            if compare(self.level.upper_exact(ExpSum.rational(Fraction(x))), ExpSum.rational(Fraction(y))) < 0:
                return Check("privacy", False, f"{level}: a chain starts at {y!r} after one at {x!r}, beyond upper")
        detail = f"{len(self.starts)} thresholds, each the orbit of its start, none above the one before"
        return Check("privacy", True, f"{level}: {detail}; every best test is a tail (exact comparisons)")

    def law(self, point: int) -> tuple[Integers, Floats]:
        position, last = point - self.line.first, self.line.points - 1
        reach = self._reach
        t = np.arange(max(1, position - reach + 1), min(last, position + reach) + 1)
        tails = np.concatenate([[1.0], chain_values(self.level, self.starts[t - 1], position - t + 1), [0.0]])
        first = t[0] - 1 if len(t) else 0
        return self.line.first + first + np.arange(len(t) + 1), np.maximum(tails[:-1] - tails[1:], 0.0)

    def expected(self, loss: str) -> float:
        costs = self.threshold_costs(loss)
        return math.fsum(costs)

    def threshold_costs(self, loss: str, starts: Floats | None = None) -> Floats:
        """The contribution of each threshold to the expected loss, with the chains' own starts or with others."""
        values = self.starts if starts is None else starts
        return chain_costs(self.level, values, np.diff(cost(loss, np.arange(self._reach + 1))), self.line, self.prior)

    def posterior(self, value: int) -> tuple[Integers, Floats]:
        positions, as_high, higher = self._tails_near(value)
        return weigh(self.line, positions + self.line.first, np.maximum(as_high - higher, 0.0), self.prior)

    def interval(self, value: int, confidence: float) -> tuple[int, int]:
        positions, as_high, higher = self._tails_near(value)
        return neyman_interval(positions + self.line.first, 1 - higher, as_high, value, confidence)

    def _tails_near(self, value: int) -> tuple[Integers, Floats, Floats]:
        """The positions near an answer, and at each the probabilities of at least this answer, and of a higher one."""
        place, reach, last = value - self.line.first, self._reach, self.line.points - 1
        positions = np.arange(max(0, place - reach), min(last, place + reach) + 1)

        def tail(t: int) -> Floats:
            if t <= 0 or t > last:
                return np.full(len(positions), float(t <= 0))
            return chain_values(self.level, np.full(len(positions), self.starts[t - 1]), positions - t + 1)

        return positions, tail(place), tail(place + 1)

    @cached_property
    def _reach(self) -> int:
        """The number of steps, in either direction, after which a chain is negligibly close to 0 or 1."""
        return chain_reach(self.level, self.starts, self.line.points)

    @property
    def _boundary_reach(self) -> int:
        return 2 * self._reach

    def to_json(self) -> dict[str, Any]:
        runs = [[value, len(list(group))] for value, group in groupby(self.starts.tolist())]
        return {
            "line": unlisted_to_json(self.line),
            "loss": self.loss,
            "prior": plain_prior(self.prior),
            "level": self.level.to_json(),
            "starts": runs,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        line, prior = read_line(data)
        values = np.array([run[0] for run in data["starts"]], dtype=float)
        times = np.array([run[1] for run in data["starts"]], dtype=np.int64)
        if (times < 1).any() or times.sum() != line.points - 1 or line.points > MOST_LISTED:
            raise InvalidInput("the chains' starts are not as many as the thresholds.")
        level = level_from_json(data["level"])
        return cls(line, level, np.repeat(values, times), require_line_loss(data["loss"]), prior)


def chain_values(level: Level, start: Floats, steps: Integers) -> Floats:
    """The value of a chain so many steps above (negative: below) its start, in floats."""
    up, down = np.maximum(steps, 0), np.maximum(-steps, 0)
    if isinstance(level, SuitablePair):
        result = start
        for step in range(int(np.abs(steps).max(initial=0))):
            going = np.abs(steps) > step
            result = np.where(going, np.where(steps > 0, level.upper(result), level.lower(result)), result)
        return np.asarray(result)
    return np.asarray(np.where(steps >= 0, level.upper_after(up, start), level.lower_after(down, start)))


def enclose_chain(level: Level, start: Fraction, steps: int, bits: int) -> arb:
    """A ball around the value of a chain so many steps above (negative: below) its start."""
    if isinstance(level, SuitablePair):
        exact = start
        for _ in range(abs(steps)):
            exact = level.at(exact) if steps > 0 else 1 - level.at(1 - exact)
        return arb(as_fmpq(exact))
    size = math.ceil(level.log_growth * 1.45) if isinstance(level, ApproxDP) else 0
    with ctx.workprec(bits + 128 + (size + 1) * abs(steps) + start.denominator.bit_length()):
        x = arb(as_fmpq(start))
        if isinstance(level, GaussianDP):
            if start in (0, 1):
                return x
            root = arb(2).sqrt()
            shift = arb(as_fmpq(Fraction(level.mu))) * steps / root
            return (((2 * x).erfcinv() - shift).erfc()) / 2
        assert isinstance(level, ApproxDP)
        grown = arb(as_fmpq(level.ratio)) * arb(as_fmpq(Fraction(level.exponent))).exp()
        delta = arb(as_fmpq(level.delta))
        value = x if steps > 0 else 1 - x
        for _ in range(abs(steps)):
            value = (grown * value + delta).min(1 - (1 - delta - value) / grown).min(arb(1))
        return value if steps > 0 else 1 - value


def chain_reach(level: Level, starts: Floats, points: int) -> int:
    """The number of steps after which every chain is within 2^-64 of 0 going down and of 1 going up; at most the line.

    If the level keeps 0 and 1 fixed, chains that start there stay, and matter up to the end of the line.
    """
    minimum = 1
    if not level.upper(0.0):
        t = np.arange(1, len(starts) + 1)
        stay = np.concatenate([t[starts == 1], points - t[starts == 0]]) if len(starts) == points - 1 else t[:0]
        minimum = int(stay.max(initial=1))
        starts = starts[(starts > 0) & (starts < 1)]
    if not len(starts):
        return minimum
    ends = np.array([starts.max(), 1 - starts.min()])  # going down from the highest, and up from the lowest

    def far(steps: int) -> bool:
        return bool((_lower_after(level, steps, ends) < 2.0**-64).all())

    low, high = 0, 1
    while high < points and not far(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if far(middle) else (middle, high)
    return min(max(high, minimum), points)


def _lower_after(level: Level, steps: int, values: Floats) -> Floats:
    if isinstance(level, SuitablePair):
        for _ in range(steps):
            values = level.lower(values)
        return values
    return np.asarray(level.lower_after(np.full(len(values), steps), values))


def chain_costs(level: Level, starts: Floats, increments: Floats, line: Line, prior: Floats | None) -> Floats:
    """The contribution of each threshold to the expected loss; `added[j-1]` is the loss of j steps less that of j - 1.

    Points below a threshold pay for answers at or above it, points from it on for answers below. The j-th point below
    is j - 1 steps under the chain's start, the j-th above is j steps over it.
    """
    n, wide = line.points, len(increments)
    costs = np.empty(n - 1)
    if prior is None:  # runs of equal starts share their sums
        first = np.flatnonzero(np.diff(starts, prepend=np.nan) != 0)
        values, which = starts[first], np.repeat(np.arange(len(first)), np.diff(np.append(first, n - 1)))
        rows = max(1, ROWS // wide)
        if len(values) * wide > MOST_ENTRIES:
            raise TooLarge("chains this wide over so many thresholds do not fit; use fewer points or a larger level.")
        t = np.arange(1, n)
        for begin in range(0, len(values), rows):
            part = values[begin : begin + rows]
            below, above = orbits(level, part, wide)
            none = np.zeros((len(part), 1))
            sums = [np.hstack([none, np.cumsum(side * increments, axis=1)]) for side in (below, above)]
            mine = slice(*np.searchsorted(which, [begin, begin + rows]))
            own, at = which[mine] - begin, t[mine]
            costs[mine] = sums[0][own, np.minimum(at, wide)] + sums[1][own, np.minimum(n - at, wide)]
        return costs / n
    if (n - 1) * wide > MOST_ENTRIES:
        raise TooLarge("chains this wide under a listed prior do not fit; leave the prior out, or use fewer points.")
    padded = np.concatenate([np.zeros(wide), prior, np.zeros(wide)])
    rows = max(1, ROWS // wide)
    j = np.arange(1, wide + 1)
    for begin in range(0, n - 1, rows):
        t = np.arange(begin + 1, min(begin + rows, n - 1) + 1)
        below, above = orbits(level, starts[t - 1], wide)
        down, up = padded[t[:, None] - j + wide], padded[t[:, None] - 1 + j + wide]
        costs[t - 1] = ((down * below + up * above) * increments).sum(axis=1)
    return costs


def orbits(level: Level, starts: Floats, wide: int) -> tuple[Floats, Floats]:
    """For each start and j = 1..wide: the chain j - 1 steps down, and one minus the chain j steps up."""
    if isinstance(level, SuitablePair):
        below, above = np.empty((len(starts), wide)), np.empty((len(starts), wide))
        down, lacking = starts, level.lower(1 - starts)
        for j in range(wide):
            below[:, j], above[:, j] = down, lacking
            down, lacking = level.lower(down), level.lower(lacking)
        return below, above
    count = np.arange(1, wide + 1)[None, :]
    column = starts[:, None]
    return np.asarray(level.lower_after(count - 1, column)), np.asarray(level.lower_after(count, 1 - column))


def _last_true(reaches: Any, low: int, high: int) -> int:
    """The largest t in low..high-1 with reaches(t), by bisection; reaches(low) holds."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if reaches(middle) else (low, middle)
    return low
