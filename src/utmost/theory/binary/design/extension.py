"""The optimal extension of a mechanism that is known at the boundary, and the balanced boundary."""

from __future__ import annotations

from typing import Any

import numpy as np

from utmost.exact import without_underflow
from utmost.exact.arrays import Floats
from utmost.exact.citations import cites
from utmost.mechanism import FiniteMechanism, average
from utmost.privacy import Level
from utmost.solution import Problem, Solution, certificate_of
from utmost.solution.sentences import BY_DISTANCE
from utmost.space import Space
from utmost.space.edge_levels import EdgeLevels, Privacy, on_edges
from utmost.theory.binary.design.conflict import find_conflict, raise_conflict
from utmost.theory.binary.design.path_bounds import Bounds, carry
from utmost.theory.binary.design.truth import (
    Mask,
    Outputs,
    Truth,
    as_probability,
    as_truth,
    boundary_edges,
    read_known,
    require_hitting,
)


@cites("BIN-theorem-1", "BIN-theorem-2", "BIN-corollary-1", "BIN-algorithm-1", "HET-theorem-1", "HET-algorithm-2")
def extend(
    space: Space, truth: Any, known: Any, privacy: Privacy, outputs: Outputs = (False, True)
) -> Solution[FiniteMechanism]:
    """The optimal private mechanism with prescribed values at known points, for every reasonable utility at once.

    Parameters
    ----------
    space : Space
        The points and their adjacency.
    truth : mapping, array or callable
        The right answer at every point, one of `outputs`; an array is aligned with the points.
    known : mapping, array or callable
        Pr[outputs[1]] at the known points (free points: NaN in an array, None from a callable). The known points must
        include an end of every boundary edge (see `hitting_set`). A float means its shortest decimal; Fractions and
        strings such as "1/3" are exact.
    privacy : level, number or EdgeLevels
        Any suitable pair, one for all edges or one per edge.
    outputs : pair
        The answers for which the truth stands; probabilities are those of the second.

    Returns
    -------
    Solution
        With value the average probability of the truth. `NoExtension` if known values contradict each other, decided
        exactly; `NotBoundaryHitting` if they miss a boundary edge, for then the optimum need not be unique (BIN
        Example 2).

    Notes
    -----
    BIN Theorem 2 (one suitable pair), HET Theorem 1 (an epsilon per edge); the same proof covers any suitable pair per
    edge. O((V + E) log V) in place of HET's O(V^3 E).

    Examples
    --------
    The path of BIN Example 3: blue in the middle, red at the ends, epsilon = log 2.

    >>> import utmost as um
    >>> graph = um.Space.from_edges([("v1", "v2"), ("v2", "v3"), ("v3", "v4")])
    >>> colour = {"v1": "red", "v2": "blue", "v3": "blue", "v4": "red"}
    >>> level = um.PureDP.from_ratio(2)
    >>> best = um.binary.extend(graph, colour, {"v1": 0.3, "v4": 0.1}, level, outputs=("red", "blue"))
    >>> [round(best.mechanism.probability(v, "blue"), 12) for v in graph.points]
    [0.3, 0.4, 0.2, 0.1]
    """
    levels = on_edges(space, privacy)
    right = as_truth(space, truth, outputs)
    fixed = read_known(space, known)
    require_hitting(space, right, fixed.mask)
    matrix, method = carry_from(levels, right, fixed.mask, fixed.columns())
    conflict = find_conflict(levels, right, fixed.mask, matrix, fixed.exact)
    if conflict:
        raise_conflict(conflict, levels, outputs, fixed.exact)
    data = {"outputs": tuple(outputs), "truth": right, "known": fixed.mask, "known_values": fixed.to_plain()}
    return _solution("binary.extend", levels, data, matrix, method)


@cites("BIN-corollary-2")
def balanced(space: Space, truth: Any, privacy: Privacy, outputs: Outputs = (False, True)) -> Solution[FiniteMechanism]:
    """The optimal mechanism that is symmetric in both answers, with the same probability of the truth on either side.

    At the boundary the truth has probability (e^eps + delta)/(e^eps + 1), the largest that both ends of an edge can
    have at once; inside, BIN Corollary 2 gives it in closed form. With levels per edge, a boundary point has the
    largest probability that all its boundary edges, and the points near it, allow.

    Examples
    --------
    >>> import utmost as um
    >>> majority = um.binary.balanced(um.counts(101), lambda yes: yes > 50, 1.0)
    >>> [round(majority.mechanism.probability(yes, True), 6) for yes in (50, 51, 52, 60)]
    [0.268941, 0.731059, 0.901062, 0.999967]
    """
    levels = on_edges(space, privacy)
    right = as_truth(space, truth, outputs)
    edges = np.flatnonzero(boundary_edges(space, right))
    ends = space.edge_indices[edges]
    on_boundary = np.zeros(len(right), dtype=bool)
    on_boundary[ends.ravel()] = True
    p, q = levels.even_shares(edges)
    if levels.single is not None and len(edges):
        points = [space.points[int(i)] for i in np.flatnonzero(on_boundary)]
        bounds = _by_distance(levels.single, space.distances_from(points), float(p[0]), float(q[0]))
        method = BY_DISTANCE
    else:
        start = np.ones(len(right)), np.zeros(len(right))
        for side in (0, 1):
            np.minimum.at(start[0], ends[:, side], p)
            np.maximum.at(start[1], ends[:, side], q)
        inner_edges = np.flatnonzero(~boundary_edges(space, right))
        regions = Space(space.points, space.edge_indices[inner_edges])
        bounds, method = carry(levels.take(inner_edges, regions), start, np.ones(len(right), dtype=bool))
    matrix = _columns(right, *bounds)
    data = {"outputs": tuple(outputs), "truth": right}
    return _solution("binary.balanced", levels, data, matrix, method)


@cites("HET-theorem-4", "HET-algorithm-1")
def imposed(space: Space, point: Any, share: Any, privacy: Privacy) -> Floats:
    """Upper bound at every point if one point has probability `share`: HET's A_{u,alpha}(v), the least over all paths.

    Parameters
    ----------
    space : Space
        The points and their adjacency.
    point : hashable
        The point at which the probability of an output is known.
    share : number or str
        That probability; a float means its shortest decimal.
    privacy : level, number or EdgeLevels
        One level for all edges, or one per edge.

    Returns
    -------
    array
        Aligned with `space.points`: the largest probability of the same output that privacy allows there.

    Examples
    --------
    The bounds of BIN Example 3: what v1 and v4 impose on each point of the path.

    >>> import utmost as um
    >>> um.binary.imposed(um.path(4), 0, 0.3, um.PureDP.from_ratio(2)).round(6)
    array([0.3, 0.6, 0.8, 0.9])
    >>> um.binary.imposed(um.path(4), 3, 0.1, um.PureDP.from_ratio(2)).round(6)
    array([0.7, 0.4, 0.2, 0.1])
    """
    n, here = len(space.points), space.index(point)
    exact = as_probability(share, point)
    p, q = np.ones(n), np.zeros(n)
    p[here], q[here] = float(exact), float(1 - exact)
    return carry(on_edges(space, privacy), (p, q), np.ones(n, dtype=bool))[0][0]


def carry_from(levels: EdgeLevels, truth: Truth, known: Mask, columns: Floats) -> tuple[Floats, str]:
    """The bounds carried from the known points, as if they did not contradict each other.

    Free neighbours have the same truth, so one run carries the bounds on either truth: each free point starts with
    what its known neighbours allow for its own truth.
    """
    n = len(truth)
    arcs = levels.space.arcs
    entering = known[arcs.tails] & ~known[arcs.heads]
    tails, heads, edges = arcs.tails[entering], arcs.heads[entering], arcs.edges[entering]
    own_truth = truth[heads]
    p, q = np.ones(n), np.zeros(n)
    higher, lower = levels.move(edges, columns[tails, own_truth], columns[tails, 1 - own_truth])
    np.minimum.at(p, heads, higher)
    np.maximum.at(q, heads, lower)
    (p, q), method = carry(levels, (p, q), ~known)
    matrix = _columns(truth, p, q)
    matrix[known] = columns[known]
    return matrix, method


def _columns(truth: Truth, p: Floats, q: Floats) -> Floats:
    """Both probabilities at every point from that of the truth and its complement."""
    return np.column_stack([np.where(truth == 0, p, q), np.where(truth == 1, p, q)])


def _solution(
    question: str, levels: EdgeLevels, data: dict[str, Any], matrix: Floats, method: str
) -> Solution[FiniteMechanism]:
    """The solution with this matrix."""
    space = levels.space
    value = average(matrix[np.arange(len(matrix)), data["truth"]])
    problem, mechanism = Problem(question, space, levels, data), FiniteMechanism(matrix, space.points, data["outputs"])
    return Solution(problem, mechanism, value, certificate_of(problem, mechanism, "theorem", method=method))


def _by_distance(level: Level, distance: Floats, p: float, q: float) -> Bounds:
    """The bounds at each distance from the boundary; points not connected to it tell the truth with certainty."""
    reached = np.isfinite(distance)
    farthest = int(distance[reached].max(initial=0))
    steps = np.arange(farthest + 1)
    p_truth = level.upper_after(steps, np.full(farthest + 1, p))
    q_truth = without_underflow(level.lower_after(steps, np.full(farthest + 1, q)), level.keeps_positive and q > 0)
    at = np.where(reached, distance, 0).astype(np.int64)
    return np.where(reached, p_truth[at], 1.0), np.where(reached, q_truth[at], 0.0)
