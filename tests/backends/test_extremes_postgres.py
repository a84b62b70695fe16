"""Every column type of PostgreSQL, at its ends, under every question: no failure, no word, no move too far."""

import pytest
from oracles.extremes import POSTGRES_SETUP, POSTGRES_TYPES, postgres_columns
from oracles.fuzzing import HARMLESS, LEVEL, Channels, Trial, context, require_alike

import utmost as um

COLUMNS = postgres_columns()
NAMES = {name: f"c{i}" for i, name in enumerate(COLUMNS)}
ROWS = HARMLESS + 1 + max(len(column.extremes) for column in COLUMNS.values())
RANGES = [(0, 100_000)]


@pytest.fixture(scope="module")
def tables(postgres):
    """One table with a column of every type, at its ends, and its first harmless rows."""
    url, psycopg = postgres
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(POSTGRES_SETUP)
        typed = ", ".join(f"{NAMES[name]} {POSTGRES_TYPES.get(name, name)}" for name in COLUMNS)
        beside = context(ROWS)
        for table, rows in (("extreme", ROWS), ("harmless", HARMLESS)):
            connection.execute(f"CREATE TABLE {table} (id bigint, ill boolean, town text, who bigint, {typed})")
            for i in range(rows):
                values = [beside[each][i] for each in ("id", "ill", "town", "who")]
                for column in COLUMNS.values():
                    listed = [*[column.harmless] * HARMLESS, None, *column.extremes]
                    values.append(listed[i] if i < len(listed) else None)
                holes = ", ".join(["%s"] * 4 + [f"%s::text::{kind}" for kind in (_cast(name) for name in COLUMNS)])
                connection.execute(f"INSERT INTO {table} VALUES ({holes})", values)
        yield connection, url


def _cast(name):
    """A type that a text can be cast to explicitly."""
    return POSTGRES_TYPES.get(name, name).partition(" COLLATE")[0]


@pytest.fixture(scope="module")
def trial(tables):
    with Channels() as channels:
        yield Trial(f"{tables[1]}#extreme", f"{tables[1]}#harmless", ROWS, channels)


def numbered():
    return [pytest.param(name, i, id=name) for i, name in enumerate(COLUMNS)]


def examine(trial, name, step, first):
    column = COLUMNS[name]
    found = trial.problems(NAMES[name], column, RANGES if column.kind == "number" else [(0, 10)], step, first)
    assert not found, f"{len(found)} questions about {name}:\n" + "\n".join(found)


@pytest.mark.parametrize(("name", "i"), numbered())
def test_every_type(trial, name, i):
    """Every eighth question and condition, others of each type."""
    examine(trial, name, 8, i)


@pytest.mark.long
@pytest.mark.parametrize(("name", "i"), numbered())
def test_every_question(trial, name, i):
    examine(trial, name, 1, i)


SIZES = "(CASE WHEN ill AND id = 17 THEN {} ELSE 1.0 END)"
COMPUTED = [
    "{0} * {0} > 0",
    "{0} * {0} * {0} > 0",
    "COALESCE({0}, 1) * COALESCE({0}, 2) > 0",
    "LEAST({0}, 1e300) * {0} > 0",
    "GREATEST({0}, 1e-300) * {0} > 0",
    "abs({0}) * abs({0}) > 0",
    "-({0}) * {0} < 0",
    "({0} + {0}) * {0} > 0",
    "({0} - 1e-250) * {0} > 0",
    "{0} / 1e-200 > 0",
    "{0} / 1e200 > 0",
    "(CASE WHEN {0} > 2 THEN {0} ELSE {0} END) * {0} > 0",
    "CASE WHEN ill THEN {0} * {0} ELSE 1.0 END > 0",
    "COALESCE(NULL, {0}, x) * {0} > 0",
]


@pytest.fixture
def healthy_and_ill(tables):
    """Makes two tables of thirty people that differ in whether person 17 is ill."""
    connection, url = tables

    def make(columns):
        for name, ill in (("healthy", False), ("sick", True)):
            connection.execute(f"DROP TABLE IF EXISTS {name}")
            rows = f"i AS id, i = 17 AND {ill} AS ill, 'Ash' AS town, {columns} FROM generate_series(1, 30) AS i"
            connection.execute(f"CREATE TABLE {name} AS SELECT {rows}")
        return f"{url}#healthy", f"{url}#sick"

    return make


@pytest.mark.parametrize("size", ["1e200", "1e-200", "1e308", "1e-308", "5e-324", "-1e200", "x", "f"])
def test_sizes_of_floats_are_followed_through_cases(healthy_and_ill, size):
    """A product failed exactly if person 17 was ill: PostgreSQL stops where a float is too large or too small."""
    sizes, asked = SIZES.format(size), {}
    for computed in COMPUTED:
        where = computed.format(sizes)
        asked[f"count {computed}"] = lambda s, where=where: s.count(where, LEVEL)
        if ">" in computed.rpartition("WHEN")[2]:
            value = where.rpartition(">")[0]
            asked[f"sum {computed}"] = lambda s, value=value: s.sum(value, 0, 1, LEVEL)
    require_alike(healthy_and_ill("1e200::float8 AS x, 1e30::float4 AS f"), asked)


@pytest.mark.parametrize(("kind", "high"), [("int2", 30_000), ("int4", 100_000)])
def test_narrow_integers_do_not_overflow(healthy_and_ill, kind, high):
    """A variance of an int4 column failed exactly if person 17 was ill."""
    one, both = "id = 17 AND ill", ((0, high), (0, high))
    asked = {
        "mean": lambda s: s.mean("x", -high, high, LEVEL, where=one),
        "variance": lambda s: s.variance("x", 0, high, LEVEL, where=one),
        "covariance": lambda s: s.covariance("x", "x", *both, LEVEL, where=one),
        "variance by keys": lambda s: s.variance("x", 0, high, LEVEL, where=one, by=um.keys(town=["Ash"])),
    }
    require_alike(healthy_and_ill(f"{high}::{kind} AS x"), asked)
