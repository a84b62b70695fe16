"""Boundaries chosen by linear programs: the best homogeneous one, and what the theory does not cover."""

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
"""Linear programs with more constraints would take hours: they are refused."""


def best_boundary(
    space: Space, preferences: Any, privacy: Privacy, weights: ArrayLike | None = None, prior: Any = None
) -> Solution:
    """The best mechanism that is the same on all boundary points of a ranking, for weights on positions.

    Parameters
    ----------
    weights : how much the first, second, ... preference is worth; they must not increase. Default: only the first.
    prior : distribution over the points; None is uniform

    Notes
    -----
    A linear program on the boundary rainbow graph, which is small; the extension inside is `extend`'s. Gaussian levels,
    and other concave ones, have tangents added where they are broken. The value is the expected weight of the position
    of the output; the certificate holds dual prices, from which `verify` recomputes a bound on every private mechanism
    that is constant on the points of that graph.

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
    small = on_edges(lines, level)
    rankings = np.array([regions.rainbows.index(name[0]) for name in lines.points], dtype=np.int64)
    gains = np.zeros((len(lines.points), len(regions.outputs)))
    totals = np.bincount(onto.indices, weights=mass, minlength=len(lines.points))
    for i, order in enumerate(regions.order):
        gains[np.ix_(rankings == i, order)] = totals[rankings == i, None] * worth
    optimum, cut = _best(small, gains)
    at_boundary = {int(rankings[i]): optimum.matrix[i] for i, name in enumerate(lines.points) if name[1] == 0}
    rows = _mend(regions, at_boundary, levels)
    found = solve_inside(levels, regions, rows, level)
    matrix = found.mechanism.matrix
    value = float((mass[:, None] * np.take_along_axis(matrix, regions.order[regions.region], axis=1) @ worth).sum())
    evidence = {"onto": onto.indices, "edges": lines.edge_indices, "duals": optimum.duals, **cut}
    data = {name: found.problem.data[name] for name in ("outputs", "region", "rankings")}
    problem = Problem("rainbow.best_boundary", space, levels, data | {"weights": worth, "prior": mass})
    bound = proved_bound(problem, evidence)
    certificate = certificate_of(problem, found.mechanism, "bound", bound, max(bound - value, 0.0), evidence)
    return Solution(problem, found.mechanism, value, certificate)


def lexicographic(space: Space, preferences: Any, known: Any, privacy: Privacy) -> Solution:
    """One linear program per position: most first preferences, then most second ones, and so on.

    For what the theory does not cover: boundary points of one ranking with different distributions, and levels per
    edge. Then no mechanism need be best at every point, so the result is optimal for this objective only: it maximises
    the sum over all points of Pr[first preference], then of Pr[first two], ...

    Parameters
    ----------
    known : mapping
        For each point whose distribution is fixed: {output: probability}, or probabilities in the order of its ranking.
    privacy : (epsilon, delta), Gaussian or other concave levels, one or per edge

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
    for point, given in known.items():
        i = space.index(point)
        row = read_row(regions, regions.rainbows[regions.region[i]], given, f"the distribution known at {point!r}")
        fixed[i] = np.array([float(x) for x in row])
    held: list[tuple[Floats, float]] = []
    evidence: dict[str, Any] = {}
    matrix = np.zeros((len(space.points), len(regions.outputs)))
    for position in range(1, max(len(regions.outputs), 2)):
        gains = np.zeros_like(matrix)
        np.put_along_axis(gains, order[:, :position], 1.0, axis=1)
        try:
            optimum, cut = _best(levels, gains, fixed, held)
            matrix = optimum.matrix
        except SolverFailed as failure:
            if held or not failure.infeasible:
                raise
            raise _infeasible(space, fixed, levels, regions) from None
        if position == 1:
            evidence = {"duals": optimum.duals, **cut}
        held.append((gains, float((gains * matrix).sum()) - 1e-9 * len(matrix)))
    mended, moved = mix_until_private(matrix, levels)
    told = mended[np.arange(len(mended)), order[:, 0]] if len(mended) else np.zeros(0)
    places = np.array(sorted(fixed), dtype=np.int64)
    rows = np.array([fixed[int(i)] for i in places]).reshape(len(places), len(regions.outputs))
    data = {"outputs": regions.outputs, "region": regions.region, "rankings": regions.order}
    problem = Problem("rainbow.lexicographic", space, levels, data | {"known": places, "known_rows": rows})
    value, bound = average(told), proved_bound(problem, evidence)
    mechanism = FiniteMechanism(mended, space.points, regions.outputs)
    notes = (moved_words(moved),)
    certificate = certificate_of(problem, mechanism, "bound", bound, max(bound - value, 0.0), evidence, notes=notes)
    return Solution(problem, mechanism, value, certificate)


def _require_concave(levels: EdgeLevels) -> None:
    levels.require((ApproxDP, GaussianDP, SuitablePair), "rankings need (epsilon, delta) or other concave levels.")
    for level in levels.kinds():
        if not level.concave:
            raise UnsupportedLevel(f"{level} is not covered here: it makes sense for two outputs only; use um.binary.")


def _best(
    levels: EdgeLevels,
    gains: Floats,
    fixed: dict[int, Floats] | None = None,
    held: list[tuple[Floats, float]] | None = None,
) -> tuple[Optimum, dict[str, Any]]:
    """The linear program's optimum at any concave levels; where they are curved, which tangents it was made of, too."""
    if all(isinstance(level, ApproxDP) for level in levels.kinds()):
        return best_mechanism(levels, gains, fixed, held), {}
    found = best_by_tangents(levels, gains, fixed, held)
    return found.optimum, {"cut_edges": found.edges, "slopes": found.slopes}


def _weights(weights: ArrayLike | None, k: int) -> Floats:
    worth = np.array([1.0] + [0.0] * (k - 1)) if weights is None else np.asarray(weights, dtype=float)
    if worth.shape != (k,) or not np.isfinite(worth).all() or (np.diff(worth) > 0).any():
        raise InvalidInput(
            f"weights is {weights!r}; give {k} finite numbers that do not increase, best position first."
        )
    return worth[:k]


def _mend(regions: Regions, rows: dict[int, Floats], levels: EdgeLevels) -> list[list[Fraction] | None]:
    """The solver's boundary distributions, mixed with their mean until they are private in floating point."""
    numbers = sorted(rows)
    if not numbers:
        return [None] * len(regions.rainbows)
    a, b = regions.space.edge_indices.T
    pairs = np.unique(np.column_stack([regions.region[a], regions.region[b]]), axis=0)
    crossing = pairs[pairs[:, 0] != pairs[:, 1]]
    place = {number: i for i, number in enumerate(numbers)}
    edges = [(place[int(x)], place[int(y)]) for x, y in crossing]
    joined = Space.from_edges(np.array(edges, dtype=np.int64).reshape(-1, 2), points=range(len(numbers)))
    single = levels.single
    assert single is not None
    mended, _ = mix_until_private(np.array([rows[i] for i in numbers]), on_edges(joined, single))
    result: list[list[Fraction] | None] = [None] * len(regions.rainbows)
    for number, row in zip(numbers, mended, strict=True):
        exact = [Fraction(float(x)) for x in row]
        result[number] = [x / sum(exact) for x in exact]
    return result


def _infeasible(space: Space, fixed: dict[int, Floats], levels: EdgeLevels, regions: Regions) -> NoExtension:
    """The error for known distributions that contradict each other: the worst pair, by the distance between them."""
    worst = (-np.inf, 0, 0, 0)
    for i, here in fixed.items():
        reach = space.distances_from(space.points[i])
        for j, there in fixed.items():
            if i != j and np.isfinite(reach[j]):
                with np.errstate(divide="ignore", invalid="ignore"):
                    ratio = np.where(there > 0, np.log(there / here), -np.inf) / reach[j]
                worst = max(worst, (float(ratio.max()), i, j, int(ratio.argmax())))
    _, i, j, o = worst
    one, other, output = space.points[i], space.points[j], regions.outputs[o]
    asked, forcing = float(fixed[j][o]), float(fixed[i][o])
    return NoExtension(
        f"the distributions known at {one!r} and {other!r} (or others like them) contradict each other at {levels}: "
        f"the output {output!r} has probability {forcing:.6g} at {one!r} and {asked:.6g} at {other!r}. Bring them "
        "closer, or allow a larger epsilon.",
        point=other,
        asked=asked,
        forced_by=one,
        bound=float("nan"),
        output=output,
    )
