"""Citations: the theorem that a function implements or checks, by its key, such as `BIN-theorem-2`.

`docs/theorems.md` is generated from these keys (`python tools/theorems.py`): for every statement of the five papers,
where it is solved, checked and reproduced. A test keeps keys and page consistent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Cited = TypeVar("Cited", bound=Callable[..., Any])


def cites(*keys: str) -> Callable[[Cited], Cited]:
    """Cite the statements of the papers that a function or class relies on.

    Parameters
    ----------
    keys : str
        Paper, kind and number, as `tools/theorems.toml` lists them.

    Examples
    --------
    >>> @cites("BIN-theorem-2")
    ... def extend(): ...
    >>> extend.cites
    ('BIN-theorem-2',)
    """

    def name(cited: Cited) -> Cited:
        cited.cites = keys  # type: ignore[attr-defined]
        return cited

    return name
