"""Exact draws from a `LayerLaw`: all integers, no cut-off, no float between the random bits and the answer.

A uniform number between 0 and 1 is an endless string of random bits of which as many are drawn as a comparison needs.
What it is compared with is known through balls of any precision, so every comparison ends, with probability 1, and is
then right. In one dimension whole arrays are drawn at once: 62 bits decide, except with probability below 2^-50.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from math import comb

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from utmost.exact import as_fmpq, endpoints
from utmost.exact.arrays import Integers
from utmost.mechanism.layers import LayerLaw
from utmost.mechanism.sampling import ROWS_AT_ONCE, WORD, uniform_below, uniform_integer, uniform_words

RADIX = 256
GUIDE = 12


class Uniform:
    """A uniform number between 0 and 1, of which the first bits are known and more are drawn when needed."""

    def __init__(self, number: int | None = None, bits: int = 64) -> None:
        self.number, self.bits = uniform_integer(bits) if number is None else number, bits

    def is_below(self, enclose: Callable[[int], arb]) -> bool:
        """Whether it lies below a number given by balls of any precision."""
        while True:
            low, high = endpoints(enclose(self.bits + 32))
            if self.number + 1 <= low * 2**self.bits:
                return True
            if self.number >= high * 2**self.bits:
                return False
            self.number, self.bits = (self.number << 64) | uniform_integer(64), self.bits + 64


@dataclass(frozen=True)
class Cuts:
    """Points that cut the interval from 0 to 1 into parts, in increasing order, given by balls of any precision."""

    enclose: Callable[[int], list[arb]]

    @cached_property
    def _words(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """The first 62 bits of the least and the greatest number each ball holds."""
        ends = [endpoints(ball) for ball in self.enclose(128)]
        low, high = ([int(end[side] * 2**WORD) for end in ends] for side in (0, 1))
        return np.array(low, dtype=np.uint64), np.array(high, dtype=np.uint64)

    @cached_property
    def _guide(self) -> tuple[NDArray[np.int16], NDArray[np.bool_]]:
        """For each value of the first bits of a word, the part it falls in, and whether a cut makes that uncertain."""
        low, high = self._words
        first = np.arange(2**GUIDE, dtype=np.uint64) << np.uint64(WORD - GUIDE)
        last = first + np.uint64(2 ** (WORD - GUIDE) - 1)
        least, most = np.searchsorted(high, first, side="left"), np.searchsorted(low, last, side="right")
        return least.astype(np.int16), least < most

    def draw(self, size: int) -> tuple[Integers, NDArray[np.uint64]]:
        """In which parts uniform numbers fall, and two more random bits with each."""
        low, high = self._words
        part_of, uncertain = self._guide
        drawn = uniform_words(64, size)
        words, spare = drawn >> np.uint64(64 - WORD), drawn & np.uint64(3)
        cells = (drawn >> np.uint64(64 - GUIDE)).astype(np.intp)
        parts = part_of[cells].astype(np.int64)
        unsure = np.flatnonzero(uncertain[cells])
        near = words[unsure]
        parts[unsure] = found = np.searchsorted(high, near, side="left")  # cuts that are surely at or below
        doubtful = np.append(low, np.uint64(2**63))[found] <= near  # 62 bits do not tell
        for i in unsure[doubtful].tolist():
            number = Uniform(int(words[i]), WORD)
            while parts[i] < len(low) and not number.is_below(partial(self._cut, int(parts[i]))):
                parts[i] += 1
        return parts, spare

    def _cut(self, j: int, bits: int) -> arb:
        return self.enclose(bits)[j]


class IntegerDraws:
    """Draws from a law in one dimension, many at once.

    A position n >= 0 is a block (period) and a place in it, which are independent: the block is geometric, and its
    digits to any base are independent again, since b^(m + M·k) = b^m (b^M)^k. The highest digit has no end: beyond the
    last entry of its table the same law begins anew. A sign makes n an integer; -0 is thrown away and drawn again,
    which leaves every other integer its mass a·b^s(n). How often that happens tells nothing about what is kept.
    """

    def __init__(self, law: LayerLaw) -> None:
        self.law = law
        self._digits: list[Cuts] = []
        with ctx.workprec(64 + 2 * law.decay.denominator.bit_length()):
            base = arb(as_fmpq(law.decay))
            while base ** (RADIX ** len(self._digits)) > 2.0**-30:  # so rarely does the last digit begin anew
                self._digits.append(Cuts(partial(self._digit, RADIX ** len(self._digits), True)))
        self._digits[-1:] = [Cuts(partial(self._digit, RADIX ** max(0, len(self._digits) - 1), False))]
        self._first_part = Cuts(self._share_of_first_part)

    @property
    def fits(self) -> bool:
        """Whether 64-bit integers hold every draw, but for an event of probability below 2^-2000."""
        return bool(self.law.period * RADIX ** len(self._digits) < 2**54)

    def draw(self, size: int) -> Integers:
        """So many integers, independently; a block of them at a time stays in cache."""
        drawn = np.empty(size, dtype=np.int64)
        for start in range(0, size, ROWS_AT_ONCE):
            part = drawn[start : start + ROWS_AT_ONCE]
            part[:], signs = self._places(len(part))
            while len(again := np.flatnonzero((part == 0) & signs)):
                part[again], signs[again] = self._places(len(again))
            part *= 1 - 2 * signs.astype(np.int64)
        return drawn

    def positions(self, size: int) -> Integers:
        """So many positions n >= 0 alone, each with probability proportional to b^s(n): of period 1, geometric."""
        return np.concatenate([self._places(min(ROWS_AT_ONCE, size - i))[0] for i in range(0, size, ROWS_AT_ONCE)])

    def _places(self, size: int) -> tuple[Integers, NDArray[np.bool_]]:
        """Positions n >= 0 and random signs."""
        block, spare = self._digits[0].draw(size)
        scale = 1
        for cuts in self._digits[1:]:
            scale *= RADIX
            block = block + scale * cuts.draw(size)[0]
        top = scale * RADIX  # the highest digit is RADIX: its law begins anew
        onward = np.flatnonzero(block >= top)
        while len(onward):
            more = self._digits[-1].draw(len(onward))[0]
            block[onward] += scale * more
            onward = onward[more == RADIX]
        return block * self.law.period + self._offsets(size), (spare & np.uint64(1)).astype(bool)

    def _offsets(self, size: int) -> Integers:
        """Places within a period: its first layers have mass 1 each, the others b."""
        period, upper = self.law.period, self.law.upper
        if period == 1:
            return np.zeros(size, dtype=np.int64)
        if upper == period:
            return uniform_below(period, size)
        second = self._first_part.draw(size)[0] == 1
        offsets = np.empty(size, dtype=np.int64)
        later = int(second.sum())
        offsets[~second] = uniform_below(upper, size - later)
        offsets[second] = upper + uniform_below(period - upper, later)
        return offsets

    def _digit(self, power: int, ends: bool, bits: int) -> list[arb]:
        """Cuts between the values of one digit of the block, whose law falls by b^power a value."""
        with ctx.workprec(bits + 64 + 2 * self.law.decay.denominator.bit_length()):
            base = arb(as_fmpq(self.law.decay)) ** power
            whole = 1 - base**RADIX if ends else arb(1)
            return [(1 - base**m) / whole for m in range(1, RADIX + (not ends))]

    def _share_of_first_part(self, bits: int) -> list[arb]:
        law = self.law
        with ctx.workprec(bits + 64):
            later = arb(as_fmpq(law.decay)) * (law.period - law.upper)
            return [law.upper / (law.upper + later)]


def draw_point(law: LayerLaw) -> tuple[int, ...]:
    """One integer point of any dimension: its layer by inversion of the exact tail, then uniform on the layer."""
    number, high = Uniform(), 1
    while number.is_below(partial(law.enclose_tail, high)):
        high *= 2
    low = high // 2  # tail(low) is above the uniform number, tail(high) is not
    while high - low > 1:
        middle = (low + high) // 2
        if number.is_below(partial(law.enclose_tail, middle)):
            low = middle
        else:
            high = middle
    return point_on_layer(law.dimension, low)


def below(n: int) -> int:
    """One uniform integer below n, of any size: just enough bits, drawn again if they make n or more."""
    bits = max(1, (n - 1).bit_length())
    while (number := uniform_integer(bits)) >= n:
        pass
    return number


def point_on_layer(dimension: int, n: int, below: Callable[[int], int] = below) -> tuple[int, ...]:
    """A uniform point among the integer points with l1 norm n, by uniform integers `below` a bound.

    j coordinates differ from zero in C(d,j)·2^j·C(n-1,j-1) points: which ones, their signs, and where n is cut into j
    positive parts.
    """
    point = [0] * dimension
    if n == 0:
        return tuple(point)
    number = below(sum(_with_nonzero(dimension, n, j) for j in range(1, dimension + 1)))
    nonzero = 1
    while number >= (here := _with_nonzero(dimension, n, nonzero)):
        number, nonzero = number - here, nonzero + 1
    cuts = [0, *sorted(1 + c for c in uniform_subset(n - 1, nonzero - 1, below)), n]
    for i, start, end in zip(sorted(uniform_subset(dimension, nonzero, below)), cuts[:-1], cuts[1:], strict=True):
        point[i] = (end - start) * (1 if below(2) else -1)
    return tuple(point)


def _with_nonzero(dimension: int, n: int, j: int) -> int:
    return comb(dimension, j) * comb(n - 1, j - 1) << j


def uniform_subset(n: int, size: int, below: Callable[[int], int] = below) -> set[int]:
    """A uniform subset of 0..n-1 of this size: Floyd's algorithm."""
    chosen: set[int] = set()
    for last in range(n - size, n):
        pick = below(last + 1)
        chosen.add(last if pick in chosen else pick)
    return chosen
