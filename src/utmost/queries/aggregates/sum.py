"""The sum of a column.

Sensitivity, for values c in steps with a <= c <= b: adding or removing a row makes at most max(|a|, |b|) moves.
Replacing one adds -c to one group and c' to another, or c' - c to one. If c and c' have the same sign, these are at
most max(|c|, |c'|) exchanges; if not, both sums may change in the same direction, by |c| + |c'| in all: at most
2·max(|a|, |b|) moves of any kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from utmost.backends.source import Source
from utmost.errors import InvalidInput, shown
from utmost.exact import show_rational
from utmost.queries.accuracy import CONFIDENCE
from utmost.queries.aggregates.aggregate import Aggregate, Estimates, Integers, Setting
from utmost.queries.aggregates.clamping import ClampedColumn, most_steps_of_sums
from utmost.queries.aggregates.intervals import plus_minus
from utmost.queries.contributions import Contribution, values
from utmost.queries.losses import ERROR_LOSSES
from utmost.queries.options import BY, COLUMN, GRID, LOWER, UNBIASED, UPPER, WHERE
from utmost.queries.report.words import figures
from utmost.queries.rounding_steps import DESIGN_UNITS
from utmost.space.integers import Moves

if TYPE_CHECKING:
    from utmost.mechanism.noise.lattice import NoisyVector
    from utmost.queries.units import Unit

MOST_LISTED = 10_000
"""The most steps of a range at levels that are not pure, where the noise is a table of probabilities."""
ROUNDED = "answer, interval and expected error are {}; leave grid out for a finer step"


@dataclass(frozen=True, kw_only=True)
class Sum(Aggregate):
    """The sum of a column, clamped to public bounds and rounded to a grid.

    Attributes
    ----------
    values : ClampedColumn
        The column, with its bounds and grid.
    """

    name = "sum"
    summary = "what a column adds up to"
    options: ClassVar = (COLUMN, LOWER, UPPER, GRID, WHERE, BY, UNBIASED)
    parts: ClassVar = ("sum",)

    values: ClampedColumn

    @classmethod
    def from_public(cls, public: Mapping[str, Any], unit: Unit, says_rounding: bool) -> Self:
        return cls(values=ClampedColumn.from_public(public, says_rounding))

    def in_setting(self, setting: Setting) -> Self:
        most_steps = max(1, MOST_LISTED // setting.rows_each) if setting.tabulated else most_steps_of_sums(setting)
        values = self.values.with_grid(setting, most_steps)
        counts_steps = setting.loss not in ERROR_LOSSES
        if counts_steps and self.values.grid is None and values.rounded_values and not setting.grouped:
            raise InvalidInput(
                f"loss is {shown(setting.loss)}, which counts steps of the grid, and values are not whole numbers; "
                "give the grid that values are rounded to, such as grid=1."
            )
        return replace(self, setting=setting, values=values)

    def contributions(self, source: Source, where: Any) -> tuple[Contribution, ...]:
        return (values(source, self.values.column, self.values.steps, where),)

    @property
    def range(self) -> tuple[int, int]:
        return min(self.values.steps.least, 0), max(self.values.steps.most, 0)

    def sensitivity(self) -> tuple[Moves, int]:
        steps = self.values.steps
        largest = steps.sensitivity("add-remove")
        if self.setting.neighbours == "add-remove":
            return "any", largest
        return ("any", 2 * largest) if steps.least < 0 < steps.most else ("exchange", largest)

    @property
    def grid_is_named(self) -> bool:
        return self.values.grid is not None

    @property
    def step(self) -> Fraction:
        return self.values.steps.step

    def estimates(self, sums: Sequence[Integers], mechanism: NoisyVector, confidence: float = CONFIDENCE) -> Estimates:
        half_width = mechanism.noise.half_width(confidence)
        return plus_minus(self.name, sums[0], half_width, self.step, self.rounding)

    # ---- rounding ----

    @cached_property
    def is_coarse(self) -> bool:
        """Whether values are rounded to a coarser step than the default."""
        return self.values.is_coarse(self.setting, most_steps_of_sums(self.setting))

    @property
    def rounded_rows(self) -> int:
        """The number of rows whose rounding errors intervals include: all that there can be."""
        most_rows = self.setting.most_rows
        return DESIGN_UNITS * self.setting.rows_each if most_rows is None else most_rows

    @property
    def of_rounded_values(self) -> bool:
        """Whether the answer is stated for the rounded values: the step is coarse and the number of rows unbounded."""
        return self.is_coarse and self.setting.most_rows is None

    @property
    def rounding(self) -> Fraction:
        """The largest change of the sum by rounding; 0 if the answer is stated for the rounded values."""
        return Fraction(0) if self.of_rounded_values else self.values.rounding_error * self.rounded_rows

    @property
    def off_by_rounding(self) -> float:
        return float(self.rounding) if self.is_coarse else 0.0  # the default step makes it negligible

    @property
    def about_rounded_values(self) -> str:
        """Clause that the answer is of the rounded values, and how far the sum of these may be off."""
        return (
            f"of the values rounded to {show_rational(self.step)}; rounding itself moves the sum by at most "
            f"{figures(float(self.values.rounding_error))} for each row"
        )

    # ---- description ----

    @property
    def phrase(self) -> str:
        return f"What does {self.values.column} add up to"

    @property
    def found_phrase(self) -> str:
        return f"What is the sum of {self.values.column}"

    @property
    def public(self) -> dict[str, Any]:
        return self.values.public

    @property
    def clamping_in_words(self) -> str:
        return self.values.words

    @property
    def interval_includes(self) -> str:
        if self.of_rounded_values:
            return f"; it is {self.about_rounded_values}"
        if not self.values.may_be_rounded:
            return ""
        return f", what rounding at most {self.rounded_rows:,} rows can change included"

    @property
    def rounds_to(self) -> str:
        return f"rounding at most {self.rounded_rows:,} rows to {show_rational(self.step)}"

    def error_is_of(self, loss: str) -> str:
        counts_steps = self.is_coarse and loss not in ("absolute", "squared")
        return self.about_rounded_values if self.of_rounded_values or counts_steps else ""

    @property
    def notes(self) -> tuple[str, ...]:
        return (ROUNDED.format(self.about_rounded_values),) if self.of_rounded_values else ()
