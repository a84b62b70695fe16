"""Keys that nobody listed: what engines find, who is shown, reports that prove themselves, and an audit of it all."""

import datetime
import json
import math
from collections import Counter, defaultdict
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.command import utmost
from oracles.forging import is_refused
from oracles.lattices import numbers_by_key, one_neighbour_apart
from oracles.questions import QueryMaker, Setting
from oracles.tables import UNITS, as_table, neighbour_of, tables

import utmost as um
from utmost.backends import opening
from utmost.errors import AccountSuspended, InvalidInput, UnsupportedLevel
from utmost.queries.report.proof import load_answers
from utmost.theory.partition_selection.mechanism import ThresholdLaw

LEVEL = um.ApproxDP(1, 1e-6)
GAUSSIAN = um.ApproxGaussianDP("0.5", 1e-6)
SECRET = b"s" * 32
ALONE = "a-person-of-their-own"


def flights(many=300):
    """Two large destinations, a middling one, one that a single row has, nulls; three days and six people."""
    dest = ["ORD"] * many + ["LAX"] * many + ["ATL"] * 14 + [ALONE] + [None] * 7
    size = len(dest)
    return pyarrow.table(
        {
            "dest": dest,
            "day": [datetime.date(2013, 1, 1 + i % 3) for i in range(size)],
            "hours": [float(i % 7) for i in range(size)],
            "who": [f"p{i // 3}" for i in range(size)],
            "late": [i % 2 == 0 for i in range(size)],
        }
    )


def opened(unit=None, neighbours="add-remove", table=None, **more):
    unit = unit or um.rows(at_most=10_000)
    return um.Session(table or flights(), "flights", unit, neighbours, budget=um.ApproxDP(1000, 0.1), **more)


# ---- what engines find ----


@pytest.fixture(params=["frame", "parquet", "postgres"])
def source(request, tmp_path):
    """The same flights in each engine."""
    table = flights(20)
    if request.param == "frame":
        return opening.open_table(table)
    if request.param == "parquet":
        pyarrow.parquet.write_table(table, tmp_path / "flights.parquet")
        return opening.open_table(str(tmp_path / "flights.parquet"))
    url, psycopg = request.getfixturevalue("postgres")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS discovered")
        connection.execute("CREATE TABLE discovered (dest text, day date, hours float8, who text, late boolean)")
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO discovered VALUES (%s, %s, %s, %s, %s)", [tuple(row.values()) for row in table.to_pylist()]
            )
    return opening.open_table(f"{url}#discovered")


def test_every_engine_finds_what_a_loop_finds(source):
    """Rows and their sums by key; people by key, no person left out where all of their keys take part."""
    rows = [row for row in flights(20).to_pylist() if row["dest"] is not None and row["hours"] < 6]
    asking = QueryMaker(Setting(source, um.rows(at_most=999), "replace"))
    found = asking.sum("hours", 0, 4, LEVEL, where="hours < 6", grid=1, by=um.discover("dest", "late")).private_point(
        SECRET
    )
    sums = defaultdict(int)
    for row in rows:
        sums[row["dest"], row["late"]] += int(min(row["hours"], 4))
    counts = Counter((row["dest"], row["late"]) for row in rows)
    assert numbers_by_key(found) == {key: (n, (sums[key],)) for key, n in counts.items()}
    people = QueryMaker(Setting(source, um.people("who", rows_each=9, at_most=999), "add-remove"))
    held = people.keys(["day"], LEVEL, where="dest IS NOT NULL", keys_each=9).private_point(SECRET)
    pairs = {(row["who"], row["day"]) for row in flights(20).to_pylist() if row["dest"] is not None}
    assert numbers_by_key(held) == {(day,): (n, ()) for day, n in Counter(day for _, day in pairs).items()}


def test_engines_agree_on_which_keys_of_a_person_count(source):
    asking = QueryMaker(Setting(source, um.people("who", rows_each=2, at_most=999), "add-remove"))
    expected = QueryMaker(
        Setting(opening.open_table(flights(20)), um.people("who", rows_each=2, at_most=999), "add-remove")
    )
    for ask in (
        lambda a: a.keys(["dest", "day"], LEVEL, keys_each=2),
        lambda a: a.mean("hours", 0, 7, LEVEL, by=um.discover("day", keys_each=1)),
    ):
        one, other = (numbers_by_key(ask(each).private_point(SECRET)) for each in (asking, expected))
        assert one == other
        assert sum(holders for holders, _ in one.values()) > 0


def test_values_that_are_no_keys_take_no_part():
    """NaN, infinities and nulls hold no key; one zero of two; days and whole numbers as they are."""
    table = pyarrow.table(
        {
            "x": [0.0, -0.0, 2.5, math.nan, math.inf, -math.inf, None],
            "n": pyarrow.array([2**64 - 1, 0, 1, 2, 3, 4, None], pyarrow.uint64()),
        }
    )
    asking = QueryMaker(Setting(opening.open_table(table), um.rows(at_most=9), "add-remove"))
    assert numbers_by_key(asking.keys("x", LEVEL).private_point(SECRET)) == {(0.0,): (2, ()), (2.5,): (1, ())}
    held = numbers_by_key(asking.keys("n", LEVEL).private_point(SECRET))
    assert set(held) == {(n,) for n in (2**64 - 1, 0, 1, 2, 3, 4)}


def test_columns_without_keys_are_refused():
    table = pyarrow.table({"at": [datetime.datetime(2013, 1, 1)], "x": [1]})
    s = um.Session(table, "t", um.rows(at_most=9), "add-remove", LEVEL)
    with pytest.raises(InvalidInput, match="keys are found of"):
        s.keys("at", LEVEL)
    assert not s.account.entries()


# ---- how far one neighbour moves it ----


QUESTIONS = {
    "keys": lambda a: a.keys("n", LEVEL),
    "of two columns": lambda a: a.keys(["ok", "n"], LEVEL, where="x > 0"),
    "counts": lambda a: a.count("ok", LEVEL, by=um.discover("n")),
    "sums": lambda a: a.sum("x", -2, 5, LEVEL, grid="0.5", by=um.discover("n")),
    "means": lambda a: a.mean("x", -2, 5, LEVEL, by=um.discover("ok")),
}
OF_PEOPLE = {
    "two keys": lambda a: a.keys("n", LEVEL, keys_each=2),
    "people": lambda a: a.count(None, LEVEL, of="people", by=um.discover("ok", keys_each=2)),
    "rows of two keys": lambda a: a.count(None, LEVEL, by=um.discover("n", keys_each=2)),
    "top of two keys": lambda a: a.top("n", 2, privacy=LEVEL, keys_each=2),
    "sums of two keys": lambda a: a.sum("x", 0, 5, LEVEL, by=um.discover("ok", keys_each=2)),
}


@lru_cache
def asked_by(name, which, neighbours):
    """A question, and its private point as a function of the table."""
    setting = Setting(opening.open_table(as_table([])), UNITS[which], neighbours)
    asked = {**QUESTIONS, **OF_PEOPLE}[name](QueryMaker(setting))
    return asked.question, asked.reader(SECRET)


def check_neighbours(data):
    which, neighbours = data.draw(st.integers(0, len(UNITS) - 1)), data.draw(st.sampled_from(["replace", "add-remove"]))
    unit = UNITS[which]
    listed = data.draw(tables)
    near = neighbour_of(listed, unit, neighbours, data)
    name = data.draw(st.sampled_from([*QUESTIONS, *(OF_PEOPLE if unit.id else ())]))
    question, point = asked_by(name, which, neighbours)
    assert one_neighbour_apart(question.space, *(point(as_table(some)) for some in (listed, near))), name


@settings(max_examples=10)
@given(st.data())
def test_neighbours_move_it_as_declared(data):
    check_neighbours(data)


@pytest.mark.long
@settings(max_examples=2000, deadline=None)
@given(st.data())
def test_thousands_of_neighbours_move_it_as_declared(data):
    check_neighbours(data)


@pytest.mark.parametrize(
    "ask", [lambda a: a.count(None, LEVEL, by=um.discover("n", keys_each=2)), OF_PEOPLE["two keys"]]
)
def test_no_more_keys_of_a_person_are_kept_than_declared(ask):
    """Where one row of a person counts, one key does, whatever keys_each says."""
    listed = [("a", 1.0, n, True) for n in range(5)]
    asked = ask(QueryMaker(Setting(opening.open_table(as_table(listed)), um.people("id", 1, 9), "add-remove")))
    assert len(numbers_by_key(asked.private_point(SECRET))) == asked.question.space.changes


def test_the_declared_moves_are_made():
    """A person with two keys gives two keys a holder; replaced by one with two others, four change."""
    unit = um.people("id", rows_each=2, at_most=4)
    one, other = [("a", 1.0, 1, True), ("a", 1.0, 2, True)], [("a", 1.0, 3, True), ("a", 1.0, 4, True)]
    for neighbours, near, changed in (("add-remove", [], 2), ("replace", other, 4)):
        points = []
        for listed in (one, near):
            setting = Setting(opening.open_table(as_table(listed)), unit, neighbours)
            asked = QueryMaker(setting).keys("n", LEVEL, keys_each=2)
            points.append(numbers_by_key(asked.private_point(SECRET)))
        assert len(set(points[0]) ^ set(points[1])) == changed == asked.question.space.changes


# ---- what is shown ----


def test_shown_keys_are_sorted_and_large():
    s = opened()
    answer = s.keys("dest", LEVEL)
    assert [key for key in answer.value if key != "ATL"] == ["LAX", "ORD"]
    assert answer.value == sorted(answer.value)
    several = s.keys(["dest", "day"], LEVEL).value
    assert several == sorted(several)
    assert answer.table.column_names == ["dest"]
    assert um.keys(answer.table).labels == answer.value


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("unit", [um.rows(at_most=9999), um.people("who", rows_each=3, at_most=9999)])
def test_numbers_beside_keys_are_near_the_truth(unit, neighbours):
    """At epsilon 40 counts, sums and means are those of the rows, up to the interval."""
    s, level, each = opened(unit, neighbours), um.ApproxDP(40, 1e-4), 1 if unit.id is None else 3
    by = um.discover("late", keys_each=each)
    late = [row for row in flights().to_pylist() if row["late"]]
    count = s.count(None, level, by=by)
    total, mean = s.sum("hours", 0, 6, level, by=by), s.mean("hours", 0, 6, level, by=by)
    truths = {count: len(late), total: sum(row["hours"] for row in late)}
    truths[mean] = truths[total] / len(late)
    for answer, truth in truths.items():
        low, high = answer.intervals[True]
        assert low - 3 * (high - low) <= truth <= high + 3 * (high - low)
        assert high - low <= 0.1 * truth
        assert answer.table.column_names[:4] == ["late", "value", "lower", "upper"]
    if unit.id is not None:
        people = s.count(None, level, of="people", by=by)
        assert people.value[True] == pytest.approx(len({row["who"] for row in late}), abs=10)


def test_how_often_keys_are_shown():
    """Drawn a hundred times: as often as the probabilities say, counts no smaller than the least that is shown."""
    s = opened()
    question = s.plan.count(None, um.ApproxDP(1, 1e-3), by=um.discover("dest")).question
    point = question.point(s.source.execute(question.statement(s.source, SECRET)))
    law, drawn = question.solution.mechanism.law, [question.draw(point) for _ in range(100)]
    seen = Counter(key for released in drawn for key in released["keys"][0][2])
    assert seen["ORD"] == seen["LAX"] == 100
    assert law.release_probability(14) == 1
    assert seen[ALONE] <= 5  # expected: 0.1
    assert min(n for released in drawn for n in released["count"]) >= question.solution.mechanism.border


# ---- plans, reports, errors ----


def test_a_plan_says_how_likely_each_key_is_shown():
    plan = opened().plan.keys("dest", LEVEL)
    shown = dict(zip(*plan.details["curve"].values(), strict=True))
    assert shown == pytest.approx({n: LEVEL.upper_after(n, 0) for n in range(1, 29)}, rel=1e-12)
    assert "0.6999 if 14 rows have it, 0.9997 if 21 rows have it, and for certain from 28 on" in str(plan)
    assert plan.picture().startswith("<figure><svg")
    assert plan.picture() in plan._repr_html_()
    assert opened().plan.count(None, 1).picture() == ""
    split = opened().plan.sum("hours", 0, 6, LEVEL, by=um.discover("dest"))
    assert "the keys are shown at (0.5, 1e-06)-DP, the numbers at 0.5-DP" in str(split)
    more = opened().plan.sum("hours", 0, 6, LEVEL, by=um.discover("dest", share="0.8"))
    assert "the keys are shown at (0.8, 1e-06)-DP, the numbers at 0.2-DP" in str(more)


ASKED = {
    "keys": lambda s: s.keys(["dest", "day"], LEVEL),
    "count": lambda s: s.count("late", LEVEL, by=um.discover("dest")),
    "sum": lambda s: s.sum("hours", 0, 6, LEVEL, by=um.discover("day")),
    "mean": lambda s: s.mean("hours", 0, 6, LEVEL, grid="0.5", by=um.discover("late")),
    "Gaussian": lambda s: s.sum("hours", 0, 6, GAUSSIAN, by=um.discover("day", share="0.7")),
}


@pytest.mark.parametrize("name", ASKED)
def test_reports_prove_themselves_and_forgeries_do_not(name, tmp_path):
    answer = ASKED[name](opened())
    assert answer.verify()
    page = answer.report(tmp_path / "report.html")
    assert ALONE not in page.read_text() + page.with_suffix(".json").read_text()
    ((again, found),) = load_answers(page.with_suffix(".json"))
    assert found
    assert again.value == answer.value
    content = json.loads(page.with_suffix(".json").read_text())
    refused = partial(is_refused, page.with_suffix(".json"))
    first = content["released"]["keys"][0]
    assert refused(lambda c: c["released"]["keys"][0][2].reverse()) or len(first[2]) < 2
    assert refused(lambda c: c["released"]["keys"][0][2].append(first[2][-1]))
    assert refused(lambda c: c["question"]["by"].update(keys_each=2))
    assert refused(lambda c: c["question"]["by"].update(discover=["hours"]))
    assert refused(lambda c: c["curve"]["shown with probability"].__setitem__(0, 0.5))
    assert refused(lambda c: c["question"]["by"].update(share="1/3"))
    grown = {"mu": "3"} if name == "Gaussian" else {"epsilon": "3"}
    assert refused(lambda c: c["solution"]["mechanism"]["law"]["level"].update(grown))
    assert refused(lambda c: c["solution"]["mechanism"].update(border=None if name == "count" else 3))
    assert refused(lambda c: c["privacy"].update(delta="1/10"))
    assert refused(lambda c: c["value"].pop())
    for part in set(content["released"]) - {"keys"}:
        assert refused(lambda c, part=part: c["released"][part].__setitem__(0, 2))


def test_a_fresh_process_verifies_a_report(tmp_path):
    page = ASKED["count"](opened()).report(tmp_path / "report.html")
    done = utmost("verify", str(page.with_suffix(".json")))
    assert done.returncode == 0, done.stdout
    assert "verified: private, optimality: theorem" in done.stdout


def test_asked_again_nothing_is_spent(tmp_path):
    s = opened(ledger=str(tmp_path / "budget.db"))
    first = s.count(None, LEVEL, by=um.discover("dest"))
    again = s.count(None, LEVEL, by=um.discover("dest"))
    assert again.recorded
    assert again.value == first.value
    assert not s.count(None, LEVEL, by=um.discover("day")).recorded
    assert ALONE not in (tmp_path / "budget.db").read_text()
    batch = s.batch([s.plan.keys("dest", LEVEL), s.plan.count(None, 1)])
    assert "ORD" in batch[0].value


@pytest.mark.parametrize("level", [1, um.GaussianDP(1), um.ZCDP(1)])
def test_levels_without_a_delta_are_refused(level):
    s = um.Session(flights(), "f", um.rows(at_most=999), "add-remove", um.ZCDP(9))
    with pytest.raises(UnsupportedLevel, match=r"without a delta.*um\.keys"):
        s.keys("dest", level)
    with pytest.raises(UnsupportedLevel, match="without a delta"):
        s.plan.count(None, level, by=um.discover("dest"))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: um.discover(), "no column"),
        (lambda: um.discover("a", "a"), "name each once"),
        (lambda: um.discover("a", keys_each=0), "keys_each is 0"),
        (lambda: um.discover(3), "give its name"),
        (lambda: opened().keys("dest", LEVEL, keys_each=2), "a row has one key only"),
        (lambda: opened().keys("nowhere", LEVEL), "no column 'nowhere'"),
        (lambda: opened().count(None, LEVEL, by="dest"), "give public keys"),
        (lambda: opened().majority("dest = 'a'", LEVEL, by=um.discover("dest")), "go with count, sum and mean"),
        (lambda: opened().count(None, LEVEL, prior=[1], by=um.discover("dest")), "leave prior out"),
        (lambda: opened().mean("hours", 3, 3, LEVEL, by=um.discover("dest")), "public already"),
        (lambda: um.discover("a", share=1), "share is 1; .* between 0 and 1"),
        (lambda: opened().count(None, LEVEL, by=um.discover("dest", share="0.7")), "nothing to share"),
    ],
)
def test_bad_questions_are_refused(make, said):
    with pytest.raises(InvalidInput, match=said):
        make()


def test_a_failing_engine_tells_no_key(tmp_path):
    """What the engine says when it fails, with a key in it, is nobody's to see."""
    s = opened()
    source = replace(s.source)
    object.__setattr__(source, "rehearse", lambda trial, rows: None)
    object.__setattr__(source, "all_columns", lambda statement: (_ for _ in ()).throw(ValueError(ALONE)))
    object.__setattr__(s, "source", source)
    with pytest.raises(AccountSuspended) as failed:
        s.keys("dest", LEVEL)
    assert ALONE not in str(failed.value) + repr(failed.value.__cause__) + repr(failed.value.__context__)
    found = s.plan.keys("dest", LEVEL).question
    point = found.point(opened().source.execute(found.statement(opened().source, SECRET)))
    assert ALONE not in repr(point)


# ---- an audit of the whole path ----


AUDITED = um.ApproxDP(1, 0.05)


def asked_of(table, level=AUDITED):
    s = um.Session(table, "audit", um.rows(at_most=99), "add-remove", budget=level)
    return s.count(None, level, by=um.discover("dest"))


@pytest.mark.parametrize("level", [AUDITED, um.ApproxGaussianDP(1, 0.05)])
def test_an_audit_does_not_contradict_the_promise(level):
    """Two tables that differ in a row: of a key that others have, too, and of a key of its own."""
    table = pyarrow.table({"dest": ["ORD"] * 2 + ["LAX"]})
    for fewer in (table.slice(1), table.slice(0, 2)):
        assert not um.audit(lambda found: asked_of(found, level), table, fewer, runs=600).broken


def test_an_audit_catches_a_threshold_that_is_too_low(monkeypatch):
    """Every key shown from two holders on, as somebody might write it: the law proves other numbers than it draws."""
    monkeypatch.setattr(ThresholdLaw, "draw", lambda self, size: np.full(size, 2))
    table = pyarrow.table({"dest": ["ORD"] * 2 + ["LAX"]})
    assert um.audit(asked_of, table, table.slice(1), runs=600).broken


def test_an_audit_catches_a_key_of_one_row(monkeypatch):
    rng = np.random.default_rng(1)
    monkeypatch.setattr(ThresholdLaw, "draw", lambda self, size: 1 + (rng.random(size) > 0.5) * 9)
    table = pyarrow.table({"dest": ["ORD"] * 2 + ["LAX"]})
    assert um.audit(asked_of, table, table.slice(0, 2), runs=600).broken
