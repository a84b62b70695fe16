"""Query: how many rows lie at or below each of several edges (a cumulative distribution).

The counts between neighbouring edges, which are disjoint, are released with independent noise, and cumulative counts
are sums of these. For a hundred edges at epsilon = 1 the expected error is 7 rows, and 35 with noise on the cumulative
counts themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from utmost.backends.source import Source, Statement, as_column
from utmost.errors import InvalidInput, shown
from utmost.queries.accuracy import After
from utmost.queries.arguments import listed, plain
from utmost.queries.bins import Bins
from utmost.queries.cells import EXACT, edge_cells, tally_statement
from utmost.queries.losses import as_loss
from utmost.queries.options import COLUMN, EDGES, OF, WHERE
from utmost.queries.questions.cell_counts import CellCounts
from utmost.queries.questions.nested import MAY_FALL, NestedStrategy, increasing, nested_strategy, running_counts
from utmost.queries.questions.question import as_of
from utmost.queries.report.words import question_in_words
from utmost.space.integers import Lattice

if TYPE_CHECKING:
    from utmost.design.workload import Workload

MOST_EDGES = 1000
EDGES_NOTE = (
    "people with rows on both sides of an edge are counted by one of them; counts([...], of='people') counts everybody "
    "who has such a row"
)
INCREASING = (
    "where noisy counts fall, neighbours take their mean, so that they increase; errors are stated without that"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Cdf(CellCounts):
    """The number of rows at or below each edge; rows without a value, or above the last edge, are in no count."""

    name = "cdf"
    summary = "how many rows lie at or below each of several edges"
    options: ClassVar = (COLUMN, EDGES, WHERE, OF)
    people_by_one_row: ClassVar = True

    column: str
    edges: Any
    monotone: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.set_fields(loss=as_loss(self.loss))
        if not isinstance(self.monotone, bool):
            raise InvalidInput(f"monotone is {shown(self.monotone)}; say False for the noisy counts themselves.")
        self.set_fields(column=as_column(self.column), edges=_edges(self.edges), of=as_of(self.of, self.terms.unit))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the counts."""
        return tuple(f"<= {edge}" for edge in self.edges)

    @property
    def key_columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def words(self) -> str:
        first, last = self.edges[0], self.edges[-1]
        at = f"each of {len(self.edges)} edges from {first} to {last}" if len(self.edges) > 1 else f"{first}"
        return question_in_words(
            f"How many {self.of} have {self.column} at or below {at}", self.where, self.rows_clause
        )

    @property
    def one_row_note(self) -> str:
        return EDGES_NOTE

    @property
    def public(self) -> dict[str, Any]:
        parameters: dict[str, Any] = {"column": self.column, "edges": list(self.edges)}
        parameters |= {"where": self.where.text, "of": self.of, "monotone": self.monotone}
        return {"question": self.name, **parameters, "loss": self.loss, "prior": "uniform"}

    @property
    def cells(self) -> Lattice:
        """The space of the disjoint counts between neighbouring edges."""
        return self.counts_of(len(self.edges), self.terms.moves)

    @property
    def workload(self) -> Workload:
        return running_counts(self.cells, self.loss)

    @cached_property
    def strategy(self) -> NestedStrategy:
        return nested_strategy(self.solution, self.names, self.names, self.cells)

    def value(self, released: Mapping[str, Any]) -> dict[Any, Any]:
        counts = self.strategy.estimates(released)
        return dict(zip(counts, increasing(list(counts.values())), strict=True)) if self.monotone else counts

    def after(self, released: Mapping[str, Any]) -> After:
        """Intervals around the noisy counts, widened to contain the monotone ones that are shown."""
        accuracy, counts = super().after(released), self.value(released)
        ends = {
            name: (min(low, counts[name]), max(high, counts[name])) for name, (low, high) in accuracy.intervals.items()
        }
        return replace(accuracy, intervals=ends)

    @property
    def notes(self) -> tuple[str, ...]:
        if self.monotone:
            return (INCREASING, *super().notes)
        return tuple(note + MAY_FALL for note in super().notes)

    def statement(self, source: Source, secret: bytes) -> Statement:
        cells = edge_cells(source, self.column, self.edges)
        return tally_statement(source, self.bounded_unit, self.rows_each, cells, self.where.text, secret)


def _edges(edges: Any) -> tuple[Any, ...]:
    edge_list = edges.edges if isinstance(edges, Bins) else listed(edges)
    values = [plain(x) for x in edge_list] if isinstance(edge_list, Sequence) and not isinstance(edge_list, str) else []
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) and abs(x) < EXACT for x in values)
    if len(values) > MOST_EDGES:
        raise InvalidInput(f"there are {len(values)} edges; give at most {MOST_EDGES}.")
    if not numbers or not values or any(a >= b for a, b in pairwise(values)):
        raise InvalidInput(
            f"edges is {shown(edges)}; give 1 to {MOST_EDGES} public numbers below 2^53 in increasing order, such as "
            "edges=[20, 40, 60]."
        )
    return tuple(values)
