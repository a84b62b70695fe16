"""Checks for queries with finitely many results: tight columns, and bounds from dual prices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from utmost.errors import InvalidInput
from utmost.exact.citations import cites
from utmost.mechanism import grows_with_distance
from utmost.mechanism.certification import Check
from utmost.mechanism.decaying_columns import DecayingMechanism, is_path, path_peaks, row_sums, sum_error
from utmost.privacy import ApproxDP
from utmost.theory.scalar.line_chains import orbits
from utmost.theory.verify_convex_costs import least_costs
from utmost.theory.verify_dual_bounds import mechanism_bound
from utmost.theory.verify_evidence import (
    Evidence,
    Outcome,
    Problem,
    Solved,
    asks_for_worst,
    check_bound,
    check_value,
    read_array,
    read_distribution,
    read_outputs,
    read_positions,
)


@cites("REG-theorem-3", "REG-corollary-2")
def check_tight(problem: Problem, solved: Solved) -> Outcome:
    """REG Theorem 3: a mechanism whose columns all fall off as fast as privacy allows is best for every regular prior.

    With X_ik = e^(-d(i,k)) z_k and rows that add up to 1, the uniform prior is z/n times Phi, hence regular, and the
    probability of a right guess attains its bound, the sum of z/n.
    """
    n = len(problem.space.points)
    return _tight(problem, solved, np.full(n, 1 / n) if n else np.zeros(0))


@cites("REG-theorem-1", "REG-theorem-3")
def check_regular(problem: Problem, solved: Solved) -> Outcome:
    """REG Theorems 1 and 3: for a regular prior no private mechanism guesses right more often than this one.

    Any y >= 0 with prior <= y Phi + r bounds the probability of a right guess by sum(y) + n · max r, which the
    mechanism must attain.
    """
    prior = read_distribution(problem.data, "prior", len(problem.space.points))
    checks, _ = _tight(problem, solved, prior)
    y = np.maximum(read_array(solved.certificate.evidence, "coefficients", "f", prior.shape), 0.0)
    mechanism, n = solved.mechanism, len(prior)
    if isinstance(mechanism, DecayingMechanism):
        level = mechanism.law.level
        missing = prior - row_sums(mechanism.space, level, y) + sum_error(mechanism.space, level, y)
    else:
        missing = prior - np.exp(-_lengths(problem)) @ y
    bound = math.fsum(y) + n * float(np.maximum(missing, 0.0).max(initial=0.0))
    gap = max(bound - (1 - solved.value), 0.0) if len(prior) else 0.0
    detail = f"no private mechanism guesses right more often than {bound:.12g}"
    return (*checks, Check("regular prior", gap <= 1e-9, detail)), gap


def check_optimal(problem: Problem, solved: Solved) -> Outcome:
    """Lagrange: any weights on the constraints of privacy bound every private mechanism from below."""
    n = len(problem.space.points)
    outputs = _outputs(problem)
    if tuple(solved.mechanism.outputs) != outputs:
        raise InvalidInput("the outputs must be the points, guesses, or those that were listed.")
    prior, table = read_distribution(problem.data, "prior", n), read_array(problem.data, "loss", "f", (n, len(outputs)))
    losses = (solved.mechanism.matrix * table).sum(axis=1)
    value = float(losses.max(initial=0.0)) if asks_for_worst(problem) else float(prior @ losses)
    bound = loss_bound(problem, solved.certificate.evidence)
    return (check_value(solved.value, value), check_bound(solved, value, bound, least=True, room=1e-15)), max(
        value - bound, 0.0
    )


def loss_bound(problem: Problem, evidence: Evidence) -> float:
    """The lower bound on the loss of every private mechanism, from weights on the constraints of privacy."""
    n, k = len(problem.space.points), len(_outputs(problem))
    prior, table = read_distribution(problem.data, "prior", n), read_array(problem.data, "loss", "f", (n, k))
    weights = read_distribution(evidence, "least_favourable", n) if asks_for_worst(problem) else prior
    duals = np.zeros((2, len(problem.privacy), k))
    places = read_positions(evidence, "dual_places", (None,), max(duals.size, 1))
    np.add.at(duals.reshape(-1), places, np.maximum(read_array(evidence, "dual_values", "f", places.shape), 0.0))
    return -mechanism_bound(problem.privacy, -weights[:, None] * table, duals)


def _outputs(problem: Problem) -> tuple[Any, ...]:
    """The possible answers: the points, unless others are listed."""
    return read_outputs(problem) if "outputs" in problem.data else tuple(problem.space.points)


def check_count(problem: Problem, solved: Solved) -> Outcome:
    """Ghosh, Roughgarden, Sundararajan 2012: on a count, geometric noise with its best remap is best for every prior.

    It holds for every loss that increases with the distance between result and guess; so the value must be the least of
    any remap of geometric noise.
    """
    n = len(problem.space.points)
    level = problem.privacy.single
    _require_pure(problem)
    if not is_path(problem.space) or not isinstance(level, ApproxDP) or not np.isfinite(level.log_growth):
        raise InvalidInput("the theorem is about counts at one pure level.")
    if tuple(solved.mechanism.outputs) != tuple(problem.space.points):
        raise InvalidInput("the outputs must be the points: guesses.")
    prior, table = read_distribution(problem.data, "prior", n), read_array(problem.data, "loss", "f", (n, n))
    if not grows_with_distance(table):
        raise InvalidInput("the loss does not grow with the distance between result and guess.")
    noise = np.exp(-_lengths(problem)) * path_peaks(n, float(np.exp(-level.log_growth)))
    joint = prior[:, None] * noise
    costs = table.T @ joint
    guess = costs.argmin(axis=0) if n else np.zeros(0, dtype=int)
    least, value = float(costs.min(axis=0, initial=np.inf).sum()) if n else 0.0, _expected(prior, solved, table)
    excess = value - least
    terms = float((np.abs(table[:, guess]) * joint).sum()) + _expected(prior, solved, np.abs(table))
    is_least = abs(excess) <= (n + 16) * 2.0**-50 * terms
    detail = f"geometric noise with its best remap loses {least:.12g}; the value is {value:.12g}"
    return (check_value(solved.value, value), Check("least loss", is_least, detail)), max(excess, 0.0)


def check_chains(problem: Problem, solved: Solved) -> Outcome:
    """Chains (docs/theory.md): on a count every threshold is a binary problem, best at the orbit of one number.

    A loss that is convex in the guess and least at the truth is a sum over thresholds. A lower bound on the cost of
    each is recomputed from nearby starts, since costs are convex; the value must be the sum of these.
    """
    n, level = len(problem.space.points), problem.privacy.single
    if not is_path(problem.space) or level is None or not level.concave:
        raise InvalidInput("the theorem is about counts at one concave level.")
    if tuple(solved.mechanism.outputs) != tuple(problem.space.points):
        raise InvalidInput("the outputs must be the points: guesses.")
    prior, table = read_distribution(problem.data, "prior", n), read_array(problem.data, "loss", "f", (n, n))
    starts = read_array(solved.certificate.evidence, "starts", "f", (max(n - 1, 0),))
    steps = np.diff(table, axis=1)
    i, t = np.indices(steps.shape)
    if np.where(t >= i, steps, -steps).min(initial=0.0) < 0 or not ((starts >= 0) & (starts <= 1)).all():
        raise InvalidInput("the loss is not least at the truth, or a start is no probability.")
    weights = prior[:, None] * steps
    below, above = np.zeros((n - 1, n)), np.zeros((n - 1, n))
    for k in range(1, n):
        below[k - 1, :k], above[k - 1, : n - k] = weights[:k, k - 1][::-1], -weights[k:, k - 1]

    def costs(x: np.ndarray) -> np.ndarray:
        down, up = orbits(level, x, n)
        return np.asarray((below * down + above * up).sum(axis=1))

    scale = float(np.abs(table).max(initial=0.0))
    base = float(prior @ np.diag(table))
    least = base + float(least_costs(costs, starts, scale / n).sum())
    value = _expected(prior, solved, table)
    is_least = -1e-12 * scale <= value - least <= 1e-6 * scale
    detail = f"{n - 1} binary problems at their least cost lose {least:.12g} together; the value is {value:.12g}"
    return (check_value(solved.value, value), Check("least loss", is_least, detail)), max(value - least, 0.0)


def _expected(prior: np.ndarray, solved: Solved, table: np.ndarray) -> float:
    """The expected loss of the solution's mechanism."""
    return float(prior @ (solved.mechanism.matrix * table).sum(axis=1))


def _tight(problem: Problem, solved: Solved, prior: np.ndarray) -> Outcome:
    """The checks of a tight-constraints mechanism, and the gap that its rounding leaves."""
    mechanism = solved.mechanism
    if tuple(mechanism.outputs) != tuple(problem.space.points):
        raise InvalidInput("the outputs must be the points.")
    if isinstance(mechanism, DecayingMechanism):
        _require_pure(problem)
        if mechanism.space is not problem.space or mechanism.law.level != problem.privacy.single:
            raise InvalidInput("the columns decay on another space or at another level.")
        diagonal = mechanism.diagonal
        deviation = float(np.abs(mechanism.sums - 1).max()) + sum_error(
            mechanism.space, mechanism.law.level, mechanism.peaks
        )
        detail = f"every entry is e^-distance times its peak, and rows add up to 1 (within {deviation:.1g})"
    else:
        diagonal = np.diag(mechanism.matrix)
        expected = np.exp(-_lengths(problem)) * diagonal
        deviation = float(np.abs(mechanism.matrix - expected).max(initial=0.0))
        detail = f"every entry is e^-distance times its diagonal (within {deviation:.1g})"
    recipe = isinstance(mechanism, DecayingMechanism)
    is_tight = deviation <= (1e-10 if recipe else 1e-12) and bool((diagonal >= 0).all())
    value = 1 - float(prior @ diagonal) if len(prior) else 0.0
    gap = 4 * deviation if recipe else deviation * max(len(prior), 1)
    return (check_value(solved.value, value), Check("tight columns", is_tight, detail)), gap


def _require_pure(problem: Problem) -> None:
    if not all(isinstance(level, ApproxDP) and level.delta == 0 for level in problem.privacy.kinds()):
        raise InvalidInput("tight constraints need pure levels.")


def _lengths(problem: Problem) -> np.ndarray:
    """The lengths of shortest paths whose edges are as long as their epsilon."""
    _require_pure(problem)
    return problem.privacy.lengths()


def check_nothing(problem: Any, solved: Any) -> Outcome:
    """A mechanism of the user's own: nothing is claimed about its optimality."""
    return (check_value(solved.value, solved.mechanism.expected_loss()),), float("inf")
