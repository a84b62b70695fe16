"""Relations: relational algebra for the queries of a table, from its rows to a few integers.

A relation has named columns with types. Columns are referred to by name alone, so the two sides of a join must have
different names. A relation that is used twice is computed once where the engine can.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from utmost.queries.expressions.types import Type, hull
from utmost.queries.expressions.values import Expression

How: TypeAlias = Literal["inner", "left", "semi", "anti"]


@dataclass(frozen=True, eq=False)
class Relation:
    """Rows with named columns."""

    columns: Mapping[str, Type]

    def __getitem__(self, name: str) -> Expression:
        return Expression("column", self.columns[name], value=name)

    def select(self, *names: str, **values: Expression) -> Select:
        """Every row with some of its columns, and new columns computed from it."""
        return selected(self, {**{name: self[name] for name in names}, **values})

    def extend(self, **values: Expression) -> Select:
        """Every row with all of its columns, and new columns computed from it."""
        return self.select(*self.columns, **values)

    def filter(self, *conditions: Expression) -> Filter:
        """The rows for which all conditions are true."""
        return Filter(self.columns, self, conditions)

    def aggregate(self, by: Sequence[str] = (), /, **numbers: Expression) -> Aggregate:
        """Sums and counts: one row, or one for each combination of the values of some columns."""
        kinds = {name: self.columns[name] for name in by}
        for name, number in numbers.items():
            one_or_more = by and number.op == "count" and not number.parts
            kinds[name] = replace(number.type, low=1) if one_or_more else number.type
        return Aggregate(kinds, self, tuple(by), numbers)

    def join(self, other: Relation, on: Sequence[Expression], how: How = "inner") -> Join:
        """Pairs of rows for which all conditions are true; the two relations must have different column names.

        "left" keeps rows without a partner; "semi" gives the rows that have one, "anti" those that have none.
        """
        kinds = dict(self.columns) if how in ("semi", "anti") else {**self.columns, **other.columns}
        assert how in ("semi", "anti") or len(kinds) == len(self.columns) + len(other.columns), "names differ"
        return Join(kinds, self, other, tuple(on), how)

    def union(self, other: Relation) -> Union:
        """The rows of two relations with the same columns."""
        assert list(self.columns) == list(other.columns), "both sides have the same columns"
        return Union(_wider(self.columns, other.columns), self, other)


@dataclass(frozen=True, eq=False)
class Rows(Relation):
    """The rows of the private table, with their columns cast to our types."""


@dataclass(frozen=True, eq=False)
class Public(Relation):
    """A public table that is sent with the statement, under a name."""

    name: str


@dataclass(frozen=True, eq=False)
class Select(Relation):
    """Values computed from every row."""

    parent: Relation = field(repr=False)
    values: Mapping[str, Expression] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Filter(Relation):
    """The rows that satisfy all conditions."""

    parent: Relation = field(repr=False)
    conditions: tuple[Expression, ...] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Aggregate(Relation):
    """Sums and counts, over all rows or grouped by columns."""

    parent: Relation = field(repr=False)
    by: tuple[str, ...]
    numbers: Mapping[str, Expression] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Join(Relation):
    """Pairs of rows that satisfy all conditions."""

    left: Relation = field(repr=False)
    right: Relation = field(repr=False)
    on: tuple[Expression, ...] = field(repr=False)
    how: How = "inner"


@dataclass(frozen=True, eq=False)
class Union(Relation):
    """The rows of two relations."""

    left: Relation = field(repr=False)
    right: Relation = field(repr=False)


def selected(parent: Relation, values: Mapping[str, Expression]) -> Select:
    """The relation with these values, computed from every row of another, as its columns."""
    return Select({name: value.type for name, value in values.items()}, parent, dict(values))


def parents(relation: Relation) -> tuple[Relation, ...]:
    """The relations from which a relation is made."""
    if isinstance(relation, Join | Union):
        return relation.left, relation.right
    return (relation.parent,) if isinstance(relation, Select | Filter | Aggregate) else ()


def expressions(relation: Relation) -> Iterator[Expression]:
    """The expressions of a relation itself, without those of its parents."""
    if isinstance(relation, Select):
        yield from relation.values.values()
    elif isinstance(relation, Filter):
        yield from relation.conditions
    elif isinstance(relation, Aggregate):
        yield from relation.numbers.values()
    elif isinstance(relation, Join):
        yield from relation.on


def walk(relation: Relation) -> Iterator[Relation]:
    """A relation and all relations from which it is made, each once."""
    waiting, seen = [relation], {id(relation)}
    while waiting:
        current = waiting.pop()
        yield current
        fresh = [part for part in parents(current) if id(part) not in seen]
        seen.update(map(id, fresh))
        waiting += fresh


def columns_of(*values: Expression) -> set[str]:
    """The names of the columns that expressions read."""
    return {part.value for value in values for part in value.walk() if part.op == "column"}


def columns_used(relation: Relation) -> dict[int, set[str]]:
    """The columns of each relation, by its id, that a query needs for its result."""
    names_by_id: dict[int, set[str]] = {}

    def add(child: Relation, names: set[str]) -> None:
        if id(child) in names_by_id and names <= names_by_id[id(child)]:
            return
        names_by_id[id(child)] = names = names_by_id.get(id(child), set()) | names
        if isinstance(child, Select):
            add(child.parent, columns_of(*(child.values[name] for name in names)))
        elif isinstance(child, Filter):
            add(child.parent, names | columns_of(*child.conditions))
        elif isinstance(child, Aggregate):
            add(
                child.parent,
                set(child.by) | columns_of(*(child.numbers[name] for name in names if name in child.numbers)),
            )
        elif isinstance(child, Join):
            names_used = names | columns_of(*child.on)
            add(child.left, names_used & set(child.left.columns))
            add(child.right, names_used & set(child.right.columns))
        elif isinstance(child, Union):
            add(child.left, names)
            add(child.right, names)

    add(relation, set(relation.columns))
    return names_by_id


def _wider(left: Mapping[str, Type], right: Mapping[str, Type]) -> dict[str, Type]:
    return {
        name: kind if kind == right[name] else replace(hull(kind, right[name]), total=kind.total and right[name].total)
        for name, kind in left.items()
    }
