"""How many units hold each key, where nobody listed the keys: what the engine is asked, and what it finds.

The engine groups the private rows by the key columns; what comes back, keys and all, is private until a mechanism has
chosen what is shown. A row with a null among its key columns (or NaN, an infinity, a date that Python has none for)
holds no key.

**How far one neighbour moves it.** A row holds one key. A person holds the keys of their rows, of which at most
`keys_each` are kept, chosen by a keyed hash; then at most `rows_each` of the rows with these keys. So one unit that
comes or goes gives at most `keys_each` keys a holder more or less, and one that is replaced at most twice as many.
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
from utmost.queries.expressions import values as made
from utmost.queries.expressions.relations import Relation
from utmost.queries.expressions.values import Expression
from utmost.queries.found_keys import Discover
from utmost.queries.groups import clamped
from utmost.queries.units import Unit

HOLDERS = "holders"


@dataclass(frozen=True, eq=False)
class Found:
    """What an engine found: private until a mechanism has chosen what is shown, and never printed.

    Attributes
    ----------
    keys : an Arrow table of the keys, one in each row
    holders : how many units hold each
    numbers : the numbers of each key, one row for each; beyond 64 bits, as Python's own integers
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
    """How many units hold each key, and the sums of contributions for each; nothing is read yet.

    Parameters
    ----------
    source : the table
    unit : whose data are protected
    by : the columns of the keys
    keys_each : how many keys of a person are kept, at most
    taking_part : which rows do
    contributions : what a row adds to the numbers of its key, by name; empty where only holders are counted
    rows_each : how many rows of a person are kept, at most, where there are numbers
    secret : the data set's, for the keyed hash
    """
    columns, kinds = {}, []
    for i, name in enumerate(by.columns):
        columns[f"key{i}"], kind = _key_column(source, name)
        kinds.append(kind)
    names = list(columns)
    numbers = {name: part.column for name, part in contributions.items()}
    table = with_ids(source, unit, {**columns, "taking_part": taking_part.column, **numbers}, secret=secret)
    table = table.filter(*(made.is_known(table[name]) for name in ("taking_part", *names)))
    sums: Relation
    if unit.id is None:
        sums = table.aggregate(names, **{HOLDERS: made.count(), **_sums(table, contributions)})
    else:
        sums = _of_people(table, names, keys_each, contributions, rows_each, secret)
    cut = {name: clamped(sums[name]) for name in contributions}
    return source.statement(sums.select(*names, HOLDERS, **cut), labels=tuple(kinds))


def _of_people(
    table: Relation,
    names: list[str],
    keys_each: int,
    contributions: Mapping[str, Contribution],
    rows_each: int,
    secret: bytes,
) -> Relation:
    """The same where a person may have several rows: some keys of each person, and some rows with these keys."""
    pairs = table.aggregate(["who", *names], rows=made.count())
    held = keep_rows(pairs.select("who", *names), tuple(names), keys_each, secret, differ=True)
    if not contributions:
        return held.aggregate(names, **{HOLDERS: made.count()})
    own = held.select(**{f"of_{name}": held[name] for name in ("who", *names)})
    same = [made.compare("=", table[name], own[f"of_{name}"]) for name in ("who", *names)]
    rows = table.join(own, same).select("who", *names, *contributions)
    kept = keep_rows(rows, (*names, *contributions), rows_each, secret)
    each = kept.aggregate(["who", *names], **_sums(kept, contributions))
    return each.aggregate(names, **{HOLDERS: made.count(), **_sums(each, contributions)})


def _sums(table: Relation, contributions: Mapping[str, Contribution]) -> dict[str, Expression]:
    return {name: made.total(table[name]) for name in contributions}


def _key_column(source: Source, name: str) -> tuple[Expression, str]:
    """A column in one of the types of keys, null where a row has none, and the name of that type."""
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
    return made.where(~made.is_infinite(value), made.one_zero(value)), "double"


def found_keys(by: Discover, found: Mapping[str, Any], parts: tuple[str, ...], digits: int = 1) -> Found:
    """What the engine found, the keys under the names of their columns."""
    import pyarrow

    keys = pyarrow.table({name: found[f"key{i}"] for i, name in enumerate(by.columns)})
    numbers = [from_digits(found, part, digits) for part in parts]
    holders = np.asarray(found[HOLDERS].to_numpy(), dtype=np.int64)
    return Found(keys, holders, np.column_stack(numbers) if numbers else np.zeros((len(holders), 0), dtype=np.int64))


def in_order(keys: Any) -> NDArray[np.int64]:
    """Where keys stand if they are sorted."""
    import pyarrow.compute

    order = pyarrow.compute.sort_indices(keys, sort_keys=[(name, "ascending") for name in keys.column_names])
    return np.asarray(order.to_numpy(), dtype=np.int64)
