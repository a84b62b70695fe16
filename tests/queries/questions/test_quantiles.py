"""Several quantiles at once, and CDFs that increase: against NumPy, isotonic regression and simulated releases."""

import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.forging import is_refused
from scipy.optimize import isotonic_regression

import utmost as um
from utmost.errors import InvalidInput
from utmost.queries.questions.nested import increasing
from utmost.queries.report.proof import load_answers

SHARES = [0.1, 0.25, 0.5, "9/10"]


def session(values, neighbours="add-remove", budget=10**6, unit=None):
    table = pyarrow.table({"x": values, "who": [f"p{i % 100}" for i in range(len(values))]})
    return um.Session(table, "t", unit or um.rows(at_most=3000), neighbours, budget)


@pytest.mark.parametrize("unit", [um.rows(at_most=3000), um.people("who", rows_each=40, at_most=100)])
def test_without_noise_they_are_those_of_numpy(unit):
    """Nulls and NaN take no part; the lowest value with at least the share of rows at or below it."""
    values = np.random.default_rng(1).integers(0, 50, 2000).astype(float)
    s = session([*values.tolist(), None, float("nan")], unit=unit)
    found = s.quantile("x", SHARES, range(60), 500)
    wanted = np.quantile(values, [0.1, 0.25, 0.5, 0.9], method="inverted_cdf")
    assert list(found.value) == [0.1, 0.25, 0.5, 0.9]
    assert list(found.value.values()) == wanted.tolist()
    assert all(low <= x <= high for x, (low, high) in zip(wanted, found.intervals.values(), strict=True))


def test_all_cost_what_one_costs():
    """And the same question comes back from the ledger."""
    s = session(list(range(100)), budget=10)
    first = s.quantile("x", SHARES, range(0, 100, 10), 1)
    assert str(s.left) == "epsilon 9 of 10"
    assert s.quantile("x", tuple(SHARES), range(0, 100, 10), 1).value == first.value
    assert s.quantile("x", np.array([0.5]), range(0, 100, 10), 1).value.keys() == {0.5}
    assert "nearest" in str(s.plan.quantile("x", SHARES, range(0, 100, 10), 1))


@pytest.mark.parametrize("level", [0.3, um.GaussianDP(0.3)])
def test_intervals_cover(level):
    """Of draws about one table, 95 of 100 intervals or more hold the true quantile, for every share."""
    values = np.random.default_rng(2).normal(50, 15, 900).round()
    question = session(values.tolist()).plan.quantile("x", SHARES, range(0, 101, 2), level).question
    counts = [int(((values > c - 1.0) & (values <= c + 1.0)).sum()) for c in range(0, 101, 2)]
    rounded = np.repeat(np.arange(0, 101, 2), counts)
    truth = np.quantile(rounded, [0.1, 0.25, 0.5, 0.9], method="inverted_cdf")
    point = question.point({f"c{i}": count for i, count in enumerate(counts)})
    held, widths, runs = np.zeros(4), [], 400
    for _ in range(runs):
        ends = list(question.after(question.draw(point)).intervals.values())
        held += [low <= x <= high for x, (low, high) in zip(truth, ends, strict=True)]
        widths += [high - low for low, high in ends]
    assert (held / runs > 0.95 - 4 * np.sqrt(0.05 * 0.95 / runs)).all()
    assert np.mean(widths) < 25


def test_reports_prove_themselves(tmp_path):
    """And what is changed is seen."""
    answer = session(list(range(100)), "replace").quantile("x", SHARES, range(0, 100, 10), 1)
    answer.report(tmp_path / "r.html")
    ((again, found),) = load_answers(tmp_path / "r.json")
    assert found
    assert again.value == answer.value
    first = next(iter(answer.released))
    changes = (
        lambda c: c["value"].update({"0.5": c["value"]["0.5"] + 10}),
        lambda c: c["released"].update({first: c["released"][first] + 10**6}),
        lambda c: c["released"].update({first: 0.5}),
        lambda c: c["question"]["shares"].__setitem__(0, "1/5"),
    )
    assert all(is_refused(tmp_path / "r.json", change) for change in changes)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"q": []}, "q is"),
        ({"q": [0.5, 0.5]}, "share twice"),
        ({"q": [0.5, 2]}, "q is 2"),
        ({"q": [0.5], "candidates": [3, 1]}, "increasing order"),
        ({"q": [0.5], "prior": {}}, "one of them"),
        ({"q": [0.5], "loss": "zero-one"}, "one of them"),
        ({"q": [0.5], "column": "who"}, "not numbers"),
    ],
)
def test_bad_questions_are_refused(more, said):
    """Before the spend."""
    s = session([1, 2, 3], budget=1)
    asked = {"column": "x", "candidates": [1, 2, 3], "privacy": 1, **more}
    with pytest.raises(InvalidInput, match=said):
        s.quantile(**asked)
    assert str(s.left) == "epsilon 1 of 1"


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=30))
def test_increasing_is_isotonic_regression(counts):
    """Rounded to whole numbers, as SciPy has it."""
    found = increasing(counts)
    exact = isotonic_regression(counts).x
    assert np.abs(np.array(found) - exact).max() <= 0.5 + 1e-9
    assert found == sorted(found)


def test_cdfs_increase(tmp_path):
    """Unless the noisy counts are asked for; intervals hold what is shown, and reports prove both."""
    s = session([1, 2, 3] * 10, budget=100)
    edges = list(range(60))
    shown, noisy = (s.cdf("x", edges, 1, monotone=monotone) for monotone in (True, False))
    assert list(shown.value.values()) == sorted(shown.value.values())
    assert noisy.value == noisy.question.strategy.estimates(noisy.released)
    assert list(noisy.value.values()) != sorted(noisy.value.values())
    for i, answer in enumerate((shown, noisy)):
        assert all(low <= answer.value[name] <= high for name, (low, high) in answer.intervals.items())
        answer.report(tmp_path / f"{i}.html")
        ((again, found),) = load_answers(tmp_path / f"{i}.json")
        assert found
        assert again.value == answer.value
    with pytest.raises(InvalidInput, match="monotone is 3"):
        s.cdf("x", edges, 1, monotone=3)
