"""Tables in, private answers out.

    table -> an engine computes integers -> a point of a space -> a proved mechanism -> an exact draw -> answer, report,
    ledger

`units` says whose data are protected; `backends` opens tables and asks them; `predicate` keeps questions
row-wise; `keys` lists public groups; `contributions`, `cells` and `groups` add up integers that one neighbour moves so
far; `questions` has a file for each question; `session` asks; `answers`, `accuracy` and `report` defend what came
out; `report.proof` proves a report again without the table; `budget` shows what is left; `audit` tries to
break it.
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
    """Load what is asked for."""
    for module, names in PLACES.items():
        if name in names:
            return getattr(import_module(f"utmost.queries.{module}"), name)
    raise AttributeError(f"module 'utmost.queries' has no attribute {name!r}")
