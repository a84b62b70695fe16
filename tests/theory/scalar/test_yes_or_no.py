"""Yes or no about an integer: what is claimed about better mechanisms, against linear programs over all of them."""

import copy
import json

import numpy as np
import pyarrow
import pytest
from oracles.forging import forged, get, leaves, put
from oracles.programs import binary_lp

import utmost as um
from utmost.errors import InvalidInput
from utmost.queries.questions.decisions import choice_alternatives
from utmost.solution.solution_file import solution_from_json, solution_to_json
from utmost.space.line import Line
from utmost.theory.scalar.design.yes_or_no import best_yes_or_no
from utmost.theory.scalar.verify.yes_or_no import _pair_bound, check_yes_or_no

ACCURACY = 1e-8
"""Linear programs of others keep their constraints to 1e-7 or so."""


def solved(line, first_yes, level, prior):
    """The solution, verified, and its bound."""
    found = best_yes_or_no(line, first_yes, level, prior)
    assert found.verify(), found.verify()
    return found, found.certificate.bound


def least_errors(points, first_yes, level, prior, reach=1):
    edges = [(i, j) for i in range(points) for j in range(i + 1, min(i + reach + 1, points))]
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
    found, bound = solved(Line(0, 60, 1), first_yes, level, prior)
    least = least_errors(61, first_yes, level, prior)
    assert bound is not None
    assert bound <= least + ACCURACY
    assert found.value == pytest.approx(least, abs=ACCURACY)
    assert found.value >= bound


@pytest.mark.parametrize("level", [um.PureDP(0.3), um.PureDP(2), um.ApproxDP(0.5, 0.01)])
@pytest.mark.parametrize(("reach", "first_yes"), [(2, 15), (3, 4), (5, 29)])
@pytest.mark.parametrize("kind", ["spread", "two points", "uniform"])
def test_neighbours_several_points_apart_are_answered_best(level, reach, first_yes, kind):
    """On blocks as wide as the reach, points of one block are treated alike, which noise does not."""
    prior = np.random.default_rng(reach).dirichlet(np.full(31, 0.5))
    if kind == "two points":
        prior = np.zeros(31)
        prior[[max(first_yes - reach, 0), min(first_yes + reach - 1, 30)]] = 0.5
    given = None if kind == "uniform" else prior
    prior = np.full(31, 1 / 31) if given is None else prior
    found, bound = solved(Line(0, 30, reach), first_yes, level, given)
    least = least_errors(31, first_yes, level, prior, reach)
    assert bound is not None
    assert bound <= least + ACCURACY
    if kind != "uniform":
        assert found.value == pytest.approx(least, abs=ACCURACY)
    others = choice_alternatives(Line(0, 30, reach), first_yes, level, given)
    assert all(found.value <= by["zero-one"] + ACCURACY for name, by in others.items() if "=" not in name)
    assert found.verify()


def test_what_is_drawn_is_what_is_claimed_on_narrow_blocks():
    line, first_yes = Line(0, 30, 3), 15
    prior = np.zeros(31)
    prior[[12, 17]] = 0.5
    found, _ = solved(line, first_yes, um.PureDP(2), prior)
    assert found.mechanism.width == 1
    yes = found.mechanism.yes
    assert found.value == pytest.approx(0.5 * yes[12] + 0.5 * (1 - yes[17]), abs=1e-15)
    drawn = [sum(found.sample(point) for _ in range(400)) / 400 for point in (12, 17)]
    assert drawn == pytest.approx([yes[12], yes[17]], abs=0.12)


def test_a_long_line_is_answered_on_wider_blocks():
    line = Line(0, 9_999, 100)
    prior = np.zeros(10_000)
    prior[[4_925, 5_074]] = 0.5
    found, _ = solved(line, 5_000, um.PureDP(1), prior)
    assert 1 < found.mechanism.width < 100
    others = choice_alternatives(line, 5_000, um.PureDP(1), prior)
    assert found.value <= others["geometric"]["zero-one"] < others["Laplace"]["zero-one"]


def test_points_that_are_not_told_apart_do_not_make_the_bound_false():
    prior = np.r_[np.full(180, 1e-4), np.full(121, 1.0)]
    prior /= prior.sum()
    found, bound = solved(Line(0, 300, 1), 20, um.PureDP(2), prior)
    assert len(found.mechanism.weights) < 301  # far points are treated alike
    least = least_errors(301, 20, um.PureDP(2), prior)
    assert bound <= least + ACCURACY
    assert found.value == pytest.approx(least, abs=ACCURACY)


def test_all_mass_far_away_claims_no_more_than_nothing():
    prior = np.zeros(3001)
    prior[-1] = 1.0
    _, bound = solved(Line(0, 3000, 1), 20, um.PureDP(2), prior)
    assert bound == 0


def test_a_session_states_the_optimum():
    s = um.Session(pyarrow.table({"a": [1]}), "d", um.rows(at_most=60), "add-remove", budget=um.ApproxDP(1, 0.1))
    prior = np.r_[[5.0] * 30, [0.1] * 31]
    plan = s.plan.threshold(None, 30, um.ApproxDP(0.5, 0.01), prior=prior / prior.sum())
    assert plan.accuracy["before"]["average"] == pytest.approx(0.0039384186, abs=1e-9)
    assert plan.details["proof"]["bound"] <= 0.0039384186


@pytest.mark.parametrize("level", [um.GaussianDP(0.3), um.ApproxDP(0.5, 0.01), um.ApproxDP(0, 0.05), um.PureDP(0.7)])
@pytest.mark.parametrize("border", [21, 8])
def test_pairs_across_the_border_bound_every_level(level, border):
    """Under the uniform prior, without a program: against one over all mechanisms, Gaussian levels by many tangents."""
    line, prior = Line(0, 40, 1), np.full(41, 1 / 41)
    found, bound = solved(line, border, level, None)
    least = 1 - um.binary.best_boundary(um.path(41), lambda t: t >= border, level, prior=prior).certificate.bound
    assert bound <= least + ACCURACY
    assert found.value == pytest.approx(least, abs=1e-6)


def test_gaussian_levels_on_long_lines_need_no_program():
    found, bound = solved(Line(0, 1800, 1), 901, um.GaussianDP(0.02), None)
    assert found.certificate.method == "balanced mechanism"
    assert found.value - bound < 0.002


@pytest.mark.parametrize("prior", [None, "tilted"])
def test_forged_files_are_refused(prior, tmp_path):
    """A weight, a bound, a border or a width changed, checksum recomputed: refused, or nothing better is claimed."""
    rng = np.random.default_rng(3)
    prior = None if prior is None else tilted(61, 30, 5.0)
    honest = best_yes_or_no(Line(0, 60, 1), 30, um.PureDP(1), prior)
    content = json.loads(json.dumps(solution_to_json(honest)))
    places = [path for path, _ in leaves(content) if path[0] in ("problem", "mechanism", "value", "certificate")]
    for _ in range(60):
        changed = copy.deepcopy(content)
        path = places[rng.integers(len(places))]
        put(changed, path, forged(get(changed, path), rng))
        try:
            again = solution_from_json(changed)
        except um.errors.UtmostError:
            continue
        if again.verify():  # what is proved must be true: no better than the optimum over all mechanisms
            weights = np.full(61, 1 / 61) if again.problem.data["prior"] is None else again.problem.data["prior"]
            border = again.problem.data["border"]
            least = least_errors(again.problem.space.points, border - again.problem.space.first, um.PureDP(1), weights)
            assert again.problem.privacy == um.PureDP(1)
            assert again.certificate.bound <= least + ACCURACY


@pytest.mark.parametrize("border", [-5, 6, -6, 7])
def test_both_sides_of_a_border_have_points(border):
    """On -5..5 a border at -5 or beyond 5 leaves one side empty: no such question is verified."""
    content = json.loads(json.dumps(solution_to_json(best_yes_or_no(Line(-5, 5, 1), 0, um.PureDP(1)))))
    assert solution_from_json(content).verify()
    content["problem"]["data"]["border"] = content["mechanism"]["first_yes"] = border
    masses = {-6: [0.0, 1.0], -5: [0.0, 1.0], 6: [1.0, 0.0], 7: [1.0, 0.0]}[border]
    content["mechanism"] |= {"no": 1, "bits": 2, "width": 20, "weights": [["3", "1"], ["1", "3"]]}
    content["value"] = sum(mass / 4 for mass in masses)
    content["certificate"] |= {"claim": "unproved", "bound": None, "gap": None}
    asked = solution_from_json(content)
    with pytest.raises(InvalidInput, match="one side empty"):
        check_yes_or_no(asked.problem, asked)


@pytest.mark.parametrize("level", [um.PureDP(1), um.GaussianDP(1)], ids=str)
def test_points_below_zero_are_points_like_others(level):
    """A line that begins elsewhere has the same best answers and the same bound."""
    here, there = (best_yes_or_no(Line(first, first + 60, 2), first + 20, level) for first in (0, -30))
    assert (here.value, here.certificate.bound) == pytest.approx((there.value, there.certificate.bound), abs=1e-12)
    assert there.verify()
    assert _pair_bound(Line(-30, 30, 2), -10, level) == _pair_bound(Line(0, 60, 2), 20, level) > 0
    if level == um.PureDP(1):
        assert there.certificate.bound <= least_errors(61, 20, level, np.full(61, 1 / 61), 2) + ACCURACY
