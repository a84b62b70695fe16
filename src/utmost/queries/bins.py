"""Bins: public edges that cut a column of numbers into disjoint ranges, in place of listed categories or keys.

A bin includes its lower edge and not its upper one. `um.bins(0, 100, 5)` has the bins [0, 5), [5, 10), ..., [95, 100);
5 is in the second, and 100 in none. Null, NaN, and numbers below the first edge or not below the last are in no bin:
they are dropped, or counted under `other` if that is given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from utmost.errors import InvalidInput, shown
from utmost.exact import Number, as_rational
from utmost.messages import Call, Words
from utmost.queries.arguments import listed, plain

MOST_BINS = 10_000
"""Most bins: a statement has one comparison for each edge."""
EXACT = 2**53
"""Below this, every integer is exact as a float."""
EXAMPLES = Words(Call("um.bins", 0, 100, 5), " or ", Call("um.bins", [0, 18, 65, 120]))


@dataclass(frozen=True)
class Bins:
    """Neighbouring ranges of numbers; made by `um.bins`.

    Attributes
    ----------
    edges : tuple of number
        Where bins begin and end, in increasing order: one more than there are bins.
    """

    edges: tuple[int | float, ...]

    @cached_property
    def labels(self) -> list[str]:
        """The names of the bins, such as "[0, 5)", which contains 0 and not 5."""
        return [f"[{low}, {high})" for low, high in pairwise(self.edges)]

    def __len__(self) -> int:
        return len(self.edges) - 1

    def __repr__(self) -> str:
        return f"<{len(self)} bins from {self.edges[0]} to {self.edges[-1]}>"


def bins(lower: Any, upper: Number | None = None, width: Number | None = None) -> Bins:
    """Bins of a column of numbers: in place of a list of categories or keys, or as the edges of a CDF.

    A bin includes its lower edge and not its upper one, so every number from the first edge up to, and not including,
    the last is in exactly one bin. Numbers outside, null and NaN are in none.

    Parameters
    ----------
    lower : number, or list of numbers
        Where the first bin begins; or all edges, in increasing order.
    upper : number, optional
        Where the last bin ends; not given with a list of edges.
    width : number, optional
        How wide each bin is; it must divide the range. Decimals are exact: 0.1 is one tenth.

    Returns
    -------
    Bins
        At most 10,000. The edges are public: never read them off the private table.

    Examples
    --------
    >>> import pyarrow, utmost as um
    >>> um.bins(0, 100, 5), um.bins([0, 18, 65, 120]).labels
    (<20 bins from 0 to 100>, ['[0, 18)', '[18, 65)', '[65, 120)'])
    >>> um.keys(town=["Ash", "Briar"], age=um.bins([0, 18, 120])).labels[:2]
    [('Ash', '[0, 18)'), ('Ash', '[18, 120)')]
    """
    if upper is None and width is None:
        return Bins(_edges(lower))
    if upper is None or width is None:
        raise InvalidInput("bins need a lower end, an upper end and a width, or a list of edges: ", EXAMPLES, ".")
    low, high, step = as_rational(lower, "lower"), as_rational(upper, "upper"), as_rational(width, "width")
    if step <= 0 or low >= high:
        raise InvalidInput(
            f"bins from {shown(lower)} to {shown(upper)} of width {shown(width)}: the width must be above 0 and the "
            f"upper end above the lower one, as in ",
            EXAMPLES,
            ".",
        )
    many = (high - low) / step
    if many.denominator != 1:
        nearest = low + step * int(many)
        raise InvalidInput(
            f"the width {shown(width)} does not divide the range from {shown(lower)} to {shown(upper)}; end at "
            f"{as_number(nearest)} or {as_number(nearest + step)}, or list the edges."
        )
    _require_few(int(many))
    return Bins(_edges([as_number(low + i * step) for i in range(int(many) + 1)]))


def as_bins(values: Any) -> Bins | None:
    """The bins given in place of a list, as an object or as a report writes them; None for a list."""
    if isinstance(values, Bins):
        return values
    return bins(values["bins"]) if isinstance(values, Mapping) and values.keys() == {"bins"} else None


def labels_of(values: Bins | Sequence[Any]) -> Sequence[Any]:
    """The names of cells: the labels of bins, or the listed values themselves."""
    return values.labels if isinstance(values, Bins) else values


def public_of(values: Bins | Sequence[Any]) -> Any:
    """Bins or listed values as plain data, which `as_bins` reads."""
    return {"bins": list(values.edges)} if isinstance(values, Bins) else list(values)


def read_bins(text: str) -> Bins | None:
    """Parse bins such as bins(0, 100, 5) or bins([0, 18, 65]); None for other texts.

    Examples
    --------
    >>> read_bins("bins(0, 100, 5)"), read_bins("bins(0, 18, 65, 120)"), read_bins("yes,no")
    (<20 bins from 0 to 100>, <3 bins from 0 to 120>, None)
    """
    match = re.fullmatch(r"\s*(?:um\.)?bins\s*\(\s*(\[?)([^()\[\]]*?)(\]?)\s*\)\s*", text)
    if match is None:
        return None
    parts = [part.strip() for part in match[2].split(",") if part.strip()]
    try:
        numbers = [as_number(as_rational(part)) for part in parts]
    except InvalidInput:
        raise InvalidInput(f"{shown(text)} holds something that is no number; write ", EXAMPLES, ".") from None
    listed = bool(match[1]) or len(numbers) != 3
    return bins(numbers) if listed else bins(*numbers)


def as_number(value: Any) -> int | float:
    """A rational as an int where it is an integer, else as the nearest float."""
    return int(value) if value.denominator == 1 else float(value)


def _edges(edges: Any) -> tuple[int | float, ...]:
    numbers = listed(edges)
    if isinstance(numbers, Bins):
        return numbers.edges
    if isinstance(numbers, str | bytes) or not isinstance(numbers, Sequence):
        raise InvalidInput(f"the edges of bins are {shown(edges)}; give a list of numbers: ", EXAMPLES, ".")
    if len(numbers) < 2:
        raise InvalidInput(f"{len(numbers)} edges make no bin; give two or more: ", EXAMPLES, ".")
    _require_few(len(numbers) - 1)
    values = [plain(x) for x in numbers]
    for place, x in enumerate(values):
        if isinstance(x, bool) or not isinstance(x, int | float) or not abs(x) < EXACT:
            raise InvalidInput(f"edge {place + 1} of the bins is {shown(x)}; give numbers below 2^53: ", EXAMPLES, ".")
    for place, (low, high) in enumerate(pairwise(values)):
        if low >= high:
            raise InvalidInput(
                f"the edges of bins must increase, and edge {place + 2}, {shown(high)}, is not above edge {place + 1}, "
                f"{shown(low)}; sort them, and list each once."
            )
    return tuple(values)


def _require_few(many: int) -> None:
    if many > MOST_BINS:
        raise InvalidInput(f"there are {many:,} bins; give at most {MOST_BINS:,}: wider ones, or a smaller range.")
