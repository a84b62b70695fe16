"""Statistics for each of many public keys: a group-by whose groups are listed beforehand, up to millions of them.

The keys are a public table, one row each. The engine groups the private rows and joins what it finds to the keys, so
that every key has a row in the result, also one that nobody has, and no row tells of a key that is not listed. There is
no branch for each key: a million keys take about as long as the bare GROUP BY.

A value matches a key as in SQL's IS NOT DISTINCT FROM: a null, or NaN, matches the key null, if that is listed.

**How far one neighbour moves it.** A row is in one group, and contributes there what it contributes to a sum:
see `contributions`. Of one person at most `rows_each` rows are kept *in all groups together*, chosen by a keyed hash
(`keep_rows`), among the rows that are in a listed group.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from utmost.errors import InvalidInput
from utmost.release.cells import Cells, bin_column, bin_number
from utmost.release.contributions import Contribution, keep_rows, ones, require_id
from utmost.release.keys import Keys
from utmost.release.source import KEYS, Source, Statement, kind_of, nearest_single
from utmost.release.units import Unit

if TYPE_CHECKING:
    import pyarrow

LARGEST = 2**62
"""Sums are clamped to this before they leave the engine, in which they may be of any size."""
EXACT = 2**53
READ_AS = {"number": "float64", "truth": "boolean", "date": "date"}


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
    require_id(source, unit.id)
    parts = dimensions(source, keys)
    table = source.table.select(
        **({"who": source.table[unit.id]} if unit.id is not None else {}),
        **{name: value for part in parts for name, value in part.columns.items()},
        **({} if within is None else within.keys),
        **{name: part.column for name, part in contributions.items()},
    )
    table = table.filter(_any_present(table, contributions))
    kept = table if unit.id is None else table.filter(table.who.notnull())
    placed, cell = _placed(source, kept, parts, within, contributions, grouped=unit.id is None)
    listed, size = _listed(parts), keys.size * (1 if within is None else within.size)
    placed = placed.mutate(cell=cell.cast("int64"))
    placed = placed.filter(placed.cell.notnull())
    if unit.id is not None:
        alike = () if _is_one_count(contributions) else tuple(contributions)
        placed = keep_rows(placed.select("who", *contributions, "cell"), ("cell", *alike), rows_each, secret)
    if unit.id is None and keys.other is None:  # one row for each cell already
        found = placed.mutate(**{name: clamped(placed[name].fill_null(0)) for name in contributions})
    else:
        found = placed.group_by("cell").aggregate(
            **{name: clamped(placed[name].sum().fill_null(0)) for name in contributions}
        )
    return source.statement(found.select("cell", *contributions), listed, size)


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
    import ibis

    require_id(source, unit.id)
    parts = dimensions(source, keys)
    count = {"count": ones(source, where)}
    table = source.table.select(
        **({"who": source.table[unit.id]} if unit.id is not None else {}),
        **{name: value for part in parts for name, value in part.columns.items()},
        count=count["count"].column,
    )
    table = table.filter(_any_present(table, count))
    kept = table if unit.id is None else table.filter(table.who.notnull())
    raw, lists = _with_listed_values(source, kept, parts)
    if unit.id is not None:
        raw = keep_rows(raw, tuple(name for name in raw.columns if name != "who"), rows_each, secret)
    found, start = [], 0
    for columns in tables:
        here = [parts[i] for i in columns]
        names = [name for part in here for name in ([part.place] if part.cuts is not None else part.columns)]
        one = raw.group_by(names).aggregate(count=raw.count()) if names else raw.aggregate(count=raw.count())
        placed, cell = _cells_of(one, here, lists)
        found.append(placed.select(cell=(cell + start).cast("int64"), count=placed["count"].cast("int64")))
        start += math.prod(part.size for part in here)
    query = found[0] if len(found) == 1 else ibis.union(*found, distinct=False)
    query = query.group_by("cell").aggregate(count=query["count"].sum())  # what is not listed comes in several rows
    return source.statement(query.select("cell", "count"), _listed(parts), start)


def _with_listed_values(source: Source, table: Any, parts: Sequence[Dimension]) -> tuple[Any, dict[int, Any]]:
    """The rows that have a listed value in every dimension, as raw values or bins; and the lists by their number.

    Each list is a filter of its own (a semi-join): joined all at once, engines may take the product of the lists first.
    """
    binned = {part.place: part.number(table) for part in parts if part.cuts is not None}
    raw = {name: table[name] for part in parts if part.cuts is None for name in part.columns}
    table = table.select(**({"who": table.who} if "who" in table.columns else {}), **binned, **raw)
    lists = {}
    for part in parts:
        if part.cuts is None:
            lists[part.number_of_it] = mine = _list_of(part, ibis_keys(source, _listed(parts)))
            if not part.other:
                table = table.semi_join(mine, part.matches(table, mine))
        elif not part.other:
            table = table.filter(table[part.place].notnull())
    return table, lists


def _cells_of(table: Any, parts: Sequence[Dimension], lists: Mapping[int, Any]) -> tuple[Any, Any]:
    """Groups of values with their places, and the cell of each."""
    import ibis

    for part in parts:
        if part.cuts is None:
            table = _with_places(table, part, lists[part.number_of_it])
    cell: Any = ibis.literal(0, "int64")
    for part in parts:
        place = table[part.place]
        cell = cell * part.size + (place.fill_null(part.size - 1) if part.other else place)
    return table, cell


def _list_of(part: Dimension, lists: Any) -> Any:
    """The listed values of one dimension, with their places."""
    mine = lists.filter(lists.dimension == part.number_of_it)
    return mine.select(**{part.place: mine.place, **{f"of_{name}": mine[name] for name in part.columns}})


def _with_places(table: Any, part: Dimension, listed: Any) -> Any:
    """The rows with their place in one dimension instead of their values; what is not listed has none, or leaves."""
    kept = [name for name in table.columns if name not in part.columns]
    table = table.join(listed, part.matches(table, listed), how="left" if part.other else "inner")
    return table.select(*kept, part.place)


def _placed(
    source: Source,
    table: Any,
    parts: Sequence[Dimension],
    within: Cells | None,
    contributions: Mapping[str, Contribution],
    grouped: bool,
) -> tuple[Any, Any]:
    """The rows with a place in every dimension, and their cell; rows that have none in some are left out.

    For rows, equal values are added up first, so that each different one is looked up once.
    """
    others = {name: table[name] for name in table.columns if name == "who" or name in contributions}
    binned = {part.place: part.number(table) for part in parts if part.cuts is not None}
    raw = {name: table[name] for part in parts if part.cuts is None for name in part.columns}
    inner = {} if within is None else {"inside": within.number(table)}
    table = table.select(**others, **binned, **raw, **inner)
    if grouped:
        names = [*binned, *raw, *inner]
        table = table.group_by(names).aggregate(**{name: table[name].sum() for name in contributions})
    lists = {}
    if any(part.cuts is None for part in parts):
        every = ibis_keys(source, _listed(parts))
        lists = {part.number_of_it: _list_of(part, every) for part in parts if part.cuts is None}
    table, cell = _cells_of(table, parts, lists)
    if within is not None:
        cell = cell * within.size + table.inside
    return table, cell


def ibis_keys(source: Source, listed: pyarrow.Table) -> Any:
    """The keys as an Ibis table of the source's engine; `Source.cursor` puts them there for one statement."""
    import ibis

    schema = ibis.schema(listed.schema)
    return ibis.expr.operations.DatabaseTable(name=KEYS, schema=schema, source=source.connection).to_expr()


def _any_present(table: Any, contributions: Mapping[str, Contribution]) -> Any:
    import ibis

    taking_part = ibis.literal(False)
    for name in contributions:
        taking_part = taking_part | table[name].notnull()
    return taking_part


def _is_one_count(contributions: Mapping[str, Contribution]) -> bool:
    return len(contributions) == 1 and all(part.is_count for part in contributions.values())


def _nothing(kind: Any) -> Any:
    """Any one value of a type, to stand for null beside a column that says so."""
    import ibis

    values = {"text": "", "number": 0, "truth": False, "date": datetime.date(1970, 1, 1)}
    return ibis.literal(values[kind_of(kind)], kind)


def clamped(total: Any) -> Any:
    """A sum cut to what 64 bits hold, with room for noise."""
    import ibis

    low, high = ibis.literal(-LARGEST, "int64"), ibis.literal(LARGEST, "int64")
    return ibis.ifelse(total < low, low, ibis.ifelse(total > high, high, total)).cast("int64")


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
    columns: Mapping[str, Any] = field(repr=False)
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

    def number(self, table: Any) -> Any:
        """Which bin a row is in; null for none."""
        assert self.cuts is not None
        return bin_number(table[next(iter(self.columns))], self.cuts)

    def matches(self, table: Any, lists: Any) -> list[Any]:
        """That each column IS NOT DISTINCT FROM its key, in equalities: else PostgreSQL would try every pair."""
        assert self.listed is not None
        found = []
        for name in self.columns:
            mine, key = table[name], lists[f"of_{name}"]
            if not self.listed[name].null_count:
                found.append(mine == key)
                continue
            nothing = _nothing(mine.type())
            found.append(mine.isnull() == key.isnull())
            found.append(mine.fill_null(nothing) == key.fill_null(nothing))
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


def one_column(source: Source, name: str, column: Any) -> tuple[Any, Any]:
    """A column and its keys in one type, in which no two values become one that should not."""
    import ibis
    import pyarrow

    known = pyarrow.types
    if known.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    value, kind = source.column(name), _kind(column.type)
    if name in source.untyped and kind in READ_AS:
        value = value.try_cast(READ_AS[kind])
    elif kind is None or kind_of(value.type()) != kind:
        raise InvalidInput(
            f"column {name!r} holds {value.type()}, and its keys are {column.type}; give keys as they stand in the "
            f"column, or open the table with types={{{name!r}: ...}}."
        )
    if kind != "number":
        return value, column.cast({"text": pyarrow.string(), "truth": pyarrow.bool_(), "date": pyarrow.date32()}[kind])
    if value.type().is_integer():
        wide = pyarrow.uint64() if value.type().is_unsigned_integer() and value.type().nbytes == 8 else pyarrow.int64()
        return value.cast("uint64" if wide == pyarrow.uint64() else "int64"), _cast(name, column, wide)
    floats = _cast(name, column, pyarrow.float64())
    numbers = floats.to_numpy()
    known_numbers = numbers[floats.is_valid().to_numpy()]
    if not np.isfinite(known_numbers).all():
        raise InvalidInput(f"a key of {name!r} is infinite or NaN; give finite numbers, and None for null.")
    rounded = name in source.untyped or value.type().is_decimal()
    if rounded and (np.abs(known_numbers) >= EXACT).any():
        raise InvalidInput(
            f"a key of {name!r} is compared as a floating-point number, which does not tell whole numbers of 2^53 or "
            "more apart; give smaller ones, or make it a column of 64-bit whole numbers."
        )
    if value.type().is_float32():
        numbers = np.array([nearest_single(x) for x in numbers.tolist()])
    value = value.cast("float64")
    plain = ibis.ifelse(value.isnan(), ibis.null("float64"), ibis.ifelse(value == 0, 0.0, value))  # one 0 of two
    return plain, pyarrow.array(numbers + 0.0, pyarrow.float64(), mask=~floats.is_valid().to_numpy())


def _kind(kind: Any) -> str | None:
    import pyarrow

    known = pyarrow.types
    if known.is_boolean(kind):
        return "truth"
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
