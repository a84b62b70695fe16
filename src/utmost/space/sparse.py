"""The few sparse matrices and graph algorithms Utmost takes from SciPy, loaded when first used.

SciPy's graph module alone takes longer to import than all of Utmost and numpy, and many uses never need it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def _when_used(module: str, name: str) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        return getattr(import_module(module), name)(*arguments, **options)

    call.__name__, call.__doc__ = name, f"`{module}.{name}`."
    return call


csr_array = _when_used("scipy.sparse", "csr_array")
coo_array = _when_used("scipy.sparse", "coo_array")
hstack = _when_used("scipy.sparse", "hstack")
vstack = _when_used("scipy.sparse", "vstack")
dijkstra = _when_used("scipy.sparse.csgraph", "dijkstra")
connected_components = _when_used("scipy.sparse.csgraph", "connected_components")
maximum_bipartite_matching = _when_used("scipy.sparse.csgraph", "maximum_bipartite_matching")
