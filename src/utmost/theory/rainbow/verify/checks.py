"""Checks for ranked outputs: prefixes forced by the boundary, and a bound on every homogeneous boundary."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from utmost.errors import InvalidInput
from utmost.exact.arrays import Floats, Integers
from utmost.exact.citations import cites
from utmost.mechanism import average
from utmost.mechanism.certification import Check
from utmost.privacy import ApproxDP
from utmost.space import Space
from utmost.space.edge_levels import EdgeLevels, on_edges
from utmost.theory.rainbow.verify.border_pairs import border_bound
from utmost.theory.verify_dual_bounds import mechanism_bound
from utmost.theory.verify_evidence import (
    Evidence,
    Outcome,
    Problem,
    Solved,
    check_bound,
    check_value,
    read_array,
    read_distribution,
    read_outputs,
    read_positions,
    require_outputs,
)
from utmost.theory.verify_tight_chains import gaps_left, least_slack


@cites("RAIN-theorem-2", "RAIN-theorem-4", "RAIN-theorem-5", "RAIN-corollary-1")
def check_rainbow(problem: Problem, solved: Solved) -> Outcome:
    """The same chains as for two outputs, for the event of the j best outputs, for every j."""
    require_outputs(problem, solved)
    region, rankings = _rankings(problem)
    space, levels, matrix = problem.space, problem.privacy, solved.mechanism.matrix
    prefixes = np.minimum(np.cumsum(np.take_along_axis(matrix, rankings[region], axis=1), axis=1), 1.0)
    a, b = space.edge_indices.T
    boundary = np.zeros(len(region), dtype=bool)
    boundary[space.edge_indices[region[a] != region[b]].ravel()] = True
    target_rows = read_array(problem.data, "boundary", "f", rankings.shape)[region]
    boundary_ok = bool((np.abs(matrix - target_rows) <= 1e-12 * target_rows)[boundary].all())
    usable = ~boundary[space.arcs.heads] & (region[space.arcs.tails] == region[space.arcs.heads])
    first = np.where(boundary, 0.0, np.inf)
    attained, widest, gap = True, 0.0, 0.0
    for j in range(matrix.shape[1] - 1):
        prefix = prefixes[:, j]
        slack = least_slack(levels, first, usable, lambda points, ends, prefix=prefix: prefix[points])  # type: ignore[misc]
        gaps, is_attained = gaps_left(prefix, np.where(boundary, 0.0, slack), levels)
        attained, widest = attained and is_attained, max(widest, float(gaps.max(initial=0.0)))
        gap = float(gaps.mean()) if j == 0 and len(gaps) else gap
    value = average(prefixes[:, 0]) if matrix.shape[1] else 1.0
    detail = f"the best outputs, for each j, attain the least bound carried to them (within {widest:.1g})"
    checks = (
        check_value(solved.value, value),
        Check(
            "boundary",
            boundary_ok,
            "the boundary of each ranking is as asked" if boundary_ok else "a boundary value was changed",
        ),
        Check("free values", attained, detail if attained else "the best outputs could be likelier at some point"),
    )
    return checks, gap


def check_rainbow_bound(problem: Problem, solved: Solved) -> Outcome:
    """Lagrange on the boundary rainbow graph: any weights on its constraints bound every homogeneous mechanism."""
    require_outputs(problem, solved)
    region, rankings = _rankings(problem)
    points, k = rankings.shape[0] and len(region), rankings.shape[1]
    prior, weights = read_distribution(problem.data, "prior", points), read_array(problem.data, "weights", "f", (k,))
    bound = homogeneous_bound(problem, solved.certificate.evidence)
    ordered = np.take_along_axis(solved.mechanism.matrix, rankings[region], axis=1)
    parts = prior[:, None] * ordered * weights
    value, among = math.fsum(parts.ravel()), " with one boundary per ranking"
    room = (k + 4) * float(np.finfo(float).eps) * math.fsum(np.abs(parts).ravel())  # two products, and rows that add up
    return (check_value(solved.value, value), check_bound(solved, value, bound, among, room=room)), max(
        bound - value, 0.0
    )


@cites("RAIN-theorem-2", "RAIN-theorem-3")
def homogeneous_bound(problem: Problem, evidence: Evidence) -> float:
    """Upper bound on the expected weight of the output's position over mechanisms with one boundary per ranking.

    Some optimal homogeneous mechanism depends on a point's ranking and its distance to the border alone: inside a
    region, the outputs in the order of their positions' weights are a ranking, and the extension of the border is best
    for it (RAIN Theorem 2). Its rows are those of a private mechanism on any graph onto which the space is mapped such
    that merged points share both, and each edge is the image of one of the space. The graph comes from the evidence;
    rankings and distances are computed here.
    """
    region, rankings = _rankings(problem)
    points, k = rankings.shape[0] and len(region), rankings.shape[1]
    level = problem.privacy.single
    if level is None:
        raise InvalidInput("a homogeneous boundary has one level for all edges.")
    prior, weights = read_distribution(problem.data, "prior", points), read_array(problem.data, "weights", "f", (k,))
    onto = read_positions(evidence, "onto", (points,), max(points, 1))
    n = int(onto.max(initial=-1)) + 1
    edges = read_positions(evidence, "edges", (None, 2), n)
    levels, duals = _priced_levels(on_edges(Space(range(n), edges), level), evidence, k)
    images = {frozenset(pair) for pair in onto[problem.space.edge_indices].tolist()}
    if not all(frozenset(pair) in images for pair in edges.tolist()):
        raise InvalidInput("the graph of the evidence is not an image of the space.")
    representative = np.zeros(n, dtype=np.int64)
    representative[onto] = np.arange(points)  # any one of the merged points represents all of them
    stands_for = representative[onto]
    distance = _to_border(problem.space, region)
    if (region[stands_for] != region).any() or (distance[stands_for] != distance).any():
        raise InvalidInput("the evidence merges points of different rankings or distances to the border.")
    gains = np.zeros((n, k))
    np.add.at(gains, (onto[:, None], rankings[region]), prior[:, None] * weights)
    return mechanism_bound(levels, gains, duals)


def _priced_levels(levels: EdgeLevels, evidence: Evidence, k: int) -> tuple[EdgeLevels, Floats]:
    """The levels that the dual prices of the evidence refer to (tangents of curved levels), and the prices."""
    if "slopes" not in evidence:
        levels.require(ApproxDP, "dual prices need (epsilon, delta) levels, or tangents of others.")
        return levels, np.maximum(read_array(evidence, "duals", "f", (2, len(levels), k)), 0.0)
    cut = read_positions(evidence, "cut_edges", (None,), max(len(levels), 1))
    slopes = read_array(evidence, "slopes", "f", (len(cut),))
    if slopes.min(initial=1.0) < 1 or not all(level.concave for level in levels.kinds()):
        raise InvalidInput("tangents are of concave levels, and no slope is below 1.")
    return levels.tangents(cut, slopes), np.maximum(read_array(evidence, "duals", "f", (2, len(cut), k)), 0.0)


def check_first_preference(problem: Problem, solved: Solved) -> Outcome:
    """Lagrange: any weights on the constraints of privacy bound the first preferences of every private mechanism."""
    require_outputs(problem, solved)
    region, rankings = _rankings(problem)
    matrix = solved.mechanism.matrix
    p_first = matrix[np.arange(len(region)), rankings[region, 0]] if len(region) else np.zeros(0)
    value = average(p_first)
    if solved.certificate.claim == "unproved" and solved.certificate.bound is None:
        return (check_value(solved.value, value),), float("inf")
    if solved.certificate.claim != "bound":
        raise InvalidInput("first preferences are proved by a bound, or not at all.")
    fixed = _known(problem)
    deviation = max((float(np.abs(matrix[i] - row).max()) for i, row in fixed.items()), default=0.0)
    known_check = Check("known", deviation <= KEPT, f"the known distributions are kept (within {deviation:.1g})")
    bound = first_preference_bound(problem, solved.certificate.evidence)
    return (check_value(solved.value, value), known_check, check_bound(solved, value, bound)), max(bound - value, 0.0)


def first_preference_bound(problem: Problem, evidence: Evidence) -> float:
    """Upper bound on the average probability of the first preference, given the known distributions."""
    region, rankings = _rankings(problem)
    n, k = len(region), rankings.shape[1]
    if not n:
        return 1.0
    gains = np.zeros((n, k))
    gains[np.arange(n), rankings[region, 0]] = 1.0
    levels, duals = _priced_levels(problem.privacy, evidence, k)
    return mechanism_bound(levels, gains, duals, _known(problem)) / n


def _known(problem: Problem) -> dict[int, Floats]:
    """The distributions that are fixed, by position."""
    n, k = len(problem.space.points), len(read_outputs(problem))
    places = read_positions(problem.data, "known", (None,), max(n, 1))
    rows = read_array(problem.data, "known_rows", "f", (len(places), k))
    if rows.min(initial=0.0) < 0 or np.abs(rows.sum(axis=1) - 1).max(initial=0.0) > 1e-9:
        raise InvalidInput("a known row is not a distribution.")
    return dict(zip(places.tolist(), rows, strict=True))


KEPT = 1e-6
"""By how much a known distribution may have changed when the solver's answer was made private."""


def check_nearest(problem: Problem, solved: Solved) -> Outcome:
    """Lagrange: any weights on the constraints of privacy bound the probability of the truth; so do pairs of points."""
    require_outputs(problem, solved)
    region, prior = _read_regions(problem)
    value = average(solved.mechanism.matrix[np.arange(len(region)), region], prior)
    certificate = solved.certificate
    if certificate.bound is None and certificate.claim == "unproved":
        return (check_value(solved.value, value),), float("inf")
    bound = nearest_bound(problem, certificate.evidence)
    return (check_value(solved.value, value), check_bound(solved, value, bound)), max(bound - value, 0.0)


def nearest_bound(problem: Problem, evidence: Evidence) -> float:
    """Upper bound on the probability of the truth for private mechanisms, from pairs or from dual prices."""
    region, prior = _read_regions(problem)
    if "pairs" in evidence:
        pairs = read_positions(evidence, "pairs", (None,), max(len(problem.privacy), 1))
        return border_bound(problem.privacy, region, prior, pairs)
    problem.privacy.require(ApproxDP, "dual prices need (epsilon, delta) levels.")
    gains = np.zeros((len(region), len(read_outputs(problem))))
    gains[np.arange(len(region)), region] = prior
    duals = np.zeros((2, len(problem.privacy), gains.shape[1]))
    places = read_positions(evidence, "dual_places", (None,), max(duals.size, 1))
    np.add.at(duals.reshape(-1), places, np.maximum(read_array(evidence, "dual_values", "f", places.shape), 0.0))
    return mechanism_bound(problem.privacy, gains, duals)


def _read_regions(problem: Problem) -> tuple[Integers, Floats]:
    """The region of every point, and the prior, checked."""
    n = len(problem.space.points)
    region = read_positions(problem.data, "region", (n,), max(len(read_outputs(problem)), 1))
    return region, read_distribution(problem.data, "prior", n)


def _rankings(problem: Problem) -> tuple[Integers, Integers]:
    """The position of every point's ranking, and the columns of each ranking, best first; checked.

    Rankings must be distinct: two regions of one ranking would have no border.
    """
    k = len(read_outputs(problem))
    rankings = read_positions(problem.data, "rankings", (None, k), k)
    if not (np.sort(rankings, axis=1) == np.arange(k)).all():
        raise InvalidInput("a ranking must hold every output once.")
    if len(np.unique(rankings, axis=0)) < len(rankings):
        raise InvalidInput("a ranking is listed twice.")
    return read_positions(problem.data, "region", (len(problem.space.points),), len(rankings)), rankings


def _to_border(space: Space, region: Integers) -> NDArray[np.float64]:
    """The distance of every point to the nearest one with a neighbour of another ranking; infinity if there is none."""
    a, b = space.edge_indices.T
    ends = np.unique(space.edge_indices[region[a] != region[b]])
    if not len(ends):
        return np.full(len(region), np.inf)
    return np.asarray(space.distances_from([space.points[int(i)] for i in ends]))
