"""Exact draws from any law of whole numbers whose tail Pr[N >= n] is known by balls of any precision.

N is at least n exactly if a uniform number lies below Pr[N >= n]. The first 62 bits of every tail stand in a table with
a guide by the first bits of a random word, so that most draws are one look-up; where 62 bits do not tell, further bits
are drawn and compared with narrower balls. Nothing is cut off: beyond the table, tails are computed when they are
needed, which happens with probability below 2^-62.
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
"""Up to so many draws are made by bisection, before a table is worth its time."""
MOST_TABLE = 2**15
"""A longer table holds every second, fourth, ... tail only, and bisection finds the rest."""


class TailDraws:
    """Draws of a whole number N >= 0 from its tail.

    Parameters
    ----------
    enclose : function of (n, bits)
        A ball around Pr[N >= n] for n = 1, 2, ..., the narrower the more bits. Tails must not rise, and fall to 0.

    Examples
    --------
    >>> from flint import arb
    >>> TailDraws(lambda n, bits: arb(2) ** -n).draw(3)[0].shape                # a coin tossed until it shows heads
    (3,)
    """

    def __init__(self, enclose: Enclosure) -> None:
        self._given = enclose

    def enclose(self, n: int, bits: int) -> arb:
        """The ball, computed at a working precision at which narrower ones can be told apart."""
        with ctx.workprec(bits + 64):
            return self._given(n, bits)

    def draw(self, size: int) -> tuple[NDArray[Any], NDArray[np.uint64]]:
        """So many numbers, independently, and two more random bits with each; Python's own if one is beyond 64 bits."""
        drawn_parts, spare = [np.empty(0, dtype=np.int64)], np.empty(size, dtype=np.uint64)
        for start in range(0, size, ROWS_AT_ONCE):
            part = slice(start, min(start + ROWS_AT_ONCE, size))
            drawn = uniform_words(64, part.stop - start)
            spare[part] = drawn & np.uint64(3)
            few = size <= FEW
            found = _integers([self._bisect(int(word) >> 2) for word in drawn]) if few else self._look_up(drawn)
            drawn_parts.append(found)
        return np.concatenate(drawn_parts), spare

    def _look_up(self, drawn: NDArray[np.uint64]) -> NDArray[Any]:
        low, high, stride = self._table
        part_of, uncertain = self._guide
        words = drawn >> np.uint64(64 - WORD)
        cells = (drawn >> np.uint64(64 - GUIDE)).astype(np.intp)
        found = part_of[cells].astype(np.int64)
        unsure = np.flatnonzero(uncertain[cells])
        near = words[unsure]
        least = len(low) - np.searchsorted(low, near, side="right")  # tails that are surely above
        most = len(high) - np.searchsorted(high, near, side="left")  # tails that may be above
        found[unsure] = least
        if stride > 1:
            return _integers(
                [self._bisect(word, stride * n) for word, n in zip(words.tolist(), found.tolist(), strict=True)]
            )
        doubtful = least < most
        found[unsure[doubtful]] = [
            self._bisect(word, n) for word, n in zip(near[doubtful].tolist(), least[doubtful].tolist(), strict=True)
        ]
        return found

    def _bisect(self, word: int, low: int = 0) -> int:
        """How many tails lie above a uniform number of which 62 bits are known; `low` of them surely do."""
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
        """The first 62 bits of the ends of every tail's ball, in rising order, and how many tails apart they are."""
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
    return np.array(values, dtype=np.int64 if max(values, default=0) < 2**63 else object)


class SymmetricDraws:
    """Draws of an integer X with Pr[X >= t] = Pr[X <= -t]: |X| by its tail 2 Pr[X >= t], then a sign.

    Parameters
    ----------
    enclose : function of (t, bits)
        A ball around Pr[X >= t] for t = 1, 2, ...
    """

    def __init__(self, enclose: Enclosure) -> None:
        self._sizes = TailDraws(lambda n, bits: 2 * enclose(n, bits))

    def draw(self, size: int) -> NDArray[Any]:
        """So many integers, independently."""
        sizes, spare = self._sizes.draw(size)
        return np.asarray(np.where((spare & np.uint64(1)).astype(bool), -sizes, sizes))
