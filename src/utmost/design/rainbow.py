"""Questions with several ranked answers: every point ranks the outputs (RAIN).

A point's *rainbow* is its ranking of the outputs, best first; points of one rainbow form a region. If the mechanism is
fixed, and the same, on all boundary points of a rainbow, one mechanism is optimal everywhere inside, for any number of
outputs: the probability of the j best outputs follows the *binary* bound, F_j(d) = upper_after(d, F_j(0)). `line` and
`extend` apply that, and `at` for one dataset in a space too large to list; `best_boundary` chooses the boundary;
`lexicographic` covers cases beyond the theory; `plurality` names the winner among any number of voters. `nearest` is
for any number of answers without rankings; `best_winner` and `best_quantile` choose the selection mechanism with the
least expected loss. `dominates` compares two mechanisms.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from utmost.theory.binary.design.truth import dominates
from utmost.theory.rainbow.design.boundaries import best_boundary, lexicographic
from utmost.theory.rainbow.design.nearby import LocalRow, at
from utmost.theory.rainbow.design.nearest import nearest
from utmost.theory.rainbow.design.plurality import Plurality, plurality
from utmost.theory.rainbow.design.rankings import Regions, boundary_space, extend, find_regions, line

if TYPE_CHECKING:
    from utmost.theory.selection.design.candidates import ChoiceFacts, choice_facts
    from utmost.theory.selection.design.quantiles import best_quantile
    from utmost.theory.selection.design.winners import best_winner

__all__ = [
    "ChoiceFacts",
    "LocalRow",
    "Plurality",
    "Regions",
    "at",
    "best_boundary",
    "best_quantile",
    "best_winner",
    "boundary_space",
    "choice_facts",
    "dominates",
    "extend",
    "find_regions",
    "lexicographic",
    "line",
    "nearest",
    "plurality",
]

WHEN_USED = {
    "ChoiceFacts": "candidates",
    "best_quantile": "quantiles",
    "best_winner": "winners",
    "choice_facts": "candidates",
}


def __getattr__(name: str) -> Any:
    """Import the selection designs lazily, so that `import utmost` stays fast."""
    if name in WHEN_USED:
        return getattr(import_module(f"utmost.theory.selection.design.{WHEN_USED[name]}"), name)
    raise AttributeError(f"module 'utmost.design.rainbow' has no attribute {name!r}")
