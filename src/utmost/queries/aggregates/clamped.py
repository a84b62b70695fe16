"""How many values of a column are clamped to a range.

A sum or mean clamps values to a public range. That bounds the contribution of a row, and biases the answer. How many
values it changes is private, and is released like any other count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from utmost.backends.source import Source, as_column
from utmost.exact import show_rational
from utmost.queries.accuracy import CONFIDENCE
from utmost.queries.aggregates.aggregate import Aggregate, Estimates, Integers, Setting
from utmost.queries.aggregates.intervals import plus_minus
from utmost.queries.contributions import Contribution, Grid, as_range, outside, range_of
from utmost.queries.options import COLUMN, LOWER, UNBIASED, UPPER, WHERE
from utmost.space.integers import Moves

if TYPE_CHECKING:
    from utmost.mechanism.noise.vector import NoisyVector
    from utmost.queries.units import Unit


@dataclass(frozen=True, kw_only=True)
class Clamped(Aggregate):
    """The number of values of a column outside a range, which would be clamped to it.

    Attributes
    ----------
    column : str
        The column.
    lower, upper : number
        The ends of the range.
    """

    name = "clamped"
    summary = "how many values of a column a range cuts off"
    options: ClassVar = (COLUMN, LOWER, UPPER, WHERE, UNBIASED)
    parts: ClassVar = ("clamped",)
    groupings: ClassVar = ("whole",)

    column: str
    lower: Any
    upper: Any

    @classmethod
    def from_public(cls, public: Mapping[str, Any], unit: Unit, says_rounding: bool) -> Self:
        return cls(column=public["column"], lower=public["lower"], upper=public["upper"])

    def in_setting(self, setting: Setting) -> Self:
        return replace(self, setting=setting, column=as_column(self.column))

    @cached_property
    def values_within(self) -> Grid:
        """The public range."""
        return as_range(self.lower, self.upper)

    def contributions(self, source: Source, where: Any) -> tuple[Contribution, ...]:
        return (outside(source, self.column, self.values_within, where),)

    @property
    def range(self) -> tuple[int, int]:
        return 0, 1

    def sensitivity(self) -> tuple[Moves, int]:
        return self.setting.moves, 1

    def estimates(self, sums: Sequence[Integers], mechanism: NoisyVector, confidence: float = CONFIDENCE) -> Estimates:
        return plus_minus(self.name, sums[0], mechanism.noise.half_width(confidence), self.step)

    @property
    def phrase(self) -> str:
        ends = f"{show_rational(self.values_within.lower)}..{show_rational(self.values_within.upper)}"
        return f"How many values of {self.column} lie outside {ends}"

    @property
    def public(self) -> dict[str, Any]:
        ends = range_of(self.values_within)
        return {"column": self.column, "lower": ends["lower"], "upper": ends["upper"]}
