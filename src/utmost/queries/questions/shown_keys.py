"""Query: which keys there are, found privately (partition selection)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from utmost.backends.source import Source, Statement
from utmost.queries.accuracy import After, Before
from utmost.queries.contributions import ones
from utmost.queries.found_keys import Discover
from utmost.queries.keys import english_list
from utmost.queries.options import COLUMN, KEYS_EACH, WHERE
from utmost.queries.questions.by_found_keys import (
    TRUE_KEYS,
    USERS,
    KeySelection,
    plain_key,
    plain_keys,
    require_discover,
    users_needed,
)
from utmost.queries.questions.question import Question
from utmost.queries.report.words import question_in_words
from utmost.queries.units import Unit
from utmost.queries.units_per_key import KeyTotals, holders_statement
from utmost.space.integers import Holders

if TYPE_CHECKING:
    import pyarrow

    from utmost.solution import Solution


@dataclass(frozen=True, eq=False, kw_only=True)
class ShownKeys(Question):
    """The keys that partition selection releases.

    Attributes
    ----------
    by : Discover
        The columns of the keys.
    """

    name = "keys"
    summary = "which values a column has, found privately"
    options: ClassVar = (COLUMN, WHERE, KEYS_EACH)

    by: Discover
    loss: str = USERS

    def __post_init__(self) -> None:
        super().__post_init__()
        self.set_fields(by=require_discover(self.by, self.privacy, self.terms.unit, has_noise=False))

    @property
    def bounded_unit(self) -> Unit:
        return replace(self.terms.unit, truncate="question")  # the contribution bound is in keys, not in rows

    @cached_property
    def selection(self) -> KeySelection:
        """The partition selection."""
        return KeySelection(self.by, self.terms, self.by.keys_each)

    @property
    def words(self) -> str:
        return question_in_words(
            f"Which {english_list(self.by.columns)} are there{self.selection.keys_clause(self.of_people)}", self.where
        )

    @property
    def public(self) -> dict[str, Any]:
        where = {"by": self.by.public, "where": self.where.text, "loss": self.loss, "prior": "uniform"}
        return {"question": self.name, **where}

    @property
    def space(self) -> Holders:
        return self.selection.space

    @property
    def problem_data(self) -> dict[str, Any]:
        return {**super().problem_data, **self.selection.problem_data}

    def design(self) -> Solution:
        return self.selection.design(self.privacy, self.loss)

    def statement(self, source: Source, secret: bytes) -> Statement:
        holding = ones(source, self.where.text)
        keys_each = self.selection.keys_each
        return holders_statement(source, self.bounded_unit, self.by, keys_each, holding, {}, self.rows_each, secret)

    def point(self, engine_result: Mapping[str, Any]) -> KeyTotals:
        return self.selection.point(engine_result, ())

    def draw(self, point: KeyTotals) -> dict[str, Any]:
        return self.released(self.selection.draw(self.solution.mechanism, point))

    def released(self, sample: Any) -> dict[str, Any]:
        keys, _ = sample
        return {"keys": plain_keys(keys)}

    def value(self, released: Mapping[str, Any]) -> list[Any]:
        return self.selection.keys(released).labels

    def plain_value(self, value: Any) -> Any:
        return [plain_key(key) for key in value]

    def table(self, released: Mapping[str, Any]) -> pyarrow.Table:
        return self.selection.keys(released).table

    @property
    def curve(self) -> dict[str, Any]:
        return self.selection.curve(self.solution.mechanism.law)

    @property
    def key_columns(self) -> tuple[str, ...]:
        return self.by.columns

    @property
    def certificate_subject(self) -> str:
        return "which keys are shown"

    @property
    def notes(self) -> tuple[str, ...]:
        return self.selection.notes(self.solution.mechanism)

    def before(self) -> Before:
        law = self.solution.mechanism.law
        return Before(USERS, law.mean_users, float(law.sure))

    def after(self, released: Mapping[str, Any]) -> After:
        return After(given=TRUE_KEYS, by_law=True)

    def expected_losses(self) -> dict[str, dict[str, float]]:
        return users_needed(self.solution.value, self.space.changes, self.privacy)
