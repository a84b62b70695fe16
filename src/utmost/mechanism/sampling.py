"""Exact draws from integer weights and from real cuts, and the source of randomness.

A row of weights that add up to 2^bits is drawn from by one uniform number of that many bits: no rejection, no float,
no seed. Random bytes come from the operating system, through a buffer that is locked across threads, dropped in a
forked child, and never handed out twice. A source that answers with fewer bytes than it was asked for is refused:
missing bytes would be read as zeros, and the draw would not be random.

A uniform number between 0 and 1 is an endless string of random bits of which as many are drawn as a comparison needs.
What it is compared with is known through balls of any precision, so every comparison ends, with probability 1, and is
then right: no float stands between the random bits and the answer. Whole arrays are drawn at once: 62 bits decide,
except with probability below 2^-50.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate
from typing import Any, TypeAlias, cast

import numpy as np
from flint import arb
from numpy.typing import NDArray

from utmost.errors import UtmostError
from utmost.exact import endpoints
from utmost.exact.arrays import Integers

ByteSource: TypeAlias = Callable[[int], bytes]
BUFFER = 2**16
WORD = 62
"""Weights over at most 2^62 are 64-bit integers; larger totals are Python's own integers."""
ROWS_AT_ONCE = 2**14
GUIDE = 12
"""So many bits of a word find the part it falls in, but for words near a cut."""


class SystemBytes:
    """Bytes from the operating system's generator, many at a time."""

    def __init__(self) -> None:
        self._forget()
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._lock = threading.RLock()
        self._buffer, self._next, self._owner, self._busy = b"", 0, os.getpid(), False

    def __call__(self, size: int) -> bytes:
        """So many bytes, never handed out before."""
        if size < 0:
            raise ValueError("a number of bytes is 0 or more")
        if self._owner != os.getpid():  # a fork that Python did not see
            self._forget()
        if size > BUFFER // 8:
            return _whole(os.urandom(size), size)
        with self._lock:
            if self._busy:  # a signal handler in the middle of the lines below
                return _whole(os.urandom(size), size)
            self._busy = True
            try:
                if self._next + size > len(self._buffer):
                    self._buffer, self._next = _whole(os.urandom(BUFFER), BUFFER), 0
                self._next += size
                return self._buffer[self._next - size : self._next]
            finally:
                self._busy = False


_source: ByteSource = SystemBytes()


def _random_bytes(size: int) -> bytes:
    """So many bytes of the source, or no draw at all."""
    return _whole(_source(size), size)


def _whole(drawn: bytes, size: int) -> bytes:
    """The bytes, if as many came as were asked for."""
    if len(drawn) != size:
        raise UtmostError(
            f"the source of randomness gave {len(drawn)} bytes where {size} were asked for; nothing was drawn from "
            "them. See that the operating system's generator (os.urandom) works, and ask again."
        )
    return drawn


@contextmanager
def insecure_source_for_tests_only(source: ByteSource) -> Iterator[None]:
    """Draw from a source of the test's choosing. Answers drawn inside are NOT private."""
    global _source
    before, _source = _source, source
    try:
        yield
    finally:
        _source = before


def uniform_words(bits: int, size: int) -> NDArray[np.uint64]:
    """Uniform integers below 2^bits, bits at most 64: the high bits of fresh 8-byte words."""
    words = np.frombuffer(_random_bytes(8 * size), dtype="<u8").astype(np.uint64, copy=False)
    return words >> np.uint64(64 - bits) if bits < 64 else words


def uniform_below(n: int, size: int) -> NDArray[np.int64]:
    """Uniform integers below n, n at most 2^62: words of just enough bits, and those at n or more drawn again.

    How often that happens depends on the randomness alone.
    """
    if n == 1:
        return np.zeros(size, dtype=np.int64)
    bits = (n - 1).bit_length()
    drawn = uniform_words(bits, size).astype(np.int64)
    while len(again := np.flatnonzero(drawn >= n)):
        drawn[again] = uniform_words(bits, len(again)).astype(np.int64)
    return drawn


def uniform_integer(bits: int) -> int:
    """One uniform integer below 2^bits."""
    size = (bits + 7) // 8
    return int.from_bytes(_random_bytes(size), "little") >> (8 * size - bits)


def draw(weights: Sequence[int] | NDArray[Any], bits: int, size: int) -> NDArray[np.int64]:
    """Positions drawn with probability weight / 2^bits, exactly.

    A position is the number of cumulative sums at or below a uniform number. All sums are compared for every draw, so
    the time does not depend on what is drawn; beyond `WORD` bits the first 62 decide, except with probability below
    len(weights) / 2^62, when the rest is drawn too.
    """
    sums = _cumulative(weights)
    if size == 1:
        number = uniform_integer(bits)
        return np.array([sum(s <= number for s in sums)])
    if bits <= WORD:
        return _count(np.array(sums, dtype=np.uint64), lambda n: uniform_words(bits, n), size)[0]
    rest = bits - WORD
    tops = np.array([s >> rest for s in sums], dtype=np.uint64)
    positions, drawn = _count(tops, lambda n: uniform_words(WORD, n), size)
    for i in np.flatnonzero(np.isin(drawn, tops)).tolist():
        number = (int(drawn[i]) << rest) | uniform_integer(rest)
        positions[i] = sum(s <= number for s in sums)
    return positions


def _cumulative(weights: Sequence[int] | NDArray[Any]) -> list[int]:
    """The cumulative sums but the last, which no draw reaches."""
    if isinstance(weights, np.ndarray) and weights.dtype == np.int64:  # they add up to at most 2^62
        return cast("list[int]", np.cumsum(weights[:-1]).tolist())
    return list(accumulate(int(weight) for weight in weights[:-1]))


def _count(
    sums: NDArray[np.uint64], words: Callable[[int], NDArray[np.uint64]], size: int
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """How many sums are at or below each of `size` uniform words, and the words; a block at a time stays in cache."""
    drawn = words(size)
    positions = np.zeros(size, dtype=np.int64)
    if len(sums) > 256:
        return np.searchsorted(sums, drawn, side="right"), drawn
    for start in range(0, size, ROWS_AT_ONCE):
        block = drawn[start : start + ROWS_AT_ONCE]
        count: NDArray[Any] = np.zeros(len(block), dtype=np.uint16)
        for s in sums:
            count += block >= s
        positions[start : start + ROWS_AT_ONCE] = count
    return positions, drawn


class Uniform:
    """A uniform number between 0 and 1, of which the first bits are known and more are drawn when needed."""

    def __init__(self, number: int | None = None, bits: int = 64) -> None:
        self.number, self.bits = uniform_integer(bits) if number is None else number, bits

    def is_below(self, enclose: Callable[[int], arb]) -> bool:
        """Whether it lies below a number given by balls of any precision."""
        while True:
            low, high = endpoints(enclose(self.bits + 32))
            below, beyond = self.number + 1 <= low * 2**self.bits, self.number >= high * 2**self.bits
            if below or beyond:  # both are asked whatever the answer, so that the time does not tell
                return bool(below)
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


def below(n: int) -> int:
    """One uniform integer below n, of any size: just enough bits, drawn again if they make n or more."""
    bits = max(1, (n - 1).bit_length())
    while (number := uniform_integer(bits)) >= n:
        pass
    return number


def uniform_subset(n: int, size: int, below: Callable[[int], int] = below) -> set[int]:
    """A uniform subset of 0..n-1 of this size: Floyd's algorithm."""
    chosen: set[int] = set()
    for last in range(n - size, n):
        pick = below(last + 1)
        chosen.add(last if pick in chosen else pick)
    return chosen
