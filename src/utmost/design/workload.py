"""Optimise a strategy matrix for a workload: the sums of cells to release, their noise, and the estimates.

One primitive: a strategy of integer sums, noise on them, generalised least squares, and the dual of the best
factorisation as its certificate. `best_workload` optimises it for running counts, ranges, marginal tables and
hierarchies; strategies are cached on disk and re-verified when loaded.
"""

from utmost.theory.workload.design.hierarchy import best_hierarchy
from utmost.theory.workload.design.marginals import best_marginals, even_split
from utmost.theory.workload.design.optimize import Workload, best_workload, sketch_workload

__all__ = ["Workload", "best_hierarchy", "best_marginals", "best_workload", "even_split", "sketch_workload"]
