"""Shares: the right count, p-values that are exactly uniform under the null, and reports that prove themselves."""

import numpy as np
import pyarrow
import pytest
from scipy.stats import binom

import utmost as um
from utmost.errors import InvalidInput
from utmost.mechanism.sampling import insecure_source_for_tests_only
from utmost.queries.report.proof import load_answers

TABLE = pyarrow.table({"who": ["a", "a", "b", "c", "c", "d"] * 100, "age": [70, 66, 25, 80, 10, None] * 100})
LEVELS = [um.PureDP(1), um.GaussianDP("0.7"), um.ApproxDP(1, "0.01"), um.ZCDP("0.3")]


def planned(level, among=12):
    budget = um.GaussianDP(9) if isinstance(level, um.GaussianDP) else um.ApproxDP(99, "0.5")
    s = um.Session(TABLE, "d", um.rows(at_most=600), "replace", budget)
    return s.plan.share("age >= 65", privacy=level, among=among).question


@pytest.mark.parametrize("level", LEVELS, ids=str)
@pytest.mark.parametrize("theta", [0.5, 0.1])
def test_p_values_are_uniform_under_the_null(level, theta):
    """Exactly: the p-values of a count fill an interval as long as the count is likely, and intervals do not overlap.

    How likely a count is: enumerated from the binomial and the noise's own probabilities, not from its tails.
    """
    question, last = planned(level), 2**53 - 1
    noise, z = question.solution.mechanism.noise, np.arange(-40, 60)
    one = np.array([float(noise.tail(k) - noise.tail(k + 1)) for k in range(-60, 61)])
    chances = [sum(binom.pmf(x, 12, theta) * one[k - x + 60] for x in range(13) if abs(k - x) <= 60) for k in z]
    ends = [
        [question.test({"count": int(k), "blur": blur}, theta, "greater", 0.95).p_value for blur in (0, last)]
        for k in z
    ]
    for (high, low), (following, _), chance in zip(ends, ends[1:], chances, strict=False):
        assert high - low == pytest.approx(chance, abs=1e-9)
        assert low == pytest.approx(following, abs=1e-9)
    assert ends[0][0] == pytest.approx(1, abs=1e-6)
    middle = question.test({"count": 6, "blur": last // 2}, theta, "greater", 0.95).p_value
    assert middle == pytest.approx(np.mean(ends[46]), abs=1e-9)  # straight in between


@pytest.mark.parametrize("level", LEVELS, ids=str)
def test_the_test_has_the_power_of_the_best_of_its_size(level):
    """Rejecting where the p-value is at most 5 % is the most powerful private test at pure levels."""
    question, theta = planned(level, 30), 0.5
    seen = [question.noisy({"count": int(k), "blur": 2**52}) for k in range(-60, 100)]
    tails = question.solution.mechanism.noise.tail
    power = 0.0
    for each in seen:
        ends = [question.test({"count": each.count, "blur": b}, theta, "greater", 0.95).p_value for b in (0, 2**53 - 1)]
        rejects = float(np.clip((0.05 - ends[1]) / max(ends[0] - ends[1], 1e-300), 0, 1))
        gaps = each.count - np.arange(31)
        power += rejects * float(binom.pmf(np.arange(31), 30, 0.7) @ (tails(gaps) - tails(gaps + 1)))
    best = 0.63530476 if level == um.PureDP(1) else None
    if best is not None:
        assert power == pytest.approx(best, abs=1e-6)
    assert 0.05 < power < 1


def test_what_is_counted():
    """Rows or people, at a level that hides next to nothing; and the interval of the table's own share."""
    s = um.Session(TABLE, "d", um.rows(at_most=600), "replace", budget=10**4)
    assert s.share("age >= 65", among=600, privacy=500).value == 0.5
    people = um.Session(TABLE, "p", um.people("who", rows_each=2, at_most=4), "replace", budget=10**4)
    answer = people.share("age >= 65", among=4, of="people", privacy=500)
    assert answer.value == 0.5
    assert answer.interval == (0.5, 0.5)
    assert answer.question.words == "Which share of 4 people has age >= 65?"
    found = answer.test("0.5", "two-sided")
    assert "share other than 0.5: p-value" in str(found)
    assert found.interval[0] < 0.5 < found.interval[1]
    with pytest.raises(InvalidInput, match="only shares are tested"):
        s.count("age >= 65", 1).test(0.5)
    with pytest.raises(InvalidInput, match="'greater', 'less' or 'two-sided'"):
        answer.test(0.5, "larger")


@pytest.mark.parametrize("level", LEVELS, ids=str)
def test_reports_prove_themselves(level, tmp_path):
    """A saved answer has the same tests; one whose count was changed is refused."""
    question = planned(level, 600)
    budget = um.GaussianDP(9) if isinstance(level, um.GaussianDP) else um.ApproxDP(99, "0.5")
    answer = um.Session(TABLE, "d", um.rows(at_most=600), "replace", budget).share("age >= 65", level, among=600)
    assert answer.question.public == question.public
    answer.report(tmp_path / "page.html")
    ((again, found),) = load_answers(tmp_path / "page.json")
    assert found
    assert again.test(0.4) == answer.test(0.4)
    text = (tmp_path / "page.json").read_text()
    (tmp_path / "other.json").write_text(text.replace(f'"count": {answer.released["count"]}', '"count": 1'))
    assert not load_answers(tmp_path / "other.json")[0][1]


@pytest.mark.parametrize(
    ("unit", "neighbours", "arguments", "said"),
    [
        (um.rows(at_most=9), "add-remove", {"among": 9}, "the number of rows is private"),
        (um.rows(at_most=9), "replace", {"among": 10}, "at most 9, which the session was opened for"),
        (um.rows(at_most=9), "replace", {"among": 0}, "among is 0"),
        (um.people("who", rows_each=2, at_most=9), "replace", {"among": 9}, "of='people'"),
    ],
)
def test_wrong_use_is_refused_before_the_spend(unit, neighbours, arguments, said):
    """Each by an error with what to change; nothing is charged."""
    s = um.Session(TABLE, "x", unit, neighbours, budget=1)
    with pytest.raises(InvalidInput, match=said):
        s.share("age >= 65", privacy=1, **arguments)
    with pytest.raises(InvalidInput, match="needs a condition"):
        um.Session(TABLE, "x", um.rows(at_most=9), "replace", budget=1).share(None, privacy=1, among=9)
    assert not s.account.entries()


def test_everything_that_is_drawn_comes_from_one_source():
    """The count and what is added to break its ties: the same bytes give the same release, of a design's share too."""
    drawn = []
    for seed in (1, 1, 2):
        with insecure_source_for_tests_only(np.random.default_rng(seed).bytes):
            s = um.Session(TABLE, "d", um.rows(at_most=600), "replace", 1)
            share = um.binary.noisy_share(5, 12, 1.0)
            drawn.append((s.share("age >= 65", privacy=1, among=600).released, share.p_value(0.5)))
    assert drawn[0] == drawn[1]
    assert drawn[0][0]["blur"] != drawn[2][0]["blur"]
    assert drawn[0][1] != drawn[2][1]
