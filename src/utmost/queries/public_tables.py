"""Join a public table to the private one: a left join on a unique key.

Every private row has one row in the result, whether its key is in the public table or not, and the new columns depend
on that row's key alone. So the join is row-wise, and conditions, keys and sums may use the new columns like any other.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from utmost.backends.source import PUBLIC, Source
from utmost.errors import InvalidInput, shown
from utmost.queries.expressions import values as expr
from utmost.queries.expressions.relations import Public, selected
from utmost.queries.groups import comparable_column, key_type
from utmost.queries.keys import as_arrow, as_key_type

if TYPE_CHECKING:
    import pyarrow

MOST_ROWS = 10**7


def with_public(source: Source, frame: Any, on: Any) -> Source:
    """Join the columns of a public table to the private one; refuse tables that cannot be joined. Nothing is read.

    Parameters
    ----------
    source : Source
        The private table.
    frame : frame
        A public pandas, polars or pyarrow frame.
    on : str
        The column that both have; its values are unique in the public table.
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
    joined = source.table.join(other, [expr.compare("=", value, other[names["key"]])], "left")
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
    """The new columns, in the types of keys; raises `InvalidInput` if there are none, or the table has one of them."""
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
    """Refuse duplicate keys, which would make two rows of one, and null keys, which match no row."""
    key = listed["key"]
    if key.null_count:
        raise InvalidInput(f"a value of {on!r} in the public table is null, which no row is joined to; leave it out.")
    if listed.group_by("key").aggregate([([], "count_all")]).num_rows < listed.num_rows:
        raise InvalidInput(
            f"a value of {on!r} is there twice in the public table, and one private row would become two; give one row "
            "for each value."
        )
