"""Exact draws from any law on the whole numbers whose tail Pr[N >= n] is enclosed by balls of any precision.

N is at least n exactly if a uniform number lies below Pr[N >= n]. The first 62 bits of every tail are in a table with a
guide by the first bits of a random word, so that most draws are one look-up; where 62 bits are not enough, further bits
are drawn and compared with narrower balls. Nothing is truncated: beyond the table, tails are computed when needed,
which happens with probability below 2^-62.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from utmost.exact import endpoints
from utmost.mechanism.sampling import ROWS_AT_ONCE, WORD, Uniform, uniform_words

Enclosure: TypeAlias = Callable[[int, int], arb]
"""A ball around Pr[N >= n], from n and a number of bits."""
GUIDE = 14
FEW = 8
"""Up to this many draws are made by bisection, as a table would take longer."""
MOST_TABLE = 2**15
"""The largest table: a longer one holds every second, fourth, ... tail only, and bisection finds the rest."""


class TailDraws:
    """Draws of a whole number N >= 0 from its tail.

    Parameters
    ----------
    enclose : callable
        enclose(n, bits) is a ball around Pr[N >= n] for n = 1, 2, ..., the narrower the more bits. Tails must be
        non-increasing and tend to 0.

    Examples
    --------
    >>> from flint import arb
    >>> TailDraws(lambda n, bits: arb(2) ** -n).draw(3)[0].shape                # a coin tossed until it shows heads
    (3,)
    """

    def __init__(self, enclose: Enclosure) -> None:
        self._enclose = enclose

    def enclose(self, n: int, bits: int) -> arb:
        """The ball around Pr[N >= n], computed at a sufficient working precision."""
        with ctx.workprec(bits + 64):
            return self._enclose(n, bits)

    def draw(self, size: int) -> tuple[NDArray[Any], NDArray[np.uint64]]:
        """`size` independent numbers, and two more random bits with each; Python integers if one exceeds 64 bits."""
        blocks, spare = [np.empty(0, dtype=np.int64)], np.empty(size, dtype=np.uint64)
        for start in range(0, size, ROWS_AT_ONCE):
            part = slice(start, min(start + ROWS_AT_ONCE, size))
            words = uniform_words(64, part.stop - start)
            spare[part] = words & np.uint64(3)
            is_few = size <= FEW
            numbers = _integers([self._bisect(int(word) >> 2) for word in words]) if is_few else self._look_up(words)
            blocks.append(numbers)
        return np.concatenate(blocks), spare

    def _look_up(self, random_words: NDArray[np.uint64]) -> NDArray[Any]:
        """The numbers that random words stand for, by the table and the guide."""
        low, high, stride = self._table
        part_of, uncertain = self._guide
        words = random_words >> np.uint64(64 - WORD)
        cells = (random_words >> np.uint64(64 - GUIDE)).astype(np.intp)
        numbers = part_of[cells].astype(np.int64)
        open_rows = np.flatnonzero(uncertain[cells])
        open_words = words[open_rows]
        least = len(low) - np.searchsorted(low, open_words, side="right")  # tails that are certainly above
        most = len(high) - np.searchsorted(high, open_words, side="left")  # tails that may be above
        numbers[open_rows] = least
        if stride > 1:
            return _integers(
                [self._bisect(word, stride * n) for word, n in zip(words.tolist(), numbers.tolist(), strict=True)]
            )
        doubtful = least < most
        numbers[open_rows[doubtful]] = [
            self._bisect(word, n)
            for word, n in zip(open_words[doubtful].tolist(), least[doubtful].tolist(), strict=True)
        ]
        return numbers

    def _bisect(self, word: int, low: int = 0) -> int:
        """The number of tails above a uniform number with these first 62 bits; at least `low`."""
        number, step = Uniform(word, WORD), 1
        while number.is_below(partial(self.enclose, low + step)):
            low, step = low + step, 2 * step
        high = low + step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if number.is_below(partial(self.enclose, middle)) else (low, middle)
        return low

    @cached_property
    def _table(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64], int]:
        """The first 62 bits of the ends of every tail's ball, in increasing order, and the stride between tails."""
        last = 1
        while self._word(last)[1] > 0:
            last *= 2
        stride = max(1, last // MOST_TABLE)
        words = []
        for n in range(stride, last + stride, stride):
            words.append(self._word(n))
            if words[-1][1] == 0:
                break
        low, high = (np.array(ends[::-1], dtype=np.uint64) for ends in zip(*words, strict=True))
        return low, high, stride

    def _word(self, n: int) -> tuple[int, int]:
        """The first 62 bits of the ends of one tail's ball."""
        with ctx.workprec(192):
            ball = self.enclose(n, 128) * 2**WORD
            whole = ball.floor().unique_fmpz()
        if whole is not None:
            return max(int(whole), 0), max(int(whole), 0)
        low, high = endpoints(ball)
        return max(int(low), 0), int(high)

    @cached_property
    def _guide(self) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """For each value of a word's first bits, how many tails are above, and whether the other bits matter."""
        low, high, _ = self._table
        first = np.arange(2**GUIDE, dtype=np.uint64) << np.uint64(WORD - GUIDE)
        last = first + np.uint64(2 ** (WORD - GUIDE) - 1)
        least = len(low) - np.searchsorted(low, last, side="right")
        most = len(high) - np.searchsorted(high, first, side="left")
        return least.astype(np.int32), least < most


def _integers(values: list[int]) -> NDArray[Any]:
    """Integers as an array, of 64 bits where they fit."""
    return np.array(values, dtype=np.int64 if max(values, default=0) < 2**63 else object)


class SymmetricDraws:
    """Draws of an integer X with Pr[X >= t] = Pr[X <= -t]: |X| by its tail 2 Pr[X >= t], then a sign.

    Parameters
    ----------
    enclose : callable
        enclose(t, bits) is a ball around Pr[X >= t] for t = 1, 2, ...
    """

    def __init__(self, enclose: Enclosure) -> None:
        self._sizes = TailDraws(lambda n, bits: 2 * enclose(n, bits))

    def draw(self, size: int) -> NDArray[Any]:
        """`size` independent integers."""
        sizes, spare = self._sizes.draw(size)
        return np.asarray(np.where((spare & np.uint64(1)).astype(bool), -sizes, sizes))
