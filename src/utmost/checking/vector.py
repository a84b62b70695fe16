"""Vectors of integers with noise: the stated loss, and what no private mechanism goes below."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from utmost.checking.chains import Evidence, Outcome, stated
from utmost.checking.coordinate import coordinate_bound
from utmost.checking.window import window_bound
from utmost.errors import InvalidInput
from utmost.mechanism.certification import Check
from utmost.mechanism.lattice import NoisyVector
from utmost.mechanism.line import require_line_loss
from utmost.mechanism.strategies import prefix_weights
from utmost.privacy import Level
from utmost.space.integers import Lattice, Strategy

MARGIN = 1e-9
"""How far a stated bound may be above the recomputed one, relatively."""


def vector_bound(problem: Any, evidence: Evidence) -> float:
    """What no private mechanism loses less than on each integer."""
    loss = require_line_loss(problem.data.get("loss"))
    alone = coordinate_bound(problem.space, problem.privacy, loss)
    return max(alone, window_bound(problem.space, problem.privacy, loss, evidence)) if evidence else alone


def check_vector(problem: Any, solved: Any) -> Outcome:
    """One integer alone, by pairs of points or the staircase's dual flow; or a flow between errors of whole vectors."""
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
    sound = certificate.bound <= bound * (1 + MARGIN) and certificate.bound <= value * (1 + MARGIN)
    detail = f"no private mechanism loses less than {bound:.12g} on each integer; this one loses {value:.12g}"
    return (*checks, Check("bound", bool(sound), detail)), max(0.0, value - bound)


def strategy_bound(problem: Any, evidence: Evidence) -> float:
    """What no private mechanism errs less by on one of the running counts, with the whole level spent on it."""
    cells = problem.space.cells
    return float(coordinate_bound(Lattice(1, "any", cells.reach, cells.lower, cells.upper), problem.privacy, "squared"))


def check_strategy(problem: Any, solved: Any) -> Outcome:
    """The variance of running counts, from the weights that they have by least squares, and one count alone."""
    space, mechanism, certificate = problem.space, solved.mechanism, solved.certificate
    if not isinstance(space, Strategy) or not isinstance(mechanism, NoisyVector):
        raise InvalidInput("weighted sums of cells are answered with noise on each.")
    if mechanism.noise.dimension != space.dimension or certificate.bound is None:
        raise InvalidInput("the noise and the sums differ in number, or there is no bound.")
    weights = prefix_weights(space)
    value = float(mechanism.expected("squared") * np.square(weights).sum(axis=1).mean())
    bound = min(strategy_bound(problem, certificate.evidence), value)
    sound = certificate.bound <= bound * (1 + MARGIN)
    detail = (
        f"no private mechanism has a variance below {bound:.12g} on one count; this one has {value:.12g} on average"
    )
    return (stated(solved.value, value), Check("bound", bool(sound), detail)), max(0.0, value - bound)
