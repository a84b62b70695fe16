"""Small random tables with everything real ones have: nulls, NaN, infinities, repeated ids, values out of range."""

import math

import pyarrow
from hypothesis import strategies as st

import utmost as um

SCHEMA = pyarrow.schema(
    [("id", pyarrow.string()), ("x", pyarrow.float64()), ("n", pyarrow.int64()), ("ok", pyarrow.bool_())]
)

numbers = st.one_of(
    st.none(),
    st.sampled_from([0.0, -0.0, 0.5, 2.25, 2.5, -3.5, 1e300, -1e300, 5e-324, math.nan, math.inf, -math.inf]),
    st.floats(-10, 10),
)
rows = st.tuples(
    st.sampled_from([None, "a", "b", "c", "d", "a|b", ""]),
    numbers,
    st.one_of(st.none(), st.integers(-9, 9), st.sampled_from([2**63 - 1, -(2**63)])),
    st.sampled_from([None, True, False]),
)
tables = st.lists(rows, max_size=12)
UNITS = [um.rows(at_most=9), um.people("id", rows_each=2, at_most=4), um.people("id", rows_each=1, at_most=3)]


def as_table(listed):
    columns = list(zip(*listed, strict=True)) if listed else [()] * 4
    return pyarrow.table(
        [pyarrow.array(list(c), type=f.type, from_pandas=False) for c, f in zip(columns, SCHEMA, strict=True)],
        schema=SCHEMA,
    )


def session(listed, unit, neighbours="replace", **options):
    return um.Session(as_table(listed), "test", unit, neighbours, budget=1000, **options)


def neighbour_of(listed, unit, neighbours, data):
    """A table that differs in one row, or in all rows of one person."""
    if unit.id is None:
        kind = data.draw(st.sampled_from(["replace"] if neighbours == "replace" else ["add", "remove"]))
        if kind == "add" or not listed:
            return [*listed, data.draw(rows)] if kind == "add" else listed
        i = data.draw(st.integers(0, len(listed) - 1))
        return listed[:i] + ([data.draw(rows)] if kind == "replace" else []) + listed[i + 1 :]
    person = data.draw(st.sampled_from(["a", "b", "c"]))
    others = [row for row in listed if row[0] != person]
    new = data.draw(st.lists(rows, max_size=5))
    if neighbours == "add-remove":  # the person comes or goes
        return others if len(others) < len(listed) else others + [(person, *row[1:]) for row in new]
    someone = data.draw(st.sampled_from([person, "z"])) if "z" not in {row[0] for row in others} else person
    return others + [(someone, *row[1:]) for row in new]
