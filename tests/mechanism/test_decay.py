"""The rational that stands for e^-epsilon: at or above it, also where that is too small to write down."""

from fractions import Fraction

import pytest

import utmost as um
from utmost.mechanism.decay import decay_above, keeps_level


@pytest.mark.parametrize("epsilon", [2**40, 10**15, "1e300"])
def test_an_epsilon_beyond_all_reason_has_a_decay_all_the_same(epsilon):
    """A file may name it: verifying such a file must neither hang nor fill the memory."""
    level = um.PureDP(epsilon)
    decay = decay_above(level)
    assert 0 < decay < Fraction(1, 2**1000)
    assert keeps_level(level, decay, 1)
