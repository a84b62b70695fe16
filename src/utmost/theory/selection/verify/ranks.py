"""Quantiles by ranks: the stated expected error in rows, and that the tables or choices are those of the question."""

from __future__ import annotations

import math
from typing import Any

from utmost.errors import InvalidInput
from utmost.mechanism.certification import Check
from utmost.mechanism.noise.tables import NoisyTables
from utmost.theory.selection.rank_errors import mean_rank_error
from utmost.theory.selection.ranks import RankChoices
from utmost.theory.verify_chains import Outcome


def check_ranks(problem: Any, solved: Any) -> Outcome:
    """The expected error in rows, from the law of the choices or of the noise; no claim about better mechanisms."""
    kind = RankChoices if problem.question == "ranks.choices" else NoisyTables
    if not isinstance(solved.mechanism, kind):
        raise InvalidInput("the mechanism is of another kind than the question names.")
    value = mean_rank_error(problem, solved.mechanism)
    same = abs(solved.value - value) <= 1e-9 * max(value, 1e-9)
    detail = f"{value:.12g} rows" + ("" if same else f", not {solved.value:.12g} as stated")
    none = solved.certificate.bound is None
    return (Check("value", same, detail), Check("no bound", none, "nothing is claimed about better ones")), math.inf
