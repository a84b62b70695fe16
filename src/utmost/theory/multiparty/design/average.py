"""The best decision rule for a distribution of the inputs, over all transcripts at once.

For every transcript the best answer y maximises the sum over x of Pr[x] Pr[transcript | x] w(f(x), y) (LIM 4.5). The
probabilities are a Kronecker product, a factor per group of parties, so all transcripts together are one transform:
|Y| · k · 2^k operations where the literal sums take 2^(2k).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from utmost.errors import TooLarge
from utmost.exact.arrays import Floats, Integers
from utmost.theory.multiparty.design.symmetric_parties import MOST_NUMBERS, Groups

WIDE = 64
"""Small factors are multiplied out up to this many rows: one matrix product is quicker than many small ones."""


def best_accuracy(groups: Groups, table: Floats, weights: Floats) -> float:
    """The largest average accuracy that any decision rule reaches when states have these probabilities."""
    return float(scores(groups, table, weights).max(axis=0).sum())


def accuracy_bound(groups: Groups, table: Floats, weights: Floats) -> float:
    """What no decision rule exceeds on average, rounding included; hence also a bound on the worst case.

    With accuracies shifted to be 0 or more, everything summed is positive, so the relative error is at most the
    number of roundings on the way of each term.
    """
    least = float(table.min())
    states = groups.grid.size
    roundings = 128 + 12 * sum(map(len, groups.members)) + sum(groups.grid.shape) + min(states, WIDE * WIDE)
    best = best_accuracy(groups, table - least, weights) / float(weights.sum())  # as a file may hold any weights
    return least + best * (1 + roundings * 2.0**-52) + abs(least) * 2.0**-50


def best_answers(groups: Groups, table: Floats, weights: Floats) -> Integers:
    """The position of the best answer for every transcript; among equals the first."""
    return np.asarray(scores(groups, table, weights).argmax(axis=0))


def scores(groups: Groups, table: Floats, weights: Floats) -> Floats:
    """The accuracy of each answer (row) at each transcript (column), times the transcript's probability."""
    require_room(groups, table.shape[1])
    return carry(table.T[:, groups.grid.ravel()] * weights, groups.kernels())


def accuracy_by_state(groups: Groups, table: Floats, rule: Floats) -> Floats:
    """The expected accuracy at every state of a rule: the probability of each answer (row) at each transcript."""
    require_room(groups, table.shape[1])
    given = carry(rule, [factor.T for factor in groups.kernels()])
    return np.asarray((given * table.T[:, groups.grid.ravel()]).sum(axis=0))


def require_room(groups: Groups, answers: int) -> None:
    """Refuse transcripts that do not fit."""
    if answers * max(groups.transcripts(), groups.grid.size) > MOST_NUMBERS:
        raise TooLarge(
            f"{float(groups.transcripts()):.3g} transcripts and {answers} answers are too many for an exact value; use "
            "fewer parties, equal levels, or delta = 0. Responding and deciding by average accuracy still work."
        )


def carry(rows: Floats, factors: Sequence[Floats]) -> Floats:
    """Each row times the Kronecker product of the factors."""
    result, count = np.asarray(rows), len(rows)
    for factor in _wider(factors):
        result = np.tensordot(result.reshape(count, len(factor), -1), factor, axes=(1, 0))  # its axis goes last
    return np.asarray(result.reshape(count, -1))


def _wider(factors: Sequence[Floats]) -> list[Floats]:
    """The factors, neighbours multiplied out while they are small."""
    wide: list[Floats] = []
    for factor in factors:
        if wide and math.prod(wide[-1].shape) * math.prod(factor.shape) <= WIDE * WIDE:
            both = wide[-1][:, None, :, None] * factor[:, None, :]  # np.kron, without its overhead
            wide[-1] = both.reshape(len(wide[-1]) * len(factor), -1)
        else:
            wide.append(factor)
    return wide
