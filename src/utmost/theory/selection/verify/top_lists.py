"""Verifier of top lists: the stated share of missed candidates."""

from __future__ import annotations

import math
from typing import Any

from utmost.errors import InvalidInput
from utmost.mechanism.certification import Check
from utmost.space.integers import Tallies
from utmost.theory.selection.top_lists import TopByNoise, TopByPeeling, missed
from utmost.theory.verify_evidence import Outcome, check_value

MOST_ROWS, MOST_CELLS = 2**53, 10**6


def check_top(problem: Any, solved: Any) -> Outcome:
    """Recompute the miss rate on the same public sample of tallies; no optimality claim."""
    space, mechanism = problem.space, solved.mechanism
    if not isinstance(space, Tallies) or not isinstance(mechanism, TopByNoise | TopByPeeling):
        raise InvalidInput("the most frequent candidates are named from a tally.")
    if mechanism.k != problem.data.get("k") or not 1 <= mechanism.k <= space.cells:
        raise InvalidInput("as many candidates are named as are asked for.")
    if space.rows >= MOST_ROWS or space.cells > MOST_CELLS:
        raise InvalidInput(f"tallies of {MOST_ROWS} rows, or of more than {MOST_CELLS} cells, are not averaged over.")
    if isinstance(mechanism, TopByNoise) and mechanism.noise.noise.dimension != space.cells:
        raise InvalidInput("the noise and the tallies differ in length.")
    checks = (check_value(solved.value, missed(mechanism, space)[0]),)
    none = solved.certificate.bound is None
    return (*checks, Check("no bound", none, "nothing is claimed about better ones")), math.inf
