"""Top lists: the mechanism that misses the fewest of the k most frequent candidates, among those known."""

from __future__ import annotations

import math
from functools import lru_cache

from utmost.errors import InvalidInput
from utmost.mechanism.noise.vector import NoisyVector
from utmost.privacy import Level
from utmost.privacy.level import decay_above
from utmost.privacy.pure_part import pure_within
from utmost.solution import Problem, Solution, certificate_of
from utmost.space.integers import Tallies
from utmost.theory.selection.top_lists import TopByNoise, TopByPeeling, cells_of, missed
from utmost.theory.vector.design.vectors import best_vector


@lru_cache(maxsize=32)
def best_top(space: Tallies, k: int, level: Level) -> Solution:
    """The top-k mechanism with the smallest expected share of missed candidates, among all known ones.

    Parameters
    ----------
    space : Tallies
        The number of candidates, in the public order that breaks ties, and what one neighbour does.
    k : int
        The length of the list.
    level : level
        The privacy level; peeling is tried at levels that imply a pure one.

    Examples
    --------
    >>> from utmost.privacy import PureDP
    >>> best = best_top(Tallies(20, 1000, "add-remove"), 5, PureDP(1))
    >>> best.certificate.method, best.value < 0.1, bool(best.verify())
    ('the 5 largest counts after geometric noise on each integer', True, True)
    """
    if not 1 <= k <= space.cells:
        raise InvalidInput(f"k is {k}, and there are {space.cells} candidates; name 1 to {space.cells} of them.")
    losses = {mechanism: missed(mechanism, space)[0] for mechanism in candidates(space, k, level)}
    best = min(losses, key=lambda mechanism: losses[mechanism])
    problem = Problem("choice.top", space, level, {"k": k, "loss": "missed"})
    return Solution(problem, best, losses[best], certificate_of(problem, best, "unproved"))


@lru_cache(maxsize=32)
def candidates(space: Tallies, k: int, level: Level) -> tuple[TopByNoise | TopByPeeling, ...]:
    """The mechanisms that are compared."""
    noise = best_vector(cells_of(space), level, "absolute", independent=True).mechanism
    assert isinstance(noise, NoisyVector)
    mechanisms: list[TopByNoise | TopByPeeling] = [TopByNoise(k, noise)]
    pure = pure_within(level)
    if pure is not None and 0 < pure.log_growth < math.inf:
        reach = space.rows_each * (2 if space.neighbours == "replace" else 1)
        mechanisms.append(TopByPeeling(k, decay_above(pure, k), reach))
    return tuple(mechanisms)
