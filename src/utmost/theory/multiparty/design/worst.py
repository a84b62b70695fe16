"""The best decision rule in the worst case over the inputs: a linear program over all rules (LIM 4.4, 4.6).

Symmetry shrinks it: averaging a rule over the swaps under which function and levels are invariant makes its worst case
no worse, so states and transcripts of groups suffice. The dual prices of the states are the least favourable
distribution of the inputs, whose best average accuracy bounds every rule.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from utmost.errors import SolverFailed, TooLarge
from utmost.exact.arrays import Floats, Integers
from utmost.messages import Argument, Words
from utmost.space.sparse import coo_array, csr_array, hstack
from utmost.theory.linear_program import TIGHT
from utmost.theory.multiparty.design.average import accuracy_bound, accuracy_by_state, best_answers, carry
from utmost.theory.multiparty.design.symmetric_parties import Groups

MOST_ENTRIES = 4 * 10**6
"""The largest number of entries of the linear program's matrix."""
SECONDS = 60.0
"""The time limit of a search for a rule."""


class Rule(NamedTuple):
    """A decision rule, and a distribution that proves that none has a better worst case.

    `chances[y, t]` is the probability of answer y at transcript t; `least_favourable` a distribution of the states.
    """

    chances: Floats
    least_favourable: Floats

    def value(self, groups: Groups, table: Floats) -> float:
        """The accuracy at the worst state."""
        return float(accuracy_by_state(groups, table, self.chances).min())

    def bound(self, groups: Groups, table: Floats) -> float:
        """Upper bound on the worst case of every rule: the best average under the least favourable distribution."""
        return accuracy_bound(groups, table, self.least_favourable)


def best_rule(groups: Groups, table: Floats, seconds: float = SECONDS, say: Callable[[str], Any] | None = None) -> Rule:
    """The rule with the best worst case; `SolverFailed` states bounds on its accuracy if `seconds` do not suffice."""
    rule = _if_even(groups, table)
    return _by_linear_program(groups, table, seconds, say) if rule is None else rule


def average_rule(groups: Groups, table: Floats) -> Rule:
    """The rule that is best on average over fair bits."""
    weights = groups.evenly()
    best = best_answers(groups, table, weights)
    return Rule((best == np.arange(table.shape[1])[:, None]).astype(float), weights)


def _if_even(groups: Groups, table: Floats) -> Rule | None:
    """The rule that is best on average, if it is equally good at every state (as for XOR), so that it is best."""
    rule = average_rule(groups, table)
    reached = accuracy_by_state(groups, table, rule.chances)
    return rule if np.ptp(reached) <= 2.0**-48 * max(1.0, float(np.abs(table).max())) else None


def _by_columns(groups: Groups, table: Floats, seconds: float, say: Callable[[str], Any] | None) -> Rule:
    """The rule with the best worst case by column generation: a column is a deterministic rule; few are needed.

    For a distribution of the states the best rule is the best answer to each transcript, computed for all of them by
    one transform; its accuracy at every state is a column. The master program mixes the columns so far, and its prices
    are the next distribution, smoothed towards the best one so far for stability.
    """
    states, base = groups.grid.size, float(table.min())
    shifted = table - base
    if states > MOST_STATES:
        raise TooLarge(
            f"the worst case over {states} states is too large a linear program; use ",
            Argument("criterion", "average"),
            ", fewer parties, or equal levels and a function of the count.",
        )
    prices = best = groups.evenly()
    least, columns, rules = np.inf, list[Floats](), list[Integers]()
    shares, worst, deadline = np.ones(1), -np.inf, time.monotonic() + seconds
    for rounds in range(MOST_ROUNDS):
        for prior in (prices, 0.3 * prices + 0.7 * best):
            answers = best_answers(groups, shifted, prior)
            chances = (answers == np.arange(table.shape[1])[:, None]).astype(float)
            column = accuracy_by_state(groups, shifted, chances)
            if (accuracy := float(prior @ column)) < least:
                least, best = accuracy, prior
            rules.append(answers)
            columns.append(column)
        shares, prices = _best_mixture(np.array(columns).T)
        worst = float((np.array(columns).T @ shares).min())
        if say is not None:
            say(f"round {rounds + 1}: the best worst case lies between {worst + base:.6g} and {least + base:.6g}")
        if least - worst <= CLOSED * max(1.0, abs(worst)) or time.monotonic() > deadline:
            break
    if least - worst > NOT_CLOSED * max(1.0, abs(worst)):
        raise _not_found(states, f"{rounds + 1} rounds of {seconds:g} seconds", worst + base, least + base)
    chances_of_rule = np.zeros((table.shape[1], groups.transcripts()))
    for share, answers in zip(shares, rules, strict=True):
        if share > 0:
            chances_of_rule[answers, np.arange(chances_of_rule.shape[1])] += share
    return Rule(chances_of_rule / chances_of_rule.sum(axis=0), best / best.sum())


def _not_found(states: int, effort: str, low: float, high: float) -> SolverFailed:
    """The error of a search that was stopped, with bounds on what it was looking for."""
    return SolverFailed(
        Words(
            f"the best worst case over {states} states was not found in {effort}: its accuracy lies between {low:.6g} "
            f"and {high:.6g}. Allow more seconds, use ",
            Argument("criterion", "average"),
            ", or fewer parties.",
        )
    )


def _best_mixture(columns: Floats) -> tuple[Floats, Floats]:
    """The mixture of columns whose least entry is largest, and the prices of the rows."""
    from scipy.optimize import linprog

    states, count = columns.shape
    upper = np.hstack([-columns, np.ones((states, 1))])
    cost = np.append(np.zeros(count), -1.0)
    sums = np.append(np.ones(count), 0.0)[None, :]
    solution = linprog(cost, upper, np.zeros(states), sums, [1.0], bounds=(0, None), options=TIGHT)
    if solution.status != 0:
        raise SolverFailed(f"the linear program over decision rules failed: {solution.message}")
    shares, prices = np.maximum(solution.x[:-1], 0.0), np.maximum(-solution.ineqlin.marginals, 0.0)
    return shares / shares.sum(), prices / prices.sum()


MOST_STATES, MOST_ROUNDS, CLOSED, NOT_CLOSED = 2**12, 300, 1e-9, 1e-7
"""Column generation: the largest number of states, of rounds, the gap at which it stops, and the largest allowed."""


def _by_linear_program(groups: Groups, table: Floats, seconds: float, say: Callable[[str], Any] | None) -> Rule:
    """The rule with the best worst case by one linear program, or by columns where that is too large."""
    from scipy.optimize import linprog

    states, answers = groups.grid.size, table.shape[1]
    transcripts = groups.transcripts()
    if states * transcripts * answers > MOST_ENTRIES:
        return _by_columns(groups, table, seconds, say)
    if say is not None:
        say(f"linear program over {transcripts} transcripts, {answers} answers and {states} states")
    likely = carry(np.eye(states), groups.kernels())
    highest = likely.max(axis=0)  # rare transcripts are scaled up, or the solver's tolerances would swallow them
    scale = np.where(highest > 0, highest, 1.0)
    shifted = (table - table.min())[groups.grid.ravel()]
    gains = ((likely / scale)[:, :, None] * shifted[:, None, :]).reshape(states, transcripts * answers)
    upper = hstack([csr_array(-gains), csr_array(np.ones((states, 1)))]).tocsr()
    column = np.arange(transcripts * answers)
    sums = coo_array((np.ones(len(column)), (column // answers, column)), shape=(transcripts, len(column) + 1)).tocsr()
    cost = np.append(np.zeros(len(column)), -1.0)
    options = {**TIGHT, "time_limit": seconds}
    solution = linprog(cost, upper, np.zeros(states), sums, scale, bounds=(0, None), options=options)
    if solution.status == 1:
        rule = average_rule(groups, table)
        raise _not_found(states, f"{seconds:g} seconds", rule.value(groups, table), rule.bound(groups, table))
    if solution.status != 0:
        raise SolverFailed(f"the linear program over decision rules failed: {solution.message}")
    chances = np.maximum(solution.x[:-1].reshape(transcripts, answers), 0.0)
    row_sums = chances.sum(axis=1, keepdims=True)
    chances = np.where(row_sums > 0, chances / np.where(row_sums > 0, row_sums, 1.0), 1 / answers)
    prices = np.maximum(-solution.ineqlin.marginals, 0.0)
    return Rule(np.ascontiguousarray(chances.T), prices / prices.sum())
