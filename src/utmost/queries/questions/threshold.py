"""Query: whether at least a given number of rows meet a condition."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from utmost.errors import InvalidInput, shown
from utmost.messages import Name
from utmost.queries.arguments import Of, plain
from utmost.queries.options import ANY_CONDITION, AT_LEAST, BY, OF
from utmost.queries.questions.aggregates import IN_ONE_GROUP, MORE_GROUPS
from utmost.queries.questions.choices import Choice
from utmost.queries.questions.decisions import ONES, RowSum, checked_loss_and_prior, decision, row_sum
from utmost.queries.questions.priors import prior_text
from utmost.queries.questions.question import as_of
from utmost.queries.questions.selection import Selection
from utmost.queries.questions.tiered import TieredSum


@dataclass(frozen=True, eq=False, kw_only=True)
class Threshold(Choice):
    """Whether at least a given number of rows, or people, meet a condition.

    Attributes
    ----------
    at_least : int
        The threshold: the least count with the answer yes.
    of : "rows" or "people"
        What is counted.
    loss : "zero-one"
        The loss that the mechanism is designed for.
    prior : array or None
        A probability for each possible count, in increasing order; None is uniform.
    """

    name = "threshold"
    summary = "whether at least so many rows have a condition"
    options: ClassVar = (ANY_CONDITION, AT_LEAST, BY, OF)
    takes_tiers: ClassVar = True

    at_least: int
    of: Of = "rows"
    loss: str = "zero-one"
    prior: Any = None

    def __post_init__(self) -> None:
        self.set_fields(of=as_of(self.of, self.terms.unit))  # first: the contribution bound depends on it
        super().__post_init__()
        self.set_fields(**checked_loss_and_prior(self.scores, self.loss, self.prior, self.privacy))
        try:
            border = 0 if isinstance(self.at_least, bool) else plain(operator.index(self.at_least))
        except TypeError:
            border = 0
        if not 1 <= border <= self.scores.space.last:
            raise InvalidInput(
                Name("at_least"),
                f" is {shown(self.at_least)}; give a whole number from 1 to {self.scores.space.last}, the most "
                "there can be: the answer to any other is public.",
            )
        self.set_fields(at_least=border)

    @property
    def uses_one_row_each(self) -> bool:
        return self.of_people and self.by is not None

    @property
    def one_row_clause(self) -> str:
        return IN_ONE_GROUP

    @property
    def one_row_note(self) -> str:
        return MORE_GROUPS

    @property
    def words(self) -> str:
        middle, end = self.grouping.sentence_clauses(self.rows_clause)
        having = f"{middle and f'{middle},'} with {self.where}" if self.where else middle
        return f"Are there at least {self.at_least} {self.of}{having}{end}?"

    @property
    def public(self) -> dict[str, Any]:
        parameters = {"where": self.where.text, "of": self.of, "at_least": self.at_least}
        criterion = {"loss": self.loss, "prior": prior_text(self.prior)}
        return {"question": self.name, **parameters, **criterion, **self.grouping.public}

    @cached_property
    def scores(self) -> RowSum | TieredSum:
        return row_sum(ONES, self.where, self.scope, self.terms.unit)

    @cached_property
    def selection(self) -> Selection:
        return decision(self.scores, self.at_least, self.scope.privacy, self.prior)
