"""The question: how many values are cut to a range.

A sum or mean cuts values to a public range. That bounds what one row can do, and changes the number; how many values it
touches is itself a private number, and is released like any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from utmost.backends.source import Source, as_column
from utmost.exact import Number as AnyNumber
from utmost.exact import show_rational
from utmost.queries.arguments import Condition, Privacy
from utmost.queries.contributions import Contribution, Grid, as_range, outside, range_of
from utmost.queries.options import COLUMN, LOWER, UNBIASED, UPPER, WHERE
from utmost.queries.predicate import EVERY_ROW, Where
from utmost.queries.questions.numbers import Adds, Number
from utmost.queries.questions.question import Asks, Made, asking
from utmost.space.line import Line


@dataclass(frozen=True, eq=False, kw_only=True)
class Clamped(Adds, Number):
    """How many values of a column lie outside a range, and would be cut to it."""

    name = "clamped"
    summary = "how many values of a column a range cuts off"
    options: ClassVar = (COLUMN, LOWER, UPPER, WHERE, UNBIASED)
    parts: ClassVar[tuple[str, ...]] = ("clamped",)

    column: str
    lower: Any
    upper: Any
    where: Where = EVERY_ROW

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settle(column=as_column(self.column))

    @cached_property
    def steps(self) -> Grid:
        """The public range of a value."""
        return as_range(self.lower, self.upper)

    @property
    def words(self) -> str:
        ends = f"{show_rational(self.steps.lower)}..{show_rational(self.steps.upper)}"
        return asking(f"How many values of {self.column} lie outside {ends}", self.where, self.kept, self.told)

    @property
    def public(self) -> dict[str, Any]:
        ends = range_of(self.steps)
        ranges = {"column": self.column, "lower": ends["lower"], "upper": ends["upper"], "where": self.where.text}
        return {"question": self.name, **ranges, **self.judged_by}

    @property
    def range_of_row(self) -> tuple[int, int]:
        return 0, 1

    @property
    def space(self) -> Line:
        return self.line(1)

    def contributions(self, source: Source) -> tuple[Contribution, ...]:
        return (outside(source, self.column, self.steps, self.where.given),)


class AsksClamped(Asks[Made]):
    """`clamped`, of a session or a plan."""

    def clamped(
        self,
        column: str,
        lower: AnyNumber,
        upper: AnyNumber,
        privacy: Privacy = None,
        *,
        where: Condition = None,
        loss: str = "absolute",
        unbiased: bool = False,
        fresh: bool = False,
    ) -> Made:
        """How many values of a column lie outside lower..upper, so that a sum or mean with this range cuts them.

        Parameters
        ----------
        column, lower, upper, where
            As of the sum or mean in question.
        privacy : level or number
            What this answer may spend, as for `count`: it is a spend of its own.
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
        >>> table = pyarrow.table({"late": [20, 999, -5]})
        >>> s = um.Session(table, "flights", um.rows(at_most=9), "add-remove", budget=20)
        >>> s.clamped("late", 0, 180, privacy=20).value
        2
        """
        asked = {"column": column, "lower": lower, "upper": upper, "loss": loss, "unbiased": unbiased}
        return self.pose(Clamped, privacy, where, fresh, **asked)
