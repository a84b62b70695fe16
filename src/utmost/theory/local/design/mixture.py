"""The best mixture of patterns: LIM's linear program, by column generation."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from utmost.errors import SolverFailed
from utmost.exact.arrays import Floats
from utmost.mechanism import FiniteMechanism
from utmost.theory.linear_program import TIGHT

ROUNDS, ENOUGH = 400, 1e-6
"""The largest number of rounds, and the relative gap at which they stop."""


class Mixture(NamedTuple):
    """Sets of letters (a row each), their shares, and the prices of letters."""

    sets: Floats
    shares: Floats
    prices: Floats

    def mechanism(self, q: float) -> FiniteMechanism:
        """The mechanism with a column share · (q + 1_A) for every set A."""
        matrix = (self.shares[:, None] * (q + self.sets)).T
        names = [tuple(np.flatnonzero(row).tolist()) for row in self.sets]
        return FiniteMechanism(matrix / matrix.sum(axis=1, keepdims=True), range(len(matrix)), names)


Pricing = Callable[[Floats], Floats]
"""Finds sets of letters, one row each, whose utility exceeds their price, worst first; none if prices are feasible."""


def best_mixture(
    k: int,
    q: float,
    utility: Callable[[Floats], Floats],
    pricing: Pricing,
    bound: Callable[[Floats], float] | None = None,
    more: Floats | None = None,
    guess: Floats | None = None,
    seconds: float = 30.0,
) -> Mixture:
    """Shares >= 0 of sets A with sum of shares · (q + 1_A) = 1 and the largest sum of shares · utility(A).

    Columns are added until none exceeds its price. Where pricing is not exhaustive, `bound` is the upper bound that
    prices prove: the best prices are returned, those of the `guess` included, and rounds end when their gap is small
    enough or time is up. `more` are further initial sets.
    """
    start, best = time.monotonic(), (np.inf, np.zeros(k))
    if bound is not None and guess is not None:
        best = (bound(guess), guess)
    sets = np.vstack([np.eye(k), 1 - np.eye(k), np.tri(k)]) if k > 1 else np.ones((1, k))
    sets = sets if more is None else np.vstack([sets, more])
    sets = np.unique(sets[sets.any(axis=1)], axis=0)
    worth = utility(sets)
    for _ in range(ROUNDS):
        shares, prices = _master(sets, worth, q)
        if bound is not None:
            best = min(best, (bound(prices), prices), key=lambda bound_and_prices: bound_and_prices[0])
            if best[0] <= float(shares @ worth) / (1 + q) * (1 + ENOUGH) or time.monotonic() - start > seconds:
                break
        new = pricing(prices)
        new = new[~(new[:, None] == sets[None]).all(axis=2).any(axis=1)] if len(new) else new
        if not len(new):
            break
        sets, worth = np.vstack([sets, new]), np.concatenate([worth, utility(new)])
    support = np.flatnonzero(shares > 1e-9 * shares.max())
    return Mixture(sets[support], _polish(sets[support], q), prices if bound is None else best[1])


def _master(sets: Floats, worth: Floats, q: float) -> tuple[Floats, Floats]:
    """Shares, times 1 + q, and prices: every letter lies in sets of the same total c, and q · shares + c = 1.

    Written with c, the program is as well conditioned at a tiny epsilon, where all columns q + 1_A are nearly equal.
    """
    from scipy.optimize import linprog

    scale, size, k = max(float(np.abs(worth).max()), 1e-300), 1 / (1 + q), sets.shape[1]
    coverage = np.column_stack([sets.T, -np.ones(k)])
    total = np.append(np.full(len(sets), q * size), size)
    cost, right = np.append(-worth / scale, 0.0), np.append(np.zeros(k), 1.0)
    result = linprog(cost, A_eq=np.vstack([coverage, total]), b_eq=right, bounds=(0, None), options=TIGHT)
    if result.x is None:
        raise SolverFailed(f"the program that mixes patterns failed: {result.message}")
    return np.maximum(result.x[:-1], 0.0), -result.eqlin.marginals[:-1] * scale


def _polish(sets: Floats, q: float) -> Floats:
    """The shares of these sets, solved again so that rows add up to 1 to full precision.

    They are proportional to the weights with which the sets cover every letter once, whatever q is.
    """
    weights = np.linalg.lstsq(sets.T, np.ones(sets.shape[1]), rcond=None)[0]
    weights = weights + np.linalg.lstsq(sets.T, 1 - sets.T @ weights, rcond=None)[0]
    if weights.min() < 0 or np.abs(sets.T @ weights - 1).max() > 1e-12:
        raise SolverFailed("the solver's mixture of patterns cannot be made exact; try a level nearer to 1.")
    return np.asarray(weights / (1 + q * math.fsum(weights)))
