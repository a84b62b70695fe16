"""Variances: the right sums, moves of any neighbours as declared, and reports that prove themselves."""

import math

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
from utmost.errors import InvalidInput
from utmost.queries.report.proof import load_answers

SECRET = b"s" * 32
KEYS = um.keys(ok=[True, False])


def asked(listed, unit, neighbours, **more):
    ask = QueryMaker(Setting(opening.open_table(as_table(listed)), unit, neighbours))
    return ask.variance("x", -1, 2, 1, grid="0.5", where="n < 5 OR n IS NULL", **more)


def moves(space, change):
    """How many moves of the space's kind a change takes."""
    up, down = int(change[change > 0].sum()), int(-change[change < 0].sum())
    return up + down if space.moves == "any" else max(up, down)


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_neighbours_move_the_sums_as_declared(data):
    """Rows or people, replaced or coming and going: never more moves than the noise is made for."""
    unit, neighbours = data.draw(st.sampled_from(UNITS)), data.draw(st.sampled_from(["replace", "add-remove"]))
    more = data.draw(st.sampled_from([{}, {"by": KEYS}]))
    listed = data.draw(tables)
    other = neighbour_of(listed, unit, neighbours, data)
    first, second = (asked(rows, unit, neighbours, **more) for rows in (listed, other))
    space = first.question.space
    points = [np.asarray(each.private_point(SECRET)) for each in (first, second)]
    assert moves(space, points[1] - points[0]) <= space.reach == 36 * unit.rows_each
    assert points[0].min() >= space.lower
    assert points[0].max() <= space.upper


def test_the_declared_moves_are_made():
    """One row from end to end of the range; a row that comes."""
    for neighbours, before in (("replace", [("a", -9.0, 1, True)]), ("add-remove", [])):
        points = [
            np.array(asked(rows, um.rows(at_most=9), neighbours).private_point(SECRET))
            for rows in (before, [("a", 9.0, 1, True)])
        ]
        space = asked(before, um.rows(at_most=9), neighbours).question.space
        assert moves(space, points[1] - points[0]) == space.reach


@settings(max_examples=12, deadline=None)
@given(tables)
def test_without_noise_it_is_the_variance(listed):
    """Of the sums themselves: the variance of the clamped and rounded values, by a loop over the rows."""
    values = [
        math.floor(min(max(x, -1.0), 2.0) * 2 + 0.5) / 2
        for _, x, n, _ in listed
        if x is not None and math.isfinite(x) and (n is None or n < 5)
    ]
    each = asked(listed, um.rows(at_most=20), "add-remove")
    found = each.question.value(each.question.released(each.private_point(SECRET)))
    truth = np.var(values) if values else 0.75  # nobody: as if spread evenly, the square of 3 by 12
    assert found["variance"] == pytest.approx(truth, abs=1e-12)
    assert found["standard deviation"] == pytest.approx(math.sqrt(truth), abs=1e-6)


def people():
    rng = np.random.default_rng(5)
    return pyarrow.table(
        {"who": rng.integers(0, 900, 2000), "town": rng.choice(["a", "b", "c"], 2000), "pay": rng.gamma(4, 9, 2000)}
    )


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_variances_by_key_are_those_of_the_group_by(neighbours):
    """At a level that hides next to nothing, against DuckDB's own; an absent key is known to be unknown."""
    table = people()
    s = um.Session(table, "pay", um.rows(at_most=3000), neighbours, budget=10**6)
    answer = s.variance("pay", 0, 200, 500, grid="0.25", by=um.keys(town=["a", "b", "nowhere"]))
    connection = duckdb.connect()
    connection.register("people", table)
    query = "SELECT town, var_pop(floor(least(pay, 200) * 4 + 0.5) / 4) FROM people GROUP BY town"
    wanted = dict(connection.sql(query).fetchall())
    for town in ("a", "b"):
        assert answer.value[town] == pytest.approx(wanted[town], rel=5e-3)
        low, high = answer.intervals[town]
        spread = (
            high**0.5 - low**0.5
        ) - 0.25  # the interval holds the variance before rounding, half a step to each side
        assert low < answer.value[town] < high
        assert spread < 0.01 * low**0.5
    assert answer.intervals["nowhere"] == (0.0, 10_000.0)
    assert answer.verify()


@pytest.mark.parametrize("by", [None, um.keys(town=["a", "b", "c"])])
@pytest.mark.parametrize(
    ("level", "budget"), [(1, 5), (um.GaussianDP(1), um.GaussianDP(2)), (um.ZCDP("0.5"), um.ZCDP(1))]
)
def test_reports_prove_themselves(by, level, budget, tmp_path):
    """A report holds the sums and their noise; another process makes the same numbers of it, and refuses others."""
    unit = um.people("who", rows_each=2, at_most=1000)
    answer = um.Session(people(), "pay", unit, "replace", budget).variance("pay", 0, 100, level, by=by)
    answer.report(tmp_path / "page.html")
    ((again, found),) = load_answers(tmp_path / "page.json")
    assert found
    assert again.value == answer.value
    text = (tmp_path / "page.json").read_text()
    (tmp_path / "other.json").write_text(text.replace('"upper": "100"', '"upper": "90"'))
    assert not load_answers(tmp_path / "other.json")[0][1]


def test_words_and_accuracy():
    """What is asked, what it is divided by, and that it beats a count, a sum and a sum of squares."""
    s = um.Session(people(), "pay", um.rows(at_most=3000), "add-remove", budget=5)
    answer = s.variance("pay", 0, 100, 1, where="town = 'a'")
    assert (
        answer.question.words
        == "What is the variance of pay, values cut to 0..100 and rounded to 1e-05, where town = 'a'?"
    )
    assert "divided by how many there are" in str(answer)
    losses = {name: by["absolute"] for name, by in answer.question.losses.items()}
    assert 1.8 * losses["Utmost"] < losses["Laplace"] < losses["Gaussian, delta = 1e-06"]
    assert answer.interval is None
    low, high = answer.intervals["standard deviation"]
    assert low <= answer.value["standard deviation"] <= high


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_the_stated_error_is_the_error(neighbours):
    """The least expected error, of values spread evenly, to first order, against draws of the mechanism."""
    table = pyarrow.table({"x": [u % 101 for u in range(10_100)]})
    s = um.Session(table, "x", um.rows(at_most=10_100), neighbours, budget=100)
    asked = s.plan.variance("x", 0, 100, 0.5, expected_rows=10_100).question
    u = np.arange(10_100) % 101
    point = [int(((100 - u) ** 2).sum()), int((2 * u * (100 - u)).sum()), int((u**2).sum())]
    drawn = asked.solution.mechanism.sample_many(np.tile(point, (4000, 1)))
    errors = [abs(asked.value(asked.released(each))["variance"] - u.var()) for each in drawn.tolist()]
    assert np.mean(errors) == pytest.approx(asked.before().least, rel=0.08)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("x", 3, 3), "the variance is 0; give a wider range"),
        (("x", 0, 10**9), "at most 2\\^24; choose a coarser grid, such as 100"),
        (("x", 0, "0.25"), "not a multiple of the grid"),
        (("y", 0, 1), "there is no column 'y'"),
    ],
)
def test_wrong_ranges_are_refused_before_the_spend(arguments, said):
    """Each by an error with what to change; nothing is charged."""
    s = um.Session(pyarrow.table({"x": [1.0]}), "x", um.rows(at_most=9), "add-remove", budget=1)
    with pytest.raises(InvalidInput, match=said):
        s.variance(*arguments, privacy=1, grid=1)
    with pytest.raises(InvalidInput, match="'absolute', 'squared'"):
        s.variance("x", 0, 1, 1, loss="zero-one")
    assert not s.account.entries()


@pytest.mark.parametrize("epsilon", [1e-6, 1e-4])
def test_noise_beyond_64_bits(epsilon):
    """Noise wider than 2^63 steps is described without a warning, and drawn: a failure would suspend the account."""
    table = pyarrow.table({"x": [1.0, 2.0]})
    s = um.Session(table, "d", um.rows(10**5), "replace", budget=1)
    plan = s.plan.variance("x", 0, 100, epsilon)
    noise = plan.question.solution.mechanism
    assert noise.half_width(0.95) >= 2**63 or epsilon > 1e-6
    assert all(isinstance(z, int) for _ in range(20) for z in noise.sample((0, 0, 0)))
    assert plan.accuracy


def test_moves_beyond_64_bits_are_hidden_by_noise_of_single_steps():
    """Squares of 10^6 rows of a person move a sum by more than 2^62 steps, where noise in steps is not defined."""
    s = um.Session(pyarrow.table({"who": [1], "x": [1.0]}), "d", um.people("who", 10**6), "add-remove", budget=1)
    noise = s.plan.variance("x", 0, 100, 1).question.solution.mechanism
    assert all(isinstance(z, int) for z in noise.sample((0, 0, 0)))
