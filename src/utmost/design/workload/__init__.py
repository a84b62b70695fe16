"""Many numbers at once: which tables to release, with how much noise each, and what is made of them (workloads).

One primitive: a strategy of integer tables, noise on them, generalised least squares. `best_marginals` chooses the
noise of every marginal table, `best_hierarchy` that of every level of a tree.
"""

from utmost.design.workload.hierarchy import best_hierarchy
from utmost.design.workload.marginals import best_marginals, even_split

__all__ = ["best_hierarchy", "best_marginals", "even_split"]
