"""Functions of one bit per party, given by name, by count, as a table or as a callable.

In a table, party 0 is the most significant bit: the entry at position 4·x0 + 2·x1 + x2 is the value at (x0, x1, x2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from utmost.errors import InvalidInput, TooLarge
from utmost.exact import as_rational
from utmost.exact.arrays import Floats, Integers
from utmost.mechanism import loss_table
from utmost.space import label_from_json, label_to_json

Accuracy: TypeAlias = str | ArrayLike | Callable[[Any, Any], float]
MOST_BITS_OF_A_TABLE = 22
UNNAMED = TABLE, FUNCTION, COUNT = ("a table", "a function", "a function of the count")
NAMED: dict[str, Callable[[int, int], int]] = {
    "xor": lambda ones, parties: ones % 2,
    "and": lambda ones, parties: int(ones == parties),
    "or": lambda ones, parties: int(ones > 0),
    "majority": lambda ones, parties: int(2 * ones > parties),
    "sum": lambda ones, parties: ones,
}


@dataclass(frozen=True)
class ByCount:
    """A function of the number of ones; made by `by_count`."""

    rule: Callable[[int], Any] | Sequence[Any]


def by_count(rule: Callable[[int], Any] | Sequence[Any]) -> ByCount:
    """Declare a function of the number of ones: a callable of that number, or its values at 0, 1, ..., all parties.

    Use it where you can: a thousand parties are then easy, since only counts of messages matter.

    Examples
    --------
    >>> import utmost as um
    >>> close = um.multiparty.by_count(lambda ones: 4 <= ones <= 6)
    >>> round(um.multiparty.optimal(close, [2.0] * 10).value(), 6)
    0.747984
    """
    return ByCount(rule)


@dataclass(frozen=True, eq=False)
class Question:
    """A function of one bit per party.

    Attributes
    ----------
    name : str
        Its name, for people.
    parties : int
        The number of parties.
    values : tuple
        The values it takes, in order.
    positions : array of int
        The position of its value at each count of ones (`counted`), or at each setting of the bits, party 0 first.
    counted : bool
        Whether it was declared as a function of the count of ones.
    """

    name: str
    parties: int
    values: tuple[Any, ...]
    positions: Integers
    counted: bool

    @cached_property
    def title(self) -> str:
        """The name for reports; one that the entries do not confirm is quoted, since a file may hold any name.

        Examples
        --------
        >>> from dataclasses import replace
        >>> first = read_function([0, 0, 1, 1], 2)
        >>> read_function("majority", 3).title, replace(first, name="majority").title
        ('majority', "a function called 'majority'")
        """
        if self.name in UNNAMED or self._matches_name():
            return self.name
        return f"a function called {self.name!r}"

    def _matches_name(self) -> bool:
        """Whether the entries are those of the built-in function with this name."""
        try:
            named = read_function(self.name, self.parties)
        except InvalidInput:
            return False
        ones = np.arange(self.parties + 1)
        if not self.counted:  # the number of ones at every setting of the bits
            ones = reduce(lambda counts, _: np.concatenate([counts, counts + 1]), range(self.parties), ones[:1])
        return self.values == named.values and np.array_equal(self.positions, named.positions[ones])

    def to_json(self) -> dict[str, Any]:
        """The function as plain JSON data; the inverse of `question_from_json`."""
        return {
            "name": self.name,
            "parties": self.parties,
            "values": [label_to_json(value) for value in self.values],
            "counted": self.counted,
            "positions": self.positions.tolist(),
        }


def read_function(function: Any, parties: int) -> Question:
    """The function that a name, a table, a callable or `by_count(...)` stands for."""
    if isinstance(function, str):
        values = [_named(function)(ones, parties) for ones in range(parties + 1)]
        return _question(function, parties, values, by_ones=True)
    if isinstance(function, ByCount):
        rule = function.rule
        values = [rule(ones) for ones in range(parties + 1)] if callable(rule) else list(rule)
        if len(values) != parties + 1:
            raise InvalidInput(
                f"{len(values)} values by count for {parties} parties; give one for 0 to {parties} ones."
            )
        return _question(COUNT, parties, values, by_ones=True)
    if parties > MOST_BITS_OF_A_TABLE:
        raise TooLarge(
            f"a table over {parties} bits has 2^{parties} entries; beyond {MOST_BITS_OF_A_TABLE} parties give a name, "
            "or multiparty.by_count(...) if the function depends on the number of ones only."
        )
    if callable(function):
        name = getattr(function, "__name__", "function")
        values = [function(bits) for bits in product((0, 1), repeat=parties)]
        return _question(FUNCTION if name == "<lambda>" else name, parties, values, by_ones=False)
    if not isinstance(function, np.ndarray | Sequence):
        raise InvalidInput(f"the function is {function!r}; give a name, a table, a callable or by_count(...).")
    table = function.ravel() if isinstance(function, np.ndarray) else list(function)
    if len(table) != 2**parties:
        raise InvalidInput(
            f"the table has {len(table)} values for {parties} parties; give 2^{parties} = {2**parties}, with party 0 "
            "as the most significant bit."
        )
    if isinstance(table, np.ndarray) and table.dtype.kind in "iu":  # the same as below, for a million entries
        distinct, positions = np.unique(table, return_inverse=True)
        return Question(TABLE, parties, tuple(distinct.tolist()), positions.astype(np.int64), False)
    return _question(TABLE, parties, list(table), by_ones=False)


def question_from_json(data: Any) -> Question:
    """The function written by `to_json`; `InvalidInput` if it is malformed."""
    parties, by_ones = int(data["parties"]), bool(data["counted"])
    if parties < 1 or (not by_ones and parties > MOST_BITS_OF_A_TABLE):
        raise InvalidInput(f"a function of {parties} bits.")
    values = tuple(label_from_json(value) for value in data["values"])
    positions = np.array(data["positions"])
    expected = parties + 1 if by_ones else 2**parties
    if positions.shape != (expected,) or positions.dtype.kind != "i":
        raise InvalidInput(f"the function has {positions.size} entries, not {expected}.")
    if len(set(values)) != len(values) or not values or positions.min() < 0 or positions.max() >= len(values):
        raise InvalidInput("an entry of the function is not one of its values.")
    return Question(str(data["name"]), parties, values, positions, by_ones)


def read_accuracy(accuracy: Accuracy | None, values: Sequence[Any], answers: Sequence[Any]) -> Floats:
    """The accuracy of each answer (column) at each value of the function (row), as a table."""
    shape = (len(values), len(answers))
    if accuracy is None or isinstance(accuracy, str):
        name = accuracy or "zero-one"
        if name not in ("zero-one", "absolute", "squared") and not name.startswith("within "):
            raise InvalidInput(
                f"accuracy is {name!r}; say 'zero-one', 'within 2', 'absolute' or 'squared' (the last two are errors, "
                "counted as negative), or give a table or callable."
            )
        loss = loss_table(name, values, answers)
        return -loss if name in ("absolute", "squared") else 1 - loss
    entries = [[accuracy(v, a) for a in answers] for v in values] if callable(accuracy) else accuracy
    try:
        table = np.array(entries, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInput(
            "the accuracy is not a table of numbers; give a row per value, a column per answer."
        ) from None
    if table.shape != shape:
        raise InvalidInput(
            f"the accuracy has shape {table.shape} for {shape[0]} values {tuple(values)[:6]!r} and {shape[1]} answers; "
            "give a row per value and a column per answer."
        )
    if not np.isfinite(table).all():
        raise InvalidInput("the accuracy holds an infinity or NaN; give finite numbers.")
    return table


def read_labels(labels: Sequence[Any], what: str) -> tuple[Any, ...]:
    """Values or answers, checked to be ones that can be saved: text, finite numbers, truth values, tuples of them."""
    try:
        plain = tuple(label.item() if isinstance(label, np.generic) else label for label in labels)
        distinct = set(plain)
    except TypeError:
        raise InvalidInput(f"{what} must be a list of text, numbers, truth values, or tuples of them.") from None
    for label in distinct:
        label_to_json(label)
        if isinstance(label, float) and not math.isfinite(label):
            raise InvalidInput(f"{label!r} among {what} is not a finite number; use finite numbers, text or tuples.")
    return plain


def _named(name: str) -> Callable[[int, int], int]:
    """The built-in function of this name, of the number of ones and the number of parties."""
    word, _, number = name.partition(" ")
    if word == "threshold" and number.strip():
        least = as_rational(number.strip(), "the threshold")
        return lambda ones, parties: int(ones >= least)
    if name not in NAMED:
        raise InvalidInput(
            f"the function is {name!r}; say one of {', '.join(NAMED)}, 'threshold 3' (at least 3 ones), or give a "
            "table, a callable of the bits, or multiparty.by_count(...)."
        )
    return NAMED[name]


def _question(name: str, parties: int, values: Sequence[Any], by_ones: bool) -> Question:
    """The function with these values, at each count of ones or at each setting of the bits."""
    labels = read_labels(values, "the values of the function")
    distinct = list(dict.fromkeys(labels))
    with suppress(TypeError):  # values of different kinds keep the order in which they appear
        distinct.sort()
    at = {value: i for i, value in enumerate(distinct)}
    return Question(name, parties, tuple(distinct), np.array([at[v] for v in labels], dtype=np.int64), by_ones)
