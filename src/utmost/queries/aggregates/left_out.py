"""How many people lose rows by truncation, or how many rows are dropped.

At most `rows_each` rows of every person are used in an answer. That bounds one person's contribution, and drops rows.
How many people lose rows, or how many rows are dropped, is private, and is released like any other count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from utmost.backends.source import Source
from utmost.errors import InvalidInput
from utmost.exact import as_whole
from utmost.messages import Name, Words
from utmost.queries.accuracy import CONFIDENCE
from utmost.queries.aggregates.aggregate import Aggregate, Estimates, Integers
from utmost.queries.aggregates.intervals import plus_minus
from utmost.queries.arguments import Of
from utmost.queries.contributions import Contribution, people_with_more
from utmost.queries.options import ANY_CONDITION, UNBIASED, UP_TO
from utmost.queries.predicate import Where
from utmost.queries.units import FOR_PEOPLE, MOST_ROWS, MOST_UNITS, Unit
from utmost.space.integers import Moves

if TYPE_CHECKING:
    from utmost.mechanism.noise.vector import NoisyVector
    from utmost.queries.expressions.relations import Relation


@dataclass(frozen=True, kw_only=True)
class LeftOut(Aggregate):
    """The number of people with more rows than the contribution bound, or the number of rows beyond it.

    Attributes
    ----------
    unit : Unit
        The privacy unit, with the contribution bound.
    up_to : int or None
        Counts dropped rows, at most so many of each person; None counts people.
    """

    name = "left_out"
    summary = "how many people have more rows than take part"
    options: ClassVar = (ANY_CONDITION, UP_TO, UNBIASED)
    parts: ClassVar = ("left_out",)
    groupings: ClassVar = ("whole",)

    unit: Unit
    up_to: int | None = None

    def __post_init__(self) -> None:
        if self.up_to is not None:
            most_rows = MOST_ROWS // (self.unit.at_most or MOST_UNITS)
            object.__setattr__(self, "up_to", as_whole(self.up_to, "up_to", 1, most_rows))
        if self.unit.id is None:
            raise InvalidInput("no rows are dropped where the unit is a row; ", FOR_PEOPLE, ".")

    @classmethod
    def from_public(cls, public: Mapping[str, Any], unit: Unit, says_rounding: bool) -> Self:
        return cls(unit=unit, up_to=public.get("up_to"))

    @property
    def of(self) -> Of:
        return "people"

    def contributions(self, source: Source, where: Any) -> tuple[Contribution, ...]:
        """Empty: a person contributes by all their rows together (`relation`)."""
        return ()

    @property
    def least(self) -> int | None:
        return 0

    @property
    def range(self) -> tuple[int, int]:
        return 0, self.up_to or 1

    def sensitivity(self) -> tuple[Moves, int]:
        return self.setting.moves, self.up_to or 1

    def relation(self, source: Source, unit: Unit, where: Any, secret: bytes) -> Relation:
        return people_with_more(source, self.unit, where, self.name, secret, self.up_to)

    def estimates(self, sums: Sequence[Integers], mechanism: NoisyVector, confidence: float = CONFIDENCE) -> Estimates:
        return plus_minus(self.name, sums[0], mechanism.noise.half_width(confidence), self.step)

    @property
    def phrase(self) -> str:
        return "How many people have rows that are left out"

    def words(self, where: Where, rows_clause: str, ending: str) -> str:
        unit, condition = self.unit, f" with {where}" if where else ""
        if unit.truncate == "table":
            bound_clause = f"the {unit.rows_each} that are used of each {unit.id}"
            if self.up_to is not None:
                return (
                    f"How many rows{condition} are dropped beyond {bound_clause}, at most {self.up_to} of each{ending}?"
                )
            return f"How many people by {unit.id} have rows{condition} that are dropped, beyond {bound_clause}{ending}?"
        if self.up_to is not None:
            bound_clause = f"are left out beyond {unit.rows_each} per {unit.id}, at most {self.up_to} of each counted"
            return f"How many rows{condition} {bound_clause}{ending}?"
        rows = f"{unit.rows_each} rows{condition}"
        return f"How many people by {unit.id} have more than {rows}, of which the rest is left out{ending}?"

    @property
    def public(self) -> dict[str, Any]:
        return {} if self.up_to is None else {"up_to": self.up_to}

    @property
    def truncation_notes(self) -> tuple[str, ...]:
        return group_bounds_note(self.unit)


def group_bounds_note(unit: Unit) -> tuple[str, ...]:
    """Note that rows dropped by bounds per group are not counted, if there are such bounds."""
    if unit.groups_each is None and unit.rows_each_group is None:
        return ()
    note = Words(
        "what ",
        Name("groups_each"),
        " and ",
        Name("rows_each_group"),
        " drop in answers by keys is not counted here; only rows beyond ",
        f"{unit.rows_each} of a person are",
    )
    return (note,)
