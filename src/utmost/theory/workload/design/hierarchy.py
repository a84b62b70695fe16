"""Hierarchies: how to split the privacy level between the levels of a tree.

Whole levels are released, each with independent noise of its own size, so that all of them together keep the privacy
level; the counts of all nodes follow by least squares (`theory/workload/hierarchy_algebra.py`). The split is a local
optimum from several starts: valid at every privacy level, not proved best. A level may well get nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from utmost.errors import UnsupportedLevel
from utmost.exact.arrays import Floats
from utmost.mechanism.noise.independent import IndependentLaw
from utmost.mechanism.noise.staircase import geometric_law
from utmost.mechanism.noise.tables import NoisyTables
from utmost.privacy import Level
from utmost.privacy.level import decay_above
from utmost.privacy.pure_part import pure_within
from utmost.solution import Problem, Solution
from utmost.space.integers import Moves, Tables
from utmost.space.sensitivity import l1_sensitivity, squared_l2_sensitivity
from utmost.theory.vector.design.vectors import gaussian_law, require_level
from utmost.theory.workload.design.marginals import FINE, PARTS, pure_share, with_dual
from utmost.theory.workload.hierarchy_algebra import Tree, sizes, tree_weights, write_tree
from utmost.theory.workload.problem import hierarchy_of, hierarchy_variance

SMALL = 0.004
"""Splits that give a level a smaller share are discarded in favour of those without it."""


@lru_cache(maxsize=16)
def best_hierarchy(
    tree: Tree, moves: Moves, reach: int, upper: int | None, level: Level, proved: bool = True
) -> Solution:
    """The noise with the smallest mean variance found for the counts of all nodes of a tree.

    Parameters
    ----------
    tree : tuple of tuples
        How many children each node of a level has, level after level from the root.
    moves : "any" or "exchange"
        Whether a row comes or goes, or is replaced.
    reach, upper : int
        How many rows one neighbour changes, and how many rows there are at most.
    level : Level
        PureDP, ApproxDP, GaussianDP or ZCDP.
    proved : bool
        False omits the proof, in a search over levels.

    Returns
    -------
    Solution
        `solution.value` is the mean variance.

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> solution = best_hierarchy(((10,), (20,) * 10), "any", 1, 1000, PureDP(1))  # 1 > 10 > 200
    >>> round(solution.value * 211, 1), bool(solution.verify())
    (1029.2, True)
    """
    require_level(level)
    solutions = []
    for strategy, laws, grain in _candidates(tree, moves, reach, upper, level):
        data = {"workload": write_tree(tree), "strategy": ",".join(map(str, strategy)), "grain": grain}
        solutions.append(hierarchy_solution(data, NoisyTables(tuple(laws)), (moves, reach, upper), level, proved=False))
    if not solutions:
        raise UnsupportedLevel(f"no noise on tables is known at {level}; give a larger level.")
    best = min(solutions, key=lambda solution: solution.value)
    return hierarchy_solution(best.problem.data, best.mechanism, (moves, reach, upper), level) if proved else best


def hierarchy_solution(
    data: Mapping[str, Any],
    mechanism: NoisyTables,
    neighbours: tuple[Moves, int, int | None],
    level: Level,
    proved: bool = True,
) -> Solution:
    """A solution, with its dual bound, for given noise on levels of a tree; parameters as of `marginals_solution`."""
    words = {**data, "loss": "squared"}
    moves, reach, upper = neighbours
    hierarchy = hierarchy_of(words, mechanism)
    released = tuple(sizes(hierarchy.tree)[depth] for depth in hierarchy.strategy)
    problem = Problem(
        "workload.hierarchy",
        Tables(released, moves, reach * hierarchy.grain, None if upper is None else upper * hierarchy.grain),
        level,
        words,
    )
    return with_dual(problem, mechanism, hierarchy_variance(words, mechanism), proved)


def _candidates(
    tree: Tree, moves: Moves, reach: int, upper: int | None, level: Level
) -> Iterator[tuple[list[int], list[IndependentLaw], int]]:
    tables = Tables(sizes(tree), moves, reach, upper).lattices()
    pure, unit_gaussian = pure_within(level), gaussian_law(level, Fraction(1))
    if pure is not None and 0 < pure.log_growth < math.inf:
        sensitivities = [max(1, l1_sensitivity(table)) for table in tables]
        epsilon = Fraction(int(pure.log_growth * (1 - 2**-40) * 10**12), 10**12)
        shares = _best_shares(tree, lambda i, share: _geometric_variance(float(epsilon) * share / sensitivities[i]))
        yield (
            list(shares),
            [
                IndependentLaw(
                    tables[i].dimension, geometric_law(decay_above(pure_share(level, epsilon, part), sensitivities[i]))
                )
                for i, part in shares.items()
            ],
            1,
        )
    if unit_gaussian is not None:
        squared_sensitivities = [max(1, squared_l2_sensitivity(table)) for table in tables]
        shares = _best_gaussian_shares(tree, tuple(squared_sensitivities))
        grain = FINE if unit_gaussian.rounded else 1
        yield (
            list(shares),
            [
                IndependentLaw(
                    tables[i].dimension,
                    type(unit_gaussian)(unit_gaussian.variance * squared_sensitivities[i] * grain**2 * PARTS / part),
                )
                for i, part in shares.items()
            ],
            grain,
        )


@lru_cache(maxsize=16)
def _best_gaussian_shares(tree: Tree, square: tuple[int, ...]) -> dict[int, int]:
    """The best split at Gaussian levels, the same at all of them because variances are inverse to shares."""
    return _best_shares(tree, lambda i, share: square[i] / share)


def _geometric_variance(epsilon: float) -> float:
    return 1 / (2 * math.sinh(min(epsilon, 80.0) / 2) ** 2)


def _best_shares(tree: Tree, variance: Callable[[int, float], float]) -> dict[int, int]:
    """The best split found of the privacy level between the levels of the tree, in integer parts of `PARTS`."""
    from scipy.optimize import minimize

    many = len(tree) + 1

    def cost(logs: Floats, depths: list[int]) -> float:
        weights = np.exp(np.clip(logs - logs.max(), -12, 0))
        shares = dict(zip(depths, weights / weights.sum(), strict=True))
        noise = [variance(i, shares[i]) if i in shares else None for i in range(many)]
        return math.log(total_variance(tree, noise))

    best: tuple[float, dict[int, float]] = (math.inf, {})
    for depths in ([*range(many)], [*range(1, many)], [0, many - 1], [many - 1], [*range(many - 2, many)]):
        depths = sorted({i for i in depths if i >= 0})
        options: Any = {"maxiter": 400 * len(depths), "xatol": 1e-5, "fatol": 1e-10}
        start = np.array([0.0 if i == many - 1 else -1.0 for i in depths])
        x = minimize(cost, start, args=(depths,), method="Nelder-Mead", options=options).x if len(depths) > 1 else start
        weights = np.exp(np.clip(x - x.max(), -12, 0))
        shares = {i: float(w) for i, w in zip(depths, weights / weights.sum(), strict=True)}
        value = cost(x, depths)
        if value < best[0] - 1e-9 and min(shares.values()) > SMALL:
            best = value, shares
    parts = {i: int(share * PARTS) for i, share in best[1].items()}
    parts[many - 1] += PARTS - sum(parts.values())
    return parts


def total_variance(tree: Tree, noise: list[float | None]) -> float:
    """The total variance of the counts of all nodes with optimal weights, given the variances of the levels' noise."""
    own, shares = tree_weights(tree, noise)
    up: list[Floats] = [np.full(sizes(tree)[-1], float(noise[-1] or 0.0))]
    for level in range(len(tree) - 1, -1, -1):
        below = np.add.reduceat(up[0], np.cumsum((0, *tree[level]))[:-1])
        up.insert(0, own[level] ** 2 * (noise[level] or 0.0) + (1 - own[level]) ** 2 * below)
    finals, total = up[0], float(up[0].sum())
    for level, children in enumerate(tree):
        below = np.add.reduceat(up[level + 1], np.cumsum((0, *children))[:-1])
        over = np.repeat(below - finals, children)  # variance from below less that of the final count
        finals = up[level + 1] - shares[level + 1] ** 2 * over
        total += float(finals.sum())
    return total
