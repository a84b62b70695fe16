"""Pictures of mechanisms, regions and trade-offs.

Every function returns a matplotlib `Figure`; `save(figure, path)` writes it. Needs the extra `utmost[plot]`.
"""

from utmost.plot.accounting import budget, composition_regions, level_region, region_tangents, regions, theorem_regions
from utmost.plot.canvas import save
from utmost.plot.graphs import curve, draw, graph, layout
from utmost.plot.local import information_shares, local_shares, scaling, simple_against_optimal
from utmost.plot.multiparty import accuracies, interaction
from utmost.plot.noise import noise_costs, noise_density, noise_gamma, noise_probabilities
from utmost.plot.priors import region_of_priors
from utmost.plot.probabilities import heat_map, losses, rainbow
from utmost.plot.spaces import query_graphs, rainbow_graphs, space_graph

__all__ = [
    "accuracies",
    "budget",
    "composition_regions",
    "curve",
    "draw",
    "graph",
    "heat_map",
    "information_shares",
    "interaction",
    "layout",
    "level_region",
    "local_shares",
    "losses",
    "noise_costs",
    "noise_density",
    "noise_gamma",
    "noise_probabilities",
    "query_graphs",
    "rainbow",
    "rainbow_graphs",
    "region_of_priors",
    "region_tangents",
    "regions",
    "save",
    "scaling",
    "simple_against_optimal",
    "space_graph",
    "theorem_regions",
]
