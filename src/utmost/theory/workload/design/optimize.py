"""Optimise a strategy matrix for a workload: running counts, ranges, marginal tables, the nodes of a tree.

Each workload is W x for disjoint cells x. A strategy is a set of integer sums of the cells with integer noise,
followed by generalised least squares; its certificate is the dual of the best factorisation. Strategies are cached on
disk and verified again when loaded (`strategy_cache`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from utmost.errors import InvalidInput
from utmost.mechanism.noise.tables import NoisyTables
from utmost.mechanism.noise.vector import NoisyVector
from utmost.privacy import Level
from utmost.solution import Solution
from utmost.space.integers import Lattice, Moves, Strategy
from utmost.theory.workload.design.hierarchy import best_hierarchy, hierarchy_solution
from utmost.theory.workload.design.marginals import best_marginals, marginals_solution
from utmost.theory.workload.design.strategies import FEWEST, best_counts, best_ranges, strategy_solution
from utmost.theory.workload.design.strategy_cache import cached_strategy
from utmost.theory.workload.hierarchy_algebra import read_tree
from utmost.theory.workload.marginal_algebra import read_workload

Kind: TypeAlias = Literal["running", "ranges", "marginals", "hierarchy"]


@dataclass(frozen=True)
class Workload:
    """A set of linear queries on the same rows, with the adjacency and the loss.

    Attributes
    ----------
    kind : "running", "ranges", "marginals" or "hierarchy"
        Running counts or ranges of neighbouring cells, marginal tables of columns, or all nodes of a tree.
    of : int or str
        How many cells there are; or the tables, or the tree, as `write_workload` and `write_tree` write them.
    moves : "any" or "exchange"
        "any" where a row comes or goes, "exchange" where it is replaced.
    reach : int
        How many rows one neighbour changes.
    upper : int or None
        Upper bound on the number of rows, if there is a public one.
    loss : str
        The loss that running counts are optimised for; the others are always optimised for "squared".
    """

    kind: Kind
    of: int | str
    moves: Moves
    reach: int
    upper: int | None
    loss: str = "squared"

    def cells(self, moves: Moves | None = None) -> Lattice:
        """The lattice of cells of running counts and ranges."""
        return Lattice(int(self.of), moves or self.moves, self.reach, None if self.upper is None else 0, self.upper)


@lru_cache(maxsize=64)
def best_workload(workload: Workload, level: Level, keep: bool = True) -> Solution:
    """The strategy with the lowest loss found for a workload, from the cache on disk or newly optimised.

    Parameters
    ----------
    workload : Workload
        Public parameters only.
    level : Level
        PureDP, ApproxDP, GaussianDP or ZCDP.
    keep : bool
        Whether the cache on disk is used.

    Examples
    --------
    >>> from utmost.privacy import GaussianDP
    >>> pairs = best_workload(Workload("marginals", "2,3,4|0,1|0,2|1,2", "any", 1, 100), GaussianDP(1))
    >>> round(pairs.value * 26, 2)                                    # the best of all Gaussian strategies: 50.85
    50.9
    >>> best_workload(Workload("running", 30, "any", 1, 100), GaussianDP(1)).certificate.method
    'rounded Gaussian noise on 30 weighted sums of cells, a factorisation'
    """
    if not keep or (workload.kind in ("running", "ranges") and int(workload.of) < FEWEST):
        return _optimize(workload, level)
    parameters = {**asdict(workload), "level": level.to_json()}
    return cached_strategy(
        parameters, lambda: _optimize(workload, level), lambda cached: _rebuild(workload, level, cached)
    )


@lru_cache(maxsize=256)
def sketch_workload(workload: Workload, level: Level) -> Solution:
    """The strategy for a workload without its proof or the cache, for a search over many levels."""
    return _optimize(workload, level, proved=False)


def _optimize(workload: Workload, level: Level, proved: bool = True) -> Solution:
    neighbours = (workload.moves, workload.reach, workload.upper)
    if workload.kind == "running":
        return best_counts(workload.cells(), workload.cells("one-way"), level, workload.loss, proved)
    if workload.kind == "ranges":
        return best_ranges(workload.cells(), level, proved)
    if workload.kind == "marginals":
        shape, published = read_workload(workload.of)
        return best_marginals(shape, published, *neighbours, level, proved)
    return best_hierarchy(read_tree(workload.of), *neighbours, level, proved)


def _rebuild(workload: Workload, level: Level, cached: Solution) -> Solution:
    """A cached strategy as a new solution of this workload; `InvalidInput` if it is a strategy for another one."""
    neighbours = (workload.moves, workload.reach, workload.upper)
    data, space, mechanism = cached.problem.data, cached.problem.space, cached.mechanism
    if isinstance(mechanism, NoisyTables):
        state: Callable[..., Any] = marginals_solution if workload.kind == "marginals" else hierarchy_solution
        words = {"workload": workload.of, "strategy": data.get("strategy"), "grain": data.get("grain")}
        solution: Solution = state(words, mechanism, neighbours, level)
    elif isinstance(mechanism, NoisyVector) and isinstance(space, Strategy | Lattice):
        of_sums = cached.problem.question == "number.strategy" and workload.kind in ("running", "ranges")
        if not of_sums or workload.cells() != (space.cells if isinstance(space, Strategy) else space):
            raise InvalidInput("it is noise on something else.")
        solution = strategy_solution(
            space, mechanism, level, workload.loss, "ranges" if workload.kind == "ranges" else "running"
        )
    else:
        raise InvalidInput("it is no noise on sums of cells.")
    if solution.problem.space != space:
        raise InvalidInput("it is for other tables.")
    return solution
