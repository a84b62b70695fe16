"""The tally at which a mechanism that names a candidate loses most: over all tallies, or by a search that says so.

Only the probability of a wrong answer has its worst tally known in general: nobody at all. There the winner of a vote
leads by less than a vote, and of a quantile all candidates are alike; every mechanism here names the winner more often
the farther the others are behind. How far behind the named one is can cost most anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np

from utmost.release.mechanisms.contests import Contest, Floats, Integers, Tallies

RUNGS, STARTS, ROUNDS, MOVED, SEED = 40, 3, 40, 60_000, 2026
"""How many distances are tried; from how many tallies a search starts, its rounds, and how many cells a round moves."""

EVERY, PROVED, TRIED = (
    "over all tallies",
    "with nobody in the table, where all are closest",
    "the hardest tallies tried",
)


class Law(Protocol):
    """A mechanism's probabilities, in floating point."""

    def probabilities(self, tallies: Integers) -> Floats:
        """The probability of every candidate at every tally."""


def hardest(
    law: Law, contest: Contest, loss: str, known: Tallies, every: Integers | None, epsilon: float
) -> tuple[float, str]:
    """The largest expected loss, and among which tallies: every one, one that is proved to be worst, or those tried.

    `known` are the prior's tallies, `every` all of them where they are few. The search looks to where a
    candidate is named e^-5 times as often as the best, or as all others together.
    """

    def risks(tallies: Integers) -> Floats:
        blocks = np.array_split(tallies, max(1, len(tallies) // 20_000))
        return np.concatenate([(law.probabilities(x) * contest.loss(loss, x)).sum(axis=1) for x in blocks])

    if every is not None or known.complete:
        return float(risks(known.tallies if every is None else every).max()), EVERY
    nobody = np.zeros((1, len(contest.names)), dtype=np.int64)
    if loss == "zero-one":
        return float(risks(nobody)[0]), PROVED
    steps = (math.log(len(contest.names)) + 5) / epsilon if epsilon > 0 else math.inf
    far = math.ceil(min(contest.most, steps * contest.row_reach))
    tried = np.concatenate([nobody, contest.hard_tallies(max(far, 1))])
    found = risks(tried)
    of_prior = float(risks(known.tallies).max())
    climbed = [_climb(tried[i], float(found[i]), contest.most, risks) for i in np.argsort(-found)[:STARTS]]
    return max(of_prior, *climbed), TRIED


def rungs(most: int) -> list[int]:
    """Distances from 1 to `most`: all, or some that are farther and farther apart."""
    if most <= RUNGS:
        return list(range(1, most + 1))
    return sorted({round(x) for x in np.geomspace(1, most, RUNGS)})


def _climb(tally: Integers, risk: float, most: int, risks: Callable[[Integers], Floats]) -> float:
    """Move rows between cells, or in or out, while the risk rises."""
    m, rng = len(tally), np.random.default_rng(SEED)
    pairs = np.array([(i, j) for i in range(m + 1) for j in range(m + 1) if i != j])  # m: nobody's
    for _ in range(ROUNDS):
        held = np.append(tally, most - tally.sum())
        sizes = 2 ** np.arange(int(held.max()).bit_length())
        moves = [(i, j, size) for i, j in pairs[held[pairs[:, 0]] > 0] for size in sizes if size <= held[i]]
        if len(moves) > MOVED // m:
            moves = [moves[k] for k in rng.choice(len(moves), MOVED // m, replace=False)]
        here = np.repeat(held[None, :], len(moves), axis=0)
        for row, (i, j, size) in enumerate(moves):
            here[row, i] -= size
            here[row, j] += size
        found = risks(here[:, :m])
        best = int(found.argmax())
        if not found[best] > risk * (1 + 1e-12):
            return risk
        tally, risk = here[best, :m], float(found[best])
    return risk
