"""The best decision rule in the worst case over the inputs: a linear program over all rules (LIM 4.4, 4.6).

Symmetry shrinks it: averaging a rule over the swaps that the function and the levels do not notice leaves its worst
case no worse, so states and transcripts of groups suffice. The prices of the states are the least favourable
distribution of the inputs, whose best average accuracy bounds every rule.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from utmost.design.linear_program import TIGHT
from utmost.design.multiparty.alike import Groups
from utmost.design.multiparty.average import accuracy_bound, accuracy_by_state, best_answers, carry
from utmost.errors import SolverFailed, TooLarge
from utmost.exact.arrays import Floats
from utmost.space.sparse import coo_array, csr_array, hstack

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


def _by_linear_program(groups: Groups, table: Floats) -> Rule:
    from scipy.optimize import linprog

    states, answers = groups.grid.size, table.shape[1]
    transcripts = groups.transcripts()
    if states * transcripts * answers > MOST_ENTRIES:
        raise TooLarge(
            f"the worst case over {states} states and {transcripts} transcripts is too large a linear program; use "
            "criterion='average', fewer parties, or equal levels and a function of the count."
        )
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
