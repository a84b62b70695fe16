"""Query: which candidate most rows name (plurality)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast

from utmost.backends.source import Source, as_column
from utmost.errors import InvalidInput
from utmost.queries.arguments import Of, tally_prior, tally_prior_text
from utmost.queries.bins import as_bins, labels_of, public_of
from utmost.queries.cells import Cells, as_categories, category_cells
from utmost.queries.losses import as_loss
from utmost.queries.options import CHOICES, COLUMN, OF, WHERE
from utmost.queries.questions.choices import Choice
from utmost.queries.questions.named_candidates import NamedCandidate, Tally
from utmost.queries.questions.question import as_of
from utmost.queries.report.words import question_in_words

if TYPE_CHECKING:
    from utmost.solution import Solution

LOSSES = ("zero-one", "shortfall")
MOST_CANDIDATES = 100


class Winner(NamedCandidate):
    """The candidate with the most rows; the first one, if there are ties."""

    def design(self) -> Solution:
        from utmost.design.rainbow import best_winner

        return best_winner(self.space, self.privacy, cast(Any, self.loss), self.prior)


@dataclass(frozen=True, eq=False, kw_only=True)
class Plurality(Choice):
    """Which candidate most rows name; other values do not vote.

    Attributes
    ----------
    column : str
        The column with the votes.
    candidates : Bins or tuple
        The candidates, in the order that breaks ties.
    of : "rows" or "people"
        Whose votes count.
    loss : "zero-one" or "shortfall"
        The loss that the mechanism is designed for.
    prior : dict or None
        The probability of each tally; None is uniform.
    """

    name = "plurality"
    summary = "which category is most frequent"
    options: ClassVar = (COLUMN, CHOICES, WHERE, OF)
    people_by_one_row: ClassVar = True

    column: str
    candidates: Any
    of: Of = "rows"
    loss: str = "zero-one"
    prior: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        column = as_column(self.column)
        candidates = as_bins(self.candidates) or tuple(as_categories(column, self.candidates))
        if not 2 <= len(candidates) <= MOST_CANDIDATES:
            raise InvalidInput(
                f"there are {len(candidates)} candidates; give 2 to {MOST_CANDIDATES}, such as those that may well win."
            )
        self.set_fields(column=column, candidates=candidates, of=as_of(self.of, self.terms.unit))
        self.set_fields(loss=as_loss(self.loss, LOSSES), prior=tally_prior(self.prior, self.scores.space))

    @property
    def words(self) -> str:
        return question_in_words(
            f"Which {self.column} is most frequent", self.where, *self.grouping.sentence_clauses(self.rows_clause)
        )

    @property
    def public(self) -> dict[str, Any]:
        parameters: dict[str, Any] = {"column": self.column, "candidates": public_of(self.candidates)}
        parameters |= {"where": self.where.text, "of": self.of}
        criterion = {"loss": self.loss, "prior": tally_prior_text(self.prior)}
        return {"question": self.name, **parameters, **criterion, **self.grouping.public}

    @cached_property
    def scores(self) -> Tally:
        return Tally(self._cells, self.scope.tallies(len(self.candidates)), self.where)

    def _cells(self, source: Source) -> Cells:
        return category_cells(source, {self.column: self.candidates}, other=False)

    @cached_property
    def selection(self) -> Winner:
        labels = labels_of(self.candidates)
        return Winner(self.scores.space, labels, self.scope.privacy, self.loss, self.prior)
