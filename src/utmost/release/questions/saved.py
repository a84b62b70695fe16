"""A question from its plain data: what a report holds is enough to make the question again, without the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from utmost.errors import BadFile
from utmost.privacy import Level
from utmost.release.conditions import where_from_text
from utmost.release.discover import discover_again
from utmost.release.keys import keys_again
from utmost.release.questions import BY_KEYS, DISCOVERED, QUESTIONS
from utmost.release.questions.question import Question, Terms

if TYPE_CHECKING:
    from utmost.solution import Solution


def question_again(public: Mapping[str, Any], terms: Terms, level: Level, solution: Solution) -> Question:
    """The question that a report says was asked, with the solution that the report brings.

    A listed prior stands in the solution; the report names it by its fingerprint. `BadFile` for what cannot be one.
    """
    by = public.get("by")
    found = isinstance(by, Mapping) and "discover" in by
    kind = (DISCOVERED if found else BY_KEYS if "by" in public else QUESTIONS).get(str(public.get("question")))
    if kind is None:
        raise BadFile(f"the report asks {public.get('question')!r}, which this version does not know; update Utmost.")
    known = {each.name for each in fields(kind)}
    given = {name: value for name, value in public.items() if name in known and name != "prior"}
    if "where" in given:
        given["where"] = where_from_text(given["where"])
    if "by" in given:
        given["by"] = discover_again(given["by"]) if found else keys_again(given["by"])
    if str(public.get("prior")) != "uniform":
        given["prior"] = solution.problem.data.get("prior")
    question = kind(terms=terms, privacy=level, **given)
    if question.public != dict(public):
        raise BadFile("the report's question is not written as Utmost writes it; ask for the report again.")
    object.__setattr__(question, "solution", solution)
    return question
