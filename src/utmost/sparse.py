"""The few sparse matrices and graph algorithms Utmost takes from SciPy, loaded when first used.

SciPy's graph module alone takes longer to import than all of Utmost and numpy, and many uses never need it.
"""

from __future__ import annotations

from typing import Any


def csr_array(*arguments: Any, **options: Any) -> Any:
    """`scipy.sparse.csr_array`."""
    from scipy.sparse import csr_array as make

    return make(*arguments, **options)


def coo_array(*arguments: Any, **options: Any) -> Any:
    """`scipy.sparse.coo_array`."""
    from scipy.sparse import coo_array as make

    return make(*arguments, **options)


def vstack(*arguments: Any, **options: Any) -> Any:
    """`scipy.sparse.vstack`."""
    from scipy.sparse import vstack as stack

    return stack(*arguments, **options)


def hstack(*arguments: Any, **options: Any) -> Any:
    """`scipy.sparse.hstack`."""
    from scipy.sparse import hstack as stack

    return stack(*arguments, **options)


def dijkstra(*arguments: Any, **options: Any) -> Any:
    """`scipy.sparse.csgraph.dijkstra`."""
    from scipy.sparse.csgraph import dijkstra as run

    return run(*arguments, **options)


def connected_components(*arguments: Any, **options: Any) -> Any:
    """`scipy.sparse.csgraph.connected_components`."""
    from scipy.sparse.csgraph import connected_components as run

    return run(*arguments, **options)


def maximum_bipartite_matching(*arguments: Any, **options: Any) -> Any:
    """`scipy.sparse.csgraph.maximum_bipartite_matching`."""
    from scipy.sparse.csgraph import maximum_bipartite_matching as run

    return run(*arguments, **options)
