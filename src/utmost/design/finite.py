"""Queries with finitely many results: one mechanism for a region of priors, and the optimum for any prior (REG).

`tight_constraints` is optimal for every regular prior at once, where it exists; `regularity` and `corner_priors`
describe these priors, and the bounds limit every private mechanism; `optimal` solves for any prior, loss and
(epsilon, delta) levels; `geometric` is the classic for counts, `product_geometric` for several of them.
"""

from utmost.theory.priors.design.geometric import geometric
from utmost.theory.priors.design.optimum import optimal
from utmost.theory.priors.design.products import product_geometric, remap_to_tight, stochastic_remap
from utmost.theory.priors.design.regular_priors import (
    corner_priors,
    corner_shares,
    leakage_bound,
    leakage_bound_for_all,
    necessary_conditions,
    privacy_constraints,
    regularity,
    utility_bound,
)
from utmost.theory.priors.design.tight import SmallestEpsilon, smallest_epsilon, tight_constraints

__all__ = [
    "SmallestEpsilon",
    "corner_priors",
    "corner_shares",
    "geometric",
    "leakage_bound",
    "leakage_bound_for_all",
    "necessary_conditions",
    "optimal",
    "privacy_constraints",
    "product_geometric",
    "regularity",
    "remap_to_tight",
    "smallest_epsilon",
    "stochastic_remap",
    "tight_constraints",
    "utility_bound",
]
