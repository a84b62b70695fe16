"""The rational that stands for e^-epsilon: at or above it, also where that is too small to write down."""

import math
from fractions import Fraction

import pytest

import utmost as um
from utmost.privacy.level import decay_above, decay_satisfies
from utmost.privacy.pure_part import pure_within

LEVELS = [um.PureDP.from_ratio(5), um.ApproxDP(1, "0.1"), um.ApproxDP(0, "0.2"), um.GaussianDP(1), um.GaussianDP(3)]


@pytest.mark.parametrize("epsilon", [2**40, 10**15, "1e300"])
def test_an_epsilon_beyond_all_reason_has_a_decay_all_the_same(epsilon):
    """A file may name it: verifying such a file must neither hang nor fill the memory."""
    level = um.PureDP(epsilon)
    decay = decay_above(level)
    assert 0 < decay < Fraction(1, 2**1000)
    assert decay_satisfies(level, decay, 1)


@pytest.mark.parametrize("level", LEVELS, ids=str)
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_level_is_kept_up_to_the_largest_pure_one_within_it(level, steps):
    """The ratio of one step is the root of what the level allows: a billionth less is kept, a billionth more is not."""
    root = Fraction(math.pow(float(pure_within(level).ratio), 1 / steps))
    little = Fraction(1, 10**9)
    assert level.kept_by(1 / (root * (1 - little)), steps)
    assert not level.kept_by(1 / (root * (1 + little)), steps)


def test_no_decay_and_no_limit():
    """Nothing moved keeps every level; probabilities that may fall to 0 keep only levels without a limit."""
    assert um.PureDP(0).kept_by(Fraction(1, 2), 0)
    assert um.PureDP(0).kept_by(Fraction(1), 5)
    for kind in (um.PureDP, um.GaussianDP, um.ZCDP):
        assert kind(math.inf).kept_by(Fraction(0), 1)
        assert not kind(5).kept_by(Fraction(0), 1)


def test_a_ratio_is_its_own_decay():
    """Exactly, over one step; over several, the least rational found whose power is not below it."""
    assert decay_above(um.PureDP.from_ratio(3)) == Fraction(1, 3)
    root = decay_above(um.PureDP.from_ratio(9), 2)
    assert Fraction(1, 3) <= root < Fraction(1, 3) + Fraction(1, 10**12)
    assert decay_satisfies(um.PureDP.from_ratio(9), root, 2)
    assert not decay_satisfies(um.PureDP.from_ratio(9), root, 3)
