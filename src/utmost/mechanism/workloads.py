"""What many wanted numbers are made of: released tables, and estimates from them, by the words a problem keeps.

A problem's data name the wanted tables ("workload") and those that are released ("strategy"), as text. Everything else
follows from these and from the noise: shares, estimates, variances, intervals.
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
from utmost.mechanism.margins import (
    SCALE,
    Columns,
    Shape,
    cell_variance,
    cells,
    estimates,
    factors,
    part_shares,
    read_workload,
)
from utmost.mechanism.tables import NoisyTables, sum_half_width
from utmost.mechanism.trees import Hierarchy, read_tree, sizes

MOST_GRAIN = 10**6


@dataclass(frozen=True, eq=False)
class Margins:
    """Marginal tables that are wanted, made of marginal tables that are released with noise.

    Attributes
    ----------
    shape : how many values each column has
    published : the wanted tables, each by its columns
    strategy : the released ones, in the order of the mechanism's laws
    mechanism : the noise
    grain : what one row counts as in a released table: more than 1 where noise is rounded finer than a row
    """

    shape: Shape
    published: tuple[Columns, ...]
    strategy: tuple[Columns, ...]
    mechanism: NoisyTables
    grain: int = 1

    @cached_property
    def shares(self) -> dict[Columns, dict[Columns, int]]:
        """How much each released table adds to each part."""
        nominal = {table: _nominal(law.single) for table, law in zip(self.strategy, self.mechanism.laws, strict=True)}
        if not all(nominal.values()):  # no noise at all: whatever is finest tells everything
            nominal = dict.fromkeys(nominal, Fraction(1))
        return part_shares(self.shape, nominal, self.published)

    def variance(self, table: Columns) -> float:
        """The variance of every cell of a wanted table."""
        real = {each: law.mean("squared") for each, law in zip(self.strategy, self.mechanism.laws, strict=True)}
        return cell_variance(self.shape, self.shares, real, table) / self.grain**2

    def half_width(self, table: Columns, confidence: float) -> float:
        """How far off a cell of a wanted table is at most, with at least this probability, whatever the rows are."""
        laws = dict(zip(self.strategy, self.mechanism.laws, strict=True))
        terms = [(laws[above].single, factor, many) for above, factor, many in factors(self.shape, self.shares, table)]
        return sum_half_width(terms, confidence) / self.grain

    def estimate(self, released: Sequence[Any]) -> dict[Columns, NDArray[Any]]:
        """The wanted tables as exact fractions, in arrays: a total is the same in every one of them."""
        listed = dict(zip(self.strategy, released, strict=True))
        whole = estimates(self.shape, self.shares, listed, self.published)
        one = self.grain * SCALE
        return {
            table: np.asarray(found * Fraction(1, one * cells(self.shape, table)), dtype=object)
            for table, found in whole.items()
        }


def margins_of(data: Mapping[str, Any], mechanism: NoisyTables) -> Margins:
    """The marginal tables that a problem is about; nothing in its data is believed."""
    shape, published = read_workload(data.get("workload"))
    again, strategy = read_workload(data.get("strategy"))
    sizes = tuple(cells(shape, table) for table in strategy)
    if again != shape or sizes != tuple(law.dimension for law in mechanism.laws):
        raise InvalidInput("the released tables are not those that the noise is for.")
    return Margins(shape, published, strategy, mechanism, grain_of(data))


def grain_of(data: Mapping[str, Any]) -> int:
    """What one row counts as in a released table."""
    grain = data.get("grain")
    if type(grain) is not int or not 1 <= grain <= MOST_GRAIN:
        raise InvalidInput("a row counts as a whole number in a released table.")
    return grain


def mean_variance(data: Mapping[str, Any], mechanism: NoisyTables) -> float:
    """The variance of the wanted numbers, averaged over all of them."""
    found = margins_of(data, mechanism)
    sizes = [cells(found.shape, table) for table in found.published]
    return math.fsum(n * found.variance(table) for n, table in zip(sizes, found.published, strict=True)) / sum(sizes)


def hierarchy_of(data: Mapping[str, Any], mechanism: NoisyTables) -> Hierarchy:
    """The hierarchy that a problem is about; nothing in its data is believed."""
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
    """The variance of the counts of all nodes of a hierarchy, averaged over them."""
    found = hierarchy_of(data, mechanism).variances
    return math.fsum(float(level.sum()) for level in found) / sum(len(level) for level in found)


def _nominal(single: Any) -> Fraction:
    """The variance of one integer's noise as a fraction, or near to it: what shares are made by."""
    if hasattr(single, "variance"):
        return Fraction(single.variance)
    b = single.decay
    return Fraction(2 * b / (1 - b) ** 2)
