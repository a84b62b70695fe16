"""Columns of a public table beside those of a private one: a left join on a unique key.

Every private row has one row in what comes out, whether its key is listed or not, and what is added to it depends on
that row's key alone: row-wise, so conditions, keys and sums may use the columns as if they were the table's own.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from utmost.backends.source import PUBLIC, Source
from utmost.errors import InvalidInput, shown
from utmost.queries.expressions import values as made
from utmost.queries.expressions.relations import Public, selected
from utmost.queries.groups import comparable_column, key_type
from utmost.queries.keys import as_arrow, as_key_type

if TYPE_CHECKING:
    import pyarrow

MOST_ROWS = 10**7


def with_public(source: Source, frame: Any, on: Any) -> Source:
    """The same table with the columns of a public one; what cannot be joined is refused, and nothing is read.

    Parameters
    ----------
    source : the private table
    frame : a public pandas, polars or pyarrow frame
    on : the column that both have: in the public table no value of it is there twice
    """
    public = as_arrow(frame)
    added = _columns(source, public, on)
    value, key = comparable_column(source, on, public[on])
    listed = added.append_column("key", key).combine_chunks()
    _require_unique(on, listed)
    content = hashlib.sha256(repr(listed.schema).encode() + repr(listed.to_pydict()).encode()).hexdigest()[:16]
    name = f"{PUBLIC}{content}"
    names = {column: f"{name} {column}" for column in listed.column_names}  # that no private column has
    renamed = listed.rename_columns(list(names.values()))
    other = Public(dict(zip(names.values(), map(key_type, listed.schema.types), strict=True)), name)
    joined = source.table.join(other, [made.compare("=", value, other[names["key"]])], "left")
    own = {column: joined[column] for column in source.columns}
    both = selected(joined, own | {column: joined[names[column]] for column in added.column_names})
    derivation = (*source.derivation, f"{name} on {on}")
    new = source.public_columns | set(added.column_names)
    return replace(
        source,
        table=both,
        derivation=derivation,
        public={**source.public, name: renamed},
        public_columns=new,
        conditions={},
    )


def _columns(source: Source, public: pyarrow.Table, on: Any) -> pyarrow.Table:
    """The columns that are added, in the types of keys; an error if there is none, or one the table has."""
    if not isinstance(on, str) or on not in public.column_names:
        raise InvalidInput(
            f"on is {shown(on)}; name the column that both tables have: the public one has "
            f"{', '.join(map(str, public.column_names))}."
        )
    if len(set(public.column_names)) < public.num_columns:
        raise InvalidInput("two columns of the public table have one name; give each a name of its own.")
    columns = public.drop_columns([on])
    if not columns.num_columns:
        raise InvalidInput(f"the public table has no column but {shown(on)}; give the columns to be added.")
    for name in columns.column_names:
        if name in source.columns or name == "key":
            raise InvalidInput(f"the public table adds {shown(name)}, a name that is taken; rename that column.")
    if public.num_rows > MOST_ROWS:
        raise InvalidInput(f"the public table has {public.num_rows} rows; at most {MOST_ROWS} are joined.")
    import pyarrow

    return pyarrow.table({name: as_key_type(name, columns[name]) for name in columns.column_names})


def _require_unique(on: str, listed: pyarrow.Table) -> None:
    """Refuse a key that is there twice, or null: one private row would become two, or none."""
    key = listed["key"]
    if key.null_count:
        raise InvalidInput(f"a value of {on!r} in the public table is null, which no row is joined to; leave it out.")
    if listed.group_by("key").aggregate([([], "count_all")]).num_rows < listed.num_rows:
        raise InvalidInput(
            f"a value of {on!r} is there twice in the public table, and one private row would become two; give one row "
            "for each value."
        )
