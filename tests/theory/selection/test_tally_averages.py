"""Averages over tallies: exact or estimated, the worst of them, and Bayes' rule, against enumeration and drawing."""

import math
from fractions import Fraction

import numpy as np
import pytest
from oracles.programs import right_by_enumeration

import utmost as um
from utmost.privacy.level import decay_above
from utmost.privacy.pure_part import pure_within
from utmost.space.integers import Tallies
from utmost.theory.selection import tally_averages
from utmost.theory.selection.choice_tables import LeadLines
from utmost.theory.selection.choices import Exponential, NoisyMax, PermuteAndFlip, ThreeRanks
from utmost.theory.selection.design.candidates import _closed_forms
from utmost.theory.selection.problem import Ranks, Votes
from utmost.theory.selection.tally_averages import (
    EVERY,
    PROVED,
    TRIED,
    WeighedTallies,
    chance_right,
    expected_loss,
    weigh_tallies,
    worst_case,
)

LEVELS = (um.PureDP("0.3"), um.PureDP(1), um.PureDP(3), um.ApproxDP(1, "0.001"), um.GaussianDP(1))


def one_of(kind, contest, level):
    """A law of this kind, as it is designed for the level."""
    return next(law for law in _closed_forms(contest, level) if isinstance(law, kind))


def nobody(contest):
    """A prior of one tally: a search for the hardest learns nothing from it."""
    none = np.zeros((1, contest.size))
    return WeighedTallies(none.astype(int), np.ones(1), None, "", none)


@pytest.fixture
def unlisted(monkeypatch):
    """Tallies are treated as if they were too many to list."""
    monkeypatch.setattr(tally_averages, "MOST_TALLIES", 0)
    tally_averages._uniform.cache_clear()
    yield
    tally_averages._uniform.cache_clear()


# ---- the worst ----


def small_contests(neighbours, each):
    yield Votes(Tallies(4, 7, neighbours, each))
    yield Ranks(Tallies(4, 7, neighbours, each), Fraction(9, 10), (0, 1, 2, 3))
    yield Ranks(Tallies(3, 11, neighbours, each), Fraction(1, 2), (0, 1, 9))
    yield Ranks(Tallies(5, 6, neighbours, each), Fraction(1, 4), (0, 1, 2, 3, 100))


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("each", [1, 2])
def test_averages_and_the_worst_are_those_of_all_tallies(neighbours, each):
    for contest in small_contests(neighbours, each):
        every = contest.tallies.vectors()
        for level in LEVELS:
            prior = weigh_tallies(contest, level)
            assert prior.words == "exact, over all tallies"
            for law in _closed_forms(contest, level):
                for loss in contest.losses:
                    risks = (law.probabilities(every) * contest.loss(loss, every)).sum(axis=1)
                    assert expected_loss(law, prior, loss) == (pytest.approx(risks.mean()), 0)
                    assert worst_case(law, loss, prior, level) == (pytest.approx(risks.max()), EVERY)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("each", [1, 2])
def test_the_search_finds_the_worst_of_all_tallies(unlisted, neighbours, each):
    """Every mechanism and loss, as if the tallies were too many to list; zero-one is proved, but of three ranks."""
    for contest in small_contests(neighbours, each):
        every = contest.tallies.vectors()
        for level in LEVELS:
            for law in _closed_forms(contest, level):
                for loss in contest.losses:
                    truth = (law.probabilities(every) * contest.loss(loss, every)).sum(axis=1).max()
                    found, among = worst_case(law, loss, nobody(contest), level)
                    proved = loss == "zero-one" and not isinstance(law, ThreeRanks)
                    assert among == (PROVED if proved else TRIED)
                    assert found <= truth * (1 + 1e-12)
                    if among == PROVED:
                        assert found == pytest.approx(truth), (contest, level, law.name)
                    assert found >= 0.985 * truth, (contest, level, law.name, loss)


def test_the_exponential_mechanism_is_worst_one_ahead_of_level_others():
    """Maximise a ratio: every other contributes (g - R)·b^g at most, so all are equally far behind the last listed."""
    contest = Votes(Tallies(5, 3000, "add-remove"))
    law = one_of(Exponential, contest, um.PureDP("0.2"))
    ladder = []
    for g in range(1, 3001):
        weights = [math.exp(-0.2 * (g - j / 5)) for j in range(1, 5)]
        ladder.append(g * sum(weights) / (1 + sum(weights)))
    found, among = worst_case(law, "shortfall", nobody(contest), um.PureDP("0.2"))
    assert among == TRIED
    assert found == pytest.approx(max(ladder), rel=1e-9)


def test_the_rainbow_is_worst_with_one_close_behind_and_the_others_nowhere():
    contest = Votes(Tallies(3, 3000, "replace"))
    law = one_of(LeadLines, contest, um.PureDP("0.5"))
    pairs = [(w, r, g) for w in range(3) for r in range(3) if w != r for g in range(3001)]
    tallies = np.zeros((len(pairs), 3), dtype=int)
    for row, (w, r, g) in enumerate(pairs):
        tallies[row, w] = (3000 + g) // 2
        tallies[row, r] = tallies[row, w] - g
    risks = (law.probabilities(tallies) * contest.loss("shortfall", tallies)).sum(axis=1)
    found, _ = worst_case(law, "shortfall", nobody(contest), um.PureDP("0.5"))
    assert found == pytest.approx(risks.max(), rel=1e-9)


# ---- averages that are not listed one by one ----


@pytest.mark.parametrize("most", [25_000, 10**7])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2])
def test_two_candidates_are_exact_by_their_difference(most, epsilon):
    """Closed forms: of the tallies d votes apart there are (N - d)//2 + 1."""
    contest, level = Votes(Tallies(2, most, "add-remove")), um.PureDP(epsilon)
    apart = np.arange(min(most, 2000) + 1.0)
    alike = np.floor((most - apart) / 2) + 1
    total = (most + 1) * (most + 2) / 2
    wrong = np.exp(-epsilon * apart) / (1 + math.exp(epsilon))  # by winner and lead, ties to the first
    rainbow = ((alike * wrong).sum() + (alike[1:] * wrong[:-1]).sum()) / total
    half = np.exp(-epsilon / 2 * (2 * apart + 1)) / 2
    flip = ((alike * half).sum() + (alike[1:] * half[:-1]).sum()) / total
    prior = weigh_tallies(contest, level)
    for kind, known in ((NoisyMax, rainbow), (LeadLines, rainbow), (PermuteAndFlip, flip)):
        law = one_of(kind, contest, level)
        assert expected_loss(law, prior, "zero-one") == (pytest.approx(known, rel=1e-9), 0)
        assert worst_case(law, "zero-one", prior, level)[1] == EVERY
        assert chance_right(law, prior)[0] == (pytest.approx(1 - known, abs=2 * known), 0)


def test_kinds_of_tallies_agree_with_all_of_them(unlisted, monkeypatch):
    contest = Votes(Tallies(2, 60, "replace"))
    for level in (um.PureDP(2), um.PureDP(30)):
        kinds = weigh_tallies(contest, level)
        with monkeypatch.context() as patch:
            patch.setattr(tally_averages, "MOST_TALLIES", 10**4)
            every = tally_averages._uniform.__wrapped__(contest, level)
        assert kinds.words == every.words == "exact, over all tallies"
        assert len(kinds.tallies) < len(every.tallies)
        for law in _closed_forms(contest, level):
            for loss in contest.losses:
                assert expected_loss(law, kinds, loss).value == pytest.approx(expected_loss(law, every, loss).value)
                assert worst_case(law, loss, kinds, level)[0] == pytest.approx(worst_case(law, loss, every, level)[0])
            assert np.array(chance_right(law, kinds)) == pytest.approx(np.array(chance_right(law, every)))


@pytest.mark.parametrize(
    "contest",
    [Votes(Tallies(3, 40, "replace")), Ranks(Tallies(3, 40, "add-remove"), Fraction(1, 4), (0, 1, 2))],
    ids=str,
)
def test_drawn_lines_estimate_the_exact_average(unlisted, contest):
    """Where all tallies can be listed, the estimate from lines is the exact average within its standard error."""
    level, every = um.PureDP(1), contest.tallies.vectors()
    drawn = weigh_tallies(contest, level)
    assert drawn.words.startswith("estimated on")
    for law in _closed_forms(contest, level):
        for loss in contest.losses:
            value, error = expected_loss(law, drawn, loss)
            exact = (law.probabilities(every) * contest.loss(loss, every)).sum(axis=1).mean()
            assert 0 < error < 0.05 * value
            assert abs(value - exact) < 4 * error, (law.name, loss)


@pytest.mark.parametrize("epsilon", [0.1, 1])
@pytest.mark.parametrize("kind", [NoisyMax, PermuteAndFlip])
def test_estimates_against_a_sample_of_their_own(epsilon, kind):
    """Four candidates, 25,000 rows: three hundred thousand tallies drawn evenly, and the errors of both."""
    contest, level, rng = Votes(Tallies(4, 25_000, "add-remove")), um.PureDP(epsilon), np.random.default_rng(1)
    law = one_of(kind, contest, level)
    value, error = expected_loss(law, weigh_tallies(contest, level), "zero-one")
    assert 0 < error < 0.02 * value
    bars = np.sort(rng.integers(0, 25_004, (300_000, 4)), axis=1)
    tallies = np.diff(bars[(np.diff(bars, axis=1) > 0).all(axis=1)], axis=1, prepend=-1) - 1
    wrong = (law.probabilities(tallies) * contest.loss("zero-one", tallies)).sum(axis=1)
    assert abs(wrong.mean() - value) < 4 * math.hypot(wrong.std() / math.sqrt(len(wrong)), error)


def test_wide_promises_look_far_enough():
    """A Gaussian promise of small mu tells winners apart late; the average must see that far."""
    contest = Votes(Tallies(2, 20_000, "add-remove"))
    loose, strict = (
        expected_loss(one_of(LeadLines, contest, level), weigh_tallies(contest, level), "zero-one").value
        for level in (um.GaussianDP("0.01"), um.GaussianDP("0.1"))
    )
    assert loose > 5 * strict > 0


# ---- Bayes' rule ----


@pytest.mark.parametrize("level", LEVELS, ids=str)
def test_a_named_one_is_right_as_often_as_bayes_says(level):
    listed = {(5, 0, 1): 0.7, (0, 5, 1): 0.2, (1, 1, 4): 0.1}
    for contest in (Votes(Tallies(3, 6, "add-remove")), Ranks(Tallies(3, 6, "replace"), Fraction(9, 10), (0, 1, 2))):
        alike = dict.fromkeys(map(tuple, contest.tallies.vectors().tolist()), 1 / contest.tallies.points)
        for law in _closed_forms(contest, level):
            for prior in (listed, alike):
                found = chance_right(law, weigh_tallies(contest, level, None if prior is alike else prior))
                assert [each.value for each in found] == pytest.approx(right_by_enumeration(law, prior))


def test_what_was_estimated_agrees_with_the_enumeration_within_its_error(unlisted):
    contest, level = Ranks(Tallies(4, 20, "add-remove"), Fraction(3, 4), (0, 1, 2, 3)), um.PureDP("0.5")
    law, drawn = one_of(PermuteAndFlip, contest, level), weigh_tallies(contest, level)
    exact = right_by_enumeration(law, dict.fromkeys(map(tuple, contest.tallies.vectors().tolist()), 1.0))
    known = [(found, truth) for found, truth in zip(chance_right(law, drawn), exact, strict=True) if found is not None]
    assert len(known) >= 2
    for (chance, error), truth in known:
        assert 0 < abs(chance - truth) <= 4 * error


def test_the_mass_left_out_is_counted_for_who_wins_there():
    contest, level = Votes(Tallies(3, 10_000, "add-remove")), um.PureDP(2)
    drawn = weigh_tallies(contest, level)
    assert drawn.weights.sum() + drawn.far.sum() == pytest.approx(1)
    assert drawn.far.sum() > 0.9
    for known in chance_right(one_of(NoisyMax, contest, level), drawn):  # nearly all tallies are clear wins
        assert known.value > 0.99


# ---- privacy of what is not pure ----


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("level", [um.ApproxDP("0.8", "0.01"), um.ApproxDP(0, "0.2"), um.GaussianDP("0.8")], ids=str)
def test_every_law_keeps_the_level_between_neighbouring_tallies(neighbours, level):
    """All pairs of neighbours, both ways, all events: from the floating-point law, with room for rounding alone."""
    tallies = Tallies(3, 4, neighbours)
    one, other = tallies.space().edge_indices.T
    for contest in (Votes(tallies), Ranks(tallies, Fraction(9, 10), (0, 1, 2))):
        laws = _closed_forms(contest, level)
        assert len(laws) >= 4
        for law in laws:
            assert law.prove(tallies, level).passed
            chances = law.probabilities(tallies.vectors())
            for event in ([0], [1], [2], [0, 1], [0, 2], [1, 2]):
                here, there = chances[one][:, event].sum(axis=1), chances[other][:, event].sum(axis=1)
                for a, b in ((here, there), (there, here)):
                    assert (a <= level.upper(np.minimum(b, 1)) + 1e-12).all(), law.name


def test_a_level_that_does_not_imply_the_promise_is_refused():
    """A ratio a billionth above the largest that implies the level: private by itself, and not what was promised."""
    contest, level = Votes(Tallies(3, 5, "add-remove")), um.ApproxDP(1, "0.01")
    wide = um.PureDP.from_ratio(pure_within(level).ratio + Fraction(1, 10**9))
    for kind, reach in ((NoisyMax, 1), (PermuteAndFlip, contest.score_reach), (Exponential, contest.score_reach)):
        assert one_of(kind, contest, level).prove(contest.tallies, level).passed
        wider = kind(contest, wide, decay_above(wide, reach))
        assert wider.prove(contest.tallies, wide).passed
        assert not wider.prove(contest.tallies, level).passed


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("each", [1, 3])
def test_a_decay_made_for_a_shorter_reach_is_refused(neighbours, each):
    """A neighbour that moves scores by two or more needs a slower decay; the proof looks at that reach."""
    for contest in small_contests(neighbours, each):
        assert contest.score_reach > 1
        for kind in (PermuteAndFlip, Exponential):
            made = [kind(contest, um.PureDP(1), decay_above(um.PureDP(1), k + 1)) for k in range(contest.score_reach)]
            passed = [law.prove(contest.tallies, um.PureDP(1)).passed for law in made]
            assert passed == [False] * (contest.score_reach - 1) + [True]
