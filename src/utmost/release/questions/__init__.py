"""The queries that can be asked of a table.

* Numbers: an aggregate (`aggregates/`) with a grouping (`aggregates.py`, `by_found_keys.py`), and counts of cells
  (`cell_counts.py`): histograms, cumulative counts, marginals, hierarchies.
* Choices: scores, a selection and a grouping (`choices.py`, `selection.py`): majorities, winners, quantiles.

`question.py` says what every query has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from utmost.release.questions.cdf import Cdf
from utmost.release.questions.counts import Counts
from utmost.release.questions.hierarchy import HierarchyOf
from utmost.release.questions.histogram import Histogram
from utmost.release.questions.kinds import NUMERIC, Kind
from utmost.release.questions.majority import Majority
from utmost.release.questions.marginals import Marginals
from utmost.release.questions.plurality import Plurality
from utmost.release.questions.quantile import Quantile, form_of_quantile
from utmost.release.questions.question import Question, Terms
from utmost.release.questions.ranges import Ranges
from utmost.release.questions.rows_per_person import RowsPerPerson
from utmost.release.questions.share import Share
from utmost.release.questions.share_left_out import ShareLeftOut
from utmost.release.questions.shown_keys import ShownKeys
from utmost.release.questions.threshold import Threshold
from utmost.release.questions.top import Top

__all__ = [
    "BY_KEYS_ALONE",
    "FORMS",
    "OTHERS",
    "QUESTIONS",
    "Kind",
    "Question",
    "Terms",
]

_NUMERIC = {kind.name: kind for kind in NUMERIC}
OTHERS: dict[str, type[Question]] = {
    asked.name: asked
    for asked in (
        *(Majority, Threshold, Counts, Histogram, Cdf, Ranges, Plurality, Quantile, Share),
        *(ShareLeftOut, RowsPerPerson, ShownKeys, Top, Marginals, HierarchyOf),
    )
}
"""Queries that are no aggregates, by their names."""
KINDS = (
    *("count", "sum", "mean", "majority", "threshold", "counts", "histogram", "cdf", "ranges", "plurality", "quantile"),
    *("variance", "covariance", "share", "clamped", "left_out", "share_left_out", "rows_per_person", "keys", "top"),
)
QUESTIONS: dict[str, Kind] = {
    name: _NUMERIC.get(name) or Kind(name, OTHERS[name].summary, OTHERS[name].options, OTHERS[name].needs_most)
    for name in KINDS
}
"""Every question by its name, in the order in which they are listed to people."""
BY_KEYS_ALONE: dict[str, Kind] = {
    asked.name: Kind(asked.name, asked.summary, asked.options) for asked in (Marginals, HierarchyOf)
}
"""Those that are asked by keys alone, for which commands have no form."""
FORMS: dict[str, Callable[[Mapping[str, Any]], type[Question]]] = {Quantile.name: form_of_quantile}
"""Those that are asked in several forms: which one, by its public JSON."""
