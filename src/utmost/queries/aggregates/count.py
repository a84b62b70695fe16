"""The number of rows, or of people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from utmost.backends.source import Source
from utmost.queries.accuracy import CONFIDENCE
from utmost.queries.aggregates.aggregate import Aggregate, Estimates, Integers
from utmost.queries.aggregates.intervals import plus_minus
from utmost.queries.arguments import Of
from utmost.queries.contributions import Contribution, ones
from utmost.queries.options import ANY_CONDITION, BY, OF, UNBIASED
from utmost.queries.predicate import Where
from utmost.space.integers import Moves

if TYPE_CHECKING:
    from utmost.mechanism.noise.vector import NoisyVector
    from utmost.queries.units import Unit


@dataclass(frozen=True, kw_only=True)
class Count(Aggregate):
    """The number of rows that meet a condition, or of people with such a row.

    Attributes
    ----------
    counted : "rows" or "people"
        What is counted.
    """

    name = "count"
    summary = "how many rows have a condition (an empty one: all rows)"
    options: ClassVar = (ANY_CONDITION, BY, OF, UNBIASED)
    parts: ClassVar = ("count",)

    counted: Of = "rows"

    @classmethod
    def from_public(cls, public: Mapping[str, Any], unit: Unit, says_rounding: bool) -> Self:
        return cls(counted=public["of"])

    @property
    def of(self) -> Of:
        return self.counted

    def contributions(self, source: Source, where: Any) -> tuple[Contribution, ...]:
        return (ones(source, where),)

    @property
    def least(self) -> int | None:
        return 0

    @property
    def range(self) -> tuple[int, int]:
        return 0, 1

    def sensitivity(self) -> tuple[Moves, int]:
        return self.setting.moves, 1

    def estimates(self, sums: Sequence[Integers], mechanism: NoisyVector, confidence: float = CONFIDENCE) -> Estimates:
        return plus_minus(self.name, sums[0], mechanism.noise.half_width(confidence), self.step)

    @property
    def phrase(self) -> str:
        return f"How many {self.counted} are there"

    def words(self, where: Where, rows_clause: str, ending: str) -> str:
        rows = f"{rows_clause}," if rows_clause else ""
        return f"How many {self.counted}{rows} {f'have {where}' if where else 'are there'}{ending}?"

    @property
    def public(self) -> dict[str, Any]:
        return {"of": self.counted}
