"""How questions are asked: what a session, its plans and its schedules share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from utmost.release.conditions.where import Where, as_where
from utmost.release.questions.question import Question, Terms
from utmost.release.source import Source

Made = TypeVar("Made")
"""What asking makes: an `Answer`, or a `Plan`."""


class Asks(ABC, Generic[Made]):
    """Something that questions can be asked of.

    Every question's file has a class of this kind with one method, named as the question; `Questions` is all of them.
    """

    source: Source
    terms: Terms

    @abstractmethod
    def ask(self, question: Question, fresh: bool) -> Made:
        """Answer the question, or plan it."""

    def level(self, privacy: Any) -> Any:
        """What a question may spend, where it is not said with it."""
        return privacy

    def where(self, where: Any) -> Where:
        """A condition with its text; an error unless it is one of this table."""
        return as_where(where, self.source)
