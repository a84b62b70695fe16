"""Vectors of integers with noise: the stated loss, and what no private mechanism goes below.

A bound is about every private mechanism on the range of the integers, and loses something at its ends. Where that is
much, evidence says to which answers of every mechanism the bound applies, those `away` from the ends, and beside it the
bound on `average` over the whole range. Where no answer is so far away, it says beside the bound what no `noise` goes
below, no law of errors that is the same at every table: the same bound on a range so large that its ends do not count.
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
from utmost.theory.vector.verify.fixed_total import whole_cells_bound
from utmost.theory.vector.verify.window import window_bound
from utmost.theory.verify_chains import MARGIN, Evidence, Outcome, from_below, stated


def vector_bound(problem: Any, evidence: Evidence) -> float:
    """What no private mechanism loses less than on each integer; with a rest, on average over the integers and it.

    Evidence is empty, or says where to look for a flow in a window, or that the rows in no cell are a cell more, or
    how far away from the ends an answer is.
    """
    loss = require_line_loss(problem.data.get("loss"))
    space, level = problem.space.in_one, problem.privacy
    rest, away = _has_rest(space, evidence), _away(evidence)
    if away is not None:
        return whole_cells_bound(space, level, loss, rest, away)
    found = max(coordinate_bound(space, level, loss), whole_cells_bound(space, level, loss, rest))
    return max(found, window_bound(space, level, loss, evidence)) if "radius" in evidence else found


def noise_bound(problem: Any, evidence: Evidence) -> float:
    """What no private noise loses less than, the same at every table: the bound on a range whose ends do not count."""
    return vector_bound(replace(problem, space=problem.space.endless), evidence)


def average_bound(problem: Any, evidence: Evidence) -> float:
    """What no private mechanism loses less than on average over all tables, also those at the ends."""
    return vector_bound(problem, {name: value for name, value in evidence.items() if name != "away"})


def _away(evidence: Evidence) -> int | None:
    """How far from the ends the answers are that a bound is about; what holds on average must be said with it."""
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
    """One integer alone, by pairs of points or the staircase's dual flow; or flows between errors of whole vectors."""
    space, mechanism, certificate = problem.space, solved.mechanism, solved.certificate
    fits = isinstance(space, Lattice) and isinstance(mechanism, NoisyVector) and isinstance(problem.privacy, Level)
    if not fits:
        raise InvalidInput("a vector of integers is answered with noise on a lattice.")
    if mechanism.noise.dimension != space.dimension:
        raise InvalidInput("the noise and the vectors differ in length.")
    loss = require_line_loss(problem.data.get("loss"))
    value = mechanism.expected(loss)
    checks = (stated(solved.value, value),)
    if certificate.claim == "unproved":
        return (*checks, Check("no bound", certificate.bound is None, "nothing is claimed about better ones")), math.inf
    if certificate.claim != "bound" or certificate.bound is None:
        raise InvalidInput("noise on vectors is proved by a bound, or not at all.")
    evidence = certificate.evidence
    if _has_rest(space, evidence) and not _treats_rest_alike(mechanism.noise):
        raise InvalidInput("a bound on cells and their rest is for noise that treats them alike.")
    bound = vector_bound(problem, evidence)
    answers = f", given an answer {evidence['away']} from the ends," if "away" in evidence else ""
    check, gap = from_below(solved, value, bound, f"loses less on each integer{answers} than", "loses")
    return (*checks, check, *_beside(problem, evidence, value)), gap


def _treats_rest_alike(noise: Any) -> bool:
    """Whether the rows left over have an error like that of every cell: the exchange norm is that of all of them."""
    return isinstance(noise, BallLaw) and noise.shape == "exchange" and noise.slack == 0


def _beside(problem: Any, evidence: Mapping[str, Any], value: float) -> tuple[Check, ...]:
    """The checks of what no noise loses less than, and what no mechanism does on average, where that is stated."""
    found = []
    for name, bound, whom in (("noise", noise_bound, "noise"), ("average", average_bound, "mechanism on average")):
        if name in evidence:
            least, proved = evidence[name], bound(problem, evidence)
            if not isinstance(least, float) or not 0 <= least <= value:
                raise InvalidInput(f"what no private {whom} loses less than is a number from 0 to the loss.")
            text = f"no private {whom} loses less than {proved:.12g}"
            found.append(Check(name, least <= proved * (1 + MARGIN), text))
    return tuple(found)
