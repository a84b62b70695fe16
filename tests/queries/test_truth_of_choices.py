"""What is said of names is true: of yes or no, of winners and of the most frequent.

A plan is an average over all tables that are alike under the prior, and how likely an answer is right rests on the
prior, too: so tables are drawn from it. What is said for every table is tested at one.
"""

import numpy as np
import pyarrow
import pytest
from oracles.questions import QueryMaker, Setting
from oracles.skewed import SECRET, SIZES, asking, rows
from oracles.true_answers import CANDIDATES, FOUND_LEVEL, LEVEL, late
from scipy import stats

import utmost as um
from utmost.backends import opening
from utmost.queries.units_per_key import KeyTotals

FAILS = 1e-7
SMALL = um.rows(at_most=40)
TIERS = um.rows(at_most=40, tiers={"region = 'few'": ("0.2", 10)}).within(um.PureDP("0.5"))
COUNTRIES = um.keys(region=["few", "many"])


def close(times, draws, chance):
    """Whether something happened about as often as was said: chance is given what happens once in 10^7 times."""
    return stats.binomtest(times, draws, chance).pvalue > FAILS


def uniform_tallies(space, draws, rng):
    """Tallies of at most so many rows, all alike: between the bars of stars and bars."""
    bars = np.array([np.sort(rng.choice(space.rows + space.cells, space.cells, replace=False)) for _ in range(draws)])
    return np.diff(bars, axis=1, prepend=-1) - 1


YES_OR_NO = {
    "majority": lambda a, e: a.majority("late", e),
    "threshold": lambda a, e: a.threshold("late", 12, e),
}


@pytest.mark.parametrize("draws", [2000, pytest.param(50_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("unit", [SMALL, um.people("person", rows_each=2, at_most=20)], ids=str)
@pytest.mark.parametrize("name", YES_OR_NO)
def test_yes_or_no_is_right_as_often_as_is_said(name, unit, draws):
    """On average over all integers, and for each answer of the times that it is given; never worse than the worst."""
    question = YES_OR_NO[name](asking(unit), LEVEL).question
    first, last, border = question.space.first, question.space.last, question.selection.border
    points = np.random.default_rng(1).integers(first, last + 1, draws).tolist()
    said = np.array([question.value(question.draw(point)) for point in points])
    right = said == (np.array(points) >= border)
    before = question.before()
    assert close(int((~right).sum()), draws, before.average)
    for answer in (True, False):
        known = question.after_with_condition({"yes": answer})
        assert close(int(right[said == answer].sum()), int((said == answer).sum()), known.probability_right)
        assert known.condition
    hardest = [question.value(question.draw(border)) for _ in range(500)]
    assert hardest.count(False) <= stats.binom.ppf(1 - FAILS, 500, before.worst)


@pytest.mark.parametrize("draws", [1000, pytest.param(20_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", YES_OR_NO)
def test_yes_or_no_of_tiers_is_right_as_often_as_is_said(name, draws):
    """Every count of every tier is taken as equally likely."""
    question = YES_OR_NO[name](asking(TIERS), LEVEL).question
    rng = np.random.default_rng(2)
    points = [
        tuple(int(rng.integers(line.first, line.last + 1)) for line in question.space.lines) for _ in range(draws)
    ]
    said = np.array([question.value(question.draw(point)) for point in points])
    right = said == (np.array([sum(point) for point in points]) >= question.selection.border)
    assert close(int((~right).sum()), draws, question.before().average)
    for answer in (True, False):
        chance = question.after_with_condition({"yes": answer}).probability_right
        assert close(int(right[said == answer].sum()), int((said == answer).sum()), chance)


@pytest.mark.parametrize("name", YES_OR_NO)
def test_yes_or_no_by_keys_is_right_in_each_group(name):
    """Groups are alike: each errs as often as one would, and the chance that is said is of the worst of them."""
    asked = {
        "majority": lambda a: a.majority("late", 1, by=COUNTRIES),
        "threshold": lambda a: a.threshold("late", 12, 1, by=COUNTRIES),
    }[name]
    question, draws = asked(asking(SMALL)).question, 1500
    space = question.space
    points = np.random.default_rng(3).integers(space.first, space.last + 1, (draws, 2))
    said = np.array([list(question.value(question.draw(point)).values()) for point in points])
    right = said == (points >= question.selection.border)
    assert close(int((~right).sum()), 2 * draws, question.before().average)
    table = question.table({"yes": [True, False]}).to_pylist()
    for row in table:
        times = said == row["value"]
        assert close(int(right[times].sum()), int(times.sum()), row["right"])


@pytest.mark.parametrize("draws", [2000, pytest.param(40_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("loss", ["zero-one", "shortfall"])
def test_winners_are_right_as_often_as_is_said(loss, draws):
    """Of all tallies of at most 40 rows: the planned loss, and the chance that a named one won."""
    question = asking(SMALL).plurality("stops", [0, 1, 2], LEVEL, loss=loss).question
    before = question.before()
    tallies = uniform_tallies(question.space, draws, np.random.default_rng(4))
    named = np.array([question.draw(tally.tolist())["place"] for tally in tallies])
    behind = tallies.max(axis=1) - tallies[np.arange(draws), named]
    right = named == tallies.argmax(axis=1)
    losses = (~right).astype(float) if loss == "zero-one" else behind.astype(float)
    spare = 5 * losses.std() / draws**0.5 + 5 * before.standard_error
    assert abs(losses.mean() - before.average) <= 0.1 * before.average + spare
    for place in range(3):
        known = question.after_with_condition({"place": place})
        times = named == place
        assert known.standard_error == 0
        assert close(int(right[times].sum()), int(times.sum()), known.probability_right)


@pytest.mark.parametrize("loss", ["zero-one", "shortfall"])
def test_a_named_winner_is_behind_by_fewer_rows_than_is_said(loss):
    """At this table, whatever it holds: in 95 % of draws. Four answers of which each has about 3,200 of 12,865 rows."""
    made = asking(um.rows(at_most=20_000)).plurality("stops", [0, 1, 2, 3], LEVEL, loss=loss)
    question, point = made.question, made.private_point(SECRET)
    tally = np.bincount(rows()["stops"], minlength=4)
    assert point == tally.tolist()
    behind, within = [], question.after_with_condition({"place": 0}).rows_within
    for _ in range(200):
        behind.append(int(tally.max() - tally[question.draw(point)["place"]]))
    if within is not None:
        assert sum(rows_behind < within for rows_behind in behind) >= stats.binom.ppf(FAILS, 200, 0.95)
    assert loss == "zero-one" or within is not None


QUANTILE_LOSSES = {
    "zero-one": lambda named, true, off: named != true,
    "absolute": lambda named, true, off: np.abs(np.array(CANDIDATES)[named] - np.array(CANDIDATES)[true]),
    "rank": lambda named, true, off: off,
}


@pytest.mark.parametrize(
    ("loss", "draws"),
    [("absolute", 400), *(pytest.param(loss, 20_000, marks=pytest.mark.long) for loss in ("absolute", "zero-one"))],
)
def test_a_median_named_for_a_loss_costs_what_was_planned(loss, draws):
    """Over all tallies alike; given the name, the median lies in what is likely as often as is said."""
    few = CANDIDATES[:3]
    question = asking(um.rows(at_most=8)).quantile("amount", 0.5, few, LEVEL, loss=loss).question
    tallies = uniform_tallies(question.space, draws, np.random.default_rng(6))
    named = np.array([question.draw(tally.tolist())["place"] for tally in tallies])
    sums = tallies.cumsum(axis=1)
    true = (2 * sums >= sums[:, -1:]).argmax(axis=1)
    cost = QUANTILE_LOSSES[loss](named, true, None).astype(float)
    before = question.before()
    spare = 5 * cost.std() / draws**0.5 + 5 * before.standard_error
    assert abs(cost.mean() - before.average) <= 0.1 * before.average + spare
    for place in range(3):
        known, times = question.after_with_condition({"place": place}), named == place
        if known.probability_right is not None:
            assert close(int((true[times] == place).sum()), int(times.sum()), known.probability_right)
        low, high = known.likely
        held = [low <= few[at] <= high for at in true[times]]
        assert sum(held) >= stats.binom.ppf(FAILS, len(held), 0.94)


@pytest.mark.parametrize("draws", [300, pytest.param(4000, marks=pytest.mark.long)])
@pytest.mark.parametrize("k", [1, 3])
def test_the_most_frequent_of_a_list_are_found_as_often_as_planned(k, draws):
    """All tallies alike: the expected share of the true k that is missed."""
    question = asking(um.rows(at_most=2000)).top("row", k, list(range(12)), LEVEL).question
    tallies = uniform_tallies(question.space, draws, np.random.default_rng(7))
    missed = []
    for tally in tallies:
        true = set(np.argsort(-tally, kind="stable")[:k].tolist())
        missed.append(1 - len(true & set(question.draw(tally.tolist())["places"])) / k)
    before = question.before()
    spare = 5 * np.std(missed) / draws**0.5 + 5 * before.standard_error
    assert abs(np.mean(missed) - before.average) <= 0.1 * before.average + spare


@pytest.mark.parametrize("draws", [20, pytest.param(400, marks=pytest.mark.long)])
def test_the_most_frequent_of_found_keys_are_found_as_often_as_planned(draws):
    """If the i-th of 2000 keys has a share 1/i of the largest, as the plan says."""
    question = asking(um.rows(at_most=20_000)).top("group", 50, privacy=FOUND_LEVEL).question
    sizes = 1 / np.arange(1, 2001)
    holders = np.floor(20_000 * sizes / sizes.sum()).astype(np.int64)
    keys = pyarrow.table({"group": [f"{i:04d}" for i in range(2000)]})
    missed = []
    for _ in range(draws):
        released = question.draw(KeyTotals(keys, holders, np.zeros((2000, 0), dtype=np.int64)))
        missed.append(1 - sum(int(key) < 50 for key in question.value(released)) / 50)
    before = question.before()
    assert f"expected recall {1 - before.average:.4g}" in before.holds
    spare = 5 * np.std(missed) / draws**0.5 + 5 * before.standard_error
    assert abs(np.mean(missed) - before.average) <= 0.1 * before.average + spare


@pytest.mark.parametrize("draws", [200, pytest.param(5000, marks=pytest.mark.long)])
def test_keys_are_shown_as_often_as_the_plan_says(draws):
    """A key that n rows hold, for every n of the curve up to where it is shown for sure."""
    question = asking(um.rows()).keys("group", FOUND_LEVEL).question
    curve = question.curve
    holders = np.array(curve["holders"])
    keys = pyarrow.table({"group": [f"{n:04d}" for n in holders]})
    times = dict.fromkeys(keys["group"].to_pylist(), 0)
    for _ in range(draws):
        released = question.draw(KeyTotals(keys, holders, np.zeros((len(holders), 0), dtype=np.int64)))
        for key in question.value(released):
            times[key] += 1
    for shown, chance in zip(times.values(), curve["shown with probability"], strict=True):
        assert close(shown, draws, min(chance, 1.0))


def test_large_tables_are_answered_right():
    """Of 12,865 rows all races are decided, whichever way they are asked."""
    unit, table = um.rows(at_most=20_000), rows()
    made = asking(unit)
    answers = [
        (made.majority("late", LEVEL), 2 * late(table) > len(table)),
        (made.threshold("late", 1000, LEVEL), late(table) >= 1000),
        (made.plurality("group", list(SIZES), LEVEL), "large"),
    ]
    for asked, truth in answers:
        assert asked.question.value(asked.question.draw(asked.private_point(SECRET))) == truth
    top = made.top("group", 4, list(SIZES), LEVEL)
    found = top.question.value(top.question.draw(top.private_point(SECRET)))
    assert found == sorted(SIZES, key=lambda name: -SIZES[name])


def test_named_towns_of_people_hold_in_any_table():
    """By found keys of a small table of its own: names that are shown are there."""
    towns = pyarrow.table({"town": ["Ash"] * 60 + ["Briar"] * 50 + ["own"]})
    made = QueryMaker(Setting(opening.open_table(towns), um.rows(), "add-remove")).keys("town", FOUND_LEVEL)
    point = made.private_point(SECRET)
    for _ in range(50):
        assert set(made.question.value(made.question.draw(point))) == {"Ash", "Briar"}
