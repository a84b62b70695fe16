"""Tables in, private answers out.

    table -> an engine computes integers -> a point of a space -> a proved mechanism -> an exact draw -> answer, report,
    ledger

`units` defines the privacy unit; `backends` opens tables and runs statements; `predicate` parses row-wise conditions;
`keys` lists public groups; `contributions`, `cells` and `groups` compute integers with bounded sensitivity; `questions`
has a file for each question; `session` asks them; `answers`, `accuracy` and `report` describe and prove the results;
`report.proof` verifies a report without the table; `budget` shows what is left; `audits` estimates epsilon empirically.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from utmost.queries.answers import Answer, Plan
    from utmost.queries.audits import Audit, audit
    from utmost.queries.session import Session
    from utmost.queries.units import Unit, people, rows

__all__ = ["Answer", "Audit", "Plan", "Session", "Unit", "audit", "people", "rows"]

PLACES = {
    "answers": ("Answer", "Plan"),
    "audits": ("Audit", "audit"),
    "session": ("Session",),
    "units": ("Unit", "people", "rows"),
}
"""Where each name lives: loaded when it is asked for, so that the command starts quickly."""


def __getattr__(name: str) -> Any:
    """Load a public name from its module."""
    for module, names in PLACES.items():
        if name in names:
            return getattr(import_module(f"utmost.queries.{module}"), name)
    raise AttributeError(f"module 'utmost.queries' has no attribute {name!r}")
