"""Pictures of mechanisms, regions and trade-offs.

Every function returns a matplotlib `Figure`; `save(figure, path)` writes it. Needs the extra `utmost[plot]`.
"""

from utmost.plot.accounting import budget, composition_regions, level_region, regions, theorem_regions
from utmost.plot.canvas import save
from utmost.plot.graphs import curve, draw, graph, layout
from utmost.plot.probabilities import heat_map, losses, rainbow

__all__ = [
    "budget",
    "composition_regions",
    "curve",
    "draw",
    "graph",
    "heat_map",
    "layout",
    "level_region",
    "losses",
    "rainbow",
    "regions",
    "save",
    "theorem_regions",
]
