"""Groups of interchangeable parties: the same level, and a function that is invariant when two of them swap bits.

Of such a group only the number of ones matters, and of its messages only how many there are of each kind. A party
that is not interchangeable with any other is a group of one. So every computation runs over states (ones per group) and
transcripts (counts of messages per group): 2^k of each at worst, k + 1 if all parties are interchangeable.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce

import numpy as np

from utmost.errors import TooLarge
from utmost.exact.arrays import Floats, Integers
from utmost.privacy import ApproxDP
from utmost.space.points import Histograms
from utmost.theory.multiparty.design.functions import Question
from utmost.theory.multiparty.design.response import chances

MOST_NUMBERS = 2**25
"""The largest array: a quarter of a gigabyte."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of interchangeable parties, and the value of the function at every state.

    Attributes
    ----------
    members : tuple of tuples of int
        The parties of each group.
    levels : tuple of ApproxDP
        The level of each group.
    grid : array of int
        The position of the function's value, an axis per group, indexed by its number of ones.
    """

    members: tuple[tuple[int, ...], ...]
    levels: tuple[ApproxDP, ...]
    grid: Integers

    def knowing(self, party: int, bit: int) -> Groups:
        """The groups without one party, whose bit is known."""
        axis = next(j for j, group in enumerate(self.members) if party in group)
        rest = tuple(other for other in self.members[axis] if other != party)
        grid = np.take(self.grid, np.arange(bit, bit + len(rest) + 1), axis=axis)
        if rest:
            return Groups((*self.members[:axis], rest, *self.members[axis + 1 :]), self.levels, grid)
        other_levels = self.levels[:axis] + self.levels[axis + 1 :]
        return Groups(self.members[:axis] + self.members[axis + 1 :], other_levels, grid.squeeze(axis))

    def kernels(self) -> list[Floats]:
        """For every group, the probability of each multiset of messages (column) given its ones (row)."""
        return [kernel(level, len(group)) for level, group in zip(self.levels, self.members, strict=True)]

    def transcripts(self) -> int:
        """The number of transcripts: multisets of messages per group, over all groups."""
        return math.prod(map(_collections, self.levels, map(len, self.members)))

    def evenly(self) -> Floats:
        """The probability of every state when all bits are fair coins."""
        shares = [_fair(len(group)) for group in self.members]
        return np.asarray(reduce(np.multiply.outer, shares, np.ones(()))).ravel()

    def transcript(self, messages: Mapping[int, int]) -> int:
        """The position of a transcript, given every party's message."""
        position = 0
        for level, group in zip(self.levels, self.members, strict=True):
            kinds = chances(level).shape[1]
            counts = np.bincount([messages[party] for party in group], minlength=kinds)
            own = int(counts[1]) if kinds == 2 else int(Histograms(len(group), kinds).positions(counts[None, :])[0])
            position = position * _collections(level, len(group)) + own
        return position


def find_groups(question: Question, levels: Sequence[ApproxDP]) -> Groups:
    """The groups of interchangeable parties, by trying swaps; `TooLarge` if the states do not fit."""
    by_level: dict[ApproxDP, list[list[int]]] = {}
    for party, level in enumerate(levels):
        peers = by_level.setdefault(level, [])
        for group in peers:
            if question.counted or _may_swap(question, group[0], party):
                group.append(party)
                break
        else:
            peers.append([party])
    groups = sorted(group for peers in by_level.values() for group in peers)
    states = math.prod(len(group) + 1 for group in groups)
    if states > MOST_NUMBERS or max(map(len, groups)) ** 2 > MOST_NUMBERS:
        raise TooLarge(
            f"{len(levels)} parties in {len(groups)} groups of equal level make {float(states):.3g} states, too many "
            "for an exact value; use fewer levels or parties. Responding and deciding by average accuracy still work."
        )
    if question.counted:
        steps = [np.arange(len(group) + 1) for group in groups]
    else:  # the settings where the first members of each group hold the ones
        weights = [[2 ** (question.parties - 1 - party) for party in group] for group in groups]
        steps = [np.concatenate([[0], np.cumsum(bit_weights)]) for bit_weights in weights]
    grid = question.positions[reduce(np.add.outer, steps)]
    return Groups(tuple(map(tuple, groups)), tuple(levels[group[0]] for group in groups), grid)


def _may_swap(question: Question, one: int, other: int) -> bool:
    """Whether the function is invariant when two parties swap their bits."""
    low, high = sorted((one, other))
    halves = question.positions.reshape(2**low, 2, 2 ** (high - low - 1), 2, -1)
    return np.array_equal(halves[:, 0, :, 1], halves[:, 1, :, 0])


def _collections(level: ApproxDP, size: int) -> int:
    """The number of multisets of messages that a group of this size may send."""
    return math.comb(size + (kinds := chances(level).shape[1]) - 1, kinds - 1)


def kernel(level: ApproxDP, size: int) -> Floats:
    """The probability of each multiset of messages (column) given the number of ones (row) in a group of this size.

    Two messages: by the number of 1s. Four: in the order of `Histograms(size, 4)`. All terms are positive, so
    every entry has a small relative error.
    """
    table = chances(level)
    if table.shape[1] == 2:
        if size == 1:
            return table
        return _two_messages(float(table[0, 0]), float(table[0, 1]), size)
    kinds = Histograms(size, 4)
    if (size + 1) * len(kinds) > MOST_NUMBERS:
        raise TooLarge(f"{size} parties with delta > 0 send too many different messages for an exact value; use fewer.")
    delta, rest = float(table[0, 0]), float(table[0, 1] + table[0, 2])
    truthful = float(table[0, 1] / rest)
    revealed = binomials(size, delta)  # row n: how many of n parties reveal their bit
    zeros, _, twos, ones = kinds.table.T
    probabilities = np.zeros((size + 1, len(kinds)))
    for hidden in range(size + 1):
        inner = _two_messages(truthful, float(table[0, 2] / rest), hidden)
        here = np.flatnonzero(zeros + ones == size - hidden)
        for total_ones in range(size + 1):  # ones among all; those not revealed are among the hidden
            hidden_ones = total_ones - ones[here]
            fits = (hidden_ones >= 0) & (hidden_ones <= hidden)
            at, hidden_ones = here[fits], hidden_ones[fits]
            probabilities[total_ones, at] = (
                revealed[size - total_ones, zeros[at]] * revealed[total_ones, ones[at]] * inner[hidden_ones, twos[at]]
            )
    return probabilities


@lru_cache(maxsize=4)
def _two_messages(truthful: float, flipped: float, size: int) -> Floats:
    """The distribution of the number of 1-messages, a row per number of ones: a sum of two binomials."""
    right, wrong = binomials(size, truthful, flipped), binomials(size, flipped, truthful)
    rows = [np.convolve(right[ones, : ones + 1], wrong[size - ones, : size - ones + 1]) for ones in range(size + 1)]
    return np.array(rows)


@lru_cache(maxsize=64)
def _fair(size: int) -> Floats:
    """The distribution of the number of heads among `size` fair coins."""
    return np.array(binomials(size, 0.5)[-1])


def binomials(most: int, yes: float, no: float | None = None) -> Floats:
    """Row n: the binomial distribution of n trials with probability `yes` each, for n = 0 to `most`."""
    other = 1 - yes if no is None else no
    rows = np.zeros((most + 1, most + 1))
    rows[0, 0] = 1
    for n in range(most):
        rows[n + 1] = rows[n] * other
        rows[n + 1, 1:] += rows[n, :-1] * yes
    return rows
