"""Numeric queries put together: from what a user asks, and again from the public part of a report."""

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
    """The kind of query for a grouping: keys that are found privately, or public ones."""
    return ByFoundKeys if isinstance(by, Discover) else ByKeys


def numeric_query_again(
    public: Mapping[str, Any], terms: Terms, level: Level, prior: Any, says_rounding: bool
) -> AggregateQuery:
    """The query that a report says was asked.

    Parameters
    ----------
    public : mapping
        Its public part; it may hold anything, and is compared afterwards with that of the query.
    terms : Terms
        Whose data are protected.
    level : Level
        What it spent.
    prior : sequence or None
        The prior that the report brings.
    says_rounding : bool
        Whether the report says if values were rounded; reports of Utmost 0.2 do not.
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
