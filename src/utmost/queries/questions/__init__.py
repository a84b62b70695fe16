"""The questions one can ask of a table, one file each.

`numbers` and `choices` are the two kinds; `question` says what every question is. A new question is a file like
`count.py` and its line in the two lists below.
"""

from __future__ import annotations

import inspect
from typing import Any

from utmost.errors import shown
from utmost.queries.questions.by import CountBy, MeanBy, SumBy
from utmost.queries.questions.cdf import AsksCdf, Cdf
from utmost.queries.questions.clamped import AsksClamped, Clamped
from utmost.queries.questions.count import AsksCount, Count
from utmost.queries.questions.counts import AsksCounts, Counts
from utmost.queries.questions.covariance import AsksCovariance, Covariance
from utmost.queries.questions.discovered import CountDiscovered, MeanDiscovered, SumDiscovered
from utmost.queries.questions.hierarchy import AsksHierarchy, HierarchyOf
from utmost.queries.questions.histogram import AsksHistogram, Histogram
from utmost.queries.questions.left_out import AsksLeftOut, LeftOut
from utmost.queries.questions.majority import AsksMajority, Majority, MajorityBy
from utmost.queries.questions.marginals import AsksMarginals, Marginals
from utmost.queries.questions.mean import AsksMean, Mean
from utmost.queries.questions.plurality import AsksPlurality, Plurality
from utmost.queries.questions.quantile import AsksQuantile, Quantile, QuantileBy
from utmost.queries.questions.quantiles import Quantiles
from utmost.queries.questions.question import Asks, Made, Question, Terms, with_own_errors
from utmost.queries.questions.ranges import AsksRanges, Ranges
from utmost.queries.questions.ranked import Ranked, RankedBy
from utmost.queries.questions.rows_per_person import AsksRowsPerPerson, RowsPerPerson
from utmost.queries.questions.share import AsksShare, Share
from utmost.queries.questions.share_left_out import AsksShareLeftOut, ShareLeftOut
from utmost.queries.questions.shown_keys import AsksKeys, ShownKeys
from utmost.queries.questions.sum import AsksSum, FineSum, Sum
from utmost.queries.questions.threshold import AsksThreshold, Threshold, ThresholdBy
from utmost.queries.questions.tiered import TieredCount, TieredMajority, TieredThreshold
from utmost.queries.questions.top import AsksTop, Top, TopDiscovered
from utmost.queries.questions.variance import AsksVariance, Variance, VarianceBy

__all__ = [
    "BY_KEYS",
    "DISCOVERED",
    "FINE",
    "QUESTIONS",
    "RANKED",
    "RANKED_BY",
    "SEVERAL",
    "TIERED",
    "Question",
    "Questions",
    "Terms",
    "misused",
]

QUESTIONS: dict[str, type[Question]] = {
    asked.name: asked
    for asked in (
        *(Count, Sum, Mean, Majority, Threshold, Counts, Histogram, Cdf, Ranges, Plurality, Quantile),
        *(Variance, Covariance, Share),
        *(Clamped, LeftOut, ShareLeftOut, RowsPerPerson, ShownKeys, Top),
    )
}
"""Every question by its name, in the order in which they are listed to people."""
BY_KEYS: dict[str, type[Question]] = {
    asked.name: asked
    for asked in (CountBy, SumBy, MeanBy, VarianceBy, MajorityBy, ThresholdBy, QuantileBy, Marginals, HierarchyOf)
}
"""Those that take `by`, as they are asked with it."""
SEVERAL: dict[str, type[Question]] = {Quantiles.name: Quantiles}
"""Those that take a list in place of one thing, as they are asked with it."""
FINE: dict[str, type[Question]] = {FineSum.name: FineSum}
"""Those of values in very many steps, as they are asked at levels other than pure ones."""
RANKED: dict[str, type[Question]] = {Ranked.name: Ranked}
RANKED_BY: dict[str, type[Question]] = {RankedBy.name: RankedBy}
"""Quantiles between bounds, or among very many candidates, and those by keys."""
TIERED: dict[str, type[Question]] = {asked.name: asked for asked in (TieredCount, TieredMajority, TieredThreshold)}
"""Those that are asked where some rows have promises of their own, as they are asked there."""
DISCOVERED: dict[str, type[Question]] = {
    asked.name: asked for asked in (CountDiscovered, SumDiscovered, MeanDiscovered, ShownKeys, TopDiscovered)
}
"""Those about keys that nobody listed."""


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
