"""Query: marginal tables, the counts of all combinations of values for several sets of columns at once.

Noisy tables of one publication that are released one by one disagree about common totals. Here all wanted tables are
least squares estimates from one set of released tables, so a number that several of them imply is the same in all: as
fractions, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from utmost.backends.source import Source, Statement
from utmost.errors import InvalidInput, shown
from utmost.exact.arrays import Floats
from utmost.privacy import Level
from utmost.queries.accuracy import CONFIDENCE
from utmost.queries.groups import marginal_statement
from utmost.queries.keys import MOST_CELLS, Keys, english_list
from utmost.queries.questions.consistent_tables import ALL, ConsistentCounts, ConsistentTables
from utmost.queries.report.words import question_in_words
from utmost.queries.units import MOST_ROWS
from utmost.space.integers import CentredTables, Tables
from utmost.theory.workload.marginal_algebra import centre

if TYPE_CHECKING:
    from utmost.design.workload import Workload
    from utmost.theory.workload.problem import Margins

MOST_NAMED = 12
"""The most released tables that a plan lists."""
CENTRED = " (centred: n times each of the n numbers along a column, less their sum)"
EXAMPLE = "um.keys(town=['Ash', 'Briar'], agrees=[True, False])"


@dataclass(frozen=True, eq=False, kw_only=True)
class MarginalTables(ConsistentTables):
    """Released marginal tables, some of them centred, and the wanted ones that are estimated from them.

    Attributes
    ----------
    shape : tuple of int
        The number of values of each column.
    wanted_tables : tuple of tuples of int
        The wanted tables, each by the indices of its columns.
    counted_tables : tuple of tuples of int
        The tables that the engine counts; the others are sums of these.
    """

    shape: tuple[int, ...]
    wanted_tables: tuple[tuple[int, ...], ...]
    counted_tables: tuple[tuple[int, ...], ...]

    @cached_property
    def margins(self) -> Margins:
        """The least squares estimator of the solution, which may be any solution if it comes from a report."""
        from utmost.theory.workload.problem import margins_of

        return margins_of(self.solution.problem.data, self.solution.mechanism)

    @property
    def space(self) -> Tables | CentredTables:
        return self.margins.space(self.moves, self.rows_moved, self.most_rows)

    @property
    def labels(self) -> list[str]:
        labels = []
        for table in self.margins.strategy:
            name = " × ".join(self.by.names[i] for i in table.columns) or "total"
            centred_columns = ", ".join(self.by.names[i] for i in table.centred)
            labels.append(f"{name}, centred along {centred_columns}" if centred_columns else name)
        return labels

    @property
    def row_units(self) -> list[int | None]:
        return [None if table.centred else self.margins.times[table] for table in self.margins.strategy]

    def point(self, cells: Mapping[str, Any]) -> list[Any]:
        """The exact tables to release, each summed from a counted one and clamped to the most rows there can be."""
        counted_tables, start = {}, 0
        for columns in self.counted_tables:
            shape = [self.shape[i] for i in columns]
            size = int(np.prod(shape))
            counted_tables[columns] = cells["count"][start : start + size].reshape(shape)
            start += size
        margins, tables = self.margins, []
        for table in margins.strategy:
            source_columns = next(columns for columns in self.counted_tables if set(table.columns) <= set(columns))
            summed_axes = tuple(axis for axis, i in enumerate(source_columns) if i not in table.columns)
            counts = np.asarray(
                np.clip(counted_tables[source_columns].sum(axis=summed_axes), 0, self.most_rows)
            )  # a total is a scalar otherwise
            most = MOST_ROWS if self.most_rows is None else self.most_rows
            needs_objects = most * margins.units[table] > 2**60
            axes = [axis for axis, i in enumerate(table.columns) if i in table.centred]
            centred_table = centre(counts.astype(object if needs_objects else np.int64), axes)
            tables.append(centred_table.ravel() * margins.times[table])
        return tables

    @property
    def columns(self) -> list[tuple[str, ...]]:
        return [tuple(self.by.names[i] for i in table) for table in self.wanted_tables]

    @cached_property
    def keys(self) -> list[list[tuple[Any, ...]]]:
        other_values = [] if self.by.other is None else [self.by.other]
        values = [column.to_pylist() + other_values for _, column in self.by.columns]
        return [
            list(product(*(values[i] if i in table else [ALL] for i in range(len(values)))))
            for table in self.wanted_tables
        ]

    def tables(self, released_tables: Sequence[Any]) -> list[Any]:
        estimates = self.margins.estimate(released_tables)
        return [estimates[table] for table in self.wanted_tables]

    def whole_tables(self, tables: Sequence[Any]) -> list[Any]:
        from utmost.theory.workload.design.consistent_tables import integer_tables

        rounded_tables = integer_tables(self.shape, dict(zip(self.wanted_tables, tables, strict=True)))
        return [rounded_tables[table] for table in self.wanted_tables]

    @cached_property
    def half_widths(self) -> list[Floats]:
        widths = [self.margins.half_width(table, CONFIDENCE) for table in self.wanted_tables]
        return [np.full(len(keys), width) for keys, width in zip(self.keys, widths, strict=True)]

    @cached_property
    def mean_absolute_errors(self) -> list[Floats]:
        sizes = [self.margins.mean_size(table) for table in self.wanted_tables]
        return [np.full(len(keys), size) for keys, size in zip(self.keys, sizes, strict=True)]

    @property
    def largest_variance(self) -> float:
        return max(self.margins.variance(table) for table in self.wanted_tables)

    @property
    def worst_in_words(self) -> str:
        return "the worst is the table of the largest error"

    def expected_losses(self, level: Level, loss: str) -> dict[str, dict[str, float]]:
        from utmost.design.workload import even_split

        even = even_split(self.shape, self.wanted_tables, self.moves, self.rows_moved, level)
        ours = {"absolute": self.average("absolute"), "squared": self.solution.value}
        return {"Utmost": ours, "each table at an equal share": even}

    @property
    def note(self) -> str:
        labels, unlisted = self.labels, "; rows without a listed value in every column take no part"
        more = f"; and {len(labels) - MOST_NAMED} more" if len(labels) > MOST_NAMED else ""
        means = CENTRED if any(table.centred for table in self.margins.strategy) else ""
        return (
            f"released with noise are {'; '.join(labels[:MOST_NAMED])}{more}, and all tables are made of these, so "
            f"they agree{means}{unlisted if self.by.other is None else ''}"
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Marginals(ConsistentCounts):
    """The number of rows of each combination of values, in the tables of several sets of columns; they agree exactly.

    Attributes
    ----------
    by : Keys
        The public values of every column.
    tables : tuple of tuples of str
        The wanted sets of columns, by name.
    """

    name = "marginals"
    summary = "how many rows each combination has, in many tables that agree with each other"
    tables: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.by, Keys) or not self.by.product:
            raise InvalidInput(f"the keys are {shown(self.by)}; list the public values of every column: {EXAMPLE}.")
        self.set_fields(loss="squared", tables=_as_tables(self.tables, self.by.names))
        cells = sum(np.prod([self.shape[i] for i in table], dtype=float) for table in self.wanted_tables)
        if cells > MOST_CELLS:
            raise InvalidInput(
                f"the tables have {cells:,.0f} cells; at most {MOST_CELLS:,} are answered at once. Ask for fewer "
                "tables, or list fewer values."
            )

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each column."""
        return tuple(len(values) + (self.by.other is not None) for _, values in self.by.columns)

    @cached_property
    def wanted_tables(self) -> tuple[tuple[int, ...], ...]:
        """The wanted tables, each by the indices of its columns."""
        return tuple(tuple(self.by.names.index(name) for name in table) for table in self.tables)

    @cached_property
    def counted_tables(self) -> tuple[tuple[int, ...], ...]:
        """The tables that the engine counts: the maximal wanted ones; the others are sums of these."""
        return tuple(
            table for table in self.wanted_tables if not any(set(table) < set(other) for other in self.wanted_tables)
        )

    @property
    def words(self) -> str:
        table_names = "; ".join(" by ".join(table) or "in all" for table in self.tables[:10])
        more = f" and {len(self.tables) - 10} more tables" if len(self.tables) > 10 else ""
        return question_in_words(f"How many rows are there: {table_names}{more}", self.where, self.rows_clause)

    @property
    def public(self) -> dict[str, Any]:
        tables = [list(table) for table in self.tables]
        parameters = {"tables": tables, "by": self.by.public, "where": self.where.text}
        return {"question": self.name, **parameters, "loss": self.loss, "prior": "uniform"}

    @cached_property
    def workload(self) -> Workload:
        from utmost.design.workload import Workload
        from utmost.theory.workload.marginal_algebra import write_workload

        tables = write_workload(self.shape, self.wanted_tables)
        return Workload("marginals", tables, self.terms.moves, self.rows_moved, self.most_rows)

    @cached_property
    def strategy(self) -> MarginalTables:
        return MarginalTables(
            solution=self.solution,
            by=self.by,
            moves=self.terms.moves,
            rows_moved=self.rows_moved,
            most_rows=self.most_rows,
            shape=self.shape,
            wanted_tables=self.wanted_tables,
            counted_tables=self.counted_tables,
        )

    def statement(self, source: Source, secret: bytes) -> Statement:
        arguments = (self.by, self.counted_tables, self.where.text)
        return marginal_statement(source, self.bounded_unit, self.rows_each, *arguments, secret)


def _as_tables(of: Any, names: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Return the wanted sets of columns, each in the order of the keys."""
    if isinstance(of, int | np.integer) and not isinstance(of, bool):
        if not 0 <= of <= len(names):
            raise InvalidInput(f"of is {shown(of)}; tables have 0 to {len(names)} columns, as many as the keys.")
        return tuple(combinations(names, int(of)))
    if not isinstance(of, Sequence) or isinstance(of, str) or not len(of):
        raise InvalidInput(f"of is {shown(of)}; say how many columns a table has, or list them: [('town', 'age'), ()].")
    tables = []
    for columns in of:
        is_set = (
            isinstance(columns, Sequence)
            and not isinstance(columns, str)
            and len(set(map(str, columns))) == len(columns)
        )
        if not is_set or not all(isinstance(name, str) and name in names for name in columns):
            raise InvalidInput(
                f"{shown(columns)} is no set of the keys' columns; these are {english_list(names)}, each once."
            )
        tables.append(tuple(name for name in names if name in columns))
    if len(set(tables)) < len(tables):
        raise InvalidInput(f"{shown(next(e for i, e in enumerate(tables) if e in tables[:i]))} is listed twice.")
    return tuple(tables)
