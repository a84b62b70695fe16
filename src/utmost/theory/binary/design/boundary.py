"""The best boundary values, as a linear program on the graph of datasets.

Variables are Pr[1] at every point; each edge gives, in both directions, the lines that make up its level's concave
`upper`: all of them for (epsilon, delta) and piecewise linear levels, tangents where needed for curved ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput, SolverFailed, TooLarge
from utmost.exact.arrays import Floats
from utmost.mechanism import FiniteMechanism, average
from utmost.privacy import ApproxDP, GaussianDP, SuitablePair
from utmost.solution import Problem, Solution, certificate_of, proved_bound
from utmost.solution.sentences import ROUNDS
from utmost.space import Space
from utmost.space.edge_levels import EdgeLevels, Privacy, on_edges
from utmost.space.sparse import coo_array, vstack
from utmost.theory.binary.design.extension import carry_from
from utmost.theory.binary.design.path_bounds import carry
from utmost.theory.binary.design.truth import Outputs, as_truth, boundary_edges
from utmost.theory.linear_program import TIGHT

MOST_ROUNDS = 40
MARGINS = (0.0, 1e-12, 1e-9, 1e-7, 1e-5)
CLOSED = 1e-10
"""Tangent cuts are added until bound and value are this close, or three rounds have not brought them closer by this."""
MOST_LINES = {False: 2 * 10**6, True: 30_000}
"""Linear programs with more lines, straight or (True) tangents to curves, would take minutes to hours, and many GB."""


def best_boundary(
    space: Space,
    truth: Any,
    privacy: Privacy,
    prior: Any = None,
    criterion: Literal["average", "worst"] = "average",
    outputs: Outputs = (False, True),
) -> Solution[FiniteMechanism]:
    """The best mechanism over all boundary values: the most truth on average under a prior, or at the worst point.

    A linear program on the graph itself for (epsilon, delta) and piecewise linear levels, tangent cuts for Gaussian
    ones. The certificate holds dual prices, from which `verify` recomputes a bound on every private mechanism.

    Parameters
    ----------
    prior : mapping, array or callable, optional
        A distribution over the points; None is uniform.
    criterion : "average" or "worst"
        The average under the prior, or the least probability of the truth over all points.

    Examples
    --------
    >>> import utmost as um
    >>> rare = um.binary.best_boundary(um.path(2), [False, True], um.PureDP.from_ratio(3), prior=[0.9, 0.1])
    >>> round(rare.value, 9)                          # always saying no is best when yes is this rare
    0.9
    """
    levels = on_edges(space, privacy)
    levels.require(
        (ApproxDP, GaussianDP, SuitablePair),
        "best_boundary needs (epsilon, delta), Gaussian or piecewise linear levels.",
    )
    right = as_truth(space, truth, outputs)
    weights = space.as_prior(prior)
    if criterion not in ("average", "worst"):
        raise InvalidInput(f"criterion is {criterion!r}; say 'average' or 'worst'.")
    boundary = np.zeros(len(right), dtype=bool)
    boundary[space.edge_indices[boundary_edges(space, right)].ravel()] = True

    def complete(target: Floats) -> Floats:
        """The best private mechanism whose boundary is close to the target values of Pr[1].

        Only the boundary is taken from the linear program: inside, probabilities fall below what it resolves, and a
        zero there would force zeros everywhere. At the boundary, too, values that it does not resolve from 0 or 1 are
        tried both unchanged and a margin away.
        """
        everywhere = np.ones(len(target), dtype=bool)
        best, most = None, -1.0
        for margin in MARGINS:
            p = np.where(boundary, np.clip(target, margin, 1 - margin), 1.0)
            (p, q), _ = carry(levels, (p, np.where(boundary, 1 - p, 0.0)), everywhere)
            matrix = carry_from(levels, right, boundary, np.column_stack([q, p]))[0]
            p_truth = matrix[np.arange(len(right)), right]
            value = float(p_truth.min(initial=1.0)) if criterion == "worst" else average(p_truth, weights)
            if value > most:
                best, most = matrix, value
        assert best is not None
        return best

    data = {"outputs": tuple(outputs), "truth": right, "prior": weights, "criterion": criterion}
    problem = Problem("binary.best_boundary", space, levels, data)
    matrix, evidence, rounds = _solve_by_cuts(problem, complete)
    p_truth = matrix[np.arange(len(right)), right]
    value = float(p_truth.min(initial=1.0)) if criterion == "worst" else average(p_truth, weights)
    bound = proved_bound(problem, evidence)
    mechanism = FiniteMechanism(matrix, space.points, outputs)
    how = ROUNDS.format(whole=rounds, s="s" * (rounds > 1))
    certificate = certificate_of(problem, mechanism, "bound", bound, max(bound - value, 0.0), evidence, method=how)
    return Solution(problem, mechanism, value, certificate)


def _solve_by_cuts(problem: Problem, complete: Callable[[Floats], Floats]) -> tuple[Floats, dict[str, Any], int]:
    """The best mechanism found, the evidence for its bound, and the number of rounds of cuts.

    `complete` turns target values of Pr[1] into a private mechanism.
    """
    levels, truth, weights = problem.privacy, problem.data["truth"], problem.data["prior"]
    worst = problem.data["criterion"] == "worst"
    edges, forward, slopes = _first_cuts(levels)
    curved = _curved(levels)
    n = len(truth)
    if len(edges) > MOST_LINES[bool(len(curved))]:
        raise TooLarge(
            f"the best boundary on {len(levels)} edges is a linear program of {len(edges)} lines, more than "
            f"{MOST_LINES[bool(len(curved))]}; use binary.balanced, or fix the boundary and use binary.extend."
        )
    rounds, bounds = 0, [np.inf] * 3
    while True:
        rounds += 1
        evidence = {"edges": edges, "forward": forward, "slopes": slopes}
        target, duals, favoured = _solve(levels, truth, weights, worst, edges, forward, slopes)
        evidence |= {"duals": duals}
        if worst:
            evidence["least_favourable"] = favoured
        best = complete(target)
        p_truth = best[np.arange(n), truth]
        value = float(p_truth.min(initial=1.0)) if worst else average(p_truth, weights)
        if not len(curved) or rounds == MOST_ROUNDS:
            break
        bounds.append(proved_bound(problem, evidence))
        if bounds[-1] - value <= CLOSED or bounds[-4] - bounds[-1] <= CLOSED:
            break
        new = _violated(levels, curved, target)
        if not len(new[0]):
            break
        edges, forward, slopes = (
            np.concatenate([old, extra]) for old, extra in zip((edges, forward, slopes), new, strict=True)
        )
    return best, evidence, rounds


def _solve(
    levels: EdgeLevels,
    truth: NDArray[np.int64],
    weights: Floats,
    worst: bool,
    edges: NDArray[np.int64],
    forward: NDArray[np.bool_],
    slopes: Floats,
) -> tuple[Floats, Floats, Floats]:
    """Pr[1] at every point, the dual price of every cut, and the prior under which the value is an average."""
    from scipy.optimize import linprog

    n, m = len(truth), len(edges)
    sign = np.where(truth == 1, 1.0, -1.0)
    if not n:
        return np.zeros(0), np.zeros(0), weights
    ends = levels.space.edge_indices[edges]
    tails, heads = np.where(forward, ends[:, 0], ends[:, 1]), np.where(forward, ends[:, 1], ends[:, 0])
    rows = np.concatenate([np.arange(m), np.arange(m)])
    scale = 1 / np.maximum(slopes, 1.0)  # no coefficient above 1: e^epsilon may be huge
    entries = (np.concatenate([scale, -slopes * scale]), (rows, np.concatenate([tails, heads])))
    limits = levels.intercepts(edges, slopes) * scale
    matrix = coo_array(entries, shape=(m, n + worst))
    unit = 1.0 if worst else float(weights.max())  # costs of 1/n are below the solver's tolerances for large n
    cost = np.concatenate([np.zeros(n), [-1.0]]) if worst else -sign * weights / unit
    if worst:  # the last variable is at most the probability of the truth at every point
        point_numbers = np.arange(n)
        truth_rows = coo_array(
            (
                np.concatenate([-sign, np.ones(n)]),
                (np.tile(point_numbers, 2), np.concatenate([point_numbers, np.full(n, n)])),
            )
        )
        matrix = vstack([matrix, truth_rows])
        limits = np.concatenate([limits, (truth == 0).astype(float)])
    constrained = len(limits) > 0
    result = linprog(
        cost,
        matrix.tocsr() if constrained else None,
        limits if constrained else None,
        bounds=(0, 1),
        method="highs",
        options=TIGHT,
    )
    if result.x is None:
        raise SolverFailed(f"the linear program for the boundary failed ({result.message}); try a level nearer to 1.")
    duals = -result.ineqlin.marginals * unit if len(limits) else np.zeros(0)
    hard_prior = np.maximum(duals[m:], 0.0) if worst else weights
    if worst:
        hard_prior = hard_prior / hard_prior.sum() if hard_prior.sum() > 0 else np.full(n, 1 / n)
    return np.clip(result.x[:n], 0.0, 1.0), np.maximum(duals[:m] * scale, 0.0), hard_prior


def _curved(levels: EdgeLevels) -> NDArray[np.int64]:
    """The edges whose `upper` is not made of straight lines."""
    if not any(level.lines() is None for level in levels.kinds()):
        return np.zeros(0, dtype=np.int64)
    return np.array([e for e in range(len(levels)) if levels[e].lines() is None], dtype=np.int64)


def _first_cuts(levels: EdgeLevels) -> tuple[NDArray[np.int64], NDArray[np.bool_], Floats]:
    """All lines of straight levels and a few tangents of curved ones, in both directions."""
    several = np.array([0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
    edges: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)]
    slopes: list[Floats] = [np.zeros(0)]
    numbers = levels.numbers()
    for number in np.unique(numbers).tolist():
        members = np.flatnonzero(numbers == number)
        level = levels[int(members[0])]
        lines = level.lines()
        tangent_slopes = np.array([s for s, _ in lines], dtype=float) if lines is not None else level.tangent(several)
        edges.append(np.repeat(members, len(tangent_slopes)))
        slopes.append(np.tile(tangent_slopes, len(members)))
    both = np.tile(np.concatenate(edges), 2)
    return both, np.repeat([True, False], len(both) // 2), np.tile(np.concatenate(slopes), 2)


def _violated(
    levels: EdgeLevels, curved: NDArray[np.int64], target: Floats
) -> tuple[NDArray[np.int64], NDArray[np.bool_], Floats]:
    """Tangents at the target values, on the curved edges whose constraint they violate."""
    tangents: list[tuple[int, bool, float]] = []
    for forward in (True, False):
        a, b = levels.space.edge_indices[curved].T
        tails, heads = (a, b) if forward else (b, a)
        broken = target[tails] > levels.upper(curved, target[heads]) + 1e-12
        for e, alpha in zip(
            curved[broken].tolist(), np.clip(target[heads[broken]], 1e-9, 1 - 1e-9).tolist(), strict=True
        ):
            tangents.append((e, forward, float(levels[e].tangent(np.array([alpha]))[0])))
    if not tangents:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool), np.zeros(0)
    e, f, s = zip(*tangents, strict=True)
    return np.array(e, dtype=np.int64), np.array(f, dtype=bool), np.array(s, dtype=float)
