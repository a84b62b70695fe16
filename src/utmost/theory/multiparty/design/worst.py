"""The best decision rule in the worst case over the inputs: a linear program over all rules (LIM 4.4, 4.6).

Symmetry shrinks it: averaging a rule over the swaps that the function and the levels do not notice leaves its worst
case no worse, so states and transcripts of groups suffice. The prices of the states are the least favourable
distribution of the inputs, whose best average accuracy bounds every rule.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from utmost.errors import SolverFailed, TooLarge
from utmost.exact.arrays import Floats, Integers
from utmost.space.sparse import coo_array, csr_array, hstack
from utmost.theory.linear_program import TIGHT
from utmost.theory.multiparty.design.average import accuracy_bound, accuracy_by_state, best_answers, carry
from utmost.theory.multiparty.design.symmetric_parties import Groups

MOST_ENTRIES = 4 * 10**6
"""Of the linear program's matrix."""


class Rule(NamedTuple):
    """A decision rule and the proof that none has a better worst case.

    `chances[y, t]` is the probability of answer y at transcript t; `least_favourable` a distribution of the states.
    """

    chances: Floats
    least_favourable: Floats

    def value(self, groups: Groups, table: Floats) -> float:
        """The accuracy at the worst state."""
        return float(accuracy_by_state(groups, table, self.chances).min())

    def bound(self, groups: Groups, table: Floats) -> float:
        """What no rule exceeds at its worst state: the best average under the least favourable distribution."""
        return accuracy_bound(groups, table, self.least_favourable)


def best_rule(groups: Groups, table: Floats) -> Rule:
    """The rule with the best worst case."""
    rule = _if_even(groups, table)
    return _by_linear_program(groups, table) if rule is None else rule


def average_rule(groups: Groups, table: Floats) -> Rule:
    """The rule that is best on average over fair bits."""
    weights = groups.evenly()
    best = best_answers(groups, table, weights)
    return Rule((best == np.arange(table.shape[1])[:, None]).astype(float), weights)


def _if_even(groups: Groups, table: Floats) -> Rule | None:
    """The rule that is best on average, if it is equally good at every state (XOR): no program is needed then."""
    rule = average_rule(groups, table)
    reached = accuracy_by_state(groups, table, rule.chances)
    return rule if np.ptp(reached) <= 2.0**-48 * max(1.0, float(np.abs(table).max())) else None


def _by_columns(groups: Groups, table: Floats) -> Rule:
    """The same program by column generation: a column is a rule without coins, of which few are ever needed.

    For a distribution of the states the best rule is the best answer to each transcript, found for all of them by one
    transform; its accuracy at every state is a column. The master program mixes the columns found so far, and its
    prices are the next distribution, drawn towards the best one so far, which keeps them from jumping about.
    """
    states, shifted = groups.grid.size, table - table.min()
    if states > MOST_STATES:
        raise TooLarge(
            f"the worst case over {states} states is too large a linear program; use criterion='average', fewer "
            "parties, or equal levels and a function of the count."
        )
    prices = best = groups.evenly()
    least, columns, rules = np.inf, list[Floats](), list[Integers]()
    mixed, worst = np.ones(1), -np.inf
    for _ in range(MOST_ROUNDS):
        for tried in (prices, 0.3 * prices + 0.7 * best):
            answers = best_answers(groups, shifted, tried)
            chances = (answers == np.arange(table.shape[1])[:, None]).astype(float)
            column = accuracy_by_state(groups, shifted, chances)
            if (reached := float(tried @ column)) < least:
                least, best = reached, tried
            rules.append(answers)
            columns.append(column)
        mixed, prices = _mixed(np.array(columns).T)
        worst = float((np.array(columns).T @ mixed).min())
        if least - worst <= CLOSED * max(1.0, abs(worst)):
            break
    if least - worst > NOT_CLOSED * max(1.0, abs(worst)):
        raise SolverFailed(
            f"the worst case over {states} states was not found in {MOST_ROUNDS} rounds (it lies between {worst:.6g} "
            f"and {least:.6g}); use criterion='average', or fewer parties."
        )
    whole = np.zeros((table.shape[1], groups.transcripts()))
    for share, answers in zip(mixed, rules, strict=True):
        if share > 0:
            whole[answers, np.arange(whole.shape[1])] += share
    return Rule(whole / whole.sum(axis=0), best / best.sum())


def _mixed(columns: Floats) -> tuple[Floats, Floats]:
    """The mixture of columns whose least entry is largest, and the prices of the rows."""
    from scipy.optimize import linprog

    states, count = columns.shape
    upper = np.hstack([-columns, np.ones((states, 1))])
    cost = np.append(np.zeros(count), -1.0)
    sums = np.append(np.ones(count), 0.0)[None, :]
    found = linprog(cost, upper, np.zeros(states), sums, [1.0], bounds=(0, None), options=TIGHT)
    if found.status != 0:
        raise SolverFailed(f"the linear program over decision rules failed: {found.message}")
    shares, prices = np.maximum(found.x[:-1], 0.0), np.maximum(-found.ineqlin.marginals, 0.0)
    return shares / shares.sum(), prices / prices.sum()


MOST_STATES, MOST_ROUNDS, CLOSED, NOT_CLOSED = 2**12, 300, 1e-9, 1e-7
"""Up to how many states columns are generated, for how many rounds, until which gap, and which is none."""


def _by_linear_program(groups: Groups, table: Floats) -> Rule:
    from scipy.optimize import linprog

    states, answers = groups.grid.size, table.shape[1]
    transcripts = groups.transcripts()
    if states * transcripts * answers > MOST_ENTRIES:
        return _by_columns(groups, table)
    likely = carry(np.eye(states), groups.kernels())
    highest = likely.max(axis=0)  # rare transcripts are scaled up, or the solver's tolerances would swallow them
    scale = np.where(highest > 0, highest, 1.0)
    shifted = (table - table.min())[groups.grid.ravel()]
    gains = ((likely / scale)[:, :, None] * shifted[:, None, :]).reshape(states, transcripts * answers)
    upper = hstack([csr_array(-gains), csr_array(np.ones((states, 1)))]).tocsr()
    column = np.arange(transcripts * answers)
    sums = coo_array((np.ones(len(column)), (column // answers, column)), shape=(transcripts, len(column) + 1)).tocsr()
    cost = np.append(np.zeros(len(column)), -1.0)
    found = linprog(cost, upper, np.zeros(states), sums, scale, bounds=(0, None), options=TIGHT)
    if found.status != 0:
        raise SolverFailed(f"the linear program over decision rules failed: {found.message}")
    chances = np.maximum(found.x[:-1].reshape(transcripts, answers), 0.0)
    given = chances.sum(axis=1, keepdims=True)
    chances = np.where(given > 0, chances / np.where(given > 0, given, 1.0), 1 / answers)
    prices = np.maximum(-found.ineqlin.marginals, 0.0)
    return Rule(np.ascontiguousarray(chances.T), prices / prices.sum())
