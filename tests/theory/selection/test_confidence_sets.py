"""Intervals of a quantile from the name of a candidate alone: they hold it at every tally, by every mechanism's law."""

from fractions import Fraction

import numpy as np
import pytest

import utmost as um
from utmost.design.rainbow import best_quantile, choice_facts
from utmost.privacy.level import decay_above
from utmost.space.integers import Tallies
from utmost.theory.selection.choices import NoisyMax
from utmost.theory.selection.confidence_sets import confidence_intervals
from utmost.theory.selection.problem import Ranks


def ruled_out(law, tallies, confidence=0.95):
    """At each tally, the chance of a name whose interval does not hold the quantile."""
    low, high = np.array(confidence_intervals(law, confidence)).T
    winners = law.contest.winners(tallies)[:, None]
    return (law.probabilities(tallies) * ((winners < low) | (winners > high))).sum(axis=1)


@pytest.mark.parametrize("level", [0.5, 3.2, 4.5, um.ApproxDP(4, "1e-3"), um.GaussianDP(3)], ids=str)
@pytest.mark.parametrize(("cells", "rows", "neighbours"), [(3, 8, "add-remove"), (4, 5, "replace")])
def test_intervals_hold_the_quantile_at_every_tally(cells, rows, neighbours, level):
    """All mechanisms that were looked at, the linear program's table and the rainbow among them."""
    tallies = Tallies(cells, rows, neighbours)
    every, seen = tallies.vectors(), set()
    best = best_quantile(tallies, "2/5", [0, 1, 5, 6][:cells], level)
    for law in choice_facts(best).laws.values():
        seen.add(law.name)
        assert all(low <= named <= high for named, (low, high) in enumerate(confidence_intervals(law, 0.95)))
        for confidence in (0.95, 0.8):
            assert ruled_out(law, every, confidence).max() <= 1 - confidence, law.name
    assert "rainbow by winner" in seen


@pytest.mark.parametrize(("cells", "epsilon"), [(11, 4.0), (150, 4.0), (150, 6.0)])
def test_intervals_hold_the_quantile_of_many_rows(cells, epsilon):
    """At tallies that are hard for every mechanism: one or two heaps, the quantile at the border of them."""
    ranks = Ranks(Tallies(cells, 20_000, "add-remove"), Fraction(1, 2), tuple(map(float, range(cells))))
    hard = np.concatenate([ranks.hard_tallies(5), np.zeros((1, cells), dtype=np.int64)])
    best = best_quantile(ranks.tallies, 0.5, range(cells), epsilon)
    for law in choice_facts(best).laws.values():
        assert ruled_out(law, hard).max() <= 0.05, law.name
    assert ruled_out(best.mechanism, hard).max() > 0.02  # something is ruled out, and not much more could be


def test_how_wide_they_are():
    """All candidates below ln 19; then as many may be left out for each as 1/(1 + e^epsilon) fits into 5 %."""

    def spans(epsilon, cells=9):
        best = best_quantile(Tallies(cells, 500, "replace"), 0.5, range(cells), epsilon, programs=False)
        return [choice_facts(best).sure(named) for named in range(cells)]

    assert set(spans(2.94)) == {(0, 8)}
    # four may be left out for each: 2 keeps the names 0 to 4, and 3 those from 1 to 5, so the name 0 leaves 0 to 2
    assert spans(4.4) == [(0, 2), (0, 3), (0, 4), (0, 5), (0, 8), (3, 8), (4, 8), (5, 8), (6, 8)]
    assert set(spans(5.1)) == {(named, named) for named in range(9)}  # all eight: 8/(1 + e^5.1) < 0.05


@pytest.mark.parametrize("others", [1, 3, 20])
def test_noisy_max_confuses_as_often_as_it_can(others):
    """The bound is the chance itself with nobody in the table, where all scores tie."""
    level = um.PureDP(3)
    ranks = Ranks(Tallies(others + 1, 50, "add-remove"), Fraction(1, 2), tuple(map(float, range(others + 1))))
    law = NoisyMax(ranks, level, decay_above(level))
    wrong = law.probabilities(np.zeros((1, others + 1), dtype=np.int64))[0, 1:].sum()
    assert law.wrong_at_most(others) == pytest.approx(wrong, rel=1e-9)
