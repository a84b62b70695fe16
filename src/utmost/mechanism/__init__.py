"""Probabilities: matrices and recipes, certified integers, and exact draws."""

from utmost.mechanism.finite import (
    FiniteMechanism,
    Law,
    Loss,
    Mechanism,
    RecipeMechanism,
    Rows,
    average,
    grows_with_distance,
    loss_table,
    require_points,
)

__all__ = [
    "FiniteMechanism",
    "Law",
    "Loss",
    "Mechanism",
    "RecipeMechanism",
    "Rows",
    "average",
    "grows_with_distance",
    "loss_table",
    "require_points",
]
