"""The usual noises that answers are compared with: their losses from SciPy's distributions, and that none is better."""

import numpy as np
import pyarrow
import pytest
from scipy import stats

import utmost as um
from utmost.mechanism.rounding import UNNOTICED
from utmost.queries.questions.alternatives import gaussian_spread, number_alternatives
from utmost.queries.questions.by_found_keys import threshold_users, thresholds
from utmost.queries.questions.decisions import choice_alternatives
from utmost.space.line import Line, cost
from utmost.theory.partition_selection.design import best_law

TABLE = pyarrow.table({"x": [1.0, 2.0], "id": ["a", "b"]})
LOSSES = ("absolute", "squared", "zero-one")
NAMES = {"Laplace", "geometric", "Gaussian, delta = 1e-06"}


def plan(most, rows_each=None, neighbours="add-remove"):
    unit = um.rows(at_most=most) if rows_each is None else um.people("id", rows_each=rows_each, at_most=most)
    return um.Session(TABLE, "d", unit, neighbours, budget=100).plan


@pytest.mark.parametrize("epsilon", [0.1, *(pytest.param(e, marks=pytest.mark.long) for e in (0.5, 1, 2))])
def test_never_worse_than_the_alternatives(epsilon):
    """In the declared loss under the uniform prior, short and long lines, near and far neighbours."""
    for loss in LOSSES:
        asked = [plan(most).count("x > 1", epsilon, loss=loss) for most in (9, 200, 20_000)]
        asked += [plan(50, 2).count("x > 1", epsilon, loss=loss), plan(150).sum("x", 0, 5, epsilon, grid=1, loss=loss)]
        asked += [plan(10_000).sum("x", 0, 100, epsilon, grid=1, loss=loss)]
        asked += [plan(500, neighbours="replace").sum("x", -1, 1, epsilon, grid=1, loss=loss)]
        for each in asked:
            compared = each.question.expected_losses()
            assert set(compared) == {"Utmost", *NAMES}
            for name, by in compared.items():
                assert compared["Utmost"][loss] <= by[loss] * (1 + 1e-12), (each.question.words, loss, name)
    decided = [plan(most).threshold("x > 1", most // 2, epsilon) for most in (9, 200, 20_000)]
    decided += [plan(50, 2).threshold("x > 1", 50, epsilon), plan(500, neighbours="replace").majority("x > 1", epsilon)]
    for each in decided:  # a floor of 2^-40 at most makes far points private in integers too
        compared = each.question.expected_losses()
        for name, by in compared.items():
            assert compared["Utmost"]["zero-one"] <= by["zero-one"] + UNNOTICED, (each.question.words, name)


def test_alternatives_against_their_distributions():
    """Laplace, Gaussian and geometric noise, rounded and cut off, from SciPy's distributions."""
    points, reach, epsilon, border = 30, 3, 0.7, 11
    line, level = Line(0, points - 1, reach), um.PureDP(epsilon)
    found, decided = number_alternatives(line, level, LOSSES, None), choice_alternatives(line, border, level, None)
    sigma = gaussian_spread(level)
    tails = [stats.norm.cdf(sign * 0.5 / sigma - epsilon * sigma) for sign in (1, -1)]
    assert tails[0] - np.exp(epsilon) * tails[1] == pytest.approx(1e-6, rel=1e-6)
    laws = {
        "Laplace": stats.laplace(scale=reach / epsilon),
        "Gaussian, delta = 1e-06": stats.norm(scale=sigma * reach),
        "geometric": None,
    }
    assert set(laws) == set(found) == set(decided) == NAMES
    for name, law in laws.items():
        if law is None:
            mass = stats.dlaplace(epsilon / reach).pmf(np.arange(-400, 401))
        else:
            mass = np.diff(law.cdf(np.arange(-400, 402) - 0.5))
        matrix = np.zeros((points, points))
        for x in range(points):
            np.add.at(matrix[x], np.clip(x + np.arange(-400, 401), 0, points - 1), mass)
        for loss in LOSSES:
            table = cost(loss, np.arange(points)[:, None] - np.arange(points))
            assert found[name][loss] == pytest.approx((matrix * table).sum() / points, rel=1e-6), (name, loss)
        wrong = np.where(np.arange(points) >= border, matrix[:, :border].sum(axis=1), matrix[:, border:].sum(axis=1))
        assert decided[name]["zero-one"] == pytest.approx(wrong.mean(), rel=1e-6)


def test_a_sum_of_150_values_up_to_5():
    """Mean errors 4.93 under geometric noise and at most 4.79 here, at epsilon = 1."""
    planned = plan(150).sum("x", 0, 5, 1, grid=1)
    compared, rounding = planned.question.expected_losses(), planned.before.from_rounding
    assert compared["geometric"]["absolute"] - rounding == pytest.approx(4.93, abs=0.005)
    assert compared["Utmost"]["absolute"] - rounding < 4.79


ZIPF = 2000 // np.arange(1, 2001)
"""A table of 2000 keys: the first has 2000 rows, the i-th an i-th of that."""


def test_keys_shown_of_a_zipf_table():
    """142.98 keys at (1, 1e-6), 137.63 by Laplace noise with a threshold, 90.72 by Gaussian noise."""
    level = um.ApproxDP(1, 1e-6)
    hidden = {name: float(np.sum(1 - chance(ZIPF))) for name, chance in thresholds(1, level).items()}
    assert best_law(1, level).release_probability(ZIPF).sum() == pytest.approx(142.98102, abs=1e-5)
    assert hidden == pytest.approx({"Laplace threshold": 137.62560, "Gaussian threshold": 90.71844}, abs=1e-4)


@pytest.mark.parametrize("changes", [1, 2, 10])
@pytest.mark.parametrize("level", [um.ApproxDP(0.3, 1e-6), um.ApproxDP(1, 1e-9), um.ApproxDP(4, 1e-4)])
def test_never_fewer_keys_than_by_the_usual_thresholds(level, changes):
    ours = best_law(changes, level).release_probability(ZIPF).sum()
    assert all(ours >= np.sum(1 - hidden(ZIPF)) for hidden in thresholds(changes, level).values())
    users = threshold_users(changes, level)
    assert all(best_law(changes, level).mean_users <= needed for needed in users.values())
