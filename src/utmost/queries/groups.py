"""Statistics grouped by public keys: a GROUP BY whose groups are listed beforehand, up to millions of them.

The keys are a public table, one row each. The engine groups the private rows and joins the result to the keys, so that
every key has an answer, also one without rows, and no unlisted key shows. There is no branch for each key: a million
keys take about as long as the bare GROUP BY.

A value matches a key as in SQL's IS NOT DISTINCT FROM: a null, or NaN, matches the key null, if that is listed.

**Sensitivity.** A row is in one group, and contributes there what it contributes to a sum: see `contributions`. Of one
person at most `rows_each` rows are kept *in all groups together*, chosen by a keyed hash (`keep_rows`), among the rows
in a listed group. `group_bounds` handles bounds on the number of a person's groups, and of their rows in one group.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from utmost.backends.source import KEYS, Source, Statement
from utmost.errors import InvalidInput
from utmost.queries.cells import Cells, bin_column, bin_number
from utmost.queries.contributions import Contribution, any_not_null, is_truncated, keep_rows, ones, with_ids
from utmost.queries.expressions import values as expr
from utmost.queries.expressions.relations import Public, Relation, selected
from utmost.queries.expressions.types import BOOLEAN, DATE, FINITE, INT64, TEXT, UINT64, Type, integer
from utmost.queries.expressions.values import Expression, literal, nearest_single
from utmost.queries.group_bounds import ROW_HASH, GroupBounds, bound_contributions, people_in_groups, rows_with_hashes
from utmost.queries.keys import Keys
from utmost.queries.units import Unit

if TYPE_CHECKING:
    import pyarrow

LARGEST = 2**62
"""Sums by keys are clamped to this before they leave the engine."""
EXACT = 2**53
READ_AS = {"number": "float64", "boolean": "boolean", "date": "date"}


def grouped_statement(
    source: Source,
    unit: Unit,
    rows_each: int,
    keys: Keys,
    contributions: Mapping[str, Contribution],
    secret: bytes,
    within: Cells | None = None,
) -> Statement:
    """The sums of contributions for each public key, as a statement; nothing is read yet.

    Parameters
    ----------
    source : Source
        The table.
    unit : Unit
        Whose data are protected.
    rows_each : int
        Contribution bound: at most so many rows of one person take part in all groups together.
    keys : Keys
        The public keys; with `other`, rows that match none of them take part, too.
    contributions : mapping of str to Contribution
        What a row adds, by name: `ones`, `values` or `votes` of `contributions`.
    secret : bytes
        The data set's secret, for the keyed hash.
    within : Cells, optional
        Cells into which each group is divided; the cells of a group are adjacent in the result.
    """
    parts = dimensions(source, keys)
    table = with_ids(
        source,
        unit,
        {
            **{name: value for part in parts for name, value in part.columns.items()},
            **({} if within is None else within.keys),
            **{name: part.column for name, part in contributions.items()},
        },
        secret=secret,
    )
    table = table.filter(any_not_null(table, list(contributions)))
    placed, cell = _with_cells(table, parts, within, contributions, grouped=unit.id is None)
    listed, size = _key_table(parts), keys.size * (1 if within is None else within.size)
    columns_after = ("who", *contributions) if unit.id is not None else tuple(contributions)
    cells: Relation = placed.select(*columns_after, cell=cell)
    cells = cells.filter(expr.is_not_null(cells["cell"]))
    if unit.id is not None and not is_truncated(unit, rows_each):
        deciding = () if _is_one_count(contributions) else tuple(contributions)
        cells = keep_rows(cells, ("cell", *deciding), rows_each, secret)
    if unit.id is None and keys.other is None:  # one row for each cell already
        return source.statement(
            cells.select("cell", **{name: clamp_to_int64(cells[name]) for name in contributions}), listed, size
        )
    sums = cells.aggregate(["cell"], **{name: expr.total(cells[name]) for name in contributions})
    return source.statement(
        sums.select("cell", **{name: clamp_to_int64(sums[name]) for name in contributions}), listed, size
    )


def bounded_statement(
    source: Source,
    unit: Unit,
    rows_each: int,
    keys: Keys,
    contributions: Mapping[str, Contribution],
    secret: bytes,
    bounds: GroupBounds,
    of_people: bool = False,
) -> Statement:
    """The sums of contributions for each public key, with bounds on each person's groups and rows in a group.

    The other parameters are those of `grouped_statement`.

    Parameters
    ----------
    unit : Unit
        Whose data are protected, and whether conditions apply before rows and groups are chosen.
    bounds : GroupBounds
        At most so many groups of a person, and so many of their rows in each.
    of_people : bool
        Whether to count people, with any of their rows.
    """
    parts = dimensions(source, keys)
    columns = {name: value for part in parts for name, value in part.columns.items()}
    if of_people:
        table = with_ids(source, unit, {**columns, **{name: part.column for name, part in contributions.items()}})
        table = table if unit.truncate == "table" else table.filter(any_not_null(table, list(contributions)))
    else:
        table = rows_with_hashes(source, unit, bounds, columns, contributions, secret)
    carried = (*contributions, *((ROW_HASH,) if ROW_HASH in table.columns else ()))
    placed, cell = _with_cells(table, parts, None, carried, grouped=False)
    cells: Relation = placed.select("who", *carried, cell=cell)
    cells = cells.filter(expr.is_not_null(cells["cell"]))
    if of_people:
        cells = people_in_groups(cells, bounds, next(iter(contributions)), secret)
    else:
        cells = bound_contributions(cells, bounds, unit, rows_each, tuple(contributions), secret)
    sums = cells.aggregate(["cell"], **{name: expr.total(cells[name]) for name in contributions})
    group_sums = sums.select("cell", **{name: clamp_to_int64(sums[name]) for name in contributions})
    return source.statement(group_sums, _key_table(parts), keys.size)


def marginal_statement(
    source: Source,
    unit: Unit,
    rows_each: int,
    keys: Keys,
    tables: Sequence[tuple[int, ...]],
    where: Any,
    secret: bytes,
) -> Statement:
    """The counts of all cells of several marginals, one marginal after the other; nothing is read yet.

    Every column is looked up once, for all marginals; a row with an unlisted value in one column is in no marginal. The
    other parameters are those of `grouped_statement`.

    Parameters
    ----------
    keys : Keys
        The public values of all columns, as a product.
    tables : sequence of tuple of int
        The columns of each marginal, by their positions among the keys.
    where : str, optional
        Which rows take part.
    """
    parts = dimensions(source, keys)
    columns = {name: value for part in parts for name, value in part.columns.items()}
    table = with_ids(source, unit, {**columns, "count": ones(source, where).column}, secret=secret)
    raw, lists = _with_listed_values(table.filter(any_not_null(table, ["count"])), parts)
    if unit.id is not None and not is_truncated(unit, rows_each):
        raw = keep_rows(raw, tuple(name for name in raw.columns if name != "who"), rows_each, secret)
    query: Relation | None = None
    start = 0
    for places in tables:
        here = [parts[i] for i in places]
        names = [name for part in here for name in ([part.place] if part.cuts is not None else part.columns)]
        placed, cell = _cells_of(raw.aggregate(names, count=expr.count()), here, lists)
        one = placed.select("count", cell=cell + start)
        query = one if query is None else query.union(one)
        start += math.prod(part.size for part in here)
    assert query is not None
    sums = query.aggregate(["cell"], count=expr.total(query["count"]))  # unlisted values come in several rows
    return source.statement(sums.select("cell", count=clamp_to_int64(sums["count"])), _key_table(parts), start)


def _with_listed_values(table: Relation, parts: Sequence[Dimension]) -> tuple[Relation, dict[int, Relation]]:
    """The rows with a listed value in every dimension, as raw values or bins; and the lists by their index.

    Each list is a semi-join of its own: in one join, engines might compute the product of the lists first.
    """
    binned = {part.place: part.number(table) for part in parts if part.cuts is not None}
    raw = {name: table[name] for part in parts if part.cuts is None for name in part.columns}
    rows: Relation = selected(table, {**({"who": table["who"]} if "who" in table.columns else {}), **binned, **raw})
    lists = _lists(parts)
    for part in parts:
        if part.other:
            continue
        if part.cuts is None:
            mine = lists[part.index]
            rows = rows.join(mine, part.matches(rows, mine), "semi")
        else:
            rows = rows.filter(expr.is_not_null(rows[part.place]))
    return rows, lists


def _cells_of(
    table: Relation, parts: Sequence[Dimension], lists: Mapping[int, Relation]
) -> tuple[Relation, Expression]:
    """Add to each row its positions in all lists, and compute its cell."""
    for part in parts:
        if part.cuts is None:
            table = _with_places(table, part, lists[part.index])
    cell: Expression = literal(0)
    for part in parts:
        place = table[part.place]
        cell = cell * part.size + (expr.coalesce(place, literal(part.size - 1)) if part.other else place)
    return table, cell


def _lists(parts: Sequence[Dimension]) -> dict[int, Relation]:
    """The listed values of every dimension without bins, with their positions, by the index of the dimension."""
    listed = _key_table(parts)
    kinds = {name: key_type(kind) for name, kind in zip(listed.column_names, listed.schema.types, strict=True)}
    most = max((part.size for part in parts), default=1)
    every = Public({**kinds, "dimension": integer(0, len(parts)), "place": integer(0, most - 1)}, KEYS)
    lists: dict[int, Relation] = {}
    for part in parts:
        if part.cuts is None:
            mine = every.filter(expr.compare("=", every["dimension"], literal(part.index)))
            names = {part.place: mine["place"], **{f"of_{name}": mine[name] for name in part.columns}}
            lists[part.index] = selected(mine, names)
    return lists


def _with_places(table: Relation, part: Dimension, listed: Relation) -> Relation:
    """Replace the values of one dimension by their position in its list.

    Rows with an unlisted value get null if the dimension has `other`, and are left out if not.
    """
    names = [name for name in table.columns if name not in part.columns]
    return table.join(listed, part.matches(table, listed), "left" if part.other else "inner").select(*names, part.place)


def _with_cells(
    table: Relation,
    parts: Sequence[Dimension],
    within: Cells | None,
    contributions: Collection[str],
    grouped: bool,
) -> tuple[Relation, Expression]:
    """The rows with their cell; rows with an unlisted value are left out, unless there is `other`.

    With `grouped`, contributions of equal values are added up first, so that each distinct value is looked up once.
    """
    other_columns = {name: table[name] for name in table.columns if name == "who" or name in contributions}
    binned = {part.place: part.number(table) for part in parts if part.cuts is not None}
    raw = {name: table[name] for part in parts if part.cuts is None for name in part.columns}
    inner = {} if within is None else {"inside": within.number(table)}
    rows: Relation = selected(table, {**other_columns, **binned, **raw, **inner})
    if grouped:
        names = [*binned, *raw, *inner]
        rows = rows.aggregate(names, **{name: expr.total(rows[name]) for name in contributions})
    rows, cell = _cells_of(rows, parts, _lists(parts))
    if within is not None:
        cell = cell * within.size + rows["inside"]
    return rows, cell


def key_type(kind: Any) -> Type:
    """The type of the expression for a public column of an Arrow type."""
    types = {"string": TEXT, "bool": BOOLEAN, "date32[day]": DATE, "double": FINITE}
    types |= {"int64": integer(*INT64), "uint64": integer(*UINT64, "uint64")}
    return types[str(kind)]


def _is_one_count(contributions: Mapping[str, Contribution]) -> bool:
    return len(contributions) == 1 and all(part.is_count for part in contributions.values())


def _placeholder(kind: Type) -> Expression:
    """An arbitrary value of a type, in place of null where another column says whether it is null."""
    values = {"text": "", "integer": 0, "float": 0.0, "boolean": False, "date": datetime.date(1970, 1, 1)}
    return literal(values[kind.kind])


def clamp_to_int64(total: Expression) -> Expression:
    """A sum clamped to 64 bits, with room for noise; 0 where it is null."""
    return expr.clamp(expr.coalesce(total, literal(0)), -LARGEST, LARGEST)


# ---- keys ----


@dataclass(frozen=True)
class Dimension:
    """One factor of the product that makes the keys: one column, or all of them if combinations are listed.

    Attributes
    ----------
    index : int
        The position of the factor.
    columns : mapping of str to Expression
        The columns of the table that are looked up, in the type in which they are compared.
    listed : pyarrow.Table, optional
        The same columns of the keys; None for bins.
    cuts : tuple of float, optional
        The edges of bins; None for lists.
    other : bool
        Whether unlisted values have a position, the last.
    """

    index: int
    columns: Mapping[str, Expression] = field(repr=False)
    listed: pyarrow.Table | None
    cuts: tuple[float, ...] | None
    other: bool

    @property
    def size(self) -> int:
        """The number of positions."""
        listed = len(self.cuts) - 1 if self.cuts is not None else self.listed.num_rows if self.listed is not None else 0
        return listed + self.other

    @property
    def place(self) -> str:
        """The name of the column with the positions."""
        return f"place{self.index}"

    def number(self, table: Relation) -> Expression:
        """The index of the bin of a row; null outside of all bins."""
        assert self.cuts is not None
        return bin_number(table[next(iter(self.columns))], self.cuts)

    def matches(self, table: Relation, lists: Relation) -> list[Expression]:
        """Conditions that each column IS NOT DISTINCT FROM its key, as equalities, so that engines use a hash join."""
        assert self.listed is not None
        conditions = []
        for name in self.columns:
            mine, key = table[name], lists[f"of_{name}"]
            if not self.listed[name].null_count:
                conditions.append(expr.compare("=", mine, key))
                continue
            nothing = _placeholder(mine.type)
            conditions.append(expr.compare("=", expr.is_null(mine), expr.is_null(key)))
            conditions.append(expr.compare("=", expr.coalesce(mine, nothing), expr.coalesce(key, nothing)))
        return conditions


def dimensions(source: Source, keys: Keys) -> list[Dimension]:
    """The factors of the product that makes the keys, with the table's columns in comparable types."""
    import pyarrow

    other = keys.other is not None
    groups = [[name] for name in keys.names] if keys.product else [list(keys.names)]
    arrays, parts = dict(keys.columns), []
    for i, names in enumerate(groups):
        named = {name: f"key{i}_{j}" for j, name in enumerate(names)}
        if names[0] in keys.bins:
            value, cuts = bin_column(source, names[0], keys.bins[names[0]].edges)
            parts.append(Dimension(i, {named[names[0]]: value}, None, cuts, other))
            continue
        matched = {name: comparable_column(source, name, pyarrow.chunked_array([arrays[name]])) for name in names}
        listed = pyarrow.table({named[name]: column for name, (_, column) in matched.items()})
        if listed.group_by(listed.column_names).aggregate([([], "count_all")]).num_rows < listed.num_rows:
            raise InvalidInput("two keys are one and the same, or are compared as one; list every key once.")
        parts.append(Dimension(i, {named[name]: value for name, (value, _) in matched.items()}, listed, None, other))
    return parts


def _key_table(parts: Sequence[Dimension]) -> pyarrow.Table:
    """All lists in one table: for each row the index of its list, its key, and its position there.

    In a row, the columns of the other lists are null. So every engine gets one table, however many lists there are.
    """
    import pyarrow

    tables = [
        part.listed.append_column("dimension", pyarrow.array(np.full(part.listed.num_rows, part.index))).append_column(
            "place", pyarrow.array(np.arange(part.listed.num_rows))
        )
        for part in parts
        if part.listed is not None
    ]
    if not tables:  # only bins, without a list to look up
        return pyarrow.table({"dimension": np.zeros(1, dtype=np.int64), "place": np.zeros(1, dtype=np.int64)})
    return pyarrow.concat_tables(tables, promote_options="default").combine_chunks()


def comparable_column(source: Source, name: str, column: Any) -> tuple[Expression, Any]:
    """A column and its keys, cast to one type in which different values stay different."""
    import pyarrow

    types = pyarrow.types
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    value, kind = source.column(name), _kind(column.type)
    if value.type.undeclared and kind in READ_AS:
        value = expr.try_cast(value, READ_AS[kind])
    elif kind is None or ("number" if value.type.is_number else value.type.kind) != kind:
        raise InvalidInput(
            f"column {name!r} holds {value.type}, and its keys are {column.type}; give keys as they stand in the "
            f"column, or open the table with types={{{name!r}: ...}}."
        )
    if kind != "number":
        kinds = {"text": pyarrow.string(), "boolean": pyarrow.bool_(), "date": pyarrow.date32()}
        return value, column.cast(kinds[kind])
    if value.type.kind == "integer":
        return value, _cast(name, column, pyarrow.uint64() if value.type.is_wide else pyarrow.int64())
    floats = _cast(name, column, pyarrow.float64())
    numbers = floats.to_numpy()
    known_numbers = numbers[floats.is_valid().to_numpy()]
    if not np.isfinite(known_numbers).all():
        raise InvalidInput(f"a key of {name!r} is infinite or NaN; give finite numbers, and None for null.")
    if (value.op == "read" or value.type.rounded) and (np.abs(known_numbers) >= EXACT).any():
        raise InvalidInput(
            f"a key of {name!r} is compared as a floating-point number, which does not tell whole numbers of 2^53 or "
            "more apart; give smaller ones, or make it a column of 64-bit whole numbers."
        )
    if value.type.single:
        numbers = np.array([nearest_single(x) for x in numbers.tolist()])
    keys = pyarrow.array(numbers + 0.0, pyarrow.float64(), mask=~floats.is_valid().to_numpy())
    return expr.with_one_zero(value), keys


def _kind(kind: Any) -> str | None:
    import pyarrow

    types = pyarrow.types
    if types.is_boolean(kind):
        return "boolean"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "text"
    if types.is_date(kind):
        return "date"
    return "number" if types.is_integer(kind) or types.is_floating(kind) else None


def _cast(name: str, column: Any, target: Any) -> Any:
    import pyarrow

    try:
        return column.cast(target)
    except pyarrow.ArrowInvalid:
        odd = next(place for place in range(len(column)) if not _fits(column[place], target))
    raise InvalidInput(
        f"key {odd + 1} of {name!r} is not a number that the column can hold, or that is compared exactly: it holds "
        f"{target}; give keys as they stand in the column."
    )


def _fits(value: Any, target: Any) -> bool:
    import pyarrow

    try:
        value.cast(target)
    except pyarrow.ArrowInvalid:
        return False
    return True
