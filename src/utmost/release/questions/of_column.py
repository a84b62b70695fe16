"""What questions about a column of numbers share: its values are cut to a public range and rounded to a grid."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from utmost.release.conditions import EVERY_ROW, Where
from utmost.release.contributions import Grid, as_grid, cut_to, range_of
from utmost.release.questions.question import Question
from utmost.release.source import as_column


@dataclass(frozen=True, eq=False, kw_only=True)
class OfColumn(Question):
    """A question about a column.

    Attributes
    ----------
    column : its name
    lower, upper : values beyond count as these
    grid : the step that values are rounded to
    where : which rows take part
    """

    column: str
    lower: Any
    upper: Any
    grid: Any = 1
    where: Where = EVERY_ROW

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settle(column=as_column(self.column))
        _ = self.steps  # refused here, if it is none

    @cached_property
    def steps(self) -> Grid:
        """The public range of a value, and the steps it is rounded to."""
        return as_grid(self.lower, self.upper, self.grid)

    @property
    def step(self) -> Fraction:
        """What one step of a released integer is worth, in the unit of the answer."""
        return self.steps.step

    @property
    def width(self) -> int:
        """The width of the range, in steps."""
        return self.steps.most - self.steps.least

    @property
    def cut(self) -> str:
        """What is done to values, in words."""
        return cut_to(self.steps)

    @property
    def asked_of(self) -> dict[str, Any]:
        """The column, its range and the condition, as plain data."""
        return {"column": self.column, **range_of(self.steps), "where": self.where.text}
