"""Problems about workloads: the released tables, and estimates from them, as read from a problem's data.

A problem's data name the wanted tables ("workload") and those that are released ("strategy"), as text. Shares,
estimates, variances and intervals follow from these and from the noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput
from utmost.mechanism.noise.tables import NoisyTables, sum_half_width, sum_mean_size
from utmost.space.integers import CentredTables, Moves, Tables
from utmost.theory.workload.hierarchy_algebra import Hierarchy, read_tree, sizes
from utmost.theory.workload.marginal_algebra import (
    SCALE,
    Columns,
    ReleasedTable,
    Shape,
    cell_variance,
    cells,
    estimates,
    factors,
    part_shares,
    read_strategy,
    read_workload,
)

MOST_GRAIN = 10**6


@dataclass(frozen=True, eq=False)
class Margins:
    """Estimates of marginal tables from marginal tables that are released with noise.

    Attributes
    ----------
    shape : tuple of int
        How many values each column has.
    published : tuple of tuples
        The wanted tables, each by its columns.
    strategy : tuple of Released
        The released tables, in the order of the mechanism's laws.
    mechanism : NoisyTables
        The noise.
    grain : int
        How often one row counts in a released table, at least: more than 1 where noise is rounded finer than a row.
    """

    shape: Shape
    published: tuple[Columns, ...]
    strategy: tuple[ReleasedTable, ...]
    mechanism: NoisyTables
    grain: int = 1

    @cached_property
    def units(self) -> dict[ReleasedTable, int]:
        """How often one row counts in each released table: centring multiplies it by the number of values."""
        return {table: cells(self.shape, table.centred) * self.times[table] for table in self.strategy}

    @cached_property
    def times(self) -> dict[ReleasedTable, int]:
        """The integer by which each released table is multiplied, such that a row counts `grain` times at least."""
        return {table: -(-self.grain // cells(self.shape, table.centred)) for table in self.strategy}

    def space(self, moves: Moves, reach: int, upper: int | None) -> Tables | CentredTables:
        """The space of the released tables, with at most `upper` rows and neighbours `reach` rows apart."""
        if any(table.centred for table in self.strategy):
            tables = tuple((table.columns, table.centred) for table in self.strategy)
            return CentredTables(self.shape, tables, moves, reach, upper, self.grain)
        sizes = tuple(cells(self.shape, table.columns) for table in self.strategy)
        return Tables(sizes, moves, reach * self.grain, None if upper is None else upper * self.grain)

    @cached_property
    def shares(self) -> dict[Columns, dict[ReleasedTable, int]]:
        """The weights of released tables in each part."""
        laws = zip(self.strategy, self.mechanism.laws, strict=True)
        nominal = {table: _nominal_variance(law.single) / self.units[table] ** 2 for table, law in laws}
        if not all(nominal.values()):  # no noise at all: the finest table determines everything
            nominal = dict.fromkeys(nominal, Fraction(1))
        return part_shares(self.shape, nominal, self.published)

    def variance(self, table: Columns) -> float:
        """The variance of every cell of a wanted table."""
        laws = zip(self.strategy, self.mechanism.laws, strict=True)
        real = {name: law.mean("squared") / self.units[name] ** 2 for name, law in laws}
        return cell_variance(self.shape, self.shares, real, table)

    def half_width(self, table: Columns, confidence: float) -> float:
        """Half-width of the interval of a cell of a wanted table, with at least this probability for every table."""
        return sum_half_width(self._terms(table), confidence)

    def mean_size(self, table: Columns) -> float:
        """The mean absolute error of a cell of a wanted table."""
        return sum_mean_size(self._terms(table))

    def _terms(self, table: Columns) -> list[tuple[Any, float, int]]:
        """The error of a cell of a wanted table as a sum of noises: (law, factor, how many)."""
        laws = dict(zip(self.strategy, self.mechanism.laws, strict=True))
        terms = factors(self.shape, self.shares, table)
        return [(laws[above].single, factor / self.units[above], many) for above, factor, many in terms]

    def estimate(self, released: Sequence[Any]) -> dict[Columns, NDArray[Any]]:
        """Estimates of the wanted tables as arrays of exact fractions, with the same total in each."""
        tables = dict(zip(self.strategy, released, strict=True))
        unit = math.lcm(*self.units.values())
        times = {table: unit // own for table, own in self.units.items()}
        numerator_tables = estimates(self.shape, self.shares, tables, times, self.published)
        return {
            table: np.asarray(numerators * Fraction(1, unit * SCALE * cells(self.shape, table)), dtype=object)
            for table, numerators in numerator_tables.items()
        }


def margins_of(data: Mapping[str, Any], mechanism: NoisyTables) -> Margins:
    """The marginal tables of a problem, whose data are not trusted."""
    shape, published = read_workload(data.get("workload"))
    strategy_shape, strategy = read_strategy(data.get("strategy"))
    sizes = tuple(cells(shape, table.columns) for table in strategy)
    if strategy_shape != shape or sizes != tuple(law.dimension for law in mechanism.laws):
        raise InvalidInput("the released tables are not those that the noise is for.")
    return Margins(shape, published, strategy, mechanism, grain_of(data))


def grain_of(data: Mapping[str, Any]) -> int:
    """How often one row counts in a released table."""
    grain = data.get("grain")
    if type(grain) is not int or not 1 <= grain <= MOST_GRAIN:
        raise InvalidInput("a row counts as a whole number in a released table.")
    return grain


def mean_variance(data: Mapping[str, Any], mechanism: NoisyTables) -> float:
    """The mean variance of the wanted numbers."""
    margins = margins_of(data, mechanism)
    sizes = [cells(margins.shape, table) for table in margins.published]
    return math.fsum(n * margins.variance(table) for n, table in zip(sizes, margins.published, strict=True)) / sum(
        sizes
    )


def hierarchy_of(data: Mapping[str, Any], mechanism: NoisyTables) -> Hierarchy:
    """The hierarchy of a problem, whose data are not trusted."""
    tree = read_tree(data.get("workload"))
    try:
        strategy = tuple(int(level) for level in str(data.get("strategy")).split(","))
    except ValueError:
        raise InvalidInput("the released levels of a hierarchy are numbers.") from None
    fits = list(strategy) == sorted(set(strategy)) and set(strategy) <= set(range(len(tree) + 1))
    if not fits or tuple(sizes(tree)[i] for i in strategy) != tuple(law.dimension for law in mechanism.laws):
        raise InvalidInput("the released levels are not those that the noise is for.")
    return Hierarchy(tree, strategy, mechanism, grain_of(data))


def hierarchy_variance(data: Mapping[str, Any], mechanism: NoisyTables) -> float:
    """The mean variance of the counts of all nodes of a hierarchy."""
    variances = hierarchy_of(data, mechanism).variances
    return math.fsum(float(level.sum()) for level in variances) / sum(len(level) for level in variances)


def _nominal_variance(single: Any) -> Fraction:
    """The variance of one integer's noise as a fraction, exactly or nearly: shares are computed from it."""
    if hasattr(single, "variance"):
        return Fraction(single.variance)
    b = single.decay
    return Fraction(2 * b / (1 - b) ** 2)
