"""Tables in, private answers out.

    table -> an engine computes integers -> a point of a space -> a proved mechanism -> an exact draw -> answer, report,
    ledger

`units` says whose data are protected; `engines` opens tables and `source` asks them; `conditions` keeps questions
row-wise; `contributions` and `cells` add up integers that one neighbour moves only so far; `questions` has a file for
each question; `session` asks; `answers`, `accuracy`, `words`, `report` and `page` defend what came out; `proof` proves
a report again without the table; `budget` shows what is left; `audit` tries to break it.
"""

from utmost.release.answers import Answer, Plan
from utmost.release.audit import Audit, audit
from utmost.release.session import Session
from utmost.release.units import Unit, people, rows

__all__ = ["Answer", "Audit", "Plan", "Session", "Unit", "audit", "people", "rows"]
