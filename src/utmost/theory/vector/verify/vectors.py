"""Verifier of noise on vectors: the stated expected loss, and a lower bound for every private mechanism.

The bound holds for every private mechanism on the range of the integers, and is weaker near its ends. Where that costs
much, evidence restricts the bound to answers `away` from the ends, and adds the bound on `average` over the whole
range. Where no answer is so far away, it adds the lower bound on all private `noise`, meaning a law of errors that is
the same at every table: the same bound on a range so large that its ends do not matter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from utmost.errors import InvalidInput
from utmost.mechanism.certification import Check
from utmost.mechanism.noise.lattice import BallLaw, NoisyVector
from utmost.privacy import Level
from utmost.space.integers import Lattice
from utmost.space.line import require_line_loss
from utmost.theory.vector.verify.coordinate import coordinate_bound
from utmost.theory.vector.verify.fixed_total import fixed_total_bound
from utmost.theory.vector.verify.window import window_bound
from utmost.theory.verify_evidence import MARGIN, Evidence, Outcome, check_lower_bound, check_value


def vector_bound(problem: Any, evidence: Evidence) -> float:
    """Lower bound on the expected loss of each integer; with a rest, averaged over the integers and the rest.

    Evidence is empty, or names the window of a flow, or says that the rows in no cell form one more cell, or how far
    from the ends an answer is.
    """
    loss = require_line_loss(problem.data.get("loss"))
    space, level = problem.space.in_one, problem.privacy
    rest, away = _has_rest(space, evidence), _distance_from_ends(evidence)
    if away is not None:
        return fixed_total_bound(space, level, loss, rest, away)
    bound = max(coordinate_bound(space, level, loss), fixed_total_bound(space, level, loss, rest))
    return max(bound, window_bound(space, level, loss, evidence)) if "radius" in evidence else bound


def noise_bound(problem: Any, evidence: Evidence) -> float:
    """Lower bound for noise whose law is the same at every table: the bound on a range without ends."""
    return vector_bound(replace(problem, space=problem.space.endless), evidence)


def average_bound(problem: Any, evidence: Evidence) -> float:
    """Lower bound on the loss averaged over all tables, including those at the ends."""
    return vector_bound(problem, {name: value for name, value in evidence.items() if name != "away"})


def _distance_from_ends(evidence: Evidence) -> int | None:
    """How far from the ends the answers of a bound are, if it is restricted; the average bound must be stated then."""
    if "away" not in evidence:
        return None
    away = evidence["away"]
    if type(away) is not int or away < 1 or "average" not in evidence:
        raise InvalidInput(
            "an answer is a whole number away from the ends, and the average over all has its own bound."
        )
    return away


def _has_rest(space: Lattice, evidence: Evidence) -> bool:
    rest = evidence.get("rest", False)
    if type(rest) is not bool or (rest and space.moves != "exchange"):
        raise InvalidInput("only cells that rows are exchanged between have a rest, or none.")
    return rest


def check_vector(problem: Any, solved: Any) -> Outcome:
    """A lower bound by one integer (pairs of points, or the staircase's dual flow) or by flows between vectors."""
    space, mechanism, certificate = problem.space, solved.mechanism, solved.certificate
    fits = isinstance(space, Lattice) and isinstance(mechanism, NoisyVector) and isinstance(problem.privacy, Level)
    if not fits:
        raise InvalidInput("a vector of integers is answered with noise on a lattice.")
    if mechanism.noise.dimension != space.dimension:
        raise InvalidInput("the noise and the vectors differ in length.")
    loss = require_line_loss(problem.data.get("loss"))
    value = mechanism.expected(loss)
    checks = (check_value(solved.value, value),)
    if certificate.claim == "unproved":
        return (*checks, Check("no bound", certificate.bound is None, "nothing is claimed about better ones")), math.inf
    if certificate.claim != "bound" or certificate.bound is None:
        raise InvalidInput("noise on vectors is proved by a bound, or not at all.")
    evidence = certificate.evidence
    if _has_rest(space, evidence) and not _is_symmetric(mechanism.noise):
        raise InvalidInput("a bound on cells and their rest is for noise that treats them alike.")
    bound = vector_bound(problem, evidence)
    answers = f", given an answer {evidence['away']} from the ends," if "away" in evidence else ""
    check, gap = check_lower_bound(solved, value, bound, f"loses less on each integer{answers} than", "loses")
    return (*checks, check, *_side_checks(problem, evidence, value)), gap


def _is_symmetric(noise: Any) -> bool:
    """Whether the rows in no cell have the same law of error as every cell: an exchange norm without slack."""
    return isinstance(noise, BallLaw) and noise.shape == "exchange" and noise.slack == 0


def _side_checks(problem: Any, evidence: Mapping[str, Any], value: float) -> tuple[Check, ...]:
    """Checks of the stated lower bounds on all noise and on average, if there are any."""
    checks = []
    for name, bound, whom in (("noise", noise_bound, "noise"), ("average", average_bound, "mechanism on average")):
        if name in evidence:
            claim, proved = evidence[name], bound(problem, evidence)
            if not isinstance(claim, float) or not 0 <= claim <= value:
                raise InvalidInput(f"what no private {whom} loses less than is a number from 0 to the loss.")
            text = f"no private {whom} loses less than {proved:.12g}"
            checks.append(Check(name, claim <= proved * (1 + MARGIN), text))
    return tuple(checks)
