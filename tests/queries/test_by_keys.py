"""Counts, sums and means by public keys: against DuckDB's GROUP BY, enumerated moves, and the laws of the noise."""

import datetime
import json
from functools import lru_cache
from unittest import mock

import duckdb
import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.pace import within
from oracles.questions import QueryMaker, Setting
from oracles.tables import UNITS, as_table, neighbour_of, tables

import utmost as um
from utmost.backends import opening
from utmost.errors import InvalidInput
from utmost.privacy import PureDP
from utmost.queries.keys import require_keys
from utmost.queries.report.proof import load_answers
from utmost.space.integers import Lattice
from utmost.theory.estimates.design.mean import mean_intervals
from utmost.theory.vector.design.vectors import best_vector

DAYS = [datetime.date(2013, 1, day) for day in (1, 2, 3)]
KEYS = um.keys(carrier=["AA", "UA", "O'Hara", "ZZ", None], month=[1, 2, 99], day=DAYS[:2])


def flights(many=3000, seed=0):
    """Made-up flights with nulls in every column, and carriers that are no key."""
    rng = np.random.default_rng(seed)
    choices = {
        "who": [f"p{i}" for i in range(6000)],
        "carrier": ["AA", "UA", "O'Hara", "B6"],
        "month": [1, 2, 3],
        "day": DAYS,
        "stars": [-3, 0, 1, 4, 9],
    }
    columns = {}
    for name, values in choices.items():
        places = rng.integers(0, len(values) + 1, many)
        columns[name] = [None if at == len(values) else values[at] for at in places.tolist()]
    return pyarrow.table(columns)


def grouped(table, keys, what, where="true"):
    """DuckDB's own GROUP BY joined with the keys."""
    with duckdb.connect() as connection:
        connection.register("t", table)
        connection.register("k", keys.table.append_column("place", pyarrow.array(range(keys.size))))
        same = " AND ".join(f"t.{name} IS NOT DISTINCT FROM k.{name}" for name in keys.names)
        found = connection.execute(
            f"SELECT {what} FROM k LEFT JOIN (SELECT *, true AS here FROM t WHERE {where}) t ON {same} "
            "GROUP BY place ORDER BY place"
        ).fetchall()
    return [value for (value,) in found]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("unit", [um.rows(at_most=4000), um.people("who", rows_each=6, at_most=4000)])
def test_without_noise_it_is_the_group_by(unit, neighbours):
    """At epsilon 500 there is no noise, and no row of a person is left out: everything is as DuckDB says."""
    table = flights()
    s = um.Session(table, "flights", unit, neighbours, budget=10**6)
    known = "true" if unit.id is None else "who IS NOT NULL"
    count = s.count("stars >= 0", 500, by=KEYS)
    assert list(count.value.values()) == grouped(table, KEYS, "count(here)", f"stars >= 0 AND {known}")
    assert list(count.value) == KEYS.labels
    assert count.value["ZZ", 1, DAYS[0]] == 0
    total = s.sum("stars", -1, 4, 500, by=KEYS)
    cut = "CASE WHEN stars IS NOT NULL THEN least(greatest(stars, -1), 4) END"  # DuckDB's least passes over nulls
    assert list(total.value.values()) == grouped(table, KEYS, f"coalesce(sum({cut}), 0)::BIGINT", known)
    means = s.mean("stars", -1, 4, 500, where="month < 3", by=KEYS)
    wanted = grouped(table, KEYS, f"avg({cut})", f"month < 3 AND {known}")
    assert means.table["value"].to_pylist() == pytest.approx([1.5 if x is None else x for x in wanted])
    assert all(low <= x <= high for x, (low, high) in zip(means.value.values(), means.intervals.values(), strict=True))


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_frame_lists_keys_in_its_order(kind):
    """One key of several columns in each row; every package says the same."""
    package = pytest.importorskip(kind)
    columns = {"carrier": ["UA", None, "AA"], "month": [2, 1, 1]}
    made = (package.table if kind == "pyarrow" else package.DataFrame)(columns)
    keys = um.keys(made)
    assert keys.labels == [("UA", 2), (None, 1), ("AA", 1)]
    assert keys.fingerprint == um.keys(pyarrow.table(columns)).fingerprint
    table = flights()
    answer = um.Session(table, "f", um.rows(at_most=4000), "add-remove", 10**6).count(None, 500, by=keys)
    assert list(answer.value.values()) == grouped(table, keys, "count(here)")


def test_a_single_column_has_bare_keys():
    """And the table has its column, the value, and both ends; pandas the same."""
    s = um.Session(flights(), "f", um.rows(at_most=4000), "add-remove", 10)
    answer = s.count(None, 1, by=um.keys(month=[1, 2]))
    assert list(answer.value) == list(answer.intervals) == [1, 2]
    assert answer.table.column_names == ["month", "value", "lower", "upper"]
    assert answer.to_pandas()["value"].tolist() == list(answer.value.values())
    assert answer.interval is None
    rows = answer.table.to_pylist()
    assert [(row["lower"], row["upper"]) for row in rows] == list(answer.intervals.values())
    with pytest.raises(InvalidInput, match="ask with by="):
        _ = s.count(None, 1).table


# ---- how far one neighbour moves it ----


SMALL = um.keys(ok=[True, False], n=[0, 1, -5])


@lru_cache
def asked_by(kind, which, neighbours):
    """A question, and its private point as a function of the table."""
    asked = made(kind, QueryMaker(Setting(opening.open_table(as_table([])), UNITS[which], neighbours)))
    return asked.question, asked.reader(b"s" * 32)


def made(kind, ask):
    if kind == "count":
        return ask.count("x > 0 OR x IS NULL", 1, by=SMALL)
    if kind == "people":
        return ask.count(None, 1, of="people", by=SMALL)
    lower, upper = {"sum": (0, 2), "mixed": (-2, 1), "negative": (-3, -1), "mean": (-1, 2)}[kind]
    make = ask.mean if kind == "mean" else ask.sum
    return make("x", lower, upper, 1, grid="0.5", by=SMALL)


def moved(space, change):
    """How many moves of the space's kind a change takes, at least."""
    up, down = int(change[change > 0].sum()), int(-change[change < 0].sum())
    return up + down if space.moves == "any" else max(up, down)


def check_neighbours(data):
    which = data.draw(st.integers(0, len(UNITS) - 1))
    unit = UNITS[which]
    kinds = ["count", "sum", "mixed", "negative", "mean"] + ["people"] * (unit.id is not None)
    kind, neighbours = data.draw(st.sampled_from(kinds)), data.draw(st.sampled_from(["replace", "add-remove"]))
    few = st.sampled_from([0, 1, -5])
    listed = [(i, x, data.draw(few), ok) for i, x, _, ok in data.draw(tables)]
    other = neighbour_of(listed, unit, neighbours, data)
    other = [(i, x, n if n in (None, 0, 1, -5) else data.draw(few), ok) for i, x, n, ok in other]
    question, point = asked_by(kind, which, neighbours)
    space, points = question.space, [point(as_table(rows)) for rows in (listed, other)]
    assert space.moves == ("any" if neighbours == "add-remove" or kind == "mixed" else "exchange")
    assert moved(space, points[1] - points[0]) <= space.reach
    assert len(points[0]) == space.dimension == (12 if kind == "mean" else 6)
    assert min(points[0]) >= space.lower
    assert max(points[0]) <= space.upper


@given(st.data())
@settings(max_examples=20, deadline=None)
def test_neighbours_move_it_as_declared(data):
    """For any table, unit and neighbours: never farther than the declared moves."""
    check_neighbours(data)


@pytest.mark.long
@given(st.data())
@settings(max_examples=2000, deadline=None)
def test_thousands_of_neighbours_move_it_as_declared(data):
    """The same, many times."""
    check_neighbours(data)


@pytest.mark.parametrize(
    ("kind", "neighbours", "before", "after"),
    [
        ("count", "replace", [(True, 0, None)], [(False, 0, None)]),
        ("sum", "replace", [(True, 0, 9.0)], [(False, 1, 9.0)]),
        ("sum", "add-remove", [], [(False, 1, 9.0)]),
        ("mixed", "replace", [(True, 0, -9.0)], [(False, 1, -9.0)]),
        ("negative", "replace", [(True, 0, -9.0)], [(False, 1, -9.0)]),
        ("mean", "replace", [(True, 0, -9.0)], [(False, 1, 9.0)]),
        ("mean", "add-remove", [], [(False, 1, 0.3)]),
    ],
)
def test_the_declared_moves_are_made(kind, neighbours, before, after):
    """No noise is wasted: some neighbours are as far apart as declared."""
    tables = [[("a", x, n, ok) for ok, n, x in rows] for rows in (before, after)]
    question, point = asked_by(kind, UNITS.index(um.rows(at_most=9)), neighbours)
    first, second = (point(as_table(rows)) for rows in tables)
    assert moved(question.space, second - first) == question.space.reach > 0


def test_a_person_with_rows_in_many_groups_counts_few_times():
    """Of 50 rows in 50 groups three are kept; of people, one."""
    table = pyarrow.table({"who": ["a"] * 50, "g": list(range(50))})
    s = um.Session(table, "f", um.people("who", rows_each=3, at_most=10), "add-remove", 10**6)
    keys = um.keys(g=range(50))
    assert sum(s.count(None, 500, by=keys).value.values()) == 3
    people = s.count(None, 500, by=keys, of="people")
    assert sum(people.value.values()) == 1
    assert "one group" in str(people)


# ---- noise ----


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_absent_keys_get_noise_too(neighbours):
    """Of an empty table every cell is noise of the stated law: as many zeros as it says, and errors of its size."""
    table = pyarrow.table({"g": pyarrow.array([], pyarrow.int64())})
    answer = um.Session(table, "f", um.rows(at_most=99), neighbours, 1).count(None, 1, by=um.keys(g=range(4000)))
    found, noise = np.array(list(answer.value.values())), answer.solution.mechanism
    zero = 1 - 2 * float(noise.tail(1))
    assert abs((found == 0).mean() - zero) < 6 * np.sqrt(zero * (1 - zero) / 4000)
    assert np.abs(found).mean() == pytest.approx(answer.before.average, rel=0.15)
    inside = np.mean([low <= 0 <= high for low, high in answer.intervals.values()])
    assert inside > 0.93


@pytest.mark.parametrize(("moves", "pairs"), [("any", 1), ("any", 50), ("exchange", 3), ("exchange", 300)])
def test_intervals_of_means_cover(moves, pairs):
    """Whatever the noise on all pairs: each interval holds the true share in 95 of 100 draws or more."""
    noise = best_vector(Lattice(2 * pairs, moves, 10, 0, 10**6), PureDP(1)).mechanism
    truth = np.tile([[30, 170], [400, 0], [0, 0], [5, 5]], (pairs, 1))[:pairs]
    point = np.concatenate([truth[:, 0], truth[:, 1]])
    drawn = noise.sample_many(np.tile(point, (max(1, 6000 // pairs), 1)))
    above, below = drawn[:, :pairs].ravel(), drawn[:, pairs:].ravel()
    low, high = mean_intervals(noise, above, below)
    share = np.tile(truth[:, 0] / np.maximum(truth.sum(axis=1), 1), len(drawn))
    known = np.tile(truth.sum(axis=1) > 0, len(drawn))
    inside = ((low <= share + 1e-12) & (share - 1e-12 <= high))[known]
    assert inside.mean() > 0.95 - 4 * np.sqrt(0.05 * 0.95 / len(inside))
    assert (low <= high).all()


def test_noise_beyond_64_bits():
    """A wide range and a small epsilon: whole numbers of any size in the answer, floats in the table."""
    table = pyarrow.table({"g": [1, 2], "x": [2**47, 5]})
    s = um.Session(table, "f", um.people("g", rows_each=10**4, at_most=10**6), "add-remove", 1)
    answer = s.sum("x", 0, 2**47, "0.0001", by=um.keys(g=range(31)))
    assert max(map(abs, answer.value.values())) > 2**63
    assert answer.table["value"].to_pylist() == [float(x) for x in answer.value.values()]
    assert all(low < x < high for x, (low, high) in zip(answer.value.values(), answer.intervals.values(), strict=True))
    assert bool(answer.verify())


def test_a_hundred_thousand_cells_take_seconds():
    """Planned, read, drawn and recorded, with exact noise in each."""
    rng = np.random.default_rng(1)
    table = pyarrow.table({"g": rng.integers(0, 10**5, 10**5), "x": rng.integers(0, 10, 10**5)})
    s = um.Session(table, "f", um.rows(at_most=10**5), "add-remove", 5000)
    keys = um.keys(g=range(10**5))
    with within(10):
        answer = s.mean("x", 0, 10, 500, by=keys)
        assert answer.table.num_rows == 10**5
    sums, rows = (np.bincount(table["g"], weights=w, minlength=10**5) for w in (table["x"], None))
    wanted = np.where(rows > 0, sums / np.maximum(rows, 1), 5)
    assert np.abs(answer.table["value"].to_numpy() - wanted).max() < 1e-12
    assert len(str(answer)) < 20_000


# ---- what is recorded, shown and proved ----


KINDS = {
    "carrier": ["AA", None],
    "month": [1, 2],
    "day": DAYS[:2],
    "x": [0.5, -0.0],
    "ok": [True, False],
}


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("asked", ["count", "sum", "mean"])
def test_reports_prove_themselves(asked, neighbours, tmp_path):
    """With keys of every kind; a changed answer, interval, key or released number is seen."""
    table = flights().append_column("x", pyarrow.array([0.5] * 3000)).append_column("ok", pyarrow.array([True] * 3000))
    s = um.Session(table, "f", um.rows(at_most=4000), neighbours, 10)
    keys = um.keys(KINDS)
    ask = {
        "count": lambda: s.count("month >= 1", 1, by=keys),
        "sum": lambda: s.sum("stars", 0, 5, 1, grid="0.5", by=keys),
        "mean": lambda: s.mean("stars", 0, 5, 1, by=keys),
    }
    answer = ask[asked]()
    answer.report(tmp_path / "r.html")
    content = json.loads((tmp_path / "r.json").read_text())
    assert content["value"][0][:-1] == ["AA", 1, "2013-01-01", 0.5, True]
    ((again, found),) = load_answers(tmp_path / "r.json")
    assert found
    assert again.value == answer.value
    assert again.table.equals(answer.table)
    for change in ("value", "interval", "key", "released"):
        forged = json.loads((tmp_path / "r.json").read_text())
        if change == "value":
            forged["value"][3][-1] += 1
        elif change == "interval":
            forged["accuracy"]["after"]["intervals"][3][-1] += 1
        elif change == "key":
            forged["question"]["by"]["columns"][0][2][0] = "UA"
        else:
            next(iter(forged["released"].values()))[0] += 7
        (tmp_path / "forged.json").write_text(json.dumps(forged))
        ((_, found),) = load_answers(tmp_path / "forged.json")
        assert not found, change


def test_released_numbers_that_are_none_are_refused(tmp_path):
    """A report with too few numbers, or none, is no report."""
    s = um.Session(flights(), "f", um.rows(at_most=4000), "replace", 10)
    s.count(None, 1, by=um.keys(month=[1, 2])).report(tmp_path / "r.html")
    for nonsense in ([1], [1, True], [1, 0.5], "12", {"a": 1, "b": 2}):
        content = json.loads((tmp_path / "r.json").read_text())
        content["released"]["count"] = nonsense
        (tmp_path / "forged.json").write_text(json.dumps(content))
        with pytest.raises(um.errors.BadFile):
            load_answers(tmp_path / "forged.json")


def test_the_page_shows_the_first_hundred(tmp_path):
    """Each key column has a column of its own, the rest is in the CSV beside the page; two make a cross-table."""
    s = um.Session(flights(), "f", um.rows(at_most=4000), "add-remove", 10)
    answer = s.count(None, 1, by=um.keys(carrier=["AA", "<b>", None], month=range(50)))
    page = answer.report(tmp_path / "r.html").read_text()
    assert '<th scope="col" class="words">carrier</th><th scope="col" class="words">month</th>' in page
    assert page.count('<td class="released">') == 100
    assert "50 more" in page
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert len((tmp_path / "r.csv").read_text().splitlines()) == 151
    assert "carrier \\ month" not in page  # fifty columns are too many
    crossed = (
        s.count(None, 1, by=um.keys(carrier=["AA", "<b>"], month=range(5))).report(tmp_path / "c.html").read_text()
    )
    assert "carrier \\ month" in crossed
    assert crossed.count('<td class="released">') == 20
    assert not (tmp_path / "c.csv").exists()
    few = s.count(None, 1, by=um.keys(carrier=["AA", None]))
    assert "null" in few.report(tmp_path / "few.html").read_text()


def test_the_ledger_knows_the_keys():
    """The same keys come back unspent; others, or the same in another order, are another question."""
    s = um.Session(flights(), "f", um.rows(at_most=4000), "add-remove", 10)
    first = s.count(None, 1, by=um.keys(month=[1, 2]))
    again = s.count(None, 1, by=um.keys(month=(1, 2)))
    assert again.recorded
    assert again.value == first.value
    assert str(s.left) == "epsilon 9 of 10"
    assert not s.count(None, 1, by=um.keys(month=[2, 1])).recorded
    assert not s.count(None, 1, by=um.keys(month=[1, 3])).recorded
    assert "count by month" in str(s.budget)


def test_plans_batches_and_schedules_take_keys():
    """Everything that asks can ask by keys."""
    keys = um.keys(month=[1, 2])
    s = um.Session(flights(), "f", um.rows(at_most=4000), "add-remove", um.ApproxDP(10, 1e-5))
    plan = s.plan.mean("stars", 0, 5, 1, by=keys, expected_rows=1500)
    assert "by month" in str(plan)
    assert str(s.left).startswith("epsilon 10 ")
    assert [list(answer.value) for answer in s.batch([plan, s.plan.count(None, 1, by=keys)])] == [[1, 2], [1, 2]]
    assert list(s.schedule(0.5, slots=2).sum("stars", 0, 5, by=keys).value) == [1, 2]
    assert s.smallest_privacy(plan, accuracy=0.1).epsilon < 1


def test_keys_of_a_file_without_types(tmp_path):
    """Beside numbers a column of text is read as numbers, and the plan says so."""
    (tmp_path / "t.csv").write_text("month,name\n1,a\n1.0,b\nx,a\n2,\n")
    s = um.Session(str(tmp_path / "t.csv"), "f", um.rows(at_most=9), "add-remove", 5000)
    assert s.count(None, 500, by=um.keys(month=[1, 2, None])).value == {1: 2, 2: 1, None: 1}
    assert any(
        "month is text in the table, read as numbers" in how
        for how in s.plan.count(None, 1, by=um.keys(month=[1])).readings
    )


# ---- bad input ----


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: um.keys(), "no keys"),
        (lambda: um.keys({}), "no keys"),
        (lambda: um.keys(a=[]), "'a' are an empty list"),
        (lambda: um.keys(a="AA"), "give a list"),
        (lambda: um.keys(a=3), "give a list"),
        (lambda: um.keys(a=["x", "y", "x"]), "keys 1 and 3 of a are the same"),
        (lambda: um.keys(a=[1, 1.0]), "are the same"),
        (lambda: um.keys(a=[0.0, -0.0]), "are the same"),
        (lambda: um.keys(a=[None, None]), "all None"),
        (lambda: um.keys(a=[1, None, None]), "keys 2 and 3 of a are the same"),
        (lambda: um.keys(a=[1, "x"]), "several kinds"),
        (lambda: um.keys(a=[1, True]), "several kinds"),
        (lambda: um.keys(a=[1.5, float("nan")]), "infinite or NaN"),
        (lambda: um.keys(a=[2**64]), "64 bits"),
        (lambda: um.keys(a=["\ud800"]), "UTF-8"),
        (lambda: um.keys(a=[datetime.datetime(2020, 1, 1)]), "all of one kind"),
        (lambda: um.keys(a=[b"x"]), "all of one kind"),
        (lambda: um.keys({3: [1]}), "called 3"),
        (lambda: require_keys(um.keys(a=range(1001), b=range(1000))), "1,001,000 keys; at most 1,000,000"),
        (lambda: um.keys(a=range(10**18)), "at most 1,000,000"),
        (lambda: um.keys(pyarrow.table({"a": [1, 2, 1], "b": [3, 3, 3]})), "keys 1 and 3 of a and b are the same"),
        (lambda: um.keys(pyarrow.table({"a": pyarrow.array([], pyarrow.int64())})), "empty"),
        (lambda: um.keys(pyarrow.table({"a": [[1]]})), "list<"),
        (lambda: um.keys(pyarrow.table([[1], [2]], names=["a", "a"])), "one name"),
        (lambda: um.keys(pyarrow.table({"a": [1]}), b=[1]), "not both"),
        (lambda: um.keys(7), "give a public"),
    ],
)
def test_bad_keys_are_refused(make, said):
    """The error names the place, the rule and the remedy."""
    with pytest.raises(InvalidInput, match=said):
        make()


def test_a_private_column_given_by_mistake_stays_private():
    """Errors say where a key stands, never what it is."""
    for values in (["secret", "other", "secret"], ["secret", 7], ["secret", b"secret"]):
        with pytest.raises(InvalidInput) as raised:
            um.keys(a=values)
        assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda s: s.count(None, 1, by=["AA"]), "um.keys"),
        (lambda s: s.count(None, 1, by="carrier"), "um.keys"),
        (lambda s: s.count(None, 1, by=um.keys(carrier=[1, 2])), "'carrier' holds string"),
        (lambda s: s.sum("stars", 0, 5, 1, by=um.keys(month=["1"])), "'month' holds int64"),
        (lambda s: s.mean("stars", 0, 5, 1, by=um.keys(month=[1.5])), "'month'"),
        (lambda s: s.count(None, 1, by=um.keys(nobody=[1])), "no column 'nobody'"),
        (lambda s: s.count(None, 1, by=um.keys(month=[1]), prior=[0.5, 0.5]), "leave prior out"),
        (lambda s: s.sum("stars", 0, 5, 1, by=um.keys(month=[1]), unbiased=3), "unbiased is 3"),
        (lambda s: s.sum("stars", 5, 0, 1, by=um.keys(month=[1])), "lower is 5"),
        (lambda s: s.mean("stars", 5, 5, 1, by=um.keys(month=[1])), "public already"),
        (lambda s: s.mean("carrier", 0, 5, 1, by=um.keys(month=[1])), "not numbers"),
        (lambda s: s.mean("stars", 0, 5, 1, by=um.keys(month=[1]), loss="zero-one"), "loss is"),
        (lambda s: s.count(None, by=um.keys(month=[1])), "privacy"),
        (lambda s: s.count(None, 1, of="people", by=um.keys(month=[1])), "unit is a row"),
    ],
)
def test_bad_questions_are_refused_before_the_spend(ask, said):
    """Nothing is charged, and no row is read."""
    s = um.Session(flights(10), "f", um.rows(at_most=99), "replace", 10)
    with mock.patch.object(type(s.source), "execute", side_effect=AssertionError):
        for target in (s, s.plan):
            with pytest.raises(InvalidInput, match=said):
                ask(target)
    assert str(s.left) == "epsilon 10 of 10"


# ---- files, and what is not listed ----


def test_keys_of_a_file(tmp_path):
    """Whole numbers, decimals, dates and truth values where all entries are written so; 01 stays a text."""
    (tmp_path / "k.csv").write_text(
        "n,zip,x,day,ok,odd\n1,01,0.5,2013-01-01,true,2013-02-30\n-2,,3,2013-01-02,False,\n"
    )
    keys = um.keys(tmp_path / "k.csv")
    assert keys.names == ("n", "zip", "x", "day", "ok", "odd")
    assert keys.labels == [(1, "01", 0.5, DAYS[0], True, "2013-02-30"), (-2, None, 3.0, DAYS[1], False, None)]
    (tmp_path / "f.csv").write_text('carrier,month\nAA,1\n"O\'Hara",2\n')
    table = flights()
    s = um.Session(table, "f", um.rows(at_most=4000), "add-remove", 10**6)
    keys = um.keys(str(tmp_path / "f.csv"))
    assert list(s.count(None, 500, by=keys).value.values()) == grouped(table, keys, "count(here)")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("a,b\n", "empty"),
        ("a,b\n1,2\n1,2\n", "keys 1 and 2 of a and b are the same"),
        ("a,b\n1,2\n1\n", "key 2 of the file has 1 entries"),
        ("a,a\n1,2\n", "one name"),
        ("\xff", "cannot be read"),
    ],
)
def test_files_that_are_no_keys(text, said, tmp_path):
    """Named by place, before any table."""
    (tmp_path / "k.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidInput, match=said):
        um.keys(tmp_path / "k.csv")
    with pytest.raises(InvalidInput, match="cannot be read"):
        um.keys(tmp_path / "none.csv")


@pytest.mark.parametrize("unit", [um.rows(at_most=4000), um.people("who", rows_each=9, at_most=7000)])
def test_what_is_not_listed_is_counted_under_other(unit):
    """Of lists, every column has one more value; of a frame there is one more key; DuckDB's CASE says the same."""
    table = flights()
    s = um.Session(table, "f", unit, "add-remove", 10**6)
    known = "true" if unit.id is None else "who IS NOT NULL"
    answer = s.sum("stars", 0, 9, 500, by=um.keys(carrier=["AA", "UA"], month=[1, 2], other="rest"))
    with duckdb.connect() as connection:
        connection.register("t", table)
        found = connection.execute(
            "SELECT CASE WHEN carrier IN ('AA', 'UA') THEN carrier ELSE 'rest' END AS a, "
            "CASE WHEN month IN (1, 2) THEN month::TEXT ELSE 'rest' END AS b, sum(greatest(stars, 0)) FROM t "
            f"WHERE {known} AND stars IS NOT NULL GROUP BY a, b"
        ).fetchall()
    wanted = {(a, int(b) if b != "rest" else b): total for a, b, total in found}
    assert answer.value == wanted
    assert answer.table["month"].to_pylist()[:3] == ["1", "2", "rest"]
    frame = um.keys(pyarrow.table({"carrier": ["AA", "UA"], "month": [2, 1]}), other="rest")
    by_frame = s.sum("stars", 0, 9, 500, by=frame).value
    assert by_frame["rest", "rest"] == sum(wanted.values()) - wanted["AA", 2] - wanted["UA", 1]
    assert by_frame["AA", 2] == wanted["AA", 2]


def test_a_name_for_the_rest():
    """A name that is a key is refused; a list called other is a column; keys with and without are not the same."""
    assert um.keys(other=["a", "b"]).names == ("other",)
    assert um.keys(a=[1]).fingerprint != um.keys(a=[1], other="x").fingerprint
    assert str(um.keys(a=[1], other="x")) == "2 keys of a, and x"
    for bad in (lambda: um.keys(a=["x"], other="x"), lambda: um.keys(a=[1], other="1")):
        with pytest.raises(InvalidInput, match="among the keys"):
            bad()
    for bad in (lambda: um.keys(a=["x"], other=" "), lambda: um.keys({"a": ["x"]}, other=3)):
        with pytest.raises(InvalidInput, match=r"other is|not both"):
            bad()


def test_reports_with_a_rest_prove_themselves(tmp_path):
    """The name is in the report, and the keys are made again with it."""
    s = um.Session(flights(), "f", um.rows(at_most=4000), "replace", 10)
    answer = s.mean("stars", 0, 5, 1, by=um.keys(day=DAYS[:2], other="rest"))
    answer.report(tmp_path / "r.html")
    ((again, found),) = load_answers(tmp_path / "r.json")
    assert found
    assert again.value == answer.value
    assert list(again.value) == [*DAYS[:2], "rest"]


@pytest.mark.parametrize(("level", "budget"), [(um.GaussianDP("1/100"), um.GaussianDP(1)), (um.PureDP("1/100"), 1)])
def test_noise_beyond_64_bits_is_drawn_and_proved(level, budget, tmp_path):
    """2^60 steps of a person at a small level: Gaussian draws did not fit, which suspended the account for all."""
    table = pyarrow.table({"who": [1, 2], "town": ["a", "b"], "x": [0.5, 0.5]})
    s = um.Session(table, "d", um.people("who", rows_each=2**13), "add-remove", budget=budget)
    answer = s.sum("x", 0, 2**47, level, grid=1, by=um.keys(town=["a", "b"]))
    answer.report(tmp_path / "report.html")
    ((again, proved),) = load_answers(tmp_path / "report.json")
    assert proved
    assert dict(again.released) == dict(answer.released)
