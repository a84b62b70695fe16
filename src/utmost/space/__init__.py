"""Adjacency: spaces of points with edges between neighbours, families of them, levels per edge, and maps."""

from utmost.space.graph import MOST_ENTRIES, Space, as_distribution, label_from_json, label_to_json
from utmost.space.morphisms import Morphism

__all__ = [
    "MOST_ENTRIES",
    "Morphism",
    "Space",
    "as_distribution",
    "label_from_json",
    "label_to_json",
]
