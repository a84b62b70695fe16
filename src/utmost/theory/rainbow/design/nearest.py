"""Any number of answers on any graph, with no common boundary: the *nearest* mechanism.

The truth splits the points into regions, one for each answer. At a point x, a wrong answer j is given with probability

    P_j(x) = max over border edges (u, v), u outside region j and v inside, of e^-D(x, u) / (1 + e^eps(u, v)),

D being the length of a shortest path whose edges are as long as their epsilon; at one level that is
e^(-eps (d - 1)) / (1 + e^eps), d the steps to the region. The true answer has the rest. Of two answers it is the
balanced mechanism. It is private if at every point the wrong answers together have at most e^eps/(1 + e^eps), for the
least eps of an edge there (proof in docs/theory.md); with m answers, e^eps >= m - 1 suffices. Whether it is private is
decided on the probabilities themselves. It answers the question that BIN Section V leaves open: what to do with more
than two answers where no boundary is given.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from utmost.errors import CannotCertify, InvalidInput, SolverFailed, UnsupportedLevel
from utmost.exact import held
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
"""Of the shuffle of edges, which is public."""
MOST_ENTRIES = 20_000
"""Up to how many edges times answers a linear program is solved for a bound: about a second."""


def nearest(space: Space, truth: Any, privacy: Privacy, prior: Any = None) -> Solution:
    """The mechanism that gives a wrong answer the less often the farther its region is.

    Parameters
    ----------
    space : Space
        The datasets and which of them are neighbours.
    truth : mapping, array or callable
        The right answer at every point; any labels.
    privacy : level, number or levels per edge
        Pure levels may differ from edge to edge. At one other concave level every wrong answer has what a balanced
        binary mechanism would give it.
    prior : distribution over the points, optional
        What the value is an average under; None is uniform. The mechanism does not depend on it where it is private.

    Returns
    -------
    Solution
        The value is the probability of the truth. Where there are few points, the certificate holds dual prices that
        bound every private mechanism; of more, disjoint pairs of neighbours across borders, whose bound is not as close
        where three answers meet. Where *nearest* is not private, the best private mechanism known is returned and
        the certificate says so: the linear program where it is small, else the exponential mechanism on distances.

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
    given = space.align(truth, "the truth")
    aligned = given.tolist() if isinstance(given, np.ndarray) else given
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
    """Edges across borders, no two of which share a point and to which none can be added.

    In rounds: an edge is taken if it comes first at both of its ends. Points with few such edges go first, else a
    public shuffle decides, so that rounds are few.
    """
    ends = space.edge_indices
    left = np.flatnonzero(region[ends[:, 0]] != region[ends[:, 1]])
    many = np.bincount(ends[left].ravel(), minlength=len(region))
    order = np.lexsort((np.random.default_rng(SEED).permutation(len(left)), many[ends[left]].min(axis=1)))
    left, taken, free = left[order], [np.zeros(0, dtype=np.int64)], np.ones(len(region), dtype=bool)
    while len(left):
        first = np.full(len(region), len(left))
        for side in (0, 1):
            np.minimum.at(first, ends[left, side], np.arange(len(left)))
        chosen = (first[ends[left]] == np.arange(len(left))[:, None]).all(axis=1)
        taken.append(left[chosen])
        free[ends[left[chosen]]] = False
        left = left[free[ends[left]].all(axis=1)]
    return np.sort(np.concatenate(taken))


def _in_order(answers: list[Any]) -> tuple[Any, ...]:
    """Every answer once: sorted if they can be compared, else as they first appear."""
    once = dict.fromkeys(answers)
    try:
        return tuple(sorted(once))
    except TypeError:
        return tuple(once)


def _find(
    levels: EdgeLevels, region: Integers, outputs: tuple[Any, ...], optimum: Optimum | None
) -> tuple[Floats, str]:
    """Nearest where it is private, else what is; and how it was made, in words."""
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
    scores = held(np.exp(-(length - length.min(axis=1, keepdims=True)) / 2), np.isfinite(length))
    return scores / scores.sum(axis=1, keepdims=True), NEAREST[3]


def _is_pure(levels: EdgeLevels) -> bool:
    return all(isinstance(level, ApproxDP) and level.delta == 0 for level in levels.kinds())


def _wrong_answers(levels: EdgeLevels, region: Integers, answers: int) -> Floats:
    """P_j at every point outside region j, by one shortest-path pass an answer; 0 inside."""
    found = np.zeros((len(region), answers))
    arcs, length = levels.space.arcs, levels.log_growth()
    start = np.logaddexp(0.0, length)[arcs.edges]  # log(1 + e^eps)
    for j in range(answers):
        border = (region[arcs.tails] != j) & (region[arcs.heads] == j)
        first = np.full(len(region), np.inf)
        np.minimum.at(first, arcs.tails[border], start[border])
        reached = _lengths_from(levels, np.isfinite(first), first)
        outside = region != j
        found[outside, j] = held(np.exp(-reached), np.isfinite(reached))[outside]
    return found


def _lengths_from(levels: EdgeLevels, sources: Any, first: Floats) -> Floats:
    """How far every point is from the sources, each of which is `first` away already; edges are as long as epsilon."""
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
    """What the balanced mechanism of each answer against all others gives it wrongly."""
    level = levels.single
    if level is None or not level.concave:
        raise UnsupportedLevel(f"nearest needs pure levels, or one concave level on all edges, not {levels}.")
    found = np.zeros((len(region), answers))
    for j in range(answers if answers > 1 else 0):
        table = balanced(levels.space, region == j, level).mechanism.matrix
        found[:, j] = np.where(region == j, 0.0, table[:, 1])
    return found


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
