"""Translate relations into PySpark DataFrames: the aggregations of queries, from the rows to a few integers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from utmost.backends.spark_columns import Columns, all_true, grouped_by
from utmost.backends.spark_types import Column, entering, quoted, type_name
from utmost.queries.expressions import relations as rel
from utmost.queries.expressions.values import Expression


class Frames:
    """Translates the relations of one query; a relation that is used twice is translated once.

    Parameters
    ----------
    query : Relation
    columns : Columns
        Translates expressions.
    rows : DataFrame
        The private table, or rows of a rehearsal.
    stored : mapping of str to Column
        The columns of the rows.
    public : mapping of str to DataFrame
        The public tables, by the names that the query joins them under.
    trial : bool
        Whether the rows are those of a rehearsal, in one partition: then nothing is moved between workers.
    """

    def __init__(
        self,
        query: rel.Relation,
        columns: Columns,
        rows: Any,
        stored: Mapping[str, Column],
        public: Mapping[str, Any],
        trial: bool = False,
    ) -> None:
        self.columns, self.rows, self.stored, self.public, self.trial = columns, rows, stored, public, trial
        self.functions, self.needed = columns.functions, rel.columns_used(query)
        self._made: dict[rel.Relation, Any] = {}

    @property
    def _one(self) -> Any:
        """A constant column, where rows are only counted."""
        return self.functions.lit(1).alias("one")

    def frame(self, relation: rel.Relation) -> Any:
        """The frame of a relation, with the columns that the query uses."""
        if relation not in self._made:
            used = [name for name in relation.columns if name in self.needed[id(relation)]]
            self._made[relation] = getattr(self, f"_{type(relation).__name__.lower()}")(relation, used)
        return self._made[relation]

    def _rows(self, relation: rel.Rows, used: list[str]) -> Any:
        entered = [entering(self.functions, name, self.stored[name]).alias(name) for name in used]
        return self.rows.select(*(entered or [self._one]))

    def _public(self, relation: rel.Public, used: list[str]) -> Any:
        return self.functions.broadcast(self.public[relation.name])  # send keys to all workers, not rows to the keys

    def _select(self, relation: rel.Select, used: list[str]) -> Any:
        below, values = self.frame(relation.parent), {name: relation.values[name] for name in used}
        windows = [part for value in values.values() for part in value.walk() if part.op.startswith("over_")]
        if windows and not self.trial:  # partition once by their common columns, instead of once for each window
            by = [[part.value for part in grouped_by(window) if part.op == "column"] for window in windows]
            common = [name for name in by[0] if all(name in names for names in by)]
            if common:
                below = below.repartition(*(self.functions.col(quoted(name)) for name in common))
        return below.select(*(self._named(values) or [self._one]))

    def _filter(self, relation: rel.Filter, used: list[str]) -> Any:
        return self.frame(relation.parent).filter(all_true([self.columns.column(part) for part in relation.conditions]))

    def _aggregate(self, relation: rel.Aggregate, used: list[str]) -> Any:
        numbers = {name: relation.numbers[name] for name in used if name in relation.numbers}
        aggregates = self._named(numbers) or [self.functions.count(self.functions.lit(1)).alias("one")]
        return self.frame(relation.parent).groupBy(*(quoted(name) for name in relation.by)).agg(*aggregates)

    def _join(self, relation: rel.Join, used: list[str]) -> Any:
        on = all_true([self.columns.column(part) for part in relation.on])
        return self.frame(relation.left).join(self.frame(relation.right), on, relation.how)

    def _union(self, relation: rel.Union, used: list[str]) -> Any:
        sides = ((self.frame(side), self._widened(relation, side, used)) for side in (relation.left, relation.right))
        return self.joined(*(frame.select(*(widened or [self._one])) for frame, widened in sides))

    def joined(self, left: Any, right: Any) -> Any:
        """The union of two frames, in one partition for a rehearsal."""
        both = left.union(right)
        return both.coalesce(1) if self.trial else both

    def _widened(self, relation: rel.Union, side: rel.Relation, used: list[str]) -> list[Any]:
        """The columns of one side of a union, cast to types that hold the values of both sides."""
        return [self.columns.cast(side[name], type_name(relation.columns[name])).alias(name) for name in used]

    def _named(self, values: Mapping[str, Expression]) -> list[Any]:
        """Columns under their names; a column that has its name already needs no further call of PySpark."""
        return [
            self.columns.column(value)
            if value.op == "column" and value.value == name
            else self.columns.column(value).alias(name)
            for name, value in values.items()
        ]


def assumes(query: rel.Relation) -> bool:
    """Whether a query has conditions of the user's, which a rehearsal also runs as always true."""
    values = [value for relation in rel.walk(query) for value in rel.expressions(relation)]
    return any(part.op == "condition" for value in values for part in value.walk())


def digest(query: rel.Relation, *settings: str) -> str:
    """A hash of the structure of a query: two queries have the same hash if and only if they are built alike."""
    hashed, numbers = hashlib.sha256(repr(settings).encode()), dict[int, int]()

    def write(thing: Any, *fields: Any) -> int:
        hashed.update(repr(fields).encode())
        return numbers.setdefault(id(thing), len(numbers))

    def of_value(value: Expression) -> int:
        if id(value) in numbers:
            return numbers[id(value)]
        return write(value, value.op, value.type, value.value, [of_value(part) for part in value.parts])

    def of_relation(relation: rel.Relation) -> int:
        if id(relation) in numbers:
            return numbers[id(relation)]
        parents = [of_relation(parent) for parent in rel.parents(relation)]
        values = [of_value(value) for value in rel.expressions(relation)]
        arguments = getattr(relation, "by", None), getattr(relation, "how", None), getattr(relation, "name", None)
        return write(relation, type(relation).__name__, list(relation.columns.items()), parents, values, arguments)

    of_relation(query)
    return hashed.hexdigest()
