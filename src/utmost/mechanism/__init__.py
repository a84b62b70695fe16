"""Probabilities: matrices and recipes, certified integers, and exact draws.

The names of this package are loaded when they are first used: a question about a table needs a law of noise and no
matrix, and the help of a command neither.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from utmost.mechanism.finite import FiniteMechanism, Law, Mechanism, RecipeMechanism, Rows, require_points
    from utmost.mechanism.loss_tables import Loss, average, grows_with_distance, loss_table

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

HOMES = dict.fromkeys(("Loss", "average", "grows_with_distance", "loss_table"), "loss_tables")
"""The modules of names that are not in `finite`."""


def __getattr__(name: str) -> Any:
    """One of the names above, from the module that has it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"utmost.mechanism.{HOMES.get(name, 'finite')}"), name)
