"""Relations: the queries that questions make of a table, from its rows to a few integers.

A relation has named columns with types. Names alone refer to columns, so the two sides of a join have different names.
A relation that is used twice is computed once where the engine can.
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

    def select(self, *kept: str, **values: Expression) -> Select:
        """Every row with some of its columns, and others that are computed of it."""
        return selected(self, {**{name: self[name] for name in kept}, **values})

    def extend(self, **values: Expression) -> Select:
        """Every row with its columns, and others."""
        return self.select(*self.columns, **values)

    def filter(self, *conditions: Expression) -> Filter:
        """The rows of which all of some conditions are true."""
        return Filter(self.columns, self, conditions)

    def aggregate(self, by: Sequence[str] = (), /, **numbers: Expression) -> Aggregate:
        """One row, or one for each combination of the values of some columns."""
        kinds = {name: self.columns[name] for name in by}
        for name, number in numbers.items():
            one_or_more = by and number.op == "count" and not number.parts
            kinds[name] = replace(number.type, low=1) if one_or_more else number.type
        return Aggregate(kinds, self, tuple(by), numbers)

    def join(self, other: Relation, on: Sequence[Expression], how: How = "inner") -> Join:
        """Pairs of rows of which some conditions are true; names of both differ.

        "left" keeps rows without a partner, "semi" the rows that have one, "anti" those that have none.
        """
        kinds = dict(self.columns) if how in ("semi", "anti") else {**self.columns, **other.columns}
        assert how in ("semi", "anti") or len(kinds) == len(self.columns) + len(other.columns), "names differ"
        return Join(kinds, self, other, tuple(on), how)

    def union(self, other: Relation) -> Union:
        """The rows of both, which have the same columns."""
        assert list(self.columns) == list(other.columns), "both sides have the same columns"
        return Union(_wider(self.columns, other.columns), self, other)


@dataclass(frozen=True, eq=False)
class Rows(Relation):
    """The rows of the private table: columns enter by a total cast."""


@dataclass(frozen=True, eq=False)
class Public(Relation):
    """A public table that goes with the statement, under a name."""

    name: str


@dataclass(frozen=True, eq=False)
class Select(Relation):
    """Values computed of every row."""

    parent: Relation = field(repr=False)
    values: Mapping[str, Expression] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Filter(Relation):
    """Some rows."""

    parent: Relation = field(repr=False)
    conditions: tuple[Expression, ...] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Aggregate(Relation):
    """Sums and counts, in all or by some columns."""

    parent: Relation = field(repr=False)
    by: tuple[str, ...]
    numbers: Mapping[str, Expression] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Join(Relation):
    """Pairs of rows."""

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
    """Every row with some values."""
    return Select({name: value.type for name, value in values.items()}, parent, dict(values))


def parents(relation: Relation) -> tuple[Relation, ...]:
    """What a relation is made of."""
    if isinstance(relation, Join | Union):
        return relation.left, relation.right
    return (relation.parent,) if isinstance(relation, Select | Filter | Aggregate) else ()


def expressions(relation: Relation) -> Iterator[Expression]:
    """The expressions that a relation itself has."""
    if isinstance(relation, Select):
        yield from relation.values.values()
    elif isinstance(relation, Filter):
        yield from relation.conditions
    elif isinstance(relation, Aggregate):
        yield from relation.numbers.values()
    elif isinstance(relation, Join):
        yield from relation.on


def walk(relation: Relation) -> Iterator[Relation]:
    """It and everything it is made of, each once."""
    waiting, seen = [relation], {id(relation)}
    while waiting:
        one = waiting.pop()
        yield one
        fresh = [part for part in parents(one) if id(part) not in seen]
        seen.update(map(id, fresh))
        waiting += fresh


def columns_of(*values: Expression) -> set[str]:
    """The names of the columns that expressions look at."""
    return {one.value for value in values for one in value.walk() if one.op == "column"}


def needed(relation: Relation) -> dict[int, set[str]]:
    """Which columns of each relation, by its id, a query really uses."""
    found: dict[int, set[str]] = {}

    def need(one: Relation, names: set[str]) -> None:
        if id(one) in found and names <= found[id(one)]:
            return
        found[id(one)] = names = found.get(id(one), set()) | names
        if isinstance(one, Select):
            need(one.parent, columns_of(*(one.values[name] for name in names)))
        elif isinstance(one, Filter):
            need(one.parent, names | columns_of(*one.conditions))
        elif isinstance(one, Aggregate):
            need(one.parent, set(one.by) | columns_of(*(one.numbers[name] for name in names if name in one.numbers)))
        elif isinstance(one, Join):
            used = names | columns_of(*one.on)
            need(one.left, used & set(one.left.columns))
            need(one.right, used & set(one.right.columns))
        elif isinstance(one, Union):
            need(one.left, names)
            need(one.right, names)

    need(relation, set(relation.columns))
    return found


def _wider(left: Mapping[str, Type], right: Mapping[str, Type]) -> dict[str, Type]:
    return {
        name: kind if kind == right[name] else replace(hull(kind, right[name]), total=kind.total and right[name].total)
        for name, kind in left.items()
    }
