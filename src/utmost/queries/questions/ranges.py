"""Query: how many rows lie between any two of several edges.

Every range is a sum of neighbouring cells. The cells, or weighted sums of them, are released with noise, and ranges are
least squares estimates from these, so that two adjacent ranges add up to their union, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from utmost.backends.source import Source, Statement, as_column
from utmost.errors import InvalidInput, shown
from utmost.privacy import Level
from utmost.queries.accuracy import Before
from utmost.queries.bins import Bins, bins
from utmost.queries.cells import category_cells, tally_statement
from utmost.queries.losses import as_loss
from utmost.queries.options import COLUMN, EDGES, OF, WHERE
from utmost.queries.questions.cell_counts import OUTSIDE, CellCounts, CellStrategy
from utmost.queries.questions.question import as_of
from utmost.queries.report.words import question_in_words
from utmost.space.integers import Lattice, Strategy

if TYPE_CHECKING:
    from utmost.design.workload import Workload

MOST_EDGES = 65
RANGES_NOTE = (
    "people with rows in several ranges are counted by one of them; counts([...], of='people') counts everybody who "
    "has such a row"
)
AGREE = "released are {}, and all ranges are made of these, so that ranges that meet add up to the range of both"


@dataclass(frozen=True, eq=False, kw_only=True)
class RangesOfCells(CellStrategy):
    """Noise on cells, or on weighted sums of them, from which all ranges of neighbouring cells are estimated.

    Attributes
    ----------
    names : tuple of str
        The names of the ranges, those from the first cell first.
    cells : Lattice
        The cells between neighbouring edges, with their sensitivity set.
    """

    names: tuple[str, ...]
    cells: Lattice

    @property
    def space(self) -> Lattice | Strategy:
        space = self.solution.problem.space  # from a report, it may be anything
        return space if isinstance(space, Strategy) and space.cells == self.cells else self.cells

    @property
    def labels(self) -> list[str]:
        what = "sum" if isinstance(self.space, Strategy) else "cell"
        return [f"{what} {i + 1}" for i in range(self.space.dimension)]

    def point(self, cells: Mapping[str, Any]) -> tuple[int, ...]:
        clamped = self.cells.clamp([cells[f"c{i}"] for i in range(self.cells.dimension)])
        space = self.space
        return tuple((space.matrix @ np.array(clamped)).tolist()) if isinstance(space, Strategy) else clamped

    def estimates(self, released: Mapping[str, Any]) -> dict[Any, Fraction]:
        from utmost.theory.workload.least_squares import running_counts

        counts = [Fraction(0), *running_counts(self.space, [released[label] for label in self.labels])]
        pairs = zip(self.names, combinations(counts, 2), strict=True)
        return {name: high - low for name, (low, high) in pairs}

    def intervals(self, released: Mapping[str, Any]) -> dict[Any, tuple[Any, Any]]:
        """The 95 % intervals around the estimates, clamped at 0."""
        from utmost.theory.workload.design.strategies import range_half_widths

        halves = range_half_widths(self.solution).tolist()
        return {
            name: (max(0.0, float(number) - half), max(0.0, float(number) + half))
            for (name, number), half in zip(self.estimates(released).items(), halves, strict=True)
        }

    def average(self, loss: str) -> float:
        from utmost.theory.workload.design.strategies import range_mean_sizes

        return float(range_mean_sizes(self.solution).mean())

    def before(self, loss: str) -> Before:
        from utmost.theory.workload.design.strategies import range_mean_sizes
        from utmost.theory.workload.least_squares import spreads

        worst = self.solution.mechanism.expected("squared") * float(spreads(self.space, "ranges").max())
        return Before(
            "absolute",
            self.average("absolute"),
            float(range_mean_sizes(self.solution).max()),
            holds="the worst is the range of the largest error",
            squared=(self.solution.value, worst),
        )

    def expected_losses(self, level: Level, loss: str) -> dict[str, dict[str, float]]:
        from utmost.theory.vector.design.vectors import best_vector_noise
        from utmost.theory.workload.design.nested_counts import sum_mean_sizes
        from utmost.theory.workload.least_squares import spreads

        cells = self.cells
        on_cells = best_vector_noise(cells, level, "squared", True)
        ranges = replace(cells, dimension=len(self.names), moves="one-way" if cells.moves == "any" else "cube")
        on_ranges = best_vector_noise(ranges, level, "squared", True)
        numbers = np.arange(cells.dimension, 0, -1)  # of ranges with 1, 2, ... cells
        absolute_error = float(np.average(sum_mean_sizes(on_cells), weights=numbers))
        variance = on_cells.mean("squared") * float(spreads(cells, "ranges").mean())
        return {
            "Utmost": {"absolute": self.average("absolute"), "squared": self.solution.value},
            "noise on cells, added up": {"absolute": absolute_error, "squared": variance},
            "noise on every range": {name: on_ranges.mean(name) for name in ("absolute", "squared")},
        }

    @property
    def note(self) -> str:
        sums = isinstance(self.space, Strategy)
        return AGREE.format("weighted sums of neighbouring cells" if sums else "the cells between edges")

    @property
    def certificate_subject(self) -> str:
        return "the variance of one number"


@dataclass(frozen=True, eq=False, kw_only=True)
class Ranges(CellCounts):
    """The number of rows from each edge up to, and not including, each later one.

    Attributes
    ----------
    column : str
        The column.
    edges : tuple of numbers
        The public edges, in increasing order.
    """

    name = "ranges"
    summary = "how many rows lie between any two of several edges"
    options: ClassVar = (COLUMN, EDGES, WHERE, OF)
    people_by_one_row: ClassVar = True

    column: str
    edges: Any
    loss: str = "squared"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.set_fields(loss=as_loss(self.loss))
        edges = self.edges if isinstance(self.edges, Bins) else bins(self.edges)
        if len(edges.edges) > MOST_EDGES:
            raise InvalidInput(f"there are {len(edges.edges)} edges; give at most {MOST_EDGES}.")
        if self.loss != "squared":
            raise InvalidInput(f"loss is {shown(self.loss)}; ranges are made for the least mean variance: 'squared'.")
        self.set_fields(column=as_column(self.column), edges=edges.edges, of=as_of(self.of, self.terms.unit))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the ranges."""
        return tuple(f"[{low}, {high})" for low, high in combinations(self.edges, 2))

    @property
    def words(self) -> str:
        edges_in_words = f"any two of {len(self.edges)} edges from {self.edges[0]} to {self.edges[-1]}"
        return question_in_words(
            f"How many {self.of} have {self.column} between {edges_in_words}", self.where, self.rows_clause
        )

    @property
    def one_row_note(self) -> str:
        return RANGES_NOTE

    @property
    def public(self) -> dict[str, Any]:
        parameters: dict[str, Any] = {"column": self.column, "edges": list(self.edges)}
        parameters |= {"where": self.where.text, "of": self.of}
        return {"question": self.name, **parameters, "loss": self.loss, "prior": "uniform"}

    @property
    def problem_data(self) -> dict[str, Any]:
        return {**super().problem_data, "wanted": "ranges"}

    @property
    def cells(self) -> Lattice:
        """The space of the disjoint counts between neighbouring edges."""
        return self.counts_of(len(self.edges) - 1, self.terms.moves)

    @property
    def workload(self) -> Workload:
        from utmost.design.workload import Workload

        cells = self.cells
        return Workload("ranges", cells.dimension, cells.moves, cells.reach, cells.upper)

    @cached_property
    def strategy(self) -> RangesOfCells:
        return RangesOfCells(solution=self.solution, names=self.names, cells=self.cells)

    def statement(self, source: Source, secret: bytes) -> Statement:
        cells = category_cells(source, {self.column: Bins(self.edges)}, other=False)
        return tally_statement(source, self.bounded_unit, self.rows_each, cells, self.where.text, secret)

    def plain_value(self, value: Any) -> Any:
        return {name: str(number) for name, number in value.items()}

    @property
    def notes(self) -> tuple[str, ...]:
        return (*super().notes, OUTSIDE)
