"""At most so many groups of a person, and rows in one group: against Python's own loops, and by removing people."""

import hashlib
from collections import Counter, defaultdict

import numpy as np
import pyarrow
import pytest
from oracles.questions import QueryMaker, Setting

import utmost as um
from utmost.backends import opening
from utmost.errors import InvalidInput
from utmost.queries.units import as_unit
from utmost.space.sensitivity import l1_sensitivity, squared_l2_sensitivity

SECRET = b"s" * 16
KEYS = ["a", "b", "c", "d", "e"]
APART = "\x1f"


def table_of(rows):
    who, town, x = zip(*rows, strict=True) if rows else ((), (), ())
    kinds = (pyarrow.int64(), pyarrow.string(), pyarrow.int64())
    columns = zip(("who", "town", "x"), (who, town, x), kinds, strict=True)
    return pyarrow.table({name: pyarrow.array(list(values), kind) for name, values, kind in columns})


def random_rows(seed, people=12, most=15):
    """People with 1 to 15 rows, many of them alike, in listed towns, in one that is not listed, and in none."""
    rng = np.random.default_rng(seed)
    towns = [*KEYS, "elsewhere", None]
    return [
        (int(who), towns[rng.integers(len(towns))], int(rng.integers(0, 4)))
        for who in range(people)
        for _ in range(rng.integers(1, most + 1))
    ]


def opened(rows, neighbours="add-remove", **unit):
    return um.Session(table_of(rows), "d", um.people("who", **unit), neighbours, budget=1000)


def asking(rows, neighbours="add-remove", **unit):
    """The same, where questions are made and nothing is designed: what engines find is all that is looked at."""
    return QueryMaker(Setting(opening.open_table(table_of(rows)), um.people("who", **unit), neighbours))


def found(asked):
    """What the engine finds for a question, by part and key: no noise yet."""
    return asked.source.execute(asked.statement(SECRET))


def counts(table, where=None, of="rows"):
    return found(table.count(where, 1, by=um.keys(town=KEYS), of=of))["count"].tolist()


def md5(*texts):
    return hashlib.md5(APART.join((SECRET.hex(), *texts)).encode()).hexdigest()


def with_hashes(rows):
    """Rows with the hash of what they hold, and of which copy they are: the rule of truncation, written again."""
    copies, made = Counter(), []
    for row in rows:
        key = md5(*("-" if value is None else f"+{value}" for value in (row[0], *row)))
        copies[key] += 1
        n = copies[key]
        made.append((key if n == 1 else hashlib.md5(f"{key}{APART}{n}".encode()).hexdigest(), row))
    return made


def least(hashed, by, most):
    """At most so many rows of each group, those with the least hashes."""
    groups = defaultdict(list)
    for key, row in hashed:
        groups[by(row)].append((key, row))
    return [pair for group in groups.values() for pair in sorted(group)[:most]]


def chosen_groups(rows, groups_each):
    """The listed towns of each person, those with the least hashes of person and place in the list."""
    towns = defaultdict(set)
    for who, town, _ in rows:
        if town in KEYS:
            towns[who].add(town)

    def order(who, town):
        text = f"{SECRET.hex()}|{who}|{KEYS.index(town)}"
        return hashlib.md5(text.encode()).hexdigest()[:12], KEYS.index(town)

    return {who: set(sorted(own, key=lambda town: order(who, town))[:groups_each]) for who, own in towns.items()}


def used_by_hand(rows, rows_each, groups_each, rows_each_group):
    """The rows that groups are made of: truncated, then in few groups, then few in each."""
    hashed = least(with_hashes(rows), lambda row: row[0], rows_each)
    groups = chosen_groups([row for _, row in hashed], groups_each or len(KEYS))
    hashed = [(key, row) for key, row in hashed if row[1] in groups.get(row[0], ())]
    return [row for _, row in least(hashed, lambda row: row[:2], rows_each_group or rows_each)]


@pytest.mark.parametrize(
    ("rows_each", "groups_each", "rows_each_group"),
    [(8, 2, 2), (9, None, 1), (7, 3, None), (20, 1, 3)],
)
def test_rows_in_groups_against_python(rows_each, groups_each, rows_each_group):
    """Counts with conditions, sums, means and variances are about the same rows, found by another road."""
    rows = random_rows(rows_each)
    bounds = {"rows_each": rows_each, "groups_each": groups_each, "rows_each_group": rows_each_group}
    table, used = asking(rows, **bounds), used_by_hand(rows, rows_each, groups_each, rows_each_group)
    by = um.keys(town=KEYS)

    def of_towns(value):
        return [sum(value(x) for _, town, x in used if town == key) for key in KEYS]

    assert counts(table) == of_towns(lambda x: 1)
    assert counts(table, "x >= 2") == of_towns(lambda x: x >= 2)
    assert found(table.sum("x", 0, 3, 1, by=by))["sum"].tolist() == of_towns(lambda x: x)
    mean = found(table.mean("x", 0, 3, 1, by=by))
    assert mean["above_lower"].tolist() == of_towns(lambda x: x)
    assert mean["below_upper"].tolist() == of_towns(lambda x: 3 - x)
    variance = found(table.variance("x", 0, 3, 1, by=by))
    assert variance["upper_squares"].tolist() == of_towns(lambda x: x * x)


@pytest.mark.parametrize("groups_each", [1, 2, 7])
def test_people_in_groups_against_python(groups_each):
    """Each person once in each of their groups, with any row there; the groups do not depend on the condition."""
    rows = random_rows(groups_each)
    table, groups = asking(rows, rows_each=1, groups_each=groups_each), chosen_groups(rows, groups_each)
    for where, fits in ((None, lambda x: True), ("x = 3", lambda x: x == 3)):
        pairs = {(who, town) for who, town, x in rows if town in groups.get(who, ()) and fits(x)}
        assert counts(table, where, "people") == [sum(town == key for _, town in pairs) for key in KEYS]


def test_postgres_finds_the_same(postgres):
    """Rows and groups are chosen by hashes that all engines compute alike."""
    url, psycopg = postgres
    rows = random_rows(3)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE few_groups (who bigint, town text, x bigint)")
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO few_groups VALUES (%s, %s, %s)", rows)
    unit = um.people("who", rows_each=8, groups_each=2, rows_each_group=2)
    there = QueryMaker(Setting(opening.open_table(f"{url}#few_groups"), unit, "add-remove"))
    here = asking(rows, rows_each=8, groups_each=2, rows_each_group=2)
    assert counts(there, "x > 0") == counts(here, "x > 0")
    assert counts(there, "x > 0", "people") == counts(here, "x > 0", "people")


def test_without_bounds_that_bind_everything_is_as_before():
    rows = random_rows(5)
    plain = asking(rows, rows_each=4)
    for same in ({"rows_each_group": 4}, {"groups_each": 4}, {"groups_each": 9, "rows_each_group": 4}):
        table = asking(rows, rows_each=4, **same)
        assert counts(table) == counts(plain)
        plan, other = (s.count(None, 1, by=um.keys(town=KEYS)) for s in (table, plain))
        assert plan.question.space == other.question.space
        assert plan.question.words == other.question.words


def test_parts_add_up_to_wholes():
    """A condition, its opposite and unknown ones: of the same rows, and of groups no more than in the whole table."""
    for seed in range(2):
        table = asking(random_rows(seed), rows_each=6, groups_each=3, rows_each_group=2)
        parts = np.array([counts(table, f"x = {x}") for x in range(4)])
        assert parts.sum(axis=0).tolist() == counts(table)
        whole = found(table.count(None, 1))["count"]
        assert sum(counts(table)) <= whole


BY = um.keys(town=KEYS)
ASKED = {
    "rows": lambda table: table.count("x > 0", 1, by=BY),
    "people": lambda table: table.count("x > 0", 1, by=BY, of="people"),
    "sum": lambda table: table.sum("x", -3, 3, 1, by=BY),
    "mean": lambda table: table.mean("x", 0, 3, 1, by=BY),
    "variance": lambda table: table.variance("x", 0, 3, 1, by=BY),
}


def farthest_moved(asked, neighbours, seeds):
    """How far one person moves what is found, on random tables: in one integer, in all, and in squared length."""
    read, far = asked.reader(SECRET), np.zeros(3, dtype=int)
    for seed in seeds:
        rows = random_rows(seed, people=3, most=25)
        others = [row for row in rows if row[0] != 1]
        new = [(1, town, x) for _, town, x in random_rows(seed + 100, people=1, most=25)]
        one, other = (read(table_of(t)) for t in (rows, others + (new if neighbours == "replace" else [])))
        moved = np.abs(np.asarray(one) - np.asarray(other))
        far = np.maximum(far, [moved.max(), moved.sum(), (moved**2).sum()])
    return far


def require_within(asked, far):
    space = asked.question.space
    assert far[0] <= (space.reach if space.each is None else space.each)
    assert far[1] <= l1_sensitivity(space)
    assert far[2] <= squared_l2_sensitivity(space)
    assert far[1] > 0  # else nothing was tested


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("what", ASKED)
def test_no_person_moves_answers_farther_than_the_noise_is_made_for(what, neighbours):
    """A person is removed from random tables, or replaced by another."""
    asked = ASKED[what](asking([], neighbours, rows_each=5, groups_each=3, rows_each_group=2))
    require_within(asked, farthest_moved(asked, neighbours, range(4)))


@pytest.mark.long
@pytest.mark.parametrize("truncate", ["table", "question"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("what", ASKED)
def test_no_person_does_on_many_tables(what, neighbours, truncate):
    for bounds in ((6, 2, 2), (4, None, 1), (9, 1, 5), (2, 3, 1), (7, 2, None)):
        unit = dict(zip(("rows_each", "groups_each", "rows_each_group"), bounds, strict=True))
        asked = ASKED[what](asking([], neighbours, truncate=truncate, **unit))
        require_within(asked, farthest_moved(asked, neighbours, range(10)))


@pytest.mark.parametrize("what", ["rows", "people"])
def test_no_person_does_where_rows_are_chosen_for_the_question(what):
    asked = ASKED[what](asking([], truncate="question", rows_each=5, groups_each=3, rows_each_group=2))
    require_within(asked, farthest_moved(asked, "add-remove", range(4)))


def test_the_noise_is_made_for_these_moves():
    """50 rows in 25 groups, 2 in each: Gaussian noise falls by sqrt(25·4)/50 = 1/5, and 10 in 5 groups by more."""
    rows, keys = random_rows(1), um.keys(town=[f"t{i}" for i in range(100)])
    level = um.ZCDP(0.5)

    def error(**unit):
        return opened(rows, **unit).plan.count(None, level, by=keys).before.average

    whole = error(rows_each=50)
    assert error(rows_each=50, rows_each_group=2) == pytest.approx(whole / 5, rel=0.01)
    assert error(rows_each=50, groups_each=5, rows_each_group=2) == pytest.approx(whole * 20**0.5 / 50, rel=0.01)
    assert error(rows_each=50, groups_each=5) == pytest.approx(whole)
    pure = opened(rows, rows_each=50, groups_each=5, rows_each_group=2).plan.count(None, 1, by=keys)
    assert pure.question.space.reach == 10
    people = opened(rows, rows_each=50, groups_each=4).plan.count(None, level, by=keys, of="people")
    assert (people.question.space.reach, people.question.space.each) == (4, 1)


def test_answers_say_it_and_are_verified():
    session = opened(random_rows(2), rows_each=8, groups_each=2, rows_each_group=3, at_most=50)
    answer = session.count("x > 0", 5, by=um.keys(town=KEYS))
    said = "of at most 8 rows per who chosen before any condition, in at most 2 groups per who, at most 3 rows per who"
    assert said in answer.question.words
    assert answer.verify()
    assert session.mean("x", 0, 3, 5, by=um.keys(town=KEYS)).verify()
    people = session.count("x > 0", 5, by=um.keys(town=KEYS), of="people")
    assert "in at most 2 groups chosen at random" in people.question.words
    assert people.verify()
    assert "groups" not in session.count("x > 0", 5).question.words


@pytest.mark.parametrize("groups_each", [None, 1, 5])
@pytest.mark.parametrize("rows_each_group", [None, 1, 3])
@pytest.mark.parametrize("at_most", [None, 70])
def test_units_are_written_and_read(groups_each, rows_each_group, at_most):
    for truncate in ("table", "question"):
        unit = um.people("it's", 3, at_most, None, truncate, groups_each, rows_each_group)
        assert as_unit(str(unit)) == unit
    assert ("group" in str(unit)) == ((groups_each, rows_each_group) != (None, None))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rows_each_group": 4}, "rows_each_group is 4 and rows_each 3; .* give at most 3 in a group, or raise"),
        ({"rows_each_group": 0}, "rows_each_group is 0; .* from 1"),
        ({"groups_each": 0}, "groups_each is 0; .* from 1"),
        ({"groups_each": 1.5}, "groups_each is 1.5;"),
        ({"groups_each": True}, "groups_each is True;"),
        ({"groups_each": 2, "tiers": {"x = 1": (0.1, 2)}, "at_most": 9}, "leave groups_each and rows_each_group out"),
    ],
)
def test_bounds_that_are_none_are_refused(given, message):
    with pytest.raises(InvalidInput, match=message):
        um.people("who", rows_each=3, **given)
