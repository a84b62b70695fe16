"""Counts of a hierarchy: how much noise each of its levels should have.

Released are whole levels, each with independent noise of its own size, so that all of them together keep the privacy
level; the counts of all nodes are made of them by least squares (`mechanism.trees`). The split between levels is a
local optimum, from several starts: valid at every privacy level, not proved best. A level may well get nothing.
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
from utmost.mechanism.noise.gaussian import RoundedGaussian
from utmost.mechanism.noise.lattice import GeometricLaw, IndependentLaw
from utmost.mechanism.noise.tables import NoisyTables
from utmost.privacy import Level
from utmost.privacy.level import decay_above
from utmost.privacy.pure_part import pure_within
from utmost.solution import Problem, Solution
from utmost.space.integers import Moves, Tables
from utmost.space.sensitivity import l1_sensitivity, squared_l2_sensitivity
from utmost.theory.vector.design.vectors import gaussian_law, require_level
from utmost.theory.workload.design.marginals import FINE, PARTS, pure_share, with_dual
from utmost.theory.workload.hierarchy_algebra import Tree, sizes, up_and_down, write_tree
from utmost.theory.workload.problem import hierarchy_of, hierarchy_variance

SMALL = 0.004
"""Levels with a smaller share are tried without."""


@lru_cache(maxsize=16)
def best_hierarchy(
    tree: Tree, moves: Moves, reach: int, upper: int | None, level: Level, proved: bool = True
) -> Solution:
    """The noise of least mean variance found for the counts of all nodes of a tree.

    Parameters
    ----------
    tree : tuple of tuples
        How many children each node of a level has, level after level from the root.
    moves : "any" or "exchange"
        Whether a row comes or goes, or is replaced.
    reach, upper : int
        How many rows one neighbour has, and how many there are at most.
    level : Level
        PureDP, ApproxDP, GaussianDP or ZCDP.
    proved : bool
        False leaves the proof out, in a search over levels.

    Returns
    -------
    Solution
        `solution.value` is the mean variance.

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> found = best_hierarchy(((10,), (20,) * 10), "any", 1, 1000, PureDP(1))     # 1 > 10 > 200
    >>> round(found.value * 211, 1), bool(found.verify())
    (1029.2, True)
    """
    require_level(level)
    found = []
    for strategy, laws, grain in _candidates(tree, moves, reach, upper, level):
        data = {"workload": write_tree(tree), "strategy": ",".join(map(str, strategy)), "grain": grain}
        found.append(stated_hierarchy(data, NoisyTables(tuple(laws)), (moves, reach, upper), level, proved=False))
    if not found:
        raise UnsupportedLevel(f"no noise on tables is known at {level}; give a larger level.")
    best = min(found, key=lambda each: each.value)
    return stated_hierarchy(best.problem.data, best.mechanism, (moves, reach, upper), level) if proved else best


def stated_hierarchy(
    data: Mapping[str, Any],
    mechanism: NoisyTables,
    neighbours: tuple[Moves, int, int | None],
    level: Level,
    proved: bool = True,
) -> Solution:
    """Noise on levels of a tree as a solution with its dual; parameters as of `stated_marginals`."""
    words = {**data, "loss": "squared"}
    moves, reach, upper = neighbours
    made = hierarchy_of(words, mechanism)
    released = tuple(sizes(made.tree)[each] for each in made.strategy)
    problem = Problem(
        "workload.hierarchy",
        Tables(released, moves, reach * made.grain, None if upper is None else upper * made.grain),
        level,
        words,
    )
    return with_dual(problem, mechanism, hierarchy_variance(words, mechanism), proved)


def _candidates(
    tree: Tree, moves: Moves, reach: int, upper: int | None, level: Level
) -> Iterator[tuple[list[int], list[IndependentLaw], int]]:
    tables = Tables(sizes(tree), moves, reach, upper).lattices()
    pure, one = pure_within(level), gaussian_law(level, Fraction(1))
    if pure is not None and 0 < pure.log_growth < math.inf:
        far = [max(1, l1_sensitivity(table)) for table in tables]
        whole = Fraction(int(pure.log_growth * (1 - 2**-40) * 10**12), 10**12)
        shares = _best_shares(tree, lambda i, share: _laplace(float(whole) * share / far[i]))
        yield (
            list(shares),
            [
                IndependentLaw(tables[i].dimension, GeometricLaw(decay_above(pure_share(level, whole, part), far[i])))
                for i, part in shares.items()
            ],
            1,
        )
    if one is not None:
        square = [max(1, squared_l2_sensitivity(table)) for table in tables]
        shares = _best_gaussian_shares(tree, tuple(square))
        grain = FINE if isinstance(one, RoundedGaussian) else 1
        yield (
            list(shares),
            [
                IndependentLaw(tables[i].dimension, type(one)(one.variance * square[i] * grain**2 * PARTS / part))
                for i, part in shares.items()
            ],
            grain,
        )


@lru_cache(maxsize=16)
def _best_gaussian_shares(tree: Tree, square: tuple[int, ...]) -> dict[int, int]:
    """The best split at Gaussian levels, which is the same at all of them: variances are inverse to shares."""
    return _best_shares(tree, lambda i, share: square[i] / share)


def _laplace(epsilon: float) -> float:
    return 1 / (2 * math.sinh(min(epsilon, 80.0) / 2) ** 2)


def _best_shares(tree: Tree, variance: Callable[[int, float], float]) -> dict[int, int]:
    """A split of the level between the levels of the tree, in whole parts of `PARTS`."""
    from scipy.optimize import minimize

    many = len(tree) + 1

    def cost(logs: Floats, used: list[int]) -> float:
        weights = np.exp(np.clip(logs - logs.max(), -12, 0))
        shares = dict(zip(used, weights / weights.sum(), strict=True))
        noise = [variance(i, shares[i]) if i in shares else None for i in range(many)]
        return math.log(total_variance(tree, noise))

    best: tuple[float, dict[int, float]] = (math.inf, {})
    for used in ([*range(many)], [*range(1, many)], [0, many - 1], [many - 1], [*range(many - 2, many)]):
        used = sorted({i for i in used if i >= 0})
        options: Any = {"maxiter": 400 * len(used), "xatol": 1e-5, "fatol": 1e-10}
        start = np.array([0.0 if i == many - 1 else -1.0 for i in used])
        x = minimize(cost, start, args=(used,), method="Nelder-Mead", options=options).x if len(used) > 1 else start
        weights = np.exp(np.clip(x - x.max(), -12, 0))
        shares = {i: float(w) for i, w in zip(used, weights / weights.sum(), strict=True)}
        value = cost(x, used)
        if value < best[0] - 1e-9 and min(shares.values()) > SMALL:
            best = value, shares
    parts = {i: int(share * PARTS) for i, share in best[1].items()}
    parts[many - 1] += PARTS - sum(parts.values())
    return parts


def total_variance(tree: Tree, noise: list[float | None]) -> float:
    """The variance of the counts of all nodes together, at the best weights, given the levels' noise."""
    own, shares = up_and_down(tree, noise)
    up: list[Floats] = [np.full(sizes(tree)[-1], float(noise[-1] or 0.0))]
    for level in range(len(tree) - 1, -1, -1):
        below = np.add.reduceat(up[0], np.cumsum((0, *tree[level]))[:-1])
        up.insert(0, own[level] ** 2 * (noise[level] or 0.0) + (1 - own[level]) ** 2 * below)
    here, total = up[0], float(up[0].sum())
    for level, children in enumerate(tree):
        below = np.add.reduceat(up[level + 1], np.cumsum((0, *children))[:-1])
        over = np.repeat(below - here, children)  # how much less is known from below than in the end
        here = up[level + 1] - shares[level + 1] ** 2 * over
        total += float(here.sum())
    return total
