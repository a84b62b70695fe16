"""Which theorem a function implements or checks, by the key of the claim: `BIN-theorem-2`, `LIM-corollary-4.5.1`.

`docs/theorems.md` is made from these keys (`python tools/theorems.py`): for every statement of the five papers, where
it is solved, checked and reproduced. A test keeps keys and page true.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Cited = TypeVar("Cited", bound=Callable[..., Any])


def cites(*keys: str) -> Callable[[Cited], Cited]:
    """Name the statements of the papers that a function or class rests on.

    Parameters
    ----------
    keys : paper, kind and number, as `tools/theorems.toml` lists them

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
