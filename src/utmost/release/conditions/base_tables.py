"""Tables that questions may be asked of: base tables, and row-wise projections and filters of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from utmost.errors import NotRowWise
from utmost.release.source import enclosed, made_total, require_row_wise

ROW_WISE_TABLES = frozenset(("DatabaseTable", "InMemoryTable", "UnboundTable", "Project", "Filter", "DropColumns"))
REMEDIES = {
    "JoinChain": "join beforehand, into a table with one row per unit",
    "Aggregate": "group beforehand, into a table with one row per unit",
    "Distinct": "remove repeated rows beforehand; for people, um.people(...) counts everyone once",
    "Limit": "give the whole table: which rows a limit keeps depends on the other rows",
    "Sample": "give the whole table, or a sample drawn beforehand",
    "Sort": "leave out order_by: answers do not depend on the order of rows",
    "SQLQueryResult": "give the base table, and the condition as where=",
    "SQLStringView": "give the base table, and the condition as where=",
    "Union": "put the rows into one table beforehand",
}


def as_read(table: Any, bases: Mapping[Any, Any]) -> dict[Any, Any]:
    """What stands in for an Ibis table in statements: base tables under their full names, conditions enclosed.

    Ibis writes a column's expression wherever the column is used, some without the parentheses they need there.
    """

    def read(node: Any, parts: Any) -> Any:
        if node in bases:
            return bases[node]
        node = node.__recreate__(parts) if parts else node
        if type(node).__name__ != "Project":
            return node
        return node.copy(values={name: enclosed(value) for name, value in node.values.items()})

    return {table.op(): table.op().replace(read)}


def require_base_table(table: Any) -> None:
    """Refuse a table that is not a base table, or a row-wise projection or filter of one."""
    node = table.op()
    while True:
        name = type(node).__name__
        if name not in ROW_WISE_TABLES:
            remedy = REMEDIES.get(name, "give a base table, or a row-wise projection or filter of one")
            raise NotRowWise(f"the table is made by {name}, so one row of it may stem from many; {remedy}.")
        if not hasattr(node, "parent"):
            return
        below = node.parent
        values = node.predicates if name == "Filter" else node.values.values() if name == "Project" else ()
        for value in values:
            require_row_wise(value.to_expr(), below.to_expr())
            if type(value).__name__ != "Field" and _floating(value):
                raise NotRowWise(
                    "the table filters by, or computes with, a column of floating-point numbers, where engines "
                    "differ about NaN; give the table without that, and the condition as where=."
                )
            if type(value).__name__ != "Field" and made_total(value.to_expr()).op() != value:
                raise NotRowWise(
                    "the table filters by, or computes with, times, decimal numbers or conditions of conditions, in a "
                    "way that engines fail in on some rows, or read differently; give the table without that, and the "
                    "condition as where=."
                )
        node = below


def origins(table: Any) -> dict[str, str]:
    """The column of the base table that each column of a row-wise table is, if it is one and not computed."""
    found = {name: name for name in table.columns}
    node = table.op()
    while hasattr(node, "parent"):
        if type(node).__name__ == "Project":
            values = {name: node.values[origin] for name, origin in found.items()}
            found = {name: value.name for name, value in values.items() if type(value).__name__ == "Field"}
        node = node.parent
    return found


def computed_with(table: Any) -> set[str]:
    """The columns that a row-wise table filters by or computes with, under the names they have where it does."""
    found: set[str] = set()
    node = table.op()
    while hasattr(node, "parent"):
        name = type(node).__name__
        values = node.predicates if name == "Filter" else node.values.values() if name == "Project" else ()
        for value in values:
            if type(value).__name__ != "Field":
                found |= {field.name for field in _columns(value)}
        node = node.parent
    return found


def _floating(value: Any) -> list[Any]:
    """The columns of floating-point numbers that a value looks at."""
    return [field for field in _columns(value) if field.dtype.is_floating()]


def _columns(value: Any) -> list[Any]:
    """The columns that a value looks at."""
    import ibis

    operations = ibis.expr.operations
    return list(value.find(operations.Field, filter=operations.Value))
