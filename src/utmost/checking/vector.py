"""Vectors of integers with noise: the stated loss, and what no private mechanism goes below.

A bound is about every private mechanism on the range of the integers, and loses something at its ends. Evidence may say
beside it what no *noise* goes below, no law of errors that is the same at every table: the same bound on a range so
large that its ends do not count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from utmost.checking.chains import MARGIN, Evidence, Outcome, from_below, stated
from utmost.checking.coordinate import coordinate_bound
from utmost.checking.whole_cells import whole_cells_bound
from utmost.checking.window import window_bound
from utmost.errors import InvalidInput
from utmost.mechanism.certification import Check
from utmost.mechanism.lattice import BallLaw, NoisyVector
from utmost.privacy import Level
from utmost.space.integers import Lattice
from utmost.space.line import require_line_loss


def vector_bound(problem: Any, evidence: Evidence) -> float:
    """What no private mechanism loses less than on each integer; with a rest, on average over the integers and it.

    Evidence is empty, or says where to look for a flow in a window, or that the rows in no cell are a cell more.
    """
    loss = require_line_loss(problem.data.get("loss"))
    space, level = problem.space, problem.privacy
    found = max(coordinate_bound(space, level, loss), whole_cells_bound(space, level, loss, _has_rest(space, evidence)))
    return max(found, window_bound(space, level, loss, evidence)) if "radius" in evidence else found


def noise_bound(problem: Any, evidence: Evidence) -> float:
    """What no private noise loses less than, the same at every table: the bound on a range whose ends do not count."""
    return vector_bound(replace(problem, space=problem.space.endless), evidence)


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
    check, gap = from_below(solved, value, bound, "loses less on each integer than", "loses")
    return (*checks, check, *_against_noise(problem, evidence, value)), gap


def _treats_rest_alike(noise: Any) -> bool:
    """Whether the rows left over have an error like that of every cell: the exchange norm is that of all of them."""
    return isinstance(noise, BallLaw) and noise.shape == "exchange" and noise.slack == 0


def _against_noise(problem: Any, evidence: Mapping[str, Any], value: float) -> tuple[Check, ...]:
    """The check of what no noise loses less than, where that is stated."""
    if "noise" not in evidence:
        return ()
    least, proved = evidence["noise"], noise_bound(problem, evidence)
    if not isinstance(least, float) or not 0 <= least <= value:
        raise InvalidInput("what no noise loses less than is a number from 0 to the loss.")
    return (Check("noise", least <= proved * (1 + MARGIN), f"no private noise loses less than {proved:.12g}"),)
