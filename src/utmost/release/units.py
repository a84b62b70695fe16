"""Whose data one promise protects: a row, or a person with several rows."""

from __future__ import annotations

import operator
import re
from ast import literal_eval
from dataclasses import dataclass
from typing import Any, get_args

from utmost.errors import InvalidInput, shown
from utmost.release.arguments import Neighbours, plain

MOST_UNITS = 10**12
MOST_ROWS = 10**18
"""As many rows as people may have in all: what engines and mechanisms count in 64 bits."""
FORM = re.compile(r"(?:rows|people by (?P<id>'.*'|\".*\"), (?P<each>\d{1,13}) rows? each), at most (?P<most>\d{1,13})")
"""How a unit is written."""


@dataclass(frozen=True)
class Unit:
    """One row, or one person's rows: what two neighbouring tables differ in.

    Attributes
    ----------
    at_most : how many units there are at most; public, never counted from the table
    id : the column that says whose row it is; None where every row is a unit of its own
    rows_each : how many rows of one person take part in an answer, at most
    """

    at_most: int
    id: str | None = None
    rows_each: int = 1

    def __str__(self) -> str:
        if self.id is None:
            return f"rows, at most {self.at_most}"
        return f"people by {self.id!r}, {self.rows_each} row{'s' * (self.rows_each > 1)} each, at most {self.at_most}"


def rows(at_most: int | None = None) -> Unit:
    """Every row is protected, and there are at most so many.

    Examples
    --------
    >>> import utmost as um
    >>> print(um.rows(at_most=20_000))
    rows, at most 20000
    """
    return Unit(_public_number(at_most, "at_most", "rows", "um.rows(at_most=20_000)"))


def people(id: str, rows_each: int | None = None, at_most: int | None = None) -> Unit:
    """Every person is protected with all their rows; a column says whose row it is.

    Of one person, at most `rows_each` of the rows a question is about take part, chosen by a keyed hash; rows without
    an id are dropped. Both numbers are public: they say how far one person can move an answer.

    Examples
    --------
    >>> import utmost as um
    >>> print(um.people("patient", rows_each=3, at_most=5_000))
    people by 'patient', 3 rows each, at most 5000
    """
    if not isinstance(id, str) or not id:
        raise InvalidInput(f"the id column is {shown(id)}; give the name of the column that says whose row it is.")
    example = 'um.people("patient", rows_each=3, at_most=5_000)'
    each = _public_number(rows_each, "rows_each", "rows of one person that may take part", example)
    most = _public_number(at_most, "at_most", "people", example)
    if each * most > MOST_ROWS:
        raise InvalidInput(
            f"rows_each is {each} and at_most {most}, so {each * most:.0e} rows might take part; keep their product at "
            f"or below 10^18, as in {example}."
        )
    return Unit(most, plain(id), each)


def as_unit(text: str) -> Unit:
    """The unit that a text names, exactly as `str` of a unit writes it.

    Examples
    --------
    >>> as_unit("people by 'patient', 3 rows each, at most 5000") == people("patient", rows_each=3, at_most=5_000)
    True
    """
    found = FORM.fullmatch(text)
    if found:
        id, each, most = found["id"], found["each"], int(found["most"])
        try:
            unit = rows(most) if id is None else people(literal_eval(id), int(each), most)
        except (ValueError, SyntaxError):  # numbers out of range among them
            unit = None
        if unit is not None and str(unit) == text:
            return unit
    raise InvalidInput(
        f'the unit is {shown(text)}; write it as sessions do: "rows, at most 20000", or "people by \'patient\', 3 rows '
        'each, at most 5000".'
    )


def require_neighbours(neighbours: Any) -> Neighbours:
    """Either "replace" or "add-remove"; there is no default, because the promise differs."""
    if not isinstance(neighbours, str) or neighbours not in get_args(Neighbours):
        raise InvalidInput(
            f"neighbours is {shown(neighbours)}; say 'replace' (one unit's data become others: how many there are is "
            "public) or 'add-remove' (one unit comes or goes: whether it is there at all is protected)."
        )
    return "replace" if neighbours == "replace" else "add-remove"


def _public_number(value: Any, name: str, what: str, example: str) -> int:
    try:
        number = int(plain(operator.index(value)))
    except TypeError:
        number = 0
    if isinstance(value, bool) or not 1 <= number <= MOST_UNITS:
        raise InvalidInput(
            f"{name} is {shown(value)}; state how many {what} there are at most, a public number from 1 to 10^12, "
            f"as in {example}. It cannot be counted from the table: the count itself would not be private."
        )
    return number
