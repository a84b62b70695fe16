"""Statistics for each of many public keys: a group-by whose groups are listed beforehand, up to millions of them.

The keys are a public table, one row each. The engine groups the private rows and joins what it finds to the keys, so
that every key has a row in the result, also one that nobody has, and no row tells of a key that is not listed. There is
no branch for each key: a million keys take about as long as the bare GROUP BY.

A value matches a key as in SQL's IS NOT DISTINCT FROM: a null, or NaN, matches the key null, if that is listed.

**How far one neighbour moves it.** A row is in one group, and contributes there what it contributes to a sum:
see `contributions`. Of one person at most `rows_each` rows are kept *in all groups together*, chosen by the same keyed
hash as those of a histogram, among the rows that are in a listed group.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from utmost.errors import InvalidInput, shown
from utmost.release.conditions import nearest_single
from utmost.release.conditions.row_wise import kind_of
from utmost.release.contributions import Contribution, keep_rows, require_id
from utmost.release.source import KEYS, Source, Statement
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
    keys: pyarrow.Table,
    contributions: Mapping[str, Contribution],
    secret: bytes,
    other: bool = False,
) -> Statement:
    """The sums of contributions for each key, as a statement for `Source.integer_columns`; nothing is read yet.

    Parameters
    ----------
    source : the table
    unit : whose data are protected
    rows_each : how many rows of one person take part in all, at most
    keys : a public pyarrow table; its columns are named like those of the table, and no two of its rows are alike
    contributions : what a row adds, by name: `ones`, `values` or `votes` of `contributions`
    secret : the data set's, for the keyed hash
    other : whether rows that match no key are counted, too: in one more group, the last
    """
    require_id(source, unit.id)
    columns, listed = _matched(source, keys)
    place = ibis_keys(source, listed)
    table = source.table.select(
        **({"who": source.table[unit.id]} if unit.id is not None else {}),
        **columns,
        **{name: part.column for name, part in contributions.items()},
    )
    table = table.filter(_any_present(table, contributions))
    if unit.id is None:
        found = _grouped(table, list(columns), contributions)
        query = _by_key(place, found, listed, contributions)
        if other:
            query = query.union(_the_rest(found, query, listed.num_rows, contributions))
    else:
        table = table.filter(table.who.notnull())
        placed = table.left_join(place, _matches(table, place, listed))
        cell = placed.place.fill_null(listed.num_rows) if other else placed.place
        placed = placed.select("who", *contributions, cell=cell.cast("int64"))
        placed = placed.filter(placed.cell.notnull())
        alike = (
            [] if all(part.is_count for part in contributions.values()) and len(contributions) == 1 else contributions
        )
        kept = keep_rows(placed, ("cell", *alike), rows_each, secret)
        query = kept.group_by("cell").aggregate(**{name: clamped(kept[name].sum()) for name in contributions})
        query = query.select("cell", *contributions)
    return source.statement(query, listed, listed.num_rows + other)


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


def _grouped(table: Any, columns: list[str], contributions: Mapping[str, Contribution]) -> Any:
    return table.group_by(columns).aggregate(**{name: table[name].sum() for name in contributions})


def _by_key(place: Any, found: Any, listed: pyarrow.Table, contributions: Mapping[str, Contribution]) -> Any:
    joined = place.left_join(found, _matches(place, found, listed))
    return joined.select(cell=joined.place, **{name: clamped(joined[name].fill_null(0)) for name in contributions})


def _matches(left: Any, right: Any, listed: pyarrow.Table) -> list[Any]:
    """That each column IS NOT DISTINCT FROM its key, in equalities: of anything else PostgreSQL tries every pair."""
    found = []
    for name in listed.column_names[:-1]:  # all but the place
        if not listed[name].null_count:
            found.append(left[name] == right[name])
            continue
        nothing = _nothing(left[name].type())
        found.append(left[name].isnull() == right[name].isnull())
        found.append(left[name].fill_null(nothing) == right[name].fill_null(nothing))
    return found


def _nothing(kind: Any) -> Any:
    """Any one value of a type, to stand for null beside a column that says so."""
    import ibis

    values = {"text": "", "number": 0, "truth": False, "date": datetime.date(1970, 1, 1)}
    return ibis.literal(values[kind_of(kind)], kind)


def _the_rest(found: Any, by_key: Any, number: int, contributions: Mapping[str, Contribution]) -> Any:
    """What is in no listed group: all there is, less what is."""
    import ibis

    everything = found.aggregate(**{f"all_{name}": found[name].sum().fill_null(0) for name in contributions})
    here = by_key.aggregate(**{name: by_key[name].sum().fill_null(0) for name in contributions})
    both = everything.cross_join(here)
    rest = {name: clamped(both[f"all_{name}"] - both[name]) for name in contributions}
    return both.select(cell=ibis.literal(number, "int64"), **rest)


def clamped(total: Any) -> Any:
    """A sum cut to what 64 bits hold, with room for noise."""
    import ibis

    low, high = ibis.literal(-LARGEST, "int64"), ibis.literal(LARGEST, "int64")
    return ibis.ifelse(total < low, low, ibis.ifelse(total > high, high, total)).cast("int64")


# ---- keys ----


def _matched(source: Source, keys: Any) -> tuple[dict[str, Any], pyarrow.Table]:
    """Columns of the table, and the keys in the types these are compared in: key0, key1, ..., and each key's place."""
    import pyarrow

    if not isinstance(keys, pyarrow.Table) or not keys.num_columns or not keys.num_rows:
        raise InvalidInput(
            f"the keys are {shown(keys) if not isinstance(keys, pyarrow.Table) else 'an empty table'}; give a public "
            "table of one key or more, with columns named like those of the private table."
        )
    if len(set(keys.column_names)) < keys.num_columns:
        raise InvalidInput("two columns of the keys have one name; name each once.")
    columns, listed = {}, {}
    for i, name in enumerate(keys.column_names):
        columns[f"key{i}"], listed[f"key{i}"] = _one_column(source, name, keys.column(i))
    made = pyarrow.table(listed)
    if made.group_by(list(listed)).aggregate([([], "count_all")]).num_rows < made.num_rows:
        raise InvalidInput("two keys are one and the same, or are compared as one; list every key once.")
    return columns, made.append_column("place", pyarrow.array(np.arange(made.num_rows)))


def _one_column(source: Source, name: str, column: Any) -> tuple[Any, Any]:
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
        pass
    raise InvalidInput(
        f"a key of {name!r} is not a number that the column can hold, or that is compared exactly; give others."
    )
