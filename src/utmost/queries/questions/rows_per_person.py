"""Query: how many people have how many rows, in public bins, before any truncation.

Each person is in one bin, so the noise is that of a histogram of people, whatever the number of rows per person. The
answer helps to choose the contribution bound `rows_each`: see `session.suggest_rows_each`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

from utmost.backends.source import Source, Statement
from utmost.errors import InvalidInput
from utmost.exact import as_whole
from utmost.queries.arguments import Of
from utmost.queries.contributions import with_ids
from utmost.queries.expressions import values as expr
from utmost.queries.expressions.values import Expression, literal
from utmost.queries.losses import as_loss
from utmost.queries.options import ANY_CONDITION, LARGEST
from utmost.queries.questions.cell_counts import CellCounts, NoisyCounts
from utmost.queries.report.words import question_in_words
from utmost.space.integers import Lattice

MOST_LARGEST = 10**9
DEFAULT_LARGEST = 1000
ROUND = (10, 12, 15, 20, 25, 30, 40, 50, 60, 80)


def numbers_of_rows(largest: int) -> tuple[int, ...]:
    """The upper ends of bins of numbers of rows, up to `largest`: 1 to 6, 8, then round numbers.

    Examples
    --------
    >>> numbers_of_rows(110)
    (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 110)
    """
    tens = (times * 10**power // 10 for power in range(1, len(str(largest)) + 1) for times in ROUND)
    return (*(number for number in (*range(1, 7), 8, *tens) if number < largest), largest)


@dataclass(frozen=True, eq=False, kw_only=True)
class RowsPerPerson(CellCounts):
    """The number of people by their number of rows that meet a condition.

    Attributes
    ----------
    largest : int
        The last bin counts people with more rows than this.
    """

    name = "rows_per_person"
    summary = "how many people have how many rows"
    options: ClassVar = (ANY_CONDITION, LARGEST)

    of: Of = "people"
    largest: int = DEFAULT_LARGEST

    def __post_init__(self) -> None:
        super().__post_init__()
        self.set_fields(loss=as_loss(self.loss))
        if self.terms.unit.id is None:
            raise InvalidInput("every row is a unit of its own here; ask how many rows people have of um.people(...).")
        self.set_fields(largest=as_whole(self.largest, "largest", 1, MOST_LARGEST))

    @property
    def ends(self) -> tuple[int, ...]:
        """The largest number of rows of every bin but the last."""
        return numbers_of_rows(self.largest)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the bins."""
        starts = (end + 1 for end in (0, *self.ends))
        bins = zip(starts, self.ends, strict=False)
        return (
            *(str(end) if start == end else f"{start} to {end}" for start, end in bins),
            f"more than {self.largest}",
        )

    @property
    def key_columns(self) -> tuple[str, ...]:
        return ("rows",)

    @property
    def error_has_law(self) -> bool:
        return True

    @property
    def words(self) -> str:
        unit = self.terms.unit
        return question_in_words(f"How many people by {unit.id} have how many rows, none of them dropped", self.where)

    @property
    def public(self) -> dict[str, Any]:
        parameters = {"question": self.name, "where": self.where.text, "largest": self.largest}
        return {**parameters, "loss": self.loss, "prior": "uniform"}

    @property
    def workload(self) -> Lattice:
        return self.counts_of(len(self.names), self.terms.moves)

    @cached_property
    def strategy(self) -> NoisyCounts:
        return NoisyCounts(solution=self.solution, names=self.names, counts=self.workload)

    def statement(self, source: Source, secret: bytes) -> Statement:
        people = with_ids(source, self.terms.unit, {}, self.where.text).aggregate(["who"], rows=expr.count())
        rows, edges = people["rows"], (0, *self.ends)

        def between(low: int, high: int | None) -> Expression:
            above = expr.compare(">", rows, literal(low))
            return above if high is None else above & expr.compare("<=", rows, literal(high))

        bins = [*(between(low, high) for low, high in pairwise(edges)), between(self.largest, None)]
        sums = {f"c{i}": expr.total(expr.where(inside, literal(1), literal(0))) for i, inside in enumerate(bins)}
        return source.statement(people.aggregate(**sums))
