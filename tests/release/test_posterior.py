"""How likely a named candidate is right, given that it was named: against Bayes' rule by enumeration and by drawing."""

from itertools import product

import numpy as np
import pyarrow
import pytest
from utmost.release.answer import describe, make_answer
from utmost.release.mechanisms.contests import prior_tallies
from utmost.release.mechanisms.selection import _design

import utmost as um
from utmost.release.accuracy import after


def opened(at_most):
    table = pyarrow.table({"x": [1.0, 2.0], "town": ["a", "b"]})
    return um.Session(table, "d", um.rows(at_most=at_most), "add-remove", budget=100)


def by_enumeration(design, prior):
    """Pr[winner = j | j is named], from single rows of the mechanism and the definition of the winner."""
    size = len(design.contest.names)
    named, right = np.zeros(size), np.zeros(size)
    for tally, weight in prior.items():
        here = np.array([tally])
        chances = design.mechanism.probabilities(here)[0]
        winner = int(design.contest.winners(here)[0])
        named += weight * chances
        right[winner] += weight * chances[winner]
    return right / named


def all_tallies(size, most):
    listed = [t for t in product(range(most + 1), repeat=size) if sum(t) <= most]
    return dict.fromkeys(listed, 1 / len(listed))


def stated(question, size):
    return [after(question, {"place": j})["probability_right"] for j in range(size)]


def test_a_quantile_states_the_posterior_of_the_answer_given():
    question = opened(6).plan.quantile("x", 0.9, [0, 1, 2, 3], 0.5, loss="zero-one").question
    found = stated(question, 4)
    assert found == pytest.approx([0.064, 0.187, 0.444, 0.791], abs=5e-4)
    assert found == pytest.approx(by_enumeration(question.joint.design, all_tallies(4, 6)))


def test_a_plurality_states_the_posterior_under_a_listed_prior():
    prior = {(5, 0, 1): 0.7, (0, 5, 1): 0.2, (1, 1, 4): 0.1}
    question = opened(6).plan.plurality("town", ["a", "b", "c"], 0.5, prior=prior).question
    assert stated(question, 3) == pytest.approx(by_enumeration(question.joint.design, prior))


def test_what_was_estimated_agrees_with_the_enumeration_within_its_error(monkeypatch):
    exact = opened(30).plan.quantile("x", 0.75, [0, 1, 2, 3], 0.5).question.joint.design
    monkeypatch.setattr("utmost.release.mechanisms.contests.MOST_TALLIES", 0)
    sampled = _design(exact.contest, exact.level, exact.loss, None)
    known = [(found, truth[0]) for found, truth in zip(sampled.right, exact.right, strict=True) if found is not None]
    assert len(known) >= 2
    for (chance, error), truth in known:
        assert 0 < abs(chance - truth) <= 4 * error


def test_the_mass_left_out_is_counted_for_who_wins_there():
    question = opened(10_000).plan.plurality("town", ["a", "b", "c"], 2).question
    tallies = prior_tallies(question.joint.design.contest, question.level)
    assert tallies.weights.sum() + tallies.far.sum() == pytest.approx(1)
    for j in range(3):  # nearly all tallies are clear wins
        assert after(question, {"place": j})["probability_right"] > 0.99


def test_nothing_is_claimed_of_an_answer_that_hardly_a_drawn_tally_has(tmp_path):
    question = opened(500).plan.quantile("x", 0.999, list(range(100)), 0.01).question
    assert after(question, {"place": 0}) == {}
    state = {"entry": 1, "time": "now", "spent": "", "left": "", "head": "0" * 64, "kept": False}
    answer = make_answer(question, describe(question, "d"), {"place": 0}, state)
    words = "not known: too few tallies drawn from the prior have this answer"
    assert f"accuracy after: {words}" in str(answer)
    assert words in answer.report(tmp_path / "report.html").read_text()
