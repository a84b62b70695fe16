"""Noise on a line that is cut off or left as it is: laws, losses and beliefs against plain sums over all noise."""

from fractions import Fraction

import numpy as np
import pyarrow
import pytest

import utmost as um
from utmost.mechanism.noise.canonical import CanonicalLaw
from utmost.mechanism.noise.layers import LayerLaw
from utmost.mechanism.noise.staircase import StaircaseLaw
from utmost.privacy import GaussianDP
from utmost.space.line import Line, cost
from utmost.theory.scalar.design.line import best_on_line
from utmost.theory.scalar.line import NoisyLine

LOSSES = ("absolute", "squared", "zero-one", "within 2")
NOISES = {
    "geometric": StaircaseLaw(LayerLaw(Fraction(1, 2), 1, 1)),
    "staircase": StaircaseLaw(LayerLaw(Fraction(1, 3), 5, 2)),
    "wide": StaircaseLaw(LayerLaw(Fraction(1, 3), 20, 8)),
    "Gaussian": CanonicalLaw(GaussianDP(1)),
}


def unfolded(points, noise):
    """The noise at every point on a long stretch of integers: rows points, columns outputs from -far on."""
    far = 60 * (1 if noise.layers is None else noise.layers.period)
    outputs = np.arange(-far, points + far)
    return outputs, noise.probability(outputs - np.arange(points)[:, None])


def cut_off(points, noise):
    """The probability of every point at every point, noise beyond an end counted there."""
    outputs, matrix = unfolded(points, noise)
    found = np.zeros((points, points))
    np.add.at(found.T, np.clip(outputs, 0, points - 1), matrix.T)
    return found


def tilted(points):
    prior = 1.0 + np.arange(points) ** 2
    return prior / prior.sum()


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize("points", [1, 2, 9, 50])
def test_noise_cut_off_at_the_ends(points, noise, listed):
    """Expected and worst losses, the law at each point and beliefs after each answer, by the whole table."""
    prior = tilted(points) if listed else None
    weights = np.full(points, 1 / points) if prior is None else prior
    table, here = cut_off(points, noise), np.arange(points)
    for loss in LOSSES:
        mechanism = NoisyLine(Line(-3, points - 4, 1), noise, loss, prior, "cut")
        risks = (table * cost(loss, here[:, None] - here)).sum(axis=1)
        assert mechanism.expected(loss) == pytest.approx(weights @ risks, rel=1e-9, abs=1e-13)
        assert mechanism.worst(loss) == pytest.approx(risks.max(), rel=1e-9, abs=1e-13)
        assert [mechanism.risk(x - 3, loss) for x in here] == pytest.approx(risks, rel=1e-9, abs=1e-13)
    for x in here:
        values, chances = mechanism.law(int(x) - 3)
        assert np.bincount(values + 3, chances, points) == pytest.approx(table[x], abs=1e-12)
        believed, chances = mechanism.posterior(int(x) - 3)
        wanted = weights * table[:, x] / (weights @ table[:, x])
        assert np.bincount(believed + 3, chances, points) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
def test_noise_as_it_is(noise):
    """Unbiased answers have the law of the noise around the point, at every point alike."""
    mechanism = NoisyLine(Line(-3, 5, 1), noise, "absolute", None, "none")
    for point in (-3, 0, 5):
        values, chances = mechanism.law(point)
        assert chances.sum() == pytest.approx(1, abs=1e-12)
        assert values @ chances == pytest.approx(point, abs=1e-9)
        for loss in LOSSES:
            assert mechanism.expected(loss) == pytest.approx(cost(loss, values - point) @ chances, rel=1e-9)


def test_long_lines_by_pieces_of_the_staircase():
    """Sums over pieces of a wide staircase equal the sums over all steps, on average and at the worst point."""
    line, noise = Line(0, 5000, 20), NOISES["wide"]
    t = np.arange(1, 3000)
    for loss in ("absolute", "squared"):
        steps = np.diff(cost(loss, np.append(0, t)))
        mechanism = NoisyLine(line, noise, loss, None, "cut")
        wanted = 2 * float((steps * noise.tail(t)) @ (5001 - t)) / 5001
        assert mechanism.expected(loss) == pytest.approx(wanted, rel=1e-10)
        assert mechanism.worst(loss) == pytest.approx(2 * float(steps @ noise.tail(t)), rel=1e-9)


def test_the_worst_is_the_middle_where_both_ends_are_far():
    """Nothing is sought there: the loss is that of the noise, at every size."""
    noise = NOISES["geometric"]
    far = NoisyLine(Line(0, 10**9, 1), noise, "squared", None, "cut")
    assert far.worst_among("squared") == ""
    assert far.worst("squared") == pytest.approx(noise.mean("squared"), rel=1e-9)


def test_the_worst_says_where_it_was_sought():
    """Everywhere where that is feasible or proved; else among points whose number is stated."""
    short, long = Line(0, 300, 3), Line(0, 3 * 10**6, 2000)
    assert best_on_line(short, 1.0).mechanism.worst_among("absolute") == ""
    wide = best_on_line(long, 0.5).mechanism
    assert wide.guesses
    assert wide.worst_among("absolute").startswith("the worst of ")
    assert wide.worst("absolute") >= max(wide.risk(x, "absolute") for x in (0, 1000, long.last // 2))
    wider = StaircaseLaw(LayerLaw(Fraction(9, 10), 10**6, 3 * 10**5))
    cut = NoisyLine(Line(0, 5 * 10**6, 2 * 10**6), wider, "absolute", None, "cut")
    assert cut.worst_among("absolute") == ""  # the middle, by a proof
    assert "points tried" in cut.worst_among("squared")
    for loss in ("absolute", "squared", "within 4000000"):
        assert all(cut.worst(loss) >= cut.risk(x, loss) * (1 - 1e-9) for x in (0, 10**6, 25 * 10**5)), loss


def test_a_question_says_where_its_worst_was_sought():
    """A sum over millions of steps: in the plan's lines too."""
    table = pyarrow.table({"x": [1.0]})
    plan = um.Session(table, "d", um.rows(at_most=3000), "add-remove", budget=1).plan.sum("x", 0, 1000, "0.5", grid=1)
    assert plan.before.worst_among in str(plan)
    assert plan.before.worst_among.endswith("points tried")
