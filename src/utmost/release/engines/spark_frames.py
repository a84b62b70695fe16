"""Queries of Ibis as PySpark frames: the aggregations that questions make, from the rows to a few integers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from utmost.errors import NotRowWise
from utmost.release.engines.spark_columns import Columns, Spark, all_true, field_name
from utmost.release.source import KEYS


class Frames:
    """Makes frames of Ibis queries; one that is used twice is made once.

    Parameters
    ----------
    spark : where they live
    rows : the frame of the private table
    keys : the public keys that a query joins under the name `KEYS`, as an Arrow table
    public : the public tables that columns are taken from, by the names a query joins them under
    """

    def __init__(self, spark: Spark, rows: Any, keys: Any = None, public: Mapping[str, Any] | None = None) -> None:
        self.spark, self.rows, self.keys, self.public, self.columns = spark, rows, keys, public or {}, Columns(spark)
        self._made: dict[Any, Any] = {}

    def frame(self, node: Any) -> Any:
        """The frame of a relation."""
        if node not in self._made:
            make = getattr(self, f"_{type(node).__name__.lower()}", None)
            if make is None:
                raise NotRowWise(f"{type(node).__name__} is not a query that Spark is asked; give the base table.")
            self._made[node] = make(node)
        return self._made[node]

    def _databasetable(self, node: Any) -> Any:
        if node.name != KEYS and node.name not in self.public:
            return self.rows
        listed = self.keys if node.name == KEYS else self.public[node.name]
        return self.spark.functions.broadcast(self.spark.frame(listed))  # to every worker, rather than rows to a key

    def _project(self, node: Any) -> Any:
        below = self.frame(node.parent)
        operations = import_ibis().expr.operations
        windows = [
            window
            for value in node.values.values()
            for window in value.find(operations.WindowFunction, filter=operations.Value)
        ]
        if windows:  # once by what all of them are by, and not once for each of them
            common = set.intersection(*(set(window.group_by) for window in windows))
            if common:
                below = below.repartition(
                    *(self.columns.column(value) for value in windows[0].group_by if value in common)
                )
        return below.select(*self._named(node.values))

    def _filter(self, node: Any) -> Any:
        return self.frame(node.parent).filter(all_true([self.columns.column(part) for part in node.predicates]))

    def _aggregate(self, node: Any) -> Any:
        return self.frame(node.parent).groupBy(*self._named(node.groups)).agg(*self._named(node.metrics))

    def _joinchain(self, node: Any) -> Any:
        joined = self._renamed(node.first)
        for link in node.rest:
            other = self._renamed(link.table)
            if link.how == "cross":
                joined = joined.crossJoin(other)
            else:
                joined = joined.join(other, all_true([self.columns.column(part) for part in link.predicates]), link.how)
        return joined.select(*self._named(node.values))

    def _renamed(self, reference: Any) -> Any:
        """A table of a join, with names of columns that no other has."""
        names = (field_name(reference, name) for name in reference.parent.schema.names)
        return self.frame(reference.parent).toDF(*names)

    def _union(self, node: Any) -> Any:
        return self.frame(node.left).union(self.frame(node.right))

    def _named(self, values: Mapping[str, Any]) -> list[Any]:
        """Columns under their names; one that has its name already is not named again, which is a call of Spark's."""
        return [
            self.columns.column(value)
            if type(value).__name__ == "Field" and field_name(value.rel, value.name) == name
            else self.columns.column(value).alias(name)
            for name, value in values.items()
        ]
