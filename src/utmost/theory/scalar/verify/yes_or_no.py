"""Verifier of yes or no about an integer: the stated error probability, and a lower bound."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput
from utmost.mechanism.certification import Check
from utmost.privacy import Level
from utmost.space.edge_levels import on_edges
from utmost.space.line import Line
from utmost.theory.binary.verify import dual_bound
from utmost.theory.scalar.yes_or_no_blocks import Blocks
from utmost.theory.verify_evidence import (
    Outcome,
    check_lower_bound,
    check_value,
    read_array,
    read_distribution,
    read_positions,
)

Floats = NDArray[np.float64]
NEGLIGIBLE = 1e-30
"""Smaller errors are ignored; relative tolerance for a stated bound above the recomputed one."""
MOST_WINDOW = 10**6
MOST_POINTS = 2**62
"""Largest range of integers in a file: more than any table has rows."""


def check_yes_or_no(problem: Any, solved: Any) -> Outcome:
    """A lower bound by pairs across the border, or by dual prices on the points near it."""
    line, mechanism, certificate = problem.space, solved.mechanism, solved.certificate
    border = problem.data.get("border")
    if not isinstance(line, Line) or not isinstance(mechanism, Blocks) or not isinstance(border, int):
        raise InvalidInput("yes or no is asked about integers in a row, and answered by blocks.")
    if not line.first < border <= line.last or mechanism.first_yes != border or line.points > MOST_POINTS:
        raise InvalidInput("the border is not the mechanism's, leaves one side empty, or lies among too many integers.")
    listed_prior = problem.data.get("prior")
    prior = None if listed_prior is None else read_distribution(problem.data, "prior", line.points)
    value = float(mechanism.masses(line, prior) @ mechanism.wrong)
    checks = (check_value(solved.value, value),)
    if certificate.claim == "unproved":
        return (*checks, Check("no bound", certificate.bound is None, "nothing is claimed about better ones")), np.inf
    if certificate.claim != "bound" or certificate.bound is None:
        raise InvalidInput("yes or no is proved by a bound, or not at all.")
    bounds = [0.0]
    if prior is None:
        bounds.append(_pair_bound(line, border, problem.privacy))
    if certificate.evidence:
        bounds.append(_price_bound(line, border, problem.privacy, prior, certificate.evidence))
    bound = max(bounds)
    check, gap = check_lower_bound(solved, value, bound, "errs less often than", "errs with")
    return (*checks, check), gap


def _pair_bound(line: Line, border: int, level: Level) -> float:
    """Lower bound on the average error over pairs of points equally many neighbours from the border.

    The errors of two points j neighbours behind the border sum to at least 2 e_j: e_0 is where the level's upper
    function takes e to 1 - e, and e_(j+1) = lower(e_j), since then U^(2j+1)(e_j) = 1 - e_j.
    """
    if line.reach == 0:  # without neighbours nothing prevents a right answer
        return 0.0
    depth = -(-min(border - line.first, line.last - border + 1) // line.reach)
    last = min(border - line.first, line.last - border + 1) - (depth - 1) * line.reach  # points of the last pair
    error, total = float(level.even_share()[1]), 0.0
    for j in range(depth):
        if error < NEGLIGIBLE:
            break
        total += 2 * error * (line.reach if j < depth - 1 else last)
        error = float(level.lower(error))
    return total / line.points * (1 - 1e-12)


def _price_bound(line: Line, border: int, level: Level, prior: Floats | None, evidence: Any) -> float:
    """Lower bound by Lagrange duality on a window around the border: any weights on valid constraints give one."""
    start, size = evidence.get("start"), evidence.get("size")
    if not all(type(x) is int for x in (start, size)) or not 0 <= start <= start + size <= line.points:
        raise InvalidInput("the window of the evidence does not lie on the line.")
    if not 0 < size <= MOST_WINDOW:
        raise InvalidInput(f"the window of the evidence has {size} points; one of 1 to {MOST_WINDOW} is checked.")
    window_prior = np.full(size, 1 / line.points) if prior is None else prior[start : start + size]
    mass = float(window_prior.sum())
    if mass == 0:
        return 0.0
    levels = on_edges(Line(0, size - 1, min(line.reach, size - 1)).space(), level)
    m = len(read_positions(evidence, "edges", (None,), len(levels)))
    read_array(evidence, "forward", "b", (m,))
    for name in ("slopes", "duals"):
        if read_array(evidence, name, "f", (m,)).min(initial=0.0) < 0:
            raise InvalidInput(f"{name} must not be negative.")
    truth = (np.arange(size) + line.first + start >= border).astype(np.int64)
    return max(0.0, mass * (1 - dual_bound(levels, truth, window_prior / mass, evidence)) - 1e-15)
