"""Numeric queries by grouping, and their reconstruction from the public part of a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from utmost.errors import BadFile
from utmost.privacy import Level
from utmost.queries.aggregates import AGGREGATES
from utmost.queries.aggregates.aggregate import Ratio
from utmost.queries.found_keys import Discover, discover_from_public
from utmost.queries.keys import keys_from_public
from utmost.queries.predicate import where_from_text
from utmost.queries.questions.aggregates import AggregateQuery, ByKeys, OneNumber, SeveralSums
from utmost.queries.questions.by_found_keys import ByFoundKeys
from utmost.queries.questions.question import Terms
from utmost.queries.questions.top_found import TopFound


def grouped_by(by: Any) -> type[ByKeys] | type[ByFoundKeys]:
    """The class of queries for `by`: keys found privately, or public keys."""
    return ByFoundKeys if isinstance(by, Discover) else ByKeys


def numeric_query_from_report(
    public: Mapping[str, Any], terms: Terms, level: Level, prior: Any, says_rounding: bool
) -> AggregateQuery:
    """Rebuild the query of a report.

    Parameters
    ----------
    public : mapping
        The public part of the report; it may hold anything, and is compared afterwards with that of the query.
    terms : Terms
        The privacy unit and the adjacency.
    level : Level
        The privacy level.
    prior : sequence or None
        The prior of the report.
    says_rounding : bool
        Whether the report states if values were rounded; reports of Utmost 0.2 do not.
    """
    name = public["question"]
    aggregate = AGGREGATES["count" if name == "top" else name].from_public(public, terms.unit, says_rounding)
    where = where_from_text(public["where"])
    optional = {name: public[name] for name in ("expected_rows", "min_rows") if name in public}
    common: dict[str, Any] = {"terms": terms, "privacy": level, "aggregate": aggregate, "where": where}
    common["loss"] = public["loss"]
    by = public.get("by")
    if by is not None:
        is_found = isinstance(by, Mapping) and "discover" in by
        if is_found and name == "top":
            return TopFound(by=discover_from_public(by), k=public["k"], **common)
        if is_found:
            return ByFoundKeys(by=discover_from_public(by), **common, **optional)
        return ByKeys(by=keys_from_public(by), **common, **optional)
    if "unbiased" in public:
        return OneNumber(prior=prior, unbiased=public["unbiased"], **common)
    if not (isinstance(aggregate, Ratio) or aggregate.name == "sum"):
        raise BadFile(f"the report does not say whether its {aggregate.name} is unbiased; ask for it again.")
    return SeveralSums(**common, **optional)
