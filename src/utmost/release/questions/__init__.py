"""The questions one can ask of a table, one file each.

`numbers` and `choices` are the two kinds; `question` says what every question is. A new question is a file like
`count.py` and its line in the two lists below.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from utmost.errors import shown
from utmost.release.questions.cdf import AsksCdf, Cdf
from utmost.release.questions.clamped import AsksClamped
from utmost.release.questions.count import AsksCount
from utmost.release.questions.counts import AsksCounts, Counts
from utmost.release.questions.covariance import AsksCovariance
from utmost.release.questions.hierarchy import AsksHierarchy, HierarchyOf
from utmost.release.questions.histogram import AsksHistogram, Histogram
from utmost.release.questions.kinds import NUMERIC, Kind
from utmost.release.questions.left_out import AsksLeftOut
from utmost.release.questions.majority import AsksMajority, Majority
from utmost.release.questions.marginals import AsksMarginals, Marginals
from utmost.release.questions.mean import AsksMean
from utmost.release.questions.plurality import AsksPlurality, Plurality
from utmost.release.questions.quantile import AsksQuantile, Quantile, form_of_quantile
from utmost.release.questions.question import Asks, Made, Question, Terms, with_own_errors
from utmost.release.questions.ranges import AsksRanges, Ranges
from utmost.release.questions.rows_per_person import AsksRowsPerPerson, RowsPerPerson
from utmost.release.questions.share import AsksShare, Share
from utmost.release.questions.share_left_out import AsksShareLeftOut, ShareLeftOut
from utmost.release.questions.shown_keys import AsksKeys, ShownKeys
from utmost.release.questions.sum import AsksSum
from utmost.release.questions.threshold import AsksThreshold, Threshold
from utmost.release.questions.top import AsksTop, Top
from utmost.release.questions.variance import AsksVariance

__all__ = [
    "BY_KEYS_ALONE",
    "FORMS",
    "OTHERS",
    "QUESTIONS",
    "Kind",
    "Question",
    "Questions",
    "Terms",
    "misused",
]

_NUMERIC = {kind.name: kind for kind in NUMERIC}
OTHERS: dict[str, type[Question]] = {
    asked.name: asked
    for asked in (
        *(Majority, Threshold, Counts, Histogram, Cdf, Ranges, Plurality, Quantile, Share),
        *(ShareLeftOut, RowsPerPerson, ShownKeys, Top, Marginals, HierarchyOf),
    )
}
"""Those that are no aggregates."""
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


class Questions(
    AsksCount[Made],
    AsksSum[Made],
    AsksMean[Made],
    AsksVariance[Made],
    AsksCovariance[Made],
    AsksShare[Made],
    AsksMajority[Made],
    AsksThreshold[Made],
    AsksCounts[Made],
    AsksHistogram[Made],
    AsksCdf[Made],
    AsksRanges[Made],
    AsksHierarchy[Made],
    AsksMarginals[Made],
    AsksPlurality[Made],
    AsksQuantile[Made],
    AsksClamped[Made],
    AsksLeftOut[Made],
    AsksShareLeftOut[Made],
    AsksRowsPerPerson[Made],
    AsksKeys[Made],
    AsksTop[Made],
):
    """All questions, each with the same arguments in `session`, in `session.plan` and in a schedule."""


def misused(name: str, signature: inspect.Signature, given: tuple[Any, ...], named: dict[str, Any]) -> str:
    """What an error says of arguments that do not fit: which the question lacks, or does not take, and what to do."""
    known = [each for each in signature.parameters if each != "self"]
    places = [n for n in known if signature.parameters[n].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    taken = f"{name} takes {', '.join(known)}"
    odd = [each for each in named if each not in known]
    if odd == ["by"]:
        asked_by = [each for each in QUESTIONS if "by" in inspect.signature(getattr(Questions, each)).parameters]
        return f"{name} is not asked by keys; {', '.join(asked_by)} take `by`."
    if odd:
        return f"{name} has no argument {shown(odd[0])}; {taken}."
    if len(given) - 1 > len(places):
        return f"{name} takes {', '.join(places)} by position, and all else by name, such as where=...; {taken}."
    twice = [each for each in places[: len(given) - 1] if each in named]
    if twice:
        return f"{name} is given {twice[0]} twice, by position and by name; give it once."
    lacking = [n for n in known if signature.parameters[n].default is inspect.Parameter.empty]
    lacking = [n for n in lacking if n not in named and n not in places[: len(given) - 1]]
    said = {option.name: option.help.rstrip(".") for option in getattr(QUESTIONS.get(name), "options", ())}
    words = [f"{n} ({said[n][0].lower()}{said[n][1:]})" if said.get(n) else n for n in lacking]
    return f"{name} needs {', '.join(words)}: give what is public knowledge, never what the table says; {taken}."


for _name in {*dir(Questions)} - {*dir(Asks)}:
    setattr(Questions, _name, with_own_errors(getattr(Questions, _name), misused))
