"""Falling by powers of a decay: which levels that keeps, on both sides of the very threshold."""

import math
from fractions import Fraction

import pytest

import utmost as um
from utmost.mechanism.decay import implies_level
from utmost.privacy.pure_within import pure_within

LEVELS = [um.PureDP.from_ratio(5), um.ApproxDP(1, "0.1"), um.ApproxDP(0, "0.2"), um.GaussianDP(1), um.GaussianDP(3)]


@pytest.mark.parametrize("level", LEVELS, ids=str)
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_level_is_kept_up_to_the_largest_pure_one_within_it(level, steps):
    """The ratio of one step is the root of what the level allows: a billionth less is kept, a billionth more is not."""
    root = Fraction(math.pow(float(pure_within(level).ratio), 1 / steps))
    little = Fraction(1, 10**9)
    assert implies_level(level, 1 / (root * (1 - little)), steps)
    assert not implies_level(level, 1 / (root * (1 + little)), steps)


def test_no_decay_and_no_limit():
    """Nothing moved keeps every level; probabilities that may fall to 0 keep only levels without a limit."""
    assert implies_level(um.PureDP(0), Fraction(1, 2), 0)
    assert implies_level(um.PureDP(0), Fraction(1), 5)
    for kind in (um.PureDP, um.GaussianDP, um.ZCDP):
        assert implies_level(kind(math.inf), Fraction(0), 1)
        assert not implies_level(kind(5), Fraction(0), 1)
