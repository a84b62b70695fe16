"""Choices: queries whose answer is one of few, such as yes or no, or a candidate.

A choice is put together of three parts: the *scores* that the engine counts, the private *selection* by these scores,
and the *grouping* (one selection for the whole table, or one for each public key). The query itself defines its
parameters, its sentence, and which parts these give.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from utmost.backends.source import Source, Statement
from utmost.queries.accuracy import After, Before
from utmost.queries.keys import Keys
from utmost.queries.predicate import EVERY_ROW, Where
from utmost.queries.questions.choices_by import Grouping, PublicKeys, grouping_of
from utmost.queries.questions.question import Question
from utmost.queries.questions.selection import Scope, Scores, Selection
from utmost.space.integers import Unlisted

if TYPE_CHECKING:
    import pyarrow

    from utmost.privacy import Level
    from utmost.solution import Solution


@dataclass(frozen=True, eq=False, kw_only=True)
class Choice(Question):
    """A query that selects one of few answers, for the whole table or for each group.

    Attributes
    ----------
    where : Where
        Which rows are used.
    by : Keys or None
        The public keys; None for the whole table.
    """

    needs_most: ClassVar = True
    takes_tiers: ClassVar[bool] = False
    """Whether it can be answered, without keys, for tables with tiers."""

    where: Where = EVERY_ROW
    by: Keys | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.grouping

    @property
    @abstractmethod
    def scores(self) -> Scores:
        """The scores that the engine counts."""

    @property
    @abstractmethod
    def selection(self) -> Selection:
        """The private selection by the scores of one table or group."""

    @property
    def tiered(self) -> bool:
        return self.takes_tiers and self.by is None and bool(self.terms.unit.tiers)

    @property
    def table_scope(self) -> Scope:
        """All rows that are used, with the level of the whole answer."""
        return Scope(self.most_rows, self.rows_each, self.terms.neighbours, self.privacy)

    @cached_property
    def grouping(self) -> Grouping:
        """One selection for the whole table, or one per public key."""
        return grouping_of(self.by, self.table_scope)

    @property
    def scope(self) -> Scope:
        """The rows of one selection, with its level."""
        return self.grouping.scope(self.table_scope)

    @property
    def identity(self) -> dict[str, Any]:
        return {**self.public, **self.grouping.identity}

    @property
    def proved_level(self) -> Level:
        return self.scope.privacy

    @property
    def composition(self) -> str:
        return self.grouping.composition(self.table_scope)

    @property
    def certificate_subject(self) -> str:
        return self.selection.certificate_subject or self.grouping.certificate_subject

    @property
    def space(self) -> Unlisted:
        return self.selection.space

    @property
    def problem_data(self) -> dict[str, Any]:
        return self.selection.problem_data

    def design(self) -> Solution:
        return self.selection.design()

    def sketch(self) -> Solution | None:
        return self.selection.sketch() if self.by is None else None

    def statement(self, source: Source, secret: bytes) -> Statement:
        return self.grouping.statement(self.scores, source, self.bounded_unit, self.rows_each, secret)

    def point(self, engine_result: Mapping[str, Any]) -> Any:
        return self.grouping.point(self.scores, engine_result)

    def draw(self, point: Any) -> dict[str, Any]:
        return self.released(self.grouping.draw(self.selection, self.solution, point))

    def released(self, sample: Any) -> dict[str, Any]:
        return {self.selection.label: sample}

    @property
    def released_names(self) -> Sequence[str]:
        return (self.selection.label,)

    def require_released(self, released: Mapping[str, Any]) -> None:
        super().require_released(released)
        _ = self.selected_answers(released)

    def selected_answers(self, released: Mapping[str, Any]) -> list[Any]:
        """The selected answer of every group; raises if it cannot have been selected."""
        answers = self.grouping.selected_answers(self.selection, released[self.selection.label])
        for answer in answers:
            self.selection.require(answer)
        return answers

    def value(self, released: Mapping[str, Any]) -> Any:
        numbers = [self.selection.values(answer) for answer in self.selected_answers(released)]
        return self.grouping.label_numbers(self.selection.names, numbers)

    def before(self) -> Before:
        return self.selection.before(self.solution)

    def after(self, released: Mapping[str, Any]) -> After:
        return self.grouping.after(
            self.selection, self.solution, self.selected_answers(released), self.name, self.limits_clause
        )

    def expected_losses(self) -> dict[str, dict[str, float]]:
        return self.selection.expected_losses(self.solution)

    @property
    def notes(self) -> tuple[str, ...]:
        return self.selection.notes(self.solution)

    @property
    def key_columns(self) -> tuple[str, ...]:
        return self.grouping.column_headings(self.selection)

    def plain_value(self, value: Any) -> Any:
        if not isinstance(self.grouping, PublicKeys):
            return super().plain_value(value)
        return self.grouping.plain_rows(self.selection.names, list(value.values()))

    def plain_intervals(self, intervals: Mapping[Any, tuple[Any, Any]]) -> Any:
        if not isinstance(self.grouping, PublicKeys):
            return super().plain_intervals(intervals)
        pairs = self.grouping.plain_rows(self.selection.names, list(intervals.values())) if intervals else []
        return [[*key, *ends] for *key, ends in pairs]

    def table(self, released: Mapping[str, Any]) -> pyarrow.Table | None:
        """Arrow table of keys, answers and their confidence; None for a whole table."""
        if not isinstance(self.grouping, PublicKeys):
            return None
        return self.grouping.table(self.selection, self.solution, self.selected_answers(released))
