"""Sums for each of many public keys: against plain loops over the rows, on every engine, for rows and for people."""

import collections
import datetime
import math
import random

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from oracles.questions import QueryMaker, Setting

import utmost as um
from utmost.backends import opening
from utmost.errors import InvalidInput
from utmost.queries.cells import category_cells, tally_statement
from utmost.queries.contributions import as_grid, ones, values, votes
from utmost.queries.groups import grouped_statement

SECRET = b"s" * 32
SCHEMA = pyarrow.schema(
    [
        *(("who", pyarrow.string()), ("town", pyarrow.string()), ("n", pyarrow.int64()), ("x", pyarrow.float64())),
        *(("f", pyarrow.float32()), ("ok", pyarrow.bool_()), ("day", pyarrow.date32()), ("y", pyarrow.int64())),
    ]
)
DAYS = [datetime.date(2020, 1, day) for day in (1, 2, 3)]
CHOICES = (
    ["a", "b", "c", "d", "e", None],
    ["Ash", "Briar", "%", "O'Hara", "", None],
    [1, 2, 2**53, 2**53 + 1, None],
    [0.0, -0.0, 0.1, 0.30000000000000004, math.nan, None],
    [float(np.float32(0.1)), 2.5, None],
    [True, False, None],
    [*DAYS, None],
    [-5, 0, 3, 100, None],
)
COLUMNS = dict(zip(SCHEMA.names, CHOICES, strict=True))


def rows_of(many, seed):
    draw = random.Random(seed)
    return [tuple(draw.choice(found) for found in CHOICES) for _ in range(many)]


def as_frame(listed):
    columns = list(zip(*listed, strict=True)) if listed else [[]] * len(SCHEMA)
    arrays = [pyarrow.array(list(c), f.type, from_pandas=False) for c, f in zip(columns, SCHEMA, strict=True)]
    return pyarrow.table(arrays, schema=SCHEMA)


def matched(value):
    """A value as keys compare it: NaN is null, and there is one zero."""
    return None if value is None or value != value else value + 0.0 if isinstance(value, float) else value


def by_loop(listed, keys, contribution, other):
    """The sums for each key, and of the rest, by going through the rows."""
    names = [SCHEMA.get_field_index(name) for name in keys.column_names]
    sums = collections.Counter()
    for row in listed:
        found = contribution(row)
        if found is not None:
            sums[tuple(matched(row[i]) for i in names)] += found
    wanted = [tuple(matched(value) for value in key.values()) for key in keys.to_pylist()]
    rest = [sum(sums.values()) - sum(sums[key] for key in wanted)] if other else []
    return [sums[key] for key in wanted] + rest


@pytest.fixture(scope="module")
def everywhere(postgres, tmp_path_factory):
    """One table as a frame, a Parquet file, a table in a DuckDB file and one in PostgreSQL."""
    import duckdb

    url, psycopg = postgres
    listed, folder = rows_of(500, 1), tmp_path_factory.mktemp("tables")
    frame = as_frame(listed)
    pyarrow.parquet.write_table(frame, folder / "t.parquet")
    with duckdb.connect(folder / "t.duckdb") as connection:
        connection.register("frame", frame)
        connection.execute("CREATE TABLE t AS FROM frame")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE t (who text, town text, n bigint, x float8, f real, ok boolean, day date, y bigint)"
        )
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO t VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", listed)
    places = (frame, str(folder / "t.parquet"), f"{folder / 't.duckdb'}#t", f"{url}#t")
    return [opening.open_table(place) for place in places], listed


def key_table(names, many, seed):
    """Different random keys of these columns, some of which nobody has, and nulls."""
    draw = random.Random(seed)
    extra = {"town": ["Elm"], "n": [7], "x": [5.5], "f": [7.0], "ok": [], "day": [datetime.date(1999, 1, 1)]}
    found = {tuple(matched(draw.choice([*COLUMNS[name], *extra[name]])) for name in names) for _ in range(many)}
    columns = zip(*sorted(found, key=str), strict=True)
    kinds = [SCHEMA.field(name).type for name in names]
    return pyarrow.table([pyarrow.array(list(c), k) for c, k in zip(columns, kinds, strict=True)], names=list(names))


def listed_keys(table, other):
    return um.keys(table, other="all the rest" if other else None)


KEYED = (("town",), ("n",), ("x",), ("f", "ok"), ("day", "town"), ("town", "n", "ok", "day"))


@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize("names", KEYED)
def test_sums_by_key_are_those_of_a_loop(everywhere, names, other):
    """Counts, clamped sums and votes with a condition, at once; null keys match nulls and NaN."""
    sources, listed = everywhere
    keys = key_table(names, 12, 3)
    wanted = {
        "rows": by_loop(listed, keys, lambda row: 1, other),
        "sum": by_loop(listed, keys, lambda row: None if row[7] is None else min(max(row[7], -2), 50), other),
        "lead": by_loop(listed, keys, lambda row: None if row[7] is None else 1 if row[7] > 0 else -1, other),
    }
    for source in sources:
        parts = {
            "rows": ones(source, None),
            "sum": values(source, "y", as_grid(-2, 50, 1), None),
            "lead": votes(source, "y > 0"),
        }
        made = grouped_statement(source, um.rows(at_most=10**6), 1, listed_keys(keys, other), parts, SECRET)
        found = source.execute(made)
        assert {name: column.tolist() for name, column in found.items()} == wanted
        only = grouped_statement(
            source, um.rows(at_most=9), 1, listed_keys(keys, other), {"c": ones(source, "y >= 3")}, SECRET
        )
        few = by_loop(listed, keys, lambda row: 1 if row[7] is not None and row[7] >= 3 else None, other)
        assert source.execute(only)["c"].tolist() == few


@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize("rows_each", [1, 2, 7])
def test_the_rows_of_people_are_kept_that_a_histogram_keeps(everywhere, rows_each, other):
    """Spread over what a person has, from the same place on, whatever the engine: the same numbers."""
    sources, listed = everywhere
    towns = ["Ash", "%", "O'Hara", "Elm"]
    keys, unit = pyarrow.table({"town": towns}), um.people("who", rows_each, 10, truncate="question")
    first: dict = {}
    for source in sources:
        made = grouped_statement(source, unit, rows_each, listed_keys(keys, other), {"c": ones(source, None)}, SECRET)
        found = source.execute(made)["c"].tolist()
        tally = tally_statement(source, unit, rows_each, category_cells(source, {"town": towns}, other), None, SECRET)
        assert found == list(source.execute(tally).values())
        assert found == first.setdefault("found", found)
        inside = collections.Counter(row[0] for row in listed if row[0] and (other or row[1] in towns))
        assert sum(found) == sum(min(rows, rows_each) for rows in inside.values())


@pytest.mark.parametrize("names", [("town",), ("f", "ok")])
def test_sums_of_people_agree_between_engines(everywhere, names):
    """With every row kept they are those of a loop; with fewer, every engine keeps the same."""
    sources, listed = everywhere
    keys = key_table(names, 9, 4)
    found = []
    for source in sources:
        parts = {"rows": ones(source, None), "sum": values(source, "y", as_grid(-2, 50, 1), None)}
        for rows_each in (2, 1000):
            unit = um.people("who", rows_each, 10)
            made = grouped_statement(source, unit, rows_each, listed_keys(keys, True), parts, SECRET)
            found.append({name: column.tolist() for name, column in source.execute(made).items()})
    named = [row for row in listed if row[0] is not None]
    assert all(one == found[0] for one in found[::2])
    assert all(one == found[1] for one in found[1::2])
    assert found[1]["rows"] == by_loop(named, keys, lambda row: 1, True)
    assert sum(found[0]["rows"]) == 2 * 5


@pytest.mark.parametrize(
    "unit", [um.rows(at_most=600), um.people("who", 2, 9, truncate="question"), um.people("who", 1000, 9)]
)
def test_choices_by_products_of_lists_and_bins_agree_between_engines(everywhere, unit):
    """Lists, bins and the rest at once; cells within groups add up to the rows that are kept."""
    sources, listed = everywhere
    keys = um.keys(town=["Ash", "O'Hara", None], n=[1, 2**53 + 1], f=um.bins(0, 3, "0.25"), other="rest")
    found = []
    for source in sources:
        ask = QueryMaker(Setting(source, unit, "add-remove"))
        asked = [ask.quantile("y", 0.5, [-5, 0, 50], 1, by=keys), ask.majority("y > 0", 1, by=keys)]
        found.append([each.private_point(SECRET).tolist() for each in asked])
    assert all(points == found[0] for points in found)
    rows = collections.Counter(
        row[0] for row in listed if row[7] is not None and (unit.id is None or row[0] is not None)
    )
    most = unit.rows_each if unit.id is not None else len(listed)
    assert sum(map(sum, found[0][0])) == sum(min(many, most) for many in rows.values())


def test_one_unit_moves_groups_as_declared():
    """Add or remove a row: one group by one. A person: at most rows_each rows of all groups together."""
    draw = random.Random(7)
    keys = key_table(("town", "ok"), 30, 5)
    for trial in range(8):
        listed = rows_of(30, trial)
        person = draw.choice("abcde")
        for unit, fewer in (
            (um.rows(at_most=99), listed[1:]),
            (um.people("who", 2, 9), [row for row in listed if row[0] != person]),
        ):
            found = []
            for table in (listed, fewer):
                source = opening.open_table(as_frame(table))
                made = grouped_statement(
                    source, unit, unit.rows_each, listed_keys(keys, True), {"c": ones(source, None)}, SECRET
                )
                found.append(source.execute(made)["c"])
            moved = found[0] - found[1]
            assert moved.min() >= 0
            assert moved.sum() <= unit.rows_each


def test_text_is_read_as_its_keys_are(tmp_path):
    """A column of a CSV file beside numbers is read as numbers, beside text letter by letter."""
    (tmp_path / "t.csv").write_text("a,b\n1,x\n1.0,x\n2,y\nz,\n,x\n")
    source = opening.open_table(tmp_path / "t.csv")
    for keys, wanted in (
        (pyarrow.table({"a": [1, 2, 3]}), [2, 1, 0]),
        (pyarrow.table({"a": ["1", "2", "3"]}), [1, 1, 0]),
        (pyarrow.table({"a": pyarrow.array([1.0, None])}), [2, 2]),
        (pyarrow.table({"b": pyarrow.array(["x", "y", "x y"]).dictionary_encode()}), [3, 1, 0]),
    ):
        made = grouped_statement(source, um.rows(at_most=9), 1, um.keys(keys), {"c": ones(source, None)}, SECRET)
        assert source.execute(made)["c"].tolist() == wanted


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"town": ["a", "a"]}, "are the same"),
        ({"town": ["a", None, None]}, "are the same"),
        ({"x": [0.0, -0.0]}, "are the same"),
        ({"f": [0.1, 0.10000000001]}, "one and the same"),
        ({"town": [1, 2]}, "holds string"),
        ({"n": ["1"]}, "holds int64"),
        ({"n": [1.0, None, 1.5]}, "key 3 of 'n' is not a number that the column can hold.*it holds int64"),
        ({"x": [math.nan]}, "finite"),
        ({"x": [5, 2**53 + 1]}, "key 2 of 'x' .*compared exactly"),
        ({"nobody": [1]}, "no column"),
        ({"town": []}, "empty"),
        ({"town": [[1]]}, "list<"),
        ({}, "empty"),
    ],
)
def test_keys_that_do_not_fit_are_named(keys, words):
    """Whether um.keys or the statement sees it: nothing has been read."""
    source = opening.open_table(as_frame(rows_of(3, 1)))
    with pytest.raises(InvalidInput, match=words):
        grouped_statement(
            source, um.rows(at_most=9), 1, um.keys(pyarrow.table(keys)), {"c": ones(source, None)}, SECRET
        )


def test_many_keys(postgres):
    """A hundred thousand of two columns, on both engines; sums beyond 64 bits are clamped, not an error."""
    url, psycopg = postgres
    frame = pyarrow.table(
        {"a": [i % 1000 for i in range(5000)], "b": [str(i % 7) for i in range(5000)], "y": [1] * 5000}
    )
    keys = pyarrow.table({"a": [i // 100 for i in range(100_000)], "b": [str(i % 100) for i in range(100_000)]})
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE many AS SELECT i % 1000 AS a, (i % 7)::text AS b, 1 AS y FROM generate_series(0, 4999) AS i"
        )
    wanted = collections.Counter((i % 1000, str(i % 7)) for i in range(5000))
    for place in (frame, f"{url}#many"):
        source = opening.open_table(place)
        made = grouped_statement(
            source, um.rows(at_most=9), 1, listed_keys(keys, True), {"c": ones(source, None)}, SECRET
        )
        found = source.execute(made)["c"]
        assert found.sum() == 5000
        assert found[:-1].tolist() == [wanted[i // 100, str(i % 100)] for i in range(100_000)]
