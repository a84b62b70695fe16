"""Query: how many rows each node of a public hierarchy has, such as countries, their regions, and towns in these.

Every level is a table of the same rows. Some levels are released with noise, and the counts of all nodes are least
squares estimates from these: the towns of a region add up to the region, exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from utmost.backends.source import Source, Statement
from utmost.errors import InvalidInput, shown
from utmost.exact.arrays import Floats
from utmost.privacy import Level
from utmost.queries.accuracy import CONFIDENCE
from utmost.queries.contributions import ones
from utmost.queries.groups import grouped_statement
from utmost.queries.keys import Keys, english_list, require_keys
from utmost.queries.questions.consistent_tables import ALL, ConsistentCounts, ConsistentTables
from utmost.queries.report.words import question_in_words
from utmost.queries.units import MOST_ROWS
from utmost.space.integers import Tables

if TYPE_CHECKING:
    from utmost.design.workload import Workload
    from utmost.theory.workload.hierarchy_algebra import Hierarchy, Tree


@dataclass(frozen=True, eq=False)
class KeyTree:
    """Public keys as the leaves of a tree; nodes are the combinations of values of the first 0, 1, ... levels.

    Attributes
    ----------
    keys : Keys
        The leaves.
    levels : tuple of str
        The columns of the keys, the coarsest first.
    """

    keys: Keys
    levels: tuple[str, ...]

    @cached_property
    def leaves(self) -> list[tuple[Any, ...]]:
        """For every leaf, its values from the root on and its index among the keys; siblings are adjacent."""
        columns = {
            name: column.to_pylist() for name, column in zip(self.keys.names, self.keys.table.columns, strict=True)
        }
        rows = list(zip(*(columns[name] for name in self.levels), range(self.keys.size), strict=True))
        first: dict[tuple[Any, ...], int] = {}
        for row in rows:
            for depth in range(1, len(row)):
                first.setdefault(row[:depth], len(first))
        return sorted(rows, key=lambda row: [first[row[:depth]] for depth in range(1, len(row))])

    @cached_property
    def nodes(self) -> list[list[tuple[Any, ...]]]:
        """The nodes of every level, the root first, each by its values from the root on; siblings are adjacent."""
        return [list(dict.fromkeys(leaf[:depth] for leaf in self.leaves)) for depth in range(len(self.levels) + 1)]

    @cached_property
    def children(self) -> Tree:
        """The number of children of every node, by level."""
        levels = []
        for depth, (parents, nodes) in enumerate(pairwise(self.nodes)):
            numbers = dict.fromkeys(parents, 0)
            for node in nodes:
                numbers[node[:depth]] += 1
            levels.append(tuple(numbers.values()))
        return tuple(levels)

    def sums(self, counts: Any) -> list[Any]:
        """Sum the counts of the keys to those of the nodes of every level, the root first."""
        levels = [np.asarray(counts)[[leaf[-1] for leaf in self.leaves]]]
        for children in reversed(self.children):
            levels.insert(0, np.add.reduceat(levels[0], np.cumsum((0, *children))[:-1]))
        return levels


@dataclass(frozen=True, eq=False, kw_only=True)
class TreeLevels(ConsistentTables):
    """Released levels of a tree, and the counts of all its nodes that are estimated from them.

    Attributes
    ----------
    tree : KeyTree
        The public keys as leaves of a tree.
    """

    tree: KeyTree

    @cached_property
    def hierarchy(self) -> Hierarchy:
        """The least squares estimator of the solution; refuses one of another hierarchy, which a report may hold."""
        from utmost.theory.workload.problem import hierarchy_of

        hierarchy = hierarchy_of(self.solution.problem.data, self.solution.mechanism)
        if hierarchy.tree != self.tree.children:
            raise InvalidInput("the solution is for another hierarchy.")
        return hierarchy

    @property
    def space(self) -> Tables:
        grain, most = self.hierarchy.grain, self.most_rows
        sizes = tuple(len(self.tree.nodes[level]) for level in self.hierarchy.strategy)
        return Tables(sizes, self.moves, self.rows_moved * grain, None if most is None else most * grain)

    @property
    def labels(self) -> list[str]:
        return [self.tree.levels[level - 1] if level else "total" for level in self.hierarchy.strategy]

    @property
    def row_units(self) -> list[int | None]:
        return [self.hierarchy.grain] * len(self.hierarchy.strategy)

    def point(self, cells: Mapping[str, Any]) -> list[Any]:
        """The exact levels to release, each summed from the leaves and clamped to the most rows there can be."""
        counts, grain = self.tree.sums(cells["count"]), self.hierarchy.grain
        most = MOST_ROWS if self.most_rows is None else self.most_rows
        kind = object if most * grain > 2**60 else np.int64
        return [np.clip(counts[level], 0, self.most_rows).astype(kind) * grain for level in self.hierarchy.strategy]

    @property
    def columns(self) -> list[tuple[str, ...]]:
        levels = self.tree.levels
        return [levels[:depth] for depth in range(len(levels) + 1)]

    @cached_property
    def keys(self) -> list[list[tuple[Any, ...]]]:
        places = [self.tree.levels.index(name) for name in self.by.names]
        return [
            [tuple(node[i] if i < depth else ALL for i in places) for node in nodes]
            for depth, nodes in enumerate(self.tree.nodes)
        ]

    def tables(self, released_tables: Sequence[Any]) -> list[Any]:
        return list(self.hierarchy.estimate(released_tables))

    def whole_tables(self, tables: Sequence[Any]) -> list[Any]:
        from utmost.theory.workload.design.consistent_tables import apportion

        rounded_levels = [np.array([max(0, round(float(tables[0][0])))])]
        for children, table in zip(self.tree.children, tables[1:], strict=True):
            estimates = np.asarray(table, dtype=float)
            ends = np.cumsum((0, *children)).tolist()
            parts = [
                apportion(int(total), estimates[a:b])
                for total, (a, b) in zip(rounded_levels[-1], pairwise(ends), strict=True)
            ]
            rounded_levels.append(np.concatenate(parts))
        return rounded_levels

    @cached_property
    def half_widths(self) -> list[Floats]:
        return list(self.hierarchy.half_widths(CONFIDENCE))

    @cached_property
    def mean_absolute_errors(self) -> list[Floats]:
        return list(self.hierarchy.mean_sizes())

    @property
    def largest_variance(self) -> float:
        return max(float(level.max()) for level in self.hierarchy.variances)

    @property
    def worst_in_words(self) -> str:
        return "the worst is the node of the largest error"

    def expected_losses(self, level: Level, loss: str) -> dict[str, dict[str, float]]:
        from utmost.theory.workload.design.marginals import even_noise

        even = even_noise(tuple(len(nodes) for nodes in self.tree.nodes), self.moves, self.rows_moved, level)
        ours = {"absolute": self.average("absolute"), "squared": self.solution.value}
        return {"Utmost": ours, "each level at an equal share": even}

    @property
    def note(self) -> str:
        return (
            f"released with noise are the levels {'; '.join(self.labels)}, and all counts are made of these, so they "
            "add up; rows in no listed leaf take no part"
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class HierarchyOf(ConsistentCounts):
    """The number of rows of each node of a hierarchy, from the total to the finest level.

    Attributes
    ----------
    by : Keys
        The leaves.
    levels : tuple of str
        The columns, the coarsest first.
    """

    name = "hierarchy"
    summary = "how many rows each node of a public hierarchy has, in agreement"
    levels: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        keys, levels = require_keys(self.by), self.levels
        fits = isinstance(levels, Sequence) and not isinstance(levels, str) and all(isinstance(x, str) for x in levels)
        if not fits or sorted(levels) != sorted(keys.names):
            names = english_list(keys.names)
            raise InvalidInput(f"levels is {shown(levels)}; list the columns of the keys, {names}, the coarsest first.")
        if keys.other is not None:
            raise InvalidInput("a hierarchy lists its nodes; leave other out, or make it a node of its own.")
        self.set_fields(loss="squared", levels=tuple(levels))

    @cached_property
    def tree(self) -> KeyTree:
        """The keys as leaves of a tree."""
        return KeyTree(self.by, self.levels)

    @property
    def words(self) -> str:
        return question_in_words(
            f"How many rows are there in all, and {', '.join(f'by {x}' for x in self.levels)}",
            self.where,
            self.rows_clause,
        )

    @property
    def public(self) -> dict[str, Any]:
        parameters = {"levels": list(self.levels), "by": self.by.public, "where": self.where.text}
        return {"question": self.name, **parameters, "loss": self.loss, "prior": "uniform"}

    @cached_property
    def workload(self) -> Workload:
        from utmost.design.workload import Workload
        from utmost.theory.workload.hierarchy_algebra import write_tree

        tree = write_tree(self.tree.children)
        return Workload("hierarchy", tree, self.terms.moves, self.rows_moved, self.most_rows)

    @cached_property
    def strategy(self) -> TreeLevels:
        return TreeLevels(
            solution=self.solution,
            by=self.by,
            moves=self.terms.moves,
            rows_moved=self.rows_moved,
            most_rows=self.most_rows,
            tree=self.tree,
        )

    def statement(self, source: Source, secret: bytes) -> Statement:
        rows = {"count": ones(source, self.where.text)}
        return grouped_statement(source, self.bounded_unit, self.rows_each, self.by, rows, secret)
