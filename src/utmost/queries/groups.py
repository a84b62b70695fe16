"""Statistics for each of many public keys: a group-by whose groups are listed beforehand, up to millions of them.

The keys are a public table, one row each. The engine groups the private rows and joins what it finds to the keys, so
that every key has a row in the result, also one that nobody has, and no row tells of a key that is not listed. There is
no branch for each key: a million keys take about as long as the bare GROUP BY.

A value matches a key as in SQL's IS NOT DISTINCT FROM: a null, or NaN, matches the key null, if that is listed.

**How far one neighbour moves it.** A row is in one group, and contributes there what it contributes to a sum:
see `contributions`. Of one person at most `rows_each` rows are kept *in all groups together*, chosen by a keyed hash
(`keep_rows`), among the rows that are in a listed group; `group_bounds` says what is done where it is stated in how
many groups a person counts, and with how many rows in one.
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
from utmost.queries.contributions import Contribution, any_known, is_truncated, keep_rows, ones, with_ids
from utmost.queries.expressions import values as made
from utmost.queries.expressions.relations import Public, Relation, selected
from utmost.queries.expressions.types import BOOLEAN, DATE, FINITE, INT64, TEXT, UINT64, Type, integer
from utmost.queries.expressions.values import Expression, literal, nearest_single
from utmost.queries.group_bounds import ROW_HASH, GroupBounds, bounded, people_in_groups, rows_with_hashes
from utmost.queries.keys import Keys
from utmost.queries.units import Unit

if TYPE_CHECKING:
    import pyarrow

LARGEST = 2**62
"""Sums are clamped to this before they leave the engine, in which they may be of any size."""
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
    """The sums of contributions for each key, as a statement for `Source.integer_columns`; nothing is read yet.

    Parameters
    ----------
    source : the table
    unit : whose data are protected
    rows_each : how many rows of one person take part in all, at most
    keys : the public keys; with `other`, rows that match none of them take part, too
    contributions : what a row adds, by name: `ones`, `values` or `votes` of `contributions`
    secret : the data set's, for the keyed hash
    within : cells that each group is divided into, if it is: the cells of a group follow each other
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
    table = table.filter(any_known(table, list(contributions)))
    placed, cell = _placed(table, parts, within, contributions, grouped=unit.id is None)
    listed, size = _listed(parts), keys.size * (1 if within is None else within.size)
    kept = ("who", *contributions) if unit.id is not None else tuple(contributions)
    cells: Relation = placed.select(*kept, cell=cell)
    cells = cells.filter(made.is_known(cells["cell"]))
    if unit.id is not None and not is_truncated(unit, rows_each):
        alike = () if _is_one_count(contributions) else tuple(contributions)
        cells = keep_rows(cells, ("cell", *alike), rows_each, secret)
    if unit.id is None and keys.other is None:  # one row for each cell already
        return source.statement(
            cells.select("cell", **{name: clamped(cells[name]) for name in contributions}), listed, size
        )
    sums = cells.aggregate(["cell"], **{name: made.total(cells[name]) for name in contributions})
    return source.statement(sums.select("cell", **{name: clamped(sums[name]) for name in contributions}), listed, size)


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
    """The same of people who are in few groups, with few rows in one.

    Parameters
    ----------
    source, rows_each, keys, contributions, secret : as for `grouped_statement`
    unit : whose data are protected, and whether conditions come before rows and groups are chosen
    bounds : how many groups of a person, and how many rows in each
    of_people : whether people are counted, with any of their rows
    """
    parts = dimensions(source, keys)
    columns = {name: value for part in parts for name, value in part.columns.items()}
    if of_people:
        table = with_ids(source, unit, {**columns, **{name: part.column for name, part in contributions.items()}})
        table = table if unit.truncate == "table" else table.filter(any_known(table, list(contributions)))
    else:
        table = rows_with_hashes(source, unit, bounds, columns, contributions, secret)
    carried = (*contributions, *((ROW_HASH,) if ROW_HASH in table.columns else ()))
    placed, cell = _placed(table, parts, None, carried, grouped=False)
    cells: Relation = placed.select("who", *carried, cell=cell)
    cells = cells.filter(made.is_known(cells["cell"]))
    if of_people:
        cells = people_in_groups(cells, bounds, next(iter(contributions)), secret)
    else:
        cells = bounded(cells, bounds, unit, rows_each, tuple(contributions), secret)
    sums = cells.aggregate(["cell"], **{name: made.total(cells[name]) for name in contributions})
    each = sums.select("cell", **{name: clamped(sums[name]) for name in contributions})
    return source.statement(each, _listed(parts), keys.size)


def marginal_statement(
    source: Source,
    unit: Unit,
    rows_each: int,
    keys: Keys,
    tables: Sequence[tuple[int, ...]],
    where: Any,
    secret: bytes,
) -> Statement:
    """How many rows each cell of several tables has, one table after the other; nothing is read yet.

    Every column is looked up once, for all tables; a row that is unlisted in one column is in no table.

    Parameters
    ----------
    source, unit, rows_each, keys, secret : as for `grouped_statement`; keys are a product
    tables : the columns of each table, by their places among the keys
    where : which rows take part
    """
    parts = dimensions(source, keys)
    columns = {name: value for part in parts for name, value in part.columns.items()}
    table = with_ids(source, unit, {**columns, "count": ones(source, where).column}, secret=secret)
    raw, lists = _with_listed_values(table.filter(any_known(table, ["count"])), parts)
    if unit.id is not None and not is_truncated(unit, rows_each):
        raw = keep_rows(raw, tuple(name for name in raw.columns if name != "who"), rows_each, secret)
    query: Relation | None = None
    start = 0
    for places in tables:
        here = [parts[i] for i in places]
        names = [name for part in here for name in ([part.place] if part.cuts is not None else part.columns)]
        placed, cell = _cells_of(raw.aggregate(names, count=made.count()), here, lists)
        one = placed.select("count", cell=cell + start)
        query = one if query is None else query.union(one)
        start += math.prod(part.size for part in here)
    assert query is not None
    sums = query.aggregate(["cell"], count=made.total(query["count"]))  # what is not listed comes in several rows
    return source.statement(sums.select("cell", count=clamped(sums["count"])), _listed(parts), start)


def _with_listed_values(table: Relation, parts: Sequence[Dimension]) -> tuple[Relation, dict[int, Relation]]:
    """The rows that have a listed value in every dimension, as raw values or bins; and the lists by their number.

    Each list is a filter of its own (a semi-join): joined all at once, engines may take the product of the lists first.
    """
    binned = {part.place: part.number(table) for part in parts if part.cuts is not None}
    raw = {name: table[name] for part in parts if part.cuts is None for name in part.columns}
    rows: Relation = selected(table, {**({"who": table["who"]} if "who" in table.columns else {}), **binned, **raw})
    lists = _lists(parts)
    for part in parts:
        if part.other:
            continue
        if part.cuts is None:
            mine = lists[part.number_of_it]
            rows = rows.join(mine, part.matches(rows, mine), "semi")
        else:
            rows = rows.filter(made.is_known(rows[part.place]))
    return rows, lists


def _cells_of(
    table: Relation, parts: Sequence[Dimension], lists: Mapping[int, Relation]
) -> tuple[Relation, Expression]:
    """Groups of values with their places, and the cell of each."""
    for part in parts:
        if part.cuts is None:
            table = _with_places(table, part, lists[part.number_of_it])
    cell: Expression = literal(0)
    for part in parts:
        place = table[part.place]
        cell = cell * part.size + (made.coalesce(place, literal(part.size - 1)) if part.other else place)
    return table, cell


def _lists(parts: Sequence[Dimension]) -> dict[int, Relation]:
    """The listed values of every dimension that has a list, with their places, by its number."""
    listed = _listed(parts)
    kinds = {name: key_type(kind) for name, kind in zip(listed.column_names, listed.schema.types, strict=True)}
    most = max((part.size for part in parts), default=1)
    every = Public({**kinds, "dimension": integer(0, len(parts)), "place": integer(0, most - 1)}, KEYS)
    lists: dict[int, Relation] = {}
    for part in parts:
        if part.cuts is None:
            mine = every.filter(made.compare("=", every["dimension"], literal(part.number_of_it)))
            names = {part.place: mine["place"], **{f"of_{name}": mine[name] for name in part.columns}}
            lists[part.number_of_it] = selected(mine, names)
    return lists


def _with_places(table: Relation, part: Dimension, listed: Relation) -> Relation:
    """The rows with their place in one dimension instead of their values; what is not listed has none, or leaves."""
    kept = [name for name in table.columns if name not in part.columns]
    return table.join(listed, part.matches(table, listed), "left" if part.other else "inner").select(*kept, part.place)


def _placed(
    table: Relation,
    parts: Sequence[Dimension],
    within: Cells | None,
    contributions: Collection[str],
    grouped: bool,
) -> tuple[Relation, Expression]:
    """The rows with a place in every dimension, and their cell; rows that have none in some are left out.

    For rows, equal values are added up first, so that each different one is looked up once.
    """
    others = {name: table[name] for name in table.columns if name == "who" or name in contributions}
    binned = {part.place: part.number(table) for part in parts if part.cuts is not None}
    raw = {name: table[name] for part in parts if part.cuts is None for name in part.columns}
    inner = {} if within is None else {"inside": within.number(table)}
    rows: Relation = selected(table, {**others, **binned, **raw, **inner})
    if grouped:
        names = [*binned, *raw, *inner]
        rows = rows.aggregate(names, **{name: made.total(rows[name]) for name in contributions})
    rows, cell = _cells_of(rows, parts, _lists(parts))
    if within is not None:
        cell = cell * within.size + rows["inside"]
    return rows, cell


def key_type(kind: Any) -> Type:
    """The type of a public column, by its Arrow type."""
    known = {"string": TEXT, "bool": BOOLEAN, "date32[day]": DATE, "double": FINITE}
    known |= {"int64": integer(*INT64), "uint64": integer(*UINT64, "uint64")}
    return known[str(kind)]


def _is_one_count(contributions: Mapping[str, Contribution]) -> bool:
    return len(contributions) == 1 and all(part.is_count for part in contributions.values())


def _nothing(kind: Type) -> Expression:
    """Any one value of a type, to stand for null beside a column that says so."""
    values = {"text": "", "integer": 0, "float": 0.0, "boolean": False, "date": datetime.date(1970, 1, 1)}
    return literal(values[kind.kind])


def clamped(total: Expression) -> Expression:
    """A sum cut to what 64 bits hold, with room for noise; 0 where there is none."""
    return made.clamp(made.coalesce(total, literal(0)), -LARGEST, LARGEST)


# ---- keys ----


@dataclass(frozen=True)
class Dimension:
    """One of the lists whose product the keys are: of one column, or of all where they are listed by combination.

    Attributes
    ----------
    number_of_it : which of the lists it is
    columns : the table's columns that are looked up, by name, in the type they are compared in
    listed : the same columns of the keys; None of bins
    cuts : the edges of bins; None of lists
    other : whether what is not listed has a place, the last
    """

    number_of_it: int
    columns: Mapping[str, Expression] = field(repr=False)
    listed: pyarrow.Table | None
    cuts: tuple[float, ...] | None
    other: bool

    @property
    def size(self) -> int:
        """How many places there are."""
        listed = len(self.cuts) - 1 if self.cuts is not None else self.listed.num_rows if self.listed is not None else 0
        return listed + self.other

    @property
    def place(self) -> str:
        """What the column of places is called."""
        return f"place{self.number_of_it}"

    def number(self, table: Relation) -> Expression:
        """Which bin a row is in; null for none."""
        assert self.cuts is not None
        return bin_number(table[next(iter(self.columns))], self.cuts)

    def matches(self, table: Relation, lists: Relation) -> list[Expression]:
        """That each column IS NOT DISTINCT FROM its key, in equalities: else PostgreSQL would try every pair."""
        assert self.listed is not None
        found = []
        for name in self.columns:
            mine, key = table[name], lists[f"of_{name}"]
            if not self.listed[name].null_count:
                found.append(made.compare("=", mine, key))
                continue
            nothing = _nothing(mine.type)
            found.append(made.compare("=", made.is_null(mine), made.is_null(key)))
            found.append(made.compare("=", made.coalesce(mine, nothing), made.coalesce(key, nothing)))
        return found


def dimensions(source: Source, keys: Keys) -> list[Dimension]:
    """The lists whose product the keys are, with the table's columns in the types they are compared in."""
    import pyarrow

    other = keys.other is not None
    groups = [[name] for name in keys.names] if keys.product else [list(keys.names)]
    arrays, found = dict(keys.columns), []
    for i, names in enumerate(groups):
        named = {name: f"key{i}_{j}" for j, name in enumerate(names)}
        if names[0] in keys.bins:
            value, cuts = bin_column(source, names[0], keys.bins[names[0]].edges)
            found.append(Dimension(i, {named[names[0]]: value}, None, cuts, other))
            continue
        matched = {name: one_column(source, name, pyarrow.chunked_array([arrays[name]])) for name in names}
        listed = pyarrow.table({named[name]: column for name, (_, column) in matched.items()})
        if listed.group_by(listed.column_names).aggregate([([], "count_all")]).num_rows < listed.num_rows:
            raise InvalidInput("two keys are one and the same, or are compared as one; list every key once.")
        found.append(Dimension(i, {named[name]: value for name, (value, _) in matched.items()}, listed, None, other))
    return found


def _listed(parts: Sequence[Dimension]) -> pyarrow.Table:
    """All lists in one table, one below the other: which list a row is of, its key, and its place there.

    Columns of the other lists are null in it. One table is what every engine is given, however many lists there are.
    """
    import pyarrow

    tables = [
        part.listed.append_column(
            "dimension", pyarrow.array(np.full(part.listed.num_rows, part.number_of_it))
        ).append_column("place", pyarrow.array(np.arange(part.listed.num_rows)))
        for part in parts
        if part.listed is not None
    ]
    if not tables:  # bins alone: there is nothing to look up
        return pyarrow.table({"dimension": np.zeros(1, dtype=np.int64), "place": np.zeros(1, dtype=np.int64)})
    return pyarrow.concat_tables(tables, promote_options="default").combine_chunks()


def one_column(source: Source, name: str, column: Any) -> tuple[Expression, Any]:
    """A column and its keys in one type, in which no two values become one that should not."""
    import pyarrow

    known = pyarrow.types
    if known.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    value, kind = source.column(name), _kind(column.type)
    if value.type.undeclared and kind in READ_AS:
        value = made.try_cast(value, READ_AS[kind])
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
    return made.one_zero(value), keys


def _kind(kind: Any) -> str | None:
    import pyarrow

    known = pyarrow.types
    if known.is_boolean(kind):
        return "boolean"
    if known.is_string(kind) or known.is_large_string(kind) or known.is_string_view(kind):
        return "text"
    if known.is_date(kind):
        return "date"
    return "number" if known.is_integer(kind) or known.is_floating(kind) else None


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
