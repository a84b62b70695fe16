"""Checks of yes/no mechanisms: free values forced by known points, bounds from dual prices, tests of a share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput
from utmost.exact import as_rational
from utmost.exact.arrays import Floats, Integers
from utmost.exact.citations import cites
from utmost.mechanism import average
from utmost.mechanism.certification import Check
from utmost.space import Space
from utmost.space.edge_levels import EdgeLevels
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
    read_positions,
    require_outputs,
)
from utmost.theory.verify_tight_chains import gaps_left, least_slack


@cites("BIN-theorem-2", "HET-theorem-1")
def check_extension(problem: Problem, solved: Solved) -> Outcome:
    """BIN Theorem 2: a private mechanism whose every free value is a bound that a known point forces is the best.

    A chain of edges from a known point to a free one, each carrying the bound of its level with equality, proves that
    no private mechanism with the same known values does better there. The chains with the least total slack are
    shortest paths; their slack bounds the gap.
    """
    space, levels, truth, matrix, right = _question(problem, solved)
    known = read_array(problem.data, "known", "b", (len(truth),))
    tails, heads = space.arcs.tails, space.arcs.heads
    usable = ~known[heads] & (known[tails] | (truth[tails] == truth[heads]))
    first = np.where(known, 0.0, np.inf)
    slack = least_slack(levels, first, usable, lambda points, ends: matrix[points, truth[ends]])
    gaps, attained = gaps_left(right, np.where(known, 0.0, slack), levels)
    checks = (
        _known_values_check(problem, known, matrix),
        _hitting(space, truth, known),
        check_value(solved.value, average(right)),
        _forced(space, gaps, attained, int((~known).sum())),
    )
    return checks, float(gaps.mean()) if len(gaps) else 0.0


@cites("BIN-corollary-2")
def check_balanced(problem: Problem, solved: Solved) -> Outcome:
    """BIN Corollary 2: every value is the least bound that the boundary's even shares carry to it.

    Across a boundary edge both ends can tell the truth with probability alpha at most, alpha = upper(1 - alpha); from
    there bounds are carried within each region of one truth.
    """
    space, levels, truth, matrix, right = _question(problem, solved)
    a, b = space.edge_indices.T
    crossing = np.flatnonzero(truth[a] != truth[b])
    limits = np.full(len(truth), np.inf)
    for ends in (a[crossing], b[crossing]):
        np.minimum.at(limits, ends, levels.even_shares(crossing)[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(np.isinf(limits), np.inf, np.log(limits / right))
    usable = truth[space.arcs.tails] == truth[space.arcs.heads]
    slack = least_slack(levels, first, usable, lambda points, ends: matrix[points, truth[ends]])
    gaps, attained = gaps_left(right, slack, levels)
    even = bool((right <= limits * (1 + 1e-12)).all())
    detail = "no point tells the truth more often than its side of a boundary edge allows"
    checks = (
        Check("boundary", even, detail if even else "a boundary point has more than its even share"),
        check_value(solved.value, average(right)),
        _forced(space, gaps, attained, len(truth)),
    )
    return checks, float(gaps.mean()) if len(gaps) else 0.0


def check_boundary_bound(problem: Problem, solved: Solved) -> Outcome:
    """Lagrange: any weights on valid constraints bound every private mechanism. All but the weights is recomputed."""
    _, _, truth, _, right = _question(problem, solved)
    prior, worst = read_distribution(problem.data, "prior", len(truth)), asks_for_worst(problem)
    value = float(right.min(initial=1.0)) if worst else average(right, prior)
    bound = boundary_bound(problem, solved.certificate.evidence)
    return (check_value(solved.value, value), check_bound(solved, value, bound)), max(bound - value, 0.0)


def boundary_bound(problem: Problem, evidence: Evidence) -> float:
    """Upper bound on the average, or least, probability of the truth of every private mechanism.

    A constraint is Pr[1] at one end <= slope · Pr[1] at the other + intercept, valid when the intercept is the level's
    own for that slope. With weights w >= 0, no private mechanism has an average above
    sum(w · intercept) + sum(positive parts of what remains of each point's coefficient).
    """
    levels, n = problem.privacy, len(problem.space.points)
    truth, prior = read_positions(problem.data, "truth", (n,), 2), read_distribution(problem.data, "prior", n)
    weights = read_distribution(evidence, "least_favourable", n) if asks_for_worst(problem) else prior
    m = len(read_positions(evidence, "edges", (None,), len(levels)))
    read_array(evidence, "forward", "b", (m,))
    for name in ("slopes", "duals"):
        if read_array(evidence, name, "f", (m,)).min(initial=0.0) < 0:
            raise InvalidInput(f"{name} must not be negative.")
    return dual_bound(levels, truth, weights, evidence)


def dual_bound(levels: EdgeLevels, truth: Integers, weights: Floats, evidence: Evidence) -> float:
    """Upper bound on every private mechanism's weighted average probability of the truth, rounding included."""
    if not len(truth):
        return 1.0
    edges, forward, slopes, duals = (evidence[name] for name in ("edges", "forward", "slopes", "duals"))
    ends = levels.space.edge_indices[edges]
    tails, heads = np.where(forward, ends[:, 0], ends[:, 1]), np.where(forward, ends[:, 1], ends[:, 0])
    limits = levels.intercepts(edges, slopes)
    coefficients = np.where(truth == 1, 1.0, -1.0) * weights
    np.add.at(coefficients, tails, -duals)
    np.add.at(coefficients, heads, duals * slopes)
    scale = float(np.abs(weights).sum() + duals @ (np.abs(slopes) + np.abs(limits) + 2))
    largest = float(np.nan_to_num(levels.log_growth(), posinf=0.0).max(initial=0.0))
    busiest = int(np.bincount(np.concatenate([tails, heads]), minlength=1).max(initial=0))
    total = weights[truth == 0].sum() + duals @ limits + np.maximum(coefficients, 0.0).sum()
    return float(total + scale * (64 + busiest + largest) * 2.0**-52)


def _question(problem: Problem, solved: Solved) -> tuple[Space, EdgeLevels, Integers, Floats, Floats]:
    """The parts of a yes/no question, checked, and the probability of the truth at every point."""
    space, matrix = problem.space, solved.mechanism.matrix
    if require_outputs(problem, solved) != 2:
        raise InvalidInput("a yes/no question has two outputs.")
    truth = read_positions(problem.data, "truth", (len(space.points),), 2)
    return space, problem.privacy, truth, matrix, matrix[np.arange(len(truth)), truth]


def _known_values_check(problem: Problem, known: NDArray[np.bool_], matrix: Floats) -> Check:
    """Whether the mechanism has the prescribed values at the known points."""
    values = problem.data.get("known_values")
    if not isinstance(values, list) or len(values) != int(known.sum()):
        raise InvalidInput("there must be one known value for each known point.")
    exact = [as_rational(v) for v in values]
    yes, no = (np.array([float(x) for x in column]) for column in (exact, [1 - x for x in exact]))
    changed = (matrix[known, 1] != yes) | (np.abs(matrix[known, 0] - no) > 1e-12 * no)
    if changed.any():
        point = problem.space.points[int(np.flatnonzero(known)[np.argmax(changed)])]
        return Check("known values", False, f"the value at {point!r} is not the one asked for")
    return Check("known values", True, f"all {len(exact)} are kept")


def _hitting(space: Space, truth: Integers, known: NDArray[np.bool_]) -> Check:
    """Whether the known points include an end of every boundary edge."""
    a, b = space.edge_indices.T
    missed = (truth[a] != truth[b]) & ~known[a] & ~known[b]
    if missed.any():
        one, other = space.edges[int(np.argmax(missed))]
        return Check("boundary", False, f"neither end of the boundary edge {one!r} - {other!r} is known")
    return Check("boundary", True, "every boundary edge has a known end")


def _forced(space: Space, gaps: Floats, attained: bool, count: int) -> Check:
    """Whether every free value attains the bound forced on it."""
    if attained:
        detail = f"each of {count} equals the least bound carried to it (within {gaps.max(initial=0.0):.1g})"
        return Check("free values", True, detail)
    point = space.points[int(np.argmax(gaps))]
    return Check("free values", False, f"the value at {point!r} could rise: nothing forces it")


def check_share_test(problem: Problem, solved: Solved) -> Outcome:
    """Awan and Slavković 2020: a private test with phi(x + 1) = upper(phi(x)) is the most powerful of its size.

    Where phi(x) is 0 nothing forces phi(x + 1) upwards but the size: any value up to upper(0) begins the test.
    """
    from scipy.stats import binom

    require_outputs(problem, solved)
    level, n = problem.privacy.single, len(problem.space.points) - 1
    theta, size, greater = (problem.data.get(name) for name in ("theta", "size", "greater"))
    sided = isinstance(greater, int) and greater in (0, 1)
    if level is None or not isinstance(theta, float) or not isinstance(size, float) or not sided:
        raise InvalidInput("a test of a share has one level, a share, a size and a side.")
    if tuple(problem.space.points) != tuple(range(n + 1)) or len(problem.space.edges) != n:
        raise InvalidInput("a test of a share has the counts 0 to n for its points, each next to the one before.")
    rejects = solved.mechanism.matrix[:, 1]
    rejection_rate = float(binom.pmf(np.arange(n + 1), n, theta) @ rejects)
    rising = rejects if greater else rejects[::-1]
    most = level.upper(rising[:-1])
    slack = np.where(rising[:-1] > 0, np.abs(most - rising[1:]), np.maximum(rising[1:] - most, 0.0))
    worst = float(slack.max(initial=0.0))
    size_ok = rejection_rate <= size + 1e-12 and (rejection_rate >= size - 1e-9 or bool((rising == 1).all()))
    checks = (
        check_value(solved.value, rejection_rate),
        Check("size", size_ok, f"rejects with probability {rejection_rate:.12g} at {theta:.6g}, {size:.6g} allowed"),
        Check("orbit", worst <= 1e-10, f"phi(x + 1) = upper(phi(x)) within {worst:.1g} where phi(x) > 0"),
    )
    return checks, max(size - rejection_rate, 0.0) + worst
