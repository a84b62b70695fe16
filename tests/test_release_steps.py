"""Yes or no about an integer: what is claimed about better mechanisms, against linear programs over all of them."""

import numpy as np
import pyarrow
import pytest
from oracle import binary_lp

import utmost as um
from utmost.release.mechanisms.line import Line
from utmost.release.mechanisms.steps import best_steps

ACCURACY = 1e-8
"""Linear programs of others keep their constraints to 1e-7 or so."""


def least_errors(points, first_yes, level, prior):
    edges = [(i, i + 1) for i in range(points - 1)]
    truth = np.arange(points) >= first_yes
    yes = binary_lp(points, edges, truth, {}, [level.log_growth] * len(edges), [float(level.delta)] * len(edges), prior)
    return float(prior @ np.where(truth, 1 - yes, yes))


def tilted(points, first_yes, low):
    prior = np.where(np.arange(points) < first_yes, 1.0, low)
    return prior / prior.sum()


@pytest.mark.parametrize("level", [um.ApproxDP(0.5, 0.01), um.ApproxDP(1, 0.05), um.ApproxDP(2, 1e-6), um.PureDP(2)])
@pytest.mark.parametrize("first_yes", [3, 30, 58])
@pytest.mark.parametrize("low", [0.02, 1.0, 50.0])
def test_the_bound_is_the_optimum_over_all_private_mechanisms(level, first_yes, low):
    prior = tilted(61, first_yes, low)
    found, bound = best_steps(Line(0, 60, 1), first_yes, level, prior)
    least = least_errors(61, first_yes, level, prior)
    assert bound is not None
    assert bound <= least + ACCURACY
    assert found.expected("zero-one") == pytest.approx(least, abs=ACCURACY)
    assert found.expected("zero-one") >= bound


def test_points_that_are_not_told_apart_do_not_make_the_bound_false():
    prior = np.r_[np.full(180, 1e-4), np.full(121, 1.0)]
    prior /= prior.sum()
    found, bound = best_steps(Line(0, 300, 1), 20, um.PureDP(2), prior)
    assert len(found.weights) < 301  # far points are treated alike
    least = least_errors(301, 20, um.PureDP(2), prior)
    assert bound <= least + ACCURACY
    assert found.expected("zero-one") == pytest.approx(least, abs=ACCURACY)


def test_all_mass_far_away_claims_no_more_than_nothing():
    prior = np.zeros(3001)
    prior[-1] = 1.0
    _, bound = best_steps(Line(0, 3000, 1), 20, um.PureDP(2), prior)
    assert bound == 0


def test_a_session_states_the_optimum():
    s = um.Session(pyarrow.table({"a": [1]}), "d", um.rows(at_most=60), "add-remove", budget=um.ApproxDP(1, 0.1))
    prior = np.r_[[5.0] * 30, [0.1] * 31]
    plan = s.plan.threshold(None, 30, um.ApproxDP(0.5, 0.01), prior=prior / prior.sum())
    assert plan.accuracy["before"]["average"] == pytest.approx(0.0039384186, abs=1e-9)
    assert plan.details["proof"]["bound"] <= 0.0039384186
