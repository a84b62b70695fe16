"""Entries of queries in lists, forms and commands."""

from __future__ import annotations

from dataclasses import dataclass

from utmost.queries.aggregates import Aggregate
from utmost.queries.options import Option
from utmost.queries.questions.question import Question


@dataclass(frozen=True)
class Kind:
    """The entry of a query.

    Attributes
    ----------
    name : str
        The name of the session's method.
    summary : str
        The question in half a line.
    options : tuple of Option
        Its parameters beside `privacy`, in the order of the method.
    needs_most : bool
        Whether the mechanism, or the statement of its accuracy, needs a public bound on the number of rows.
    """

    name: str
    summary: str
    options: tuple[Option, ...]
    needs_most: bool = False


def kind_of(query_class: type[Aggregate] | type[Question]) -> Kind:
    """The entry of an aggregate, or of a query that is not an aggregate."""
    needs_most = issubclass(query_class, Question) and query_class.needs_most
    name = query_class.name
    assert isinstance(name, str), "a class of queries with several names has no entry of its own"
    return Kind(name, query_class.summary, query_class.options, needs_most)
