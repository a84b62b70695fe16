"""The question: who won: which candidate do most rows name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

from utmost.backends.source import Source, Statement, as_column
from utmost.errors import InvalidInput
from utmost.queries.arguments import Condition, Of, Privacy, TallyPrior, tally_prior, tally_prior_text
from utmost.queries.bins import as_bins, public_of
from utmost.queries.cells import as_categories, category_cells, tally_statement
from utmost.queries.options import CHOICES, COLUMN, OF, WHERE
from utmost.queries.predicate import EVERY_ROW, Where
from utmost.queries.questions.choices import Candidate
from utmost.queries.questions.question import Asks, Made, as_loss, as_of, asking

if TYPE_CHECKING:
    from utmost.solution import Solution

LOSSES = ("zero-one", "shortfall")
MOST_CANDIDATES = 100


@dataclass(frozen=True, eq=False, kw_only=True)
class Plurality(Candidate):
    """Which candidate most rows name; other values do not vote."""

    name = "plurality"
    summary = "which category is most frequent"
    options: ClassVar = (COLUMN, CHOICES, WHERE, OF)
    by_one_row: ClassVar = True

    where: Where = EVERY_ROW
    of: Of = "rows"

    def __post_init__(self) -> None:
        super().__post_init__()
        column = as_column(self.column)
        named = as_bins(self.candidates) or tuple(as_categories(column, self.candidates))
        if not 2 <= len(named) <= MOST_CANDIDATES:
            raise InvalidInput(
                f"there are {len(named)} candidates; give 2 to {MOST_CANDIDATES}, such as those that may well win."
            )
        self.settle(column=column, candidates=named, of=as_of(self.of, self.terms.unit))
        self.settle(loss=as_loss(self.loss, LOSSES), prior=tally_prior(self.prior, self.space))

    @property
    def words(self) -> str:
        return asking(f"Which {self.column} is most frequent", self.where, self.kept)

    @property
    def public(self) -> dict[str, Any]:
        asked: dict[str, Any] = {"column": self.column, "candidates": public_of(self.candidates)}
        asked |= {"where": self.where.text, "of": self.of}
        return {"question": self.name, **asked, "loss": self.loss, "prior": tally_prior_text(self.prior)}

    def design(self) -> Solution:
        from utmost.design.rainbow import best_winner

        return best_winner(self.space, self.privacy, cast(Any, self.loss), self.prior)

    def statement(self, source: Source, secret: bytes) -> Statement:
        cells = category_cells(source, {self.column: self.candidates}, other=False)
        return tally_statement(source, self.bounded_unit, self.rows_each, cells, self.where.given, secret)


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
