"""The one way to a strategy for many numbers at once: running counts, ranges, marginal tables, the nodes of a tree.

Each is W x for disjoint cells x. A strategy is a set of whole sums of the cells, integer noise on them, and generalised
least squares; its certificate is the dual of the best factorisation. What was found before is read from disk and proved
again (`kept`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from utmost.errors import InvalidInput
from utmost.mechanism.noise.lattice import NoisyVector
from utmost.mechanism.noise.tables import NoisyTables
from utmost.privacy import Level
from utmost.solution import Solution
from utmost.space.integers import Lattice, Moves, Strategy
from utmost.theory.workload.design.hierarchy import best_hierarchy, stated_hierarchy
from utmost.theory.workload.design.marginals import best_marginals, stated_marginals
from utmost.theory.workload.design.strategies import FEWEST, best_counts, best_ranges, stated_strategy
from utmost.theory.workload.design.strategy_cache import kept
from utmost.theory.workload.hierarchy_algebra import read_tree
from utmost.theory.workload.marginal_algebra import read_workload

Kind: TypeAlias = Literal["running", "ranges", "marginals", "hierarchy"]


@dataclass(frozen=True)
class Workload:
    """Many numbers that are wanted of the same rows.

    Attributes
    ----------
    kind : "running" counts or "ranges" of cells in a row, "marginals" of columns, all nodes of a "hierarchy"
    of : how many cells there are; or the tables, or the tree, as `mechanism.margins` and `mechanism.trees` write them
    moves : "any" where a row comes or goes, "exchange" where it is replaced
    reach, upper : how many rows one neighbour has, and how many there are at most; None where nobody said
    loss : what a question about running counts is best for; all others are best for "squared"
    """

    kind: Kind
    of: int | str
    moves: Moves
    reach: int
    upper: int | None
    loss: str = "squared"

    def cells(self, moves: Moves | None = None) -> Lattice:
        """The cells, of running counts and ranges."""
        return Lattice(int(self.of), moves or self.moves, self.reach, None if self.upper is None else 0, self.upper)


@lru_cache(maxsize=64)
def best_workload(workload: Workload, level: Level, keep: bool = True) -> Solution:
    """The strategy of least loss found for a workload: kept from before, or found now.

    Parameters
    ----------
    workload : Workload
        Public parameters only.
    level : Level
        PureDP, ApproxDP, GaussianDP or ZCDP.
    keep : bool
        Whether it is looked for on disk, and kept there.

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
        return _found(workload, level)
    parameters = {**asdict(workload), "level": level.to_json()}
    return kept(parameters, lambda: _found(workload, level), lambda read: _stated(workload, level, read))


@lru_cache(maxsize=256)
def sketch_workload(workload: Workload, level: Level) -> Solution:
    """The same without its proof, for a search over many levels: nothing is looked for on disk, nor kept there."""
    return _found(workload, level, proved=False)


def _found(workload: Workload, level: Level, proved: bool = True) -> Solution:
    neighbours = (workload.moves, workload.reach, workload.upper)
    if workload.kind == "running":
        return best_counts(workload.cells(), workload.cells("one-way"), level, workload.loss, proved)
    if workload.kind == "ranges":
        return best_ranges(workload.cells(), level, proved)
    if workload.kind == "marginals":
        shape, published = read_workload(workload.of)
        return best_marginals(shape, published, *neighbours, level, proved)
    return best_hierarchy(read_tree(workload.of), *neighbours, level, proved)


def _stated(workload: Workload, level: Level, read: Solution) -> Solution:
    """What was read, stated for what is asked; `InvalidInput` where it is a strategy for something else."""
    neighbours = (workload.moves, workload.reach, workload.upper)
    data, space, mechanism = read.problem.data, read.problem.space, read.mechanism
    if isinstance(mechanism, NoisyTables):
        state: Callable[..., Any] = stated_marginals if workload.kind == "marginals" else stated_hierarchy
        words = {"workload": workload.of, "strategy": data.get("strategy"), "grain": data.get("grain")}
        found: Solution = state(words, mechanism, neighbours, level)
    elif isinstance(mechanism, NoisyVector) and isinstance(space, Strategy | Lattice):
        of_sums = read.problem.question == "number.strategy" and workload.kind in ("running", "ranges")
        if not of_sums or workload.cells() != (space.cells if isinstance(space, Strategy) else space):
            raise InvalidInput("it is noise on something else.")
        found = stated_strategy(
            space, mechanism, level, workload.loss, "ranges" if workload.kind == "ranges" else "running"
        )
    else:
        raise InvalidInput("it is no noise on sums of cells.")
    if found.problem.space != space:
        raise InvalidInput("it is for other tables.")
    return found
