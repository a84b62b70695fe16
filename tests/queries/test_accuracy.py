"""What is said about accuracy, needed levels and broken promises is about the declared loss and level."""

import numpy as np
import pyarrow
import pytest

import utmost as um
from utmost.errors import InvalidInput
from utmost.queries.report.words import known_after

TABLE = pyarrow.table({"x": [1.0, 2.0], "town": ["a", "b"]})


def opened(at_most=200, budget=100):
    return um.Session(TABLE, "d", um.rows(at_most=at_most), "add-remove", budget=budget)


# ---- losses ----


def test_a_mean_takes_the_losses_it_reports():
    for loss in ("within 5", "zero-one"):
        with pytest.raises(InvalidInput, match="'absolute', 'squared'"):
            opened().plan.mean("x", 0, 10, 1, loss=loss)


@pytest.mark.parametrize("ask", ["plurality", "quantile"])
def test_a_choice_among_candidates_takes_no_loss_of_integers(ask):
    asked = {"plurality": ("town", ["a", "b"], 1), "quantile": ("x", 0.5, [1, 2], 1)}[ask]
    with pytest.raises(InvalidInput, match="loss is 'within 5'"):
        getattr(opened().plan, ask)(*asked, loss="within 5")


@pytest.mark.parametrize("loss", ["absolute", "squared"])
def test_a_mean_is_compared_in_the_declared_loss(loss):
    plan = opened().plan.mean("x", 0, 10, 1, loss=loss, expected_rows=200)
    before, compared = plan.accuracy["before"], plan.details["compared"]
    assert before["loss"] == loss
    assert before["average"] == pytest.approx(compared["Utmost"][loss])
    assert before["worst"] == {"absolute": 10, "squared": 100}[loss]
    assert all(compared["Utmost"][loss] <= by[loss] * (1 + 1e-9) for by in compared.values())
    assert f"{loss} loss: Utmost" in str(plan)


@pytest.mark.parametrize("loss", ["absolute", "squared"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("epsilon", [1, 3])
def test_the_stated_error_of_a_mean_is_that_of_its_laws(loss, neighbours, epsilon):
    """Means of 300 rows, every released pair: no quadrature, no bins; the first order is within three percent."""
    s = um.Session(pyarrow.table({"x": [1, 2]}), "d", um.rows(at_most=300), neighbours, budget=100)
    plan = s.plan.mean("x", 0, 4, epsilon, loss=loss, expected_rows=300)
    far = 90 // epsilon
    x, y = (part.ravel() for part in np.meshgrid(np.arange(-far, far + 1), np.arange(-far, far + 1)))
    chances = plan.solution.mechanism.noise
    law = np.array([float(chances.point_mass(z)) for z in zip(x.tolist(), y.tolist(), strict=True)])
    assert law.sum() == pytest.approx(1, abs=1e-5)
    before = plan.accuracy["before"]
    for above in (100, 300, 600, 900, 1100):
        here, there = above + x, 1200 - above + y
        errors = np.abs(4 * np.clip(here / (here + there), 0, 1) - above / 300)
        mean = float(law @ (errors if loss == "absolute" else errors**2))
        stated = plan.question.statistic.losses_at(plan.question.noisy, (above / 1200,))[loss] / 300 ** (
            1 if loss == "absolute" else 2
        )
        assert stated == pytest.approx(mean, rel=0.03)
        assert before["least"] * 0.97 <= mean <= before["average"] * 1.03
    compared = plan.details["compared"]
    assert all(compared["Utmost"][loss] <= by[loss] for by in compared.values())


def test_draws_of_a_mean_err_as_stated():
    plan = opened().plan.mean("x", 0, 10, 1, loss="squared", grid=1, expected_rows=200)
    rng, before, question = np.random.default_rng(5), plan.before, plan.question
    errors, stated = [], []
    for total in rng.integers(200, 1801, 3000).tolist():
        errors.append((question.value(question.draw((total, 2000 - total))) - total / 200) ** 2)
        stated.append(question.statistic.losses_at(question.noisy, (total / 2000,))["squared"] / 200**2)
    spread = np.std(errors) / len(errors) ** 0.5
    assert abs(np.mean(errors) - np.mean(stated)) <= 5 * spread
    assert before.least <= np.mean(stated) <= before.average - before.from_rounding


def test_a_mean_of_few_rows_states_the_error_of_those_there_are():
    """2000 rows where 20,000 may be: the error is that of 2000, and intervals are no wider."""
    question = opened(at_most=20_000).plan.mean("x", 0, 10, "0.5", grid=1, expected_rows=20_000).question
    errors, half, held, stated = [], [], 0, []
    for total in np.random.default_rng(6).integers(0, 20_001, 400).tolist():
        drawn = question.draw((total, 20_000 - total))
        known, truth = question.after(drawn), total / 2000
        low, high = known.intervals["mean"]
        errors.append(abs(question.value(drawn) - truth))
        half.append((high - low) / 2)
        held += low <= truth <= high
        stated.append(known.expected - known.from_rounding)
        assert abs(known.rows - 2000) < 100
    assert abs(np.mean(errors) - np.mean(stated)) <= 5 * np.std(errors) / 400**0.5
    before = question.before()
    assert 10 * before.least < np.mean(stated) < 10 * (before.average - before.from_rounding)
    assert held / 400 >= 0.91  # with rounding, of which there is none here
    assert np.mean(half) - 0.5 <= 1.2 * np.quantile(errors, 0.95)


def test_a_mean_of_nobody_errs_by_no_more_than_its_range():
    question = opened().plan.mean("x", 0, 10, 2, grid=1).question
    known = question.after({"above_lower": -3, "below_upper": 1})
    assert known.rows == 1
    assert known.expected == question.row_errors.of_rows(1) < 10
    assert "of about 1 rows, as many as the answer says there are" in known_after(known)
    wide = opened().plan.mean("x", 0, 10, "0.01").question
    assert wide.after({"above_lower": 0, "below_upper": 0}).expected == 10


def test_the_smallest_privacy_of_a_mean_is_for_its_loss():
    s = opened()
    for loss in ("absolute", "squared"):
        plan = s.plan.mean("x", 0, 10, 1, loss=loss, expected_rows=200)
        level = s.smallest_privacy(plan, 0.5)
        assert plan.question.at(level).average <= 0.5
        below = um.PureDP(level.log_growth * 0.98)
        assert plan.question.at(below).average > 0.5


# ---- the smallest level ----


@pytest.mark.parametrize("level", [um.ApproxDP(1, 0.001), um.GaussianDP(1), um.PureDP(1)])
def test_the_smallest_level_is_of_the_plans_kind(level):
    s = opened(at_most=60)
    found = s.smallest_privacy(s.plan.threshold(None, 30, level), 0.05)
    assert type(found) is type(level)
    assert getattr(found, "delta", None) == getattr(level, "delta", None)
    assert s.plan.threshold(None, 30, found).accuracy["before"]["average"] <= 0.05


@pytest.mark.parametrize(("start", "accuracy"), [(1, 2.263), (0.3, 2.263), (0.77, 0.9), (20, 0.31)])
def test_no_smaller_level_of_three_digits_suffices(start, accuracy):
    s = opened(at_most=60)
    found = s.smallest_privacy(s.plan.count("x > 1", start), accuracy).log_growth
    below = float(f"{found * (1 - 1e-9):.2e}") - 10.0 ** (np.floor(np.log10(found * (1 - 1e-9))) - 2)
    errors = [s.plan.count("x > 1", level).accuracy["before"]["average"] for level in (found, below + 1e-12)]
    assert errors[0] <= accuracy < errors[1]


def test_where_next_to_nothing_suffices_the_floor_is_the_answer():
    s = opened(at_most=20)
    for start in (1, 0.0001, 0.00001):
        assert s.smallest_privacy(s.plan.count(None, start), 1000) == um.PureDP(0.0001)


# ---- notes ----


def notes(prior, level=0.1):
    return opened(at_most=20).plan.threshold(None, 10, level, prior=prior).details["notes"]


def test_the_note_says_so_where_the_answer_is_the_same_whatever_the_table():
    low, high = np.r_[[1.0] * 10, [0.001] * 11], np.r_[[0.001] * 10, [1.0] * 11]
    assert notes(low / low.sum())
    assert notes(high / high.sum())
    assert not notes(None)


def test_an_answer_that_is_wrong_at_one_point_for_sure_is_not_called_the_same_everywhere():
    prior = np.r_[[1.0] * 10, [1e-9], [1.0] * 10]
    plan = opened(at_most=20).plan.threshold(None, 10, um.ApproxDP(3, 0.5), prior=prior / prior.sum())
    assert np.ptp(plan.solution.mechanism.yes) > 0.5
    assert plan.details["notes"] == []


# ---- audits ----


def drawn(chances):
    """Yes or no, with a probability for each table."""
    rng = np.random.default_rng(1)
    return lambda table: bool(rng.random() < chances[table])


@pytest.mark.parametrize("level", [um.PureDP(0.5), um.ApproxDP(0.5, 0.1), um.GaussianDP(0.5)])
def test_an_audit_finds_a_broken_promise_at_every_kind_of_level(level):
    found = um.audit(drawn({"a": 0.9, "b": 0.1}), "a", "b", runs=4000, privacy=level)
    assert found.broken
    assert "BROKEN" in str(found)
    allowed = float(level.upper(0.4))
    kept = um.audit(drawn({"a": allowed, "b": 0.4}), "a", "b", runs=4000, privacy=level)
    assert not kept.broken


def test_an_audit_at_a_delta_states_epsilon_at_that_delta():
    found = um.audit(drawn({"a": 0.35, "b": 0.1}), "a", "b", runs=20_000, privacy=um.ApproxDP(0.1, 0.3))
    assert found.epsilon_at_least < 0.1
    assert not found.broken


def test_an_audit_of_two_levels_is_refused():
    s = opened()
    with pytest.raises(InvalidInput, match="one level"):
        um.audit(lambda level: s.majority("x > 1", privacy=level), um.PureDP(1), um.PureDP(2))


def test_a_number_outside_its_own_interval_is_explained():
    """A count of nobody may come out below 0, where no interval reaches."""
    s = um.Session(pyarrow.table({"x": [1, 2]}), "d", um.rows(), "add-remove", budget=10**4)
    answers = [s.count("x > 5", 1, fresh=True) for _ in range(60)]
    for answer in answers:
        low, high = answer.interval
        said = "outside its own interval" in str(answer)
        assert said == (not low <= answer.value <= high)
        assert said == ("outside its own interval" in str(answer.details["notes"]))
    assert any(answer.outside_note for answer in answers)
