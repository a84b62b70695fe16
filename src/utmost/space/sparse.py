"""SciPy's sparse matrices and graph algorithms, imported lazily.

SciPy's graph module alone takes longer to import than all of Utmost and NumPy, and many uses never need it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def _lazy(module: str, name: str) -> Callable[..., Any]:
    """A function of a module that is imported at the first call."""

    def call(*arguments: Any, **options: Any) -> Any:
        return getattr(import_module(module), name)(*arguments, **options)

    call.__name__, call.__doc__ = name, f"`{module}.{name}`."
    return call


csr_array = _lazy("scipy.sparse", "csr_array")
coo_array = _lazy("scipy.sparse", "coo_array")
hstack = _lazy("scipy.sparse", "hstack")
vstack = _lazy("scipy.sparse", "vstack")
dijkstra = _lazy("scipy.sparse.csgraph", "dijkstra")
connected_components = _lazy("scipy.sparse.csgraph", "connected_components")
maximum_bipartite_matching = _lazy("scipy.sparse.csgraph", "maximum_bipartite_matching")
