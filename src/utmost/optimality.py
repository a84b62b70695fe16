"""Why nothing private is better: conditions re-checked from the problem and the mechanism, with nothing of the solver.

One checker per question. It returns the checks made, each in words, and a bound on how far the value may be from the
best possible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from utmost.certification import Check
from utmost.edge_levels import EdgeLevels, on_edges
from utmost.errors import InvalidInput
from utmost.exact import as_rational
from utmost.mechanism import FiniteMechanism
from utmost.space import Space
from utmost.sparse import csr_array, dijkstra

Floats: TypeAlias = NDArray[np.float64]
ATTAINED = 1e-9
"""How far a value may be below the bound carried to it and still count as attaining it, given rounding."""


class _Problem(Protocol):
    @property
    def space(self) -> Space: ...
    @property
    def privacy(self) -> EdgeLevels: ...
    @property
    def data(self) -> Mapping[str, Any]: ...


class _Certificate(Protocol):
    @property
    def evidence(self) -> Mapping[str, Any]: ...


class _Solved(Protocol):
    @property
    def mechanism(self) -> FiniteMechanism: ...
    @property
    def value(self) -> float: ...
    @property
    def certificate(self) -> _Certificate: ...


Outcome: TypeAlias = tuple[tuple[Check, ...], float]
Carried: TypeAlias = Callable[[NDArray[Any], NDArray[Any]], Floats]


def check_extension(problem: _Problem, solved: _Solved) -> Outcome:
    """BIN Theorem 2: a private mechanism whose every free value is a bound that a known point forces is the best.

    A chain of edges from a known point to a free one, each carrying the bound of its level with equality, proves that
    no private mechanism with the same known values does better there. The chains with the least total slack are
    shortest paths; their slack bounds the gap.
    """
    _require_truth(problem)
    space, levels = problem.space, problem.privacy
    truth, known = problem.data["truth"], problem.data["known"]
    matrix = solved.mechanism.matrix
    right = matrix[np.arange(len(truth)), truth]
    checks = [_kept(problem, matrix), _hitting(space, truth, known), _stated(solved.value, average(right))]
    tails, heads = space.arcs.tails, space.arcs.heads
    usable = known[tails] | (truth[tails] == truth[heads])
    slack = _least_slack(levels, known, usable, lambda points, ends: matrix[points, truth[ends]])
    free = ~known
    gaps, unforced = _gaps(right, slack, free)
    widest = float(gaps.max(initial=0.0))
    if unforced.any() or widest > ATTAINED:
        point = space.points[int(np.argmax(unforced if unforced.any() else gaps))]
        checks.append(Check("free values", False, f"the value at {point!r} could rise: no known point forces it"))
    else:
        detail = f"each of {int(free.sum())} equals the least bound carried to it (within {widest:.1g})"
        checks.append(Check("free values", True, detail))
    return tuple(checks), float(gaps.mean()) if len(gaps) else 0.0


def check_boundary_bound(problem: _Problem, solved: _Solved) -> Outcome:
    """Lagrange: any weights on valid constraints bound every private mechanism. All but the weights is recomputed.

    A constraint is Pr[1] at `tails` <= slope · Pr[1] at `heads` + intercept, valid when the intercept is the level's
    own for that slope. With weights w >= 0, no private mechanism has an average above
    sum(w · intercept) + sum(positive parts of what remains of each point's coefficient).
    """
    _require_truth(problem)
    levels, truth = problem.privacy, problem.data["truth"]
    prior, worst_case = problem.data["prior"], problem.data["criterion"] == "worst"
    evidence = solved.certificate.evidence
    matrix = solved.mechanism.matrix
    right = matrix[np.arange(len(truth)), truth]
    value = float(right.min(initial=1.0)) if worst_case else average(right, prior)
    weights = evidence["least_favourable"] if worst_case else prior
    sound = bool((weights >= 0).all()) and (not len(truth) or abs(float(weights.sum()) - 1) < 1e-9)
    bound = dual_bound(levels, truth, weights / weights.sum() if worst_case else weights, evidence)
    gap = bound - value
    checks = (
        _stated(solved.value, value),
        Check(
            "bound",
            bool(sound and value <= bound < np.inf),
            f"no private mechanism exceeds {bound:.12g}; the value is {value:.12g}",
        ),
    )
    return checks, max(gap, 0.0)


def dual_bound(levels: EdgeLevels, truth: NDArray[np.int64], weights: Floats, evidence: Mapping[str, Any]) -> float:
    """What no private mechanism's weighted average probability of the truth exceeds, rounding counted against us."""
    if not len(truth):
        return 1.0
    edges, forward = evidence["edges"], evidence["forward"]
    slopes, duals = evidence["slopes"], np.maximum(evidence["duals"], 0.0)
    ends = levels.space.edge_indices[edges]
    tails, heads = np.where(forward, ends[:, 0], ends[:, 1]), np.where(forward, ends[:, 1], ends[:, 0])
    limits = intercepts(levels, edges, slopes)
    sign = np.where(truth == 1, 1.0, -1.0)
    left = sign * weights
    np.add.at(left, tails, -duals)
    np.add.at(left, heads, duals * slopes)
    scale = float(np.abs(weights).sum() + duals @ (np.abs(slopes) + np.abs(limits) + 2))
    largest = float(np.nan_to_num(levels.log_growth(), posinf=0.0).max(initial=0.0))
    degree = int(np.bincount(tails, minlength=1).max(initial=0))
    rounding = (64 + degree + largest) * 2.0**-52
    total = weights[truth == 0].sum() + duals @ limits + np.maximum(left, 0.0).sum()
    return float(total + scale * rounding)


def intercepts(levels: EdgeLevels, edges: NDArray[np.int64], slopes: Floats) -> Floats:
    """The least intercepts that make lines of these slopes lie above each edge's `upper`."""
    if levels.single is not None:
        return levels.single.intercept(slopes)
    return np.array([levels[int(e)].intercept(np.array([s]))[0] for e, s in zip(edges, slopes, strict=True)])


def check_rainbow(problem: _Problem, solved: _Solved) -> Outcome:
    """The same chains as for two outputs, for the event of the j best outputs, for every j."""
    _require_rankings(problem)
    space, levels = problem.space, problem.privacy
    region, order = problem.data["region"], problem.data["rankings"][problem.data["region"]]
    matrix = solved.mechanism.matrix
    prefixes = np.cumsum(np.take_along_axis(matrix, order, axis=1), axis=1)
    a, b = space.edge_indices.T
    boundary = np.zeros(len(region), dtype=bool)
    boundary[space.edge_indices[region[a] != region[b]].ravel()] = True
    asked = problem.data["boundary"][region]
    kept = bool(np.abs(matrix - asked)[boundary].max(initial=0.0) <= 1e-15)
    usable = region[space.arcs.tails] == region[space.arcs.heads]
    widest, total, unforced = 0.0, 0.0, np.zeros(len(region), dtype=bool)
    for j in range(matrix.shape[1] - 1):
        told = np.minimum(prefixes[:, j], 1.0)
        slack = _least_slack(levels, boundary, usable, lambda points, ends, told=told: told[points])  # type: ignore[misc]
        gaps, nothing = _gaps(told, slack, ~boundary)
        unforced |= nothing & (told < 1 - 1e-12)
        widest, total = (
            max(widest, float(gaps.max(initial=0.0))),
            total + (float(gaps.mean()) if j == 0 and len(gaps) else 0),
        )
    first = average(prefixes[:, 0]) if matrix.shape[1] else 1.0
    fine = widest <= ATTAINED and not unforced.any()
    detail = f"the best outputs, for each j, attain the least bound carried to them (within {widest:.1g})"
    checks = (
        _stated(solved.value, first),
        Check("boundary", kept, "the boundary of each ranking is as asked" if kept else "a boundary value was changed"),
        Check("free values", fine, detail if fine else "the best outputs could be likelier at some point"),
    )
    return checks, total


def check_rainbow_bound(problem: _Problem, solved: _Solved) -> Outcome:
    """Lagrange on the boundary rainbow graph: any weights on its constraints bound every homogeneous mechanism."""
    _require_rankings(problem)
    data, evidence = problem.data, solved.certificate.evidence
    onto, edges, duals = evidence["onto"], evidence["edges"], np.maximum(evidence["duals"], 0.0)
    region, rankings, weights, prior = data["region"], data["rankings"], data["weights"], data["prior"]
    n, k = int(onto.max(initial=-1)) + 1, rankings.shape[1]
    images = {frozenset(pair) for pair in onto[problem.space.edge_indices].tolist()}
    real = all(frozenset(pair) in images for pair in edges.tolist())
    same = np.full(n, -1)
    same[onto] = region
    pure = bool((onto >= 0).all() and (same[onto] == region).all() and (edges >= 0).all() and (edges < n).all())
    pure &= bool((prior >= 0).all()) and (not n or abs(float(prior.sum()) - 1) < 1e-9)
    gains = np.zeros((n, k))
    np.add.at(gains, (onto[:, None], rankings[region]), prior[:, None] * weights)
    level = problem.privacy.single
    assert level is not None
    bound = mechanism_bound(on_edges(Space(range(n), edges), level), gains, duals)
    matrix = solved.mechanism.matrix
    value = float((prior[:, None] * np.take_along_axis(matrix, rankings[region], axis=1) @ weights).sum())
    detail = f"no private mechanism with one boundary per ranking exceeds {bound:.12g}; the value is {value:.12g}"
    checks = (_stated(solved.value, value), Check("bound", bool(real and pure and value <= bound < np.inf), detail))
    return checks, max(bound - value, 0.0)


def mechanism_bound(levels: EdgeLevels, gains: Floats, duals: Floats) -> float:
    """What sum(gains · X) no private X exceeds, from weights >= 0 on X_io - E X_ho, rounding counted against us.

    For weights w on an ordered edge, sum_o w_o (X_io - E X_ho) <= delta · max w, so the sum is at most
    sum over points of the largest remaining gain, plus sum over edges of delta · max w.
    """
    left = gains.copy()
    a, b = levels.space.edge_indices.T
    finite = np.isfinite(levels.growth)
    growth = np.where(finite, levels.growth * (1 + 2.0**-50 + levels.log_growth() * 2.0**-51), 0.0)  # above e^epsilon
    weights = np.where(finite[:, None], np.maximum(duals, 0.0), 0.0)
    for tails, heads, w in ((a, b, weights[0]), (b, a, weights[1])):
        np.subtract.at(left, tails, w)
        np.add.at(left, heads, growth[:, None] * w)
    spent = float((weights.max(axis=2, initial=0.0) * levels.delta).sum())
    scale = float(np.abs(gains).sum() + (weights.sum(axis=(0, 2)) * (1 + growth)).sum() + spent)
    degree = int(np.bincount(np.concatenate([a, b]), minlength=1).max(initial=0))
    return float(left.max(axis=1).sum() + spent + scale * (degree + 64) * 2.0**-52) if len(left) else 0.0


def check_nothing(problem: _Problem, solved: _Solved) -> Outcome:
    """A mechanism that somebody brought: nothing is claimed about its optimality."""
    return (_stated(solved.value, solved.mechanism.expected_loss()),), float("inf")


def check_first_preference(problem: _Problem, solved: _Solved) -> Outcome:
    """A mechanism that is optimal for its own objective only: its value is what it states."""
    region, rankings = problem.data["region"], problem.data["rankings"]
    told = solved.mechanism.matrix[np.arange(len(region)), rankings[region, 0]] if len(region) else np.zeros(0)
    return (_stated(solved.value, average(told)),), float("inf")


CHECKERS: dict[str, tuple[str, Callable[[Any, Any], Outcome]]] = {
    "binary.extend": ("theorem", check_extension),
    "binary.balanced": ("theorem", check_extension),
    "binary.best_boundary": ("bound", check_boundary_bound),
    "rainbow.extend": ("theorem", check_rainbow),
    "rainbow.best_boundary": ("bound", check_rainbow_bound),
    "rainbow.lexicographic": ("unproved", check_first_preference),
    "given": ("unproved", check_nothing),
}
"""What each question's certificate claims, and the check that the claim must pass."""


def average(told: Floats, weights: Floats | None = None) -> float:
    """The average of probabilities of the truth; 1 over no points at all."""
    if not len(told):
        return 1.0
    return float(told.mean() if weights is None else weights @ told)


def _require_truth(problem: _Problem) -> None:
    """Refuse data that are no yes/no question: a file may hold anything."""
    truth, n = problem.data["truth"], len(problem.space.points)
    if truth.shape != (n,) or not np.isin(truth, (0, 1)).all():
        raise InvalidInput("the truth must be 0 or 1 at every point.")
    known = problem.data.get("known", np.zeros(n, dtype=bool))
    if known.shape != (n,) or known.dtype != bool:
        raise InvalidInput("which points are known must be a truth value for every point.")


def _require_rankings(problem: _Problem) -> None:
    """Refuse data that are no rankings of the outputs."""
    region, rankings = problem.data["region"], problem.data["rankings"]
    n, k = len(problem.space.points), len(problem.data["outputs"])
    if region.shape != (n,) or (n and not 0 <= region.min() <= region.max() < len(rankings)):
        raise InvalidInput("every point must have one of the rankings.")
    if rankings.shape[1:] != (k,) or not (np.sort(rankings, axis=1) == np.arange(k)).all():
        raise InvalidInput("a ranking must hold every output once.")


def _kept(problem: _Problem, matrix: Floats) -> Check:
    known, values = problem.data["known"], problem.data["known_values"]
    asked = np.array([float(as_rational(v)) for v in values])
    changed = matrix[known, 1] != asked
    if changed.any():
        point = problem.space.points[int(np.flatnonzero(known)[np.argmax(changed)])]
        return Check("known values", False, f"the value at {point!r} is not the one asked for")
    return Check("known values", True, f"all {len(asked)} are kept")


def _hitting(space: Space, truth: NDArray[np.int64], known: NDArray[np.bool_]) -> Check:
    a, b = space.edge_indices.T
    missed = (truth[a] != truth[b]) & ~known[a] & ~known[b]
    if missed.any():
        one, other = space.edges[int(np.argmax(missed))]
        return Check("boundary", False, f"neither end of the boundary edge {one!r} - {other!r} is known")
    return Check("boundary", True, "every boundary edge has a known end")


def _stated(value: float, found: float) -> Check:
    same = abs(value - found) <= 1e-12
    return Check("value", bool(same), f"{found:.12g}" + ("" if same else f", not {value:.12g} as stated"))


def _least_slack(levels: EdgeLevels, known: NDArray[np.bool_], usable: NDArray[np.bool_], values: Carried) -> Floats:
    """For each free point, the least sum of log(bound / value) over the chains that reach it from a known point.

    `usable` says along which arcs a bound may be carried, `values(points, heads)` is the probability at some points of
    the event that counts at the heads. For a concave `upper`, values along a chain are at most e^slack times too small.
    """
    n = len(known)
    if not n:
        return np.zeros(0)
    arcs = levels.space.arcs
    chosen = usable & ~known[arcs.heads]
    tails, heads, edges = arcs.tails[chosen], arcs.heads[chosen], arcs.edges[chosen]
    carried, value = levels.upper(edges, values(tails, heads)), values(heads, heads)
    with np.errstate(divide="ignore", invalid="ignore"):
        slack = np.where(carried > value, np.log(carried / value), 0.0)
    sources = np.flatnonzero(known)
    starts = np.searchsorted(tails, np.arange(n + 1))
    graph = csr_array(
        (
            np.concatenate([slack, np.zeros(len(sources))]),
            np.concatenate([heads, sources]).astype(np.int32),
            np.append(starts, len(heads) + len(sources)).astype(np.int32),
        ),
        shape=(n + 1, n + 1),
    )
    return np.asarray(dijkstra(graph, indices=n)[:n])


def _gaps(right: Floats, slack: Floats, free: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.bool_]]:
    """How far each free value may be below the best, and which free values nothing forces."""
    unforced = free & np.isinf(slack) & (right < 1)
    with np.errstate(over="ignore", invalid="ignore"):
        best = np.where(np.isinf(slack), 1.0, np.minimum(1.0, right * np.exp(slack)))
    return np.where(free, best - right, 0.0), unforced
