"""Vectors of integers with noise: the stated loss, and what no private mechanism goes below."""

from __future__ import annotations

import math
from typing import Any

from utmost.checking.chains import Evidence, Outcome, from_below, stated
from utmost.checking.coordinate import coordinate_bound
from utmost.checking.whole_cells import whole_cells_bound
from utmost.checking.window import window_bound
from utmost.errors import InvalidInput
from utmost.mechanism.certification import Check
from utmost.mechanism.lattice import NoisyVector
from utmost.privacy import Level
from utmost.space.integers import Lattice
from utmost.space.line import require_line_loss


def vector_bound(problem: Any, evidence: Evidence) -> float:
    """What no private mechanism loses less than on each integer."""
    loss = require_line_loss(problem.data.get("loss"))
    space, level = problem.space, problem.privacy
    found = max(coordinate_bound(space, level, loss), whole_cells_bound(space, level, loss))
    return max(found, window_bound(space, level, loss, evidence)) if evidence else found


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
    bound = vector_bound(problem, certificate.evidence)
    check, gap = from_below(solved, value, bound, "loses less on each integer than", "loses")
    return (*checks, check), gap
