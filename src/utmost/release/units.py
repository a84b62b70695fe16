"""Whose data one promise protects: a row, or a person with several rows."""

from __future__ import annotations

import operator
import re
from ast import literal_eval
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, get_args

from utmost.errors import InvalidInput, shown
from utmost.exact import Number, as_literal, as_rational
from utmost.privacy import Level, PureDP
from utmost.release.arguments import Neighbours, plain
from utmost.space.integers import MOST_TIERS

MOST_UNITS = 10**12
MOST_ROWS = 10**18
"""As many rows as people may have in all: what engines and mechanisms count in 64 bits."""
FORM = re.compile(
    r"(?:rows|people by (?P<id>'.*'|\".*\"), (?P<each>\d{1,13}) rows? each), at most (?P<most>\d{1,13})"
    r"(?P<tiers>; .*)?",
    re.ASCII,
)
TIER = re.compile(
    r"""; at most (?P<most>\d{1,13}) with (?P<where>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*") are """
    r"promised (?P<promised>[^ ;]{1,40})(?: of (?P<whole>[^ ;]{1,40}))?",
    re.ASCII,
)
"""How a unit and its tiers are written."""
MOST_OWN = MOST_TIERS - 1
"""How many tiers may be named, beside all others."""


@dataclass(frozen=True)
class Tier:
    """A public group of rows, or of people, with a promise of its own.

    Attributes
    ----------
    where : the condition that says which rows, as SQL text; a row belongs to the first tier whose condition is true of
        it, and a person to the first one whose condition is true of any of their rows
    promised : the epsilon that all answers together may spend of these rows or people
    at_most : how many of them there are at most
    whole : what all answers together may spend of the others: the budget; None before a session knows it
    """

    where: str
    promised: Fraction
    at_most: int
    whole: Fraction | None = None

    @property
    def share(self) -> Fraction:
        """Which part of what an answer spends of the others it spends of these rows."""
        if self.whole is None:
            raise InvalidInput("a tier's share is known once a session has a budget.")
        return self.promised / self.whole

    def __str__(self) -> str:
        promised = _written(self.promised) + ("" if self.whole is None else f" of {_written(self.whole)}")
        return f"at most {self.at_most} with {self.where!r} are promised {promised}"


@dataclass(frozen=True)
class Unit:
    """One row, or one person's rows: what two neighbouring tables differ in.

    Attributes
    ----------
    at_most : how many units there are at most; public, never counted from the table
    id : the column that says whose row it is; None where every row is a unit of its own
    rows_each : how many rows of one person take part in an answer, at most
    tiers : public groups of rows, or of people, with promises of their own
    """

    at_most: int
    id: str | None = None
    rows_each: int = 1
    tiers: tuple[Tier, ...] = ()

    @property
    def whose(self) -> str:
        """What is protected, in a word: rows, or people."""
        return "rows" if self.id is None else "people"

    def within(self, budget: Level) -> Unit:
        """The same unit, its tiers' promises beside a budget: each is spent in proportion."""
        if not self.tiers:
            return self
        whole = budget.epsilon if isinstance(budget, PureDP) else None
        if not isinstance(whole, Fraction):
            raise InvalidInput(
                f"the budget is {budget}; where tiers have promises of their own it is an epsilon, such as budget=1."
            )
        above = [tier for tier in self.tiers if tier.promised > whole]
        if above:
            raise InvalidInput(
                f"{above[0].where!r} is promised {_written(above[0].promised)}, more than the budget of "
                f"{_written(whole)}: a tier is a group that is protected more than the others; raise the budget."
            )
        return replace(self, tiers=tuple(replace(tier, whole=whole) for tier in self.tiers))

    def __str__(self) -> str:
        whose = "rows"
        if self.id is not None:
            whose = f"people by {self.id!r}, {self.rows_each} row{'s' * (self.rows_each > 1)} each"
        return "; ".join([f"{whose}, at most {self.at_most}", *map(str, self.tiers)])


def rows(at_most: int | None = None, tiers: Mapping[str, tuple[Number, int]] | None = None) -> Unit:
    """Every row is protected, and there are at most so many.

    Parameters
    ----------
    at_most : int
        How many rows there are at most, a public number.
    tiers : {condition: (epsilon, at most so many rows)}, optional
        Public groups that are promised more than the others, such as ``{"consent = 'basic'": (0.1, 20)}``: all answers
        together spend at most that epsilon of their rows, where they spend the session's budget of the others. Every
        answer spends in proportion. Which tier a row belongs to is public and stays as it is: neighbouring tables
        differ in one row of one tier. Counts, majorities and thresholds are asked of such tables.

    Examples
    --------
    >>> import utmost as um
    >>> print(um.rows(at_most=20_000))
    rows, at most 20000
    >>> print(um.rows(at_most=2000, tiers={"consent = 'basic'": (0.1, 20)}))
    rows, at most 2000; at most 20 with "consent = 'basic'" are promised 0.1
    """
    most = _public_number(at_most, "at_most", "rows", "um.rows(at_most=20_000)")
    return Unit(most, tiers=_tiers(tiers, most) if tiers is not None else ())


def _tiers(tiers: Any, most: int) -> tuple[Tier, ...]:
    example = """tiers={"consent = 'basic'": (0.1, 20)}"""
    if not isinstance(tiers, Mapping) or not 0 < len(tiers) <= MOST_OWN:
        raise InvalidInput(f"tiers is {shown(tiers)}; name 1 to {MOST_OWN} conditions, as in {example}.")
    found = []
    for where, given in tiers.items():
        if not isinstance(where, str) or not where.strip() or "\n" in where:
            raise InvalidInput(f"a tier is {shown(where)}; name it by a condition in one line of SQL, as in {example}.")
        if not isinstance(given, tuple | list) or len(given) != 2:
            raise InvalidInput(f"{where!r} has {shown(given)}; give its epsilon and how many there are: {example}.")
        promised = as_rational(given[0], "a tier's epsilon")
        if promised <= 0:
            raise InvalidInput(f"{where!r} is promised {shown(given[0])}; give an epsilon above 0, as in {example}.")
        found.append(Tier(plain(where), promised, _public_number(given[1], "a tier's size", "of them", example)))
    if sum(tier.at_most for tier in found) > most:
        raise InvalidInput(f"the tiers have more members together than at_most = {most}; raise it.")
    return tuple(found)


def people(
    id: str,
    rows_each: int | None = None,
    at_most: int | None = None,
    tiers: Mapping[str, tuple[Number, int]] | None = None,
) -> Unit:
    """Every person is protected with all their rows; a column says whose row it is.

    Of one person, at most `rows_each` of the rows a question is about take part, chosen by a keyed hash; rows without
    an id are dropped. Both numbers are public: they say how far one person can move an answer.

    Parameters
    ----------
    id : str
        The column that says whose row it is: whole numbers, text or UUIDs.
    rows_each : int
        How many rows of one person take part in an answer, at most.
    at_most : int
        How many people there are at most, a public number.
    tiers : {condition: (epsilon, at most so many people)}, optional
        Public groups of people that are promised more than the others, as for `rows`. A person belongs to the first
        tier whose condition is true of any of their rows. Which one that is, is public and stays as it is:
        neighbouring tables differ in one person of one tier.

    Examples
    --------
    >>> import utmost as um
    >>> print(um.people("patient", rows_each=3, at_most=5_000))
    people by 'patient', 3 rows each, at most 5000
    >>> print(um.people("patient", rows_each=1, at_most=2000, tiers={"consent = 'basic'": (0.1, 20)}))
    people by 'patient', 1 row each, at most 2000; at most 20 with "consent = 'basic'" are promised 0.1
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
    return Unit(most, plain(id), each, _tiers(tiers, most) if tiers is not None else ())


def as_unit(text: str) -> Unit:
    r"""The unit that a text names, exactly as `str` of a unit writes it.

    Examples
    --------
    >>> as_unit("people by 'patient', 3 rows each, at most 5000") == people("patient", rows_each=3, at_most=5_000)
    True
    >>> tiers = {"consent = 'basic'": (0.1, 20)}
    >>> as_unit('rows, at most 2000; at most 20 with "consent = \'basic\'" are promised 0.1') == rows(2000, tiers)
    True
    """
    found = FORM.fullmatch(text)
    if found:
        id, each, most = found["id"], found["each"], int(found["most"])
        try:
            unit = rows(most) if id is None else people(literal_eval(id), int(each), most)
            unit = replace(unit, tiers=_tiers_again(found["tiers"] or "", most))
        except (ValueError, SyntaxError):  # numbers out of range among them
            unit = None
        if unit is not None and str(unit) == text:
            return unit
    raise InvalidInput(
        f'the unit is {shown(text)}; write it as sessions do: "rows, at most 20000", or "people by \'patient\', 3 rows '
        'each, at most 5000".'
    )


def _tiers_again(text: str, most: int) -> tuple[Tier, ...]:
    """The tiers of a unit's text; what is not written as tiers are is not equal to it when it is written again."""
    parts = list(TIER.finditer(text))
    if not parts:
        return ()
    given = {literal_eval(part["where"]): (part["promised"], int(part["most"])) for part in parts}
    unit = Unit(most, tiers=_tiers(given, most))
    whole = parts[0]["whole"]
    return (unit if whole is None else unit.within(PureDP(as_rational(whole, "the budget")))).tiers


def _written(value: Fraction) -> str:
    """A decimal where there is a short one, else a quotient."""
    return as_literal(value).strip("'")


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
