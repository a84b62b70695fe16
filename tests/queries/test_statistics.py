"""What engines compute: the right integers, and how far one neighbour moves them."""

import csv
import gzip
import math
import os
import warnings
from collections import Counter
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.lattices import one_neighbour_apart
from oracles.questions import (
    QueryMaker,
    Setting,
    cdf,
    clamped,
    count,
    counts,
    covariance,
    histogram,
    keys,
    left_out,
    majority,
    mean,
    plurality,
    quantile,
    share,
    sort_of,
    sorts,
    threshold,
    total,
    variance,
)
from oracles.tables import UNITS, as_table, neighbour_of, session, tables

import utmost as um
from utmost.backends import opening
from utmost.backends.source import Source
from utmost.errors import SUSPENDED, AccountSuspended, BadFile, InvalidInput, NotRowWise
from utmost.queries.contributions import as_grid, statement, values
from utmost.space.integers import Lattice
from utmost.space.line import Line

SECRET = b"s" * 32


def point(question, secret=SECRET):
    """The private point of a question."""
    return question.point(question.statement(secret))


def sums(source, contribution):
    """The sum of one contribution over all rows."""
    return source.execute(statement(source, um.rows(10**6), 1, {"s": contribution}, SECRET))


KEYS = um.keys(ok=[True, False], n=[1, -1, 0], id=["a", "b"], other="elsewhere")
ASKED = {
    "count": lambda s: count(s, "n >= 0", 1),
    "every row": lambda s: count(s, None, 1, loss="squared"),
    "sum": lambda s: total(s, "x", -2, 5, "0.5", "ok", 1),
    "sum far from 0": lambda s: total(s, "n", 2, 7, 1, None, 1),
    "mean": lambda s: mean(s, "x", -2, 5, "0.5", "n < 5 OR ok", 1),
    "majority": lambda s: majority(s, "x > 0", 1),
    "threshold": lambda s: threshold(s, "ok IS NULL OR x <= 2.5", 2, 1),
    "clamped": lambda s: clamped(s, "x", -2, 5, 1),
    "counts": lambda s: counts(s, ["n >= 0", "x > 1", "ok"], 1),
    "disjoint counts": lambda s: counts(s, ["n > 0", "n = 0", "n IS NULL", "n BETWEEN -5 AND -1"], 1),
    "complete counts": lambda s: counts(s, ["ok", "NOT ok", "ok IS NULL"], 1),
    "nested counts": lambda s: counts(s, ["x <= 2.5", "x < 0", "x <= 4 OR x IS NULL", "NOT (x > 1)"], 1),
    "cdf": lambda s: cdf(s, "x", range(-5, 15), 1),
    "ranges": lambda s: QueryMaker(s).ranges("x", [-5, 0, 2.5, 4], 1, where="ok OR ok IS NULL"),
    "cells": lambda s: histogram(s, "n", [1, -1, 0], 1),
    "all cells": lambda s: histogram(s, "id", ["a", "b", "c"], 1, "elsewhere"),
    "cells of two columns": lambda s: histogram(s, ["ok", "n"], [[True, False], [1, 2]], 1, where="x > 0"),
    "winner": lambda s: plurality(s, "n", [1, -1, 0], 1, "ok OR ok IS NULL"),
    "keys": lambda s: keys(s, ["n", "ok"]),
    "top": lambda s: QueryMaker(s).top("n", 2, [1, -1, 0], 1, where="ok OR ok IS NULL"),
    "median": lambda s: quantile(s, "x", "1/2", [-2, 0, 1, 4], 1),
    "third": lambda s: quantile(s, "x", "1/3", [-2, 0.5, 2.5], 1, "n < 5"),
    "quantiles": lambda s: quantile(s, "x", ["1/3", "1/2"], [-2, 0.5, 2.5], 1, "n < 5"),
    "variance": lambda s: variance(s, "x", -2, 5, "0.5", "n < 5 OR ok", 1),
    "variance of groups": lambda s: variance(s, "x", -2, 5, 1, None, 1, by=um.keys(ok=[True, False, None])),
    "covariance": lambda s: covariance(s, "x", "n", (-2, 5), (0, 3), 1, "ok OR ok IS NULL"),
    "marginals": lambda s: QueryMaker(s).marginals(KEYS, [("ok",), ("n", "ok"), ("n", "id")], 1, where="x > -3"),
    "hierarchy": lambda s: QueryMaker(s).hierarchy(["ok", "n"], um.keys(ok=[True, False], n=[1, -1, 0]), 1),
}
REPLACED = {"share": lambda s: share(s, "x > 0", 1)}
"""Where rows come or go, a share of a public number is refused."""
OF_PEOPLE = {
    "two keys each": lambda s: keys(s, "x", keys_each=2),
    "people": lambda s: count(s, "NOT ok", 1, "people"),
    "people in cells": lambda s: histogram(s, "n", [1, -1, 0], 1, of="people"),
    "people at once": lambda s: counts(s, ["n >= 0", "x > 1", "ok"], 1, "people"),
    "people in disjoint conditions": lambda s: counts(s, ["n < 0", "n >= 0", "n IS NULL"], 1, "people"),
    "people in nested conditions": lambda s: counts(s, ["n >= 0", "n >= 4"], 1, "people"),
    "left out": lambda s: left_out(s, "n >= 0", 1),
    "rows left out": lambda s: QueryMaker(s).left_out("n >= 0", 1, up_to=3),
    "share left out": lambda s: QueryMaker(s).share_left_out("n >= 0", 1),
    "rows per person": lambda s: QueryMaker(s).rows_per_person("n >= 0", 1, largest=3),
}
ELSEWHERE = {
    *((name, "ByKeys") for name in ("count", "sum", "mean")),
    *((name, "ByFoundKeys") for name in ("count", "sum", "mean")),
    *(("top", "TopFound"), ("sum", "SeveralSums"), ("count", "TieredCount"), ("quantile", "Ranked")),
}
"""Queries whose neighbours other files look at: test_by_keys, test_found_keys, test_choices_by, test_quantile_truth."""


def kinds(unit, neighbours):
    """What can be asked about a table, by name."""
    return ASKED | (OF_PEOPLE if unit.id else {}) | (REPLACED if neighbours == "replace" else {})


def asked(name, listed, unit, neighbours):
    """A question about a table."""
    return kinds(unit, neighbours)[name](Setting(opening.open_table(as_table(listed)), unit, neighbours))


@cache
def read_by(name, which, neighbours):
    """The space of a question, and its private point as a function of the table."""
    found = asked(name, [], UNITS[which], neighbours)
    return found.question.space, found.reader(SECRET)


def questions(listed, unit, neighbours):
    """Every kind of question about a table, by name."""
    setting = Setting(opening.open_table(as_table(listed)), unit, neighbours)
    return {name: ask(setting) for name, ask in kinds(unit, neighbours).items()}


def test_every_question_is_among_those_asked():
    found = questions([], UNITS[1], "replace").values()
    assert {sort_of(asked.question) for asked in found} | ELSEWHERE == sorts()
    assert {asked.question.space.moves for asked in found if isinstance(asked.question.space, Lattice)} == {
        "cube",
        "exchange",
        "one-way",
    }


def check_neighbours(listed, which, neighbours, data):
    unit = UNITS[which]
    near = neighbour_of(listed, unit, neighbours, data)
    for name in data.draw(st.permutations([*kinds(unit, neighbours)]))[:3]:
        space, point = read_by(name, which, neighbours)
        here, there = (point(as_table(some)) for some in (listed, near))
        assert one_neighbour_apart(space, here, there), (name, listed, near)


@settings(max_examples=40)
@given(tables, st.sampled_from([0, 1, 2]), st.sampled_from(["replace", "add-remove"]), st.data())
def test_neighbours_are_the_same_or_adjacent_points(listed, which, neighbours, data):
    """One row or person changed, added or removed moves every statistic by a move of its space."""
    check_neighbours(listed, which, neighbours, data)


@pytest.mark.long
@settings(max_examples=1500)
@given(tables, st.sampled_from([0, 1, 2]), st.sampled_from(["replace", "add-remove"]), st.data())
def test_neighbours_are_adjacent_in_thousands_of_tables(listed, which, neighbours, data):
    """The same, for thousands of tables."""
    check_neighbours(listed, which, neighbours, data)


def rounded(x, lower, upper, step):
    """What one value counts, by another road: exact rationals, half up."""
    clamped = min(max(Fraction(x) if math.isfinite(x) else None, Fraction(lower)), Fraction(upper))
    return math.floor(clamped / Fraction(step) + Fraction(1, 2))


@settings(max_examples=8)
@given(tables, st.randoms())
def test_sums_are_exact_and_do_not_depend_on_order(listed, shuffler):
    """Against exact rationals, row by row; permuted rows give the same point, with rows and with people."""
    present = [x for _, x, _, _ in listed if x is not None and math.isfinite(x)]
    wanted = sum(rounded(x, -2, 5, "1/2") for x in present)
    setting = Setting(opening.open_table(as_table(listed)), um.rows(at_most=1000), "replace")
    assert point(total(setting, "x", -2, 5, "0.5", None, 1)) == {"sum": wanted}
    shuffled = shuffler.sample(listed, len(listed))
    name = shuffler.choice(list(ASKED))
    here, there = ([point(asked(name, some, unit, "replace")) for unit in UNITS] for some in (listed, shuffled))
    assert here == there


@settings(max_examples=20)
@given(tables)
def test_counts_of_people_against_python(listed):
    """Rows of people are counted up to the bound, people once, nulls never."""
    unit = um.people("id", rows_each=2, at_most=50, truncate="question")
    setting = Setting(opening.open_table(as_table(listed)), unit, "replace")
    having = Counter(who for who, _, n, _ in listed if who is not None and n is not None and n >= 0)
    assert point(count(setting, "n >= 0", 1)) == {"count": sum(min(2, k) for k in having.values())}
    assert point(count(setting, "n >= 0", 1, "people", "absolute", None)) == {"count": len(having)}
    assert point(left_out(setting, "n >= 0", 1)) == {"left_out": sum(k > 2 for k in having.values())}
    beyond = sum(min(max(k - 2, 0), 3) for k in having.values())
    assert point(QueryMaker(setting).left_out("n >= 0", 1, up_to=3)) == {"left_out": beyond}


def test_how_far_one_neighbour_moves():
    """The table of the documentation: count, sum and majority, by neighbours and rows per person."""
    for neighbours, k in (("replace", 1), ("replace", 3), ("add-remove", 1), ("add-remove", 3)):
        unit = um.rows(at_most=50) if k == 1 else um.people("id", rows_each=k, at_most=50)
        setting = Setting(opening.open_table(as_table([])), unit, neighbours)
        replaced = neighbours == "replace"

        def reach(question):
            return question.question.space.reach

        assert reach(count(setting, None, 1, "rows", "absolute", None)) == k
        assert reach(total(setting, "x", -3, 10, 1, None, 1, "absolute", None)) == (13 if replaced else 10) * k
        assert reach(total(setting, "x", 0, 10, 1, None, 1, "absolute", None)) == 10 * k
        assert reach(total(setting, "x", 4, 10, 1, None, 1, "absolute", None)) == 10 * k  # a null is farther than 4
        assert reach(total(setting, "x", -9, -4, 1, None, 1, "absolute", None)) == 9 * k
        assert reach(majority(setting, "ok", 1, "zero-one", None)) == (2 if replaced else 1) * k
        if k > 1:
            assert reach(count(setting, None, 1, "people", "absolute", None)) == 1


def test_the_bound_is_reached():
    """The stated reach is not too large: some neighbours are that far apart."""
    unit = um.people("id", rows_each=2, at_most=9)
    for neighbours, near, far in (
        ("replace", [("a", 5.0, 1, True)] * 4, [("a", -2.0, 1, True)] * 4),
        ("add-remove", [], [("a", 5.0, 1, True)] * 3),
    ):
        for name in ("sum", "majority"):
            one, other = (asked(name, some, unit, neighbours) for some in (near, far))
            moved = abs(one.private_point(SECRET) - other.private_point(SECRET))
            assert moved == one.question.space.reach, name


def test_clamped_not_refused():
    """More rows than were promised are clamped to the public range."""
    for question in questions([("a", 5.0, 1, True)] * 30, um.rows(at_most=9), "replace").values():
        space, found = question.question.space, question.private_point(SECRET)
        if isinstance(space, Line):
            assert space.first <= found <= space.last


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("which", [0, 1, pytest.param(2, marks=pytest.mark.long)])
def test_more_rows_than_declared_keep_neighbours_neighbours(which, neighbours):
    """Where cells are full, one more row in them is not seen: neither may what it left or came from be seen alone."""
    row = {who: (who, 5.0, 1, True) for who in "ab"} | {"c": ("c", -3.0, -1, None)}
    unit = UNITS[which]
    for rest in (9, 10):
        many = [row["a"] if unit.id is None else (str(i % 6), 5.0, 1, True) for i in range(rest)]
        near = [*many[1:], row["c"]] if neighbours == "replace" and unit.id is None else [*many, row["c"]]
        for name in kinds(unit, neighbours):
            space, point = read_by(name, which, neighbours)
            points = point(as_table(many)), point(as_table(near))
            assert one_neighbour_apart(space, *points), (name, points)


def test_which_rows_of_a_person_count_depends_on_the_secret():
    """The kept rows are chosen by the secret, and about evenly."""
    listed = [("a", float(x), x, True) for x in range(8)]
    setting = Setting(opening.open_table(as_table(listed)), um.people("id", rows_each=1, at_most=5), "replace")
    question = total(setting, "n", 0, 9, 1, None, 1)
    kept = Counter(point(question, bytes([i]) * 32)["sum"] for i in range(60))
    assert set(kept) == set(range(8))
    assert max(kept.values()) < 22


def test_no_float_is_summed():
    """A thousand tenths are a hundred, whatever the order; huge sums do not overflow."""
    tenths = as_table([("a", 0.1, 2**40, True)] * 1000)
    source = opening.open_table(tenths)
    grid = as_grid(0, 1, "0.1")
    assert sums(source, values(source, "x", grid, None)) == {"s": 1000}
    wide = as_grid(0, 2**47, 1)
    assert sums(source, values(source, "n", wide, None)) == {"s": 1000 * 2**40}
    n = 70_000
    big = pyarrow.table({"n": pyarrow.array(np.full(n, 2**62, dtype=np.int64))})
    source = opening.open_table(big)
    assert sums(source, values(source, "n", wide, None)) == {"s": n * 2**47}


# ---- where tables come from ----

LISTED = [("a", 1.5, 3, True), ("b", None, -2, None), (None, 7.0, None, False), ("a", math.nan, 4, True)]


def open_everywhere(tmp_path):
    """The same four rows as every kind of table."""
    import ibis

    table = as_table(LISTED)
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("id,x,n,ok\na,1.5,3,true\nb,,-2,\n,7.0,,false\na,nan,4,true\n")
    (tmp_path / "t.tsv").write_text("id\tx\tn\tok\na\t1.5\t3\ttrue\nb\t\t-2\t\n\t7.0\t\tfalse\na\tnan\t4\ttrue\n")
    connection = ibis.duckdb.connect(tmp_path / "t.duckdb")
    connection.con.register("given", table)
    connection.con.execute("CREATE TABLE t AS SELECT * FROM given")
    types = {"x": float, "n": int, "ok": bool}
    yield "arrow", table, None
    yield "ibis", connection.table("t"), None
    yield (
        "ibis, filtered",
        connection.table("t").filter(lambda t: (t.n > -100) | t.n.isnull()).select("x", "n", "ok", "id"),
        None,
    )
    connection.con.close()
    yield "duckdb", f"{tmp_path}/t.duckdb#t", None
    yield "parquet", tmp_path / "t.parquet", None
    yield "csv", tmp_path / "t.csv", types
    yield "tsv", str(tmp_path / "t.tsv"), types
    yield "polars", polars.DataFrame({n: table[n].to_pylist() for n in table.column_names}), None
    pandas = pytest.importorskip("pandas")
    yield (
        "pandas",
        pandas.DataFrame({n: pandas.Series(table[n].to_pylist(), dtype=object) for n in table.column_names}),
        types,
    )
    frame = pandas.DataFrame({"id": ["a", "b", None, "a"], "x": [1.5, None, 7.0, math.nan]})
    frame["n"] = pandas.array([3, -2, None, 4], dtype="Int64")
    frame["ok"] = pandas.array([True, None, False, True], dtype="boolean")
    yield "pandas, typed", frame, None


def test_every_kind_of_table_gives_the_same_points(tmp_path):
    """CSV, Parquet, DuckDB, Ibis, arrow, polars and pandas agree on every question."""
    wanted = None
    for name, table, types in open_everywhere(tmp_path):
        source = opening.open_table(table, types)
        found = []
        for unit in UNITS:
            setting = Setting(source, unit, "replace")
            found += [
                point(count(setting, "n >= 0", 1, "rows", "absolute", None)),
                point(total(setting, "x", -2, 5, "0.5", None, 1, "absolute", None)),
                point(majority(setting, "ok", 1, "zero-one", None)),
            ]
        wanted = wanted or found
        assert found == wanted, name


def test_nan_is_null_wherever_blocks_of_rows_are_skipped(tmp_path):
    """DuckDB skips a Parquet block by its least and greatest value, which know no NaN: x >= 65 would then be true of a
    NaN or not by what the other rows hold, and one changed row would move a count by two."""
    points = []
    for i, other in enumerate((50.0, 70.0)):
        table = pyarrow.table({"x": [math.nan, 1.0, other]})
        pyarrow.parquet.write_table(table, tmp_path / f"{i}.parquet")
        for where in (tmp_path / f"{i}.parquet", table):
            setting = Setting(opening.open_table(where), um.rows(at_most=9), "replace")
            points.append(point(count(setting, "x >= 65", 1, "rows", "absolute", None))["count"])
            assert point(count(setting, lambda t: t.x.isnull(), 1, "rows", "absolute", None)) == {"count": 1}
            points.append(point(count(setting, lambda t: t.x >= 65, 1, "rows", "absolute", None))["count"])
    assert points == [0, 0, 0, 0, 1, 1, 1, 1]


def test_untyped_csv_is_read_as_the_question_says(tmp_path):
    """Without types a number is what a question compares with a number; junk is null and causes nothing."""
    file = tmp_path / "t.csv"
    file.write_text('age,name\n70,Ann\n"7""1",Bob\nold,Cy\n,Di\n66,Ed,too,many\n65.5,Flo\n')
    source = opening.open_table(file)
    setting = Setting(source, um.rows(at_most=20), "replace")
    assert point(count(setting, "age >= 65", 1, "rows", "absolute", None)) == {"count": 3}
    assert point(count(setting, None, 1, "rows", "absolute", None)) == {"count": 6}  # surplus entries are ignored
    assert point(total(setting, "age", 0, 100, 1, None, 1, "absolute", None)) == {"sum": 202}
    assert point(count(setting, "name LIKE '_o%'", 1, "rows", "absolute", None)) == {"count": 1}


pieces = st.sampled_from(
    [b"70,Ann\n", b'"70","A""n"\n', b'"unclosed,5\n', b"\x00,\xff\xfe\n", b"1,2,3\r\n", b'7"0,x\n', b"\n"]
)


@settings(max_examples=30)
@given(st.lists(st.one_of(pieces, st.binary(max_size=12)), max_size=20))
def test_no_bytes_in_a_csv_file_cause_an_error(listed):
    """Whatever follows the header, the table opens and counts."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "t.csv").write_bytes(b"age,name\n" + b"".join(listed))
        setting = Setting(opening.open_table(Path(folder) / "t.csv"), um.rows(at_most=99), "replace")
        assert 0 <= point(count(setting, "age >= 65", 1, "rows", "absolute", None))["count"] <= 99


def test_no_entry_of_a_well_written_csv_file_changes_how_other_rows_are_read(tmp_path):
    """Above 16 MB, where several threads would guess where rows start: quotes, commas and line breaks in entries."""
    note = 'see "a", "b"\nand, c\n70,70,ok\n9,70,"x",\n' * 8
    for longer in ("", "y" * 1000):
        with (tmp_path / "t.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "age", "note"])
            writer.writerows((i, 70, note if i else longer + note) for i in range(60_000))
        assert (tmp_path / "t.csv").stat().st_size > 2**24
        setting = Setting(opening.open_table(tmp_path / "t.csv"), um.rows(at_most=10**6), "replace")
        assert point(count(setting, "age >= 65", 1, "rows", "absolute", None)) == {"count": 60_000}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "header"),
        (b"a,,b\n", "header"),
        (b"a,A\n", "header"),
        (b"\xff\xfe,b\n", "header"),
        (b'a,"b\nc"\n1,2\n', "header"),
    ],
)
def test_csv_without_a_header_is_refused(content, words, tmp_path):
    """The header is public, so what is wrong with it is said."""
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(BadFile, match=words):
        opening.open_table(tmp_path / "t.csv")


def test_wrong_tables_are_refused(tmp_path):
    """Each with what to give instead."""
    for name, content in (
        ("cut", gzip.compress(b"a,b\n")[:-12]),
        ("bent", gzip.compress(b"a,b\n")[:10] + b"\xff" * 20),
    ):
        (tmp_path / f"{name}.csv.gz").write_bytes(content)
        with pytest.raises(BadFile):
            opening.open_table(tmp_path / f"{name}.csv.gz")
    (tmp_path / "t.txtx").write_text("a\n")
    (tmp_path / "bad.parquet").write_text("not parquet")
    (tmp_path / "bad.duckdb").write_text("not duckdb")
    for table, words in (
        (tmp_path / "none.csv", "no file"),
        (tmp_path / "t.txtx", "not a kind of file"),
        (f"{tmp_path}/bad.duckdb", "say which"),
        ([1, 2], "not a table"),
        (pyarrow.array([1]), "not a table"),
        (polars.DataFrame({"a": [1]}).lazy(), "collect"),
        (tmp_path / "bad.parquet", "cannot be opened"),
        (f"{tmp_path}/bad.duckdb#t", "DuckDB file"),
    ):
        with pytest.raises(InvalidInput, match=words):
            opening.open_table(table)
    with pytest.raises(InvalidInput, match="not a column"):
        opening.open_table(as_table([]), {"nothing": int})
    with pytest.raises(InvalidInput, match="already"):
        opening.open_table(as_table([]), {"n": int})


def test_tables_that_are_not_row_wise_are_refused():
    """Joins, groups, DISTINCT, LIMIT, samples, SQL and views: each with the remedy."""
    import ibis

    connection = ibis.duckdb.connect()
    connection.con.execute(
        "CREATE TABLE t AS SELECT 1 AS id, 2 AS n; CREATE VIEW v AS SELECT id, count(*) AS n FROM t GROUP BY id"
    )
    t = connection.table("t")
    with warnings.catch_warnings():  # Ibis calls what DuckDB has deprecated
        warnings.simplefilter("ignore")
        written = connection.sql("SELECT * FROM t")
    for table in (
        t.join(t.view(), "id"),
        t.group_by("id").aggregate(n=t.n.sum()),
        t.distinct(),
        t.limit(5),
        t.sample(0.5),
        t.order_by("n"),
        t.union(t),
        written,
        connection.table("v"),
        t.mutate(m=t.n.mean()),
        t.mutate(m=ibis.row_number()),
        t.filter(t.n > t.n.mean()),
        t.mutate(n=t.n.cast("string").cast("int64")),
    ):
        with pytest.raises(NotRowWise):
            opening.open_table(table)
    assert opening.open_table(t.filter(t.n > 1).mutate(m=t.n > 3)).columns == ("id", "n", "m")
    source = opening.open_table(ibis.memtable(pyarrow.table({"n": [1, 2, 3]})))
    assert sums(source, values(source, "n", as_grid(0, 9, 1), None)) == {"s": 6}
    connection.con.close()


def test_an_engine_that_fails_says_one_fixed_sentence(monkeypatch):
    """Whatever fails after the spend, the message holds nothing of it and the spend stays."""
    s = session([("a", 1.0, 1, True)], um.rows(at_most=5))
    compiled = Source.statement

    def then_closed(source, query):
        made = compiled(source, query)
        source.connection.close()
        return made

    monkeypatch.setattr(Source, "statement", then_closed)
    with pytest.raises(AccountSuspended) as caught:
        s.count("n > 0", privacy=1)
    assert str(caught.value) == SUSPENDED
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert str(s.spent) == "epsilon 1 of 1000"
    s.account.resume()
    with pytest.raises(InvalidInput, match="cannot be read any more"):
        s.count("n > 0", privacy=1, fresh=True)
    assert str(s.spent) == "epsilon 1 of 1000"


def test_no_value_of_a_frame_causes_an_error():
    """Lone surrogates, mixed objects, bytes that are no UTF-8 and times out of range are null, not errors."""
    import ibis
    import pandas

    mixed = pandas.DataFrame({"a": ["x", 1, "\ud800", None]})
    strings = pandas.DataFrame({"a": pandas.Series(["x", "1", "\ud800", None], dtype=pandas.StringDtype("python"))})
    broken = pyarrow.Array.from_buffers(
        pyarrow.string(),
        4,
        [None, pyarrow.py_buffer(np.array([0, 1, 2, 4, 6], "int32")), pyarrow.py_buffer(b"x1\xff\xfe\xfe\xff")],
    )
    for table in (mixed, strings, ibis.memtable(mixed), pyarrow.table({"a": broken})):
        setting = Setting(opening.open_table(table), um.rows(at_most=9), "replace")
        assert point(count(setting, "a ILIKE 'X%'", 1, "rows", "absolute", None)) == {"count": 1}
        assert point(count(setting, "a IS NULL", 1, "rows", "absolute", None)) == {"count": 2}
    for unit in ("s", "ms", "us", "ns"):
        raw = pyarrow.array([-(2**63), -(2**63) + 1, 2**63 - 1, 10**9, None], pyarrow.int64())
        times = pyarrow.table({"t": raw.cast(pyarrow.timestamp(unit))})
        setting = Setting(opening.open_table(times), um.rows(at_most=9), "replace")
        for where in ("t > '2020-01-01'", "year(t) = 1990", "TRY_CAST(t AS DATE) IS NULL", "t IS NULL"):
            assert point(count(setting, where, 1, "rows", "absolute", None))["count"] < 9
    runs = pyarrow.table({"n": pyarrow.RunEndEncodedArray.from_arrays([2, 4], [1, 70])})
    setting = Setting(opening.open_table(runs), um.rows(at_most=9), "replace")
    assert point(count(setting, "n >= 65", 1, "rows", "absolute", None)) == {"count": 2}


def test_what_always_fails_does_so_before_the_spend():
    """Literals and types that no row can be compared with: public errors, with nothing charged."""
    import datetime
    from decimal import Decimal

    table = pyarrow.table(
        {
            "txt": ["a"],
            "age": [70],
            "ts": pyarrow.array([0], pyarrow.int64()).cast(pyarrow.timestamp("ns")),
            "b": pyarrow.array([Decimal("0.5")], pyarrow.decimal128(38, 38)),
        }
    )
    s = um.Session(table, "d", um.rows(at_most=9), "replace", budget=1)
    for where in ("txt = 'a\x00b'", lambda t: t.age.try_cast("decimal(76,2)") > 1):
        with pytest.raises(InvalidInput):
            s.count(where, 0.1)
    assert str(s.left) == "epsilon 1 of 1"
    s.count(lambda t: t.ts > datetime.datetime(3020, 1, 1), 0.1)
    s.count(lambda t: t.b > 5, 0.1)
    s.count("b > 5", 0.1)
    with pytest.raises(InvalidInput, match="timestamp"):
        opening.open_table(pyarrow.table({"t": ["a"]}), {"t": "timestamp('UTC')"})


def test_rows_that_do_not_fit_into_memory_are_put_where_nobody_else_reads():
    """The directory is made for this process, not guessed, and closed to others."""
    source = opening.open_table(as_table([]))
    folder = Path(source.connection.execute("SELECT current_setting('temp_directory')").fetchone()[0])
    assert folder.is_dir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert folder.name != f"utmost-duckdb-{os.getpid()}"


def test_views_are_refused_under_any_spelling_and_collations_too(tmp_path):
    """DuckDB reads names in any case; a collation would make one person of two."""
    import duckdb

    with duckdb.connect(str(tmp_path / "t.duckdb")) as made:
        made.execute("CREATE TABLE t AS SELECT 1 AS id; CREATE VIEW Several AS SELECT count(*) AS n FROM t")
        made.execute("CREATE SCHEMA other; CREATE TABLE other.several AS SELECT 1 AS n")
        made.execute("CREATE TABLE people(id VARCHAR COLLATE nocase)")
    for name in ("Several", "several", "SEVERAL"):
        with pytest.raises(NotRowWise):
            opening.open_table(f"{tmp_path}/t.duckdb#{name}")
    with pytest.raises(InvalidInput, match="COLLATE"):
        opening.open_table(f"{tmp_path}/t.duckdb#people")
    assert opening.open_table(f"{tmp_path}/t.duckdb#T").columns == ("id",)


def test_frames_of_types_no_engine_reads_are_refused():
    """By the type alone."""
    from decimal import Decimal

    for column in (
        pyarrow.array(np.array([1], np.float16)),
        pyarrow.array([Decimal(1)], pyarrow.decimal256(50, 2)),
    ):
        with pytest.raises(InvalidInput, match="type"):
            opening.open_table(pyarrow.table({"a": column}))


def test_a_file_without_a_header_shows_nobody_in_an_error(tmp_path):
    """The first line may be a person's."""
    (tmp_path / "t.csv").write_text("Ann,71,ann@example.org\n")
    source = opening.open_table(tmp_path / "t.csv")
    for ask in (
        lambda: values(source, "age", as_grid(0, 9, 1), None),
        lambda: opening.open_table(tmp_path / "t.csv", {"age": int}),
    ):
        with pytest.raises(InvalidInput) as caught:
            ask()
        assert "71" not in str(caught.value)
        assert "first line" in str(caught.value)
