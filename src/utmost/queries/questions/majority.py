"""Query: whether more rows meet a condition than do not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from utmost.errors import InvalidInput
from utmost.queries.options import BY, CONDITION
from utmost.queries.questions.choices import Choice
from utmost.queries.questions.decisions import VOTES, RowSum, checked_loss_and_prior, decision, row_sum
from utmost.queries.questions.priors import prior_text
from utmost.queries.questions.selection import Selection
from utmost.queries.questions.tiered import TieredSum


@dataclass(frozen=True, eq=False, kw_only=True)
class Majority(Choice):
    """Whether a condition is true of more rows than it is false of.

    Attributes
    ----------
    loss : "zero-one"
        The loss that the mechanism is designed for.
    prior : array or None
        A probability for each difference, yes less no, in increasing order; None is uniform.
    """

    name = "majority"
    summary = "whether more rows have a condition than not"
    options: ClassVar = (CONDITION, BY)
    takes_tiers: ClassVar = True

    loss: str = "zero-one"
    prior: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.set_fields(**checked_loss_and_prior(self.scores, self.loss, self.prior, self.privacy))
        if not self.where:
            raise InvalidInput("a majority needs a condition that rows agree with or not, such as \"answer = 'yes'\".")

    @property
    def words(self) -> str:
        middle, end = self.grouping.sentence_clauses(self.rows_clause)
        return f"Do more rows{middle and f'{middle},'} have {self.where} than not{end}?"

    @property
    def public(self) -> dict[str, Any]:
        criterion = {"loss": self.loss, "prior": prior_text(self.prior)}
        return {"question": self.name, "where": self.where.text, **criterion, **self.grouping.public}

    @cached_property
    def scores(self) -> RowSum | TieredSum:
        return row_sum(VOTES, self.where, self.scope, self.terms.unit)

    @cached_property
    def selection(self) -> Selection:
        return decision(self.scores, 1, self.scope.privacy, self.prior)
