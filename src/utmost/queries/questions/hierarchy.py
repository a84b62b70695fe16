"""The question: how many rows each node of a public hierarchy has: countries, their regions, the towns of these.

Every level is a table of the same rows. Some of them are released with noise, and the counts of all nodes are made of
these by least squares: the towns of a region add up to the region, exactly.
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
from utmost.queries.accuracy import CONFIDENCE, Before
from utmost.queries.arguments import Condition, Privacy
from utmost.queries.contributions import ones
from utmost.queries.groups import grouped_statement
from utmost.queries.keys import Keys, named, require_keys
from utmost.queries.questions.marginals import ALL, Agreeing
from utmost.queries.questions.of_workload import OUTSIDE
from utmost.queries.questions.question import Asks, Made, asking
from utmost.queries.units import MOST_ROWS
from utmost.space.integers import Tables

if TYPE_CHECKING:
    from utmost.theory.workload.hierarchy_algebra import Hierarchy, Tree


@dataclass(frozen=True, eq=False, kw_only=True)
class HierarchyOf(Agreeing):
    """How many rows each node of a hierarchy has, from the total to the finest level.

    Attributes
    ----------
    levels : the columns, the coarsest first
    """

    name = "hierarchy"
    summary = "how many rows each node of a public hierarchy has, in agreement"

    levels: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        keys, levels = require_keys(self.by), self.levels
        fits = isinstance(levels, Sequence) and not isinstance(levels, str) and all(isinstance(x, str) for x in levels)
        if not fits or sorted(levels) != sorted(keys.names):
            raise InvalidInput(
                f"levels is {shown(levels)}; list the columns of the keys, {named(keys.names)}, the coarsest first."
            )
        if keys.other is not None:
            raise InvalidInput("a hierarchy lists its nodes; leave other out, or make it a node of its own.")
        self.settle(levels=tuple(levels))

    @cached_property
    def _ways(self) -> list[tuple[Any, ...]]:
        """The way to every leaf, and its place among the keys, families together."""
        columns = {name: column.to_pylist() for name, column in zip(self.by.names, self.by.table.columns, strict=True)}
        rows = list(zip(*(columns[name] for name in self.levels), range(self.by.size), strict=True))
        first: dict[tuple[Any, ...], int] = {}
        for row in rows:
            for depth in range(1, len(row)):
                first.setdefault(row[:depth], len(first))
        return sorted(rows, key=lambda row: [first[row[:depth]] for depth in range(1, len(row))])

    @cached_property
    def nodes(self) -> list[list[tuple[Any, ...]]]:
        """The nodes of every level, by the values on their way; families together."""
        return [list(dict.fromkeys(way[:depth] for way in self._ways)) for depth in range(len(self.levels) + 1)]

    @cached_property
    def tree(self) -> Tree:
        """How many children every node has."""
        found = []
        for depth, (above, below) in enumerate(pairwise(self.nodes)):
            many = dict.fromkeys(above, 0)
            for node in below:
                many[node[:depth]] += 1
            found.append(tuple(many.values()))
        return tuple(found)

    @cached_property
    def workload(self) -> str:
        from utmost.theory.workload.hierarchy_algebra import write_tree

        return write_tree(self.tree)

    @property
    def words(self) -> str:
        return asking(
            f"How many rows are there in all, and {', '.join(f'by {x}' for x in self.levels)}", self.where, self.kept
        )

    @property
    def public(self) -> dict[str, Any]:
        where = {"levels": list(self.levels), "by": self.by.public, "where": self.where.text}
        return {"question": self.name, **where, "loss": self.loss, "prior": "uniform"}

    @property
    def space(self) -> Tables:
        made, reach, most = self.hierarchy, self.rows_moved, self.most_rows
        sizes = tuple(len(self.nodes[level]) for level in made.strategy)
        return Tables(sizes, self.moves, reach * made.grain, None if most is None else most * made.grain)

    @cached_property
    def hierarchy(self) -> Hierarchy:
        """How counts are made of released levels; from a report, the solution may be anything."""
        from utmost.theory.workload.problem import hierarchy_of

        found = hierarchy_of(self.solution.problem.data, self.solution.mechanism)
        if found.tree != self.tree:
            raise InvalidInput("the solution is for another hierarchy.")
        return found

    def statement(self, source: Source, secret: bytes) -> Statement:
        rows = {"count": ones(source, self.where.given)}
        return grouped_statement(source, self.bounded_unit, self.rows_each, self.by, rows, secret)

    def point(self, found: Mapping[str, Any]) -> list[Any]:
        """The levels to be released, each summed up from the leaves, cut to the most rows there can be."""
        counts = [np.asarray(found["count"])[[way[-1] for way in self._ways]]]
        for children in reversed(self.tree):
            counts.insert(0, np.add.reduceat(counts[0], np.cumsum((0, *children))[:-1]))
        most = MOST_ROWS if self.most_rows is None else self.most_rows
        kind = object if most * self.hierarchy.grain > 2**60 else np.int64
        cut = [np.clip(counts[level], 0, self.most_rows).astype(kind) for level in self.hierarchy.strategy]
        return [each * self.hierarchy.grain for each in cut]

    @property
    def _released_names(self) -> list[str]:
        return [self.levels[level - 1] if level else "total" for level in self.hierarchy.strategy]

    @property
    def _rows_counted(self) -> tuple[int | None, ...]:
        return (self.hierarchy.grain,) * len(self.hierarchy.strategy)

    @property
    def wanted(self) -> dict[Any, tuple[str, ...]]:
        return {depth: self.levels[:depth] for depth in range(len(self.levels) + 1)}

    @cached_property
    def keys_of(self) -> dict[Any, list[tuple[Any, ...]]]:
        places = [self.levels.index(name) for name in self.by.names]
        return {
            depth: [tuple(node[i] if i < depth else ALL for i in places) for node in nodes]
            for depth, nodes in enumerate(self.nodes)
        }

    @cached_property
    def half_widths(self) -> dict[Any, Any]:
        return dict(enumerate(self.hierarchy.half_widths(CONFIDENCE)))

    @cached_property
    def mean_sizes(self) -> dict[Any, Any]:
        return dict(enumerate(self.hierarchy.mean_sizes()))

    def _estimated(self, drawn: list[Any]) -> dict[Any, Any]:
        return dict(enumerate(self.hierarchy.estimate(drawn)))

    def _whole(self, estimates: dict[Any, Any]) -> dict[Any, Any]:
        from utmost.theory.workload.design.consistent_tables import shared

        found = [np.array([max(0, round(float(estimates[0][0])))])]
        for depth, children in enumerate(self.tree):
            below = np.asarray(estimates[depth + 1], dtype=float)
            ends = np.cumsum((0, *children)).tolist()
            parts = [shared(int(total), below[a:b]) for total, (a, b) in zip(found[-1], pairwise(ends), strict=True)]
            found.append(np.concatenate(parts))
        return dict(enumerate(found))

    def before(self) -> Before:
        worst = max(float(level.max()) for level in self.hierarchy.variances)
        return self._stated(worst, "the worst is the node of the largest error")

    def compared(self) -> dict[str, dict[str, float]]:
        from utmost.theory.workload.design.marginals import even_noise

        sizes = tuple(len(level) for level in self.nodes)
        even = even_noise(sizes, self.moves, self.rows_moved, self.privacy)
        ours = {"absolute": self.average, "squared": self.solution.value}
        return {"Utmost": ours, "each level at an equal share": even}

    @property
    def notes(self) -> tuple[str, ...]:
        names = "; ".join(self._released_names)
        return (
            f"released with noise are the levels {names}, and all counts are made of these, so they add up; rows in no "
            "listed leaf take no part",
            OUTSIDE,
        )


class AsksHierarchy(Asks[Made]):
    """`hierarchy`, of a session or a plan."""

    def hierarchy(
        self,
        levels: Sequence[str],
        keys: Keys,
        privacy: Privacy = None,
        *,
        where: Condition = None,
        fresh: bool = False,
    ) -> Made:
        """How many rows each node of a public hierarchy has, from the total to the finest level; the counts add up.

        All levels together spend `privacy` once, split between them as is best for the mean variance of all counts.

        Parameters
        ----------
        levels : list of columns
            The coarsest first, such as ``["country", "region", "town"]``.
        keys : um.keys
            The leaves: a public frame (or the path of a CSV file) with a row for each, in the columns of `levels`; a
            product of lists is a hierarchy, too. A row of the table that is in none of them takes no part.
        privacy : level or number
            What all counts together may spend, as for `count`.
        where : condition, optional
            Only rows with this condition are counted.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is {key: number}, a key having a value for every column of `keys`, and `...` where a column
            is summed over: ``("A", ...)`` is country A. Numbers are exact fractions, unbiased. `answer.intervals`,
            `answer.table` and `answer.rounded()` are as for `marginals`.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"country": ["A", "A", "B"] * 40, "town": ["Ash", "Briar", "Cole"] * 40})
        >>> s = um.Session(table, "survey", um.rows(at_most=200), "add-remove", budget=1)
        >>> leaves = um.keys(pyarrow.table({"country": ["A", "A", "B"], "town": ["Ash", "Briar", "Cole"]}))
        >>> answer = s.hierarchy(["country", "town"], leaves, privacy=1)
        >>> value = answer.value
        >>> value["A", "Ash"] + value["A", "Briar"] == value["A", ...]
        True
        >>> value["A", ...] + value["B", ...] == value[..., ...]
        True
        """
        condition = self.where(where)
        asked = HierarchyOf(terms=self.terms, privacy=self.level(privacy), by=keys, levels=levels, where=condition)
        return self.ask(asked, fresh)
