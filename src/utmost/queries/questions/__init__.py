"""The queries that a session answers.

* Numbers: an aggregate (`aggregates/`) with a grouping (`aggregates.py`, `by_found_keys.py`), and counts of cells
  (`cell_counts.py`): histograms, cumulative counts, marginals, hierarchies.
* Choices: scores, a selection and a grouping (`choices.py`, `selection.py`): majorities, winners, quantiles.

`question.py` has the base class of all queries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from utmost.queries.aggregates import AGGREGATES
from utmost.queries.questions.cdf import Cdf
from utmost.queries.questions.counts import Counts
from utmost.queries.questions.hierarchy import HierarchyOf
from utmost.queries.questions.histogram import Histogram
from utmost.queries.questions.kinds import Kind, kind_of
from utmost.queries.questions.majority import Majority
from utmost.queries.questions.marginals import Marginals
from utmost.queries.questions.plurality import Plurality
from utmost.queries.questions.quantile import Quantile, form_of_quantile
from utmost.queries.questions.question import Question, Terms
from utmost.queries.questions.ranges import Ranges
from utmost.queries.questions.rows_per_person import RowsPerPerson
from utmost.queries.questions.share import Share
from utmost.queries.questions.share_left_out import ShareLeftOut
from utmost.queries.questions.shown_keys import ShownKeys
from utmost.queries.questions.threshold import Threshold
from utmost.queries.questions.top import Top

__all__ = [
    "BY_KEYS_ALONE",
    "FORMS",
    "OTHERS",
    "QUESTIONS",
    "Kind",
    "Question",
    "Terms",
]

OTHERS: dict[str, type[Question]] = {
    query.name: query
    for query in (
        *(Majority, Threshold, Counts, Histogram, Cdf, Ranges, Plurality, Quantile, Share),
        *(ShareLeftOut, RowsPerPerson, ShownKeys, Top, Marginals, HierarchyOf),
    )
}
"""Queries that are not aggregates, by name."""
BY_KEYS_ALONE = {name: kind_of(OTHERS[name]) for name in ("marginals", "hierarchy")}
"""Queries that need keys, for which commands have no form."""
LISTED_FIRST = (
    *("count", "sum", "mean", "majority", "threshold", "counts", "histogram", "cdf", "ranges", "plurality", "quantile"),
    *("variance", "covariance", "share", "clamped", "left_out", "share_left_out", "rows_per_person", "keys", "top"),
)
QUESTIONS: dict[str, Kind] = {
    name: kind_of(AGGREGATES.get(name) or OTHERS[name])
    for name in dict.fromkeys((*LISTED_FIRST, *AGGREGATES, *OTHERS))
    if name not in BY_KEYS_ALONE
}
"""Every other query by name, in the order of lists and menus."""
FORMS: dict[str, Callable[[Mapping[str, Any]], type[Question]]] = {Quantile.name: form_of_quantile}
"""For queries with several classes: a function that returns the class for a public JSON."""
