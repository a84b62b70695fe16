"""PostgreSQL: the same questions have the same points as on DuckDB; what could differ or fail is refused."""

import math
import os
import weakref
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracles.questions import Setting, count, every_question, histogram, total
from oracles.served import KEYS, serving, write_settings
from oracles.tables import UNITS, as_table, tables

import utmost as um
from utmost.backends import opening
from utmost.backends.source import FAILED
from utmost.errors import EngineFailed, InvalidInput, NotRowWise
from utmost.queries.contributions import as_grid, statement, values
from utmost.serve.settings import read_settings

SECRET = b"s" * 32
FOREIGN = "CREATE FOREIGN DATA WRAPPER odd_wrapper; CREATE SERVER odd_server FOREIGN DATA WRAPPER odd_wrapper"


@pytest.fixture(scope="module")
def server(postgres):
    """A connection that may write, and the address of the table."""
    url, psycopg = postgres
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE survey (id text, x double precision, n bigint, ok boolean)")
        yield connection, url


@pytest.fixture(scope="module")
def opened(server):
    """The table, opened once."""
    return opening.open_table(f"{server[1]}#survey")


@pytest.fixture(scope="module")
def in_both(opened):
    """Every question about a frame and about the server's table, and what each engine is asked: compiled once."""

    @cache
    def made(which):
        sources = opening.open_table(as_table([])), opened
        pairs = zip(*(every_question(source, UNITS[which], "replace") for source in sources), strict=True)
        return [(here, there, here.reader(SECRET), there.statement(SECRET)) for here, there in pairs]

    return made


def put(connection, listed):
    connection.execute("TRUNCATE survey")
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO survey VALUES (%s, %s, %s, %s)", listed)


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables, st.sampled_from([0, 1, 2]))
def test_every_question_has_the_same_point_and_space(server, in_both, listed, which):
    """Random tables with nulls, NaN, infinities, tiny and huge numbers, repeated ids: rows and people."""
    put(server[0], listed)
    for here, there, read, made in in_both(which):
        one, other = here.question, there.question
        assert read(as_table(listed)) == other.point(there.source.execute(made)), one.words
        assert one.public == other.public or "startswith" in str(one.public) or "STARTS" in str(one.public)
        assert (one.space, one.privacy, one.terms) == (other.space, other.privacy, other.terms)


def test_a_session_on_postgres(server):
    """From the address to an answer, with the account in the same server."""
    put(server[0], [("a", 1.0, 1, True), ("b", 2.0, 2, False)] * 5)
    s = um.Session(f"{server[1]}#public.survey", "survey", um.rows(at_most=20), "replace", budget=200, ledger=server[1])
    assert s.count("n > 1", privacy=50).value == 5
    assert s.histogram("id", ["a", "b"], privacy=50).value == {"a": 5, "b": 5}
    assert s.ledger.kept
    s.ledger.close()


def test_a_server_connects_again(server, tmp_path):
    """A server for analysts whose connections PostgreSQL ended: the next question has a new one, charged once."""
    put(server[0], [("a", 1.0, 1, True), ("b", 2.0, 2, False)] * 5)
    text = write_settings(tmp_path, budget=200, own=200).read_text()
    text = text.replace("people.csv", f"{server[1]}#survey", 1).replace('type = "int"\n', "")
    (tmp_path / "utmost.toml").write_text(text)
    others = [pid for (pid,) in server[0].execute("SELECT pid FROM pg_stat_activity").fetchall()]
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> ALL(%s)"
    with (
        serving(read_settings(tmp_path / "utmost.toml")) as url,
        um.Client(url, KEYS["ada"][0], "survey") as client,
    ):
        planned = client.plan.count("n > 1", privacy=50)
        assert client.count("n > 1", privacy=50).value == 5
        server[0].execute(end, [others])
        assert client.batch([planned, client.plan.count("n > 0", privacy=50)])[1].value == 10
        server[0].execute(end, [others])
        assert client.count(privacy=20).value == 10
        server[0].execute("DROP TABLE survey")
        with pytest.raises(InvalidInput, match="is gone, or not the table that was opened"):
            client.count("n > 2", privacy=10)
        assert str(client.left) == "epsilon 30 of 200"
    server[0].execute("CREATE TABLE survey (id text, x double precision, n bigint, ok boolean)")


def test_tables_made_with_ibis(server):
    """Projections and filters of a base table; joins and limits are refused like elsewhere."""
    import ibis

    put(server[0], [("a", 1.0, 1, True), ("b", 2.0, 2, False)] * 5)
    url = server[1]
    address = url.partition("@")[2].partition("/")[0].partition(":")
    connection = ibis.postgres.connect(host=address[0], port=int(address[2]), user="utmost", database="postgres")
    t = connection.table("survey")
    setting = Setting(opening.open_table(t.filter(t.n > 1).select("n")), um.rows(at_most=20), "replace")
    asked = count(setting, None, 1, "rows", "absolute", None)
    assert asked.point(asked.statement(SECRET)) == {"count": 5}
    for table in (t.limit(3), t.join(t.view(), "id"), t.distinct(), connection.sql("SELECT * FROM survey")):
        with pytest.raises(NotRowWise):
            opening.open_table(table)
    connection.disconnect()


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("TRY_CAST(id AS INT) > 5", "PostgreSQL has none"),
        ("id > 'b'", "collation"),
        ("id BETWEEN 'a' AND 'b'", "collation"),
        ("id ILIKE 'A%'", "locale"),
        (lambda t: t.n.cast("string") == "1", None),
        (lambda t: t.x.try_cast("string") == "1.0", "write numbers"),
        ("id > 5", "convert rows"),
        ("n > (SELECT avg(n) FROM survey)", "not allowed"),
        ("pg_sleep(1) IS NULL", "not allowed"),
        ("n > 1; DROP TABLE survey", "statements"),
    ],
)
def test_conditions_that_differ_or_fail_are_refused(opened, where, words):
    """Before anything is read, with what to do."""
    setting = Setting(opened, um.rows(at_most=20), "replace")
    if words is None:
        assert count(setting, where, 1).statement(SECRET)
        return
    with pytest.raises((NotRowWise, InvalidInput), match=words):
        count(setting, where, 1, "rows", "absolute", None)


def test_dates(server):
    """Comparisons and parts of dates agree; those outside of the years 1 to 9999, infinite ones too, are null."""
    connection, url = server
    connection.execute(
        "CREATE TABLE IF NOT EXISTS born AS SELECT * FROM (VALUES (DATE '1990-01-31', TIMESTAMP '2020-01-01 12:00'), "
        "('infinity', '-infinity'), (NULL, NULL), ('0044-03-15 BC', '2020-01-01')) AS t (day, at)"
    )
    setting = Setting(opening.open_table(f"{url}#born"), um.rows(at_most=9), "replace")
    for where, wanted in (
        ("day >= '1990-01-01'", 1),
        ("at < '2020-01-01 06:00:00'", 1),
        ("day = '1990-01-31'", 1),
        ("EXTRACT(year FROM day) > 1980", 1),
        ("EXTRACT(hour FROM at) = 12 AND minute(at) = 0", 1),
        ("day IS NULL", 3),
    ):
        asked = count(setting, where, 1, "rows", "absolute", None)
        assert asked.point(asked.statement(SECRET)) == {"count": wanted}


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ("CREATE VIEW odd AS SELECT n FROM survey LIMIT 3", "a view"),
        ("CREATE MATERIALIZED VIEW odd AS SELECT n FROM survey", "materialized"),
        ("CREATE TABLE odd (n int); ALTER TABLE odd ENABLE ROW LEVEL SECURITY", "row security"),
        (
            "CREATE TABLE odd (n int); CREATE TABLE odd_heir () INHERITS (odd); "
            "CREATE TABLE odd_secured () INHERITS (odd_heir); ALTER TABLE odd_secured ENABLE ROW LEVEL SECURITY",
            "'odd_secured', a part of 'odd', has row security",
        ),
        (
            f"{FOREIGN}; CREATE TABLE odd (n int); "
            "CREATE FOREIGN TABLE odd_foreign () INHERITS (odd) SERVER odd_server",
            "'odd_foreign', a part of 'odd', is a foreign table",
        ),
        (
            f"{FOREIGN}; CREATE TABLE odd (n int) PARTITION BY LIST (n); "
            "CREATE TABLE odd_half PARTITION OF odd FOR VALUES IN (1, 2) PARTITION BY LIST (n); "
            "CREATE FOREIGN TABLE odd_foreign PARTITION OF odd_half FOR VALUES IN (1) SERVER odd_server",
            "'odd_foreign', a part of 'odd', is a foreign table",
        ),
        ("SELECT 1", "no table"),
    ],
)
def test_tables_with_rules_of_their_own_are_refused(server, made, words):
    """Views, security policies, and what is not there."""
    connection, url = server
    connection.execute(made)
    try:
        with pytest.raises((NotRowWise, InvalidInput), match=words):
            opening.open_table(f"{url}#odd")
    finally:
        kinds = {"v": "VIEW", "m": "MATERIALIZED VIEW", "r": "TABLE", "p": "TABLE"}
        found = connection.execute("SELECT relkind FROM pg_class WHERE relname = 'odd'").fetchone()
        if found:
            connection.execute(f"DROP {kinds[found[0]]} odd CASCADE")
        connection.execute("DROP FOREIGN DATA WRAPPER IF EXISTS odd_wrapper CASCADE")


@pytest.fixture(scope="module")
def mixed(server):
    """A table with columns of types that have rules of their own, beside plain ones."""
    connection, _ = server
    connection.execute(
        "CREATE TYPE mixed_kind AS ENUM ('a'); CREATE COLLATION mixed_alike (provider = icu, "
        "locale = 'und-u-ks-level2', deterministic = false); "
        "CREATE TABLE mixed (n int, name text, c character(4), m numeric, e mixed_kind, "
        "alike text COLLATE mixed_alike, twice int GENERATED ALWAYS AS (n * 2) STORED, seen timestamptz); "
        "INSERT INTO mixed (n, name, c, m, e, alike, seen) VALUES (1, 'x', 'a', 0.1, 'a', 'é', "
        "'2020-01-01 12:00:00+01'), (2, 'y', 'a', 'NaN', 'a', 'E', 'infinity'), (3, NULL, NULL, NULL, NULL, NULL, NULL)"
    )
    return server[1]


def test_columns_with_rules_of_their_own_are_refused_where_they_are_used(mixed):
    """The rest of the table is answered; opening it refuses nothing."""
    s = um.Session(f"{mixed}#mixed", "mixed", um.rows(at_most=9), "replace", budget=1000)
    assert s.count("n > 1", privacy=50).value == 2
    assert s.histogram("twice", [2, 4], privacy=50).value == {"2": 1, "4": 1}
    assert s.count(None, privacy=50).value == 3
    assert s.count("seen <= '2020-01-01 11:00:00Z'", privacy=50).value == 1
    spent = str(s.spent)
    for column, words in (("c", "pads"), ("m", "precision"), ("e", "mixed_kind"), ("alike", "calls different")):
        for ask in (
            lambda column=column: s.plan.count(f"{column} IS NULL", privacy=1),
            lambda column=column: s.count(lambda t: t[column].isnull() & (t.n > 1), privacy=1),
            lambda column=column: s.count(lambda t: t[column].notnull() | t.name.isnull(), privacy=1),
            lambda column=column: s.plan.histogram(column, ["a", "b"], privacy=1),
            lambda column=column: s.plan.sum(column, 0, 1, privacy=1),
            lambda column=column: um.Session(f"{mixed}#mixed", "p", um.people(column, 1, 9), "replace", budget=1),
        ):
            with pytest.raises(InvalidInput, match=words):
                ask()
    assert str(s.spent) == spent


def test_odd_columns_of_projections(mixed):
    """Renamed, they are refused under the new name; computed with, at once; left out, nowhere."""
    import ibis
    import psycopg

    with psycopg.connect(mixed, autocommit=True) as own:
        table = ibis.postgres.from_connection(own).table("mixed")
        renamed = table.select(n=table.c, name="n").filter(lambda t: t.name > 1)
        setting = Setting(opening.open_table(renamed), um.rows(at_most=9), "replace")
        asked = count(setting, "name > 2", 1, "rows", "absolute", None)
        assert asked.point(asked.statement(SECRET)) == {"count": 1}
        with pytest.raises(InvalidInput, match="pads"):
            count(setting, "n = 'a'", 1, "rows", "absolute", None)
        for odd in (table.filter(table.c.isnull()), table.select(table.n, known=table.e.notnull())):
            with pytest.raises(InvalidInput, match=r"pads|mixed_kind"):
                opening.open_table(odd)


def test_moments_are_compared_whatever_the_zone(mixed):
    """A time with a zone is a moment: the session's zone, and the literal's, change nothing."""
    source = opening.open_table(f"{mixed}#mixed")
    setting = Setting(source, um.rows(at_most=9), "replace")
    for zone in ("UTC", "Asia/Kolkata"):
        source.link.cursor().execute(f"SET TIME ZONE '{zone}'")
        for where, wanted in (
            ("seen = '2020-01-01T12:00:00+01:00'", 1),
            ("seen = '2020-01-01 16:30:00+05:30'", 1),
            ("seen > '2020-01-01 10:59:00Z'", 1),  # and not the infinite one, which is null
            ("seen IN ('2020-01-01 11:00:00Z', '2021-01-01 11:00:00Z')", 1),
            ("seen BETWEEN '2020-01-01 11:00:00Z' AND '2021-01-01 11:00:00Z'", 1),
            ("seen IS NULL", 2),
        ):
            asked = count(setting, where, 1, "rows", "absolute", None)
            assert asked.point(asked.statement(SECRET)) == {"count": wanted}, where
    for where, words in (
        ("seen > '2020-01-01'", "offset"),
        ("seen > '2020-01-01 12:00:00'", "offset"),
        ("seen > DATE '2020-01-01'", "offset"),
        ("EXTRACT(year FROM seen) = 2020", "zone"),
        (lambda t: t.seen.year() == 2020, "zone"),
        (lambda t: t.seen.try_cast("string") == "x", "zone"),
        (lambda t: t.seen.try_cast("date").isnull(), "zone"),
    ):
        with pytest.raises((InvalidInput, NotRowWise), match=words):
            count(setting, where, 1, "rows", "absolute", None)


def test_tiny_values_on_coarse_grids(server):
    """PostgreSQL stops where a quotient of numbers above 0 is too small for a float."""
    connection, url = server
    put(connection, [("a", 2e-290, 1, True), ("a", 5e-324, 1, True), ("a", -3e-200, 1, True), ("a", 5e110, 1, True)])
    setting = Setting(opening.open_table(f"{url}#survey"), um.rows(at_most=9), "replace")
    for grid in (10**34, 10**100, 10**110):
        found = {"x": values(setting.source, "x", as_grid(0, 10**9 * grid, grid), None)}
        point = setting.source.execute(statement(setting.source, setting.unit, 1, found, SECRET))
        assert point == {"x": min(10**9, 5 * 10**110 // grid)}


def test_failures_say_nothing(server):
    """No address with a password, no words of the engine; the connection cannot write."""
    connection, url = server
    with pytest.raises(InvalidInput, match="cannot be reached") as caught:
        opening.open_table("postgresql://me:hunter2@127.0.0.1:1/nothing#t")
    assert "hunter2" not in str(caught.value)
    with pytest.raises(InvalidInput, match="say which"):
        opening.open_table(url)
    connection.execute("CREATE TABLE gone (n int)")
    s = um.Session(f"{url}#gone", "survey", um.rows(at_most=5), "replace", budget=2)
    plan = s.plan.count("n > 0", privacy=1)
    read = plan.question.statement(plan.source, SECRET)
    connection.execute("DROP TABLE gone")
    with pytest.raises(InvalidInput, match="'gone' is gone"):
        s.count("n > 0", privacy=1)
    assert str(s.spent) == "epsilon 0 of 2"
    with pytest.raises(EngineFailed) as failed:
        plan.source.execute(read)
    assert str(failed.value) == FAILED
    assert failed.value.__cause__ is None
    assert failed.value.__context__ is None
    with pytest.raises(Exception, match="read-only"):
        plan.source.link.cursor().execute("CREATE TABLE written (n int)")


def test_numbers_are_exact(server):
    """Wide sums do not overflow, tenths add up, and NaN takes no part."""
    connection, url = server
    put(connection, [("a", 0.1, 2**62, True)] * 1000 + [("a", math.nan, None, None)])
    setting = Setting(opening.open_table(f"{url}#survey"), um.rows(at_most=2000), "replace")
    tenths = total(setting, "x", 0, 1, "0.1", None, 1, "absolute", None)
    assert tenths.point(tenths.statement(SECRET)) == {"sum": 1000}
    whole = {"n": values(setting.source, "n", as_grid(0, 2**47, 1), None)}
    found = setting.source.execute(statement(setting.source, setting.unit, 1, whole, SECRET))
    assert found == {"n": 1000 * 2**47}


def test_partitions_and_heirs_are_read(server):
    """Where all of them are plain tables."""
    connection, url = server
    connection.execute("CREATE TABLE whole (n int) PARTITION BY LIST (n)")
    connection.execute("CREATE TABLE half PARTITION OF whole FOR VALUES IN (1, 2); INSERT INTO whole VALUES (1), (2)")
    setting = Setting(opening.open_table(f"{url}#whole"), um.rows(at_most=9), "replace")
    asked = count(setting, "n > 1", 1, "rows", "absolute", None)
    assert asked.point(asked.statement(SECRET)) == {"count": 1}


def test_what_always_fails_does_so_before_the_spend(server):
    """The statement is tried on a row of nothing, which no private table has a part in."""
    connection, url = server
    put(connection, [("a", 1.0, 1, True)])
    s = um.Session(f"{url}#survey", "survey", um.rows(at_most=9), "replace", budget=1)
    for ask in (
        lambda: s.count(lambda t: t.ok.cast("float64") > 0, 0.1),
        lambda: s.count("id = 'a\0'", 0.1),
        lambda: s.count(lambda t: t.id == "\ud800", 0.1),
        lambda: s.histogram("id", ["a", "\0"], 0.1),
        lambda: s.histogram("id", ["a", "\ud800"], 0.1),
    ):
        with pytest.raises(InvalidInput):
            ask()
    assert str(s.spent) == "epsilon 0 of 1"
    s.count("n > 0 AND id = 'a%b'", 0.1)


def test_many_cells_are_counted_at_once(server):
    """PostgreSQL would write the choice of a cell into every sum: the square of the cells."""
    connection, url = server
    put(connection, [("a", 1.0, 1, True), ("a", 1.0, 998, True), ("b", None, None, None)])
    source = opening.open_table(f"{url}#survey")
    source.link.cursor().execute("SET statement_timeout = '60s'")
    for unit in (um.rows(at_most=9), um.people("id", 2, 9)):
        setting = Setting(source, unit, "replace")
        asked = histogram(setting, "n", list(range(999)), 1, "other", None, "rows", "absolute")
        found = asked.point(asked.statement(SECRET))
        assert {name: rows for name, rows in found.items() if rows} == {"1": 1, "998": 1, "other": 1}


def test_a_table_made_later_does_not_take_its_place(server):
    """The table is named with its schema; connections yield what they yield."""
    import ibis
    import psycopg

    connection, url = server
    put(connection, [("a", 1.0, 1, True)] * 3)
    with psycopg.connect(url, autocommit=True) as own:
        table = ibis.postgres.from_connection(own).table("survey")
        own.row_factory = psycopg.rows.dict_row
        setting = Setting(opening.open_table(table), um.rows(at_most=9), "replace")
        own.execute("CREATE TEMP TABLE survey (id text, x double precision, n bigint, ok boolean)")
        asked = count(setting, "n > 0", 1, "rows", "absolute", None)
        assert asked.point(asked.statement(SECRET)) == {"count": 3}
    with psycopg.connect(url) as own, pytest.raises(InvalidInput, match="autocommit"):
        opening.open_table(ibis.postgres.from_connection(own).table("survey"))


def test_threads_get_their_own_rows(server):
    """As in DuckDB."""
    from concurrent.futures import ThreadPoolExecutor

    connection, url = server
    put(connection, [("a", 1.0, 7, True)] * 5)
    setting = Setting(opening.open_table(f"{url}#survey"), um.rows(at_most=9), "replace")
    asked = [
        count(setting, "n > 0", 1, "rows", "absolute", None),
        total(setting, "n", 0, 10, 1, None, 1, "absolute", None),
    ] * 20
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda q: q.point(q.statement(SECRET)), asked))
    assert found == [{"count": 5}, {"sum": 35}] * 20


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE r RENAME TO r0; CREATE VIEW r AS SELECT r0.* FROM r0, generate_series(1, 7)",
        "DROP TABLE r",
        "ALTER TABLE r ALTER n TYPE numeric",
        "ALTER TABLE r ALTER n TYPE double precision",
        "ALTER TABLE r ENABLE ROW LEVEL SECURITY",
        f"{FOREIGN}; CREATE FOREIGN TABLE r1 () INHERITS (r) SERVER odd_server",
    ],
)
def test_a_table_that_changed_since_it_was_opened_is_refused_before_the_spend(server, change):
    """As in DuckDB."""
    connection, url = server
    connection.execute("CREATE TABLE r AS SELECT n, n::text AS id FROM generate_series(1, 10) AS n")
    try:
        s = um.Session(f"{url}#r", "d", um.people("id", rows_each=1, at_most=50), "replace", budget=1000)
        assert s.count("n >= 0", privacy=50).value == 10
        connection.execute("INSERT INTO r VALUES (11, 'q'), (-1, 'r')")
        assert s.count("n >= 0", privacy=50, fresh=True).value == 11
        connection.execute("CREATE TABLE heir () INHERITS (r); INSERT INTO heir VALUES (5, 'h')")
        assert s.count("n >= 0", privacy=50, fresh=True).value == 12
        connection.execute("DROP TABLE heir")
        connection.execute(change)
        with pytest.raises(InvalidInput):
            s.count("n >= 0", privacy=50, fresh=True)
        assert str(s.spent) == "epsilon 150 of 1000"
    finally:
        connection.execute("DROP FOREIGN DATA WRAPPER IF EXISTS odd_wrapper CASCADE")
        connection.execute("DROP TABLE IF EXISTS r0 CASCADE")
        connection.execute("DROP TABLE IF EXISTS r CASCADE")


def forked(work):
    """What a forked process says, as text."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(write, str(work()).encode())
        except BaseException as reason:
            os.write(write, f"{type(reason).__name__}: {reason}".encode())
        finally:
            os._exit(0)
    os.close(write)

    def said():
        with os.fdopen(read, "rb") as answer:
            text = answer.read().decode()
        os.waitpid(child, 0)
        return text

    return said


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_processes_get_their_own_rows(server, tmp_path):
    """Two that read one socket would get each other's; the end of one does not end the other's connection."""
    import ibis
    import psycopg

    connection, url = server
    put(connection, [("a", 1.0, 7, True)] * 5)
    setting = Setting(opening.open_table(f"{url}#survey"), um.rows(at_most=9), "replace")
    few, many = (count(setting, where, 1, "rows", "absolute", None) for where in ("n > 7", "n = 7"))

    def found(question):
        return {question.point(question.statement(SECRET))["count"] for _ in range(40)}

    def in_a_child():
        first = found(few)
        weakref.finalize._exitfunc()  # which closes what is this process's own
        return first

    said = forked(in_a_child)
    assert found(many) == {5}
    assert said() == "{0}"
    assert found(many) == {5}
    with psycopg.connect(url, autocommit=True) as own:
        table = ibis.postgres.from_connection(own).table("survey")
        s = um.Session(table, "d", um.rows(at_most=9), "replace", budget=1000, ledger=tmp_path / "budget.db")
        said = forked(lambda: s.count("n = 7", privacy=50))
        assert "InvalidInput: the connection to PostgreSQL was opened in another process" in said()
        assert s.count("n = 7", privacy=50).value == 5


def test_backslashes_are_no_escapes(server):
    """Whatever the connection, or the server, is set to; a setting made later is found before the spend."""
    import ibis
    import psycopg

    connection, url = server
    put(connection, [("a\\b", 1.0, 7, True), ("ab", 1.0, 7, True)])
    with psycopg.connect(url, autocommit=True) as own:
        table = ibis.postgres.from_connection(own).table("survey")
        s = um.Session(table, "d", um.rows(at_most=9), "replace", budget=1000)
        assert s.count(lambda t: t.id == "a\\b", privacy=50).value == 1
        own.execute("SET standard_conforming_strings = off")
        with pytest.raises(InvalidInput, match="standard_conforming_strings"):
            s.count(lambda t: t.id == "a\\b", privacy=50, fresh=True)
        assert str(s.spent) == "epsilon 50 of 1000"
        with pytest.raises(InvalidInput, match="standard_conforming_strings"):
            opening.open_table(table)
    connection.execute("ALTER ROLE utmost SET standard_conforming_strings = off")
    try:
        s = um.Session(f"{url}#survey", "d", um.rows(at_most=9), "replace", budget=1000)
        assert s.count(lambda t: t.id == "a\\b", privacy=50).value == 1
    finally:
        connection.execute("ALTER ROLE utmost RESET standard_conforming_strings")


def test_exclusive_or(server):
    """Nested, it needs parentheses."""
    import itertools

    connection, url = server
    connection.execute("CREATE TABLE truths (a boolean, b boolean, c boolean)")
    rows = list(itertools.product((True, False, None), repeat=3))
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO truths VALUES (%s, %s, %s)", rows)
    source = opening.open_table(f"{url}#truths")
    setting = Setting(source, um.rows(at_most=50), "replace")
    for where in (lambda t: (t.a ^ t.b) ^ t.c, lambda t: t.a ^ (t.b ^ t.c), lambda t: ~((t.a ^ t.b) ^ t.c)):
        asked = count(setting, where, 1, "rows", "absolute", None)
        assert asked.point(asked.statement(SECRET)) == {"count": 4}


@pytest.mark.long
def test_texts_too_long_for_postgres(server):
    """Texts of which PostgreSQL cannot change all letters, or that it cannot join, make no question fail."""
    connection, url = server
    connection.execute("CREATE TABLE long (who bigint, s text, t text)")
    connection.execute("INSERT INTO long SELECT 1, repeat('x', 550000000)")
    connection.execute("UPDATE long SET t = repeat('y', 550000000)")
    connection.execute("INSERT INTO long VALUES (1, 'A', 'b')")
    try:
        for unit in (um.rows(), um.people("who", rows_each=1)):
            s = um.Session(f"{url}#long", "d", unit, "add-remove", budget=1)
            question = s.plan.count("lower(s) = 'a' OR t IS NOT NULL", 1).question
            found = s.source.execute(question.statement(s.source, SECRET))
            assert question.point(found) == (2 if unit.id is None else 1)
    finally:
        connection.execute("DROP TABLE long")
