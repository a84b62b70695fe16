"""Engines: threads do not fetch each other's rows, no value fails, and only base tables are read."""

import threading
import warnings

import ibis
import numpy as np
import pyarrow
import pytest
from oracles.pace import within
from oracles.questions import Setting, count, majority, mean, total

import utmost as um
from utmost.backends.opening import open_table
from utmost.errors import InvalidInput, NotRowWise
from utmost.queries.predicate.python import Row
from utmost.queries.report.proof import load_answers

SECRET = b"s" * 32


def point(asked):
    return asked.point(asked.statement(SECRET))


def how_many(source, where=None):
    return point(count(Setting(source, um.rows(at_most=10**6), "replace"), where, 1, "rows", "absolute", None))["count"]


@pytest.fixture
def connection():
    made = ibis.duckdb.connect()
    yield made
    made.con.close()


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet", "duckdb"])
def test_threads_on_one_session_get_their_own_rows(kind, connection, tmp_path):
    """A connection of DuckDB holds one result: another thread's would be released through the wrong mechanism."""
    table = pyarrow.table({"a": [1] * 20_000, "b": [1000] * 20_000})
    if kind == "frame":
        given = table
    elif kind == "duckdb":
        connection.create_table("t", table)
        given = connection.table("t")
    else:
        connection.con.register("rows", table)
        given = str(tmp_path / f"t.{kind}")
        connection.con.execute(f"COPY rows TO '{given}'")
    setting = Setting(open_table(given), um.rows(at_most=10**5), "replace")
    asked = [
        (count(setting, "a = 2", 1, "rows", "absolute", None), {"count": 0}),
        (total(setting, "b", 0, 1000, 1, None, 1, "absolute", None), {"sum": 2 * 10**7}),
        (count(setting, "b = 1000", 1, "rows", "absolute", None), {"count": 20_000}),
    ]
    wrong = []

    def ask(question, wanted):
        for _ in range(15):
            try:
                found = point(question)
            except Exception as reason:
                found = reason
            if found != wanted:
                wrong.append((question.kind, found))

    def look():  # at the same connection, as a user may
        for _ in range(30):
            connection.con.execute("SELECT 7").fetchone()

    threads = [threading.Thread(target=ask, args=each) for each in asked] + [threading.Thread(target=look)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_cursor_sees_what_the_user_sees_or_the_table_is_refused(connection):
    """Other catalogs and schemas, settings of the connection, temporary and uncommitted tables."""
    run = connection.con.execute
    run("ATTACH ':memory:' AS other; CREATE TABLE other.z AS SELECT 5 AS n")
    run("CREATE SCHEMA s; CREATE TABLE s.w AS FROM other.z; CREATE TEMP TABLE temporary (n INT)")
    run("CREATE TABLE twice AS SELECT 1 AS n; CREATE TABLE s.twice AS SELECT 2 AS n")
    run("USE other; SET default_collation = 'nocase'")
    run("CREATE TABLE texts AS SELECT 'a' AS t")
    assert how_many(open_table(connection.table("z")), "n = 5") == 1
    assert how_many(open_table(connection.table("z", database=("other", "main"))), "n = 5") == 1
    assert how_many(open_table(connection.table("w", database=("memory", "s"))), "n = 5") == 1
    assert how_many(open_table(connection.table("texts")), "t = 'A'") == 0
    assert how_many(open_table(connection.table("twice", database=("memory", "s"))), "n = 2") == 1
    run("USE memory")
    for name in ("temporary", "twice"):
        with pytest.raises(InvalidInput, match="without TEMP"):
            open_table(connection.table(name))
    run("BEGIN; CREATE TABLE uncommitted (n INT)")
    with pytest.raises(InvalidInput, match="commit"):
        open_table(connection.table("uncommitted"))
    run("COMMIT")
    gone = connection.table("uncommitted")
    connection.con.close()
    with pytest.raises(InvalidInput, match="open"):
        open_table(gone)


def test_a_view_made_later_does_not_take_the_tables_place(connection):
    """Nor does a condition built from the user's own table, under its short name, look elsewhere."""
    connection.con.execute("CREATE TABLE t AS SELECT range AS n FROM range(10)")
    table = connection.table("t")
    source = open_table(table.filter(table.n > 1))
    connection.con.execute("CREATE TEMP VIEW t AS SELECT max(n) AS n FROM memory.main.t")
    assert how_many(source) == 8
    assert how_many(source, Row(source.columns).n > 5) == 4
    assert how_many(source, source.ibis_table.n > 5) == 4
    with pytest.raises(NotRowWise, match="view"):
        open_table(table)


def test_columns_that_are_computed_when_read_are_refused(connection):
    """They may be random, look at other things, or fail on a row; without them, the table is read."""
    connection.con.execute("CREATE SEQUENCE seq; SET VARIABLE v = 1")
    for i, made in enumerate(
        ("DOUBLE AS (random())", "BIGINT AS (nextval('seq'))", "INT AS (x + getvariable('v')::INT)")
    ):
        connection.con.execute(f"CREATE TABLE t{i} (x INT, s TEXT, r {made}); INSERT INTO t{i} VALUES (1, 'a')")
        table = connection.table(f"t{i}")
        with pytest.raises(InvalidInput, match=r"column 'r' is computed when it is read"):
            how_many(open_table(table), "r IS NULL")
        with pytest.raises(InvalidInput, match=r"column 'r' is computed when it is read"):
            open_table(table.filter(table.r.notnull()).drop("r"))
        assert how_many(open_table(table.drop("r")), "x = 1") == 1
    connection.con.execute("CREATE TABLE plain (x INT DEFAULT 5)")
    assert how_many(open_table(connection.table("plain"))) == 0


def test_durations_and_nested_columns_fail_on_no_value():
    """Whatever stands in them: the column's type alone says what becomes of it."""
    import pandas
    import polars

    big = pyarrow.array([2**60, -(2**63), 2**63 - 1, 2, None], pyarrow.int64())
    text = pyarrow.Array.from_buffers(
        pyarrow.string(), 5, [None, pyarrow.py_buffer(np.arange(6, dtype="int32")), pyarrow.py_buffer(b"\xffabcd")]
    )
    starts = pyarrow.array([0, 1, 2, 3, None, 5], pyarrow.int32())
    nested = {
        f"{name}_{kind}": column
        for name, held in {
            "seconds": big.cast(pyarrow.duration("s")),
            "milliseconds": big.cast(pyarrow.duration("ms")),
            "times": big.cast(pyarrow.timestamp("s")),
            "text": text,
        }.items()
        for kind, column in (
            ("list", pyarrow.ListArray.from_arrays(starts, held)),
            ("struct", pyarrow.StructArray.from_arrays([held], ["f"], mask=pyarrow.array([False] * 4 + [True]))),
        )
    }
    for name, column in nested.items():
        source = open_table(pyarrow.table({name: column, "n": [1, 2, 3, 4, 5]}))
        assert how_many(source) == 5
        assert how_many(source, f"{name} IS NULL AND n > 0") == 1
        with pytest.raises(NotRowWise):
            how_many(source, f"{name} = 'a'")
    for unit, absent in (("s", 4), ("ms", 4), ("us", 1), ("ns", 1)):
        column = big.cast(pyarrow.duration(unit))
        frames = [pyarrow.table({"wait": column}), pyarrow.table({"wait": column.dictionary_encode()})]
        if unit != "s":
            frames.append(polars.from_arrow(frames[0]))
        frames.append(pandas.DataFrame({"wait": np.array([2**60, 2**62, 2**62, 2, "NaT"], f"timedelta64[{unit}]")}))
        for frame in frames:
            source = open_table(frame)
            assert how_many(source) == 5
            assert how_many(source, "wait IS NULL") == absent
    odd = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, None]), pyarrow.array([[1]]))
    with pytest.raises(InvalidInput, match="convert it"):
        open_table(pyarrow.table({"a": odd}))


def test_unsigned_columns_take_negative_bounds():
    """A range may reach below what the column can hold."""
    source = open_table(pyarrow.table({"u": pyarrow.array([0, 5, 2**64 - 1, None], pyarrow.uint64())}))
    setting = Setting(source, um.rows(at_most=9), "replace")
    assert point(total(setting, "u", -5, 10, 1, None, 1, "absolute", None)) == {"sum": 15}
    assert point(mean(setting, "u", -4, 10, 1, None, 1, "absolute")) == {"above_lower": 27, "below_upper": 15}


def test_a_histogram_of_the_columns_the_other_way_round_is_another_question():
    """Its cells have the same names, in another order of columns: the recorded answer is not its answer."""
    s = um.Session(
        pyarrow.table({"a": ["yes"] * 100, "b": ["no"] * 100}), "d", um.rows(at_most=200), "replace", budget=1000
    )
    both = [["yes", "no"], ["yes", "no"]]
    assert s.histogram(["a", "b"], both, privacy=50).value["yes, no"] == 100
    assert s.histogram(["b", "a"], both, privacy=50).value["no, yes"] == 100
    assert s.histogram(["b", "a"], both, privacy=50).value["no, yes"] == 100
    assert str(s.spent) == "epsilon 100 of 1000"
    with pytest.raises(InvalidInput, match="NUL"):
        s.histogram("a", ["yes", "n\0"], privacy=1)


def test_a_majority_of_a_negated_condition():
    """Three say no, one says yes, one is unknown: most are not for it."""
    source = open_table(pyarrow.table({"ok": [True, False, False, False, None], "n": [1, 2, 3, None, 5]}))
    setting = Setting(source, um.rows(at_most=9), "replace")
    for where, wanted in (
        ("NOT ok", 2),
        ("NOT (NOT ok)", -2),
        (lambda t: ~t.ok, 2),
        ("n NOT IN (1, 2)", 0),
        ("NOT n > 1", -2),
        ("n NOT BETWEEN 2 AND 3", 0),
    ):
        assert point(majority(setting, where, 1, "zero-one", None)) == {"yes": wanted}, where


def test_columns_that_are_conditions_keep_their_meaning(connection):
    """Ibis writes their expressions into conditions, where they need parentheses."""
    import itertools

    rows = list(itertools.product((None, 0, 1), (None, True, False), (None, True, False)))
    connection.con.execute("CREATE TABLE t (x INT, a BOOLEAN, c BOOLEAN)")
    connection.con.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    t = connection.table("t")
    for column, meant in (
        (~t.a, "NOT a"),
        (t.a | t.c, "a OR c"),
        (t.a.identical_to(t.c), "a IS NOT DISTINCT FROM c"),
        (t.x.between(0, 0), "x BETWEEN 0 AND 0"),
        (t.x.notin([0]), "x NOT IN (0)"),
    ):
        source = open_table(t.mutate(v=column))
        filtered = open_table(t.mutate(v=column).filter(ibis._.v.isnull()))
        for where in ("v IS NULL", "v < c", "c < v", "NOT v", "v BETWEEN a AND c", "c IN (v, a)", "v = c AND x = 0"):
            wanted = f"SELECT count(*) FROM (SELECT *, {meant} AS v FROM t) WHERE {where}"
            assert (how_many(source, where),) == connection.con.execute(wanted).fetchone(), (meant, where)
        same = source.ibis_table.c.identical_to(source.ibis_table.v)
        wanted = f"SELECT count(*) FROM t WHERE c IS NOT DISTINCT FROM ({meant})"
        assert (how_many(source, same),) == connection.con.execute(wanted).fetchone(), meant
        wanted = f"SELECT count(*) FROM t WHERE ({meant}) IS NULL"
        assert (how_many(filtered),) == connection.con.execute(wanted).fetchone(), meant


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE r RENAME TO r0; CREATE VIEW r AS SELECT r0.* FROM r0, range(7)",
        "DROP TABLE r",
        "DROP TABLE r; CREATE TABLE r (n BIGINT, id TEXT COLLATE nocase)",
        "DROP TABLE r; CREATE TABLE r (n BIGINT, id DOUBLE)",
        "ALTER TABLE r ALTER n TYPE DOUBLE",
    ],
)
def test_a_table_that_changed_since_it_was_opened_is_refused_before_the_spend(connection, change):
    """A view in its place may multiply rows, other types or collations make one person of two."""
    connection.con.execute("CREATE TABLE r AS SELECT range AS n, 'p' || range AS id FROM range(10)")
    table = connection.table("r")
    s = um.Session(table, "d", um.people("id", rows_each=1, at_most=50), "replace", budget=1000)
    assert s.count("n >= 0", privacy=50).value == 10
    connection.con.execute("INSERT INTO r VALUES (10, 'q'), (-1, 'r')")  # rows may come and go
    assert s.count("n >= 0", privacy=50, fresh=True).value == 11
    connection.con.execute(change)
    with pytest.raises(InvalidInput, match="session, again"):
        s.count("n >= 0", privacy=50, fresh=True)
    assert str(s.spent) == "epsilon 100 of 1000"
    with pytest.raises(InvalidInput):
        open_table(table)  # whose types Ibis remembers


def test_a_file_that_is_gone_is_not_charged_for(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("n,m\n1,1\n")
    s = um.Session(file, "d", um.rows(at_most=50), "replace", budget=1000)
    file.unlink()
    with pytest.raises(InvalidInput, match="still there"):
        s.count("n = 1", privacy=50)
    assert str(s.spent) == "epsilon 0 of 1000"


def test_macros_of_the_user_do_not_take_the_place_of_built_in_functions(connection):
    """They may look at other rows; and they may come after the table was opened."""
    run = connection.con.execute
    run("CREATE TABLE r AS SELECT range::DOUBLE AS x, 's' || range AS s, 'p' || range AS id FROM range(10)")
    setting = Setting(open_table(connection.table("r")), um.people("id", rows_each=1, at_most=50), "replace")
    for made in ("isnan(a)", "isinf(a)", "floor(a)", "count(a)", "sum(a)", "md5(a)", '"="(a, b)', '"+"(a, b)'):
        run(f"CREATE MACRO {made} AS (SELECT count_star() FROM r)")
    run('CREATE MACRO starts_with(a, b) AS true; CREATE MACRO "~~"(a, b) AS false')
    assert point(count(setting, "x >= 4", 1, "rows", "absolute", None)) == {"count": 6}
    assert point(count(setting, lambda t: t.s.startswith("s1"), 1, "rows", "absolute", None)) == {"count": 1}
    assert point(total(setting, "x", 0, 5, "0.5", "s LIKE 's%' AND s <> 's9'", 1, "absolute", None)) == {"sum": 60}


def test_threads_leave_the_filters_of_warnings_alone():
    """Python restores these filters for the whole process: of two threads that overlap, the later would keep them."""
    s = um.Session(pyarrow.table({"a": [1] * 100}), "d", um.rows(at_most=100), "add-remove", budget=10**6)
    s.count("a = 1", 1)  # packages that are loaded now set filters of their own
    before = list(warnings.filters)
    asking = [threading.Thread(target=lambda: [s.count("a = 1", 1, fresh=True) for _ in range(15)]) for _ in range(4)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert warnings.filters == before


def test_truth_values_of_eight_bits():
    """Arrow cannot compare arrow.bool8 with true, which DuckDB asks it to; any other byte than 0 is true."""
    stored = pyarrow.array([1, 0, None, 2], pyarrow.int8())
    source = open_table(pyarrow.table({"c": pyarrow.ExtensionArray.from_storage(pyarrow.bool8(), stored)}))
    assert [how_many(source, where) for where in ("c = true", "c", "NOT c", "c IS NULL", "c <> false")] == [
        2,
        2,
        1,
        1,
        2,
    ]


def test_what_fails_in_every_frame_of_a_type_fails_before_the_spend(monkeypatch):
    """A statement is rehearsed on the frame's own columns without rows, where Arrow may fail and DuckDB would not."""
    from utmost.backends import frames

    monkeypatch.setattr(frames, "readable", lambda column: column)
    stored = pyarrow.array([1, 0], pyarrow.int8())
    table = pyarrow.table({"c": pyarrow.ExtensionArray.from_storage(pyarrow.bool8(), stored)})
    s = um.Session(table, "d", um.rows(at_most=9), "replace", budget=1)
    with pytest.raises(InvalidInput, match="cannot be asked"):
        s.count("c = true", privacy=1)
    assert str(s.spent) == "epsilon 0 of 1"


@pytest.mark.parametrize("scale", [0, 3])
@pytest.mark.parametrize("kind", ["frame", "parquet"])
def test_decimals_beyond_their_precision(kind, scale, tmp_path):
    """A damaged decimal of -2^127 units stops DuckDB's casts to text and to other decimals; here it is a float."""
    import pyarrow.parquet

    raw = (-(2**127)).to_bytes(16, "little", signed=True) + (5 * 10**scale).to_bytes(16, "little")
    d = pyarrow.Array.from_buffers(pyarrow.decimal128(38, scale), 2, [None, pyarrow.py_buffer(raw)])
    table = pyarrow.table({"d": d, "n": [1, 2]})
    if kind == "parquet":
        pyarrow.parquet.write_table(table, tmp_path / "d.parquet")
    source = open_table(str(tmp_path / "d.parquet") if kind == "parquet" else table)
    for target in ("DECIMAL(10, 2)", "BIGINT"):
        assert how_many(source, f"TRY_CAST(d AS {target}) IS NULL") == 1, target
    assert how_many(source, "TRY_CAST(d AS DECIMAL(10, 2)) = 5") == 1
    with pytest.raises(NotRowWise, match="as text"):
        how_many(source, "TRY_CAST(d AS TEXT) = '5'")
    assert how_many(source, "d < 0") == 1


def test_parquet_columns_of_json_are_refused_where_they_are_used(tmp_path):
    """DuckDB stops at an entry that is not JSON, whatever is asked of the column."""
    import pyarrow.parquet

    entries = pyarrow.array(['{"a": 1}', "{bad", None], pyarrow.json_(pyarrow.utf8()))
    pyarrow.parquet.write_table(pyarrow.table({"j": entries, "n": [1, 2, 3]}), tmp_path / "j.parquet")
    source = open_table(str(tmp_path / "j.parquet"))
    assert how_many(source, "n >= 2") == 2
    for where in ("j IS NULL", lambda t: t.j.notnull(), "n = 1 OR j IS NOT NULL"):
        with pytest.raises(InvalidInput, match="marked as JSON"):
            how_many(source, where)


def test_parsed_conditions_are_kept_with_their_table():
    """The same text on another table, or on one with other types, is another condition."""
    first = open_table(pyarrow.table({"a": ["1", "1.0"]}))
    second = open_table(pyarrow.table({"a": [1.0, 2.0, 1.0]}))
    assert [how_many(first, "a = '1'"), how_many(second, "a = 1"), how_many(first, "a = '1'")] == [1, 2, 1]
    with pytest.raises(NotRowWise):
        how_many(first, "a = 1")


def test_long_lists_are_planned_at_once():
    """1,800 values took eleven seconds, as a tree of 1,800 comparisons that was built twice."""
    s = um.Session(pyarrow.table({"age": [70, 1799, 5000]}), "d", um.rows(at_most=9), "replace", budget=100)
    where = f"age IN ({', '.join(map(str, range(1800)))})"
    s.plan.count("age > 1", privacy=1)  # what is imported and designed once
    with within(3):
        s.plan.count(where, privacy=1)
    assert s.count(where, privacy=50).value == 2


def test_a_plan_says_how_columns_of_text_are_read(tmp_path):
    """Of a category that is written otherwise than in the file there would be none, and that is charged for."""
    (tmp_path / "t.csv").write_text("flag,age,born\n0.0,7,2020-01-01\n0,7.0,x\n")
    s = um.Session(tmp_path / "t.csv", "d", um.rows(at_most=9), "replace", budget=500)
    as_text = s.plan.histogram("flag", ["0", "1"], privacy=1)
    assert "flag is text in the table, compared letter by letter: '7' and '7.0' differ" in str(as_text)
    assert "read as numbers" not in str(as_text)
    as_number = s.plan.histogram("flag", [0, 1], privacy=1, where="born >= DATE '2020-01-01' OR age = '7'")
    assert "flag is text in the table, read as numbers" in str(as_number)
    assert "born is text in the table, read as dates" in str(as_number)
    assert "age is text in the table, compared letter by letter" in str(as_number)
    assert s.histogram("flag", ["0", "1"], privacy=50).value == {"0": 1, "1": 0}
    answer = s.histogram("flag", [0, 1], privacy=50)
    assert answer.value == {"0": 2, "1": 0}
    assert "flag is text in the table, read as numbers" in str(answer)  # and on what is published, which verifies
    page = answer.report(tmp_path / "page.html")
    assert "flag is text in the table, read as numbers" in page.read_text()
    assert all(proved for _, proved in load_answers(page.with_suffix(".json")))
    for plan in (
        s.plan.sum("age", 0, 9, privacy=1),
        s.plan.mean("age", 0, 9, privacy=1),
        s.plan.quantile("age", 0.5, [1, 7], privacy=1),
        s.plan.count("age > 5 AND born IS NULL", privacy=1),
        s.plan.counts(["age > 5"], privacy=1),
        s.plan.plurality("age", [7, 8], privacy=1),
    ):
        assert plan.details["notes"][-1:] == [
            "age is text in the table, read as numbers: '7' and '7.0' are one, and what is no number is null"
        ]
    declared = um.Session(tmp_path / "t.csv", "e", um.rows(at_most=9), "replace", budget=5, types={"age": int})
    assert declared.plan.count("age > 5", privacy=1, unbiased=True).details["notes"] == []


def test_moments_in_files_and_frames(tmp_path):
    """Times with a zone are compared as moments; a time of a clock without a zone is refused."""
    import datetime

    import pandas
    import pyarrow.parquet

    noon = datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))
    moments = [noon, noon + datetime.timedelta(microseconds=1), None]
    kinds = [pyarrow.timestamp(unit, zone) for unit in ("us", "ns") for zone in ("UTC", "Europe/Berlin")]
    tables = [pyarrow.table({"z": pyarrow.array(moments, kind)}) for kind in kinds]
    pyarrow.parquet.write_table(tables[1], tmp_path / "z.parquet")
    given = [*tables, str(tmp_path / "z.parquet"), pandas.DataFrame({"z": pandas.Series(moments)})]
    for table in given:
        source = open_table(table)
        for where, wanted in (
            ("z = '2020-01-01 11:00:00Z'", 1),
            ("z > '2020-01-01T12:00:00+01:00'", 1),
            ("z IN ('2020-01-01 06:00:00-05:00', '2021-01-01 00:00:00Z')", 1),
            ("z <= '2020-01-01 11:00:00.000001Z'", 2),
            (lambda t: t.z == noon, 1),
            ("z IS NULL", 1),
        ):
            assert how_many(source, where) == wanted, where
        with pytest.raises(InvalidInput, match="offset"):
            how_many(source, "z > '2020-01-01 12:00:00'")
        for where in ("year(z) = 2020", lambda t: t.z.try_cast("date") == "2020-01-01", "TRY_CAST(z AS TEXT) = 'x'"):
            with pytest.raises(NotRowWise):
                how_many(source, where)
