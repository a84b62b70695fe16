"""Steps of sums, means, variances and covariances: chosen finely by default, said, and inside every interval."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow
import pytest

import utmost as um
from utmost.errors import InvalidInput
from utmost.privacy import PureDP
from utmost.queries.report.proof import load_answers
from utmost.queries.rounding_steps import default_step

TIMES = 40
"""Draws of each question: an interval that holds with 95 % misses 10 or more of them with probability 1e-3."""


def opened(columns, most=20_000):
    return um.Session(pyarrow.table(columns), "floats", um.rows(at_most=most), "add-remove", budget=10_000)


def test_the_mean_of_a_share_is_not_rounded_away():
    """A column in [0, 1] with mean .2505 came back as .0634 under a silent grid of 1."""
    x = np.random.default_rng(1).beta(2, 6, 5000)
    x = np.clip(x + (0.2505 - x.mean()), 0, 1)
    answer = opened({"x": x}).mean("x", 0, 1, privacy=1)
    assert abs(answer.value - x.mean()) < 0.01
    assert "rounded to 2e-09" in answer.question.words
    assert "rounded to 2e-09" in str(answer)


def test_whole_numbers_are_not_rounded():
    s = opened({"i": np.arange(100)})
    question = s.plan.mean("i", 0, 100, privacy=1).question
    assert question.statistic.values.steps.step == 1
    assert not question.statistic.values.may_be_rounded
    assert "rounded" not in question.words
    assert s.plan.mean("i", 0, 100, privacy=1, grid=5).question.statistic.values.may_be_rounded


def test_a_float_column_on_a_step_of_one_says_so_and_its_interval_holds_the_mean():
    s = opened({"x": np.full(1000, 0.26)})
    answer = s.mean("x", 0, 1, privacy=1, grid=1)
    assert "rounded to 1" in answer.question.words
    assert answer.interval[0] <= 0.26 <= answer.interval[1]


@pytest.mark.parametrize("shape", [pytest.param("uniform", marks=pytest.mark.long), "skewed"])
def test_intervals_hold_the_clamped_column(shape):
    rng = np.random.default_rng(3)
    x = rng.random(800) if shape == "uniform" else np.minimum(rng.lognormal(-2, 1.2, 800), 3)
    y = np.clip(x / 2 + rng.normal(0, 0.2, 800), 0, 1)
    z = np.clip(x, 0, 1)
    s = opened({"x": x, "y": y}, 2000)
    truth = {"mean": z.mean(), "sum": z.sum(), "variance": z.var(), "covariance": np.cov(z, y, bias=True)[0, 1]}
    plans = {
        "mean": s.plan.mean("x", 0, 1, privacy=1),
        "sum": s.plan.sum("x", 0, 1, privacy=1),
        "variance": s.plan.variance("x", 0, 1, privacy=1),
        "mean on a coarse step": s.plan.mean("x", 0, 1, privacy=1, grid="0.25"),
        "sum on a coarse step": s.plan.sum("x", 0, 1, privacy=1, grid="0.25"),
        "variance on a coarse step": s.plan.variance("x", 0, 1, privacy=1, grid="0.25"),
    }
    for name, plan in plans.items():
        question, number = plan.question, name.split()[0]
        missed = 0
        point = exact_point(question, x)
        for _ in range(TIMES):
            low, high = question.after(question.draw(point)).intervals[number]
            missed += not low <= truth[number] <= high
        assert missed < 6, name


def exact_point(question, x):
    """The private integers of a question, by numpy."""
    steps, wide = (
        question.statistic.values.steps,
        question.statistic.values.steps.most - question.statistic.values.steps.least,
    )
    u = np.floor(np.clip(x, float(steps.lower), float(steps.upper)) / float(steps.step) + 0.5).astype(object)
    if question.name == "sum":
        return int(u.sum())
    if question.name == "mean":
        return int(u.sum()), int((wide - u).sum())
    return int(((wide - u) ** 2).sum()), int((2 * u * (wide - u)).sum()), int((u**2).sum())


def test_rounding_takes_at_most_one_percent_of_the_expected_error():
    for units in (100, 20_000, 10**6):
        for epsilon in (0.1, 1, 10):
            step = default_step(0, 1, False, units, PureDP(epsilon))
            error = 1 / (2 * np.sinh(epsilon / 2))
            assert units * step / 2 <= 0.01 * error, (units, epsilon)


@pytest.mark.parametrize(("lower", "upper"), [(0, 1), (0, Fraction(1, 3)), (-60, 600), ("0.1", "0.7"), (0, 0.1234567)])
def test_bounds_are_multiples_of_the_step(lower, upper):
    step = default_step(lower, upper, False, 20_000, PureDP(1))
    for bound in (lower, upper):
        assert (Fraction(str(bound)) / step).denominator == 1


def test_bounds_without_a_common_step_are_refused_and_nothing_is_spent():
    s = opened({"x": [0.1]})
    with pytest.raises(InvalidInput, match="no common step"):
        s.mean("x", -1, 0.30000000000000004, privacy=1)
    assert not list(s.account.entries())


def test_reports_of_rounded_columns_verify(tmp_path):
    s = opened({"x": [0.1, 0.7] * 50, "y": [0.2, 0.3] * 50})
    answers = [
        s.mean("x", 0, 1, privacy=1),
        s.sum("x", 0, 1, privacy=1),
        s.variance("x", 0, 1, privacy=1),
        s.covariance("x", "y", (0, 1), (0, 1), privacy=1),
    ]
    for answer in answers:
        answer.report(tmp_path / "page.html")
        assert all(found for _, found in load_answers(tmp_path / "page.json")), answer.question.words


@pytest.mark.parametrize("kind", ["mean", "sum", "variance", "covariance"])
def test_bounds_that_cannot_be_refined_are_refused_with_a_remedy(kind):
    """Nobody named a grid here, so "choose a coarser grid" alone was no remedy."""
    s = opened({"x": np.arange(10.0), "y": np.arange(10.0)})
    arguments = ("x", "y", (0.1, 1 / 3), (0, 1)) if kind == "covariance" else ("x", 0.1, 1 / 3)
    with pytest.raises(InvalidInput, match=r"0\.3333333333333333 .*give rounder bounds"):
        getattr(s, kind)(*arguments, privacy=1)
    assert not s.account.entries()


@pytest.mark.parametrize("kind", ["mean", "variance"])
@pytest.mark.parametrize("rows", [5, 1000, 50_000])
def test_rounding_is_one_percent_of_the_expected_error_in_groups_of_any_size(kind, rows):
    """Without `at_most`: variances by keys once had 48,000 steps, whose rounding could exceed the expected error."""
    s = um.Session(pyarrow.table({"x": np.zeros(3), "g": [1, 2, 2]}), "floats", um.rows(), "add-remove", budget=1)
    for lower, upper in ((0, 1), (-60, 600)):
        plan = getattr(s.plan, kind)("x", lower, upper, privacy=1, by=um.keys(g=[1, 2]), expected_rows=rows)
        rounding = plan.before.from_rounding
        assert 0 < rounding <= 0.01 * (plan.before.average - rounding)
        half, off = (upper - lower) / 2, float(plan.question.statistic.values.steps.step) / 2
        assert rounding <= 1.001 * (off if kind == "mean" else 2 * half * off)
