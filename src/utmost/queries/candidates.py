"""Public candidates for quantiles: listed numbers, or a fine grid between two bounds.

A row belongs to the candidate nearest to its value, at halfway points to the lower one; values beyond the bounds belong
to the first or the last. So the quantile of the column, clamped to the bounds, lies between the halfway points around
the candidate that is the quantile of the rounded values, because rounding is monotone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from utmost.backends.source import Source
from utmost.errors import InvalidInput, shown
from utmost.exact import as_literal, as_plain, as_rational, show_rational
from utmost.queries.arguments import listed, plain
from utmost.queries.cells import EXACT, Cells, even_places, places
from utmost.queries.contributions import number_column
from utmost.queries.expressions import values as expr
from utmost.queries.expressions.relations import Relation
from utmost.queries.expressions.values import Expression

MOST_UNEVEN, MOST_EVEN = 1000, 10**6
"""Most candidates: of arbitrary numbers, and of equidistant ones."""
FINE = 10**5
"""Approximate number of steps of the default grid."""


@dataclass(frozen=True)
class Candidates:
    """Candidates in increasing order, listed or equidistant.

    Attributes
    ----------
    lower, upper : Fraction
        The range to which values are clamped.
    step : Fraction, optional
        The distance of neighbouring candidates; None where they are listed.
    numbers : tuple of number
        The candidates, where they are listed.
    """

    lower: Fraction
    upper: Fraction
    step: Fraction | None
    numbers: tuple[Any, ...] = ()

    @property
    def size(self) -> int:
        """The number of candidates."""
        return len(self.numbers) if self.step is None else int((self.upper - self.lower) / self.step) + 1

    def value(self, place: int) -> Any:
        """The candidate at a position."""
        return self.numbers[place] if self.step is None else as_plain(self.lower + place * self.step)

    @cached_property
    def _halfway(self) -> tuple[int, int, int]:
        """Integers (start, step, scale) such that halfway point i is the float nearest to (start + i·step)/scale."""
        assert self.step is not None
        first = self.lower + self.step / 2
        scale = math.lcm(first.denominator, self.step.denominator)
        return int(first * scale), int(self.step * scale), scale

    def _cut(self, place: int) -> float:
        """The halfway point between a candidate and the next, as a float."""
        if self.step is None:
            return float(self.numbers[place]) / 2 + float(self.numbers[place + 1]) / 2
        start, step, scale = self._halfway
        return (start + place * step) / scale

    def between(self, low: int, high: int, whole: bool) -> tuple[Any, Any]:
        """The range of values that are rounded to the candidates from position `low` to `high`.

        For a column of integers, the ends are integers.
        """
        least = as_plain(self.lower) if low == 0 else self._cut(low - 1)
        most = as_plain(self.upper) if high == self.size - 1 else self._cut(high)
        if not whole:
            return least, most
        first, last = math.ceil(least), math.floor(most)
        return (first, last) if first <= last else (least, most)

    def cells(self, source: Source, column: str) -> Cells:
        """A cell for every candidate: the rows nearest to it; null and NaN are in no cell."""
        value = expr.to_float(number_column(source, column))

        def number(table: Relation) -> Expression:
            x = table["key0"]
            if self.step is not None and self.size > 2:
                place = even_places(x, *self._halfway, self.size - 1, "below")
            else:
                place = places(x, tuple(self._cut(i) for i in range(self.size - 1)), at_edge="below")
            return expr.where(expr.is_not_null(x), place)

        return Cells({"key0": value}, number, self.size)

    @property
    def public(self) -> dict[str, Any]:
        """The candidates as plain data."""
        if self.step is None:
            return {"candidates": list(self.numbers)}
        ends = {"lower": self.lower, "upper": self.upper, "grid": self.step}
        return {name: str(as_literal(end)) for name, end in ends.items()}

    def __str__(self) -> str:
        return f"{show_rational(self.lower)}..{show_rational(self.upper)}"


def as_candidates(numbers: Any) -> Candidates:
    """Check listed candidates: arbitrary numbers in increasing order, or many more if they are equidistant."""
    sequence = numbers if isinstance(numbers, range) else listed(numbers)
    many = len(sequence) if isinstance(sequence, Sequence) and not isinstance(sequence, str | bytes) else 0
    wrong = InvalidInput(
        f"candidates is {shown(numbers)}; give 2 to {MOST_UNEVEN} public numbers in increasing order, such as "
        f"range(0, 101, 5), or up to {MOST_EVEN:,} at equal distances."
    )
    if many > MOST_EVEN:
        raise InvalidInput(f"there are {many:,} candidates; give at most {MOST_EVEN:,}, or lower, upper and a grid.")
    if many < 2:
        raise wrong
    values = [plain(x) for x in sequence]
    number = all(isinstance(x, int | float) and not isinstance(x, bool) and abs(x) < EXACT for x in values)
    if not number or any(a >= b for a, b in pairwise(values)):
        raise wrong
    exact = [as_rational(x) for x in (values[0], values[1], values[-1])]
    if many <= MOST_UNEVEN:
        return Candidates(exact[0], exact[2], None, tuple(values))
    even = as_range_of_candidates(values[0], values[-1], exact[1] - exact[0])
    start, step, scale = even._halfway
    grid = (2 * start - step + 2 * step * np.arange(many)) / (2 * scale)
    if even.size != many or (grid != np.array(values, dtype=np.float64)).any():
        raise wrong
    return even


def as_range_of_candidates(lower: Any, upper: Any, grid: Any = None, whole: bool = False, keys: int = 1) -> Candidates:
    """Candidates between two bounds, `grid` apart; the default is a round step so fine that it hardly matters.

    For a column of integers with integer bounds the default step is 1, unless that makes too many candidates.
    """
    if lower is None or upper is None:
        raise InvalidInput(
            "a quantile needs public bounds, such as lower=0, upper=100, which values are clamped to, or a list of "
            "candidates, such as candidates=range(0, 101, 5)."
        )
    low, high = as_rational(lower, "lower"), as_rational(upper, "upper")
    if low >= high:
        raise InvalidInput(
            f"lower is {shown(lower)} and upper {shown(upper)}; give a range of values, such as lower=0, upper=100."
        )
    most = max(2, MOST_EVEN // keys)
    if grid is None:
        step = _round_step(high - low, min(FINE, most))
        if whole and low.denominator == high.denominator == 1:
            step = Fraction(1) if high - low < most else max(step, Fraction(1))
    else:
        step = as_rational(grid, "grid")
    if step <= 0 or step > high - low:
        raise InvalidInput(f"grid is {shown(grid)}; give the step of candidates, above 0 and at most upper - lower.")
    candidates = Candidates(low, high, step)
    if candidates.size > most + 1:
        by = f" for each of {keys:,} keys" if keys > 1 else ""
        raise InvalidInput(
            f"a grid of {show_rational(step)} makes {candidates.size:,} candidates{by}; at most {MOST_EVEN:,} are "
            f"counted, so give a grid of at least {show_rational(_round_step((high - low) * 2, most))}."
        )
    start, width, scale = candidates._halfway
    if 16 * (abs(start) + candidates.size * width) >= EXACT or 2 * scale >= EXACT:
        raise InvalidInput(
            f"lower {shown(lower)}, upper {shown(upper)} and the step {show_rational(step)} have too many digits for "
            "floating-point numbers; round the bounds, or give a coarser grid."
        )
    return candidates


def _round_step(width: Fraction, steps: int) -> Fraction:
    """The largest of 1, 2, 5, 10, 20, ... and 0.5, 0.2, 0.1, ... that fits at least so many times into a width.

    Examples
    --------
    >>> _round_step(Fraction(660), 100_000), _round_step(Fraction(5000), 1000)
    (Fraction(1, 200), Fraction(5, 1))
    """
    largest = width / steps
    power = Fraction(10) ** math.floor(math.log10(largest) - 1e-9)
    return max(power * k for k in (Fraction(1, 2), 1, 2, 5, 10) if power * k <= largest)
