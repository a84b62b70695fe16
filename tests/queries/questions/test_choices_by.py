"""Majorities, thresholds and quantiles by keys: against DuckDB, counted steps, and products of all groups' laws."""

import itertools
import json
import math
from fractions import Fraction
from functools import lru_cache

import duckdb
import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.questions import QueryMaker, Setting
from oracles.tables import UNITS, as_table, neighbour_of, tables

import utmost as um
from utmost.backends import opening
from utmost.errors import InvalidInput, UnsupportedLevel
from utmost.queries.questions.choices_by import level_of_step
from utmost.queries.report.proof import load_answers

KEYS = um.keys(town=["Ash", "Briar", "Nowhere"], other="rest")
SMALL = um.keys(ok=[True, False], n=[0, 1, -5], other="rest")


def people(many=600, seed=0):
    """Made-up people with nulls everywhere, towns that are no key, and up to a few rows each."""
    rng = np.random.default_rng(seed)
    return pyarrow.table(
        {
            "who": [None if x == 0 else f"p{x}" for x in rng.integers(0, 400, many).tolist()],
            "town": rng.choice(np.array(["Ash", "Briar", "Elm", None], dtype=object), many).tolist(),
            "age": [None if x > 99 else x for x in rng.integers(0, 110, many).tolist()],
        }
    )


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("unit", [um.rows(at_most=700), um.people("who", rows_each=9, at_most=500)])
def test_without_noise_it_is_what_duckdb_says(unit, neighbours):
    """Nulls do not vote and have no quantile; unlisted towns are the rest; no row of a person is left out."""
    table = people()
    with duckdb.connect() as connection:
        connection.register("t", table)
        known = "true" if unit.id is None else "who IS NOT NULL"
        found = connection.execute(
            "SELECT CASE WHEN town IN ('Ash', 'Briar') THEN town ELSE 'rest' END AS town, "
            "count(*) FILTER (age > 50) > count(*) FILTER (NOT age > 50), count(*) FILTER (age > 30) >= 100, "
            f"quantile_disc(10 * least(round(age / 10 - 1e-9), 9), 0.5) FROM t WHERE {known} GROUP BY ALL"
        ).fetchall()
    s = um.Session(table, "t", unit, neighbours, 10**6)
    yes, many, medians = ({town: row[i] for town, *row in found} for i in range(3))
    assert s.majority("age > 50", 500, by=KEYS).value == {"Nowhere": False, **yes}
    assert s.threshold("age > 30", 100, 500, by=KEYS).value == {"Nowhere": False, **many}
    assert s.quantile("age", 0.5, range(0, 100, 10), 500, by=KEYS).value == {"Nowhere": 0, **medians}


def test_a_person_counts_in_one_group_where_people_are_counted():
    """Fifty rows in fifty groups: one of them reaches one person."""
    table = pyarrow.table({"who": ["a"] * 50, "g": list(range(50))})
    s = um.Session(table, "f", um.people("who", rows_each=3, at_most=10), "add-remove", 10**6)
    answer = s.threshold(None, 1, 500, of="people", by=um.keys(g=range(50)))
    assert sum(answer.value.values()) == 1
    assert "one group" in str(answer)
    assert sum(s.threshold(None, 1, 500, by=um.keys(g=range(50))).value.values()) == 3


# ---- how many steps one neighbour makes ----


@lru_cache
def asked(kind, which, neighbours):
    """A question, and its private point as a function of the table."""
    found = made(kind, QueryMaker(Setting(opening.open_table(as_table([])), UNITS[which], neighbours)))
    return found.question, found.reader(b"s" * 32)


def made(kind, ask):
    if kind == "majority":
        return ask.majority("x > 0", 1, by=SMALL)
    if kind == "quantile":
        return ask.quantile("x", 0.5, [-1, 0, 1, 2], 1, by=SMALL)
    return ask.threshold("x > 0 OR x IS NULL", 1, 1, by=SMALL, of="people" if kind == "people" else "rows")


def check_steps(data):
    which, neighbours = data.draw(st.integers(0, len(UNITS) - 1)), data.draw(st.sampled_from(["replace", "add-remove"]))
    unit = UNITS[which]
    kind = data.draw(st.sampled_from(["majority", "threshold", "quantile"] + ["people"] * (unit.id is not None)))
    listed = data.draw(tables)
    other = neighbour_of(listed, unit, neighbours, data)
    question, point = asked(kind, which, neighbours)
    points = [np.asarray(point(as_table(found))) for found in (listed, other)]
    assert np.abs(points[0] - points[1]).sum() <= question.table_scope.steps
    assert len(points[0]) == SMALL.size == 12


@given(st.data())
@settings(max_examples=8, deadline=None)
def test_one_neighbour_makes_no_more_steps(data):
    """For any table, unit and neighbours: rows that come into groups or go are at most those declared."""
    check_steps(data)


@pytest.mark.long
@given(st.data())
@settings(max_examples=2000, deadline=None)
def test_thousands_of_neighbours_make_no_more_steps(data):
    """The same, many times."""
    check_steps(data)


# ---- all steps together keep the level ----


def law_of(question, points):
    """The probability of every answer for all groups: a product, since their draws are their own."""
    yes = question.solution.mechanism.yes
    found = []
    for said in itertools.product([False, True], repeat=len(points)):
        chances = [yes[question.solution.mechanism.block(x)] for x in points]
        found.append(math.prod(p if each else 1 - p for p, each in zip(chances, said, strict=True)))
    return np.array(found)


@pytest.mark.parametrize("level", [um.PureDP(1), um.PureDP.from_ratio(3), um.ApproxDP(1, 0.05), um.GaussianDP(1)])
@pytest.mark.parametrize(
    ("rows_each", "neighbours"), [(1, "add-remove"), (1, "replace"), (3, "add-remove"), (2, "replace")]
)
def test_all_steps_together_keep_the_level(level, rows_each, neighbours):
    """Every way of making the steps in three groups, every event of Neyman and Pearson."""
    table = pyarrow.table({"who": ["a"], "g": [1], "x": [1]})
    unit = um.rows(at_most=8) if rows_each == 1 else um.people("who", rows_each, 8 // rows_each)
    asking = QueryMaker(Setting(opening.open_table(table), unit, neighbours))
    question = asking.threshold("x > 0", 3, level, by=um.keys(g=[1, 2, 3])).question
    tight = 0.0
    for before in itertools.product([2, 3], repeat=3):
        for change in itertools.product(range(-question.table_scope.steps, question.table_scope.steps + 1), repeat=3):
            after = [a + b for a, b in zip(before, change, strict=True)]
            if not 0 < np.abs(change).sum() <= question.table_scope.steps or min(after) < 0:
                continue
            p, q = law_of(question, before), law_of(question, after)
            order = np.argsort(-q / np.maximum(p, 1e-300))
            here, there = np.cumsum(p[order])[:-1], np.cumsum(q[order])[:-1]
            assert (there <= level.upper(np.clip(here, 0, 1)) + 1e-9).all()
            tight = max(tight, float((there / level.upper(np.clip(here, 0, 1))).max()))
    assert tight > (0.85 if question.table_scope.steps > 1 else 0.999)


def test_shares_of_levels():
    """Exact where they can be, and never more than their part."""
    assert level_of_step(um.PureDP(1), 3) == um.PureDP(Fraction(1, 3))
    assert level_of_step(um.GaussianDP(2), 4) == um.GaussianDP(Fraction(1, 2))
    assert level_of_step(um.ZCDP(1), 1) == um.ZCDP(1)
    found = level_of_step(um.ApproxDP(1, 1e-6), 2)
    assert found.epsilon == Fraction(1, 2)
    assert float(found.delta) * (1 + math.exp(0.5)) == pytest.approx(1e-6)
    assert float(found.delta) * (1 + math.exp(0.5)) <= 1e-6
    assert level_of_step(um.ApproxDP(1000, 1e-6), 2).delta == 0
    assert level_of_step(um.PureDP(math.inf), 2) == um.PureDP(math.inf)
    with pytest.raises(UnsupportedLevel, match="2 steps"):
        level_of_step(um.ZCDP(1), 2)


# ---- recorded, shown, proved ----


@pytest.mark.parametrize("unit", [um.rows(at_most=50), um.people("who", rows_each=2, at_most=30)])
@pytest.mark.parametrize("kind", ["majority", "threshold", "quantile", "ranks"])
def test_reports_prove_themselves(kind, unit, tmp_path):
    """And forged ones do not: another answer, another level of a step."""
    s = um.Session(people(40), "t", unit, "replace", 10)
    ask = {
        "majority": lambda s: s.majority("age > 50", 1, by=KEYS),
        "threshold": lambda s: s.threshold(None, 10, 1, by=KEYS),
        "quantile": lambda s: s.quantile("age", 0.5, [0, 50, 100], 1, by=KEYS, loss="absolute"),
        "ranks": lambda s: s.quantile("age", 0.5, [0, 50, 100], 1, by=KEYS),
    }[kind]
    assert "by town" in str(ask(s.plan))
    answer = ask(s)
    assert ask(s).recorded
    page = answer.report(tmp_path / "r.html").read_text()
    assert "steps in all groups, which together keep 1-DP" in page
    ((again, found),) = load_answers(tmp_path / "r.json")
    assert found
    assert again.value == answer.value
    assert again.table.equals(answer.table)
    assert answer.table.column_names[:2] == ["town", "value"]
    content = json.loads((tmp_path / "r.json").read_text())
    name = next(iter(content["released"]))
    for forge in ("released", "unit", "short", "kind"):
        forged = json.loads(json.dumps(content))
        if forge == "released":
            old = forged["released"][name][0]
            others = {"quantile": lambda place: (place + 1) % 3, "ranks": lambda at: [[(at[0][0] + 1) % 3, 0, 2]]}
            forged["released"][name][0] = others.get(kind, lambda yes: not yes)(old)
        elif forge == "unit":
            forged["neighbours"] = "add-remove"
        elif forge == "short":
            forged["released"][name].pop()
        else:
            forged["released"][name][0] = 7
        (tmp_path / "forged.json").write_text(json.dumps(forged))
        try:
            ((_, found),) = load_answers(tmp_path / "forged.json")
        except um.errors.BadFile:
            continue
        assert not found, forge


def test_an_empty_table_gets_draws_of_the_law():
    """Every group has a draw of its own: yes as often as the mechanism says at 0."""
    table = pyarrow.table({"g": pyarrow.array([], pyarrow.int64()), "x": pyarrow.array([], pyarrow.int64())})
    s = um.Session(table, "t", um.rows(at_most=9), "add-remove", 1)
    answer = s.threshold("x > 0", 1, 1, by=um.keys(g=range(5000)))
    yes = answer.solution.mechanism.yes[answer.solution.mechanism.block(0)]
    assert abs(np.mean(list(answer.value.values())) - yes) < 6 * math.sqrt(yes * (1 - yes) / 5000)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda s: s.majority(None, 1, by=KEYS), "needs a condition"),
        (lambda s: s.majority("age > 5", 1, by=["Ash"]), "um.keys"),
        (lambda s: s.threshold(None, 0, 1, by=KEYS), "at_least is 0"),
        (lambda s: s.quantile("age", 2, [0, 50], 1, by=KEYS), "q is 2"),
        (lambda s: s.quantile("town", 0.5, [0, 50], 1, by=KEYS), "not numbers"),
        (
            lambda s: s.quantile("age", 0.5, range(200), 1, by=um.keys(age=range(10**4))),
            "10,000 keys with 200 candidates",
        ),
        (lambda s: s.threshold(None, 5, 1, by=um.keys(town=[1])), "'town' holds string"),
        (lambda s: s.majority("age > 5", um.ZCDP(1), by=KEYS), "ZCDP|zCDP"),
    ],
)
def test_bad_questions_are_refused_before_the_spend(ask, said):
    """Nothing is charged."""
    s = um.Session(people(10), "t", um.rows(at_most=99), "replace", 10)
    for target in (s, s.plan):
        with pytest.raises(um.errors.UtmostError, match=said) as raised:
            ask(target)
        assert isinstance(raised.value, InvalidInput | UnsupportedLevel)
    assert str(s.left) == "epsilon 10 of 10"
