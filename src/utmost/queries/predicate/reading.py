"""How a question reads columns of text whose type nobody declared, in words: what a plan says before anything is spent.

A CSV file has no types. Beside a number such a column is read as numbers, and then "7" and "7.0" are one; beside a text
it is compared letter by letter, and then they are not. Who asks for the category "0" of a column that holds "0.0" would
otherwise pay for a zero.
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


def readings(source: Source, asked: Mapping[str, Any]) -> list[str]:
    """A sentence for each column without a type that a question uses, and each way it is read.

    Parameters
    ----------
    source : the table
    asked : the question as plain data: its condition as text under "where", or several under "conditions"; the
        columns it counts under "categories", each with its list, or under "column", with "candidates" or a range;
        keys under "by"
    """
    found = {(name, kind): None for name, kind in _read(source, asked) if name in source.untyped}
    return [f"{name} is text in the table, {READ_AS[kind]}" for name, kind in found if kind in READ_AS]


def _read(source: Source, asked: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    where = asked.get("where", list(asked.get("conditions", {}).values()))
    for text in where if isinstance(where, list) else [where]:
        try:
            condition = as_condition(text, source) if isinstance(text, str) else None
        except UtmostError:  # a question that is read again from its report
            condition = None
        if condition is not None:
            yield from _read_by(condition)
    for column, categories in asked.get("categories", ()):
        yield column, _kind(categories)
    for column, kind, _ in asked.get("by", {}).get("columns", ()):
        yield column, {"string": "text", "bool": "truth", "date32[day]": "date"}.get(kind, "number")
    column = asked.get("column")
    if isinstance(column, str):
        yield column, _kind(asked["candidates"]) if asked["question"] == "plurality" else "number"


def _read_by(value: Expression) -> Iterator[tuple[str, str]]:
    """Each column that a condition looks at, and as what kind."""
    for part in value.parts:
        if part.op != "column":
            yield from _read_by(part)
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
