"""A condition as questions carry it: its text, which is public, and what the engine's expression is built from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from utmost.errors import InvalidInput
from utmost.release.conditions import TOO_DEEP, as_condition
from utmost.release.plain import plain
from utmost.release.source import Source


@dataclass(frozen=True)
class Where:
    """Which rows a question is about; without a text, every row.

    Attributes
    ----------
    text : SQL as it was given, or the engine's SQL of an Ibis condition: what is shown and what the ledger compares
    given : SQL text, or an Ibis condition: what the engine is asked with
    """

    text: str | None = None
    given: Any = field(default=None, repr=False, compare=False)  # an interactive Ibis would print rows

    def __bool__(self) -> bool:
        return self.text is not None

    def __str__(self) -> str:
        return self.text or "every row"


EVERY_ROW = Where()


def as_where(where: Any, source: Source) -> Where:
    """A condition with its text, once it is known to be one; None is every row."""
    if where is None:
        return EVERY_ROW
    condition = as_condition(where, source)
    if isinstance(where, str):
        return Where(str(plain(where)).strip(), where)
    try:
        compiled = source.sql(source.table.select(condition=condition))
    except RecursionError:
        raise InvalidInput(TOO_DEEP) from None
    return Where(compiled.removeprefix("SELECT ").rpartition(' AS "condition" FROM ')[0], where)


def where_from_text(text: str | None) -> Where:
    """The condition of a saved question: its text serves as what is asked, too."""
    return Where(text, text)
