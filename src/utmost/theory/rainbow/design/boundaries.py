"""Boundaries chosen by linear programs: the best homogeneous one, and lexicographic optima beyond the theory."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from utmost.errors import InvalidInput, NoExtension, SolverFailed, TooLarge, UnsupportedLevel
from utmost.exact.arrays import Floats
from utmost.mechanism import FiniteMechanism, average
from utmost.privacy import ApproxDP, GaussianDP, SuitablePair
from utmost.solution import Problem, Solution, certificate_of, proved_bound
from utmost.solution.sentences import moved_words
from utmost.space import Space
from utmost.space.edge_levels import EdgeLevels, Privacy, on_edges
from utmost.theory.linear_program import Optimum, best_by_tangents, best_mechanism, mix_until_private
from utmost.theory.rainbow.design.rankings import (
    Regions,
    find_regions,
    lines_of,
    one_concave_level,
    read_row,
    solve_inside,
)

MOST_CONSTRAINTS = 10**6
"""Linear programs with more constraints are refused; they would take hours."""


def best_boundary(
    space: Space, preferences: Any, privacy: Privacy, weights: ArrayLike | None = None, prior: Any = None
) -> Solution[FiniteMechanism]:
    """The best mechanism that is the same on all boundary points of a ranking, for weights on positions.

    Parameters
    ----------
    weights : array of float, optional
        The worth of the first, second, ... preference; not increasing. Default: only the first counts.
    prior : mapping, array or callable, optional
        A distribution over the points; None is uniform.

    Notes
    -----
    A linear program on the boundary rainbow graph, which is small; the extension inside is that of `extend`. For
    Gaussian and other concave levels, tangents are added where they are violated. The value is the expected weight of
    the position of the output; the certificate holds dual prices, from which `verify` recomputes a bound on every
    private mechanism that is constant on the points of that graph.

    Examples
    --------
    >>> import utmost as um
    >>> winner = lambda votes: ("a", "b", "c") if votes < 5 else ("b", "a", "c")
    >>> best = um.rainbow.best_boundary(um.counts(9), winner, um.PureDP.from_ratio(3))
    >>> round(best.mechanism.probability(4, "a"), 6)
    0.75
    >>> gaussian = um.rainbow.best_boundary(um.counts(9), winner, um.GaussianDP(1))
    >>> round(gaussian.value, 6), gaussian.certificate.claim, gaussian.certificate.gap < 1e-9
    (0.923642, 'bound', True)
    """
    levels = on_edges(space, privacy)
    level = one_concave_level(privacy)
    regions = find_regions(space, preferences)
    worth = _weights(weights, len(regions.outputs))
    mass = space.as_prior(prior)
    lines, onto = lines_of(regions)
    entries = 2 * len(lines.edge_indices) * len(regions.outputs)
    if entries > MOST_CONSTRAINTS:
        raise TooLarge(
            f"the best boundary on lines of {len(lines.points)} points with {len(regions.outputs)} outputs is a linear "
            f"program of {entries} constraints, more than {MOST_CONSTRAINTS}; give the boundary to rainbow.extend."
        )
    line_levels = on_edges(lines, level)
    rankings = np.array([regions.rainbows.index(name[0]) for name in lines.points], dtype=np.int64)
    gains = np.zeros((len(lines.points), len(regions.outputs)))
    totals = np.bincount(onto.indices, weights=mass, minlength=len(lines.points))
    for i, order in enumerate(regions.order):
        gains[np.ix_(rankings == i, order)] = totals[rankings == i, None] * worth
    optimum, tangents = _best(line_levels, gains)
    at_boundary = {int(rankings[i]): optimum.matrix[i] for i, name in enumerate(lines.points) if name[1] == 0}
    rows = _mend(regions, at_boundary, levels)
    solution = solve_inside(levels, regions, rows, level)
    matrix = solution.mechanism.matrix
    value = float((mass[:, None] * np.take_along_axis(matrix, regions.order[regions.region], axis=1) @ worth).sum())
    evidence = {"onto": onto.indices, "edges": lines.edge_indices, "duals": optimum.duals, **tangents}
    data = {name: solution.problem.data[name] for name in ("outputs", "region", "rankings")}
    problem = Problem("rainbow.best_boundary", space, levels, data | {"weights": worth, "prior": mass})
    bound = proved_bound(problem, evidence)
    certificate = certificate_of(problem, solution.mechanism, "bound", bound, max(bound - value, 0.0), evidence)
    return Solution(problem, solution.mechanism, value, certificate)


def lexicographic(space: Space, preferences: Any, known: Any, privacy: Privacy) -> Solution[FiniteMechanism]:
    """Lexicographic optimum: one linear program per position, for first preferences, then first two, and so on.

    For cases that the theory does not cover: boundary points of one ranking with different distributions, and levels
    per edge. Then no mechanism need be best at every point, so the result is optimal for this objective only: it
    maximises the sum over all points of Pr[first preference], then of Pr[first two], ...

    Parameters
    ----------
    known : mapping
        For each point with a fixed distribution: {output: probability}, or probabilities in the order of its ranking.
    privacy : level, number or EdgeLevels
        (epsilon, delta), Gaussian or other concave levels, one or per edge.

    Returns
    -------
    Solution
        Its value is the average probability of the first preference, with a bound on every private mechanism that has
        the known distributions; of second and later preferences nothing is proved.

    Examples
    --------
    >>> import utmost as um
    >>> known = {2: [0.5, 0.3, 0.2], 3: {"a": 0.4, "b": 0.3, "c": 0.3}}
    >>> rankings = lambda i: ("a", "b", "c") if i < 3 else ("c", "b", "a")
    >>> solution = um.rainbow.lexicographic(um.path(6), rankings, known, 1.0)
    >>> solution.certificate.claim, round(solution.value, 6), solution.certificate.gap < 1e-8
    ('bound', 0.699357, True)
    """
    levels = on_edges(space, privacy)
    _require_concave(levels)
    regions = find_regions(space, preferences)
    order = regions.order[regions.region]
    fixed = {}
    for point, values in known.items():
        i = space.index(point)
        row = read_row(regions, regions.rainbows[regions.region[i]], values, f"the distribution known at {point!r}")
        fixed[i] = np.array([float(x) for x in row])
    lower_bounds: list[tuple[Floats, float]] = []
    evidence: dict[str, Any] = {}
    matrix = np.zeros((len(space.points), len(regions.outputs)))
    for position in range(1, max(len(regions.outputs), 2)):
        gains = np.zeros_like(matrix)
        np.put_along_axis(gains, order[:, :position], 1.0, axis=1)
        try:
            optimum, tangents = _best(levels, gains, fixed, lower_bounds)
            matrix = optimum.matrix
        except SolverFailed as failure:
            if lower_bounds or not failure.infeasible:
                raise
            raise _infeasible(space, fixed, levels, regions) from None
        if position == 1:
            evidence = {"duals": optimum.duals, **tangents}
        lower_bounds.append((gains, float((gains * matrix).sum()) - 1e-9 * len(matrix)))
    private_matrix, change = mix_until_private(matrix, levels)
    p_first = private_matrix[np.arange(len(private_matrix)), order[:, 0]] if len(private_matrix) else np.zeros(0)
    places = np.array(sorted(fixed), dtype=np.int64)
    rows = np.array([fixed[int(i)] for i in places]).reshape(len(places), len(regions.outputs))
    data = {"outputs": regions.outputs, "region": regions.region, "rankings": regions.order}
    problem = Problem("rainbow.lexicographic", space, levels, data | {"known": places, "known_rows": rows})
    value, bound = average(p_first), proved_bound(problem, evidence)
    mechanism = FiniteMechanism(private_matrix, space.points, regions.outputs)
    notes = (moved_words(change),)
    certificate = certificate_of(problem, mechanism, "bound", bound, max(bound - value, 0.0), evidence, notes=notes)
    return Solution(problem, mechanism, value, certificate)


def _require_concave(levels: EdgeLevels) -> None:
    """Refuse levels that are not concave."""
    levels.require((ApproxDP, GaussianDP, SuitablePair), "rankings need (epsilon, delta) or other concave levels.")
    for level in levels.kinds():
        if not level.concave:
            raise UnsupportedLevel(f"{level} is not covered here: it makes sense for two outputs only; use um.binary.")


def _best(
    levels: EdgeLevels,
    gains: Floats,
    fixed: dict[int, Floats] | None = None,
    at_least: list[tuple[Floats, float]] | None = None,
) -> tuple[Optimum, dict[str, Any]]:
    """The linear program's optimum at any concave levels, and for curved ones the tangents that it used."""
    if all(isinstance(level, ApproxDP) for level in levels.kinds()):
        return best_mechanism(levels, gains, fixed, at_least), {}
    cuts = best_by_tangents(levels, gains, fixed, at_least)
    return cuts.optimum, {"cut_edges": cuts.edges, "slopes": cuts.slopes}


def _weights(weights: ArrayLike | None, k: int) -> Floats:
    """The worth of every position, checked."""
    worth = np.array([1.0] + [0.0] * (k - 1)) if weights is None else np.asarray(weights, dtype=float)
    if worth.shape != (k,) or not np.isfinite(worth).all() or (np.diff(worth) > 0).any():
        raise InvalidInput(
            f"weights is {weights!r}; give {k} finite numbers that do not increase, best position first."
        )
    return worth[:k]


def _mend(regions: Regions, rows: dict[int, Floats], levels: EdgeLevels) -> list[list[Fraction] | None]:
    """The solver's boundary distributions as rationals, mixed with their mean until they are private."""
    numbers = sorted(rows)
    if not numbers:
        return [None] * len(regions.rainbows)
    a, b = regions.space.edge_indices.T
    pairs = np.unique(np.column_stack([regions.region[a], regions.region[b]]), axis=0)
    crossing = pairs[pairs[:, 0] != pairs[:, 1]]
    place = {number: i for i, number in enumerate(numbers)}
    edges = [(place[int(x)], place[int(y)]) for x, y in crossing]
    meeting = Space.from_edges(np.array(edges, dtype=np.int64).reshape(-1, 2), points=range(len(numbers)))
    single = levels.single
    assert single is not None
    private_rows, _ = mix_until_private(np.array([rows[i] for i in numbers]), on_edges(meeting, single))
    exact_rows: list[list[Fraction] | None] = [None] * len(regions.rainbows)
    for number, row in zip(numbers, private_rows, strict=True):
        exact = [Fraction(float(x)) for x in row]
        exact_rows[number] = [x / sum(exact) for x in exact]
    return exact_rows


def _infeasible(space: Space, fixed: dict[int, Floats], levels: EdgeLevels, regions: Regions) -> NoExtension:
    """The error for known distributions that contradict each other: the worst pair, by the distance between them."""
    worst = (-np.inf, 0, 0, 0)
    for i, here in fixed.items():
        distances = space.distances_from(space.points[i])
        for j, there in fixed.items():
            if i != j and np.isfinite(distances[j]):
                with np.errstate(divide="ignore", invalid="ignore"):
                    ratio = np.where(there > 0, np.log(there / here), -np.inf) / distances[j]
                worst = max(worst, (float(ratio.max()), i, j, int(ratio.argmax())))
    _, i, j, o = worst
    one, other, output = space.points[i], space.points[j], regions.outputs[o]
    requested, forcing = float(fixed[j][o]), float(fixed[i][o])
    return NoExtension(
        f"the distributions known at {one!r} and {other!r} (or others like them) contradict each other at {levels}: "
        f"the output {output!r} has probability {forcing:.6g} at {one!r} and {requested:.6g} at {other!r}. Bring them "
        "closer, or allow a larger epsilon.",
        point=other,
        asked=requested,
        forced_by=one,
        bound=float("nan"),
        output=output,
    )
