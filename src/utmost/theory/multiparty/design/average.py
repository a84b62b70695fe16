"""The best decision rule for a distribution of the inputs, for all transcripts at once.

For every transcript the best answer y maximises the sum over x of Pr[x] Pr[transcript | x] w(f(x), y) (LIM 4.5). The
probabilities are a Kronecker product, a factor per group of parties, so all transcripts together take one transform:
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
"""Small factors are multiplied out up to this many rows: one matrix product is faster than many small ones."""


def best_accuracy(groups: Groups, table: Floats, weights: Floats) -> float:
    """The largest average accuracy of any decision rule when states have these probabilities."""
    return float(scores(groups, table, weights).max(axis=0).sum())


def accuracy_bound(groups: Groups, table: Floats, weights: Floats) -> float:
    """Upper bound on the average accuracy of every decision rule, rounding included; so also on the worst case.

    With accuracies shifted to be 0 or more, all summands are positive, so the relative error is at most the number of
    roundings of each term.
    """
    least = float(table.min())
    states = groups.grid.size
    roundings = 128 + 12 * sum(map(len, groups.members)) + sum(groups.grid.shape) + min(states, WIDE * WIDE)
    best = best_accuracy(groups, table - least, weights) / float(weights.sum())  # a file may hold any weights
    return least + best * (1 + roundings * 2.0**-52) + abs(least) * 2.0**-50


def best_answers(groups: Groups, table: Floats, weights: Floats) -> Integers:
    """The position of the best answer for every transcript; among equals the first."""
    return np.asarray(scores(groups, table, weights).argmax(axis=0))


def scores(groups: Groups, table: Floats, weights: Floats) -> Floats:
    """The accuracy of each answer (row) at each transcript (column), times the transcript's probability."""
    require_room(groups, table.shape[1])
    return carry(table.T[:, groups.grid.ravel()] * weights, groups.kernels())


def accuracy_by_state(groups: Groups, table: Floats, rule: Floats) -> Floats:
    """The expected accuracy of a rule at every state; `rule[y, t]` is the probability of answer y at transcript t."""
    require_room(groups, table.shape[1])
    answer_probabilities = carry(rule, [factor.T for factor in groups.kernels()])
    return np.asarray((answer_probabilities * table.T[:, groups.grid.ravel()]).sum(axis=0))


def require_room(groups: Groups, answers: int) -> None:
    """Raise `TooLarge` if the arrays over transcripts do not fit in memory."""
    if answers * max(groups.transcripts(), groups.grid.size) > MOST_NUMBERS:
        raise TooLarge(
            f"{float(groups.transcripts()):.3g} transcripts and {answers} answers are too many for an exact value; use "
            "fewer parties, equal levels, or delta = 0. Responding and deciding by average accuracy still work."
        )


def carry(rows: Floats, factors: Sequence[Floats]) -> Floats:
    """Each row times the Kronecker product of the factors."""
    products, count = np.asarray(rows), len(rows)
    for factor in _wider(factors):
        products = np.tensordot(products.reshape(count, len(factor), -1), factor, axes=(1, 0))  # its axis goes last
    return np.asarray(products.reshape(count, -1))


def _wider(factors: Sequence[Floats]) -> list[Floats]:
    """The factors, with adjacent ones multiplied out while they are small."""
    merged: list[Floats] = []
    for factor in factors:
        if merged and math.prod(merged[-1].shape) * math.prod(factor.shape) <= WIDE * WIDE:
            product = merged[-1][:, None, :, None] * factor[:, None, :]  # np.kron, without its overhead
            merged[-1] = product.reshape(len(merged[-1]) * len(factor), -1)
        else:
            merged.append(factor)
    return merged
