"""Any number of answers on any graph, with no common boundary: the *nearest* mechanism.

The truth divides the points into regions, one for each answer. At a point x, a wrong answer j has probability

    P_j(x) = max over border edges (u, v), u outside region j and v inside, of e^-D(x, u) / (1 + e^eps(u, v)),

D being the length of a shortest path whose edges are as long as their epsilon; at one level that is
e^(-eps (d - 1)) / (1 + e^eps), d the steps to the region. The true answer has the remaining probability. For two
answers it is the balanced mechanism. It is private if at every point the wrong answers together have at most
e^eps/(1 + e^eps), for the least eps of an edge there (proof in docs/theory.md); with m answers, e^eps >= m - 1
suffices. Whether it is private is decided on the probabilities themselves. It answers a question that BIN Section V
leaves open: more than two answers without a given boundary.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from utmost.errors import CannotCertify, InvalidInput, SolverFailed, UnsupportedLevel
from utmost.exact import without_underflow
from utmost.exact.arrays import Floats, Integers
from utmost.mechanism import FiniteMechanism
from utmost.mechanism.certification import require_private
from utmost.privacy import ApproxDP, PureDP
from utmost.privacy.pure_part import pure_within
from utmost.solution import Problem, Solution, certificate_of, proved_bound
from utmost.solution.sentences import NEAREST
from utmost.space import Space
from utmost.space.edge_levels import EdgeLevels, Privacy, on_edges
from utmost.space.sparse import csr_array, dijkstra
from utmost.theory.binary.design.extension import balanced
from utmost.theory.linear_program import Optimum, best_mechanism, mix_until_private

SEED = 2026
"""The seed of the public shuffle of edges."""
MOST_ENTRIES = 20_000
"""The largest number of edges times answers for which a linear program is solved: about a second."""


def nearest(space: Space, truth: Any, privacy: Privacy, prior: Any = None) -> Solution[FiniteMechanism]:
    """The mechanism whose wrong answers are less likely the farther their region is.

    Parameters
    ----------
    space : Space
        The datasets and their adjacency.
    truth : mapping, array or callable
        The right answer at every point; any labels.
    privacy : level, number or EdgeLevels
        Pure levels may differ from edge to edge. At one other concave level every wrong answer has its probability
        under a balanced binary mechanism.
    prior : mapping, array or callable, optional
        The distribution under which the value is an average; None is uniform. The mechanism does not depend on it if it
        is private.

    Returns
    -------
    Solution
        The value is the probability of the truth. For few points, the certificate holds dual prices that bound every
        private mechanism; for more, disjoint pairs of neighbours across borders, whose bound is weaker where three
        answers meet. If *nearest* is not private, the best private mechanism known is returned and the certificate says
        so: that of the linear program where it is small, else the exponential mechanism on distances.

    Examples
    --------
    The winner among three candidates for 4 votes: three regions that all meet.

    >>> import utmost as um
    >>> votes = um.histograms(4, 3)
    >>> best = um.rainbow.nearest(votes, lambda tally: tally.index(max(tally)), um.PureDP.from_ratio(3))
    >>> best.mechanism.row((2, 1, 1)).round(4).tolist(), bool(best.verify())
    ([0.5, 0.25, 0.25], True)
    """
    levels, weights = on_edges(space, privacy), space.as_prior(prior)
    truths = space.align(truth, "the truth")
    aligned = truths.tolist() if isinstance(truths, np.ndarray) else truths
    try:
        outputs = _in_order(aligned)
    except TypeError:
        raise InvalidInput("an answer of the truth cannot be a label; give texts, numbers or tuples.") from None
    places = {answer: i for i, answer in enumerate(outputs)}
    region = np.array([places[answer] for answer in aligned], dtype=np.int64)
    problem = Problem("rainbow.nearest", space, levels, {"outputs": outputs, "region": region, "prior": weights})
    optimum = _program(levels, region, weights, len(outputs))
    matrix, method = _find(levels, region, outputs, optimum)
    mechanism = FiniteMechanism(matrix, space.points, outputs)
    value = float(weights @ matrix[np.arange(len(region)), region]) if len(region) else 1.0
    if optimum is None:
        evidence: dict[str, Any] = {"pairs": _disjoint_pairs(space, region)}
    else:
        at = np.flatnonzero(optimum.duals)
        evidence = {"dual_places": at, "dual_values": optimum.duals.ravel()[at]}
    bound = proved_bound(problem, evidence)
    certificate = certificate_of(problem, mechanism, "bound", bound, abs(bound - value), evidence, method=method)
    return Solution(problem, mechanism, value, certificate)


def _disjoint_pairs(space: Space, region: Integers) -> Integers:
    """A maximal matching of edges across borders.

    In rounds: an edge is chosen if it comes first at both of its ends. Points with few such edges go first, ties are
    broken by a public shuffle, so that rounds are few.
    """
    ends = space.edge_indices
    candidates = np.flatnonzero(region[ends[:, 0]] != region[ends[:, 1]])
    degree = np.bincount(ends[candidates].ravel(), minlength=len(region))
    order = np.lexsort((np.random.default_rng(SEED).permutation(len(candidates)), degree[ends[candidates]].min(axis=1)))
    candidates, matching, is_free = candidates[order], [np.zeros(0, dtype=np.int64)], np.ones(len(region), dtype=bool)
    while len(candidates):
        first = np.full(len(region), len(candidates))
        for side in (0, 1):
            np.minimum.at(first, ends[candidates, side], np.arange(len(candidates)))
        is_first = (first[ends[candidates]] == np.arange(len(candidates))[:, None]).all(axis=1)
        matching.append(candidates[is_first])
        is_free[ends[candidates[is_first]]] = False
        candidates = candidates[is_free[ends[candidates]].all(axis=1)]
    return np.sort(np.concatenate(matching))


def _in_order(answers: list[Any]) -> tuple[Any, ...]:
    """The distinct answers: sorted if they are comparable, else in order of appearance."""
    distinct = dict.fromkeys(answers)
    try:
        return tuple(sorted(distinct))
    except TypeError:
        return tuple(distinct)


def _find(
    levels: EdgeLevels, region: Integers, outputs: tuple[Any, ...], optimum: Optimum | None
) -> tuple[Floats, str]:
    """The *nearest* mechanism if it is private, else an alternative that is; and the method in words."""
    space, pure = levels.space, _is_pure(levels)
    wrong = _wrong_answers(levels, region, len(outputs)) if pure else _balanced_answers(levels, region, len(outputs))
    rest = 1 - wrong.sum(axis=1)
    wrong[np.arange(len(region)), region] = rest
    if (rest >= 0).all():
        try:
            require_private(FiniteMechanism(wrong, space.points, outputs), levels)
            return wrong, NEAREST[0] if pure else NEAREST[1]
        except CannotCertify:
            pass
    if optimum is not None:
        return mix_until_private(optimum.matrix, levels)[0], NEAREST[2]
    if not pure:
        within = None if levels.single is None else pure_within(levels.single)
        if within is None:
            raise UnsupportedLevel(
                f"nearest is not private at {levels}, and no pure level implies that; allow a larger level, or give "
                "pure ones."
            )
        levels = on_edges(space, PureDP(within.exponent) if within.ratio == 1 else PureDP.from_ratio(within.ratio))
    length = np.stack([_lengths_from(levels, region == j, np.zeros(len(region))) for j in range(len(outputs))], axis=1)
    scores = without_underflow(np.exp(-(length - length.min(axis=1, keepdims=True)) / 2), np.isfinite(length))
    return scores / scores.sum(axis=1, keepdims=True), NEAREST[3]


def _is_pure(levels: EdgeLevels) -> bool:
    """Whether all levels are pure."""
    return all(isinstance(level, ApproxDP) and level.delta == 0 for level in levels.kinds())


def _wrong_answers(levels: EdgeLevels, region: Integers, answers: int) -> Floats:
    """P_j at every point outside region j, by one shortest-path pass per answer; 0 inside."""
    probabilities = np.zeros((len(region), answers))
    arcs, length = levels.space.arcs, levels.log_growth()
    start = np.logaddexp(0.0, length)[arcs.edges]  # log(1 + e^eps)
    for j in range(answers):
        border = (region[arcs.tails] != j) & (region[arcs.heads] == j)
        first = np.full(len(region), np.inf)
        np.minimum.at(first, arcs.tails[border], start[border])
        length_to_region = _lengths_from(levels, np.isfinite(first), first)
        outside = region != j
        probabilities[outside, j] = without_underflow(np.exp(-length_to_region), np.isfinite(length_to_region))[outside]
    return probabilities


def _lengths_from(levels: EdgeLevels, sources: Any, first: Floats) -> Floats:
    """The distance of every point from the sources, each starting at `first`; edges are as long as their epsilon."""
    n, arcs = len(first), levels.space.arcs
    from_all = np.flatnonzero(sources)
    if not len(from_all):
        return np.full(n, np.inf)
    length = np.maximum(levels.log_growth()[arcs.edges], 1e-300)  # 0 would be no edge at all
    starts = np.searchsorted(arcs.tails, np.arange(n + 1))
    graph = csr_array(
        (
            np.concatenate([length, np.maximum(first[from_all], 1e-300)]),
            np.concatenate([arcs.heads, from_all]).astype(np.int32),
            np.append(starts, len(arcs.heads) + len(from_all)).astype(np.int32),
        ),
        shape=(n + 1, n + 1),
    )
    return np.asarray(dijkstra(graph, indices=n)[:n])


def _balanced_answers(levels: EdgeLevels, region: Integers, answers: int) -> Floats:
    """The probability of each wrong answer under the balanced mechanism of that answer against all others."""
    level = levels.single
    if level is None or not level.concave:
        raise UnsupportedLevel(f"nearest needs pure levels, or one concave level on all edges, not {levels}.")
    probabilities = np.zeros((len(region), answers))
    for j in range(answers if answers > 1 else 0):
        table = balanced(levels.space, region == j, level).mechanism.matrix
        probabilities[:, j] = np.where(region == j, 0.0, table[:, 1])
    return probabilities


def _program(levels: EdgeLevels, region: Integers, weights: Floats, answers: int) -> Optimum | None:
    """The linear program over all private mechanisms, where it is small."""
    linear = all(isinstance(level, ApproxDP) for level in levels.kinds())
    if not linear or not 0 < (len(levels) + len(region)) * answers <= MOST_ENTRIES:
        return None
    gains = np.zeros((len(region), answers))
    gains[np.arange(len(region)), region] = weights
    try:
        return best_mechanism(levels, gains, interior=len(levels) * answers > MOST_ENTRIES // 10)
    except SolverFailed:
        return None
