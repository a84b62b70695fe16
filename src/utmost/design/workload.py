"""Many numbers at once: which sums of cells to release, with how much noise each, and what is made of them (workloads).

One primitive: a strategy of whole sums, noise on them, generalised least squares, and the dual of the best
factorisation as its certificate. `best_workload` is the one way to it, for running counts, ranges, marginal tables and
hierarchies; it keeps what it found on disk and proves it again when it reads it.
"""

from utmost.theory.workload.design.hierarchy import best_hierarchy
from utmost.theory.workload.design.marginals import best_marginals, even_split
from utmost.theory.workload.design.optimize import Workload, best_workload, sketch_workload

__all__ = ["Workload", "best_hierarchy", "best_marginals", "best_workload", "even_split", "sketch_workload"]
