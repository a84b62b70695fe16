"""The question: how many rows lie between any two of several edges.

Every range is a sum of neighbouring cells. Released are the cells, or weighted sums of them, with noise; ranges are
least squares estimates made of these, so that two ranges that meet add up to the one that is both, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from utmost.backends.source import Source, Statement, as_column
from utmost.errors import InvalidInput, shown
from utmost.queries.accuracy import After, Before
from utmost.queries.arguments import Condition, Of, Privacy
from utmost.queries.bins import Bins, bins
from utmost.queries.cells import category_cells, tally_statement
from utmost.queries.options import COLUMN, EDGES, OF, WHERE
from utmost.queries.predicate import EVERY_ROW, Where
from utmost.queries.questions.numbers import Numbers
from utmost.queries.questions.of_workload import OUTSIDE, OfWorkload
from utmost.queries.questions.question import Asks, Made, as_of, asking
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
class Ranges(OfWorkload, Numbers):
    """How many rows lie from each edge up to, and not including, each later one.

    Attributes
    ----------
    column : whose values are looked at
    edges : public numbers, in increasing order
    where : which rows take part
    of : "rows" or "people"
    """

    name = "ranges"
    summary = "how many rows lie between any two of several edges"
    options: ClassVar = (COLUMN, EDGES, WHERE, OF)
    by_one_row: ClassVar = True

    loss: str = "squared"
    column: str
    edges: Any
    where: Where = EVERY_ROW
    of: Of = "rows"

    def __post_init__(self) -> None:
        super().__post_init__()
        edges = self.edges if isinstance(self.edges, Bins) else bins(self.edges)
        if len(edges.edges) > MOST_EDGES:
            raise InvalidInput(f"there are {len(edges.edges)} edges; give at most {MOST_EDGES}.")
        if self.loss != "squared":
            raise InvalidInput(f"loss is {shown(self.loss)}; ranges are made for the least mean variance: 'squared'.")
        self.settle(column=as_column(self.column), edges=edges.edges, of=as_of(self.of, self.terms.unit))

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(f"[{low}, {high})" for low, high in combinations(self.edges, 2))

    @property
    def words(self) -> str:
        many = f"any two of {len(self.edges)} edges from {self.edges[0]} to {self.edges[-1]}"
        return asking(f"How many {self.of} have {self.column} between {many}", self.where, self.kept)

    @property
    def one_row_note(self) -> str:
        return RANGES_NOTE

    @property
    def public(self) -> dict[str, Any]:
        asked: dict[str, Any] = {"column": self.column, "edges": list(self.edges)}
        asked |= {"where": self.where.text, "of": self.of}
        return {"question": self.name, **asked, "loss": self.loss, "prior": "uniform"}

    @property
    def cells(self) -> Lattice:
        """The cells between neighbouring edges."""
        return self.counts_of(len(self.edges) - 1, self.terms.moves)

    @property
    def space(self) -> Any:
        found = self.solution.problem.space  # from a report, it may be anything
        return found if isinstance(found, Strategy) and found.cells == self.cells else self.cells

    @property
    def posed(self) -> dict[str, Any]:
        return {**super().posed, "wanted": "ranges"}

    @property
    def workload_of(self) -> Workload:
        from utmost.design.workload import Workload

        cells = self.cells
        return Workload("ranges", cells.dimension, cells.moves, cells.reach, cells.upper)

    @property
    def is_released(self) -> bool:
        return False

    def statement(self, source: Source, secret: bytes) -> Statement:
        cells = category_cells(source, {self.column: Bins(self.edges)}, other=False)
        return tally_statement(source, self.bounded_unit, self.rows_each, cells, self.where.given, secret)

    def point(self, found: Mapping[str, int]) -> tuple[int, ...]:
        cells = self.cells.clamp([found[f"c{i}"] for i in range(self.cells.dimension)])
        space = self.space
        return tuple((space.matrix @ np.array(cells)).tolist()) if isinstance(space, Strategy) else cells

    @property
    def _each(self) -> str:
        return "sum" if isinstance(self.space, Strategy) else "cell"

    def released(self, drawn: Any) -> dict[str, Any]:
        return {f"{self._each} {i + 1}": int(x) for i, x in enumerate(drawn)}

    def value(self, released: Mapping[str, Any]) -> dict[str, Fraction]:
        from utmost.theory.workload.least_squares import running_counts

        listed = [released[f"{self._each} {i + 1}"] for i in range(self.space.dimension)]
        counts = [Fraction(0), *running_counts(self.space, listed)]
        pairs = zip(self.names, combinations(counts, 2), strict=True)
        return {name: high - low for name, (low, high) in pairs}

    def plain_value(self, value: Any) -> Any:
        return {name: str(number) for name, number in value.items()}

    def before(self) -> Before:
        from utmost.theory.workload.design.strategies import range_mean_sizes
        from utmost.theory.workload.least_squares import spreads

        sizes = range_mean_sizes(self.solution)
        worst = self.solution.mechanism.expected("squared") * float(spreads(self.space, "ranges").max())
        return Before(
            "absolute",
            float(sizes.mean()),
            float(sizes.max()),
            holds="the worst is the range of the largest error",
            squared=(self.solution.value, worst),
        )

    @property
    def average(self) -> float:
        from utmost.theory.workload.design.strategies import range_mean_sizes

        return float(range_mean_sizes(self.solution).mean())

    def after(self, released: Mapping[str, Any]) -> After:
        """Around the estimates; the ends are cut off at 0."""
        from utmost.theory.workload.design.strategies import range_half_widths

        found = zip(self.value(released).items(), range_half_widths(self.solution).tolist(), strict=True)
        ends = {name: (float(number) - half, float(number) + half) for (name, number), half in found}
        return After({name: (max(0.0, low), max(0.0, high)) for name, (low, high) in ends.items()}, given=self.by_law)

    def compared(self) -> dict[str, dict[str, float]]:
        from utmost.theory.vector.design.vectors import best_vector_noise
        from utmost.theory.workload.design.nested_counts import sum_mean_sizes
        from utmost.theory.workload.least_squares import spreads

        cells = self.cells
        plain = best_vector_noise(cells, self.privacy, "squared", True)
        alone = self.counts_of(len(self.names), "one-way" if cells.moves == "any" else "cube")
        each = best_vector_noise(alone, self.privacy, "squared", True)
        many = np.arange(cells.dimension, 0, -1)  # so many ranges are made of 1, 2, ... cells
        added = float(np.average(sum_mean_sizes(plain), weights=many))
        variance = plain.mean("squared") * float(spreads(cells, "ranges").mean())
        return {
            "Utmost": {"absolute": self.average, "squared": self.solution.value},
            "noise on cells, added up": {"absolute": added, "squared": variance},
            "noise on every range": {loss: each.mean(loss) for loss in ("absolute", "squared")},
        }

    @property
    def notes(self) -> tuple[str, ...]:
        what = "weighted sums of neighbouring cells" if isinstance(self.space, Strategy) else "the cells between edges"
        return (AGREE.format(what), OUTSIDE)

    @property
    def proved_of(self) -> str:
        return "the variance of one number"


class AsksRanges(Asks[Made]):
    """`ranges`, of a session or a plan."""

    def ranges(
        self,
        column: str,
        edges: Any,
        privacy: Privacy = None,
        *,
        where: Condition = None,
        of: Of = "rows",
        fresh: bool = False,
    ) -> Made:
        """How many rows (or people) have a value between any two of several edges; the answer is a dict.

        All ranges together spend `privacy` once. Cells between neighbouring edges are released with noise, or weighted
        sums of cells where that errs less: fifty cells at mu = 1 have ranges of variance 4.9 on average, where cells
        added up have 18.8. All ranges are made of these by least squares, so they agree: a range and the next one add
        up to the range of both, exactly.

        Parameters
        ----------
        column : str
            A column of numbers, or of text that is read as numbers. Values are compared as floating-point numbers.
        edges : list of numbers, or um.bins
            2 to 65 public numbers in increasing order; never read off the table. A range holds its lower edge and not
            its upper one. ``um.bins(0, 100, 5)`` stands for its edges 0, 5, ..., 100.
        privacy : level or number
            What all ranges together may spend, as for `count`.
        where : condition, optional
            Only rows with this condition are counted.
        of : "rows" or "people"
            What is counted. A person is counted by one of their rows chosen at random; `counts` with ``of="people"``
            counts everybody who has a row in a range.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is {"[low, high)": number}, for every two edges. Numbers are exact fractions, unbiased,
            possibly below 0; `answer.intervals` holds each true count with 95 %.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"age": [70, 25, 80, 41] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=1)
        >>> value = s.ranges("age", [0, 18, 65, 120], privacy=1).value
        >>> list(value)
        ['[0, 18)', '[0, 65)', '[0, 120)', '[18, 65)', '[18, 120)', '[65, 120)']
        >>> value["[0, 18)"] + value["[18, 65)"] == value["[0, 65)"]
        True
        """
        asked = Ranges(
            terms=self.terms,
            privacy=self.level(privacy),
            column=column,
            edges=edges,
            where=self.where(where),
            of=of,
        )
        return self.ask(asked, fresh)
