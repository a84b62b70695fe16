"""The questions that can be asked, as lists, forms and commands show them."""

from __future__ import annotations

from dataclasses import dataclass

from utmost.queries.aggregates import Aggregate
from utmost.queries.options import Option
from utmost.queries.questions.question import Question


@dataclass(frozen=True)
class Kind:
    """One question that can be asked.

    Attributes
    ----------
    name : str
        The session's method that asks it.
    summary : str
        What it asks, in half a line.
    options : tuple of Option
        Its parameters beside `privacy`, in the order of the method's.
    needs_most : bool
        Whether its mechanism, or what is said of its accuracy, needs to know how many rows there are at most.
    """

    name: str
    summary: str
    options: tuple[Option, ...]
    needs_most: bool = False


def kind_of(query_class: type[Aggregate] | type[Question]) -> Kind:
    """How an aggregate, or a query that is none, is listed."""
    needs_most = issubclass(query_class, Question) and query_class.needs_most
    name = query_class.name
    assert isinstance(name, str), "a class of queries with several names has no entry of its own"
    return Kind(name, query_class.summary, query_class.options, needs_most)
