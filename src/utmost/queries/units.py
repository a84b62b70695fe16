"""The privacy unit: a row, or a person with several rows."""

from __future__ import annotations

import operator
import re
from ast import literal_eval
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias, get_args

from utmost.accounting.names import protected_entity
from utmost.errors import InvalidInput, shown
from utmost.exact import Number, as_literal, as_rational
from utmost.privacy import Level, PureDP
from utmost.queries.arguments import Neighbours, plain
from utmost.space.integers import MOST_TIERS

Truncate: TypeAlias = Literal["table", "question"]
"""When a person's rows are chosen: once, before any condition; or for every query, among those with its condition."""
MOST_UNITS = 10**12
MOST_ROWS = 10**18
"""Most rows of all people together, so that engines and mechanisms count them in 64 bits."""
FORM = re.compile(
    r"(?:rows|people by (?P<id>'.*'|\".*\"), (?P<each>\d{1,13}) rows? each"
    r"(?P<chosen>, chosen before any condition|, chosen for each question)?"
    r"(?:, at most (?P<groups>\d{1,13}) groups? each)?(?:, at most (?P<group>\d{1,13}) rows? each in a group)?)"
    r"(?:, at most (?P<most>\d{1,13}))?"
    r"(?P<tiers>; .*)?",
    re.ASCII,
)
TIER = re.compile(
    r"""; at most (?P<most>\d{1,13}) with (?P<where>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*") are """
    r"promised (?P<promised>[^ ;]{1,40})(?: of (?P<whole>[^ ;]{1,40}))?",
    re.ASCII,
)
"""Patterns of a unit's text, and of its tiers."""
CHOSEN = {"table": ", chosen before any condition", "question": ", chosen for each question"}
"""The text of each kind of truncation. Version 0.2 wrote none, and chose rows for each query."""
MOST_OWN = MOST_TIERS - 1
"""Most tiers that may be named, beside the rest."""


@dataclass(frozen=True)
class Tier:
    """A public group of rows, or of people, with a promise of its own.

    Attributes
    ----------
    where : str
        The condition that defines the group, as SQL. A row belongs to the first tier whose condition it satisfies; a
        person to the first tier whose condition any of their rows satisfies.
    promised : Fraction
        The epsilon that all answers together may spend of these rows or people.
    at_most : int
        At most so many rows or people are in the group.
    whole : Fraction, optional
        What all answers together may spend of the others: the budget; None before a session knows it.
    """

    where: str
    promised: Fraction
    at_most: int
    whole: Fraction | None = None

    @property
    def share(self) -> Fraction:
        """The fraction of an answer's spend that it spends of this group."""
        if self.whole is None:
            raise InvalidInput("a tier's share is known once a session has a budget.")
        return self.promised / self.whole

    def __str__(self) -> str:
        promised = _written(self.promised) + ("" if self.whole is None else f" of {_written(self.whole)}")
        return f"at most {self.at_most} with {self.where!r} are promised {promised}"


@dataclass(frozen=True)
class Unit:
    """The privacy unit: one row, or one person's rows, in which two neighbouring tables differ.

    Attributes
    ----------
    at_most : int, optional
        A public upper bound on the number of units, never counted from the table; None where none was stated.
    id : str, optional
        The column that says whose row it is; None where every row is a unit of its own.
    rows_each : int
        Contribution bound: at most so many rows of one person are used.
    tiers : tuple of Tier
        Public groups of rows, or of people, with promises of their own.
    truncate : {"table", "question"}
        "table": the rows of a person that are used are chosen once, before any condition; "question": for every query,
        among the rows with its condition.
    groups_each : int, optional
        Contribution bound: one person counts in at most so many groups; None where none was stated.
    rows_each_group : int, optional
        Contribution bound: at most so many rows of one person are used in one group; None where none was stated.
    """

    at_most: int | None = None
    id: str | None = None
    rows_each: int = 1
    tiers: tuple[Tier, ...] = ()
    truncate: Truncate = "table"
    groups_each: int | None = None
    rows_each_group: int | None = None

    @property
    def protected(self) -> str:
        """The unit in words, without contribution bounds, which may differ from answer to answer."""
        return protected_entity(str(self))

    @property
    def plural(self) -> str:
        """The plural of the unit: rows or people."""
        return "rows" if self.id is None else "people"

    def within(self, budget: Level) -> Unit:
        """The unit with a budget, of whose spends every tier takes a fixed fraction."""
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
            whose = f"people by {self.id!r}, {_many(self.rows_each, 'row')} each"
            whose += CHOSEN[self.truncate]
            whose += "" if self.groups_each is None else f", at most {_many(self.groups_each, 'group')} each"
            if self.rows_each_group is not None:
                whose += f", at most {_many(self.rows_each_group, 'row')} each in a group"
        most = "" if self.at_most is None else f", at most {self.at_most}"
        return "; ".join([whose + most, *map(str, self.tiers)])


def rows(at_most: int | None = None, tiers: Mapping[str, tuple[Number, int]] | None = None) -> Unit:
    """Rows are the privacy unit: every row is protected.

    Parameters
    ----------
    at_most : int, optional
        How many rows there are at most, a public number. Without it numbers are unbiased and nothing is clamped to a
        range. With it answers are best guesses within that range, and true only if the table has no more rows.
    tiers : mapping, optional
        Public groups that are promised more than the others, as {condition: (epsilon, at most so many rows)}, such as
        ``{"consent = 'basic'": (0.1, 20)}``: all answers together spend at most that epsilon of their rows, where they
        spend the session's budget of the others. Every answer spends in proportion. Which tier a row belongs to is
        public and stays as it is: neighbouring tables differ in one row of one tier. Counts, majorities and thresholds
        are asked of such tables.

    Examples
    --------
    >>> import utmost as um
    >>> print(um.rows())
    rows
    >>> print(um.rows(at_most=20_000))
    rows, at most 20000
    >>> print(um.rows(at_most=2000, tiers={"consent = 'basic'": (0.1, 20)}))
    rows, at most 2000; at most 20 with "consent = 'basic'" are promised 0.1
    """
    most = None if at_most is None else _public_number(at_most, "at_most", "rows", "um.rows(at_most=20_000)")
    return Unit(most, tiers=_tiers(tiers, most) if tiers is not None else ())


def _tiers(tiers: Any, most: int | None) -> tuple[Tier, ...]:
    example = """tiers={"consent = 'basic'": (0.1, 20)}"""
    if most is None:
        raise InvalidInput(
            f"tiers are given without at_most; state how many there are at most in all, as in at_most=2000, {example}."
        )
    if not isinstance(tiers, Mapping) or not 0 < len(tiers) <= MOST_OWN:
        raise InvalidInput(f"tiers is {shown(tiers)}; name 1 to {MOST_OWN} conditions, as in {example}.")
    tier_list = []
    for where, promise in tiers.items():
        if not isinstance(where, str) or not where.strip() or "\n" in where:
            raise InvalidInput(f"a tier is {shown(where)}; name it by a condition in one line of SQL, as in {example}.")
        if not isinstance(promise, tuple | list) or len(promise) != 2:
            raise InvalidInput(f"{where!r} has {shown(promise)}; give its epsilon and how many there are: {example}.")
        promised = as_rational(promise[0], "a tier's epsilon")
        if promised <= 0:
            raise InvalidInput(f"{where!r} is promised {shown(promise[0])}; give an epsilon above 0, as in {example}.")
        tier_list.append(Tier(plain(where), promised, _public_number(promise[1], "a tier's size", "of them", example)))
    if sum(tier.at_most for tier in tier_list) > most:
        raise InvalidInput(f"the tiers have more members together than at_most = {most}; raise it.")
    return tuple(tier_list)


def people(
    id: str,
    rows_each: int | None = None,
    at_most: int | None = None,
    tiers: Mapping[str, tuple[Number, int]] | None = None,
    truncate: str | None = None,
    groups_each: int | None = None,
    rows_each_group: int | None = None,
) -> Unit:
    r"""People are the privacy unit: every person is protected with all their rows; a column says whose row it is.

    Of one person at most `rows_each` rows are used, chosen by a keyed hash; rows without an id are dropped. That number
    is public: it bounds how much one person contributes to an answer.

    Parameters
    ----------
    id : str
        The column that says whose row it is: whole numbers, text or UUIDs.
    rows_each : int
        Contribution bound: at most so many rows of each person are used; the others are dropped.
    at_most : int, optional
        How many people there are at most, a public number; as for `rows`.
    tiers : mapping, optional
        Public groups of people that are promised more than the others: {condition: (epsilon, at most so many people)},
        as for `rows`. A person belongs to the first tier whose condition any of their rows satisfies. Which one that
        is, is public and stays as it is: neighbouring tables differ in one person of one tier.
    truncate : "table" or "question", optional
        "table", the default: the rows of a person are chosen once for the whole table, before any condition, so all
        answers are about the same rows: parts add up to wholes, and shares are shares. "question": they are chosen for
        every question anew, among the rows with its condition; for one narrow question, which then drops fewer rows,
        but is not comparable with others. With tiers it is always "question".
    groups_each : int, optional
        For counts, sums, means and variances by `um.keys`: each person is in at most so many groups, chosen by a keyed
        hash, the same ones for every question with these keys. People are counted once in each of them, where without
        it they are counted in one group. Alone it does not lower the noise of rows, which may all be in one group.
    rows_each_group : int, optional
        Of these, at most so many rows of a person are used in one group; no more than `rows_each`. With r rows in each
        of g groups the noise is made for g·r rows (if that is less than `rows_each`), and Gaussian noise for the
        square root of g·r² instead of g·r. Truncation to `rows_each` comes first, so groups hold rows that all other
        answers are about, too.

    Examples
    --------
    >>> import utmost as um
    >>> print(um.people("patient", rows_each=3))
    people by 'patient', 3 rows each, chosen before any condition
    >>> print(um.people("patient", rows_each=3, at_most=5_000))
    people by 'patient', 3 rows each, chosen before any condition, at most 5000
    >>> print(um.people("patient", rows_each=3, at_most=5_000, truncate="question"))
    people by 'patient', 3 rows each, chosen for each question, at most 5000
    >>> basic = um.people("patient", rows_each=1, at_most=2000, tiers={"consent = 'basic'": (0.1, 20)})
    >>> str(basic).partition("; ")[2]
    'at most 20 with "consent = \'basic\'" are promised 0.1'
    >>> str(um.people("patient", rows_each=20, groups_each=5, rows_each_group=2)).partition("condition, ")[2]
    'at most 5 groups each, at most 2 rows each in a group'
    """
    if not isinstance(id, str) or not id:
        raise InvalidInput(f"the id column is {shown(id)}; give the name of the column that says whose row it is.")
    example = 'um.people("patient", rows_each=3)'
    bound = _public_number(rows_each, "rows_each", "rows of one person that may take part", example)
    most = None if at_most is None else _public_number(at_most, "at_most", "people", example[:-1] + ", at_most=5_000)")
    if bound * (most or 1) > MOST_ROWS:
        raise InvalidInput(
            f"rows_each is {bound} and at_most {most}, so {bound * (most or 1):.0e} rows might take part; keep their "
            f"product at or below 10^18, as in {example}."
        )
    example = 'um.people("patient", rows_each=20, groups_each=5, rows_each_group=2)'
    groups = _optional_number(groups_each, "groups_each", "groups of one person", example)
    in_group = _optional_number(rows_each_group, "rows_each_group", "rows of one person in one group", example)
    if in_group is not None and in_group > bound:
        raise InvalidInput(
            f"rows_each_group is {in_group} and rows_each {bound}; of a person at most rows_each rows are used in all, "
            f"so give at most {bound} in a group, or raise rows_each, as in {example}."
        )
    if tiers is not None and (groups, in_group) != (None, None):
        raise InvalidInput("people have tiers, who are not asked by groups; leave groups_each and rows_each_group out.")
    if truncate is None:
        truncate = "table" if tiers is None else "question"
    if tiers is not None and truncate != "question":
        raise InvalidInput(
            f"truncate is {shown(truncate)} and people have tiers, which are looked for among all rows of a person; "
            "leave truncate out."
        )
    if not isinstance(truncate, str) or truncate not in get_args(Truncate):
        raise InvalidInput(
            f"truncate is {shown(truncate)}; say 'table' (rows of a person are chosen once, before any condition) or "
            "'question' (for every question, among the rows with its condition)."
        )
    return Unit(
        most,
        plain(id),
        bound,
        _tiers(tiers, most) if tiers is not None else (),
        "table" if truncate == "table" else "question",
        groups,
        in_group,
    )


def as_unit(text: str, unsaid: Truncate = "table") -> Unit:
    r"""Parse the text of a unit, as `str` writes it; `unsaid` is the truncation where the text names none.

    Examples
    --------
    >>> as_unit(str(people("patient", rows_each=3))) == people("patient", rows_each=3)
    True
    >>> as_unit("people by 'patient', 3 rows each") == people("patient", rows_each=3)
    True
    >>> tiers = {"consent = 'basic'": (0.1, 20)}
    >>> as_unit('rows, at most 2000; at most 20 with "consent = \'basic\'" are promised 0.1') == rows(2000, tiers)
    True
    """
    match = FORM.fullmatch(text)
    if match:
        id, bound = match["id"], match["each"]
        most = None if match["most"] is None else int(match["most"])
        try:
            truncations = {normal_form: truncate for truncate, normal_form in CHOSEN.items()}
            truncate = truncations.get(match["chosen"], "question" if match["tiers"] else unsaid)
            groups, in_group = (None if match[part] is None else int(match[part]) for part in ("groups", "group"))
            unit = (
                rows(most)
                if id is None
                else people(literal_eval(id), int(bound), most, None, truncate, groups, in_group)
            )
            unit = replace(unit, tiers=_tiers_from_text(match["tiers"] or "", most))
        except (ValueError, SyntaxError):  # also numbers out of range
            unit = None
        if unit is not None:
            normal_form = str(unit) if match["chosen"] else str(unit).replace(CHOSEN[unit.truncate], "", 1)
            if normal_form == text:
                return unit
    raise InvalidInput(
        f'the unit is {shown(text)}; write it as sessions do: "rows", "rows, at most 20000", or "people by '
        "'patient', 3 rows each, at most 5000\"."
    )


def _tiers_from_text(text: str, most: int | None) -> tuple[Tier, ...]:
    """Parse the tiers in the text of a unit; the caller detects other text by writing the tiers again."""
    parts = list(TIER.finditer(text))
    if not parts:
        return ()
    promises = {literal_eval(part["where"]): (part["promised"], int(part["most"])) for part in parts}
    unit = Unit(most, tiers=_tiers(promises, most))
    whole = parts[0]["whole"]
    return (unit if whole is None else unit.within(PureDP(as_rational(whole, "the budget")))).tiers


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number > 1)}"


def _written(value: Fraction) -> str:
    """A number as a decimal where there is a short one, else as a quotient."""
    return as_literal(value).strip("'")


def require_neighbours(neighbours: Any) -> Neighbours:
    """Check the adjacency: "replace" or "add-remove", without a default, because the promise differs."""
    if not isinstance(neighbours, str) or neighbours not in get_args(Neighbours):
        raise InvalidInput(
            f"neighbours is {shown(neighbours)}; say 'replace' (one unit's data become others: how many there are is "
            "public) or 'add-remove' (one unit comes or goes: whether it is there at all is protected)."
        )
    return "replace" if neighbours == "replace" else "add-remove"


def _optional_number(value: Any, name: str, what: str, example: str) -> int | None:
    return None if value is None else _public_number(value, name, what, example)


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
