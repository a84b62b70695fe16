"""Winners and quantiles: where they lose most, what a delta buys, and exact or estimated averages."""

import math
import runpy
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from scipy.stats import norm
from utmost.release.mechanisms import contests, selection
from utmost.release.mechanisms.hardest import EVERY, PROVED, TRIED, hardest
from utmost.release.mechanisms.pure_within import implies, pure_within
from utmost.release.quantiles import Ranks
from utmost.release.winners import Votes

import utmost as um

TABLE = pyarrow.table({"x": [1.0, 2.0, 3.0], "id": [1, 1, 2], "town": ["a", "b", "a"]})
LEVELS = (um.PureDP("0.3"), um.PureDP(1), um.PureDP(3), um.ApproxDP(1, "0.001"), um.GaussianDP(1))


def opened(most, neighbours="add-remove", rows_each=None):
    unit = um.rows(at_most=most) if rows_each is None else um.people("id", rows_each=rows_each, at_most=most)
    return um.Session(TABLE, "d", unit, neighbours, budget=10**6)


def tallies_of(size, most):
    return np.array([t for t in product(range(most + 1), repeat=size) if sum(t) <= most])


def loss_of(kind, loss, tally, q):
    """What it costs to name each candidate 0, 1, 2, ..., from the definitions."""
    size, rows = len(tally), sum(tally)
    if kind == "plurality":
        wrong = [j != int(np.argmax(tally)) for j in range(size)]
        return wrong if loss == "zero-one" else [max(tally) - t for t in tally]
    below = np.cumsum(tally)
    right = next(j for j in range(size) if below[j] >= q * rows)
    if loss == "rank":
        return [max(0, below[j - 1] - q * rows if j else 0, q * rows - below[j]) for j in range(size)]
    return [abs(j - right) if loss == "absolute" else j != right for j in range(size)]


# ---- the worst ----


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("rows_each", [None, 2])
@pytest.mark.parametrize("level", LEVELS, ids=str)
def test_average_and_worst_are_those_of_all_tallies(neighbours, rows_each, level):
    s = opened(6 // (rows_each or 1), neighbours, rows_each)
    asked = [("plurality", loss, None) for loss in ("zero-one", "shortfall")]
    asked += [
        ("quantile", loss, q) for q in (Fraction(1, 2), Fraction(9, 10)) for loss in ("absolute", "zero-one", "rank")
    ]
    every = tallies_of(3, 6)
    for kind, loss, q in asked:
        rest = ("town", ["a", "b", "c"]) if kind == "plurality" else ("x", q, [0, 1, 2])
        plan = getattr(s.plan, kind)(*rest, level, loss=loss)
        design, before = plan.question.joint.design, plan.accuracy["before"]
        costs = np.array([loss_of(kind, loss, tally.tolist(), q) for tally in every], dtype=float)
        risks = (design.mechanism.probabilities(every) * costs).sum(axis=1)
        assert before["average"] == pytest.approx(risks.mean())
        assert before["worst"] == pytest.approx(risks.max())
        assert design.worst_among == EVERY
        assert design.verify()


def test_the_worst_of_a_listed_prior_is_over_all_tallies_too():
    plan = opened(8).plan.plurality("town", ["a", "b", "c"], 3, loss="shortfall", prior={(8, 0, 0): 1})
    design, every = plan.question.joint.design, tallies_of(3, 8)
    risks = (design.mechanism.probabilities(every) * (every.max(axis=1, keepdims=True) - every)).sum(axis=1)
    assert plan.accuracy["before"]["average"] == pytest.approx(0, abs=1e-5)
    assert plan.accuracy["before"]["worst"] == pytest.approx(risks.max())
    usual = opened(8).plan.plurality("town", ["a", "b", "c"], 3, loss="shortfall")
    assert usual.accuracy["before"]["worst"] == pytest.approx(0.235012, abs=1e-6)  # at (0, 0, 1)


def small_contests(neighbours, rows_each):
    yield Votes((0, 1, 2, 3), 7, rows_each, neighbours)
    yield Ranks((0, 1, 2, 3), Fraction(9, 10), 7, rows_each, neighbours)
    yield Ranks((0, 1, 9), Fraction(1, 2), 11, rows_each, neighbours)
    yield Ranks((0, 1, 2, 3, 100), Fraction(1, 4), 6, rows_each, neighbours)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("rows_each", [1, 2])
def test_the_search_finds_the_worst_of_all_tallies(neighbours, rows_each):
    """Every mechanism and loss, as if the tallies were too many to list; only zero-one is said to be proved."""
    for contest in small_contests(neighbours, rows_each):
        every = contests.all_tallies(contest)
        one = contests.Tallies(every[:1], np.ones(1), None, "", np.zeros((1, len(contest.names))))
        for level in LEVELS:
            epsilon = pure_within(level).log_growth
            for option in selection._options(contest, level).values():
                for loss in contest.losses:
                    truth, _ = hardest(option, contest, loss, one, every, epsilon)
                    found, among = hardest(option, contest, loss, one, None, epsilon)
                    assert among == (PROVED if loss == "zero-one" else TRIED)
                    assert found <= truth * (1 + 1e-12)
                    if among == PROVED:
                        assert found == pytest.approx(truth)
                    assert found >= 0.985 * truth, (contest, level, option, loss)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1, 3])
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


def test_the_exponential_mechanism_is_worst_one_ahead_of_level_others():
    """Maximise a ratio: every other contributes (g - R)·b^g at most, so all are equally far behind the last listed."""
    contest = Votes(tuple(range(5)), 3000, 1, "add-remove")
    option = selection._options(contest, um.PureDP("0.2"))["exponential mechanism"]
    one = contests.Tallies(np.zeros((1, 5), dtype=int), np.ones(1), None, "", np.zeros((1, 5)))
    ladder = []
    for g in range(1, 3001):
        weights = [math.exp(-0.2 * (g - j / 5)) for j in range(1, 5)]
        ladder.append(g * sum(weights) / (1 + sum(weights)))
    found, _ = hardest(option, contest, "shortfall", one, None, 0.2)
    assert found == pytest.approx(max(ladder), rel=1e-9)


def test_the_rainbow_is_worst_with_one_close_behind_and_the_others_nowhere():
    contest = Votes((0, 1, 2), 3000, 1, "replace")
    option = selection._options(contest, um.PureDP("0.5"))["rainbow by winner"]
    one = contests.Tallies(np.zeros((1, 3), dtype=int), np.ones(1), None, "", np.zeros((1, 3)))
    pairs = [(w, r, g) for w in range(3) for r in range(3) if w != r for g in range(3001)]
    tallies = np.zeros((len(pairs), 3), dtype=int)
    for row, (w, r, g) in enumerate(pairs):
        tallies[row, w] = (3000 + g) // 2
        tallies[row, r] = tallies[row, w] - g
    risks = (option.probabilities(tallies) * contest.loss("shortfall", tallies)).sum(axis=1)
    assert hardest(option, contest, "shortfall", one, None, 0.5)[0] == pytest.approx(risks.max(), rel=1e-9)


# ---- levels that are not pure ----


@pytest.mark.parametrize("most", [20, 60, 5000])
@pytest.mark.parametrize("delta", ["1e-15", "1e-6", "0.01", "0.3"])
def test_a_delta_never_makes_an_answer_worse(most, delta):
    s = opened(most)
    for ask in (
        lambda level: s.plan.plurality("town", list("abcd"), level),
        lambda level: s.plan.quantile("x", 0.5, [1, 2, 3, 4], level),
    ):
        pure, granted = ask(1), ask(um.ApproxDP(1, delta))
        for name, by in granted.question.joint.design.alternatives.items():
            assert granted.accuracy["before"]["average"] <= by[granted.question.joint.design.loss], name
        assert granted.accuracy["before"]["average"] <= pure.accuracy["before"]["average"] * (1 + 1e-9)
        assert granted.question.joint.design.verify()


def test_the_proof_names_what_was_compared_and_what_is_implied():
    plan = opened(60).plan.plurality("town", list("abcd"), um.ApproxDP(1, 1e-6))
    proof = plan.details["proof"]
    assert plan.details["mechanism"] == "permute and flip"
    assert proof["because"] == "the least expected loss of rainbow by winner, permute and flip, exponential mechanism"
    assert sorted(plan.details["compared"]) == ["Utmost", "exponential mechanism", "rainbow by winner"]
    assert "exactly ln 2.71828554674-DP" in proof["private"]
    assert "implies (1, 1e-06)-DP" in proof["private"]
    rainbow = opened(60).plan.plurality("town", ["a", "b"], um.GaussianDP(1)).details
    assert rainbow["mechanism"] == "rainbow by winner"
    assert "on lines of (winner, lead), not among all, it is best" in rainbow["proof"]["because"]
    assert "at every tally" not in rainbow["proof"]["because"]


def test_a_design_at_a_level_that_does_not_imply_the_promise_is_refused():
    contest = Votes((0, 1, 2), 5, 1, "add-remove")
    design = selection.design_selection(contest, um.ApproxDP(1, "0.01"), "shortfall")
    assert isinstance(design.mechanism, selection.Weighted)
    assert design.verify()
    wide = um.PureDP.from_ratio(design.mechanism.level.ratio + Fraction(1, 10**9))
    decay = selection.decay_above(wide, contest.score_reach)
    wider = replace(design, mechanism=selection.Weighted(contest, wide, decay, with_replacement=False))
    assert wider.mechanism.verify()
    assert not wider.verify()


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("rows_each", [1, 3])
def test_a_decay_made_for_a_shorter_reach_is_refused(neighbours, rows_each):
    """A neighbour that moves scores by two or more needs a slower decay; the proof looks at that reach."""
    reaches = set()
    for contest in small_contests(neighbours, rows_each):
        reaches.add(contest.score_reach)
        for option in selection._options(contest, um.PureDP(1)).values():
            if isinstance(option, selection.Weighted):
                assert option.verify()
                for reach in range(1, contest.score_reach):
                    assert not replace(option, decay=selection.decay_above(um.PureDP(1), reach)).verify()
                for decay in (Fraction(0), Fraction(1), Fraction(-1, 2), Fraction(3, 2)):
                    assert not replace(option, decay=decay).verify()
    assert max(reaches) > 1


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("level", [um.ApproxDP("0.8", "0.01"), um.ApproxDP(0, "0.2"), um.GaussianDP("0.8")], ids=str)
def test_every_option_keeps_the_level_between_neighbouring_tallies(neighbours, level):
    """All pairs of neighbours, all events."""
    for contest in (Votes((0, 1, 2), 4, 1, neighbours), Ranks((0, 1, 2), Fraction(9, 10), 4, 1, neighbours)):
        options = selection._options(contest, level)
        assert len(options) == 3
        every = tallies_of(3, 4)
        moves = every[:, None, :] - every[None, :, :]
        up, down = np.maximum(moves, 0).sum(axis=2), np.maximum(-moves, 0).sum(axis=2)
        near = (np.maximum(up, down) == 1) & ((neighbours == "replace") | (np.minimum(up, down) == 0))
        one, other = np.nonzero(near)
        for option in options.values():
            chances = option.probabilities(every)
            for event in product((False, True), repeat=3):
                here, there = chances[one][:, event].sum(axis=1), chances[other][:, event].sum(axis=1)
                assert (here <= level.upper(np.minimum(there, 1)) + 1e-12).all()


@pytest.mark.parametrize("epsilon", ["0", "0.01", "1", "5"])
@pytest.mark.parametrize("delta", ["1e-9", "0.001", "0.5"])
def test_the_largest_pure_level_within_approximate_privacy(epsilon, delta):
    level = um.ApproxDP(epsilon, delta)
    limit = (math.exp(float(epsilon)) + float(delta)) / (1 - float(delta))
    found = pure_within(level)
    assert found.growth - 1 == pytest.approx(limit - 1, rel=1e-6)
    assert implies(found, level)
    assert not implies(um.PureDP.from_ratio(Fraction(limit) * (1 + Fraction(1, 10**10))), level)


@pytest.mark.parametrize("mu", ["0.001", "0.5", "1", "4", "20"])
def test_the_largest_pure_level_within_gaussian_privacy(mu):
    level, limit = um.GaussianDP(mu), norm.cdf(float(mu) / 2) / norm.cdf(-float(mu) / 2)
    found = pure_within(level)
    assert found.growth == pytest.approx(limit, rel=1e-10)
    grid = np.linspace(0, 1, 2001)
    assert (found.upper(grid) <= level.upper(grid) + 1e-15).all()
    assert implies(found, level)
    assert not implies(um.PureDP.from_ratio(Fraction(limit) * (1 + Fraction(1, 10**8))), level)


def test_edges_of_pure_levels():
    assert pure_within(um.PureDP(1)) == um.PureDP(1)
    assert pure_within(um.ApproxDP(1, 1e-16)) == um.PureDP(1)
    assert pure_within(um.GaussianDP(0)) is None
    assert implies(pure_within(um.ApproxDP(1000, 0.1)), um.ApproxDP(1000, 0.1))
    assert implies(pure_within(um.GaussianDP(100)), um.GaussianDP(100))
    assert not implies(um.PureDP(2), um.ApproxDP(1, 0.9))  # not decided: e^2 is not rational


# ---- averages ----


def test_the_readme_has_the_table_of_winners_as_computed():
    root = Path(__file__).parents[2]
    made = runpy.run_path(str(root / "examples" / "release_table.py"))
    assert made["winners"]() in (root / "README.md").read_text(encoding="utf-8")


def test_estimates_are_shown_to_the_digits_they_carry():
    shown = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "release_table.py"))["shown"]
    assert [shown(7.9948, e) for e in (0, 0.004, 0.012, 0.3, 3)] == ["7.995", "7.99", "8.0", "8", "10"]
    plan = opened(25_000).plan.plurality("town", list("abcd"), 1)
    assert plan.accuracy["before"]["standard_error"] > 0
    assert "on average (estimated, standard error" in str(plan)
    assert "estimated" not in str(opened(25_000).plan.plurality("town", ["a", "b"], 1))


@pytest.mark.parametrize("most", [25_000, 10**7])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2])
def test_two_candidates_are_exact_by_their_difference(most, epsilon):
    plan = opened(most).plan.plurality("town", ["a", "b"], epsilon)
    apart = np.arange(min(most, 2000) + 1.0)
    alike = np.floor((most - apart) / 2) + 1
    total = (most + 1) * (most + 2) / 2
    wrong = np.exp(-epsilon * apart) / (1 + math.exp(epsilon))  # by winner and lead, ties to the first
    rainbow = ((alike * wrong).sum() + (alike[1:] * wrong[:-1]).sum()) / total
    half = np.exp(-epsilon / 2 * (2 * apart + 1)) / 2
    flip = ((alike * half).sum() + (alike[1:] * half[:-1]).sum()) / total
    by = plan.details["compared"]
    assert plan.details["mechanism"] == "rainbow by winner"
    assert by["Utmost"]["zero-one"] == pytest.approx(rainbow, rel=1e-9)
    assert by["permute and flip"]["zero-one"] == pytest.approx(flip, rel=1e-9)
    design = plan.question.joint.design
    assert plan.accuracy["before"]["holds"] == "average: exact, over all tallies; worst: over all tallies"
    assert all(error == 0 for errors in design.errors.values() for error in errors.values())
    assert design.chance_right({"place": 0}) == (pytest.approx(1 - rainbow, abs=2 * rainbow), 0)


def test_kinds_of_tallies_agree_with_all_of_them(monkeypatch):
    contest = Votes((0, 1), 60, 1, "replace")
    for level in (um.PureDP(2), um.PureDP(30)):
        exact = selection._design(contest, level, "shortfall", None)
        with monkeypatch.context() as patch:
            patch.setattr(contests, "MOST_TALLIES", 0)
            kinds = selection._design(contest, level, "shortfall", None)
        assert kinds.holds == exact.holds == "exact, over all tallies"
        assert dict(kinds.expected) == pytest.approx(dict(exact.expected))
        assert kinds.worst == pytest.approx(exact.worst)
        assert np.array(kinds.right) == pytest.approx(np.array(exact.right))


@pytest.mark.parametrize("epsilon", [0.1, 1])
def test_estimates_against_a_sample_of_their_own(epsilon):
    """Four candidates, 25,000 rows: three hundred thousand tallies drawn evenly, and the errors of both."""
    plan = opened(25_000).plan.plurality("town", list("abcd"), epsilon)
    design, rng = plan.question.joint.design, np.random.default_rng(1)
    bars = np.sort(rng.integers(0, 25_004, (300_000, 4)), axis=1)
    tallies = np.diff(bars[(np.diff(bars, axis=1) > 0).all(axis=1)], axis=1, prepend=-1) - 1
    wrong = (design.mechanism.probabilities(tallies) * design.contest.loss("zero-one", tallies)).sum(axis=1)
    error = design.errors[design.name]["zero-one"]
    assert 0 < error < 0.02 * design.expected["zero-one"]
    own = wrong.std() / math.sqrt(len(wrong))
    assert abs(wrong.mean() - design.expected["zero-one"]) < 4 * math.hypot(own, error)


def test_lines_too_long_for_the_rainbow_leave_it_out():
    """Twenty towns at a small epsilon: minutes and gigabytes for a mechanism that permute and flip beats anyway."""
    s = um.Session(pyarrow.table({"town": ["a"]}), "d", um.rows(at_most=10**12), "add-remove", budget=1)
    plan = s.plan.plurality("town", [f"town {i}" for i in range(20)], 1e-4, loss="shortfall")
    assert plan.details["mechanism"] == "permute and flip"
    assert "rainbow" not in plan.details["proof"]["because"]
    assert "exponential mechanism" in plan.details["compared"]
