"""Public columns: the rows of plain SQL's left join, moves as declared, and refusals before anything is read."""

import duckdb
import pandas
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.tables import UNITS, as_table, neighbour_of, tables

import utmost as um
from utmost.errors import InvalidInput
from utmost.queries.report.proof import load_answers

TOWNS = pyarrow.table(
    {
        "town": ["Ash", "Briar", "Elm"],
        "region": ["north", "south", "north"],
        "people": [100, 250, 7],
        "old": [True, None, False],
    }
)
TABLE = pyarrow.table(
    {"town": ["Ash", "Briar", "Cole", None, "Ash"] * 8, "x": list(range(40)), "who": [f"p{i % 11}" for i in range(40)]}
)


def asked(session):
    """Sums, counts and groups that use public columns."""
    return {
        "condition": session.count("region = 'north' AND x > 3", 500).value,
        "sum": session.sum("people", 0, 300, 500).value,
        "computed": session.sum("people + x", 0, 300, 500, grid=1).value,
        "keys": session.count(None, 500, by=um.keys(region=["north", "south", None])).value,
        "truth": session.count("old", 500).value,
    }


def wanted():
    """The same by plain SQL."""
    connection = duckdb.connect()
    connection.register("rows", TABLE)
    connection.register("towns", TOWNS)
    joined = "FROM rows LEFT JOIN towns USING (town)"
    one = lambda what: connection.sql(f"SELECT {what} {joined}").fetchone()[0]  # noqa: E731
    return {
        "condition": one("count(*) FILTER (WHERE region = 'north' AND x > 3)"),
        "sum": one("sum(people)"),
        "computed": one("sum(CASE WHEN people + x > 300 THEN 300 ELSE people + x END)"),
        "keys": {key: one(f"count(*) FILTER (WHERE region IS NOT DISTINCT FROM {key!r})") for key in ("north", "south")}
        | {None: one("count(*) FILTER (WHERE region IS NULL)")},
        "truth": one("count(*) FILTER (WHERE old)"),
    }


@pytest.mark.parametrize("kind", ["arrow", "pandas", "csv", "parquet"])
def test_it_is_the_left_join(kind, tmp_path):
    """At a level that hides next to nothing, of frames and files; the budget is one."""
    table = {"arrow": TABLE, "pandas": TABLE.to_pandas(), "csv": tmp_path / "t.csv", "parquet": tmp_path / "t.parquet"}
    TABLE.to_pandas().to_csv(tmp_path / "t.csv", index=False)
    TABLE.to_pandas().to_parquet(tmp_path / "t.parquet")
    s = um.Session(table[kind], "d", um.rows(at_most=50), "replace", budget=10_000)
    joined = s.with_public(TOWNS.to_pandas() if kind == "pandas" else TOWNS, on="town")
    assert asked(joined) == wanted()
    assert str(s.left) == str(joined.left) == "epsilon 7500 of 10000"
    with pytest.raises(InvalidInput, match="there is no column 'region'"):
        s.plan.count("region = 'north'", privacy=1)


def test_it_is_the_left_join_in_postgres(postgres):
    """Where the public table goes with every statement."""
    url, psycopg = postgres
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE joined_rows (town text, x int, who text)")
        with connection.cursor() as cursor:
            rows = [tuple(row.values()) for row in TABLE.to_pylist()]
            cursor.executemany("INSERT INTO joined_rows VALUES (%s, %s, %s)", rows)
    s = um.Session(f"{url}#joined_rows", "d", um.rows(at_most=50), "replace", budget=10_000)
    assert asked(s.with_public(TOWNS, on="town")) == wanted()


@settings(max_examples=10, deadline=None)
@given(st.data())
def test_neighbours_move_it_as_declared(data):
    """A public column is a function of the row: one row, or person, moves a sum of it no farther than a sum."""
    unit, neighbours = data.draw(st.sampled_from(UNITS)), data.draw(st.sampled_from(["replace", "add-remove"]))
    numbers = pyarrow.table({"n": [0, 1, 2, -9], "score": [5, -3, None, 2]})
    listed = data.draw(tables)
    points = []
    for rows in (listed, neighbour_of(listed, unit, neighbours, data)):
        s = um.Session(as_table(rows), "d", unit, neighbours, budget=1).with_public(numbers, on="n")
        question = s.plan.sum("score", -3, 5, privacy=1).question
        points.append(question.point(s.source.execute(question.statement(s.source, b"s" * 32))))
    assert abs(points[1] - points[0]) <= question.space.reach


def test_joined_twice_with_people_and_a_report(tmp_path):
    """A second public table on a column of the first; people; and the report proves itself without either table."""
    unit = um.people("who", rows_each=2, at_most=20)
    regions = pandas.DataFrame({"region": ["north"], "boss": ["Kim"]})
    s = um.Session(TABLE, "d", unit, "replace", budget=2000).with_public(TOWNS, on="town")
    answer = s.with_public(regions, on="region").count("boss = 'Kim'", 500, of="people")
    rows = TABLE.to_pylist()
    assert answer.value == len({row["who"] for row in rows if row["town"] == "Ash"})
    answer.report(tmp_path / "page.html")
    assert load_answers(tmp_path / "page.json")[0][1]


def test_another_public_table_is_another_question():
    """The recorded answer of one is not given for another with the same columns."""
    s = um.Session(TABLE, "d", um.rows(at_most=50), "replace", budget=2000)
    other = TOWNS.set_column(1, "region", pyarrow.array(["south", "south", "north"]))
    first, second = (s.with_public(each, on="town").count("region = 'north'", 500) for each in (TOWNS, other))
    assert (first.value, second.value) == (16, 0)
    assert not second.recorded
    assert s.with_public(TOWNS, on="town").count("region = 'north'", 500).recorded


@pytest.mark.parametrize(
    ("frame", "on", "said"),
    [
        (TOWNS, "city", "name the column that both tables have"),
        (pyarrow.table({"town": ["Ash", "Ash"], "r": [1, 2]}), "town", "is there twice"),
        (pyarrow.table({"town": ["Ash", None], "r": [1, 2]}), "town", "is null"),
        (pyarrow.table({"town": ["Ash"], "x": [1]}), "town", "a name that is taken"),
        (pyarrow.table({"town": ["Ash"]}), "town", "no column but 'town'"),
        (pyarrow.table({"town": [1], "r": [1]}), "town", "holds string, and its keys are int64"),
        (pyarrow.table({"town": ["Ash"], "r": [[1]]}), "town", "give"),
        (5, "town", "give a public pandas"),
    ],
)
def test_what_cannot_be_joined_is_refused(frame, on, said):
    """Before anything is read."""
    s = um.Session(TABLE, "d", um.rows(at_most=50), "replace", budget=1)
    with pytest.raises(InvalidInput, match=said):
        s.with_public(frame, on=on)
    assert not s.account.entries()
