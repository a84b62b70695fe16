"""Top lists: draws against closed forms, all events of neighbouring tallies, and what is missed by another road."""

from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

import utmost as um
from utmost.errors import TooLarge
from utmost.mechanism.noise.independent import IndependentLaw
from utmost.mechanism.noise.staircase import geometric_law
from utmost.mechanism.noise.vector import NoisyVector
from utmost.space.integers import Tallies
from utmost.theory.selection.choices import NoisyMax
from utmost.theory.selection.design.top_lists import best_top, candidates
from utmost.theory.selection.problem import Votes
from utmost.theory.selection.top_lists import TopByNoise, TopByPeeling, missed

THIRD = Fraction(1, 3)


def peeled(counts, k, reach):
    """How likely every order of k is: geometric noisy max of those that are left, round by round, in closed form."""
    space = Tallies(len(counts), 99, "add-remove" if reach == 1 else "replace")
    found = {}
    for order in permutations(range(len(counts)), k):
        chance, left = 1.0, list(range(len(counts)))
        for place in order:
            if len(left) > 1:
                law = NoisyMax(Votes(Tallies(len(left), space.rows, space.neighbours)), um.PureDP.from_ratio(3), THIRD)
                chance *= law.probabilities(np.array([[counts[i] for i in left]]))[0][left.index(place)]
            left.remove(place)
        found[order] = chance
    return found


@pytest.mark.parametrize("reach", [1, 2])
def test_peeling_is_the_winner_of_those_left(reach):
    counts = (4, 5, 3)
    expected = peeled(counts, 2, reach)
    assert sum(expected.values()) == pytest.approx(1)
    mechanism = TopByPeeling(2, THIRD, reach)
    drawn = Counter(mechanism.sample(counts) for _ in range(3000))
    for order, chance in expected.items():
        assert drawn[order] / 3000 == pytest.approx(chance, abs=5 * np.sqrt(chance / 3000))


def test_peeling_keeps_its_level_between_neighbours():
    """Two rounds of a factor 3 each are a factor 9, for every order, whatever one row does."""
    here = peeled((2, 3, 2), 2, 1)
    for near in ((3, 3, 2), (1, 3, 2), (2, 2, 2), (2, 4, 2)):
        there = peeled(near, 2, 1)
        assert all(here[order] <= 9 * there[order] * (1 + 1e-12) for order in here)
    space, level = Tallies(3, 9, "add-remove"), um.PureDP.from_ratio(9)
    assert TopByPeeling(2, THIRD, 1).prove(space, level).passed
    assert not TopByPeeling(3, THIRD, 1).prove(space, level).passed
    assert not TopByPeeling(2, THIRD, 1).prove(Tallies(3, 9, "replace"), level).passed
    assert not TopByPeeling(4, THIRD, 2).prove(Tallies(3, 9, "replace"), um.PureDP(50)).passed


def test_noise_on_counts_is_proved_for_their_moves():
    noise = NoisyVector(IndependentLaw(3, geometric_law(THIRD)))
    assert TopByNoise(2, noise).prove(Tallies(3, 9, "add-remove"), um.PureDP.from_ratio(3)).passed
    assert not TopByNoise(2, noise).prove(Tallies(3, 9, "replace"), um.PureDP.from_ratio(3)).passed
    assert TopByNoise(2, noise).prove(Tallies(3, 9, "replace"), um.PureDP.from_ratio(9)).passed
    assert not TopByNoise(2, noise).prove(Tallies(4, 9, "add-remove"), um.PureDP.from_ratio(3)).passed


def test_what_is_missed_by_drawing_exactly():
    """The average in floats against exact draws at tallies of another stream."""
    space, rng = Tallies(4, 30, "add-remove"), np.random.default_rng(5)
    for mechanism in candidates(space, 2, um.PureDP(1)):
        lost = []
        for _ in range(1500):
            bars = np.sort(rng.choice(34, 4, replace=False))
            tally = (np.diff(bars, prepend=-1) - 1).tolist()
            truth = set(sorted(range(4), key=lambda i: -tally[i])[:2])
            lost.append(1 - len(truth & set(mechanism.sample(tally))) / 2)
        found, error = missed(mechanism, space)
        assert found == pytest.approx(np.mean(lost), abs=5 * np.std(lost) / np.sqrt(1500) + 5 * error)


def test_one_winner_is_the_winners_mechanism():
    """At k = 1 geometric noisy max errs as often as is known, and less than noise on all counts."""
    best = best_top(Tallies(3, 20, "add-remove"), 1, um.PureDP(1))
    assert isinstance(best.mechanism, TopByPeeling)
    assert best.value == pytest.approx(0.0600401, abs=0.005)
    assert best.verify()
    many = best_top(Tallies(40, 2000, "add-remove"), 10, um.PureDP(1))
    assert isinstance(many.mechanism, TopByNoise)
    assert isinstance(best_top(Tallies(5, 99, "replace"), 2, um.GaussianDP(1)).mechanism, TopByNoise)


def test_noise_too_wide_to_be_listed_is_refused():
    """Before memory is taken: at the least epsilon of people with many rows it would be terabytes."""
    with pytest.raises(TooLarge, match="too wide to be listed"):
        best_top(Tallies(3, 10**12, "replace", 10**6), 2, um.PureDP("0.000001"))
