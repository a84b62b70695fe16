"""Verifier of quantiles by ranks: the expected error in rows, and that the tables or targets fit the question."""

from __future__ import annotations

import math
from typing import Any

from utmost.errors import InvalidInput
from utmost.mechanism.certification import Check
from utmost.mechanism.noise.tables import NoisyTables
from utmost.theory.selection.rank_errors import mean_rank_error
from utmost.theory.selection.ranks import RankChoices
from utmost.theory.verify_evidence import Outcome


def check_ranks(problem: Any, solved: Any) -> Outcome:
    """Recompute the expected error in rows from the law of the selections or of the noise; no optimality claim."""
    kind = RankChoices if problem.question == "ranks.choices" else NoisyTables
    if not isinstance(solved.mechanism, kind):
        raise InvalidInput("the mechanism is of another kind than the question names.")
    value = mean_rank_error(problem, solved.mechanism)
    equal = abs(solved.value - value) <= 1e-9 * max(value, 1e-9)
    detail = f"{value:.12g} rows" + ("" if equal else f", not {solved.value:.12g} as stated")
    none = solved.certificate.bound is None
    return (Check("value", equal, detail), Check("no bound", none, "nothing is claimed about better ones")), math.inf
