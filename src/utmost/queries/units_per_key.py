"""Statistics grouped by keys that nobody listed: the number of units with each key, and sums, for partition selection.

The engine groups the private rows by the key columns. The result, keys included, is private until a mechanism has
selected the keys that are released. A row with a null among its key columns (or NaN, an infinity, a date beyond
Python's) has no key.

**Sensitivity.** A row has one key. A person has the keys of their rows, of which at most `keys_each` are kept, chosen
by a keyed hash; then at most `rows_each` of the rows with these keys. So one unit added or removed changes the number
of units of at most `keys_each` keys by one; one unit replaced, of at most twice as many.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from utmost.backends.source import Source, Statement
from utmost.errors import InvalidInput
from utmost.queries.contributions import Contribution, from_digits, keep_rows, with_ids
from utmost.queries.expressions import values as expr
from utmost.queries.expressions.relations import Relation
from utmost.queries.expressions.values import Expression
from utmost.queries.found_keys import Discover
from utmost.queries.groups import clamp_to_int64
from utmost.queries.units import Unit

HOLDERS = "holders"


@dataclass(frozen=True, eq=False)
class KeyTotals:
    """The keys in the table with their statistics: private until a mechanism has selected keys, and never printed.

    Attributes
    ----------
    keys : pyarrow.Table
        The keys, one in each row.
    holders : array of int
        The number of units with each key.
    numbers : array of int
        The sums of each key, one row for each; beyond 64 bits, as Python integers.
    """

    keys: Any = field(repr=False)
    holders: NDArray[np.int64] = field(repr=False)
    numbers: NDArray[Any] = field(repr=False)


def holders_statement(
    source: Source,
    unit: Unit,
    by: Discover,
    keys_each: int,
    taking_part: Contribution,
    contributions: Mapping[str, Contribution],
    rows_each: int,
    secret: bytes,
) -> Statement:
    """The number of units with each key, and the sums of contributions for each, as a statement; nothing is read yet.

    Parameters
    ----------
    source : Source
        The table.
    unit : Unit
        Whose data are protected.
    by : Discover
        The columns of the keys.
    keys_each : int
        Contribution bound: at most so many keys of a person are kept.
    taking_part : Contribution
        Not null for the rows that take part.
    contributions : mapping of str to Contribution
        What a row adds to the sums of its key, by name; empty where only units are counted.
    rows_each : int
        Contribution bound: at most so many rows of a person are kept, where there are sums.
    secret : bytes
        The data set's secret, for the keyed hash.
    """
    columns, kinds = {}, []
    for i, name in enumerate(by.columns):
        columns[f"key{i}"], kind = _key_column(source, name)
        kinds.append(kind)
    names = list(columns)
    numbers = {name: part.column for name, part in contributions.items()}
    table = with_ids(source, unit, {**columns, "taking_part": taking_part.column, **numbers}, secret=secret)
    table = table.filter(*(expr.is_not_null(table[name]) for name in ("taking_part", *names)))
    sums: Relation
    if unit.id is None:
        sums = table.aggregate(names, **{HOLDERS: expr.count(), **_sums(table, contributions)})
    else:
        sums = _of_people(table, names, keys_each, contributions, rows_each, secret)
    cut = {name: clamp_to_int64(sums[name]) for name in contributions}
    return source.statement(sums.select(*names, HOLDERS, **cut), labels=tuple(kinds))


def _of_people(
    table: Relation,
    names: list[str],
    keys_each: int,
    contributions: Mapping[str, Contribution],
    rows_each: int,
    secret: bytes,
) -> Relation:
    """The statistics of each key where people are the unit: some keys of each person, and some rows with these keys."""
    pairs = table.aggregate(["who", *names], rows=expr.count())
    own_keys = keep_rows(pairs.select("who", *names), tuple(names), keys_each, secret, differ=True)
    if not contributions:
        return own_keys.aggregate(names, **{HOLDERS: expr.count()})
    own = own_keys.select(**{f"of_{name}": own_keys[name] for name in ("who", *names)})
    conditions = [expr.compare("=", table[name], own[f"of_{name}"]) for name in ("who", *names)]
    rows = table.join(own, conditions).select("who", *names, *contributions)
    kept_rows = keep_rows(rows, (*names, *contributions), rows_each, secret)
    per_person = kept_rows.aggregate(["who", *names], **_sums(kept_rows, contributions))
    return per_person.aggregate(names, **{HOLDERS: expr.count(), **_sums(per_person, contributions)})


def _sums(table: Relation, contributions: Mapping[str, Contribution]) -> dict[str, Expression]:
    return {name: expr.total(table[name]) for name in contributions}


def _key_column(source: Source, name: str) -> tuple[Expression, str]:
    """A column cast to one of the types of keys, null where a row has no key, and the name of the type."""
    value = source.column(name)
    kinds = {"text": "string", "boolean": "bool", "date": "date32[day]"}
    if value.type.kind in kinds:
        return value, kinds[value.type.kind]
    if value.type.kind == "integer":
        return value, "uint64" if value.type.is_wide else "int64"
    if value.type.kind != "float":
        raise InvalidInput(
            f"column {name!r} holds {value.type}; keys are found of texts, numbers, truth values and dates."
        )
    return expr.where(~expr.is_infinite(value), expr.with_one_zero(value)), "double"


def read_found_keys(by: Discover, columns: Mapping[str, Any], parts: tuple[str, ...], digits: int = 1) -> KeyTotals:
    """Read the result of the engine, with the keys under the names of their columns."""
    import pyarrow

    keys = pyarrow.table({name: columns[f"key{i}"] for i, name in enumerate(by.columns)})
    numbers = [from_digits(columns, part, digits) for part in parts]
    holders = np.asarray(columns[HOLDERS].to_numpy(), dtype=np.int64)
    totals = np.column_stack(numbers) if numbers else np.zeros((len(holders), 0), dtype=np.int64)
    return KeyTotals(keys, holders, totals)


def in_order(keys: Any) -> NDArray[np.int64]:
    """The positions that sort the keys."""
    import pyarrow.compute

    order = pyarrow.compute.sort_indices(keys, sort_keys=[(name, "ascending") for name in keys.column_names])
    return np.asarray(order.to_numpy(), dtype=np.int64)
