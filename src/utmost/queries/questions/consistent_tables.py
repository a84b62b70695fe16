"""Tables of counts of the same rows that agree exactly: estimates from one set of released tables.

Noisy tables that are released one by one disagree about common totals. Here some tables of sums are released with
noise, and all wanted tables are least squares estimates from these, as fractions.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from utmost.errors import InvalidInput
from utmost.exact.arrays import Floats
from utmost.queries.accuracy import CONFIDENCE, Before
from utmost.queries.keys import Keys
from utmost.queries.options import Option
from utmost.queries.questions.cell_counts import OUTSIDE, CellCounts, CellStrategy
from utmost.space.integers import CentredTables, Moves, Tables

if TYPE_CHECKING:
    import pyarrow

    from utmost.design.workload import Workload

ALL: Any = ...
"""Stands in a key for a column that is summed over."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ConsistentTables(CellStrategy):
    """Released tables of sums of cells, and the wanted tables that are estimated from them.

    Attributes
    ----------
    by : Keys
        The public values of every column.
    moves : "any" or "exchange"
        The sensitivity set of one row on each table.
    rows_moved : int
        The most rows by which neighbours differ.
    most_rows : int or None
        The most rows that can be used; None without a stated bound.
    """

    by: Keys
    moves: Moves
    rows_moved: int
    most_rows: int | None

    @property
    @abstractmethod
    def space(self) -> Tables | CentredTables: ...

    @property
    @abstractmethod
    def columns(self) -> Sequence[tuple[str, ...]]:
        """The columns of every wanted table."""

    @property
    @abstractmethod
    def keys(self) -> Sequence[Sequence[tuple[Any, ...]]]:
        """The keys of every wanted table: a value for each column, or `...` if the column is summed over."""

    @property
    @abstractmethod
    def row_units(self) -> Sequence[int | None]:
        """How much a row adds to every released table; None for one whose numbers are differences."""

    @abstractmethod
    def tables(self, released_tables: Sequence[Any]) -> Sequence[Any]:
        """Estimate the wanted tables from the released ones, as exact fractions."""

    @abstractmethod
    def whole_tables(self, tables: Sequence[Any]) -> Sequence[Any]:
        """Round estimates to non-negative integers that still agree."""

    @property
    @abstractmethod
    def half_widths(self) -> Sequence[Floats]:
        """The 95 % half widths of every number of each wanted table."""

    @property
    @abstractmethod
    def mean_absolute_errors(self) -> Sequence[Floats]:
        """The expected absolute error of every number of each wanted table."""

    @property
    @abstractmethod
    def largest_variance(self) -> float:
        """The variance of the wanted number with the largest error."""

    @property
    @abstractmethod
    def worst_in_words(self) -> str:
        """Which number `largest_variance` is of, in words."""

    def released(self, sample: Any) -> dict[str, Any]:
        return {label: np.asarray(table).tolist() for label, table in zip(self.labels, sample, strict=True)}

    def require_released(self, released: Mapping[str, Any]) -> None:
        if not released:
            raise InvalidInput("nothing was released.")

    def estimates(self, released: Mapping[str, Any]) -> dict[Any, Fraction]:
        return self._by_key(self.tables(self._listed(released)))

    def rounded(self, released: Mapping[str, Any]) -> dict[Any, int]:
        """The answer as consistent non-negative integers, which are biased near 0."""
        return self._by_key(self.whole_tables(self.tables(self._listed(released))))

    def _listed(self, released: Mapping[str, Any]) -> list[Any]:
        """Check the released tables, which may come from a report, and return them as arrays."""
        released_tables = []
        for label, size in zip(self.labels, self.space.sizes, strict=True):
            numbers = released[label]
            if not isinstance(numbers, list) or len(numbers) != size or not all(type(x) is int for x in numbers):
                raise InvalidInput(f"the table {label} has {size} cells, and as many whole numbers must be released.")
            released_tables.append(np.array(numbers, dtype=object))
        return released_tables

    def _by_key(self, tables: Sequence[Any]) -> dict[Any, Any]:
        return {
            key: number
            for keys, table in zip(self.keys, tables, strict=True)
            for key, number in zip(keys, np.asarray(table).ravel().tolist(), strict=True)
        }

    def intervals(self, released: Mapping[str, Any]) -> dict[Any, tuple[Any, Any]]:
        """The 95 % intervals around the estimates, clamped at 0."""
        halves = self._by_key(self.half_widths)
        return {
            key: (max(0.0, float(number) - halves[key]), max(0.0, float(number) + halves[key]))
            for key, number in self.estimates(released).items()
        }

    def near_end(self, released: Mapping[str, Any], intervals: Mapping[Any, tuple[Any, Any]]) -> bool:
        """Whether a released number of rows is within the noise's 95 % half width of the most rows there can be."""
        if self.most_rows is None:
            return False
        tables = zip(self.labels, self.row_units, self.solution.mechanism.laws, strict=True)
        return any(
            max(released[label]) + law.half_width(CONFIDENCE) >= self.most_rows * row
            for label, row, law in tables
            if row is not None
        )

    def average(self, loss: str) -> float:
        return float(np.concatenate(list(self.mean_absolute_errors)).mean())

    def before(self, loss: str) -> Before:
        """The expected absolute error, and the squared one that the noise is designed for."""
        worst = max(float(sizes.max()) for sizes in self.mean_absolute_errors)
        squared = self.solution.value, self.largest_variance
        return Before("absolute", self.average("absolute"), worst, holds=self.worst_in_words, squared=squared)

    @property
    def certificate_subject(self) -> str:
        return "the variance of one number"

    # ---- plain data and tables ----

    def plain_value(self, value: Mapping[Any, Fraction]) -> list[dict[str, Any]]:
        """The numbers of every table as plain data, for JSON."""
        return [
            {"columns": list(columns), "numbers": [str(value[key]) for key in keys]}
            for columns, keys in zip(self.columns, self.keys, strict=True)
        ]

    def plain_intervals(self) -> list[dict[str, Any]]:
        """The half widths of intervals as plain data, for JSON."""
        return [
            {"columns": list(columns), "within": np.unique(halves).tolist()}
            for columns, halves in zip(self.columns, self.half_widths, strict=True)
        ]

    def table(self, released: Mapping[str, Any]) -> pyarrow.Table:
        """Arrow table with one row per number: its columns, their values (null if summed over), value and interval."""
        import pyarrow

        numbers, ends = self.estimates(released), self.intervals(released)
        keys = list(numbers)
        of = [
            " × ".join(names) or "all"
            for names, table_keys in zip(self.columns, self.keys, strict=True)
            for _ in table_keys
        ]
        columns: dict[str, Any] = {"columns": of}
        for i, (name, values) in enumerate(self.by.columns):
            kind = values.type if self.by.other is None else pyarrow.string()  # beside `other`, all are texts
            texts = dict(zip(values.to_pylist(), values.cast(kind).to_pylist(), strict=True)) | {ALL: None}
            columns[name] = pyarrow.array([texts.get(key[i], self.by.other) for key in keys], kind)
        columns["value"] = [float(number) for number in numbers.values()]
        columns["lower"], columns["upper"] = [ends[key][0] for key in keys], [ends[key][1] for key in keys]
        return pyarrow.table(columns)


@dataclass(frozen=True, eq=False, kw_only=True)
class ConsistentCounts(CellCounts):
    """A query for counts of the same rows in several tables that agree exactly.

    Attributes
    ----------
    by : Keys
        The public values of every column.
    """

    options: ClassVar[tuple[Option, ...]] = ()  # commands have no form for keys

    loss: str = "squared"
    by: Keys

    @property
    @abstractmethod
    def workload(self) -> Workload:
        """The wanted counts, as sums of cells."""

    @property
    @abstractmethod
    def strategy(self) -> ConsistentTables: ...

    @property
    def identity(self) -> dict[str, Any]:
        return {**self.public, "by": {"columns": list(self.by.names), "keys": self.by.fingerprint}}

    @property
    def problem_data(self) -> dict[str, Any]:
        return {**super().problem_data, "workload": self.workload.of}

    @property
    def notes(self) -> tuple[str, ...]:
        return (*super().notes, OUTSIDE)

    @property
    def key_columns(self) -> tuple[str, ...]:
        return self.by.names

    def plain_value(self, value: Mapping[Any, Fraction]) -> Any:
        return self.strategy.plain_value(value)

    def plain_intervals(self, intervals: Mapping[Any, tuple[Any, Any]]) -> Any:
        return self.strategy.plain_intervals()

    def rounded(self, released: Mapping[str, Any]) -> dict[Any, int]:
        """The answer as consistent non-negative integers, which are biased near 0."""
        return self.strategy.rounded(released)

    def table(self, released: Mapping[str, Any]) -> pyarrow.Table:
        """Arrow table with one row per number: its columns, their values (null if summed over), value and interval."""
        return self.strategy.table(released)
