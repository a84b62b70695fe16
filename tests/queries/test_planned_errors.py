"""Planned errors hold on skewed tables, targets are met there, and what rounding does counts in both."""

import json
from time import process_time

import numpy as np
import pyarrow
import pytest

import utmost as um
from utmost.errors import InvalidInput
from utmost.queries.report.words import show, show_ends

RNG, ROWS = np.random.default_rng(5), 2000
COLUMNS = {
    "lognormal": np.minimum(RNG.lognormal(3, 1, ROWS), 1000),
    "beta": 1000 * RNG.beta(2, 8, ROWS),
    "uniform": 1000 * RNG.random(ROWS),
    "two points": np.where(RNG.random(ROWS) < 0.3, 0.0, 1000.0),
    "one end": np.where(RNG.random(ROWS) < 0.02, 1000.0, 0.0),
}
COLUMNS = {name: np.round(column, -1) for name, column in COLUMNS.items()}  # rounded already: errors are of the noise
GROUP = np.where(np.arange(ROWS) < 1600, "large", "small")
TRUTHS = {"mean": np.mean, "variance": np.var}


def opened(column, unit=None, budget=100_000):
    table = pyarrow.table({"x": column, "y": 1000 - column[::-1], "g": GROUP[: len(column)]})
    return um.Session(table, "skewed", unit or um.rows(), "add-remove", budget=budget)


def errors_of(question, point, truth, draws=1000):
    drawn = question.solution.mechanism.sample_many(np.tile(np.array(point), (draws, 1)))
    values = [question.value(question.released(one)) for one in drawn.tolist()]
    values = [value[question.name] if isinstance(value, dict) else value for value in values]
    return float(np.mean(np.abs(np.array(values) - truth))), question.after(question.released(drawn[0].tolist()))


def point_of(name, question, x, y):
    if name == "mean":
        u = np.round((x - float(question.statistic.values.steps.lower)) / float(question.statistic.values.steps.step))
        return [int(u.sum()), int((question.statistic.weight - u).sum())]
    a, b = x / 1000, y / 1000
    if name == "variance":
        return [round(float(part.sum()) * question.statistic.weight) for part in ((1 - a) ** 2, 2 * a * (1 - a), a * a)]
    parts = ((1 - a) * (1 - b), (1 - a) * b, a * (1 - b), a * b, a * (1 - a), b * (1 - b))
    return [round(float(part.sum()) * question.statistic.weight) for part in parts]


@pytest.mark.parametrize("kind", ["mean", "variance", "covariance"])
@pytest.mark.parametrize("table", COLUMNS)
def test_errors_lie_in_the_planned_range_and_are_known_after_the_answer(table, kind):
    x = COLUMNS[table]
    y, s = 1000 - x[::-1], opened(COLUMNS[table])
    if kind == "covariance":
        plan = s.plan.covariance("x", "y", (0, 1000), (0, 1000), privacy=1, x_grid=10, y_grid=10, expected_rows=ROWS)
    else:
        plan = getattr(s.plan, kind)("x", 0, 1000, privacy=1, grid=10, expected_rows=ROWS)
    truth = float(np.mean((x - x.mean()) * (y - y.mean()))) if kind == "covariance" else TRUTHS[kind](x)
    error, after = errors_of(plan.question, point_of(kind, plan.question, x, y), truth)
    before = plan.before
    assert error <= (before.average - before.from_rounding) * 1.05
    assert error >= before.least * 0.95
    assert error == pytest.approx(after.expected - after.from_rounding, rel=0.1)


def test_a_covariance_without_its_interval_takes_no_interval():
    """An interval takes a third of a second, and a thousand draws are averaged over above."""
    question = opened(COLUMNS["beta"]).plan.covariance("x", "y", (0, 1000), (0, 1000), privacy=1).question
    released = dict(zip(question.statistic.parts, [question.statistic.weight * 300] * 6, strict=True))
    start = process_time()
    for _ in range(20):
        question.value(released)
    assert process_time() - start < 1


@pytest.mark.parametrize("kind", ["mean", pytest.param("variance", marks=pytest.mark.long)])
def test_targets_are_met_on_skewed_tables(kind):
    x, wanted = COLUMNS["lognormal"], {"mean": 3, "variance": 3000}[kind]
    s = opened(x)
    plan = getattr(s.plan, kind)("x", 0, 1000, privacy=1, grid="0.1", expected_rows=ROWS)
    question = s.allot({plan: (wanted / 2, None)}).plans[0].question
    error, _ = errors_of(question, point_of(kind, question, x, x), TRUTHS[kind](x))
    assert error <= wanted / 2 * 1.05
    groups = um.keys(g=["large", "small"])
    expected = {"large": 1600, "small": 400}
    plan = getattr(s.plan, kind)("x", 0, 1000, privacy=1, grid="0.1", by=groups, expected_rows=expected)
    question = s.allot({plan: (wanted, None)}).plans[0].question
    parts = [point_of(kind, question, x[key == GROUP], x[key == GROUP]) for key in ("large", "small")]
    drawn = question.solution.mechanism.sample_many(np.tile(np.array(parts).T.ravel(), (500, 1)))
    truths = {key: TRUTHS[kind](x[key == GROUP]) for key in ("large", "small")}
    values = [question.value(question.released(one)) for one in drawn]
    assert np.mean([[abs(value[key] - truths[key]) for key in truths] for value in values]) <= wanted * 1.05


# ---- rounding ----


def test_a_coarse_grid_counts_in_the_error_of_a_mean():
    """A grid of 60 moved a mean of 12.8 by up to 30, and a target of 0.05 was accepted."""
    s = opened(COLUMNS["lognormal"])
    plan = s.plan.mean("x", -60, 300, privacy=1, grid=60, expected_rows=ROWS)
    assert plan.before.average - plan.before.from_rounding < 1
    assert plan.before.from_rounding == pytest.approx(30)
    assert "plus at most 30 from rounding to 60" in str(plan)
    assert plan.question.losses["Utmost"]["absolute"] == pytest.approx(plan.before.average)
    assert "from rounding" in str(s.mean("x", -60, 300, privacy=1, grid=60))
    with pytest.raises(InvalidInput, match=r"0.05, and rounding to 60 alone .* 30: .* leave the grid out"):
        s.allot({plan: (0.05, None)})
    with pytest.raises(InvalidInput, match="rounding to 60 alone"):
        s.smallest_privacy(plan, 0.05)
    assert s.allot({plan: (31, None)}).plans[0].before.average <= 31
    fine = s.plan.mean("x", -60, 300, privacy=1, expected_rows=ROWS)
    assert "from rounding" not in str(fine)
    assert fine.before.average < plan.before.average


def test_a_coarse_grid_counts_in_the_error_of_a_sum_of_at_most_so_many_rows():
    s = opened(COLUMNS["lognormal"], um.rows(at_most=3000))
    plan = s.plan.sum("x", 0, 1000, privacy=1, grid=20)
    assert plan.before.from_rounding == pytest.approx(30_000)
    assert "plus at most 30,000 from rounding at most 3,000 rows to 20" in str(plan)
    for target in ((20_000, None), (20_000, 0.9)):
        with pytest.raises(InvalidInput, match="rounding at most 3,000 rows to 20 alone"):
            s.allot({plan: target})
    assert s.allot({plan: (40_000, 0.9)}).plans[0].question.probability_off_by_more(40_000) <= 0.1
    assert not s.plan.sum("x", 0, 1000, privacy=1).before.from_rounding
    by = s.plan.sum("x", 0, 1000, privacy=1, grid=20, by=um.keys(g=["large", "small"]))
    assert by.before.from_rounding == pytest.approx(30_000)


def test_a_sum_of_rounded_values_of_rows_that_nobody_counted_says_so(tmp_path):
    """Its interval was once ten billion wide: it is about the rounded values now, and all words say so."""
    x = COLUMNS["lognormal"] + 3
    s = opened(x)
    answer = s.sum("x", 0, 1000, privacy=1, grid=20)
    said = "of the values rounded to 20; rounding itself moves the sum by at most 10 for each row"
    low, high = answer.interval
    assert high - low < 20_000
    assert str(answer).count(said) == 3
    assert said in str(s.plan.sum("x", 0, 1000, privacy=1, grid=20))
    plain = json.loads(answer.to_json())
    assert said in plain["accuracy"]["after"]["given"]
    assert any(said in note for note in plain["notes"])
    assert said in answer.report(tmp_path / "sum.html").read_text()
    assert "moves the sum by at most" not in str(s.sum("x", 0, 1000, privacy=1))
    assert said in str(s.sum("x", 0, 1000, privacy=1, grid=20, by=um.keys(g=["large", "small"])))


def test_whole_numbers_that_are_not_rounded_have_no_error_from_rounding():
    table = pyarrow.table({"x": list(range(100))})
    s = um.Session(table, "whole", um.rows(at_most=200), "add-remove", budget=10)
    for plan in (s.plan.sum("x", 0, 100, 1, grid=1), s.plan.mean("x", 0, 100, 1, grid=1, expected_rows=100)):
        assert plan.before.from_rounding == 0
        assert "rounded" not in str(plan)


# ---- more rows than at_most ----


@pytest.mark.parametrize("kind", ["mean", "variance"])
def test_the_number_of_rows_lies_in_its_interval_and_more_than_at_most_are_said(kind):
    s = opened(COLUMNS["lognormal"], um.rows(at_most=1000))
    answer = getattr(s, kind)("x", 0, 1000, 1)
    low, high = answer.after.rows_between
    assert low <= answer.after.rows <= high
    assert answer.after.near_limit
    assert "the table may have more rows" in str(answer)


def test_more_expected_rows_than_at_most_are_refused():
    s = opened(COLUMNS["lognormal"], um.rows(at_most=100))
    for rows in (101, 1000):
        with pytest.raises(InvalidInput, match="more than the 100 rows that at_most allows"):
            s.mean("x", 0, 1000, 1, expected_rows=rows)
    assert not list(s.account.entries())
    assert s.plan.mean("x", 0, 1000, 1, expected_rows=100).before.average


# ---- digits ----


def test_numbers_have_the_digits_that_their_intervals_support():
    assert show(1479.01, {"variance": (1383.45, 1574.91)}) == "1,479"
    assert show_ends(1383.45, 1574.91) == ("1,383", "1,575")
    assert show(0.250497, {"mean": (0.2501, 0.2509)}) == "0.250497"
    assert show(0.25049712, {"mean": (0.24, 0.26)}) == "0.2505"
    assert show(17, {"count": (-4000, 4000)}) == "17"
    assert show(2205420.3) == show(2205420) == "2,205,420"
    assert show(-0.0004, {"covariance": (-9.5, 9.25)}) == "0"
    assert show(123_456_789_012.4, {"sum": (123_456_700_000.0, 123_456_880_000.0)}) == "123,456,789,000"


@pytest.mark.parametrize("value", RNG.normal(size=20).tolist())
@pytest.mark.parametrize("wide", [1e-9, 0.02, 3.0, 5e7])
def test_shown_ends_hold_the_shown_value_and_the_ends(value, wide):
    low, high = value - wide, value + wide / 3
    least, most = (float(end.replace(",", "")) for end in show_ends(low, high))
    assert least <= low <= high <= most
    assert least <= float(show(value, {"x": (low, high)}).replace(",", "")) <= most
    assert most - least <= (high - low) * 1.03


def test_json_keeps_all_digits():
    answer = opened(COLUMNS["beta"]).variance("x", 0, 1000, 1)
    assert json.loads(answer.to_json())["value"]["variance"] == answer.value["variance"]
    assert len(f"{answer.value['variance']!r}") > 8


def test_the_interval_of_a_covariance_says_that_rounding_is_in_it():
    s = opened(COLUMNS["beta"])
    said = "what rounding can change included"
    answer = s.covariance("x", "y", (0, 1000), (0, 1000), 1, x_grid=10, y_grid=10)
    assert said in answer.after.basis
    whole = um.Session(pyarrow.table({"x": [1, 2], "y": [3, 4]}), "w", um.rows(), "add-remove", budget=9)
    assert said not in whole.covariance("x", "y", (0, 10), (0, 10), 1).after.basis
