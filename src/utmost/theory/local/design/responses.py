"""Responses of a survey: drawn exactly, stored on a person's device, read by the server.

A response is a set of categories; sets with the true one are more likely. A stored response is repeated when the
question is asked again. The server reads responses by name or by position, and refuses those that cannot belong to its
survey.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utmost.errors import BadFile, InvalidInput
from utmost.exact.saved import NONSENSE, read_checked, write_checked
from utmost.mechanism.sampling import WORD, uniform_below, uniform_words
from utmost.space import label_from_json, label_to_json
from utmost.theory.local.design.category_columns import as_list, positions_of

BEYOND_DOUBT = 1e-9
"""Responses that are less likely than this, whatever people answered, are not this survey's."""
ENTRIES_AT_ONCE = 2**22
FORMAT, VERSION = "utmost-survey-response", 1
"""The format of a file that stores a response."""


@dataclass(frozen=True, eq=False)
class Responses:
    """Responses as positions of categories: returned by `Survey.draw`, accepted by `Survey.estimate` and `decide`.

    Attributes
    ----------
    survey : str
        The identity of the survey they answer.
    positions : array of int
        A row per response: the positions of the categories that it names.
    """

    survey: str
    positions: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.positions)


def read_responses(responses: Any, index: Mapping[Any, int], size: int, identity: str) -> NDArray[np.int64]:
    """Responses as positions, a row each; refuses one that no client can have sent, by its number."""
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

    Whatever people answered, the number of responses that name a category lies stochastically between two binomials:
    that of a category which nobody has and that of one which everybody has.
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
    """A category as read from a file or an array, as a plain value."""
    return part.item() if isinstance(part, np.generic) else tuple(map(_name, part)) if isinstance(part, list) else part


def draw_sets(true: NDArray[np.int64], k: int, size: int, inside: Fraction) -> NDArray[np.int64]:
    """Sets of `size` of k categories, each a sorted row, that contain the true one with probability `inside`.

    No branch and no order depends on the truth. Uniform sets among the other categories (Floyd's algorithm); with
    probability `inside`, one of their members, chosen uniformly, is replaced by the true one.
    """
    if size == 1:
        return _draw_rows(true, k, size, inside)
    rows = max(1, ENTRIES_AT_ONCE // size)
    parts = [_draw_rows(true[start : start + rows], k, size, inside) for start in range(0, len(true), rows)]
    return np.concatenate([np.zeros((0, size), dtype=np.int64), *parts])


def _draw_rows(true: NDArray[np.int64], k: int, size: int, inside: Fraction) -> NDArray[np.int64]:
    """The sets of `draw_sets`, all at once."""
    n = len(true)
    if inside * k == size:  # responses carry no information, so they must not even read the answers
        return np.sort(_subsets(n, size, k), axis=1)
    sets = _subsets(n, size, k - 1)
    sets += sets >= true[:, None]
    rest = 2**WORD - int(inside * 2**WORD)
    hit = uniform_words(WORD, n) >= np.uint64(rest)
    if size == 1:
        return np.where(hit, true, sets[:, 0])[:, None]
    rows, place = np.arange(n), uniform_below(size, n)
    sets[rows, place] = np.where(hit, true, sets[rows, place])
    return np.sort(sets, axis=1)


def _subsets(n: int, size: int, among: int) -> NDArray[np.int64]:
    """Exactly uniform sets of `size` numbers below `among`, a row each (Floyd): a repeat is replaced by the newest."""
    sets = np.empty((n, size), dtype=np.int64)
    for i in range(size):
        newest = among - size + i
        draws = uniform_below(newest + 1, n)
        repeats = (sets[:, :i] == draws[:, None]).any(axis=1)
        sets[:, i] = np.where(repeats, newest, draws)
    return sets


def read_stored_response(path: Path, identity: str) -> Any:
    """The stored response of a file to this survey; None if there is no file."""
    if not path.exists():
        return None
    content = read_checked(path, FORMAT, VERSION, "kept response")
    if content.get("survey") != identity:
        raise BadFile(f"{path} keeps the response to another survey; give every survey a file of its own.")
    try:
        return label_from_json(content["response"])
    except NONSENSE:
        raise BadFile(f"{path} does not hold a kept response; move it away to answer anew.") from None


def store_response(path: Path, identity: str, response: Any) -> Any:
    """Store a response before it is shown; if another process stored one first, return that one."""
    content = {"format": FORMAT, "version": VERSION, "survey": identity, "response": label_to_json(response)}
    try:
        write_checked(path, content, anew=True)
    except FileExistsError:
        return read_stored_response(path, identity)
    return response
