"""Every interval is true of the table: of rows as they are, not of the integers that are released.

Truths are computed by numpy from the rows of `oracles.skewed` that the answer says it is about. Plans are in
`test_truth_of_plans`, choices in `test_truth_of_choices`, sums of parts and the examples that once were false in
`test_truth_of_parts`.
"""

from functools import partial
from itertools import pairwise, product

import numpy as np
import pyarrow
import pytest
from oracles.questions import QueryMaker, Setting, sort_of, sorts
from oracles.skewed import (
    GROUPS,
    SECRET,
    asking,
    check_intervals,
    inverted_cdf,
    rows,
    used_rows,
)
from oracles.true_answers import CANDIDATES, CASES, FOUND_LEVEL, LEVEL, OF_FOUND, by_group, late
from scipy import stats

import utmost as um
from utmost.backends import opening
from utmost.queries.questions.rows_per_person import numbers_of_rows

FAILS = 1e-7
NAMED = {
    "median named for a loss": (
        lambda a, e: a.quantile("amount", 0.5, CANDIDATES, e, loss="absolute"),
        lambda table: inverted_cdf(table["amount"], 0.5),
    ),
    "medians by keys named for a loss": (
        lambda a, e: a.quantile("amount", 0.5, CANDIDATES, e, loss="rank", by=GROUPS),
        by_group(lambda table: inverted_cdf(table["amount"], 0.5)),
    ),
}
"""Quantiles of which nothing but a name is released: at a level where it rules out others."""
IN_CONDITIONS = {
    "people in conditions": (
        lambda a, e: a.counts({"late": "late", "not late": "NOT late", "stops": "stops >= 2"}, e, of="people"),
        lambda table: {
            "late": len(set(table["person"][table["late"]])),
            "not late": len(set(table["person"][~table["late"]])),
            "stops": len(set(table["person"][table["stops"] >= 2])),
        },
    ),
    "people in nested conditions": (
        lambda a, e: a.counts({f"{n}": f"stops >= {n}" for n in (1, 2, 3)}, e, of="people"),
        lambda table: {f"{n}": len(set(table["person"][table["stops"] >= n])) for n in (1, 2, 3)},
    ),
}
"""Counts of everybody who has such a row, whichever rows are truncated."""
UNITS = {
    "rows": um.rows(),
    "people": um.people("person", rows_each=5),
    "at most": um.rows(at_most=70_000),
    "people at most": um.people("person", rows_each=5, at_most=70_000),
}
SLOW = ("variance", "covariance", "variances by keys", "medians by keys", "quartiles by keys")
"""Their intervals take a tenth of a second and more each."""
NO_ZCDP = ("median", "deciles", "medians by keys", "quartiles by keys", "median among candidates")
few, many = (partial(stats.binom.ppf, FAILS, p=share) for share in (0.95, 0.94))
"""In how many draws an interval holds the truth that does so in 95 %, or in 94 %; in fewer once in 10^7 times."""


@pytest.mark.parametrize("name", [name for name in CASES if name not in (*SLOW, "sums by keys")])
def test_intervals_hold_the_truth_about_the_table(name):
    case, truth = CASES[name]
    check_intervals(case(asking(UNITS["rows"]), LEVEL), truth(rows()), 10, few)


@pytest.mark.parametrize("name", ["count", "sum of floats", "mean of shares", "marginals", "counts by keys"])
def test_intervals_hold_the_truth_about_the_rows_of_people_that_are_used(name):
    case, truth = CASES[name]
    check_intervals(case(asking(UNITS["people"]), LEVEL), truth(used_rows(UNITS["people"])), 12, few)


@pytest.mark.parametrize("name", ["counts of found keys", "sums of found keys"])
def test_intervals_of_found_keys_hold_the_truth(name):
    case, truth = OF_FOUND[name]
    check_intervals(case(asking(UNITS["rows"]), FOUND_LEVEL), truth(rows()), 12, few)


@pytest.mark.parametrize("truncate", ["table", "question"])
@pytest.mark.parametrize("name", IN_CONDITIONS)
def test_intervals_of_people_hold_the_truth(name, truncate):
    case, truth = IN_CONDITIONS[name]
    unit = um.people("person", rows_each=5, truncate=truncate)
    check_intervals(case(asking(unit), LEVEL), truth(rows()), 12, few)


@pytest.mark.long
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", [*CASES, *OF_FOUND])
def test_intervals_hold_the_truth_in_94_of_100_draws(name, unit, neighbours):
    """Groups of 5 rows times four to 48,000; of up to 2,000 draws 94 % hold it, but for chance."""
    case, truth = (CASES | OF_FOUND)[name]
    made = case(asking(UNITS[unit], 4, neighbours), FOUND_LEVEL if name in OF_FOUND else LEVEL)
    check_intervals(made, truth(used_rows(UNITS[unit], 4)), 2000, many)


@pytest.mark.long
@pytest.mark.parametrize("level", [FOUND_LEVEL, um.GaussianDP("0.5"), um.ZCDP("0.1")], ids=str)
@pytest.mark.parametrize("name", [name for name in CASES if name != "covariance"])
def test_intervals_hold_the_truth_at_levels_that_are_not_pure(name, level):
    if name in NO_ZCDP and isinstance(level, um.ZCDP):
        return  # refused: choices have no zCDP
    case, truth = CASES[name]
    check_intervals(case(asking(UNITS["people"]), level), truth(used_rows(UNITS["people"])), 1000, many)


@pytest.mark.long
@pytest.mark.parametrize("name", OF_FOUND)
def test_intervals_of_found_keys_hold_the_truth_at_gaussian_levels(name):
    case, truth = OF_FOUND[name]
    made = case(asking(UNITS["people"]), um.ApproxGaussianDP("0.5", "1e-6"))
    check_intervals(made, truth(used_rows(UNITS["people"])), 1000, many)


BOUNDED = um.people("person", rows_each=5, groups_each=2, rows_each_group=2)
FOR_THE_QUESTION = um.people("person", rows_each=2, truncate="question")
"""Which rows these are about is tested against Python's own loops, in `test_group_bounds` and `test_kept_rows`."""


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("counts by keys", BOUNDED),
        *(pytest.param(name, BOUNDED, marks=pytest.mark.long) for name in ("sums by keys", "means by keys")),
        *((name, FOR_THE_QUESTION) for name in ("sum of whole numbers", "histogram", "ranges", "counts by keys")),
    ],
)
def test_intervals_hold_what_is_exact_about_other_rows_of_people(name, unit):
    made = CASES[name][0](asking(unit), LEVEL)
    exact = made.question.value(made.question.released(made.private_point(SECRET)))
    check_intervals(made, exact, 12, few)
    if unit == BOUNDED:
        assert made.question.rows_each == 4


def test_rows_chosen_for_a_question_are_of_those_with_its_condition():
    """Of late rows two of each person, where there are as many; chosen once for the table, fewer of them are late."""
    people, times = np.unique(rows()["person"][rows()["late"]], return_counts=True)
    made = asking(FOR_THE_QUESTION).count("late", LEVEL)
    check_intervals(made, int(np.minimum(times, 2).sum()), 20, few)
    once = asking(um.people("person", rows_each=2)).count("late", LEVEL)
    assert once.private_point(SECRET) < made.private_point(SECRET)
    assert len(people) <= made.private_point(SECRET)


# ---- groups whose sums are beyond 64 bits ----

FINE = {
    "variance": lambda a, e, by: a.variance("x", 0, 1, e, grid="1e-7", by=by),
    "variance without a grid": lambda a, e, by: a.variance("x", 0, 1, e, by=by),
    "mean": lambda a, e, by: a.mean("x", 0, 1, e, grid="1e-14", by=by),
    "sum": lambda a, e, by: a.sum("x", 0, 1, e, grid="1e-14", by=by),
    "sum of negative numbers": lambda a, e, by: a.sum("less", -1, 1, e, grid="1e-14", by=by),
}
IN_GROUPS = {
    "keys": (um.keys(town=["Ash", "Briar"]), LEVEL),
    "found keys": (um.discover("town"), FOUND_LEVEL),
}
THREE_ROWS = um.people("who", rows_each=3)
FINE_UNITS = {
    "rows": um.rows(),
    "rows at most": um.rows(at_most=200_000),
    "people": THREE_ROWS,
    "people for the question": um.people("who", rows_each=3, truncate="question"),
    "groups": um.people("who", rows_each=3, groups_each=2, rows_each_group=3),
}


@pytest.fixture(scope="module")
def towns():
    """Two groups of 99,999 and 300 rows, three rows of each person, with values near the upper end of their range."""
    rng = np.random.default_rng(36)
    town = np.repeat(["Ash", "Briar"], [99_999, 300])
    x = 1 - rng.random(len(town)) / 10
    return {"who": np.arange(len(town)) // 3, "town": town, "x": x, "less": -x}


QUICK = (("variance", "keys", "rows"), ("mean", "found keys", "people"), ("sum of negative numbers", "keys", "groups"))
REFUSED = {(name, "found keys") for name in FINE if "variance" in name} | {("found keys", "groups")}


@pytest.mark.parametrize(
    ("name", "by", "unit"),
    [
        pytest.param(*case, marks=[pytest.mark.long] * (case not in QUICK))
        for case in product(FINE, IN_GROUPS, FINE_UNITS)
        if not {case[:2], case[1:]} & REFUSED
    ],
)
def test_sums_of_groups_beyond_64_bits_hold_the_truth(towns, name, by, unit):
    """They were cut to 2^62 without a word: a variance of 0.0903 came out as 0.2023, in (0.20229, 0.20235)."""
    keys, level = IN_GROUPS[by]
    setting = Setting(opening.open_table(pyarrow.table(towns)), FINE_UNITS[unit], "add-remove")
    made = FINE[name](QueryMaker(setting), level, keys)
    column, kind = towns["less" if "negative" in name else "x"], name.split()[0]
    of = {"variance": np.var, "mean": np.mean, "sum": np.sum}[kind]
    truth = {town: float(of(column[towns["town"] == town])) for town in ("Ash", "Briar")}
    check_intervals(made, truth, 12, few)
    point = made.private_point(SECRET)
    sums = np.asarray(getattr(point, "numbers", point)).ravel().tolist()
    assert max(map(abs, sums)) > 2**62 or "without" in name


# ---- people, and how many of their rows are dropped ----


def visits():
    """How many rows every person has."""
    return np.unique(rows()["person"], return_counts=True)[1]


def by_visits():
    ends = numbers_of_rows(100)
    counted = np.histogram(visits(), [0.5, *(end + 0.5 for end in ends), np.inf])[0]
    names = [str(end) if end - start == 1 else f"{start + 1} to {end}" for start, end in pairwise((0, *ends))]
    return dict(zip([*names, "more than 100"], counted.tolist(), strict=True))


OF_PEOPLE = {
    "people": (lambda a, e: a.count("late", e, of="people"), lambda: len(set(rows()["person"][rows()["late"]]))),
    "left out": (lambda a, e: a.left_out(None, e), lambda: int((visits() > 5).sum())),
    "rows left out": (lambda a, e: a.left_out(None, e, up_to=50), lambda: int(np.clip(visits() - 5, 0, 50).sum())),
    "share left out": (lambda a, e: a.share_left_out(None, e), lambda: float((visits() > 5).mean())),
    "rows per person": (lambda a, e: a.rows_per_person(None, e, largest=100), by_visits),
}


@pytest.mark.parametrize("truncate", ["table", "question"])
@pytest.mark.parametrize("name", OF_PEOPLE)
def test_intervals_hold_the_truth_about_people(name, truncate):
    case, truth = OF_PEOPLE[name]
    unit = um.people("person", rows_each=5, truncate=truncate)
    check_intervals(case(asking(unit), LEVEL), truth(), 20, few)


@pytest.mark.long
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("level", [LEVEL, FOUND_LEVEL, um.GaussianDP("0.5"), um.ZCDP("0.1")], ids=str)
@pytest.mark.parametrize("name", OF_PEOPLE)
def test_intervals_hold_the_truth_about_people_in_94_of_100_draws(name, level, neighbours):
    case, truth = OF_PEOPLE[name]
    check_intervals(case(asking(UNITS["people"], 1, neighbours), level), truth(), 2000, many)


@pytest.mark.parametrize("draws", [20, pytest.param(2000, marks=pytest.mark.long)])
@pytest.mark.parametrize("level", [LEVEL, um.GaussianDP("0.5")], ids=str)
def test_intervals_of_shares_hold_that_of_the_table(level, draws):
    made = asking(um.rows(), neighbours="replace").share("late", level, among=len(rows()))
    check_intervals(made, late(rows()) / len(rows()), draws, many)


@pytest.mark.parametrize("draws", [4, pytest.param(60, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", NAMED)
def test_intervals_of_named_candidates_hold_the_quantile(name, draws):
    case, truth = NAMED[name]
    check_intervals(case(asking(um.rows(at_most=20_000)), um.PureDP(4)), truth(rows()), draws, few)


@pytest.mark.parametrize(
    ("neighbours", "draws"),
    [("replace", 12), *(pytest.param(name, 2000, marks=pytest.mark.long) for name in ("add-remove", "replace"))],
)
def test_intervals_of_tiers_hold_the_truth(neighbours, draws):
    unit = um.rows(at_most=2000, tiers={"region = 'few'": ("0.1", 100)}).within(um.PureDP("0.5"))
    check_intervals(asking(unit, 0.1, neighbours).count("late", LEVEL), late(rows(0.1)), draws, many)


@pytest.mark.parametrize("draws", [12, pytest.param(400, marks=pytest.mark.long)])
@pytest.mark.parametrize("unit", [um.rows(at_most=50_000), um.people("who", 3, at_most=9_000)], ids=str)
def test_intervals_of_the_largest_hold_all_of_them_at_once(unit, draws):
    """Of a hundred towns with 300 rows each the three that come out largest: each interval alone held 57 %."""
    order = np.random.default_rng(5).permutation(30_000)
    towns, people = np.repeat([f"t{i}" for i in range(100)], 300), np.arange(30_000) // 3 % 10_000
    source = opening.open_table(pyarrow.table({"town": towns[order], "who": people[order]}))
    made = QueryMaker(Setting(source, unit, "add-remove")).top("town", 3, privacy=FOUND_LEVEL)
    question, point = made.question, made.private_point(SECRET)
    true = dict(zip(point.keys.column(0).to_pylist(), _held(question, point), strict=True))
    held = []
    for _ in range(draws):
        after = question.after_with_condition(question.draw(point))
        held.append(all(low <= true[key] <= high for key, (low, high) in after.intervals.items()))
        assert "all that are named at once" in after.basis
        assert len(after.intervals) == 3
    assert sum(held) >= few(draws)


def _held(question, point):
    """What is counted of every key: rows where a person's several rows are, else holders."""
    return point.holders.tolist() if question.counts_holders else np.asarray(point.numbers)[:, 0].tolist()


# ---- tables with more rows than was stated ----


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.long] * (name not in ("marginals", "hierarchy", "sums of found keys")))
        for name in [*CASES, *OF_FOUND]
        if not any(word in name for word in ("median", "decile", "quartile"))
    ],
)
@pytest.mark.parametrize(
    "most", [pytest.param(500, marks=pytest.mark.long), 5000, pytest.param(9000, marks=pytest.mark.long)]
)
def test_an_answer_about_more_rows_than_stated_holds_the_truth_or_says_that_there_may_be_more(name, most):
    """12,865 rows where at most 5000 were stated. Of names alone, as quantiles are, nothing can be said."""
    case, truth = (CASES | OF_FOUND)[name]
    made = case(asking(um.rows(at_most=most)), FOUND_LEVEL if name in OF_FOUND else LEVEL)
    assert made.question.condition == f"if the table has at most {most:,} rows"
    check_intervals(made, truth(rows()), 16, few, may_reach=True)


def test_every_question_that_states_intervals_is_asked_here():
    """And those that state none, or none that holds at every table, in `test_truth_of_choices`."""
    listed = [case(asking(UNITS["rows"]), LEVEL) for case, _ in CASES.values()]
    listed += [case(asking(UNITS["rows"]), FOUND_LEVEL) for case, _ in OF_FOUND.values()]
    listed += [case(asking(UNITS["people"]), LEVEL) for case, _ in OF_PEOPLE.values()]
    listed += [case(asking(um.rows(at_most=20_000)), LEVEL) for case, _ in NAMED.values()]
    listed += [CASES["sum of floats"][0](asking(UNITS["rows"]), um.GaussianDP(1))]
    rest = sorts() - {sort_of(made.question) for made in listed}
    names = {"Majority", "Threshold", "Plurality", "Top", "ShownKeys", "Quantile", "Quantiles", "Ranked"}
    others = {("share", "Share"), ("top", "TopFound"), ("count", "TieredCount")}
    assert {kind for kind in rest if kind[1] not in names} == others
