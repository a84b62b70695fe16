"""Pictures of mechanisms, regions and trade-offs.

Every function returns a matplotlib `Figure`; `save(figure, path)` writes it. Needs the extra `utmost[plot]`.
"""

from utmost.plot.canvas import save
from utmost.plot.graphs import curve, draw, graph, layout
from utmost.plot.local import information_shares, local_shares, scaling, simple_against_optimal
from utmost.plot.probabilities import heat_map, losses, rainbow

__all__ = [
    "curve",
    "draw",
    "graph",
    "heat_map",
    "information_shares",
    "layout",
    "local_shares",
    "losses",
    "rainbow",
    "save",
    "scaling",
    "simple_against_optimal",
]
