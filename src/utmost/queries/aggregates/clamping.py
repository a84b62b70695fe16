"""Clamping: values outside public bounds count as the nearer bound, and are rounded to steps of a grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from utmost.backends.source import as_column
from utmost.errors import InvalidInput
from utmost.exact import show_rational
from utmost.queries.aggregates.aggregate import Setting
from utmost.queries.contributions import Grid, as_grid, cut_to, is_exact, range_of
from utmost.queries.rounding_steps import DESIGN_UNITS, MOST_STEPS, MOST_SUM, default_step


@dataclass(frozen=True, kw_only=True)
class ClampedColumn:
    """A column of numbers, clamped to public bounds and rounded to a grid.

    Attributes
    ----------
    column : str
        Its name.
    lower, upper : number
        The public bounds that values are clamped to.
    grid : number or None
        The step that values are rounded to; None until `with_grid` has set one.
    whole : bool or None
        Whether the column has an integer type; None for a column from a report, which states the grid.
    rounded_values : bool or None
        Whether rounding to the grid may change values; None for reports of Utmost 0.2, which do not state it.
    """

    column: str
    lower: Any
    upper: Any
    grid: Any = None
    whole: bool | None = None
    rounded_values: bool | None = None

    @classmethod
    def from_public(cls, public: Mapping[str, Any], says_rounding: bool) -> ClampedColumn:
        """The column of a report, from the public part of its query."""
        rounded_values = public.get("rounded_values", False if says_rounding else None)
        names = ("column", "lower", "upper", "grid")
        return cls(**{name: public[name] for name in names}, rounded_values=rounded_values)

    def with_grid(self, setting: Setting, most_steps: int) -> ClampedColumn:
        """Return the column with its grid: the named one, or the default by public facts (`rounding_steps.py`)."""
        grid = self.grid
        if grid is None:
            grid = default_step(self.lower, self.upper, self.whole, setting.units, setting.privacy, most_steps)
        column = replace(self, column=as_column(self.column), grid=grid)
        rounded = self.rounded_values if self.whole is None else not is_exact(self.whole, column.steps)
        return replace(column, rounded_values=rounded)

    @cached_property
    def steps(self) -> Grid:
        """The public range with the grid that values are rounded to."""
        return as_grid(self.lower, self.upper, self.grid)

    @property
    def width(self) -> int:
        """The width of the range, in steps."""
        return self.steps.most - self.steps.least

    @property
    def may_be_rounded(self) -> bool:
        """Whether rounding may change values."""
        return self.rounded_values is not False

    @property
    def rounding_error(self) -> Fraction:
        """The largest change of a value by rounding, in the unit of the column."""
        return self.steps.rounding_error if self.may_be_rounded else Fraction(0)

    def is_coarse(self, setting: Setting, most_steps: int) -> bool:
        """Whether values are rounded to a coarser step than the default."""
        if not self.rounding_error:
            return False
        try:
            fine = default_step(self.lower, self.upper, False, setting.units, setting.privacy, most_steps)
        except InvalidInput:  # there is no default step
            return True
        return self.steps.step > fine

    @property
    def words(self) -> str:
        """The clamping and rounding in words."""
        return f"values {cut_to(self.steps, self.may_be_rounded)}"

    @property
    def interval_includes(self) -> str:
        """Clause that intervals include rounding errors; empty if there are none."""
        return ", what rounding can change included" if self.may_be_rounded else ""

    @property
    def rounds_to(self) -> str:
        """The rounding in words: "rounding to 0.5"."""
        return f"rounding to {show_rational(self.steps.step)}"

    @property
    def public(self) -> dict[str, Any]:
        """Column, range, step, and whether values are rounded, as plain data."""
        return {
            "column": self.column,
            **range_of(self.steps),
            **({"rounded_values": True} if self.rounded_values else {}),
        }


def most_steps_of_sums(setting: Setting) -> int:
    """The largest absolute value of a bound, in steps, such that sums of values and their noise stay below 2^63."""
    if not setting.grouped:
        return max(1, MOST_STEPS // setting.rows_each)
    rows = setting.most_rows or DESIGN_UNITS * setting.rows_each
    return max(1, min(MOST_STEPS // setting.rows_each, MOST_SUM // rows))
