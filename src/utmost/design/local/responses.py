"""What a survey's server receives: responses by name or by position, and those that cannot be its own."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utmost.design.local.frames import as_list, positions_of
from utmost.errors import InvalidInput

BEYOND_DOUBT = 1e-9
"""Responses that are less likely than this, whatever people answered, are not this survey's."""


@dataclass(frozen=True, eq=False)
class Responses:
    """Responses as positions of categories: what `Survey.draw` makes, and `Survey.estimate` and `decide` take.

    Attributes
    ----------
    survey : the identity of the survey they answer
    positions : a row per response, the positions of the categories that it names
    """

    survey: str
    positions: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.positions)


def read_responses(responses: Any, index: Mapping[Any, int], size: int, identity: str) -> NDArray[np.int64]:
    """Responses as positions, a row each; one that no client can have sent is refused by its number."""
    if isinstance(responses, Responses):
        if responses.survey != identity:
            raise InvalidInput(f"these are responses to the survey {responses.survey[:16]}, not to {identity[:16]}.")
        table = np.asarray(responses.positions)
        if table.ndim != 2 or table.shape[1] != size or not np.issubdtype(table.dtype, np.integer):
            raise InvalidInput(f"positions have shape {table.shape}; give whole numbers, {size} in a row.")
    elif size == 1:
        table = positions_of(responses, lambda value: index.get(value, -1))[:, None]
    else:
        rows = as_list(responses)
        table = np.full((len(rows), size), -1, dtype=np.int64)
        for i, row in enumerate(rows):
            names = [_name(part) for part in row] if isinstance(row, list | tuple | np.ndarray) else []
            if len(names) == size and all(isinstance(name, Hashable) for name in names):
                table[i] = [index.get(name, -1) for name in names]
    ordered = np.sort(table, axis=1)
    outside = (ordered < 0) | (ordered >= len(index))
    wrong = outside.any(axis=1) | (np.diff(ordered, axis=1) == 0).any(axis=1)
    if wrong.any():
        raise InvalidInput(
            f"response number {int(np.argmax(wrong)) + 1}, counted from 1, is not one of this survey's: {size} "
            "different categories each; drop it, or ask where it comes from."
        )
    return table


def require_possible(table: NDArray[np.int64], categories: Sequence[Any], inside: float, beside: float) -> None:
    """Refuse responses that name a category so rarely or so often that no answers explain it.

    Whatever people answered, the number of responses that name a category lies between two binomials, that of nobody
    having it and that of everybody having it.
    """
    from scipy.special import betainc

    n, k = len(table), len(categories)
    counts = np.bincount(table.ravel(), minlength=k)
    as_few = np.where(counts < n, betainc(np.maximum(n - counts, 1), counts + 1, 1 - beside), 1.0)
    as_many = np.where(counts > 0, betainc(np.maximum(counts, 1), n - counts + 1, inside), 1.0)
    chance = np.minimum(as_few, as_many)
    if n and chance.min() < BEYOND_DOUBT / (2 * k):
        i = int(chance.argmin())
        raise InvalidInput(
            f"{counts[i]} of {n} responses name {categories[i]!r}: the probability of that is below {BEYOND_DOUBT}, "
            "whatever people answered. They are responses to another survey, or were not made by `respond`; check "
            "where they come from."
        )


def _name(part: Any) -> Any:
    """A category as it may come out of a file or an array."""
    return part.item() if isinstance(part, np.generic) else tuple(map(_name, part)) if isinstance(part, list) else part
