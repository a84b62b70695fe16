"""Tables in, private answers out.

    table -> an engine computes integers -> points of a space -> certified mechanisms -> exact draws -> answer, report,
    ledger

`units` says whose data are protected; `engines` opens tables and `source` asks them; `conditions` keeps questions
row-wise; `statistics` and `tallies` add up integers that one neighbour moves only so far; `mechanisms` designs from
public parameters; `questions`, `several_counts`, `histograms`, `selections`, `winners` and `quantiles` put these
together; `session` asks; `answer`, `accuracy`, `words`, `report` and `page` defend what came out; `budget` shows what
is left; `audit` tries to break it.
"""

from utmost.release.answer import Answer, Plan
from utmost.release.audit import Audit, audit
from utmost.release.session import Session
from utmost.release.units import Unit, people, rows

__all__ = ["Answer", "Audit", "Plan", "Session", "Unit", "audit", "people", "rows"]
