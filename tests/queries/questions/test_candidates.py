"""Winners and quantiles as people plan and read them: averages, the worst, what a delta buys, and posteriors."""

import runpy
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from oracles.programs import right_by_enumeration

import utmost as um
from utmost.theory.selection.tally_averages import EVERY

TABLE = pyarrow.table({"x": [1.0, 2.0, 3.0], "id": [1, 1, 2], "town": ["a", "b", "a"]})
ROOT = Path(__file__).parents[3]


def opened(most, neighbours="add-remove", rows_each=None):
    unit = um.rows(at_most=most) if rows_each is None else um.people("id", rows_each=rows_each, at_most=most)
    return um.Session(TABLE, "d", unit, neighbours, budget=10**6)


def tallies_of(size, most):
    return np.array([t for t in product(range(most + 1), repeat=size) if sum(t) <= most])


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("rows_each", [None, 2])
def test_a_plan_states_the_average_and_worst_of_all_tallies(neighbours, rows_each):
    s = opened(6 // (rows_each or 1), neighbours, rows_each)
    every = tallies_of(3, 6)
    for loss, plan in {
        "zero-one": s.plan.plurality("town", ["a", "b", "c"], 1),
        "shortfall": s.plan.plurality("town", ["a", "b", "c"], um.GaussianDP(1), loss="shortfall"),
        "absolute": s.plan.quantile("x", Fraction(9, 10), [0, 1, 2], 1, loss="absolute"),
        "rank": s.plan.quantile("x", Fraction(1, 2), [0, 1, 2], um.ApproxDP(1, "0.001"), loss="rank"),
    }.items():
        law = plan.solution.mechanism
        risks = (law.probabilities(every) * law.contest.loss(loss, every)).sum(axis=1)
        assert plan.before.average == pytest.approx(risks.mean())
        assert plan.before.worst == pytest.approx(risks.max())
        assert plan.before.holds == f"average: exact, over all tallies; worst: {EVERY}"
        assert plan.verify()


def test_the_worst_of_a_listed_prior_is_over_all_tallies_too():
    plan = opened(8).plan.plurality("town", ["a", "b", "c"], 3, loss="shortfall", prior={(8, 0, 0): 1})
    every = tallies_of(3, 8)
    shortfall = every.max(axis=1, keepdims=True) - every
    risks = (plan.solution.mechanism.probabilities(every) * shortfall).sum(axis=1)
    assert plan.before.average == pytest.approx(0, abs=1e-5)
    assert plan.before.worst == pytest.approx(risks.max())
    assert plan.before.worst > 0.1


@pytest.mark.parametrize("epsilon", [pytest.param(0.01, marks=pytest.mark.long), 1, 3])
def test_large_tallies_are_searched_and_the_report_says_so(epsilon, tmp_path):
    s = opened(25_000)
    plans = [s.plan.plurality("town", ["a", "b", "c"], epsilon, loss="shortfall")]
    plans += [s.plan.quantile("x", 0.9, [0, 1, 2, 3], epsilon, loss=loss) for loss in ("absolute", "rank")]
    for plan in plans:
        before = plan.accuracy["before"]
        assert before["worst"] > 3 * before["average"] > 0
        assert before["holds"].endswith("worst: the hardest tallies tried")
        assert "at the hardest tallies tried" in str(plan)
        assert "at worst" not in str(plan)
    if epsilon == 1:
        page = s.plurality("town", ["a", "b", "c"], 1, loss="shortfall").report(tmp_path / "report.html").read_text()
        assert "at the hardest tallies tried" in page
        assert "at worst" in str(s.plan.plurality("town", ["a", "b", "c"], 1))  # proved: with nobody in the table


@pytest.mark.parametrize("most", [20, 5000])
@pytest.mark.parametrize("delta", ["1e-15", "1e-6", "0.01", "0.3"])
def test_a_delta_never_makes_an_answer_worse(most, delta):
    s = opened(most)
    for ask in (
        lambda level: s.plan.plurality("town", list("abcd"), level),
        lambda level: s.plan.quantile("x", 0.5, [1, 2, 3, 4], level, loss="absolute"),
        lambda level: s.plan.quantile("x", 0.5, [1, 2, 3, 4], level),
    ):
        pure, granted = ask(1), ask(um.ApproxDP(1, delta))
        for name, by in granted.question.expected_losses().items():
            assert granted.before.average <= by[granted.question.loss], name
        assert granted.before.average <= pure.before.average * (1 + 1e-9)
        assert granted.verify()


def test_the_proof_names_what_was_compared_and_what_is_implied():
    plan = opened(60).plan.plurality("town", list("abcd"), um.ApproxDP(1, 1e-6))
    proof = plan.details["proof"]
    assert plan.details["mechanism"] == "geometric noisy max"
    named = ("geometric noisy max", "permute and flip", "exponential mechanism", "rainbow by winner")
    assert f"the least expected loss of {', '.join(named)}" in proof["because"]
    assert sorted(plan.details["compared"]) == ["Utmost", "exponential mechanism", "permute and flip", named[-1]]
    private = plan.verify().checks[0]
    assert "ln 2.71828554674-DP proved in exact arithmetic" in private.detail
    assert "implies (1, 1e-06)-DP" in private.detail


def test_estimates_are_said_to_be():
    plan = opened(25_000).plan.quantile("x", 0.5, [1, 2, 3, 4], 1, loss="absolute")
    assert plan.accuracy["before"]["standard_error"] > 0
    assert "on average (estimated, standard error" in str(plan)
    assert "estimated" not in str(opened(25_000).plan.plurality("town", ["a", "b"], 1))


def test_estimates_are_shown_to_the_digits_they_carry():
    shown = runpy.run_path(str(ROOT / "examples" / "release_table.py"))["shown"]
    assert [shown(7.9948, e) for e in (0, 0.004, 0.012, 0.3, 3)] == ["7.995", "7.99", "8.0", "8", "10"]


def test_lines_too_long_for_the_rainbow_leave_it_out():
    """Twenty towns at a small epsilon: minutes and gigabytes for a mechanism that others beat anyway."""
    s = um.Session(pyarrow.table({"town": ["a"]}), "d", um.rows(at_most=10**12), "add-remove", budget=1)
    plan = s.plan.plurality("town", [f"town {i}" for i in range(20)], 1e-4, loss="shortfall")
    assert plan.details["mechanism"] == "geometric noisy max"
    assert "rainbow" not in plan.details["proof"]["because"]
    assert "exponential mechanism" in plan.details["compared"]


# ---- how likely a named candidate is right ----


@pytest.mark.parametrize("prior", [None, {(5, 0, 1): 0.7, (0, 5, 1): 0.2, (1, 1, 4): 0.1}], ids=["uniform", "listed"])
def test_an_answer_states_the_posterior_of_the_candidate_named(prior):
    s = opened(6)
    for question in (
        s.plan.quantile("x", 0.9, [0, 1, 2], 0.5, loss="zero-one", prior=prior).question,
        s.plan.plurality("town", ["a", "b", "c"], 0.5, prior=prior).question,
    ):
        weights = prior or dict.fromkeys(map(tuple, tallies_of(3, 6).tolist()), 1.0)
        found = [question.after({"place": j}).probability_right for j in range(3)]
        assert found == pytest.approx(right_by_enumeration(question.solution.mechanism, weights))


@pytest.mark.long
def test_nothing_is_claimed_of_an_answer_that_hardly_a_drawn_tally_has():
    question = opened(500).plan.quantile("x", 0.999, list(range(100)), 0.01, loss="zero-one").question
    assert question.after({"place": 0}).probability_right is None
