"""How many rows people have, and which rows_each follows: against numpy, charged once, proved, from public bins."""

from dataclasses import replace

import numpy as np
import pyarrow
import pytest
from oracles.questions import QueryMaker, Setting
from scipy import stats

import utmost as um
from utmost.backends import opening
from utmost.errors import InvalidInput
from utmost.queries.questions.rows_per_person import numbers_of_rows
from utmost.queries.report.proof import load_answers
from utmost.queries.rows_suggestion import suggested
from utmost.space.integers import Lattice
from utmost.theory.vector.design.vectors import best_vector_noise

SIZES = np.array([1] * 900 + [2] * 300 + [4] * 50 + [20] * 40 + [300] * 3 + [1500])
TABLE = pyarrow.table({"who": np.repeat(np.arange(len(SIZES)), SIZES), "x": np.arange(SIZES.sum()) % 2})
ENDS = (
    1,
    2,
    3,
    4,
    5,
    6,
    8,
    10,
    12,
    15,
    20,
    25,
    30,
    40,
    50,
    60,
    80,
    100,
    120,
    150,
    200,
    250,
    300,
    400,
    500,
    600,
    800,
    1000,
)


def opened(budget=1000, neighbours="add-remove", **unit):
    return um.Session(TABLE, "visits", um.people("who", **{"rows_each": 2, **unit}), neighbours, budget=budget)


def people_by_bin(sizes, ends):
    edges = np.array([0, *ends, 10**9])
    return np.histogram(sizes, edges + 0.5)[0].tolist()


@pytest.mark.parametrize("truncate", ["table", "question"])
def test_people_are_counted_by_all_their_rows(truncate):
    """At a level at which noise is rare: no row is dropped first, and a condition counts rows that have it."""
    s = opened(truncate=truncate)
    assert list(s.rows_per_person(privacy=200).value.values()) == people_by_bin(SIZES, ENDS)
    some = np.bincount(TABLE["who"].to_numpy()[TABLE["x"].to_numpy() == 1])
    answer = s.rows_per_person("x = 1", 200, largest=8)
    assert list(answer.value) == ["1", "2", "3", "4", "5", "6", "7 to 8", "more than 8"]
    assert list(answer.value.values()) == people_by_bin(some[some > 0], (1, 2, 3, 4, 5, 6, 8))


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_a_person_moves_one_bin_whatever_rows_they_have(neighbours):
    setting = Setting(opening.open_table(TABLE), um.people("who", rows_each=2), neighbours)
    asked = QueryMaker(setting).rows_per_person(None, 1)
    read, whole = asked.reader(b"s"), np.array(people_by_bin(SIZES, ENDS))
    assert (asked.question.space.reach, asked.question.space.moves) == (
        1,
        "any" if neighbours == "add-remove" else "exchange",
    )
    for person in (0, 1000, 1240, len(SIZES) - 1):
        changed = TABLE.filter(pyarrow.array(TABLE["who"].to_numpy() != person))
        if neighbours == "replace":
            changed = pyarrow.concat_tables([changed, pyarrow.table({"who": [person] * 60, "x": [0] * 60})])
        moved = np.array(read(changed)) - whole
        assert np.abs(moved).sum() == (1 if neighbours == "add-remove" else 2)


def test_the_table_is_what_truncation_drops_and_noise_adds():
    """People in the middle of their bins: exact where a bin is one number of rows, within its width elsewhere."""
    s = opened()
    found = s.suggest_rows_each(200, asked_at=1)
    middles = np.select([SIZES <= 6, SIZES == 20, SIZES == 300], [SIZES, 18, 275.5], 1500.5)
    for row in found.table.to_pylist():
        k = row["rows_each"]
        assert row["dropped_rows"] == np.round(np.maximum(middles - k, 0).sum())
        assert row["dropped_up_to"] >= np.maximum(SIZES - k, 0).sum()
        assert row["noise"] == pytest.approx(
            best_vector_noise(Lattice(1, "any", k), um.PureDP(1), "absolute").mean("absolute")
        )
        assert row["together"] == row["dropped_rows"] + row["noise"]
    assert found.table["rows_each"].to_pylist() == list(ENDS)
    assert found.rows_each == min(found.table.to_pylist(), key=lambda row: row["together"])["rows_each"]
    assert found.rows == np.round(middles.sum())
    assert f"suggested: rows_each={found.rows_each}" in str(found)


@pytest.mark.parametrize("level", [um.PureDP(1), um.PureDP("0.1"), um.GaussianDP("0.5")], ids=str)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_dropped_rows_are_near_the_truth_and_below_their_upper_end(level, neighbours):
    """At sizes as skewed as real ones: a few percent off, and in 95 of 100 draws below the upper end."""
    sizes = np.minimum(np.random.default_rng(5).zipf(1.5, 4000), 700)
    table = pyarrow.table({"who": np.repeat(np.arange(len(sizes)), sizes)})
    s = um.Session(table, "visits", um.people("who", rows_each=2), neighbours, budget=um.GaussianDP(100))
    if not isinstance(level, um.GaussianDP):
        s = um.Session(table, "visits", um.people("who", rows_each=2), neighbours, budget=1000)
    made = QueryMaker(Setting(opening.open_table(table), um.people("who", rows_each=2), neighbours)).rows_per_person(
        None, level
    )
    point, answer = made.private_point(b"s"), s.rows_per_person(privacy=level)
    candidates, draws = (1, 10, 100, 500), 60
    truths = np.array([np.maximum(sizes - k, 0).sum() for k in candidates])
    below, estimates = np.zeros(len(candidates)), []
    for _ in range(draws):
        drawn = made.question.draw(point)
        rows = {row["rows_each"]: row for row in suggested(replace(answer, released=drawn), level).table.to_pylist()}
        below += [rows[k]["dropped_up_to"] >= truth for k, truth in zip(candidates, truths, strict=True)]
        estimates.append([rows[k]["dropped_rows"] for k in candidates])
    assert (below >= stats.binom.ppf(1e-7, draws, 0.95)).all(), below
    assert np.median(estimates, axis=0)[:3] == pytest.approx(truths[:3], rel=0.05 if level.kind != "pure" else 0.2)


def test_few_heavy_people_that_noise_hides_do_not_decide():
    """Five people with up to 500 rows are within noise of none at epsilon 1/2; thirty are not, also in five bins."""
    answer = opened(budget=1).rows_per_person(privacy=0.5)
    level = um.PureDP(0.5)

    def suggests(*heavy):
        counts = [900, 300, 2, 50, -3, 40, -4, 30, 35, 30, *[0] * 13, *heavy]
        drawn = dict(zip(answer.question.names, counts, strict=True))
        return suggested(replace(answer, released=drawn), level).rows_each

    assert len(answer.question.names) == 29
    assert all(suggests(0, heavy, 0, 0, 0, 0) <= 15 for heavy in (-5, 0, 5))
    assert suggests(0, 30, 0, 0, 0, 0) >= 250
    assert suggests(6, 6, 6, 6, 6, 0) >= 250


def test_it_is_charged_once_and_proves_itself(tmp_path):
    s = opened(budget=2)
    found = s.suggest_rows_each(1)
    assert str(s.left) == "epsilon 1 of 2"
    assert s.suggest_rows_each(1, asked_at=0.1).answer.recorded  # another level of later answers costs nothing
    assert str(s.left) == "epsilon 1 of 2"
    ((again, verified),) = load_answers(found.answer.report(tmp_path / "a.html").with_suffix(".json"))
    assert verified
    assert again.value == found.answer.value
    assert s.plan.rows_per_person(privacy=0.5).verify()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "privacy=0.1: there is no default"),
        ({"privacy": 0}, "privacy is 0"),
        ({"privacy": 1, "largest": 0}, "largest"),
        ({"privacy": 1, "largest": 2.5}, "largest"),
        ({"privacy": 1, "asked_at": 0}, "privacy is 0"),
        ({"privacy": 1, "where": "nothing > 1"}, "nothing"),
    ],
)
def test_what_cannot_be_asked_spends_nothing(given, message):
    s = opened(budget=2)
    with pytest.raises(InvalidInput, match=message):
        s.suggest_rows_each(**given)
    assert str(s.left) == "epsilon 2 of 2"


def test_rows_that_are_units_are_refused():
    s = um.Session(TABLE, "visits", um.rows(), "add-remove", budget=2)
    with pytest.raises(InvalidInput, match=r"um.people\(...\)"):
        s.suggest_rows_each(1)


def test_bins_end_at_public_numbers():
    assert numbers_of_rows(1000) == ENDS
    assert numbers_of_rows(1) == (1,)
    for largest in (1, 2, 4, 7, 10, 99, 10**6):
        numbers = numbers_of_rows(largest)
        assert numbers[-1] == largest
        assert list(numbers) == sorted(set(numbers))
