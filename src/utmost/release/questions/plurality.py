"""The question: who won: which candidate do most rows name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast

from utmost.errors import InvalidInput
from utmost.release.arguments import Condition, Of, Privacy, TallyPrior, tally_prior, tally_prior_text
from utmost.release.bins import as_bins, labels_of, public_of
from utmost.release.cells import Cells, as_categories, category_cells
from utmost.release.options import CHOICES, COLUMN, OF, WHERE
from utmost.release.questions.choices import Choice
from utmost.release.questions.named_candidates import NamedCandidate, Tally
from utmost.release.questions.question import Asks, Made, as_loss, as_of, asking
from utmost.release.source import Source, as_column

if TYPE_CHECKING:
    from utmost.solution import Solution

LOSSES = ("zero-one", "shortfall")
MOST_CANDIDATES = 100


class Winner(NamedCandidate):
    """The candidate with the most rows; of several, the first."""

    def design(self) -> Solution:
        from utmost.design.rainbow import best_winner

        return best_winner(self.space, self.privacy, cast(Any, self.loss), self.prior)


@dataclass(frozen=True, eq=False, kw_only=True)
class Plurality(Choice):
    """Which candidate most rows name; other values do not vote.

    Attributes
    ----------
    column : str
        Whose values are tallied.
    candidates : Bins or tuple
        What may be named, in the order that breaks ties.
    of : "rows" or "people"
        Whose votes count.
    loss : "zero-one" or "shortfall"
        What the mechanism is best for.
    prior : dict or None
        The probability of each tally; None is uniform.
    """

    name = "plurality"
    summary = "which category is most frequent"
    options: ClassVar = (COLUMN, CHOICES, WHERE, OF)
    by_one_row: ClassVar = True

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
        self.settle(column=column, candidates=candidates, of=as_of(self.of, self.terms.unit))
        self.settle(loss=as_loss(self.loss, LOSSES), prior=tally_prior(self.prior, self.scores.space))

    @property
    def words(self) -> str:
        return asking(f"Which {self.column} is most frequent", self.where, *self.grouping.placed(self.kept))

    @property
    def public(self) -> dict[str, Any]:
        asked: dict[str, Any] = {"column": self.column, "candidates": public_of(self.candidates)}
        asked |= {"where": self.where.text, "of": self.of}
        judged = {"loss": self.loss, "prior": tally_prior_text(self.prior)}
        return {"question": self.name, **asked, **judged, **self.grouping.public}

    @cached_property
    def scores(self) -> Tally:
        return Tally(self._cells, self.scope.tallies(len(self.candidates)), self.where)

    def _cells(self, source: Source) -> Cells:
        return category_cells(source, {self.column: self.candidates}, other=False)

    @cached_property
    def selection(self) -> Winner:
        labels = labels_of(self.candidates)
        return Winner(self.scores.space, labels, self.scope.privacy, self.loss, self.prior)


class AsksPlurality(Asks[Made]):
    """`plurality`, of a session or a plan."""

    def plurality(
        self,
        column: str,
        candidates: Any,
        privacy: Privacy = None,
        *,
        where: Condition = None,
        of: Of = "rows",
        loss: str = "zero-one",
        prior: TallyPrior = None,
        fresh: bool = False,
    ) -> Made:
        """Which of the candidates most rows name; their order is public and breaks ties; other values do not vote.

        Parameters
        ----------
        column : str
            Whose value is a row's vote.
        candidates : list or um.bins
            2 to 100 public values of the column, or the bins that its numbers are put into (a bin holds its lower edge
            and not its upper one); of those with the most votes the first wins.
        privacy : level or number
            What this answer may spend, as for `count`.
        where : condition, optional
            Only rows with this condition vote.
        of : "rows" or "people"
            Whose votes count: all kept rows, or one row of each person.
        loss : "zero-one" or "shortfall"
            Whether the named one is the winner, or by how many votes it is behind the winner.
        prior : {tally: probability}, optional
            A tally is a tuple of votes; uniform over all tallies without it.
        fresh : bool
            True draws and spends again although the identical question was answered before.

        Returns
        -------
        Answer (of a session) or Plan (of `session.plan`)
            `answer.value` is a candidate.

        Examples
        --------
        >>> import pyarrow, utmost as um
        >>> table = pyarrow.table({"town": ["Ash", "Briar", "Ash", None] * 25})
        >>> s = um.Session(table, "survey", um.rows(at_most=120), "add-remove", budget=5)
        >>> s.plurality("town", ["Ash", "Briar"], privacy=5).value
        'Ash'
        >>> table = pyarrow.table({"age": [17, 18, 64, 70] * 25})
        >>> s = um.Session(table, "ages", um.rows(at_most=120), "add-remove", budget=5)
        >>> s.plurality("age", um.bins([0, 18, 65, 120]), privacy=5).value
        '[18, 65)'
        """
        asked = Plurality(
            terms=self.terms,
            privacy=self.level(privacy),
            column=column,
            candidates=candidates,
            where=self.where(where),
            of=of,
            loss=loss,
            prior=prior,
        )
        return self.ask(asked, fresh)
