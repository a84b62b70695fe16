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


def as_table(listed):
    columns = list(zip(*listed, strict=True)) if listed else [()] * 4
    return pyarrow.table(
        [pyarrow.array(list(c), type=f.type, from_pandas=False) for c, f in zip(columns, SCHEMA, strict=True)],
        schema=SCHEMA,
    )


def session(listed, unit, neighbours="replace", **options):
    return um.Session(as_table(listed), "test", unit, neighbours, budget=1000, **options)
