"""Several counts and cells: what is believed after the answers, and the worst points, against enumerated joint laws."""

import math
from itertools import product

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from utmost.release.answer import describe, make_answer
from utmost.release.mechanisms import count_vectors
from utmost.release.mechanisms.balls import ball_noise
from utmost.release.mechanisms.beliefs import cube_beliefs, exchange_beliefs
from utmost.release.mechanisms.count_vectors import Alone, Board, Together
from utmost.release.mechanisms.several import design_disjoint, design_overlapping

import utmost as um
from utmost.privacy import PureDP
from utmost.release.accuracy import after, interval
from utmost.space.integers import Line

LEDGER = {"entry": 1, "time": "t", "spent": "1", "left": "0", "head": "0" * 64, "kept": True}


def plan(most, neighbours="add-remove", rows_each=None):
    table = pyarrow.table({"x": [1.0, 2.0, 3.0], "id": [1, 1, 2], "town": ["a", "b", "a"]})
    unit = um.rows(at_most=most) if rows_each is None else um.people("id", rows_each=rows_each, at_most=most)
    return um.Session(table, "d", unit, neighbours, budget=1e6).plan


def noise_law(shape, d, epsilon, far):
    """The probabilities of all vectors of noise within -far..far, from the norm alone."""
    axes = np.meshgrid(*[np.arange(-far, far + 1)] * d, indexing="ij")
    if shape == "cube":
        norm = np.maximum.reduce(np.abs(axes))
    else:
        norm = np.maximum(sum(np.maximum(z, 0) for z in axes), sum(np.maximum(-z, 0) for z in axes))
    law = np.exp(-epsilon * norm)
    assert math.exp(-epsilon * far) * (2 * far + 1) ** d < 1e-12  # what is left out
    return law / law.sum()


def enumerated(law, last, answers):
    """The law of every count given all answers, by summing over all points and all noise, clamped."""
    far, d = law.shape[0] // 2, law.ndim
    z, x = np.arange(-far, far + 1)[:, None], np.arange(last + 1)[None, :]
    joint = law
    for answer in answers:  # from one axis of noise to one of points
        joint = np.tensordot(joint, (np.clip(x + z, 0, last) == answer).astype(float), axes=(0, 0))
    joint = joint / joint.sum()
    return [joint.sum(axis=tuple(j for j in range(d) if j != i)) for i in range(d)]


def spread(belief, last):
    points, chances = belief
    found = np.zeros(last + 1)
    found[points] = chances
    return found


# ---- what to believe, given all answers ----


@pytest.mark.parametrize("shape", ["cube", "exchange"])
@pytest.mark.parametrize(("d", "last", "epsilon", "far"), [(2, 1, 0.8, 50), (2, 6, 0.5, 80), (3, 4, 1.0, 45)])
def test_beliefs_are_those_of_the_joint_law(shape, d, last, epsilon, far):
    """All answers on small grids: every probability, and that 95 % intervals hold 95 %."""
    together, law = Together(ball_noise(shape, d, PureDP(epsilon)), Line(0, last, 1)), noise_law(shape, d, epsilon, far)
    assert together.given_all
    for answers in product(range(last + 1), repeat=d):
        if d > 2 and list(answers) != sorted(answers) and answers[0] != 2:
            continue  # the order of the others does not matter
        for belief, exact in zip(together.posterior(answers), enumerated(law, last, answers), strict=True):
            assert spread(belief, last) == pytest.approx(exact, abs=1e-9)
            low, high = interval(*belief, 0.95)
            assert exact[low : high + 1].sum() >= 0.95 - 1e-9


@settings(max_examples=25)
@given(shape=st.sampled_from(["cube", "exchange"]), last=st.integers(1, 12), data=st.data())
def test_beliefs_on_random_lines(shape, last, data):
    """Lines that do not begin at 0, answers near both ends, two counts."""
    first, answers = data.draw(st.integers(-5, 5)), data.draw(st.tuples(*[st.integers(0, last)] * 2))
    together = Together(ball_noise(shape, 2, PureDP("0.7")), Line(first, first + last, 1))
    law = noise_law(shape, 2, 0.7, 60)
    found = together.posterior(tuple(first + answer for answer in answers))
    for (points, chances), exact in zip(found, enumerated(law, last, answers), strict=True):
        assert spread((points - first, chances), last) == pytest.approx(exact, abs=1e-9)


def test_counts_at_an_end_widen_the_interval_of_another():
    """Nine of ten answers are 0: the noise is large, so 500 +- 12, right for 500 alone, held with 69 %."""
    d, last = 10, 1000
    names = [f"x > {i}" for i in range(d)]
    question = plan(last).counts(names, 1).question
    released = dict.fromkeys(names, 0) | {names[0]: 500}
    known = after(question, released)
    low, high = known["intervals"][names[0]]
    radii = np.arange(400.0)  # weight of a radius: e^-s (2s + 1)^10, times the share of each of nine zeros
    logs = -radii + np.log(2 * radii + 1) + (d - 1) * np.log((radii + 1) * (radii + 2) / 2)
    mass = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()

    def held(wide):
        return mass @ np.minimum(1, (2 * wide + 1) / (2 * radii + 1))

    assert (low + high, held(12)) == (1000, pytest.approx(0.687, abs=5e-4))
    assert held(high - 500) >= 0.95 > held(high - 501)
    three = after(plan(20).counts(names[:3], 0.8).question, dict(zip(names, (10, 0, 0), strict=False)))
    exact = enumerated(noise_law("cube", 3, 0.8, 70), 20, (10, 0, 0))[0]
    low, high = three["intervals"][names[0]]
    assert exact[low : high + 1].sum() >= 0.95
    assert exact[low + 1 : high].sum() < 0.95  # and it is no wider than it must be


@pytest.mark.parametrize("d", [5, 60, 300])
def test_exchanged_cells_at_an_end_in_closed_form(d):
    """All other cells are 0 of a million: C(m + 2d - 3, m) ways to fall by m together, and max(P, M) is theirs."""
    noise, last = ball_noise("exchange", d, PureDP(1)), 10**6
    together = Together(noise, Line(0, last, 1))
    assert together.given_all
    points, chances = together.posterior((0,) * (d - 1) + (last // 2,))[-1]
    falls = np.arange(0, 4000)
    ways = np.array([math.lgamma(m + 2 * d - 2) - math.lgamma(m + 1) - math.lgamma(2 * d - 2) for m in falls])
    rate = -math.log(noise.decay)
    logs = [
        np.logaddexp.reduce(ways - rate * np.maximum(max(z, 0), falls + max(-z, 0))) for z in range(-80, 81)
    ]  # rises z of this cell, or falls -z of it beside those of the others
    exact = np.exp(np.array(logs) - max(logs))
    near = np.abs(points - last // 2) <= 80
    assert chances[near][::-1] / chances.max() == pytest.approx(exact, rel=1e-7)


def test_too_many_cells_are_believed_by_their_own_answers(monkeypatch):
    """And everything says so: the answer, its JSON, the report."""
    question = plan(30, "replace").histogram("town", ["a", "b", "c"], 1).question
    released = {"a": 15, "b": 0, "c": 0}
    wide = after(question, released)
    assert wide["given"] == "a prior that is uniform on each count, independently, and all these answers"
    monkeypatch.setattr(count_vectors, "MOST_WORK", 1)
    question.joint.design.mechanism.__dict__.pop("_far")
    own = after(question, released)
    question.joint.design.mechanism.__dict__.pop("_far")
    assert own["given"] == "a prior that is uniform on each count, independently, and its own answer alone"
    assert own["intervals"]["a"][0] > wide["intervals"]["a"][0]
    law = noise_law("exchange", 3, 1, 45).sum(axis=(1, 2))
    low, high = own["intervals"]["a"]
    assert law[45 + low - 15 : 45 + high - 14].sum() >= 0.95 > law[45 + low - 14 : 45 + high - 15].sum()


def test_what_intervals_are_given_is_said_everywhere(tmp_path):
    """The same words in the answer's lines, in JSON and on the page."""
    question = plan(30, "replace").histogram("town", ["a", "b", "c"], 1).question
    answer = make_answer(question, describe(question, "survey"), {"a": 15, "b": 0, "c": 0}, LEDGER)
    words = "given a prior that is uniform on each count, independently, and all these answers"
    assert words in str(answer)
    assert answer.accuracy["after"]["given"] in words
    assert words in answer.report(tmp_path / "page.html").read_text()


def test_the_passes_ignore_the_order_of_counts():
    """Beliefs belong to their counts, whatever the order, and equal answers are believed alike."""
    decay, answers = ball_noise("exchange", 4, PureDP(1)).decay, (3, 0, 9, 3)
    for beliefs in (lambda a: exchange_beliefs(decay, 9, a, 90), lambda a: cube_beliefs(decay, 9, a)):
        found, other = beliefs(answers), beliefs(answers[::-1])
        for (_, one), (_, two) in zip(found, other[::-1], strict=True):
            assert one == pytest.approx(two, rel=1e-9)
        assert found[0][1] == pytest.approx(found[3][1])
        assert found[1][1].argmax() == 0
        assert found[2][1][::-1].argmax() == 0


# ---- the worst point ----


@pytest.mark.parametrize("loss", ["absolute", "squared", "zero-one", "within 1"])
@pytest.mark.parametrize("shape", ["cube", "exchange"])
@pytest.mark.parametrize(("last", "epsilon"), [(1, 0.8), (2, 0.5), (5, 0.5), (12, 1.5)])
def test_worst_and_average_of_noise_on_all_counts(loss, shape, last, epsilon):
    """Every point of the grid, with noise cut off at the ends."""
    together = Together(ball_noise(shape, 2, PureDP(epsilon)), Line(0, last, 1))
    law, far = noise_law(shape, 2, epsilon, 80), 80
    z = np.arange(-far, far + 1)
    risks = np.zeros((last + 1, last + 1))
    for point in product(range(last + 1), repeat=2):
        off = [np.abs(np.clip(x + z, 0, last) - x) for x in point]
        costs = {"absolute": lambda o: o, "squared": lambda o: o**2, "within 1": lambda o: o > 1}
        each = [costs.get(loss, lambda o: o > 0)(o).astype(float) for o in off]
        if loss == "zero-one" and shape == "cube":
            cost = np.maximum(each[0][:, None], each[1][None, :])
        else:
            cost = (each[0][:, None] + each[1][None, :]) / 2
        risks[point] = (law * cost).sum()
    assert together.worst(loss) == pytest.approx(risks.max(), abs=1e-9)
    assert together.expected(loss) == pytest.approx(risks.mean(), abs=1e-9)


def test_the_worst_points_of_two_counts():
    """Numbers from the joint laws: far from both ends would be 4.981 and 2.968, and there is no such place."""
    for last, epsilon, worst in ((20, 0.3, 4.486852), (12, 0.5, 2.675068)):
        design = design_overlapping(("a", "b"), Line(0, last, 1), PureDP(epsilon), "absolute")
        assert design.worst == pytest.approx(worst, abs=1e-6)


def test_all_right_at_once_at_the_worst_point():
    """Independent counts: 1 - (1 - w)^d, as every count may be at its worst; of cells each counts by itself."""
    before = plan(20, rows_each=3).counts(["x > 1", "x > 2"], 4, loss="zero-one")
    mechanism = before.question.joint.design.mechanism
    assert isinstance(mechanism, Alone)
    both = np.multiply.outer(*[[1 - _wrong(mechanism.design, x) for x in range(61)]] * 2)
    assert before.accuracy["before"]["average"] == pytest.approx(1 - both.mean(), abs=1e-9)
    assert before.accuracy["before"]["worst"] == pytest.approx(1 - both.min(), abs=1e-9)
    few = Together(ball_noise("cube", 2, PureDP(60)), Line(0, 5, 1))
    assert 0 < few.expected("zero-one") <= few.worst("zero-one") < 1e-24  # nothing is lost to rounding
    assert "Ghosh" not in before.details["proof"]["because"]  # that is of neighbours one apart
    cells = design_disjoint(("a", "b"), 20, 1, 1, PureDP(2), "zero-one")
    assert cells.worst == pytest.approx(cells.mechanism.design.worst)


def _wrong(design, x):
    mechanism = design.mechanism
    if hasattr(mechanism, "solution"):
        return 1 - mechanism.solution.mechanism.matrix[x, x]
    return mechanism.risk(x, "zero-one")


def test_the_worst_is_never_below_the_average():
    """Counts and cells, all losses, rows and people."""
    for loss in ("absolute", "squared", "zero-one", "within 1"):
        for most, d, epsilon in product((1, 3, 12), (1, 2, 3), (0.5, 3)):
            names = tuple("abc"[:d])
            designs = [design_overlapping(names, Line(0, most, 1), PureDP(epsilon), loss)]
            designs += [design_disjoint(names, most, moves, 1, PureDP(epsilon), loss) for moves in (1, 2)]
            for design in designs:
                assert design.expected[loss] <= design.worst + 1e-12, (design.name, most, loss)


# ---- what is claimed ----


def test_theorems_are_claimed_where_they_hold():
    """One count of people with two rows each: the linear program's optimum with its bound, not a theorem."""
    for rows_each in (1, 2, 3):
        p = plan(3, rows_each=rows_each)
        several, one = p.counts(["x > 1"], 1).details, p.count("x > 1", 1).details
        assert several["proof"] == one["proof"]
        assert several["mechanism"].startswith(one["mechanism"])
        assert several["proof"]["optimal"] == ("theorem" if rows_each == 1 else "bound")
        assert ("Ghosh" in several["proof"]["because"]) == (rows_each == 1)
        cells = p.histogram("town", ["a", "b"], 1).details["proof"]
        assert cells["optimal"] == ("theorem" if rows_each == 1 else "bound")


def test_a_loss_that_is_always_0_is_said_to_be():
    """Within 30 of a count of at most 20: a bound of 0, and no theorem is needed."""
    for asked in (
        plan(20).counts(["x > 1", "x > 2"], 1, loss="within 30"),
        plan(20).histogram("town", ["a", "b"], 1, loss="within 20"),
        plan(20, "replace").histogram("town", ["a", "b"], 1, other="c", loss="within 20"),
    ):
        proof = asked.details["proof"]
        assert (proof["optimal"], proof["bound"], proof["gap"]) == ("bound", 0, 0)
        assert proof["because"] == "no two counts are more than 20 apart, so this loss is 0 whatever is answered"
        assert asked.accuracy["before"] == {"loss": asked.accuracy["before"]["loss"], "average": 0, "worst": 0}
    assert plan(20).counts(["x > 1"], 1, loss="within 19").details["proof"]["optimal"] == "theorem"


def test_a_grid_knows_all_answers():
    """The linear program's optimum on a small grid: beliefs from its matrix."""
    design = design_overlapping(("a", "b"), Line(0, 3, 1), PureDP(1), "absolute")
    assert isinstance(design.mechanism, Board)
    solution = design.mechanism.solution
    for answer in product(range(4), repeat=2):
        column = solution.mechanism.matrix[:, solution.problem.space.index(answer)].reshape(4, 4)
        if column.any():  # some answers are never given
            found = design.posterior(dict(zip("ab", answer, strict=True)))
            assert found["a"][1] == pytest.approx(column.sum(axis=1) / column.sum())
            assert found["b"][1] == pytest.approx(column.sum(axis=0) / column.sum())
    assert design.given.endswith("all these answers")
