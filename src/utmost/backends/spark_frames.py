"""Relations as PySpark frames: the aggregations that questions make, from the rows to a few integers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from utmost.backends.spark_columns import Columns, all_true, grouped_by
from utmost.backends.spark_types import Column, entering, quoted, type_name
from utmost.queries.expressions import relations as rel
from utmost.queries.expressions.values import Expression


class Frames:
    """Makes frames of one query; a relation that is used twice is made once.

    Parameters
    ----------
    query : Relation
    columns : Columns
        Makes the columns.
    rows : DataFrame
        The private table, or rows of a rehearsal.
    stored : mapping of str to Column
        The columns of the rows.
    public : mapping of str to DataFrame
        The public tables, by the names that the query joins them under.
    trial : bool
        Whether the rows are those of a rehearsal, a few in one part: then nothing is moved between workers.
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
        self.functions, self.needed = columns.functions, rel.needed(query)
        self._made: dict[rel.Relation, Any] = {}

    @property
    def _one(self) -> Any:
        """A column for rows that are counted only."""
        return self.functions.lit(1).alias("one")

    def frame(self, one: rel.Relation) -> Any:
        """The frame of a relation, with the columns that the query uses."""
        if one not in self._made:
            used = [name for name in one.columns if name in self.needed[id(one)]]
            self._made[one] = getattr(self, f"_{type(one).__name__.lower()}")(one, used)
        return self._made[one]

    def _rows(self, one: rel.Rows, used: list[str]) -> Any:
        entered = [entering(self.functions, name, self.stored[name]).alias(name) for name in used]
        return self.rows.select(*(entered or [self._one]))

    def _public(self, one: rel.Public, used: list[str]) -> Any:
        return self.functions.broadcast(self.public[one.name])  # to every worker, rather than rows to a key

    def _select(self, one: rel.Select, used: list[str]) -> Any:
        below, values = self.frame(one.parent), {name: one.values[name] for name in used}
        windows = [part for value in values.values() for part in value.walk() if part.op.startswith("over_")]
        if windows and not self.trial:  # once by what all of them are by, and not once for each of them
            by = [[part.value for part in grouped_by(window) if part.op == "column"] for window in windows]
            common = [name for name in by[0] if all(name in names for names in by)]
            if common:
                below = below.repartition(*(self.functions.col(quoted(name)) for name in common))
        return below.select(*(self._named(values) or [self._one]))

    def _filter(self, one: rel.Filter, used: list[str]) -> Any:
        return self.frame(one.parent).filter(all_true([self.columns.column(part) for part in one.conditions]))

    def _aggregate(self, one: rel.Aggregate, used: list[str]) -> Any:
        numbers = {name: one.numbers[name] for name in used if name in one.numbers}
        made = self._named(numbers) or [self.functions.count(self.functions.lit(1)).alias("one")]
        return self.frame(one.parent).groupBy(*(quoted(name) for name in one.by)).agg(*made)

    def _join(self, one: rel.Join, used: list[str]) -> Any:
        on = all_true([self.columns.column(part) for part in one.on])
        return self.frame(one.left).join(self.frame(one.right), on, one.how)

    def _union(self, one: rel.Union, used: list[str]) -> Any:
        sides = ((self.frame(side), self._widened(one, side, used)) for side in (one.left, one.right))
        return self.joined(*(frame.select(*(widened or [self._one])) for frame, widened in sides))

    def joined(self, left: Any, right: Any) -> Any:
        """The rows of two frames, those of a rehearsal in one part."""
        both = left.union(right)
        return both.coalesce(1) if self.trial else both

    def _widened(self, one: rel.Union, side: rel.Relation, used: list[str]) -> list[Any]:
        """The columns of one side of a union in types that hold both sides'."""
        return [self.columns.cast(side[name], type_name(one.columns[name])).alias(name) for name in used]

    def _named(self, values: Mapping[str, Expression]) -> list[Any]:
        """Columns under their names; one that has its name already is not named again, which is a call of Spark's."""
        return [
            self.columns.column(value)
            if value.op == "column" and value.value == name
            else self.columns.column(value).alias(name)
            for name, value in values.items()
        ]


def assumes(query: rel.Relation) -> bool:
    """Whether a query has conditions that somebody wrote, which a rehearsal takes as true."""
    return any(
        part.op == "condition" for one in rel.walk(query) for value in rel.expressions(one) for part in value.walk()
    )


def digest(query: rel.Relation, *others: str) -> str:
    """A hash of all that a query says: queries that are built alike have the same, and no others."""
    hashed, numbers = hashlib.sha256(repr(others).encode()), dict[int, int]()

    def write(thing: Any, *said: Any) -> int:
        hashed.update(repr(said).encode())
        return numbers.setdefault(id(thing), len(numbers))

    def of_value(value: Expression) -> int:
        if id(value) in numbers:
            return numbers[id(value)]
        return write(value, value.op, value.type, value.value, [of_value(part) for part in value.parts])

    def of_relation(one: rel.Relation) -> int:
        if id(one) in numbers:
            return numbers[id(one)]
        parents = [of_relation(parent) for parent in rel.parents(one)]
        values = [of_value(value) for value in rel.expressions(one)]
        said = getattr(one, "by", None), getattr(one, "how", None), getattr(one, "name", None)
        return write(one, type(one).__name__, list(one.columns.items()), parents, values, said)

    of_relation(query)
    return hashed.hexdigest()
