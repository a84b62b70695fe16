"""The question: how many people have more rows than take part, or how many rows are left out.

Of every person at most `rows_each` rows take part in an answer. That keeps one person's influence small, and leaves
rows out; how many people that touches, or how many rows, is itself a private number, and is released like any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from utmost.backends.source import Source, Statement
from utmost.errors import InvalidInput
from utmost.exact import as_whole
from utmost.queries.arguments import Condition, Privacy
from utmost.queries.contributions import people_with_more
from utmost.queries.options import ANY_CONDITION, UNBIASED, UP_TO
from utmost.queries.predicate import EVERY_ROW, Where
from utmost.queries.questions.numbers import Number
from utmost.queries.questions.question import Asks, Made
from utmost.queries.units import MOST_ROWS, MOST_UNITS, Unit
from utmost.space.line import Line


@dataclass(frozen=True, eq=False, kw_only=True)
class LeftOut(Number):
    """How many people have more rows with a condition than take part in an answer, or how many rows that leaves out.

    Attributes
    ----------
    up_to : of each person so many rows that are left out are counted, at most; None counts people
    """

    name = "left_out"
    summary = "how many people have more rows than take part"
    options: ClassVar = (ANY_CONDITION, UP_TO, UNBIASED)

    where: Where = EVERY_ROW
    up_to: int | None = None

    def __post_init__(self) -> None:
        if self.up_to is not None:
            self.settle(up_to=as_whole(self.up_to, "up_to", 1, MOST_ROWS // (self.terms.unit.at_most or MOST_UNITS)))
        super().__post_init__()
        if self.terms.unit.id is None:
            raise InvalidInput("every row takes part where the unit is a row; rows are left out of people's only.")

    @property
    def used(self) -> str:
        return ""  # every row is looked at to see who has more

    @property
    def drop_notes(self) -> tuple[str, ...]:
        return beside_groups(self.terms.unit)

    @property
    def words(self) -> str:
        unit, having = self.terms.unit, f" with {self.where}" if self.where else ""
        if unit.truncate == "table":
            beyond = f"the {unit.rows_each} that are used of each {unit.id}"
            if self.up_to is not None:
                return f"How many rows{having} are dropped beyond {beyond}, at most {self.up_to} of each{self.told}?"
            return f"How many people by {unit.id} have rows{having} that are dropped, beyond {beyond}{self.told}?"
        if self.up_to is not None:
            beyond = f"are left out beyond {unit.rows_each} per {unit.id}, at most {self.up_to} of each counted"
            return f"How many rows{having} {beyond}{self.told}?"
        rows = f"{unit.rows_each} rows{having}"
        return f"How many people by {unit.id} have more than {rows}, of which the rest is left out{self.told}?"

    @property
    def public(self) -> dict[str, Any]:
        rows = {} if self.up_to is None else {"up_to": self.up_to}
        return {"question": self.name, "where": self.where.text, **rows, **self.judged_by}

    @property
    def space(self) -> Line:
        each, most = self.up_to or 1, self.terms.unit.at_most
        return Line(None, None, each) if most is None else Line(0, each * most, each)

    @property
    def least(self) -> int | None:
        return 0

    def statement(self, source: Source, secret: bytes) -> Statement:
        return people_with_more(source, self.terms.unit, self.where.given, self.name, secret, self.up_to)


def beside_groups(unit: Unit) -> tuple[str, ...]:
    """That rows which bounds of groups drop are not meant, where there are such bounds."""
    stated = unit.groups_each is not None or unit.rows_each_group is not None
    dropped = "what groups_each and rows_each_group drop in answers by keys is not counted here"
    return (f"{dropped}; only rows beyond {unit.rows_each} of a person are",) if stated else ()


class AsksLeftOut(Asks[Made]):
    """`left_out`, of a session or a plan."""

    def left_out(
        self,
        where: Condition = None,
        privacy: Privacy = None,
        *,
        up_to: int | None = None,
        loss: str = "absolute",
        unbiased: bool = False,
        fresh: bool = False,
    ) -> Made:
        """How many people have more rows with a condition than take part in an answer about them.

        Where the unit is `um.people(..., rows_each=k)`, at most k rows of every person take part. This says of how
        many people some rows are left out, so that a reader can judge whether an answer about rows means what it says.

        Parameters
        ----------
        where : condition, optional
            The condition of the answer in question; every row without it.
        privacy : level or number
            What this answer may spend, as for `count`: it is a spend of its own.
        up_to : int, optional
            Counts the rows that are left out instead of the people, of each person at most so many: somebody may have
            any number of rows, and the noise must hide all that are counted of one.
        loss : "absolute", "squared", "zero-one" or such as "within 5"
            What the mechanism is best for.
        unbiased : bool
            True gives the noisy number itself, whose error has mean 0, instead of the best guess.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"who": [1] * 9 + [2, 3, 4], "late": [20] * 12})
        >>> s = um.Session(table, "flights", um.people("who", rows_each=3, at_most=10), "add-remove", budget=20)
        >>> s.left_out("late > 15", privacy=20).value
        1
        >>> s = um.Session(table, "flights", um.people("who", rows_each=3, at_most=10), "add-remove", budget=200)
        >>> s.left_out("late > 15", privacy=200, up_to=10).value  # nine of the first person, of which three take part
        6
        """
        return self.pose(LeftOut, privacy, where, fresh, up_to=up_to, loss=loss, unbiased=unbiased)
