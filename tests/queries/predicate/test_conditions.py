"""Conditions: the allowed ones mean what SQL means; the others are refused before anything is read."""

import contextlib
import datetime
import random
import re

import ibis
import pyarrow
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.agreement import random_condition

from utmost.backends.opening import open_table
from utmost.errors import InvalidInput, NotRowWise
from utmost.queries.expressions.values import literal, total
from utmost.queries.expressions.values import where as where_
from utmost.queries.predicate import as_condition, as_where
from utmost.queries.predicate.python import Row
from utmost.queries.predicate.sql import spaced

TABLE = pyarrow.table(
    {
        "age": pyarrow.array([70, 25, None, 65], pyarrow.int64()),
        "x": pyarrow.array([1.5, float("nan"), None, float("inf")]),
        "name": ["Ann", "5", None, "x_y%"],
        "born": pyarrow.array(
            [datetime.date(1950, 3, 1), None, datetime.date(2000, 12, 31), datetime.date(9999, 1, 1)]
        ),
        "seen": pyarrow.array([datetime.datetime(2026, 1, 1, 13), None, None, datetime.datetime(2026, 2, 2)]),
        "ok": [True, False, None, True],
        "paid": pyarrow.array([1, 2, None, 3], pyarrow.int64()).cast(pyarrow.decimal128(22, 2)),
        "tags": [["a"], [], None, ["b"]],
    }
)
SOURCE = open_table(TABLE)


def how_many(where, source=SOURCE):
    condition = as_condition(where, source)
    rows = source.table.select(n=where_(condition, literal(1), literal(0)))
    return source.execute(source.statement(rows.aggregate(n=total(rows["n"]))))["n"]


def test_sql_means_what_sql_means():
    """Unknown is not true; every allowed operator, against counts made by hand."""
    for where, wanted in {
        "age >= 65": 2,
        "NOT age >= 65": 1,
        "age >= 65 OR NOT age >= 65": 3,
        "age <> 70": 2,
        "age BETWEEN 25 AND 65.5": 2,
        "age NOT BETWEEN 30 AND 80": 1,
        "age IN (70, 71)": 1,
        "age NOT IN (70)": 2,
        "AGE IS NULL": 1,
        "age IS NOT NULL AND ok": 2,
        "name LIKE '%n%'": 1,
        "name NOT LIKE 'A%'": 2,
        "name ILIKE 'a__'": 1,
        "name = 'Ann'": 1,
        "'Ann' = name": 1,
        "name < 'B'": 2,
        "born < DATE '1960-01-01'": 1,
        "born < '1960-01-01'": 1,
        "seen >= '2026-01-01 13:00:00'": 2,
        "seen >= DATE '2026-01-02'": 1,
        "EXTRACT(year FROM born) = 1950": 1,
        "year(born) = 2000 AND month(born) = 12 AND day(born) = 31": 1,
        "hour(seen) = 13": 1,
        "TRY_CAST(name AS INT) > 3": 1,
        "TRY_CAST(name AS DOUBLE) IS NULL": 3,
        "TRY_CAST(age AS TEXT) = '70'": 1,
        "TRY_CAST('2020-01-01' AS DATE) < born": 1,
        "paid = 2.00": 1,
        "paid < age": 3,
        "ok = true": 2,
        "((ok))": 2,
        "age > -3": 3,
        "age >= 65 -- a comment": 2,
        "age = 70 AND (name = 'Ann' OR name = 'Bob')": 1,
    }.items():
        assert how_many(where) == wanted, where


def test_types_of_engines_that_are_rare():
    """Huge and unsigned integers, enumerations, nanoseconds and fine decimals: compared, never failed on."""
    table = pyarrow.table(
        {
            "big": pyarrow.array([2**64 - 1, None], pyarrow.uint64()),
            "nano": pyarrow.array([0, None], pyarrow.timestamp("ns")),
            "kind": pyarrow.array(["a", None]).dictionary_encode(),
            "fine": pyarrow.array(["0.5", None]).cast(pyarrow.decimal128(38, 37)),
        }
    )
    source = open_table(table)
    for where in ("big > -3", "big > 3.5", "nano < '9999-01-01'", "kind = 'a'", "NOT kind = 'zzz'", "fine < 5"):
        assert how_many(where, source) == 1, where


def test_ibis_and_functions_take_the_same_road():
    """Expressions, deferred ones and functions of the table."""
    connection = ibis.duckdb.connect()
    t = connection.create_table("t", TABLE.drop_columns(["tags"]))
    source = open_table(t)
    ways = (t.age >= 65, ibis._.age >= 65, lambda t: t.age >= 65, t.age.between(65, 99), t.age.isin([65, 70]))
    for where in ways:
        assert how_many(where, source) == 2
    for made in (t, Row(source.columns)):
        assert how_many(made.born.year() == 1950, source) == 1
        assert how_many(made.name.like("A%") & made.ok, source) == 1
        assert how_many(made.name.try_cast("int64") == 5, source) == 1
        assert how_many(made.name.startswith("A") | made.name.contains("y%"), source) == 2
    assert as_where(lambda t: (t.age >= 65) & ~t.ok, SOURCE).text == "(age >= 65) AND (NOT ok)"
    with pytest.raises(NotRowWise, match="another table"):
        how_many(t.age >= 65)
    connection.con.close()


REFUSED = [
    "age > avg(age)",
    "age > (SELECT avg(age) FROM private_rows)",
    "age IN (SELECT age FROM private_rows)",
    "age IN (SELECT 1)",
    "age IN UNNEST([1])",
    "age IN name",
    "EXISTS (SELECT 1)",
    "sum(age) OVER () > 3",
    "row_number() OVER () < 5",
    "random() < 0.5",
    "now() > seen",
    "current_date > born",
    "my_function(age) > 3",
    "CAST(name AS INT) > 3",
    "name::INT > 3",
    "1 / age > 3",
    "age + name > 3",
    "age + sum(age) > 3",
    "CASE WHEN age > avg(age) THEN true ELSE false END",
    "name || 'x' = 'Annx'",
    "name > 5",
    "age >= '65'",
    "born > 5",
    "born > seen",
    "ok > 3",
    "tags = 'a'",
    "TRY_CAST(tags AS TEXT) = 'a'",
    "TRY_CAST(name AS BLOB) = 'a'",
    "name LIKE name",
    "name LIKE 'a\\_'",
    "age IS TRUE",
    "year(name) = 3",
    "hour(born) = 3",
    "other.age > 3",
    "age >= 65; DROP TABLE private_rows",
    "age >= 65 UNION SELECT 1",
    "age >= 65) OR (SELECT true",
    "read_csv('/etc/passwd') = 1",
    "getenv('HOME') = 'x'",
    "DROP TABLE private_rows",
    "age >",
    "",
    "* ",
    "age = ANY([1, 2])",
    "age[1] = 3",
    "columns('a') = 3",
]


@pytest.mark.parametrize("where", REFUSED)
def test_what_is_not_row_wise_and_total_is_refused(where):
    """Aggregates, windows, subqueries, random(), functions, failing casts, injections: NotRowWise, unread."""
    with pytest.raises(NotRowWise):
        as_condition(where, SOURCE)


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("nothing = 1", "no column"),
        ("age = NULL", "IS NULL"),
        ("born > 'yesterday'", "not a date"),
        ("age", "yes or no"),
        ("age AND ok", "not a condition"),
        ("true", "no column"),
        ("1 = 1", "no column"),
        ("age > 1e999", "too large"),
        ("x" * 20_000, "characters"),
        (3, "SQL text"),
        (None, "SQL text"),
        ("age IN ()", r"IN \(\) lists nothing"),
        (lambda t: t.nothing > 3, "no such column"),
        (lambda t: t.age, "yes or no"),
        (lambda t: 7, "yes or no"),
    ],
)
def test_wrong_conditions_say_what_is_wrong(where, words):
    """Public mistakes, each named."""
    with pytest.raises(InvalidInput, match=words):
        as_condition(where, SOURCE)


def test_ibis_conditions_that_look_beyond_a_row_are_refused():
    """They compile without a word in Ibis, and would break the sensitivity."""
    connection = ibis.duckdb.connect()
    t, other = (connection.create_table(name, TABLE.drop_columns(["tags"])) for name in ("t", "other"))
    source = open_table(t)
    for where in (
        t.age > t.age.mean(),
        t.age > t.count(),
        t.age.sum().over() > 3,
        t.age.lag() > 3,
        t.age.isin(t.age),
        ibis.random() > 0.5,
        ibis.now() > t.seen,
        t.name.cast("int64") > 3,
        t.age + t.age.sum() > 3,
        t.age.hash() > 3,
        t.name.re_search("a+"),
        other.age > 3,
        t.age.rank() > 1,
        t.x.cast("int64") > 1,
        lambda t: t.x.cast("int64") > 1,
        lambda t: t.name.cast("int64") > 3,
    ):
        with pytest.raises(NotRowWise):
            as_condition(where, source)
    connection.con.close()


def test_deep_conditions_do_not_crash():
    """A very deep condition is refused in words."""
    with pytest.raises((InvalidInput, NotRowWise)):
        as_condition("(" * 3000 + "age > 3" + ")" * 3000, SOURCE)
    assert how_many(" OR ".join(f"age = {i}" for i in range(300))) == 3


@settings(max_examples=60)
@given(st.text(max_size=40))
def test_any_text_is_refused_in_words_or_runs(text):
    """No text makes anything but a condition or an error of ours."""
    with contextlib.suppress(InvalidInput):
        how_many(text)


@settings(max_examples=60)
@given(st.data())
def test_random_conditions_against_python(data):
    """Random trees of comparisons agree with three-valued logic in Python."""
    ages = TABLE["age"].to_pylist()

    def tree(depth):
        kind = data.draw(st.sampled_from(["leaf", "not", "and", "or"] if depth else ["leaf"]))
        if kind == "leaf":
            bound, sign = data.draw(st.sampled_from([24, 25, 65, 70.5])), data.draw(st.sampled_from(["<", ">=", "="]))
            compare = {"<": lambda a: a < bound, ">=": lambda a: a >= bound, "=": lambda a: a == bound}[sign]
            return f"age {sign} {bound}", lambda a: None if a is None else compare(a)
        if kind == "not":
            text, value = tree(depth - 1)
            return f"NOT ({text})", lambda a: None if value(a) is None else not value(a)
        (one, first), (two, second) = tree(depth - 1), tree(depth - 1)

        def both(a):
            found = {first(a), second(a)}
            strong = kind == "or"
            return strong if strong in found else None if None in found else not strong

        return f"({one}) {kind.upper()} ({two})", both

    text, value = tree(3)
    assert how_many(text) == sum(value(age) is True for age in ages)


def test_conditions_fail_on_no_value_of_a_type():
    """Decimals of different scales, and times at the ends of their range: the engine is never left to convert them."""
    end = pyarrow.array([2**63 - 1, -(2**63) + 1, 0, None], pyarrow.int64())
    table = pyarrow.table(
        {
            "a": pyarrow.array(["9" * 38, "-" + "9" * 38, "1", None]).cast(pyarrow.decimal128(38, 0)),
            "b": pyarrow.array(["0.5", "-0.5", "0", None]).cast(pyarrow.decimal128(38, 38)),
            **{unit: end.cast(pyarrow.timestamp(unit)) for unit in ("s", "ms", "us", "ns")},
        }
    )
    source = open_table(table)
    for where, wanted in (
        ("a > b", 2),
        (lambda t: t.a > t.b, 2),
        (lambda t: t.a.between(t.b, t.a), 2),
        (lambda t: t.a.isin([t.b, 1]), 1),
        (lambda t: t.b > 5, 0),
        ("b < 0.25", 2),
        *((f"{unit} < '2000-01-01'", 1) for unit in ("s", "ms", "us", "ns")),  # those before the year 1 are null
        *((f"{unit} IS NULL", 3) for unit in ("s", "ms", "us", "ns")),
        *((f"year({unit}) = 1970", 1) for unit in ("s", "ms", "us", "ns")),
    ):
        assert how_many(where, source) == wanted, where
    text = pyarrow.table({"t": ["9000-01-01", "290000-01-01", "294247-01-10 04:00:54", "x", None]})
    assert how_many("t > '2000-01-01'", open_table(text, {"t": "timestamp"})) == 1  # those after 9999 are null


def test_times_that_an_engine_cannot_convert_are_refused(tmp_path):
    """DuckDB's TIMESTAMP_S holds more than its TIMESTAMP, and its TRY_CAST stops there."""
    connection = ibis.duckdb.connect()
    connection.con.execute("CREATE TABLE t (a TIMESTAMP_S, b TIMESTAMP_NS)")
    source = open_table(connection.table("t"))
    with pytest.raises(NotRowWise, match="TIMESTAMP_S"):
        as_condition("a > '2000-01-01'", source)
    assert how_many("a IS NULL", source) == 0
    for where in ("TRY_CAST(b AS TEXT) = 'x'", lambda t: t.b.try_cast("string") == "x"):
        with pytest.raises(NotRowWise, match="time as text"):
            as_condition(where, source)
    assert how_many("b > '2500-01-01'", source) == 0
    connection.con.close()


def test_sql_is_not_rebuilt_with_another_meaning():
    """Words that are not read are refused, and named widths are kept."""
    for where in (
        "age BETWEEN SYMMETRIC 80 AND 20",
        "TRY_CAST(name AS FLOAT) > 1",
        "TRY_CAST(seen AS TIMESTAMP(3)) > seen",
    ):
        with pytest.raises(NotRowWise):
            how_many(where)
    numbers = open_table(pyarrow.table({"x": ["300", "70000", "5000000000", "1.25", "123.4"]}))
    for where, wanted in {
        "TRY_CAST(x AS TINYINT) IS NULL": 3,
        "TRY_CAST(x AS SMALLINT) IS NULL": 2,
        "TRY_CAST(x AS INT) IS NULL": 1,
        "TRY_CAST(x AS BIGINT) IS NULL": 0,
        "TRY_CAST(x AS DECIMAL(3, 1)) = 1.3": 1,
        "TRY_CAST(x AS DECIMAL(3, 1)) IS NULL": 4,
    }.items():
        assert how_many(where, numbers) == wanted, where
    assert how_many("seen >= TIMESTAMP '2026-01-01 13:00:00'") == 2
    assert how_many("TRY_CAST('2026-01-02' AS TIMESTAMP) <= seen") == 1


TOKENS = ("x", "y", "a", "c", "s", "1", "-1", "'a'", "true", "(a)", "TRY_CAST(s AS INT)", "year(d)", "NOT a", "!c")
OPERATORS = ("=", "<>", "<", "AND", "OR", "BETWEEN 0 AND", "NOT BETWEEN 0 AND", "LIKE", "NOT LIKE")
ENDINGS = ("", "", "IS NULL", "IS NOT NULL", "ISNULL", "IN (1, y)", "NOT IN (1, y)", "= a", "= true")


@pytest.fixture(scope="module")
def rows():
    connection = ibis.duckdb.connect()
    connection.con.execute(
        "CREATE TABLE t AS SELECT * FROM (VALUES (NULL), (0), (1)) AS q(x), (VALUES (NULL), (1)) AS r(y), (VALUES "
        "(NULL), (true), (false)) AS u(a), (VALUES (NULL), (true), (false)) AS v(c), (VALUES (NULL), ('a'), ('1')) "
        "AS w(s), (VALUES (DATE '2020-01-01')) AS z(d)"
    )
    yield connection
    connection.con.close()


def agrees(where, rows):
    """Whether a condition is refused, or says of every row what DuckDB itself says of it; what was said."""
    source = open_table(rows.table("t"))
    try:
        ours = source.sql(source.table.extend(v=as_condition(where, source)), source.origin)
    except InvalidInput as refused:
        return str(refused)
    both = rows.con.execute(f"SELECT count(*) FROM ({ours}) AS o WHERE o.v IS DISTINCT FROM ({where})").fetchone()
    assert both == (0,), where
    return "agrees"


@settings(max_examples=150)
@given(
    st.lists(st.tuples(st.sampled_from(TOKENS), st.sampled_from(OPERATORS)), min_size=1, max_size=2),
    st.sampled_from(TOKENS),
    st.sampled_from(ENDINGS),
)
def test_operators_bind_as_in_duckdb_or_are_refused(rows, parts, last, ending):
    """Random operators without parentheses, row by row against DuckDB."""
    agrees(" ".join([*(f"{token} {operator}" for token, operator in parts), last, ending]), rows)


@pytest.mark.parametrize(
    "where",
    [
        "a = c IS NULL",
        "a = c IS NOT NULL",
        "a IS NULL = c",
        "x NOT IN (1, y) IS NULL",
        "s NOT LIKE '' IS NOT NULL",
        "s LIKE 'a' IS NULL",
        "x BETWEEN 0 AND 1 IS NULL",
        "x BETWEEN 0 AND 1 = a",
        "x < y = a",
        "a = NOT c",
        "x = y ISNULL",
    ],
)
def test_what_engines_read_differently_asks_for_parentheses(where, rows):
    """The parser binds IS more tightly than DuckDB does."""
    assert "parentheses" in agrees(where, rows)


def test_parentheses_are_enough(rows):
    """And NOT, AND and OR need none."""
    for where in (
        "(a = c) IS NULL",
        "a = (c IS NULL)",
        "(x NOT IN (1, y)) IS NULL",
        "NOT a IS NULL",
        "NOT x = y AND a OR NOT c IS NOT NULL",
        "TRY_CAST(s AS INT) IS NULL",
        "year(d) IS NOT NULL AND x = 1",
        "NOT s LIKE 'a'",
    ):
        assert agrees(where, rows) == "agrees", where
    assert "NOT" in agrees("!a = c", rows)
    assert agrees("s = '!' OR x != 1", rows) == "agrees"


def test_conditions_of_conditions_are_written_with_parentheses(rows):
    """Without, an engine reads another condition: NOT (a) IS NULL is NOT (a IS NULL)."""
    source = open_table(rows.table("t"))
    for where, meant in (
        (lambda t: (~t.a).isnull(), "(NOT a) IS NULL"),
        (lambda t: (~t.a).notnull(), "(NOT a) IS NOT NULL"),
        (lambda t: (~t.a) < t.c, "(NOT a) < c"),
        (lambda t: (~t.a).between(t.c, t.a | t.c), "((NOT a) >= c) AND ((NOT a) <= (a OR c))"),
        (lambda t: (t.a & t.c).between(t.a, t.a | t.c), "((a AND c) >= a) AND ((a AND c) <= (a OR c))"),
        (lambda t: (~t.a).isin([t.c, ~t.a]), "(NOT a) IN (c, (NOT a))"),
        (lambda t: t.a.identical_to(t.c | t.a), "a IS NOT DISTINCT FROM (c OR a)"),
        (lambda t: (~t.a).identical_to(t.x == t.y), "(NOT a) IS NOT DISTINCT FROM (x = y)"),
        (lambda t: t.x.notin([0, 1]).isnull(), "(x NOT IN (0, 1)) IS NULL"),
        (lambda t: (~t.a).ifelse(~t.c, t.a).isnull(), "(CASE WHEN NOT a THEN NOT c ELSE a END) IS NULL"),
        (lambda t: (~t.a) ^ t.c, "(NOT a) <> c"),
    ):
        ours = source.sql(source.table.extend(v=as_condition(where, source)), source.origin)
        query = f"SELECT count(*) FILTER (o.v IS DISTINCT FROM ({meant})), count(DISTINCT o.v) FROM ({ours}) AS o"
        wrong, different = rows.con.execute(query).fetchone()
        assert wrong == 0, meant
        assert different >= 1


def test_whole_numbers_are_compared_exactly():
    """Up to the ends of 64 bits; what no value of the column can be is said."""
    table = pyarrow.table(
        {
            "b": pyarrow.array([2**62, 2**62 + 1, 2**63 - 1, -(2**63)], pyarrow.int64()),
            "u": pyarrow.array([2**64 - 1, 2**64 - 2, 2**63, None], pyarrow.uint64()),
            "f": [1e20, 1.5, None, -1e20],
        }
    )
    source = open_table(table)
    for where, wanted in {
        f"b = {2**62 + 1}": 1,
        f"b > {2**62}": 2,
        f"b = {2**63 - 1}": 1,
        f"b <= -{2**63}": 1,
        f"b IN ({2**62 + 1}, {2**63 - 1})": 2,
        f"b BETWEEN {2**62 + 1} AND {2**63 - 1}": 2,
        f"u = {2**64 - 1}": 1,
        f"u > {2**63}": 2,
        f"f >= {10**20}": 1,
        f"f < {2**64}": 2,
    }.items():
        assert how_many(where, source) == wanted, where
    for where in (f"b < {2**63}", f"b > -{2**63 + 1}", f"u < {2**64}", f"u IN (1, {2**64})"):
        with pytest.raises(InvalidInput, match="can hold"):
            as_condition(where, source)


def test_huge_integers_and_decimals_fail_on_no_value():
    """Both are compared as floats; DuckDB fails to make one the other."""
    connection = ibis.duckdb.connect()
    connection.con.execute(
        f"CREATE TABLE t AS SELECT * FROM (VALUES ({2**127 - 1}::HUGEINT, 1::DECIMAL(38, 0), 1.25::DECIMAL(5, 2)), "
        f"({-(2**127)}, {10**38 - 1}, 2.5), (5, 5, 5), (NULL, NULL, NULL)) AS v(h, d, e)"
    )
    source = open_table(connection.table("t"))
    for where, wanted in (
        ("h > d", 1),
        ("h = d", 1),
        ("d = e", 1),
        ("h <> e", 2),
        ("h IN (d, 7)", 1),
        ("h BETWEEN d AND e", 1),
        (lambda t: t.h.isin([t.d]), 1),
        (lambda t: (t.d > 0).ifelse(t.h, t.d) > 5, 1),
        (lambda t: t.h.between(t.d, t.d), 1),
        (lambda t: t.h.identical_to(t.d), 2),
        (lambda t: t.h.try_cast("decimal(38, 0)") > t.d, 0),  # which the first does not fit
        ("TRY_CAST(h AS DECIMAL(38, 0)) IS NULL", 3),
    ):
        assert how_many(where, source) == wanted, where
    connection.con.close()


def test_long_conditions_are_read_and_deep_ones_refused():
    """A thousand values are no deeper than ten."""
    assert how_many(f"age IN ({', '.join(map(str, range(1499)))})") == 3
    assert how_many(" OR ".join(["age = 70"] * 800)) == 1
    for join in (lambda v, t: v | (t.age == 3), lambda v, t: ~v):

        def deep(t, join=join):
            value = t.age == 70
            for _ in range(3000):
                value = join(value, t)
            return value

        with pytest.raises(InvalidInput, match="deeply"):
            as_where(deep, SOURCE)


@pytest.mark.parametrize("where", ["name = 'a\0b'", "name LIKE '\0%'", lambda t: t.name.startswith("\0")])
def test_no_text_with_nul(where):
    """PostgreSQL has no such texts, and fails on them."""
    with pytest.raises(InvalidInput, match="NUL"):
        as_condition(where, SOURCE)


@pytest.mark.parametrize(
    "where",
    [
        lambda t: t.name.cast("txt") == "a",
        ibis._.name.cast("txt") == "a",
        lambda t: t.age.isin(t),
        ibis._.age.isin(ibis._),
        lambda t: t.name.substr("x") == "a",
        lambda t: t.name.between(1, "x", "y"),
        lambda t: t[t.name] == "a",
        lambda t: t.name + t == "a",
        lambda t: t.name.execute_all(),
        lambda t: t.nmae == "Ann",
        lambda t: t["nmae"] == "Ann",
        ibis._.nmae == "Ann",
        lambda t: t,
        lambda t: t.name,
        lambda t: {}[str(t.name)],
    ],
)
def test_errors_show_no_rows_of_an_interactive_ibis(where):
    """Its errors show their arguments, and an argument's text is what the engine finds."""
    source = open_table(pyarrow.table({"name": ["PRIVATE"] * 3, "age": [987123] * 3}))
    ibis.options.interactive = True
    try:
        with pytest.raises(InvalidInput) as caught:
            as_condition(where, source)
    finally:
        ibis.options.interactive = False
    error = caught.value
    while error is not None:
        assert "PRIVATE" not in f"{error!r} {error}"
        assert "987123" not in f"{error!r} {error}"
        error = error.__cause__ or error.__context__


def test_a_column_that_is_not_there_is_named():
    for where in (lambda t: t.aeg >= 65, ibis._.aeg >= 65):
        with pytest.raises(InvalidInput, match=r"'aeg'.*no such column; the columns are age, x, name"):
            how_many(where)
    with pytest.raises(InvalidInput, match="the columns are age, x, name"):
        how_many(lambda t: t["aeg"] >= 65)


def test_exclusive_or():
    """Of three truth values, with null: true where an odd number is, and unknown where one is."""
    import itertools

    rows = list(itertools.product((True, False, None), repeat=3))
    source = open_table(pyarrow.table({name: [row[i] for row in rows] for i, name in enumerate("abc")}))
    odd = sum(None not in row and sum(row) % 2 for row in rows)
    assert how_many(lambda t: (t.a ^ t.b) ^ t.c, source) == odd == 4
    assert how_many(lambda t: t.a ^ (t.b ^ t.c), source) == odd
    assert how_many(lambda t: ~((t.a ^ t.b) ^ t.c), source) == 4
    assert how_many(lambda t: (t.a ^ ~t.b) ^ (t.c & t.b), source) == sum(
        None not in row and (row[0] ^ (not row[1])) ^ (row[2] & row[1]) for row in rows
    ) + sum(row[0] is not None and row[1] is False and row[2] is None and row[0] ^ True for row in rows)
    assert how_many(lambda t: (t.a ^ t.b).isnull(), source) == 15


def test_texts_are_spaced_evenly_and_mean_the_same():
    """What a parser makes of 400 random conditions does not change, and other spaces do not matter."""
    draw = random.Random(7)
    for _ in range(400):
        text = random_condition(draw)
        even = spaced(text)
        assert sqlglot.parse_one(even, read="duckdb") == sqlglot.parse_one(text, read="duckdb"), text
        assert spaced(even) == even
        parts = re.split(r"('(?:[^']|'')*'|\"[^\"]*\")", even)
        parts[::2] = [part.replace(" ", draw.choice(("  ", "\n", " \t"))).replace(",", " ,") for part in parts[::2]]
        assert spaced("".join(parts)) == even
        parts[::2] = [re.sub(r"\s*([<>=!]+)\s*", r"\1", part) for part in parts[::2]]
        assert spaced("".join(parts)) == even


@pytest.mark.parametrize(
    "text", ["a -- all\n> 1", "a /* b */ > 1", "a > '\\n'", "a > $$b  c$$", "'a  =b' = x", 'x = "a>b"']
)
def test_spaces_that_may_matter_stay(text):
    assert spaced(text) == text
    assert spaced("a\u00a0= 1") != spaced("a = 1")  # to SQL, such a space is a letter
