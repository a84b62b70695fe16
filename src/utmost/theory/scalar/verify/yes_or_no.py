"""Yes or no about an integer: the stated errors, and what no private mechanism errs less often than."""

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
from utmost.theory.verify_chains import Outcome, from_below, read, read_distribution, read_positions, stated

Floats = NDArray[np.float64]
NEGLIGIBLE = 1e-30
"""Errors below this add nothing; how far a stated bound may be above the recomputed one, relatively."""
MOST_WINDOW = 10**6
MOST_POINTS = 2**62
"""How many integers a file may ask about: more than any table has rows."""


def check_yes_or_no(problem: Any, solved: Any) -> Outcome:
    """Pairs across the border, each at its least possible error, or dual prices on the points near it."""
    line, mechanism, certificate = problem.space, solved.mechanism, solved.certificate
    border = problem.data.get("border")
    if not isinstance(line, Line) or not isinstance(mechanism, Blocks) or not isinstance(border, int):
        raise InvalidInput("yes or no is asked about integers in a row, and answered by blocks.")
    if not line.first < border <= line.last or mechanism.first_yes != border or line.points > MOST_POINTS:
        raise InvalidInput("the border is not the mechanism's, leaves one side empty, or lies among too many integers.")
    given = problem.data.get("prior")
    prior = None if given is None else read_distribution(problem.data, "prior", line.points)
    value = float(mechanism.masses(line, prior) @ mechanism.wrong)
    checks = (stated(solved.value, value),)
    if certificate.claim == "unproved":
        return (*checks, Check("no bound", certificate.bound is None, "nothing is claimed about better ones")), np.inf
    if certificate.claim != "bound" or certificate.bound is None:
        raise InvalidInput("yes or no is proved by a bound, or not at all.")
    found = [0.0]
    if prior is None:
        found.append(_by_pairs(line, border, problem.privacy))
    if certificate.evidence:
        found.append(_by_prices(line, border, problem.privacy, prior, certificate.evidence))
    bound = max(found)
    check, gap = from_below(solved, value, bound, "errs less often than", "errs with")
    return (*checks, check), gap


def _by_pairs(line: Line, border: int, level: Level) -> float:
    """The least average error over pairs of points equally many neighbours from the border, one on either side.

    Points j neighbours behind the border on both sides err together at least 2 e_j: e_0 is where the level's upper
    function takes e to 1 - e, and e_(j+1) = lower(e_j), for U^(2j+1)(e_j) = 1 - e_j then, and no less error will do.
    """
    if line.reach == 0:  # nobody has a neighbour: nothing keeps an answer from being right
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


def _by_prices(line: Line, border: int, level: Level, prior: Floats | None, evidence: Any) -> float:
    """Lagrange on a window of points around the border: any weights on valid constraints bound every mechanism."""
    start, size = evidence.get("start"), evidence.get("size")
    if not all(type(x) is int for x in (start, size)) or not 0 <= start <= start + size <= line.points:
        raise InvalidInput("the window of the evidence does not lie on the line.")
    if not 0 < size <= MOST_WINDOW:
        raise InvalidInput(f"the window of the evidence has {size} points; one of 1 to {MOST_WINDOW} is checked.")
    near = np.full(size, 1 / line.points) if prior is None else prior[start : start + size]
    mass = float(near.sum())
    if mass == 0:
        return 0.0
    levels = on_edges(Line(0, size - 1, min(line.reach, size - 1)).space(), level)
    m = len(read_positions(evidence, "edges", (None,), len(levels)))
    read(evidence, "forward", "b", (m,))
    for name in ("slopes", "duals"):
        if read(evidence, name, "f", (m,)).min(initial=0.0) < 0:
            raise InvalidInput(f"{name} must not be negative.")
    truth = (np.arange(size) + line.first + start >= border).astype(np.int64)
    return max(0.0, mass * (1 - dual_bound(levels, truth, near / mass, evidence)) - 1e-15)
