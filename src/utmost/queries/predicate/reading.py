"""Say in words how a query casts text columns without a declared type, so that a plan shows it before the spend.

A CSV file has no types. Compared with a number, such a column is cast to numbers, and "7" equals "7.0"; compared with a
text, the two differ. Otherwise, whoever counts the category "0" in a column that contains "0.0" would pay for a zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from utmost.backends.source import Source
from utmost.errors import UtmostError
from utmost.queries.expressions.values import Expression
from utmost.queries.predicate import as_condition

READ_AS = {
    "number": "read as numbers: '7' and '7.0' are one, and what is no number is null",
    "truth": "read as true or false, and what is neither is null",
    "date": "read as dates, and what is none is null",
    "timestamp": "read as times, and what is none is null",
    "text": "compared letter by letter: '7' and '7.0' differ",
}


def readings(source: Source, question: Mapping[str, Any]) -> list[str]:
    """A sentence for each column without a declared type that a query uses, and each type to which it is cast.

    Parameters
    ----------
    source : Source
    question : mapping
        The query as plain data: its condition as text under "where", or several under "conditions"; the columns that it
        counts under "categories", each with its list, or under "column", with "candidates" or a range; keys under "by".
    """
    pairs = {(name, kind): None for name, kind in _columns_read(source, question) if name in source.untyped}
    return [f"{name} is text in the table, {READ_AS[kind]}" for name, kind in pairs if kind in READ_AS]


def _columns_read(source: Source, question: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    where = question.get("where", list(question.get("conditions", {}).values()))
    for text in where if isinstance(where, list) else [where]:
        try:
            condition = as_condition(text, source) if isinstance(text, str) else None
        except UtmostError:  # a query loaded from a report, whose table is not at hand
            condition = None
        if condition is not None:
            yield from _columns_in(condition)
    for column, categories in question.get("categories", ()):
        yield column, _kind(categories)
    for column, kind, _ in question.get("by", {}).get("columns", ()):
        yield column, {"string": "text", "bool": "truth", "date32[day]": "date"}.get(kind, "number")
    column = question.get("column")
    if isinstance(column, str):
        yield column, _kind(question["candidates"]) if question["question"] == "plurality" else "number"


def _columns_in(value: Expression) -> Iterator[tuple[str, str]]:
    """Each column that a condition reads, with the kind to which it is cast."""
    for part in value.parts:
        if part.op != "column":
            yield from _columns_in(part)
        elif value.op == "read":
            yield (
                part.value,
                {"integer": "number", "float": "number", "boolean": "truth"}.get(value.type.kind, value.type.kind),
            )
        elif value.op not in ("is_null", "not_null"):
            yield part.value, "text"


def _kind(values: Iterable[Any]) -> str:
    first = next(iter(values))
    return "truth" if isinstance(first, bool) else "text" if isinstance(first, str) else "number"
