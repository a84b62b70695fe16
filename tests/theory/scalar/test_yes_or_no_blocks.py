"""Yes or no by blocks of a line: privacy against all pairs of integers, and what a file may hold."""

from itertools import pairwise

import numpy as np
import pytest

import utmost as um
from utmost.errors import InvalidInput
from utmost.space.line import Line
from utmost.theory.scalar.yes_or_no_blocks import Blocks

YES, RATIO = (1, 3, 8, 13, 15), 3
"""Sixteenths of yes in five blocks: neighbouring blocks keep the ratio for yes and for no, others do not."""


def of_width(width):
    weights = np.array([[16 - yes, yes] for yes in YES])
    return Blocks(0, width, 2, weights, 4)


def is_private(blocks, line):
    """Every two integers within reach, by the block that each is answered from."""
    rows = [blocks.weights[blocks.block(t)] for t in range(line.first, line.last + 1)]
    near = ((a, b) for i, a in enumerate(rows) for b in rows[i + 1 : i + 1 + line.reach])
    return all((a <= RATIO * b).all() and (b <= RATIO * a).all() for a, b in near)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("reach", [1, 2, 3, 4, 5])
def test_privacy_is_what_all_pairs_of_integers_say(width, reach):
    """Neighbours that are farther apart than a block is wide lie in blocks two apart."""
    blocks, line = of_width(width), Line(-20, 20, reach)
    assert all(max(a, b) <= RATIO * min(a, b) for a, b in pairwise(YES))
    proved = blocks.prove(line, um.PureDP.from_ratio(RATIO)).passed
    assert proved == is_private(blocks, line) == (reach <= width)


def test_the_probability_of_yes_is_the_share_of_its_weight():
    """Of block b, found from the integer's place; an honest file comes back as it was."""
    blocks = Blocks.from_json(of_width(2).to_json())
    assert [blocks.block(t) for t in (-9, -4, -3, -2, -1, 0, 1, 2, 3, 4, 99)] == [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert blocks.yes.tolist() == [yes / 16 for yes in YES]
    assert blocks.wrong.tolist() == [1 / 16, 3 / 16, 8 / 16, 3 / 16, 1 / 16]


@pytest.mark.parametrize(
    "change",
    [
        {"weights": [["8", "8"]]},
        {"weights": [["8", "8"], ["16"]]},
        {"weights": [["17", "-1"], ["8", "8"]]},
        {"width": 0},
        {"bits": 0},
        {"no": 1.0},
        {"no": 6},
        {"weights": [["8", "8"]], "no": 1},
    ],
)
def test_impossible_blocks_are_refused(change):
    with pytest.raises(InvalidInput):
        Blocks.from_json(of_width(1).to_json() | change)
