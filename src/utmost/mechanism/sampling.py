"""Exact draws from integer weights and from real cuts, and the source of randomness.

A row of weights that add up to 2^bits is sampled with one uniform number of that many bits: no rejection, no float, no
seed. Random bytes come from the operating system, through a buffer that is locked across threads, dropped in a forked
child, and never used twice. A source that returns fewer bytes than requested is refused: missing bytes would be read as
zeros, and the draw would not be random.

A uniform number between 0 and 1 is an infinite string of random bits of which as many are drawn as a comparison needs.
It is compared with numbers that are enclosed by balls of any precision, so every comparison terminates, with
probability 1, and is then exact: no float is involved. Whole arrays are drawn at once: 62 bits decide, except with
probability below 2^-50.
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
"""How many bits of a word determine the part it falls in, except for words near a cut."""


class SystemBytes:
    """Bytes from the operating system's generator, many at a time."""

    def __init__(self) -> None:
        self._forget()
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._lock = threading.RLock()
        self._buffer, self._next, self._owner, self._busy = b"", 0, os.getpid(), False

    def __call__(self, size: int) -> bytes:
        """`size` bytes, never returned before."""
        if size < 0:
            raise ValueError("a number of bytes is 0 or more")
        if self._owner != os.getpid():  # a fork outside of Python
            self._forget()
        if size > BUFFER // 8:
            return _checked(os.urandom(size), size)
        with self._lock:
            if self._busy:  # a signal handler in the middle of the lines below
                return _checked(os.urandom(size), size)
            self._busy = True
            try:
                if self._next + size > len(self._buffer):
                    self._buffer, self._next = _checked(os.urandom(BUFFER), BUFFER), 0
                self._next += size
                return self._buffer[self._next - size : self._next]
            finally:
                self._busy = False


_source: ByteSource = SystemBytes()


def _random_bytes(size: int) -> bytes:
    """`size` bytes of the source, or an error."""
    return _checked(_source(size), size)


def _checked(random_bytes: bytes, size: int) -> bytes:
    """The bytes, checked to be as many as requested."""
    if len(random_bytes) != size:
        raise UtmostError(
            f"the source of randomness gave {len(random_bytes)} bytes where {size} were asked for; nothing was drawn "
            "from them. See that the operating system's generator (os.urandom) works, and ask again."
        )
    return random_bytes


@contextmanager
def insecure_source_for_tests_only(source: ByteSource) -> Iterator[None]:
    """Draw from a source chosen by a test. Answers drawn inside are NOT private."""
    global _source
    system, _source = _source, source
    try:
        yield
    finally:
        _source = system


def uniform_words(bits: int, size: int) -> NDArray[np.uint64]:
    """Uniform integers below 2^bits, bits at most 64: the high bits of fresh 8-byte words."""
    words = np.frombuffer(_random_bytes(8 * size), dtype="<u8").astype(np.uint64, copy=False)
    return words >> np.uint64(64 - bits) if bits < 64 else words


def uniform_below(n: int, size: int) -> NDArray[np.int64]:
    """Uniform integers below n, n at most 2^62, by rejection: words of just enough bits, redrawn at n or more.

    The number of rejections depends on the randomness alone.
    """
    if n == 1:
        return np.zeros(size, dtype=np.int64)
    bits = (n - 1).bit_length()
    integers = uniform_words(bits, size).astype(np.int64)
    while len(rejected := np.flatnonzero(integers >= n)):
        integers[rejected] = uniform_words(bits, len(rejected)).astype(np.int64)
    return integers


def uniform_integer(bits: int) -> int:
    """One uniform integer below 2^bits."""
    size = (bits + 7) // 8
    return int.from_bytes(_random_bytes(size), "little") >> (8 * size - bits)


def draw(weights: Sequence[int] | NDArray[Any], bits: int, size: int) -> NDArray[np.int64]:
    """Positions drawn with probability weight / 2^bits, exactly.

    A position is the number of cumulative sums at or below a uniform number. All sums are compared for every draw, so
    the time does not depend on the result; beyond `WORD` bits the first 62 decide, except with probability below
    len(weights) / 2^62, when the remaining bits are drawn too.
    """
    sums = _cumulative(weights)
    if size == 1:
        number = uniform_integer(bits)
        return np.array([sum(s <= number for s in sums)])
    if bits <= WORD:
        return _count(np.array(sums, dtype=np.uint64), lambda n: uniform_words(bits, n), size)[0]
    rest = bits - WORD
    tops = np.array([s >> rest for s in sums], dtype=np.uint64)
    positions, words = _count(tops, lambda n: uniform_words(WORD, n), size)
    for i in np.flatnonzero(np.isin(words, tops)).tolist():
        number = (int(words[i]) << rest) | uniform_integer(rest)
        positions[i] = sum(s <= number for s in sums)
    return positions


def _cumulative(weights: Sequence[int] | NDArray[Any]) -> list[int]:
    """The cumulative sums except the last, which no draw reaches."""
    if isinstance(weights, np.ndarray) and weights.dtype == np.int64:  # they add up to at most 2^62
        return cast("list[int]", np.cumsum(weights[:-1]).tolist())
    return list(accumulate(int(weight) for weight in weights[:-1]))


def _count(
    sums: NDArray[np.uint64], words: Callable[[int], NDArray[np.uint64]], size: int
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """How many sums are at or below each of `size` uniform words, and the words; by blocks that fit in cache."""
    numbers = words(size)
    positions = np.zeros(size, dtype=np.int64)
    if len(sums) > 256:
        return np.searchsorted(sums, numbers, side="right"), numbers
    for start in range(0, size, ROWS_AT_ONCE):
        block = numbers[start : start + ROWS_AT_ONCE]
        count: NDArray[Any] = np.zeros(len(block), dtype=np.uint16)
        for s in sums:
            count += block >= s
        positions[start : start + ROWS_AT_ONCE] = count
    return positions, numbers


class Uniform:
    """A uniform number between 0 and 1 whose bits are drawn lazily."""

    def __init__(self, number: int | None = None, bits: int = 64) -> None:
        self.number, self.bits = uniform_integer(bits) if number is None else number, bits

    def is_below(self, enclose: Callable[[int], arb]) -> bool:
        """Whether it lies below a number that is enclosed by balls of any precision."""
        while True:
            low, high = endpoints(enclose(self.bits + 32))
            below, beyond = self.number + 1 <= low * 2**self.bits, self.number >= high * 2**self.bits
            if below or beyond:  # both are evaluated in either case, so that the time reveals nothing
                return bool(below)
            self.number, self.bits = (self.number << 64) | uniform_integer(64), self.bits + 64


@dataclass(frozen=True)
class Cuts:
    """Points that divide the interval from 0 to 1, in increasing order, enclosed by balls of any precision."""

    enclose: Callable[[int], list[arb]]

    @cached_property
    def _words(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """The first 62 bits of the lower and the upper end of each ball."""
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
        """The parts into which uniform numbers fall, and two more random bits with each."""
        low, high = self._words
        part_of, uncertain = self._guide
        random_words = uniform_words(64, size)
        words, spare = random_words >> np.uint64(64 - WORD), random_words & np.uint64(3)
        cells = (random_words >> np.uint64(64 - GUIDE)).astype(np.intp)
        parts = part_of[cells].astype(np.int64)
        open_rows = np.flatnonzero(uncertain[cells])
        open_words = words[open_rows]
        parts[open_rows] = certain = np.searchsorted(
            high, open_words, side="left"
        )  # cuts that are certainly at or below
        doubtful = np.append(low, np.uint64(2**63))[certain] <= open_words  # 62 bits are not enough
        for i in open_rows[doubtful].tolist():
            number = Uniform(int(words[i]), WORD)
            while parts[i] < len(low) and not number.is_below(partial(self._cut, int(parts[i]))):
                parts[i] += 1
        return parts, spare

    def _cut(self, j: int, bits: int) -> arb:
        return self.enclose(bits)[j]


def below(n: int) -> int:
    """One uniform integer below n, of any size, by rejection: just enough bits, redrawn at n or more."""
    bits = max(1, (n - 1).bit_length())
    while (number := uniform_integer(bits)) >= n:
        pass
    return number


def uniform_subset(n: int, size: int, below: Callable[[int], int] = below) -> set[int]:
    """A uniform subset of 0..n-1 of this size: Floyd's algorithm."""
    subset: set[int] = set()
    for last in range(n - size, n):
        pick = below(last + 1)
        subset.add(last if pick in subset else pick)
    return subset
